"""The hypothesis step: where the target stands, what was tried and refuted, and what the wiki knows about the question."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice, zip_longest

from kb.search import Chunk
from kb.search.prose import SHORTEST, clean
from kb.slices.excerpt import statements_of, weight_of
from kb.slices.hardware import bring_envelope
from kb.slices.open_slice import OpenSlice
from kb.slices.ranking import LISTS, Ranked
from kb.slices.request import Request
from kb.slices.state import bring_state, bring_target, disputes_of
from kb.slices.topics import bring_blueprint, bring_topics
from kb.text import command_of, cut, head_of, reasoned

# Pages whose excerpt is cut to the question; those further down are brought by what they say of themselves.
_CLOSELY = 10

# After so many pages in a row that no longer fit, none will.
_MISSES = 12

# About what a section costs; pages that an overview looks at; of a line of what notes say failed the matter and its reason.
_SECTION, _OVERVIEW, _MATTER, _REASON = 200, 60, 160, 280
_STATED = "select count(*) > (select count(*) from experiment) from card where evidence not in (select path from experiment)"

# Failures in a row after which more of the same is no search.
_THRASH = 5

# How much of a slice is the state of its target where the question names a matter, of a small and of a large one, and where it names none;
# the rest are pages that answer it.
_SMALL, _STATE, _NEUTRAL = 0.14, 0.48, 0.88
# A question as open as this is answered by passages of the last pages before those that share its words.
_OPEN = 0.4
# Topics of which is told how often they paid; targets that are named where the question names none.
_TOPICS, _TRAILS = 10, 12
# Sections of a run in the order in which they help the next one; of so many last runs the pages and citations are looked at, a passage is about so long.
_PLACES, _MEASURED = ("verdict", "next", "mechanism"), ("because", "results", "setup")
_LAST, _PASSAGE = 8, 600
# Where the ladder of phases stands, and what a target page must tell before anything can be measured.
_LADDER = "indexes/blueprint.md"
_MEASURED_BY = ("repository", "metric", "benchmark", "protected")
# Headings of an analysis below which it says where to go and where not.
_DIRECTIONS = re.compile(
    r"next|direction|recommend|avoid|anti|do ?n.t|did ?n.t|lesson|stop doing|takeaway|learn|to change",
    re.IGNORECASE,
)


def fill_hypothesis(into: OpenSlice, request: Request) -> str:
    """Fill the slice of one hypothesis request; its mode is returned."""
    mode, budget = _mode_of(into, request), request.budget
    cold = request.audience == "cold"
    if mode == "bootstrap":
        _bring_start(into, budget=budget, cold=cold)
    elif not cold:
        _bring_standing(into, mode=mode, budget=budget)
    for line in () if into.runs else disputes_of(into):
        into.words("disputed", line.path, "", why="disputed", text=line.text)
    if mode not in ("bootstrap", "override"):
        _bring_layers(into, budget=budget, cold=cold)
    passages = into.question.openness > _OPEN and into.runs and not cold
    passages = passages and mode in ("frontier", "exploration")
    if passages:
        _bring_passages(into, _PLACES)
    pages = into.question.pages or _overview(into)
    # Where there is room for it a page is told section by section, else by what it says of the question.
    if len(pages) * _SECTION < budget - into.tokens:
        _bring_sections(into, pages)
    bring_pages(into, pages, cold=cold)
    # A short trail leaves room for what its runs measured, a small wiki for what shares no word with the question.
    if passages:
        _bring_passages(into, _MEASURED)
        others = [p for p in _overview(into) if p.path not in into.paths]
        if len(others) * _SECTION < budget - into.tokens:
            _bring_sections(into, others)
    if not into.parts and not cold:
        into.words("state", _LADDER, "", why="baseline", text=_to_baseline(into))
    return mode


def _bring_standing(into: OpenSlice, *, mode: str, budget: int) -> None:
    """Where the target stands or, without one, which there are; then what failed."""
    if mode == "whole":
        _bring_trails(into)
    else:
        least = _SMALL + (_STATE - _SMALL) * min(1.0, max(0, budget - 2000) / 4000)
        share = least + (_NEUTRAL - least) * into.question.openness
        bring_state(into, tokens=int(budget * share))
    _bring_refuted(into, most=8 if mode == "override" else budget // 3000)
    _bring_statements(into, tokens=budget // (2 if into.question.neutral else 3))


def _mode_of(into: OpenSlice, request: Request) -> str:
    """What the slice is for: the mode asked for; else whole without a target, bootstrap without runs, exploration after five failures in a row, frontier."""
    if request.mode != "auto":
        return request.mode
    if request.proposal and not request.query and not request.profile:
        return "override"
    if not into.runs:
        return "bootstrap" if into.target else "whole"
    last = into.runs[-_THRASH:]
    return "exploration" if len(last) == _THRASH and all(map(into.failed, last)) else "frontier"


def _bring_start(into: OpenSlice, *, budget: int, cold: bool) -> None:
    """Where there is no state to go by: the target as its page tells it, how to take a baseline, the machine, what the wiki tried by topic, and the ladder's first phase.

    Runs that there are already are named and not told; what they refuted is, as far as the question meets it.
    """
    bring_target(into, most=900 if budget >= 3000 else 240)
    if not cold:
        page = into.question.page
        home = page.path if page else _LADDER
        into.words("state", home, "", why="baseline", text=_to_baseline(into))
        for path in into.runs[-1:]:
            into.words("recent", path, "", why="last run", text=into.view.standing(path).title)
        _bring_refuted(into, most=1 + budget // 3000)
    if budget >= 1500:
        bring_envelope(into, most=1 if budget < 6000 else 3, tokens=max(150, budget // 10))
    if budget >= 1500 and not cold:
        bring_topics(into, most=_TOPICS)
        bring_blueprint(into, tokens=budget // 8)


def _to_baseline(into: OpenSlice) -> str:
    """How the first measurement is taken, and what the target page must tell before it can be."""
    page, name = into.question.page, into.target or "TARGET"
    names = ("--variant", into.question.variant) if into.question.variant else ()
    baseline = command_of("experiment open --baseline --target", name, *names)
    lacking = ", ".join(f for f in _MEASURED_BY if not (page and page.front.get(f)))
    home = (
        f"{page.path} lacks"
        if page
        else f"Its page, targets/{name}.md of the wiki, is to be written, with"
    )
    message = f" {home} {lacking}." if lacking else ""
    return (
        f"No baseline of {name} is told here: without one no figure says anything.{message} `{baseline}`, "
        "`kb experiment run PAGE`, `kb experiment close PAGE`; five repeats on a quiet host tell its noise, a profile of it the first question to ask."
    )


def _bring_refuted(into: OpenSlice, *, most: int) -> None:
    """Cards that the question meets, and where there are none the newest failure: this part is never empty once a target has runs."""
    bring_matches(into, most=most)
    if into.runs and "refuted" not in into.parts:
        failed = next((p for p in reversed(into.runs) if into.failed(p)), "")
        message = "failed last: " if failed else "no run of this target failed so far; last: "
        path = failed or into.runs[-1]
        text = message + into.view.standing(path).title
        into.words("refuted", path, "", why="target", text=text)


def bring_matches(into: OpenSlice, *, most: int) -> None:
    """Cards that the question meets, as `kb check` finds them."""
    for match in [m for m in into.question.matches if m.path not in into.paths][:most]:
        lever = f" {match.lever}" if match.lever and match.kind != "similar" else ""
        into.page("refuted", match.path, f"{match.kind}{lever}"[:40], closely=False)


def _bring_trails(into: OpenSlice) -> None:
    """What is optimized here, where that is several things: a state is that of one."""
    trails = [(name, runs) for name, runs in into.view.trails() if name]
    if trails:
        listed = head_of([f"{name} ({runs})" for name, runs in trails], _TRAILS, "{} more")
        text = (
            f"targets with their runs: {', '.join(listed)}; `--target NAME` tells where one stands"
        )
        into.words("state", _LADDER, "", why="targets", text=text)


def _bring_statements(into: OpenSlice, *, tokens: int) -> None:
    """What notes say failed, a line each in about so many tokens; where as many runs are on file, pages that answer tell it."""
    view, lines = into.view, []
    if not view.db.execute(_STATED).fetchone()[0]:
        return
    # Late: most wikis have runs, and tell their failures by these.
    from kb.refuted import cards

    listed = cards(view.db, target=into.target or None, before=view.moment)
    for c in sorted(listed, key=lambda c: c.date, reverse=True):
        matter, reason = cut(c.title, _MATTER), cut(c.because or c.claim, _REASON)
        text = reasoned(matter, reason, " — ")
        if c.is_statement and view.sees(c.evidence) and not view.is_masked(c.evidence, text):
            lines.append(Chunk(c.evidence, c.anchor, "", 0, text))
    if len(view.runs("", last=len(lines))) < len(lines):
        _bring_nearest(into, lines, why="statement", most=into.tokens + tokens)


def _overview(into: OpenSlice) -> list[Ranked]:
    """Pages of the wiki, the best linked first."""
    rows = into.view.db.execute("select path, type, 0.0 from standing order by rank desc, path")
    pages = (p for p in map(Ranked._make, rows) if p.type not in LISTS and into.view.sees(p.path))
    return [*islice(pages, _OVERVIEW)]


def _bring_sections(into: OpenSlice, pages: list[Ranked]) -> None:
    """Whole sections of pages until the budget is full. Of runs the state and the cards tell enough."""
    whole = not (into.target or into.runs)
    paths = [p.path for p in pages if whole or not into.question.facts(p.path)]
    by_place = chain(*zip_longest(*map(into.view.chunks, paths)))
    _bring_nearest(into, filter(None, map(into.view.masked, filter(None, by_place))))
    into.full.update(paths)


def _bring_nearest(
    into: OpenSlice, chunks: Iterable[Chunk], *, why: str = "", most: int | None = None
) -> None:
    """Texts that are not told yet, those that say most of the question first, then in their order."""
    for c in sorted(chunks, key=lambda c: -weight_of(c, into.question.weights)):
        text = "\n".join(filter(str.strip, clean(c.text).split("\n")))
        part = "refuted" if why or into.failed(c.path) else "pages"
        if text and not into.says(text):
            into.words(part, c.path, c.anchor, why=why or c.anchor or "page", text=text, most=most)


def _bring_layers(into: OpenSlice, *, budget: int, cold: bool) -> None:
    """Retrospective, what paid by topic, and envelope: an eighth of a slice."""
    large = budget >= 6000
    share = budget // 20 if large else budget // 25
    if not cold:
        bring_retrospective(into, most=1 + large, tokens=max(160, share))
    if budget >= 3000 and not cold:
        bring_topics(into, most=_TOPICS)
    if budget >= 3000 and (into.target or into.runs):
        bring_envelope(into, most=1 + large, tokens=max(150, share))


def bring_retrospective(into: OpenSlice, *, most: int, tokens: int) -> None:
    """Directions and anti-recommendations of the newest analysis that cites runs of the target; a retrospective by name before any other."""
    view, ceiling = into.view, into.tokens + tokens
    path = view.once("retrospective", into.target, lambda: _retrospective(into))
    chunks = view.chunks(path) if path else []
    directions = [c for c in chunks if _DIRECTIONS.search(c.title)] or chunks[:1]
    for chunk in filter(None, map(view.masked, directions[:most])):
        text = cut(" ".join(statements_of(chunk.text)), 300 if tokens < 300 else 420)
        if text and not into.says(text):
            into.words(
                "retrospective", path, chunk.anchor, why="directions", text=text, most=ceiling
            )


def _retrospective(into: OpenSlice) -> str:
    """The newest analysis that cites runs of the target, a retrospective by name before any other; empty for none."""
    citing = Counter(path for *_, cited_by in into.view.links(into.runs) for path in cited_by)
    pages = [p for p in into.view.visible(citing).values() if p.type == "analysis"]
    pages.sort(key=lambda p: ("retro" in p.path.rsplit("/", 1)[-1], p.date, citing[p.path], p.path))
    return pages[-1].path if pages else ""


def _bring_passages(into: OpenSlice, places: Iterable[str]) -> None:
    """Sections until the budget is full: of the frontier, of observations and analyses that the last runs cite or that cite them, of the last runs."""
    best, last = into.question.frontier, into.runs[: -_LAST - 1 : -1]
    linked = into.view.visible(
        p for _, *both in into.view.links(last) for ends in both for p in ends
    )
    dated = sorted(linked.values(), key=lambda p: (p.type == "observation", p.date, p.path))
    cited = [p.path for p in reversed(dated) if p.type in ("observation", "analysis")]
    for place in places:
        for path in dict.fromkeys([*([best.path] if best else []), *cited, *last]):
            facts = into.question.facts(path)
            # A ruling of kb's own is a gain or a loop's decision, which the state tells.
            ruled = facts and (facts.imported or facts.gain is not None)
            if place != "verdict" or not ruled:
                part = "refuted" if into.failed(path) else "pages"
                into.section(part, path, place, size=_PASSAGE)


def bring_pages(into: OpenSlice, pages: list[Ranked], *, cold: bool = False) -> None:
    """Bring ranked pages until the budget is full: failed experiments among the refuted, open hypotheses among the leads."""
    question, misses = into.question, 0
    # Where hardly a matter is asked for, the state has told what failed here.
    stated = question.neutral and not cold and into.runs
    known = {f.path for f in question.earlier if f.failed} if stated else set()
    left = (p for p in pages if p.path not in into.full | known)
    # To what is tried next the runs of a target that is no kin say nothing.
    left = (p for p in left if not stated or not question.is_strange(p.path))
    open = stated and into.budget >= 6000
    for place, page in enumerate(left):
        fits = into.page(
            "pages" if cold else _part_of(into, page),
            page.path,
            "",
            closely=place < _CLOSELY or open,
            size=_PASSAGE if open else SHORTEST,
        )
        misses = 0 if fits else misses + 1
        if misses >= _MISSES:
            break


def _part_of(into: OpenSlice, page: Ranked) -> str:
    is_lead = page.type == "hypothesis" and into.question.is_open(page.path)
    return "leads" if is_lead else "refuted" if into.failed(page.path) else "pages"
