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
    root = make_base({"wiki/targets/t.md": "---\ntitle: T\ntype: target\nprotected: [bench.sh]\n---\n"}).root
    home, programs = tmp_path / "home", tmp_path / "bin"
    for folder in (home / ".codex", home / ".gemini", programs):
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
def model(*turns: tuple[str, str]):
    """The protocols of Claude, Codex and Gemini: one turn after the other (`run` a command, `write` a file, `say` a sentence), then the last
    for ever. Gives the address and, as they come, the requests that hold tools."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            protocol = next(p for key, p in PROTOCOLS.items() if key in body)
            turn = ("say", "Read.")
            if body.get("tools"):
                turn = turns[min(len(requests), len(turns) - 1)]
                requests.append(json.dumps(body, ensure_ascii=False))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            # Gemini CLI takes no other lines than data.
            events = protocol(body, *turn)
            self.wfile.write("".join((f"event: {e['type']}\n" if "type" in e else "") + f"data: {json.dumps(e)}\n\n" for e in events).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()


def messages(body: dict, act: str, text: str) -> list[dict]:
    usage = {"input_tokens": 5, "output_tokens": 2}
    head = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "usage": usage, "content": [], "stop_reason": None}
    tools = {"run": ("Bash", {"command": text, "description": "as told"}), "write": ("Write", {"file_path": text, "content": "x"})}
    name, values = tools.get(act, ("", {}))
    tool = {"type": "tool_use", "id": f"t{len(body['messages'])}", "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(values)} if name else {"type": "text_delta", "text": text}
    return [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": tool if name else {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if name else "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(body: dict, act: str, text: str) -> list[dict]:
    call = {"call_id": f"c{len(body['input'])}", "id": f"f{len(body['input'])}"}
    patch = f"*** Begin Patch\n*** Add File: {text}\n+x\n*** End Patch\n"
    item = {
        "run": {"type": "function_call", **call, "name": "exec_command", "arguments": json.dumps({"cmd": text})},
        "write": {"type": "custom_tool_call", **call, "name": "apply_patch", "input": patch},
        "say": {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
    }[act]
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


def contents(_: dict, act: str, text: str) -> list[dict]:
    part = {
        "run": {"functionCall": {"name": "run_shell_command", "args": {"command": text, "description": "as told"}}},
        "write": {"functionCall": {"name": "write_file", "args": {"file_path": text, "content": "x"}}},
        "say": {"text": text},
    }[act]
    turn = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [turn], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}}]


SENTENCE, STATUS = ("say", "Read."), ("run", "kb status")
PROTOCOLS = {"messages": messages, "input": responses, "contents": contents}


@needs("claude")
def test_claude_code_starts_with_our_skills_agents_and_a_connected_server(place):
    root, env = place
    words = ["claude", "-p", "hello", "--output-format", "stream-json", "--verbose"]
    with model(SENTENCE) as (address, _):
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


def talked(harness: str, root: Path, env: dict[str, str], address: str, *more: str) -> None:
    """One conversation, in which the harness may do what the model wants, but for what our hooks refuse."""
    home = Path(env["HOME"])
    if harness == "claude":
        env |= {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        words = ["claude", "-p", "go", "--allowedTools", "Bash(kb *)", "Write"]
    elif harness == "codex":
        config = home / ".codex/config.toml"
        provider = f'[model_providers.local]\nname = "local"\nbase_url = "{address}/v1"\nwire_api = "responses"\n'
        # A name that Codex knows, so that it hands its model the tool for patches.
        config.write_text(f'model_provider = "local"\nmodel = "gpt-5.5"\n{config.read_text()}{provider}')
        words = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-s", "danger-full-access", "go"]
    else:
        (home / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        env |= {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "x"}
        words = ["gemini", "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", "go"]
    output([*words, *more], root, env)


TRANSCRIPTS = {"claude": ".claude/projects", "codex": ".codex/sessions", "gemini": ".gemini/tmp"}
HARNESSES = [pytest.param(name, marks=needs(name)) for name in TRANSCRIPTS]


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_transcript_is_read(place, harness):
    root, env = place
    with model(STATUS, SENTENCE) as (address, _):
        talked(harness, root, env, address)
        assert called(root, env, TRANSCRIPTS[harness]) == (harness, {"status": 1}, {"status": 7})
        if harness == "gemini":
            # A resumed chat holds the messages of the earlier one, which are no new calls.
            talked(harness, root, env, address, "--resume", "latest")
            assert called(root, env, TRANSCRIPTS[harness]) == (harness, {"status": 1}, {"status": 7})


@pytest.mark.parametrize("harness", HARNESSES)
def test_hooks_tell_where_the_loop_stands_and_refuse_the_edit_of_a_protected_file_and_the_stop(place, harness):
    root, env = place
    subprocess.run(["kb", "agents", "watch", "--target", "t"], cwd=root, env=env, check=True, capture_output=True)
    wanted = ("write", f"{root}/bench.sh"), ("write", f"{root}/notes.txt"), SENTENCE, ("run", f"{shutil.which('kb', path=env['PATH'])} agents watch --off"), SENTENCE
    with model(*wanted) as (address, requests):
        talked(harness, root, env, address)
    started, refused, _, held, *_ = requests
    assert "# resume · t" in started
    assert "is protected by the target t" in refused and not (root / "bench.sh").exists()
    assert (root / "notes.txt").read_text().strip() == "x"
    assert "The loop is not done" in held


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
