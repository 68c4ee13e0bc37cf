"""Entities that an agent mentions become links in what it writes.

Only what the agent wrote: of a text that was there before, the lines that it changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vaultsync.errors import StoreUnavailableError
from vaultsync.links.autolink import LinkTarget, link_mentions
from vaultsync.links.ports import EntityRecord
from vaultsync.links.wikilinks import LinkResolver, fold_case
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, entity_name
from vaultsync.sync.context import SyncContext


def link_entities(
    ctx: SyncContext, fact: Fact, *, agent: str | None, before: str | None = None
) -> Fact:
    """The fact as an agent wrote it, with the entities that its content mentions linked.

    Args:
        ctx: the sides.
        fact: what is to be written.
        agent: who writes; of a person (None) nothing is changed.
        before: the content that it replaces, whose lines stay as they are.
    """
    if agent is None or not ctx.policy.auto_link or fact.content == before:
        return fact
    try:
        mentions = ctx.names.mentions(ctx.redacted_store, fact.content)
    except StoreUnavailableError:
        return fact
    keys = {key for each in mentions for key in each.keys}
    targets = _targets(ctx, fact, keys - {fact.id})
    if not targets:
        return fact
    within = None if before is None else _changed_lines(before, fact.content)
    made = fact.evolve(content=link_mentions(fact.content, mentions, targets, within=within))
    return made if _leaves_secrets_intact(ctx, fact, made) else fact


def _leaves_secrets_intact(ctx: SyncContext, fact: Fact, made: Fact) -> bool:
    """Whether no link is inside a secret, nor in the word that tells one: it would show it."""
    before = ctx.view.known_secrets(fact)
    return ctx.view.known_secrets(made) == before and all(
        made.content.count(secret) == fact.content.count(secret) for secret in before.known.values()
    )


def _changed_lines(before: str, after: str) -> list[tuple[int, int]]:
    """The spans of the lines that a text has and another had not."""
    old = Counter(before.split("\n"))
    spans, at = [], 0
    for line in after.split("\n"):
        if old[line]:
            old[line] -= 1
        else:
            spans.append((at, at + len(line)))
        at += len(line) + 1
    return spans


def _targets(ctx: SyncContext, fact: Fact, keys: Iterable[str]) -> dict[str, LinkTarget]:
    """The entities that everybody knows who may read the fact, and what links to them say.

    Of several that are called the same, those in the scope of the fact.
    """
    entities = [
        each
        for each in ctx.names.find(keys).values()
        if each.scope == fact.scope or not each.scope.startswith("private-")
    ]
    if not entities:
        return {}
    near = {fold_case(name) for each in entities if each.scope == fact.scope for name in each.names}
    entities = [
        each
        for each in entities
        if each.scope == fact.scope or near.isdisjoint(map(fold_case, each.names))
    ]
    twins = {each.fact_id: ctx.names.same_named(each.names[0]) for each in entities}
    bases = ctx.archive.find_bases({key for many in twins.values() for key in many})
    there = {key: base.path for key, base in bases.items() if base.missing_since is None}
    found = {}
    for each in entities:
        key = each.fact_id
        link = _link_text(each, twins[key], there, known=key in bases)
        if link:
            found[key] = LinkTarget(link, each.names)
    return found


def _link_text(
    entity: EntityRecord, twins: set[str], there: dict[str, VaultPath], *, known: bool
) -> str:
    """What a link to an entity says: its file's name, or the path when others have it too.

    A note that is about to be written will be called like its entity.
    """
    path = there.get(entity.fact_id)
    if path is not None:
        return LinkResolver.of(there[key] for key in twins if key in there).link_text(path)
    return "" if known or len(twins) > 1 else entity_name(entity.names[0])
