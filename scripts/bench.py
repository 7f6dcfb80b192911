"""Times kb beside plain yardsticks of the same run, so that the ratios travel from machine to machine.

    python scripts/bench.py                        # the shipped wiki and synthetic ones of 2,000 and 10,000 pages
    python scripts/bench.py --wiki DIR --pages 10000 --pages 50000
    python scripts/bench.py writers --wiki DIR     # open and close of eight agents at once, beside one alone
    python scripts/bench.py growth                 # pages of one repeated fragment at doubling sizes
    python scripts/bench.py warm --wiki DIR --pages 4186     # loads of a client of `kb mcp`, the wiki grown to that many pages
    python scripts/bench.py site --wiki DIR --pages 4186     # the site, beside plain Material; the wiki is grown to that many pages

Yardsticks: reading and hashing every page; a plain FTS5 table of the pages cut at their second-level headings; starting Python.
Every figure is the least of its repeats: cpu seconds of the command and its children, wall seconds, peak memory of the largest process.
"""

import argparse
import contextlib
import gc
import hashlib
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KB = [sys.executable, "-m", "kb"]
WORDS = (
    "tile block cache fuse kernel batch shard warp register prefetch quantize unroll vector stream graph launch pipeline buffer layout align "
    "scan loop matmul attention softmax norm gather scatter reduce memory bandwidth latency throughput occupancy spill"
).split()


def synthetic(home: Path, pages: int) -> None:
    """A wiki of `pages` pages in the proportions of a real one: experiments, concepts, sources, catalogs, all linked. Same for the same size."""
    rng = random.Random(pages)
    text = lambda n: " ".join(rng.choice(WORDS) for _ in range(n))  # noqa: E731
    concepts = [f"{rng.choice(WORDS)}-{rng.choice(WORDS)}-{n}" for n in range(max(5, pages // 20))]
    link = lambda: f"[{text(2)}](../concepts/{rng.choice(concepts)}.md)"  # noqa: E731
    (home / "wiki" / "concepts").mkdir(parents=True)
    (home / "kb.toml").write_text("")
    for name in concepts:
        body = "\n\n".join(
            f"## {text(3)}\n\n" + "\n".join(f"- {text(14)} {link()}" for _ in range(4))
            for _ in range(5)
        )
        (home / f"wiki/concepts/{name}.md").write_text(
            f"---\ntitle: {name}\ntype: concept\nupdated: 2026-01-01\ntags: [{text(2).replace(' ', ', ')}]\n---\n# {name}\n\n{body}\n"
        )
    for n in range(pages - len(concepts)):
        if n % 6 == 0:
            lever, value, verdict = (
                rng.choice(WORDS),
                2 ** rng.randrange(9),
                rng.choice(["refuted", "supported", "inconclusive", "refuted"]),
            )
            folder, target = f"wiki/experiments/t{n % 7}", f"t{n % 7}"
            head = f"type: experiment\ntarget: {target}\nhypothesis: {lever}\nverdict: {verdict}\ncreated: 2026-{1 + n % 12:02}-{1 + n % 28:02}\nupdated: 2026-01-01"
            body = (
                f"## Hypothesis under test\n\n**Hypothesis**: `{lever}_{rng.choice(WORDS)}={value}` {text(20)} [c](../../concepts/{rng.choice(concepts)}.md).\n\n**Mechanism**: {text(30)}\n\n"
                f"## Results\n\n| Metric | Value |\n|---|---|\n| tok/s | {rng.randrange(1000)} |\n\n## Verdict\n\n{verdict.capitalize()}: {rng.uniform(-9, 9):+.1f} % {text(15)}.\n"
            )
            name = f"2026-{1 + n % 12:02}-{1 + n % 28:02}-v{n % 1000:03}-{lever}-{n}"
        else:
            kind = ("catalog", "source", "catalog", "catalog", "concept")[n % 6 - 1]
            folder = "wiki/sources" if kind == "source" else f"wiki/codebases/c{n % 19}"
            head = f"type: {kind}\nupdated: 2026-01-01"
            body = "\n\n".join(
                f"## `{text(1)}_{k}` {text(2)}\n\n{text(60)} {f'[{text(1)}](../concepts/{rng.choice(concepts)}.md)' if kind == 'source' else ''}\n\n```\n{text(30)}\n```"
                for k in range(12)
            )
            name = f"{rng.choice(WORDS)}-{n}"
        (home / folder).mkdir(parents=True, exist_ok=True)
        (home / folder / f"{name}.md").write_text(
            f"---\ntitle: {name}\n{head}\n---\n# {name}\n\n{body}\n"
        )


def hashed(home: Path) -> None:
    for file in sorted((home / "wiki").rglob("*.md")):
        hashlib.sha256(file.read_bytes()).hexdigest()


def plain_fts(home: Path) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table f using fts5(p, b, tokenize='porter unicode61')")
    for file in sorted((home / "wiki").rglob("*.md")):
        db.executemany(
            "insert into f values (?, ?)",
            [
                (file.name, part)
                for part in re.split(r"(?m)^(?=## )", file.read_text(errors="replace"))
            ],
        )
    db.commit()


def timed(run, repeats: int = 3) -> tuple[float, float]:
    """Least (cpu, wall) seconds of several runs, children counted."""
    best = (float("inf"), float("inf"))
    for _ in range(repeats):
        before, wall, own = (
            resource.getrusage(resource.RUSAGE_CHILDREN),
            time.perf_counter(),
            time.process_time(),
        )
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = (
            after.ru_utime
            + after.ru_stime
            - before.ru_utime
            - before.ru_stime
            + time.process_time()
            - own
        )
        best = min(best, (cpu, time.perf_counter() - wall))
    return best


def kb(home: Path, *words: str, text: str = "") -> str:
    done = subprocess.run(
        [*KB, *words],
        cwd=home,
        capture_output=True,
        text=True,
        input=text or None,
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT)},
    )
    if done.returncode not in (0, 1, 3):  # 3: the gate says that it was tried
        sys.exit(f"kb {' '.join(words)} -> {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def peak_mb(home: Path, *words: str) -> float:
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", code, *KB, *words],
        cwd=home,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT)},
    )
    return int(done.stdout) / 1024


