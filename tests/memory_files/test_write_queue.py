"""An agent's writes into a memory file: a person's save stands, and no text is lost."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import to_builtins

from tests.memory_file_worlds import DEPLOY, NAME, TESTS, TEXT, MemoryWorld, memory
from vaultsync.errors import InvalidFieldError, UnreadableMemoryFileError, UsageError
from vaultsync.memory_files.sections import MANAGED_MARKER
from vaultsync.memory_files.write_queue import drain_write_queue

OTHER = "Restore a copy before you call it a copy."
FILE = memory(DEPLOY, TESTS)


@pytest.fixture
def world() -> MemoryWorld:
    """A person saved `FILE`."""
    world = MemoryWorld()
    world.file.says(FILE)
    return world


@pytest.fixture
def crashed(world: MemoryWorld) -> MemoryWorld:
    """A person saved while the agent's text was written, and that ended in between."""

    def act(step: str) -> None:
        if step == "swap":
            world.file.says(memory(DEPLOY, ("Tests", "This is save 0 of a person.")))
        if step == "examine":
            raise KeyboardInterrupt

    world.file.before = act
    with contextlib.suppress(KeyboardInterrupt):
        world.agent_adds(TEXT)
    world.file.before = lambda _: None
    world.file.busy = False
    return world


def what_of(world: MemoryWorld) -> list[object]:
    """What was logged of the texts of agents."""
    return [each["what"] for each in world.queue.entries if each["what"] != "section"]


def test_an_agents_text_is_added_and_logged(world: MemoryWorld) -> None:
    added = world.agent_adds(TEXT)
    assert (added.status, added.name) == ("written", NAME)
    assert world.file.text == f"{FILE}\n## Lessons\n{MANAGED_MARKER}\n\n{TEXT}\n"
    assert not world.queue.items
    assert what_of(world) == ["written"]
    assert world.queue.entries[0]["text"] == TEXT
    assert world.agent_adds(TEXT).status == "unchanged"
    assert json.dumps(to_builtins(added))


def test_a_file_that_is_not_there_is_made() -> None:
    world = MemoryWorld()
    assert world.agent_adds(TEXT).status == "written"
    assert TEXT in world.file.text


def test_a_mark_of_byte_order_stays_and_what_is_not_utf8_is_not_written(world: MemoryWorld) -> None:
    world.file.data = b"\xef\xbb\xbf" + FILE.encode()
    world.agent_adds(TEXT)
    assert world.file.data.startswith(b"\xef\xbb\xbf# Memory")
    assert world.file.data.count(b"\xef\xbb\xbf") == 1
    world.file.data = FILE.encode() * 9 + b"\xff"
    with pytest.raises(UnreadableMemoryFileError):
        world.agent_adds(TEXT)


def test_a_text_waits_while_somebody_else_has_the_file(world: MemoryWorld) -> None:
    world.file.busy = True
    added = world.agent_adds(TEXT)
    assert added.status == "queued"
    assert "another process" in added.reason
    world.file.busy = False
    assert world.syncs(dry_run=True).files[0].written == 0
    assert world.queue.items
    assert world.syncs().files[0].written == 1
    assert TEXT in world.file.text
    assert TEXT in world.by_title("Lessons").content
    assert what_of(world) == ["queued", "written"]


@pytest.mark.parametrize("step", ["look", "swap", "examine"])
def test_a_save_at_the_same_moment_stands_and_the_text_waits(world: MemoryWorld, step: str) -> None:
    saved = memory(DEPLOY, ("Tests", "A person saves this now."))
    world.file.at(step, lambda: world.file.says(saved))
    added = world.agent_adds(TEXT)
    assert "A person saves this now." in world.file.text
    if step == "examine":  # saved over what the agent had written already
        assert added.status == "written"
    else:
        assert (added.status, TEXT in world.file.text) == ("queued", False)
        assert world.agent_adds(OTHER).status == "written"
        assert world.file.text.index(TEXT) < world.file.text.index(OTHER)
    assert any(each.get("text") == TEXT for each in world.queue.entries)


def test_what_cannot_be_written_is_an_error_or_goes_on_waiting(world: MemoryWorld) -> None:
    with pytest.raises(InvalidFieldError):
        world.agent_adds("```\nA fence that nobody closes, in many words.")
    world.file.says(f"{FILE}\n```\n")
    with pytest.raises(UsageError, match="ends in unclosed code"):
        world.agent_adds(TEXT)
    assert not world.queue.items
    world.file.busy = True
    world.agent_adds(TEXT)
    world.file.busy = False
    assert world.syncs().files[0].written == 0
    assert [each.text for each in world.queue.items.values()] == [TEXT]
    world.file.says(FILE)
    assert world.syncs().files[0].written == 1


