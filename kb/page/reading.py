"""A file's bytes read into a Page: front matter, outline, managed blocks, allowances, and everything that is wrong with them."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from kb import regex
from kb.page import LARGEST, Detail, Heading, Page, text_of
from kb.page.document import WIKILINK, Block, Document, document_of, skimmed
from kb.page.front import Front, front_of
from kb.page.text import slug_of
from kb.schema import (
    CREATED_FIELDS,
    FIELD_NAMES,
    OUTCOME_LABELS,
    Finding,
    calls_run,
    heading_kind,
    in_short,
    label_kind,
    names_run,
    outcome_verdict,
    records_run,
    shouted_verdict,
    type_of,
    type_of_folder,
    type_of_place,
)
from kb.store import digest_of, is_inner, row_of
from kb.text import numbers_in, sentences_of
from kb.text.reports import report_of

_ALLOW = regex(r"<!--\s{0,9}kb:allow\s{1,9}([\w, -]{1,200}?)\s{0,9}-->")
_AUTO = regex(r"^[ \t]*<!--\s*(/?)kb:auto(?:\s+([\w.:-]+))?\s*-->[ \t]*$", re.MULTILINE)
_CALLOUT = regex(r" {0,3}>[> ]*\[!")
_EXPLICIT_ID = regex(r"\{#([\w.:-]+)\}\s*$")
# A heading that numbers one of many: a letter or two with a number, then a dash or colon.
_NUMBERED = regex(r"[A-Z]{1,3}-?\d{1,3}[a-z]?\s?[—–:]")
_BOTH = frozenset(("hypothesis", "outcome"))
_LABEL_END = regex(r"[:：.—–]")
_COMPARING = regex(r"\b(?:before|after|was|were|from|against|versus|vs|than|now|instead)\b", re.I)
# What is measured behind a label; a day or a year is none.
_FIGURE = regex(r"[~≈$+−-]{0,2}\d+(?!\d*-\d)(?!(?<=\d{4})\W*$)")
# Two figures of one paragraph without units; of settings and versions people say from which to which as well, with few digits.
_COMPARED = regex(
    r"\d\S{0,60}(?: \w+)? ?(?:→|->|against|versus|vs\.?) ?\S{0,2}\d|"
    r"\bfrom \S?(?:0\.\d\d|\d+\.\d{3})\S{0,12} to \S?(?:0\.\d\d|\d+\.\d{3})",
    re.IGNORECASE,
)
# Fields that name folders and files: a value that no disk takes names nothing.
_NAMING = ("target", "variant", "model")
_LONGEST_NAME = 120


def page_of(path: str, data: bytes, *, skim: bool = False) -> Page:
    """Page of a file's bytes. Never raises for content: what is wrong is in `findings`.

    With `skim` a plain catalog of code is not read whole: its `detail` holds the texts of its headings and its symbols, and no row is kept of it.
    """
    digest = digest_of(data)
    findings: list[Finding] = []

    def find(line: int, code: str, message: str, hint: str) -> None:
        findings.append(Finding(path, line, code, message, hint=hint))

    if b"\0" in data[:65536]:
        find(1, "binary", "holds NUL bytes: this is no text", "move it to sources/ or raw/")
        return _page(path, digest, front_of("", path), 0, Detail(findings=tuple(findings)))
    if len(data) > LARGEST:
        most = f"{len(data) / 1e6:.0f} MB: only the first {LARGEST / 1e6:.0f} MB are compiled"
        find(1, "too-large", most, "split the page")
        data = data[: data.rfind(b"\n", 0, LARGEST) + 1 or LARGEST]
    text = text_of(data)
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        line = text.count("\n", 0, text.index("\ufffd")) + 1
        find(line, "encoding", "bytes that are not UTF-8 were replaced", "save the page as UTF-8")
    if not text.strip():
        find(1, "empty", "the page is empty", "write it or remove it")
    front = front_of(text, path)
    front.fields.update(_english(front.fields))
    findings += [*front.findings, *_unnamable(front, path)]
    symbols = front.fields.get("symbols")
    symbols = tuple(front.fields.pop("symbols")) if isinstance(symbols, dict) else ()
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    # A page that calls itself a catalog may be an experiment by its place, and then all of it counts.
    plain = skim and symbols and not ("[[" in text and WIKILINK.search(text))
    is_catalog = plain and Page(path, digest, front.fields, 1, 0, "", (), b"").type == "catalog"
    if is_catalog and (parts := skimmed(text[front.body_offset :])):
        named = tuple(Heading(level, shown.strip(), "", 0, True) for level, shown in parts[0])
        detail = Detail(headings=named, symbols=symbols)
        return _page(path, digest, front, lines, detail, hrefs=parts[1])
    document = document_of(text)
    front.fields.update(_dated(document) if front.fields.keys().isdisjoint(CREATED_FIELDS) else ())
    if document.open_fence:
        message = "a code fence is never closed; all that follows reads as code"
        find(document.open_fence, "open-fence", message, "close it with the same marker")
    ids = list(document.ids)
    headings = tuple(_headings(document, ids))
    fences = tuple((b.line, b.stop) for b in document.of("fence"))
    marks = [mark for mark in ("kb:auto", "[!") if mark in text]
    coded = {line for first, stop in fences for line in range(first, stop)}
    # What stands in a line of its own outside code: marks that kb set, and callouts.
    marked = [
        (number, line)
        for number, line in enumerate(text.split("\n") if marks else (), 1)
        if any(mark in line for mark in marks) and number not in coded
    ]
    detail = Detail(
        front.lines,
        headings,
        document.links,
        tuple(ids),
        symbols,
        fences,
        tuple(_managed(path, marked, findings)),
        tuple(_allowed(text)) if "kb:allow" in text else (),
        tuple(findings),
        tuple(n for n, line in marked if _CALLOUT.match(line)),
    )
    return _page(path, digest, front, lines, detail, labels=_labels(path, front, document))


def _page(
    path: str,
    digest: str,
    front: Front,
    lines: int,
    detail: Detail,
    *,
    hrefs: list[str] | None = None,
    labels: tuple[str, ...] = (),
) -> Page:
    """The page; `hrefs` are where a skimmed one leads, whose detail is not kept."""
    first = next((h.text for h in detail.headings if h.level == 1 and h.text), "")
    ways = (
        hrefs
        if hrefs is not None
        else [_way(link.href, link.kind) for link in detail.links if link.kind != "unresolved"]
    )
    cited = tuple(dict.fromkeys(way.partition("#")[0] for way in ways))
    row = row_of(detail) if hrefs is None else b""
    return Page(
        path, digest, front.fields, front.body_line, lines, first, cited, row, detail, labels
    )


def _labels(path: str, front: Front, document: Document) -> tuple[str, ...]:
    """What the text of a page that neither type nor name settles says of one try: `hypothesis` and `outcome` where it labels them,
    `measured` where it compares figures, and `concluded` where it says how it came out; of a page of several `many`.
    """
    place, stated = type_of_place(path)[0], str(front.fields.get("type") or "")
    if stated:
        return _of_own_type(stated, document)
    *_, above, name = ["", *path.removesuffix(".md").split("/")]
    if _is_settled(place, above, name):
        return ()
    outer = [b for b in document.of("heading", "paragraph") if b.parent < 0]
    # What a page says of itself goes before what its parts say.
    declares = any(_declares(b, measured=False) for b in _head(outer) if b.kind == "paragraph")
    if _holds_many(document, parted=not declares):
        return ("many",)
    lines = (line for b in document.of("paragraph") for line in document.source(b).split("\n"))
    signs = {*map(_label_of, filter(None, lines))}
    signs |= {
        heading_kind(_LABEL_END.split(b.plain, maxsplit=1)[0]) for b in document.of("heading")
    }
    measured = _measured(document)
    signs |= {"measured"} if measured else set()
    # Right in a folder of runs lie runs, and the record of one in a folder of its own; what lies beside that may tell of many.
    is_run = type_of_folder(above) == "experiment" or records_run(above, name, reports=True)
    is_run = is_run and place == "experiment"
    if declares or outer and _concludes(document, outer, is_run=is_run, measured=measured):
        signs.add("concluded")
    return tuple(sorted(signs - {""}))


def _is_settled(place: str | None, folder: str, name: str) -> bool:
    """Whether the place of a page says what it is; the record of an idea in a folder of its own may tell how this came out."""
    if place == "experiment":
        return names_run(name)
    is_idea = place == "hypothesis" and records_run(folder, name, reports=True)
    return place not in (None, "observation") and not is_idea


def _of_own_type(stated: str, document: Document) -> tuple[str, ...]:
    """`measured` where a page of a type that is its owner's own gives several figures."""
    if type_of(stated) or label_kind(stated) == "hypothesis":
        return ()
    figures = (n for b in document.of("paragraph") for n in numbers_in(b.plain))
    return ("measured",) * (sum(bool(n.unit or n.signed) for n in figures) > 1)


