"""Metrics that experiment pages of many domains report: the headline is read right, and what is open stays unread."""

import json

import pytest

from kb import page, trail
from kb.run.record import Metric
from kb.trail import Facts


def facts(path: str, text: str) -> Facts:
    return trail.read_facts(page.read(f"wiki/experiments/{path}.md", text.encode()), text)


# Pages as loops of other domains write them: what stands there, and the metrics that a reader would note (None: must stay unread).
PAGES = {
    "a title decides between sizes": (
        "gemm/2026-03-01-v014-swizzle",
        """---
title: "v014 — swizzled shared memory: 812.4 TFLOPS at 8192³ (+4.1 % over v013)"
---
Hypothesis of the run before: bank conflicts.

## Results

| size | v013 TFLOPS | v014 TFLOPS | cuBLAS TFLOPS |
|---|---|---|---|
| 4096 | 640.1 | 671.9 | 702.0 |
| 8192 | 780.3 | 812.4 | 843.7 |

Occupancy rises from 37.5 % to 50 %. Registers per thread: 168.
""",
        {"tflop/s": 812.4, "occupancy": 50},
    ),
    "labels of a profiler": (
        "attn/2026-03-01-v007-tma",
        """# v007 TMA loads

## Results

- Duration: 1.84 ms (v006: 2.02 ms)
- SM throughput: 71.3 %
- L2 hit rate: 88.1 %
- Registers/thread: 128 → 112
- Warp stalls: fewer

## Verdict

Accepted. 8.9 % faster than v006 at 2.02 ms.
""",
        {"duration": 1.84, "l2 hit rate": 88.1},
    ),
    "a title names the test that counts": (
        "llama/2026-03-02-v021-q4-repack",
        """---
title: v021 repack Q4_0 for AVX-512, tg128 41.87 t/s
---
## Results

| model | size | test | t/s |
|---|---:|---|---:|
| llama 7B Q4_0 | 3.56 GiB | pp512 | 143.20 ± 0.41 |
| llama 7B Q4_0 | 3.56 GiB | tg128 | 41.87 ± 0.05 |
""",
        {"t/s": 41.87},
    ),
    "heads that hold unit and run": (
        "llama/2026-03-02-v022-fa",
        """# v022 flash attention on CPU

## Benchmark

| Test | t/s master | t/s v022 | Speedup |
|---|---:|---:|---:|
| tg128 | 39.80 | 41.90 | 1.05 |
""",
        {"t/s": 41.9},
    ),
    "percentiles beside a rate": (
        "orders/2026-04-01-v003-covering-index",
        """# Covering index on orders(customer_id, created)

**Outcome**: p95 latency fell from 184 ms to 61.5 ms; throughput went from 1,150 to 2,980 queries/s.

## Results

Measured with pgbench, 16 clients, 5 runs.

- p50 latency: 12.1 ms
- p95 latency: 61.5 ms
- p99 latency: 140 ms (before: 410 ms)
- Throughput: 2,980 queries per second
- Buffer hit ratio 99.2 %
- Index size: 1.2 GiB

Postgres itself plans in 0.4 ms.
""",
        {"p95 latency": 61.5, "p50 latency": 12.1, "p99 latency": 140, "queries/s": 2980},
    ),
    "transactions per second": (
        "bank/2026-04-01-007-wal",
        """# wal_compression=lz4

## Results

pgbench reports 8,412 tps (previous best 7,990 tps), latency average = 1.90 ms.
""",
        {"tps": 8412, "latency": 1.9},
    ),
    "times in seconds and sizes": (
        "build/2026-05-01-exp12-thin-lto",
        """# Exp 12 — ThinLTO

Result: **clean build takes 3 min**, was 7 min. Binary 18.3 MB.

## Results

| | exp 11 | exp 12 | change |
|---|---|---|---|
| Build time | 412 s | 188 s | −54 % |
| Binary size | 19.9 MB | 18.3 MB | −8 % |
| Peak RSS | 9.1 GB | 6.4 GB | −30 % |
| Tests failed | 0 | 0 | |
""",
        {"build time": 188000, "binary size": 18.3, "peak rss": 6.4},
    ),
    "a figure that drops from one to another": (
        "rustc/2026-05-01-v002-cranelift",
        """## Verdict

Keep. Compile time drops to 9.4 s from 15.2 s, test suite wall time is unchanged at 61 s. Incremental rebuilds take 1.1 s.
""",
        {"compile time": 9400},
    ),
    "a decimal without a unit": (
        "gpt/2026-06-01-run-031-muon",
        """# Muon for matrices

## Results

val_bpb 0.9871 (baseline 0.9979), peak_vram_mb: 44210, 1.42M tok/s, training took 300 s.
MFU 39.8%. depth=12, head_dim=128, lr=0.02.

## Verdict

keep: val_bpb went from 0.9979 to 0.9871.
""",
        {"val bpb": 0.9871, "tok/s": 1420000.0, "mfu": 39.8, "peak vram mb": 44210},
    ),
    "the row with the run's number": (
        "gpt/2026-06-02-run-032-swiglu",
        """# SwiGLU

## Results

| run | val_bpb | params (M) | status |
|---|---|---|---|
| 030 | 0.9902 | 48.1 | keep |
| 031 | 0.9871 | 48.1 | keep |
| 032 | 0.9860 | 50.3 | keep |
| nanochat d12 | 0.9990 | 51.0 | published |
""",
        {"val bpb": 0.986},
    ),
    "a sweep that no text decides": (
        "gpt/2026-06-03-run-033-lr-sweep",
        """# Learning rate sweep

## Results

| lr | val_loss | tok/s |
|---|---|---|
| 0.01 | 3.281 | 410,000 |
| 0.02 | 3.266 | 409,000 |
| 0.04 | 3.302 | 411,000 |
""",
        {"val loss": None, "tok/s": None},
    ),
    "a sweep that the title decides": (
        "gpt/2026-06-03-run-034-lr-sweep",
        """# Learning rate sweep: val_loss 3.266 at 0.02

## Results

| lr | val_loss | tok/s |
|---|---|---|
| 0.01 | 3.281 | 410,000 |
| 0.02 | 3.266 | 409,000 |
| 0.04 | 3.302 | 411,000 |
""",
        {"val loss": 3.266},
    ),
    "throughput and latency of a server": (
        "vllm/2026-06-04-v009-chunked-prefill",
        """# v009: chunked prefill

## Results

| Metric | v008 | v009 |
|---|---:|---:|
| Request throughput (req/s) | 11.4 | 13.9 |
| Output token throughput (tok/s) | 2,310 | 2,840 |
| Mean TTFT (ms) | 412 | 220 |
| P99 TPOT (ms) | 48.1 | 51.0 |

TTFT of the reference engine is 180 ms.
""",
        {"req/s": 13.9, "tok/s": 2840, "ttft": 220, "p99 tpot": 51.0},
    ),
    "thousands as k": (
        "api/2026-06-05-v004-pool",
        """# v004: connection pool of 64

## Result

wrk: 12.4k req/s at p99 38 ms, up from 9.8k req/s. Error rate: 0.02 %. CPU usage about 71 %.
""",
        {"req/s": 12400, "error rate": 0.02},
    ),
    "before and after in one sentence": (
        "parse/2026-06-06-v002-slots",
        """# slots

## Results

Median of 9 runs: 512 ns/op before, 431 ns/op after. Allocations: 12 → 7.
""",
        {"allocations": 7},
    ),
    "negative values": (
        "rl/2026-06-07-v005-clip",
        """# clip

## Results

| Metric | v004 | v005 |
|---|---|---|
| Mean reward | −1.45 | −0.92 |
| Accuracy | 61.0% | 63.5% |
| Env steps/s | 41,200 | 43,050 |
""",
        {"reward": -0.92, "accuracy": 63.5, "steps/s": 43050},
    ),
    "nothing measured": (
        "sort/2026-06-08-v012-simd",
        """# simd

## Results

Not measured: it crashed at start. v011 stays at 12.2 ms median time; goal: time 10 ms. Block size 64 ms-aligned.
""",
        {"time": None},
    ),
    "columns before and after": (
        "video/2026-06-09-v003-nvdec",
        """# NVDEC

## Results

| metric | before | after |
|---|---|---|
| FPS | 58 | 91 |
| latency p50 | 17.2ms | 11.0ms |
| GPU memory | 5.1 GiB | 6.0 GiB |
""",
        {"fps": 91, "latency p50": 11.0, "gpu memory": 6.0},
    ),
    "a total beside single queries": (
        "duck/2026-07-03-v010-bloom",
        """# Bloom filter pushdown

## Verdict

Supported. TPC-H SF10 total runtime 8.21 s against 9.87 s on main (−16.8 %). Q9 went from 1.92 s to 1.20 s; Q21 is unchanged at 0.88 s. Peak memory 3.1 GiB.
""",
        {"runtime": 8210, "peak memory": 3.1},
    ),
    "page weight and paint times": (
        "shop/2026-07-04-v002-lazy-images",
        """# Lazy images

## Results

| Metric | Before | After |
|---|---|---|
| LCP (p75) | 3.4 s | 2.1 s |
| CLS | 0.14 | 0.03 |
| Bundle size | 412 kB | 398 kB |
| Lighthouse performance score | 61 | 84 |
""",
        {"lcp": 2100, "cls": 0.03},
    ),
    "a frame time and its target": (
        "render/2026-07-06-v003-clustered",
        """# Clustered shading

## Results

- Frame time: 11.2 ms avg, 14.0 ms p99 (was 16.1 / 22.8)
- FPS: 89
- GPU memory: 1.9 GB

Target: 16.6 ms.
""",
        {"frame time": 11.2, "fps": 89, "gpu memory": 1.9},
    ),
    "a baseline beside a library": (
        "conv/2026-07-07-v001-baseline",
        """# Baseline

Naive kernel. 3.42 ms, 1.2 TFLOPS (8 % of peak).

## Results

| version | time | TFLOPS |
|---|---|---|
| cuDNN | 0.41 ms | 10.1 |
| v001 naive | 3.42 ms | 1.2 |
""",
        {"time": 3.42, "tflop/s": 1.2},
    ),
    "two ranks of one run": (
        "train/2026-07-10-v012-fsdp",
        """# FSDP

## Results

| rank | step time (ms) | tok/s |
|---|---|---|
| rank 0 | 412.0 | 19,880 |
| rank 1 | 412.4 | 19,861 |
""",
        {"step time": 412.0, "tok/s": 19880},
    ),
    "a crash beside the figures of another run": (
        "train/2026-07-11-v013-compile",
        """# torch.compile

Crashed with an OOM at step 0. v012 remains at 19,880 tok/s and 412 ms/step. Expected 22,000 tok/s.

## Verdict

Crash. Needs 82.1 GiB of 80 GiB.
""",
        {"tok/s": None, "step time": None},
    ),
}


