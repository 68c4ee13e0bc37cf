"""Turn a folder into a vault, open a vault, and install the plugin for Obsidian."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PureWindowsPath
from shlex import quote

from msgspec import Struct

from vaultsync.api import configuration as config
from vaultsync.api.arguments import check_name
from vaultsync.api.memory import Memory
from vaultsync.api.wiring import Services, store_place
from vaultsync.backends.obsidian.settings_folder import (
    PLUGIN_PATH,
    ObsidianSettings,
    read_plugin,
    write_plugin,
)
from vaultsync.backends.state.settings_files import edit_machine_file, edit_marker
from vaultsync.backends.state.vault_marker import make_marker
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import (
    ConfigError,
    InvalidAgentError,
    NestedVaultError,
    NotACopyError,
    StoreUnavailableError,
)
from vaultsync.model.scope import PUBLIC
from vaultsync.settings import MARKER, Settings, user_path


@dataclass(frozen=True, slots=True)
class Initialised:
    """An initialised vault."""

    vault: str
    """Its folder."""
    vault_id: str
    state_dir: str
    """The folder of this machine's state for it."""
    store: str
    """The file or the collection with the facts."""
    settings: str
    """The user's own settings file for it, outside the vault; it may not exist yet."""
    former_id: str | None = None
    """The former id of a copy, which its original keeps."""
    ignored: tuple[str, ...] = ()
    """The folders of templates and of files excluded in Obsidian, which a new vault ignores."""
    earlier_id: str | None = None
    """The id of the vault that a new one replaces, since this folder has lost its marker."""


class PluginInstallation(Struct, frozen=True):
    """The result of installing the plugin."""

    path: str
    """Its folder, relative to the vault."""
    version: str
    changed: tuple[str, ...]
    """The files that were written, because they were new or different."""


def init(
    path: str | Path,
    *,
    store: str | None = None,
    state_dir: str | Path | None = None,
    new_id: bool = False,
) -> Initialised:
    """Turn a folder into a vault; does nothing if it already is one.

    Args:
        path: the folder, which is created if it does not exist.
        store: the store for the facts: `sqlite`, `sqlite:PATH`, `qdrant://HOST:6333`,
            `qdrant+local:PATH` or `qdrant+edge:PATH`. The default is `sqlite`, a file in
            the state folder. It is a setting of this machine, and not written to the vault.
        state_dir: the folder for this machine's state of its vaults; the default is
            `$VAULTSYNC_STATE_DIR`, or else the default of the system.
        new_id: give a copied vault an id of its own, and so its own store.

    Raises:
        ConfigError: the folder cannot be used, or is already synced with another store; or the
            new store would be in the vault.
        NestedVaultError: the folder is inside a vault.
        UntrustedVaultError: it is a vault that requests more than the user has allowed.
        CopiedVaultError: it is a copy of a vault, and still has its id.
        NotACopyError: it is to get a new id, but is no copy.
    """
    _check_system(path)
    root = user_path(path).absolute()
    if new_id and (root / MARKER).exists() and config.is_original(root, state_dir):
        raise NotACopyError(str(root))
    if not (root / MARKER).exists() and root.resolve() in (Path(root.anchor), Path.home()):
        raise ConfigError(
            f"{root} contains much more than notes, which would all be read; nothing was created",
            hint="use a folder in your home folder: `vaultsync init ~/Memory`",
        )
    if store is not None:  # checked before anything is written
        known: object = None
        if (root / MARKER).exists() and not new_id:
            known = config.read_vault_files(root, state_dir=state_dir).machine.get("store")
        _check_store(root, store, known)
    outer = None if (root / MARKER).exists() else config.find_vault_above(root.resolve())
    if outer is not None:
        raise NestedVaultError(str(root), str(outer))
    ignored = ObsidianSettings(root).ignored_folders()
    is_new = make_marker(root, SystemClock().new_id(), scope=PUBLIC, ignore=ignored)
    former_id = None
    root = root.resolve()
    if new_id and not is_new:
        former_id = config.marker_id(root)
        edit_marker(root, {("vault_id",): SystemClock().new_id()})
    earlier_id = config.earlier_vault(root, state_dir) if is_new else None
    if store is not None:
        _use_store(root, store, state_dir)
    settings = config.load_settings(root, state_dir=state_dir)
    _make_unused_store(settings)
    with Memory(settings) as memory:
        memory.check()
        return Initialised(
            str(root),
            settings.vault_id,
            str(settings.state_dir),
            memory.store_path,
            str(settings.machine_file),
            former_id,
            tuple(ignored) if is_new else (),
            earlier_id,
        )


