"""Who answers packets: an API, a command, or rules alone; how many at once, at what cost, and what comes of it.

An agent that runs already answers by `kb packet next` and `kb packet answer` and needs nothing of this.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kb import store
from kb.claims import ruling_on
from kb.ingest.admission import passages_of
from kb.ingest.material import CHARS_PER_TOKEN
from kb.ingest.packets import Packet
from kb.ingest.queue import ReplyAttempt, answers_to, give_back, queued, take
from kb.ingest.settling import SecondReader, Settlement, settle
from kb.model import Endpoint, ModelError, Prompt, ask, ask_command
from kb.text import numbers_in, sentences_of, unit_of

Answerer = Callable[[Packet, tuple[str, ...]], ReplyAttempt]

# What a reply costs beside what it reads, where nothing is known yet: claims with quotes are about a quarter of their material.
_REPLY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, read and written."""

    read: float = 0.0
    written: float = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.read + tokens_out * self.written) / 1e6


@dataclass(frozen=True, slots=True)
class Estimate:
    packets: int
    tokens_in: int
    tokens_out: int
    cost: float


@dataclass(frozen=True, slots=True)
class Expense:
    """What a run asked, what it cost, and what it could not ask."""

    settled: tuple[Settlement, ...]
    tokens_in: int
    tokens_out: int
    cost: float
    failed: tuple[str, ...]
    left: int


def estimate_of(packets: Iterable[Packet], price: Price) -> Estimate:
    packets = tuple(packets)
    read = sum(p.tokens for p in packets)
    written = int(
        sum(sum(len(m.text) for m in p.material) / CHARS_PER_TOKEN * _REPLY_SHARE for p in packets)
    )
    return Estimate(len(packets), read, written, price.of(read, written))


def by_endpoint(endpoint: Endpoint) -> Answerer:
    def answer(packet: Packet, returned: tuple[str, ...]) -> ReplyAttempt:
        reply = ask(
            endpoint, Prompt(packet.standing(), packet.text(returned=returned), packet.schema)
        )
        return ReplyAttempt(
            by=reply.model, text=reply.text, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out
        )

    return answer


def by_command(command: str, *, timeout_s: float = 600.0) -> Answerer:
    def answer(packet: Packet, returned: tuple[str, ...]) -> ReplyAttempt:
        reply = ask_command(
            command, Prompt(packet.standing(), packet.text(returned=returned)), timeout_s=timeout_s
        )
        tokens = (
            int(len(packet.to_markdown(returned=returned)) / CHARS_PER_TOKEN),
            int(len(reply.text) / CHARS_PER_TOKEN),
        )
        return ReplyAttempt(
            by=reply.model, text=reply.text, tokens_in=tokens[0], tokens_out=tokens[1]
        )

    return answer


NO_FIGURE, NO_SENTENCE = "without a number and its unit", "of under 4 words or over 40"


def readings_by_rule(packet: Packet) -> Iterator[tuple[str, str, str]]:
    """Every sentence of a packet's material behind its origin, with the reason why rules leave it; nothing for one that they take."""
    passages = passages_of(packet)
    for material in packet.material:
        for sentence in sentences_of(material.text):
            if not any(unit_of(n.unit) for n in numbers_in(sentence)):
                left = NO_FIGURE
            elif not 4 <= len(sentence.split()) <= 40:
                left = NO_SENTENCE
            else:
                origin = material.origin
                left = ruling_on(sentence, sentence, origin=origin, passages=passages).reason
            yield material.origin, sentence, left


def by_rule(packet: Packet, returned: tuple[str, ...] = (), *, home: str = "wiki/") -> ReplyAttempt:
    """What rules can extract: sentences that state a number with a unit, word for word, on the page of their source in the folder `home`."""
    if packet.task != "extract":
        raise ModelError(
            f"{packet.task}: rules alone cannot answer this; say --with api, command or agent"
        )
    claims = [
        {"section": "What it states", "claim": text, "quote": text, "source": origin}
        for origin, text, left in readings_by_rule(packet)
        if not left
    ]
    origin, title = packet.material[0].origin, packet.material[0].title
    page = {"path": f"{home}{origin}.md", "type": "source", "title": title[:120], "claims": claims}
    return ReplyAttempt(
        by="rules", text=json.dumps({"drafts": [page] if claims else []}, ensure_ascii=False)
    )


def answered(
    layout: store.Layout,
    db: sqlite3.Connection,
    answer: Answerer,
    *,
    holder: str,
    clock: Callable[[], float],
    today: str,
    price: Price = Price(),
    most_cost: float | None = None,
    at_once: int = 4,
    task: str = "",
    second: SecondReader | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Expense:
    """Work the queue empty: each packet asked, and once more with reasons where it is returned. Stops asking beyond `most_cost`.

    A model that fails leaves its packet open for the next run. Filing is done here, by one thread; only the asking is concurrent.
    """
    settled: list[Settlement] = []
    failed: dict[str, str] = {}
    spent = [0, 0]
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        while batch := list(
            _leased(layout, at_once, holder=holder, clock=clock, task=task, without=failed)
        ):
            if (
                most_cost is not None
                and price.of(*spent) + sum(estimate_of([p], price).cost for p in batch) > most_cost
            ):
                for packet in batch:
                    give_back(layout, packet.id)
                break
            for packet, came in zip(
                batch, pool.map(lambda p: _reply_of(layout, answer, p), batch), strict=True
            ):
                if isinstance(came, ModelError):
                    failed[packet.id] = str(came)
                    give_back(layout, packet.id)
                    note(f"{packet.id}: {came}")
                    continue
                spent[0] += came.tokens_in
                spent[1] += came.tokens_out
                done = settle(layout, db, packet, came, today=today, second=second)
                settled.append(done)
                note(
                    f"{packet.id}: {done.state}, {len(done.admitted)} claims entered, {len(done.rejected)} returned"
                )
    left = sum(1 for _ in _open(layout, task))
    return Expense(
        tuple(settled),
        spent[0],
        spent[1],
        price.of(*spent),
        tuple(f"{k}: {v}" for k, v in failed.items()),
        left,
    )


def _open(layout: store.Layout, task: str) -> Iterator[Packet]:
    for packet in queued(layout):
        done = answers_to(layout, packet.id)
        if (not task or packet.task == task) and (done is None or done.state == "returned"):
            yield packet


def _leased(
    layout: store.Layout,
    most: int,
    *,
    holder: str,
    clock: Callable[[], float],
    task: str,
    without: dict[str, str],
) -> Iterator[Packet]:
    """Up to `most` packets, each under a lease of its own name so that one worker may hold several."""
    for n in range(most):
        packet = take(layout, holder=f"{holder}#{n}", now=clock(), task=task, without=without)
        if packet is None:
            return
        yield packet


def _reply_of(layout: store.Layout, answer: Answerer, packet: Packet) -> ReplyAttempt | ModelError:
    before = answers_to(layout, packet.id)
    returned = before.attempts[-1].reasons if before and before.attempts else ()
    try:
        return answer(packet, returned)
    except ModelError as error:
        return error
