"""Edits of a page's bytes that leave every other byte as it was: managed blocks, link destinations, front-matter values.

Refuses to reformat: newlines, indentation, quoting and order stay.
"""

import re

from kb import KbError
from kb.page import newlines_of, read


def with_block(path: str, data: bytes, *, name: str, content: str) -> bytes:
    """The page with the inside of one managed block replaced; appended at the end if the page has none of that name.

    Raises KbError if the markers are broken or if `content` itself holds a marker.
    """
    if "kb:auto" in content:
        raise KbError(
            f"{path}: the text for block '{name}' holds a kb:auto marker of its own; it would break the page"
        )
    page = read(path, data)
    for finding in page.findings:
        if finding.code == "managed-block":
            raise KbError(f"{path}:{finding.line}: {finding.message}; {finding.hint}")
    newline = newlines_of(data)
    inner = content.strip("\n")
    lines = [line + newline for line in inner.split("\n")] if inner else []
    blocks = [b for b in page.blocks if b[0] == name]
    if not blocks:
        tail = "" if not data or data.endswith(b"\n") else newline
        block = [f"<!-- kb:auto {name} -->{newline}", *lines, f"<!-- /kb:auto -->{newline}"]
        return data + (tail + newline + "".join(block)).encode("utf-8")
    raw = data.splitlines(keepends=True)
    _, start, end = blocks[0]
    return b"".join([*raw[:start], *(line.encode("utf-8") for line in lines), *raw[end - 1 :]])


def without_block(path: str, data: bytes, *, name: str) -> bytes:
    """The page without a managed block that it has, and without the blank line before it that nothing behind it needs."""
    data = with_block(path, data, name=name, content="")
    raw = data.splitlines(keepends=True)
    start, end = next((s, e) for n, s, e in read(path, data).blocks if n == name)
    before, behind = raw[: start - 1], raw[end:]
    if not (before and before[-1].strip() or behind and behind[0].strip()):
        del before[-1:]
    return b"".join([*before, *behind])


def with_link(data: bytes, *, line: int, old: str, new: str) -> bytes:
    """The page with every destination `old` on one line (or the lines of its paragraph that follow) written as `new`.

    Only a destination of a markdown link or of a reference definition is touched, never prose that reads the same.
    """
    raw = data.splitlines(keepends=True)
    target = re.escape(old.encode("utf-8"))
    shapes = re.compile(
        rb"(\]\([ \t]*<?)"
        + target
        + rb"(?=>?[ \t]*(?:[\"'(][^\r\n]*)?\))|(^[ ]{0,3}\[[^\]\r\n]+\]:[ \t]*<?)"
        + target
        + rb"(?=>?[ \t]*(?:[\"'(]|[\r\n]|$))",
        re.MULTILINE,
    )
    for position in range(max(0, line - 1), len(raw)):
        mended, count = shapes.subn(lambda m: (m[1] or m[2]) + new.encode("utf-8"), raw[position])
        if count:
            raw[position] = mended
            return b"".join(raw)
        if position > line - 1 and not raw[position].strip():
            break
    return data


def with_definitions(data: bytes, *, old: str, new: str) -> bytes:
    """The page with the reference definitions that lead to `old` leading to `new`."""
    target = re.escape(old.encode("utf-8"))
    return re.sub(
        rb"(?m)(^[ ]{0,3}\[[^\]\r\n]+\]:[ \t]*<?)" + target + rb"(?=>?[ \t]*(?:[\"'(]|[\r\n]|$))",
        lambda m: m[1] + new.encode("utf-8"),
        data,
    )


def with_field(path: str, data: bytes, *, key: str, value: str) -> bytes:
    """The page with one plain front-matter value replaced, or added as the last field; `value` is YAML text on one line.

    Raises KbError if the page has no front matter, or the field spans several lines.
    """
    page = read(path, data)
    if page.body_line == 1:
        raise KbError(f"{path}:1: no front matter to set '{key}' in")
    raw = data.splitlines(keepends=True)
    newline = newlines_of(data).encode()
    entry = f"{key}: {value}".encode() + newline
    line = page.front_lines.get(key)
    if line is None:
        return b"".join([*raw[: page.body_line - 2], entry, *raw[page.body_line - 2 :]])
    following = raw[line] if line < len(raw) else b""
    if following[:1] in (b" ", b"\t") or following.lstrip().startswith(b"- "):
        raise KbError(f"{path}:{line}: '{key}' spans several lines; change it by hand")
    raw[line - 1] = entry
    return b"".join(raw)
