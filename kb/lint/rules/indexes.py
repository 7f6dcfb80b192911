"""Rules on two indexes that must not mix: what is worth trying stands in the hypothesis index, how costs show in the profile index.

Such an index is one that kb compiled, or an index page whose type, name or folder says so. Refuses to judge what only a reader can: an entry
that links a page of knowledge is taken for what that page is.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from kb.claims.cues import ADVICE, has
from kb.indexes.notes import READING
from kb.lint.matter import Matter
from kb.lint.registry import Rule, W
from kb.page import Page, text_of
from kb.refuted.statement import CROSSES
from kb.schema import Finding, label_kind, type_of, type_of_folder
from kb.source import facts_by_topic, notes_in, path_of_notes
from kb.store import digest_of
from kb.text import cut, sentences_of, words_of
from kb.trail.outline import Passage, Phrases, passages_of
from kb.trail.page_account import LEADS

# Pages that hold no knowledge of what is optimized.
_ASIDE = ("program", "log", "catalog")
# Of what opens to further work, what is no measurement: neither "remaining time" nor "direction of transfers".
_TO_TRY = Phrases(
    "^next(?: (?:steps?|tries|experiments?|ideas?|hypothes[ei]s))?$, follow-?up, open (?:lead|hypothes|question), future work, to try, untried"
)


def hypothesis_material(matter: Matter) -> Iterator[Finding]:
    """Entries of a hypothesis index that are neither hypothesis nor open question, nor link a page that may hold one, a finding a section;
    and what a model wrote into the compiled one. Its entries are pages and runs by construction.
    """
    code, notes = "only-hypothesis-material", path_of_notes("hypothesis")
    hint = "move it to the page that it is about and link that, or to the profile index"
    for page in _kept(matter, "hypothesis"):
        entries = _entries(passages_of(text_of(matter.data(page.path))))
        off = (entry for entry in entries if entry[2] and not _is_material(matter, page, *entry))
        for _, ((first, _, says), *rest) in groupby(off, key=lambda entry: entry[0].above):
            more = f", nor are {len(rest)} more of its section" if rest else ""
            what = f"'{cut(says, 80)}' is neither hypothesis nor open question and links none{more}"
            yield Finding(page.path, first.line, code, what, cut(says, 60), hint)
    compiled = _compiled(matter, "hypothesis")
    for line, says in _readings_told(matter, compiled) if compiled else ():
        what = f"'{cut(says, 80)}' rests on a section that says how to read a profile"
        hint = f"take its topic out of {notes}, and run kb regenerate hypothesis"
        yield Finding(compiled.path, line, code, what, cut(says, 60), hint)


def _is_material(matter: Matter, page: Page, passage: Passage, stop: int, says: str) -> bool:
    """A link to a page counts whatever has become of that, and so does what was refuted."""
    hrefs = (link.href for link in page.links if passage.line <= link.line < stop)
    paged = (matter.target(href, page) for href in hrefs if ".md" in href or href[:1] == "#")
    return (
        any(not path or matter.pages[path].type not in _ASIDE for path in paged)
        or "?" in says
        or says[0] in CROSSES
        or has(says, "doubt", "plan", "future")
        or any(LEADS.search(title) or _announces(title) for title in passage.above)
        or label_kind(passage.label) == "hypothesis"
    )


def _entries(passages: tuple[Passage, ...]) -> Iterator[tuple[Passage, int, str]]:
    """What an index lists (items, rows of tables, the prose of a section that lists nothing), with the line behind it and its text."""
    groups = [[*group] for _, group in groupby(passages, key=attrgetter("item", "above"))]
    stops = [group[0].line for group in groups[1:]] + [sys.maxsize]
    listing = [p.above for p in passages if p.item >= 0 or p.rows]
    for (first, *more), stop in zip(groups, stops, strict=True):
        prose = [p for p in (first, *more) if p.kind == "paragraph"]
        if first.item < 0:
            rows = ((p, row) for p in (first, *more) for row in p.rows[1:])
            for passage, (line, cells) in rows:
                says = " · ".join(map(attrgetter("plain"), cells))
                yield passage._replace(line=line), line + 1, says
            if not first.above or any(a[: len(first.above)] == first.above for a in listing):
                continue
        if prose:
            yield prose[0], stop, " ".join(map(attrgetter("text"), prose))


def _readings_told(matter: Matter, page: Page) -> Iterator[tuple[int, str]]:
    """Sentences of notes that the compiled index shows, which rest on how to read a profile alone: the line of their topic, and the text."""
    has_notes = matter.files.has(path_of_notes("hypothesis"))
    held = notes_in(matter.layout, "hypothesis") if has_notes else None
    text = text_of(matter.data(page.path))
    facts, lines = facts_by_topic(text), text.split("\n")
    places = _places(matter, page).items()
    reading = {line for line, (_, _, title) in places if READING.search(title.lower())}
    for topic, (digest, note) in held.topics.items() if held else ():
        for sentence in note.sentences if digest == digest_of(facts.get(topic, "")) else ():
            quote = " ".join(sentence.quote.split())
            at = {
                n for n, line in enumerate(lines, 1) if quote and quote in line and line[0] != ">"
            }
            if at and at <= reading:
                yield lines.index(f"## {topic}") + 1, sentence.text


def profile_advice(matter: Matter) -> Iterator[Finding]:
    """What a profile index says of what to try. Of a compiled one it is told of the section that it is taken from."""
    hint = "say what is seen, and put what to try where hypotheses stand"
    compiled = _compiled(matter, "profile")
    for page in (*_kept(matter, "profile"), *filter(None, [compiled])):
        places = _places(matter, page) if page is compiled else {}
        for line, says, what in sorted({*_advice(matter, page)}):
            path, at, _ = places.get(line, (page.path, line, ""))
            what = f"'{cut(says, 100)}' {what}"
            yield Finding(path, at, "profile-advice", what, cut(says, 60), hint)


def _advice(matter: Matter, page: Page) -> Iterator[tuple[int, str, str]]:
    """Line, what stands there, and what is wrong with it."""
    for link in page.links:
        linked = matter.pages.get(matter.target(link.href, page))
        if linked and linked.type == "hypothesis":
            yield (
                link.line,
                linked.path,
                "is what is hoped for: whoever reads a profile must not know",
            )
    for passage in passages_of(text_of(matter.data(page.path))):
        cells = [(row.line, cell.plain) for row in passage.rows for cell in row.cells]
        for line, text in cells or [(passage.line, passage.text)] * (passage.kind != "fence"):
            if (passage.kind == "heading" or cells and line == passage.line) and _announces(text):
                yield line, text, "announces what to try"
            else:
                advising = filter(ADVICE.search, sentences_of(text))
                yield from ((line, x, "advises to change something") for x in advising)


def _announces(title: str) -> bool:
    """Whether a heading, or the header of a column, announces what is to be tried."""
    return bool(_TO_TRY.search(title)) or "hypothesis" in (type_of(title), type_of_folder(title))


def _compiled(matter: Matter, kind: str) -> Page | None:
    folder = matter.layout.indexes.relative_to(matter.layout.root)
    return matter.files.page(f"{folder.as_posix()}/{kind}.md")


def _places(matter: Matter, page: Page) -> dict[int, tuple[str, int, str]]:
    """Where each line of a compiled index is taken from: page, line and title of a section."""
    targets = ((x.line, x.href.partition("#")[2], matter.target(x.href, page)) for x in page.links)
    return {
        line: (path, heading.line, heading.text)
        for line, anchor, path in targets
        for heading in (matter.pages[path].headings if path else ())
        if heading.slug == anchor
    }


def _kept(matter: Matter, kind: str) -> Iterator[Page]:
    """Index pages whose type, name or folder says one kind and nothing else."""
    for page in matter.pages.values():
        about = (page.field("type"), page.stem, page.folder.rpartition("/")[2])
        kinds = {_kind(name) for name in about if page.type == "index"} - {""}
        if kinds == {kind}:
            yield page


def _kind(name: str) -> str:
    """The kind of index that a name says: "profile-index" is one of profiles, "user-profile" and "hypothesis-testing" of nothing."""
    words = [w for w in words_of(name.replace("_", "-")) if type_of(w) != "index"]
    if words and all("hypothesis" in (type_of(w), type_of_folder(w)) for w in words):
        return "hypothesis"
    return "profile" if words and all(w.startswith("profil") for w in words) else ""


RULES = (
    Rule(
        "only-hypothesis-material",
        W,
        "what is no hypothesis buries those that are",
        check=hypothesis_material,
    ),
    Rule(
        "profile-advice",
        W,
        "who knows what is hoped for sees it in a profile",
        check=profile_advice,
    ),
)
