"""arXiv: search, metadata, and each paper as a source from its HTML, else its PDF. One request in
three seconds; a version captured is never asked for again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from kb import KbError
from kb.research.documents import CapturedDocument, document_of
from kb.research.jobs import Brought, Job
from kb.research.network import NetworkSession
from kb.research.replies import Unavailable
from kb.source import SourceMaterial

API = "https://export.arxiv.org/api/query"
SITE = "https://arxiv.org"
_ID = re.compile(
    r"(?i)(?:https?://arxiv\.org/(?:abs|pdf|html)/|arxiv:)?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?)(?:\.pdf)?"
)
# When it throttles, arXiv says so in a plain text with status 200, and an error is a feed with one
# entry.
_AGAIN_AFTER = (5.0, 20.0, 60.0)
_FIELDS = re.compile(r"\b(?:all|ti|au|abs|co|jr|cat|rn|id):")


@dataclass(frozen=True, slots=True)
class Paper:
    """What the Atom feed says of one version of a paper."""

    id: str
    version: str
    title: str
    authors: str
    abstract: str
    updated: str
    categories: tuple[str, ...]
    doi: str

    @property
    def address(self) -> str:
        return f"{SITE}/abs/{self.id}"


class _Wire:
    """What the package `arxiv` takes for its session: every request of it goes through ours, at our
    pace and with our checks.
    """

    def __init__(self, session: NetworkSession) -> None:
        self.session = session

    def get(self, url: str, headers: dict[str, str] | None = None):
        del headers
        for wait in (*_AGAIN_AFTER, 0.0):
            try:
                reply = self.session.get(url, accept="application/atom+xml")
            except Unavailable as error:
                if error.status == 0:
                    raise
                return _Answer(error.status, b"")
            if not reply.body.strip().lower().startswith(b"rate exceeded"):
                break
            self.session.sleep(wait)
        else:
            return _Answer(429, b"")
        if match := re.search(rb"/api/errors.*?<summary[^>]*>([^<]*)", reply.body, re.DOTALL):
            raise KbError(
                f"arXiv does not take this question: {match[1].decode('utf-8', 'replace').strip()}"
            )
        return _Answer(reply.status, reply.body)


@dataclass(frozen=True, slots=True)
class _Answer:
    status_code: int
    content: bytes


def paper_id(text: str) -> str:
    """The id, with its version if one is given, of an id or an address. Raises KbError for anything
    else.
    """
    match = _ID.fullmatch(text.strip())
    if not match:
        raise KbError(
            f"{text}: no arXiv id; write 2205.14135, 2205.14135v2, or an arxiv.org/abs address"
        )
    return match[1]


def papers(
    session: NetworkSession,
    *,
    query: str = "",
    category: str = "",
    ids: Sequence[str] = (),
    most: int = 20,
    api: str = API,
) -> Iterator[Paper]:
    """Papers of a query, a category or a list of ids, as arXiv orders them. Raises KbError where
    arXiv keeps failing.
    """
    import arxiv

    message = " AND ".join(filter(None, (_query(query), f"cat:{category}" if category else "")))
    search = arxiv.Search(
        query=message, id_list=[paper_id(i) for i in ids], max_results=len(ids) or most
    )
    client = arxiv.Client(page_size=min(100, len(ids) or most), delay_seconds=0, num_retries=3)
    client.query_url_format = api + "?{}"
    client._session = _Wire(session)  # type: ignore[assignment]
    try:
        for row in client.results(search):
            yield _paper(row)
    except arxiv.UnexpectedEmptyPageError as error:
        raise Unavailable(
            "arXiv answers with an empty page again and again; run the same command later, what is captured stays"
        ) from error
    except arxiv.HTTPError as error:
        raise Unavailable(
            f"arXiv answers HTTP {error.status}; run the same command later, what is captured stays",
            error.status,
        ) from error


def _query(query: str) -> str:
    return (
        query
        if not query or _FIELDS.search(query)
        else " AND ".join(
            f'all:"{word}"' if "-" in word else f"all:{word}" for word in query.split()
        )
    )


def _paper(row) -> Paper:
    id, _, version = row.get_short_id().partition("v")
    return Paper(
        id=id,
        version=f"v{version or 1}",
        title=" ".join(row.title.split()),
        authors=", ".join(author.name for author in row.authors),
        abstract=" ".join(row.summary.split()),
        updated=row.updated.date().isoformat() if row.updated else "",
        categories=tuple(row.categories),
        doi=row.doi or "",
    )


def paper_job(paper: Paper, *, site: str = SITE, licence: str = "", keep: bool = True) -> Job:
    """The capture of one version of a paper."""
    known = (family_of(paper), paper.address, paper.version)
    key = f"arxiv:{paper.id}{paper.version}"
    return Job("paper", key, partial(_brought, paper, site), licence, keep, known)


def _brought(paper: Paper, site: str, session: NetworkSession) -> Brought:
    """A paper with its text, section by section. Three requests at most: the abstract page for the
    licence, HTML, else PDF.
    """
    name = f"{paper.id}{paper.version}"
    licence = _licence(session, name, site)
    files: dict[str, tuple[bytes, str]] = {}
    document, how = CapturedDocument(), ""
    for end, media_type in (("html", "text/html"), ("pdf", "application/pdf")):
        address = f"{site}/{end}/{name}"
        try:
            reply = session.get(address, accept=media_type)
        except Unavailable as error:
            if error.status != 404:
                raise
            continue
        kind, how = reply.media_type or media_type, end.upper()
        document = document_of(reply.body, kind, name=f"{name}.{end}", address=address)
        if end == "pdf" or len(document.text) > 2 * len(paper.abstract):
            files[f"paper.{end}"] = (reply.body, kind)
            break
    doi = f" · doi {paper.doi}" if paper.doi else ""
    line = f"arXiv:{name} · {paper.updated} · {', '.join(paper.categories)}{doi}"
    head = f"# {paper.title}\n\n{paper.authors}\n\n{line}\n\n## Abstract of arXiv\n\n{paper.abstract}\n\n"
    own = ("Abstract of arXiv", head.index("## Abstract"))
    absent = "arXiv gives neither HTML nor PDF; the text is the abstract alone"
    material = SourceMaterial(
        origin=paper.address,
        kind="arxiv",
        name=f"arxiv-{name}",
        family=family_of(paper),
        version=paper.version,
        title=paper.title,
        authors=paper.authors,
        licence=licence,
        text=head + document.text,
        files=files,
        tool="kb research arxiv",
        sections=(own, *((title, start + len(head)) for title, start in document.sections)),
        hidden=tuple((a + len(head), b + len(head)) for a, b in document.hidden),
        references=tuple(r for r in document.references if r != paper.id),
        note=f"text from the {how} of arXiv" if how else absent,
    )
    return material, ()


def family_of(paper: Paper) -> str:
    """What the ids of all captured versions of a paper begin with."""
    return f"arxiv-{paper.id.replace('/', '-').lower()}"


def _licence(session: NetworkSession, name: str, site: str) -> str:
    """The licence that the abstract page links; not stated where the page is not there."""
    try:
        reply = session.get(f"{site}/abs/{name}", accept="text/html")
    except Unavailable as error:
        if error.status not in (403, 404):
            raise
        return ""
    return document_of(reply.body, "text/html", address=reply.url).licence
