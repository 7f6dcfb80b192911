"""Logs of other loops: every irregularity met so far, in made-up files; the real ones against their oracle."""

import json
import math
import subprocess
from pathlib import Path

import pytest

from kb import KbError
from kb.formats import registry
from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import located
from kb.formats.summary import summary, to_json, to_text
from kb.run.record import Lever, Metric, Outcome, Run

TAB = "\t"


def tsv(*rows):
    return "\n".join(TAB.join(r.split("|")) for r in rows) + "\n"


def jsonl(*rows):
    return "".join(json.dumps(r) + "\n" for r in rows)


def told(path: Path, name: str = "auto", **asked):
    place = located(path, name)
    return json.loads(to_json(summary(place, place.events(Ask(**asked)))))


def runs_of(path: Path, name: str = "auto", **asked) -> list[Run]:
    return [e for e in located(path, name).events(Ask(**asked)) if isinstance(e, Run)]


@pytest.fixture
def log(tmp_path):
    """A function that writes a log of one name and gives its path."""

    def write(name: str, content: str | bytes) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return write


def counts(said):
    return tuple(said[k] for k in ("runs", "kept", "discarded", "crashed", "checks_failed", "other"))


KARPATHY = tsv("commit|val_bpb|memory_gb|status|description", "a1b2c3d|0.997900|44.0|keep|baseline", "c3d4e5f|1.005000|44.0|discard|switch to GeLU",
               "d4e5f6a|0.000000|0.0|crash|double model width (OOM)", "e4e5f6a|0.980000|44.0|keep|lr=0.04")


def test_one_object_without_a_status_or_a_number_is_settings_and_no_run(log):
    for value in ({"model": "x", "lr": 0.001, "epochs": 3, "latency_ms": 12}, {"bytes": 12034, "source_url": "u"}, {"beam_size": 4, "reimplement_failed": False}):
        assert told(log("meta.json", json.dumps(value, indent=1)))["runs"] == 0
    said = told(log("settings.yaml", "lr: 0.1\nms: 12\n"))
    assert said["runs"] == 0 and not any("header" in w for w in said["warnings"])
    assert told(log("run.json", json.dumps({"run": 3, "status": "keep", "latency_ms": 12}, indent=1)))["kept"] == 1


def test_runs_without_a_metric_in_common_say_so(log):
    said = told(log("log.jsonl", jsonl({"id": 1, "verdict": "keep", "change": "a"}, {"id": 2, "verdict": "rejected", "change": "b"})))
    assert (said["runs"], said["best"], any("no metric that the runs have in common" in w for w in said["warnings"])) == (2, None, True)


# ---- results.tsv


def test_a_crash_with_zeros_is_never_the_best_of_a_lower_is_better_log(log):
    said = told(log("results.tsv", KARPATHY))
    assert counts(said) == (4, 2, 1, 1, 0, 0)
    assert (said["direction"], said["direction_source"], said["best"]) == ("lower", "name", {"value": 0.98, "line": 5})
    crash = runs_of(log("results.tsv", KARPATHY))[2]
    assert [m.value for m in crash.metrics] == [None, None]
    assert crash.metrics[0].raw == "0.000000"


@pytest.mark.parametrize("change", [
    lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t, lambda t: t.rstrip("\n"), lambda t: "\n\n" + t, lambda t: t.replace("\n", "\n\n"),
    lambda t: t.encode("utf-16"), lambda t: t.replace("\n", "\r"), lambda t: "# written by the loop\n" + t, lambda t: t.replace("keep", "KEEP").replace("discard", "**Discard**"),
    lambda t: t.replace("status", "Status").replace("val_bpb", "Val_BPB"),
], ids=["crlf", "bom", "no last newline", "blank first", "blank between", "utf-16", "cr alone", "comment", "case", "header case"])
def test_line_ends_marks_and_case_change_nothing(log, change):
    said = told(log("results.tsv", change(KARPATHY)))
    assert counts(said) == (4, 2, 1, 1, 0, 0)
    assert said["best"]["value"] == 0.98


def test_columns_may_stand_in_any_order_and_under_other_names(log):
    said = told(log("x.tsv", tsv("verdict|notes|tok/s|exp", "reverted|worse|10.0|1", "kept|better|12.5|2", "timed out|-|0|3")))
    assert counts(said) == (3, 1, 1, 1, 0, 0)
    assert said["best"] == {"value": 12.5, "line": 3}


def test_a_status_column_is_known_by_its_words_not_by_its_name(log):
    rows = ["id|latency_us|correctness|description", "0|15.1|PASS|base", "1|12.0|REVERT|x", "2|11.0|KEEP|y", "3|9|FAIL|z", "4|11.5|KILL|w", "5|12|DEFERRED|v"]
    said = told(log("results.tsv", tsv(*rows)))
    assert counts(said) == (6, 2, 2, 1, 0, 1)
    assert said["best"]["value"] == 11.0
    assert said["statuses"]["PASS"] == 1


def test_a_column_of_decisions_goes_before_one_of_how_the_job_ended(log):
    said = told(log("results.tsv", tsv("exp|status|latency_ms|decision|notes", "1|ok|3.0|keep|a", "2|ok|2.0|revert|b", "3|crash|0|-|c", "4|ok|2.5|keep|d")))
    assert counts(said) == (4, 2, 1, 1, 0, 0)
    assert said["best"]["value"] == 2.5


def test_correct_on_every_row_is_a_check_and_no_verdict(log):
    said = told(log("results.tsv", tsv("commit|latency_ms|correct|notes", "abcdef1|3.0|OK|", "abcdef2|2.0|OK|")))
    assert (said["runs"], said["kept"], said["best"]) == (2, None, None)
    assert any("no status column" in w for w in said["warnings"])


def test_ok_is_measured_but_no_win(log):
    said = told(log("sweep.tsv", tsv("exp_id|tok_s|label|status|notes", "1|0.000|a|crash|oom", "2|6.5|b|ok|fine", "3|9.5|c|ok|fine", "4|9|d|OOM|")))
    assert counts(said) == (4, 0, 0, 2, 0, 2)
    assert said["best"] is None
    assert said["direction"] == "higher"


def test_a_direction_that_the_name_does_not_say_is_asked_for(log):
    text = tsv("commit|score|status|description", "abc1234|3|keep|a", "abc1235|5|keep|b", "abc1236|-999.000|discard|gate")
    said = told(log("results.tsv", text))
    assert (said["direction"], said["best"]) == (None, None)
    assert any("--direction" in w for w in said["warnings"])
    assert told(log("results.tsv", text), direction="higher")["best"] == {"value": 5.0, "line": 3}
    assert told(log("results.tsv", text), direction="lower")["best"] == {"value": 3.0, "line": 2}


def test_a_file_without_header_loses_no_row_and_names_no_metric(log):
    rows = ["HEAD|big-4bit|397.0|3.30|keep|first words", "HEAD|big-4bit|397.0|5.29|discard|warm cache", "c222a4f|big-2bit|397.0|2.79|keep|blas path"]
    said = told(log("results.tsv", tsv(*rows)))
    assert counts(said) == (3, 2, 1, 0, 0, 0)
    assert (said["best"], said["direction"]) == (None, None)
    assert any("no header" in w for w in said["warnings"])
    assert runs_of(log("results.tsv", tsv(*rows)))[0].description == "first words"


def test_a_header_that_does_not_fit_the_rows_is_not_believed(log):
    rows = [f"{i}|{20 + i}|7595|q8_0|True|run{i}|{'ok' if i % 3 else 'crash'}|note {i}" for i in range(1, 10)]
    said = told(log("results.tsv", tsv("exp_id|model_file|n_gpu|batch_size|ubatch|type_k|flash|n_ctx|tok_s|notes", *rows)))
    assert counts(said) == (9, 0, 0, 3, 0, 6)
    assert said["direction"] is None
    assert any("names 10 columns, the rows have 8" in w for w in said["warnings"])


def test_a_shuffled_header_of_the_right_length_is_not_believed_either(log):
    rows = [f"{i}|{20 + i}.5|q8_0|keep|text {i}" for i in range(1, 6)]
    said = told(log("results.tsv", tsv("exp|type_k|status|tok_s|notes", *rows)))
    assert (said["kept"], said["best"]) == (5, None)
    assert any("does not fit" in w for w in said["warnings"])


def test_lines_that_continue_a_description_are_no_runs(log):
    text = KARPATHY.replace("switch to GeLU", "switch to GeLU\nbecause it is smooth\n\nand so on")
    said = told(log("results.tsv", text))
    assert counts(said) == (4, 2, 1, 1, 0, 0)
    assert runs_of(log("results.tsv", text))[1].description == "switch to GeLU because it is smooth and so on"



def test_yes_and_no_below_kept_are_decisions(log):
    said = told(log("results.tsv", tsv("experiment|when_utc|score|kept|mutation|elapsed_sec", "1|2026-01-02T03:04:05.123456|7.5|True|alpha: 1 -> 2|5.4",
                                       "2|2026-01-02T03:05:05.5|7.1|False|beta: 3 -> 4|4.0", "3|2026-01-02T03:06:05.5|7.9|True|gamma on|4.0"), ), metric="")
    assert counts(said) == (3, 2, 1, 0, 0, 0)
    first = runs_of(log("results.tsv", tsv("exp|when_utc|loss|accepted|mutation", "1|2026-01-02T03:04:05Z|7.5|yes|alpha", "2|2026-01-02T03:04:06Z|7.9|no|beta")))[0]
    assert (first.status, first.description, first.created) == ("accepted: yes", "alpha", "2026-01-02T03:04:05Z")


def test_a_remark_in_brackets_leaves_the_figure_but_an_estimate_is_none(log):
    said = runs_of(log("results.tsv", tsv("name|elo|status|exp_desc|notes", "a|-115 [-187, -44]|baseline|start|of day", "b|-108 (+7)|keep|deeper|won",
                                          "c|-90 (estimated)|discard|wider|lost", "d|-80 (12%) (x)|discard|both|lost")))
    assert [r.value for r in said] == [-115, -108, None, None]
    assert (said[1].description, said[1].reason) == ("deeper", "won")


def test_what_failed_tells_a_crash_from_a_failed_gate(log):
    said = told(log("results.tsv", tsv("commit|tok_s|status|description", "a|10|keep|base", "b|0|server_failed|int4", "c|0|compile_error|fuse", "d|12|validation_failed|fast",
                                       "e|13|fail (tests)|faster", "f|9|not kept|slow", "g|8|not_failed|odd")))
    assert counts(said) == (7, 1, 1, 2, 2, 1)


def test_a_column_without_a_header_is_one_of_statuses_by_a_few_words(log):
    rows = [f"{i}|2026-03-2{i}T05:00|shape|{30 + i}.5|{status}|tried the {word} way" for i, status, word in
            ((1, "REVERT", "first"), (2, "TARGET_MET", "second"), (3, "STRETCH", "third"), (4, "REVERT", "fourth"), (5, "PARTLY", "fifth"))]
    assert counts(told(log("log.tsv", tsv(*rows)))) == (5, 0, 2, 0, 0, 3)


def test_an_aim_that_calls_itself_so_goes_before_any_other(log):
    said = told(log("results.tsv", tsv("id|roc_auc|primary_score|status|error")))
    assert (said["runs"], said["segments"][0]["metric"]) == (0, "primary_score")
    pair = told(log("r.tsv", tsv("run|proposals|verify_before|verify_after|decision|finding", "1|40|2.0|1.8|keep; it helps|a", "2|12|1.8|1.9|discard; it does not|b")))
    assert (pair["segments"][0]["metric"], pair["kept"], pair["discarded"]) == ("verify_after", 1, 1)


def test_a_status_says_first_what_was_done(log):
    rows = ["experiment|val_bpb|status|timestamp", "base|1.5|baseline|2026-03-19T00:49:23-04:00", "wide|1.6|reverted_worse_too_big|2026-03-19T00:59:23-04:00",
            "oom|FAILED|reverted_triton_oom|2026-03-19T00:59:43-04:00", "cosine|1.4|kept_best|2026-03-19T01:59:43-04:00"]
    assert counts(told(log("results.tsv", tsv(*rows)))) == (4, 1, 2, 0, 0, 1)


def test_marks_of_a_merge_are_no_rows_and_no_text(log):
    marked = KARPATHY.replace("c3d4e5f", "<<<<<<< HEAD\nc3d4e5f").replace("d4e5f6a", "=======\nd4e5f6a") + ">>>>>>> other\n"
    said = told(log("results.tsv", marked))
    assert (counts(said), runs_of(log("results.tsv", marked))[0].description) == (counts(told(log("k.tsv", KARPATHY))), "baseline")
    assert any("a merge left its marks" in w for w in said["warnings"])
    both = jsonl(CONFIG, entry(1, 9)) + "<<<<<<< HEAD\n" + jsonl(entry(2, 8)) + "=======\n" + jsonl(entry(2, 7)) + ">>>>>>> other\n"
    assert counts(told(log("autoresearch.jsonl", both))) == (3, 3, 0, 0, 0, 0)


def test_rows_of_figures_from_another_writer_do_not_run_into_a_description(log):
    text = tsv("commit|gens_per_s|status|description", "2026-03-26 13:10:21|20274|112.63|180.0|true|null|", "abc1234|112.6|keep|first words",
               "2026-03-26 13:14:21|20274|112.63|180.0|true|null|", "abc1235|99.0|discard|second words")
    runs = runs_of(log("results.tsv", text))
    assert [(r.value, r.description) for r in runs] == [(112.6, "first words"), (99.0, "second words")]


def test_trials_in_a_table_are_a_search_whose_best_is_of_all_that_ran(log):
    text = ("number,latency_ms,datetime_start,params_block_m,params_loss_scale,state\n0,12.5,2026-01-02 03:04:05.1,64,4,COMPLETE\n1,9.75,2026-01-02 03:05:05.1,128,8,COMPLETE\n"
            "2,,2026-01-02 03:06:05.1,256,8,FAIL\n3,9.0,2026-01-02 03:06:05.1,32,8,COMPLETE\n")
    said = told(log("trials.csv", text))
    assert (said["runs"], said["kept"], said["crashed"], said["best"]) == (4, None, 1, {"value": 9.0, "line": 5})
    assert runs_of(log("trials.csv", text))[0].levers == (Lever("block_m", "64"), Lever("loss_scale", "4"))
    assert not any("could be meant" in w for w in said["warnings"])


