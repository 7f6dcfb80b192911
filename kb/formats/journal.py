"""Entries of a journal: what a heading, a bold line, a commit or a list item opens, and what the lines below say, by part.

A word before a number opens a run where the page shows it; sentences are no runs.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.formats.markup import pages_of
from kb.formats.measuring import quantity_of, with_points
from kb.formats.reading import Line
from kb.page.document import Block, Document
from kb.run.direction import direction_of, word_set
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import MARKS, NOT_BEGUN, is_status, outcome_of, status_words
from kb.text.numbers import numbers_in

# What a run is called; another word before a number is believed where most headings that it opens are decided.
_KINDS = word_set(
    "run runs exp experiment experiments iter iteration trial attempt round candidate cycle loop try tries"
)
DAY = re.compile(
    r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?:\s[A-Z]{3,4}\b)?"
)
_LABEL = re.compile(
    r"(?:\[(?P<status>[A-Za-z_ -]+)\]\W*)?(?:(?P<kind>[^\W\d_]{2,15})\s*[#№-]?\s*(?P<number>\d+(?:[-–.]\d+)*[a-z]?)"
    r"|(?P<code>[A-Z]{1,3}-?\d+[a-z]?|#\d+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}|\d{7}(?= — )))(?!\w)",
    re.IGNORECASE,
)
DASHES = re.compile(r"\s+(?:—|–|--?|·)\s+|\s*\|\s*")
_ARROWS = re.compile(r"\s*(?:→|->|=>)\s*")
BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_NUMBER = r"\**`?([+\-−]?(?:\d[\d.,]*)?\d(?:[eE][+\-]?\d+)?)"
_PAIR = re.compile(rf"([^\s=,;:|(]{{1,60}})\s*=\s*{_NUMBER}(?:\s?([A-Za-zµ%][\w/%]*)(?!\s*=))?")
_SPOKEN = re.compile(
    r"(?<![\w.])([^\W\d_][\w/]{0,60})[\s:=]+\**([+\-−]?\d[\d.,]{0,30}(?:[eE][+\-]?\d+)?)(?![\w.]*\d)"
)
# A sentence that begins with a figure's name: `Val loss 2.871`, `Latenz 11,37 µs`.
_OPENING = re.compile(
    rf"([^\W\d_][\w/%-]*(?: [^\W\d_][\w/%-]*){{0,2}})[ :=]+{_NUMBER}\**(?: ?([A-Za-zµ%][\w/%]{{0,9}}))?"
)
_FIELD = re.compile(
    r"[\s>*+-]*([^\W\d_][\w'/@ -]{0,30}?)(?:\s{0,3}\([^)]*\))?\s{0,3}\**\s{0,3}[:：.]\**\s+(.*)$"
)
_SENTENCES = re.compile(r"(?<=[.;!?])\s+(?=[^\W\d_])|(?<=[。；])")
_VERDICT = re.compile(
    r"[\s>*+-]*(?:verdict|status|decision|outcome|disposition|action|urteil|entscheidung|fazit|statut|décision|estado|decisión|вывод|статус|решение"
    r"|结论|状态|判定|(results?|ergebnis|résultat|resultado|итог|результат|结果))(?!\w)[\W_]{1,6}(.*)",
    re.IGNORECASE,
)
# What the parts of an entry are called, as a line `Insight: …` or as a heading below the run's.
_FIELDS = {
    "hypothesis": "hypothesis, goal",
    "change": "change, changes, what changed, what ran, what, implementation, approach, config",
    "mechanism": "mechanism, rationale, idea, motivation, why",
    "result": "result, results, outcome, measured, impact",
    "reason": "insight, reading, why it failed, analysis, learnings, lesson, lessons, learned, notes, note, "
    "conclusion, takeaway, root cause analysis, key insight, notes for next iteration, verdict, decision, status",
    "next": "next, next step, next steps, follow up",
    "when": "timestamp, date, time",
}
_NAMED = {name: key for key, names in _FIELDS.items() for name in names.split(", ")}
_ITEM = re.compile(
    r"[-*+\s]*(?:(?P<number>\d{1,4})[.)]\s+)?(?P<box>\[[ xX]\])?(?P<mark>[^\w*`(\[\"'/.~+-]*)(?P<bold>\*\*[^*]{1,30}\*\*)?\s*"
)
# Enough of a part to say what was learned; the journal itself holds the rest.
_LONGEST = 1500
# A longer heading is text that lost its line ends.
_LONGEST_HEADING = 500
_DECIDED = (Outcome.KEPT, Outcome.DISCARDED)
ORNAMENTS = " ★⭐✅❌✔✗*"
# Levels of entries that are no headings: bold lines, and items of a list.
_BOLD_LEVEL, _ITEM_LEVEL = 7, 8


@dataclass(slots=True)
class Entry:
    """One run of a journal and what stands below it, by part; `other` are lines of no part, `section` the status of the heading above."""

    line: Line
    level: int
    rest: str = ""
    label: str = ""
    kind: str = ""
    code: str = ""
    day: str = ""
    decision: str = ""
    section: str = ""
    numbered: bool = False
    parts: dict[str, str] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)
    spoken: dict[str, str] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)

    def say(self, key: str, text: str) -> None:
        """Add text to a part, or to what belongs to none."""
        if not key:
            self.other.append(text.strip())
        elif len(self.parts.get(key, "")) < _LONGEST:
            self.parts[key] = f"{self.parts.get(key, '')} {text.strip()}".strip()

    @property
    def status(self) -> str:
        """What was decided, as written: in the heading's brackets or after its last dash, in a line `Verdict: KEPT`, in a sentence `Kept.`"""
        texts = [m[1] for m in BRACKETS.finditer(self.rest)]
        # `[crash SIGILL on the runner]`: the last bracket of a title says it by its first word.
        ends = texts[-1].split()[:1] if self.rest.endswith("]") and texts else []
        texts += [w for w in ends if outcome_of(w) is not Outcome.OTHER and is_status(w)]
        texts += [_ARROWS.split(BRACKETS.sub("", p))[-1] for p in self.pieces]
        words = [word for text in texts if (word := status_in(text))]
        words += [mark for mark in MARKS if mark in self.rest]
        decided = [w for w in words if outcome_of(w) is not Outcome.OTHER]
        below = [self.decision] if self.decision else words or self._sentences()
        return (decided or below or [self.section])[-1]

    @property
    def pieces(self) -> list[str]:
        """The parts of its title: between dashes, and in a list behind colons."""
        parts = DASHES.split(self.rest)
        return parts if self.level < _ITEM_LEVEL else [x for p in parts for x in p.split(": ")]

    def _sentences(self) -> list[str]:
        text = " ".join([*self.other, *self.parts.values()])
        parts = re.split(r"[.!,;]\s", f"{text} ")
        return [
            p
            for p in parts
            if len(p.split()) < 3 and p.strip().isascii() and outcome_of(p) in _DECIDED
        ]

    @property
    def decided(self) -> bool:
        return outcome_of(self.status) is not Outcome.OTHER

    @property
    def is_run(self) -> bool:
        """Numbered, or dated or named with something below that says how it came out; and begun."""
        if status_words(self.status) in NOT_BEGUN:
            return False
        return (
            self.numbered
            or outcome_of(self.decision) in _DECIDED
            or bool(self.decision and self.day)
        )


