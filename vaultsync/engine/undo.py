"""Take a run back: its changes, in reverse, through the same merge as any edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vaultsync.core.fact import Fact
from vaultsync.core.fields import FIELD, Owner, Value
from vaultsync.core.merge import merge
from vaultsync.core.note import read_note
from vaultsync.core.render import without_id
from vaultsync.engine.mirror import Mirror
from vaultsync.engine.newcomers import leave_alone, left_alone
from vaultsync.engine.report import Progress, Report
from vaultsync.engine.request import Request
from vaultsync.engine.sync import sync
from vaultsync.errors import NoteError, RevisionMismatchError, RunNotFoundError
from vaultsync.ports import HistoryEntry, RevisionMismatch, Write

TRIES = 20
EVENTS = frozenset({"fact", "note", "path", "outbox"})


def undo(
    mirror: Mirror,
    run: str,
    *,
    actor: str = "person",
    progress: Progress | None = None,
) -> Report:
    """Take back what a run changed. What was changed again since then stays as it is.

    Facts that the run made are deleted (a note that was adopted only loses its id), facts
    that it deleted come back, fields get the value they had.

    Raises:
        RunNotFoundError.
        StoreUnavailableError: nothing was done.
    """
    entries = mirror.archive.history(run=run)
    if not entries and mirror.archive.find_run(run) is None:
        raise RunNotFoundError(run)
    by_fact: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        by_fact.setdefault(entry.fact_id, []).append(entry)
    word = f"undo {run}"
    for fact_id, listed in by_fact.items():
        made = any(e.field in ("fact", "note") and e.before is None for e in listed)
        gone = any(e.field == "note" and e.after is None for e in listed)
        if gone:
            _bring_back(mirror, fact_id, word)
        elif made:
            _take_out(mirror, fact_id, listed, word)
        else:
            _restore_fields(mirror, fact_id, listed, word)
    request = Request(
        kind=word, named=tuple(by_fact), actor=actor, max_delete=len(by_fact)
    )
    return sync(mirror, request, progress=progress)


def _bring_back(mirror: Mirror, fact_id: str, word: str) -> None:
    def brought_back() -> Write | None:
        buried = mirror.store.buried(fact_id)
        if buried is None:
            return None
        fact = buried.but(updated_at=mirror.today())
        return Write(fact_id, fact, buried.revision, word)

    _insist(mirror, fact_id, brought_back)


def _insist(mirror: Mirror, fact_id: str, make: Callable[[], Write | None]) -> None:
    """Write what is to be written now, anew whenever somebody else was faster."""
    for _ in range(TRIES):
        write = make()
        if write is None:
            return
        if not isinstance(mirror.store.write([write])[0], RevisionMismatch):
            return
    raise RevisionMismatchError(
        fact_id, "the one just read", "another, again and again"
    )


def _take_out(
    mirror: Mirror, fact_id: str, entries: Sequence[HistoryEntry], word: str
) -> None:
    current = mirror.store.find_many([fact_id]).get(fact_id)
    if current is None:
        return
    adopted = any(e.field == "fact" and e.side == "vault" for e in entries)
    if adopted and not _forget_note(mirror, fact_id):
        return

    def taken_out() -> Write | None:
        now = mirror.store.find_many([fact_id]).get(fact_id)
        return Write(fact_id, None, now.revision, word) if now else None

    _insist(mirror, fact_id, taken_out)


def _forget_note(mirror: Mirror, fact_id: str) -> bool:
    """Take the id out of a note that was adopted, and its base out of the archive."""
    base = mirror.archive.find_base(fact_id)
    if base is None:
        return False
    try:
        file = mirror.vault.read(base.path)
        note = read_note(file.data, base.path)
        if note.id == fact_id:
            op = mirror.clock.new_id().replace("-", "")
            with mirror.archive.transaction():
                mirror.archive.put_blobs({file.sha: file.data})
            mirror.vault.stage(op, without_id(note))
            mirror.vault.exchange(op, base.path, file.sha)
            mirror.vault.sync()
            mirror.vault.discard(op)
    except NoteError:
        return False
    with mirror.archive.transaction():
        mirror.archive.drop_bases([fact_id])
    leave_alone(mirror, left_alone(mirror) | {base.path})
    return True


def _restore_fields(
    mirror: Mirror, fact_id: str, entries: Sequence[HistoryEntry], word: str
) -> None:
    def restored() -> Write | None:
        current = mirror.store.find_many([fact_id]).get(fact_id)
        if current is None:
            return None
        fact = _undone(current, entries)
        if fact == current:
            return None
        return Write(
            fact_id, fact.but(updated_at=mirror.today()), current.revision, word
        )

    _insist(mirror, fact_id, restored)


def _undone(current: Fact, entries: Sequence[HistoryEntry]) -> Fact:
    """The fact with the entries taken back, where they are still the last word."""
    before: dict[str, Value] = {}
    after: dict[str, Value] = {}
    for entry in entries:
        row = FIELD.get(entry.field)
        if entry.field in EVENTS or (row and row.owner is Owner.VOLATILE):
            continue
        before.setdefault(entry.field, entry.before)
        after[entry.field] = entry.after
    then = current.changed(after)
    earlier = current.changed(before)
    return merge(then, current, earlier).fact
