"""Observations as they are listed and shown."""

from __future__ import annotations

from msgspec import Struct

from vaultsync.errors import InvalidFieldError
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import NEWEST, NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import COMPRESSED, OBSERVATION, ORIGINAL, PENDING
from vaultsync.model.schema import TIERS, tier_of
from vaultsync.observations.classifier import Classifier, ObservedText
from vaultsync.sync.context import SyncContext

LISTED_TIERS = (*TIERS, PENDING)
"""What observations can be listed by: their tier, or that they have none yet."""


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
    """An observation with what is not in its note."""

    context: str | None
    original: str
    """What it said before it was shortened; its content where it was not."""
    compressed: bool
    why: tuple[str, ...]
    """The signals in the original that count most, strongest first."""


def newest_observations(
    ctx: SyncContext, index: NoteIndex, *, tier: str | None, agent: str | None, limit: int
) -> list[Fact]:
    """The newest observations, of a tier or pending ones or all, with the paths of their notes."""
    catch_up_note_index(ctx, index)
    named = frozenset({tier} if tier is not None and tier in TIERS else ())
    filters = FactFilters(
        types=frozenset({OBSERVATION}),
        status=PENDING if tier == PENDING else None,
        heads_only=False,
        tiers=named,
        hidden_statuses=frozenset({PENDING} if named else ()),
        reader=ctx.policy.permissions.reader(agent),
    )
    ids = index.browse(filters, order=NEWEST, limit=limit)
    facts = ctx.redacted_store.find_many(ids)
    found = [facts[each] for each in ids if each in facts and filters.admits(facts[each])]
    paths = ctx.archive.note_paths([fact.id for fact in found])
    return [fact.evolve(path=paths.get(fact.id)) for fact in found]


def listed_observation(fact: Fact) -> ListedObservation:
    """An observation as lists show it."""
    tier = PENDING if fact.status == PENDING else tier_of(fact.priority)
    return ListedObservation(fact.id, tier, fact.status, fact.content, fact.created_at, fact.path)


def shown_observation(fact: Fact, classifier: Classifier) -> ShownObservation:
    """An observation with its original, and why the classifier says what it says.

    Raises:
        InvalidFieldError: it is a fact of another type.
    """
    if fact.type != OBSERVATION:
        raise InvalidFieldError("id", fact.id, "the id of an observation")
    row = listed_observation(fact)
    original = str(fact.own.get(ORIGINAL) or fact.content)
    return ShownObservation(
        row.id,
        row.tier,
        row.status,
        row.content,
        row.created_at,
        row.path,
        fact.context,
        original,
        fact.own.get(COMPRESSED) is True,
        classifier.explain(ObservedText(original, fact.context or "")),
    )
