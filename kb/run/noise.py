"""How far two measurements may differ and still be equal: spreads of repeats, least effects, outliers. Refuses to guess noise nobody measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median, stdev

from kb.run.direction import Direction, words_of

# Fewer repeats than this give no spread worth the name: the stddev of two values is off by a factor of two or more half of the time.
LEAST_REPEATS = 3
# Under 1 % a gain is nibbling: clocks, code alignment and page placement move that much between builds.
SMALLEST_GAIN = 0.01
# What is learnt rather than timed moves by hundredths of that: 1 % would wipe out every win of a published language-model loop.
SMALLEST_GAIN_LEARNT = SMALLEST_GAIN / 100
_LEARNT = frozenset(
    "loss losses nll bpb bpc bpd perplexity ppl logloss rmse mse mae brier accuracy acc auc auroc f1 map wer cer bleu".split()
)
# What is read off a clock rather than counted; 0 or less of it was not measured, and whole numbers of it are rounded.
TIMED = frozenset(
    "time ms us ns s sec seconds latency duration elapsed runtime tps qps rps fps throughput tok bandwidth gbps tflops gflops".split()
)
# hyperfine's modified z-score, beyond which a run did not measure what the others did.
OUTLYING = 14.826
# A stddev of 2 % of the mean: SkyPilot's gate, which a trail still tells of.
WIDE = 0.02
WIDE_TEXT = f"{100 * WIDE:g} %"


@dataclass(frozen=True, slots=True)
class Spread:
    """Middle of repeats (their median, or the mean that a log states) with their sample stddev; `stddev` is None where it is not known,
    `n` None where a log states a stddev without a count."""

    middle: float
    stddev: float | None = None
    n: int | None = 1

    @property
    def known(self) -> bool:
        return self.stddev is not None and (self.n is None or self.n >= LEAST_REPEATS)

    @property
    def relative(self) -> float | None:
        """stddev over |middle|; infinite where that is 0 and the values are not."""
        if self.stddev is None:
            return None
        return self.stddev / abs(self.middle) if self.middle else (math.inf if self.stddev else 0.0)

    @property
    def wide(self) -> bool:
        """Whether the spread is known and breaks the 2 % rule."""
        return self.known and (self.relative or 0.0) >= WIDE


def spread_of(values: Sequence[float]) -> Spread:
    """Spread of repeats, around their median, which one outlier does not move. Raises ValueError without any."""
    if not values:
        raise ValueError("no values to take a spread of")
    return Spread(median(values), stdev(values) if len(values) > 1 else None, len(values))


def band_of(change: Spread, parent: Spread) -> float | None:
    """Difference of two middles that noise alone may make, in the metric's unit; None where either spread is unknown.

    The two spreads in quadrature, which does not shrink with more repeats, or twice the standard error where few repeats make that larger.
    """
    if not (change.known and parent.known) or change.stddev is None or parent.stddev is None:
        return None
    spreads = math.hypot(change.stddev, parent.stddev)
    if change.n is None or parent.n is None:
        return spreads
    return max(
        spreads,
        2 * math.hypot(change.stddev / math.sqrt(change.n), parent.stddev / math.sqrt(parent.n)),
    )


def gain_of(change: float, parent: float, *, direction: Direction) -> float | None:
    """Relative gain over the parent, positive when better (0.05 is 5 %); None over a parent of 0."""
    if not parent:
        return None
    difference = change - parent if direction == "higher" else parent - change
    return difference / abs(parent)


def least_effect_of(metric: str) -> float:
    """The relative gain that matters where the target does not say: 1 % for times and rates, a hundredth of that for losses and scores."""
    return SMALLEST_GAIN_LEARNT if _LEARNT.intersection(words_of(metric)) else SMALLEST_GAIN


def least_effect_text(metric: str) -> str:
    """The same as messages say it."""
    return f"{100 * least_effect_of(metric):g} %"


def rounding_of(values: Sequence[float], *, name: str, unit: str = "") -> float:
    """The last place that readings of a metric are given to; 0 for whole numbers of what is counted, which are exact."""
    digits = (Decimal(repr(value)).normalize().as_tuple().exponent for value in values)
    places = max(0, *(-int(exponent) for exponent in digits))
    counted = not (TIMED | _LEARNT).intersection(words_of(f"{name} {unit}"))
    return 0.0 if counted and not places else 10.0**-places


def outliers_of(values: Sequence[float]) -> tuple[int, ...]:
    """Places of the values that lie absurdly far from the others, in median absolute deviations; none where half of them are equal."""
    if len(values) < LEAST_REPEATS:
        return ()
    middle = median(values)
    off = [abs(v - middle) for v in values]
    mad = median(off)
    return tuple(i for i, far in enumerate(off) if mad and far > OUTLYING * mad)
