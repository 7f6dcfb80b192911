"""Sentences of plain text, and a text ended at one. Refuses to guess inside a line of code or a number."""

from functools import lru_cache

from kb import regex

# A mark ends a sentence where a blank and no small letter follow; the marks of Chinese and Japanese end one by themselves. A pattern that
# begins with the mark is found many times faster than one that looks back at it, and one class of all marks faster than several.
_END = regex(
    r"[.!?…。！？｡\n](?:(?<=[.!?…])[\"'”’)\]]*\s+(?=[^\sa-z])|(?<=[。！？｡])\s*|(?<=\n)\n*)"
)
# What ends in a full stop and no sentence: shortened words before a name or a number, and single initials.
_SHORT = regex(
    r"\b(?:(?i:e\.g|i\.e|cf|vs|approx|ca|resp|fig|eq|no|nr|vol|dr|mr|mrs|prof|al|incl|excl|est|max|min|avg)|(?<!\d\s)[A-Z])\.$"
)


def sentences_of(text: str) -> list[str]:
    """Sentences and lines of a text, each on one line, in order."""
    return [*_sentences(text)]


# A paragraph is asked for by whoever reads its page.
@lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[str, ...]:
    start, sentences = 0, list[str]()
    for mark in _END.finditer(text):
        at = mark.start()
        if "\n" not in mark[0] and _SHORT.search(text, max(start, at - 7), at + 1):
            continue
        sentences.append(text[start:at] + mark[0].rstrip())
        start = mark.end()
    return tuple(" ".join(s.split()) for s in (*sentences, text[start:]) if s.strip())


def reasoned(matter: str, reason: str, joint: str) -> str:
    """A matter and its reason in one line, where one does not say the other already."""
    if reason.startswith(matter.rstrip("….")):
        return reason
    return matter if reason.rstrip("….") in matter else f"{matter}{joint}{reason}"


def cut(text: str, most: int) -> str:
    """At most `most` characters of a text on one line: whole sentences where the first fits, else words and `…`."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    end = 0
    for mark in _END.finditer(flat, 0, most + 2):
        at = mark.start()
        if at < most and not _SHORT.search(flat, max(0, at - 7), at + 1):
            end = at + len(mark[0].rstrip())
    if end and end <= most:
        return flat[:end]
    head = flat[: most - 1]
    return (head.rpartition(" ")[0] or head).rstrip(" ,;:–—-") + "…"
