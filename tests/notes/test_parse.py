"""A fact and the text of its note: what one says, the other says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edits, facts
from vaultsync.errors import UnreadableNoteError, UnsafeSpliceError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS_BY_KEY, OWN_FIELDS_BY_KEY, FieldOwner, Value
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import Note, read_note
from vaultsync.notes.render import (
    add_id_line,
    remove_id_line,
    render_note,
    rewrite_note,
    stale_keys,
)
from vaultsync.sync.merge import merge

PATH = VaultPath("team-core/notes/a note.md")
ID = "0193f6c2-0000-7000-8000-00000000000a"


def _links(*many: Fact) -> dict[str, str]:
    """Links to all facts that facts are related to."""
    return {x: f"[[note {x[:8]}]]" for fact in many for x in fact.related_fact_ids}


def _ids(*many: Fact) -> dict[str, str]:
    return {f"note {x[:8]}": x for fact in many for x in fact.related_fact_ids}


def _of(text: str) -> tuple[Note, Fact]:
    note = read_note(text.encode(), PATH)
    fact = Fact(ID, scope="team-core").overlay(note.values, note.properties)
    return note, fact


def _without_volatile(fact: Fact) -> Fact:
    fresh = Fact(fact.id)
    volatile = [row for row in FIELDS_BY_KEY.values() if row.owner is FieldOwner.VOLATILE]
    return fact.evolve(**{row.attr: getattr(fresh, row.attr) for row in volatile})


def _read_back(note: Note, like: Fact) -> Fact:
    """What a note says to a reader who knows only the note and its path."""
    shown = {**note.properties, **note.values}
    related = [_ids(like)[each] for each in note.body.related]
    said = make_fact({**shown, "id": note.id, "scope": like.scope})
    return said.evolve(related_fact_ids=tuple(related) or said.related_fact_ids)


@given(facts())
def test_a_note_says_its_fact_and_is_no_edit_of_it(fact: Fact) -> None:
    note = read_note(render_note(fact, links=_links(fact)), PATH)
    assert (note.id, note.problems) == (fact.id, ())
    assert differing_keys(_read_back(note, fact), fact, volatile=True) == ()
    assert stale_keys(note, fact, fact) == ()
    # GetPut: putting back what was got changes nothing.
    assert differing_keys(apply_note_edits(fact, note, note, ids=_ids(fact)), fact) == ()
    assert rewrite_note(note, fact, fact, links=_links(fact)) == note.parts.text.encode()


A_TAGS = ("2024", "a b", "1.5")
A_LIST = "\n  - 2024 # then\n  - 'a b'\n  - 1.50"
LESSON = f"---\nid: {ID}\ntype: lesson\nlessonPrevention: %s\n---\nx\n"
TAGS = f"---\nid: {ID}\ntags:%s\n---\nx\n"
MOOD = f"---\nid: {ID}\nmood: %s\n---\nx\n"
TITLE = f"---\nid: {ID}\n%s---\nx\n"
WRONG = f"---\nid: {ID}\npriority: high\nstatus: %s\n---\nx\n"


@pytest.mark.parametrize(
    ("text", "before", "changes", "after"),
    [
        # A text of several lines stays a block or not, and keeps or lacks the end of its last line.
        (LESSON, "|\n  a\n  b", {"lessonPrevention": "a\nc"}, "|\n  a\n  c"),
        (LESSON, "|-\n  a\n  b", {"lessonPrevention": "a\nc"}, "|-\n  a\n  c"),
        (LESSON, "|\n  a\n  b", {"lessonPrevention": "a"}, "a"),
        (LESSON, '"a\\nb\\n"', {"lessonPrevention": "a\nc"}, "|\n  a\n  c"),
        # In an author's property it is part of the value.
        (MOOD, "|\n  a\n  b", {"mood": "a\nc"}, "|-\n  a\n  c"),
        # Tags that stay are spelled as their author did.
        (TAGS, " [2024, 'a b', 1.50]", {"tags": [*A_TAGS, "new"]}, " [2024, 'a b', 1.50, new]"),
        (TAGS, A_LIST, {"tags": [*A_TAGS, "new"]}, f"{A_LIST}\n  - new"),
        (TAGS, " 2024", {"tags": ["2024", "new"]}, "\n  - 2024\n  - new"),
        # A title that is the file name again needs no property.
        (TITLE, "title: Another\n", {"title": "a note"}, ""),
        # What is no value is not written over, and stops nothing else.
        (WRONG, "active", {"priority": 0, "status": "done"}, "done"),
        # An empty list is a property.
        (TITLE, "", {"role": []}, "role: []\n"),
        (TITLE, "role: []\n", {"role": None, "priority": 3}, "priority: 3\n"),
    ],
)
def test_a_property_is_written_as_its_author_would(
    text: str, before: str, changes: dict[str, Value], after: str
) -> None:
    note, fact = _of(text % before)

    assert rewrite_note(note, fact, fact.replace(changes), links={}).decode() == text % after


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("change", ["content", "context"])
def test_a_body_begins_below_a_fence_that_ended_the_file(eol: str, change: str) -> None:
    text = eol.join(["---", f"id: {ID}", "mood: good", "---"])
    note, fact = _of(text)

    made = rewrite_note(note, fact, fact.replace({change: "New."}), links={}).decode()

    if change == "content":
        assert made == f"{text}{eol}New.{eol}"
    else:
        assert made == text.replace(f"{eol}---", f"{eol}context: New.{eol}---")


def test_a_context_that_a_note_says_twice_is_removed_twice() -> None:
    note, fact = _of(f"---\nid: {ID}\ncontext: One.\n---\n# T\n\n> **Context:** Two.\n\nx\n")
    assert fact.context == "Two."

    made = rewrite_note(note, fact, fact.replace({"context": None}), links={}).decode()

    assert made == f"---\nid: {ID}\n---\n# T\n\nx\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("1", "true"), ("false", "0"), ("[1]", "[true]"), ("{a: 1}", "{a: true}")),
        *(("a", "[a]"), ("[1]", "1"), ("[[a]]", "[a]"), ('""', "[]")),
    ],
)
def test_values_of_different_kinds_are_different_values(old: str, new: str) -> None:
    text = f"---\nid: {ID}\nflag: {old}\n---\n# T\n\nx\n"
    (before, fact), (now, edited) = _of(text), _of(text.replace(f"flag: {old}", f"flag: {new}"))
    assert repr(apply_note_edits(fact, before, now).properties) == repr(now.properties)
    assert stale_keys(before, fact, edited) == ("flag",)
    both = edited.replace({"priority": 0})
    made = read_note(rewrite_note(before, fact, both, links={}), PATH)
    assert repr(made.properties) == repr(now.properties)


@given(st.data())
def test_rewriting_to_another_fact_says_that_fact(data: st.DataObject) -> None:
    # PutGet: what was put is what is got.
    fact = data.draw(facts())
    after = data.draw(edits(fact))
    links = _links(fact, after)
    note = read_note(render_note(fact, links=links), PATH)
    try:
        made = rewrite_note(note, fact, after, links=links)
    except UnsafeSpliceError:
        return
    again = read_note(made, PATH)
    said = apply_note_edits(fact, note, again, ids=_ids(fact, after))
    assert differing_keys(said, after) == ()
    assert stale_keys(again, after, after) == ()


@given(st.data())
def test_an_ordinary_edit_is_made_and_leaves_all_other_lines_alone(data: st.DataObject) -> None:
    fact = _without_volatile(data.draw(facts()))
    values: dict[str, Value] = {
        "status": "retired",
        "priority": (fact.priority + 1) % 5,
        "confidence": 0.75,
        "mood": "new",
        "tags": ["x", "y"],
        "content": "Something new.",
        "context": "at lunch",
    }
    key = data.draw(st.sampled_from(sorted(values)))
    after = fact.replace({key: values[key]})
    note = read_note(render_note(fact, links=_links(fact)), PATH)
    made = read_note(rewrite_note(note, fact, after, links=_links(fact)), PATH)
    assert made.values.get(key, made.properties.get(key)) == after.value(key)
    if key in ("status", "priority", "confidence", "mood"):
        before, now = (x.parts.text.split("\n") for x in (note, made))
        own = (f"{key}:",)
        assert [x for x in now if not x.startswith(own)] == [
            x for x in before if not x.startswith(own)
        ]


@given(st.data())
def test_an_edit_of_content_leaves_the_frontmatter_and_block_alone(data: st.DataObject) -> None:
    fact = _without_volatile(data.draw(facts()))
    after = fact.replace({"content": data.draw(facts()).content})
    note = read_note(render_note(fact, links=_links(fact)), PATH)
    made = read_note(rewrite_note(note, fact, after, links=_links(fact)), PATH)
    assert made.parts.yaml == note.parts.yaml
    assert made.body.block is not None
    assert note.body.block is not None
    assert made.body.text[slice(*made.body.block)] == (note.body.text[slice(*note.body.block)])
    assert made.body.title == note.body.title


@given(st.data())
def test_what_a_person_does_to_a_note_is_what_is_merged(data: st.DataObject) -> None:
    # A person's edit of a note, merged with nothing, is that note.
    fact = data.draw(facts())
    after = data.draw(edits(fact))
    links, ids = _links(fact, after), _ids(fact, after)
    before = read_note(render_note(fact, links=links), PATH)
    now = read_note(render_note(after, links=links), PATH)
    said = apply_note_edits(fact, before, now, ids=ids)
    merged = merge(fact, said, fact).fact
    assert stale_keys(now, said, merged) == ()
    assert rewrite_note(now, said, merged, links=links) == now.parts.text.encode()


BLOCK = """<!-- vaultsync:managed -->
## Entities
- [[Bob]]

