"""What a person writes reaches the store, and only what must change in a note changes."""

from __future__ import annotations

import re

import pytest

from tests.world import (
    AGENTS,
    ALPHA,
    LINES,
    MERGED,
    PERSONS,
    PERSONS_ALPHA,
    World,
    action,
    changed_lines,
    kinds,
    notice,
)
from vaultsync.facts.service import update
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.notes.body import BLOCK_END, BLOCK_START
from vaultsync.sync.run import sync_once
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest


@pytest.mark.parametrize("by_rename", [False, True])
def test_a_persons_edit_reaches_the_store(world: World, fact: Fact, by_rename: bool) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA, by_rename=by_rename)
    note = world.note(fact.id)
    report = world.sync()
    assert world.fact(fact.id).content == PERSONS
    assert world.note(fact.id) == note
    assert report.counts["updated_in_store"] == 1
    (line,) = report.actions
    assert (line.fact_id, line.action) == (fact.id, "update_store")
    assert (line.path, line.fields) == (world.path(fact.id), ("content",))
    assert line.reason == "changed in the vault"
    world.assert_at_rest()


def test_an_agents_edit_changes_only_its_line(world: World, fact: Fact) -> None:
    before = world.note(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    report = world.sync()
    gone, fresh = changed_lines(before, world.note(fact.id))
    said = [line for line in gone if not line.startswith("updatedAt")]
    assert said == ["Charlie says more."]
    assert "Charlie says what the agent says." in fresh
    assert len(fresh) <= 2
    assert report.counts["updated_in_vault"] == 1
    world.assert_at_rest()


def test_a_number_that_becomes_a_truth_value_is_an_edit(world: World) -> None:
    fact = world.mirrored(flag=1)
    world.person_edits(fact, "flag: 1", "flag: true")
    world.sync()
    assert world.fact(fact.id).properties["flag"] is True
    (entry,) = [each for each in world.archive.history(fact_id=fact.id) if each.field == "flag"]
    assert (entry.before, repr(entry.after)) == (1, "True")
    update(world.ctx, fact.id, {"flag": 1}, agent=None)
    world.sync()
    assert "flag: 1\n" in world.note(fact.id)
    world.assert_at_rest()


def test_edits_of_different_lines_and_fields_merge(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.person_edits(fact, "status: active", "status: archived")
    world.agent_updates(fact.id, content=AGENTS, agent="indy")
    world.agent_updates(fact.id, priority=0, agent="ada")
    report = world.sync()
    now = world.fact(fact.id)
    assert (now.content, now.status, now.priority) == (MERGED, "archived", 0)
    assert MERGED in world.note(fact.id)
    assert "priority: 0\n" in world.note(fact.id)
    assert (report.counts["merged"], report.counts["conflicts"]) == (1, 0)
    assert world.conflict_notes() == []
    world.assert_at_rest()


def test_the_same_edit_on_both_sides_is_no_conflict(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=PERSONS)
    revision = world.fact(fact.id).revision
    world.sync()
    assert world.fact(fact.id).revision == revision
    assert world.conflicts() == []
    world.assert_at_rest()


def test_a_tag_removed_by_one_side_stays_removed(world: World) -> None:
    fact = world.mirrored(tags=["alpha", "bravo", "charlie"])
    world.person_edits(fact, "  - alpha\n", "")
    world.agent_updates(fact.id, tags=["alpha", "bravo", "charlie", "delta"])
    world.quiesce()
    assert set(world.fact(fact.id).tags) == {"bravo", "charlie", "delta"}
    assert "- alpha" not in world.note(fact.id)
    world.agent_updates(fact.id, tags=["charlie", "delta"])
    world.person_edits(fact, "- charlie\n", "- charlie\n  - echo\n")
    world.assert_at_rest()
    assert set(world.fact(fact.id).tags) == {"charlie", "delta", "echo"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  - alpha\n  - bravo\n", "  - bravo\n  - alpha\n"),
        ("updatedAt: .*\n", ""),
        ("$", ""),  # a new file time without new bytes
    ],
)
def test_what_means_the_same_is_no_edit(world: World, old: str, new: str) -> None:
    fact = world.mirrored(tags=["alpha", "bravo"])
    note = re.sub(old, new, world.note(fact.id), count=1)
    world.person_writes(fact, note)
    assert world.sync().quiet
    world.assert_at_rest()
    assert world.note(fact.id) == note
    assert world.fact(fact.id).revision == fact.revision


def test_nothing_depends_on_updated_at(world: World, fact: Fact) -> None:
    line = next(x for x in world.text(fact).split("\n") if x.startswith("updatedAt"))
    # Older than anything, yet it is the person's newest word.
    world.person_edits(fact, line, "updatedAt: 1999-01-01T00:00:00Z")
    world.quiesce()
    assert world.fact(fact.id).revision == fact.revision
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.quiesce()
    assert world.fact(fact.id).content == MERGED


def test_what_obsidians_property_editor_rewrites_is_no_edit(world: World) -> None:
    path = "team-core/notes/mine.md"
    world.person_writes(
        path,
        "---\n# why this note\nstatus: 'active' # yes\ntags: [a, \"b\"]\n"
        'due: "2026-03-01"\n---\n# Mine\n\nText.\n',
    )
    world.quiesce()
    (fact,) = world.facts()
    world.person_writes(
        path,
        "---\nstatus: active\ntags:\n  - a\n  - b\ndue: 2026-03-01\n"
        f"id: {fact.id}\n---\n# Mine\n\nText.\n",
    )
    note = world.text(path)
    report = world.sync()
    assert world.fact(fact.id).revision == fact.revision
    assert world.text(path) == note
    assert report.quiet
    world.assert_at_rest()


def test_an_edit_after_a_reformat_is_seen_against_the_reformatted_note(world: World) -> None:
    fact = world.mirrored(tags=["alpha", "bravo"])
    world.person_edits(fact, "  - alpha\n  - bravo", "  - 'alpha'\n  - 'bravo'")
    world.quiesce()
    world.person_edits(fact, "  - 'alpha'\n", "")
    world.assert_at_rest()
    assert world.fact(fact.id).tags == ("bravo",)


def test_a_new_title_is_an_edit_and_no_rename(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, "# A plain fact", "# A fancy fact")
    world.quiesce()
    assert world.fact(fact.id).title == "A fancy fact"
    assert world.path(fact.id) == path
    world.agent_updates(fact.id, title="A final fact")
    world.quiesce()
    assert "# A final fact\n" in world.note(fact.id)
    assert world.path(fact.id) == path


def test_a_field_taken_out_by_a_person_is_cleared(world: World) -> None:
    fact = world.mirrored(type="decision", decisionOutcome="implemented")
    world.person_edits(fact, "decisionOutcome: implemented\n", "")
    world.assert_at_rest()
    assert "decisionOutcome" not in world.fact(fact.id).own


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("mood: sunny", "mood", "sunny"),
        ("reports_to: ['[[Bob]]']", "reports_to", ["[[Bob]]"]),
        ("due: 2026-03-01", "due", "2026-03-01"),
        ("count: 3", "count", 3),
        ("done: true", "done", True),
    ],
)
def test_a_persons_own_properties_are_shared(line: str, field: str, value: Value) -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(fact, "priority:", f"{line}\npriority:")
    world.quiesce()
    assert world.fact(fact.id).properties == {field: value}
    assert line in world.note(fact.id)
    world.assert_at_rest()
    world.person_edits(fact, f"{line}\n", "")
    world.quiesce()
    assert world.fact(fact.id).properties == {}


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("agentId: indy", "agentId: mallory", "agentId"),
        ("createdAt: 2026", "createdAt: 1999", "createdAt"),
        ("confidence: 0.5", "confidence: 1.0", "confidence"),
        ("source: session", "source: hearsay", "source"),
    ],
)
def test_an_edit_of_what_is_not_a_persons_is_put_back(
    world: World, old: str, new: str, key: str
) -> None:
    fact = world.mirrored(confidence=0.5, source="session")
    note = world.note(fact.id)
    world.person_edits(fact, old, new)
    report = world.sync()
    assert kinds(report) == ["put_back"]
    assert key in notice(report, "put_back").message
    assert world.note(fact.id) == note
    assert world.fact(fact.id).value(key) == fact.value(key)
    world.assert_at_rest()


