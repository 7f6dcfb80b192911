"""What one experiment page says: verdict, labels, levers, metrics, places.

Refuses to judge: a raw spelling stays beside every canonical one.
"""

import json
import re
from dataclasses import dataclass, fields
from functools import lru_cache

from kb.page import Page, Section, plain_text
from kb.run.record import Lever, Metric
from kb.schema import (
    FAILED,
    LABELS,
    OUTCOME_FIELDS,
    OUTCOME_LABELS,
    RUNNING,
    Verdict,
    canonical_decision,
    canonical_verdict,
    field_verdict,
    outcome_verdict,
)
from kb.store import packed
from kb.trail.levers import levers_of


@dataclass(frozen=True, slots=True)
class VerdictRead:
    """A verdict, as written and where.

    `verdict`, `outcome`, `status` (front matter), `name` (file name), `section` (the page's body), or empty where nothing says it.
    """

    canonical: Verdict | None = None
    raw: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page says something: lines `start` to `end` (end excluded) below the heading `anchor`."""

    name: str
    anchor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What one experiment page says. Texts are plain, without markup; empty where the page does not say it.

    `levers` are those its front matter states (`stated_levers`), else those its text names. `first`: opened as the first measurement
    of a target, so it moves nothing, however it ends.
    """

    path: str
    target: str = ""
    variant: str = ""
    date: str = ""
    number: int = 0
    title: str = ""
    slug: str = ""
    verdict: VerdictRead = VerdictRead()
    decision: str = ""
    levers: tuple[Lever, ...] = ()
    stated_levers: bool = False
    metrics: tuple[Metric, ...] = ()
    primary: str = ""
    parent: str = ""
    hypothesis: str = ""
    mechanism: str = ""
    predicted_signal: str = ""
    falsification: str = ""
    because: str = ""
    setup: str = ""
    next_ideas: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    tags: tuple[str, ...] = ()
    backfilled: bool = False
    running: bool = False
    first: bool = False
    created: str = ""

    @property
    def order(self) -> tuple[str, int, str]:
        """Trail order: date, number, path."""
        return self.date, self.number, self.path

    @property
    def failed(self) -> bool:
        return self.verdict.canonical in FAILED

    def place(self, name: str) -> Place | None:
        """Where the page speaks of `name`: hypothesis, mechanism, predicted_signal, falsification, setup, results,
        profile, evidence, verdict, next.
        """
        return next((p for p in self.places if p.name == name), None)

    def metric(self, name: str) -> Metric | None:
        return next((m for m in self.metrics if m.name == name), None)


_TEXTS = (
    "path",
    "target",
    "variant",
    "date",
    "number",
    "title",
    "slug",
    "decision",
    "primary",
    "parent",
    "hypothesis",
    "mechanism",
    "predicted_signal",
    "falsification",
    "because",
    "setup",
    "next_ideas",
    "tags",
    "backfilled",
    "running",
    "first",
    "created",
    "stated_levers",
)


_OF_METRIC = tuple(f.name for f in fields(Metric))


def to_row(facts: Facts) -> str:
    """Facts as the compiled tables keep them: JSON text without empty fields."""
    said: dict[str, object] = {name: value for name in _TEXTS if (value := getattr(facts, name))}
    said["metrics"] = [
        {name: value for name in _OF_METRIC if (value := getattr(m, name)) is not None and value != ""} for m in facts.metrics
    ]
    said["levers"] = [(lever.name, lever.value) for lever in facts.levers]
    said["places"] = [(p.name, p.anchor, p.start, p.end) for p in facts.places]
    said["verdict"] = (facts.verdict.canonical, facts.verdict.raw, facts.verdict.source)
    return packed(said)


