"""What a pass is asked to do, and the pass under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vaultsync.model.paths import VaultPath
from vaultsync.storage.store import FeedRow, StoreState
from vaultsync.sync.context import SyncContext
from vaultsync.sync.identity import Case, NoteIdentities
from vaultsync.sync.planning import SyncPlan
from vaultsync.sync.report import Report
from vaultsync.sync.snapshot import ScannedFile, VaultSnapshot


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What a pass is asked to do, and what it is allowed."""

    kind: str = "sync"
    dry_run: bool = False
    allow_scope_moves: bool = False
    max_delete: int | None = None
    confirm: str | None = None
    """The run that the guard stopped and a person confirmed."""
    adopt: frozenset[VaultPath] = frozenset()
    """Notes to be adopted wherever they lie."""
    adopt_scope: str | None = None
    adopt_type: str | None = None
    reread: frozenset[VaultPath] = frozenset()
    named: tuple[str, ...] = ()
    """Facts to look at even when nothing seems to have changed."""
    facts_only: bool = False
    """Look at nothing else: an incremental pass."""
    folders: frozenset[VaultPath] | None = None
    """Look into these folders alone, and into those of what the store's feed names."""
    being_saved: frozenset[VaultPath] = frozenset()
    """Notes that somebody is saving just now: they wait."""
    read_all: bool = False
    """Read every note that is looked at, whatever its stamp says."""
    trust_store: bool = False
    """Take the store as it is, all of it, even when it lost what was seen: a rebuild."""
    drain_outbox_first: bool = True
    """Bring what waits in the outbox into the store first. What replaces what the store
    says must not: nobody has seen yet what waits, and the next pass merges it."""
    actor: str = "person"
    after: Report | None = None
    """What the pass did that this one completes: both are one run, with one report."""
    run: str | None = None
    """The id of the pass, when something of it was done before."""
    exempt_from_guard: frozenset[str] = frozenset()
    """Facts whose changes a person asked for, however many they are."""


@dataclass(slots=True)
class SyncRun:
    """A pass under way."""

    ctx: SyncContext
    request: SyncRequest
    run: str
    snapshot: VaultSnapshot
    identities: NoteIdentities
    cases: list[Case]
    unchanged: Sequence[ScannedFile]
    """New notes that are what their facts are written as: only their bases are missing."""
    feed: Sequence[FeedRow] | None
    state: StoreState | None
    since: int
    """Where the feed began."""
    plan: SyncPlan = field(default_factory=SyncPlan)
