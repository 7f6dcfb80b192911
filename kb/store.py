"""The disk: layout and configuration of a knowledge base, digests, atomic writes, locks, diff. Knows nothing of what a page says."""

import contextlib
import difflib
import fcntl
import hashlib
import json
import os
import re
import sqlite3
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from kb import KbError
from kb.schema import Finding

CONFIG_NAME = "kb.toml"
_BESIDE = ".kb-tmp"
# `.PAGE.md.k3x_9a0b.kb-tmp`, as `write` names what it begins; a killed writer leaves it behind.
_LEFT_BESIDE = re.compile(r"\..+\.[a-z0-9_]{8}\.kb-tmp")
_LEFT = ("left-behind", "", "")


@dataclass(frozen=True, slots=True)
class Config:
    """`kb.toml`, every key with a default. Tables: kb, links, lint, load, scopes, search, site, model."""

    name: str = ""
    local: tuple[str, ...] = ("raw/profiles/",)
    rules: Mapping[str, str] = field(default_factory=dict)
    stale_days: int = 90
    page_lines: int = 500
    budget: int = 8000
    tokenizer: str = ""
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    semantic_model: str = ""
    chroma: str = ""
    site_name: str = ""
    site_url: str = ""
    site_repository: str = ""
    model_url: str = ""
    model_name: str = ""
    model_command: str = ""


