"""What one run's page tells of the state that it leaves: its configuration, where its time goes, its memory, what it would do next.

Whole rows and sentences in the page's own words. Refuses to sum up: that is the matter of `state`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from kb import regex
from kb.page import Page
from kb.run.record import Lever
from kb.text import cut, numbers_in, sentences_of
from kb.trail.attempts import attempts_in
from kb.trail.facts import Account, Note, TableTry
from kb.trail.handles import numbers_named
from kb.trail.levers import key_of, levers_in, number_of
from kb.trail.outline import Passage, Phrases

# Headings below which a page says how it was run, where its time went, what is left to do, what it expected, and what it rests on.
_CONFIG = Phrases(
    "config, set-?up, stack, recipe, command, launch, environment, how to run, reproduc, hyper-?param, change"
)
_PROFILE = Phrases(
    "profil, bucket, breakdown, attribution, hot-?spot, op diff, (?:where )?(?:the )?time goes, trace"
)
LEADS = Phrases(
    "next, follow-?up, open (?:lead|hypothes|question), future work, path to, remaining, still on, direction, to try, untried"
)
_EXPECTED = Phrases("hypothes, falsif, predict, mechanism, expected, criteri")
_REFERENCES = Phrases("^see also, ^sources?, ^references?, ^related, ^links")
# A table of where time goes is headed by what it lists, and holds a share or a time.
_LISTED = Phrases(
    "categor, bucket, ops?\\b, hlo, kernel, function, symbol, phase, stage, component, module, layer, region, event"
)
_SPENT = Phrases("self, time, ms\\b, [uµ]s\\b, cycles, samples, total, share")
_MEMORY = Phrases(
    "hbm, vram, memory, rss, vmem, smem, heap, oom(?:s|ed|ing)?, overflow\\w*, overrun, peak, headroom, ceiling",
    whole=True,
)
_STORE = Phrases("hbm, vram, vmem, memory, rss, heap", whole=True)
_FILLED = regex(
    r"\b(?:hbm|v?ram|vmem|memory|rss|heap)\b[^.%]{0,24}\d\s?%|%[^.%]{0,16}\b(?:hbm|v?ram|vmem|memory|rss|heap)\b",
    re.I,
)
_BYTES = regex(r"\d[\d.,]*\s?(?:[KMGT]i?B|[KMG]\b|bytes\b)")
_GAIN = regex(
    r"[+\d](?:(?<=\+)\s?~?\d+(?:\.\d+)?\s?(?:%|pp\b)|(?<=\d)(?<!\w.)\d*\.\d+\s?[×x](?!\w)|(?<=[2-9])(?<!\w.)\d*[×x] (?:faster|less|fewer))"
)
_FIGURE = regex(r"\d[\d.,]*\s?(?:%|ms\b|us\b|µs\b|s\b|[KMGT]i?B\b|pp\b)")
_DEFERRED = Phrases(
    "next, revisit(?:ing|s)?, re-?test(?:ing|s)?, not (?:yet )?(?:tried|exercised|explored|covered), untried, unexplored, top lever, "
    "remaining levers?, deferred, future (?:work|\\w+ should), should (?:try|test|use|look), worth (?:a|re)?try\\w*",
    whole=True,
)
# What is run beside the measurement: its settings are none of the run's.
BESIDE = Phrases("^(?:checks?|build|compile|profile|profiler|tests?|verif\\w+)(?: command)?:")
_STACK = "(?:config\\w*|stack|recipe|settings?)"
_STATED = Phrases(
    ", ".join(
        f"{how} {_STACK}"
        for how in ("stable", "current(?:[- ]best)?", "best", "frontier", "final", "winning", "new")
    )
    + ", carr(?:y|ied)[- ]forward",
    whole=True,
)
# A spread in per cent beside a word for it.
_SPREAD = re.compile(
    r"(?:noise|spread|run-to-run|jitter|std)\b[^.±]{0,60}?±\s?\d[\d.]*\s?%|±\s?\d[\d.]*\s?%[^.±]{0,40}?(?:noise|spread|run-to-run|jitter)",
    re.I,
)
# A page of several runs: `exp27-28`.
_SEVERAL = re.compile(r"(?:exp|run|v)-?\d{1,4}[a-z]?-(\d{1,4})[a-z]?(?=-|$)")
_ADDRESS = regex(r"https?://\S+|gs://\S+|(?<!\S)[\w.<>-]*(?:/[\w.<>*-]+){2,}/?")
# What a run works on, not what it changes: figures taken at different ones are not compared.
_WORKLOAD = regex(
    r"(?:(?:max)?seq(?:uence)?|context|prompt|input|problem|image|grid)(?:len(?:gth)?|size)|(?:max)?seq|context|ctx|resolution"
)

_MOST = {
    "config": 14,
    "buckets": 14,
    "profile": 6,
    "memory": 6,
    "gains": 8,
    "leads": 10,
    "noise": 2,
    "attempts": 40,
}
_SHORTEST, _LONGEST, _LONGEST_CODE, _LONGEST_BUCKET = 8, 420, 900, 170
# A list item of fewer words that sets nothing is an id; a work of less than this no size of it.
_WORDS, _SMALLEST_WORK = 3, 16
# A breakdown names so many buckets at least, and they take so much of the time together, in per cent.
_FEWEST, _MOST_OF, _ALL = 3, 50, 101


def account_of(page: Page, passages: Sequence[Passage]) -> Account:
    """Account of a run's page."""
    several = _SEVERAL.search(page.stem)
    number = int(several[1]) if several else page.number
    parts: dict[str, dict[str, Note]] = {name: {} for name in (*_MOST, "deferred")}
    attempts: list[TableTry] = []
    score, buckets = 0, ()
    for passage in passages:
        upto = _latest(" ".join(passage.above), number)
        rows = [[cell.plain for cell in row.cells] for row in passage.rows]
        own_score, lines = buckets_of(rows, passage.above) if rows else (0, ())
        if own_score and own_score >= score:
            score, buckets = own_score, tuple(Note(line, upto) for line in lines)
        for attempt in attempts_in(rows, passage.above) if rows and not own_score else ():
            latest = max(upto, _latest(attempt.text, number))
            attempts.append(replace(attempt, upto=latest))
        for name, text, most in _table(rows, passage) if rows else _text(passage):
            text = cut(_unaddressed(text), most)
            # A lead may name the runs after this one.
            named = 0 if name in ("leads", "deferred") else _latest(text, number)
            if len(text) > _SHORTEST:
                parts[name].setdefault(text, Note(text, max(upto, named)))
    buckets = buckets or _breakdown(passages, parts["profile"], number)
    notes = {name: tuple(own.values()) for name, own in parts.items()}
    leads = notes["leads"] + notes.pop("deferred")
    notes |= {"buckets": buckets, "leads": leads, "attempts": tuple(attempts)}
    return Account(**{name: own[: _MOST[name]] for name, own in notes.items()})


