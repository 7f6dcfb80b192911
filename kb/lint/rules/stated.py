"""Rules whose findings other rooms state while they read the disk or a page."""

from kb.lint.registry import E, Rule, W

RULES = (
    Rule(
        "unreadable", E, "a file that cannot be read is missing from everything compiled", "store"
    ),
    Rule("vanished", W, "a file went away while it was read", "store"),
    Rule("symlink", W, "links out of the knowledge base and to folders are not followed", "store"),
    Rule("file-name", E, "a name that is not UTF-8 cannot be linked or printed", "store"),
    Rule("binary", E, "a page that is no text holds nothing an agent can read", "page"),
    Rule("too-large", W, "only the head of a huge page is compiled", "page"),
    Rule("encoding", E, "bytes that are not UTF-8 are replaced wherever the page is shown", "page"),
    Rule("empty", W, "an empty page answers no question", "page"),
    Rule(
        "front-matter", E, "front matter that cannot be read hides type, verdict and date", "page"
    ),
    Rule("duplicate-key", E, "of a key that stands twice one value is silently lost", "page"),
    Rule("open-fence", E, "a fence that never closes turns the rest of the page into code", "page"),
    Rule("managed-block", E, "a managed block with broken markers cannot be rewritten", "page"),
)
