"""Modules as points in Qdrant, found by id, so that they need no vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid5

from msgspec import ValidationError, convert, to_builtins

from vaultsync.errors import MissingExtraError
from vaultsync.extras import needs_extra
from vaultsync.modules.remote import MirrorError, RemoteHit, RemoteQuery, RemoteRecord
from vaultsync.settings import ModuleSettings, user_path

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

COLLECTION = "vaultsync_modules"
_NAMESPACE = UUID("1f0f7f7e-1c55-5f0a-9c5e-2c7f7bb0a2d4")
T = TypeVar("T")


class QdrantRemote:
    """A collection on a server, or in the local mode of Qdrant's client below `root`."""

    verbatim = True

    def __init__(self, url: str, settings: ModuleSettings, *, root: Path) -> None:
        self._url, self._settings, self._root = url, settings, root
        self._client: QdrantClient | None = None
        kind, _, rest = url.partition(":")
        self._path = root / user_path(rest) if kind == "qdrant+local" else None
        self.name = url if self._path else f"qdrant://{urlsplit(url).hostname}"

    def store(self, space: str, record: RemoteRecord) -> str:
        from qdrant_client.models import PointStruct

        payload = {**to_builtins(record), "space": space}
        point = PointStruct(id=_point(space, record.chunk_id), vector={}, payload=payload)
        self._ask(lambda client: client.upsert(COLLECTION, [point], wait=True))
        return str(point.id)

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        ids = [_point(space, each) for each in query.chunk_ids]
        found = self._ask(lambda client: client.retrieve(COLLECTION, ids, with_payload=True))
        hits = []
        for each in found:
            payload: Any = each.payload or {}
            try:
                record = convert(payload, RemoteRecord)
            except ValidationError:
                continue  # another program wrote it
            if payload.get("space") == space:
                hit = RemoteHit(record.text, 1.0, record.chunk_id, record.checksum, str(each.id))
                hits.append(hit)
        return hits

    def remove(self, space: str, chunk_id: str) -> None:
        point = _point(space, chunk_id)
        self._ask(lambda client: client.delete(COLLECTION, [point], wait=True))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _ask(self, ask: Callable[[QdrantClient], T]) -> T:
        try:
            return ask(self._connected())
        except MissingExtraError as error:
            raise MirrorError(error.message) from None
        except MirrorError:
            raise
        except Exception as error:
            self.close()
            why = str(error).strip() or type(error).__name__
            raise MirrorError(f"{self.name}: {why:.300}") from error

    def _connected(self) -> QdrantClient:
        if self._client is not None:
            return self._client
        with needs_extra("the remote of modules"):
            from qdrant_client import QdrantClient
        if self._path is not None:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            client = QdrantClient(path=str(self._path), force_disable_check_same_thread=True)
        else:
            parts = urlsplit(self._url)
            key = os.environ.get(self._settings.key) if self._settings.key else None
            client = QdrantClient(
                host=parts.hostname or "localhost",
                port=parts.port or 6333,
                https=parts.scheme == "qdrant+tls",
                api_key=key or None,
                timeout=max(1, round(self._settings.timeout_seconds)),
                check_compatibility=False,
            )
        if not client.collection_exists(COLLECTION):
            client.create_collection(COLLECTION, vectors_config={})
        self._client = client
        return client


def _point(space: str, chunk_id: str) -> str:
    return str(uuid5(_NAMESPACE, f"{space}:{chunk_id}"))
