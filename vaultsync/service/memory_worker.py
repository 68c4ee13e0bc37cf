"""A thread that owns a `Memory`: handles of SQLite stay in the thread that opened them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from vaultsync.api.memory import Memory


T = TypeVar("T")
M = TypeVar("M", bound="Memory")


class MemoryRunner(Protocol):
    """Something that has a `Memory` and lets others work with it, one at a time."""

    def __call__(self, work: Callable[[Memory], T], /) -> T:
        """Do the work; returns and raises what it does. May be called from any thread."""
        ...


class MemoryWorker(Generic[M]):
    """A `Runner` with a thread and a `Memory` of its own, as a context manager.

    The memory is opened by the first work; what could not be opened is tried again by the
    next: its disk may be back.
    """

    def __init__(self, open: Callable[[], M], *, name: str) -> None:  # noqa: A002 - as in app
        self._open = open
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._memory: M | None = None

    def __call__(self, work: Callable[[M], T], /) -> T:
        """Do the work in the thread, after all that was asked for before."""
        return self.submit(work).result()

    def submit(self, work: Callable[[M], T]) -> Future[T]:
        """Have the work done when its turn comes."""
        return self._pool.submit(self._do, work)

    def soon(self, work: Callable[[M], object]) -> None:
        """The same; nobody waits, and its errors are lost."""
        with suppress(RuntimeError):  # the worker has ended
            self.submit(work)

    def close(self) -> None:
        """Finish what is under way, and close the memory; waits for both."""
        closed = self._pool.submit(self._close)
        self._pool.shutdown()
        closed.result()

    def _do(self, work: Callable[[M], T]) -> T:
        if self._memory is None:
            self._memory = self._open()
        return work(self._memory)

    def _close(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def __enter__(self) -> Self:
        """Ready; opens the memory, so that what is wrong with it is said now."""
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
        """End what is under way, and close the memory."""
        self.close()
