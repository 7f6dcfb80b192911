"""A language model on loopback: speaks both protocols as the real servers do, from a script of what to answer. No mock: real HTTP, real streams."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Model:
    """`answers` gives the reply to the text of a request, or what goes wrong: a status, `cut`, `refuse`, `garbage`, `long`."""

    answers: Callable[[str, int], object]
    requests: list[dict] = field(default_factory=list)
    headers: list[dict] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""


@contextmanager
def serving(answers: Callable[[str, int], object]) -> Iterator[Model]:
    model = Model(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with model.lock:
                model.requests.append(body)
                model.headers.append({k.lower(): v for k, v in self.headers.items()})
                count = len(model.requests)
            text = body["messages"][-1]["content"]
            reply = model.answers(text, count)
            if isinstance(reply, int):
                return self.refused(reply)
            events = anthropic(body, reply) if self.path.endswith("/messages") else openai(body, reply)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                self.wfile.write(event.encode())
                self.wfile.flush()
            self.close_connection = True

        def refused(self, status: int):
            data = json.dumps({"error": {"type": "trouble", "message": f"no luck ({status})"}}).encode()
            self.send_response(status)
            if status == 429:
                self.send_header("retry-after", "0")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _parts(text: str) -> list[str]:
    return [text[n : n + 40] for n in range(0, len(text), 40)] or [""]


def openai(body: dict, reply: object) -> Iterator[str]:
    def event(**fields) -> str:
        return "data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "model": body["model"] + "-0611", **fields}) + "\n\n"

    if reply == "garbage":
        yield "data: {not json\n\n"
        return
    yield event(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
    if reply == "refuse":
        yield event(choices=[{"index": 0, "delta": {"refusal": "I cannot help with that."}, "finish_reason": None}])
        yield event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    else:
        parts = _parts(str(reply))
        for part in parts[: len(parts) // 2] if reply == "cut" else parts:
            yield event(choices=[{"index": 0, "delta": {"content": part}, "finish_reason": None}])
        if reply == "cut":
            return
        yield event(choices=[{"index": 0, "delta": {}, "finish_reason": "length" if reply == "long" else "stop"}])
    yield event(choices=[], usage={"prompt_tokens": 120, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 100}})
    yield "data: [DONE]\n\n"


def anthropic(body: dict, reply: object) -> Iterator[str]:
    def event(kind: str, **fields) -> str:
        return f"event: {kind}\ndata: " + json.dumps({"type": kind, **fields}) + "\n\n"

    usage = {"input_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 1}
    yield event("message_start", message={"id": "m1", "type": "message", "role": "assistant", "model": body["model"] + "-0611", "content": [], "usage": usage})
    yield event("ping")
    if reply == "garbage":
        yield event("error", error={"type": "overloaded_error", "message": "Overloaded"})
        return
    tool = "tools" in body and reply != "refuse"
    block = {"type": "tool_use", "id": "t1", "name": "reply", "input": {}} if tool else {"type": "text", "text": ""}
    yield event("content_block_start", index=0, content_block=block)
    parts = _parts(str(reply))
    for part in parts[: len(parts) // 2] if reply == "cut" else parts:
        yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": part} if tool else {"type": "text_delta", "text": part})
    if reply == "cut":
        return
    yield event("content_block_stop", index=0)
    end = {"refuse": "refusal", "long": "max_tokens"}.get(str(reply), "tool_use" if tool else "end_turn")
    yield event("message_delta", delta={"stop_reason": end, "stop_sequence": None}, usage={"output_tokens": 30})
    yield event("message_stop")
