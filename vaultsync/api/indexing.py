"""Bringing up to date what is derived: after each pass, and when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vaultsync.api.session import Session

if TYPE_CHECKING:
    from vaultsync.api.derived_data import Indexed, Parts
    from vaultsync.indexing.embedding_cost import Cost
    from vaultsync.sync.context import Mirror
    from vaultsync.sync.report import Progress, Report


_KEPT = (
    "it keeps what is derived up to date by itself; to have it made anew, or for another"
    " model, stop it first"
)


class Indexing(Session):
    """`index`, and what every pass does at its end."""

    def index(
        self,
        *,
        rebuild: bool = False,
        told: Callable[[Cost], bool] | None = None,
        progress: Progress | None = None,
    ) -> Indexed:
        """Bring `.index/`, the note index, the links and the vectors up to date.

        `told` is asked before all vectors are made anew for another model; without it
        they are made.

        Raises:
            EngineBusyError: another engine has this vault.
        """
        from vaultsync.api.derived_data import derive

        with self._engine(watched=_KEPT) as mirror:
            return derive(
                mirror,
                self._parts(),
                rebuild=rebuild,
                told=told or (lambda _: True),
                progress=progress,
            )

    def index_files(self) -> dict[str, str]:
        """The texts of `.index/`, by the names of the files."""
        from vaultsync.index_files.service import hidden_texts

        return hidden_texts(self._mirror)

    def _derived_from(
        self, mirror: Mirror, report: Report, progress: Progress | None = None
    ) -> Report:
        """The report of a pass, after which all that is derived follows it: it took both.

        Where the setting `derive` says no, it follows when somebody asks `index`.
        """
        from vaultsync.api.derived_data import derive, is_derived

        if not self.settings.derive:
            return report
        if report.dry_run or (report.quiet and is_derived(mirror)):
            return report
        done = derive(mirror, self._parts(), progress=progress)
        return replace(report, seconds=report.seconds + done.seconds)

    def _parts(self) -> Parts:
        from vaultsync.api.derived_data import Parts

        derived = self._derived
        return Parts(
            words=derived.words,
            links=derived.links,
            tables=derived.tables,
            vectors=derived.vectors,
            embedder=derived.embedder,
        )