def _label_of(line: str) -> str:
    return label_kind(_LABEL_END.split(line, maxsplit=1)[0])


def _holds_many(document: Document, *, parted: bool) -> bool:
    """Whether a page tells of several tries: in a row each of a table that labels what was claimed and how it came out, else (`parted`) below
    a heading each, which is itself no label, where both are labelled, or which numbers it ("E1 — …", "E2 — …") or says how it came out ("… — REJECTED").
    """
    for table in document.of("table"):
        heads = {label_kind(c.plain) for c in table.rows[0].cells}
        if len(table.rows) > 2 and (heads >= _BOTH or parted and _numbers_tries(table)):
            return True
    return parted and any(n > 1 for n in _tries_in(document).values())


def _numbers_tries(table: Block) -> bool:
    """Whether a table numbers its rows, and says of several in a column of outcomes how they came out."""
    head, *rows = ([c.plain for c in row.cells] for row in table.rows)
    columns = {i for i, h in enumerate(head) if i and label_kind(h) == "outcome"}
    ended = [r for r in rows if any(map(outcome_verdict, (r[i] for i in columns if i < len(r))))]
    return len(ended) > 1 and all(r[0].strip("#").isdigit() for r in rows)


def _tries_in(document: Document) -> Counter[int]:
    """How many headings of each level tell of one try each."""
    tries, above = Counter[int](), dict[int, set[str]]()
    for block in document.of("heading", "paragraph"):
        labels = set(map(_label_of, document.source(block).split("\n")))
        if block.kind == "heading":
            kind, ends = heading_kind(block.plain), _LABEL_END.split(block.plain)[1:]
            ended = not kind and ends and outcome_verdict(ends[-1])
            named = block.level > 1 and (ended or _NUMBERED.match(block.plain))
            tries[block.level] += bool(named)
            labels = {kind}
            above = {level: signs for level, signs in above.items() if level < block.level}
            above |= {} if kind or named else {block.level: set()}
        for level, signs in above.items():
            tries[level] += _BOTH <= signs | labels and not _BOTH <= signs
            signs |= labels
    return tries


