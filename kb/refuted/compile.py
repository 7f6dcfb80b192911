"""Cards of a whole knowledge base: from failed experiments, retired hypotheses and dead-end lists; then scope, reopening
and generic principles.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kb.graph import Graph
from kb.refuted.aim import Aim, Pull, strong, subject_of
from kb.refuted.card import Card, aim_from_json
from kb.refuted.statements import Statement, statement_from_json
from kb.refuted.terms import terms_in
from kb.run.record import Lever
from kb.schema import FAILED, Verdict
from kb.trail import Facts, Trail
from kb.trail.levers import OPPOSITE

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\[])")
_BELOW = re.compile(r"(\d+(?:\.\d+)?\s?%)\s+(?:below|slower|worse|lower|less)\b", re.IGNORECASE)
_DELTA = re.compile(r"[−\-+]\s?\d+(?:\.\d+)?(?:\s?[–-]\s?[−\-+]?\d+(?:\.\d+)?)?\s?(?:%|pp\b|×|x\b)")
# A verdict's first words only repeat the verdict.
_SAYS_VERDICT = re.compile(
    r"^\W*(?:refuted|rejected|invalid|crash(?:ed)?|discard(?:ed)?|failed|not merged|verdict)\b[^.;:—–]{0,40}[.;:—–]\s*",
    re.IGNORECASE,
)
# Why something failed, by the words any domain uses; the first that fits names the reason.
_REASONS = (
    (
        "out of memory",
        re.compile(
            r"\bOOMs?\b|out of memory|exceeds? (?:memory|capacity)|over capacity|does(?:n['’]t| not) fit|memory (?:limit|"
            r"pressure|ceiling)",
            re.IGNORECASE,
        ),
    ),
    (
        "wrong result",
        re.compile(
            r"\bNaN\b|\bInf\b|diverg\w+|numerics?\b|parity (?:fail|broke)|wrong (?:result|output)|incorrect|precision loss|"
            r"accuracy drop",
            re.IGNORECASE,
        ),
    ),
    (
        "does not run",
        re.compile(
            r"compile[- ]?(?:error|fail\w*|time)|unsupported|not supported|no (?:backward|gradient)\w*|API\b|crash\w*|deadlock\w*|"
            r"hang(?:s|ed)?\b|segfault|missing|unrecogni[sz]ed",
            re.IGNORECASE,
        ),
    ),
    (
        "slower",
        re.compile(
            r"regress\w*|slower|worse|below the (?:baseline|parent|frontier)|% below|falls? to|−\s?\d|"
            r"(?<![\w.])-\d+(?:\.\d+)?\s?%|overhead|hurts?\b|costs? more",
            re.IGNORECASE,
        ),
    ),
    (
        "no effect",
        re.compile(
            r"no[- ]op|no (?:effect|gain|change|benefit|improvement)|within noise|flat\b|tie\b|neutral|already (?:optimal|"
            r"effective|fus\w+)",
            re.IGNORECASE,
        ),
    ),
)


def reason_of(text: str, verdict: str) -> str:
    """Class of why something failed: out of memory, wrong result, does not run, slower, no effect; empty where the text
    does not say.
    """
    return next((name for name, pattern in _REASONS if pattern.search(text)), "does not run" if verdict == Verdict.CRASH else "")


def cards_of(
    trail: Trail, aims: Mapping[str, Aim], statements: Iterable[tuple[str, list[Statement]]], graph: Graph
) -> tuple[Card, ...]:
    """Every card, in trail order of its evidence; `aims` are those of all experiments, failed or not, by path."""
    # A tie that the loop took back is a dead end as well; a first measurement that failed is none, for it tried nothing.
    failed = {
        e.path: _of_experiment(e, aims[e.path])
        for e in trail.experiments
        if not e.first
        and (e.verdict.canonical in FAILED or e.verdict.canonical is Verdict.INCONCLUSIVE and e.decision == "revert")
    }
    told: dict[str, set[str]] = defaultdict(set)
    others: list[Card] = []
    known = {e.path: e for e in trail.experiments}
    by_label: dict[str, list[Card]] = defaultdict(list)
    for card in failed.values():
        by_label[str(card.number)].append(card)
        by_label[card.evidence.rsplit("/", 1)[-1].removesuffix(".md")].append(card)
    statements = list(statements)
    retired = {path for path, said in statements if any(s.kind == "hypothesis" for s in said)}
    for path, said in statements:
        page = graph.pages[path]
        for n, statement in enumerate(said):
            backed = [c for c in statement.cites if c in failed]
            for cited in backed:
                told[cited].add(path)
            # A line that only points to a failed run, by link or label, repeats that run's own card.
            backed = backed or _labelled(statement, by_label) if statement.kind == "row" else backed
            if statement.kind in ("bullet", "row") and (backed or retired & set(statement.cites) - {path}):
                for repeated in backed[:1]:
                    told[repeated].add(path)
                continue
            others.append(_of_statement(path, page.date, n, statement, tuple(backed), _target_of(path, statement, known)))
    cards = [replace(c, told_by=tuple(sorted(told[c.evidence] - {c.evidence}))) for c in failed.values()]
    rare = rarity_of([*((e.target, aims[e.path]) for e in trail.experiments), *((c.target, c.aim) for c in others)])
    cards = _reopened(cards, [e for e in trail.experiments if e.verdict.canonical is Verdict.SUPPORTED], aims, rare)
    cards = [
        replace(c, levers=tuple(Lever(p.name, p.value) for p in rare.telling(c.target, c.aim))[:6] or c.levers)
        for c in (*cards, *others)
    ]
    return tuple(sorted([*cards, *_principles(cards, rare)], key=lambda c: (*c.order, c.id)))


def _of_experiment(e: Facts, aim: Aim) -> Card:
    title = subject_of(e.title)
    first = _claim_in(e.hypothesis)
    # A page that is named after its hypothesis says it once.
    alone = len(first) >= 30 or first.rstrip(".").lower() == title.rstrip(".").lower()
    claim = first if first and alone else f"{title}: {first}" if first else title
    because = e.because.replace("\n", " ").strip()
    place = e.place("verdict")
    return Card(
        id=e.path,
        kind="experiment",
        evidence=e.path,
        anchor=place.anchor if place else "",
        target=e.target,
        variant=e.variant,
        date=e.date,
        number=e.number,
        title=title,
        claim=_cut(claim, _LONGEST_CLAIM),
        because=_cut(_SAYS_VERDICT.sub("", because) or because, 420),
        delta=_delta_in(e.title) or _delta_in(because),
        verdict=str(e.verdict.canonical),
        levers=_main(aim),
        direction=aim.direction,
        point=aim.point,
        reopen_if=_reopen_if(aim, reason_of(f"{e.title} {because}", str(e.verdict.canonical))),
        aim=aim,
    )


# What a hypothesis says of its change; a sentence before the first of these tells where it starts from.
_PROPOSES = re.compile(
    r"^\W*(?:add|apply|build|change|disable|drop|enable|fuse|increase|lower|move|raise|reduce|remove|replace|run|set|swap|switch|"
    r"tighten|try|tune|use)\b|"
    r"\b(?:may|might|should|will|would|could|lets?|if (?:we|the|this|that|it)|(?:rais|lower|increas|reduc|enabl|disabl|add|"
    r"set|replac|swap|switch|remov|fus|shard|offload|tighten|doubl|halv|forc)ing|"
    r"(?:sav|rais|hid|reduc|improv|remov|lower|increas|mak)es|(?:cut|help|unlock|avoid|lift)s)\b",
    re.IGNORECASE,
)
_LONGEST_CLAIM = 280


def _claim_in(hypothesis: str) -> str:
    """What a hypothesis claims: its first sentence; where that tells only where things stand, with the next that proposes."""
    first, *rest = _SENTENCE.split(hypothesis.strip().replace("\n", " "))
    if _PROPOSES.search(first):
        return first
    proposing = next((s for s in rest[:3] if _PROPOSES.search(s)), "")
    both = f"{first} {proposing}".strip()
    return both if not proposing or len(both) <= _LONGEST_CLAIM else proposing


def _delta_in(text: str) -> str:
    """The first change a text reports: signed as written, or `2.9 % below` as a loss."""
    signed, below = _DELTA.search(text), _BELOW.search(text)
    if below and (not signed or below.start() < signed.start()):
        return "−" + below[1]
    return signed[0] if signed else ""


def _of_statement(path: str, date: str, n: int, s: Statement, backed: tuple[str, ...], target: str) -> Card:
    aim = s.aim
    return Card(
        id=f"{path}#{n}",
        kind=s.kind,
        evidence=path,
        anchor=s.anchor,
        target=target,
        variant="",
        date=date,
        number=0,
        title=_cut(s.text, 120),
        claim=_cut(s.text, 280),
        because=_cut(s.because, 420),
        delta=s.delta,
        verdict=str(Verdict.REFUTED),
        levers=_main(aim),
        direction=aim.direction,
        point=aim.point,
        reopen_if=_reopen_if(aim, reason_of(s.text, "")),
        aim=aim,
        experiments=backed,
    )


def _target_of(path: str, statement: Statement, known: Mapping[str, Facts]) -> str:
    """Target that a statement speaks of: that of the runs it cites if they agree, else the page's folder below experiments
    or its own name below targets.
    """
    cited = {known[c].target for c in statement.cites if c in known}
    if len(cited) == 1:
        return cited.pop()
    parts = path.removesuffix(".md").split("/")
    if len(parts) > 3 and parts[1] in ("experiments", "kernel_experiments"):
        return "/".join(p for p in parts[2:-1] if p != "experiments")
    return parts[-1] if len(parts) == 3 and parts[1] in ("targets", "models", "kernels") else ""


def _cut(text: str, limit: int) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= limit else text[: limit - 2].rsplit(" ", 1)[0] + " …"


def _main(aim: Aim) -> tuple[Lever, ...]:
    """Levers that carry at least half of the weight of the heaviest."""
    return tuple(Lever(p.name, p.value) for p in strong(aim.pulls))[:6]


def _reopen_if(aim: Aim, reason: str) -> str:
    shape = ", ".join(f"{v.name.lstrip('-')} {v.value}" for v in aim.point[:3])
    why = {
        "out of memory": "memory is freed, or the shape is smaller",
        "wrong result": "the numerics are mended",
        "does not run": "the stack supports it",
        "slower": "the cost it ran into is gone",
        "no effect": "the profile shows that it matters",
    }.get(reason, "the stack changed")
    return f"{why}{f' (tried at {shape})' if shape else ''}"


@dataclass(frozen=True, slots=True)
class Rarity:
    """How many aims name each lever, of all ('') and of each target: what a fifth of them name is their setting, not what one of
    them tried.
    """

    counts: Mapping[str, Counter[str]]
    sizes: Counter[str]

    def of(self, target: str, key: str) -> float:
        """log(aims / aims that name the key), of the whole or of the target (if it has ten aims), whichever is less."""
        names = [""] + ([target] if self.sizes[target] >= _ENOUGH else [])
        return min(math.log((self.sizes[n] + 1) / max(1, self.counts[n][key])) for n in names)

    def telling(self, target: str, aim: Aim) -> tuple[Pull, ...]:
        """The strong pulls that are rare enough, the most telling first."""
        least = _COMMON if self.sizes[""] >= _ENOUGH else 0.0
        rare = strong(tuple(p for p in aim.pulls if self.of(target, p.key) >= least))
        return tuple(sorted(rare, key=lambda p: (-p.weight * self.of(target, p.key), p.key)))


def rarity_of(aims: Iterable[tuple[str, Aim]]) -> Rarity:
    """Rarity among (target, aim) pairs."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sizes: Counter[str] = Counter()
    for target, aim in aims:
        for name in {"", target}:
            counts[name].update({p.key for p in aim.pulls})
            sizes[name] += 1
    return Rarity(counts, sizes)


