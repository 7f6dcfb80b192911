"""The room `text`: numbers with units, words of every script, sentences, and text that is safe to print."""

import sqlite3
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb import text
from kb.text.reports import ReportKind, report_of


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("from ~49 to 52.8 ± 0.3 tok/s (+7.7 %)", ["~49", "52.8 ± 0.3 tok/s", "+7.7 %"]),
        ("−6.0 % and -0.35%, 3–5 ms, 10-20 %", ["−6.0 %", "-0.35%", "3–5 ms", "10-20 %"]),
        ("16,384 of 1_024, 1e-4, .5, 5E+3", ["16,384", "1_024", "1e-4", ".5", "5E+3"]),
        ("bs=4, 12 layers, batch 128, 3 h", ["4", "12", "128", "3 h"]),
        ("1.31x on 7613 tok/s/chip <= 2 GiB for $12.50", ["1.31x", "7613 tok/s/chip", "<= 2 GiB", "$12.50"]),
        ("v5e-8 2.7.1 47.x 2026-01-02 v024 2x4 abc-3 gpt4o", []),
    ],
)
def test_numbers_are_read_with_sign_spread_range_bound_and_unit(written, numbers):
    assert [written[n.start : n.end] for n in text.numbers_in(written)] == numbers


def test_a_number_says_what_was_written_beside_it():
    (number,) = text.numbers_in("≤ 1,234.50 ms")
    assert (number.value, number.unit, number.bound, number.digits) == (1234.5, "ms", "<=", 2)
    (spread,) = text.numbers_in("12k ± 2 tok/s")
    assert (spread.value, spread.spread, spread.unit) == (12_000, 2000, "tok/s")
    (low,) = text.numbers_in("3-5%")
    assert (low.value, low.high, low.unit) == (3, 5, "%")


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("twenty-five of four thousand and ninety-six, two thirds", [2 / 3, 25, 4096]),
        # The name of an op, of an option, of a place: parts of their words are no numbers.
        ("recv-done and the tied-weight path of your-zone, list-with-none", []),
        ("the two-pass form, level-two", []),
        ("32k tokens, nothing spelt", []),
    ],
)
def test_numbers_in_words_are_whole_words_that_no_hyphen_ties_to_another(written, values):
    assert [n.value for n in text.numbers_in_words(written)] == values


@pytest.mark.parametrize(("cell", "value"), [("**67.04 ± 0.19 t/s**", 67.04), ("`12`", 12), ("0.997 widgets", 0.997), ("47.x", None), ("n/a", None), ("2026-01-02", None), ("12 of 13", None)])
def test_a_cell_is_one_number_or_none(cell, value):
    number = text.number_of(cell)
    assert (number and number.value) == value


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789.,-+–%xkMe± ~<=ms/$a", max_size=30))
def test_numbers_stand_in_order_and_never_overlap(written):
    places = [(n.start, n.end) for n in text.numbers_in(written)]
    assert all(a < b for a, b in places) and all(b <= c for (_, b), (c, _) in zip(places, places[1:], strict=False))


@pytest.mark.parametrize(("spelling", "name", "factor"), [("tokens/sec", "tok/s", 1), ("GiB", "GiB", 2**30), ("kB", "kB", 1000), ("ms/step", "ms/step", 1e-3), ("TFLOP/s", "TFLOP/s", 1e12), ("usec", "us", 1e-6)])
def test_a_unit_has_one_name_and_a_factor(spelling, name, factor):
    unit = text.unit_of(spelling)
    assert (unit.name, unit.factor) == (name, pytest.approx(factor))


@pytest.mark.parametrize(
    ("written", "words"),
    [("编程模型", ["编程", "程模", "模型"]), ("Größe naïve", ["grosse", "naive"]), ("Ёлка", ["елка"]), ("モデル size", ["モデ", "デル", "size"]), ("한국어", ["한국", "국어"]), ("ＡＢＣ", ["abc"]), ("a_b-c 12", ["a", "b", "c", "12"])],
)
def test_words_are_found_in_every_script(written, words):
    assert text.words_of(written) == words


def test_what_is_asked_for_is_what_a_table_of_plain_words_and_forms_holds():
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table t using fts5(body, names, tokenize='unicode61 remove_diacritics 2')")
    body = "编程模型对比 Größe Ёлка ёлки モデル scoped_vmem_limit_kib naïve ﬁne ΆΣΣ İstanbul"
    db.execute("insert into t values (?, ?)", (body, " ".join([*text.names_of(body), *text.words.foreign_forms(body)])))
    for term in text.terms_of(body):
        assert db.execute("select count(*) from t where t match ?", (f'"{term}"',)).fetchone()[0] == 1, term


