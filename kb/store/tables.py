"""The compiled tables: one SQLite file that any build makes again, and whether this code made it. Refuses another program's file."""

import hashlib
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TypeVar
from zlib import crc32

from kb import KbError
from kb.store.files import own_state, remove
from kb.store.layout import Layout, moved_away
from kb.store.rows import digest_of, row_of, value_of

_T = TypeVar("_T")

# "kbse" in the header of each file of tables that kb made.
_OURS = 0x6B627365


class Unwritable(KbError):
    """Tables that the disk does not take: it is full, read-only, or another user's."""


def state(layout: Layout, *, writable: bool = False, name: str = "kb.db") -> sqlite3.Connection:
    """The compiled tables, `.kb/kb.db` (or tables kept beside them). Deleting the file is always safe: `kb build` makes it again.

    Readers see the last committed build while another one runs. On a disk that is read-only or full the file is read as it is.
    Raises KbError for a link, and for tables that another program made, Unwritable where the disk refuses.
    """
    file = own_state(layout, name)
    if file.exists() and not file.is_file():
        with suppress(OSError):
            moved_away(file)  # A folder or a pipe holds no tables.
    if writable:
        try:
            connection = sqlite3.connect(file, timeout=60, isolation_level=None)
            connection.execute("pragma journal_mode = wal")
        except (OSError, sqlite3.OperationalError) as error:
            raise Unwritable(
                f"{file}: cannot write the compiled tables: {error}; is the disk read-only or full?"
            ) from error
        _claim(connection, file)
    else:
        if not file.is_file():
            raise KbError("nothing is built here yet; run `kb build`")
        place, free = file.resolve().as_uri(), os.access(layout.state, os.W_OK)
        connection = _reading(f"{place}?mode=ro" if free else f"{place}?immutable=1")
        try:
            connection.execute("pragma schema_version")
        except sqlite3.DatabaseError:  # Nothing can be written beside them: the disk is full.
            connection.close()
            connection = _reading(f"{place}?immutable=1")
    connection.execute("pragma synchronous = normal")
    connection.execute("pragma cache_size = -65536")
    connection.execute("pragma mmap_size = 268435456")
    return connection


def _reading(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, timeout=60, isolation_level=None, uri=True)


def cache(
    layout: Layout, name: str, tables: Iterable[str], *, version: str = ""
) -> sqlite3.Connection:
    """Tables kept beside the compiled ones, for writing; begun anew where they are damaged or of
    another shape or version. Raises KbError where the file is a link, or another program's.
    """
    shape = int(digest_of(repr((tuple(tables), version)))[:7], 16)
    with suppress(sqlite3.DatabaseError):
        db = state(layout, writable=True, name=name)
        if db.execute("pragma user_version").fetchone()[0] == shape:
            return db
        db.close()
    for part in (name, f"{name}-wal", f"{name}-shm"):
        remove(layout.state / part)
    try:
        db = state(layout, writable=True, name=name)
        for statement in tables:
            db.execute(statement)
        db.execute(f"pragma user_version = {shape}")
    except sqlite3.DatabaseError as error:
        raise Unwritable(f".kb/{name}: {error}; delete it and try again") from error
    return db


def _claim(connection: sqlite3.Connection, file: os.PathLike) -> None:
    """Mark an empty file of tables as kb's. Raises KbError for one that holds other tables; one that is damaged is its opener's matter."""
    if connection.execute("pragma application_id").fetchone()[0] == _OURS:
        return
    tables = {name for (name,) in connection.execute("select name from sqlite_master")}
    if tables and not tables & {"meta", "vector", "answer"}:
        connection.close()
        raise KbError(
            f"{file}: another program's tables; kb keeps its own there: move the file away and build again"
        )
    connection.execute(f"pragma application_id = {_OURS}")


_CODE = (".py", ".html", ".css", ".js")
# Rooms whose code makes no table.
_NOT_COMPILING = (
    "cli",
    "experiments",
    "formats",
    "harness",
    "ingest",
    "lint",
    "model",
    "profiles",
    "research",
    "server",
    "site",
    "source",
    "verbs",
)


def made_by() -> str:
    """Digest of the code that makes the compiled tables: tables made by other code are made anew."""
    sha = hashlib.sha256()
    for file in _compiling_code():
        with open(file, "rb") as code:
            sha.update(code.read())
    return sha.hexdigest()[:16]


def code_state(*, everything: bool = False) -> str:
    """Names, sizes and times of the same code, or of all code of kb with its templates: equal ones need not be hashed again."""
    stats = ((file, os.stat(file)) for file in _compiling_code(everything=everything))
    return digest_of("\n".join(f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats))


def _compiling_code(*, everything: bool = False) -> list[str]:
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    modules = []
    for folder, folders, files in os.walk(home):
        folders[:] = sorted(
            f
            for f in folders
            if f != "__pycache__" and (everything or folder != home or f not in _NOT_COMPILING)
        )
        modules.extend(os.path.join(folder, f) for f in sorted(files) if f.endswith(_CODE))
    return modules


def shape_of(db: sqlite3.Connection) -> str:
    """The tables there are and how many rows each has: other than a build left it where somebody's hand was in the file."""
    names = [
        n
        for (n,) in db.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"
        )
    ]
    own = [
        name
        for name in names
        if not name.endswith(("_data", "_idx", "_config", "_words", "_terms"))
        and name not in ("meta", "file")
    ]
    return " ".join(
        [
            str(len(names)),
            *(f"{n}={db.execute(f'select count(*) from {n}').fetchone()[0]}" for n in own),
        ]
    )


