"""The state of a target as items of a slice: lines packed into few items, each part within its share. Refuses prose of its own."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kb.schema import FAILED, Verdict
from kb.slices.bringing import Bringing
from kb.slices.hardware import machines_of, names
from kb.slices.targets import fields_of
from kb.slices.tokens import tokens_of
from kb.text import words_of
from kb.trail.handles import handle
from kb.trail.line import Line

# An item is read as one statement, table or section of at most so many characters.
_LONGEST = 1150

# Part of a slice, part of the state, share of what the state may cost. What one leaves over the next may use.
_PARTS = (
    ("state", "standing", 0.07),
    ("state", "config", 0.19),
    ("state", "profile", 0.13),
    ("state", "memory", 0.07),
    ("refuted", "dead", 0.19),
    ("recent", "recent", 0.07),
    ("transfers", "transfers", 0.15),
    ("leads", "leads", 0.10),
    ("disputed", "disputed", 0.03),
)

# Of the pages that answer the question, so many are near enough for what their claims contradict.
_NEAR = 40
# In a slice this small the last run is told by one card.
_SMALL = 3000
# What a reader of a slice knows some parts by.
_TITLES = {"standing": "frontier", "config": "configuration", "profile": "buckets"}


def bring_state(bring: Bringing, *, tokens: int) -> None:
    """Bring the state of the target in about so many tokens: what its page says, then every part of the state, then runs in flight."""
    page = bring.asked.page
    fields = fields_of(page) if page else ""
    start = bring.filling.tokens
    if page and fields:
        bring.words("state", page.path, "", why="target", text=fields[: max(240, tokens // 3)], most=start + tokens // 6)
    if not bring.runs:
        return
    state = bring.asked.state
    small = bring.filling.budget < _SMALL
    if small:
        bring.page("recent", bring.runs[-1], "last run", closely=False)
    allowed = 0.0
    for part, name, share in _PARTS:
        if small and part == "recent":
            continue
        allowed += share * tokens
        lines = getattr(state, name)
        if name == "disputed":
            lines = (*conflict_lines(bring), *lines)
        elif name == "recent":
            lines = tuple(_once(bring, lines))
        bring_lines(bring, part, name, lines, most=start + int(allowed))
    for facts in [f for f in bring.asked.tried[-12:] if f.running][-3:]:
        bring.words("state", facts.path, "", why="in flight", text=f"{facts.title}: {facts.hypothesis}"[:160])


def bring_lines(bring: Bringing, part: str, name: str, lines: Sequence[Line], *, most: int) -> None:
    """Bring lines of the state, whole, as far as the slice so far stays within `most`; they stand on the target's page of states."""
    home = f"indexes/state/{bring.target}.md"
    left = most - bring.filling.tokens
    own: list[str] = []
    for line in lines:
        cost = tokens_of(line.text + "\n")
        if cost > left and own and name != "standing":
            continue
        own.append(line.text)
        left -= cost
    for text in _packed(own):
        bring.words(part, home, _TITLES.get(name, name), why=_TITLES.get(name, name), text=text)


def _once(bring: Bringing, lines: Sequence[Line]) -> Iterator[Line]:
    """The last runs by name, newest first, then the lines of those that the levers which failed have not told already."""
    told = "\n".join(i.text for i in bring.filling.parts.get("refuted", ()))
    repeated = [line for line in lines if f"{handle(line.path)} " in told]
    if repeated:
        named = (f"{handle(line.path)} {bring.view.standing(line.path).verdict or 'open'}" for line in lines)
        yield Line(f"newest first: {', '.join(named)}", lines[0].path)
    yield from (line for line in lines if line not in repeated)


def conflict_lines(bring: Bringing) -> Iterator[Line]:
    """Quantities of claims on file that contradict each other and that the target's machine, its name or its runs' pages have to do with."""
    if not bring.asked.claims:
        return
    from kb.claims import conflicts

    machines = machines_of(bring)
    near = {bring.target, *bring.runs, *(p.path for p in bring.asked.pages[:_NEAR])}
    for conflict in conflicts(bring.asked.claims):
        a, b = conflict.first, conflict.second
        if {a.page, b.page} & near or names(machines, a.quantity.subject) or set(words_of(bring.target)) >= set(words_of(a.quantity.subject)):
            condition = f" ({a.quantity.condition})" if a.quantity.condition else ""
            sides = ", but ".join(f"{c.quantity.value:,.10g} {c.quantity.unit} by {c.source} ({handle(c.page)})" for c in (a, b))
            yield Line(f"{a.quantity.subject} {a.quantity.quantity}{condition}: {sides}", a.page)


def _packed(texts: Sequence[str]) -> Iterator[str]:
    held = ""
    for text in texts:
        if held and len(held) + len(text) + 1 > _LONGEST:
            yield held
            held = ""
        held = f"{held}\n{text}" if held else text
    if held:
        yield held


def ledger_of(bring: Bringing) -> str:
    """The runs of a target in one line: how many, by verdict, how long the frontier has stood, and what the last ones came to."""
    verdicts = [bring.view.standing(p).verdict for p in bring.runs]
    counts = Counter(verdicts)
    said = [f"{len(verdicts)} runs: {', '.join(f'{counts[v]} {v}' for v in Verdict if counts[v]) or 'no verdicts'}"]
    if frontiers := bring.asked.state.frontiers:
        from kb.trail.outcomes import measured

        best = frontiers[0]
        noise = f"noise ±{100 * best.band:.1f} %" if best.band is not None else "noise not measured"
        said.append(f"frontier {measured(best.run) or 'without figures'} ({noise})")
        still = len(bring.runs) - 1 - list(bring.runs).index(best.moved) if best.moved in bring.runs else 0
        said.append(f"last moved by 1 % or more {still} runs ago" if still else "moved by the last run")
    failures = next((i for i, v in enumerate(reversed(verdicts)) if v not in FAILED), len(verdicts))
    if failures > 1:
        said.append(f"the last {failures} failed")
    return "; ".join(said)
