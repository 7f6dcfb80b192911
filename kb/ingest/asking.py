"""Who answers packets: an API, a command, or rules alone; how many at once, at what cost, and what comes of it.

An agent that runs already answers by `kb packet next` and `kb packet answer` and needs nothing of this.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool

from kb import store
from kb.claims import ruling_on
from kb.claims.case import WRAPPED
from kb.claims.names import names_in
from kb.ingest.admission import passages_of
from kb.ingest.material import CHARS_PER_TOKEN
from kb.ingest.packets import Packet
from kb.ingest.queue import ReplyAttempt, answers_to, give_back, is_open, queued, take
from kb.ingest.settling import Settlement, settle_answer
from kb.ingest.tasks import Drafts, form_of
from kb.model import Endpoint, ModelError, Prompt
from kb.model.command import printed_by
from kb.text import counted, number_of, numbers_in, sentences_of, unit_of

Answerer = Callable[[Packet, tuple[str, ...]], ReplyAttempt]

# What a reply costs: the recorded ones to the articles of the shipped knowledge base are .43 of their material, no one shorter than this.
_REPLY_SHARE, _SHORTEST_REPLY = 0.43, 150
# What their second reading costs: the task with its form, and of the material what is shown again and what is answered, by the claims in
# those replies.
_QUESTION, _READING_SHARE, _VERDICT_SHARE = 1700, 1.8, 0.12
# A sentence that gives a named thing one quantity and says no more: the C3 has a bandwidth of 2 TB/s, or has 32 GB of HBM; the bandwidth
# of the C3 is 2 TB/s.
_NAMED, _MEASURE = r"(?:\S*[A-Z\d]\S* ?)+\b", r"(?:(?!(?:and|or|no|of)\b)[A-Za-z-]+ ?){1,4}\b"
_GIVES = re.compile(
    rf"(?:(?:The |An? )?(?P<has>{_NAMED}) has (?:an? (?P<a>{_MEASURE}) of )?|The (?P<the>{_MEASURE}) of (?:the |an? )?(?P<is>{_NAMED}) is )"
    rf"(?P<number>\d[\d.,]*(?: ?[^\s\d]\S*?)?)(?(a)|(?(the)| of (?P<of>{_MEASURE})))\.?"
)
NO_FIGURE, NO_SENTENCE = "without a number and its unit", "of under 4 words or over 40"
NO_SUBJECT = "that say it of what another names"
# What opens a sentence, or follows what leads it, and is told of something named before it.
_THERE = re.compile(
    r"(?:its|their|that|(?:(?:at|in|on|with|for|from|under|below|above|after|before|since|as)\b(?:[^.;:]|\.\d){0,60}?[\s,]|\w+,?\s)?(?:it|they|this|these|those))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, read and written."""

    read: float = 0.0
    written: float = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.read + tokens_out * self.written) / 1e6


@dataclass(frozen=True, slots=True)
class Expense:
    """What a run asked, what it cost, and what it could not ask."""

    settled: tuple[Settlement, ...]
    tokens_in: int
    tokens_out: int
    failed: tuple[str, ...]
    left: int


def estimate_of(
    packets: Iterable[Packet], *, read_again: Iterable[Packet] = ()
) -> tuple[int, int, int]:
    """How many packets there are with those of a second reader of the replies to some, where these hold claims; and the tokens that all
    would take, read and written.
    """
    packets, second = tuple(packets), [p for p in read_again if form_of(p.task) is Drafts]
    quoted = (sum(len(m.text) for m in p.material) / CHARS_PER_TOKEN for p in packets)
    written = sum(max(_SHORTEST_REPLY, int(_REPLY_SHARE * tokens)) for tokens in quoted)
    shown = sum(len(m.text) for p in second for m in p.material) / CHARS_PER_TOKEN
    read = sum(p.tokens for p in packets) + int(_QUESTION * len(second) + _READING_SHARE * shown)
    written += int(_SHORTEST_REPLY * len(second) + _VERDICT_SHARE * shown)
    return len(packets) + len(second), read, written


def by_endpoint(endpoint: Endpoint) -> Answerer:
    from kb.model.http import ask

    def answer(packet: Packet, returned: tuple[str, ...]) -> ReplyAttempt:
        text = packet.text(returned=returned)
        reply = ask(endpoint, Prompt(packet.standing(), text, packet.schema))
        return ReplyAttempt(
            by=reply.model, text=reply.text, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out
        )

    return answer


def by_command(command: str) -> Answerer:
    def answer(packet: Packet, returned: tuple[str, ...]) -> ReplyAttempt:
        prompt = f"{packet.standing()}\n\n{packet.text(returned=returned)}"
        text, name = printed_by(command, prompt), command.split()[0]
        if not text.strip():
            raise ModelError(f"{name}: printed nothing")
        read, written = (int(len(part) / CHARS_PER_TOKEN) for part in (prompt, text))
        return ReplyAttempt(by=name, text=text, tokens_in=read, tokens_out=written)

    return answer


