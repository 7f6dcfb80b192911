"""Trails of other languages and habits: what is a run, and how it came out, without `type:`, dates or numbers."""

import pytest

from kb.page import read
from kb.refuted.statement import Statement
from kb.refuted.statements import statements_of
from kb.schema import Verdict, field_verdict, outcome_verdict
from kb.store import value_of
from kb.text.reports import ReportKind, report_of
from kb.trail import experiments
from kb.trail.page_facts import read_facts
from kb.trail.reported import moves_in, report_in


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("verworfen wegen Latenz", Verdict.REFUTED),
        ("nicht bestätigt", Verdict.REFUTED),
        ("bestätigt", Verdict.SUPPORTED),
        ("non confirmé", Verdict.REFUTED),
        ("rechazado", Verdict.REFUTED),
        ("否定，已回滚", Verdict.REFUTED),
        ("不成立", Verdict.REFUTED),
        ("成立，已上线", Verdict.SUPPORTED),
        ("成功", Verdict.SUPPORTED),
        ("没有成功", Verdict.REFUTED),
        ("棄却", Verdict.REFUTED),
        ("подтверждено", Verdict.SUPPORTED),
        ("不确定", Verdict.INCONCLUSIVE),
        ("not merged, slower", Verdict.REFUTED),
        ("switched off after two weeks", Verdict.REFUTED),
        ("进行中", None),
        ("offen", None),
    ],
)
def test_a_verdict_of_another_language_or_habit_is_one_of_ours(text, verdict):
    assert field_verdict(text) == verdict


RUN = "# Synonyme\n\n**Hypothese:** heben den Recall\n\n**Ergebnis:** 0,561 → 0,548\n\n**Fazit:** verworfen.\n"
FOLDER = "# Line joins\n\n**Question.** Can we?\n\n**Result.** The frame gets slower.\n\n**What happened.** Not merged.\n"


@pytest.mark.parametrize(
    "path, text, kind, name",
    [
        ("wiki/Experimente/Synonyme aus Klicks.md", RUN, "experiment", "Synonyme aus Klicks"),
        (
            "wiki/中文/查询.md",
            "# 查询\n\n**假设:** 提高点击率\n\n**结论:** 否定\n",
            "experiment",
            "查询",
        ),
        ("wiki/experiments/line-joins/README.md", FOLDER, "experiment", "line-joins"),
        ("wiki/experiments/line-joins/notes.md", "# Notes\n\nRaw figures.\n", "page", "notes"),
        ("wiki/experiments/lane/README.md", "# The lane\n\nWhat it is about.\n", "index", "README"),
        ("wiki/experiments/README.md", FOLDER, "index", "README"),
        ("wiki/notes/ideas.md", "# Ideas\n\n**Hypothesis:** it may help\n", "concept", "ideas"),
        ("wiki/hypotheses/h.md", RUN, "hypothesis", "h"),
    ],
)
def test_a_run_is_told_by_its_labels_where_its_name_and_type_do_not(path, text, kind, name):
    page = read(path, text.encode())
    assert (page.type, page.name) == (kind, name)


def test_fields_of_another_language_are_found_under_their_english_names():
    page = read("wiki/Experimente/a.md", "---\n状态: 否定\nDatum: 2026-01-14\n---\n# A\n".encode())
    assert (
        page.field("status") == "否定" and page.date == "2026-01-14" and page.type == "experiment"
    )


def test_a_trail_in_german_is_listed_with_its_verdicts(make_base):
    from kb import store
    from kb.build import build

    layout = make_base(
        {
            "wiki/Experimente/Synonyme.md": RUN,
            "wiki/Experimente/BM25.md": RUN.replace("verworfen", "bestätigt"),
        }
    )
    build(layout)
    rows = experiments(store.state(layout))
    assert {e.path.rsplit("/", 1)[1]: e.verdict.canonical for e in rows} == {
        "Synonyme.md": Verdict.REFUTED,
        "BM25.md": Verdict.SUPPORTED,
    }