def bench(name: str, home: Path, rows: list[dict]) -> None:
    pages = sorted((home / "wiki").rglob("*.md"))
    size = sum(p.stat().st_size for p in pages) / 1e6
    print(f"\n{name}: {len(pages)} pages, {size:.1f} MB")
    yard = {
        "hash": timed(lambda: hashed(home)),
        "fts": timed(lambda: plain_fts(home), 2),
        "start": timed(lambda: subprocess.run([sys.executable, "-c", "import json, sqlite3"]), 5),
    }
    for key, what in (
        ("hash", "read and hash every page"),
        ("fts", "plain FTS5 table"),
        ("start", "start Python"),
    ):
        print(f"  yardstick {what:<28} cpu {yard[key][0]:7.2f} s  wall {yard[key][1]:7.2f} s")

    def row(what: str, run, beside: str, repeats: int = 3) -> None:
        cpu, wall = timed(run, repeats)
        ratio = cpu / max(yard[beside][0], 1e-9)
        rows.append(
            {
                "wiki": name,
                "pages": len(pages),
                "what": what,
                "cpu_s": round(cpu, 3),
                "wall_s": round(wall, 3),
                "ratio": round(ratio, 2),
                "beside": beside,
            }
        )
        print(f"  {what:<38} cpu {cpu:7.2f} s  wall {wall:7.2f} s  {ratio:6.1f} x {beside}")

    def cold() -> None:
        shutil.rmtree(home / ".kb", ignore_errors=True)
        kb(home, "build")

    page = next(p for p in pages if p.parent.name == "concepts")
    keep = page.read_bytes()

    def edited() -> None:
        page.write_bytes(page.read_bytes() + b"\nOne more sentence.\n")
        kb(home, "build")

    def linked() -> None:
        other = next(p for p in pages if p.parent == page.parent and p != page)
        page.write_bytes(page.read_bytes() + f"\nSee [it]({other.name}).\n".encode())
        kb(home, "build")

    def decided(run: Path) -> None:
        other = "inconclusive" if "\nverdict: supported\n" in run.read_text() else "supported"
        run.write_text(re.sub(r"(?m)^verdict: \w+$", f"verdict: {other}", run.read_text(), count=1))
        kb(home, "build")

    def linted(*, anew: bool = False) -> None:
        if anew:
            (home / ".kb" / "lint.db").unlink(missing_ok=True)
        kb(home, "lint", "--format", "json")

    row("build from nothing", cold, "fts", 1)
    row("build, nothing changed", lambda: kb(home, "build"), "start")
    row("build, one page changed", edited, "fts")
    row("build, a link added", linked, "fts")
    page.write_bytes(keep)
    runs = [p for p in pages if "/experiments/" in p.as_posix()]
    run = next((p for p in runs if re.search(r"(?m)^verdict: \w+$", p.read_text())), None)
    if run:
        row("build, a verdict changed", lambda: decided(run), "fts")
    kb(home, "build")
    bench_agent(home, row)
    row("lint from nothing", lambda: linted(anew=True), "fts", 1)
    row("lint, nothing changed", linted, "start")
    row(
        "load, fresh process",
        lambda: kb(
            home, "load", "hypothesis", "--query", "attention kernel block size", "--format", "json"
        ),
        "start",
    )
    row("search, fresh process", lambda: kb(home, "search", "attention block size"), "start")
    row("search, common words", lambda: kb(home, "search", " ".join(WORDS[:8])), "start")
    row(
        "check, fresh process",
        lambda: kb(home, "check", "-", text="Raise the block size of the attention kernel to 512"),
        "start",
    )
    queries = home / ".kb" / "bench.jsonl"
    queries.write_text(
        "".join(
            json.dumps(
                {
                    "id": str(n),
                    "step": "hypothesis",
                    "query": " ".join(random.Random(n).sample(WORDS, 8)),
                }
            )
            + "\n"
            for n in range(40)
        )
    )
    each = (
        timed(
            lambda: kb(
                home, "load", "hypothesis", "--batch", os.fspath(queries), "--format", "json"
            ),
            2,
        )[1]
        / 40
    )
    print(f"  {'load, each further request of a batch':<38} wall {1000 * each:7.1f} ms")
    rows.append(
        {
            "wiki": name,
            "pages": len(pages),
            "what": "load, each further request",
            "wall_s": round(each, 4),
        }
    )
    shutil.rmtree(home / ".kb")
    memory = peak_mb(home, "build")
    print(f"  {'peak memory of a cold build':<38} {memory:7.0f} MB")
    rows.append(
        {
            "wiki": name,
            "pages": len(pages),
            "what": "peak memory of a cold build",
            "mb": round(memory),
        }
    )


