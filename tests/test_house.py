"""How large the house may be: logical lines a room, functions that do too much, regular expressions, names. A budget is raised with its reason.

Wanted are 11,000 lines for the rooms that read, judge and show, and 15 tangled functions; they hold more than twice that. The figures keep
what is reached.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import kb

radon_raw = pytest.importorskip("radon.raw")
radon_complexity = pytest.importorskip("radon.complexity")

HOME = Path(kb.__file__).parent
MODULES = {file: file.read_text(encoding="utf-8") for file in sorted(HOME.rglob("*.py"))}
# Logical lines (radon) that a room may hold; a room of one file counts as one.
# profiles 1,790 → 1,805: readers of complexity D stand in parts.
# refuted: what owners' notes report (answers, struck items, decisions taken back); of strangers' wikis it read .40 of the failures before, .94 after.
# search 820 → 890 and store 650 → 670: captured sources are found by `kb search`, in tables of their own
# that are begun anew where they are damaged, as those of the site are.
# run 1,080 → 1,102: readings that do not vary are judged by their last place.
# text 340 → 385: numbers in words, which claims held alone. refuted 1,760 → 1,827: values in words, lines of a diff, levers in plain words.
# refuted 1,560 → 1,590: cues are told by their words, which saves a third of the reading of an aim.
# store 670 → 700, trail 2,836 → 2,860, refuted 1,590 → 1,600, page 1,110 → 1,118 and indexes 1,140 → 1,190: results are kept piece by piece, and of a table only what differs is written.
# trail 2,860 → 3,230: rows of tables as tries, the merged configuration, what closed a lead.
# trail 3,210 → 3,256: the size of work of the frontier's own page, declared levers in the configuration, leads without verdicts.
# store 700 → 782: a state folder that a clone, an archive or a copy carries is set aside.
# trail 3,256 → 3,261, search 890 → 912, page 1,120 → 1,133, lint 1,210 → 1,216, indexes 1,186 → 1,194: cost and memory that follow the change at 50,000 pages.
# formats 3,390 → 3,619: one reader of the repeating units of any text (chats, bullet journals, fields, headings of every language).
# formats 3,619 → 3,680 and run 1,102 → 1,106: columns of blanks, what a tracker names (tags, metrics, states of a process), talk between tries, the text above the first run.
# claims 950 → 1,201: a claim is held against rows, columns, sides, retractions and abbreviations of its source, which it was not.
# claims 1,201 → 1,354: limits, plans, superlatives, yardsticks with numbers of their own, tables with two heads, what “it” stands for, and
# whether two names can stand in each other's place are compared, which were not; of strangers' drafts it let one wrong in five in and sent one honest in three back.
# text 468 → 481 (487 → 489): units of measure under every prefix. verbs 3,562 → 3,578, ingest 1,130 → 1,142: what rules took of a source and what they left.
# __init__ +5, page and refuted +4: patterns that are compiled when they are first used.
# slices 1,560 → 1,605: what a server keeps between loads, and the slices on file that a further load goes beyond.
# slices 1,607 → 1,614: a slice keeps what it was asked, so that `kb load --beyond DIGEST` asks it again.
# slices 1,614 → 1,722, verbs +6: lines that pages gained after a moment are told apart by the history of the wiki; what loads keep between them.
# trail 3,275 → 3,296: one gain a run (what its page declares), tables of settings, tries that differ by figures alone as one.
# experiments 2,857 → 2,940, verbs 3,520 → 3,555: code that a run measured, or that is its parent's, is refused before a page is filed; a filed run with more samples says so.
# loop 371 → 390: killed at any moment it goes on with the same proposal, the same change and the first measurement.
# research 2,292 → 2,313: figures before and after, columns of tables and what a program is made of decide a fork's kind; half of the words that did are gone.
# text 440 → 472, languages 20 → 23 and trail 3,257 → 3,273, of which refuted gave 20: what a sentence reports is read in twelve languages by one table of stems, and columns of signed changes by the side on which their metric is better.
# research 2,313 → 2,370: text of a PDF that nobody sees, and its actions, are marked as a page's hidden text is.
# formats 3,706 → 3,747, run +1: tables ruled by `====  ====` again, several a page; a short row is moved only where words stand among its figures,
# signs are verdicts only where no line tells its own, and a peak is a resource only of memory: each was read wrongly.
# cli 170 → 180: what was mistyped is answered with what was meant. experiments 2,940 → 2,955: what the check does not let pass is not opened.
# text 479 → 487: readers of other languages are asked only where a word of theirs stands.
# formats 3,684 → 3,724: tables without a status column, words in the place of a figure, fields of faults, days of headings, the other logs of a folder.
# formats 3,724 → 3,753: sections by verdict in any language, dated lines that close with one figure, arrays of entries in prose.
# page 1,133 → 1,169 and trail 3,275 → 3,310: a page of no known folder that compares figures and concludes is a run, and its verdict is the sentence that decides.
# text 493 → 496: what a language denies behind a word, or only wants or fears, reports nothing.
# research 2,370 → 2,388: a fork whose code is the same token for token up to names of its own is a refactor, whatever the names. verbs 3,588 → 3,591: each research command takes the options that it keeps, and no other.
# research 2,388 → 2,425 and verbs 3,591 → 3,615: release notes, of which a page of a forge gives the newest alone.
# store +29: of a large wiki a command that built a moment ago looks only at folders written since. graph +10: what pages that nobody
# cites give is counted once, which halves the cost of ranks.
# research 2,425 → 2,434: a loop that became an operation on the same values is performance.
# refuted 1,832 → 1,852: an attempt that is told by fields below its heading is one card; it was one a field.
# refuted 1,852 → 1,862, slices 1,731 → 1,735: what a card pulls is kept between questions, and reasons are found in one pass: a tenth of a warm load.
# slices 1,735 → 1,811: what follows from a target and a moment alone is kept between loads, and pages named are found from the words: a third of a warm load.
# refuted 1,803 → 1,815: a value that is a name is met by its words.
# schema 196 → 213: verdicts are a module of their own, whose names the room passes on.
# trail 3,334 → 3,467, verbs 3,613 → 3,646, slices 1,811 → 1,814: where time goes and what is at most to be won there, what memory is free, what the nearest target is set to; a long page by its sections.
# experiments +14, research +10, source +6, text and indexes +4, lint and page +2: functions of complexity D stand in parts;
# verbs −48 pay for them: one answer that is a text, one way to the network, one reader of JSON lines.
# claims 1,354 → 1,465: words that stand in one another's place in claim and quote, doers that the quote does not name, numbers bound as the
# quote states them (rounded, in another unit), abbreviations by their first letters, an antonym table; the rules of spans and cut groups went.
# Of drafts that nobody had opened the gate refused .84 to .89 of the wrong ones and let in .71 to .85 of the honest ones before.
# store 782 → 815, server +6, slices +9: a server asks of a wiki that it knows only when its pages were written, and of tables only whether their file is the same: of a warm load's 27 ms around the slice, 17.
# page 1,170 → 1,184, trail 3,467 → 3,481: a head that declares how its try came out makes a page a run, whatever its folder, and one order of
# sentences says the verdict; refuted 1,813 → 1,799 pays: one reader of what a page declares, no list of reasons' heads.
# store 904 → 994: the one reader of files that others may have put there, and the one way to git, which stood in three rooms; experiments 3,109 → 3,086,
# formats 3,747 → 3,734, site 2,533 → 2,521, ingest 1,147 → 1,142 gave of it. verbs +6: a file that a tool names is read by it.
# refuted 1,815 → 1,926: readers of lists, rows, cards, parts and aims in functions below complexity D (they had 20 to 50 branches), what reopens a
# card in linear time; a lever is met by the numbers between which it went and by a table's row: of the repeats of four sets .93 are found, .89 before.
# search 913 → 920, verbs +1: of a search that types or paths narrow only what they leave is weighed, and verbs are listed once a process.
# store 815 → 856, verbs +10, server +2: the look at all pages, a third of a warm load, is taken by a process beside the server's.
# trail 3,481 → 3,527: a lead is settled by the run that has its number, its title or its heading, at no other value, and lists of leads are leads each;
# slices 1,823 → 1,848, verbs 3,603 → 3,626, text +1: one look holds its characters too; a section that is not there opens the nearest, a run goes with its target.
# server 284 → 285, slices 1,848 → 1,851: an address is printed when calls to it are taken, and what threads keep for one another is entered whole.
# trail 3,527 → 3,551: what tables measure, and which way a lever goes, in functions that can be read one at a time (complexity 44 and 33 before).
# store +6, schema +7, ingest +5, experiments +4, trail +3, lint and server +2, three rooms +1: pages are written, linked and served where the wiki stands,
# which need not be wiki/; before, an import of a base in docs/ went to a folder that nothing reads.
# trail 3,554 → 3,604, which slices 1,851 → 1,800 pay: which runs aimed at a bucket, breakdowns that a sentence lists, settings that no run varied.
# experiments +52, verbs +3: a file that a change names and git does not know is asked for, lines of a build file that build the benchmark and build files that come with a change are protected (a copy of the
# benchmark was built and believed), a signal that is the gain under another name tests no mechanism; run 1,107 → 1,121: thresholds in another unit,
# metrics that a win leaves open, shares with the digits that tell; one counter of three distributions of ranks pays for half of it.
# claims 1,464 → 1,545: lines that a page numbers, its running heads, notes, tables of blanks, units that a caption declares, what lies between two
# quoted numbers: of honest drafts held out 21 of 45 entered before, 41 after.
# page 1,184 → 1,211, indexes 1,196 → 1,215: heads of all pages are kept apart from their rows, and ties of topics are counted, so that an edit of a large wiki reads less; trail +5: frontiers of many sizes of work take time that follows the runs.
# store 878 → 898 harness +1: what is written and read is held to the folder that was opened; its name alone led out where a link was swapped in.
# trail +67, languages +9, refuted +7, page +6, schema +2, text -12: one reading of stretches by words, short verdicts and the way in which a measure moved,
# in many languages; of 38 failures in habits held out it finds 33 where 14 were, and reports outside a folder of runs.
# verbs +2: a section that is nowhere near costs a line, not a page.
# trail +4, schema +2: a status of certainty says that a failure is certain too.
# refuted +8: a question that says the whole name of a failed page is of its matter, however little else they share.
# claims 1,545 → 1,613: what lies between two quoted numbers is of one thing that the claim names (any two bare numbers let a wrong claim
# in), and counted rows and lists are told from lines that a page numbers, in linear time.
# claims 1,610 → 1,623: who speaks, which of two is cause or more, columns of printed tables: of three sets of drafts it refuses 183 of 212 wrong
# ones (172 before, when it had not learnt from them) and lets 125 of 148 honest ones in (104). Retractions anywhere, contrasts, doers went.
# schema +3, text +1: what runs has no outcome yet, orders are a list (a pattern that made them of participles read "drop-in"), goals report nothing.
# experiments +14, run +14: a file that a change names, and a line that builds the benchmark, are found by whole names; a threshold in the unit of
# something else is none of the metric, and bytes are read in small letters (`peak_gb`).
# store +6, trail +2, refuted +2: one name of a folder of pages, hidden folders served by no door; a breakdown is told of its own page; outcomes of a page are read once.
# store +4, server +1: any frozen value as JSON holds it, which four rooms wrote themselves and forty results of verbs (verbs −387, harness −33, loop −19).
# trail +3 and refuted +4, of which indexes gave 14: what runs repeat and what an aim pulls is found once, where it is asked for.
# harness +2: why a transcript cannot be read.
# experiments +1: what a command prints between a look in vain and its end is read.
# trail +5: lines that begin with names and colons are labels in small letters too, and what was done with a change tells how it came out.
# trail, verbs, store, build, lint and experiments +42: an owner says which pages are runs and what a word of theirs means, and adopting finds the
# folders most of whose pages are runs; at first sight two thirds of the verdicts that were missed stood on pages taken for none.
# formats +7: a binary file is one by all its first lines, an object alone is no run, a ranking is judged, and what no metric is common to says so.
BUDGETS = {
    "verbs": 3166, "formats": 3509, "experiments": 3084, "trail": 3649, "site": 2514,
    "research": 2426, "profiles": 1801, "refuted": 1960, "slices": 1799, "lint": 1221,
    "indexes": 1201, "ingest": 1134, "page": 1214, "run": 1105, "claims": 1623, "harness": 777,
    "search": 918, "store": 1029, "source": 482, "graph": 437, "replay": 411, "loop": 371,
    "packs": 333, "text": 486, "server": 288, "build": 295, "model": 235, "schema": 227,
    "cli": 183, "move": 107, "mkdocs_plugin": 56, "__init__": 35, "languages": 32, "__main__": 4,
}  # fmt: skip
# Functions of complexity D or worse, and calls of `re.` in the whole.
# Patterns 612 → 626: the gate of claims looks for retractions, shares and sides.
TANGLED, PATTERNS = 10, 606
LONGEST_MODULE = 400
# Names that still stand for two classes: only fewer.
TWICE = 0


def room_of(file: Path) -> str:
    return file.relative_to(HOME).parts[0].removesuffix(".py")


def test_no_room_outgrows_its_budget():
    sizes = Counter()
    for file, text in MODULES.items():
        sizes[room_of(file)] += radon_raw.analyze(text).lloc
    over = {
        room: (lines, BUDGETS.get(room, 0))
        for room, lines in sizes.items()
        if lines > BUDGETS.get(room, 0)
    }
    assert not over, "logical lines, and the budget: say in the table why a room needs more"


def test_few_functions_do_too_much():
    tangled = [
        f"{file.relative_to(HOME)}:{block.lineno} {block.name}"
        for file, text in MODULES.items()
        for block in radon_complexity.cc_visit(text)
        if block.complexity > 20 and block.letter != "C"
    ]
    assert len(tangled) <= TANGLED, tangled


def test_patterns_are_the_last_resort():
    assert (
        sum(len(re.findall(r"\bre\.[a-z]+\(|\bregex\(", text)) for text in MODULES.values())
        <= PATTERNS
    )


def test_no_module_is_longer_than_a_person_reads_at_once():
    long = {
        file.relative_to(HOME).as_posix()
        for file, text in MODULES.items()
        if text.count("\n") > LONGEST_MODULE
    }
    assert not long


def test_few_class_names_stand_twice():
    names = Counter(
        node.name
        for text in MODULES.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    )
    twice = [name for name, count in names.items() if count > 1]
    assert len(twice) <= TWICE, twice