# Files of tables that this process found current, by the times and sizes at which it did.
_CURRENT: set[tuple[object, ...]] = set()


def is_current(db: sqlite3.Connection) -> bool:
    """Whether this version of kb made the tables and nobody else changed them, so that it can read their rows."""
    stamp = _stamp_of(db)
    current = stamp in _CURRENT or _is_whole(db)
    if current:
        _CURRENT.add(stamp)
    return current


def _stamp_of(db: sqlite3.Connection) -> tuple[object, ...]:
    """The file of some tables, with sizes and times of it and of what was written beside it."""
    file = db.execute("pragma database_list").fetchone()[2]
    stats = (os.stat(f) if os.path.exists(f) else None for f in (file, f"{file}-wal"))
    return file, *(s and (s.st_ino, s.st_size, s.st_mtime_ns) for s in stats)


def _is_whole(db: sqlite3.Connection) -> bool:
    try:
        db.execute("savepoint look")
        try:
            known = dict(
                db.execute(
                    "select key, value from meta where key in ('made_by', 'code_state', 'shape')"
                )
            )
            whole = known.get("shape") == shape_of(db)
        finally:
            db.execute("release look")
    except sqlite3.DatabaseError:
        return False
    return whole and (known.get("code_state") == code_state() or known.get("made_by") == made_by())


# So many pieces stand in one row.
_PIECES = 512


class Kept:
    """Results that the tables keep with a digest of what they were made from, so that cost follows the change.

    `close` drops those that nobody asked for.
    """

    # With row numbers: without them whoever looks for a name reads the whole of each row that he passes, megabytes of some.
    TABLE = "create table kept (name text primary key, inputs text not null, row blob not null)"

    def __init__(self, db: sqlite3.Connection):
        self.db, self.names = db, set[str]()

    def of(
        self,
        name: str,
        inputs: object,
        kind: type[_T],
        make: Callable[[], _T],
        *,
        within: Iterable[str] = (),
    ) -> _T:
        """What `make` gives for these inputs, from the tables where it was made of the same; `within` names what it asks for itself."""
        digest = digest_of(row_of(inputs))
        self.names.add(name)
        query = "select row from kept where name = ? and inputs = ?"
        row = self.db.execute(query, (name, digest)).fetchone()
        if not row:
            return self.keep(name, make(), inputs=digest)
        self.names.update(place for inner in within for place, _ in self._rows(inner))
        return value_of(row[0], kind)

    def each(
        self, name: str, inputs: Mapping[str, str], kind: type[_T], make: Callable[[str], _T]
    ) -> dict[str, _T]:
        """What `make` gives for each key of `inputs`, key -> digest of all that it is made from; made anew where that differs."""
        pieces = dict[str, tuple[str, kind]]
        have = {place: value_of(row, pieces) for place, row in self._rows(name)}
        known = {key: piece for some in have.values() for key, piece in some.items()}
        # Many in a row: each alone takes several times as long to decode, and all together as long to write as a build.
        rows = 1 + len(inputs) // _PIECES
        wanted: dict[str, dict[str, tuple[str, _T]]] = defaultdict(dict)
        values: dict[str, _T] = {}
        for key, digest in inputs.items():
            piece = known.get(key)
            if piece is None or piece[0] != digest:
                piece = (digest, make(key))
            values[key] = piece[1]
            wanted[f"{name}/{crc32(key.encode()) % rows}"][key] = piece
        self.names.update(wanted)
        for place, some in wanted.items():
            if [*some.items()] != [*have.get(place, {}).items()]:
                self.keep(place, some)
        return values

    def _rows(self, name: str) -> list[tuple[str, bytes]]:
        query = "select name, row from kept where name >= ? and name < ?"
        return self.db.execute(query, (f"{name}/", f"{name}0")).fetchall()

    def keep(self, name: str, value: _T, *, inputs: str = "") -> _T:
        """A value, kept under a name."""
        self.names.add(name)
        row = (name, inputs, row_of(value))
        self.db.execute("insert or replace into kept values (?, ?, ?)", row)
        return value

    def last(self, name: str, kind: type[_T]) -> _T | None:
        """What was kept under a name, whatever it was made of."""
        row = self.db.execute("select row from kept where name = ?", (name,)).fetchone()
        return value_of(row[0], kind) if row else None

    def close(self) -> None:
        gone = {name for (name,) in self.db.execute("select name from kept")} - self.names
        self.db.executemany("delete from kept where name = ?", ((name,) for name in gone))


def replace_rows(db: sqlite3.Connection, table: str, rows: Iterable[tuple]) -> None:
    """Make a table hold these rows and no others; of those that stand there already none is written."""
    columns = db.execute(f"pragma table_info({table})").fetchall()
    keys = {place: f"{name} = ?" for place, name, *_, key in columns if key}
    wanted, have = set(rows), set(db.execute(f"select * from {table}"))
    gone = ([row[place] for place in keys] for row in have - wanted)
    db.executemany(f"delete from {table} where {' and '.join(keys.values())}", gone)
    marks = ", ".join("?" * len(columns))
    db.executemany(f"insert into {table} values ({marks})", sorted(wanted - have))
