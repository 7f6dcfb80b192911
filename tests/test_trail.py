"""The trail: what experiment pages say, and where a target stands by rule."""

import json
import sqlite3
from dataclasses import replace

import pytest

from kb import KbError, page, store, trail
from kb.build import build
from kb.graph import Graph
from kb.page.seal import FIELD as SEAL
from kb.page.superseding import Superseding, to_note
from kb.run.record import Lever, Metric
from kb.schema import Verdict
from kb.trail import Facts, VerdictRead
from kb.trail.facts import from_row, to_row
from kb.trail.frontier import steps_of
from kb.trail.handles import handle, is_handle, label_of, path_of
from kb.trail.levers import direction_in, levers_in, number_of
from kb.trail.progress import (
    balance_of,
    metric_of,
    moves_of,
    nibbles,
    progress_of,
    topics_of,
    unfiled,
)
from kb.trail.standing import reasons_to_go_on, standing_of


def facts(text: str, path: str = "wiki/experiments/engine/2026-01-02-v003-tiles.md") -> Facts:
    return trail.read_facts(page.read(path, text.encode()), text)


# A search that goes over such a line from each of its places does not end within hours.
@pytest.mark.parametrize(
    "piece",
    [" ", "-", "=", "`", "~", "(", ":", "1", "1,", "a=1 ", "--a ", "1 -> ", "v1 ", "**a", "~~~x\n"],
)
def test_a_line_of_300_kilobytes_is_read_like_any_other(piece):
    line = piece * (300_000 // len(piece))
    plain = line.replace("\n", " ")
    read = facts(
        f"---\ntype: experiment\nstatus: '{plain}x'\n---\n# Tiles\n\n## Verdict\n\nRefuted: slower.\n\n## Setup {plain}x\n\n{line}x\n\n"
        f"## Results\n\n| metric | ours |\n|-{plain}x|\n| {plain} | 1 |\n\n**Note{plain}x\n\n## What we learned\n\n{line}\n"
    )
    assert read.because == "Refuted: slower."


@pytest.mark.parametrize(
    "value", ["1" * 5000 + "*2", "1" * 400 + " * 3", "9" * 300 + " << 63", "1" * 5000]
)
def test_a_number_that_no_code_can_hold_is_no_setting_and_breaks_nothing(value):
    assert number_of(value) in (None, float("inf"))


def test_a_figure_too_large_for_a_number_is_no_measure():
    read = facts(
        "---\ntype: experiment\n---\n# T\n\n## Results\n\nThroughput is 12 ± 1e999 tok/s.\n\n| metric | this run |\n|---|---|\n| MFU | 40 % |\n| rate | 9 tok/s (1e999/chip) |\n"
    )
    assert not {value for m in read.metrics for value in (m.value, m.stddev)} & {float("inf")}


@pytest.mark.parametrize(
    ("front", "name", "verdict", "source"),
    [
        ("verdict: refuted/tie", "2026-01-01-v001-x", "refuted", "verdict"),
        ("verdict: pending\nstatus: rejected", "2026-01-01-v001-x", "refuted", "status"),
        ("status: filed", "2026-01-01-v001-x-accepted", "supported", "name"),
        ("status: filed", "2026-01-01-v001-x", "crash", "section"),
        ("verdict: supported", "2026-01-01-baseline", "baseline", "verdict+name"),
        ("verdict: invalid (crashed)", "2026-01-01-baseline", "invalid", "verdict"),
        ("verdict: heliotrope", "2026-01-01-v001-x-accepted", "other", "verdict"),
    ],
)
def test_a_verdict_is_read_from_the_first_place_that_says_one(front, name, verdict, source):
    read = facts(
        f"---\ntype: experiment\n{front}\n---\n\n## Verdict\n\n**Crashed** at start. The parent was supported.\n",
        f"wiki/experiments/e/{name}.md",
    ).verdict
    assert (read.canonical, read.source) == (verdict, source)


def test_a_raw_spelling_stays_beside_the_canonical_verdict():
    assert facts("---\nverdict: DISCARD (noise)\n---\n").verdict == VerdictRead(
        Verdict.REFUTED, "DISCARD (noise)", "verdict"
    )


@pytest.mark.parametrize(
    ("front", "body", "verdict", "source"),
    [
        ("", "## Verdict\n\n**Reverted to run 43.** Confirmed by diff.", "refuted", "section"),
        ("", "## Verdict\n\nRevert. Keep the old scan.", "refuted", "section"),
        ("", "## Outcome\n\nKept.", "supported", "section"),
        ("", "## Verdict\n\nKept the baseline; tiles lost.", "refuted", "section"),
        ("status: confirmed; not adopted", "2026-01-01-v001-x", "refuted", "status"),
        ("", "Status: confirmed (negative result; the halter saves no writes)", "refuted", "section"),
        ("", "Status: confirmed at 512 steps; adopted", "supported", "section"),
        ("verdict: not supported", "", "refuted", "verdict"),
        ("verdict: no crash, supported", "", "supported", "verdict"),
        ("verdict: mixed", "", "inconclusive", "verdict"),
        ("outcome: regression/tie; code reverted", "", "refuted", "outcome"),
        ("status: done\nresult: no improvement", "", "inconclusive", "outcome"),
        ("status: done\nresult: 12.3 tok/s", "**Result**: 12.3 tok/s", None, ""),
        ("status: done", "**Status**: ❌ Rejected, 4% slower", "refuted", "section"),
        ("status: superseded", "- Outcome: accepted: +4 %", "supported", "section"),
        ("status: superseded", "It ran.", "other", "status"),
        (
            "",
            "## SD-H10 Verdict: NOT SUPPORTED\n\nThe figures keep to the table.",
            "refuted",
            "section",
        ),
        ("", "### Verdict: DROP\n\nLook again with another card.", "refuted", "section"),
        ("", "## Decision\n\nNo-ship: nothing gained.", "refuted", "section"),
        ("", "## Decision\n\nShip.", "supported", "section"),
        ("", "**Status**: ✅", "supported", "section"),
        ("", "**Status**: ✅ complete as of May", None, ""),
        ("", "**Verdict**: ❌ Not worth it - needless complexity", "refuted", "section"),
        ("", "> **Preregistered verdict: NOT SUPPORTED.** No gain.", "refuted", "section"),
        ("", "**Status**: Completed\n**Decision**: GO", "supported", "section"),
        ("", "## Status\n\n❌ Rejected\n\n## Notes\n\nx", "refuted", "section"),
        ("", "Result\n------\n\nNegative.", "refuted", "section"),
        (
            "",
            "- **Status**: completed\n- **Result**: kept\n- **Result**: kept, again",
            "supported",
            "section",
        ),
        ("", "## A\n\n**Result**: kept\n\n## B\n\n**Result**: reverted", None, ""),
        ("", "### Result: kept\n\nx\n\n### Result: reverted\n\nx", None, ""),
        ("", "| **Owner** | x |\n|---|---|\n| **Status** | Kept |", "supported", "section"),
        ("", "| run | status | time |\n|---|---|---|\n| a | kept | 3 |", None, ""),
        ("", "## Results\n\nFaster on every shape that we have tried so far.", None, ""),
        ("", "**Outcome**: we keep the batch size of the parent run and look again", None, ""),
        ("", "```\n**Outcome**: reverted\n```", None, ""),
        ("decision: revert", "", "refuted", "decision"),
        ("", "Status: confirmed at 512 steps; not adopted", "refuted", "section"),
        ("", "Status: confirmed at 512 steps; adopted", "supported", "section"),
        ("", "**Status**: confirmed", "supported", "section"),
        ("state: dropped", "## Where it stands\n\nIt was faster.", "refuted", "decision"),
        ("adopted: false", "", "refuted", "decision"),
        ("rejected: no\nowner: kept", "", "supported", "decision"),
        ("topic: crash-recovery\narea: support", "", None, ""),
        ("technique: dropout\nmethod: mergesort\nmode: keepalive", "- **Dropout:** no", None, ""),
        ("checks: passed", "", None, ""),
        ("", "- **Measured:** jitter gone, 4.0 -> 5.7 ms.\n- **Decision:** NO. Too dear.", "refuted", "section"),
        ("", "- **Decision:** YES, new default.", "supported", "section"),
        ("", "- **Decision:** OPEN.", None, ""),
        ("", "depth 12 -> 14. val_bpb 0.9940 vs 0.9921. under the baseline. reverted.", "refuted", "section"),
    ],
)
def test_a_verdict_is_read_in_the_words_of_other_loops(front, body, verdict, source):
    read = facts(f"---\ntitle: T\n{front}\n---\n\n{body}\n", "wiki/experiments/e/003-x.md").verdict
    assert (read.canonical, read.source) == (verdict, source)


def test_a_verdict_of_several_words_says_why_where_nothing_else_does():
    assert (
        facts("# T\n\n## Result\n\n- Outcome: regression; the cache spills.\n").because
        == "regression; the cache spills."
    )
    assert facts("---\nverdict: refuted\n---\n").because == ""


@pytest.mark.parametrize(
    ("name", "head", "is_experiment", "date", "number"),
    [
        ("exp_43", "# Experiment 43 — 2026-04-17", True, "2026-04-17", 43),
        ("E-024-warm-start", "---\ndate: 2026-05-20\n---", True, "2026-05-20", 24),
        ("trial7", "# Trial\n\nSince 2026-01-01.", True, "", 7),
        ("2026-05-01-int4-weights", "", True, "2026-05-01", 0),
        ("expected-gains", "# Gains 2026-01-01", False, "", 0),
        ("notes", "", False, "", 0),
    ],
)
def test_a_run_is_named_by_its_date_or_number_and_dated_where_it_says_a_day(
    name, head, is_experiment, date, number
):
    read = page.read(f"wiki/experiments/e/{name}.md", f"{head}\n\ntext\n".encode())
    assert (read.type == "experiment", read.date, read.number) == (is_experiment, date, number)


LABELLED = """---
title: Tiles
---
## Hypothesis under test

**Hypothesis**: Tiles of 64 keep more of the
cache warm.

**Mechanism**: set `--tile=64`.

- **Predicted signal:** fewer misses.
- **Falsification criterion** — time at or above 10 ms.

## Verdict

Refuted. It spills.
"""
HEADED = """---
title: Tiles
---
## Hypothesis

Tiles of 64 keep more of the cache warm.

## Mechanism

Set `--tile=64`.

## Predicted signal

Fewer misses.

## Falsified if

Time at or above 10 ms.

## Conclusion

It spills.
"""


@pytest.mark.parametrize("text", [LABELLED, HEADED], ids=["labels", "headings"])
def test_the_four_labels_are_read_as_bold_runs_and_as_headings(text):
    read = facts(text)
    assert read.hypothesis == "Tiles of 64 keep more of the cache warm."
    assert read.mechanism.lower() == "set --tile=64."
    assert read.predicted_signal.lower() == "fewer misses."
    assert read.falsification.lower() == "time at or above 10 ms."
    assert "It spills." in read.because


def test_a_label_inside_a_code_fence_is_no_label():
    assert (
        facts("# T\n\n## Hypothesis\n\nPlain words.\n\n```\n**Hypothesis**: code\n```\n").hypothesis
        == "Plain words."
    )


def test_the_target_is_the_front_matter_or_the_folder_and_never_the_model():
    assert (
        facts(
            "---\nmodel: other\n---\n",
            "wiki/experiments/engine/cuda/experiments/2026-01-01-v001-x.md",
        ).target
        == "engine/cuda"
    )
    assert (
        facts("---\ntarget: named\n---\n", "wiki/experiments/engine/2026-01-01-v001-x.md").target
        == "named"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "## Results\n\n| Metric | Baseline | v003 | Δ |\n|---|---|---|---|\n| latency (ms) | 12.0 | **9.5 ± 0.2** | −21 % |\n",
            {"latency": (9.5, "ms", "lower", 0.2)},
        ),
        (
            "## Results\n\n| run | t/s |\n|---|---|\n| v002 | 60.1 |\n| v003 | 61.5 |\n| reference | 99 |\n",
            {"t/s": (61.5, "t/s", "higher", None)},
        ),
        (
            "## Results\n\n- Worker 0: 57,730 tok/s average, 41.4% MFU.\n- Worker 1: 57,000 tok/s.\n",
            {"tok/s": (57730.0, "tok/s", "higher", None), "mfu": (41.4, "%", "higher", None)},
        ),
        (
            "## Result\n\n- Step time: 355 → 411.91 ms\n",
            {"step time": (411.91, "ms", "lower", None)},
        ),
        ("## Results\n\nThroughput exceeds v002's 50,376 tok/s by 1 %.\n", {}),
        ("## Results\n\n```\nlatency: 3 ms\n```\n", {}),
    ],
)
def test_metrics_are_those_of_the_pages_own_run(body, expected):
    read = {
        m.name: (m.value, m.unit, m.direction, m.stddev)
        for m in facts(f"# Tiles\n\n{body}").metrics
    }
    assert read == expected


