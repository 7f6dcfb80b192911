"""Refuted cards: where they come from, what reopens them, how they are listed."""

import json
import re

import pytest

from kb import page, refuted, store, trail
from kb.build import build
from kb.refuted.statement import RunAim, Statement
from kb.refuted.statements import statements_of
from kb.trail.facts import from_row
from kb.trail.outline import passages_between, passages_of

RUN = """---
title: "{title}"
type: experiment
verdict: {verdict}
---

# {title}

## Hypothesis

{hypothesis}

## Verdict

{because}
"""


def run(number: int, title: str, verdict: str, hypothesis: str, because: str, target: str = "engine") -> dict[str, str]:
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return {
        f"wiki/experiments/{target}/2026-01-{number:02}-v{number:03}-{name}.md": RUN.format(
            title=title, verdict=verdict, hypothesis=hypothesis, because=because
        )
    }


def cards(layout: store.Layout) -> list[refuted.Card]:
    build(layout)
    return list(refuted.cards(store.state(layout)))


def said(text: str, path: str = "wiki/analyses/a.md") -> list[list]:
    row = statements_of(page.read(path, text.encode()), text, facts=None)
    return [[s.kind, s.line, s.anchor, s.text, s.because, s.delta] for s in store.value_of(row, list[Statement])] if row else []


VERDICT_FIRST = """# Findings

| Verdict | Doc | Why |
|---|---|---|
| NO-GO | spectral.md | no guidable subspace to steer along |
| CLOSED | notes.md | the hang is understood, a resume is enough |
| LANDED | reward.md | bounded rewards, worse ranks are gone |
"""


def test_a_row_that_begins_with_its_outcome_is_read_by_it():
    assert [s[3].split(" · ")[1] for s in said(VERDICT_FIRST, "wiki/findings/README.md")] == ["spectral.md"]


def test_every_failed_experiment_gives_a_card_with_claim_reason_and_evidence(make_base):
    layout = make_base(
        {
            **run(
                1,
                "Prefetch distance 8",
                "refuted",
                "A `--prefetch=8` hides the latency of the loads.",
                "**Refuted**, −4.2 %. The hardware prefetcher is already effective.",
            ),
            **run(2, "Radix sort", "crash", "Replacing `std.sort` by `radix_sort` halves the time.", "Crashed: out of memory."),
            **run(3, "Tiles of 64", "supported", "Set `--tile=64`.", "Supported."),
        }
    )
    first, second = cards(layout)
    assert (first.kind, first.verdict, first.delta, first.target, first.status) == (
        "experiment",
        "refuted",
        "−4.2 %",
        "engine",
        "standing",
    )
    assert first.claim == "A --prefetch=8 hides the latency of the loads."
    assert first.because == "−4.2 %. The hardware prefetcher is already effective." or first.because.endswith(
        "The hardware prefetcher is already effective."
    )
    assert [(v.name, v.value) for v in first.levers] == [("--prefetch", "8")]
    assert second.verdict == "crash" and "memory is freed" in second.reopen_if
    listed = json.loads((layout.indexes / "refuted/engine.json").read_text())
    assert [c["evidence"] for c in listed["cards"]] == [second.evidence, first.evidence]
    assert "because: " in (layout.indexes / "refuted/engine.md").read_text()


def test_a_card_is_reopened_by_what_its_page_says(make_base):
    files = run(1, "Prefetch", "refuted", "Prefetch `--ahead=8` helps loads.", "No gain.\n\n**Reopen if**: the loads go to remote memory.")
    assert cards(make_base(files))[0].reopen_if == "the loads go to remote memory."


def test_the_links_of_a_list_lead_to_its_pages(make_base):
    layout = make_base(run(1, "Prefetch", "refuted", "Prefetch `--ahead=8` helps loads.", "No.", target="deep/engine"))
    build(layout)
    listed = layout.indexes / "refuted/deep/engine.md"
    links = re.findall(r"\]\(([^)#]+)", listed.read_text())
    assert links and all((listed.parent / link).is_file() for link in links)


def test_a_claim_says_what_was_tried_not_only_where_things_stood(make_base):
    stands = "The frontier leaves `--lazy-alloc=off` in its flags. "
    short = run(1, "Lazy", "refuted", stands + "Enabling it may save page faults. And more.", "No.")
    long = run(
        2, "Eager", "refuted", stands.replace(".", " and " + "so on " * 40 + ".") + "Disabling it should save faults.", "No."
    )
    assert [c.claim for c in cards(make_base({**short, **long}))] == [
        "The frontier leaves --lazy-alloc=off in its flags. Enabling it may save page faults.",
        "Disabling it should save faults.",
    ]


def test_a_reason_starts_whole_and_is_taken_from_behind_the_verdict_where_no_column_names_it():
    bullet = "## Dead ends\n\n- Bigger pages for the arena (v3; measured twice): they thrash the cache.\n"
    assert said(bullet)[0][4] == "they thrash the cache."
    row = "## Dead ends\n\n| Run | Verdict | Seen |\n|---|---|---|\n| eager allocation | refuted | slower, by the page faults it takes |\n"
    assert said(row)[0][4] == "slower, by the page faults it takes"


NOTES = """# Losses

Focal loss: CV 0.781 → 0.785, LB down. We went back to BCE.

Soft labels gave +0.007 and stay.

- 10:21 doubled the pods. No effect.
- 10:37 set the connection age to 60 s: resolved.

| backbone | CV | keep? |
|---|---|---|
| convnext_tiny of the zoo | 0.768 | no |
| eca_nfnet_l0 of the zoo | 0.786 | yes |
"""


def test_entries_of_an_owners_own_notes_that_say_they_failed_are_statements_and_those_of_a_typed_page_are_not():
    assert [s[3].split(":")[0].split(" ·")[0] for s in said(NOTES, "wiki/losses.md")] == [
        "Focal loss",
        "10",
        "convnext_tiny of the zoo",
    ]
    assert said("---\ntype: source\n---\n" + NOTES, "wiki/sources/losses.md") == []


OVENS = """# Ovens

Status: Reverted
Date: 2024-03-04

## Context

The old door costs heat. A heavier one would be slower to open.

## Decision

Hang the glass door.

## Outcome

Loaves were pale in the middle for two weeks. Reverted, the iron door hangs again.
"""
HELP = """# Questions

## Does steam in the second phase help?

No. The crust stayed soft in nine of ten loaves.

## Does the small fan cost power?

No, under a watt.

## Could we bake at night?

Nobody has tried.

**Does longer kneading pay?** No, twenty minutes came out as ten.

~~Rye starter at 30 °C~~ smelled of nail varnish and was thrown away.

~~New racks~~ DONE in May.

If the dough is refused, it goes back to the mixer.

We thought that salted water would rise better. It was weighed on twelve loaves and brought nothing.
"""


def test_a_decision_taken_back_and_questions_answered_with_no_are_failures_and_what_is_kept_or_untried_is_none():
    assert [(s[3], s[4][:20]) for s in said(OVENS, "wiki/decisions/0003-glass-door.md")] == [("Ovens", "Loaves were pale in ")]
    assert said(OVENS.replace("Reverted", "Accepted", 1).replace("Reverted, the", "The"), "wiki/decisions/0003-glass-door.md") == []
    assert [s[3].split(":")[0] for s in said(HELP, "wiki/help.md")] == [
        "Does steam in the second phase help",
        "Does longer kneading pay",
        "Rye starter at 30 °C",
        "We thought that salted water would rise better. It was weighed on twelve loaves and brought nothing.",
    ]


KNOBS = """# Knobs

| What | Since | How it went |
|---|---|---|
| flour kept cold | 2024 | works, less yeast |
| steel sheets for stone | 2025 | reverted, the bottom burnt |
| oven at full fan | 2025 | abandoned after a day |
| glass lids | – | planned |
"""


