"""The gate against drafts that are wrong in every way we could think of, and honest ones with awkward quotes. Cases: tests/gate/."""

import json
import unicodedata
from pathlib import Path

import pytest

from kb import claims
from kb.claims import Captured, Quotable, ruling_on
from kb.ingest import admission
from kb.ingest.tasks import DraftClaim

HOME = Path(__file__).parent / "gate"


def rulings(name: str):
    """Every draft of one sort with the gate's ruling and the text that it cites."""
    for folder in sorted({f.parent for f in HOME.rglob(f"{name}.jsonl")}):
        passages = tuple(Quotable(f.stem, Captured(f.read_text(encoding="utf-8"))) for f in sorted(folder.glob("*.md")))
        texts = {p.origin: p.captured.text for p in passages}
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            yield case, ruling_on(case["claim"], case["quote"], origin=case["source"], passages=passages), texts.get(case["source"], "")


@pytest.fixture(scope="module")
def wrong():
    return list(rulings("adversarial"))


@pytest.fixture(scope="module")
def honest():
    return list(rulings("honest"))


# What needs no reading of the sense: none of these drafts may even be doubted.
REFUSED = ("invented quote", "stitched", "stitched quote", "other source", "other-source", "quote of another source")


def test_invented_quotes_and_orders_are_refused_and_not_only_doubted(wrong):
    drafts = [(case["claim"], ruling) for case, ruling, _ in wrong if case.get("kind", "").startswith("form") or case.get("kind") in REFUSED]
    assert len(drafts) > 30
    assert [claim for claim, ruling in drafts if not ruling.reason or ruling.undecided] == []


def test_few_wrong_drafts_enter_by_rules_alone(wrong):
    entering = [case["claim"] for case, ruling, _ in wrong if not ruling.reason]
    assert len(entering) <= 0.15 * len(wrong), "\n".join(entering)


def test_honest_drafts_are_doubted_sometimes_and_refused_hardly_ever(honest):
    refused = [(case["claim"], ruling.reason) for case, ruling, _ in honest if ruling.reason and not ruling.undecided]
    doubted = [(case["claim"], ruling.reason) for case, ruling, _ in honest if ruling.undecided]
    assert len(refused) <= 0.015 * len(honest), refused
    assert len(doubted) <= 0.1 * len(honest), doubted


def test_what_enters_stands_at_its_place(honest):
    for case, ruling, text in honest:
        if not ruling.reason:
            assert letters(text[ruling.span.start : ruling.span.end]) == letters(case["quote"])


def letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text.replace("×", "x")) if c.isalnum())


def test_offsets_of_a_piece_are_those_of_its_whole_text():
    text = "Nothing here. " * 20 + "The kernel moves 12 GB each second."
    piece = Quotable("sources/a", Captured(text[200:]), 200)
    ruling = ruling_on("The kernel moves 12 GB each second.", "The kernel moves 12 GB each second.", origin="", passages=[piece])
    assert text[ruling.span.start : ruling.span.end] == "The kernel moves 12 GB each second."


def test_a_quote_that_is_not_there_is_told_where_it_departs():
    passage = Quotable("sources/a", Captured("The second pass reads everything again."))
    reason = ruling_on("The second pass reads nothing.", "The second pass reads nothing at all", origin="sources/a", passages=[passage]).reason
    assert "departs from the text behind “The second pass reads”" in reason


def test_what_a_printed_page_puts_between_its_lines_is_no_part_of_them():
    sentences = "The bus runs at 40 MHz when the host is awake and drops to 4 MHz in sleep. " * 3
    words = sentences.split()
    lines = [f"{n:3}  {' '.join(words[5 * n - 5 : 5 * n])}" for n in range(1, 15)]
    text = "\n".join([*lines[:7], "", "Manual 7                     Page 1 of 2", "", *lines[7:]])
    passage = Quotable("sources/a", Captured(text))
    claim, quote = "In sleep the bus drops to 4 MHz.", "The bus runs at 40 MHz when the host is awake and drops to 4 MHz in sleep"
    ruling = ruling_on(claim, quote, origin="", passages=[passage])
    assert not ruling.reason
    assert text[ruling.span.start : ruling.span.end].startswith("The bus runs")


