"""A complete world in memory: both sides, the archive, the clock, users and agents.

Users and agents act through methods, each of which tells the ledger what its actor saw
and wrote. A run of the engine can be stopped or disturbed before each of its effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from tests.memory_archive import MemoryArchive
from tests.proofs import ledger as proofs
from tests.proofs import texts
from tests.proofs.agents import Change
from tests.proofs.people import People
from tests.world import rebuild_anyway
from vaultsync import errors
from vaultsync.facts import service as facts
from vaultsync.model import serialization as wire
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.notes.proposal_note import ProposalRecord, ProposedChange, decision_in
from vaultsync.proposals.service import ProposalDraft, propose, settle_proposals
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.finish import join_reports
from vaultsync.sync.report import Report
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest
from vaultsync.sync.write_through import NoteWriter

PASSES = 12
"""Maximum number of runs until everything is synced once users and failures have stopped."""
AGENT, OTHER_AGENT = "indy", "ada"


class Crash(BaseException):
    """Simulates the end of the process; no error handler may catch it."""


class World(People):
    """Both sides, and all that write to them."""

    # --- the engine --------------------------------------------------------------------

    def sync(
        self, request: SyncRequest | None = None, at: Mapping[int, Callable[[], None]] | None = None
    ) -> Report:
        """One run, after the user's decisions about proposals, as the engine does it."""
        return self.run(lambda: self._pass(request), at)

    def _pass(self, request: SyncRequest | None) -> Report:
        settled = settle_proposals(self.ctx)
        report = sync_once(self.ctx, request)
        return report if settled is None else join_reports(settled, report)

    def turn(self, at: Mapping[int, Callable[[], None]] | None = None) -> Report | None:
        """One run, confirmed or repaired as its error message asks."""
        try:
            try:
                return self.sync(at=at)
            except errors.GuardError as stopped:
                return self.sync(SyncRequest(confirm=stopped.run))
            except errors.StoreRewoundError:
                unseen = proofs.in_store(self) - proofs.in_vault(self)
                self.ledger.at_least_kept(unseen | self._overruled_later())
                return self.run(lambda: rebuild_anyway(self.ctx, "vault"))
        except (errors.StoreUnavailableError, errors.VaultMissingError, OSError) as refused:
            self.ledger.story.append(f"engine: {refused}")
            return None

    def _overruled_later(self) -> set[str]:
        """Words of notes that cannot be read, beside older facts that nobody can tell.

        Agents wrote to them meanwhile, or the archive never knew that they said this: they
        count as edited, and what they replace is in the archive.
        """
        facts = self.facts()
        archive, known = self.told
        if archive != self.archives:
            known = set()  # this archive has never had the older facts
        hidden = [
            *self.broken.values(),
            *(saw for saw, _ in self.half.values()),
            *(self.data(path) for path in self.notes() if self.vault._is_broken(path)),
            # Moved out of a folder that cannot be read: they may be copies of what is there.
            *(
                self.data(path)
                for base in self.archive.iter_bases()
                if self.vault._is_broken(base.path)
                for path in self.notes_by_id().get(base.fact.id, [])
            ),
        ]
        ids = {texts.id_of(each) or "" for each in hidden}
        later = {x for x in ids if facts.get(x) != self.older.get(x) or x not in known}
        said = b"".join(each for each in hidden if texts.id_of(each) in later)
        return proofs.words(said) - proofs.in_store(self)

    def crash_at(self, effect: int) -> None:
        """Start a run, and end the process before its n-th effect."""
        with suppress(Crash):
            self.turn({effect: self.die})
        self.ledger.story.append(f"crash before effect {effect}: {self.trail[-1:]}")

    def die(self) -> None:
        raise Crash

    def power_loss(self, keep: Callable[[int], bool]) -> None:
        """Stop the machine; what was not synced may be lost."""
        before = proofs.in_vault(self)
        for fact_id, (inode, archives) in self.not_durable.items():
            replaced = archives != self.archives or fact_id not in self.store._rows
            if inode.synced is None and replaced:
                # The outbox that had its fact, because the store was away, was lost, too, or an
                # older store came back.
                self.ledger.forgive(proofs.words(inode.data) - self.ledger.known())
        self.vault.crash(keep)
        if self.older:
            # Notes showed values that an older store does not have.
            gone = before - proofs.in_vault(self) - proofs.in_store(self)
            self.ledger.at_least_kept(gone)
        for fact_id, (torn, _) in self.not_durable.items():
            # A user may have renamed it, which does not make its bytes durable.
            there = any(each is torn for each in self.vault.names.values())
            if there and self.archive.find_base(fact_id) is None:
                self.vault.held.add(torn.sha)  # the next run writes the note again
        for name, inode in self.vault.names.items():
            # The engine must repeat what was not synced, and never leave half of it.
            if name.startswith("."):
                self.vault.held.add(inode.sha)
        self.ledger.story.append("power loss")
        proofs.files_are_complete(self)
        proofs.bases_are_sound(self)

    def mend(self) -> None:
        """End all failures, and let all actors finish their actions."""
        self.store.away = self.store.lose_ack = False
        self.vault.quota = None
        self.vault.return_()
        self.vault.broken.clear()
        for path in list(self.half):
            self.end_save(path)
        for path in list(self.broken):
            self.mend_yaml(path)
        for path in self.notes():
            # An editor may have saved the broken text that it had read.
            if texts.BROKEN in self.data(path):
                self.save(path, texts.mend_yaml(self.data(path)))

    def quiesce(self) -> Report:
        """Sync until nothing is left to do, then check all invariants."""
        self.mend()
        self.clock.advance(self.set_back)
        self.set_back = 0.0
        self.worked = 0
        for _ in range(PASSES):
            self.editors.clear()
            self.clock.advance(self.policy.linger_seconds + 1)
            report = self.turn()
            assert report is not None, self.tell()
            waits = any(each.action == "wait" for each in report.actions)
            rows = self.archive._rows
            told = " ".join(notice.message for notice in report.attention)
            gone = any(x.fact.id not in told for x in self.archive.missing_bases())
            # In an older copy of the vault, proposals are for the run after the next.
            postponed = any(self._is_postponed(x) for x in self.archive.proposals())
            left = rows.intents or rows.displaced_files or rows.outbox or gone or postponed
            if report.quiet and not (waits or left):
                break
            self.worked += not report.quiet
        else:
            message = f"no end after {PASSES} passes: {report}\n{self.tell()}"
            raise AssertionError(message)
        proofs.no_word_is_lost(self)
        proofs.nothing_displaced_is_lost(self)
        proofs.scopes_stay(self)
        proofs.runs_are_recorded(self)
        proofs.sides_are_equal(self, report)
        proofs.rests(self)
        return report

    def _is_postponed(self, proposal: ProposalRecord) -> bool:
        """Whether a proposal has yet to be shown, or the answer in its note to be carried out."""
        note = self.vault.names.get(proposal.note_path or "")
        return not proposal.outcome and (note is None or bool(decision_in(note.data.decode())))

    # --- agents ------------------------------------------------------------------------

    def remember(self, values: Mapping[str, Value], *, at_once: bool = False) -> str | None:
        """An agent writes a new fact; with `at_once`, in a process that writes its note, too.

        That process stays open, or is killed: it does not record the base.
        """
        self.clock.advance(0.002)
        given = {"scope": "public", **values}
        try:
            fact = facts.remember(self.ctx, given, agent=AGENT)
        except errors.StoreUnavailableError:
            return None
        text = wire.fact_to_json(fact)
        self.ledger.wrote(f"agent makes {fact.id}", saw="", over="", after=text)
        if at_once and fact.revision is not None:
            with suppress(errors.VaultsyncError, OSError):  # the next run writes it
                written = NoteWriter(self.ctx).note(fact, actor=AGENT)
                if written.path:
                    self.not_durable[fact.id] = self.vault.names[written.path], self.archives
        return fact.id

    def plan(self, *, at_once: bool = False, **more: Value) -> None:
        """An agent writes a fact of three lines and a tag, with a word in each."""
        word = self.ledger.word
        lines = f"One {word()}.\nTwo {word()}.\nThree {word()}."
        values = {"title": "Plan", "content": lines, "tags": [word()], **more}
        self.remember(values, at_once=at_once)

    def _must_wait(self) -> bool:
        """Whether the archive is locked while the outbox is needed."""
        locked = self.archive._saved is not None
        return locked and (self.store.away or self.store.lose_ack)

    def sees(self, fact_id: str) -> Fact | None:
        """The values of a fact that an agent sees before it writes."""
        self.clock.advance(0.002)
        if not self._must_wait():
            with suppress(errors.StoreUnavailableError, errors.FactNotFoundError):
                return facts.get(self.ctx, fact_id, agent=AGENT)
        return None

    def update(
        self,
        fact_id: str,
        change: Callable[[Fact], Mapping[str, Value]],
        *,
        conditional: bool = False,
    ) -> None:
        """An agent changes a fact; with a condition, only the version that it saw."""
        saw = self.sees(fact_id)
        if saw is None:
            return
        values = change(saw)
        before, wanted = wire.fact_to_json(saw), wire.fact_to_json(saw.replace(values))
        try:
            expect = saw.revision if conditional else None
            facts.update(self.ctx, fact_id, values, agent=AGENT, expect=expect)
        except errors.RevisionMismatchError:
            return
        except (errors.StoreUnavailableError, errors.FactNotFoundError):
            # The agent does not learn whether it was written.
            self.ledger.forgive(proofs.words(before) - proofs.words(wanted))
            return
        who = f"agent changes {fact_id}"
        self.ledger.wrote(who, saw=before, over=before, after=wanted)
        if conditional and (self.store.away or self.store.lose_ack):
            # If the fact is deleted meanwhile, only the history has it.
            self.ledger.at_least_kept(proofs.words(wanted) - proofs.words(before))

    def update_blindly(
        self,
        fact_id: str,
        first: Callable[[Fact], Mapping[str, Value]],
        second: Callable[[Fact], Mapping[str, Value]],
    ) -> None:
        """Two agents change a fact that both read before either of them wrote."""
        saw = self.sees(fact_id)
        if saw is not None:
            self.write_blindly(AGENT, saw, first)
            self.write_blindly(OTHER_AGENT, saw, second)

    def write_blindly(
        self, agent: str, saw: Fact, change: Callable[[Fact], Mapping[str, Value]]
    ) -> None:
        """Change a fact as an agent that saw an older version of it."""
        found = self.sees(saw.id)
        if found is None:
            return
        values = change(saw)
        before, there = wire.fact_to_json(saw), wire.fact_to_json(found)
        after = wire.fact_to_json(found.replace(values))
        try:
            facts.update(self.ctx, saw.id, values, agent=agent)
        except (errors.StoreUnavailableError, errors.FactNotFoundError):
            unsure = proofs.words(before + there) - proofs.words(after)
            self.ledger.forgive(unsure)  # it may have been done or not
            return
        self.ledger.wrote(f"{agent} changes {saw.id}", saw=before, over=before, after=after)
        # The unseen write was acknowledged, so it must leave a trace.
        unseen = proofs.words(there) - proofs.words(before)
        self.ledger.at_least_kept(unseen - proofs.words(after))

    def touch(self, fact_id: str) -> None:
        """An agent writes the same again."""
        row = self.store._rows[fact_id]
        fact = self.facts()[fact_id]
        with suppress(errors.StoreUnavailableError):
            write = StoreWrite(fact_id, fact, row.feed_row.revision, AGENT)
            assert not isinstance(self.store.write([write])[0], RevisionMismatch)

    def forget(self, fact_id: str) -> None:
        """An agent deletes a fact."""
        saw = self.sees(fact_id)
        if saw is None:
            return
        text = wire.fact_to_json(saw)
        try:
            facts.forget(self.ctx, fact_id, agent=AGENT)
        except (errors.StoreUnavailableError, errors.FactNotFoundError):
            self.ledger.forgive(proofs.words(text))  # it may have been done or not
            return
        self.ledger.wrote(f"agent deletes {fact_id}", saw=text, over=text, after="")

    def unearth(self, fact_id: str) -> None:
        """Restore a fact as an agent."""
        with suppress(errors.StoreUnavailableError, errors.FactNotFoundError):
            facts.restore(self.ctx, fact_id, agent=AGENT)
            self.ledger.story.append(f"agent brings back {fact_id}")

    # --- proposals ---------------------------------------------------------------------

    def propose(self, fact_id: str, change: Change | None) -> None:
        """An agent proposes to change a fact, or to delete it."""
        fact = self.sees(fact_id)
        if fact is None or fact.revision is None or self._must_wait():
            return
        word = self.ledger.word()
        after = None if change is None else change(fact, word)
        before = {key: fact.plain(key) for key in ("content", *(after or {}))}
        about = ProposedChange(fact.id, fact.revision, before, after, fact.path, fact.title)
        kind = "junk" if after is None else "retitle"
        propose(self.ctx, ProposalDraft(kind, "Better", "So.", AGENT, fact.scope, (about,)))
        self.ledger.story.append(f"agent proposes {after} for {fact_id}")

    def answer(self, path: str, *, accept: bool) -> None:
        """Tick a box of a proposal, which may remove values."""
        data = self.data(path)
        for record in self.archive.proposals():
            for each in record.changes if record.note_path == path and accept else ():
                fact = self.facts().get(each.fact_id)
                seen = wire.fact_to_json(fact) if fact is not None else ""
                self.ledger.at_least_kept(proofs.words(seen))
                for note in self.notes_by_id().get(each.fact_id, []):
                    self.ledger.at_least_kept(proofs.words(self.data(note)))
        self.clock.advance(0.002)
        box = b"- [ ] Accept" if accept else b"- [ ] Reject"
        self.vault.save_in_place(path, data.replace(box, box.replace(b"[ ]", b"[x]")))
        self.ledger.story.append(f"person answers {path}: {accept}")

    # --- accidents ---------------------------------------------------------------------

    def drop_archive(self) -> None:
        self.ledger.archive_lost()
        self.ledger.forgive(proofs.in_archive(self) - proofs.in_vault(self) - proofs.in_store(self))
        # Saves into displaced files: their facts are no longer known.
        self.ledger.at_least_kept(
            proofs.in_staging(self) - proofs.in_vault(self) - proofs.in_store(self)
        )
        self.vault.displaced.clear()
        self.use_archive(MemoryArchive())
        self._forget_scopes()
        self.ledger.story.append("the archive is lost")

    def keep_backup(self) -> None:
        self.backup = self.store.snapshot()
        facts = self.facts()
        known = (base.fact for base in self.archive.iter_bases())
        same = {x.id for x in known if x.id in facts and not differing_keys(x, facts[x.id])}
        buried = self.store._rows.keys() - facts.keys()
        told = {x for x in buried if self.archive.history(fact_id=x)}
        self.told = self.archives, same | told

    def restore_backup(self) -> None:
        """Replace the store with an old backup of it."""
        if self.backup is None:
            return
        before, unrecorded = proofs.in_store(self), proofs.in_replaced(self)
        # Values that only the store may change are restored from the notes that show them.
        own = proofs.words("".join(f.source or "" for f in self.facts().values()))
        self.store.restore(self.backup)
        self.older = self.facts()
        self.ledger.forgive(own - proofs.in_store(self))
        gone = before - proofs.in_store(self) - proofs.in_vault(self)
        gone |= unrecorded - proofs.in_archive(self) - proofs.in_store(self)
        self.ledger.forgive(gone - proofs.in_vault(self) - proofs.in_conflicts(self))
        self._forget_scopes()
        self.ledger.story.append("an old store is back")

    def _forget_scopes(self) -> None:
        """Where neither archive nor store has heard of a fact, its folder is its scope."""
        known = {base.fact.id for base in self.archive.iter_bases()} | {*self.store._rows}
        self.scopes = {key: scope for key, scope in self.scopes.items() if key in known}


def mirrored(count: int = 1, *, batch: int = 1000) -> World:
    """A world with some synced facts."""
    world = World(batch=batch)
    for _ in range(count):
        world.plan()
    world.turn()
    world.clock.advance(1)
    return world
