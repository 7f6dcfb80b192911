"""kb mcp [serve]: serve the verbs to an agent as MCP tools, over stdio, or on loopback with a token."""

from dataclasses import dataclass, replace

from kb import KbError, needing
from kb.store import bytes_of, own_state
from kb.verbs import Caller, Result, flag, option, text_result

FORMATS = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeTools:
    """Over stdio, unless a port is asked for."""

    http: bool = flag("serve streamable HTTP on 127.0.0.1 instead of stdio")
    port: int = option("with --http: the port (0 takes a free one)", default=0)
    token_file: str = option(
        "with --http: file that holds the bearer token (default: .kb/mcp-token, made anew at each start)",
        metavar="FILE",
    )


def run(request: ServeTools, caller: Caller) -> Result:
    import datetime

    with needing("agents"):
        from kb.server import service

    def one() -> Caller:
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        return replace(
            caller,
            folder=caller.layout.root,
            now=now,
            talk=_silent,
            progress=_silent,
            data=_silent,
            confined=True,
        )

    try:
        if request.http:
            service.serve_http(
                one, port=request.port, token=_token(request, caller), ready=caller.data
            )
        else:
            service.serve_stdio(one)
    except KeyboardInterrupt:
        pass
    return text_result()


def _silent(text: str) -> None:
    """Talk has nowhere to go: the other side reads answers alone."""


def _token(request: ServeTools, caller: Caller) -> str:
    import os
    import secrets

    file = (
        caller.file(request.token_file)
        if request.token_file
        else own_state(caller.layout, "mcp-token")
    )
    if request.token_file and not file.exists():
        raise KbError(
            f"{request.token_file}: no such file; write a token of 20 characters or more into it"
        )
    if not request.token_file:
        # A token that came with the folder is known to whoever shipped it.
        file.unlink(missing_ok=True)
        file.parent.mkdir(exist_ok=True)
        with open(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
        ) as out:
            out.write(secrets.token_urlsafe(32))
    token = bytes_of(file).decode("utf-8", "replace").strip()
    if len(token) < 20:
        raise KbError(f"{file}: a token of 20 characters or more is asked for")
    caller.talk(f"bearer token in {file}")
    return token
