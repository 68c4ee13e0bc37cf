"""Turn entities that an agent mentions into links in its text.

When an agent replaces a text, only the lines that it changed get links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vaultsync.errors import StoreUnavailableError
from vaultsync.links.autolink import LinkTarget, link_mentions
from vaultsync.links.wikilinks import LinkResolver, fold_case
from vaultsync.model.fact import Fact
from vaultsync.model.paths import entity_name
from vaultsync.sync.context import SyncContext


def link_entities(
    ctx: SyncContext, fact: Fact, *, agent: str | None, before: str | None = None
) -> Fact:
    """The fact with links to the entities that its content mentions, unless the user writes it.

    Lines that the replaced content `before` has too get no links.
    """
    if agent is None or not ctx.policy.auto_link or fact.content == before:
        return fact
    try:
        mentions = ctx.names.mentions(ctx.redacted_store, fact.content)
    except StoreUnavailableError:
        return fact
    keys = {key for each in mentions for key in each.keys} - {fact.id}
    targets = _link_targets(ctx, fact, keys) if keys else {}
    if not targets:
        return fact
    within = None if before is None else _changed_lines(before, fact.content)
    linked = fact.evolve(content=link_mentions(fact.content, mentions, targets, within=within))
    # A link that splits a secret, or the word that reveals one, would show it.
    intact = ctx.view.content_secrets(linked) == ctx.view.content_secrets(fact)
    return linked if intact else fact


def _changed_lines(before: str, after: str) -> list[tuple[int, int]]:
    """The spans of the lines of `after` that `before` does not have."""
    old = Counter(before.split("\n"))
    spans, start = [], 0
    for line in after.split("\n"):
        if old[line]:
            old[line] -= 1
        else:
            spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans


def _link_targets(ctx: SyncContext, fact: Fact, keys: Iterable[str]) -> dict[str, LinkTarget]:
    """The mentioned entities that every reader of the fact can see, with their link texts.

    The text is a file name, or a path if that is not unique. An entity whose note is not written
    yet will get a note of its name. Where several entities have one name, those in the scope of
    the fact win.
    """
    found = ctx.names.find(keys).values()
    entities = [each for each in found if each.scope == fact.scope]
    names = {fold_case(name) for each in entities for name in each.names}
    entities += [
        each
        for each in found
        if each.scope != fact.scope
        and ctx.policy.permissions.readers_also_read(fact.scope, each.scope)
        and names.isdisjoint(map(fold_case, each.names))
    ]
    namesakes = {each.fact_id: ctx.names.same_named(each.names[0]) for each in entities}
    bases = ctx.archive.find_bases({key for keys in namesakes.values() for key in keys})
    paths = {key: base.path for key, base in bases.items() if base.missing_since is None}
    targets = {}
    for each in entities:
        key, same_named = each.fact_id, namesakes[each.fact_id]
        text = ""
        if key in paths:
            resolver = LinkResolver.of(paths[other] for other in same_named if other in paths)
            text = resolver.link_text(paths[key])
        elif key not in bases and len(same_named) == 1:
            text = entity_name(each.names[0])
        if text:
            targets[key] = LinkTarget(text, each.names)
    return targets
