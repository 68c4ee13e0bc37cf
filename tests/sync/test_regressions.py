"""Stories that once ended badly, each as short as it could be made.

Every one ends in `World.quiesce`, which holds all promises against where it ended. Those
in `STORIES` ask for no more than that and for a number of facts and notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count, product

import pytest

from tests.proofs import agents, ledger, texts
from tests.proofs.world import Crash, World, mirrored
from tests.world import rebuild_anyway
from vaultsync.errors import StoreUnavailableError
from vaultsync.model import serialization as wire
from vaultsync.storage.store import StoreWrite

pytestmark = pytest.mark.long(5)

STORIES = """
a store that lost only what the mirror wrote is noticed:
    backup, edit append, pass, older store

a fact whose folder was unreadable gets its note later:
    folder public/notes unreadable, remember Alice, remember Bob as lesson, pass, 2 notes,
    rest, 3 notes

an agent deletes in an outage what it cannot see changed:
    agent append, store away, forget

a tick does not run over what the agent wrote since:
    agent append, edit append, pass, tick, agent append

a note with a decomposed name is mirrored:
    begin 0, new public/notes/e\u0301.md, rest, 1 facts

a note renamed and broken at once is not deleted:
    move to public/notes/A.md, break public/notes/A.md,
    pass, 5 seconds, 1 facts, pass, 5 seconds, 1 facts,
    pass, 5 seconds, 1 facts, pass, 5 seconds, 1 facts

a note restored after its deletion was half recorded stays:
    delete, pass, 5 seconds, no answer, pass, store back, undelete, rest, 1 facts, 1 notes

what a rebuild from the vault replaces in the store is kept:
    agent append, rebuild

what waits in the outbox is not what a rebuild replaces:
    backup, new public/notes/A.md, pass, older store, store away, agent append, store back

a rebuild that was interrupted is completed by the next pass:
    begin 1 batch 1, backup, agent append, new public/notes/A.md, pass, older store,
    no answer, pass, store back

after a rebuild that was interrupted the older store is noticed again:
    begin 2 batch 1, backup, agent append #1, pass, older store,
    agent append #0, agent append #1, no answer, pass, store back

a change whose answer was lost is a change of what was read:
    backup, agent append, pass, older store, no answer, agent append, store back

a deletion whose answer was lost is a deletion of what was read:
    backup, edit append, pass, older store, no answer, forget, store back

what an interrupted rebuild replaced in the store is kept:
    backup, agent append, pass, older store, agent append, no answer, pass

a save into a displaced file outlives the archive:
    edit append, open, agent first_line, pass, no archive, save open file

a save into a displaced file is kept when the archive is lost after it:
    open, agent first_line, pass, save open file, no archive

a save into a displaced file beside an older store takes nothing away:
    backup, open, agent append, pass, save open file, older store

a displaced save waits while a merge of its note is not repaired:
    begin 2, open #0, agent append, pass, agent first_line, edit append #1,
    no answer, pass, store away, save open file, pass

a rescued save survives a power cut:
    open, forget, pass, save open file, crash, power cut

a broken note that moved keeps its fact when its old place is taken:
    move to Inbox/A.md, break Inbox/A.md, pass, remember Plan, pass

a broken note that moved is still the note of its fact without an archive:
    move to Inbox/A.md, break Inbox/A.md, no archive, pass, 1 notes, see Inbox/A.md,
    rest, 1 facts, 1 notes

a broken note counts as it was read last beside an older store:
    backup, edit append, pass, break, older store, pass

a note deleted after a crash that followed its making is seen to be gone:
    remember Alice, crash, delete #1

a note that is deleted as soon as a pass made it is seen to be gone:
    remember Alice, meanwhile delete #1

a note that is deleted after a crash that followed its move is seen to be gone:
    move to Inbox/A.md, pass, move to public/notes/A.md, pass, 1 seconds,
    move to Inbox/A.md, crash, delete Inbox/A.md

a note that is deleted while a pass follows its move is seen to be gone:
    move to team-core/notes/A.md, agent append, meanwhile delete all

a note that was put back before its deletion was known is seen:
    delete, pass, crash, undelete, 1 seconds, store away, pass, store back,
    rest, 1 facts, 1 notes

