"""Observations with a known tier: those that the user moved, and the shipped examples."""

from __future__ import annotations

import pkgutil
import tomllib
from functools import cache
from typing import NamedTuple

from vaultsync.model.hiding import OBSERVATION, is_pending_observation, original_text
from vaultsync.model.schema import tier_of
from vaultsync.sync.context import ReadContext
from vaultsync.sync.history import is_by_person

MAX_LABELLED = 1_000
"""Maximum number of examples from a vault: those that the user moved last."""


class LabelledText(NamedTuple):
    """A text with its tier."""

    text: str
    tier: str


@cache
def shipped_examples() -> tuple[LabelledText, ...]:
    """The examples of the package."""
    data = pkgutil.get_data("vaultsync.observations", "examples.toml") or b""
    return tuple(
        LabelledText(text, tier)
        for tier, languages in tomllib.loads(data.decode()).items()
        for texts in languages.values()
        for text in texts
    )


def moved_by_people(ctx: ReadContext) -> list[LabelledText]:
    """The observations whose priority the user changed, such as by moving their notes."""
    moved: dict[str, None] = {}
    for entry in ctx.archive.history(field="priority"):
        if is_by_person(entry):
            moved.pop(entry.fact_id, None)
            moved[entry.fact_id] = None
    return [
        LabelledText(original_text(fact), tier_of(fact.priority))
        for fact in ctx.redacted_store.find_many([*moved][-MAX_LABELLED:]).values()
        if fact.type == OBSERVATION and not is_pending_observation(fact)
    ]
