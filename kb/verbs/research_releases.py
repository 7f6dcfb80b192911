"""kb research releases [bring]: capture the release notes of a repository."""

from dataclasses import dataclass

from kb.research.jobs import record
from kb.research.releases import captured_releases
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
    layout = caller.layout()
    with session_of(request, caller, api=request.api) as session:
        outcomes = captured_releases(
            layout,
            session,
            request.repository,
            api=request.api,
            most=request.most,
            licence=request.licence,
            keep=not request.no_text,
            now=caller.now,
        )
        record(layout, outcomes, caller.now)
        return capture_result(outcomes, session.requests)
