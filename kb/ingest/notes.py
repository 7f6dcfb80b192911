"""The gate of an index's prose, and its material: sections of the facts that code compiled."""

import re
from collections.abc import Iterable

from kb import store
from kb.claims import Quotable, ruling_on
from kb.ingest.material import Excerpt
from kb.ingest.packets import Packet
from kb.ingest.replies import IndexNotes
from kb.source import FiledNotes, facts_by_topic, notes_in, path_of_notes

# Who reads profiles is told what is seen, not what to change: that would bias the audit of what was changed.
_ADVICE = re.compile(
    r"\b(?:should|try|consider|recommend\w*|worth trying|next step|instead use|switch to|enable|disable|raise|lower|increase|reduce|tune)\b",
    re.IGNORECASE,
)


def note_reasons(notes: IndexNotes, passages: Iterable[Quotable], *, index: str) -> list[str]:
    """Everything that keeps notes out: a topic that was not asked, a sentence that its quote does not carry, advice in the profile index."""
    passages = tuple(passages)
    origins = {p.origin for p in passages}
    reasons = []
    for note in notes.notes:
        if note.topic not in origins:
            reasons.append(
                f"'{note.topic}' is no topic of this packet; it holds {', '.join(sorted(origins))}"
            )
            continue
        for sentence in note.sentences:
            ruling = ruling_on(sentence.text, sentence.quote, origin=note.topic, passages=passages)
            advice = _ADVICE.search(sentence.text) if index == "profile" else None
            if ruling.reason:
                reasons.append(f"{note.topic}: {sentence.text}: {ruling.reason}")
            elif advice:
                reasons.append(
                    f"{note.topic}: {sentence.text}: “{advice[0]}” is advice, which the profile index holds none of"
                )
    return reasons


def topics_of(index: str, text: str) -> tuple[Excerpt, ...]:
    """The sections of a compiled index as material, each under its title."""
    return tuple(
        Excerpt(topic, f"{index} index", 0, len(facts), facts)
        for topic, facts in facts_by_topic(text).items()
    )


def file_notes(layout: store.Layout, packet: Packet, notes: IndexNotes) -> str:
    """Put notes on file, beside those of other topics. Returns the path."""
    index = packet.task
    facts = {m.origin: store.digest_of(m.text) for m in packet.material}
    held = notes_in(layout, index)
    topics = {
        **(held.topics if held else {}),
        **{n.topic: (facts[n.topic], n) for n in notes.notes},
    }
    filed = FiledNotes(index=index, topics=dict(sorted(topics.items())))
    store.write(
        layout.root / path_of_notes(index),
        store.to_json(filed, order=None),
    )
    return path_of_notes(index)
