"""Maintenance of all parts of a memory, in steps."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.api.erasing import prune, purge_parts
from vaultsync.api.wiring import Services
from vaultsync.model.steps import Steps
from vaultsync.operations.maintain import maintain_facts_in_steps
from vaultsync.operations.purge import purge_facts
from vaultsync.proposals.make_proposals import make_proposals_in_steps
from vaultsync.sync.report import MaintenanceReport


def maintain_in_steps(
    services: Services,
    engine: Engine,
    *,
    actor: str,
    dry_run: bool = False,
    **arguments: Any,  # noqa: ANN401 - of `maintain_facts_in_steps()`
) -> Steps[MaintenanceReport]:
    """As `Memory.maintain()`, under the lock and without updating derived data."""
    ctx, settings = engine.ctx, services.settings
    arguments |= {"floor": settings.decay_floor, "actor": actor, "dry_run": dry_run}
    report = yield from maintain_facts_in_steps(ctx, **arguments)
    pruned = prune(services, dry_run=dry_run)
    if not dry_run:  # complete an interrupted purge
        purge_facts(ctx, (), purge_parts(services, engine))
    yield
    modes = structs.asdict(settings.proposals)
    rules = yield from make_proposals_in_steps(ctx, modes, dry_run=dry_run)
    return MaintenanceReport(**structs.asdict(report), pruned=pruned, **rules._asdict())
