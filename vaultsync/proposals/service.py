"""Make proposals, show them in the vault, and carry out the user's decisions.

A proposal is recorded at once. The next run writes its note, reads which boxes were ticked, and
applies the accepted ones as a run of its own, with history and undo like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property

from msgspec import Struct

from vaultsync.errors import (
    AmbiguousNameError,
    FactNotFoundError,
    NoteError,
    NoteMissingError,
    ProposalDeniedError,
    ProposalNotFoundError,
    RevisionMismatchError,
    ScopeDeniedError,
    StoreUnavailableError,
)
from vaultsync.facts.lookup import was_undone, was_undone_last
from vaultsync.facts.service import check_scope_access, is_visible
from vaultsync.links.wikilinks import MAX_NAMES_IN_HINT, MIN_PREFIX_LENGTH
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.file_names import slug
from vaultsync.model.paths import VaultPath, fold_case, join_path
from vaultsync.model.schema import Value, equal_as_json
from vaultsync.notes.proposal_note import (
    ACCEPTED,
    EXPIRED,
    PROPOSAL_KIND,
    REJECTED,
    ProposalRecord,
    ProposedChange,
    ShownProposal,
    decision_in,
    evidence_of,
    proposal_id,
    proposal_id_in,
    render_proposal,
    shown_proposal,
)
from vaultsync.notes.review_note import PROPOSAL_SUFFIX
from vaultsync.proposals.answer_counts import count_answers
from vaultsync.proposals.producers import RULES
from vaultsync.storage.archive import Notice
from vaultsync.storage.clock import time_text
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.storage.vault import VaultScan
from vaultsync.sync.context import SyncContext
from vaultsync.sync.finish import join_reports
from vaultsync.sync.history import CONTENDED, MAX_UPDATE_TRIES, deleted_revision, overwrite
from vaultsync.sync.merge import merge
from vaultsync.sync.preconditions import check_vault
from vaultsync.sync.report import ActionTaken, Report, ReportedNotice, counted, notices_of
from vaultsync.sync.review_notes import (
    create_review_note,
    remove_review_note,
    rewrite_review_note,
    unclear_answers,
)
from vaultsync.sync.run import record_run, sync_once
from vaultsync.sync.state_summary import older_summary_time
from vaultsync.sync.sync_request import SyncRequest

RUN_KIND = "proposals"
"""The kind of the runs that apply proposals, and the actor of their writes."""
EXPIRY_DAYS = 30
PROPOSALS_FOLDER = "proposals"
"""The folder in a scope for proposals that do not concern an existing note."""


class SettledProposals(Struct, frozen=True):
    """The outcome of proposals that the user answered."""

    proposals: tuple[ShownProposal, ...]
    """Each with its outcome; one without an outcome is shown again, because its facts have
    changed."""
    run: str | None = None
    """The run that applied the accepted proposals; None if there were none."""
    attention: tuple[ReportedNotice, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposalDraft:
    """A proposal to be recorded."""

    kind: str
    title: str
    why: str
    proposer: str
    scope: str
    changes: tuple[ProposedChange, ...]


def propose(ctx: SyncContext, draft: ProposalDraft) -> ProposalRecord:
    """Record a proposal; the next run shows it in the vault.

    A proposal is recorded only once: if an equal one is open, or was rejected by the user, that
    one is returned.
    """
    new = ProposalRecord(
        proposal_id(draft.kind, draft.changes),
        *(draft.kind, draft.title, draft.why, draft.proposer, draft.scope),
        created_at=ctx.today(),
        expires_at=time_text(ctx.clock.now() + timedelta(days=EXPIRY_DAYS)),
        changes=draft.changes,
    )
    with ctx.archive.transaction():
        known = ctx.archive.find_proposal(new.id)
        if known is not None and known.outcome in ("", REJECTED):
            return known
        ctx.archive.put_proposal(new)
    return new


def visible_proposals(
    ctx: SyncContext, *, agent: str | None, settled: bool = False
) -> list[ProposalRecord]:
    """The open (or all) proposals that an agent may know of, with secrets redacted."""
    return [
        redact_proposal(ctx, each)
        for each in ctx.archive.proposals(settled=settled)
        if (settled or not each.outcome) and _is_visible(ctx, each, agent)
    ]


def _is_visible(ctx: SyncContext, proposal: ProposalRecord, agent: str | None) -> bool:
    may_read = ctx.policy.permissions.may_read
    return all(may_read(agent, each) for each in proposal.scopes) and all(
        is_visible(ctx, each.fact_id, agent=agent) for each in proposal.changes if each.revision
    )


def find_proposal(ctx: SyncContext, name: str, *, agent: str | None = None) -> ProposalRecord:
    """The proposal with an id, the beginning of one, the path of a note, or a title.

    Open proposals take precedence over answered ones.

    Raises:
        ProposalNotFoundError: the agent can see no such proposal.
        AmbiguousNameError: it can see several.
    """
    key = fold_case(name.strip())
    known = [x for x in ctx.archive.proposals(settled=True) if key and _is_visible(ctx, x, agent)]
    exact = [x for x in known if key in (x.id, fold_case(x.note_path or ""))]
    begins = key if len(key) >= MIN_PREFIX_LENGTH else "no id"
    matches = exact or [x for x in known if x.id.startswith(begins) or fold_case(x.title) == key]
    matches = [each for each in matches if not each.outcome] or matches
    if not matches:
        raise ProposalNotFoundError(name)
    if len(matches) > 1:
        ids = [each.id for each in matches[:MAX_NAMES_IN_HINT]]
        raise AmbiguousNameError("proposal", name, ids, len(matches))
    return matches[0]


def check_answer(
    ctx: SyncContext, proposals: Sequence[ProposalRecord], *, agent: str | None, accepts: bool
) -> None:
    """Check that an agent may accept proposals, or reject them, which it may if it made them.

    Raises:
        ScopeDeniedError: it may not write to a scope.
        ProposalDeniedError: it did not make what it rejects.
        StoreUnavailableError: its right to accept cannot be checked.
    """
    if agent is None:
        return
    for each in proposals:
        if not accepts:
            if each.proposer != agent:
                raise ProposalDeniedError(agent, each.id)
            continue
        facts = ctx.store.find_many([x.fact_id for x in each.changes]).values()
        try:
            for scope in each.scopes.union(fact.scope for fact in facts):
                check_scope_access(ctx, scope, agent=agent)
        except ScopeDeniedError as denied:
            denied.hint = (
                "the user can accept it: with the box in its note, or with"
                f" `vaultsync proposals accept {each.id[:8]}`"
            )
            raise


# ---------------------------------------------------------------- the user's decisions


def settle_proposals(ctx: SyncContext, *, dry_run: bool = False) -> Report | None:
    """Update the notes of proposals, and carry out the decisions in them, before a run.

    Requires the engine's lock. None when there was nothing to do.

    Raises:
        VaultMissingError, VaultMismatchError: a missing note would not mean a rejection.
        StoreMismatchError, StoreRewoundError: accepted proposals have to wait.
    """
    found = ctx.archive.proposals()
    if not found:
        return None
    check_vault(ctx, dry_run=dry_run)
    if older_summary_time(ctx) is not None:
        return None  # an older copy of the vault may be from before the proposals
    work = _Settling(ctx)
    decided: dict[str, list[ProposalRecord]] = {REJECTED: [], EXPIRED: [], ACCEPTED: []}
    if not dry_run:
        _bring_up_to_date(ctx, found)
    notes = _ProposalNotes(ctx)
    for each in found:
        outcome = None if each.outcome else _decision(ctx, each, notes, dry_run=dry_run)
        if outcome is not None:
            decided[outcome].append(each)
    accepted = decided.pop(ACCEPTED)
    for outcome, proposals in decided.items():
        (work.tell if dry_run else work.close)(proposals, outcome)
    with suppress(StoreUnavailableError):  # the boxes stay ticked until then
        if accepted:
            (work.preview if dry_run else work.accept)(accepted)
    work.notices += unclear_answers(ctx)
    return work.report()


def accept_proposals(
    ctx: SyncContext, proposals: Sequence[ProposalRecord], *, by_user: bool = True
) -> SettledProposals:
    """Apply proposals in one run, including those that expired.

    `by_user` is whether this is the user's answer, which counts in `count_answers()` and also
    applies those that were rejected. What is accepted already is applied again if it was undone.

    Raises:
        StoreUnavailableError: nothing was done.
    """
    work = _Settling(ctx, learns=by_user)
    refused = () if by_user else (REJECTED,)
    work.accept([x for x in proposals if x.outcome not in refused and not _is_applied(ctx, x)])
    return work.settled([each.id for each in proposals])


def _is_applied(ctx: SyncContext, proposal: ProposalRecord) -> bool:
    """Whether a proposal was accepted, and that was not undone."""
    ids = (each.fact_id for each in proposal.changes)
    return proposal.outcome == ACCEPTED and not any(was_undone(ctx, x, proposal.run) for x in ids)


def reject_proposals(ctx: SyncContext, proposals: Sequence[ProposalRecord]) -> SettledProposals:
    """Close proposals without applying them; accepted ones remain accepted."""
    work = _Settling(ctx)
    work.close([each for each in proposals if not each.outcome], REJECTED)
    return work.settled([each.id for each in proposals])


def _bring_up_to_date(ctx: SyncContext, proposals: Sequence[ProposalRecord]) -> None:
    """Write missing notes, and remove those left behind by a crash."""
    for each in proposals:
        if each.outcome:
            _remove_note(ctx, each)
        elif each.note_path is None:
            _show(ctx, each)


def _decision(
    ctx: SyncContext, proposal: ProposalRecord, notes: _ProposalNotes, *, dry_run: bool
) -> str | None:
    """The user's decision in the note of a proposal, or its expiry."""
    path = proposal.note_path
    decided = None
    if path is not None:
        try:
            text = ctx.vault.read(path).data.decode(errors="replace")
        except NoteMissingError:
            text = None
        except NoteError:
            return None  # it cannot be read now
        if text is None or proposal_id_in(text) not in (None, proposal.id):
            moved = notes.find(proposal.id)
            if moved in (None, path):
                moves = text is None and path in notes.paths  # the next run finds it
                return None if moves or notes.scan.unreadable else REJECTED
            found = replace(proposal, note_path=moved)
            if not dry_run:
                _record(ctx, found)
            return _decision(ctx, found, notes, dry_run=dry_run)
        decided = decision_in(text)
    if decided is None and proposal.expires_at <= ctx.today():
        return EXPIRED
    return decided


