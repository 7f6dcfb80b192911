"""The table of rules: every finding's code, how much it weighs, why it matters, and the room that states it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kb.lint.catalogs import catalog_counts, catalog_gaps, failed_frontiers, logs_out_of_order
from kb.lint.experiments import (
    changed_after_filing,
    missing_evidence,
    missing_labels,
    missing_verdicts,
    numbers_twice,
    undated,
    verdict_conflicts,
)
from kb.lint.fields import missing_fields, stale, target_against_folder, type_against_folder, unknown_types, unknown_verdicts
from kb.lint.figures import figure_mismatches
from kb.lint.matter import Matter
from kb.lint.wiki import (
    case_twins,
    contradictions,
    duplicate_titles,
    long_pages,
    orphans,
    unlinkable_names,
    unreachable,
    unsafe_links,
)
from kb.schema import Finding, Level


@dataclass(frozen=True, slots=True)
class Rule:
    """One code. `check` is None where another room states the finding while it reads or links; a check may serve several codes.

    `habit` is `type` or `folder` where a wiki may have the finding on all such pages by habit, so that it is printed once.
    """

    code: str
    level: Level
    reason: str
    room: str
    check: Callable[[Matter], Iterable[Finding]] | None = None
    fixes: bool = False
    habit: str = ""


E, W = Level.ERROR, Level.WARN

RULES = (
    # The disk
    Rule("unreadable", E, "a file that cannot be read is missing from everything compiled", "store"),
    Rule("vanished", W, "a file went away while it was read", "store"),
    Rule("symlink", W, "links out of the knowledge base and to folders are not followed", "store"),
    Rule("file-name", E, "a name that is not UTF-8 cannot be linked or printed", "store"),
    # One page
    Rule("binary", E, "a page that is no text holds nothing an agent can read", "page"),
    Rule("too-large", W, "only the head of a huge page is compiled", "page"),
    Rule("encoding", E, "bytes that are not UTF-8 are replaced wherever the page is shown", "page"),
    Rule("empty", W, "an empty page answers no question", "page"),
    Rule("front-matter", E, "front matter that cannot be read hides type, verdict and date", "page"),
    Rule("duplicate-key", E, "of a key that stands twice one value is silently lost", "page"),
    Rule("open-fence", E, "a fence that never closes turns the rest of the page into code", "page"),
    Rule("managed-block", E, "a managed block with broken markers cannot be rewritten", "page"),
    Rule(
        "list-blank-line",
        W,
        "a list right below a paragraph is no list to some renderers, the site's included",
        "page",
        fixes=True,
    ),
    # Links
    Rule("broken-link", E, "a link that leads nowhere sends reader and agent astray", "graph", fixes=True),
    Rule("broken-anchor", E, "an anchor that is not there cannot be loaded as a section", "graph"),
    Rule("unresolved-reference", W, "a reference without a definition is shown as raw brackets", "graph"),
    Rule("wikilink", W, "markdown does not follow wikilinks, so the page behind counts as unlinked", "graph", fixes=True),
    Rule("unsafe-link", E, "javascript:, vbscript: and data: links run code in a reader's browser", "lint", unsafe_links),
    # Front matter
    Rule(
        "missing-field", W, "what a page type requires feeds indexes, order and filters", "schema", missing_fields, habit="type"
    ),
    Rule(
        "unknown-type",
        W,
        "a page of unknown type is in no catalog and no slice share of its own",
        "schema",
        unknown_types,
        habit="type",
    ),
    Rule(
        "type-folder",
        W,
        "a page whose type contradicts its folder is looked for in the wrong place",
        "schema",
        type_against_folder,
    ),
    Rule(
        "target-folder",
        W,
        "an experiment whose target contradicts its folder counts for the wrong trail",
        "trail",
        target_against_folder,
    ),
    Rule("unknown-verdict", W, "a verdict or status outside the vocabulary counts as none", "schema", unknown_verdicts),
    # Experiments
    Rule("verdict-conflict", E, "a page that says two verdicts is believed by halves", "trail", verdict_conflicts),
    Rule("filed-changed", E, "a filed experiment that was changed is no evidence any more", "page", changed_after_filing),
    Rule(
        "missing-verdict",
        W,
        "an experiment without a verdict warns nobody and wins nothing",
        "trail",
        missing_verdicts,
        habit="type",
    ),
    Rule("missing-hypothesis", W, "without its hypothesis a result teaches nothing", "trail", missing_labels, habit="type"),
    Rule("missing-mechanism", W, "without a mechanism nobody can check that it fired", "trail", missing_labels, habit="type"),
    Rule("missing-prediction", W, "without a predicted signal any result fits", "trail", missing_labels, habit="type"),
    Rule(
        "missing-falsification",
        W,
        "without a falsification criterion nothing can be refuted",
        "trail",
        missing_labels,
        habit="type",
    ),
    Rule(
        "missing-profile", W, "without a profile the verdict is capped at inconclusive", "trail", missing_evidence, habit="type"
    ),
    Rule(
        "missing-evidence",
        W,
        "a result without commit, dump, log or figures cannot be checked",
        "trail",
        missing_evidence,
        habit="type",
    ),
    Rule("undated", W, "without a date an experiment counts as older than all others", "trail", undated, habit="type"),
    Rule("number-twice", W, "a number given twice in one target no longer names one experiment", "trail", numbers_twice),
    Rule("stale-stub", W, "an experiment opened and never closed blocks its lever for others", "trail", stale),
    Rule("stale-hypothesis", W, "an open hypothesis that nobody touches crowds out live ones", "trail", stale),
    # The wiki
    Rule("orphan", W, "a page that nothing links to is found by search alone", "graph", orphans, habit="folder"),
    Rule("unreachable", W, "a page that no chain of links leads to is not browsed", "graph", unreachable, habit="folder"),
    Rule("duplicate-title", W, "two pages of one title are told apart by nobody", "lint", duplicate_titles),
    Rule("case-twin", E, "two paths that differ by case only are one file on many disks", "lint", case_twins),
    Rule("unlinkable-name", W, "a name with spaces, # or brackets breaks plain links to it", "lint", unlinkable_names),
    Rule("long-page", W, "a page longer than [lint] page_lines is read by nobody whole", "lint", long_pages),
    Rule("open-contradiction", W, "an open contradiction leaves an agent to pick a side", "lint", contradictions),
    # Pages that list others
    Rule("catalog-count", W, "a count that has rotted says that the list is not kept up", "lint", catalog_counts, fixes=True),
    Rule("catalog-gap", W, "a list of nearly all pages of a folder hides the few it misses", "lint", catalog_gaps),
    Rule("log-order", W, "an entry out of order is overlooked", "lint", logs_out_of_order),
    Rule("failed-frontier", E, "a frontier that names a failed experiment sends the loop back", "trail", failed_frontiers),
    Rule("figure-mismatch", W, "a figure attributed to a page that does not say it is hearsay", "lint", figure_mismatches),
)
BY_CODE = {rule.code: rule for rule in RULES}


def rule_table() -> str:
    """The reference page of all rules, as markdown."""
    head = (
        "# Lint rules\n\n"
        "Made from the table in `kb/lint/rules.py` by `kb lint --rules`. Only errors fail `kb lint`. In `kb.toml`:\n"
        '`[lint] rules = { orphan = "off", wikilink = "error" }`; on a page, `<!-- kb:allow CODE -->` allows one line\n'
        "(alone on a line it speaks of the next one; findings about a whole page are allowed by one anywhere on it).\n\n"
        "| code | default | `--fix` | stated by | why |\n|---|---|---|---|---|\n"
    )
    return head + "".join(f"| `{r.code}` | {r.level} | {'yes' if r.fixes else ''} | {r.room} | {r.reason} |\n" for r in RULES)
