"""What the rules of branch-true memory ask of a git repository, and its records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

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


def branch_of(name: str) -> str:
    """The name of a branch without its remote."""
    return name.removeprefix(REMOTES).partition("/")[2] if name.startswith(REMOTES) else name