@pytest.mark.parametrize("forms", ["tiles tile", "batches batch", "fusing fuse", "модели модель моделями", "policies policy"])
def test_forms_of_a_word_share_a_stem(forms):
    assert len({text.stem(word) for word in forms.split()}) == 1


def test_sentences_end_at_their_marks_and_not_behind_short_words_or_in_numbers():
    assert text.sentences_of("This is e.g. Foo, at 3.5 x. And (that!) Fig. 3 shows it. J. Doe\nnext line。你好。再见") == [
        "This is e.g. Foo, at 3.5 x.", "And (that!)", "Fig. 3 shows it.", "J. Doe", "next line。", "你好。", "再见"]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab .!?。Z\n", max_size=80), st.integers(5, 60))
def test_a_cut_text_is_no_longer_than_asked_and_a_beginning(written, most):
    short, flat = text.cut(written, most), " ".join(written.split())
    assert len(short) <= most and (short == flat or flat.startswith(short.rstrip("…")))


HOSTILE = st.text(alphabet=st.sampled_from("a b\n\r\t\x00\x1b\x85\x9b\u061c\u200b\u200d\u202e\u2028\u2029\u2066\ufeff\u00ad\u3164\U000e0041\U000e0100\ud800é模"), max_size=30)


@given(HOSTILE)
def test_one_line_holds_nothing_that_commands(written):
    line = text.one_line(written)
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in line) and "\u3164" not in line and text.one_line(line) == line
    assert text.printable(written).translate({10: None, 9: None}).isprintable() or "\u3164" in written
    line.encode()


def test_what_people_write_is_printed_as_it_is():
    assert text.one_line("Größe – 编程 ü €  5 µs") == "Größe – 编程 ü € 5 µs" and text.printable("a\r\nb\tc\n") == "a\nb\tc\n"


def test_a_matter_and_its_reason_are_one_line_in_which_nothing_is_said_twice():
    assert text.reasoned("Half-res SSAO: rejected by art.", "rejected by art.", ": ") == "Half-res SSAO: rejected by art."
    assert text.reasoned("Huge pages", "Huge pages are split.", " — ") == "Huge pages are split."
    assert text.reasoned("Huge pages", "the kernel splits them", " — ") == "Huge pages — the kernel splits them"


def test_a_list_that_is_cut_says_how_many_more_there_are():
    assert text.head_of(["a", "b", "c"], 2, "and {} more") == ["a", "b", "and 1 more"]
    assert text.head_of(("a", "b"), 2, "and {} more") == ["a", "b"]


def test_nothing_that_failed_is_no_failure():
    for sentence in ("No failed or excluded cases.", "None failed.", "0 failed, 12 passed."):
        assert report_of(sentence, is_try=True)[0] is not ReportKind.FAILED
    assert report_of("It failed on the second input.", is_try=True)[0] is ReportKind.FAILED


def test_a_sentence_without_words_or_of_figures_alone_is_read_at_once():
    for sentence in ("*" * 60_000, "1." * 30_000):
        assert report_of(sentence) == (None, False)


def test_one_thing_is_told_in_the_singular():
    assert [text.counted(n, "index files") for n in (0, 1, 2)] == ["0 index files", "1 index file", "2 index files"]


def test_what_a_thing_spares_is_no_failure_and_what_follows_from_a_figure_may_be():
    assert report_of("only one pass, so no extra allocation") == report_of("covering index, so no heap fetch") == (None, False)
    assert report_of("It misses 35 %, so no long extension.")[0] is report_of("So no.")[0] is ReportKind.FAILED


def test_nothing_that_got_worse_nothing_needed_and_where_a_figure_landed_report_nothing():
    for sentence in (
        "Zero categories regressed.",
        "Every category landed below 0.65.",
        "The net could be a wash or even a loss.",
        "Simpler, no merge needed.",
        "A form of fixed-size blocks.",
        "Der Schritt ist nicht rückgängig zu machen.",
        "还没动的部分：当初否决过。",
    ):
        assert report_of(sentence)[0] not in (ReportKind.STAYED, ReportKind.FAILED), sentence
    for sentence in ("More gaps never beat the grid.", "Trees underperformed.", "No merge.", "Das machten wir rückgängig."):
        assert report_of(sentence)[0] is ReportKind.FAILED, sentence
