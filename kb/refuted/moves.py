"""What a text does with each lever that it names: moved, held or only named, from which value to which, and which way; when two
spellings of a setting or its value are one.

Refuses to guess: a lever that is only named is neither on nor off, and a value counts as another one unless it is known to be the same.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from kb import regex
from kb.text import words_of
from kb.trail.levers import Mention, mentions_in, number_of, switch_of, way_of

ON = frozenset(("1", "true", "on", "yes", "enabled"))
# What a program does by itself is no setting of it.
OFF = frozenset(("0", "false", "off", "no", "none", "disabled", "auto", "default"))


def way_of_numbers(before: str, after: str) -> str:
    """`raise` or `lower`, from one value to another; empty where the two are no numbers, or the same."""
    a, b = (
        1.0
        if v.lower() in ("true", "on")
        else 0.0
        if v.lower() in ("false", "off")
        else number_of(v)
        for v in (before, after)
    )
    return "" if a is None or b is None or a == b else "raise" if b > a else "lower"


# What a name may carry beside what it names: Hungarian k of constants, a count's n or num, the word size, what is counted.
_AROUND = re.compile(
    r"^(?:num(?=[a-z]{4})|n(?=(?:warps|splits|stages|layers?|heads?|threads|workers|blocks)\b))|"
    r"(?<=[a-z]{2})(?:size|factor)$|(?<=[a-z]{4})(?:steps|iters|iterations)$"
)


@lru_cache(maxsize=8192)
def canonical(key: str) -> str:
    """A key without what spellings add: `num_splits`, `nsplits` and `splits` are one, `batch_size` and `batch`, `kBlockK` and `BLOCK_K`."""
    bare = key[1:] if key.startswith(("kblock", "knum")) else key
    return _AROUND.sub("", bare) or key


def same_value(one: str, other: str) -> bool:
    """Whether two values are one: as numbers in whatever unit, else as words."""
    numbers = number_of(one), number_of(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return one != "" and one.lower() == other.lower()


# The capital first: few places have one.
_HUMP = re.compile(r"(?=[A-Z])(?:(?<=[a-z0-9])|(?<=[A-Z])(?=.[a-z]))")


def plain_words(text: str) -> list[str]:
    """Words of a text in order, those of its names one by one, and of a compiler's flag without its f (`-ffast-math`)."""
    named = f" {text}".replace("_", " ").replace(" -f", " -f ")
    return words_of(_HUMP.sub(" ", named))


@lru_cache(maxsize=8192)
def parts_of_name(name: str) -> tuple[str, ...]:
    """Words of a name in small letters: `splitChunks.maxSize` → split, chunks, max, size."""
    return tuple(plain_words(name))


def initials(name: str) -> str:
    """First letters of the parts of a name: `--batch_size` gives `bs`."""
    parts = parts_of_name(name)
    return "".join(p[0] for p in parts) if len(parts) > 1 else ""


class Role(IntEnum):
    """What a text does with a lever, the weightiest last: `POINT` says where it tries another, `SET` not whether a value is new."""

    HELD = 0
    POINT = 1
    NAMED = 2
    SET = 3
    MOVED = 4
    DECLARED = 5


class Move(msgspec.Struct, frozen=True):
    """One lever of a text: `key` is its name without spelling, `way` one of raise, lower, enable, disable, replace or empty."""

    key: str
    name: str
    value: str = ""
    before: str = ""
    way: str = ""
    role: Role = Role.NAMED

    @property
    def switch(self) -> str:
        """`on`, `off`, or empty where neither name, value nor way makes it one."""
        word, negated = self.value.lower(), switch_of(self.name)[1]
        on, off = word in ON, word in OFF or number_of(word) == 0
        if word and not on and not off:
            return ""
        if not word:
            if self.way in ("enable", "disable"):
                # Who enables `--no-x` switches x off.
                is_flag = negated and self.name[:1] == "-"
                return "on" if self.way == "enable" and not is_flag else "off"
            if self.name[:1] != "-" or self.role < Role.SET:
                return ""
            on = True
        return "on" if on is not negated else "off"

    @property
    def is_moved(self) -> bool:
        """Whether the text says that this is what changes."""
        return self.role >= Role.MOVED

    @property
    def is_setting(self) -> bool:
        """Whether it is written as something that is set, and not as a name of code."""
        return bool(self.value) or self.name[:1] == "-"


