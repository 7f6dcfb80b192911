"""Where things stand in a knowledge base, and its `kb.toml`. Refuses keys it does not know and paths that lead out.

The state folder `.kb/` counts only where kb made it on this disk, else it is set aside unread: a clone, an archive or a copy may carry
tables, captures and confirmations that somebody made up.
"""

import contextlib
import difflib
import fcntl
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import count
from pathlib import Path

from kb import KbError

_MARK = "made-here"
_DATED = ".gitignore"


def confirmed_in(state: Path) -> str | None:
    """What the mark of a state folder confirms (empty for nothing); None where kb did not make the folder on this disk.

    The mark says when the file beside it was changed last by the disk's own account (ctime), which no program can set and no copy keeps;
    in milliseconds, for not every disk keeps more.
    """
    moment, _, confirmed = _text(state / _MARK).partition("\n")
    return confirmed if moment and moment == _moment(state) else None


def _moment(state: Path) -> str:
    try:
        return str(os.lstat(state / _DATED).st_ctime_ns // 1_000_000)
    except OSError:
        return ""


def _text(file: Path) -> str:
    """The head of a small file, whatever stands there in its place."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    with contextlib.suppress(OSError):
        with open(file, "rb", 0, opener=lambda at, how: os.open(at, how | flags)) as data:
            return (data.read(8192) or b"").decode("utf-8", "surrogateescape")
    return ""


def make_state(state: Path, *, confirmed: str = "") -> None:
    """Make a state folder with its mark where there is none; `confirmed` is what the mark says beside that. Raises OSError."""
    if not confirmed and confirmed_in(state) is not None:
        return
    state.mkdir(exist_ok=True)
    with _alone(state.parent):
        if not os.path.lexists(state / _DATED):
            (state / _DATED).write_text("*\n")
        beside = state / f"{_MARK}.new"
        beside.unlink(missing_ok=True)
        beside.write_bytes(f"{_moment(state)}\n{confirmed}".encode("utf-8", "surrogateescape"))
        beside.replace(state / _MARK)


def set_aside(state: Path) -> Path | None:
    """Move a state folder that kb did not make on this disk out of the way, and say where to; None where it may stay.

    Raises KbError for a link, and where it can be neither trusted nor moved.
    """
    if state.is_symlink():
        raise KbError(
            f"{state}: is a link to elsewhere; kb keeps its state here only: remove the link and build again"
        )
    # What a disk holds that nobody can write to now was put there by whoever mounted it.
    if not _is_strange(state) or os.statvfs(state.parent).f_flag & os.ST_RDONLY:
        return None
    with _alone(state.parent):
        try:
            return moved_away(state) if _is_strange(state) else None
        except OSError as error:
            if state.stat().st_uid != os.geteuid():
                return None  # Nothing that this user unpacked belongs to another one.
            raise KbError(
                f"{state}: was not made here and cannot be set aside: {error.strerror}; remove it"
            ) from error


def _is_strange(state: Path) -> bool:
    if not state.is_dir():
        return os.path.lexists(state)
    return confirmed_in(state) is None and not {_DATED}.issuperset(os.listdir(state))


def moved_away(path: Path) -> Path:
    """Rename what stands where kb keeps something of its own, and say to what."""
    names = (f"{path.name}-foreign{n or ''}" for n in count())
    place = next(
        path.with_name(name) for name in names if not os.path.lexists(path.with_name(name))
    )
    path.rename(place)
    return place


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time, where the disk has locks: of two that start at once none moves what the other one made."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


CONFIG_NAME = "kb.toml"
STATE_NAME = ".kb"


@dataclass(frozen=True, slots=True)
class Config:
    """`kb.toml`, every key with a default. Tables: kb, verdicts, links, lint, load, scopes, search, site, model."""

    name: str = ""
    wiki: str = "wiki"
    runs: tuple[str, ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    local: tuple[str, ...] = ("raw/profiles/",)
    link_root: str = ""
    rules: Mapping[str, str] = field(default_factory=dict)
    stale_days: int = 90
    page_lines: int = 500
    budget: int = 3600
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    semantic_model: str = ""
    chroma: str = ""
    site_name: str = ""
    site_url: str = ""
    site_repository: str = ""
    site_shell: str = "material"
    site_overrides: str = ""
    model_url: str = ""
    model_name: str = ""
    model_command: str = ""
    model_verify: bool = True


# kb.toml key -> Config field
_KEYS = {
    "kb": {"name": "name", "wiki": "wiki", "runs": "runs"},
    "links": {"local": "local", "root": "link_root"},
    "lint": {"rules": "rules", "stale_days": "stale_days", "page_lines": "page_lines"},
    "load": {"budget": "budget"},
    "search": {"semantic_model": "semantic_model", "chroma": "chroma"},
    "site": {
        "name": "site_name",
        "url": "site_url",
        "repository": "site_repository",
        "shell": "site_shell",
        "overrides": "site_overrides",
    },
    "model": {
        "url": "model_url",
        "name": "model_name",
        "command": "model_command",
        "verify": "model_verify",
    },
}


_LONGEST = 1 << 20
# What kb writes itself: no place for pages, and no names for scopes.
_OUTPUTS = ("indexes", "sources", "site", "prompts")
_INDEXES = ("blueprint", "catalog", "hypothesis", "profile", "refuted", "state", "MANIFEST")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in one knowledge base. All paths that kb prints are relative to `root`."""

    root: Path
    config: Config

    @property
    def wiki(self) -> Path:
        return self.root / self.config.wiki

    def page(self, place: str) -> str:
        """A page by its place in the wiki: `targets/t.md`, where the wiki is docs/, is `docs/targets/t.md`."""
        return place if self.config.wiki == "." else f"{self.config.wiki}/{place}"

    def is_page(self, path: str) -> bool:
        """Whether a path, relative to the root, stands in the wiki, and in no folder there that a scan passes over."""
        home = self.page("")
        folder = os.path.dirname(f"/{path.removeprefix(home)}")
        return is_inner(path) and path.startswith(home) and "/." not in folder

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
        return self.root / STATE_NAME

    def at(self, path: str) -> Path:
        """The file at a path relative to the root, whoever names it. Raises KbError where it would lead out."""
        if not is_inner(path):
            raise KbError(f"{path[:200]!r}: no path inside this knowledge base")
        file = self.root / path
        if not self.holds(file):
            raise KbError(
                f"{path}: a link on the way leads out of this knowledge base; move the files here"
            )
        return file

    def holds(self, file: Path) -> bool:
        """Whether a file's folder, links resolved, is inside the root or where the link of the wiki led that somebody confirmed."""
        folder = Path(os.path.realpath(file.parent))
        if folder.is_relative_to(os.path.realpath(self.root)):
            return True
        confirmed = confirmed_in(self.state)
        return bool(confirmed) and folder.is_relative_to(confirmed)

    def links_wiki(self) -> bool:
        """Whether the link `wiki` leads where it led when somebody adopted it."""
        return confirmed_in(self.state) == os.path.realpath(self.wiki)


def is_inner(path: str) -> bool:
    """Whether a path is relative, plain and short enough for a file: no `..`, no NUL, no half of a pair of surrogates,
    no part that a disk refuses."""
    parts = path.split("/")
    return (
        bool(path)
        and "\0" not in path
        and ".." not in parts
        and not path.startswith("/")
        and all(len(part.encode("utf-8", "surrogatepass")) < 250 for part in parts)
        and len(path) < 2000
        and not any("\ud800" <= char <= "\udc7f" for char in path)
    )


def config_from(text: str) -> Config:
    """Config of a kb.toml text. Raises KbError at an unknown table or key, a wrong type, or text that is no TOML."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KbError(f"{CONFIG_NAME}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise KbError(
            f"{CONFIG_NAME}: nested too deeply; settings are plain values and lists"
        ) from error
    wanted: dict[str, object] = {}
    kinds = {f.name: f.type for f in fields(Config)}
    for table, keys in tables.items():
        if table == "scopes" and isinstance(keys, dict):
            wanted["scopes"] = {name: _scope(name, patterns) for name, patterns in keys.items()}
            continue
        if table == "verdicts":
            wanted[table] = _value(keys, Mapping[str, str], "[verdicts]")
            continue
        if table not in _KEYS or not isinstance(keys, dict):
            raise KbError(
                f"{CONFIG_NAME}: no such table '[{table}]'{_near(table, [*_KEYS, 'scopes', 'verdicts'])}"
            )
        for key, value in keys.items():
            name = _KEYS[table].get(key)
            if name is None:
                raise KbError(
                    f"{CONFIG_NAME}: no such key '{key}' in [{table}]{_near(key, _KEYS[table])}"
                )
            wanted[name] = _value(value, kinds[name], f"[{table}] {key}")
    config = Config(**wanted)  # type: ignore[arg-type]
    wiki = os.path.normpath(config.wiki)
    if not is_inner(config.wiki) or wiki in _OUTPUTS or wiki != "." and wiki.startswith("."):
        raise KbError(f"{CONFIG_NAME}: [kb] wiki: {config.wiki!r} is no folder below this one")
    return replace(config, wiki=wiki)


def _near(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known: {', '.join(known)}"


def _scope(name: str, patterns: object) -> tuple[str, ...]:
    parts = name.split("/")
    if not is_inner(name) or parts[0] in _INDEXES or any(p.startswith(".") for p in parts):
        raise KbError(
            f"{CONFIG_NAME}: [scopes] {name[:80]!r} is no name of an index of your own below indexes/"
        )
    words = _value(patterns, tuple[str, ...], f"[scopes] {name}")
    if any("\0" in word for word in words):
        raise KbError(f"{CONFIG_NAME}: [scopes] {name}: a pattern holds NUL")
    return words


def _value(value: object, kind: object, where: str) -> object:
    if kind == tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise KbError(f"{CONFIG_NAME}: {where} takes a list of strings")
        return tuple(value)
    if kind == Mapping[str, str]:
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise KbError(
                f'{CONFIG_NAME}: {where} takes a table of strings, such as {{ orphan = "off" }}'
            )
        return dict(value)
    if type(value) is not kind:
        raise KbError(
            f"{CONFIG_NAME}: {where} takes a {getattr(kind, '__name__', kind)}, not {value!r:.80}"
        )
    return value


def root_of(start: Path) -> Path:
    """The nearest folder at or above `start` with a kb.toml. Raises KbError if there is none."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    raise KbError(
        f"no {CONFIG_NAME} here or in any folder above; `kb init` starts a knowledge base, "
        "`kb init --adopt` takes over a wiki that is here"
    )


def layout_at(start: Path, *, note: Callable[[str], None] = lambda text: None) -> Layout:
    """Layout of the knowledge base that holds `start`, its state folder set aside where kb did not make that one here."""
    root = root_of(start)
    with open(root / CONFIG_NAME, "rb") as file:
        text = file.read(_LONGEST + 1).decode("utf-8", "replace")
    if len(text) > _LONGEST:
        raise KbError(f"{CONFIG_NAME}: more than {_LONGEST >> 20} MB; settings are a page at most")
    layout = Layout(root, config_from(text))
    if place := set_aside(layout.state):
        note(
            f"note: {layout.state.name}/ came with a copy, a clone or an archive; it is set aside as {place.name}/, "
            "and what kb keeps is made anew"
        )
    return layout
