"""kb experiment close [experiment]: give the verdict by rule and file the page."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from typing import ClassVar

from kb import KbError, store
from kb.experiments.closing import Closed, Remarks, close
from kb.experiments.judging import hint_of
from kb.experiments.opening import refuse_forged
from kb.experiments.stub import stub_at
from kb.experiments.targets import Target, repository_of
from kb.experiments.writeback import target_page
from kb.schema import Verdict
from kb.text import shell_word
from kb.verbs import Caller, Result, flag, option
from kb.verbs.experiment import (
    NamesExperiment,
    StatesExpectation,
    StatesLesson,
    named,
    trail_as_filed,
)

# What to do with the working tree, which kb leaves as it stands: what was measured is pinned as a commit in any case.
_THEN = {
    "keep": "\nkeep it: `{git} commit -a` commits edits that are not; `{git} merge {code}` brings it back later (pinned under refs/kb/)",
    "revert": "\ntake it back: `{git} restore .` drops edits that are not committed, `{git} revert` a commit; {code} stays pinned under refs/kb/",
}


@dataclass(frozen=True, kw_only=True)
class CloseExperiment(Remarks, StatesLesson, StatesExpectation, NamesExperiment):
    """Which page, and what a person says to the rules."""

    HELPS: ClassVar = {
        "overrule": option(
            "a person's verdict; needs --reason",
            choices=tuple(v.value for v in Verdict if v != Verdict.OTHER),
        ),
        "reason": option("why the rules are overruled; stays on the page", metavar="TEXT"),
        "decision": option(
            "what the loop does with the change (default: keep what is supported)",
            choices=("keep", "revert"),
        ),
    }
    date: str = option("day of the log entry (default: today)", metavar="YYYY-MM-DD")
    dry_run: bool = flag("print verdict, rule and what would be written; write nothing")


def run(request: CloseExperiment, caller: Caller, *, foreseen: bool = False) -> Result[Closed]:
    """`foreseen`: what --because says was said before anything ran."""
    stub, target = named(request, caller)
    today, dry = caller.day(request.date), request.dry_run
    # The cards as of its opening are there since then; what is written from here on is compiled once, at the end.
    if dry:
        caller.tables().close()
    elif not caller.knows(stub.path):
        caller.build()
    if stub.run and not stub.filed:
        with closing(store.state(caller.layout)) as db:
            since = refuse_forged(caller.layout, stub, db)
        if since:
            caller.talk(
                f"cards like it that were filed since it was opened: {', '.join(since[:4])}"
            )
    ruling = close(
        caller.layout,
        stub.path,
        target,
        remarks=request,
        stated=request.stated,
        foreseen=foreseen,
        today=today,
        dry=dry,
    )
    ruling = replace(ruling, hint="" if ruling.again else hint_of(ruling, stub.path))
    if not dry:
        try:
            target_page(caller.layout, target, trail_as_filed(caller.layout, target.name))
            caller.build()
        except KbError as error:
            raise KbError(
                f"{stub.path} is filed as {ruling.verdict}, only what follows from it is not there yet: {error}; "
                "a later `kb build` suffices"
            ) from error
    filed = stub_at(caller.layout, stub.path).page
    code = "" if ruling.again or stub.baseline else filed.field("code")[:12]
    then = "\nnothing was written" if dry else ""
    if code and not dry:
        then = _THEN[ruling.decision].format(code=code, git=_git(caller, target))
    return Result(ruling, _text(ruling) + then)


def _git(caller: Caller, target: Target) -> str:
    """How git is called on a target's repository from where the user stands; it may lie elsewhere than the knowledge base."""
    try:
        place = os.path.relpath(repository_of(caller.layout, target), caller.folder.resolve())
    except KbError:  # A record says what was measured, wherever that was.
        return "git"
    return "git" if place == "." else f"git -C {shell_word(place)}"


def _text(r: Closed) -> str:
    if r.again and not r.superseded:
        return f"{r.path} was filed before: {r.verdict}"
    by_hand = " (overruled by hand)" if r.overruled else ""
    stays = " as before, with a note below the sealed text" if r.superseded == r.verdict else ""
    then = stays or f" supersedes {r.superseded}" if r.superseded else f"{by_hand}, {r.decision}"
    rule = f"rule {r.rule}{' had said' if r.overruled else ''}: {r.reason}"
    lines = (f"{r.verdict}{then}", rule, r.path, r.hint)
    return "\n".join(filter(None, lines))
