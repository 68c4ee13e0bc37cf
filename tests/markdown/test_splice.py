from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.frontmatters import (
    PATH,
    edited,
    frontmatters,
    keys,
    names,
    nested,
    note,
    notes,
    same,
    written,
    yamlish,
)
from vaultsync.errors import UnreadableNoteError, UnsafeSpliceError
from vaultsync.markdown.frontmatter import (
    NoteParts,
    edit_properties,
    read_properties,
    split_frontmatter,
    split_note,
)
from vaultsync.model.schema import Value


@settings(max_examples=settings().max_examples * 2)
@given(notes(), st.data())
def test_a_splice_changes_one_property_and_no_more(parts: NoteParts, data: st.DataObject) -> None:
    before = read_properties(parts, PATH)
    assume(before)
    key = data.draw(st.sampled_from(list(before)))
    value = data.draw(nested)

    try:
        after = edit_properties(parts, {key: value}, PATH, before=before)
    except UnsafeSpliceError:
        # The blank lines below what goes would become part of a text above that keeps
        # them: the one case among these notes where there is no safe edit.
        assume(value is not None or "|+" not in parts.yaml)
        raise

    expected = {k: v if k != key else value for k, v in before.items()}
    if value is None:
        del expected[key]
    assert same(read_properties(after, PATH), expected)
    assert (after.head, after.fence, after.body) == (parts.head, parts.fence, parts.body)
    assert split_frontmatter(after.text) == after
    lines = lines_of(parts, key)
    above, _, below = parts.yaml.partition(lines)
    if "|+" in lines:  # the blank lines below are part of the text
        below = below.lstrip("\r\n")
    assert after.yaml.startswith(above)
    assert after.yaml.endswith(below)
    assert "\r" not in after.yaml.replace("\r\n", "") or parts.eol == "\n"
    assert ("\r\n" in after.text) == ("\r\n" in parts.text)


def lines_of(parts: NoteParts, key: str) -> str:
    """The lines of a property up to the next one, found another way than the code."""
    yaml = parts.yaml
    begins = [m.start() for m in re.finditer(r"(?m)^[\"'a-z]", yaml)]
    ends = [*begins[1:], len(yaml)]
    for begin, end in zip(begins, ends, strict=True):
        if re.match(rf"[\"']?{re.escape(key)}[\"']? ?:", yaml[begin:end]):
            lines = yaml[begin:end].splitlines(keepends=True)
            while len(lines) > 1 and (lines[-1].isspace() or lines[-1].startswith("#")):
                lines.pop()
            return "".join(lines)
    raise AssertionError(key)


@given(notes(), st.dictionaries(names, nested, max_size=4))
def test_a_splice_of_many_keys_is_as_meant(parts: NoteParts, changes: dict[str, Value]) -> None:
    expected = read_properties(parts, PATH)
    for key, value in changes.items():
        if value is None:
            expected.pop(key, None)
        else:
            expected[key] = value

    try:
        after = edited(parts, changes)
    except UnsafeSpliceError:
        assume(None not in changes.values() or "|+" not in parts.yaml)
        raise

    assert same(read_properties(after, PATH), expected)
    assert after.text.endswith(parts.fence + parts.body)


@given(notes())
def test_a_change_to_what_is_there_already_changes_nothing(parts: NoteParts) -> None:
    values = {
        key: value for key, value in read_properties(parts, PATH).items() if value is not None
    }

    assert edited(parts, values) == parts
    assert edited(parts, {}) == parts
    assert edited(parts, {"not there": None}) == parts


@given(notes())
def test_all_properties_can_be_removed(parts: NoteParts) -> None:
    after = edited(parts, dict.fromkeys(read_properties(parts, PATH)))

    assert read_properties(after, PATH) == {}
    assert after.text.startswith(parts.head)
    assert after.text.endswith(parts.fence + parts.body)
    assert after.fence


@given(
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", "text", "\r\n", "\n---\na: 1\n---\n", "---\nunclosed\n", "--- \r\nx"]),
    st.dictionaries(keys, nested.filter(lambda value: value is not None), min_size=1, max_size=3),
)
def test_a_bare_note_gets_a_frontmatter(mark: str, body: str, changes: dict[str, Value]) -> None:
    parts = split_frontmatter(mark + body)

    after = edited(parts, changes)

    assert (after.body, after.text) == (body, mark + written(changes, parts.eol) + body)
    assert same(split_note(after.text, PATH)[1], changes)