@pytest.mark.parametrize(
    "heading, listed",
    [
        ("Went nowhere", True),
        ("Backfired", True),
        ("Graveyard", True),
        ("Was nicht funktioniert hat", True),
        ("Ce qui n'a pas marché", True),
        ("失败的尝试", True),
        ("Not buried, only asleep", False),
        ("What paid off", False),
    ],
)
def test_a_list_of_failures_is_told_by_its_heading_in_any_of_many_words(make_base, heading, listed):
    import json

    from kb.build import build

    page = f"# Notes\n\n## {heading}\n\n* SpecAugment time masks: 0.38 to 0.41, slower.\n* Learned filterbanks, 4x slower.\n"
    layout = make_base({"wiki/notes/buried.md": page})
    build(layout)
    lists = [json.loads(f.read_text()) for f in (layout.indexes / "refuted").rglob("*.json")]
    assert ("filterbanks" in json.dumps(lists)) is listed


@pytest.mark.parametrize(
    "text, report",
    [
        ("Congelar el encoder no sirvió de nada.", ReportKind.FAILED),
        ("把学习率提高：没有提升，反而变慢。", ReportKind.FAILED),
        ("キャッシュ追加：効果なし。", ReportKind.FAILED),
        ("Le cache n'a rien apporté.", ReportKind.FAILED),
        ("Größerer Puffer hat nichts gebracht.", ReportKind.FAILED),
        ("Кэш не дал прироста.", ReportKind.FAILED),
        ("Cosine: 0.81 → 0.84, se queda.", ReportKind.STAYED),
        ("计划：尝试更大的批量。", ReportKind.OPEN),
        ("Verworfene Urteile liegen in rejected.tsv.", None),
        ("Elegí dos finales distintas como cobertura.", None),
        ("遅延が悪化しないことを確認する", None),
        ("回帰なし、悪化なし。", None),
        ("没有变慢", None),
        ("Falls es langsamer wird, wird es zurückgenommen.", None),
        ("지연이 악화되지 않는다", None),
    ],
)
def test_a_sentence_of_another_language_reports_what_it_says(text, report):
    assert report_of(text)[0] is report


LEADERBOARD = "# Cronología\n\n| # | Enfoque | precisión | Δ |\n|---|---|---|---|\n| 1 | base pública | 0.83 | — |\n| 2 | corpus combinado | 0.67 | -0.17 |\n| 3 | cot fijo | 0.84 | +0.01 |\n"
LATENCY = "# Essais\n\n| Essai | latence (ms) | Δ |\n|---|---|---|\n| référence | 12.0 | — |\n| prefetch | 13.1 | +1.1 |\n| batch de 16 | 9.8 | -2.2 |\n"


@pytest.mark.parametrize("text, card", [(LEADERBOARD, "corpus combinado"), (LATENCY, "prefetch")])
def test_a_change_against_its_metric_is_a_failure_in_any_language(text, card):
    page = read("wiki/notas.md", text.encode())
    (statement,) = value_of(statements_of(page, text, facts=None), tuple[Statement, ...])
    assert card in statement.text


POOL = "# Connection pool of 64\n\n| pool | req/s |\n|---|---|\n| 32 (current) | 18,200 |\n| 64 | 18,150 |\n\nA larger pool does not raise throughput. The default stays at 32.\n"
KEEP = "# The cache default does not need raising\n\n**Verdict: keep the default at 32 MB. A node refutes the prediction.** Raising it does not help.\n"
PARK = "# Pebble against goleveldb\n\n## Verdict: park with the evidence\n\nThe numbers point both ways.\n"
UNFILLED = "# real-v2 of the corpus\n\n## Técnicas (vs real-v1)\n\n1. Más capas.\n\n## Resultado (a completar)\n\n- [ ] LB: ____\n"
CLOSED = "# Gradients that agree in sign — CLOSED\n\nStatus: **CLOSED 2026-07-20.** Nothing is left to veto. Do not re-propose it.\n\n| run | cos |\n|---|---|\n| a | 0.01 |\n| b | 0.02 |\n"
PILOT = "# Split counts, a pilot\n\nDo not adopt the override.\n\n| splits | ms |\n|---|---|\n| 1 | 7.5 |\n| 8 | 1.9 |\n"
LOGGED = "# Commit late\n\ntried: commits = async (fsync stays on)\nsaw: 12 -> 19 krps, 41 lost.\n=> backed out, breaks the rule.\n"
LIST = "# Ensembling\n\nRank averaging: 0.808 → 0.801, worse.\n\nWeights by CV: +0.005. Overfitted, dropped.\n"