def test_a_literal_backslash_t_is_read_as_a_tab(log):
    said = told(log("results.tsv", KARPATHY + "e5f6a7b\\t0.000000\\t0.0\\tcrash\\tout of memory\n"))
    assert counts(said) == (5, 2, 1, 2, 0, 0)


def test_quotes_and_pipes_are_plain_characters(log):
    text = tsv("commit|val_loss|status|description") + 'abc1234\t3.0\tkeep\t"the best way\nabc1235\t2.0\tkeep\tuse a|b "and" c"\n"abc1236\t2.5\tdiscard\tx\n'
    assert counts(told(log("results.tsv", text))) == (3, 2, 1, 0, 0, 0)


def test_rows_with_missing_or_surplus_cells_are_read_where_the_status_still_stands(log):
    text = KARPATHY + "f1a2b3c\t1.5\t44.0\tdiscard\nf2a2b3c\t1.4\t44.0\tdiscard\ttabs\tin\ttext\n"
    said = told(log("results.tsv", text))
    assert counts(said) == (6, 2, 3, 1, 0, 0)
    assert runs_of(log("results.tsv", text))[5].description == "tabs in text"


def test_the_header_again_is_no_run_and_another_header_opens_a_segment(log):
    header = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    assert counts(told(log("results.tsv", KARPATHY + header + "f1a2b3c\t0.97\t44.0\tkeep\tx\n"))) == (5, 3, 1, 1, 0, 0)
    said = told(log("results.tsv", KARPATHY + tsv("commit|tok_s|status|description", "aaaaaaa|10|keep|x", "bbbbbbb|12|keep|y")))
    assert [(s["metric"], s["direction"], (s["best"] or {}).get("value")) for s in said["segments"]] == [("val_bpb", "lower", 0.98), ("tok_s", "higher", 12.0)]
    assert said["best"] is None


def test_identical_lines_stay_runs_of_their_own(log):
    said = told(log("results.tsv", KARPATHY + "e4e5f6a\t0.980000\t44.0\tkeep\tlr=0.04\n" * 2))
    assert (said["runs"], said["kept"], said["best"]["line"]) == (6, 4, 5)


def test_a_header_followed_by_a_traceback_holds_no_runs(log):
    said = told(log("autotune.tsv", tsv("B|H|BLOCK_H|num_warps|latency_us") + 'Traceback (most recent call last):\n  File "<string>"\n' * 3))
    assert (said["runs"], said["direction"]) == (0, "lower")
    assert any("0 runs" in w for w in said["warnings"])


def test_a_column_of_spreads_alone_is_that_of_the_column_before_it(log):
    first, second = runs_of(log("results.tsv", tsv("commit|ms|stddev|mb|std|status|description", "a1b2c3d|12.5|.1|8|.5|keep|baseline", "b1b2c3d|11.5|.2|9|.25|keep|tile 64")))
    assert [(m.name, m.value, m.stddev) for m in second.metrics] == [("ms", 11.5, 0.2), ("mb", 9.0, 0.25)] and first.metrics[0].stddev == 0.1


def test_cells_that_are_no_numbers_are_kept_as_written(log):
    rows = [f"exp{i}|{v}|keep|x" for i, v in enumerate(["~1890", "n/a", "TBD", "1,900.5", "**1,950**", "1800 ± 20"])]
    said = told(log("results.tsv", tsv("exp_id|tps|status|description", *rows)))
    assert said["best"] == {"value": 1950.0, "line": 6}
    last = runs_of(log("results.tsv", tsv("exp_id|tps|status|description", *rows)))
    assert (last[0].metrics[0].raw, last[5].metrics[0].stddev) == ("~1890", 20.0)


def test_settings_become_levers_and_resources_are_never_the_aim(log):
    text = tsv("exp|peak_vram_mb|tok_per_sec|n_batch|flash_attn|config|status|description", "1|7700|6.3|128|True|seq=1024|keep|x",
               "2|7701|6.1|256|False|seq=2048,bf16|discard|y")
    first = runs_of(log("results.tsv", text))[0]
    assert first.primary == "tok_per_sec"
    assert next(m.unit for m in first.metrics if m.name == "tok_per_sec") == "tok/sec"
    assert first.levers == (Lever("n_batch", "128"), Lever("flash_attn", "True"), Lever("seq", "1024"))


def test_the_state_before_the_costs_and_the_training_figure_are_never_the_aim(log):
    for header, primary in (("iteration|hypothesis|baseline_latency_ms|measured_value|delta_pct|verdict|commit_sha|notes", "measured_value"),
                            ("commit|estimated_cost_usd|screen_score|status|description", "screen_score"),
                            ("round|train_loss|val_loss|status|description", "val_loss"), ("commit|memory_gb|val_acc|status|description", "val_acc"),
                            ("commit|elapsed_s|latency_ms|quality_score|status|description", "latency_ms")):
        rows = ["|".join("keep" if c in ("verdict", "status") else "abc1234" if c.startswith("commit") else "text" if c in ("hypothesis", "notes", "description") else "1.5"
                         for c in header.split("|"))] * 3
        assert runs_of(log("results.tsv", tsv(header, *rows)))[0].primary == primary


def test_a_hypothesis_column_is_the_hypothesis_and_quoted_cells_lose_their_quotes(log):
    text = tsv("run|hypothesis|latency_ms|config|status|description", '1|smaller tiles fit L2|3.5|"{""tile"": 8, ""unroll"": 2}"|keep|"say ""tile"" it"')
    run, = runs_of(log("results.tsv", text))
    assert (run.hypothesis, run.description) == ("smaller tiles fit L2", 'say "tile" it')
    assert run.levers == (Lever("tile", "8"), Lever("unroll", "2"))



def test_commas_separate_where_no_tab_does(log):
    text = 'commit,val_loss,status,description\nabc1234,3.0,keep,"first, with comma"\nabc1235,2.0,discard,second\n'
    assert counts(told(log("results.csv", text))) == (2, 1, 1, 0, 0, 0)


def test_bytes_that_are_no_utf8_lose_no_row(log):
    said = told(log("results.tsv", KARPATHY.encode().replace(b"GeLU", b"Ge\xff\xfeLU")))
    assert counts(said) == (4, 2, 1, 1, 0, 0)
    assert any("UTF-8" in w for w in said["warnings"])


def test_zero_can_be_reached_where_the_metric_counts_failures(log):
    text = tsv("commit|failures|status|description", "abc1234|5|keep|a", "abc1235|0|keep|b")
    assert told(log("results.tsv", text))["best"] == {"value": 0.0, "line": 3}


# ---- pi-autoresearch and its kin

CONFIG = {"type": "config", "name": "s", "metricName": "total_ms", "metricUnit": "ms", "bestDirection": "lower"}


def entry(number, metric, status="keep", **more):
    return {"run": number, "commit": "abc1234", "metric": metric, "metrics": {}, "status": status, "description": f"d{number}", "timestamp": 1773693310093,
            "segment": 0, **more}


def test_status_is_read_before_the_metric(log):
    rows = [CONFIG, entry(1, 10), entry(2, 1, "crash"), entry(3, 2, "checks_failed"), entry(4, 0, "crash"), entry(5, 9), entry(6, 3, "discard")]
    said = told(log("autoresearch.jsonl", jsonl(*rows)))
    assert counts(said) == (6, 2, 1, 2, 1, 0)
    assert said["best"] == {"value": 9.0, "line": 6}
    assert runs_of(log("autoresearch.jsonl", jsonl(*rows)))[1].value == 1.0


def test_a_config_line_after_a_run_opens_a_segment_whatever_the_field_says(log):
    other = {**CONFIG, "metricName": "tok_s", "bestDirection": "higher"}
    rows = [CONFIG, CONFIG, entry(1, 10), entry(2, 9), other, entry(1, 50), entry(2, 60), other]
    said = told(log("autoresearch.jsonl", jsonl(*rows)))
    assert [(s["metric"], s["runs"], (s["best"] or {}).get("value")) for s in said["segments"]] == [("total_ms", 2, 9.0), ("tok_s", 2, 60.0), ("tok_s", 0, None)]
    assert (said["best"], said["direction"]) == (None, None)


def test_an_unknown_status_is_no_keep(log):
    said = told(log("autoresearch.jsonl", jsonl(CONFIG, entry(1, 5, "ok"), entry(2, 4, "investigated"), {k: v for k, v in entry(3, 3).items() if k != "status"})))
    assert counts(said) == (3, 0, 0, 0, 0, 3)
    assert any("without a status" in w for w in said["warnings"])


def test_damaged_lines_cost_only_themselves(log):
    text = jsonl(CONFIG, entry(1, 10)) + '{"run":2,"metric":8,"status":"keep","delta":+3}\n' + "not json\n" + '{"run":3,"metric":7,"status":"keep",}\n'
    text += '{"run":4,"metric":NaN,"status":"keep"}\n{"run":5,"metric":Infinity,"status":"keep"}{"run":6,"metric":6,"status":"keep"}\n[1,2]\n"x"\n{"run":7,"me'
    said = told(log("autoresearch.jsonl", text))
    assert said["runs"] == 6
    assert said["best"]["value"] == 6.0
    assert sum("skipped" in w for w in said["warnings"]) == 2
    assert any("mended" in w for w in said["warnings"])


def test_free_form_fields_survive_as_notes(log):
    asi = {"hypothesis": "h", "rollback_reason": "r", "next_action_hint": "n", "odd": {"a": [1, True]}, "flag": False}
    run, = runs_of(log("log.jsonl", jsonl(CONFIG, entry(1, 5, asi=asi, metrics={"parse_ms": 3, "total_ms_stddev": 0.2, "ok": True}, cost=3, iterationTokens=7))))
    assert (run.hypothesis, run.reason, run.next_step, run.tokens) == ("h", "r", "n", 7)
    assert ("asi.odd", '{"a": [1, true]}') in run.notes
    assert ("cost", "3") in run.notes
    assert run.metrics == (Metric("total_ms", 5.0, "ms", "lower", stddev=0.2), Metric("parse_ms", 3.0, "ms", "lower"))
    assert run.created == "2026-03-16T20:35:10Z"


def test_without_config_the_metric_beside_tells_its_name_but_values_never_tell_a_direction(log):
    rows = [entry(6, 10, metrics={"latency_ms": 10, "x": 1}), entry(6, 9, metrics={"latency_ms": 9, "x": 2})]
    assert told(log("a.jsonl", jsonl(*rows)))["best"] == {"value": 9.0, "line": 2}
    said = told(log("b.jsonl", jsonl(entry(1, 10), entry(2, 9))))
    assert (said["direction"], said["best"], said["runs"]) == (None, None, 2)


def test_a_config_without_a_direction_is_read_as_the_tool_itself_reads_it(log):
    rows = [entry(1, 10), entry(2, 9)]
    said = told(log("a.jsonl", jsonl({"type": "config", "name": "x", "metricName": "toffoli"}, *rows)))
    assert (said["direction"], said["direction_source"], said["best"]["value"]) == ("lower", "format", 9.0)
    said = told(log("b.jsonl", jsonl({"type": "config", "name": "x", "metricName": "tok/s"}, *rows)))
    assert (said["direction"], said["direction_source"], said["best"]["value"]) == ("higher", "name", 10.0)


def test_interlab_spells_it_in_snake_case(log):
    config = {"type": "config", "name": "x", "metric_name": "reconstruct_ns", "metric_unit": "ns", "direction": "lower_is_better"}
    rows = [{"type": "result", "decision": d, "description": "x", "metric_value": v, "commit_hash": "abc"} for d, v in (("keep", 5.0), ("discard", 6.0), ("keep", 4.0))]
    said = told(log("results.jsonl", jsonl(config, *rows, {"type": "result", "decision": "crash", "description": "boom"})))
    assert (said["format"], counts(said), said["best"]["value"]) == ("pi", (4, 2, 1, 1, 0, 0), 4.0)


def test_another_schema_under_a_known_name_is_read_by_meaning(log):
    rows = [{"round": 1, "experiment": "a", "verdict": "keep", "metric": "add 21->19ms"}, {"round": 2, "kind": "revert", "change": "b", "before_us": 17},
            {"round": 3, "kind": "investigated", "title": "c", "kept": False}]
    said = told(log(".auto/log.jsonl", jsonl(*rows)))
    assert counts(said) == (3, 1, 1, 0, 0, 1)
    assert (said["format"], said["direction"]) == ("jsonl", None)


def test_objects_with_a_name_or_a_date_are_runs_beside_a_figure_that_most_have(log):
    said = runs_of(log("log.jsonl", jsonl({"approach": "v1", "correct": True, "gates": 135}, {"approach": "v2", "correct": False, "gates": 90, "notes": "carry lost"},
                                          {"approach": "v3", "correct": True, "gates": 84}, {"note": "a remark"})))
    assert [(r.description, r.value, r.outcome) for r in said] == [("v1", 135, None), ("v2", 90, "checks_failed"), ("v3", 84, None)]
    assert [c.outcome for c in said[1].checks] == ["failed"]
    dated = told(log("runs.jsonl", jsonl({"timestamp": "2026-04-26T16:15:38Z", "val_bpb": 10.2, "steps": 5}, {"timestamp": "2026-04-27T16:15:38Z", "val_bpb": 9.9, "steps": 6})))
    assert (dated["runs"], dated["kept"], dated["direction"]) == (2, None, "lower")
    answered = told(log("runs.jsonl", jsonl({"num": 1, "accepted": True, "latency_ms": 5}, {"num": 2, "accepted": False, "latency_ms": 6})))
    assert (answered["kept"], answered["discarded"], answered["best"]) == (1, 1, {"value": 5.0, "line": 1})


def test_what_came_after_a_change_is_what_it_is_judged_by(log):
    said = runs_of(log("experiments.jsonl", jsonl(
        {"experiment_id": "xor", "change_summary": "detect it", "metrics_before": {"total_runtime_s": 50.2}, "metrics_after": {"total_runtime_s": 40.8}, "decision": "keep"},
        {"experiment_id": "bias", "change_summary": "seed it", "metrics_before": {"total_runtime_s": 40.8}, "metrics_after": {"total_runtime_s": 44.0}, "decision": "discard"})))
    assert [(r.description, r.value, r.outcome) for r in said] == [("detect it", 40.8, "kept"), ("seed it", 44.0, "discarded")]


