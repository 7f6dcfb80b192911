"""What the verbs on experiments share: the fields of their requests, pages by label, targets."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

from kb import page, store, trail
from kb.experiments.closing import RunLesson
from kb.experiments.planning import CodeChoice
from kb.experiments.proposal import ExperimentProposal
from kb.experiments.stub import Stub, located, stub_at
from kb.experiments.targets import Target, target_named
from kb.trail import Facts
from kb.trail.declared import with_record
from kb.trail.handles import stem_of
from kb.verbs import Caller
from kb.verbs.request import argument, flag, option, several

PAGE_HELP = "path, file name or label (v012) of the experiment"
TARGET_HELP = "the target whose label is meant"
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, kw_only=True)
class NamesExperiment:
    """Which experiment."""

    page: str = argument(PAGE_HELP, metavar="PAGE")
    target: str = option(TARGET_HELP)


@dataclass(frozen=True, kw_only=True)
class StatesExpectation:
    """How the mechanism shows."""

    expect: tuple[str, ...] = several(
        "regular expression that shows the mechanism: found in outputs, dumps, built files or their disassembly, not in the parent's; stated later it takes the place of what was stated before",
        metavar="PATTERN",
    )
    forbid: tuple[str, ...] = several(
        "regular expression that must not be found", metavar="PATTERN"
    )
    predict: tuple[str, ...] = several(
        "metric or cost bucket and its move, such as 'copy down' or 'misses -10%'", metavar="MOVE"
    )

    @property
    def stated(self) -> dict[str, tuple[str, ...]]:
        return {"expect": self.expect, "forbid": self.forbid, "predict": self.predict}


@dataclass(frozen=True, kw_only=True)
class StatesProposal(StatesExpectation, ExperimentProposal):
    """A proposal as a file, as options, or as both: options say more than the file."""

    HELPS: ClassVar = {
        name: option(text, metavar="TEXT")
        for name, text in {
            "target": "what is optimized (default: the proposal's)",
            "title": "title of the page",
            "variant": "operating point: size, hardware, batch",
            "lever": "what the change pulls, NAME or NAME=VALUE (again for more)",
            "hypothesis": "what is claimed",
            "mechanism": "why it should work",
            "predicted": "what will be seen if it works",
            "falsification": "when it counts as wrong, such as 'time_ms >= 95' or 'gain < 2%'",
            "parent": "page, label or git reference it is compared with (default: the newest supported one, else the target's base)",
            "differs": "what differs from the refuted match, naming it",
            "baseline": "the first measurement of a target: no proposal, no parent, no levers",
        }.items()
    }
    proposal: str = argument(
        "markdown file with the four labels and `levers:`, or - for stdin; options say more than the file",
        default="",
        metavar="PROPOSAL",
    )
    receipt: str = option("what `kb check` printed of this proposal", metavar="RECEIPT")
    date: str = option("day of the page (default: today)", metavar="YYYY-MM-DD")


@dataclass(frozen=True, kw_only=True)
class StatesCode(CodeChoice):
    """What is measured, and how often."""

    HELPS: ClassVar = {
        "commit": option("the change (default: HEAD of the repository)", metavar="REF"),
        "snapshot": flag(
            "measure the working tree with its uncommitted changes and untracked files, kept as a commit under refs/kb/"
        ),
        "set": several(
            "environment variable that the change alone sees (again for more)", metavar="NAME=VALUE"
        ),
        "repeats": option(
            "measurements of each side (default: the target page's, else 5)", metavar="N"
        ),
        "most": option(
            "repeats of each side at most while the verdict is open (default: four times --repeats)",
            metavar="N",
        ),
    }


@dataclass(frozen=True, kw_only=True)
class StatesLesson(RunLesson):
    """What was learnt."""

    HELPS: ClassVar = {
        "because": option(
            "what was learnt: why it came out so; of a page that is filed, a dated note below it; of `try`, before it runs, what is expected, and the lesson of a win alone",
            metavar="TEXT",
        ),
        "reopen_if": option("what would have to change to try it again", metavar="TEXT"),
    }


def shared(kind: type[_Kind], request: object, more: Mapping[str, object] | None = None) -> _Kind:
    """A value of another kind with the fields that a request shares with it by name, and `more`."""
    names = {f.name for f in fields(kind)} & {f.name for f in fields(request)}
    return kind(**{name: getattr(request, name) for name in names} | dict(more or {}))


def label_of(path: str, number: int, target: str, *, one_target: bool) -> str:
    """What names an experiment in a line: its label, with its target where there are several; its name where it has no number."""
    label = f"v{number:03d}" if f"-v{number:03d}-" in path else stem_of(path)
    return label if one_target or not target else f"{target}/{label}"


def page_of(caller: Caller, typed: str, *, target: str) -> str:
    """Path of the experiment that a user names by path, file name or label."""
    return located(caller.layout, caller.page(typed), target=target)


def named(request: NamesExperiment, caller: Caller) -> tuple[Stub, Target]:
    """The experiment that a request names, and its target."""
    stub = stub_at(caller.layout, page_of(caller, request.page, target=request.target))
    return stub, target_named(caller.layout, stub.facts.target)


def trail_of(layout: store.Layout, target: str) -> tuple[Facts, ...]:
    """Experiments of a target as built, in trail order."""
    with closing(store.state(layout)) as db:
        return trail.experiments(db, target=target)


def trail_as_filed(layout: store.Layout, target: str) -> tuple[Facts, ...]:
    """Experiments of a target in trail order as their pages stand: those that no build has seen are read."""
    home = f"{layout.config.wiki}/experiments/{target}/"
    with closing(store.state(layout)) as db:
        known = {
            e.path: e
            for e in trail.experiments(db, target=target)
            if (layout.root / e.path.partition("#")[0]).is_file()
        }
        query = "select path, digest from page where substr(path, 1, ?) = ?"
        built = dict(db.execute(query, (len(home), home)))
    for file in sorted((layout.root / home).rglob("*.md")):
        path = file.relative_to(layout.root).as_posix()
        data = store.read_bytes(layout, path) if file.is_file() else b""
        if data and store.digest_of(data) != built.get(path):
            _, filed, _ = with_record(page.read(path, data), layout, data)
            if filed.type == "experiment":
                known[path] = trail.read_facts(filed, page.text_of(data), layout.config.verdicts)
    return tuple(sorted((e for e in known.values() if e.target == target), key=lambda e: e.order))
