"""Autocomp run folders: evaluation results are the runs; candidates, parsed with `ast` and never evaluated, tell plan and lineage.

Reads both `eval-results-iter-1/code_0_result.txt` and the flattened `eval-results-iter-1__code_0_result.txt`.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from kb.formats.readers.jsonl import Json, text_of
from kb.formats.reading import Ask, Remark, Segment, metrics_of
from kb.formats.registry import Event, LogFormat
from kb.formats.table import object_in
from kb.run.quantity import to_float
from kb.run.record import Check, Lever, Origin, Outcome, Run
from kb.store import bytes_of, digest_of

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


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a surviving candidate says of one evaluation: its plan, its score, its parent's score and the models that wrote it."""

    plan: str
    score: float | None
    parent: float | None
    models: tuple[str, ...]


def _matches(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, Path]]:
    files = (f for glob in ("*", "*/*") for f in folder.glob(glob) if f.is_file())
    matches = ((pattern.search(f.relative_to(folder).as_posix()), f) for f in files)
    yield from sorted((int(m[1]), int(m[2]), f) for m, f in matches if m)


def _text(file: Path) -> str:
    return bytes_of(file, declared=True).decode("utf-8", "replace") if file.is_file() else ""


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run an evaluation result, by iteration and number."""
    about = object_in(_text(path / "run_metadata.json"))
    metric = ask.metric or text_of(about.get("metric")) or "latency"
    segment = Segment(
        0, 1, text_of(about.get("problem")), metric, "", *ask.way(metric), False, True
    )
    yield segment
    candidates: dict[int, list[Candidate]] = {}
    for iteration, _, file in _matches(path, _CANDIDATE):
        parsed = candidates_of(_text(file))
        if not parsed:
            yield Remark(
                f"{file.name} of iteration {iteration}: no candidate that can be parsed; left out"
            )
        candidates.setdefault(iteration, []).extend(parsed)
    levers = tuple(Lever(k, text_of(about[k])) for k in _SETTINGS if k in about)
    for number, (iteration, index, file) in enumerate(_matches(path, _RESULT), 1):
        text, place = _text(file), file.relative_to(path).as_posix()
        result = result_of(text)
        if result is None:
            yield Remark(f"{place}: neither JSON nor a literal; skipped")
            continue
        origin, label = (Origin(place, 1, digest_of(text)), f"iter{iteration}/code_{index}")
        run = _run(result, origin, number, label, segment, candidates.get(iteration, []))
        yield replace(run, levers=levers)


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


def candidates_of(text: str) -> list[Candidate]:
    """The candidate and its ancestors that a `repr` holds; empty where it cannot be parsed."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    keywords = [{k.arg: k.value for k in call.keywords if k.arg} for call in calls]
    return [_candidate(k) for k in keywords if "score" in k or "plan" in k]


def _candidate(fields: dict[str, ast.expr]) -> Candidate:
    parent = fields.get("parent")
    above = {k.arg: k.value for k in parent.keywords} if isinstance(parent, ast.Call) else {}
    models = tuple(m for key in _MODELS if isinstance(m := _literal(fields.get(key)), str))
    scores = (to_float(_literal(fields.get("score"))), to_float(_literal(above.get("score"))))
    return Candidate(text_of(_literal(fields.get("plan"))), *scores, models)


def _literal(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _run(
    result: Json,
    origin: Origin,
    number: int,
    label: str,
    segment: Segment,
    candidates: list[Candidate],
) -> Run:
    correct = bool(result.get("correct"))
    errors = text_of(result.get("stderr")).strip()
    crashed = "Traceback" in errors or "error" in errors.lower()
    outcome = None if correct else Outcome.CRASHED if crashed else Outcome.CHECKS_FAILED
    figures = {k: v for k, v in result.items() if k not in ("correct", "stdout", "stderr")}
    metrics = metrics_of(figures, segment, outcome=outcome)
    value = next((m.value for m in metrics if m.name == segment.metric), None)
    # A candidate does not say which evaluation it came from; an equal score in the same iteration does, if only one has it.
    alike = {c for c in candidates if value is not None and c.score == value}
    of = alike.pop() if len(alike) == 1 else Candidate("", None, None, ())
    output = text_of(result.get("stdout"))
    return Run(
        origin,
        "autocomp",
        label=label,
        outcome=outcome,
        status="correct" if correct else "incorrect",
        description=(of.plan.strip().splitlines() or [f"candidate {label}"])[0][:300],
        primary=segment.metric,
        metrics=metrics,
        mechanism=of.plan,
        reason=errors.splitlines()[-1] if errors else "",
        parent=f"score {of.parent}" if of.parent is not None else "",
        checks=(Check("correct", "passed" if correct else "failed"),),
        models=of.models,
        notes=(("order", str(number)), *((("stdout", output),) if output else ())),
    )


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
