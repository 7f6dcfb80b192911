"""Profiles: each format to the same bucket table, real output first; time counted once; broken files named, never half-read."""

import gzip
import json
import marshal
import math
import pstats
import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb import KbError, profiles
from kb.profiles.jsonstream import CHUNK
from kb.profiles.timeline import Track, innermost, spend
from kb.verbs import Result

HERE = Path(__file__).parent / "profiles"
FIXTURES = sorted(p for p in HERE.rglob("*") if p.is_file() and p.name not in ("README.md", "xprof_hlo_stats_host_only.json"))


def shares(profile: profiles.Profile) -> dict[str, float]:
    return {b.name: round(b.share, 4) for b in profile.buckets}


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def trace(events: list[dict]) -> str:
    return json.dumps({"traceEvents": events})


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_shares_of_every_format_add_to_one(path):
    profile = profiles.read(path)
    assert math.isclose(math.fsum(b.share for b in profile.buckets), 1.0, abs_tol=1e-9)
    assert all(b.share > 0 and b.self_time >= 0 for b in profile.buckets)
    assert [b.share for b in profile.buckets] == sorted((b.share for b in profile.buckets), reverse=True)
    assert all(b.exposed is None or b.exposed <= b.self_time + 1e-9 for b in profile.buckets)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_the_format_is_told_by_content_whatever_the_name_and_packing(path, tmp_path):
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = content.replace(b"\r\n", b"\n")
    expected = profiles.read(path)
    forms = [("a.dat", content), ("b", gzip.compress(content))]
    if path.suffix != ".pstats":
        forms += [("c.csv", b"\xef\xbb\xbf" + text), ("d.json", text.replace(b"\n", b"\r\n"))]
    for name, data in forms:
        again = profiles.read(written(tmp_path, name, data))
        assert (again.kind, again.buckets) == (expected.kind, expected.buckets), name


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_reading_twice_gives_the_same_bytes_and_the_forms_agree(path):
    profile = profiles.read(path)
    assert profiles.to_markdown(profile) == profiles.to_markdown(profiles.read(path))
    data = json.loads(Result(profile, "").to_format("json"))
    assert [b["name"] for b in data["buckets"]] == [b.name for b in profile.buckets]
    text = profiles.to_markdown(profile)
    assert text.startswith("## Profile\n")
    assert sum(line.startswith("| ") and line.count("%") == 1 and "Bucket" not in line for line in text.split("\n")) >= len(
        profile.buckets
    )
    assert profiles.query(profile)


def test_a_torch_trace_of_a_host_counts_operators_once_and_its_steps():
    profile = profiles.read(HERE / "torch_cpu.json.gz")
    assert (profile.kind, profile.scope, profile.unit, profile.steps) == ("chrome-trace", "host", "ms", 2)
    assert {"matmul", "elementwise", "normalisation", "idle"} <= set(shares(profile))
    assert next(o for o in profile.ops if o.name == "aten::mm").bucket == "matmul"
    assert not any("ProfilerStep" in o.name or "Optimizer.step" in o.name for o in profile.ops)


def test_a_jax_trace_of_a_host_counts_the_executors_operations_only():
    profile = profiles.read(HERE / "jax_cpu.trace.json.gz")
    assert profile.steps == 3
    assert {o.name for o in profile.ops} >= {"dot", "ynn_fusion", "broadcast_multiply_fusion"}
    assert not any("ThunkExecutor" in o.name or "PjitFunction" in o.name for o in profile.ops)


@pytest.mark.parametrize("name", ["perf_report_callgraph.txt", "perf_report.txt"])
def test_perf_reports_give_self_time_in_ms_where_the_event_is_a_clock(name):
    profile = profiles.read(HERE / name)
    assert profile.unit == "ms" and math.isclose(profile.total, 346.7, abs_tol=0.2)
    assert profile.ops[0].name == "my_sgemm" and math.isclose(profile.ops[0].share, 0.6879, abs_tol=1e-3)
    assert shares(profile).keys() == {"matmul", "normalisation", "w", "transfer", "allocation"}


def test_py_spy_agrees_with_itself_in_its_three_forms():
    for name in ("pyspy_raw.txt", "pyspy.speedscope.json", "pyspy_chrome.json"):
        found = shares(profiles.read(HERE / name))
        assert "matmul" in found and any(b.startswith("json/") for b in found), name
    raw = profiles.read(HERE / "pyspy_raw.txt")
    assert raw.total == 50 and raw.idle_share is None
    assert raw.ops[0].name == "JSONEncoder.iterencode (json/encoder.py)"


