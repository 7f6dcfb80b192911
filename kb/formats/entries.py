"""Entries of a text: which of its repeating units are runs, and what each says of one.

A kind of unit is one of runs where most of its units say how they came out, or give a figure under a label. Sentences are no runs.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.formats.clauses import CLAUSES, DECIDED, LONGEST, closing, part_of, spoken_in, status_in
from kb.formats.markup import pages_of
from kb.formats.measuring import quantity_of
from kb.formats.outline import BOLD_LEVEL, DASHES, DAY, ITEM_LEVEL, Outline, TextUnit
from kb.run.direction import direction_of
from kb.run.record import Outcome
from kb.run.status import MARKS, NOT_BEGUN, is_status, outcome_of, status_words
from kb.schema import FIELD_NAMES, label_kind

_ARROWS = re.compile(r"\s*(?:→|->|=>)\s*")
BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_FIELD = re.compile(
    r"[\s>*+-]*([^\W\d_][\w'/@. -]{0,30}?)(?:\s{0,3}\([^)]*\))?\s{0,3}\**\s{0,3}[:：.]\**\s+(.*)$"
)
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

    def say(self, key: str, text: str) -> None:
        """Add text to a part, or to what belongs to none."""
        if not key:
            self.other.append(text.strip())
        elif len(self.parts.get(key, "")) < LONGEST:
            self.parts[key] = f"{self.parts.get(key, '')} {text.strip()}".strip()

    @property
    def pieces(self) -> list[str]:
        """The parts of its title: between dashes, and in a list behind colons."""
        parts = DASHES.split(self.unit.title)
        return parts if self.unit.level < ITEM_LEVEL else [x for p in parts for x in p.split(": ")]

    @property
    def declared(self) -> str:
        """The status that its title or a line `Verdict: KEPT` states."""
        title = self.unit.title
        texts = [m[1] for m in BRACKETS.finditer(title)]
        # `[crash SIGILL on the runner]`: the last bracket of a title says it by its first word.
        ends = texts[-1].split()[:1] if title.endswith("]") and texts else []
        texts += [w for w in ends if outcome_of(w) is not Outcome.OTHER and is_status(w)]
        texts += [_ARROWS.split(BRACKETS.sub("", p))[-1] for p in self.pieces]
        words = [word for text in texts if (word := status_in(text))]
        words += [mark for mark in MARKS if mark in title]
        decided = [w for w in words if outcome_of(w) is not Outcome.OTHER]
        below = [d for d in (self.decision, self.unit.mark) if d] or words
        return (decided or below or [""])[-1 if decided else 0]

    @property
    def status(self) -> str:
        """What was decided, as written: declared, else by the sentence that it closes with, else by the heading above."""
        title = CLAUSES.split(self.unit.title, maxsplit=1)[1:]
        status = self.declared or closing(
            [
                *(p for p in self.pieces[1:] if len(p.split()) < 4),
                *title,
                *self.other,
                *self.parts.values(),
            ]
        )
        open_ = outcome_of(status) is Outcome.OTHER and status_words(status) not in NOT_BEGUN
        above = outcome_of(self.unit.section) is not Outcome.OTHER or not status
        return self.unit.section if open_ and above else status

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.status)

    @property
    def day(self) -> str:
        """The day that it says, else that of a heading above."""
        dated = DAY.search(self.parts.get("when", "")) or DAY.search(self.unit.title)
        return dated[1] if dated else self.unit.day

    @property
    def begun(self) -> bool:
        return self.unit.mark != "todo" and status_words(self.status) not in NOT_BEGUN


def entry_of(unit: TextUnit, runs: set[int]) -> TextEntry:
    """What a unit says, with what the units below it say that are no runs themselves."""
    entry = TextEntry(unit, figures=dict(unit.figures))
    for clause in CLAUSES.split(unit.title, maxsplit=1)[1:]:
        entry.spoken += spoken_in(clause)
    _gather(entry, unit, runs, "", "")
    return entry


def _gather(entry: TextEntry, unit: TextUnit, runs: set[int], part: str, into: str) -> str:
    """Read the lines below a unit into an entry; gives the part that the next line may continue."""
    for piece in unit.below:
        if isinstance(piece, str):
            into = _add(entry, piece, into, part)
        elif id(piece) not in runs:
            inner = part
            if piece.level >= BOLD_LEVEL:
                into = _add(entry, piece.text, "", part)
            elif not _decide(entry, piece.text):
                inner = part_of(piece.text)
            into = _gather(entry, piece, runs, inner, into if piece.level == ITEM_LEVEL else "")
    return into


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
    word = status_in(status) or (opening if len(opening.split()) < 4 and is_status(opening) else "")
    if not word or kind in ("result", "results") and outcome_of(word) is Outcome.OTHER:
        return False
    # `Outcome: REGRESSION`, then `Status: DO NOT USE`: what was done goes before what was seen.
    decisions = filter(None, (entry.decision, word))
    entry.decision = min(decisions, key=lambda w: outcome_of(w) is Outcome.OTHER)
    entry.say("reason", status.removeprefix(word).lstrip("*.:;,-—– ✅❌"))
    return True


def _add(entry: TextEntry, text: str, into: str, part: str) -> str:
    """Put one line where it belongs: a part it names, the part it continues, the part it stands in. Gives the part that the next line may continue."""
    named = _FIELD.match(text[:LONGEST])
    key = part_of(named[1]) if named else ""
    if named and not key:
        entry.fields.setdefault(named[1].strip(), named[2].strip("* "))
    if _decide(entry, text):
        return ""
    # `12.3 ms (was 12.9), that is noise`: a remark stands behind the comma.
    value = named[2].partition(", ")[0].strip() if named else ""
    figure = quantity_of(value) if named and not re.search(r"[.;]\s", named[2]) else None
    # `Time: 48.2 s` is measured; `Time: 14:05` is when.
    if key and not (key == "when" and figure and figure.unit):
        entry.say(key, named[2])
        at = 0 if key == "result" else len(entry.spoken)
        entry.spoken[at:at] = spoken_in(named[2])
        return key
    if figure:
        entry.figures.setdefault(named[1].strip(), value)
        return ""
    for sentence in re.split(r"(?<=[.;!?])\s+(?=[^\W\d_])|(?<=[。；])", text[:LONGEST]):
        _decide(entry, sentence)
    entry.spoken += spoken_in(text)
    item = text.startswith(("- ", "* ", "+ "))
    entry.say(into if into and not named and not item else part, text[2:] if item else text)
    return into if not item else ""


def _has_digit(entry: TextEntry) -> bool:
    return any(map(str.isdigit, entry.unit.title))


def _opening(entry: TextEntry) -> str:
    return entry.unit.title.lower().partition(" ")[0]


def common_figure(entries: Sequence[TextEntry]) -> str:
    """The figure of one name that most of some entries close with; empty where they have none."""
    last = Counter(e.spoken[-1][0] for e in entries if e.spoken)
    name, times = max(last.items(), key=lambda n: n[1], default=("", 0))
    return name if direction_of(name) and 2 * times > len(entries) > 3 else ""


def _without_talk(begun: list[TextEntry], openings: set[str]) -> list[TextEntry]:
    """Where all that came out begin with one word (`tried …`), the others are talk between them."""
    return begun if len(openings) > 1 else [e for e in begun if _opening(e) in openings]


def _of_list(begun: list[TextEntry]) -> list[TextEntry]:
    """Items of a list that are runs: below a status alone, or most say what came out and a figure or two, or close with one of the same name."""
    if common_figure(begun):
        return [e for e in begun if e.status or e.spoken]
    decided = [e for e in begun if e.outcome is not Outcome.OTHER]
    begun = _without_talk(begun, {_opening(e) for e in decided}) if len(decided) > 2 else begun
    under = decided and all(e.unit.section for e in begun)
    figures = sum(map(_has_digit, begun)) * 3 >= len(begun)
    if not under and not (figures and len(decided) * 2 >= len(begun) > 1):
        return []
    return _labelled([e for e in begun if e.status or _has_digit(e)])


def _labelled(begun: list[TextEntry]) -> list[TextEntry]:
    """Of entries of which most have a label those that have one."""
    labelled = [e for e in begun if e.unit.label]
    return labelled if 2 * len(labelled) >= len(begun) else begun


def _without_number(begun: list[TextEntry]) -> list[TextEntry]:
    """Headings without a number that are runs: those that say how they came out where most do, else those that declare it."""
    decided = [e for e in begun if e.outcome is not Outcome.OTHER]
    if len(decided) * 2 >= len(begun) > 2:
        return [e for e in begun if e.status]
    declared = [
        e
        for e in begun
        if (e.outcome if e.unit.section else outcome_of(e.declared)) in DECIDED
        or e.unit.day
        and e.declared
    ]
    return declared if len(declared) > 1 and 3 * len(declared) >= len(begun) else []


def _numbered(begun: list[TextEntry]) -> list[TextEntry]:
    """Units with a number or commit below a word of their own: all, where most say how they came out."""
    several = len({e.unit.label for e in begun}) > 1 or any(e.unit.code for e in begun)
    return begun if several and sum(bool(e.status) for e in begun) * 2 >= len(begun) else []


_RUNS_OF = {"run": list, "list": _of_list, "": _without_number, "day": _without_number}


def entries_of(path: Path) -> tuple[list[TextEntry], str]:
    """The units of a text that are runs, with what stands below them, one entry a label; and the text above the first."""
    outline = Outline(*pages_of(path))
    units = _without_parts([u for u in outline.units_of() if u.level > 1])
    _unlabel(units)
    runs: set[int] = set()
    accepted: list[TextUnit] = []
    for kind in dict.fromkeys(u.kind for u in sorted(units, key=lambda u: -u.level)):
        alike = [entry_of(u, runs) for u in units if u.kind == kind]
        chosen = _RUNS_OF.get(kind.partition(" ")[0], _numbered)
        accepted += [e.unit for e in chosen([e for e in alike if e.begun])]
        runs = {id(u) for u in accepted}
    entries = _of_one_trail([entry_of(u, runs) for u in accepted])
    return entries, outline.prose_above(entries[0].unit) if entries else ""


def _without_parts(units: list[TextUnit]) -> list[TextUnit]:
    """Units that are no parts of a run: what every run has stands once below each of them."""
    times = Counter((id(u.above), _name_of(u)) for u in units)
    below = Counter(name for _, name in times)
    parts = {name for name, n in below.items() if n > 1} - {x[1] for x, n in times.items() if n > 1}
    return [u for u in units if not _is_part(u, recurs=_name_of(u) in parts)]


def _unlabel(units: Sequence[TextUnit]) -> None:
    """A name with a number in it, as `AVX2`, is no label: it stands before one heading alone."""
    alone = Counter(u.kind for u in units)
    for unit in units:
        known = unit.code or not unit.label or unit.kind == "run"
        if unit.level < BOLD_LEVEL and alone[unit.kind] == 1 and not known:
            unit.kind = f"{'day' if DAY.match(unit.text) else ''} {unit.level}"
            unit.label, unit.title = "", DAY.sub("", unit.text).lstrip(":.)—–- ")


def _name_of(unit: TextUnit) -> str:
    """What a unit is called beside its number: an item by the field that it states."""
    named = _FIELD.match(unit.text[:LONGEST])
    return unit.title if unit.level < ITEM_LEVEL else named[1] if named else ""


def _is_part(unit: TextUnit, *, recurs: bool) -> bool:
    """Whether a unit is no run: it names a part of one, as every run has it, or states only a status."""
    name = _name_of(unit)
    part = part_of(name) or name and recurs and outcome_of(name) is Outcome.OTHER
    if unit.level == ITEM_LEVEL:
        return bool(name) and bool(part or _decide(TextEntry(unit), unit.text))
    # It states the status of what stands below it: its title is one, or headings are below.
    stands = unit.title.startswith(unit.section) or any(
        isinstance(x, TextUnit) and x.level < BOLD_LEVEL for x in unit.below
    )
    opens = unit.section != unit.above.section and stands
    return not unit.label and bool(part or opens)


def _of_one_trail(entries: list[TextEntry]) -> list[TextEntry]:
    """Entries in the order of the text, without lists that tell one thing alone and commits that tell nothing."""
    listed = [e for e in entries if e.unit.level == ITEM_LEVEL]
    outcomes = {bool(e.unit.section): set() for e in listed}
    for e in listed:
        outcomes[bool(e.unit.section)] |= {e.outcome} - {Outcome.OTHER}
    kept, figure = [], common_figure(listed)
    for e in sorted(entries, key=lambda e: e.unit.line.number):
        unit = e.unit
        one_sided = (
            unit.level == ITEM_LEVEL and len(outcomes[bool(unit.section)]) < 2 and not figure
        )
        silent = unit.code and not e.status and not figures_of(e)
        if not (one_sided or silent):
            kept.append(e)
    return kept


def figures_of(entry: TextEntry) -> dict[str, str]:
    """Figures by name: those of the title behind a dash or colon and beside a status in brackets, then what the lines and the result say."""
    figures: dict[str, str] = {}
    brackets = {m[1]: status_in(m[1]) for m in BRACKETS.finditer(entry.unit.title)}
    inner = [
        b.removeprefix(w).split(",")[0]
        for b, w in brackets.items()
        if w or entry.unit.level == ITEM_LEVEL
    ]
    for part in [*(BRACKETS.sub("", p) for p in entry.pieces[1:]), *inner]:
        head, _, tail = part.strip(ORNAMENTS).rpartition("→")
        for name, value, unit in spoken_in(
            head if head and status_in(tail) else part.strip(ORNAMENTS)
        ):
            figures.setdefault(name or (f"result ({unit})" if unit else "value"), value)
    turned = _ARROWS.split(entry.unit.title, maxsplit=1)[1:]
    if not figures and entry.unit.level == ITEM_LEVEL and turned and turned[0][:1].isdigit():
        # `radix 4 -> 402`: what stands behind the arrow came out, whatever the 4 is.
        figures = {f"result ({u})" if u else "value": v for _, v, u in spoken_in(turned[0])[:1]}
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
