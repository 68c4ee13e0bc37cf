"""Upkeep: what a memory can do without goes, and it may move to another store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from vaultsync.api.mirroring import SyncMethods
from vaultsync.errors import ConfigError, EngineBusyError

if TYPE_CHECKING:
    from vaultsync.api.stores import StoreFactory
    from vaultsync.operations.migrate import MigrationReport
    from vaultsync.sync.report import Progress, Report


_AND_AGAIN = "stop it first, and start it again when this is done"


class MaintenanceMethods(SyncMethods):
    """`maintain` and `migrate`."""

    def maintain(
        self,
        *,
        dry_run: bool = False,
        max_delete: int | None = None,
        confirm: str | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Delete what expired or faded, and collapse long chains of versions.

        While a daemon has the vault, it is asked to.

        Raises:
            EngineBusyError: who has the vault cannot be asked.
            VaultError, StoreError.
            GuardError: it would delete too much to be plausible; nothing was done.
        """
        from vaultsync.operations.maintain import run_maintenance

        said: dict[str, Any] = {"dry_run": dry_run, "max_delete": max_delete, "confirm": confirm}
        try:
            with self._engine() as ctx:
                person = self._person()
                floor = self.settings.decay_floor
                report = run_maintenance(ctx, **said, floor=floor, actor=person, progress=progress)
                if not dry_run:
                    self._stores.purge(ctx.store)
                return self._derived_from(ctx, report, progress)
        except EngineBusyError as busy:
            return self._report_of_daemon("/v1/maintain", said, busy)

    def count_recalls(self) -> None:
        """Write down what was recalled; nothing fails when that cannot be done."""
        self._accesses.flush()

    def migrate(self, to: str, *, progress: Progress | None = None) -> MigrationReport:
        """Take all facts to another store, prove it, and go on with that one.

        The old store stays as it is. Vectors come along. Close this memory afterwards:
        it still has the old store.

        Raises:
            EngineBusyError, VaultError, StoreError.
            MigrationError: not all facts arrived; nothing was switched.
        """
        from contextlib import ExitStack

        from vaultsync.api.derived import DerivedData
        from vaultsync.api.stores import StoreFactory
        from vaultsync.backends.state.vault_marker import set_store
        from vaultsync.operations import migrate as work
        from vaultsync.sync.run import sync_once
        from vaultsync.sync.sync_request import SyncRequest

        settings = structs.replace(self.settings, store=to)
        began = self._ctx.clock.monotonic()
        with self._engine(watched=_AND_AGAIN) as ctx, ExitStack() as closing:
            stores = StoreFactory(settings, ctx.clock, lambda: self._derived.embedder)
            if stores.where == self.store_path:
                raise ConfigError(f"the facts are in {to} already", hint="name another store")
            target = stores.open(create=True)
            closing.callback(target.close)
            sync_once(ctx, SyncRequest(actor=self._person()))
            copied = work.copy_store(ctx.store, target, progress=progress)
            facts, tombstones = work.check_copied(ctx.store, target, progress=progress)
            derived = DerivedData(settings, ctx.clock, closing, stores)
            ours, theirs = self._derived.vectors, derived.vectors
            carried = 0
            if ours is not None and theirs is not None and self._elsewhere(stores):
                carried = work.copy_vectors(ours, theirs, target, progress=progress)
            work.expect_store(ctx, target)
            set_store(self.settings.root, to)
        return work.MigrationReport(
            store=stores.where,
            facts=facts,
            tombstones=tombstones,
            copied=copied,
            vectors=carried,
            seconds=round(self._ctx.clock.monotonic() - began, 3),
        )

    def _elsewhere(self, stores: StoreFactory) -> bool:
        """Whether the vectors of another store would be in another place than ours."""
        return stores.points is not None or self._stores.points is not None