an agents edit of a half made fact reaches its note:
    new public/notes/A.md, crash, agent tag last

taking a deletion does not delete what was written since:
    edit append, forget, pass, agent append, command store

a deletion that an older store takes back gives its note back:
    begin 2 batch 1, backup, forget, agent append, disk full, pass, older store

a crash while a note is made again is repaired:
    delete, pass, 5 seconds, agent append, crash, rest, 1 notes

a crash while a field is put back is repaired:
    edit source, crash

a copy whose owner was unclear becomes a note of its own when it is clear:
    move to public/decisions/a.md, pass, agent append, copy to public/notes/A.md,
    move public/decisions/a.md to public/decisions/A.md, pass, 60 seconds, pass,
    copy public/decisions/A.md to public/decisions/a.md

a copy that is broken before its id was written gets it when it is mended:
    copy to public/notes/A.md, crash, break public/notes/A.md, pass, rest, 2 facts

a merge without a base that a full disk stopped is agreed by nobody:
    no archive, agent tag, disk full, pass, edit status, pass

a merge without a base that a crash stopped is agreed by nobody, whatever is edited:
    edit append, pass, no archive, agent tag, crash, edit tag

what an older store knows alone comes into a note without a base:
    backup, delete, pass, 1 seconds, pass, undelete, older store, agent source

what is saved again after a write without an answer is no deletion by an agent:
    empty save, 45 seconds, no answer, pass, store back, agent append, end save

what is saved again after a crash is no deletion by an agent:
    empty save, 45 seconds, crash, agent append, end save

a tick is about the note wherever it lies now:
    edit append, forget, pass, move to team-core/notes/A.md, tick, rest, 0 facts

what is written after a tick in a note of a crashed pass is not deleted:
    edit append, forget, crash, tick, edit append

what an agent adds to an older fact overrules a note that may be a copy:
    backup, edit append, rest, move to team-core/notes/A.md, older store, agent append,
    folder public/notes unreadable, pass

an older store that comes back after a crash is filled from the notes:
    backup, edit append, agent tag, crash, older store

an older store is noticed wherever a pass that wrote only notes ended:
    backup, agent append, crash, older store

an older store is noticed wherever the power was cut in a pass that wrote only notes:
    backup, agent append, crash, older store, power cut

an older store is told by what a crashed pass saw replaced:
    backup, agent source, crash, edit append, pass, older store, break, pass

an older store is told by what a note made again showed first:
    backup, agent append, delete, rest, older store, break, pass

an older store is told by a deletion that was taken back since:
    forget, rest, backup, unearth #0, agent append, rest, older store, break, pass,
    rest, 1 facts, 1 notes

a note deleted while a pass writes beside it is seen to be gone:
    begin 3, forget #0, forget #2, meanwhile delete #1, rest, 0 facts

an older store after the archive was lost and no pass ended is filled:
    begin 1 batch 1, backup, remember Alice, remember Bob, pass, no archive,
    agent tag last, disk full, pass, older store, rest, alive #1

a note whose id was not written yet gets it beside an older store:
    backup, no answer, new public/notes/A.md, pass, half save public/notes/A.md, pass,
    older store, pass, rest, every note has its id

a note that moved on before its making was repaired is seen to be gone:
    no answer, new team-core/notes/a.md, pass, store away,
    move team-core/notes/a.md to public/notes/a.md, pass, rest, see public/notes/a.md

a note that brings back its fact shows what was changed before the deletion:
    begin 2, forget #0, delete #0, pass, unearth #0, agent source #0, forget #0,
    undelete, rest, alive #0

a note whose place another got before a crash is seen to be gone:
    delete, remember Plan, crash, rest, only #1

a note moves to the place of one that lies elsewhere twice:
    begin 2, move #0 to public/notes/A.md, copy public/notes/A.md to public/notes/B.md,
    edit append public/notes/A.md, edit append public/notes/B.md, move #1 to PLAN,
    rest, rest

a note that comes back after a rebuild gives its fact back:
    backup, remember Alice, pass, older store, delete #1, pass, undelete, rest, alive #1

