"""Which facts a note links to, and which link to it: named as people name notes."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.errors.usage import InvalidIdError, NotFoundError
from vaultsync.facts.linking import backlinks, catch_up
from vaultsync.links.index_sync import RELATED
from vaultsync.links.ports import LinkIndex
from vaultsync.links.wikilinks import Names, folded
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, stem_of
from vaultsync.model.scope import sees
from vaultsync.sync.context import Mirror

MANY = 5
"""Names that a hint lists."""


def fact_named(mirror: Mirror, name: str, *, agent: str | None) -> Fact:
    """The fact of an id, a path, a file name, a title or an alias, with its path.

    What a note is called counts for more than what it is also called, as in the graph.

    Raises:
        NotFoundError: no fact that the agent sees is called so, or more than one.
    """
    paths = {fact_id: path for path, fact_id in mirror.archive.paths().items()}
    key = folded(name.strip())
    matches: list[list[Fact]] = [[], [], []]
    for fact in _candidates(mirror, name):
        if not sees(agent, fact.scope):
            continue
        path = paths.get(fact.id)
        said = folded(path or "")
        if key in (fact.id, said, said.removesuffix(".md")):
            matches[0].append(fact.but(path=path))
        elif key in (folded(fact.title), stem_of(said)):
            matches[1].append(fact.but(path=path))
        elif key in map(folded, fact.aliases):
            matches[2].append(fact.but(path=path))
    found: list[Fact] = next((many for many in matches if many), [])
    if not found:
        message = f"no note is called {name[:80]!r}"
        raise NotFoundError(message, hint="give an id, a path, a title or an alias")
    if len(found) > 1:
        named = ", ".join(each.path or each.id for each in found[:MANY])
        message = f"{len(found)} notes are called {name[:80]!r}"
        raise NotFoundError(message, hint=f"name one by its path: {named}")
    return found[0]


def _candidates(mirror: Mirror, name: str) -> Iterable[Fact]:
    """The one fact of an id; else all of them."""
    try:
        return mirror.shown.find_many([check_id(name)]).values()
    except InvalidIdError:
        return mirror.shown.iter_facts()


def linking_to(
    mirror: Mirror, links: LinkIndex, name: str, *, agent: str | None
) -> set[str]:
    """The ids of the facts whose notes link to a note.

    Raises:
        NotFoundError: as `fact_named()`.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    to = fact_named(mirror, name, agent=agent)
    found = backlinks(mirror, links, to.id, agent=agent)
    return {each.fact.id for each in found}


def linked_from(
    mirror: Mirror, links: LinkIndex, name: str, *, agent: str | None
) -> set[str]:
    """The ids of the facts that a note links to, as Obsidian would follow its links.

    Raises: as `linking_to()`.
    """
    source = fact_named(mirror, name, agent=agent)
    catch_up(mirror, links)
    paths = mirror.archive.paths()
    names = Names.of(paths)
    at = source.path or VaultPath("")
    found = set()
    for link in links.links_from(source.id):
        if link.key == RELATED:
            found.add(link.target)
        else:
            path = names.resolve(link.target, at)
            found.add(paths.get(path, "") if path else "")
    return found - {"", source.id}
