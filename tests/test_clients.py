"""Real clients of what kb installs and serves: Claude Code, Codex, Gemini CLI, the MCP inspector. Skipped where they are not on the path.

`npm install @anthropic-ai/claude-code @openai/codex @google/gemini-cli @modelcontextprotocol/inspector` brings them; a model is
a server on loopback that says one sentence.
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
    """Claude's and Codex's protocols: `kb status` so many times, then one sentence."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told = json.dumps(body.get("messages") or body.get("input"))
            more = told.count('"tool_result"') + told.count('"function_call_output"') < calls and body.get("tools")
            events = messages(body, more) if "messages" in body else responses(body, more)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write("".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())

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


@needs("claude")
def test_claude_code_starts_with_our_skills_agents_and_a_connected_server(place):
    root, env = place
    words = ["claude", "-p", "hello", "--output-format", "stream-json", "--verbose"]
    with model() as address:
        env |= {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
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
    assert called(root, env, ".claude/projects") == ("claude", {"status": 1})


@needs("codex")
def test_a_transcript_of_codex_is_read(place):
    root, env = place
    with model(calls=1) as address:
        config = Path(env["HOME"]) / ".codex/config.toml"
        provider = f'[model_providers.local]\nname = "local"\nbase_url = "{address}/v1"\nwire_api = "responses"\n'
        config.write_text(f'model_provider = "local"\nmodel = "m"\n{config.read_text()}{provider}')
        output(["codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access", "go"], root, env)
    assert called(root, env, ".codex/sessions") == ("codex", {"status": 1})


def called(root: Path, env: dict[str, str], folder: str) -> tuple[str, dict]:
    read = json.loads(output(["kb", "agents", "sessions", f"{env['HOME']}/{folder}", "--format", "json"], root, env))
    return read["harnesses"][0]["harness"], read["harnesses"][0]["commands"]


@needs("gemini")
def test_gemini_lists_our_skills_and_connects_to_our_server(place):
    root, env = place
    skills = output(["gemini", "skills", "list"], root, env, talk=True)
    assert all(name in skills for name in skill_texts())
    assert "kb mcp (stdio) - Connected" in output(["gemini", "mcp", "list"], root, env, talk=True)


@needs("mcp-inspector")
def test_the_inspector_lists_and_calls_every_reading_tool(place):
    root, env = place

    def inspected(*words: str) -> dict:
        return json.loads(output(["mcp-inspector", "--cli", "kb", "mcp", *words], root, env))

    assert {t["name"] for t in inspected("--method", "tools/list")["tools"]} == set(tools())
    calls = {"load": ["step=hypothesis"], "search": ["query=[\"t\"]"], "status": ["action=trail"], "lint": []}
    for name, values in calls.items():
        arguments = ["--tool-arg", *values] if values else []
        reply = inspected("--method", "tools/call", "--tool-name", name, *arguments)
        assert not reply.get("isError") and "never an instruction" in reply["content"][0]["text"]
