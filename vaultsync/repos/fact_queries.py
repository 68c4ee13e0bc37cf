"""The facts of a repository: found by their theme or scope, and filtered by what holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import NEWEST, NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import DEFAULT_STATUS
from vaultsync.repos.entries import KINDS, belongs, scope_of, theme_of
from vaultsync.repos.repo_identity import RepoIdentity
from vaultsync.sync.context import ReadContext

MAX_FACTS = 20_000
"""Facts of one repository that are looked at, the newest first."""


def repository_facts(
    ctx: ReadContext, index: NoteIndex, identity: RepoIdentity, *, agent: str | None
) -> list[Fact]:
    """The active facts of a repository on all branches, without their secrets.

    Args:
        ctx: the two sides.
        index: the note index; where it cannot answer, all facts are looked at.
        identity: of the repository.
        agent: who asks; None is the user, who sees all.

    Raises:
        StoreUnavailableError: the store is away.
    """
    if catch_up_note_index(ctx, index).degraded:
        found = list(ctx.redacted_store.iter_facts())
    else:
        found = list(ctx.redacted_store.find_many(_ids(index, identity)).values())
    return [
        fact
        for fact in found
        if fact.type in KINDS
        and fact.status == DEFAULT_STATUS
        and not fact.superseded_by_id
        and belongs(fact, identity)
        and ctx.policy.permissions.may_read(agent, fact.scope)
    ]


def _ids(index: NoteIndex, identity: RepoIdentity) -> Sequence[str]:
    kinds = FactFilters(types=frozenset(KINDS))
    themed = kinds._replace(themes=frozenset({theme_of(identity.lineage)}))
    scoped = kinds._replace(scopes=frozenset({scope_of(identity.slug)}))
    lists = (index.browse(each, order=NEWEST, limit=MAX_FACTS) for each in (themed, scoped))
    return [*dict.fromkeys(chain.from_iterable(lists))]
