"""Words that tell levers apart: identifiers whole and in parts, stems, numbers. Refuses lists of one domain's words: rarity
decides.

A term's weight in a text says how much of what is changed it carries: clauses that name what stays fixed weigh little.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.]*[A-Za-z0-9]|[A-Za-z]|\d+(?:,\d{3})*(?:\.\d+)?")
# What makes a number a result or a forecast: 42.7 %, 1.3x, 20 ms, 7,613/chip, 6,942 tok/s.
_MEASURED = r"\s?(?:%|×|x\b|pp\b|[mµu]?s\b|[A-Za-z]*/[A-Za-z])"
_FIGURE = re.compile(_MEASURED)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Z])")
# A setting with its number, however it is written: `bs=4`, `bs4`, `batch 4`.
_SETTING = re.compile(
    r"(?<![A-Za-z0-9])([A-Za-z]{1,12})(?:[_-]size)?[= -]?(\d+(?:\.\d+)?[kKM]?)(?![A-Za-z0-9.%]*[A-Za-z0-9%]|" + _MEASURED + ")"
)
_MASKED = re.compile(r"\[[A-Z]{2,5}\]")

# English that carries no lever; everything else is weighed by how rare it is in the wiki at hand.
_STOP_WORDS = """
    a about above add after again against all alone already also an and any are as at be because been before being below best
    better between both bring but by can change clean compare confirm could did do does done down during each earlier either
    else enough even ever every exceed exp experiment expect few first for found from further gain get give given go good
    had has have help here hold how however hypothesis if improve in instead into is it its itself just keep larg last later
    least left less let like likely look lower made make many may maybe mean might more most move much must near need new
    next no none nor not now of off on once one only onto or other otherwise our out over own page per possible prior put
    rather reach read reason remain remove replace result run same say see seen set should show since single so some still stay step such
    suppose swap switch take test than that the their them then there these they thing this those though through thus time to too total
    toward tried try two under until up upon us use valid value versus very via vs was way we well were what when where
    whether which while who why will with within without work would yet you
"""
_SUFFIXES = ("ations", "ation", "ings", "ing", "ers", "er", "ed", "es", "s")


def stem(word: str) -> str:
    """A word without its common endings: rough, the same for both sides of a comparison."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4 and not word.endswith("ss"):
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


_STOP = frozenset(form for word in _STOP_WORDS.split() for form in (word, stem(word)))