@pytest.mark.parametrize(("path", "text", "expected"), PAGES.values(), ids=PAGES)
def test_the_headline_of_a_page_is_read_in_any_domain(path, text, expected):
    read = {m.name: m.value for m in facts(path, text).metrics}
    assert {name: read.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Throughput went from 1,150 to 2,980 req/s.", {"req/s": 2980.0}),
        ("Step time, 253 → 285.4 ms, is worse.", {"step time": 285.4}),
        ("It runs at 256.3 ms/step.", {"step time": 256.3}),
        ("Latency: 4.8 ms/inference; energy: 11.2 mJ.", {"inference time": 4.8, "energy": 11.2}),
        ("The wheel of v002 (latency 9 ms) was slower.", {}),
        ("The prior best (6,559 tok/s, 36.8% MFU) stands.", {}),
        ("Decode latency lies between 3.1 – 3.4 ms.", {}),
        ("Latency is 12.1 ms before and 9.4 ms after.", {}),
        ("The 0.0002 bpb improvement is noise.", {}),
        ("Peak memory: 34.1 GiB of 40 GiB.", {"peak memory": 34.1}),
        ("Latency is 3.5 ms, 12 % lower.", {"latency": 3.5}),
        ("Step time grew by 8 %; the loss is 3 % worse.", {}),
        ("Goal: latency 5 ms; block size 64; `latency_window=12.5`.", {}),
        ("Decode latency was 4.2 ms (it was 5.1 ms).", {"decode latency": 4.2}),
        ("TPS 32,340 → 28,700.", {"tps": 28700.0}),
        ("Ran on 8 GPUs for 300 s with 1.5x the batch.", {}),
    ],
)
def test_a_sentence_gives_what_it_says_of_its_own_run_and_no_more(sentence, expected):
    read = facts("engine/2026-01-02-v003-x", f"# X\n\n## Results\n\n{sentence}\n").metrics
    assert {m.name: m.value for m in read} == expected


