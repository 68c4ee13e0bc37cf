"""A bridge of this vault, asked for what its process has and this one lacks.

That is a model in memory, or the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vaultsync.errors import EngineBusyError
from vaultsync.settings import Settings

ENGINE_TIMEOUT = 3600.0
"""Seconds for what the engine does: a pass may be under way, and adopting or proving a
hundred thousand notes takes minutes. Who does not want to wait presses Ctrl-C."""
_BY_BRIDGE = "it does this by its bridge; where that does not run, stop it first"


def ask_running_bridge(
    settings: Settings,
    path: str,
    body: Mapping[str, object] | None,
    *,
    agent: str | None,
    patience: float | None = None,
) -> Mapping[str, Any] | None:
    """What the bridge of a vault answers, an error too; None when there is no answer.

    A bridge of another agent is not asked.
    """
    from vaultsync.backends.http.bridge_client import BRIDGE_TIMEOUT, ask_bridge
    from vaultsync.backends.state.bridge_address import BridgeAddressFile
    from vaultsync.backends.state.token_file import TokenFile

    found = BridgeAddressFile(settings.state_dir).find()
    token = TokenFile(settings.state_dir).find()
    if found is None or token is None or found.agent not in (None, agent):
        return None
    return ask_bridge(found.port, token, path, body, patience or BRIDGE_TIMEOUT)


def ask_running_engine(
    settings: Settings,
    path: str,
    body: Mapping[str, object] | None,
    *,
    agent: str | None,
    busy: EngineBusyError,
) -> Mapping[str, Any]:
    """What the engine of another process did, asked of its bridge.

    Args:
        settings: of the vault.
        path: the route.
        body: what it takes; None when it is a GET.
        agent: who asks.
        busy: why this process does not do it.

    Raises:
        EngineBusyError: `busy`, when it has no bridge that answers.
        VaultsyncError: what it failed with.
    """
    from vaultsync.backends.state.bridge_address import BridgeAddressFile
    from vaultsync.privacy.error_json import error_from_json

    if BridgeAddressFile(settings.state_dir).is_own():
        raise busy  # the bridge of this process waits for this very answer
    said = ask_running_bridge(settings, path, body, agent=agent, patience=ENGINE_TIMEOUT)
    if said is None or said.get("error", {}).get("kind") == "RouteError":
        # It has none, is of another version, or the name is none that it could take.
        raise busy.watched(_BY_BRIDGE)
    if "error" in said:
        raise error_from_json(said["error"])
    return said
