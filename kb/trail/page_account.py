"""What one run's page tells of the state that it leaves: its configuration, where its time goes, its memory, what it would do next.

Whole rows and sentences in the page's own words. Refuses to sum up: that is the matter of `state`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.page import Page, document_of
from kb.run.record import Lever
from kb.text import cut, sentences_of
from kb.trail.account import Account, Note
from kb.trail.levers import key_of, levers_in, number_of

if TYPE_CHECKING:
    from kb.page.document import Block

# Headings below which a page says how it was run, where its time went, and what is left to do.
_CONFIG = re.compile(r"config|set-?up|stack|recipe|command|launch|environment|how to run|reproduc|hyper-?param|change", re.I)
_PROFILE = re.compile(r"profil|bucket|breakdown|attribution|hot-?spot|op diff|time goes|trace", re.I)
_LEADS = re.compile(
    r"next|follow-?up|open (?:lead|hypothes|question)|future|path to|remaining|still on|direction|to try|untried", re.I
)
# A table of where time goes is headed by what it lists, and holds a share or a time; one of runs or settings lists something else.
_LISTED = re.compile(r"categor|bucket|\bops?\b|hlo|kernel|function|symbol|phase|stage|component|module|layer|region|event", re.I)
_SPENT = re.compile(r"%|share|self|time|\bms\b|\bus\b|µs|cycles|samples|total", re.I)
_UNLISTED = re.compile(r"metric|run\b|runs\b|knob|config|variant|step|exp\b|experiment|parameter|setting", re.I)
_MEMORY = re.compile(
    r"\b(?:hbm|vram|memory|rss|vmem|smem|heap|oom\w*|out of memory|overflow\w*|overrun|peak|headroom|ceiling)\b", re.I
)
_STORE = re.compile(r"\b(?:hbm|vram|vmem|memory|rss|heap)\b", re.I)
_BYTES = re.compile(r"\d[\d.,]*\s?(?:[KMGT]i?B|[KMG]\b|bytes\b)")
_GAIN = re.compile(r"\+\s?~?\d+(?:\.\d+)?\s?(?:%|pp\b)|\b\d+\.\d+\s?[×x](?!\w)|\b[2-9]\d*[×x] (?:faster|less|fewer)")
_DEFERRED = re.compile(
    r"\b(?:next|revisit\w*|re-?test\w*|not (?:yet )?(?:tried|exercised|explored|covered)|untried|unexplored|top lever|remaining levers?|"
    r"deferred|future (?:work|\w+ should)|should (?:try|test|use|look)|worth (?:a|re)?try\w*|reusable|durable|in place)\b",
    re.I,
)
# What a run expects of itself is no lead.
_EXPECTED = re.compile(r"hypothes|falsif|predict|mechanism|expected|criteri", re.I)
# Sections that list pages, and those that look back over later runs.
_REFERENCES = re.compile(r"^(?:see also|sources?|references?|related|links)\b", re.I)
_SUMMARY = re.compile(r"sweep|summary|ablation|result|correction|valid", re.I)
# The numbers of runs, alone or from one to another.
_RUNS = re.compile(r"(?<![\w.])(?:v|exps?\.? ?|experiments? |runs? )0*(\d{1,4})[a-z]?(?:\s?(?:[-–—]|to)\s?(?:v|exp ?)?0*(\d{1,4}))?(?![\d.]*\w)", re.I)
_STATED = re.compile(
    r"\b(?:stable|current(?:[- ]best)?|best|frontier|final|winning|new) (?:config\w*|stack|recipe|settings?)\b|carr(?:y|ied)[- ]forward",
    re.I,
)
_PLACE = re.compile(r"https?://\S+|gs://\S+|(?<!\S)[\w.<>-]*(?:/[\w.<>*-]+){2,}/?")
_FIGURE = re.compile(r"\d[\d.,]*\s?(?:%|ms\b|us\b|µs\b|s\b|[KMGT]i?B\b|pp\b)")
# What a run works on, not what it changes: figures taken at different ones are not compared.
_WORKLOAD = re.compile(
    r"(?:max)?seq(?:uence)?(?:len(?:gth)?|size)?|context(?:len(?:gth)?|size)?|ctx|(?:prompt|input|problem|image|grid)(?:len(?:gth)?|size)|resolution"
)

_MOST = {"config": 14, "buckets": 14, "profile": 6, "memory": 6, "gains": 8, "leads": 10}
_LONGEST = 420
# A list item of fewer words that sets nothing is an id.
_WORDS = 3


def account_of(page: Page, text: str) -> Account:
    """Account of a run's page and its text."""
    reading = _Reading(page.number)
    document = document_of(text)
    above: list[tuple[int, str]] = []
    for block in document.blocks:
        if block.kind == "heading":
            above = [a for a in above if a[0] < block.level] + ([(block.level, block.plain)] if block.level > 1 else [])
        elif block.kind in ("paragraph", "table", "fence", "code"):
            held = document.blocks[block.parent].kind if block.parent >= 0 else ""
            reading.read(block, tuple(t for _, t in above), listed=held == "item")
    parts = {**reading.parts, "buckets": reading.buckets[1], "leads": reading.parts["leads"] + reading.deferred}
    return Account(**{name: tuple(parts[name][:most]) for name, most in _MOST.items()})