def test_a_dump_of_cprofile_gives_own_time_as_pstats_counts_it():
    profile = profiles.read(HERE / "cprofile.pstats")
    stats = pstats.Stats(str(HERE / "cprofile.pstats")).stats
    assert (profile.kind, profile.scope, profile.unit) == ("cprofile", "host", "ms")
    assert math.isclose(profile.total, 1000 * math.fsum(own for _, _, own, _, _ in stats.values()), rel_tol=1e-9)
    assert (profile.ops[0].name, profile.ops[0].count) == ("<genexpr> (w.py)", 366000)


def test_a_number_of_any_size_in_a_dump_is_read(tmp_path):
    table = {("a.py", 1, "f"): (2**70, 2**70, 0.5, 0.5, {}), ("a.py", 9, "größe"): (1, 1, 1.5, 2.0, {("a.py", 1, "f"): (1, 1, 1.0, 1.0)})}
    for version in (2, 3, 4):
        profile = profiles.read(written(tmp_path, "x", marshal.dumps(table, version)))
        assert [(o.name, o.count) for o in profile.ops] == [("größe (a.py)", 1), ("f (a.py)", 2**70)]


def test_callgrind_counts_what_a_function_itself_cost():
    profile = profiles.read(HERE / "callgrind.out")
    assert (profile.kind, profile.unit, profile.total) == ("callgrind", "Ir", 5795124)
    assert [(o.name, o.self_time, o.count) for o in profile.ops[:3]] == [("my_sgemm", 5604906, 3), ("main", 110636, 1), ("softmax_rows", 73755, 3)]


def test_perf_stat_says_where_the_wall_clock_went_and_keeps_its_counters():
    profile = profiles.read(HERE / "perf_stat.txt")
    assert shares(profile) == {"idle": 0.8328, "user": 0.1672} and profile.unit == "ms"
    assert ("page-faults", "72 (47.782 K/sec)") in [(f.name, f.value) for f in profile.facts]
    comma = profiles.read(HERE / "perf_stat_comma.txt")
    assert comma.kind == "perf-stat" and comma.total == 1.24 and comma.idle_share is None


def test_top_down_slots_of_perf_stat_are_the_table(tmp_path):
    text = (
        "\n Performance counter stats for './x' (3 runs):\n\n  1,234,567  cycles  #  3.1 GHz  ( +-  0.1% )\n"
        "  500,000  slots\n  250,000  topdown-retiring  #  50.0 %  retiring\n  50,000  topdown-bad-spec  #  10.0 %  bad speculation\n"
        "  50,000  topdown-fe-bound  #  10.0 %  frontend bound\n  150,000  topdown-be-bound  #  30.0 %  backend bound\n\n"
        "  2.0 +- 0.1 seconds time elapsed  ( +-  0.2% )\n"
    )
    profile = profiles.read(written(tmp_path, "x", text))
    assert profile.unit == "%" and {o.name: o.share for o in profile.ops}["backend bound"] == 0.3
    assert [f.value for f in profile.facts if f.name == "cycles"] == ["1,234,567 (3.1 GHz)"]


def test_a_format_of_another_package_is_found_by_its_entry_point(monkeypatch, tmp_path):
    package = tmp_path / "site"
    (package / "vtune-1.0.dist-info").mkdir(parents=True)
    (package / "vtune-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: vtune\nVersion: 1.0\n")
    (package / "vtune-1.0.dist-info" / "entry_points.txt").write_text("[kb.profiles]\nvtune = vtune_format:FORMAT\n")
    (package / "vtune_format.py").write_text(
        "from kb.profiles import Cost, Format, Reading\n\n"
        "def hotspots(stream, label):\n    rows = [line.split() for line in list(stream)[1:]]\n"
        "    return Reading('vtune', 'host', 'ms', tuple(Cost(n, float(t), float(t), 1) for n, t in rows))\n\n"
        "FORMAT = Format('vtune', 'VTune hotspots', hotspots, line=lambda line: line.startswith('vtune hotspots'))\n"
    )
    monkeypatch.syspath_prepend(package)
    profiles.formats.cache_clear()
    try:
        profile = profiles.read(written(tmp_path, "x", "vtune hotspots\nmatmul 3\nsoftmax 1\n"))
        assert (profile.kind, shares(profile)) == ("vtune", {"matmul": 0.75, "normalisation": 0.25})
        assert "vtune" in profiles.format_names()
    finally:
        profiles.formats.cache_clear()


def test_an_overview_page_without_a_device_shows_no_zero_utilisation():
    profile = profiles.read(HERE / "xprof_overview.json")
    assert profile.scope == "host" and profile.steps == 3 and profile.step_time == 3.8
    assert {f.name for f in profile.facts} == {"steptime_ms_average", "device_type"}


