"""What a text wants to move: terms with weights, levers with values, direction, operating point.

The same for experiments and proposals.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb.refuted.terms import clauses, terms_in, weigh
from kb.run.record import Lever
from kb.trail import Facts
from kb.trail.levers import direction_in, key_of, levers_in, number_of, switch_of, way_of

_ON = frozenset(("1", "true", "on", "yes", "enabled"))
_OFF = frozenset(("0", "false", "off", "no", "none", "disabled"))


@dataclass(frozen=True, slots=True)
class Pull:
    """One lever of an aim: key, name and value as written, how much of the text is about moving it, and which way it goes."""

    key: str
    name: str
    value: str
    weight: float
    way: str = ""

    @property
    def switch(self) -> str:
        """`on`, `off` or empty: what name and value make of it, else the way it is moved; a lever that is only named is switched on."""
        word, negated = self.value.strip("'\"").lower(), switch_of(self.name)[1]
        if not word:
            return "off" if negated or self.way == "disable" else "on"
        on, off = word in _ON, word in _OFF
        return "" if not on and not off else "on" if on is not negated else "off"


@dataclass(frozen=True, slots=True)
class Aim:
    """What a text wants to move. `point` are settings with numbers, moved or not."""

    terms: Mapping[str, float]
    pulls: tuple[Pull, ...]
    direction: str
    point: tuple[Lever, ...]


# Weights of the fields; a change is kept only if replay of the trail says it helps.
_FIELDS = (
    ("title", 1.2),
    ("slug", 0.8),
    ("hypothesis", 1.0),
    ("mechanism", 0.8),
    ("predicted_signal", 0.2),
    ("because", 0.5),
    ("levers", 1.2),
)
_OUTCOME = re.compile(
    r"\s*[(\[][^()\[\]]*\b(?:rejected|invalid|refuted|accepted|potential|discard|crash|oom|supported|inconclusive|parked|"
    r"flat)\b[^()\[\]]*[)\]]?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?:[\w.\-/ ]{0,30}?\b)?(?:v|exp\.?\s?|experiment\s|run\s|#)\d+[a-z]?\s*(?:[—–:\-]+\s*|$)", re.IGNORECASE)
_MOST_PULLS = 16
# A lever that the front matter states outweighs all that text can gather.
_STATED = 5.0
# "at batch 4", "@ seq8192": where something is tried, more than what is tried.
_AT_POINT = 0.4


def subject_of(title: str) -> str:
    """A title without the run's label in front and its outcome in brackets: what the page is about."""
    return _LABEL.sub("", _OUTCOME.sub("", title)).strip(" -—–:") or title


# No person says what is moved in more; the patterns below are slow on what a machine may have poured into a cell or a title.
_LONGEST, _LONGEST_LEVER = 4000, 400
_BLANKS = re.compile(r"(\s)\s{3,}")


def _readable(text: str) -> str:
    return text if len(text) <= _LONGEST else _BLANKS.sub(r"\1", text)[:_LONGEST]


def aim_of(facts: Facts, *, outcome: bool) -> Aim:
    """Aim of an experiment's facts; `outcome` adds the words of its verdict, which say what the lever ran into."""
    said = {
        "title": subject_of(_readable(facts.title)),
        "slug": facts.slug.replace("-", " ") if " " not in facts.slug else "",
        "hypothesis": facts.hypothesis,
        "mechanism": facts.mechanism,
        "predicted_signal": facts.predicted_signal,
        "because": facts.because if outcome else "",
        # A lever that only the front matter names is what a short proposal shares with the page.
        "levers": "\n".join(f"{v.name}={v.value}" if v.value else v.name for v in facts.levers) if facts.stated_levers else "",
    }
    text = {name: _readable(value) for name, value in said.items()}
    pulls = _pulls((text[name], weight) for name, weight in _FIELDS[:4] if text[name])
    if facts.stated_levers:
        ways = {p.key: p.way for p in pulls}
        keyed = [(switch_of(v.name)[0], v) for v in facts.levers if len(v.name) + len(v.value) <= _LONGEST_LEVER]
        stated = {key: Pull(key, v.name, v.value, _STATED, ways.get(key, "")) for key, v in keyed if len(key) > 1}
        pulls = (*stated.values(), *(p for p in pulls if p.key not in stated))[:_MOST_PULLS]
    return Aim(
        _named(weigh((text[name], weight) for name, weight in _FIELDS if text[name]), pulls),
        pulls,
        direction_in(text["title"], text["hypothesis"][:400]),
        _point(
            map(
                _readable,
                (
                    facts.variant,
                    text["title"],
                    facts.hypothesis,
                    facts.mechanism,
                    *((facts.setup, facts.because) if outcome else ()),
                ),
            )
        ),
    )


def aim_of_text(text: str) -> Aim:
    """Aim of one sentence or list item."""
    text = _readable(text)
    pulls = _pulls([(text, 1.0)])
    return Aim(_named(weigh([(text, 1.5)]), pulls), pulls, direction_in(text, ""), _point((text,)))


def _named(terms: dict[str, float], pulls: Iterable[Pull]) -> dict[str, float]:
    """Terms with the key of every pull among them, so that tables of terms tell how common a lever is, and the initials of
    what is set, so that `lr=6e-4` finds `learning_rate`.
    """
    for pull in pulls:
        plain = pull.key == key_of(pull.name)
        terms.setdefault("=" + pull.key, pull.weight / 4 if plain else pull.weight)
        for term in sorted(terms_in(pull.name[2:])) if pull.name.startswith("-D") else ():
            terms.setdefault(term, pull.weight)  # A macro's words, which its flag hides.
        if pull.value and (short := initials(pull.name)):
            terms.setdefault(short, pull.weight / 2)
    return terms


