"""kb load [ask]: print the slice that one step of a loop needs."""

import glob
import sqlite3
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

from kb import KbError, store
from kb.schema import STEPS
from kb.slices import Loader, Lookups, Slice, printed
from kb.slices.history import history_of
from kb.slices.request import AUDIENCES, MODES, Request, request_from
from kb.slices.slice import to_markdown
from kb.verbs import Caller, Result, argument, flag, option, several
from kb.verbs.result import json_lines

if TYPE_CHECKING:
    from kb.claims import Claim
    from kb.research.ideas import Idea

FORMATS = ("md", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Request):
    """A step, what it is about, and the moment; `profile` and `proposal` are files here."""

    HELPS: ClassVar = {
        "query": option("what the step is about, in words"),
        "target": option("what is optimized (default: the only target, else everything)"),
        "variant": option("operating point of the target"),
        "before": option("the state just before this page", metavar="PAGE"),
        "as_of": option("the state at the end of this day (YYYY-MM-DD)", metavar="DATE"),
        "exclude": several("leave pages out (may be repeated; * crosses /)", metavar="GLOB"),
        "profile": option("profiler output, or text about it, as the query", metavar="FILE"),
        "proposal": option("a proposal or an experiment page as the query", metavar="FILE"),
        "mode": option("of the hypothesis step", choices=MODES),
        "audience": option("cold leaves out what gives away outcomes", choices=AUDIENCES),
        "beyond": option(
            "digest of an earlier slice; what it told is left out; without a question, its own once more",
            metavar="DIGEST",
        ),
    }
    step: str = argument(
        f"the step of the loop that asks: {', '.join(STEPS)}; a batch may say it in its lines",
        default="",
        choices=STEPS,
        metavar="STEP",
    )
    budget: int | None = option(
        "tokens (default: kb.toml or 3600, 900 to resume)", default=None, metavar="N"
    )
    batch: str = option(
        "one request a line, one JSON answer a line; - reads stdin", metavar="FILE.jsonl"
    )
    explain: bool = flag("say what every item costs and all that was left out")


def run(request: Load, caller: Caller) -> Result[Slice | tuple[Slice, ...]]:
    if not (request.step or request.batch or request.beyond):
        raise KbError(f"which step asks? one of {', '.join(STEPS)}")
    layout = caller.layout
    if request.batch:
        requests = _batch(request, caller, usual=layout.config.budget)
        loader = loader_of(layout, caller.tables())
        slices = tuple(loader.slice(r) for r in requests)
        lines = json_lines(slices)
        return Result(slices, lines, forms={"json": lambda: lines})
    named = request.query or request.profile or request.proposal or request.target
    again = request.beyond and not (request.step and named)
    one = _again(layout, request) if again else _request_of(caller, request)
    with caller.opened() as db:
        caller.doubt_target(db, one.target)
        slice = loader_of(layout, db).slice(one)
    printed.keep(layout, slice, one)
    text = to_markdown(slice, explain=request.explain)
    return Result(slice, text, forms={"json": lambda: json_lines((slice,)).rstrip("\n")})


def _request_of(caller: Caller, request: Load) -> Request:
    """The request that a command spells out, with what its files hold."""
    stated = {f.name: getattr(request, f.name) for f in fields(Request)}
    stated |= {
        "before": request.before and caller.page(request.before),
        "exclude": [*request.exclude, *_own_page(caller, request.proposal)],
        **(_profile(caller, request.profile) if request.profile else {}),
        "proposal": caller.text(request.proposal) if request.proposal else "",
    }
    return request_from(stated, usual=caller.layout.config.budget)


def _again(layout: store.Layout, request: Load) -> Request:
    """The question of an earlier slice once more, beyond it: as long as that was, or by another step, as long as such a slice is."""
    earlier = printed.printed_at(layout, request.beyond).request
    usual = earlier.budget if request.step in ("", earlier.step) else layout.config.budget
    step, budget = request.step or earlier.step, request.budget or usual
    return replace(earlier, step=step, beyond=request.beyond, budget=budget)


# What loads looked up in the tables of the last build, by these: a server answers many in one process.
_LOOKUPS: "dict[str, Lookups]" = {}


def loader_of(layout: store.Layout, db: sqlite3.Connection) -> Loader:
    """What loads slices from open tables, the claims on file, and what captures offer."""
    inputs = db.execute("select value from meta where key = 'inputs'").fetchone()
    build = f"{layout.root} {inputs and inputs[0]}"
    if build not in _LOOKUPS:
        _LOOKUPS.clear()
    return Loader(
        db,
        lambda: _claims(layout),
        lambda: _ideas(layout),
        lambda digest: printed.printed_at(layout, digest).texts,
        _LOOKUPS.setdefault(build, Lookups()),
        lambda: history_of(layout),
    )


def _claims(layout: store.Layout) -> "tuple[Claim, ...]":
    """Claims on file; what reads them is imported where there are any."""
    if not (layout.sources / "claims").is_dir():
        return ()
    from kb.claims import readable_claims

    return readable_claims(layout)[0]


def _ideas(layout: store.Layout) -> "tuple[Idea, ...]":
    """What captured forks and papers offer; nothing is read where there are none."""
    if next(layout.sources.glob("*/reading.json"), None) is None:
        return ()
    from kb.research.ideas import ideas_of

    return tuple(ideas_of(layout))


def _batch(request: Load, caller: Caller, *, usual: int) -> list[Request]:
    """Every request of a batch, all read before the first is answered. Raises KbError with the line that is wrong."""
    requests = []
    for place, values in caller.rows(request.batch):
        try:
            one = request_from(values, step=request.step, budget=request.budget, usual=usual)
        except KbError as error:
            raise KbError(f"{place}: {error}") from error
        requests.append(one)
    return requests


def _own_page(caller: Caller, proposal: str) -> list[str]:
    """The page that asks, where the proposal is one: its own outcome is no answer to it."""
    full = (caller.folder / proposal).absolute() if proposal else caller.layout.root
    return (
        [glob.escape(full.relative_to(caller.layout.root).as_posix())]
        if full.is_relative_to(caller.layout.wiki)
        else []
    )


def _profile(caller: Caller, name: str) -> dict[str, str]:
    """What a profile says in words, and its bucket table; of a file that is no profiler's output the text itself."""
    from kb import profiles

    reading = profiles.profile_or_text(caller.file(name))
    if isinstance(reading, str):
        return {"profile": reading}
    return {"profile": profiles.query(reading), "buckets": profiles.rows(reading)}