def test_an_export_of_a_host_only_profile_says_that_it_has_no_operations():
    with pytest.raises(KbError, match="taken on a device"):
        profiles.read(HERE / "xprof_hlo_stats_host_only.json")


def test_idle_and_overlap_of_a_gpu_trace_are_as_counted_by_hand():
    profile = profiles.read(HERE / "ranks" / "rank0.json")
    assert math.isclose(profile.total, 0.090)
    assert shares(profile) == {
        "matmul": round(35 / 90, 4),
        "idle": round(20 / 90, 4),
        "collective": round(15 / 90, 4),
        "normalisation": round(10 / 90, 4),
        "transfer": round(10 / 90, 4),
    }
    by_name = {b.name: b for b in profile.buckets}
    assert math.isclose(by_name["matmul"].self_time, 0.040) and math.isclose(by_name["matmul"].exposed, 0.030)
    assert math.isclose(by_name["collective"].exposed, 0.010)
    assert (profile.steps, profile.scope) == (2, "device") and math.isclose(profile.step_time, 0.045)
    assert profile.facts[0].value == "NVIDIA H100 80GB HBM3, 80 GiB, 132 SMs"


def test_ranks_in_a_folder_are_added_up_each_over_its_own_window():
    one, both = profiles.read(HERE / "ranks" / "rank0.json"), profiles.read(HERE / "ranks")
    assert math.isclose(both.total, 2 * one.total) and shares(both) == shares(one) and both.tracks == 2
    assert [f.value for f in both.facts if f.name == "rank"] == ["0 of 2", "1 of 2"]


def test_an_xla_device_counts_its_operations_line_and_takes_the_tools_categories():
    profile = profiles.read(HERE / "jax_tpu.trace.json")
    assert math.isclose(profile.total, 0.140)
    assert {o.name: round(o.self_time * 1000, 6) for o in profile.ops} == {
        "fusion.684": 30,
        "while.1": 30,
        "closed_call.2": 20,
        "all-reduce.3": 20,
        "copy.4": 20,
    }
    assert {o.name: o.bucket for o in profile.ops} == {
        "fusion.684": "matmul",
        "while.1": "while",
        "closed_call.2": "attention",
        "all-reduce.3": "collective",
        "copy.4": "layout",
    }
    assert math.isclose(profile.idle_share, 20 / 140) and profile.steps == 2
    assert "convolution fusion" in profiles.query(profile)


def test_nsys_sums_take_kernels_and_copies_and_leave_the_host_out_of_the_shares():
    profile = profiles.read(HERE / "nsys_stats.csv")
    assert shares(profile) == {"matmul": 0.56, "transfer": 0.2, "attention": 0.16, "quantize": 0.08}
    assert profile.idle_share is None and any("timeline" in w for w in profile.warnings)
    assert profile.facts[0].value.startswith("cudaMalloc 131 ms")


def test_nsys_text_tables_and_traces_read_as_their_csv():
    text = profiles.read(HERE / "nsys_stats.txt")
    assert shares(text) == {"matmul": 0.75, "optimizer": 0.25} and text.ops[0].count == 30
    traced = profiles.read(HERE / "nsys_gpu_trace.csv")
    assert shares(traced) == {"matmul": 0.5, "normalisation": 0.2, "transfer": 0.2, "idle": 0.1}


def test_nsys_host_calls_alone_are_a_table_of_the_host(tmp_path):
    rows = (
        "Time(%),Total Time (ms),Num Calls,Average,Name\n90.0,9.0,3,3.0,cudaLaunchKernel\n10.0,1.0,1,1.0,cudaDeviceSynchronize\n"
    )
    profile = profiles.read(written(tmp_path, "api.csv", rows))
    assert profile.scope == "host" and shares(profile) == {"runtime": 0.9, "wait": 0.1} and math.isclose(profile.total, 10.0)


def test_ncu_weighs_percentages_by_time_in_all_three_forms():
    long = profiles.read(HERE / "ncu_details.csv")
    gemm = next(o for o in long.ops if o.bucket == "matmul")
    assert math.isclose(long.total, 4.0) and gemm.count == 2
    assert [(f.name, f.value) for f in gemm.facts] == [("DRAM", "50.0 %"), ("SM", "80.0 %")]
    wide = profiles.read(HERE / "ncu_raw.csv")
    assert shares(wide) == {"matmul": 0.75, "normalisation": 0.25} and wide.ops[1].facts[0].value == "91.0 %"
    assert {o.name: (o.self_time, o.count) for o in profiles.read(HERE / "ncu_summary.csv").ops} == {
        "gemm_a": (4.0, 2),
        "topk_b": (4.0, 4),
    }


