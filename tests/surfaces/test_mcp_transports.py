"""An agent over MCP and a user in the vault: over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias, cast
from unittest.mock import AsyncMock, Mock

import httpx
import pytest
from mcp import ClientSession

from tests.bench.single import HELLO
from tests.forked import start_program
from tests.mcp_clients import MCP, Home, ask, hits, make_home, over_http, over_stdio, serving, token
from vaultsync.mcp_server.stdio import _Lines, whole_characters

pytestmark = pytest.mark.long(5)

Transport: TypeAlias = Callable[[Home], AbstractAsyncContextManager[ClientSession]]
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.mark.parametrize("transport", [over_stdio, over_http])
def test_an_agent_recalls_the_users_edit_of_its_fact(home: Home, transport: Transport) -> None:
    async def talk() -> None:
        async with transport(home) as agent:
            fact = await ask(
                agent,
                "memory_store_fact",
                text="The harbour crane is painted green.",
                type="observation",
                tags=["harbour"],
            )
            assert fact["mirrored"]
            note = home.note(fact["path"])
            assert "painted green" in note.read_text(encoding="utf-8")

            text = note.read_text(encoding="utf-8")
            note.write_text(text.replace("green", "ultramarine"), encoding="utf-8")

            found = await ask(agent, "memory_recall", query="colour of the crane")
            assert hits(found) == ["The harbour crane is painted ultramarine."]
            assert found["degraded"] == []
            known = await ask(agent, "query_vault", ids=[fact["id"]])
            assert known["facts"][0]["content"] == hits(found)[0]
            assert (await ask(agent, "memory_conflicts"))["conflicts"] == []

    asyncio.run(talk())
    assert json.loads(home.run("verify", "--json").stdout)["equal"]


def test_with_a_daemon_new_notes_and_edits_are_synced(home: Home) -> None:
    async def talk() -> None:
        async with over_stdio(home) as agent:
            await _until(agent, "memory_status", lambda said: said["engine"] != "idle")
            fact = await ask(agent, "memory_store_fact", text="The crane is green.")
            assert fact["mirrored"]
            note = home.note(fact["path"])
            text = note.read_text(encoding="utf-8")
            note.write_text(text.replace("green", "ultramarine"), encoding="utf-8")
            edited = ["The crane is ultramarine."]
            await _until(agent, "memory_recall", lambda said: hits(said) == edited, query="crane")

    with start_program(
        home.command("watch", "--no-bridge"), env=home.environment, stderr=subprocess.DEVNULL
    ) as daemon:
        try:
            asyncio.run(asyncio.wait_for(talk(), 120))
        finally:
            daemon.terminate()
            assert daemon.wait(60) == 0
    assert json.loads(home.run("verify", "--json").stdout)["equal"]


async def _until(
    agent: ClientSession, tool: str, right: Callable[[dict[str, Any]], bool], **given: object
) -> None:
    """Ask until the answer is right: the client cannot tell otherwise when the daemon is done."""
    for _ in range(1_000):
        if right(await ask(agent, tool, **given)):
            return
        await asyncio.sleep(0.05)
    raise TimeoutError(tool)


@contextmanager
def _started(home: Home) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """A server, its stdin and its stdout."""
    pipe = subprocess.PIPE
    words, env = home.command("mcp"), home.environment
    with start_program(words, env=env, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdin
        assert program.stdout
        yield program, program.stdin, program.stdout


def _lines(*messages: object) -> str:
    return "".join(json.dumps(each) + "\n" for each in messages)


def _call(number: int, tool: str, **given: object) -> object:
    params = {"name": tool, "arguments": given}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_all_piped_requests_are_answered_after_stdin_is_closed(home: Home) -> None:
    store = _call(2, "memory_store_fact", text="Tea at four.", title="Tea")
    done = subprocess.run(
        home.command("mcp"),
        input="\n" + _lines(HELLO, READY, store, _call(3, "memory_status")).rstrip(),
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = {row["id"]: row["result"] for row in map(json.loads, done.stdout.split("\n")[:-1])}
    assert sorted(answers) == [1, 2, 3]
    status = answers[3]["structuredContent"]
    # Without --agent it has a default name, and sees only what that agent may.
    assert (status["agent"], status["scope"]) == ("mcp", "private-mcp")
    assert len(list(home.vault.glob("private-mcp/notes/*-tea.md"))) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_waiting_server_cleanly(home: Home, number: signal.Signals) -> None:
    with _started(home) as (program, stdin, stdout):
        stdin.write(_lines(HELLO, READY, _call(2, "memory_store_fact", text="A.")))
        stdin.flush()
        assert [json.loads(stdout.readline())["id"] for _ in range(2)] == [1, 2]
        program.send_signal(number)
        assert program.wait(60) == 0
    proof = json.loads(home.run("verify", "--json").stdout)
    assert (proof["equal"], proof["checked"]) == (True, 1)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--vault", "/nowhere"], "NotAVaultError"),
        (["--agent", "../x"], "InvalidAgentError"),
        (["--agent", "indy", "--scope", "private-ada"], "ScopeDeniedError"),
        (["--port", "1234"], "UsageError"),
    ],
)
def test_invalid_options_are_refused_at_once(home: Home, words: list[str], kind: str) -> None:
    done = home.run("mcp", *words, "--json")
    assert done.exit_code in (1, 2)
    assert json.loads(done.stdout)["error"]["kind"] == kind


def test_http_requires_the_token_and_refuses_other_origins(home: Home, tmp_path: Path) -> None:
    other = make_home(tmp_path / "other")
    right = {"Authorization": f"Bearer {token(home)}"}
    cases: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": f"Bearer {token(other)}"}, 401),
        ({**right, "Origin": "https://example.org"}, 403),
        ({**right, "Origin": "null"}, 403),
        ({**right, "Host": "example.org"}, 403),
    ]
    with serving(home, *MCP) as (_, address), httpx.Client() as client:
        for headers, status in cases:
            for answer in (
                client.post(address, json=HELLO, headers=headers),
                client.get(address, headers=headers),
                client.delete(address, headers=headers),
            ):
                assert answer.status_code == status, headers
                assert (b"vaultsync bridge token" in answer.content) == (status == 401)
        accept = {"Accept": "application/json, text/event-stream"}
        found = client.post(address, json=HELLO, headers={**right, **accept})
        assert found.json()["result"]["serverInfo"]["name"] == "vaultsync"


def test_a_port_in_use_is_an_error_without_a_traceback(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = home.run("mcp", "--http", "--port", str(port))
        assert done.exit_code == 2
        assert f"cannot listen on port {port}" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_handshake_is_answered_soon_even_after_an_invalid_line(home: Home) -> None:
    began = time.monotonic()
    with _started(home) as (program, stdin, stdout):
        stdin.write("no json\n" + _lines(HELLO))
        stdin.flush()
        while json.loads(stdout.readline()).get("id") != 1:
            pass
        took = time.monotonic() - began
        # The client leaves before its last answer, which is not an error of the server.
        stdout.close()
        stdin.write(_lines(READY, _call(2, "memory_status")))
        stdin.close()
    assert program.returncode == 0
    # 0.8 s on an idle machine; the bound is for a busy one.
    assert took < 60


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is always full")
def test_answers_that_cannot_be_written_are_reported_without_a_traceback(home: Home) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            home.command("mcp"),
            env=home.environment,
            input=_lines(HELLO),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "cannot write an answer to the client" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
def test_a_server_ends_when_its_client_closes_its_stdin(home: Home, *, is_reset: bool) -> None:
    ours, theirs = socket.socketpair()  # as Node.js connects its child processes
    with (
        ours,
        start_program(
            home.command("mcp"),
            env=home.environment,
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.PIPE,
            text=True,
        ) as program,
    ):
        theirs.close()
        ours.sendall(_lines(HELLO).encode())
        assert ours.recv(1, socket.MSG_PEEK) == b"{"
        if not is_reset:
            ours.recv(1 << 16)
        ours.close()  # with an unread answer, the server's next read fails
        assert program.wait(60) == 0
        assert program.stderr
        assert program.stderr.read() == ""


def test_a_server_without_stdin_ends(home: Home) -> None:
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *home.command("mcp")]
    done = subprocess.run(shell, env=home.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("sent", [b"", b"{}\n"], ids=["closed", "a line"])
def test_what_arrives_on_stdin_after_the_loop_is_no_error(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal ends the loop, and the client closes its end while the bookkeeping is finished."""
    ours, theirs = os.pipe()
    read = os.read
    monkeypatch.setattr(os, "read", lambda _, size: read(ours, size))
    os.write(theirs, b"[]\n")
    assert asyncio.run(_first_line()) == "[]"
    (reader,) = (each for each in threading.enumerate() if each.name == "stdin")
    os.write(theirs, sent)
    os.close(theirs)
    reader.join(60)  # pytest reports an error in it
    os.close(ours)


