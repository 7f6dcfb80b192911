"""What the titles of runs have in common, for trails that name neither tags nor levers nor hypotheses. Refuses to read more than titles."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from kb.run.record import Outcome
from kb.run.status import outcome_of
from kb.schema import Verdict, canonical_verdict

_WORD = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]|\d+(?:\.\d+)?|[^\sa-z0-9]+")
# A theme of a long trail is in more of its runs than one of a short trail: a fiftieth of them.
_LEAST, _SHARE = 3, 50
# A word that more of the runs carry than this share says what the trail is about, not what one of its runs does.
_MOST = 1 / 3
# Words of every trail: grammar, what is done to a thing, and how it went.
_PLAIN = frozenset(
    "about above across after again against also and any are around attempt avoid back baseline because been before below best "
    "better between both but by cause change changed check clean combined commit default defaults did does done down each else "
    "entire even every exp experiment extra fail failed fails fast faster few first fix fixed for from full further gain gains "
    "get give gives good had has have her here high higher how however implement improve improved improvement improvements "
    "improves increase increased instead into iter iteration its just keep kept larger last latest less like lines loop lose "
    "loss lost low lower made make makes many may more most move much must need needs neutral new next noise none not now off "
    "old on once one only onto original other out over overall own parity part pass per probe proposed raise real reduce "
    "reduced reduces regressed regresses regression reject rejected remove removed removes replace replaced replaces rerun "
    "result results retry revert reverted run runs same save saves saving savings second see set several shows simple simpler "
    "simplify since single slight slightly slow slower small smaller some speed step steps still stop such switch take takes "
    "test tested tests than that the their them then there these they third this those three through time times too total "
    "tried tries trim try trying two under until up use used uses using valid value values variant very via was way were what "
    "when where which while whole why will with within without work works worse wrong yet".split()
)


def themes_of(titles: Iterable[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """(theme, paths) of runs given as (path, title): a word, or two that stand together, in titles of three runs or more.

    Largest first, a pair before its words; every run stands under one theme at most, in the order given.
    """
    carried: dict[str, list[str]] = defaultdict(list)
    order: list[str] = []
    for path, title in titles:
        order.append(path)
        for term in _terms(title):
            carried[term].append(path)
    least = max(_LEAST, len(order) // _SHARE)
    most = max(least, _MOST * len(order))
    themes: list[tuple[str, tuple[str, ...]]] = []
    taken: set[str] = set()
    for term in sorted(carried, key=lambda t: (-len(carried[t]) * (2 if " " in t else 1), t)):
        own = tuple(p for p in carried[term] if p not in taken)
        if least <= len(own) and len(carried[term]) <= most:
            taken.update(own)
            themes.append((term, own))
    return sorted(themes, key=lambda theme: (-len(theme[1]), theme[0]))


@lru_cache(maxsize=4096)
def is_outcome(word: str) -> bool:
    """Whether a word says how a run came out (accepted, oom), not what it tried."""
    return (
        canonical_verdict(word) not in (None, Verdict.OTHER)
        or outcome_of(word) is not Outcome.OTHER
    )


def _terms(title: str) -> set[str]:
    words = [
        w if len(w) >= 3 and w[0].isalpha() and w not in _PLAIN and not is_outcome(w) else ""
        for w in _WORD.findall(title.lower())
    ]
    pairs = {f"{a} {b}" for a, b in zip(words, words[1:], strict=False) if a and b}
    return pairs | {w for w in words if len(w) >= 4}
