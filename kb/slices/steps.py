"""The steps around a run: edit, verify, verdict, retrospective, resume. Each brings what its question needs and nothing that would lead it."""

import re

from kb import search, trail
from kb.schema import FAILED, Verdict
from kb.slices.bringing import Bringing
from kb.slices.excerpt import excerpt_of
from kb.slices.hypothesis import bring_pages
from kb.slices.layers import bring_leads, bring_matches, bring_retrospective, bring_topics, bring_untried
from kb.slices.proposal import bring_said
from kb.slices.ranking import ranked
from kb.slices.request import Request
from kb.slices.state import bring_state, ledger_of
from kb.slices.targets import fields_of
from kb.trail.outcomes import measured as measured_of

# A file that a command runs or a rule protects.
_PROGRAM = re.compile(r"[\w-]+\.\w{1,5}\b")
# A line of a ledger: enough to know the run again.
_LINE = 150


def fill_edit(bring: Bringing, request: Request) -> str:
    """What an edit needs: rules and places of the target, the mechanism, how the same lever was pulled before and broke, the code's own pages."""
    _bring_target(bring)
    bring_said(bring, request.proposal, "hypothesis", "mechanism", "setup")
    best = next(iter(bring.asked.state.frontiers), None) if bring.runs else None
    if best:
        _bring_place(bring, "state", best.run.path, "setup", why="frontier setup")
    bring_matches(bring, most=3)
    pages = bring.asked.pages
    for page in [p for p in pages if bring.view.standing(p.path).verdict == Verdict.SUPPORTED][:3]:
        _bring_place(bring, "recent", page.path, "setup", why="how it was done")
    bring_pages(bring, [p for p in pages if p.type in ("codebase", "source", "concept", "observation")])
    return "edit"


def fill_verify(bring: Bringing, request: Request) -> str:
    """What an independent reviewer needs: criteria, figures and known traps. No narrative of the author, no page of runs in its own words."""
    _bring_target(bring)
    bring_said(bring, request.proposal, "predicted_signal", "falsification", "setup")
    _bring_warning(bring, request.proposal)
    _bring_figures(bring, last=5)
    for match in bring.asked.matches[:4]:
        facts = bring.facts(match.path)
        if facts:
            figures = measured_of(facts)
            bring.words(
                "refuted",
                match.path,
                "",
                why=match.kind,
                text=f"[{facts.verdict.canonical}] {facts.title}"[:_LINE] + (f": {figures}" if figures else ""),
            )
    pages = ranked(bring.view, bring.weights, runs=(), target=bring.target)
    bring_pages(bring, [p for p in pages if p.type in ("observation", "concept", "codebase", "source")])
    return "independent"


def fill_verdict(bring: Bringing, request: Request) -> str:
    """What a verdict needs: what was predicted, what would refute it, baseline and frontier of the same variant, noise, and checks."""
    _bring_target(bring)
    bring_said(bring, request.proposal, "hypothesis", "predicted_signal", "falsification")
    _bring_warning(bring, request.proposal)
    _bring_figures(bring, last=5)
    bring_matches(bring, most=3)
    pages = bring.asked.pages
    bring_pages(bring, [p for p in pages if p.type in ("observation", "experiment", "concept")])
    return "verdict"


