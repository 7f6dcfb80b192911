"""kb site build [serve]: render the knowledge base as a site to browse, in site/docs, and build it into site/html."""

from dataclasses import dataclass
from pathlib import Path

from kb import store
from kb.verbs import Caller, Result, flag, option


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBuild:
    """Where to, and how far."""

    out: str = option("build into this folder instead of site/html", metavar="DIR")
    render_only: bool = flag(
        "stop after site/docs and site/mkdocs.yml; any renderer can go on from there"
    )
    strict: bool = flag("fail on any warning of MkDocs")


@dataclass(frozen=True, slots=True)
class SitePlace(Result):
    """The page where reading starts, or the settings where nothing was built."""

    formats = ("text",)
    path: str

    def to_text(self) -> str:
        return self.path


def run(request: SiteBuild, caller: Caller) -> SitePlace:
    layout = caller.layout()
    out = caller.file(request.out).resolve() if request.out else layout.site / "html"
    render(layout, caller, out=None if request.render_only else out, strict=request.strict)
    if request.render_only:
        return SitePlace("site/mkdocs.yml")
    start = out / "index.html"
    return SitePlace(
        str(start.relative_to(layout.root) if start.is_relative_to(layout.root) else start)
    )


def render(layout: store.Layout, caller: Caller, *, out: Path | None, strict: bool) -> None:
    """Compile, render site/docs and build it into `out`, unless it is None."""
    from kb import site

    caller.build(layout)
    with store.lock(layout, "site"):
        db = store.state(layout)
        try:
            report = site.render(layout, db, note=caller.talk)
        finally:
            db.close()
        caller.talk(
            f"{report.pages} pages in {report.files} files of site/docs: {report.written} written, {report.removed} removed"
        )
        if out:
            fresh = site.publish(layout, report, out=out, strict=strict)
            caller.talk("built anew" if fresh else "nothing changed since it was built")