class _ProposalNotes:
    """Where the notes of proposals are, read from the vault once, when one is not in its place."""

    def __init__(self, ctx: SyncContext) -> None:
        self._ctx = ctx

    def find(self, proposal_id: str) -> VaultPath | None:
        """The path of the note of a proposal; None if it is gone."""
        return self._by_id.get(proposal_id)

    @cached_property
    def scan(self) -> VaultScan:
        """The files of the vault when they were needed."""
        return self._ctx.vault.scan()

    @cached_property
    def paths(self) -> frozenset[VaultPath]:
        """All notes of the vault."""
        return frozenset(path for path, _ in self.scan.notes())

    @cached_property
    def _by_id(self) -> Mapping[str, VaultPath]:
        """The notes of no fact by the proposal that they show; of copies, one named as such."""
        found: dict[str, VaultPath] = {}
        untracked = self.paths.difference(self._ctx.archive.paths())
        for path in sorted(untracked, key=lambda x: (not x.endswith(PROPOSAL_SUFFIX), x)):
            file = self._ctx.find_file(path)
            named = proposal_id_in(file.data.decode(errors="replace")) if file else None
            if named is not None:
                found.setdefault(named, path)
        return found


def _record(ctx: SyncContext, proposal: ProposalRecord) -> None:
    with ctx.archive.transaction():
        ctx.archive.put_proposal(proposal)