def status_in(text: str) -> str:
    """The status word that a part of a heading begins with (`REJECTED first, then ACCEPTED`: the later one); empty where it is other text."""
    _, _, later = text.rpartition("then ")
    for words in (later if "then " in text else "", text):
        begun = re.match(
            r"\W*([^\W\d_][\w-]*)\s*(?=[,;:!?*★⭐✅❌✓✗().\]/\d]|first\b|$)|\W*([A-Z][A-Z_-]{2,})\b",
            words,
        )
        word = (begun[1] or begun[2]) if begun else ""
        if word and is_status(word):
            return word
    return (
        text.strip() if len(text.split()) == 2 and outcome_of(text) is Outcome.CHECKS_FAILED else ""
    )


class _Journal:
    """A page under way: the entries so far, and where the next line belongs."""

    def __init__(self, document: Document, lines: Sequence[Line]):
        self.document, self.lines, self.texts = document, lines, document.text.split("\n")
        self.entries: list[Entry] = []
        self.entry: Entry | None = None
        self.day, self.section, self.depth = "", "", 0
        self.part, self.into = "", ""
        self.listing = self.labelled = False

    def read(self) -> list[Entry]:
        blocks = self.document.blocks
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if block.kind == "heading":
                self._heading(block, listed=after is not None and after.kind == "list")
            elif block.kind == "paragraph":
                self._paragraph(block, blocks[block.parent] if block.parent >= 0 else None)
            elif block.kind == "table" and self.entry:
                self._table(block)
            elif block.kind == "list":
                self.listing = self.listing if block.depth else self._run_list(block)
            elif block.kind == "rule":
                self.into = ""
        return self.entries

    def _open(self, entry: Entry, *, day: bool = True) -> None:
        entry.day = entry.day or (self.day if day else "")
        entry.section = entry.section or self.section
        self.entry, self.part, self.into = entry, "", ""
        self.entries.append(entry)
        for piece in entry.pieces[1:]:
            if opening := _OPENING.match(with_points(piece.strip(ORNAMENTS))):
                entry.spoken.setdefault(
                    opening[1], f"{opening[2].rstrip('.,')} {opening[3] or ''}".strip()
                )

    def _heading(self, block: Block, *, listed: bool) -> None:
        line, level = self.lines[block.line - 1], block.level
        heading = bare(self.texts[block.line - 1].strip("# \t")[:_LONGEST_HEADING])
        opened = _opened(line, level, heading) if level > 1 else None
        decides = len(heading) < 40 and outcome_of(heading) is not Outcome.OTHER and not opened
        listed = listed and "_" not in status_words(heading)
        entry = self.entry
        if (
            entry
            and not opened
            and level > entry.level
            and (entry.numbered or _part_of(heading))
            and not (decides and listed)
        ):
            _decide(entry, heading)
            self.part, self.into = _part_of(heading), ""
            return
        dated = DAY.search(heading)
        self.day = dated[1] if dated and not (opened and opened.numbered) else self.day
        if level <= self.depth or not opened:
            status = heading if decides and (listed or outcome_of(heading) in _DECIDED) else ""
            self.section = status or (self.section if level > self.depth else "")
            self.depth = level if status or level <= self.depth else self.depth
        if decides and listed:
            self.entry = None
        else:
            self._open(opened or Entry(line, level, heading))

    def _paragraph(self, block: Block, holder: Block | None) -> None:
        item = holder.kind == "item" if holder else False
        if self.entry and self.entry.level >= _BOLD_LEVEL and not item:
            self.entry = (
                self.entry if self.entry.level == _BOLD_LEVEL and self.entry.numbered else None
            )
        if not item:
            self.into = ""
        for number in range(block.line, block.stop):
            line, text = self.lines[number - 1], self.texts[number - 1].strip()
            first = number == block.line
            if run_in := _run_in(line, listed=item and first):
                self._open(run_in)
            elif item and first and holder.level == 1 and self.listing:
                entry = _listed(line, self.texts[holder.line - 1].strip(), self.section)
                if entry.label or not self.labelled:
                    self._open(entry)
            elif self.entry and text:
                self.into = _add(self.entry, text, self.into, self.part, item=item and first)

    def _run_list(self, block: Block) -> bool:
        """Whether a list is one of runs: below a status alone, or most of its items say what came out and a figure or two."""
        entry = self.entry
        if block.depth or entry and entry.numbered and not entry.kind and entry.level < _BOLD_LEVEL:
            return False
        place = self.document.blocks.index(block)
        items = [
            b
            for b in self.document.between(block.line, block.stop)
            if b.kind == "item" and b.parent == place
        ]
        entries = [
            _listed(self.lines[b.line - 1], self.texts[b.line - 1].strip(), "") for b in items
        ]
        begun = [e for e in entries if e.decision != "todo"]
        figures = sum(any(map(str.isdigit, e.rest)) for e in begun)
        self.labelled = sum(bool(e.label) for e in begun) * 2 >= len(begun) and bool(begun)
        told = [e for e in begun if e.decided]
        if any(_VERDICT.match(self.texts[b.line - 1]) for b in items):
            return False
        return bool(self.section) or len(told) * 2 >= len(begun) > 1 and figures * 3 >= len(begun)

    def _table(self, block: Block) -> None:
        for row in block.rows:
            cells = [c.plain for c in row.cells]
            if len(cells) == 2 and quantity_of(cells[1]) and not quantity_of(cells[0]):
                self.entry.figures.setdefault(cells[0], cells[1])


