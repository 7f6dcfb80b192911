"""Journals with one heading a run: `### Run 4: fuse the loops — total_ms=9.1 (KEEP)`, or one bold beginning: `**Exp98 DISCARD** rsm=0.8`.

A heading is a run if it carries a run's number, commit or day and most such headings of the page say
how it came out. Sentences are no runs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.formats.columns import Role, quantity_of
from kb.formats.reading import Ask, Line, Remark, Segment, text_lines
from kb.formats.registry import Event, Format
from kb.formats.table import Record, layout_of, runs_of
from kb.run.direction import direction_of
from kb.run.quantity import bare, to_quantity
from kb.run.record import Outcome, is_status, outcome_of

_KIND = r"(?:runs?|exp|experiments?|iter|iterations?|trials?|attempts?|rounds?|candidates?|cycles?|loops?|tries|try)"
_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?:\s[A-Z]{3,4}\b)?")
_LABEL = re.compile(
    rf"(?:\[(?P<status>[A-Za-z_ -]+)\]\W*)?(?:(?P<kind>{_KIND}\s*[#-]?\s*(?P<number>\d+(?:[-–.]\d+)*[a-z]?))"
    r"|(?P<code>[A-Z]{1,3}-?\d+[a-z]?|#\d+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}))\b",
    re.IGNORECASE,
)
_DASHES = re.compile(r"\s+(?:—|–|--?|→|=>|·)\s+")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_NUMBER = r"\**`?([+\-−]?(?:\d[\d.,]*)?\d(?:[eE][+\-]?\d+)?)"
_PAIR = re.compile(rf"([^\s=,;:|(]{{1,60}})\s*=\s*{_NUMBER}(?:\s?([A-Za-zµ%][\w/%]*)(?!\s*=))?")
_SPOKEN = re.compile(r"(?<![\w.])([A-Za-z][\w/]{0,60})[\s:=]+\**([+\-−]?\d[\d.,]{0,30}(?:[eE][+\-]?\d+)?)(?![\w.]*\d)")
_FIELD = re.compile(r"[\s>*+-]*([A-Za-z][\w'/@ -]{1,30}?)(?:\s{0,3}\([^)]*\))?\s{0,3}\**\s{0,3}[:.]\**\s+(.*)$")
_BOLD = re.compile(r"[\s>*+-]*\*\*([^*]{2,80})\*\*(.*)")
_VERDICT = re.compile(r"[\s>*+-]*(?:verdict|status|decision|outcome|disposition|action|(result))\b[\W_]{1,6}(.*)", re.IGNORECASE)
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
_FIXED = {
    "id": Role.ID,
    "commit": Role.CODE,
    "description": Role.TEXT,
    "reason": Role.TEXT,
    "date": Role.TIME,
    "change": Role.NOTE,
    "result": Role.NOTE,
}
# Enough of a part to say what was learned; the journal itself holds the rest.
_LONGEST = 1500
# A longer heading is text that lost its line ends.
_LONGEST_HEADING = 500
_DECIDED = (Outcome.KEPT, Outcome.DISCARDED)
_ORNAMENTS = " ★⭐✅❌✔✗*"


@dataclass(slots=True)
class Entry:
    """One run of a journal and what stands below it, by part; `other` are lines of no part, `section` the heading above."""

    line: Line
    level: int
    label: str = ""
    code: str = ""
    rest: str = ""
    day: str = ""
    decision: str = ""
    section: str = ""
    numbered: bool = False
    parts: dict[str, str] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)

    def say(self, key: str, text: str) -> None:
        """Add text to a part, or to what belongs to none."""
        text = text.strip().removeprefix("- ").removeprefix("* ").removeprefix("+ ")
        if not key:
            self.other.append(text)
        elif len(self.parts.get(key, "")) < _LONGEST:
            self.parts[key] = f"{self.parts.get(key, '')} {text}".strip()

    @property
    def status(self) -> str:
        """What was decided, as written: in the heading's brackets or after its last dash, in a line `Verdict: KEPT`, in a sentence `Kept.`"""
        texts = [m[1] for m in _BRACKETS.finditer(self.rest)]
        texts += [_BRACKETS.sub("", p) for p in _DASHES.split(self.rest)]
        words = [word for text in texts if (word := status_in(text))]
        words += [self.rest[-1]] if self.rest[-1:] in ("✅", "❌") else []
        decided = [w for w in words if outcome_of(w) is not Outcome.OTHER]
        below = [self.decision] if self.decision else words or self._sentences()
        return (decided or below or [self.section])[-1]

    def _sentences(self) -> list[str]:
        text = " ".join([*self.other, *self.parts.values()])
        parts = re.split(r"[.!,;]\s", f"{text} ")
        return [p for p in parts if len(p.split()) < 3 and p.strip().isascii() and outcome_of(p) in _DECIDED]

    @property
    def is_run(self) -> bool:
        """Numbered, or dated or named with something below that says how it came out."""
        return self.numbered or outcome_of(self.decision) in _DECIDED or bool(self.decision and self.day)


