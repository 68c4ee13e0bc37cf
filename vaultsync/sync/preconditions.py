"""Before anything else: is this the vault, is this the store, did it lose anything?

The newest row that the store was seen to hold: an older store, put back, lacks it.

Bases rest on rows that the cursor has not passed yet: those that a pass wrote or read
which did not come to its end, those of facts that became notes at once.
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
from vaultsync.sync.pass_types import SyncRequest

HIGH_WATER_SETTING = "newest_row"
"""The setting: number and revision."""


def row_mark(seq: int, revision: str) -> str:
    """A row of the store, as it is remembered."""
    return f"{seq} {revision}"


def newest_row_mark(mirror: SyncContext) -> str | None:
    """What is to be remembered, in one transaction with what rests on it.

    Where the store lacks what was remembered before, that stays: it is to be noticed by
    the next pass, should this one not come to its end.

    Raises: StoreUnavailableError.
    """
    if not lacks_row(mirror, seen_up_to=0):
        seq = mirror.store.state().seq
        revision = mirror.store.revision_at(seq)
        if revision is not None:
            return row_mark(seq, revision)
    return mirror.archive.setting(HIGH_WATER_SETTING)


def lacks_row(mirror: SyncContext, *, seen_up_to: int) -> bool:
    """Whether the store lacks the row; one up to the cursor was looked for by that.

    Raises: StoreUnavailableError.
    """
    before = mirror.archive.setting(HIGH_WATER_SETTING)
    if before is None:
        return False
    seq, _, revision = before.partition(" ")
    return int(seq) > seen_up_to and mirror.store.revision_at(int(seq)) != revision


def check_vault(mirror: SyncContext, *, dry_run: bool) -> None:
    """See that the folder is the vault that the archive knows.

    Raises:
        VaultMissingError, VaultMismatchError: nothing may be done.
    """
    found = mirror.vault.vault_id()
    expected = mirror.archive.setting("vault_id")
    if expected is None and not dry_run:
        with mirror.archive.transaction():
            mirror.archive.set_setting("vault_id", found)
    elif expected not in (None, found):
        raise VaultMismatchError("the vault's folder", found, expected)


def check_store(mirror: SyncContext, run: str, request: SyncRequest) -> StoreState | None:
    """Where the store stands; None when it is away.

    Raises:
        StoreMismatchError: another store than the archive knows.
        StoreRewoundError: it lost what was already seen of it.
    """
    try:
        state = mirror.store.state()
    except StoreUnavailableError:
        return None
    known = mirror.archive.setting("store_id")
    if known is None:
        if not request.dry_run:
            with mirror.archive.transaction():
                mirror.archive.set_setting("store_id", state.store_id)
        return state
    if known != state.store_id and state.store_id == mirror.archive.setting("next_store_id"):
        # Its facts came from the store that was known; their revisions are its own.
        _accept_migrated_store(mirror, request, state)
    elif known != state.store_id:
        raise StoreMismatchError(state.store_id, known)
    why = None if request.trust_store else _rewind_evidence(mirror, state, request)
    if why is None:
        return state
    if not is_confirmed(mirror, request):
        if not request.dry_run:
            with mirror.archive.transaction():
                mirror.archive.set_setting("stopped_run", run)
        raise StoreRewoundError(why, run)
    if not request.dry_run:
        with mirror.archive.transaction():
            _request_full_compare(mirror)
    return state


def feed_cursor(mirror: SyncContext, state: StoreState | None, request: SyncRequest) -> int:
    """Up to where the store's feed was seen; where another store stood says nothing."""
    known = mirror.archive.setting("store_id")
    if request.trust_store or (state and known not in (None, state.store_id)):
        return 0
    return int(mirror.archive.setting("cursor") or 0)


def _request_full_compare(mirror: SyncContext) -> None:
    """Have the passes compare all facts with the store, until one has come to its end.

    Those too that the store's feed has no row of any more.
    """
    everything = " ".join(base.fact.id for base in mirror.archive.iter_bases())
    mirror.archive.set_setting("cursor", None)
    mirror.archive.set_setting("cursor_row", None)
    mirror.archive.set_setting(HIGH_WATER_SETTING, None)
    mirror.archive.set_setting("waiting", everything)


def _accept_migrated_store(mirror: SyncContext, request: SyncRequest, state: StoreState) -> None:
    """Go on with the store that a migration filled: all of it is looked at once."""
    if request.dry_run:
        return
    with mirror.archive.transaction():
        mirror.archive.set_setting("store_id", state.store_id)
        mirror.archive.set_setting("next_store_id", None)
        _request_full_compare(mirror)


def _rewind_evidence(mirror: SyncContext, state: StoreState, request: SyncRequest) -> str | None:
    """What shows that the store lost something; None when nothing does."""
    cursor = feed_cursor(mirror, state, request)
    if not state.seq and mirror.archive.count_bases():
        return "it is empty"
    if state.seq < cursor:
        return f"it stands at {state.seq}, and {cursor} was seen"
    if cursor and _has_other_history(mirror, cursor):
        return "what it says happened is not what was seen"
    same = mirror.archive.setting("store_id") == state.store_id
    if same and lacks_row(mirror, seen_up_to=cursor):
        return "it does not know what was written last"
    return None


def _has_other_history(mirror: SyncContext, cursor: int) -> bool:
    """Whether the last write seen is not the one that has its number now."""
    seen = mirror.archive.setting("cursor_row")
    return seen is not None and mirror.store.revision_at(cursor) != seen


def is_confirmed(mirror: SyncContext, request: SyncRequest) -> bool:
    """Whether a person confirmed the very run that was stopped last."""
    stopped = mirror.archive.setting("stopped_run")
    return request.confirm is not None and request.confirm == stopped
