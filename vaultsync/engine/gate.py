"""Before anything else: is this the vault, is this the store, did it lose anything?"""

from __future__ import annotations

from vaultsync.engine.mirror import Mirror
from vaultsync.engine.request import Request
from vaultsync.errors import (
    StoreMismatchError,
    StoreRewoundError,
    StoreUnavailableError,
    VaultMismatchError,
)
from vaultsync.ports import StoreState


def check_vault(mirror: Mirror) -> None:
    """See that the folder is the vault that the archive knows.

    Raises:
        VaultMissingError, VaultMismatchError: nothing may be done.
    """
    found = mirror.vault.vault_id()
    expected = mirror.archive.setting("vault_id")
    if expected is None:
        with mirror.archive.transaction():
            mirror.archive.set_setting("vault_id", found)
    elif expected != found:
        raise VaultMismatchError("the vault's folder", found, expected)


def store_state(mirror: Mirror, run: str, request: Request) -> StoreState | None:
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
        with mirror.archive.transaction():
            mirror.archive.set_setting("store_id", state.store_id)
        return state
    if known != state.store_id:
        raise StoreMismatchError(state.store_id, known)
    cursor = int(mirror.archive.setting("cursor") or 0)
    why = ""
    if not state.facts and not state.seq and mirror.archive.count_bases():
        why = "it is empty"
    elif state.seq < cursor:
        why = f"it stands at {state.seq}, and {cursor} was seen"
    elif cursor and _other_past(mirror, cursor):
        why = "what it says happened is not what was seen"
    if not why or confirmed(mirror, request):
        if why and not request.dry_run:
            with mirror.archive.transaction():
                mirror.archive.set_setting("cursor", "0")
                everything = " ".join(
                    base.fact.id for base in mirror.archive.iter_bases()
                )
                mirror.archive.set_setting("waiting", everything)
        return state
    with mirror.archive.transaction():
        mirror.archive.set_setting("stopped_run", run)
    raise StoreRewoundError(why, run)


def _other_past(mirror: Mirror, cursor: int) -> bool:
    """Whether the last row seen has the same number, but was written by somebody else."""
    seen = mirror.archive.setting("cursor_row")
    rows = mirror.store.feed(cursor - 1)
    here = next(
        (f"{row.fact_id} {row.revision}" for row in rows if row.seq == cursor), None
    )
    return here is not None and seen is not None and here != seen


def confirmed(mirror: Mirror, request: Request) -> bool:
    """Whether a person confirmed the very run that was stopped last."""
    stopped = mirror.archive.setting("stopped_run")
    return request.confirm is not None and request.confirm == stopped
