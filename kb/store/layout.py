"""Where things stand in a knowledge base, and its `kb.toml`. Refuses keys that it does not know."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from kb import KbError

CONFIG_NAME = "kb.toml"


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