def test_a_column_that_says_how_things_went_is_known_by_its_cells_and_two_such_columns_rate_choices():
    assert [s[3].split(" ·")[0] for s in said(KNOBS, "wiki/knobs.md")] == ["steel sheets for stone", "oven at full fan"]
    # What stands in brackets or behind the first clause may be of something else.
    census = KNOBS.replace("How it went", "Outcome").replace("planned", "11 of one kind (2 both lost), 1 of another").replace("abandoned", "fine; the old one abandoned")
    assert [s[3].split(" ·")[0] for s in said(census, "wiki/knobs.md")] == ["steel sheets for stone"]
    assert said(KNOBS.replace("| Since |", "| Then |").replace("2025", "worse").replace("2024", "better"), "wiki/knobs.md") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "## What didn't work\n\n- Prefetching: the hardware does it.\n- Bigger pages,\n  which thrash.\n\n## Next\n\n- Try tiles.\n",
            ["Prefetching: the hardware does it.", "Bigger pages, which thrash."],
        ),
        (
            "## Notes\n\n- ❌ **Counting on a broadcast to fuse**: it regressed by 4 %.\n- ❌ Maintenance burden\n- ❌ Use a broadcast\n",
            ["Counting on a broadcast to fuse: it regressed by 4 %."],
        ),
        ("## Dead ends\n\n| Lever | Why |\n|---|---|\n| `--eager` | slower by 4 % |\n", ["--eager · slower by 4 %"]),
        (
            "## Knobs\n\n| Lever | Status |\n|---|---|\n| `--eager` | ❌ refuted |\n| `--tile` | ✅ kept |\n",
            ["--eager · ❌ refuted"],
        ),
        ("## Errors\n\n| Code | Meaning |\n|---|---|\n| `E_TILE` | Invalid tile for the layout |\n", []),
        ("## Runs\n\n| Run | Verdict |\n|---|---|\n| eager mode | Invalid (wrong sums) |\n", ["eager mode · Invalid (wrong sums)"]),
        ("## Cache\n\n| Call | Cached | Why |\n|---|---|---|\n| `stream()` | ❌ No | it has no end |\n", []),
        ("## Names\n\n- ❌ Bad: `claude-3`\n\n### .then(fulfilled, rejected)\n\n- fulfilled is called at the end\n", []),
        ("## What didn't work\n\n- ~~Custom ops~~ — DONE (1.31x)\n- Huge pages: not tried\n- Use smaller tiles instead\n- Prefetching never helped\n", ["Prefetching never helped"]),
        ("## Rejected alternatives\n\n- A second registry: more to maintain\n- Lazy loading: measured, 4 % slower\n", ["Lazy loading: measured, 4 % slower"]),
        ("## Conditions\n\n| What | Status | Reason |\n|---|---|---|\n| Gateway check fails | `Failed` | `GatewayCheckFailed` |\n", []),
        ("## Features\n\n| Feature | A | B |\n|---|---|---|\n| Fused kernels | ✅ | ❌ |\n", []),
        ("## Rejected\n\n### Radix memtable\n\n361 k → 349 k.\n\n### A second registry\n\nMore to maintain.\n\n## Applied\n\n### Group commit\n\n231 k → 318 k.\n", ["Radix memtable"]),
        ("## What failed\n\n### Pool of rings\n\n- Tried: one ring a core\n- Measured: 3 % slower\n\n### Packed keys\n\n- Tried: keys of six bytes\n- Measured: twice the misses\n\n### How to go on\n\n- Allocate outside of the loop\n", ["Pool of rings", "Packed keys"]),
        # What is no name and reports nothing may be anything.
        ("## Dead ends\n\n- The engine sums in double precision.\n- Wider tiles: the cache is full.\n- Striped reads\n- It never helped to sort.\n", ["Wider tiles: the cache is full.", "Striped reads", "It never helped to sort."]),
        # What else a heading names may be what an item tells of.
        ("## What failed or surprised us\n\n- **Crowded field.** Many do it.\n- **Huge pages.** 4 % slower.\n", ["Huge pages. 4 % slower."]),
        ("## What worked, what didn't\n\n### Things to change\n\nAgents stop early.\n\n### What didn't work\n\n- Striped reads\n", ["Striped reads"]),
        ("## Run 7 — wider tiles — `discard` (memory)\n\n- Tiles of 64: 4 % faster\n- Step time: 264 → 413 ms\n", []),
        ("## What was tried and killed\n\n- **Aligned loads — deferred with analysis**: the offset is fixed.\n- **Wide loads — no gain**: the bus is full.\n", ["Wide loads — no gain: the bus is full."]),
        ("## Failed optimizations\n\n- Sorting the rows of both tables first.\n- The rows are sorted anyway.\n", ["Sorting the rows of both tables first."]),
        ("## What does not reset the counter\n\n- Unrelated tasks\n- New words of the user\n", []),
        ("## Experiments that failed\n\n- **TTA.** Turns break the grain.\n- ASL (T4) — smears the edge.\n", ["TTA. Turns break the grain.", "ASL (T4) — smears the edge."]),
        ("## Refuted\n\nNone so far.\n\n- none\n", []),
        ("## How to refute honestly\n\n- measure twice and say so\n", []),
        ("## Retired hypotheses\n\n```\n- code is no statement at all\n```\n", []),
    ],
)
def test_dead_ends_are_read_from_headings_crosses_and_tables(text, expected):
    assert [s[3] for s in said(text)] == expected


LOST_AND_WON = """# What does not work on the old card, and the rule behind it

| change | mechanism | result |
|---|---|---|
| graphs | fewer launches | **-1.4 %** |
| half precision cache | no emulated products | **+24 %** |

## Eight rows a warp (2026-09-20): null

The spread is larger than the difference.

### Why

Too many registers.
"""


def test_the_name_of_a_page_says_of_a_longer_title_that_it_lists_failures_and_its_rows_of_gains_are_none():
    listed = ["graphs · fewer launches · -1.4 %", "Eight rows a warp (2026-09-20): null"]
    assert [s[3] for s in said(LOST_AND_WON, "wiki/analyses/negative-results.md")] == listed
    assert said(LOST_AND_WON, "wiki/analyses/cards.md") == []
    one_way = LOST_AND_WON.replace("-1.4", "+1.4")
    assert len(said(one_way, "wiki/analyses/negative-results.md")) == 3


@pytest.mark.parametrize("heading", ["Was nicht funktionierte", "Ce qui n'a pas marché", "试过但没用", "Что не сработало", "Lo que no funcionó", "失敗した試み"])
def test_a_list_of_failures_is_known_by_a_heading_of_any_language_alone(heading):
    text = f"## {heading}\n\n- Prefetch distance 64 rows\n- Loops unrolled by eight\n"
    assert [s[3] for s in said(text)] == ["Prefetch distance 64 rows", "Loops unrolled by eight"]


def test_what_a_machine_poured_into_cells_titles_and_levers_is_cut_before_it_is_read():
    hostile = [(piece * 100_000)[:100_000] for piece in ("0", "1,", "(1,", "~", "tile=8 ", "❌ ")] + ["tile=8 " + " " * 100_000 + "refuted"]
    for text in hostile:
        table = f"# {text}\n\n## Dead ends\n\n- ❌ {text}\n\n| # | what | vs base | notes |\n|---|---|---|---|\n| 1 | {text} | -1 % | n |\n"
        for path, data in (
            ("wiki/concepts/x.md", table),
            ("wiki/experiments/t/2026-01-01-v001-x.md", f"---\ntitle: '{text}'\nlevers: ['{text}']\nhypothesis: '{text}'\nverdict: refuted\n---\n"),
        ):
            made = page.read(path, data.encode())
            # Read whole, each of these takes minutes.
            assert len(statements_of(made, data, facts=trail.facts_of(made, data, {})) or b"") < 50_000


def test_what_a_page_says_of_its_outcome_is_read_once_however_many_headings_tell_of_one(monkeypatch):
    reads = []
    labelled = refuted.statements.labelled_verdict
    monkeypatch.setattr(refuted.statements, "labelled_verdict", lambda passages: reads.append(1) or labelled(passages))
    said("# Notes\n\n" + "## Result\n\nIt was slower.\n\n" * 50, "wiki/notes/a.md")
    assert len(reads) == 1


def test_a_hypothesis_page_tells_why_it_failed_where_a_paragraph_opens_with_the_verdict():
    text = "---\ntype: hypothesis\ntitle: Bigger pages\nstatus: refuted\n---\n# Bigger pages\n\nThe heap is walked at random.\n\n## Where it stands\n\nRefuted for small heaps: the TLB never missed.\n"
    assert [(s[3], s[4]) for s in said(text, "wiki/hypotheses/pages.md")] == [
        ("Bigger pages. The heap is walked at random.", "the TLB never missed.")
    ]


def test_headings_of_bold_led_items_group_what_a_list_of_failures_holds():
    text = (
        "# Was nicht ging, und warum\n\nJeder dieser 14 Versuche war langsamer und wurde verworfen.\n\n## A. Messung\n\n- **Nur die schnellste von drei Messungen.** Das Rauschen blieb. Besser: Median.\n"
        "- **Ein warmer Zwischenspeicher bei jeder Probe.** Die Streuung wurde größer.\n\n"
        "## B. Kern\n\n- **Sechzehn Warps je Block.** Register laufen über; der Kern verliert 8 %.\n"
        "- **Zweistufiges Laden über den L2.** Kein Gewinn in drei Läufen.\n"
    )
    assert [(s[3], s[4]) for s in said(text, "wiki/dead-ends.md")] == [
        ("Nur die schnellste von drei Messungen", "Das Rauschen blieb. Besser: Median."),
        ("Ein warmer Zwischenspeicher bei jeder Probe", "Die Streuung wurde größer."),
        ("Sechzehn Warps je Block", "Register laufen über; der Kern verliert 8 %."),
        ("Zweistufiges Laden über den L2", "Kein Gewinn in drei Läufen."),
    ]