def status_in(text: str) -> str:
    """The status word that a part of a heading begins with (`REJECTED first, then ACCEPTED`: the later one); empty where it is other text."""
    _, _, later = text.rpartition("then ")
    for words in (later if "then " in text else "", text):
        begun = re.match(r"\W*([A-Za-z][A-Za-z_-]*)\s*(?=[,;:!*★⭐✅❌✓✗().\]/]|first\b|$)|\W*([A-Z][A-Z_-]{2,})\b", words)
        word = (begun[1] or begun[2]) if begun else ""
        if word and is_status(word):
            return word
    return ""


def entries_of(path: Path) -> list[Entry]:
    """Headings and bold beginnings with what stands below them, those that are runs alone; one label is one run."""
    entries: list[Entry] = []
    entry: Entry | None = None
    fence, into, day, section, part = False, "", "", ("", 0), ""
    for line in text_lines(path):
        text = line.text.strip()
        fence ^= text.startswith(("```", "~~~"))
        if fence:
            continue
        level = len(text) - len(text.lstrip("#")) if text.startswith("#") else 0
        if 0 < level < 6 and text[level : level + 1] == " ":
            heading = bare(text[level:].strip()[:_LONGEST_HEADING])
            opened = _opened(line, level, heading) if level > 1 else None
            if entry and not opened and level > entry.level and (entry.numbered or _part_of(heading)):
                _decide(entry, heading)
                part, into = _part_of(heading), ""
                continue
            dated = _DAY.search(heading)
            day = dated[1] if dated and not (opened and opened.numbered) else day
            if level <= section[1] or not opened:
                decides = len(heading) < 40 and outcome_of(heading) in _DECIDED and not opened
                section = (heading, level) if decides else section if level > section[1] else ("", 0)
            entry = opened or Entry(line, level, rest=heading)
            entry.day, entry.section, into, part = entry.day or day, section[0], "", ""
            entries.append(entry)
        elif run_in := _run_in(line, day):
            entry, into, part = run_in, "", ""
            entries.append(entry)
        elif len(text) > 2 and not text.strip("-=*"):
            into = ""
        elif entry and entry.level == 7 and not text:
            entry = None
        elif entry:
            into = _add(entry, line.text, into, part)
    return _distinct([e for e in entries if e.is_run])


def _part_of(heading: str) -> str:
    """The part of a run that a heading below it names: `Result`, `Verdict: KEEP`."""
    return _NAMED.get(heading.partition(":")[0].strip().lower(), "")


def _opened(line: Line, level: int, heading: str) -> Entry | None:
    """The run that a heading opens, if it carries a run's number, commit or day."""
    dated = _DAY.match(heading.lstrip("[( "))
    begun = heading.lstrip("[( ")[dated.end() :] if dated else heading
    begun = re.sub(r"^[^\w\[#]+", "", begun[:20]) + begun[20:]
    label = _LABEL.match(begun)
    rest = begun[label.end() :] if label else begun
    if label and not (dated or label["kind"]) and rest[:1] not in ("", ":", ".", ")", "—", "–", "-") and not rest.startswith((" —", " –", " -", " (", ")")):
        label = None
    if not label:
        return Entry(line, level, rest=begun, day=dated[1]) if dated else None
    code = label["code"] or ""
    commit = code if len(code) > 6 and not code.startswith("#") else ""
    entry = Entry(line, level, (label["number"] or code).strip(), commit, rest.lstrip(":.)—–- "), numbered=True)
    entry.day = dated[1] if dated else ""
    if label["status"] and is_status(label["status"]):
        entry.decision = label["status"]
    return entry


