"""Which facts a note links to, and which link to it: named as people name notes.

The link index: brought up to what the store says, and asked who links to a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from vaultsync.errors import InvalidIdError, NotFoundError
from vaultsync.links.index_sync import RELATED_KEY, update_link_index
from vaultsync.links.ports import LinkIndex, LinkReference
from vaultsync.links.wikilinks import LinkResolver, fold_case, name_key
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, stem_of
from vaultsync.model.scope import can_see
from vaultsync.sync.context import SyncContext


class Backlink(NamedTuple):
    """A fact whose note links to another one, and how."""

    fact: Fact
    """With the path of its note."""
    links: tuple[LinkReference, ...]


def catch_up_link_index(ctx: SyncContext, links: LinkIndex) -> bool:
    """Bring the index up to the store's feed; says whether there was anything to do.

    Raises: as `follow()`.
    """
    return update_link_index(ctx.redacted_store, links)


def find_backlinks(
    ctx: SyncContext, links: LinkIndex, fact_id: str, *, agent: str | None = None
) -> list[Backlink]:
    """The facts that an agent sees whose notes link to the note of a fact, by path.

    What links mean is decided by where the notes lie now, as Obsidian does.

    Raises:
        StoreUnavailableError: the store does not answer.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    catch_up_link_index(ctx, links)
    base = ctx.archive.find_base(fact_id)
    wanted = [fact_id] + ([base.path] if base else [])
    by_fact = {
        key: tuple(many)
        for key, many in groupby(links.links_to(wanted), key=lambda link: link.fact_id)
    }
    facts = ctx.redacted_store.find_many(by_fact)
    bases = ctx.archive.find_bases(by_fact)
    names = _names_like(ctx, wanted) if by_fact else LinkResolver.of(())
    found = []
    for key, many in by_fact.items():
        fact = facts.get(key)
        if fact is None or not can_see(agent, fact.scope) or key == fact_id:
            continue
        path = bases[key].path if key in bases else None
        source = path or VaultPath("")
        to = base.path if base else None
        leading = tuple(
            link
            for link in many
            if (link.key == RELATED_KEY and link.target == fact_id)
            or (to is not None and names.resolve(link.target, source) == to)
        )
        if leading:
            found.append(Backlink(fact.evolve(path=path), leading))
    return sorted(found, key=lambda each: (each.fact.path or "", each.fact.id))


def _names_like(ctx: SyncContext, wanted: Sequence[str]) -> LinkResolver:
    """The paths that links which end in some names can mean; no others matter to them."""
    keys = {name_key(each) for each in wanted}
    return LinkResolver.of(p for p in ctx.archive.paths() if name_key(p) in keys)


MAX_CANDIDATES_SHOWN = 5
"""Names that a hint lists."""


def find_fact(ctx: SyncContext, name: str, *, agent: str | None) -> Fact:
    """The fact of an id, a path, a file name, a title or an alias, with its path.

    What a note is called counts for more than what it is also called, as in the graph.

    Raises:
        NotFoundError: no fact that the agent sees is called so, or more than one.
    """
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    key = fold_case(name.strip())
    matches: list[list[Fact]] = [[], [], []]
    for fact in _candidates(ctx, name):
        if not can_see(agent, fact.scope):
            continue
        path = paths.get(fact.id)
        said = fold_case(path or "")
        if key in (fact.id, said, said.removesuffix(".md")):
            matches[0].append(fact.evolve(path=path))
        elif key in (fold_case(fact.title), stem_of(said)):
            matches[1].append(fact.evolve(path=path))
        elif key in map(fold_case, fact.aliases):
            matches[2].append(fact.evolve(path=path))
    found: list[Fact] = next((many for many in matches if many), [])
    if not found:
        message = f"no note is called {name[:80]!r}"
        raise NotFoundError(message, hint="give an id, a path, a title or an alias")
    if len(found) > 1:
        named = ", ".join(each.path or each.id for each in found[:MAX_CANDIDATES_SHOWN])
        message = f"{len(found)} notes are called {name[:80]!r}"
        raise NotFoundError(message, hint=f"name one by its path: {named}")
    return found[0]


def _candidates(ctx: SyncContext, name: str) -> Iterable[Fact]:
    """The one fact of an id; else all of them."""
    try:
        return ctx.redacted_store.find_many([check_id(name)]).values()
    except InvalidIdError:
        return ctx.redacted_store.iter_facts()


def linking_to(ctx: SyncContext, links: LinkIndex, name: str, *, agent: str | None) -> set[str]:
    """The ids of the facts whose notes link to a note.

    Raises:
        NotFoundError: as `fact_named()`.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    to = find_fact(ctx, name, agent=agent)
    found = find_backlinks(ctx, links, to.id, agent=agent)
    return {each.fact.id for each in found}


def linked_from(ctx: SyncContext, links: LinkIndex, name: str, *, agent: str | None) -> set[str]:
    """The ids of the facts that a note links to, as Obsidian would follow its links.

    Raises: as `linking_to()`.
    """
    source = find_fact(ctx, name, agent=agent)
    catch_up_link_index(ctx, links)
    paths = ctx.archive.paths()
    names = LinkResolver.of(paths)
    at = source.path or VaultPath("")
    found = set()
    for link in links.links_from(source.id):
        if link.key == RELATED_KEY:
            found.add(link.target)
        else:
            path = names.resolve(link.target, at)
            found.add(paths.get(path, "") if path else "")
    return found - {"", source.id}
