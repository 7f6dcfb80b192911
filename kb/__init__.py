"""kb: the knowledge-base compiler for loops in which an agent optimizes code."""

__version__ = "0.1.0"


class KbError(Exception):
    """A user's mistake or a broken input. The message says where, what, and what to do; doors print it and nothing else."""

    # Exit code of a command that ends with it: 2 is misuse; a gate that closes says 3.
    code = 2
