"""What a vault asks of this machine, in words, and whether the user has allowed it.

Everyone who can write a vault writes its `.meta/config.toml`. A machine setting there that
could connect, send, or reach outside the vault is a request, and nothing is done before the
user has allowed it. What was allowed is recorded as it was asked, with a hash, in the user's
own file for the vault; other requests than these ask again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import join, normpath

from msgspec import Struct

from vaultsync.settings import HARMLESS, MachineSettings, Table, VaultSettings

OWNER = "owner"
"""The request to be used although another user could change the vault."""
_KEY = "qdrant.key"


class TrustRecord(Struct, frozen=True):
    """The table `[trust]` of the user's own file: what was allowed."""

    requests: str = ""
    """As `canonical()` writes them."""
    sha256: str = ""

    @classmethod
    def of(cls, requests: Table) -> TrustRecord:
        """The record that allows these requests."""
        import hashlib  # noqa: PLC0415 - it takes 3 ms, and most vaults ask for nothing

        text = canonical(requests)
        return cls(text, hashlib.sha256(text.encode()).hexdigest())

    def allows(self, requests: Table) -> bool:
        """Whether exactly these requests were allowed."""
        return bool(self.sha256) and self.sha256 == TrustRecord.of(requests).sha256

    def known(self) -> Table:
        """The requests that were allowed; none where the record is not valid."""
        try:
            known = json.loads(self.requests or "{}")
        except (ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


class TrustRequest(Struct, frozen=True):
    """One thing that a vault asks for."""

    setting: str
    value: object
    allows: str
    """What the vault could do with it."""
    change: str
    """`new` or `changed` since the user allowed other requests; else empty."""

    def line(self) -> str:
        """The request as a line of a list."""
        change = f"{self.change}: " if self.change else ""
        value = json.dumps(self.value, ensure_ascii=False)
        text = f"{change}{self.setting} = {value}: {self.allows}"
        # Nothing is left out: a host may differ from another in an invisible character.
        return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def requests_of(marker: Table, *, owner: str = "") -> dict[str, object]:
    """What a vault asks for, by the names of the settings.

    Args:
        marker: the tables of its `.meta/config.toml`, which were checked.
        owner: the user who could change the vault, if that is neither this one nor root.
    """
    found = dict(_beyond(marker, VaultSettings(), MachineSettings()))
    store = found.get("store")
    if isinstance(store, str) and _server(store):
        found.setdefault(_KEY, MachineSettings().qdrant.key)  # it is sent there by default
    if owner:
        found[OWNER] = owner
    return found


def pending(requests: Table, machine: Sequence[str], record: TrustRecord) -> dict[str, object]:
    """The requests that wait for a word of the user.

    Args:
        requests: of the vault.
        machine: names of the settings in the user's own file, which win.
        record: what the user has allowed.
    """
    asked = {name: value for name, value in requests.items() if name not in machine}
    return {} if not asked or record.allows(requests) else asked


def explain(
    requests: Table, *, root: str, record: TrustRecord | None = None
) -> tuple[TrustRequest, ...]:
    """Each request with what it would allow, and how it differs from those of a record."""
    known = record.known() if record is not None and record.sha256 else None
    explained = []
    for name, value in requests.items():
        change = ""
        if known is not None and name not in known:
            change = "new"
        elif known is not None and canonical({name: value}) != canonical({name: known[name]}):
            change = "changed"
        explained.append(TrustRequest(name, value, _allowed(name, value, root), change))
    return tuple(explained)


def canonical(requests: Table) -> str:
    """Requests as text, the same for the same requests."""
    return json.dumps(requests, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _beyond(
    given: Table, vault: Struct | None, machine: Struct, table: str = ""
) -> Iterator[tuple[str, object]]:
    """The settings of a table that are not the vault's, and are more than a default.

    Args:
        given: the table.
        vault: the defaults of those that are the vault's, if any are.
        machine: the defaults of all.
        table: the name of the table and a dot, if it is one.
    """
    harmless = () if vault is None else vault.__struct_fields__
    for name, value in given.items():
        path, default = f"{table}{name}", getattr(machine, name)
        if isinstance(default, Struct):
            inner = getattr(vault, name) if name in harmless else None
            yield from _beyond(value, inner, default, f"{path}.")
        elif name not in harmless:
            plain = list(default) if isinstance(default, tuple) else default
            if value != plain and not (isinstance(value, str) and value in HARMLESS.get(path, ())):
                yield path, value


# ------------------------------------------------------------------------------- words


def _allowed(name: str, value: object, root: str) -> str:
    """What a request would allow, for a person who has never seen the setting."""
    if name == "store":
        return _store(str(value), root)
    if name == "embedder":
        return _embedder(str(value), root)
    if name == "reranker":
        return f"load the model in {_path(str(value).removeprefix('local:'), root)}"
    if name == "memory_file.files" and isinstance(value, list):
        places = ", ".join(_path(str(each), root) for each in value)
        return f"read and change {places}, and make notes of what is there"
    if name == "repos.root":
        return f"keep files about your git repositories in {_path(str(value), root)}"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    words = _WORDS.get(name) or _WORDS[name.partition(".")[0]]
    return words.format(shown)


_WORDS: Mapping[str, str] = {
    "embedder_key": "send the environment variable {} to the embedding service as its key",
    "memory_file": "choose how memory files are read and changed",
    "hygiene.secrets": "show secrets in notes, answers and logs",
    "hygiene.neutralise": "let what agents write run in Obsidian",
    "hygiene.environment": "read the environment variables {}, and show which texts contain their"
    " values",
    "mcp_toolsets": "choose which tools agents are offered",
    "embed_in_background": "choose whether texts are embedded in the background",
    "watch.watcher": "choose how files are watched on this machine",
    _KEY: "send the environment variable {} to the store as its API key",
    "qdrant": "choose how the store is used",
    "permissions": "choose which agents read and write which scopes: {}",
    OWNER: "be used although it belongs to {}, who can change its settings and notes",
}


def _server(store: str) -> str:
    """The address of a store on a network; empty for another store."""
    return _host(store) if store.startswith(("qdrant://", "qdrant+tls://")) else ""


def _host(url: str) -> str:
    """The host and port of a URL, without the name of a user, which can look like a host."""
    _, _, rest = url.partition("://")
    return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]


def _store(store: str, root: str) -> str:
    if address := _server(store):
        return f"connect to {address}, and read and write all facts there"
    _, _, path = store.partition(":")
    return f"read and write {_path(path, root)}, and keep all facts there"


def _embedder(embedder: str, root: str) -> str:
    kind, _, name = embedder.partition(":")
    if kind == "http":
        return f"send the texts of all facts to {_host(name)}"
    if kind == "hub":
        return f"download the model {name} from the Hugging Face hub, and load it"
    return f"load the model in {_path(name, root)}"


def _path(path: str, root: str) -> str:
    """Where a path leads that begins at the vault."""
    return path if path.startswith("~") else normpath(join(root, path))
