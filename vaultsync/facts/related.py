"""The connections of a fact: backlinks, related facts, older and newer versions.

Notes are found by the names that users give them, and links are resolved as Obsidian does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from vaultsync.errors import AmbiguousNameError, NotFoundError
from vaultsync.facts.listing import with_note_paths
from vaultsync.facts.lookup import CalledLike, find_fact
from vaultsync.facts.service import get
from vaultsync.links.index_sync import ID_KEYS, update_link_index
from vaultsync.links.ports import LinkIndex
from vaultsync.links.wikilinks import LinkResolver
from vaultsync.model.decay import decay_factor, utility
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import RELATED_KEY
from vaultsync.sync.context import SyncContext

MAX_CHAIN_FACTS = 100
"""Maximum number of older, and of newer, versions."""


class Named(Struct, frozen=True):
    """The id, title and path of a fact."""

    id: str
    title: str
    path: VaultPath | None


class Version(Named, frozen=True):
    """One version of a fact."""

    createdAt: str  # noqa: N815 - as in frontmatter


class UseSignals(Struct, frozen=True, rename="camel"):
    """How useful a fact is; these values are not in its note."""

    access_count: int
    last_accessed_at: str | None
    decay_factor: float | None
    """0 to 1; computed from the time since it was last changed or used."""
    importance: float | None
    """0 to 1."""
    utility: float
    """0 to 1; computed from importance and access count."""


class Related(Struct, frozen=True):
    """What is connected to a fact."""

    backlinks: tuple[Named, ...]
    """The facts whose notes link to it, by path."""
    related: tuple[Named, ...]
    """The facts in its `relatedFactIds`."""
    chain: tuple[Version, ...]
    """All versions, the oldest first, with the fact itself among them."""
    signals: UseSignals
    canvases: tuple[VaultPath, ...] = ()
    """The canvases that link to its note."""


def _named(facts: Iterable[Fact]) -> tuple[Named, ...]:
    return tuple(Named(each.id, each.title, each.path) for each in facts)


def find_related(ctx: SyncContext, links: LinkIndex, fact_id: str, *, agent: str | None) -> Related:
    """What is connected to a fact, as far as the agent can see it.

    Raises: as `find_backlinks()`, and FactNotFoundError, InvalidIdError.
    """
    fact = ctx.view.redact(get(ctx, fact_id, agent=agent))
    backlinks = find_backlinks(ctx, links, fact.id, agent=agent)
    facts = ctx.redacted_store.find_many(fact.related_fact_ids)
    related = [
        facts[key]
        for key in fact.related_fact_ids
        if key in facts and ctx.policy.permissions.may_read(agent, facts[key].scope)
    ]
    seen = {fact.id}
    older = _versions(ctx, fact, "supersedes_id", seen, agent)
    newer = _versions(ctx, fact, "superseded_by_id", seen, agent)
    chain = with_note_paths(ctx, [*reversed(older), fact, *newer])
    return Related(
        _named(backlinks),
        _named(with_note_paths(ctx, related)),
        tuple(Version(n.id, n.title, n.path, n.created_at) for n in chain),
        UseSignals(
            fact.access_count,
            fact.last_accessed_at,
            round(decay_factor(fact, ctx.clock.now()), 4),
            fact.importance,
            utility(fact.importance, fact.access_count),
        ),
        tuple(_canvases(ctx, fact.id, agent)),
    )


def _canvases(ctx: SyncContext, fact_id: str, agent: str | None) -> Iterator[VaultPath]:
    """The canvases that the agent may know of with a link to the note of a fact."""
    from vaultsync.links.canvas import iter_canvases  # noqa: PLC0415 - `list` needs it not
    from vaultsync.sync.agent_view import AgentView  # noqa: PLC0415 - the same

    base, view = ctx.archive.find_base(fact_id), AgentView(ctx, agent)
    if base is None:
        return
    resolver = LinkResolver.of(ctx.archive.paths_called([base.path]))
    for canvas in iter_canvases(ctx.vault):
        targets = (each.link.target for each in canvas.links)
        leads = any(resolver.resolve(target, canvas.path) == base.path for target in targets)
        if leads and view.sees_note(canvas.path):
            yield canvas.path


def _versions(
    ctx: SyncContext, fact: Fact, attr: str, seen: set[str], agent: str | None
) -> list[Fact]:
    """The versions on one side of a fact, up to the first that is gone or not visible."""
    versions: list[Fact] = []
    while len(versions) < MAX_CHAIN_FACTS and (key := getattr(fact, attr)) and key not in seen:
        seen.add(key)
        version = ctx.redacted_store.find_many([key]).get(key)
        if version is None or not ctx.policy.permissions.may_read(agent, version.scope):
            break
        versions.append(version)
        fact = version
    return versions


# --------------------------------------------------------------------- backlinks


def find_backlinks(
    ctx: SyncContext, links: LinkIndex, fact_id: str, *, agent: str | None = None
) -> list[Fact]:
    """The visible facts whose notes link to the note of a fact, by path.

    Links are resolved by the current paths of the notes, as Obsidian does. The link index
    is updated first.

    Raises:
        StoreUnavailableError: the store does not answer.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    paths = _backlink_paths(ctx, links, fact_id)
    permissions = ctx.policy.permissions
    sources = (
        fact.evolve(path=paths[fact.id])
        for fact in ctx.redacted_store.find_many(paths).values()
        if permissions.may_read(agent, fact.scope)
    )
    return sorted(sources, key=lambda fact: (fact.path or "", fact.id))


