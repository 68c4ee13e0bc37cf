from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence

import pytest
import yaml_rs
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import to_builtins

from tests.strategies import field_conflicts, lines
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import (
    CHANGED_SIDE,
    DELETED_SIDE,
    ConflictRecord,
    FieldConflict,
    conflict_id,
    conflict_id_in,
    is_deletion,
    render_conflict,
    shown_conflict,
    ticked_fields,
)
from vaultsync.notes.review_note import CONFLICT_SUFFIX, is_review_note, is_review_text, review_path

ID = "0193f6c2-0000-7000-8000-000000000000"
GONE_FROM_VAULT = FieldConflict("note", None, DELETED_SIDE, CHANGED_SIDE)
GONE_FROM_STORE = FieldConflict("note", None, CHANGED_SIDE, DELETED_SIDE)


def conflict(
    *fields: FieldConflict, title: str = "Use LanceDB", path: str = "public/use.md"
) -> ConflictRecord:
    return ConflictRecord(
        id=conflict_id(ID, fields),
        fact_id=ID,
        path=VaultPath(path),
        conflict_path=None,
        fields=fields,
        actor="indy",
        at="2026-02-14T13:45:00Z",
        run="r1",
        title=title,
    )


def field(name: str = "content", value: str = "s") -> FieldConflict:
    return FieldConflict(name, "b", "v", value)


many_fields = st.lists(field_conflicts(), min_size=1, max_size=4, unique_by=lambda each: each.field)


def boxes(text: str) -> list[int]:
    """The numbers of the lines that a markdown reader shows as items with our mark."""
    return [
        token.map[0]
        for token in MarkdownIt().parse(text)
        if token.type == "inline"
        and token.map
        and token.content.startswith("[ ] ")
        and "<!-- vaultsync:take field=" in token.content
    ]


def tick(text: str, fields: Sequence[int], mark: str = "x") -> str:
    """What a person clicking on some of the boxes leaves in the file."""
    many = text.split("\n")
    shown = boxes(text.replace("\r", " "))
    for n in fields:
        many[shown[n]] = many[shown[n]].replace("[ ]", f"[{mark}]", 1)
    return "\n".join(many)


@given(many_fields, st.data())
def test_ticks_are_read_beside_any_value(fields: list[FieldConflict], data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(range(len(fields)))))
    text = render_conflict(conflict(*fields))

    assert len(boxes(text.replace("\r", " "))) == len(fields)
    assert ticked_fields(text) == ticked_fields(tick(text, [0], "-")) == frozenset()
    done = tick(text, sorted(chosen), data.draw(st.sampled_from("xX")))
    assert ticked_fields(done) == frozenset(fields[n].field for n in chosen)
    assert ticked_fields(done.replace("\n", "\r\n")) == ticked_fields(done)


def test_a_box_below_code_that_ends_with_its_item_counts() -> None:
    text = render_conflict(conflict(FieldConflict("title", "a", "b", "c")))
    above, box, below = text.partition("- [ ] ")
    noted = f"{above}1. my notes\n   ```\n{box}{below}"

    assert ticked_fields(tick(noted, [0])) == frozenset({"title"})


@given(many_fields, lines, lines)
def test_the_frontmatter_is_safe_yaml_whatever_the_names(
    fields: list[FieldConflict], title: str, name: str
) -> None:
    made = conflict(*fields, title=title, path=f"public/{name.replace('/', '')}.md")

    text = render_conflict(made)

    head = yaml_rs.loads(text.split("\n---\n")[0] + "\n", parse_datetime=False)
    assert isinstance(head, dict)
    assert list(head) == ["vaultsync", "conflict", "note", "fact"]
    assert (head["vaultsync"], head["conflict"]) == ("conflict", made.id)
    assert head["fact"] == ID
    assert name.replace("/", "") in head["note"]
    assert conflict_id_in(text) == made.id


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.strip("\n")))
def test_a_text_is_shown_as_it_is(value: str) -> None:
    text = render_conflict(conflict(FieldConflict("content", "b", "v", value)))

    assert f"text\n{value}\n`" in text.partition("**The agent's:**")[2]


def test_values_are_shown_as_a_person_reads_them() -> None:
    text = render_conflict(conflict(FieldConflict("role", None, ["a", 1, ["b"]], {"a": True})))

    assert "**Before:** *(empty)*" in text
    assert '```text\na\n1\n[\n  "b"\n]\n```' in text
    assert '```text\n{\n  "a": true\n}\n```' in text


