"""kb site build [serve]: render the knowledge base as a site to browse, into site/html."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb import needing, store
from kb.text import counted
from kb.verbs import Caller, Result, option, text_result

if TYPE_CHECKING:
    import sqlite3

    from kb.slices import Slice

FORMATS = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBuild:
    """Where to."""

    out: str = option("build into this folder instead of site/html", metavar="DIR")


def run(request: SiteBuild, caller: Caller) -> Result:
    out = caller.file(request.out).resolve() if request.out else None
    start = render(caller, out=out) / "index.html"
    return text_result(
        str(
            start.relative_to(caller.layout.root)
            if start.is_relative_to(caller.layout.root)
            else start
        )
    )


def render(caller: Caller, *, out: Path | None) -> Path:
    """Compile the knowledge base and bring its site up to date; the folder of the site. Raises KbError where its extra is not installed."""
    with needing("site"):
        from kb import site
    caller.build()
    with store.lock(caller.layout, "site"):
        with closing(store.state(caller.layout)) as db:
            handed = slice_now(caller.layout, db)
            report = site.publish(caller.layout, db, out=out, handed=handed, note=caller.talk)
    caller.talk(
        f"{report.pages} pages: nothing changed since they were built"
        if report.fresh
        else f"{counted(report.pages, 'pages')}: {report.rendered} rendered, {counted(report.written, 'files')} written, {report.removed} removed"
    )
    return out or caller.layout.site / "html"


def slice_now(layout: store.Layout, db: "sqlite3.Connection") -> "Callable[[str], Slice]":
    """What a loop on a target would be handed at its next step."""
    from kb.slices import Request
    from kb.verbs.load import loader_of

    loader, budget = loader_of(layout, db), layout.config.budget
    return lambda target: loader.slice(Request(step="hypothesis", target=target, budget=budget))
