"""kb mv [keep]: move a page and mend every link to it."""

from dataclasses import dataclass

from kb.claims import readdress
from kb.move import move
from kb.text import counted
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePage:
    """From where to where."""

    old: str = argument("page to move, such as wiki/concepts/old.md")
    new: str = argument("where to, such as wiki/concepts/new.md")
    dry_run: bool = flag("say what would change and change nothing")


def run(request: MovePage, caller: Caller) -> Result:
    old, new = caller.path(request.old), caller.path(request.new)
    readdressed = lambda old, new: readdress(caller.layout, old, new=new)  # noqa: E731
    plan = move(caller.layout, old, new=new, along=readdressed, dry_run=request.dry_run)
    for path, line, href in plan.left:
        caller.talk(f"{path}:{line}: mend the link '{href}' by hand")
    verb, mended = "would move" if request.dry_run else "moved", plan.mended
    links = f"{counted(sum(mended.values()), 'links')} mended in {counted(len(mended), 'pages')}"
    value = {"old": plan.old, "new": plan.new, "mended": mended, "left": plan.left}
    text = f"{verb} {plan.old} to {plan.new}; {links}"
    return Result(value, text, FINDINGS if plan.left else FINE)
