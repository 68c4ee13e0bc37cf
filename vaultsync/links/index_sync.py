"""What the link index holds of each fact, and how it follows the store's feed."""

from __future__ import annotations

from collections.abc import Sequence

from vaultsync.links.ports import EntityRecord, LinkIndex, LinkReference
from vaultsync.model.fact import Fact
from vaultsync.storage.feed_cursor import feed_backlog, make_version
from vaultsync.storage.store import FeedRow, Store

LINK_INDEX_SCHEMA = "1"
"""Of what `references_of()` makes; another one has the index built anew."""
RELATED_KEY = "relatedFactIds"
LINKED_ENTITY_TYPES = frozenset({"person", "project", "entity"})
FACTS_PER_UPDATE = 2_000
"""Facts put at once; after each such step the index is whole up to a number of the feed."""


def update_link_index(store: Store, links: LinkIndex) -> bool:
    """Bring the index up to the store's feed; says whether there was anything to do.

    Raises:
        StoreUnavailableError: the store does not answer; the index is as it was.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    late = feed_backlog(store, links.version(), LINK_INDEX_SCHEMA)
    if late.anew:
        links.clear()
    elif not late.rows:
        return False
    for start in range(0, len(late.rows), FACTS_PER_UPDATE):
        some = late.rows[start : start + FACTS_PER_UPDATE]
        _put(
            store,
            links,
            some,
            make_version(store, late.store_id, some[-1].seq, LINK_INDEX_SCHEMA),
        )
    if not late.rows:
        version = make_version(store, late.store_id, late.seq, LINK_INDEX_SCHEMA)
        links.update({}, [], version=version)
    return True


def _put(store: Store, links: LinkIndex, rows: Sequence[FeedRow], version: str) -> None:
    facts = store.find_many([row.fact_id for row in rows if not row.deleted])
    links.update(
        {fact.id: fact_references(fact) for fact in facts.values()},
        [row.fact_id for row in rows if row.fact_id not in facts],
        version=version,
        entities=[
            entity for fact in facts.values() if (entity := entity_of_fact(fact)) is not None
        ],
    )


def fact_references(fact: Fact) -> list[LinkReference]:
    """The links in the note of a fact; related facts by their ids."""
    from vaultsync.links.references import fact_links  # noqa: PLC0415 - dear, and late

    found = [
        LinkReference(
            fact.id,
            link.target,
            link.subpath,
            "property" if key else "embed" if link.embed else link.kind,
            key,
        )
        for key, link in fact_links(fact)
    ]
    return found + [
        LinkReference(fact.id, related, "", "property", RELATED_KEY)
        for related in fact.related_fact_ids
    ]


def entity_of_fact(fact: Fact) -> EntityRecord | None:
    """What an entity is called; None for other facts."""
    if fact.type not in LINKED_ENTITY_TYPES or not fact.title:
        return None
    return EntityRecord(fact.id, fact.scope, (fact.title, *fact.aliases))