ONE_PAIR = "The decoder took 12 ms before and 8 ms after, with 40 entries"


@pytest.mark.parametrize(
    ("claim", "quote", "outcome"),
    [
        ("The decoder became faster by 50 %.", ONE_PAIR, "enters"),
        ("The decoder takes 4 ms less than before.", ONE_PAIR, "enters"),
        ("The decoder takes 5 ms less than before.", ONE_PAIR, "refused"),
        ("The decoder takes 4 ms less than before.", f"{ONE_PAIR}, and 30 ms idle", "doubted"),
    ],
)
def test_what_lies_between_two_numbers_enters_where_the_quote_has_no_third_of_their_unit(claim, quote, outcome):
    ruling = ruling_on(claim, quote, origin="", passages=[Quotable("sources/a", Captured(f"{quote}.\n"))])
    assert ("doubted" if ruling.undecided else "refused" if ruling.reason else "enters") == outcome, ruling.reason


@pytest.mark.parametrize(
    ("lines", "quote"),
    [
        ([f"{n} {0.9 - n * 0.007:.3f} 32" for n in range(1, 31)], "12 0.816 32"),
        ([f"{n} conv{n} {0.9 - n * 0.007:.3f}" for n in range(1, 31)], "12 conv12 0.816"),
        ([f"{n} Stage {n} of the line\n   holds a buffer of {n + 6} MB" for n in range(1, 15)], "3 Stage 3 of the line\n   holds a buffer of 9 MB"),
        ([f"{n} the stage\n\n   holds a buffer of {n + 6} MB\n" for n in range(1, 15)], "holds a buffer of 9 MB"),
    ],
)
def test_what_counts_its_rows_or_items_keeps_their_numbers_and_what_stands_below(lines, quote):
    text = "\n".join(lines)
    captured = Captured(text)
    span = captured.find(quote)
    assert captured.text == text
    assert text[span.start : span.end] == quote


def test_a_quote_with_the_number_of_its_first_line_stands_in_a_page_that_counts_its_lines():
    text = "\n".join(f"{n:3}  and so the bus goes on in line" for n in range(1, 20))
    captured = Captured(text)
    assert captured.find("12  and so the bus goes on")


TABLE = "Median times in ms.\n\n| pass | plain | fused |\n|---|---|---|\n| first | 12 | 9 |\n| last | 31 | 24 |\n"


@pytest.mark.parametrize(
    ("claim", "quote", "enters"),
    [
        ("The first pass takes 9 ms fused.", "first | 12 | 9", True),
        ("The first pass takes 9 s fused.", "first | 12 | 9", False),
        ("Fused, the first pass is 3 ms shorter.", "first | 12 | 9", True),
        ("Fused, the first pass is 4 ms shorter.", "first | 12 | 9", False),
    ],
)
def test_a_table_is_read_with_its_caption_and_what_lies_between_its_numbers(claim, quote, enters):
    passage = Quotable("sources/a", Captured(TABLE))
    assert bool(ruling_on(claim, quote, origin="", passages=[passage]).reason) is not enters


def test_a_column_of_numbers_below_a_head_that_names_something_is_no_count_of_rows():
    counts, devices = (Captured(f"| {head} | t/s |\n|---|---|\n| 1 | 40 |\n| 2 | 71 |\n") for head in ("Nr.", "GPUs"))
    labels = [[cell.label for cell in text.table_around(text.find("71"))] for text in (counts, devices)]
    assert labels == [[], ["1", "2"]]


def test_a_quantity_whose_unit_is_a_sign_alone_is_no_bare_number_of_the_claim():
    quantity = claims.ClaimedQuantity(subject="C3", quantity="rows", value=3, unit="%")
    item = DraftClaim(section="", claim="The C3 has 3 rows.", quote="q", quantity=quantity)
    assert "is not what the claim states" in admission._quantity_reason(item, None)