def grow(home: Path, pages: int) -> None:
    """Make a wiki as large as asked for: its pages again, in folders (or under names) beside their own."""
    files = sorted((home / "wiki").rglob("*.md"))
    count, turn = len(files), 1
    while files and count < pages:
        turn += 1
        for file in files[: pages - count]:
            parts = list(file.relative_to(home / "wiki").parts)
            at = 1 if len(parts) > 2 else len(parts) - 1
            parts[at] = f"{parts[at]}-{turn}" if at < len(parts) - 1 else f"{file.stem}-{turn}.md"
            copy = home / "wiki" / Path(*parts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        count += len(files[: pages - count])


def bench_site(name: str, home: Path, rows: list[dict]) -> None:
    """The site from nothing, after an edit and with nothing changed; MkDocs with our plugin; plain Material; the first search result."""
    pages = sorted((home / "wiki").rglob("*.md"))
    print(f"\nsite of {name}: {len(pages)} pages")
    page = next(p for p in pages if p.parent.name == "concepts")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "-q", "-f"]
    for file, plugins in (("kb.yml", "[kb]"), ("plain.yml", "[search]")):
        settings = f"site_name: x\ndocs_dir: wiki\nsite_dir: {file[:-4]}-html\ntheme: {{name: material, font: false}}\nplugins: {plugins}\n"
        (home / file).write_text(
            settings
            + "validation: {links: {not_found: ignore, unrecognized_links: ignore, anchors: ignore}}\n"
        )

    def edited() -> None:
        page.write_bytes(page.read_bytes() + b"\nOne more sentence.\n")
        kb(home, "site", "build")

    def mkdocs_with(file: str) -> None:
        env = {
            **os.environ,
            "PYTHONPATH": os.fspath(ROOT),
            "NO_MKDOCS_2_WARNING": "true",
            "DISABLE_MKDOCS_2_WARNING": "true",
        }
        subprocess.run([*mkdocs, file], cwd=home, env=env, check=True, capture_output=True)

    for what, run, repeats in (
        ("kb build from nothing", lambda: kb(home, "build"), 1),
        ("kb site build, the whole site", lambda: kb(home, "site", "build"), 1),
        ("kb site build, nothing changed", lambda: kb(home, "site", "build"), 3),
        ("kb site build, one page edited", edited, 2),
        ("mkdocs build with the plugin kb", lambda: mkdocs_with("kb.yml"), 1),
        ("mkdocs build, plain Material", lambda: mkdocs_with("plain.yml"), 1),
    ):
        cpu, wall = timed(run, repeats)
        rows.append(
            {
                "wiki": name,
                "pages": len(pages),
                "what": what,
                "cpu_s": round(cpu, 2),
                "wall_s": round(wall, 2),
            }
        )
        print(f"  {what:<38} cpu {cpu:7.2f} s  wall {wall:7.2f} s", flush=True)
    parts = sorted((home / "site/html/kb-search").iterdir())
    first_read = sum(f.stat().st_size for f in parts if f.name == "pages.js")
    plain = home / "plain-html/search/search_index.json"
    whole = sum(f.stat().st_size for f in parts)
    print(
        f"  search: {whole / 1e6:.1f} MB, read at first {first_read / 1e6:.1f} MB; "
        f"plain Material {plain.stat().st_size / 1e6:.1f} MB"
    )
    first = first_result_s(home / "site/html/index.html")
    if first is not None:
        rows.append(
            {
                "wiki": name,
                "pages": len(pages),
                "what": "first search result, from a file",
                "wall_s": round(first, 2),
            }
        )
        print(f"  {'first search result, from a file':<38} wall {first:7.2f} s")


