"""What a pass is asked to do, and the pass under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vaultsync.model.paths import VaultPath
from vaultsync.storage.store import StoreState, Written
from vaultsync.sync.context import Mirror
from vaultsync.sync.identity import Case, Identities
from vaultsync.sync.planning import Plan
from vaultsync.sync.report import Report
from vaultsync.sync.snapshot import Seen, Snapshot


@dataclass(frozen=True, slots=True)
class Request:
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
    look_again: frozenset[VaultPath] = frozenset()
    named: tuple[str, ...] = ()
    """Facts to look at even when nothing seems to have changed."""
    only_named: bool = False
    """Look at nothing else: an incremental pass."""
    folders: frozenset[VaultPath] | None = None
    """Look into these folders alone, and into those of what the store's feed names."""
    unsettled: frozenset[VaultPath] = frozenset()
    """Notes that somebody is saving just now: they wait."""
    hashed: bool = False
    """Read every note that is looked at, whatever its stamp says."""
    trust_store: bool = False
    """Take the store as it is, all of it, even when it lost what was seen: a rebuild."""
    deliver: bool = True
    """Bring what waits in the outbox into the store first. What replaces what the store
    says must not: nobody has seen yet what waits, and the next pass merges it."""
    actor: str = "person"
    after: Report | None = None
    """What the pass did that this one completes: both are one run, with one report."""
    run: str | None = None
    """The id of the pass, when something of it was done before."""
    unguarded: frozenset[str] = frozenset()
    """Facts whose changes a person asked for, however many they are."""


@dataclass(slots=True)
class Pass:
    """A pass under way."""

    mirror: Mirror
    request: Request
    run: str
    found: Snapshot
    who: Identities
    cases: list[Case]
    agreed: Sequence[Seen]
    """New notes that are what their facts are written as: only their bases are missing."""
    feed: Sequence[Written] | None
    state: StoreState | None
    since: int
    """Where the feed began."""
    plan: Plan = field(default_factory=Plan)
