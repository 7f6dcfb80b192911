"""Forks out of local histories: the fused pass first, with its row of the matrix; nothing called new that upstream has; kinds by evidence in any language."""

import json
import subprocess
from pathlib import Path

import pytest
from heads import HEADS, UP

from kb import KbError, cli, store
from kb.research import git
from kb.research.forks import (
    deltas_of,
    fork_from,
    fork_of_source,
    matrix_of,
    quoted_matrix,
    ranked,
    upstream_of,
)
from kb.source import sources, text_of_source

BUNDLE = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "forks" / "forks.bundle"
OPS = """#include "ops.h"

static void vec_scale(float *x, int n, float s) {
    for (int i = 0; i < n; i++) x[i] *= s;
}

void softmax_row(float *out, const float *in, int n, float scale) {
    memcpy(out, in, n * sizeof(float));
    vec_scale(out, n, scale);
    vec_softmax(out, n);
}

int rows_per_task(int rows) {
    const int tasks = 8;
    return rows / tasks;
}
"""
FUSED = OPS.replace(
    "    memcpy(out, in, n * sizeof(float));\n    vec_scale(out, n, scale);\n",
    "    scale_copy_fused(out, in, n, scale);\n",
).replace(
    "void softmax_row",
    "static void scale_copy_fused(float *out, const float *in, int n, float s) {\n    for (int i = 0; i < n; i++) out[i] = in[i] * s; // one pass\n}\n\nvoid softmax_row",
)


