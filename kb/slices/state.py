"""The state of a target as items of a slice: lines packed into few items, each part within its share. Refuses prose of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kb.slices.hardware import machines_of, names
from kb.slices.open_slice import OpenSlice
from kb.slices.slice import PROPOSAL
from kb.slices.tokens import tokens_of
from kb.text import cut, words_of
from kb.trail import name_of
from kb.trail.handles import handle
from kb.trail.line import Line
from kb.trail.state import STATE_PARTS

# An item is read as one statement, table or section of at most so many characters.
_LONGEST = 1150

# A list by weight is told in so many lines at least, as far as each keeps so many characters; so many are a token.
_LEAST, _SHORTEST, _CHARACTERS = 6, 200, 3

# What stands at the frontier is told in a state of so many tokens; a larger one tells more of what to try.
_ENOUGH = 4200
# Of the pages that answer the question, so many are near enough for what their claims contradict.
_NEAR = 40


def bring_state(into: OpenSlice, *, tokens: int) -> None:
    """Bring the state of the target in about so many tokens: what its page says, then every part of the state, then runs in flight."""
    question, start = into.question, into.tokens
    bring_target(into, most=max(240, tokens // 3), ceiling=start + tokens // 6)
    if not into.runs:
        return
    allowed = 0.0
    for part in STATE_PARTS:
        allowed += part.share * (min(tokens, _ENOUGH) if part.slice == "state" else tokens)
        lines = question.state.parts[part.name]
        if part.name == "disputed":
            lines = (*disputes_of(into), *lines)
        elif part.name == "recent":
            lines = _once(into, lines)
        most = start + int(allowed)
        if part.ranked:
            longest = max(_SHORTEST, _CHARACTERS * (most - into.tokens) // _LEAST)
            lines = [replace(line, text=cut(line.text, longest)) for line in lines]
        bring_lines(into, part.slice, part.why, lines, most=most)
        for idea in question.ideas if part.name == "leads" else ():
            home = f"sources/{idea.source}/meta.json"
            into.words(part.slice, home, "", why="captured idea", text=idea.to_lead())
    bring_running(into)


def bring_running(into: OpenSlice) -> None:
    """Runs in flight."""
    for facts in [f for f in into.question.earlier[-12:] if f.running][-3:]:
        text = f"{facts.title}: {facts.hypothesis}"[:160]
        into.words("state", facts.path, "", why="in flight", text=text)
        into.full.add(facts.path)


def bring_target(into: OpenSlice, *, most: int = 900, ceiling: int | None = None) -> None:
    """What the target's page says a loop must know."""
    if fields := into.question.fields[:most]:
        path = into.question.page.path
        into.words("state", path, "", why="target", text=fields, most=ceiling)


def bring_proposal(into: OpenSlice, *labels: str) -> None:
    """Some of what the proposal says: `hypothesis`, `mechanism`, `predicted_signal`, `falsification`, `setup`."""
    for label in labels if into.question.proposed else ():
        if text := " ".join(getattr(into.question.proposed, label).split())[:600]:
            into.words("state", PROPOSAL, "", why=label.replace("_", " "), text=text)


def bring_lines(
    into: OpenSlice, part: str, title: str, lines: Sequence[Line], *, most: int
) -> None:
    """Bring lines of the state, whole, as far as the slice so far stays within `most`; they stand on the target's page of states."""
    left = most - into.tokens
    packed: list[str] = []
    head = ""
    for at, line in enumerate(lines):
        # What heads several lines is told once.
        own = line.text.removeprefix(line.head)
        text = own if line.head == head else line.text
        cost = tokens_of(text + "\n")
        again = own in into.lines or into.says(line.text)
        if again or (cost > left and packed and (title != "frontier" or at > 1)):
            continue
        into.lines.add(own)
        left -= cost
        if not packed or len(packed[-1]) + len(text) >= _LONGEST:
            packed.append(line.text)
        else:
            packed[-1] += f"\n{text}" if text == line.text else f" | {text}"
        head = line.head
    for text in packed:
        home = f"indexes/state/{name_of(into.target, (into.target,))}.md"
        into.words(part, home, title, why=title, text=text)


def _once(into: OpenSlice, lines: Sequence[Line]) -> Sequence[Line]:
    """The last run that ended, and those before it that the levers which failed have not told already."""
    running = {f.path for f in into.question.earlier if f.running}
    lines = [line for line in lines if line.path not in running]
    failed = "\n".join(i.text for i in into.parts.get("refuted", ()))
    untold = (line for line in lines[1:] if into.named(f"{handle(line.path)} ") not in failed)
    return (*lines[:1], *untold)


def disputes_of(into: OpenSlice) -> Iterator[Line]:
    """Quantities of claims on file that contradict each other and that the question, the target's machine, its name or its runs' pages
    have to do with. Without a target the question must name them: of a small wiki every page is near it.
    """
    question = into.question
    if not question.claims:
        return
    from kb.claims import conflicts

    machines, own = machines_of(question), {*words_of(f"{into.target} {question.text}")}
    near = {*into.runs, *(p.path for p in question.pages[:_NEAR] if into.runs or into.target)}
    for conflict in conflicts(question.claims):
        both = (conflict.first, conflict.second)
        q, pages = both[0].quantity, {c.page for c in both}
        if pages & near or names(machines, q.subject) or own >= set(words_of(q.subject)):
            condition = f" ({q.condition})" if q.condition else ""
            sides = ", but ".join(
                f"{c.quantity.value:,.10g} {c.quantity.unit} by {c.source} ({handle(c.page)})"
                for c in both
            )
            yield Line(f"{q.subject} {q.quantity}{condition}: {sides}", both[0].page)