def test_prose_between_rules_stays_below_a_new_frontmatter() -> None:
    parts, _ = split_note("---\nSome prose.\n---\n", PATH)

    after = edited(parts, {"id": "x"})

    assert after.text == "---\nid: x\n---\n---\nSome prose.\n---\n"


EDITS: list[tuple[str, dict[str, Value], str]] = [
    ("a:   1   # why\nb: 2\n", {"a": 3}, "a:   3   # why\nb: 2\n"),
    ("'a b' : x\n", {"a b": "u"}, "'a b' : u\n"),
    ('a: "x" # why\n', {"a": 'u "v"'}, 'a: "u \\"v\\"" # why\n'),
    ("a: 'x'\n", {"a": "u v"}, "a: 'u v'\n"),
    ("a: 'x'\n", {"a": "it's"}, 'a: "it\'s"\n'),
    ("a: 'x'\n", {"a": "u\tv"}, 'a: "u\\tv"\n'),
    ('a: "1"\n', {"a": "u"}, "a: u\n"),
    ("a: # why\nb: 2\n", {"a": "x"}, "a: x # why\nb: 2\n"),
    # Comments below a key stay when its value goes.
    ("a:\n  # one of x, y\nb: 2\n", {"a": "x"}, "a: x\n  # one of x, y\nb: 2\n"),
    (
        "a:\n  # sorted\n  - x # gone\n\n  # last\n  - y\n",
        {"a": []},
        "a: []\n  # sorted\n  # last\n",
    ),
    ("a:\n  # c\n", {"a": "u\nv"}, 'a: "u\\nv"\n  # c\n'),
    ("a:\n  # c\nb: 2\n", {"a": None}, "b: 2\n"),
    ("a: x # why\n", {"a": ["u"]}, "a: # why\n  - u\n"),
    ("a: [x, y] # why\n", {"a": ["x", "z"]}, "a: [x, z] # why\n"),
    ("a: [x]\n", {"a": []}, "a: []\n"),
    ("a: &x [x]\n", {"a": ["x", "z"]}, "a:\n  - x\n  - z\n"),
    ("a:\n  - x\nb: 1\n", {"a": "u"}, "a: u\nb: 1\n"),
    ("a:\n  - x\nb: 1\n", {"a": []}, "a: []\nb: 1\n"),
    ("a:\n  - k: 1\n    l: 2\nb: 1\n", {"a": ["u"]}, "a:\n  - u\nb: 1\n"),
    ("a: |\n  # x\n\n# for b\nb: 1\n", {"a": "u"}, "a: u\n\n# for b\nb: 1\n"),
    ("a: 1\n  # aside\nb: 1\n", {"a": 2}, "a: 2\n  # aside\nb: 1\n"),
    ('a: "x\n  # y" # why\nb: 1\n', {"a": "z"}, "a: z # why\nb: 1\n"),
    ("a: x\n  y # why\nb: 1\n", {"a": "z"}, "a: z # why\nb: 1\n"),
    ("a: x\u00a0# y\nb: \u00a0x\n", {"a": "z", "b": "z"}, "a: z\nb: z\n"),
    ("a: [x, # c\n'y # z'\n]\nb: 1\n", {"a": ["x", 1]}, "a: [x, 1 # c\n  \n]\nb: 1\n"),
    ("a: x\n  y\n\n  # aside\nb: 1\n", {"a": "z"}, "a: z\n\n  # aside\nb: 1\n"),
    ('"a\\x62": 1\nb: 2\n', {"ab": 2}, '"a\\x62": 2\nb: 2\n'),
    ("a: 1\nb: 2\n", {"b": None, "c": 3, "a": 0}, "a: 0\nc: 3\n"),
    ("a: 1\n# end\n", {"b": "x"}, "a: 1\n# end\nb: x\n"),
    ("a: |+\n  x\n\nb: |+\n  x\n\n# c\n", {"b": None}, "a: |+\n  x\n\n# c\n"),
    ("a: x # why\nb: 1\n", {"a": "x\n\n- y"}, "a: |- # why\n  x\n\n  - y\nb: 1\n"),
    ("a: 1\n", {"b": "x\ny"}, "a: 1\nb: |-\n  x\n  y\n"),
    ("a:\n  - x\nb: 1\n", {"a": "x\ny\n"}, "a: |\n  x\n  y\nb: 1\n"),
    ("a: |-\n    x\n\n    y\n", {"a": "x\n\nz"}, "a: |-\n    x\n\n    z\n"),
    ("a: >  # why\n x\n y\n", {"a": "x\ny\n"}, "a: |  # why\n x\n y\n"),
    ("a: |\n\n  x\n", {"a": "x\ny"}, "a: |-\n  x\n  y\n"),
    ("a: |2-\n   x\n", {"a": "x\ny"}, "a: |-\n   x\n   y\n"),
    ("a: |+\n  x\n\nb: 1\n", {"a": "x\ny"}, "a: |-\n  x\n  y\nb: 1\n"),
    ("a: |\n  x\n", {"a": "x\n y \n"}, 'a: "x\\n y \\n"\n'),
    ("a: 1\n  # aside\nb: 1\n", {"a": "x\ny"}, 'a: "x\\ny"\n  # aside\nb: 1\n'),
    ("a: yes\n", {"a": True}, "a: true\n"),
    # Keys in other forms.
    ("? a\n: 1\nb: 2\n", {"b": 3}, "? a\n: 1\nb: 3\n"),
    ("? a\n: 1\n# for b\n? 'b: c'\n: 2\n", {"a": "x"}, "a: x\n# for b\n? 'b: c'\n: 2\n"),
    ("? a\n: - x\n  - y\n", {"a": ["x", "z"]}, "a:\n  - x\n  - z\n"),
    ("&x a: 1 # why\nb: *x\n", {"a": 2}, "&x a: 2 # why\nb: *x\n"),
    ("&x 'a b': 1\nb: *x\n", {"b": "z"}, "&x 'a b': 1\nb: z\n"),
    ("  a: 1\n", {"a": 2, "b": 3}, "  a: 2\n  b: 3\n"),
    (
        "  a:\n    - x # why\n\n  # for b\n  b: |\n    u\n     v\n",
        {"a": ["x", "z"], "c": "u\nv"},
        "  a:\n    - x # why\n    - z\n\n  # for b\n  b: |\n    u\n     v\n  c: |-\n    u\n    v\n",
    ),
    ("a: 1\n", {"a": 1.0}, "a: 1.0\n"),
]


