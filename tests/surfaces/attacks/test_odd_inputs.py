"""Whatever a file or a request consists of, the answer is an error that says what is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import TextContent

import vaultsync
from tests.bridges import Client, open_bridge
from tests.mcp_clients import Home, make_home
from tests.proofs.turns import sampled
from vaultsync.errors import VaultsyncError
from vaultsync.http_bridge.handlers import ROUTES
from vaultsync.mcp_server import resources
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool

pytestmark = pytest.mark.long(5)

DEEP = 100_000
ODD_TEXTS = (
    b"", b" ", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", "{}".encode("utf-16"), b"null", b"true", b"1",
    b"1e999", b"-" + b"9" * 5_000, b"NaN", b"Infinity", b'"', b'"\\ud800"', b"[]", b"{}", b"{",
    b"[" * DEEP, b'{"a":' * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * 900 + b"1" + b"}" * 900,
    b'{"a": 1, "a": 2}', b'{"\\ud800": "\\ud800"}', b'{"files": 1, "facts": {"a": []}}',
    b"[[1]]", b'["a", {"b": null}]', b"---\n", b"a = [", b"a.b.c.d = 1",
    b'{"colorGroups": [{"query": [1]}, 1, null]}', b'{"colorGroups": {}}',
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = make_home(tmp_path)
    with made.memory("indy") as indy:
        indy.remember("It is known.", title="Known", scope="public")
    return made


def _check_said(home: Home, *words: str) -> None:
    """Run a command, which may fail, but not by a fault of its own."""
    done = home.run(*words)
    assert done.exit_code in (0, 1, 2, 3, 4, 5, 6), done.output
    assert "Traceback" not in done.output
    assert "fault of vaultsync" not in done.output, done.output
    if done.exit_code not in (0, 3):
        assert "hint:" in done.output, done.output


def test_an_odd_line_of_an_import_is_named(home: Home) -> None:
    file = home.vault.parent / "facts.jsonl"
    for data in sampled(ODD_TEXTS, 3):
        file.write_bytes(data)
        _check_said(home, "import", str(file))
        file.write_bytes(b'{"title": "a", "content": "b"}\n' + data + b"\n")
        _check_said(home, "import", str(file))


def test_odd_settings_say_what_is_wrong(home: Home) -> None:
    for data in ODD_TEXTS:
        (home.vault / ".meta" / "config.toml").write_bytes(data)
        _check_said(home, "status")


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "content": "b"}', '{"content": {"a": 1}}', '{"content": "b", "tags": 1}',
        '{"content": "b", "tags": [[1]]}', '{"content": "b", "createdAt": "99999-01-01"}',
        '{"content": "b", "priority": 1e400}', '{"content": "b", "mood": NaN}',
        '{"content": "\\ud800", "title": "\\udfff"}', '{"content": "b", "scope": "../x"}',
        '{"content": "b", "type": ["note"]}', '{"content": "b", "relatedFactIds": "x"}',
        '{"content": "b", "mood": ' + "[" * 500 + "]" * 500 + "}",
        '{"content": "b", "a\\u0000b": 1}', '{"content": "b", "\\n---\\nid": 1}',
        '{"content": "b", "mood": ' + "9" * 5_000 + "}", '{"": "b", "content": "b"}',
        '{"content": "b", "title": "' + "a" * 100_000 + '"}',
    ],
)  # fmt: skip
@pytest.mark.long(4)
def test_an_odd_value_of_an_import_is_refused_or_comes_back(home: Home, line: str) -> None:
    file = home.vault.parent / "facts.jsonl"
    file.write_text(line + "\n", "utf-8")
    _check_said(home, "import", str(file))
    _check_said(home, "sync")
    _check_said(home, "verify")


def test_odd_files_of_obsidian_are_left_alone(home: Home) -> None:
    folder = home.vault / ".obsidian"
    (folder / "plugins" / "vaultsync").mkdir(parents=True, exist_ok=True)
    (home.vault / "public").mkdir(exist_ok=True)
    for data in sampled(ODD_TEXTS, 3, 1):
        for name in ("graph.json", "app.json", "workspace.json", "plugins/vaultsync/data.json"):
            (folder / name).write_bytes(data)
        for name in ("a.canvas", "b.base", "c.excalidraw", "d.json"):
            (home.vault / "public" / name).write_bytes(data)
        for words in (["graph", "colours"], ["sync"], ["links", "check"]):
            _check_said(home, *words)
        assert (folder / "app.json").read_bytes() == data
        assert (home.vault / "public" / "a.canvas").read_bytes() == data


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
@pytest.mark.parametrize("name", [".obsidian/graph.json", ".index/vault-index.md", "x.jsonl"])
@pytest.mark.long(4)
def test_what_is_no_file_hangs_nothing(home: Home, name: str, kind: str) -> None:
    path = home.vault / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name)
    if name == "x.jsonl" and kind == "pipe":
        return  # the user may import from a pipe
    words = {".obsidian/graph.json": ["graph", "colours"], "x.jsonl": ["import", str(path)]}
    _check_said(home, *words.get(name, ["index"]))


@pytest.mark.parametrize("folder", ["public", "public/notes"])
def test_notes_behind_a_linked_folder_are_named_and_wait(home: Home, folder: str) -> None:
    home.run("sync")
    path, elsewhere = home.vault / folder, home.vault.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    for _ in range(3):
        with vaultsync.open(str(home.vault), state_dir=str(home.state)) as memory:
            (notice,) = memory.sync().attention
            assert (notice.kind, notice.path) == ("unreadable_folder", "public/notes")
            assert "it is a link" in notice.message
            assert memory.list().facts
    path.unlink()
    elsewhere.rename(path)
    with vaultsync.open(str(home.vault), state_dir=str(home.state)) as memory:
        assert memory.sync().quiet
        assert memory.verify().equal


@pytest.mark.parametrize("data", sampled(ODD_TEXTS, 3, 2))
@pytest.mark.long(4)
def test_odd_tables_and_state_are_made_again(home: Home, data: bytes) -> None:
    home.run("sync")
    for folder in (home.vault / ".index", home.state):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in (".md", ".json") and "qdrant" not in path.parts:
                path.write_bytes(data)
    (home.vault / ".meta" / "sync-state.json").write_bytes(data)
    for words in (["recall", "known"], ["sync"], ["index"], ["status"], ["context", "known"]):
        _check_said(home, *words)


def _deep(depth: int) -> object:
    found: object = 1
    for number in range(depth):
        found = [found] if number % 2 else {"a": found}
    return found


ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 10**30, 1.5, float("nan"), float("inf"), "", "\0", "\ud800", "a" * 200_000, [],
    {}, [None], [[["a"]]], {"a": {"b": [1]}}, {"": ""}, {"\ud800": 1}, _deep(400), _deep(5_000),
    "../../etc/passwd", "private-ada", "vaultsync://fact/\ud800", ["a"] * 2_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def indy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    with make_home(tmp_path_factory.mktemp("odd")).memory("indy") as memory:
        memory.remember("It is known.", title="Known")
        yield memory


@pytest.mark.parametrize("name", TOOLS_BY_NAME)
@pytest.mark.long(4)
def test_odd_arguments_of_a_tool_are_refused_in_words(
    indy: AgentMemory, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # no repository, in which tools would write
    tool = TOOLS_BY_NAME[name]
    known = indy.list().facts[0].id
    properties = tool.input_schema["properties"]
    required = {
        key: known if key in ("id", "conflict") else "store" if key == "take" else "Known"
        for key in tool.input_schema.get("required", [])
    }
    for key in [*properties, "other"]:
        for value in sampled(ODD_VALUES, 3, len(key)):
            done = run_tool(indy, tool, {**required, key: value})
            text = done.content[0]
            assert isinstance(text, TextContent)
            assert "fault of vaultsync" not in text.text, (key, type(value), text.text[:500])


ADDRESSES = ("\ud800", "%ff", "%00", "../../x", "a" * 10_000, "", "%", "\0", "[", "//x")


@pytest.mark.parametrize("begin", [resources.FACT_URI, resources.INDEX_URI, "", "file:///etc/"])
def test_odd_addresses_of_resources_are_not_found(indy: AgentMemory, begin: str) -> None:
    for each in ADDRESSES:
        with pytest.raises(VaultsyncError):
            resources.read_resource(indy, begin + each)


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with open_bridge(tmp_path_factory.mktemp("bridge")) as opened:
        yield opened


@pytest.mark.parametrize(
    "path", [row.path.replace("{id}", "x") for row in ROUTES if row.method != "GET"]
)
@pytest.mark.long(4)
def test_odd_bodies_are_refused_in_words(bridge: Client, path: str) -> None:
    method = next(r.method for r in ROUTES if r.path.replace("{id}", "x") == path)
    for data in ODD_TEXTS:
        answer = bridge(method, path, raw=data)
        assert answer.status < 500, (path, data[:40], answer.body[:400])
        json.loads(answer.body)
