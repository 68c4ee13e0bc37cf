"""List and show observations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct, structs

from vaultsync.errors import InvalidFieldError, StoreUnavailableError
from vaultsync.facts.listing import with_note_paths
from vaultsync.indexing.note_index_sync import catch_up_note_index, note_index_backlog
from vaultsync.indexing.ports import NEWEST, OLDEST, NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import ARCHIVED, COMPRESSED, OBSERVATION, PENDING, original_text
from vaultsync.model.schema import TIERS, tier_of
from vaultsync.observations.classifier import BACKGROUND, Classifier, ObservedText
from vaultsync.sync.context import ReadContext, SyncContext
from vaultsync.sync.report import ObservationCounts

LISTED_TIERS = (*TIERS, PENDING)
"""The filters of a list: a tier, or `pending`."""


class ListedObservation(Struct, frozen=True):
    """An observation in a list."""

    id: str
    tier: str
    """`critical`, `notable`, `background`, or `pending` before it is classified."""
    status: str
    content: str
    created_at: str
    path: str | None
    """Of its note; None while it has none."""


class Observations(Struct, frozen=True):
    """Observations, the newest first."""

    observations: tuple[ListedObservation, ...]


class ShownObservation(ListedObservation, frozen=True):
    """An observation with its original and its classification, which its note does not show."""

    context: str | None
    original: str
    """The text before it was shortened; the content if it was not."""
    compressed: bool
    why: tuple[str, ...]
    """The signals in the original that count most, strongest first."""


def newest_observations(
    ctx: SyncContext, index: NoteIndex, *, tier: str | None, agent: str | None, limit: int
) -> Sequence[Fact]:
    """The newest observations, of a tier or pending ones or all, with the paths of their notes."""
    named = frozenset({tier} if tier is not None and tier in TIERS else ())
    filters = FactFilters(
        types=frozenset({OBSERVATION}),
        status=PENDING if tier == PENDING else None,
        heads_only=False,
        tiers=named,
        hidden_statuses=frozenset({PENDING} if named else ()),
        reader=ctx.policy.permissions.reader(agent),
    )
    ids = find_observations(ctx, index, filters, order=NEWEST, limit=limit)
    facts = ctx.redacted_store.find_many(ids)
    found = [facts[each] for each in ids if each in facts and filters.admits(facts[each])]
    return with_note_paths(ctx, found)


def find_observations(
    ctx: SyncContext, index: NoteIndex, filters: FactFilters, *, order: str, limit: int
) -> list[str]:
    """The ids of matching observations; by the store if the index cannot be updated now."""
    if not catch_up_note_index(ctx, index).degraded:
        return index.browse(filters, order=order, limit=limit)
    found = [fact for fact in ctx.redacted_store.iter_facts() if filters.admits(fact)]
    found.sort(key=lambda fact: (fact.created_at, fact.id), reverse=order == NEWEST)
    return [fact.id for fact in found[:limit]]


def count_observations(
    ctx: ReadContext, index: NoteIndex, *, agent: str | None
) -> ObservationCounts:
    """How many observations an agent may see; never writes the index.

    Facts that the index lacks are read from the store; while that is unavailable, the counts
    are those of the index.
    """
    late: set[str] = set()
    changed: dict[str, Fact] = {}
    with suppress(StoreUnavailableError):
        late = {row.fact_id for row in note_index_backlog(ctx, index.version()).feed.rows}
        changed = ctx.redacted_store.find_many(late)
    reader, most = ctx.policy.permissions.reader(agent), max(1, index.count())
    every = FactFilters(
        types=frozenset({OBSERVATION}), status=None, heads_only=False, reader=reader
    )
    known = every._replace(hidden_statuses=frozenset({PENDING}))

    def found(filters: FactFilters) -> list[str]:
        """The ids in the order of the index, those that it does not know last."""
        indexed = index.browse(filters, order=OLDEST, limit=most)
        new = (key for key, fact in changed.items() if filters.admits(fact))
        return [*(each for each in indexed if each not in late), *new]

    waiting = found(every._replace(status=PENDING))
    with suppress(StoreUnavailableError):
        changed |= ctx.redacted_store.find_many(waiting[:1])
    oldest = (changed[each].created_at for each in waiting if each in changed)
    tiers = {tier: len(found(known._replace(tiers=frozenset({tier})))) for tier in TIERS}
    archived = every._replace(status=ARCHIVED, tiers=frozenset({BACKGROUND}))
    return ObservationCounts(
        len(waiting),
        **tiers,
        compressed=len(found(archived)),
        oldest_pending=min(oldest, default=None),
    )


def listed_observation(fact: Fact) -> ListedObservation:
    """An observation as lists show it."""
    tier = PENDING if fact.status == PENDING else tier_of(fact.priority)
    return ListedObservation(fact.id, tier, fact.status, fact.content, fact.created_at, fact.path)


def shown_observation(fact: Fact, classifier: Classifier) -> ShownObservation:
    """An observation with its original and the reasons of the classifier.

    Raises:
        InvalidFieldError: it is a fact of another type.
    """
    if fact.type != OBSERVATION:
        raise InvalidFieldError("id", fact.id, "the id of an observation")
    original = original_text(fact)
    return ShownObservation(
        **structs.asdict(listed_observation(fact)),
        context=fact.context,
        original=original,
        compressed=fact.own.get(COMPRESSED) is True,
        why=classifier.explain(ObservedText(original, fact.context or "")),
    )