def _head(outer: list[Block]) -> Iterator[Block]:
    """What stands before a page's first section, and in this where it says in short what the page says."""
    opened = 0
    for block in outer:
        opened += block.kind == "heading" and block.level > 1
        if opened > 1 or opened and block.kind == "heading" and not in_short(block.plain):
            return
        yield block


def _concludes(document: Document, outer: list[Block], *, is_run: bool, measured: bool) -> bool:
    """Whether a page says of itself how it came out: at its head; where it measured, under a heading of its own or in its last paragraph too."""
    tops = [b for b in outer if b.kind == "heading"]
    if sum(b.level > 1 and calls_run(b.plain) for b in tops) > 1:
        return False  # Each of them may.
    # In a folder of runs a status is the run's.
    if any(_declares(b, measured=measured or is_run) for b in _head(outer)):
        return True
    if not measured or any(b.level < 3 and heading_kind(b.plain) == "outcome" for b in tops):
        return measured
    first = next((b.line for b in tops if b.level > 1), outer[-1].stop)
    return _ends(document, outer, first, is_run=is_run)


def _ends(document: Document, outer: list[Block], first: int, *, is_run: bool) -> bool:
    """Whether a page says in its head (before line `first`) or its last paragraph what was done in the end. Where it says so of several
    things it is a list of tries, unless its folder holds runs.
    """
    texts = (outer[0], *document.of("paragraph"))
    ends = (b for b in texts if (b.line < first or b is outer[-1]) and _reports(b))
    final = any(report_of(s)[1] for b in ends for s in sentences_of(b.plain))
    # Most pages say nothing there, and then what stands between need not be read.
    tries = (b for b in texts if final and not is_run and (_reports(b) or _declares(b)))
    return final and (is_run or len({b.line for b in tries}) == 1 and _rows_told(document) < 2)


def _rows_told(document: Document) -> int:
    """How many rows of tables say how something went."""
    rows = (row.cells[1:] for table in document.of("table") for row in table.rows[1:])
    return sum(any(report_of(c.plain)[0] for c in cells) for cells in rows)


def _reports(block: Block) -> bool:
    return any(report_of(s)[0] for s in sentences_of(block.plain))


def _declares(block: Block, *, measured: bool = True) -> bool:
    """Whether a block of a page's head says how its one try came out: behind a label, or at the end of the title. A status may be that of
    the page, and then nothing is measured.
    """
    for line in block.plain.split("\n"):
        if block.kind == "heading":
            label, rest = "status", _LABEL_END.split(line.replace(" - ", " — "))[1:]
        elif measured and shouted_verdict(line):
            return True  # What measured nothing may quote an error, or a rule ("BAD: x = 1").
        else:
            label, *rest = line.split(":", 1)
            label = label.partition(" (")[0].lower()
        if rest and label in OUTCOME_LABELS and (measured or label != "status"):
            if outcome_verdict(rest[-1]) or _reports(block):
                return True
    return False