def test_ncu_units_are_read_and_cells_left_empty_repeat_the_row_above(tmp_path):
    text = (
        '"ID","Kernel Name","Stream","Metric Name","Metric Unit","Metric Value"\n'
        '1,"gemm_kernel",7,"gpu__time_duration.sum","nsecond",20000\n'
        ',,,"sm__throughput.avg.pct_of_peak_sustained_elapsed","%",90\n2,"copy_kernel",8,"gpu__time_duration.sum","usecond",5\n,,,"made.up","",n/a\n'
    )
    profile = profiles.read(written(tmp_path, "x", text))
    assert shares(profile) == {"matmul": 0.8, "transfer": 0.2} and profile.ops[0].facts[0].value == "90.0 %"


@pytest.mark.parametrize("name", ["xprof_hlo_stats.json", "xprof_hlo_stats.csv"])
def test_hlo_stats_take_the_category_and_look_through_custom_calls(name):
    profile = profiles.read(HERE / name)
    assert shares(profile) == {"matmul": 0.483, "attention": 0.332, "collective": 0.095, "elementwise": 0.072, "layout": 0.018}
    assert math.isclose(profile.total, 10.0) and profile.ops[0].count == 35


def test_op_profile_counts_each_level_once_and_keeps_what_it_left_out():
    profile = profiles.read(HERE / "xprof_op_profile.json")
    assert shares(profile) == {"matmul": 0.5, "attention": 0.3, "idle": 0.1, "layout": 0.1} and math.isclose(profile.total, 10.0)
    assert {"(rest of convolution fusion)", "closed_call.7"} <= {o.name for o in profile.ops}


def test_framework_stats_are_of_the_device_and_know_its_idle_time():
    assert shares(profiles.read(HERE / "xprof_framework_op_stats.json")) == {"matmul": 0.6, "elementwise": 0.2, "idle": 0.2}


def test_evented_speedscope_counts_self_time_and_gaps():
    profile = profiles.read(HERE / "speedscope_evented.json")
    assert {o.name: round(o.self_time, 6) for o in profile.ops} == {
        "main": 12,
        "matmul (u/model.py)": 10,
        "softmax (u/model.py)": 3,
    }
    assert math.isclose(profile.idle_share, 5 / 30)


def test_self_time_excludes_children_for_begin_and_end_events_too(tmp_path):
    events = [
        {"ph": ph, "name": n, "ts": t, "pid": 1, "tid": 1}
        for ph, n, t in [
            ("B", "outer", 0),
            ("B", "matmul", 10),
            ("E", "matmul", 40),
            ("E", "outer", 100),
            ("B", "left_open", 100),
            ("X", "x", 110),
        ]
    ]
    profile = profiles.read(written(tmp_path, "t", json.dumps(events)))
    assert {o.name: o.self_time for o in profile.ops} == {"outer": 0.07, "matmul": 0.03, "left_open": 0.01}
    assert any("never end" in w for w in profile.warnings)


@pytest.mark.parametrize(
    ("bucket", "names"),
    [
        (
            "matmul",
            (
                "ampere_bf16_s16816gemm_bf16_256x128_nn|triton_tem_fused_mm_3|void mul_mat_vec_q<(ggml_type)12>(void const*)|"
                "aten::convolution_backward|void cutlass::Kernel2<cutlass_80_s16816gemm_relu>(T1::Params)|"
                "sm80_xmma_fprop_implicit_gemm|dot_general.11|ggml_vec_dot_q4_K_q8_K"
            ),
        ),
        (
            "attention",
            "fmha_cutlassF_bf16_sm80|splash_mha_fwd_residuals.1|flash_attn_ext_f16|void flash_fwd_kernel<cutlass::half_t>",
        ),
        (
            "collective",
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)|all-gather-start.3|reduce-scatter.7|collective-permute-done.2",
        ),
        ("quantize", "quantize_q8_1(float const*)|dequantize_row_q4_0|void quantize_mmq_q8_1<0>"),
        (
            "normalisation",
            "void softmax_warp_forward<float>|triton_per_fused_add_native_layer_norm_0|cross_entropy_fwd|rms_norm_f32",
        ),
        (
            "transfer",
            "[CUDA memcpy Host-to-Device]|Memcpy DtoD (Device -> Device)|copy-start.3|aten::copy_|__memmove_avx_unaligned_erms",
        ),
        (
            "layout",
            "transpose.9|dynamic-update-slice.3|void at::native::indexSelectLargeIndex<float>|triton_poi_fused_clone_transpose_1",
        ),
        (
            "reduction",
            "void at::native::reduce_kernel<512, ReduceOp<float, MeanOps>>|aten::topk|void gatherTopK<float>",
        ),
        (
            "elementwise",
            "void at::native::vectorized_elementwise_kernel<4, SoftMaxLike>|fusion.684|triton_poi_fused_mul_silu_4|aten::gelu",
        ),
        ("optimizer", "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>"),
        ("runtime", "cudaLaunchKernel|cuLaunchKernel|hipLaunchKernel"),
        ("wait", "cudaStreamSynchronize|futex_wait_queue|epoll_wait|pthread_mutex_lock"),
        ("allocation", "malloc|operator new(unsigned long)|asm_exc_page_fault"),
        ("interpreter", "_PyEval_EvalFrameDefault"),
        ("idle", "swapper|intel_idle"),
        ("other", "parse_tokens|llama_decode|conversation_step|adminPanel|std::vector<int>::push_back|converse"),
    ],
)
def test_names_of_many_tools_fall_into_their_buckets(bucket, names):
    assert {name: profiles.bucket_of(name) for name in names.split("|")} == dict.fromkeys(names.split("|"), bucket)


