from __future__ import annotations

import gc
import json
import re
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontmatters import PATH, fences, note, notes, same, yamlish
from vaultsync.errors import UnreadableNoteError
from vaultsync.markdown.frontmatter import NoteParts, read_properties, split_frontmatter, split_note
from vaultsync.model.schema import Value


@given(fences | st.text() | notes().map(lambda parts: parts.text))
def test_the_parts_of_any_text_join_back_to_it(text: str) -> None:
    assert split_frontmatter(text).text == text
    try:
        parts, values = split_note(text, PATH)
    except UnreadableNoteError:
        return
    assert parts.text == text
    assert read_properties(parts, PATH) == values


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("fence", ["---", "--- \t "])
def test_a_note_is_head_yaml_fence_and_body(eol: str, mark: str, fence: str) -> None:
    pieces = [f"{mark}{fence}{eol}", f"a: 1{eol}", f"{fence}{eol}", f"---{eol}b"]

    parts = split_frontmatter("".join(pieces))

    assert [parts.head, parts.yaml, parts.fence, parts.body] == pieces
    assert parts.eol == eol
    assert parts.fence


def test_the_closing_fence_may_be_the_end_of_the_text() -> None:
    assert split_frontmatter("---\na: 1\n---") == NoteParts("---\n", "a: 1\n", "---", "", "\n")
    assert split_frontmatter("---\n---\n") == NoteParts("---\n", "", "---\n", "", "\n")


@pytest.mark.parametrize(
    "text",
    [
        *("", "\ufeff", "text", "---", "---\n", "---\na: 1\n", "---\ra: 1\r---\r"),
        # The first line is no fence.
        *("\n---\na: 1\n---\n", " ---\na: 1\n---\n", "--- a\na: 1\n---\n", "----\na: 1\n---\n"),
        "\ufeff\ufeff---\na: 1\n---\n",
        # No other line is one.
        *("---\na: 1\n ---\n", "---\na: 1\n---- \n--- x\n"),
    ],
)
def test_without_two_fences_all_is_body(text: str) -> None:
    parts = split_frontmatter(text)

    assert not parts.fence
    assert parts.yaml == ""
    assert parts.head + parts.body == text
    assert parts.head == text[: text.startswith("\ufeff")]


@pytest.mark.parametrize("yaml", ["", "\n", "# nothing\n", "null\n", "~\n"])
def test_an_empty_frontmatter_has_no_properties(yaml: str) -> None:
    assert read_properties(note(yaml), PATH) == {}


def test_values_are_what_yaml_1_2_says() -> None:
    yaml = "a: [yes, 012, 12:30, 2026-02-14, '2026-02-14', true]\ng:\n"
    values = ["yes", 12, "12:30", "2026-02-14", "2026-02-14", True]
    assert same(read_properties(note(yaml), PATH), {"a": values, "g": None})


def test_numbers_that_json_lacks_become_text() -> None:
    yaml = "a: .nan\nb: [.inf, {c: -.inf}]\nd: 1e999\n"
    values = {"a": ".nan", "b": [".inf", {"c": "-.inf"}], "d": ".inf"}
    assert read_properties(note(yaml), PATH) == values


@pytest.mark.parametrize(
    "between", ["Some prose.\n\nMore *prose*!\n", "- a\n- b\n", "- a: 1\n- b: 2\n", "7\n"]
)
def test_prose_between_two_rules_is_body(between: str) -> None:
    text = f"\ufeff---\n{between}---\nbody\n"

    parts, values = split_note(text, PATH)

    assert values == {}
    assert (parts.head, parts.yaml, parts.fence) == ("\ufeff", "", "")
    assert parts.text == text
    with pytest.raises(UnreadableNoteError):
        read_properties(split_frontmatter(text), PATH)


