"""Claims on pages: managed blocks below the headings that claims go under, made anew from what is on file. People's text stays.

A page's block is a function of the claims on file, so filing twice changes nothing and withdrawing a source leaves no trace of it but
a callout that says how much rested on it.
"""

import json
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping

from kb import KbError, grouped, store
from kb.claims import (
    Claim,
    Conflict,
    claims_in,
    conflicts,
    readable_claims,
    withdraw,
)
from kb.ingest.tasks import Draft
from kb.page import newlines_of, read, slug_of
from kb.page.edit import with_block, without_block
from kb.schema import TYPES, type_of

BLOCK = "claims"
DISPUTED, WITHDRAWN = "disputed", "withdrawn"


def pages_with(
    layout: store.Layout,
    claims: Iterable[Claim],
    pages: Iterable[str],
    *,
    drafts: Iterable[Draft] = (),
    titles: Mapping[str, str],
    today: str,
) -> dict[str, bytes]:
    """Those `pages`, and those whose claims are disputed, or were, as they shall be with the claims on file; only what differs from the disk.

    A page that is not there is made where a draft names it. Reads all, writes nothing.
    """
    claims = tuple(claims)
    by_page = grouped((claim.page, claim) for claim in claims)
    named = {d.path: d for d in drafts}
    disputed, home = _disputed(conflicts(claims)), layout.page("")
    gone, _ = readable_claims(layout, gone=True)
    wanted = dict[str, bytes]()
    for path in sorted({*pages, *_disputed(conflicts((*claims, *gone)))}):
        file = layout.root / path
        have = store.bytes_of(file) if file.is_file() else b""
        if not have and path not in named:
            continue  # A person took the page away; its claims stay on file and show nowhere.
        data = have or _skeleton(named[path], today=today)
        data = _filled(path, data, by_page.get(path, []), titles, home)
        disputes = [_dispute(c, path, titles, home) for c in disputed.get(path, ())]
        data = _with_callout(path, data, DISPUTED, "Sources disagree", disputes)
        lost = Counter(_escaped(c.source) for c in gone if c.page == path)
        data = _with_callout(path, data, WITHDRAWN, "Withdrawn", [f"claims that rested on {s}: {n}" for s, n in lost.items()])  # fmt: skip
        if data != have:
            wanted[path] = data
    return wanted


def withdrawn(
    layout: store.Layout, source: str, *, titles: Mapping[str, str], today: str
) -> tuple[int, tuple[str, ...]]:
    """Take the claims of a source off file and off the pages. Returns how many they were, and the pages that this changed."""
    disputed = _disputed(conflicts(claims_in(layout)))
    gone = withdraw(layout, source)
    pages = {*(c.page for c in gone), *disputed} if gone else ()
    changed = pages_with(layout, claims_in(layout), pages, titles=titles, today=today)
    return len(gone), file_pages(layout, changed)


def refiled(layout: store.Layout, *, titles: Mapping[str, str]) -> tuple[str, ...]:
    """File anew all pages that claims rest on, where sources went or came back, under another path too. Returns the pages that this
    changed: none while a file of claims cannot be read, as what it holds would be lost.
    """
    with store.lock(layout, "claims"):
        (held, damaged), (gone, _) = readable_claims(layout), readable_claims(layout, gone=True)
        pages = {c.page for c in (*held, *gone)}
        return (
            ()
            if damaged
            else file_pages(layout, pages_with(layout, held, pages, titles=titles, today=""))
        )


def _skeleton(draft: Draft, *, today: str) -> bytes:
    front: dict[str, object] = {
        "title": draft.title,
        "type": type_of(draft.type),
        "created": today,
        "updated": today,
        "origin": "ingest",
    }
    if type_of(draft.type) == "hypothesis":
        front["status"] = "open"
    for name in ("aliases", "levers"):
        if getattr(draft, name):
            front[name] = list(getattr(draft, name))
    # JSON is YAML: no word of a draft can become another field.
    head = "".join(
        f"{name}: {value if name in _PLAIN else json.dumps(value, ensure_ascii=False)}\n"
        for name, value in front.items()
    )
    return f"---\n{head}---\n\n# {_escaped(draft.title)}\n".encode()


# Fields that code fills with words of its own vocabulary and days.
_PLAIN = ("type", "created", "updated", "origin", "status")


