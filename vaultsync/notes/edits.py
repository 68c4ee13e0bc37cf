"""What the user changed: the difference between two versions of a note.

What a note never showed does not count as removed.
"""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.model.canonical import link_name
from vaultsync.model.fact import Fact
from vaultsync.model.schema import RELATED_KEY, TIER_PRIORITIES, TIERS, Value, equal_as_json
from vaultsync.notes.body import read_blocks_above
from vaultsync.notes.parse import Note, type_of_folder


def apply_note_edits(
    base: Fact, before: Note, now: Note, *, ids: Mapping[str, str] | None = None
) -> Fact:
    """The base with the differences between two versions of its note, except for the scope.

    `ids` are the facts that links under Related Facts lead to, by target; others do not count.
    """
    invalid = {problem.key for problem in now.problems}
    was_invalid = {problem.key for problem in before.problems}
    changes: dict[str, Value] = {}
    for key in {**before.values, **now.values}:
        old = base.value(key) if key in was_invalid else before.values.get(key)
        new = now.values.get(key)
        if key in invalid or (key == "type" and new is None):
            continue
        if not equal_as_json(old, new):
            changes[key] = new
    for key in {**before.properties, **now.properties}:
        old, new = before.properties.get(key), now.properties.get(key)
        if key not in invalid and not equal_as_json(old, new):
            changes[key] = new
    moved_to = type_of_folder(now.place)
    if moved_to and moved_to != type_of_folder(before.place):
        changes["type"] = moved_to
    _set_tier(base, before, now, changes)
    _set_links(base, before, now, changes, ids or {})
    return (base.replace(changes) if changes else base).evolve(path=now.path)


def _set_tier(base: Fact, before: Note, now: Note, changes: dict[str, Value]) -> None:
    tier = now.place.tier
    priority = changes.get("priority", base.priority)
    if tier and tier != before.place.tier and priority not in TIERS[tier]:
        changes["priority"] = TIER_PRIORITIES[tier]


def _set_links(
    base: Fact, before: Note, now: Note, changes: dict[str, Value], ids: Mapping[str, str]
) -> None:
    """Link lines that were added to or removed from the managed block edit their fields.

    A link that another block of the note lists was not removed: the user merged another note,
    with a block of its own, into this one.
    """
    entities, related = now.body.entities, now.body.related
    if {*before.body.entities, *before.body.related} - {*entities, *related}:
        related_above, entities_above = read_blocks_above(now.body)
        entities = (*(x for x in before.body.entities if x in entities_above), *entities)
        related = (*(x for x in before.body.related if x in related_above), *related)
    for key, old, new in (
        ("entities", before.body.entities, entities),
        (RELATED_KEY, before.body.related, related),
    ):
        if key == "entities":
            was, are = ({link_name(x): None for x in old}, {link_name(x): None for x in new})
        else:
            was = {ids[x]: None for x in old if x in ids}
            are = {ids[x]: None for x in new if x in ids}
        if was == are or (before.body.block is None or now.body.block is None):
            continue
        listed = changes.get(key, base.value(key))
        kept = list(listed) if isinstance(listed, (list, tuple)) else []
        kept = [each for each in kept if each in are or each not in was]
        changes[key] = [*kept, *(each for each in are if each not in was and each not in kept)]
