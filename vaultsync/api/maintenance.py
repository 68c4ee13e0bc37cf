"""Maintenance of all parts of a memory, in steps."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.api.erasing import prune, purge_parts
from vaultsync.api.wiring import Services
from vaultsync.model.steps import Steps
from vaultsync.operations.maintain import run_maintenance
from vaultsync.operations.purge import purge_facts
from vaultsync.proposals.make_proposals import make_proposals
from vaultsync.sync.report import MaintenanceReport


def maintain_in_steps(
    services: Services,
    engine: Engine,
    *,
    actor: str,
    dry_run: bool = False,
    **arguments: Any,  # noqa: ANN401 - of `run_maintenance()`
) -> Steps[MaintenanceReport]:
    """As `Memory.maintain()`, under the lock and without updating derived data."""
    ctx, settings = engine.ctx, services.settings
    arguments |= {"floor": settings.decay_floor, "actor": actor, "dry_run": dry_run}
    report = yield from run_maintenance(ctx, **arguments)
    pruned = prune(services, dry_run=dry_run)
    if not dry_run:  # complete an interrupted purge
        purge_facts(ctx, (), purge_parts(services, engine))
    yield
    modes = structs.asdict(settings.proposals)
    rules = yield from make_proposals(ctx, modes, dry_run=dry_run)
    return MaintenanceReport(**structs.asdict(report), pruned=pruned, **rules._asdict())
