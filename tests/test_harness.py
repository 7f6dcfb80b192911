"""The room `harness`: what is installed for agent harnesses, what is left alone, and what the hooks answer."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kb.harness.parts import HARNESSES, parts_of
from kb.harness.templates import skill_texts

CHECKOUT = Path(__file__).resolve().parent.parent
SHARED = {
    ".mcp.json": '{"mcpServers": {"mine": {"command": "x"}}, "a": [1]}',
    ".codex/config.toml": "# mine\nmodel = 'x' # stays\n",
    "AGENTS.md": "# Mine\n\nText.\n",
    ".claude/settings.json": '{\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}\n}\n',
}


def kb(root: Path, *words: str, text: str = "", code: int | None = 0) -> str:
    env = {**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)}
    done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=root, input=text, capture_output=True, text=True, env=env)
    assert "Traceback" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, done.stderr + done.stdout
    return done.stdout


def files(root: Path) -> dict[str, bytes]:
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in root.rglob("*") if f.is_file() and ".kb" not in f.relative_to(root).parts}


def test_what_is_installed_is_taken_out_byte_for_byte(make_base):
    root = make_base(SHARED).root
    before = files(root)
    kb(root, "agents", "install")
    once = files(root)
    assert set(before) < set(once) and "mine" in once[".mcp.json"].decode() and b"# stays" in once[".codex/config.toml"]
    kb(root, "agents", "install")
    assert files(root) == once
    kb(root, "agents", "uninstall")
    assert files(root) == before


def test_one_harness_leaves_and_what_the_others_share_stays(make_base):
    root = make_base({}).root
    kb(root, "agents", "install", "--harness", "claude,codex")
    kb(root, "agents", "uninstall", "--harness", "claude")
    left = files(root)
    assert b"kb load" in left["AGENTS.md"] and ".codex/config.toml" in left and not any(p.startswith(".claude") for p in left)


def test_a_file_that_kb_did_not_write_is_never_overwritten(make_base):
    own = {".claude/skills/edit-code/SKILL.md": "mine\n", ".codex/config.toml": "[mcp_servers.kb]\ncommand = 'other'\n", ".gemini/settings.json": "{ broken"}
    root = make_base(own).root
    told = kb(root, "agents", "install", code=1)
    assert told.count("left alone") == 3
    for path, text in own.items():
        assert (root / path).read_text() == text
    skill = root / ".claude/skills/ingest/SKILL.md"
    skill.write_text("edited by hand\n")
    kb(root, "agents", "update", code=1)
    kb(root, "agents", "uninstall", code=1)
    assert skill.read_text() == "edited by hand\n"


def test_a_dry_run_shows_the_diff_and_writes_nothing(make_base):
    root = make_base({}).root
    before = files(root)
    assert "+name: edit-code" in kb(root, "agents", "install", "--dry-run")
    assert files(root) == before


def test_an_older_text_of_ours_is_brought_up_to_date(make_base):
    root = make_base({}).root
    kb(root, "agents", "install", "--harness", "pi")
    file, receipt = root / ".agents/skills/ingest/SKILL.md", root / ".agents/kb.json"
    from kb import store

    file.write_text("an older text\n")
    noted = json.loads(receipt.read_text())
    noted[".agents/skills/ingest/SKILL.md"]["digest"] = store.digest_of(b"an older text\n")
    receipt.write_text(json.dumps(noted))
    assert "differs" in kb(root, "agents", "status", "--harness", "pi")
    kb(root, "agents", "update", "--harness", "pi")
    assert "kb packet next" in file.read_text()


def test_a_file_that_only_an_earlier_version_wrote_is_taken_out(make_base):
    root = make_base({}).root
    kb(root, "agents", "install", "--harness", "gemini")
    from kb import store

    receipt = root / ".agents/kb.json"
    for name in ("old", "edited"):
        store.write(root / f".gemini/skills/{name}/SKILL.md", name)
        receipt.write_text(json.dumps({**json.loads(receipt.read_text()), f".gemini/skills/{name}/SKILL.md": {"before": None, "digest": store.digest_of(b"old")}}))
    kb(root, "agents", "update", code=1)
    assert not (root / ".gemini/skills/old").exists() and (root / ".gemini/skills/edited/SKILL.md").read_text() == "edited"


@pytest.mark.parametrize("name", sorted(skill_texts()))
def test_a_skill_is_small_and_names_commands_that_exist(name):
    about, text = skill_texts()[name]
    # Four characters a token is generous to prose; 3.3 is what code and flags cost.
    assert len(about) < 1024 and (len(about) + len(text)) / 3.3 < 1500


def test_every_harness_gets_skills_and_instructions():
    for harness in HARNESSES:
        paths = [p.path for p in parts_of(harness)]
        assert "AGENTS.md" in paths and sum(p.endswith("SKILL.md") for p in paths) == 9


PAGE = "---\ntitle: A\ntype: experiment\ntarget: t\nverdict: refuted\nhypothesis: h\nsealed: abc\n---\n## Verdict\n\nRefuted: -3 %.\n"


def test_the_stop_hook_refuses_with_reasons_until_the_loop_is_let_go(make_base):
    root = make_base({"wiki/experiments/t/2026-01-02-v001-a.md": PAGE}).root
    assert kb(root, "agents", "hook", "stop", text="{}") == ""
    kb(root, "agents", "watch", "--target", "t")
    answer = json.loads(kb(root, "agents", "hook", "stop", text='{"stop_hook_active": true}'))
    assert answer["decision"] == "block" and "retrospective" in answer["reason"]
    kb(root, "agents", "watch", "--off")
    assert kb(root, "agents", "hook", "stop", text="{}") == ""


def test_a_session_starts_with_where_the_loop_stands(make_base):
    root = make_base({"wiki/experiments/t/2026-01-02-v001-a.md": PAGE}).root
    kb(root, "agents", "watch", "--target", "t")
    answer = json.loads(kb(root, "agents", "hook", "session-start", text="{}"))
    assert "Refuted: -3 %" in answer["hookSpecificOutput"]["additionalContext"]


def test_the_edit_guard_protects_what_measures_and_what_is_filed(make_base):
    target = "---\ntitle: T\ntype: target\nprotected: [bench.sh, data/]\n---\n"
    root = make_base({"wiki/targets/t.md": target, "wiki/experiments/t/2026-01-02-v001-a.md": PAGE, "src/a.c": ""}).root
    kb(root, "agents", "watch", "--target", "t")

    def answer(tool_input: dict) -> str:
        return kb(root, "agents", "hook", "edit", text=json.dumps({"tool_input": tool_input}))

    for path in ("bench.sh", "data/x/y", "sources/s/text.md", "wiki/experiments/t/2026-01-02-v001-a.md", os.fspath(root / "bench.sh")):
        assert json.loads(answer({"file_path": path}))["hookSpecificOutput"]["permissionDecision"] == "deny", path
    assert "bench.sh" in answer({"command": "*** Begin Patch\n*** Update File: bench.sh\n@@\n"})
    assert answer({"file_path": "src/a.c"}) == "" and answer({}) == ""


def test_pi_is_steered_by_at_most_eight_kilobytes(make_base):
    pages = {f"wiki/experiments/t/2026-01-{i:02}-v{i:03}-a.md": PAGE.replace("title: A", f"title: Unroll {i} " + "ü" * 300) for i in range(1, 29)}
    root = make_base(pages).root
    kb(root, "agents", "watch", "--target", "t")
    told = kb(root, "agents", "hook", "before", text='{"event":"before","last_run":{"run":6,"description":"Unroll the loop"}}')
    assert 0 < len(told.encode()) <= 8001
    assert kb(root, "agents", "hook", "after", text='{"event":"after","run_entry":{"run":7,"description":"Unroll 3"}}', code=0)


@pytest.mark.skipif(not shutil.which("agentskills"), reason="skills-ref is not installed")
def test_the_skills_are_valid_by_their_standard(make_base):
    root = make_base({}).root
    kb(root, "agents", "install", "--harness", "claude")
    for folder in (root / ".claude/skills").iterdir():
        subprocess.run(["agentskills", "validate", folder], check=True, capture_output=True)


def test_session_logs_say_which_steps_were_skipped(make_base):
    def used(command: str, tokens: int) -> str:
        call = {"type": "tool_use", "name": "Bash", "input": {"command": command}}
        return json.dumps({"type": "assistant", "message": {"usage": {"input_tokens": tokens, "output_tokens": 10}, "content": [call]}})

    claude = [used("kb load hypothesis --target t", 90), used("kb check p.md; kb experiment open p.md", 5), '{"type":"system","subtype":"compact_boundary"}', "broken", used("kb experiment close v1", 5)]
    codex = {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": json.dumps({"command": ["bash", "-lc", "kb experiment close v2"]})}}
    gemini = {"id": "m1", "type": "gemini", "tokens": {"input": 7, "output": 1}, "toolCalls": [{"name": "activate_skill", "args": {"name": "record-experiment"}}, {"name": "run_shell_command", "args": {"command": "kb experiment try p.md"}, "result": "repeat  unroll\n"}]}
    bare = {"id": "m1", "type": "gemini", "tokens": gemini["tokens"]}
    # A message comes when it was said, when its calls ended, and bare where the chat was resumed.
    chat = "\n".join(map(json.dumps, (bare, gemini, {"$set": {"messages": [{"id": "m1", "type": "gemini"}]}})))
    usage = {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 4, "output_tokens": 1}}}}
    logs = {"logs/a.jsonl": "\n".join(claude), "logs/b.jsonl": f"{json.dumps(codex)}\n{json.dumps(usage)}", "logs/c.jsonl": chat}
    root = make_base({**logs, "logs/older/d.json": json.dumps({"messages": [{**gemini, "toolCalls": []}]})}).root
    told = json.loads(kb(root, "agents", "sessions", "logs", "--format", "json"))
    by_name = {h["harness"]: h for h in told["harnesses"]}
    assert by_name["claude"]["tokens"]["load hypothesis"] == 100 and by_name["claude"]["compactions"] == 1
    assert by_name["claude"]["skipped"] == {"experiment run": 1, "experiment audit": 1}
    assert by_name["codex"]["commands"] == {"experiment close": 1} and by_name["codex"]["skipped"]["check"] == 1
    assert by_name["codex"]["tokens"] == {"experiment close": 5}
    assert by_name["gemini"]["skipped"] == {"load hypothesis": 1} and by_name["gemini"]["refused"] == 1
    assert by_name["gemini"]["sessions"] == 2 and by_name["gemini"]["tokens"] == {"experiment try": 8}
    assert any(t.startswith("codex: 1 of 1 experiments without `kb check`: skill `formulate-hypothesis` was never loaded") for t in told["proposals"])
    assert "process-retrospective.md" in kb(root, "agents", "sessions", "logs", "--write")
    kb(root, "agents", "sessions", "logs", "--write", code=2)
    (root / "notes.json").write_text('{"a": 1}')
    kb(root, "agents", "sessions", "notes.json", code=2)
