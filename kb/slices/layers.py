"""The layers of a hypothesis slice beside pages: gate, leads, retrospective, topics, blueprint, envelope, untried. Each keeps to its share of the budget."""

import json
import re

from kb import search
from kb.schema import Verdict
from kb.search.gist import clean
from kb.slices.bringing import Bringing
from kb.slices.topics import TopicRow, Tried
from kb.trail.line import words_of

_DIRECTIONS = re.compile(
    r"next|direction|recommend|avoid|anti|do ?n.t|did ?n.t|lesson|stop doing|takeaway|learn|to change", re.IGNORECASE
)
# So many letters of a word tell it: "rematerialization" is pulled by `use_remat`.
_STEM = 5


def bring_matches(bring: Bringing, *, most: int) -> None:
    """Cards that the question meets, as `kb check` finds them."""
    for match in [m for m in bring.asked.matches if m.path not in bring.filling.paths][:most]:
        lever = f" {match.lever}" if match.lever and match.kind != "similar" else ""
        bring.page("refuted", match.path, f"{match.kind}{lever}"[:40], closely=False)


def bring_leads(bring: Bringing, *, most: int, tokens: int) -> None:
    """Ideas that recent runs left for the next, not tried since: nearest to the question first, then newest."""
    runs = [f for f in map(bring.facts, bring.runs[-16:]) if f]
    found: list[tuple[float, int, str, str, str]] = []
    said: set[str] = set()
    for age, facts in enumerate(reversed(runs)):
        later = [set(search.terms_of(f.title)) for f in runs[len(runs) - age :]]
        place = facts.place("next")
        for idea in facts.next_ideas[:6]:
            words = set(search.terms_of(idea[:160]))
            if (
                len(words) < 3
                or idea[:40] in said
                or bring.view.is_masked(facts.path, idea)
                or any(len(t & words) >= 0.6 * len(t) for t in later if len(t) > 2)
            ):
                continue
            said.add(idea[:40])
            found.append(
                (
                    round(bring.asked.says(idea) + 0.15 / (1 + age), 4),
                    -age,
                    facts.path,
                    place.anchor if place else "",
                    _short(idea, 170),
                )
            )
    ceiling = bring.filling.tokens + tokens
    for _, _, path, anchor, idea in sorted(found, key=lambda f: (-f[0], -f[1], f[2:]))[:most]:
        bring.words("leads", path, anchor, why="open idea", text=idea, most=ceiling)


def bring_retrospective(bring: Bringing, *, most: int, tokens: int) -> None:
    """Directions and anti-recommendations of the newest analysis that cites runs of the target; a retrospective by name before any other."""
    if not bring.runs:
        return
    rows = bring.view.db.execute(
        "select n.cited_by from json_each(?) j join neighbours n on n.path = j.value", (json.dumps(bring.runs),)
    )
    citing: dict[str, int] = {}
    for (cited_by,) in rows:
        for path in json.loads(cited_by):
            citing[path] = citing.get(path, 0) + 1
    bring.view.look_up(citing)
    pages = [p for p in (bring.view.standing(path) for path in citing if bring.view.sees(path)) if p.type == "analysis"]
    if not pages:
        return
    newest = max(pages, key=lambda p: ("retro" in p.path.rsplit("/", 1)[-1], p.date, citing[p.path], p.path))
    chunks = [c for c in search.chunks_in(bring.view.db, newest.path) if _DIRECTIONS.search(c.title)]
    ceiling = bring.filling.tokens + tokens
    for chunk in (chunks or search.chunks_in(bring.view.db, newest.path)[:1])[:most]:
        seen = bring.view.masked(chunk)
        text = _short(clean(seen.text), 300 if tokens < 300 else 420) if seen else ""
        if text and not bring.filling.says(text):
            bring.words(
                "retrospective",
                newest.path,
                chunk.anchor,
                why=_short(chunk.title.rpartition(" > ")[2], 40) or "newest",
                text=text,
                most=ceiling,
            )


