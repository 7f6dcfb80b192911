"""The verbs by their words, read from the first lines of their files; only the one that is asked for is imported."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

from kb.verbs.caller import Caller
from kb.verbs.request import Option, options_of
from kb.verbs.result import Result

# Order and titles of the groups in `kb --help`; a group that is not here comes last, under its own name.
GROUPS = {
    "begin": "Begin",
    "ask": "Ask",
    "experiment": "Experiment",
    "bring": "Bring in and give back",
    "keep": "Keep in order",
    "serve": "Serve people and agents",
}


@dataclass(frozen=True)
class Verb:
    """One command. `words` are what is typed after `kb`, such as `experiment open`; `module` is imported when it is asked."""

    words: str
    summary: str
    group: str
    module: str

    @cached_property
    def run(self) -> Callable[[object, Caller], Result]:
        return importlib.import_module(self.module).run

    @cached_property
    def request(self) -> type:
        return next(iter(inspect.signature(self.run).parameters.values())).annotation

    @property
    def formats(self) -> tuple[str, ...]:
        """How it may be printed, the usual way first."""
        return getattr(importlib.import_module(self.module), "FORMATS", ("text", "json"))

    @property
    def options(self) -> tuple[Option, ...]:
        return options_of(self.request)


@cache
def verbs(*packages: str) -> dict[str, Verb]:
    """Every verb of `kb.verbs` and of further packages, by its words, in the order of the groups."""
    listed = [verb for package in ("kb.verbs", *packages) for verb in _verbs_in(package)]
    order = list(GROUPS)
    listed.sort(
        key=lambda v: (order.index(v.group) if v.group in GROUPS else len(order), v.group, v.words)
    )
    return {verb.words: verb for verb in listed}


def _verbs_in(package: str):
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        for file in sorted(Path(folder).glob("*.py")):
            with file.open(encoding="utf-8") as lines:
                head, _, summary = lines.readline().strip().strip('"').partition(": ")
            if not head.startswith("kb "):
                continue
            names, _, group = head.rstrip("]").partition(" [")
            for name in names.split(", "):
                yield Verb(
                    name.removeprefix("kb "), summary.rstrip("."), group, f"{package}.{file.stem}"
                )