def test_an_item_of_labelled_paragraphs_failed_for_what_stands_behind_its_reason():
    text = "# Dead ends\n\n## Narrow floats\n\n**The idea.** Half the bytes, twice the speed.\n\n**What was built.** A cast.\n\n**Why it went.** It was 8 % slower.\n"
    assert [(s[3], s[4]) for s in said(text, "wiki/dead-ends.md")] == [
        ("Narrow floats", "It was 8 % slower.")
    ]


def test_bold_fields_below_a_heading_are_parts_of_the_one_thing_it_names():
    text = "# Dead ends\n\n## FP8 cache\n\nIt lost 2 % of accuracy.\n\n- **Speed**: 3 % slower\n- **Memory**: half of it\n"
    assert [s[3] for s in said(text, "wiki/dead-ends.md")] == ["FP8 cache"]
    fields = text.replace("**Speed**: 3 % slower", "**速度**：慢了百分之三").replace("**Memory**: half of it", "**内存**：只用一半")
    assert [s[3] for s in said(fields, "wiki/dead-ends.md")] == ["FP8 cache"]


def test_a_hypothesis_page_that_was_retired_is_a_statement():
    text = "---\ntype: hypothesis\ntitle: Bigger pages\nstatus: retired\n---\n## Statement\n\nPages of 2 MB help.\n\n## Outcome\n\nThe TLB never missed.\n"
    assert [(s[0], s[3], s[4]) for s in said(text, "wiki/hypotheses/pages.md")] == [
        ("hypothesis", "Bigger pages. Pages of 2 MB help.", "The TLB never missed.")
    ]
    assert said(text.replace("retired", "open"), "wiki/hypotheses/pages.md") == []


def test_a_line_that_points_to_a_failed_run_repeats_its_card_and_makes_none(make_base):
    files = run(1, "Prefetch", "refuted", "Prefetch `--ahead=8` helps loads.", "No.")
    (path,) = files
    layout = make_base(
        {
            **files,
            "wiki/analyses/2026-01-02-lessons.md": f"# L\n\n## Dead ends\n\n- prefetching, see [v001](../{path.removeprefix('wiki/')})\n- huge pages never helped\n",
        }
    )
    own, other = sorted(cards(layout), key=lambda c: c.kind != "experiment")
    assert own.told_by == ("wiki/analyses/2026-01-02-lessons.md",)
    assert (other.kind, other.evidence, other.claim) == (
        "bullet",
        "wiki/analyses/2026-01-02-lessons.md",
        "huge pages never helped",
    )


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ("Reopen if the driver overlaps copies.", "the driver overlaps copies"),
        ("We stay at four. Worth retrying once the compiler is at version 15.", "the compiler is at version 15"),
        ("Do not try it again unless the cache grows.", "the cache grows"),
        ("We reopened the file when it was full.", ""),
    ],
)
def test_a_page_says_in_a_sentence_what_would_open_it_again(make_base, said, condition):
    page = f"# Two streams\n\nLatency 6.9 ms, slower than 6.2 ms, so we reverted it.\n\n{said}\n"
    (card,) = cards(make_base({"wiki/experiments/t/2026-01-07-v007-streams.md": page}))
    assert card.reopen_if == (condition or "the cost it ran into is gone")


def test_a_later_supported_run_of_the_same_lever_value_and_way_reopens_a_card(make_base):
    lost = run(1, "Enable lazy allocation", "refuted", "Enabling `--lazy-alloc=on` saves faults.", "Slower by 3 %.")
    won = run(
        2, "Enable lazy allocation on the arena", "supported", "Enabling `--lazy-alloc=on` saves faults on the arena.", "Faster."
    )
    other = run(3, "Disable lazy allocation", "supported", "Disabling `--lazy-alloc=off` helps.", "Faster.")
    assert [(c.status, c.by) for c in cards(make_base({**lost, **won}, "a"))] == [("reopened", next(iter(won)))]
    assert [c.status for c in cards(make_base({**lost, **other}, "b"))] == ["standing"]
    elsewhere = run(
        2, "Enable lazy allocation", "supported", "Enabling `--lazy-alloc=on` saves faults.", "Faster.", target="server"
    )
    assert [c.status for c in cards(make_base({**lost, **elsewhere}, "c"))] == ["standing"]


def test_two_targets_that_refute_a_lever_for_the_same_reason_make_a_principle(make_base):
    one = run(1, "Lazy allocation", "refuted", "Enabling `--lazy-alloc=on` saves faults.", "Regressed by 3 %.")
    two = run(2, "Lazy allocation", "refuted", "Enabling `--lazy-alloc=on` saves faults.", "Slower by 5 %.", target="server")
    three = run(2, "Lazy allocation", "crash", "Enabling `--lazy-alloc=on` saves faults.", "Out of memory.", target="server")
    (made,) = [c for c in cards(make_base({**one, **two}, "a")) if c.kind == "principle"]
    assert made.experiments == (*one, *two) and "slower" in made.claim and made.target == ""
    assert not [c for c in cards(make_base({**one, **three}, "b")) if c.kind == "principle"]


def test_cards_after_edits_are_those_of_a_clean_build(make_base):
    files = {
        **run(1, "Prefetch", "refuted", "Prefetch `--ahead=8` helps loads.", "No."),
        **run(2, "Tiles", "refuted", "Tiles `--tile=64` help.", "No."),
    }
    layout = make_base(files, "edited")
    build(layout)
    (layout.root / next(iter(files))).unlink()
    extra = run(3, "Unroll", "crash", "Unrolling `--unroll=4` helps.", "No.")
    for path, text in extra.items():
        (layout.root / path).write_text(text)
    build(layout)
    clean = make_base({p: t for p, t in {**files, **extra}.items() if p != next(iter(files))}, "clean")
    build(clean)
    query = "select c.id, c.row, t.term, t.weight from card c join card_term t on t.card = c.number order by 1, 3"
    assert store.state(layout).execute(query).fetchall() == store.state(clean).execute(query).fetchall()
    query = "select * from card_frequency order by target"
    assert store.state(layout).execute(query).fetchall() == store.state(clean).execute(query).fetchall()


CLAIMS = """---
title: Token budget
type: experiment
verdict: supported
---

# Token budget

## Monotonicity

| Metric | Expected | Result | Verdict |
|---|---|---|---|
| Throughput | Increasing | 251, 288, 318 | **CONFIRMED** |
| Mean latency of a token | Increasing | 11.2, 11.1, 10.9 | **REFUTED** (slight decrease) |

## Runs

| Run | Change | Rate | Verdict |
|---|---|---|---|
| 57b | VMEM=131072 | 6157 (-0.7 %) | refuted |
"""


def test_a_claim_that_a_supported_run_refutes_beside_its_own_is_a_card_and_its_log_of_runs_is_not(make_base):
    (made,) = cards(make_base({"wiki/experiments/engine/2026-01-09-v009-token-budget.md": CLAIMS}))
    assert (made.kind, made.anchor, made.claim.split(" · ")[0]) == ("row", "monotonicity", "Mean latency of a token")


def test_a_value_that_neither_run_moves_reopens_nothing(make_base):
    lost = run(1, "Lazy allocation", "refuted", "Both ran with seq=8192; page faults vanish.", "Slower by 3 %.")
    won = run(2, "Fewer arenas", "supported", "Both ran with seq=8192; fewer arenas are walked.", "Faster.")
    moved = run(2, "Longer sequences", "supported", "Raising seq=8192 fills the lanes.", "Faster.")
    assert [c.status for c in cards(make_base({**lost, **won}, "a"))] == ["standing"]
    assert [c.status for c in cards(make_base({**lost, **moved}, "b"))] == ["reopened"]


@pytest.mark.corpora
def test_cards_cover_the_failed_experiments_of_the_open_wiki(corpora, tmp_path):
    import shutil

    root = tmp_path / "w"
    shutil.copytree(corpora / "tpu-wiki/wiki/experiments", root / "wiki/experiments", copy_function=shutil.copyfile)
    (root / "kb.toml").write_text("")
    layout = store.layout_at(root)
    evidence = {c.evidence for c in cards(layout)}
    rows = [json.loads(line) for line in (corpora / "tpu-wiki-truth/experiments.jsonl").read_text().splitlines()]
    failed = {r["path"] for r in rows if r["verdict"] in ("refuted", "invalid", "crash")}
    assert len(failed & evidence) >= 0.97 * len(failed)


