"""Journals with one heading a run: `### Run 4: fuse the loops — total_ms=9.1 (KEEP)`, then what was changed, found and learned.

A heading is a run if it carries a run's number or commit and most such headings of the page say what was decided. Sentences are no runs.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from kb.formats.reading import Ask, Line, Remark, Segment, lines_of, measured
from kb.run.direction import direction_of
from kb.run.quantity import Quantity, bare, to_quantity
from kb.run.record import Metric, Origin, Outcome, Run, is_status, outcome_of

_KIND = r"(?:runs?|exp|experiments?|iter|iterations?|trials?|attempts?|rounds?|candidates?|cycles?|loops?|tries|try)"
_BEFORE = re.compile(
    r"^[^\w\[]*(?P<day>\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?:\s[A-Z]{3,4})?)?[^\w\[]*(?:\[(?P<status>[A-Za-z_ -]+)\]\W*)?"
)
_LABEL = re.compile(
    rf"(?P<label>{_KIND}\s*[#-]?\s*\d+(?:[-–.]\d+)*[a-z]?|[A-Z]{{1,3}}-?\d+[a-z]?|#\d+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,40}})\b"
    r"(?:,[^:—–]{0,20})?\s*(?P<rest>[:.)—–-].*|\(.*)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"{_KIND}\s*[#-]?\s*(\d.*)", re.IGNORECASE)
_PARTS = re.compile(r"\s+(?:—|–|--?|→|=>)\s+")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_PAIR = re.compile(r"([^\s=,;:|(]{1,60})\s*=\s*\**([+\-−]?(?:\d[\d.,]*)?\d(?:[eE][+\-]?\d+)?)(?:\s?([A-Za-zµ%][\w/%]*)(?!\s*=))?")
_SPOKEN = re.compile(r"(?<![\w.])([A-Za-z][\w/]{0,60})[\s:=]+\**([+\-−]?\d[\d.,]{0,30}(?:[eE][+\-]?\d+)?)(?![\w.]*\d)")
_FIELD = re.compile(r"^[\s>*+-]*([A-Za-z][A-Za-z' ]{2,30}?)(?:\s{0,3}\([^)]*\))?\s{0,3}\**\s{0,3}[:.]\**\s+(.*)$")
_DECISION = re.compile(r"^[\s>*+-]*(?:verdict|status|decision|outcome|disposition|action)\b[\W_]{1,6}([A-Za-z_]+)", re.IGNORECASE)
_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
# What the parts of an entry are called, as a line `Insight: …` or as a heading below the run's.
_FIELDS = {
    "hypothesis": "hypothesis, goal",
    "change": "change, changes, what changed, what ran, what, implementation, approach, config",
    "mechanism": "mechanism, rationale, idea, motivation, why",
    "result": "result, results, outcome, measured, impact",
    "reason": "insight, reading, why it failed, analysis, learnings, lesson, lessons, learned, notes, note, conclusion, takeaway, root cause analysis, "
    "key insight, notes for next iteration, verdict, decision, status",
    "next": "next, next step, next steps, follow up",
    "when": "timestamp, date, time",
}
_NAMED = {name: key for key, names in _FIELDS.items() for name in names.split(", ")}
# Enough of a part to say what was learned; the journal itself holds the rest.
_LONGEST = 1500
# A longer heading is text that lost its line ends.
_LONGEST_HEADING = 500


@dataclass(slots=True)
class Entry:
    """One heading and what stands below it, by field; `other` are lines of no field."""

    line: Line
    label: str
    rest: str
    fields: dict[str, str] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)
    decision: str = ""
    day: str = ""
    level: int = 2
    numbered: bool = True
    part: str = ""

    def say(self, key: str, text: str) -> None:
        """Add text to a field, or to what belongs to none."""
        text = re.sub(r"^[*+-]\s+", "", text.strip())
        if not key:
            self.other.append(text)
        elif len(self.fields.get(key, "")) < _LONGEST:
            self.fields[key] = f"{self.fields.get(key, '')} {text}".strip()


def holds_runs(path: Path) -> int:
    """How many runs the headings of a page tell; 0 where most of them say nothing of what was decided."""
    entries = [e for e in _runs_of(lines_of(path)) if isinstance(e, Entry)]
    decided = sum(outcome_of(_status(e)) in (Outcome.KEPT, Outcome.DISCARDED) for e in entries)
    return len(entries) if decided and 2 * decided >= len(entries) else 0


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """One segment, and one run a heading; a journal that begins with its newest run is read from its end."""
    read_of = list(_runs_of(lines_of(path)))
    entries = [e for e in read_of if isinstance(e, Entry)]
    figures = [_figures(e) for e in entries]
    metric = ask.metric or _primary(figures)
    direction, source = (ask.direction, "asked") if ask.direction else (direction_of(metric) if metric else None, "name")
    yield Segment(
        0, entries[0].line.number if entries else 1, "", metric, "", direction, source if direction else "", bool(entries)
    )
    yield from (e for e in read_of if isinstance(e, Remark))
    if not entries:
        yield Remark("no heading that numbers a run; read as text")
    told = list(zip(entries, figures, strict=True))
    if _falling(entries):
        yield Remark("the newest run stands first; read from the end")
        told.reverse()
    for entry, measures in told:
        run = _run(entry, measures, metric, path)
        if metric and run.value is None:
            yield Remark(f"no measurement of '{metric}' in the heading or its result; left out of best", entry.line.number)
        yield run


def _runs_of(lines: Iterator[Line | Remark]) -> Iterator[Entry | Remark]:
    """Headings that tell a run: numbered ones, and others below which a line such as `Verdict: KEEP` decides."""
    for entry in _entries(lines):
        if isinstance(entry, Remark) or entry.numbered or outcome_of(entry.decision) in (Outcome.KEPT, Outcome.DISCARDED):
            yield entry


def _entries(lines: Iterator[Line | Remark]) -> Iterator[Entry | Remark]:
    entry: Entry | None = None
    fence, into, day = False, "", ""
    for line in lines:
        if isinstance(line, Remark):
            yield line
            continue
        text = line.text.strip()
        fence ^= text.startswith(("```", "~~~"))
        heading = re.match(r"(#{1,5})\s+(.*)", text) if not fence else None
        if heading:
            level, said = len(heading[1]), bare(heading[2][:_LONGEST_HEADING])
            opened = _entry(line, said) if level > 1 else None
            if entry and not opened and level > entry.level and (entry.numbered or _is_part(said)):
                if _DECISION.match(said):
                    _add(entry, said, "")
                entry.part, into = _NAMED.get(re.sub(r":.*", "", said).strip().lower(), ""), ""
                continue
            if entry:
                yield entry
            dated = _DAY.search(said)
            day = dated[1] if dated and not opened else day
            entry, into = opened or Entry(line, "", said, numbered=False), ""
            entry.day, entry.level = day, level
        elif re.match(r"(-{3,}|={3,}|\*{3,})$", text):
            into = ""
        elif entry and not fence:
            into = _add(entry, line.text, into)
    if entry:
        yield entry


def _is_part(heading: str) -> bool:
    """Whether a heading below a run names a part of it: `Result`, `Verdict: KEEP`."""
    return re.sub(r":.*", "", heading).strip().lower() in _NAMED


def _entry(line: Line, heading: str) -> Entry | None:
    """The run that a heading opens, if it carries a run's number or commit; a day or a status in brackets may stand before it."""
    before = _BEFORE.match(heading)
    label = _LABEL.match(heading, before.end() if before else 0)
    if not label:
        return None
    entry = Entry(line, label["label"].strip(), label["rest"].lstrip(":.)—–- "))
    if before and before["day"]:
        entry.fields["when"] = before["day"]
    if before and before["status"] and is_status(before["status"]):
        entry.decision = before["status"]
    return entry


