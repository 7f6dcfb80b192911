"""The life of an experiment: open a stub, run it, audit that its mechanism fired, close it by rule, and write back what follows.

Refuses to measure before a stub is filed, to judge by hand without a reason on the page, and to change a filed page.
"""

from kb import KbError


class GateClosed(KbError):
    """A gate says no: a repeat of something refuted, or a duplicate of what is in flight. The message says what to state or do."""

    code = 3


class InFlight(GateClosed):
    """The same experiment is open already; `path` is its page."""

    def __init__(self, message: str, path: str):
        super().__init__(message)
        self.path = path
