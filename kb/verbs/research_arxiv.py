"""kb research arxiv [bring]: capture papers of arXiv by query, category or ids."""

from dataclasses import dataclass

from kb import KbError
from kb.research.jobs import Job, run_jobs
from kb.research.papers import papers
from kb.source import source_at
from kb.verbs import Caller, Result, argument, flag, option
from kb.verbs.research_access import Capturing, bar, capture_result, session_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchArxiv(Capturing):
    """Ids, a query, or a category; one request in three seconds, whatever the number of workers."""

    ids: tuple[str, ...] = argument(
        "ids or addresses, with a version or without", default=(), metavar="ID"
    )
    query: str = option("words, or a query in arXiv's own syntax (ti:, au:, cat: …)")
    category: str = option("of this category alone", metavar="cs.LG")
    most: int = option("papers at most", default=20, metavar="N")
    references: bool = flag("capture the papers that these cite as well")
    api: str = option(
        "base address of the API", default="https://export.arxiv.org/api/query", metavar="URL"
    )
    site: str = option("base address of the pages", default="https://arxiv.org", metavar="URL")


def run(request: ResearchArxiv, caller: Caller) -> Result:
    if not (request.ids or request.query or request.category):
        raise KbError("say which papers: ids, --query or --category")
    layout = caller.layout()
    with session_of(request, caller) as session:

        def captured(ids: tuple[str, ...], query: str, category: str):
            outcome = papers(
                session, query=query, category=category, ids=ids, most=request.most, api=request.api
            )
            jobs = [
                Job(
                    "paper",
                    f"arxiv:{p.id}{p.version}",
                    p,
                    site=request.site,
                    licence=request.licence,
                    keep=not request.no_text,
                )
                for p in outcome
            ]
            return run_jobs(
                layout,
                session,
                jobs,
                now=caller.now,
                workers=request.workers,
                on=request.on,
                note=bar(caller, "papers"),
            )

        outcomes = captured(request.ids, request.query, request.category)
        if request.references:
            cited = dict.fromkeys(
                r for o in outcomes if o.source for r in source_at(layout, o.source).references
            )
            fresh = tuple(
                r
                for r in cited
                if not any(o.job.paper and o.job.paper.id == r.partition("v")[0] for o in outcomes)
            )
            outcomes += captured(fresh[: request.most], "", "") if fresh else ()
        return capture_result(outcomes, session.requests)