an edit in an outage beats a deletion beside a store that lost the fact:
    backup, remember Alice, pass, store away, delete #1, agent append #1, store back,
    older store, rest, alive #1

a note whose place another moved to before a crash is no copy:
    begin 2, move #0 to public/decisions/a.md, pass, 1 seconds, move #0 to Inbox/A.md,
    move #1 to public/decisions/a.md, crash, pass,
    move public/decisions/a.md to public/notes/B.md, rest, only #0 #1

a deletion that is taken takes the note wherever it was moved to:
    begin 2, edit append #0, forget #0, pass, move #0 to team-core/notes/A.md, tick,
    rest, only #1

a tick in a conflict note of a crashed pass is not left unheard:
    edit append, forget, crash, tick, rest, no box is ticked

copies that got ids of their own in a crash do not keep a fact alive:
    copy to public/notes/a.md, copy to public/notes/CON.md, at once delete PLAN,
    undelete, no answer, at once agent append, pass, at once delete PLAN

a half saved note does not bring back one that lay there before:
    delete, remember Plan, touch #0, pass, half save, 5 seconds, pass, rest, 1 facts

a broken note whose place another got is its note when it is mended:
    begin 2, move #0 to Inbox/A.md, break Inbox/A.md, move #1 to PLAN, pass,
    rest, #0 at Inbox/A.md, only #0 #1

a broken note that lies elsewhere unread does so for a rebuild too:
    begin 2, backup, edit append #0, rest, move #0 to Inbox/A.md, break Inbox/A.md,
    move #1 to PLAN, pass, older store, crash, rest, #1 at PLAN, #0 at Inbox/A.md

a note with a twin that lies elsewhere unread does so for a rebuild too:
    begin 2, backup, edit append #0, rest, move #0 to Inbox/A.md,
    copy Inbox/A.md to Inbox/CON.md, move #1 to PLAN, pass, older store, crash,
    rest, #1 at PLAN

a broken note whose place another got is gone after two looks:
    begin 2, move #0 to Inbox/A.md, break Inbox/A.md, move #1 to PLAN, pass,
    delete Inbox/A.md, 5 seconds, pass, 2 facts, rest, only #1

a note moved to another type while its fact is deleted says its type:
    remember Alice as decision, pass, move #1 to public/notes/A.md, forget #1, rest,
    public/notes/A.md says type: note

an older store does not overrule a note that cannot be read now:
    backup, edit append, pass, agent append, pass, older store, folder public unreadable,
    pass, folder readable, rest, the last 1 words are in a fact

an older store does not overrule what a new archive saw brought to a note:
    backup, no archive, agent tag, pass, agent append, pass, folder public unreadable,
    older store, pass, rest, the last 2 words are in a fact

two writers of a field of the store in an outage both keep their words:
    agent source, store away, agent source, rest, tick, rest, the last 1 words are in a fact

a note deleted in an unreadable folder is deleted later:
    begin 2, folder public/notes unreadable, pass, delete #0, pass, alive #0, rest, only #1

a note that is back at the second look was never deleted:
    begin 2, delete #0, pass, undelete, move #0 to public/elsewhere/back.md, pass, alive #0,
    rest, #0 at public/elsewhere/back.md, only #0 #1

a note that is back at any moment of its deletion stays:
    begin 2, delete #0, pass, 5 seconds, meanwhile undelete, rest, only #0 #1

a note renamed and edited on both sides is merged where it is:
    move to public/notes/A.md, edit append, agent first_line, rest, #0 at public/notes/A.md,
    1 facts, 1 notes

an edit meanwhile beats a deletion in the outbox:
    begin 2, store away, forget #0, store back, agent append #0

an edit in an outage beats a deletion meanwhile:
    begin 2, store away, agent append #0, store back, forget #0, rest, alive #0

a new note edited after a crash stays one fact:
    begin 0, new public/notes/A.md, crash, edit append public/notes/A.md, rest, 1 facts,
    1 notes, see public/notes/A.md

an agents edits before and after a crash are both kept:
    agent append, crash, agent status, rest, the last 2 words are in a fact