def test_metrics_of_the_front_matter_are_taken_as_they_stand():
    read = facts(
        "---\nmetrics:\n  latency: {value: 4.791, unit: s, direction: lower, n: 5, stddev: 0.01}\n---\n## Results\n\nlatency: 9 ms\n"
    ).metrics
    assert read == (Metric("latency", 4.791, "s", "lower", 5, 0.01),)


@pytest.mark.parametrize(
    ("text", "levers"),
    [
        ("set `--block-size=64` and FOO_MODE=fast", {"--block-size": "64", "FOO_MODE": "fast"}),
        ("change `--limit=81920` to `65536`", {"--limit": "65536"}),
        ("compile with -O3 -march=native", {"-O3": "", "-march": "native"}),
        ("block size 512 → 256 for bf16", {"block size": "256"}),
        ("replace std.sort by radix_sort at bs4", {"std.sort": "", "radix_sort": "", "bs": "4"}),
        ("halve the batch size 2**18 -> 2**17", {"batch size": "2**17"}),
        ("TOTAL_BATCH=2^19", {"TOTAL_BATCH": "2^19"}),
        ("see results.md and run 7", {}),
        ("a delay loop of clock64() instead of a sleep", {}),
        ("MUL_MAT: 3/3 backends passed", {"MUL_MAT": ""}),
    ],
)
def test_levers_are_found_in_free_text(text, levers):
    assert {lever.name: lever.value for lever in levers_in(text)} == levers


