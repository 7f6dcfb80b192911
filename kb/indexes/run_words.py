"""Words of what each run changes, and which runs pull a concept by them: those whose own statement speaks of it, not those that only link it.

Runs also link the gate that judges them, the rule that stopped them and the account that reports them; none of these is what they change.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from kb.page import Page
from kb.schema import Verdict
from kb.store import Kept
from kb.text import STOP
from kb.trail import Facts, Trail

# Scripts that put no space between words are read sign by sign, so that a name is found within a sentence.
_SIGN = "[\u3040-\u30ff\u3400-\u9fff]"
_WORD = re.compile(rf"{_SIGN}|(?:(?!{_SIGN})[^\W_])+")
# Words that begin alike are taken for forms of one word: remat and rematerialization.
_STEM = 5
# What more than this share of the runs speak of tells none of them apart.
_COMMON = 0.5
# A longer title is text that lost its line ends.
_LONGEST_TITLE = 500
# A target with fewer runs than this has no habits yet.
LARGE = 5


@dataclass(frozen=True, slots=True)
class RunWords:
    """What every run says it changes, by path, as plain words: `heads` title, slug, levers and tags, `texts` its hypothesis as well.

    `runs_of` are the runs of every word of the texts, `stems` those whose statement or mechanism has a word with that stem,
    `targets` those of every target, `measured` the names of what runs measure.
    """

    heads: Mapping[str, str]
    texts: Mapping[str, str]
    runs_of: Mapping[str, Set[str]]
    stems: Mapping[str, Set[str]]
    targets: Mapping[str, Set[str]]
    measured: frozenset[str]
    # Answers of `_tellers`: most stems are asked for by many topics.
    tellers: dict[str, frozenset[str]] = field(default_factory=dict)

    def naming(self, names: Iterable[str]) -> frozenset[str]:
        """Runs whose statement holds one of the names. A single word may stand anywhere in a sentence: it counts in the head only."""
        names = tuple(names)
        several = [n for n in names if " " in n]
        return self._holding(names, self.heads) | self._holding(several, self.texts)

    def _holding(self, names: Iterable[str], texts: Mapping[str, str]) -> frozenset[str]:
        paths: set[str] = set()
        for name in names:
            runs = sorted((self.runs_of.get(word, frozenset()) for word in name.split()), key=len)
            paths.update(
                p for p in frozenset(runs[0]).intersection(*runs) if f" {name} " in texts[p]
            )
        return frozenset(paths)

    def sharing(self, names: Iterable[str]) -> bool:
        """Whether any run says anything of the names."""
        names = tuple(names)
        return not self.stems.keys().isdisjoint(_stems(names)) or bool(self.naming(names))

    def agreeing(self, names: Iterable[str]) -> frozenset[str]:
        """Runs whose statement or mechanism shares a telling word with the names."""
        most = max(LARGE, _COMMON * len(self.texts))
        owners = (self.stems.get(stem, frozenset()) for stem in _stems(names))
        return frozenset().union(*(own for own in owners if len(own) <= most))

    def speaking(self, name: str) -> frozenset[str]:
        """Runs whose statement or mechanism has all words of a name, in any form."""
        first, *rest = (self.stems.get(_stem(word), frozenset()) for word in plain_words(name))
        return frozenset(first).intersection(*rest)

    def shares(self, names: Iterable[str], runs: Iterable[str]) -> dict[str, float]:
        """How much of a name each run says, 0 to 1; of several names, the one that it says most of. What most of a trail says does not count."""
        stems = [{_stem(w) for w in name.split() if w not in STOP} for name in names]
        owners = [[self._tellers(stem) for stem in some] for some in stems]
        return {
            p: max(
                (sum(p in own for own in some) / (len(some) or 1) for some in owners), default=0.0
            )
            for p in runs
        }

    def _tellers(self, stem: str) -> frozenset[str]:
        """Runs that a stem tells apart from the others of their trail."""
        if stem not in self.tellers:
            self.tellers[stem] = self.telling(self.stems.get(stem, ()))
        return self.tellers[stem]

    def telling(self, runs: Collection[str]) -> frozenset[str]:
        """Runs without those of a target most of whose runs are among them: what most of a trail has in common is no choice of any."""
        kept = frozenset(runs)
        for whole in self.targets.values():
            if len(whole) >= LARGE and 2 * len(kept & whole) > len(whole):
                kept -= whole
        return kept


class Words(NamedTuple):
    """Plain words of one run: its head and all of its statement as texts to look names up in, stems of these and its mechanism, what it measures."""

    head: str
    text: str
    stems: tuple[str, ...]
    measured: tuple[str, ...]


def words_by_run(trail: Trail, kept: Kept) -> dict[str, Words]:
    """Words of every run by path; those of a run are kept until it says something else."""
    known = {e.path: e for e in trail.experiments}
    return kept.each("words", trail.digests, Words, lambda path: _words_of(known[path]))


def run_words(runs: Iterable[Facts], words: Mapping[str, Words]) -> RunWords:
    """Words of runs that change something."""
    runs_of: dict[str, set[str]] = defaultdict(set)
    stems: dict[str, set[str]] = defaultdict(set)
    targets: dict[str, set[str]] = defaultdict(set)
    heads, texts, measured = {}, {}, set[str]()
    for e in runs:
        own = words[e.path]
        heads[e.path], texts[e.path] = own.head, own.text
        measured.update(own.measured)
        targets[e.target].add(e.path)
        for word in set(own.text.split()):
            runs_of[word].add(e.path)
        for stem in own.stems:
            stems[stem].add(e.path)
    return RunWords(heads, texts, runs_of, stems, targets, frozenset(measured))


def _words_of(e: Facts) -> Words:
    levers = " ".join(f"{lever.name} {lever.value}" for lever in e.levers[:8])
    title, hypothesis = plain_words(f"{e.title} {e.slug} {levers}"), plain_words(e.hypothesis)
    # A dot keeps the words of one text from being read on into the next.
    head = f" {' '.join(title)} . {' . '.join(' '.join(plain_words(t)) for t in e.tags)} "
    stems = tuple(sorted({_stem(w) for w in (*title, *hypothesis, *plain_words(e.mechanism))}))
    return Words(
        head,
        f"{head}. {' '.join(hypothesis)} ",
        stems,
        tuple(" ".join(plain_words(m.name)) for m in e.metrics),
    )


def pulls(tries: Iterable[Facts]) -> list[Facts]:
    """Runs that change something: a baseline is what they start from."""
    return [e for e in tries if e.verdict.canonical is not Verdict.BASELINE]


def names_of(page: Page) -> tuple[str, ...]:
    """Ways a text may name a page: its title or the part before a dash, what stands in brackets in it, its file name, its aliases."""
    whole = page.title[:_LONGEST_TITLE]
    title = re.sub(r"\(.*?\)", "", whole)
    head = re.split(r"\s[—–-]\s|:\s", title)[0]
    texts = (
        " ".join(plain_words(t))
        for t in (title, head, *re.findall(r"\((.*?)\)", whole), page.stem, *page.words("aliases"))
    )
    return tuple(sorted({n for n in texts if len(n) >= 3 and n not in STOP}))


def plain_words(text: str) -> list[str]:
    """Words in lower case, without the s of a plural."""
    return [
        w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] != "s" else w
        for w in _WORD.findall(text.lower())
    ]


def _stems(names: Iterable[str]) -> set[str]:
    return {
        _stem(w)
        for name in names
        for w in name.split()
        if len(w) >= 3 and w not in STOP and not w.isdigit()
    }


def _stem(word: str) -> str:
    return word[:_STEM]