def test_a_number_may_be_in_quotes(world: World, fact: Fact) -> None:
    world.person_edits(fact, "priority: 2", 'priority: "1" # soon')
    assert kinds(world.sync()) == []
    assert world.fact(fact.id).priority == 1
    world.agent_updates(fact.id, title="Other")
    world.sync()
    assert 'priority: "1" # soon' in world.note(fact.id)
    world.agent_updates(fact.id, priority=0)
    world.sync()
    assert "priority: 0 # soon" in world.note(fact.id)
    world.assert_at_rest()


@pytest.mark.parametrize(
    ("line", "valid"),
    [("type: book", "use one of decision, "), ("priority: high", "from 0 (critical) to 4")],
)
def test_an_invalid_value_in_a_new_note_comes_with_the_valid_ones(
    world: World, line: str, valid: str
) -> None:
    world.person_writes("public/notes/New.md", f"---\n{line}\n---\nText.\n".encode())
    said = notice(world.sync(), "invalid_field")
    assert said.message.endswith("; the fact has the default")
    assert valid in said.hint
    assert "`[map]`" in said.hint


def test_an_invalid_value_is_named_and_left_in_place(world: World, fact: Fact) -> None:
    world.person_edits(fact, "priority: 2", "priority: high")
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    report = world.sync()
    assert kinds(report) == ["invalid_field"]
    said = notice(report, "invalid_field")
    assert said.line == 4
    assert "priority" in said.message
    assert said.hint
    assert world.fact(fact.id).priority == 2
    assert world.fact(fact.id).content == PERSONS
    assert "priority: high" in world.note(fact.id)
    world.quiesce()
    assert kinds(world.sync()) == ["invalid_field"]
    world.person_edits(fact, "priority: high", "priority: 0")
    report = world.sync()
    assert kinds(report) == []
    assert world.fact(fact.id).priority == 0
    world.assert_at_rest()