def _add(entry: Entry, text: str, into: str) -> str:
    """Put one line where it belongs: a field it names, the field it continues, the part it stands in. Gives the field that the next line may continue."""
    named = _FIELD.match(text)
    key = _NAMED.get(named[1].strip().lower(), "") if named else ""
    decision = _DECISION.match(text)
    if decision and is_status(decision[1]):
        entry.decision = entry.decision or decision[1]
        entry.say("reason", re.sub(r"^\W+", "", text[decision.end() :]))
        return ""
    if named and key:
        entry.say(key, named[2])
        return key
    plain = text.strip()
    item = bool(re.match(r"[*+-]\s", plain))
    if not plain or plain.startswith("|"):
        return ""
    entry.say(into if into and not named and not item else entry.part, plain)
    return into if not item or re.match(r"\s", text) else ""


def _status(entry: Entry) -> str:
    """What was decided, as written: in the heading's brackets or after its last dash, else in a line `Verdict: KEPT`."""
    said = [m[1] for m in _BRACKETS.finditer(entry.rest)] + [_BRACKETS.sub("", p) for p in _PARTS.split(entry.rest)]
    words = [word for text in said if (word := _status_of(text))]
    decided = [w for w in words if outcome_of(w) is not Outcome.OTHER]
    return (decided or ([entry.decision] if entry.decision else words) or [""])[-1]


def _remark(entry: Entry) -> str:
    """What the heading says beside the status: `(REVERTED, major regression)`."""
    beside = (
        re.sub(r"^\W*\w[\w-]*\s*[,;:]\s*", "", m[1])
        for m in _BRACKETS.finditer(entry.rest)
        if _status_of(m[1]) and re.search("[,;:]", m[1])
    )
    return next((text for text in beside if re.search(r"[a-z]{3}", text)), "")


