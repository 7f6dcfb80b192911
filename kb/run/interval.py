"""Intervals of a gain and of a value from samples: by ranks where they suffice, else Student's. Refuses fewer than three samples a side.

The shift of two sides is Hodges and Lehmann's (the median of all pairwise differences) with the interval of the Mann-Whitney test, or,
where the machine drifted from turn to turn, of the differences within turns with that of Wilcoxon's signed ranks; positive metrics are
compared as ratios. A run may be looked at again after more samples: look k spends 5 %/(k(k+1)) of the error,
which sums to 5 % over any number of looks, so that looking often does not make a verdict out of noise.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations_with_replacement
from statistics import NormalDist, fmean, median, stdev, variance

from kb.run.direction import Direction
from kb.run.noise import LEAST_REPEATS, Spread, gain_of

# One verdict in twenty may be noise: what a 95 % interval says.
ERROR = 0.05
# Up to so many samples a side the distribution of the ranks is counted out; beyond, the normal one is a little wider.
_COUNTED = 20
# Turns drift where the differences within them vary by less than this share of what the sides do: by chance seven turns show that once
# in forty times.
_DRIFTING = 0.25
# Of more samples a side medians of groups in a row are compared, whose differences can all be sorted. A group is odd: with one outlier
# in five samples a tenth of groups of three is spoilt, of pairs a third, more than a shift by ranks bears.
_MOST_SAMPLES = 200


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate between two ends. `how` it came about: ranks, pairs, student, equal (no sample differs), coarse (readings
    vary by less than their last place). So much of each arm as is `fixed` no further sample shortens."""

    low: float
    middle: float
    high: float
    how: str = "ranks"
    fixed: float = 0.0

    def within(self, low: float, high: float) -> bool:
        return low <= self.low and self.high <= high

    def narrowed(self, factor: float) -> "Interval":
        """What it would be, the estimate standing, with what samples shorten of both arms so much shorter."""
        below, above = self.middle - self.low - self.fixed, self.high - self.middle - self.fixed
        low, high = self.middle - factor * below, self.middle + factor * above
        return Interval(low - self.fixed, self.middle, high + self.fixed, self.how, self.fixed)

    def widened(self, arm: float) -> "Interval":
        """The same of readings that may be off by `arm` together, however often they are taken."""
        how = "coarse" if self.high - self.low <= 2 * arm else self.how
        return Interval(self.low - arm, self.middle, self.high + arm, how, arm)


def level_of(look: int) -> float:
    """Error that the k-th look at a run may spend (k from 1)."""
    return ERROR / (look * (look + 1))


def gain_interval(
    change: Sequence[float], parent: Sequence[float], *, direction: Direction, level: float
) -> Interval | None:
    """Relative gain over the parent, positive when better; None for fewer than three samples a side or a parent of 0."""
    if min(len(change), len(parent)) < LEAST_REPEATS:
        return None
    if len(set(change)) == len(set(parent)) == 1:
        gain = gain_of(change[0], parent[0], direction=direction)
        return None if gain is None else Interval(gain, gain, gain, "equal")
    if min(*change, *parent) > 0:
        ends, how = _shift([math.log(v) for v in change], [math.log(v) for v in parent], level)
        gains = sorted(gain_of(math.exp(v), 1.0, direction=direction) or 0.0 for v in ends)
    else:
        scale = abs(median(parent))
        if not scale:
            return None
        ends, how = _shift(change, parent, level)
        gains = sorted((v if direction == "higher" else -v) / scale for v in ends)
    return Interval(*gains, how)


def gain_of_spreads(
    change: Spread, parent: Spread, *, direction: Direction, level: float
) -> Interval | None:
    """The same from stated means and stddevs, by Welch's test; None where a spread is unknown or the parent is 0."""
    gain = gain_of(change.middle, parent.middle, direction=direction)
    if (
        gain is None
        or change.stddev is None
        or parent.stddev is None
        or not (change.known and parent.known)
    ):
        return None
    error, freedom = _welch(
        change.stddev, change.n or LEAST_REPEATS, parent.stddev, parent.n or LEAST_REPEATS
    )
    arm = student(freedom, level) * error / abs(parent.middle)
    return Interval(gain - arm, gain, gain + arm, "student")


def value_interval(values: Sequence[float], *, level: float) -> Interval | None:
    """Where the median of a metric lies: between order statistics by the binomial distribution, else Student's; None below three samples."""
    if len(values) < LEAST_REPEATS:
        return None
    ordered = sorted(values)
    if ordered[0] == ordered[-1]:
        return Interval(ordered[0], ordered[0], ordered[0], "equal")
    rank = _binomial_rank(len(values), level)
    if rank:
        return Interval(ordered[rank - 1], median(ordered), ordered[-rank])
    return value_of_spread(Spread(fmean(values), stdev(values), len(values)), level=level)