def test_a_category_decides_only_where_it_says_enough():
    assert profiles.bucket_of("fusion.1", "convolution fusion") == "matmul"
    assert (
        profiles.bucket_of("closed_call.3", "custom-call", "jit(f)/transpose(jvp(M))/splash_attention/pallas_call") == "attention"
    )
    assert profiles.bucket_of("closed_call.3", "custom-call") == "custom-call"
    assert profiles.bucket_of("parse", "pkg/copy.py") == "pkg/copy.py"
    assert profiles.bucket_of("parse", "kernel") == "other"


def test_many_files_become_few_buckets(tmp_path):
    lines = "".join(f"main;f{i} (mod{i}.py:1) {100 - i}\n" for i in range(40))
    profile = profiles.read(written(tmp_path, "x", lines))
    assert (
        len(profile.buckets) == 13
        and "other" in shares(profile)
        and math.isclose(math.fsum(b.share for b in profile.buckets), 1.0)
    )


BROKEN = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "prose": (b"Dear diary; today 3 things\nhappened.\n", "no profile format known"),
    "other json": (b'{"a": [1, 2, {"b": 3}]}', "no profile format known"),
    "other list": (b"[1, 2]", "no profile format known"),
    "cut trace": (b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "a"}, {"ph": "X", "ts"', "character"),
    "unclosed trace": (b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "a"}', "character"),
    "no events": (b'{"traceEvents": []}', "no operation with any time in it; record timed events"),
    "events are numbers": (b'{"traceEvents": [1, 2]}', "no operation with any time in it; record timed events"),
    "events are an object": (b'{"traceEvents": {"a": 1}}', "no operation with any time in it; record timed events"),
    "zero durations": (b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 0, "name": "a"}]}', "no operation with any time"),
    "nested": (b"[" * 200_000, "nested too deeply|not valid JSON"),
    "long number": (b'{"traceEvents": [' + b"9" * 9000 + b"]}", "not valid JSON"),
    "cut gzip": (gzip.compress(b'{"traceEvents": [' + b'{"ph": "X", "ts": 1, "dur": 2, "name": "a"},' * 99999)[:-200], "gzip"),
    "broken gzip": (b"\x1f\x8b\x08\x00" + b"\x00" * 50, "gzip|empty"),
    "perf.data": (b"PERFILE2" + b"\x00" * 500, "perf report"),
    "sqlite": (b"SQLite format 3\x00" + b"\x00" * 500, "nsys stats"),
    "binary": (bytes(range(256)) * 20, "binary"),
    "frame not there": (
        b'{"shared": {"frames": []}, "profiles": [{"type": "sampled", "unit": "none", "samples": [[4]], "weights": [1]}]}',
        "names another",
    ),
    "weights differ": (
        b'{"shared": {"frames": [{"name": "a"}]}, "profiles": [{"type": "sampled", "samples": [[0]], "weights": [1, 2]}]}',
        "1 samples but 2 weights",
    ),
    "crossed events": (
        (
            b'{"shared": {"frames": [{"name": "a"}, {"name": "b"}]}, "profiles": [{"type": "evented", "events": '
            b'[{"type": "O", "frame": 0, "at": 0}, {"type": "C", "frame": 1, "at": 1}]}]}'
        ),
        "not the innermost",
    ),
    "time goes back": (
        (
            b'{"shared": {"frames": [{"name": "a"}]}, "profiles": [{"type": "evented", "events": '
            b'[{"type": "O", "frame": 0, "at": 5}, {"type": "C", "frame": 0, "at": 1}]}]}'
        ),
        "back in time",
    ),
    "endless weight": (
        b'{"shared": {"frames": [{"name": "a"}]}, "profiles": [{"type": "sampled", "samples": [[0]], "weights": [1e999]}]}',
        "no speedscope file",
    ),
    "endless frame": (
        b'{"shared": {"frames": [{"name": "a"}]}, "profiles": [{"type": "sampled", "samples": [[1'
        + b"0" * 30
        + b']], "weights": [1]}]}',
        "no speedscope file",
    ),
    "endless count": (b"a;b 1\n" + b"a;b 9" + b"9" * 400 + b"\n", "no profile format known"),
    "ncu without duration": (
        b'"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n"0","k","Achieved Occupancy","%","50"\n',
        "no operation with any time in it; run `ncu --csv` with",
    ),
    "nsys without rows": (b"Time (%),Total Time (ns),Instances,Avg (ns),Name\n", "no operation with any time in it; write `nsys stats"),
    "hlo without rows": (b"Rank,HLO op category,HLO op name,#Occurrences,Total self time (us)\n", "no operation with any time in it; export hlo_stats"),
    "cprofile cut": ((HERE / "cprofile.pstats").read_bytes()[:-300], "no dump of cProfile .it ends in the middle"),
    "cprofile of another table": (b"{)\x03i\x01\x00\x00\x00i\x01\x00\x00\x00i\x01\x00\x00\x00i\x01\x00\x00\x000", "no dump of cProfile"),
    "cprofile with code": (b"{)\x03c" + b"\x00" * 40, "a value of kind 'c'"),
    "callgrind without costs": (b"# callgrind format\nevents: Ir\nfn=(1) main\n", "valgrind --tool=callgrind"),
    "perf stat without times": (b" Performance counter stats for 'x':\n\n   <not counted>   cycles\n", "no operation with any time in it; run `perf stat -o FILE"),
    "xprof cut": (b'{"byProgram": {"name": "x"', "character|not valid JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_whole_profile_is_refused_with_its_name_and_a_way_out(case, tmp_path):
    content, message = BROKEN[case]
    path = written(tmp_path, "some file", content)
    with pytest.raises(KbError, match=message) as caught:
        profiles.read(path)
    assert "some file" in str(caught.value)


@pytest.mark.parametrize("kind", profiles.format_names())
@pytest.mark.parametrize(
    "content",
    [
        b"\n",
        b"x,y\n1,2\n",
        b'{"a": 1}',
        b"[]",
        b'[{"ph": "X"}]',
        b'{"profiles": 3}',
        b'{"byProgram": 3}',
        b'{"cols": [3], "rows": [4]}',
        b"# Overhead  Command\n    10%\n",
        b"\xff\xfe\x00",
    ],
)
def test_a_kind_forced_on_the_wrong_file_is_an_error_not_a_crash(kind, content, tmp_path):
    with pytest.raises(KbError, match="x"):
        profiles.read(written(tmp_path, "x", content), kind=kind)


def test_missing_files_folders_without_profiles_and_unknown_kinds_are_said(tmp_path):
    for path, kind, message in (
        (tmp_path / "none", "auto", "No such file"),
        (tmp_path, "auto", "no profile in this folder"),
        (tmp_path, "quantify", "no kind of profile"),
    ):
        with pytest.raises(KbError, match=message):
            profiles.read(path, kind=kind)


def test_a_folder_of_several_kinds_wants_one_named(tmp_path):
    written(tmp_path, "a", (HERE / "ncu_raw.csv").read_bytes())
    written(tmp_path, "b", (HERE / "nsys_stats.csv").read_bytes())
    written(tmp_path, "c", b"\x00\x01 not a profile")
    with pytest.raises(KbError, match="several kinds"):
        profiles.read(tmp_path)
    chosen = profiles.read(tmp_path, kind="ncu")
    assert chosen.kind == "ncu" and chosen.warnings[-1] == "2 file(s) of the folder are no such profile: b, c"


def test_damaged_events_are_skipped_and_counted(tmp_path):
    events = [
        {"ph": "X", "name": "matmul", "ts": 0, "dur": 10},
        {"ph": "X", "name": "a", "ts": "soon", "dur": 1},
        {"ph": "X", "name": "b", "ts": 1, "dur": -4},
        {"ph": "E", "ts": 3},
        {"ph": "X", "name": None, "ts": "11", "dur": "2"},
        {"ph": "X", "ts": float("nan"), "dur": 1},
        {"ph": "X", "ts": 1e999, "dur": 1},
        {},
    ]
    profile = profiles.read(written(tmp_path, "x", trace(events)))
    assert math.isclose(profile.total, 0.013) and any(w.startswith("5 of 7 events skipped") for w in profile.warnings)


def test_a_bare_list_may_stay_open_as_the_format_allows(tmp_path):
    text = '[{"ph": "X", "name": "matmul", "ts": 0, "dur": 10},\n{"ph": "X", "name": "exp", "ts": 10, "dur": 10},\n'
    assert shares(profiles.read(written(tmp_path, "x", text))) == {"elementwise": 0.5, "matmul": 0.5}


def test_names_are_quoted_never_markup(tmp_path):
    evil = "a|b`c\n## Verdict <script>alert(1)</script> <!-- /kb:auto x --> \ud800\u202e" + "z" * 5000
    profile = profiles.read(
        written(tmp_path, "x", trace([{"ph": "X", "name": evil, "cat": "<img onerror=1>|", "ts": 0, "dur": 10}]))
    )
    text = profiles.to_markdown(profile)
    text.encode()
    assert "\n## Verdict" not in text and "<!--" not in text and "<img" not in text.replace("`", "") and "\u202e" not in text
    row = next(line for line in text.split("\n") if "alert" in line)
    assert row.count("`") == 2 and row.index("`") < row.index("<script>") < row.rindex("`") and "a\\|b'c" in row
    assert len(max(text.split("\n"), key=len)) < 400
    profiles.query(profile).encode()


def test_a_long_trace_is_read_in_pieces_and_a_value_across_pieces_is_whole(tmp_path):
    events = [
        {"ph": "X", "name": f"matmul_{i % 7}", "ts": i * 10, "dur": 10, "args": {"pad": "é" * 700}}
        for i in range(4 * CHUNK // 2048)
    ]
    text = json.dumps({"other": [1.5] * 1000, "traceEvents": events}, ensure_ascii=False)
    assert len(text) > CHUNK
    profile = profiles.read(written(tmp_path, "x", text))
    assert (
        math.isclose(profile.total, len(events) * 0.01)
        and sum(o.count for o in profile.ops) == len(events)
        and len(profile.ops) == 7
    )


def reference(tracks: list[list[tuple[int, int]]]) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float], float]:
    """Self and shared time of every event, and idle time, by looking at each unit of time."""
    own, shared, idle = defaultdict(float), defaultdict(float), 0.0
    busy = [(s, e) for track in tracks for s, e in track if e > s]
    for at in range(min((s for s, _ in busy), default=0), max((e for _, e in busy), default=0)):
        owners = []
        for lane, track in enumerate(tracks):
            running = [(s, -e, i) for i, (s, e) in enumerate(track) if s <= at < e]
            if running:
                owners.append((lane, max(running)[2]))
        for owner in owners:
            own[owner] += 1
            shared[owner] += 1 / len(owners)
        idle += not owners
    return own, shared, idle


