"""kb experiment close [experiment]: give the verdict by rule and file the page."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb import KbError, store
from kb.schema import Verdict
from kb.verbs import Caller, Result, argument, flag, option, several
from kb.verbs.experiment import PAGE_HELP, TARGET_HELP, page_of, target_of, trail_of

if TYPE_CHECKING:
    from kb.experiments.closing import Closed, Remarks
    from kb.experiments.stub import Stub
    from kb.experiments.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseExperiment:
    """Which page, and what a person says to the rules."""

    page: str = argument(PAGE_HELP, metavar="PAGE")
    overrule: str = option(
        "a person's verdict; needs --reason",
        choices=tuple(v.value for v in Verdict if v != Verdict.OTHER),
    )
    because: str = option("what was learnt: why it came out so", metavar="TEXT")
    reopen_if: str = option("what would have to change to try it again", metavar="TEXT")
    expect: tuple[str, ...] = several(
        "regular expression that shows the mechanism: found in dumps, outputs or built files, not in the parent's",
        metavar="PATTERN",
    )
    forbid: tuple[str, ...] = several(
        "regular expression that must not be found", metavar="PATTERN"
    )
    predict: tuple[str, ...] = several(
        "metric or cost bucket and its move, such as 'copy down' or 'misses -10%'", metavar="MOVE"
    )
    reason: str = option("why the rules are overruled; stays on the page", metavar="TEXT")
    decision: str = option(
        "what the loop does with the change (default: keep what is supported)",
        choices=("keep", "revert"),
    )
    date: str = option("day of the log entry (default: today)", metavar="YYYY-MM-DD")
    dry_run: bool = flag("print verdict, rule and what would be written; write nothing")
    target: str = option(TARGET_HELP)


@dataclass(frozen=True, slots=True)
class Closing(Result):
    """Verdict, rule and what was written, or would be."""

    path: str
    ruling: "Closed"
    dry_run: bool
    hint: str

    def to_json(self) -> object:
        return {
            **asdict(self.ruling),
            **({"dry_run": True, "hint": self.hint} if self.dry_run else {}),
        }

    def to_text(self) -> str:
        r = self.ruling
        if r.superseded:
            return f"{r.verdict} supersedes {r.superseded}\nrule {r.rule}: {r.reason}\n{self.path}"
        if r.again:
            return f"{self.path} was filed before: {r.verdict}"
        by_hand = " (overruled by hand)" if r.overruled else ""
        text = f"{r.verdict}{by_hand}, {r.decision}\nrule {r.rule}: {r.reason}\n{self.path}"
        if self.dry_run:
            text += f"\nwould write: {', '.join(r.written)}; nothing was written"
        return f"{text}\n{self.hint}" if self.hint else text


def run(request: CloseExperiment, caller: Caller) -> Closing:
    from kb.experiments.case import hint_of
    from kb.experiments.closing import close

    layout = caller.layout()
    path = page_of(layout, caller, request.page, target=request.target)
    stub, target = target_of(layout, path)
    today = caller.day(request.date)
    remarks = _remarks(request)
    if request.dry_run:
        caller.tables(layout).close()
    else:
        caller.build(layout)
    _recheck(layout, caller, stub)
    earlier = trail_of(layout, target.name, before=stub.facts.order)
    ruling = close(
        layout, path, target, remarks=remarks, earlier=earlier, today=today, dry=request.dry_run
    )
    hint = "" if ruling.again else hint_of(ruling.rule, ruling.more, path)
    if not request.dry_run:
        try:
            caller.build(layout)
            _write_target(layout, caller, target)
        except KbError as error:
            raise KbError(
                f"{path} is filed as {ruling.verdict}, only what follows from it is not there yet: {error}; "
                "a later `kb build` suffices"
            ) from error
    return Closing(path, ruling, request.dry_run, hint)


def _recheck(layout: store.Layout, caller: Caller, stub: "Stub") -> None:
    """The receipt of a page that is to be filed, over the cards as of its opening."""
    from kb.experiments.receipts import refuse_forged

    if stub.filed or not stub.opened_by_kb:
        return
    db = store.state(layout)
    try:
        since = refuse_forged(layout, stub, db)
    finally:
        db.close()
    if since:
        caller.talk(f"cards like it that were filed since it was opened: {', '.join(since[:4])}")


def _remarks(request: CloseExperiment) -> "Remarks":
    from kb.experiments.auditing import expectation_from
    from kb.experiments.closing import Remarks

    asked = request.expect or request.forbid or request.predict
    return Remarks(
        Verdict(request.overrule) if request.overrule else None,
        request.reason,
        request.decision,
        request.because,
        request.reopen_if,
        expectation_from(request.expect, request.forbid, request.predict) if asked else None,
    )


def _write_target(layout: store.Layout, caller: Caller, target: "Target") -> None:
    """The tables of the target's page follow; what hinders them is told."""
    from kb.experiments.writeback import followed, target_page

    if target_page(layout, target, trail_of(layout, target.name)):
        caller.build(layout)
    if not target.path:
        caller.talk(f"there is no page wiki/targets/{target.name}.md whose frontier could follow")
    elif not followed(layout, target):
        caller.talk(
            f"{target.path} has no markers, so no table of it follows; add `<!-- kb:auto frontier -->` and `<!-- /kb:auto -->` "
            "on two lines where it shall stand (likewise `variants`, `leaderboard`, `experiments`), then `kb experiment close` once more"
        )
