"""The store of vectors that several machines share: one collection of a Chroma server. Refuses to be searched or to be the only copy.

A question is answered from this machine's own copy, exactly and the same on every machine; the server saves the encoding. Chroma inside
this process is not offered: two writers on one folder corrupt it without a word.
"""

import contextlib
import importlib.util
import re
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from kb import KbError, store

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

# Ids of one request: SQLite below the server takes 32k values at most, and a request of vectors should stay at a few MB.
_IDS = 1000
_NAMES_ONLY = 10_000

# Seconds until a server that does not answer counts as away.
_PATIENCE = 5


class Shared:
    """One collection, open: the vectors of one knowledge base by one model. Row 0 of a text has the id `DIGEST.0` and says how many there are."""

    def __init__(self, url: str, *, name: str, model: str):
        """Open the collection of knowledge base `name` (kb.toml, [kb] name) and of a model's key, made if need be. Raises KbError where nobody answers."""
        self.url = url
        if not name:
            raise KbError(
                'kb.toml: a shared store needs a name that all machines use: write name = "…" below [kb]'
            )
        host, port, encrypted = _address(url)
        if importlib.util.find_spec("chromadb") is None:
            raise KbError(
                "a shared store needs the extra `chroma`: in kb's checkout, pip install -e '.[chroma]'; or take `chroma` out of kb.toml"
            )
        try:
            socket.create_connection((host, port), timeout=_PATIENCE).close()
        except OSError as error:
            raise self._away(error) from error
        import chromadb
        import httpx
        from chromadb.errors import ChromaError

        self._failures = (ChromaError, httpx.HTTPError, ValueError)
        with self._answering():
            client = chromadb.HttpClient(
                host=host,
                port=port,
                ssl=encrypted,
                settings=chromadb.Settings(anonymized_telemetry=False),
            )
            self._collection = client.get_or_create_collection(
                collection_of(name, model),
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
            )

    def known(self, digests: Sequence[str]) -> set[str]:
        """Those of some texts whose first row is there."""
        ids: set[str] = set()
        for some in _batches([f"{d}.0" for d in digests], _NAMES_ONLY):
            with self._answering():
                ids.update(self._collection.get(ids=some, include=[])["ids"])
        return {i.removesuffix(".0") for i in ids}

    def fetch(self, digests: Sequence[str]) -> "dict[str, np.ndarray]":
        """Vectors of those texts that are there with all their rows."""
        first = self._rows([f"{d}.0" for d in digests])
        more = self._rows(
            [
                f"{i.removesuffix('.0')}.{n}"
                for i, (_, parts) in first.items()
                for n in range(1, parts)
            ]
        )
        return _whole(first, more)

    def keep(self, vectors: "Mapping[str, np.ndarray]") -> None:
        """Put vectors there. The first row of a text goes last, so that a text is known only when all of it is there; putting twice is fine."""
        rows = [
            (f"{d}.{n}", row, len(some))
            for d, some in sorted(vectors.items())
            for n, row in enumerate(some)
        ]
        for some in _batches(sorted(rows, key=lambda r: r[0].endswith(".0")), _IDS):
            with self._answering():
                self._collection.upsert(
                    ids=[i for i, _, _ in some],
                    embeddings=[row.astype("float32") for _, row, _ in some],
                    metadatas=[{"parts": parts} for _, _, parts in some],
                )

    def remove(self, digests: Collection[str]) -> None:
        """Take all rows of texts out; texts that are not there are fine."""
        first = self._rows([f"{d}.0" for d in sorted(digests)])
        for some in _batches(
            [
                f"{i.removesuffix('.0')}.{n}"
                for i, (_, parts) in first.items()
                for n in range(parts)
            ],
            _IDS,
        ):
            with self._answering():
                self._collection.delete(ids=some)

    def _rows(self, ids: Sequence[str]) -> "dict[str, tuple[np.ndarray, int]]":
        """id -> (vector, number of rows of its text), of those ids that are there."""
        vectors = {}
        for some in _batches(ids, _IDS):
            with self._answering():
                got = self._collection.get(ids=some, include=["embeddings", "metadatas"])
            vectors.update(
                {
                    i: (row, int(records["parts"]))
                    for i, row, records in zip(
                        got["ids"], got["embeddings"], got["metadatas"], strict=True
                    )
                }
            )
        return vectors

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> KbError:
        return KbError(
            f"the shared store {self.url} does not answer as a Chroma server: {' '.join(str(error).split())[:200]}; "
            "start it with `chroma run`, mend [search] chroma in kb.toml, or say --local to do without it this time"
        )


def collection_of(name: str, model: str) -> str:
    """Name of the collection of a knowledge base and a model: readable, and different for every other pair."""
    return f"kb-{re.sub(r'[^a-z0-9]+', '-', name.lower())[:40].strip('-') or 'x'}-{store.digest_of(name)}-{model}"


def _address(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/"):
            return (
                parts.hostname,
                parts.port or (443 if parts.scheme == "https" else 8000),
                parts.scheme == "https",
            )
    except ValueError:
        pass
    raise KbError(
        f"kb.toml: [search] chroma: '{url}' is no address of a server; write http://HOST:PORT"
    )


def _batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _whole(
    first: "Mapping[str, tuple[np.ndarray, int]]", more: "Mapping[str, tuple[np.ndarray, int]]"
) -> "dict[str, np.ndarray]":
    import numpy as np

    vectors = {}
    for name, (row, parts) in first.items():
        digest = name.removesuffix(".0")
        rows = [row, *(more[i][0] for n in range(1, parts) if (i := f"{digest}.{n}") in more)]
        if len(rows) == parts:
            vectors[digest] = np.stack(rows).astype("float16")
    return vectors
