"""Questions that need the model, answered by a bridge that has it in memory already.

The index answers here, in milliseconds. Only when a question needs vectors, and a bridge
of this vault runs, is the bridge asked the whole question; when it does not answer, the
model is loaded here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from vaultsync.app.packing import Packing
from vaultsync.app.recalling import Recalling

if TYPE_CHECKING:  # what is only asked need not load what packs it
    from vaultsync.core.packed import ContextPack
    from vaultsync.engine.answer import Recall, Sources

T = TypeVar("T")


class _ModelNeeded(Exception):  # noqa: N818 - nothing is wrong
    """The question needs vectors."""


def _stop() -> NoReturn:
    raise _ModelNeeded


class Warm(Recalling):
    """Who asks the bridge when it is worth while."""

    _waits = False

    @property
    def _sources(self) -> Sources:
        from dataclasses import replace

        sources = super()._sources
        return replace(sources, vectors=_stop) if self._waits else sources

    def _by_bridge(
        self,
        path: str,
        body: Mapping[str, object],
        here: Callable[[], T],
        read: Callable[[Mapping[str, Any]], T],
    ) -> T:
        """What `here` answers without a model, else what the bridge does, else `here`."""
        if not (self.settings.state_dir / "bridge.json").exists():
            return here()
        self._waits = True
        try:
            return here()
        except _ModelNeeded:
            said = self._asked(path, body)
        finally:
            self._waits = False
        if said is not None:
            try:
                return read(said)
            except (KeyError, TypeError, ValueError):
                pass  # a bridge of another version
        return here()

    def _asked(self, path: str, body: Mapping[str, object]) -> Mapping[str, Any] | None:
        from vaultsync.adapters.announcement import Announcement
        from vaultsync.adapters.bridge_client import ask_bridge
        from vaultsync.adapters.token_file import TokenFile

        found = Announcement(self.settings.state_dir).find()
        token = TokenFile(self.settings.state_dir).find()
        if found is None or token is None or found.agent not in (None, self.agent):
            return None
        return ask_bridge(found.port, token, path, {**body, "agent": self.agent})


class WarmRecalling(Warm):
    """`recall`, by the bridge where that is faster."""

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: str = "auto",
        types: Sequence[str] = (),
        scopes: Sequence[str] = (),
        tags: Sequence[str] = (),
        max_priority: int = 2,
        status: str | None = "active",
        heads_only: bool = True,
        since: str | None = None,
        until: str | None = None,
        user: str | None = None,
        explain: bool = False,
        agent: str | None = None,
    ) -> Recall:
        """As `Recalling.recall()`."""
        from vaultsync.engine.answer import recall_of

        def here() -> Recall:
            return super(WarmRecalling, self).recall(
                query,
                limit=limit,
                mode=mode,
                types=types,
                scopes=scopes,
                tags=tags,
                max_priority=max_priority,
                status=status,
                heads_only=heads_only,
                since=since,
                until=until,
                user=user,
                explain=explain,
                agent=agent,
            )

        if (status, heads_only, until, agent) != ("active", True, None, None):
            return here()  # a bridge takes no such words
        body = {
            "query": query,
            "limit": limit,
            "mode": mode,
            "types": list(types),
            "scopes": list(scopes),
            "tags": list(tags),
            "max_priority": max_priority,
            "since": since,
            "user": user,
            "explain": explain,
        }
        return self._by_bridge("/v1/recall", body, here, recall_of)


class WarmPacking(Warm, Packing):
    """`context`, by the bridge where that is faster."""

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        format: str = "markdown",  # noqa: A002 - the contract's word
        intent: str | None = None,
        mode: str = "auto",
        types: Sequence[str] = (),
        scopes: Sequence[str] = (),
        tags: Sequence[str] = (),
        max_priority: int = 4,
        since: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> ContextPack:
        """As `Packing.context()`."""
        from vaultsync.core.packed import pack_of
        from vaultsync.engine.packing import BUDGET

        def here() -> ContextPack:
            return super(WarmPacking, self).context(
                query,
                budget=budget,
                format=format,
                intent=intent,
                mode=mode,
                types=types,
                scopes=scopes,
                tags=tags,
                max_priority=max_priority,
                since=since,
                user=user,
                agent=agent,
            )

        if (mode, max_priority, since, agent) != ("auto", 4, None, None):
            return here()  # a bridge takes no such words
        body = {
            "query": query,
            "budget": BUDGET if budget is None else budget,
            "format": format,
            "intent": intent,
            "types": list(types),
            "scopes": list(scopes),
            "tags": list(tags),
            "user": user,
        }
        return self._by_bridge("/v1/context", body, here, pack_of)
