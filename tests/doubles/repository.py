"""A repository in memory: a graph of commits, each of which changes some paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from vaultsync.repos.ports import Commit

Content = Mapping[str, tuple[int, ...]]
"""Path -> the changes that it has, in their order."""


@dataclass(frozen=True)
class ModelCommit:
    """A commit, with what its working copy has."""

    id: str
    parents: tuple[str, ...]
    content: Content
    message: str
    time: int
    author: str
    brought: frozenset[int]
    """All changes that arrived with it and its ancestors, by whichever way: what the reference
    model knows, and git does not."""


@dataclass
class ModelRepository:
    """What `ports.CommitHistory` asks of a repository, computed naively."""

    commits: dict[str, ModelCommit] = field(default_factory=dict)
    _ancestors: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(
        self,
        parents: Sequence[str],
        content: Content,
        brought: Collection[int],
        message: str = "",
        author: str | None = None,
    ) -> str:
        """A new commit, or another version of the one by an author; returns its id."""
        number = len(self.commits) + 1
        name = f"{number:040x}"
        self.commits[name] = ModelCommit(
            name,
            tuple(parents),
            dict(content),
            message,
            number,
            author or f"{number}",
            frozenset(brought),
        )
        self._ancestors[name] = frozenset({name}.union(*(self._ancestors[x] for x in parents)))
        return name

    def ancestors(self, commit: str) -> frozenset[str]:
        """A commit and all before it; none of an unknown one."""
        return self._ancestors.get(commit, frozenset())

    def missing_from(self, head: str, commits: Collection[str]) -> frozenset[str]:
        return frozenset(commits) - self.ancestors(head)

    def commits_between(
        self, old: str, new: str, paths: Sequence[str] = (), *, limit: int | None = None
    ) -> Sequence[Commit]:
        names = sorted(self.ancestors(new) - self.ancestors(old), reverse=True)
        found = [self.commits[x] for x in names]
        if paths:
            found = [x for x in found if {*self.touched_paths(x.id)} & {*paths}]
        return [Commit(x.id, x.parents, x.message, x.time, x.author) for x in found][:limit]

    def merge_base(self, one: str, other: str) -> str | None:
        common = self.ancestors(one) & self.ancestors(other)
        best = [x for x in common if not any(x in self.ancestors(y) - {y} for y in common)]
        return max(best, default=None)

    def touched_paths(self, commit: str) -> Sequence[str]:
        made = self.commits.get(commit)
        if made is None or len(made.parents) > 1:
            return ()
        before = self.commits[made.parents[0]].content if made.parents else {}
        paths = {*before, *made.content}
        return sorted(x for x in paths if before.get(x, ()) != made.content.get(x, ()))

    def descendants(self, commit: str, tips: Sequence[str], *, limit: int) -> Sequence[str]:
        found = frozenset[str]().union(*map(self.ancestors, tips)) - self.ancestors(commit)
        return sorted((x for x in found if commit in self.ancestors(x)), reverse=True)[:limit]

    def patches_between(
        self, pairs: Sequence[tuple[str, str]], paths: Sequence[str] = ()
    ) -> Sequence[str | None]:
        return [
            self._patch(self.commits[old].content, self.commits[new].content, paths)
            for old, new in pairs
        ]

    def patch_ids(self, commits: Sequence[str], paths: Sequence[str] = ()) -> Mapping[str, str]:
        found = {}
        for each in commits:
            made = self.commits.get(each)
            if made is None or len(made.parents) > 1:
                continue
            before = self.commits[made.parents[0]].content if made.parents else {}
            patch = self._patch(before, made.content, paths)
            if patch is not None:
                found[each] = patch
        return found

    def changes_between(
        self, pairs: Sequence[tuple[str, str]], paths: Sequence[str] = ()
    ) -> Sequence[Mapping[str, str]]:
        return [
            {
                path: str(text)
                for path, text in self.commits[new].content.items()
                if path in paths and self.commits[old].content.get(path) != text
            }
            for old, new in pairs
        ]

    def new_blobs(
        self, commits: Sequence[str], paths: Sequence[str]
    ) -> Mapping[str, Collection[str]]:
        found: dict[str, set[str]] = {}
        for each in commits:
            content = self.commits[each].content
            for path in {*paths} & {*self.touched_paths(each)} & content.keys():
                found.setdefault(path, set()).add(str(content[path]))
        return found

    @staticmethod
    def _patch(before: Content, after: Content, paths: Sequence[str]) -> str | None:
        lines = []
        for path in sorted({*before, *after}):
            if not paths or path in paths:
                old, new = before.get(path, ()), after.get(path, ())
                lines += [f"{path} -{x}" for x in old if x not in new]
                lines += [f"{path} +{x}" for x in new if x not in old]
        return "\n".join(lines) or None
