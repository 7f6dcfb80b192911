"""kb replay [keep]: measure loader and gate on the knowledge base's own past."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kb import KbError, store
from kb.verbs import Caller, Result, flag, option, several

if TYPE_CHECKING:
    from kb.replay import ReplayReport
    from kb.replay.restated import FactReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Which past, how much of it, under which budgets."""

    target: str = option("only the trail of this target")
    sample: int = option(
        "ask about N questions, evenly spread (default: all)", default=0, metavar="N"
    )
    budget: tuple[int, ...] = several(
        "budgets to measure (may be repeated; default 2000, 4000, 8000)", metavar="TOKENS"
    )
    no_gate: bool = flag("leave out the gate")
    facts: bool = flag(
        "measure instead how much of what past pages restate (settings, metric, buckets, dead levers) their slices held"
    )
    save: bool = flag("keep the picture and the table under .kb/, where `kb site build` finds them")


@dataclass(frozen=True, slots=True)
class Replayed(Result):
    """What the instrument read."""

    formats: ClassVar = ("text", "json", "svg")
    report: "ReplayReport | FactReport"

    def to_json(self) -> object:
        return self.report.to_json()

    def to_text(self) -> str:
        from kb.replay import ReplayReport
        from kb.replay.picture import to_text
        from kb.replay.restated import to_text as facts_text

        return (
            to_text(self.report)
            if isinstance(self.report, ReplayReport)
            else facts_text(self.report)
        )

    def to_format(self, name: str) -> str:
        from kb.replay import ReplayReport
        from kb.replay.picture import to_svg

        if name == "svg" and not isinstance(self.report, ReplayReport):
            raise KbError("--facts prints a table and has no picture; leave out --format svg")
        return to_svg(self.report) if name == "svg" else Result.to_format(self, name)


def run(request: Replay, caller: Caller) -> Replayed:
    from kb.replay import BUDGETS, replay
    from kb.trail import targets
    from kb.verbs.load import loader_of

    layout = caller.layout()
    db = caller.tables(layout)
    if request.target and request.target not in targets(db):
        raise KbError(
            f"no target '{request.target}' has experiments; known: {', '.join(targets(db)) or 'none'}"
        )
    if request.sample < 0 or any(b < 200 for b in request.budget):
        raise KbError("--sample takes 0 or more, --budget 200 or more")
    if request.facts:
        from kb.replay.restated import facts_held

        held = facts_held(
            loader_of(layout, db),
            target=request.target,
            sample=request.sample,
            budgets=tuple(sorted(set(request.budget or BUDGETS))),
            note=lambda n, of: caller.progress(f"replaying {n + 1} of {of}"),
        )
        caller.progress("")
        if request.save:
            raise KbError("--save keeps the recall of past questions; leave out --facts")
        return Replayed(held)
    report = replay(
        loader_of(layout, db),
        target=request.target,
        sample=request.sample,
        budgets=tuple(sorted(set(request.budget or BUDGETS))),
        gate=not request.no_gate,
        note=lambda n, of: caller.progress(f"replaying {n + 1} of {of}"),
    )
    caller.progress("")
    answer = Replayed(report)
    if request.save:
        store.write(layout.state / "replay.svg", answer.to_format("svg"))
        store.write(layout.state / "replay.txt", answer.to_text())
    return answer
