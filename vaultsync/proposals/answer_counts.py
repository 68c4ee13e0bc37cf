"""Counts of answers to proposals; kinds that are mostly rejected are no longer proposed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from vaultsync.storage.archive import Archive
from vaultsync.sync.context import SyncContext

ANSWERS_SETTING = "proposal_answers"
"""The setting of the archive: kind -> numbers of accepted and rejected proposals."""
MIN_ANSWERS = 10
"""Minimum number of answers before a kind may be disabled."""
REJECTED_SHARE = 0.7
"""Share of rejected proposals, 0 to 1, from which a kind is disabled."""


def answer_counts(archive: Archive) -> Mapping[str, tuple[int, int]]:
    """Kind -> how many of the rules' proposals the user accepted and rejected."""
    found = json.loads(archive.setting(ANSWERS_SETTING) or "{}")
    return {kind: (accepted, rejected) for kind, (accepted, rejected) in found.items()}


def count_answers(ctx: SyncContext, kinds: Iterable[str], *, accepted: bool) -> None:
    """Count one answer for each kind in the list."""
    counts = dict(answer_counts(ctx.archive))
    for kind in kinds:
        yes, no = counts.get(kind, (0, 0))
        counts[kind] = (yes + accepted, no + (not accepted))
    _write(ctx, counts)


def forget_answers(ctx: SyncContext, kinds: Iterable[str]) -> None:
    """Reset the counts of kinds, as when the user switches one off and on again."""
    counts = answer_counts(ctx.archive)
    off = frozenset(kinds)
    if off & counts.keys():
        _write(ctx, {kind: count for kind, count in counts.items() if kind not in off})


def silent_kinds(counts: Mapping[str, tuple[int, int]]) -> Mapping[str, str]:
    """The kinds that are no longer proposed, each with the reason as a sentence."""
    found = {}
    for kind, (yes, no) in counts.items():
        answers = yes + no
        if answers >= MIN_ANSWERS and no >= REJECTED_SHARE * answers:
            found[kind] = f"{kind}: {no} of {answers} were rejected"
    return found


def _write(ctx: SyncContext, counts: Mapping[str, tuple[int, int]]) -> None:
    ctx.set_setting(ANSWERS_SETTING, json.dumps(counts))
