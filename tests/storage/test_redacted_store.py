"""What was read for one thing that is derived serves the next, as long as it holds."""

from __future__ import annotations

import pytest

from tests.world import World
from vaultsync.notes.view import NoteView
from vaultsync.privacy.redaction import Redactor
from vaultsync.storage import redacted_store as shown
from vaultsync.storage.redacted_store import FactCache, RedactedStore
from vaultsync.storage.store import StoreWrite

VIEW = NoteView.of(Redactor(b"key"), redacts=True, escapes=True)


def test_a_fact_is_read_once_as_long_as_the_feed_tells_the_same() -> None:
    world = World()
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    store = RedactedStore(world.store, VIEW, FactCache())
    first = store.find_many([one.id])
    assert store.feed()
    calls: list[str] = []
    world.store.before = calls.append

    again = store.find_many([two.id, one.id])
    assert again.keys() == {one.id, two.id}
    assert again[one.id] is first[one.id]
    assert store.find_many([one.id, two.id]) == again
    assert calls.count("get") == 0


def test_what_was_written_since_is_read_again() -> None:
    world = World()
    fact = world.agent_remembers("Berths")
    store = RedactedStore(world.store, VIEW, FactCache())
    store.feed()
    store.find_many([fact.id])
    now = world.store.get(fact.id)
    world.store.write([StoreWrite(fact.id, now.evolve(title="Buoys"), now.revision, "ada")])

    store.feed()
    assert store.find_many([fact.id])[fact.id].title == "Buoys"


def test_what_the_feed_did_not_tell_is_read_again() -> None:
    world = World()
    fact = world.agent_remembers("Berths")
    store = RedactedStore(world.store, VIEW, FactCache())
    held = store.find_many([fact.id])
    assert store.find_many([fact.id])[fact.id] is not held[fact.id]


def test_no_more_facts_are_held_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "MAX_CACHED_FACTS", 1)
    world = World()
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    read = FactCache()
    store = RedactedStore(world.store, VIEW, read)
    store.feed(since=1)
    store.find_many([one.id, two.id])
    assert read.get([one.id, two.id]) == {}
    store.find_many([two.id])
    assert read.get([one.id, two.id]).keys() == {two.id}


def test_nothing_is_held_where_more_changed_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shown, "MAX_CACHED_FACTS", 1)
    world = World()
    one, two = world.agent_remembers("Berths"), world.agent_remembers("Gates")
    read = FactCache()
    store = RedactedStore(world.store, VIEW, read)
    store.find_many([one.id])
    store.feed()
    store.find_many([two.id])
    assert read.get([one.id, two.id]) == {}

    store.feed(since=1)
    store.find_many([two.id])
    assert read.get([one.id, two.id]).keys() == {two.id}