def move_of(name: str, value: str = "", *, role: Role) -> Move:
    """The move of one setting by itself; `before → after` as a value is one from the one to the other."""
    before, arrow, after = value.partition("→") if "→" in value else value.partition("->")
    value, before = (after, before) if arrow else (value, "")
    key = canonical(switch_of(name)[0])
    return Move(key, name, value.strip(), before.strip(), way_of_numbers(before, value), role)


# What follows one of these is held, moved or set aside, to the end of its clause or the next of them. `point` says where something is tried.
_CUE_WORDS = {
    "held": "keep keeps keeping default hold holds holding held leave leaves leaving reuse reuses reused reusing same unchanged otherwise "
    "alongside beside frontier base baseline parent",
    "point": "at",
    "against": "where unlike beyond without no not never against vs versus",
    "moved": "except but only isolate isolates isolated isolating change changes changing set sets setting raise raises raising lower "
    "lowers lowering increase increases increasing reduce reduces reducing decrease decreases decreasing double doubles doubling halve "
    "halves halving grow grows growing shrink shrinks shrinking enable enables enabling disable disables disabling turn turns turning "
    "switch switches switching add adds adding drop drops dropping remove removes removing replace replaces replacing swap swaps "
    "swapping tune tunes tuning try test tests testing apply applies applying force forces forcing compile build pass cap limit allow "
    "ask give emit put launch make makes making use",
}
_CUE_OF = {word: kind for kind, words in _CUE_WORDS.items() for word in words.split()}
_PHRASES = regex(
    r"(?P<held>no (?:\w+ )?changes?|(?:everything|all|nothing) else|config\w*(?= \+))\b|"
    r"(?P<against>as (?:in|on|before|[a-z]{1,3}\d+)|instead of|symmetric to|opposite (?:of|to)|which (?=\w+ed\b)|rather than|in place of|as opposed to|compared (?:to|with)|than (?=[`*]*[\w.-]+=))|"
    r"(?P<moved>apart from|other than)\b"
)
_PHRASE_OPENS = frozenset(
    "no everything all nothing as config configs configuration configurations instead symmetric opposite which rather in compared apart other than".split()
)
_WORD = regex(r"\w+")
# Said behind a lever: it stays.
_STAYS = regex(
    r"[`*\s]*(?:\(?(?:is |are )?(?:kept|fixed|unchanged|held|left|stays?|staying|remains?|as (?:it|they|before|in)|today|alone)\b)",
    re.IGNORECASE,
)
# Said of what opens a sentence: it does something, so it is what is tried ("`fused_sort` reduces ...").
_ACTS = regex(
    r"[`*]*(?:['’]s(?: [a-z]+){1,3})?\s+(?:also |alone )?(?:may|might|should|will|would|could|can|(?!is\b|was\b|has\b|does\b)[a-z]+s)\s"
)
_OPENS = regex(
    r"(?:^|[.!?:]\s)[\s`*_]*(?:(?:the|an?)\s+)?(?:(?:[a-z]+\s+){1,3}of\s+)?[`*]*$", re.IGNORECASE
)
# As far before a lever as its clause may begin.
_NEAR = 240
# Begins with any sign with which an end does, and looks back which it was: found half again as fast.
_ENDS = regex(
    r"[.!?;\n(),\ssbw](?:(?<=[.!?;])(?=\s|$)|(?<=[\n()])|(?<=,)\s+(?=(?:and|so|that(?! is\b)|while|because|to)\b)|(?<=\s)[—–]\s|"
    r"(?<!\w.)(?:(?<=s)o|(?<=b)ecause|(?<=w)hile)\b)"
)
_DIFFED = regex(r"^([+ -])[ \t]*(?![+-]{2})(\S.*)$", re.MULTILINE)
# A text that names more levers than this is data.
_MOST = 80
_BLANKS = regex(r"[ \t]{2,}")


@lru_cache(maxsize=512)
def cues_of(text: str) -> tuple[tuple[int, str], ...]:
    """(place, kind) of each word or phrase of a text that says what it does with what follows: held, point, against or moved."""
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text
    cues: list[tuple[int, str]] = []
    behind = 0
    for word in _WORD.finditer(lower):
        start = word.start()
        if start < behind:
            continue
        phrase = _PHRASES.match(lower, start) if word[0] in _PHRASE_OPENS else None
        kind = phrase.lastgroup if phrase else _CUE_OF.get(word[0])
        if kind:
            behind = (phrase or word).end()
            cues.append((start, kind))
    return tuple(cues)


@lru_cache(maxsize=512)
def ends_of(text: str) -> tuple[tuple[int, int], ...]:
    """Where the clauses of a text end, and what follows begins."""
    return tuple(end.span() for end in _ENDS.finditer(text))


