"""Upkeep: what a memory can do without goes, as a pass that can be undone.

What the feed did not tell: facts of which base and store disagree, found by comparing all.

A feed names what was written. What a store lost by itself, a replica that came back from a
backup with some of its points, nobody wrote; a comparison of all revisions finds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from vaultsync.errors import GuardError
from vaultsync.model.decay import FLOOR
from vaultsync.operations.retention import LONGEST, Duty, upkeep
from vaultsync.storage.store import RevisionMismatch, Write
from vaultsync.sync.context import Mirror
from vaultsync.sync.decision_table import Action, Do, guard
from vaultsync.sync.pass_types import Request
from vaultsync.sync.report import ActionTaken, Progress, Report
from vaultsync.sync.run import remember_run, sync


def look_again(mirror: Mirror) -> list[str]:
    """Have the next pass look at what was overlooked; returns which facts that are.

    Raises:
        StoreUnavailableError.
    """
    rows = mirror.store.feed()
    there = {row.fact_id: row.revision for row in rows if not row.deleted}
    held = {base.fact.id: base.fact.revision for base in mirror.archive.iter_bases()}
    found = [each for each in {**held, **there} if held.get(each) != there.get(each)]
    if found:
        waiting = (mirror.archive.setting("waiting") or "").split()
        with mirror.archive.transaction():
            every = " ".join(dict.fromkeys([*waiting, *found]))
            mirror.archive.set_setting("waiting", every)
    return found


BATCH = 500
STOPPED = "stopped_upkeep"
"""The setting that names the upkeep that the guard stopped last: passes come between it
and the word of a person, and none of them is that run."""
_WORDS = {
    True: ("delete_fact", "deleted_in_store"),
    False: ("update_store", "updated_in_store"),
}


def maintain(
    mirror: Mirror,
    *,
    dry_run: bool = False,
    floor: float = FLOOR,
    longest: int = LONGEST,
    max_delete: int | None = None,
    confirm: str | None = None,
    actor: str = "person",
    progress: Progress | None = None,
) -> Report:
    """Delete what expired or faded, and collapse long chains; notes follow.

    A pass comes first, so that what a person just wrote is known, and what the store lost
    by itself, which all revisions are compared for, is given back; another one brings
    what is done to the notes: it has a run, a history, and can be undone. What somebody
    writes meanwhile stays.

    Raises:
        StoreUnavailableError: nothing was done.
        GuardError: it would delete too much to be plausible; nothing was done.
    """
    began = mirror.clock.monotonic()
    request = Request(
        kind="maintain",
        actor=actor,
        confirm=confirm,
        max_delete=max_delete,
        run=mirror.clock.new_id(),
    )
    meant = confirm is not None and confirm == mirror.archive.setting(STOPPED)
    if not dry_run:
        look_again(mirror)
        sync(mirror, Request(actor=actor))
    facts = mirror.store.iter_facts()
    duties = upkeep(facts, mirror.clock.now(), floor=floor, longest=longest)
    if not dry_run:
        if not meant:
            _check(mirror, request, duties)
        duties = _carry_out(mirror, duties, actor, progress)
        _remember_stopped(mirror, None)
    told = _report(mirror, request, duties, began, dry_run=dry_run)
    if dry_run or not duties:
        return told
    named = tuple(duty.fact.id for duty in duties)
    after = replace(request, named=named, unguarded=frozenset(named), confirm=None)
    followed = sync(mirror, after, progress=progress)
    whole = replace(
        followed,
        seconds=mirror.clock.monotonic() - began,
        counts=dict(Counter(told.counts) + Counter(followed.counts)),
        actions=[*told.actions, *followed.actions],
    )
    remember_run(mirror, request, whole)
    return whole


def _check(mirror: Mirror, request: Request, duties: Sequence[Duty]) -> None:
    """See that no more goes than is plausible.

    Raises:
        GuardError: it would.
    """
    gone = [
        Action(Do.DELETE_FACT, duty.fact.id, duty.reason)
        for duty in duties
        if duty.becomes is None
    ]
    facts = mirror.store.state().facts
    why = guard(gone, facts, max_delete=request.max_delete)
    if why is None:
        return
    run = request.run or ""
    _remember_stopped(mirror, run)
    stopped = GuardError(why, run)
    stopped.hint = (
        "look at it with `vaultsync maintain --dry-run`; if it is meant, say"
        f" `vaultsync maintain --confirm {run}`"
    )
    raise stopped


def _remember_stopped(mirror: Mirror, run: str | None) -> None:
    if mirror.archive.setting(STOPPED) != run:
        with mirror.archive.transaction():
            mirror.archive.set_setting(STOPPED, run)


def _carry_out(
    mirror: Mirror, duties: Sequence[Duty], actor: str, progress: Progress | None
) -> list[Duty]:
    """Write to the store; returns what was done. Who was faster than this stays."""
    done: list[Duty] = []
    at = mirror.today()
    for start in range(0, len(duties), BATCH):
        some = duties[start : start + BATCH]
        answers = mirror.store.write(
            [
                Write(
                    duty.fact.id,
                    duty.becomes and duty.becomes.but(updated_at=at),
                    duty.fact.revision,
                    actor,
                )
                for duty in some
            ]
        )
        done += [
            duty
            for duty, answer in zip(some, answers, strict=True)
            if not isinstance(answer, RevisionMismatch)
        ]
        if progress is not None:
            progress("maintain", start + len(some), len(duties))
    return done


def _report(
    mirror: Mirror,
    request: Request,
    duties: Sequence[Duty],
    began: float,
    *,
    dry_run: bool,
) -> Report:
    bases = mirror.archive.find_bases(duty.fact.id for duty in duties)
    counts: Counter[str] = Counter()
    actions = []
    for duty in duties:
        word, counted = _WORDS[duty.becomes is None]
        counts[counted] += 1
        base = bases.get(duty.fact.id)
        fields = () if duty.becomes is None else ("supersedesId", "supersededById")
        path = base.path if base else None
        actions.append(ActionTaken(word, duty.fact.id, path, fields, duty.reason))
    counts["unchanged"] = (
        0 if not dry_run and duties else mirror.store.state().facts - len(duties)
    )
    return Report(
        run=request.run or "",
        dry_run=dry_run,
        seconds=mirror.clock.monotonic() - began,
        counts=counts,
        actions=actions,
    )
