"""kb experiment list [experiment]: list experiments in trail order."""

from dataclasses import dataclass

from kb import KbError, trail
from kb.run.quantity import unit_beside
from kb.run.reasons import percent
from kb.schema import Verdict
from kb.text import counted, cut, number_text
from kb.trail import Facts
from kb.trail.outcomes import subject_of
from kb.verbs import Caller, Result, option
from kb.verbs.experiment import label_of
from kb.verbs.result import json_text

# So many lines a page of the printed list has, unless told otherwise.
_PAGE = 30
# So much of levers, or of a reason, a line shows.
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ListExperiments:
    """Which experiments. As JSON all that fit are printed, as text the newest page of them."""

    target: str = option("of this target only")
    verdict: str = option(
        "with this canonical verdict only, or `open` for what is in flight",
        choices=(*(v.value for v in Verdict), "open"),
    )
    since: str = option("of this day or later", metavar="DATE")
    lever: str = option("that pull a lever with this in its name or value", metavar="TEXT")
    text: str = option("with this in title, hypothesis or lesson", metavar="TEXT")
    last: int = option("lines of one page", default=_PAGE, metavar="N")
    page: int = option("which page, 1 being the newest", default=1, metavar="N")


def run(request: ListExperiments, caller: Caller) -> Result[tuple[Facts, ...]]:
    if request.last < 1 or request.page < 1:
        raise KbError("--last and --page count from 1")
    caller.day(request.since, "--since")
    db = caller.tables()
    caller.doubt_target(db, request.target)
    listed = trail.experiments(db, target=request.target or None)
    fitting = tuple(e for e in listed if _fits(e, request))
    end = max(0, len(fitting) - request.last * (request.page - 1))
    first = max(0, end - request.last)
    lines = (_line(e, one_target=bool(request.target)) for e in fitting[first:end])
    if not fitting:
        caller.talk(
            f"none of {counted(len(listed), 'experiments')} fits" if listed else "no experiments"
        )
    if first:
        caller.talk(f"{first} older ones: --page {request.page + 1}, or --last {len(fitting)}")
    records = [_record(e) for e in fitting]
    return Result(fitting, "\n".join(lines), forms={"json": lambda: json_text(records)})


def _fits(e: Facts, request: ListExperiments) -> bool:
    levers = " ".join(v.text for v in e.levers).lower()
    words = " ".join((e.title, e.hypothesis, e.because)).lower()
    verdict = e.verdict.canonical or ("open" if e.running else "")
    return (
        (not request.verdict or verdict == request.verdict)
        and (not request.since or e.date >= request.since)
        and request.lever.lower() in levers
        and request.text.lower() in words
    )


def _line(e: Facts, *, one_target: bool) -> str:
    """Day, handle, verdict, what was pulled (in its title's words where the page declares no levers), metric and gain over the parent."""
    pulled = ", ".join(v.text for v in e.levers) if e.stated_levers else subject_of(e)
    verdict = e.verdict.canonical or ("in flight" if e.running else "-")
    parts = (
        f"{e.date or '----------'} {label_of(e.path, e.number, e.target, one_target=one_target)}",
        f"{verdict:<12} {cut(pulled, _SHOWN)}",
        _figure(e),
    )
    return "  ".join(parts).rstrip()


def _figure(e: Facts) -> str:
    valued = next((m for m in e.metrics if m.value is not None), None)
    figure = e.primary and e.metric(e.primary) or valued
    if e.running or not figure or figure.value is None:
        return ""
    text = f"{figure.name} {number_text(figure.value, digits=5)}{unit_beside(figure.name, figure.unit)}"
    # Its gain is what was measured beside the parent; figures of two days do not compare.
    return text if e.gain is None else f"{text} ({percent(e.gain)})"


def _record(e: Facts) -> dict[str, object]:
    return {
        "path": e.path,
        "target": e.target,
        "variant": e.variant,
        "date": e.date,
        "title": e.title,
        "verdict": {
            "canonical": e.verdict.canonical,
            "raw": e.verdict.raw,
            "source": e.verdict.source,
        },
        "decision": e.decision,
        "levers": [{"name": v.name, "value": v.value} for v in e.levers],
        "metrics": {
            m.name: {"value": m.value, "unit": m.unit, "direction": m.direction} for m in e.metrics
        },
        "parent": e.parent,
    }