TRIES = "Tries of the week, all of them on one host.\n\n# | try | t/s | vs base | notes\n|---|---|---|---|---|\n1 | warps=8 | 65.8 | -1.8% | reduction costs more\n2 | rows=2 | 66.7 | -0.5% | spills\n3 | vendor call | 64.9 | -3.2% | not competitive for vectors\n"
CLIMB = "The climb.\n\nconfig | time | speedup |\n|---|---|---|\nfp32 | 14.4 s | 1.00x |\nbf16 | 8.4 s | 1.72x |\n"


@pytest.mark.parametrize(
    ("text", "claim", "quote", "outcome"),
    [
        (TRIES, "Two rows cost 0.5 %.", "2 | rows=2 | 66.7 | -0.5% | spills", "enters"),
        (TRIES, "Eight warps brought -1.8 % against the base.", "1 | warps=8 | 65.8 | -1.8%", "enters"),
        (TRIES, "The vendor call is competitive for vectors.", "not competitive for vectors", "refused"),
        (CLIMB, "The decoder was 1.72x faster in bf16 than in fp32.", "bf16 | 8.4 s | 1.72x", "enters"),
        (CLIMB, "The decoder was 1.72x slower in bf16 than in fp32.", "bf16 | 8.4 s | 1.72x", "doubted"),
    ],
)
def test_a_table_without_outer_marks_is_one_and_a_column_that_counts_its_rows_says_nothing_of_them(text, claim, quote, outcome):
    ruling = ruling_on(claim, quote, origin="", passages=[Quotable("sources/a", Captured(text))])
    assert ("doubted" if ruling.undecided else "refused" if ruling.reason else "enters") == outcome, ruling.reason


@pytest.mark.parametrize(
    ("claim", "enters"),
    [
        ("The heron landed at 43.2 % utilisation.", True),
        ("The plover landed at 43.2 % utilisation.", False),
        ("The plover landed at 39.9 % utilisation.", True),
        ("The heron landed at 39.9 % utilisation.", False),
        ("Utilisation was 43.2 % with the heron.", True),
    ],
)
def test_a_clause_that_leaves_out_what_it_shares_keeps_its_number_for_itself(claim, enters):
    quote = "The heron landed at 43.2 % utilisation (8.5 % over the reference), the plover at 39.9 % (0.3 %)"
    ruling = ruling_on(claim, quote, origin="", passages=[Quotable("sources/a", Captured(f"{quote}.\n"))])
    assert bool(ruling.reason) is not enters, ruling.reason


PRINTED = "Preset 0  is  sometimes  faster than level 9  while\ncompressing  much  better.   The  higher  ones  have\nspeed comparable to the old one.\n"
LATER = "The first kernel merges what the second splits, but there is no corresponding overlap of the backward scatter.\n"