def test_a_job_that_exits_with_an_error_has_crashed_and_what_is_held_out_is_the_aim(log):
    rows = [{"name": "base", "elapsed_s": 25, "exit_code": 0, "tok_s": 425, "val_loss": 2.5, "extra_env": {}}, {"name": "deep", "elapsed_s": 35, "exit_code": 0, "tok_s": 325, "val_loss": 2.4, "extra_env": {"LAYERS": "13"}},
            {"name": "wide", "elapsed_s": 9, "exit_code": -6, "tok_s": 17, "extra_env": {"DIM": "9"}}]
    file = log("results.jsonl", jsonl(*rows))
    said = told(file)
    assert (said["runs"], said["kept"], said["crashed"], said["segments"][0]["metric"]) == (3, None, 1, "val_loss")
    assert any("tok_s could be meant" in w for w in said["warnings"])
    assert not any("depth" in w for w in told(log("rare.jsonl", jsonl(*rows[:2], {**rows[2], "but depth ms": 4})))["warnings"])  # of one run alone
    assert runs_of(file)[1].levers == (Lever("LAYERS", "13"),)
    sweep = [{"encoder": "small", "seed": n, "val_loss": 2 - n / 10, "test_auc": 0.6, "n_train": 84} for n in range(3)]
    assert (told(log("sweep.jsonl", jsonl(*sweep)))["runs"], told(log("notes.jsonl", jsonl({"a": 1}, {"b": 2})))["runs"]) == (3, 0)


def test_samples_beside_a_metric_give_its_spread(log):
    first = runs_of(log("autoresearch.jsonl", jsonl(CONFIG, entry(1, 10.0, samples=[9.0, 10.0, 11.0], asi={"outcome": "flat", "failure_mode": "none", "rollback_reason": "noise"}))))[0]
    assert (first.metrics[0].n, first.metrics[0].stddev, first.reason) == (3, 1.0, "noise")
    assert ("asi.failure_mode", "none") in first.notes


def test_trials_of_a_search_have_settings_and_a_best_of_all_that_ran(log):
    rows = [{"trial_number": i, "params": {"lr": i / 10}, "results": {"val_bpb": 2 - i / 10, "peak_vram_mb": 10, "status": "success"}} for i in (1, 2, 3)]
    rows.append({"trial_number": 4, "params": {"lr": 9}, "results": {"val_bpb": 0.0, "status": "oom"}})
    said = told(log("x.results.jsonl", jsonl(*rows)))
    assert (said["format"], said["runs"], said["crashed"], said["best"]["line"]) == ("jsonl", 4, 1, 3)
    assert runs_of(log("x.results.jsonl", jsonl(*rows)))[0].levers == (Lever("lr", "0.1"),)


def test_a_loops_folder_is_one_log_by_the_tools_own_precedence(log, tmp_path):
    log("loop/autoresearch.jsonl", jsonl(CONFIG, entry(1, 99)))
    log("loop/results.tsv", KARPATHY)
    assert told(tmp_path / "loop")["runs"] == 1
    assert told(tmp_path / "loop", "tsv")["runs"] == 4
    log("loop/.auto/log.jsonl", jsonl(CONFIG, entry(1, 10), entry(2, 9)))
    assert told(tmp_path / "loop")["runs"] == 2


def test_kept_commits_are_read_from_their_trailers(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words], check=True, capture_output=True)

    git("init", "-q")
    for message in ("start", 'inline the loop\n\nResult: {"status":"keep","total_ms":9.5,"parse_ms":2}', 'more\n\nResult: {"status":"keep","total_ms":9}',
                    "odd\n\nResult: {broken"):
        git("commit", "-q", "--allow-empty", "-m", message)
    said = told(tmp_path, "pi")
    assert (said["format"], counts(said), said["best"]["value"]) == ("pi-git", (2, 2, 0, 0, 0, 0), 9.0)
    assert runs_of(tmp_path, "pi-git")[0].description == "inline the loop"


# ---- job logs, tables, evolution

JOBS = """(exp, pid=12) bench starts
(exp, pid=12) METRIC time_s=19.0
(exp, pid=12) =========================================
(exp, pid=12) EXPERIMENT: exp-03
(exp, pid=12) DESC: fuse loops (paper: Author2024)
(exp, pid=12) METRIC time_s=18.2
(exp, pid=12) METRIC time_s_stddev=0.1
(exp, pid=12) CHECKS_STATUS: passed
(exp, pid=12) EXPERIMENT_ID: exp-03
(exp, pid=12) EXPERIMENT_STATUS: done
EXPERIMENT: exp-04
DESC: tile
CHECKS_STATUS: failed (exit 3)
METRIC time_s=12.0
EXPERIMENT_ID: exp-04
EXPERIMENT_STATUS: checks_failed
EXPERIMENT: exp-05
EXPERIMENT_ID: exp-05
EXPERIMENT_STATUS: crash
EXPERIMENT_ERROR: ran out of memory
EXPERIMENT: exp-06
DESC: still going
"""


def test_job_logs_give_one_run_an_experiment_and_the_last_metric_counts(log):
    said = told(log("sky.log", JOBS))
    assert (said["format"], said["runs"], said["crashed"], said["checks_failed"]) == ("skypilot", 4, 1, 1)
    assert said["best"]["value"] == 18.2
    runs = runs_of(log("sky.log", JOBS))
    assert (runs[0].description, runs[0].metrics[0].stddev, runs[2].reason) == ("fuse loops (paper: Author2024)", 0.1, "ran out of memory")
    assert any("broken off" in w for w in said["warnings"])


SIMPLE = """# Log

## Baseline
**67.04 ± 0.19 t/s** (tg128)

| Kernel | Time% | Instances |
|--------|-------|-----------|
| mul_mat | 40% | 1110 |

## Experiments
| # | Description | t/s | vs Base | Notes |
|---|------------|-----|---------|-------|
| 0 | Baseline (stock) | 67.04 | - | -r 10 average |
| 1 | nwarps=8 | 65.81 | **-1.8%** | Shared memory reduction overhead \\| cost |
| 2 | nwarps=2 | ~66.9 | ~0% | Same |

```
| # | Description | t/s | vs Base | Notes |
|---|---|---|---|---|
| 9 | in a fence | 1 | 1 | 1 |
```
"""


def test_a_simple_loops_table_is_read_and_the_tables_beside_it_are_not(log):
    said = told(log("log.md", SIMPLE))
    assert (said["format"], said["runs"], said["kept"], said["direction"]) == ("logmd", 3, None, "higher")
    runs = runs_of(log("log.md", SIMPLE))
    assert runs[1].reason == "Shared memory reduction overhead | cost"
    assert dict(runs[1].notes)["vs Base"] == "-1.8%"
    assert runs[1].origin.line == 14


def test_a_table_that_keeps_and_drops_is_read_whatever_its_other_headings(log):
    text = "# Ledger\n\n| Stage | Hauptbefund | Decision |\n|---|---|---|\n| slot-gated readout | no stable gain | Reverted |\n| list virtualization | 240 to 90 ms | kept |\n"
    said = told(log("notes.md", text))
    assert (counts(said), runs_of(log("notes.md", text))[0].description) == ((2, 1, 1, 0, 0, 0), "slot-gated readout")
    assert told(log("scope.md", "# Off limits\n\n- `tests/` — keep\n- `bench/` — templates, do not modify\n- 12 ms, do not exceed\n"))["runs"] == 0
    plain = "| Feature | State |\n|---|---|\n| search | done |\n| export | pending |\n"
    assert told(log("features.md", plain))["runs"] == 0


def test_a_leaderboard_lists_what_was_kept(log):
    text = "| rank | exp | latency (s) | psnr (dB) | desc |\n|---|---|---|---|---|\n| 1 | 18 | 4.791 | 61.9 | break-free |\n| 2 | 0 | 14.467 | 126.0 | baseline |\n"
    said = told(log("leaderboard.md", text))
    assert (said["format"], said["kept"], said["best"]) == ("logmd", 2, {"value": 4.791, "line": 3})
    assert not any("what was kept is not known" in w for w in said["warnings"])


WORKLOG = """# Worklog: loop fusion

### Setup (23:00)
- Machine: one laptop

### Run 1: start — latency_ms=12.5, RSS=40 MB (KEEP)
- Timestamp: 2026-01-02 03:04
- What changed: nothing

| stage | ns |
|---|---|
| parse | 10 |

### Run 2: fuse the loops (both passes) — latency_ms=9.25 (KEEP) ★ CURRENT BEST
**Hypothesis.** memory traffic is what costs
- What changed: one pass
- Insight: half of the loads
  are gone.
- Next: unroll

### Run 3: unroll by 8 — latency_ms=9.1 (REJECTED, register spills)
- Reading: spills.

### Runs 4-6: wider tiles — CRASH

### Run 7: narrow tiles — STARTED 2026-01-03
- Expected: latency_ms = 8

### Key insight from Run 7
- none yet

## Session summary
- **7 runs**
"""


def test_a_journal_with_a_heading_a_run_is_read_with_what_was_learned(log):
    file = log("worklog.md", WORKLOG)
    said = told(file)
    assert (said["format"], counts(said), said["direction"]) == ("worklog", (5, 2, 1, 1, 0, 1), "lower")
    assert said["best"] == {"value": 9.25, "line": 14}
    first, second, third, fourth, _ = runs_of(file)
    assert (first.label, first.description, first.created, first.metric("RSS").unit) == ("1", "start", "2026-01-02", "MB")
    assert [r.created for r in runs_of(log("dated.md", "# Log\n## Session: 2026-02-03\n" + WORKLOG))][1:] == ["2026-02-03"] * 3 + ["2026-01-03"]
    assert (second.description, second.hypothesis, second.reason, second.next_step) == (
        "fuse the loops (both passes)", "memory traffic is what costs", "half of the loads are gone.", "unroll")
    assert (third.status, third.value, third.reason, fourth.label, fourth.description) == ("REJECTED", 9.1, "spills.", "4-6", "wider tiles")


def test_a_journal_names_runs_by_commit_by_letter_or_by_a_verdict_line(log):
    text = ("# Log\n\n## 1eaa8e2 — keep\n**Change:** as it is\n**Result:** val_bpb 2.09, memory 1.4GB\n\n## 2026-03-04 10:00 — E2: swizzle [KEEP]\nResult: val_bpb = 2.05\n"
            "### [REVERT] E-3: unroll\n## Exp 4 (crash): tile 256\n## exp-005. pool buffers\n**Verdict: REVERTED.** No gain.\n## E6 — tables - the wide ones (ACCEPTED on rerun)\n")
    said = told(log("experiment_log.md", text))
    assert (said["format"], counts(said), said["best"]) == ("worklog", (6, 3, 2, 1, 0, 0), {"value": 2.05, "line": 7})
    runs = runs_of(log("experiment_log.md", text))
    assert [r.description for r in runs] == ["as it is", "swizzle", "unroll", "tile 256", "pool buffers", "tables - the wide ones"]
    assert (runs[0].code, runs[1].created) == ("1eaa8e2", "2026-03-04")


def test_a_column_named_verdict_is_one_though_its_words_are_unknown(log):
    said = told(log("results.tsv", tsv("utc_time|verdict|best_gain|hypothesis", "2026-09-14T12:36:00Z|screen_only|0.1|tile 1024", "2026-09-14T13:36:00Z|unclear|0.2|tile 2048")))
    assert (counts(said), said["statuses"]) == ((2, 0, 0, 0, 0, 2), {"screen_only": 1, "unclear": 1})


def test_a_journal_that_begins_with_its_newest_run_is_told_as_it_ran(log):
    text = "".join(f"### Run {n}: try {n} — score={n}.5 ({'KEEP' if n % 2 else 'DISCARD'})\n" for n in (4, 3, 2, 1))
    assert [r.label for r in runs_of(log("worklog.md", text))] == ["1", "2", "3", "4"]


def test_the_parts_of_an_entry_may_have_headings_of_their_own(log):
    text = ("# Log\n\n## Baseline\n### Notes\n- slow\n\n## Iteration 1 — shared memory tiling\n\n### Plan\n- **What**: tile it\n- **Why**: nothing is reused\n- **Rejected**: small tiles\n\n"
            "### Result\n**Status**: KEPT\n\n| size | GFLOPS |\n|---|---|\n| 128 | 10 |\n\n### Notes for Next Iteration\n- banks conflict\n\n## Loop 2: padding\nDate: 2026-04-29 08:05\n\n"
            "### Verdict: REVERTED\nThe row stride is odd.\n")
    said = told(log("log.md", text))
    assert (said["format"], counts(said)) == ("worklog", (2, 1, 1, 0, 0, 0))
    first, second = runs_of(log("log.md", text))
    assert (first.description, first.mechanism, first.reason) == ("shared memory tiling", "nothing is reused", "banks conflict")
    assert (second.description, second.created, second.reason) == ("padding", "2026-04-29", "The row stride is odd.")


def test_a_heading_without_a_number_is_a_run_where_a_line_below_it_decides(log):
    text = ("# Log\n\n## Notes\n\n### Warm-up\n- **Status**: verified, wants more\n\n### Smaller subsets (cycle 3, 2026-01-29)\n- **Change**: 100 to 20\n- **Verdict**: **KEEP** - fits the card\n\n"
            "### Padding (cycle 9)\n- **Verdict**: **REVERTED**. Slower.\n\n### Verdict\nNot worth it.\n")
    runs = runs_of(log("log.md", text))
    assert [(r.description, r.outcome, r.reason, r.created) for r in runs] == [
        ("Smaller subsets", "kept", "fits the card", "2026-01-29"), ("Padding (cycle 9)", "discarded", "Slower.", "2026-01-29")]


def test_bars_between_blanks_part_the_cells_of_a_log_without_header(log):
    text = "C01 | fuse the scans | 54.6 -> 57.0 | kept | +4 %\nC02 | stride on the device | 57.0 -> 56.1 | reverted | slower\n"
    for name in ("log.md", "log.txt"):
        assert counts(told(log(name, text))) == (2, 1, 1, 0, 0, 0)


def test_numbered_headings_that_decide_nothing_are_prose(log):
    text = "# Notes\n\n## Step 1: install\n\n## Run 2: the server (keep it up)\n\n## Phase 3: dropped packets\n\n## 2026-01-02: SwiGLU (negative)\n"
    assert told(log("notes.md", text))["format"] == "prose"


