"""The vault that a command works on.

Loaded by a command when it runs, for `--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from vaultsync import api as app
from vaultsync.cli.options import Options
from vaultsync.errors import UsageError, VaultsyncError

__all__ = [
    "EmbeddingCost",
    "answer_from_files",
    "init_vault",
    "open_answers",
    "open_memory",
    "open_packs",
    "run_doctor",
]

if TYPE_CHECKING:  # what is only asked for an answer need not load all of it
    from datetime import datetime

    from vaultsync.api.memory import Memory
    from vaultsync.api.opening import Initialised
    from vaultsync.api.packing import ContextMethods
    from vaultsync.api.recalling import RecallMethods
    from vaultsync.indexing.embedding_cost import EmbeddingCost
    from vaultsync.model.schema import Value
    from vaultsync.recall.recall_request import RecallRequest
    from vaultsync.recall.result import RecallResult
    from vaultsync.service.daemon_runner import DaemonRunner
    from vaultsync.service.obsidian_writes import ObsidianWrites
    from vaultsync.settings import Settings
    from vaultsync.sync.report import DoctorCheck


def open_answers(options: Options, *, agent: str | None = None) -> RecallMethods:
    """The vault that the options name, to be asked in a `with`."""
    from vaultsync.api.read_only import open_for_recall

    return open_for_recall(options.vault, agent=agent, state_dir=options.state_dir)


def answer_from_files(options: Options, asked: RecallRequest) -> RecallResult:
    """An answer from the files of `.index/` alone."""
    from vaultsync.api.read_only import recall_from_index_files

    return recall_from_index_files(asked, path=options.vault)


def open_packs(options: Options, *, agent: str | None = None) -> ContextMethods:
    """The same, to be asked for context packs."""
    from vaultsync.api.read_only import open_for_packs

    return open_for_packs(options.vault, agent=agent, state_dir=options.state_dir)


def open_memory(options: Options, *, agent: str | None = None) -> Memory:
    """The memory of the vault that the options name, to be used in a `with`."""
    return app.open(options.vault, agent=agent, state_dir=options.state_dir)


def learn_secret_rules(vault: str | None) -> None:
    """Have no error repeat what the rules of a vault hide.

    Raises: as `settings()`.
    """
    from vaultsync.api import privacy as hygiene
    from vaultsync.api.opening import find_settings

    hygiene.register_secret_rules(find_settings(vault))


def load_vault_settings(options: Options) -> Settings:
    """The settings of the vault that the options name."""
    from vaultsync.api.opening import find_settings

    return find_settings(options.vault, state_dir=options.state_dir)


def make_daemon_runner(
    settings: Settings,
    *,
    tell: Callable[[str, Mapping[str, Value]], None],
    once: bool,
    wait: bool,
    app: ObsidianWrites | None,
) -> DaemonRunner:
    """The daemon of a vault, to be run."""
    from vaultsync.service.daemon_runner import DaemonRunner

    return DaemonRunner(settings, tell=tell, once=once, wait=wait, app=app)


def needs_review(options: Options) -> bool:
    """Whether something waits for a person."""
    with open_memory(options) as opened:
        found = opened.status()
    return bool(found.attention or found.conflicts)


def log_time() -> datetime:
    """The time, for a log."""
    from vaultsync.api.opening import current_time

    return current_time()


def init_vault(path: str, *, store: str | None, options: Options) -> Initialised:
    """Make a vault."""
    return app.init(path, store=store, state_dir=options.state_dir)


def run_doctor(options: Options) -> Sequence[DoctorCheck]:
    """Check a vault, one that cannot even be opened too."""
    try:
        with open_memory(options) as opened:
            return opened.doctor()
    except UsageError:
        raise
    except VaultsyncError as error:
        from vaultsync.sync.report import DoctorCheck

        return [DoctorCheck("open", ok=False, message=error.message, hint=error.hint)]
