"""Keys, tokens, and where a bridge says that it listens: for their owner's eyes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from vaultsync.api.privacy import environment_values
from vaultsync.backends.contended_files import create_file
from vaultsync.backends.replace_file import replace_file
from vaultsync.backends.state.bridge_token import TokenFile
from vaultsync.backends.state.process_files import BridgeAddressFile
from vaultsync.backends.state.secret_files import KEY_BYTES, read_or_make_key
from vaultsync.errors import ConfigError


def test_a_token_is_made_once_and_private_and_a_renewed_one_is_seen_by_all(tmp_path: Path) -> None:
    held, other = TokenFile(tmp_path), TokenFile(tmp_path)
    assert held.find() is None
    token = held.token()

    assert len(token) >= 43
    assert other.token() == other.find() == token
    assert os.listdir(tmp_path) == ["bridge.token"]  # noqa: PTH208 - names alone
    (tmp_path / "bridge.token").chmod(0o644)
    assert TokenFile(tmp_path).token() == token
    assert (tmp_path / "bridge.token").stat().st_mode & 0o777 == 0o600
    assert token != other.rotate() == held.token()


def test_processes_that_need_the_first_token_at_the_same_time_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as many:
        (token,) = set(many.map(lambda _: TokenFile(tmp_path).token(), range(32)))
    assert TokenFile(tmp_path).find() == token
    assert os.listdir(tmp_path) == ["bridge.token"]  # noqa: PTH208 - names alone


def test_an_empty_file_and_a_link_are_no_token(tmp_path: Path) -> None:
    (tmp_path / "bridge.token").write_text("\n")
    assert TokenFile(tmp_path).find() is None
    assert len(TokenFile(tmp_path).token()) >= 43

    (tmp_path / "bridge.token").unlink()
    (tmp_path / "secret").write_text("of somebody else")
    (tmp_path / "bridge.token").symlink_to(tmp_path / "secret")

    assert TokenFile(tmp_path).find() is None
    with pytest.raises(ConfigError, match="token file"):
        TokenFile(tmp_path).token()


def test_where_nothing_can_be_written_there_is_no_token(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        TokenFile(tmp_path / "missing").rotate()
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "file", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_what_is_announced_is_found_until_it_is_withdrawn(tmp_path: Path) -> None:
    said = BridgeAddressFile(tmp_path)
    assert said.find() is None
    said.write(27125, "indy")

    found = BridgeAddressFile(tmp_path).find()
    assert found is not None
    assert (found.address, found.agent) == ("http://127.0.0.1:27125", "indy")
    assert found.pid == os.getpid()
    assert (tmp_path / "bridge.json").stat().st_mode & 0o777 == 0o600
    said.remove_own()
    assert said.find() is None
    said.remove_own()


def _gone() -> int:
    """The id of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{}",
        '{"address": "http://127.0.0.1:1", "pid": "x"}',
        '{"address": "http://127.0.0.1:1", "pid": -1}',
        *(f'{{"address": "http://{host}", "pid": PID}}' for host in ("evil:1", "127.0.0.1:1@evil")),
        '{"address": 7, "pid": PID}',
    ],
)
def test_a_word_that_makes_no_sense_is_none(tmp_path: Path, said: str) -> None:
    (tmp_path / "bridge.json").write_text(said.replace("PID", str(os.getpid())))

    assert BridgeAddressFile(tmp_path).find() is None


def test_what_another_bridge_said_stays_as_long_as_it_runs(tmp_path: Path) -> None:
    for pid in (os.getppid(), _gone()):
        said = {"address": "http://127.0.0.1:27125", "pid": pid}
        (tmp_path / "bridge.json").write_text(json.dumps(said))
        assert (BridgeAddressFile(tmp_path).find() is None) is (pid != os.getppid())
        BridgeAddressFile(tmp_path).remove_own()
        assert (tmp_path / "bridge.json").exists() is (pid == os.getppid())


def test_a_key_is_made_once_by_many_and_private_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    with ThreadPoolExecutor(8) as many:
        (key,) = set(many.map(lambda _: read_or_make_key(path), range(32)))
    assert not create_file(path, b"x" * KEY_BYTES)  # as one that comes late
    assert read_or_make_key(path) == key
    assert len(key) == KEY_BYTES
    assert [each.name for each in tmp_path.iterdir()] == ["a.key"]

    path.chmod(0o644)
    assert read_or_make_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut.key").write_bytes(b"short")
    (tmp_path / "other").write_bytes(b"x" * KEY_BYTES)
    (tmp_path / "link.key").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe.key")
    for name, hint in (
        ("cut", "remove it"),
        ("link", "a link points to itself, or links are not allowed here"),
        ("pipe", "remove it"),
        ("missing/a", "create the folder first"),
    ):
        with pytest.raises(
            ConfigError, match="truncated" if name == "cut" else "cannot be used"
        ) as e:
            read_or_make_key(tmp_path / f"{name}.key")
        assert e.value.hint.startswith(hint)


def test_a_key_that_may_not_be_read_needs_the_right_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", Mock(side_effect=PermissionError))
    with pytest.raises(ConfigError) as caught:
        read_or_make_key(tmp_path / "a.key")
    assert caught.value.hint == "change its permissions so that you can read and write it"


def test_a_disk_without_links_holds_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", Mock(side_effect=PermissionError))
    key = read_or_make_key(tmp_path / "a.key")
    assert read_or_make_key(tmp_path / "a.key") == key
    assert not create_file(tmp_path / "a.key", b"")
    assert [each.name for each in tmp_path.iterdir()] == ["a.key"]
    assert read_or_make_key(tmp_path / "a.key") == key


def test_variables_that_are_not_set_have_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", " 1 ")
    monkeypatch.setenv("EMPTY", " ")
    monkeypatch.delenv("NONE", raising=False)
    assert environment_values(["ONE", "EMPTY", "NONE"]) == {"ONE": "1"}
