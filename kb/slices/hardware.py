"""What the target's own machine can do: typed quantities of claims and sections about that very hardware. None is better than another vendor's."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from kb import search
from kb.search.gist import clean
from kb.slices.bringing import Bringing
from kb.text import cut, sentences_of

# Words of titles under which pages tell what a machine can do.
_TITLES = (
    "hardware", "envelope", "device", "devices", "roofline", "peak", "spec", "specs", "limit", "limits", "capacity", "constants", "environment", "machine", "ceiling",
)  # fmt: skip
_CAPABLE = frozenset(_TITLES)
_TYPES = ("concept", "source", "target", "observation", "codebase", "analysis")
_QUANTITY = re.compile(r"\d[\d.,]*\s*(?:[KMGT]i?B(?:/s|ps)?|[GTP]?FLOPs?(?:/s)?|TOPS|[GM]Hz|ns|W|cores?|lanes?|bytes?)\b")
# A line of a page that says what it ran on.
_LABEL = re.compile(r"(?:[-*|\s]*)(?:hardware|machine|host|devices?|accelerators?|gpus?|chips?|cpu|node|soc)\s*[:|=·]\s*(.+)", re.I)
# Models of machines: letters and digits together (h100, v6e, mi300x, m2), or digits behind a word (xeon 8480).
_MODEL = re.compile(r"(?<![\w.])(?:[a-z]{1,8}-?\d{1,5}[a-z]{0,4}|(?<=[a-z] )\d{3,5}[a-z]{0,3})(?![\w.])", re.I)
# Of what has that shape, these are numbers of bits, sizes and counts.
_NO_MODEL = re.compile(r"(?:bf|fp|f|int|i|u|s|bs|b|seq|s|tp|dp|x|exp|run|step|py|cuda|cu|c|gcc|llvm)-?\d+\w?", re.I)
# Fields of a target page that declare its hardware; of a proper name without digits (Xeon, Blackwell) the vendor says nothing.
_FIELDS = ("hardware", "hardwares", "machine", "device", "gpu", "cpu")
_PROPER = re.compile(r"(?<![\w.])[A-Z][a-z]{3,}\d{0,2}(?![\w.])")
_VENDORS = frozenset(("nvidia", "intel", "google", "apple", "geforce", "radeon", "qualcomm", "amazon", "core"))
_RUNS = 40
_LONGEST = 420


def machines_of(bring: Bringing) -> frozenset[str]:
    """Names of the target's hardware, folded: those that its page declares, else those that most of its runs name, else those of the question."""
    page, asked = bring.asked.page, bring.asked
    declared = " ".join(str(page.front.get(f) or "") for f in _FIELDS) if page else ""
    if named := {*_models(declared), *(w.lower() for w in _PROPER.findall(declared) if w.lower() not in _VENDORS)}:
        return frozenset(named)
    runs = asked.tried[-_RUNS:]
    for texts in ([m[1][:160] for e in runs for n in e.account.config if (m := _LABEL.match(n.text))], [e.variant.rpartition("/")[2] for e in runs]):
        counts = Counter(m for text in texts for m in set(_models(text)))
        if counts:
            most = max(counts.values())
            return frozenset(name for name, n in counts.items() if 2 * n > most)
    return frozenset(_models(f"{asked.variant} {asked.request.query}"))


def _models(text: str) -> Iterator[str]:
    for match in _MODEL.finditer(text.replace("/", " ").replace("_", " ")):
        if not _NO_MODEL.fullmatch(match[0]):
            yield re.sub(r"-\d{1,2}$", "", match[0].lower())


def names(machines: Collection[str], text: str) -> bool:
    """Whether a text names one of the machines, with or without its count of chips: v6e, v6e-8, v6e8."""
    return any(re.search(rf"(?<![a-z0-9]){re.escape(m)}(?![a-z])", text.lower()) for m in machines)


def bring_envelope(bring: Bringing, *, most: int, tokens: int) -> None:
    """What the machine can do: quantities of claims on file, then the words of the pages that say it."""
    ceiling = bring.filling.tokens + tokens
    machines = machines_of(bring)
    if quantities := "; ".join(_quantities(bring, machines)):
        bring.words("envelope", "sources/claims", "", why="claims on file", text=cut(quantities, _LONGEST), most=ceiling)
    for chunk in envelopes(bring, machines, most=most):
        bring.words("envelope", chunk.path, chunk.anchor, why="hardware", text=chunk.text, most=ceiling)


def _quantities(bring: Bringing, machines: Collection[str]) -> Iterator[str]:
    """Typed quantities whose subject is the machine, each once."""
    told: set[tuple[object, ...]] = set()
    for claim in bring.asked.claims:
        q = claim.quantity
        key = (q.key, q.value, q.unit, q.condition) if q else ()
        if q and names(machines, q.subject) and key not in told:
            told.add(key)
            yield f"{q.subject} {q.quantity}: {q.value:,.10g} {q.unit}{f' ({q.condition})' if q.condition else ''}"


def envelopes(bring: Bringing, machines: Collection[str], *, most: int) -> list[search.Chunk]:
    """Sections about the machines with quantities in them, cut to what speaks of these: those whose title names one first, then those with more figures."""
    found: list[tuple[int, int, search.Chunk]] = []
    words = {w for m in machines for w in (m, f"{m}-4", f"{m}-8")}
    for place, chunk in enumerate(search.find_titled(bring.view.db, (*_TITLES, *sorted(words)), limit=80, types=_TYPES) if machines else ()):
        seen = bring.view.masked(chunk) if bring.view.sees(chunk.path) else None
        titled = names(machines, chunk.title)
        text = cut(" ".join(_told(seen.text, machines, titled)), _LONGEST) if seen else ""
        figures = len(_QUANTITY.findall(text))
        if seen and figures:
            capable = not _CAPABLE.isdisjoint(search.terms_of(chunk.title))
            found.append((-(min(figures, 8) + 4 * titled + 6 * capable), place, search.Chunk(seen.path, seen.anchor, seen.title, seen.line, text)))
    return [chunk for *_, chunk in sorted(found, key=lambda f: f[:2])[:most]]


def _told(text: str, machines: Collection[str], titled: bool) -> Iterable[str]:
    """Rows and sentences with quantities that speak of the machines: all of a section that is theirs, else those that name one; a row under its header."""
    header, at = "", False
    for line in text.split("\n"):
        row = line.lstrip().startswith("|")
        if row and not at:
            header = line.strip()
        at = row
        told = [line.strip()] if row else [s for s in sentences_of(clean(line))]
        for said in told:
            if _QUANTITY.search(said) and (titled or names(machines, said)):
                if row and header and header != said:
                    yield header
                header = ""
                yield said
