"""Find a vault, and read its settings from its marker, the environment and the caller."""

from __future__ import annotations

import os
from pathlib import Path

from vaultsync.errors import SYSTEM_HINTS, ConfigError, NotAVaultError
from vaultsync.settings import MARKER, Settings, parse_settings


def find_root(path: str | None) -> Path:
    """The folder given, else the nearest parent that is a vault; raises NotAVaultError."""
    given = path or os.environ.get("VAULTSYNC_VAULT")
    if given:
        root = Path(given).expanduser()
        if not (root / MARKER).is_file():
            raise NotAVaultError(str(root))
        return root.resolve()
    here = Path.cwd()
    for root in (here, *here.parents):
        if (root / MARKER).is_file():
            return root
    raise NotAVaultError(str(here))


def load_settings(
    root: Path, *, agent: str | None = None, state_dir: str | None = None, store: str | None = None
) -> Settings:
    """The settings of the vault at `root`; arguments win over environment and file.

    Raises:
        NotAVaultError: there is no marker.
        ConfigError: the marker is not TOML, or has an unknown setting or an invalid value.
    """
    try:
        text = (root / MARKER).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise NotAVaultError(str(root)) from None
    except OSError as error:
        raise ConfigError(
            f"{root / MARKER} cannot be read: {error.strerror}",
            hint=SYSTEM_HINTS.get(error.errno or 0, ""),
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{root / MARKER} cannot be read: {error}", hint="save the file as UTF-8"
        ) from None
    return parse_settings(
        text,
        os.environ,
        root=root,
        state_root=_folder(state_dir, "VAULTSYNC_STATE_DIR", "XDG_STATE_HOME", "~/.local/state"),
        models=_folder(None, "VAULTSYNC_MODELS", "XDG_CACHE_HOME", "~/.cache", "models"),
        agent=agent,
        store=store,
    )


def _folder(given: str | None, variable: str, home: str, default: str, *names: str) -> Path:
    """The folder given or in a variable, else that of vaultsync in the user's base folder."""
    chosen = given or os.environ.get(variable)
    if chosen:
        return Path(chosen).expanduser().absolute()
    return Path(os.environ.get(home) or default).expanduser().joinpath("vaultsync", *names)
