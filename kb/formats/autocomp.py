"""Autocomp run folders: evaluation results are the runs; candidates, parsed with `ast` and never evaluated, tell plan and lineage.

Reads both `eval-results-iter-1/code_0_result.txt` and the flattened `eval-results-iter-1__code_0_result.txt`.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb.formats.objects import Json, text_of
from kb.formats.reading import Ask, Remark, Segment, measured
from kb.run.direction import direction_of
from kb.run.quantity import to_float
from kb.run.record import Check, Lever, Origin, Outcome, Run
from kb.store import digest_of

_RESULT = re.compile(r"eval-results-iter-(\d+)(?:/|__)code_(\d+)_result\.txt$")
_CANDIDATE = re.compile(r"candidates-iter-(\d+)(?:/|__)candidate_(\d+)\.txt$")
_SETTINGS = ("beam_size", "dropout_menu_options", "num_plan_candidates", "num_code_candidates", "problem")


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a surviving candidate says of one evaluation: its plan, its score, its parent's score and the models that wrote it."""

    plan: str
    score: float | None
    parent: float | None
    models: tuple[str, ...]


def holds(folder: Path) -> bool:
    """Whether a folder is an Autocomp run."""
    return any(_matches(folder, _RESULT))


def _matches(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, Path]]:
    found = []
    for file in (*folder.glob("*"), *folder.glob("*/*")):
        match = pattern.search(file.relative_to(folder).as_posix())
        if match and file.is_file():
            found.append((int(match[1]), int(match[2]), file))
    yield from sorted(found)


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """One segment, and one run an evaluation result, by iteration and number."""
    told = _object(path / "run_metadata.json")
    metric = ask.metric or text_of(told.get("metric")) or "latency"
    direction, source = (ask.direction, "asked") if ask.direction else (direction_of(metric), "name")
    yield Segment(0, 1, text_of(told.get("problem")), metric, "", direction, source if direction else "", False, True)
    candidates: dict[int, list[Candidate]] = {}
    for iteration, _, file in _matches(path, _CANDIDATE):
        found = candidates_of(file.read_text(encoding="utf-8", errors="replace"))
        if not found:
            yield Remark(f"{file.name} of iteration {iteration}: no candidate that can be parsed; left out")
        candidates.setdefault(iteration, []).extend(found)
    levers = tuple(Lever(k, text_of(told[k])) for k in _SETTINGS if k in told)
    for number, (iteration, index, file) in enumerate(_matches(path, _RESULT), 1):
        text = file.read_text(encoding="utf-8", errors="replace")
        result = result_of(text)
        if result is None:
            yield Remark(f"{file.relative_to(path)}: neither JSON nor a literal; skipped")
            continue
        origin = Origin(file.relative_to(path).as_posix(), 1, digest_of(text))
        yield _run(
            result, origin, number, f"iter{iteration}/code_{index}", ask.metric or metric, candidates.get(iteration, []), levers
        )


def _object(file: Path) -> Json:
    try:
        said = json.loads(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else {}
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def result_of(text: str) -> Json | None:
    """An evaluation result: JSON, or the Python literal that older runs wrote."""
    for parse in (json.loads, ast.literal_eval):
        try:
            said = parse(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(said, dict):
            return said
    return None


def candidates_of(text: str) -> list[Candidate]:
    """The candidate and its ancestors that a `repr` holds; empty where it cannot be parsed."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            said = {k.arg: k.value for k in node.keywords if k.arg}
            if "score" in said or "plan" in said:
                parent = said.get("parent")
                above = {k.arg: k.value for k in parent.keywords if k.arg} if isinstance(parent, ast.Call) else {}
                models = tuple(m for key in ("plan_gen_model", "code_gen_model") if isinstance(m := _literal(said.get(key)), str))
                found.append(
                    Candidate(
                        text_of(_literal(said.get("plan"))),
                        to_float(_literal(said.get("score"))),
                        to_float(_literal(above.get("score"))),
                        models,
                    )
                )
    return found


def _literal(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _run(
    result: Json, origin: Origin, number: int, label: str, metric: str, candidates: list[Candidate], levers: tuple[Lever, ...]
) -> Run:
    correct = result.get("correct")
    errors = text_of(result.get("stderr")).strip()
    outcome = (
        None
        if correct
        else Outcome.CRASHED
        if "Traceback" in errors or re.search(r"\berror\b", errors, re.IGNORECASE)
        else Outcome.CHECKS_FAILED
    )
    metrics = tuple(
        measured(k, value, raw=text_of(raw), outcome=outcome, direction=direction_of(k), primary=k == metric)
        for k, raw in result.items()
        if k not in ("correct", "stdout", "stderr") and (value := to_float(raw)) is not None
    )
    value = next((m.value for m in metrics if m.name == metric), None)
    # A candidate does not say which evaluation it came from; an equal score in the same iteration does, if only one has it.
    alike = {c for c in candidates if value is not None and c.score == value}
    of = alike.pop() if len(alike) == 1 else None
    return Run(
        origin,
        "autocomp",
        label=label,
        outcome=outcome,
        status="correct" if correct else "incorrect",
        description=(of.plan.strip().splitlines() or [""])[0][:300] if of else f"candidate {label}",
        primary=metric,
        metrics=metrics,
        levers=levers,
        mechanism=of.plan if of else "",
        reason=errors.splitlines()[-1] if errors else "",
        parent=f"score {of.parent}" if of and of.parent is not None else "",
        checks=(Check("correct", "passed" if correct else "failed"),),
        models=of.models if of else (),
        notes=(("order", str(number)), *((("stdout", text_of(result["stdout"])),) if result.get("stdout") else ())),
    )
