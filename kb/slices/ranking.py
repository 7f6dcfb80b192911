"""Which pages a question is about, best first: words, names, time and links together. Refuses to cut: a budget is the recipe's matter.

Each weight below stood the test of `kb replay` (docs/decisions/): taken away or doubled, recall falls or does not move.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kb import search
from kb.schema import TYPES, folders_of
from kb.slices.view import View

# Lists that machines keep name every page and say nothing of it.
LISTS = ("catalog", "index", "log", "topic")

# What speaks for a page, in the order in which it is looked at.
REASONS = ("same words", "named", "same target", "cited by these", "names the target")

# Pages that words may find; what stands lower never reaches a slice.
_MOST_HITS = 1000

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

# Runs whose citing is looked at, and how few of a target say nothing yet.
_HABIT_RUNS, _LEAST_HABIT = 40, 8

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """One page, the weight of what speaks for it, and the strongest reason."""

    path: str
    type: str
    score: float
    why: str


def ranked(
    view: View, weights: Mapping[str, float], *, runs: Sequence[str], target: str
) -> list[Ranked]:
    """Pages that may be seen, best first, ties by path.

    `weights` are the words of the question; `runs` are the target's earlier experiments, oldest first; without a target none.
    """
    for_run = bool(target or view.before)
    prior = _habits(view, runs) if for_run else _FOR_MATTERS
    links = 1.0 if for_run else 2.0
    hits = search.pages_like(view.db, weights, limit=_MOST_HITS, but=LISTS)
    view.look_up([h.path for h in hits] + list(runs))
    by_words = {h.path: h.score for h in hits if view.sees(h.path)}
    words = _normal(by_words)
    parts = {
        "same words": {p: 1.2 * s * _prior(view, p, prior) for p, s in words.items()},
        "named": {
            p: s * _prior(view, p, prior) for p, s in _named(view, weights, by_words).items()
        },
        "same target": {p: 0.2 + 0.3 * math.exp(-age / 5) for age, p in enumerate(reversed(runs))},
    }
    scores = Counter(parts["same words"])
    scores.update(parts["named"])
    scores.update(parts["same target"])
    seeds = sorted(scores.items(), key=lambda x: (-x[1], x[0]))[:_SEEDS]
    cited = _normal(_cited(view, dict(seeds)))
    parts["cited by these"] = {p: links * s * math.sqrt(_prior(view, p, prior)) for p, s in cited.items()}  # fmt: skip
    terms = dict.fromkeys(search.terms_of(target.replace("_", " ")), 1.0)
    parts["names the target"] = {p: 0.2 * s for p, s in _named(view, terms, by_words).items()}
    scores.update(parts["cited by these"])
    scores.update(parts["names the target"])
    # The strongest of what speaks for a page; of two as strong the first.
    strongest: dict[str, tuple[float, str]] = {}
    for why, weighed in parts.items():
        for path, score in weighed.items():
            if path not in strongest or score > strongest[path][0]:
                strongest[path] = score, why
    ordered = sorted(scores.items(), key=lambda x: (-x[1], x[0]))
    return [
        Ranked(path, view.standing(path).type, score, strongest[path][1]) for path, score in ordered
    ]


def _habits(view: View, runs: Sequence[str]) -> dict[str, float]:
    """How readily a run cites each type of page: at least as a rule, and more where the runs before it, of this target or of all, do so."""
    latest = runs[-_HABIT_RUNS:] if len(runs) >= _LEAST_HABIT else view.runs("", last=_HABIT_RUNS)
    cited = [ends for _, ends, _ in _links(view, latest)]
    view.look_up({path for ends in cited for path in ends})
    kinds = ({view.standing(p).type for p in ends if view.sees(p)} for ends in cited)
    counts = Counter(kind for own in kinds for kind in own)
    usual = {kind: math.sqrt(n / len(cited)) for kind, n in counts.items()}
    return {k: max(_FOR_RUNS.get(k, _OTHER), usual.get(k, 0.0)) for k in (*_FOR_RUNS, *usual)}


def _links(view: View, paths: Iterable[str]) -> list[tuple[str, list[str], list[str]]]:
    """(page, pages that it cites, pages that cite it), by path."""
    rows = view.db.execute(
        "select n.path, n.cites, n.cited_by from json_each(?) j join neighbours n on n.path = j.value order by n.path",
        (json.dumps(list(paths)),),
    )
    return [(path, json.loads(cites), json.loads(cited_by)) for path, cites, cited_by in rows]


def _prior(view: View, path: str, prior: Mapping[str, float]) -> float:
    page = view.standing(path)
    own = prior.get(page.type, _OTHER)
    return own if _at_home(path, page.type) else min(_MIRROR, own)


@lru_cache(maxsize=1 << 14)
def _at_home(path: str, kind: str) -> bool:
    """Whether a page stands in a folder of its type."""
    return kind in TYPES and path.split("/")[1] in folders_of(kind)


def _normal(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values(), default=0.0) or 1.0
    return {path: score / top for path, score in scores.items()}


@lru_cache(maxsize=1 << 14)
def _words_in_name(path: str) -> frozenset[str]:
    name = path.rsplit("/", 1)[1].removesuffix(".md").lower()
    return frozenset(w for w in _WORD.findall(name) if not w.isdigit())


def _named(view: View, weights: Mapping[str, float], paths: Iterable[str]) -> dict[str, float]:
    """Pages whose file name the question says, by the share and the weight of its words; well-linked pages a little more."""
    forms = {
        form: weight
        for word, weight in weights.items()
        for form in (word, word + "s", word.removesuffix("s"))
    }
    unsaid = sum(weights.values()) / max(1, len(weights))
    shares = {}
    for path in paths:
        words = _words_in_name(path)
        if forms.keys().isdisjoint(words) or view.standing(path).type == "experiment":
            continue
        have = sum(forms.get(w, 0.0) for w in words)
        if have:
            shares[path] = have * have / (have + unsaid * sum(w not in forms for w in words))
    most = max((view.standing(p).rank for p in shares), default=0.0) or 1.0

    def linked(path: str) -> float:
        return math.log1p(1000 * view.standing(path).rank / most) / math.log1p(1000)

    return {p: s * (0.8 + 0.2 * linked(p)) for p, s in _normal(shares).items()}


def _cited(view: View, seeds: Mapping[str, float]) -> dict[str, float]:
    """One step of a random walk from weighted pages along their links, and a little against them; a page with many links passes little on each."""
    cited: dict[str, float] = defaultdict(float)
    links = _links(view, sorted(seeds))
    view.look_up({end for _, *both in links for ends in both for end in ends[:_MOST_LINKS]})
    for path, *both in links:
        for share, ends in zip((1.0, _BACK), both, strict=True):
            ends = [e for e in ends[:_MOST_LINKS] if view.sees(e)]
            ends = [e for e in ends if view.standing(e).type not in LISTS]
            for end in ends:
                cited[end] += share * seeds[path] / math.sqrt(len(ends))
    return dict(cited)
