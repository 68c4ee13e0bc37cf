"""Make a vault, or open one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vaultsync.api import configuration as config
from vaultsync.api.memory import Memory
from vaultsync.api.stores import check_store
from vaultsync.backends.state.vault_marker import make_marker
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import ConfigError
from vaultsync.model.scope import PUBLIC
from vaultsync.settings import Settings


@dataclass(frozen=True, slots=True)
class Initialised:
    """A vault that is ready."""

    vault: str
    vault_id: str
    state_dir: str
    store: str


def init(path: str, *, store: str | None = None, state_dir: str | None = None) -> Initialised:
    """Make a vault of a folder; harmless when it is one already.

    Raises:
        ConfigError: the folder cannot be used, or mirrors another store already.
    """
    root = Path(path).expanduser().absolute()
    if store is not None:
        check_store(store, root=root)  # before anything is written
    make_marker(root, SystemClock().new_id(), scope=PUBLIC, store=store)
    root = root.resolve()
    settings = config.load_settings(root, state_dir=state_dir)
    if store is not None and settings.store != store:
        raise ConfigError(
            f"{root} mirrors the store {settings.store!r} already",
            hint="use another folder, or change `store` in .meta/config.toml",
        )
    with Memory(settings) as memory:
        memory.check()
        where = memory.store_path
    return Initialised(str(root), settings.vault_id, str(settings.state_dir), where)


def find_settings(
    path: str | None = None, *, agent: str | None = None, state_dir: str | None = None
) -> Settings:
    """The settings of the vault at a folder, or of the nearest one upwards.

    Raises: as `open()`.
    """
    return config.load_settings(config.find_root(path), agent=agent, state_dir=state_dir)


def current_time() -> datetime:
    """The time of this machine, for surfaces that tell when something happened."""
    return SystemClock().now()


def open(  # noqa: A001 - `vaultsync.open()` is what its users say
    path: str | None = None,
    agent: str | None = None,
    state_dir: str | None = None,
    store: str | None = None,
) -> Memory:
    """Open the vault at a folder, or the nearest one upwards.

    Raises:
        NotAVaultError: there is none.
        ConfigError: its settings make no sense.
    """
    root = config.find_root(path)
    return Memory(config.load_settings(root, agent=agent, state_dir=state_dir, store=store))
