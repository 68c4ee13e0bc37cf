"""Remotes over HTTP: a small JSON protocol (docs/reference/modules.md), and another vaultsync.

Of another vaultsync, it is the bridge: a module is a fact in its store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from msgspec import ValidationError, convert, to_builtins

from vaultsync.backends.remotes.http_requests import HttpService
from vaultsync.modules.module_facts import project_scope
from vaultsync.modules.remote import MirrorError, RemoteHit, RemoteQuery, RemoteRecord

_NAMESPACE = UUID("b2f1c6de-58b4-5a5f-8f0e-6d1f0f6f3c55")
_OURS, _THEIRS = "[REDACTED:", "[REDACTED HERE:"
"""Another vaultsync would refuse this machine's placeholders, which it cannot resolve."""
CHUNK, CHECKSUM, DIGEST = "moduleChunk", "moduleChecksum", "moduleRecord"
"""Properties of the fact that mirrors a module."""


class HttpRemote:
    """`PUT` and `DELETE /spaces/SPACE/modules/CHUNK`, `POST /spaces/SPACE/retrieve`."""

    verbatim = True

    def __init__(self, url: str, *, key: str, timeout: float) -> None:
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


class FactRemote:
    """Modules as facts of another vaultsync, each with the checksum of its module.

    The other one may turn names of entities in a text into links, so it is not verbatim.
    """

    verbatim = False

    def __init__(self, url: str, *, key: str, timeout: float) -> None:
        headers = {"X-Vaultsync": "1"}
        self._service = HttpService(url, key=key, timeout=timeout, headers=headers)
        self.name = self._service.name

    def store(self, space: str, record: RemoteRecord) -> str:
        fact_id = _fact_id(space, record.chunk_id)
        own = {CHUNK: f"{record.topic}/{record.chunk_id}", CHECKSUM: record.checksum}
        own[DIGEST] = record.digest
        text, title = (x.replace(_OURS, _THEIRS) for x in (record.text, record.title))
        tags = list(record.tags)
        restore = f"{_path(fact_id)}/restore"
        if self._find(fact_id) is None and self._service.ask("POST", restore, {}) is None:
            fields = {"id": fact_id, **own}
            values = {"text": text, "title": title, "tags": tags, "fields": fields}
            self._service.ask("POST", "/v1/facts", {**values, "scope": project_scope(space)})
        body = {"content": text, "set": {"title": title, "tags": tags, **own}}
        self._service.ask("PATCH", _path(fact_id), body)
        found = self._find(fact_id)
        if found is None or _property(found, DIGEST) != record.digest:
            raise MirrorError(f"{self.name} does not have the stored module")
        return fact_id

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        hits = []
        for chunk_id in query.chunk_ids:
            fact_id = _fact_id(space, chunk_id)
            found = self._find(fact_id)
            if found is not None and isinstance(found.get("content"), str):
                text = found["content"].replace(_THEIRS, _OURS)
                checksum, digest = (_property(found, key) for key in (CHECKSUM, DIGEST))
                hits.append(RemoteHit(text, 1.0, chunk_id, checksum, fact_id, digest))
        return hits

    def remove(self, space: str, chunk_id: str) -> None:
        fact_id = _fact_id(space, chunk_id)
        if self._find(fact_id) is not None:
            self._service.ask("POST", f"{_path(fact_id)}/forget", {})

    def close(self) -> None:
        """Do nothing: no connection is kept between requests."""

    def _find(self, fact_id: str) -> Mapping[str, Any] | None:
        """The JSON of a fact; None if there is none."""
        found = self._service.ask("GET", _path(fact_id))
        return found if isinstance(found, dict) else None


def _property(fact: Mapping[str, Any], key: str) -> str:
    properties = fact.get("properties")
    return str(properties.get(key) or "") if isinstance(properties, dict) else ""


def _path(fact_id: str) -> str:
    return f"/v1/facts/{quote(fact_id, safe='')}"


def _fact_id(space: str, chunk_id: str) -> str:
    return str(uuid5(_NAMESPACE, f"{space}:{chunk_id}"))
