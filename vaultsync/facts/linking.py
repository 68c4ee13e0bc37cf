"""The link index: brought up to what the store says, and asked who links to a note."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from vaultsync.links.index_sync import RELATED, follow
from vaultsync.links.ports import LinkIndex, Reference
from vaultsync.links.wikilinks import Names, name_key
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.scope import sees
from vaultsync.sync.context import Mirror


class Backlink(NamedTuple):
    """A fact whose note links to another one, and how."""

    fact: Fact
    """With the path of its note."""
    links: tuple[Reference, ...]


def catch_up(mirror: Mirror, links: LinkIndex) -> bool:
    """Bring the index up to the store's feed; says whether there was anything to do.

    Raises: as `follow()`.
    """
    return follow(mirror.shown, links)


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
    facts = mirror.shown.find_many(by_fact)
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
