"""The headings of a page as lists of failures: what one says of what stands below it, and whether that is an item, a part of one or a
group of items. Refuses to read what stands there.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import pairwise, takewhile
from math import inf
from typing import NamedTuple

from kb import regex
from kb.languages import OF_ALL, OF_ALL_UNSPACED
from kb.page import Page
from kb.page.document import Block, Document
from kb.refuted.intent import is_known
from kb.refuted.moves import plain_words
from kb.refuted.statement import (
    ADVICE,
    CROSSES,
    MOST,
    REASONS,
    is_note,
    is_short,
    lead_of,
    reports_failure,
)
from kb.schema import heading_kind, outcome_verdict
from kb.text import sentences_of, words_of
from kb.text.reports import ReportKind, names_failures, report_of
from kb.trail.outline import passages_of

# Headings (in small letters) that say that what stands below was tried and failed; a page of these words in its name may hold anything that was.
_JUDGED_LIST = regex(r"refuted|falsified|invalidated|retired")
_FAILED_LIST = regex(
    r"dead[- ]?ends?|negative results|what failed|what did(?:n['’]?t| not)|what does(?:n['’]?t| not) (?:work|help|pay|matter)|failed (?:experiments?|attempts?|approach(?:es)?|ideas?|levers?|optimi[sz]ations?)|"
    r"(?:^|\b(?:that|which) )(?:did|do|does|has|have)(?:n['’]t| not) (?:work|help|pay|matter|pan out)|\b(?:that|which) failed\b|graveyard|\bburied\b|went nowhere|"
    r"\b(?:tried|tested|attempted)(?: that| which| and| but|,)* (?:did|do|does)(?:n['’]t| not)\b|backfired|fell flat|\bno luck\b|in vain\b|\bflopped\b|\bduds?\b|lost causes?|"
    r"\b(?:tried|tested|attempted),? (?:and|but) (?:failed|rejected|killed|discarded|reverted|abandoned|dropped)\b"
)
# Headings of what was turned down, for whatever reason: an item counts where it reports an outcome itself.
_TURNED_DOWN = regex(
    r"reject(?:ed|ion)|anti-?(?:recommend|pattern|playbook)|do(?:n['’]t| not) (?:pursue|retry|try|do)|would(?:n['’]t| not) (?:do|try|repeat)|not worth|ruled out|abandon|discard|reverted"
)
# Headings that only tell where to look, how, or what is still open.
_is_no_list = lru_cache(maxsize=4096)(
    re.compile(
        r"\bopen\b|^(?:when|if|where|summary|alternatives|chosen)\b|refuted when|refuted if|honestly|how to|next|criteri|accept|definition of done|\bgoal|\btraps?\b|remed|abnahme|acepta|条件|目的|目標|目标|注意|when to|\bcheck\b|\bgate\b|\bknown \w+$|已知|既知|^(?:\w+ )?rules?\b|\bfalsifi(?:er|cation|able)|not (?:yet )?(?:tried|refuted|rejected|buried|dead|failed)",
        re.IGNORECASE,
    ).search
)
# One of another language that is longer is a sentence, and in more words one that was turned down may be anything.
_LONGEST_HEADING, _LONGEST_OPENING = 7, 10
# How a title of one thing begins, and what leads a clause that says of which things it tells.
_ONE, _WHICH = frozenset("a an the one why how".split()), frozenset(("that", "which"))
# A title of more words names something; more headings than these below one another are no parts of one thing.
_SHORTEST_NAME, _MOST_PARTS = 5, 100


@lru_cache(maxsize=4096)
def mode_of(title: str) -> str:
    """What a heading says of the items below it: failed, turned-down or nothing."""
    lower = title.lower()
    lists = _FAILED_LIST.search(lower) or _JUDGED_LIST.search(lower)
    words = len(lower.split())
    lists = lists or words < _LONGEST_HEADING and names_failures(lower)
    turned_down = words < _LONGEST_OPENING and _TURNED_DOWN.search(lower)
    if not (lists or turned_down) or _is_no_list(title):
        return ""
    # What else it names ("what failed or is open") may be what an item tells of.
    named = title.partition(" (")[0].replace(" / ", " or ").split(" or ")
    return "failed" if lists and (len(named) < 2 or all(map(mode_of, named))) else "turned-down"


class ListPart(NamedTuple):
    """A heading (none before the first) with the blocks behind it, by their places, and what it says of them (`mode`: failed, all-failed, turned-down or nothing).

    kind: list (each entry is an item), loose (each that reports a failure), item (of the list above), inside (of an item), section (tells of one thing), closed (tells of no
    failure), or none. `leads` are the lines of its paragraphs that a name leads.
    """

    title: str
    places: range
    lines: range
    anchor: str = ""
    mode: str = ""
    kind: str = ""
    leads: frozenset[int] = frozenset()


def parts_of(page: Page, document: Document) -> Iterator[ListPart]:
    """The parts of a page below its headings, in order."""
    blocks, anchors = document.blocks, {s.start: s.anchor for s in page.sections}
    heads = [n for n, block in enumerate(blocks) if block.kind == "heading"]
    yield ListPart("", range(heads[0] if heads else len(blocks)), range(1, 1))
    name, titles, notes = _name_of(page), [*map(blocks.__getitem__, heads)], is_note(page)
    labels, parts = _labels_in(document, name), _part_lines(titles, name)
    mode, level, items, groups_to, outcome, anchor = "", 0, 0, 0, 0, ""
    groups: deque[set[str]] = deque(maxlen=MOST)
    for n, (at, stop) in enumerate(pairwise((*heads, len(blocks)))):
        head, title = blocks[at], blocks[at].plain
        # A heading in a quotation heads nothing behind it.
        below = [*takewhile(lambda b: b.depth >= head.depth, blocks[at + 1 : stop])]  # noqa: B023
        held = at + 1 + len(below)
        end = blocks[stop].line if stop < len(blocks) else page.lines + 1
        anchor, mode = anchors.get(head.line, anchor), mode if head.level > level else ""
        outcome *= head.level >= outcome
        outcome = head.level if heading_kind(title) == "outcome" else outcome
        # In a section that tells the outcome of one try every heading tells of that one.
        opens = "" if head.level == outcome > 2 else _opening(head, name, apart=bool(mode))
        items = max(min(items, max(head.level, level + 1)), groups_to * bool(mode))
        deeper, behind = _deeper(titles[n : n + _MOST_PARTS])
        inner = _level_below(head, deeper)
        # Of what stands in no list nobody asks for its shape.
        leads, grouped, has_prose = _shape(below * any((mode, opens)), labels, deeper, parts)
        failed = all((mode, not leads)) and reports_failure(title)
        # What is said of several in their heading tells of each of them.
        items += all((mode, head.level == items, grouped, deeper or not failed))
        if opens and not mode:
            mode, level, items = _mode_of_all(opens, below), head.level, inner
            groups_to = _items_below_groups(deeper, inner, parts)
        kind = _kind_of(head, mode, inner if opens else items, parts, notes=notes)
        # "Dead end: sorting the rows" names the one thing of which it tells.
        kind = _names_one(opens, title, [*below, *deeper]) or kind
        kind = _as_group(kind, mode, below, groups, named=len(leads) > 1, deeper=bool(deeper))
        groups.extend(map(set, map(words_of, [title] * bool(mode))))
        kind = _by_shape(
            kind,
            below,
            labels,
            all_failed=(mode, failed) == ("all-failed", False),
            tells=has_prose or failed,
            ungrouped=level < head.level < groups_to * (not deeper),
        )
        # What its own headings hold is all that an item without prose says.
        end = end if below else {"item": min(behind, page.lines + 1)}.get(kind, end)
        own = _mode_below(kind, mode, below)
        yield ListPart(title, range(at + 1, held), range(head.line, end), anchor, own, kind, leads)
        yield ListPart("", range(held, stop), range(1, 1), anchor)


def _name_of(page: Page) -> str:
    """The name of a page in words, where this says that it lists failures."""
    name = " ".join(plain_words(page.path.rpartition("/")[2].removesuffix(".md")))
    listing = ("page", "analysis", "observation")
    return name if page.type in listing and _FAILED_LIST.search(name) else ""


def _opening(head: Block, name: str, *, apart: bool = False) -> str:
    """What a heading says of what stands below it; a page's own title only where it, or the `name` of the page, is nothing else. What
    stands `apart` in brackets at its end tells how the one thing went that it names.
    """
    first, *more = head.plain.lower().split() or [""]
    # "Ideas that did not pay off" are several, and "the idea that did not" is one.
    alone = head.level > 1 or len(more) < 3 or first not in _ONE and not _WHICH.isdisjoint(more)
    title = head.plain.partition(" (")[0] if apart else head.plain
    # So does what stands behind a dash.
    subject, _, end = title.rpartition(" — ")
    title = subject if subject and outcome_verdict(end) else title
    opens = alone and mode_of(title) or mode_of(name * (head.level == 1))
    stays = opens and report_of(head.plain)[0] is ReportKind.STAYED
    return "" if stays or apart and _is_crossed(head) else opens


def _mode_of_all(opens: str, below: Sequence[Block]) -> str:
    """What a list is of: all-failed where the sentence that introduces it says so of all ("Each idea was measured and lost"): any other
    failure that stands in front of a list is one by itself, and the entries tell more of it.
    """
    opening = next((b.plain for b in below if b.kind == "paragraph" and not b.depth), "")
    first = "".join(sentences_of(opening)[:1])
    word = "".join(first.lower().split()[:1])
    of_all = word in OF_ALL or word.startswith(OF_ALL_UNSPACED)
    return "all-failed" if of_all and reports_failure(first) else opens


def _items_below_groups(below: Sequence[Block], level: int, parts: Set[int]) -> int:
    """The level of items below a heading, where most of the headings right `below` it, of this level, hold others that are no parts of one
    thing; else 0.
    """
    inner = [_deeper(below[n:])[0] for n, b in enumerate(below) if b.level == level]
    groups = [any(not _is_part(b) and b.line not in parts for b in held) for held in inner]
    return (level + 1) * (len(groups) > 1 and 2 * sum(groups) > len(groups))


def _by_shape(
    kind: str,
    below: Sequence[Block],
    labels: Mapping[int, bool],
    *,
    all_failed: bool,
    tells: bool,
    ungrouped: bool,
) -> str:
    """The kind of a heading: a list without fields may be of anything, unless its heading says what it came to (`tells`) or what introduces
    all does; so may what stands `ungrouped` beside groups.
    """
    if kind == "item" and all_failed and _is_bare_list(below, labels):
        return "list"
    return "loose" if ungrouped or kind == "item" and not tells else kind


def _is_bare_list(below: Sequence[Block], labels: Mapping[int, bool]) -> bool:
    """Whether a heading holds nothing but a list of several entries, most of which are no fields."""
    entries = [b for item, b in pairwise(below) if item.kind == "item" and item.level == 1]
    fields = sum(labels.get(b.line) is False for b in entries)
    alone = all(b.depth or b.kind == "list" for b in below)
    return alone and 2 * fields < len(entries) > 1


def _deeper(heads: Sequence[Block]) -> tuple[list[Block], float]:
    """The headings below the first of some, and the line behind the last of them."""
    deeper = [*takewhile(lambda b: b.level > heads[0].level, heads[1:])]
    return deeper, next((b.line for b in heads[len(deeper) + 1 :]), inf)


def _level_below(head: Block, deeper: Sequence[Block]) -> int:
    """The level of the headings right below one."""
    return min((b.level for b in deeper), default=head.level + 1)


def _is_part(head: Block) -> bool:
    """Whether a heading is of a known kind, and names nothing by itself."""
    title = head.plain.lower().removeprefix("the ")
    is_short = len(title.split()) < _SHORTEST_NAME
    return title.startswith((*REASONS, "lesson")) or is_short and is_known(title)


def _is_crossed(head: Block) -> bool:
    return not {*CROSSES}.isdisjoint(head.plain)


def _part_lines(heads: Sequence[Block], name: str) -> set[int]:
    """The lines of headings that stand below several others, bear no cross or number where most of their level do, or stand beside one
    that lists what the `name` of the page says.
    """
    titles, counts = Counter(b.plain for b in heads), Counter(b.level for b in heads)
    parts = {b.line for b in heads if titles[b.plain] > 1}
    lists = {b.level for b in heads if name and _opening(b, "", apart=True) == "failed"}
    parts |= {b.line for b in heads if b.level in lists and not reports_failure(b.plain)}
    for is_marked in (_is_crossed, lambda head: head.plain[:1].isdigit()):
        marked = Counter(b.level for b in heads if is_marked(b))
        parts |= {
            b.line for b in heads if 2 * marked[b.level] > counts[b.level] and not is_marked(b)
        }
    return parts


def _shape(
    below: Sequence[Block],
    labels: Mapping[int, bool],
    deeper: Sequence[Block],
    parts: Set[int],
) -> tuple[frozenset[int], bool, bool]:
    """(lines of the paragraphs that a name leads, whether a heading of tables, of other headings or of several of these parts a list in
    groups, whether it tells of one thing in prose or in fields) of what stands below it.
    """
    prose = [b for b in below if b.kind == "paragraph"]
    outer = [b for b in prose if not b.depth]
    leads = _leads_of(outer, labels)
    kinds = {b.kind for b in below} - {"rule"}
    items = [
        bool(lead_of(b)) for item, b in pairwise(below) if item.kind == "item" and item.level == 1
    ]
    entries = len(items) > 1 and all(items)
    below_it = _is_group(kinds, outer, deeper, parts)
    grouped = len(leads) > 1 or entries or kinds == {"table"} or below_it
    tells = not kinds or any(not b.depth or labels.get(b.line) is False for b in prose)
    return leads, grouped, tells


def _leads_of(outer: Sequence[Block], labels: Mapping[int, bool]) -> frozenset[int]:
    """The lines of the paragraphs that a name leads: in bold words, where several do."""
    bold = frozenset(b.line for b in outer if labels.get(b.line, True) and lead_of(b))
    leads = bold if len(bold) > 1 else frozenset(b.line for b in outer if labels.get(b.line))
    # Names that lead fewer of them are labels of one thing.
    return leads if 2 * len(leads) > len(outer) else frozenset()


def _is_group(
    kinds: Set[str], outer: Sequence[Block], deeper: Sequence[Block], parts: Set[int]
) -> bool:
    """Whether headings below another are items: not if they are of a known kind, or `parts`, of one thing."""
    parted = any(heading_kind(b.plain.removeprefix("The ")) for b in deeper)
    parted = parted or all(b.line in parts for b in deeper)
    introduced = kinds == {"paragraph"} and len(outer) == 1 and len(deeper) > 1
    return bool(deeper) and not parted and (introduced or not kinds)


def _mode_below(kind: str, mode: str, below: Sequence[Block]) -> str:
    """What a list is of: where a sentence that tells of no failure introduces it, it is what this says, not what the heading does."""
    introduced = kind == "list" and any(
        (a.kind, a.depth) == ("paragraph", 0)
        and b.kind in ("list", "item")
        and a.plain.endswith((":", "："))
        and not (mode_of(a.plain) or reports_failure(a.plain))
        for a, b in pairwise(below)
    )
    return "turned-down" if mode and introduced else mode


def as_introduced(part: ListPart, document: Document, at: int) -> ListPart:
    """The part that holds an item, as a list of what the label right in front of the item's list says: "What didn't work:"."""
    blocks, item = document.blocks, document.blocks[at]
    if part.mode or item.kind != "item" or item.level > 1 or item.parent < 1:
        return part
    lead = blocks[item.parent - 1]
    text, bold = lead.plain.strip(), next((s.text for s in lead.spans if s.kind == "strong"), "")
    is_label = text.endswith((":", "：")) or text == bold.strip()
    if (
        lead.kind != "paragraph"
        or lead.depth
        or not is_label
        or len(text.split()) >= _LONGEST_HEADING
    ):
        return part
    if _closes(text):
        return part._replace(kind="closed")
    # What was refuted may be a rule that nobody tried: an entry counts where it reports an outcome itself.
    mode = "turned-down" if _JUDGED_LIST.search(text) else mode_of(text)
    return part._replace(mode=mode, kind="list") if mode else part


