"""kb retro [keep]: compute the skeleton of a retrospective."""

from dataclasses import dataclass

from kb import KbError, store, trail
from kb.page import slug_of
from kb.trail.retro import Retro, markdown_of, retro_of
from kb.verbs import Caller, Result, flag, option
from kb.verbs.status import only_target, standing_at

FORMATS = ("md", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRetro:
    """Of which target, under which date, printed or filed."""

    target: str = option("the target (may be left out where there is only one)")
    date: str = option("date of the page (default: today)", metavar="YYYY-MM-DD")
    write: bool = flag("file it as analyses/DATE-TARGET-retrospective.md instead of printing it")


def run(request: AskRetro, caller: Caller) -> Result[Retro]:
    db = caller.tables()
    target = only_target(db, request.target, ask="say which target with --target")
    standing = standing_at(caller, db, target)
    everything = trail.experiments(db)
    own = [e for e in everything if e.target == target]
    retro = retro_of(standing, own, [e for e in everything if e.target != target])
    date = caller.day(request.date)
    page = markdown_of(retro, standing, own, date=date, folder=caller.layout.page("analyses"))
    path = caller.layout.page(
        f"analyses/{date}-{slug_of(target.replace('/', '-'))}-retrospective.md"
    )
    if not request.write:
        return Result(retro, page)
    try:
        store.create(caller.layout.at(path), page)
    except FileExistsError:
        raise KbError(
            f"{path} is there already; a correction is a new page or a dated note below it"
        ) from None
    return Result(retro, path)
