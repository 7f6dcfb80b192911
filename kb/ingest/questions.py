"""Packets of each task from what is on the disk: sources cut to a budget, pages, claims on file, compiled indexes."""

import sqlite3
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from kb import KbError, page, store
from kb.claims import Claim, claims_in, conflicts
from kb.ingest.material import Excerpt, pieces, text_of
from kb.ingest.notes import topics_of
from kb.ingest.packets import Packet
from kb.ingest.queue import answers_to
from kb.ingest.replies import schema_of
from kb.ingest.tasks import prompt_of, task_named
from kb.source import INDEXES, notes_in, record_of
from kb.text import stem, words_of

# Tokens of a packet's material where nobody says otherwise: a third of what small models read with care.
CONTEXT = 8000
# A model that chooses pages needs their names, not a catalog.
_MOST_LISTED = 60


def packet(
    layout: store.Layout,
    task: str,
    subject: str,
    material: Iterable[Excerpt],
    *,
    context: str = "",
) -> Packet:
    return Packet(
        task=task,
        subject=subject,
        prompt=prompt_of(layout, task),
        schema=schema_of(task_named(task).form),
        material=tuple(material),
        context=context,
    )


def extract_packets(
    layout: store.Layout,
    db: sqlite3.Connection,
    source: str,
    *,
    context: int = CONTEXT,
    file: Path | None = None,
) -> tuple[Packet, ...]:
    """A packet for each piece of a source. Raises KbError where its text is not here."""
    path, title, text = text_of(layout, source, file=file)
    listed = _pages_like(db, text)
    return tuple(
        packet(layout, "extract", path, [piece], context=listed)
        for piece in pieces(path, title, text, tokens=context)
    )


def _pages_like(db: sqlite3.Connection, text: str) -> str:
    """Pages that a source may add to: those whose titles share telling words with it, most shared first."""
    words = {stem(w) for w in words_of(text) if len(w) > 3}
    rows = db.execute(
        "select path, title from standing where type in ('concept', 'observation', 'hypothesis', 'codebase') order by path"
    )
    scored = [(len(words & set(map(stem, words_of(title)))), path, title) for path, title in rows]
    best = sorted((s for s in scored if s[0]), key=lambda s: (-s[0], s[1]))[:_MOST_LISTED]
    return (
        "\n".join(f"- {path}: {title}" for _, path, title in sorted(best, key=lambda s: s[1]))
        or "No page yet that this source could add to."
    )


