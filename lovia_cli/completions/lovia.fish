# Completion of lovia in fish. Load it in ~/.config/fish/config.fish:  lovia completion fish | source
function __lovia_complete
    set -l typed (commandline -opc)
    set -l command $typed[1]
    set -e typed[1]
    # What is typed so far, without its quotes: fish sets its own.
    set -l current (commandline -ct | string trim -l -c '\'"' | string replace -ra '\\\\(.)' '$1')
    set -l lines ($command __complete fish $typed "$current" 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case words
            string join \n -- $lines[2..]
    end
end
complete -c lovia -f -a '(__lovia_complete)'