LONG = "\n".join(f"Line {n} of a text." for n in range(12))


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("a\nb", "a\nB"),  # short: one look tells
        (LONG, "\n".join(f"Other {n}" for n in range(12))),  # nothing is alike
        (LONG, None),
        (LONG, [LONG]),
    ],
)
def test_where_lines_tell_nothing_none_are_compared(mine: str, theirs: Value) -> None:
    text = render_conflict(conflict(FieldConflict("content", "b", mine, theirs)))

    assert "What differs" not in text
    assert "```diff" not in text


def test_where_lines_of_long_texts_differ_they_come_first() -> None:
    text = render_conflict(conflict(FieldConflict("content", "b", LONG, f"{LONG}\nOne more.")))
    assert text.index("What differs") < text.index("\n+ One more.\n") < text.index("**Before:**")


@given(many_fields)
def test_the_same_conflict_is_the_same_note_in_every_run(fields: list[FieldConflict]) -> None:
    one = conflict(*fields)
    other = dataclasses.replace(one, at="2030-01-01T00:00:00Z", run="r2", sha="x")

    assert render_conflict(one) == render_conflict(other)


@given(many_fields)
def test_an_id_is_made_of_all_values_in_any_order(fields: list[FieldConflict]) -> None:
    made = conflict_id(ID, fields)

    assert re.fullmatch("[0-9a-f]{16}", made)
    assert conflict_id(ID, fields[::-1]) == made
    assert conflict_id(ID.replace("0", "1"), fields) != made
    for name in ("field", "base", "vault", "store"):
        other = dataclasses.replace(fields[0], **{name: "something else"})
        assert conflict_id(ID, [other, *fields[1:]]) != made