MORE = """# Mill notes

- Cold water on `mill(3)`: useless for us, the dough tore. Removed.
- Hash table for the recipes: look-ups took as long as before, so we did not keep it.
- Third mode: breaks every batch of more than one loaf, so the shop could not run at all. Abandoned after an hour.

**Regression** – a change that made something slower than it was.

A bell costs time: every further one makes the round about 3 % slower.

| batch | loaves | outcome |
|---|---|---|
| 50 | 90 | in use since May |
| 500 | 91 | dropped, the tail is terrible |
"""


def test_a_thing_taken_back_is_a_failure_in_any_words_and_terms_and_drawbacks_are_none():
    assert [s[3].split(":")[0].split(" ·")[0] for s in said(MORE, "wiki/mill.md")] == [
        "Cold water on mill(3)",
        "Hash table for the recipes",
        "Third mode",
        "batch 500",
    ]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("# Glass door\n\n## Verdict\n\nDid not pan out. The crust went soft.\n", "refuted"),
        ("---\ncall: busted\n---\n# Glass door\n\n## Verdict\n\nSee above.\n", "refuted"),
        ("# Glass door\n\n## Verdict\n\nIt was merged on Monday.\n", "supported"),
        ("# Glass door\n\n## Verdict\n\nWe would have to weigh again.\n", None),
        ("# Glass door\n\n## Result\n\nAll checks passed. The private build was nevertheless rejected: 97 fell to 36 tok/s.\n", "refuted"),
        ("# Glass door\n\n## Result\n\nEight of them were screened; none was promoted.\n", "refuted"),
        # What a later paragraph of the head tells may be of something beside it, and a status of few words is the page's.
        ("# Glass door\n\nMerged in a20f4812.\n\nThe second oven stood on a table of its own. It was removed afterwards.\n\n## Setting\n\nTwo ovens.\n", "supported"),
        ("# Glass door\n\nIssue: 511. Merged in a20f4812.\n\nThe second oven was removed afterwards.\n", "supported"),
        ("# Glass door\n\nOne of 4 mm was merged.\n\nIt cracked, and was removed afterwards.\n", "refuted"),
        ("# Glass door\n\n**Status:** ✅ Complete\n\n## Setting\n\nTwo doors.\n", None),
    ],
)
def test_a_verdict_without_a_verdicts_word_is_what_its_first_sentence_reports(text, verdict):
    read = page.read("wiki/experiments/t/2026-01-02-v001-door.md", text.encode())
    found = from_row(trail.facts_of(read, text, {})).verdict.canonical
    assert (found if found != "other" else None) == verdict


def test_a_page_named_as_a_list_of_failures_holds_one_in_every_heading_that_reports_one():
    text = "# What does not work on this card, and the rule behind it\n\n## The rule\n\nLaunches are free.\n\n## Loop-carried pointers (2026-09-25): -4.4%\n\nHoisted out of the loop it measured 76.2 vs 79.7 tok/s.\n"
    assert [row[3] for row in said(text, "wiki/negative-results.md")] == ["Loop-carried pointers (2026-09-25): -4.4%"]
    assert not said(text, "wiki/tokens.md")
    assert not said(text, "wiki/retired-machines.md")


def test_a_heading_says_what_was_tried_came_to_and_a_column_of_signed_changes_tells_where_a_head_says_which_way_is_better():
    killed = "# Plan\n\n### What was tried and killed, with the number that killed it\n\n- **Plane copy: +11 us.** The store it removes is free.\n"
    assert [row[3][:10] for row in said(killed)] == ["Plane copy"]
    assert not any(said(killed.replace("killed", word)) for word in ("kept", "unsupported platforms", "lost friends"))
    table = "# Notes\n\n| change | mechanism | {} |\n|---|---|---|\n| CUDA graphs | fewer launches | **-1.4%** |\n| new table | fewer instructions | **+17%** |\n"
    tried = {head: [row[3].partition(" ·")[0] for row in said(table.format(head), "wiki/notes.md")] for head in ("tok/s", "latency", "result")}
    assert tried == {"tok/s": ["CUDA graphs"], "latency": ["new table"], "result": []}
    zones = "# Notes\n\n| city | zone | result |\n|---|---|---|\n| New York | EST | -5 |\n| Oslo | CET | +1 |\n"
    assert not said(zones, "wiki/notes.md")


def test_an_entry_that_is_a_link_alone_is_no_failure_of_notes_whatever_the_page_is_called():
    tries = "# Home\n\n- Huge pages: no gain (3.1 ms), reverted.\n"
    for entry in ("[[Things that did not work]]", "[What did not work](lost.md)", "![[did not work.png]]"):
        assert len(said(f"{tries}- {entry}\n", "wiki/home.md")) == 1, entry
    assert len(said(f"{tries}- [[Prefetch]] did not work: 3.2 → 3.3 ms, reverted.\n", "wiki/home.md")) == 2


def test_the_readme_of_a_folder_of_runs_that_tells_more_than_it_leads_to_is_its_owners_notes():
    text = "# Runs\n\n## Huge pages\n\nTried huge pages, no gain, reverted.\n\n## Arena\n\nKept.\n"
    assert len(said(text, "wiki/experiments/README.md")) == 1
    assert not said(text + "".join(f"- [{n}]({n}.md)\n" for n in range(4)), "wiki/experiments/README.md")
    assert not said(text, "wiki/README.md")


@pytest.mark.parametrize(
    "text",
    [
        "## 失败的尝试\n\n- 算子融合：提升 15%，已合并",
        "## Что не сработало\n\n- Ещё не пробовали: тензорные ядра",
        "Removed the global mutex. It was the bottleneck: 30% gone.",
        "Larger cache_size was a win: 64 MB -> 256 MB gave 1.25x.",
        "Avoid discard in shaders.",
        "What if we dropped LOD 3?",
    ],
)
def test_what_won_or_was_done_or_asked_or_may_be_said_is_no_failure(text):
    assert not said(f"# Notes\n\n{text}\n", "wiki/notes.md")


def test_a_hypothesis_page_may_say_behind_a_label_that_it_was_refuted():
    page_text = "# More threads help\n\n**Status:** {}\n\nSixteen workers fill the cores.\n"
    assert len(said(page_text.format("Refuted"), "wiki/hypotheses/h.md")) == 1
    assert not said(page_text.format("Supported"), "wiki/hypotheses/h.md")


def test_a_table_without_rows_says_nothing():
    for head in ("| change | vs base |", "| change | speedup |", "| change | result |"):
        assert not said(f"# Notes\n\n{head}\n|---|---|\n\n## Dead ends\n\n{head}\n|---|---|\n", "wiki/notes.md")


GRAVEYARD = """# 失败实验墓地

## 1. 没有新增信息

**窗口统计到顶**: C1 (109 特征 -0.0004)
- 90 特征是甜点位
- ❌ 不重复: 盲目堆窗口特征

**掩码预训练**: P3 (+0.0000)
- 表示高度重叠

## 2. 本地提升来自验证偏差

**余弦损失**: P4, 验证集重用
- ❌ 不重复: 调参期重用评估期

**时间衰减加权**: E1 (全无效)

## 失败统计

| 机制 | 数量 |
|---|---|
| 1. 没有新增信息 | 2 |
| 2. 验证偏差 | 2 |
"""


def test_below_a_heading_of_failures_named_paragraphs_are_the_items_and_their_bullets_and_counts_are_none():
    names = [s[3].partition(":")[0] for s in said(GRAVEYARD, "wiki/graveyard.md")]
    assert names == ["窗口统计到顶", "掩码预训练", "余弦损失", "时间衰减加权"]
    won = GRAVEYARD.replace("❌ 不重复", "教训")
    assert [s[3].partition(":")[0] for s in said(won, "wiki/graveyard.md")] == names[:2]


GROUPS = """# Dead ends

## Memory

### Huge pages

Tried on the arena: 41 ms to 44 ms. The table walk is cached anyway, so the old pages are back.

### Prefetch

Distance 8 lost 3 %. We set `--ahead=16` as well: 2 % slower.

## Threads

| change | result |
|---|---|
| sixteen workers | -4 % |
| pinned workers | -1 % |

## What worked

- Tiles of 64 rows, though eight workers regressed by 9 %.
"""


def test_headings_of_a_list_of_failures_may_group_items_and_what_an_item_goes_on_to_say_is_none_but_for_a_lever_of_its_own():
    assert [(s[0], s[3].partition(" ·")[0].partition(". We")[0]) for s in said(GROUPS, "wiki/notes.md")] == [
        ("principle", "Huge pages"),
        ("principle", "Prefetch"),
        ("bullet", "Distance 8 lost 3 %"),
        ("row", "sixteen workers"),
        ("row", "pinned workers"),
    ]