def from_row(row: str) -> Facts:
    """The facts that `to_row` wrote down."""
    said = json.loads(row)
    canonical, raw, source = said["verdict"]
    said.setdefault("target", "")
    said["verdict"] = VerdictRead(Verdict(canonical) if canonical else None, raw, source)
    said["metrics"] = tuple(Metric(**{"value": None, **m}) for m in said["metrics"])
    said["levers"] = tuple(Lever(name, value) for name, value in said["levers"])
    said["places"] = tuple(Place(*p) for p in said["places"])
    said["next_ideas"] = tuple(said.get("next_ideas", ()))
    said["tags"] = tuple(said.get("tags", ()))
    return Facts(**said)


# Headings under which a page says something. First match wins, so "Verdict + reasoning" is a verdict.
_PLACES = (
    ("verdict", re.compile(r"verdict|conclusion|outcome|decision\b(?! rule)|tl;?dr", re.IGNORECASE)),
    ("hypothesis", re.compile(r"hypothesis(?! proposal)|\bclaim\b|^statement|^goal|^question", re.IGNORECASE)),
    ("mechanism", re.compile(r"^(?:expected )?mechanism|why it should|rationale", re.IGNORECASE)),
    ("predicted_signal", re.compile(r"predict|^expected", re.IGNORECASE)),
    ("falsification", re.compile(r"falsif|refuted if|success criteri|decision rule", re.IGNORECASE)),
    ("next", re.compile(r"next|follow[- ]?ups?|open leads?|future", re.IGNORECASE)),
    (
        "results",
        re.compile(
            r"results?\b|^measure|^benchmarks?\b|^numbers|"
            r"^(?:performance|timings?|throughput|latency|evaluation|metrics|findings)\b(?! (?:plan|to|protocol|set-?up|method|goal))",
            re.IGNORECASE,
        ),
    ),
    (
        "setup",
        re.compile(r"^setup|^method|^config|^change|^how to (?:run|reproduce)|^what (?:was )?(?:changed|tried)", re.IGNORECASE),
    ),
    ("profile", re.compile(r"profil", re.IGNORECASE)),
    ("evidence", re.compile(r"\b(?:hlo|ptx|sass|asm|assembly|dump|evidence|artifacts?|audit|disassembly)\b", re.IGNORECASE)),
    ("because", re.compile(r"^(?:mechanism\W+)?why\b|root cause|what went wrong|reason|what we learned|lesson", re.IGNORECASE)),
)


# "Change (quoted): ..." at the head of a hypothesis only says what follows.
_LEADING_LABEL = re.compile(r"^(?:change|claim|idea|proposal)\s*(?:\([^)]*\))?:\s*", re.IGNORECASE)
# A longer title is text that lost its line ends.
_LONGEST_TITLE = 500


def facts_of(page: Page, text: str) -> str | None:
    """Facts of an experiment page as JSON text for the tables; None for any other page."""
    if page.type != "experiment":
        return None
    return to_row(read_facts(page, text))


