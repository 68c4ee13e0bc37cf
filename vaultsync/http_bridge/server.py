"""The bridge as a server on loopback, in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vaultsync.errors import ConfigError
from vaultsync.http_bridge.application import make_bridge_app
from vaultsync.service.bridge_service import BridgeServices, serve_on_loopback

BRIDGE_PORT = 27125
"""Where a bridge listens when nobody names a port and no other one has it."""


class BridgeServer:
    """A bridge that listens from when it is made until it is stopped."""

    def __init__(self, serving: BridgeServices, *, port: int | None = None) -> None:
        """Listen.

        Raises:
            ConfigError: another program has the port.
        """
        self._serving = serving
        ports = (BRIDGE_PORT, 0) if port is None else (port,)
        try:
            self._server = serve_on_loopback(
                make_bridge_app(serving), serving.settings, ports, name="bridge"
            )
        except OSError as error:
            raise ConfigError(
                f"the bridge cannot listen at port {port}: {error.strerror}",
                hint="name another port with --port, or none, and one that is free is taken",
            ) from None
        self.port: int = self._server.port
        self.address = self._server.address
        serving.announce(self.port)

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        return self._server.is_alive

    def stop(self) -> None:
        """Let go of all who listen, end, and take the announcement back."""
        self._serving.withdraw_address()
        self._serving.events.close()
        self._server.stop()


@contextmanager
def running_bridge(serving: BridgeServices, *, port: int | None = None) -> Iterator[BridgeServer]:
    """A bridge, while it is needed.

    Raises:
        ConfigError: another program has the port.
    """
    bridge = BridgeServer(serving, port=port)
    try:
        yield bridge
    finally:
        bridge.stop()
