"""What an agent may know of the vault's state: nothing about facts that it cannot see.

Notices name notes and scopes, and counts count them. A person sees all; an agent sees what it
would see if the private facts of others were not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from vaultsync.model.fact import Fact
from vaultsync.model.scope import can_see, is_scope
from vaultsync.sync.context import ReadContext
from vaultsync.sync.decision_table import PlannedAction
from vaultsync.sync.report import ReportedNotice

_PRIVATE = re.compile(r"(?<![\w-])private-[\w-]+", re.IGNORECASE)


class AgentView:
    """What one agent may know; None is the user, who may know everything."""

    def __init__(self, ctx: ReadContext, agent: str | None) -> None:
        self.agent = agent
        self._default_scope = ctx.policy.default_scope
        self._archive = ctx.archive
        self._owners: Mapping[str, str] | None = None

    def sees_path(self, path: str) -> bool:
        """Whether the agent may know of a file, by the scope folder that it lies in."""
        folder = path.partition("/")[0]
        scope = folder if is_scope(folder) else self._default_scope
        return not path or can_see(self.agent, scope)

    def sees_text(self, text: str) -> bool:
        """Whether a text names no private scope of another agent."""
        return all(can_see(self.agent, name.casefold()) for name in _PRIVATE.findall(text))

    def sees_facts(self, *facts: Fact | None) -> bool:
        """Whether the agent may see all versions of a fact that are known."""
        return all(fact is None or can_see(self.agent, fact.scope) for fact in facts)

    def sees_action(self, action: PlannedAction) -> bool:
        """Whether the agent may know what a run would do."""
        if self.agent is None:
            return True
        facts = (action.base, action.store, action.vault, action.merged)
        return self.sees_facts(*facts) and self.sees_path(action.path or "")

    def notices(self, found: Iterable[ReportedNotice]) -> list[ReportedNotice]:
        """The notices that the agent may read."""
        if self.agent is None:
            return list(found)
        return [
            each
            for each in found
            if self.sees_path(each.path)
            and self._sees_note(each.path)
            and self.sees_text(f"{each.message}\n{each.hint}")
        ]

    def _sees_note(self, path: str) -> bool:
        """Whether the fact of the note at a path, if there is one, is the agent's to see."""
        if self._owners is None:
            self._owners = {str(path): key for path, key in self._archive.paths().items()}
        base = self._archive.find_base(self._owners.get(path, ""))
        return self.sees_facts(base.fact if base else None)
