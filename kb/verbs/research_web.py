"""kb research web [bring]: capture pages, and with --depth the documentation tree below them."""

from dataclasses import dataclass
from functools import partial

from kb.research.jobs import crawl, page_job
from kb.verbs import Caller, Result, argument, option
from kb.verbs.research_access import Capturing, capture_result, runner, session_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchWeb(Capturing):
    """Addresses; robots.txt is kept, and a tree is followed below each address's own folder only."""

    addresses: tuple[str, ...] = argument("http(s) addresses of pages or PDFs", metavar="URL")
    depth: int = option("follow links of the same tree this many steps", default=0, metavar="N")
    most: int = option("pages at most", default=100, metavar="N")


def run(request: ResearchWeb, caller: Caller) -> Result:
    job_of = partial(page_job, licence=request.licence, keep=not request.no_text)
    with session_of(request, caller) as session:
        run_all = runner(request, caller, session, "pages")
        bounds = {"depth": request.depth, "most": request.most}
        outcomes = crawl(session, request.addresses, job_of=job_of, run=run_all, **bounds)
        return capture_result(outcomes, session.requests)
