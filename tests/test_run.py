"""The run record, quantities as people write them, and the published table of metric directions."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb import KbError
from kb.run.direction import direction_from, direction_of, is_resource
from kb.run.quantity import is_sentinel, to_float, to_quantity
from kb.run.record import (
    Check,
    Falsification,
    Lever,
    Metric,
    Origin,
    Outcome,
    Run,
    from_line,
    to_line,
)
from kb.run.status import outcome_of

LOWER = """latency latency_us step_time_ms val_bpb val/bpb train_loss val_rmse ttft_ms total_µs combined_µs ci_test_seconds memory_gb peak_vram_mb
migration_failures max_abs_diff smape ms/tok time_per_token sec_per_step s/iter runtime wall_s p99_ms perplexity cache_misses error_rate max_dd
joules_per_token peak_hbm_gib reconstruct_100_ns validationLoss"""
HIGHER = """tok/s tok_s output_tok_s tok_per_sec tps tokens_per_second t/s it/s samples/sec throughput_tflops mfu_percent cache_hit accuracy top1_acc roc_auc primary_f05 val_return pass@1 f1
speedup_vs_pytorch gb/s memory_bandwidth_gbps steps_per_sec sharpe acceptance_rate tokens_per_joule gpu_util decode_tok_s images_per_s"""
UNKNOWN = """score metric metric_after quality compression toffoli robustness_gap performance batch_size time_control memory_limit_gb n_ctx num_steps error_reduction fitness
cycle commit emitted_ops qubits"""


@pytest.mark.parametrize(("names", "wanted"), [(LOWER, "lower"), (HIGHER, "higher"), (UNKNOWN, None)])
def test_a_direction_is_read_from_the_name_or_left_open(names, wanted):
    assert [n for n in names.split() if direction_of(n) != wanted] == []


def test_a_peak_is_a_resource_where_it_is_one_of_memory():
    names = "peak peak_gb peakVRAM peak_mem_mb gpu_peak_gib peak_rss peak_tflops peak_throughput peak_bandwidth_gbps peak_acc"
    assert [n for n in names.split() if is_resource(n)] == ["peak", "peak_gb", "peakVRAM", "peak_mem_mb", "gpu_peak_gib", "peak_rss"]


def test_a_unit_in_brackets_does_not_hide_the_quantity():
    assert direction_of("latency (s)") == "lower"
    assert direction_of("psnr (dB)") == "higher"
    assert direction_of("VRAM (GB)") == "lower"


def test_a_configuration_says_its_direction_in_many_spellings():
    assert {direction_from(w) for w in ("lower", "lower_is_better", "minimize", "MIN", "down")} == {"lower"}
    assert {direction_from(w) for w in ("higher", "higher-is-better", "MAXIMIZE", "max", "up")} == {"higher"}
    assert direction_from("sideways") is None
    assert direction_from(None) is None


@pytest.mark.parametrize(("text", "value"), [
    ("1.5", 1.5), ("**275.14**", 275.14), ("`12`", 12.0), ("−6.0", -6.0), ("1,234.5", 1234.5), ("84.50%", 84.5), ("-7.85%%", -7.85), ("12.3 ms", 12.3),
    ("67.04 ± 0.19 t/s", 67.04), ("1.38x", 1.38), ("740K", 740_000.0), ("1e-3", 0.001), (".5", 0.5), ("+3", 3.0), ("0.000000", 0.0),
])
def test_a_number_is_read_as_people_write_it(text, value):
    assert to_quantity(text).value == value


@pytest.mark.parametrize("text", ["n/a", "TBD", "-", "—", "~1890", "47.x", "53.5 / 50.0", "3.25--4.31", "−6.0 (12%)", "94.4%*", "pending", "", "FAIL", "nan",
                                  "inf", "1e999", "0x10", "1.2.3"])
def test_what_is_no_plain_number_is_none(text):
    assert to_quantity(text) is None


def test_a_spread_and_a_unit_stay_with_their_number():
    quantity = to_quantity("**67.04 ± 0.19 t/s**")
    assert (quantity.value, quantity.spread, quantity.unit) == (67.04, 0.19, "t/s")


def test_json_numbers_must_be_finite_and_booleans_are_none():
    assert to_float(float("nan")) is None
    assert to_float(float("inf")) is None
    assert to_float(True) is None
    assert to_float(10**400) is None
    assert to_float("3.5 ms") == 3.5


@pytest.mark.parametrize(("raw", "outcome"), [
    ("keep", Outcome.KEPT), ("KEEP", Outcome.KEPT), ("**keep**", Outcome.KEPT), ("keep (new best)", Outcome.KEPT), ("kept", Outcome.KEPT),
    ("discard", Outcome.DISCARDED), ("REVERT", Outcome.DISCARDED), ("rejected", Outcome.DISCARDED), ("KILL", Outcome.DISCARDED),
    ("discard - OOM", Outcome.DISCARDED), ("OOM", Outcome.CRASHED), ("NO_JSON", Outcome.CRASHED), ("timeout", Outcome.CRASHED),
    ("checks_failed", Outcome.CHECKS_FAILED), ("Checks Failed", Outcome.CHECKS_FAILED), ("ok", Outcome.OTHER), ("inconclusive", Outcome.OTHER),
    ("parked", Outcome.OTHER), ("not kept", Outcome.DISCARDED), ("not_kept", Outcome.DISCARDED), ("screen_discard", Outcome.DISCARDED), ("保留✔✔", Outcome.KEPT),
    ("回滚(交易<10)", Outcome.DISCARDED), ("基线", Outcome.OTHER), ("keepalive tuning", Outcome.OTHER), ("", Outcome.OTHER),
])
def test_a_status_is_read_whatever_its_spelling_and_unknown_is_no_win(raw, outcome):
    assert outcome_of(raw) is outcome


def test_a_sentinel_is_told_by_the_status_before_the_value():
    assert is_sentinel(0.0, outcome=Outcome.CRASHED, direction="lower", counted=True)
    assert is_sentinel(999.0, outcome=Outcome.CRASHED, direction="lower", counted=True)
    assert is_sentinel(-999.0, outcome=Outcome.DISCARDED, direction=None, counted=True)
    assert not is_sentinel(999.0, outcome=Outcome.KEPT, direction="lower", counted=False)
    assert not is_sentinel(0.0, outcome=Outcome.KEPT, direction="lower", counted=True)
    assert not is_sentinel(75854.0, outcome=Outcome.CRASHED, direction="lower", counted=False)


WORDS = st.text(max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
METRICS = st.builds(Metric, WORDS, st.none() | NUMBERS, WORDS, st.sampled_from(["lower", "higher", None]), st.none() | st.integers(0, 9), st.none() | NUMBERS,
                    WORDS)
RUNS = st.builds(
    Run, st.builds(Origin, WORDS, st.integers(0, 10**6), WORDS), format=WORDS, label=WORDS, segment=st.integers(0, 5), status=WORDS,
    outcome=st.none() | st.sampled_from(list(Outcome)), description=WORDS, primary=WORDS, metrics=st.lists(METRICS, max_size=3).map(tuple),
    levers=st.lists(st.builds(Lever, WORDS, WORDS), max_size=2).map(tuple), falsification=st.none() | st.builds(Falsification, WORDS, WORDS, NUMBERS),
    checks=st.lists(st.builds(Check, WORDS, WORDS), max_size=2).map(tuple),
    models=st.lists(WORDS, max_size=2).map(tuple), tokens=st.none() | st.integers(0, 9),
    notes=st.lists(st.tuples(WORDS, WORDS), max_size=2).map(tuple),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(RUNS)
def test_a_run_written_as_a_line_is_read_back_the_same(run):
    assert from_line(to_line(run)) == run


def test_a_damaged_record_is_refused_with_its_beginning():
    with pytest.raises(KbError, match="not a run record"):
        from_line('{"origin": {"file": "x"')
