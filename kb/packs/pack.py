"""Agent packs: what an agent that optimizes for one kind of hardware needs, compiled from documents in the seven files that Autocomp reads.

Everything stands on its source: reference and examples are copied, facts and strategies quoted, and a strategy whose condition the
facts deny is left out and named. What people change or add stays: a part that differs from what was built last is theirs.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from kb import KbError
from kb.claims import Claim, Quotable, ruling_on
from kb.packs.parts import PackParts, Strategy
from kb.packs.reference import Example, ReferenceEntry, shown
from kb.source import fence_for
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
        ruling = ruling_on(item.quote, item.quote, origin=item.source, passages=passages)
        if ruling.reason.endswith("no claim"):
            yield f"{item.text[:60]}: rests on an instruction to the reader"
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
    claims = tuple(claims)
    facts = facts_of(claims)
    parts: dict[str, dict[str, object]] = {name: {} for name in FILES[1:]}
    left: list[str] = []
    for claim in claims:
        parts["architecture.md"][f"fact-{digest_of(claim.claim)}"] = (
            f"- {claim.claim} ({claim.source}, characters {claim.start} to {claim.end})"
        )
    for item in entries:
        _put(parts["isa_docs.md"], item.id, shown(item))
    for example in examples:
        fence = fence_for(example.code)
        text = f"## {example.title}\n\nSUMMARY: {example.title} ({example.source})\n\n{fence}{example.info}\n{example.code}\n{fence}"
        _put(parts["code_examples.md"], example.id, text)
    for reply in replies:
        for strategy in reply.strategies:
            held = applies(strategy.applies, facts)
            if held is False:
                left.append(
                    f"{strategy.text}: needs {strategy.applies}; {_known(strategy.applies, facts)}"
                )
                continue
            menu = parts[
                "translation_menu.yaml" if strategy.translation else "optimization_menu.yaml"
            ]
            if twin := _twin(strategy, menu):
                left.append(f"{strategy.text}: the same as “{twin}”")
                continue
            menu[f"strategy-{digest_of(strategy.text)}"] = _row(strategy, held, priors)
        for rule in reply.rules:
            parts["rules.yaml"][f"rule-{digest_of(rule.text)}"] = {
                "category": rule.category,
                "rule": rule.text,
                "source": rule.source,
                "quote": rule.quote,
            }
    return Pack(parts, tuple(left))


def _put(parts: dict[str, object], name: str, text: object) -> None:
    number = next(n for n in range(1, 10_000) if (f"{name}-{n}" if n > 1 else name) not in parts)
    parts[f"{name}-{number}" if number > 1 else name] = text


def facts_of(claims: Iterable[Claim]) -> dict[frozenset[str], float]:
    """Values without a condition, by the words of what they measure and of whom."""
    return {
        frozenset(
            map(stem, words_of(f"{c.quantity.subject} {c.quantity.quantity}"))
        ): c.quantity.value
        for c in claims
        if c.quantity and not c.quantity.condition
    }


def applies(condition: str, facts: Mapping[frozenset[str], float]) -> bool | None:
    """Whether the facts meet a condition such as `cores > 1`; None where they say nothing of it, or it is empty."""
    read = _PREDICATE.fullmatch(condition)
    value = _fact(condition, facts)
    if read is None or value is None:
        return None
    wanted = float(read[3])
    return {
        "<": value < wanted,
        ">": value > wanted,
        "<=": value <= wanted,
        ">=": value >= wanted,
        "!=": value != wanted,
    }.get(read[2], value == wanted)


def _fact(condition: str, facts: Mapping[frozenset[str], float]) -> float | None:
    read = _PREDICATE.fullmatch(condition)
    wanted = frozenset(map(stem, words_of(read[1].replace("_", " ")))) if read else frozenset()
    values = [value for words, value in facts.items() if wanted and wanted <= words]
    return values[0] if len(set(values)) == 1 else None


def _known(condition: str, facts: Mapping[frozenset[str], float]) -> str:
    value = _fact(condition, facts)
    return f"the facts say {value:g}" if value is not None else "the facts do not say"


def _twin(strategy: Strategy, menu: Mapping[str, object]) -> str:
    mine = _content(strategy.text)
    for row in menu.values():
        theirs = _content(str(row["strategy"]))
        if len(mine & theirs) >= 0.8 * len(mine | theirs):
            return str(row["strategy"])
    return ""


def _content(text: str) -> set[str]:
    return {stem(w) for w in words_of(text) if w not in STOP}


def _row(
    strategy: Strategy, held: bool | None, priors: Mapping[str, tuple[int, int]]
) -> dict[str, object]:
    words = set(map(stem, words_of(strategy.text)))
    won = lost = 0
    for lever, (wins, losses) in priors.items():
        named = set(map(stem, words_of(lever)))
        if named and named <= words:
            won, lost = won + wins, lost + losses
    row: dict[str, object] = {
        "strategy": strategy.text,
        "source": strategy.source,
        "quote": strategy.quote,
    }
    if strategy.applies:
        row["applies"] = strategy.applies if held is not None else f"{strategy.applies} (unknown)"
    if won or lost:
        row["tried"] = {"supported": won, "failed": lost}
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
    built = _built(have.get("agent_config.yaml", ""))
    theirs: list[str] = []
    files: dict[str, str] = {}
    record: dict[str, dict[str, str]] = {}
    for name, parts in pack.parts.items():
        record[name] = {part: digest_of(_text(value)) for part, value in parts.items()}
        if name in _KEYS:
            files[name] = _menu(name, parts, have.get(name, ""), built.get(name, {}), theirs)
        else:
            files[name] = _page(name, parts, have.get(name, ""), built.get(name, {}), theirs)
    files["agent_config.yaml"] = yaml.safe_dump(
        {**config, "built": record, "left_out": list(pack.left_out)},
        sort_keys=False,
        allow_unicode=True,
        width=1000,
    )
    return files, tuple(theirs)


def _text(value: object) -> str:
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    )


def _built(text: str) -> dict[str, dict[str, str]]:
    try:
        data = yaml.safe_load(text) or {}
        return (
            data["built"] if isinstance(data, dict) and isinstance(data.get("built"), dict) else {}
        )
    except yaml.YAMLError as error:
        raise KbError(
            f"agent_config.yaml: cannot be read: {error}; mend it, or remove it and build anew"
        ) from error


def _menu(
    name: str, parts: Mapping[str, object], have: str, built: Mapping[str, str], theirs: list[str]
) -> str:
    try:
        rows = (yaml.safe_load(have) or {}).get(_KEYS[name], []) if have else []
    except (yaml.YAMLError, AttributeError) as error:
        raise KbError(
            f"{name}: cannot be read: {error}; mend it, or remove it and build anew"
        ) from error
    there = {
        str(row.get("id")): {k: v for k, v in row.items() if k != "id"}
        for row in rows
        if isinstance(row, dict) and "id" in row
    }
    wanted = _kept(name, parts, there, built if have else {}, theirs)
    kept = [{"id": part, **value} for part, value in wanted.items()]
    kept += [{"id": part, **row} for part, row in there.items() if part not in (*built, *parts)]
    kept += [row for row in rows if not (isinstance(row, dict) and "id" in row)]
    return yaml.safe_dump({_KEYS[name]: kept}, sort_keys=False, allow_unicode=True, width=1000)


def _kept(
    name: str,
    parts: Mapping[str, object],
    there: Mapping[str, object],
    built: Mapping[str, str],
    theirs: list[str],
) -> dict:
    """The parts as they shall stand: what people removed stays away and what they changed stays theirs; `theirs` says which."""
    wanted: dict[str, object] = {}
    for part, value in parts.items():
        changed = part in there and part in built and digest_of(_text(there[part])) != built[part]
        if part in built and part not in there:
            theirs.append(f"{name}: {part} was removed")
            continue
        if changed:
            theirs.append(f"{name}: {part} was changed")
        wanted[part] = there[part] if changed else value
    return wanted


def _page(
    name: str, parts: Mapping[str, object], have: str, built: Mapping[str, str], theirs: list[str]
) -> str:
    there = {m[1]: m[2] for m in _BLOCK.finditer(have)}
    wanted = _kept(name, parts, there, built if have else {}, theirs)
    title = f"# {name.removesuffix('.md').replace('_', ' ').capitalize()}\n"
    text = (
        _BLOCK.sub(
            lambda m: (
                _block(m[1], wanted.pop(m[1])) if m[1] in wanted else "" if m[1] in built else m[0]
            ),
            have,
        )
        if have
        else title
    )
    return (
        text.rstrip("\n")
        + "\n"
        + "".join(f"\n{_block(part, value)}" for part, value in wanted.items())
    )


def _block(part: str, text: str) -> str:
    return f"<!-- kb:auto {part} -->\n{text}\n<!-- /kb:auto -->\n"