@lru_cache(maxsize=1 << 15)
def _forms(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(terms that a word is by itself, stems of its parts with those that carry nothing empty)."""
    parts = (
        [word]
        if word.isalpha() and word[1:].islower()
        else [p for piece in re.split(r"[_.]+", word) if piece for p in _CAMEL.split(piece)]
    )
    stems = tuple(stem(p.lower()) for p in parts if not p.isdigit())
    whole = [s for s in stems if len(s) > 1 and s not in _STOP] + [p for p in parts if p.isdigit() and len(p) > 1]
    return (*whole, *(["=" + re.sub(r"[_.]+", "", word.lower())] if len(parts) > 1 else [])), tuple(
        ["" if s in _STOP else s for s in stems]
    )


def terms_in(text: str) -> set[str]:
    """Distinct terms of a text: identifiers as `=whole_name`, their parts and words as stems, neighbouring parts joined,
    numbers of two digits and more.
    """
    if "[" in text:
        text = _MASKED.sub(" ", text)
    found = {stem(m[1].lower()) + m[2].lower() for m in _SETTING.finditer(text) if m[1].lower() not in _STOP}
    last = ""
    for m in _WORD.finditer(text):
        word = m[0]
        if word[0].isdigit():
            if len(word) > 1 and not _FIGURE.match(text, m.end()):
                found.add(word.replace(",", ""))
            last = ""
            continue
        whole, stems = _forms(word)
        found.update(whole)
        for part in stems:
            if last and part:
                found.add(last + part)
            last = part
        if not stems or text[m.end() : m.end() + 1] not in (" ", "-"):
            last = ""
    return found


# Where a clause may end: behind a full stop or a bracket, at a line end, before "and CHANGE" or "but". Starts with the blank, which is found fast.
_CLAUSE = re.compile(
    r"\s(?:(?<=[.!?;)]\s)\s*|(?<=\n)\n*|\s*(?=but\s|and\s+(?:change|add|set|enable|disable|raise|lower|replace|switch|"
    r"increase|reduce|remove|only|turn|use)\b))"
)
# "instead of X", "unlike X,": what follows, to the next comma, is what is not done.
_CONTRAST = re.compile(r"(?:^|\s)(?=(?:instead of|rather than|unlike|as opposed to|compared (?:to|with))\s)", re.IGNORECASE)
_CONTRASTING = ("instead of ", "rather than ", "unlike ", "as opposed to ", "compared to ", "compared with ")
# And before a bracket that holds settings.
_BRACKET = re.compile(r"\([^()]*[,=/][^()]*\)")
# Both of these are looked for in lower case.
_FIXED = re.compile(
    r"\b(?:keep\w*|kept|fixed|unchanged|reus\w+|as (?:before|is)|stays?\b|held|otherwise identical|same (?:as|config|shape|"
    r"image|stack)|do(?:es)? not (?:carry|change)|"
    r"frontier config|base(?:line)? config|rather than|instead of|unlike|as opposed to|compared (?:to|with)|identical to|leaves|left at|currently|by default|still (?:has|at|"
    r"uses|leaves|runs)|config\s*[+=]|image\b|launch)"
)
_MOVED = re.compile(
    r"\b(?:only change|chang\w+ only|add\w* only|sets? only|enabl\w+|disabl\w+|add(?:s|ing)?|switch\w*|replac\w+|"
    r"increas\w+|rais\w+|reduc\w+|lower\w*|"
    r"shrink\w*|grow\w*|swap\w*|remov\w+|offload\w*|fus(?:e|ing)|forc\w+|bump\w*|pin\w*|tun\w+|try|tests? whether|isolate)\b"
)


# The terms and the levers of an aim are read from the same texts, one after the other.
@lru_cache(maxsize=64)
def clauses(text: str) -> tuple[tuple[str, float], ...]:
    """Clauses of a text with how much each says about what is moved: 1.5 moved, 1 neutral, 0.25 fixed."""
    found: list[tuple[str, float]] = []
    fixed_before = False
    for clause in _split(text):
        if not clause or clause.isspace():
            continue
        lower = clause.lower()
        moved, fixed = bool(_MOVED.search(lower)), bool(_FIXED.search(lower)) or (fixed_before and clause.startswith("("))
        found.append((clause, 0.25 if fixed and not (moved and re.search(r"\bonly\b", clause)) else 1.5 if moved else 1.0))
        fixed_before = fixed
    return tuple(found)


def _split(text: str) -> Iterator[str]:
    cuts = [m.span() for m in _CLAUSE.finditer(text)]
    if "(" in text:
        cuts = sorted([*cuts, *((m.start(), m.start()) for m in _BRACKET.finditer(text))])
    lower = text.lower()
    contrasts = any(words in lower for words in _CONTRASTING)
    at = 0
    for start, end in (*cuts, (len(text), len(text))):
        if contrasts:
            yield from _contrasted(text[at:start])
        else:
            yield text[at:start]
        at = end


def _contrasted(clause: str) -> Iterator[str]:
    """A clause with what it sets itself against apart."""
    for part in _CONTRAST.split(clause):
        comma = part.find(", ") if part.lower().startswith(_CONTRASTING) else -1
        yield part if comma < 0 else part[:comma]
        if comma >= 0:
            yield part[comma + 2 :]


def weigh(fields: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Weight of every term of some fields (text, weight of the field): a term counts once a field, at its strongest clause."""
    weights: dict[str, float] = {}
    for text, field_weight in fields:
        best: dict[str, float] = {}
        for clause, said in clauses(text):
            for term in terms_in(clause):
                if said > best.get(term, 0.0):
                    best[term] = said
        for term, said in best.items():
            weights[term] = weights.get(term, 0.0) + field_weight * said
    # Sets of texts have another order in every process.
    return dict(sorted(weights.items()))
