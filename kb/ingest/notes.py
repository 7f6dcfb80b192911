"""Prose of an index: paragraphs that a model wrote about the facts that code compiled, with the digests of both.

Stands in `sources/notes/<index>.json`, whence a build shows it beside the facts for as long as these are the same.
"""

import re
from collections.abc import Iterable

import msgspec

from kb import KbError, store
from kb.claims import Passage, ruling_on
from kb.ingest.material import Excerpt
from kb.ingest.packets import Packet
from kb.ingest.replies import Note, Notes

FOLDER = "notes"
INDEXES = ("hypothesis", "blueprint", "profile")


class FiledNotes(msgspec.Struct, frozen=True, kw_only=True):
    """The notes of an index; `topics` maps a topic to its note and the digest of the facts that it was written on."""

    index: str
    topics: dict[str, tuple[str, Note]]


# Who reads profiles is told what is seen, not what to change: that would bias the audit of what was changed.
_ADVICE = re.compile(
    r"\b(?:should|try|consider|recommend\w*|worth trying|next step|instead use|switch to|enable|disable|raise|lower|increase|reduce|tune)\b",
    re.IGNORECASE,
)


def note_reasons(notes: Notes, passages: Iterable[Passage], *, index: str) -> list[str]:
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
    """The sections of a compiled index as material, each under its title; notes that it shows already are no facts."""
    found: list[Excerpt] = []
    at = 0
    for part in ("\n" + text).split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        facts = "\n".join(line for line in body.split("\n") if not line.startswith("> "))
        at = text.index(part, at)
        if facts.strip():
            found.append(Excerpt(title.strip(), f"{index} index", 0, len(facts), facts))
    return tuple(found)


def file_notes(layout: store.Layout, packet: Packet, notes: Notes) -> str:
    """Put notes on file, beside those of other topics. Returns the path."""
    index = packet.task
    facts = {m.origin: store.digest_of(m.text) for m in packet.material}
    held = notes_in(layout, index)
    topics = {
        **(held.topics if held else {}),
        **{n.topic: (facts[n.topic], n) for n in notes.notes},
    }
    path = f"sources/{FOLDER}/{index}.json"
    filed = FiledNotes(index=index, topics=dict(sorted(topics.items())))
    store.write(
        layout.root / path, msgspec.json.format(msgspec.json.encode(filed), indent=1) + b"\n"
    )
    return path


def notes_in(layout: store.Layout, index: str) -> FiledNotes | None:
    """The notes of an index that are on file, or None."""
    try:
        return msgspec.json.decode(
            (layout.sources / FOLDER / f"{index}.json").read_bytes(), type=FiledNotes
        )
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise KbError(
            f"sources/{FOLDER}/{index}.json: no notes: {error}; remove it and run `kb regenerate {index}`"
        ) from error