@pytest.mark.parametrize(("yaml", "changes", "expected"), EDITS)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_an_edit_keeps_comments_spelling_and_line_ends(
    yaml: str, changes: dict[str, Value], expected: str, eol: str
) -> None:
    parts = split_frontmatter(note(yaml).text.replace("\n", eol))

    assert edited(parts, changes).yaml == expected.replace("\n", eol)


@pytest.mark.parametrize(("one", "other"), [("\n", "\r\n"), ("\r\n", "\n")])
def test_an_edited_line_keeps_its_own_line_end(one: str, other: str) -> None:
    parts = split_frontmatter(f"---{one}a: 1{other}b:{other}  - x{other}c: 1{one}---{one}")

    made = edited(parts, {"a": 2, "b": ["x", "z"], "c": 2, "d": 1})

    expected = f"a: 2{other}b:{other}  - x{other}  - z{other}c: 2{one}d: 1{one}"
    assert made.yaml == expected


FLOWS: list[tuple[str, list[Value], str]] = [
    ("[\"a b\", 'c']", ["a b", "c", "d"], "[\"a b\", 'c', d]"),
    ("[\"a b\", 'c']", ["c"], "['c']"),
    ("['c', 1, c]", ["x", "c", 1, "c"], "[x, 'c', 1, c]"),
    ("[ 'a','b' ]", ["a", "b", "d"], "[ 'a','b',d ]"),
    ("[ 'a','b' ]", ["b"], "[ 'b' ]"),
    ("['a', \"b\"]", ["b", "a"], "[\"b\", 'a']"),
    ("['a',]", ["a", "b"], "['a', b,]"),
    ("['a', don't, it's]", ["a", "it's"], "['a', it's]"),
    ("['it''s', \"\\\"\", a:b]", ['"', "a:b"], '["\\"", a:b]'),
    ("['a', x: y]", ["a", {"x": "y"}, 2], "['a', x: y, 2]"),
    ("['a', [b]]", ["a", ["b"], "c"], "['a', [b], c]"),
    ("['a', [['b']]]", ["a", [["b"]], "c"], '[a, [["b"]], c]'),
    ("['a', b]", [], "[]"),
    ("[]", ["a"], "[a]"),
    ("[&x a, b]", ["a"], "[a]"),
]