def test_a_page_that_tells_of_no_tries_holds_no_failure_and_neither_do_metrics_of_one_run():
    told = "Workers pinned to a core: 9 % slower, reverted."
    guide = [f"The {part} of the server is described in its own chapter." for part in ("door", "queue", "pool", "log", "cache", "port")]
    assert len(said("# Notes\n\n" + "\n\n".join([*guide[:3], told]), "wiki/notes.md")) == 1
    assert not said("# Notes\n\n" + "\n\n".join([*guide, told]), "wiki/notes.md")
    table = "# Notes\n\n| {} | req/s vs base |\n|---|---|\n| {} | -4 % |\n| {} | +9 % |\n"
    assert said(table.format("change", "huge pages", "tiles of 64"), "wiki/notes.md")
    assert not said(table.format("metric", "throughput", "latency"), "wiki/notes.md")


@pytest.mark.parametrize(
    ("text", "is_failure"),
    [
        ("Huge pages: throughput 9,800 -> 12,400 req/s.", False),
        ("Huge pages: throughput 12,400 -> 9,800 req/s.", True),
        ("Huge pages: 3 % slower but the tail is better.", False),
        ("Huge pages: 3 % slower.", True),
        ("The table of what was dropped last week has 12 rows.", False),
    ],
)
def test_a_fall_is_read_from_figures_of_thousands_and_what_stands_behind_but_weighs_more(text, is_failure):
    assert bool(said(f"# Notes\n\n{text}\n", "wiki/notes.md")) is is_failure


DECLARED = """# Market notes

## E1: feed denial

**Idea.** Wheat bought early raises the rival's bill by 9 %.

**Status.** Implemented in `adversary.py`. Failed: 0/24. We pay for it twice.

The price rose 12 %, which hurts us as well.

## E2: fingerprint of the lineage

**Status.** Logging implemented, 3 % of the tapes read.

## Négociation

Verdict : ouvert, le marché ne paie pas.

## Negative result — do not set FAST_PEERS

| config | tok/s |
|---|---|
| FAST_PEERS=1 | 33.4 |

A 10.7x regression. Do not retry it.

Peer access crosses the socket, and the queue is 3 % longer.

## Lead

Peer access over one socket: 4 % faster.
"""


def test_a_section_that_declares_behind_a_label_or_in_its_title_that_it_failed_is_one_statement():
    assert [(s[0], s[3]) for s in said(DECLARED, "wiki/market.md")] == [
        ("principle", "E1: feed denial"),
        ("principle", "Negative result — do not set FAST_PEERS"),
    ]


def test_a_heading_may_end_with_how_the_thing_came_out_that_it_names():
    text = "# Oven\n\n## Glass door — rejected\n\nThe crust went soft.\n\n- Panes of 4 mm: 3 % slower.\n\n## Steam — kept\n\nThe crust is thin.\n"
    assert [(s[0], s[3]) for s in said(text, "wiki/oven.md")] == [("principle", "Glass door — rejected")]
    assert [s[3] for s in said(text.replace("# Oven", "# Dead ends"), "wiki/dead-ends.md")] == ["Glass door — rejected"]


def test_a_figure_of_notes_tells_of_a_failure_where_something_was_set_or_held_against_another():
    for text, count in (
        ("Two doors cost 3 % more steam than one.", 1),
        ("Door width 45 to 46 also regressed to 100.8 loaves/h.", 1),
        ("On a hot day the crust measured 24.17, a 33 % regression.", 0),
        ("Soft crusts were the trouble. Fix: a small door, about 30× slower to open than the old one.", 0),
    ):
        assert len(said(f"# Oven\n\n{text}\n", "wiki/oven.md")) == count, text


KEPT = """---
verdict: supported
---
# Shorter proofing

## Result

96 loaves/h instead of 88.

## What did not work

- A second rise at `--rise=2`: 81 loaves/h, the dough collapses.
- `-fwarm-tins`: burnt in two ovens.

## Next

- A lower shelf.
"""


def test_what_did_not_work_on_the_way_to_a_win_is_a_failure_of_its_own_and_an_outcome_without_a_reason_is_the_reason(make_base):
    won, lost = "wiki/experiments/oven/2026-01-02-v001-proofing.md", "wiki/experiments/oven/2026-01-03-v002-salt.md"
    salt = KEPT[: KEPT.index("## What")].replace("supported", "refuted").replace("Shorter proofing", "Salt water").replace("96", "71")
    layout = make_base({won: KEPT, lost: salt})
    first, second, own = sorted(cards(layout), key=lambda c: (c.evidence, c.claim))
    assert [c.evidence for c in (first, second, own)] == [won, won, lost]
    assert (first.anchor, first.claim.partition(":")[0], second.levers[0].name) == ("what-did-not-work", "-fwarm-tins", "--rise")
    assert own.because == "71 loaves/h instead of 88."
    assert {"warm", "tin"} <= first.aim.terms.keys(), "a compiler's flag is spoken without its f"


def test_a_run_that_was_kept_states_beside_its_own_verdict_what_its_negative_results_head():
    text = "# Wire in half precision\n\n## Results\n\n+10 % prompt tokens, verified.\n\n" + DECLARED[DECLARED.index("## Negative") :]
    text += "\n## Non-confirmed findings — mechanisms\n\nThe queue is 5 % slower.\n\n## Raw data\n\nIn the folder beside.\n"
    path = "wiki/experiments/t/2026-01-02-v001-wire.md"
    read = page.read(path, text.encode())
    facts = trail.facts_of(read, text, {})
    assert from_row(facts).verdict.canonical is None or from_row(facts).verdict.canonical not in ("refuted", "crash")
    row = store.value_of(statements_of(read, text, facts=facts), RunAim)
    assert [s.text for s in row.statements] == ["Negative result — do not set FAST_PEERS"]


def test_a_decision_that_rejects_something_is_a_failure_where_it_was_measured_and_else_declined():
    text = "# Reject string interning\n\nA table of known strings was measured at {} over 172 benchmarks.\n"
    kinds = [said(text.format(share), "wiki/adr/0013-strings.md")[0][0] for share in ("-4 %", "no cost")]
    assert kinds == ["hypothesis", "declined"]
    assert not said(text.format("-4 %").replace("Reject string", "String"), "wiki/adr/0013-strings.md")


def test_what_a_named_paragraph_goes_on_to_say_is_its_reason():
    assert said(GRAVEYARD, "wiki/graveyard.md")[0][4].endswith("90 特征是甜点位 ❌ 不重复: 盲目堆窗口特征")


def test_a_column_of_what_was_kept_may_say_no_and_why():
    table = "# Notes\n\n| change | after | kept? |\n|---|---|---|\n| unroll by 16 | 11.9 ms | no: i-cache misses |\n| tiles of 64 | 9.1 ms | yes |\n"
    assert [s[3].partition(" ·")[0] for s in said(table, "wiki/notes.md")] == ["unroll by 16"]


LEGEND = """# Journal

| Verdict | Sens |
|---|---|
| **Fermée** | Mesuré, négatif, assez de volume pour trancher |
| **Ouvert** | Effet réel mesuré |

### Portefeuille de favoris

**Verdict : fermée.** Parier sur tous : 2 074 paris, 3 % de volume.

### Cotes longues

**Verdict : ouvert.** 15 features, 38 % du volume.
"""


def test_a_page_may_explain_its_own_words_of_a_verdict_in_a_table():
    assert [s[3] for s in said(LEGEND, "wiki/journal.md")] == ["Portefeuille de favoris"]
    assert not said(LEGEND.replace("négatif", "positif"), "wiki/journal.md")


def test_a_heading_that_says_what_its_item_cost_goes_before_what_is_said_first_below_it():
    text = "# Negative results\n\n## Kernel fusion — enabled, works, costs 2.1 %\n\nThe comment says that fusion is faster on other cards.\n"
    assert [s[3][:13] for s in said(text, "wiki/negative-results.md")] == ["Kernel fusion"]
    assert not said(text.replace(", costs 2.1 %", ""), "wiki/negative-results.md")


def test_what_was_too_slow_failed_in_any_language():
    for slow in ("was too slow at 96 kB", "war zu langsam bei 96 kB", "在 96 kB 时太慢"):
        assert said(f"# Notes\n\n- Sampler over bits: {slow}.\n", "wiki/notes.md"), slow