## Provenance
Written by a person.
<!-- /vaultsync:managed -->"""
FORMS = [
    *("", "\n\n", "Just words.\n", "# Title\nWords.\n", "---\n---\n\n\n  Words.  \n\n\n"),
    "# Title\n\n> **Context:** at lunch\n\nWords.\n",
    "---\nstatus: 'active' # yes\ntags: [a, \"b\"]\n---\n\n# Title\n\nWords.\n",
    "---\r\nstatus: active\r\n---\r\n# Title\r\n\r\nWords.\r\nMore.\r\n",
    *("\ufeff---\nstatus: active\n---\nWords.", "---\ntitle: Another\n---\nWords.\n"),
    *("---\naccessCount: 3\n---\nWords.\n", "---\nentities: [[Bob]]\n---\nWords.\n"),
    "---\ndecision:\n  outcome: open\n---\nWords.\n",
    "---\nentity: {relationships: [{target: '[[Bob]]', type: reports_to}]}\n---\nW.\n",
    f"# T\n\nWords.\n\n{BLOCK}\n",
    "Words.\n<!-- vaultsync:managed -->\nstray\n<!-- /vaultsync:managed -->\nbelow\n",
    "Words.\n<!-- vaultsync:managed -->\nnever closed\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_any_note_gets_an_id_and_gives_it_back(text: str) -> None:
    note, _ = _of(text)
    made = read_note(add_id_line(note, ID), PATH)
    assert made.id == ID
    assert {**made.values, **made.properties} == {**note.values, **note.properties}
    assert remove_id_line(made).decode() in (text, text.replace("---\n---\n", "", 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "Other words.\n\nTwo paragraphs."},
        {"content": ""},
        {"title": "Another title"},
        {"context": "at dinner"},
        {"context": None},
        {"priority": 0, "status": "archived"},
        {"entities": ["Bob", "Alice"]},
        {"entities": []},
        {"tags": ["b", "c"]},
        {"decisionOutcome": "done"},
        {"mood": ["sunny", {"at": 7}], "type": "lesson"},
        {"relatedFactIds": [ID]},
        {"title": "Another title", "context": "at tea", "content": "All new."},
    ],
    ids="-".join,
)
def test_any_note_can_be_made_to_say_what_an_agent_sets(changes: dict[str, Value]) -> None:
    in_the_body = {"content", "title", "context", "entities", "relatedFactIds"} & changes.keys()
    for text in FORMS:
        note, fact = _of(text)
        after = fact.replace(changes)
        made = rewrite_note(note, fact, after, links={ID: "[[a link]]"})
        again = read_note(made, PATH)
        said = apply_note_edits(fact, note, again, ids={"a link": ID})
        assert differing_keys(said, after) == (), text
        assert in_the_body or again.parts.body == note.parts.body, text
        assert note.parts.eol == "\n" or b"\n" not in made.replace(b"\r\n", b""), text


def test_nested_maps_are_read_and_kept() -> None:
    text = "---\ndecision:\n  outcome: open # still\n  impactedPaths: [a]\n---\nWords.\n"
    note, fact = _of(text)
    assert note.values["decisionOutcome"] == "open"
    assert note.values["decisionImpactedPaths"] == ("a",)
    made = rewrite_note(note, fact, fact.replace({"priority": 0}), links={})
    assert b"  outcome: open # still\n" in made


def test_all_that_a_nested_entity_says_is_read() -> None:
    note, fact = _of(
        "---\ntype: entity\nentityType: person\nmood: sunny\nknows: ['[[Al]]']\n"
        "entity:\n  properties: {mood: dull, age: 7}\n  more: x\n"
        "  relationships: [7, {type: knows}, {target: '[[Bob]]', type: knows},"
        " {target: '[[Eve]]', type: reports_to}]\n---\nWords.\n"
    )
    assert fact.type == "person"
    # What stands on the top level goes before what is nested.
    assert note.properties == {
        "mood": "sunny",
        "age": 7,
        "knows": ["[[Al]]"],
        "reports_to": ["[[Eve]]"],
    }


def test_what_a_nested_entity_says_is_no_field_of_the_fact() -> None:
    nested = "properties: {status: archived, createdAt: 1999-01-01, id: 7, age: 7}"
    relations = "relationships: [{target: '[[Bob]]', type: tags}]"
    note, fact = _of(f"---\ntype: person\nentity:\n  {nested}\n  {relations}\n---\nWords.\n")
    assert note.problems == ()
    assert note.values.keys() == {"type", "title", "content"}
    assert fact.properties == {"age": 7}


def test_a_property_without_a_value_says_nothing() -> None:
    note, fact = _of("---\nstatus:\npriority:\ndecisionOutcome: ''\n---\nWords.\n")
    assert note.problems == ()
    assert not {"status", "priority"} & note.values.keys()
    assert fact.own == {}


def test_a_nested_value_cannot_be_taken_out_and_that_is_said() -> None:
    text = f"---\nid: {ID}\ndecision: {{outcome: open}}\n---\nWords.\n"
    note, fact = _of(text)
    with pytest.raises(UnsafeSpliceError, match="decisionOutcome cannot be taken out"):
        rewrite_note(note, fact, fact.replace({"decisionOutcome": None}), links={})


def test_a_content_that_would_read_differently_is_not_written() -> None:
    note, fact = _of(f"---\nid: {ID}\n---\nWords.\n")
    content = "<!-- vaultsync:managed -->\n<!-- /vaultsync:managed -->"
    with pytest.raises(UnsafeSpliceError, match="cannot be written into it"):
        rewrite_note(note, fact, fact.replace({"content": content}), links={})


@pytest.mark.parametrize("note_text", ["Words.\n", "# T\n\nWords.\n", "Words.\r\n", ""])
@pytest.mark.parametrize(
    "content",
    [
        "# A heading\n\nWords.",
        "A heading\n===\n\nWords.",
        "> **Context:** at lunch\nWords.",
        ">**Context:**",
        " \n>\t**Context:** at lunch",
        "# A heading\n\n> **Context:** at lunch",
    ],
)
def test_a_content_may_begin_like_a_heading_or_a_context_line(note_text: str, content: str) -> None:
    note, fact = _of(f"---\nid: {ID}\n---\n{note_text}")
    merged = fact.replace({"content": content})
    text = rewrite_note(note, fact, merged, links={})
    _, again = _of(text.decode())
    assert (again.title, again.context, again.content) == (fact.title, None, content)
    other = again.replace({"content": "Words."})
    note, fact = _of(text.decode())
    _, again = _of(rewrite_note(note, fact, other, links={}).decode())
    assert (again.title, again.context, again.content) == (other.title, None, "Words.")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"---\na: [\n---\n", 2),
        (b"a\nb\xff\n", 2),
        (b"a\n\n\0\n", 3),
        (b"---\na: 1\na: 2\n---\n", 3),
    ],
)
def test_what_is_no_note_is_named_with_its_line(data: bytes, line: int) -> None:
    with pytest.raises(UnreadableNoteError) as broken:
        read_note(data, PATH)
    assert broken.value.line is not None
    assert abs(broken.value.line - line) <= 1
    assert broken.value.hint


@given(st.binary(max_size=80))
def test_reading_any_bytes_is_a_note_or_an_error(data: bytes) -> None:
    try:
        note = read_note(data, PATH)
    except UnreadableNoteError:
        return
    assert note.parts.text.encode() == data


def test_the_title_is_the_heading_else_the_property_else_the_file_name() -> None:
    assert _of("# H\n\nx")[0].values["title"] == "H"
    assert _of("---\ntitle: P\n---\n# H\n")[0].values["title"] == "H"
    assert _of("---\ntitle: P\n---\nx")[0].values["title"] == "P"
    assert _of("x\n\n## H\n")[0].values["title"] == "a note"


def test_a_problem_names_key_and_line_and_stops_nothing() -> None:
    note, fact = _of("---\nstatus: ok\npriority: high\nid: x\n---\nWords.\n")
    assert {(each.key, each.line) for each in note.problems} == {("priority", 3), ("id", 4)}
    assert all(each.hint and each.message for each in note.problems)
    assert (fact.priority, fact.status, note.id) == (2, "ok", None)


def test_a_note_moved_into_the_folder_of_another_type_is_of_that_type() -> None:
    before, base = _of("Words.\n")
    lessons = VaultPath("team-core/lessons/a note.md")
    assert apply_note_edits(base, before, read_note(b"Words.\n", lessons)).type == "lesson"
    elsewhere = read_note(b"Words.\n", VaultPath("team-core/mine/a note.md"))
    assert apply_note_edits(base, before, elsewhere).type == base.type


def test_a_note_moved_into_the_folder_of_another_tier_gets_its_priority() -> None:
    text = b"---\npriority: 3\n---\nWords.\n"
    folder = "team-core/observations"
    before = read_note(text, VaultPath(f"{folder}/background/a note.md"))
    base = Fact(ID, scope="team-core").overlay(before.values, {})
    moved = read_note(text, VaultPath(f"{folder}/notable/a note.md"))
    assert apply_note_edits(base, before, moved).priority == 1
    said = read_note(text.replace(b"3", b"2"), VaultPath(f"{folder}/notable/a note.md"))
    assert apply_note_edits(base, before, said).priority == 2


def test_a_field_that_becomes_wrong_keeps_its_value_until_it_is_right_again() -> None:
    before, base = _of("---\npriority: 1\n---\nWords.\n")
    now, _ = _of("---\npriority: high\n---\nWords.\n")
    fact = apply_note_edits(base, before, now)
    assert fact.priority == 1
    later, _ = _of("---\npriority: 0\n---\nWords.\n")
    assert apply_note_edits(fact, now, later).priority == 0
    made = rewrite_note(now, fact, fact.replace({"status": "x"}), links={})
    assert b"priority: high\n" in made


def test_any_property_may_be_taken_out() -> None:
    fact = make_fact({"id": ID, "content": "x", "tags": ["a"], "confidence": 0.5})
    before = read_note(render_note(fact, links={}), PATH)
    lines = before.parts.text.replace("tags:\n  - a\n", "tags: [a]\n").split("\n")
    for key in (*FIELDS_BY_KEY, *OWN_FIELDS_BY_KEY):
        text = "\n".join(line for line in lines if not line.startswith(f"{key}:"))
        edited = apply_note_edits(fact, before, read_note(text.encode(), PATH))
        assert (edited.id, edited.content) == (ID, "x")
        assert edited.value(key) != fact.value(key) or key not in ("tags", "confidence")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"created_at": "2026-02-14"}, "Written by a person on 2026-02-14."),
        ({"agent_id": "indy"}, "Created by agent `indy`."),
        ({"source": "import from mem0"}, "Imported from mem0."),
        (
            {"source": "import from chatgpt", "created_at": "2026-02-14", "agent_id": "indy"},
            "Imported from chatgpt, dated 2026-02-14.",
        ),
        ({"source": "import from my [[desk]]"}, "Written by a person."),
    ],
)
def test_provenance_names_the_agent_a_person_or_a_tool(values: dict[str, str], line: str) -> None:
    fact = make_fact({"id": ID, "content": "x"}).evolve(**values)
    note = render_note(fact, links={})
    assert f"\n{line}\n" in note.decode()
    assert read_note(note, PATH).body.content_text == "x"


def test_a_link_that_leads_nowhere_is_left_alone() -> None:
    fact = make_fact({"id": ID, "content": "x"})
    before = read_note(render_note(fact, links={}), PATH)
    text = before.parts.text.replace(
        "## Provenance", "## Related Facts\n- [[nowhere]]\n\n## Provenance"
    )
    now = read_note(text.encode(), PATH)
    assert apply_note_edits(fact, before, now, ids={}).related_fact_ids == ()
    made = rewrite_note(now, fact, fact.replace({"priority": 0}), links={})
    assert b"- [[nowhere]]\n" in made


def test_volatile_fields_are_brought_up_to_date_on_the_way() -> None:
    fact = make_fact({"id": ID, "content": "x", "accessCount": 3})
    note = read_note(render_note(fact, links={}), PATH)
    after = fact.replace({"accessCount": 9})
    assert stale_keys(note, fact, after) == ()
    made = rewrite_note(note, fact, after.replace({"status": "x"}), links={})
    assert made.count(b"accessCount: 9\n") == 1
