"""Links follow the notes that they lead to, in the run that finds them moved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from tests.doubles.sqlite import MemoryLinks
from tests.world import World, action, kinds, notice, taken
from vaultsync.errors import UnsafeSpliceError
from vaultsync.links.wikilinks import find_links
from vaultsync.markdown.frontmatter import split_note
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.notes.proposal_note import ProposalRecord, ProposedChange, render_proposal
from vaultsync.operations import relink as respelling
from vaultsync.operations.relink import (
    LinkTargets,
    list_vault_notes,
    moved_files,
    rewrite_note_links_of,
    sync_and_relink,
)
from vaultsync.operations.undo import undo_run
from vaultsync.sync.conflicts import rewrite_review_note_links
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Report
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

NEW = "team-core/people/Alice Smith.md"


class Moving(World):
    """A world whose sync runs rewrite links."""

    def __init__(self) -> None:
        super().__init__()
        self.links = MemoryLinks()
        self.others: list[VaultPath] = []

    def sync(self, request: SyncRequest | None = None) -> Report:
        self.clock.advance(1)
        return sync_and_relink(self.ctx, self.links, request, files=self._files)

    def _files(self) -> list[VaultPath]:
        return [*list_vault_notes(self.ctx), *self.others]

    def alice(self) -> Fact:
        return self.mirrored("Knows a lot.", title="Alice", type="person")

    def renamed(self, content: str = "With [[Alice]].") -> Fact:
        """A fact with links to a note that a person then renamed."""
        alice = self.alice()
        fact = self.mirrored(content)
        self.person_renames(alice, NEW)
        return fact


def _timeless(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith("updatedAt")]


@pytest.fixture
def world() -> Moving:
    return Moving()


@pytest.fixture
def alice(world: Moving) -> Fact:
    return world.alice()


def test_markdown_links_in_properties_follow_a_renamed_note(world: Moving, alice: Fact) -> None:
    path = "team-core/notes/mine.md"
    world.person_writes(path, '---\nup: "[her](Alice.md)"  # mine\n---\nWords.\n')
    world.quiesce()
    world.person_renames(alice, NEW)

    world.sync()

    assert 'up: "[her](Alice%20Smith.md)"  # mine' in world.text(path)
    world.assert_at_rest()


def test_links_follow_a_note_that_a_person_renamed(world: Moving, alice: Fact) -> None:
    fact = world.mirrored("With [[Alice]], [[alice|her]] and ![[Alice#Work]].\n\n`[[Alice]]`")
    before = world.note(fact.id)
    world.person_renames(alice, NEW)

    report = world.sync()

    expected = before.replace(
        "With [[Alice]], [[alice|her]] and ![[Alice#Work]].",
        "With [[Alice Smith]], [[Alice Smith|her]] and ![[Alice Smith#Work]].",
    )
    assert _timeless(world.note(fact.id)) == _timeless(expected)
    assert "[[Alice Smith|her]]" in world.fact(fact.id).content
    assert (report.counts["moved"], report.counts["updated_in_vault"]) == (1, 1)
    assert report.counts["updated_in_store"] == 1
    assert taken(report, fact.id) == ["merge"]
    world.assert_at_rest()


def test_links_in_every_part_of_a_note_follow(world: Moving, alice: Fact) -> None:
    values: dict[str, Value] = {
        "entities": ["Bob", "Alice", "Convex"],
        "relatedFactIds": [alice.id],
        "context": "at [[Alice]]'s",
        "reports_to": ["[[Alice|boss]]"],
        "title": "Lunch",
    }
    fact = world.mirrored("-", agent="indy", **values)
    world.person_edits(fact, "# Lunch", "# Lunch with [[Alice]]")
    world.quiesce()
    before = world.note(fact.id)
    world.person_renames(alice, NEW)

    world.sync()

    changed = world.fact(fact.id)
    expected = before.replace("[[Alice", "[[Alice Smith")
    assert _timeless(world.note(fact.id)) == _timeless(expected)
    assert changed.title == "Lunch with [[Alice Smith]]"
    assert changed.entities == ("Bob", "Alice Smith", "Convex")
    assert changed.related_fact_ids == (alice.id,)
    assert changed.properties == {"reports_to": ["[[Alice Smith|boss]]"]}
    world.assert_at_rest()


def test_related_facts_alone_change_no_fact(world: Moving, alice: Fact) -> None:
    fact = world.mirrored("-", relatedFactIds=[alice.id])
    world.person_renames(alice, NEW)
    seq = world.store.state().seq
    report = world.sync()
    assert "- [[Alice Smith]]\n" in world.note(fact.id)
    assert world.store.state().seq == seq
    assert taken(report, fact.id) == ["update_vault"]
    world.assert_at_rest()


def test_nothing_but_links_is_touched(world: Moving, alice: Fact) -> None:
    fact = world.mirrored("-")
    text = (
        "---\r\n"
        f"id: {fact.id}\r\n"
        "tags: [a,   b] # mine\r\n"
        "entities:\r\n"
        "  # friends\r\n"
        "  - '[[Alice|Al]]' # the first\r\n"
        '  - "[[Bob]]"\r\n'
        "---\r\n"
        'text  \r\n\r\n[[Alice]] and [Al](Alice.md "t")\r\n\r\n\r\n'
        "<!-- vaultsync:managed -->\r\n## Entities\r\n- [[Alice]]\r\n"
        "<!-- /vaultsync:managed -->\r\nafter [[Alice]]"
    )
    path = world.path(fact.id)
    world.person_writes(path, text)
    world.quiesce()
    text = world.text(path)
    world.person_renames(alice, NEW)

    world.sync()

    assert world.text(path) == text.replace("[[Alice", "[[Alice Smith").replace(
        "(Alice.md", "(Alice%20Smith.md"
    )
    world.assert_at_rest()


def test_a_new_name_that_no_link_can_hold_is_reported(world: Moving) -> None:
    alice, bob = world.alice(), world.mirrored("With [text](<Alice.md>).", title="Bob")
    world.mirrored("With [[Alice]].")
    world.mirrored("Related.", title="Related", relatedFactIds=[alice.id])
    world.mirrored("With [[Bob]].", title="Other")
    path = "team-core/people/Alice #1.md"
    world.person_renames(alice, path)
    found = notice(world.sync(), "unlinkable_name")
    assert found.path == path
    assert "the links to it in 2 notes were not updated" in found.message
    assert "[text](<Alice %231.md>)" in world.note(bob.id)
    world.person_renames(path, "team-core/people/Alice [2].md")
    assert "in 1 note were" in notice(world.sync(), "unlinkable_name").message
    world.person_renames("team-core/people/Alice [2].md", NEW)
    assert kinds(world.sync()) == []


def test_a_new_name_is_not_reported_if_all_links_to_it_can_hold_it(world: Moving) -> None:
    alice, bob = world.alice(), world.mirrored("With [text](<Alice.md>).", title="Bob")
    world.person_renames(alice, "team-core/people/Alice #1.md")
    assert kinds(world.sync()) == []
    assert "[text](<Alice %231.md>)" in world.note(bob.id)


def test_nothing_happens_when_obsidian_rewrote_them(world: Moving, alice: Fact) -> None:
    fact = world.mirrored("With [[Alice]].", entities=["Alice"])
    path = world.path(fact.id)
    world.person_renames(alice, NEW)
    world.person_writes(path, world.text(path).replace("[[Alice]]", "[[Alice Smith]]"))
    text = world.text(path)
    report = world.sync()
    assert world.text(path) == text
    assert report.counts["updated_in_vault"] == 0
    assert world.fact(fact.id).entities == ("Alice Smith",)
    world.assert_at_rest()


@pytest.mark.parametrize("folders", [None, frozenset({VaultPath("team-core/people")})])
def test_links_follow_a_note_that_moved_together_with_the_one_that_links_to_it(
    world: Moving, alice: Fact, folders: frozenset[VaultPath] | None
) -> None:
    """A run for some facts or folders finds only one of the two moves by itself."""
    other = world.mirrored("Another one.", title="Bob", type="person")
    fact = world.mirrored("With [[Alice]].")
    world.person_renames(alice, NEW)
    world.person_renames(fact, "team-core/notes/trip/Moved.md")
    world.agent_updates(other.id, content="Another one, changed.")
    request = SyncRequest.for_facts([other.id], "follow")
    if folders is not None:
        request = SyncRequest("follow", folders=folders)
    assert world.sync(request).counts["moved"] == 2
    world.assert_at_rest()
    assert "With [[Alice Smith]]." in world.text("team-core/notes/trip/Moved.md")
    assert world.fact(fact.id).content == "With [[Alice Smith]]."


def test_a_run_for_some_facts_rewrites_what_it_can_where_others_are_guarded(world: Moving) -> None:
    alice = world.alice()
    lost = [world.mirrored(f"Number {n}.", title=f"Fact {n}") for n in range(12)]
    fact = world.mirrored("With [[Alice]].", type="lesson")
    linking = world.mirrored("With [[Alice]], too.", title="Other", type="lesson")
    for each in lost:
        world.person_deletes(each)
    world.sync()
    world.person_renames(alice, NEW)
    world.person_renames(fact, "team-core/lessons/trip/Moved.md")
    world.sync(SyncRequest.for_facts([alice.id], "follow"))
    assert "With [[Alice Smith]], too." in world.note(linking.id)
    assert len(world.facts()) == 15


@pytest.mark.parametrize("kind", ["a link", "a folder"])
def test_a_run_for_some_facts_looks_for_no_replaced_note(world: Moving, kind: str) -> None:
    alice = world.alice()
    odd = world.mirrored("With [[Alice]].")
    linking = world.mirrored("With [[Alice]], too.", title="Other")
    world.vault.delete(world.path(odd.id))
    world.vault.make_odd(world.path(odd.id), kind)
    world.person_renames(alice, NEW)
    world.sync(SyncRequest.for_facts([alice.id], "follow"))
    assert "With [[Alice Smith]], too." in world.note(linking.id)
    assert world.fact(odd.id).content == "With [[Alice]]."


def test_links_follow_a_note_that_a_sync_moved(world: Moving) -> None:
    fact = world.mirrored("-", title="Tea", type="note")
    path = world.path(fact.id).removesuffix(".md")
    linking = world.mirrored(f"See [[{path}|tea]].", title="Links by path")
    world.agent_updates(fact.id, type="fact")
    assert world.sync().counts["moved"] == 1
    name = path.rpartition("/")[2]
    assert world.fact(linking.id).content == f"See [[{name}|tea]]."
    world.assert_at_rest()


def test_the_links_of_a_moved_note_keep_their_targets(world: Moving) -> None:
    world.alice()
    fact = world.mirrored("[a](../people/Alice.md) and ![i](../i/p.png)", title="Mover")
    world.others = [VaultPath("team-core/i/p.png")]
    world.person_renames(fact, "team-core/deep/er/Mover.md")
    world.sync()
    assert world.fact(fact.id).content == ("[a](../../people/Alice.md) and ![i](../../i/p.png)")
    world.assert_at_rest()


def test_a_folder_that_was_renamed_breaks_no_link(world: Moving, alice: Fact) -> None:
    bob = world.mirrored("-", title="Bob", type="person")
    fact = world.mirrored("[[Alice]] [[team-core/people/Bob]]", relatedFactIds=[bob.id])
    world.person_renames_folder("team-core/people", "team-core/folks")
    assert world.sync().counts["moved"] == 2
    assert world.path(alice.id) == "team-core/folks/Alice.md"
    assert world.fact(fact.id).content == "[[Alice]] [[Bob]]"
    world.assert_at_rest()


def test_a_link_that_would_lead_to_a_moved_note_keeps_its_target(world: Moving) -> None:
    tea = world.mirrored("-", title="Tea", type="entity")
    other = world.mirrored("-", title="Other", type="entity")
    fact = world.mirrored("[[Tea]]")
    world.person_renames(other, "Tea.md")
    world.sync()
    assert world.fact(fact.id).content == f"[[{tea.path}]]".replace(".md", "")
    assert world.path(tea.id) == tea.path
    world.assert_at_rest()


def test_links_follow_notes_that_swapped_names(world: Moving) -> None:
    one = world.mirrored("-", title="One", type="entity")
    two = world.mirrored("-", title="Two", type="entity")
    fact = world.mirrored("[[One]] [[Two]]", relatedFactIds=[one.id])
    a, b = world.path(one.id), world.path(two.id)
    world.person_renames(a, "team-core/entities/x.md")
    world.person_renames(b, a)
    world.person_renames("team-core/entities/x.md", b)

    world.sync()

    assert world.path(one.id) == b
    assert world.fact(fact.id).content == "[[Two]] [[One]]"
    assert "- [[Two]]\n" in world.note(fact.id)
    assert world.fact(fact.id).related_fact_ids == (one.id,)
    world.assert_at_rest()


def test_the_history_says_who_rewrote_links_and_undo_keeps_the_rename(world: Moving) -> None:
    alice = world.alice()
    fact = world.mirrored("With [[Alice]].", entities=["Alice"], see="[[Alice]]")
    before = world.fact(fact.id)
    world.person_renames(alice, NEW)
    report = world.sync()
    assert world.fact(fact.id).content == "With [[Alice Smith]]."
    entries = world.archive.history(run=report.run)
    rows = {(each.fact_id, each.field, each.actor) for each in entries}
    keys = ("content", "entities", "see")
    assert rows == {(alice.id, "path", "person"), *((fact.id, key, "links") for key in keys)}
    run = world.archive.find_run(report.run)
    assert run is not None
    assert (run.kind, run.report["counts"]) == ("sync", to_builtins(report)["counts"])
    assert report.counts["unchanged"] == 0
    assert action(report, fact.id).reason == "a note that it links to moved"

    world.clock.advance(1)
    undo_run(world.ctx, report.run)
    world.quiesce()

    now = world.fact(fact.id)
    for key in keys:
        assert now.value(key) == before.value(key)
    assert world.path(alice.id) == NEW
    world.assert_at_rest()


def test_what_an_agent_writes_in_the_meantime_stays_and_is_rewritten_too(world: Moving) -> None:
    alice = world.alice()
    fact = world.mirrored("First [[Alice]].\n\nLast.")
    world.person_renames(alice, NEW)
    done = False

    def between(method: str) -> None:
        nonlocal done
        if method == "find_many" and not done and alice.path not in world.archive.paths():
            done = True
            world.agent_updates(fact.id, content="First [[Alice]].\n\nLast [[Alice]].")

    world.store.before = between
    world.sync()

    assert done
    assert world.fact(fact.id).content == ("First [[Alice Smith]].\n\nLast [[Alice Smith]].")
    world.assert_at_rest()


REASONS = ("busy", "unsplicable", "backtick", "unreadable", "broken index", "dry run")


@pytest.mark.parametrize("why", REASONS)
def test_a_note_whose_links_cannot_be_rewritten_is_left_alone(
    world: Moving, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    def refused(text: str, path: str, retarget: object) -> str:
        raise UnsafeSpliceError(path, "no")

    def broken() -> str | None:
        raise OSError

    content = "An open ` before [[Alice]]." if why == "backtick" else "With [[Alice]]."
    fact = world.renamed(content)
    if why == "backtick":  # the link would hide behind it
        world.person_renames(NEW, "team-core/people/A`lice.md")
    elif why == "unreadable":
        world.person_edits(fact, "priority: 2", "priority: [2")
    elif why == "busy":
        monkeypatch.setattr(respelling, "MAX_REWRITE_ROUNDS", 0)
    elif why == "unsplicable":
        monkeypatch.setattr(respelling, "rewrite_note_links", refused)
    elif why == "broken index":
        monkeypatch.setattr(world.links, "version", broken)
    assert world.sync(SyncRequest(dry_run=why == "dry run")).counts["moved"] == 1
    assert world.fact(fact.id).content == content
    assert content in world.note(fact.id)
    if why in REASONS[:3]:
        world.assert_at_rest()


def test_a_dry_run_lists_the_links_that_the_run_rewrites(world: Moving, alice: Fact) -> None:
    lamp = world.mirrored("Of [[Alice]].", title="Lamp", relatedFactIds=[alice.id])
    world.mirrored("-", title="Rope", relatedFactIds=[alice.id, lamp.id])
    buoy = world.mirrored("[her](../people/Alice.md)", title="Buoy")
    world.mirrored("Nobody.", title="Nets")
    broken = world.mirrored("[[Alice]]", title="Crane")
    world.person_writes(
        "Plan.canvas", json.dumps({"nodes": [{"type": "text", "text": "[[Alice]]"}]})
    )
    world.person_renames(alice, NEW)
    world.person_renames(buoy, "team-core/Buoy.md")
    world.person_writes(broken, "---\nid: [\n---\n")
    world.agent_updates(lamp.id, type="lesson")  # which moves its note
    world.clock.advance(60)
    with world.nobody_writes():
        shown = sync_and_relink(world.ctx, world.links, SyncRequest(dry_run=True))
    done = world.sync()

    def listed(report: Report) -> list[tuple[str, str, tuple[str, ...]]]:
        acts = (each for each in report.actions if each.action != "ask_a_person")
        return sorted((each.action, each.path or "", each.fields) for each in acts)

    assert listed(shown) == listed(done)
    assert shown.counts == done.counts
    assert kinds(shown) == kinds(done)
    assert len(listed(done)) == 7


@pytest.mark.parametrize(("name", "told"), [("Al#ce", ["unlinkable_name"]), ("A`lice", [])])
def test_a_dry_run_lists_no_links_to_be_left(world: Moving, name: str, told: list[str]) -> None:
    world.mirrored("An open ` before [[Alice]].")
    world.person_renames(world.path(world.alice().id), f"team-core/people/{name}.md")
    world.clock.advance(60)
    shown = sync_and_relink(world.ctx, world.links, SyncRequest(dry_run=True))
    done = world.sync()
    assert kinds(shown) == kinds(done) == told
    assert [x.action for x in shown.actions] == [x.action for x in done.actions] == ["record_base"]


def test_a_save_within_the_rewriting_is_not_lost(world: Moving, alice: Fact) -> None:
    fact = world.mirrored("With [[Alice]].\n\nMore.")
    path = world.path(fact.id)
    world.person_renames(alice, NEW)
    world.at("exchange", lambda: world.person_edits(path, "More.", "Much more."))
    world.sync()
    world.quiesce()
    assert world.fact(fact.id).content == "With [[Alice Smith]].\n\nMuch more."
    world.assert_at_rest()


def test_facts_without_notes_and_unknown_ones_are_skipped(world: Moving) -> None:
    fact = world.mirrored("With [[Alice]].")
    moves = moved_files(world.ctx, "no run", tuple)
    sense = LinkTargets(moves.retarget, moves.target_before, moves.target_now)
    named = [fact.id, world.clock.new_id()]
    assert rewrite_note_links_of(world.ctx, named, sense, reason="-") is None


def test_a_renamed_note_without_links_to_it_costs_no_second_run(world: Moving, alice: Fact) -> None:
    world.mirrored("With [[Bob]].")
    world.person_renames(alice, NEW)
    scans = 0

    def count(step: str) -> None:
        nonlocal scans
        scans += step == "vault_id"

    world.vault.before = count
    report = world.sync()

    assert report.counts["moved"] == 1
    assert scans <= 1


def test_links_are_resolved_as_before_notes_that_came_and_went_in_a_run(world: Moving) -> None:
    alice = world.alice()
    gone = world.mirrored("-", title="Gone", type="entity")
    fact = world.mirrored("[[Alice]] [[Gone]]")
    world.person_deletes_for_good(gone)
    world.agent_remembers("-", title="Alice", type="entity")
    world.person_renames(alice, NEW)
    world.sync()
    # There is a new Alice, but the link led to the one that moved.
    assert world.fact(fact.id).content == "[[Alice Smith]] [[Gone]]"


def disputed(world: Moving, title: str = "Lamp") -> tuple[Fact, ConflictRecord]:
    fact = world.mirrored("It is red.", title=title)
    world.person_edits(fact, "red", "white")
    world.agent_updates(fact.id, content="It is blue.")
    world.sync()
    (conflict,) = world.conflicts()
    return fact, conflict


def links_of(world: Moving, path: str) -> set[str]:
    text = world.text(path)
    parts, properties = split_note(text, path)
    found = {str(properties["note"])}
    return found | {f"[[{e.target}|{e.alias}]]" for e in find_links(parts.body)}


def test_the_conflict_note_of_a_moved_note_follows_it(world: Moving) -> None:
    fact, conflict = disputed(world)
    path = str(conflict.conflict_path)
    old = world.path(fact.id).removesuffix(".md")
    assert links_of(world, path) == {f"[[{old}|{old.rpartition('/')[2]}]]"}
    world.person_edits(path, "- [ ]", "- [ ] perhaps:")
    world.person_renames(fact, "team-core/notes/Beacon.md")

    world.sync()

    assert links_of(world, path) == {f"[[Beacon|{old.rpartition('/')[2]}]]"}
    assert "- [ ] perhaps:" in world.text(path)
    (now,) = world.conflicts()
    assert (now.path, now.id) == ("team-core/notes/Beacon.md", conflict.id)
    record = VaultPath(f".meta/conflicts/{conflict.id}.json")
    assert json.loads(world.vault.read_meta(record) or b"")["path"] == "team-core/notes/Beacon.md"
    world.assert_at_rest()


def test_a_conflict_note_that_moved_with_its_note_leads_there(world: Moving) -> None:
    fact, conflict = disputed(world)
    old, path = world.path(fact.id), str(conflict.conflict_path)
    other = world.mirrored("Another.", title="Lamp", scope="public")
    new, beside = (f"team-core/notes/old/{each.rpartition('/')[2]}" for each in (old, path))
    world.person_renames(path, beside)
    world.person_renames(old, new)
    world.sync()
    stem = old.rpartition("/")[2].removesuffix(".md")
    (link,) = links_of(world, beside)
    assert link == f"[[{new.removesuffix('.md')}|{stem}]]"
    assert world.path(other.id).endswith(f"{stem}.md")
    assert [each.conflict_path for each in world.conflicts()] == [beside]


def test_what_is_saved_into_a_conflict_note_just_then_stays(world: Moving) -> None:
    fact, conflict = disputed(world)
    path = str(conflict.conflict_path)
    before = world.text(path)
    world.person_renames(world.path(world.alice().id), NEW)
    world.sync()
    assert world.text(path) == before  # it does not lead to Alice
    assert world.conflicts() == [conflict]
    world.person_renames(fact, "team-core/notes/Beacon.md")
    world.at("exchange", lambda: world.person_edits(path, "- [ ]", "- [x]"))

    world.sync()
    assert "- [x]" in world.text(path)

    world.quiesce()
    assert world.conflicts() == []
    assert world.fact(fact.id).content == "It is blue."
    world.assert_at_rest()


@pytest.mark.parametrize("data", [b"\xff", b"---\nnote: [\n---\n"])
def test_a_conflict_note_that_cannot_be_read_keeps_its_links(world: Moving, data: bytes) -> None:
    fact, conflict = disputed(world)
    path = VaultPath(str(conflict.conflict_path))
    world.person_writes(path, data)
    world.person_renames(fact, "team-core/notes/Beacon.md")
    world.sync()
    assert world.vault.read(path).data == data
    assert [each.path for each in world.conflicts()] == ["team-core/notes/Beacon.md"]


def test_a_conflict_without_a_note_follows_its_fact(world: Moving) -> None:
    fact = world.mirrored("It is red.", title="Lamp")
    world.person_edits(fact, "red", "white")
    world.agent_updates(fact.id, content="It is blue.")
    world.dies_at("stage")
    new = VaultPath("team-core/notes/Beacon.md")
    moved = {VaultPath(world.path(fact.id)): new}
    rewrite_review_note_links(world.ctx, moved, lambda _: lambda _: None)
    rewrite_review_note_links(world.ctx, {}, lambda _: lambda _: None)
    (conflict,) = world.conflicts()
    assert (conflict.path, conflict.conflict_path) == (new, None)


def test_the_note_of_a_proposal_leads_to_its_note_when_that_moved(world: Moving) -> None:
    alice, lamp = world.alice(), world.mirrored("It is red.", title="Lamp")
    path = VaultPath("team-core/notes/Lamp.proposal.md")
    changes = tuple(
        ProposedChange(fact.id, fact.revision or "", {}, {"title": "New"}, fact.path)
        for fact in (lamp, alice)
    )
    record = ProposalRecord("0" * 16, "retitle", "", "", "indy", "public", "", "", changes, path)
    world.person_writes(path, f"{render_proposal(record, {})}- [x] mine\n")
    with world.archive.transaction():
        world.archive.put_proposal(record)
    world.person_renames(lamp, "team-core/notes/Beacon.md")
    world.sync()

    assert "## Change [[Beacon|" in world.text(path)
    assert world.text(path).endswith("- [x] mine\n")
    (now,) = world.archive.proposals()
    assert [each.path for each in now.changes] == ["team-core/notes/Beacon.md", alice.path]

    other = world.mirrored("Another.", title="Rope")
    world.person_renames(other, "team-core/notes/Cable.md")
    world.sync()
    assert world.archive.proposals() == [now]


def test_links_to_a_hub_are_rewritten_some_folders_at_a_time(
    world: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(respelling, "NOTES_IN_MEMORY", 2)
    hub = world.alice()
    types = ("decision", "lesson", "project", "entity")
    facts = [
        world.mirrored(f"With [[Alice]], {each} {number}.", type=each, title=f"{each} {number}")
        for number in range(2)
        for each in types
    ]
    parts: list[tuple[str, ...]] = []

    def counted(ctx: SyncContext, request: SyncRequest | None = None, **rest: Any) -> Report:  # noqa: ANN401
        parts.extend([request.fact_ids] if request and request.kind == "links" else [])
        return sync_once(ctx, request, **rest)

    monkeypatch.setattr(respelling, "sync_once", counted)
    world.person_renames(hub, NEW)

    report = world.sync()

    assert [len(each) for each in parts] == [2, 2, 2, 2]
    assert all("[[Alice Smith]]" in world.note(fact.id) for fact in facts)
    assert (report.counts["moved"], report.counts["updated_in_vault"]) == (1, len(facts))
    assert len({each.run for each in world.archive.history(run=report.run)}) == 1
    undo_run(world.ctx, report.run)
    assert all("[[Alice]]" in world.fact(fact.id).content for fact in facts)