def _measured(document: Document) -> bool:
    """Whether a page compares what it measured: a table of figures, a printout of them, or one figure beside another."""
    for table in document.of("table"):
        head, *body = (" ".join(c.plain for c in row.cells) for row in table.rows)
        rows = (any(c.plain[:1].isdigit() for c in row.cells[1:]) for row in table.rows[1:])
        if sum(rows) > 1 or any(_compares(f"{head} {row}") for row in body):
            return True
    printed = [document.source(b).split("\n") for b in document.of("fence")]
    printed.append([line for b in document.of("paragraph") for line in b.plain.split("\n")])
    values = ([line.rpartition(": ") for line in lines] for lines in printed)
    if any(sum(bool(c and _FIGURE.match(v)) for _, c, v in lines) > 1 for lines in values):
        return True
    return any(_compares(b.plain) for b in document.of("paragraph"))


def _compares(text: str) -> bool:
    """Whether a text compares two figures of one unit in words ("155 MB/s before, 149 MB/s after"), or two that are bare by an arrow."""
    units = Counter(n.unit for n in numbers_in(text) if n.unit)
    beside = any(count > 1 for count in units.values()) and _COMPARING.search(text)
    return bool(beside or _COMPARED.search(text))


def _way(href: str, kind: str) -> str:
    return f"[[{href.partition('|')[0].strip()}" if kind == "wikilink" else href


def _unnamable(front: Front, path: str) -> Iterator[Finding]:
    """Values that name a folder or a file and cannot: taken out of the fields, so that nobody trips over them."""
    for key in _NAMING:
        value = front.fields.get(key)
        name = str(value) if isinstance(value, (str, int, float)) else ""
        known = is_inner(name) and len(name) <= _LONGEST_NAME and "\ufffd" not in name
        if value and not (known and name.isprintable()):
            del front.fields[key]
            message, hint = f"'{key}' names no folder", "write a short plain name"
            line = front.lines.get(key, 1)
            yield Finding(path, line, "front-matter", message, target=name[:80], hint=hint)


def _english(fields: dict[str, object]) -> dict[str, object]:
    """Fields that are spelled in another language or with a capital, under the name by which rooms ask for them."""
    named = {
        key: FIELD_NAMES.get(key.lower(), key.lower()) for key in fields if isinstance(key, str)
    }
    return {name: fields[key] for key, name in named.items() if name not in fields}


def _dated(document: Document) -> list[tuple[str, str]]:
    """The day that a line of the head labels, where no field does ("Date: 2026-01-03")."""
    head = takewhile(lambda b: b.kind != "heading" or b.level == 1, document.blocks)
    lines = "\n".join(b.plain for b in head if b.kind == "paragraph").split("\n")
    pairs = (line.partition(": ") for line in lines)
    return [
        ("date", day.strip())
        for name, _, day in pairs
        if FIELD_NAMES.get(name.lower(), name.lower()) in CREATED_FIELDS
    ]


def _headings(document: Document, ids: list[str]) -> Iterator[Heading]:
    """Headings with the anchors that GitHub gives them; an explicit id (`{#name}`) goes to `ids`."""
    taken: dict[str, int] = {}
    for block in document.of("heading"):
        text = block.plain.strip()
        if text.endswith("}") and (named := _EXPLICIT_ID.search(text)):
            ids.append(named[1])
            text = text[: named.start()].rstrip()
        slug = base = slug_of(text)
        while slug in taken:
            taken[base] += 1
            slug = f"{base}-{taken[base]}"
        taken.setdefault(slug, 0)
        yield Heading(block.level, text, slug, block.line, not block.depth)


def _allowed(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        for comment in _ALLOW.finditer(line):
            for code in comment[1].replace(",", " ").split():
                # A comment alone on its line speaks of the next one.
                yield number + (line.strip() == comment[0]), code


def _managed(
    path: str, marked: list[tuple[int, str]], findings: list[Finding]
) -> Iterator[tuple[str, int, int]]:
    """Managed blocks as (name, first line, last line); markers without a partner become findings."""
    name, start = "", 0
    hint = "write <!-- kb:auto NAME --> ... <!-- /kb:auto -->"
    for line, marker in ((n, m) for n, text in marked if (m := _AUTO.match(text))):
        if not marker[1] and not name and marker[2]:
            name, start = marker[2], line
        elif marker[1] and name:
            yield name, start, line
            name = ""
        else:
            message = "a kb:auto marker without its partner"
            findings.append(Finding(path, line, "managed-block", message, marker[2] or "", hint))
    if name:
        message = f"the managed block '{name}' is never closed"
        findings.append(Finding(path, start, "managed-block", message, name, hint))
