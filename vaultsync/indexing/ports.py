"""The note index: finds facts by their words. Derived; it can always be rebuilt.

The vector index: finds facts by meaning. Derived; it can always be rebuilt.

The embedder: texts -> vectors of unit length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vaultsync.indexing.session_context import SessionTurn
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters


class VectorRow(NamedTuple):
    """A chunk of a fact."""

    fact: Fact
    """Its filterable fields are kept beside the vector."""
    chunk_id: str
    """The hash of the text that was embedded."""
    vector: Sequence[float]


class NearFact(NamedTuple):
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

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
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
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
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


@dataclass(frozen=True, slots=True)
class VectorIdentity:
    """What vectors depend on: those of another identity cannot be compared."""

    model: str
    dimension: int
    chunker: str

    def __str__(self) -> str:
        """As it is recorded."""
        return f"{self.model}/{self.dimension}/{self.chunker}"


class Embedder(Protocol):
    """Texts -> vectors. Loads its model at the first call, not before."""

    @property
    def model(self) -> str:
        """Name and version of the model; another one makes other vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of unit length per text, in order. Long texts are cut by the model.

        Raises:
            EmbedderError: the model is missing or its service does not answer.
        """
        ...

    def close(self) -> None:
        """Let go of the model; harmless when repeated."""
        ...


class IndexDocument(NamedTuple):
    """A fact, and the text of its neighbours that lends it context."""

    fact: Fact
    around: str = ""
    turn: SessionTurn | None = None
    """Where the fact stands, if that was worked out already."""


class IndexMatch(NamedTuple):
    """A fact that was found, and how well it matched: BM25, greater is better."""

    fact_id: str
    score: float


class NoteIndex(Protocol):
    """Facts by their words. One writer at a time, any number of readers in any process.

    What is put is found by all readers once `update()` has returned. A damaged or missing
    index is an empty one with no version; nobody loses anything but time.
    """

    def version(self) -> str | None:
        """What the last `update()` brought it up to; None when it has to be built."""
        ...

    def update(self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str) -> None:
        """Replace and remove entries by the ids of their facts, all or none.

        Raises:
            IndexBusyError: another process is writing; nothing was done.
            OSError: the disk is full or broken; the index is as it was.
        """
        ...

    def clear(self) -> None:
        """Forget everything, the version too. Raises as `update()`."""
        ...

    def search(
        self,
        words: str,
        filters: FactFilters,
        *,
        phrases: Sequence[str] = (),
        limit: int,
        names_only: bool = False,
    ) -> list[IndexMatch]:
        """The facts that match some of the words and all of the phrases, best first.

        A fact that is called what is asked, by its whole title or an alias, stands out
        from those that only have the words. Where there are phrases, words only rank.
        Any text will do; none is syntax. Equal scores come by id. With `names_only`
        words are looked for in titles and aliases, and nowhere else.
        """
        ...

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[SessionTurn]:
        """What it holds of some sessions, of facts, and of the sessions they are in.

        Each fact once, as it was put last, in no order.
        """
        ...

    def tokens(self, text: str) -> list[str]:
        """The terms that a text is indexed under: stemmed, without stop words."""
        ...

    def count(self) -> int:
        """How many facts it holds."""
        ...

    def close(self) -> None:
        """Let go of the files; harmless when repeated."""
        ...
