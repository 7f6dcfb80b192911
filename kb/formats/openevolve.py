"""OpenEvolve programs: a checkpoint folder, or JSON lines of programs. A program repeats in every checkpoint and is one run.

OpenEvolve maximises by definition. Its own `best_program_id` is not trusted: an invalid program is never best.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kb.formats.objects import Json, Row, rows_of, text_of
from kb.formats.reading import Ask, Line, Remark, Segment, measured, moment, split_sample
from kb.run.direction import direction_of, word_set
from kb.run.quantity import to_float
from kb.run.record import Check, Origin, Outcome, Run

_AIM = ("combined_score", "overall_score", "score", "fitness", "value", "objective")
_VALID = ("valid_solution", "validity", "valid", "is_valid", "correct", "correctness", "success")
_FIELDS = word_set("id code language parent_id generation timestamp metrics checkpoint")


def is_program(said: Json) -> bool:
    """Whether an object is an evolved program."""
    return (
        "id" in said
        and isinstance(said.get("metrics"), dict)
        and bool({"parent_id", "generation", "iteration_found"} & said.keys())
    )


def holds(folder: Path) -> bool:
    """Whether a folder is an OpenEvolve output."""
    return (
        any(folder.glob("checkpoint*/programs/*.json"))
        or any(folder.glob("checkpoints/checkpoint_*"))
        or any(folder.glob("programs/*.json"))
    )


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """One segment, and each program once, in file order (a folder: in order of checkpoint and file name)."""
    sample, rows = split_sample(_programs_of(path) if path.is_dir() else rows_of(path))
    said = [r.said for r in sample if isinstance(r, Row)]
    names = {k for row in said for k in _metrics_of(row)}
    metric = ask.metric or next((n for n in _AIM if n in names), "")
    direction, source = (ask.direction, "asked") if ask.direction else ("higher", "format")
    yield Segment(0, 1, "", metric, "", direction, source, False, True)
    if said and not metric:
        yield Remark(f"none of {', '.join(_AIM)} among the metrics; best is left open, name one with --metric")
    seen: dict[str, int] = {}
    for row in rows:
        if isinstance(row, Remark):
            yield row
        elif not is_program(row.said):
            yield Remark("an object that is no program; skipped", row.line.number)
        elif text_of(row.said["id"]) in seen:
            yield Remark("a program that an earlier line holds already; counted once", row.line.number)
        else:
            seen[text_of(row.said["id"])] = row.line.number
            yield _run(row, metric, path)


def _metrics_of(said: Json) -> Json:
    metrics = said.get("metrics")
    return metrics if isinstance(metrics, dict) else {}


def _programs_of(folder: Path) -> Iterator[Row | Remark]:
    files = [*folder.glob("**/programs/*.json"), *folder.glob("**/best_program_info.json")]
    for number, file in enumerate(sorted(files, key=_by_checkpoint), 1):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
            said = json.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            yield Remark(f"{file.relative_to(folder)}: cannot be read as JSON ({type(error).__name__}); skipped")
            continue
        if isinstance(said, dict):
            yield Row(Line(number, text), {**said, "checkpoint_file": file.relative_to(folder).as_posix()})


def _by_checkpoint(file: Path) -> tuple[int, str]:
    number = re.search(r"checkpoint_(\d+)", file.as_posix())
    return int(number[1]) if number else 1 << 30, file.as_posix()


def _run(row: Row, metric: str, path: Path) -> Run:
    said = row.said
    stated = _metrics_of(said)
    numbers = {k: v for k, raw in stated.items() if (v := to_float(raw)) is not None}
    checks = tuple(Check(k, "passed" if numbers[k] > 0 else "failed") for k in _VALID if k in numbers)
    outcome = None
    if not numbers or "error" in stated and not numbers.keys() - {"error"}:
        outcome = Outcome.CRASHED
    elif any(c.outcome == "failed" for c in checks):
        outcome = Outcome.CHECKS_FAILED
    metrics = tuple(
        measured(k, v, raw=str(v), outcome=outcome, direction="higher" if k == metric else direction_of(k))
        for k, v in numbers.items()
        if k != "error"
    )
    inner = said.get("metadata")
    notes = [(k, text_of(v)) for k, v in said.items() if k not in _FIELDS and v is not None and v != {}]
    notes += [(f"metrics.{k}", text_of(v)) for k, v in stated.items() if k not in numbers]
    return Run(
        Origin(path.name, row.line.number, row.line.digest),
        "openevolve",
        label=text_of(said["id"]),
        outcome=outcome,
        description=text_of(inner.get("changes")) if isinstance(inner, dict) else "",
        primary=metric,
        metrics=metrics,
        parent=text_of(said.get("parent_id")),
        code=text_of(said["id"]),
        checks=checks,
        created=moment(said.get("timestamp")),
        notes=tuple(notes),
    )
