"""kb regenerate [keep]: have the prose of an index written anew where its facts changed."""

from dataclasses import dataclass

from kb.ingest.questions import regenerate_packets
from kb.source import INDEXES
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
    return fill(
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