# A statement and what it is told by are read from the same texts, one after the other.
@lru_cache(maxsize=512)
def moves_in(text: str, *, moved: bool = False) -> tuple[Move, ...]:
    """Levers of one paragraph, fence or title, each once; `moved`: what it sets is known to be the change."""
    text = _BLANKS.sub(" ", text) if "  " in text.replace("\t", "  ") else text
    lines = _DIFFED.findall(text)
    signs = {sign for sign, _ in lines}
    # Lines that are only added stand among others, each of which has its sign.
    if {"+", "-"} <= signs or {"+", " "} <= signs and len(lines) > text.strip("\n").count("\n"):
        sides = ([line for s, line in lines if s == sign] for sign in "-+ ")
        return _edits(*sides)
    moves: dict[str, Move] = {}
    for mention in mentions_in(text)[:_MOST]:
        move = _move(text, mention, moved=moved)
        if move is None:
            continue
        known = moves.get(move.key)
        steps = known and known.value and not known.before and known.role >= move.role > Role.HELD
        if steps and move.value and not same_value(known.value, move.value):
            # "x=1 to x=2"
            way = way_of_numbers(known.value, move.value) or known.way
            moves[move.key] = replace(known, value=move.value, before=known.value, way=way)
        else:
            moves |= {m.key: m for m in united([(known,) if known else (), (move,)])}
    return united([tuple(moves.values())])


def _edits(gone: list[str], come: list[str], around: list[str]) -> tuple[Move, ...]:
    """What the lines of a diff move: each line beside the one that it replaces, and what is left by its mentions; lines `around` stay."""
    pairs = zip(gone, come, strict=True) if len(gone) == len(come) else ()
    edits = {pair: move for pair in pairs if (move := _edit(*pair))}
    old, new = (
        [line for line in side if line not in known]
        for side, known in ((gone, {o for o, _ in edits}), (come, {n for _, n in edits}))
    )
    rest = difference(*(moves_in("\n".join(lines)) for lines in (new, old)))
    held = (replace(m, role=Role.HELD) for m in moves_in("\n".join(around)))
    return united([tuple(edits.values()), rest, tuple(held)])


_TOKEN = regex(r"'[^']*'|\"[^\"]*\"|[\w.+%-]+|[^\w\s]")
_ANNOTATION = regex(r":\s+[\w.]+(?:\[[^\]]*\])?\s*=\s*$")
_LAST_NAME = regex(r"([A-Za-z_][\w.-]*)\W*$")
_OPTION = regex(r"[\"'](--?[\w-]+)[\"']")


def _edit(gone: str, come: str) -> Move | None:
    """The setting that one line sets otherwise than the one it replaces, where they differ in one value. What declares an option
    (`add_argument("--decay", default=0.1)`) sets that option.
    """
    old, new = ([*_TOKEN.finditer(line)] for line in (gone, come))
    differ = [(a, b) for a, b in zip(old, new, strict=False) if a[0] != b[0]]
    if len(old) != len(new) or len(differ) != 1:
        return None
    before, value = (side[0].strip("'\"") for side in differ[0])
    stem = come[: differ[0][1].start()]
    options, name = _OPTION.findall(stem), _LAST_NAME.search(_ANNOTATION.sub("", stem))
    switched = {before.lower(), value.lower()} <= ON | OFF
    if not (options or name) or not switched and None in (number_of(before), number_of(value)):
        return None
    return move_of(options[-1] if options else name[1], f"{before}→{value}", role=Role.MOVED)


def _move(text: str, mention: Mention, *, moved: bool) -> Move | None:
    key = canonical(switch_of(mention.name)[0])
    if len(key) < 2 or len(key) < 4 and not mention.value and mention.name[:1] != "-":
        return None
    value, before = mention.value, mention.before
    start = max((text.rfind(end, 0, mention.start) for end in (". ", "; ", "\n")), default=-1) + 1
    way = way_of_numbers(before, value) or way_of(text[start : mention.end + 40], mention.name)
    role = role_in(text, mention, moved=moved)
    if before and role is not Role.HELD:
        role = Role.MOVED
    return Move(key, mention.name, value, before, way, role)


