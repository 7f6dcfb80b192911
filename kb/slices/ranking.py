"""Which pages a question is about, best first: words, names, time and links together. Refuses to cut: a budget is the recipe's matter.

Each weight below stood the test of `kb replay` (docs/decisions/): taken away or doubled, recall falls or does not move.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from kb import search
from kb.slices.view import PageStanding, View

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

# Runs whose citing is looked at, and how few of a target say nothing yet.
_HABIT_RUNS, _LEAST_HABIT = 40, 8

_WORD = re.compile(r"[a-z0-9]+")


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
    prior = _habits(view, runs) if for_run else _FOR_MATTERS
    links = 1.0 if for_run else 2.0
    hits = search.pages_like(view.db, weights, limit=_MOST_HITS, but=LISTS)
    by_words = {h.path: h.score for h in hits}
    pages = view.visible(by_words)
    words = _normal({p: by_words[p] for p in pages})
    worth = {k: (w, min(_MIRROR, w)) for k, w in prior.items()}
    other = _OTHER, min(_MIRROR, _OTHER)
    priors = {p: worth.get(page.type, other)[page.is_mirror] for p, page in pages.items()}
    scores = {p: 1.2 * s * priors[p] for p, s in words.items()}

    def speak(weighed: Iterable[tuple[str, float]]) -> None:
        for path, score in weighed:
            scores[path] = scores.get(path, 0.0) + score

    speak((p, s * priors[p]) for p, s in _named(view, pages, weights).items())
    speak((p, 0.2 + 0.3 * math.exp(-age / 5)) for age, p in enumerate(reversed(runs)))
    seeds = nsmallest(_SEEDS, scores.items(), key=lambda x: (-x[1], x[0]))
    cited = _normal(_cited(view, dict(seeds)))
    ends = ((p, s, view.standing(p)) for p, s in cited.items())
    near = ((p, s, worth.get(page.type, other)[page.is_mirror]) for p, s, page in ends)
    speak((p, links * s * math.sqrt(own)) for p, s, own in near)
    terms = dict.fromkeys(search.terms_of(target.replace("_", " ")), 1.0)
    speak((p, 0.2 * s) for p, s in _named(view, pages, terms).items())
    ordered = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    return [Ranked(p, view.standing(p).type, scores[p]) for p in ordered]


def _habits(view: View, runs: Sequence[str]) -> dict[str, float]:
    """How readily a run cites each type of page: at least as a rule, and more where the runs before it, of this target or of all, do so."""
    latest = runs[-_HABIT_RUNS:] if len(runs) >= _LEAST_HABIT else view.runs("", last=_HABIT_RUNS)
    return view.once("habits", tuple(latest), lambda: _habits_of(view, latest))


def _habits_of(view: View, latest: Sequence[str]) -> dict[str, float]:
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


def _normal(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values(), default=0.0) or 1.0
    return {path: score / top for path, score in scores.items()}


def _name_words(
    view: View, paths: Iterable[str]
) -> tuple[dict[str, frozenset[str]], dict[str, list[str]]]:
    """Words in the file names of pages, and the pages by these words; grows as pages are looked at."""
    words, pages = known = view.once("name words", "", lambda: ({}, defaultdict(list)))
    for path in paths:
        if path not in words:
            name = path.rsplit("/", 1)[1].removesuffix(".md").lower()
            name_words = frozenset(w for w in _WORD.findall(name) if not w.isdigit())
            for word in name_words:
                pages[word].append(path)
            # Last: who finds it here, beside us, finds it by its words too.
            words[path] = name_words
    return known


def _named(
    view: View, pages: Mapping[str, PageStanding], weights: Mapping[str, float]
) -> dict[str, float]:
    """Pages whose file name the question says, by the share and the weight of its words; well-linked pages a little more."""
    forms = {
        form: weight
        for word, weight in weights.items()
        for form in (word, word + "s", word.removesuffix("s"))
    }
    unsaid = sum(weights.values()) / max(1, len(weights))
    shares = {}
    words_of, by_word = _name_words(view, pages)
    named = {p for form in forms for p in by_word.get(form, ()) if p in pages}
    for path in sorted(named):
        words = words_of[path]
        if pages[path].type == "experiment":
            continue
        have = math.fsum(forms.get(w, 0.0) for w in words)
        if have:
            shares[path] = have * have / (have + unsaid * sum(w not in forms for w in words))
    most = max((pages[p].rank for p in shares), default=0.0) or 1.0

    def linked(path: str) -> float:
        return math.log1p(1000 * pages[path].rank / most) / math.log1p(1000)

    return {p: s * (0.8 + 0.2 * linked(p)) for p, s in _normal(shares).items()}


def _cited(view: View, seeds: Mapping[str, float]) -> dict[str, float]:
    """One step of a random walk from weighted pages along their links, and a little against them; a page with many links passes little on each."""
    cited: dict[str, float] = defaultdict(float)
    ends = view.once("ends", "", dict[str, list[list[str]]])
    links = _links(view, [path for path in seeds if path not in ends])
    view.look_up({end for _, *both in links for way in both for end in way[:_MOST_LINKS]})
    for path, *both in links:
        some = ((e for e in way[:_MOST_LINKS] if view.sees(e)) for way in both)
        ends[path] = [[e for e in way if view.standing(e).type not in LISTS] for way in some]
    for path in sorted(seeds):
        for share, way in zip((1.0, _BACK), ends.get(path, ()), strict=False):
            passed = share * seeds[path] / math.sqrt(len(way) or 1)
            for end in way:
                cited[end] += passed
    return dict(cited)
