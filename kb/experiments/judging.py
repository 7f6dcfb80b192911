"""From the files of an attempt to the evidence that the verdict rules look at. Refuses to fill a gap: what was not measured is not there."""

from dataclasses import replace

from kb import KbError, store
from kb.experiments.attempt import Attempt
from kb.experiments.plan import Side
from kb.experiments.stub import Stub, stub_at
from kb.experiments.targets import Target
from kb.run.evidence import Evidence, Measured, measured_of
from kb.run.interval import Interval, gain_of_spreads, level_of, value_of_spread
from kb.run.noise import LEAST_CONFIDENCE, Spread, mad_of
from kb.run.quantity import to_float
from kb.run.record import Falsification
from kb.schema import Verdict
from kb.trail import Facts


def evidence_of(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    attempt: Attempt,
    *,
    firing: str = "",
    earlier: tuple[Facts, ...] = (),
) -> Evidence:
    """Evidence of one attempt. `earlier` are the target's experiments before it; those of its variant tell the noise where there are no repeats."""
    primary = primary_of(attempt, target)
    measured = [
        m for name in attempt.metrics if (m := _measured(layout, stub, target, attempt, name))
    ]
    measured = [_with_trail(m, stub, earlier) if m.name == primary else m for m in measured]
    done = attempt.measurement
    return Evidence(
        primary,
        tuple(measured),
        has_parent=not stub.baseline,
        crash=attempt.problem("change"),
        parent_crash=attempt.problem("parent"),
        touched=(*attempt.plan.touched, *(done.touched if done else ())),
        strayed=attempt.plan.strayed,
        forged=done.forged if done else (),
        checks=done.checks if done else "",
        bounds=target.bounds,
        falsification=falsification_of(stub, target, primary),
        firing=firing,
        tracked=target.tracked,
        noise_limit=target.noise_limit,
        look=attempt.looks,
    )


def _with_trail(main: Measured, stub: Stub, earlier: tuple[Facts, ...]) -> Measured:
    """Without repeats, the gain with the noise of the runs before it: pi's confidence of 2 is an arm of twice their deviation."""
    if main.interval or main.gain is None or not main.parent or not main.parent.mean:
        return main
    alike = (
        e
        for e in earlier
        if e.variant == stub.facts.variant
        and e.verdict.canonical not in (None, Verdict.INVALID, Verdict.CRASH)
    )
    values = [
        m.value for e in alike if (m := e.metric(main.name)) and m.value is not None and m.value > 0
    ]
    deviation = mad_of([*values, main.change.mean]) if len(values) >= 2 else 0.0
    arm = LEAST_CONFIDENCE * deviation / abs(main.parent.mean)
    return (
        replace(main, interval=Interval(main.gain - arm, main.gain, main.gain + arm, "trail"))
        if arm
        else main
    )


def primary_of(attempt: Attempt, target: Target) -> str:
    """Name of the metric that the attempt is judged by. Raises KbError where several were printed and none is named."""
    named = attempt.plan.metric or target.metric
    if named:
        return named
    if len(attempt.metrics) > 1:
        raise KbError(
            f"{attempt.folder}: which of {', '.join(attempt.metrics[:6])} decides? say `metric:` in wiki/targets/{target.name}.md, "
            "or measure --again with --metric"
        )
    return attempt.metrics[0] if attempt.metrics else ""


def falsification_of(stub: Stub, target: Target, primary: str) -> tuple[Falsification, ...]:
    return stub.falsification((*target.metrics, primary))


def _measured(
    layout: store.Layout, stub: Stub, target: Target, attempt: Attempt, name: str
) -> Measured | None:
    change, parent = attempt.values(name, "change"), attempt.values(name, "parent")
    if not change:
        return None
    about = {
        "unit": target.unit if name == target.metric else "",
        "direction": target.direction_for(name),
    }
    stated = _stated(attempt, name, "change"), _stated(attempt, name, "parent")
    if not parent and attempt.plan.elsewhere and not stub.baseline:
        stated = (stated[0], _filed_spread(layout, stub.page.field("parent"), name))
    found = measured_of(name, change, parent, look=attempt.looks, **about)
    sides = (stated[0] or found.change, stated[1] or found.parent)
    found = replace(found, least=target.least_effect(name, sides[1].mean if sides[1] else 0.0))
    if stated == (None, None):
        return found
    return _of_spreads(replace(found, change=sides[0], parent=sides[1]), level_of(attempt.looks))


def _of_spreads(found: Measured, level: float) -> Measured:
    """The metric with intervals from stated means and stddevs."""
    interval = None
    if found.parent and found.direction:
        interval = gain_of_spreads(
            found.change, found.parent, direction=found.direction, level=level
        )
    return replace(
        found, interval=interval, place=found.place or value_of_spread(found.change, level=level)
    )


def _stated(attempt: Attempt, name: str, side: Side) -> Spread | None:
    """The spread that a single record states of its own repeats."""
    values = attempt.values(name, side)
    spreads = [
        (stddev, n)
        for s in attempt.of("bench", side)
        for metric, stddev, n in s.spreads
        if metric == name
    ]
    return (
        Spread(values[0], spreads[0][0], spreads[0][1] or None)
        if len(values) == 1 and spreads
        else None
    )


def _filed_spread(layout: store.Layout, parent: str, name: str) -> Spread | None:
    """A metric of the parent's page, as its front matter states it."""
    if not parent.endswith(".md"):
        return None
    stub = stub_at(layout, parent)
    metrics = stub.page.front.get("metrics")
    stated = metrics.get(name) if isinstance(metrics, dict) else None
    about = stated if isinstance(stated, dict) else {"value": stated}
    value, stddev, n = (to_float(about.get(key)) for key in ("value", "stddev", "n"))
    if value is None:
        found = stub.facts.metric(name)
        value, stddev, n = (found.value, found.stddev, found.n) if found else (None, None, None)
    if value is None:
        return None
    return Spread(value, stddev, int(n) if n else None if stddev is not None else 1)
