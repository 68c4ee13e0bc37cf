"""A repository of git, read by plumbing commands."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from vaultsync.backends.git.git_command import SECONDS, GitCommand
from vaultsync.errors import GitFailedError, NotARepositoryError
from vaultsync.repos.ports import REMOTES, Commit, TrackedFile
from vaultsync.repos.repo_identity import WorkingCopy
from vaultsync.settings import user_path

_log = logging.getLogger(__name__)

_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--text")
_HEADS = "refs/heads/"
_FILE_MODES = ("100644", "100755")
_SHA1_DIGITS, _SHA256_DIGITS = 40, 64
_MOST_COMPARED = 64 << 20
"""Maximum size, in bytes, of touched files that are read to see whether they changed."""
_ID_LINE = re.compile(rb"^[0-9a-f]{40,64}$", re.MULTILINE)
"""A commit in a list of patches, whose other lines begin otherwise."""
_LEFT_OUT = ("has more than", "promisor")
"""Failures that concern single patches: of very large files, or missing in a partial clone."""
_AT_ONCE = 32 << 20
"""Maximum size, in bytes, of the blobs of one request to git."""


class GitRepository:
    """The repository of a folder, for reading. Ids of commits and blobs are in hex.

    It may be hostile: none of its configuration, hooks, filters and attributes makes a program
    run, and no method reaches for a network. Every method may raise RepositoryError: git failed,
    took too long, or said too much.

    Raises:
        NotARepositoryError: there is none, or git's settings claim another folder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            asked = Path(os.path.realpath(user_path(folder)))
        except ValueError:
            raise NotARepositoryError(str(folder), "this is not a valid folder name") from None
        if not os.path.isdir(asked):  # noqa: PTH112 - any name
            why = "it is not a folder" if os.path.exists(asked) else "it does not exist"  # noqa: PTH110 - any name
            raise NotARepositoryError(str(folder), why)
        self._git = GitCommand(asked, seconds=SECONDS)
        self._found_head: tuple[str, str] | None = None
        """The checked out commit and reference, read on first use."""
        self._found_files: list[str] | None = None
        """The tracked files, read on first use."""
        self._found_commits: set[str] = set()
        """Ids that are known to be of commits."""
        root, shallow, index, objects, hashed = self._place()
        self._parts = (index, objects, hashed)
        # `core.worktree` could claim any folder of this machine.
        nearest = next((x for x in (asked, *asked.parents) if os.path.lexists(x / ".git")), None)
        if nearest is None or root != nearest:
            why = f"its git directory claims to belong to {root}"
            raise NotARepositoryError(str(folder), why, hint="unset core.worktree there")
        if _name(os.fsencode(root)) != str(root):  # nothing could record it
            why = "its path is not UTF-8"
            raise NotARepositoryError(str(folder), why, hint="rename the folder")
        self.root = root
        self._is_shallow = shallow
        self._git.folder = root

    def _place(self) -> tuple[Path, bool, Path, Path, str]:
        """Its root, whether it is shallow, its index, its objects, and their hash algorithm."""
        asked = "--is-shallow-repository --show-object-format --git-path index --git-path objects"
        words = ("--path-format=absolute", *asked.split(), "--show-toplevel")
        answer = self._git.find("rev-parse", *words, "HEAD", "--symbolic-full-name", "HEAD")
        if answer is not None:
            answer, commit, reference = answer.removesuffix(b"\n").rsplit(b"\n", 2)
            self._found_head = _name(commit), _name(reference)
        else:  # before the first commit
            answer = self._git.find("rev-parse", *words)
        if answer is None:
            self._git.ask("find the repository", "rev-parse", "--git-dir")
            raise NotARepositoryError(str(self._git.folder), "it has no working files")
        shallow, hashed, *paths = os.fsdecode(answer.removesuffix(b"\n")).split("\n", 4)
        index, objects, root = map(Path, paths)
        return Path(os.path.realpath(root)), shallow == "true", index, objects, hashed

    def working_copy(self, known: WorkingCopy | None = None) -> WorkingCopy:
        """Where it is, and what is checked out.

        `known` is an earlier answer, whose first commit is reused if HEAD descends from its commit.
        """
        found, self._found_head = self._found_head or self._head_and_reference(), None
        commit, reference = found
        name = reference.removeprefix(_HEADS) if reference.startswith(_HEADS) else None
        first = None if commit is None else self._first(commit, known)
        return WorkingCopy(str(self.root), self._remote(), name, commit, first, self._is_shallow)

    def _head_and_reference(self) -> tuple[str | None, str]:
        answer = self._git.find("rev-parse", "HEAD", "--symbolic-full-name", "HEAD")
        if answer is None:  # before the first commit
            return None, _name(self._git.find("symbolic-ref", "-q", "HEAD")).strip()
        commit, reference = _name(answer).split("\n")[:2]
        return commit, reference

    def _first(self, commit: str, known: WorkingCopy | None) -> str | None:
        """The first commit along first parents; walks the whole history only once."""
        walk = ("rev-list", "--first-parent", "--max-parents=0", "--end-of-options", commit)
        # What was the oldest commit of a shallow clone may not be that of the complete one.
        is_known = known is not None and known.is_shallow == self._is_shallow
        if known is not None and is_known and known.commit and known.first_commit:
            if known.commit == commit:
                return known.first_commit
            answer = self._git.find(*walk, f"^{known.commit}")
            if answer is not None and not answer.split():
                return known.first_commit  # its history continues from there
        answer = self._git.find(*walk)
        return _text(answer).split()[-1] if answer and answer.split() else None

    def _remote(self) -> str | None:
        """The address of `origin`, or else of the first remote by name."""
        answer = self._git.find("config", "-z", "--get-regexp", r"^remote\..*\.url$")
        found: dict[str, str] = {}
        for entry in _name(answer).split("\0"):
            key, _, url = entry.partition("\n")
            name = key.removeprefix("remote.").removesuffix(".url")
            if url.strip():
                found.setdefault(name, url.strip())
        return found.get("origin") or next((found[name] for name in sorted(found)), None)

    def head(self) -> str | None:
        """The commit that is checked out; None before the first."""
        return self.resolve("HEAD")

    def resolve(self, name: str) -> str | None:
        """The commit of a branch, tag or id; None when there is none."""
        words = ("rev-parse", "-q", "--verify", "--end-of-options", name + "^{commit}")
        answer = self._git.find(*words)
        return _text(answer).split()[-1] if answer and answer.split() else None

    def branches(self) -> Mapping[str, str]:
        """Local branches, and remote ones as `refs/remotes/origin/name` -> their commits."""
        # `%(objectname)` first, so that the format is simple; branch names have no blanks.
        words = ("for-each-ref", "--format=%(objectname) %(refname)", _HEADS, REMOTES)
        answer = _name(self._git.ask("list branches", *words))
        found = {}
        for line in answer.split("\n")[:-1]:
            commit, _, name = line.partition(" ")
            if not name.endswith("/HEAD") or name.startswith(_HEADS):
                found[name.removeprefix(_HEADS)] = commit
        return found

    def missing_from(self, head: str, commits: Collection[str]) -> frozenset[str]:
        asked = frozenset(commits)
        known = self._known(asked)
        if not known:
            return asked
        given = "\n".join([*sorted(known), f"^{head}", ""]).encode()
        answer = self._git.ask("walk the history", "rev-list", "--stdin", given=given)
        beyond = frozenset(_text(answer).split())
        return (asked - known) | (known & beyond)

    def _known(self, commits: Collection[str]) -> frozenset[str]:
        """The ids that belong to commits of this repository."""
        asked = [each for each in commits if _is_id(each) and each not in self._found_commits]
        if asked:
            form = "--batch-check=%(objectname) %(objecttype)"
            given = "".join(f"{each}\n" for each in asked).encode()
            answer = _text(self._git.ask("look up commits", "cat-file", form, given=given))
            pairs = (line.partition(" ") for line in answer.splitlines())
            self._found_commits.update(name for name, _, kind in pairs if kind == "commit")
        return frozenset(commits) & self._found_commits

    def commits_between(
        self, old: str, new: str, paths: Sequence[str] = (), *, limit: int | None = None
    ) -> Sequence[Commit]:
        if not self._known([new]):
            return ()
        since = [f"^{old}"] if self._known([old]) else []
        form = "--format=%x00%H%x00%P%x00%ct%x00%an <%ae> %at%x00%B"
        most = () if limit is None else (f"--max-count={limit}",)
        words = ("rev-list", "--topo-order", form, "--no-commit-header", *most)
        answer = self._git.ask("walk the history", *words, new, *since, "--", *paths)
        parts = _text(answer).split("\0")[1:]
        return [
            Commit(name, tuple(parents.split()), message.rstrip("\n"), int(time), author)
            for name, parents, time, author, message in zip(*[iter(parts)] * 5, strict=False)
        ]

    def descendants(self, commit: str, tips: Sequence[str], *, limit: int) -> Sequence[str]:
        known = [each for each in tips if each in self._known(tips)]
        if not known or not self._known([commit]):
            return ()
        given = "\n".join([*known, f"^{commit}", ""]).encode()
        words = ("rev-list", "--topo-order", "--ancestry-path", f"--max-count={limit}")
        return _text(self._git.ask("walk the history", *words, "--stdin", given=given)).split()

    def merge_base(self, one: str, other: str) -> str | None:
        if len(self._known({one, other})) < len({one, other}):
            return None
        answer = self._git.find("merge-base", one, other)
        return _text(answer).split()[0] if answer and answer.split() else None

    def touched_paths(self, commit: str) -> Sequence[str]:
        if not self._known([commit]):
            return ()
        words = ("diff-tree", "-r", "-z", "--root", "--name-only", "--no-commit-id", "--no-renames")
        answer = self._git.ask("compare commits", *words, commit)
        return [each for each in _text(answer).split("\0") if each]

    def patches_between(
        self, pairs: Sequence[tuple[str, str]], paths: Sequence[str] = ()
    ) -> Sequence[str | None]:
        found: list[str | None] = []
        for number, patches in self._patches(_lines_of(pairs), "--always", "--", *paths):
            ids = {
                int(place, 16): patch for place, patch in self._ids_of(_numbered(patches)).items()
            }
            found += map(ids.get, range(number))
        return found

    def patch_ids(self, commits: Sequence[str], paths: Sequence[str] = ()) -> Mapping[str, str]:
        known = self._known(commits)
        lines = [f"{each}\n" for each in commits if each in known]
        found: dict[str, str] = {}
        for _, patches in self._patches(lines, "--root", "--", *paths):
            found |= self._ids_of(patches)
        return found

    def _patches(self, lines: Sequence[str], *words: str) -> Iterator[tuple[int, bytes]]:
        """The patches of `git diff-tree`, in parts where they are too much for one answer.

        A patch that is too much alone, or lacks a blob, is left out. Yields the number of lines
        of input that a part is about, and their patches.
        """
        if not lines:
            return
        full = ("diff-tree", "--stdin", "-r", "-p", *_PLAIN_DIFF, *words)
        try:
            patches = self._git.ask("compare commits", *full, given="".join(lines).encode())
        except GitFailedError as error:
            if not any(each in error.message for each in _LEFT_OUT):
                raise
            if len(lines) > 1:
                half = len(lines) // 2
                yield from self._patches(lines[:half], *words)
                yield from self._patches(lines[half:], *words)
                return
            _log.debug("a patch is not known: %s", error)
            patches = b""
        yield len(lines), patches

    def changes_between(
        self, pairs: Sequence[tuple[str, str]], paths: Sequence[str] = ()
    ) -> Sequence[Mapping[str, str]]:
        plain = "-r -z --raw --no-abbrev --stdin --no-renames --always"
        words = ("diff-tree", *plain.split(), "--", *paths)
        given = "".join(_lines_of(pairs)).encode()
        parts = iter(_text(self._git.ask("compare commits", *words, given=given)).split("\0"))
        found: list[dict[str, str]] = []
        for part in filter(None, parts):
            if not part.startswith(":"):  # a commit
                found.append({})
                continue
            (old, new), path = part.split()[2:4], next(parts)
            if new.strip("0") and new != old:
                found[-1][path] = new
        return found

    def new_blobs(
        self, commits: Sequence[str], paths: Sequence[str]
    ) -> Mapping[str, Collection[str]]:
        known = self._known(commits)
        given = "".join(f"{each}\n" for each in commits if each in known).encode()
        plain = "-r -z --raw --no-abbrev --root --stdin --no-renames --no-commit-id"
        words = ("diff-tree", *plain.split(), "--", *paths)
        parts = _text(self._git.ask("compare commits", *words, given=given)).split("\0")
        found: dict[str, set[str]] = {}
        for meta, path in zip(parts[::2], parts[1::2], strict=False):
            blob = meta.split()[3]
            if blob.strip("0"):
                found.setdefault(path, set()).add(blob)
        return found

    def _ids_of(self, patches: bytes) -> Mapping[str, str]:
        """The ids of patches, each after the id of its commit."""
        if not patches:
            return {}
        answer = _text(self._git.ask("identify patches", "patch-id", "--stable", given=patches))
        pairs = (line.split() for line in answer.splitlines())
        return {commit: patch for patch, commit in pairs}

    def changed_paths(self) -> Sequence[str]:
        """The paths with uncommitted changes, and untracked ones; a folder ends with `/`."""
        found = dict.fromkeys(self._staged())
        found |= dict.fromkeys(self._changed())
        options = "-z -t --stage --others --exclude-standard --directory --no-empty-directory"
        answer = self._git.ask("list new files", "ls-files", *options.split())
        entries = _text(answer).split("\0")
        self._found_files = [each[2:] for each in entries if each[:2] != "? "]
        found |= dict.fromkeys(each[2:] for each in entries if each[:2] == "? ")
        return sorted(found)

    def _staged(self) -> list[str]:
        words = ("diff-index", "--cached", "-z", "--name-only", "--no-renames")
        answer = self._git.find(*words, "--ignore-submodules=all", "HEAD", "--")
        if answer is None and self.head() is None:
            return [each.path for each in self.tracked_files()]
        if answer is None:
            answer = self._git.ask("compare the index", *words, "HEAD", "--")
        return [each for each in _text(answer).split("\0") if each]

    def _changed(self) -> Iterator[str]:
        """Files that differ from the index; touched files are compared here."""
        words = ("diff-files", "-z", "--raw", "--no-abbrev", "--no-renames")
        with self._git.without_config(*self._parts) as git:
            answer = git.ask("compare files", *words, "--ignore-submodules=all")
        parts = _text(answer).split("\0")
        left = _MOST_COMPARED
        for meta, path in zip(parts[::2], parts[1::2], strict=False):
            blob = meta.split()[2]
            size = self._size(path)
            if size is None or size > left:
                yield path
                continue
            left -= size
            if self._blob_of(path, len(blob)) != blob:
                yield path

    def _size(self, path: str) -> int | None:
        """The size of a working file; None unless it is a regular file below the root."""
        try:
            found = (self.root / path).lstat()
        except (OSError, ValueError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def _blob_of(self, path: str, digits: int) -> str | None:
        try:
            fd = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(fd, "rb") as file:
                data = file.read(_MOST_COMPARED)
        except OSError as error:
            _log.debug("%s is not compared: %s", path, error)
            return None
        name = "sha1" if digits == _SHA1_DIGITS else "sha256"
        found = hashlib.new(name, b"blob %d\0" % len(data), usedforsecurity=False)
        found.update(data)
        return found.hexdigest()

    def tracked_files(self) -> Sequence[TrackedFile]:
        """The files of the index, in the order of their paths; no links, no submodules."""
        entries, self._found_files = self._found_files, None
        if entries is None:
            entries = _text(self._git.ask("list files", "ls-files", "-s", "-z")).split("\0")
        found = []
        for entry in entries:
            meta, tab, path = entry.partition("\t")
            mode, blob, stage = meta.split() if tab else ("", "", "")
            if mode in _FILE_MODES and stage == "0":
                found.append(TrackedFile(path, blob))
        return found

    def read_blobs(self, ids: Sequence[str], limit: int) -> Iterator[tuple[str, bytes]]:
        """The contents of blobs that are here, in any order; those over `limit` bytes are empty."""
        asked = [each for each in ids if _is_id(each)]
        given = "".join(f"{each}\n" for each in asked).encode()
        form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        # In the configuration of a partial clone, git would end at the first missing blob.
        with self._git.without_config(*self._parts) as git:
            answer = _text(git.ask("look up files", "cat-file", form, given=given))
            lines = (line.split() for line in answer.splitlines())
            sizes = {x[0]: int(x[2]) for x in lines if len(x) == 3 and x[1] == "blob"}  # noqa: PLR2004 - id, type, size
            batch: list[str] = []
            size = 0
            for each in asked:
                if each not in sizes:
                    continue
                if sizes[each] > limit:
                    yield each, b""
                    continue
                batch.append(each)
                size += sizes[each]
                if size >= _AT_ONCE:
                    yield from _contents(git, batch)
                    batch, size = [], 0
            yield from _contents(git, batch)


def _contents(git: GitCommand, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    given = "".join(f"{each}\n" for each in ids).encode()
    answer = git.ask("read files", "cat-file", "--batch", given=given) if ids else b""
    at = 0
    for each in ids:
        end = answer.index(b"\n", at)
        head = answer[at:end].split()
        if len(head) != 3:  # noqa: PLR2004 - `<id> missing`: it was removed meanwhile
            at = end + 1
            continue
        size = int(head[2])
        yield each, answer[end + 1 : end + 1 + size]
        at = end + 2 + size


def _text(answer: bytes | None) -> str:
    return os.fsdecode(answer) if answer else ""


def _name(answer: bytes | None) -> str:
    """An answer as text that can be recorded: bytes that are not UTF-8 are escaped."""
    return (answer or b"").decode("utf-8", "backslashreplace")


def _lines_of(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Pairs of an old and a new commit as input of `git diff-tree`."""
    return [f"{new} {old}\n" for old, new in pairs]


def _numbered(patches: bytes) -> bytes:
    """Patches with their numbers as ids, because their commits may be the same."""
    numbers = count()
    return _ID_LINE.sub(lambda each: b"%0*x" % (len(each[0]), next(numbers)), patches)


def _is_id(name: str) -> bool:
    """Whether a text is a complete id, rather than a name that git would look up."""
    return len(name) in (_SHA1_DIGITS, _SHA256_DIGITS) and not name.strip("0123456789abcdef")
