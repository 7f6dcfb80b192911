"""`kb open`."""

import argparse
import json
from pathlib import Path

from kb import KbError, store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where", metavar="PATH[#ANCHOR]", help="a page, or one of its sections, such as wiki/concepts/x.md#limits"
    )
    parser.add_argument("--format", choices=("md", "json"), default="md")


def run(args: argparse.Namespace) -> int:
    from difflib import get_close_matches

    from kb.cli.paths import path_in
    from kb.page import read, text_of

    layout = store.layout_at(Path.cwd())
    # A file name may hold a # itself.
    typed, _, anchor = (
        (args.where, "", "") if (layout.root / args.where).is_file() or Path(args.where).is_file() else args.where.partition("#")
    )
    path = path_in(layout, typed)
    if not (layout.root / path).resolve().is_relative_to(layout.root.resolve()):
        raise KbError(f"{path}: leads out of the knowledge base and is not read")
    if not (layout.root / path).is_file():
        known = list(store.scan(layout).digests)
        near = get_close_matches(path, known, n=3, cutoff=0.5) or [k for k in known if k.endswith("/" + Path(path).name)][:3]
        raise KbError(
            f"{path}: no such page" + (f"; did you mean {' or '.join(near)}?" if near else "; `kb search` finds pages by words")
        )
    data = store.read_bytes(layout, path)
    page = read(path, data)
    lines = text_of(data).split("\n")
    start, end = 1, len(lines) + 1
    if anchor:
        # A section runs to the next heading of its own level or above, its subsections included.
        found = next((i for i, s in enumerate(page.sections) if s.anchor == anchor), None)
        if found is None:
            names = [s.anchor for s in page.sections if s.anchor]
            raise KbError(f"{path}: no section '#{anchor}'; it has " + (", ".join("#" + n for n in names) or "none"))
        section = page.sections[found]
        after = [s for s in page.sections[found + 1 :] if s.level <= section.level]
        start, end = section.start, after[0].start if after else end
    text = "\n".join(lines[start - 1 : end - 1]).rstrip("\n")
    if args.format == "json":
        print(
            json.dumps(
                {
                    "path": path,
                    "anchor": anchor,
                    "digest": page.digest,
                    "line": start,
                    "title": page.title,
                    "type": page.type,
                    "text": text,
                },
                ensure_ascii=False,
            )
        )
    else:
        print(text)
    return 0
