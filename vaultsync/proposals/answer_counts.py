"""How the user answered the proposals of rules, from which the rules learn when to be silent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from vaultsync.storage.archive import Archive
from vaultsync.sync.context import SyncContext

ANSWERS_SETTING = "proposal_answers"
"""The setting of the archive: kind -> how many were accepted, and how many rejected."""
MIN_ANSWERS = 10
"""Answers from which on a kind may fall silent."""
REJECTED_SHARE = 0.7
"""Share of rejected ones from which on it does."""


def answer_counts(archive: Archive) -> Mapping[str, tuple[int, int]]:
    """Kind -> how many proposals of rules the user accepted and rejected."""
    found = json.loads(archive.setting(ANSWERS_SETTING) or "{}")
    return {kind: (accepted, rejected) for kind, (accepted, rejected) in found.items()}


def count_answers(ctx: SyncContext, kinds: Iterable[str], *, accepted: bool) -> None:
    """Count answers, one for each kind that is named."""
    counts = dict(answer_counts(ctx.archive))
    for kind in kinds:
        yes, no = counts.get(kind, (0, 0))
        counts[kind] = (yes + accepted, no + (not accepted))
    _write(ctx, counts)


def forget_answers(ctx: SyncContext, kinds: Iterable[str]) -> None:
    """Forget the answers about kinds; a user who switches one off and on starts again."""
    counts = answer_counts(ctx.archive)
    off = frozenset(kinds)
    if off & counts.keys():
        _write(ctx, {kind: count for kind, count in counts.items() if kind not in off})


def silent_kinds(counts: Mapping[str, tuple[int, int]]) -> Mapping[str, str]:
    """The kinds that make no proposals any more, each with the reason in words."""
    found = {}
    for kind, (yes, no) in counts.items():
        answers = yes + no
        if answers >= MIN_ANSWERS and no >= REJECTED_SHARE * answers:
            found[kind] = f"{kind}: {no} of {answers} were rejected"
    return found


def _write(ctx: SyncContext, counts: Mapping[str, tuple[int, int]]) -> None:
    with ctx.archive.transaction():
        ctx.archive.set_setting(ANSWERS_SETTING, json.dumps(counts))