@pytest.mark.parametrize(
    "path, text, kind, verdict",
    [
        ("wiki/perf/pool.md", POOL, "experiment", Verdict.REFUTED),
        ("wiki/docs/findings/sign.md", CLOSED, "experiment", Verdict.REFUTED),
        ("wiki/docs/findings/sign.md", CLOSED.partition("Status")[0], "observation", None),
        ("wiki/bench/splits.md", PILOT, "experiment", Verdict.INCONCLUSIVE),
        ("wiki/experiments/cache/results.md", KEEP, "experiment", Verdict.REFUTED),
        ("wiki/experiments/pebble/results.md", PARK, "experiment", Verdict.INCONCLUSIVE),
        ("wiki/adapters/real-v2/recipe.md", UNFILLED, "page", None),
        ("wiki/experiments/db/pg-04-late.md", LOGGED, "experiment", Verdict.REFUTED),
        ("wiki/ensembling.md", LIST, "page", None),
    ],
)
def test_a_page_that_compares_and_concludes_is_a_run_wherever_it_lies(path, text, kind, verdict):
    page = read(path, text.encode())
    assert page.type == kind
    assert kind != "experiment" or read_facts(page, text).verdict.canonical is verdict


# Statements of many habits: what a line says of a try, in words of no list that the reader was made from.
STATEMENTS = [
    ("**Sharded LRU.** Split by key hash. Hit rate fell 4 points, and p99 went from 11 ms to 14 ms.", True),
    ("- Kachelgröße 32 statt 64: lohnt sich nicht, wieder auf 64 gestellt.", True),
    ("- Virtuelle Texturen haben wir nach zwei Wochen aufgegeben.", True),
    ("- プリフェッチ命令: かえって遅くなったので外した。", True),
    ("- Índice por mes: la latencia subió un 30 %.", True),
    ("- [x] ~~Rewrite blur with FFT~~ crossover only at radius 90, we never go above 20", True),
    ("| Idea | State |\n|---|---|\n| Inline the parser | done |\n| Arena a request | killed |\n| Branch hints | todo |\n| Hash | tried, slower |", True),
    ("- [ ] Separable kernels were slower in a talk", False),
    ("**TinyLFU admission.** Hit rate rose 6 points, in production since March.", False),
    ("- Mesh-Shader: wäre auf alter Hardware langsamer.", False),
    ("- Polyphase FIR. Latency from 18 ms to 11 ms. Staying with it.", False),
    ("- Caché de resultados: pendiente de medir.", False),
    ("- If the latency rises, go back.", False),
    ("- Errors increased last Tuesday, for a disk was full.", False),
    ("- A vendor claims that their driver lowers throughput.", False),
    ("- Region-local queues. Median latency down 18 %. Rolled out everywhere.", False),
    ("- ~~New racks~~ DONE in May.", False),
]  # fmt: skip


@pytest.mark.parametrize("text, fails", STATEMENTS)
def test_a_statement_is_a_failure_by_its_words_its_figures_or_its_place(text, fails):
    text = f"# Notes\n\n{text}\n"
    row = statements_of(read("wiki/notes.md", text.encode()), text, facts=None)
    assert bool(row) is fails


REPORT = "# プリフェッチ\n\n- 日時: 2026-06-19\n- 結論: {}\n\n## 検証\n\n```text\nelapsed ms: 3273\nnodes: 819200\n```\n\n## 判断\n\n{}\n"


@pytest.mark.parametrize(
    "ends, verdict",
    [
        ("採用しない。", Verdict.REFUTED),
        ("不採用。", Verdict.REFUTED),
        ("採用する。", Verdict.SUPPORTED),
    ],
)
def test_a_dated_report_outside_the_folder_of_runs_is_a_run_by_what_it_measured_and_decided(
    ends, verdict
):
    text = REPORT.format(ends, ends)
    page = read("wiki/report/2026-06-19_12-42_prefetch.md", text.encode())
    assert page.type == "experiment"
    assert read_facts(page, text).verdict.canonical == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("running, faster so far", None),
        ("planned: better tiling", None),
        ("pending, improved kernels expected", None),
        ("tbd, faster expected", None),
        ("closed, slower", "refuted"),
        ("completed: improved", "supported"),
    ],
)
def test_only_what_ended_has_its_outcome_behind_it(text, verdict):
    assert outcome_verdict(text) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("drop-in replacement", None),
        ("kill switch added", None),
        ("land grab", None),
        ("select the best", None),
        ("appli", None),
        ("shippe", None),
        ("scrape", None),
        ("drop it", "refuted"),
        ("back out", "refuted"),
        ("dropped, slower", "refuted"),
        ("apply", "supported"),
        ("shipped behind a flag", "supported"),
    ],
)
def test_an_order_is_a_verdict_where_it_stands_alone_or_says_what_to_do(text, verdict):
    assert outcome_verdict(text) == verdict