class _Reading:
    """A page being read, block by block; open as long as that."""

    def __init__(self, number: int):
        self.number = number
        self.parts: dict[str, list[Note]] = {name: [] for name in _MOST}
        self.deferred: list[Note] = []
        self.buckets: tuple[int, list[Note]] = (0, [])

    def read(self, block: "Block", above: tuple[str, ...], *, listed: bool) -> None:
        own = above[-1] if above else ""
        upto = _latest(" ".join(above), self.number)
        if block.kind == "table":
            self._table([[cell.plain for cell in row.cells] for row in block.rows], above, upto)
        elif block.kind in ("fence", "code"):
            if _CONFIG.search(own) and not _LEADS.search(own):
                self._add("config", block.plain.replace("\\\n", " "), upto, most=900)
        elif _LEADS.search(own) and not _SUMMARY.search(own):
            if listed or len(block.plain) < _LONGEST:
                self._add("leads", block.plain, upto, whole=True)
        elif not _REFERENCES.search(own):
            self._prose(block.plain, above, upto, listed=listed)

    def _table(self, rows: list[list[str]], above: tuple[str, ...], upto: int) -> None:
        score, told = _buckets(rows, above)
        if score and score >= self.buckets[0]:
            self.buckets = (score, [Note(r, upto) for r in told])
        for row in rows[1:]:
            line = " ".join(row[1:])
            if row and _MEMORY.search(row[0]) and (_BYTES.search(line) or "%" in line and _STORE.search(row[0])):
                self._add("memory", _paired(rows[0], row), upto)
            elif row and _GAIN.search(line) and levers_in(row[0]):
                self._add("gains", _paired(rows[0], row), upto)

    def _prose(self, text: str, above: tuple[str, ...], upto: int, *, listed: bool) -> None:
        own = above[-1] if above else ""
        if _CONFIG.search(own) and (levers_in(text) or listed and text.count(" ") >= _WORDS) and not _GAIN.search(text):
            self._add("config", text, upto)
        profiled = _PROFILE.search(" ".join(above))
        whole = sentences_of(text)
        for place, sentence in enumerate(whole):
            if _MEMORY.search(sentence) and (_BYTES.search(sentence) or "%" in sentence and _STORE.search(sentence)):
                self._add("memory", sentence, upto)
            if _STATED.search(sentence) or sentence.count(" + ") >= 3:
                self._add("config", sentence, upto)
            if profiled and len(_FIGURE.findall(sentence)) >= (1 if len(sentence) < 120 else 2):
                self._add("profile", sentence, upto)
            if _GAIN.search(sentence) and levers_in(sentence):
                self._add("gains", sentence, upto)
            if _DEFERRED.search(sentence) and not _EXPECTED.search(f"{own} {text[:40]}"):
                first = place
                while first and len(" ".join(whole[first - 1 : place + 1])) <= _LONGEST:
                    first -= 1
                note = Note(cut(_PLACE.sub("…", " ".join(whole[first : place + 1])), _LONGEST), upto)
                self.deferred = [n for n in self.deferred if n.text not in note.text] + [note]

    def _add(self, name: str, text: str, upto: int, *, most: int = _LONGEST, whole: bool = False) -> None:
        text = cut(" ".join(_PLACE.sub("…", text).split()), most)
        if len(text) > 8 and all(n.text != text for n in self.parts[name]):
            self.parts[name].append(Note(text, upto if whole else max(upto, _latest(text, self.number))))


