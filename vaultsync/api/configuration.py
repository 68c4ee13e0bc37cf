"""Find a vault, and read its settings: its marker, the user's own file, environment, caller.

A vault that requests more than the user has allowed is refused here, for every interface.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from msgspec import Struct, ValidationError, convert

from vaultsync.backends.state.settings_files import read_machine_file, read_marker
from vaultsync.backends.state.vault_marker import claimed_root
from vaultsync.errors import ConfigError, NotAVaultError, UntrustedVaultError
from vaultsync.model.scope import private_scope
from vaultsync.settings import (
    MARKER,
    Settings,
    Table,
    check_file,
    check_vault_id,
    combine_settings,
    parse_toml,
    setting_names,
    user_path,
)
from vaultsync.trust import TrustRecord, pending, requests_of

_RECORD = "trust"
"""The table of the user's own file with the requests that were allowed."""


class VaultFiles(Struct, frozen=True):
    """The files with the settings of a vault."""

    root: Path
    vault_id: str
    marker: Table
    machine_file: Path
    machine: Table
    requests: Mapping[str, object]
    """Everything that the marker requests."""
    record: TrustRecord
    """The requests that the user has allowed."""

    @property
    def pending(self) -> Mapping[str, object]:
        """The requests that the user has not allowed yet."""
        return pending(self.requests, setting_names(self.machine), self.record)

    def refuse_requests(self) -> None:
        """Raise `UntrustedVaultError` if the vault requests more than the user has allowed."""
        if asked := self.pending:
            from vaultsync.trust_words import explain  # noqa: PLC0415 - most ask for nothing

            lines = explain(asked, root=str(self.root), record=self.record)
            raise UntrustedVaultError(str(self.root), tuple(each.line() for each in lines))


def find_root(path: str | Path | None) -> Path:
    """The nearest vault at or above a folder, the current one if None; raises NotAVaultError."""
    try:
        here = user_path(path or os.environ.get("VAULTSYNC_VAULT") or Path.cwd())
        root = find_vault_above(here.resolve() / "_") if here.is_dir() else None
    except FileNotFoundError:
        raise NotAVaultError("the current folder, which was deleted") from None
    if root is None:
        raise NotAVaultError(str(here))
    return root


def find_vault_above(folder: Path) -> Path | None:
    """The nearest parent of a folder that is a vault."""
    return next((each for each in folder.parents if (each / MARKER).is_file()), None)


def find_repository(folder: str | Path | None = None) -> Path | None:
    """The root of the git repository of a folder; None means the current folder."""
    try:
        real = Path(os.path.realpath(user_path(folder or ".")))
    except (ValueError, FileNotFoundError):  # no valid file name, or the folder was deleted
        return None
    return next((x for x in (real, *real.parents) if os.path.exists(x / ".git")), None)  # noqa: PTH110 - any name


def read_vault_files(root: Path, *, state_dir: str | Path | None = None) -> VaultFiles:
    """Read the marker of a vault and the user's own file for it, and check both.

    Raises:
        NotAVaultError: there is no marker.
        ConfigError: a file cannot be read, or has an unknown setting or an invalid value.
    """
    text, owner = read_marker(root)
    marker = parse_toml(text, root / MARKER)
    check_file(marker, MARKER.as_posix())
    vault_id = check_vault_id(marker, state_root=_state_root(state_dir))
    file = machine_file(vault_id)
    real = Path(os.path.realpath(file))
    if real.is_relative_to(root) and not Path.home().is_relative_to(root):
        raise ConfigError(
            f"the folder of your settings, {real.parent}, is inside the vault, where others could"
            " change it",
            hint="choose another folder with VAULTSYNC_CONFIG_DIR",
        )
    machine = dict(parse_toml(read_machine_file(file), file))
    record = _parse_trust_record(machine.pop(_RECORD, {}), file)
    if machine.get("vault_id", vault_id) != vault_id:
        raise ConfigError(f"{file} is for another vault", hint="correct its vault_id")
    check_file(machine, str(file))
    requests = requests_of(marker, owner=owner)
    return VaultFiles(root, vault_id, marker, file, machine, requests, record)


def load_settings(
    root: Path,
    *,
    agent: str | None = None,
    state_dir: str | Path | None = None,
    store: str | None = None,
) -> Settings:
    """The settings of the vault at `root`; arguments win over environment and files.

    Raises: as `read_vault_files()`, and UntrustedVaultError, InvalidAgentError.
    """
    files = read_vault_files(root, state_dir=state_dir)
    files.refuse_requests()
    settings = combine_settings(
        files.marker,
        files.machine,
        os.environ,
        agent=agent,
        store=store,
        root=root,
        state_dir=_state_root(state_dir) / files.vault_id,
        models=models_folder(),
        machine_file=files.machine_file,
        repos_dir=_repos_dir(state_dir),
        trusted=len(files.requests),
    )
    if settings.agent:
        private_scope(settings.agent)  # refuses invalid names
    _refuse_links_out(settings)
    return settings


_PATH_KINDS = ("sqlite", "qdrant+local", "qdrant+edge", "local", "sentence")
"""What stands before the path in a setting of a store, a remote or a model."""


