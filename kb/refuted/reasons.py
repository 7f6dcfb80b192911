"""Why something failed, as a class of reasons that any domain has, and what would have to change before it is worth another try.

Refuses to guess: a text that says none of them has no reason.
"""

import re

from kb.run.record import Lever
from kb.schema import Verdict

# Why something failed, by the words any domain uses (in small letters), and what would reopen it; the first that fits names the reason.
_REASONS = tuple(
    (name, reopen_if, re.compile(words))
    for name, reopen_if, words in (
        (
            "out of memory",
            "memory is freed, or the shape is smaller",
            r"\booms?\b|out of memory|exceeds? (?:memory|capacity)|over capacity|does(?:n['’]t| not) fit|memory (?:limit|pressure|ceiling)",
        ),
        (
            "wrong result",
            "the numerics are mended",
            r"\b(?:nan|inf)\b|diverg\w+|numerics?\b|parity (?:fail|broke)|wrong (?:result|output)|incorrect|precision loss|accuracy drop",
        ),
        (
            "does not run",
            "the stack supports it",
            r"compile[- ]?(?:error|fail\w*|time)|unsupported|not supported|no (?:backward|gradient)\w*|api\b|crash\w*|deadlock\w*|"
            r"hang(?:s|ed)?\b|segfault|missing|unrecogni[sz]ed",
        ),
        (
            "slower",
            "the cost it ran into is gone",
            r"regress\w*|slower|worse|below the (?:baseline|parent|frontier)|% below|falls? to|−\s?\d|(?<![\w.])-\d+(?:\.\d+)?\s?%|"
            r"overhead|hurts?\b|costs? more",
        ),
        (
            "no effect",
            "the profile shows that it matters",
            r"no[- ]op|no (?:effect|gain|change|benefit|improvement)|within noise|flat\b|tie\b|neutral|already (?:optimal|effective|fus\w+)",
        ),
    )
)


def reason_of(text: str, verdict: str) -> str:
    """Class of why something failed, such as `out of memory`; empty where the text does not say."""
    lower = text.lower()
    return next(
        (name for name, _, words in _REASONS if words.search(lower)),
        "does not run" if verdict == Verdict.CRASH else "",
    )


def condition_of(point: tuple[Lever, ...], reason: str) -> str:
    """What would reopen what failed for a reason, and the point at which it was tried."""
    shape = ", ".join(f"{v.name.lstrip('-')} {v.value}" for v in point[:3])
    why = next(
        (reopen_if for name, reopen_if, _ in _REASONS if name == reason), "the stack changed"
    )
    return f"{why}{f' (tried at {shape})' if shape else ''}"
