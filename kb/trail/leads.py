"""What runs left to try and no later run took up, with who asked for it. Refuses plans that were carried out: they are marked moot."""

import re
from collections.abc import Iterable, Mapping

from kb.text import cut
from kb.trail.handles import handle
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, subject_of

_NO_IDEA = re.compile(r"none\b|n/?a\b|no (?:further|more|follow)|closed", re.I)
_NUMBERED = re.compile(r"(?<![\w.])(?:v|exp ?)0*(\d{1,4})\b", re.I)
_LAST_RUNS = 40


def lead_lines(told: Outcomes, nearness: Mapping[str, float]) -> Iterable[Line]:
    """Open leads, those of the newest runs and of the frontier first, then those that something since made moot."""
    runs, before = told.runs, []
    ranked: list[tuple[float, int, Line]] = []
    best = told.best.run.path if told.best else ""
    subjects = {r.path: words_of(subject_of(r)) for r in runs[-_LAST_RUNS:]}
    for age, e in enumerate(reversed(runs[-_LAST_RUNS:])):
        later = runs[len(runs) - age :] if age else ()
        for place, note in enumerate(e.account.leads):
            words = words_of(note.text[:160])
            if len(words) < 3 or _NO_IDEA.match(note.text) or repeats(note.text, before):
                continue
            before.append(note.text)
            named = {int(n) for n in _NUMBERED.findall(note.text)} & {r.number for r in later}
            takers = [r for r in later if r.number in named] or [
                r
                for r in later
                if len(subjects[r.path] & words) >= max(3, 0.6 * len(subjects[r.path]))
            ]
            moot = (
                f" (since tried: {handle(takers[-1].path)} {takers[-1].verdict.canonical or 'open'})"
                if takers
                else ""
            )
            score = (
                1 / (1 + age / 4)
                + 0.4 * (e.path == best)
                - 0.6 * bool(takers)
                - 0.03 * place
                + nearness.get(e.path, 0.0)
            )
            ranked.append(
                (
                    -score,
                    len(ranked),
                    Line(f"{handle(e.path)}: {cut(note.text, 320)}{moot}", e.path),
                )
            )
    yield from (line for *_, line in sorted(ranked, key=lambda r: r[:2]))
