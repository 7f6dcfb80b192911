"""Which pages a question is about, best first: words, names, time and links together. Refuses to cut: a budget is the recipe's matter.

Each weight below stood the test of `kb replay` (docs/decisions/): taken away or doubled, recall falls or does not move.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import NamedTuple

from kb import search
from kb.slices.view import PageStanding, View
from kb.text import name_words

# Lists that machines keep name every page and say nothing of it.
LISTS = ("catalog", "index", "log", "topic")

# Pages that words may find; what stands lower never reaches a slice.
_MOST_HITS = 500

# Best pages whose links speak for others.
_SEEDS = 30

# Links of one page that are followed: beyond this each passes on too little to matter.
_MOST_LINKS = 400
# Of what a page passes on along its links, so much goes against them.
_BACK = 0.25

# How readily a page of a type is cited by the next experiment of a target, and by a question about a matter as such. The first question is
# answered by what was run; the second by what is known. A page that stands in another type's folder is a mirror of something else.
_FOR_RUNS = {"experiment": 1.0, "concept": 0.7, "hypothesis": 0.6, "observation": 0.6, "source": 0.5, "codebase": 0.5, "analysis": 0.5}  # fmt: skip
_FOR_MATTERS = {"concept": 1.0, "source": 0.7, "analysis": 0.4, "codebase": 0.4, "observation": 0.4, "hypothesis": 0.3, "experiment": 0.2}  # fmt: skip
_OTHER, _MIRROR = 0.2, 0.25


class Ranked(NamedTuple):
    """One page and the weight of what speaks for it."""

    path: str
    type: str
    score: float


def ranked(
    view: View, weights: Mapping[str, float], *, runs: Sequence[str], target: str
) -> list[Ranked]:
    """Pages that may be seen, best first, ties by path.

    `weights` are the words of the question; `runs` are the target's earlier experiments, oldest first; without a target none.
    """
    for_run = bool(target or view.before)
    priors, links = (_FOR_RUNS, 1.0) if for_run else (_FOR_MATTERS, 2.0)

    def prior(page: PageStanding) -> float:
        worth = priors.get(page.type, _OTHER)
        return min(_MIRROR, worth) if page.is_mirror else worth

    hits = search.pages_like(view.db, weights, limit=_MOST_HITS, but=LISTS)
    pages = view.visible(h.path for h in hits)
    words = _normal({h.path: h.score for h in hits if h.path in pages})
    scores: dict[str, float] = defaultdict(float)
    for path, share in words.items():
        scores[path] += 1.2 * share * prior(pages[path])
    for path, share in _named(pages, weights).items():
        scores[path] += share * prior(pages[path])
    for age, path in enumerate(reversed(runs)):
        scores[path] += 0.2 + 0.3 * math.exp(-age / 5)
    seeds = nsmallest(_SEEDS, scores.items(), key=lambda x: (-x[1], x[0]))
    for path, share in _normal(_cited(view, dict(seeds))).items():
        scores[path] += links * share * math.sqrt(prior(view.standing(path)))
    terms = dict.fromkeys(search.terms_of(target.replace("_", " ")), 1.0)
    for path, share in _named(pages, terms).items():
        scores[path] += 0.2 * share
    return [
        Ranked(path, view.standing(path).type, score)
        for path, score in sorted(scores.items(), key=lambda x: (-x[1], x[0]))
    ]


def _normal(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values(), default=0.0) or 1.0
    return {path: score / top for path, score in scores.items()}


def _named(pages: Mapping[str, PageStanding], weights: Mapping[str, float]) -> dict[str, float]:
    """Pages whose file name the question says, by the share and the weight of its words; well-linked pages a little more."""
    forms = {
        form: weight
        for word, weight in weights.items()
        for form in (word, word + "s", word.removesuffix("s"))
    }
    unsaid = sum(weights.values()) / max(1, len(weights))
    shares = {}
    for path, page in pages.items():
        words = _name_words(path)
        if page.type != "experiment" and not forms.keys().isdisjoint(words):
            have = math.fsum(forms.get(w, 0.0) for w in words)
            shares[path] = have * have / (have + unsaid * sum(w not in forms for w in words))
    most = max((pages[p].rank for p in shares), default=0.0) or 1.0
    linked = {p: math.log1p(1000 * pages[p].rank / most) / math.log1p(1000) for p in shares}
    return {p: s * (0.8 + 0.2 * linked[p]) for p, s in _normal(shares).items()}


@lru_cache(maxsize=1 << 14)
def _name_words(path: str) -> frozenset[str]:
    name = path.rpartition("/")[2].removesuffix(".md")
    return frozenset(w for w in name_words(name) if not w.isdigit())


def _cited(view: View, seeds: Mapping[str, float]) -> dict[str, float]:
    """One step of a random walk from weighted pages along their links, and a little against them; a page with many links passes little on each."""
    cited: dict[str, float] = defaultdict(float)
    for path, *both in view.links(seeds):
        for share, way in zip((1.0, _BACK), both, strict=True):
            ends = [p for p in view.visible(way[:_MOST_LINKS]).values() if p.type not in LISTS]
            for page in ends:
                cited[page.path] += share * seeds[path] / math.sqrt(len(ends))
    return dict(cited)
