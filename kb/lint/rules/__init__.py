"""The rules, by what they look at; a module names its own in `RULES`. Another package adds one under the entry point `kb.lint`."""
