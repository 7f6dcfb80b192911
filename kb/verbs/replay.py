"""kb replay [keep]: measure loader and gate on the knowledge base's own past."""

from dataclasses import dataclass
from functools import partial

from kb import KbError, store
from kb.replay import BUDGETS, picture, replay, restated
from kb.trail import targets
from kb.verbs import Caller, Result, flag, option, several
from kb.verbs.load import loader_of

FORMATS = ("text", "json", "svg")


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
    facts: bool = flag(
        "measure instead how much of what past pages restate (settings, metric, buckets, dead levers) their slices held"
    )
    save: bool = flag("keep the picture and the table under .kb/, where `kb site build` finds them")


def run(request: Replay, caller: Caller) -> Result:
    db = caller.tables()
    if request.target and request.target not in targets(db):
        raise KbError(
            f"no target '{request.target}' has experiments; known: {', '.join(targets(db)) or 'none'}"
        )
    if request.sample < 0 or any(b < 200 for b in request.budget):
        raise KbError("--sample takes 0 or more, --budget 200 or more")
    if request.facts and request.save:
        raise KbError("--save keeps the recall of past questions; leave out --facts")
    loader, about = (
        loader_of(caller.layout, db),
        {"target": request.target, "sample": request.sample},
    )
    about |= {"budgets": tuple(sorted(set(request.budget or BUDGETS)))}
    about |= {"note": lambda n, of: caller.progress(f"replaying {n + 1} of {of}")}
    if request.facts:
        held = restated.facts_held(loader, **about)
        caller.progress("")
        return Result(held, restated.to_text(held), forms={"svg": _no_picture})
    report = replay(loader, **about)
    caller.progress("")
    text = picture.to_text(report)
    if request.save:
        store.write(caller.layout.state / "replay.svg", picture.to_svg(report))
        store.write(caller.layout.state / "replay.txt", text)
    return Result(report, text, forms={"svg": partial(picture.to_svg, report)})


def _no_picture() -> str:
    raise KbError("--facts prints a table and has no picture; leave out --format svg")