def _remove_note(ctx: SyncContext, proposal: ProposalRecord) -> None:
    if proposal.note_path is not None:
        remove_review_note(ctx, proposal.id, proposal.note_path)
        _record(ctx, replace(proposal, note_path=None))


def _show(ctx: SyncContext, proposal: ProposalRecord) -> ProposalRecord | None:
    """Write the note of a proposal: over its current note, or next to the note of its fact.

    Returns None if that is not possible now.
    """
    beside = next((x.path for x in proposal.changes if x.path), None)
    if beside is None:
        folder = VaultPath(f"{proposal.scope}/{PROPOSALS_FOLDER}")
        beside = join_path(folder, f"{slug(proposal.title) or proposal.kind}.md")
    notes = ctx.archive.note_paths(evidence_of(proposal))
    redacted = redact_proposal(ctx, proposal)
    escaped = tuple(_shown(x, x.title, ctx.view.escape) for x in redacted.changes)
    data = render_proposal(replace(redacted, changes=escaped), notes).encode()
    path = proposal.note_path
    if path is None:
        try:
            path = create_review_note(ctx, PROPOSAL_KIND, proposal.id, beside, data)
        except NoteError:
            return None  # the next run tries again
    elif not rewrite_review_note(ctx, proposal.id, path, data):
        return None  # its boxes may be ticked; the next run will find it stale again
    ctx.vault.sync()  # after a power cut, a lost note or its old boxes would count as an answer
    shown = replace(proposal, note_path=path)
    _record(ctx, shown)
    return shown