_COMMON, _ENOUGH = math.log(5), 10


def _labelled(statement: Statement, by_label: Mapping[str, list[Card]]) -> list[str]:
    """The failed run that a ledger's row is about: its first cell is the run's label or file name, and they share a word
    of the title.
    """
    first, _, rest = statement.text.partition(" · ")
    label = re.fullmatch(r"(?:v|exp\.?|run|#)?\s?0*(\d+)[a-z]?(?:[\s–-].*)?", first, re.IGNORECASE)
    named = by_label.get(first, []) or by_label.get(label[1], []) if label else by_label.get(first, [])
    return [c.evidence for c in named if first in c.evidence or terms_in(rest) & terms_in(c.title)][:1]


def _reopened(cards: list[Card], won: list[Facts], aims: Mapping[str, Aim], rare: Rarity) -> list[Card]:
    """Cards with the status that later runs of the same target and variant give them: runs whose most telling lever is the
    same, with the same value and way.
    """
    later: dict[tuple[str, str, str], list[tuple[tuple[str, int, str], str, str, str, bool]]] = defaultdict(list)

    def place(target: str, aim: Aim) -> tuple[str, str, str] | None:
        telling = rare.telling(target, aim)
        return (target, telling[0].key, telling[0].value) if telling else None

    runs = [
        *((e.path, e.target, e.variant, e.order, True) for e in won),
        *((c.evidence, c.target, c.variant, c.order, False) for c in cards),
    ]
    for path, target, variant, order, success in runs:
        if at := place(target, aims[path]):
            later[at].append((order, path, variant, aims[path].direction, success))
    found: list[Card] = []
    for card in cards:
        at = place(card.target, card.aim)
        fits = (
            [
                (order, path, success)
                for order, path, variant, direction, success in later.get(at, ())
                if order > card.order
                and (not variant or not card.variant or variant == card.variant)
                and (not direction or OPPOSITE.get(direction) != card.direction)
            ]
            if at
            else []
        )
        wins = [path for _, path, success in sorted(fits) if success]
        losses = [path for _, path, success in sorted(fits) if not success]
        found.append(
            replace(card, status="reopened", by=wins[0])
            if wins
            else replace(card, status="superseded", by=losses[-1])
            if losses
            else card
        )
    return found


