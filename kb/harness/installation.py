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


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None where there is none. `foreign` says why it is left alone."""

    path: str
    before: str | None
    after: str | None
    executable: bool = False
    foreign: str = ""
    own: bool = False
    out: bool = False

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


def receipt_at(root: Path) -> dict[str, dict[str, str | None]]:
    """Of each file its digest as kb left it, and what stood there before; None where kb began it."""
    try:
        return from_json(bytes_of(root / RECEIPT), dict[str, dict[str, str | None]])
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
    return [_change(root, path, group, receipt, out=out) for path, group in sorted(by_path.items())]


def apply(root: Path, planned: Iterable[FileChange]) -> None:
    """Write what is planned, the receipt with it."""
    receipt = receipt_at(root)
    for change in planned:
        if change.foreign:
            continue
        if change.after is None:
            (root / change.path).unlink(missing_ok=True)
            receipt.pop(change.path, None)
            _drop_empty(root, (root / change.path).parent)
            continue
        if change.before != change.after:
            store.write(root / change.path, change.after)
        if change.executable:
            (root / change.path).chmod(0o755)
        old = receipt.get(change.path, {"before": None if change.own else change.before})
        if change.before != change.after or change.own:
            receipt[change.path] = {**old, "digest": store.digest_of(change.after.encode())}
        if change.out and not change.own:
            receipt.pop(change.path, None)
    if receipt:
        store.write(root / RECEIPT, json.dumps(receipt, indent=1, sort_keys=True) + "\n")
    else:
        (root / RECEIPT).unlink(missing_ok=True)
        _drop_empty(root, (root / RECEIPT).parent)


def _drop_empty(root: Path, folder: Path) -> None:
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _change(
    root: Path,
    path: str,
    parts: list[Part],
    receipt: dict[str, dict[str, str | None]],
    *,
    out: bool,
) -> FileChange:
    file = root / path
    if not Path(os.path.realpath(file)).is_relative_to(root.resolve()):
        return FileChange(path, None, None, foreign="leads out of this folder")
    try:
        before = bytes_of(file).decode() if file.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        return FileChange(path, None, None, foreign=f"cannot be read: {error}")
    first = parts[0]
    if isinstance(first, WholeFile):
        return _whole(first, before, receipt.get(path, {}).get("digest"), out=out)
    merge = _with_block if isinstance(first, TextBlock) else _with_settings
    try:
        after = merge(before, parts, path, out=out)
    except (ValueError, TOMLKitError, TypeError) as error:
        return FileChange(path, before, before, foreign=str(error))
    if not out:
        return FileChange(path, before, after)
    first_text = receipt.get(path, {}).get("before")
    empty = not after.strip() or after.strip() == "{}"
    if empty and (before is None or path in receipt and first_text is None):
        return FileChange(path, before, None, out=True)
    # Where nothing but our parts came in, the very bytes come back.
    return FileChange(
        path,
        before,
        first_text if first_text and _same(first_text, after, path) else after,
        out=True,
    )


def _same(one: str, other: str, path: str) -> bool:
    if path.endswith(".toml"):
        return tomlkit.parse(one).unwrap() == tomlkit.parse(other).unwrap()
    return (
        json_of(one) == json_of(other) if path.endswith(".json") else one.strip() == other.strip()
    )


def _whole(part: WholeFile, before: str | None, digest: str | None, *, out: bool) -> FileChange:
    """Ours as long as it is as we left it, or as we would write it."""
    ours = before is None or before == part.text or digest == store.digest_of(before.encode())
    if not ours:
        return FileChange(
            part.path,
            before,
            before,
            foreign="was changed by hand" if digest else "stands there already and is not kb's",
        )
    if out and digest is None:
        return FileChange(part.path, before, before)
    return FileChange(part.path, before, None if out else part.text, part.executable, own=True)


def _with_block(before: str | None, parts: list[Part], path: str, *, out: bool) -> str:
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


def _with_settings(before: str | None, parts: list[Part], path: str, *, out: bool) -> str:
    toml = path.endswith(".toml")
    document = tomlkit.parse(before or "") if toml else json_of(before or "{}")
    if not isinstance(document, dict):
        raise ValueError("holds no table of settings")
    touched = [_put(document, part, out=out) for part in parts]
    if not any(touched):
        return before or ""
    return (
        tomlkit.dumps(document)
        if toml
        else json.dumps(document, indent=_indent(before), ensure_ascii=False) + "\n"
    )


def _indent(text: str | None) -> int | str:
    line = next((line for line in (text or "").splitlines() if line[:1] in " \t"), "  ")
    return line[: len(line) - len(line.lstrip())]


def _put(document: dict, part: Setting, *, out: bool) -> bool:
    """Put one value in, or take it out with the tables that it leaves empty. Says whether anything changed."""
    tables = [document]
    for key in part.keys[:-1]:
        if key not in tables[-1] and out:
            return False
        tables.append(tables[-1].setdefault(key, {}))
    last = part.keys[-1]
    if part.listed:
        items = tables[-1].get(last, [])
        if (part.value in items) != out:
            return False
        tables[-1][last] = [i for i in items if i != part.value] if out else [*items, part.value]
    elif out:
        if tables[-1].get(last) != part.value:
            return False
        del tables[-1][last]
    elif last in tables[-1]:
        if tables[-1][last] != part.value:
            raise ValueError(f"another {'.'.join(part.keys)} stands there")
        return False
    else:
        tables[-1][last] = part.value
    for table, key in reversed(list(zip(tables, part.keys, strict=True))):
        if out and not table.get(key, True):
            del table[key]
    return True
