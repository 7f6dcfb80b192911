"""Notations of logs, one a file: each names its formats as `FORMATS`, which `kb.formats.registry` finds."""
