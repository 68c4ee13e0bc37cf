"""Contracts of indexing: the note index (keyword search), the vector index, the embedder.

Both indexes are derived from the facts and can always be rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple, Protocol

from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.permissions import Reader

if TYPE_CHECKING:  # a cold question erases nothing
    from vaultsync.storage.erasure import Traces


class VectorRow(NamedTuple):
    """A chunk of a fact."""

    fact: Fact
    """Its filterable fields are stored with the vector."""
    chunk_id: str
    """The hash of the text that was embedded."""
    vector: Sequence[float]


class NearFact(NamedTuple):
    """A fact, its nearest chunk, and the cosine of that chunk (-1 to 1)."""

    fact_id: str
    chunk_id: str
    similarity: float


class VectorIndex(Protocol):
    """Semantic search: chunks of facts by their vectors.

    One writer at a time, any number of readers. A row is identified by its fact and its chunk:
    two facts may contain the same chunk. Once `put()` has returned, all readers find the
    rows, in other processes too. Writes are not durable: after a power cut rows may be gone,
    and the record with them, so the owner compares `chunks()` with what should be there. A
    damaged or missing index is an empty one without identity.

    Each method that writes raises `IndexBusyError` while another process is writing, and
    `OSError` if the disk is full or broken; then it has done nothing.
    """

    def identity(self) -> str | None:
        """See `embedding_identity()`; None when the index has to be built."""
        ...

    def record(self) -> str | None:
        """The record of the newest `put()` that had one; None when there is none."""
        ...

    def reset(self, identity: str) -> None:
        """Delete everything; the following vectors are of this identity and one dimension."""
        ...

    def chunks(self, fact_ids: Iterable[str] | None = None) -> Mapping[str, frozenset[str]]:
        """Fact id -> the ids of its chunks in the index, of all facts or of some."""
        ...

    def outdated(self, facts: Iterable[Fact]) -> set[str]:
        """Ids of the facts whose rows have other values of the filterable fields."""
        ...

    def count(self) -> int:
        """Number of facts in the index."""
        ...

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, Sequence[float]]:
        """Chunk id -> vector, of those chunks that are in the index."""
        ...

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        """Add rows, or replace them, in one step.

        Args:
            rows: to be added; a row that is in the index is replaced.
            replace: ids of facts whose rows are deleted first.
            record: what `record()` returns from then on; None leaves it unchanged.

        Raises:
            EmbedderError: a vector has another dimension than the index, or a number that is
                not finite; nothing was done.
            DerivedError: it has no identity; `reset()` first.
        """
        ...

    def search(
        self, vector: Sequence[float], filters: FactFilters, *, limit: int
    ) -> list[NearFact]:
        """The nearest facts, each once, nearest first; of equal ones the smaller id first.

        Raises:
            EmbedderError: the vector is not of the index's dimension.
        """
        ...

    def cosines(
        self, vector: Sequence[float], fact_ids: Iterable[str]
    ) -> Mapping[str, Sequence[float]]:
        """Fact id -> the cosines of all its chunks, nearest first, of facts in the index.

        Raises:
            EmbedderError: the vector is not of the index's dimension.
        """
        ...

    def tidy(self) -> None:
        """Compact the index after many writes; cheap after few."""
        ...

    def erase(self, traces: Traces) -> Mapping[str, int]:
        """Erase the rows of facts from the files, too, as an `Erasable`."""
        ...

    def close(self) -> None:
        """Close the files; closing twice is harmless."""
        ...


NO_EMBEDDER = "there is no embedding model (the extra `local` has one)"
"""Why semantic search is not possible, if the setting names no embedder that is installed."""


class Embedder(Protocol):
    """Turns texts into vectors. Loads its model at the first call, not before."""

    @property
    def model(self) -> str:
        """Name and version of the model; other models make other vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of unit length per text, in order. The model truncates long texts.

        Raises:
            EmbedderError: the model is missing or its service does not answer.
        """
        ...

    def close(self) -> None:
        """Release the model; closing twice is harmless."""
        ...


class SessionTurn(NamedTuple):
    """The place of a fact in its session. Turns of one session sort by time."""

    session: int
    """Hash of the session, or of the series of its note, and the scope; 0 for a fact of none."""
    moment: int
    """Microseconds since 1970 of its creation; below all of these the number in a series."""
    fact_id: str
    fingerprint: int = 0
    """Hash of all that can be searched for or filtered by."""


class IndexDocument(NamedTuple):
    """A fact as it is indexed."""

    fact: Fact
    around: str = ""
    """Its session context: the text of its neighbours."""
    turn: SessionTurn | None = None
    """Its place in the session; None to compute it from the fact."""


class IndexMatch(NamedTuple):
    """A fact that was found, and its BM25 score, higher is better."""

    fact_id: str
    score: float


IMPORTANT, NEWEST, OLDEST = "important", "newest", "oldest"
"""Orders of a set of facts: by priority, then importance, then the newest first; by time."""


class NoteIndex(Protocol):
    """Keyword search. One writer at a time, any number of readers in any process.

    All readers find what was put once `update()` has returned. A damaged or missing index is
    empty. Writes fail as in `VectorIndex`.
    """

    def version(self) -> str | None:
        """The version given to the last `update()`; None when it has to be built."""
        ...

    def last_commit(self) -> NoteIndex:
        """The index as it is now, for reading; what is put later is not found in it.

        A question asks it, which otherwise would look for changes before each of its steps.
        """
        ...

    def update(self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str) -> None:
        """Replace and remove entries by the ids of their facts, all or nothing.

        Raises:
            IndexChangedError: another process wrote since `version()` or `clear()`, if only to
                remove an index; nothing was done.
        """
        ...

    def clear(self) -> None:
        """Delete everything, the version too."""
        ...

    def erase(self, traces: Traces) -> Mapping[str, int]:
        """Leave nothing of some facts in the files, as an `Erasable`; it may be empty then."""
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
        """The facts that match any of the words and all of the phrases, best first.

        A fact whose whole title or alias is the query ranks above those that only contain the
        words. Equal scores are in order of id.

        Args:
            words: the query; nothing in it is syntax.
            filters: which facts may be found.
            phrases: must occur in one field each; with phrases, words only rank.
            limit: maximum number of matches.
            names_only: search titles and aliases only.
        """
        ...

    def browse(
        self,
        filters: FactFilters,
        *,
        order: str = IMPORTANT,
        limit: int,
        boxes: str = "",
        tags: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        """Ids of the facts that match the filters, without a question.

        Args:
            filters: which facts.
            order: `important`, `newest` or `oldest`. Facts that are equal by it are in any order.
            limit: maximum number of ids.
            boxes: only facts with a check box that is `open`, or `closed`: done or cancelled.
            tags: only facts with one of these tags; keys of tags, as `tag_key()` gives them.
        """
        ...

    def facts_with(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Term, as `tokens()` returns them -> about how many facts have it; 0 where none has."""
        ...

    def near_terms(self, term: str) -> list[str]:
        """The terms of titles and contents that `spelling.near_terms()` finds for one."""
        ...

    def languages(self) -> frozenset[str]:
        """The languages of the facts, and the one for facts whose language is not recognised."""
        ...

    def terms_beginning_with(self, beginnings: Iterable[str]) -> Mapping[str, Collection[str]]:
        """Beginning -> the terms of titles and contents that begin with it."""
        ...

    def compounds(self, words: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Word -> the terms for `compounds.compounds_with()` and `compounds.parts_of()` it.

        Args:
            words: of a question that may be in German. Words without compounds are left out, and
                so are all if no fact is in German.
        """
        ...

    def count_hidden(
        self, words: str | None, filters: FactFilters, *, phrases: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """The matches that each default hides, by `FactFilters.hidden_by()`; each counts once.

        Args:
            words: as for `search()`; None for all that `browse()` would find.
            filters: with the defaults. Unlike a search, this leaves none to its caller.
            phrases: as for `search()`.
        """
        ...

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[SessionTurn]:
        """The turns of some sessions, of some facts, and of the sessions of those facts.

        Each fact once, as it was put last, in any order.
        """
        ...

    def tokens(self, text: str) -> list[str]:
        """The terms under which a text is indexed: stemmed, without stop words."""
        ...

    def stemmer(self, text: str) -> Callable[[str], Collection[str]]:
        """Word -> its stems, in each language of the index and in that of a text."""
        ...

    def count(self, reader: Reader | None = None) -> int:
        """Number of facts in the index that an agent may read; all for None."""
        ...

    def close(self) -> None:
        """Close the files; closing twice is harmless."""
        ...
