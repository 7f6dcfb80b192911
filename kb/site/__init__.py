"""Graph and trail to a site to browse: every page rendered once and put into a shell. Refuses to write where others wrote.

A page is rendered again only if something that it shows has changed, and written again only if it or its shell has.
"""

import gc
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kb import KbError, store

if TYPE_CHECKING:
    from kb.site.look import Frame
    from kb.site.shell import Shell

__all__ = ["Rendered", "SiteReport", "publish", "rendered_site"]

# A folder that kb may write holds this file: what kb wrote there, each with its key, size and time.
_MARK = ".kb-site"
_IGNORED = "# Made by `kb site build`; safe to delete.\n.gitignore\nhtml/\n"
_OWN_TEXTS = (".css", ".js", ".txt")


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
    """The site before it is written: its pages, its shell, its other files by place, and how many pages were rendered anew."""

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
    """Bring the site in `out` (default site/html) up to date with the compiled tables; `handed` gives a target's slice as of now.

    Raises KbError where others' files are in the way, an address of kb.toml is none, or the shell cannot be had.
    """
    target = out or layout.site / "html"
    have = _manifest(layout, target, declared=out is not None)
    inputs = _inputs(layout, db)
    if have["inputs"] == inputs and not _touched(target, have["files"]):
        return SiteReport(have["pages"], 0, 0, 0, True)
    gc.disable()  # Much is made here and nothing cyclic: looking for garbage took a fifth of the time.
    try:
        site = rendered_site(layout, db, handed=handed, note=note, have=lambda p: p in have["files"] and (target / p).is_file())
        return _put_in_place(layout, target, site, own=out is None, have=have, inputs=_inputs(layout, db))
    finally:
        gc.enable()


def _put_in_place(layout: store.Layout, target: Path, site: Rendered, *, own: bool, have: dict, inputs: str) -> SiteReport:
    """Write a site over the one that was there."""
    if own and not (layout.site / ".gitignore").exists():
        store.write(layout.site / ".gitignore", _IGNORED, durable=False)
    wanted: dict[str, tuple[str, Callable[[], bytes]]] = {f.place: (f"{site.shell.digest} {f.key} {f.title}", lambda f=f: site.shell.page(f)) for f in site.frames}
    wanted["404.html"] = (site.shell.digest, site.shell.missing_page)
    for name, data in site.files.items():
        # A picture that stands already came without its bytes.
        wanted[name] = (store.digest_of(data) if data else "kept", lambda data=data: data)
    ledger, written = _write(target, wanted, have["files"])
    removed = _sweep(target, set(have["files"]) - set(wanted), have["files"])
    store.write(target / _MARK, json.dumps({"inputs": inputs, "pages": len(site.frames), "files": ledger}), durable=False, declared=True)
    return SiteReport(len(site.frames), site.fresh, written, removed, False)


def rendered_site(
    layout: store.Layout,
    db: sqlite3.Connection,
    *,
    handed: Callable[[str], object | None],
    note: Callable[[str], None] = lambda text: None,
    have: Callable[[str], bool] = lambda place: False,
) -> Rendered:
    """The site as it should be; pages that earlier builds rendered come from their cache. `have` is whether a picture is in place already."""
    from kb.site.hubs import sheets_of
    from kb.site.leaves import cache_of, leaves_of
    from kb.site.look import sheet_frame
    from kb.site.search import script_of
    from kb.site.shell import groups_of, shell_of
    from kb.site.survey import survey_of

    _check_settings(layout)
    survey = survey_of(layout, db)
    # It stays open with the frames, which read their content from it.
    leaves = leaves_of(survey, cache_of(layout), code=_code_digest(), have=have, note=note)
    name = layout.config.site_name or layout.config.name or "Knowledge base"
    replay = _replayed(layout)
    sheets = list(sheets_of(survey, name=name, handed=handed, replayed=replay.get("kb-assets/replay.txt", b"").decode("utf-8", "replace")))
    frames = (*leaves.frames, *(sheet_frame(survey, sheet) for sheet in sheets))
    groups = groups_of(survey, [("Replay", "replay.html")] if replay else [])
    shell = shell_of(layout, layout.config.site_shell, groups, depth=max(f.place.count("/") for f in frames))
    files = {**shell.files, **_assets(), **leaves.pictures, **replay, "kb-assets/search-index.js": script_of(survey, leaves.documents)}
    files |= {place: data for sheet in sheets for place, data in sheet.files.items()}
    if layout.config.site_url:
        files["sitemap.xml"] = _sitemap(layout.config.site_url.rstrip("/"), [f.place for f in frames])
    return Rendered(frames, shell, files, leaves.fresh)


def _check_settings(layout: store.Layout) -> None:
    from kb.site.places import web_address
    from kb.site.shell import SHELLS, versions

    config = layout.config
    web_address(config.site_url, "url")
    web_address(config.site_repository, "repository")
    if config.site_shell not in SHELLS:
        raise KbError(f"kb.toml: [site] shell is '{config.site_shell}'; it takes {' or '.join(SHELLS)}")
    versions()


