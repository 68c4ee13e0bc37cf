"""Context packs: the part of `Memory` that gives an agent what it shall read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from vaultsync.api.recalling import RecallMethods

if TYPE_CHECKING:
    from vaultsync.context_packs.pack import ContextPack
    from vaultsync.recall.recall_request import ContextRequest


class ContextMethods(RecallMethods):
    """`context`: a question and a budget, and the facts that fit into it."""

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        format: str = "markdown",  # noqa: A002 - the contract's word
        intent: str | None = None,
        mode: str = "auto",
        types: Iterable[str] = (),
        scopes: Iterable[str] = (),
        tags: Iterable[str] = (),
        max_priority: int = 4,
        since: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> ContextPack:
        """What to read for a question, in `budget` tokens at most; says why, and what not.

        The budget is 4,000 tokens unless one is given.
        What is packed is counted in its `accessCount`, as what is recalled.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidScopeError: an argument makes no
            sense.
        """
        from vaultsync.recall.recall_request import DEFAULT_BUDGET, ContextRequest

        return self.pack(
            ContextRequest(
                query,
                budget=DEFAULT_BUDGET if budget is None else budget,
                format=format,
                intent=intent,
                mode=mode,
                types=tuple(types),
                scopes=tuple(scopes),
                tags=tuple(tags),
                max_priority=max_priority,
                since=since,
                user=user,
                agent=agent,
            )
        )

    def pack(self, asked: ContextRequest) -> ContextPack:
        """The same, asked for by a request.

        Raises: as `context()`.
        """
        from vaultsync.context_packs.service import build_context

        self._flush()
        agent, user = asked.agent or self.agent, asked.user or self.settings.user
        made = build_context(
            self._sources, self._derived.tokens, structs.replace(asked, agent=agent, user=user)
        )
        self._accesses.add(each.id for each in made.items if each.tier != "entities")
        return made
