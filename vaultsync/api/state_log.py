"""Open the log file of a vault."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from vaultsync.api import configuration as config
from vaultsync.backends.state.log_file import append_to_log

LogLine: TypeAlias = Callable[[str], None]


def open_log_file(path: str | None, *, state_dir: str | None = None) -> LogLine | None:
    """A function that appends a line to a vault's log; `path` is as in `open()`.

    None before the first use of the vault. `LogLine` raises `OSError`.

    Raises:
        NotAVaultError, ConfigError: there is no vault, or its settings are not valid.
    """
    settings = config.load_settings(config.find_root(path), state_dir=state_dir)
    return partial(append_to_log, settings.state_dir) if settings.state_dir.is_dir() else None