def readings_by_rule(packet: Packet) -> Iterator[tuple[str, str, str]]:
    """Every sentence of a packet's material behind its origin, with the reason why rules leave it; nothing for one that they take."""
    passages = passages_of(packet)
    for origin, text in ((m.origin, m.text) for m in packet.material):
        for sentence in sentences_of(WRAPPED.sub(" ", text)):
            if not any(unit_of(n.unit) for n in numbers_in(sentence)):
                left = NO_FIGURE
            elif not 4 <= len(sentence.split()) <= 40:
                left = NO_SENTENCE
            elif not _names_its_subject(sentence):
                left = NO_SUBJECT
            else:
                left = ruling_on(sentence, sentence, origin=origin, passages=passages).reason
            yield origin, sentence, left


def _names_its_subject(sentence: str) -> bool:
    """Whether a sentence stands alone: it is whole, no row of a table, opens with no figure, and refers to nothing before it."""
    opening = sentence.lstrip('-*+•>_“"( ')
    whole = opening[-1:] in '.!?)”"' and not opening[0].islower() and not opening.startswith("|")
    return whole and not opening[0].isdigit() and not _THERE.match(opening)


def quantity_by_rule(sentence: str) -> dict[str, object]:
    """The quantity that a sentence gives, where it gives one number exactly to one thing that has a name; else nothing."""
    gives = _GIVES.fullmatch(sentence)
    number = number_of(gives["number"]) if gives else None
    if not number or all(n.text not in (gives["has"] or gives["is"]) for n in names_in(sentence)):
        return {}
    return {
        "subject": gives["has"] or gives["is"],
        "quantity": gives["a"] or gives["the"] or gives["of"],
        "value": number.value,
        "unit": number.unit,
    }


def by_rule(packet: Packet, returned: tuple[str, ...] = (), *, home: str = "wiki/") -> ReplyAttempt:
    """What rules can extract: sentences that state a number with a unit, word for word, on the page of their source in the folder `home`."""
    if packet.task != "extract":
        raise ModelError(
            f"{packet.task}: rules alone cannot answer this; say --with api, command or agent"
        )
    claims = [
        {"section": "What it states", "claim": text, "quote": text, "source": origin}
        | ({"quantity": quantity} if (quantity := quantity_by_rule(text)) else {})
        for origin, text, left in readings_by_rule(packet)
        if not left
    ]
    origin, title = packet.material[0].origin, packet.material[0].title
    page = {"path": f"{home}{origin}.md", "type": "source", "title": title[:120], "claims": claims}
    reply = {"drafts": [page] if claims else []}
    return ReplyAttempt(by="rules", text=json.dumps(reply, ensure_ascii=False))


def answered(
    layout: store.Layout,
    db: sqlite3.Connection,
    answer: Answerer,
    *,
    holder: str,
    clock: Callable[[], float],
    today: str,
    price: Price = Price(),
    most_cost: float = -1.0,
    at_once: int = 4,
    task: str = "",
    verify: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> Expense:
    """Work the queue empty: each packet asked, and once more with reasons where it is returned; of one task, where it is named, and where
    it is to `verify` what a second reader is asked of that. Stops asking beyond `most_cost`, unless that is
    below 0.

    A model that fails leaves its packet open for the next run. Filing is done here, by one thread; only the asking is concurrent.
    """
    settled = list[Settlement]()
    failed = dict[str, str]()
    spent = [0, 0]
    tasks = ("verify", task) if verify and task else (task,)

    def reply_to(packet: Packet) -> ReplyAttempt | ModelError:
        before = answers_to(layout, packet.id)
        try:
            return answer(packet, before.attempts[-1].reasons if before else ())
        except ModelError as error:
            return error

    def leased(task: str) -> list[Packet]:
        """Up to `at_once` packets, each under a lease of its own name so that one worker may hold several."""
        names = (f"{holder}#{n}" for n in range(at_once))
        taken = (
            take(layout, holder=name, now=clock(), task=task, without=failed) for name in names
        )
        return [packet for packet in taken if packet]

    # Where kb is interrupted its threads are not waited for: what a command started ends with kb.
    with ThreadPool(at_once) as pool:
        while batch := next(filter(None, map(leased, tasks)), None):
            cost = price.of(*spent) + price.of(*estimate_of(batch)[1:])
            if 0 <= most_cost < cost:
                for packet in batch:
                    give_back(layout, packet.id)
                note(f"the next {len(batch)} would come to {cost:.2f} in money: asked no more")
                break
            for packet, reply in zip(batch, pool.imap(reply_to, batch), strict=True):
                if isinstance(reply, ModelError):
                    failed[packet.id] = str(reply)
                    give_back(layout, packet.id)
                    note(f"{packet.id}: {reply}")
                    continue
                spent[0] += reply.tokens_in
                spent[1] += reply.tokens_out
                done = settle_answer(layout, db, packet, reply, today=today)
                settled.append(done)
                note(
                    f"{packet.id}: {done.state}; {counted(len(done.admitted), 'claims')} entered, {len(done.rejected)} did not"
                )
    left = sum(is_open(layout, p.id) for t in tasks for p in queued(layout, task=t))
    failures = tuple(f"{name}: {reason}" for name, reason in failed.items())
    return Expense(tuple(settled), *spent, failures, left)
