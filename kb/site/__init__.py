"""Graph and trail to a site to browse: every page rendered once and put into a shell. Refuses to write
where others wrote.

A page is rendered again only if something that it shows has changed, and written again only if it or
its shell has.
"""

import gc
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb import KbError, store

if TYPE_CHECKING:
    from kb.site.shell import Shell
    from kb.site.survey import Survey
    from kb.site.templating import Frame

__all__ = ["Rendered", "SiteReport", "publish", "rendered_site"]

_IGNORED = "# Made by `kb site build`; safe to delete.\n.gitignore\nhtml/\n"
_OWN_TEXTS = (".css", ".js")
# Of a catalog's names, and of a captured text, as much is searched.
_MOST_SEARCHED = 30_000


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build of the site did: its pages, those rendered anew, files written and removed."""

    pages: int
    rendered: int
    written: int
    removed: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class Rendered:
    """The site before it is written: its pages, its shell, its other files by place, and how many
    pages were rendered anew.
    """

    frames: tuple["Frame", ...]
    shell: "Shell"
    files: Mapping[str, bytes]
    fresh: int


def publish(
    layout: store.Layout,
    db: sqlite3.Connection,
    *,
    out: Path | None = None,
    handed: Callable[[str], object | None] = lambda target: None,
    note: Callable[[str], None] = lambda text: None,
) -> SiteReport:
    """Bring the site in `out` (default site/html) up to date with the compiled tables; `handed` gives
    a target's slice as of now. Raises KbError where others' files are in the way, an address of
    kb.toml is none, or the shell cannot be had.
    """
    from kb.site.folder import built_in

    target = out or layout.site / "html"
    had = built_in(layout, target, declared=out is not None)
    if had.inputs == _inputs(layout, db) and had.is_current(target):
        return SiteReport(had.pages, 0, 0, 0, True)
    gc.disable()  # Much is made here and nothing cyclic: looking for garbage took a fifth of the time.
    try:
        has = lambda place: place in had.files and (target / place).is_file()  # noqa: E731
        site = rendered_site(layout, db, handed=handed, note=note, have=has)
        if out is None and not (layout.site / ".gitignore").exists():
            store.write(layout.site / ".gitignore", _IGNORED, durable=False)
        return _put_in_place(target, site, had, inputs=_inputs(layout, db))
    finally:
        gc.enable()


def _put_in_place(target: Path, site: Rendered, had, *, inputs: str) -> SiteReport:
    from kb.site.folder import KEPT, bring

    shell, wanted = site.shell, {}
    for frame in site.frames:
        key = f"{shell.digest} {frame.key} {frame.title}"
        wanted[frame.place] = key, lambda frame=frame: shell.page(frame)
    wanted["404.html"] = shell.digest, shell.missing_page
    for name, data in site.files.items():
        # A picture that stands already came without its bytes.
        wanted[name] = (store.digest_of(data) if data else KEPT), lambda data=data: data
    written, removed = bring(target, wanted, had, inputs=inputs, pages=len(site.frames))
    return SiteReport(len(site.frames), site.fresh, written, removed, False)


def rendered_site(
    layout: store.Layout,
    db: sqlite3.Connection,
    *,
    handed: Callable[[str], object | None],
    note: Callable[[str], None] = lambda text: None,
    have: Callable[[str], bool] = lambda place: False,
) -> Rendered:
    """The site as it should be; pages that earlier builds rendered come from their cache. `have` is
    whether a picture is in place already.
    """
    from kb.site.overviews import sheets_of
    from kb.site.shell import groups_of, shell_of
    from kb.site.source_pages import source_frames
    from kb.site.survey import survey_of
    from kb.site.templating import sheet_frame
    from kb.site.wiki_pages import cache_of, wiki_pages_of

    _check_settings(layout)
    survey, code = survey_of(layout, db), _code_digest()
    # It stays open with the frames, which read their content from it.
    pages = wiki_pages_of(survey, cache_of(layout), code=code, have=have, note=note)
    name = layout.config.site_name or layout.config.name or "Knowledge base"
    replay = _replayed(layout)
    table = replay.get("kb-assets/replay.txt", b"").decode("utf-8", "replace")
    sheets = list(sheets_of(survey, name=name, handed=handed, replayed=table))
    captured = tuple(source_frames(survey, pages.linking, code=code))
    frames = (*pages.frames, *(sheet_frame(survey, sheet) for sheet in sheets), *captured)
    groups = groups_of(survey, captured=bool(captured), replay=bool(replay))
    depth = max(f.place.count("/") for f in frames)
    shell = shell_of(layout, layout.config.site_shell, groups, depth=depth)
    files = {**shell.files, **_assets(), **pages.pictures, **replay, **_search(survey, db)}
    files |= {place: data for sheet in sheets for place, data in sheet.files.items()}
    if layout.config.site_url:
        files["sitemap.xml"] = _sitemap(
            layout.config.site_url.rstrip("/"), [f.place for f in frames]
        )
    return Rendered(frames, shell, files, pages.fresh)


def _search(survey: "Survey", db: sqlite3.Connection) -> dict[str, bytes]:
    """The scripts of the search over pages and captured sources; indexes stay out."""
    from kb.search.postings import every_chunk, postings_of
    from kb.site.captures import text_of_capture
    from kb.site.raw_html import anchor_of
    from kb.site.search_index import scripts_of

    texts = {}
    for source in survey.captures.sources:
        named = f"{source.title} {source.origin} {text_of_capture(survey.layout, source)[0]}"
        texts[f"sources/{source.id}"] = named[:_MOST_SEARCHED]

    def passages() -> Iterator[tuple[str, tuple[str, str, str]]]:
        for chunk in every_chunk(db):
            text = chunk.text[:_MOST_SEARCHED]
            yield chunk.path, (anchor_of(chunk.anchor), chunk.title, text)
        for path, text in texts.items():
            yield path, ("", "", text)

    catalogs = {p.path for p in survey.wiki.pages.values() if p.type == "catalog"}
    names = [(c.path, c.text[:_MOST_SEARCHED]) for c in every_chunk(db) if c.path in catalogs]
    postings = postings_of(db, [*names, *texts.items()])
    return scripts_of(dict(_entries(survey)), passages(), postings)


def _entries(survey: "Survey") -> Iterator[tuple[str, tuple[str, str, str, str, str, str]]]:
    from kb.site.captures import place_of_source
    from kb.site.runs import settings_of
    from kb.site.survey import tags_of

    for path, page in survey.wiki.pages.items():
        facts = survey.facts.get(path)
        if page.type == "index":
            continue
        levers = settings_of(facts) if facts else []
        keys = [*levers, *tags_of(page), page.stem, facts.variant if facts else ""]
        status = page.field("status") if page.type == "hypothesis" else ""
        verdict = facts.verdict.canonical or "" if facts else status
        target = facts.target if facts else page.field("target")
        row = (survey.places[path], page.title, page.type, target, str(verdict), " ".join(keys))
        yield path, row
    for source in survey.captures.sources:
        title = source.title or source.id
        row = (place_of_source(source.id), title, "captured source", "", "", source.id)
        yield f"sources/{source.id}", row


def _check_settings(layout: store.Layout) -> None:
    from kb.site.links import web_address
    from kb.site.shell import SHELLS, versions

    config = layout.config
    web_address(config.site_url, "url")
    web_address(config.site_repository, "repository")
    if config.site_shell not in SHELLS:
        raise KbError(
            f"kb.toml: [site] shell is '{config.site_shell}'; it takes {' or '.join(SHELLS)}"
        )
    versions()


def _inputs(layout: store.Layout, db: sqlite3.Connection) -> str:
    """Digest of all that the site is made from, the files outside the wiki that pages hang on among
    it.
    """
    from kb.site.shell import overrides_of, versions
    from kb.site.wiki_pages import cache_of, kept_pages, stamps_of

    _check_settings(layout)
    sha = hashlib.sha256(f"{_code_digest()} {versions()} {layout.config!r}".encode())
    for row in db.execute("select path, digest from page order by path"):
        sha.update(repr(row).encode("utf-8", "surrogatepass"))
    with closing(cache_of(layout)) as cache:
        stamps = sorted(stamps_of(layout, kept_pages(cache)).items())
    sha.update(repr(stamps).encode("utf-8", "surrogatepass"))
    overrides = overrides_of(layout)
    files = [
        layout.state / "replay.svg",
        layout.state / "replay.txt",
        *layout.indexes.rglob("*.md"),
        *layout.sources.glob("*/*.json"),
        *(overrides.rglob("*") if overrides else ()),
    ]
    for file in sorted(f for f in files if f.is_file()):
        named = f"{file}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0"
        sha.update(named.encode("utf-8", "surrogatepass"))
    return sha.hexdigest()[:16]


def _replayed(layout: store.Layout) -> dict[str, bytes]:
    """What `kb replay --save` kept: how well the loader would have served this wiki's own trail."""
    picture, table = layout.state / "replay.svg", layout.state / "replay.txt"
    if not picture.is_file() or not table.is_file():
        return {}
    return {
        "kb-assets/replay.svg": picture.read_bytes(),
        "kb-assets/replay.txt": table.read_bytes(),
    }


def _assets() -> dict[str, bytes]:
    folder = Path(__file__).parent / "assets"
    files = sorted(f for f in folder.iterdir() if f.suffix in _OWN_TEXTS)
    return {f"kb-assets/{f.name}": f.read_bytes() for f in files}


def _sitemap(url: str, places: Iterable[str]) -> bytes:
    from html import escape

    rows = "".join(f"<url><loc>{escape(f'{url}/{place}')}</loc></url>\n" for place in places)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return f"{head}{rows}</urlset>\n".encode()


def _code_digest() -> str:
    """Digest of the code that renders; a page rendered by other code is rendered again."""
    sha = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(__file__).parent.parent / "page"):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".html", ".css", ".js"):
                sha.update(file.read_bytes())
    return sha.hexdigest()[:16]
