"""A model drafts, the gate decides: sources become packets, replies become claims with quotes, claims stand on pages.

    questions    packets of a task, from sources, pages, claims and indexes on the disk
    asking       an API, a command or rules answer them; an agent that runs already takes them from `queue`
    settling     each reply: read (`replies`), ruled on (`admission`, by `kb.claims`), kept (`queue`), filed (`filing`)
    records, notes   what else is filed: experiments in fields, prose of indexes

Refuses to let a model write a byte of the wiki: pages are made by code from claims on file.
"""