@pytest.mark.parametrize(("flow", "value", "expected"), FLOWS)
@pytest.mark.parametrize("tail", ["", " # why"])
def test_an_edited_list_on_one_line_keeps_the_spelling_of_its_other_items(
    flow: str, value: list[Value], expected: str, tail: str
) -> None:
    parts = note(f"tags: {flow}{tail}\nz: 1\n")

    assert edited(parts, {"tags": value}).yaml == f"tags: {expected}{tail}\nz: 1\n"


LINES = "['a', # one\n  b, # two\n  'c'\n  ]"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b", "c", "d"], LINES.replace("'c'", "'c', d")),
        (["b", "c"], LINES.replace("'a',", "")),
        (["a", "c"], LINES.replace("b,", "")),
        (["a", "b"], "['a', # one\n  b # two\n  \n  ]"),
        (["c", "a"], "[ # one\n   # two\n  'c', 'a'\n  ]"),
        (["d"], "[d # one\n   # two\n  \n  ]"),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_list_in_brackets_keeps_its_comments(value: list[Value], expected: str, eol: str) -> None:
    parts = split_frontmatter(note(f"tags: {LINES} # end\nz: 1\n").text.replace("\n", eol))

    yaml = edited(parts, {"tags": value}).yaml

    assert yaml == f"tags: {expected} # end\nz: 1\n".replace("\n", eol)
    assert read_properties(split_frontmatter(f"---\n{yaml}---\n"), PATH) == {"tags": value, "z": 1}


def come_and_go(yaml: str, data: st.DataObject) -> tuple[str, list[Value], list[bool]]:
    """The YAML after some items of the list `k` left and others came; what was, and what stayed."""
    was = read_properties(note(yaml), PATH)["k"]
    assert isinstance(was, list)
    stays = data.draw(st.lists(st.booleans(), min_size=len(was), max_size=len(was)))
    new = data.draw(st.lists(st.sampled_from(["new", "n: 1", 7.5]), max_size=2))
    kept = [*(each for each, stay in zip(was, stays, strict=True) if stay), *new]
    assume(kept)
    after = edited(note(yaml), {"k": kept}).yaml
    assert same(read_properties(note(after), PATH), {"k": kept, "z": 1})
    return after, was, stays


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", " ", "\n  ", " # c\n  "]),
            st.sampled_from(["a", "'b'", '"c, d"', "1", "[e]", "f g", "it's", "-h"]),
            st.sampled_from(["", "", " ", " # d\n"]),
        ),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
    st.data(),
)
def test_items_in_brackets_stay_as_they_are_spelled_when_others_come_and_go(
    items: list[tuple[str, str, str]], comma: bool, data: st.DataObject
) -> None:
    flow = ",".join(map("".join, items)) + (", " if comma else "")
    yaml = f"k: [{flow}]\nz: 1\n"

    after, was, stays = come_and_go(yaml, data)

    assert after.count("#") == yaml.count("#")
    spelled = [text for (_, text, _), stay in zip(items, stays, strict=True) if stay]
    if len(set(map(repr, was))) == len(was):
        for text in spelled:
            assert text in after


