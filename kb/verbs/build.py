"""kb build [begin]: compile wiki/ into indexes/ and the search tables."""

from dataclasses import dataclass

from kb import store
from kb.build import BuildReport, build
from kb.text import counted
from kb.verbs import Caller, Result, flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is compiled besides the tables."""

    vectors: bool = flag(
        "give every section its vectors too, by the model that kb.toml names (extra `semantic`)"
    )


def run(request: Build, caller: Caller) -> Result:
    report = build(caller.layout, note=caller.talk)
    for finding in report.unread:
        caller.talk(f"{finding.path}: {finding.message}; {finding.hint}")
    text = _text(report)
    if not request.vectors:
        return Result(report, text)
    from kb.verbs.vectors import encoder_of, synced

    v = synced(store.state(caller.layout), caller, encoder_of(caller.layout))
    fetched = f", {v.fetched} brought from the shared store" if caller.layout.config.chroma else ""
    vectors = f"vectors of {v.sections} sections ({v.encoded} texts encoded{fetched}, {v.removed} dropped)"
    return Result({**store.plain_of(report), "vectors": v}, f"{text}\n{vectors}")


def _text(r: BuildReport) -> str:
    changed = f"{r.added} added, {r.changed} changed, {r.removed} removed"
    what = "nothing changed" if r.fresh else changed
    return f"{counted(r.pages, 'pages')} ({what}), {counted(r.experiments, 'experiments')}, {counted(r.cards, 'refuted cards')}, {counted(r.indexes, 'index files')}"
