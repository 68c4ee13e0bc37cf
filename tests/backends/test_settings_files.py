"""Edits of files of settings: the lines of one setting, and nothing else."""

from __future__ import annotations

import errno
import os
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.host_file import write_host_file
from vaultsync.backends.state import bridge_token, settings_files
from vaultsync.backends.state.bridge_token import TokenFile
from vaultsync.backends.state.settings_files import (
    Changes,
    edit_machine_file,
    edit_marker,
    read_machine_file,
)
from vaultsync.backends.state.toml_edits import edit_toml
from vaultsync.backends.state.vault_marker import make_marker
from vaultsync.errors import SYSTEM_HINTS, ConfigError, UsageError

FILE = Path("id.toml")
TEXT = """\
# The first line.
store = "x"  # mine

[memory_file] # files
files = [
  "a.md",  # one
  "[watch]",
]

[watch]
settle_seconds = 1

[trust]
sha256 = "1"
"""


@pytest.mark.parametrize(
    ("changes", "gone", "added"),
    [
        ({("store",): None}, ['store = "x"  # mine\n'], ""),
        ({("store",): "y"}, ['store = "x"  # mine\n'], 'store = "y"\n'),
        ({("embedder",): "hash"}, [], 'embedder = "hash"\n'),
        ({("watch", "watcher"): "polling"}, [], 'watcher = "polling"\n'),
        ({("watch", "settle_seconds"): 2.5}, ["settle_seconds = 1\n"], "settle_seconds = 2.5\n"),
        ({("trust", "sha256"): None}, ['\n[trust]\nsha256 = "1"\n'], ""),
        ({("qdrant", "tls"): True}, [], "\n[qdrant]\ntls = true\n"),
        (
            {("memory_file", "files"): None},
            ['[memory_file] # files\nfiles = [\n  "a.md",  # one\n  "[watch]",\n]\n\n'],
            "",
        ),
        ({("reranker",): None}, [], ""),
        ({("watch", "sha256"): None}, [], ""),
    ],
)
def test_an_edit_changes_the_lines_of_one_setting(
    changes: dict[tuple[str, ...], object], gone: list[str], added: str
) -> None:
    after = edit_toml(TEXT, changes, FILE)
    rest = TEXT
    for each in gone:
        assert each in rest
        rest = rest.replace(each, "")
    assert after.replace(added, "", 1) == rest
    tomllib.loads(after)


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_names_are_quoted_if_necessary_and_line_ends_are_kept(eol: str) -> None:
    before = f"\ufeff# café\x85\u2028[x]{eol}store = 'x'{eol}"
    changes = {
        ("map", "type", "*"): "ignore",
        ("map", "type", "in progress"): "task",
        ("permissions", "agents", "*", "max_hits"): 5,
        ("store",): "y",
    }
    after = edit_toml(before, changes, FILE)
    lines = [
        "\ufeff# café\x85\u2028[x]", 'store = "y"',
        *("", "[map.type]", '"*" = "ignore"', '"in progress" = "task"'),
        *("", '[permissions.agents."*"]', "max_hits = 5", ""),
    ]  # fmt: skip
    assert after == eol.join(lines)
    changes = {key: "note" for key in changes if key[0] == "map"}
    assert edit_toml(after, changes, FILE) == (
        after.replace('"ignore"', '"note"').replace('"task"', '"note"')
    )
    changes = dict.fromkeys(changes) | {("permissions", "agents", "*", "max_hits"): None}
    assert edit_toml(after, changes, FILE) == eol.join([*lines[:2], ""])


@pytest.mark.parametrize(
    "text",
    [
        *("watch.watcher = 'auto'\n", "watch = {watcher = 'auto'}\n"),
        '[watch]\n"wat\\u0063her" = 1\n',
        "[watch]\nwatcher = [\n" + "  # ]\n" * 200 + "]\n",  # each of them may be its end
    ],
)
def test_what_is_written_in_another_way_is_left_alone(text: str) -> None:
    with pytest.raises(ConfigError, match=r"watch\.watcher"):
        edit_toml(text, {("watch", "watcher"): None}, FILE)
    with pytest.raises(ConfigError):
        edit_toml("x = ", {("watch", "watcher"): None}, FILE)


