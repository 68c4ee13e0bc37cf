"""The rules that decide to which branches a fact of a repository applies.

A fact that was written at commit C of branch B holds at HEAD when

1. C is HEAD or one of its ancestors, or
2. a commit that HEAD has and C lacks names C as picked or squashed (`git cherry-pick -x`,
   `git merge --squash`), or
3. such a commit makes the same change in the files that C touches (a rebase, a cherry-pick),
   or the change that B had made in these files by C or by a later commit (a squash), or
4. such commits leave these files as C or a later commit of B had them, and not as they were
   before (a squash of what had arrived in part), or
5. such a commit that is no merge, not older than C, is another version of C: it has the same
   author and time of authorship, which an amendment, a rebase and a cherry-pick keep, and
   touches a file that C touches, or
6. such a commit that is no merge, not older than C, has the message of a merge request of B, and
   touches every file that C touches.

A fact without a commit holds everywhere; one that was promoted also holds wherever the commit of
its promotion does. A merge has no change of its own, so all of its commits that HEAD lacks count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from vaultsync.model.fact import Fact
from vaultsync.repos.entries import Recorded, recorded
from vaultsync.repos.ports import Commit, CommitHistory

MAX_COMMITS = 2_000
"""Maximum number of commits of HEAD that are examined for one place, newest first."""
MAX_WAYS = 5
"""Maximum number of remembered commits by which a place arrived."""
MAX_SQUASHES = 100
"""Maximum number of parts of a branch that are compared with commits of HEAD."""
MAX_TIPS = 50
"""Maximum number of later commits of a branch that may end a squash."""
MAX_PATH_CHARS = 200_000
"""Maximum length of the paths of a commit that are looked for in others: git takes them as
arguments, which an operating system limits to 1 MB or more. A commit with more holds elsewhere
by its id or a message."""
_NAMED = re.compile(
    r"^(?:commit ([0-9a-f]{40,64})\s*|\(cherry picked from commit ([0-9a-f]{40,64})\))$",
    re.MULTILINE,
)
_MERGED = (
    re.compile(r"^Merge(?:d)? (?:remote-tracking )?branch '([^']+)'", re.MULTILINE),
    re.compile(r"^Merge pull request #\d+ from [^/\s]+/(\S+)", re.MULTILINE),
    re.compile(r"^Merged in (\S+) \(pull request #\d+\)", re.MULTILINE),
)
_OLD_REMOTE = re.compile(r"\A(?:refs/heads/|origin/)")


class Place(NamedTuple):
    """Where a fact was written, or was promoted to."""

    commit: str
    branch: str | None = None


class Arrived(NamedTuple):
    """Places that hold at HEAD."""

    at: frozenset[Place]
    by: Mapping[Place, tuple[str, ...]]
    """Place -> the commits by which it arrived somewhere, where C itself did not; newest first."""


def arrived(
    history: CommitHistory,
    head: str | None,
    places: Collection[Place],
    tips: Mapping[str, Iterable[str]],
    known: Mapping[Place, tuple[str, ...]] | None = None,
) -> Arrived:
    """The places that hold at HEAD.

    `tips` are branch -> its present and former tips. `known` are place -> the commits by which it
    arrived, from earlier calls: what arrived on one branch by a squash may reach another one by a
    rebase.
    """
    if head is None or not places:
        return Arrived(frozenset(), {})
    known = known or {}
    asked = {commit for x in places for commit in (x.commit, *known.get(x, ()))}
    missing = history.missing_from(head, asked)
    found = {x for x in places if not {x.commit, *known.get(x, ())} <= missing}
    by = dict(known)
    search = _Search(history, head, tips)
    for place in sorted(set(places) - found, key=lambda x: (x.commit, x.branch or "")):
        ways = (place, *(Place(commit) for commit in known.get(place, ())))
        commit = next(filter(None, map(search.arrival, ways)), None)
        if commit is not None:
            found.add(place)
            by[place] = (commit, *known.get(place, ()))[:MAX_WAYS]
    return Arrived(frozenset(found), by)


class _Search:
    """Looks for the commit of HEAD by which a place arrived."""

    def __init__(
        self, history: CommitHistory, head: str, tips: Mapping[str, Iterable[str]]
    ) -> None:
        self._history = history
        self._head = head
        self._tips = tips
        self._bases: dict[str, str | None] = {}

    def arrival(self, place: Place, *, alone: bool = False) -> str | None:
        """The newest such commit; None when there is none.

        If `alone`, a merge or an empty commit is not followed to others.
        """
        commit = place.commit
        newer = self._history.commits_between(commit, self._head, limit=MAX_COMMITS)
        named = (each.id for each in newer if commit in _named_in(each.message))
        if (found := next(named, None)) is not None:
            return found
        paths = self._history.touched_paths(commit)
        # A history that was rewritten from its first commit has nothing in common with the former.
        is_rewritten = self._history.merge_base(commit, self._head) is None
        if is_rewritten and not paths:
            return None
        if is_rewritten or sum(map(len, paths)) > MAX_PATH_CHARS:
            return self._by_commit(place, newer, paths)
        own = self._history.patch_ids([commit], paths).get(commit) if paths else None
        if own is None:
            return None if alone else self._by_all(place)
        touching = [
            each.id
            for each in self._history.commits_between(commit, self._head, paths, limit=MAX_COMMITS)
            if len(each.parents) == 1
        ]
        if touching:
            theirs = self._history.patch_ids(touching, paths)
            ends = self._later(place)
            for patch in chain([own], filter(None, self._squashed(place, ends, paths))):
                for each in touching:
                    if theirs.get(each) == patch:
                        return each
            if self._is_equal(ends, touching, paths):
                return touching[0]
        return self._by_commit(place, newer, paths)

    def _later(self, place: Place) -> Sequence[str]:
        """The commit of a place, and later commits of its branch, or else of any other.

        Commits of another branch, merged into this one, do not have it.
        """
        own = [*self._tips.get(place.branch or "", ())]
        others = [tip for name, tips in self._tips.items() if name != place.branch for tip in tips]
        later = (
            self._history.descendants(place.commit, tips, limit=MAX_TIPS)
            for tips in (own, others[:MAX_TIPS])
        )
        return [*dict.fromkeys([place.commit, *chain.from_iterable(later)])]

    def _base(self, end: str) -> str | None:
        """The commit at which an end and the branch of HEAD forked."""
        if end not in self._bases:
            self._bases[end] = self._history.merge_base(end, self._head)
        return self._bases[end]

    def _squashed(
        self, place: Place, ends: Sequence[str], paths: Sequence[str]
    ) -> Iterator[str | None]:
        """The patches of a branch in some paths, from its fork point to each end.

        If a part of it was squashed before, the rest begins at a commit before the place.
        """
        bases = ((self._base(end), end) for end in ends)
        pairs = [(base, end) for base, end in bases if base]
        yield from self._history.patches_between(pairs[:MAX_SQUASHES], paths)
        before = self._history.commits_between(self._head, place.commit, limit=MAX_TIPS)[1:]
        more = [(start.id, end) for start in before for end in ends]
        yield from self._history.patches_between(more[: max(MAX_SQUASHES - len(pairs), 0)], paths)

    def _is_equal(self, ends: Sequence[str], touching: Sequence[str], paths: Sequence[str]) -> bool:
        """Whether paths had the same contents on the branch of HEAD as at an end."""
        known = self._history.new_blobs(touching, paths)
        bases = ((self._base(end), end) for end in ends)
        pairs = [(base, end) for base, end in bases if base]
        return any(
            len(changed) == len(paths)
            and all(blob in known.get(path, ()) for path, blob in changed.items())
            for changed in self._history.changes_between(pairs, paths)
        )

    def _by_commit(self, place: Place, newer: Sequence[Commit], paths: Sequence[str]) -> str | None:
        """The commit that is another version of the place, or whose message names its branch."""
        at = next(iter(self._history.commits_between(self._head, place.commit, limit=1)), None)
        for each in newer:
            if at is None or len(each.parents) > 1 or each.time < at.time:
                continue
            is_version = each.author == at.author
            if is_version or place.branch in _merged_in(each.message):
                touched = {*self._history.touched_paths(each.id)}
                if {*paths} & touched if is_version else {*paths} <= touched:
                    return each.id
        return None

    def _by_all(self, place: Place) -> str | None:
        """For a commit without a change of its own: whether all that HEAD lacks has arrived."""
        lacking = self._history.commits_between(self._head, place.commit, limit=MAX_TIPS)
        if not lacking or len(lacking) == MAX_TIPS or len(lacking[0].parents) < 2:  # noqa: PLR2004 - a merge has two parents
            return None
        by = None
        for each in lacking:
            if len(each.parents) == 1:
                found = self.arrival(Place(each.id, place.branch), alone=True)
                if found is None:
                    return None
                by = by or found
        return by or self._head


def _named_in(message: str) -> set[str]:
    """The commits that a message names as picked or squashed."""
    return {picked or squashed for squashed, picked in _NAMED.findall(message)}


def _merged_in(message: str) -> set[str]:
    """The branches that a message names as merged."""
    return {_OLD_REMOTE.sub("", name) for rule in _MERGED for name in rule.findall(message)}


def places_of(fact: Fact) -> tuple[Place, ...]:
    """Where a fact was written and promoted to; none when it holds everywhere."""
    return _places(recorded(fact))


def _places(found: Recorded) -> tuple[Place, ...]:
    if found.commit is None:
        return ()
    return (Place(found.commit, found.branch), *map(Place, found.promoted))


class FactsByPlace:
    """The facts of one repository, grouped by the places where they hold."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._places: dict[str, tuple[Place, ...]] = {}
        self._facts: dict[tuple[Place, ...], dict[str, Fact]] = {}
        self._replaces: dict[str, tuple[str, ...]] = {}
        for fact in facts:
            self.put(fact)

    def put(self, fact: Fact) -> None:
        """Add a fact, or its new version."""
        at = recorded(fact)
        places = _places(at)
        if self._places.get(fact.id) != places:
            self.drop(fact.id)
            self._places[fact.id] = places
        self._facts.setdefault(places, {})[fact.id] = fact
        self._replaces.pop(fact.id, None)
        if at.replaces:
            self._replaces[fact.id] = at.replaces

    def drop(self, fact_id: str) -> None:
        """Remove a fact, if it is there."""
        places = self._places.pop(fact_id, None)
        if places is not None:
            del self._facts[places][fact_id]
            self._replaces.pop(fact_id, None)

    def __iter__(self) -> Iterator[Fact]:
        """All facts."""
        return chain.from_iterable(found.values() for found in self._facts.values())

    @property
    def places(self) -> set[Place]:
        """Where they were written and promoted to."""
        return {place for places, found in self._facts.items() if found for place in places}

    def holding(self, at: Collection[Place]) -> list[Fact]:
        """The facts that hold at these places, without those that others of them replace."""
        shown: dict[str, Fact] = {}
        for places, found in self._facts.items():
            if not places or any(each in at for each in places):
                shown.update(found)
        for replaced in [self._replaces[each] for each in self._replaces if each in shown]:
            for fact_id in replaced:
                shown.pop(fact_id, None)
        return [*shown.values()]
