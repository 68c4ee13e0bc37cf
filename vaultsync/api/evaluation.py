"""Evaluate recall on the vault of a `Memory`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from vaultsync.api.wiring import Services
from vaultsync.errors import UsageError
from vaultsync.operations.evaluate import (
    EvalQuestion,
    Evaluation,
    EvaluationParts,
    Paired,
    evaluate,
)
from vaultsync.recall.past_facts import FixedClock
from vaultsync.recall.result import RecallSources
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import SyncContext
from vaultsync.sync.run import preview_run
from vaultsync.sync.sync_request import SyncRequest


def evaluate_vault(
    services: Services,
    ctx: SyncContext,
    questions: Sequence[EvalQuestion],
    *,
    budget: int,
    rounds: int,
) -> Evaluation:
    """As `Memory.evaluate()`, for the agent and the user of the settings."""
    if not questions:
        raise UsageError("there are no questions", hint="give at least one")
    agent, clock = services.settings.agent, services.clock
    view = AgentView(ctx, agent)
    notes = ctx.archive.paths().items()
    paths = {str(path): fact_id for path, fact_id in notes if view.sees_path(path)}

    def sources(at: datetime | None) -> RecallSources:
        question_ctx = ctx if at is None else replace(ctx, clock=FixedClock(clock, at))
        return services.recall_sources(question_ctx, agent)

    def sync() -> None:
        preview_run(ctx, SyncRequest(dry_run=True))

    parts = EvaluationParts(
        sources,
        services.token_counter,
        {**{x: x for x in paths.values()}, **paths},
        clock.processor_seconds,
        agent=agent,
        user=services.settings.user,
        others=(Paired("sync/nothing to do", ctx.vault.scan, sync),),
    )
    return evaluate(parts, questions, budget=budget, rounds=rounds)
