"""pi-autoresearch's other record: kept commits whose message ends in `Result: {json}`. Refuses to run anything but `git log`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from kb import KbError
from kb.formats.columns import Column, primary_of
from kb.formats.objects import text_of
from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import Event, Format
from kb.formats.table import metrics_of, object_in
from kb.run.direction import direction_of
from kb.run.quantity import to_float
from kb.run.record import Origin, Run, outcome_of
from kb.store import digest_of

_TRAILER = "Result: {"


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run a commit with a Result trailer, oldest first. Raises KbError where there is no git repository."""
    form = "--format=%H%x1f%cI%x1f%B"
    words = ["git", "-C", str(path), "log", "--reverse", "-z", form, f"--grep=^{_TRAILER}"]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except OSError as error:
        told = f"git cannot be started ({error.strerror}); install git or import the loop's log file"
        raise KbError(told) from error
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip()[:200]
        raise KbError(f"{path}: git log failed: {told}")
    texts = [c.strip("\n") for c in done.stdout.decode("utf-8", "replace").split("\0") if c]
    commits = [_commit(text) for text in texts]
    figures: dict[str, list[str]] = {}
    for _, _, _, result in commits:
        for name, value in result.items():
            if name != "status" and to_float(value) is not None:
                figures.setdefault(name, []).append(str(value))
    chosen = primary_of([Column(n, cells) for n, cells in figures.items()])
    metric = ask.metric or (chosen.name if chosen else "")
    direction = ask.direction or direction_of(metric)
    source = "asked" if ask.direction else "name" if direction else ""
    segment = Segment(0, 1, "", metric, "", direction, source)
    yield segment
    for number, (commit, when, text, result) in enumerate(commits, 1):
        if not result:
            yield Remark(f"commit {commit[:12]}: its Result trailer is no JSON; skipped", number)
            continue
        status = text_of(result.pop("status", None))
        outcome = outcome_of(status)
        yield Run(
            Origin(f"git:{commit}", number, digest_of(commit)),
            "pi-git",
            label=commit[:7],
            status=status,
            outcome=outcome,
            description=text,
            primary=metric,
            metrics=metrics_of(result, outcome=outcome, primary=metric, direction=direction),
            code=commit,
            created=when,
        )


def _commit(text: str) -> tuple[str, str, str, dict[str, object]]:
    """Hash, day, first line and result of one commit."""
    commit, when, body = text.split("\x1f", 2)
    lines = body.strip().splitlines() or [""]
    trailer = next((x for x in reversed(lines) if x.startswith(_TRAILER)), "")
    return commit, when, lines[0], object_in(trailer.removeprefix("Result: "))


FORMATS = (Format("pi-git", lambda path, head: False, read, order=15, folders=True),)
