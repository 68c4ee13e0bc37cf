"""Describe to the user what the requests of a vault would allow.

They are apart from `trust.py`, because a vault that asks for nothing need not load them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from posixpath import join, normpath

from msgspec import Struct

from vaultsync.settings import Table
from vaultsync.trust import KEY, OWNER, SERVERS, TrustRecord, canonical


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


def _allowed(name: str, value: object, root: str) -> str:
    """What a request would allow, for a person who has never seen the setting."""
    if name in _ADDRESSES:
        return _ADDRESSES[name](str(value), root)
    values = [*map(str, value)] if isinstance(value, list) else [str(value)]
    paths = ", ".join(_path(each.removeprefix("local:"), root) for each in values)
    words = _WORDS.get(name) or _WORDS[name.partition(".")[0]]
    shown = ", ".join(values)
    return words.format(shown, paths=paths, host=_host(shown))


_WORDS: Mapping[str, str] = {
    "classifier": "let a model on a network classify observations",
    "classifier_url": "send the texts of observations to {host}",
    "classifier_model": "choose the model {} for observations",
    "classifier_key": "send the environment variable {} to the classifier as its key",
    "embedder_key": "send the environment variable {} to the embedding service as its key",
    "memory_file": "choose how memory files are read and changed",
    "memory_file.files": "read and change {paths}, and create notes from their contents",
    "hygiene.secrets": "show secrets in notes, answers and logs",
    "hygiene.neutralise": "let text by agents run in Obsidian",
    "hygiene.environment": "read the environment variables {}, and show which texts contain their"
    " values",
    "mcp_toolsets": "choose which tools are offered to agents",
    "embed_in_background": "choose whether texts are embedded in the background",
    "modules.key": "send the environment variable {} to the remote of modules as its key",
    "modules": "choose how modules are mirrored",
    "repos.root": "keep files about your git repositories in {paths}",
    "reranker": "load the model in {paths}",
    "retention": "erase what undo and restore need after {} days, earlier than by default",
    "watch.watcher": "choose how files are watched on this machine",
    KEY: "send the environment variable {} to the store as its API key",
    "qdrant": "choose how the store is used",
    "permissions": "choose which agents read and write which scopes: {}",
    OWNER: "be used although it belongs to {}, who can change its settings and notes",
}


def _host(url: str) -> str:
    """The host and port of a URL, without the name of a user, which can look like a host."""
    _, _, rest = url.partition("://")
    return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]


def _store(store: str, root: str) -> str:
    if store.startswith(SERVERS):
        return f"connect to {_host(store)}, and read and write all facts there"
    _, _, path = store.partition(":")
    return f"read and write {_path(path, root)}, and keep all facts there"


def _embedder(embedder: str, root: str) -> str:
    kind, _, name = embedder.partition(":")
    if kind == "http":
        return f"send the texts of all facts to {_host(name) or name}"
    if kind == "hub":
        return f"download the model {name} from the Hugging Face hub, and load it"
    return f"load the model in {_path(name, root)}"


def _modules_remote(remote: str, root: str) -> str:
    kind, _, rest = remote.partition(":")
    if kind == "mcp" and not rest.startswith(("http://", "https://")):
        return f"run the command {rest}, and send it the texts of all modules"
    if kind == "qdrant+local":
        return f"write the texts of all modules to {_path(rest, root)}"
    url = rest if kind in ("mcp", "vaultsync") else remote
    return f"send the texts of all modules to {_host(url)}"


def _path(path: str, root: str) -> str:
    """Where a path leads that begins at the vault."""
    return path if path.startswith("~") else normpath(join(root, path))


_ADDRESSES: Mapping[str, Callable[[str, str], str]] = {
    "store": _store,
    "embedder": _embedder,
    "modules.remote": _modules_remote,
}
"""What settings allow that hold an address or a path."""