def _principles(cards: list[Card], rare: Rarity) -> list[Card]:
    """A generic principle for every lever that two or more targets refuted for the same reason."""
    groups: dict[tuple[str, str, str], list[Card]] = defaultdict(list)
    for card in cards:
        if card.kind == "experiment" and card.status != "reopened":
            reason = reason_of(f"{card.delta} {card.because}", card.verdict)
            for pull in rare.telling(card.target, card.aim)[:1] if reason else ():
                groups[pull.key, reason, "" if card.direction not in OPPOSITE else card.direction].append(card)
    made: list[Card] = []
    for (key, reason, direction), group in sorted(groups.items()):
        targets = sorted({c.target for c in group})
        if len(targets) < 2:
            continue
        pulls = [p for c in group for p in c.aim.pulls if p.key == key]
        name = Counter(p.name for p in pulls).most_common(1)[0][0]
        newest = max(group, key=lambda c: c.order)
        claim = f"`{name}` failed on {len(targets)} targets for the same reason: {reason}"
        aim = Aim({"=" + key: 2.0}, (Pull(key, name, "", 2.0),), direction, ())
        made.append(
            Card(
                id=f"principle:{key}:{reason}:{direction}",
                kind="principle",
                evidence=newest.evidence,
                anchor=newest.anchor,
                target="",
                variant="",
                date=newest.date,
                number=newest.number,
                title=f"{name}: {reason}",
                claim=claim,
                because=_cut("; ".join(f"{c.target}: {c.because}" for c in group), 420),
                delta=newest.delta,
                verdict=str(Verdict.REFUTED),
                levers=(Lever(name),),
                direction=direction,
                point=(),
                reopen_if=_reopen_if(Aim({}, (), "", ()), reason),
                aim=aim,
                experiments=tuple(c.evidence for c in group),
            )
        )
    return made


def split(rows: Iterable[tuple[str, str]]) -> tuple[dict[str, Aim], list[tuple[str, list[Statement]]]]:
    """Stored rows apart: aims of experiments by path, statements of other pages."""
    aims: dict[str, Aim] = {}
    said: list[tuple[str, list[Statement]]] = []
    for path, row in rows:
        value = json.loads(row)
        if isinstance(value, dict):
            aims[path] = aim_from_json(value)
        else:
            said.append((path, [statement_from_json(s) for s in value]))
    return aims, said
