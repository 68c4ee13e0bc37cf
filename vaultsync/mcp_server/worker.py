"""One thread that owns the memory: SQLite's handles stay in it, and calls take turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from vaultsync.app.agents import AgentMemory
from vaultsync.errors import VaultsyncError

T = TypeVar("T")


class Worker:
    """Runs what is asked of the memory, one after the other, in a thread of its own."""

    def __init__(self, make: Callable[[], AgentMemory]) -> None:
        self._make = make
        self._memory: AgentMemory | None = None
        self._thread = ThreadPoolExecutor(1, "memory")

    async def call(self, work: Callable[[AgentMemory], T]) -> T:
        """What `work` returns, or raises, in the thread of the memory."""
        doing = self._thread.submit(self._do, work)
        # What a new note's base says is written down when nobody waits for an answer.
        self._thread.submit(self._settle)
        return await asyncio.wrap_future(doing)

    async def idle(self) -> None:
        """Wait until all that was asked for is done."""
        await asyncio.wrap_future(self._thread.submit(int))

    def begin(self) -> None:
        """Open the memory and take up what was saved while nobody looked.

        Returns at once: it is done while the agent still thinks.
        """
        self._thread.submit(self._do, AgentMemory.take_up)

    def close(self) -> None:
        """Finish what was begun, and the bookkeeping; waits for it."""
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True)

    def _do(self, work: Callable[[AgentMemory], T]) -> T:
        # What could not be opened is tried again: its disk may be back.
        if self._memory is None:
            self._memory = self._make()
        return work(self._memory)

    def _settle(self) -> None:
        if self._memory is not None:
            with suppress(
                VaultsyncError, OSError
            ):  # the next pass does it, or says why
                self._memory.settle()

    def _close(self) -> None:
        if self._memory is not None:
            self._memory.close()
