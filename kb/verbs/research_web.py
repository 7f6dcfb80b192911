"""kb research web [bring]: capture pages, and with --depth the documentation tree below them."""

from dataclasses import dataclass

from kb.research.jobs import crawl
from kb.verbs import Caller, Result, argument, option
from kb.verbs.research_access import Capturing, capture_result, runner, session_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchWeb(Capturing):
    """Addresses; robots.txt is kept, and a tree is followed below each address's own folder only."""

    addresses: tuple[str, ...] = argument("http(s) addresses of pages or PDFs", metavar="URL")
    depth: int = option("follow links of the same tree this many steps", default=0, metavar="N")
    most: int = option("pages at most", default=100, metavar="N")


def run(request: ResearchWeb, caller: Caller) -> Result:
    with session_of(request, caller) as session:
        outcomes = crawl(
            session,
            request.addresses,
            runner(request, caller, session, "pages"),
            depth=request.depth,
            most=request.most,
            licence=request.licence,
            keep=not request.no_text,
        )
        return capture_result(outcomes, session.requests)
