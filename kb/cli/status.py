"""`kb status`: where the knowledge base and its trails stand."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from kb import store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="", help="everything about this target (default: a line for each target)")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb import trail
    from kb.cli.built import built_state
    from kb.page import text_of
    from kb.trail.standing import standing_of

    layout = store.layout_at(Path.cwd())
    db = built_state(layout)
    names = (args.target,) if args.target else trail.targets(db)
    found = [standing_of(db, name, text_of=lambda path: text_of(store.read_bytes(layout, path))) for name in names]
    if args.format == "json":
        counts = dict(db.execute("select type, count(*) from standing group by type order by type"))
        print(json.dumps({"pages": counts, "targets": [asdict(s) for s in found]}, ensure_ascii=False, indent=1))
    elif args.target:
        print(_whole(found[0]))
    else:
        (pages,) = db.execute("select count(*) from standing").fetchone()
        print(f"{pages} pages, {sum(s.runs for s in found)} experiments on {len(found)} targets")
        for s in found:
            print(_line(s))
    return 0


def _line(s) -> str:
    best = next((p for p in sorted(s.progress, key=lambda p: -p.runs) if p.frontier), None)
    alarms = sorted({a.code for p in s.progress for a in p.alarms})
    shown = f"{_figure(best, best.frontier)}, {best.plateau} runs on the plateau" if best else "no frontier"
    return f"  {s.target}: {s.runs} runs, {shown}" + (f"; {', '.join(alarms)}" if alarms else "")


def _figure(progress, step) -> str:
    from kb.run.quantity import number_text, unit_beside

    return f"{progress.metric} {number_text(step.value)} {unit_beside(progress.metric, progress.unit)}".rstrip()


def _whole(s) -> str:
    lines = [
        f"{s.target}: {s.runs} runs, last {s.last or 'none'}",
        f"  page: {s.page or 'none'}",
        f"  balance: {s.settings} moved settings, {s.structural} changed structure",
    ]
    for p in s.progress:
        lines.append(f"\n{p.variant or '(no variant)'}: {p.runs} runs ({', '.join(f'{n} {v}' for v, n in p.counts.items())})")
        if p.frontier:
            band = "noise unknown" if p.band is None else f"noise {p.band:.2%}"
            lines.append(f"  frontier: {_figure(p, p.frontier)} ({band}), {p.frontier.path}")
        if p.baseline and p.frontier and p.baseline.path != p.frontier.path:
            lines.append(f"  baseline: {_figure(p, p.baseline)}, {p.baseline.path}")
        lines.append(f"  plateau: {p.plateau} runs since the frontier moved by 1 %")
        lines += [f"  ! {a.code}: {a.text}" for a in p.alarms]
    for title, items in (
        ("closed topics", [f"{t.name}: refuted {t.failed} times, never supported" for t in s.closed]),
        ("open leads", [f"{lead.path}: {lead.text[:160]}" for lead in s.leads]),
        ("in flight", list(s.in_flight)),
        ("runs in the log without a page", list(s.unfiled)),
    ):
        if items:
            lines += [
                f"\n{title}:",
                *(f"  {item}" for item in items[:12]),
                *([f"  and {len(items) - 12} more (--format json)"] if len(items) > 12 else []),
            ]
    retro = s.retrospective
    lines.append(
        f"\nretrospective: {retro.path + ('' if retro.covers_last else ' (does not cover the last run)') if retro else 'none'}"
    )
    return "\n".join(lines)