def read_facts(page: Page, text: str) -> Facts:
    """Facts of an experiment page and its text (newlines `\\n`)."""
    # The patterns of figures take long to make, and most commands read facts from the tables.
    from kb.trail.measured import metrics_of

    lines = text.split("\n")
    places = places_of(page)
    said = _labels(page, lines, places)
    first = {p.name: p for p in reversed(places)}

    def body(name: str) -> str:
        return "\n".join(lines[first[name].start : first[name].end - 1]) if name in first else ""

    hypothesis = (
        said.get("hypothesis") or _LEADING_LABEL.sub("", prose(body("hypothesis"))) or _front_sentence(page) or _lead(page, lines)
    )
    mechanism = said.get("mechanism") or prose(body("mechanism"))
    reasons = prose(body("verdict"), limit=900)
    verdict = verdict_of(page, _titled_verdict(page) or reasons)
    labelled = _labelled_verdict(page, lines) if verdict.canonical in (None, Verdict.OTHER) else ""
    if labelled:
        verdict = verdict_of(page, labelled)
    # A verdict of several words is all that some pages say of why.
    because = reasons or prose(body("because"), limit=900) or labelled or (verdict.raw if " " in verdict.raw else "")
    title = page.title[:_LONGEST_TITLE]
    stated = (*page.words("levers"), *page.words("lever"))
    levers = levers_of(title, slug=page.field("hypothesis"), stated=stated, hypothesis=hypothesis, mechanism=mechanism)
    return Facts(
        path=page.path,
        target=target_of_page(page),
        variant=page.field("variant"),
        date=page.date,
        number=page.number,
        title=title,
        slug=page.field("hypothesis"),
        verdict=verdict,
        decision=canonical_decision(page.field("decision") or page.field("status")) or "",
        levers=levers,
        stated_levers=bool(stated),
        metrics=metrics_of(
            page,
            lines,
            results=[(p.start, p.end) for p in places if p.name == "results"],
            verdicts=[(p.start, p.end) for p in places if p.name == "verdict"],
        ),
        primary=page.field("primary"),
        parent=page.field("parent") or page.field("baseline"),
        hypothesis=hypothesis,
        mechanism=mechanism,
        predicted_signal=said.get("predicted_signal") or prose(body("predicted_signal")),
        falsification=said.get("falsification") or prose(body("falsification")),
        because=because,
        setup=prose(body("setup"), limit=1500),
        next_ideas=tuple(_items(body("next"))),
        places=places,
        tags=page.words("tags"),
        backfilled=page.field("backfilled").lower() in ("true", "yes", "1"),
        running=_is_running(page, verdict),
        first=page.field("receipt") == "baseline",
        created=page.field("created"),
    )


def target_of_page(page: Page) -> str:
    """Target of an experiment: its front matter's, else its folder below `wiki/experiments/` (a trailing `experiments`
    dropped).
    """
    named = page.field("target")
    if named:
        return named
    folders = page.folder.split("/")[2:]
    if folders and folders[-1] == "experiments":
        folders = folders[:-1]
    return "/".join(folders)


def _is_running(page: Page, verdict: VerdictRead) -> bool:
    return (
        verdict.canonical in (None, Verdict.OTHER) and page.field("status").lower().replace("-", "_").replace(" ", "_") in RUNNING
    )


_NAME_SUFFIX = re.compile(
    r"[-_](accepted|rejected|potential|invalid|refuted|supported|crash(?:ed)?|failed|discarded?|kept|keep|inconclusive|"
    r"parked|baseline)$",
    re.IGNORECASE,
)
_NAMED_BASELINE = re.compile(r"(?:^|[-_])baseline(?:[-_]|$)", re.IGNORECASE)


def verdict_sayings(page: Page, section: str) -> tuple[tuple[str, str], ...]:
    """The places that may say a page's verdict, in the order in which they count, as (place, what it says).

    `section` is the Verdict section's prose.
    """
    suffix = _NAME_SUFFIX.search(page.stem)
    sentence = re.split(r"(?<=[.!?;])\s|\n", section.strip(), maxsplit=1)[0][:300]
    return (
        ("verdict", page.field("verdict")),
        ("outcome", next((said for name in OUTCOME_FIELDS if outcome_verdict(said := page.field(name))), "")),
        ("status", page.field("status")),
        ("name", suffix[1] if suffix else ""),
        ("section", sentence),
    )


def verdict_of(page: Page, section: str) -> VerdictRead:
    """Verdict of a page by DESIGN §6: the first place that says one; a baseline by name is one unless it failed.

    A status outside the vocabulary may speak of the page and not of the run, so a place after it that says a verdict goes first.
    """
    read = VerdictRead()
    for source, raw in verdict_sayings(page, section):
        verdict = canonical_verdict(raw) if source == "name" else field_verdict(raw)
        if verdict is not None and (not read.source or verdict is not Verdict.OTHER):
            read = VerdictRead(verdict, raw, source)
        if read.source == "verdict" or read.canonical not in (None, Verdict.OTHER):
            break
    if _NAMED_BASELINE.search(page.stem) and read.canonical not in FAILED:
        return VerdictRead(Verdict.BASELINE, read.raw or "baseline", f"{read.source}+name" if read.source else "name")
    return read


