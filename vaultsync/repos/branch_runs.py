"""Runs for the facts of branches: promote facts, and combine old summaries; `undo` reverts both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct

from vaultsync.model.counts import count_noun
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import PLACE_PROPERTIES, Value
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.observations.compression import compress
from vaultsync.proposals.producers import RULES
from vaultsync.proposals.service import ProposalDraft
from vaultsync.repos.entries import (
    COMMIT,
    NOTE,
    PROMOTED,
    SUMMARY,
    WEEK,
    decided_in,
    open_follow_ups,
    recorded,
    without_boxes,
)
from vaultsync.sync.context import SyncContext
from vaultsync.sync.fact_changes import FactChange, report_changes, write_changes
from vaultsync.sync.run import sync_written
from vaultsync.sync.sync_request import SyncRequest

RUN_KIND = "repos"
"""The kind of the runs, and who the history says made their changes."""
KEPT_SHARE = 0.75
"""The share of the limit that folding leaves, so that not every new summary triggers a run."""


class Promotion(Struct, frozen=True):
    """Facts that were promoted to another branch."""

    promoted: int
    run: str | None = None
    """The run that `undo` reverts; None where there was nothing to do."""
    ids: tuple[str, ...] = ()


class Copied(Struct, frozen=True):
    """Facts that were copied to another branch."""

    copied: int
    run: str | None = None
    ids: tuple[str, ...] = ()


def promote(ctx: SyncContext, commits: Mapping[str, str], *, actor: str) -> Promotion:
    """Make facts hold at other commits too, in one run; requires the engine's lock.

    `commits` are fact id -> the further commit at which it holds.

    Raises:
        StoreUnavailableError: nothing was done.
    """
    changes = []
    for fact in ctx.store.find_many(commits).values():
        known = recorded(fact)
        commit = commits[fact.id]
        if known.commit is not None and commit not in (known.commit, *known.promoted):
            promoted = fact.replace({PROMOTED: [*known.promoted, commit]})
            changes.append(FactChange(fact, promoted, "promoted"))
    run, done = _write(ctx, changes, actor=actor)
    return Promotion(len(done), run, done)


def fold(ctx: SyncContext, summaries: Sequence[Fact], stay: int, *, actor: str) -> int:
    """Fold the summaries of a branch but the newest into weekly digests; returns how many.

    A digest is a note with the decisions, the open follow-ups and a line for each step. The
    summaries are forgotten: the history has them, and `undo` and `restore` bring them back. The
    `summaries` are newest first; `stay` is how many of them stay.

    Raises:
        StoreUnavailableError: nothing was done.
    """
    old = ctx.store.find_many([each.id for each in summaries[stay:]])
    weeks: dict[str, list[Fact]] = {}
    for fact in sorted(old.values(), key=lambda each: (each.created_at, each.id)):
        weeks.setdefault(week_of(fact), []).append(fact)
    newer = [each for each in summaries[:stay] if each.type == SUMMARY]
    digests = [_digest(ctx, week, facts, newer) for week, facts in weeks.items()]
    forgotten = [FactChange(fact, None, "folded") for fact in old.values()]
    _, done = _write(ctx, forgotten, digests, actor=actor)
    return len(old.keys() & {*done})


def count_kept(summaries: Sequence[Fact], *, entries: int, size: int) -> int:
    """How many of the newest summaries stay; all if they are within the limits."""
    sizes = [len(each.content.encode("utf-8", "surrogatepass")) for each in summaries]
    if len(sizes) <= entries and sum(sizes) <= size:
        return len(sizes)
    totals = enumerate(accumulate(sizes), start=1)
    fits = (n <= entries * KEPT_SHARE and total <= size * KEPT_SHARE for n, total in totals)
    return max(1, sum(fits))


def week_of(fact: Fact) -> str:
    """The week in which a fact was written, such as `2026-W08`."""
    year, week, _ = datetime.fromisoformat(fact.created_at).isocalendar()
    return f"{year}-W{week:02}"


def _digest(ctx: SyncContext, week: str, facts: Sequence[Fact], newer: Sequence[Fact]) -> Fact:
    """The digest of a week's summaries, which are given oldest first."""
    last = facts[-1]
    at = recorded(last)
    content = digest_text(facts, newer)
    values: dict[str, Value] = {
        "id": ctx.clock.new_id(),
        "type": NOTE,
        "title": f"{week} on {at.branch}" if at.branch else week,
        "content": content,
        "scope": last.scope,
        "themeIds": [*last.theme_ids],
        "createdAt": last.created_at,
        "updatedAt": ctx.today(),
        "agentId": last.agent_id,
        WEEK: week,
        **{key: last.plain(key) for key in PLACE_PROPERTIES},
    }
    return make_fact(values)


def digest_text(facts: Sequence[Fact], newer: Sequence[Fact]) -> str:
    """The text of a digest: decisions, open follow-ups, and a line for each summary.

    The `facts` are the summaries, oldest first; `newer` ones may close follow-ups.
    """
    decided = [f"- Decision: {line}" for fact in facts for line in decided_in(fact)]
    mine = {text for fact in facts for text in open_follow_ups([fact])}
    still_open = open_follow_ups([*newer, *reversed(facts)])
    boxes = [f"- [ ] {text}" for text in still_open if text in mine]
    steps = [f"- {fact.created_at[:10]}: {compress(without_boxes(fact.content))}" for fact in facts]
    parts = [each for each in (decided, boxes, steps) if each]
    return "\n\n".join("\n".join(lines) for lines in parts)


def keep_branch(branch: str, facts: Sequence[Fact]) -> ProposalDraft:
    """A proposal to keep the facts of a branch that was deleted before it was merged."""
    kinds = Counter(fact.type for fact in facts)
    many = ", ".join(count_noun(n, kind) for kind, n in sorted(kinds.items()))
    changes = tuple(
        ProposedChange.of(fact, {COMMIT: None}, path=fact.path)
        for fact in sorted(facts, key=lambda each: each.id)
    )
    why = f"The branch {branch!r} was deleted before its merge. Kept facts apply to all branches."
    return ProposalDraft("branch", f"Keep {many} of {branch}", why, RULES, facts[0].scope, changes)


def _write(
    ctx: SyncContext, changes: Sequence[FactChange], new: Iterable[Fact] = (), *, actor: str
) -> tuple[str | None, tuple[str, ...]]:
    """Write to the store, and update the notes; returns the run and the changed facts."""
    done, ids = write_changes(ctx, changes, RUN_KIND, new=new)
    if not ids:
        return None, ()
    run, began = ctx.clock.new_id(), ctx.clock.monotonic()
    request = SyncRequest.for_facts(ids, RUN_KIND, actor=actor, run=run, guarded=False)
    updated = [each for each in done if each.after is not None]
    sync_written(ctx, request, report_changes(ctx, run, updated, began, dry_run=False), began)
    return run, tuple(ids)
