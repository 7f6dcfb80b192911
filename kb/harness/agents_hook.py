"""kb agents hook [serve]: what a harness calls at its events: one JSON line in, its answer out."""

import fnmatch
import json
from dataclasses import dataclass

from kb import KbError, store
from kb.harness.agents_watch import WATCH_NAME
from kb.store import json_of
from kb.text import command_of
from kb.verbs import Caller, Result, argument, text_result

FORMATS = ("text",)

EVENTS = ("stop", "session-start", "edit", "before", "after")
# What pi passes on to its agent; other harnesses cut later.
_LARGEST = 8000
# Lines of a patch that name a file.
_PATCHED = ("*** Update File", "*** Add File", "*** Delete File", "*** Move to")
# What nobody edits by hand, whatever the target says.
_KEPT = ("sources/*", "indexes/*", ".kb/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """One event."""

    event: str = argument(
        "stop, session-start, edit (before one), or before and after a run of pi",
        choices=EVENTS,
        metavar="EVENT",
    )


def run(request: HookCall, caller: Caller) -> Result:
    try:
        event = json_of(caller.stdin() or b"{}")
    except ValueError as error:
        raise KbError(f"stdin: not JSON: {error}") from error
    file = caller.layout.state / WATCH_NAME
    target = store.bytes_of(file).decode("utf-8", "replace").strip() if file.is_file() else ""
    event = event if isinstance(event, dict) else {}
    if request.event == "stop":
        return text_result(_blocked(_reasons(caller, target)) if target else "")
    if request.event == "edit":
        return text_result(_edit(caller, event, target))
    if request.event == "session-start":
        text = caller.call("load", {"step": "resume", "target": target}).text
        output = {"hookEventName": "SessionStart", "additionalContext": text}
        return text_result(json.dumps({"hookSpecificOutput": output}, ensure_ascii=False))
    return text_result(_pi(caller, event, target, before=request.event == "before"))


def _blocked(reasons: list[str]) -> str:
    if not reasons:
        return ""
    reason = (
        "The loop is not done:\n"
        + "\n".join(f"- {r}" for r in reasons[:12])
        + "\n`kb agents watch --off` ends it by a person's will."
    )
    return json.dumps({"decision": "block", "reason": reason}, ensure_ascii=False)


def _reasons(caller: Caller, target: str) -> list[str]:
    """Why the loop goes on: runs in flight, pages that do not pass, and what `stop-check` says."""
    flying = caller.call("status", {"target": target}).value["targets"][0].in_flight
    reasons = [
        f"{path}: is in flight; `{command_of('experiment close', path)}` files it"
        for path in flying
    ]
    folder = caller.layout.page(f"experiments/{target}")
    if (caller.layout.root / folder).is_dir():
        errors = caller.call("lint", {"paths": [folder]}).value.errors
        reasons += [f"`{command_of('lint', folder)}` has {errors} errors"] if errors else []
    return reasons + list(caller.call("stop-check", {"target": target}).value["reasons"])


def _edit(caller: Caller, event: dict, target: str) -> str:
    """Refuses an edit of what is captured, compiled, filed, or protected by the target."""
    from kb.experiments.targets import target_named

    protected = target_named(caller.layout, target).protected if target else ()
    root = caller.layout.root.resolve()
    for path in _edited(event):
        full = caller.folder / path
        real = full.resolve()
        inside = real.relative_to(root).as_posix() if real.is_relative_to(root) else ""
        if any(fnmatch.fnmatch(inside, kept) for kept in _KEPT):
            why = "is captured or compiled; kb writes it"
        elif _sealed(caller.layout, inside):
            why = "is filed; a correction is a new page or a dated note by `kb experiment close`"
        elif any(_under(full.as_posix(), pattern) for pattern in protected):
            why = f"is protected by the target {target}: what measures is not changed by what is measured"
        else:
            continue
        reason = f"{path} {why}"
        output = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        output["permissionDecisionReason"] = reason
        answer = {"decision": "block", "reason": reason, "hookSpecificOutput": output}
        return json.dumps(answer, ensure_ascii=False)
    return ""


def _under(path: str, pattern: str) -> bool:
    return fnmatch.fnmatch(path, f"*/{pattern}") or fnmatch.fnmatch(
        path, f"*/{pattern.rstrip('/')}/*"
    )


def _sealed(layout: store.Layout, path: str) -> bool:
    if not path.startswith(layout.page("experiments/")) or not (layout.root / path).is_file():
        return False
    from kb.page import read

    return bool(read(path, store.read_bytes(layout, path)).field("sealed"))


def _edited(event: dict) -> list[str]:
    """Paths that a tool call of any harness is about to change."""
    values = event.get("tool_input")
    texts = values.items() if isinstance(values, dict) else ()
    texts = {key: text for key, text in texts if isinstance(text, str)}
    named = [
        texts[k] for k in ("file_path", "absolute_path", "notebook_path", "path") if k in texts
    ]
    patch = next((texts[k] for k in ("command", "input", "patch") if k in texts), "")
    patched = (line.partition(": ") for line in patch.splitlines())
    return named + [path.strip() for mark, _, path in patched if mark in _PATCHED]


def _pi(caller: Caller, event: dict, target: str, *, before: bool) -> str:
    """Steering for pi: the slice of the next hypothesis before a run; after one, what the gate says of a repeat."""
    run = event.get("last_run" if before else "run_entry")
    description = str(run.get("description", ""))[:2000] if isinstance(run, dict) else ""
    text = ""
    if before:
        values = {"step": "hypothesis", "target": target, "query": description, "budget": 1800}
        text = caller.call("load", values).text
    elif description:
        values = {"proposal": "-", "target": target}
        text = caller.call("check", values, text=description).text
    return text.encode()[:_LARGEST].decode("utf-8", "ignore")