def first_result_s(page: Path) -> float | None:
    """Seconds from the click on Search to the first result, in Chromium; None where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        return None
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page()
        tab.goto(page.as_uri())
        before = time.perf_counter()
        tab.click(".kb-search-open")
        tab.fill("dialog input", "attention kernel")
        tab.wait_for_selector(".kb-results li", timeout=30_000)
        taken = time.perf_counter() - before
        browser.close()
    return taken


def server_cpu_s() -> float:
    """Processor seconds of the programs that this one started and that run still (Linux; elsewhere nothing is told)."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    pids = listed.read_text().split() if listed.exists() else []
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(s[11]) + int(s[12]) for s in stats) / os.sysconf("SC_CLK_TCK")


def bench_warm(name: str, home: Path, rows: list[dict], *, loads: int = 40) -> None:
    """Loads as a client of `kb mcp` sees them, another question and another target at each: without a target, then by step."""
    import anyio
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    kb(home, "build")
    counted = "select target from experiment group by 1 having count(*) >= 20 order by count(*) desc limit 6"
    with contextlib.closing(sqlite3.connect(home / ".kb" / "kb.db")) as db:
        targets = [target for (target,) in db.execute(counted)]
    rng = random.Random(1)
    env = {**os.environ, "PYTHONPATH": os.fspath(ROOT)}
    server = StdioServerParameters(command=KB[0], args=[*KB[1:], "mcp"], cwd=home, env=env)

    async def timed_loads(client: Client, step: str, some: list[str]) -> tuple[float, float]:
        taken, cpu = [], 0.0
        for n in range(10 + loads):
            cpu = server_cpu_s() if n == 10 else cpu
            request = {"step": step, "query": " ".join(rng.sample(WORDS, 8))}
            request |= {"target": some[n % len(some)]} if some else {}
            before = time.perf_counter()
            await client.call_tool("load", request)
            taken.append(time.perf_counter() - before)
        return statistics.median(taken[10:]), (server_cpu_s() - cpu) / loads

    async def session() -> None:
        async with Client(stdio_client(server)) as client:
            for step, some in (
                ("hypothesis", []),
                *((s, targets) for s in ("hypothesis", "profile", "verdict", "resume")),
            ):
                what = f"warm load, {step}{' with a target' if some else ''}"
                wall, cpu = await timed_loads(client, step, some)
                taken = {"wall_s": round(wall, 4), "cpu_s": round(cpu, 4)}
                rows.append({"wiki": name, "what": what, **taken})
                print(
                    f"  {what:<38} wall {1000 * wall:6.1f} ms  cpu {1000 * cpu:6.1f} ms", flush=True
                )

    print(f"\nserver of {name}: {len(list((home / 'wiki').rglob('*.md')))} pages")
    anyio.run(session)


