"""Where a target stands: its page, its frontier, its ledger in one line, runs in flight. Refuses prose: figures and verdicts only."""

import re
from collections import Counter

from kb import trail
from kb.page import Page, from_row
from kb.run.direction import direction_of
from kb.schema import FAILED, Verdict
from kb.slices.bringing import Bringing

# Runs among which the frontier is looked for by its metric; older wins have been built upon since.
_LAST_WINS = 40

# What a loop must know of its target, as front-matter fields; in this order as far as they are there.
_FIELDS = ("metric", "tracked", "noise", "hardware", "hardwares", "variants", "benchmark", "checks", "profile", "repository", "base", "protected", "allowed")


def target_page(bring: Bringing) -> Page | None:
    """The page of the target: the one of that name, else the one all of whose name stands in the target's name."""
    if not bring.target:
        return None
    wanted = set(re.findall(r"[a-z0-9]+", bring.target.lower()))
    found = []
    for path, digest, row in bring.view.db.execute("select p.path, p.digest, p.row from standing s join page p on p.path = s.path where s.type = 'target'"):
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
            text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            said.append(f"{name}: {text}")
    return "; ".join(said)


def metric_of(page: Page | None, wins: list[trail.Facts]) -> tuple[str, str]:
    """(name, direction) of the metric that decides: what the target page says, else the one that most wins report and whose name says a direction."""
    said = page.front.get("metric") if page else None
    if isinstance(said, dict) and said.get("name"):
        return str(said["name"]), str(said.get("direction") or direction_of(str(said["name"])) or "")
    if isinstance(said, str) and said:
        return said, direction_of(said) or ""
    names = Counter(m.name for e in wins for m in e.metrics if m.value is not None and m.direction == "higher")
    return (min(names, key=lambda n: (-names[n], n)), "higher") if names else ("", "")


def frontier_of(bring: Bringing, page: Page | None) -> trail.Facts | None:
    """The best supported run of the target (of its variant, where that has one) by the metric that decides; without figures the last kept one."""
    paths = [p for p in bring.runs if bring.view.standing(p).verdict == Verdict.SUPPORTED][-_LAST_WINS:]
    wins = [f for f in map(bring.facts, paths) if f]
    wins = [f for f in wins if bring.variant and f.variant == bring.variant] or wins
    if not wins:
        return None
    name, direction = metric_of(page, wins)
    measured = [(m.value, i) for i, f in enumerate(wins) if (m := f.metric(name)) and m.value is not None] if direction else []
    # Where few wins report the metric, the best of them says less than the last one, which stands on all before it.
    if len(measured) * 2 > len(wins):
        return wins[(max(measured) if direction == "higher" else min(measured, key=lambda v: (v[0], -v[1])))[1]]
    return wins[-1]


def ledger_of(bring: Bringing) -> str:
    """The runs of a target in one line: how many, by verdict, and how long ago the last win was."""
    verdicts = [bring.view.standing(p).verdict for p in bring.runs]
    counts = Counter(verdicts)
    said = ", ".join(f"{counts[v]} {v}" for v in Verdict if counts[v])
    since = next((i for i, v in enumerate(reversed(verdicts)) if v == Verdict.SUPPORTED), None)
    last = f"; {since} runs since the last supported one" if since else "" if since == 0 else "; none supported yet"
    failures = next((i for i, v in enumerate(reversed(verdicts)) if v not in FAILED), len(verdicts))
    return f"{len(verdicts)} runs: {said or 'no verdicts'}{last}" + (f"; the last {failures} failed" if failures > 1 else "")


def measured_of(facts: trail.Facts) -> str:
    """Figures of a run in one line, with their spread where it is known."""
    said = [f"{m.name} {m.value:g}{f' ± {m.stddev:g}' if m.stddev is not None else ''} {m.unit if m.unit != m.name else ''}".rstrip()
            for m in facts.metrics if m.value is not None]
    return ", ".join(said[:5])


def bring_state(bring: Bringing, *, terse: bool = False) -> trail.Facts | None:
    """Bring the frontier, the ledger, what the target page says, and runs in flight; the frontier is returned."""
    page = target_page(bring)
    best = frontier_of(bring, page)
    home = best.path if best else bring.runs[-1] if bring.runs else ""
    if home:
        bring.page("state", home, "frontier" if best else "last run", closely=False)
    if home:
        figures = measured_of(best) if best else ""
        bring.words("state", home, "", why="ledger", text=ledger_of(bring) + (f". Frontier: {figures}" if figures else ""))
    said = fields_of(page) if page else ""
    if page and said:
        bring.words("state", page.path, "", why="target", text=said[: 240 if terse else 700])
    running = [f for f in map(bring.facts, bring.runs[-12:]) if f and f.running]
    for facts in running[-3:]:
        bring.words("state", facts.path, "", why="in flight", text=f"{facts.title}: {facts.hypothesis}"[:160])
    return best
