"""A thread that owns a `Memory`: SQLite handles stay in the thread that opened them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:  # an MCP server answers `initialize` before it loads the memory
    from vaultsync.api.memory import Memory

T = TypeVar("T")
M = TypeVar("M", bound="Memory")
_log = logging.getLogger(__name__)


class MemoryRunner(Protocol):
    """Runs functions on its own `Memory`, one at a time."""

    def __call__(self, work: Callable[[Memory], T], /) -> T:
        """Run the function; returns its result and raises its errors. Thread-safe."""
        ...


class MemoryWorker(Generic[M]):
    """A `MemoryRunner` with its own thread, as a context manager.

    The first call opens the memory; if that fails, the next one tries again. Later ones follow
    the vault to another store.
    """

    def __init__(self, open: Callable[[], M], *, name: str) -> None:  # noqa: A002 - as in app
        self._open = open
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._memory: M | None = None

    def __call__(self, work: Callable[[M], T], /) -> T:
        """Run the function in the thread, after all functions submitted before."""
        return self.submit(work).result()

    def submit(self, work: Callable[[M], T]) -> Future[T]:
        """Queue the function."""
        return self._pool.submit(self._do, work)

    def soon(self, work: Callable[[M], object]) -> None:
        """The same without a result; errors are dropped."""
        try:
            self.submit(work)
        except RuntimeError as error:
            _log.debug("the worker has ended: %s", error)

    def close(self) -> None:
        """Finish the work in progress, and close the memory; waits for both."""
        closed = self._pool.submit(self._close)
        self._pool.shutdown()
        closed.result()

    def _do(self, work: Callable[[M], T]) -> T:
        if self._memory is None:
            from vaultsync.backends.system.address_space import limit_heaps  # noqa: PLC0415 - as above

            limit_heaps()
            self._memory = self._open()
        else:
            self._memory.follow_store()
        return work(self._memory)

    def _close(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def __enter__(self) -> Self:
        """Open the memory, so that errors are raised now."""
        try:
            self(lambda _: None)
        except BaseException:
            self._pool.shutdown()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the work in progress, and close the memory."""
        self.close()
