"""What the verdict rules look at: metrics of both sides with their intervals, and what befell the run. Refuses to judge."""

from collections.abc import Sequence
from dataclasses import dataclass

from kb.run.criterion import GAIN
from kb.run.direction import Direction
from kb.run.interval import (
    Interval,
    gain_interval,
    gain_of_spreads,
    level_of,
    value_interval,
    value_of_spread,
)
from kb.run.noise import (
    SMALLEST_GAIN,
    SMALLEST_GAIN_LEARNT,
    Spread,
    gain_of,
    rounding_of,
    spread_of,
)
from kb.run.record import Falsification

# Rounding by less than a tenth of the least effect that any metric has by default decides nothing.
_FINE = SMALLEST_GAIN_LEARNT / 10


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of the change beside the parent's. `interval` is of the gain over the parent, `place` of the change's own value;
    `least` is the smallest relative gain that matters."""

    name: str
    change: Spread
    parent: Spread | None = None
    unit: str = ""
    direction: Direction | None = None
    interval: Interval | None = None
    place: Interval | None = None
    least: float = SMALLEST_GAIN

    @property
    def gain(self) -> float | None:
        """Relative gain over the parent, positive when better."""
        if self.interval:
            return self.interval.middle
        if self.parent is None or self.direction is None:
            return None
        return gain_of(self.change.middle, self.parent.middle, direction=self.direction)


def measured_of(
    name: str,
    change: Sequence[float],
    parent: Sequence[float],
    *,
    stated: Sequence[Spread | None] = (None, None),
    unit: str = "",
    direction: Direction | None = None,
    least: float = SMALLEST_GAIN,
    look: int = 1,
) -> Measured:
    """A metric from the samples of both sides, or from what records `stated` of their own repeats; without a direction there is no gain."""
    level, gain = level_of(look), None
    spreads = spread_of(change), spread_of(parent) if parent else None
    sides = stated[0] or spreads[0], stated[1] or spreads[1]
    place = value_interval(change, level=level) or value_of_spread(sides[0], level=level)
    if direction and sides[1] and any(stated):
        gain = gain_of_spreads(*sides, direction=direction, level=level)
    elif direction and parent:
        gain = gain_interval(change, parent, direction=direction, level=level)
    # Where readings vary by less than their last place, each side may be off by half of that, and no repeat tells; a record states finer means.
    half = rounding_of((*change, *parent), name=name, unit=unit) / 2
    arms = [half if s and s.stddev is not None and s.stddev < half else 0.0 for s in spreads]
    if place and arms[0] > _FINE * abs(sides[0].middle):
        place = place.widened(arms[0])
    if gain and sides[1] and sum(arms) > _FINE * abs(sides[1].middle):
        gain = gain.widened(sum(arms) / abs(sides[1].middle))
    return Measured(name, *sides, unit, direction, gain, place, least)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the rules look at. Texts are empty where there is nothing to say.

    `crash`, `parent_crash`: why a side did not measure. `checks`: passed, skipped, or how they failed; empty: the target has none.
    `forged`: METRIC lines that the parent does not print. `bounds` must hold for the change (parity); `falsification` are alternatives.
    `firing`: confirmed, not tested, partial, no-op, none; empty: nothing to go by. `noise_limit`: largest relative stddev, 0 where the target has none.
    `unseen`: what the audit looked for and did not see. `look`: how often the samples were judged, this time included.
    """

    primary: str
    measured: tuple[Measured, ...] = ()
    has_parent: bool = True
    crash: str = ""
    parent_crash: str = ""
    touched: tuple[str, ...] = ()
    strayed: tuple[str, ...] = ()
    forged: tuple[str, ...] = ()
    checks: str = ""
    bounds: tuple[Falsification, ...] = ()
    falsification: tuple[Falsification, ...] = ()
    firing: str = ""
    unseen: str = ""
    tracked: tuple[str, ...] = ()
    noise_limit: float = 0.0
    look: int = 1

    def of(self, name: str) -> Measured | None:
        return next((m for m in self.measured if m.name == name), None)

    @property
    def main(self) -> Measured | None:
        """The primary metric."""
        return self.of(self.primary)

    @property
    def listed(self) -> tuple[Measured, ...]:
        """All metrics, the primary one first, the others by name."""
        return tuple(sorted(self.measured, key=lambda m: (m.name != self.primary, m.name)))

    def interval(self, metric: str) -> Interval | None:
        """What a criterion on `metric` is judged by: the gain in percent, or the change's own value."""
        if metric != GAIN:
            reading = self.of(metric)
            return reading.place if reading else None
        reading = self.main.interval if self.main else None
        return reading and Interval(
            100 * reading.low, 100 * reading.middle, 100 * reading.high, reading.how
        )