TAGS = "tags: # mine\n  # tools\n  - 'a b'  # why\n\n  - 1\n  - -5\n  # end\nz: 1\n"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a b", 1, -5, "x"], TAGS.replace("  # end", "  - x\n  # end")),
        (["a b", -5], TAGS.replace("  - 1\n", "")),
        ([1, -5], TAGS.replace("  - 'a b'  # why\n", "")),
        (["a b", "x", 1, -5], TAGS.replace("why\n", "why\n  - x\n")),
        (["x"], "tags: # mine\n  - x\n  # tools\n\n  # end\nz: 1\n"),
        ([-5, "a b", 1], TAGS.replace("  - -5\n", "").replace("mine\n", "mine\n  - -5\n")),
    ],
)
def test_an_edited_list_keeps_lines_of_its_other_items(value: list[Value], expected: str) -> None:
    assert edited(note(TAGS), {"tags": value}).yaml == expected


ORDERS = """orders: # of today
  # the first
  - name: tea  # green
    qty: 2  # boxes
    # not before noon
    at: "12:30"
  # the second
  - name: milk
    # which shelf
    shelves:
      - 3  # upper
      - 4
  # end
z: 1
"""
FLOW = "orders:\n  # the first\n  - {name: tea, qty: 2}  # green\n  - &x milk\nz: 1\n"
TEA, MILK = {"name": "tea", "qty": 2, "at": "12:30"}, {"name": "milk", "shelves": [3, 4]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([TEA, {**MILK, "shelves": [3]}], ORDERS.replace("      - 4\n", "")),
        ([{**TEA, "qty": 3}, MILK], ORDERS.replace("qty: 2", "qty: 3")),
        (
            [{**TEA, "qty": 3, "new": "x"}, MILK],
            ORDERS.replace("qty: 2", "qty: 3").replace(
                '    at: "12:30"\n', '    at: "12:30"\n    new: x\n'
            ),
        ),
        ([TEA, MILK, {"name": "ale"}], ORDERS.replace("  # end", '  - {"name": "ale"}\n  # end')),
        (
            [MILK],
            ORDERS[: ORDERS.index("  - name: tea")] + ORDERS[ORDERS.index("  # the second") :],
        ),
        (
            ["a", TEA],
            "".join(ORDERS.partition("\n")[:2])
            + "  - a\n"
            + ORDERS.partition("\n")[2].replace(
                ORDERS[ORDERS.index("  - name: milk") : ORDERS.index("  # end")], ""
            ),
        ),
        ([{"name": "milk", "shelves": None}], None),
        (["x"], None),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_an_edited_list_of_maps_keeps_its_comments(
    value: list[Value], expected: str | None, eol: str
) -> None:
    parts = split_frontmatter(note(ORDERS).text.replace("\n", eol))
    yaml = edited(parts, {"orders": value}).yaml
    assert read_properties(split_frontmatter(f"---{eol}{yaml}---{eol}"), PATH)["orders"] == value
    if expected is not None:
        assert yaml == expected.replace("\n", eol)
    assert yaml.count("#") >= 4


def test_items_of_a_list_that_are_no_lines_of_their_own_are_written_again() -> None:
    yaml = edited(note(FLOW), {"orders": [{"name": "tea", "qty": 3}, "milk"]}).yaml
    expected = FLOW.replace("{name: tea, qty: 2}  # green", '{"name": "tea", "qty": 3}')
    assert yaml == expected

    tall = "k:\n  - 1\n  - |+\n    a\n\n\n# left\nz: 1\n"
    assert edited(note(tall), {"k": ["a\n\n\n"]}).yaml.endswith("# left\nz: 1\n")


item_lines = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "d e", "1", "'q # r'", '"s"', "t:u", "-v"]),
        st.sampled_from(["", "  # why", " "]),
        st.sampled_from(["", "", "\n", "  # above\n", "# far left\n"]),
    ),
    min_size=1,
    max_size=6,
)


@given(item_lines, st.sampled_from(["", "  ", "    "]), st.data())
def test_items_and_comments_of_a_list_stay_when_others_come_and_go(
    items: list[tuple[str, str, str]], indent: str, data: st.DataObject
) -> None:
    lines = [f"{indent}- {item}{tail}\n" for item, tail, _ in items]
    above = [comment for *_, comment in items]
    yaml = "k:\n" + "".join(a + line for a, line in zip(above, lines, strict=True)) + "z: 1\n"

    after, was, stays = come_and_go(yaml, data)

    for comment in set(above) - {"", "\n"}:
        assert after.count(comment) == yaml.count(comment)
    found = [line for line in after.splitlines(True)[1:-1] if line.strip(" ").startswith("-")]
    if len(set(map(repr, was))) == len(was):
        mine = [line for line, stay in zip(lines, stays, strict=True) if stay]
        assert found[: len(mine)] == mine
    assert all(line.startswith(f"{indent}- ") for line in found)