@pytest.mark.parametrize(
    "more", [{}, {"status": "archived"}, {"status": "archived", "content": AGENTS}]
)
def test_only_the_field_with_an_invalid_value_is_held(
    world: World, fact: Fact, more: dict[str, Value]
) -> None:
    path = world.path(fact.id)
    world.person_edits(path, "priority: 2", "priority: 7")
    world.sync()
    note = world.note(fact.id)
    world.agent_updates(fact.id, agent="indy", priority=0, **more)
    report = world.sync()
    assert kinds(report) == ["held_field", "invalid_field"]
    said = notice(report, "held_field")
    assert (said.path, said.line) == (path, 4)
    assert "priority" in said.message
    assert "0" in said.hint
    assert "priority" not in action(report, fact.id).fields
    assert (world.note(fact.id) == note) is (not more)
    assert all(str(value) in world.note(fact.id) for value in more.values())
    assert "priority: 7\n" in world.note(fact.id)
    assert world.fact(fact.id).priority == 0
    world.assert_at_rest()
    assert kinds(world.sync()) == ["invalid_field"]
    world.person_edits(path, "priority: 7", "priority: 1")
    world.assert_at_rest()
    assert world.fact(fact.id).priority == 1


def test_a_long_change_of_what_a_note_cannot_say_is_not_repeated_in_the_hint(world: World) -> None:
    fact = world.mirrored(type="lesson", lessonPrevention="Look.")
    world.person_edits(fact, "lessonPrevention: Look.", "lessonPrevention: [Look, Up]")
    world.sync()
    world.agent_updates(fact.id, lessonPrevention="Look twice. " * 9)
    report = world.sync()
    assert f"vaultsync get {fact.id}" in notice(report, "held_field").hint
    world.assert_at_rest()