def _run_in(line: Line, day: str) -> Entry | None:
    """The run that a bold beginning names and decides: `**Exp98 DISCARD** rsm=0.8`."""
    bold = _BOLD.match(line.text[:_LONGEST])
    listed = line.text.lstrip().startswith(("- ", "* ", "+ "))
    begun, rest = (bold[1], bold[2]) if bold else (line.text.lstrip(" *+-")[:80], "") if listed else ("", "")
    label = _LABEL.match(begun)
    if not label or not bold and not label["kind"]:
        return None
    told = begun[label.end() :].strip(" :—–-([")
    status = status_in(told) or status_in(rest.strip(" :—–-([") if bold else "")
    if not status or outcome_of(status) is Outcome.OTHER:
        return None
    rest = rest or line.text.partition(status)[2]
    entry = Entry(line, 7, (label["number"] or label["code"]).strip(), day=day, decision=status, numbered=True)
    entry.rest = rest.strip(" :—–-)]").partition(". ")[0].strip(".")
    for name, value in _SPOKEN.findall(rest):
        if direction_of(name):
            entry.figures.setdefault(name, value.rstrip(".,"))
    return entry


def _decide(entry: Entry, text: str) -> bool:
    """Read a line such as `Verdict: KEEP - it fits`; whether it was one."""
    said = _VERDICT.match(text[:_LONGEST])
    if not said:
        return False
    opening = re.split(r"[.;:,—–]|\s-\s", said[2].strip("* "), maxsplit=1)[0].strip("* ")
    word = status_in(said[2]) or (opening if len(opening.split()) < 4 and is_status(opening) else "")
    if not word or said[1] and outcome_of(word) is Outcome.OTHER:
        return False
    entry.decision = entry.decision or word
    entry.say("reason", said[2].strip("* ").removeprefix(word).lstrip("*.:;,-—– ✅❌"))
    return True


def _add(entry: Entry, text: str, into: str, part: str) -> str:
    """Put one line where it belongs: a part it names, the part it continues, the part it stands in. Gives the part that the next line may continue."""
    if _decide(entry, text):
        return ""
    named = _FIELD.match(text)
    key = _NAMED.get(named[1].strip().lower(), "") if named else ""
    if key:
        entry.say(key, named[2])
        return key
    if named and quantity_of(named[2]):
        entry.figures.setdefault(named[1].strip(), named[2].strip())
        return ""
    plain = text.strip()
    item = plain.startswith(("- ", "* ", "+ "))
    if not plain or plain.startswith("|"):
        cells = [c.strip() for c in plain.strip("|").split("|")]
        if len(cells) == 2 and quantity_of(cells[1]) and not quantity_of(cells[0]):
            entry.figures.setdefault(cells[0].strip("*` "), cells[1])
        return ""
    entry.say(into if into and not named and not item else part, plain)
    return into if not item or text[:1].isspace() else ""


def _distinct(entries: list[Entry]) -> list[Entry]:
    """Entries; bold beginnings that name a run again are no further run."""
    known: set[str] = set()
    again = [e.level == 7 and (e.label in known or bool(known.add(e.label))) for e in entries]
    return [e for e, twice in zip(entries, again, strict=True) if not twice]


def _figures(entry: Entry) -> dict[str, str]:
    """Figures by name: `name=value` of the heading, a lone quantity after a dash, then what the lines and the result say."""
    figures: dict[str, str] = {}
    parts = [_BRACKETS.sub("", p).strip(_ORNAMENTS) for p in _DASHES.split(entry.rest)[1:]]
    for part in parts:
        lone = to_quantity(part)
        if lone:
            figures.setdefault(f"result ({lone.unit})" if lone.unit else "result", part)
        for name, value, unit in _PAIR.findall(part):
            figures.setdefault(name.strip("*_`"), f"{value.rstrip('.,')} {unit}".strip())
    if not figures:
        result = entry.parts.get("result", "")
        for name, value, unit in _PAIR.findall(result):
            figures.setdefault(name.strip("*_`"), f"{value.rstrip('.,')} {unit}".strip())
        for name, value in _SPOKEN.findall(re.split(r"\bvs\b|\bfrom\b", result)[0]):
            if "_" in name or direction_of(name):
                figures.setdefault(name, value.rstrip(".,"))
    return entry.figures | figures


