"""pi-autoresearch's other record: kept commits whose message ends in `Result: {json}`. Refuses to run anything but `git log`."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kb import KbError
from kb.formats.objects import text_of
from kb.formats.reading import Ask, Remark, Segment, measured
from kb.run.direction import direction_of, is_resource
from kb.run.quantity import to_float
from kb.run.record import Origin, Run, outcome_of
from kb.store import digest_of


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """One segment, and one run a commit with a Result trailer, oldest first. Raises KbError where there is no git repository."""
    ordered = ["git", "-C", str(path), "log", "--reverse", "-z", "--format=%H%x1f%cI%x1f%B", "--grep=^Result: {"]
    try:
        done = subprocess.run(ordered, capture_output=True, check=False)
    except OSError as error:
        raise KbError(f"git cannot be started ({error.strerror}); install git or import the loop's log file") from error
    if done.returncode:
        raise KbError(f"{path}: git log failed: {done.stderr.decode('utf-8', 'replace').strip()[:200]}")
    commits = [c for c in done.stdout.decode("utf-8", "replace").split("\0") if c]
    runs = list(_commits(commits))
    names = [
        n for said in runs if not isinstance(said, Remark) for n in said[3] if n != "status" and to_float(said[3][n]) is not None
    ]
    metric = ask.metric or next((n for n in names if direction_of(n) and not is_resource(n)), names[0] if names else "")
    direction, source = (ask.direction, "asked") if ask.direction else (direction_of(metric) if metric else None, "name")
    yield Segment(0, 1, "", metric, "", direction, source if direction else "")
    for number, said in enumerate(runs, 1):
        if isinstance(said, Remark):
            yield said
            continue
        commit, when, description, result = said
        status = text_of(result.get("status"))
        outcome = outcome_of(status)
        metrics = tuple(
            measured(n, v, raw=str(v), outcome=outcome, direction=direction_of(n), primary=n == metric)
            for n, raw in result.items()
            if (v := to_float(raw)) is not None
        )
        yield Run(
            Origin(f"git:{commit}", number, digest_of(commit)),
            "pi-git",
            label=commit[:7],
            status=status,
            outcome=outcome,
            description=description,
            primary=metric,
            metrics=metrics,
            code=commit,
            created=when,
        )


def _commits(commits: list[str]) -> Iterator[tuple[str, str, str, dict[str, object]] | Remark]:
    for number, text in enumerate(commits, 1):
        commit, when, body = text.strip("\n").split("\x1f", 2)
        trailer = next((x for x in reversed(body.splitlines()) if x.startswith("Result: {")), "")
        try:
            result = json.loads(trailer.removeprefix("Result: "))
        except (ValueError, RecursionError):
            yield Remark(f"commit {commit[:12]}: its Result trailer is no JSON; skipped", number)
            continue
        yield commit, when, (body.strip().splitlines() or [""])[0], result
