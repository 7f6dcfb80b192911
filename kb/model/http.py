"""The two protocols over HTTP, streamed: one request, its retries, and the pieces of a reply put together.

Formats: OpenAI chat completions with `stream_options.include_usage` and `response_format`; Anthropic messages with one forced tool
where a JSON reply is asked, and `cache_control` on the standing part.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from kb.model import Endpoint, ModelError, ModelReply, Prompt, Refusal
from kb.store import json_of

# Statuses after which the same request may succeed: timeouts, conflicts, rate limits, and a server in trouble or overloaded.
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_TOOL = "reply"


class _Passing(Exception):
    """A failure that may pass: what it was, and how long the server asks to wait (None: it does not say)."""

    def __init__(self, what: str, wait_s: float | None = None) -> None:
        super().__init__(what)
        self.wait_s = wait_s


@dataclass(slots=True)
class _Pieces:
    """What a stream has brought so far."""

    text: list[str] = field(default_factory=list)
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    end: str = ""


def ask(
    endpoint: Endpoint, prompt: Prompt, *, sleep: Callable[[float], None] = time.sleep
) -> ModelReply:
    """One reply of a model. Raises Refusal where it declines, ModelError where it cannot be reached or its reply is cut short."""
    path, headers, body = (_openai if endpoint.protocol == "openai" else _anthropic)(
        endpoint, prompt
    )
    read = _read_openai if endpoint.protocol == "openai" else _read_anthropic
    for attempt in range(1, endpoint.attempts + 1):
        try:
            pieces = _streamed(endpoint, path, headers=headers, body=body, read=read)
            break
        except _Passing as trouble:
            if attempt == endpoint.attempts:
                raise ModelError(
                    f"{endpoint.url}: {trouble} ({attempt} attempts); try again later"
                ) from trouble
            sleep(
                min(
                    trouble.wait_s if trouble.wait_s is not None else 2.0 ** (attempt - 1),
                    endpoint.patience_s,
                )
            )
    text = "".join(pieces.text)
    if pieces.end in ("refusal", "content_filter"):
        raise Refusal(f"{endpoint.model}: declined to answer: {text[:200] or 'without a word'}")
    if pieces.end in ("length", "max_tokens"):
        raise ModelError(
            f"{endpoint.model}: the reply was cut at {endpoint.max_tokens} tokens; ask for a smaller packet"
        )
    if not text.strip():
        raise ModelError(f"{endpoint.model}: the reply is empty")
    return ModelReply(
        text, pieces.model or endpoint.model, pieces.tokens_in, pieces.tokens_out, pieces.cached
    )


def _streamed(
    endpoint: Endpoint, path: str, *, headers: dict, body: dict, read: Callable
) -> _Pieces:
    pieces = _Pieces()
    try:
        with (
            httpx.Client(timeout=endpoint.timeout_s, follow_redirects=False) as client,
            client.stream(
                "POST", endpoint.url.rstrip("/") + path, headers=headers, json=body
            ) as answer,
        ):
            if answer.status_code != 200:
                _raise_for(endpoint, answer)
            for event in _events(answer):
                read(event, pieces)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise ModelError(f"{endpoint.url}: no address of a model: {error}") from error
    except httpx.HTTPError as error:
        raise _Passing(f"{type(error).__name__} {error}".strip()) from error
    if not pieces.end:
        raise _Passing("the stream broke off")
    return pieces


def _raise_for(endpoint: Endpoint, answer: httpx.Response) -> None:
    answer.read()
    what = f"status {answer.status_code}: {_complaint(answer.text)}"
    if answer.status_code not in _AGAIN:
        hint = "; is the key right?" if answer.status_code in (401, 403) else ""
        raise ModelError(f"{endpoint.url}: {what}{hint}")
    after = answer.headers.get("retry-after", "")
    raise _Passing(what, float(after) if after.replace(".", "", 1).isdigit() else None)


def _complaint(text: str) -> str:
    try:
        error = json_of(text)["error"]
        return str(error["message"] if isinstance(error, dict) else error)[:300]
    except (ValueError, KeyError, TypeError):
        return text[:300] or "no reason given"


def _events(answer: httpx.Response) -> Iterator[dict]:
    """The JSON objects of a stream of server-sent events."""
    for line in answer.iter_lines():
        if not line.startswith("data:") or line[5:].strip() == "[DONE]":
            continue
        try:
            event = json_of(line[5:])
        except ValueError as error:
            raise _Passing(f"the stream holds no JSON: {line[:80]!r}") from error
        if not isinstance(event, dict):
            raise _Passing(f"the stream holds no object: {line[:80]!r}")
        if event.get("error"):
            raise _Passing(_complaint(json.dumps(event)))
        yield event


def _openai(endpoint: Endpoint, prompt: Prompt) -> tuple[str, dict, dict]:
    body: dict[str, object] = {
        "model": endpoint.model,
        "max_completion_tokens": endpoint.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": prompt.standing},
            {"role": "user", "content": prompt.text},
        ],
    }
    if prompt.schema:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": _TOOL, "schema": prompt.schema},
        }
    return (
        "/chat/completions",
        {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {},
        body,
    )


def _read_openai(event: dict, pieces: _Pieces) -> None:
    pieces.model = event.get("model") or pieces.model
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or {}
        pieces.text.append(delta.get("content") or delta.get("refusal") or "")
        pieces.end = (
            "refusal" if delta.get("refusal") else pieces.end or choice.get("finish_reason") or ""
        )
    usage = event.get("usage") or {}
    pieces.tokens_in = usage.get("prompt_tokens", pieces.tokens_in)
    pieces.tokens_out = usage.get("completion_tokens", pieces.tokens_out)
    pieces.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", pieces.cached)


def _anthropic(endpoint: Endpoint, prompt: Prompt) -> tuple[str, dict, dict]:
    body: dict[str, object] = {
        "model": endpoint.model,
        "max_tokens": endpoint.max_tokens,
        "stream": True,
        "system": [
            {"type": "text", "text": prompt.standing, "cache_control": {"type": "ephemeral"}}
        ],
        "messages": [{"role": "user", "content": prompt.text}],
    }
    if prompt.schema:
        body["tools"] = [
            {"name": _TOOL, "description": "Give the reply.", "input_schema": prompt.schema}
        ]
        body["tool_choice"] = {"type": "tool", "name": _TOOL}
    headers = {
        "anthropic-version": "2023-06-01",
        **({"x-api-key": endpoint.key} if endpoint.key else {}),
    }
    return "/messages", headers, body


def _read_anthropic(event: dict, pieces: _Pieces) -> None:
    match event.get("type"):
        case "message_start":
            message = event.get("message") or {}
            pieces.model = message.get("model") or ""
            usage = message.get("usage") or {}
            pieces.cached = usage.get("cache_read_input_tokens") or 0
            pieces.tokens_in = (
                (usage.get("input_tokens") or 0)
                + pieces.cached
                + (usage.get("cache_creation_input_tokens") or 0)
            )
        case "content_block_delta":
            delta = event.get("delta") or {}
            pieces.text.append(delta.get("text") or delta.get("partial_json") or "")
        case "message_delta":
            pieces.end = (event.get("delta") or {}).get("stop_reason") or pieces.end
            pieces.tokens_out = (event.get("usage") or {}).get("output_tokens", pieces.tokens_out)
