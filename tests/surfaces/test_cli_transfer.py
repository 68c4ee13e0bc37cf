from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.surfaces.command_line import GRAPH_TEXT, FakeMemory, one_object, run
from vaultsync.cli import transfer_commands, user_input
from vaultsync.errors import ImportLineError, StoreUnavailableError

OLD = '{"id": "1", "type": "note", "scope": "public", "createdAt": "2026-01-05T00:00:00Z"}\n'
LINES = ['{"title": "ü"}\n', '{"title": "b"}\n']


def give(write: Callable[[str], object], *, user: str | None = None) -> int:
    for line in LINES:
        write(line)
    return len(LINES)


def break_off(write: Callable[[str], object], *, user: str | None = None) -> int:
    write(LINES[0])
    why = "gone"
    raise StoreUnavailableError(why)


def test_an_export_is_a_file_of_lines_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"

    result = run("export", str(file), "--json", memory=FakeMemory(export=give))

    assert one_object(result) == {"facts": 2}
    assert file.read_bytes() == "".join(LINES).encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_replaced_export_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "facts.jsonl", tmp_path / "latest"
    file.write_text(OLD)
    file.chmod(0o644)
    link.symlink_to(file)

    result = run("export", str(link), memory=FakeMemory(export=give))

    assert (result.exit_code, result.stdout) == (0, f"2 facts written to {link}\n")
    assert link.is_symlink()
    assert file.read_bytes() == "".join(LINES).encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize("answer", [break_off, KeyboardInterrupt(), FULL])
def test_an_export_that_breaks_off_leaves_the_old_file(tmp_path: Path, answer: object) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text(OLD)

    result = run("export", str(file), memory=FakeMemory(export=answer))

    assert result.exit_code in {1, 130}
    assert answer is not FULL or f"error: {file}: No space left" in result.stderr
    assert file.read_text() == OLD
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["My text.\n", '{"id": "x"}\n', "[1]", "null\n", '"', "\n"])
def test_a_file_that_is_no_export_is_replaced_by_force_only(tmp_path: Path, text: str) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text(text)
    words = ("export", str(file))

    refused = run(*words, memory=FakeMemory(export=give))
    assert refused.exit_code == 2
    assert "is not an export" in refused.stderr
    assert "--force" in refused.stderr
    assert file.read_text() == text

    assert run(*words, "--force", memory=FakeMemory(export=give)).exit_code == 0
    assert file.read_bytes() == "".join(LINES).encode()


@pytest.mark.parametrize(
    ("name", "why"), [("graph.json", "is not an export"), ("Plan.canvas", "--force")]
)
def test_a_graph_replaces_another_file_by_force_only(tmp_path: Path, name: str, why: str) -> None:
    if name == "Plan.canvas":  # of a vault
        (tmp_path / ".meta").mkdir()
        (tmp_path / ".meta" / "config.toml").touch()
    file = tmp_path / name
    words = ("graph", "export", str(file))
    assert run(*words).exit_code == 0
    if name == "graph.json":
        assert run(*words).exit_code == 0
    file.write_text('{"nodes": "mine"}', encoding="utf-8")

    refused = run(*words)
    assert refused.exit_code == 2
    assert why in refused.stderr
    assert file.read_text(encoding="utf-8") == '{"nodes": "mine"}'

    assert run(*words, "--force").exit_code == 0
    assert file.read_text(encoding="utf-8") == GRAPH_TEXT


def test_an_empty_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.touch()
    assert run("export", str(file), memory=FakeMemory(export=give)).exit_code == 0


def test_an_export_to_stdout_is_lines_alone() -> None:
    result = run("export", "-", memory=FakeMemory(export=give))

    assert (result.stdout, result.stderr) == ("".join(LINES), "2 facts\n")


def test_an_export_into_a_device_does_not_replace_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    assert run("export", str(pipe), memory=FakeMemory(export=give)).exit_code == 0
    assert os.read(reader, 1000) == "".join(LINES).encode()
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    os.close(reader)


