"""The repeating units of a text as a tree: what its headings, bold beginnings and items of lists open. Refuses to say which are runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kb.formats.reading import LogLine, quantity_of, with_points
from kb.page.document import Block, Document
from kb.run.direction import word_set
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import NOT_BEGUN, fault_of, is_status, outcome_of, status_words
from kb.schema import FIELD_NAMES, Verdict, canonical_verdict, outcome_verdict
from kb.text.numbers import numbers_in

# Parts of running text: what stands between marks, dashes and brackets.
CLAUSES = re.compile(
    r"(?<=[.;!?])\s+|(?<=[。；])|,\s+|\s+(?:—|–|--?)\s+|\s*(?:->|=>|→)\s*(?=[^\W\d])|[()]|，"
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
# `cycles now 1529`, `loss from 2.1`: what joins a figure to its name.
_LINKS = re.compile(r"(?: (?:from|now|still|remains?|unchanged|at|to))+$")
_NAMED = {name: key for key, names in _FIELDS.items() for name in names.split(", ")}
# Forms that tell a run what to do rather than what was done with it: believed where they stand alone.
_ORDERS = word_set(
    "do keep accept adopt merge promote retain ship land win discard revert reject kill drop abandon undo fail close crash"
)
_SENTENCES = re.compile(r"(?<=[.!?。])[*_)]*\s+")
# Enough of a part to say what was learned; the journal itself holds the rest.
LONGEST = 1500
DECIDED = (Outcome.KEPT, Outcome.DISCARDED)


def status_in(text: str) -> str:
    """The status word that a part of a heading begins with; empty where it is other text."""
    begun = re.match(
        r"\W*([^\W\d_][\w-]*)\s*(?=[,;:!?*★⭐✅❌✓✗().\]/\d]|first\b|$)|\W*([A-Z][A-Z_-]{2,})\b",
        text,
    )
    word = (begun[1] or begun[2]) if begun else ""
    return word if is_status(word) else ""


def closing(texts: Sequence[str]) -> str:
    """The clause of the last sentence that says what was done: `Kept.`, `reverting this one`, `abgestürzt`, `linker crashed`."""
    sentences = [x for text in texts for x in _SENTENCES.split(text[:LONGEST])]
    for sentence in reversed(sentences):
        clauses = [c.strip(" *_`.!?;\"'") for c in CLAUSES.split(sentence)]
        ends = [c.split()[-1] for c in clauses if 1 < len(c.split()) < 4]
        broke = [w for w in ends if outcome_of(w) is Outcome.CRASHED and not sentence[0].isdigit()]
        if decided := [*filter(_decides, clauses)] or broke:
            return decided[-1]
    return ""


def _is_order(text: str) -> bool:
    """Whether a text tells what to do: an order (`drop the cast`) is a title where more follows."""
    words = text.lower().split()
    return len(words) > 2 and words[0] in _ORDERS


def _decides(clause: str) -> bool:
    """Whether a clause says what was done, in few words."""
    words = clause.lower().split()
    few = 0 < len(words) < 6 and not _is_order(clause) and not any(map(str.isdigit, clause))
    outcome = outcome_of(clause) if few else Outcome.OTHER
    # `guard-fail tails`: what becomes of a gate is told by the first word or the last.
    inner = {*map(outcome_of, (words[0], words[-1]))} == {Outcome.OTHER} if words else True
    return outcome is not Outcome.OTHER and not (inner and outcome is Outcome.CHECKS_FAILED)


def spoken_in(text: str) -> list[tuple[str, str, str]]:
    """Figures of running text as name, value and unit: `Val loss 2.871`, `9.31 → 8.70 ms`, `from 1.1 to 1.3 GB/s`. A name may be empty."""
    metrics = []
    # `61.2 -> 74.9` is no range.
    text = text[:LONGEST].replace("->", "→").replace("=>", "→")
    for clause in CLAUSES.split(with_points(text)):
        numbers = [n for n in numbers_in(clause[:200]) if not (n.about or n.bound or n.high)]
        if not numbers:
            # `9m40s`: times of several parts.
            value = clause.strip(" .")
            metrics += [("", value, q.unit)] if (q := quantity_of(value)) else []
            continue
        first, last = numbers[0], numbers[0]
        for number in numbers[1:]:
            joined = clause[last.end : number.start].strip(" *") in ("→", "to", "auf", "à", "a")
            last = number if joined and number.start > last.end else last
        name = _LINKS.sub("", clause[: first.start].strip(" :=*`-+"))
        # `this raised quality_mrr to 81.3`: a name of one word with a sign in it is the metric's own.
        own = name.rpartition(" ")[2].strip("`")
        name = own if "_" in own else name
        # `930 kops/s`: a rate of one's own.
        unit = last.unit or next((w for w in clause[last.end :].split()[:1] if "/s" in w), "")
        named = len(name.split()) <= 3
        if named or unit:
            value = clause[last.start : last.end].strip()
            metrics.append((name if named else "", value, unit))
    return metrics


def part_of(label: str) -> str:
    """The part of a run that a label names in any language: `Insight`, `Ergebnis`, `Result (24 h)`."""
    label = label.partition(":")[0].partition(" (")[0].strip(" *").lower()
    return _NAMED.get(FIELD_NAMES.get(label, label), "")


# What a run is called, and what others may be called too; another word before a number is believed where most units that it opens are decided.
RUNS = word_set("run exp experiment iter iteration trial attempt")
KINDS = {x + s for x in (*RUNS, "round", "candidate") for s in ("", "s")} | {
    "cycle",
    "loop",
    "try",
    "tries",
}
# What the months begin with, in English and German.
_MONTHS = "jan feb mar/mär apr may/mai jun jul aug sep oct/okt nov dec/dez".split()
_MONTH_OF = {name: n for n, names in enumerate(_MONTHS, 1) for name in names.split("/")}
MONTH, _CLOCK = rf"(?:{'|'.join(_MONTH_OF)})[^\W\d_]*", r"\d{1,2}:\d{2}(?::\d{2})?"
DAY = re.compile(
    rf"\b(?:(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?:[T ]{_CLOCK})?(?-i:\s[A-Z]{{3,4}}\b)?"
    rf"|(?:(?P<first>\d{{1,2}})\.?\s+(?P<before>{MONTH})\.?|(?P<behind>{MONTH})\.?\s+(?P<second>\d{{1,2}})),?"
    rf"(?:\s+{_CLOCK})?\s+(?P<last>\d{{4}}))(?!\d)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:\[(?P<status>[A-Za-z_ -]+)\]\W*)?(?:(?P<kind>[^\W\d_]{2,15})\s*[#№-]?\s*(?P<number>\d+(?:[-–.]\d+)*[a-z]?)"
    r"|(?P<code>[A-Z]{1,3}-?\d+[a-z]?|#\d+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}|\d{7}(?= — )))(?!\w)",
    re.IGNORECASE,
)
# What a line of a diary calls a run: `iter 2`, `#1`.
NAMED = re.compile(rf"(?:(?:{'|'.join(KINDS)})\s*[#№-]?\s*|#)\d", re.IGNORECASE)
# `3. Lazy matching`: numbers alone may number tries.
_NUMBER = re.compile(r"(?P<status>)(?P<kind>)(?P<number>\d{1,4})(?P<code>)(?=[.):] )")
DASHES = re.compile(r"\s+(?:—|–|--?|·)\s+|\s*\|\s*")
_BOLD = re.compile(r"[\s>*+-]*\*\*([^*]{2,160})\*\*(.*)")
_ITEM = re.compile(
    r"\s*(?:[-*+]\s+)*(?:(?P<number>\d{1,4})[.)]\s+)?(?P<box>\[[ xX]\])?(?P<mark>[^\w*#`(\[\"'/.~+-]*)(?P<bold>\*\*[^*]{1,30}\*\*)?\s*"
)
# A longer heading is text that lost its line ends.
LONGEST_HEADING = 500
# Levels of units that are no headings: bold lines, and items of a list.
BOLD_LEVEL, ITEM_LEVEL = 7, 8


@dataclass(slots=True, eq=False)
class TextUnit:
    """What a heading, a bold beginning or an item opens: its title and what stands below, lines and further units; `kind` is what units alike have in common."""

    line: LogLine
    level: int
    title: str
    text: str = ""
    label: str = ""
    kind: str = ""
    code: str = ""
    day: str = ""
    mark: str = ""
    section: str = ""
    above: "TextUnit | None" = None
    below: list["str | TextUnit"] = field(default_factory=list)


class Outline:
    """A page under way: the units so far as a tree."""

    def __init__(self, document: Document, lines: Sequence[LogLine]):
        self.document, self.lines, self.texts = (document, lines, document.text.split("\n"))
        self.units: list[TextUnit] = []
        self.top = TextUnit(LogLine(0, ""), 0, "")
        self.open = self.top
        self.prose: list[tuple[int, str]] = []
        self.day = ""

    def units_of(self) -> list[TextUnit]:
        blocks = self.document.blocks
        for block in blocks:
            if block.kind == "heading" and block.depth == 0:
                heading = bare(self.texts[block.line - 1].strip("# \t")[:LONGEST_HEADING])
                self._open(heading_unit(self.lines[block.line - 1], block.level, heading), heading)
                self.open.text = heading
            elif block.kind == "paragraph":
                holder = blocks[block.parent] if block.parent >= 0 else None
                self._paragraph(block, holder if holder and holder.kind == "item" else None)
        return self.units

    def _open(self, unit: TextUnit, heading: str = "") -> None:
        while self.open.level >= unit.level and self.open.above:
            self.open = self.open.above
        above = self.open
        unit.above, unit.section = above, above.section
        self.day = day_of(heading) or self.day
        if heading and not unit.label:
            unit.section = status_of(heading) or above.section
        unit.day = unit.day or self.day
        if unit.level == ITEM_LEVEL and unit.section:
            # Lists below statuses are one trail, what stayed undecided beside what was kept.
            unit.kind = "list"
        above.below.append(unit)
        self.units.append(unit)
        self.open = unit

    def _paragraph(self, block: Block, item: Block | None) -> None:
        if not item:
            self.prose.append((block.line, block.plain))
            while self.open.level == ITEM_LEVEL:
                self.open = self.open.above
        for number in range(block.line, block.stop):
            line, text = self.lines[number - 1], self.texts[number - 1].strip()
            if number == block.line and item and item.level == 1:
                self._open(_listed(line, text, item))
                self.open.text = text
            elif (bold := _BOLD.match(line.text[:LONGEST])) and (unit := _run_in(line, bold)):
                self._open(unit)
                self.open.text = text
            elif text:
                self.open.below.append(text)


def day_of(heading: str) -> str:
    """The day that a heading names: `2026-03-02`, `2026/03/02`, `2. März 2026`, `March 2, 2026`; empty where it names none with its year."""
    dated = DAY.search(heading)
    if not dated:
        return ""
    name = (dated["before"] or dated["behind"] or "")[:3].lower()
    month, day = (
        dated["month"] or _MONTH_OF.get(name),
        dated["day"] or dated["first"] or dated["second"],
    )
    return f"{dated['year'] or dated['last']}-{int(month):02d}-{int(day):02d}" if month else ""


def status_of(heading: str) -> str:
    """The status that a heading is and nothing else: `Kept`, `Planned`, `Performance rejections`, `What failed`, `测了但否决的改动`."""
    heading = heading.partition(" (")[0]
    if len(heading) > 39 or DASHES.search(heading) or _is_order(heading):
        return ""
    outcome, begun = outcome_of(heading), status_words(heading) not in NOT_BEGUN
    neither = is_status(heading) and outcome_verdict(heading) is Verdict.INCONCLUSIVE
    if outcome in DECIDED or fault_of(heading) or not begun or neither:
        return heading
    failed = outcome is not Outcome.OTHER or canonical_verdict(heading) is Verdict.REFUTED
    return "rejected" if failed else ""


def heading_unit(line: LogLine, level: int, heading: str) -> TextUnit:
    """The unit that a heading or a bold beginning opens, with the run's number, commit or day that it carries."""
    text = heading.lstrip("[( ")
    dated = DAY.match(text)
    day = day_of(dated[0]) if dated else ""
    text = text[dated.end() :].lstrip(" :—–-·|])") if day else heading
    label = _LABEL.match(text) or _NUMBER.match(text)
    if not label and status_in(text.rpartition("(")[2]) and (inner := NAMED.search(text)):
        # `Final design and experiment 4 — flat fill (retained)`.
        label = _LABEL.match(text, inner.start())
    if not label:
        return TextUnit(line, level, text, kind=f"{'day' if day else ''} {level}", day=day)
    code, title = label["code"] or "", text[label.end() :].lstrip(":.)—–- ")
    unit = TextUnit(line, level, title, label=(label["number"] or code).strip(), day=day)
    word = label["kind"] or code.rstrip("0123456789abcdef-")[:3] or ("code" if code else "number")
    unit.kind = "run" if word.lower() in KINDS else word.lower()
    unit.mark = label["status"] if is_status(label["status"] or "") else ""
    unit.code = code if len(code) > 6 and not code.startswith("#") else ""
    return unit