def page_packets(
    layout: store.Layout, task: str, pages: Iterable[str], *, context: int = CONTEXT
) -> tuple[Packet, ...]:
    """One packet for `normalise` a page; for `observation` and `retrospective` one that quotes all of them together."""
    texts = [(path, _page_text(layout, path)) for path in pages]
    if not texts:
        raise KbError(f"which pages? name them: kb ingest --task {task} PAGE …")
    if task == "normalise":
        return tuple(
            packet(layout, task, path, [Excerpt(path, path.rsplit("/", 1)[-1], 0, len(text), text)])
            for path, text in texts
            if record_of(layout, path, store.file_digest(layout.root / path)) is None
        )
    share = max(300, context // len(texts))
    material = [
        pieces(path, path.rsplit("/", 1)[-1], text, tokens=share)[0]
        for path, text in texts
        if text.strip()
    ]
    return (
        packet(
            layout,
            task,
            texts[0][0] if len(texts) == 1 else f"{len(texts)} pages from {texts[0][0]}",
            material,
        ),
    )


def _page_text(layout: store.Layout, path: str) -> str:
    file = layout.root / path
    if not layout.is_page(path) or not file.is_file():
        raise KbError(f"{path}: no page of this wiki")
    return page.text_of(store.bytes_of(file))


def concept_packets(layout: store.Layout, pages: Iterable[str]) -> tuple[Packet, ...]:
    """One packet a page: all claims of it on file, each with its quote, to be brought into one order without repeats."""
    packets = []
    for path in pages:
        held = [c for c in claims_in(layout) if c.page == path]
        if not held:
            raise KbError(f"{path}: no claim on file rests there; `kb ingest` brings claims in")
        packets.append(
            packet(
                layout,
                "concept",
                path,
                [Excerpt(c.source, c.section, c.start, c.end, c.quote) for c in held],
                context="\n".join(f"- {c.section}: {c.claim}" for c in held),
            )
        )
    return tuple(packets)


def compare_packets(layout: store.Layout) -> tuple[Packet, ...]:
    """One packet for each pair of claims whose quantities contradict each other."""
    return tuple(
        packet(
            layout,
            "compare",
            f"{pair.first.page} and {pair.second.page}",
            [_as_material(c) for c in (pair.first, pair.second)],
        )
        for pair in conflicts(claims_in(layout))
    )


def _as_material(claim: Claim) -> Excerpt:
    return Excerpt(claim.source, claim.claim, claim.start, claim.end, claim.quote)


def merge_packets(layout: store.Layout, db: sqlite3.Connection) -> tuple[Packet, ...]:
    """One packet for each pair of pages of one type whose titles or aliases share most words, and no two numbers or versions."""
    rows = db.execute(
        "select path, type, title from standing where type in ('concept', 'observation', 'hypothesis') order by path"
    ).fetchall()
    named = [(path, kind, _telling(title)) for path, kind, title in rows]
    pairs = [(a[0], b[0]) for a, b in combinations(named, 2) if a[1] == b[1] and alike(a[2], b[2])]
    return tuple(
        packet(
            layout,
            "merge",
            f"{a} and {b}",
            [
                pieces(p, p.rsplit("/", 1)[-1], _page_text(layout, p), tokens=CONTEXT // 2)[0]
                for p in (a, b)
            ],
        )
        for a, b in pairs
    )


def _telling(title: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words_of(title) if len(w) > 2 or any(c.isdigit() for c in w))


def alike(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether two titles may name one thing: two thirds of their words are shared, and nothing that differs is a number or a version."""
    if not a or not b or any(any(c.isdigit() for c in w) for w in a ^ b):
        return False
    return 3 * len(a & b) >= 2 * len(a | b)


def pack_packets(
    layout: store.Layout, names: Iterable[str], scope: str, *, context: int = CONTEXT
) -> tuple[Packet, ...]:
    """A packet for each piece of the documents of an agent pack, its lines numbered so that a reply can point at them."""
    packets = []
    for name in names:
        path, title, text = text_of(layout, name)
        for piece in pieces(path, title, text, tokens=context):
            first = text.count("\n", 0, piece.start) + 1
            context_text = (
                f"Scope: {scope or 'all of it'}. The material begins at line {first} of {path}."
            )
            packets.append(
                packet(
                    layout, "pack", f"{path} for {scope or 'a pack'}", [piece], context=context_text
                )
            )
    return tuple(packets)


def regenerate_packets(
    layout: store.Layout, index: str, *, context: int = CONTEXT
) -> tuple[Packet, ...]:
    """Packets for the topics of a compiled index whose facts have no note yet, as many topics in each as fit.

    Raises KbError where the index is not built.
    """
    if index not in INDEXES:
        raise KbError(f"no index '{index}'; one of {', '.join(INDEXES)}")
    try:
        text = page.text_of(store.bytes_of(layout.indexes / f"{index}.md"))
    except OSError as error:
        raise KbError(f"indexes/{index}.md: {error.strerror or error}; run `kb build`") from error
    held = notes_in(layout, index)
    noted = {topic: digest for topic, (digest, _) in held.topics.items()} if held else {}
    wanted = [m for m in topics_of(index, text) if noted.get(m.origin) != store.digest_of(m.text)]
    packets: list[Packet] = []
    group: list[Excerpt] = []
    for material in [*wanted, None]:
        full = material is None or sum(len(m.text) for m in (*group, material)) > context * 3
        if group and full:
            packets.append(packet(layout, index, f"indexes/{index}.md", group))
            group = []
        if material is not None:
            group.append(material)
    return tuple(packets)


def unanswered(layout: store.Layout, packets: Iterable[Packet]) -> tuple[Packet, ...]:
    """Packets that no recorded reply settles."""
    return tuple(
        p for p in packets if (done := answers_to(layout, p.id)) is None or done.state == "returned"
    )
