"""Before a run: is this the vault, is this the store, and did the store lose anything?

The high-water mark is the newest row that the store was seen to hold; an older store
that was restored lacks it. It is ahead of the feed's cursor: bases may depend on rows that
an unfinished run wrote or read, or that were written when a fact became a note at once.
"""

from __future__ import annotations

from vaultsync.errors import (
    StoreMismatchError,
    StoreRewoundError,
    StoreUnavailableError,
    VaultMismatchError,
)
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import SyncContext
from vaultsync.sync.sync_request import SyncRequest

HIGH_WATER_SETTING = "newest_row"
"""The setting that holds it: number and revision."""


def row_mark(seq: int, revision: str) -> str:
    """A row of the store as the setting holds it."""
    return f"{seq} {revision}"


def newest_row_mark(ctx: SyncContext) -> str | None:
    """The new high-water mark, to be set in one transaction with what depends on it.

    If the store lacks the row of the old mark, the old mark stays: should this run not
    finish, the next one has to notice.

    Raises: StoreUnavailableError.
    """
    if not lacks_row(ctx, seen_up_to=0):
        state = ctx.store.state()
        if state.revision:
            return row_mark(state.seq, state.revision)
    return ctx.archive.setting(HIGH_WATER_SETTING)


def lacks_row(ctx: SyncContext, *, seen_up_to: int) -> bool:
    """Whether the store lacks the row of the high-water mark, if that is after `seen_up_to`.

    Raises: StoreUnavailableError.
    """
    before = ctx.archive.setting(HIGH_WATER_SETTING)
    if before is None:
        return False
    seq, _, revision = before.partition(" ")
    return int(seq) > seen_up_to and ctx.store.revision_at(int(seq)) != revision


def check_vault(ctx: SyncContext, *, dry_run: bool) -> None:
    """Check that the folder is the vault that the archive knows.

    Raises:
        VaultMissingError, VaultMismatchError: nothing may be done.
    """
    found = ctx.vault.vault_id()
    expected = ctx.archive.setting("vault_id")
    if expected is None and not dry_run:
        with ctx.archive.transaction():
            ctx.archive.set_setting("vault_id", found)
    elif expected not in (None, found):
        raise VaultMismatchError("the vault's folder", found, expected)


def check_store(ctx: SyncContext, run: str, request: SyncRequest) -> StoreState | None:
    """Check the store, and return its state; None when it is unavailable.

    Raises:
        StoreMismatchError: another store than the archive knows.
        StoreRewoundError: it lost rows that were seen before.
    """
    try:
        state = ctx.store.state()
    except StoreUnavailableError:
        return None
    known = ctx.archive.setting("store_id")
    if known is None:
        if not request.dry_run:
            with ctx.archive.transaction():
                ctx.archive.set_setting("store_id", state.store_id)
        return state
    if known != state.store_id and state.store_id == ctx.archive.setting("next_store_id"):
        # A migration copied the facts of the known store; the revisions are new.
        _accept_migrated_store(ctx, request, state)
    elif known != state.store_id:
        raise StoreMismatchError(state.store_id, known)
    why = None if request.trust_store else _rewind_evidence(ctx, state, request)
    if why is None:
        return state
    if not is_confirmed(ctx, request):
        if not request.dry_run:
            record_stopped_run(ctx, run)
        raise StoreRewoundError(why, run)
    if not request.dry_run:
        with ctx.archive.transaction():
            _request_full_compare(ctx)
    return state


def feed_cursor(ctx: SyncContext, state: StoreState | None, request: SyncRequest) -> int:
    """The row up to which the store's feed was read; 0 for another store than before."""
    known = ctx.archive.setting("store_id")
    if request.trust_store or (state and known not in (None, state.store_id)):
        return 0
    return int(ctx.archive.setting("cursor") or 0)


def _request_full_compare(ctx: SyncContext) -> None:
    """Make the next runs compare all facts with the store, until one run is complete.

    This includes facts of which the store's feed has no row any more.
    """
    everything = " ".join(base.fact.id for base in ctx.archive.iter_bases())
    ctx.archive.set_setting("cursor", None)
    ctx.archive.set_setting("cursor_row", None)
    ctx.archive.set_setting(HIGH_WATER_SETTING, None)
    ctx.archive.set_setting("waiting", everything)


def _accept_migrated_store(ctx: SyncContext, request: SyncRequest, state: StoreState) -> None:
    """Continue with the store that a migration filled: all of it is compared once."""
    if request.dry_run:
        return
    with ctx.archive.transaction():
        ctx.archive.set_setting("store_id", state.store_id)
        ctx.archive.set_setting("next_store_id", None)
        _request_full_compare(ctx)


def _rewind_evidence(ctx: SyncContext, state: StoreState, request: SyncRequest) -> str | None:
    """What shows that the store lost rows; None when nothing does."""
    cursor = feed_cursor(ctx, state, request)
    if not state.seq and ctx.archive.count_bases():
        return "it is empty"
    if state.seq < cursor:
        return f"it stands at {state.seq}, and {cursor} was seen"
    if cursor and _has_other_history(ctx, cursor):
        return "what it says happened is not what was seen"
    same = ctx.archive.setting("store_id") == state.store_id
    if same and lacks_row(ctx, seen_up_to=cursor):
        return "it does not know what was written last"
    return None


def _has_other_history(ctx: SyncContext, cursor: int) -> bool:
    """Whether the row at the cursor is not the one that was read there."""
    seen = ctx.archive.setting("cursor_row")
    return seen is not None and ctx.store.revision_at(cursor) != seen


def record_stopped_run(ctx: SyncContext, run: str) -> None:
    """Remember that a run was stopped, so that the user can confirm it."""
    with ctx.archive.transaction():
        ctx.archive.set_setting("stopped_run", run)


def is_confirmed(ctx: SyncContext, request: SyncRequest) -> bool:
    """Whether the user confirmed the run that was stopped last."""
    stopped = ctx.archive.setting("stopped_run")
    return request.confirm is not None and request.confirm == stopped
