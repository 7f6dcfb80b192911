"""A loop on a C kernel whose every experiment goes another way: the verdict that is expected beside the one that the commands give."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from loops.loop import Loop

HOME = Path(__file__).parent / "loops" / "pairs"
RECORD = Path(__file__).parent.parent / "docs" / "experiments.md"
pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("cc", "make", "git"))), reason="the loop needs git, make and a C compiler")

NAIVE = (HOME / "kernel.c").read_text()
MAKEFILE = (HOME / "Makefile").read_text()
HEAD, _, BODY = NAIVE.partition("long found = 0;")
WALK = "long found = 0;\n    int i = 0, j = count - 1;\n    while (i < j) {\n"
POINTERS = HEAD + WALK + """        long both = get(i) + get(j);
        found += both == sum;
        if (both <= sum)
            i++;
        else
            j--;
    }
    return found;
}
"""
KEPT = HEAD + "long low = get(0), high = get(count - 1);\n    " + WALK + """        found += low + high == sum;
        if (low + high <= sum)
            low = get(++i);
        else
            high = get(--j);
    }
    return found;
}
"""
# How busy the machine is, turn after turn, in percent: 20 % of noise; and 9 %, in which the change seems 2.8 % faster.
NOISE_20 = "parent -25 18 4 -15 22\nchange 21 -27 -9 16 5\n"
NOISE_9 = "parent -11 8 0 -7 10\nchange -2.8 7.2 -13.8 5.2 -9.8\n"


@dataclass(frozen=True)
class Row:
    """One experiment: what is proposed, what is edited (file -> text), the weather, and what must come of it."""

    name: str
    title: str
    lever: str
    edits: dict[str, str]
    expected: tuple[str, str, str]
    weather: str = ""
    said: str = ""


def edited(old: str, new: str, text: str = KEPT) -> str:
    assert old in text
    return text.replace(old, new)


ROWS = (
    Row("43-fold win", "Walk from both ends", "walk=ends", {"kernel.c": POINTERS}, ("supported", "supported", "keep")),
    Row("win at 20 % noise", "Keep what was read in registers", "values=kept", {"kernel.c": KEPT}, ("supported", "supported", "keep"), NOISE_20),
    Row("loss", "Read one element ahead", "prefetch=1", {"kernel.c": edited("found +=", "get(i);\n        found +=")}, ("refuted", "falsified", "revert")),
    Row("tie of 2.8 % at 9 % noise", "Keep the sum in memory", "sum=memory", {"kernel.c": edited("found += low + high == sum;", "volatile long both = low + high;\n        found += both == sum;")},
        ("inconclusive", "undecided", "revert"), NOISE_9),
    Row("no-op", "Say what the loop does", "comment=long", {"kernel.c": edited("The one file", "The only file")}, ("inconclusive", "no-op", "revert")),
    Row("crash", "Let the walk begin outside", "start=outside", {"kernel.c": edited("get(count - 1)", "get(count)")}, ("crash", "crash", "revert")),
    Row("failing check", "End the walk early", "end=early", {"kernel.c": edited("i < j", "i + 9 < j")}, ("invalid", "checks-failed", "revert")),
    Row("benchmark edited", "Measure finer", "clock=finer", {"bench.c": edited("reads / 100.0", "reads / 200.0", (HOME / "bench.c").read_text())},
        ("invalid", "protected-file", "revert")),
    Row("METRIC printed twice", "Print at the end", "print=late",
        {"kernel.c": "#include <stdio.h>\n__attribute__((destructor)) static void late(void) { puts(\"MET\" \"RIC time_us=0.0100\"); }\n" + KEPT},
        ("invalid", "forged-metric", "revert")),
    Row("METRIC printed by the change alone", "Print and leave", "print=alone",
        {"kernel.c": "#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void alone(void) {\n    puts(\"METRIC time_us=0.0100\");\n    fflush(stdout);\n    _exit(0);\n}\n" + KEPT},
        ("invalid", "forged-metric", "revert")),
    Row("METRIC put together from pieces, by the change alone", "Print in pieces and leave", "print=pieces",
        {"kernel.c": "#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void alone(void) {\n    puts(\"MET\" \"RIC time_us=0.0100\");\n    fflush(stdout);\n    _exit(0);\n}\n" + KEPT},
        ("invalid", "forged-metric", "revert")),
    Row("Makefile that rewrites the benchmark", "Build by another Makefile", "Makefile=quick",
        {"Makefile": edited("cc -O1 -c", "sed -i 's|reads / 100.0|reads / 200.0|' b*.c; cc -O1 -c", MAKEFILE)},
        ("invalid", "protected-file", "revert")),
    Row("Makefile that builds a copy of the benchmark", "Build by a Makefile of more steps", "Makefile=long",
        {"Makefile": edited("cc -O1 bench.c", "sed 's|reads / 100.0|reads / 200.0|' bench.c > copy.c; cc -O1 copy.c", MAKEFILE)},
        ("invalid", "protected-file", "revert")),
    Row("another Makefile beside it", "Build without a word", "build=silent",
        {"GNUmakefile": edited("cc -O1 bench.c", "sed 's|reads / 100.0|reads / 200.0|' bench.c > copy.c; cc -O1 copy.c", MAKEFILE)},
        ("invalid", "protected-file", "revert")),
    Row("repeat in other words", "Prefetching the next element", "prefetch=1", {"kernel.c": edited("found +=", "(void)get(i);\n        found +=")},
        ("refused", "repeat", "—")),
    Row("identical repeat", "Read one element ahead", "prefetch=1", {"kernel.c": edited("found +=", "get(i);\n        found +=")}, ("refused", "repeat", "—")),
    Row("reopened with a difference", "Read one element ahead", "prefetch=1", {"kernel.c": edited("int i = 0, j = count - 1;", "int i = (sum - high) / 3, j = count - 1;\n    low = get(i);")}, ("supported", "supported", "keep"),
        said="Unlike 2026-05-02-v004-read-one-element-ahead, it is read once, to begin the walk where a pair can begin."),
)  # fmt: skip


@pytest.fixture
def loop(make_base, capsys, monkeypatch, tmp_path) -> Loop:
    layout = make_base({"wiki/targets/pairs.md": (HOME / "target.md").read_text(), "wiki/index.md": "# Index\n\n[Pairs](targets/pairs.md)\n"})
    repository = tmp_path / "pairs"
    shutil.copytree(HOME, repository, ignore=shutil.ignore_patterns("target.md"))
    (repository / ".gitignore").write_text("*.o\nbench\n")
    monkeypatch.chdir(layout.root)
    loop = Loop(layout, repository, capsys, "pairs", "kernel.c")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        loop.git(*words)
    return loop


def tried(loop: Loop, row: Row) -> tuple[str, str, str]:
    """Verdict, rule and decision of one row, its edits kept as a commit or taken back as the loop says."""
    proposal = loop.repository.parent / "proposal.md"
    texts = (f"Hypothesis: {row.title} takes half of the reads away. {row.said}", "Mechanism: less is read", "Predicted signal: time_us down", "Falsification: gain < -50%")
    proposal.write_text(f"---\ntarget: pairs\nlevers: [{row.lever}]\nexpect: ['METRIC']\n---\n# {row.title}\n\n" + "\n\n".join(texts) + "\n")
    for file, text in row.edits.items():
        (loop.repository / file).write_text(text)
    (loop.repository.parent / "weather").write_text(row.weather)
    done = loop.run("try", proposal, "--snapshot", "--format", "json", "--date", "2026-05-02", "--because", row.name, ok=(0, 1, 3))
    ruling = json.loads(done.stdout) if done.stdout else {}
    if not ruling:
        assert "this repeats what was refuted" in done.stderr, done.stderr
    if ruling.get("decision") == "keep":
        loop.git("commit", "-qam", row.title)
    else:
        loop.git("checkout", "-q", "--", ".")
        loop.git("clean", "-fdq")
    return (ruling["verdict"], ruling["rule"], ruling["decision"]) if ruling else ("refused", "repeat", "—")


def test_every_experiment_of_a_loop_comes_out_as_it_must(loop):
    """KB_GOLDENS=1 writes the record anew."""
    loop.run("try", "--baseline", "--target", "pairs", "--date", "2026-05-02")
    lines = ["| experiment | expected | given |", "|---|---|---|"]
    for row in ROWS:
        lines.append(f"| {row.name} | {', '.join(row.expected)} | {', '.join(tried(loop, row))} |")
    table = "\n".join(lines)
    if os.environ.get("KB_GOLDENS"):
        text = RECORD.read_text()
        start = text.index(lines[0])
        RECORD.write_text(text[:start] + table + text[text.index("\n\n", start):])
    assert all(line.split("|")[2] == line.split("|")[3] for line in lines[2:]), table
    assert table in RECORD.read_text()
