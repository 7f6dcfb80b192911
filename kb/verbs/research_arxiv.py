"""kb research arxiv [bring]: capture papers of arXiv by query, category or ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from kb import KbError
from kb.research.papers import paper_job, papers
from kb.source import source_at
from kb.verbs import Caller, Result, argument, flag, option
from kb.verbs.research_access import Capturing, capture_result, runner, session_of


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
    with session_of(request, caller) as session:
        run_all = runner(request, caller, session, "papers")
        keeping = {"site": request.site, "licence": request.licence, "keep": not request.no_text}

        def captured(ids: Sequence[str], query: str, category: str):
            listed = list(
                papers(
                    session,
                    ids=ids,
                    query=query,
                    category=category,
                    most=request.most,
                    api=request.api,
                )
            )
            return {p.id for p in listed}, run_all([paper_job(p, **keeping) for p in listed])

        known, outcomes = captured(request.ids, request.query, request.category)
        if request.references:
            read = (source_at(caller.layout, o.source) for o in outcomes if o.source)
            cited = dict.fromkeys(r for source in read for r in source.references)
            fresh = [r for r in cited if r.partition("v")[0] not in known][: request.most]
            outcomes += captured(fresh, "", "")[1] if fresh else ()
        return capture_result(outcomes, session.requests)