class History:
    """A git repository built commit by commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *identity, *words], cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, message: str, /, **files: str | bytes) -> str:
        for name, text in files.items():
            file = self.folder / name.replace("__", "/").replace("_DOT_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, at: str = "main") -> None:
        self.git("checkout", "-q", "-B", name, at)

    def forks(self, upstream: str = "main"):
        repository = git.of_folder(self.folder)
        known = upstream_of(repository, upstream)
        return {
            f.fork: f
            for f in ranked(
                fork_from(d, known) for d in deltas_of(repository, known, repository.heads())
            )
        }


@pytest.fixture
def history(tmp_path):
    made = History(tmp_path / "engine")
    made.commit(
        "start",
        ops_DOT_c=OPS,
        README_DOT_md="# engine\n\nMeasures tokens/s and latency; throughput counts.\n",
        run_DOT_py="import ops\n\n\ndef main():\n    ops.run(threads=4)\n",
    )
    return made


def test_the_fork_that_fuses_two_passes_is_first_and_has_its_row_of_the_matrix(
    history, tmp_path, monkeypatch, capsys
):
    history.branch("docs-only")
    history.commit(
        "docs: say how to build",
        README_DOT_md="# engine\n\nMeasures tokens/s and latency; throughput counts.\n\nRun make.\n",
    )
    history.branch("fused")
    history.commit(
        "Fuse scale and copy of softmax into one pass\n\npp 210.65 ± 0.64 -> 215.97 ± 1.52 tokens/s",
        ops_DOT_c=FUSED,
    )
    history.branch("logger")
    history.commit(
        "Add a progress display",
        run_DOT_py="import logging\nimport ops\n\nlogger = logging.getLogger()\n\n\ndef main():\n    logger.info('start')\n    ops.run(threads=4)\n",
    )
    history.git("checkout", "-q", "main")
    history.git("bundle", "create", "-q", str(tmp_path / "all.bundle"), "--all", "HEAD")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    assert cli.main(["init"]) == 0
    capsys.readouterr()
    assert (
        cli.main(
            ["research", "forks", "--bundle", str(tmp_path / "all.bundle"), "--format", "json"]
        )
        == 0
    )
    first, *others = json.loads(capsys.readouterr().out)
    assert (first["fork"], first["kind"], first["optimization"], first["in_upstream"]) == (
        "fused",
        "performance",
        True,
        False,
    )
    assert (
        "scale_copy_fused" in first["not_upstream"]
        and "kernel fusion" in first["techniques"]
        and first["symbols"][0] in ("scale_copy_fused", "vec_scale")
    )
    assert {"215.97", "210.65"} <= {c["value"] for c in first["claims"]}
    assert {f["fork"]: f["kind"] for f in others} == {"docs-only": "docs", "logger": "tooling"}
    layout = store.layout_at(home)
    (fused,) = [s for s in sources(layout) if s.origin.endswith("#fused")]
    assert "+    scale_copy_fused(out, in, n, scale);" in text_of_source(layout, fused)
    reading = fork_of_source(layout, fused)
    assert ("scale_copy_fused", ("fused",), ("upstream",)) in matrix_of([reading])
    assert "| `scale_copy_fused` | fused | upstream |" in quoted_matrix(matrix_of([reading]))
    assert cli.main(["research", "forks", "--bundle", str(tmp_path / "all.bundle")]) == 0
    assert "0 captured new" in capsys.readouterr().out


def test_a_range_of_a_clone_reads_like_a_fork(history, monkeypatch, capsys, tmp_path):
    history.branch("fused")
    history.commit("fuse", ops_DOT_c=FUSED)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    cli.main(["init"])
    capsys.readouterr()
    assert (
        cli.main(["research", "git", "main..fused", str(history.folder), "--format", "json"]) == 0
    )
    (row,) = json.loads(capsys.readouterr().out)
    assert row["kind"] == "performance" and "scale_copy_fused" in row["not_upstream"]
    assert (
        cli.main(["research", "git", "main", str(history.folder)]) == 2
        and "write A..B" in capsys.readouterr().err
    )


def test_a_merged_head_is_read_from_where_it_left_and_is_never_called_new(history):
    history.branch("merged")
    history.commit("Fuse two passes", ops_DOT_c=FUSED)
    before = history.forks()["merged"]
    history.git("checkout", "-q", "main")
    history.commit("else", README_DOT_md="# engine\n\nother words, tokens/s\n")
    history.git("merge", "-q", "--no-ff", "-m", "Merge", "merged")
    history.commit("later", ops_DOT_c=OPS)
    fork = history.forks()["merged"]
    assert (
        fork.merged
        and fork.in_upstream
        and fork.not_upstream == ()
        and fork.kind == "performance"
        and fork.files == ("ops.c",)
        and fork.score < before.score / 2
    )


def test_a_rewritten_history_that_repeats_upstream_counts_only_what_is_its_own(history):
    history.commit("tune", run_DOT_py="import ops\n\n\ndef main():\n    ops.run(threads=6)\n")
    history.git("checkout", "-q", "--orphan", "rewritten")
    history.git("reset", "-q", "--hard")
    history.commit(
        "squashed start",
        ops_DOT_c=OPS,
        README_DOT_md="# engine\n\nMeasures tokens/s and latency; throughput counts.\n",
        run_DOT_py="import ops\n\n\ndef main():\n    ops.run(threads=6)\n",
    )
    history.commit(
        "more threads", run_DOT_py="import ops\n\n\ndef main():\n    ops.run(threads=16)\n"
    )
    fork = history.forks()["rewritten"]
    assert (
        fork.files == ("run.py",)
        and fork.base == ""
        and [name for name in fork.not_upstream if "threads=16" in name]
        and "softmax_row" not in fork.not_upstream
    )


def test_what_upstream_made_again_in_other_words_is_not_called_new(history):
    history.branch("guard")
    history.commit(
        "Stop where there are no tasks",
        ops_DOT_c=OPS.replace("return rows / tasks;", "return tasks > 0 ? rows / tasks : rows;"),
    )
    history.git("checkout", "-q", "main")
    history.commit(
        "never divide by no tasks",
        ops_DOT_c=OPS.replace(
            "return rows / tasks;", "return (tasks > 0) ? rows / tasks : 0 + rows;"
        ),
    )
    fork = history.forks()["guard"]
    assert fork.in_upstream and fork.not_upstream == () and not fork.merged


def test_moved_and_reindented_lines_and_other_line_ends_are_no_news(history):
    history.branch("crlf")
    history.commit("windows", ops_DOT_c=OPS.replace("\n", "\r\n").replace("    ", "\t"))
    fork = history.forks()["crlf"]
    assert fork.not_upstream == () and not fork.optimization


def test_a_claim_that_is_taken_back_later_is_marked(history):
    history.branch("fused")
    first = history.commit("Fuse passes: 215.97 tok/s", ops_DOT_c=FUSED)
    history.commit("Unroll: 230.10 tok/s", ops_DOT_c=FUSED.replace("i++) out", "i += 1) out"))
    history.commit("Say that 230.10 tok/s was a measurement error and is withdrawn")
    history.commit(f'Revert "Fuse passes: 215.97 tok/s"\n\nThis reverts commit {first}.')
    claims = {(c.value, c.status) for c in history.forks()["fused"].claims}
    assert ("215.97", "retracted") in claims and ("230.10", "retracted") in claims


def test_binary_vendored_and_locked_files_are_counted_and_left_out(history):
    history.branch("fat")
    history.commit(
        "fuse and vendor",
        ops_DOT_c=FUSED,
        vendor__big_DOT_c="int a;\n" * 500,
        model_DOT_bin=b"\0\1" * 900,
        uv_DOT_lock="x = 1\n" * 90,
    )
    fork = history.forks()["fat"]
    assert sorted(fork.left_out) == [
        "model.bin: binary",
        "uv.lock: vendored, 90 lines",
        "vendor/big.c: vendored, 500 lines",
    ]
    assert fork.kind == "performance" and len(fork.files) == 4


def test_secrets_in_a_diff_are_masked_in_every_file_of_its_capture_and_reported(
    history, tmp_path, monkeypatch, capsys
):
    secret = "ghp_" + "A1b2" * 9
    history.branch("leak")
    history.commit(
        "add uploader",
        upload_DOT_py=f'TOKEN = "{secret}"\nurl = "https://bot:hunter2hunter2@example.org/x"\n',
    )
    history.git("checkout", "-q", "main")
    monkeypatch.chdir(tmp_path)
    cli.main(["init"])
    cli.main(["research", "git", "main..leak", str(history.folder), "--format", "json"])
    layout = store.layout_at(tmp_path)
    (source,) = sources(layout)
    kept = b"".join(f.read_bytes() for f in layout.sources.rglob("*") if f.is_file())
    assert secret.encode() not in kept and b"hunter2hunter2" not in kept
    assert [m.kind for m in source.marks].count("secret") == 2
    assert secret not in capsys.readouterr().out


LANGUAGES = {
    "rust": ("src__lib_DOT_rs", "pub fn sum(xs: &[f32]) -> f32 {\n    let mut s = 0.0;\n    for x in xs { s += x; }\n    s\n}\n", "    for x in xs { s += x; }\n", "    s += xs.par_chunks(4096).map(simd_sum_f32x8).sum::<f32>();\n", "simd_sum_f32x8"),
    "go": ("sum_DOT_go", "package sum\n\nfunc Sum(xs []float64) float64 {\n\ts := 0.0\n\tfor _, x := range xs {\n\t\ts += x\n\t}\n\treturn s\n}\n", "\tfor _, x := range xs {\n\t\ts += x\n\t}\n", "\ts = parallelSum(xs, runtime.NumCPU(), prefetchStride)\n", "parallelSum"),
    "cuda": ("k_DOT_cu", "__global__ void add(float *a, const float *b, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] += b[i];\n}\n", "    if (i < n) a[i] += b[i];\n", "    __shared__ float tile_smem[256];\n    load_tile_vectorized(tile_smem, b, i, n);\n    if (i < n) a[i] += tile_smem[threadIdx.x];\n", "load_tile_vectorized"),
    "python": ("m_DOT_py", "def step(model, x):\n    y = model(x.float())\n    return y\n", "    y = model(x.float())\n", "    y = compiled_step(model, x.to(torch.bfloat16), non_blocking=True)\n", "compiled_step"),
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_performance_work_is_known_by_its_names_in_any_language(tmp_path, language):
    name, text, old, new, symbol = LANGUAGES[language]
    history = History(tmp_path / "x")
    history.commit("start", README_DOT_md="Measures latency and throughput.\n", **{name: text})
    history.branch("fast")
    history.commit("Change the loop", **{name: text.replace(old, new)})
    fork = history.forks()["fast"]
    assert fork.kind == "performance" and fork.optimization, fork.evidence
    assert any(symbol in item for item in fork.not_upstream)


@pytest.mark.parametrize(
    ("message", "files", "kind"),
    [
        ("Raise the learning rate", {"train_DOT_py": "LR = 0.02\nDEPTH = 8\n\n\ndef loss(model):\n    return model(LR, DEPTH)\n"}, "quality"),
        ("Run where there is no GPU of that kind", {"train_DOT_py": "LR = 0.01\nDEPTH = 8\ndevice = 'mps' if torch.backends.mps.is_available() else 'cpu'\n\n\ndef loss(model):\n    return model(LR, DEPTH)\n"}, "port"),
        ("Keep the results of the night", {"results_DOT_tsv": "commit\tval_loss\tstatus\nabc\t0.91\tkeep\n"}, "log"),
        ("Tell more", {"README_DOT_md": "Lower val_loss is better. More words.\n"}, "docs"),
        ("Add a test of the loss", {"tests__test_loss_DOT_py": "def test_loss():\n    assert loss(model) > 0\n"}, "tooling"),
        ("Another program", {"train_DOT_py": "\n".join(f"def ranker_{n}(x):\n    return x + {n}\n" for n in range(40))}, "other"),
    ],
)  # fmt: skip
def test_kinds_follow_files_then_hunks_then_words(tmp_path, message, files, kind):
    program = "LR = 0.01\nDEPTH = 8\n\n\ndef loss(model):\n    return model(LR, DEPTH)\n"
    if kind == "other":
        program += "\n".join(
            f"def layer_{n}(model):\n    return model.layers[{n}]\n" for n in range(40)
        )
    history = History(tmp_path / "x")
    history.commit(
        "start",
        README_DOT_md="Lower val_loss is better; the loss is what counts.\n",
        train_DOT_py=program,
    )
    history.branch("change")
    history.commit(message, **files)
    fork = history.forks()["change"]
    assert fork.kind == kind, fork.evidence
    assert fork.optimization == (kind == "quality")


def test_a_folder_without_git_and_a_name_that_is_an_option_are_refused(tmp_path, history):
    with pytest.raises(KbError, match="no git repository"):
        git.of_folder(tmp_path)
    (tmp_path / "x.bundle").write_text("words")
    with pytest.raises(KbError, match="x.bundle: no git bundle; `git bundle create"):
        git.of_bundle(tmp_path / "x.bundle", tmp_path / "scratch")
    repository = git.of_folder(history.folder)
    with pytest.raises(KbError, match="git log prints 0 MB, more than the limit"):
        repository.run("log", limit=10)
    with pytest.raises(KbError, match="no commit 'nowhere'"):
        upstream_of(repository, "nowhere")
    with pytest.raises(KbError):
        upstream_of(repository, "--upload-pack=touch /tmp/x")


@pytest.mark.corpora
@pytest.mark.skipif(not BUNDLE.exists(), reason="the corpora are not here")
def test_optimizations_of_thirty_pull_requests_stand_first(tmp_path):
    repository = git.of_bundle(BUNDLE, tmp_path)
    upstream = upstream_of(repository)
    rows = {
        f"pr-{r['pr']}": r
        for r in map(json.loads, (BUNDLE.parent / "oracle.jsonl").read_text().splitlines())
        if r["confidence"] != "borderline"
    }
    listed = [
        f
        for f in ranked(
            fork_from(d, upstream) for d in deltas_of(repository, upstream, repository.heads())
        )
        if f.fork in rows
    ]
    wanted = sum(r["is_optimization"] for r in rows.values())
    assert sum(rows[f.fork]["is_optimization"] for f in listed[:wanted]) >= 0.85 * wanted
    assert sum(
        f.kind in (rows[f.fork]["kind"], *rows[f.fork]["also"]) for f in listed
    ) >= 0.8 * len(listed)


NATIVE = [
    ("rename a function", {"ops_DOT_c": OPS.replace("vec_scale", "scale_vec")}, "refactor"),
    ("own file", {"ops_DOT_c": OPS[: OPS.index("int rows_per_task")], "tasks_DOT_c": '#include "ops.h"\n\n' + OPS[OPS.index("int rows_per_task") :]}, "refactor"),
    ("words on softmax", {"ops_DOT_c": OPS.replace("void softmax_row", "// one row at a time, as the paper on attention has it\nvoid softmax_row")}, "docs"),
    ("fix : crash without rows", {"ops_DOT_c": OPS.replace("    const int tasks", "    if (rows == 0) {\n        return -1;\n    }\n    const int tasks")}, "other"),
    ("sixteen of them", {"ops_DOT_c": OPS.replace("tasks = 8", "tasks = 16")}, "performance"),
    ("for the other system", {"ops_DOT_c": OPS.replace('#include "ops.h"\n', '#include "ops.h"\n#ifdef _WIN32\n#include <windows.h>\n#endif\n')}, "port"),
    ("say when a row is done", {"ops_DOT_c": OPS.replace("    vec_softmax(out, n);\n", '    vec_softmax(out, n);\n    fprintf(stderr, "row of %d\\n", n);\n')}, "tooling"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "files", "kind"), NATIVE, ids=[case[0] for case in NATIVE])
def test_kinds_in_a_program_whose_readme_counts_tokens_a_second(history, message, files, kind):
    history.branch("change")
    history.commit(message, **files)
    fork = history.forks()["change"]
    assert fork.kind == kind and fork.optimization == (kind == "performance"), fork.evidence


def test_what_was_measured_to_be_better_says_what_a_change_is_for(history):
    history.branch("ratio")
    history.commit(
        "other tasks\n\nratio 2.47 -> 2.53, 9.8 -> 6.1 MB/s",
        ops_DOT_c=OPS.replace("rows / tasks", "(rows + 1) / tasks"),
    )
    history.branch("rate")
    history.commit(
        "other tasks\n\nratio 2.53 -> 2.47, 6.1 -> 9.8 MB/s",
        ops_DOT_c=OPS.replace("rows / tasks", "(rows + 1) / tasks"),
    )
    forks = history.forks()
    assert {name: fork.kind for name, fork in forks.items()} == {
        "ratio": "quality",
        "rate": "performance",
    }
    assert {(c.value, c.unit) for c in forks["ratio"].claims} >= {
        ("2.47", "ratio"),
        ("2.53", "ratio"),
        ("9.8", "MB/s"),
        ("6.1", "MB/s"),
    }


def test_a_speed_up_that_is_taken_back_is_no_optimization(history):
    commit = history.commit("Fuse passes for more speed", ops_DOT_c=FUSED)
    history.branch("back")
    history.commit(
        f'Revert "Fuse passes for more speed"\n\nIt was wrong for no rows; slower by 15%.\n\nThis reverts commit {commit}.',
        ops_DOT_c=OPS,
    )
    fork = history.forks()["back"]
    assert (fork.kind, fork.optimization) == ("other", False) and fork.score < 0.2


def test_tests_tools_and_tables_beside_a_change_of_the_program_do_not_name_its_kind(history):
    history.branch("table")
    table = "".join(
        f"    0x{n * 2654435761 % 2**32:08X}, 0xFFFA3{n % 1000:03d},\n" for n in range(200)
    )
    history.commit(
        "own rows",
        ops_DOT_c=OPS.replace("return rows / tasks", "return split[rows % 400] / tasks")
        .replace("x[i] *= s", "x[i] *= split[i % 400]")
        .replace("vec_softmax(out, n);", "vec_softmax(out, (int)split[n % 400]);"),
        split_DOT_h="static const unsigned split[] = {\n" + table + "};\n",
        tools__gen_DOT_py="print('a table')\n" * 20,
    )
    history.commit(
        "ci: try it there", tests__test_ops_DOT_c="int main(void) { return rows_per_task(8); }\n"
    )
    assert history.forks()["table"].kind == "performance"


def test_a_branch_by_what_the_compiler_says_of_its_target_is_a_port(history):
    history.branch("order")
    macro = "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n#define SWAPPED 1\n#else\n#define SWAPPED 0\n#endif\n"
    history.commit(
        "the other way round",
        ops_DOT_c=OPS.replace("static void", macro + "static void", 1).replace(
            "x[i] *= s", "x[SWAPPED ? n - 1 - i : i] *= s"
        ),
    )
    assert history.forks()["order"].kind == "port"


def test_figures_of_a_table_carry_the_name_of_their_column(history):
    history.branch("table")
    history.commit(
        "numbers",
        bench__results__a_DOT_csv="commit,level,ratio,mbs\nbase,1,1.78,171.2\nbucket,3,1.98,121.7\n",
        README_DOT_md="Measures tokens/s.\n\n| level | ratio | MB/s |\n|---|---|---|\n| -1 | 2.02 | 188 |\n",
    )
    claims = {(c.value, c.unit) for c in history.forks()["table"].claims}
    assert {("121.7", "mbs"), ("1.98", "ratio"), ("188", "MB/s"), ("2.02", "ratio")} <= claims


STEP = """class Attention:
    def __init__(self, dim, cache_size):
        self.cache = torch.zeros(cache_size, dim, dtype=torch.float32)

    def forward(self, x, mask):
        scores = torch.relu(x @ x.T)
        for step in range(x.shape[0]):
            scores = scores + self.cache[step] * mask
        return scores