def redact_proposal(ctx: SyncContext, proposal: ProposalRecord) -> ProposalRecord:
    """A proposal with the secrets of its facts redacted, as in answers and notes."""
    if ctx.view.redactor is None:
        return proposal
    ids = [each.fact_id for each in proposal.changes]
    bases = ctx.archive.find_bases(ids)
    facts: list[Fact | None] = [base.fact for base in bases.values()]
    with suppress(StoreUnavailableError):  # then only the bases are known
        facts += ctx.store.find_many(ids).values()
    pairs: list[tuple[str, Value]] = [("title", proposal.title), ("content", proposal.why)]
    for each in proposal.changes:
        pairs += [("title", each.title), *each.before.items(), *(each.after or {}).items()]
    shown = iter(ctx.view.redact_values(pairs, *facts))
    title, why = str(next(shown)), str(next(shown))
    changes = [_shown(x, str(next(shown)), lambda _: next(shown)) for x in proposal.changes]
    return replace(proposal, title=title, why=why, changes=tuple(changes))


def _shown(change: ProposedChange, title: str, show: Callable[[Value], Value]) -> ProposedChange:
    """A change with another title, and each value, in order, as it is shown."""
    before = {key: show(value) for key, value in change.before.items()}
    after = {key: show(value) for key, value in (change.after or {}).items()}
    return replace(
        change, title=title, before=before, after=None if change.after is None else after
    )