@pytest.mark.parametrize("rows", ["", "|  | huge pages | 3 % slower |\n", "| ❌ | huge pages | 3 % slower |\n"])
def test_a_table_that_names_no_heading_closes_no_list(rows):
    below = said(f"# Notes\n\n## Dead ends\n\n|  | change | result |\n|---|---|---|\n{rows}\n- Unroll by 4 lost 2 %.\n", "wiki/notes.md")
    assert [s[3].removeprefix("❌ · ") for s in below] == ["huge pages · 3 % slower"] * bool(rows) + ["Unroll by 4 lost 2 %."]


def test_below_a_heading_of_bullets_alone_each_that_reports_a_failure_is_one():
    text = "# Dead ends\n\n## Tools\n\n- Sampler that switches its rate: too slow, deleted.\n- A bit needs two blocks ahead.\n\n## Huge pages: -4 %\n\n- The walk is cached.\n"
    assert [s[3] for s in said(text, "wiki/dead-ends.md")] == ["Tools: Sampler that switches its rate: too slow, deleted.", "Huge pages: -4 %"]


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [("failed, it lost 1 % as the cache missed.", True), ("kept, 3 % faster. Rejected variants: unroll by 8.", False), ("supported. Discarded: the second half.", False)],
)
def test_the_first_sentence_behind_a_label_that_gives_a_verdict_decides(outcome, failed):
    text = f"# Journal\n\n## Blocks of 64\n\n**Outcome**: {outcome}\n\n## Huge pages\n\nIt was 3 ms slower, so we reverted it.\n"
    assert [s[3] for s in said(text, "wiki/journal.md")][:-1] == ["Blocks of 64"] * failed


def test_passages_between_two_lines_are_those_that_begin_there():
    document, whole = GRAVEYARD * 3, passages_of(GRAVEYARD * 3)
    for lines in (range(1, 1), range(3, 9), range(4, 10_000)):
        assert passages_between(document, lines) == tuple(p for p in whole if p.line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Headings of a known kind are parts of the one thing that stands above them.
        (
            "# Dead ends\n\n## Padding of tiles\n\n### The Hypothesis\n\nBanks collide.\n\n### The Finding\n\n2,563 against 2,558.\n\n"
            "## Bigger grids\n\n### The Hypothesis\n\nMore blocks.\n\n### The Finding\n\nFlat.\n",
            ["Padding of tiles", "Bigger grids"],
        ),
        # What bears no cross where most do is none.
        (
            "# Dead ends\n\n## 1. ❌ Loop mounts\n\nThe kernel says no.\n\n## 2. ❌ Idle polling\n\nIt crashed sooner.\n\n"
            "## 3. ℹ️ What the device is\n\nA phone.\n",
            ["1. ❌ Loop mounts", "2. ❌ Idle polling"],
        ),
        # What bears no number where most do is none, and a heading that stands below several is part of each.
        (
            "# Failed experiments\n\n## 1. A question at the end\n\nAsked to bring readers back.\n\n### Setting\n\nTwo weeks.\n\n"
            "## 2. A framework in memory\n\nNobody read them.\n\n### Setting\n\nOne talk.\n\n## Common lesson of all\n\nAsk first.\n",
            ["1. A question at the end", "2. A framework in memory"],
        ),
        # A paragraph introduces the items below it; what sums them up or is a remark of another kind is none.
        (
            "# Failed approaches\n\n## Breakpoints\n\nTwo ways were gone.\n\n### Code breakpoints\n\nThe process goes down.\n\n"
            "### Deferred ones\n\nThey do not resolve.\n\n## Summary\n\n1. **The profiler** runs inside\n2. **Text** is read outside\n",
            ["Code breakpoints", "Deferred ones"],
        ),
        # What opens the page introduces all of them, a rule below it or not.
        (
            "# What didn't work\n\nTwo ideas that were built, measured and rejected.\n\n---\n\n## Loop mounts\n\nThe kernel says no.\n\n## Idle polling\n\nIt crashed sooner.\n",
            ["Loop mounts", "Idle polling"],
        ),
        # Labels lead the remarks of an item, not items.
        (
            "# Negative results\n\n## The new detector goes down at its start\n\nIt was run on two machines.\n\nThe trace ends in the driver.\n\n"
            "**Still a guess:** it wants a screen.\n\n**Requirement:** any version needs the library.\n",
            ["The new detector goes down at its start"],
        ),
        # Bold words lead items, whatever the heading above says of them; what else stands between goes on or aside.
        (
            "# What didn't work\n\n## Corrections that made things worse\n\n**Clamping twice** (in the tree, off). It was 3 % slower.\n\n"
            "**Spectral filter.** It gained nothing.\n\nIt took a day.\n\nOne thing worth keeping: the camera adds no smearing.\n\n**Neural field.** One of six beat it.\n",
            ["Clamping twice (in the tree, off). It was 3 % slower.", "Spectral filter. It gained nothing.", "Neural field. One of six beat it."],
        ),
        # A sentence that tells of no failure says what its list is of.
        ("## Failed experiments\n\nThe run writes two files:\n\n- `alpha.json` holds every period\n- `beta.json` holds every rank\n", []),
        # What brackets add tells how the one thing went.
        (
            "# Failed approaches\n\n## Two at one place (attempted, abandoned)\n\nThey vanished.\n\n- passing each other\n- sharing a bed\n",
            ["Two at one place (attempted, abandoned)"],
        ),
        ("## Dead ends\n\n| Approach | Why |\n|---|---|\n| {what was tried} | {the reason} |\n", []),
        ("## What failed\n\n- Nothing failed in this session, all 208 pass\n", []),
        ("## Dead ends\n\n- **Don't write level editors.** The page is a wall\n", []),
        ("## Running `npm i` doesn't work\n\n- Add the force flag to the command\n", []),
        ("## Falsifiers\n\n- A difference of more than 2 ms -> P-B refuted\n", []),
    ],
)
def test_what_stands_in_a_list_of_failures_and_is_none_of_them_makes_no_card(text, expected):
    assert [s[3] for s in said(text)] == expected


BENCHES = """# Matmul

### Iter 97 — third buffer

- **Bench:** 17.00us, kept as the best.

### Iter 98 — other order

- **Bench:** 17.0us, within noise. Reverted.
- **Next:** another size

### Iter 99 — no sharing

- **Bench:** 17.1us, no change. Reverted.
"""


def test_what_stands_behind_a_label_of_every_section_is_said_of_what_the_section_names():
    assert [s[3].partition(". ")[0] for s in said(BENCHES, "wiki/matmul.md")] == ["Iter 98 — other order", "Iter 99 — no sharing"]


def test_a_remark_without_a_figure_or_a_decision_is_no_failure():
    text = "# Notes\n\n- The tile fits 4 KiB and stays.\n\nMarkers for the parser, which drops their names, and a quiet no-op in phase-4 programs.\n"
    assert said(text, "wiki/notes.md") == []


def test_an_item_of_failures_is_settled_by_its_heading_and_first_sentence_alone():
    text = "# Dead ends\n\n## Limits of each pair\n\nThe limit was set by its length. It moved no pair. Since the upgrade a better way is done.\n"
    assert [s[3] for s in said(text, "wiki/dead-ends.md")] == ["Limits of each pair"]
    won = text + "\n## ✅ Limits of all\n\nOne for all.\n"
    assert said(won, "wiki/dead-ends.md") == said(text, "wiki/dead-ends.md")


def test_prose_without_a_name_or_a_figure_and_what_notes_turn_down_unmeasured_only_ask():
    prose = "# Notes\n\nAfter a week of complaints the service was rolled back by its own owners.\n\n**Hash index.** 4 % slower, reverted.\n\nA measured attempt to sort the rows of both tables was slower, so it was reverted.\n"
    assert [s[0] for s in said(prose, "wiki/notes.md")] == ["remark", "bullet", "bullet"]
    listed = "# Doors\n\n## Rejected alternatives\n\n- A second wrapper: worse than the problem\n- Lazy loading: 4 % slower\n"
    assert [s[0] for s in said(listed, "wiki/doors.md")] == ["remark", "bullet"]
    # On a page of a type of kb's own it was run.
    assert [s[0] for s in said(listed, "wiki/concepts/doors.md")] == ["bullet", "bullet"]
    # So does a row that gives no figure and names no run: it may only have been weighed.
    table = "# Options\n\n| Option | Pros | Cons | Verdict |\n|---|---|---|---|\n| One script | simple | couples them | ❌ Rejected |\n| Two | apart | 4 ms | ❌ Rejected |\n"
    assert [s[0] for s in said(table, "wiki/options.md")] == ["remark", "row"]


def test_beside_a_heading_that_lists_what_the_name_of_the_page_says_other_headings_are_no_items():
    text = "# Tried\n\n## How we measure\n\nTwice.\n\n## What did not work\n\n- Wide tiles: 4 % slower\n\n## What we learnt\n\nMeasure first.\n"
    assert [s[3] for s in said(text, "wiki/negative-results.md")] == ["Wide tiles: 4 % slower"]


