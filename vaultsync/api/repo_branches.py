"""Which branch of a repository is checked out, and which facts apply to it."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import structs

from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.backends.repo_files.repo_folder import RepoFolder
from vaultsync.errors import NotARepositoryError, RepoFileError, RepositoryError
from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.repos.entries import clean_path
from vaultsync.repos.fact_queries import RepositoryFacts
from vaultsync.repos.ports import branch_of
from vaultsync.repos.repo_identity import (
    SHARED,
    BranchScope,
    RepoIdentity,
    WorkingCopy,
    identify,
    lineage_of,
)
from vaultsync.repos.visibility import FactsByPlace, Place, arrived
from vaultsync.settings import Settings
from vaultsync.sync.context import ReadContext

_log = logging.getLogger(__name__)
_HASH_LENGTH = 64
_LINEAGES = ".lineages"
"""The folder of data shared by all working copies of a repository."""
_COPY = "copy.json"
_MOST_FORMER = 12
"""Maximum number of former lineages of a working copy."""
_MOST_TIPS = 5
"""Maximum number of former tips of a branch that are kept."""
T = TypeVar("T")


class _Arrivals(msgspec.Struct, frozen=True):
    """Cached results about places of facts, stored beside the files."""

    head: str | None = None
    tips: str = ""
    """A hash of the branches."""
    places: frozenset[Place] = frozenset()
    """The places that were checked for this head and these branches."""
    at: frozenset[Place] = frozenset()
    """The places whose facts apply."""
    by: dict[str, tuple[str, ...]] = {}
    """Commit and branch -> the commits by which they arrived."""


class _KnownCopy(WorkingCopy, frozen=True):
    """What was last known about a working copy, with the address of its remote sanitized."""

    former: tuple[str, ...] = ()
    """The lineages that it had before, newest first."""


@dataclass(frozen=True, slots=True)
class RepoHandle:
    """An open repository."""

    identity: RepoIdentity
    folder: RepoFolder
    shared: RepoFolder
    """The folder of the lineage, shared by all working copies."""
    repository: GitRepository | None
    """None if the working copy is gone."""
    copy: _KnownCopy | None = None
    """What to record about the working copy; None if it is recorded."""

    def open_files(self, paths: Sequence[str] | None) -> Sequence[str]:
        """As `relative_paths()`; by default, the files with uncommitted changes."""
        if paths is not None:
            return self.relative_paths(paths)
        return self.repository.changed_paths() if self.repository else ()

    def relative_paths(self, paths: Iterable[str]) -> list[str]:
        """Paths relative to the root, also those that begin at the root of the file system."""
        found = []
        for path in map(str, paths):
            bare = path.rstrip("/")
            parent = os.path.realpath(os.path.dirname(bare))  # noqa: PTH120 - any name
            real = os.path.join(parent, os.path.basename(bare))  # noqa: PTH118, PTH119 - any name
            is_below = path.startswith("/") and f"{real}/".startswith(f"{self.identity.root}/")
            below = real[len(self.identity.root) :] + path[len(bare) :]
            found.append(clean_path(below if is_below else path))
        return found


class RepoBranches:
    """The branches of repositories, and the facts that apply to them."""

    def __init__(
        self,
        settings: Settings,
        ctx: Callable[[], ReadContext],
        note_index: Callable[[], NoteIndex],
        facts_cache: RepositoryFacts,
    ) -> None:
        self._scope = settings.repos.branch_scope
        self.root = settings.repos_dir
        self._ctx = ctx
        self._note_index = note_index
        self._known_facts = facts_cache

    def open(self, repo: str | Path | None, branch_scope: BranchScope | None) -> RepoHandle:
        """A repository by the path of a folder in it, or by its hash; default: the current folder.

        Raises NotARepositoryError if it is neither in a repository nor a known hash, or
        GitFailedError.
        """
        scope = branch_scope or self._scope
        if isinstance(repo, str) and is_hash(repo) and not Path(repo).exists():
            return self._open_by_hash(repo)
        repository = GitRepository(Path(repo or "."))
        place = self._place_of(str(repository.root))
        recorded = read_state(place.state(_COPY), _KnownCopy("", None, None, None, None))
        copy = repository.working_copy(recorded)
        former = _former_lineages(recorded, identify(copy), repository)
        identity = identify(copy, scope, former=former)
        known = _KnownCopy(**{**structs.asdict(copy), "remote": identity.remote}, former=former)
        handle = self._handle(identity, repository)
        if known == recorded:
            return handle
        if self.root.is_dir():
            self.keep(place, _COPY, known)
        return replace(handle, copy=known)

    def record(self, handle: RepoHandle) -> None:
        """Record a repository by its hash, and its working copy, before the first write."""
        data = msgspec.json.encode(handle.identity)
        if handle.folder.state("repository.json") != data:
            handle.folder.put_state("repository.json", data)
        if handle.copy is not None:
            self.keep(self._place_of(handle.identity.root), _COPY, handle.copy)

    def _place_of(self, root: str) -> RepoFolder:
        """The folder of what is known about a working copy."""
        return RepoFolder(self.root / _LINEAGES, hashlib.sha256(os.fsencode(root)).hexdigest())

    def _handle(self, identity: RepoIdentity, repository: GitRepository | None) -> RepoHandle:
        folder = RepoFolder(self.root, identity.repo_hash)
        shared = RepoFolder(self.root / _LINEAGES, identity.lineage)
        return RepoHandle(identity, folder, shared, repository)

    def _open_by_hash(self, repo_hash: str) -> RepoHandle:
        data = RepoFolder(self.root, repo_hash).state("repository.json")
        try:
            stored = msgspec.json.decode(data or b"", type=RepoIdentity)
        except msgspec.MsgspecError:
            hint = "use its path; the hash of a repository is known only after its first use"
            raise NotARepositoryError(repo_hash, hint=hint) from None
        try:
            repository = GitRepository(Path(stored.root))
        except RepositoryError as error:
            _log.debug("the working copy of %s is gone: %s", repo_hash, error)
            return self._handle(stored, None)
        tip = repository.resolve(f"refs/heads/{stored.branch}") if stored.branch else stored.commit
        return self._handle(structs.replace(stored, commit=tip or stored.commit), repository)

    def elsewhere(self, repo: str | Path | None) -> list[Fact]:
        """The facts of a repository that do not apply to the branch that is checked out."""
        handle = self.open(repo, None)
        shown = {fact.id for fact in self.holding(handle)}
        return [fact for fact in self.facts(handle) if fact.id not in shown]

    def facts(self, handle: RepoHandle) -> FactsByPlace:
        """All facts of a repository, on all branches; the caller must not modify the result."""
        return self._known_facts.read(self._ctx(), self._note_index(), handle.identity)

    def holding(self, handle: RepoHandle) -> list[Fact]:
        """The facts that apply to the branch of a repository."""
        identity, facts = handle.identity, self.facts(handle)
        places = facts.places
        if identity.branch_scope == SHARED:
            return facts.holding(places)
        if handle.repository is None:
            own = {x for x in places if x.branch == identity.branch or x.commit == identity.commit}
            return facts.holding(own)
        return facts.holding(self.arrived(handle, handle.repository, places, identity.commit))

    def arrived(
        self,
        handle: RepoHandle,
        repository: GitRepository,
        places: Collection[Place],
        head: str | None,
    ) -> Collection[Place]:
        """Those of the places that apply at a commit, computed once per state of the branches."""
        if not places:
            return frozenset()
        branches = dict(repository.branches())
        tips = hashlib.sha256(msgspec.json.encode(sorted(branches.items()))).hexdigest()
        cached = read_state(handle.shared.state("arrivals.json"), _Arrivals())
        if cached.head == head and cached.tips == tips and cached.places.issuperset(places):
            return cached.at
        before = {_place(key): commits for key, commits in cached.by.items()}
        all_tips = self.remembered_tips(handle, branches, places)
        arrivals = arrived(repository, head, places, all_tips, before)
        by = {_key(place): commits for place, commits in arrivals.by.items()}
        state = _Arrivals(head, tips, frozenset(places), arrivals.at, by)
        self.keep(handle.shared, "arrivals.json", state)
        return arrivals.at

    def remembered_tips(
        self, handle: RepoHandle, branches: dict[str, str], places: Iterable[Place]
    ) -> dict[str, list[str]]:
        """The current and former tips of the branches of places."""
        empty: dict[str, list[str]] = {}
        recorded = read_state(handle.shared.state("branches.json"), empty)
        names = {place.branch for place in places if place.branch}
        tips: dict[str, list[str]] = {}
        for name in sorted(names | recorded.keys()):
            now = [tip for ref, tip in branches.items() if branch_of(ref) == name]
            tips[name] = [*dict.fromkeys([*now, *recorded.get(name, [])])][:_MOST_TIPS]
        if tips != recorded:
            self.keep(handle.shared, "branches.json", tips)
        return tips

    def keep(self, folder: RepoFolder, name: str, state: object) -> None:
        """Cache the results; failures are ignored."""
        try:
            folder.put_state(name, msgspec.json.encode(state), durable=False)
        except (RepoFileError, UnicodeEncodeError) as error:  # a name that was asked for
            _log.debug("%s is not kept: %s", name, error)


def is_hash(repo: str | Path | None) -> bool:
    """Whether this is the hash of a repository, rather than a path."""
    text = str(repo)
    return len(text) == _HASH_LENGTH and not text.strip("0123456789abcdef")


def _former_lineages(
    known: _KnownCopy, now: RepoIdentity, repository: GitRepository
) -> tuple[str, ...]:
    """The lineages that a working copy had before its history or its remote changed.

    There are none if both changed, or another repository was created in its place.
    """
    former, was = known.former, identify(known)
    if known.root and was.lineage != now.lineage:
        shared = {*was.lineages}.intersection(now.lineages) - {lineage_of(None, None, now.root)}
        is_other = (was.remote and now.remote and not shared) or (
            known.commit is not None and repository.resolve(known.commit) is None
        )
        former = () if is_other else (*was.lineages, *former)
    own = now.lineages
    return tuple(each for each in dict.fromkeys(former) if each not in own)[:_MOST_FORMER]


def _key(place: Place) -> str:
    return f"{place.commit} {place.branch or ''}"


def _place(key: str) -> Place:
    commit, _, branch = key.partition(" ")
    return Place(commit, branch or None)


def read_state(data: bytes | None, default: T) -> T:
    """The value of a state file; the default if it is unreadable."""
    if data is None:
        return default
    try:
        return msgspec.json.decode(data, type=type(default))
    except msgspec.MsgspecError as error:
        _log.debug("a state file is created again: %s", error)
        return default
