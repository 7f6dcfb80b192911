"""Autocomp run folders: evaluation results are the runs; candidates, parsed with `ast` and never evaluated, tell plan and lineage.

Reads both `eval-results-iter-1/code_0_result.txt` and the flattened `eval-results-iter-1__code_0_result.txt`.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kb.formats.layout import Record, RecordTable
from kb.formats.readers.jsonl import Json, text_of
from kb.formats.reading import Ask, LogLine, Remark
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of, json_in
from kb.run.quantity import to_float
from kb.store import bytes_of

_RESULT = re.compile(r"eval-results-iter-(\d+)(?:/|__)code_(\d+)_result\.txt$")
_CANDIDATE = re.compile(r"candidates-iter-(\d+)(?:/|__)candidate_(\d+)\.txt$")
_SETTINGS = (
    "beam_size",
    "dropout_menu_options",
    "num_plan_candidates",
    "num_code_candidates",
    "problem",
)
_MODELS = ("plan_gen_model", "code_gen_model")
_ROLES = {
    **{"id": "id", "plan": "text", "mechanism": "mechanism", "error": "reason", "parent": "parent"},
    **{"correct": "check", **dict.fromkeys(_MODELS, "models"), **dict.fromkeys(_SETTINGS, "lever")},
}


def _matches(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, Path]]:
    files = (f for glob in ("*", "*/*") for f in folder.glob(glob) if f.is_file())
    matches = ((pattern.search(f.relative_to(folder).as_posix()), f) for f in files)
    yield from sorted((int(m[1]), int(m[2]), f) for m, f in matches if m)


def _text(file: Path) -> str:
    return bytes_of(file, declared=True).decode("utf-8", "replace") if file.is_file() else ""


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run an evaluation result, by iteration and number."""
    about = json_in(_text(path / "run_metadata.json"), dict)
    metric = text_of(about.get("metric")) or "latency"
    roles = {**_ROLES, metric: "metric"}
    records = _records(path, metric, {k: text_of(about[k]) for k in _SETTINGS if k in about})
    heading, stated = text_of(about.get("problem")), Ask(metric=metric)
    table = RecordTable(
        records, heading=heading, stated=stated, roles=roles, others="note", search=True
    )
    yield from events_of([table], ask, file=path.name, kind="autocomp")


def _records(folder: Path, metric: str, settings: dict[str, str]) -> Iterator[Record | Remark]:
    candidates: dict[int, list[dict[str, str]]] = defaultdict(list)
    for iteration, _, file in _matches(folder, _CANDIDATE):
        parsed = candidates_of(_text(file))
        if not parsed:
            message = (
                f"{file.name} of iteration {iteration}: no candidate that can be parsed; left out"
            )
            yield Remark(message)
        candidates[iteration] += parsed
    for iteration, index, file in _matches(folder, _RESULT):
        text, place = _text(file), file.relative_to(folder).as_posix()
        result = result_of(text)
        if result is None:
            yield Remark(f"{place}: neither JSON nor a literal; skipped")
            continue
        score, errors = to_float(result.get(metric)), text_of(result.pop("stderr", "")).strip()
        # A candidate does not say which evaluation it came from; an equal score in the same iteration does, if only one has it.
        scored = [c for c in candidates[iteration] if score is not None]
        alike = {tuple(c.items()) for c in scored if to_float(c["score"]) == score}
        plan = dict(alike.pop()) if len(alike) == 1 else {}
        cells = {
            "id": f"iter{iteration}/code_{index}",
            **{k: text_of(v) for k, v in result.items()},
        }
        cells |= {"correct": "passed" if result.get("correct") else "failed", **settings, **plan}
        broke = not result.get("correct") and ("Traceback" in errors or "error" in errors.lower())
        cells["error" if broke else "stderr"] = errors.rpartition("\n")[2]
        yield Record(LogLine(1, text), cells, file=place)


def result_of(text: str) -> Json | None:
    """An evaluation result: JSON, or the Python literal that older runs wrote."""
    for parse in (json.loads, ast.literal_eval):
        try:
            tree = parse(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(tree, dict):
            return tree
    return None


def candidates_of(text: str) -> list[dict[str, str]]:
    """The candidate and its ancestors that a `repr` holds, as cells; empty where it cannot be parsed."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call))
    return [
        _candidate(call) for call in calls if {"score", "plan"} & {k.arg for k in call.keywords}
    ]


def _candidate(call: ast.Call) -> dict[str, str]:
    """What a surviving candidate says of one evaluation: its plan, its score, its parent's score and the models that wrote it."""
    fields = _literals(call)
    above = next((_literals(k.value) for k in call.keywords if k.arg == "parent"), {})
    score, plan = to_float(above.get("score")), fields.get("plan", "").strip()
    return {
        "score": fields.get("score", ""),
        "plan": plan.partition("\n")[0][:300],
        "mechanism": plan,
        "parent": "" if score is None else f"score {score}",
        **{key: fields.get(key, "") for key in _MODELS},
    }


def _literals(call: ast.expr) -> dict[str, str]:
    """The keywords of a call that are literals, as text."""
    fields = {}
    for keyword in getattr(call, "keywords", ()):
        with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            fields[keyword.arg] = text_of(ast.literal_eval(keyword.value))
    return fields


FORMATS = (
    LogFormat(
        "autocomp",
        lambda path, head: path.is_dir() and any(_matches(path, _RESULT)),
        read,
        order=8,
        folders=True,
        aliases=("autocomp-run",),
    ),
)