interval = st.tuples(st.integers(0, 60), st.integers(0, 25)).map(lambda t: (t[0], t[0] + t[1]))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(interval, max_size=12), min_size=1, max_size=3))
def test_time_on_tracks_agrees_with_the_slow_reference(tracks):
    numbers, made = {}, []
    for lane, events in enumerate(tracks):
        made.append(Track())
        for i, (start, end) in enumerate(events):
            made[-1].add(start, end, op=numbers.setdefault((lane, i), len(numbers)))
    spent = spend(made, bucket_by_op=[str(n) for n in range(len(numbers))])
    own, shared, idle = reference(tracks)
    assert all(math.isclose(spent.self_time[n], own[key], abs_tol=1e-9) for key, n in numbers.items())
    assert all(math.isclose(spent.wall[n], shared[key], abs_tol=1e-9) for key, n in numbers.items())
    assert math.isclose(spent.idle, idle, abs_tol=1e-9)
    busy = [(s, e) for events in tracks for s, e in events if e > s]
    window = max((e for _, e in busy), default=0) - min((s for s, _ in busy), default=0)
    assert math.isclose(math.fsum(spent.wall) + spent.idle, window, abs_tol=1e-6)
    assert all(exposed <= wall + 1e-9 for exposed, wall in zip(spent.exposed, spent.wall, strict=True))
    for track in made:
        segments = list(innermost(track))
        assert all(a[1] <= b[0] and a[0] < a[1] for a, b in pairwise(segments))


