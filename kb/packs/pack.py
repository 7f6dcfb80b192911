"""Agent packs: what an agent that optimizes for one kind of hardware needs, compiled from documents in the seven files that Autocomp reads.

Everything stands on its source: reference and examples are copied, facts and strategies quoted, and a strategy whose condition the
facts deny is left out and named. What people change or add stays: a part that differs from what was built last is theirs.
"""

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import eq, ge, gt, le, lt, ne

import yaml

from kb import KbError
from kb.claims import Claim, Quotable, ruling_on
from kb.packs.parts import PackParts, Strategy
from kb.packs.reference import Example, ReferenceEntry, shown
from kb.store import digest_of
from kb.text import STOP, stem, words_of

FILES = (
    "agent_config.yaml",
    "architecture.md",
    "isa_docs.md",
    "optimization_menu.yaml",
    "translation_menu.yaml",
    "rules.yaml",
    "code_examples.md",
)
_PREDICATE = re.compile(r"\s*([a-zA-Z][\w ]*?)\s*(<=|>=|==|!=|<|>|=)\s*(-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Pack:
    """The parts of a pack, each by its id, and what was left out with the reason."""

    parts: Mapping[str, Mapping[str, object]]
    left_out: tuple[str, ...] = ()


def strategy_reasons(parts: PackParts, passages: tuple[Quotable, ...]) -> Iterator[str]:
    """What keeps a reply about strategies and rules out: too many words, an instruction to the reader, a condition that cannot be read."""
    for item in (*parts.strategies, *parts.rules):
        if len(item.text.split()) > 25:
            yield f"{item.text[:60]}: at most 25 words"
        if item.source not in ("", *(p.origin for p in passages)):
            yield f"{item.text[:60]}: cites '{item.source}', which is not in the packet"
        ruling = ruling_on(item.quote, item.quote, origin=item.source, passages=passages)
        if ruling.reason.endswith("no claim"):
            yield f"{item.text[:60]}: rests on an instruction to the reader"
        # When a strategy applies is said apart from its text, and not in the words of its source.
        elif not getattr(item, "applies", ""):
            ruling = ruling_on(item.text, item.quote, origin=item.source, passages=passages)
            if ruling.span and ruling.reason and not ruling.undecided:
                yield f"{item.text[:60]}: {ruling.reason}"
    for strategy in parts.strategies:
        if strategy.applies and not _PREDICATE.fullmatch(strategy.applies):
            wrong = f"'{strategy.applies}' is no condition such as `cores > 1`"
            yield f"{strategy.text[:60]}: {wrong}"


def pack_of(
    claims: Iterable[Claim],
    entries: Iterable[ReferenceEntry],
    examples: Iterable[Example],
    replies: Iterable[PackParts],
    *,
    priors: Mapping[str, tuple[int, int]],
) -> Pack:
    """The pack of what is on file. `priors` are tallies of wins and losses of levers in the trail, by name."""
    claims, replies = tuple(claims), tuple(replies)
    facts = facts_of(claims)
    parts: dict[str, dict[str, object]] = {name: {} for name in FILES[1:]}
    parts["architecture.md"] = {
        f"fact-{digest_of(c.claim)}": f"- {c.claim} ({c.source}, characters {c.start} to {c.end})"
        for c in claims
    }
    parts["isa_docs.md"] = _numbered((item.id, shown(item)) for item in entries)
    parts["code_examples.md"] = _numbered((item.id, item.shown()) for item in examples)
    parts["rules.yaml"] = {
        f"rule-{digest_of(r.text)}": {
            "category": r.category, "rule": r.text, "source": r.source, "quote": r.quote,
        }
        for reply in replies
        for r in reply.rules
    }  # fmt: skip
    left = list[str]()
    for strategy in (s for reply in replies for s in reply.strategies):
        menu = parts["translation_menu.yaml" if strategy.translation else "optimization_menu.yaml"]
        held, twin = applies(strategy.applies, facts), _twin(strategy, menu)
        if held is False:
            value = _fact(strategy.applies, facts)
            left.append(f"{strategy.text}: needs {strategy.applies}; the facts say {value:g}")
        elif twin:
            left.append(f"{strategy.text}: the same as “{twin}”")
        else:
            menu[f"strategy-{digest_of(strategy.text)}"] = _row(strategy, held, priors)
    return Pack(parts, tuple(left))


def _numbered(named: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Texts by their ids; one id that stands again is numbered from 2."""
    parts = dict[str, object]()
    for name, text in named:
        ids = (f"{name}-{n}" if n > 1 else name for n in count(1))
        parts[next(i for i in ids if i not in parts)] = text
    return parts


def facts_of(claims: Iterable[Claim]) -> dict[frozenset[str], float]:
    """Values without a condition, by the words of what they measure and of whom."""
    stated = (c.quantity for c in claims if c.quantity and not c.quantity.condition)
    return {_content(f"{q.subject} {q.quantity}", left_out=()): q.value for q in stated}


def _content(text: str, *, left_out: Container[str] = STOP) -> frozenset[str]:
    return frozenset(stem(w) for w in words_of(text) if w not in left_out)


_COMPARED = {"<": lt, ">": gt, "<=": le, ">=": ge, "!=": ne, "==": eq, "=": eq}


def applies(condition: str, facts: Mapping[frozenset[str], float]) -> bool | None:
    """Whether the facts meet a condition such as `cores > 1`; None where they say nothing of it, or it is empty."""
    read, value = _PREDICATE.fullmatch(condition), _fact(condition, facts)
    return _COMPARED[read[2]](value, float(read[3])) if read and value is not None else None


def _fact(condition: str, facts: Mapping[frozenset[str], float]) -> float | None:
    """The one value that facts give what a condition names."""
    read = _PREDICATE.fullmatch(condition)
    wanted = _content(read[1].replace("_", " "), left_out=()) if read else frozenset()
    values = {value for words, value in facts.items() if wanted and wanted <= words}
    return values.pop() if len(values) == 1 else None


def _twin(strategy: Strategy, menu: Mapping[str, object]) -> str:
    """The strategy of a menu that says the same."""
    mine = _content(strategy.text)
    there = (str(row["strategy"]) for row in menu.values())
    same = (t for t in there if len(mine & _content(t)) >= 0.8 * len(mine | _content(t)))
    return next(same, "")


def _row(
    strategy: Strategy, held: bool | None, priors: Mapping[str, tuple[int, int]]
) -> dict[str, object]:
    words = _content(strategy.text, left_out=())
    tallies = [
        tally
        for lever, tally in priors.items()
        if (named := _content(lever, left_out=())) and named <= words
    ]
    won, lost = (sum(tally[side] for tally in tallies) for side in (0, 1))
    known = "" if held is not None else " (unknown)"
    row: dict[str, object] = {
        "strategy": strategy.text,
        "source": strategy.source,
        "quote": strategy.quote,
        "applies": strategy.applies and f"{strategy.applies}{known}",
        "tried": {"supported": won, "failed": lost} if won or lost else "",
    }
    row = {name: value for name, value in row.items() if value or name == "source"}
    # A strategy that was never tried counts as even: one win and one loss are added to what the trail holds.
    return {**row, "prior": round((won + 1) / (won + lost + 2), 2)}


_KEYS = {
    "optimization_menu.yaml": "optimizations",
    "translation_menu.yaml": "translations",
    "rules.yaml": "rules",
}
_BLOCK = re.compile(r"<!-- kb:auto ([\w.-]+) -->\n(.*?)\n?<!-- /kb:auto -->\n?", re.DOTALL)


def written(
    pack: Pack, have: Mapping[str, str], *, config: Mapping[str, object]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The files of a pack, made from what it holds and from what people made of the files that are there; and which parts are theirs.

    Raises KbError where a file that is there cannot be read.
    """
    built = _yaml("agent_config.yaml", have).get("built")
    theirs = list[str]()
    files = dict[str, str]()
    for name, parts in pack.parts.items():
        before = built.get(name, {}) if isinstance(built, dict) and name in have else {}
        keep = partial(_kept, name, parts, before, theirs)
        files[name] = (_menu if name in _KEYS else _page)(name, have, before, keep)
    record = {
        name: {part: digest_of(_text(value)) for part, value in parts.items()}
        for name, parts in pack.parts.items()
    }
    files["agent_config.yaml"] = _dumped(
        {**config, "built": record, "left_out": list(pack.left_out)}
    )
    return files, tuple(theirs)


def _text(value: object) -> str:
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    )


def _yaml(name: str, have: Mapping[str, str]) -> dict:
    """What a file of YAML holds that people may have changed."""
    try:
        data = yaml.safe_load(have.get(name, "")) or {}
    except yaml.YAMLError as error:
        raise KbError(
            f"{name}: cannot be read: {error}; mend it, or remove it and build anew"
        ) from error
    if not isinstance(data, dict):
        raise KbError(f"{name}: holds no fields; mend it, or remove it and build anew")
    return data


def _dumped(data: object) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)