def _listed(line: LogLine, text: str, item: Block) -> TextUnit:
    """An item of a list: its number or label, bold or that of a run, and the mark that it begins with."""
    begun = _ITEM.match(text)
    bold, title = begun["bold"] or "", text[begun.end() :]
    label = _LABEL.match(bold.strip("*")) if bold else NAMED.match(title) and _LABEL.match(title)
    if bold and not label:
        title = text[begun.start("bold") :]
    elif label and not bold:
        title = title[label.end() :].lstrip(":.)—–- ")
    unit = TextUnit(line, ITEM_LEVEL, title, kind=f"list {item.parent}")
    unit.label = (label["number"] or label["code"]).strip() if label else begun["number"] or ""
    mark = begun["mark"].strip()
    unit.mark = "todo" if begun["box"] == "[ ]" else mark if is_status(mark) else ""
    head, _, rest = unit.title.partition(":")
    if rest and outcome_of(head.strip("* ")) is not Outcome.OTHER and len(head) < 20:
        # `Kept: the cache`, `**Reverted:** …`: the status stands before what was tried.
        unit.mark, unit.title = head.strip("* "), rest.strip("* ")
    return unit


def _run_in(line: LogLine, bold: re.Match[str]) -> TextUnit | None:
    """The run that a bold beginning names and decides: `**Exp98 DISCARD** rsm=0.8`; or that a line wholly in bold numbers."""
    unit, rest = heading_unit(line, BOLD_LEVEL, bold[1]), bold[2].strip(" :—–-)]")
    status = status_in(unit.title) or status_in(rest)
    if not unit.label or rest and outcome_of(status) is Outcome.OTHER:
        return None
    if outcome_of(status) is not Outcome.OTHER:
        unit.title, unit.mark = rest.partition(". ")[0].strip("."), status
        unit.below.append(rest)
    return unit
