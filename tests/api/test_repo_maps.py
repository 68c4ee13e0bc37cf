"""The map of a real repository, and the conventions in a file of instructions."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests import secrets
from tests.gits import GitFolder
from tests.packs import fact
from vaultsync.api import repo_maps
from vaultsync.api.repo_maps import write_instructions
from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.backends.repo_files.repo_folder import RepoFolder
from vaultsync.errors import HostFileError, InvalidFieldError
from vaultsync.repos.code_map import RepoMap


def map_code(repository: GitRepository, folder: Path, **given: Any) -> RepoMap:  # noqa: ANN401
    place, shared = RepoFolder(folder.parent, folder.name), RepoFolder(folder.parent, "shared")
    made = repo_maps.map_code(repository, place, shared, **given)
    assert made is not None
    return made


TABS = fact(1, title="No tabs", content="Four spaces.", type="convention")


@pytest.fixture
def git(tmp_path: Path) -> GitFolder:
    git = GitFolder(tmp_path / "app")
    git.commit("app/store.py", "def open_store():\n    'Open it.'\n")
    git.commit("app/main.py", "from app.store import open_store\n\nopen_store()\n")
    return git


def test_a_map_is_of_what_git_tracks_and_is_kept(git: GitFolder, tmp_path: Path) -> None:
    (git.root / "untracked.py").write_text("def secret_plan(): pass\n")
    (git.root / "link.py").symlink_to("/etc/passwd")
    git("add", "link.py")
    repository, folder = GitRepository(git.root), tmp_path / "repos" / "a1"

    first, again = map_code(repository, folder), map_code(repository, folder)

    assert first.text == "app/store.py\n  1: def open_store()  # Open it.\napp/main.py\n"
    assert (first.read, first.cached, first.parser.split()[0]) == (2, False, "tree-sitter")
    assert (again.text, again.cached) == (first.text, True)
    assert (folder / "indexes" / "repo-map.txt").read_text() == first.text
    assert map_code(repository, folder, refresh=True).read == 2
    assert map_code(repository, folder, max_chars=0).text == ""


def test_a_name_that_is_not_utf_8_is_escaped(git: GitFolder, tmp_path: Path) -> None:
    for name in (b"abc\xe8.py", b"abc\xe9.py"):
        git.commit(os.fsdecode(name), f"def of_{name[3]:x}(): pass\n")
    repository = GitRepository(git.root)

    found = map_code(repository, tmp_path / "repos" / "a1", changed=[os.fsdecode(b"abc\xe9.py")])

    assert "abc\\xe8.py\n  1: def of_e8()\nabc\\xe9.py\n  1: def of_e9()\n" in found.text


def test_another_branch_reads_only_what_it_has_alone(git: GitFolder, tmp_path: Path) -> None:
    map_code(GitRepository(git.root), tmp_path / "repos" / "a1")
    git.commit("app/new.py", "def new_thing(): pass\n")

    assert map_code(GitRepository(git.root), tmp_path / "repos" / "b2").read == 1


def test_without_parsers_definitions_are_found_by_patterns(
    git: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repo_maps, "is_installed", lambda: False)

    made = map_code(GitRepository(git.root), tmp_path / "repos" / "a1")

    assert made.parser == "patterns"
    assert "  1: def open_store()  # Open it.\n" in made.text


def test_a_secret_in_code_is_neither_shown_nor_kept(git: GitFolder, tmp_path: Path) -> None:
    token = secrets.token("github", Random(1))
    git.commit("app/login.py", f"def login_user(token='{token}'):\n    'Log in: {token}'\n")

    made = map_code(GitRepository(git.root), tmp_path / "repos" / "a1")

    assert "login_user" in made.text
    kept = b"".join(p.read_bytes() for p in (tmp_path / "repos").rglob("*") if p.is_file())
    assert token not in made.text
    assert token.encode() not in kept


def test_a_negative_budget_is_refused(git: GitFolder, tmp_path: Path) -> None:
    with pytest.raises(InvalidFieldError):
        map_code(GitRepository(git.root), tmp_path / "a1", max_chars=-1)
    with pytest.raises(InvalidFieldError):
        write_instructions(tmp_path / "AGENTS.md", [TABS], count=len, budget=-1)


def test_a_file_of_instructions_follows_the_conventions(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_bytes(b"# Mine\r\n\r\nText.\r\n")
    before = path.read_bytes()

    dry = write_instructions(path, [TABS], count=len, dry_run=True)
    assert (dry.changed, path.read_bytes()) == (True, before)
    first = write_instructions(path, [TABS], count=len)
    written = path.read_bytes()
    again = write_instructions(path, [TABS], count=len)
    assert written.startswith(before)
    assert b"- **No tabs**: Four spaces.\r\n" in written
    assert (first.changed, again.changed, first.included) == (True, False, (TABS.id,))
    assert path.read_bytes() == written
    path.write_bytes(written.replace(b"Four", b"Two"))
    for conventions in ([], [TABS]):
        with pytest.raises(HostFileError, match="was edited"):
            write_instructions(path, conventions, count=len)
    assert b"Two spaces." in path.read_bytes()
    path.write_bytes(written.replace(b"\r\n- **No", b"\r\n\r\n-  **No"))  # by a formatter
    write_instructions(path, [TABS], count=len)
    assert path.read_bytes() == written
    write_instructions(path, [], count=len)

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("folder", "mode"), [(0o755, 0o644), (0o775, 0o664), (0o777, 0o664), (0o700, 0o600)]
)
def test_a_new_file_of_instructions_is_read_by_all_that_read_its_folder(
    tmp_path: Path, folder: int, mode: int
) -> None:
    tmp_path.chmod(folder)
    write_instructions(tmp_path / "AGENTS.md", [TABS], count=len)
    assert (tmp_path / "AGENTS.md").stat().st_mode & 0o777 == mode


def test_a_link_to_another_file_of_instructions_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "AGENTS.md").write_text("# Mine\n")

    write_instructions(tmp_path / "CLAUDE.md", [TABS], count=len)

    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert "No tabs" in (tmp_path / "AGENTS.md").read_text()


def test_a_file_that_is_no_text_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe")

    with pytest.raises(HostFileError):
        write_instructions(tmp_path / "AGENTS.md", [TABS], count=len)


def test_without_conventions_no_file_is_made(tmp_path: Path) -> None:
    assert not write_instructions(tmp_path / "AGENTS.md", [], count=len).changed
    assert [*tmp_path.iterdir()] == []
