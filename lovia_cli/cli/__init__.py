"""The commands, one a file. They parse, call, and return an `Answer`; ``lovia_cli.render`` prints it."""
