"""Questions that need the model, answered by a bridge that has it in memory already.

The index answers here, in milliseconds. Only when a question needs vectors, and a bridge
of this vault runs, is the bridge asked the whole question; when it does not answer, the
model is loaded here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, cast

from vaultsync.api.daemon_client import ask_running_bridge
from vaultsync.api.packing import ContextMethods
from vaultsync.api.recalling import RecallMethods

if TYPE_CHECKING:  # what is only asked need not load what packs it
    from vaultsync.context_packs.pack import ContextPack
    from vaultsync.recall.result import RecallResult, RecallSources

P = ParamSpec("P")
T = TypeVar("T")


class _ModelNeeded(Exception):  # noqa: N818 - nothing is wrong
    """The question needs vectors."""


def _need_model() -> NoReturn:
    raise _ModelNeeded


class RemoteMemory(RecallMethods):
    """Who asks the bridge when it is worth while."""

    _waits = False

    @property
    def _sources(self) -> RecallSources:
        from dataclasses import replace

        sources = super()._sources
        return replace(sources, vectors=_need_model) if self._waits else sources

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
            body = {**body, "agent": self.agent}
            said = ask_running_bridge(self.settings, path, body, agent=self.agent)
        finally:
            self._waits = False
        if said is not None:
            try:
                return read(said)
            except (KeyError, TypeError, ValueError):
                pass  # it failed, or is of another version
        return here()


def _bridge_first(
    method: Callable[P, T],
    path: str,
    lacks: frozenset[str],
    read: Callable[[Mapping[str, Any]], T],
) -> Callable[P, T]:
    """A method that asks the bridge where that is faster.

    Args:
        method: of `Recalling`; after its question it takes words by name.
        path: the route of the bridge that does the same.
        lacks: the words that the route has no name for.
        read: the answer of the route as that of the method.
    """
    usual = cast("FunctionType", method).__kwdefaults__ or {}

    @wraps(method)
    def asked(*args: P.args, **named: P.kwargs) -> T:
        here = partial(method, *args, **named)
        memory, *query = cast("tuple[Any, ...]", args)
        words = {**dict(zip(("query",), query, strict=False)), **usual, **named}
        if any(words[each] != usual[each] for each in lacks):
            return here()
        body = {key: word for key, word in words.items() if key not in lacks and word is not None}
        found: T = memory._by_bridge(path, body, here, read)  # noqa: SLF001 - its own
        return found

    return asked


def _recall_of(said: Mapping[str, Any]) -> RecallResult:
    from vaultsync.recall.result import recall_from_json

    return recall_from_json(said)


def _pack_of(said: Mapping[str, Any]) -> ContextPack:
    from vaultsync.context_packs.pack import pack_from_json

    return pack_from_json(said)


class RemoteRecall(RemoteMemory):
    """`recall`, by the bridge where that is faster."""

    recall = _bridge_first(
        RecallMethods.recall,
        "/v1/recall",
        frozenset({"status", "heads_only", "until", "agent"}),
        _recall_of,
    )


class RemoteContext(RemoteMemory, ContextMethods):
    """`context`, by the bridge where that is faster."""

    context = _bridge_first(
        ContextMethods.context,
        "/v1/context",
        frozenset({"mode", "max_priority", "since", "agent"}),
        _pack_of,
    )