def _listed(line: Line, text: str, section: str) -> Entry:
    """An item of a list as a run: its number or bold label, and the mark that it begins with."""
    begun = _ITEM.match(text)
    bold = _LABEL.match((begun["bold"] or "").strip("*"))
    entry = Entry(
        line,
        _ITEM_LEVEL,
        text[begun.end() :],
        begun["number"] or "",
        section=section,
        numbered=True,
    )
    if bold:
        entry.label = (bold["number"] or bold["code"]).strip()
    elif begun["bold"]:
        entry.rest = text[begun.start("bold") :]
    entry.decision = "todo" if begun["box"] == "[ ]" else begun["mark"].strip()
    return entry


def _part_of(heading: str) -> str:
    """The part of a run that a heading below it names: `Result`, `Verdict: KEEP`."""
    return _NAMED.get(heading.partition(":")[0].strip().lower(), "")


def _opened(line: Line, level: int, heading: str) -> Entry | None:
    """The run that a heading opens, if it carries a run's number, commit or day."""
    dated = DAY.match(heading.lstrip("[( "))
    begun = heading.lstrip("[( ")[dated.end() :] if dated else heading
    begun = re.sub(r"^[^\w\[#]+", "", begun[:20]) + begun[20:]
    label = _LABEL.match(begun)
    rest = begun[label.end() :] if label else begun
    if not label:
        return Entry(line, level, rest=begun, day=dated[1]) if dated else None
    code = label["code"] or ""
    entry = Entry(
        line, level, rest.lstrip(":.)—–- "), (label["number"] or code).strip(), numbered=True
    )
    # Another word than those of runs, or a letter with a number, is one only where the page shows it.
    sure = (
        dated
        or (label["kind"] or "").lower() in _KINDS
        or rest[:1] in ("", *":.)—–-")
        or rest.startswith((" —", " –", " -", " ("))
    )
    entry.kind = (
        ""
        if sure and not (label["kind"] and label["kind"].lower() not in _KINDS)
        else f"{label['kind'] or code[:1]} {level}".lower()
    )
    entry.code = code if len(code) > 6 and not code.startswith("#") else ""
    entry.day = dated[1] if dated else ""
    if label["status"] and is_status(label["status"]):
        entry.decision = label["status"]
    return entry