def _check_store(root: Path, store: str, known: object) -> None:
    """Raise a ConfigError for a URL that is invalid, or unless `known` leads into the vault."""
    place = store_place(Settings(root=root, state_dir=root, store=store))
    files = place if isinstance(place, Path) else place.folder
    if files is not None and store not in ("sqlite", known):  # the former is in the state folder
        from vaultsync.api.store_migration import check_new_store  # noqa: PLC0415 - only `init`

        check_new_store(files, root)


def _make_unused_store(settings: Settings) -> None:
    """Create the store of a vault that never used it; raises StoreUnavailableError."""
    with closing(Services(settings)) as services:
        archive = services.archive
        if archive.setting("store_id") is not None or archive.count_bases():
            return  # an empty store in place of a known one would look as if all was deleted
        try:
            services.open_store(create=True).state()
        except StoreUnavailableError as error:
            error.hint = (
                "the vault has no store yet: run `vaultsync init` again when it is available, or"
                " choose another one: `vaultsync config set store URL`"
            )
            raise


def _use_store(root: Path, store: str, state_dir: str | Path | None) -> None:
    """Set the store of a vault that has none yet on this machine; raises ConfigError."""
    files = config.read_vault_files(root, state_dir=state_dir)
    named = files.machine.get("store") or files.marker.get("store")
    if named is None and not config.was_used(files, state_dir):
        named = store
    if (named or "sqlite") != store:
        raise ConfigError(
            f"{root} already uses the store {named or 'sqlite'!r}",
            hint=f"use another folder, or move its facts: `vaultsync migrate --to {quote(store)}`;"
            f" if it has none yet: `vaultsync config set store {quote(store)}`",
        )
    if "store" not in files.machine:
        edit_machine_file(files.machine_file, {("store",): store})


def current_time() -> datetime:
    """The time of this machine, for logs."""
    return SystemClock().now()


def open(  # noqa: A001 - `vaultsync.open()` is what its users say
    path: str | Path | None = None,
    agent: str | None = None,
    state_dir: str | Path | None = None,
    store: str | None = None,
    *,
    one_shot: bool = False,
) -> Memory:
    """Open a vault.

    Args:
        path: its folder; the default is `$VAULTSYNC_VAULT`, or else the working directory or
            the nearest parent folder that is a vault.
        agent: the agent that acts and asks. It sees public facts, those of teams, and its own
            private ones; without one, the user acts and sees everything.
        state_dir: the folder for this machine's state of its vaults, as in `init()`.
        store: a store that overrides the settings.
        one_shot: whether the process does one thing and ends, like a command. It then loads the
            embedding model only for questions that keyword search does not answer confidently.

    Raises:
        NotAVaultError: there is no vault.
        ConfigError: its settings are invalid.
        UntrustedVaultError: it requests more than the user has allowed.
        CopiedVaultError: it has the id of another vault on this machine.
        InvalidAgentError: the name of the agent is not valid.
    """
    root = config.find_root(path)
    if check_name("agent", agent) == "":  # as of a variable that is not set
        raise InvalidAgentError("")
    settings = config.load_settings(root, agent=agent, state_dir=state_dir, store=store)
    return Memory(settings, one_shot=one_shot)


def _check_system(path: str | Path) -> None:
    """Refuse a path of Windows, which would be one long name in the current folder."""
    given = PureWindowsPath(path)
    if len(given.drive) == len("C:") and given.is_absolute():
        there = f"/mnt/{given.drive[0].lower()}{given.as_posix()[2:]}"
        raise ConfigError(f"{path} is a path of Windows", hint=f"in WSL, it is {quote(there)}")


def install_plugin(path: str | None, *, built: Path | None = None) -> PluginInstallation:
    """Install or update the Obsidian plugin in a vault, optionally from a folder.

    Raises:
        NotAVaultError, PluginNotBuiltError.
        ConfigError: the vault was never opened in Obsidian.
    """
    root = config.find_root(path)
    config.read_vault_files(root).refuse_requests()
    files = read_plugin(built)
    changed = write_plugin(root, files)
    version = str(json.loads(files["manifest.json"])["version"])
    return PluginInstallation(PLUGIN_PATH, version, changed)