@pytest.mark.parametrize(
    ("text", "claim", "outcome"),
    [
        # A word in the place of another: a name, a count, a unit, and the contrary of one of two comparing words.
        ("Humidity in IP hives stayed high for 61 days, against 22 days in WQ hives.", "Humidity in WQ hives stayed high for 61 days.", "doubted"),
        ("A program that loads two libraries writes three files at its end.", "A program that loads two libraries writes two files at its end.", "doubted"),
        ("A cooler moves 0.6 m³ of air per second.", "A cooler moves 0.6 m³ of air per minute.", "doubted"),
        ("The value is given in terms of bytes per second.", "The value is given in bits per second.", "doubted"),
        ("The value is given in terms of bytes per second.", "The value is given in bytes per second.", "enters"),
        ("A larger queue will require more memory.", "A larger queue requires less memory.", "doubted"),
        ("A larger queue will require more memory.", "A larger queue requires more memory.", "enters"),
        # Some of them, and what is left out of them.
        ("Two of the five fenders on the east side leak.", "The fenders on the east side leak.", "doubted"),
        ("Two of the five fenders on the east side leak.", "Two of five fenders on the east side leak.", "enters"),
        ("All moorings except numbers 12 and 14 have been inspected.", "All moorings have been inspected.", "refused"),
        ("All moorings except numbers 12 and 14 have been inspected.", "All moorings but numbers 12 and 14 have been inspected.", "enters"),
        ("Without the retimer a link may be no longer than 1.5 m.", "A link may be no longer than 1.5 m.", "refused"),
        ("There is a known issue in\nCargo prior to version 1.39 that breaks profiles.", "A known issue in Cargo breaks profiles.", "doubted"),
        # A denial of a thing behind its adjective, and one that the claim adds.
        (LATER, "There is an overlap of the backward scatter.", "refused"),
        ("Compiling the decoder cut latency.", "Compiling the decoder did not cut latency.", "doubted"),
        ("Compiling the decoder left latency as it was.", "Compiling the decoder did not cut latency.", "enters"),
        # Units and powers.
        ("A model at that rate takes 30 GB/s of memory.", "A model at that rate takes 30 Gb/s of memory.", "refused"),
        ("The link gives 90 GB/s per axis on the P, 45 GB/s on the E.", "The link gives 45 MB/s on the E.", "refused"),
        ("The memory of the E moves 8.1×10¹¹ B/s.", "The memory of the E moves 810 GB/s.", "enters"),
        # Bounds behind markup, and in other words.
        ("A star is shown if the p-value is less than `0.05`.", "A star is shown if the p-value is below 0.05.", "enters"),
        ("A star is shown if the p-value is less than `0.05`.", "A star is shown if the p-value is above 0.05.", "doubted"),
        ("The runtime leaves on the order of 6 KB at its end.", "The runtime leaves about 6 kB at its end.", "enters"),
        # What a printed page fills to its margin is no table.
        (PRINTED, "Preset 0 is faster than level 9 while compressing much better.", "doubted"),
        # A share of two counts is no third one.
        ("The agent ran ~120 experiments, producing 93 commits.", "The agent ran about 130 experiments, producing 93 commits.", "refused"),
        # A comparison of two numbers is a reader's to check.
        ("Rejection was 99.2 % for the GPM and 99.5 % for the FPM.", "Rejection was higher with the GPM than with the FPM.", "doubted"),
        ("With wind above force 6 a crossing needed 160 kWh.", "In winds stronger than force 6 a crossing needed 160 kWh.", "enters"),
    ],
)
def test_what_a_claim_adds_to_its_quote_drops_from_it_or_puts_in_its_place(text, claim, outcome):
    quote = text.strip().rstrip(".") if text is not PRINTED else "Preset 0  is  sometimes  faster than level 9  while\ncompressing  much  better"
    ruling = ruling_on(claim, quote, origin="", passages=[Quotable("sources/a", Captured(text))])
    assert ("doubted" if ruling.undecided else "refused" if ruling.reason else "enters") == outcome, ruling.reason


def test_a_claim_may_spell_out_the_abbreviation_of_its_quote():
    text = "Ragged Paged Attention (RPA) is the kernel of decoding. Unlike Flash Attention, RPA is memory-bound.\n"
    claim, quote = "Ragged Paged Attention is memory-bound.", "Unlike Flash Attention, RPA is memory-bound"
    assert not ruling_on(claim, quote, origin="", passages=[Quotable("sources/a", Captured(text))]).reason


TILED = "# Tiling\n\nThe kernel takes 61.2 ms without tiling and 14.8 ms with it.\n"
NOISE = "# Noise\n\nSource correction (SC) is cheap. It is clear that finetuning outperforms SC across all levels.\n"
LEVELS = "# Levels\n\nThe warranty does not cover elements. Shadow maps limit the largest scene. The old flag has been replaced by the new name.\n"
SPARK = "# Query 10\n\nThe laptop takes 264 s. This is still faster than Spark on the big machine.\n"


