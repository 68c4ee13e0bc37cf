"""The vault that a command works on.

Loaded by a command when it runs, for `--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from vaultsync import api as app
from vaultsync.cli.options import Options
from vaultsync.errors import UsageError, VaultsyncError

__all__ = ["Cost", "answers", "doctor", "from_files", "init", "memory", "packs"]

if TYPE_CHECKING:  # what is only asked for an answer need not load all of it
    from datetime import datetime

    from vaultsync.api.memory import Memory
    from vaultsync.api.opening import Initialised
    from vaultsync.api.packing import Packing
    from vaultsync.api.recalling import Recalling
    from vaultsync.indexing.embedding_cost import Cost
    from vaultsync.model.schema import Value
    from vaultsync.recall.result import Recall
    from vaultsync.service.daemon_runner import Watching
    from vaultsync.service.obsidian_writes import AppWrites
    from vaultsync.settings import Settings
    from vaultsync.sync.report import Check


def answers(options: Options, *, agent: str | None = None) -> Recalling:
    """The vault that the options name, to be asked in a `with`."""
    from vaultsync.api.read_only import ask

    return ask(options.vault, agent=agent, state_dir=options.state_dir)


def from_files(
    options: Options,
    query: str,
    *,
    agent: str | None,
    limit: int,
    types: Sequence[str],
    scopes: Sequence[str],
    tags: Sequence[str],
    max_priority: int,
    since: str | None,
    user: str | None,
) -> Recall:
    """An answer from the files of `.index/` alone."""
    from vaultsync.api.read_only import ask_files

    return ask_files(
        query,
        path=options.vault,
        agent=agent,
        limit=limit,
        types=types,
        scopes=scopes,
        tags=tags,
        max_priority=max_priority,
        since=since,
        user=user,
    )


def packs(options: Options, *, agent: str | None = None) -> Packing:
    """The same, to be asked for context packs."""
    from vaultsync.api.read_only import ask_for_packs

    return ask_for_packs(options.vault, agent=agent, state_dir=options.state_dir)


def memory(options: Options, *, agent: str | None = None) -> Memory:
    """The memory of the vault that the options name, to be used in a `with`."""
    return app.open(options.vault, agent=agent, state_dir=options.state_dir)


def know_rules(vault: str | None) -> None:
    """Have no error repeat what the rules of a vault hide.

    Raises: as `settings()`.
    """
    from vaultsync.api import privacy as hygiene
    from vaultsync.api.opening import settings_of

    hygiene.know_rules(settings_of(vault))


def settings(options: Options) -> Settings:
    """The settings of the vault that the options name."""
    from vaultsync.api.opening import settings_of

    return settings_of(options.vault, state_dir=options.state_dir)


def watching(
    settings: Settings,
    *,
    tell: Callable[[str, Mapping[str, Value]], None],
    once: bool,
    wait: bool,
    app: AppWrites | None,
) -> Watching:
    """The daemon of a vault, to be run."""
    from vaultsync.service.daemon_runner import Watching

    return Watching(settings, tell=tell, once=once, wait=wait, app=app)


def waits(options: Options) -> bool:
    """Whether something waits for a person."""
    with memory(options) as opened:
        found = opened.status()
    return bool(found.attention or found.conflicts)


def now() -> datetime:
    """The time, for a log."""
    from vaultsync.api.opening import now

    return now()


def init(path: str, *, store: str | None, options: Options) -> Initialised:
    """Make a vault."""
    return app.init(path, store=store, state_dir=options.state_dir)


def doctor(options: Options) -> Sequence[Check]:
    """Check a vault, one that cannot even be opened too."""
    try:
        with memory(options) as opened:
            return opened.doctor()
    except UsageError:
        raise
    except VaultsyncError as error:
        from vaultsync.sync.report import Check

        return [Check("open", ok=False, message=error.message, hint=error.hint)]
