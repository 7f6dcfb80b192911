"""What a page or a proposal wants to move: its levers, the words of its claim, where it is tried. One reader for both.

Refuses what came after: verdicts, results and profiles are no part of an aim, and neither is what it predicts.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from msgspec.structs import replace

from kb import regex
from kb.page import Page, read
from kb.refuted.moves import (
    Move,
    Role,
    clauses,
    difference,
    is_held,
    move_of,
    moves_in,
    parts_of_name,
    plain_words,
    pulled,
    united,
)
from kb.refuted.naming import BRACKETED, name_of_run, subject_of
from kb.run.direction import direction_of
from kb.run.record import Lever
from kb.schema import outcome_verdict
from kb.store import digest_of
from kb.text import (
    STOP,
    day_of,
    in_digits,
    numbers_in,
    numbers_in_words,
    sentences_of,
    stem,
    words_of,
)
from kb.text.reports import ReportKind, report_of
from kb.trail.levers import direction_in, key_of, mentions_in, number_of
from kb.trail.outline import Passage, passages_of


@dataclass(frozen=True, slots=True)
class Aim:
    """What a text wants to move. `terms` counts the parts that hold a word; `point` are settings with numbers, moved or not;
    `command` are the settings of a whole command; `wording` is the digest of the claim's words.
    """

    terms: dict[str, float]
    moves: tuple[Move, ...] = ()
    direction: str = ""
    point: tuple[Lever, ...] = ()
    command: tuple[Move, ...] = ()
    wording: str = ""


# Headings and labels of what is known only afterwards, and of what leads elsewhere.
_AFTER = regex(
    r"verdict|result|outcome|profil|\bnext\b|follow|conclusion|lesson|finding|analysis|observ|post-?mortem|\bstatus|update|ledger|source|"
    r"reference|see also|evidence|\bdump|artifact|\blog\b|why it (?:failed|lost)|decision",
    re.IGNORECASE,
)
_FORECAST = regex(
    r"predict|expect|falsif|refuted if|success criteri|decision rule|reopen|acceptance|risk",
    re.IGNORECASE,
)
# How a run is made says more than what it changes.
_SETTING_UP = regex(
    r"set-?up|method|measure|hardware|environment|launch|how to|reproduc|baseline|\bconfig",
    re.IGNORECASE,
)
_CLAIM = regex(r"hypothesis|claim|statement|proposal|idea", re.IGNORECASE)
_CHANGE = regex(r"chang|diff|arm|phase|what|levers?$", re.IGNORECASE)
_ASIDE = regex(
    r"mechan|reason|why|note|context|background|motivation|because|reopen", re.IGNORECASE
)
_LABEL = regex(
    r"(?<!\S)([A-Z][a-z'/-]{2,24}(?: [a-z\d'/-]{1,20}){0,3}|^levers?)(?: \([^()]*\))?:(?:\s+(?![\d.]+$)|$)"
)
# No person says what is moved in more; what a machine may have poured into a title or a cell is cut.
_LONGEST, _LONGEST_WORD = 4000, 400
_BLANKS = regex(r"(\s)\s{3,}")
_MOST_MOVES = 24
# A shorter text is said by chance.
_WORDING = 6


@dataclass(frozen=True, slots=True)
class _Part:
    """One stretch of a text: claim, aside (mechanism, other sections) or setup; `moved`: what it sets is the change."""

    kind: str
    text: str
    moved: bool = False
    code: bool = False
    label: str = ""
    moves: tuple[Move, ...] = ()


def readable(text: str) -> str:
    return text if len(text) <= _LONGEST_WORD else _BLANKS.sub(r"\1", text)[:_LONGEST]


def aim_of_page(page: Page, text: str, *, because: str = "") -> Aim:
    """Aim of an experiment's page; `because` adds words of its verdict, which say what the lever ran into."""
    slug = page.field("hypothesis")
    slug = slug if " " in slug else slug.replace("-", " ")
    head = [
        _Part("title", readable(text), text is not slug)
        for text in (subject_of(readable(page.title)), slug)
        if text and not day_of(text) and not day_of(f"{text} 2000")
    ]
    declared = [w for w in (*page.words("levers"), *page.words("lever")) if len(w) <= _LONGEST_WORD]
    return _aim(
        [*head, _Part("name", name_of_run(page.path)), *_untold(_parts(text))],
        declared,
        because=because,
        variant=page.field("variant"),
    )


