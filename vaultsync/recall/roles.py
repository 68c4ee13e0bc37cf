"""The roles of a person, such as *harbour master*. Loaded for the first person that is found."""

from __future__ import annotations

from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern

_ROLE = lazy_pattern(
    r"\A(?:#[^\n]*+\s++)?(?P<role>(?!#)[^.,;:\n]{2,60}?)"
    r"(?=[.,;:\n]|\Z|\s++(?:at|of|in|for|since|an|am|bei|von|seit|de|du|en|depuis|del|desde)\s)"
)


def roles_of(fact: Fact) -> tuple[str, ...]:
    """The roles of a person: the field `role`, and the first words of their note."""
    if fact.type != "person":
        return ()
    begin = _ROLE.match(fact.content)
    role = fact.properties.get("role")
    return (*((role,) if isinstance(role, str) else ()), *((begin["role"],) if begin else ()))
