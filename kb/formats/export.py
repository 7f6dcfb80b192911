"""Runs of a target given back in a loop's own format, whole or as the lines its own file lacks. Import of an export gives the same records.

`jsonl` is lossless (pi's keys, and the whole record beside them under `kb`). `tsv`, `leaderboard` and `log` hold what their columns hold,
with blanks in texts made single; the leaderboard lists what was kept.
"""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from kb import KbError
from kb.formats.filing import entries_of
from kb.formats.pages import one_line
from kb.page import Page, read, text_of
from kb.page.seal import FIELD as SEAL
from kb.page.superseding import Superseding, superseding
from kb.run.direction import Direction, direction_from, direction_of
from kb.run.record import Lever, Metric, Origin, Outcome, Run, to_line
from kb.run.status import outcome_of
from kb.schema import FAILED, Verdict, canonical_decision, canonical_verdict
from kb.store import Layout as Base
from kb.store import bytes_of

_RECORD = re.compile(r"(sources/import-[0-9a-f]+/runs\.jsonl)#L(\d+)$")


def runs_of_target(base: Base, target: str) -> list[Run]:
    """Runs of a target in trail order: of an imported page its record, of any other page what its front matter states."""
    folder = base.wiki / "experiments" / target
    files = sorted(folder.rglob("*.md")) if folder.is_dir() else ()
    pages = [read(f.relative_to(base.root).as_posix(), bytes_of(f)) for f in files]
    pages = [p for p in pages if p.type == "experiment" and (p.field("target") or target) == target]
    if not pages:
        raise KbError(
            f"no experiments of '{target}' below {base.page(f'experiments/{target}')}; `kb experiment list` names the targets"
        )
    ledgers: dict[str, list[Run]] = {}
    return [_run_of_page(base, page, ledgers) for page in sorted(pages, key=lambda p: p.order)]


def _run_of_page(base: Base, page: Page, ledgers: dict[str, list[Run]]) -> Run:
    named = _RECORD.match(page.field("record"))
    if named and (base.root / named[1]).is_file():
        runs = ledgers.setdefault(named[1], [])
        if not runs:
            runs += [e.run for e in entries_of(base.root / named[1])]
        if 0 < int(named[2]) <= len(runs):
            return runs[int(named[2]) - 1]
    text = text_of(bytes_of(base.root / page.path))
    return _stated_by(page, superseding(text, seal=page.field(SEAL)))


def _verdict_of(page: Page, later: Sequence[Superseding]) -> tuple[Verdict | None, str]:
    """The verdict that stands of a page, and what was done with its change."""
    verdict = canonical_verdict(page.field("verdict")) or canonical_verdict(page.field("status"))
    if not later or later[-1].verdict == verdict:
        return verdict, canonical_decision(page.field("decision") or page.field("status")) or ""
    verdict = canonical_verdict(later[-1].verdict)
    return verdict, "keep" if verdict in (Verdict.SUPPORTED, Verdict.BASELINE) else "revert"


def _stated_by(page: Page, later: Sequence[Superseding]) -> Run:
    """What the front matter of a page says of its run, and later verdicts below it."""
    verdict, decision = _verdict_of(page, later)
    status = {"keep": "keep", "revert": "discard"}.get(decision, "")
    if verdict in FAILED:
        status = {"crash": "crash", "invalid": "checks_failed"}.get(verdict, status or "discard")
    stated = page.front.get("metrics")
    metrics = (
        tuple(_metric(name, value) for name, value in stated.items())
        if isinstance(stated, dict)
        else ()
    )
    levers = tuple(
        Lever(*(part.strip() for part in word.split("=", 1))) for word in page.words("levers")
    )
    return Run(
        Origin(page.path, 1, page.digest),
        "kb",
        label=str(page.number) if page.number else page.stem,
        target=page.field("target"),
        variant=page.field("variant"),
        status=status or str(verdict or ""),
        outcome=outcome_of(status) if status else None,
        description=page.title,
        primary=page.field("primary") or (metrics[0].name if metrics else ""),
        metrics=metrics,
        levers=levers,
        hypothesis=page.field("hypothesis"),
        parent=page.field("parent"),
        reason=later[-1].because if later else page.field("because"),
        code=page.field("code") or page.field("commit"),
        verdict=str(verdict or ""),
        decision=decision,
        created=page.date,
    )


def _metric(name: str, value: object) -> Metric:
    fields = value if isinstance(value, dict) else {"value": value}
    number, spread, count = fields.get("value"), fields.get("stddev"), fields.get("n")
    numeric = isinstance(number, (int, float)) and not isinstance(number, bool)
    return Metric(
        name,
        float(number) if numeric else None,
        str(fields.get("unit") or ""),
        direction_from(fields.get("direction")) or direction_of(name),
        count if isinstance(count, int) else None,
        float(spread) if isinstance(spread, (int, float)) else None,
        "" if numeric else str(number or ""),
    )


def exported(runs: Sequence[Run], kind: str) -> str:
    """The text of an export. Raises KbError where a leaderboard cannot be ranked."""
    if kind not in _WRITERS:
        raise KbError(f"no such export '{kind}'; one of {', '.join(_WRITERS)}")
    return "".join(_WRITERS[kind](runs))


