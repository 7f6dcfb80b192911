"""What a run and a thing are called: the title of a page without its label and its outcome, the name of its file, short forms of names.

Refuses lists of names: a short form is met by the words whose letters it has.
"""

import re
from typing import NamedTuple

from kb import regex
from kb.refuted.moves import plain_words
from kb.schema import outcome_verdict, records_run
from kb.text import STOP, words_of

BRACKETED = regex(r"\s*[(\[]([^()\[\]]*)[)\]]?")
_RUN_LABEL = regex(
    r"^(?:(?:[\w.\-/ ]{0,30}?\b)?(?:v|exp\.?\s?|experiment\s|run\s|#)|(?=0))\d+[a-z]?\s*(?:[—–:\-]+\s*|\s+|$)",
    re.IGNORECASE,
)


def subject_of(title: str) -> str:
    """A title without the run's label in front and its outcome in brackets: what the page is about."""
    plain = BRACKETED.sub(lambda aside: "" if outcome_verdict(aside[1]) else aside[0], title)
    plain = _RUN_LABEL.sub("", plain).strip(" -—–:")
    head, _, rest = plain.partition(" ")
    return (rest if head.isupper() and outcome_verdict(head) else plain) or title


# A day, a number or a label in front of a name.
_COUNTED_NAME = regex(r"[\d_-]*(?:[a-z]{1,3}\d+[_-]?)?", re.IGNORECASE)


def name_of_run(path: str) -> str:
    """The name that its author gave to the page of a run, or to its folder, in words: often the short one (`bce`, `wfa`)."""
    *_, folder, stem = ("", *path.removesuffix(".md").split("/"))
    name = folder if records_run(folder, stem, reports=True) else stem
    return _COUNTED_NAME.sub("", name, count=1).replace("-", " ")


class ShortForms(NamedTuple):
    """Names of three to five letters: those that a text writes (`BCE`, of `LoRA` the capitals as well), and those that words which stand side by
    side in it spell (`blocked clause elimination`).
    """

    written: frozenset[str]
    spelt: frozenset[str]


def short_forms(text: str, name: str = "") -> ShortForms:
    """Short forms of a text; those of the name of its page stand in small letters."""
    names = "".join(c if c.isalnum() else " " for c in text).split()
    capitals = ((w, "".join(filter(str.isupper, w))) for w in names)
    written = {f.lower() for pair in capitals if len(pair[1]) > 2 for f in pair}
    words = words_of(text)
    runs = (words[i : i + n] for n in (3, 4, 5) for i in range(len(words) - n + 1))
    spelt = {"".join(w[0] for w in run) for run in runs if STOP.isdisjoint((run[0], run[-1]))}
    short = (f for f in (*written, *plain_words(name)) if 2 < len(f) < 6)
    return ShortForms(frozenset(short), frozenset(spelt))
