"""Two experiments side by side: what was tried, what came out, and what differs in code and device. Refuses to weigh figures of two metrics."""

from dataclasses import dataclass

from kb import store
from kb.experiments.attempt import last_attempt
from kb.experiments.rendering import device_of
from kb.experiments.stub import Stub, stub_at
from kb.run.direction import direction_of
from kb.run.noise import gain_of
from kb.run.record import Metric
from kb.text import number_text

_SHOWN_LEVERS = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs; `gain` is of the second over the first where both are figures of a metric with a direction."""

    name: str
    one: str
    other: str
    gain: float | None = None


def differences_of(layout: store.Layout, one: str, other: str) -> tuple[Difference, ...]:
    """What differs between two experiment pages; of their code the commits, which `git diff` takes."""
    pages = stub_at(layout, one), stub_at(layout, other)
    texts = zip(*(_texts(layout, page).items() for page in pages), strict=True)
    rows = [Difference(name, mine, theirs) for (name, mine), (_, theirs) in texts if mine != theirs]
    facts = [p.facts for p in pages]
    for name in dict.fromkeys(m.name for f in facts for m in f.metrics):
        figures = [f.metric(name) or Metric(name) for f in facts]
        values = [m.value for m in figures]
        shown = ("—" if v is None else number_text(v) for v in values)
        direction = next((m.direction for m in figures if m.direction), direction_of(name))
        whole = direction and None not in values
        gain = gain_of(values[1], values[0], direction=direction) if whole else None
        rows.append(Difference(name, *shown, gain))
    return tuple(rows)


def _texts(layout: store.Layout, stub: Stub) -> dict[str, str]:
    facts, attempt = stub.facts, last_attempt(layout, stub)
    return {
        "target": facts.target,
        "variant": facts.variant,
        "levers": ", ".join(lever.text for lever in facts.levers[:_SHOWN_LEVERS]),
        "parent": stub.page.field("parent"),
        "verdict": str(facts.verdict.canonical or ""),
        "rule": stub.page.field("rule"),
        "decision": facts.decision,
        "code": stub.page.field("code")[:12],
        "device": device_of(attempt) if attempt else "",
        "because": stub.page.field("because"),
    }