class _Settling:
    """Settles proposals, and builds the report."""

    def __init__(self, ctx: SyncContext, *, learns: bool = True) -> None:
        self._ctx = ctx
        self._learns = learns
        self._actions: list[ActionTaken] = []
        self.notices: list[Notice] = []
        self._run: Report | None = None
        self._before: Report | None = None

    def tell(self, proposals: Sequence[ProposalRecord], outcome: str) -> None:
        """Add the outcome of proposals to the report."""
        for each in proposals:
            fields = tuple(dict.fromkeys(key for x in each.changes for key in x.after or ()))
            word = f"{_WORDS[outcome]}_proposal"
            fact_id, path = each.changes[0].fact_id, each.note_path or each.changes[0].path
            self._actions.append(ActionTaken(word, fact_id, path, fields, each.title))

    def close(self, proposals: Sequence[ProposalRecord], outcome: str, run: str = "") -> None:
        """Record the outcome of proposals, and remove their notes."""
        at = self._ctx.today()
        for each in proposals:
            closed = replace(each, outcome=outcome, settled_at=at, run=run)
            _record(self._ctx, closed)  # first, because a missing note counts as an answer
            _remove_note(self._ctx, closed)
        self.tell(proposals, outcome)
        if proposals and outcome != ACCEPTED:  # accepted proposals already have a run
            request = SyncRequest(kind=RUN_KIND)
            counts = {**counted({}), f"proposals_{outcome}": len(proposals)}
            new_run = self._ctx.clock.new_id()
            record_run(self._ctx, request, Report(new_run, dry_run=False, seconds=0, counts=counts))
        kinds = [each.kind for each in proposals if each.proposer == RULES]
        if kinds and self._learns and outcome != EXPIRED:
            count_answers(self._ctx, kinds, accepted=outcome == ACCEPTED)

    def accept(self, proposals: Sequence[ProposalRecord]) -> None:
        """Apply proposals in one run, except those whose facts have changed.

        The notes of these facts are synced first, so that unsynced edits count as changes.

        Raises:
            StoreUnavailableError: the next attempt continues where this one stopped.
            StoreMismatchError, StoreRewoundError: nothing was done.
        """
        known = dict.fromkeys(x.fact_id for each in proposals for x in each.changes if x.revision)
        if known:
            self._before = sync_once(self._ctx, SyncRequest.for_facts(known, "follow"))
        applied, expired = [], []
        for each in proposals:
            try:
                newer = _apply(self._ctx, each)
            except FactNotFoundError:
                expired.append(each)
                continue
            if newer is None:
                applied.append(each)
            else:
                self._ask_again(each, newer)
        self.close(expired, EXPIRED)
        if not applied:
            return
        run = self._ctx.clock.new_id()
        ids = dict.fromkeys(x.fact_id for each in applied for x in each.changes)
        request = SyncRequest.for_facts(ids, RUN_KIND, guarded=False)
        self._run = sync_once(self._ctx, replace(request, run=run))
        self.close(applied, ACCEPTED, run)

    def preview(self, proposals: Sequence[ProposalRecord]) -> None:
        """Report what `accept()` would do, by what the store has now. Raises as it does."""
        for each in proposals:
            try:
                planned = _planned(self._ctx, each)
            except FactNotFoundError:
                self.tell([each], EXPIRED)
                continue
            if isinstance(planned, ProposalRecord):
                self._tell_changed(planned)
            else:
                self.tell([each], ACCEPTED)

    def _ask_again(self, old: ProposalRecord, newer: ProposalRecord) -> None:
        """Show the current version of a proposal, with empty boxes."""
        shown = _show(self._ctx, replace(newer, note_path=old.note_path))
        if shown is not None:
            self._tell_changed(shown)

    def _tell_changed(self, shown: ProposalRecord) -> None:
        fields = ", ".join(shown.changed_since)
        message = f"{shown.note_path}: {fields} changed since this was proposed"
        hint = "review the proposal again; nothing was done"
        place = shown.note_path or VaultPath("")
        self.notices.append(Notice("proposal_changed", place, message, hint))

    def report(self) -> Report | None:
        """The report; None if nothing was done."""
        before = None if self._before is None or self._before.quiet else self._before
        if not self._actions and not self.notices:
            return before
        own = Report(
            self._run.run if self._run else "",
            dry_run=False,
            seconds=0.0,
            counts=counted({}),
            actions=self._actions,
            attention=notices_of(self.notices),
        )
        done = join_reports(self._run, own) if self._run else own
        return done if before is None else join_reports(before, done)

    def settled(self, ids: Sequence[str]) -> SettledProposals:
        """The outcome of the proposals with these ids."""
        found = filter(None, map(self._ctx.archive.find_proposal, ids))
        return SettledProposals(
            tuple(shown_proposal(redact_proposal(self._ctx, each)) for each in found),
            self._run.run if self._run else None,
            tuple(notices_of(self.notices)),
        )


_WORDS = {ACCEPTED: "accept", REJECTED: "reject", EXPIRED: "expire"}
"""Outcome of a proposal -> the action of the report."""