@pytest.mark.parametrize(
    ("sabotage", "why"),
    [
        (lambda text: text.replace("vaultsync: conflict", "vaultsync: other"), "key"),
        (lambda text: re.sub("^conflict: .*\n", "", text, flags=re.MULTILINE), "no id"),
        (lambda text: re.sub('^conflict: ".', 'conflict: "Z', text, flags=re.MULTILINE), "id"),
        (lambda text: text.replace("---\n", "", 1), "no frontmatter"),
        (lambda text: text.replace("\n---\n", "\n"), "open frontmatter"),
        (lambda text: text.replace("<!--", ""), "no mark"),
        (lambda _: "", "empty"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_no_conflict_note_has_no_ticks(sabotage: object, why: str) -> None:
    assert callable(sabotage)
    assert ticked_fields(sabotage(render_conflict(conflict(field())))) is None, why


def test_a_note_that_an_editor_rewrote_is_still_read() -> None:
    made = conflict(field(), field("priority"))
    text = tick(render_conflict(made), [1], "X")
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    rewritten = [line.replace('"', "'") for line in head.split("\n")]
    rewritten = ["tags:", "  - mine: x", "cssclasses", *sorted(rewritten)]
    body = body.replace("-->", "--> ✅ 2026-02-14").replace("- [", "* [")
    text = "\ufeff---\n" + "\n".join(rewritten) + "  \n---  \nMy words.\n" + body

    assert conflict_id_in(text) == made.id
    assert ticked_fields(text) == frozenset({"priority"})
    assert ticked_fields(text.replace("\n", "\r\n")) == frozenset({"priority"})


def test_a_box_inside_a_fence_of_the_person_is_not_ticked() -> None:
    text = tick(render_conflict(conflict(field(), field("role"))), [0, 1])
    fenced = text.replace("## role", "~~~ text\n## role\n```", 1)

    inline = text.replace("## role", "``` no fence ``` at all\n## role", 1)

    closed = fenced.replace("```\n\n- [", "~~~~\n\n- [", 1)

    assert ticked_fields(fenced) == frozenset({"content"})
    assert ticked_fields(inline) == ticked_fields(closed) == frozenset({"content", "role"})


TAKEN = [f"n{tag}.conflict.md" for tag in ("", ".01234567", ".0123456789abcdef", ".2")]


@pytest.mark.parametrize(
    ("path", "taken", "where"),
    [
        ("a/Name.md", [], "a/Name.conflict.md"),
        ("Name.md", [], "Name.conflict.md"),
        ("a.b/Na.me.MD", [], "a.b/Na.me.conflict.md"),
        ("a/Name.md", ["a/name.conflict.md"], "a/Name.01234567.conflict.md"),
        ("N.md", TAKEN[:2], "N.0123456789abcdef.conflict.md"),
        ("N.md", TAKEN, "N.3.conflict.md"),
        # Not longer than a file system allows.
        ("ж" * 126 + ".md", [], "ж" * 117 + ".01234567.conflict.md"),
    ],
)
def test_a_conflict_note_lies_beside_the_note(path: str, taken: list[str], where: str) -> None:
    conflict = "0123456789abcdef"
    assert review_path(path, CONFLICT_SUFFIX, taken=frozenset(taken), review_id=conflict) == where
    assert is_review_note(where)
    assert len(where.encode()) <= 255
    assert review_path("N.md", CONFLICT_SUFFIX, taken=frozenset(TAKEN[:1])) == "N.2.conflict.md"


@pytest.mark.parametrize("name", ["conflict.md", "Name.conflict.md.txt", "Name conflict.md"])
def test_a_conflict_note_is_known_by_its_name(name: str) -> None:
    assert not is_review_note(name)
    assert is_review_note("Name.CONFLICT.MD")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("---\nvaultsync: proposal\nproposal: '0123456789abcdef'\n---\n", True),
        (
            '\ufeff---\r\ntags: x\r\nvaultsync: conflict\r\nconflict: "0123456789abcdef"\r\n---',
            True,
        ),
        ("---\nvaultsync: proposal\nproposal: 0123456789abcdef\nid: x\n---\n", False),
        ("---\nvaultsync: proposal\nconflict: 0123456789abcdef\n---\n", False),
        ("---\nvaultsync: proposal\nproposal: mine\n---\n", False),
        ("---\nvaultsync: proposal\nproposal: 0123456789abcdef\n", False),
        ("vaultsync: proposal\n", False),
        ("Text\nvaultsync: proposal\nproposal: 0123456789abcdef\n---\n", False),
    ],
)
def test_a_renamed_conflict_note_is_known_by_its_properties(text: str, known: bool) -> None:
    assert is_review_text(text.encode()) is known


def test_a_property_named_note_is_no_deletion() -> None:
    assert not is_deletion(FieldConflict("note", None, "a", "b"))
    assert not is_deletion(FieldConflict("role", None, DELETED_SIDE, CHANGED_SIDE))
    assert not is_deletion(FieldConflict("note", None, DELETED_SIDE, DELETED_SIDE))
    assert is_deletion(GONE_FROM_VAULT)
    assert is_deletion(GONE_FROM_STORE)


def test_a_note_that_no_link_can_name_is_named_in_words() -> None:
    text = render_conflict(conflict(field(), path="public/a#b`.md", title=""))

    assert "[[" not in text
    assert 'note: "public/a#b`.md"' in text
    assert "# Conflict: a\\#b\\`\n" in text


def test_a_name_that_looks_like_our_mark_ticks_nothing_else() -> None:
    name = "<!-- vaultsync:take field=content -->"
    text = tick(render_conflict(conflict(field(), field(name))), [1])

    assert ticked_fields(text) == frozenset({name})


@pytest.mark.parametrize("one", [field(), GONE_FROM_VAULT, GONE_FROM_STORE])
@pytest.mark.parametrize(
    ("actor", "named"), [("", "n agent"), ("person", " command"), ("indy", "gent `indy`")]
)
def test_who_wrote_the_other_version_is_named(one: FieldConflict, actor: str, named: str) -> None:
    text = render_conflict(dataclasses.replace(conflict(one), actor=actor))
    assert re.search(f"(A|while a){named} (changed|deleted)", text)
    assert actor != "person" or "agent" not in text


def test_a_conflict_is_shown_as_the_contract_has_it() -> None:
    made = conflict(field(), FieldConflict("note", "3-70b39ef6", "changed", "deleted"))

    assert json.loads(json.dumps(to_builtins(shown_conflict(made)))) == {
        "id": made.id,
        "fact_id": ID,
        "path": "public/use.md",
        "conflict_path": None,
        "fields": [
            {"field": "content", "base": "b", "vault": "v", "store": "s"},
            # The revision that a deletion is based on is no value.
            {"field": "note", "base": None, "vault": "changed", "store": "deleted"},
        ],
    }
