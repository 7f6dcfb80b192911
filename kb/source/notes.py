"""Prose of a compiled index: paragraphs about its facts, on file in `sources/notes/<index>.json` with the digest of the facts.

A note is shown above the facts of its topic for as long as these are the ones that it was written on.
"""

import msgspec

from kb.source.records import QuotedText, on_file
from kb.store import Layout, digest_of

FOLDER = "notes"
INDEXES = ("hypothesis", "blueprint", "profile")


class IndexNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paragraph about one topic of an index; each sentence stands on a quote of the compiled facts."""

    topic: str
    sentences: tuple[QuotedText, ...]


class FiledNotes(msgspec.Struct, frozen=True, kw_only=True):
    """The notes of an index; `topics` maps a topic to the digest of the facts that its note was written on, and the note; `prompts` to that
    of the prompt.
    """

    index: str
    topics: dict[str, tuple[str, IndexNote]]
    prompts: dict[str, str] = {}


def path_of_notes(index: str) -> str:
    """Path of an index's notes, relative to the root."""
    return f"sources/{FOLDER}/{index}.json"


def notes_in(layout: Layout, index: str) -> FiledNotes | None:
    """The notes of an index that are on file, or None; a file that holds none counts as none, and `kb regenerate` writes it anew."""
    return on_file(layout, path_of_notes(index), FiledNotes)


def facts_by_topic(text: str) -> dict[str, str]:
    """The facts of a compiled index by the titles of its sections; notes that it shows already are no facts."""
    parts = (part.partition("\n") for part in ("\n" + text).split("\n## ")[1:])
    facts = (
        (title.strip(), "\n".join(x for x in body.split("\n") if not x.startswith("> ")).strip())
        for title, _, body in parts
    )
    return {title: body for title, body in facts if body}


def with_notes(text: str, filed: FiledNotes) -> str:
    """A compiled index with the notes whose facts are still these, each a quotation below its heading."""
    head, *sections = ("\n" + text).split("\n## ")
    facts = facts_by_topic(text)
    shown = []
    for section in sections:
        title, _, body = section.partition("\n")
        digest, note = filed.topics.get(title.strip(), ("", None))
        if note is not None and digest == digest_of(facts.get(title.strip(), "")):
            prose = " ".join(sentence.text for sentence in note.sentences)
            body = f"\n> {prose}\n{body}"
        shown.append(f"{title}\n{body}")
    return "\n## ".join([head, *shown]).removeprefix("\n")