def test_an_export_into_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    result = run("export", str(tmp_path / "no" / "x"), "--json")

    assert result.exit_code == 1
    assert one_object(result)["error"]["message"] == f"{tmp_path / 'no'}: no such folder"


def test_a_folder_that_cannot_be_written_is_named_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / ".f.jsonl.x1y2"))

    monkeypatch.setattr(tempfile, "mkstemp", denied)
    result = run("export", str(tmp_path / "f.jsonl"), memory=FakeMemory(export=give))
    assert f"error: {tmp_path / 'f.jsonl'}: Permission denied" in result.stderr


@pytest.mark.parametrize("piped", [True, False])
def test_an_import_takes_lines_as_they_are(tmp_path: Path, *, piped: bool) -> None:
    taken: list[str] = []

    def take(lines: Iterable[str]) -> int:
        taken.extend(lines)
        return len(taken)

    data = b"\xef\xbb\xbf" + '{"title": "a\u2028b"}\n\n{}'.encode()
    file = tmp_path / "facts.jsonl"
    file.write_bytes(data)

    where = "-" if piped else str(file)
    result = run(
        "import", where, "--json", memory=FakeMemory(import_=take), stdin=data if piped else None
    )

    assert one_object(result) == {"facts": 3}
    assert taken == ['{"title": "a\u2028b"}\n', "\n", "{}"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("import", "line 1: it is larger than 1 MiB"),
        ("remember --session s --messages", "/dev/zero is larger than 1 MiB"),
        ("eval run", "/dev/zero is larger than 1 MiB"),
    ],
)
def test_a_device_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    for module in (user_input, transfer_commands):
        monkeypatch.setattr(module, "MAX_TEXT", 1 << 20)
        monkeypatch.setattr(module, "TOO_LARGE", "larger than 1 MiB")
    result = run(*words.split(), "/dev/zero", memory=FakeMemory(import_=len_of))
    assert result.exit_code
    assert said in result.stderr


def len_of(lines: Iterable[str]) -> int:
    return len([*lines])


def test_a_bad_line_is_a_failure_and_no_file_wrong_usage(tmp_path: Path) -> None:
    result = run("import", "-", "--json", stdin=b"{}\n\xff\n")
    error = one_object(result)["error"]
    assert (result.exit_code, error["kind"]) == (1, "ImportLineError")
    assert error["message"].startswith("line 2: ")
    memory = FakeMemory(import_=ImportLineError(3, "no id"))
    assert run("import", "-", memory=memory, stdin="{}").exit_code == 1
    assert run("import", str(tmp_path / "none")).exit_code == 2


def test_an_import_names_the_command_that_writes_notes(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(LINES), encoding="utf-8")
    empty = tmp_path / "none.jsonl"
    empty.touch()

    assert "vaultsync sync" in run("import", str(file)).stderr
    assert run("import", str(file), "--quiet").stderr == ""
    assert run("import", str(empty)).stderr == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".obsidian/graph.json", "hidden folder"),
        (".index/by-type.md", "hidden folder"),
        (".meta/config.toml", "hidden folder"),
        ("public/notes/Tea.md", "would become a note"),
        ("Tea.MD", "would become a note"),
    ],
)
@pytest.mark.parametrize("command", ["export", "graph export --format json"])
def test_an_export_spares_vault_files(tmp_path: Path, command: str, name: str, why: str) -> None:
    for each in (".meta/config.toml", name):
        file = tmp_path / each
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("as it was", encoding="utf-8")

    result = run(*command.split(), str(file), memory=FakeMemory(export=give))

    assert result.exit_code == 2
    assert why in result.stderr
    assert file.read_text(encoding="utf-8") == "as it was"


def test_an_export_may_lie_beside_the_notes(tmp_path: Path) -> None:
    (tmp_path / ".meta").mkdir()
    (tmp_path / ".meta" / "config.toml").touch()
    file = tmp_path / "public" / "facts.jsonl"
    file.parent.mkdir()

    assert run("export", str(file), memory=FakeMemory(export=give)).exit_code == 0
    assert file.exists()