@pytest.mark.parametrize(
    ("yaml", "changes"),
    [
        ("{a: 1, b: 2}\n", {"a": 2}),
        ("{a: 1}\n", {"b": 2}),
        ("a: &x 1\nb: *x\n", {"a": 2}),
        ("a: 1\n...\n", {"b": 2}),
        ("? a # why\n: 1\nb: 2\n", {"a": 2}),
        ("? a\n: &x 1\nb: *x\n", {"a": 2}),
        ("  a: |\n    x\n   \n    y\n", {"b": 2}),
        ("a: 1\rb: 2\n", {"a": 2}),
        ("a: 1\rb: 2\n", {"a": 2, "b": 3}),
        ("a: 1\n", {"a": "\ud800"}),
        ("a: 1\n", {"<<": "x"}),
        ("a: 1\n", {"b": [[[[[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]]]]}),
    ],
)
def test_an_edit_that_cannot_be_proved_is_not_made(yaml: str, changes: dict[str, Value]) -> None:
    with pytest.raises(UnsafeSpliceError) as refused:
        edited(note(yaml), changes)

    assert refused.value.path == PATH


@pytest.mark.parametrize(
    ("parts", "before"),
    [
        (NoteParts("---\n", "a: 1\n", "---\n", "body", "\r\n"), {"a": 1}),
        (NoteParts("---\n", "a: 1\n", "--- x\n", "body", "\n"), {"a": 1}),
        (NoteParts("", "a: 1\n", "---\n", "body", "\n"), {"a": 1}),
        (note("a: 1\nb: 2\n"), {"a": 1, "b": 3}),
        (note("a: %1\n"), {"a": 1}),
    ],
)
def test_an_edit_of_pieces_that_are_no_note_or_of_other_properties_is_not_made(
    parts: NoteParts, before: dict[str, Value]
) -> None:
    with pytest.raises(UnsafeSpliceError):
        edit_properties(parts, {"a": 2}, PATH, before=before)


@given(
    st.dictionaries(names, nested, min_size=1, max_size=4),
    names,
    nested,
    st.sampled_from([None, 2]),
    st.sampled_from(["\n", "\r\n"]),
)
@example({"tags": ["journal"], "publish": False}, "id", "0", 2, "\n")
def test_an_edit_turns_json_into_yaml(
    values: dict[str, Value], key: str, value: Value, indent: int | None, eol: str
) -> None:
    assume(value is not None)
    block = json.dumps(values, indent=indent).replace("\n", eol)
    parts, before = split_note(f"---{eol}{block}{eol}---{eol}Body{eol}", PATH)
    assume(before == values)

    after = edited(parts, {key: value})

    assert same(read_properties(after, PATH), values | {key: value})
    assert (after.head, after.fence, after.body) == (parts.head, parts.fence, parts.body)
    assert before.get(key) == value or not after.yaml.startswith("{")


def test_a_flow_map_that_is_no_json_is_not_edited() -> None:
    with pytest.raises(UnsafeSpliceError):
        edited(split_frontmatter("---\n{a: 1}\n---\n"), {"b": 2})


@settings(max_examples=settings().max_examples * 2)
@given(yamlish | frontmatters(), names | st.just("a"), nested)
@example("a: [x,\n  'b': y]\nb: 1\n", "b", 2)
@example('a: "\nb: 1\n"\n', "b", 2)
@example("a: 1\r\nb: 2\n", "a", "x")
def test_a_splice_proves_itself_or_is_refused(yaml: str, key: str, value: Value) -> None:
    parts = split_frontmatter(f"---\n{yaml}\n---\nbody")
    try:
        parts, before = split_note(parts.text, PATH)
        after = edited(parts, {key: value})
    except (UnreadableNoteError, UnsafeSpliceError):
        return

    expected = {**before, key: value}
    if value is None:
        del expected[key]
    assert after.text.endswith(parts.fence + parts.body)
    assert same(split_note(after.text, PATH)[1], expected)
