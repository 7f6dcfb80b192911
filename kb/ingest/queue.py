"""Packets on disk and who works on them: `.kb/packets/` holds what is open, `prompts/replies/` what was ever answered.

A packet is leased for a time; one whose worker died is given out again. All that changes here is changed under one lock, so that
several workers, on several machines where they share the folder, never answer one packet twice.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from kb import KbError, store
from kb.ingest.packets import ATTEMPTS, Packet

LEASE_S = 900.0
# States of a packet that a person decides.
WAITS = ("undecided", "review")


class ReplyAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply as it came: by whom, what it cost, and why it did not enter (nothing: it did); `undecided` where rules only doubt it."""

    by: str
    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    reasons: tuple[str, ...] = ()
    undecided: bool = False


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
        """answered, undecided (a second reader or a person decides), returned (to be asked once more) or review (a person decides)."""
        if self.entered:
            return "answered"
        if self.attempts[-1].undecided:
            return "undecided"
        return "review" if len(self.attempts) >= ATTEMPTS else "returned"


@dataclass(frozen=True, slots=True)
class Lease:
    holder: str
    until: float


def offer(layout: store.Layout, packets: Iterable[Packet]) -> tuple[int, int]:
    """Put packets on the queue. Returns how many are open there now of these, and how many were answered before."""
    wanted = {p.id: p for p in packets}
    with store.lock(layout, "packets"):
        open_now = 0
        for packet in wanted.values():
            done = answers_to(layout, packet.id)
            if done and done.state != "returned":
                continue
            open_now += 1
            file = _file(layout, packet.id)
            data = store.to_json(packet)
            if not file.is_file() or store.file_digest(file) != store.digest_of(data):
                store.write(file, data, durable=False)
    return open_now, len(wanted) - open_now


def queued(layout: store.Layout) -> Iterator[Packet]:
    """Every packet on the queue, by id."""
    folder = layout.state / "packets"
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        yield packet_at(layout, file.stem)


def packet_at(layout: store.Layout, name: str) -> Packet:
    """A packet of the queue. Raises KbError where there is none of that id."""
    file = _file(layout, name)
    try:
        return store.from_json(store.bytes_of(file), Packet)
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
    lease_s: float = LEASE_S,
    task: str = "",
    without: Collection[str] = (),
) -> Packet | None:
    """Lease the next open packet to `holder`; None where nothing is open that nobody works on. A holder's own packet comes back first.

    `task` asks for packets of one task, `without` leaves some out by their ids. A packet that waits for a person is not given out.
    """
    with store.lock(layout, "packets"):
        free = None
        for packet in queued(layout):
            done = answers_to(layout, packet.id)
            if (
                task
                and packet.task != task
                or packet.id in without
                or done
                and done.state != "returned"
            ):
                continue
            lease = lease_of(layout, packet.id)
            if lease and lease.holder == holder:
                free = packet
                break
            if free is None and (lease is None or lease.until <= now):
                free = packet
        if free is not None:
            _put_lease(layout, free.id, Lease(holder, now + lease_s))
        return free


def claimed(layout: store.Layout, name: str, *, holder: str, now: float) -> None:
    """Raise KbError where another worker holds a packet."""
    lease = lease_of(layout, name)
    if lease and lease.holder != holder and lease.until > now:
        raise KbError(
            f"packet {name} is leased to {lease.holder}; wait for it, or take another with `kb packet next`"
        )


def record(layout: store.Layout, packet: Packet, attempt: ReplyAttempt) -> Answers:
    """Keep a reply; the packet leaves the queue where it entered or was asked often enough."""
    with store.lock(layout, "packets"):
        before = answers_to(layout, packet.id)
        if before and before.entered:
            return before
        answers = Answers(
            packet=packet.id,
            task=packet.task,
            subject=packet.subject,
            attempts=(
                *(a for a in (before.attempts if before else ()) if not a.undecided),
                attempt,
            ),
        )
        store.write(
            _replies(layout, packet.id),
            store.to_json(answers, order=None),
        )
        store.remove(_lease(layout, packet.id))
        if answers.state == "answered":
            store.remove(_file(layout, packet.id))
    return answers


def give_back(layout: store.Layout, name: str) -> None:
    """End a lease without a reply."""
    with store.lock(layout, "packets"):
        store.remove(_lease(layout, name))


def forget(layout: store.Layout, name: str) -> None:
    """Drop the recorded replies to a packet, so that it is asked anew. Raises KbError where there are none."""
    with store.lock(layout, "packets"):
        if answers_to(layout, name) is None:
            raise KbError(f"no reply to packet '{name}' is recorded")
        store.remove(_replies(layout, name))


def answers_to(layout: store.Layout, name: str) -> Answers | None:
    """The recorded replies to a packet, or None. Raises KbError at a file that holds none."""
    file = _replies(layout, name)
    try:
        return store.from_json(store.bytes_of(file), Answers)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise KbError(
            f"prompts/replies/{name}.json: no recorded reply: {error}; restore or remove it"
        ) from error


def all_answers(layout: store.Layout) -> Iterator[Answers]:
    folder = layout.prompts / "replies"
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        answers = answers_to(layout, file.stem)
        if answers:
            yield answers


def lease_of(layout: store.Layout, name: str) -> Lease | None:
    try:
        return store.from_json(store.bytes_of(_lease(layout, name)), Lease)
    except (OSError, ValueError):
        return None  # A lease that cannot be read binds nobody.


def _put_lease(layout: store.Layout, name: str, lease: Lease) -> None:
    store.write(_lease(layout, name), store.packed(lease), durable=False)


def _checked(name: str) -> str:
    if not name or not all(c.isalnum() or c == "-" for c in name):
        raise KbError(f"'{name}' is no id of a packet")
    return name


def _file(layout: store.Layout, name: str):
    return layout.state / "packets" / f"{_checked(name)}.json"


def _lease(layout: store.Layout, name: str):
    return layout.state / "packets" / f"{_checked(name)}.lease"


def _replies(layout: store.Layout, name: str):
    return layout.prompts / "replies" / f"{_checked(name)}.json"