_AT = re.compile(r"(?:\bat(?: (?:the|a|an|this|our|same|\w+['’]s))*|@|\bon (?:the|this|our|top of|top of the))[\s`*]*$")
# "the seq8192 frontier", "this bs=4 shape".
_SCENE = re.compile(r"[=\w.]*[`*]*(?:[ /-][\w=.+-]+){0,2} (?:shapes?|frontier|baseline|config\w*|stack|setup|recipe)\b")


def _stands_at(name: str, clause: str) -> bool:
    """Whether a clause says "at NAME" or "the NAME shape": where something is tried, not what."""
    start = clause.find(name)
    while start >= 0:
        if _AT.search(clause, max(0, start - 16), start) or _SCENE.match(clause, start + len(name)):
            return True
        start = clause.find(name, start + 1)
    return False


def _pulls(fields: Iterable[tuple[str, float]]) -> tuple[Pull, ...]:
    found: dict[str, Pull] = {}
    for text, field_weight in fields:
        best: dict[str, Pull] = {}
        for clause, weight in clauses(text):
            for lever in levers_in(clause):
                key = switch_of(lever.name)[0]
                if len(key) < 2 or len(key) < 4 and not lever.value:
                    continue
                said = weight * (_AT_POINT if _stands_at(lever.name, clause) else 1.0)
                known = best.get(key)
                if known is None or said > known.weight or not known.value and lever.value:
                    best[key] = Pull(
                        key,
                        lever.name,
                        lever.value or (known.value if known else ""),
                        max(said, known.weight if known else 0.0),
                        way_of(clause, lever.name) or (known.way if known else ""),
                    )
        for key, pull in best.items():
            known = found.get(key)
            value = pull.value or (known.value if known else "")
            # The mechanism, read last, states the value that is run; a hypothesis may name the one it starts from.
            found[key] = Pull(
                key,
                known.name if known else pull.name,
                known.value if known and known.value and pull.weight < 1 else value,
                (known.weight if known else 0.0) + field_weight * pull.weight,
                known.way if known and known.way else pull.way,
            )
    return tuple(sorted(found.values(), key=lambda p: (-p.weight, p.key))[:_MOST_PULLS])


# "32k tokens", "128 generated tokens": how much of what a run works on. Starts with the digit, which is found fast.
_COUNTED = re.compile(
    r"(?P<value>\d(?<![\w.=/-]\d)[\d,]*[kKM]?)[ -](?:[a-z]+ )?(?P<name>tokens|threads|layers|heads|chips|gpus|devices|hosts|"
    r"nodes|rows|users|clients|requests|warps|workers|images|samples)\b"
    r"(?!/)",
    re.IGNORECASE,
)


def _point(texts: Iterable[str]) -> tuple[Lever, ...]:
    found: dict[str, Lever] = {}
    for text in texts:
        for lever in levers_in(text):
            if lever.value and number_of(lever.value) is not None:
                found.setdefault(key_of(lever.name), lever)
        for m in _COUNTED.finditer(text):
            found.setdefault(m["name"].lower(), Lever(m["name"].lower(), m["value"]))
    return tuple(found.values())


def strong(pulls: tuple[Pull, ...]) -> tuple[Pull, ...]:
    """Pulls that carry at least half of the weight of the heaviest."""
    return tuple(p for p in pulls if p.weight >= pulls[0].weight / 2) if pulls else ()


def same_name(a: str, b: str) -> bool:
    """Whether two keys of settings mean one: equal, or one the start of the other (`seq`, `seqlen`)."""
    short, long = sorted((a, b), key=len)
    return short == long or len(short) >= 3 and long.startswith(short)


def initials(name: str) -> str:
    """First letters of the parts of a name: `--batch_size` gives `bs`."""
    parts = [p for p in re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", name) if p]
    return "".join(p[0] for p in parts).lower() if len(parts) > 1 else ""


def abbreviates(a: str, b: str) -> bool:
    """Whether one of two names may be short for the other: its initials (`bs`, `batch_size`) or its first letter (`b`)."""
    short, long = sorted((a, b), key=lambda name: len(key_of(name)))
    return key_of(short) in (initials(long), key_of(long)[:1])


def differences(card: Iterable[Lever], proposal: Iterable[Lever], *, leaving_out: frozenset[str] = frozenset()) -> list[str]:
    """Settings that both name with other numbers, as `batch_size 3 → 4`; levers in `leaving_out` (keys) are not compared.

    A short name that may stand for several settings (`bs` for batch size and for block size) is compared with all of them.
    """
    found: list[str] = []
    theirs = [(switch_of(v.name)[0], v) for v in card]
    for mine in proposal:
        key = switch_of(mine.name)[0]
        if key in leaving_out:
            continue
        meant = (
            [v for k, v in theirs if k == key]
            or [v for k, v in theirs if same_name(key, k)][:1]
            or [v for _, v in theirs if abbreviates(mine.name, v.name)]
        )
        number = number_of(mine.value)
        if other := next((v for v in meant if number_of(v.value) != number), None):
            name = max(mine.name, other.name, key=len) if len(meant) == 1 else mine.name
            found.append(f"{name.lstrip('-')} {other.value} → {mine.value}")
    return found[:6]