def test_a_section_that_only_tells_the_outcome_is_about_what_stands_above_it():
    text = "# Notes\n\n## Fallback for thin groups\n\n### TL;DR\n\n**Outcome**: rejected. It catches 0 of 5.\n\n## Sorted groups\n\n### TL;DR\n\n**Outcome**: kept.\n"
    assert [s[3] for s in said(text, "wiki/phase.md")] == ["Fallback for thin groups"]
    entries = "# Notes\n\n## T3. Growing from seeds\n\n- A: seeded by the 17.\n- Result (2 runs): no improvement, best 2.7 s.\n\n## T4. Cells\n\n- Verdict : open — they do not depend on 3 ms.\n"
    assert [s[3].partition(". R")[0] for s in said(entries, "wiki/theory.md")] == ["T3. Growing from seeds"]


def test_a_name_of_a_file_needs_no_apostrophe_and_a_lesson_or_a_remark_beside_a_list_is_no_entry_of_it():
    text = (
        "# What did not work (so that nobody repeats it)\n\n## Black screen\n\n- **A patched ROM.** It loaded, still black.\n- **Two cables.** Black on both.\n\n"
        "## The lesson that cost the most\n\nA correction of 20 % holds on its own frame, and lost 3 % elsewhere.\n"
    )
    assert [s[3].partition(".")[0] for s in said(text, "wiki/what-didnt-work.md")] == ["A patched ROM", "Two cables"]
    table = "# Signs\n\n## Rejected signs\n\n| sign | why |\n|---|---|\n| RS | 4 % slower |\n\nThey stand beside each other to show two reasons for which 3 % was rejected.\n"
    assert [s[3] for s in said(table, "wiki/signs.md")] == ["RS · 4 % slower"]


def test_a_row_is_called_by_what_it_tried_and_not_by_its_day_or_a_bare_figure():
    head = "# Lanes\n\n| N | when | tok/s | gate |\n|---|---|---|---|\n"
    rows = "| 4 | 2026-03-01 | 37.41 | pass |\n| 8 | 2026-03-02 | 21.55 | FAIL (2 of 8 lanes) |\n| 16 | 2026-03-03 | 26.51 | FAIL (3 of 16) |\n"
    assert [s[3] for s in said(head + rows, "wiki/lanes.md")] == ["N 8 · FAIL (2 of 8 lanes)", "N 16 · FAIL (3 of 16)"]


def test_a_long_heading_that_names_an_anti_pattern_among_others_is_no_list_of_what_was_turned_down():
    items = "\n\n- a dict: 24.5s -> 17.2s\n- one sine: 4 s -> 3 s\n"
    assert not said(f"# Speed\n\n## Export of features (export.py) — anti-pattern of frames, no language{items}")
    assert len(said(f"# Speed\n\n## Anti-patterns{items}")) == 2


def test_a_run_is_claimed_by_its_title_where_the_page_opens_with_where_it_starts_from(make_base):
    opening = "The evaluation is 4 of 10 hours, and two rules of last year hold for it."
    page_of = "---\ntype: experiment\nverdict: refuted\n---\n# {}\n\n{}\n\n## Results\n\n4 % slower.\n"
    texts = {"a": ("Sharded evaluation of users", opening), "b": ("Sorted evaluation of users", "Sorting them by their length should save about 3 %."), "c": ("14 March", opening)}
    claims = {c.evidence[-4]: c.claim for c in cards(make_base({f"wiki/experiments/e/{n}.md": page_of.format(*t) for n, t in texts.items()}))}
    assert claims == {"a": "Sharded evaluation of users", "b": "Sorted evaluation of users: Sorting them by their length should save about 3 %.", "c": f"14 March: {opening}"}


def test_a_heading_may_name_the_one_thing_that_failed_and_in_a_quotation_it_heads_nothing_behind_it():
    table = "\n\nThe gap is as wide as the mouth.\n\n| kernel | area |\n|---|---|\n| wide ones | 14 % |\n| wider ones | 20 % |\n"
    for title in ("Dead end: closing the gaps", "走不通的路：闭运算补缝"):
        assert [s[3] for s in said(f"# Log\n\n## {title}{table}", "wiki/log-of-tuning.md")] == [title]
    assert [s[3] for s in said("# Log\n\n## Dead ends: gaps\n\n- Closing them: 3 % slower\n", "wiki/log-of-tuning.md")] == ["Closing them: 3 % slower"]
    quoted = "# Plan\n\n> ## What failed\n>\n> - Closing the gaps: 3 % slower\n\n**Goal:** close the gaps of wide masks.\n\n**Design:** a mask, closed once.\n"
    assert [s[3] for s in said(quoted, "wiki/plan.md")] == ["Closing the gaps: 3 % slower"]


def test_below_a_label_of_what_is_known_or_open_nothing_failed():
    entry = "\n\n- A pool of 32 blocks: 3 % slower, so it falls back to none.\n"
    for label in ("**Other known behaviour**", "**Not yet tried:**", "**其他已知行为**"):
        assert not said(f"# Notes\n\n## Cutting\n\nIt cuts.\n\n{label}{entry}", "wiki/notes.md"), label
    assert said(f"# Notes\n\n## Cutting\n\nIt cuts.\n\n**Two of them**{entry}", "wiki/notes.md")


def test_a_label_alone_says_what_the_list_below_it_does_on_a_page_of_few_results_too():
    setup = "- two regressors\n- the last 20 steps\n- no weights\n- a hidden size\n- four layers\n- early stops\n"
    text = f"# Experiments\n\n## Boosted trees\n\n**Setup**\n\n{setup}\n**Result**\n\n- poor\n\n**Conclusion**\n\n- Abandoned for now\n\n## Recurrent net\n\nResult:\n- 0.28 on both\n"
    assert [s[3] for s in said(text, "wiki/notes/experiments.md")] == ["Boosted trees"]
    assert not said(text.replace("Abandoned for now", "In use"), "wiki/notes/experiments.md")


def test_a_column_that_no_head_names_tells_of_no_outcome():
    rows = "| card | 1.391 | live |\n| deck | 2.000 | dead |\n| note | 1.631 | live |\n"
    assert not said("# Notes\n\n| block | exponent | |\n|---|---|---|\n" + rows, "wiki/notes.md")


def test_a_claim_of_a_run_whose_measurement_is_invalid_may_hold():
    table = "| Claim | Result | Status |\n|---|---|---|\n| Merging wide tiles | +6.2 | INVALID — a bug |\n| Sorting the rows | +0.1 | REFUTED — slower |\n"
    text = f"---\ntype: experiment\nverdict: supported\n---\n# Correction\n\n## Claims\n\n{table}"
    own = page.read("wiki/experiments/a/9.md", text.encode())
    stated = store.value_of(statements_of(own, text, facts=trail.facts_of(own, text)), RunAim).statements
    assert [s.text.partition(" ·")[0] for s in stated] == ["Sorting the rows"]


def test_most_headings_of_a_list_of_failures_say_whether_they_are_groups_or_items():
    entry = "\n- **What:** it was in.\n- **Why dropped:** no gain.\n"
    text = (
        "# Dead ends — ruled-out approaches\n\nApproaches that were tried and did not work. See what is next.\n\n> They can be revived.\n\n"
        f"## Tracking (all lost to the filter)\n\nEach was a further cost term.\n\n### Appearance cost\n{entry}\n### Turn penalty\n{entry}\n"
        f"## Shapes\n\n### Boundary model\n{entry}\n## How entries are written\n\n1. Name the symbol.\n2. Say what it cost.\n"
    )
    assert [s[3] for s in said(text, "wiki/dead_ends.md")] == ["Appearance cost", "Turn penalty", "Boundary model"]


def test_where_a_list_is_introduced_as_measured_and_lost_every_entry_failed_that_does_not_say_it_is_open():
    lost = [
        "A finer grid: best x0.86 at 16k creatures.",
        "Sixteen general workers, or eight beside a healthy device of the other kind: 129,792 creatures/s against 137,824.",
        "Grouping four muscles: no change.",
        "Half the rate: elites kept 38 % of it.",
    ]
    text = (
        "# Rejected ideas\n\nEach idea was measured and lost. Do not redo one.\n\n## Search\n\n"
        f"- {lost[0]}\n- {lost[1]}\n- Not measured, no verdict: deep grids, racing.\n\n## Speed\n\n- {lost[2]}\n- {lost[3]}\n"
    )
    assert [s[3] for s in said(text, "wiki/rejected.md")] == lost
    # What is only left out was perhaps never run.
    left_out = text.replace("Each idea was measured and lost.", "Ideas for later.")
    assert {s[0] for s in said(left_out, "wiki/rejected.md")} == {"declined"}