@pytest.mark.parametrize(("ends", "left"), [("answer", set()), ("cancel", set()), ("nothing", {7})])
def test_stdin_ends_with_the_last_answer(
    monkeypatch: pytest.MonkeyPatch, ends: str, left: set[int]
) -> None:
    ours, theirs = os.pipe()
    read = os.read
    monkeypatch.setattr(os, "read", lambda _, size: read(ours, size))
    monkeypatch.setattr("vaultsync.mcp_server.stdio.MAX_POLLS", 200 if ends == "answer" else 2)
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 7}}
    sent = [_call(7, "memory_status"), *([cancelled] if ends == "cancel" else [])]
    os.write(theirs, _lines(*sent).encode())
    os.close(theirs)
    waiting: set[int | str | None] = set()
    worker = Mock(idle=AsyncMock())

    async def talk() -> None:
        lines = aiter(_Lines(worker, waiting))
        for _ in sent:
            await anext(lines)
        if ends == "answer":  # on a busy machine, long after the worker has nothing to do
            asyncio.get_running_loop().call_later(0.5, waiting.clear)
        assert [line async for line in lines] == []

    asyncio.run(talk())
    os.close(ours)
    assert waiting == left


async def _first_line() -> str:
    return await anext(aiter(_Lines(cast("Any", None), set())))


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (r'"a\ud83d"', "a\ufffd"),
        (r'"\uDE00b"', "\ufffdb"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud83d \n\u00e4"', "\\ud83d \n\u00e4"),
    ],
)
def test_half_a_character_is_replaced(sent: str, read: str) -> None:
    assert json.loads(whole_characters(sent)) == read