def aim_of_proposal(text: str, levers: Iterable[str] = ()) -> Aim:
    """Aim of a proposal: free text, or a page's labels, with the levers that it declares."""
    if text.startswith("---\n"):
        front = read("proposal.md", text.encode("utf-8", "replace"))
        levers = (*levers, *front.words("levers"), *front.words("lever"))
    parts = list(_parts(text))
    labelled = [
        w.strip(" `")
        for p in parts
        if p.label.lower() in ("lever", "levers")
        for w in p.text.split(", ")
    ]
    return _aim(parts or [_Part("claim", readable(text))], [w for w in (*levers, *labelled) if w])


def aim_of_text(text: str, *, because: str = "") -> Aim:
    """Aim of one sentence or list item; `because` adds words of what else is said of it."""
    return _aim([_Part("claim", readable(text))], [], because=because)


def _aim(parts: list[_Part], declared: list[str], *, because: str = "", variant: str = "") -> Aim:
    commands = [moves for p in parts if p.code for moves in _commands(p.text)]
    plain = [p for p in parts if not (p.code and _commands(p.text))]
    pairs = (w.partition("=")[::2] for w in declared)
    groups = [tuple(move_of(n.strip(), v.strip(), role=Role.DECLARED) for n, v in pairs)]
    groups += [_moves_of(part) for part in plain]
    moves = united([*groups, _of_commands(commands, plain)])[:_MOST_MOVES]
    claims = [p.text for p in plain if p.kind in ("title", "claim")] or [""]
    return Aim(
        _terms(plain, moves, because=because),
        moves,
        direction_in(claims[0], " ".join(claims[1:])[:400]),
        _point([readable(variant), *(p.text * (p.kind != "name") for p in parts)]),
        commands[0] if commands else (),
        _wording([p.text for p in plain if p.label and _CLAIM.search(p.label)] or claims),
    )


def _moves_of(part: _Part) -> tuple[Move, ...]:
    """The levers of one part, none of a name; where it tells how a run is made, what it sets is where the run stands."""
    if part.kind == "name":
        return ()
    if part.kind != "setup":
        return part.moves or moves_in(part.text, moved=part.moved)
    moves = part.moves or moves_in(part.text)
    return tuple(m if m.is_moved else replace(m, role=Role.HELD) for m in moves)


def _untold(parts: Iterable[_Part]) -> Iterator[_Part]:
    """The parts of a page; of what no heading or label calls a claim, the first sentence and what stands before the one that tells first
    what came of it, further paragraphs only where none does; and any that gives a setting its value.
    """
    opening = 1
    for part in parts:
        if part.kind == "claim" and not (part.code or _CLAIM.search(part.label)):
            sentences = sentences_of(part.text)
            before = opening + sum(1 for _ in takewhile(_is_before, sentences[opening:]))
            # What stands below the opening tells what came of it, or nothing of it.
            before *= bool(opening) or before == len(sentences)
            kept = " ".join((*sentences[:before], *filter(_has_setting, sentences[before:])))
            part, opening = _Part(part.kind, kept, part.moved, moves=part.moves), 0
        yield part


def _is_before(sentence: str) -> bool:
    """Whether a sentence tells nothing of what came of a change: no verdict, no report, no signed figure."""
    if any(map(sentence.__contains__, "+-−")) and any(n.signed for n in numbers_in(sentence)):
        return False
    return not outcome_verdict(sentence) and report_of(sentence)[0] in (None, ReportKind.OPEN)


def _has_setting(sentence: str) -> bool:
    mentions = mentions_in(sentence) if "=" in sentence else ()
    return any(m.value and "=" in sentence[m.start : m.end] for m in mentions)


def _wording(claims: list[str]) -> str:
    words = words_of(" ".join(claims))
    return digest_of(" ".join(words)) if len(words) >= _WORDING else ""


# What a page is about stands in its title and in the names of what it moves; why it failed speaks of much else.
TOPIC, REASON = 2.0, 0.5


