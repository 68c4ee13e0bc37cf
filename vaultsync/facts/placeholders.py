"""What somebody means who saw an answer, with placeholders for secrets, and writes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from vaultsync.errors import InvalidFieldError, UnknownPlaceholderError
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.sync.context import SyncContext

_ADD, _REMOVE = "+tags", "-tags"


def apply_restored_changes(
    ctx: SyncContext,
    fact: Fact,
    values: Mapping[str, Value],
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
) -> Fact:
    """The fact as somebody changes it who saw it with placeholders for its secrets.

    Raises:
        UnknownPlaceholderError: one stands for no secret of the fact.
        InvalidFieldError: a value that its field does not take, as it was said.
    """
    named = {**values, _ADD: list(add_tags), _REMOVE: list(remove_tags)}
    meant, unknown = ctx.view.restore_values(named, fact)
    if unknown:
        raise UnknownPlaceholderError(fact.id, unknown)
    add = cast("Sequence[str]", meant.pop(_ADD))
    gone = {tag.lstrip("#") for tag in cast("Sequence[str]", meant.pop(_REMOVE))}
    try:
        changed = fact.replace(meant)
        if add or gone:
            kept = [tag for tag in changed.tags if tag not in gone]
            changed = changed.replace({"tags": [*kept, *add]})
    except InvalidFieldError as wrong:
        raise error_as_written(wrong, values) from None
    return changed


def error_as_written(wrong: InvalidFieldError, values: Mapping[str, Value]) -> InvalidFieldError:
    """The error about a value as somebody said it, who may not see what it means."""
    if wrong.field not in values:
        return wrong
    return InvalidFieldError(wrong.field, values[wrong.field], wrong.expected)