@pytest.mark.parametrize(("value", "number"), [("2**10", 1024), ("2^10", 1024), ("1 << 10", 1024), ("3<<2", 12), ("8*2", 16), ("2**900", None), ("12345**9", None)])
def test_a_value_may_be_a_product_or_a_power(value, number):
    assert number_of(value) == number


@pytest.mark.parametrize(
    ("title", "statement", "way"),
    [
        ("block sizes 512 → 256", "", "lower"),
        ("", "A bigger budget lets more tiles fly.", "raise"),
        ("Disable graphs", "", "disable"),
        ("", "Replace the loop by a kernel.", "replace"),
        ("", "Shrink what was bumped before.", ""),
        ("", "-O3: no effect, dropped", ""),
        ("", "Out of memory, dropped the cache", "disable"),
    ],
)
def test_the_way_a_lever_is_moved_is_read_or_left_open(title, statement, way):
    assert direction_in(title, statement) == way


def test_facts_survive_their_row():
    read = facts(LABELLED)
    assert from_row(to_row(read)) == read


def run(
    number: int,
    value: float | None,
    verdict: str = "supported",
    *,
    stddev: float | None = None,
    n: int | None = None,
    title: str = "",
    tags=(),
    decision="",
) -> Facts:
    metrics = () if value is None else (Metric("latency", value, "s", "lower", n, stddev),)
    return Facts(
        f"wiki/experiments/t/2026-01-01-v{number:03}-x.md",
        "t",
        date="2026-01-01",
        number=number,
        title=title,
        verdict=VerdictRead(Verdict(verdict)),
        metrics=metrics,
        tags=tags,
        decision=decision,
    )