UNREADABLE: list[tuple[str, int, str]] = [
    ("a: 1\nb: c: d\n", 3, "second `: `"),
    ("a: 1\nb: [1, 2\n", 3, "bracket"),
    ("a: 1\nb: {c: 1\nd: 1\ne: 2\n", 3, "a bracket is not closed"),
    ("a: 1\nb: [c,\n  {d: 1},\n  e\nf: 1\n", 3, "a bracket is not closed"),
    ("a:\n  - [1, 2\n  - 3\nb: 1\n", 3, "a bracket is not closed"),
    ("a: [b\n  c: d: 1]\n", 3, ""),
    ("a: [1, 2]\nb: {c: d: e}\nf: 1\n", 3, ""),
    ("a: 1\nup: [[Harbour]], [[Pier]]\nb: 1\n", 3, "text behind a list"),
    ("a: 1\nb: {c: 1} and\n", 3, "text behind a list or map"),
    ("a:\n  - x\n - y\n", 4, "the indentation"),
    ("a: 1\ntags: [#b]\n", 3, "a `#`, which begins a comment"),
    ("a: 1\nb: @x\n", 3, "reserves"),
    ('a: 1\nb: "\\q"\n', 3, "escape"),
    ('a: "\\uD83C"\n', 2, "half a character"),
    ("a: 1\n\tb: 1\n", 3, ""),
    ("a: 1\nb: *nothing\n", 3, "alias"),
    ("a: &a [1, *a]\n", 2, "inside the list or map that it stands for"),
    ("a: &a\n  b: &b 1\n  c: [*b, {d: *a}]\n", 4, "inside the list or map that it stands for"),
    ("a: 1\njust words\nb: 2\n", 3, "name: value"),
    ("a: 1\nb: 2\na: 3\n", 4, "'a' occurs twice"),
    ("x: {a: 1}\na: 1\nn:\n  a: 2\n  b: 2\n  a: 3\n", 7, "'a' occurs twice"),
    ("a: 1\nb: !x 2\n", 3, "tag (!x)"),
    ("a: 1\nb:\n  - !!python/object/apply:os.system [x]\n", 4, "tag"),
    ("b: ! x\n", 2, "tag"),
    ("a: 1\nb: !!timestamp 2026-02-14\n", 3, "tag (!!timestamp)"),
    ("a: '!t'\nb: |\n  !t\nc: [1,\n  !!int x]\n", 6, "tag (!!int)"),
    ("a: 1\nb: !e!foo x\n", 3, "tag (!e!foo)"),
    ("|\n...\n!!int x\n", 4, "Invalid value 'x' for '!!int' tag"),
    ("a: 1\nb:\n  c: !<x y\n", 4, "tag (!<x)"),
    ("a: &x {q: 1}\n<<: *x\n", 3, "merge"),
    ("a: &x {q: 1}\nb:\n  <<: *x\n", 4, "merge"),
    ("a: 1\nb: !!set {x, y}\n", 3, "not text, a number, a list or a map"),
    ('"a": 1\nb: 2\n1: x\n', 4, "property name"),
    ("1: x\n0x1: y\n", 2, "1 occurs twice"),
    ("a: 1\n{{date}}: 1\n", 3, "property name"),
    ("a: 1\nb: {{date}}\n", 3, "property name"),
    ("a: 1\n? b: {c: 1}\n: 2\n", 3, "property name"),
    ("a: 1\n1: x\n", 3, "property name"),
    ("a: 1\ntrue: x\n", 3, "property name"),
    ("a: 1\nb:\n  c: 1\n  1.5: x\n", 5, "property name"),
    ("a: 1\n~: x\n", 3, "property name"),
    ("a: 1\n[x]: x\n", 3, "property name"),
    ("a: 1\nb: " + "[" * 20 + "]" * 20 + "\n", 3, "more than 20 levels deep"),
    ("a: 1\nb: " + "[" * 3000 + "\n", 3, "more than 20 levels deep"),
    ("a: 1\nb:\n  " + "- " * 20 + "x\n", 4, "more than 20 levels deep"),
    ("- " * 30_000 + "x\n", 2, "more than 20 levels deep"),
    ("? " * 30_000 + "x\n", 2, "more than 20 levels deep"),
    ("x: &a 1\n" + "".join(f"y{n}: *a\n" for n in range(20)), 22, "more than 20 anch"),
    ("".join(f"k{n}: 1\n" for n in range(501)), 2, "more than 500"),
    ("a: {" + ",".join(f"k{n}" for n in range(501)) + "}\n", 2, "more than 500"),
    ("a: " + "é" * 33_000 + "\n", 1, "64 KiB"),
    ("a: 1\nb: \x00\n", 3, "NUL"),
    ("a: \ud800\n", 2, "half a character"),
    ("a: " + "9" * 5000 + "\n", 2, "too large"),
    ("a: 1\nb: [0x" + "f" * 5000 + "]\n", 3, "too large"),
    ("a: 1\n...\nb: 2\n", 3, "more than one YAML document"),
    ("a: 1\n--- # x\nb: 2\n", 3, "more than one YAML document"),
]