an intent waits until the store can be asked:
    edit append, agent first_line, crash, store away, pass, pass, store back

each of two notes that were renamed and broken is known again:
    begin 2, move #0 to Inbox/A.md, move #1 to Inbox/B.md, break Inbox/A.md, break Inbox/B.md,
    pass, 5 seconds, pass, 5 seconds, pass, only #0 #1

an emptied note that is refilled lost nothing:
    empty save, pass, agent first_line, pass, end save, rest, the last 1 words are in a fact

of two notes with one id the one with the old bytes is the note of the fact:
    copy to public/notes/edited.md, edit append public/notes/edited.md,
    move PLAN to public/notes/moved.md, rest, #0 at public/notes/moved.md, 2 facts, 2 notes

a restored note whose place is taken gets another name:
    begin 2, forget #0, rest, new public/notes/2026-02-14-plan.md, rest, unearth #0, rest,
    3 facts, 3 notes

what an agent writes in a pass is merged with what a person wrote before:
    edit append, meanwhile agent first_line, rest, the last 2 words are in a fact

a fact whose broken note is taken away without an archive gets another one:
    move to Inbox/A.md, break Inbox/A.md, no archive, pass, delete Inbox/A.md, pass, 1 notes,
    rest, 1 facts, 1 notes

a save that begins after a crash and looks torn is kept:
    begin 0, remember Plan, pass, agent append, crash, half save, pass