def bring_topics(bring: Bringing, *, most: int, tokens: int, any_topic: bool = False) -> None:
    """Rows of the hypothesis index: what was tried under a topic, here and elsewhere, and the best that was reported.

    `any_topic`: where the question touches none, those that were tried most.
    """
    ceiling = bring.filling.tokens + tokens
    everywhere = {row.anchor: row for _, rows in bring.asked.ladder for row in rows if row.tried} if any_topic else {}
    touched = bring.asked.topics or sorted(everywhere.values(), key=lambda row: (-len(row.tried), row.anchor))
    for row in touched[:most]:
        here = sum(t.target == bring.target for t in row.tried) if bring.target else 0
        counts = f"tried {len(row.tried)}{f', {here} here' if bring.target else ''}; {len(row.supported())} supported, {row.failed()} failed"
        best = _best(row)
        bring.words(
            "topics",
            "indexes/hypothesis.md",
            row.anchor,
            why="touched" if bring.asked.topics else "tried most",
            most=ceiling,
            text=f"{row.name}: {counts}" + (f"; best {best.change} {_short(best.title, 80)}" if best and bring.target else ""),
        )


def bring_blueprint(bring: Bringing, *, tokens: int, first: bool = False) -> None:
    """The ladder: per phase what this target tried and won, whether it is saturated, and the first phase that is not (or the `first` of all) in full."""
    lines, full = [], ""
    for phase, topics in bring.asked.ladder:
        if not any(t.tried for t in topics):
            continue
        here = {t.path: t.verdict for row in topics for t in row.tried if not bring.target or t.target == bring.target}
        untouched = [row for row in topics if row.tried and not any(t.path in here for t in row.tried)]
        won = sum(v == Verdict.SUPPORTED for v in here.values())
        lines.append(
            f"Phase {phase} ({_short(', '.join(t.name for t in topics), 50)}): {len(here)} tried, {won} supported"
            + (", saturated" if here and not untouched else f", {len(untouched)} topic{'s' * (len(untouched) != 1)} open")
        )
        if not full and (untouched or first):
            full = f"{'Start with' if first else 'Current:'} phase {phase}. " + "; ".join(
                _ladder_row(row) for row in topics if row.tried
            )
    ceiling = bring.filling.tokens + tokens
    if lines and not (
        full and bring.words("blueprint", "indexes/blueprint.md", "", why="ladder", text="\n".join([*lines, full]), most=ceiling)
    ):
        bring.words("blueprint", "indexes/blueprint.md", "", why="ladder", text="\n".join(lines), most=ceiling)


def _ladder_row(row: TopicRow) -> str:
    best = _best(row)
    return f"{_short(row.name, 40)} {len(row.supported())}/{len(row.tried)} supported" + (
        f", best {best.change}" if best and best.change else ""
    )


def bring_untried(bring: Bringing, *, most: int) -> None:
    """What no run of the target pulled: a topic that paid elsewhere and that no run's title or setting names, and concepts that no run cites."""
    if not bring.target:
        return
    everywhere = [row for _, rows in bring.asked.ladder for row in rows]
    pulled = {w[:_STEM] for f in bring.asked.tried for w in words_of(f"{f.title} {' '.join(v.name for v in f.settings)}")}
    brought = 0
    for row in {r.anchor: r for r in (*bring.asked.topics, *everywhere)}.values():
        best = _best(row)
        named = {w[:_STEM] for w in words_of(row.name)} & pulled
        if brought < (most + 1) // 2 and best and not named and not any(t.target == bring.target for t in row.tried):
            text = f"{row.name}: no run here; elsewhere {len(row.supported())} of {len(row.tried)} supported, such as {best.change} {_short(best.title, 90)}"
            brought += bring.words("untried", best.path, "", why="untried here", text=text)
    rows = bring.view.db.execute(
        "select n.cites from json_each(?) j join neighbours n on n.path = j.value", (json.dumps(list(bring.runs)),)
    )
    cited = {path for (cites,) in rows for path in json.loads(cites)}
    for page in bring.asked.pages:
        if brought < most and page.type == "concept" and page.path not in cited and page.path not in bring.filling.full:
            brought += bring.page("untried", page.path, "no run cites it", closely=False)


def _best(row: TopicRow) -> Tried | None:
    wins = [t for t in row.supported() if t.size and t.size > 0]
    return max(wins, key=lambda t: (t.size or 0.0, t.path)) if wins else None


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"
