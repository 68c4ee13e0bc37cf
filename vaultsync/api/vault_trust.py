"""Show the settings that a vault requests, and allow, move or revoke them.

Each function may raise NotAVaultError, and ConfigError: the settings are not valid, or a file
cannot be written, or edited line by line.
"""

from __future__ import annotations

from msgspec import Struct

from vaultsync.api import configuration as config
from vaultsync.api.configuration import VaultFiles
from vaultsync.backends.state.settings_files import edit_machine_file, edit_marker
from vaultsync.settings import setting_names, single_settings
from vaultsync.trust import OWNER, TrustRecord
from vaultsync.trust_words import TrustRequest, explain


class VaultTrust(Struct, frozen=True):
    """The settings that a vault requests, and whether they are allowed."""

    vault: str
    """The folder of the vault."""
    vault_id: str
    file: str
    """The file of the user's own settings for this vault."""
    trusted: bool
    requests: tuple[TrustRequest, ...]
    """The settings that affect more than the notes of the vault."""


def read_trust(path: str | None) -> VaultTrust:
    """Read the settings that a vault requests; `path` names it as for `vaultsync.open()`."""
    files = _files(path)
    is_pending, root = files.pending, str(files.root)
    requests = explain(files.requests, root=root, record=files.record if is_pending else None)
    return VaultTrust(root, files.vault_id, str(files.machine_file), not is_pending, requests)


def trust_vault(reviewed: VaultTrust) -> VaultTrust:
    """Allow the settings that a vault requests, as far as the user has reviewed them."""
    record = TrustRecord.of({each.setting: each.value for each in reviewed.requests})
    files = _files(reviewed.vault)
    edit_machine_file(
        files.machine_file,
        {("trust", "requests"): record.requests, ("trust", "sha256"): record.sha256},
    )
    return read_trust(reviewed.vault)


def move_requests(reviewed: VaultTrust) -> VaultTrust:
    """Move the reviewed settings to the user's own file, and delete them in the vault.

    A setting that is already in the user's own file keeps its value there.
    """
    files = _files(reviewed.vault)
    requests = {each.setting: each.value for each in reviewed.requests}
    owner = {OWNER: requests.pop(OWNER)} if OWNER in requests else {}
    requests = dict(single_settings(requests))
    own = set(setting_names(files.machine))
    moved = {tuple(name.split(".")): value for name, value in requests.items() if name not in own}
    record = TrustRecord.of(owner) if owner else TrustRecord()
    edit_machine_file(
        files.machine_file,
        moved
        | {
            ("trust", "requests"): record.requests or None,
            ("trust", "sha256"): record.sha256 or None,
        },
    )
    in_vault = set(setting_names(files.marker))
    edit_marker(files.root, {tuple(name.split(".")): None for name in requests if name in in_vault})
    return read_trust(reviewed.vault)


def revoke_trust(path: str | None) -> VaultTrust:
    """Revoke all permissions of a vault; the other settings in the user's own file stay."""
    files = _files(path)
    if files.record.sha256:
        edit_machine_file(
            files.machine_file, {("trust", "requests"): None, ("trust", "sha256"): None}
        )
    return read_trust(str(files.root))


def _files(path: str | None) -> VaultFiles:
    return config.read_vault_files(config.find_root(path))