@pytest.mark.parametrize(
    ("text", "claim", "quote", "outcome"),
    [
        (NOISE, "Finetuning outperforms source correction across all levels.", "finetuning outperforms SC across all levels", "enters"),
        (NOISE, "Source correction outperforms finetuning across all levels.", "finetuning outperforms SC across all levels", "doubted"),
        (LEVELS, "Elements are not covered by the warranty.", "The warranty does not cover elements", "enters"),
        (LEVELS, "The largest scene is limited by shadow maps.", "Shadow maps limit the largest scene", "enters"),
        (LEVELS, "The new name has been replaced by the old flag.", "The old flag has been replaced by the new name", "doubted"),
        (SPARK, "The laptop is faster than Spark on the big machine.", "This is still faster than Spark on the big machine", "enters"),
        (SPARK, "Spark on the big machine is faster than the laptop.", "This is still faster than Spark on the big machine", "doubted"),
    ],
)
def test_what_does_a_thing_to_another_keeps_its_side_unless_the_voice_changes(text, claim, quote, outcome):
    assert_outcome(text, claim, quote, outcome)


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("The kernel takes 61.2 ms without tiling and 14.8 ms with.", "enters"),
        ("The kernel takes 14.8 ms with tiling.", "enters"),
        ("The kernel takes 61.2 ms with tiling.", "refused"),
        ("The kernel takes 14.8 ms without tiling.", "doubted"),
        ("With tiling the kernel takes 61.2 ms and without it 14.8 ms.", "doubted"),
        ("Tiling raises the time from 14.8 ms to 61.2 ms.", "doubted"),
    ],
)
def test_each_figure_keeps_the_case_that_it_is_given_for(claim, outcome):
    assert_outcome(TILED, claim, "The kernel takes 61.2 ms without tiling and 14.8 ms with it", outcome)


CHIP = "# Cerise NC7\n\n| Characteristic | Symbol | Min | Typ | Max | Unit |\n|---|---|---|---|---|---|\n| Oscillator frequency | FOSC1 | 7 | 10 | 13 | MHz |\n"
CHIPS = CHIP.replace("# Cerise NC7", "# Cerise NC7 and NC9")
HEDGED = "# Paths\n\nThe tool collects data of a run (say which branches it is likely to take) and fuses loops. Whether it helps small loops remains open. Users report that the cache leaks.\n"
MEMORY = "# Board\n\nThe board has 512 kB of memory. v6 needs 6.3 W.\n"
DROPS = "# Builds\n\nA clean build rebuilds in 1.9 s; it took 7.4 s in the last release. It gained 15 % on x86 and 5 % on ARM.\n"


@pytest.mark.parametrize(
    ("text", "claim", "quote", "outcome"),
    [
        (CHIP, "The oscillator of the NC7 runs at 7 to 13 MHz.", "| Oscillator frequency | FOSC1 | 7 | 10 | 13 | MHz |", "enters"),
        (CHIP, "The oscillator of the NC7 runs at 13 minutes.", "| Oscillator frequency | FOSC1 | 7 | 10 | 13 | MHz |", "doubted"),
        (CHIPS, "The NC9 has no core.", "There is no core besides the NC7", "doubted"),
        (HEDGED, "The tool collects data of a run and fuses loops.", "collects data of a run (say which branches it is likely to take) and fuses loops", "enters"),
        (HEDGED, "The tool helps small loops.", "Whether it helps small loops remains open", "doubted"),
        (HEDGED, "The cache leaks.", "Users report that the cache leaks", "doubted"),
        (MEMORY, "The board has 0.5 MB of memory.", "The board has 512 kB of memory", "enters"),
        (MEMORY, "The board has 512 kB of RAM.", "The board has 512 kB of memory", "doubted"),
        (MEMORY, "Version 6 needs 6.3 W.", "v6 needs 6.3 W", "doubted"),
        (MEMORY, "The board needs 6 W.", "v6 needs 6.3 W", "refused"),
        (DROPS, "A clean build fell from 7.4 s to 1.9 s.", "A clean build rebuilds in 1.9 s; it took 7.4 s in the last release", "enters"),
        (DROPS, "It gained 15 % on ARM.", "It gained 15 % on x86 and 5 % on ARM", "doubted"),
    ],
)
def test_a_doubt_is_about_what_the_claim_takes_up(text, claim, quote, outcome):
    if quote not in text:
        text = f"{text}\n{quote}.\n"
    assert_outcome(text, claim, quote, outcome)


def assert_outcome(text, claim, quote, outcome):
    ruling = ruling_on(claim, quote, origin="", passages=[Quotable("sources/a", Captured(text))])
    assert ("doubted" if ruling.undecided else "refused" if ruling.reason else "enters") == outcome, ruling.reason