def test_a_failure_in_front_of_a_list_is_one_by_itself_and_not_each_of_its_details():
    details = "- It needs 168 registers a thread.\n- The grid holds 4096 of them now.\n"
    one, each = "The fused kernel was 4 % slower.", "All of them were 4 % slower."
    text = f"# Notes\n\n## What did not work\n\n{one}\n\n{details}"
    assert said(text, "wiki/notes.md") == []
    assert len(said(text.replace(one, each), "wiki/notes.md")) == 2


def test_a_heading_of_what_was_not_rejected_heads_no_failures():
    text = "# Dead ends\n\n## Parked (not rejected, only later)\n\n- Overlay mesh: a seam only.\n"
    assert said(text, "wiki/dead-ends.md") == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        # Who skips a level of headings means the items all the same.
        ("wiki/graveyard.md", "# Graveyard\n\n### Fused softmax\nSpilled; 14.2 ms instead of 12.9.\n\n### Four stages\nThree hide it.\n\n### Why this page exists\nPeople asked.\n", ["Fused softmax", "Four stages"]),
        ("wiki/notes.md", "# Notes\n\n## Things we tried that didn't stick\n\n- perfect hashing (it is a jump table)\n- Next we should look at the allocator.\n", ["perfect hashing (it is a jump table)"]),
        ("wiki/notes.md", "# Lessons\n\n## What we would not do again\n\n- Sharding by user id – p99 doubled.\n- Feature flags.\n", ["Sharding by user id – p99 doubled."]),
        # A label in front of a list is its heading, and ends with it.
        ("wiki/retro.md", "# Retro\n\nWhat didn't work:\n- result caching — hit rate under 2 %\n\nActions:\n- try another ring\n", ["result caching — hit rate under 2 %"]),
        ("wiki/retro.md", "# Retro\n\n**Generic refuted patterns**:\n- Skipping the profile — the usual failure of a session.\n- Striped reads — 4 % slower.\n", ["Striped reads — 4 % slower."]),
        ("wiki/retro.md", "# Retro\n\n**Dead ends**\n\n- result caching — hit rate under 2 %\n\n**What stuck**\n\n- arenas\n", ["result caching — hit rate under 2 %"]),
    ],
)  # fmt: skip
def test_a_list_of_failures_is_known_by_a_label_and_by_headings_of_any_level(path, text, expected):
    assert [s[3] for s in said(text, path)] == expected


def test_headings_below_one_that_tells_of_several_are_items_and_what_introduces_them_is_none():
    groups = "# Dead ends — what was ruled out\n\nWays that were tried and did not work, then removed.\n\n> Bring one back from git.\n\n## Doors (all lost to the plain one)\n\nThe plain door stays.\n\n### Glass\n\nThe crust went soft.\n\n### Two panes\n\nNo gain.\n"
    items = [s[3] for s in said(groups, "wiki/dead-ends.md")]
    assert items == ["Glass", "Two panes"]
    rest = "\n## Racks\n\n### Wire\n\nBent in an hour.\n\n## How to add an entry\n\nSay why, and cite the run.\n"
    assert [s[3] for s in said(groups + rest, "wiki/dead-ends.md")] == [*items, "Wire"]
    taken_up = rest.replace("Bent in an hour.", "**Why it failed:** bent by 3 mm. **RETRIED SUCCESSFULLY** with 4 mm.")
    assert [s[3] for s in said(groups + taken_up, "wiki/dead-ends.md")] == items


def test_a_label_alone_says_nothing_and_what_a_label_leads_is_said_of_what_stands_before_it():
    labels = "# Log\n\n**GO/NO-GO.** GO on the premise, 15 s are enough.\n\n- `RACKS`: 32 and 64 are equal on small loaves. Winner: keep 32, because 64 ran 4 % slower.\n"
    assert [s[3].partition(":")[0] for s in said(labels, "wiki/oven.md")] == ["RACKS"]


KEPT_COLUMN = """# Size of the oven, 2026-10-07

| lever | size | cost | adopted |
|---|---|---|---|
| thin walls | 3.79 kg (-23 %) | none | yes |
| no walls | 2.97 kg | every loaf 40 % slower | no |
| glass | 4.1 kg | needs a permit | no |

## Verdict

Thin walls are used now, and no measured loaf got slower. Glass would save more, but it is rejected.
"""


def test_what_a_run_did_not_keep_failed_where_its_row_says_how():
    path = "wiki/experiments/2026-10-07-size.md"
    own = page.read(path, KEPT_COLUMN.encode())
    facts = trail.facts_of(own, KEPT_COLUMN)
    stated = store.value_of(statements_of(own, KEPT_COLUMN, facts=facts), RunAim).statements
    assert [s.text.partition(" · ")[0] for s in stated] == ["no walls"]
    assert from_row(facts).verdict.canonical != "refuted"


def test_a_row_with_one_cross_failed_where_it_says_how_it_went():
    rows = "| 1 | plans by hash | ✅ done | 2.1x |\n| 2 | plans by text | ❌ | collisions, worse hit rate |\n| 3 | no statistics | ❌ tried, no effect | |\n| 4 | filter | 💡 | later |\n"
    table = "| # | idea | status | note |\n|---|---|---|---|\n"
    assert [s[3] for s in said(f"# Ideas\n\n{table}{rows}", "wiki/ideas.md")] == ["plans by text · ❌ · collisions, worse hit rate", "no statistics · ❌ tried, no effect"]
    # What each can do is no try, nor is what nobody said anything of.
    features = "| | Linux | macOS |\n|---|---|---|\n| io_uring | ✅ | ❌ |\n| kqueue, slower | ❌ | ❌ |\n"
    assert said(f"# Ports\n\n{features}", "wiki/ports.md") == []


def test_a_legend_of_any_language_explains_a_pages_words_and_what_follows_a_bare_verdict_is_its_reason():
    text = (
        "# Versuche\n\n| Verdikt | Anzahl | Bedeutung |\n|---|---|---|\n| gebrochen | 2 | aktiv schlechter oder verletzt ein Kriterium |\n| offen | 1 | gemessen |\n\n"
        "## Tür\n\n### K-01 — Zweite Scheibe\n\n**Verdikt:** gebrochen · **2026-07-31**\n\n14 % der Brote blieben roh.\n\n### K-02 — Dampf\n\n**Verdikt:** offen\n\n12 Brote.\n"
    )
    assert [(s[3], s[4]) for s in said(text, "wiki/versuche.md")] == [("K-01 — Zweite Scheibe", "14 % der Brote blieben roh.")]


def test_rows_that_only_rate_what_may_be_done_ask_and_a_figure_is_named_by_the_heading_above():
    table = "## Rejected\n\n| Option | Risk | Effort | Verdict |\n|---|---|---|---|\n| Two doors | high | large | rejected |\n| Glass | low | {} | rejected |\n"
    assert [s[0] for s in said(table.format("small"), "wiki/options.md")] == ["remark", "remark"]
    assert [s[0] for s in said(table.format("small, 4 % slower"), "wiki/options.md")] == ["remark", "row"]
    threads = "# Flags\n\n## Threads 8 of 32\n\n- 16/32 regressed to 24.865 tok/s while 8/32 reached 38.770.\n"
    assert [s[3].partition(".")[0] for s in said(threads, "wiki/flags.md")] == ["Threads 8 of 32"]


@pytest.mark.parametrize("head", ["idea | what happened", "idea | why", "what | result"])
@pytest.mark.parametrize("title", ["What didn't work", "Things that did not work", "Ideas that did not pay off", "Things we tried that failed", "Dead ends"])
def test_every_row_below_a_title_of_what_failed_is_a_failure_whatever_its_columns_are_called(make_base, title, head):
    rows = "".join(f"| {what} | {why} |\n" for what, why in (("jemalloc", "3 % slower"), ("GPU scoring", "slower than one core"), ("1 GB pages", "no gain"), ("MAP_POPULATE", "start takes 4 s instead of 2")))
    page = {"wiki/notes/old.md": f"# {title}\n\n| {head} |\n|---|---|\n{rows}"}
    assert len(cards(make_base(page))) == 4


def test_a_title_of_one_thing_that_failed_makes_no_failure_of_what_is_listed_below_it(make_base):
    rows = "".join(f"| {size} | {took} ms |\n" for size, took in ((1, 40), (2, 43), (4, 51)))
    page = {"wiki/notes/old.md": f"# The prefetcher that did not help\n\n| distance | took |\n|---|---|\n{rows}"}
    assert not [c for c in cards(make_base(page)) if c.kind == "row"]
