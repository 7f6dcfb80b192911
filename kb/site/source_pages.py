"""Captured sources as pages: where each comes from, its licence, what rests on it, and its text as
quoted material. Refuses to render captured text as anything but text.
"""

from collections.abc import Iterator, Mapping, Sequence

from kb.site.captures import (
    FOLDER,
    Captures,
    matrices_of,
    place_of_source,
    reading_of_fork,
    sections_of,
    text_of_capture,
)
from kb.site.survey import Survey
from kb.site.templating import Frame, plain_title, rendered
from kb.source import Source
from kb.store import digest_of

_INDEX = f"{FOLDER}/index.html"


def source_frames(
    survey: Survey, linking: Mapping[str, Sequence[str]], *, code: str
) -> Iterator[Frame]:
    """A page for each source, one that lists them, and one with what forks have that others lack.
    `linking` are the pages of the wiki by the files outside that they link to.
    """
    captures = survey.captures
    if not captures.sources and not captures.faults:
        return
    used = _used(survey, linking)
    matrices = matrices_of(survey.layout, captures.sources)
    shows = {"captures": captures, "used": used, "matrices": matrices, "place_of": place_of_source}
    title = f"Captured sources ({len(captures.sources):,})"
    yield _frame(survey, _INDEX, title, "sources.html", shows, key="")
    if matrices:
        title = "What forks have that others lack"
        yield _frame(survey, f"{FOLDER}/forks.html", title, "forks.html", shows, key="")
    for source in captures.sources:
        yield _source_frame(survey, captures, source, used[source.id], code)


def _used(survey: Survey, linking: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The pages that rest on each source: by a claim, or by a link into its folder."""
    used: dict[str, set[str]] = {source.id: set() for source in survey.captures.sources}
    for id, claims in survey.captures.claims.items():
        used.setdefault(id, set()).update(claim.page for claim in claims)
    for file, pages in linking.items():
        folder, _, rest = file.partition("/")
        if folder == "sources":
            used.setdefault(rest.partition("/")[0], set()).update(pages)
    return {id: sorted(pages & set(survey.pages)) for id, pages in used.items()}


def _source_frame(
    survey: Survey, captures: Captures, source: Source, used: Sequence[str], code: str
) -> Frame:
    claims = captures.claims.get(source.id, ())
    kinds = [mark.kind for mark in source.marks]
    later = [s for s in captures.sources if s.previous == source.id]

    def shows() -> Mapping[str, object]:
        text, absent = text_of_capture(survey.layout, source)
        return {
            "source": source,
            "fork": reading_of_fork(survey.layout, source),
            "sections": list(sections_of(source, text)),
            "absent": absent,
            "size": len(text),
            "claims": claims,
            "used": used,
            "warnings": [(kind, kinds.count(kind)) for kind in sorted(set(kinds))],
            "later": later,
            "place_of": place_of_source,
        }

    titles = [(path, survey.pages[path].title) for path in used]
    key = digest_of(repr((code, source, claims, titles, [s.id for s in later])))
    title = source.title or source.id
    return _frame(survey, place_of_source(source.id), title, "source.html", shows, key=key)


def _frame(survey: Survey, place: str, title: str, template: str, shows, *, key: str) -> Frame:
    """A page of sources; with a `key` it is rendered only where it is written."""

    def content() -> str:
        values = shows() if callable(shows) else shows
        return rendered(survey, place, template, {"title": title, **values})

    if key:
        return Frame(place, plain_title(title), content, (), key, _INDEX)
    text = content()
    return Frame(place, plain_title(title), lambda: text, (), digest_of(text), _INDEX)
