"""What the link index holds of each fact, and how it follows the store's feed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from vaultsync.links.ports import EntityRecord, LinkedFact, LinkIndex, LinkReference
from vaultsync.links.references import fact_links
from vaultsync.model.fact import Fact
from vaultsync.model.schema import NAMED_TYPES, RELATED_KEY
from vaultsync.storage.feed_cursor import feed_backlog, retry_changed, version_of
from vaultsync.storage.store import Store

_log = logging.getLogger(__name__)

LINK_INDEX_SCHEMA = "4"
"""Version of `fact_references()` and of the titles; an index of another one is rebuilt."""
SUPERSEDES_KEY, PARENT_KEY = "supersedesId", "parentFactId"
ID_KEYS = frozenset({RELATED_KEY, SUPERSEDES_KEY, PARENT_KEY})
"""Keys of references whose target is the id of a fact."""
FACTS_PER_UPDATE = 500
"""Facts per update; each update brings the index to a version of the store."""


def update_link_index(
    store: Store, links: LinkIndex, *, progress: Callable[[int, int], None] | None = None
) -> bool:
    """Bring the index up to the store's feed; returns whether there was anything to do.

    `progress` is called between updates with the number of facts done and their total. It may
    raise, and the next call continues there.

    Raises:
        StoreUnavailableError: the store does not answer; the index is as it was.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """

    def left() -> int:
        return len(feed_backlog(store, links.version(), LINK_INDEX_SCHEMA).rows)

    return retry_changed(partial(_follow_feed, store, links, progress), left)


def _follow_feed(
    store: Store, links: LinkIndex, progress: Callable[[int, int], None] | None
) -> bool:
    backlog = feed_backlog(store, links.version(), LINK_INDEX_SCHEMA)
    if backlog.is_full:
        links.clear()
    elif not backlog.rows:
        return False
    for start in range(0, len(backlog.rows), FACTS_PER_UPDATE):
        if progress is not None:
            progress(start, len(backlog.rows))
        rows = backlog.rows[start : start + FACTS_PER_UPDATE]
        facts = store.find_many([row.fact_id for row in rows if not row.deleted])
        links.update(
            [*map(linked_fact, facts.values())],
            [row.fact_id for row in rows if row.fact_id not in facts],
            version=version_of(backlog.store_id, rows[-1], LINK_INDEX_SCHEMA),
        )
    _log.debug("the links of %d changed facts were indexed", len(backlog.rows))
    if not backlog.rows:
        version = version_of(backlog.store_id, backlog.end, LINK_INDEX_SCHEMA)
        links.update([], [], version=version)
    return True


def linked_fact(fact: Fact) -> LinkedFact:
    """What the link index holds of a fact."""
    entity = entity_of_fact(fact)
    names = tuple(filter(None, (fact.title, *fact.aliases)))
    return LinkedFact(fact.id, fact_references(fact), names, entity.scope if entity else "")


def fact_references(fact: Fact) -> list[LinkReference]:
    """The links in the note of a fact; the facts that it names by their ids, too."""
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
    named = [(RELATED_KEY, related) for related in fact.related_fact_ids]
    named += [(SUPERSEDES_KEY, fact.supersedes_id or ""), (PARENT_KEY, fact.parent_fact_id or "")]
    return found + [
        LinkReference(fact.id, named_id, "", "property", key) for key, named_id in named if named_id
    ]


def entity_of_fact(fact: Fact) -> EntityRecord | None:
    """The names of an entity; None for other facts."""
    if fact.type not in NAMED_TYPES or not fact.title:
        return None
    return EntityRecord(fact.id, fact.scope, (fact.title, *fact.aliases))
