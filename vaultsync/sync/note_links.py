"""Links in notes: the facts to which they lead, and the texts of links to facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from vaultsync.links.wikilinks import LinkResolver, is_linkable, name_key, wiki_link
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.sync.context import SyncContext


def linked_ids(ctx: SyncContext, targets: frozenset[str], source: VaultPath) -> Mapping[str, str]:
    """Link target -> fact, for the links of a note, without broken links."""
    if not targets:
        return {}
    names_of = {target: target.partition("#")[0] for target in targets}
    paths = ctx.archive.paths_called([*names_of.values(), source])
    names = LinkResolver.of(paths)
    ids_by_target = {}
    for target, name in names_of.items():
        path = names.resolve(name, source)
        if path is not None:
            ids_by_target[target] = paths[path]
    return ids_by_target


class LinkTexts:
    """The texts of links to facts that have notes or get them in the same run."""

    def __init__(
        self,
        ctx: SyncContext,
        planned: Mapping[str, Fact],
        paths: Mapping[str, VaultPath] = MappingProxyType({}),
    ) -> None:
        """Links to existing notes, to `planned` ones, and to those with planned `paths`."""
        self._ctx = ctx
        self._planned = planned
        self._paths = paths
        self._view = ctx.view
        self._facts: Mapping[str, Fact] = {}
        self._planned_names: Mapping[str, Sequence[VaultPath]] | None = None
        """`name_key()` -> the planned paths with that name."""
        self._names: LinkResolver | None = None

    def prepare(self, fact_ids: Iterable[str]) -> None:
        """Look up all facts to link to, in one call."""
        ids = list(fact_ids)
        bases = self._ctx.archive.find_bases(ids) if ids else {}
        facts = {key: base.fact for key, base in bases.items()}
        facts |= {key: self._planned[key] for key in ids if key in self._planned}
        planned_ids = [key for key in ids if key in self._paths and key not in facts]
        found = self._ctx.store.find_many(planned_ids) if planned_ids else {}
        facts |= {key: x.evolve(path=self._paths[key]) for key, x in found.items()}
        self._facts, self._names = facts, None

    def to(self, fact_ids: Sequence[str]) -> Mapping[str, str]:
        """The text of the link to each fact that was looked up; without a note it has none."""
        if not fact_ids:
            return {}
        if self._names is None:
            self._names = self._resolver()
        texts = {}
        for key in fact_ids:
            fact = self._facts.get(key)
            if fact is None or fact.path is None:
                continue
            text = self._names.link_text(fact.path)
            if is_linkable(text):
                texts[key] = wiki_link(text, self._view.to_note(fact).title)
        return texts

    def _resolver(self) -> LinkResolver:
        """A resolver for the facts that were looked up; notes with other names cannot matter."""
        if self._planned_names is None:
            planned = defaultdict[str, list[VaultPath]](list)
            written = (fact.path for fact in self._planned.values() if fact.path)
            for path in (*written, *self._paths.values()):
                planned[name_key(path)].append(path)
            self._planned_names = planned
        names = {name_key(fact.path) for fact in self._facts.values() if fact.path}
        found = (path for name in names for path in self._planned_names.get(name, ()))
        return LinkResolver.of({*self._ctx.archive.paths_called(names), *found})