def test_prose_holds_no_runs_even_with_tables_of_results(log):
    text = "# Log\n\n## 2026-05-05: DyT (negative)\n\nIt did not help.\n\n| Config | tok/sec | vs baseline |\n|---|---|---|\n| BF16 | 630K | 1.00x |\n"
    said = told(log("LOG.md", text))
    assert (said["format"], said["runs"]) == ("prose", 0)


def test_a_program_is_one_run_and_an_invalid_one_is_never_best(log):
    def program(name, score, valid=1.0):
        return {"id": name, "code": "x", "parent_id": None, "generation": 1, "timestamp": 1748143547.3, "metrics": {"overall_score": score, "valid_solution": valid}}

    rows = [program("a", 68.0), program("b", 75.0), program("a", 68.0), program("c", -1000.0, 0.0), program("e", 1384.0, 0.0), {**program("d", 0), "metrics": {"error": 0.0}}]
    said = told(log("programs.jsonl", jsonl(*rows)))
    assert (said["format"], said["runs"], said["crashed"], said["checks_failed"], said["best"]) == ("openevolve", 5, 1, 2, {"value": 75.0, "line": 2})


def test_a_checkpoint_folder_is_read_as_its_programs(log, tmp_path):
    for checkpoint, name in ((10, "a"), (20, "a"), (20, "b")):
        log(f"out/checkpoints/checkpoint_{checkpoint}/programs/{name}.json",
            json.dumps({"id": name, "parent_id": None, "generation": 0, "metrics": {"combined_score": 0.5}}, indent=1))
    log("out/checkpoints/checkpoint_20/programs/bad.json", "{")
    said = told(tmp_path / "out")
    assert (said["format"], said["runs"], said["best"]["value"]) == ("openevolve", 2, 0.5)


def test_candidates_are_parsed_and_never_evaluated(log, tmp_path):
    log("run/run_metadata.json", '{"metric": "latency", "problem": "p", "beam_size": 4}')
    log("run/eval-results-iter-1/code_0_result.txt", '{"correct": true, "latency": 2.5, "stdout": "Latency: 2.5", "stderr": ""}')
    log("run/eval-results-iter-1/code_10_result.txt", "{'correct': True, 'latency': 2.0, 'stdout': '', 'stderr': ''}")
    log("run/eval-results-iter-1/code_2_result.txt", '{"correct": false, "latency": null, "stdout": "", "stderr": "Traceback\\n  x\\nValueError: bad tile"}')
    log("run/eval-results-iter-1/code_3_result.txt", "__import__('os').system('touch /tmp/owned')")
    parent = "CodeCandidate(parent=None, plan=None, code='a', score=3.0)"
    log("run/candidates-iter-1/candidate_0.txt",
        f"CodeCandidate(parent={parent}, plan='''tile the loop''', code='''b''', score=2.0, plan_gen_model='m1', code_gen_model='m2', stdout=open('/etc/passwd').read())")
    log("run/candidates-iter-1/candidate_1.txt", "CodeCandidate(parent=")
    said = told(tmp_path / "run")
    assert (said["format"], said["runs"], said["crashed"], said["best"]["value"]) == ("autocomp", 3, 1, 2.0)
    runs = runs_of(tmp_path / "run")
    assert [r.label for r in runs] == ["iter1/code_0", "iter1/code_2", "iter1/code_10"]
    assert (runs[2].mechanism, runs[2].models, runs[2].parent, runs[1].reason) == ("tile the loop", ("m1", "m2"), "score 3.0", "ValueError: bad tile")


# ---- all of them


@pytest.mark.parametrize(("name", "format_"), [("a.jsonl", "pi"), ("a.tsv", "tsv"), ("a.md", "prose"), ("a.txt", "prose")])
def test_an_empty_file_is_a_log_without_runs(log, name, format_):
    for content in ("", "\n \n"):
        said = told(log(name, content))
        assert (said["format"], said["runs"]) == (format_, 0)


def test_what_is_no_log_is_refused_clearly(log, tmp_path):
    with pytest.raises(KbError, match="no such file"):
        told(tmp_path / "nowhere.tsv")
    with pytest.raises(KbError, match="binary"):
        told(log("x.tsv", b"\x00\x01\x02" * 100))
    with pytest.raises(KbError, match="binary"):
        told(log("x", b"ELF\n\xff\n\xfe\n\x80\n\x81\n" + b"\x02\x00\n" * 100))  # none in the first lines
    with pytest.raises(KbError, match="no such format 'foo'; one of auto"):
        told(log("x.tsv", KARPATHY), "foo")
    (tmp_path / "empty").mkdir()
    with pytest.raises(KbError, match="no log of a loop"):
        told(tmp_path / "empty")
    with pytest.raises(KbError, match="--adopt"):
        told(tmp_path, "tpu-wiki")


DEEP = '{"a":' * 3000


@pytest.mark.parametrize(
    ("name", "content", "runs"),
    [
        ("superscripts.tsv", tsv("a1b2c3d|1.5|²|keep", "b1b2c3d|1.6|4|discard", "c1b2c3d|1.7|5|discard"), 3),
        ("long-numbers.tsv", tsv(*(f"a1b2c3{i}|{'1' * 5000}|keep|x" for i in range(4))), 4),
        ("deep.tsv", tsv("id|metrics|status|description", *(f"{i}|{DEEP}|keep|x" for i in range(4))), 4),
        ("deep-settings.tsv", tsv("id|config|status|description", *(f"{i}|{DEEP}|keep|x" for i in range(4))), 4),
        ("endless.tsv", tsv("id|score|status|description", "1|1 ± 1e999|keep|x", "2|3|discard|y"), 2),
        ("ranked.md", "| rank | exp | score | description |\n|---|---|---|---|\n| 1 | ² | 3.4 | one thing |\n| 2 | 3 | 3.5 | other thing |\n", 2),
        ("far-times.jsonl", '{"round": 1, "score": 2, "status": "keep", "timestamp": ' + "9" * 400 + "}\n", 1),
        ("own-kb.jsonl", jsonl({"type": "config", "metricName": "s"}, {"run": 1, "metric": 2, "status": "keep", "kb": {"size": 3}}), 1),
        ("long-labels.md", "".join(f"### Run {'1' * 5000}{i}: fuse the loops (KEEP)\n\n" for i in range(3)), 0),
    ],
)
def test_no_cell_of_a_log_breaks_an_import(log, name, content, runs):
    assert told(log(name, content))["runs"] == runs