"""
NAMES = [
    ("self.cache", "self.kv_buffer", True), ("cache_size", "buffer_len", True), ("scores", "fast_scores", True), ("step", "row", True), ("Attention", "FusedAttention", True),
    ("float32", "bfloat16", False), ("relu", "gelu", False), ("* mask", "* scores", False), ("dtype=", "device=", False), ("import torch", "import fasttorch as torch", False),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "same"), NAMES, ids=[case[1] for case in NAMES])
def test_code_that_is_the_same_up_to_its_own_names_is_a_refactor_whatever_the_names(
    history, old, new, same
):
    program = "import torch\n\n\n" + STEP
    history.commit("attention", model_DOT_py=program)
    history.branch("names")
    history.commit("perf: faster names", model_DOT_py=program.replace(old, new))
    fork = history.forks()["names"]
    assert (fork.kind == "refactor", fork.optimization) == (same, not same), fork.evidence
    assert (fork.score < 0.2) == same


def test_a_loop_that_becomes_an_operation_on_the_same_values_is_performance(history):
    head = "import numpy as np\n\n\ndef train(loss, optimizer, gradient, logits, labels, epochs):\n    total = 0.0\n"
    loop = "    for i in range(len(logits)):\n        total += logits[i] * labels[i]\n    return total\n"
    history.commit("start", README_DOT_md="The lowest val_loss wins.\n", loss_DOT_py=head + loop)
    kinds = {
        "product": ("    return np.dot(logits, labels)\n", "performance"),
        "longer": (loop.replace("logits[i] *", "2 * logits[i] *"), "quality"),
    }
    for name, (body, _) in kinds.items():
        history.branch(name)
        history.commit("the sum", loss_DOT_py=head + body)
    forks = history.forks()
    assert {name: forks[name].kind for name in kinds} == {n: k for n, (_, k) in kinds.items()}


@pytest.mark.parametrize("program", UP)
def test_kinds_of_forty_two_heads_are_those_of_a_reader(tmp_path, program):
    history = History(tmp_path / program)
    named = {path: path.replace("/", "__").replace(".", "_DOT_") for path in UP[program]}
    history.commit("start", **{named[path]: text for path, text in UP[program].items()})
    kinds = {name: kind for name, upstream, kind, _ in HEADS if upstream == program}
    for name, upstream, _, commits in HEADS:
        if upstream != program:
            continue
        history.branch(name)
        files = dict(UP[program])
        for message, edits in commits:
            for edit in edits:
                edit(files)
            for path, text in files.items():
                (history.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (history.folder / path).write_text(text)
            history.commit(message)
        history.git("checkout", "-q", "main")
    forks = history.forks()
    wrong = {name: forks[name].kind for name, kind in kinds.items() if forks[name].kind != kind}
    # That a number was wrong, or that the same is done in other words, is for words to tell, and these do not.
    unknown = {"loaderfix", "mainfn", "deadcode", "split", "bounds", "flags"}
    assert set(wrong) <= unknown, {name: (kinds[name], kind) for name, kind in wrong.items()}


def test_only_the_first_file_of_a_device_language_is_a_port(tmp_path):
    kernel = "__global__ void scale(float *x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] *= 2.0f;\n}\n"
    for upstream, kind in (
        ({"README_DOT_md": "Counts tokens/s.\n"}, "port"),
        ({"one_DOT_cu": kernel}, "tooling"),
    ):
        history = History(tmp_path / kind)
        history.commit("start", **upstream)
        history.branch("more")
        history.commit("one more", two_DOT_cu=kernel.replace("scale", "shift"))
        assert history.forks()["more"].kind == kind