_TARGET = """---
title: Mill
type: target
metric: {name: time_ms, unit: ms, direction: lower}
created: 2026-05-01
updated: 2026-05-01
---

# Mill

<!-- kb:auto frontier -->
<!-- /kb:auto -->
"""
_FIRST_PATH = "wiki/experiments/mill/2026-05-01-v001-first.md"
_FIRST = """---
title: First
type: experiment
target: mill
verdict: baseline
status: filed
metrics: {time_ms: {value: 100.0, unit: ms, stddev: 0.2, n: 5}}
---

# First
"""


def stated(lever: str) -> list[str]:
    """The options of a proposal that moves one lever."""
    fields = {
        "target": "mill",
        "lever": f"{lever}=on",
        "title": f"Try {lever}",
        "hypothesis": f"{lever} is faster",
        "mechanism": f"{lever} skips work",
        "predicted": "time falls",
        "falsification": "gain < 2%",
        "parent": _FIRST_PATH,
    }
    return [word for key, value in fields.items() for word in (f"--{key}", value)]


def with_records(home: Path) -> list[str]:
    """Files a target and its first run; the options that record three runs of a change."""
    for path, text in (("wiki/targets/mill.md", _TARGET), (_FIRST_PATH, _FIRST)):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    kb(home, "build")
    records = [home / ".kb" / f"record-{n}.log" for n in range(3)]
    for n, file in enumerate(records):
        file.write_text(f"METRIC time_ms={90 + n / 10}\n")
    return [word for file in records for word in ("--record", os.fspath(file))]


def bench_agent(home: Path, row) -> None:
    """Open, run and close, each twice: the first of a target is dearer."""
    recorded = with_records(home)
    paths: list[str] = []
    number = iter("abcdef")

    def opened() -> None:
        paths.append(
            kb(home, "experiment", "open", *stated(f"lever{next(number)}")).splitlines()[-1]
        )

    row("experiment open", opened, "fts", 2)
    for path in paths:
        kb(home, "experiment", "run", path, *recorded)
    row(
        "experiment close",
        lambda: kb(home, "experiment", "close", paths.pop(), "--expect", "METRIC time_ms=9"),
        "fts",
        2,
    )


