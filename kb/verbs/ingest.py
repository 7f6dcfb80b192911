"""kb ingest [bring]: draft pages from captured sources: a model writes, the gate decides."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from kb import KbError, store
from kb.ingest import proposals, questions
from kb.ingest.packets import Packet
from kb.page import from_row
from kb.page.seal import FIELD
from kb.refuted.gate import Proposal
from kb.source import damaged_sources, sources
from kb.text import counted
from kb.verbs import Caller, Result, argument, option
from kb.verbs.check import proposal_text
from kb.verbs.filling import Filling, Ingested, fill

TASKS = (
    "extract",
    "concept",
    "observation",
    "retrospective",
    "normalise",
    "repeat",
    "merge",
    "compare",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest(Filling):
    """What is to be read, and who answers."""

    subject: tuple[str, ...] = argument(
        "sources (or pages and folders of pages, for tasks about pages; files of proposals, for repeat); all sources without a name",
        default=(),
        metavar="SUBJECT",
    )
    task: str = option("what is asked of the model", default="extract", choices=TASKS)
    target: str = option("for repeat: what the proposals are to optimize")
    text: str = option(
        "the text of the one source named, where the capture does not include it", metavar="FILE"
    )


def run(request: Ingest, caller: Caller) -> Result[Ingested]:
    return fill(
        request, caller, lambda db: _packets(request, caller.layout, db, caller), task=request.task
    )


def _packets(
    request: Ingest, layout: store.Layout, db: sqlite3.Connection, caller: Caller
) -> tuple[tuple[Packet, ...], tuple[str, ...]]:
    if request.text and len(request.subject) != 1:
        raise KbError("--text FILE is the text of one source; name that source")
    if request.task == "extract":
        return _of_sources(request, layout, db, caller)
    if request.task == "repeat":
        if not request.subject:
            raise KbError("which proposals? name their files: kb ingest --task repeat FILE …")
        return tuple(
            p for name in request.subject for p in _beside_failures(name, request, caller, db)
        ), ()
    pages = [page for name in request.subject for page in _pages(name, caller, db)]
    if request.task == "normalise":
        return _unfiled(pages, request, caller, db)
    match request.task:
        case "merge":
            packets = questions.merge_packets(layout, db)
        case "compare":
            packets = questions.compare_packets(layout)
        case "concept":
            packets = questions.concept_packets(layout, pages)
        case task:
            packets = questions.page_packets(layout, task, pages, context=request.context)
    return tuple(packets), ()


def _of_sources(
    request: Ingest, layout: store.Layout, db: sqlite3.Connection, caller: Caller
) -> tuple[tuple[Packet, ...], tuple[str, ...]]:
    packets, passed_over = [], [] if request.subject else list(damaged_sources(layout))
    for source in request.subject or [s.id for s in sources(layout)]:
        try:
            file = caller.file(request.text) if request.text else None
            packets += questions.extract_packets(
                layout, db, source, context=request.context, file=file
            )
        except KbError as error:
            if request.subject:
                raise
            passed_over.append(str(error))
    return tuple(packets), tuple(passed_over)


def _unfiled(
    pages: list[str], request: Ingest, caller: Caller, db: sqlite3.Connection
) -> tuple[tuple[Packet, ...], tuple[str, ...]]:
    """A packet for each page that was named, or that stands in a folder that was and kb did not file itself."""
    named = {*map(caller.page, request.subject)}
    own = {path for path in pages if path not in named and _is_filed(path, db)}
    wanted = [path for path in pages if path not in own]
    packets = (
        questions.page_packets(caller.layout, "normalise", wanted) if wanted or not own else ()
    )
    left = f"{counted(len(own), 'pages')} that kb filed itself: name one to have it read"
    return tuple(packets), (left,) if own else ()


def _is_filed(path: str, db: sqlite3.Connection) -> bool:
    """Whether kb filed a page itself, of an import or a run that it closed: what such a page tells stands in fields."""
    row = db.execute("select digest, row from page where path = ?", (path,)).fetchone()
    return bool(row and from_row(path, *row).field(FIELD))


def _beside_failures(
    name: str, request: Ingest, caller: Caller, db: sqlite3.Connection
) -> Iterator[Packet]:
    """A proposal as `kb check` reads it, beside what failed."""
    text, target = proposal_text(name, caller), request.target
    caller.doubt_target(db, target, cutoff=0.0)
    proposal = Proposal(text, target=target)
    return proposals.repeat_packets(caller.layout, db, name, proposal, context=request.context)


def _pages(name: str, caller: Caller, db: sqlite3.Connection) -> list[str]:
    """A page as named, or all pages of a folder."""
    page = caller.page(name)
    if page.endswith(".md"):
        return [page]
    folder = f"{caller.path(name)}/".removeprefix("./")
    rows = db.execute(
        "select path from standing where substr(path, 1, ?) = ? order by path",
        (len(folder), folder),
    )
    return [path for (path,) in rows] or [page]
