"""Writes the generated reference pages: docs/cli.md from the command table, docs/schema.md from the schema, docs/configuration.md from Config.

`python scripts/reference.py --check` exits 1 where a page is out of date; a test calls the same.
"""

import contextlib
import io
import os
import sys
from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, os.fspath(ROOT))
os.environ["COLUMNS"] = "100"

from kb import cli, schema, store  # noqa: E402
from kb.verbs.registry import GROUPS, verbs  # noqa: E402

HEAD = "<!-- Written by scripts/reference.py; edits here are lost. -->\n\n"


def cli_page() -> str:
    parts = [
        HEAD
        + "# Commands\n\nExit codes: 0 fine, 1 findings, 2 misuse, 3 gate closed. Data goes to stdout, talk to stderr.\n"
    ]
    group = ""
    for verb in verbs(*cli.DOORS).values():
        if verb.group != group:
            group = verb.group
            parts.append(f"\n## {GROUPS.get(group, group)}\n")
        summary = f"{verb.summary[:1].upper()}{verb.summary[1:]}"
        parts.append(
            f"\n### kb {verb.words}\n\n{summary}.\n\n```text\n{cli.parser_of(verb).format_help().strip()}\n```\n"
        )
    return "".join(parts)


def schema_page() -> str:
    lines = [
        HEAD + "# Page types\n",
        "| type | folders | spellings of `type:` | required fields | statuses |",
        "|---|---|---|---|---|",
    ]
    for kind in schema.PAGE_TYPES:
        lines.append(
            f"| {kind.name} | {', '.join(f'`{f}/`' for f in kind.folders)} | {', '.join(kind.names)} | {', '.join(kind.required)} | {', '.join(kind.statuses)} |"
        )
    also = "; ".join(
        f"{kind}: {', '.join(f'{name} (`{folder}/`)' for name, folder in names.items())}"
        for kind, names in schema.ALSO.items()
    )
    lines += ["", f"Read as well, in other wikis: {also}.", "", "# Sections of a skeleton", ""]
    lines += [
        f"- **{kind.name}**: {', '.join(kind.sections)}"
        for kind in schema.PAGE_TYPES
        if kind.sections
    ]
    lines += [
        "",
        "# Which pages are runs",
        "",
        "- `type:` says it, or the folder of runs that a page lies in: there a page with a number or a day in its name, one that says how it came "
        "out, one that compares figures; of a folder below it the README, `results`, `report` or the like that says how it came out.",
        "- Elsewhere, where nothing says another type: `verdict:` in the front matter (`status:`, `outcome:` and their like only beside a hypothesis and figures), labels of "
        "both hypothesis and outcome, or figures compared and what was done with the change at the head, under a heading of results or at the end.",
        "- A page whose `type:` is its owner's own (`strategy`), where the front matter says how it came out and its text gives several figures.",
        "- On one page: headings that begin with a day and say how it came out, with a number and a label of the outcome, or with a word for a run "
        "and its number (two at least, each with a figure and its unit), headings below a day alone, and headings below such as "
        '"Applied" and "Rejected" (three at least, half of them with a figure).',
        "",
        "A ticked box counts and an open one does not; a mark (✅, ❌) behind a figure of the results counts where nothing else says how it came "
        "out; what is `TBD` or `draft` has no verdict.",
        "",
        "# Verdicts",
        "",
        ", ".join(f"`{v}`" for v in schema.Verdict)
        + ". Failed are: "
        + ", ".join(sorted(schema.FAILED))
        + ".",
        "",
        "Read from `verdict:`, else "
        + ", ".join(f"`{name}:`" for name in schema.OUTCOME_FIELDS)
        + " or `status:`, else the file name, else the body: a "
        "heading that says it, the Verdict section, or a label ("
        + ", ".join(schema.OUTCOME_LABELS)
        + "). Dates: from the file name, else "
        + ", ".join(f"`{name}:`" for name in schema.CREATED_FIELDS)
        + ".",
        "",
        "# Labels of a hypothesis",
        "",
    ]
    lines += [f"- `{name}`: {', '.join(spellings)}" for name, spellings in schema.LABELS.items()]
    lines += ["", "# Steps", "", ", ".join(f"`{s}`" for s in schema.STEPS), ""]
    return "\n".join(lines)


def configuration_page() -> str:
    defaults = store.Config()
    lines = [
        HEAD + "# kb.toml\n",
        "Every key has a default; an unknown key is refused with the nearest known one.\n",
        "| table | key | default | takes |",
        "|---|---|---|---|",
    ]
    kinds = {f.name: f.type for f in fields(store.Config)}
    for table, keys in store.layout._KEYS.items():
        for key, name in keys.items():
            value = getattr(defaults, name)
            kind = (
                str(kinds[name])
                .replace("collections.abc.", "")
                .replace("<class '", "")
                .replace("'>", "")
            )
            lines.append(
                f"| `[{table}]` | `{key}` | `{list(value) if isinstance(value, tuple) else value!r}` | {kind} |".replace(
                    "'", '"'
                )
            )
    lines += [
        "| `[verdicts]` | any word | none | the verdict that it means where a value begins with it: a field, a label, a heading, the end of a title |",
        "| `[scopes]` | any name | none | list of globs on the path (`*` crosses `/`) or `tag:NAME`; each makes `indexes/<name>.md` |",
        "",
    ]
    return "\n".join(lines)


PAGES = {
    "docs/cli.md": cli_page,
    "docs/schema.md": schema_page,
    "docs/configuration.md": configuration_page,
}


def main() -> int:
    stale = []
    for path, made in PAGES.items():
        with contextlib.redirect_stderr(io.StringIO()):
            text = made()
        file = ROOT / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in sys.argv:
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
    print(
        "\n".join(f"{'out of date' if '--check' in sys.argv else 'written'}: {p}" for p in stale)
        or "up to date"
    )
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
