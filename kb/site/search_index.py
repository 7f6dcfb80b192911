"""The search of the site as scripts, so that it works from a file too: a list of pages that is read
first, the words of the wiki in buckets, and the texts of pages in folders, each read when a search
needs it. After an edit, the words of the pages that changed take the place of those they had.

Refuses to cut words: they are those of the compiled tables (`kb.search.postings`), and
`assets/search.js` cuts what is typed as those were cut.
"""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from kb import store
from kb.search import chunks_in
from kb.search.postings import postings_in, postings_of, text_of_words
from kb.search.query import CAPTURED
from kb.site.captures import place_of_source, text_of_capture
from kb.site.raw_html import anchor_of
from kb.site.survey import Survey, tags_of
from kb.site.templating import plain_title
from kb.source import Source
from kb.text.words import foreign_forms

# As many buckets as keep one near 30 kB on a wiki of four thousand pages.
BUCKETS = 128
# Pages whose texts share a file.
_TOGETHER = 48
# Of a catalog's names, and of a captured text, as much is searched.
_MOST_SEARCHED = 30_000
# Longest place, title, type, target, verdict and names that the list holds.
_LONGEST = (1000, 200, 40, 80, 30, 400)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_HELD = re.compile(r"([0-9a-z]+)([A-Z])")

