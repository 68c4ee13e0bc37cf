"""Repositories are read as git has them, and a hostile one makes no program run."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import structs

from tests.gits import GitFolder
from vaultsync.backends.git.git_command import GitCommand
from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.errors import GitFailedError, NotARepositoryError, RepositoryError
from vaultsync.repos.ports import REMOTES

pytestmark = pytest.mark.long(5)


@pytest.fixture
def git(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path / "app")


def test_a_working_copy_tells_where_it_is(git: GitFolder) -> None:
    first = git.commit("src/a.py", "a = 1\n")
    second = git.commit("src/b.py", "b = 1\n")
    git("remote", "add", "backup", "https://example.org/backup")
    git("remote", "add", "origin", "https://ada:secret@example.org/app.git")
    found = GitRepository(git.root / "src").working_copy()
    assert found.root == os.path.realpath(git.root)
    assert found.remote == "https://ada:secret@example.org/app.git"
    assert (found.branch, found.commit, found.first_commit) == ("main", second, first)
    assert not found.is_shallow


def test_the_first_commit_is_taken_from_what_was_known(git: GitFolder) -> None:
    first = git.commit("a", "1")
    repository = GitRepository(git.root)
    known = repository.working_copy()
    assert repository.working_copy(known) == known
    assert repository.working_copy(structs.replace(known, first_commit="x")).first_commit == "x"
    second = git.commit("a", "2")
    assert repository.working_copy(known).commit == second
    assert repository.working_copy(known).first_commit == first
    git("checkout", "-q", "--orphan", "other")
    orphan = git.commit("b", "1")
    assert repository.working_copy(known).first_commit == orphan


def test_before_the_first_commit_there_is_a_branch_alone(git: GitFolder) -> None:
    (git.root / "new.py").write_text("")
    git("add", "new.py")
    repository = GitRepository(git.root)
    found = repository.working_copy()
    assert (found.branch, found.commit, found.first_commit, found.remote) == (
        "main",
        None,
        None,
        None,
    )
    assert repository.changed_paths() == ["new.py"]
    assert repository.branches() == {}


def test_a_detached_head_has_no_branch(git: GitFolder) -> None:
    commit = git.commit("a", "1")
    git.commit("a", "2")
    git.checkout(commit)
    found = GitRepository(git.root).working_copy()
    assert (found.branch, found.commit) == (None, commit)


def test_a_merge_of_another_history_keeps_the_first_commit(git: GitFolder) -> None:
    first = git.commit("a", "1")
    git("checkout", "-q", "--orphan", "other")
    git.commit("b", "1")
    git.checkout("main")
    git("merge", "-q", "--allow-unrelated-histories", "-m", "Join", "other")
    assert GitRepository(git.root).working_copy().first_commit == first


def test_branches_are_listed_in_any_working_copy(git: GitFolder, tmp_path: Path) -> None:
    commit = git.commit("a", "1")
    git("worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "beside"))
    git("update-ref", "refs/remotes/origin/main", commit)
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    repository = GitRepository(tmp_path / "beside")
    remote = f"{REMOTES}origin/main"
    assert repository.branches() == {"main": commit, "feature/x": commit, remote: commit}


def test_a_branch_may_have_any_line_end_of_unicode_in_its_name(git: GitFolder) -> None:
    commit = git.commit("a", "1")
    git("branch", "one\u2028two\x85three")
    found = GitRepository(git.root).branches()
    assert found == {"main": commit, "one\u2028two\x85three": commit}


def test_bytes_that_are_not_utf_8_are_escaped_in_names(git: GitFolder) -> None:
    commit = git.commit("a", "1")
    branch = os.fsdecode(b"abc\xe9")
    git.branch(branch)
    git("remote", "add", "origin", f"https://example.org/{branch}")
    found = GitRepository(git.root)
    assert found.branches() == {"main": commit, "abc\\xe9": commit}
    copy = found.working_copy()
    assert (copy.branch, copy.remote) == ("abc\\xe9", "https://example.org/abc\\xe9")
    inner = GitFolder(git.root / branch, init=False)
    inner.root.mkdir()
    assert GitRepository(inner.root).root == git.root
    inner("init", "-q")
    with pytest.raises(NotARepositoryError, match="its path is not UTF-8"):
        GitRepository(inner.root)


def test_what_a_branch_lacks_is_told(git: GitFolder) -> None:
    one = git.commit("a", "1")
    git.branch("feature")
    two = git.commit("b", "2", "Add b\n\nIt is needed.")
    git.checkout("main")
    three = git.commit("c", "3")
    repository = GitRepository(git.root)
    nowhere = "f" * 40
    assert repository.missing_from(three, [one, two, three, nowhere, "main"]) == {
        two,
        nowhere,
        "main",
    }
    assert repository.missing_from(three, []) == frozenset()
    (between,) = repository.commits_between(three, two)
    assert (between.id, between.parents) == (two, (one,))
    assert between.message == "Add b\n\nIt is needed."
    assert repository.commits_between(three, two, ["c"]) == []
    assert len(repository.commits_between(nowhere, two)) == 2
    assert repository.commits_between(one, nowhere) == ()
    assert repository.merge_base(two, three) == one
    assert repository.merge_base(two, nowhere) is None
    assert repository.resolve("feature") == two
    assert repository.resolve("nothing") is None
    assert repository.touched_paths(two) == ["b"]
    assert repository.touched_paths(one) == ["a"]
    assert repository.touched_paths(nowhere) == ()


def test_a_patch_keeps_its_id_on_another_branch(git: GitFolder) -> None:
    base = git.commit("a", "1\n")
    git.branch("feature")
    first, tip = git.commit("b", "2\n"), git.commit("bin", "\0\1\n")
    git.checkout("main")
    other = git.commit("c", "3\n")
    git("cherry-pick", first)
    picked = git.head()
    git("merge", "-q", "--squash", "feature")
    git("commit", "-q", "-m", "Squash")
    repository = GitRepository(git.root)
    ids = repository.patch_ids([base, first, other, picked, "f" * 40])
    assert ids[first] == ids[picked] != ids[other]
    assert base in ids
    assert repository.patch_ids([]) == {}
    pairs = [(base, base), (first, tip), (picked, git.head()), (base, tip)]
    none, branch, squashed, both = repository.patches_between(pairs)
    assert none is None
    assert branch is not None
    assert branch == squashed != both
    assert repository.patches_between([(base, base), (base, tip)], ["b"]) == [None, ids[first]]
    assert repository.patches_between([]) == []


def test_what_differs_between_commits_is_told(git: GitFolder) -> None:
    git.commit("gone", "1")
    git.commit("run.sh", "1")
    base = git.commit("weird\nname", "1")
    git.commit("weird\nname", "2")
    git("update-index", "--chmod=+x", "run.sh")
    git("rm", "-q", "--cached", "gone")
    git("commit", "-q", "-m", "Change")
    tip = git.head()
    new = git("rev-parse", f"{tip}:weird\nname")
    repository = GitRepository(git.root)
    pairs = [(base, base), (base, tip), (tip, base)]
    same, changed, back = repository.changes_between(pairs)
    assert (same, changed) == ({}, {"weird\nname": new})
    assert back.keys() == {"weird\nname", "gone"}
    assert repository.changes_between([(base, tip)], ["gone"]) == [{}]


def test_descendants_are_those_of_one_commit(git: GitFolder) -> None:
    git.commit("a", "1")
    git.branch("feature")
    start = git.commit("b", "1")
    next_one = git.commit("b", "2")
    git.checkout("main")
    git.commit("c", "1")
    git("merge", "-q", "--no-ff", "--no-edit", "feature")
    merge = git.head()
    repository = GitRepository(git.root)
    assert repository.descendants(start, ["f" * 40, merge], limit=9) == [merge, next_one]
    assert repository.descendants(start, [merge], limit=1) == [merge]
    assert repository.descendants(merge, [next_one], limit=9) == []
    assert repository.descendants("f" * 40, [merge], limit=9) == ()
    assert repository.descendants(start, [], limit=9) == ()


def test_changed_files_are_those_that_differ(git: GitFolder) -> None:
    git.commit("touched", "same")
    git.commit("changed", "1")
    git.commit("gone", "1")
    git.commit("staged", "1")
    git.commit(".gitignore", "*.o\n")
    (git.root / "staged").write_text("2")
    git("add", "staged")
    os.utime(git.root / "touched", (1, 1))
    (git.root / "changed").write_text("2")
    (git.root / "gone").unlink()
    (git.root / "gone").symlink_to("changed")
    (git.root / "a.o").write_text("")
    (git.root / "new").mkdir()
    (git.root / "new/file é.py").write_text("")
    assert GitRepository(git.root).changed_paths() == ["changed", "gone", "new/", "staged"]


def test_tracked_files_are_read_by_their_blobs(git: GitFolder) -> None:
    git.commit("a.py", "a\nb")
    git.commit("weird name\t.py", "")
    (git.root / "link").symlink_to("a.py")
    git("add", "link")
    git.commit("large", "x" * 100)
    repository = GitRepository(git.root)
    files = {each.path: each.blob for each in repository.tracked_files()}
    assert [*files] == ["a.py", "large", "weird name\t.py"]
    ids = [*files.values(), "f" * 40, "--batch", git.head()]
    assert dict(repository.read_blobs(ids, 50)) == {
        files["a.py"]: b"a\nb",
        files["weird name\t.py"]: b"",
        files["large"]: b"",
    }
    assert [*repository.read_blobs([], 50)] == []


def test_a_partial_clone_is_read_as_far_as_it_is_there(git: GitFolder, tmp_path: Path) -> None:
    git("config", "uploadpack.allowFilter", "true")
    git.commit("a.py", "a = 1\n")
    base = git.commit("deep/b.py", "b = 1\n")
    git.branch("topic")
    topic = git.commit("deep/b.py", "b = 2\n")
    git.checkout("main")
    other = git.commit("a.py", "a = 2\n")
    words = ("clone", "-q", "--filter=blob:none", "--sparse", f"file://{git.root}")
    git(*words, str(tmp_path / "partial"))
    found, whole = GitRepository(tmp_path / "partial"), GitRepository(git.root)

    assert (found.resolve("origin/topic"), found.head()) == (topic, other)
    files = {each.path: each.blob for each in found.tracked_files()}
    assert dict(found.read_blobs([*files.values()], 50)) == {files["a.py"]: b"a = 2\n"}
    assert found.changed_paths() == []
    assert found.touched_paths(topic) == ["deep/b.py"]
    assert found.patches_between([(base, base), (base, topic)]) == [None, None]
    assert found.patch_ids([topic]) == {}
    git("-C", str(tmp_path / "partial"), "show", base, other)  # fetches their blobs
    found = GitRepository(tmp_path / "partial")
    ids = [base, topic, other]
    assert found.patch_ids(ids) == {x: y for x, y in whole.patch_ids(ids).items() if x != topic}


def test_a_repository_of_sha256_is_read(tmp_path: Path) -> None:
    git = GitFolder(tmp_path / "app", init=False)
    (tmp_path / "app").mkdir()
    git("init", "-q", "-b", "main", "--object-format=sha256")
    commit = git.commit("a", "1")
    os.utime(git.root / "a", (1, 1))
    repository = GitRepository(git.root)
    assert len(commit) == 64
    assert repository.head() == commit
    assert repository.missing_from(commit, [commit]) == frozenset()
    assert repository.changed_paths() == []
    (git.root / "a").write_text("2")
    assert repository.changed_paths() == ["a"]
    second, third = git.commit("a", "2"), git.commit("b", "3")
    known = repository.patch_ids([second, third])
    pairs = [(commit, second), (second, second), (second, third)]
    assert repository.patches_between(pairs) == [known[second], None, known[third]]


# --- what is refused ------------------------------------------------------------------


def test_a_folder_outside_of_repositories_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotARepositoryError, match="is not in a git repository"):
        GitRepository(tmp_path)
    with pytest.raises(NotARepositoryError, match="does not exist"):
        GitRepository(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotARepositoryError, match="not a folder"):
        GitRepository(tmp_path / "file")


def test_a_bare_repository_has_no_working_files(git: GitFolder, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", str(git.root), str(tmp_path / "bare"))
    with pytest.raises(NotARepositoryError, match="no working files"):
        GitRepository(tmp_path / "bare")


def test_a_repository_that_claims_another_folder_is_refused(git: GitFolder, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/letter").write_text("secret")
    git("config", "core.worktree", str(tmp_path))
    with pytest.raises(NotARepositoryError, match="claims"):
        GitRepository(git.root)


def test_a_command_that_takes_too_long_is_ended(
    git: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"relative:{folder}:{os.environ['PATH']}")
    with pytest.raises(GitFailedError, match="more than"):
        GitCommand(git.root, seconds=0.2).ask("wait", "wait")


def test_an_answer_without_end_is_cut(git: GitFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    git.commit("a", "x" * 1000)
    repository = GitRepository(git.root)
    monkeypatch.setattr("vaultsync.backends.git.git_command.MOST_BYTES", 100)
    with pytest.raises(GitFailedError, match="has more than"):
        [*repository.read_blobs([x.blob for x in repository.tracked_files()], 1 << 20)]


def test_a_patch_too_large_is_not_known(git: GitFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = [git.commit("a", text) for text in ("1", "2", "3" * 9000, "4")]
    repository = GitRepository(git.root)
    pairs = [*pairwise(commits)]
    small = repository.patches_between(pairs[:1])
    monkeypatch.setattr("vaultsync.backends.git.git_command.MOST_BYTES", 2000)
    assert repository.patches_between(pairs) == [*small, None, None]
    assert repository.patch_ids(commits).keys() == {*commits[:2]}


def test_without_git_the_error_says_so(git: GitFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(GitFailedError, match="not installed"):
        GitRepository(git.root)


def test_a_damaged_repository_is_an_error_with_a_hint(git: GitFolder) -> None:
    git.commit("a", "1")
    repository = GitRepository(git.root)
    (git.root / ".git/index").write_bytes(b"no index")
    with pytest.raises(GitFailedError, match="list files") as failed:
        repository.tracked_files()
    assert "git fsck" in failed.value.hint


# --- a hostile repository -------------------------------------------------------------


def _hostile(git: GitFolder, evil: str) -> None:
    """Everything in a repository that could name a program."""
    git.commit("a.py", "1\n", "Begin")
    git.commit(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    for key, value in {
        "core.fsmonitor": evil,
        "core.hooksPath": str(git.root / "hooks"),
        "core.pager": evil,
        "core.sshCommand": evil,
        "core.editor": evil,
        "core.askPass": evil,
        "core.gitProxy": evil,
        "core.alternateRefsCommand": evil,
        "credential.helper": f"!{evil}",
        "diff.external": evil,
        "diff.evil.command": evil,
        "diff.evil.textconv": evil,
        "filter.evil.clean": evil,
        "filter.evil.smudge": evil,
        "filter.evil.process": evil,
        "filter.evil.required": "true",
        "gpg.program": evil,
        "log.showSignature": "true",
        "interactive.diffFilter": evil,
        "uploadpack.packObjectsHook": evil,
        "alias.rev-parse": f"!{evil}",
        "alias.ls-files": f"!{evil}",
        "pager.rev-list": evil,
        "pager.ls-files": evil,
        "pager.diff-tree": evil,
        "remote.origin.url": f"ext::{evil}",
        "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none",
        "remote.origin.uploadpack": evil,
        "protocol.ext.allow": "always",
        "protocol.file.allow": "always",
        "extensions.partialClone": "origin",
        "include.path": str(git.root / "more.config"),
    }.items():
        git("config", key, value)
    (git.root / "more.config").write_text(f"[core]\n\tfsmonitor = {evil}\n")
    for folder in (git.root / "hooks", git.root / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
            (folder / name).write_text(f"#!/bin/sh\n{evil}\n")
            (folder / name).chmod(0o755)
    (git.root / ".git/info/attributes").write_text("* filter=evil diff=evil\n")


READERS: dict[str, Callable[[GitRepository, str], object]] = {
    "working_copy": lambda x, _: x.working_copy(),
    "branches": lambda x, _: x.branches(),
    "missing_from": lambda x, head: x.missing_from(head, [head, "e" * 40]),
    "commits_between": lambda x, head: x.commits_between("e" * 40, head, ["a.py"]),
    "touched_paths": lambda x, head: x.touched_paths(head),
    "patch_ids": lambda x, head: x.patch_ids([head, "e" * 40]),
    "changed_paths": lambda x, _: x.changed_paths(),
    "tracked_files": lambda x, _: x.tracked_files(),
    "read_blobs": lambda x, _: [*x.read_blobs([y.blob for y in x.tracked_files()], 999)],
}


def _marked(git: GitFolder, folder: Path) -> Path:
    """The file that a program would write which the repository names."""
    mark, program = folder / "it-ran", folder / "evil"
    program.write_text(f"#!/bin/sh\necho ran >> '{mark}'\ncat\n")
    program.chmod(0o755)
    _hostile(git, str(program))
    mark.unlink(missing_ok=True)
    return mark


@pytest.mark.parametrize("reader", READERS)
def test_a_hostile_repository_runs_no_program(git: GitFolder, tmp_path: Path, reader: str) -> None:
    mark = _marked(git, tmp_path)
    head = (git.root / ".git/refs/heads/main").read_text().strip()
    (git.root / "a.py").write_text("2\n")  # its filter would run to compare it
    blobs = sorted((git.root / ".git/objects").glob("??/*"))
    try:
        READERS[reader](GitRepository(git.root), head)
        blobs[0].unlink()  # a promised object is missing: git would fetch it
        READERS[reader](GitRepository(git.root), head)
    except RepositoryError:
        assert blobs  # an error is an answer, a program is not
    assert not mark.exists()


def test_the_hostile_repository_would_run_programs(git: GitFolder, tmp_path: Path) -> None:
    mark = _marked(git, tmp_path)
    (git.root / "a.py").write_text("2\n")
    with pytest.raises(RuntimeError):
        git("status")
    assert mark.exists()


def test_the_environment_of_a_hook_is_not_followed(
    git: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = GitFolder(tmp_path / "other")
    other.commit("x", "1")
    commit = git.commit("a", "1")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git/index"))
    assert GitRepository(git.root).head() == commit
