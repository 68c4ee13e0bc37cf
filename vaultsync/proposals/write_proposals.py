"""Turn writes to a scope in which an agent may only propose into proposals.

The operation itself runs, with all its checks, on a draft of the store; the writes that the draft
collects are proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeVar

from msgspec import structs

from vaultsync.errors import (
    FactNotFoundError,
    ImportLineError,
    ScopeDeniedError,
    StoreUnavailableError,
    UsageError,
)
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import PUBLIC, is_private
from vaultsync.model.serialization import fact_to_values
from vaultsync.notes.proposal_note import WRITE_PROPOSAL, ProposalRecord, ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose
from vaultsync.storage.store import RevisionMismatch, Store, StoreWrite
from vaultsync.storage.store_view import ReadOnlyStore
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import deleted_revision

MAX_CHANGES = 100
"""Maximum number of facts in one proposal, because the user has to read it."""
DRAFT: Final = "draft"
"""The revision of facts that exist only in a draft."""
_COMPUTED = frozenset({"id", "updatedAt"})
"""Fields of a new fact that are set when it is written."""
T = TypeVar("T")


class DraftStore(ReadOnlyStore):
    """A store as it would be after some writes, which are recorded but not carried out.

    Implements the part of `Store` (`storage/store.py`) that writers need. While the store is
    unavailable, it does not raise `StoreUnavailableError`, because a writer would then queue
    its change.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._drafts: dict[str, Fact | None] = {}
        # Without the drafts, as what `iter_facts()` yields.
        self.state, self.feed = _needed()(store.state), _needed()(store.feed)
        self.last_write = store.last_write
        self.revision_at = store.revision_at
        self.last_ops = store.last_ops
        self.damaged = store.damaged

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        """All facts, without the drafts."""
        with _needed():
            yield from self._store.iter_facts(after, newest=newest, deleted=deleted)

    def get(self, fact_id: str) -> Fact:
        """Get a fact or its draft. Raises FactNotFoundError."""
        fact = self.find_many([fact_id]).get(fact_id)
        if fact is None:
            raise FactNotFoundError(fact_id)
        return fact

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """The facts with these ids that would exist, by id."""
        ids = list(fact_ids)
        with _needed():
            stored = self._store.find_many(ids)
        drafted = {key: self._drafts[key] for key in ids if key in self._drafts}
        return {key: fact for key, fact in {**stored, **drafted}.items() if fact is not None}

    def tombstone(self, fact_id: str) -> Fact | None:
        """The last version of a deleted fact."""
        if self._drafts.get(fact_id) is not None:
            return None
        with _needed():
            if fact_id in self._drafts:
                return self._store.get(fact_id).evolve(revision=DRAFT)
            return self._store.tombstone(fact_id)

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        """Record each write whose condition holds."""
        results: list[str | RevisionMismatch] = []
        refused: set[str | None] = set()
        for each in writes:
            now = self.find_many([each.fact_id]).get(each.fact_id) or self.tombstone(each.fact_id)
            found = now.revision if now else deleted_revision(self._store, each.fact_id)
            if each.expect != found or each.needs in refused:
                refused.add(each.fact_id)
                results.append(RevisionMismatch(each.fact_id, found))
                continue
            self._drafts[each.fact_id] = each.fact and each.fact.evolve(revision=DRAFT)
            results.append(DRAFT)
        return results

    @property
    def brings_back(self) -> bool:
        """Whether a deleted fact would come back, which cannot be proposed."""
        new = [key for key, fact in self._drafts.items() if fact is not None]
        known = self._store.find_many(new)
        return any(self._store.tombstone(each) is not None for each in new if each not in known)

    def changes(self, at: str) -> Iterator[ProposedChange]:
        """The changes of the drafts, without the paths of notes.

        Facts created from the time `at` on count as new.
        """
        before = self._store.find_many(self._drafts)
        for fact_id, fact in self._drafts.items():
            prior = before.get(fact_id)
            if prior is None:
                if fact is not None:
                    yield ProposedChange(fact_id, "", {}, _new_values(fact, at), None, fact.title)
            elif fact is None:
                yield ProposedChange.of(prior, None, needs=["content"])
            else:
                keys = [key for key in differing_keys(prior, fact) if key != "updatedAt"]
                if keys:
                    yield ProposedChange.of(prior, {key: fact.plain(key) for key in keys})


def _new_values(fact: Fact, at: str) -> dict[str, Value]:
    """The values of a new fact, except those that are set when it is written."""
    values = {key: value for key, value in fact_to_values(fact).items() if key not in _COMPUTED}
    if fact.created_at >= at:
        del values["createdAt"]
    properties = values.pop("properties", None)
    return values | dict(properties if isinstance(properties, dict) else {})


class _AwayError(Exception):
    """The store is unavailable while a proposal is drafted."""

    def __init__(self, error: StoreUnavailableError) -> None:
        super().__init__(error.message)
        self.error = error


@contextmanager
def _needed() -> Iterator[None]:
    try:
        yield
    except StoreUnavailableError as error:
        raise _AwayError(error) from None


def propose_write(
    ctx: SyncContext,
    work: Callable[[SyncContext], T],
    denied: ScopeDeniedError | ImportLineError,
    *,
    agent: str,
) -> ProposalRecord | T:
    """Propose what an agent may not write itself.

    `work` is the operation of the agent, and `denied` the error that it raised.

    Returns:
        The proposal, or the result of `work` if it changes nothing.

    Raises:
        StoreUnavailableError: nothing was proposed or queued.
        UsageError: it would change more than `MAX_CHANGES` facts.
        ScopeDeniedError, ImportLineError: `denied`, when a deleted fact would come back.
        VaultsyncError: as the work itself.
    """
    at = ctx.today()
    draft = DraftStore(ctx.store)
    allowed = ctx.policy._replace(permissions=ctx.policy.permissions.with_proposals())
    try:
        done = work(structs.replace(ctx, store=draft, policy=allowed))
    except _AwayError as unavailable:
        raise unavailable.error from None
    if draft.brings_back:
        raise denied
    changes = tuple(draft.changes(at))
    if not changes:
        return done
    if len(changes) > MAX_CHANGES:
        message = f"an agent proposes at most {MAX_CHANGES} changes at once, not {len(changes)}"
        raise UsageError(message, hint="propose them in parts, or let the user allow the scope")
    paths = ctx.archive.note_paths({each.fact_id for each in changes})
    placed = tuple(replace(each, path=paths.get(each.fact_id)) for each in changes)
    scope = min((x for each in changes for x in _scopes(ctx, each)), key=_readers)
    why = f"{agent} needs the user's approval to write there."
    return propose(ctx, ProposalDraft(WRITE_PROPOSAL, _title(placed), why, agent, scope, placed))


def _scopes(ctx: SyncContext, change: ProposedChange) -> Iterator[str]:
    """The current and the new scope of a fact."""
    yield from (fact.scope for fact in ctx.store.find_many([change.fact_id]).values())
    after = (change.after or {}).get("scope")
    if isinstance(after, str):
        yield after


def _readers(scope: str) -> tuple[bool, bool, str]:
    """The sort key of scopes by how widely they can be read."""
    return not is_private(scope), scope == PUBLIC, scope


def _title(changes: Sequence[ProposedChange]) -> str:
    """A title for the proposal."""
    change, *others = changes
    if [(each.after or {}).get("supersedesId") for each in others] == [change.fact_id]:
        return f"Replace “{change.title}” by “{others[0].title}”"
    if others:
        return f"Write {len(changes)} facts"
    verb = "Delete" if change.after is None else "Change" if change.revision else "Write"
    return f"{verb} “{change.title}”"
