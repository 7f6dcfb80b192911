"""What topics are found from: pages that hold knowledge, runs that change something, and what ties them: links, telling tags, words. Runs also link
the gate that judges them, the rule that stopped them and the account that reports them; none of these is what they change."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from kb.graph import Graph
from kb.page import Page
from kb.schema import Verdict, type_of
from kb.text import STOP
from kb.trail import Facts, Trail
from kb.trail.themes import is_outcome

# Scripts that put no space between words are read sign by sign, so that a name is found within a sentence.
_SIGNS = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")
# Words that begin alike are taken for forms of one word: remat and rematerialization.
_STEM = 5
# What more than this share of the runs speak of tells none of them apart.
_COMMON = 0.5
# A longer title is text that lost its line ends.
_LONGEST_TITLE = 500
# A target with fewer runs than this has no habits yet.
LARGE = 5


class Words(NamedTuple):
    """Plain words of one run: its head (title, slug, levers, tags) and all of its statement as texts to look names up in, stems of these and its
    mechanism, what it measures.
    """

    head: str
    text: str
    stems: tuple[str, ...]
    measured: tuple[str, ...]


class RunWords(NamedTuple):
    """Words of every run by path; the runs of every word of a statement, those of every stem and of every target; the names of what runs measure."""

    of_run: Mapping[str, Words]
    speaking: Mapping[str, Set[str]]
    stems: Mapping[str, Set[str]]
    targets: Mapping[str, Set[str]]
    measured: frozenset[str]

    def naming(self, names: Iterable[str]) -> frozenset[str]:
        """Runs whose statement holds one of the names. A single word may stand anywhere in a sentence: it counts in the head only."""
        paths: set[str] = set()
        for name in names:
            place = Words._fields.index("text" if " " in name else "head")
            runs = sorted((self.speaking.get(word, set()) for word in name.split()), key=len)
            both = runs[0].intersection(*runs)
            paths.update(p for p in both if f" {name} " in self.of_run[p][place])
        return frozenset(paths)

    def agreeing(self, names: Iterable[str]) -> frozenset[str]:
        """Runs whose statement or mechanism shares a telling word with the names."""
        most = max(LARGE, _COMMON * len(self.of_run))
        words = (w for name in names for w in name.split())
        telling = {stem_of(w) for w in words if len(w) >= 3 and w not in STOP and not w.isdigit()}
        owners = (self.stems.get(stem, frozenset()) for stem in telling)
        return frozenset().union(*(own for own in owners if len(own) <= most))

    def share(self, names: Iterable[str], run: str) -> float:
        """How much of a name a run says, 0 to 1; of several names, the one that it says most of."""
        own = {*self.of_run[run].stems}
        stems = ({stem_of(w) for w in name.split() if w not in STOP} for name in names)
        return max((len(some & own) / len(some) for some in stems if some), default=0.0)

    def telling(self, runs: Collection[str]) -> frozenset[str]:
        """Runs without those of a target most of whose runs are among them: what most of a trail has in common is no choice of any."""
        kept = frozenset(runs)
        for whole in self.targets.values():
            if len(whole) >= LARGE and 2 * len(kept & whole) > len(whole):
                kept -= whole
        return kept


def run_words(runs: Iterable[Facts], words: Mapping[str, Words]) -> RunWords:
    """Words of runs that change something."""
    speaking, stems, targets = (defaultdict[str, set[str]](set) for _ in range(3))
    own = {e.path: words[e.path] for e in runs}
    for e in runs:
        targets[e.target].add(e.path)
        for word in set(own[e.path].text.split()):
            speaking[word].add(e.path)
        for stem in own[e.path].stems:
            stems[stem].add(e.path)
    measured = frozenset(chain.from_iterable(w.measured for w in own.values()))
    return RunWords(own, speaking, stems, targets, measured)


def words_of(e: Facts) -> Words:
    """Plain words of one run."""
    levers = " ".join(f"{lever.name} {lever.value}" for lever in e.levers[:8])
    title, hypothesis = plain_words(f"{e.title} {e.slug} {levers}"), plain_words(e.hypothesis)
    # A dot keeps the words of one text from being read on into the next.
    head = f" {' '.join(title)} . {' . '.join(' '.join(plain_words(t)) for t in e.tags)} "
    stems = {stem_of(w) for w in (*title, *hypothesis, *plain_words(e.mechanism))}
    measured = tuple(" ".join(plain_words(m.name)) for m in e.metrics)
    return Words(head, f"{head}. {' '.join(hypothesis)} ", tuple(sorted(stems)), measured)


def pulls(tries: Iterable[Facts]) -> list[Facts]:
    """Runs that change something: a baseline is what they start from."""
    return [e for e in tries if e.verdict.canonical is not Verdict.BASELINE]


def names_of(page: Page) -> tuple[str, ...]:
    """Ways a text may name a page: its title or the part before a dash, what stands in brackets in it, its file name, its aliases."""
    whole = page.title[:_LONGEST_TITLE]
    title = re.sub(r"\(.*?\)", "", whole)
    head = re.split(r"\s[—–-]\s|:\s", title)[0]
    texts = (title, head, *re.findall(r"\((.*?)\)", whole), page.stem, *page.words("aliases"))
    names = {" ".join(plain_words(text)) for text in texts}
    return tuple(sorted(n for n in names if len(n) >= 3 and n not in STOP))


def plain_words(text: str) -> list[str]:
    """Words in lower case, without the s of a plural."""
    return [
        w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] != "s" else w
        for w in _WORD.findall(text.lower())
    ]


def stem_of(word: str) -> str:
    return word[:_STEM]


_KNOWLEDGE = frozenset(
    "concept observation source analysis codebase hypothesis target topic".split()
)
# A tag on more than this share of the pages says what kind of page it is, not what it is about.
_COMMON_TAG = 0.12


@dataclass(frozen=True, slots=True)
class WikiSurvey:
    """Pages of knowledge, and runs by path in trail order, with what ties them: `near` holds the pages and runs that a page links or that link it,
    which weigh 1 each, and its tags as `#tag`, which weigh less the more common they are; `tags` the pages and runs of a tag.
    """

    pages: Mapping[str, Page]
    runs: Mapping[str, Facts]
    tags: Mapping[str, frozenset[str]]
    near: Mapping[str, Mapping[str, float]]
    words: RunWords

    def tied(self, path: str) -> frozenset[str]:
        """Runs that are linked with a page."""
        return frozenset(self.near[path].keys() & self.runs.keys())


def survey_of(
    graph: Graph, trail: Trail, words: Mapping[str, Words], *, only: frozenset[str] | None
) -> WikiSurvey:
    """The survey of all pages, or of some `only`; baselines tie pages, but change nothing."""
    pages, tries = _pages_and_tries(graph, trail, only)
    run_pages = (graph.pages[e.path] for e in tries if e.path in graph.pages)
    tags = _telling_tags([*pages.values(), *run_pages], tries)
    known = frozenset(pages.keys() | {e.path for e in tries})
    out, back = graph.outlinks, graph.backlinks
    links = ((p, known.intersection((*out.get(p, ()), *back.get(p, ())))) for p in pages)
    near = {p: dict.fromkeys(own, 1.0) for p, own in links}
    for tag, carrying in tags.items():
        for path in carrying & pages.keys():
            near[path][f"#{tag}"] = math.log2(1 + len(carrying)) ** -2
    runs = {e.path: e for e in pulls(tries)}
    return WikiSurvey(pages, runs, tags, near, run_words(runs.values(), words))


def inputs_of(
    graph: Graph, trail: Trail, words: Mapping[str, Words], *, only: frozenset[str] | None
) -> object:
    """All that a survey is made from."""
    pages, tries = _pages_and_tries(graph, trail, only)
    known = pages.keys() | {e.path for e in tries}
    changes = {e.path for e in pulls(tries)}
    tagged = [*pages, *(e.path for e in tries if e.path in graph.pages)]
    return (
        [(p, page.type, page.title, page.words("aliases")) for p, page in pages.items()],
        [(p, graph.pages[p].words("tags")) for p in tagged],
        [(p, graph.outlinks.get(p, ())) for p in sorted(known)],
        [(e.path, e.target, e.path in changes) for e in tries],
        words,
    )


def _pages_and_tries(
    graph: Graph, trail: Trail, only: frozenset[str] | None
) -> tuple[dict[str, Page], list[Facts]]:
    wanted = graph.pages.keys() | {e.path for e in trail.experiments} if only is None else only
    pages = {p: page for p, page in graph.pages.items() if page.type in _KNOWLEDGE and p in wanted}
    return pages, [e for e in trail.experiments if e.path in wanted]


def _telling_tags(pages: list[Page], tries: list[Facts]) -> Mapping[str, frozenset[str]]:
    """tag -> pages that carry it, for tags that tell pages apart: no verdicts, page types, numbers, or names that half a target's trail carries."""
    carried, of_target = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for page in pages:
        for tag in page.words("tags"):
            carried[tag.lower()].add(page.path)
    for e in tries:
        of_target[e.target].add(e.path)
    large = [own for own in of_target.values() if len(own) >= LARGE]
    most = max(4, _COMMON_TAG * len(pages))
    return {
        tag: frozenset(own)
        for tag, own in sorted(carried.items())
        if 2 <= len(own) <= most
        and not any(2 * len(own & whole) > len(whole) for whole in large)
        and tag.strip("0123456789.-")
        and not type_of(tag)
        and not is_outcome(tag)
    }