LEADERBOARD = {
    0: 14.467,
    1: 8.423,
    2: 8.257,
    3: 8.155,
    4: 8.105,
    6: 8.021,
    7: 8.002,
    8: 7.419,
    9: 6.658,
    10: 6.643,
    13: 6.641,
    14: 4.816,
    16: 4.796,
    18: 4.791,
}


def test_two_kept_steps_under_one_percent_are_nibbling_on_the_published_leaderboard():
    steps = steps_of([run(n, value) for n, value in LEADERBOARD.items()], "latency", "lower")
    assert [list(LEADERBOARD)[i] for i in nibbles(steps)] == [13, 18]  # 9, 10, 13 and 14, 16, 18


def test_nibbling_is_an_alarm_only_while_it_lasts():
    def alarms(upto: int) -> set[str]:
        tried = [run(n, v) for n, v in LEADERBOARD.items() if n <= upto]
        return {
            a.code
            for a in progress_of(tried, target="t", variant="", metric=metric_of(tried)).alarms
        }

    assert "nibbling" in alarms(13) and "nibbling" not in alarms(14) and "nibbling" in alarms(18)


def test_a_gain_over_a_baseline_of_46_percent_noise_fails_the_two_percent_rule():
    tried = [
        Facts(
            "a",
            "t",
            verdict=VerdictRead(Verdict.BASELINE),
            metrics=(Metric("tg128", 41.37, "t/s", "higher", 5, 19.24),),
        ),
        Facts(
            "b",
            "t",
            number=1,
            verdict=VerdictRead(Verdict.SUPPORTED),
            metrics=(Metric("tg128", 47.62, "t/s", "higher", 5, 0.59),),
        ),
    ]
    found = progress_of(tried, target="t", variant="", metric=metric_of(tried))
    assert found.frontier.path == "b"
    assert [(a.code, a.paths) for a in found.alarms] == [("noise-wide", ("a",))]


def test_a_plateau_counts_runs_since_the_frontier_moved_by_a_percent():
    tried = [
        run(0, 10.0, "baseline"),
        run(1, 8.0),
        run(2, 9.0, "refuted"),
        run(3, 7.99),
        run(4, None, "crash"),
    ]
    assert progress_of(tried, target="t", variant="", metric=metric_of(tried)).plateau == 3


def test_what_matters_of_a_loss_or_by_the_least_effect_of_a_target_moves_its_frontier_too():
    fine = [run(0, 10.0, "baseline"), run(1, 9.97), run(2, 11.0, "refuted")]
    learnt = [replace(e, metrics=(Metric("val_bpb", e.metrics[0].value, "", "lower"),)) for e in fine]
    ruled = [replace(e, rule="supported") for e in fine]
    counted = [progress_of(tried, target="t", variant="", metric=metric_of(tried)).plateau for tried in (fine, learnt, ruled)]
    assert counted == [2, 1, 1]


def test_five_failures_in_a_row_are_thrash():
    tried = [run(0, 10.0, "baseline"), *(run(n, 11.0, "refuted") for n in range(1, 6))]
    assert "thrash" in {
        a.code for a in progress_of(tried, target="t", variant="", metric=metric_of(tried)).alarms
    }
    assert "thrash" not in {
        a.code
        for a in progress_of(tried[:-1], target="t", variant="", metric=metric_of(tried)).alarms
    }


def told(
    title: str, *levers: str, mechanism: str = "", verdict: Verdict = Verdict.REFUTED
) -> Facts:
    pulled = tuple(Lever(*lever.partition("=")[::2]) for lever in levers)
    return Facts(
        title, "t", title=title, levers=pulled, mechanism=mechanism, verdict=VerdictRead(verdict)
    )


