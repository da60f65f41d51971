"""Writes the files that `lovia schema` prints, from the models that run: python docs/write_schemas.py"""

import json

from lovia_cli.cli.commands.schema import FILES, KINDS, made_schema

FILES.mkdir(exist_ok=True)
for kind in KINDS:
    text = json.dumps(made_schema(kind), ensure_ascii=False, indent=2)
    (FILES / f"{kind}.json").write_text(f"{text}\n", encoding="utf-8")