# kb.toml key -> Config field
_KEYS = {
    "kb": {"name": "name"},
    "links": {"local": "local"},
    "lint": {"rules": "rules", "stale_days": "stale_days", "page_lines": "page_lines"},
    "load": {"budget": "budget", "tokenizer": "tokenizer"},
    "search": {"semantic_model": "semantic_model", "chroma": "chroma"},
    "site": {"name": "site_name", "url": "site_url", "repository": "site_repository"},
    "model": {"url": "model_url", "name": "model_name", "command": "model_command"},
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in one knowledge base. All paths that kb prints are relative to `root`."""

    root: Path
    config: Config

    @property
    def wiki(self) -> Path:
        return self.root / "wiki"

    @property
    def sources(self) -> Path:
        return self.root / "sources"

    @property
    def indexes(self) -> Path:
        return self.root / "indexes"

    @property
    def prompts(self) -> Path:
        return self.root / "prompts"

    @property
    def site(self) -> Path:
        return self.root / "site"

    @property
    def state(self) -> Path:
        return self.root / ".kb"


def config_from(text: str) -> Config:
    """Config of a kb.toml text. Raises KbError at an unknown table or key, a wrong type, or text that is no TOML."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KbError(f"{CONFIG_NAME}: not valid TOML: {error}") from error
    wanted: dict[str, object] = {}
    kinds = {f.name: f for f in fields(Config)}
    for table, keys in tables.items():
        if table == "scopes" and isinstance(keys, dict):
            wanted["scopes"] = {str(k): _words(v, f"[scopes] {k}") for k, v in keys.items()}
            continue
        if table not in _KEYS or not isinstance(keys, dict):
            raise KbError(f"{CONFIG_NAME}: no such table '[{table}]'{_near(table, [*_KEYS, 'scopes'])}")
        for key, value in keys.items():
            if key not in _KEYS[table]:
                raise KbError(f"{CONFIG_NAME}: no such key '{key}' in [{table}]{_near(key, _KEYS[table])}")
            name = _KEYS[table][key]
            wanted[name] = _value(value, kinds[name].type, f"[{table}] {key}")
    return Config(**wanted)  # type: ignore[arg-type]


def _near(word: str, known) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known: {', '.join(known)}"


def _words(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise KbError(f"{CONFIG_NAME}: {where} takes a list of strings")
    return tuple(value)


def _value(value: object, kind: object, where: str) -> object:
    if kind == tuple[str, ...]:
        return _words(value, where)
    if kind == Mapping[str, str]:
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise KbError(f'{CONFIG_NAME}: {where} takes a table of strings, such as {{ orphan = "off" }}')
        return dict(value)
    if type(value) is not kind:
        raise KbError(f"{CONFIG_NAME}: {where} takes a {getattr(kind, '__name__', kind)}, not {value!r}")
    return value


def root_of(start: Path) -> Path:
    """The nearest folder at or above `start` with a kb.toml. Raises KbError if there is none."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    raise KbError(
        f"no {CONFIG_NAME} here or in any folder above; `kb init` starts a knowledge base, `kb init --adopt` takes over a wiki that is here"
    )


def layout_at(start: Path) -> Layout:
    """Layout of the knowledge base that holds `start`."""
    root = root_of(start)
    return Layout(root, config_from((root / CONFIG_NAME).read_text(encoding="utf-8", errors="replace")))


# Nothing that is packed can hold itself, so no account of what is open need be kept.
_packed = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def packed(value: object) -> str:
    """A value as the compiled tables keep it: JSON on one line."""
    return _packed(value)


def digest_of(data: bytes | str) -> str:
    """sha256 of bytes (or of UTF-8 text), first 16 hex digits: long enough to be a key, short enough to print."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Diff:
    """What must be done to make `have` into `wanted`; sorted keys."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def diff(wanted: Mapping[str, str], have: Mapping[str, str]) -> Diff:
    """The one place where increments are found: two maps key -> digest in, the difference out."""
    return Diff(
        tuple(sorted(wanted.keys() - have.keys())),
        tuple(sorted(k for k in wanted.keys() & have.keys() if wanted[k] != have[k])),
        tuple(sorted(have.keys() - wanted.keys())),
    )


def write(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Replace a file whole: write beside, fsync, rename. A reader sees the old bytes or the new ones, never half.

    `durable=False` leaves out the fsync, for trees that are rebuilt at will. Raises KbError where the disk refuses.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
        with _beside(path, raw, mode=mode, durable=durable) as beside:
            os.replace(beside, path)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise KbError(f"{path}: cannot write: {error.strerror or error}; nothing was changed there") from error


@contextlib.contextmanager
def _beside(path: Path, raw: bytes, *, mode: int, durable: bool) -> Iterator[str]:
    """A file beside `path` that holds these bytes, locked for as long as its writer lives; gone afterwards, unless it was renamed."""
    handle, name = _taken(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
            yield name
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _taken(path: Path) -> tuple[int, str]:
    """Handle and name of a fresh, locked file beside `path`."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=_BESIDE, dir=path.parent)
        with contextlib.suppress(OSError):  # Not every network disk has locks; there nothing is ever swept either.
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Before it was locked, a sweep may have taken it for one that was left behind.
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def sweep(layout: Layout, left: tuple[str, ...]) -> None:
    """Remove files that writers began beside a page and were killed over: those of a `Scan` that no living writer holds."""
    for path in left:
        try:
            handle = os.open(layout.root / path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # It was renamed, or is not ours to remove.
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(layout.root / path)
        except OSError:
            continue  # Its writer lives, or the disk is read-only or has no locks.
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create(path: Path, data: bytes | str) -> None:
    """Write a file that must not exist yet, whole and atomically. Raises FileExistsError if another writer was first."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _beside(path, raw, mode=0o666 & ~_umask(), durable=True) as beside:
            os.link(beside, path)
            os.unlink(beside)
        _sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise KbError(f"{path}: cannot write: {error.strerror or error}; nothing was changed there") from error


def remove(path: Path) -> None:
    """Remove one file that kb wrote; a file already gone is fine."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise KbError(f"{path}: cannot remove: {error.strerror or error}") from error


def write_tree(folder: Path, wanted: Mapping[str, bytes], *, suffixes: tuple[str, ...]) -> Diff:
    """Make the files below `folder` that end in one of `suffixes` equal to `wanted` (relative path -> bytes).

    Writes only what differs, removes what is no longer wanted and what a killed writer left, leaves other files alone.
    The caller holds a lock that keeps other writers out of `folder`.
    """
    have = {}
    if folder.is_dir():
        for file in sorted(folder.rglob("*")):
            if file.name.endswith(_BESIDE) and not file.is_dir():
                remove(file)
            elif file.name.endswith(suffixes) and file.is_file():
                have[file.relative_to(folder).as_posix()] = digest_of(file.read_bytes())
    change = diff({name: digest_of(data) for name, data in wanted.items()}, have)
    for name in (*change.added, *change.changed):
        write(folder / name, wanted[name])
    for name in change.removed:
        remove(folder / name)
    return change


@contextlib.contextmanager
def lock(layout: Layout, name: str, *, wait_s: float = 120) -> Iterator[None]:
    """Hold one named lock of the knowledge base; locks die with their process. Raises KbError after `wait_s` seconds."""
    import filelock

    held = filelock.FileLock(layout.state / f"{name}.lock", timeout=wait_s)
    try:
        layout.state.mkdir(exist_ok=True)
        held.acquire()
    except filelock.Timeout as error:
        raise KbError(f"{layout.state / name}.lock: another kb has held it for {wait_s:.0f} s; wait for it or end it") from error
    except OSError as error:
        raise KbError(f"{layout.state}: cannot take the lock '{name}': {error.strerror or error}") from error
    # What goes wrong while the lock is held is not the lock's fault, and is told by whoever meets it.
    try:
        yield
    finally:
        held.release()


def state(layout: Layout, *, writable: bool = False, name: str = "kb.db") -> sqlite3.Connection:
    """The compiled tables, `.kb/kb.db` (or tables kept beside them). Deleting the file is always safe: `kb build` makes it again.

    Readers see the last committed build while another one runs. On a read-only disk the file is read as it is.
    """
    file = layout.state / name
    if writable:
        try:
            layout.state.mkdir(exist_ok=True)
            connection = sqlite3.connect(file, timeout=60, isolation_level=None)
            connection.execute("pragma journal_mode = wal")
        except (OSError, sqlite3.OperationalError) as error:
            raise KbError(f"{file}: cannot write the compiled tables: {error}; is the disk read-only or full?") from error
    else:
        if not file.is_file():
            raise KbError("nothing is built here yet; run `kb build`")
        mode = "mode=ro" if os.access(layout.state, os.W_OK) else "immutable=1"
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?{mode}", timeout=60, isolation_level=None, uri=True)
    connection.execute("pragma synchronous = normal")
    connection.execute("pragma cache_size = -65536")
    connection.execute("pragma mmap_size = 268435456")
    return connection


# Rooms whose code makes no table.
_NOT_COMPILING = ("cli", "experiments", "formats", "lint", "profiles", "site")


def made_by() -> str:
    """Digest of the code that makes the compiled tables: tables made by other code are made anew."""
    sha = hashlib.sha256()
    for file in _compiling_code():
        with open(file, "rb") as code:
            sha.update(code.read())
    return sha.hexdigest()[:16]


def code_state() -> str:
    """Names, sizes and times of the same code: equal ones need not be hashed again."""
    return digest_of("\n".join(f"{file} {(seen := os.stat(file)).st_size} {seen.st_mtime_ns}" for file in _compiling_code()))


def _compiling_code() -> list[str]:
    home = os.path.dirname(os.path.abspath(__file__))
    found = []
    for folder, folders, files in os.walk(home):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not (folder == home and f in _NOT_COMPILING))
        found.extend(os.path.join(folder, f) for f in sorted(files) if f.endswith(".py"))
    return found


def is_current(db: sqlite3.Connection) -> bool:
    """Whether this version of kb made the tables, so that it can read their rows."""
    try:
        known = dict(db.execute("select key, value from meta where key in ('made_by', 'code_state')"))
    except sqlite3.DatabaseError:
        return False
    return bool(known) and (known.get("code_state") == code_state() or known.get("made_by") == made_by())


# Beyond so many files a look at each would cost more than the question that it is for.
_MOST_LOOKED_AT = 20_000


def look_of(layout: Layout) -> str:
    """Count and newest time of the files and folders below wiki/: cheap to take, and different after most edits. Empty for very many."""
    count, newest = 0, 0
    folders = [os.fspath(layout.wiki)]
    while folders:
        folder = folders.pop()
        try:
            newest = max(newest, os.stat(folder).st_mtime_ns)
            with os.scandir(folder) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.endswith(".md"):
                        newest = max(newest, entry.stat(follow_symlinks=False).st_mtime_ns)
        except OSError:
            continue  # What cannot be looked at is the build's matter.
        if count > _MOST_LOOKED_AT:
            return ""
    return f"{count} {newest}"


def changed_since(layout: Layout, db: sqlite3.Connection) -> bool:
    """Whether the wiki looks other than when the tables were built."""
    known = db.execute("select value from meta where key = 'look'").fetchone()
    return bool(known and known[0]) and known[0] != look_of(layout)


@dataclass(frozen=True, slots=True)
class Scan:
    """The markdown files of a knowledge base as they stood: path relative to root -> digest, what could not be read, and what writers left beside them."""

    digests: Mapping[str, str]
    findings: tuple[Finding, ...]
    left: tuple[str, ...] = ()


def scan(layout: Layout) -> Scan:
    """Digest of every `.md` file below wiki/. Links out of the tree, folder links and unreadable files become findings."""
    digests: dict[str, str] = {}
    findings: list[Finding] = []
    left: list[str] = []
    root = os.path.realpath(layout.root)
    for path, problem in _walk(layout.wiki, "wiki", root):
        if problem is _LEFT:
            left.append(path)
        elif problem:
            findings.append(Finding(path.encode("utf-8", "replace").decode(), 1, problem[0], problem[1], hint=problem[2]))
        else:
            try:
                digests[path] = digest_of(read_bytes(layout, path))
            except FileNotFoundError:
                findings.append(Finding(path, 1, "vanished", "the file went away while it was read", hint="run kb build again"))
            except OSError as error:
                findings.append(
                    Finding(path, 1, "unreadable", f"cannot be read: {error.strerror or error}", hint="check its permissions")
                )
    return Scan(dict(sorted(digests.items())), tuple(sorted(findings, key=lambda f: f.path)), tuple(left))


def read_bytes(layout: Layout, path: str) -> bytes:
    """Bytes of a file of the knowledge base, by its path relative to the root."""
    with open(os.path.join(layout.root, path), "rb") as file:
        return file.read()


def _walk(folder: Path, prefix: str, root: str) -> Iterator[tuple[str, tuple[str, str, str] | None]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except FileNotFoundError:
        return
    except OSError as error:
        yield prefix, ("unreadable", f"folder cannot be read: {error.strerror or error}", "check its permissions")
        return
    for entry in entries:
        path = f"{prefix}/{entry.name}"
        if entry.is_symlink():
            problem = _link_problem(entry, root)
            if problem:
                yield path, problem
            if problem or not entry.name.endswith(".md"):
                continue
        if entry.name.endswith(_BESIDE) and _LEFT_BESIDE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            yield path, _LEFT
        elif entry.is_dir():
            if not entry.name.startswith("."):
                yield from _walk(Path(entry.path), path, root)
        elif entry.name.endswith(".md") and (entry.is_file() or entry.is_symlink()):
            if path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") != path:
                yield path, ("file-name", "the file name is not valid UTF-8", "rename the file")
            else:
                yield path, None


def _link_problem(entry: os.DirEntry, root: str) -> tuple[str, str, str] | None:
    folder = os.path.isdir(entry.path)  # entry.is_dir() raises for a link to itself
    if not entry.name.endswith(".md") and not folder:
        return None
    real = os.path.realpath(entry.path)
    if folder:
        return "symlink", "a link to a folder is not followed", "move the pages here, or link to them"
    if real != root and not real.startswith(root + os.sep):
        return "symlink", "links out of the knowledge base and is not read", "copy it below sources/ or raw/, and link to that"
    return None if os.path.exists(real) else ("symlink", "the link leads nowhere", "remove it or mend it")
