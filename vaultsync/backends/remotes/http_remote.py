"""A remote that speaks a small JSON protocol, which docs/reference/modules.md describes."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from msgspec import ValidationError, convert, to_builtins

from vaultsync.backends.remotes.http_requests import HttpService
from vaultsync.modules.remote import MirrorError, RemoteHit, RemoteQuery, RemoteRecord


class HttpRemote:
    """`PUT` and `DELETE /spaces/SPACE/modules/CHUNK`, `POST /spaces/SPACE/retrieve`."""

    verbatim = True

    def __init__(self, url: str, *, key: str, timeout: float) -> None:
        """A service at a URL; see `HttpService`."""
        self._service = HttpService(url, key=key, timeout=timeout)
        self.name = self._service.name

    def store(self, space: str, record: RemoteRecord) -> str:
        answer = self._service.ask("PUT", _module(space, record.chunk_id), to_builtins(record))
        found = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(found, str):
            raise MirrorError(f"{self.name} gave no id")
        return found

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        answer = self._service.ask("POST", f"{_space(space)}/retrieve", to_builtins(query))
        hits = answer.get("hits") if isinstance(answer, dict) else []
        try:
            return convert(hits, list[RemoteHit])
        except ValidationError as error:
            raise MirrorError(f"{self.name} returned an invalid hit: {error}") from None

    def remove(self, space: str, chunk_id: str) -> None:
        self._service.ask("DELETE", _module(space, chunk_id))

    def close(self) -> None:
        """Do nothing: no connection is kept between requests."""


def _space(space: str) -> str:
    return f"/spaces/{quote(space, safe='')}"


def _module(space: str, chunk_id: str) -> str:
    return f"{_space(space)}/modules/{quote(chunk_id, safe='')}"