def _kept(
    name: str,
    parts: Mapping[str, object],
    built: Mapping[str, str],
    theirs: list[str],
    there: Mapping[str, object],
) -> dict[str, object]:
    """The parts as they shall stand: what people removed stays away and what they changed stays theirs; `theirs` says which."""
    wanted = dict[str, object]()
    for part, value in parts.items():
        same = part not in built or part in there and digest_of(_text(there[part])) == built[part]
        fate = "" if same else "changed" if part in there else "removed"
        theirs += [f"{name}: {part} was {fate}"] if fate else []
        if fate != "removed":
            wanted[part] = there[part] if fate else value
    return wanted


# The parts of one file as they shall stand, beside those that are there.
_Keep = Callable[[Mapping[str, object]], dict[str, object]]


def _menu(name: str, have: Mapping[str, str], built: Mapping[str, str], keep: _Keep) -> str:
    rows = _yaml(name, have).get(_KEYS[name]) or []
    ours = {str(row["id"]): row for row in rows if isinstance(row, dict) and "id" in row}
    there = {part: {k: v for k, v in row.items() if k != "id"} for part, row in ours.items()}
    wanted = keep(there)
    kept = [{"id": part, **value} for part, value in wanted.items()]
    kept += [row for part, row in ours.items() if part not in (*built, *wanted)]
    kept += [row for row in rows if row not in ours.values()]
    return _dumped({_KEYS[name]: kept})


def _page(name: str, have: Mapping[str, str], built: Mapping[str, str], keep: _Keep) -> str:
    title = f"# {name.removesuffix('.md').replace('_', ' ').capitalize()}\n"
    text = have.get(name) or title
    wanted = keep({m[1]: m[2] for m in _BLOCK.finditer(text)})

    def block(match: re.Match[str]) -> str:
        if match[1] in wanted:
            return _block(match[1], wanted.pop(match[1]))
        return "" if match[1] in built else match[0]

    text = _BLOCK.sub(block, text).rstrip("\n")
    return text + "\n" + "".join(f"\n{_block(part, value)}" for part, value in wanted.items())


def _block(part: str, text: object) -> str:
    return f"<!-- kb:auto {part} -->\n{text}\n<!-- /kb:auto -->\n"
