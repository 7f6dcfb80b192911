"""What a text does with each lever that it names: moved, held or only named, from which value to which, and which way.

Refuses to guess: a lever that is only named is neither on nor off, and a value counts as another one unless it is known to be the same.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from kb.run.direction import direction_of
from kb.trail.levers import OPPOSITE, Mention, is_common, key_of, mentions_in, number_of, switch_of, way_of


class Role(StrEnum):
    """What a text does with a lever. `SET` gives it a value without a word on whether that is new."""

    DECLARED = "declared"
    MOVED = "moved"
    SET = "set"
    NAMED = "named"
    HELD = "held"


# From so many aims on a lever may be common: one that more than a fifth of them name, by the log of their share.
ENOUGH, COMMON = 10, math.log(5)
# What one part of a text that speaks of a lever counts for it: a lever that is moved counts twice one that is set.
VOTES = {Role.DECLARED: 8.0, Role.MOVED: 2.0, Role.SET: 1.0, Role.NAMED: 0.5, Role.HELD: 0.0}


@dataclass(frozen=True, slots=True)
class Move:
    """One lever of a text: `key` is its name without spelling, `way` one of raise, lower, enable, disable, replace or empty."""

    key: str
    name: str
    value: str = ""
    before: str = ""
    way: str = ""
    role: Role = Role.NAMED
    votes: float = 0.0

    @property
    def switch(self) -> str:
        """`on`, `off`, or empty where neither name, value nor way makes it one."""
        word, negated = self.value.lower(), switch_of(self.name)[1]
        on, off = word in _ON, word in _OFF
        if word and not on and not off:
            return ""
        if not word:
            if self.way in ("enable", "disable"):
                return "on" if self.way == "enable" else "off"
            if self.name[:1] != "-" or self.role in (Role.NAMED, Role.HELD):
                return ""
            on = True
        return "on" if on is not negated else "off"

    @property
    def is_moved(self) -> bool:
        """Whether the text says that this is what changes."""
        return self.role in (Role.DECLARED, Role.MOVED)

    @property
    def is_setting(self) -> bool:
        """Whether it is written as something that is set, and not as a name of code."""
        return bool(self.value) or self.name[:1] == "-"


_ON = frozenset(("1", "true", "on", "yes", "enabled"))
_OFF = frozenset(("0", "false", "off", "no", "none", "disabled"))

# What follows one of these is held, moved or set aside, to the end of its clause or the next of them.
_CUES = re.compile(
    r"\b(?:(?P<held>keep(?:s|ing)?|default|hold(?:s|ing)?|held|leav(?:e|es|ing)|reus\w+|same|at|otherwise|"
    r"everything else|all else|nothing else|as (?:in|on|before)|alongside|beside|frontier|base(?:line)?|parent(?:'s)?|config\w*(?= \+))|"
    r"(?P<against>instead of|symmetric to|opposite (?:of|to)|which (?=\w+ed\b)|rather than|in place of|where|unlike|as opposed to|compared (?:to|with)|beyond|than|without|against|vs|versus|like)|"
    r"(?P<moved>except|but|only|apart from|other than|isolat\w+|chang(?:e|es|ing)|set(?:s|ting)?|rais(?:e|es|ing)|lower(?:s|ing)?|increas(?:e|es|ing)|"
    r"reduc(?:e|es|ing)|decreas(?:e|es|ing)|doubl(?:e|es|ing)|halv(?:e|es|ing)|grow(?:s|ing)?|shrink(?:s|ing)?|enabl(?:e|es|ing)|disabl(?:e|es|ing)|"
    r"turn(?:s|ing)?|switch(?:es|ing)?|add(?:s|ing)?|drop(?:s|ping)?|remov(?:e|es|ing)|replac(?:e|es|ing)|swap(?:s|ping)?|tun(?:e|es|ing)|try|"
    r"test(?:s|ing)?|appl(?:y|ies|ying)|forc(?:e|es|ing)|compile|build|pass|cap|limit|allow|ask|give|emit|put|launch|mak(?:e|ing)|use))\b",
    re.IGNORECASE,
)
# Said behind a lever: it stays.
_STAYS = re.compile(
    r"[`*\s]*(?:\(?(?:is |are )?(?:kept|fixed|unchanged|held|left|stays?|staying|remains?|as (?:it|they|before|in)|today|alone)\b)",
    re.IGNORECASE,
)
# Said behind a value: what it was.
_WAS = re.compile(
    r"[`*\s]*,?\s*\(?(?:instead of|rather than|(?:up |down )?from|was|(?:the )?default(?: is| of)?|today|currently|not)?\s*[`*]*(?P<before>\d[\w.]*|on|off|true|false)[`*]*"
    r"(?P<today>\s*(?:today|now|by default|before)?\s*\))?",
    re.IGNORECASE,
)
# Said of what opens a sentence: it does something, so it is what is tried ("`fused_sort` reduces ...").
_ACTS = re.compile(r"[`*]*(?:['’]s(?: [a-z]+){1,3})?\s+(?:also |alone )?(?:may|might|should|will|would|could|can|(?!is\b|was\b|has\b|does\b)[a-z]+s)\s")
_OPENS = re.compile(r"(?:^|[.!?:]\s)[\s`*_]*(?:(?:the|an?)\s+)?(?:(?:[a-z]+\s+){1,3}of\s+)?[`*]*$", re.IGNORECASE)
_ENDS = re.compile(
    r"[.!?;](?=\s|$)|\n|:(?=\s|$)|[()]|,\s+(?=(?:and|so|that|while|because|to)\b)|\s[—–]\s|\b(?:so|while|because)\b"
)
_DIFFED = re.compile(r"^([+-])[ \t]*(?![+-]{2})(\S.*)$", re.MULTILINE)


# A text that names more levers than this is data.
_MOST = 80
_BLANKS = re.compile(r"[ \t]{2,}")


def moves_in(text: str, *, moved: bool = False) -> tuple[Move, ...]:
    """Levers of one paragraph, fence or title, each once; `moved`: what it sets is known to be the change."""
    text = _BLANKS.sub(" ", text)
    if diffed := _diff(text):
        return diffed
    found: dict[str, Move] = {}
    for mention in mentions_in(text)[:_MOST]:
        move = _move(text, mention, moved=moved)
        if move is None:
            continue
        known = found.get(move.key)
        found[move.key] = move if known is None else _joined(known, move)
    return tuple(found.values())


def _move(text: str, mention: Mention, *, moved: bool) -> Move | None:
    key, _ = switch_of(mention.name)
    key = canonical(key)
    if len(key) < 2 or len(key) < 4 and not mention.value and mention.name[:1] != "-":
        return None
    if (
        mention.name.isalpha()
        and mention.name[1:].islower() is not mention.name.isupper()
        and not is_common(key)
        and direction_of(mention.name)
    ):
        return None  # What is measured is no lever.
    value, before = mention.value, mention.before
    if value and not before and (was := _WAS.match(text, mention.end)) and (was["today"] or len(was[0].split()) > 1):
        before = was["before"]
    start = max((text.rfind(end, 0, mention.start) for end in (". ", "; ", "\n")), default=-1) + 1
    way = _way_of_numbers(before, value) or way_of(text[start : mention.end + 40], mention.name)
    role = _role(text, mention, moved=moved)
    if before and role is not Role.HELD:
        role = Role.MOVED
    return Move(key, mention.name, value, before, way, role, VOTES[role])


def _clause_start(text: str, at: int) -> int:
    start = 0
    for end in _ENDS.finditer(text, max(0, at - 240), at):
        start = end.end()
    return start


def stays(text: str, at: int) -> bool:
    """Whether what is named just before a place is said to stay as it is."""
    return _STAYS.match(text, at) is not None


def _role(text: str, mention: Mention, *, moved: bool) -> Role:
    if stays(text, mention.end):
        return Role.HELD
    last, comma = "", text.rfind(",", 0, mention.start)
    for cue in _CUES.finditer(text, _clause_start(text, mention.start), mention.start):
        if cue[0].lower() == "at" and mention.name[:1] == "-":
            continue  # "caps the registers at --limit=64"
        # What is set aside stays so to the next comma: "instead of raising x".
        last = last if last == "against" and comma < cue.start() else cue.lastgroup or ""
    if last in ("held", "against"):
        return Role.HELD
    if not last and _ACTS.match(text, mention.end) and _OPENS.search(text, max(0, mention.start - 40), mention.start):
        return Role.MOVED
    if last == "moved" or moved:
        return Role.MOVED if mention.value or mention.name[:1] == "-" or last == "moved" else Role.NAMED
    return Role.SET if mention.value or mention.name[:1] == "-" else Role.NAMED


def _joined(one: Move, other: Move) -> Move:
    """Two mentions of one lever in a text: the first value, or from the one to the other where both are moved ("x=1 to x=2")."""
    first, second = (one, other) if VOTES[one.role] >= VOTES[other.role] else (other, one)
    value, before = first.value or second.value, first.before or second.before
    if (
        first.value
        and second.value
        and first.value != second.value
        and not before
        and first is one
        and second.role is not Role.HELD
    ):
        value, before = second.value, first.value
    way = _way_of_numbers(before, value) or first.way or second.way
    return Move(first.key, max(first.name, second.name, key=len), value, before, way, first.role, first.votes)


def _way_of_numbers(before: str, after: str) -> str:
    a, b = (_ordered(v) for v in (before, after))
    return "" if a is None or b is None or a == b else "raise" if b > a else "lower"


def _ordered(value: str) -> float | None:
    return 1.0 if value.lower() in ("true", "on") else 0.0 if value.lower() in ("false", "off") else number_of(value)


def _diff(text: str) -> tuple[Move, ...]:
    """Levers of the changed lines of a diff; nothing where the text is none."""
    lines = _DIFFED.findall(text)
    if not lines or {sign for sign, _ in lines} != {"+", "-"}:
        return ()
    gone, come = ({m.key: m for m in moves_in("\n".join(t for s, t in lines if s == sign))} for sign in "-+")
    found = []
    for key in dict.fromkeys((*come, *gone)):
        new, old = come.get(key), gone.get(key)
        kept = new or old
        if new and old and same_value(new.value, old.value):
            continue
        way = _way_of_numbers(old.value, new.value) if new and old else "enable" if new else "disable"
        found.append(Move(key, kept.name, new.value if new else "", old.value if old else "", way, Role.MOVED, VOTES[Role.MOVED]))
    return tuple(found)


# What a name may carry beside what it names: Hungarian k of constants, a count's n or num, the word size.
_AROUND = re.compile(
    r"^(?:num(?=[a-z]{4})|n(?=(?:warps|splits|stages|layers?|heads?|threads|workers|blocks)\b))|(?<=[a-z]{2})(?:size|factor)$"
)


@lru_cache(maxsize=8192)
def canonical(key: str) -> str:
    """A key without what spellings add: `num_splits`, `nsplits` and `splits` are one, `batch_size` and `batch`, `kBlockK` and `BLOCK_K`."""
    bare = key[1:] if key.startswith("kblock") or key.startswith("knum") else key
    return _AROUND.sub("", bare) or key


def same_value(one: str, other: str) -> bool:
    """Whether two values are one: as numbers in whatever unit, else as words."""
    numbers = number_of(one), number_of(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return one != "" and one.lower() == other.lower()


def united(parts: Iterable[tuple[Move, ...]]) -> tuple[Move, ...]:
    """Levers of all parts of a text, those with most votes first. The first part that moves or sets a lever gives its value."""
    found: dict[str, Move] = {}
    for moves in parts:
        for move in moves:
            known = found.get(move.key)
            if known is None:
                found[move.key] = move
                continue
            first, second = (known, move) if VOTES[known.role] >= VOTES[move.role] else (move, known)
            value = first.value or second.value
            same = same_value(first.value, second.value)
            found[move.key] = Move(
                first.key,
                first.name if first.is_setting or not second.is_setting else second.name,
                value,
                first.before or (second.before if same or not first.value else ""),
                first.way or second.way,
                first.role,
                known.votes + move.votes,
            )
    return tuple(sorted(found.values(), key=lambda m: (-m.votes, m.key)))


def pulled(moves: Iterable[Move]) -> tuple[Move, ...]:
    """The levers that a text is about: what it declares, else what has at least half the votes of the first."""
    voted = [m for m in moves if m.votes > 0]
    declared = tuple(m for m in voted if m.role is Role.DECLARED)
    return declared or tuple(m for m in voted if 2 * m.votes >= voted[0].votes)


def telling(moves: Iterable[Move], *, is_common: Callable[[str], bool]) -> tuple[Move, ...]:
    """The levers that a text is about, without those that runs of its target share by habit, unless it speaks of these twice as much."""
    listed = [*moves]
    every, rare = pulled(listed), pulled(m for m in listed if m.role is Role.DECLARED or not is_common(m.key))
    return rare if rare and 2 * rare[0].votes >= every[0].votes else every


def likeness(mine: Move, theirs: Move) -> str:
    """same-value, same-lever or similar, of one lever that two texts pull."""
    switches = {mine.switch, theirs.switch}
    if switches == {"on", "off"} or "off" in switches and (mine.value or theirs.value) and "" in switches:
        return "similar"
    if mine.value and theirs.value and same_value(mine.value, theirs.value) or switches in ({"on"}, {"off"}):
        return "same-value"
    way = mine.way or _way_of_numbers(theirs.before, mine.value)
    other = theirs.way or _way_of_numbers(mine.before, theirs.value)
    if OPPOSITE.get(way) == other != "":
        return "similar"
    if not mine.value and not theirs.value:
        named = Role.NAMED in (mine.role, theirs.role) and not way
        return "similar" if named else "same-lever"
    numbers = number_of(mine.value), number_of(theirs.value)
    # Of two numbers of one knob something must say that both lie on the same side of where it stood.
    return "same-lever" if None in numbers or way and way == other else "similar"


@lru_cache(maxsize=8192)
def initials(name: str) -> str:
    """First letters of the parts of a name: `--batch_size` gives `bs`."""
    parts = [p for p in re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", name) if p]
    return "".join(p[0] for p in parts).lower() if len(parts) > 1 else ""


@lru_cache(maxsize=1 << 16)
def short_for(one: str, other: str) -> bool:
    """Whether one of two names may be short for the other: its initials (`bs`, `batch_size`) or its first letter (`b`)."""
    short, long = sorted((one, other), key=lambda name: len(key_of(name)))
    return key_of(short) in (initials(long), key_of(long)[:1])


@lru_cache(maxsize=8192)
def parts_of_name(name: str) -> tuple[str, ...]:
    """Words of a name in small letters: `splitChunks.maxSize` → split, chunks, max, size."""
    return tuple(p.lower() for p in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", name) if p)


@lru_cache(maxsize=1 << 16)
def is_qualified(one: str, other: str) -> bool:
    """Whether one of two names is the other with its owner in front (`adam_beta2`, `beta2`; `optimization.splitChunks.maxSize`)."""
    short, long = sorted((parts_of_name(one), parts_of_name(other)), key=len)
    telling = len(short) > 1 or bool(short) and len(short[0]) > 3 and not is_common(short[0])
    return telling and len(short) < len(long) and long[-len(short) :] == short


def leads_to_change(text: str) -> bool:
    """Whether a paragraph announces that what follows is what changes: "Change only:", "The build line of this run"."""
    last = [cue.lastgroup for cue in _CUES.finditer(text, max(0, len(text) - 200))]
    return text.rstrip().endswith(":") and last[-1:] == ["moved"] or bool(_ANNOUNCED.match(text))


_ANNOUNCED = re.compile(r"(?:diff|change)\b.{0,40}:?$", re.IGNORECASE)


def clauses(text: str) -> list[str]:
    """Clauses of a text but those that say what is held or set aside."""
    found, start = [], 0
    for end in (*(m.span() for m in _ENDS.finditer(text)), (len(text), len(text))):
        clause = text[start : end[0]]
        start = end[1]
        cue = _CUES.search(clause)
        if cue and cue.lastgroup in ("held", "against") and cue.start() < 3:
            continue
        against = next((m.start() for m in _CUES.finditer(clause) if m.lastgroup == "against"), len(clause))
        found.append(clause[:against])
    return found