@pytest.mark.parametrize(
    ("runs", "moves"),
    [
        # A flag named after a scheduler moves a setting, and so does a value on an axis.
        (
            [
                told("layer scheduler for dependent copies", "--enable_layer_scheduler=true"),
                told("tile 64", "tile=64"),
                told("tile 128", "tile=128"),
            ],
            ["setting"] * 3,
        ),
        # What every title takes along is no news: the first fused run changed structure, those that stand on it move settings.
        (
            [
                told("stack fused rope batch 8", "batch=8"),
                told("stack fused rope batch 6", "batch=6"),
                told("stack fused rope batch 4", "batch=4"),
                told("stack fused rope batch 4 rerun", "batch=4"),
            ],
            ["structure", "setting", "setting", ""],
        ),
        (
            [told("Hand-written reduction"), told("First measurement", verdict=Verdict.BASELINE)],
            ["structure", ""],
        ),
        (
            [
                told("async flag bundle"),
                told("The kernel reads whole lines"),
                told("Profile of the frontier"),
            ],
            ["setting", "structure", ""],
        ),
    ],
)
def test_what_a_run_moved_is_judged_by_what_is_new_about_it(runs, moves):
    assert list(moves_of(runs)) == moves
    assert balance_of(runs) == (moves.count("setting"), moves.count("structure"))


LATENCY = Metric("latency", None, "s", "lower")


def test_a_search_out_of_balance_is_told_by_the_runs_since_the_frontier_moved():
    rows = [run(1, 90.0), *(run(n, 100.0, "refuted") for n in range(2, 14))]
    moving = [
        replace(e, title=f"tile {e.number}", levers=(Lever("tile", str(e.number)),)) for e in rows
    ]
    alarm = next(
        a
        for a in progress_of(moving, target="t", variant="", metric=LATENCY).alarms
        if a.code == "unbalanced"
    )
    assert "12 moved settings and 0 changed structure" in alarm.text and len(alarm.paths) == 12
    changing = [
        replace(e, title=f"Rewrite the {'reader sorter writer'.split()[e.number // 3 - 1]}")
        if e.number in (3, 6, 9)
        else e
        for e in moving
    ]
    assert not any(
        a.code == "unbalanced"
        for a in progress_of(changing, target="t", variant="", metric=LATENCY).alarms
    )
    # Structure that was changed before the frontier moved does not balance what came after it.
    early = [
        *(
            replace(e, path=f"early{e.number}", title=f"Rewrite the {part}", date="2025-01-01")
            for e, part in zip(moving[1:], "reader sorter writer".split(), strict=False)
        ),
        *moving,
    ]
    assert any(
        a.code == "unbalanced"
        for a in progress_of(early, target="t", variant="", metric=LATENCY).alarms
    )


def test_a_topic_refuted_five_times_and_never_supported_is_closed():
    tried = [
        *(run(n, 1.0, "refuted", tags=("prefetch",)) for n in range(5)),
        *(run(n, 1.0, tags=("tiling",)) for n in range(5, 11)),
    ]
    assert {t.name for t in topics_of(tried) if t.closed} == {"prefetch"}


def test_runs_of_a_log_without_a_page_are_named():
    assert unfiled(
        "## [2026-01-02] loop | v003: tiles\n## [2026-01-03] loop | v009: lost\ntext about v044\n",
        [run(3, 1.0)],
    ) == ("v009",)


PAGE = "---\ntype: experiment\nverdict: {verdict}\nmetrics: {{latency: {{value: {value}, unit: ms, direction: lower}}}}\ncreated: 2026-01-0{day}\n---\n# Run {day}\n"


def base_files(count: int = 3) -> dict[str, str]:
    return {
        f"wiki/experiments/engine/2026-01-0{d}-v00{d}-x.md": PAGE.format(
            verdict="refuted" if d > 1 else "supported", value=10 + d, day=d
        )
        for d in range(1, count + 1)
    }


def test_experiments_are_loaded_by_target_and_strictly_before_a_page(make_base):
    layout = make_base(
        {
            **base_files(),
            "wiki/experiments/other/2026-01-02-v009-y.md": PAGE.format(
                verdict="crash", value=1, day=2
            ),
            "wiki/log.md": "# Log\n",
        }
    )
    build(layout)
    db = store.state(layout)
    assert trail.targets(db) == ("engine", "other")
    third = "wiki/experiments/engine/2026-01-03-v003-x.md"
    assert [
        e.number
        for e in trail.experiments(db, target="engine", before=trail.moment(db, before=third))
    ] == [1, 2]
    assert [
        e.number for e in trail.experiments(db, before=trail.moment(db, as_of="2026-01-02"))
    ] == [1, 2, 9]
    with pytest.raises(KbError, match="no such page"):
        trail.moment(db, before="wiki/nowhere.md")
    for day in ("yesterday", "2026-13-45", "2026-02-30", "20260102"):
        with pytest.raises(KbError, match="YYYY-MM-DD"):
            trail.moment(db, as_of=day)