@pytest.mark.parametrize(
    "value",
    ["[\n  'a', # ]\n]", "[\n  '[a]',\n  # ]\n  ] # all", "'''\n  ]\n  # b'''", '"""]\n"""  # c'],
)
def test_a_value_of_many_lines_is_replaced_as_a_whole(value: str) -> None:
    after = edit_toml(f"keys = {value}\nrest = [\n]\n", {("keys",): ("y",)}, FILE)
    assert after == 'rest = [\n]\nkeys = ["y"]\n'


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
VALUES = SCALARS | st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9))
NAMES = st.sampled_from(["a", "b", "a_b"])


@given(
    st.lists(st.tuples(NAMES) | st.tuples(st.sampled_from(["t", "a_t"]), NAMES), unique=True),
    st.data(),
)
def test_any_values_are_set_and_removed(paths: list[tuple[str, ...]], data: st.DataObject) -> None:
    text, wanted = "# Mine.\nkept = 1", {}
    for path in [*paths, *paths]:
        wanted[path] = data.draw(VALUES)
        text = edit_toml(text, {path: wanted[path]}, FILE)
    found: Any = tomllib.loads(text)
    for path, value in wanted.items():
        at = found
        for name in path:
            at = at[name]
        assert at == value
    for path in paths:
        text = edit_toml(text, {path: None}, FILE)
    assert text.rstrip() == "# Mine.\nkept = 1"


def test_the_file_is_made_for_its_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "config" / "vaults" / "id.toml"
    assert read_machine_file(file) == ""
    edit_machine_file(file, {("store",): "x"})
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert tomllib.loads(read_machine_file(file)) == {"store": "x"}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large", "latin-1"])
def test_what_is_no_file_of_settings_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "id.toml"
    match kind:
        case "link":
            (tmp_path / "other").write_text("")
            file.symlink_to(tmp_path / "other")
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "large":
            file.write_text("#" * 70_000)
        case _:
            file.write_bytes("# ü".encode("latin-1"))
    with pytest.raises(ConfigError, match=str(file)):
        read_machine_file(file)


@pytest.mark.parametrize("is_marker", [True, False])
def test_changes_at_the_same_time_are_all_kept(tmp_path: Path, *, is_marker: bool) -> None:
    """Each process changes what it has read; one read before another's change would undo that."""
    make_marker(tmp_path, "id", scope="public")
    file = tmp_path / ".meta/config.toml" if is_marker else tmp_path / "vaults" / "id.toml"

    def change(number: int) -> None:
        changes: Changes = {("qdrant", f"key{number}"): number}
        edit_marker(tmp_path, changes) if is_marker else edit_machine_file(file, changes)

    with ThreadPoolExecutor(8) as many:
        list(many.map(change, range(24)))
    assert len(tomllib.loads(file.read_text())["qdrant"]) == 24


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_a_vault_whose_creation_was_killed_is_created_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, step, Mock(side_effect=KeyboardInterrupt))
        patch.setattr(Path, "unlink", Mock())  # as nothing is tidied up then
        with pytest.raises(KeyboardInterrupt):
            make_marker(tmp_path, "one", scope="public")
    assert make_marker(tmp_path, "two", scope="public")
    assert not make_marker(tmp_path, "three", scope="public")
    marker = tmp_path / ".meta/config.toml"
    assert tomllib.loads(marker.read_text())["vault_id"] == "two"
    assert marker.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    os.umask(mask := os.umask(0))
    return mask


def _write_marker(folder: Path) -> None:
    (folder / ".meta").mkdir()
    (folder / ".meta/config.toml").write_text("", encoding="utf-8")
    edit_marker(folder, {("language",): "de"})


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize(
    ("module", "step", "write"),
    [
        (settings_files, "replace_file", _write_marker),
        (
            settings_files,
            "replace_file",
            lambda x: edit_machine_file(x / "a/b/id.toml", {("store",): "sqlite"}),
        ),
        (bridge_token, "create_file", lambda x: TokenFile(x).token()),
        (bridge_token, "replace_file", lambda x: TokenFile(x).rotate()),
        (syscalls, "write_new", lambda x: write_host_file(x / "host.json", "{}", seen=None)),
    ],
)
def test_a_full_or_read_only_disk_is_not_taken_for_missing_permissions(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    module: ModuleType,
    step: str,
    write: Callable[[Path], object],
    number: int,
) -> None:
    fails = Mock(side_effect=OSError(number, os.strerror(number)))
    monkeypatch.setattr(module, step, fails)
    with pytest.raises(UsageError) as raised:
        write(tmp_path)
    assert os.strerror(number) in raised.value.message
    assert raised.value.hint == SYSTEM_HINTS[number]