def _terms(parts: Iterable[_Part], moves: Iterable[Move], *, because: str) -> dict[str, float]:
    """How much of the text each word and number carries. A lever that does not stay is counted as well, by its key, and carries nothing."""
    moved = [m for m in moves if m.role is not Role.HELD]
    terms = {term: REASON for term in terms_in(because)}
    about = pulled(moved)
    # What it sets beside the levers that it declares is where it stands.
    beside = (f"{m.name} {m.value}" for m in moved if m.role is Role.SET and m not in about)
    stands = terms_in(" ".join(beside))
    texts = ((p.kind in ("title", "name"), p.text) for p in parts if p.kind != "setup")
    for is_topic, text in sorted(texts):
        weight = TOPIC if is_topic else 1.0
        terms |= dict.fromkeys(terms_in(" ".join(clauses(text))) - stands, weight)
    for move in about:
        terms |= dict.fromkeys(terms_in(f"{move.name} {move.value}"), TOPIC)
    terms |= {"=" + m.key: 0.0 for m in moved}
    return {term: terms[term] for term in sorted(terms) if terms[term] or term[0] == "="}


def _parts(text: str) -> Iterator[_Part]:
    """What a page or a proposal says before it is tried, passage by passage."""
    above: tuple[str, ...] = ()
    label = ""
    for passage in passages_of(in_digits(text)):
        if passage.kind == "heading" or _is_after(passage.above):
            above, label = passage.above, ""
            continue
        label = label if passage.above == above else ""
        above = passage.above
        is_text = passage.kind == "paragraph"
        for own, plain in _labels(passage) if is_text else (("", passage.text),):
            label = own or label
            about = label or "".join(above[-1:])
            if _FORECAST.search(about) or is_text and _is_after((label,)):
                continue
            if passage.kind == "table":
                nameless = not passage.rows[0].cells[0].plain
                is_form = all(len(row.cells) == 2 for row in passage.rows) and nameless
                yield from _sheet(passage) if is_form else _rows(passage)
            else:
                shown = readable(plain.replace("\\\n", " "))
                yield _Part(_kind(about), shown, code=not is_text, label=about)


@lru_cache(maxsize=1 << 12)
def _is_after(above: tuple[str, ...]) -> bool:
    return any(map(_AFTER.search, above))


def _labels(passage: Passage) -> list[tuple[str, str]]:
    """The labels that open a paragraph and its sentences, and what each says; of no known kind only where it is set off by itself."""
    text = passage.text
    starts = [m for m in _LABEL.finditer(text) if is_known(m[1])]
    if starts:
        ends = [*(m.start() for m in starts[1:]), len(text)]
        head = text[: starts[0].start()]
        own = [(m[1], text[m.end() : end].strip()) for m, end in zip(starts, ends, strict=True)]
        return [*([("", head)] if head else []), *own]
    if is_known(passage.label) or passage.bold and passage.label:
        return [(passage.label, passage.behind)]
    return [("", text)]


@lru_cache(maxsize=1 << 12)
def is_known(label: str) -> bool:
    kinds = (_AFTER, _FORECAST, _SETTING_UP, _CLAIM, _CHANGE, _ASIDE)
    return any(kind.search(label) for kind in kinds) or is_held(label)


def labelled(text: str, label: str) -> str:
    """What stands behind a label that opens a paragraph, the last one of that name."""
    passages = passages_of(text) if label in text.lower() else ()
    return next((p.behind for p in reversed(passages) if p.label == label), "")


@lru_cache(maxsize=1 << 12)
def _kind(heading: str) -> str:
    if _SETTING_UP.search(heading) or is_held(heading):
        return "setup"
    return "claim" if not heading or _CLAIM.search(heading) or _CHANGE.search(heading) else "aside"


# A cell of more letters is a sentence.
_LONGEST_NAME = 40
_OLD = regex(r"parent|before|base|old|from|current|control|default", re.IGNORECASE)


