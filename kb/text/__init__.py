"""Text as every room reads it: numbers with units, words, sentences, and what is safe to print. Knows no page and no disk.

numbers_in("from ~49 to 52.8 ± 0.3 tok/s (+7.7 %)")  # 49, 52.8 ± 0.3 tok/s, +7.7 %, each with its place
number_of("**1,234.5 ms**")                          # the one number that a cell states, else None
words_of("scoped_vmem_limit_kib → größer 编程模型")    # plain, folded words; `names_of` has identifiers
sentences_of(text), cut(text, 240)                   # whole sentences; a text ended at one
one_line(captured)                                   # nothing in it can command a terminal or start a line
"""

from typing import TYPE_CHECKING

from kb import exports

if TYPE_CHECKING:
    from kb.text.dates import day_of
    from kb.text.numbers import Number, number_of, number_text, numbers_in
    from kb.text.printing import LOOK, command_of, counted, head_of, one_line, printable, shell_word
    from kb.text.sentences import cut, reasoned, sentences_of
    from kb.text.spelt import SPELT, in_digits, numbers_in_words
    from kb.text.units import Unit, unit_of
    from kb.text.words import STOP, fold, name_words, names_of, stem, terms_of, words_of

__all__ = [
    "LOOK",
    "SPELT",
    "STOP",
    "Number",
    "Unit",
    "command_of",
    "counted",
    "cut",
    "day_of",
    "fold",
    "head_of",
    "in_digits",
    "name_words",
    "names_of",
    "number_of",
    "number_text",
    "numbers_in",
    "numbers_in_words",
    "one_line",
    "printable",
    "reasoned",
    "shell_word",
    "sentences_of",
    "stem",
    "terms_of",
    "unit_of",
    "words_of",
]

# What stands where. Loaded when it is first asked for: a check that reads no number pays for none of their patterns.
__getattr__ = exports(
    __name__,
    {
        "dates": ("day_of",),
        "numbers": ("Number", "number_of", "number_text", "numbers_in"),
        "printing": (
            "LOOK",
            "command_of",
            "counted",
            "head_of",
            "one_line",
            "printable",
            "shell_word",
        ),
        "sentences": ("cut", "reasoned", "sentences_of"),
        "spelt": ("SPELT", "in_digits", "numbers_in_words"),
        "units": ("Unit", "unit_of"),
        "words": ("STOP", "fold", "name_words", "names_of", "stem", "terms_of", "words_of"),
    },
)