def nested(generator: random.Random, start: int, end: int, depth: int) -> list[tuple[str, int, int, int]]:
    """A random call tree in [start, end] as (name, start, end, self time)."""
    children, inner, at = [], 0, start
    while depth and end - at > 2 and generator.random() < 0.7:
        begin = generator.randint(at, end - 2)
        finish = generator.randint(
            begin + 1, end - (begin == start)
        )  # never just its parent's time: which is which could not be told
        children += nested(generator, begin, finish, depth - 1)
        inner += finish - begin
        at = finish
    return [(f"f{generator.randrange(9)}", start, end, end - start - inner), *children]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_random_nested_trace_gives_each_name_its_self_time_in_any_order_of_events(seed, tmp_path_factory):
    generator = random.Random(seed)
    calls = nested(generator, 0, generator.randint(5, 400), 5)
    expected = defaultdict(int)
    for name, _, _, own in calls:
        expected[name] += own
    events = [{"ph": "X", "name": n, "ts": s, "dur": e - s, "pid": 1, "tid": "main"} for n, s, e, _ in calls]
    generator.shuffle(events)
    profile = profiles.read(written(tmp_path_factory.getbasetemp(), "random", trace(events)))
    assert {o.name: round(o.self_time * 1000) for o in profile.ops} == {n: t for n, t in expected.items() if t}
    assert math.isclose(profile.total * 1000, calls[0][2], abs_tol=1e-6)


