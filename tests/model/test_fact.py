"""Canonical facts: what each field takes, how it is spelled, and JSON and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edits, facts, json_values
from vaultsync import errors
from vaultsync.model.canonical import (
    FOREVER,
    MAX_TAG_DEPTH,
    MAX_VALUE_DEPTH,
    NEVER,
    canonical,
    check_property,
    clean_time,
    from_microseconds,
    json_value,
    link_name,
    tag_key,
    tag_keys_with_parents,
    to_microseconds,
)
from vaultsync.model.fact import Fact, derive_title, make_fact, relations
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import (
    FIELDS,
    FIELDS_BY_KEY,
    OWN_FIELDS_BY_KEY,
    TIERS,
    TYPES,
    Field,
    Value,
    ValueKind,
    tier_of,
)
from vaultsync.model.scope import check_scope, is_scope, private_scope
from vaultsync.model.serialization import (
    fact_from_json,
    fact_from_line_beside,
    fact_from_stored_values,
    fact_from_values,
    fact_line,
    fact_line_beside,
    fact_to_json,
    fact_to_values,
    public_values,
)

ID = "0193f6c2-0000-7000-8000-00000000000a"


def _fact(**values: Value) -> Fact:
    return make_fact({"id": ID, "content": "x", **values})


@given(facts())
def test_a_fact_comes_back_from_json(fact: Fact) -> None:
    line = fact_line(fact)
    again = fact_from_json(line, revision="7-a")
    assert again == fact == fact_from_json(fact_to_json(fact))
    assert again.revision == "7-a"
    assert fact_line(again) == line == fact_to_json(fact).encode()
    assert b"\n" not in line
    assert fact_from_stored_values(json.loads(line)) == fact


@pytest.mark.parametrize("row", FIELDS, ids=[row.key for row in FIELDS])
@pytest.mark.parametrize("value", [None, 7, -1.5, True, [1], {"a": 1}, "2026-01-01"], ids=repr)
def test_a_stored_value_that_its_field_does_not_accept_is_refused(row: Field, value: Value) -> None:
    accepts_text = row.kind in {ValueKind.LINE, ValueKind.TEXT, ValueKind.ID, ValueKind.SCOPE}
    is_count = row.kind is ValueKind.COUNT and value == 7 and value is not True
    if (accepts_text and isinstance(value, str)) or is_count:
        assert fact_from_stored_values({row.key: value}) == fact_from_values({row.key: value})
    else:
        with pytest.raises(msgspec.ValidationError, match=row.key):
            fact_from_stored_values({row.key: value})


@given(facts(), st.text(max_size=200), st.booleans(), st.booleans())
def test_a_fact_comes_back_from_a_line_beside_a_text(
    fact: Fact, before: str, has_it: bool, is_long: bool
) -> None:
    fact = fact.replace({"content": fact.content * 20 if is_long else fact.content})
    text = f"{before}{fact.content if has_it else ''}\n".encode()
    line = fact_line_beside(fact, text)
    assert fact_from_line_beside(line, text, revision="7-a") == fact
    if has_it and len(fact.content) > 100:
        assert len(line) < len(fact_line(fact))
        with pytest.raises(ValueError, match="missing"):
            fact_from_line_beside(line, None)
    if not has_it and len(fact.content) > 300:
        assert line == fact_line(fact)


@given(facts())
def test_a_canonical_fact_stays_what_it_is(fact: Fact) -> None:
    assert fact.replace({**fact.properties, **fact.values()}) == fact
    assert make_fact({**fact.properties, **fact.values()}) == fact


@pytest.mark.parametrize(("one", "other"), [(1, True), ([0], [False]), ({"a": 1}, {"a": True})])
def test_facts_are_compared_as_json(one: Value, other: Value) -> None:
    fact = make_fact({"id": ID, "flag": one})
    assert fact == fact.replace({"flag": one})
    assert fact != fact.replace({"flag": other})


@given(st.data())
def test_an_edit_can_be_said_by_its_values(data: st.DataObject) -> None:
    fact = data.draw(facts())
    after = data.draw(edits(fact))
    keys = {*fact.values(), *after.values(), *fact.properties, *after.properties}
    assert fact.replace({key: after.value(key) for key in keys}) == after


@given(facts())
def test_all_that_surfaces_show_is_json(fact: Fact) -> None:
    shown = public_values(fact)
    assert shown["path"] is None
    assert shown["revision"] == ""
    assert json.loads(json.dumps(shown)).keys() == shown.keys()
    assert fact_from_values(json.loads(json.dumps(fact_to_values(fact)))) == fact


def test_a_count_of_nothing_is_not_said() -> None:
    assert "accessCount" not in fact_to_values(_fact())
    assert fact_to_values(_fact(accessCount=3))["accessCount"] == 3


@given(json_values())
def test_json_is_plain_already(value: Value) -> None:
    assert json_value("x", value) == value


def test_the_tables_are_sound() -> None:
    assert {x for row in TIERS.values() for x in row} == set(range(5))
    assert [tier_of(n)[:4] for n in range(5)] == ["crit", "nota", "nota", "back", "back"]
    assert not FIELDS_BY_KEY.keys() & OWN_FIELDS_BY_KEY.keys()
    assert len({row.folder for row in TYPES.values()}) == len(TYPES)
    attrs = [row.attr for row in FIELDS]
    assert len(set(attrs)) == len(attrs)
    for attr in attrs:
        assert hasattr(Fact(ID), attr)


@pytest.mark.parametrize(
    ("key", "pairs"),
    [
        ("createdAt", [("2026-02-14", "2026-02-14T00:00:00Z"), (None, "")]),
        ("createdAt", [("2026-02-14T15:45:00+02:00", "2026-02-14T13:45:00Z")]),
        ("createdAt", [("2026-02-14 13:45", "2026-02-14T13:45:00Z")]),
        ("createdAt", [("2026-02-14T13:45:00.120Z", "2026-02-14T13:45:00.120Z")]),
        ("commitmentDueDate", [("2026-02-14T10:00:00Z", "2026-02-14")]),
        ("commitmentDueDate", [("2026-02-14 or later", "2026-02-14"), ("20260214", "2026-02-14")]),
        ("priority", [(2.0, 2), ("1", 1), (" 0 ", 0), (None, 2)]),
        ("confidence", [("0.25", 0.25), ("1", 1.0)]),
        ("status", [("", "active"), (None, "active")]),
        ("confidence", [(1, 1.0), (None, None)]),
        ("tags", [("a, b #c", ("a", "b", "c")), (["#a", "a", ""], ("a",)), (7, ("7",))]),
        ("tags", [(None, ()), ("", ())]),
        ("aliases", [("One Two", ("One Two",))]),
        ("entities", [(["[[Bob|B]]", "Bob", [["Eve"]]], ("Bob", "Eve"))]),
        ("title", [(7, "7")]),
        ("content", [("\r\n\na\r\nb\n\n", "a\nb"), (None, "")]),
        ("context", [("  ", None)]),
        ("type", [(" Decision ", "decision")]),
        ("supersedesId", [(ID.upper(), ID)]),
        ("accessCount", [(None, 0)]),
        ("observationCompressed", [(True, True)]),
        ("lessonPrevention", [("\n", None)]),
        ("decisionAlternatives", [([], None)]),
        ("scope", [(name, name) for name in ("team-a", "project-x_1", "team-" + "a" * 63)]),
    ],
)
def test_values_become_canonical(key: str, pairs: list[tuple[Value, object]]) -> None:
    for value, held in pairs:
        found = _fact(**{key: value}).value(key)
        assert found == held
        assert type(found) is type(held)


NO_IDS: list[Value] = ["x", "../x", 7, ID + "0", ID[:-1] + "g"]
NO_SCOPES: list[Value] = ["", "Public", "team", "team-", "team-A", "../x", "team-" + "a" * 64, 7]


@pytest.mark.parametrize(
    ("error", "key", "values"),
    [
        (errors.InvalidFieldError, "createdAt", ["0001-01-01T00:00:00+23:00", 7, "x"]),
        (errors.InvalidFieldError, "commitmentDueDate", [7, "x", "2026-02-145", "2026-02-14-15"]),
        (errors.InvalidFieldError, "priority", [5, 1.5, True, "5", "1.5", "-1", "1e0", "٣", "one"]),
        (errors.InvalidFieldError, "confidence", [1.5, "1.5"]),
        (errors.InvalidFieldError, "accessCount", [-1, 0.5]),
        (errors.InvalidFieldError, "observationCompressed", [1]),
        (errors.InvalidFieldError, "title", [True, ["x"], "a\u2028b", "a\x07b"]),
        (errors.InvalidFieldError, "content", [None.__class__, ["x"], "\udc00"]),
        (errors.InvalidFieldError, "entities", [["a|b"], [["a", "b"]]]),
        (errors.InvalidFieldError, "mood", [{1: 2}, object(), "\udc00"]),
        (errors.UnknownTypeError, "type", ["poem", None, 7, ["note"]]),
        (errors.InvalidIdError, "id", ["", None, *NO_IDS]),
        (errors.InvalidIdError, "supersedesId", NO_IDS),
        (errors.InvalidScopeError, "scope", [*NO_SCOPES, "team--"]),
    ],
)
def test_other_values_are_refused(
    error: type[errors.UsageError], key: str, values: list[Value]
) -> None:
    for value in values:
        with pytest.raises(error) as wrong:
            _fact(**{key: value})
        assert wrong.value.hint
        if error is errors.InvalidFieldError:
            assert key in wrong.value.message or "property" in wrong.value.message


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("tags", {"a": "b"}, "tags: expected a list of lines"),
        ("status", ["x", None], 'status: expected one line of text, got ["x", null]'),
        ("priority", True, "priority: expected a whole number"),
        ("priority", "high", "priority: expected a whole number"),
        ("confidence", "x" * 5000, "confidence: expected a number from 0 to 1"),
        ("type", ["a", "b"], 'unknown type ["a", "b"]'),
        (
            "priority",
            "7",
            "priority: expected a whole number from 0 (critical) to 4 (background), got '7'",
        ),
    ],
)
def test_an_error_shows_a_value_as_its_author_wrote_it(key: str, value: Value, said: str) -> None:
    with pytest.raises((errors.InvalidFieldError, errors.UnknownTypeError)) as wrong:
        _fact(**{key: value})
    assert wrong.value.message.startswith(said)
    assert len(wrong.value.message) < 200


@pytest.mark.parametrize(
    ("name", "hint"), [("tasx", "use task, or one of "), ("zebra", "use one of decision, ")]
)
def test_an_unknown_type_comes_with_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(errors.UnknownTypeError) as wrong:
        _fact(type=name)
    assert wrong.value.hint.startswith(hint)


@pytest.mark.parametrize(
    "key", ["", " a", "a ", "a:b", "- a", "#a", "[a", "a\nb", "x" * 101, "a\x7f", "<<"]
)
def test_some_names_cannot_be_properties(key: str) -> None:
    with pytest.raises(errors.UsageError):
        check_property(key)


def test_a_map_cannot_have_a_key_that_yaml_merges() -> None:
    with pytest.raises(errors.InvalidFieldError, match="expected text, a number"):
        json_value("meta", [{"a": {"<<": 1}}])


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    value: Value = 1
    for _ in range(MAX_VALUE_DEPTH):
        value = [value]
    assert json_value("meta", value) == value
    with pytest.raises(errors.InvalidFieldError, match="nested at most"):
        json_value("meta", [value])
    for _ in range(5_000):
        value = [value]
    with pytest.raises(errors.InvalidFieldError, match="got \\[…"):
        make_fact({"id": ID, "content": value})


def test_all_line_breaks_of_a_text_are_one() -> None:
    assert make_fact({"id": ID, "content": "a\rb\r\nc\n\r"}).content == "a\nb\nc"


def test_numbers_that_json_lacks_become_text() -> None:
    assert json_value("x", float("inf")) == "inf"
    assert json_value("x", [float("nan"), {"a": (1, None)}]) == ["nan", {"a": [1, None]}]


def test_whole_numbers_that_no_note_may_have_become_text() -> None:
    for number in (10**308, -(10**308), 10**1000 - 1):
        assert json_value("x", [number]) == [str(number)]
    assert json_value("x", 10**308 - 1) == 10**308 - 1


def test_a_property_is_set_and_taken_out() -> None:
    fact = _fact(mood="sunny")
    assert fact.value("mood") == "sunny"
    assert fact.replace({"mood": None}).properties == {}
    assert fact.replace({"other": None}) == fact


def test_own_fields_of_a_former_type_stay() -> None:
    fact = _fact(type="decision", decisionOutcome="done").replace({"type": "note"})
    assert fact.value("decisionOutcome") == "done"
    assert fact.value("decisionRationale") is None
    assert fact.replace({"decisionOutcome": None}).own == {}


@pytest.mark.parametrize("kind", ["person", "project"])
def test_an_entity_that_is_a_person_or_project_is_of_that_type(kind: str) -> None:
    assert _fact(type="entity", entityType=kind).type == kind
    assert _fact(type="entity", entityType="tool").type == "entity"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        *(("One. Two.", "One"), ("# Heading\n\nText", "Heading"), ("\n- item\n", "item")),
        *(("", "Note"), ("---\n***\n", "Note"), ("...\nWords", "Words")),
        *(("word " * 60, ("word " * 24).strip()), ("x" * 300, "x" * 120)),
        ("一句。二句", "一句。二句"),
        ("Noted. The disk is full. Bye.", "Noted. The disk is full"),
        *(("Dr. Lind pays.", "Dr. Lind pays"), ("1. Buy oars.", "1. Buy oars"), ("Done.", "Done")),
    ],
)
def test_a_title_is_the_first_sentence(content: str, title: str) -> None:
    found = derive_title(content, "note")
    assert found.lower().startswith(title.lower()[:40])
    assert len(found) <= 121


def test_relations_are_the_properties_that_hold_links() -> None:
    fact = _fact(reports_to=["[[Bob|B]]"], mood="sunny", knows="[[Eve]]", none=[])
    assert relations(fact) == {"reports_to": ("Bob",), "knows": ("Eve",)}


def test_a_link_is_its_target() -> None:
    assert link_name(" [[ Bob |x]] ") == "Bob"
    assert link_name("Bob") == "Bob"


def test_a_private_scope_is_named_after_its_agent() -> None:
    assert private_scope("Indy") == check_scope("private-indy")
    assert is_scope("public")
    with pytest.raises(errors.InvalidScopeError):
        private_scope("../x")


TIMES = st.datetimes(
    min_value=datetime.fromisoformat("0001-01-02"),
    max_value=datetime.fromisoformat("9999-12-30"),
    timezones=st.timezones(),
)


@given(TIMES, TIMES)
def test_moments_grow_with_time_wherever_it_was_told(one: datetime, other: datetime) -> None:
    first, second = to_microseconds(one.isoformat()), to_microseconds(other.isoformat())
    assert (first < second) == (one.astimezone(UTC) < other.astimezone(UTC))
    assert NEVER < first < FOREVER


@given(TIMES)
def test_a_moment_is_told_as_facts_spell_it(when: datetime) -> None:
    made = to_microseconds(clean_time("createdAt", when.isoformat()))
    assert to_microseconds(from_microseconds(made)) == made == to_microseconds(when.isoformat())


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30"])
def test_what_is_no_time_is_before_all(text: str) -> None:
    assert to_microseconds(text) == NEVER
    assert from_microseconds(NEVER) == ""


def test_a_tag_is_also_each_one_above_it() -> None:
    assert tag_keys_with_parents(["#A/b/C", "a", "ß"]) == {"a", "a/b", "a/b/c", "ss"}
    assert tag_keys_with_parents([]) == set()
    assert tag_keys_with_parents(["a,B c/d", ","]) == {"a", "b-c", "b-c/d", ","}
    deep = "a/" * 20_000
    assert len(tag_keys_with_parents([deep])) == MAX_TAG_DEPTH + 1
    assert {deep, "a/a"} <= tag_keys_with_parents([deep])
    assert tag_key("##Hot") == "hot"
    assert tag_key(" Two\n words/Three ") == "two-words/three"


def test_every_kind_of_field_refuses_what_is_no_value_at_all() -> None:
    for row in (*FIELDS, *OWN_FIELDS_BY_KEY.values()):
        with pytest.raises(errors.UsageError):
            canonical(row, object())


def test_facts_are_equal_whatever_their_path_and_revision_are() -> None:
    fact = _fact(title="Tea")
    elsewhere = fact.evolve(path=VaultPath("a.md"), revision="7-a")
    assert fact == elsewhere
    assert not fact != elsewhere  # noqa: SIM202 - it is a method of its own
    assert fact != fact.evolve(title="Mate")
    assert fact != "Tea"
