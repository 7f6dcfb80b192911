"""The MCP door: a few tools over the verbs, pages and indexes as resources, the skills as prompts.

Refuses what a program behind a wall must not say: commands, files outside the knowledge base, arguments without bound.
"""