def bench_writers(
    name: str,
    home: Path,
    rows: list[dict],
    *,
    writers: int,
    minutes: float,
    pause_s: float = 10.0,
) -> None:
    """Median wall seconds of open and close: one agent alone, then several at once that pause between commands, beside two readers.

    They begin one after the other within the first pause. Each command is told as it ends; who has not begun a round when the `minutes` are over begins none.
    """
    recorded = with_records(home)
    taken: dict[str, list[float]] = {}
    failed: list[str] = []
    started = time.perf_counter()

    def command(who: str, what: str, *words: str) -> str:
        before = time.perf_counter()
        done = subprocess.run(
            [*KB, *(() if what == "load" else ("experiment",)), what, *words],
            cwd=home,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": os.fspath(ROOT)},
        )
        seconds = time.perf_counter() - before
        taken.setdefault(what, []).append(seconds)
        good = done.returncode in (0, 1, 3) and "Traceback" not in done.stderr
        failed.extend([] if good else [f"{who} {what}: {done.stderr[-300:]}"])
        if what != "load" or not good:
            at = time.perf_counter() - started
            print(
                f"    {at:6.1f} s  {who:<6} {what:<6} {seconds:6.2f} s{'' if good else '  FAILED'}",
                flush=True,
            )
        return done.stdout.strip() if good else ""

    def agent(who: str, *, rounds: int, pause: float, until: float, wait: float = 0.0) -> None:
        time.sleep(wait)
        for turn in range(rounds):
            if turn and time.perf_counter() > until:
                return
            path = command(who, "open", *stated(f"{who}x{turn}")).rpartition("\n")[2]
            time.sleep(pause)
            if path and command(who, "run", path, *recorded) is not None:
                time.sleep(pause)
                command(who, "close", path, "--expect", "METRIC time_ms=9")
            time.sleep(pause)

    def reader(done: threading.Event) -> None:
        while not done.wait(2):
            query = ("--query", "attention kernel block size", "--target", "mill")
            command("reader", "load", "hypothesis", *query)

    print(f"\nwriters on {name}: {len(list((home / 'wiki').rglob('*.md')))} pages", flush=True)
    agent("alone", rounds=3, pause=0.0, until=float("inf"))
    alone = {what: statistics.median(taken[what]) for what in ("open", "close")}
    taken.clear()
    done = threading.Event()
    until = time.perf_counter() + 60 * minutes
    with ThreadPoolExecutor(writers + 2) as pool:
        reading = [pool.submit(reader, done) for _ in range(2)]
        writing = [
            pool.submit(
                agent, f"w{n}", rounds=3, pause=pause_s, until=until, wait=n * pause_s / writers
            )
            for n in range(writers)
        ]
        for one in writing:
            one.result()
        done.set()
        for one in reading:
            one.result()
    for what, before in alone.items():
        times = taken.get(what, [0.0])
        median = statistics.median(times)
        row = {"wiki": name, "what": f"{what}, {writers} writers", "wall_s": round(median, 2)}
        rows.append({**row, "alone_s": round(before, 2), "failed": len(failed)})
        print(
            f"  {what:<6} alone {before:6.2f} s  {writers} writers: median of {len(times)} {median:6.2f} s "
            f"({median / before:.1f} x), most {max(times):6.2f} s"
        )
    print(f"  {len(failed)} commands failed", *failed, sep="\n    ")


# What a hostile or a broken page is made of: each is repeated to pages of doubling size.
FRAGMENTS = (
    "[a][b] ", "[a](b.md) ", "![a](b) ", "[[a]] ", "[a]: b\n", "[^1]: a\n", "[", "](", "<b>", "<!-- ",
    "<!-- kb:auto x -->\n<!-- /kb:auto -->\n", "-->", "`", "```\n", "~~~\n", "*", "**a ", "_a_ ", "~", "\\",
    "&amp;", "\t", "a\t", "| a | b |\n", "|---|", "- a\n", "  - a\n", "> ", "1. a\n", "# a\n",
    "## `a` b\n\n", "a\n===\n", "\n", "a: b\n", "http://a.b/c ", "a_b_c ", "--a=1 ", "a=1 -> a=2, ", "+1.5 % ", "1.2 ± 0.1 ms ",
    "because ", "did not help. ", "- a: refuted, slower by 5 %\n", "(", "中", "a-", "a.", "0", "\u0301", "$a$ ",
    "<!-- a -->\n", "- a\n  - b\n    - c\n", "| a ", "[a]: <b.md> \"c\"\n", "[^a] ", "[^a]: b\n\n", "***a** b* ", "__a ", "[[a|b]] ", "![[a]] ",
    "## Result\n\nIt was slower.\n\n", "> > > a\n", "> - a\n", "漢字かな", "漢字。", "<div>\n", "<a href=x>", "- [ ] a\n", "a  \n", "\\[", "{{ a }} ", "a|b\n-|-\n", "***\n", "a<br>",
)  # fmt: skip