def _title(entry: Entry) -> str:
    """What was tried: the heading without its label, status and figures; else the change that its body names."""
    parts = [p for p in _DASHES.split(entry.rest) if p.strip()]
    first = parts[:1]
    for part in parts[1:] if first and not status_in(first[0]) and not _BRACKETS.search(first[0]) else ():
        # A plain title may hold a dash of its own.
        words = _BRACKETS.sub("", part)
        if not words.strip() or status_in(words) or any(map(str.isdigit, words)):
            break
        first.append(part)
    title = " - ".join(p.strip() for p in first)
    for bracket in _BRACKETS.finditer(title):
        if status_in(bracket[1]) or _DAY.search(bracket[1]):
            title = title.replace(bracket[0], "")
    title = bare(title.strip(f"{_ORNAMENTS}:"))
    if not title or outcome_of(status_in(title)) is not Outcome.OTHER or to_quantity(title):
        return entry.parts.get("change") or entry.parts.get("hypothesis") or " ".join(entry.other[:1])
    return title


def _record(entry: Entry) -> Record:
    parts, title = entry.parts, _title(entry)
    beside = (m[1].partition(",")[2] or m[1].partition(":")[2] for m in _BRACKETS.finditer(entry.rest) if status_in(m[1]))
    remark = next((t for t in beside if len(t) > 3), "")
    dated = _DAY.search(parts.get("when", "")) or _DAY.search(entry.rest)
    cells = {
        "id": entry.label,
        "commit": entry.code,
        "status": entry.status,
        "description": title,
        "hypothesis": parts.get("hypothesis", ""),
        "mechanism": parts.get("mechanism", ""),
        "reason": parts.get("reason", "") or remark.strip() or " ".join(entry.other[:3])[:600],
        "next": parts.get("next", ""),
        "date": dated[1] if dated else entry.day,
        **{k: parts[k] for k in ("change", "result") if parts.get(k) and parts[k] != title},
    }
    return Record(entry.line, {**_figures(entry), **cells})


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run an entry; a journal that begins with its newest run is read from its end."""
    entries = entries_of(path)
    records = [_record(e) for e in entries]
    decided = [outcome_of(e.status) for e in entries if e.status]
    figured = sum(bool(_figures(e)) for e in entries)
    if not decided or 2 * len(decided) < len(entries) or not set(decided) & set(_DECIDED) and 2 * figured < len(entries):
        yield Segment(0, 1, judged=False)
        yield Remark("no headings that number runs and say how they came out; read as text")
        return
    names = list(dict.fromkeys(n for r in records for n in r.cells))
    layout = layout_of(names, [r.cells for r in records], ask=ask, forced=_FIXED, least=len(records) / 3)
    falling = _falling(entries)
    if falling:
        records.reverse()
    yield from runs_of(records, layout, layout.segment(0, records[0].line.number), file=path.name, kind="worklog")
    if falling:
        yield Remark("the newest run stands first; read from the end")


def _falling(entries: list[Entry]) -> bool:
    """Whether numbers, or else days, fall down the page."""
    days = [e.day for e in entries if e.day]
    numbers = [] if any(e.code for e in entries) else [int(e.label) for e in entries if e.label.isdecimal() and len(e.label) < 9]
    order = numbers if len(numbers) > 2 else days if len(days) > 2 else []
    return 2 * sum(b < a for a, b in zip(order, order[1:], strict=False)) > len(order) - 1 > 0


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a page has headings or bold beginnings."""
    return path.suffix.lower() not in (".tsv", ".csv") and any(h.startswith(("##", "**", "- **")) for h in head)


FORMATS = (Format("worklog", recognise, read, order=32, aliases=("journal",)),)
