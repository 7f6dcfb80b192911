"""Words of text and of questions in every script: plain words, identifiers whole and in parts, the stems of words. Knows no tables."""

import unicodedata
from functools import lru_cache
from itertools import chain

from kb import regex

# Longer wholes are hashes, URLs and paths: nobody asks for them by heart.
_LONGEST_NAME = 60

# What stands before one is passed over word by word.
_TOKEN = regex(
    r"(?:[^A-Za-z0-9]*+(?:[A-Za-z][a-z]*+|[0-9])(?![A-Za-z0-9_=.\-:]))*+[^A-Za-z0-9]*+(?:([A-Za-z0-9][A-Za-z0-9_=.\-:]+)|\Z)"
)
_JOINERS, _PLAIN = str.maketrans("", "", "_=.-:"), bytes(range(128))
_HUMP = regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = regex(r"[^\W_]+")
_NAME_WORD = regex(r"[a-z0-9]+")
# Begins with a sign that is found fast.
_LINK = regex(r"(?:!\[|\[)([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)")
# Scripts that set no blanks between words, or glue what bends a word to it: Thai, Lao, Khmer, Burmese, kana, Han, Hangul.
UNSPACED = regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)

# English that carries no question; rarer words are weighed down by their own frequency.
STOP = frozenset(
    """a about after all also an and any are as at be been before being between both but by can could did do does for from had
    has have how if in into is it its just may might more most must no not of off on one only or other our out over same should since
    so some still such than that the their them then there these they this those through to too under up use used using very was we were
    what when where which while who why will with would you your""".split()
)
_SUFFIXES = ("ations", "ation", "ings", "ing", "ers", "er", "ed", "es", "s")
# Endings that bend Russian nouns, adjectives and verbs, longest first.
_CYRILLIC = (
    "иями",
    "ями",
    "ами",
    "ого",
    "его",
    "ому",
    "ему",
    "ыми",
    "ими",
    "ией",
    "иях",
    "ий",
    "ый",
    "ой",
    "ая",
    "яя",
    "ое",
    "ее",
    "ые",
    "ие",
    "ов",
    "ев",
    "ей",
    "ам",
    "ям",
    "ах",
    "ях",
    "ом",
    "ем",
    "ия",
    "ью",
    "ую",
    "юю",
    "ать",
    "ить",
    "еть",
    "ет",
    "ит",
    "ют",
    "ут",
    "а",
    "я",
    "о",
    "е",
    "ы",
    "и",
    "у",
    "ю",
    "ь",
    "й",
)


def without_links(text: str) -> str:
    """Markdown with the addresses of its links gone and their texts kept."""
    # Split at links, a text alternates with the texts of its links: joined again, many times faster than by a template.
    return "".join(_LINK.split(text)) if "](" in text else text


# Letters of Latin scripts that Unicode does not take for a plain one with a mark.
_BARRED = str.maketrans(
    {"ł": "l", "đ": "d", "ø": "o", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"}
)


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """A word in small letters without accents (`Größe` → grosse, `Łódź` → lodz, `Ёлка` → елка, full width → plain)."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.casefold().translate(_BARRED))
    return unicodedata.normalize(
        "NFC", "".join(c for c in plain if unicodedata.category(c) != "Mn" or c in "\u3099\u309a")
    )


@lru_cache(maxsize=1 << 16)
def _split(word: str) -> tuple[str, ...]:
    """The folded forms of one word that is not plain ASCII: itself, or the pairs of its signs where its script sets no blanks."""
    forms: list[str] = []
    at = 0
    folded = fold(word)
    for run in UNSPACED.finditer(folded):
        forms += [folded[at : run.start()]] if run.start() > at else []
        forms += [run[0][n : n + 2] for n in range(len(run[0]) - 1)] or [run[0]]
        at = run.end()
    return (*forms, folded[at:]) if at < len(folded) else tuple(forms)


def words_of(text: str) -> list[str]:
    """Words of a text in order, folded; runs of scripts without blanks as overlapping pairs of signs (`编程模型` → 编程, 程模, 模型)."""
    text = without_links(text)
    return (
        _WORD.findall(text.lower())
        if text.isascii()
        else list(chain.from_iterable(map(_split, _WORD.findall(text))))
    )


def name_words(text: str) -> list[str]:
    """Words of a text as a file may be called by them: small letters and figures of ASCII."""
    return _NAME_WORD.findall(
        unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    )


def foreign_forms(text: str) -> list[str]:
    """What a table of plain words lacks to find the words of other scripts: their folded forms, pairs of signs and single signs."""
    if not any(map(str.isalnum, text.encode("utf-8", "replace").translate(None, _PLAIN).decode())):
        return []
    forms: list[str] = []
    # Most of a text is plain words: they are passed over before the pattern looks.
    for word in _WORD.findall(" ".join([w for w in text.split() if not w.isascii()])):
        if not word.isascii():
            forms += _split(word)
            for run in UNSPACED.findall(fold(word)):
                forms += run if len(run) > 1 else ()
    return forms


def names_of(text: str) -> list[str]:
    """Identifiers of a text as single words: `scoped_vmem_limit_kib` → scopedvmemlimitkib, `nwarps=8` → nwarps8 (and nwarps stands in the
    text itself), `--a_b=1` → ab1 and ab, `CamelCase` → camelcase, camel, case. What FTS5 splits or keeps whole by itself is left out."""
    return list(chain.from_iterable(map(_forms, _TOKEN.findall(text))))


@lru_cache(maxsize=1 << 16)
def _forms(raw: str) -> tuple[str, ...]:
    raw = raw.rstrip("_=.-:")
    if len(raw) > _LONGEST_NAME or raw.lower() == raw.upper():
        return ()  # A number, as most of those that are no words.
    forms: list[str] = []
    squeezed = raw.translate(_JOINERS)
    if squeezed != raw:
        forms.append(squeezed.lower())
        left = raw.partition("=")[0]
        if left != raw and (squeezed := left.translate(_JOINERS)) != left:
            forms.append(squeezed.lower())
    if not raw.islower() and not raw.isupper():
        humps = _HUMP.split(raw)
        if len(humps) > 1:
            forms.extend(p.lower() for h in humps for p in _WORD.findall(h) if len(p) > 1)
    return tuple(forms)


def terms_of(query: str) -> list[str]:
    """Words to ask for, most telling forms included, without stop words and repeats, in the order of the query."""
    words = [*words_of(query), *names_of(without_links(query))]
    return list(
        dict.fromkeys(
            w for w in words if w not in STOP and (len(w) > 1 or not w.isascii() or w.isdigit())
        )
    )


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A folded word without its common endings (English, Russian): rough, the same for both sides of a comparison."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if "\u0400" <= word[-1:] <= "\u04ff":
        return next(
            (
                word[: -len(end)]
                for end in _CYRILLIC
                if word.endswith(end) and len(word) - len(end) >= 3
            ),
            word,
        )
    for suffix in _SUFFIXES:
        rest = word[: -len(suffix)]
        if (
            word.endswith(suffix)
            and len(rest) >= 3
            and not word.endswith(("ss", "eed"))
            and _VOWEL.search(rest)
        ):
            word = rest
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


_VOWEL = regex("[aeiouy]")
