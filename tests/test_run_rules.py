"""Noise, criteria and the verdict rules, without any page or process."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import KbError
from kb.run.criterion import criteria_of, holds, to_text
from kb.run.measure import measured, metrics_in
from kb.run.noise import Spread, band_of, confidence_of, gain_of, spread_of
from kb.run.quantity import number_text, unit_beside
from kb.run.record import Falsification
from kb.run.rules import RULES, Evidence, Measured, ruling_of
from kb.schema import Verdict

QUIET = (spread_of([91.0, 91.1, 90.9, 91.0, 91.05]), spread_of([100.0, 100.2, 99.9, 100.0, 100.1]))


def evidence(change=QUIET[0], parent=QUIET[1], direction="lower", **more) -> Evidence:
    """A clean win, with what a test changes about it."""
    base = Evidence("time_ms", (Measured("time_ms", change, parent, "ms", direction),), checks="passed", firing="confirmed", profiled=True,
                    falsification=(Falsification("gain", "<", 2.0),))
    return replace(base, **more)


def ruled(*args, **more) -> tuple[str, str]:
    ruling = ruling_of(evidence(*args, **more))
    return str(ruling.verdict), ruling.rule


def test_a_gain_beyond_noise_with_checks_profile_and_audit_is_supported():
    ruling = ruling_of(evidence())
    assert (ruling.verdict, ruling.rule) == (Verdict.SUPPORTED, "supported")
    assert ruling.gain == pytest.approx(0.0903, abs=1e-3)


def test_the_published_gain_of_15_percent_fails_the_2_percent_rule_by_its_own_baseline():
    """llama.cpp token generation, 41.37 ± 19.24 -> 47.62 ± 0.59 t/s: the baseline's spread is 46.5 % of its mean."""
    claim = evidence(Spread(47.62, 0.59, None), Spread(41.37, 19.24, None), "higher", falsification=())
    ruling = ruling_of(claim)
    assert (ruling.verdict, ruling.rule) == (Verdict.INCONCLUSIVE, "noise-wide")
    assert "46.5 %" in ruling.reason and ruling.gain == pytest.approx(0.151, abs=1e-3)


@pytest.mark.parametrize(("more", "expected"), [
    ({"touched": ("bench.c",)}, ("invalid", "protected-file")),
    ({"strayed": ("Makefile",)}, ("invalid", "outside-allowed")),
    ({"crash": "it exited with 139"}, ("crash", "crash")),
    ({"measured": ()}, ("crash", "crash")),
    ({"checks": "it exited with 1"}, ("invalid", "checks-failed")),
    ({"bounds": (Falsification("psnr", ">=", 60.0),)}, ("invalid", "parity-broken")),
    ({"has_parent": False}, ("baseline", "baseline")),
    ({"parent_crash": "it exited with 1"}, ("inconclusive", "parent-unmeasured")),
    ({"direction": None}, ("inconclusive", "no-direction")),
    ({"firing": "no-op"}, ("inconclusive", "no-op")),
    ({"falsification": (Falsification("time_ms", ">", 90.0),)}, ("refuted", "falsified")),
    ({"change": spread_of([97.0, 101.0, 99.0]), "falsification": (Falsification("gain", "<", 2.0),)}, ("inconclusive", "falsified-in-doubt")),
    ({"change": spread_of([110.0, 110.1, 110.2]), "falsification": ()}, ("refuted", "regression")),
    ({"change": spread_of([91.0])}, ("inconclusive", "noise-unknown")),
    ({"change": spread_of([91.0, 91.1])}, ("inconclusive", "noise-unknown")),
    ({"change": spread_of([91.0]), "confidence": 1.4}, ("inconclusive", "noise-unknown")),
    ({"change": spread_of([91.0]), "confidence": 2.4}, ("supported", "supported")),
    ({"change": spread_of([85.0, 91.0, 97.0])}, ("inconclusive", "noise-wide")),
    ({"change": spread_of([99.9, 100.0, 100.1]), "falsification": ()}, ("inconclusive", "tie")),
    ({"least_band": 20.0}, ("inconclusive", "tie")),
    ({"change": spread_of([99.2, 99.21, 99.2]), "parent": spread_of([100.0, 100.01, 100.0]), "falsification": ()}, ("inconclusive", "under-one-percent")),
    ({"falsification": (Falsification("loss", ">", 3.0),)}, ("inconclusive", "criterion-unmeasured")),
    ({"profiled": False}, ("inconclusive", "no-profile")),
    ({"firing": ""}, ("inconclusive", "no-audit")),
    ({"firing": "none"}, ("inconclusive", "not-fired")),
    ({"firing": "partial"}, ("supported", "supported")),
    ({"checks": "skipped"}, ("supported", "supported")),
])
def test_the_first_rule_that_speaks_decides(more, expected):
    assert ruled(**more) == expected


