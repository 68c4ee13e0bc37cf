"""Finish a migration to another store that was killed right after the vault had switched."""

from __future__ import annotations

import logging
from contextlib import closing

from msgspec import structs

from vaultsync.api.wiring import Services
from vaultsync.errors import VaultsyncError
from vaultsync.operations.migrate import finish_copy, unfinished_store
from vaultsync.sync.context import SyncContext

_log = logging.getLogger(__name__)


def finish_migration(services: Services, ctx: SyncContext) -> None:
    """Copy what a migration that was killed has not, since agents wrote during the switch.

    If the former store is unavailable, the next call tries again.
    """
    try:
        url = unfinished_store(ctx)
        if not url:
            return
        with closing(Services(structs.replace(services.settings, store=url))) as left:
            is_gone = left.store_files is not None and not left.store_files.exists()
            former = None if is_gone else left.open_store(create=False, former=True)
            finish_copy(ctx, former, ctx.store)
    except (VaultsyncError, OSError) as error:
        _log.warning("what was last written to the former store is not copied yet: %s", error)