def test_a_day_that_no_calendar_has_dates_no_experiment():
    assert (
        facts(
            "---\ncreated: 2026-01-02\n---\n", "wiki/experiments/engine/2026-99-99-v001-x.md"
        ).date
        == "2026-01-02"
    )
    assert (
        facts(
            "---\ncreated: 2026-13-01\n---\n", "wiki/experiments/engine/2026-00-10-v001-x.md"
        ).date
        == ""
    )


def test_a_loop_may_stop_only_on_plateau_without_headroom_and_with_a_fresh_retrospective(make_base):
    files = base_files(9)
    files["wiki/targets/engine.md"] = "---\ntype: target\nmetric: {name: latency}\n---\n# Engine\n"
    layout = make_base(files)

    def reasons() -> tuple[str, ...]:
        build(layout)
        return reasons_to_go_on(
            standing_of(
                store.state(layout),
                "engine",
                text_of=lambda p: page.text_of(store.read_bytes(layout, p)),
            )
        )

    assert len(reasons()) == 2  # headroom and retrospective
    (layout.root / "wiki/analyses").mkdir()
    retro = layout.root / "wiki/analyses/2026-01-09-engine-retrospective.md"
    retro.write_text(
        "---\ntype: analysis\ntarget: engine\nheadroom: none\n---\n# Retrospective\n\nUp to v008.\n"
    )
    assert [r for r in reasons() if "does not cover" in r]
    retro.write_text(
        "---\ntype: analysis\ntarget: engine\nheadroom: none\n---\n# Retrospective\n\nUp to v009.\n"
    )
    assert reasons() == ()
    (layout.root / "wiki/hypotheses").mkdir()
    (layout.root / "wiki/hypotheses/idea.md").write_text(
        "---\ntype: hypothesis\nstatus: open\ntarget: engine\n---\n# Idea\n"
    )
    assert ["leads are open" in r for r in reasons()] == [True]


def test_status_of_runs_that_name_no_target_speaks_of_experiments(make_base, kb_command):
    one = "---\nverdict: supported\n---\n# Try\n\n## Result\n\nLatency: 9 ms.\n"
    bare = make_base({f"wiki/experiments/2026-01-0{n}-run.md": one for n in (1, 2)})
    head, line = kb_command("status", cwd=bare.root).stdout.splitlines()
    assert head == "2 pages, 2 experiments" and line.startswith("  experiments: 2 runs, ")
    for file in bare.wiki.rglob("*.md"):
        file.write_text(one.replace("9 ms", "good"))
    kb_command("build", cwd=bare.root)
    line = kb_command("status", cwd=bare.root).stdout.splitlines()[1]
    assert line == "  experiments: 2 runs, no figure in common, kept last run"


def test_status_names_the_target_that_waits_for_its_first_run(make_base, kb_command):
    waiting = make_base({"wiki/targets/engine.md": "---\ntitle: Engine\ntype: target\n---\n# Engine\n"})
    assert kb_command("status", cwd=waiting.root).stdout.splitlines() == ["1 page, 0 experiments", "  engine: no run yet"]


def test_the_doors_print_list_show_status_stop_check_and_retro(make_base, kb_command):
    layout = make_base(base_files())
    listed = json.loads(
        kb_command("experiment", "list", "--format", "json", cwd=layout.root).stdout
    )
    assert [(e["verdict"]["canonical"], e["metrics"]["latency"]["value"]) for e in listed] == [
        ("supported", 11.0),
        ("refuted", 12.0),
        ("refuted", 13.0),
    ]
    assert set(listed[0]) >= {
        "path",
        "target",
        "variant",
        "date",
        "verdict",
        "decision",
        "levers",
        "metrics",
        "parent",
    }
    assert "Run 2" in kb_command("experiment", "show", listed[1]["path"], cwd=layout.root).stdout
    as_json = json.loads(kb_command("experiment", "show", listed[1]["path"], "--format", "json", cwd=layout.root).stdout)
    assert as_json["path"] == listed[1]["path"] and as_json["levers"] == listed[1]["levers"]
    assert (
        "no experiment"
        in kb_command("experiment", "show", "wiki/x.md", cwd=layout.root, ok=(2,)).stderr
    )
    assert "engine: 3 runs" in kb_command("status", cwd=layout.root).stdout
    assert (
        json.loads(kb_command("status", "--format", "json", cwd=layout.root).stdout)["targets"][0][
            "target"
        ]
        == "engine"
    )
    assert (
        "no target 'nope'; known: engine"
        in kb_command("status", "--target", "nope", cwd=layout.root, ok=(2,)).stderr
    )
    assert "no plateau" in kb_command("stop-check", cwd=layout.root, ok=(3,)).stdout
    retro = kb_command("retro", "--date", "2026-01-09", cwd=layout.root).stdout
    assert (
        "| run | date | variant | topic | verdict | frontier shift |" in retro
        and "<!-- to write:" in retro
    )
    kb_command("retro", "--date", "2026-01-09", "--write", cwd=layout.root)
    assert (
        "there already"
        in kb_command("retro", "--date", "2026-01-09", "--write", cwd=layout.root, ok=(2,)).stderr
    )