_SAYING_TITLE = re.compile(r"\b(?:verdict|outcome|result|conclusion)s?\s*(?::|\s[-—–]\s)\s*(\S.*)$", re.IGNORECASE)


def _titled_verdict(page: Page) -> str:
    """What headings say of how the run came out ("Verdict: refuted"); empty where none says a verdict, or two say different ones."""
    return _agreed([title[1] for h in page.headings if h.level > 1 and (title := _SAYING_TITLE.search(h.text))])


def _agreed(sayings: list[str]) -> str:
    """The first of several sayings that says a verdict; empty if none does, or if they differ: then each may be about a part of the run."""
    told = [(verdict, said) for said in sayings if (verdict := outcome_verdict(said))]
    return told[0][1] if len({verdict for verdict, _ in told}) == 1 else ""


_LABEL_ROW = re.compile(r"^\s*\|([^|]{3,40})\|([^|]+)\|\s*$")


def _labelled_verdict(page: Page, lines: list[str]) -> str:
    """What stands behind a label of an outcome outside code ("**Outcome**: reverted", a row of two cells, a heading "Status" above it), by the first
    label that says one verdict; else behind "Verdict".
    """
    fenced = {line for a, b in page.fences for line in range(a, b)}
    headed = {h.line for h in page.headings}
    found: dict[str, list[str]] = {}
    for at in range(page.body_line, len(lines) + 1):
        line = lines[at - 1].lstrip("> ")
        if at in headed:
            name, behind = line.strip("# "), ""
        else:
            label = None if at in fenced else _BOLD_LABEL.match(line) or _PLAIN_LABEL.match(line) or _LABEL_ROW.match(line)
            name, behind = label.groups() if label else ("", "")
        name = name.strip(" *_:").lower()
        name = "verdict" if name.endswith(" verdict") else name
        if name in OUTCOME_LABELS:
            said = behind if behind.strip() else next((below for below in lines[at : at + 3] if below.strip(" \t=-")), "")
            found.setdefault(name, []).append(prose(said))
    agreed = (_agreed(found.get(name, [])) for name in OUTCOME_LABELS)
    return next(filter(None, agreed), next(iter(found.get("verdict", ())), ""))


def places_of(page: Page) -> tuple[Place, ...]:
    """Sections of a page that this room reads, in page order, each with what stands below its sub-headings."""
    found: list[Place] = []
    tops = page.sections
    for i, section in enumerate(tops):
        if section.level < 2:
            continue
        if name := _place_named(section.title):
            found.append(Place(name, section.anchor, section.start, _end(tops, i)))
    return tuple(found)


@lru_cache(4096)
def _place_named(heading: str) -> str | None:
    return next((name for name, pattern in _PLACES if pattern.search(heading)), None)


def _end(tops: tuple[Section, ...], i: int) -> int:
    return next((later.start for later in tops[i + 1 :] if later.level <= tops[i].level), tops[-1].end)


_BOLD_LABEL = re.compile(
    r"^\s*(?:[-*+]\s+|\d+\.\s+)?(?:\*\*|__)([^*_\n]{3,40}?)(?:\*\*|__)?(?:\s*\([^)\n]{0,60}\))?\s*(?:[:.—–]\s*(?:\*\*|__)|"
    r"(?:\*\*|__)\s*[:—–]|:)\s*(.*)$"
)
_PLAIN_LABEL = re.compile(r"^\s*(?:[-*+]\s+)?([A-Z][A-Za-z ]{3,30}):\s+(\S.*)$")
_LABEL_OF = {spelling: name for name, spellings in LABELS.items() for spelling in spellings}


