"""Cards of a whole knowledge base: from failed experiments, retired hypotheses and dead-end lists; then scope, reopening
and generic principles.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING

from kb.refuted.card import Card, condition_of, reason_of
from kb.refuted.intent import Aim, terms_in
from kb.refuted.moves import Move, Role, difference, pulled, united
from kb.refuted.naming import subject_of
from kb.refuted.rarity import Counts, Rarity, counts_of, rarity_of
from kb.refuted.statement import RunAim, Statement, beside_runs, reports_failure
from kb.run.reasons import percent
from kb.run.record import Lever
from kb.schema import BROKEN, FAILED, UNMEASURED, Verdict, place_of, type_of_folder
from kb.store import Kept, digest_of, row_of
from kb.text import cut, sentences_of
from kb.trail import Facts, Trail
from kb.trail.levers import OPPOSITE

if TYPE_CHECKING:
    from kb.graph import Graph

_BELOW = re.compile(r"(\d+(?:\.\d+)?\s?%)\s+(?:below|slower|worse|lower|less)\b", re.IGNORECASE)
_DELTA = re.compile(r"[−\-+]\s?\d+(?:\.\d+)?(?:\s?[–-]\s?[−\-+]?\d+(?:\.\d+)?)?\s?(?:%|pp\b|×|x\b)")
# A verdict's first words only repeat the verdict.
_SAYS_VERDICT = re.compile(
    r"^\W*(?:refuted|rejected|invalid|crash(?:ed)?|discard(?:ed)?|failed|not merged|verdict)\b[^.;:—–]{0,40}[.;:—–](?!\d)\s*",
    re.IGNORECASE,
)
# What a hypothesis says of its change (in small letters); a sentence before the first of these tells where it starts from.
_PROPOSES = re.compile(
    r"^\W*(?:add|apply|build|change|disable|drop|enable|fuse|increase|lower|move|raise|reduce|remove|replace|run|set|swap|switch|"
    r"tighten|try|tune|use)\b|"
    r"\b(?:may|might|should|will|would|could|lets?|if (?:we|the|this|that|it)|(?:rais|lower|increas|reduc|enabl|disabl|add|"
    r"set|replac|swap|switch|remov|fus|shard|offload|tighten|doubl|halv|forc)ing|"
    r"(?:sav|rais|hid|reduc|improv|remov|lower|increas|mak)es|(?:cut|help|unlock|avoid|lift)s)\b"
)
_LONGEST_CLAIM, _LONGEST_BECAUSE = 280, 420
_READ = frozenset(Verdict) - {Verdict.OTHER}
# Statements that only ask for a look: of what failed as well as not, and of what may never have been run.
ASKING = {"attempt": "tried", "declined": "unread", "remark": "unread"}


def cards_of(
    trail: Trail,
    runs: Mapping[str, RunAim],
    statements: Iterable[tuple[str, Sequence[Statement]]],
    graph: "Graph",
    counts: Mapping[str, Counts],
    kept: Kept,
) -> tuple[Card, ...]:
    """Every card, in trail order of its evidence; `runs` are the aims of all experiments, failed or not, by path, `counts` what they count."""
    known = {e.path: e for e in trail.experiments}
    status = {path: s for path, e in known.items() if (s := _status(e, runs[path]))}
    inputs = {path: digest_of(trail.rows[path] + row_of(runs[path])) for path in status}
    make = lambda path: _with_reason(_of_experiment(known[path], runs[path]))  # noqa: E731
    own = kept.each("card", inputs, tuple[Card, str], make)
    others_of = lambda path: replace(own[path][0], status=status[path])  # noqa: E731
    unread = [others_of(path) for path in own if status[path] != "standing"]
    failed = {path: card for path, (card, _) in own.items() if status[path] == "standing"}
    # A failed run's own page is told by its card.
    listed = [(p, r.statements) for p, r in runs.items() if p not in failed and r.statements]
    sources, others = _statement_cards([*listed, *statements], failed, known, graph)
    rare = rarity_of(counts_of(((c.target, c.aim) for c in others), beside=counts))
    own_cards = (
        replace(c, told_by=tuple(sorted(sources[p] - {p}))) if p in sources else c
        for p, c in failed.items()
    )
    won = [e for e in trail.experiments if e.verdict.canonical is Verdict.SUPPORTED]
    cards = [_with_levers(c, rare) for c in (*_reopened([*own_cards], won, runs, rare), *others)]
    reasons = {path: own[path][1] for path in failed}
    unread = [_with_levers(c, rare) for c in unread]
    located = map(_located, (*cards, *_principles(cards, rare, reasons), *unread))
    return tuple(sorted(located, key=lambda c: (*c.order, c.id)))


def _statement_cards(
    statements: Iterable[tuple[str, Sequence[Statement]]],
    failed: Mapping[str, Card],
    known: Mapping[str, Facts],
    graph: "Graph",
) -> tuple[dict[str, set[str]], list[Card]]:
    """The pages that tell of each failed run, and a card of each statement that is not just about a run."""
    statements = [*statements]
    retired = {path for path, listed in statements if any(s.kind == "hypothesis" for s in listed)}
    by_label: dict[str, list[Card]] = defaultdict(list)
    for path, card in failed.items():
        by_label[str(card.number)].append(card)
        by_label[_stem(path)].append(card)
    sources: dict[str, set[str]] = defaultdict(set)
    others: list[Card] = []
    for path, listed in statements:
        for n, statement in enumerate(beside_runs(path, listed, known)):
            cited = [c for c in statement.cites if c in failed]
            # A line that only points to a failed run, by link or label, repeats that run's own card.
            labels = by_label if statement.kind == "row" else {}
            backed = cited or _labelled(statement, labels)
            for run in backed:
                sources[run].add(path)
            # One that leads to a run that is no failure is about that run, which says better how it went.
            about = (c in known or c in retired and c != path for c in statement.cites)
            if statement.kind in ("bullet", "row", "remark") and (backed or any(about)):
                continue
            target = _target_of(path, statement, known)
            date = graph.pages[path].date
            others.append(_of_statement(path, date, n, statement, tuple(backed), target))
    return sources, others


def _with_levers(card: Card, rare: Rarity) -> Card:
    levers = tuple(Lever(m.name, m.value) for m in rare.pulls(card.aim, card.target).values())
    return replace(card, levers=levers[:6] or card.levers)


def _located(card: Card) -> Card:
    """A card of a run that is a section of a page: by that page and its heading."""
    path, part, anchor = card.evidence.partition("#")
    return replace(card, evidence=path, anchor=anchor or card.anchor) if part else card


def is_failure(e: Facts, run: RunAim) -> bool:
    """Whether a run refutes its lever. A tie that a loop took back does; a first measurement tried nothing; and of what kb
    measured itself nothing inconclusive, and nothing that misuse made invalid.
    """
    if e.first:
        return False
    if run.measured:
        return (
            e.verdict.canonical in (Verdict.REFUTED, Verdict.CRASH)
            or e.verdict.canonical is Verdict.INVALID
            and run.rule in BROKEN
        )
    return (
        e.verdict.canonical in FAILED
        or e.verdict.canonical is Verdict.INCONCLUSIVE
        and e.decision == "revert"
    )


def _status(e: Facts, run: RunAim) -> str:
    """The status of a run's card: standing of a failure. Of another loop's run that is over, and of which nobody can tell how it came out
    (unread) or no failure is told (tried): worth a look before it is run again. Empty: it needs no card.
    """
    if is_failure(e, run):
        return "standing"
    if e.first or e.running or run.measured:
        return ""
    return "unread" if e.verdict.canonical in (None, Verdict.OTHER) else "tried"


def with_parents(trail: Trail, runs: Mapping[str, RunAim]) -> dict[str, RunAim]:
    """The aims of all runs, where a run's page gives its whole command: what that sets otherwise than its parent's is what it moves."""
    by_name = {(e.target, _stem(e.path)): runs[e.path] for e in trail.experiments}
    complete = dict(runs)
    for e in trail.experiments:
        run, parent = runs[e.path], by_name.get((e.target, _stem(e.parent or "")))
        aim = run.aim
        declared = any(m.role is Role.DECLARED for m in aim.moves)
        if declared or parent in (None, run) or not (aim.command and parent.aim.command):
            continue
        moved = difference(aim.command, parent.aim.command)
        held = {m.key for m in aim.command} - {m.key for m in moved}
        rest = [
            m
            for m in aim.moves
            if m.key not in held or m.role not in (Role.POINT, Role.NAMED, Role.SET)
        ]
        terms = aim.terms | {"=" + m.key: 1.0 for m in moved}
        own = replace(aim, moves=united([moved, rest]), terms=dict(sorted(terms.items())))
        complete[e.path] = replace(run, aim=own)
    return complete


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def _of_experiment(e: Facts, run: RunAim) -> Card:
    aim = run.aim
    title = subject_of(e.title)
    first = "".join(sentences_of(e.hypothesis)[:1]) if e.opens else _claim_in(e.hypothesis)
    proposes = _PROPOSES.search(first.lower())
    # How a page opens may tell where it starts from: its title says better what was tried, where it names something.
    first *= bool(not e.opens or proposes or reports_failure(first) or len(terms_in(title)) < 3)
    # A page that is named after its hypothesis says it once; what proposes nothing may tell of anything.
    same = first.rstrip(".").lower() == title.rstrip(".").lower()
    alone = same or len(first) >= 30 and proposes and not e.opens
    claim = first if first and alone else f"{title}: {first}" if first else title
    because = " ".join(e.because.split())
    reason = reason_in(because)
    # How a run ended is no reason: that is for somebody to say.
    if run.measured and reason.startswith(UNMEASURED):
        reason = f"not known; it ended so: {reason.removeprefix(UNMEASURED)}"
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
        claim=cut(claim, _LONGEST_CLAIM),
        because=cut(reason, _LONGEST_BECAUSE),
        delta=percent(e.gain)
        if run.measured and e.gain is not None
        else _delta_in(e.title) or _delta_in(because),
        verdict=str(e.verdict.canonical) if e.verdict.canonical in _READ else "",
        levers=_main(aim),
        direction=aim.direction,
        point=aim.point,
        reopen_if=run.reopen_if
        or condition_of(aim.point, reason_of(f"{e.title} {because}", str(e.verdict.canonical))),
        aim=aim,
    )


def reason_in(because: str) -> str:
    """A reason without the verdict that it begins with."""
    return _SAYS_VERDICT.sub("", because) or because


def _claim_in(hypothesis: str) -> str:
    """What a hypothesis claims: its first sentence; where that tells only where things stand, with the next that proposes, and where
    none does, all of them.
    """
    first, *rest = sentences_of(hypothesis) or [""]
    if _PROPOSES.search(first.lower()):
        return first
    proposing = next((s for s in rest[:3] if _PROPOSES.search(s.lower())), "")
    both = f"{first} {proposing or ' '.join(rest)}".strip()
    return both if not proposing or len(both) <= _LONGEST_CLAIM else proposing


def _delta_in(text: str) -> str:
    """The first change a text reports: signed as written, or `2.9 % below` as a loss."""
    signed, below = _DELTA.search(text), _BELOW.search(text)
    if below and (not signed or below.start() < signed.start()):
        return "−" + below[1]
    return signed[0] if signed else ""


def _of_statement(
    path: str, date: str, n: int, s: Statement, backed: tuple[str, ...], target: str
) -> Card:
    return Card(
        id=f"{path}#{n}",
        kind=s.kind,
        evidence=path,
        anchor=s.anchor,
        target=target,
        variant="",
        date=date,
        number=0,
        title=cut(s.text, 120),
        claim=cut(s.text, _LONGEST_CLAIM),
        because=cut(s.because, _LONGEST_BECAUSE),
        delta=s.delta,
        verdict="" if s.kind in ASKING else s.verdict or str(Verdict.REFUTED),
        levers=_main(s.aim),
        direction=s.aim.direction,
        point=s.aim.point,
        reopen_if=condition_of(s.aim.point, reason_of(s.text, "")),
        aim=s.aim,
        status=ASKING.get(s.kind, "standing"),
        experiments=backed,
    )


def _target_of(path: str, statement: Statement, known: Mapping[str, Facts]) -> str:
    """Target that a statement speaks of: that of the runs it cites if they agree, else the page's folder below experiments
    or its own name below targets.
    """
    cited = {known[c].target for c in statement.cites if c in known}
    if len(cited) == 1:
        return cited.pop()
    folder, *inner = place_of(path.removesuffix(".md"))
    kind = type_of_folder(folder)
    if kind == "experiment":
        return "/".join(p for p in inner[:-1] if p != "experiments")
    return inner[0] if kind == "target" and len(inner) == 1 else ""


def _main(aim: Aim) -> tuple[Lever, ...]:
    return tuple(Lever(m.name, m.value) for m in pulled(aim.moves))[:6]


def _labelled(statement: Statement, by_label: Mapping[str, list[Card]]) -> list[str]:
    """The failed run that a ledger's row is about: its first cell is the run's label or file name, and they share a word
    of the title.
    """
    first, _, rest = statement.text.partition(" · ")
    label = re.fullmatch(r"(?:v|exp\.?|run|#)?\s?0*(\d+)[a-z]?(?:[\s–-].*)?", first, re.IGNORECASE)
    named = (
        by_label.get(first, []) or by_label.get(label[1], []) if label else by_label.get(first, [])
    )
    return [c.evidence for c in named if first in c.evidence or terms_in(rest) & terms_in(c.title)][
        :1
    ]


# Runs that moved one lever to one value on a target: by variant, and by whether they say so, their way and whether they won; in
# trail order, with their paths.
_Tries = dict[tuple[str, str, str, str | None], dict[tuple[bool, str, bool], list[tuple]]]


def _reopened(
    cards: list[Card], won: list[Facts], runs: Mapping[str, RunAim], rare: Rarity
) -> list[Card]:
    """Cards with the status that later runs of the same target and variant give them: runs whose most telling lever is the
    same, with the same value and way. A value that neither of the two moves is only where both were run.
    """
    tries: _Tries = defaultdict(lambda: defaultdict(list))
    moved = [
        *((e.path, e.target, e.variant, e.order, True) for e in won),
        *((c.evidence, c.target, c.variant, c.order, False) for c in cards),
    ]
    for path, target, variant, order, success in sorted(moved, key=itemgetter(3, 0)):
        aim = runs[path].aim
        for move in _first(rare, aim, target):
            for scope in (variant, None):
                way = move.is_moved, aim.direction, success
                tries[target, move.key, move.value, scope][way].append((order, path))
    return [_with_status(card, tries, _first(rare, card.aim, card.target)) for card in cards]


def _first(rare: Rarity, aim: Aim, target: str) -> list[Move]:
    return [*rare.pulls(aim, target).values()][:1]


def _with_status(card: Card, tries: _Tries, moves: list[Move]) -> Card:
    """A card with what came after it: the first win, else the last loss."""
    wins, losses = [], []
    for move, scope in product(moves, {card.variant, ""} if card.variant else {None}):
        ways = tries.get((card.target, move.key, move.value, scope), {})
        for (is_moved, direction, success), runs in ways.items():
            after = bisect_right(runs, card.order, key=itemgetter(0))
            opposed = direction and OPPOSITE.get(direction) == card.direction
            if after < len(runs) and (is_moved or move.is_moved) and not opposed:
                (wins if success else losses).extend((runs[after], runs[-1]))
    if wins:
        return replace(card, status="reopened", by=min(wins)[1])
    return replace(card, status="superseded", by=max(losses)[1]) if losses else card


def _with_reason(card: Card) -> tuple[Card, str]:
    return card, reason_of(f"{card.delta} {card.because}", card.verdict)


def _principles(cards: list[Card], rare: Rarity, reasons: Mapping[str, str]) -> list[Card]:
    """A generic principle for every lever that two or more targets refuted for the same reason."""
    groups: dict[tuple[str, str, str], list[Card]] = defaultdict(list)
    for card in cards:
        if card.kind == "experiment" and card.status != "reopened":
            reason = reasons[card.evidence]
            for move in [*rare.pulls(card.aim, card.target).values()][:1] if reason else ():
                groups[
                    move.key, reason, "" if card.direction not in OPPOSITE else card.direction
                ].append(card)
    return [
        _principle(*at, group)
        for at, group in sorted(groups.items())
        if len({c.target for c in group}) > 1
    ]


def _principle(key: str, reason: str, direction: str, group: list[Card]) -> Card:
    name = Counter(m.name for c in group for m in c.aim.moves if m.key == key).most_common(1)[0][0]
    newest = max(group, key=lambda c: c.order)
    return Card(
        id=f"principle:{key}:{reason}:{direction}",
        kind="principle",
        evidence=newest.evidence,
        anchor=newest.anchor,
        target="",
        variant="",
        date=newest.date,
        number=newest.number,
        title=f"{name}: {reason}",
        claim=f"`{name}` failed on {len({c.target for c in group})} targets for the same reason: {reason}",
        because=cut("; ".join(f"{c.target}: {c.because}" for c in group), _LONGEST_BECAUSE),
        delta=newest.delta,
        verdict=str(Verdict.REFUTED),
        levers=(Lever(name),),
        direction=direction,
        point=(),
        reopen_if=condition_of((), reason),
        aim=Aim({"=" + key: 2.0}, (Move(key, name, "", "", direction, Role.MOVED),), direction),
        experiments=tuple(c.evidence for c in group),
    )