def bench_growth(rows: list[dict], *, size: int = 50_000, steps: int = 3) -> None:
    """Cpu seconds of compiling a page of an experiment and an owner's notes, made of one fragment each, at doubling sizes; the factor of each doubling."""
    from kb.build.pages import compile_page
    from kb.store import Config, Layout

    gc.disable()  # As a build does; looking for garbage among all that a page makes is worse than linear by itself.
    head = (
        "---\ntitle: x\ntype: experiment\ntarget: t\nverdict: refuted\n---\n# x\n\n## Dead ends\n\n"
    )
    pages = {"wiki/experiments/t/2026-01-01-v001-x.md": head, "wiki/notes/x.md": "# x\n\n"}
    layout = Layout(Path(), Config())
    for fragment in FRAGMENTS:
        seconds: list[float] = []
        for step in range(steps):
            body = fragment * ((size << step) // len(fragment.encode()))
            data = {path: (opening + body).encode() for path, opening in pages.items()}
            compiled = lambda d=data: [compile_page(*p, layout) for p in d.items()]  # noqa: E731
            seconds.append(timed(compiled, 2)[0])
            gc.collect()
            if seconds[-1] > 60:
                break
        factors = [round(b / a, 2) for a, b in zip(seconds, seconds[1:], strict=False)]
        rows.append({"what": "growth", "fragment": fragment, "cpu_s": seconds, "factors": factors})
        worse = "  WORSE THAN LINEAR" if factors and factors[-1] > 2.5 and seconds[-1] > 0.2 else ""
        told = " ".join(f"{s:7.3f}" for s in seconds)
        print(f"  {fragment!r:<46} {told} s  factors {factors}{worse}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("all", "site", "writers", "growth", "warm"),
        default="all",
        help="site: only the site, beside plain Material; writers: eight agents at once; warm: loads of a client of kb mcp; growth: pages of one fragment at doubling sizes",
    )
    parser.add_argument(
        "--wiki",
        action="append",
        type=Path,
        default=[],
        help="a folder that holds a wiki/; it is copied, never touched",
    )
    parser.add_argument(
        "--pages", action="append", type=int, default=[], help="size of a synthetic wiki"
    )
    parser.add_argument("--writers", type=int, default=8, help="agents at once")
    parser.add_argument("--minutes", type=float, default=5, help="how long writers begin rounds")
    parser.add_argument("--json", type=Path, help="write the rows there too")
    args = parser.parse_args()
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as work:
        if args.what == "growth":
            sys.path.insert(0, os.fspath(ROOT))
            bench_growth(rows)
        if args.what in ("site", "warm"):
            wiki, home = (args.wiki or [ROOT])[0], Path(work)
            shutil.copytree(wiki / "wiki", home / "wiki")
            (home / "kb.toml").write_text("")
            grow(home, max(args.pages or [0]))
            (bench_warm if args.what == "warm" else bench_site)(wiki.resolve().name, home, rows)
        if args.what == "writers":
            home = Path(work)
            shutil.copytree((args.wiki or [ROOT])[0] / "wiki", home / "wiki")
            (home / "kb.toml").write_text("")
            wiki = (args.wiki or [ROOT])[0].resolve().name
            bench_writers(wiki, home, rows, writers=args.writers, minutes=args.minutes)
        for number, wiki in enumerate([] if args.what != "all" else [*args.wiki] or [ROOT]):
            home = Path(work) / f"w{number}"
            home.mkdir()
            shutil.copytree(wiki / "wiki", home / "wiki")
            (home / "kb.toml").write_text("")
            bench(wiki.resolve().name, home, rows)
        for size in [] if args.what != "all" else args.pages or [2000, 10000]:
            home = Path(work) / f"s{size}"
            home.mkdir()
            synthetic(home, size)
            bench(f"synthetic {size}", home, rows)
            shutil.rmtree(home)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
