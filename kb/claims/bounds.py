"""Words and signs that bound a number: at most, at least, about."""

import re

from kb.text import Number

BEFORE = re.compile(
    r"\b(?P<nearly>(?:a (?:little|bit)|just|slightly|somewhat) (?:under|over|above|below|more than|less than)|close to|in the region of)\s*$|"
    r"\b(?P<not>no|not|n['’]t)\s(?:\w+\s){0,2}?(?:(?:more|\w+er) than|above|over|beyond|exceed\w*)\s*$"
    r"|\b(?P<less>up to(?: an? (?:\w+ ){1,3}of)?|at most|at or below|(?:less|fewer|smaller|shorter|lower|narrower|cooler|older|earlier) than|under|below|before|prior to|maximum|within|as much as)\s*$"
    r"|\b(?P<more>at least|at or above|(?:more|(?!rather|other)\w+er) than|no less than|(?<!mean )over|above|exceed\w*|minimum|beyond)\s*$"
    r"|\b(?P<about>about|around|roughly|approximately|nearly|almost|circa|some)\s*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:(?P<less>at most|(?:or|and) (?:less|fewer|lower|below|older|earlier))|(?P<about>or so|or thereabouts)|(?P<more>at least|(?:or|and) (?:more|higher|above|newer|later|up|warmer)))\b"
)
# What is the most or the least of something bounds it, wherever that word stands.
LIMITS = {
    "<": re.compile(
        r"\b(?:max(?:im\w+)?|limit\w*|highest|longest|largest|capped|peak\w*)\b",
        re.IGNORECASE,
    ),
    ">": re.compile(
        r"\b(?:min(?:im\w+)?|larger|longer|lowest|shortest|smallest|earliest|required?)\b",
        re.IGNORECASE,
    ),
}
_BETWEEN = 36
_SIGNS = {"nearly": "≈", "not": "<", "less": "<", "more": ">", "about": "~"}


def bound_of(text: str, start: int, number: Number) -> str:
    if number.bound:
        return number.bound[0]
    match = BEFORE.search(text[max(0, start - _BETWEEN) : start]) or _AFTER.match(
        text, start + number.end - number.start
    )
    return _SIGNS[match.lastgroup] if match else "~" if number.about else ""
