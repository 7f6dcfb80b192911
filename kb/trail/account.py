"""What one run's page tells of the state that it leaves: its configuration, where its time goes, its memory, what it would do next.

Whole rows and sentences in the page's own words. Refuses to sum up: that is the matter of `state`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb.page import Page, plain_text
from kb.page.text import cells_of
from kb.run.record import Lever
from kb.trail.levers import key_of, levers_in, number_of

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
_SIZE = re.compile(r"\d[\d.,]*\s?(?:[KMGT]i?B?\b|%|bytes)")
_STATED = re.compile(
    r"\b(?:stable|current(?:[- ]best)?|best|frontier|final|winning|new) (?:config\w*|stack|recipe|settings?)\b|carr(?:y|ied)[- ]forward",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z0-9`(\"'\[*])")
_PLACE = re.compile(r"https?://\S+|gs://\S+|(?<!\S)[\w.<>-]*(?:/[\w.<>*-]+){2,}/?")
_RULER = re.compile(r"[\s|:-]+$")
_FIGURE = re.compile(r"\d[\d.,]*\s?(?:%|ms\b|us\b|µs\b|s\b|[KMGT]i?B\b|pp\b)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
# What a run works on, not what it changes: figures taken at different ones are not compared.
_WORKLOAD = re.compile(
    r"(?:max)?seq(?:uence)?(?:len(?:gth)?|size)?|context(?:len(?:gth)?|size)?|ctx|(?:prompt|input|problem|image|grid)(?:len(?:gth)?|size)|resolution"
)

_MOST = {"config": 14, "buckets": 14, "profile": 6, "memory": 6, "leads": 8}
_LONGEST = 420


@dataclass(frozen=True, slots=True)
class Account:
    """Lines of one page: `config` how it was run, `buckets` the rows of its profile's table under their header, `profile` what it
    says of it in sentences, `memory` what it needed and what did not fit, `leads` what it leaves to try.
    """

    config: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, list item, fence or table of a page, with the headings that it stands under."""

    kind: str
    heading: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def _blocks(page: Page, lines: Sequence[str]) -> Iterator[_Block]:
    fences = {a: b for a, b in page.fences}
    headed = {h.line: h for h in page.headings}
    above: list[tuple[int, str]] = []
    held: list[str] = []
    kind = "text"
    at = page.body_line

    def title() -> str:
        return " > ".join(t for _, t in above)

    def flushed() -> Iterator[_Block]:
        nonlocal held, kind
        if held:
            if kind == "table":
                cells = tuple(tuple(plain_text(c).strip() for c in cells_of(r)) for r in held if not _RULER.match(r))
                yield _Block("table", title(), rows=cells)
            else:
                yield _Block(kind, title(), " ".join(plain_text(" ".join(held)).split()))
        held, kind = [], "text"

    while at <= len(lines):
        line = lines[at - 1].lstrip("> ") if lines[at - 1].startswith(">") else lines[at - 1]
        if at in headed:
            yield from flushed()
            level = headed[at].level
            above = [a for a in above if a[0] < level] + ([(level, headed[at].text)] if level > 1 else [])
        elif at in fences:
            yield from flushed()
            yield _Block("code", title(), "\n".join(lines[at : max(at, fences[at] - 2)]))
            at = fences[at]
            continue
        elif not line.strip() or line.startswith("<!--"):
            yield from flushed()
        elif line.lstrip().startswith("|"):
            if kind != "table":
                yield from flushed()
            kind = "table"
            held.append(line)
        else:
            bullet = _BULLET.match(line)
            if bullet or kind == "table":
                yield from flushed()
            if bullet:
                kind = "item"
            held.append(line[bullet.end() :] if bullet else line.strip())
        at += 1
    yield from flushed()


def sentences(text: str) -> list[str]:
    """Sentences of one paragraph."""
    return [s for s in _SENTENCE.split(text) if s]


