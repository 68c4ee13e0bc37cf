"""The worker of an agent's memory, for handlers that wait without blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from vaultsync.errors import VaultsyncError
from vaultsync.service.worker import MemoryWorker

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

T = TypeVar("T")


class AgentWorker(MemoryWorker["AgentMemory"]):
    """Runs what is asked of the memory, one after the other, in a thread of its own."""

    def __init__(self, make: Callable[[], AgentMemory]) -> None:
        super().__init__(make, name="memory")

    async def call(self, work: Callable[[AgentMemory], T]) -> T:
        """What `work` returns, or raises, in the thread of the memory."""
        doing = self.submit(work)
        # What a new note's base says is written down when nobody waits for an answer.
        self._pool.submit(self._settle)
        return await asyncio.wrap_future(doing)

    async def idle(self) -> None:
        """Wait until all that was asked for is done."""
        await asyncio.wrap_future(self._pool.submit(int))

    def begin(self) -> None:
        """Open the memory and take up what was saved while nobody looked.

        Returns at once: it is done while the agent still thinks.
        """
        self.soon(lambda memory: memory.sync_saved_notes())

    def close(self) -> None:
        """Finish what was begun, and the bookkeeping; waits for it."""
        # The client has gone: what cannot be written down now, the next pass does.
        with suppress(VaultsyncError, OSError):
            super().close()

    def _settle(self) -> None:
        if self._memory is not None:
            # Else the next pass does it, or says why.
            with suppress(VaultsyncError, OSError):
                self._memory.finish_pending()
