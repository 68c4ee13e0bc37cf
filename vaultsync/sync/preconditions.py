"""Checks before a run: the right vault, the right store, and no lost writes.

The high-water mark is the newest row that the store was seen to hold; an older store
that was restored lacks it. It is ahead of the feed's cursor: bases may depend on rows that
an unfinished run wrote or read, or that were written when a fact became a note at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.errors import (
    StoreMismatchError,
    StoreRewoundError,
    StoreUnavailableError,
    VaultMismatchError,
)
from vaultsync.storage.store import StoreState
from vaultsync.sync.changes import StoreFeed
from vaultsync.sync.context import ReadContext, SyncContext
from vaultsync.sync.plausibility import find_older_store
from vaultsync.sync.sync_request import SyncRequest

HIGH_WATER_SETTING = "newest_row"
"""The setting with the high-water mark: number and revision."""

MIN_CONFIRM_LENGTH = 13
"""Minimum length of the prefix of a run's id that confirms it."""


def newest_row_mark(ctx: SyncContext) -> str | None:
    """The new high-water mark, to be set in one transaction with what depends on it.

    If the store lacks the row of the old mark, the old mark is kept, so that the next run
    notices it if this one does not finish.

    Raises: StoreUnavailableError.
    """
    if not lacks_row(ctx, seen_up_to=0):
        state = ctx.store.state()
        if state.revision:
            return f"{state.seq} {state.revision}"
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
    """Check that this is the known vault. Raises VaultMissingError, VaultMismatchError."""
    vault_id = ctx.vault.vault_id()
    expected = ctx.archive.setting("vault_id")
    if expected is None and not dry_run:
        ctx.set_setting("vault_id", vault_id)
    elif expected not in (None, vault_id):
        raise VaultMismatchError(vault_id, expected)


_FORMER_STORES = "former_store_ids"


def _former_store_ids(ctx: ReadContext) -> frozenset[str]:
    return frozenset((ctx.archive.setting(_FORMER_STORES) or "").split())


def known_store_ids(ctx: ReadContext) -> tuple[str, ...]:
    """The id of the store, then those of the stores from which its facts were migrated.

    Raises:
        StoreUnavailableError.
    """
    current, recorded = ctx.store.state().store_id, ctx.archive.setting("store_id")
    is_next = current == ctx.archive.setting("next_store_id")
    former = {*_former_store_ids(ctx), *([recorded] if is_next and recorded else [])}
    return (current, *sorted(former - {current}))


def accept_store(ctx: SyncContext) -> None:
    """Record that the store is the one of the vault from here on, and which one it replaces.

    Raises:
        StoreUnavailableError.
    """
    _set(ctx, SyncRequest(), _acceptance(ctx, ctx.store.state().store_id))


def _acceptance(ctx: SyncContext, store_id: str) -> Mapping[str, str | None]:
    """The settings that record that a store is the one of the vault from here on."""
    replaced = ctx.archive.setting("store_id")
    former = {*_former_store_ids(ctx), replaced or store_id} - {store_id}
    # A migration copied the facts of the known store; the revisions are new.
    is_next = store_id == ctx.archive.setting("next_store_id") != replaced
    return {
        "store_id": store_id,
        # If that of a migration comes back, its facts are older than those of this one.
        "next_store_id": None,
        _FORMER_STORES: " ".join(sorted(former)) or None,
        **(_full_compare(ctx) if is_next else {}),
    }