def _run_in(line: Line, *, listed: bool) -> Entry | None:
    """The run that a bold beginning names and decides: `**Exp98 DISCARD** rsm=0.8`; or that a line wholly in bold numbers."""
    bold = re.match(r"[\s>*+-]*\*\*([^*]{2,160})\*\*(.*)", line.text[:_LONGEST])
    begun, rest = (
        (bold[1], bold[2]) if bold else (line.text.lstrip(" *+-")[:80], "") if listed else ("", "")
    )
    label = _LABEL.match(begun)
    if not label or not bold and (label["kind"] or "").lower() not in _KINDS:
        return None
    told = begun[label.end() :].strip(" :—–-([")
    status = status_in(told) or status_in(rest.strip(" :—–-([") if bold else "")
    number = (label["number"] or label["code"]).strip()
    kind = "" if (label["kind"] or "run").lower() in _KINDS else f"{label['kind']} bold".lower()
    if not status or outcome_of(status) is Outcome.OTHER:
        whole = bold and not rest.strip() and not listed and label["number"]
        return (
            Entry(
                line,
                _BOLD_LEVEL,
                told.rstrip(")]"),
                number,
                kind or f"{label['kind']} bold".lower(),
                numbered=True,
            )
            if whole
            else None
        )
    rest = rest or line.text.partition(status)[2]
    entry = Entry(
        line,
        _BOLD_LEVEL,
        rest.strip(" :—–-)]").partition(". ")[0].strip("."),
        number,
        kind,
        decision=status,
        numbered=True,
    )
    for name, value in _SPOKEN.findall(rest):
        if direction_of(name):
            entry.figures.setdefault(name, value.rstrip(".,"))
    return entry


def _decide(entry: Entry, text: str) -> bool:
    """Read a line such as `Verdict: KEEP - it fits`; whether it was one."""
    told = _VERDICT.match(text[:_LONGEST])
    if not told:
        return False
    opening = re.split(r"[.;:,!—–→]|\s-\s", told[2].strip("* "), maxsplit=1)[0].strip("* ")
    word = status_in(told[2]) or (
        opening if len(opening.split()) < 4 and is_status(opening) else ""
    )
    if not word or told[1] and outcome_of(word) is Outcome.OTHER:
        return False
    entry.decision = entry.decision or word
    entry.say("reason", told[2].strip("* ").removeprefix(word).lstrip("*.:;,-—– ✅❌"))
    return True