@pytest.mark.parametrize(
    ("text", "moves", "report"),
    [
        ("Goal: throughput up 3x.", [], None),
        ("**Target:** throughput up 3x.", [], None),
        ("Goal: better throughput.", [], None),
        ("Ziel: Durchsatz steigt auf das 3-fache.", [], None),
        ("Before the fix p99 climbed to 14 ms.", [], None),
        ("Before the fix, it was slower.", [], None),
        ("Before the fix p99 climbed to 14 ms, now p99 fell to 9 ms.", [True], ReportKind.STAYED),
        ("Arena: p99 climbed to 14 ms.", [False], ReportKind.FAILED),
        ("Goal: cut p99; reverted.", [], ReportKind.FAILED),
        ("The goal was 3x, but it ran 4% slower.", [], ReportKind.FAILED),
        # What did not get better was of no use, and what did not get worse tells nothing.
        ("验证损失没有下降。", [False], None),
        ("Arena: der Durchsatz ist nicht gestiegen.", [False], ReportKind.FAILED),
        ("The latency never increased.", [], None),
    ],
)
def test_a_goal_and_what_was_before_the_change_report_nothing(text, moves, report):
    assert ([*moves_in(text)], report_in(text)[0]) == (moves, report)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("CP-R3 = PASS（唯一未达标项为尾部）", "supported"),
        ("complete, gate failed; the further branches were not started", "refuted"),
        ("gate passed on both seeds", "supported"),
        ("RED — 关闭", "refuted"),
        ("⚠️ Partial (K=1024 OOM)", "inconclusive"),
        ("red wire, to be soldered", None),
        ("不采用。它不是降低风险的好方法。", "refuted"),
        ("baseline", "baseline"),
        ("baseline already absorbs what it adds", None),
    ],
)
def test_a_gate_a_light_and_what_stands_behind_a_sign_say_a_verdict(text, verdict):
    assert outcome_verdict(text) == verdict


def test_a_heading_with_a_colon_of_full_width_says_a_verdict():
    text = "# 报告：新架构（2026-08-26）\n\n## 结论：CP-R3 = PASS（尾部 47/50）\n\n## 性能\n\n| | CPU | HTP |\n|---|---|---|\n| step | 80.3 ms | 4.9 ms |\n"
    page = read("wiki/experiments/123-htp.md", text.encode())
    assert read_facts(page, text).verdict.canonical == "supported"


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ('{"H-001": "supports"}', "supported"),
        ('{"H-001": "contradicts", "H-002": "refuted"}', "refuted"),
        ('{"H-001": "supports", "H-002": "contradicts"}', None),
    ],
)
def test_a_verdict_for_each_hypothesis_is_that_of_the_page_where_all_agree(verdicts, verdict):
    text = f"---\nexperiment: exp-001\nverdicts: {verdicts}\n---\n# Result: a sweep\n\nAll runs completed.\n"
    page = read("wiki/experiments/2026-01-02-sweep.md", text.encode())
    assert read_facts(page, text).verdict.canonical in (verdict, "other" if verdict is None else verdict)


def test_what_is_weaker_than_the_rest_and_what_had_no_positive_effect_failed():
    for text in ("Consistently weaker than the heap; catastrophic on small models.", "比前一版还低，注入没有起到正面作用。"):
        assert report_in(text, is_try=True)[0] == "failed"


@pytest.mark.parametrize(("said", "verdict"), [("close negative", Verdict.REFUTED), ("Clear win", Verdict.SUPPORTED), ("CLOSE NEGATIVE. Nothing is left of it.", Verdict.REFUTED), ("to merge", None), ("not negative", None), ("ready soon", None)])
def test_two_words_say_last_how_it_came_out(said, verdict):
    assert outcome_verdict(said) == verdict
