"""The status of the vault: what waits and what is wrong. Changes nothing."""

from __future__ import annotations

from msgspec import convert

from vaultsync.errors import StoreUnavailableError
from vaultsync.notes.conflict_note import is_conflict_note
from vaultsync.notes.kinds import is_index_page
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind
from vaultsync.sync.report import DaemonState, RunSummary, Status, notices_of
from vaultsync.sync.run import preview_run
from vaultsync.sync.sync_request import SyncRequest

_NO_CHANGE = frozenset(
    {ActionKind.NOTHING, ActionKind.NEEDS_REVIEW, ActionKind.RECORD, ActionKind.DROP_BASE}
)
"""Kinds of actions that are not reported as pending: they change neither side."""


def daemon_status(ctx: SyncContext, *, daemon: DaemonState | None) -> Status:
    """The status that the daemon knows without a scan, from its last run.

    Raises:
        StoreUnavailableError.
    """
    archive = ctx.archive
    notes = archive.count_bases() - len(archive.missing_bases())
    return Status(
        facts=ctx.store.state().facts,
        notes=notes,
        pending=len((archive.setting("waiting") or "").split()),
        conflicts=len(archive.conflicts()),
        attention=notices_of(archive.notices()),
        outbox=len(archive.outbox()),
        last_run=_last_run(ctx),
        engine="this process",
        daemon=daemon,
    )


def _last_run(ctx: SyncContext) -> RunSummary | None:
    return next(iter(run_summaries(ctx, limit=1)), None)


def run_summaries(ctx: SyncContext, *, limit: int, prefix: str = "") -> tuple[RunSummary, ...]:
    """The newest runs whose ids begin with `prefix`, newest first; at most `limit`."""
    return tuple(
        RunSummary(
            each.run, each.at, each.kind, convert(each.report.get("counts") or {}, dict[str, int])
        )
        for each in ctx.archive.runs(limit=limit, prefix=prefix)
    )


def read_status(
    ctx: SyncContext, *, engine: str = "idle", daemon: DaemonState | None = None
) -> Status:
    """Scan both sides as a run would, and report what it would find.

    Raises:
        VaultMissingError, VaultMismatchError, StoreMismatchError, StoreRewoundError.
    """
    work, report = preview_run(ctx, SyncRequest(dry_run=True))
    pending = sum(action.do not in _NO_CHANGE for action in work.actions)
    notes = ctx.archive.count_bases()
    files = sum(  # empty files are not counted
        not is_conflict_note(name) and not is_index_page(ctx.policy.index_folder, folder.path, name)
        for folder in work.snapshot.scan.folders.values()
        for name, stamp in folder.files.items()
        if stamp.size
    )
    waiting = sum(action.new_id for action in work.actions)
    try:
        facts = ctx.store.state().facts
    except StoreUnavailableError:
        facts = notes
    return Status(
        facts=facts,
        notes=notes - len(work.identities.absent),
        pending=pending,
        conflicts=len(ctx.archive.conflicts()),
        attention=report.attention,
        outbox=len(ctx.archive.outbox()),
        last_run=_last_run(ctx),
        engine=engine,
        daemon=daemon,
        foreign=max(files - (notes - len(work.identities.absent)) - waiting, 0),
    )
