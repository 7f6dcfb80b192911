"""OpenEvolve programs: a checkpoint folder, or JSON lines of programs. A program repeats in every checkpoint and is one run.

OpenEvolve maximises by definition. Its own `best_program_id` is not trusted: an invalid program is never best.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.formats.readers.jsonl import Json, JsonRow, objects_in, rows_of, run_of_object, text_of
from kb.formats.reading import Ask, LogLine, Remark, Segment, split_sample
from kb.formats.registry import Event, LogFormat
from kb.run.quantity import to_float
from kb.run.record import Check, Outcome, Run
from kb.store import bytes_of, json_of

_AIM = ("combined_score", "overall_score", "score", "fitness", "value", "objective")
_VALID = ("valid_solution", "validity", "valid", "is_valid", "correct", "correctness", "success")
_KEYS = {
    "label": ("id",),
    "code": ("id",),
    "description": ("metadata.changes",),
    "parent": ("parent_id",),
    "figures": ("metrics",),
    "reason": ("metrics.error",),
    "created": ("timestamp",),
    "ignored": ("code", "language", "generation", "checkpoint"),
}


def is_program(value: Json) -> bool:
    """Whether an object is an evolved program."""
    evolved = bool({"parent_id", "generation", "iteration_found"} & value.keys())
    return "id" in value and isinstance(value.get("metrics"), dict) and evolved


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a folder is an OpenEvolve output, or most objects of a file are programs."""
    if path.is_dir():
        globs = ("checkpoint*/programs/*.json", "checkpoints/checkpoint_*", "programs/*.json")
        return any(any(path.glob(g)) for g in globs)
    objects = objects_in(head)
    whole = path.name.endswith(("program_info.json", "best_program.json"))
    return whole or bool(objects) and sum(map(is_program, objects)) * 2 > len(objects)


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and each program once, in file order (a folder: in order of checkpoint and file name)."""
    sample, rows = split_sample(_programs_of(path) if path.is_dir() else rows_of(path))
    names = {
        k
        for r in sample
        if isinstance(r, JsonRow) and is_program(r.value)
        for k in r.value["metrics"]
    }
    metric = ask.metric or next((n for n in _AIM if n in names), "")
    way = (ask.direction, "asked") if ask.direction else ("higher", "format")
    segment = Segment(0, 1, "", metric, "", *way, False, True)
    yield segment
    if names and not metric:
        yield Remark(
            f"none of {', '.join(_AIM)} among the metrics; best is left open, name one with --metric"
        )
    known: set[str] = set()
    for row in rows:
        if isinstance(row, Remark):
            yield row
        elif not is_program(row.value):
            yield Remark("an object that is no program; skipped", row.line.number)
        elif text_of(row.value["id"]) in known:
            yield Remark(
                "a program that an earlier line holds already; counted once", row.line.number
            )
        else:
            known.add(text_of(row.value["id"]))
            yield _run(row, segment, path.name)


def _programs_of(folder: Path) -> Iterator[JsonRow | Remark]:
    files = [*folder.glob("**/programs/*.json"), *folder.glob("**/best_program_info.json")]
    for number, file in enumerate(sorted(files, key=_by_checkpoint), 1):
        try:
            text = bytes_of(file, declared=True).decode("utf-8", "replace")
            value = json_of(text)
        except (OSError, ValueError, RecursionError) as error:
            kind = type(error).__name__
            yield Remark(f"{file.relative_to(folder)}: cannot be read as JSON ({kind}); skipped")
            continue
        if isinstance(value, dict):
            yield JsonRow(
                LogLine(number, text),
                {**value, "checkpoint_file": file.relative_to(folder).as_posix()},
            )


def _by_checkpoint(file: Path) -> tuple[int, str]:
    _, _, after = file.as_posix().rpartition("checkpoint_")
    number = after.partition("/")[0]
    return int(number) if number.isdecimal() else 1 << 30, file.as_posix()


def _run(row: JsonRow, segment: Segment, file: str) -> Run:
    stated = dict(row.value["metrics"])
    error = stated.pop("error", None)
    numbers = {
        k: v for k, v in stated.items() if to_float(v) is not None and not isinstance(v, str)
    }
    checks = tuple(
        Check(k, "passed" if numbers[k] > 0 else "failed") for k in _VALID if k in numbers
    )
    # An evaluation that broke off leaves its message, or an `error` and no score.
    broken = not numbers or isinstance(error, str) and error.strip() not in ("", "None")
    failed = any(c.outcome == "failed" for c in checks)
    outcome = Outcome.CRASHED if broken else Outcome.CHECKS_FAILED if failed else None
    metrics = {**stated, "error": error} if isinstance(error, str) else stated
    row = JsonRow(row.line, {**row.value, "metrics": metrics})
    return run_of_object(
        row, _KEYS, segment, file=file, kind="openevolve", outcome=outcome, checks=checks
    )


FORMATS = (LogFormat("openevolve", recognise, read, order=12, folders=True),)
