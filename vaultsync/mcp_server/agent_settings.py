"""The settings of a vault for one agent's server, known before its memory is opened.

A client waits for the answer to its first word; the memory is loaded after that.
"""

from __future__ import annotations

from msgspec import structs

from vaultsync.api import configuration as config
from vaultsync.errors import ScopeDeniedError
from vaultsync.model.scope import can_see, check_scope, private_scope
from vaultsync.settings import Settings

DEFAULT_AGENT = "mcp"
"""What an agent is called that was given no name: one that sees only what it may."""


def settings_for(
    path: str | None = None,
    *,
    agent: str | None = None,
    state_dir: str | None = None,
    scope: str | None = None,
    user: str | None = None,
) -> Settings:
    """The settings of a vault for one agent; `scope` is where it writes.

    With a user it recalls only what is about them, and what it keeps is.

    Raises:
        NotAVaultError: there is no vault.
        ConfigError: its settings make no sense.
        InvalidScopeError: the name of the agent, or the scope, makes none.
        ScopeDeniedError: the scope is another agent's.
    """
    found = config.load_settings(config.find_root(path), agent=agent, state_dir=state_dir)
    name = found.agent or DEFAULT_AGENT
    private_scope(name)
    if scope is not None and not can_see(name, check_scope(scope)):
        raise ScopeDeniedError(name, scope)
    return structs.replace(found, agent=name, user=user or None)
