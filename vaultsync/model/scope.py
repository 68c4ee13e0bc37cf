"""Scopes: where facts belong. A scope is a folder of the vault, never a property."""

from __future__ import annotations

from vaultsync.errors import InvalidAgentError, InvalidScopeError
from vaultsync.model.lazy_pattern import lazy_pattern

PUBLIC = "public"
_SCOPE = lazy_pattern(r"\A(?:public|(?:private|team|project)-[a-z0-9][a-z0-9_-]{0,62})\Z")


def is_scope(name: str) -> bool:
    """Whether `name` is the folder name of a scope."""
    return _SCOPE.match(name) is not None


def check_scope(name: str) -> str:
    """The name, if it is a valid scope.

    Raises:
        InvalidScopeError: it is not.
    """
    if not isinstance(name, str) or not is_scope(name):
        raise InvalidScopeError(name)
    return name


def private_scope(agent: str) -> str:
    """The scope of one agent alone.

    Raises:
        InvalidAgentError: the agent's name cannot be part of a folder name.
    """
    if not isinstance(agent, str) or not is_scope(scope := f"private-{agent.casefold()}"):
        raise InvalidAgentError(agent)
    return scope


def is_private(scope: str) -> bool:
    """Whether only one agent may see facts of `scope`."""
    return scope.startswith("private-")


def is_team(scope: str) -> bool:
    """Whether a scope is that of a team."""
    return scope.startswith("team-")
