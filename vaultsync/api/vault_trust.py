"""What a vault requests of this machine, and how the user allows, moves or revokes it."""

from __future__ import annotations

from msgspec import Struct

from vaultsync.api import configuration as config
from vaultsync.api.configuration import VaultFiles
from vaultsync.backends.state.settings_files import edit_machine_file, edit_marker
from vaultsync.settings import setting_names
from vaultsync.trust import OWNER, TrustRecord
from vaultsync.trust_words import TrustRequest, explain


class VaultTrust(Struct, frozen=True):
    """What a vault asks for, and whether it may."""

    vault: str
    """Its folder."""
    vault_id: str
    file: str
    """The user's own settings for this vault."""
    trusted: bool
    requests: tuple[TrustRequest, ...]
    """What it asks for beyond its own notes."""


def read_trust(path: str | None) -> VaultTrust:
    """What a vault asks for, found as by `vaultsync.open()`.

    Raises:
        NotAVaultError: there is no vault.
        ConfigError: its settings are not valid.
    """
    return _trust(_files(path))


def trust_vault(seen: VaultTrust) -> VaultTrust:
    """Allow what a vault asked for.

    Args:
        seen: what the user has seen of it; anything else will ask again.

    Raises:
        ConfigError: the user's own file cannot be written.
    """
    record = TrustRecord.of({each.setting: each.value for each in seen.requests})
    files = _files(seen.vault)
    edit_machine_file(
        files.machine_file,
        {("trust", "requests"): record.requests, ("trust", "sha256"): record.sha256},
    )
    return read_trust(seen.vault)


def move_requests(seen: VaultTrust) -> VaultTrust:
    """Take over what a vault asked for as settings of this machine, and delete it in the vault.

    Args:
        seen: what the user has seen of it.

    Raises:
        ConfigError: one of the two files cannot be written, or not by lines alone.
    """
    files = _files(seen.vault)
    asked = {each.setting: each.value for each in seen.requests}
    owner = {OWNER: asked.pop(OWNER)} if OWNER in asked else {}
    own = set(setting_names(files.machine))
    moved = {tuple(name.split(".")): value for name, value in asked.items() if name not in own}
    record = TrustRecord.of(owner) if owner else TrustRecord()
    edit_machine_file(
        files.machine_file,
        moved
        | {
            ("trust", "requests"): record.requests or None,
            ("trust", "sha256"): record.sha256 or None,
        },
    )
    given = set(setting_names(files.marker))
    edit_marker(files.root, {tuple(name.split(".")): None for name in asked if name in given})
    return read_trust(seen.vault)


def revoke_trust(path: str | None) -> VaultTrust:
    """Revoke what was allowed; settings in the user's own file stay.

    Raises: as `read_trust()`, and ConfigError: the user's own file cannot be written.
    """
    files = _files(path)
    if files.record.sha256:
        edit_machine_file(
            files.machine_file, {("trust", "requests"): None, ("trust", "sha256"): None}
        )
    return read_trust(str(files.root))


def _files(path: str | None) -> VaultFiles:
    return config.read_vault_files(config.find_root(path))


def _trust(files: VaultFiles) -> VaultTrust:
    waiting = files.pending
    shown = explain(files.requests, root=str(files.root), record=files.record if waiting else None)
    return VaultTrust(str(files.root), files.vault_id, str(files.machine_file), not waiting, shown)