def _direction(run: Run) -> Direction | None:
    metric = run.metric(run.primary)
    return metric.direction if metric else direction_of(run.primary)


def _stretches(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs cut where log, segment or primary metric change: each is a segment of the export. Pages that kb measured are one log."""

    def place(run: Run) -> tuple[str, int, str]:
        return "" if run.format == "kb" else run.origin.file, run.segment, run.primary

    return [list(stretch) for _, stretch in groupby(runs, key=place)]


def _jsonl(runs: Sequence[Run]) -> Iterable[str]:
    number = 0
    for stretch in _stretches(runs):
        first = stretch[0]
        metric = first.metric(first.primary)
        config = {
            "type": "config",
            "name": first.target,
            "metricName": first.primary or "metric",
            "metricUnit": metric.unit if metric else "",
        }
        way = next((d for r in stretch if (d := _direction(r))), None)
        yield (
            json.dumps({**config, **({"bestDirection": way} if way else {})}, ensure_ascii=False)
            + "\n"
        )
        for run in stretch:
            number += 1
            yield jsonl_line(run, number)


def jsonl_line(run: Run, number: int) -> str:
    """A run as a line of a pi log, with the whole record under `kb`."""
    beside = {m.name: m.value for m in run.metrics if m.name != run.primary and m.value is not None}
    asi = {
        k: v
        for k, v in (
            ("hypothesis", run.hypothesis),
            ("rollback_reason", run.reason),
            ("next_action_hint", run.next_step),
        )
        if v
    }
    fields = {
        "run": number,
        "commit": run.code[:7],
        "metric": run.value if run.value is not None else 0,
        "metrics": beside,
        "status": _status(run),
        "description": run.description,
        "segment": run.segment,
        **({"asi": asi} if asi else {}),
        "kb": json.loads(to_line(run)),
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _status(run: Run) -> str:
    """Status as its log wrote it, behind its outcome where the words alone read as another: `discarded: kept?: no`."""
    plain = run.outcome in (None, Outcome.OTHER, outcome_of(run.status))
    return run.status if plain else f"{run.outcome}: {run.status}"


def _number(metric: Metric | None) -> str:
    if metric is None:
        return ""
    return one_line(metric.raw) if metric.value is None else repr(metric.value)


def _names(runs: Sequence[Run]) -> list[str]:
    """Metric names of some runs, the primary ones first."""
    return list(
        dict.fromkeys(
            [r.primary for r in runs if r.primary] + [m.name for r in runs for m in r.metrics]
        )
    )


def _tsv(runs: Sequence[Run]) -> Iterable[str]:
    before: list[str] = []
    for stretch in _stretches(runs):
        names = [n for n in _names(stretch) if n == one_line(n) and n]
        header = ["date", "exp_id", "commit", *names, "status", "description"]
        if header != before:
            yield "\t".join(header) + "\n"
            before = header
        for run in stretch:
            values = [_number(run.metric(n)) for n in names]
            words = [one_line(x) for x in (run.label, run.code)]
            ends = [one_line(x) for x in (_status(run), run.description)]
            yield "\t".join([run.created or "-", *words, *values, *ends]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(one_line(c).replace("|", "\\|") for c in cells) + " |\n"


def _leaderboard(runs: Sequence[Run]) -> Iterable[str]:
    """What was kept, by rank; one table a variant, for values of two variants do not compare."""
    kept = [r for r in runs if r.outcome is Outcome.KEPT and r.value is not None]
    if not kept:
        message = "nothing was kept with a measurement: there is no leaderboard"
        raise KbError(f"{message}; `kb export log` lists every run")
    variants = sorted({r.variant for r in kept})
    for variant in variants:
        if len(variants) > 1:
            yield f"\n## {one_line(variant) or 'no variant'}\n\n"
        yield from _ranked([r for r in kept if r.variant == variant])


def _ranked(kept: Sequence[Run]) -> Iterable[str]:
    metrics, ways = sorted({r.primary for r in kept}), {_direction(r) for r in kept}
    if len(metrics) > 1 or None in ways or len(ways) > 1:
        message = f"a leaderboard needs one metric and its direction; these runs have {', '.join(metrics)}"
        raise KbError(f"{message}; export them as tsv or jsonl")
    ranked = sorted(kept, key=lambda r: r.value or 0.0, reverse=ways == {"higher"})
    names = [n for n in _names(ranked) if n == one_line(n)]
    yield _row(["rank", "exp", *names, "desc"])
    yield "|" + "---|" * (3 + len(names)) + "\n"
    for rank, run in enumerate(ranked, 1):
        yield _row(
            [str(rank), run.label, *(_number(run.metric(n)) for n in names), run.description]
        )


def _log(runs: Sequence[Run]) -> Iterable[str]:
    yield "# Experiments\n"
    for stretch in _stretches(runs):
        name = stretch[0].primary or "value"
        yield "\n" + _row(["#", "Experiment", name, "Status", "Notes"]) + "|---|---|---|---|---|\n"
        for run in stretch:
            yield _row(
                [
                    run.label or str(run.origin.line),
                    run.description,
                    _number(run.metric(run.primary)),
                    _status(run),
                    run.reason,
                ]
            )


_WRITERS = {"jsonl": _jsonl, "tsv": _tsv, "leaderboard": _leaderboard, "log": _log}
