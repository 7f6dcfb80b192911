"""A replay as text and as a picture. Refuses to compute: it prints what was measured."""

from html import escape

from kb.replay import Recall, ReplayReport

_COLOURS = ("#2a6f97", "#89a7b8", "#c9b79c", "#b58b8b", "#888888")
_WIDTH, _BAR, _GAP = 720, 16, 12


def to_text(report: ReplayReport) -> str:
    """Tables for a terminal."""
    lines = []
    if report.overall:
        lines.append(
            f"recall of what {report.overall[0].questions} past pages cited before they knew their outcome"
        )
        lines += _table(report.overall, grouped=False)
    for title, rows in (
        ("by what asks", report.by_asking),
        ("by what was cited", report.by_cited),
        ("by target", report.by_target),
    ):
        if rows:
            lines += ["", f"{title}, at {rows[0].budget} tokens", *_table(rows, grouped=True)]
    if report.overall:
        lines += [
            "",
            f"slices that held a figure which the asking run measured later: {report.leaks}",
        ]
    else:
        lines.append(
            "no past page cites another one that was there before it; there is nothing to replay yet"
        )
    gate = report.gate
    lines += [
        "",
        f"the gate, asked before {gate.runs} runs: "
        + (", ".join(f"{n} {name}" for name, n in gate.called.items()) or "nothing"),
        f"repeats of a failed lever and value caught: {gate.caught} of {gate.repeats}",
        f"supported runs called a repeat: {gate.false_alarms} of {gate.supported}",
    ]
    return "\n".join(lines) + "\n"


def _table(rows: tuple[Recall, ...], *, grouped: bool) -> list[str]:
    wide = max(len(r.group) for r in rows)
    return [
        (f"  {r.group:<{wide}}" if grouped else " ")
        + f" {r.method:<16} {str(r.budget) if r.budget else 'all':>6} {r.recall:6.2f}"
        + (f"  n={r.questions}" if grouped else f"  {r.tokens:>8} tokens")
        for r in rows
    ]


def to_svg(report: ReplayReport) -> str:
    """Bars of recall by method and budget; no script, no address of another host, readable on dark and light."""
    rows = [r for r in report.overall if r.budget]
    budgets = sorted({r.budget for r in rows})
    methods = list(dict.fromkeys(r.method for r in rows))
    height = 40 + len(budgets) * (len(methods) * (_BAR + 3) + _GAP + 18)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Recall by method and budget" '
            'font-family="sans-serif" font-size="12" fill="currentColor">'
        ),
        '<text x="0" y="16" font-size="14">What past pages cited and a slice brings</text>',
    ]
    y = 34
    for budget in budgets:
        parts.append(f'<text x="0" y="{y + 10}">{budget} tokens</text>')
        y += 18
        for index, method in enumerate(methods):
            cell = next((r for r in rows if r.budget == budget and r.method == method), None)
            recall = cell.recall if cell else 0.0
            parts.append(
                f'<text x="8" y="{y + 12}">{escape(method)}</text><rect x="140" y="{y}" width="{recall * (_WIDTH - 200):.0f}" height="{_BAR}" '
                f'fill="{_COLOURS[index % len(_COLOURS)]}"/><text x="{146 + recall * (_WIDTH - 200):.0f}" y="{y + 12}">{recall:.2f}</text>'
            )
            y += _BAR + 3
        y += _GAP
    return "\n".join([*parts, "</svg>"]) + "\n"
