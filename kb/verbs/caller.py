"""Who asks: the folder that paths are seen from, the moment, and where talk goes. What verbs share about paths and tables."""

import os
import posixpath
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from kb import KbError, readable, store
from kb.verbs.result import Result

# Names so alike are one, misspelt, where numbers, short words and the first letters of the others are the same: siblings differ in these.
_NEAR, _TELLING = 0.8, re.compile(r"\d+|(?<![^\W_])[^\W\d_](?:[^\W\d_]{0,3}(?![^\W_]))?")


@dataclass(frozen=True)
class Caller:
    """A door's side of a request. `now` is an ISO time with its zone; `progress` shows one line that the next replaces ("" ends it).

    A `confined` caller is a program on another side of a wall: files that it names must lie in the knowledge base.
    """

    folder: Path
    now: str
    talk: Callable[[str], None]
    progress: Callable[[str], None]
    data: Callable[[str], None]
    stdin: Callable[[], bytes]
    confined: bool = False

    @property
    def today(self) -> str:
        return self.now[:10]

    @cached_property
    def layout(self) -> store.Layout:
        """The knowledge base that the caller stands in, as it is when it is first asked for."""
        return store.layout_at(self.folder, note=self.talk)

    def day(self, text: str, name: str = "--date") -> str:
        """A day as typed after an option, or today."""
        import datetime

        if not text:
            return self.today
        try:
            return datetime.date.fromisoformat(text).isoformat()
        except ValueError as error:
            raise KbError(f"{name} {text}: not a day; write YYYY-MM-DD") from error

    def file(self, typed: str) -> Path:
        """A file or folder as it is seen from where the caller stands."""
        full = self.folder / typed
        if not self.confined:
            return Path(typed) if self.folder == Path.cwd() else full
        with suppress(ValueError):  # NUL, or half of a pair of surrogates.
            if full.resolve().is_relative_to(self.layout.root.resolve()):
                return full
        raise KbError(f"{typed[:200]!r}: leads out of the knowledge base and is not read")

    def content(self, typed: str) -> bytes:
        """What a file holds, or what comes in where it is `-`. Raises KbError where it cannot be read."""
        with readable(typed):
            if typed == "-":
                return self.stdin()
            file = self.file(typed)
            if not self.confined and file.is_fifo():  # As a shell hands over what a command prints.
                return file.read_bytes()
            return store.bytes_of(file, declared=not self.confined)

    def text(self, typed: str) -> str:
        """The same as text. Raises KbError where it is none."""
        from kb.page import text_of

        text = text_of(self.content(typed))
        if "\0" in text:
            raise KbError(f"{typed}: is a binary file; give it as text")
        return text

    def rows(self, typed: str) -> Iterator[tuple[str, object]]:
        """The values of a file of JSON lines, each with its place. Raises KbError at a line that is none."""
        for number, line in enumerate(self.text(typed).split("\n"), 1):
            place = f"{typed}:{number}"
            if line.strip():
                try:
                    yield place, store.json_of(line)
                except ValueError as error:
                    raise KbError(f"{place}: not JSON: {error}") from error

    def path(self, typed: str) -> str:
        """A typed path relative to the root: as it stands if it starts at the root, else as seen from the caller's folder."""
        if not os.path.isabs(typed):
            plain = posixpath.normpath(typed)
            if (
                plain.startswith((f"{self.layout.config.wiki}/", "sources/"))
                or not plain.startswith("../")
                and (self.layout.root / plain).exists()
            ):
                return plain
        full = Path(os.path.abspath(self.folder / typed))
        if not full.is_relative_to(self.layout.root):
            raise KbError(f"{typed}: stands outside the knowledge base {self.layout.root}")
        return full.relative_to(self.layout.root).as_posix()

    def page(self, typed: str) -> str:
        """A page as named: a file that is seen from the caller's folder by its path from the root, anything else as typed."""
        return (
            self.path(typed) if typed.endswith(".md") and (self.folder / typed).exists() else typed
        )

    def call(self, words: str, values: Mapping[str, object], *, text: str = "") -> Result:
        """Another verb by its words; `text` stands on its stdin."""
        from kb.verbs.registry import verbs
        from kb.verbs.request import request_from

        verb = verbs()[words]
        asking = replace(self, stdin=text.encode if text else self.stdin)
        return verb.run(request_from(verb.request, values), asking)

    def build(self, *, again: bool = False) -> None:
        """Compile what was changed, so that what follows from it is there; `again` as `build` means it."""
        from kb.build import build

        build(self.layout, note=self.talk, again=again)

    def tables(self) -> sqlite3.Connection:
        """Read-only tables that this version of kb can read, built first where there are none; says where pages are newer."""
        with self.opened() as db:
            return db

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """The same tables for as long as a question takes, at whose end it is said where pages were newer."""
        db, reason = _standing_tables(self.layout)
        if db is None:
            self.talk(reason)
            self.build()
            yield store.state(self.layout)
            return
        changed = store.changed_since(self.layout, db)
        try:
            yield db
        finally:
            if changed():
                self.talk("note: pages were changed since the last build; `kb build` takes them up")

    def knows(self, path: str) -> bool:
        """Whether the tables, as the last build left them, hold an experiment; waits for nobody."""
        db, _ = _standing_tables(self.layout)
        return db is not None and bool(
            db.execute("select 1 from experiment where path = ?", (path,)).fetchone()
        )

    def doubt_target(self, db: sqlite3.Connection, target: str, *, cutoff: float = _NEAR) -> None:
        """Say that no experiment, page or statement is of this target: it may be new.

        Raises KbError where another has nearly its name, by `cutoff`, and so it is misspelt.
        """
        known = "select 1 from experiment where target = ?1 union all select 1 from card where target = ?1 union all select 1 from standing where type = 'target' and path like ?2"
        if not target or db.execute(known, (target, f"%/{target}.md")).fetchone():
            return
        from difflib import get_close_matches

        from kb import trail

        names, own = trail.targets(db), _TELLING.findall(target.lower())
        alike = [t for t in names if not cutoff or _TELLING.findall(t.lower()) == own]
        listed = f"known: {', '.join(names) or 'none'}"
        for near in get_close_matches(target, alike, n=1, cutoff=cutoff):
            page = self.layout.page(f"targets/{target}.md")
            raise KbError(
                f"nothing is known of a target '{target}' (nearest: {near}); {listed}; a new one begins with its page, {page}"
            )
        self.talk(f"note: nothing is known of a target '{target}'; {listed}")


def _standing_tables(layout: store.Layout) -> tuple[sqlite3.Connection | None, str]:
    if not (layout.state / "kb.db").is_file():
        return None, "nothing is built here yet; building"
    try:
        db = store.state(layout)
        if store.is_current(db):
            if db.execute("select 1 from meta where key = 'inputs'").fetchone():
                return db, ""
            return None, "no build has come to its end here; building"
    except sqlite3.DatabaseError as error:
        return None, f"the tables are damaged ({error}); building anew"
    return None, "the tables are of another version of kb; building anew"
