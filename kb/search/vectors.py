"""Vectors of all sections, kept by digest of what was encoded, and exact search among them. Refuses to hold what cannot be made again.

`.kb/vectors.db` is a cache beside the compiled tables: a moved page encodes nothing, an edited one its changed sections. Which section has
which vector is worked out from the tables each time, so the two cannot disagree.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kb import store
from kb.search import Hit, chunk_at, find, without_links
from kb.search.encoder import Encoder

T = TypeVar("T", bound=Hashable)

if TYPE_CHECKING:
    import numpy as np

    from kb.search.chroma import Shared

_FILE = "vectors.db"
_TABLE = "create table vector (model text not null, digest text not null, row blob not null, primary key (model, digest))"

# Sections encoded between two commits: what a killed run loses at most.
_BATCH = 64

# Sections that each ranking brings to the fusion.
_DEEP = 100


@dataclass(frozen=True, slots=True)
class Synced:
    """What bringing the vectors up to date took: sections there are, texts encoded here, brought from the shared store, gone."""

    sections: int
    encoded: int
    fetched: int
    removed: int


@dataclass(frozen=True, slots=True)
class _Section:
    row: int
    path: str
    type: str
    title: str
    digest: str


def sync(
    layout: store.Layout,
    db: sqlite3.Connection,
    encoder: Encoder,
    *,
    shared: "Shared | None" = None,
    note: Callable[[int, int], None] = lambda done, total: None,
) -> Synced:
    """Give every section of the compiled tables its vectors, and drop those that no section has; `note` hears of texts done and to do.

    With a shared store, vectors that another machine made are brought from there, and those that it lacks are put there. What leaves it is
    only what this copy held and holds no more; a copy that still has such a section puts its vectors back when it syncs.
    Killed at any point, what was encoded stays.
    """
    sections, texts = _sections(db)
    model = encoder.model.key
    with (
        store.lock(layout, "vectors"),
        contextlib.closing(store.cache(layout, _FILE, (_TABLE,))) as kept,
    ):
        have = {d for (d,) in kept.execute("select digest from vector where model = ?", (model,))}
        missing, gone = sorted(texts.keys() - have), sorted(have - texts.keys())
        from_shared = shared.fetch(missing) if shared else {}
        _keep(kept, model, from_shared)
        missing = [digest for digest in missing if digest not in from_shared]
        for start in range(0, len(missing), _BATCH):
            note(start, len(missing))
            some = missing[start : start + _BATCH]
            encoded = encoder.passages([texts[digest] for digest in some])
            _keep(kept, model, dict(zip(some, encoded, strict=True)))
        if shared:
            rows = _stored(kept, model, texts.keys() - shared.known(sorted(texts)))
            shared.keep(rows)
            shared.remove(gone)
        kept.execute("begin immediate")
        kept.executemany(
            "delete from vector where model = ? and digest = ?", [(model, d) for d in gone]
        )
        kept.execute("delete from vector where model != ?", (model,))
        kept.execute("commit")
    return Synced(len(sections), len(missing), len(from_shared), len(gone))


def _sections(db: sqlite3.Connection) -> tuple[list[_Section], dict[str, tuple[str, str]]]:
    """Every section in the order of path and place, and what is encoded of it by digest: (titles, text).

    Catalogs are lists of names: words find them, and their vectors would say nothing.
    """
    sections, texts = [], {}
    for row, path, kind, head, title, text in db.execute(
        "select c.id, c.path, s.type, s.head, c.title, c.text from chunk c join searched s on s.path = c.path where s.type != 'catalog' order by c.path, c.id"
    ):
        page = head.partition("\n")[0]
        texts_of_section = (
            f"{page} > {title}" if title and title != page else page,
            without_links(text),
        )
        digest = store.digest_of("\n\n".join(texts_of_section))
        sections.append(_Section(row, path, kind, page, digest))
        texts[digest] = texts_of_section
    return sections, texts


def _keep(kept: sqlite3.Connection, model: str, rows: "Mapping[str, np.ndarray]") -> None:
    kept.execute("begin immediate")
    kept.executemany(
        "insert or replace into vector values (?, ?, ?)",
        [(model, digest, row.tobytes()) for digest, row in rows.items()],
    )
    kept.execute("commit")


def _stored(
    kept: sqlite3.Connection, model: str, wanted: Collection[str]
) -> "dict[str, np.ndarray]":
    import numpy as np

    rows = kept.execute("select digest, row from vector where model = ? order by digest", (model,))
    return {d: np.frombuffer(row, "float16") for d, row in rows if d in wanted}


class Vectors:
    """The vectors of one build, open for questions; `missing` counts sections that have none until the next `sync`."""

    def __init__(self, layout: store.Layout, db: sqlite3.Connection, encoder: Encoder):
        import numpy as np

        self.db, self.encoder = db, encoder
        sections, texts = _sections(db)
        with contextlib.closing(store.cache(layout, _FILE, (_TABLE,))) as kept:
            stored = _stored(kept, encoder.model.key, texts)
        self.missing = sum(s.digest not in stored for s in sections)
        self.sections = [s for s in sections if s.digest in stored]
        # Texts that stand on several pages are compared once.
        order = {digest: place for place, digest in enumerate(stored)}
        self._rows = np.array([*stored.values()] or [[0.0]], dtype="float32")
        self._text = np.array([order[s.digest] for s in self.sections], dtype=int)

    def similar(
        self,
        question: str,
        *,
        limit: int,
        types: Collection[str] = (),
        paths: Collection[str] | None = None,
    ) -> list[Hit]:
        """Sections by cosine, best first, ties by path and place; `types` and `paths` narrow down which pages are asked."""
        import numpy as np

        if not self.sections:
            return []
        scores = np.round(self._rows @ self.encoder.question(question), 5)[self._text]
        hits: list[Hit] = []
        for place in np.argsort(-scores, kind="stable"):
            section = self.sections[place]
            if len(hits) == limit:
                break
            if (not types or section.type in types) and (paths is None or section.path in paths):
                hits.append(
                    Hit(
                        chunk_at(self.db, section.row),
                        section.type,
                        section.title,
                        float(scores[place]),
                    )
                )
        return hits

    def find(
        self,
        db: sqlite3.Connection,
        question: str,
        *,
        limit: int,
        types: Collection[str] = (),
        paths: Collection[str] | None = None,
    ) -> list[Hit]:
        """What `kb.search.find` finds by words and `similar` by meaning, as one ranking; called as `find` is. `score` is that of the fusion."""
        deep = max(limit, _DEEP)
        rankings = (
            find(db, question, limit=deep, types=types, paths=paths),
            self.similar(question, limit=deep, types=types, paths=paths),
        )
        hits = {hit.chunk: hit for ranking in rankings for hit in ranking}
        return [
            Hit(chunk, hits[chunk].type, hits[chunk].page_title, score)
            for chunk, score in fused([[h.chunk for h in r] for r in rankings])[:limit]
        ]


# Cormack, Clarke and Büttcher, SIGIR 2009: how little the first place of one ranking weighs against agreement between rankings.
_K = 60


def fused(rankings: Sequence[Iterable[T]]) -> list[tuple[T, float]]:
    """Everything that some ranking holds with the sum of 1 / (60 + place), best first; ties as the earlier ranking has them."""
    scores: dict[T, float] = {}
    for ranking in rankings:
        for place, item in enumerate(dict.fromkeys(ranking), 1):
            scores[item] = scores.get(item, 0.0) + 1 / (_K + place)
    return sorted(((item, round(score, 9)) for item, score in scores.items()), key=lambda x: -x[1])