def test_a_tracked_metric_that_gets_worse_holds_a_win_back():
    memory = Measured("peak_gb", spread_of([12.0, 12.0, 12.0]), spread_of([10.0, 10.0, 10.0]), "GB", "lower")
    won = evidence()
    assert ruling_of(replace(won, measured=(*won.measured, memory))).rule == "supported"
    assert ruling_of(replace(won, measured=(*won.measured, memory), tracked=("peak_gb",))).rule == "tracked-regression"


def test_every_rule_is_shown_speaking_by_a_test():
    shown = {mark.args[1][i][1][1] for mark in test_the_first_rule_that_speaks_decides.pytestmark for i in range(len(mark.args[1]))} | {"tracked-regression"}
    assert {r.name for r in RULES} == shown


def test_invalid_and_crashed_runs_report_no_gain():
    for more in ({"touched": ("x",)}, {"checks": "failed"}, {"crash": "it hung"}):
        assert ruling_of(evidence(**more)).gain is None


@given(st.lists(st.floats(1, 1e6), min_size=3, max_size=9), st.lists(st.floats(1, 1e6), min_size=3, max_size=9), st.sampled_from(["lower", "higher"]))
def test_support_needs_a_gain_beyond_both_spreads_and_one_percent(change, parent, direction):
    ruling = ruling_of(evidence(spread_of(change), spread_of(parent), direction, falsification=()))
    if ruling.verdict == Verdict.SUPPORTED:
        assert ruling.gain is not None and ruling.gain > 0.01
        assert abs(spread_of(change).mean - spread_of(parent).mean) > max(spread_of(change).stddev, spread_of(parent).stddev)
        assert not spread_of(change).wide and not spread_of(parent).wide


def test_confidence_is_pis():
    # |8 - 10| over the MAD of (10, 9, 8, 12): median 9.5, deviations .5 .5 1.5 2.5, MAD 1.
    assert confidence_of(2.0, [10, 9, 8, 12]) == 2.0
    assert confidence_of(2.0, [10, 8]) is None
    assert confidence_of(2.0, [10, 10, 10, 8]) is None
    assert confidence_of(2.0, [10, 0, -1]) is None


def test_bands_need_three_repeats_or_a_stated_spread():
    assert band_of(spread_of([1.0, 1.1]), spread_of([1.0, 1.1, 1.2])) is None
    assert band_of(Spread(1, 0.3, None), Spread(1, 0.4, None)) == pytest.approx(0.5)
    assert math.isclose(gain_of(90, 100, direction="lower"), 0.1) and math.isclose(gain_of(90, 100, direction="higher"), -0.1)
    assert gain_of(1, 0, direction="lower") is None


@pytest.mark.parametrize(("text", "expected"), [
    ("time_ms >= 95", ["time_ms >= 95"]),
    ("falsified if throughput_tps at or below 57,757 tok/s or loss > 3.2", ["throughput_tps <= 57757", "loss > 3.2"]),
    ("gain < 2%", ["gain < 2%"]),
    ("speedup below 1.05x", ["gain < 5%"]),
    ("tok/s improves by less than 2 %", ["gain < 2%"]),
    ("latency regresses by more than 1%", ["gain < -1%"]),
    ("no speed-up over the parent", ["gain <= 0%"]),
    ("`time ms` is above 4", ["time ms > 4"]),
    ("time_ms does not drop below 90 ms", ["time_ms >= 90"]),
    ("Throughput-TPS stays under 41.4", ["throughput_tps < 41.4"]),
    ("p99 no better than 3.5e-2 s", ["p99 <= 0.035"]),
])
def test_a_criterion_is_read_from_words(text, expected):
    assert [to_text(c) for c in criteria_of(text, metrics=("throughput_tps",))] == expected


@pytest.mark.parametrize("text", ["", "it gets worse", "HLO no-op or a compile failure", "it is < 5", "tps under 99 % of the parent", "p50 > 3 and p99 > 4", "latency drops by 3 ms"])
def test_a_criterion_without_metric_comparison_and_threshold_is_refused_with_an_example(text):
    with pytest.raises(KbError, match="time_ms >= 95|joined with 'or'"):
        criteria_of(text)


@given(st.sampled_from(["a_ms", "loss", "tok/s", "gain"]), st.sampled_from(["<", "<=", ">", ">=", "=="]), st.floats(-1e9, 1e9).map(lambda v: float(f"{v:.9g}")))
def test_a_criterion_survives_being_written(metric, comparison, threshold):
    wanted = Falsification(metric, comparison, threshold)
    assert criteria_of(to_text(wanted)) == (wanted,)


