"""kb init [begin]: start a knowledge base here, or adopt the wiki that is here."""

from dataclasses import dataclass

from kb import KbError, store
from kb.verbs import Caller, Result, flag, option

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """Where a knowledge base begins."""

    adopt: bool = flag("take over the wiki/ that is here: add kb.toml and .kb/, touch nothing else")
    name: str = option("name of the knowledge base (default: the folder's)")


@dataclass(frozen=True, slots=True)
class Start(Result):
    """A knowledge base that stands."""

    name: str
    adopted: bool

    def to_text(self) -> str:
        page = "write a page wiki/targets/NAME.md that names repository, metric and benchmark, or `kb import` a log; then "
        verb, then = ("adopted", "") if self.adopted else ("started", page)
        return f"{verb} the knowledge base '{self.name}'; next: {then}`kb build`"


def run(request: Init, caller: Caller) -> Start:
    root = caller.folder
    if (root / store.CONFIG_NAME).exists():
        raise KbError(
            f"{store.CONFIG_NAME} is here already; `kb build` compiles the knowledge base"
        )
    name = (request.name or root.name or "knowledge base").replace('"', "'").replace("\\", "/")
    if request.adopt:
        if not (root / "wiki").is_dir():
            raise KbError(f"there is no wiki/ in {root} to adopt; `kb init` starts an empty one")
    elif (root / "wiki").exists():
        raise KbError(
            "there is a wiki/ here; `kb init --adopt` takes it over without touching a page"
        )
    else:
        store.create(root / "wiki" / "index.md", _INDEX.format(name=name, date=caller.today))
        (root / "sources").mkdir(exist_ok=True)
    (root / ".kb").mkdir(exist_ok=True)
    store.create(root / ".kb" / ".gitignore", "*\n")
    store.create(root / store.CONFIG_NAME, _CONFIG.format(name=name))
    return Start(name, request.adopt)
