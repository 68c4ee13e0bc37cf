"""Files of the state folder that others may have put a pipe, a link or nonsense in place of."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultsync.backends.replace_file import read_file, read_json, replace_file
from vaultsync.backends.state import state_files
from vaultsync.backends.state.bridge_token import TokenFile
from vaultsync.backends.state.embedding_files import EmbeddingFiles
from vaultsync.backends.state.process_files import BridgeAddressFile, DaemonFile
from vaultsync.backends.state.recall_log import RECALL_LOG_NAME, FileRecallLog
from vaultsync.backends.state.secret_files import read_or_make_key
from vaultsync.backends.state.vault_marker import claim_state_dir
from vaultsync.errors import ConfigError
from vaultsync.storage.erasure import Traces

DEEP = "[" * 100_000 + "]" * 100_000


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def deep(path: Path) -> None:
    path.write_text(DEEP, encoding="utf-8")


def deep_object(path: Path) -> None:
    path.write_text('{"a":' * 100_000 + "1" + "}" * 100_000, encoding="utf-8")


REPLACED = [pipe, loop, deep, deep_object]


@pytest.mark.parametrize("put", REPLACED)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("daemon.json", lambda state: DaemonFile(state).read()),
        ("bridge.json", lambda state: BridgeAddressFile(state).find()),
        (
            RECALL_LOG_NAME,
            lambda state: getattr(FileRecallLog(state).batch(), "counts", None) or None,
        ),
    ],
)
def test_what_is_in_the_place_of_a_state_file_counts_as_none(
    tmp_path: Path, put: Callable[[Path], None], name: str, read: Callable[[Path], object]
) -> None:
    put(tmp_path / name)
    assert read(tmp_path) is None


def test_all_files_of_the_state_folder_are_read_with_that_care() -> None:
    for path in Path(state_files.__file__).parent.glob("*.py"):
        assert not re.search(r"\.read_(?:bytes|text)\(", path.read_text("utf-8")), path


@pytest.mark.parametrize("put", [pipe, loop])
def test_what_is_in_the_place_of_the_vaults_folder_is_replaced(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    put(tmp_path / "root")
    claim_state_dir(tmp_path, tmp_path / "vault", "an id")
    assert os.fsdecode(read_file(tmp_path / "root")) == f"{tmp_path / 'vault'}\0{tmp_path}"


def test_a_recall_is_not_noted_in_a_pipe(tmp_path: Path) -> None:
    pipe(tmp_path / RECALL_LOG_NAME)
    FileRecallLog(tmp_path).note(["a"], "2026-02-14T13:45:00Z")
    assert (tmp_path / RECALL_LOG_NAME).is_fifo()


@pytest.mark.parametrize("put", [pipe, loop])
def test_a_key_or_token_in_no_file_is_refused(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "key")
    put(tmp_path / "bridge.token")
    with pytest.raises(ConfigError, match="cannot be used"):
        read_or_make_key(tmp_path / "key")
    with pytest.raises(ConfigError, match="cannot be used"):
        TokenFile(tmp_path).token()


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", b'{"b": 1}')
    assert read_file(tmp_path / "a") == b'{"b": 1}'
    assert read_json(tmp_path / "a") == {"b": 1}
    deep(tmp_path / "deep")
    with pytest.raises(ValueError, match="too deeply"):
        read_json(tmp_path / "deep")
    with pytest.raises(OSError, match="not a regular file"):
        read_file(Path("/dev/null"))


@pytest.mark.parametrize("pid", [2**70, -(2**70)])
def test_an_impossible_process_id_is_that_of_no_process(tmp_path: Path, pid: int) -> None:
    for name in ("daemon.json", "embedding.json"):
        (tmp_path / name).write_text(f'{{"pid": {pid}}}', encoding="utf-8")

    assert DaemonFile(tmp_path).read() is None
    assert EmbeddingFiles(tmp_path).pid() is None


def test_a_read_only_state_has_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = EmbeddingFiles(tmp_path)
    files.write({})

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "embedding.lock")

    monkeypatch.setattr(files._lock, "acquire", refuse)
    assert files.pid() is None


def test_a_purge_erases_the_log_and_the_kept_texts_of_modules(tmp_path: Path) -> None:
    fact, secret = "018f2f6e-0000-7000-8000-000000000001", "The harbour code is 4711."
    facts = {
        "t/one": {"fact_id": fact, "title": "", "content": secret},
        "t/two": {"fact_id": "x", "title": "", "content": ""},
    }
    for name, lines in {
        "log/vaultsync.log": [f"the row of fact {fact} is damaged", "a sync failed"],
        "log/vaultsync.log.1": [fact],
        "modules/telemetry.jsonl": [f'{{"fact": "{fact}"}}', "{}"],
        "modules/kept/one": ["# Harbour", secret],
        "modules/kept/other": ["# Berths"],
        "modules/a/intent-1.json": [f'{{"text": "{secret}"}}'],
        "modules/a/record.json": [
            json.dumps(
                {
                    "facts": facts,
                    "space": "s",
                    "unread": [["k", "a.md", secret, "h"], ["k", "b.md", "w", "h"]],
                }
            )
        ],
        "modules/b/record.json": [f"damaged {fact}"],
        "modules/c/record.json": ["{}"],
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    erased = state_files.StateFiles(tmp_path).erase(Traces([fact], [secret]))

    assert erased == {"log lines": 3, "queued and kept files": 2, "module records": 2}
    record = json.loads((tmp_path / "modules/a/record.json").read_text(encoding="utf-8"))
    assert ([*record["facts"]], record["space"]) == (["t/two"], "s")
    assert [each[1] for each in record["unread"]] == ["b.md"]
    assert sorted(x.parent.name for x in tmp_path.rglob("*.json")) == ["a", "c"]
    for path in tmp_path.rglob("*.json"):
        path.unlink()
    assert {x.relative_to(tmp_path).as_posix(): x.read_text() for x in tmp_path.rglob("*.*")} == {
        "log/vaultsync.log": "a sync failed\n",
        "log/vaultsync.log.1": "",
        "modules/telemetry.jsonl": "{}\n",
    }
    assert [each.name for each in (tmp_path / "modules/kept").iterdir()] == ["other"]


@pytest.mark.parametrize("name", ["purging.json", "modules/a/record.json", "modules/kept/one"])
def test_a_purge_erases_the_drafts_that_a_crash_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with monkeypatch.context() as crash:
        crash.setattr(Path, "replace", lambda *_: None)
        replace_file(path, b'{"factIds": ["018f2f6e-0000-7000-8000-000000000001"]}')
        replace_file(path, b'{"factIds": ["018f2f6e-0000-7000-8000-000000000002"]}')

    erased = state_files.StateFiles(tmp_path).erase(
        Traces(["018f2f6e-0000-7000-8000-000000000001"])
    )

    assert erased["queued and kept files"] == 1
    (other,) = filter(Path.is_file, tmp_path.rglob("*"))
    assert b"000000000002" in other.read_bytes()


def test_a_purge_goes_on_where_another_process_removes_a_draft_or_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = tmp_path / "index/words"
    removed.mkdir(parents=True)
    drafts = [tmp_path / f".progress.json.{each * 8}" for each in "abc"]
    for draft in drafts:
        draft.write_text("x")
    scan, read = os.scandir, read_file

    def scandir(path: str | Path = ".") -> object:
        if removed.is_dir() and Path(path) == removed:
            removed.rmdir()
        return scan(path)

    def renamed(path: Path) -> bytes:
        data = read(path)
        if path == drafts[2]:
            path.unlink()  # after it is read
        drafts[1].unlink(missing_ok=True)  # before
        return data

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(state_files, "read_file", renamed)
    assert state_files.StateFiles(tmp_path).erase(Traces([], ["x"]))["queued and kept files"] == 2
    assert not any(draft.exists() for draft in drafts)


@pytest.mark.parametrize(
    "text", ["", "{half", "[]", "{}", '{"factIds": 1}', '{"factIds": [1]}', DEEP]
)
def test_a_damaged_record_of_a_purge_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    intent = state_files.PurgeIntentFile(tmp_path)
    assert intent.fact_ids() == ()
    intent.begin(["b", "a"])
    assert (intent.fact_ids(), intent.were_deleted()) == (("a", "b"), False)
    intent.begin(["b", "a"], deleted=True)
    assert (intent.fact_ids(), intent.were_deleted()) == (("a", "b"), True)
    intent.path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"{intent.path} is damaged") as raised:
        intent.fact_ids()
    assert "remove it" in raised.value.hint
