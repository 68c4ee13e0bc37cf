"""Single values of JSON change, and every other byte stays."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.hosts.json_edits import (
    JsonSyntaxError,
    append_value,
    find,
    parse,
    remove_value,
    set_value,
    value_of,
)

_plain = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
_values = st.recursive(
    _plain,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
_objects = st.dictionaries(st.text(max_size=4), _values, max_size=4)
_layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@st.composite
def _texts(draw: st.DrawFn) -> str:
    """A JSON text as people leave it: any indentation, comments, a comma after the last value."""
    text = json.dumps(draw(_objects), indent=draw(_layouts), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = re.sub(r"\n(\s*)\}$", r",\n\1}", text) if text.count("\n") > 1 else text
    if draw(st.booleans()):
        text = "// mine\n" + text + " /* the end */"
    text += draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def _read(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    return value_of(text, parse(text))


@given(_texts(), _values)
def test_a_new_value_is_all_that_changes(text: str, value: object) -> None:
    before = _read(text)
    path = ("mcp\nServers", "vaultsync")
    after = set_value(text, path, value)
    assert _read(after) == {**before, path[0]: {path[1]: value}}
    parts = iter(after)
    assert all(each in parts for each in text if not each.isspace())
    assert _read(remove_value(after, path)) == before


@given(_texts(), st.lists(_values, max_size=3), _values)
def test_an_element_is_appended_and_removed(text: str, known: list[object], value: object) -> None:
    text = set_value(text, ("hooks", "Start"), known)
    after = append_value(text, ("hooks", "Start"), value)
    node = find(after, ("hooks", "Start"))
    assert node is not None
    assert value_of(after, node) == [*known, value]
    left = remove_value(after, ("hooks", "Start"), len(known))
    if known:
        assert left == text
    else:
        assert find(left, ("hooks",)) is None


@given(_texts(), _values, _values)
def test_a_value_is_replaced_where_it_is(text: str, one: object, two: object) -> None:
    text = set_value(text, ("ours",), one)
    assert set_value(set_value(text, ("ours",), two), ("ours",), one) == text


def test_comments_and_the_last_comma_stay() -> None:
    text = '{\n\t// the search\n\t"servers": {\n\t\t"a": {}, // keep\n\t},\n}\n'
    after = set_value(text, ("servers", "b"), {"x": [1]})
    added = ',\n\t\t"b": {\n\t\t\t"x": [\n\t\t\t\t1\n\t\t\t]\n\t\t}, // keep'
    assert after == text.replace(", // keep", added)
    assert remove_value(after, ("servers", "b")) == text


@st.composite
def _commented(draw: st.DrawFn) -> str:
    """A JSON text with numbered comments between any of its parts."""
    number = 0

    def between() -> str:
        nonlocal number
        number += 1
        forms = [
            "",
            "",
            " ",
            "\n  ",
            f" /* {number}; */",
            f" // {number};\n",
            f"\n// {number};\n  ",
        ]
        return draw(st.sampled_from(forms))

    def written(members: list[str], ends: str) -> str:
        many = [f"{between()}{each}{between()}" for each in members]
        comma = "," + between() if draw(st.booleans()) and many else ""
        return ends[0] + ",".join(many) + (comma or between()) + ends[1]

    names = [f'"{name}": {number}' for name in draw(st.sets(st.sampled_from("abc")))]
    inner = written(names, "{}")
    if draw(st.booleans()):
        inner = written([f'"ours": {inner}', *draw(st.permutations(names))], "{}")
    return inner


@given(_commented())
@example("{ // nothing\n}")
@example('{"a": 1 /* keep */}')
@example('{"a": 1 // keep\n}')
@example('{\n  "ours": {\n    // keep\n  }\n}')
def test_comments_stay_when_a_value_comes_and_goes(text: str) -> None:
    comments = re.findall(r"\d+;|keep|nothing", text)
    after = set_value(text, ("ours", "x"), 7)
    assert _read(after)["ours"]["x"] == 7
    left = remove_value(after, ("ours", "x"))
    for each in (after, left):
        assert sorted(re.findall(r"\d+;|keep|nothing", each)) == sorted(comments)
    assert _read(left).get("ours", {}) == _read(text).get("ours", {})
    less = {key: value for key, value in _read(text).items() if key != "a"}
    left = remove_value(text, ("a",))
    assert _read(left) == less
    assert _read(left).keys() == less.keys()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{\n  "x": {},\n  // keep\n  "b": 1\n}', '{\n  // keep\n  "b": 1\n}'),
        ('{\n  "b": 1, // keep\n  "x": {}\n}', '{\n  "b": 1 // keep\n}'),
        ('{\n  "b": 1, // keep\n  "x": {},\n}', '{\n  "b": 1, // keep\n}'),
        ('{"b": 1, // keep\n"x": {}}', '{"b": 1 // keep\n}'),
        ('{// keep\n"x": {}}', "{// keep\n}"),
        ('{ "x": {}, /* keep */ }', "{ /* keep */ }"),
    ],
)
def test_a_comment_about_another_value_stays(text: str, left: str) -> None:
    assert remove_value(text, ("x",)) == left


@pytest.mark.parametrize(
    "text",
    [
        "{", "[1", "{]", '{"a" 1}', '{"a": 1 "b": 2}', "{1: 2}", '{"a": }', "{} {}", "[1,, 2]",
        '{"a": nul}', '{"\\x": 1}', '{"a": "\n"}', "[" * 200,
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(JsonSyntaxError):
        _read(text)


@pytest.mark.parametrize("text", ['{"a": 1}', "[1]", "7"])
def test_a_path_through_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(JsonSyntaxError, match="is not an object"):
        set_value(text, ("a", "b"), 1)
    with pytest.raises(JsonSyntaxError, match="is not an array"):
        append_value('{"a": {}}', ("a",), 1)


def test_nothing_is_removed_where_nothing_is() -> None:
    assert remove_value('{"a": 1}', ("b", "c")) == '{"a": 1}'


def test_of_two_values_with_one_key_the_last_counts() -> None:
    text = '{"a": 1, "a": 2}'
    assert _read(text) == {"a": 2}
    assert set_value(text, ("a",), 3) == '{"a": 1, "a": 3}'
