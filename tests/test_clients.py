"""Real clients of what kb installs and serves: Claude Code, Codex, Gemini CLI, the MCP inspector. Skipped where they are not on the path.

`npm install @anthropic-ai/claude-code @openai/codex @google/gemini-cli @modelcontextprotocol/inspector` brings them
(the inspector from 0.17 on, whose command line sends a token); a model is a server on loopback that says one sentence.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kb.harness.templates import agent_texts, skill_texts
from kb.server.tools import tools

pytestmark = pytest.mark.clients
CHECKOUT = Path(__file__).resolve().parent.parent


def needs(program: str):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not on the path")


@pytest.fixture
def place(make_base, tmp_path):
    """A base with everything installed, the environment of a user who trusts it, and `kb` on the path."""
    root = make_base({"wiki/targets/t.md": "---\ntitle: T\ntype: target\n---\n"}).root
    home, programs = tmp_path / "home", tmp_path / "bin"
    for folder in (home / ".codex", programs):
        folder.mkdir(parents=True)
    (programs / "kb").write_text(f'#!/bin/sh\nexec {sys.executable} -m kb "$@"\n')
    (programs / "kb").chmod(0o755)
    (home / ".codex/config.toml").write_text(f'[projects."{root}"]\ntrust_level = "trusted"\n')
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CLAUDE", "ANTHROPIC"))} | {
        "HOME": os.fspath(home),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": os.fspath(CHECKOUT),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["kb", "agents", "install"], cwd=root, env=env, check=True, capture_output=True)
    return root, env


def output(words: list[str], root: Path, env: dict[str, str], **more) -> str:
    done = subprocess.run(
        words, cwd=root, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + (done.stderr if more.get("talk") else "")


@contextmanager
def model(calls: int = 0):
    """The protocols of Claude, Codex and Gemini: `kb status` so many times, then one sentence."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            protocol, talk = next((p, body[key]) for key, p in PROTOCOLS.items() if key in body)
            results = sum(json.dumps(talk).count(f'"{word}"') for word in ("tool_result", "function_call_output", "functionResponse"))
            events = protocol(body, results < calls and bool(body.get("tools")))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            # Gemini CLI takes no other lines than data.
            self.wfile.write("".join((f"event: {e['type']}\n" if "type" in e else "") + f"data: {json.dumps(e)}\n\n" for e in events).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def messages(body: dict, more: bool) -> list[dict]:
    usage = {"input_tokens": 5, "output_tokens": 2}
    head = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "usage": usage, "content": [], "stop_reason": None}
    tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    handed = {"type": "input_json_delta", "partial_json": json.dumps({"command": "kb status", "description": "where we stand"})}
    return [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": tool if more else {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": handed if more else {"type": "text_delta", "text": "Read."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if more else "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(body: dict, more: bool) -> list[dict]:
    tool = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "exec_command", "arguments": json.dumps({"cmd": "kb status"})}
    sentence = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Read."}]}
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": tool if more else sentence},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


def contents(_: dict, more: bool) -> list[dict]:
    call = {"functionCall": {"name": "run_shell_command", "args": {"command": "kb status", "description": "where we stand"}}}
    turn = {"content": {"role": "model", "parts": [call if more else {"text": "Read."}]}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [turn], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}}]


PROTOCOLS = {"messages": messages, "input": responses, "contents": contents}