def test_a_read_only_file_is_an_error_and_the_text_is_in_the_queue(world: MemoryWorld) -> None:
    world.file.says(FILE)
    world.file.writable = False
    with pytest.raises(UnreadableMemoryFileError) as refused:
        world.agent_adds(TEXT)
    assert "queued until the file can be written" in refused.value.hint
    assert world.syncs().counts["created"] == 2
    assert world.file.kept is None
    assert world.syncs().counts["unchanged"] == 2
    world.file.writable = True
    assert world.syncs().files[0].written == 1


STEPS = ("lock", "read", "look", "swap", "examine", "back")


@pytest.mark.parametrize("later", ["", "The newest save of that person."])
def test_a_crash_after_the_swap_loses_no_displaced_save(crashed: MemoryWorld, later: str) -> None:
    assert TEXT in crashed.file.text
    if later:
        crashed.file.says(memory(("Tests", later)))
    drain_write_queue(crashed.file, crashed.queue)
    assert (later or "save 0") in crashed.file.text
    assert later or TEXT in crashed.file.text
    assert any(b"save 0" in blob for blob in crashed.queue.blobs.values())
    assert "kept" in what_of(crashed)
    assert not crashed.file.left


def test_a_save_during_the_recovery_stands_and_both_others_are_kept(crashed: MemoryWorld) -> None:
    newer = iter(["A newer save of a person.", "The newest save of a person."])

    def save(step: str) -> None:
        if step in {"swap", "back"} and (words := next(newer, None)):
            crashed.file.says(memory(("Tests", words)))

    crashed.file.before = save
    drain_write_queue(crashed.file, crashed.queue)
    crashed.file.before = lambda _: None
    assert "The newest save" in crashed.file.text
    kept = b"".join(crashed.queue.blobs.values())
    assert b"save 0" in kept
    assert b"A newer save" in kept


def test_a_text_that_another_agent_wrote_meanwhile_is_written(world: MemoryWorld) -> None:
    world.file.at("lock", lambda: drain_write_queue(world.file, world.queue))
    assert world.agent_adds(TEXT).status == "written"
    assert world.file.text.count(TEXT) == 1


EVENTS = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from(["save", "save", "crash"])), max_size=4
)


@given(st.lists(EVENTS, min_size=1, max_size=3))
@example([[("swap", "save"), ("back", "save"), ("back", "save")]])
@example([[("swap", "save"), ("examine", "crash")], [("look", "save")]])
@example([[("swap", "save"), ("back", "crash")], []])
def test_nothing_that_anybody_wrote_is_lost(rounds: Sequence[Sequence[tuple[str, str]]]) -> None:
    world = MemoryWorld()
    world.file.says(FILE)
    saves = 0
    for number, events in enumerate(rounds):
        waiting = list(events)

        def act(step: str, waiting: list[tuple[str, str]] = waiting) -> None:
            nonlocal saves
            if not waiting or waiting[0][0] != step:
                return
            _, what = waiting.pop(0)
            if what == "crash":
                raise KeyboardInterrupt
            saves += 1
            world.file.says(memory(("Person", f"This is save {saves} of a person.")))

        world.file.before = act
        learned = f"This is what the agent learned, number {number}."
        with contextlib.suppress(KeyboardInterrupt):
            world.agent_adds(learned)
        world.file.busy = False
        world.file.before = lambda _: None
        known = [each.get("text") for each in world.queue.entries]
        known += [each.text for each in world.queue.items.values()]
        died_early = ("lock", "crash") in events or ("read", "crash") in events
        assert learned in known or died_early

    # Everybody is done: what waits is written, and nothing is displaced any more.
    with world.file.lock(0):
        drain_write_queue(world.file, world.queue)
    assert not world.queue.items
    assert not world.file.left
    last = f"This is save {saves} of a person."
    crashed = any(what == "crash" for events in rounds for _, what in events)
    kept = [blob.decode() for blob in world.queue.blobs.values()]
    # After a crash between two saves within one write nobody knows which is newer.
    assert not saves or last in world.file.text or (crashed and any(last in each for each in kept))


def lost_lines(write: Callable[[MemoryWorld, str], object]) -> list[str]:
    """What is missing after two sessions kept what they learned in one file, at the same time."""
    world = MemoryWorld()
    world.file.says(FILE)
    lines = []
    for step in ("look", "swap", "examine"):
        one, other = (f"What session {name} learned at {step}." for name in "AB")
        world.file.at(step, partial(write, world, other))
        write(world, one)
        lines += [one, other]
    with world.file.lock(0):
        drain_write_queue(world.file, world.queue)
    return [each for each in lines if each not in world.file.text]


def rewritten(world: MemoryWorld, text: str) -> None:
    """A plain write: read, add, write."""
    data = world.file.read(1 << 20) or b""
    for step in ("look", "swap", "examine"):
        world.file.before(step)
    world.file.data = data + f"\n{text}\n".encode()


def test_two_sessions_that_rewrite_one_file_lose_lines_but_by_a_plain_write_alone() -> None:
    assert lost_lines(rewritten)
    assert lost_lines(MemoryWorld.agent_adds) == []