def _latest(text: str, own: int) -> int:
    """The highest number of a run that a text names beyond `own`; 0 for none."""
    return max((n for m in _RUNS.finditer(text) for g in m.groups() if g and (n := int(g)) > own), default=0)


def _paired(header: Sequence[str], row: Sequence[str]) -> str:
    """A row of a table with the heads of its columns."""
    cells = [f"{h} {c}" if h and i else c for i, (h, c) in enumerate(zip(header, row, strict=False)) if c.strip(" —-")]
    return f"{cells[0]}: {'; '.join(cells[1:])}" if cells else ""


def _buckets(rows: list[list[str]], above: tuple[str, ...]) -> tuple[int, list[str]]:
    """How surely a table tells where time goes, 0 for any other, and its rows."""
    if len(rows) < 3 or not rows[0]:
        return 0, []
    header, body = rows[0], rows[1:]
    profiled = any(map(_PROFILE.search, above))
    spent = any(map(_SPENT.search, header[1:])) or any("%" in c for r in body for c in r[1:])
    figures = sum(any(c[:1].isdigit() or c[:1] in "~<" for c in r[1:] if c) for r in body)
    listed = bool(_LISTED.search(header[0]))
    if not spent or figures < 3 or _UNLISTED.search(header[0]) and not listed or not (listed or profiled):
        return 0, []
    lines = [" · ".join(c for c in r if c.strip(" —-")) for r in (header, *body)]
    return 1 + 2 * profiled + 2 * listed, [cut(line, 170) for line in lines if line]


def settings_of(page: Page, account: Account, *texts: str) -> tuple[Lever, ...]:
    """What a page says its run was set to: front matter's `config`, then its configuration's own lines, then `texts`."""
    settings: dict[str, Lever] = {}
    config = page.front.get("config")
    for name, value in config.items() if isinstance(config, dict) else ():
        settings[key_of(str(name))] = Lever(str(name), str(value))
    for text in (*(n.text for n in account.config if not n.upto), *texts):
        for lever in levers_in(text):
            key = key_of(lever.name)
            if (lever.value or lever.name.startswith("-")) and key and "," not in lever.value and not (key in settings and settings[key].value):
                settings[key] = lever
    return tuple(v for key, v in settings.items() if not _is_alias(key, v, settings))


def _is_alias(key: str, lever: Lever, settings: Mapping[str, Lever]) -> bool:
    """Whether a longer name has the same value: `bs` beside `batch_size`, `seq` beside `seqlen`."""
    for other in settings.values():
        if other.value != lever.value:
            continue
        longer = key_of(other.name)
        initials = "".join(w[0] for w in re.split(r"[-_ ]+", other.name.strip("-")) if w)
        if len(longer) > len(key) and (longer.startswith(key) or initials.lower() == key):
            return True
    return False


def point_of(settings: Sequence[Lever]) -> str:
    """The size of what a run works on, as `name=value`; empty where it does not say."""
    for lever in settings:
        if _WORKLOAD.fullmatch(key_of(lever.name)) and (number := number_of(lever.value)) is not None and number >= 16:
            return f"{number:.0f}"
    return ""
