"""Words of text and of queries: plain words, identifiers whole and in parts. Knows no tables."""

import re
import unicodedata
from functools import lru_cache
from itertools import chain

# Longer wholes are hashes, URLs and paths: nobody asks for them by heart.
_LONGEST_NAME = 60

_TOKEN = re.compile(r"(?<![A-Za-z0-9])(?![A-Za-z][a-z]+(?![A-Za-z0-9_=.\-:]))[A-Za-z0-9][A-Za-z0-9_=.\-:]+")
_JOINER = re.compile(r"[_=.\-:]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_LETTER = re.compile(r"[A-Za-z]")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)")

# Words that carry no question; rarer ones are weighed down by their own frequency.
STOP = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "may",
        "might",
        "more",
        "most",
        "must",
        "no",
        "not",
        "of",
        "off",
        "on",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "same",
        "should",
        "since",
        "so",
        "some",
        "still",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "up",
        "use",
        "used",
        "using",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def without_links(text: str) -> str:
    """Markdown with the addresses of its links gone and their texts kept."""
    # Split at links, a text alternates with the texts of its links: joined again, many times faster than by a template.
    return "".join(_LINK.split(text)) if "](" in text else text


def names_of(text: str) -> list[str]:
    """Identifiers of a text as single words: `scoped_vmem_limit_kib` → scopedvmemlimitkib, `nwarps=8` → nwarps8 (and nwarps stands in the
    text itself), `--a_b=1` → ab1 and ab, `CamelCase` → camelcase, camel, case. What FTS5 splits or keeps whole by itself is left out."""
    # Most of a text is plain words, which have no other form: they are passed over before the pattern looks.
    dense = " ".join([w for w in text.split() if not (w.isalpha() and (w.islower() or w.istitle()))])
    return list(chain.from_iterable(map(_forms, _TOKEN.findall(dense))))


@lru_cache(maxsize=1 << 16)
def _forms(raw: str) -> tuple[str, ...]:
    raw = raw.rstrip("_=.-:")
    if len(raw) > _LONGEST_NAME or not _LETTER.search(raw):
        return ()
    found: list[str] = []
    squeezed = _JOINER.sub("", raw)
    if squeezed != raw:
        found.append(squeezed.lower())
        left = raw.partition("=")[0]
        if left != raw and _JOINER.search(left):
            found.append(_JOINER.sub("", left).lower())
    if not raw.islower() and not raw.isupper():
        humps = _HUMP.split(raw)
        if len(humps) > 1:
            found.extend(p.lower() for h in humps for p in _WORD.findall(h) if len(p) > 1)
    return tuple(found)


def _folded(word: str) -> str:
    """A word as the tables keep it: small letters without accents (`Größe` → große)."""
    word = word.lower()
    return word if word.isascii() else "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def terms_of(query: str) -> list[str]:
    """Words to ask for, most telling forms included, without stop words and repeats, in the order of the query."""
    text = without_links(query)
    words = [_folded(w) for w in _WORD.findall(text)] + names_of(text)
    return list(dict.fromkeys(w for w in words if w not in STOP and (len(w) > 1 or w.isdigit())))
