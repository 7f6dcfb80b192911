"""kb research files [bring]: capture files and folders: Markdown, text, HTML, PDF, notebooks."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kb import KbError
from kb.research.jobs import Job, file_of
from kb.verbs import Caller, Result, argument, option
from kb.verbs.research_access import Capturing, capture_result, runner, session_of

_ENDS = frozenset("md markdown txt rst html htm pdf ipynb adoc tex".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchFiles(Capturing):
    """Files, or folders of which every document is taken; links are not followed."""

    paths: tuple[str, ...] = argument("files or folders", metavar="PATH")
    origin: str = option("the address that one file was saved from", metavar="URL")
    title: str = option("title of that one file")
    authors: str = option("authors of that one file")
    version: str = option("its version or date")
    most: int = option("files at most", default=2000, metavar="N")


def run(request: ResearchFiles, caller: Caller) -> Result:
    files = [pair for typed in request.paths for pair in _files(caller.file(typed))]
    stated = {name: getattr(request, name) for name in ("origin", "title", "authors", "version")}
    if any(stated.values()) and len(files) != 1:
        raise KbError("--origin, --title, --authors and --version are those of one file; name one")
    if len(files) > request.most:
        raise KbError(
            f"{len(files)} documents, more than --most {request.most}; name a smaller folder or allow more"
        )
    licence, keep = request.licence, not request.no_text
    jobs = [
        Job("file", key, partial(file_of, folder / key, key, stated), licence, keep)
        for folder, key in files
    ]
    with session_of(request, caller) as session:
        outcomes = runner(request, caller, session, "files")(jobs)
        return capture_result(outcomes, session.requests)


def _files(path: Path) -> list[tuple[Path, str]]:
    """Folder and name of each document: a name says where a file stood in what was given, and
    nothing of this machine.
    """
    if path.is_file():
        return [(path.resolve().parent, path.name)]
    if not path.is_dir():
        raise KbError(f"{path}: no file or folder")
    files = []
    for folder, folders, names in os.walk(path, followlinks=False):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            file = Path(folder) / name
            if file.suffix.removeprefix(".").lower() in _ENDS and not file.is_symlink():
                files.append(
                    (
                        path.resolve().parent,
                        file.resolve().relative_to(path.resolve().parent).as_posix(),
                    )
                )
    return files
