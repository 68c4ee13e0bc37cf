"""The part of the vault's status that an agent may see: nothing about facts that it may not read.

Notices name notes and scopes, and counts include them. The user sees everything; an agent sees
what it would see if the private facts of others did not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import structs

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath
from vaultsync.model.scope import is_scope
from vaultsync.notes.review_note import notes_beside
from vaultsync.sync.context import ReadContext
from vaultsync.sync.decision_table import PlannedAction
from vaultsync.sync.report import (
    AnyReport,
    ReportedNotice,
    Verification,
    changed_facts,
    counted,
    counts_of,
    proof_of,
)

_SCOPE = lazy_pattern(r"(?<![\w-])(?:private|team|project)-[\w-]+", re.IGNORECASE)


class AgentView:
    """The view of one agent; None is the user, who may see everything."""

    def __init__(self, ctx: ReadContext, agent: str | None) -> None:
        self.agent = agent
        self._permissions = ctx.policy.permissions
        self._default_scope = ctx.policy.default_scope
        self._archive = ctx.archive
        self._store = ctx.store
        self._seen: dict[str, bool] = {}
        """Scope -> whether the agent may see it: a vault has few, and many notes in each."""

    def sees_path(self, path: str) -> bool:
        """Whether the agent may see a file, by the scope folder in which it is."""
        folder = path.partition("/")[0]
        scope = folder if is_scope(folder) else self._default_scope
        return not path or self._sees_scope(scope)

    def _sees_scope(self, scope: str) -> bool:
        seen = self._seen.get(scope)
        if seen is None:
            seen = self._seen[scope] = self._permissions.may_read(self.agent, scope)
        return seen

    def sees_files_in(self, folder: str) -> bool:
        """Whether the agent may see the files directly in a folder."""
        return self.sees_path(f"{folder}/")

    def count_notes(self) -> int:
        """How many notes of facts the agent may see, without missing ones."""
        folders = self._archive.notes_by_folder().items()
        return sum(number for folder, number in folders if self.sees_files_in(folder))

    def sees_text(self, text: str) -> bool:
        """Whether a text mentions no scope that the agent may not read."""
        return all(self._sees_scope(name.casefold()) for name in _SCOPE.findall(text))

    def sees_facts(self, *facts: Fact | None) -> bool:
        """Whether the agent may see all known versions of a fact."""
        return all(fact is None or self._sees_scope(fact.scope) for fact in facts)

    def sees_action(self, action: PlannedAction) -> bool:
        """Whether the agent may see what a run would do."""
        if self.agent is None:
            return True
        facts = (action.base, action.store, action.vault, action.merged)
        return self.sees_facts(*facts) and self.sees_path(action.path or "")

    def notices(self, notices: Iterable[ReportedNotice]) -> list[ReportedNotice]:
        """The notices that the agent may read."""
        if self.agent is None:
            return list(notices)
        return [
            each
            for each in notices
            if self.sees_note(each.path) and self.sees_text(f"{each.message}\n{each.hint}")
        ]

    def report(self, found: AnyReport) -> AnyReport:
        """The report of a run, with the actions and the notices that the agent may know of.

        Its counts include only these actions, and notes that the agent may see.
        """
        if self.agent is None:
            return found
        hidden = self.hidden_facts({each.fact_id for each in found.actions})
        actions = [
            each
            for each in found.actions
            if each.fact_id not in hidden and self.sees_note(each.path or "")
        ]
        counts = counts_of(actions)
        changed = changed_facts(actions, dry_run=found.dry_run)
        counts["unchanged"] = max(self.count_notes() - len(changed), 0)
        attention = self.notices(found.attention)
        return structs.replace(found, counts=counted(counts), actions=actions, attention=attention)

    def verification(self, verified: Verification, *, facts: int) -> Verification:
        """The result of `verify` for the facts that the agent may see; `facts` is their number."""
        rows = (*verified.differences, *verified.held)
        hidden = self.hidden_facts({each.fact_id for each in rows})
        differences, held = (
            [x for x in each if x.fact_id not in hidden and self.sees_note(x.path or "")]
            for each in (verified.differences, verified.held)
        )
        return proof_of(facts, differences, held)

    def hidden_facts(self, fact_ids: set[str]) -> set[str]:
        """The facts that the agent may not know of, among those that any source has."""
        return self._without(fact_ids, self._permissions.may_read)

    def unwritable_facts(self, fact_ids: set[str]) -> set[str]:
        """The facts that the agent may not write, among those that any source has."""
        return self._without(fact_ids, self._permissions.may_write)

    def _without(self, fact_ids: set[str], may: Callable[[str | None, str], bool]) -> set[str]:
        if self.agent is None or not fact_ids:
            return set()

        def may_all(fact: Fact | None) -> bool:
            return fact is None or may(self.agent, fact.scope)

        bases = self._archive.find_bases(fact_ids)
        denied = {key for key, base in bases.items() if not may_all(base.fact)}
        try:
            stored = self._store.find_many(fact_ids - denied)
            for each in fact_ids - denied:
                if not may_all(stored.get(each) or self._store.tombstone(each)):
                    denied.add(each)
        except StoreUnavailableError:
            denied |= fact_ids - bases.keys()
        return denied

    def sees_id(self, fact_id: object) -> bool:
        """Whether the agent may know of the fact with an id that a note has, if there is one."""
        return not self.hidden_facts({str(fact_id)})

    def sees_note(self, path: str) -> bool:
        """Whether the agent may know of a file and of its fact, if it is the note of one.

        An agent may know of a conflict note if it may know of the note beside it.
        """
        if not self.sees_path(path):
            return False
        bases = map(self._archive.base_at, (VaultPath(path), *notes_beside(path)))
        return self.sees_facts(*(base.fact for base in bases if base))
