"""What a stretch of a page reports: by its words, by a verdict of few words, by the way in which what it measures moved.

Refuses a move whose better side nobody knows, and one that is supposed, advised or asked for.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from kb import begun, languages, regex
from kb.languages import spellings
from kb.run.direction import direction_of, is_resource
from kb.schema import FAILED, Verdict, outcome_verdict
from kb.text import sentences_of, words_of
from kb.text.reports import ReportKind, is_referring, is_supposed, report_of
from kb.text.units import unit_of

# Clauses tell of one measure each; what stands behind "instead of" did not happen.
_CLAUSE = regex(
    rf",(?!\d)|[;:，、；：()—–]|\s-\s|\b(?:instead of|rather than)\s+\w+|(?<!\w)(?:{'|'.join(languages.JOINS.split())})(?!\w)"
)


def _by_way(pattern_of: Callable[[Sequence[str]], str]) -> dict[str, re.Pattern[str]]:
    """A pattern of the words of each way in which a measure moves."""
    return {
        name: regex(pattern_of(ways))
        for name in languages.MOVES
        if (ways := spellings(languages.MOVES, name))
    }


_MOVES = _by_way(
    lambda ways: "|".join(
        (
            begun((w for w in ways if w[0] <= "\u2e7f"), sign=r"[^\W_]"),
            *(w for w in ways if w[0] > "\u2e7f"),
        )
    )
)
_DENIES = rf"(?<!\w)(?:{'|'.join(languages.DENIALS)}) (?:\w+ )?"
# "没有下降", "sank nicht": it did not move so.
_STOOD = _by_way(lambda ways: rf"{languages.denied('|'.join(ways))}|{_DENIES}(?:{'|'.join(ways)})")
# From one figure to another; that of a name ("p99 climbed to 14 ms") is none.
_FROM_TO = regex(
    r"(\d(?<![\w.,]\d)[\d,]*(?:\.\d+)?)\s*(?:[^\W\d]*(?:/s)?|%)\s*(?:→|->|=>|to|auf|zu|à|a|para|до|到|から)\s*(\d[\d,]*(?:\.\d+)?)"
)
# What parts the name of what was tried from what came of it.
_LEAD = regex("[:：—–]")
_OBJECT = frozenset("the a an our all this in".split())
# A sentence of no more words only says how it ended.
_SHORTEST = 4


def report_in(text: str, *, is_try: bool = False) -> tuple[ReportKind | None, int]:
    """(what a stretch reports, the place of the sentence that says so first): what was done in the end counts before what was measured."""
    sentences = sentences_of(text)
    # What stands in brackets behind another sentence may speak of something else.
    asides = [place > 0 and s.startswith("(") for place, s in enumerate(sentences)]
    reports = [
        _report("" if aside else s, is_try=is_try)
        for s, aside in zip(sentences, asides, strict=True)
    ]
    last = next((report for report, final in reports if final), None)
    report = last or next((report for report, _ in reports if report), None)
    place = next((at for at, (own, _) in enumerate(reports) if own is report), 0)
    return (report, place) if report else _moved(sentences, is_try=is_try)


def _moved(sentences: list[str], *, is_try: bool) -> tuple[ReportKind | None, int]:
    """The same of sentences that report nothing in words, by the way in which what they measure moved."""
    moves = [(place, move) for place, s in enumerate(sentences) for move in moves_in(s)]
    worse = next((place for place, is_better in moves if not is_better), None)
    if worse is not None and not moves[-1][1]:
        # Of a measure that got worse by itself nobody tried anything.
        lead, *rest = _LEAD.split(sentences[worse].lower(), maxsplit=1)
        named = is_try or worse or rest and not any(map(direction_of, lead.split()))
        return (ReportKind.FAILED if named else None), worse
    return (ReportKind.STAYED if moves else None), 0


def _report(sentence: str, *, is_try: bool) -> tuple[ReportKind | None, bool]:
    if sentence.endswith("?"):
        return None, False
    report, final = report_of(sentence, is_try=is_try)
    # What stands behind the last "but" weighs more: slower, but with better results.
    behind = sentence.rpartition(" but ")[2]
    if (report, final) == (ReportKind.FAILED, False) and report_of(behind)[0] is ReportKind.STAYED:
        return None, False
    if report or not 0 < len(words_of(sentence)) <= _SHORTEST:
        return report, final
    # "Removed the mutex" says what was done: an outcome stands at the head, and has no object.
    head, *rest = sentence.split()
    verdict = outcome_verdict(sentence)
    if _OBJECT.intersection(rest) or verdict is not outcome_verdict(" ".join([head, *rest[:1]])):
        return None, False
    kinds = {Verdict.SUPPORTED: ReportKind.STAYED, **dict.fromkeys(FAILED, ReportKind.FAILED)}
    return kinds.get(verdict), verdict in kinds


@lru_cache(maxsize=4096)
def moves_in(sentence: str) -> tuple[bool, ...]:
    """Whether what a sentence measures got better or worse, in the order in which it tells it."""
    lower = sentence.lower()
    # Most sentences move nothing, and need not be read by clauses.
    moves = any(pattern.search(lower) for pattern in (*_MOVES.values(), _FROM_TO))
    if not moves or sentence.endswith("?") or is_supposed(lower):
        return ()
    clauses = ((_move(clause), clause) for clause in _CLAUSE.split(lower))
    return tuple(move for move, clause in clauses if move is not None and not is_supposed(clause))


def _move(clause: str) -> bool | None:
    # A size that changes may be what was set.
    words = (w for w in clause.split() if not (is_resource(w) and unit_of(w)))
    sides = {side for w in words if (side := direction_of(w))}
    if len(sides) != 1:
        return None
    ways = {name for name, words_of_way in _MOVES.items() if words_of_way.search(clause)}
    if figures := _FROM_TO.search(clause):
        first, last = (float(figure.replace(",", "")) for figure in figures.groups())
        ways = {"up" if last > first else "down"} if first != last else set()
    if len(ways) != 1:
        return None
    is_better = ("higher" in sides) == ("up" in ways)
    # What did not get better got no worse by that, and was of no use.
    is_denied = not figures and any(_STOOD[way].search(clause) for way in ways)
    return (False if is_better else None) if is_denied else is_better


def failure_in(text: str, *, is_try: bool = False) -> tuple[str, str] | None:
    """(what was tried, why it failed) of a stretch that reports a failure; None of any other."""
    report, at = report_in(text, is_try=is_try)
    if report is not ReportKind.FAILED:
        return None
    sentences = sentences_of(text)
    first = max(0, at - 2) if is_referring(sentences[at]) else at
    # What leads an entry in a few words names what was tried.
    lead = sentences[:1] if first and len(sentences[0].split()) <= _LONGEST_LEAD else []
    return " ".join([*lead, *sentences[first : at + 1]]), " ".join(sentences[at:])


_LONGEST_LEAD = 6
