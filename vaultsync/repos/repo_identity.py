"""The identity of a repository: a hash of one working copy and branch, and a lineage for all.

The hash has the path, the remote and the branch, so that each branch of each working copy has
a memory file of its own. The lineage has neither path nor branch: clones, worktrees and moved
folders share it. A working copy whose history is rewritten, or whose remote changes, keeps its
former lineages. No credential of a remote is in any of these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from vaultsync.model.file_names import slug

BranchScope = Literal["perBranch", "sharedRepo"]
"""Whether each branch has its own memory, or all share one."""
PER_BRANCH: Final = "perBranch"
SHARED: Final = "sharedRepo"
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_SSH = ("ssh", "git+ssh", "ssh+git")
_URL = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]*)://(.*)\Z", re.DOTALL)
_HELPER = re.compile(r"\A(?:[A-Za-z0-9][A-Za-z0-9+.-]*::)+")
"""The name of the program that git runs for an address, as in `gcrypt::https://host/repo`."""
_SCP = re.compile(r"\A(?:[^/@]*@)?(\[[^\]/]*\]|[^/:\[\]@]+):(.*)\Z", re.DOTALL)
"""`user@host:path`, which git reads as SSH if no slash precedes the colon."""
_AT = re.compile(r"(?<!/)@")
_HOST = re.compile(r"\A(\[[^\]]*\]|[^:]*)(?::([0-9]*))?\Z")


class RepoIdentity(Struct, frozen=True):
    """A working copy of a repository, at one branch or commit."""

    repo_hash: Annotated[str, Meta(description="SHA-256 of path, remote and branch.")]
    lineage: Annotated[
        str, Meta(description="SHA-256 of the first commit and the remote; clones share it.")
    ]
    root: str
    """The canonical path of the working copy."""
    remote: str | None
    """Its address without credentials; None when there is no remote."""
    branch: str | None
    """None when HEAD is detached."""
    commit: str | None
    """None before the first commit."""
    branch_scope: BranchScope
    slug: str
    """The name in the scope of its facts, `project-<slug>`."""
    warnings: tuple[str, ...] = ()
    earlier: Annotated[
        tuple[str, ...],
        Meta(
            description="Other lineages: with less information, such as without the remote, and"
            " earlier ones of this working copy."
        ),
    ] = ()

    @property
    def lineages(self) -> tuple[str, ...]:
        """Its own lineage and earlier ones, whose facts belong to it too."""
        return (self.lineage, *self.earlier)


def sanitize_remote(url: str) -> str:
    """The address of a remote in one spelling, without user, password, query and fragment.

    `https://user:token@github.com:443/owner/repo/?foo=bar#section` becomes
    `https://github.com/owner/repo`, and `git@github.com:owner/repo.git` becomes
    `ssh://github.com/owner/repo`. Host names are in lower case; paths are kept as they are,
    because servers may tell them apart.
    """
    url = _HELPER.sub("", url.strip())
    match = _URL.match(url)
    if match:
        scheme, rest = match[1].lower(), match[2]
    elif (short := _SCP.match(url)) and "/" not in short[1]:
        scheme, rest = "ssh", f"{short[1]}/{short[2].lstrip('/')}"
    else:
        return _trimmed(url)
    rest = re.split(r"[?#]", rest, maxsplit=1)[0] if "@" not in rest else _without_user(rest)
    authority, _, path = rest.partition("/")
    host = _HOST.match(authority)
    name, port = (host[1], host[2]) if host else (authority.partition(":")[0], None)
    if scheme in _SSH:
        scheme, port = "ssh", None
    keeps = port and port != _DEFAULT_PORTS.get(scheme)
    place = name.lower() + (f":{port}" if keeps else "")
    path = _trimmed(path).lstrip("/")
    return f"{scheme}://{place}/{path}" if path else f"{scheme}://{place}"


def _without_user(rest: str) -> str:
    """What follows `//`, without `user:password@`, and without query and fragment.

    A password may contain an unescaped `@`, `/`, `?` or `#`, so it extends to the last `@` that
    does not begin a part of the path (`/@scope/`).
    """
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, _ = authority.partition("@")
    if ":" in (user if at else authority) and (at or not _HOST.match(authority)):
        *_, end = [0, *(each.end() for each in _AT.finditer(rest))]
        rest = rest[end:]
    elif at:
        rest = rest[len(authority.rpartition("@")[0]) + 1 :]
    return re.split(r"[?#]", rest, maxsplit=1)[0]


def _trimmed(path: str) -> str:
    """A path without slashes and blanks at its end and without `.git`."""
    stripped = _without_end(path)
    bare = _without_end(stripped.removesuffix(".git")) if stripped != ".git" else stripped
    return bare or stripped or path


def _without_end(path: str) -> str:
    end = len(path)
    while end and (path[end - 1] == "/" or path[end - 1].isspace()):
        end -= 1
    return path[:end]


def repo_hash(path: str, remote: str | None, branch: str | None) -> str:
    """SHA-256 of path, remote and branch, joined by line breaks, as hex.

    Args:
        path: the canonical path of the working copy.
        remote: as `sanitize_remote()` returns it; None without one.
        branch: the branch, or the commit of a detached HEAD; None where branches share.
    """
    parts = (path, remote, branch)
    return _digest(each for each in parts if each is not None)


def lineage_of(first_commit: str | None, remote: str | None, path: str) -> str:
    """SHA-256 of what clones, worktrees and moved folders have in common, as hex.

    Args:
        first_commit: that to which the first parents of HEAD lead; None before there is one.
        remote: as `sanitize_remote()` returns it; its scheme does not count, because people
            clone one repository by HTTPS and by SSH.
        path: the canonical path, which counts only where nothing else is known.
    """
    place = remote.partition("://")[2] or remote if remote else None
    parts = [each for each in (first_commit, place) if each is not None]
    return _digest(parts or [path])


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def repository_slug(root: str, remote: str | None) -> str:
    """The name of a repository in a scope: the last part of its remote, else of its folder."""
    last = (remote or root).replace(":", "/").rstrip("/").rpartition("/")[2]
    found = re.sub(r"[^a-z0-9-]+", "-", slug(last)).strip("-")
    return found or "repository"


class WorkingCopy(Struct, frozen=True):
    """The answers of git about a folder."""

    root: str
    remote: str | None
    """As configured in git; it may contain a password."""
    branch: str | None
    commit: str | None
    first_commit: str | None
    """In a shallow clone, the oldest one that it has."""
    is_shallow: bool = False


def identify(
    found: WorkingCopy, branch_scope: BranchScope = PER_BRANCH, *, former: Iterable[str] = ()
) -> RepoIdentity:
    """The identity of a working copy.

    `former` are the lineages that it had before.
    """
    remote = sanitize_remote(found.remote) if found.remote else None
    warnings = []
    if remote is None:
        warnings.append(
            "the repository has no remote: its memory is not shared with clones on other machines"
            if found.commit
            else "the repository has neither a remote nor a commit: only its path identifies it"
        )
    if found.is_shallow:
        warnings.append(
            "the repository is a shallow clone: its first commit is unknown, so it does not have"
            " what was remembered in full clones; `git fetch --unshallow` completes it"
        )
    if found.branch is None:
        warnings.append("HEAD is detached: the commit is used instead of the branch")
    place = found.branch if found.branch is not None else found.commit
    first = found.first_commit
    known = [(first, remote), (first, None), (None, remote), (None, None)]
    if found.is_shallow:  # facts of earlier versions have its oldest commit
        known = known[2:] + known[:2]
    own = (lineage_of(commit, where, found.root) for commit, where in known)
    lineage, *earlier = dict.fromkeys((*own, *former))
    return RepoIdentity(
        repo_hash(found.root, remote, None if branch_scope == SHARED else place),
        lineage,
        found.root,
        remote,
        found.branch,
        found.commit,
        branch_scope,
        repository_slug(found.root, remote),
        tuple(warnings),
        tuple(earlier),
    )
