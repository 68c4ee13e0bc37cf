"""The settings of a vault for one agent's server.

They are read before the memory is loaded, because a client waits for `initialize`.
"""

from __future__ import annotations

from msgspec import structs

from vaultsync.api import configuration as config
from vaultsync.api.arguments import check_user
from vaultsync.errors import ScopeDeniedError
from vaultsync.model.scope import check_scope
from vaultsync.settings import Settings

DEFAULT_AGENT = "mcp"
"""The agent of a server without a name; without any agent it would see every scope."""


def settings_for(
    path: str | None = None,
    *,
    agent: str | None = None,
    state_dir: str | None = None,
    scope: str | None = None,
    user: str | None = None,
) -> Settings:
    """The settings of a vault, found as by `vaultsync.open()`, for an agent that serves a user.

    Raises:
        NotAVaultError: there is no vault.
        ConfigError: its settings are not valid.
        UntrustedVaultError: it asks for what the user has not allowed.
        InvalidAgentError, InvalidScopeError: the name of the agent, or the scope, is not valid.
        ScopeDeniedError: the agent may neither write nor propose there.
    """
    found = config.load_settings(config.find_root(path), agent=agent, state_dir=state_dir)
    name = found.agent or DEFAULT_AGENT
    if scope is not None:
        may = found.permissions
        if not (may.may_write(name, check_scope(scope)) or may.may_propose(name, scope)):
            raise ScopeDeniedError(name, scope)
    return structs.replace(found, agent=name, user=check_user(user))
