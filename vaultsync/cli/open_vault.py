"""The vault that a command works on.

Loaded by a command when it runs, because `--help` needs none of it; and each function
imports what it opens, because a question must not load what writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vaultsync.cli.options import Options
from vaultsync.errors import UsageError, VaultsyncError

if TYPE_CHECKING:
    from vaultsync.api.memory import Memory
    from vaultsync.api.opening import Initialised
    from vaultsync.api.read_only import RemoteMemory
    from vaultsync.recall.recall_request import RecallRequest
    from vaultsync.recall.result import RecallResult
    from vaultsync.settings import Settings
    from vaultsync.sync.report import DoctorCheck


def open_read_only(options: Options, *, agent: str | None = None) -> RemoteMemory:
    """The vault that the options name, to be asked in a `with`."""
    from vaultsync.api import read_only

    return read_only.open_read_only(options.vault, agent=agent, state_dir=options.state_dir)


def answer_from_files(options: Options, asked: RecallRequest) -> RecallResult:
    """An answer from the files of `.index/` alone."""
    from vaultsync.api.read_only import recall_from_index_files

    return recall_from_index_files(asked, path=options.vault)


def open_memory(options: Options, *, agent: str | None = None) -> Memory:
    """The memory of the vault that the options name, to be used in a `with`."""
    from vaultsync.api import opening

    return opening.open(options.vault, agent=agent, state_dir=options.state_dir)


def load_vault_settings(options: Options, *, agent: str | None = None) -> Settings:
    """The settings of the vault that the options name."""
    from vaultsync.api import configuration

    root = configuration.find_root(options.vault)
    return configuration.load_settings(root, agent=agent, state_dir=options.state_dir)


def register_secret_rules(vault: str | None) -> None:
    """Redact what the rules of a vault find in the errors of this process.

    Raises: as `load_vault_settings()`.
    """
    from vaultsync.api import configuration, privacy

    root = configuration.find_root(vault)
    privacy.register_secret_rules(configuration.load_settings(root))


def needs_review(options: Options) -> bool:
    """Whether something waits for the user."""
    with open_memory(options) as memory:
        status = memory.status()
    return bool(status.attention or status.conflicts)


def init_vault(path: str, *, store: str | None, options: Options) -> Initialised:
    """Make a vault."""
    from vaultsync.api import opening

    return opening.init(path, store=store, state_dir=options.state_dir)


def run_doctor(options: Options) -> Sequence[DoctorCheck]:
    """Check a vault, even one that cannot be opened."""
    try:
        with open_memory(options) as memory:
            return memory.doctor()
    except UsageError:
        raise
    except VaultsyncError as error:
        from vaultsync.sync.report import DoctorCheck

        return [DoctorCheck("open", ok=False, message=error.message, hint=error.hint)]
