"""The gate of an index's prose, and its material: sections of the facts that code compiled."""

from collections.abc import Iterator

from kb import store
from kb.claims import Quotable, ruling_on
from kb.claims.cues import ADVICE
from kb.ingest.material import Excerpt
from kb.ingest.packets import Packet
from kb.ingest.replies import IndexNotes
from kb.source import FiledNotes, facts_by_topic, notes_in, path_of_notes


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


def topics_of(index: str, text: str) -> tuple[Excerpt, ...]:
    """The sections of a compiled index as material, each under its title."""
    return tuple(
        Excerpt(topic, f"{index} index", 0, len(facts), facts)
        for topic, facts in facts_by_topic(text).items()
    )


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
