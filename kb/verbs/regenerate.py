"""kb regenerate [keep]: have the prose of an index written anew where its facts changed, and show what it changed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import ndiff

from kb import store
from kb.ingest.questions import regenerate_packets
from kb.source import INDEXES
from kb.source.notes import notes_in
from kb.verbs import Caller, Result, argument
from kb.verbs.filling import Filling, Ingested, fill


@dataclass(frozen=True, slots=True, kw_only=True)
class Regenerate(Filling):
    """Which index, and who writes."""

    index: tuple[str, ...] = argument(
        "hypothesis, blueprint or profile; all of them without a name", default=(), metavar="INDEX"
    )


def run(request: Regenerate, caller: Caller) -> Result[Ingested]:
    names = request.index or INDEXES
    before = _sentences(caller.layout, names)
    result = fill(
        request,
        caller,
        lambda db: (
            tuple(
                p
                for n in names
                for p in regenerate_packets(caller.layout, n, context=request.context)
            ),
            (),
        ),
    )
    changes = ndiff(before, _sentences(caller.layout, names))
    shown = [line.rstrip() for line in changes if line[:1] in "+-"]
    return replace(result, text="\n".join([result.text, *shown]))


def _sentences(layout: store.Layout, names: Iterable[str]) -> list[str]:
    """The prose on file of some indexes, a line a sentence."""
    filed = filter(None, (notes_in(layout, name) for name in names))
    return [
        f"{notes.index}, {topic}: {sentence.text}"
        for notes in filed
        for topic, (_, note) in sorted(notes.topics.items())
        for sentence in note.sentences
    ]