def _rows(table: Passage) -> Iterator[_Part]:
    """Rows of a table of settings: where it has a column of what was before, each moves what stands first; what stays the same says nothing."""
    head = [c.plain for c in table.rows[0].cells]
    old = next((i for i, h in enumerate(head) if i and _OLD.search(h)), 0)
    for row in table.rows[1:]:
        cells = [c.plain for c in row.cells]
        new = next((i for i in range(1, len(cells)) if i != old), 0)
        if not old or not new or len(cells) <= max(old, new):
            yield _Part("claim", readable(" ".join(cells)))
            continue
        before, after = (BRACKETED.sub("", cells[i]).strip() for i in (old, new))
        if before != after:
            text = f"{cells[0]}: {before} → {after}"
            move = move_of(cells[0], f"{before}→{after}", role=Role.MOVED)
            moves = (move,) if 1 < len(move.key) <= _LONGEST_NAME else ()
            yield _Part("claim", readable(text), moves=moves)


def _sheet(table: Passage) -> Iterator[_Part]:
    """Rows of a form, a label and what it says in each, but those that tell what came of it."""
    for label, text in ((c.plain for c in row.cells) for row in table.rows):
        if not (_FORECAST.search(label) or _AFTER.search(label) or direction_of(label)):
            yield _Part(_kind(label).replace("claim", "aside"), readable(text), label=label)


_FLAG = regex(r"\s--?[A-Za-z]")


def _commands(code: str) -> list[tuple[Move, ...]]:
    """What each line of code that runs a program with flags sets."""
    commands = []
    for line in code.split("\n"):
        words = [w for w in line.lstrip("$ ").split() if not re.match(r"[A-Za-z_]\w*=", w)]
        if _FLAG.search(line) and words and re.match(r"[\w./]", words[0]):
            named = (move_of(m.name, m.value, role=Role.NAMED) for m in mentions_in(line))
            commands.append(tuple({m.key: m for m in named if m.is_setting}.values()))
    return commands


def _of_commands(commands: list[tuple[Move, ...]], plain: Iterable[_Part]) -> tuple[Move, ...]:
    """What differs between the commands of one text is moved; of one alone, what its words speak of."""
    if not commands:
        return ()
    if len(commands) > 1:
        return difference(commands[0], commands[1])
    words = {_stem(word) for part in plain for word in plain_words(part.text)}
    return tuple(
        replace(m, role=Role.MOVED)
        if any(
            stem(p) in words
            for p in parts_of_name(m.name.removeprefix("-D"))
            if len(p) > 2 and p in m.key
        )
        else m
        for m in commands[0]
    )


@lru_cache(maxsize=512)
def terms_in(text: str) -> frozenset[str]:
    """Distinct words of a text as stems, those of names one by one, and its numbers in whatever unit (`64 KiB` and 65536 are one)."""
    words = plain_words(text)
    numbers = {n.value for n in numbers_in_words(text)}
    numbers |= {value for w in words if w[:2] == "0x" and (value := number_of(w)) is not None}
    for number in numbers_in(text):
        value = number_of(text[number.start : number.end])
        numbers |= {number.value, number.value if value is None else value}
    return frozenset((*map(_stem, words), *(f"#{n:g}" for n in numbers))) - {""}


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """Stem of a word that says something, in one of its spellings (`optimise`, `colour`, `mapped`); empty for any other, a letter and digits."""
    if word in STOP or word.isdigit() or len(word) == 1 and word.isascii():
        return ""
    bare = stem(stem(word))
    bare = bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1].isalpha() else bare
    return bare.replace("is", "iz").replace("our", "or")


# "32k tokens", "128 generated tokens": how much of what a run works on. Starts with the digit, which is found fast.
_COUNTED = regex(
    r"(?P<value>\d(?<![\w.=/-]\d)[\d,]*[kKM]?)[ -](?:[a-z]+ )?(?P<name>tokens|threads|layers|heads|chips|gpus|devices|hosts|"
    r"nodes|rows|users|clients|requests|warps|workers|images|samples)\b"
    r"(?!/)",
    re.IGNORECASE,
)


def _point(texts: Iterable[str]) -> tuple[Lever, ...]:
    point: dict[str, Lever] = {}
    for text in texts:
        for mention in mentions_in(text):
            if mention.value and number_of(mention.value) is not None:
                point.setdefault(key_of(mention.name), Lever(mention.name, mention.value))
        for m in _COUNTED.finditer(text):
            point.setdefault(m["name"].lower(), Lever(m["name"].lower(), m["value"]))
    return tuple(point.values())
