"""The search of the site as scripts, so that it works from a file too: a list of pages that is read
first, the words of the wiki in buckets, and the texts of pages in folders, each read when a search
needs it.

Refuses to cut words: they are those of the compiled tables (`kb.search.postings`), and
`assets/search.js` cuts what is typed as those were cut.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

# As many buckets as keep one near 30 kB on a wiki of four thousand pages.
BUCKETS = 128
# Pages whose texts share a file.
_TOGETHER = 48
# Longest place, title, type, target, verdict and names that the list holds.
_LONGEST = (1000, 200, 40, 80, 30, 400)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


# Of a page: its place, title, type, target, verdict, and names by which it is found beside its title.
Entry = tuple[str, str, str, str, str, str]
# A section as a result quotes it: anchor, title, text.
Passage = tuple[str, str, str]


def scripts_of(
    entries: Mapping[str, Entry],
    passages: Iterable[tuple[str, Passage]],
    postings: Iterable[tuple[str, Mapping[str, int]]],
) -> dict[str, bytes]:
    """The files of the search by place. `passages` are (path, section), `postings` every word with
    the pages that hold it and how often.
    """
    numbers = {path: n for n, path in enumerate(sorted(entries))}
    texts: dict[int, dict[int, list]] = defaultdict(lambda: defaultdict(list))
    lengths = [0] * len(numbers)
    for path, passage in passages:
        if path in numbers:
            number = numbers[path]
            lengths[number] += len(passage[2])
            texts[number // _TOGETHER][number % _TOGETHER].append(passage)
    files: dict[str, object] = {"pages": [_row(entries[p], lengths[n]) for p, n in numbers.items()]}
    files |= {f"text-{n}": some for n, some in texts.items()}
    files |= {f"words-{n}": words for n, words in _buckets(numbers, postings).items()}
    return {f"kb-search/{name}.js": _script(name, value) for name, value in files.items()}


def _row(entry: Entry, length: int) -> list:
    return [*(part[:most] for part, most in zip(entry, _LONGEST, strict=True)), length // 8]


def _buckets(
    numbers: Mapping[str, int], postings: Iterable[tuple[str, Mapping[str, int]]]
) -> dict[int, dict[str, str]]:
    """Words by bucket, each with its pages: their numbers in base 36, each closed by a capital that
    says how often (A once, Z 26 times and more).
    """
    codes = {path: _base36(n) for path, n in numbers.items()}
    often = [chr(64 + n) for n in range(27)]
    buckets: dict[int, dict[str, str]] = defaultdict(dict)
    for word, pages in postings:
        held = [codes[p] + often[min(26, n)] for p, n in sorted(pages.items()) if p in codes]
        written = "".join(held)
        if written:
            words = buckets[bucket_of(word)]
            words[word] = words.get(word, "") + written
    return buckets


def bucket_of(word: str) -> int:
    """Bucket of a word by its first two signs, so that words that begin alike stand together."""
    first, second = (*map(ord, word[:2]), 0)[:2]
    return (first * 31 + second) % BUCKETS


def _base36(number: int) -> str:
    digits = _DIGITS[number % 36]
    while number := number // 36:
        digits = _DIGITS[number % 36] + digits
    return digits


def _script(name: str, value: object) -> bytes:
    """A value as a script that hands it over. A string literal is read faster than an object
    literal; in single quotes it needs hardly an escape.
    """
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    quoted = re.sub(r"['\\]", r"\\\g<0>", data).replace("\u2028", "\\u2028")
    quoted = quoted.replace("\u2029", "\\u2029")
    return f"kbSearch('{name}','{quoted}');\n".encode("utf-8", "replace")