# A search that goes over such a line from each of its places does not end within hours.
@pytest.mark.parametrize("piece", [" ", "-", "=", "`", "*", "(", "[", "a", "1", "1.", "a/", "# + ", "_", "| ", ": "])
def test_a_line_of_300_kilobytes_is_read_like_any_other(log, piece):
    line = piece * (300_000 // len(piece))
    assert told(log("results.tsv", f"commit\tms\tstatus\tdescription\na1b2c3d\t1.5\tkeep\t{line}x\n"))["runs"] >= 1
    assert told(log("results.md", f"| # | ms | status | change |\n|---|---|---|---|\n| 1 | 1.5 | keep | {line}x |\n\n| a | b |\n|-{line}x\n"))["runs"] == 1
    assert told(log("work.md", f"### Run 1: fuse (KEEP)\n\nResult: {line}x\n\n**Insight** {line}x\n\n### Run 2: {line}x — ms=4 (REVERTED, {line}: x)\n"))["runs"] == 2


def test_every_event_stream_begins_with_a_segment_and_runs_name_one_that_was_told(log):
    for path in (log("a.tsv", KARPATHY), log("b.jsonl", jsonl(CONFIG, entry(1, 5))), log("c.md", SIMPLE), log("d.log", JOBS)):
        seen = -1
        for event in located(path, "auto").events(Ask()):
            if isinstance(event, Segment):
                seen = event.index
            elif isinstance(event, Run):
                assert event.segment == seen
                assert event.origin.line > 0
                assert event.origin.digest
            else:
                assert isinstance(event, Remark)


LOGS = Path(__file__).parent / "logs"
READINGS = json.loads((LOGS / "oracle.json").read_text())


@pytest.mark.parametrize("name", READINGS)
def test_a_log_of_another_habit_is_read_as_a_person_reads_it(name):
    """Written by hand before the readers; of a list any reading is right."""
    said = told(LOGS / name)
    said |= {"segments": len(said["segments"]), "best": (said["best"] or {}).get("value")}
    wrong = {k: (said[k], right) for k, right in READINGS[name].items() if said[k] not in (right if isinstance(right, list) else [right])}
    assert wrong == {}


NAMES = ("try", "p99_ms", "ruling", "what")
TRIES = [("1", 40, "baseline", "as it was"), ("2", 31, "kept", "pool of buffers"), ("3", 29, "reverted", "no checks at all"),
         ("4", 0, "crashed", "threads in the handler"), ("5", 27.5, "kept", "one write a reply"), ("6", 28, "reverted", "larger pool")]


def in_notation(kind):
    """The same six tries as a table, as objects at any depth, as a list, or below headings."""
    objects = [dict(zip(NAMES, t, strict=True)) for t in TRIES]
    rows = [NAMES, *[tuple(map(str, t)) for t in TRIES]]
    match kind:
        case "tsv" | "csv":
            return f"a.{kind}", "".join((TAB if kind == "tsv" else ",").join(r) + "\n" for r in rows)
        case "reversed":
            return "a.tsv", "".join(TAB.join(r[::-1]) + "\n" for r in rows)
        case "page":
            lines = ["| " + " | ".join(r) + " |\n" for r in rows]
            return "a.md", "# Tries\n\n" + lines[0] + "|---|---|---|---|\n" + "".join(lines[1:])
        case "lines":
            return "a.txt", "".join(f"{x['try']}: {x['what']}, p99_ms={x['p99_ms'] or 'n/a'}, {x['ruling']}\n" for x in objects)
        case "jsonl":
            return "a.jsonl", jsonl(*objects)
        case "nested":
            return "a.json", json.dumps({"project": "proxy", "data": {"host": "a7", "tries": objects}}, indent=1)
        case "yaml":
            return "a.yaml", "".join("- " + "\n  ".join(f"{k}: {v}" for k, v in x.items()) + "\n" for x in objects)
        case _:
            line = {"items": "- {}: {}\n", "bold": "**{}:** {}\n\n"}[kind]
            return "a.md", "# Proxy\n\n" + "".join(f"## Run {x['try']}\n\n" + "".join(line.format(k, v) for k, v in x.items()) + "\n" for x in objects)


@pytest.mark.parametrize("kind", ["tsv", "csv", "reversed", "page", "jsonl", "nested", "yaml", "items", "bold", "lines"])
def test_the_same_records_are_the_same_runs_in_any_notation(log, kind):
    said = told(log(*in_notation(kind)))
    assert (*counts(said), said["best"]["value"], said["direction"]) == (6, 2, 2, 1, 0, 1, 27.5, "lower")


@pytest.mark.parametrize("kind", ["tsv", "page", "jsonl", "nested", "items"])
def test_records_that_state_no_outcome_are_runs_of_which_nothing_is_known_to_be_kept(log, kind, monkeypatch):
    monkeypatch.setattr(f"{__name__}.NAMES", ("try", "p99_ms", "host", "what"))
    monkeypatch.setattr(f"{__name__}.TRIES", [(n, v, "a7", w) for n, v, _, w in TRIES if v])
    said = told(log(*in_notation(kind)))
    assert (said["runs"], said["kept"], said["best"], said["direction"]) == (5, None, None, "lower")


def test_numbered_entries_that_measure_the_same_are_runs_though_none_says_what_was_kept(log):
    entries = [f"### Run {n}: {what}\n\nStill on the laptop.\n- parse_ms: {v}\n\n" for n, (what, v) in enumerate((("as it was", 12.1), ("one pass", 11.2), ("no copies", 9.9)), 1)]
    said = told(log("worklog.md", "# Worklog\n\n" + "".join(entries)))
    assert (said["runs"], said["kept"], said["best"], said["direction"]) == (3, None, None, "lower")
    unmeasured = "".join(e.partition("- parse")[0] for e in entries)
    assert told(log("notes.md", "# Worklog\n\n" + unmeasured))["runs"] == 0


def test_headings_that_every_run_repeats_are_its_parts_whatever_they_are_called(log):
    text = "# Log\n" + "".join(f"\n## {name}\n\n### Plan\n- Rejected: the other way round\n\n### Measured\n**Status**: {status}\n" for name, status in
                               (("Tiles in shared memory", "KEPT"), ("Padding", "REVERTED"), ("Wider loads", "KEPT")))
    assert counts(told(log("log.md", text))) == (3, 2, 1, 0, 0, 0)


def test_items_that_begin_with_one_word_are_runs_and_no_fields_of_one(log):
    text = "# Log\n\n" + "".join(f"- decode: {what}: p99_ms {v} — {status}\n" for what, v, status in (("a pool", 40, "kept"), ("two pools", 41, "reverted"), ("one copy", 38, "kept")))
    assert counts(told(log("log.md", text))) == (3, 2, 1, 0, 0, 0)


def test_yes_and_no_decide_below_any_name_that_says_so(log):
    rows = [{"id": n, "cycles": v, "valid": True, "merged_to_best": v < 1500} for n, v in enumerate((1600, 1443, 1520))]
    said = told(log("log.jsonl", jsonl(*rows)))
    assert (said["kept"], said["discarded"], said["best"]["value"]) == (1, 2, 1443)


def test_a_format_of_another_package_is_found_by_its_entry_point(log, monkeypatch, tmp_path):
    package = tmp_path / "plugin"
    (package / "words-1.0.dist-info").mkdir(parents=True)
    (package / "words-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: words\nVersion: 1.0\n")
    (package / "words-1.0.dist-info" / "entry_points.txt").write_text("[kb.formats]\nwords = words:FORMAT\n")
    (package / "words.py").write_text(
        "from kb.formats.reading import Segment, text_lines\nfrom kb.formats.registry import LogFormat\n"
        "from kb.run.record import Origin, Outcome, Run\n"
        "def read(path, ask):\n    yield Segment(0, 1)\n"
        "    for line in text_lines(path):\n        yield Run(Origin(path.name, line.number, line.digest), 'words', outcome=Outcome.KEPT)\n"
        "FORMAT = LogFormat('words', lambda path, head: path.suffix == '.words', read)\n")
    monkeypatch.syspath_prepend(package)
    registry.formats.cache_clear()
    try:
        assert "words" in registry.format_names()
        said = told(log("a.words", "one\ntwo\n"))
        assert (said["format"], said["kept"]) == ("words", 2)
    finally:
        registry.formats.cache_clear()


def test_auto_says_what_another_format_would_have_read(log):
    text = "# Log\n\n| # | Change | ms | Status |\n|---|---|---|---|\n| 1 | a | 3 | keep |\n| 2 | b | 4 | discard |\n\n## Run 1: a (KEEP)\n"
    said = told(log("log.md", text))
    assert (said["format"], said["runs"]) == ("logmd", 2)
    assert "also reads as worklog: 1 run" in said["warnings"]


def oracle(corpora):
    return json.loads((corpora / "loop-logs" / "truth.json").read_text())


@pytest.mark.corpora
def test_the_real_logs_are_read_as_their_oracle_reads_them(corpora):
    wrong = []
    for name, truth in oracle(corpora).items():
        said = told(corpora / "loop-logs" / name)
        for key in ("runs", "kept", "discarded", "crashed", "checks_failed", "other"):
            if truth.get(key) is not None and said[key] not in (truth[key], truth.get(f"{key}_strict", truth[key])):
                wrong.append((name, key, said[key], truth[key]))
        best = truth.get("best_kept")
        if best and truth.get("direction_source") in (None, "name") and (said["best"]["value"], said["best"]["line"]) != (best["value"], best["line"]):
            wrong.append((name, "best", said["best"], best))
        if len(truth.get("segments") or []) > 1:
            mine = [(s["runs"], s["kept"], (s["best"] or {}).get("value")) for s in said["segments"]]
            if mine != [(s["runs"], s["kept"], (s["best_kept"] or {}).get("value")) for s in truth["segments"]]:
                wrong.append((name, "segments", mine))
    assert wrong == []


@pytest.mark.corpora
def test_with_the_direction_told_the_rest_of_the_real_logs_agree_on_the_best_too(corpora):
    for name, truth in oracle(corpora).items():
        best = truth.get("best_kept")
        if best and truth.get("direction_source", "").startswith("by hand") and truth.get("header"):
            said = told(corpora / "loop-logs" / name, direction=truth["direction"])
            assert math.isclose(said["best"]["value"], best["value"]), name


ORG = "#+TODO: TODO RUNNING | KEPT DROPPED\n\n* KEPT E1 fuse\n  :PROPERTIES:\n  :PAUSE_MS: 4.5\n  :END:\n* DROPPED E2 tile\n  :PROPERTIES:\n  :PAUSE_MS: 5.5\n  :END:\n* TODO E3 split\n"
GIT = "".join(f"commit {c * 8}\nAuthor: A <a@b>\nDate:   Thu May 7 21:14:09 2026 +0200\n\n    {t}\n\n{b}\n" for c, t, b in (
    ("1a", "exp: fuse", "    Throughput: 3.4 GB/s\n    Verdict: kept\n"), ("2b", "fix a typo", ""), ("3c", "exp: tile", "    Throughput: 3.1 GB/s\n    Verdict: reverted\n")))


RESULT = "# Log\n\n" + "\n\n".join(
    f"## {code} — {status}\n**Change:** `WIDTH` 64 → {width}.\n**Result:** val_bpb {bpb} (from {before}), memory {gb}GB, {gb}GB more than none"
    for code, status, width, bpb, before, gb in (("1eaa8e2", "keep", 64, 0.93, 0.95, 1.4), ("2465f3d", "discard", 96, 0.95, 0.93, 1.9), ("30b1c9b", "keep", 128, 0.81, 0.93, 1.3)))


@pytest.mark.parametrize(("name", "text", "wanted"), [
    ("a.org", ORG, (2, 1, 1, 4.5)), ("a.gitlog", GIT, (2, 1, 1, 3.4)),
    ("signs.tsv", tsv("id|ms|verdict", "1|9|ref", "2|8|+", "3|8.5|-", "4|8|="), (4, 1, 1, 8.0)),
    ("units.md", "| # | Change | p99 | OK |\n|---|---|---|---|\n| 1 | a | 1.2 s | ✅ |\n| 2 | b | 1.1 s | ✅ |\n| 3 | c | 800 ms | ✅ |\n| | **Total** | | |\n", (3, 3, 0, 0.8)),
    ("queue.md", "## Planned\n\n| # | Change | ms | Status |\n|---|---|---|---|\n| 1 | a | 3 | todo |\n", (0, None, None, None)),
    ("liked.md", "# Ideas\n\n### Rejected\n\n- threads: 3 ms\n- mmap: 4 ms\n", (0, None, None, None)),
    ("best.tsv", tsv("id|accuracy|status|what", "1|0.3|discard|a", "2|0.5|keep|b", "3|0.9|best|c", "4|0.8|new best|d", "5|0.7|best so far|e"), (5, 4, 1, 0.9)),
    ("result.md", RESULT, (3, 2, 1, 0.81)),
    ("never.md", "# Notes\n\n## Kernel rejections (do not repeat)\n\n### `radix sort`\n\n- **Tried**: it instead of a heap.\n- **Outcome**: REGRESSION.\n"
     "- **Status**: DO NOT USE.\n\n### Two queues\n\n- **Outcome**: REGRESSION (~31ms).\n- **Reason**: locks.\n", (2, 0, 2, None)),
    ("prose.json", json.dumps([{"name": n, "setup": "12M, two epochs", "result": r, "lesson": "Data first."} for n, r in
     (("wide", "loss near 3.1, fluent text"), ("deep", "loss 2.9, but it repeats"), ("long", "no better than wide"))], indent=1), (3, None, None, None)),
    ("记录.md", "# 记录\n\n## 采纳的改动\n\n### 1. 合并循环\n\n耗时 12 ms。\n\n### 2. 预取\n\n耗时 11 ms。\n\n## 测过但**否决**的改动\n\n"
     "### 展开八次\n\n耗时 13 ms。\n\n### 对齐\n\n耗时 14 ms。\n", (4, 2, 2, 11)),
    ("machines.md", "| name | GPU | since | status |\n|---|---|---|---|\n| a | H100 | 2024 | ok |\n| b | H100 | 2025 | failed PSU |\n", (0, None, None, None)),
])
def test_what_is_a_run_is_told_by_structure(log, name, text, wanted):
    said = told(log(name, text))
    assert (said["runs"], said["kept"], said["discarded"], (said["best"] or {}).get("value")) == wanted


def test_what_stands_below_a_queue_is_no_run_however_much_it_is(log):
    runs = {f"E{i}": {"what": "x", "ms": 9 - i, "state": "merged"} for i in (1, 2)}
    queue = {f"E{i}": {"what": "y", "state": "merged"} for i in range(3, 9)}
    said = told(log("state.json", json.dumps({"goal": {"metric": "ms", "direction": "minimize"}, "queue": queue, "runs": runs}, indent=1)))
    assert (said["runs"], said["kept"], said["best"]["value"], said["direction_source"]) == (2, 2, 7, "config")


def test_a_heading_dates_what_stands_below_it_in_any_spelling(log):
    text = ("# Log\n\n## 2. März 2026\n\n- Kept: fuse the loops (12.1 ms)\n- Reverted: unroll by 8 (12.9 ms)\n\n"
            "## March 3, 2026\n\n- Kept: prefetch (11.0 ms)\n- Reverted: align (11.5 ms)\n")
    assert [(r.created, r.description) for r in runs_of(log("log.md", text))] == [
        ("2026-03-02", "fuse the loops (12.1 ms)"), ("2026-03-02", "unroll by 8 (12.9 ms)"),
        ("2026-03-03", "prefetch (11.0 ms)"), ("2026-03-03", "align (11.5 ms)")]
    table = "# Log\n\n## Tuesday 2026/03/03\n\n| # | change | ms | status |\n|---|---|---|---|\n| 1 | foo | 12 | keep |\n| 2 | bar | 13 | discard |\n"
    assert {r.created for r in runs_of(log("table.md", table))} == {"2026-03-03"}


def test_a_folder_of_several_logs_reads_one_and_names_the_others(log, tmp_path):
    log("loop/results.tsv", KARPATHY)
    log("loop/sweep.csv", "name,ms,status\na,1.5,keep\nb,1.4,discard\n")
    log("loop/README.md", "# A loop\n\nNothing was run.\n")
    warning, = (w for w in told(tmp_path / "loop")["warnings"] if "further logs" in w)
    assert f"sweep.csv; one each: `kb import auto {tmp_path / 'loop' / 'sweep.csv'}`" in warning and "README" not in warning


def test_a_row_that_lacks_a_cell_is_read_where_its_figures_fit(log):
    text = "day,model,source,loss,gap,notes\nmon,a,paper,1.9,.1,x\ntue,b,1.7,.2,y\nwed, c, \"own, new\", 1.5, .3, z\n"
    runs = runs_of(log("submissions.csv", text))
    assert [(r.value, dict(r.notes).get("source")) for r in runs] == [(1.9, "paper"), (1.7, None), (1.5, "own, new")]


def test_what_a_child_came_to_stands_apart_from_what_its_parent_was(log):
    rows = [{"iteration": i, "parent_metrics": {"score": i}, "child_metrics": {"score": i + 1}} for i in range(3)]
    assert [r.value for r in runs_of(log("trace.jsonl", jsonl(*rows)))] == [1, 2, 3]


def test_a_tracker_is_judged_by_what_was_held_out_and_not_by_how_long_it_ran(log):
    assert told(log("export.csv", "Name,State,Runtime,val/acc\na,finished,812,0.7\nb,crashed,90,\n"))["segments"][0]["metric"] == "val/acc"


def test_a_count_that_grows_on_every_line_is_no_setting_and_samples_of_many_metrics_are_no_runs(log):
    rows = [{"timestamp": f"2026-03-0{i}T10:00:00", "max_n_verified": 10**i} for i in range(1, 5)]
    assert told(log("progress.jsonl", jsonl(*rows)))["runs"] == 4
    samples = [{"ts": 1_750_000_000 + i, "metric": ("cpu", "rss")[i % 2], "value": i} for i in range(6)]
    assert told(log("points.jsonl", jsonl(*samples)))["runs"] == 0


@pytest.mark.parametrize("form", ["{} {}, {}\n", "[2026-03-02 {}] {}, {}\n", "- {} – {} – {}\n", "**{}** {}, {}\n\n"])
def test_entries_by_the_hour_are_runs_and_no_chat(log, form):
    entries = [("9:05", "-O3: 13.0 fps", "kept"), ("9:40", "PGO: 14.9 fps", "kept"), ("10:20", "LTO: 12.1 fps", "backed it out"), ("11:00", "polly", "linker crashed")]
    said = told(log("log.txt", "".join(form.format(*e) for e in entries)))
    assert (said["runs"], said["kept"], said["discarded"], said["crashed"], said["best"]["value"]) == (4, 2, 1, 1, 14.9)


def test_an_arrow_in_plain_signs_is_no_range(log):
    text = "# Perf\n\n## What worked\n\n- Arena: 61.2 -> 74.9 MB/s\n- Reuse: 74.9 => 78.3 MB/s\n\n## What did not\n\n- SIMD: 78.3 -> 71.0 MB/s\n"
    assert [r.value for r in runs_of(log("perf.md", text))] == [74.9, 78.3, 71.0]


def test_numbered_and_dated_rows_with_a_score_are_runs_and_a_rate_keeps_its_own_unit(log):
    board = "# Board\n\n| Run | Score | Author | Summary | Date |\n|---|---|---|---|---|\n| int6 | 1.14 | a | quantized | 2026-03-20 |\n| base | 1.22 | b | nine layers | 2026-03-18 |\n"
    assert told(log("README.md", board))["runs"] == 2
    text = "".join(f"2025-07-0{i} {x}\n" for i, x in enumerate(("bloom filters: 930 kops/s -> keep", "ribbon filters: 941 kops/s -> drop", "huge pages: 955 kops/s -> keep"), 1))
    assert told(log("log.txt", text))["best"]["value"] == 955


def test_a_row_that_was_cut_off_keeps_its_columns_unless_words_stand_among_its_figures(log):
    text = "run,status,loss,lr,seed,time_s\n1,keep,0.9,0.1,1,12\n2,discard,0.8,0.3,1,13\n3,keep,0.5,0.1,2,14\n4,keep,0.4,0.2\n5,keep,n/a,0.2\n"
    short = runs_of(log("cut.csv", text))[3:]
    assert [[(m.name, m.value) for m in r.metrics] for r in short] == [[("loss", 0.4), ("time_s", None)], [("loss", None), ("time_s", None)]]
    assert [r.levers for r in short] == [(Lever("lr", "0.2"),)] * 2
    missing = "run,lr,loss,status,note\n1,0.1,0.9,keep,a\n2,0.2,0.8,discard,b\n3,0.4,keep,tuned\n"
    assert (told(log("gap.csv", missing))["kept"], told(log("gap.csv", missing))["discarded"]) == (2, 1)


def test_signs_before_lines_are_bullets_and_no_verdicts(log):
    signed = "+ pooled buffers: 12.1 ms\n- custom allocator: 14 ms\n+ fused epilogue: 11.8 ms\n- tile 64: 13 ms\n"
    bullets = "- tile 32: 4.1 ms\n- tile 64: 3.9 ms\n+ note: machine rebooted\n- tile 128: 3.2 ms{}\n"
    for text in (signed, bullets.format(", kept"), bullets.format(""), bullets.format(", kept") + "+ note: again\n"):
        assert not told(log("bullets.md", text)).get("discarded"), text


def test_a_diary_of_lines_alone_is_a_trail_where_most_give_one_figure_and_no_list_of_things_is(log):
    clock = "# 2026-03-04\n\n14:02 baseline: 120 ms\n14:32 unroll 4: 110 ms kept\n15:10 unroll 8: 131 ms reverted\n15:40 prefetch: segfault\n16:05 align 64: 104 ms kept\n"
    answer = told(log("clock.md", clock))
    assert [answer[k] for k in ("runs", "kept", "discarded", "crashed", "other")] == [5, 2, 1, 1, 1]
    dated = "2026-01-28: pack the slots; cycles now 98583.\n2026-01-28: vectorize; cycles now 12369.\n2026-01-29: tried a fast path; regressed to 12400 cycles, reverted.\n"
    answer = told(log("progress.md", dated))
    assert (answer["runs"], answer["discarded"]) == (3, 1)
    assert not told(log("todo.md", "- buy 2 screws\n- call about the 3 boards\n- weigh 500 g of tin\n"))["runs"]


def test_a_table_of_names_and_scores_is_a_leaderboard(log):
    board = "| hardware | name | score |\n|---|---|---|\n| A100 | base | 1200 |\n| A100 | fused | 1500 |\n"
    assert told(log("board.md", board))["runs"] == 2
    assert not told(log("parts.md", board.replace("score", "parts")))["runs"]


def test_a_status_goes_before_what_was_proposed_and_a_mark_before_a_word_that_says_neither(log):
    versions = "## v1\n- status: reverted\n- score: 2222\n- agent proposed: kept (overruled)\n## v2\n- status: kept\n- score: 4838\n- agent proposed: kept\n"
    answer = told(log("versions.md", versions))
    assert (answer["kept"], answer["discarded"]) == (1, 1)
    sprt = "### Test 1: tables\n**Hypothesis:** H0: Elo=0, H1: Elo=50\n**Result:** ✅ PASSED - H1 accepted\n**Games:** 44\n\n### Test 2: pruning\n**Hypothesis:** H0: Elo=0, H1: Elo=50\n**Result:** ❌ stopped at 30 games\n**Games:** 30\n"
    answer = told(log("sprt.md", sprt))
    assert (answer["kept"], answer["discarded"], answer["checks_failed"]) == (1, 1, 0)


def test_a_ranking_below_another_heading_is_a_segment_of_its_own_however_its_ranks_are_written(log):
    board = "### RTX 4090\n| rank | variant | tok/s |\n|--|--|--|\n| 🥇 | graphs | 142.1 |\n| 🥈 | stock | 118.8 |\n\n### M3 Max\n| rank | variant | tok/s |\n|--|--|--|\n| 1 | simdgroup | 61.2 |\n| 2 | stock | 48.0 |\n"
    assert [s["best"]["value"] for s in told(log("h.md", board))["segments"]] == [142.1, 61.2]


@pytest.mark.parametrize("comment", ["goal: higher quality code", "mode: higher precision", "better hardware: higher power draw", "metric: latency of the p99, mean of three"])
def test_a_comment_states_a_direction_or_a_metric_in_one_word_or_nothing(log, comment):
    table = "exp\tstatus\tlatency_ms\n1\tkeep\t12\n2\tdiscard\t14\n"
    segments = told(log("a.tsv", f"# {comment}\n{table}"))
    assert segments["segments"][0]["best"]["value"] == 12 and "comment line" in str(segments)
    for way in ("goal: maximize", "goal: maximize latency_ms", "metric_direction: higher_is_better", "direction: higher is better"):
        assert told(log("b.tsv", f"# {way}\n{table}"))["segments"][0]["direction"] == "higher"


def test_commits_of_one_line_each_are_entries(log):
    text = "a1b2c3d exp 1: fuse the loops, 12.1 ms (keep)\nb2c3d4e exp 2: tile 64, 14 ms (discard)\nc3d4e5f exp 3: unroll, 11.2 ms (keep)\n"
    assert counts(told(log("git.txt", text)))[:3] == (3, 2, 1)


def test_lines_of_a_program_and_lists_of_specs_are_no_diary(log):
    lines = "".join(f"2025-05-24 20:58:3{i} - INFO - loaded {i} shards, loss 0.{i}\n" for i in range(1, 7))
    others = "".join(f"2025-05-24 20:58:3{i} - {x}\n" for i, x in enumerate(("port 80", "3 hosts", "opened 4 MB", "waited 5 s")))
    specs = "- A100: latency 12 ms\n- H100: latency 8 ms\n- L4: latency 31 ms\n"
    for text in (lines, lines.replace("INFO", "ERROR"), others, specs):
        assert not told(log("server.md", text))["runs"], text


def test_what_broke_or_holds_nothing_is_told_so(log):
    text = "### Run 1: unroll [kept]\n12 ms\n\n### Run 2: AVX-512 [crash SIGILL on the runner]\n\n### Run 3: tile [discarded]\n14 ms\n"
    assert told(log("log.md", text))["crashed"] == 1
    assert told(log("a.tsv", "exp\tstatus\tlatency_ms\n1\tkeep\t12\n2\tdiscard\t14\n3\tkaputt\tnan\n"))["crashed"] == 1
    assert told(log("a.csv", "name,latency_ms\nbase,12\nfused,11\npending,\n"))["runs"] == 2


def test_a_table_of_scores_alone_is_none_of_runs(log):
    for column, things in {"team": "AB", "student": "XY", "risk": ("fire", "flood")}.items():
        board = f"| {column} | name | score |\n|---|---|---|\n| {things[0]} | base | 12 |\n| {things[1]} | other | 15 |\n"
        assert not told(log("table.md", board))["runs"], board
        assert not told(log("table.md", board.replace(column, "#")))["runs"], column


def test_a_no_whose_reason_says_that_it_broke_or_was_stopped_is_no_idea_that_failed(log):
    why = ("baseline", "better", "node preempted", "compile error", "OOM at batch 64", "error rose", "worse than best", "a wider network")
    rows = [{"exp": n, "loss": 2 - n / 10, "accepted": n < 2, "why": w} for n, w in enumerate(why)]
    assert counts(told(log("a.jsonl", jsonl(*rows)))) == (8, 2, 3, 2, 0, 1)
    assert counts(told(log("b.csv", "trial,ms,accepted,why\n1,12,yes,\n2,,no,node preempted\n3,14,no,slower\n"))) == (3, 1, 1, 0, 0, 1)
    # A loop that says itself what it did is believed.
    assert told(log("c.csv", "trial,ms,status,why\n1,12,keep,\n2,,discard,node preempted\n"))["discarded"] == 1


def test_what_improved_was_kept_where_a_loop_says_nothing_else(log):
    rows = [{"n": n, "val_loss": v, "result": r} for n, (v, r) in enumerate(((2.0, "IMPROVED"), (1.9, "IMPROVED"), (2.2, "REGRESSED"), (1.9, "UNCHANGED")))]
    assert counts(told(log("a.jsonl", jsonl(*rows)))) == (4, 2, 1, 0, 0, 1)
    flags = [{"params": {"alpha": n}, "loss": 2 - n, "improved": n == 1} for n in range(3)]
    assert counts(told(log("b.json", json.dumps(flags))))[:3] == (3, 1, 2)
    decided = [{**r, "status": s} for r, s in zip(rows, ("keep", "discard", "discard", "keep"), strict=True)]
    assert counts(told(log("c.jsonl", jsonl(*decided))))[:3] == (4, 2, 2)


def test_a_list_that_is_called_one_of_runs_goes_before_longer_ones(log):
    text = "cards:\n" + "".join(f"  - {{label: c{n}, value: {n}}}\n" for n in range(4)) + "experiments:\n" + "".join(f"  - {{id: e{n}, accuracy: 0.{n}, status: completed}}\n" for n in (4, 5))
    assert [r.label for r in runs_of(log("a.yaml", text))] == ["e4", "e5"]


def test_rows_that_are_numbered_as_runs_are_need_no_metric_whose_better_side_is_known(log):
    day = "# Log\n\n## {}\n\n| Iteration | Public score | Result |\n|---|---:|---|\n| 1 | 805.7 | The repeat was weak. |\n| 2 | 849.7 | Improved a little. |\n"
    said = told(log("log.md", day.format("2026-06-13") + day.format("2026-06-12").removeprefix("# Log\n")))
    assert (said["runs"], said["kept"], said["segments"][0]["metric"]) == (4, None, "Public score")
    table = "| run_id | model | data | test | val | notes |\n|---|---|---|---|---|---|\n| 20260428_143916 | pop | 50m | 58.0 | 57.2 | первая |\n| 20260429 | als | 50m | 22.9 | 22.6 | вторая |\n"
    said = told(log("runs.md", "# Прогоны\n\n" + table))
    assert (said["runs"], said["segments"][0]["metric"]) == (2, "test")
    for head in ("Round | Opponent | Score | Notes", "Iteration | Weeks | Team | Goal", "# | Team | Score | Goal"):
        rows = f"| {head} |\n|---|---|---|---|\n| 1 | 3 | 4 | b |\n| 2 | 5 | 1 | d |\n"
        assert not told(log("none.md", rows))["runs"], head


def test_columns_of_other_languages_are_known_by_what_they_are_in_english(log):
    table = "| nr | wijziging | doorlooptijd (ms) | besluit |\n|---|---|---|---|\n| 1 | niets | 120 | uitgangspunt |\n| 2 | cache | 98 | behouden |\n| 3 | threads | 131 | verworpen |\n| 4 | mmap | - | gecrasht |\n"
    said = told(log("proeven.md", table))
    assert (*counts(said), said["best"]["value"]) == (4, 1, 1, 1, 0, 1, 98)


def test_beside_numbered_runs_a_heading_is_one_where_it_says_so_and_a_sentence_may_end_in_bold(log):
    text = ("# Log of 2026-08-25\n\n## Baseline (T0)\n\n12 ms.\n\n## Methodology\n\n- Killed a stray process.\n\n### E1: wild copy\n**json +21 %, text ±0.** Kept + committed.\n\n"
            "### E2: prune — REJECTED\n14 ms.\n\n### E3: copies — measuring\nPlain copies at the end (and guard-fail tails).\n")
    assert counts(told(log("log.md", text))) == (3, 1, 1, 0, 0, 1)


LINES = {
    "mon.txt": ("Mon 13:05 baseline 41.2 tok/s\nMon 13:40 flash attention 55.0 tok/s -> keep\nMon 14:20 int8 cache 48.1 tok/s -> revert\nTue 09:10 cuda graphs: OOM\nTue 09:45 batch 4 61.3 tok/s -> keep\n", (5, 2, 1, 1, 0, 1), 61.3),
    "days.md": ("# Diary\n\n3 March 2025: jemalloc, 412 ms -> 380 ms, kept\n4 March 2025: huge pages, 391 ms, reverted\n6 Mar: PGO, 342 ms, kept\n", (3, 2, 1, 0, 0, 0), 342),
    "bold.md": ("# Quants\n\n**#1** q4_0 — ppl 6.21, 31 tok/s ✔\n**#2** q5_0 — ppl 6.02, 28 tok/s ✔\n**#3** q3_K — ppl 7.90, 36 tok/s ✘\n**#4** q2_K — crashed on load\n", (4, 2, 1, 1, 0, 0), 6.02),
    "iter.log": ("iter 1: loss=2.310 accepted [seed 3]\niter 2: loss=2.251 accepted [lr=3e-4]\niter 3: loss=2.402 rejected [lr=1e-3]\niter 4: loss=nan crashed [lr=1e-2]\n", (4, 2, 1, 1, 0, 0), 2.251),
    "trial.md": ("# Notes\n\nTrial 1. Everything as it was. 41.0 fps. Baseline.\n\nTrial 2. I set the tile to 32,\nwhich fits the cache. 44.1 fps. Kept.\n\nTrial 3. I set the tile to 64. 39.0 fps. Reverted.\n", (3, 1, 1, 0, 0, 1), 44.1),
    "heads.md": ("# Tuning\n\n## T1 — fused softmax\n118 → 104 ms. Kept.\n\n## T2 — persistent kernel\n104 → 109 ms. Reverted.\n", (2, 1, 1, 0, 0, 0), 104),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_begin_with_a_day_an_hour_or_the_name_of_a_run(log, name):
    text, wanted, best = LINES[name]
    said = told(log(name, text))
    assert (*counts(said), said["best"]["value"]) == (*wanted, best)


@pytest.mark.parametrize("form", ["[20:58:3{0}] step {0}00, loss 2.{1}\n", "2025-05-24 20:58:3{0} loss=2.{1}\n", "iter {0}0: loss 2.{1}, time 12.{0}ms\n", "epoch {0}: loss=2.{1} acc=0.{0}\n", "Step {0}. Press the key. It takes {1} s.\n\n"])
def test_lines_that_say_the_same_of_every_step_are_no_runs(log, form):
    assert not told(log("train.md", "".join(form.format(n, 9 - n) for n in range(9))))["runs"]


@pytest.mark.parametrize("text", [
    "**#1** crash on load ✔\n**#2** slow start ✔\n**#3** typo ✘\n",
    "Mon 13:05 meeting opened\nMon 13:20 budget accepted\nMon 13:40 proposal rejected\nMon 14:00 closed\n",
    "# Guide\n\n## T1 — install\nTakes 5 minutes.\n\n## T2 — run\nTakes 2 s.\n",
])
def test_issues_minutes_and_guides_are_no_diary(log, text):
    assert not told(log("page.md", text))["runs"]


def test_changes_with_a_result_in_words_are_runs_where_rows_are_dated_or_a_heading_says_what_became_of_them(log):
    dated = "# Log\n\n| date | change | result (per batch size, 24 h) |\n|---|---|---|\n| 08-26 | graphs | boots; no figures yet |\n| 08-27 | chunk 16384 | OOM (3.77 GiB); back to 8192 |\n| 09-02 | `--ep 4 → 1` | +4% b1, +3% b2 |\n"
    said = told(log("tuning-log.md", dated))
    assert (said["format"], said["runs"], said["kept"]) == ("logmd", 3, None)
    table = "| Change | {} | Why it failed |\n|---|---|---|\n| BLOCK_K 128 | +2% on all shapes | spills |\n| stages 4 | 1 % at most | saturated |\n\n"
    said = told(log("b.md", f"# Log\n\n### Changes that paid off (applied)\n\n{table.format('Impact')}### Changes that were rejected (tried and measured)\n\n{table.format('Result')}"))
    assert counts(said)[:3] == (4, 2, 2) and {s["metric"] for s in said["segments"]} == {""}
    for text in (dated.replace("result (per batch size, 24 h)", "author"), "| Date | Change | Result |\n|---|---|---|\n| 3 March | budget | Ann writes it anew |\n| 4 March | office | Bob looks for 2 rooms |\n| 5 March | tea | it stays as it was |\n"):
        assert not told(log("none.md", text))["runs"]


def test_an_index_and_figures_of_no_side_are_data_and_no_runs(log):
    assert not told(log("submission.csv", "ID,item_cnt_month\n0,0.69\n1,0.27\n2,1.03\n"))["runs"]
    for head in ("ID,val_loss", "run,points", "id,score"):
        assert told(log("a.csv", f"{head}\n0,0.69\n1,0.27\n2,1.03\n"))["runs"] == 3, head


def test_of_a_log_of_events_runs_are_the_kind_that_says_most_and_none_where_the_event_is_the_status(log):
    rounds = [{"event": "round_complete", "round": n, "promoted": False, "score": 88 + n, "elapsed_s": n} for n in range(3)]
    events = [{"event": "start", "baseline_score": 88}, *rounds, {"event": "stop", "round": 3, "score": 90, "reason": "3 rounds"}]
    assert counts(told(log("a.jsonl", jsonl(*events))))[:3] == (3, 0, 3)
    decided = [{"event": e, "id": n, "loss": 2 - n} for n, e in enumerate(("keep", "discard", "keep"))]
    assert told(log("b.jsonl", jsonl(*decided)))["runs"] == 3


def test_a_section_of_failures_holds_ideas_that_failed(log):
    text = "# Log\n\n## What worked\n\n- Arena: 61 -> 74 MB/s\n- Reuse: 74 -> 78 MB/s\n\n## Failed experiments\n\n- SIMD: 78 -> 71 MB/s\n- Threads: 78 -> 70 MB/s\n"
    assert counts(told(log("log.md", text)))[:4] == (4, 2, 2, 0)


def test_a_no_with_its_reason_in_one_cell_decides(log):
    rows = ("id,change,time,kept?", "1,unroll 4,12.1,yes", "2,unroll 8,13.2,no: i-cache misses", "3,simd,9.9,yes", "4,wide simd,nan,no: crash")
    said = told(log("tries.csv", "\n".join(rows)))
    assert counts(said) == (4, 2, 1, 1, 0, 0) and said["best"] == {"value": 9.9, "line": 4}
    assert (said["segments"][0]["metric"], said["direction"]) == ("time", "lower")


def test_lines_of_json_that_number_their_runs_are_of_one_tool_only_where_its_reader_explains_them(log):
    rows = [{"run": n, "change": f"step {n}", "metrics": {"ms": ms}, "kept": kept} for n, ms, kept in ((1, 12.1, True), (2, 12.4, False), (3, 11.4, True))]
    said = told(log("runs.jsonl", jsonl(*rows)))
    assert (said["format"], counts(said), said["best"]) == ("jsonl", (3, 2, 1, 0, 0, 0), {"value": 11.4, "line": 3})
    config = {"type": "config", "name": "s", "metricName": "ms", "bestDirection": "lower"}
    said = told(log("log.jsonl", jsonl(config, {"run": 1, "metric": 4.0, "status": "keep", "description": "a"})))
    assert said["format"] == "pi" and "also reads as jsonl: 1 run" in said["warnings"]


def test_a_time_is_measured_where_it_is_a_quantity_and_a_baseline_measures_what_the_runs_do(log):
    entries = "".join(f"## {n}. {what}\n\n- Time: {v}\n- Decision: {d}\n\n" for n, what, v, d in ((1, "flat arrays", 12.1, "kept"), (2, "prefetch", 12.4, "reverted")))
    base, *runs = runs_of(log("worklog.md", f"# Log\n\n## Baseline\n\n- Time: 14.2\n\n{entries}"))
    assert [r.value for r in (base, *runs)] == [14.2, 12.1, 12.4] and (base.status, base.primary) == ("Baseline", "Time")
    assert [r.created for r in runs_of(log("worklog.md", entries.replace("12.1", "2026-03-01 14:30").replace("12.4", "14:40")))] == ["2026-03-01", ""]


def test_notes_may_decide_where_no_column_does(log):
    rows = ("run,val_loss,notes", "1,2.41,baseline", "2,2.38,\"Tied the weights; better, committed\"", "3,2.52,\"Wider MLP; worse, reverted\"")
    assert counts(told(log("tries.csv", "\n".join(rows))))[:3] == (3, 1, 1)


def test_the_first_word_of_a_note_may_decide_where_no_column_does(log):
    rows = ("commit\trmse\tdescription", "a1b2c3d\t9.2\tbaseline — linear", "b2c3d4e\t8.1\tkeep — depth 6, marginal gain", "exp4\t8.7\tdiscard — new best on train, overfits")
    assert counts(told(log("tries.tsv", "\n".join(rows))))[:3] == (3, 1, 1)


NO_LOGS = {
    "prices.csv": "model,input_usd,output_usd,notes\na-5,5.00,30.00,released in May\na-4,2.50,15.00,\nb-3,1.75,14.00,half for batches\n",
    "machines.csv": "provider,gpu,gpus,vram_gb,usd_per_hour,notes\nx,H1,8,640,98.3,\ny,A1,1,40,3.7,best for dev\nz,R4,1,24,0.44,unreliable\n",
    "stations.tsv": "station\tkm\taltitude_m\tstatus\tremarks\nA\t54.6\t63\tactive\t\nB\t54.3\t62\tactive\told\nC\t53.8\t13\tclosed\t2004\n",
    "trace.json": json.dumps([{"iteration": n, "act": {"success": False, "error": "no results"}, "observe": {"count": 0}} for n in range(4)], indent=1),
    "package.json": json.dumps({"name": "p", "version": "4.0.1", "description": "a tool", "dependencies": {"ms": "^2.1.0"}, "config": {"latest": 24}}, indent=1),
    "flags.json": json.dumps([{"name": "Case", "switch": f"C{n}", "comment": "maps identifiers", "value": str(n)} for n in range(3)], indent=1),
    "api.md": "# API\n\n## pool.close\n\nWaits for requests. If it was closed before, the promise is rejected.\n\n## pool.destroy\n\nEnds requests, dropped.\n\n## pool.stats\n\nCounts of them, kept in order.\n",
    "notes.md": "# Release\n\n## Fixes since 2.1\n\n * A path that looks odd, rejected on such systems.\n\n * A name that is odd, rejected.\n",
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_prices_things_settings_traces_and_references_are_no_runs(log, name):
    assert told(log(name, NO_LOGS[name]))["runs"] == 0


def test_changes_with_results_in_words_are_runs_below_any_heading_and_in_any_language(log):
    rows = ("Hash table (16 MB) | depth 9 | 4x fewer nodes", "One ply more | 400 games | +160 +/- 38", "Same | timed | no effect at all", "Mobility at 1, 2, 4 | 400 games | +56 / +76 / +110")
    table = "| Change | Test | Result |\n|---|---|---|\n" + "".join(f"| {r} |\n" for r in rows)
    assert told(log("tuning.md", f"# Tuning\n\n## Search\n\n{table}"))["runs"] == 4
    table = "| 參數 | 測試值 | 結果 | 原因 |\n|---|---|---|---|\n| `thr` | 0.2 | 報酬 30 % | 太多 |\n| `stop` | 15 天 | 報酬 27 % | 太早 |\n"
    first, second = runs_of(log("紀錄.md", f"# 紀錄\n\n## Rejected\n\n### 過濾\n\n{table}"))
    assert (first.description, first.reason, first.outcome, second.outcome) == ("thr", "太多", "discarded", "discarded")


@pytest.mark.parametrize(("header", "yes", "no"), [("是否保留", "是", "否，更慢"), ("保留？", "是", "否"), ("übernommen", "ja", "nein"), ("gardé ?", "oui", "non"), ("kept? (y/n)", "y", "n")])
def test_a_header_that_asks_whether_a_run_was_kept_is_answered_in_any_language(log, header, yes, no):
    said = told(log("log.md", f"| # | 改动 | 耗时 (ms) | {header} |\n|---|---|---|---|\n| 1 | 展开 | 110 | {yes} |\n| 2 | 分配器 | 131 | {no} |\n| 3 | 向量化 | 98 | {yes} |\n"))
    assert (counts(said), said["best"]["value"]) == ((3, 2, 1, 0, 0, 0), 98.0)


def test_an_answer_below_kept_goes_before_a_status_that_says_only_that_it_ran(log):
    rows = ["| 1 | baseline | ok | 12.0 | baseline |", "| 2 | fuse | ok | 10.1 | yes |", "| 3 | unroll | ok | 12.9 | no |", "| 4 | prefetch | crash | - | no |", "| 5 | align | ok | 9.8 | yes |"]
    said = told(log("log.md", "| run | change | status | lat | kept? |\n|---|---|---|---|---|\n" + "\n".join(rows)))
    assert (counts(said), said["best"]["value"]) == ((5, 2, 1, 1, 0, 1), 9.8)


def test_marks_say_what_tools_can_do_unless_their_column_or_row_is_one_of_runs(log):
    tools = "| Tool | Linux | macOS | Speed |\n|---|---|---|---|\n| rg | ✅ | ✅ | 1.2 s |\n| ag | ✅ | ❌ | 3.4 s |\n| ack | ✅ | ❌ | 9.9 s |\n"
    parts = "| # | Name | Status | Description |\n|---|---|---|---|\n| 1 | login | ✅ | works |\n| 2 | billing | ❌ | not done |\n"
    assert {told(log("tools.md", text))["format"] for text in (tools, parts)} == {"prose"}
    runs = "| Experiment | Status | Description |\n|---|---|---|\n| fuse | ✅ | faster |\n| unroll | ❌ | slower |\n| align | ✅ | faster |\n"
    asked = "| subject | before | after | kept? | verdict |\n|---|---|---|:-:|---|\n| fish | 0.48 | 0.48 | ✗ | **held** |\n| tree | 0.34 | 0.34 | ✗ | **held** |\n"
    assert [counts(told(log("log.md", text))) for text in (runs, asked)] == [(3, 2, 1, 0, 0, 0), (2, 0, 2, 0, 0, 0)]


def test_what_stayed_undecided_is_told_beside_what_was_kept_and_rejected(log):
    text = "# Tried\n\n## Undecided\n- prefetch: 9.9 ms, within noise\n\n## Kept\n- fused loops: 12.0 -> 10.1 ms\n- aligned: 9.8 ms\n\n## Rejected\n- unroll: 12.9 ms\n\n## Potential improvements\n- huge pages\n"
    assert counts(told(log("tried.md", text))) == (4, 2, 1, 0, 0, 1)


def test_rows_between_numbered_runs_that_measure_nothing_are_phases(log):
    rows = ["0|base|-1.6|-10.9%|基线", "1|RSI|-3.2|-39.7%|已回退", "---|Phase 2: grid|-|-|已完成", "2|Donchian|1.19|7.2%|保留✔"]
    said = told(log("results.tsv", tsv("round|strategy|val_score|val_return|status", *rows)), metric="")
    assert (counts(said), said["segments"][0]["metric"]) == ((3, 1, 1, 0, 0, 1), "val_score")


def test_a_day_without_its_year_dates_a_run_and_what_has_figures_is_judged_by(log):
    said = told(log("board.csv", "date,submission,kaggle_public,note\n09-07,baseline,0.74,no matching\n09-08,jpeg,0.859,pipeline added\n09-09,+clip,0.927,\n"), metric="")
    assert (counts(said)[0], said["segments"][0]["metric"]) == (3, "kaggle_public")
    text = "".join(f"## Run 00{n} — try {n}\n- final loss: train_loss 2.0{n} avg over the response\n- wall time: {n}m39s total (train 99s)\n- commit: d5d81{n}6\n\n" for n in (1, 2))
    assert counts(told(log("log.md", text)))[0] == 2


RULED = [
    "==========\nRun: 1\nKp: 0.5\nOvershoot: 12.5 %\nSettling time: 2.1 s\nNotes: too slow,\n  by far\n==========\nRun: 2\nKp: 0.9\nOvershoot: 18.0 %\nSettling time: 1.4 s\n==========\nRun: 3\nKp: 0.9\nOvershoot: 6.0 %\nSettling time: 1.2 s\n==========\n",
    "=== Trial 1 ===\nlr = 0.1\nval_acc = 0.81\n\n=== Trial 2 ===\nlr=0.01\nval_acc=0.85\n\n=== Trial 3 ===\nlr = 0.001\nval_acc = 0.84\n",
    "Results\n\nv2 vs v1\nGames: 362\nElo: 82.1 +/- 32.3, LOS: 100 %\n\nv3 vs v2\nGames: 697\nElo: 48.2 +/- 23.8, LOS: 99 %\n\nv3 vs v1\nGames: 126\nElo: 279.6 +/- 75.4, LOS: 100 %\n",
]


RULED.append(RULED[0].replace("=====", "─────").replace("Run: ", "Config: lr=0."))
RULED.append("PID\n\n" + "".join(f"Trial {n}\n-------\nP: 0.{n}\nError: 1.{n}\nResult: it oscillates\n\n" for n in (1, 2, 3)))


@pytest.mark.parametrize("text", RULED)
def test_blocks_of_fields_between_rules_or_blank_lines_are_records(log, text):
    said = told(log("tuning_log.txt", text), metric="")
    assert (said["format"], said["runs"], said["kept"]) == ("records", 3, None)
    assert all(r.value is not None for r in runs_of(log("tuning_log.txt", text)))


def test_a_title_between_two_rules_names_the_block_below_it_and_blocks_without_a_form_are_none(log):
    ruled = "".join(f"-----\nExperiment {n}: try {n}\n-----\nEpochs: {n}0\nVal accuracy: 0.8{n}\nDecision: {d}\n\n" for n, d in ((1, "keep"), (2, "discard"), (3, "keep")))
    runs = runs_of(log("tuning_log.txt", ruled), "records")
    assert [(r.label, r.description, r.outcome) for r in runs] == [("1", "try 1", "kept"), ("2", "try 2", "discarded"), ("3", "try 3", "kept")]
    packages = "".join(f"Package: lib{n}\nVersion: 1.{n}\nInstalled-Size: {n}20\nDescription: a library\n\n" for n in range(5))
    assert told(log("packages.txt", packages))["format"] == "prose"


def test_a_ledger_tells_under_an_id_what_it_registered_and_what_came_of_it(log):
    rows = [{"id": f"R{n}", "claim": f"claim {n}", "status": "REGISTERED"} for n in (1, 2, 3)]
    rows += [{"id": f"R{n}", "status": s, "evidence": "9 of 9 drifts"} for n, s in ((1, "CONFIRMED"), (2, "REFUTED"), (3, "PARTIAL"))]
    assert counts(told(log("ledger.jsonl", jsonl(*rows)))) == (3, 1, 1, 0, 0, 1)
    repeats = [{"id": n, "score": s, "status": "keep"} for n in (1, 2) for s in (0.5, 0.6)]
    assert counts(told(log("runs.jsonl", jsonl(*repeats))))[0] == 4
    features = "| # | Feature | Status |\n|---|---|---|\n| 1 | sparse | supported |\n| 2 | dense | unsupported |\n| 3 | packed | supported |\n"
    assert told(log("features.md", features))["format"] == "prose"


def test_one_run_is_one_run(log):
    place = located(log("results.tsv", tsv("commit|ms|status|description", "a1b2c3d|10|keep|base")), "auto")
    assert to_text(summary(place, place.events(Ask()))).startswith("results.tsv: tsv, 1 run, 1 kept")


def test_a_heading_may_name_its_run_behind_other_words_and_a_mark_says_that_it_was_lost(log):
    text = "## Experiment 1 — sRGB (reverted)\n\np95 paint 569.5 ms\n\n## Final design and experiment 2 — flat fill (retained)\n\np95 paint 14.2 ms\n"
    assert [(r.label, r.outcome) for r in runs_of(log("PERF_LOG.md", text))] == [("1", "discarded"), ("2", "kept")]
    rows = "| 1 | depth | ✅ **Win** — broke the ceiling |\n| 2 | pooling | ❌ **Failed** — plateaued |\n| 3 | wider | ❌ Failed: OOM |\n"
    assert counts(told(log("report.md", "| # | Experiment | Verdict |\n|---|---|---|\n" + rows))) == (3, 1, 1, 1, 0, 0)


ITALIAN = ("# Prove\n\n| # | Modifica | Recall | Esito |\n|---|---|---|---|\n| 0 | com'era | 0.45 | riferimento |\n| 1 | maschera | 0.47 | MEGLIO, tenuta |\n| 2 | soglia | 0.49 | MEGLIO |\n"
           "| 3 | bordo | 0.48 | PEGGIO, tornato indietro |\n| 4 | banda | 0.49 | PEGGIO |\n| 5 | nucleo | 0.52 | MEGLIO |\n| 6 | passo | 0.41 | PEGGIO |\n")


def test_words_that_stand_on_every_new_best_and_on_no_other_run_keep_it_in_any_language(log):
    said = told(log("prove.md", ITALIAN))
    assert counts(said) == (7, 3, 3, 0, 0, 1) and said["best"]["value"] == 0.52
    assert any("higher Recall is better, by what was kept: 'meglio' stands on runs that beat those before" in w for w in said["warnings"])
    turkish = told(log("deney.csv", "run,değişiklik,doğruluk,karar\n1,temel,0.81,temel\n2,artırma,0.83,kabul\n3,budama,0.80,ret\n4,dropout,0.84,kabul\n5,mixup,0.86,kabul\n6,cutout,0.82,ret\n7,son,0.85,ret\n"))
    assert (turkish["direction"], turkish["kept"], turkish["discarded"], turkish["best"]["value"]) == ("higher", 3, 3, 0.86)


def test_one_exception_and_words_that_differ_on_every_row_decide_nothing(log):
    assert told(log("one.md", ITALIAN.replace("0.41 | PEGGIO", "0.41 | MEGLIO")))["kept"] is None
    each = "".join(f"| {i} | change {i} | {i / 10} | word{i} |\n" for i in range(1, 9))
    assert told(log("each.md", f"# Tries\n\n| # | Modifica | Recall | Esito |\n|---|---|---|---|\n{each}"))["kept"] is None


KEPT_UP = tsv("commit|quux|status|description", "a1b2c3d|5|keep|as it was", "a1b2c3e|7|keep|tile", "a1b2c3f|6|discard|pad", "a1b2c40|9|keep|fuse", "a1b2c41|12|keep|unroll", "a1b2c42|11|discard|split")


def test_the_runs_that_were_kept_show_which_way_is_better_where_no_name_says_it(log):
    said = told(log("results.tsv", KEPT_UP))
    assert (said["direction"], said["direction_source"], said["best"]["value"]) == ("higher", "kept", 12)
    assert any("higher quux is better, by what was kept: 'kept' stands on runs" in w for w in said["warnings"])
    assert told(log("results.tsv", KEPT_UP), direction="lower")["direction"] == "lower"


@pytest.mark.parametrize("without", ["a1b2c42\t11\tdiscard\tsplit\n", "a1b2c41\t12\tkeep\tunroll\n"])
def test_sorted_rows_and_two_steps_show_no_way(log, without):
    assert told(log("results.tsv", KEPT_UP.replace(without, "")))["direction"] is None


LEDGER = """# Ledger

| # | Change | Before | After | Verdict |
|---|---|---|---|---|
| 1 | clamp | 855 MiB | 580 MiB | kept |
| 2 | presenter | 16.6 fps | 6.3 fps | **reverted** — it starved the upload, which is what every frame waits for |
| 3 | ordering | 19.3 fps | 21.5 fps | kept opt-in; it recovers about half of the bound of row 4 |
| 4 | elision | 18.3 fps | 22.8 fps | measurement only — it prices the barriers of each access |
"""


def test_of_figures_that_no_name_speaks_for_what_comes_again_was_set_and_others_are_named(log):
    climbs = "| Attempt | Date | ZETA | Climb | Notes |\n|---|---|---|---|---|\n| 1 | 2026-06-01 | 0.04 | -39.4 | a |\n| 2 | 2026-06-01 | 0.01 | 74.3 | b |\n| 3 | 2026-06-02 | 0.01 | 93.9 | c |\n"
    assert {r.primary for r in runs_of(log("tuning_log.md", climbs))} == {"Climb"}
    assert any("judged by 'Climb'; ZETA could be meant as well" in w for w in told(log("tuning_log.md", climbs))["warnings"])
    twice = "# Log\n\n" + "".join(f"### Run {n}: {{'lr': 0.0{n}, 'width': {n}}} — val_macro_f1=0.9{n} ({s})\n- Result: 0.9{n} (delta +{n}%)\n\n" for n, s in ((1, "KEEP"), (2, "DISCARD"), (3, "KEEP")))
    assert {(r.primary, r.value) for r in runs_of(log("worklog.md", twice))} == {("val_macro_f1", 0.91), ("val_macro_f1", 0.92), ("val_macro_f1", 0.93)}
    assert counts(told(log("LEDGER.md", LEDGER)))[:3] == (4, 2, 1)
    nested = jsonl(*({"ts": f"2026-09-27T13:39:5{i}", "members": {"rf": i / 3}, "cv": i / 7, "verdict": "drop"} for i in (1, 2)))
    assert {r.primary for r in runs_of(log("log.jsonl", nested))} == {"cv"}


def test_what_an_option_keeps_and_reverts_is_no_run(log):
    text = "# Rewind\n\n| Option | Files | Chat | Use |\n|---|---|---|---|\n| code | Reverted | Kept | a |\n| chat | Kept | Reverted | b |\n| both | Reverted | Reverted | c |\n\n### Undo a failed refactor\n1. open the menu\n2. scroll\n3. choose\n"
    assert told(log("SKILL.md", text))["runs"] == 0


def test_a_table_that_marks_no_run_and_shares_no_column_with_the_trail_is_none_of_it(log):
    text = "# Loop\n\n| Iter | Commit | Kept | Change |\n|---|---|---|---|\n| 1 | `e5ffa80b` | no | a |\n| 2 | `e5ffa80c` | yes | b |\n\n| Mutant | Result |\n|---|---|\n| overlap | killed (9) |\n| clipping | killed (8) |\n"
    assert counts(told(log("report.md", text)))[:3] == (2, 1, 1)


def test_a_heading_says_in_brackets_what_became_of_all_below_it(log):
    text = "# State\n\n### Approaches (ALL FAILED)\n\n| Approach | Result | Notes |\n|---|---|---|\n| skip a round | 1612 | little |\n| store less | 1613 | none |\n"
    assert counts(told(log("STATE.md", text)))[:3] == (2, 0, 2)


def test_a_counter_of_any_name_is_no_figure(log):
    rows = [f"{n}|{f}|keep|step {n}" for n, f in ((1, 9.5), (2, 9.1), (3, 8.0), (4, 8.2))]
    assert {(r.label, r.primary) for r in runs_of(log("results.tsv", tsv("deney|quux|status|description", *rows)))} == {(str(n), "quux") for n in (1, 2, 3, 4)}


def test_events_of_one_training_are_steps_and_no_runs(log):
    rows = [{"event": "start", "t": 1}, *({"event": "step", "loss": 3 / n, "t": n} for n in (2, 3, 4)), {"event": "end", "t": 5}]
    said = told(log("train.jsonl", jsonl(*rows)))
    assert said["runs"] == 0 and any("or they are steps of one" in w for w in said["warnings"])


def test_a_table_in_words_that_nothing_knows_is_a_trail_where_one_of_them_follows_the_figures(log):
    rows = "| 1 | stan | 12.5 | baza |\n| 2 | kafelki | 11.8 | zostaje |\n| 3 | pola | 12.9 | wraca |\n| 4 | simd | 10.1 | zostaje |\n| 5 | nici | 9.4 | zostaje |\n| 6 | krok | 9.9 | wraca |\n"
    said = told(log("dziennik.md", f"# Dziennik\n\n| Nr | Zmiana | Czas (ms) | Decyzja |\n|---|---|---|---|\n{rows}"))
    assert (counts(said), said["best"]["value"]) == ((6, 3, 2, 0, 0, 1), 9.4)


def test_a_row_of_a_leaderboard_that_nothing_names_is_no_run(log):
    rows = "| 1 | 18 | 9.0 | tile |\n| 2 | 0 | 7.0 | base |\n| Total | | 16.0 | |\n"
    said = told(log("leaderboard.md", f"# Leaderboard\n\n| rank | exp | accuracy | desc |\n|---|---|---|---|\n{rows}"))
    assert (said["runs"], said["kept"], said["best"]["value"]) == (2, 2, 9.0)


def test_what_is_called_an_experiment_beside_a_sentence_on_it_is_a_run_and_the_hours_of_a_day_are_no_durations(log):
    rows = (("12:38", "Step to +5 cm", "came back within 1.75 s, parameters frozen"), ("15:22", "Kp of 11", "goes back to the middle, in the right direction"), ("15:28", "Kp of 14", "swings back unacceptably, not adopted"))
    lines = [f"| {' | '.join(row)} |" for row in (("time", "experiment", "conclusion"), ("---",) * 3, *rows)]
    runs = runs_of(log("notes.md", "# Index\n\n" + "\n".join(lines) + "\n"))
    assert [r.description for r in runs] == [what for _, what, _ in rows] and not any(r.primary for r in runs)
    assert [r.outcome for r in runs] == [None, None, Outcome.DISCARDED]
    chinese = [("时间", "实验", "结论"), ("---",) * 3, *((day, what, "球在一秒内持续回到中间，方向正确，参数冻结。") for day, what in (("12:38", "联合静态回中"), ("现场后续", "重复性")))]
    assert len(runs_of(log("index.md", "# 索引\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in chinese) + "\n"))) == 2
    short = [("experiment", "result"), ("---",) * 2, ("Tiling", "see below"), ("Prefetch", "see there")]
    assert not runs_of(log("short.md", "# Index\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in short) + "\n"))


def test_columns_that_blanks_hold_apart_are_a_table_where_rows_have_figures(log):
    trials = "Running 3 trials\n\n number    state val_acc    lr\n      0 COMPLETE  0.7800  3e-4\n      1   PRUNED  0.5094  1e-4\n      2 COMPLETE  0.8672  2e-3\n\nBest trial: 2\n"
    runs = runs_of(log("search.txt", trials))
    assert [(r.label, r.status, r.primary, r.value) for r in runs] == [("0", "COMPLETE", "val_acc", 0.78), ("1", "PRUNED", "val_acc", 0.5094), ("2", "COMPLETE", "val_acc", 0.8672)]
    frame = "  batch      lr  val_loss\n0    16  0.0010     3.412\n1    32  0.0010     3.398\n2    32  0.0005     3.455\n"
    assert [(r.value, r.origin.line) for r in runs_of(log("frame.txt", frame))] == [(3.412, 2), (3.398, 3), (3.455, 4)]
    for name, text in (("steps.txt", "epoch  loss  acc\n1  0.9  0.5\n2  0.8  0.55\n3  0.7  0.6\n"), ("words.txt", "a  b  c\n" + "so  it  goes\n" * 9)):
        assert not runs_of(log(name, text))


def test_a_figure_alone_below_a_row_of_figures_continues_no_text(log):
    path = log("grid.csv", "warps,stages,gflops\n1,16,30548.5\n27359\n31529.1\n2,16,34635\n34516.9\n57494.4\n4,16,21418.9\n")
    events = [*located(path, "auto").events(Ask())]
    assert [e.value for e in events if isinstance(e, Run)] == [30548.5, 34635, 21418.9]
    assert [e.line for e in events if isinstance(e, Remark) and "no row" in e.kind] == [3, 4, 6, 7]


@pytest.mark.parametrize(("won", "lost", "kept"), [("Worked", "Did not work", Outcome.KEPT), ("Helped", "Didn’t help", Outcome.KEPT), ("Odd", "Did not work", Outcome.OTHER)])
def test_what_stands_beside_its_own_denial_was_kept(log, won, lost, kept):
    rows = "".join(f"| {n} | {what} | {gain}x | {status} |\n" for n, (what, gain, status) in enumerate((("Tile the loop", 1.31, won), ("Prefetch", 0.98, lost), ("Unroll by 4", 1.12, won), ("Huge pages", 1.0, lost)), 1))
    runs = runs_of(log("tries.md", f"# Log\n\n| # | Change | Speedup | Result |\n|---|---|---|---|\n{rows}"))
    assert [r.outcome for r in runs] == [kept, Outcome.DISCARDED] * 2


def test_hours_that_no_day_has_are_no_time_and_thumbs_say_what_was_kept(log):
    rows = "".join(f"| {'9' * 5000}:0{n} | try {n} | it went on for a while {mark} | {mark} |\n" for n, mark in enumerate("👍👎👍👎"))
    runs = runs_of(log("tries.md", f"# Log\n\n| time | experiment | conclusion | status |\n|---|---|---|---|\n{rows}"))
    assert [r.outcome for r in runs] == [Outcome.KEPT, Outcome.DISCARDED] * 2