def _status_of(text: str) -> str:
    """The status word that a part of a heading begins with (`REJECTED first, then ACCEPTED`: the later one); empty where it is other text."""
    later = re.search(r"\bthen\s+([A-Za-z_]+)", text)
    for words in (later[1] if later else "", text):
        begun = re.match(r"\W*([A-Za-z][A-Za-z_-]*)\s*(?=[,;:!*★⭐✅❌✓✗(.]|first\b|$)|\W*([A-Z][A-Z_-]{2,})\b", words)
        word = (begun[1] or begun[2]) if begun else ""
        if word and is_status(word):
            return word
    return ""


def _title(entry: Entry) -> str:
    """What was tried: the heading without its label, status and figures; else the change that its body names."""
    parts = [p for p in _PARTS.split(entry.rest) if p.strip()]
    first = _first_of(parts)
    begun = re.match(r"[(\[]([^()\[\]]*)[)\]]\W*", first)
    if begun and _status_of(begun[1]):
        first = first[begun.end() :]
    bracket = re.search(r"[(\[]([^()\[\]]*)[)\]]$", first)
    if bracket and (_status_of(bracket[1]) or _DAY.search(bracket[1])):
        first = first[: bracket.start()]
    first = bare(first.strip(" ★⭐✅❌"))
    if not first or outcome_of(_status_of(first)) is not Outcome.OTHER or to_quantity(first):
        return entry.fields.get("change") or entry.fields.get("hypothesis") or " ".join(entry.other[:1])
    return first


def _first_of(parts: list[str]) -> str:
    """The first part, and those after it that go on in words: a plain title may hold a dash of its own."""
    first = parts[:1]
    if first and not _status_of(first[0]) and not _BRACKETS.search(first[0]):
        first += takewhile(lambda p: _is_words(_BRACKETS.sub("", p)), parts[1:])
    return " - ".join(p.strip() for p in first)


def _is_words(text: str) -> bool:
    return bool(text.strip()) and not _status_of(text) and not re.search(r"\d", text)


def _figures(entry: Entry) -> dict[str, Quantity]:
    """Figures by name: `name=value` of the heading, a lone quantity after a dash, then what the result says."""
    found: dict[str, Quantity] = {}
    heading = [_BRACKETS.sub("", p).strip(" ★⭐✅❌") for p in _PARTS.split(entry.rest)[1:]]
    for part in heading:
        lone = to_quantity(part)
        if lone:
            found.setdefault(f"result ({lone.unit})" if lone.unit else "result", lone)
        for name, value, unit in _PAIR.findall(part):
            _put(found, name, value, unit)
    if not found:
        result = entry.fields.get("result", "")
        for name, value, unit in _PAIR.findall(result):
            _put(found, name, value, unit)
        for name, value in _SPOKEN.findall(re.split(r"\bvs\b|\bfrom\b", result)[0]):
            if "_" in name or direction_of(name):
                _put(found, name, value, "")
    return found


def _put(found: dict[str, Quantity], name: str, value: str, unit: str) -> None:
    quantity = to_quantity(value.rstrip(".,"))
    if quantity:
        found.setdefault(name.strip("*_`"), Quantity(quantity.value, quantity.stddev, unit))


def _primary(figures: list[dict[str, Quantity]]) -> str:
    """The figure that most runs give, the first one named where several do."""
    counts = Counter(name for found in figures for name in found)
    first = Counter(next(iter(found)) for found in figures if found)
    return max(counts, key=lambda n: (counts[n], first[n]), default="")


def _falling(entries: list[Entry]) -> bool:
    if any(map(_is_commit, entries)):
        return False
    numbers = [int(m[0]) for e in entries if (m := re.search(r"\d{1,9}", e.label))]
    return len(numbers) > 2 and sum(b < a for a, b in zip(numbers, numbers[1:], strict=False)) * 2 > len(numbers)


def _is_commit(entry: Entry) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{7,40}", entry.label))


def _run(entry: Entry, figures: dict[str, Quantity], metric: str, path: Path) -> Run:
    status = _status(entry)
    outcome = outcome_of(status) if status else Outcome.OTHER
    metrics: list[Metric] = [
        measured(
            name,
            said.value,
            raw=str(said.value),
            outcome=outcome,
            direction=direction_of(name),
            unit=said.unit,
            primary=name == metric,
        )
        for name, said in figures.items()
    ]
    fields, title = entry.fields, _title(entry)
    day = _DAY.search(fields.get("when", "")) or _DAY.search(entry.rest)
    number = _NUMBERED.fullmatch(entry.label)
    said = [(k, fields[k]) for k in ("change", "result") if fields.get(k) and fields[k] != title]
    return Run(
        Origin(path.name, entry.line.number, entry.line.digest),
        "worklog",
        label=number[1] if number else entry.label,
        status=status,
        outcome=outcome,
        description=title,
        primary=metric,
        metrics=tuple(metrics),
        hypothesis=fields.get("hypothesis", ""),
        mechanism=fields.get("mechanism", ""),
        reason=fields.get("reason", "") or _remark(entry) or " ".join(entry.other[:3])[:600],
        next_step=fields.get("next", ""),
        code=entry.label if _is_commit(entry) else "",
        created=day[1] if day else entry.day,
        notes=tuple(said),
    )
