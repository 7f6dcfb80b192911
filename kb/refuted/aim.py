"""What a text wants to move: terms with weights, levers with values, direction, operating point.

The same for experiments and proposals.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb.refuted.terms import clauses, weigh
from kb.run.record import Lever
from kb.trail import Facts
from kb.trail.levers import direction_in, key_of, levers_in, number_of


@dataclass(frozen=True, slots=True)
class Pull:
    """One lever of an aim: key, name and value as written, and how much of the text is about moving it."""

    key: str
    name: str
    value: str
    weight: float


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


def aim_of(facts: Facts, *, outcome: bool) -> Aim:
    """Aim of an experiment's facts; `outcome` adds the words of its verdict, which say what the lever ran into."""
    text = {
        "title": subject_of(facts.title),
        "slug": facts.slug.replace("-", " ") if " " not in facts.slug else "",
        "hypothesis": facts.hypothesis,
        "mechanism": facts.mechanism,
        "predicted_signal": facts.predicted_signal,
        "because": facts.because if outcome else "",
        # A lever that only the front matter names is what a short proposal shares with the page.
        "levers": "\n".join(f"{v.name}={v.value}" if v.value else v.name for v in facts.levers) if facts.stated_levers else "",
    }
    pulls = _pulls((text[name], weight) for name, weight in _FIELDS[:4] if text[name])
    if facts.stated_levers:
        stated = {key_of(v.name): Pull(key_of(v.name), v.name, v.value, _STATED) for v in facts.levers if len(key_of(v.name)) > 1}
        pulls = (*stated.values(), *(p for p in pulls if p.key not in stated))[:_MOST_PULLS]
    return Aim(
        _named(weigh((text[name], weight) for name, weight in _FIELDS if text[name]), pulls),
        pulls,
        direction_in(text["title"], facts.hypothesis[:400]),
        _point(
            (facts.variant, text["title"], facts.hypothesis, facts.mechanism, *((facts.setup, facts.because) if outcome else ()))
        ),
    )


def aim_of_text(text: str) -> Aim:
    """Aim of one sentence or list item."""
    pulls = _pulls([(text, 1.0)])
    return Aim(_named(weigh([(text, 1.5)]), pulls), pulls, direction_in(text, ""), _point((text,)))


def _named(terms: dict[str, float], pulls: Iterable[Pull]) -> dict[str, float]:
    """Terms with the key of every pull among them, so that tables of terms tell how common a lever is."""
    for pull in pulls:
        terms.setdefault("=" + pull.key, pull.weight / 4)
    return terms


_AT = re.compile(r"(?:\bat|@)[\s`*]*$")


def _stands_at(name: str, clause: str) -> bool:
    """Whether a clause says "at NAME": where something is tried, not what."""
    start = clause.find(name)
    while start >= 0:
        if _AT.search(clause, max(0, start - 8), start):
            return True
        start = clause.find(name, start + 1)
    return False


def _pulls(fields: Iterable[tuple[str, float]]) -> tuple[Pull, ...]:
    found: dict[str, Pull] = {}
    for text, field_weight in fields:
        best: dict[str, Pull] = {}
        for clause, weight in clauses(text):
            for lever in levers_in(clause):
                key = key_of(lever.name)
                if len(key) < 2 or len(key) < 4 and not lever.value:
                    continue
                said = weight * (_AT_POINT if _stands_at(lever.name, clause) else 1.0)
                known = best.get(key)
                if known is None or said > known.weight or not known.value and lever.value:
                    best[key] = Pull(
                        key, lever.name, lever.value or (known.value if known else ""), max(said, known.weight if known else 0.0)
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
    """Whether two keys of settings mean one: equal, one the start of the other (`seq`, `seqlen`), or its initials (`bs`,
    `batch_size`; keys keep no separators).
    """
    short, long = sorted((a, b), key=len)
    return short == long or len(short) >= 3 and long.startswith(short)


def initials(name: str) -> str:
    """First letters of the parts of a name: `--batch_size` gives `bs`."""
    parts = [p for p in re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", name) if p]
    return "".join(p[0] for p in parts).lower() if len(parts) > 1 else ""


def differences(card: Iterable[Lever], proposal: Iterable[Lever], *, leaving_out: frozenset[str] = frozenset()) -> list[str]:
    """Settings that both name with other numbers, as `batch_size 3 → 4`; levers in `leaving_out` (keys) are not compared."""
    found: list[str] = []
    theirs = list(card)
    for mine in proposal:
        key = key_of(mine.name)
        if key in leaving_out:
            continue
        for other in theirs:
            other_key = key_of(other.name)
            if (
                same_name(key, other_key)
                or key in (initials(other.name), other_key[:1])
                or other_key in (initials(mine.name), key[:1])
            ):
                a, b = number_of(other.value), number_of(mine.value)
                if a != b:
                    found.append(
                        f"{(mine.name if len(mine.name) > len(other.name) else other.name).lstrip('-')} {other.value} → {mine.value}"
                    )
                break
    return found[:6]
