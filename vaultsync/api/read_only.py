"""Answers from a vault, without the engine that writes: a question loads little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from vaultsync.api import configuration as config
from vaultsync.api.warm import RemoteRecall

if TYPE_CHECKING:  # an answer needs none of what packs it
    from vaultsync.api.packing import ContextMethods
    from vaultsync.api.recalling import RecallMethods
    from vaultsync.recall.recall_request import RecallRequest
    from vaultsync.recall.result import RecallResult


def open_for_recall(
    path: str | None = None, agent: str | None = None, state_dir: str | None = None
) -> RecallMethods:
    """Open the vault at a folder, or the nearest one upwards, to ask for facts.

    Raises:
        NotAVaultError: there is none.
        ConfigError: its settings make no sense.
    """
    root = config.find_root(path)
    return RemoteRecall(config.load_settings(root, agent=agent, state_dir=state_dir))


def open_for_packs(
    path: str | None = None, agent: str | None = None, state_dir: str | None = None
) -> ContextMethods:
    """The same, to ask for context packs. Raises as `ask()`."""
    from vaultsync.api.warm import RemoteContext

    root = config.find_root(path)
    return RemoteContext(config.load_settings(root, agent=agent, state_dir=state_dir))


def recall_from_index_files(asked: RecallRequest, *, path: str | None = None) -> RecallResult:
    """The same question, asked of the files of `.index/` alone: a clone has no store.

    Raises: as `ask()`, and InvalidFieldError: a filter makes no sense.
    """
    from vaultsync.api.privacy import keyless_note_view
    from vaultsync.backends.filesystem.vault_fs import VaultFs
    from vaultsync.backends.memory.note_index import MemoryIndex
    from vaultsync.backends.system.system_clock import SystemClock
    from vaultsync.index_files.clone_recall import StorelessVault, recall_vault_only

    settings = config.load_settings(config.find_root(path), agent=asked.agent)
    vault = VaultFs(settings.root, ignore=settings.ignore)
    try:
        view, index = keyless_note_view(settings), MemoryIndex(settings.language)
        clone = StorelessVault(vault, SystemClock(), index, settings.default_scope, view)
        asked = replace(asked, agent=settings.agent)
        return recall_vault_only(clone, asked, weights=settings.weights)
    finally:
        vault.close()
