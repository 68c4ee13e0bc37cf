"""What somebody means who saw an answer, with placeholders for secrets, and writes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from vaultsync.core.fact import Fact
from vaultsync.core.fields import Value
from vaultsync.engine.mirror import Mirror
from vaultsync.errors import UnknownPlaceholderError

_ADD, _REMOVE = "+tags", "-tags"


def meant_by(
    mirror: Mirror,
    fact: Fact,
    values: Mapping[str, Value],
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
) -> tuple[Mapping[str, Value], Sequence[str], Sequence[str]]:
    """What somebody means who saw the fact with placeholders for its secrets.

    Raises:
        UnknownPlaceholderError: one stands for no secret of the fact.
    """
    named = {**values, _ADD: list(add_tags), _REMOVE: list(remove_tags)}
    meant, unknown = mirror.lens.taken(named, fact)
    if unknown:
        raise UnknownPlaceholderError(fact.id, unknown)
    add, remove = meant.pop(_ADD), meant.pop(_REMOVE)
    return meant, cast("Sequence[str]", add), cast("Sequence[str]", remove)
