"""kb research releases [bring]: capture the release notes of a repository."""

from dataclasses import dataclass

from kb.research.jobs import run_jobs
from kb.research.releases import release_jobs
from kb.verbs import Caller, Result, argument, option
from kb.verbs.research_access import Keeping, Reach, capture_result, session_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchReleases(Reach, Keeping):
    """Release notes as a forge keeps them, one source a release; a CHANGELOG file is for `kb research web`."""

    repository: str = argument("OWNER/REPO of GitHub", metavar="OWNER/REPO")
    most: int = option("releases at most, the newest first", default=100, metavar="N")
    api: str = option(
        "base address of the REST interface", default="https://api.github.com", metavar="URL"
    )


def run(request: ResearchReleases, caller: Caller) -> Result:
    with session_of(request, caller, api=request.api) as session:
        keeping = {"licence": request.licence, "keep": not request.no_text}
        jobs = release_jobs(
            session, request.repository, api=request.api, most=request.most, **keeping
        )
        outcomes = run_jobs(caller.layout, session, jobs, now=caller.now)
        return capture_result(outcomes, session.requests)