def _add(entry: Entry, text: str, into: str, part: str, *, item: bool) -> str:
    """Put one line where it belongs: a part it names, the part it continues, the part it stands in. Gives the part that the next line may continue."""
    if _decide(entry, text):
        return ""
    named = _FIELD.match(text[:_LONGEST])
    key = _NAMED.get(named[1].strip().lower(), "") if named else ""
    figure = quantity_of(named[2]) if key == "when" else None
    # `Time: 48.2 s` is measured; `Time: 14:05` is when.
    if key and not (figure and figure.unit):
        entry.say(key, named[2])
        return key
    if named and quantity_of(named[2]):
        entry.figures.setdefault(named[1].strip(), named[2].strip())
        return ""
    for sentence in _SENTENCES.split(text[:_LONGEST]):
        opening = _OPENING.match(with_points(sentence.lstrip("*-+ ")))
        if opening:
            entry.spoken.setdefault(
                opening[1], f"{opening[2].rstrip('.,')} {opening[3] or ''}".strip()
            )
        _decide(entry, sentence)
    entry.say(
        into if into and not named and not item else part,
        text.removeprefix("- ").removeprefix("* ").removeprefix("+ "),
    )
    return into if not item else ""


def entries_of(path: Path) -> list[Entry]:
    """Headings, bold beginnings and items with what stands below them, those that are runs alone; one label is one run."""
    entries = [e for e in _Journal(*pages_of(path)).read() if e.is_run]
    decided, all_of = (
        Counter(e.kind for e in entries if e.decided),
        Counter(e.kind for e in entries),
    )
    entries = [e for e in entries if not e.kind or decided[e.kind] * 2 >= all_of[e.kind] > 1]
    # Lists below one status alone are of what is liked or feared; a log of lists has both.
    sections = {outcome_of(e.section) for e in entries if e.level == _ITEM_LEVEL and e.section}
    plain = {outcome_of(e.status) for e in entries if e.level == _ITEM_LEVEL and not e.section} - {
        Outcome.OTHER
    }
    entries = [
        e for e in entries if e.level < _ITEM_LEVEL or len(sections if e.section else plain) > 1
    ]
    # Of entries that mostly say what came out, one that says nothing at all tells of other work.
    entries = [e for e in entries if not e.code or e.status or figures_of(e)]
    known: set[str] = set()
    again = [
        e.level == _BOLD_LEVEL
        and not e.other
        and not e.parts
        and (e.label in known or bool(known.add(e.label)))
        for e in entries
    ]
    return [e for e, twice in zip(entries, again, strict=True) if not twice]


def _lone(part: str) -> str:
    """The figure that a part of a title states, with its unit: `96.0 us`, `9.31 → 8.70 ms`, `10.4 ms but jitter`; else empty."""
    if quantity_of(part):
        return part.strip() if len(part.split()) < 6 else ""
    text = with_points(part.strip())
    number = next(numbers_in(text[:80]), None)
    opens = (
        number is not None
        and number.start == 0
        and number.unit
        and not (number.about or number.bound or number.high)
    )
    return text[: number.end] if opens else ""


def figures_of(entry: Entry) -> dict[str, str]:
    """Figures by name: `name=value` of the title, a lone quantity after a dash or colon, then what the lines and the result say."""
    figures: dict[str, str] = {}
    brackets = {m[1]: status_in(m[1]) for m in BRACKETS.finditer(entry.rest)}
    inner = [
        b.removeprefix(w).split(",")[0]
        for b, w in brackets.items()
        if w or entry.level == _ITEM_LEVEL
    ]
    for part in [*(BRACKETS.sub("", p) for p in entry.pieces[1:]), *inner]:
        text = part.strip(ORNAMENTS)
        head, _, tail = text.rpartition("→")
        lone = _lone(head.strip() if head and status_in(tail) else text)
        quantity = quantity_of(lone) if lone else None
        if quantity:
            figures.setdefault(f"result ({quantity.unit})" if quantity.unit else "result", lone)
        for name, value, unit in _PAIR.findall(text):
            figures.setdefault(name.strip("*_`"), f"{value.rstrip('.,')} {unit}".strip())
    if not figures:
        result = entry.parts.get("result", "")
        for name, value, unit in _PAIR.findall(result):
            figures.setdefault(name.strip("*_`"), f"{value.rstrip('.,')} {unit}".strip())
        for name, value in _SPOKEN.findall(re.split(r"\bvs\b|\bfrom\b", result)[0]):
            if "_" in name or direction_of(name):
                figures.setdefault(name, value.rstrip(".,"))
    return entry.figures | figures