def test_a_save_between_reading_and_writing_is_merged(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    fresh = world.data(path).replace(ALPHA.encode(), PERSONS_ALPHA.encode())
    world.agent_updates(fact.id, content=AGENTS)
    world.at("exchange.swap", lambda: world.vault.save_in_place(path, fresh))
    world.sync()
    assert PERSONS_ALPHA in world.note(fact.id)
    world.assert_at_rest()
    assert world.fact(fact.id).content == MERGED
    assert MERGED in world.note(fact.id)
    assert world.conflict_notes() == []


def test_entities_and_links_of_the_managed_block_are_edits_of_their_fields(world: World) -> None:
    other = world.mirrored("About something else.", title="Another fact")
    fact = world.mirrored(entities=["Convex"])
    path = world.path(fact.id)
    stem = world.path(other.id).rpartition("/")[2].removesuffix(".md")
    world.person_edits(path, "## Provenance", f"## Related Facts\n- [[{stem}]]\n\n## Provenance")
    world.person_edits(path, "- [[Convex]]\n", "- [[Convex]]\n- [[LanceDB]]\n")
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (set(now.entities), now.related_fact_ids) == ({"Convex", "LanceDB"}, (other.id,))


@pytest.mark.parametrize("with_frontmatter", [False, True])
def test_a_note_merged_into_another_gets_no_links(world: World, *, with_frontmatter: bool) -> None:
    related = world.mirrored("Related words.", title="Related")
    into = world.mirrored(
        "Words.", title="Into", entities=["Bob", "Pier"], relatedFactIds=[related.id]
    )
    other = world.mirrored("Other words.", title="Other", entities=["Pier", "Eve"])
    path, gone = world.path(into.id), world.path(other.id)
    text = world.note(other.id)
    world.person_writes(
        path, world.note(into.id) + "\n" + (text if with_frontmatter else text.split("---\n", 2)[2])
    )
    world.person_deletes(gone)
    world.quiesce()
    now = world.fact(into.id)
    assert (now.entities, now.related_fact_ids) == (("Bob", "Pier", "Eve"), (related.id,))
    assert "Other words." in now.content
    # The links of both are in the block that counts, so the other block may go.
    said = world.note(into.id)
    start, end = said.index(BLOCK_START), said.index(BLOCK_END) + len(BLOCK_END)
    world.person_writes(path, said[:start] + said[end:])
    world.quiesce()
    assert world.fact(into.id).entities == ("Bob", "Pier", "Eve")
    assert world.fact(into.id).related_fact_ids == (related.id,)
    world.person_edits(path, "- [[Bob]]\n", "")
    world.quiesce()
    assert world.fact(into.id).entities == ("Pier", "Eve")


def test_text_in_or_below_the_managed_block_is_content(world: World, fact: Fact) -> None:
    world.person_writes(fact, world.text(fact) + "\nWritten below.\n")
    world.quiesce()
    assert world.fact(fact.id).content == f"{LINES}\n\nWritten below."
    world.person_edits(fact, "## Provenance\n", "A word within.\n\n## Provenance\n")
    world.quiesce()
    assert "A word within." in world.fact(fact.id).content
    assert "Written below." in world.fact(fact.id).content
    world.agent_updates(fact.id, content=world.fact(fact.id).content + "\n\nAnd more.")
    world.assert_at_rest()
    for words in ("Written below.", "A word within.", "And more."):
        assert world.note(fact.id).count(words) == 1


def test_a_note_keeps_the_shape_its_author_gave_it(world: World) -> None:
    path = "team-core/notes/shapeless.md"
    world.person_writes(path, "Just words, no heading.\n")
    world.quiesce()
    (fact,) = world.facts()
    assert fact.title == "shapeless"
    assert world.text(path) == f"---\nid: {fact.id}\n---\nJust words, no heading.\n"
    world.agent_updates(
        fact.id, content="Just words, and more.", context="at lunch", entities=["Bob"]
    )
    world.assert_at_rest()
    text = world.text(path)
    assert "# " not in text
    assert "managed" not in text
    assert "context: at lunch" in text
    assert '"[[Bob]]"' in text
    assert "Just words, and more." in text


STRUCTURED = """## A heading

```python
# no heading
<!-- vaultsync:managed -->
```

| a | b |
|---|---|
| 1 | 2 |

> [!note] A callout
> with text

---

<!-- a comment -->
%% one of Obsidian's %%
![[image.png]]
- [ ] a task
\tindented with a tab\x20\x20
## Related Facts
- [[not ours]]
Emoji 🙂, עברית, العربية, zero\u200bwidth."""


def test_content_with_structure_of_its_own_comes_through_unchanged() -> None:
    content = STRUCTURED
    world = World()
    fact = world.mirrored(content)
    assert world.fact(fact.id).content == content
    assert content in world.note(fact.id)
    world.person_edits(fact, "## A heading", "## The heading")
    world.quiesce()
    assert world.fact(fact.id).content == content.replace("A head", "The head")
    world.agent_updates(fact.id, content=world.fact(fact.id).content.replace("| 1 |", "| 7 |"))
    world.assert_at_rest()
    assert "| 7 | 2 |" in world.note(fact.id)
    assert world.fact(fact.id).related_fact_ids == ()


def test_a_pass_with_nothing_to_do_reads_no_note(world: World) -> None:
    for number in range(3):
        world.mirrored(f"Number {number}.", title=f"Fact {number}")
    read: list[str] = []
    world.vault.before = read.append
    world.sync()
    assert "read" not in read
    assert "stage" not in read


def test_an_empty_property_of_a_persons_note_does_not_stop_an_agents_edit(world: World) -> None:
    world.person_writes("team-core/notes/n.md", "---\nabout:\n---\nOne.\n")
    world.clock.advance(60)
    world.quiesce()
    (fact,) = world.facts()
    world.agent_updates(fact.id, content="Two.")
    assert kinds(world.sync()) == []
    assert world.note(fact.id).startswith("---\nabout:\nid: ")
    assert world.note(fact.id).endswith("---\nTwo.\n")
    world.assert_at_rest()


def test_a_change_that_cannot_be_written_is_named_by_all(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, "status: active\n", "status: active\ndecision: {outcome: open}\n")
    world.sync()
    world.agent_updates(fact.id, decisionOutcome=None, tags=["a"])
    for look in (read_status, lambda ctx: sync_once(ctx, SyncRequest(dry_run=True))):
        with world.nobody_writes():
            (said,) = look(world.ctx).attention
        assert (said.kind, said.path) == ("unsafe_splice", path)
        assert "decisionOutcome" in said.message
    assert kinds(world.sync()) == ["unsafe_splice"]
    status = read_status(world.ctx)
    assert ([each.kind for each in status.attention], status.pending) == (["unsafe_splice"], 1)


def test_a_note_that_cannot_be_given_an_id_is_named_before_it_is_adopted(world: World) -> None:
    path = "team-core/notes/odd.md"
    world.person_writes(path, "---\n{a: 1}\n---\nWords.\n")
    with world.nobody_writes():
        (said,) = read_status(world.ctx).attention
    assert (said.kind, said.path) == ("unsafe_splice", path)
    assert kinds(world.sync()) == ["unsafe_splice"]