def test_holds_compares_as_written():
    assert [holds(Falsification("x", c, 1.0), 1.0) for c in ("<", "<=", ">", ">=", "==")] == [False, True, False, True, True]


@pytest.mark.parametrize(("output", "metrics", "refused"), [
    (b"METRIC a=1\nMETRIC a=2\nnoise METRIC b=3\n", {"a": 2.0}, ()),
    (b"METRIC a=nan\nMETRIC b=-inf\nMETRIC c=1e400\n", {}, ("a=nan", "b=-inf", "c=1e400")),
    (b"METRIC a=1\nMETRIC a=nan\n", {}, ("a=nan",)),
    (b"METRIC p99/ms=1.5  \r\nMETRIC x=1_0\nMETRIC y=\n", {"p99/ms": 1.5}, ("x=1_0",)),
    (b"METRIC a=1", {"a": 1.0}, ()),
])
def test_metric_lines_are_read_as_the_convention_says(output, metrics, refused):
    assert metrics_in(output)[:2] == (metrics, refused)


@pytest.mark.parametrize(("output", "repeated"), [
    (b"METRIC a=1\nMETRIC a=1\nMETRIC b=2\n", ()),
    (b"METRIC a=100\nMETRIC b=2\nMETRIC a=1\n", (("a", (100.0, 1.0)),)),
    (b"".join(b"METRIC a=%d\n" % n for n in range(30)), (("a", (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 29.0)),)),
])
def test_a_metric_that_is_printed_with_several_values_is_told(output, repeated):
    assert metrics_in(output)[2] == repeated


def run(command: str, folder, *, timeout_s: float = 20):
    return measured(command, folder=folder, mark=str(folder), timeout_s=timeout_s, env={})


def test_a_benchmark_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    outcome = run("trap '' TERM; (setsid sleep 987 &); sleep 986 & sleep 985", tmp_path, timeout_s=0.5)
    assert outcome.timed_out and outcome.problem("a").startswith("it was ended after")
    assert not left_running("98[567]")


def test_a_benchmark_that_forks_and_returns_leaves_nothing_behind_and_is_not_waited_for(tmp_path):
    outcome = run("(setsid sleep 984 &); sleep 983 & echo METRIC a=1", tmp_path)
    assert outcome.metrics == (("a", 1.0),) and outcome.seconds < 10
    assert not left_running("98[34]")


def left_running(pattern: str) -> bool:
    import re
    from pathlib import Path

    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            pass
    return any(re.fullmatch(rf"sleep {pattern} ", line) for line in found)


def test_gigabytes_of_output_are_read_and_only_head_and_tail_kept(tmp_path):
    outcome = run("echo first; head -c 1000000000 /dev/zero; echo; echo METRIC a=3", tmp_path, timeout_s=120)
    assert outcome.metrics == (("a", 3.0),) and outcome.output_bytes > 1_000_000_000
    assert outcome.output.startswith(b"first") and outcome.output.endswith(b"METRIC a=3\n") and len(outcome.output) < 600_000


@pytest.mark.parametrize(("command", "problem"), [
    ("exit 3", "it exited with 3"), ("kill -9 $$", "it was ended by signal 9"), ("echo METRIC a=nan", "a=nan is no finite number"),
    ("true", "it exited with 0 but printed no `METRIC a=...` line"), ("echo METRIC b=1", "it exited with 0 but printed no `METRIC a=...` line"), ("echo METRIC a=1", ""),
])
def test_what_did_not_measure_says_why(command, problem, tmp_path):
    assert run(command, tmp_path).problem("a") == problem


@pytest.mark.parametrize(("value", "text"), [
    (7670.0, "7670"), (12345678.0, "12345678"), (-4503599627370496.0, "-4.5036e+15"), (1234567.8, "1234568"), (0.0, "0"), (91.20341, "91.2034"),
    (0.00012345678, "0.000123457"), (6.02e23, "6.02e+23"), (123456.78, "123457"), (float("inf"), "inf"),
])
def test_a_number_is_shown_with_every_digit_before_the_point(value, text):
    assert number_text(value) == text


def test_a_unit_stands_beside_a_value_unless_the_name_says_it():
    assert [unit_beside(*pair) for pair in (("tok/s/chip", "tok/s/chip"), ("time_ms", "ms"), ("time (ms)", "ms"), ("tps", "s"), ("latency", "ms"), ("mfu", ""))] == ["", "", "", "s", "ms", ""]


def test_the_documentation_shows_the_rules_as_they_are():
    from pathlib import Path

    page = (Path(__file__).parent.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    table = "| rule | verdict | when it speaks |\n|---|---|---|\n" + "\n".join(f"| `{r.name}` | {r.verdict} | {r.when} |" for r in RULES)
    assert page.split("<!-- rules -->")[1].split("<!-- /rules -->")[0].strip() == table
