"""What one experiment page says, as values: verdict, labels, levers, metrics, settings, places. Knows no page: `page_facts` reads them."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from kb.run.record import Lever, Metric
from kb.schema import BROKEN, FAILED, Verdict
from kb.store import row_of, value_of


@dataclass(frozen=True, slots=True)
class VerdictRead:
    """A verdict, as written and where.

    `verdict`, `outcome`, `status` (front matter), `name` (file name), `section` (the page's body), or empty where nothing says it.
    """

    canonical: Verdict | None = None
    raw: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page says something: lines `start` to `end` (end excluded) below the heading `anchor`."""

    name: str
    anchor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Note:
    """A row or sentence of a page. `upto` is the highest number of a run, beyond the page's own, that it or its heading names: 0 for none.

    Text that a page gained after its day mostly speaks of the runs after it.
    """

    text: str
    upto: int = 0


@dataclass(frozen=True, slots=True)
class TableTry:
    """A try that stands in a row of a page's table only: what it changed, its row, its gain where that tells one (0.01 is 1 %), whether it
    won or lost (None: neither); `upto` as of a note.
    """

    subject: str
    text: str
    gain: float | None
    won: bool | None
    upto: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """Notes of one page: `config` how it was run, `buckets` the rows of its profile's table under their header, `profile` what it
    says of it in sentences, `memory` what it needed and what did not fit, `gains` what it says to have brought, `leads` what it
    leaves to try, `noise` the spread that it states, `attempts` what its tables tell of tries beside the run itself.
    """

    config: tuple[Note, ...] = ()
    buckets: tuple[Note, ...] = ()
    profile: tuple[Note, ...] = ()
    memory: tuple[Note, ...] = ()
    gains: tuple[Note, ...] = ()
    leads: tuple[Note, ...] = ()
    noise: tuple[Note, ...] = ()
    attempts: tuple[TableTry, ...] = ()

    def as_of(self, last: int, known: Collection[int] = ()) -> "Account":
        """The account without what names runs later than number `last`, but those that were `known` before."""
        parts = (getattr(self, f.name) for f in fields(self))
        return Account(*(tuple(n for n in p if n.upto <= last or n.upto in known) for p in parts))


@dataclass(frozen=True, slots=True)
class Facts:
    """What one experiment page says. Texts are plain, without markup; empty where the page does not say it.

    `gain` is what its front matter states that it brought (0.01 is 1 %); `levers` are those its front matter states (`stated_levers`), else those its text names. `first`: opened as the first measurement
    of a target, so it moves nothing, however it ends. `opens`: the hypothesis is only how the page opens, and may tell where it starts from. `imported`: made from a line of another loop's log, which its title tells. `rule`: that by which
    kb gave the verdict of a run that it measured.
    """

    path: str
    target: str = ""
    variant: str = ""
    date: str = ""
    number: int = 0
    title: str = ""
    slug: str = ""
    verdict: VerdictRead = VerdictRead()
    decision: str = ""
    levers: tuple[Lever, ...] = ()
    stated_levers: bool = False
    gain: float | None = None
    metrics: tuple[Metric, ...] = ()
    primary: str = ""
    parent: str = ""
    hypothesis: str = ""
    mechanism: str = ""
    predicted_signal: str = ""
    falsification: str = ""
    because: str = ""
    setup: str = ""
    places: tuple[Place, ...] = ()
    tags: tuple[str, ...] = ()
    running: bool = False
    first: bool = False
    imported: bool = False
    rule: str = ""
    created: str = ""
    settings: tuple[Lever, ...] = ()
    point: str = ""
    cites: tuple[str, ...] = ()
    commit: str = ""
    account: Account = Account()
    opens: bool = False

    @property
    def order(self) -> tuple[str, int, str]:
        """Trail order: date, number, path."""
        return self.date, self.number, self.path

    @property
    def failed(self) -> bool:
        """Whether it speaks against its lever, which a run that misuse made invalid does not."""
        misused = self.verdict.canonical is Verdict.INVALID and self.rule not in ("", *BROKEN)
        return self.verdict.canonical in FAILED and not misused

    def place(self, name: str) -> Place | None:
        """Where the page speaks of `name`: hypothesis, mechanism, predicted_signal, falsification, setup, results,
        profile, evidence, verdict, next.
        """
        return next((p for p in self.places if p.name == name), None)

    def metric(self, name: str) -> Metric | None:
        """The metric of a name, or of its short or long spelling as a rate: `tps` and `tok/s`, `fps` and `frames/s`."""
        exact = next((m for m in self.metrics if m.name == name), None)
        return exact or next(
            (m for m in self.metrics if _is_short_for(m.name, name) or _is_short_for(name, m.name)),
            None,
        )


def _is_short_for(short: str, name: str) -> bool:
    return len(short) == 3 and short[1:] == "ps" and name[0] == short[0] and name[1:].endswith("/s")


def to_row(facts: Facts) -> bytes:
    """Facts as the compiled tables keep them."""
    return row_of(facts)


def from_row(row: bytes) -> Facts:
    """The facts that `to_row` wrote down."""
    return value_of(row, Facts)
