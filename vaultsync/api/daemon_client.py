"""Use the model or the engine of a vault's process through its bridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import convert

from vaultsync.backends.http.bridge_client import ask_bridge, check_bridge
from vaultsync.backends.state.bridge_token import TokenFile
from vaultsync.backends.state.process_files import BridgeAddressFile
from vaultsync.errors import EngineBusyError
from vaultsync.privacy.error_json import error_from_json
from vaultsync.settings import Settings

ENGINE_TIMEOUT = 3600.0
"""Seconds to wait for the engine: a run may be in progress, and adopting or verifying a hundred
thousand notes takes minutes. A user who does not want to wait presses Ctrl-C; a suspended process
is detected by `ask_bridge()` and not waited for."""
T = TypeVar("T")
_BY_BRIDGE = "it does this through its bridge; if the bridge is not running, stop it first"


def ask_running_bridge(
    settings: Settings, path: str, body: Mapping[str, object] | None, agent: str | None
) -> Mapping[str, Any] | None:
    """The response of a vault's bridge to a POST, or to a GET if `body` is None.

    It may be an error. None if no bridge is running, or if it is another agent's.

    Raises:
        TimeoutError: the bridge does not respond.
    """
    place = _find_bridge(settings, agent)
    return None if place is None else ask_bridge(*place, path, body)


def _find_bridge(settings: Settings, agent: str | None) -> tuple[int, str] | None:
    """The port and the token of the bridge of a vault, unless it is another agent's."""
    address = BridgeAddressFile(settings.state_dir).find()
    token = TokenFile(settings.state_dir).find()
    if address is None or token is None or address.agent not in (None, agent):
        return None
    return address.port, token


def ask_running_engine(
    settings: Settings,
    path: str,
    body: Mapping[str, object] | None,
    *,
    agent: str | None,
    busy: EngineBusyError,
    answer: type[T],
) -> T:
    """Have the engine of another process do something, through its bridge.

    Raises:
        EngineBusyError: `busy`, if that process has no bridge, or does not respond.
        VaultsyncError: the error in its response.
    """
    if BridgeAddressFile(settings.state_dir).is_own():
        raise busy  # this process's own bridge waits for this call
    if busy.was_at:
        raise busy  # that process cannot do anything in the vault
    place = _find_bridge(settings, agent)
    response = None
    if place is not None:
        try:
            check_bridge(*place)  # a suspended process would do the work when it resumes
        except TimeoutError:
            raise busy.silent(begun=False) from None
        try:
            response = ask_bridge(*place, path, body, ENGINE_TIMEOUT)
        except TimeoutError:
            raise busy.silent(begun=True) from None
    if response is None or response.get("error", {}).get("kind") == "RouteError":
        # There is no bridge, it has another version, or it does not have the route.
        raise busy.watched(_BY_BRIDGE)
    if "error" in response:
        raise error_from_json(response["error"])
    return convert(response, answer)
