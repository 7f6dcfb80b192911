"""kb build [begin]: compile wiki/ into indexes/ and the search tables."""

from contextlib import closing
from dataclasses import dataclass

from kb import store
from kb.build import BuildReport, build
from kb.source.standing import kept_findings
from kb.text import command_of, counted, one_line
from kb.verbs import Caller, Result, flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is compiled besides the tables."""

    vectors: bool = flag(
        "give every section its vectors too, by the model that kb.toml names (extra `semantic`)"
    )


def run(request: Build, caller: Caller) -> Result:
    report = build(caller.layout, note=caller.talk)
    with closing(store.state(caller.layout)) as db:
        digests = dict(db.execute("select path, digest from page"))
    kept = [*kept_findings(caller.layout, digests)]
    changed = sorted(f.path for f in kept if f.code == "stale-reading" and f.path in digests)
    whole = {**store.plain_of(report), "changed_since_read": changed}
    for finding in (*report.unread, *(f for f in kept if f.code == "unreadable-reading")):
        why = "; ".join(filter(None, (finding.message, finding.hint)))
        caller.talk(one_line(f"{finding.path}: {why}"))
    text = _text(report)
    if changed:
        again = command_of("ingest --task normalise", *changed[:3]) + " …" * (len(changed) > 3)
        text += f"\n{counted(len(changed), 'pages')} changed since somebody read them: what they quote and what rules read counts; to have them read again: {again}"
    if not request.vectors:
        return Result(whole, text)
    from kb.verbs.vectors import encoder_of, synced

    v = synced(store.state(caller.layout), caller, encoder_of(caller.layout))
    fetched = f", {v.fetched} brought from the shared store" if caller.layout.config.chroma else ""
    vectors = f"vectors of {v.sections} sections ({v.encoded} texts encoded{fetched}, {v.removed} dropped)"
    return Result({**whole, "vectors": v}, f"{text}\n{vectors}")


def _text(r: BuildReport) -> str:
    changed = f"{r.added} added, {r.changed} changed, {r.removed} removed"
    what = "nothing changed" if r.fresh else changed
    return f"{counted(r.pages, 'pages')} ({what}), {counted(r.experiments, 'experiments')}, {counted(r.cards, 'refuted cards')}, {counted(r.indexes, 'index files')}"
