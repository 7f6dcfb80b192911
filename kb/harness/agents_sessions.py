"""kb agents sessions [serve]: read session logs of a harness: steps run and skipped, tokens a step, compactions, wording to mend."""

from dataclasses import dataclass

from kb import KbError, store
from kb.harness.conduct import calls_in, conduct_of, lines_of, page_of, proposals_of
from kb.verbs import Caller, Result, argument, flag

_LARGEST = 200 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSessions:
    """Transcripts of Claude Code, Codex or Gemini CLI."""

    path: str = argument("a transcript (.jsonl or .json), or a folder of them", metavar="PATH")
    write: bool = flag("file it as analyses/DATE-process-retrospective.md")


def run(request: ReadSessions, caller: Caller) -> Result:
    path = caller.file(request.path)
    files = sorted(f for f in path.rglob("*.json*") if f.is_file()) if path.is_dir() else [path]
    sessions = []
    for file in files:
        try:
            data = store.bytes_of(file, most=_LARGEST, declared=True)
        except OSError as error:
            raise KbError(f"{file}: {error.strerror}; name a transcript or a folder") from error
        session = calls_in(data.decode("utf-8", "replace"))
        if session.harness or session.calls:
            sessions.append(session)
    if not sessions:
        raise KbError(f"{request.path}: holds no session of Claude Code, Codex or Gemini CLI")
    conducts = conduct_of(sessions)
    proposals = proposals_of(conducts)
    filed = ""
    if request.write:
        layout = caller.layout
        filed = layout.page(f"analyses/{caller.today}-process-retrospective.md")
        if (layout.root / filed).exists():
            raise KbError(f"{filed}: stands there already; move it or write tomorrow's")
        store.write(layout.root / filed, page_of(conducts, proposals, date=caller.today))
        caller.build()
    value = {"harnesses": conducts, "proposals": proposals, "path": filed}
    lines = [*lines_of(conducts, proposals), *([filed] if filed else [])]
    return Result(value, "\n".join(lines))
