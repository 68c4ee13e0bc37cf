from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.frontmatters import PATH, keys, nested, note, same, words
from vaultsync.markdown.frontmatter import read_properties
from vaultsync.markdown.yaml.writer import emit_property
from vaultsync.model.schema import Value

ID = "01932c07-1234-7abc-8def-0123456789ab"


@settings(max_examples=settings().max_examples * 2)
@given(keys, nested, st.sampled_from(["\n", "\r\n"]))
def test_what_is_emitted_is_read_back(key: str, value: Value, eol: str) -> None:
    lines = emit_property(key, value).replace("\n", eol)

    assert lines.endswith(eol)
    assert lines.count("\n") == lines.count(eol)
    if isinstance(value, list):
        assert lines.count("\n") == 1 + len(value)
    elif not isinstance(value, str):
        assert lines.count("\n") == 1
    assert same(read_properties(note(lines), PATH), {key: value})


few = st.sampled_from(["", "a", "a ", " a", "\ta", "# a", "---", "- a: b", "!t", "\x85"])
many_lines = st.lists(few | words, min_size=2, max_size=6).map("\n".join)


@settings(max_examples=settings().max_examples * 2)
@given(keys, many_lines, st.sampled_from(["", " ", "\r"]), st.sampled_from(["\n", "\r\n"]))
def test_a_text_of_several_lines_is_read_back(key: str, text: str, tail: str, eol: str) -> None:
    found: dict[str, Value] = {key: text + tail, "z": "a\nb", "end": 1}

    lines = "".join(emit_property(*each) for each in found.items()).replace("\n", eol)

    assert same(read_properties(note(lines), PATH), found)


@pytest.mark.parametrize(
    "text",
    [
        "a\nb",
        "a\nb\n",
        "It must start without a person\nafter a power cut: at once.\n\n- # or\n  - so",
        "Größe\n\tmake test\n---\n🙂",
    ],
)
def test_a_person_reads_a_text_of_several_lines_line_by_line(text: str) -> None:
    *lines, end = emit_property("key", text).split("\n")

    assert lines[0] in ("key: |", "key: |-")
    assert [line.removeprefix("  ") for line in lines[1:]] == text.removesuffix("\n").split("\n")
    assert end == ""


@pytest.mark.parametrize(
    "text",
    ["\na", " a\nb", "\ta\nb", "a\n\n", "a \nb", "a\n \nb", "a\nb\t", "a\n"]
    + [f"a\n{odd}b" for odd in "\x00\x07\r\x7f\x85\xa0\u2028\u202e\ufeff"],
)
def test_a_text_that_an_editor_could_spoil_unseen_is_in_quotes(text: str) -> None:
    assert emit_property("key", text).startswith('key: "')


@given(keys, words | many_lines | st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_emitted_means_the_same_to_yaml_1_1(key: str, value: str | float) -> None:
    yaml = pytest.importorskip("yaml")
    assume(not re.match(r"[0-9]{4}-", str(value)))

    assert same(yaml.safe_load(emit_property(key, value) + "z: 1\n"), {key: value, "z": 1})


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        *((None, "key:\n"), (True, "key: true\n"), (0, "key: 0\n"), (0.9, "key: 0.9\n")),
        *((1e22, "key: 1.0e+22\n"), (math.inf, 'key: ".inf"\n'), (-math.inf, 'key: "-.inf"\n')),
        *((math.nan, 'key: ".nan"\n'), ("a\nb", "key: |-\n  a\n  b\n")),
        *(("a\n\nb\n", "key: |\n  a\n\n  b\n"), (["a\nb"], 'key:\n  - "a\\nb"\n')),
        *(("\u2028\x85\ufeff\x7f", 'key: "\\u2028\\u0085\\ufeff\\u007f"\n'), ([], "key: []\n")),
        *((["a", "[[B]]"], 'key:\n  - a\n  - "[[B]]"\n'), (("a",), "key:\n  - a\n")),
        ([None, ["a"], {"b": 1}], 'key:\n  - null\n  - ["a"]\n  - {"b": 1}\n'),
        *(({}, "key: {}\n"), ({"a": [1, "b"]}, 'key: {"a": [1, "b"]}\n')),
    ],
)
def test_values_are_spelled_as_a_person_would(value: Value, lines: str) -> None:
    assert emit_property("key", value) == lines


@pytest.mark.parametrize(
    "text", ["a b/c.d-e_f", "Größe 記憶", "2026-02-14", "2026-02-14T13:45:00Z", ID]
)
def test_a_text_that_is_text_to_every_parser_is_plain(text: str) -> None:
    assert emit_property("key", text) == f"key: {text}\n"


# Empty, with a blank that could be lost, or with a mark of YAML; true, false or a number to
# some parser; no time at all.
QUOTED = ["", "a ", "a: b", "[[Convex]]", "No", "y", "1.10", "12:30", "2026-02-30"]


@pytest.mark.parametrize("text", [*QUOTED, "2026-02-14T25:45:00Z"])
def test_a_text_that_some_parser_reads_otherwise_is_quoted(text: str) -> None:
    assert emit_property("key", text) == f'key: "{text}"\n'
