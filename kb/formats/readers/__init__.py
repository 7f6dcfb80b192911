"""One log format a file, each a `FORMAT` (or several `FORMATS`) that `kb.formats.registry` finds."""