def account_of(page: Page, lines: Sequence[str]) -> Account:
    """Account of a run's page, given as its lines."""
    parts: dict[str, list[str]] = {name: [] for name in _MOST}
    best: tuple[int, list[str]] = (0, [])

    def add(name: str, text: str) -> None:
        text = " ".join(_PLACE.sub("…", text).split())
        if text and text not in parts[name] and len(text) > 8:
            parts[name].append(text)

    for block in _blocks(page, lines):
        own = block.heading.rpartition(" > ")[2]
        if block.kind == "table":
            score, rows = _buckets(block)
            if score and score >= best[0]:
                best = (score, rows)
            for row in block.rows[1:]:
                if row and _MEMORY.search(row[0]) and _SIZE.search(" ".join(row[1:])):
                    add("memory", _paired(block.rows[0], row))
        elif block.kind == "code":
            if _CONFIG.search(own) and not _LEADS.search(own):
                add("config", _command(block.text))
        elif _LEADS.search(own) or _LEADS.search(block.heading):
            if block.kind == "item" or len(block.text) < _LONGEST:
                add("leads", block.text)
        else:
            if _CONFIG.search(own) and (block.kind == "item" or levers_in(block.text)):
                add("config", block.text)
            profiled = _PROFILE.search(block.heading)
            for sentence in sentences(block.text):
                if _MEMORY.search(sentence) and _SIZE.search(sentence):
                    add("memory", sentence)
                if _STATED.search(sentence) or sentence.count(" + ") >= 3:
                    add("config", sentence)
                if profiled and len(_FIGURE.findall(sentence)) >= (1 if len(sentence) < 120 else 2):
                    add("profile", sentence)
    parts["buckets"] = best[1]
    return Account(**{name: tuple(cut(t, _LONGEST) for t in texts[: _MOST[name]]) for name, texts in parts.items()})


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters, ended at a sentence or clause where one ends in its second half, else at a word."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    at = max(head.rfind(end) for end in (". ", "; ", " — ", "), "))
    return (head[: at + 1] if at > most // 2 else head.rsplit(" ", 1)[0]).rstrip(" ,;:—(") + " …"


def _command(code: str) -> str:
    return " ".join(code.replace("\\\n", " ").split())


def _paired(header: Sequence[str], row: Sequence[str]) -> str:
    """A row of a table with the heads of its columns."""
    cells = [f"{h} {c}" if h and i else c for i, (h, c) in enumerate(zip(header, row, strict=False)) if c.strip(" —-")]
    return f"{cells[0]}: {'; '.join(cells[1:])}" if cells else ""


def _buckets(block: _Block) -> tuple[int, list[str]]:
    """How surely a table tells where time goes, 0 for any other, and its rows."""
    if len(block.rows) < 3 or not block.rows[0]:
        return 0, []
    header, body = block.rows[0], block.rows[1:]
    heading = bool(_PROFILE.search(block.heading))
    spent = any(_SPENT.search(h) for h in header[1:]) or any("%" in c for r in body for c in r[1:])
    figures = sum(any(c[:1].isdigit() or c[:1] in "~<" for c in r[1:]) for r in body)
    listed = bool(_LISTED.search(header[0]))
    if not spent or figures < 3 or _UNLISTED.search(header[0]) and not listed or not (listed or heading):
        return 0, []
    rows = [" · ".join(c for c in r if c.strip(" —-")) for r in (header, *body)]
    return 1 + 2 * heading + 2 * listed, [cut(r, 170) for r in rows if r]


def settings_of(page: Page, account: Account, *texts: str) -> tuple[Lever, ...]:
    """What a page says its run was set to: front matter's `config`, then its configuration's own lines, then `texts`."""
    found: dict[str, Lever] = {}
    config = page.front.get("config")
    for name, value in config.items() if isinstance(config, dict) else ():
        found[key_of(str(name))] = Lever(str(name), str(value))
    for text in (*account.config, *texts):
        for lever in levers_in(text):
            key = key_of(lever.name)
            if (lever.value or lever.name.startswith("-")) and key and (key not in found or not found[key].value):
                found[key] = lever
    return tuple(found.values())


def point_of(settings: Sequence[Lever]) -> str:
    """The size of what a run works on, as `name=value`; empty where it does not say."""
    for lever in settings:
        if _WORKLOAD.fullmatch(key_of(lever.name)) and (number := number_of(lever.value)) is not None and number >= 16:
            return f"{number:.0f}"
    return ""
