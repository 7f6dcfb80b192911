"""Entries of a text: which of its repeating units are runs, and what each says of one.

A kind of unit is one of runs where most of its units say how they came out, or give a figure under a label. Sentences are no runs.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from logging import getLevelNamesMapping
from pathlib import Path

from kb.formats.markup import pages_of
from kb.formats.outline import (
    BOLD_LEVEL,
    CLAUSES,
    DASHES,
    DAY,
    DECIDED,
    ITEM_LEVEL,
    LONGEST,
    Outline,
    TextUnit,
    closing,
    day_of,
    part_of,
    spoken_in,
    status_in,
)
from kb.formats.reading import moment, quantity_of
from kb.run.direction import direction_of
from kb.run.record import Outcome
from kb.run.status import MARKS, NOT_BEGUN, is_status, outcome_of, status_words
from kb.schema import FIELD_NAMES, Verdict, canonical_verdict, label_kind
from kb.text.numbers import numbers_in

_ARROWS = re.compile(r"\s*(?:→|->|=>)\s*")
BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_FIELD = re.compile(
    r"[\s>*+-]*([^\W\d_][\w'/@. -]{0,30}?)(?:\s{0,3}\([^)]*\))?\s{0,3}\**\s{0,3}[:：.]\**\s+(.*)$"
)
_STAMP = re.compile(r"\W*\d{1,2}:\d{2}\b")
# Levels of the lines of a program's log, bare or in brackets.
_LEVELS = {
    f"{a}{n}{b}" for n in getLevelNamesMapping() for a in ("", "[") for b in ("", "]", ":", "]:")
}
ORNAMENTS = " ★⭐✅❌✔✗*"


@dataclass(slots=True)
class TextEntry:
    """One run of a text and what it says, by part; `fields` are its lines `name: value`, `other` those of no part, `spoken` the figures of its sentences."""

    unit: TextUnit
    decision: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    spoken: list[tuple[str, str, str]] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    continued: str = ""

    def say(self, key: str, text: str) -> None:
        """Add text to a part, or to what belongs to none."""
        if not key:
            self.other.append(text.strip())
        elif len(self.parts.get(key, "")) < LONGEST:
            self.parts[key] = f"{self.parts.get(key, '')} {text.strip()}".strip()

    @property
    def pieces(self) -> list[str]:
        """The parts of its title: between dashes and behind colons, without settings in braces."""
        title = BRACKETS.sub(lambda m: m[0] * (m[0][0] != "{"), self.unit.title)
        return [x for p in DASHES.split(title) for x in p.split(": ")]

    @property
    def declared(self) -> str:
        """The status that its title or a line `Verdict: KEPT` states."""
        texts = [m[1] for m in BRACKETS.finditer(self.unit.title)]
        # `[crash SIGILL on the runner]`: the last bracket of a title says it by its first word.
        texts += texts[-1].split()[:1] if self.unit.title.endswith("]") and texts else []
        texts += [_ARROWS.split(BRACKETS.sub("", p))[-1] for p in self.pieces]
        # `unroll 4: 110 ms kept`, `loss=2.31 accepted [seed 3]`, `loss=nan crashed`.
        last = BRACKETS.sub("", self.pieces[-1][:LONGEST]).rstrip()
        numbers = [n.end for n in numbers_in(last)] or [last.rfind(" ")] * ("=" in last)
        texts += [last[end:].strip() for end in numbers[-1:]]
        words = [word for text in texts if (word := status_in(text))]
        words += [mark for mark in MARKS if mark in self.unit.title]
        decided = [w for w in words if outcome_of(w) is not Outcome.OTHER]
        return next(filter(None, [*decided[-1:], self.decision, self.unit.mark, *words]), "")

    @property
    def status(self) -> str:
        """What was decided, as written: declared, else by the sentence that it closes with, else by the heading above."""
        title = [*self.pieces[1:], *CLAUSES.split(self.unit.title, maxsplit=1)[1:]]
        status = self.declared or closing([*title, *self.other, *self.parts.values()])
        above = outcome_of(self.unit.section) is not Outcome.OTHER or not status
        return self.unit.section if outcome_of(status) is Outcome.OTHER and above else status

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.status)

    @property
    def day(self) -> str:
        """The day that it says, else that of a heading above."""
        return day_of(f"{self.parts.get('when', '')} {self.unit.title}") or self.unit.day


def entry_of(unit: TextUnit, runs: set[int]) -> TextEntry:
    """What a unit says, with what the units below it say that are no runs themselves."""
    entry = TextEntry(unit)
    for clause in CLAUSES.split(unit.title, maxsplit=1)[1:]:
        entry.spoken += spoken_in(clause)
    _gather(entry, unit, runs, "")
    if unit.level == ITEM_LEVEL and not entry.spoken:
        # What was tried and its figure may be one clause: the last with a unit, else one by the word before it.
        clause = CLAUSES.split(unit.title, maxsplit=1)[0][:LONGEST]
        last = [
            n for n in [*numbers_in(clause)][-1:] if n.unit and not (n.about or n.bound or n.high)
        ]
        entry.spoken += [("", clause[n.start : n.end].strip(), n.unit) for n in last] or [
            (name.rpartition(" ")[2], *rest) for name, *rest in spoken_in(clause)
        ]
    return entry


def _gather(entry: TextEntry, unit: TextUnit, runs: set[int], part: str) -> None:
    """Read the lines below a unit into an entry, those below a heading of their own into the part that it names."""
    for piece in unit.below:
        if isinstance(piece, str):
            _add(entry, piece, part)
        elif id(piece) not in runs and piece.level >= BOLD_LEVEL:
            _add(entry, piece.text, part)
            _gather(entry, piece, runs, part)
        elif id(piece) not in runs:
            _decide(entry, piece.text)
            entry.continued = ""
            _gather(entry, piece, runs, part_of(piece.text))


def _decide(entry: TextEntry, text: str) -> bool:
    """Read a line such as `Verdict: KEEP - it fits`; whether it was one."""
    named = re.match(
        r"[\s>*+-]*([^\W\d_](?:[\w-]{1,24}(?=:\s)|[\w ]{1,24}?))[\s*_]{0,4}(?:[:：—–-]|$|(?=✅|❌|\*\*))[\W_]{0,6}(.*)",
        text[:LONGEST],
    )
    # A trailer says whose it is before its own word: `Bench-Result: keep`.
    label = named[1].strip().lower().rpartition("-")[2] if named else ""
    kind = FIELD_NAMES.get(label, label)
    if (
        not named
        or label_kind(label) != "outcome"
        and kind not in ("status", "verdict", "decision", "action")
    ):
        return False
    status = named[2].strip("* ")
    opening = re.split(r"[.;:,!—–→]|\s-\s", status, maxsplit=1)[0].strip("* ")
    word = status_in(status) or (opening if is_status(opening) else "")
    if not word or kind in ("result", "results") and outcome_of(word) is Outcome.OTHER:
        return False
    # `Outcome: REGRESSION`, then `Status: DO NOT USE`: what was done goes before what was seen.
    decisions = filter(None, (entry.decision, word))
    entry.decision = min(decisions, key=lambda w: outcome_of(w) is Outcome.OTHER)
    entry.say("reason", status.removeprefix(word).lstrip("*.:;,-—– ✅❌"))
    return True


def _add(entry: TextEntry, text: str, part: str) -> None:
    """Put one line where it belongs: the part or the figure that it names, else the part that it stands in."""
    named = _FIELD.match(text[:LONGEST])
    key = part_of(named[1]) if named else ""
    if key == "when" and quantity_of(named[2]) and not moment(named[2].strip("* ")):
        # `Time: 9.1 ms` is measured.
        key = ""
    name, value = (named[1].strip(), named[2].strip("* ")) if named else ("", "")
    if name and not key:
        entry.fields.setdefault(name, value)
    item = text.startswith(("- ", "* ", "+ "))
    before, entry.continued = "" if item or named else entry.continued, key
    if _decide(entry, text):
        return
    # `12.3 ms (was 12.9), that is noise`: a remark stands behind the comma.
    figure = value.partition(", ")[0]
    if key:
        entry.say(key, value)
        entry.spoken[:0] = spoken_in(value)
    elif quantity_of(figure) and not re.search(r"[.;]\s", value):
        entry.figures.setdefault(name, figure)
    else:
        entry.spoken += spoken_in(text)
        entry.say(before or part, text[2:] if item else text)
        entry.continued = before


def _lines_of(entries: list[TextEntry]) -> list[TextEntry]:
    """Which items of a list that is the whole text are runs: in a diary, a stamped line a run, most say how they came out or give one figure."""
    texts = [e.unit.line.text for e in entries]
    if 2 * sum(bool(_LEVELS.intersection(x[:80].split())) for x in texts) > len(entries):
        return []
    stamped = sum(bool(_STAMP.match(x) or DAY.search(x[:20])) for x in texts)
    figures = with_spoken(entries)
    times = Counter(n for f in figures for n in f if n != "value")
    # What a program prints says the same of every step.
    words = {"".join(c for c in e.unit.title if c.isalpha()) for e in entries}
    alike = min(stamped, max(times.values(), default=0)) if 2 * len(words) > len(entries) else 0
    runs = [e for e, f in zip(entries, figures, strict=True) if e.status or e.spoken or f]
    measured = 2 * len([*filter(None, figures)]) >= len(entries)
    most = max(alike, measured * sum(bool(e.status) for e in entries))
    return runs if 2 * most > len(entries) > 2 else []


def _runs_among(
    kind: str, entries: list[TextEntry], accepted: Sequence[TextUnit]
) -> list[TextEntry]:
    """Which units of one kind are runs: what is called one; what stands below a word of its own, where most say how they came out; items
    of a list below a status alone, or of which most were decided; other headings where most are, else those that were: beside runs that are
    numbered by what a heading says itself.
    """
    decided = [e for e in entries if e.outcome is not Outcome.OTHER]
    stated = [e for e in entries if e.status]
    match kind.partition(" ")[0]:
        case "run":
            return entries
        case "list":
            under = all(e.unit.section for e in entries)
            if not decided or not under and not len(decided) * 2 >= len(entries) > 1:
                return []
            runs = [e for e in entries if e.status or any(map(str.isdigit, e.unit.title))]
            labelled = [e for e in runs if e.unit.label]
            return labelled if 2 * len(labelled) >= len(runs) else runs
        case "" | "day":
            if kind[0] == " " and any(u.label for u in accepted):
                own = [e for e in entries if outcome_of(e.declared or e.unit.section) in DECIDED]
                names = {n for u in accepted for n in entry_of(u, set()).figures}
                base = [e for e in entries if canonical_verdict(e.unit.title) is Verdict.BASELINE]
                return [e for e in base if names & {*e.figures}] + own * (len(own) > 1)
            if len(decided) * 2 >= len(entries) > 2:
                return stated
            runs = [e for e in entries if e.outcome in DECIDED or e.unit.day and e.declared]
            return runs if len(runs) > 1 else []
    return entries if 2 * len(stated) >= len(entries) else []


def entries_of(path: Path) -> tuple[list[TextEntry], str]:
    """The units of a text that are runs, with what stands below them, one entry a label; and the text above the first."""
    outline = Outline(*pages_of(path))
    units = _without_parts([u for u in outline.units_of() if u.level > 1])
    runs: set[int] = set()
    accepted: list[TextUnit] = []
    for kind in dict.fromkeys(u.kind for u in sorted(units, key=lambda u: (-u.level, not u.label))):
        alike = [entry_of(u, runs) for u in units if u.kind == kind]
        begun = [e for e in alike if status_words(e.status) not in NOT_BEGUN]
        is_diary = len(alike) == len(units) and kind.startswith("list")
        accepted += [
            e.unit for e in (_lines_of(begun) if is_diary else _runs_among(kind, begun, accepted))
        ]
        runs = {id(u) for u in accepted}
    entries = _of_one_trail([entry_of(u, runs) for u in accepted])
    first = entries[0].unit.line.number if entries else 0
    return entries, " ".join(text for line, text in outline.prose if line < first)


def _without_parts(units: list[TextUnit]) -> list[TextUnit]:
    """Units that are no parts of a run: what every run has stands once below each of them."""
    times = Counter((id(u.above), _name_of(u)) for u in units)
    below = Counter(name for _, name in times)
    parts = {name for name, n in below.items() if n > 1} - {x[1] for x, n in times.items() if n > 1}
    return [u for u in units if not _is_part(u, recurs=_name_of(u) in parts)]


def _name_of(unit: TextUnit) -> str:
    """What a unit is called beside its number: an item by the field that it states."""
    named = _FIELD.match(unit.text[:LONGEST])
    return unit.title if unit.level < ITEM_LEVEL else named[1] if named else ""


def _is_part(unit: TextUnit, *, recurs: bool) -> bool:
    """Whether a unit is no run: it names a part of one, as every run has it, or states only a status."""
    name = _name_of(unit)
    part = part_of(name) or name and recurs and outcome_of(name) is Outcome.OTHER
    return not unit.label and bool(part or unit.section != unit.above.section)


def _of_one_trail(entries: list[TextEntry]) -> list[TextEntry]:
    """Entries in the order of the text, without lists that tell one thing alone and commits that tell nothing."""
    listed = [e for e in entries if e.unit.level == ITEM_LEVEL]
    sides = {s: {e.outcome for e in listed if bool(e.unit.section) is s} for s in (True, False)}
    whole = {s for s, outcomes in sides.items() if len(outcomes - {Outcome.OTHER}) > 1}
    reports = [e for e in entries if not e.unit.code or e.status or figures_of(e)]
    chosen = [e for e in reports if e.unit.level != ITEM_LEVEL or bool(e.unit.section) in whole]
    return sorted(chosen or reports, key=lambda e: e.unit.line.number)


def figures_of(entry: TextEntry) -> dict[str, str]:
    """Figures by name: those of the title behind a dash or colon and beside a status in brackets, then what the lines and the result say."""
    title, listed = entry.unit.title, entry.unit.level == ITEM_LEVEL
    figures: dict[str, str] = {}
    brackets = [(m[1], status_in(m[1])) for m in BRACKETS.finditer(title)]
    inner = [b.removeprefix(w).split(",")[0] for b, w in brackets if w or listed]
    first, *rest = [BRACKETS.sub("", p) for p in entry.pieces]
    for part in [first * bool(quantity_of(first)), *rest, *inner]:
        for name, value, unit in spoken_in(part.strip(ORNAMENTS)):
            figures.setdefault(name or (f"result ({unit})" if unit else "value"), value)
    return entry.figures | figures


def with_spoken(entries: Sequence[TextEntry]) -> list[dict[str, str]]:
    """Figures of all entries; those of sentences under a name that most of them say; where they have none, of the unit that most of them say."""
    named = Counter(name for e in entries for name in {s[0].lower() for s in e.spoken} if name)
    speak = sum(bool(e.spoken) for e in entries)
    common = {name for name in named if 2 * named[name] > speak}
    units = Counter(unit for e in entries for unit in dict.fromkeys(s[2] for s in e.spoken) if unit)
    # A share (`33 % less`) says how a figure changed.
    unit = max(units, key=lambda u: (units[u], u != "%"), default="")
    figures = []
    for entry in entries:
        mine = {}
        for name, value, own in entry.spoken:
            if name.lower() in common or direction_of(name) and len(name.split()) < 3:
                mine.setdefault(name, value)
            elif own == unit and own and not any(map(direction_of, common)):
                mine.setdefault(f"result ({unit})", value)
        figures.append(mine | figures_of(entry))
    return figures
