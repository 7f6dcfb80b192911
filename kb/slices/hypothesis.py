"""The hypothesis step: where the target stands, what was tried and refuted, and what the wiki knows about the question."""

import shlex

from kb.page import Page
from kb.schema import FAILED, Verdict
from kb.slices.bringing import Bringing
from kb.slices.hardware import bring_envelope
from kb.slices.layers import (
    bring_blueprint,
    bring_matches,
    bring_retrospective,
    bring_topics,
    bring_untried,
)
from kb.slices.ranking import Ranked
from kb.slices.request import Request
from kb.slices.state import bring_state
from kb.slices.targets import fields_of

# Pages whose excerpt is cut to the question; those further down are brought by what they say of themselves.
_CLOSELY = 10

# After so many pages in a row that no longer fit, none will.
_MISSES = 12

# Failures in a row after which more of the same is no search.
_THRASH = 5


# How much of a slice is the state of its target where the question names a matter, of a small and of a large one, and where it names none;
# the rest are pages that answer it.
_SMALL, _STATE, _NEUTRAL = 0.14, 0.5, 0.88
# What a target page must tell before anything can be measured.
_MEASURED_BY = ("repository", "metric", "benchmark", "protected")


def mode_of(bring: Bringing, request: Request) -> str:
    """What the slice is for: the mode asked for; else whole without a target, bootstrap without runs, exploration after five failures in a row, frontier."""
    if request.mode != "auto":
        return request.mode
    if request.proposal and not request.query and not request.profile:
        return "override"
    if not bring.runs:
        return "bootstrap" if bring.target else "whole"
    last = [bring.view.standing(p).verdict for p in bring.runs[-_THRASH:]]
    return "exploration" if len(last) == _THRASH and all(v in FAILED for v in last) else "frontier"


def fill_hypothesis(bring: Bringing, request: Request) -> str:
    """Fill the slice of one hypothesis request; its mode is returned."""
    mode = mode_of(bring, request)
    budget = request.budget
    cold = request.audience == "cold"
    if mode == "bootstrap":
        _bring_start(bring, budget=budget, cold=cold)
        bring_pages(bring, bring.asked.pages, cold=cold)
        return mode
    if not cold and mode != "whole":
        bring_state(bring, tokens=int(budget * (_NEUTRAL if bring.asked.neutral else _share(budget))))
    if not cold:
        _bring_refuted(bring, most=8 if mode == "override" else budget // 3000)
    if mode != "override":
        _bring_layers(bring, budget=budget, mode=mode, cold=cold)
    bring_pages(bring, bring.asked.pages, cold=cold)
    return mode


def _share(budget: int) -> float:
    return _SMALL + (_STATE - _SMALL) * min(1.0, max(0, budget - 2000) / 4000)


def _bring_start(bring: Bringing, *, budget: int, cold: bool) -> None:
    """Where there is no state to go by: the target as its page tells it, how to take a baseline, the machine, what the wiki tried by topic, and the ladder's first phase.

    Runs that there are already are named and not told; what they refuted is, as far as the question meets it.
    """
    page = bring.asked.page
    home = page.path if page else "indexes/blueprint.md"
    if page and fields_of(page):
        bring.words("state", page.path, "", why="target", text=fields_of(page)[: 900 if budget >= 3000 else 240])
    if not cold:
        bring.words("state", home, "", why="baseline", text=_to_baseline(bring, page))
        if bring.runs:
            bring.words("recent", bring.runs[-1], "", why="last run", text=bring.view.standing(bring.runs[-1]).title)
        _bring_refuted(bring, most=1 + budget // 3000)
    if budget >= 1500:
        bring_envelope(bring, most=1 if budget < 6000 else 3, tokens=max(150, budget // 10))
        if not cold:
            bring_topics(bring, most=2 if budget < 3000 else 6, tokens=budget // 10, any_topic=True)
            bring_blueprint(bring, tokens=budget // 8, first=True)
            bring_untried(bring, most=1)


def _to_baseline(bring: Bringing, page: Page | None) -> str:
    """How the first measurement is taken, and what the target page must tell before it can be."""
    name, named = bring.target or "TARGET", f" --variant {shlex.quote(bring.variant)}" if bring.variant else ""
    lacking = [field for field in _MEASURED_BY if not (page and page.front.get(field))]
    measured = next((p for p in reversed(bring.runs) if bring.view.standing(p).verdict == Verdict.BASELINE), "")
    said = [
        f"{len(bring.runs)} runs are on file, the baseline {measured}; this slice begins anew all the same."
        if measured
        else f"No baseline of {name} is on file: without one no figure says anything."
    ]
    if lacking:
        where = page.path if page else f"wiki/targets/{name}.md"
        said.append(f"{where} {'lacks' if page else 'is to be written, with'} {', '.join(lacking)}.")
    said.append(
        f"`kb experiment open --baseline --target {name}{named}`, `kb experiment run PAGE`, `kb experiment close PAGE`; "
        "five repeats on a quiet host tell its noise, a profile of it the first question to ask."
    )
    return " ".join(said)


def _bring_refuted(bring: Bringing, *, most: int) -> None:
    """Cards that the question meets, and where there are none the nearest or the newest failure: this part is never empty once a target has runs."""
    bring_matches(bring, most=most)
    failed = [p for p in bring.asked.pages if bring.view.standing(p.path).verdict in FAILED and p.path not in bring.filling.paths]
    if "refuted" not in bring.filling.parts and failed:
        bring.page("refuted", failed[0].path, failed[0].why, closely=False)
    older = [p for p in reversed(bring.runs) if bring.view.standing(p).verdict in FAILED]
    if bring.runs and "refuted" not in bring.filling.parts:
        path, said = (older[0], "failed last: ") if older else (bring.runs[-1], "no run of this target failed so far; last: ")
        bring.words("refuted", path, "", why="target", text=said + bring.view.standing(path).title)


def _bring_layers(bring: Bringing, *, budget: int, mode: str, cold: bool) -> None:
    """Leads, retrospective, topics, ladder, envelope and one untried lever: an eighth of a small slice, a fifth of a large one."""
    share = budget // 25 if budget < 6000 else budget // 20
    wide = mode == "exploration"
    if not cold:
        if budget >= 1500:
            bring_retrospective(bring, most=1 if budget < 6000 else 2, tokens=max(160, share))
            bring_topics(bring, most=1 if budget < 3000 else 3, tokens=share)
        if budget >= 3000:
            bring_untried(bring, most=4 if wide else 1 + budget // 4000)
            bring_blueprint(bring, tokens=share * (2 if wide else 1))
    if budget >= 3000 and (bring.target or wide):
        bring_envelope(bring, most=1 if budget < 6000 else 2, tokens=max(150, share))


def bring_pages(bring: Bringing, pages: list[Ranked], *, cold: bool = False) -> None:
    """Bring ranked pages until the budget is full: failed experiments among the refuted, open hypotheses among the leads."""
    misses = 0
    # Where hardly a matter is asked for, the state has told what failed here.
    told = {f.path for f in bring.asked.tried if f.failed} if bring.asked.neutral and not cold and bring.target else set()
    for place, page in enumerate(p for p in pages if p.path not in bring.filling.full and p.path not in told):
        part = "pages"
        if not cold:
            part = (
                "refuted"
                if bring.view.standing(page.path).verdict in FAILED
                else "leads"
                if page.type == "hypothesis"
                else "pages"
            )
        misses = 0 if bring.page(part, page.path, page.why, closely=place < _CLOSELY) else misses + 1
        if misses >= _MISSES:
            break
