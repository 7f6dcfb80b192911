"""Parts into files and out again: merges what is shared, and keeps a receipt of what kb wrote. Refuses to touch anything else."""

import difflib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kb import KbError, store
from kb.harness.parts import Part, Setting, TextBlock, WholeFile
from kb.store import bytes_of, from_json, json_of

# Beside the harness's own files and committed with them: who clones the repository can take everything out again.
RECEIPT = ".agents/kb.json"
_OPEN, _CLOSE = "<!-- kb:agents -->\n", "<!-- /kb:agents -->\n"
Entry = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after, None where there is none, and its entry in the receipt from then on. `foreign` says why it is left alone."""

    path: str
    before: str | None
    after: str | None
    foreign: str = ""
    executable: bool = False
    entry: Entry | None = None

    @property
    def state(self) -> str:
        if self.foreign:
            return "foreign"
        if self.before == self.after:
            return "current"
        return "missing" if self.before is None else "removed" if self.after is None else "differs"

    def diff(self) -> str:
        before, after = (
            (text or "").splitlines(keepends=True) for text in (self.before, self.after)
        )
        return "".join(difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}"))


def receipt_at(root: Path) -> dict[str, Entry]:
    """Of each file its digest as kb left it, and what stood there before; None where kb began it."""
    try:
        return from_json(bytes_of(root / RECEIPT), dict[str, Entry])
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise KbError(
            f"{RECEIPT}: {error}; restore it, or remove it and take the files out by hand"
        ) from error


def changes(root: Path, parts: Iterable[Part], *, out: bool = False) -> list[FileChange]:
    """What putting the parts in, or taking them out, changes. The same part twice is one."""
    receipt = receipt_at(root)
    by_path: dict[str, list[Part]] = {}
    for part in parts:
        if part not in by_path.setdefault(part.path, []):
            by_path[part.path].append(part)
    return [
        _change(root, path, group, receipt.get(path), out=out)
        for path, group in sorted(by_path.items())
    ]


def apply(root: Path, planned: Iterable[FileChange]) -> None:
    """Write what is planned, the receipt with it."""
    receipt = receipt_at(root)
    for change in planned:
        if change.foreign:
            continue
        _write(root / change.path, change.after, change.before, root=root)
        if change.executable:
            (root / change.path).chmod(0o755)
        receipt[change.path] = change.entry
    kept = {path: entry for path, entry in receipt.items() if entry}
    _write(
        root / RECEIPT,
        json.dumps(kept, indent=1, sort_keys=True) + "\n" if kept else None,
        "",
        root=root,
    )


def _write(file: Path, after: str | None, before: str | None, *, root: Path) -> None:
    """A file as it shall be: written where it changes, taken away with the folders that it leaves empty where it shall not be."""
    if after is not None and after != before:
        store.write(file, after)
    elif after is None:
        file.unlink(missing_ok=True)
        folder = file.parent
        while folder != root and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def _change(
    root: Path, path: str, parts: list[Part], entry: Entry | None, *, out: bool
) -> FileChange:
    file = root / path
    if not Path(os.path.realpath(file)).is_relative_to(root.resolve()):
        return FileChange(path, None, None, "leads out of this folder")
    try:
        before = bytes_of(file).decode() if file.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        return FileChange(path, None, None, f"cannot be read: {error}")
    if isinstance(parts[0], WholeFile):
        return _whole(parts[0], before, (entry or {}).get("digest"), out=out)
    merged = _with_block if isinstance(parts[0], TextBlock) else _with_settings
    first = entry["before"] if entry else before
    try:
        # Where nothing but our parts came in, the very bytes come back.
        untouched = entry and merged(first, parts, path) == before
        after = first if out and untouched else merged(before, parts, path, out=out)
    except (ValueError, TOMLKitError, TypeError) as error:
        return FileChange(path, before, before, str(error))
    if out:
        is_ours = first is None and (after or "").strip() in ("", "{}")
        return FileChange(path, before, None if is_ours else after)
    if after != before:
        entry = {"before": first, "digest": store.digest_of(after.encode())}
    return FileChange(path, before, after, entry=entry)


def _whole(part: WholeFile, before: str | None, digest: str | None, *, out: bool) -> FileChange:
    """Ours as long as it is as we left it, or as we would write it."""
    if before not in (None, part.text) and digest != store.digest_of(before.encode()):
        why = "was changed by hand" if digest else "stands there already and is not kb's"
        return FileChange(part.path, before, before, why)
    if out:
        return FileChange(part.path, before, None if digest else before)
    entry = {"before": None, "digest": store.digest_of(part.text.encode())}
    return FileChange(part.path, before, part.text, executable=part.executable, entry=entry)


def _with_block(before: str | None, parts: list[TextBlock], path: str, *, out: bool = False) -> str:
    text = before or ""
    start, end = text.find(_OPEN), text.find(_CLOSE)
    if (start < 0) != (end < 0) or end < start:
        raise ValueError("a mark of the kb:agents block is missing")
    block = "" if out else _OPEN + "".join(part.text for part in parts) + _CLOSE
    if start >= 0:
        # The blank line before the block came with it.
        lead = start - 1 if out and text[:start].endswith("\n\n") else start
        return text[:lead] + block + text[end + len(_CLOSE) :]
    gap = "" if out or not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + block


def _with_settings(
    before: str | None, parts: list[Setting], path: str, *, out: bool = False
) -> str:
    read = tomlkit.parse if path.endswith(".toml") else lambda text: json_of(text or "{}")
    document = read(before or "")
    if not isinstance(document, dict):
        raise ValueError("holds no table of settings")
    for part in parts:
        _put(document, part, out=out)
    if document == read(before or ""):
        return before or ""
    if path.endswith(".toml"):
        return tomlkit.dumps(document)
    line = next((line for line in (before or "").splitlines() if line[:1] in " \t"), "  ")
    indent = line[: len(line) - len(line.lstrip())]
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def _put(document: dict, part: Setting, *, out: bool) -> None:
    """Put one value in, or take it out with the tables that it leaves empty."""
    tables = [document]
    for key in part.keys[:-1]:
        tables.append(tables[-1].setdefault(key, {}))
    last, value = part.keys[-1], part.value
    stands = tables[-1].get(last)
    if part.listed:
        others = [item for item in stands or [] if item != value]
        value = others if out else stands if value in (stands or []) else [*others, value]
    elif stands not in (None, value):
        if not out:
            raise ValueError(f"another {'.'.join(part.keys)} stands there")
        value = stands
    elif out:
        value = None
    if value != stands:
        tables[-1][last] = value or {}
    for table, key in reversed(list(zip(tables, part.keys, strict=True))):
        if not table.get(key, True):
            del table[key]
