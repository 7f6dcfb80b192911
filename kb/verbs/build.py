"""kb build [begin]: compile wiki/ into indexes/ and the search tables."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb.verbs import Caller, Result, flag

if TYPE_CHECKING:
    from kb.build import BuildReport
    from kb.search.vectors import Synced


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is compiled besides the tables."""

    vectors: bool = flag(
        "give every section its vectors too, by the model that kb.toml names (extra `semantic`)"
    )
    local: bool = flag("with --vectors: leave the shared store of kb.toml alone")


@dataclass(frozen=True, slots=True)
class BuildSummary(Result):
    """What a build did, and the vectors where they were asked for."""

    report: "BuildReport"
    vectors: "Synced | None"
    shared: bool

    def to_json(self) -> object:
        return {
            **asdict(self.report),
            **({"vectors": asdict(self.vectors)} if self.vectors else {}),
        }

    def to_text(self) -> str:
        r, v = self.report, self.vectors
        what = (
            "nothing changed"
            if r.fresh
            else f"{r.added} added, {r.changed} changed, {r.removed} removed"
        )
        text = f"{r.pages} pages ({what}), {r.experiments} experiments, {r.cards} refuted cards, {r.indexes} index files"
        if not v:
            return text
        shared = f", {v.fetched} brought from the shared store" if self.shared else ""
        return f"{text}\nvectors of {v.sections} sections ({v.encoded} texts encoded{shared}, {v.removed} dropped)"


def run(request: Build, caller: Caller) -> BuildSummary:
    from kb import store
    from kb.build import build

    layout = caller.layout()
    report = build(layout, note=caller.talk)
    for finding in report.unread:
        caller.talk(f"{finding.path}: {finding.message}; {finding.hint}")
    vectors = None
    if request.vectors:
        from kb.verbs.vectors import synced

        vectors = synced(layout, store.state(layout), caller, local=request.local)
    return BuildSummary(report, vectors, bool(layout.config.chroma) and not request.local)
