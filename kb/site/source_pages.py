"""Captured sources as pages: where each comes from, its licence, what rests on it, and its text as
quoted material. Refuses to render captured text as anything but text.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from kb.research.forks import fork_of_source
from kb.site.captures import (
    FOLDER,
    matrices_of,
    place_of_source,
    sections_of,
    text_of_capture,
)
from kb.site.survey import Survey
from kb.site.templating import Frame, sheet
from kb.source import Source
from kb.store import digest_of

_INDEX = f"{FOLDER}/index.html"


def source_frames(survey: Survey, linking: Mapping[str, Collection[str]]) -> Iterator[Frame]:
    """A page for each source, one that lists them, and one with what forks have that others lack.
    `linking` are the pages of the wiki by the files outside that they link to.
    """
    captures = survey.captures
    if not captures.sources and not captures.faults:
        return
    used = _used(survey, linking)
    matrices = matrices_of(survey.layout, captures.sources)
    shows = {"captures": captures, "used": used, "matrices": matrices, "place_of": place_of_source}
    key = digest_of(repr((captures, used, matrices)))
    title = f"Captured sources ({len(captures.sources):,})"
    yield sheet(survey, _INDEX, title, "sources.html", lambda: shows, key=key)
    if matrices:
        title, place = "What forks have that others lack", f"{FOLDER}/forks.html"
        yield sheet(survey, place, title, "forks.html", lambda: shows, key=key)
    for source in captures.sources:
        yield _source_frame(survey, source, used[source.id])


def _used(survey: Survey, linking: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """The pages that rest on each source: by a claim, or by a link into its folder."""
    used: dict[str, set[str]] = {source.id: set() for source in survey.captures.sources}
    for id, claims in survey.captures.claims.items():
        used.setdefault(id, set()).update(claim.page for claim in claims)
    for file, pages in linking.items():
        folder, _, rest = file.partition("/")
        if folder == "sources":
            used.setdefault(rest.partition("/")[0], set()).update(pages)
    return {id: sorted(pages & set(survey.pages)) for id, pages in used.items()}


def _source_frame(survey: Survey, source: Source, used: Sequence[str]) -> Frame:
    claims = survey.captures.claims.get(source.id, ())
    fork = fork_of_source(survey.layout, source)
    later = [s for s in survey.captures.sources if s.previous == source.id]

    def shows() -> Mapping[str, object]:
        text, absent = text_of_capture(survey.layout, source)
        return {
            "source": source,
            "fork": fork,
            "sections": list(sections_of(source, text)),
            "absent": absent,
            "size": len(text),
            "claims": claims,
            "used": used,
            "warnings": sorted(Counter(mark.kind for mark in source.marks).items()),
            "later": later,
            "place_of": place_of_source,
        }

    titles = [(path, survey.pages[path].title) for path in used]
    key = digest_of(repr((source, fork, claims, titles, [s.id for s in later])))
    place, title = place_of_source(source.id), source.title or source.id
    return sheet(survey, place, title, "source.html", shows, key=key)
