"""Where a Qdrant is and how it is used: URL and settings -> one value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from urllib.parse import urlsplit

from vaultsync.errors import ConfigError

DEFAULT_PORT = 6333
DEFAULT_DIMENSION = 384
"""Of vectors, when no embedder says another."""
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ORDERINGS = ("weak", "medium", "strong")
_CONSISTENCIES = ("majority", "quorum", "all")
_HINT = (
    "use qdrant://HOST:6333/AGENT, qdrant+tls://…, qdrant+local:PATH or"
    " qdrant+edge:PATH"
)


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    """A collection, and how it is read and written."""

    kind: str
    """`server`, `local` or `edge`."""
    collection: str
    host: str = ""
    port: int = DEFAULT_PORT
    tls: bool = False
    grpc_port: int | None = None
    path: Path = Path()
    key_variable: str = "QDRANT_API_KEY"
    """The variable of the environment that holds the key; the key is nowhere else."""
    shard_number: int | None = None
    replication_factor: int | None = None
    write_consistency_factor: int | None = None
    read_consistency: str | int = "majority"
    ordering: str = "strong"
    timeout_seconds: float = 10.0
    patience_seconds: float = 15.0
    """How long what may pass is tried again before the store counts as away."""
    retention_days: float = 90.0
    """How long a tombstone is kept."""

    def __str__(self) -> str:
        """As a URL, without a secret."""
        if self.kind != "server":
            return f"qdrant+{self.kind}:{self.path}"
        scheme = "qdrant+tls" if self.tls else "qdrant"
        return f"{scheme}://{self.host}:{self.port}/{agent_slug(self.collection)}"


def agent_slug(collection: str) -> str:
    """The agent whose collection it is."""
    return collection.removeprefix("agent_memory_")


def parse_qdrant_settings(
    url: str, said: Mapping[str, object], *, root: Path
) -> QdrantSettings:
    """The place that a URL and the table `[qdrant]` of the settings name.

    A relative path is below `root`. The key of a server never stands in the URL.

    Raises:
        ConfigError: one of them makes no sense.
    """
    table = _QdrantTable(said)
    scheme, _, rest = url.partition(":")
    kind = scheme.removeprefix("qdrant").removeprefix("+") or "server"
    slug = table.word("agent", "default")
    host, port, path = "", DEFAULT_PORT, Path()
    if kind in ("server", "tls") and rest.startswith("//"):
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or DEFAULT_PORT
        except ValueError:
            raise ConfigError(f"{url!r} is no address", hint=_HINT) from None
        slug = parts.path.strip("/") or slug
        if parts.username or parts.password or parts.query:
            raise ConfigError(
                "the address of a store holds no key",
                hint="put it into the environment as QDRANT_API_KEY",
            )
    elif kind in ("local", "edge") and rest:
        path = Path(normpath(root / Path(rest).expanduser()))
    if not (host or path.name):
        raise ConfigError(f"there is no store {url!r}", hint=_HINT)
    if not _SLUG.fullmatch(slug):
        raise ConfigError(
            f"{slug[:80]!r} cannot be part of the name of a collection",
            hint="use up to 64 letters, digits, - and _",
        )
    made = QdrantSettings(
        kind="server" if host else kind,
        collection=f"agent_memory_{slug}",
        host=host,
        port=port,
        tls=kind == "tls" or table.flag("tls"),
        grpc_port=table.count("grpc_port"),
        path=path,
        key_variable=table.word("key", "QDRANT_API_KEY"),
        shard_number=table.count("shard_number"),
        replication_factor=table.count("replication_factor"),
        write_consistency_factor=table.count("write_consistency_factor"),
        read_consistency=table.consistency("read_consistency"),
        ordering=table.one_of("ordering", _ORDERINGS, "strong"),
        timeout_seconds=table.number("timeout_seconds", 10.0),
        patience_seconds=table.number("patience_seconds", 15.0),
        retention_days=table.number("retention_days", 90.0),
    )
    table.check_all_read()
    if not made.key_variable.isidentifier():
        # It is not repeated: it may be the key itself.
        raise ConfigError(
            "[qdrant] key is not the name of a variable",
            hint="write the name of the variable of the environment that holds the"
            " key, such as QDRANT_API_KEY",
        )
    return made


class _QdrantTable:
    """The table `[qdrant]`, read key by key."""

    def __init__(self, said: Mapping[str, object]) -> None:
        self._said = said
        self._read: set[str] = set()

    def check_all_read(self) -> None:
        """A key that nobody asked for is a slip of the pen."""
        for key in self._said.keys() - self._read:
            raise ConfigError(
                f"[qdrant] has no setting {key!r}",
                hint="it has " + ", ".join(sorted(self._read)),
            )

    def _get(self, key: str) -> object:
        self._read.add(key)
        return self._said.get(key)

    def _senseless(self, key: str, value: object, wanted: str) -> ConfigError:
        return ConfigError(
            f"[qdrant] {key} = {value!r:.80} makes no sense", hint=f"give {wanted}"
        )

    def word(self, key: str, default: str) -> str:
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value:
            raise self._senseless(key, value, "a text in quotes")
        return value

    def flag(self, key: str) -> bool:
        value = self._get(key)
        if value is not None and not isinstance(value, bool):
            raise self._senseless(key, value, "true or false")
        return bool(value)

    def count(self, key: str) -> int | None:
        value = self._get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._senseless(key, value, "a number, 1 or more")
        return value

    def number(self, key: str, default: float) -> float:
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise self._senseless(key, value, "a number")
        return float(value)

    def one_of(self, key: str, words: tuple[str, ...], default: str) -> str:
        value = self.word(key, default)
        if value not in words:
            raise self._senseless(key, value, "one of " + ", ".join(words))
        return value

    def consistency(self, key: str) -> str | int:
        if isinstance(self._said.get(key), int):
            return self.count(key) or 1
        return self.one_of(key, _CONSISTENCIES, "majority")
