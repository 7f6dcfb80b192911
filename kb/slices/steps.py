"""The steps around a run: edit, verify, verdict, retrospective, resume. Each brings what its question needs and nothing that would lead it."""

import re

from kb import trail
from kb.schema import Verdict
from kb.slices.hypothesis import bring_matches, bring_pages, bring_retrospective
from kb.slices.open_slice import OpenSlice
from kb.slices.profile import fill_profile
from kb.slices.ranking import ranked
from kb.slices.request import Request
from kb.slices.state import (
    bring_lines,
    bring_proposal,
    bring_running,
    bring_state,
    bring_target,
)
from kb.slices.topics import bring_topics
from kb.trail.outcomes import measured

# A file that a command runs or a rule protects, or a program by its path.
_PROGRAM = re.compile(r"[\w-]+\.\w{1,5}\b|(?<=/)[\w-]+(?=\s|$)")
# What a resumed session is told of its state: of each part so many lines at most; and so many of the last runs.
_STANDING = (("standing", "frontier", 3), ("config", "configuration", 1))
_RESUMED = 8
# A line of a ledger: enough to know the run again.
_LINE = 150
# So much of a setup shows how a thing was done.
_SETUP = 500


def fill_edit(into: OpenSlice, request: Request) -> str:
    """What an edit needs: rules and places of the target, the mechanism, how the same lever was pulled before and broke, the code's own pages."""
    bring_target(into)
    bring_proposal(into, "hypothesis", "mechanism", "setup")
    if frontier := into.question.frontier:
        into.section("state", frontier.path, "setup", size=_SETUP, why="frontier setup")
    bring_matches(into, most=3)
    pages = into.question.pages
    won = [p for p in pages if into.view.standing(p.path).verdict == Verdict.SUPPORTED]
    for page in won[:3]:
        into.section("recent", page.path, "setup", size=_SETUP, why="how it was done")
    bring_pages(into, [p for p in pages if p.type in ("codebase", "source", "concept", "observation")])  # fmt: skip
    return "edit"


def fill_verify(into: OpenSlice, request: Request) -> str:
    """What an independent reviewer needs: criteria, figures and known traps. No narrative of the author, no page of runs in its own words."""
    bring_target(into)
    bring_proposal(into, "predicted_signal", "falsification", "setup")
    _bring_warning(into, request.proposal)
    _bring_figures(into)
    for match in into.question.matches[:4]:
        _bring_line(into, "refuted", match.path, why=match.kind)
    pages = ranked(into.view, into.question.weights, runs=(), target=into.target)
    bring_pages(into, [p for p in pages if p.type in ("observation", "concept", "codebase", "source")])  # fmt: skip
    return "independent"


def fill_verdict(into: OpenSlice, request: Request) -> str:
    """What a verdict needs: what was predicted, what would refute it, baseline and frontier of the same variant, noise, and checks."""
    bring_target(into)
    bring_proposal(into, "hypothesis", "predicted_signal", "falsification")
    _bring_warning(into, request.proposal)
    _bring_figures(into)
    bring_matches(into, most=3)
    bring_pages(into, [p for p in into.question.pages if p.type in ("observation", "experiment", "concept")])  # fmt: skip
    return "verdict"


def fill_retrospective(into: OpenSlice, request: Request) -> str:
    """What a retrospective needs: the state, what the last one said, topics, and the ledger line by line, newest first."""
    bring_state(into, tokens=request.budget // 3)
    bring_retrospective(into, most=3, tokens=request.budget // 6)
    bring_topics(into, most=6)
    for path in reversed(into.runs):
        if not _bring_line(into, "refuted" if into.failed(path) else "recent", path):
            break
    bring_pages(into, [p for p in into.question.pages if p.type in ("observation", "analysis", "hypothesis")])  # fmt: skip
    return "retrospective"


def fill_resume(into: OpenSlice, request: Request) -> str:
    """The session after a loss of context, in what no proposal asks for again: where it stands, what runs, the last results.

    Buckets, levers, leads and the rest are the hypothesis slice's, which its head names as the next.
    """
    bring_target(into, most=240)
    parts = into.question.state_unasked.parts if into.runs else {}
    for name, why, most in _STANDING:
        bring_lines(into, "state", why, parts.get(name, ())[:most], most=request.budget)
    bring_running(into)
    # What is in flight stands there already.
    for path in [p for p in into.runs if p not in into.full][-1:]:
        into.page("recent", path, "last run", closely=False)
    for path in [p for p in reversed(into.runs) if p not in into.full][:_RESUMED]:
        _bring_line(into, "refuted" if into.failed(path) else "recent", path)
    return "resume"


def _bring_warning(into: OpenSlice, proposal: str) -> None:
    """Say where a change names what prints the metric: then its figure may be the change's own."""
    page = into.question.page
    if not page or not proposal:
        return
    metric = trail.metric_named(page)
    guarded = [*page.words("protected"), *page.words("checks"), page.field("benchmark"), page.field("profile")]  # fmt: skip
    names = {w for text in guarded for w in _PROGRAM.findall(text)}
    names |= {metric} if "_" in metric else set()
    named = ", ".join(sorted(n for n in names if re.search(rf"(?<![\w/.-]){re.escape(n)}(?![\w-]|\.\w)", proposal)))  # fmt: skip
    if named:
        text = f"The change names {named}, which measures or prints {metric or 'the metric'}: take the figure from the untouched benchmark, and compare it with what the tool itself reports."
        into.words("state", page.path, "", why="who prints the metric", text=text)


def _bring_figures(into: OpenSlice) -> None:
    """Frontier, baseline and counts, then the last runs in figures alone, those of the same variant where they are known."""
    question = into.question
    lines = question.state_unasked.parts["standing"] if into.runs else ()
    bring_lines(into, "state", "frontier", lines, most=into.tokens + into.budget // 3)
    same = (f for f in reversed(question.earlier[-40:]) if question.variant in ("", f.variant))
    for facts in [f for f in same if measured(f)][:5]:
        text = f"[{facts.verdict.canonical or 'no verdict'}] {measured(facts)}"
        into.words("recent", facts.path, "", why="figures", text=text)


def _bring_line(into: OpenSlice, part: str, path: str, *, why: str = "") -> bool:
    """A run in one line: its verdict, title and first figure."""
    facts = into.question.facts(path)
    if not facts:
        return True
    figure = measured(facts, 1)
    text = f"[{facts.verdict.canonical or 'no verdict'}] {facts.title}"[:_LINE]
    text += f" · {figure}" if figure else ""
    return into.words(part, path, "", why=why or facts.date or "undated", text=text)


RECIPES = {
    "profile": fill_profile,
    "edit": fill_edit,
    "verify": fill_verify,
    "verdict": fill_verdict,
    "retrospective": fill_retrospective,
    "resume": fill_resume,
}