def value_of_spread(spread: Spread, *, level: float) -> Interval | None:
    if not spread.known or spread.stddev is None:
        return None
    n = spread.n or LEAST_REPEATS
    arm = student(n - 1, level) * spread.stddev / math.sqrt(n)
    return Interval(spread.middle - arm, spread.middle, spread.middle + arm, "student")


def _shift(
    change: Sequence[float], parent: Sequence[float], level: float
) -> tuple[tuple[float, float, float], str]:
    change, parent = _grouped(change), _grouped(parent)
    pairs = _pairs(change, parent)
    rank = _signed_rank(len(pairs), level)
    if rank:
        means = sorted((one + other) / 2 for one, other in combinations_with_replacement(pairs, 2))
        return (means[rank - 1], median(means), means[-rank]), "pairs"
    rank = _rank(*sorted((len(change), len(parent))), level)
    if rank:
        ordered = sorted([c - p for c in change for p in parent])
        return (ordered[rank - 1], median(ordered), ordered[-rank]), "ranks"
    middle = fmean(change) - fmean(parent)
    error, freedom = _welch(stdev(change), len(change), stdev(parent), len(parent))
    arm = student(freedom, level) * error
    return (middle - arm, middle, middle + arm), "student"


def _grouped(values: Sequence[float]) -> Sequence[float]:
    size = math.ceil(len(values) / _MOST_SAMPLES) | 1
    return [median(values[at : at + size]) for at in range(0, len(values), size)]


def _pairs(change: Sequence[float], parent: Sequence[float]) -> list[float]:
    """Differences of samples that were taken in one turn, where turns differ by much more than their two samples do: a machine that drifts."""
    if len(change) != len(parent):
        return []
    pairs = [c - p for c, p in zip(change, parent, strict=True)]
    return pairs if variance(pairs) < _DRIFTING * (variance(change) + variance(parent)) else []


@lru_cache(1024)
def _signed_rank(n: int, level: float) -> int:
    """How many means of two pairs may lie outside at each end, plus one, by Wilcoxon's signed ranks; 0 where the pairs are too few."""
    size = n * (n + 1) // 2
    if n > _COUNTED:
        return _normal_rank(size / 2, math.sqrt(size * (2 * n + 1) / 12), level)
    counts = [1] + [0] * size
    for i in range(1, n + 1):
        for k in range(size, i - 1, -1):
            counts[k] += counts[k - i]
    return _counted_rank(counts, 2**n, level)


def _normal_rank(middle: float, width: float, level: float) -> int:
    return max(0, int(middle - NormalDist().inv_cdf(1 - level / 2) * width + 0.5))


def _counted_rank(counts: Iterable[int], total: int, level: float) -> int:
    """How many of the lowest outcomes are together no more likely than half of the error; `counts` are how often each comes."""
    return bisect_right(list(accumulate(counts)), level / 2 * total)


def _welch(one: float, n: int, other: float, m: int) -> tuple[float, int]:
    """Standard error of a difference of means, and its degrees of freedom, rounded down."""
    a, b = one * one / n, other * other / m
    freedom = (a + b) ** 2 / (a * a / (n - 1) + b * b / (m - 1)) if a + b else 1
    return math.sqrt(a + b), max(1, int(freedom))


@lru_cache(1024)
def _rank(n: int, m: int, level: float) -> int:
    """How many pairwise differences may lie outside at each end, plus one; 0 where the samples are too few for the level."""
    if m > _COUNTED:
        return _normal_rank(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12), level)
    return _counted_rank(_rank_counts(n, m), math.comb(n + m, n), level)


@lru_cache(512)
def _rank_counts(n: int, m: int) -> tuple[int, ...]:
    """In how many orders of n and m samples the Mann-Whitney statistic is 0, 1, 2 ...: the coefficients of the Gaussian binomial."""
    size = n * m + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, n + 1):
        for k in range(size - 1, m + i - 1, -1):
            counts[k] -= counts[k - m - i]
        for k in range(i, size):
            counts[k] += counts[k - i]
    return tuple(counts)


@lru_cache(1024)
def _binomial_rank(n: int, level: float) -> int:
    if n > 200:
        return _normal_rank(n / 2, math.sqrt(n) / 2, level)
    return _counted_rank((math.comb(n, k) for k in range(n + 1)), 2**n, level)


@lru_cache(4096)
def student(freedom: int, level: float) -> float:
    """Two-sided quantile of Student's t for whole degrees of freedom, from its closed form (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    if freedom > 200:
        return NormalDist().inv_cdf(1 - level / 2)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _student_within(middle, freedom) < 1 - level else (low, middle)
        )
    return math.tan(low) * math.sqrt(freedom)


def _student_within(angle: float, freedom: int) -> float:
    """Probability that |t| is below tan(angle) √freedom."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, total = (cosine, cosine) if odd and freedom > 1 else (1.0, 1.0) if not odd else (0.0, 0.0)
    for k in range(3 if odd else 2, freedom, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
