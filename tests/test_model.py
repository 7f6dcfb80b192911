"""The door to language models: both protocols over real HTTP, retries, cuts, refusals, and commands."""

import signal
import subprocess
import sys
import time

import pytest

from kb.model import Endpoint, ModelError, Prompt, Refusal
from kb.model.command import printed_by

pytest.importorskip("httpx", reason="the extra `ingest` is not installed")
from model_server import serving  # noqa: E402

from kb.model.http import ask  # noqa: E402

PROMPT = Prompt("Answer in JSON.", "How much?", {"type": "object"})
LONG = '{"answer": "' + "forty-two " * 40 + '"}'


def endpoint(url: str, protocol: str, **fields) -> Endpoint:
    return Endpoint(protocol=protocol, url=url, model="small", key="k-secret", **fields)


@pytest.mark.parametrize("protocol", ("openai", "anthropic"))
def test_a_streamed_reply_comes_whole_with_its_tokens(protocol):
    with serving(lambda text, count: LONG) as model:
        reply = ask(endpoint(model.url, protocol), PROMPT)
    assert reply.text == LONG
    assert (reply.model, reply.tokens_in, reply.tokens_out, reply.cached) == ("small-0611", 120, 30, 100)
    sent = model.requests[0]
    assert ("response_format" in sent) if protocol == "openai" else (sent["tool_choice"]["name"] == "reply")
    assert "k-secret" in str(model.headers[0]) and "k-secret" not in repr(endpoint(model.url, protocol))


@pytest.mark.parametrize("protocol", ("openai", "anthropic"))
def test_what_may_pass_is_asked_again_and_waits_as_long_as_the_server_says(protocol):
    waits: list[float] = []
    script = {1: 429, 2: 503, 3: "cut", 4: "garbage", 5: LONG}
    with serving(lambda text, count: script[count]) as model:
        reply = ask(endpoint(model.url, protocol), PROMPT, sleep=waits.append)
    assert reply.text == LONG and len(model.requests) == 5
    assert waits == [0.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize("protocol", ("openai", "anthropic"))
def test_what_will_not_pass_is_said_at_once(protocol):
    for answer, error, words in ((401, ModelError, "is the key right"), (400, ModelError, "no luck"), ("refuse", Refusal, "declined"), ("long", ModelError, "smaller packet")):
        with serving(lambda text, count, answer=answer: answer) as model:
            with pytest.raises(error, match=words) as caught:
                ask(endpoint(model.url, protocol), PROMPT, sleep=lambda s: None)
            assert len(model.requests) == 1 and "k-secret" not in str(caught.value)


def test_a_server_that_never_recovers_ends_with_what_it_said():
    with serving(lambda text, count: 500) as model:
        with pytest.raises(ModelError, match=r"status 500: no luck \(500\) \(3 attempts\)"):
            ask(endpoint(model.url, "openai", attempts=3), PROMPT, sleep=lambda s: None)
    with pytest.raises(ModelError, match="try again later"):
        ask(endpoint("http://127.0.0.1:9/v1", "openai", attempts=2), PROMPT, sleep=lambda s: None)
    with pytest.raises(ModelError, match="no address"):
        ask(endpoint("nonsense", "openai"), PROMPT, sleep=lambda s: None)


def test_a_command_reads_the_prompt_and_prints_the_reply():
    echo = f"{sys.executable} -c 'import sys; print(len(sys.stdin.read()))'"
    assert printed_by(echo, "Answer in JSON.").strip() == "15"


@pytest.mark.parametrize(
    ("command", "words"),
    (
        ("no-such-program-here", "cannot be started"),
        (f"{sys.executable} -c 'import sys; sys.exit(\"out of credit\")'", "ended with 1: out of credit"),
        ("'", "not a command line"),
    ),
)
def test_a_command_that_fails_is_told_with_its_reason(command, words):
    with pytest.raises(ModelError, match=words):
        printed_by(command, "How much?")


def test_a_command_that_hangs_is_ended_with_all_it_started():
    with pytest.raises(ModelError, match="no reply within 1 s"):
        printed_by("sh -c 'sleep 60 & sleep 60'", "How much?", timeout_s=1.0)


def test_a_command_that_prints_on_and_on_is_ended():
    with pytest.raises(ModelError, match="printed over 8 MB"):
        printed_by("sh -c 'yes & yes'", "How much?", timeout_s=60.0)
    with pytest.raises(ModelError, match="ended with 3: y"):
        printed_by("sh -c 'yes | head -c 20000000 >&2; exit 3'", "x" * 3_000_000, timeout_s=60.0)


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
def test_fillers_end_with_kb_however_that_ends(make_base, interruptible, tmp_path, number):
    pages = {f"wiki/experiments/{n}.md": f"# Try {n}\n\nTiles of {n}, it was slower.\n" for n in range(4)}
    root, mark = make_base(pages).root, tmp_path / "started"
    command = f"sh -c 'echo $$ >> {mark}; sleep 61 & sleep 61'"
    words = ("ingest", "--task", "normalise", "wiki", "--with", "command", "--command", command, "--at-once", "3")
    talk = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-m", "kb", *words], cwd=root, preexec_fn=interruptible, **talk) as kb:
        _wait_for(lambda: mark.is_file() and len(mark.read_text().split()) == 3)
        kb.send_signal(number)
        kb.wait(timeout=15)
    groups = [int(pid) for pid in mark.read_text().split()]
    _wait_for(lambda: not any(_is_there(group) for group in groups))
    assert len(mark.read_text().split()) == 3 and not list(root.rglob("*.kb-tmp"))


def _wait_for(holds, seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def _is_there(group: int) -> bool:
    """Whether a group has a process that runs; one that nobody buried is none."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout.splitlines()
    return any(int(line.split()[0]) == group and not line.split()[1].startswith("Z") for line in listed)
