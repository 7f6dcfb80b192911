"""Where a target stands: its page, its frontier, its ledger in one line, runs in flight. Refuses prose: figures and verdicts only."""

import re
from collections import Counter
from dataclasses import dataclass

from kb import trail
from kb.page import Page, from_row
from kb.run.quantity import number_text
from kb.schema import FAILED, Verdict
from kb.slices.bringing import Bringing
from kb.trail.frontier import frontier_of as trail_frontier_of
from kb.trail.frontier import kept
from kb.trail.progress import nibbles

# What a loop must know of its target, as front-matter fields; in this order as far as they are there.
_FIELDS = (
    "metric",
    "tracked",
    "noise",
    "hardware",
    "hardwares",
    "variants",
    "benchmark",
    "checks",
    "profile",
    "repository",
    "base",
    "protected",
    "allowed",
)


def target_page(bring: Bringing) -> Page | None:
    """The page of the target: the one of that name, else the one all of whose name stands in the target's name."""
    if not bring.target:
        return None
    wanted = set(re.findall(r"[a-z0-9]+", bring.target.lower()))
    found = []
    for path, digest, row in bring.view.db.execute(
        "select p.path, p.digest, p.row from standing s join page p on p.path = s.path where s.type = 'target'"
    ):
        if bring.view.sees(path):
            page = from_row(path, digest, row)
            name = set(re.findall(r"[a-z0-9]+", page.stem.lower()))
            if bring.target in (page.stem, page.field("target")) or name <= wanted:
                found.append((bring.target in (page.stem, page.field("target")), len(name), path, page))
    return max(found, key=lambda f: f[:3])[3] if found else None


def fields_of(page: Page) -> str:
    """What a target page says a loop must know, in one line."""
    said = []
    for name in _FIELDS:
        value = page.front.get(name)
        if value:
            text = (
                ", ".join(f"{k} {v}" for k, v in value.items())
                if isinstance(value, dict)
                else ", ".join(map(str, value))
                if isinstance(value, list)
                else str(value)
            )
            said.append(f"{name}: {text}")
    return "; ".join(said)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The best kept run of a target (of its variant, where that has one), by the metric that decides; without figures the last kept one.

    `moved` is the last kept run that gained 1 % or more, `band` the noise of the frontier's own repeats, `nibbling` two small gains in a row.
    """

    facts: trail.Facts
    moved: str
    band: float | None
    nibbling: bool


def frontier_of(bring: Bringing, page: Page | None) -> Frontier | None:
    """The frontier of the target as far as its last kept runs tell; None where nothing but a baseline was kept."""
    runs = [f for f in map(bring.facts, bring.runs) if f]
    said = page.front.get("metric") if page else None
    stated = str(said.get("name", "")) if isinstance(said, dict) else page.field("metric") if page else ""
    best = trail_frontier_of(runs, stated=stated, variant=bring.variant)
    if best is None or all(f.verdict.canonical == Verdict.BASELINE for f in runs if kept(f)):
        return None
    return Frontier(best.run, best.moved, best.band, bool(nibbles([s.gain for s in best.steps][-2:])))


def ledger_of(bring: Bringing, best: Frontier | None) -> str:
    """The runs of a target in one line: how many, by verdict, how long the frontier has stood, and what the last ones came to."""
    verdicts = [bring.view.standing(p).verdict for p in bring.runs]
    counts = Counter(verdicts)
    said = [f"{len(verdicts)} runs: {', '.join(f'{counts[v]} {v}' for v in Verdict if counts[v]) or 'no verdicts'}"]
    if best:
        noise = f"noise ±{100 * best.band:.1f} %" if best.band is not None else "noise not measured"
        said.append(f"frontier {measured_of(best.facts) or 'without figures'} ({noise})")
        still = len(bring.runs) - 1 - list(bring.runs).index(best.moved) if best.moved in bring.runs else 0
        said.append(f"last moved by 1 % or more {still} runs ago" if still else "moved by the last run")
        if best.nibbling:
            said.append("the last two gains were under 1 %: the next change must be structural")
    failures = next((i for i, v in enumerate(reversed(verdicts)) if v not in FAILED), len(verdicts))
    if failures > 1:
        said.append(f"the last {failures} failed")
    return "; ".join(said)


def measured_of(facts: trail.Facts) -> str:
    """Figures of a run in one line, with their spread where it is known."""
    said = [
        f"{m.name} {number_text(m.value)}{f' ± {number_text(m.stddev)}' if m.stddev is not None else ''} {m.unit if m.unit != m.name else ''}".rstrip()
        for m in facts.metrics
        if m.value is not None
    ]
    return ", ".join(said[:5])


def bring_state(bring: Bringing, *, terse: bool = False) -> None:
    """Bring the frontier, the ledger, what the target page says, and runs in flight."""
    page = target_page(bring)
    best = frontier_of(bring, page)
    baseline = next((p for p in reversed(bring.runs) if bring.view.standing(p).verdict == Verdict.BASELINE), "")
    home = best.facts.path if best else baseline or (bring.runs[-1] if bring.runs else "")
    if home:
        bring.page("state", home, "frontier" if best else "baseline" if baseline else "last run", closely=False)
        first = bring.facts(baseline) if baseline and not best else None
        stands = f"; baseline {measured_of(first)}" if first and measured_of(first) else ""
        bring.words("state", home, "", why="ledger", text=ledger_of(bring, best) + stands)
    said = fields_of(page) if page else ""
    if page and said:
        bring.words("state", page.path, "", why="target", text=said[: 240 if terse else 700])
    for facts in [f for f in map(bring.facts, bring.runs[-12:]) if f and f.running][-3:]:
        bring.words("state", facts.path, "", why="in flight", text=f"{facts.title}: {facts.hypothesis}"[:160])
