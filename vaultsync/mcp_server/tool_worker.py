"""The thread of an agent's memory, which handlers await without blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from vaultsync.errors import VaultsyncError
from vaultsync.service.memory_worker import MemoryWorker

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

T = TypeVar("T")


class AgentWorker(MemoryWorker["AgentMemory"]):
    """Runs calls of the memory, one after the other, in a thread of its own."""

    def __init__(self, make: Callable[[], AgentMemory]) -> None:
        super().__init__(make, name="memory")

    async def call(self, work: Callable[[AgentMemory], T]) -> T:
        """Run `work` in the thread of the memory; returns or raises what it does."""
        done = self.submit(work)
        # Bookkeeping is done after the answer, when no client waits.
        self._pool.submit(self._finish_pending)
        return await asyncio.wrap_future(done)

    async def idle(self) -> None:
        """Wait until all submitted calls are done."""
        await asyncio.wrap_future(self._pool.submit(int))

    def begin(self) -> None:
        """Open the memory and sync notes that were edited before; returns at once."""
        self.soon(lambda memory: memory.sync_saved_notes())

    def close(self) -> None:
        """Finish the running calls and the bookkeeping; waits for both."""
        # No client is left to report it to, and the next run does what is left undone.
        with suppress(VaultsyncError, OSError):
            super().close()

    def _finish_pending(self) -> None:
        if self._memory is not None:
            # If it fails, the next run does it or reports why it cannot.
            with suppress(VaultsyncError, OSError):
                self._memory.finish_pending()