def test_a_baseline_reports_the_figures_of_a_baseline():
    text = "# Baseline\n\n## Results\n\n| | t/s |\n|---|---|\n| baseline | 53.9 |\n| published | 61.0 |\n\nBaseline: 12.5 ms latency.\n"
    assert {m.name: m.value for m in facts("llama/2026-01-02-baseline", text).metrics} == {"t/s": 53.9, "latency": 12.5}


def test_sections_of_any_name_that_measure_are_results():
    text = "# X\n\n## Performance\n\n- Latency: 9.5 ms\n\n## Evaluation plan\n\n- Throughput: 12 req/s\n\n## Verdict\n\nKept.\n"
    assert {m.name: m.value for m in facts("engine/2026-01-02-v003-x", text).metrics} == {"latency": 9.5}


def test_a_stated_value_keeps_its_sign_and_unit():
    text = '---\nmetrics: {reward: "-0.92", latency: "~4.8 ms", note: "run 3 of 5"}\n---\n'
    assert [(m.name, m.value, m.unit) for m in facts("engine/2026-01-02-v003-x", text).metrics] == [
        ("reward", -0.92, ""),
        ("latency", 4.8, "ms"),
    ]


def test_a_rate_is_the_same_by_its_short_name():
    run = Facts("a.md", metrics=(Metric("tps", 1200.0, "", "higher"),))
    assert run.metric("tok/s").value == 1200.0 and run.metric("frames/s") is None
    assert Facts("b.md", metrics=(Metric("frames/s", 30.0),)).metric("fps").value == 30.0


@pytest.mark.corpora
def test_metrics_of_the_open_wiki_agree_with_its_oracle(corpora):
    """Its oracle takes the figure of another run's row for the page's own on 13 pages (33 values): 95 % is not to be had there."""
    names = {
        "tok_s": ("tok/s", "tps", "tok/s/chip", "tok/s/device", "throughput/chip"),
        "tok_s_chip": ("tok/s/chip", "tok/s/device"),
        "mfu_pct": ("mfu",),
        "step_ms": ("step time",),
    }
    equal = asked = 0
    for row in map(json.loads, (corpora / "tpu-wiki-truth/experiments.jsonl").read_text().splitlines()):
        data = (corpora / "tpu-wiki" / row["path"]).read_bytes()
        read = {m.name: m.value for m in trail.read_facts(page.read(row["path"], data), page.text_of(data)).metrics}
        for name, value in row["metrics"].items():
            asked += 1
            # Two workers of one run differ by less than half a percent.
            equal += any(abs(read[n] - value) <= 0.005 * abs(value) for n in names[name] if n in read)
    assert asked > 500 and equal / asked > 0.93