def _cue_before(text: str, mention: Mention) -> str:
    """The kind of the last cue in the clause of a mention. What is set aside stays so to the next comma or colon: "instead of raising x"."""
    last, since, comma = "", 0, max(text.rfind(mark, 0, mention.start) for mark in ",:")
    ends, cues = ends_of(text), cues_of(text)
    before = bisect_left(ends, (mention.start,))
    begun = ends[before - 1][1] if before and ends[before - 1][0] >= mention.start - _NEAR else 0
    for start, kind in cues[bisect_left(cues, (begun,)) : bisect_left(cues, (mention.start,))]:
        if kind == "point" and mention.name[:1] == "-":
            continue  # "caps the registers at --limit=64"
        if last != "against" or comma >= start:
            last, since = kind, start
    return "" if last == "against" and since < comma else last


def role_in(text: str, mention: Mention, *, moved: bool = False) -> Role:
    """What a text does with the lever that it mentions."""
    last = "held" if _STAYS.match(text, mention.end) else _cue_before(text, mention)
    if last in ("held", "against"):
        return Role.HELD
    if last == "point":
        return Role.POINT
    if (
        not last
        and _ACTS.match(text, mention.end)
        and _OPENS.search(text, max(0, mention.start - 40), mention.start)
    ):
        return Role.MOVED
    is_setting = mention.value or mention.name[:1] == "-"
    if last == "moved" or moved and is_setting:
        return Role.MOVED
    return Role.SET if is_setting else Role.NAMED


def difference(own: Iterable[Move], parent: Iterable[Move]) -> tuple[Move, ...]:
    """What one text or command sets otherwise than another, as moved levers; what it leaves out is disabled."""
    mine, before = {m.key: m for m in own}, {m.key: m for m in parent}
    moves = []
    for key in dict.fromkeys((*mine, *before)):
        new, old = mine.get(key), before.get(key)
        if (
            new
            and old
            and (same_value(new.value, old.value) or (new.value, new.name) == (old.value, old.name))
        ):
            continue
        way = (
            way_of_numbers(old.value, new.value) if new and old else "enable" if new else "disable"
        )
        moves.append(
            Move(
                key,
                (new or old).name,
                new.value if new else "",
                old.value if old else "",
                way,
                Role.MOVED,
            )
        )
    return tuple(moves)


def united(parts: Iterable[Iterable[Move]]) -> tuple[Move, ...]:
    """Levers of all parts of a text, the weightiest first. What moves or sets a lever first gives its value."""
    moves_by_key: dict[str, Move] = {}
    for move in (m for moves in parts for m in moves):
        if (known := moves_by_key.setdefault(move.key, move)) is move:
            continue
        first, second = (known, move) if known.role >= move.role else (move, known)
        value, before = first.value or second.value, first.before
        if not before and (not first.value or same_value(first.value, second.value)):
            before = second.before
        name = first.name if first.is_setting or not second.is_setting else second.name
        moves_by_key[move.key] = replace(
            first, name=name, value=value, before=before, way=first.way or second.way
        )
    return tuple(sorted(moves_by_key.values(), key=lambda m: (-m.role, m.key)))


def pulled(moves: Iterable[Move]) -> tuple[Move, ...]:
    """The levers that a text is about: what it declares, else what it moves or sets, else what it names, else where."""
    tiers = (Role.DECLARED,), (Role.MOVED, Role.SET), (Role.NAMED,), (Role.POINT,)
    listed = [*moves]
    return next(
        (own for roles in tiers if (own := tuple(m for m in listed if m.role in roles))), ()
    )


def is_held(label: str) -> bool:
    """Whether a label says that what stands behind it stays: "Held", "unchanged"."""
    return _CUE_OF.get(label.lower()) == "held"


def clauses(text: str) -> list[str]:
    """Clauses of a text but those that say what is held or set aside; a text that opens with what it holds and moves nothing is about that."""
    parts, start = [], 0
    cues = cues_of(text)
    if all(kind != "moved" for _, kind in cues):
        cues = tuple(cue for cue in cues if cue[1] != "held" or cue[0] >= 3)
    for stop, after in (*ends_of(text), (len(text), len(text))):
        own = cues[bisect_left(cues, (start,)) : bisect_left(cues, (stop,))]
        # What a question doubts is what it is about: "why not x?"
        if text[stop : stop + 1] == "?":
            parts.append(text[start:stop])
        elif not own or own[0][1] not in ("held", "against") or own[0][0] - start >= 3:
            for at, kind in own:
                if kind == "against" and at >= start:
                    parts.append(text[start:at])
                    start = min(
                        (n for mark in ",:" if (n := text.find(mark, at, stop)) > 0), default=stop
                    )
            parts.append(text[start:stop])
        start = after
    return parts if any(parts) else [text]
