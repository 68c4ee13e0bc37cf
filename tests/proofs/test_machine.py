"""People, agents, crashes and faults in any order, and all promises at the end.

The profile `thorough` runs 2,000 stories of 80 steps, the others 60 of 40.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.proofs import texts
from tests.proofs.agents import CHANGES
from tests.proofs.turns import tell_stories
from tests.proofs.world import OTHER_AGENT, World
from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import Fact

FOLDERS = ("public/notes", "public/decisions", "team-core/notes", "Inbox")
NAMES = ("A.md", "a.md", "Fresh note.md", "CON.md")
TITLES = ("Alice", "alice", "CON", "a/b:c?", "Plan")
TYPES = ("note", "decision", "person", "observation")
MOST = 6
"""More notes than this are not made: collisions are what is wanted."""

many = st.integers(0, 11)


class Story(RuleBasedStateMachine):
    """Anything that may happen, in any order."""

    @initialize(
        first=st.integers(1, 3), insensitive=st.booleans(), batch=st.sampled_from([1, 1000])
    )
    def begin(self, first: int, insensitive: bool, batch: int) -> None:
        self.world = World(batch=batch, case_insensitive=insensitive)
        for _ in range(first):
            self._remember("note", "Plan")
        self.world.turn()

    def _remember(self, type_name: str, title: str, *, at_once: bool = False) -> None:
        word = self.world.ledger.word
        self.world.plan(at_once=at_once, type=type_name, title=title, tags=[word(), word()])

    def _path(self, which: int) -> str:
        paths = self.world.notes()
        assume(paths)
        return paths[which % len(paths)]

    def _fact(self, which: int) -> str:
        ids = list(self.world.facts())
        assume(ids)
        return ids[which % len(ids)]

    # --- the engine

    @rule()
    def a_pass(self) -> None:
        self.world.turn()

    @rule(seconds=st.sampled_from([0.004, 2, 45, 86_400, -86_400]))
    def time_passes(self, seconds: float) -> None:
        world = self.world
        if seconds > 30:
            for path in list(world.half):
                world.end_save(path)
            world.editors.clear()
        if seconds < 0:
            world.clock.set_back(-seconds)
            world.set_back -= seconds
        else:
            world.clock.advance(seconds)

    @rule(effect=st.integers(1, 60))
    def a_crash_in_a_pass(self, effect: int) -> None:
        self.world.crash_at(effect)

    @rule(effect=st.integers(1, 60), kept=st.integers(0, 2**16 - 1))
    def a_power_cut_in_a_pass(self, effect: int, kept: int) -> None:
        self.world.crash_at(effect)
        self.world.power_loss(lambda step: bool(kept >> step % 16 & 1))

    @rule(effect=st.integers(1, 60), which=many, how=many, rename=st.booleans())
    def a_person_saves_in_a_pass(self, effect: int, which: int, how: int, rename: bool) -> None:
        change = texts.EDITS[how % len(texts.EDITS)]

        def deed() -> None:
            paths = self.world.notes()
            if paths:
                path = paths[which % len(paths)]
                self.world.edit(path, change, rename=rename)

        self.world.turn({effect: deed})

    @rule(effect=st.integers(1, 60), which=many, how=many)
    def an_agent_writes_in_a_pass(self, effect: int, which: int, how: int) -> None:
        self.world.turn({effect: lambda: self._agent_changes(which, how)})

    @rule(effect=st.integers(1, 60), which=many)
    def a_person_deletes_in_a_pass(self, effect: int, which: int) -> None:
        def deed() -> None:
            paths = self.world.notes()
            if paths:
                self.world.delete(paths[which % len(paths)])

        self.world.turn({effect: deed})

    @rule(
        effect=st.integers(1, 60),
        times=st.integers(1, 4),
        where=st.sampled_from(["vault", "store", "archive"]),
    )
    def an_effect_fails_in_a_pass(self, effect: int, times: int, where: str) -> None:
        self.world.turn({effect + n: self._failure(where) for n in range(times)})

    def _failure(self, where: str) -> Callable[[], None]:
        def fail() -> None:
            happening = self.world.trail[-1]
            if not happening.startswith(where):
                return
            if where == "store":
                raise StoreUnavailableError("gone")
            raise OSError(errno.EIO, "the disk is broken")

        return fail

    # --- a person

    @rule(which=many, how=many, rename=st.booleans())
    def a_person_edits(self, which: int, how: int, rename: bool) -> None:
        change = texts.EDITS[how % len(texts.EDITS)]
        self.world.edit(self._path(which), change, rename=rename)

    @rule(which=many, empty=st.booleans())
    def a_save_begins(self, which: int, empty: bool) -> None:
        self.world.begin_save(self._path(which), empty=empty)

    @precondition(lambda self: self.world.half)
    @rule(which=many)
    def a_save_ends(self, which: int) -> None:
        paths = list(self.world.half)
        self.world.end_save(paths[which % len(paths)])

    @rule(which=many)
    def an_editor_opens(self, which: int) -> None:
        self.world.open(self._path(which))

    @precondition(lambda self: self.world.editors)
    @rule(stale=st.booleans())
    def an_editor_saves(self, stale: bool) -> None:
        editor = self.world.editors[0]
        if stale:
            self.world.save_stale(editor)
        else:
            self.world.save_through_handle(editor)

    @rule(which=many, folder=st.sampled_from(FOLDERS), name=st.sampled_from(("", *NAMES)))
    def a_person_moves(self, which: int, folder: str, name: str) -> None:
        path = self._path(which)
        self.world.rename(path, f"{folder}/{name or path.rpartition('/')[2]}")

    @rule(which=many)
    def a_person_changes_the_case(self, which: int) -> None:
        self.world.change_case(self._path(which))

    @precondition(lambda self: len(self.world.notes()) < MOST)
    @rule(which=many, name=st.sampled_from(NAMES))
    def a_person_copies(self, which: int, name: str) -> None:
        path = self._path(which)
        self.world.copy(path, f"{path.rpartition('/')[0]}/{name}")

    @rule(which=many)
    def a_person_deletes(self, which: int) -> None:
        self.world.delete(self._path(which))

    @rule()
    def a_person_restores(self) -> None:
        self.world.restore_from_trash()

    @precondition(lambda self: len(self.world.notes()) < MOST)
    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES), front=st.booleans())
    def a_person_writes_a_note(self, folder: str, name: str, front: bool) -> None:
        self.world.new_note(f"{folder}/{name}", front=front)

    @rule(which=many)
    def a_person_breaks_the_yaml(self, which: int) -> None:
        path = self._path(which)
        if path not in self.world.broken:
            self.world.break_yaml(path)

    @precondition(lambda self: self.world.broken)
    @rule()
    def a_person_mends_the_yaml(self) -> None:
        self.world.mend_yaml(next(iter(self.world.broken)))

    # --- agents

    @precondition(lambda self: len(self.world.facts()) < MOST)
    @rule(type_name=st.sampled_from(TYPES), title=st.sampled_from(TITLES), at_once=st.booleans())
    def an_agent_remembers(self, type_name: str, title: str, at_once: bool) -> None:
        self._remember(type_name, title, at_once=at_once)

    def _agent_changes(self, which: int, how: int) -> None:
        ids = list(self.world.facts())
        if ids:
            word = self.world.ledger.word()
            change = CHANGES[how % len(CHANGES)]
            self.world.update(ids[which % len(ids)], lambda fact: change(fact, word))

    @rule(which=many, how=many)
    def an_agent_changes(self, which: int, how: int) -> None:
        self._agent_changes(which, how)

    @rule(which=many, how=many)
    def an_agent_changes_what_it_saw(self, which: int, how: int) -> None:
        word, change = self.world.ledger.word(), CHANGES[how % len(CHANGES)]
        self.world.update(self._fact(which), lambda fact: change(fact, word), conditional=True)

    def _agents_change_blindly(self, which: int, how: int, other: int) -> None:
        ids = list(self.world.facts())
        if ids:
            words = self.world.ledger.word(), self.world.ledger.word()
            one, two = (CHANGES[x % len(CHANGES)] for x in (how, other))
            self.world.update_blindly(
                ids[which % len(ids)],
                lambda fact: one(fact, words[0]),
                lambda fact: two(fact, words[1]),
            )

    @rule(which=many, how=many, other=many)
    def two_agents_change_blindly(self, which: int, how: int, other: int) -> None:
        self._agents_change_blindly(which, how, other)

    @rule(effect=st.integers(1, 60), which=many, how=many, other=many)
    def two_agents_change_blindly_in_a_pass(
        self, effect: int, which: int, how: int, other: int
    ) -> None:
        self.world.turn({effect: lambda: self._agents_change_blindly(which, how, other)})

    @rule(
        effects=st.sets(st.integers(1, 60), min_size=3, max_size=3).map(sorted),
        which=many,
        how=many,
        other=many,
    )
    def an_agent_reads_and_another_writes_before_it_does_in_a_pass(
        self, effects: list[int], which: int, how: int, other: int
    ) -> None:
        """The engine may read between the one's reading and writing, and write after both."""
        fact_id = self._fact(which)
        words = self.world.ledger.word(), self.world.ledger.word()
        one, two = (CHANGES[x % len(CHANGES)] for x in (how, other))
        seen: list[Fact] = []

        def read() -> None:
            seen.extend(filter(None, [self.world.sees(fact_id)]))

        def other_writes() -> None:
            self.world.update(fact_id, lambda fact: two(fact, words[1]))

        def write() -> None:
            while seen:
                self.world.write_blindly(OTHER_AGENT, seen.pop(), lambda fact: one(fact, words[0]))

        self.world.turn(dict(zip(effects, (read, other_writes, write), strict=True)))
        write()  # where the pass ended before

    @rule(how=many)
    def an_agent_changes_everything(self, how: int) -> None:
        for which in range(len(self.world.facts())):
            self._agent_changes(which, how)

    @rule(which=many)
    def an_agent_writes_the_same(self, which: int) -> None:
        self.world.touch(self._fact(which))

    @rule(which=many)
    def an_agent_forgets(self, which: int) -> None:
        self.world.forget(self._fact(which))

    @rule(which=many)
    def an_agent_brings_back(self, which: int) -> None:
        ids = sorted(self.world.store._rows)
        assume(ids)
        self.world.unearth(ids[which % len(ids)])

    # --- conflicts

    @precondition(lambda self: self.world.conflict_notes())
    @rule(take=st.booleans())
    def a_person_settles_by_hand(self, take: bool) -> None:
        path = self.world.conflict_notes()[0]
        if take:
            self.world.tick(path)
        else:
            self.world.dismiss(path)

    @precondition(lambda self: self.world.archive.conflicts())
    @rule(take=st.sampled_from(["vault", "store"]))
    def a_person_settles_by_command(self, take: str) -> None:
        self.world.command(take)

    # --- proposals

    @precondition(lambda self: len(self.world.archive.proposals()) < MOST)
    @rule(which=many, how=many)
    def an_agent_proposes(self, which: int, how: int) -> None:
        changes = (None, *CHANGES)
        self.world.propose(self._fact(which), changes[how % len(changes)])

    @precondition(lambda self: self.world.proposal_notes())
    @rule(which=many, accept=st.booleans())
    def a_person_answers_a_proposal(self, which: int, accept: bool) -> None:
        paths = self.world.proposal_notes()
        self.world.answer(paths[which % len(paths)], accept=accept)

    @precondition(lambda self: self.world.proposal_notes())
    @rule(which=many)
    def a_person_deletes_a_proposal(self, which: int) -> None:
        paths = self.world.proposal_notes()
        self.world.clock.advance(0.002)
        self.world.vault.delete(paths[which % len(paths)])

    @precondition(lambda self: self.world.proposal_notes())
    @rule(which=many, how=many, accept=st.booleans())
    def an_agent_changes_what_is_just_answered(self, which: int, how: int, accept: bool) -> None:
        self.a_person_answers_a_proposal(which, accept)
        for record in self.world.archive.proposals():
            for each in record.changes:
                if each.fact_id in self.world.facts():
                    word, change = self.world.ledger.word(), CHANGES[how % len(CHANGES)]
                    self.world.update(each.fact_id, lambda fact: change(fact, word))  # noqa: B023

    # --- accidents

    @rule(ahead=st.sampled_from([0.0, 2.0, 40.0, 3600.0]))
    def the_clock_of_the_files_moves(self, ahead: float) -> None:
        self.world.vault.files_ahead = ahead

    @rule(lose=st.booleans())
    def the_store_goes_away(self, lose: bool) -> None:
        if lose:
            self.world.store.lose_ack = True
        else:
            self.world.store.away = True

    @precondition(lambda self: self.world.store.away or self.world.store.lose_ack)
    @rule()
    def the_store_is_back(self) -> None:
        self.world.store.away = self.world.store.lose_ack = False

    @rule(room=st.integers(0, 400))
    def the_disk_is_full(self, room: int) -> None:
        used = sum(len(i.data) for i in self.world.vault.names.values())
        self.world.vault.quota = used + room

    @precondition(lambda self: self.world.vault.quota is not None)
    @rule()
    def the_disk_has_room(self) -> None:
        self.world.vault.quota = None

    @rule(folder=st.sampled_from(("public", *FOLDERS)))
    def a_folder_is_unreadable(self, folder: str) -> None:
        self.world.vault.break_folder(folder)

    @precondition(lambda self: self.world.vault.broken)
    @rule()
    def the_folder_is_readable(self) -> None:
        self.world.vault.broken.clear()

    @rule()
    def the_vault_vanishes(self) -> None:
        self.world.vault.vanish()
        assert self.world.turn() is None
        self.world.vault.return_()

    @rule()
    def the_archive_is_lost(self) -> None:
        self.world.drop_archive()

    @rule()
    def somebody_makes_a_backup(self) -> None:
        self.world.keep_backup()

    @precondition(lambda self: self.world.backup is not None)
    @rule()
    def an_old_backup_comes_back(self) -> None:
        self.world.restore_backup()

    @rule()
    def everything_rests(self) -> None:
        self.world.quiesce()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.quiesce()


@pytest.mark.timeout(3600)
def test_whatever_happens_nothing_is_lost_and_both_sides_end_equal() -> None:
    tell_stories(Story, (60, 2000), (40, 80))