def _as_group(
    kind: str,
    mode: str,
    below: Sequence[Block],
    groups: Sequence[Set[str]],
    *,
    named: bool,
    deeper: bool,
) -> str:
    """The kind of a heading of a list of failures by what stands below it: `named` entries that are crossed failed, whatever the heading
    says of them; a table of the headings above it counts what stands there, and prose before `deeper` headings introduces them.
    """
    if not mode:
        return kind
    if named and any(b.plain.startswith((*CROSSES,)) for b in below):
        return "list"
    if (
        kind == "list"
        and deeper
        and not named
        and {"item", "table"}.isdisjoint(b.kind for b in below)
    ):
        return "closed"
    return "closed" if any(_names_all(b, groups) for b in below if b.rows) else kind


def _names_one(opens: str, title: str, below: Sequence[Block]) -> str:
    """Item where a heading that opens a list names behind what it says of it the one thing that stands below it."""
    says, _, name = title.replace("：", ": ").partition(": ")
    lists = not opens or any(b.kind in ("item", "heading") for b in below)
    named = not (lists or is_short(name) or mode_of(name)) and mode_of(says) == "failed"
    return "item" * named


def _names_all(table: Block, groups: Sequence[Set[str]]) -> bool:
    """Whether each row of a table names one of some headings."""
    names = [{*words_of(row.cells[0].plain)} for row in table.rows[1:]]
    named = (name and any(2 * len(own & name) >= len(name) for own in groups) for name in names)
    return bool(names) and all(named)


