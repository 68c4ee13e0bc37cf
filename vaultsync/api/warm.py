"""Questions that need the model, answered by a bridge that has it in memory already.

The index answers here, in milliseconds. Only when a question needs vectors, and a bridge
of this vault runs, is the bridge asked the whole question; when it does not answer, the
model is loaded here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from msgspec import convert, structs, to_builtins

from vaultsync.api.daemon_client import ask_running_bridge
from vaultsync.api.packing import ContextMethods
from vaultsync.api.recalling import RecallMethods

if TYPE_CHECKING:  # what is only asked need not load what packs it
    from vaultsync.context_packs.pack import ContextPack
    from vaultsync.recall.recall_request import ContextRequest, RecallRequest
    from vaultsync.recall.result import RecallResult, RecallSources

Asked = TypeVar("Asked", "RecallRequest", "ContextRequest")
Answer = TypeVar("Answer")


class _ModelNeeded(Exception):  # noqa: N818 - nothing is wrong
    """The question needs vectors."""


def _need_model() -> NoReturn:
    raise _ModelNeeded


class RemoteMemory(RecallMethods):
    """Asks the bridge where that is faster."""

    _waits = False

    @property
    def _sources(self) -> RecallSources:
        from dataclasses import replace

        sources = super()._sources
        return replace(sources, vectors=_need_model) if self._waits else sources

    def _by_bridge(
        self,
        path: str,
        asked: Asked,
        here: Callable[[Asked], Answer],
        answers: Callable[[], type[Answer]],
    ) -> Answer:
        """What `here` answers without a model, else what the bridge does, else `here`.

        Args:
            path: the route of the bridge.
            asked: the request.
            here: what answers without a bridge.
            answers: the type of the answer, loaded when there is one.
        """
        bridge = self.settings.state_dir / "bridge.json"
        if asked.agent is not None or not bridge.exists():
            return here(asked)
        self._waits = True
        try:
            return here(asked)
        except _ModelNeeded:
            body = to_builtins(structs.replace(asked, agent=self.agent))
            said = ask_running_bridge(self.settings, path, body, agent=self.agent)
        finally:
            self._waits = False
        if said is not None:
            try:
                return convert(said, answers())
            except ValueError:
                pass  # it failed, or is of another version
        return here(asked)


def _recall() -> type[RecallResult]:
    from vaultsync.recall.result import RecallResult

    return RecallResult


def _pack() -> type[ContextPack]:
    from vaultsync.context_packs.pack import ContextPack

    return ContextPack


class RemoteRecall(RemoteMemory):
    """`recall`, by the bridge where that is faster."""

    def answer(self, asked: RecallRequest) -> RecallResult:
        """The facts that answer a question. Raises as `recall()`."""
        return self._by_bridge("/v1/recall", asked, super().answer, _recall)


class RemoteContext(RemoteMemory, ContextMethods):
    """`context`, by the bridge where that is faster."""

    def pack(self, asked: ContextRequest) -> ContextPack:
        """What to read for a question. Raises as `context()`."""
        return self._by_bridge("/v1/context", asked, super().pack, _pack)
