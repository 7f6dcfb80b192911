"""Packets of each task from what is on the disk: sources cut to a budget, pages, claims on file, compiled indexes; and the gate of an index's prose."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

import msgspec

from kb import KbError, page, store
from kb.claims import Quotable, claims_in, conflicts, ruling_on
from kb.claims.cues import ADVICE
from kb.ingest.material import Excerpt, pieces, text_of
from kb.ingest.packets import Packet
from kb.ingest.tasks import IndexNotes, form_of, prompt_of
from kb.source import INDEXES, FiledNotes, facts_by_topic, notes_in, path_of_notes, record_of
from kb.text import stem, words_of


def note_reasons(
    notes: IndexNotes, passages: tuple[Quotable, ...], *, index: str
) -> Iterator[tuple[str, bool]]:
    """Everything that keeps notes out, and whether rules only doubt it: a topic that was not asked, a sentence that its quote does not carry,
    advice in the profile index.
    """
    for note in notes.notes:
        for sentence in note.sentences:
            ruling = ruling_on(sentence.text, sentence.quote, origin=note.topic, passages=passages)
            # Who reads profiles is told what is seen, not what to change: that would bias the audit of what was changed.
            advice = ADVICE.search(sentence.text) if index == "profile" else None
            reason = ruling.reason or (
                f"“{advice[0]}” is advice, which the profile index holds none of" if advice else ""
            )
            if reason:
                yield f"{note.topic}: {sentence.text}: {reason}", ruling.undecided and not advice


def file_notes(layout: store.Layout, packet: Packet, notes: IndexNotes) -> str:
    """Put notes on file, beside those of other topics. Returns the path."""
    facts = {m.origin: store.digest_of(m.text) for m in packet.material}
    held = notes_in(layout, packet.task) or FiledNotes(index=packet.task, topics={})
    topics = held.topics | {n.topic: (facts[n.topic], n) for n in notes.notes}
    prompts = held.prompts | dict.fromkeys(facts, store.digest_of(packet.prompt))
    filed = FiledNotes(
        index=packet.task,
        topics=dict(sorted(topics.items())),
        prompts={topic: prompts[topic] for topic in sorted(topics) if topic in prompts},
    )
    path = path_of_notes(packet.task)
    store.write(layout.root / path, store.to_json(filed, order=None))
    return path


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
        schema=msgspec.json.schema(form_of(task)),
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
) -> Iterator[Packet]:
    """A packet for each piece of a source. Raises KbError where its text is not here."""
    path, title, text = text_of(layout, source, file=file)
    listed = _pages_like(db, text)
    excerpts = pieces(path, title, text, tokens=context)
    return (packet(layout, "extract", path, [piece], context=listed) for piece in excerpts)


def _pages_like(db: sqlite3.Connection, text: str) -> str:
    """Pages that a source may add to: those whose titles share telling words with it, most shared first."""
    words = {stem(w) for w in words_of(text) if len(w) > 3}
    rows = db.execute(
        "select path, title from standing where type in ('concept', 'observation', 'hypothesis', 'codebase') order by path"
    )
    scored = [(-len(words & set(map(stem, words_of(title)))), path, title) for path, title in rows]
    best = sorted(row for row in scored if row[0])[:_MOST_LISTED]
    lines = sorted(f"- {path}: {title}" for _, path, title in best)
    return "\n".join(lines) or "No page yet that this source could add to."


def page_packets(
    layout: store.Layout, task: str, pages: Iterable[str], *, context: int = CONTEXT
) -> Iterator[Packet]:
    """One packet for `normalise` a page; for `observation` and `retrospective` one that quotes all of them together."""
    paths = list(pages)
    if not paths:
        raise KbError(f"which pages? name them: kb ingest --task {task} PAGE …")
    if task == "normalise":
        for path in paths:
            whole = _start_of(layout, path)
            if record_of(layout, path, store.file_digest(layout.root / path)) is None:
                yield packet(layout, task, path, [whole])
        return
    share = max(300, context // len(paths))
    material = [m for path in paths if (m := _start_of(layout, path, tokens=share)).text.strip()]
    subject = paths[0] if len(paths) == 1 else f"{len(paths)} pages from {paths[0]}"
    yield packet(layout, task, subject, material)


def _start_of(layout: store.Layout, path: str, *, tokens: int | None = None) -> Excerpt:
    """A page, or its beginning of so many tokens. Raises KbError where there is none."""
    file = layout.root / path
    if not layout.is_page(path) or not file.is_file():
        raise KbError(f"{path}: no page of this wiki")
    text, name = page.text_of(store.bytes_of(file)), path.rsplit("/", 1)[-1]
    whole = Excerpt(path, name, 0, len(text), text)
    return next(iter(pieces(path, name, text, tokens=tokens)), whole) if tokens else whole


def concept_packets(layout: store.Layout, pages: Iterable[str]) -> Iterator[Packet]:
    """One packet a page: all claims of it on file, each with its quote, to be brought into one order without repeats."""
    for path in pages:
        held = [c for c in claims_in(layout, joined=True) if c.page == path]
        if not held:
            raise KbError(f"{path}: no claim on file rests there; `kb ingest` brings claims in")
        material = [Excerpt(c.source, c.section, c.start, c.end, c.quote) for c in held]
        context = "\n".join(f"- {c.section}: {c.claim}" for c in held)
        yield packet(layout, "concept", path, material, context=context)


def compare_packets(layout: store.Layout) -> Iterator[Packet]:
    """One packet for each pair of claims whose quantities contradict each other."""
    for pair in conflicts(claims_in(layout)):
        both = (pair.first, pair.second)
        material = (Excerpt(c.source, c.claim, c.start, c.end, c.quote) for c in both)
        yield packet(layout, "compare", " and ".join(c.page for c in both), material)


def merge_packets(layout: store.Layout, db: sqlite3.Connection) -> Iterator[Packet]:
    """One packet for each pair of pages of one type whose titles share most words, and no two numbers or versions."""
    rows = db.execute(
        "select path, type, title from standing where type in ('concept', 'observation', 'hypothesis') order by path"
    )
    for (path, kind, title), (other, other_kind, other_title) in combinations(rows.fetchall(), 2):
        if kind == other_kind and _alike(title, other_title):
            material = [_start_of(layout, p, tokens=CONTEXT // 2) for p in (path, other)]
            yield packet(layout, "merge", f"{path} and {other}", material)


def _alike(title: str, other: str) -> bool:
    """Whether two titles may name one thing: two thirds of their words are shared, and nothing that differs is a number or a version."""
    a, b = (
        {stem(w) for w in words_of(t) if len(w) > 2 or any(map(str.isdigit, w))}
        for t in (title, other)
    )
    numbered = any(c.isdigit() for word in a ^ b for c in word)
    return bool(a and b) and not numbered and 3 * len(a & b) >= 2 * len(a | b)


def pack_packets(
    layout: store.Layout, names: Iterable[str], scope: str, *, context: int = CONTEXT
) -> Iterator[Packet]:
    """A packet for each piece of the documents of an agent pack; it says at which line its material begins, so that a reply can point."""
    for name in names:
        path, title, text = text_of(layout, name)
        for piece in pieces(path, title, text, tokens=context):
            first = text.count("\n", 0, piece.start) + 1
            scoped = (
                f"Scope: {scope or 'all of it'}. The material begins at line {first} of {path}."
            )
            subject = f"{path} for {scope or 'a pack'}"
            yield packet(layout, "pack", subject, [piece], context=scoped)


def regenerate_packets(
    layout: store.Layout, index: str, *, context: int = CONTEXT
) -> Iterator[Packet]:
    """Packets for the topics of a compiled index whose facts have no note yet under this prompt, as many topics in each as fit.

    Raises KbError where the index is not built.
    """
    if index not in INDEXES:
        raise KbError(f"no index '{index}'; one of {', '.join(INDEXES)}")
    try:
        text = page.text_of(store.bytes_of(layout.indexes / f"{index}.md"))
    except OSError as error:
        raise KbError(f"indexes/{index}.md: {error.strerror or error}; run `kb build`") from error
    held, prompt = notes_in(layout, index), store.digest_of(prompt_of(layout, index))
    topics = held.topics.items() if held else ()
    noted = {
        name: digest for name, (digest, _) in topics if held.prompts.get(name, prompt) == prompt
    }
    group = list[Excerpt]()
    for topic, facts in facts_by_topic(text).items():
        material = Excerpt(topic, f"{index} index", 0, len(facts), facts)
        if noted.get(material.origin) == store.digest_of(material.text):
            continue
        if group and sum(len(m.text) for m in (*group, material)) > context * 3:
            yield packet(layout, index, f"indexes/{index}.md", group)
            group = []
        group.append(material)
    if group:
        yield packet(layout, index, f"indexes/{index}.md", group)
