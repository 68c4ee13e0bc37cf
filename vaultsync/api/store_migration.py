"""Move the facts of a vault to another store."""

from __future__ import annotations

from contextlib import closing

from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.state.settings_files import edit_machine_file
from vaultsync.errors import ConfigError
from vaultsync.operations.migrate import (
    MigrationReport,
    check_copied,
    copy_store,
    copy_vectors,
    expect_store,
)
from vaultsync.sync.report import Progress
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

_BY_DAEMON = "stop it first, and start it again afterwards"


def migrate(
    services: Services, engine: Engine, to: str, *, actor: str, progress: Progress | None
) -> MigrationReport:
    """Copy all facts, verify the copy, and set the new store; see `Memory.migrate()`.

    Raises:
        ConfigError: the facts are in that store already, or it names no store.
        EngineBusyError, VaultError, StoreError.
        MigrationError: not all facts arrived; nothing was switched.
    """
    clock = engine.ctx.clock
    began = clock.monotonic()
    settings = structs.replace(services.settings, store=to)
    with engine.exclusive(hint=_BY_DAEMON) as ctx, closing(Services(settings)) as target:
        if target.store_path == services.store_path:
            raise ConfigError(f"the facts are already in {to}", hint="use another store")
        store = target.open_store(create=True)
        sync_once(ctx, SyncRequest(actor=actor))
        copied = copy_store(ctx.store, store, progress=progress)
        facts, tombstones = check_copied(ctx.store, store, progress=progress)
        vectors = 0
        if target.vectors_in_store or services.vectors_in_store:
            ours, theirs = services.vector_index, target.vector_index
            if ours is not None and theirs is not None:
                vectors = copy_vectors(ours, theirs, store, progress=progress)
        expect_store(ctx, store)
        edit_machine_file(services.settings.machine_file, {("store",): to})
    return MigrationReport(
        store=target.store_path,
        facts=facts,
        tombstones=tombstones,
        copied=copied,
        vectors=vectors,
        seconds=round(clock.monotonic() - began, 3),
    )
