"""What `kb ingest` and `kb regenerate` share: who answers packets, what that took, and the run itself."""

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from kb import KbError, store
from kb.ingest import queue
from kb.ingest.asking import (
    NO_FIGURE,
    NO_SENTENCE,
    NO_SUBJECT,
    Answerer,
    Price,
    answered,
    by_command,
    by_endpoint,
    by_rule,
    estimate_of,
    readings_by_rule,
)
from kb.ingest.packets import Packet
from kb.ingest.queue import WAITS, all_answers
from kb.ingest.settling import refile, settle
from kb.ingest.tasks import file_prompts
from kb.model import Endpoint
from kb.text import cut, head_of
from kb.verbs import FINDINGS, FINE, Caller, Result, flag, option

_NEXT = (
    "`kb packet next` gives them out, one at a time; `kb packet answer ID FILE` takes the replies",
)
FILLERS = ("agent", "api", "command", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Who answers packets, and within which bounds."""

    with_: str = option(
        "who answers: agent leaves packets for `kb packet next`, none extracts by rule",
        default="agent",
        choices=FILLERS,
    )
    command: str = option(
        "the command that answers, reading stdin (default: [model] command)", metavar="COMMAND"
    )
    url: str = option("base address of the endpoint (default: [model] url)", metavar="ADDRESS")
    model: str = option("name of the model (default: [model] name)", metavar="NAME")
    protocol: str = option(
        "what the endpoint speaks", default="openai", choices=("openai", "anthropic")
    )
    key_env: str = option(
        "environment variable that holds the key", default="KB_MODEL_KEY", metavar="NAME"
    )
    context: int = option("tokens of material in a packet (default 8000)", default=8000)
    estimate: bool = flag("say what it would take in packets, tokens and money, and ask nothing")
    most_cost: float = option("stop asking beyond this much money", default=-1.0, metavar="MONEY")
    price_read: float = option("money for a million tokens read", default=0.0, metavar="MONEY")
    price_written: float = option(
        "money for a million tokens written", default=0.0, metavar="MONEY"
    )
    at_once: int = option("packets asked at a time (default 4)", default=4)
    verify: bool = flag(
        "let a second reader read each claim beside its quote: with agent and none whoever takes it from the queue; with api and command the same filler, which does so anyway"
    )
    no_verify: bool = flag(
        "with api and command: no second reader, rules alone decide (default: [model] verify)"
    )


@dataclass(frozen=True, slots=True)
class Ingested:
    """What was asked, what entered, what came back, and what is left."""

    packets: int = 0
    replayed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    admitted: int = 0
    returned: int = 0
    review: int = 0
    left: int = 0
    pages: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    estimated: bool = False
    words: tuple[str, ...] = ()


_REFUSED = "that the gate would return"
# So many sentences that were left are shown word for word.
_SHOWN = 20
# The packets that are wanted, and what had to be passed over.
Wanted = Callable[["sqlite3.Connection"], "tuple[tuple[Packet, ...], tuple[str, ...]]"]


def fill(request: Filling, caller: Caller, wanted: Wanted, *, task: str = "") -> Result[Ingested]:
    """What was asked and filed, as a result; where something failed or waits for a person, a finding."""
    done = _filled(request, caller, wanted, task)
    return Result(done, _text(done), FINDINGS if done.failed or done.review else FINE)


def _text(i: Ingested) -> str:
    money = f", {i.cost:.2f} in money" if i.cost else ""
    if i.estimated:
        lines = [
            f"{i.packets} packets to ask ({i.replayed} answered before): about {i.tokens_in} tokens read, {i.tokens_out} written{money}"
        ]
    else:
        lines = [
            f"{i.packets} packets asked, {i.replayed} answered before; {i.tokens_in} tokens read, {i.tokens_out} written{money}",
            f"{i.admitted} claims entered, {i.returned} replies returned, {i.review} packets wait for `kb review`, {i.left} open",
        ]
    lines += [f"wrote {path}" for path in i.pages]
    lines += [f"failed {text}" for text in i.failed]
    lines += [f"passed over {text}" for text in i.passed_over]
    return "\n".join([*lines, *i.words])


def _filled(request: Filling, caller: Caller, wanted: Wanted, task: str) -> Ingested:
    """Ask what is wanted and not answered yet, and file what enters; only say what it would take where an estimate is asked."""
    layout = caller.layout
    answer, verify = _answerer(request, layout), _verifies(request, layout)
    price = Price(request.price_read, request.price_written)
    caller.build()
    db = store.state(layout)
    try:
        packets, passed_over = wanted(db)
        todo = [p for p in packets if queue.is_open(layout, p.id)]
        answers = [(p, a) for p in packets if (a := queue.answers_to(layout, p.id))]
        unread = [p for p, a in answers if verify and a.state == "undecided"]
        if request.estimate:
            count, *tokens = estimate_of(todo, read_again=[*todo, *unread] if verify else ())
            return Ingested(
                count, len(packets) - len(todo), *tokens, price.of(*tokens), left=count, passed_over=passed_over, estimated=True
            )  # fmt: skip
        file_prompts(layout)
        pages = _refiled(layout, db, answers, verify=verify, today=caller.today)
        replayed = sum(a.entered for _, a in answers)
        queue.offer(layout, (replace(p, verify=verify) for p in todo))
        if answer is None:
            db.close()
            caller.build()
            return Ingested(
                replayed=replayed,
                review=_waiting(layout),
                left=len(todo),
                pages=tuple(pages),
                passed_over=passed_over,
                words=_NEXT * bool(todo or unread),
            )
        ledger = answered(
            layout, db, answer,
            holder=f"{os.uname().nodename}:{os.getpid()}", clock=time.time, today=caller.today, price=price,
            most_cost=request.most_cost, at_once=max(1, request.at_once), task=task,
            verify=verify and request.with_ != "none", note=caller.talk,
        )  # fmt: skip
    finally:
        db.close()
    caller.build()
    pages += [page for s in ledger.settled for page in s.pages]
    return Ingested(
        len(ledger.settled), replayed, ledger.tokens_in, ledger.tokens_out, price.of(ledger.tokens_in, ledger.tokens_out),
        sum(len(s.admitted) for s in ledger.settled), sum(s.state == "returned" for s in ledger.settled), _waiting(layout), ledger.left,
        tuple(dict.fromkeys(pages)), ledger.failed, passed_over,
        words=_left_by_rules(todo) if request.with_ == "none" else (),
    )  # fmt: skip


def _refiled(
    layout: store.Layout,
    db: sqlite3.Connection,
    answers: Iterable[tuple[Packet, queue.Answers]],
    *,
    verify: bool,
    today: str,
) -> list[str]:
    """File what entered before, and put what rules doubt before a second reader. Returns the pages that this changed."""
    last = [(p, a.attempts[-1], a.state) for p, a in answers]
    pages = refile(layout, db, [(p, r.text) for p, r, s in last if s == "answered"], today=today)
    doubted = [(p, r) for p, r, state in last if verify and state == "undecided"]
    read = (settle(layout, db, p, r, today=today, verify=True).pages for p, r in doubted)
    return [*pages, *(page for changed in read for page in changed)]


def _left_by_rules(packets: Iterable[Packet]) -> tuple[str, ...]:
    """What rules took of the material and what they left: how many sentences for which reason, and those with figures word for word."""
    readings = [r for p in packets if p.task == "extract" for r in readings_by_rule(p)]
    reasons = Counter(
        r if r in ("", NO_FIGURE, NO_SENTENCE, NO_SUBJECT) else _REFUSED for *_, r in readings
    )
    taken = reasons.pop("", 0)
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    lines = [
        f"rules took {taken} of {len(readings)} sentences"
        + (f" and left {counts}" if counts else "")
    ]
    refused = [f"left {o}: “{cut(t, 100)}”: {r}" for o, t, r in readings if r and r not in reasons]
    return (*lines, *head_of(refused, _SHOWN, "… and {} more"))


def _waiting(layout: store.Layout) -> int:
    return sum(a.state in WAITS and a.task != "verify" for a in all_answers(layout))


def _verifies(request: Filling, layout: store.Layout) -> bool:
    """Whether a second reader is asked: whenever models answer, as rules do not see what words mean, unless that is not wanted."""
    usual = request.with_ in ("api", "command") and layout.config.model_verify
    return request.verify or usual and not request.no_verify


def _answerer(request: Filling, layout: store.Layout) -> Answerer | None:
    match request.with_:
        case "agent":
            return None
        case "none":
            return partial(by_rule, home=layout.page(""))
        case "command":
            command = request.command or layout.config.model_command
            if not command:
                raise KbError(
                    'no command to answer packets; say --command "claude -p", or set [model] command in kb.toml'
                )
            return by_command(command)
    url, name = request.url or layout.config.model_url, request.model or layout.config.model_name
    if not url or not name:
        raise KbError(
            "no model to ask; say --url ADDRESS --model NAME, or set [model] url and name in kb.toml"
        )
    key = os.environ.get(request.key_env, "")
    return by_endpoint(Endpoint(protocol=request.protocol, url=url, model=name, key=key))
