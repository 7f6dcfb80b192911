"""Several rankings made into one by reciprocal rank. Refuses scores: those of different rankings cannot be compared, places can."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# Cormack, Clarke and Büttcher, SIGIR 2009: how little the first place of one ranking weighs against agreement between rankings.
_K = 60


def fused(rankings: Sequence[Iterable[T]]) -> list[tuple[T, float]]:
    """Everything that some ranking holds with the sum of 1 / (60 + place), best first; ties as the earlier ranking has them."""
    scores: dict[T, float] = {}
    for ranking in rankings:
        for place, item in enumerate(dict.fromkeys(ranking), 1):
            scores[item] = scores.get(item, 0.0) + 1 / (_K + place)
    return sorted(((item, round(score, 9)) for item, score in scores.items()), key=lambda x: -x[1])