def test_notes_about_a_profile_stay_text_where_a_profile_is_read(tmp_path):
    assert (
        profiles.profile_or_text(written(tmp_path, "n.md", "convolution fusion is 60% of the step\n"))
        == "convolution fusion is 60% of the step\n"
    )
    assert profiles.profile_or_text(HERE / "ranks") == profiles.read(HERE / "ranks")


def test_the_command_prints_the_section_the_json_and_the_query(kb_command, tmp_path):
    path = HERE / "nsys_stats.csv"
    section = kb_command("profile", "summarize", path, cwd=tmp_path).stdout
    assert (
        section.startswith("## Profile\n")
        and "| Bucket | % of time | Top op | Self time |" in section
        and "| matmul | 56.0% |" in section
    )
    assert (
        json.loads(kb_command("profile", "summarize", path, "--format", "json", cwd=tmp_path).stdout)["buckets"][0]["name"]
        == "matmul"
    )
    assert kb_command("profile", "summarize", path, "--format", "query", cwd=tmp_path).stdout.startswith(
        "matmul 56%: mul_mat_vec_q"
    )
    wrong = kb_command("profile", "summarize", path, "--kind", "speedscope", cwd=tmp_path, ok=(2,))
    assert "nsys_stats.csv" in wrong.stderr and not wrong.stdout


def test_the_folder_of_a_frame_does_not_decide_its_bucket():
    assert profiles.bucket_of("step (loop/copy/train.py)", "loop/copy/train.py") == "loop/copy/train.py"
    assert profiles.bucket_of("softmax (loop/train.py)", "loop/train.py") == "normalisation"


@pytest.mark.parametrize(
    ("name", "bucket"),
    [
        ("/home/u/loop/foo_bar", "other"), ("loop/foo_bar", "other"), ("C:\\u\\softmax\\foo", "other"), ("~/loop/bin/bench", "other"),
        ("/home/u/loop/gemm_kernel", "matmul"), ("[/home/u/loop/lib.so]", "loop/lib.so"), ("[loop.so]", "loop.so"), ("/x/loop.so.6", "x/loop.so.6"),
        ("/home/u/loop/lib.so+0x12", "loop/lib.so+0x12"), ("/usr/lib/memcpy.so`parse", "other"), ("py::parse:/home/u/loop/copy.py", "other"),
        ("JS:~parse file:///home/u/softmax/x.mjs:3:1", "other"), ("torch/loop/copy.py(1501): parse", "other"), ("copy.py(12): softmax", "normalisation"),
        ("github.com/u/loop/pkg.memcpy", "transfer"), ("github.com/u/softmax/pkg.(*T).Parse", "other"), ("jit(f)/while/body/dot_general", "matmul"),
        ("[unknown]", "other"), ("[CUDA memcpy Host-to-Device]", "transfer"), ("Foo::operator/(int)", "other"), ("dot.3:1", "matmul"),
    ],
)
def test_no_path_decides_a_bucket(name, bucket):
    assert profiles.bucket_of(name) == bucket


def test_a_program_or_a_file_named_like_an_operation_is_none(tmp_path):
    folded = written(tmp_path, "a", "main;/home/u/loop/parse 6\nmain;[/home/u/softmax/lib.so] 3\nmain;step (loop) 1\n")
    assert shares(profiles.read(folded)) == {"other": 0.6, "softmax/lib.so": 0.3, "loop": 0.1}
    report = written(tmp_path, "b", "  60.00%  softmax  softmax  [.] 0x0000000000001240\n  40.00%  softmax  softmax  [.] memcpy\n")
    assert shares(profiles.read(report)) == {"softmax": 0.6, "transfer": 0.4}
    grind = written(tmp_path, "c", "# callgrind format\nevents: Ir\nob=/home/u/softmax/bench\nfl=/home/u/loop\nfn=step\n1 7\nfn=/home/u/copy/parse\n1 3\n")
    assert shares(profiles.read(grind)) == {"u/loop": 1.0}
