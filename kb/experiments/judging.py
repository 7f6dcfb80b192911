"""From the files of an attempt to the evidence that the verdict rules look at. Refuses to fill a gap: what was not measured is not there."""

import re

from kb import KbError, store
from kb.experiments.attempt import Attempt, Side
from kb.experiments.auditing import Expectation, audit, last_audit, profiled
from kb.experiments.stub import Stub, stub_at
from kb.experiments.targets import Target
from kb.page import text_of
from kb.run.noise import Spread, confidence_of, spread_of
from kb.run.quantity import to_float
from kb.run.record import Falsification
from kb.run.rules import Evidence, Measured
from kb.schema import Verdict
from kb.trail import Facts

# What makes a hand-written Profile section one: a table with figures, a link, an address or a path.
_PROFILE = re.compile(r"\]\(|\w://|^\s*\|.*\d|`[^`\n]*/[^`\n]*`", re.MULTILINE)


def evidence_of(
    layout: store.Layout, stub: Stub, target: Target, attempt: Attempt, *, earlier: tuple[Facts, ...] = ()
) -> Evidence:
    """Evidence of one attempt. `earlier` are the target's experiments before it; those of its variant tell the noise where there are no repeats."""
    primary = primary_of(attempt, target)
    measured = tuple(m for name in attempt.metrics if (m := _measured(layout, stub, target, attempt, name)))
    main = next((m for m in measured if m.name == primary), None)
    width, is_relative = target.noise
    least_band = width * abs(main.parent.mean) if is_relative and main and main.parent else 0.0 if is_relative else width
    confidence = None
    if main and main.parent and not (main.change.known and main.parent.known):
        confidence = confidence_of(main.change.mean - main.parent.mean, (*_segment(stub, earlier, primary), main.change.mean))
    done = attempt.measurement
    return Evidence(
        primary,
        measured,
        not stub.baseline,
        attempt.problem("change"),
        attempt.problem("parent"),
        (*attempt.plan.touched, *(done.touched if done else ())),
        attempt.plan.strayed,
        done.checks if done else "",
        target.bounds,
        falsification_of(stub, target, primary),
        firing_of(attempt),
        profiled(attempt) or profile_written(stub),
        confidence,
        least_band,
        target.tracked,
    )


def _segment(stub: Stub, earlier: tuple[Facts, ...], metric: str) -> tuple[float, ...]:
    """Values of the runs before this one, of the same variant, that count as measured."""
    alike = (
        e
        for e in earlier
        if e.variant == stub.facts.variant and e.verdict.canonical not in (None, Verdict.INVALID, Verdict.CRASH)
    )
    return tuple(m.value for e in alike if (m := e.metric(metric)) and m.value is not None)


def primary_of(attempt: Attempt, target: Target) -> str:
    """Name of the metric that the attempt is judged by. Raises KbError where several were printed and none is named."""
    named = attempt.plan.metric or target.metric
    if named:
        return named
    if len(attempt.metrics) > 1:
        raise KbError(
            f"{attempt.folder}: which of {', '.join(attempt.metrics[:6])} decides? say `metric:` in wiki/targets/{target.name}.md, or measure --again with --metric"
        )
    return attempt.metrics[0] if attempt.metrics else ""


def falsification_of(stub: Stub, target: Target, primary: str) -> tuple[Falsification, ...]:
    return stub.falsification((*target.metrics, primary))


def firing_of(attempt: Attempt) -> str:
    """Firing of the audit on file; without one, a no-op that the digests show, else nothing."""
    found = last_audit(attempt)
    if found and found.firing:
        return found.firing
    return "no-op" if attempt.measurement and audit(attempt, Expectation()).firing == "no-op" else ""


def _measured(layout: store.Layout, stub: Stub, target: Target, attempt: Attempt, name: str) -> Measured | None:
    change = _spread(attempt, name, "change")
    if change is None:
        return None
    parent = _spread(attempt, name, "parent")
    if parent is None and attempt.plan.elsewhere and not stub.baseline:
        parent = _filed_spread(layout, stub.page.field("parent"), name)
    return Measured(name, change, parent, target.unit if name == target.metric else "", target.direction_for(name))


def _spread(attempt: Attempt, name: str, side: Side) -> Spread | None:
    values = attempt.values(name, side)
    if len(values) == 1:
        stated = next(((stddev, n) for s in attempt.of("bench", side) for metric, stddev, n in s.spreads if metric == name), None)
        if stated:
            return Spread(values[0], stated[0], stated[1] or None)
    return spread_of(values) if values else None


def _filed_spread(layout: store.Layout, parent: str, name: str) -> Spread | None:
    """A metric of the parent's page, as its front matter states it."""
    if not parent.endswith(".md"):
        return None
    stub = stub_at(layout, parent)
    metrics = stub.page.front.get("metrics")
    stated = metrics.get(name) if isinstance(metrics, dict) else None
    value = to_float(stated.get("value") if isinstance(stated, dict) else stated)
    if value is None:
        found = stub.facts.metric(name)
        return (
            Spread(found.value, found.stddev, found.n or (None if found.stddev is not None else 1))
            if found and found.value is not None
            else None
        )
    stddev = to_float(stated.get("stddev")) if isinstance(stated, dict) else None
    n = to_float(stated.get("n")) if isinstance(stated, dict) else None
    return Spread(value, stddev, int(n) if n else None if stddev is not None else 1)


def profile_written(stub: Stub) -> bool:
    """Whether the page's Profile section holds a profile that a person or an agent put there."""
    place = stub.facts.place("profile")
    if place is None:
        return False
    managed = {n for _, start, end in stub.page.blocks for n in range(start, end + 1)}
    lines = text_of(stub.data).split("\n")
    return bool(
        _PROFILE.search(
            "\n".join(lines[n - 1] for n in range(place.start + 1, min(place.end, len(lines) + 1)) if n not in managed)
        )
    )
