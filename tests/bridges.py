"""Bridges that listen on a port, and a client for them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.world import open_scopes
from vaultsync.api import opening as app
from vaultsync.api.configuration import find_root, load_settings
from vaultsync.backends.obsidian.vault_through_app import WriteOffer
from vaultsync.http_bridge.bridge_server import running_bridge
from vaultsync.model.paths import VaultPath
from vaultsync.service import bridge_service as serving
from vaultsync.service.bridge_service import BridgeServices


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    @property
    def kind(self) -> str:
        return str(self.json["error"]["kind"])


@dataclass
class Client:
    """A client like the plugin, whose headers a test may override."""

    port: int
    token: str
    serving: BridgeServices
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str | None] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        said: dict[str, str | None] = {"authorization": f"Bearer {self.token}"}
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
        if method != "GET":
            said |= {"content-type": "application/json", "x-vaultsync": "1"}
        said |= headers or {}
        self.asked.append((method, path))
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.putrequest(method, path, skip_host="host" in said, skip_accept_encoding=True)
            for name, value in said.items():
                if value is not None:
                    link.putheader(name, value)
            if data is not None and "content-length" not in said:
                link.putheader("content-length", str(len(data)))
            link.endheaders(data)
            answer = link.getresponse()
            found = {key.lower(): value for key, value in answer.getheaders()}
            return Answer(answer.status, answer.read(), found)
        finally:
            link.close()


@contextmanager
def open_bridge(root: Path, *, agent: str | None = None) -> Iterator[Client]:
    """A bridge for the vault in a folder, which is created if needed."""
    vault, state = str(root / "vault"), str(root / "state")
    app.init(vault, state_dir=state)
    open_scopes(Path(vault))
    settings = load_settings(find_root(vault), agent=agent, state_dir=state)
    with serving.standalone_bridge(settings) as served, running_bridge(served, port=0) as bridge:
        yield Client(bridge.port, serving.vault_token(settings), served)


class Heard:
    """A client of the event stream."""

    def __init__(self, client: Client, *, app: bool = False) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        path = "/v1/events?app=1" if app else "/v1/events"
        self._link.request("GET", path, headers={"authorization": f"Bearer {client.token}"})
        self.answer = self._link.getresponse()

    def next(self) -> tuple[str, dict[str, Any]]:
        """The next event; pings are skipped.

        Raises:
            EOFError: the stream ended.
        """
        kind = ""
        while line := self.answer.readline().decode():
            name, _, rest = line.rstrip("\n").partition(": ")
            if name == "event":
                kind = rest
            elif name == "data":
                return kind, json.loads(rest)
        raise EOFError

    def until(self, wanted: str) -> dict[str, Any]:
        """The data of the next event of a kind."""
        while True:
            kind, data = self.next()
            if kind == wanted:
                return data

    def close(self) -> None:
        self.answer.close()
        self._link.close()


def offer() -> WriteOffer:
    path = VaultPath("public/facts/2026-02-14-berths.md")
    return WriteOffer("modify", path, None, "0" * 64, "# Berths\n\nThere are 38.\n")
