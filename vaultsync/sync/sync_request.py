"""The request for a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaultsync.model.paths import VaultPath
from vaultsync.sync.report import Report


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What a run should and may do; by default, it syncs everything."""

    kind: str = "sync"
    """The kind under which the archive records the run."""
    actor: str = "person"
    """Who changed the notes, for the history."""
    dry_run: bool = False
    run: str | None = None
    """The id of the run, if part of it was done before."""
    after: Report | None = None
    """The report of the run that this one completes; both become one run with one report."""

    # What to examine.
    fact_ids: tuple[str, ...] = ()
    """Facts to examine even if nothing seems to have changed."""
    facts_only: bool = False
    """Examine only `fact_ids`."""
    folders: frozenset[VaultPath] | None = None
    """Scan these folders and those of the facts in the store's feed; None for all."""
    reread: frozenset[VaultPath] = frozenset()
    """Notes to read even if nothing seems to have changed."""
    read_all: bool = False
    """Read every note in the scanned folders, whatever its stamp says."""
    being_saved: frozenset[VaultPath] = frozenset()
    """Notes that an editor is saving right now; they wait."""

    # What the user allowed.
    allow_scope_moves: bool = False
    max_delete: int | None = None
    confirm: str | None = None
    """The run that the guard stopped and the user confirmed."""
    exempt_from_guard: frozenset[str] = frozenset()
    """Facts that the user asked to change, however many there are."""

    # Adoption.
    adopt: frozenset[VaultPath] = frozenset()
    """Notes to adopt, in any folder."""
    adopt_scope: str | None = None
    adopt_type: str | None = None

    # Rebuilds.
    trust_store: bool = False
    """Accept the store as it is, even if it lost rows."""
    drain_outbox_first: bool = True
    """Write queued changes to the store before the scan. A rebuild that replaces the store's
    facts must not: the queue has not been merged yet, and the next run merges it."""

    @property
    def is_partial(self) -> bool:
        """Whether it examines only some facts or folders."""
        return self.facts_only or self.folders is not None

    @classmethod
    def for_facts(
        cls,
        fact_ids: Iterable[str],
        kind: str,
        *,
        actor: str = "person",
        run: str | None = None,
        after: Report | None = None,
        guarded: bool = True,
    ) -> SyncRequest:
        """An incremental run that examines only some facts and their notes."""
        ids = tuple(fact_ids)
        exempt = frozenset[str]() if guarded else frozenset(ids)
        return cls(
            kind,
            actor,
            run=run,
            after=after,
            fact_ids=ids,
            facts_only=True,
            exempt_from_guard=exempt,
        )
