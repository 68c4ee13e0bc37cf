"""What the link index holds of each fact, and how it follows the store's feed."""

from __future__ import annotations

from collections.abc import Sequence

from vaultsync.links.ports import Entity, LinkIndex, Reference
from vaultsync.model.fact import Fact
from vaultsync.storage.feed_cursor import behind, version_at
from vaultsync.storage.store import Store, Written

SCHEMA = "1"
"""Of what `references_of()` makes; another one has the index built anew."""
RELATED = "relatedFactIds"
ENTITY_TYPES = frozenset({"person", "project", "entity"})
BATCH = 2_000
"""Facts put at once; after each such step the index is whole up to a number of the feed."""


def follow(store: Store, links: LinkIndex) -> bool:
    """Bring the index up to the store's feed; says whether there was anything to do.

    Raises:
        StoreUnavailableError: the store does not answer; the index is as it was.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    late = behind(store, links.version(), SCHEMA)
    if late.anew:
        links.clear()
    elif not late.rows:
        return False
    for start in range(0, len(late.rows), BATCH):
        some = late.rows[start : start + BATCH]
        _put(store, links, some, version_at(store, late.store_id, some[-1].seq, SCHEMA))
    if not late.rows:
        version = version_at(store, late.store_id, late.seq, SCHEMA)
        links.update({}, [], version=version)
    return True


def _put(store: Store, links: LinkIndex, rows: Sequence[Written], version: str) -> None:
    facts = store.find_many([row.fact_id for row in rows if not row.deleted])
    links.update(
        {fact.id: references_of(fact) for fact in facts.values()},
        [row.fact_id for row in rows if row.fact_id not in facts],
        version=version,
        entities=[
            entity for fact in facts.values() if (entity := entity_of(fact)) is not None
        ],
    )


def references_of(fact: Fact) -> list[Reference]:
    """The links in the note of a fact; related facts by their ids."""
    from vaultsync.links.references import fact_links  # noqa: PLC0415 - dear, and late

    found = [
        Reference(
            fact.id,
            link.target,
            link.subpath,
            "property" if key else "embed" if link.embed else link.kind,
            key,
        )
        for key, link in fact_links(fact)
    ]
    return found + [
        Reference(fact.id, related, "", "property", RELATED)
        for related in fact.related_fact_ids
    ]


def entity_of(fact: Fact) -> Entity | None:
    """What an entity is called; None for other facts."""
    if fact.type not in ENTITY_TYPES or not fact.title:
        return None
    return Entity(fact.id, fact.scope, (fact.title, *fact.aliases))
