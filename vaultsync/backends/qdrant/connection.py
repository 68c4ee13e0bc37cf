"""The connection to Qdrant and its options, from the URL and the settings."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, replace
from os.path import normpath
from pathlib import Path
from urllib.parse import urlsplit

from vaultsync.errors import ConfigError
from vaultsync.model.scope import is_scope
from vaultsync.settings import QdrantSettings, user_path

DEFAULT_PORT = 6333
DEFAULT_DIMENSION = 384
"""The dimension of vectors without an embedder."""
_DEFAULTS = QdrantSettings()
_BEGINNING = re.compile(r"(?:private|team|project)-[a-z0-9_-]*\*")
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HINT = "use qdrant://HOST:6333/AGENT, qdrant+tls://…, qdrant+local:PATH or qdrant+edge:PATH"


@dataclass(frozen=True, slots=True)
class QdrantConnection:
    """A collection, with the options for reading and writing."""

    kind: str
    """`server`, `local` or `edge`."""
    collection: str
    host: str = ""
    port: int = DEFAULT_PORT
    tls: bool = False
    path: Path = Path()
    settings: QdrantSettings = _DEFAULTS

    @property
    def folder(self) -> Path | None:
        """The folder with the facts; None for a server."""
        if self.kind == "server":
            return None
        one = self.kind == "edge" and not self.settings.isolated_scopes
        return self.path / self.collection if one else self.path

    def of_scope(self, scope: str) -> QdrantConnection:
        """The connection for an isolated scope.

        Agents' names contain no dots, so no other collection has this name.
        """
        return replace(self, collection=f"{self.collection}.{scope}")

    def __str__(self) -> str:
        """The URL, without secrets."""
        if self.kind != "server":
            return f"qdrant+{self.kind}:{self.path}"
        scheme = "qdrant+tls" if self.tls else "qdrant"
        agent = self.collection.removeprefix("agent_memory_")
        return f"{scheme}://{self.host}:{self.port}/{agent}"


def close_to_others(folder: Path) -> None:
    """Create a folder of facts, or restrict it to this user."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def close_files_to_others(folder: Path) -> None:
    """Restrict the files that a library created, because the folder may be copied or shared.

    Only while no other process has it. The umask is unsuitable, because it applies to the whole
    process, in which other threads write notes.
    """
    for each in folder.rglob("*"):
        mode = each.lstat().st_mode
        if mode & 0o077 and not stat.S_ISLNK(mode):
            each.chmod(stat.S_IMODE(mode) & 0o700)


def parse_qdrant_settings(url: str, settings: QdrantSettings, *, root: Path) -> QdrantConnection:
    """Parse the URL and the settings in `[qdrant]`.

    A relative path is below `root`. The key of a server is never in the URL.

    Raises:
        ConfigError: the URL, the name of the collection or that of the key is invalid.
    """
    scheme, _, rest = url.partition(":")
    kind = scheme.removeprefix("qdrant").removeprefix("+") or "server"
    slug = settings.agent
    host, port, path = "", DEFAULT_PORT, Path()
    if kind in ("server", "tls") and rest.startswith("//"):
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or DEFAULT_PORT
            host = f"[{host}]" if ":" in host else host  # IPv6
            host.encode("idna")
        except ValueError:
            raise ConfigError(f"{url!r} is no address", hint=_HINT) from None
        slug = parts.path.strip("/") or slug
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ConfigError(
                "the URL of a store must not contain a key",
                hint="put it into the environment as QDRANT_API_KEY",
            )
    elif kind in ("local", "edge") and rest:
        path = Path(normpath(root / user_path(rest)))
    if not (host or path.name):
        raise ConfigError(f"unknown store {url!r}", hint=_HINT)
    if not _SLUG.fullmatch(slug):
        raise ConfigError(
            f"{slug[:80]!r} cannot be part of the name of a collection",
            hint="use up to 64 letters, digits, - and _",
        )
    for each in settings.isolated_scopes:
        if not (is_scope(each) or _BEGINNING.fullmatch(each)):
            raise ConfigError(
                f"[qdrant] isolated_scopes: {each[:80]!r} is not a scope or the beginning of one",
                hint='use names such as "private-indy", or "private-*"',
            )
    if not settings.key.isidentifier():
        # It is not quoted, because it may be the key itself.
        raise ConfigError(
            "[qdrant] key is not a valid variable name",
            hint="write the name of the variable of the environment that holds the"
            " key, such as QDRANT_API_KEY",
        )
    return QdrantConnection(
        kind="server" if host else kind,
        collection=f"agent_memory_{slug}",
        host=host,
        port=port,
        tls=kind == "tls" or settings.tls,
        path=path,
        settings=settings,
    )