def _filled(
    path: str, data: bytes, claims: list[Claim], titles: Mapping[str, str], home: str
) -> bytes:
    sections = grouped((claim.section, claim) for claim in claims)
    blocks = {f"{BLOCK}-{slug_of(name)}": (name, held) for name, held in sections.items()}
    for name in [b[0] for b in read(path, data).blocks if b[0].startswith(f"{BLOCK}-")]:
        if name not in blocks:
            data = with_block(path, data, name=name, content="")
    order = {
        s: n for n, s in enumerate(TYPES.get(read(path, data).type, TYPES["concept"]).sections)
    }
    for name, (section, held) in sorted(
        blocks.items(), key=lambda item: (order.get(item[1][0], len(order)), item[0])
    ):
        if all(b[0] != name for b in read(path, data).blocks):
            data = _with_place(path, data, section, name)
        data = with_block(
            path, data, name=name, content="\n".join(_bullet(c, path, titles, home) for c in held)
        )
    return data


def _with_place(path: str, data: bytes, section: str, name: str) -> bytes:
    """The page with empty markers at the end of the section of that heading, which is added where there is none."""
    page = read(path, data)
    newline = newlines_of(data)
    markers = f"<!-- kb:auto {name} -->{newline}<!-- /kb:auto -->{newline}"
    section_there = next(
        (s for s in page.sections if s.level == 2 and s.title.casefold() == section.casefold()),
        None,
    )
    if section_there is None:
        tail = b"" if not data or data.endswith(b"\n") else newline.encode()
        return data + tail + f"{newline}## {section}{newline}{newline}{markers}".encode()
    lines = data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    end = section_there.end - 1
    while end > section_there.start and not lines[end - 1].strip():
        end -= 1
    ended = "" if lines[end - 1].endswith(("\n", "\r")) else newline
    lines[end:end] = [f"{ended}{newline}{markers}"]
    return "".join(lines).encode("utf-8", "surrogateescape")


def _bullet(claim: Claim, path: str, titles: Mapping[str, str], home: str) -> str:
    links = "".join(
        f", [{_link_text(titles.get(p.partition('#')[0], p))}]({_relative(p, path)})"
        for p in claim.links
        if p != claim.source
    )
    return f"- {_escaped(claim.claim)} ({_cited(claim, path, titles, home)}{links})\n  > “{_escaped(claim.quote)}”"


def _cited(claim: Claim, path: str, titles: Mapping[str, str], home: str) -> str:
    """The source of a claim as a link to its page, or to its capture where it has none, with the characters that it rests on."""
    page = claim.source if claim.source.endswith(".md") else f"{home}{claim.source}.md"
    there = page if page in titles else f"{claim.source}/meta.json"
    return f"[{_link_text(titles.get(page, claim.source.removeprefix('sources/')))}]({_relative(there, path)}), characters {claim.start} to {claim.end}"


def _relative(target: str, path: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(path))


def _link_text(title: str) -> str:
    return title.replace("[", "(").replace("]", ")")


def _escaped(text: str) -> str:
    """Text that markdown shows as it is: a quote holds no markup of its own, and no marker that would end its block."""
    return "".join(f"\\{c}" if c in "\\*_[]<>`|" else c for c in text)


def _disputed(conflicts: Iterable[Conflict]) -> dict[str, list[Conflict]]:
    return grouped((page, c) for c in conflicts for page in {c.first.page, c.second.page})


def _dispute(conflict: Conflict, path: str, titles: Mapping[str, str], home: str) -> str:
    q = conflict.first.quantity
    return f"{_escaped(q.subject)}, {_escaped(q.quantity)}: " + " against ".join(
        f"{c.quantity.value:g} {_escaped(c.quantity.unit)} ({_cited(c, path, titles, home)})"
        for c in (conflict.first, conflict.second)
    )


def _with_callout(path: str, data: bytes, name: str, title: str, lines: list[str]) -> bytes:
    """The page with a managed callout of these lines, or without it where there are none."""
    if not lines and all(b[0] != name for b in read(path, data).blocks):
        return data
    if lines:
        content = "\n".join([f"> [!warning] {title}", *(f"> - {line}" for line in lines)])
        return with_block(path, data, name=name, content=content)
    return without_block(path, data, name=name)


def file_pages(layout: store.Layout, pages: Mapping[str, bytes]) -> tuple[str, ...]:
    """Write pages, each whole. Returns their paths. Raises KbError at a path outside the wiki."""
    for path in pages:
        if not layout.is_page(path):
            raise KbError(f"{path}: stands outside {layout.config.wiki}/; nothing was written")
    for path, data in sorted(pages.items()):
        store.write(layout.root / path, data)
    return tuple(sorted(pages))
