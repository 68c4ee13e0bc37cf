"""The status of a vault: that of its sync, and what waits in its other parts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import ValidationError, convert, structs

from vaultsync.api.configuration import reload_settings
from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.state.answer_log import read_answer_times
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.backends.state.state_files import PurgeIntentFile
from vaultsync.errors import PurgeUnfinishedError, StoreUnavailableError, VaultsyncError
from vaultsync.facts.service import is_visible, visible_conflicts
from vaultsync.index_files.written_files import altered_files
from vaultsync.indexing.note_index_sync import count_visible_facts
from vaultsync.indexing.ports import NoteIndex
from vaultsync.observations.observation_lists import count_observations
from vaultsync.proposals.answer_counts import answer_counts, silent_kinds
from vaultsync.settings import MARKER
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import ReadContext
from vaultsync.sync.report import DaemonState, ReportedNotice, Status, notices_of
from vaultsync.sync.status import read_status

if TYPE_CHECKING:
    from vaultsync.api.memory_files import MemoryFiles
    from vaultsync.api.modules import Modules

_log = logging.getLogger(__name__)


def vault_status(services: Services, engine: Engine) -> Status:
    """The status of sync, daemon, embedding, proposals and answers."""
    settings, ctx = services.settings, engine.ctx
    agent, state_dir = settings.agent, settings.state_dir
    holder = engine.lock.holder()
    written = None if holder == "idle" else DaemonFile(state_dir).read()
    try:
        daemon = None if written is None else convert(written, DaemonState)
    except ValidationError as error:
        _log.debug("the state of the daemon has another version: %s", error)
        daemon = None
    status = read_status(ctx, engine=holder, daemon=daemon, agent=agent)
    return structs.replace(
        status,
        embedding=engine.embedding.state(),
        silent_proposals=[] if agent else [*silent_kinds(answer_counts(ctx.archive)).values()],
        answers={} if agent else read_answer_times(state_dir),
    )


def complete_status(
    status: Status,
    services: Services,
    engine: Engine,
    files: MemoryFiles | None,
    modules: Modules | None,
) -> Status:
    """A status with what is queued in memory files and modules, and waits in observations.

    None stands for files, or modules, that the vault does not use. An agent's counts and notices
    include only what it may see.
    """
    settings, ctx, index = services.settings, engine.ctx, services.note_index
    agent = settings.agent
    waiting = [
        *(notices_of(files.queued_notices()) if files else ()),
        *(notices_of(modules.alerts()) if modules else ()),
        *_own_notices(services, engine),
        *(notices_of(altered_files(ctx)) if settings.derive else ()),
    ]
    status = structs.replace(
        status,
        attention=(*status.attention, *AgentView(ctx, agent).notices(waiting)),
        blocks=files.blocks(agent) if files else (),
        observations=count_observations(ctx, index, agent=agent),
    )
    if agent is None:
        return status
    from vaultsync.proposals.service import visible_proposals  # noqa: PLC0415 - for agents only

    queued = [each.fact_id for each in ctx.archive.outbox()]
    facts, conflicts = visible_facts(ctx, index, agent), len(visible_conflicts(ctx, agent=agent))
    daemon = status.daemon
    if daemon is not None:
        # Its last error and its progress may concern facts of others.
        daemon = DaemonState(
            daemon.since, conflicts=conflicts, attention=len(status.attention), pid=daemon.pid
        )
    return structs.replace(
        status,
        facts=facts,
        embedding=status.embedding and status.embedding.estimated_for(facts),
        conflicts=conflicts,
        proposals=len(visible_proposals(ctx, agent=agent)),
        outbox=sum(is_visible(ctx, each, agent=agent) for each in queued),
        daemon=daemon,
    )


def visible_facts(ctx: ReadContext, index: NoteIndex, agent: str) -> int:
    """The number of facts that an agent may see, by the index while the store is unavailable."""
    try:
        return count_visible_facts(ctx, index, agent)
    except StoreUnavailableError:
        return index.count(ctx.policy.permissions.reader(agent))


def _own_notices(services: Services, engine: Engine) -> Iterator[ReportedNotice]:
    """Notices of changed settings that the next start would refuse, and of other errors.

    These are that the vault was moved away from the daemon that watches it, and to the user,
    that a purge was interrupted, or left something.
    """
    settings = services.settings
    try:
        reload_settings(settings)
    except VaultsyncError as error:
        why = f"{MARKER.as_posix()} was changed, but the change is not used: {error.message}"
        yield ReportedNotice.of(error, why)
    busy = engine.lock.busy()
    if busy.was_at:
        yield ReportedNotice.of(busy)
    try:
        if settings.agent is None and PurgeIntentFile(settings.state_dir).fact_ids():
            yield ReportedNotice.of(PurgeUnfinishedError())
    except VaultsyncError as error:  # its record is damaged
        yield ReportedNotice.of(error)
