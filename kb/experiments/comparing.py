"""Two experiments side by side: what was tried, what came out, and what differs in code and host. Refuses to weigh figures of two metrics."""

from dataclasses import dataclass
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import attempts_in
from kb.experiments.stub import Stub, stub_at
from kb.experiments.targets import Target, repository_of
from kb.run.direction import direction_of
from kb.run.noise import gain_of
from kb.trail import Facts

_SHOWN_LEVERS = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that differs; `gain` is of the second over the first where both are figures of a metric with a direction."""

    name: str
    one: str
    other: str
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two experiments, and how their code does (git's summary; empty where the commits are not here)."""

    one: str
    other: str
    rows: tuple[Row, ...]
    code: str


def difference_of(layout: store.Layout, one: str, other: str, target: Target) -> Difference:
    """What differs between two experiment pages; the target is the second one's."""
    pages = (stub_at(layout, one), stub_at(layout, other))
    rows = [Row(name, *values) for name, values in _texts(layout, pages) if values[0] != values[1]]
    return Difference(
        one, other, (*rows, *_figures(*(p.facts for p in pages))), _code(layout, pages, target)
    )


def _texts(layout: store.Layout, pages: tuple[Stub, Stub]) -> list[tuple[str, tuple[str, str]]]:
    def both(of) -> tuple[str, str]:
        return of(pages[0]), of(pages[1])

    def host(stub: Stub) -> str:
        attempts = attempts_in(layout, stub.run)
        about = dict(attempts[-1].plan.host) if attempts else {}
        return ", ".join(about[k] for k in ("host", "cpu", "system") if k in about)

    return [
        ("target", both(lambda p: p.facts.target)),
        ("variant", both(lambda p: p.facts.variant)),
        ("levers", both(lambda p: ", ".join(map(lever_text, p.facts.levers[:_SHOWN_LEVERS])))),
        ("parent", both(lambda p: p.page.field("parent"))),
        ("verdict", both(lambda p: str(p.facts.verdict.canonical or ""))),
        ("rule", both(lambda p: p.page.field("rule"))),
        ("decision", both(lambda p: p.facts.decision)),
        ("code", both(lambda p: p.page.field("code")[:12])),
        ("host", both(host)),
        ("because", both(lambda p: p.page.field("because"))),
    ]


def lever_text(lever) -> str:
    return f"{lever.name}={lever.value}" if lever.value else lever.name


def _figures(one: Facts, other: Facts) -> tuple[Row, ...]:
    from kb.run.quantity import number_text

    rows = []
    for name in dict.fromkeys(m.name for m in (*one.metrics, *other.metrics)):
        found = one.metric(name), other.metric(name)
        values = [m.value if m else None for m in found]
        direction = next((m.direction for m in found if m and m.direction), None) or direction_of(
            name
        )
        gain = None
        if direction and values[0] is not None and values[1] is not None:
            gain = gain_of(values[1], values[0], direction=direction)
        shown = ["—" if v is None else number_text(v) for v in values]
        rows.append(Row(name, *shown, gain))
    return tuple(rows)


def _code(layout: store.Layout, pages: tuple[Stub, Stub], target: Target) -> str:
    """Git's summary of how the second one's code differs from the first one's."""
    one, other = (p.page.field("code") for p in pages)
    if not one or not other or one == other or not target.repository:
        return ""
    try:
        repository = worktree.top_of(Path(repository_of(layout, target)))
        without = (f":(exclude,top){f}" for f in worktree.own_folders(layout, repository))
        return worktree.git(repository, "diff", "--stat", one, other, "--", ".", *without).rstrip()
    except KbError:
        return ""  # The repository, or a commit, is on another machine; the pages still compare.