def _unaddressed(text: str) -> str:
    return _ADDRESS.sub("…", text) if "/" in text else text


# What a passage tells: the part of the account that keeps it, the text, and how much of it.
_Told = tuple[str, str, int]


def _text(passage: Passage) -> Iterator[_Told]:
    own = passage.above[-1] if passage.above else ""
    if passage.kind == "fence":
        if _CONFIG.head(own) and not LEADS.head(own):
            yield "config", passage.text.replace("\\\n", " "), _LONGEST_CODE
    elif passage.kind == "paragraph" and LEADS.head(own):
        if passage.listed or len(passage.text) < _LONGEST:
            yield "leads", passage.text, _LONGEST
    elif passage.kind == "paragraph" and not _REFERENCES.head(own):
        yield from _prose(passage, own)


def _table(rows: list[list[str]], passage: Passage) -> Iterator[_Told]:
    named = sum("_" in row[0] for row in rows if len(row) == 2)
    if 2 * named > len(rows) and _CONFIG.head("".join(passage.above[-1:])):
        yield "config", ", ".join("=".join(row) for row in rows[1:]), _LONGEST_CODE
    for row in rows[1:]:
        values = " ".join(row[1:])
        held = _BYTES.search(values) or "%" in values and _STORE.search(row[0])
        if held and _MEMORY.search(row[0]):
            yield "memory", _paired(rows[0], row), _LONGEST
        elif _GAIN.search(values) and levers_in(row[0]):
            yield "gains", _paired(rows[0], row), _LONGEST


def _prose(passage: Passage, own: str) -> Iterator[_Told]:
    text = passage.text
    if _CONFIG.head(own) and not _GAIN.search(text):
        if passage.listed and text.count(" ") >= _WORDS or levers_in(text):
            yield "config", text, _LONGEST
    profiled = _PROFILE.head(" ".join(passage.above))
    # Most paragraphs say none of this, and need not be read by sentences.
    expected = _EXPECTED.search(f"{own} {text[:40]}") is not None
    spoken = [
        (name, says)
        for name, says in _SENTENCES[expected:]
        if (profiled if name == "profile" else says(text))
    ]
    deferred = not expected and not _CONFIG.head(own) and _DEFERRED.search(text)
    before = ""
    for sentence in sentences_of(text) if spoken or deferred else ():
        for name, says in spoken:
            if says(sentence):
                yield name, sentence, _LONGEST
        if deferred and _DEFERRED.search(sentence):
            # Behind it stands what it refers to: the sentence before it.
            yield "deferred", f"{sentence} [{before}]" if before else sentence, _LONGEST
        before = sentence


# What a sentence of a page says, by the part of the account that keeps it; that of a profile stands below its heading alone, and of memory,
# the first, nothing counts that is only expected.
_SENTENCES: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("memory", lambda text: _MEMORY.search(text) and (_BYTES.search(text) or _FILLED.search(text))),
    ("config", lambda text: _STATED.search(text) or text.count(" + ") >= 3),
    ("profile", lambda text: len(_FIGURE.findall(text)) >= (1 if len(text) < 120 else 2)),
    ("gains", lambda text: _GAIN.search(text) and levers_in(text)),
    ("noise", lambda text: "±" in text and _SPREAD.search(text)),
)