def _kind_of(head: Block, mode: str, items: int, parts: Set[int], *, notes: bool) -> str:
    """What a heading is to the list of failures above it, whose items stand at the level `items`: none that is a part of another. Of one
    below none it says something in somebody's `notes` alone.
    """
    title, level = head.plain, head.level
    if not (mode or notes):
        return ""
    if _closes(title):
        return "closed"
    if not mode:
        return "section" if level > 1 else ""
    if level == items:
        return "closed" if head.line in parts or _is_part(head) else "item"
    return "list" if level < items else "inside"


def _closes(title: str) -> bool:
    """Whether a heading, or a label in front of a list, says that what stands below stayed or is still open, or where to look."""
    kept = report_of(title)[0] in (ReportKind.STAYED, ReportKind.OPEN)
    return kept or bool(_is_no_list(title))


def _labels_in(document: Document, name: str) -> dict[int, bool]:
    """Of each paragraph that a label leads, by its line, whether this is a name: it stands there once, and is of no known kind. Nothing of
    a page that lists no failures.
    """
    if not any(_opening(b, name) for b in document.blocks if b.kind == "heading"):
        return {}
    labels = [(p.label, p.line) for p in passages_of(document.text) if p.label]
    counts = Counter(label for label, _ in labels)
    return {
        line: counts[label] == 1 and not (is_known(label) or ADVICE.match(label))
        for label, line in labels
    }
