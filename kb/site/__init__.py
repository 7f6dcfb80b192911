"""Graph and trail to a site to browse: every page rendered once and put into a shell. Refuses to write
where others wrote.

A page has a key that changes with all that it shows, and is made and written only where the folder of
the site holds it under another.
"""

import gc
import hashlib
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kb import KbError, store
from kb.site.folder import Built, SiteFile, bring, built_in
from kb.site.links import Resolver, picture_bytes, picture_place, web_address
from kb.site.overviews import asked_targets, overviews_of, tables_of
from kb.site.search_index import scripts_of
from kb.site.shell import SHELLS, Shell, groups_of, overrides_of, shell_of, versions
from kb.site.source_pages import source_frames
from kb.site.survey import Survey, survey_of
from kb.site.templating import Frame, sheet
from kb.site.wiki_pages import (
    Outward,
    linking_of,
    outward_of,
    stamps_of,
    ways_of,
    wiki_frames,
)
from kb.text import counted

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


@dataclass(frozen=True, slots=True)
class Rendered:
    """The site before it is made: its pages, its shell, its other files by place, and the files outside
    the wiki that it hangs on with their stamps.
    """

    frames: tuple[Frame, ...]
    shell: Shell
    files: Mapping[str, SiteFile]
    stamps: Mapping[str, str]


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

    target = out or layout.site / "html"
    had = built_in(layout, target, declared=out is not None)
    db.execute("begin")  # One state of the tables, whatever is built meanwhile.
    inputs = _inputs(layout, db)
    is_same = had.inputs == inputs and stamps_of(layout, had.stamps) == had.stamps
    if is_same and had.is_current(target):
        return SiteReport(had.pages, 0, 0, 0, True)
    gc.disable()  # Much is made here and nothing cyclic: looking for garbage took a fifth of the time.
    try:
        site = rendered_site(layout, db, handed=handed)
        if out is None and not (layout.site / ".gitignore").exists():
            store.write(layout.site / ".gitignore", _IGNORED, durable=False)
        shell, wanted = site.shell, dict(site.files)
        for frame in site.frames:
            key = f"{shell.digest} {frame.key} {frame.title}"
            wanted[frame.place] = key, partial(shell.page, frame)
        stale = sum(had.is_stale(target, f.place, wanted[f.place][0]) for f in site.frames)
        note(f"rendering {stale} of {counted(len(site.frames), 'pages')}")
        missing = shell.missing_page().encode("utf-8", "replace")
        wanted["404.html"] = shell.digest, lambda: missing
        now = Built(inputs, site.stamps, len(site.frames))
        written, removed = bring(target, wanted, had, now)
        return SiteReport(now.pages, stale, written, removed, False)
    finally:
        gc.enable()


def rendered_site(
    layout: store.Layout, db: sqlite3.Connection, *, handed: Callable[[str], object] | None
) -> Rendered:
    """The site as it should be, of which nothing is rendered until it is asked for."""

    _check_settings(layout)
    tables = store.cache(
        layout, "site.db", (store.Kept.TABLE,), version=store.code_state(everything=True)
    )
    with closing(tables) as cache:
        kept = store.Kept(cache)
        survey = survey_of(layout, db, kept)
        resolver = Resolver(survey)
        outward = outward_of(survey, resolver, kept)
        stamps = stamps_of(layout, {f for o in outward.values() for f in (*o.files, *o.pictures)})
        drawn = {f: stamps[f] for o in outward.values() for f in o.pictures if stamps[f]}
        places = kept.each("pictures", drawn, str, partial(picture_place, layout))
        resolver.shown = {file: place for file, place in places.items() if place}
        replay = _replayed(layout)
        table = replay.get("kb-assets/replay.txt", b"").decode("utf-8", "replace")
        sheets = _sheets(survey, outward, kept, handed=handed, replayed=table)
        captured = tuple(source_frames(survey, linking_of(outward)))
        ways = ways_of(survey, resolver, outward, stamps, kept)
        frames = (*wiki_frames(survey, resolver, ways), *sheets, *captured)
        groups = groups_of(survey, captured=bool(captured), replay=bool(replay))
        shell = shell_of(layout, kept, groups, depth=max(f.place.count("/") for f in frames))
        runs = {place: rows().encode("utf-8", "replace") for place, rows in tables_of(survey)}
        whole = {**shell.files, **_assets(), **replay, **runs}
        files = {
            place: (store.digest_of(data), lambda data=data: data) for place, data in whole.items()
        }
        for file, place in resolver.shown.items():
            files[place] = place, lambda file=file: picture_bytes(layout, file) or b""
        files |= scripts_of(survey, db, kept)
        kept.close()
    return Rendered(frames, shell, files, stamps)


def _sheets(
    survey: Survey,
    outward: Mapping[str, Outward],
    kept: store.Kept,
    *,
    handed: Callable[[str], object] | None,
    replayed: str,
) -> list[Frame]:
    """The pages that no one wrote, each with a digest of what it shows, which is found again by a digest of all that any of them shows."""

    config, pages = survey.layout.config, survey.pages.items()
    name = config.site_name or config.name or "Knowledge base"
    slices = {target: handed(target) for target in asked_targets(survey)} if handed else {}
    heads = [
        (path, survey.places[path], p.title, p.type, p.date, repr(p.front)) for path, p in pages
    ]
    links = [(path, survey.wiki.outlinks.get(path, ())) for path in survey.wiki.pages]
    more = (
        (replayed, repr(config), list(slices)),
        (survey.experiments, survey.cards, survey.standings),
        # Cards lead to places within pages, and so does what a loop is handed.
        [outward[c.evidence].shape for c in survey.cards if c.evidence in outward],
    )
    inputs = store.digest_of(store.row_of((more, heads, links)))
    frames, inputs_of = dict[str, Frame](), dict[str, str]()
    for place, title, template, shows in overviews_of(
        survey, name=name, handed=slices, replayed=replayed
    ):
        own = (shows()["handed"], outward) if template == "state.html" else ()
        inputs_of[place] = store.digest_of(inputs.encode() + store.row_of(own))
        frames[place] = sheet(survey, place, title, template, shows)
    keys = kept.each("sheets", inputs_of, str, lambda at: store.digest_of(frames[at].content()[0]))
    return [replace(frame, key=keys[place]) for place, frame in frames.items()]


def _check_settings(layout: store.Layout) -> None:

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

    _check_settings(layout)
    code = store.code_state(everything=True)
    sha = hashlib.sha256(f"{code} {versions()} {layout.config!r}".encode())
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
        sha.update(f"{file}\0{store.file_digest(file)}\0".encode("utf-8", "surrogatepass"))
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
    files = sorted((Path(__file__).parent / "assets").iterdir())
    return {f"kb-assets/{f.name}": f.read_bytes() for f in files if f.suffix in _OWN_TEXTS}
