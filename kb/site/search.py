"""The search index, made when the site is built, in the form that MiniSearch loads, as a script: so that it works from a file too.

Refuses stemming and stop lists: what is typed must be cut in the browser as it was cut here (`assets/kb.js`), and that stays simple.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping

from kb.page import Page, plain_text
from kb.site.body import Body
from kb.site.survey import Survey, tags_of

# Fields as MiniSearch numbers them: title; levers, tags, names; headings; the first words of the body.
FIELDS = ("title", "keys", "headings", "text")
# A word, or several that a sign joins (`nwarps=8`, `scoped_vmem_limit`, `v6e-8`): found whole and by its parts.
_WORDS = re.compile(r"\w+(?:[=.\-/]\w+)*")
_PARTS = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LONGEST = 40
_TEXT = 900
_HEADINGS = 30


def tokens_of(text: str) -> list[str]:
    """Words of a text, lower case; scripts without spaces are cut into pairs of signs."""
    made = []
    for whole in _WORDS.findall(text.lower()):
        parts = _PARTS.findall(whole)
        if (len(parts) > 1 or parts and parts[0] != whole) and len(whole) <= _LONGEST:
            made.append(whole)
        for part in parts:
            if _CJK.search(part):
                made += [part[n : n + 2] for n in range(max(1, len(part) - 1))]
            else:
                made.append(part[:_LONGEST])
    return made


def document_of(survey: Survey, page: Page, body: Body, text: str) -> list:
    """What the index keeps of a page: words of each field, and what a result shows."""
    facts = survey.facts.get(page.path)
    levers = [f"{v.name}={v.value}" if v.value else v.name for v in facts.levers] if facts else []
    keys = " ".join([*levers, *tags_of(page), page.stem, page.field("target"), facts.variant if facts else "", *page.symbols[:40]])
    headings = " ".join(h.title for h in body.headings[:_HEADINGS])
    prose = [line for line in text[:4000].split("\n") if not line.startswith(("#", "|", "```", "---", "<"))]
    lead = " ".join(plain_text("\n".join(prose)).split())
    told = " ".join([facts.because, facts.hypothesis] if facts else []) + " " + lead
    # Of catalogs of code names are looked for, not prose.
    fields = (page.title, keys, headings, "" if page.type == "catalog" else told[:_TEXT])
    counts = [Counter(tokens_of(f)) for f in fields]
    verdict = facts.verdict.canonical or "" if facts else page.field("status")[:30] if page.type == "hypothesis" else ""
    shown = [page.title[:200], page.type, facts.target if facts else page.field("target")[:80], verdict, (facts.because if facts and facts.because else lead)[:160]]
    return [[dict(c) for c in counts], shown]


def script_of(survey: Survey, documents: Mapping[str, list]) -> bytes:
    """The whole index as a script that hands MiniSearch's own JSON to the page; compiled indexes and catalogs of code stay out."""
    postings: dict[str, dict[int, dict[int, int]]] = {}
    lengths: dict[int, list[int]] = {}
    stored: dict[int, list] = {}
    chosen = [p for p in documents if p in survey.wiki.pages and survey.pages[p].type != "index"]
    for number, path in enumerate(chosen):
        counts, shown = documents[path]
        lengths[number] = [len(c) for c in counts]
        stored[number] = [survey.places[path], *shown]
        for field, count in enumerate(counts):
            for term, times in count.items():
                postings.setdefault(term, {}).setdefault(field, {})[number] = times
    size = len(chosen) or 1
    index = {
        "documentCount": len(chosen),
        "nextId": len(chosen),
        "documentIds": {n: n for n in range(len(chosen))},
        "fieldIds": {name: n for n, name in enumerate(FIELDS)},
        "fieldLength": lengths,
        "averageFieldLength": [sum(row[f] for row in lengths.values()) / size for f in range(len(FIELDS))],
        "storedFields": {n: {"d": row} for n, row in stored.items()},
        "dirtCount": 0,
        "index": sorted(postings.items()),
        "serializationVersion": 2,
    }
    data = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    # A string literal is read faster than an object literal; in single quotes it needs hardly an escape.
    quoted = data.replace("\\", "\\\\").replace("'", "\\'").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"kbSearchIndex('{quoted}');\n".encode("utf-8", "replace")