@pytest.mark.corpora
def test_verdicts_of_the_open_wiki_agree_with_its_oracle(corpora):
    rows = [
        json.loads(line)
        for line in (corpora / "tpu-wiki-truth/experiments.jsonl").read_text().splitlines()
    ]
    wrong = []
    for row in rows:
        data = (corpora / "tpu-wiki" / row["path"]).read_bytes()
        read = page.read(row["path"], data)
        if trail.read_facts(read, page.text_of(data)).verdict.canonical != row["verdict"]:
            wrong.append(row["path"])
    assert len(wrong) <= 0.03 * len(rows), wrong


def test_saving_a_trail_twice_leaves_the_same_tables():
    db = sqlite3.connect(":memory:")
    for statement in (*trail.TABLES, store.Kept.TABLE):
        db.execute(statement)
    whole = trail.trail_of([(e.path, to_row(e)) for e in (run(2, 2.0), run(1, 1.0))], Graph({}, ()))
    assert [e.number for e in whole.experiments] == [1, 2]
    relatives = trail.relatives_of(whole, store.Kept(db))
    trail.save(db, whole, relatives)
    first = db.execute("select * from experiment").fetchall()
    trail.save(db, whole, relatives)
    assert db.execute("select * from experiment").fetchall() == first


def test_a_gain_of_exactly_the_threshold_moves_the_frontier_and_a_later_baseline_is_no_try():
    steps = steps_of([run(n, value) for n, value in enumerate((100.0, 99.0, 98.01))], "latency", "lower")
    assert nibbles(steps) == () and nibbles([replace(s, is_small=True) for s in steps]) == (1, 2)
    runs = [
        run(0, 100.0, "baseline"),
        run(1, 99.0),
        run(2, 100.0, "refuted"),
        run(3, 100.0, "baseline"),
    ]
    assert progress_of(runs, target="t", variant="", metric=metric_of(runs)).plateau == 1


def test_runs_in_flight_decide_nothing_and_a_reverted_run_goes_on_with_a_streak():
    lost = [
        *(run(n, 11.0, "refuted") for n in range(1, 5)),
        run(5, 11.0, "inconclusive", decision="revert"),
    ]
    alarms = progress_of(lost, target="t", variant="", metric=LATENCY).alarms
    assert [len(a.paths) for a in alarms if a.code == "thrash"] == [5]


def test_completed_evidence_goes_before_what_a_page_was_filed_with():
    note = to_note(Superseding("2026-02-01", "refuted", "it did not hold", "kb1-x"), seal="abc")
    read = facts(
        f"---\ntype: experiment\nverdict: supported\ndecision: keep\n{SEAL}: abc\n---\n# T\n\n{note}\n"
    )
    assert (read.verdict.canonical, read.verdict.source, read.because, read.decision) == (
        "refuted",
        "note",
        "it did not hold",
        "",
    )


def test_a_run_in_flight_is_no_last_run_of_a_standing(make_base):
    flying = "---\ntype: experiment\nstatus: running\ncreated: 2026-01-09\n---\n# Run 9\n"
    layout = make_base({**base_files(2), "wiki/experiments/engine/2026-01-09-v009-x.md": flying})
    build(layout)
    standing = standing_of(
        store.state(layout), "engine", text_of=lambda p: page.text_of(store.read_bytes(layout, p))
    )
    assert standing.last.endswith("v002-x.md") and [p[-9:] for p in standing.in_flight] == [
        "v009-x.md"
    ]
    assert standing.progress[0].runs == 2


def test_a_label_of_several_sentences_is_read_by_what_was_done_in_the_end():
    def read(line: str) -> Verdict | None:
        return facts(f"# T\n\n{line}\n").verdict.canonical

    assert read("**Verdict:** the parser worked; its motion did not. Shelved for now.") == "refuted"
    assert read("**Conclusion (recorded):** the stock size is preferable to tiles.") == "refuted"
    assert read("**Status:** Concluded (run with a clear negative takeaway).") == "refuted"
    assert read("**Status**: ✅ quick test passed, baseline-lite pending") == "supported"
    assert read("**Result:** 1.9 → 1.3 ms here, 0.2 → 0.5 ms there") is None


@pytest.mark.parametrize(
    ("title", "verdict"),
    [("0003 DISCARD depth 12 -> 14", "refuted"), ("[REJECTED] zstd", "refuted"), ("zstd level 3 — KEEP", "supported"), ("0015 UNCLEAR beta2", "inconclusive"), ("0020 NOTE three seeds", None), ("OOM killer", None), ("KEEP ALIVE", None), ("MERGE sort", None), ("DROP table scans", None), ("REJECTED: zstd", "refuted"), ("The table is DEAD", None)],
)
def test_a_title_in_which_one_word_of_a_verdict_stands_in_capitals_says_it(title, verdict):
    assert facts(f"# {title}\n\nTwo more layers.\n", "wiki/experiments/e/004-x.md").verdict.canonical == verdict


