"""The disk: layout and configuration of a knowledge base, digests, atomic writes, locks, diff. Knows nothing of what a page says."""

from kb.store.files import create, lock, manifest_of, own_state, remove, sweep, tree_digests, write, write_tree
from kb.store.layout import CONFIG_NAME, WIKI_LINK, Config, Layout, config_from, is_inner, layout_at, root_of
from kb.store.rows import Diff, diff, digest_of, json_of, packed, row_of, to_json, value_of
from kb.store.tables import Kept, code_state, is_current, made_by, shape_of, state
from kb.store.walk import Scan, changed_since, look_of, read_bytes, scan

__all__ = [
    "CONFIG_NAME",
    "Config",
    "Diff",
    "Kept",
    "Layout",
    "Scan",
    "WIKI_LINK",
    "changed_since",
    "code_state",
    "config_from",
    "create",
    "diff",
    "digest_of",
    "is_current",
    "is_inner",
    "json_of",
    "layout_at",
    "lock",
    "look_of",
    "manifest_of",
    "own_state",
    "made_by",
    "packed",
    "read_bytes",
    "remove",
    "root_of",
    "row_of",
    "scan",
    "shape_of",
    "state",
    "sweep",
    "to_json",
    "tree_digests",
    "value_of",
    "write",
    "write_tree",
]