# Of a page: its place, title, type, target, verdict, and names by which it is found beside its title.
Entry = tuple[str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class SiteWords:
    """Every word with its pages: their numbers in base 36, each closed by a capital that says how often
    (A once, Z 26 times and more). `pages` are the paths, in the order of their numbers, each with a
    digest of its text; `code` is that which cut the words.
    """

    code: str
    pages: dict[str, str]
    words: dict[str, str]


def scripts_of(
    survey: Survey, db: sqlite3.Connection, kept: store.Kept
) -> dict[str, tuple[str, Callable[[], bytes]]]:
    """The files of the search by place, each with a key and what gives its bytes. Indexes stay out."""
    entries = dict(sorted(_entries(survey)))
    sources = {f"sources/{s.id}": s for s in survey.captures.sources}
    pages = {
        path: store.digest_of(repr(sources[path]))
        if path in sources
        else survey.wiki.pages[path].digest
        for path in entries
    }
    text_of = partial(_text_of, survey.layout, db, sources)
    code = store.made_by()
    before = kept.last("words", SiteWords)
    is_near = before is not None and before.code == code and list(before.pages) == list(pages)
    make = partial(_after, before) if is_near else partial(_from_nothing, db, survey)
    known = kept.of("words", (code, pages), SiteWords, lambda: make(code, pages, text_of))
    lengths = dict(db.execute("select path, sum(length(text)) / 8 from chunk group by path"))
    rows = [
        [*(part[:most] for part, most in zip(entry, _LONGEST, strict=True)), lengths.get(path, 0)]
        for path, entry in entries.items()
    ]
    files: dict[str, tuple[object, Callable[[], object]]] = {"pages": (rows, lambda: rows)}
    some = list(pages.items())
    for at in range(0, len(some), _TOGETHER):
        group = some[at : at + _TOGETHER]
        texts = partial(_texts, survey, db, sources, [path for path, _ in group])
        files[f"text-{at // _TOGETHER}"] = (code, group), texts
    buckets: dict[int, dict[str, str]] = defaultdict(dict)
    for word in sorted(known.words):
        buckets[bucket_of(word)][word] = known.words[word]
    files |= {f"words-{n}": (words, lambda words=words: words) for n, words in buckets.items()}
    return {
        f"kb-search/{name}.js": (store.digest_of(store.row_of(key)), partial(_script, name, give))
        for name, (key, give) in files.items()
    }


def _entries(survey: Survey) -> Iterator[tuple[str, Entry]]:
    for path, page in survey.wiki.pages.items():
        if page.type == "index":
            continue
        facts = survey.facts.get(path)
        names = [*tags_of(page), page.stem]
        status = page.field("status") if page.type == "hypothesis" else ""
        target, verdict = page.field("target"), status
        if facts:
            names = [*(v.text for v in facts.levers), *names, facts.variant]
            target, verdict = facts.target, facts.verdict.canonical or ""
        place = survey.places[path]
        yield (
            path,
            (place, plain_title(page.title), page.type, target, str(verdict), " ".join(names)),
        )
    for source in survey.captures.sources:
        title, place = plain_title(source.title or source.id), place_of_source(source.id)
        yield f"sources/{source.id}", (place, title, CAPTURED, "", "", source.id)


def _text_of(
    layout: store.Layout, db: sqlite3.Connection, sources: Mapping[str, Source], path: str
) -> str:
    """The words of a page or of a captured source as a text."""
    if path not in sources:
        return text_of_words(db, path)
    text = _captured(layout, sources[path])
    return " ".join([text, *foreign_forms(text)])


def _captured(layout: store.Layout, source: Source) -> str:
    text = f"{source.title} {source.origin} {text_of_capture(layout, source)[0]}"
    return text[:_MOST_SEARCHED]


def _texts(
    survey: Survey, db: sqlite3.Connection, sources: Mapping[str, Source], paths: Iterable[str]
) -> dict[int, list[tuple[str, str, str]]]:
    """Sections of some pages as results quote them: anchor, title, text."""
    texts = {}
    for n, path in enumerate(paths):
        if path in sources:
            texts[n] = [("", "", _captured(survey.layout, sources[path]))]
        else:
            sections = chunks_in(db, path)
            texts[n] = [(anchor_of(c.anchor), c.title, c.text[:_MOST_SEARCHED]) for c in sections]
    return texts


def _from_nothing(
    db: sqlite3.Connection,
    survey: Survey,
    code: str,
    pages: Mapping[str, str],
    text_of: Callable[[str], str],
) -> SiteWords:
    codes = {path: _base36(n) for n, path in enumerate(pages)}
    wiki = survey.wiki.pages
    apart = [p for p in pages if p not in wiki or wiki[p].type == "catalog"]
    often = [chr(64 + n) for n in range(27)]
    words: dict[str, str] = {}
    for posting in (postings_of(db, but=apart), postings_in((p, text_of(p)) for p in apart)):
        for word, counts in posting:
            held = [codes[p] + often[min(26, n)] for p, n in sorted(counts.items()) if p in codes]
            if held:
                words[word] = _merged(words.get(word, ""), "".join(held))
    return SiteWords(code, dict(pages), words)


def _after(
    before: SiteWords, code: str, pages: Mapping[str, str], text_of: Callable[[str], str]
) -> SiteWords:
    """The same words after the texts of some pages changed."""
    words = dict(before.words)
    for n, (path, digest) in enumerate(pages.items()):
        if before.pages[path] == digest:
            continue
        number = _base36(n)
        own = re.compile(rf"(?<![0-9a-z]){number}[A-Z]")
        counts = {w: c[path] for w, c in postings_in([(path, text_of(path))])}
        for word in [w for w, held in words.items() if number in held]:
            words[word] = own.sub("", words[word])
        for word, count in counts.items():
            words[word] = _merged(words.get(word, ""), f"{number}{chr(64 + min(26, count))}")
    return SiteWords(code, dict(pages), {w: held for w, held in words.items() if held})


def _merged(some: str, more: str) -> str:
    """Two lists of the pages of a word as one, by number."""
    if not some or not more:
        return some or more
    both = [*_HELD.findall(some), *_HELD.findall(more)]
    return "".join(n + often for n, often in sorted(both, key=lambda one: (len(one[0]), one[0])))


def bucket_of(word: str) -> int:
    """Bucket of a word by its first two signs, so that words that begin alike stand together."""
    first, second = (*map(ord, word[:2]), 0)[:2]
    return (first * 31 + second) % BUCKETS


def _base36(number: int) -> str:
    digits = _DIGITS[number % 36]
    while number := number // 36:
        digits = _DIGITS[number % 36] + digits
    return digits


def _script(name: str, give: Callable[[], object]) -> bytes:
    """A value as a script that hands it over. A string literal is read faster than an object
    literal; in single quotes it needs hardly an escape.
    """
    data = json.dumps(give(), ensure_ascii=False, separators=(",", ":"))
    quoted = data.replace("\\", "\\\\").replace("'", "\\'")
    quoted = quoted.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"kbSearch('{name}','{quoted}');\n".encode("utf-8", "replace")