def _apply(ctx: SyncContext, proposal: ProposalRecord) -> ProposalRecord | None:
    """Write those changes of a proposal that the store does not have yet.

    Returns:
        None when they are in the store; otherwise the proposal to show again, because
        another writer changed the same fields.

    Raises:
        FactNotFoundError: a fact that it changes, or merges into another one, was deleted.
        RevisionMismatchError: other writers were faster each time.
    """
    for _ in range(MAX_UPDATE_TRIES):
        planned = _planned(ctx, proposal)
        if isinstance(planned, ProposalRecord):
            return planned
        results = ctx.store.write(planned) if planned else []
        if not any(isinstance(each, RevisionMismatch) for each in results):
            return None
    raise RevisionMismatchError(proposal.changes[0].fact_id, *CONTENDED)


def _planned(ctx: SyncContext, proposal: ProposalRecord) -> list[StoreWrite] | ProposalRecord:
    """The writes that apply a proposal, or the proposal to show again; raises as `_apply()`."""
    current = ctx.store.find_many([each.fact_id for each in proposal.changes])
    newer = tuple(_with_current(x, current.get(x.fact_id)) for x in proposal.changes)
    pairs = zip(proposal.changes, newer, strict=True)
    since = dict.fromkeys(key for old, new in pairs for key in _changed(old, new))
    if since:
        return replace(proposal, changes=newer, changed_since=tuple(since), outcome="")
    writes: list[StoreWrite] = []
    gone = [x for x in newer if x.after is None and x.fact_id not in current]
    for change in newer:
        write = _write_of(ctx, proposal, change, current.get(change.fact_id))
        if write is not None:
            if gone and write.fact is not None:
                # Its text would be put into another fact, although it was deleted.
                raise FactNotFoundError(gone[0].fact_id)
            needs = writes[-1].fact_id if writes else None
            writes.append(write._replace(needs=needs))
    return writes


def _changed(old: ProposedChange, new: ProposedChange) -> Iterator[str]:
    """The fields that others changed; for a fact to be deleted, any change counts."""
    keys = [key for key in new.before if not equal_as_json(old.before.get(key), new.before[key])]
    if old.after is None and not keys and old.revision != new.revision:
        yield "revision"
    yield from keys


def _with_current(change: ProposedChange, fact: Fact | None) -> ProposedChange:
    """A change with the current values as the replaced ones, unless they equal the new.

    What others changed since stays in the new values, where both can be merged.
    """
    if fact is None or not change.revision:
        return change
    after = None if change.after is None else _merged(change.before, fact, change.after)
    done = after or {}
    before = {
        key: value if equal_as_json(fact.plain(key), done.get(key, value)) else fact.plain(key)
        for key, value in change.before.items()
    }
    return replace(change, before=before, after=after, revision=fact.revision or "")


def _merged(
    before: Mapping[str, Value], fact: Fact, after: Mapping[str, Value]
) -> Mapping[str, Value]:
    """New values with what a fact says meanwhile, except where both changed the same."""
    found = merge(fact.replace(before), fact, fact.replace(after))
    disputed = {each.field for each in found.conflicts}
    return {key: v if key in disputed else found.fact.plain(key) for key, v in after.items()}


def _write_of(
    ctx: SyncContext, proposal: ProposalRecord, change: ProposedChange, fact: Fact | None
) -> StoreWrite | None:
    """The write for a change; None if the store already has it."""
    if not change.revision:
        deleted = deleted_revision(ctx.store, change.fact_id)
        if fact or (deleted and not was_undone_last(ctx, change.fact_id)):
            return None
        values = {
            "createdAt": ctx.today(),
            **(change.after or {}),
            "id": change.fact_id,
            "updatedAt": ctx.today(),
        }
        return StoreWrite(change.fact_id, make_fact(values), deleted, proposal.proposer)
    if fact is None:
        if change.after is None:
            return None
        raise FactNotFoundError(change.fact_id)
    wanted = None if change.after is None else fact.replace(change.after)
    if wanted == fact:
        return None
    wanted = wanted and wanted.evolve(updated_at=ctx.today())
    return overwrite(ctx, fact.id, wanted, change.revision, proposal.proposer)
