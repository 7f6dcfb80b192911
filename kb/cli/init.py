"""`kb init`: a new knowledge base, or one around the wiki that is here."""

import argparse
from pathlib import Path

from kb import KbError, store

_CONFIG = """# Settings of this knowledge base. Every key has a default; a key that kb does not know is refused with the nearest that it knows.
[kb]
name = "{name}"
"""
_INDEX = """---
title: {name}
type: index
created: {date}
updated: {date}
---

# {name}

Pages by type stand in the folders beside this one: `sources/`, `concepts/`, `codebases/`, `targets/`, `hypotheses/`, `experiments/`, `observations/`, `analyses/`.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--adopt", action="store_true", help="take over the wiki/ that is here: add kb.toml and .kb/, touch nothing else"
    )
    parser.add_argument("--name", help="name of the knowledge base (default: the folder's)")


def run(args: argparse.Namespace) -> int:
    import datetime

    root = Path.cwd()
    if (root / store.CONFIG_NAME).exists():
        raise KbError(f"{store.CONFIG_NAME} is here already; `kb build` compiles the knowledge base")
    name = (args.name or root.name or "knowledge base").replace('"', "'").replace("\\", "/")
    if args.adopt:
        if not (root / "wiki").is_dir():
            raise KbError(f"there is no wiki/ in {root} to adopt; `kb init` starts an empty one")
    elif (root / "wiki").exists():
        raise KbError("there is a wiki/ here; `kb init --adopt` takes it over without touching a page")
    else:
        store.create(root / "wiki" / "index.md", _INDEX.format(name=name, date=datetime.date.today().isoformat()))
        (root / "sources").mkdir(exist_ok=True)
    (root / ".kb").mkdir(exist_ok=True)
    store.create(root / ".kb" / ".gitignore", "*\n")
    store.create(root / store.CONFIG_NAME, _CONFIG.format(name=name))
    then = (
        ""
        if args.adopt
        else "write a page wiki/targets/NAME.md that names repository, metric and benchmark, or `kb import` a log; then "
    )
    print(f"{'adopted' if args.adopt else 'started'} the knowledge base '{name}'; next: {then}`kb build`")
    return 0