"""


def _agent(world: World, change: agents.Change, which: int = 0) -> None:
    word = world.ledger.word()
    world.update(list(world.facts())[which], lambda fact: change(fact, word))


def _fill_disk(world: World, room: int = 0) -> None:
    world.vault.quota = room + sum(len(i.data) for i in world.vault.names.values())


def _crashes(world: World, effect: int) -> bool:
    """Begin a pass and crash before its n-th effect, if it has so many."""
    world.crash_at(effect)
    return len(world.trail) >= effect


def _rebuild(world: World) -> None:
    world.ledger.at_least_kept(list(world.ledger.owed))
    world.run(lambda: rebuild_anyway(world.ctx, "vault"))


def _store(world: World, *, away: bool = False, lose_ack: bool = False) -> None:
    world.store.away, world.store.lose_ack = away, lose_ack


class _Story:
    """A world in which each step is done by its words.

    `#1` is the second fact that was made, or its note; a note is the first one where none
    is named. PLAN is the path of the first note.
    """

    def __init__(self, count: int = 1, batch: int = 1000) -> None:
        self.world = mirrored(count, batch=batch)
        self.ids = list(self.world.facts())

    def id(self, number: str) -> str:
        """A fact by its number; the one that was made first of those there are."""
        return self.ids[int(number[1:])] if number else next(iter(self.world.facts()))

    def paths(self, note: str) -> list[str]:
        if note == "all":
            return self.world.notes()
        if note.startswith("#"):
            return self.world.notes_by_id().get(self.id(note), [])
        return [_path(note) if note else self.world.notes()[0]]

    def note(self, note: str) -> str:
        return self.paths(note)[0]

    def remember(self, title: str, type_name: str | None) -> None:
        content, type_name = self.world.ledger.word(), type_name or "note"
        made = self.world.remember({"title": title, "content": content, "type": type_name})
        self.ids.append(made or "")

    def delete(self, note: str) -> None:
        for path in self.paths(note):
            self.world.broken.pop(path, None)
            self.world.delete(path)

    def agent(self, change: str, which: str) -> None:
        living = list(self.world.facts())
        number = living.index(self.id(which)) if which != "last" else -1
        _agent(self.world, getattr(agents, change), number)

    def last_words(self, number: str) -> None:
        """So many words that were written last are in one fact."""
        made = self.world.ledger.made
        words = {f"w{made - n}w" for n in range(int(number))}
        facts = map(wire.fact_to_json, self.world.facts().values())
        assert any(words <= ledger.words(each) for each in facts)

    def do(self, step: str) -> None:
        for words, deed in _STEPS.items():
            if found := re.fullmatch(words, step):
                deed(self, *found.groups())
                return
        raise ValueError(step)


def _path(name: str) -> str:
    return "public/notes/2026-02-14-plan.md" if name == "PLAN" else name


def _holds(claim: bool) -> None:
    assert claim


_STEPS: dict[str, Callable[..., object]] = {
    "pass": lambda my: my.world.turn(),
    "at once (.+)": lambda my, step: my.world.turn({1: lambda: my.do(step)}),
    "rest": lambda my: my.world.quiesce(),
    "rebuild": lambda my: _rebuild(my.world),
    "power cut": lambda my: my.world.power_loss(lambda _: False),
    r"(\d+) seconds": lambda my, seconds: my.world.clock.advance(int(seconds)),
    # the store, the archive and the disk
    "backup": lambda my: my.world.keep_backup(),
    "older store": lambda my: my.world.restore_backup(),
    "store away": lambda my: _store(my.world, away=True),
    "no answer": lambda my: _store(my.world, lose_ack=True),
    "store back": lambda my: _store(my.world),
    "no archive": lambda my: my.world.drop_archive(),
    "disk full": lambda my: _fill_disk(my.world),
    r"folder (\S+) unreadable": lambda my, path: my.world.vault.break_folder(path),
    "folder readable": lambda my: my.world.vault.broken.clear(),
    # an agent
    r"agent (\w+) ?(#\d|last|)": _Story.agent,
    r"remember (\w+)(?: as (\w+))?": _Story.remember,
    r"touch (#\d)": lambda my, which: my.world.touch(my.id(which)),
    r"forget ?(#\d|)": lambda my, which: my.world.forget(my.id(which)),
    r"unearth (#\d)": lambda my, which: my.world.unearth(my.id(which)),
    # a person
    r"edit (\w+) ?(\S*)": lambda my, change, note: my.world.edit(
        my.note(note), getattr(texts, change)
    ),
    r"new (\S+)": lambda my, path: my.world.new_note(path),
    r"move ?(\S*) to (\S+)": lambda my, note, to: my.world.rename(my.note(note), _path(to)),
    r"copy ?(\S*) to (\S+)": lambda my, note, to: my.world.copy(my.note(note), to),
    r"delete ?(\S*)": _Story.delete,
    "undelete": lambda my: my.world.restore_from_trash(),
    r"break ?(\S*)": lambda my, note: my.world.break_yaml(my.note(note)),
    r"open ?(\S*)": lambda my, note: my.world.open(my.note(note)),
    "save open file": lambda my: my.world.save_through_handle(my.world.editors[0]),
    r"(empty|half) save ?(\S*)": lambda my, how, note: my.world.begin_save(
        my.note(note), empty=how == "empty"
    ),
    "end save": lambda my: my.world.end_save(next(iter(my.world.half))),
    "tick": lambda my: [my.world.tick(each) for each in my.world.conflict_notes()],
    r"command (\w+)": lambda my, take: my.world.command(take),
    # what must be so now
    r"(\d+) facts": lambda my, number: _holds(len(my.world.facts()) == int(number)),
    r"(\d+) notes": lambda my, number: _holds(len(my.world.notes()) == int(number)),
    r"see (\S+)": lambda my, path: _holds(path in my.world.notes()),
    r"(#\d) at (\S+)": lambda my, which, path: _holds(my.paths(which) == [_path(path)]),
    r"(\S+) says (.+)": lambda my, path, text: _holds(text.encode() in my.world.data(path)),
    r"the last (\d) words are in a fact": _Story.last_words,
    r"alive (#\d)": lambda my, which: _holds(my.id(which) in my.world.facts()),
    r"only (.+)": lambda my, some: _holds(
        sorted(my.world.facts()) == sorted(map(my.id, some.split()))
    ),
    "every note has its id": lambda my: _holds(
        all(texts.id_of(my.world.data(path)) for path in my.world.notes())
    ),
    "no box is ticked": lambda my: _holds(
        all(b"[x]" not in my.world.data(each) for each in my.world.conflict_notes())
    ),
}
"""What a step of a story does, by its words."""


def _goes(steps: list[str], effect: int) -> bool:
    """Live through a story; False when its pass ends before the n-th effect."""
    if how := re.fullmatch(r"begin (\d+)(?: batch (\d+))?", steps[0]):
        story = _Story(int(how[1]), int(how[2] or 1000))
        steps = steps[1:]
    else:
        story = _Story()
    for step in steps:
        if step == "crash":
            story.world.crash_at(effect)
        elif step.startswith("meanwhile "):
            deed = partial(story.do, step.removeprefix("meanwhile "))
            story.world.turn({effect: deed})
        else:
            story.do(step)
            continue
        if len(story.world.trail) < effect:
            return False
    story.world.quiesce()
    return True


def _parse(story: str) -> tuple[str, list[str]]:
    name, steps = story.split(":\n")
    return name, re.split(r",\s+", steps.strip())


_PARSED = dict(map(_parse, STORIES.strip().split("\n\n")))


@pytest.mark.parametrize("steps", _PARSED.values(), ids=_PARSED)
def test_a_story_ends_well(steps: list[str]) -> None:
    """A `crash`, and what happens `meanwhile`, is tried before each effect of its pass."""
    anywhere = any(step.startswith(("crash", "meanwhile ")) for step in steps)
    assert _goes(steps, 1)
    assert not anywhere or not all(_goes(steps, effect) for effect in range(2, 1000))


def test_two_writers_of_one_line_in_an_outage_both_keep_their_words() -> None:
    world = mirrored()
    world.store.away = True
    _agent(world, agents.first_line)
    world.store.away = False
    # Another process, whose connection holds.
    fact_id, fact = next(iter(world.facts().items()))
    row = world.store._rows[fact_id]
    word = world.ledger.word()
    other = fact.replace(agents.first_line(fact, word))
    before, after = wire.fact_to_json(fact), wire.fact_to_json(other)
    world.ledger.wrote("another agent", saw=before, over=before, after=after)
    world.store.write([StoreWrite(fact_id, other, row.feed_row.revision, "other")])
    world.quiesce()


def test_a_count_is_no_reason_to_write_a_note() -> None:
    world = mirrored()
    path = world.notes()[0]
    world.edit(path, lambda data, _: texts._set(data, "accessCount", "3"))
    world.quiesce()
    _agent(world, agents.access)
    before = world.data(path)
    world.quiesce()
    assert world.data(path) == before


def test_a_folder_with_a_racy_note_is_looked_into_again() -> None:
    # All of it within one tick of the file system's clock, and of equal length.
    world = mirrored()
    path = world.notes()[0]
    world.edit(path, texts.append)
    world.turn()
    world.turn()
    stamp = world.vault.names[path].stamp
    world.save(path, world.data(path).replace(b"One w1w", b"Now w1w"))
    assert world.vault.names[path].stamp == stamp
    world.quiesce()
    assert next(iter(world.facts().values())).content.startswith("Now")


def test_an_older_store_is_noticed_when_the_last_pass_did_not_come_to_its_end() -> None:
    world = mirrored(2, batch=1)
    world.keep_backup()
    path = world.notes_by_id()[next(iter(world.facts()))][0]
    room = len(world.data(path)) + 20
    world.rename(path, path.replace("/notes/", "/decisions/"))
    _agent(world, agents.append, 1)
    _fill_disk(world, room)  # there is some for the first note, not for the second one
    world.turn()
    world.restore_backup()
    world.quiesce()
    assert [fact.type for fact in world.facts().values()] == ["decision", "note"]


def test_a_new_note_whose_name_differs_in_case_alone_does_not_stand_for_one_deleted() -> None:
    world = World(case_insensitive=True)
    world.turn()
    world.keep_backup()
    world.new_note("public/notes/con.md")
    world.turn()
    world.clock.advance(1)
    world.delete("public/notes/con.md")
    world.new_note("public/notes/CON.md")
    world.store.away = True
    world.turn()
    world.restore_backup()
    world.quiesce()
    assert [fact.title for fact in world.facts().values()] == ["CON"]


def test_what_a_person_puts_back_after_a_crash_is_back_whatever_an_agent_adds() -> None:
    for effect in count(1):
        world = mirrored()
        path = world.notes()[0]
        before = world.data(path)
        world.save(path, before.replace(b"  - w4w\n", b"").replace(b"One w1w.\n", b""))
        world.clock.advance(1)
        if not _crashes(world, effect):
            break
        _agent(world, agents.tag)
        world.save(path, before)
        world.quiesce()
        (fact,) = world.facts().values()
        assert "w4w" in fact.tags
        assert "One w1w." in fact.content


def test_what_an_agent_puts_back_after_a_crash_is_back_whatever_the_person_adds() -> None:
    for effect in count(1):
        world = mirrored()
        (before,) = world.facts().values()
        _agent(world, lambda _, word: {"tags": [word], "content": f"Only {word}."})
        if not _crashes(world, effect):
            break
        world.edit(world.notes()[0], texts.mood)
        said = {"tags": list(before.tags), "content": before.content}
        world.update(before.id, lambda _, said=said: said)  # type: ignore[misc]
        world.quiesce()
        (fact,) = world.facts().values()
        assert "w4w" in fact.tags
        assert before.content in fact.content


def test_nothing_is_merged_before_it_is_known_what_of_the_last_pass_was_written() -> None:
    for effect in count(1):
        world = mirrored()
        path = world.notes()[0]
        world.begin_save(path, empty=True)
        world.clock.advance(45)
        world.store.lose_ack = True
        world.turn()
        world.store.lose_ack = False
        _agent(world, agents.append)
        world.end_save(path)

        def falls_silent(world: World = world) -> None:
            if world.trail[-1].startswith("store"):
                raise StoreUnavailableError("gone")

        world.turn({effect: falls_silent, effect + 1: falls_silent})
        if len(world.trail) < effect:
            break
        world.quiesce()


def test_a_new_note_that_changes_in_a_pass_that_crashes_is_one_fact() -> None:
    for leaves, first in product((False, True), range(10, 20)):
        crash = first
        while True:
            crash += 1
            world = World()
            world.turn()
            world.new_note("public/notes/A.md")

            def deed(world: World = world, *, leaves: bool = leaves) -> None:
                if leaves:
                    world.rename("public/notes/A.md", "public/notes/B.md")
                else:
                    world.edit("public/notes/A.md", texts.append, rename=True)

            with suppress(Crash):
                world.turn({first: deed, crash: world.die})
            if len(world.trail) < crash:
                break
            world.quiesce()
            assert len(world.facts()) == len(world.notes()) == 1, world.tell()


def test_the_history_tells_what_a_crashed_pass_did() -> None:
    for effect in count(1):
        world = mirrored(2)
        kept, gone = list(world.facts())
        _agent(world, agents.status)
        world.edit(world.notes_by_id()[kept][0], texts.title)
        world.forget(gone)
        if not _crashes(world, effect):
            break
        world.quiesce()
        fact = world.facts()[kept]
        told = {x.field: (x.side, x.after) for x in world.archive.history(fact_id=kept)}
        assert told["status"] == ("store", fact.status)
        assert told["title"] == ("vault", fact.title)
        assert gone in world.archive.note_tombstones([gone])


def test_an_older_store_is_told_by_what_a_fact_made_again_said_before() -> None:
    world = World()
    world.turn()
    world.keep_backup()
    world.remember({"title": "Plan", "content": world.ledger.word()})
    world.turn()
    empty = world.backup
    world.keep_backup()
    early, world.backup = world.backup, empty
    world.edit(world.notes()[0], texts.append)
    world.restore_backup()
    world.quiesce()
    world.backup = early
    world.restore_backup()
    world.break_yaml(world.notes()[0])
    world.turn()
    world.quiesce()


def test_a_half_saved_note_is_not_torn_when_a_full_disk_stopped_the_pass_before() -> None:
    world = World()
    content = f"One {world.ledger.word()}.\nTwo {world.ledger.word()}."
    world.remember({"title": "Plan", "content": content})
    world.turn()
    _agent(world, agents.append)
    world.edit(world.notes()[0], texts.change_line)
    _fill_disk(world, 600)
    world.remember({"title": "Alice", "content": "A long text.\n" * 60})
    world.turn()
    assert world.archive.intents()
    world.begin_save(world.notes()[0], empty=False)
    world.turn()
    world.quiesce()
