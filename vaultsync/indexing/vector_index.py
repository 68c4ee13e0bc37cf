"""The vector index: finds facts by meaning. Derived; it can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultsync.model.fact import Fact
from vaultsync.model.filters import Filters


class VectorRow(NamedTuple):
    """A chunk of a fact."""

    fact: Fact
    """Its filterable fields are kept beside the vector."""
    chunk_id: str
    """The hash of the text that was embedded."""
    vector: Sequence[float]


class Near(NamedTuple):
    """A fact, by the chunk of it that is nearest, and its cosine (-1 … 1)."""

    fact_id: str
    chunk_id: str
    similarity: float


class VectorIndex(Protocol):
    """Chunks of facts by their vectors. One writer at a time, any number of readers.

    A row is named by its fact and its chunk: two facts may hold the same chunk. What was
    put is found by all readers, in other processes too, once `put()` has returned.
    Its acknowledgements are not durable: what was put may be gone after a power cut, and
    the record of it with it, so its owner compares `chunks()` with what should be there.
    A damaged or missing index is an empty one without identity.
    """

    def identity(self) -> str | None:
        """Of the vectors it holds; None when it has to be built."""
        ...

    def record(self) -> str | None:
        """What its owner noted with a `put()`, the newest; None when there is none."""
        ...

    def reset(self, identity: str) -> None:
        """Forget everything; vectors of this identity follow, of any one dimension.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            OSError: the disk is full or broken.
        """
        ...

    def chunks(
        self, fact_ids: Iterable[str] | None = None
    ) -> Mapping[str, frozenset[str]]:
        """Fact id -> the ids of its chunks that are held, of all facts or of some."""
        ...

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        """Those of the facts that have rows made of other filterable fields, by id."""
        ...

    def count(self) -> int:
        """How many facts it holds."""
        ...

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        """The vectors of those chunks that are held, so that none is made twice."""
        ...

    def put(
        self,
        rows: Sequence[VectorRow],
        *,
        replace: Iterable[str] = (),
        record: str | None = None,
    ) -> None:
        """Add rows; all rows of the facts in `replace` go first, all in one step.

        A row that is held already is replaced. `record` is what `record()` answers from
        then on; None leaves it as it was.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            EmbedderError: a vector is not of the index's dimension, or holds what is no
                finite number; nothing was done.
            DerivedError: it has no identity; `reset()` first.
            OSError: the disk is full or broken; the index is as it was.
        """
        ...

    def search(
        self, vector: Sequence[float], filters: Filters, *, limit: int
    ) -> list[Near]:
        """The nearest facts, each once, the nearest first; of equals the smaller id.

        Raises:
            EmbedderError: the vector is not of the index's dimension.
        """
        ...

    def tidy(self) -> None:
        """Make searching fast again where much was written; cheap when little was.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            OSError: the disk is full or broken; the index is as it was.
        """
        ...

    def close(self) -> None:
        """Let go of the files; harmless when repeated."""
        ...
