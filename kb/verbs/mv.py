"""kb mv [keep]: move a page and mend every link to it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag

if TYPE_CHECKING:
    from kb.move import PageMove


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePage:
    """From where to where."""

    old: str = argument("page to move, such as wiki/concepts/old.md")
    new: str = argument("where to, such as wiki/concepts/new.md")
    dry_run: bool = flag("say what would change and change nothing")


@dataclass(frozen=True, slots=True)
class Moved(Result):
    """The links that were mended, and those left to a person."""

    plan: "PageMove"
    dry_run: bool

    @property
    def code(self) -> int:
        return FINDINGS if self.plan.left else FINE

    def to_json(self) -> object:
        plan = self.plan
        return {
            "old": plan.old,
            "new": plan.new,
            "mended": dict(plan.mended),
            "left": [list(row) for row in plan.left],
        }

    def to_text(self) -> str:
        verb, mended = "would move" if self.dry_run else "moved", self.plan.mended
        return f"{verb} {self.plan.old} to {self.plan.new}; {sum(mended.values())} links mended in {len(mended)} pages"


def run(request: MovePage, caller: Caller) -> Moved:
    from kb.move import move

    layout = caller.layout()
    old, new = caller.path(layout, request.old), caller.path(layout, request.new)
    plan = move(layout, old, new=new, dry_run=request.dry_run)
    for path, line, href in plan.left:
        caller.talk(f"{path}:{line}: mend the link '{href}' by hand")
    return Moved(plan, request.dry_run)
