"""OpenEvolve programs: a checkpoint folder, or JSON lines of programs. A program repeats in every checkpoint and is one run.

OpenEvolve maximises by definition. Its own `best_program_id` is not trusted: an invalid program is never best.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.formats.layout import Record, RecordTable
from kb.formats.readers.jsonl import Json, JsonRow, objects_in, rows_of, text_of
from kb.formats.reading import Ask, LogLine, Remark, split_sample
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.quantity import to_float
from kb.store import bytes_of, json_of

_AIM = ("combined_score", "overall_score", "score", "fitness", "value", "objective")
_VALID = ("valid_solution", "validity", "valid", "is_valid", "correct", "correctness", "success")
_ROLES = {
    **{"id": "id", "metadata.changes": "text", "parent_id": "parent", "error": "reason"},
    "timestamp": "time",
}
_UNREAD = ("code", "language", "generation", "checkpoint", "metrics", "metadata")


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
    programs = [r[1] for r in sample if isinstance(r, tuple) and is_program(r[1])]
    names = dict.fromkeys(n for p in programs for n in _numbers(p))
    aim = next((n for n in _AIM if n in names), "")
    stated = Ask("higher", aim, source="format") if aim else Ask()
    roles = {**_ROLES, **{n: "check" if n in _VALID else "metric" for n in names}}
    records = _records(rows)
    table = RecordTable(records, stated=stated, roles=roles, others="note", search=True)
    yield from events_of([table], ask, file=path.name, kind="openevolve")


def _programs_of(folder: Path) -> Iterator[JsonRow | Remark]:
    files = [*folder.glob("**/programs/*.json"), *folder.glob("**/best_program_info.json")]
    for number, file in enumerate(sorted(files, key=_by_checkpoint), 1):
        name = file.relative_to(folder).as_posix()
        try:
            text = bytes_of(file, declared=True).decode("utf-8", "replace")
            value = json_of(text)
        except (OSError, ValueError, RecursionError) as error:
            yield Remark(f"{name}: cannot be read as JSON ({type(error).__name__}); skipped")
            continue
        if isinstance(value, dict):
            yield LogLine(number, text), {**value, "checkpoint_file": name}


def _by_checkpoint(file: Path) -> tuple[int, str]:
    _, _, after = file.as_posix().rpartition("checkpoint_")
    number = after.partition("/")[0]
    return int(number) if number.isdecimal() else 1 << 30, file.as_posix()


def _records(rows: Iterator[JsonRow | Remark]) -> Iterator[Record | Remark]:
    known: set[str] = set()
    for row in rows:
        if isinstance(row, Remark):
            yield row
            continue
        line, program = row
        if not is_program(program):
            yield Remark("an object that is no program; skipped", line.number)
        elif (name := text_of(program["id"])) in known:
            yield Remark("a program that an earlier line holds already; counted once", line.number)
        else:
            known.add(name)
            yield Record(line, _cells(program))


def _numbers(program: Json) -> dict[str, float]:
    """What was measured of a program; whether it is valid is a number too."""
    figures = {k: v for k, v in program["metrics"].items() if not isinstance(v, str)}
    return {k: v for k, v in figures.items() if k != "error" and to_float(v) is not None}


def _cells(program: Json) -> dict[str, str]:
    numbers, metrics = _numbers(program), program["metrics"]
    beside = program.get("metadata")
    fields = {k: v for k, v in program.items() if k not in _UNREAD} | metrics
    fields |= {f"metadata.{k}": v for k, v in beside.items()} if isinstance(beside, dict) else {}
    cells = {k: text_of(v) for k, v in fields.items()}
    cells |= {n: "passed" if numbers[n] > 0 else "failed" for n in _VALID if n in numbers}
    # An evaluation that broke off leaves its message, or an `error` and no score.
    message = text_of(metrics["error"]).strip() if isinstance(metrics.get("error"), str) else ""
    broken = "" if numbers else "no score"
    return {**cells, "error": message if message not in ("", "None") else broken}


FORMATS = (LogFormat("openevolve", recognise, read, order=12, folders=True),)
