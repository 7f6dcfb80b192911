"""kb build [begin]: compile wiki/ into indexes/ and the search tables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb import store
from kb.build import BuildReport, build
from kb.verbs import Caller, Result, flag

if TYPE_CHECKING:
    from kb.search.vectors import Synced


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is compiled besides the tables."""

    vectors: bool = flag(
        "give every section its vectors too, by the model that kb.toml names (extra `semantic`)"
    )
    local: bool = flag("with --vectors: leave the shared store of kb.toml alone")


def run(request: Build, caller: Caller) -> Result:
    layout = caller.layout()
    report = build(layout, note=caller.talk)
    for finding in report.unread:
        caller.talk(f"{finding.path}: {finding.message}; {finding.hint}")
    vectors = None
    if request.vectors:
        from kb.verbs.vectors import synced

        vectors = synced(layout, store.state(layout), caller, local=request.local)
    shared = bool(layout.config.chroma) and not request.local
    more = {"vectors": store.plain_of(vectors)} if vectors else {}
    return Result(store.plain_of(report) | more, _text(report, vectors, shared=shared))


def _text(r: BuildReport, v: "Synced | None", *, shared: bool) -> str:
    what = (
        "nothing changed"
        if r.fresh
        else f"{r.added} added, {r.changed} changed, {r.removed} removed"
    )
    text = f"{r.pages} pages ({what}), {r.experiments} experiments, {r.cards} refuted cards, {r.indexes} index files"
    if not v:
        return text
    fetched = f", {v.fetched} brought from the shared store" if shared else ""
    return f"{text}\nvectors of {v.sections} sections ({v.encoded} texts encoded{fetched}, {v.removed} dropped)"