def check_store(ctx: SyncContext, run: str, request: SyncRequest) -> StoreFeed:
    """Check the store, and return the position from which to read its feed.

    Raises:
        StoreMismatchError: it is not the store that the archive knows.
        StoreRewoundError: it lost rows that it had before.
    """
    try:
        state = ctx.store.state()
    except StoreUnavailableError:
        return StoreFeed(is_available=False)
    recorded_id = ctx.archive.setting("store_id")
    if recorded_id is None:
        _set(ctx, request, {"store_id": state.store_id})
        return StoreFeed()
    is_same = recorded_id == state.store_id
    since = int(ctx.archive.setting("cursor") or 0) if is_same else 0
    if not is_same and state.store_id == ctx.archive.setting("next_store_id"):
        _set(ctx, request, _acceptance(ctx, state.store_id))
    elif not is_same:
        raise StoreMismatchError(state.store_id, recorded_id)
    if request.trust_store:
        return StoreFeed()
    why = _rewind_evidence(ctx, state, since, is_known=is_same)
    if why is None:
        return StoreFeed(since=since)
    if not confirmed_run(ctx, request):
        stop_run(ctx, request, run)
        older = find_older_store(ctx)
        undone = f"; of its facts, {older}" if older else ""
        raise StoreRewoundError(f"{why}{undone}", run, examples=older.examples())
    _set(ctx, request, _full_compare(ctx))
    return StoreFeed()


def _set(ctx: SyncContext, request: SyncRequest, settings: Mapping[str, str | None]) -> None:
    """Set settings, all at once; a dry run sets none."""
    if not request.dry_run:
        with ctx.archive.transaction():
            for key, value in settings.items():
                ctx.archive.set_setting(key, value)


def _full_compare(ctx: SyncContext) -> Mapping[str, str | None]:
    """The settings that make the next runs compare all facts, until one run is complete.

    This includes facts without a row in the store's feed.
    """
    everything = " ".join(ctx.archive.revisions())
    unread = dict.fromkeys(("cursor", "cursor_row", HIGH_WATER_SETTING))
    return {**unread, "waiting": everything}


def _rewind_evidence(
    ctx: SyncContext, state: StoreState, cursor: int, *, is_known: bool = True
) -> str | None:
    """The evidence that the store lost rows; None if there is none.

    The high-water mark of another store proves nothing about a store that is not known yet.
    """
    if not state.seq and ctx.archive.count_bases():
        return "it is empty"
    if state.seq < cursor:
        return f"it is at write {state.seq}, but write {cursor} was seen before"
    last_revision = ctx.archive.setting("cursor_row")
    if cursor and last_revision is not None and ctx.store.revision_at(cursor) != last_revision:
        return "its feed differs from what was seen before"
    if is_known and lacks_row(ctx, seen_up_to=cursor):
        return "it lacks the last known write"
    return None


def stop_run(ctx: SyncContext, request: SyncRequest, run: str) -> None:
    """Record that a run was stopped, so that the user can confirm it."""
    _set(ctx, request, {stopped_setting(request): run})


def stopped_setting(request: SyncRequest) -> str:
    """The setting with the run stopped last; rebuilds have one of their own."""
    return f"stopped_{request.kind}" if request.trust_store else "stopped_run"


def confirmed_run(ctx: SyncContext, request: SyncRequest) -> str | None:
    """The run stopped last, if the user confirmed it by its id or a prefix of it.

    It is carried out under that id, so that the user knows what to undo. A prefix must include
    the time to the millisecond, because a shorter one could match a newer plan.
    """
    confirmed = request.confirm
    if confirmed is None:
        return None
    stopped = ctx.archive.setting(stopped_setting(request)) or ""
    is_prefix = len(confirmed) >= MIN_CONFIRM_LENGTH and stopped.startswith(confirmed)
    return stopped if confirmed == stopped or is_prefix else None


def store_went_back(ctx: SyncContext) -> bool:
    """Whether the store is as it was earlier.

    The known store then lost rows, and so was restored from a backup; another one is a store that
    the vault left.

    Raises: StoreUnavailableError.
    """
    state = ctx.store.state()
    if ctx.archive.setting("store_id") != state.store_id:
        return state.store_id in _former_store_ids(ctx)
    cursor = int(ctx.archive.setting("cursor") or 0)
    return _rewind_evidence(ctx, state, cursor) is not None
