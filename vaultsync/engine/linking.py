"""The link index: brought up to what the store says, and asked who links to a note."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from vaultsync.core.fact import Fact
from vaultsync.core.links import Names, name_key
from vaultsync.core.paths import VaultPath
from vaultsync.core.references import fact_links
from vaultsync.core.scope import sees
from vaultsync.engine.mirror import Mirror
from vaultsync.ports.link_index import Entity, LinkIndex, Reference
from vaultsync.ports.store import Written

SCHEMA = "1"
"""Of what `references_of()` makes; another one has the index built anew."""
RELATED = "relatedFactIds"
ENTITY_TYPES = frozenset({"person", "project", "entity"})
BATCH = 2_000
"""Facts put at once; after each such step the index is whole up to a number of the feed."""


class Backlink(NamedTuple):
    """A fact whose note links to another one, and how."""

    fact: Fact
    """With the path of its note."""
    links: tuple[Reference, ...]


def catch_up(mirror: Mirror, links: LinkIndex) -> bool:
    """Bring the index up to the store's feed; says whether there was anything to do.

    Raises:
        StoreUnavailableError: the store does not answer; the index is as it was.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    state = mirror.store.state()
    current = f"{state.store_id}:{state.seq}:{SCHEMA}"
    held = links.version()
    if held == current:
        return False
    since = seen_of(held, state.store_id)
    if since is None or since > state.seq:
        links.clear()
        since = 0
    rows = mirror.store.feed(since)
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        _put(mirror, links, some, f"{state.store_id}:{some[-1].seq}:{SCHEMA}")
    if not rows:
        links.update({}, [], version=current)
    return True


def seen_of(version: str | None, store_id: str) -> int | None:
    """The number of the feed that a version stands for; None for another store's."""
    parts = (version or "").rsplit(":", 2)
    if len(parts) == 3 and parts[0] == store_id and parts[2] == SCHEMA:  # noqa: PLR2004 - the parts of a version
        return int(parts[1])
    return None


def _put(
    mirror: Mirror, links: LinkIndex, rows: Sequence[Written], version: str
) -> None:
    facts = mirror.store.find_many([row.fact_id for row in rows if not row.deleted])
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


def backlinks(
    mirror: Mirror, links: LinkIndex, fact_id: str, *, agent: str | None = None
) -> list[Backlink]:
    """The facts that an agent sees whose notes link to the note of a fact, by path.

    What links mean is decided by where the notes lie now, as Obsidian does.

    Raises:
        StoreUnavailableError: the store does not answer.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    catch_up(mirror, links)
    base = mirror.archive.find_base(fact_id)
    wanted = [fact_id] + ([base.path] if base else [])
    by_fact = {
        key: tuple(many)
        for key, many in groupby(links.links_to(wanted), key=lambda link: link.fact_id)
    }
    facts = mirror.store.find_many(by_fact)
    bases = mirror.archive.find_bases(by_fact)
    names = _names_like(mirror, wanted) if by_fact else Names.of(())
    found = []
    for key, many in by_fact.items():
        fact = facts.get(key)
        if fact is None or not sees(agent, fact.scope) or key == fact_id:
            continue
        path = bases[key].path if key in bases else None
        source = path or VaultPath("")
        to = base.path if base else None
        leading = tuple(
            link
            for link in many
            if (link.key == RELATED and link.target == fact_id)
            or (to is not None and names.resolve(link.target, source) == to)
        )
        if leading:
            found.append(Backlink(fact.but(path=path), leading))
    return sorted(found, key=lambda each: (each.fact.path or "", each.fact.id))


def _names_like(mirror: Mirror, wanted: Sequence[str]) -> Names:
    """The paths that links which end in some names can mean; no others matter to them."""
    keys = {name_key(each) for each in wanted}
    return Names.of(p for p in mirror.archive.paths() if name_key(p) in keys)
