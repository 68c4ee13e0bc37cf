"""Every remote keeps to the words of `Remote`, over a real process or a real connection."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bridges import open_bridge
from tests.mcp_clients import make_home
from tests.module_service import ModuleService, serving
from tests.module_worlds import SimRemote
from tests.ports import free_port
from vaultsync.backends.remotes.choose_remote import remote_for
from vaultsync.backends.remotes.mcp_remote import ModuleToolsRemote
from vaultsync.errors import ConfigError
from vaultsync.modules.remote import (
    MirrorError,
    MirrorRefusedError,
    Remote,
    RemoteHit,
    RemoteQuery,
    RemoteRecord,
    usable,
)
from vaultsync.settings import ModuleSettings

pytestmark = pytest.mark.long(5)

ROOT = Path(__file__).parents[2]
SPACE = "nx-monorepo"
KINDS = ("sim", "http", "qdrant", "bridge", "byterover", "cipher", "vaultsync")


def record(chunk: str = "ap-01", text: str = "Tests live beside the code.\n") -> RemoteRecord:
    checksum = f"{abs(hash((chunk, text))):064x}"[-64:]
    return RemoteRecord(chunk, "patterns", "Test location", ("tests",), text, checksum)


def knowledge(product: str, folder: Path) -> ModuleSettings:
    words = [sys.executable, "-m", "tests.knowledge_server", product, str(folder / "held.json")]
    command = f"mcp:env {shlex.join([f'PYTHONPATH={ROOT}', *words])}"
    tools = {"remove": "forget"}
    return ModuleSettings(remote=command, preset=product, tools=tools, timeout_seconds=60)  # type: ignore[arg-type]


def open_remote(kind: str, folder: Path, stack: ExitStack) -> Remote:
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    settings = ModuleSettings()
    if kind == "sim":
        return SimRemote()
    if kind == "http":
        service = stack.enter_context(serving())
        patch.setenv("MODULES_KEY", "k-1")
        settings = ModuleSettings(remote=service.url, key="MODULES_KEY")
    elif kind == "qdrant":
        settings = ModuleSettings(remote="qdrant+local:points")
    elif kind == "bridge":
        patch.setenv("VAULTSYNC_STATE_DIR", str(folder / "state"))
        client = stack.enter_context(open_bridge(folder))
        patch.setenv("MODULES_KEY", client.token)
        url = f"vaultsync:http://127.0.0.1:{client.port}"
        settings = ModuleSettings(remote=url, key="MODULES_KEY")
    elif kind == "vaultsync":
        home = make_home(folder)
        (home.vault / ".git").mkdir()
        given = [f"{name}={value}" for name, value in home.environment.items() if "\n" not in value]
        kept = [each for each in given if each.startswith(("VAULTSYNC_", "PYTHONPATH="))]
        command = shlex.join(["env", "-C", str(home.vault), *kept, *home.command("mcp")])
        settings = ModuleSettings(remote=f"mcp:{command}", preset="vaultsync", timeout_seconds=60)
    else:
        settings = knowledge(kind, folder)
    made = remote_for(settings, root=folder)
    assert made is not None
    stack.callback(made.close)
    return made


@pytest.fixture(scope="module", params=KINDS)
def remote(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Remote]:
    with ExitStack() as stack:
        yield open_remote(request.param, tmp_path_factory.mktemp("remote"), stack)


def found(remote: Remote, *chunks: str, space: str = SPACE) -> dict[str | None, RemoteHit]:
    hits = remote.retrieve(space, RemoteQuery(chunks, ("tests",), "Test location"))
    return {each.chunk_id: each for each in hits if usable(each) and each.chunk_id in chunks}


def test_what_is_stored_is_retrieved(remote: Remote) -> None:
    given = record()
    assert remote.store(SPACE, given)
    hit = found(remote, "ap-01")["ap-01"]
    assert given.text.strip() in hit.text
    assert hit.checksum == given.checksum
    assert hit.confidence >= 0.4
    if remote.verbatim:
        assert hit.text == given.text
    else:
        assert hit.digest == given.digest


def test_a_newer_version_takes_the_place_of_an_older_one(remote: Remote) -> None:
    remote.store(SPACE, record("v-01", "Old words.\n"))
    new = record("v-01", "New words.\n")
    assert remote.store(SPACE, new) != ""
    assert remote.store(SPACE, new) != ""
    hits = remote.retrieve(SPACE, RemoteQuery(("v-01",), ("tests",), "Test location"))
    current = [each for each in hits if each.checksum == new.checksum]
    assert current
    assert "New words." in current[0].text


def test_spaces_do_not_mix(remote: Remote) -> None:
    remote.store("one", record("s-01", "Of one.\n"))
    assert found(remote, "s-01", space="two") == {}
    remote.remove("two", "s-01")
    assert "Of one." in found(remote, "s-01", space="one")["s-01"].text


def test_what_is_removed_is_gone(remote: Remote) -> None:
    remote.store(SPACE, record("r-01"))
    remote.remove(SPACE, "r-01")
    assert found(remote, "r-01") == {}
    remote.remove(SPACE, "r-01")
    again = record("r-01", "Again.\n")
    remote.store(SPACE, again)
    assert found(remote, "r-01")["r-01"].checksum == again.checksum


def test_what_was_never_there_is_not_found(remote: Remote) -> None:
    assert found(remote, "n-01") == {}


@pytest.mark.parametrize(
    "text",
    [
        "Ünïcode, 日本語, \U0001f600 and `code`.\n",
        "A key: [REDACTED:github:1a2b3c4d].\n",
        "---\ntitle: x\n---\n\n# Heading\n\n| a | b |\n|---|---|\n",
        f"{'Many words of a long module. ' * 4_000}\n",
    ],
)
def test_any_text_is_kept(remote: Remote, text: str) -> None:
    given = record("t-01", text)
    remote.store(SPACE, given)
    if isinstance(remote, ModuleToolsRemote) and len(text) > 40_000:
        assert found(remote, "t-01")["t-01"].confidence == 0  # an agent's answer is cut
        return
    hits = remote.retrieve(SPACE, RemoteQuery(("t-01",), ("tests",), "Test location"))
    current = [each for each in hits if each.checksum == given.checksum]
    assert current
    assert current[0].text.strip().endswith(text.strip()[-40:])


# --------------------------------------------------------------------- those that fail


@pytest.fixture
def service() -> Iterator[ModuleService]:
    with serving() as made:
        yield made


def http(service: ModuleService, key: str = "", timeout: float = 60.0) -> Remote:
    settings = ModuleSettings(remote=service.url, key=key, timeout_seconds=timeout)
    made = remote_for(settings, root=Path())
    assert made is not None
    return made


def test_a_key_is_sent_from_the_environment(
    service: ModuleService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MirrorError, match="MODULES_KEY"):
        http(service, "MODULES_KEY").store(SPACE, record())
    monkeypatch.setenv("MODULES_KEY", "k-1")
    http(service, "MODULES_KEY").store(SPACE, record())
    assert service.keys == ["Bearer k-1"]


@pytest.mark.parametrize(("status", "refused"), [(413, True), (401, False)])
def test_some_statuses_refuse_for_good(service: ModuleService, status: int, refused: bool) -> None:
    service.status = status
    with pytest.raises(MirrorError) as error:
        http(service).store(SPACE, record())
    assert isinstance(error.value, MirrorRefusedError) == refused


@pytest.mark.parametrize("raw", [b"not json", b"[" * 100_000, b"", b'{"id": 7}', b"[1]"])
def test_an_answer_that_is_none_is_a_failure(service: ModuleService, raw: bytes) -> None:
    service.raw = raw
    with pytest.raises(MirrorError):
        http(service).store(SPACE, record())


@pytest.mark.parametrize("raw", [b'{"hits": [{"text": 1}]}', b'{"hits": {"a": 1}}'])
def test_hits_that_are_none_are_a_failure(service: ModuleService, raw: bytes) -> None:
    service.raw = raw
    with pytest.raises(MirrorError):
        http(service).retrieve(SPACE, RemoteQuery(("a",)))


def test_a_redirect_is_not_followed(service: ModuleService) -> None:
    service.status, service.location = 302, "http://127.0.0.1:1/"
    with pytest.raises(MirrorError, match="302"):
        http(service).store(SPACE, record())


def test_a_service_that_does_not_answer_times_out(service: ModuleService) -> None:
    service.silent = True
    with pytest.raises(MirrorError, match="timed out"):
        http(service, timeout=0.2).store(SPACE, record())


def test_a_service_that_answers_byte_by_byte_times_out(service: ModuleService) -> None:
    service.slowly = 60
    with pytest.raises(MirrorError, match="timed out"):
        http(service, timeout=0.3).store(SPACE, record())


AWAY: dict[str, Callable[[], ModuleSettings]] = {
    "http": lambda: ModuleSettings(remote="http://127.0.0.1:1"),
    "bridge": lambda: ModuleSettings(remote="vaultsync:http://127.0.0.1:1"),
    "qdrant": lambda: ModuleSettings(remote="qdrant://127.0.0.1:1", timeout_seconds=1),
    "mcp command": lambda: ModuleSettings(remote="mcp:/nowhere/server", timeout_seconds=5),
    "mcp that ends": lambda: ModuleSettings(remote="mcp:true", timeout_seconds=5),
    "mcp url": lambda: ModuleSettings(remote="mcp:http://127.0.0.1:1/mcp", timeout_seconds=5),
    "mcp key": lambda: ModuleSettings(remote="mcp:true", key="NO_SUCH_KEY"),
}


@pytest.mark.parametrize("kind", AWAY)
def test_a_remote_that_is_away_says_so(kind: str, tmp_path: Path) -> None:
    made = remote_for(AWAY[kind](), root=tmp_path)
    assert made is not None
    with pytest.raises(MirrorError):
        made.store(SPACE, record())
    with pytest.raises(MirrorError):
        made.retrieve(SPACE, RemoteQuery(("a",)))
    made.close()
    made.close()


def test_a_server_that_ends_is_started_again(tmp_path: Path) -> None:
    remote = remote_for(knowledge("byterover", tmp_path), root=tmp_path)
    assert remote is not None
    remote.store(SPACE, record())
    remote.close()
    assert found(remote, "ap-01")
    remote.close()


def test_a_server_is_reached_over_http(tmp_path: Path) -> None:
    port = free_port()
    words = [
        "-m",
        "tests.knowledge_server",
        "byterover",
        str(tmp_path / "held"),
        "--http",
        str(port),
    ]
    with subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=subprocess.DEVNULL) as server:
        try:
            settings = ModuleSettings(remote=f"mcp:http://127.0.0.1:{port}/mcp", timeout_seconds=60)
            remote = remote_for(settings, root=tmp_path)
            assert remote is not None
            end = time.monotonic() + 60
            while True:
                try:
                    remote.store(SPACE, record())
                    break
                except MirrorError:
                    assert server.poll() is None
                    assert time.monotonic() < end
                    time.sleep(0.05)
            assert found(remote, "ap-01")["ap-01"].checksum == record().checksum
            remote.close()
        finally:
            server.terminate()


@pytest.mark.parametrize(
    "remote",
    [
        "ftp://x",
        "mcp:",
        "elsewhere",
        "http://",
        "http://u:p@h",
        "http://h:x",
        "mcp: ",
        "http://[::1",
        "qdrant://[::1",
    ],
)
def test_what_is_no_remote_is_refused(remote: str) -> None:
    with pytest.raises(ConfigError):
        remote_for(ModuleSettings(remote=remote), root=Path())


@pytest.mark.parametrize("remote", ["", "none"])
def test_there_may_be_no_remote(remote: str) -> None:
    assert remote_for(ModuleSettings(remote=remote), root=Path()) is None