def _labels(page: Page, lines: list[str], places: tuple[Place, ...]) -> dict[str, str]:
    """Texts of the four labels (and a labelled verdict) wherever they stand as bold or plain `Label:` runs outside code."""
    said: dict[str, list[str]] = {}
    current: str | None = None
    fenced = {line for a, b in page.fences for line in range(a, b)}
    headings = {h.line for h in page.headings}
    for at in range(page.body_line, len(lines) + 1):
        line = lines[at - 1]
        if at in headings or at in fenced:
            current = None
            continue
        bold = "**" in line or "__" in line
        label = bold and _BOLD_LABEL.match(line) or ":" in line and _PLAIN_LABEL.match(line)
        if label:
            name = _LABEL_OF.get(label[1].strip().rstrip(":").lower())
            current = name if name and name not in said else None
            if current:
                said[current] = [label[2]]
            continue
        if current:
            said[current].append(line)
            if not line.strip() and len(said[current]) > 40:
                current = None
    return {name: text for name, found in said.items() if (text := prose("\n".join(found)))}


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


_QUOTED = re.compile(r"^(?:>\s?)+|^\[![\w-]+\]\s*")
_WRAPPED = re.compile(r"(?<=[^\n])\n(?=[^\n*+\-\d])")
_GAP = re.compile(r"\n{2,}")


def _unfenced(markdown: str) -> str:
    """A text without its fenced code; what stands behind a fence that nothing closes is kept."""
    if "```" not in markdown and "~~~" not in markdown:
        return markdown
    kept: list[str] = []
    mark, opened = "", 0
    for line in markdown.split("\n"):
        kept.append(line)
        fence = _FENCE.match(line)
        if fence and not mark:
            mark, opened = fence[1], len(kept) - 1
        elif fence and fence[1].startswith(mark) and not line[fence.end() :].strip(" \t"):
            kept[opened:] = [""]
            mark = ""
    return "\n".join(kept)


def prose(markdown: str, *, limit: int = 2400) -> str:
    """Plain text of a stretch of markdown: no fences, tables, headings or markup; paragraphs kept apart by newlines; cut
    at a word within `limit`.
    """
    if not markdown.strip():
        return ""
    rows: list[str] = []
    for line in _unfenced(markdown).split("\n"):
        bare = line.strip()
        if bare.startswith(("|", "<!--")):
            continue
        if bare.startswith("#"):
            bare = ""
        rows.append(_QUOTED.sub("", bare) if bare[:1] in (">", "[") else bare)
    text = _WRAPPED.sub(" ", _GAP.sub("\n\n", "\n".join(rows)).strip())[: 4 * limit]
    text = "\n".join(plain_text(row).strip() for row in text.split("\n") if row.strip())
    if len(text) > limit:
        text = text[:limit].rsplit(" ", 1)[0] + " …"
    return text


def _front_sentence(page: Page) -> str:
    """`hypothesis:` of the front matter where it is a sentence and no slug."""
    said = page.field("hypothesis")
    return said if " " in said.strip() else ""


def _lead(page: Page, lines: list[str]) -> str:
    """What stands before the first section: many pages open with what they tried."""
    for section in page.sections:
        if section.level <= 1:
            text = prose("\n".join(lines[section.start - (section.level == 0) : section.end - 1]))
            if len(text) > 40:
                return text
    return ""


def _items(markdown: str) -> list[str]:
    """Top-level list items of a stretch of markdown, as plain text; its sentences where it has no list."""
    items: list[str] = []
    for line in _unfenced(markdown).split("\n"):
        bullet = re.match(r"^(?:[-*+]|\d+[.)])\s+(.*)$", line)
        if bullet:
            items.append(bullet[1])
        elif items and line.startswith((" ", "\t")) and line.strip():
            items[-1] += " " + line.strip()
        elif line.startswith("|") and not re.match(r"^\|[\s:|-]+\|?$", line):
            items.append(" · ".join(c.strip() for c in line.strip().strip("|").split("|") if c.strip()))
    clean = [plain_text(item).strip()[:600] for item in items]
    return [c for c in clean if c and not re.match(r"none\b|n/?a\b", c, re.IGNORECASE)]
