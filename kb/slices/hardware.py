"""What the target's own machine can do: typed quantities of claims and sections about that very hardware. None is better than another vendor's."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from kb import search
from kb.slices.excerpt import statements_of
from kb.slices.open_slice import OpenSlice
from kb.slices.question import Question
from kb.slices.view import View
from kb.text import cut

# Words of titles under which pages tell what a machine can do.
_TITLES = (
    "hardware", "envelope", "device", "devices", "roofline", "peak", "spec", "specs", "limit", "limits", "capacity", "constants", "environment", "machine", "ceiling",
)  # fmt: skip
_TYPES = ("concept", "source", "target", "observation", "codebase", "analysis")
_QUANTITY = re.compile(
    r"\d[\d.,]*\s*(?:[KMGT]i?B(?:/s|ps)?|[GTP]?FLOPs?(?:/s)?|TOPS|[GM]Hz|ns|W|cores?|lanes?|bytes?)\b"
)
# A line of a page that says what it ran on.
_LABEL = re.compile(
    r"(?:[-*|\s]*)(?:hardware|machine|host|devices?|accelerators?|gpus?|chips?|cpu|node|soc)\s*[:|=·]\s*(.+)",
    re.I,
)
# Models of machines: letters and digits together (h100, v6e, mi300x, m2), or digits behind a word (xeon 8480).
_MODEL = re.compile(
    r"(?<![\w.])(?:[a-z]{1,8}-?\d{1,5}[a-z]{0,4}|(?<=[a-z] )\d{3,5}[a-z]{0,3})(?![\w.])", re.I
)
# Of what has that shape, these are numbers of bits, sizes and counts.
_NO_MODEL = re.compile(
    r"(?:bf|fp|f|int|i|u|s|bs|b|seq|s|tp|dp|x|exp|run|step|py|cuda|cu|c|gcc|llvm)-?\d+\w?", re.I
)
# Fields of a target page that declare its hardware.
_FIELDS = ("hardware", "hardwares", "machine", "device", "gpu", "cpu")
_RUNS = 40
_LONGEST = 420


def machines_of(question: Question) -> frozenset[str]:
    """Names of the target's hardware, folded: those that its page declares, else those that most of its runs name, else those of the question."""
    front = question.page.front if question.page else {}
    if named := frozenset(_models(" ".join(str(front.get(f) or "") for f in _FIELDS))):
        return named
    runs = question.earlier[-_RUNS:]
    labels = (_LABEL.match(n.text) for e in runs for n in e.account.config)
    for texts in ([m[1][:160] for m in labels if m], [e.variant.rpartition("/")[2] for e in runs]):
        counts = Counter(m for text in texts for m in set(_models(text)))
        if counts:
            return frozenset(name for name, n in counts.items() if 2 * n > max(counts.values()))
    return frozenset(_models(f"{question.variant} {question.request.query}"))


def _models(text: str) -> Iterator[str]:
    for match in _MODEL.finditer(text.replace("/", " ").replace("_", " ")):
        if not _NO_MODEL.fullmatch(match[0]):
            yield re.sub(r"-\d{1,2}$", "", match[0].lower())


def names(machines: Collection[str], text: str) -> bool:
    """Whether a text names one of the machines, with or without its count of chips: v6e, v6e-8, v6e8."""
    return any(re.search(rf"(?<![a-z0-9]){re.escape(m)}(?![a-z])", text.lower()) for m in machines)


def bring_envelope(into: OpenSlice, *, most: int, tokens: int) -> None:
    """What the machine can do: quantities of claims on file, then the words of the pages that say it."""
    ceiling = into.tokens + tokens
    machines = machines_of(into.question)
    claims = cut("; ".join(_quantities(into.question, machines)), _LONGEST)
    if claims:
        into.words(
            "envelope", "sources/claims", "", why="claims on file", text=claims, most=ceiling
        )
    for chunk in envelopes(into.question, machines, most=most):
        into.words(
            "envelope", chunk.path, chunk.anchor, why="hardware", text=chunk.text, most=ceiling
        )


def _quantities(question: Question, machines: Collection[str]) -> Iterable[str]:
    """Typed quantities whose subject is the machine, each once."""
    own = (c.quantity for c in question.claims)
    once = {
        (q.key, q.value, q.unit, q.condition): q for q in own if q and names(machines, q.subject)
    }
    for q in once.values():
        condition = f" ({q.condition})" if q.condition else ""
        yield f"{q.subject} {q.quantity}: {q.value:,.10g} {q.unit}{condition}"


def envelopes(question: Question, machines: Collection[str], *, most: int) -> list[search.Chunk]:
    """Sections about the machines with quantities in them, cut to what speaks of these: those whose title names one first, then those with more figures."""
    view = question.view
    return view.once("machines", machines, lambda: _sections(view, machines))[:most]


def _sections(view: View, machines: Collection[str]) -> list[search.Chunk]:
    sections = []
    words = (*_TITLES, *sorted({w for m in machines for w in (m, f"{m}-4", f"{m}-8")}))
    chunks = search.find_titled(view.db, words, limit=80, types=_TYPES) if machines else []
    for visible in filter(None, map(view.masked, (c for c in chunks if view.sees(c.path)))):
        titled = names(machines, visible.title)
        # All of a section that is theirs, else what names one of them.
        own = (s for s in statements_of(visible.text) if titled or names(machines, s))
        text = cut(" ".join(s for s in own if _QUANTITY.search(s)), _LONGEST)
        figures = len(_QUANTITY.findall(text))
        sections += [(min(figures, 8) + 4 * titled, replace(visible, text=text))] if figures else []
    return [chunk for _, chunk in sorted(sections, key=lambda f: -f[0])]
