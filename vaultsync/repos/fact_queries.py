"""Find the facts of a repository by theme or scope, and keep up with the store's feed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import NEWEST, NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import DEFAULT_STATUS
from vaultsync.repos.entries import KINDS, belongs, scope_of, theme_of
from vaultsync.repos.repo_identity import RepoIdentity
from vaultsync.repos.visibility import FactsByPlace
from vaultsync.storage.feed_cursor import seq_of_version, version_of
from vaultsync.sync.context import ReadContext

MAX_FACTS = 20_000
"""Maximum number of facts of one repository, newest first."""
MAX_ROWS = 2_000
"""Maximum number of changes to read from the feed; after more, the index is queried again."""
_SCHEMA = "1"


class RepositoryFacts:
    """A cache of the active facts of one repository, on all branches and without secrets.

    After the first call, only changes of the store are read.
    """

    def __init__(self) -> None:
        self._of: tuple[str, ...] | None = None
        self._version: str | None = None
        self._facts = FactsByPlace()

    def read(self, ctx: ReadContext, index: NoteIndex, identity: RepoIdentity) -> FactsByPlace:
        """The present facts of a repository; the caller must not modify the result.

        If the note index cannot answer, all facts are read.

        Raises:
            StoreUnavailableError: the store is unavailable.
        """
        store, of = ctx.redacted_store, (identity.slug, *identity.lineages)
        state = store.state()  # before the facts: what is written meanwhile is read again
        version = version_of(state.store_id, state, _SCHEMA)
        if of != self._of:
            self._of, self._version = of, None
        if version == self._version:
            return self._facts
        since = seq_of_version(store, state.store_id, self._version, _SCHEMA)
        rows = [] if since is None else store.feed(since)
        self._version = None  # until all of it is read
        if since is None or len(rows) > MAX_ROWS:
            self._facts = FactsByPlace(_active(_all(ctx, index, identity), identity))
        else:
            found = store.find_many([row.fact_id for row in rows if not row.deleted])
            kept = {fact.id: fact for fact in _active(found.values(), identity)}
            for row in rows:
                if row.fact_id in kept:
                    self._facts.put(kept[row.fact_id])
                else:
                    self._facts.drop(row.fact_id)
        self._version = version
        return self._facts


def _all(ctx: ReadContext, index: NoteIndex, identity: RepoIdentity) -> Iterable[Fact]:
    if catch_up_note_index(ctx, index).degraded:
        return ctx.redacted_store.iter_facts()
    return ctx.redacted_store.find_many(_ids(index, identity)).values()


def _active(facts: Iterable[Fact], identity: RepoIdentity) -> list[Fact]:
    return [
        fact
        for fact in facts
        if fact.type in KINDS
        and fact.status == DEFAULT_STATUS
        and not fact.superseded_by_id
        and belongs(fact, identity)
    ]


def _ids(index: NoteIndex, identity: RepoIdentity) -> Sequence[str]:
    kinds = FactFilters(types=frozenset(KINDS))
    themes = [frozenset({theme_of(each)}) for each in identity.lineages]
    scoped = kinds._replace(scopes=frozenset({scope_of(identity.slug)}))
    asked = [*(kinds._replace(themes=each) for each in themes), scoped]
    lists = (index.browse(each, order=NEWEST, limit=MAX_FACTS) for each in asked)
    return [*dict.fromkeys(chain.from_iterable(lists))]