def _inputs(layout: store.Layout, db: sqlite3.Connection) -> str:
    """Digest of all that the site is made from, the files outside the wiki that pages hang on among it."""
    from kb.site.leaves import cache_of, stamp_of
    from kb.site.shell import overrides_of, versions

    sha = hashlib.sha256(f"{_code_digest()} {versions()} {layout.config!r}".encode())
    for row in db.execute("select path, digest from page order by path"):
        sha.update(repr(row).encode("utf-8", "surrogatepass"))
    _check_settings(layout)
    with closing(cache_of(layout)) as cache:
        names = {name for (text,) in cache.execute("select files from leaf") for name in json.loads(text)}
    sha.update(repr([(n, stamp_of(layout, n)) for n in sorted(names)]).encode("utf-8", "surrogatepass"))
    own = [layout.state / "replay.svg", layout.state / "replay.txt", *(layout.indexes.rglob("*.md") if layout.indexes.is_dir() else ())]
    overrides = overrides_of(layout)
    for file in sorted([*own, *(overrides.rglob("*") if overrides else ())]):
        if file.is_file():
            sha.update(f"{file}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode("utf-8", "surrogatepass"))
    return sha.hexdigest()[:16]


def _manifest(layout: store.Layout, target: Path, *, declared: bool) -> dict:
    """What kb wrote into a folder before. Raises KbError for a folder with others' files, and for one that leads out of the knowledge base."""
    if not declared and not target.resolve().is_relative_to(layout.root.resolve()):
        raise KbError(f"{target}: leads out of the knowledge base; give a folder with --out")
    nothing = {"inputs": "", "pages": 0, "files": {}}
    if not target.exists():
        return nothing
    mark = target / _MARK
    if not target.is_dir() or not mark.is_file() and any(target.iterdir()):
        raise KbError(f"{target}: holds files that kb did not write; give an empty folder with --out, or move them")
    try:
        known = json.loads(mark.read_bytes()) if mark.is_file() else nothing
        files = {name: tuple(row) for name, row in known["files"].items() if _is_place(name) and len(row) == 3}
        return {"inputs": str(known["inputs"]), "pages": int(known["pages"]), "files": files}
    except (ValueError, TypeError, KeyError, AttributeError):
        return nothing


def _is_place(name: str) -> bool:
    """Whether a name of the manifest, which may have come with a knowledge base of others, stays in the site."""
    return not name.startswith("/") and "\\" not in name and ".." not in PurePosixPath(name).parts and name != _MARK


def _stamp(path: Path) -> tuple[int, int]:
    try:
        there = os.lstat(path)
    except OSError:
        return 0, 0
    return there.st_size, there.st_mtime_ns


def _touched(target: Path, files: Mapping[str, tuple]) -> bool:
    return any(tuple(row[1:]) != _stamp(target / name) for name, row in files.items())


def _write(
    target: Path, wanted: Mapping[str, tuple[str, Callable[[], bytes]]], have: Mapping[str, tuple]
) -> tuple[dict[str, tuple[str, int, int]], int]:
    """Write what differs; the ledger of all files, and how many were written. Raises KbError before writing where a file is not kb's."""
    stale = [n for n, (key, _) in wanted.items() if n not in have or (key not in ("kept", have[n][0])) or tuple(have[n][1:]) != _stamp(target / n)]
    for folder in sorted({p for n in stale for p in PurePosixPath(n).parents} - {PurePosixPath(".")}):
        if (target / folder).is_symlink() or (target / folder).exists() and not (target / folder).is_dir():
            raise KbError(f"{target / folder}: kb did not make this; move it, or give an empty folder with --out")
    foreign = next((n for n in stale if n not in have and os.path.lexists(target / n)), None)
    if foreign and have:
        raise KbError(f"{target / foreign}: kb did not write this file; move it, or give an empty folder with --out")
    if not (target / _MARK).exists():
        store.write(target / _MARK, json.dumps({"inputs": "", "pages": 0, "files": {}}), durable=False, declared=True)
    for name in stale:
        store.write(target / name, wanted[name][1](), durable=False, declared=True)
    keys = {n: have[n][0] if key == "kept" and n in have else key for n, (key, _) in wanted.items()}
    return {n: (keys[n], *_stamp(target / n)) for n in wanted}, len(stale)


def _sweep(target: Path, gone: Iterable[str], have: Mapping[str, tuple]) -> int:
    """Remove files that kb wrote, as kb wrote them, and folders that this leaves empty."""
    removed = 0
    for name in sorted(gone):
        path = target / name
        if not path.parent.resolve().is_relative_to(target.resolve()) or tuple(have[name][1:]) != _stamp(path):
            continue
        path.unlink()
        removed += 1
        for folder in path.parents:
            if folder == target or any(os.scandir(folder)):
                break
            os.rmdir(folder)
    return removed


def _replayed(layout: store.Layout) -> dict[str, bytes]:
    """What `kb replay --save` kept: how well the loader would have served this wiki's own trail."""
    picture, table = layout.state / "replay.svg", layout.state / "replay.txt"
    if not picture.is_file() or not table.is_file():
        return {}
    return {"kb-assets/replay.svg": picture.read_bytes(), "kb-assets/replay.txt": table.read_bytes()}


def _assets() -> dict[str, bytes]:
    folder = Path(__file__).parent / "assets"
    return {f"kb-assets/{f.name}": f.read_bytes() for f in sorted(folder.iterdir()) if f.suffix in _OWN_TEXTS}


def _sitemap(url: str, places: Iterable[str]) -> bytes:
    from html import escape

    rows = "".join(f"<url><loc>{escape(f'{url}/{place}')}</loc></url>\n" for place in places)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'.encode()


def _code_digest() -> str:
    """Digest of the code that renders; a page rendered by other code is rendered again."""
    sha = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(__file__).parent.parent / "page"):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".html", ".css", ".js"):
                sha.update(file.read_bytes())
    return sha.hexdigest()[:16]
