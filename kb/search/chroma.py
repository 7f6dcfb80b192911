"""The store of vectors that several machines share: one collection of a Chroma server. Refuses to be searched or to be the only copy.

A question is answered from this machine's own copy, exactly and the same on every machine; the server saves the encoding. Chroma inside
this process is not offered: two writers on one folder corrupt it without a word.
"""

import contextlib
import importlib.util
import re
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kb import KbError, store

if TYPE_CHECKING:
    import numpy as np

# Texts of one request: SQLite below the server takes 32k values at most, and a request of vectors should stay at a few MB.
_TEXTS = 1000

# Seconds until a server that does not answer counts as away.
_PATIENCE = 5


class Shared:
    """One collection, open: the vectors of one knowledge base by one model, by the digests of their texts."""

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
        """Those of some texts that are there."""
        return {id for got in self._rows(digests) for id in got["ids"]}

    def fetch(self, digests: Sequence[str]) -> "dict[str, np.ndarray]":
        """Vectors of those texts that are there."""
        replies = self._rows(digests, "embeddings")
        pairs = (zip(got["ids"], got["embeddings"], strict=True) for got in replies)
        return {id: row.astype("float16") for some in pairs for id, row in some}

    def keep(self, vectors: "Mapping[str, np.ndarray]") -> None:
        """Put vectors there; putting twice is fine."""
        for some in _batches(sorted(vectors)):
            with self._answering():
                self._collection.upsert(
                    ids=some, embeddings=[vectors[digest].astype("float32") for digest in some]
                )

    def remove(self, digests: Collection[str]) -> None:
        """Take texts out; those that are not there are fine."""
        for some in _batches(sorted(digests)):
            with self._answering():
                self._collection.delete(ids=some)

    def _rows(self, digests: Sequence[str], *what: str) -> Iterator[Mapping]:
        """What the server says of texts, some at a time."""
        for some in _batches(digests):
            with self._answering():
                yield self._collection.get(ids=some, include=[*what])

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> KbError:
        return KbError(
            f"the shared store {self.url} does not answer as a Chroma server: {' '.join(str(error).split())[:200]}; "
            "start it with `chroma run`, mend [search] chroma in kb.toml, or take it out to do without it"
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


def _batches(items: Sequence[str]) -> list[list[str]]:
    return [list(items[i : i + _TEXTS]) for i in range(0, len(items), _TEXTS)]
