"""Classify pending observations, as a run that `undo` reverts.

Critical and notable observations become active; background is shortened and archived, and keeps
its original. The user's decisions stand: an observation whose note they edited is neither
shortened nor archived, one that they moved to the folder of a tier keeps that tier, and one whose
classification they undid stays pending until they move it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import dropwhile

from msgspec import structs

from vaultsync.indexing.ports import OLDEST, NoteIndex
from vaultsync.links.wikilinks import find_links, name_key, whole_link
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import (
    ARCHIVED,
    COMPRESSED,
    OBSERVATION,
    ORIGINAL,
    PENDING,
    is_background_observation,
    is_pending_observation,
)
from vaultsync.model.permissions import Reader
from vaultsync.model.schema import DEFAULT_STATUS, TIER_PRIORITIES, TIERS, TYPES, Value, tier_of
from vaultsync.observations.classifier import (
    BACKGROUND,
    CRITICAL,
    NOTABLE,
    Classifier,
    ObservedText,
)
from vaultsync.observations.compression import compress
from vaultsync.observations.observation_lists import find_observations
from vaultsync.storage.archive import HistoryEntry
from vaultsync.storage.clock import time_text
from vaultsync.sync.context import SyncContext
from vaultsync.sync.fact_changes import FactChange, report_changes, write_changes
from vaultsync.sync.history import is_by_person
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import sync_once, sync_written
from vaultsync.sync.sync_request import SyncRequest

RUN_KIND = "observations"
"""The kind of the runs, and who the history says made their changes."""
MAX_PER_RUN = 10_000
"""Maximum number of observations of one run, the oldest first."""
MAX_SINCE = 1_000
"""Maximum number of writes since a position whose facts are read; for more, the index is asked."""
TEXTS_PER_BATCH = 250
"""Observations per batch of classifying and writing."""
HALF_LIVES_KEPT = 4
"""The number of half-lives after which background expires, from when it was archived."""
IMPORTANCE: Mapping[str, float] = {CRITICAL: 0.8, NOTABLE: 0.5, BACKGROUND: 0.1}
"""Importance by tier; each entity that an observation is about adds to it."""
IMPORTANCE_PER_ENTITY, MAX_COUNTED_ENTITIES = 0.05, 4


class ProcessReport(Report, frozen=True):
    """The result of a run over the pending observations, or with `dry_run` the plan."""

    classified: int = 0
    critical: int = 0
    notable: int = 0
    background: int = 0
    compressed: int = 0
    """Of the background, how many were shortened."""
    pending: int = 0
    """How many still wait, because the classifier did not answer or they changed meanwhile."""


def process(
    ctx: SyncContext,
    index: NoteIndex,
    classifier: Classifier,
    *,
    agent: str | None = None,
    dry_run: bool = False,
    is_synced: bool = False,
    since: int = 0,
    actor: str = "person",
    progress: Progress | None = None,
) -> ProcessReport:
    """Classify the pending observations that an agent may see and change.

    A sync run comes first, so that edits and moves of notes are known; another one writes the
    changes to the notes. Concurrent changes stay, and those facts wait for the next run.
    `is_synced` is whether a run has just looked at the whole vault. Observations that were not
    written after `since`, a position in the store's feed, may be left out. An agent of None is the
    user, who may change all; the history names the `actor`.

    Raises:
        StoreUnavailableError: the store is unavailable.
        GuardError: the first sync run is not plausible; nothing was classified.
    """
    began = ctx.clock.monotonic()
    if not (dry_run or is_synced):
        sync_once(ctx, SyncRequest(actor=actor))
    reader = ctx.policy.permissions.reader(agent)
    ids = _ids(ctx, index, reader, since)
    run = ctx.clock.new_id()
    results: list[FactChange] = []
    waiting = 0
    for start in range(0, len(ids), TEXTS_PER_BATCH):
        batch = ids[start : start + TEXTS_PER_BATCH]
        facts = ctx.store.find_many(batch).values()
        theirs = [x for x in facts if ctx.policy.permissions.may_write(agent, x.scope)]
        decisions, unanswered = _decide(ctx, classifier, theirs)
        written = decisions if dry_run else write_changes(ctx, decisions, RUN_KIND)[0]
        waiting += unanswered + len(decisions) - len(written)
        results += written
        if progress is not None:
            progress("observations", len(results) + waiting, len(ids))
    report = _report(ctx, run, results, began, waiting=waiting, dry_run=dry_run)
    if dry_run or not results:
        return report
    changed = [each.before.id for each in results]
    request = SyncRequest.for_facts(changed, RUN_KIND, actor=actor, run=run, guarded=False)
    return sync_written(ctx, request, report, began, progress=progress)


def _ids(ctx: SyncContext, index: NoteIndex, reader: Reader | None, since: int) -> list[str]:
    """The pending observations, and those that a person may have moved out of the background."""
    every = FactFilters(types=frozenset({OBSERVATION}), heads_only=False, reader=reader)
    moved = every._replace(status=ARCHIVED, tiers=frozenset({CRITICAL, NOTABLE}))
    wanted = (every._replace(status=PENDING), moved)
    rows = ctx.store.feed(since) if since else []
    if since and len(rows) <= MAX_SINCE:
        facts = ctx.store.find_many(row.fact_id for row in rows).items()
        return [key for key, fact in facts if any(each.admits(fact) for each in wanted)]
    return [
        fact_id
        for each in wanted
        for fact_id in find_observations(ctx, index, each, order=OLDEST, limit=MAX_PER_RUN)
    ]


def _decide(
    ctx: SyncContext, classifier: Classifier, facts: Iterable[Fact]
) -> tuple[list[FactChange], int]:
    """The outcomes for some observations, and how many the classifier did not answer."""
    decisions: list[FactChange] = []
    pending: list[tuple[Fact, bool]] = []
    for fact in facts:
        is_moved_background = (
            is_background_observation(fact) and fact.priority not in TIERS[BACKGROUND]
        )
        if not (is_moved_background or is_pending_observation(fact)):
            continue
        history = ctx.archive.history(fact_id=fact.id)
        latest = _since_its_status(history)
        moved = any(each.field == "priority" for each in latest if is_by_person(each))
        if is_pending_observation(fact):
            if moved:
                active = fact.evolve(status=DEFAULT_STATUS, importance=importance_of(fact))
                reason = f"{tier_of(fact.priority)}: the user chose the tier"
                decisions.append(FactChange(fact, active, reason))
            elif not _was_undone(history):
                pending.append((fact, any(map(is_by_person, history))))
        elif moved:
            decisions.append(
                FactChange(fact, expanded(fact), "the user moved it out of the background")
            )
    texts = [_observed(ctx, fact) for fact, _ in pending]
    tiers = classifier.classify(texts) if texts else []
    unanswered = 0
    for (fact, is_edited), text, tier in zip(pending, texts, tiers, strict=True):
        if tier is None:
            unanswered += 1
            continue
        why = "; ".join(classifier.explain(text)[:1])
        reason = f"{tier}, by {classifier.name}" + (f": {why}" if why else "")
        after = classified(fact, tier, now=ctx.clock.now(), is_edited=is_edited)
        decisions.append(FactChange(fact, after, reason))
    return decisions, unanswered


def _observed(ctx: SyncContext, fact: Fact) -> ObservedText:
    """An observation as a classifier may read it, without its secrets."""
    shown = ctx.view.redact(fact)
    return ObservedText(shown.content or shown.title, shown.context or "")


def _since_its_status(history: Sequence[HistoryEntry]) -> Sequence[HistoryEntry]:
    """The history of an observation since the run that set its status."""
    run = next((each.run for each in reversed(history) if each.field == "status"), None)
    return [*dropwhile(lambda each: run not in (None, each.run), history)]


def _was_undone(history: Sequence[HistoryEntry]) -> bool:
    """Whether an observation is pending again because its classification was undone."""
    return any(
        each.field == "status" and each.after == PENDING and each.before is not None
        for each in history
    )


def importance_of(fact: Fact) -> float:
    """The importance of an observation: by its tier, and 0.05 for each of up to 4 entities.

    Entities are those of its field and those that its text links to.
    """
    named = {each.target for each in find_links(fact.content)}
    named.update(link.target if (link := whole_link(each)) else each for each in fact.entities)
    entities = min(len(set(map(name_key, named))), MAX_COUNTED_ENTITIES)
    return round(IMPORTANCE[tier_of(fact.priority)] + IMPORTANCE_PER_ENTITY * entities, 2)


def classified(fact: Fact, tier: str, *, now: datetime, is_edited: bool) -> Fact:
    """An observation with its tier; the background is shortened unless a person edited it.

    It expires some time after `now`, however long it waited: the user has that time to see it.
    """
    fact = fact.evolve(priority=TIER_PRIORITIES[tier], status=DEFAULT_STATUS)
    fact = fact.evolve(importance=importance_of(fact))
    if tier != BACKGROUND or is_edited:
        return fact
    short = compress(fact.content)
    is_shorter = len(short) < len(fact.content)
    own: dict[str, Value] = {**fact.own, COMPRESSED: is_shorter}
    if is_shorter:
        own[ORIGINAL] = fact.content
        fact = fact.evolve(content=short)
    end = now + timedelta(days=HALF_LIVES_KEPT * TYPES[OBSERVATION].half_life)
    return fact.evolve(status=ARCHIVED, own=own, expires_at=time_text(end))


def expanded(fact: Fact) -> Fact:
    """A shortened observation with its original text.

    If it was changed since, as when the target of a link in it was renamed, it keeps its text, and
    the original beside it.
    """
    own = {key: value for key, value in fact.own.items() if key != COMPRESSED}
    original = fact.own.get(ORIGINAL)
    if isinstance(original, str) and compress(original) == fact.content:
        fact = fact.evolve(content=original)
        del own[ORIGINAL]
    fact = fact.evolve(own=own, status=DEFAULT_STATUS, expires_at=None)
    return fact.evolve(importance=importance_of(fact))


def _report(
    ctx: SyncContext,
    run: str,
    decisions: Sequence[FactChange],
    began: float,
    *,
    waiting: int,
    dry_run: bool,
) -> ProcessReport:
    report = report_changes(ctx, run, decisions, began, dry_run=dry_run)
    done = [each.after for each in decisions if each.after is not None]
    tiers = Counter(tier_of(each.priority) for each in done)
    return ProcessReport(
        **structs.asdict(report),
        classified=len(decisions),
        critical=tiers[CRITICAL],
        notable=tiers[NOTABLE],
        background=tiers[BACKGROUND],
        compressed=sum(each.own.get(COMPRESSED) is True for each in done),
        pending=waiting,
    )