@pytest.mark.parametrize(
    ("title", "verdict"),
    [("Guided knots — A Negative Result", "refuted"), ("Why eigenvectors failed as features", "refuted"), ("Rare callees (deferred)", "inconclusive"), ("Retries of failed jobs", None), ("Guided knots: two ways", None)],
)
def test_a_title_may_end_with_how_a_run_came_out_or_ask_why_it_failed(title, verdict):
    assert facts(f"# {title}\n\nThis tested knots where much varies.\n\n## Conclusion\n\nFor such data an even grid is more important.\n").verdict.canonical == (verdict or "other")


def test_a_verdict_may_be_told_in_two_words():
    assert [facts(f"# Knots\n\n**Verdict:** {v}. Seven of ten.\n").verdict.canonical for v in ("CLOSE NEGATIVE", "not negative")] == ["refuted", None]


@pytest.mark.parametrize(("field", "title"), [("variant: merged", "Fused qkv"), ("target: a", "MERGE sort"), ("on_failure: keep", "KEEP alive")])
def test_what_a_technique_is_called_says_no_outcome_where_the_page_says_one(field, title):
    text = f"---\ntype: experiment\n{field}\n---\n# {title}\n\n## Verdict\n\nRefuted: 3 % slower.\n"
    read = facts(text, "wiki/experiments/e/004-x.md").verdict
    assert (read.canonical, read.source) == ("refuted", "section")
    assert facts(text.partition("## ")[0].replace("type: experiment", "type: experiment\nstatus: in_progress"), "wiki/experiments/e/004-x.md").running


def test_a_form_that_nobody_filled_in_says_no_verdict():
    form = "# Experiment\n\n## Hypothesis\n\nx\n\n## Outcome\n\n- [ ] kept\n- [ ] rejected because it was slower\n"
    assert facts(form, "wiki/experiments/e/003-x.md").verdict.canonical is None
    assert facts(form.replace("[ ] kept", "[x] kept"), "wiki/experiments/e/003-x.md").verdict.canonical == "supported"


def test_a_page_takes_its_verdict_from_what_it_says_last_of_what_was_done():
    page = "# zstd level 3\n\nThe padding experiment was rejected, so we looked at compression. We kept it.\n"
    assert facts(page, "wiki/experiments/e/004-x.md").verdict.canonical == "supported"


def test_a_handle_has_no_blanks_ends_with_a_word_and_opens_its_page():
    paths = ["wiki/Experiments/F02 Affordability of loans.md", "wiki/experiments/2026031750_window_eighth.md", "wiki/notes/T01 Optuna.md", "wiki/notes/averyverylongname.md"]
    assert [label_of(p) for p in paths] == ["F02", "2026031750", "T01-Optuna", "averyverylongnam"]
    assert all(path_of(handle(p), paths) == p and is_handle(handle(p)) for p in paths)


GOES = "Distance 4 was slower, reverted. Distance 8 was slower, reverted. It was late. Distance 16 did not help either, reverted."
LABELLED = "".join(f"## Go {n}\n\nDistance {4 << n}.\n\n**Verdict**: {said}\n\n" for n, said in enumerate(("reverted, 9 ms", "reverted", "kept, 6.5 ms")))


@pytest.mark.parametrize(
    "text",
    [
        f"## Outcome\n\n{GOES} Distance 64 took 6.5 ms against 8 ms, so we kept it.\n",
        f"The trace was clear. {GOES} We slept on it. The machine was quiet. We looked again. We read the manual. There were more. Nothing else ran. "
        "Then distance 64. Latency 6.5 ms against 8 ms. We kept it.\n\nNext: look at the stores.\n",
        f"{LABELLED}## Next\n\nLook at the stores.\n",
    ],
)
def test_of_several_goes_of_one_page_the_last_decides(text):
    assert facts(f"# Prefetch\n\n{text}").verdict.canonical == Verdict.SUPPORTED
    assert facts(f"# Prefetch\n\n{text}".replace("kept", "reverted")).verdict.canonical == Verdict.REFUTED


def test_the_figure_of_the_go_that_decides_is_the_runs():
    read = facts("# Prefetch\n\nFirst try: latency 20 ms, reverted. Second try: latency 14 ms, reverted. Third try: latency 7 ms, kept.\n")
    assert [(m.name, m.value) for m in read.metrics] == [("latency", 7.0)]


def test_an_aside_that_ends_in_no_turns_no_run_that_was_kept():
    kept = "# Pin\n\nLatency 6.2 ms, down from 6.5 ms. Kept.\n\nDoes it help the small inputs? So no.\n"
    assert facts(kept).verdict.canonical == Verdict.SUPPORTED
    assert facts("# Pin\n\nLatency 6.9 ms against 6.5 ms. So no.\n").verdict.canonical == Verdict.REFUTED


def test_a_field_of_few_words_above_the_first_section_is_no_hypothesis():
    head = "# Wider doors\n\n**Date:** 2026-04-20\n**Branch:** `main`\n\n{}## Results\n\n4 ms, kept.\n"
    assert facts(head.format("")).hypothesis == ""
    assert facts(head.format("Two doors let the steam out before the crust is soft.\n\n")).hypothesis == "Two doors let the steam out before the crust is soft."