def _refuse_links_out(settings: Settings) -> None:
    """Refuse a store, a model or a folder that seems to be in the vault, but is behind a link.

    Everyone who can write to the vault can make such a link, also after the user has allowed it.
    """
    named = {
        "store": settings.store,
        "embedder": settings.embedder,
        "modules.remote": settings.modules.remote,
    }
    reranker = "" if settings.reranker in {"local", "none"} else settings.reranker
    paths = {"repos.root": settings.repos.root, "reranker": reranker.removeprefix("local:")}
    for name, value in named.items():
        kind, _, path = value.partition(":")
        paths[name] = path if kind in _PATH_KINDS else ""
    root = Path(os.path.realpath(settings.root))
    for name, path in paths.items():
        if not path:
            continue
        place = root / user_path(path)
        plain, real = Path(os.path.normpath(place)), Path(os.path.realpath(place))
        is_moved = real != Path(os.path.realpath(plain))  # by `..` behind a link
        if is_moved or (plain.is_relative_to(root) and not real.is_relative_to(root)):
            raise ConfigError(
                f"{name} is {plain}, which leads out of the vault through a link, to {real}",
                hint="remove the link if you did not make it; otherwise name the place it leads to",
            )


def reload_settings(settings: Settings) -> Settings:
    """Read the settings of the same vault again; raises as opening it."""
    return load_settings(settings.root, state_dir=str(settings.state_dir.parent))


def models_folder() -> Path:
    """The folder of exported and fetched models, shared by all vaults of this machine."""
    return _folder(None, "VAULTSYNC_MODELS", "XDG_CACHE_HOME", "~/.cache", "models")


def marker_id(root: Path) -> str | None:
    """The id in the marker of a vault, without validation."""
    vault_id = parse_toml(read_marker(root).text, root / MARKER).get("vault_id")
    return None if vault_id is None else str(vault_id)


def was_used(files: VaultFiles, state_dir: str | Path | None) -> bool:
    """Whether this machine has synced a vault before."""
    return (_state_root(state_dir) / files.vault_id / "archive.sqlite3").exists()


def is_original(root: Path, state_dir: str | Path | None) -> bool:
    """Whether a folder is the vault that this machine has synced with its id, and no copy."""
    try:
        files = read_vault_files(root, state_dir=state_dir)
    except ConfigError:
        return False
    known = claimed_root(_state_root(state_dir) / files.vault_id)
    return bool(known) and was_used(files, state_dir) and Path(known).resolve() == root.resolve()


def earlier_vault(root: Path, state_dir: str | Path | None) -> str | None:
    """The id of the vault that this machine last synced at `root`; None if there was none."""
    states = _state_root(state_dir).glob("*/archive.sqlite3")
    used = [each for each in states if claimed_root(each.parent) == str(root)]
    latest = max(used, key=lambda each: each.stat().st_mtime, default=None)
    return None if latest is None else latest.parent.name


def machine_file(vault_id: str) -> Path:
    """The user's own file for a vault."""
    return config_folder() / "vaults" / f"{vault_id}.toml"


def config_folder() -> Path:
    """The folder of the user's own settings for vaultsync."""
    return _folder(None, "VAULTSYNC_CONFIG_DIR", "XDG_CONFIG_HOME", "~/.config")


def _parse_trust_record(table: object, file: Path) -> TrustRecord:
    try:
        return convert(table, TrustRecord)
    except ValidationError:
        raise ConfigError(
            f"the table [{_RECORD}] of {file} does not have the format that vaultsync writes",
            hint="remove the table, and run `vaultsync trust` again",
        ) from None


def _state_root(folder: str | Path | None) -> Path:
    return _folder(folder, "VAULTSYNC_STATE_DIR", "XDG_STATE_HOME", "~/.local/state")


def _repos_dir(folder: str | Path | None) -> Path | None:
    """The folder for files of repositories, if a state folder was chosen."""
    if not (folder or os.environ.get("VAULTSYNC_STATE_DIR")):
        return None  # the default, where other tools expect them
    return _state_root(folder) / "repos"


def _folder(folder: str | Path | None, variable: str, home: str, default: str, *names: str) -> Path:
    """The folder given or in a variable, or else vaultsync's in the user's base folder.

    Raises:
        ConfigError: the variable, or the user's home, is a relative path: in each working
            directory, the settings and the state would be others.
    """
    named = os.environ.get(variable)
    chosen = user_path(folder or named or "")
    if (folder or named) and (chosen.is_absolute() or folder not in (None, "", named)):
        return chosen.absolute()
    if folder or named:
        raise _relative(variable, chosen)
    base = user_path(os.environ.get(home) or default)
    if not base.is_absolute():  # to be ignored according to the standard
        base = user_path(default)
    if not base.is_absolute():
        raise _relative("HOME", Path.home())
    return base.joinpath("vaultsync", *names)


def _relative(variable: str, path: Path) -> ConfigError:
    return ConfigError(
        f"{variable} is {str(path)!r}, which is another folder in each working directory",
        hint=f"set it to an absolute path, such as {quote(os.path.abspath(path))}",  # noqa: PTH100 - not through links
    )
