"""Bringing up to date what is derived: after each pass, and when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vaultsync.api.session import EngineSession

if TYPE_CHECKING:
    from vaultsync.api.derived_data import DerivedParts, DerivedReport
    from vaultsync.indexing.embedding_cost import EmbeddingCost
    from vaultsync.sync.context import SyncContext
    from vaultsync.sync.report import Progress, Report


_KEPT = (
    "it keeps what is derived up to date by itself; to have it made anew, or for another"
    " model, stop it first"
)


class IndexMethods(EngineSession):
    """`index`, and what every pass does at its end."""

    def index(
        self,
        *,
        rebuild: bool = False,
        told: Callable[[EmbeddingCost], bool] | None = None,
        progress: Progress | None = None,
    ) -> DerivedReport:
        """Bring `.index/`, the note index, the links and the vectors up to date.

        `told` is asked before all vectors are made anew for another model; without it
        they are made.

        Raises:
            EngineBusyError: another engine has this vault.
        """
        from vaultsync.api.derived_data import update_derived

        with self._engine(watched=_KEPT) as ctx:
            return update_derived(
                ctx,
                self._parts(),
                rebuild=rebuild,
                told=told or (lambda _: True),
                progress=progress,
            )

    def index_files(self) -> dict[str, str]:
        """The texts of `.index/`, by the names of the files."""
        from vaultsync.index_files.service import read_index_files

        return read_index_files(self._ctx)

    def _derived_from(
        self, ctx: SyncContext, report: Report, progress: Progress | None = None
    ) -> Report:
        """The report of a pass, after which all that is derived follows it: it took both.

        Where the setting `derive` says no, it follows when somebody asks `index`.
        """
        from vaultsync.api.derived_data import is_derived_current, update_derived

        if not self.settings.derive:
            return report
        if report.dry_run or (report.quiet and is_derived_current(ctx)):
            return report
        done = update_derived(ctx, self._parts(), progress=progress)
        return replace(report, seconds=round(report.seconds + done.seconds, 3))

    def _parts(self) -> DerivedParts:
        from vaultsync.api.derived_data import DerivedParts

        derived = self._derived
        return DerivedParts(
            words=derived.words,
            links=derived.links,
            tables=derived.tables,
            vectors=derived.vectors,
            embedder=derived.embedder,
        )
