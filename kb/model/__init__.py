"""The only door to language models: OpenAI-compatible and Anthropic endpoints, and any command that reads stdin.

Refuses to decide anything: it carries a prompt there and a reply back, and says what that took. Keys are never printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kb import KbError


class ModelError(KbError):
    """A model, its server or its command gave no usable reply. The message says which, what came, and what to do."""


class Refusal(ModelError):
    """The model declined to answer; asking again in the same words is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server that speaks `protocol`. `url` is the base address, without `/chat/completions` or `/messages`.

    `attempts` counts the first; `patience_s` bounds a wait that a server asks for, and `timeout_s` the silence on an open line.
    """

    protocol: Literal["openai", "anthropic"]
    url: str
    model: str
    key: str = ""
    max_tokens: int = 8192
    timeout_s: float = 120.0
    attempts: int = 5
    patience_s: float = 60.0

    def __repr__(self) -> str:
        return f"Endpoint({self.protocol} {self.url} {self.model})"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model reads: `standing` is the part that many prompts share and that a server may cache; `schema` that of a JSON reply."""

    standing: str
    text: str
    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back. Token counts are the server's; 0 where it gives none. `cached` of `tokens_in` were read from its cache."""

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
