"""Graph and trail to a site to browse: every page rendered once and put into a shell. Refuses to write
where others wrote.

A page is rendered again only if something that it shows has changed, and written again only if it or
its shell has.
"""

import gc
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kb import KbError, store

if TYPE_CHECKING:
    from kb.site.shell import Shell
    from kb.site.survey import Survey
    from kb.site.templating import Frame, RenderedSheet

__all__ = ["Rendered", "SiteReport", "publish", "rendered_site"]

_IGNORED = "# Made by `kb site build`; safe to delete.\n.gitignore\nhtml/\n"
_OWN_TEXTS = (".css", ".js")


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build of the site did: its pages, those rendered anew, files written and removed."""

    pages: int
    rendered: int
    written: int
    removed: int
    fresh: bool


# A file of the site: a key that changes with it, and its bytes when they are asked for.
SiteFile = tuple[str, Callable[[], bytes]]


@dataclass(frozen=True, slots=True)
class Rendered:
    """The site before it is written: its pages, its shell, its other files by place, the files outside
    the wiki that it hangs on with their stamps, and how many pages were rendered anew.
    """

    frames: tuple["Frame", ...]
    shell: "Shell"
    files: Mapping[str, SiteFile]
    stamps: frozenset[tuple[str, str]]
    fresh: int


def publish(
    layout: store.Layout,
    db: sqlite3.Connection,
    *,
    out: Path | None = None,
    handed: Callable[[str], object] | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> SiteReport:
    """Bring the site in `out` (default site/html) up to date with the compiled tables; `handed` gives
    a target's slice as of now. Raises KbError where others' files are in the way, an address of
    kb.toml is none, or the shell cannot be had.
    """
    from kb.site.folder import built_in
    from kb.site.wiki_pages import cache_of, kept_pages, stamps_of

    target = out or layout.site / "html"
    had = built_in(layout, target, declared=out is not None)
    db.execute("begin")  # One state of the tables, whatever is built meanwhile.
    inputs = _inputs(layout, db)
    with closing(cache_of(layout)) as cache:
        stamps = frozenset(stamps_of(layout, kept_pages(cache)).items())
    if had.inputs == _with_stamps(inputs, stamps) and had.is_current(target):
        return SiteReport(had.pages, 0, 0, 0, True)
    gc.disable()  # Much is made here and nothing cyclic: looking for garbage took a fifth of the time.
    try:
        has = lambda place: place in had.files and (target / place).is_file()  # noqa: E731
        site = rendered_site(layout, db, handed=handed, note=note, have=has)
        if out is None and not (layout.site / ".gitignore").exists():
            store.write(layout.site / ".gitignore", _IGNORED, durable=False)
        return _put_in_place(target, site, had, inputs=_with_stamps(inputs, site.stamps))
    finally:
        gc.enable()


def _with_stamps(inputs: str, stamps: frozenset[tuple[str, str]]) -> str:
    return store.digest_of(store.row_of((inputs, sorted(stamps))))


def _put_in_place(target: Path, site: Rendered, had, *, inputs: str) -> SiteReport:
    from kb.site.folder import bring

    shell, wanted = site.shell, dict(site.files)
    for frame in site.frames:
        key = f"{shell.digest} {frame.key} {frame.title}"
        wanted[frame.place] = key, lambda frame=frame: shell.page(frame)
    wanted["404.html"] = shell.digest, shell.missing_page
    written, removed = bring(target, wanted, had, inputs=inputs, pages=len(site.frames))
    return SiteReport(len(site.frames), site.fresh, written, removed, False)


def rendered_site(
    layout: store.Layout,
    db: sqlite3.Connection,
    *,
    handed: Callable[[str], object] | None,
    note: Callable[[str], None] = lambda text: None,
    have: Callable[[str], bool] = lambda place: False,
) -> Rendered:
    """The site as it should be; what earlier builds made comes from their cache. `have` is whether a
    picture is in place already.
    """
    from kb.site.folder import KEPT
    from kb.site.search_index import scripts_of
    from kb.site.shell import groups_of, shell_of
    from kb.site.source_pages import source_frames
    from kb.site.survey import survey_of
    from kb.site.wiki_pages import cache_of, code_digest, wiki_pages_of

    _check_settings(layout)
    cache, code = cache_of(layout), code_digest()
    kept = store.Kept(cache)
    survey = survey_of(layout, db, kept)
    # The cache stays open with the frames, which read their content from it.
    pages = wiki_pages_of(survey, cache, code=code, have=have, note=note)
    replay = _replayed(layout)
    table = replay.get("kb-assets/replay.txt", b"").decode("utf-8", "replace")
    shapes = {path: row.shape for path, row in pages.kept.items()}
    sheets = tuple(_sheets(survey, kept, (code, table, shapes), handed=handed, replayed=table))
    captured = tuple(source_frames(survey, pages.linking, code=code))
    frames = (*pages.frames, *(sheet.frame for sheet in sheets), *captured)
    groups = groups_of(survey, captured=bool(captured), replay=bool(replay))
    shell = shell_of(layout, kept, groups, depth=max(f.place.count("/") for f in frames))
    whole = {**shell.files, **_assets(), **replay}
    whole |= {place: data for sheet in sheets for place, data in sheet.files.items()}
    files = {place: _site_file(data) for place, data in whole.items()}
    # A picture that stands already came without its bytes.
    pictures = {
        p: _site_file(data) if data else (KEPT, bytes) for p, data in pages.pictures.items()
    }
    scripts = scripts_of(survey, db, kept)
    kept.close()
    stamps = frozenset(stamp for row in pages.kept.values() for stamp in row.files)
    return Rendered(frames, shell, {**files, **pictures, **scripts}, stamps, pages.fresh)


def _site_file(data: bytes) -> SiteFile:
    return store.digest_of(data), lambda: data


def _sheets(
    survey: "Survey",
    kept: store.Kept,
    more: object,
    *,
    handed: Callable[[str], object] | None,
    replayed: str,
) -> Iterator["RenderedSheet"]:
    """The pages that no one wrote, from the cache where nothing of what they are made from changed."""
    from kb.site.overviews import asked_targets, sheets_of, state_sheet
    from kb.site.templating import RenderedSheet

    config = survey.layout.config
    name = config.site_name or config.name or "Knowledge base"
    slices = {target: handed(target) for target in asked_targets(survey)} if handed else {}
    heads = [
        (path, survey.places[path], p.title, p.type, p.date, repr(p.front))
        for path, p in survey.pages.items()
    ]
    links = [(path, survey.wiki.outlinks.get(path, ())) for path in survey.wiki.pages]
    trails = (survey.experiments, survey.cards, survey.standings)
    inputs = store.digest_of(store.row_of((more, repr(config), heads, links, trails, list(slices))))

    make = partial(sheets_of, survey, name=name, handed=slices, replayed=replayed)
    yield from kept.of("sheets", inputs, tuple[RenderedSheet, ...], lambda: tuple(make()))
    for target, handed_now in slices.items():
        make_one = partial(state_sheet, survey, target, handed_now)
        yield kept.of(f"slice of {target}", (inputs, handed_now), RenderedSheet, make_one)


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
    """Digest of what the site is made from, but for the files outside the wiki that pages hang on."""
    from kb.site.shell import overrides_of, versions
    from kb.site.wiki_pages import code_digest

    _check_settings(layout)
    sha = hashlib.sha256(f"{code_digest()} {versions()} {layout.config!r}".encode())
    for row in db.execute("select path, digest from page order by path"):
        sha.update(repr(row).encode("utf-8", "surrogatepass"))
    overrides = overrides_of(layout)
    files = [
        layout.state / "replay.svg",
        layout.state / "replay.txt",
        *layout.indexes.rglob("*.md"),
        *layout.sources.glob("*/*.json"),
        *(overrides.rglob("*") if overrides else ()),
    ]
    for file in sorted(f for f in files if f.is_file()):
        named = f"{file}\0{store.file_digest(file)}\0"
        sha.update(named.encode("utf-8", "surrogatepass"))
    return sha.hexdigest()[:16]


def _replayed(layout: store.Layout) -> dict[str, bytes]:
    """What `kb replay --save` kept: how well the loader would have served this wiki's own trail."""
    picture, table = layout.state / "replay.svg", layout.state / "replay.txt"
    if not picture.is_file() or not table.is_file():
        return {}
    return {
        "kb-assets/replay.svg": store.bytes_of(picture),
        "kb-assets/replay.txt": store.bytes_of(table),
    }


def _assets() -> dict[str, bytes]:
    folder = Path(__file__).parent / "assets"
    files = sorted(f for f in folder.iterdir() if f.suffix in _OWN_TEXTS)
    return {f"kb-assets/{f.name}": f.read_bytes() for f in files}