def fill_retrospective(bring: Bringing, request: Request) -> str:
    """What a retrospective needs: the ledger line by line, newest first, by topic, what stays open and what the last one said."""
    bring_state(bring, tokens=request.budget // 3)
    bring_retrospective(bring, most=3, tokens=request.budget // 6)
    pages = bring.asked.pages
    bring_topics(bring, most=6, tokens=request.budget // 10)
    bring_leads(bring, most=6, tokens=request.budget // 10)
    bring_untried(bring, most=2)
    for path in reversed(bring.runs):
        verdict = bring.view.standing(path).verdict
        if not _bring_line(bring, "refuted" if verdict in FAILED else "recent", path):
            break
    bring_pages(bring, [p for p in pages if p.type in ("observation", "analysis", "hypothesis")])
    return "retrospective"


def fill_resume(bring: Bringing, request: Request) -> str:
    """The whole session after a loss of context: where it stands, what runs, the last results, what was left to do, what not to repeat."""
    bring_state(bring, tokens=request.budget // 2)
    for path in list(reversed(bring.runs))[:3]:
        bring.page("recent", path, "last run", closely=False)
    bring_leads(bring, most=4, tokens=request.budget // 4)
    bring_retrospective(bring, most=1, tokens=request.budget // 8)
    for path in [p for p in reversed(bring.runs) if bring.view.standing(p).verdict in FAILED and p not in bring.filling.paths][
        :6
    ]:
        _bring_line(bring, "refuted", path)
    for path in [p for p in reversed(bring.runs) if p not in bring.filling.paths][:8]:
        _bring_line(bring, "recent", path)
    return "resume"


def _bring_warning(bring: Bringing, proposal: str) -> None:
    """Say where a change names what prints the metric: then its figure may be the change's own."""
    page = bring.asked.page
    if not page or not proposal:
        return
    metric = trail.metric_named(page)
    guarded = [*page.words("protected"), *page.words("checks"), page.field("benchmark"), page.field("profile")]
    names = {w for text in guarded for w in _PROGRAM.findall(text)} | ({metric} if "_" in metric else set())
    named = sorted(n for n in names if re.search(rf"(?<![\w/.-]){re.escape(n)}(?![\w-])", proposal))
    if named:
        text = f"The change names {', '.join(named)}, which measures or prints {metric or 'the metric'}: take the figure from the untouched benchmark, and compare it with what the tool itself reports."
        bring.words("state", page.path, "", why="who prints the metric", text=text)


def _bring_target(bring: Bringing) -> None:
    page = bring.asked.page
    if page and fields_of(page):
        bring.words("state", page.path, "", why="target", text=fields_of(page)[:900])


def _bring_figures(bring: Bringing, *, last: int) -> None:
    """Baseline, frontier and the last runs in figures alone, those of the same variant where they are known."""
    same = [f for f in map(bring.facts, bring.runs[-40:]) if f and (not bring.variant or f.variant == bring.variant)]
    best = next(iter(bring.asked.state.frontiers), None) if bring.runs else None
    baseline = next((f for f in reversed(same) if f.verdict.canonical == Verdict.BASELINE), None)
    for why, facts in (("frontier", best.run if best else None), ("baseline", baseline)):
        if facts and measured_of(facts):
            bring.words("state", facts.path, "", why=why, text=f"{facts.variant} {measured_of(facts)}".strip())
    if bring.runs:
        bring.words("state", bring.runs[-1], "", why="ledger", text=ledger_of(bring))
    for facts in same[-last:][::-1]:
        if measured_of(facts):
            bring.words(
                "recent", facts.path, "", why="figures", text=f"[{facts.verdict.canonical or 'no verdict'}] {measured_of(facts)}"
            )


def _bring_line(bring: Bringing, part: str, path: str) -> bool:
    facts = bring.facts(path)
    if not facts:
        return True
    figures = measured_of(facts).split(", ")[0]
    return bring.words(
        part,
        path,
        "",
        why=facts.date or "undated",
        text=f"[{facts.verdict.canonical or 'no verdict'}] {facts.title}"[:_LINE] + (f" · {figures}" if figures else ""),
    )


def _bring_place(bring: Bringing, part: str, path: str, name: str, *, why: str) -> None:
    """The section of a run that tells `name`, cut to the question."""
    facts = bring.facts(path)
    place = facts.place(name) if facts else None
    chunks = [c for c in search.chunks_in(bring.view.db, path) if place and place.start <= c.line < place.end]
    found = excerpt_of(chunks, bring.weights, masked=bring.view.masked, size=500) if chunks else None
    if found and not bring.filling.says(found.text):
        bring.words(part, path, found.anchor, why=why, text=found.text)


RECIPES = {
    "edit": fill_edit,
    "verify": fill_verify,
    "verdict": fill_verdict,
    "retrospective": fill_retrospective,
    "resume": fill_resume,
}
