"""pi-autoresearch's other record: kept commits whose message ends in `Result: {json}`. Refuses to run anything but `git log`."""

from collections.abc import Iterator
from pathlib import Path

from kb import store
from kb.formats.columns import aim_of_figures
from kb.formats.objects import Json, JsonRow, run_of_object, text_of
from kb.formats.reading import Ask, LogLine, Remark, Segment
from kb.formats.registry import Event, LogFormat
from kb.formats.table import object_in
from kb.run.status import outcome_of

_TRAILER = "Result: {"
_KEYS = {
    "label": ("label",),
    "code": ("code",),
    "status": ("status",),
    "description": ("description",),
    "figures": ("figures",),
    "created": ("created",),
}


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run a commit with a Result trailer, oldest first. Raises KbError where there is no git repository."""
    form = "--format=%H%x1f%cI%x1f%B"
    words = ("log", "--reverse", "-z", form, f"--grep=^{_TRAILER}")
    listed = store.git_output(str(path), *words, at=("-C", str(path))).decode("utf-8", "replace")
    commits = [_commit(c.strip("\n")) for c in listed.split("\0") if c]
    metric = ask.metric or aim_of_figures([c["figures"] for c in commits])
    segment = Segment(0, 1, "", metric, "", *ask.way(metric))
    yield segment
    for number, value in enumerate(commits, 1):
        if not value["figures"]:
            yield Remark(f"commit {value['label']}: its Result trailer is no JSON; skipped", number)
            continue
        row, outcome = JsonRow(LogLine(number, value["code"]), value), outcome_of(value["status"])
        yield run_of_object(
            row, _KEYS, segment, file=f"git:{value['code']}", kind="pi-git", outcome=outcome
        )


def _commit(text: str) -> Json:
    """A commit as an object: its hash, day, first line, and what its trailer states."""
    commit, when, body = text.split("\x1f", 2)
    lines = body.strip().splitlines() or [""]
    trailer = next((x for x in reversed(lines) if x.startswith(_TRAILER)), "")
    stated = object_in(trailer.removeprefix("Result: "))
    status = text_of(stated.pop("status", None))
    fields = {"label": commit[:7], "code": commit, "created": when, "description": lines[0]}
    return {**fields, "status": status, "figures": stated}


FORMATS = (LogFormat("pi-git", lambda path, head: False, read, order=15, folders=True),)
