"""The contract of a git repository, which is read-only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from vaultsync.repos.repo_identity import WorkingCopy

REMOTES = "refs/remotes/"
"""The prefix of remote-tracking branches; a local branch has its plain name."""


class TrackedFile(Struct, frozen=True, gc=False):
    """A file in the index of a repository."""

    path: str
    """Relative to the root, with `/`."""
    blob: str
    """The id of its content."""


class Commit(Struct, frozen=True, gc=False):
    """A commit, as far as visibility asks for it."""

    id: str
    parents: tuple[str, ...]
    message: str = ""
    time: int = 0
    """When it was committed, in seconds since 1970, by the clock of its committer."""
    author: str = ""
    """Who wrote it and when; other versions of the commit have the same."""


class CommitHistory(Protocol):
    """The commits of a repository, as the rules of branch-true memory ask for them."""

    def missing_from(self, head: str, commits: Collection[str]) -> frozenset[str]:
        """Those of `commits` that are neither `head` nor its ancestors, or not known here."""
        ...

    def commits_between(
        self, old: str, new: str, paths: Sequence[str] = (), *, limit: int | None = None
    ) -> Sequence[Commit]:
        """The commits that `new` has and `old` lacks, newest first.

        Args:
            old: a commit; commits that are not known here have no ancestors.
            new: a commit.
            paths: only those that touch one of these; empty for all.
            limit: the maximum number of commits.
        """
        ...

    def descendants(self, commit: str, tips: Sequence[str], *, limit: int) -> Sequence[str]:
        """The commits of some tips that have a commit among their ancestors, newest first."""
        ...

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor; None when there is none, or a commit is not known here."""
        ...

    def touched_paths(self, commit: str) -> Sequence[str]:
        """The paths that a commit changes against its parent; none for a merge."""
        ...

    def patches_between(
        self, pairs: Sequence[tuple[str, str]], paths: Sequence[str] = ()
    ) -> Sequence[str | None]:
        """The patch ids of the differences of pairs of an old and a new commit that are here.

        There is none where nothing differs, or where a partial clone lacks one of the blobs.

        Args:
            pairs: of commits that are known here.
            paths: only the differences in these; empty for all.
        """
        ...

    def patch_ids(self, commits: Sequence[str], paths: Sequence[str] = ()) -> Mapping[str, str]:
        """The patch ids of commits against their only parent.

        Merges and empty ones have none, nor those of which a partial clone lacks a blob.
        """
        ...

    def changes_between(
        self, pairs: Sequence[tuple[str, str]], paths: Sequence[str] = ()
    ) -> Sequence[Mapping[str, str]]:
        """The files that differ in pairs of commits, with their new contents by ids.

        Deleted files are left out. The arguments are those of `patches_between()`.
        """
        ...

    def new_blobs(
        self, commits: Sequence[str], paths: Sequence[str]
    ) -> Mapping[str, Collection[str]]:
        """The contents that commits with one parent gave to files, by ids."""
        ...


class Repository(CommitHistory, Protocol):
    """A git repository, for reading. Ids of commits and blobs are in hex.

    A repository may be hostile: none of its configuration, hooks, filters and attributes
    makes a program run, and no method reaches for a network.

    Every method may raise RepositoryError: git failed, took too long, or said too much.
    """

    def working_copy(self, known: WorkingCopy | None = None) -> WorkingCopy:
        """Where it is, and what is checked out.

        Args:
            known: an earlier answer; if HEAD descends from its commit, its first commit is
                reused, which otherwise takes a walk through the whole history.
        """
        ...

    def head(self) -> str | None:
        """The commit that is checked out; None before the first."""
        ...

    def branches(self) -> Mapping[str, str]:
        """Local branches, and remote ones as `refs/remotes/origin/name` -> their commits."""
        ...

    def resolve(self, name: str) -> str | None:
        """The commit of a branch, tag or id; None when there is none."""
        ...

    def changed_paths(self) -> Sequence[str]:
        """The paths with uncommitted changes, and untracked ones.

        An untracked folder is one path that ends with `/`.
        """
        ...

    def tracked_files(self) -> Sequence[TrackedFile]:
        """The files of the index, in the order of their paths; no links, no submodules."""
        ...

    def read_blobs(self, ids: Sequence[str], limit: int) -> Iterator[tuple[str, bytes]]:
        """The contents of blobs that are here, in any order.

        Those larger than `limit` bytes are empty. In a partial clone, blobs may be missing.
        """
        ...


def branch_of(name: str) -> str:
    """The name of a branch without its remote."""
    return name.removeprefix(REMOTES).partition("/")[2] if name.startswith(REMOTES) else name