def _latest(text: str, own: int) -> int:
    """The highest number of a run that a text names beyond `own`; 0 for none."""
    return max((n for n in numbers_named(text) if n > own), default=0)


def _paired(header: Sequence[str], row: Sequence[str]) -> str:
    """A row of a table with the heads of its columns."""
    cells = [
        f"{h} {c}" if h and i else c
        for i, (h, c) in enumerate(zip(header, row, strict=False))
        if c.strip(" —-")
    ]
    return f"{cells[0]}: {'; '.join(cells[1:])}" if cells else ""


def buckets_of(rows: list[list[str]], above: tuple[str, ...]) -> tuple[int, list[str]]:
    """How surely a table tells where time goes, 0 for any other, and its rows."""
    header, body = rows[0], rows[1:]
    profiled, listed = any(map(_PROFILE.search, above)), bool(_LISTED.search(header[0]))
    spent = any(map(_SPENT.search, header[1:])) or any("%" in c for r in rows for c in r[1:])
    figures = sum(any(c[:1].isdigit() or c[:1] in "~<" for c in r[1:] if c) for r in body)
    # Below its heading, and headed as such, the table of a profile may be short.
    if not spent or figures < 3 - 2 * (listed and profiled) or not (listed or profiled):
        return 0, []
    lines = [" · ".join(c for c in r if c.strip(" —-")) for r in rows]
    # What lists operations with the bucket of each stands below the table of the buckets.
    finer = "bucket" in map(str.lower, header[1:])
    return 1 + 2 * profiled + 2 * listed - finer, [
        cut(line, _LONGEST_BUCKET) for line in lines if line
    ]


def _breakdown(
    passages: Sequence[Passage], profile: dict[str, Note], number: int
) -> tuple[Note, ...]:
    """Rows of the first sentence or list below a heading of a profile that lists where the time goes; what `profile` holds of it is taken out."""
    profiled = (p for p in passages if p.kind == "paragraph" and _PROFILE.head(" ".join(p.above)))
    groups = groupby(profiled, key=lambda p: (p.listed, p.above))
    lists = ([s for p in group for s in sentences_of(p.text)] for _, group in groups)
    texts = (text for own in lists for text in (*own, ", ".join(own)))
    text, rows = next(((t, rows) for t in texts if (rows := _shares_in(t))), ("", ()))
    for sentence in [t for t in profile if t in text]:
        del profile[sentence]
    return tuple(Note(row, _latest(text, number)) for row in rows)


def _shares_in(text: str) -> Sequence[str]:
    """The rows of a breakdown that a text lists: names with a share each, together most of the time; none of any other text."""
    pieces = [p.strip(" .") for p in text.replace(";", ",").split(", ")] * ("%" in text)
    shares = [next((n for n in numbers_in(p) if n.unit == "%"), None) for p in pieces]
    if (
        len(pieces) < _FEWEST
        or None in shares
        or not _MOST_OF < sum(n.value for n in shares) <= _ALL
    ):
        return ()
    cells = ((p[: n.start], p[n.start : n.end]) for p, n in zip(pieces, shares, strict=True))
    rows = (f"{name.rstrip(' :=(~').rpartition(': ')[2]} · {share}" for name, share in cells)
    return "bucket · share", *rows


def settings_of(page: Page, account: Account, *texts: str) -> tuple[Lever, ...]:
    """What a page says its run was set to: front matter's `config`, then its configuration's own lines, then `texts`."""
    settings: dict[str, Lever] = {}
    config = page.front.get("config")
    for name, value in config.items() if isinstance(config, dict) else ():
        settings[key_of(str(name))] = Lever(str(name), str(value))
    notes = [n.text for n in account.config if not n.upto and not BESIDE.search(n.text)]
    # A clause that names the run itself says how it differs from what the clauses beside it tell.
    own = (c for n in notes if "; " in n for c in n.split("; ") if page.number in numbers_named(c))
    for text in (*own, *notes, *texts):
        for lever in levers_in(text):
            key = key_of(lever.name)
            if (
                (lever.value or lever.name.startswith("-"))
                and key
                and "," not in lever.value
                and not (key in settings and settings[key].value)
            ):
                settings[key] = lever
    return tuple(v for key, v in settings.items() if not is_alias(key, v, settings))


def is_alias(key: str, lever: Lever, settings: Mapping[str, Lever]) -> bool:
    """Whether a longer name has the same value: `bs` beside `batch_size`, `seq` beside `seqlen`."""
    same = ((k, v.name.lower().replace("_", "-").split("-")) for k, v in settings.items() if v.value == lever.value and len(k) > len(key))  # fmt: skip
    return any(k.startswith(key) or "".join(w[:1] for w in words) == key for k, words in same)


def point_of(settings: Sequence[Lever]) -> str:
    """The size of what a run works on, as `name=value`; empty where it does not say."""
    works = (number_of(v.value) for v in settings if _WORKLOAD.fullmatch(key_of(v.name)))
    return next((f"{n:.0f}" for n in works if n and n >= _SMALLEST_WORK), "")