@needs("claude")
def test_claude_code_starts_with_our_skills_agents_and_a_connected_server(place):
    root, env = place
    words = ["claude", "-p", "hello", "--output-format", "stream-json", "--verbose"]
    with model() as address:
        env |= {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        # The first line comes when the servers are connected, however busy the machine is.
        env |= {"MCP_CONNECTION_NONBLOCKING": "false", "MCP_CONNECT_TIMEOUT_MS": "60000"}
        config = ["--mcp-config", ".mcp.json", "--include-hook-events"]
        events = [json.loads(line) for line in output([*words, *config], root, env).splitlines()]
    first = next(e for e in events if e.get("subtype") == "init")
    assert set(skill_texts()) <= set(first["skills"])
    assert set(agent_texts()) <= set(first["agents"])
    assert {"name": "kb", "status": "connected"} in [
        {"name": s["name"], "status": s["status"]} for s in first["mcp_servers"]
    ]
    assert any("hook" in str(e.get("subtype")) and "SessionStart" in json.dumps(e) for e in events)


@needs("claude")
def test_the_plugin_is_valid_for_claude_code(place):
    root, env = place
    output(["kb", "agents", "install", "--harness", "claude-plugin"], root, env)
    assert "passed" in output(["claude", "plugin", "validate", ".claude/kb-plugin"], root, env, talk=True)


@needs("codex")
def test_codex_is_told_of_our_skills_and_our_server(place):
    root, env = place
    prompt = output(["codex", "debug", "prompt-input", "hello"], root, env)
    assert "kb load" in prompt and all(name in prompt for name in skill_texts())
    servers = json.loads(output(["codex", "mcp", "list", "--json"], root, env))
    assert [(s["name"], s["enabled"]) for s in servers] == [("kb", True)]


@needs("claude")
def test_a_transcript_of_claude_code_is_read(place):
    root, env = place
    with model(calls=1) as address:
        env |= {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        output(["claude", "-p", "go", "--allowedTools", "Bash(kb *)"], root, env)
    assert called(root, env, ".claude/projects") == ("claude", {"status": 1}, {"status": 7})


@needs("codex")
def test_a_transcript_of_codex_is_read(place):
    root, env = place
    with model(calls=1) as address:
        config = Path(env["HOME"]) / ".codex/config.toml"
        provider = f'[model_providers.local]\nname = "local"\nbase_url = "{address}/v1"\nwire_api = "responses"\n'
        config.write_text(f'model_provider = "local"\nmodel = "m"\n{config.read_text()}{provider}')
        output(["codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access", "go"], root, env)
    assert called(root, env, ".codex/sessions") == ("codex", {"status": 1}, {"status": 7})


@needs("gemini")
def test_a_transcript_of_gemini_is_read(place):
    root, env = place
    settings = Path(env["HOME"]) / ".gemini/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    with model(calls=1) as address:
        env |= {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "x"}
        output(["gemini", "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", "go"], root, env)
        assert called(root, env, ".gemini/tmp") == ("gemini", {"status": 1}, {"status": 7})
        # A resumed chat holds the messages of the earlier one, which are no new calls.
        output(["gemini", "--resume", "latest", "-m", "gemini-2.5-flash", "-p", "on"], root, env)
    assert called(root, env, ".gemini/tmp") == ("gemini", {"status": 1}, {"status": 7})


def called(root: Path, env: dict[str, str], folder: str) -> tuple[str, dict, dict]:
    """The harness of the transcripts in a folder, the commands that it called, and the tokens before each."""
    read = json.loads(output(["kb", "agents", "sessions", f"{env['HOME']}/{folder}", "--format", "json"], root, env))
    (first,) = read["harnesses"]
    return first["harness"], first["commands"], first["tokens"]


@needs("gemini")
def test_gemini_lists_our_skills_and_connects_to_our_server(place):
    root, env = place
    skills = output(["gemini", "skills", "list"], root, env, talk=True)
    assert all(name in skills for name in skill_texts()) and "conflict" not in skills
    assert "kb mcp (stdio) - Connected" in output(["gemini", "mcp", "list"], root, env, talk=True)


@needs("mcp-inspector")
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_inspector_lists_and_calls_every_tool(place, way):
    root, env = place
    reached, token = ["kb", "mcp"], []
    server = subprocess.Popen(["kb", "mcp", "--http"], cwd=root, env=env, stdout=subprocess.PIPE, text=True) if way == "http" else None
    try:
        if server:
            reached = [server.stdout.readline().strip(), "--transport", "http"]
            token = ["--header", f"Authorization: Bearer {(root / '.kb/mcp-token').read_text()}"]

        def inspected(*words: str) -> dict:
            return json.loads(output(["mcp-inspector", "--cli", *reached, *words, *token], root, env))

        assert {t["name"] for t in inspected("--method", "tools/list")["tools"]} == set(CALLS) == set(tools())
        for name, values in CALLS.items():
            arguments = [word for value in values for word in ("--tool-arg", value)]
            reply = inspected("--method", "tools/call", "--tool-name", name, *arguments)
            assert not reply.get("isError") and "never an instruction" in reply["content"][0]["text"], (name, reply)
    finally:
        if server:
            server.terminate()
            server.wait(10)
            server.stdout.close()


CALLS = {
    "load": ["step=hypothesis"],
    "check": ["proposal=Set tile=64", "target=t"],
    "search": ['query=["t"]'],
    "open": ["where=wiki/targets/t.md"],
    "experiment": ["action=list", "target=t"],
    "packet": ["action=list"],
    "status": ["action=trail"],
    "lint": [],
}
