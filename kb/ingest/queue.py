"""Packets on disk and who works on them: `.kb/packets/` holds what is open, `prompts/replies/` what was ever answered.

A packet is leased for a time; one whose worker died is given out again. All that changes here is changed under one lock, so that
several workers, on several machines where they share the folder, never answer one packet twice.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kb import KbError, store
from kb.ingest.packets import ATTEMPTS, Packet

LEASE_S = 900.0
# States of a packet that a person decides.
WAITS = ("undecided", "review")


class ReplyAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply as it came: by whom, what it cost, and why it did not enter (nothing: it did); `undecided` where rules only doubt it,
    `unread` where it was no reply in form.
    """

    by: str
    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    reasons: tuple[str, ...] = ()
    undecided: bool = False
    unread: bool = False


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """All replies to one packet, oldest first."""

    packet: str
    task: str
    subject: str
    attempts: tuple[ReplyAttempt, ...]

    @property
    def entered(self) -> bool:
        return bool(self.attempts) and not self.attempts[-1].reasons

    @property
    def state(self) -> str:
        """answered, undecided (a second reader or a person decides), returned (to be asked once more) or review (a person decides). What
        could not be read takes nothing from how often a reply is returned with reasons, and is asked for as often.
        """
        if self.entered:
            return "answered"
        if self.attempts[-1].undecided:
            return "undecided"
        unread = sum(attempt.unread for attempt in self.attempts)
        often = max(unread, len(self.attempts) - unread)
        return "review" if often >= ATTEMPTS else "returned"


@dataclass(frozen=True, slots=True)
class Lease:
    holder: str
    until: float


def _file(layout: store.Layout, name: str, kind: str = "") -> Path:
    """Where a packet stands on the queue, its lease (`lease`), or the replies to it (`replies`)."""
    if not name or not all(c.isalnum() or c == "-" for c in name):
        raise KbError(f"'{name}' is no id of a packet")
    if kind == "replies":
        return layout.prompts / "replies" / f"{name}.json"
    return layout.state / "packets" / f"{name}.{kind or 'json'}"


def offer(layout: store.Layout, packets: Iterable[Packet]) -> tuple[int, int]:
    """Put packets on the queue. Returns how many are open there now of these, and how many were answered before. What waits undecided
    stands there as well, for the reader who settles it.
    """
    wanted = {p.id: p for p in packets}
    with store.lock(layout, "packets"):
        known = ((p, answers_to(layout, p.id)) for p in wanted.values())
        todo = [p for p, answers in known if not (answers and answers.entered)]
        for packet in todo:
            file, data = _file(layout, packet.id), store.to_json(packet)
            if not file.is_file() or store.file_digest(file) != store.digest_of(data):
                store.write(file, data, durable=False)
        count = sum(is_open(layout, p.id) for p in todo)
    return count, len(wanted) - count


def is_open(layout: store.Layout, name: str) -> bool:
    """Whether a packet is to be asked: no recorded reply settles it, or waits for somebody to decide."""
    answers = answers_to(layout, name)
    return answers is None or answers.state == "returned"


def queued(layout: store.Layout, *, task: str = "") -> Iterator[Packet]:
    """Every packet on the queue, or of one task, by id."""
    for file in sorted((layout.state / "packets").glob("*.json")):
        packet = packet_at(layout, file.stem)
        if task in ("", packet.task):
            yield packet


def packet_at(layout: store.Layout, name: str) -> Packet:
    """A packet of the queue. Raises KbError where there is none of that id."""
    try:
        return store.from_json(store.bytes_of(_file(layout, name)), Packet)
    except FileNotFoundError as error:
        raise KbError(
            f"no packet '{name}' is open; `kb packet list` shows those that are"
        ) from error
    except (OSError, ValueError) as error:
        raise KbError(
            f".kb/packets/{name}.json: is damaged ({error}); remove it and run `kb ingest` again"
        ) from error


def take(
    layout: store.Layout,
    *,
    holder: str,
    now: float,
    task: str = "",
    without: Collection[str] = (),
) -> Packet | None:
    """Lease the next open packet to `holder`; None where nothing is open that nobody works on. A holder's own packet comes back first, save to one
    without a name, who may be anybody.

    `task` asks for packets of one task, `without` leaves some out by their ids.
    """
    with store.lock(layout, "packets"):
        free = dict[bool, Packet]()
        for packet in queued(layout, task=task):
            lease = lease_of(layout, packet.id)
            own = lease is not None and lease.holder == holder != ""
            if own or lease is None or lease.until <= now:
                if packet.id not in without and is_open(layout, packet.id):
                    free.setdefault(own, packet)
        chosen = free.get(True) or free.get(False)
        if chosen is not None:
            lease = store.packed(Lease(holder, now + LEASE_S))
            store.write(_file(layout, chosen.id, "lease"), lease, durable=False)
        return chosen


def claimed(layout: store.Layout, name: str, *, holder: str, now: float) -> None:
    """Raise KbError where another worker holds a packet under a name."""
    lease = lease_of(layout, name)
    if lease and lease.holder not in ("", holder) and lease.until > now:
        raise KbError(
            f"packet {name} is leased to {lease.holder}; say --by {lease.holder} if that is you, else take another with `kb packet next`"
        )


def lease_of(layout: store.Layout, name: str) -> Lease | None:
    """The lease of a packet; one that cannot be read, or whose process of this machine has ended, binds nobody."""
    try:
        lease = store.from_json(store.bytes_of(_file(layout, name, "lease")), Lease)
        machine, _, process = lease.holder.partition("#")[0].rpartition(":")
        if machine == os.uname().nodename:
            with suppress(PermissionError):  # Somebody else's process runs as well.
                os.kill(int(process), 0)
        return lease
    except (OSError, ValueError, OverflowError):
        return None


def record(layout: store.Layout, packet: Packet, attempt: ReplyAttempt) -> Answers:
    """Keep a reply, in the place of one that was undecided; the packet leaves the queue where it entered."""
    with store.lock(layout, "packets"):
        before = answers_to(layout, packet.id)
        if before and before.entered:
            return before
        decided = [a for a in before.attempts if not a.undecided] if before else []
        answers = Answers(
            packet=packet.id,
            task=packet.task,
            subject=packet.subject,
            attempts=(*decided, attempt),
        )
        store.write(_file(layout, packet.id, "replies"), store.to_json(answers, order=None))
        store.remove(_file(layout, packet.id, "lease"))
        if answers.entered:
            store.remove(_file(layout, packet.id))
    return answers


def give_back(layout: store.Layout, name: str) -> None:
    """End a lease without a reply."""
    with store.lock(layout, "packets"):
        store.remove(_file(layout, name, "lease"))


def forget(layout: store.Layout, name: str) -> None:
    """Drop the recorded replies to a packet, so that it is asked anew. Raises KbError where there are none."""
    with store.lock(layout, "packets"):
        if answers_to(layout, name) is None:
            raise KbError(f"no reply to packet '{name}' is recorded")
        store.remove(_file(layout, name, "replies"))


def answers_to(layout: store.Layout, name: str) -> Answers | None:
    """The recorded replies to a packet, or None. Raises KbError at a file that holds none."""
    try:
        return store.from_json(store.bytes_of(_file(layout, name, "replies")), Answers)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise KbError(
            f"prompts/replies/{name}.json: no recorded reply: {error}; restore or remove it"
        ) from error


def all_answers(layout: store.Layout) -> Iterator[Answers]:
    """The recorded replies to every packet."""
    for file in sorted((layout.prompts / "replies").glob("*.json")):
        yield from filter(None, [answers_to(layout, file.stem)])