@pytest.mark.parametrize(("yaml", "line", "why"), UNREADABLE)
def test_what_cannot_be_read_is_refused_with_its_line(yaml: str, line: int, why: str) -> None:
    with pytest.raises(UnreadableNoteError) as refused:
        read_properties(note(yaml), PATH)

    assert (refused.value.path, refused.value.line) == (PATH, line)
    assert why in refused.value.why
    assert "\n" not in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("yaml", [yaml for yaml, _, _ in UNREADABLE])
def test_an_error_does_not_keep_its_callers_in_memory(yaml: str) -> None:
    gc.disable()
    try:
        with pytest.raises(UnreadableNoteError) as refused:
            read_properties(note(yaml), PATH)
        error = weakref.ref(refused.value)
        del refused
        assert error() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("yaml", "hint"),
    [("a: 1\na: 2\n", "keep one of the two"), ("1: x\ntrue: y\n", "put their names in quotes")],
)
def test_of_two_names_that_are_one_value_none_is_to_be_given_up(yaml: str, hint: str) -> None:
    with pytest.raises(UnreadableNoteError) as refused:
        read_properties(note(yaml), PATH)

    assert refused.value.hint == hint


def test_a_bomb_of_aliases_is_refused_before_it_goes_off() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 8)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )

    with pytest.raises(UnreadableNoteError, match="anchors and aliases"):
        read_properties(note(bomb), PATH)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # Marks inside of text are text.
        *((each, each.strip("\"'")) for each in ("b !c d", '"x: !y"', "x! !", "a & b *c*")),
        ("'" + "*a* &b " * 30 + "'", "*a* &b " * 30),
        # A text may stand far to the right, and a list twenty levels deep.
        ("|\n" + " " * 120 + "x", "x\n"),
        ("[" * 17 + "]" * 17, json.loads("[" * 17 + "]" * 17)),
        ("[" * 18 + "]" * 18, json.loads("[" * 18 + "]" * 18)),
    ],
)
def test_what_looks_like_too_much_but_is_not_is_read(written: str, value: Value) -> None:
    assert read_properties(note(f"a: {written}\n"), PATH) == {"a": value}


@settings(max_examples=settings().max_examples * 2)
@given(yamlish | st.text() | st.text(alphabet=" -?:[]{}a\n", max_size=60))
def test_any_text_is_read_or_refused_with_a_line(yaml: str) -> None:
    parts = NoteParts("---\n", yaml + "\n", "---\n", "", "\n")

    line: int | None = 1
    values: dict[str, Value] = {}
    try:
        values = read_properties(parts, PATH)
    except UnreadableNoteError as refused:
        line = refused.line

    assert line is not None
    assert 1 <= line <= len(re.split("[\r\n]", parts.text)) + 1
    assert same(json.loads(json.dumps(values)), values)