def _backlink_paths(
    ctx: SyncContext, links: LinkIndex, fact_id: str
) -> dict[str, VaultPath | None]:
    """The facts that link to one, visible or not, and the paths of their notes."""
    update_link_index(ctx.redacted_store, links)
    base = ctx.archive.find_base(fact_id)
    names = [fact_id] + ([base.path] if base else [])
    found = [link for link in links.links_to(names) if link.fact_id != fact_id]
    paths = ctx.archive.note_paths({link.fact_id for link in found})
    # Paths with other names cannot matter to the links found.
    resolver = LinkResolver.of(ctx.archive.paths_called(names))
    return {
        link.fact_id: paths.get(link.fact_id)
        for link in found
        if (link.key == RELATED_KEY and link.target == fact_id)
        or (
            base
            and link.key not in ID_KEYS
            and resolver.resolve(link.target, paths.get(link.fact_id, VaultPath(""))) == base.path
        )
    }


def linking_to(
    ctx: SyncContext,
    links: LinkIndex,
    name: str,
    *,
    agent: str | None,
    called: CalledLike | None = None,
) -> set[str]:
    """The ids of the facts whose notes link to a note, or to a name that no fact has.

    Raises: as `find_backlinks()`, and NotFoundError: as `find_fact()`, and no fact links to the
        name.
    """
    try:
        target = find_fact(ctx, name, agent=agent, called=called)
    except AmbiguousNameError:
        raise
    except NotFoundError:
        # Not by whether the links resolve: a note that the agent cannot see must not matter.
        update_link_index(ctx.redacted_store, links)
        sources = {x.fact_id for x in links.links_to([name]) if x.key not in ID_KEYS}
        if named := _readable(ctx, sources, agent):
            return named
        raise
    return _readable(ctx, {*_backlink_paths(ctx, links, target.id)}, agent)


def _readable(ctx: SyncContext, fact_ids: set[str], agent: str | None) -> set[str]:
    if agent is None:  # a hub has thousands, of which a page reads the first
        return fact_ids
    facts = ctx.store.find_many(fact_ids).values()
    return {fact.id for fact in facts if ctx.policy.permissions.may_read(agent, fact.scope)}


def linked_from(
    ctx: SyncContext,
    links: LinkIndex,
    name: str,
    *,
    agent: str | None,
    called: CalledLike | None = None,
) -> set[str]:
    """The ids of the facts that a note links to, as Obsidian resolves its links."""
    source = find_fact(ctx, name, agent=agent, called=called)
    update_link_index(ctx.redacted_store, links)
    leading = links.links_from(source.id)
    paths = ctx.archive.paths_called(link.target for link in leading)
    resolver = LinkResolver.of(paths)
    targets = set()
    for link in leading:
        if link.key == RELATED_KEY:
            targets.add(link.target)
        if link.key not in ID_KEYS:
            path = resolver.resolve(link.target, source.path or VaultPath(""))
            targets.add(paths.get(path, "") if path else "")
    return targets - {"", source.id}
