"""The remote of the setting `[modules] remote`."""

from __future__ import annotations

from pathlib import Path

from vaultsync.errors import ConfigError
from vaultsync.modules.remote import Remote
from vaultsync.settings import ModuleSettings


def remote_for(settings: ModuleSettings, *, root: Path) -> Remote | None:
    """The remote; None if there is none. It connects on first use.

    Args:
        settings: the settings of the modules.
        root: the root of the vault, to which paths are relative.

    Raises:
        ConfigError: the setting is invalid.
    """
    try:
        return _remote_for(settings, root=root)
    except ValueError as error:  # of an address, such as `http://[::1`
        raise ConfigError(
            f"the address of the remote is invalid: {error}",
            hint="correct [modules] remote, such as http://HOST or qdrant://HOST:6333",
        ) from None


def _remote_for(settings: ModuleSettings, *, root: Path) -> Remote | None:
    remote = settings.remote
    kind, _, rest = remote.partition(":")
    if remote in ("", "none"):
        return None
    if kind in ("http", "https"):
        from vaultsync.backends.remotes.http_remotes import HttpRemote

        return HttpRemote(remote, key=settings.key, timeout=settings.timeout_seconds)
    if kind == "vaultsync" and rest.startswith(("http://", "https://")):
        from vaultsync.backends.remotes.http_remotes import FactRemote

        return FactRemote(rest, key=settings.key, timeout=settings.timeout_seconds)
    if kind == "mcp" and rest.strip():
        from vaultsync.backends.remotes.mcp_remote import mcp_remote

        return mcp_remote(rest, settings)
    if kind in ("qdrant", "qdrant+tls", "qdrant+local") and rest:
        from vaultsync.backends.remotes.qdrant_remote import QdrantRemote

        return QdrantRemote(remote, settings, root=root)
    raise ConfigError(
        f"unknown remote {remote!r:.80} for modules",
        hint="set [modules] remote to mcp:COMMAND, mcp:URL, qdrant://HOST:6333, qdrant+local:PATH,"
        " http://HOST, vaultsync:http://127.0.0.1:PORT or none",
    )
