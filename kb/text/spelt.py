"""Numbers in words: `two hundred`, `twenty-five`, `four thousand and ninety-six`, `two thirds`. Refuses ordinals."""

from collections.abc import Iterator

from kb import begun, regex
from kb.text.numbers import Number, number_text

_WHOLES = {w: float(n) for n, w in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
)} | {w: 10.0 * n for n, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}  # fmt: skip
SPELT = _WHOLES | {
    "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "twice": 2.0, "doubled": 2.0, "doubles": 2.0,
    "halved": 0.5, "halves": 0.5, "tripled": 3.0, "dozen": 12.0, "once": 1.0,
}  # fmt: skip
PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
# A share in words: "a third of", "two thirds". Anything else is the third of a row.
_SHARE = regex(
    rf"\b(?:(?P<count>{'|'.join(_WHOLES)})[ -](?P<parts>{'|'.join(PARTS)})s|(?:a|an|one)[ -](?P<part>{'|'.join(PARTS)})(?=\s+of\b|\s*[.,;)]|\s*$)|half(?=\s+(?:of|as|the|that|its|a)\b))"
)
# A word that multiplies the digits before it.
SCALE = regex(r"(?<=\d)\s(hundred|thousand|million|billion)\b")
# A number that a hyphen ties to a word is a part of its name: the two-pass form, level-two.
_WORD = regex(
    rf"(?<![a-z])(?:(?<![a-z]-)[a-z]++(?!-(?!(?:{'|'.join(SPELT)})\b)[a-z])|(?<=ty-)[a-z]++)"
)
_LETTERS, _NUMERALS = regex("[a-z]+"), {*SPELT, *PARTS}
# Smaller ones are articles and turns of speech as often as counts.
_COUNT = 10
# The words of the larger ones.
_COUNTED = regex(begun((w for w, n in SPELT.items() if n >= _COUNT), sign="[a-z]", end=r"\b"))


def numbers_in_words(text: str) -> Iterator[Number]:
    """Every number in words with its place, as wholes and as shares."""
    text = text.lower()
    if _NUMERALS.isdisjoint(_LETTERS.findall(text)):
        return  # As most texts.
    for share in _SHARE.finditer(text):
        value = _WHOLES.get(share["count"], 1.0) / PARTS[share["parts"] or share["part"] or "half"]
        yield Number(value, "", share.start(), share.end())
    text = SCALE.sub(lambda m: " " * len(m[0]), _SHARE.sub(lambda m: " " * len(m[0]), text))
    last: Number | None = None
    for word in _WORD.finditer(text):
        value = SPELT.get(word[0])
        between = text[last.end : word.start()].strip(" -\n") if last else ""
        if word[0] == "and" and last and last.value >= 100:
            continue
        if value is not None and last and between in ("", "and") and _goes_on(last.value, value):
            whole = last.value * value if value >= 100 else last.value + value
            last = last._replace(value=whole, end=word.end())
            continue
        if last:
            yield last
        last = None if value is None else Number(value, "", word.start(), word.end())
    if last:
        yield last


def _goes_on(value: float, word: float) -> bool:
    return word >= 100 or value >= 20 > word or value >= 100 > word and not value % 100


def in_digits(text: str) -> str:
    """A text with its numbers from ten on in digits: `forty gigabytes` → `40 gigabytes`."""
    if not _COUNTED.search(text.lower()):
        return text
    if "\n\n" in text:
        return "\n\n".join(map(in_digits, text.split("\n\n")))
    counts = (n for n in numbers_in_words(text) if n.value >= _COUNT)
    for number in sorted(counts, key=lambda n: -n.start):
        text = text[: number.start] + number_text(number.value) + text[number.end :]
    return text
