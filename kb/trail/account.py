"""What one run's page tells of the state that it leaves, as values: configuration, buckets, memory, gains, leads. Knows no page."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Note:
    """A row or sentence of a page. `upto` is the highest number of a run, beyond the page's own, that it or its heading names: 0 for none.

    Text that a page gained after its day mostly speaks of the runs after it.
    """

    text: str
    upto: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """Notes of one page: `config` how it was run, `buckets` the rows of its profile's table under their header, `profile` what it
    says of it in sentences, `memory` what it needed and what did not fit, `gains` what it says to have brought, `leads` what it
    leaves to try.
    """

    config: tuple[Note, ...] = ()
    buckets: tuple[Note, ...] = ()
    profile: tuple[Note, ...] = ()
    memory: tuple[Note, ...] = ()
    gains: tuple[Note, ...] = ()
    leads: tuple[Note, ...] = ()

    def as_of(self, last: int) -> "Account":
        """The account without what names runs later than number `last`."""
        return Account(*(tuple(n for n in getattr(self, f.name) if n.upto <= last) for f in fields(self)))
