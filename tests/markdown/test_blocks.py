"""Which lines of a text are fenced code: what CommonMark says."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from vaultsync.markdown.blocks import closed_title, fenced_lines, fences, prose_spans, without_code


def _code(text: str) -> list[str]:
    return [text[line.start : line.end] for line in fenced_lines(text) if line.code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```\nb\n```\nc\n", ["```\n", "b\n", "```\n"]),
        ("~~~\n```\n~~~~ \t\nc", ["~~~\n", "```\n", "~~~~ \t\n"]),
        ("```\na\n``` b\nc", ["```\n", "a\n", "``` b\n", "c"]),  # no end: it says more
        ("````\n```\na", ["````\n", "```\n", "a"]),  # nor that, which is too short
        ("```\n    ```\na", ["```\n", "    ```\n", "a"]),  # nor that, too far to the right
        ("```\n> ```\na", ["```\n", "> ```\n", "a"]),  # nor that, a quote in code
        ("```\n```\xa0\na", ["```\n", "```\xa0\n", "a"]),  # nor that: no blank but a letter
        ("``` a`b\nc\n", []),  # inline code
        ("~~~ a`b\nc\n~~~\n", ["~~~ a`b\n", "c\n", "~~~\n"]),
        ("   ```\na\n  ```\nb", ["   ```\n", "a\n", "  ```\n"]),
        ("    ```\n\n    a\n", []),  # code by indentation
        ("> ```\n> a\nb\n", ["> ```\n", "> a\n"]),  # the quote ends, and its code
        ("- ```\n\n  a\nb\n", ["- ```\n", "\n", "  a\n"]),
        ("+ + ```\n    a\nb\n", ["+ + ```\n", "    a\n"]),  # two items, and no rule
        ("1. a\n   ```\n   b\n   ```\n", ["   ```\n", "   b\n", "   ```\n"]),
        ("   - a\n\t```\n     ```\n", ["     ```\n"]),  # the first goes on with the paragraph
        ("<!--\n```\n-->\na\n", []),
        ("$$\n```\n$$\na\n", []),
        ("```\r# a\r```\rb", ["```\r", "# a\r", "```\r"]),  # a line end of CommonMark
        ("```\r\na\r\n```\r\nb", ["```\r\n", "a\r\n", "```\r\n"]),
        ("a\x0c```\nb\u2028```\n", []),  # none of these ends a line
    ],
)
def test_fenced_code_is_what_commonmark_says(text: str, code: list[str]) -> None:
    assert _code(text) == code
    assert without_code(text) == "".join(
        text[line.start : line.end] for line in fenced_lines(text) if not line.code
    )


def test_a_fence_knows_what_is_between_its_lines() -> None:
    text = "a\n- ```x\n  b\n  ```\n\n~~~\nc"
    held = [(text[f.inner : f.close], f.depth, f.closed) for f in fences(text)]

    assert held == [("  b\n", 1, True), ("c", 0, False)]


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("a\nb\n\n\n# c\nd\n", ["a\nb\n", "# c\n", "d\n"]),
        ("a\n|b|\n|c|\n\nd", ["a\n", "|b|\n", "|c|\n", "d"]),
        ("= a\nb\n===\nc\n", ["= a\nb\n===\n", "c\n"]),  # a heading, whatever it begins with
        ("a\n2. b\n1. c\n2. d\n", ["a\n2. b\n", " c\n", " d\n"]),  # only 1 ends a paragraph
        ("- a\n\n\n2) b\nc\n", [" a\n", " b\nc\n"]),
        ("> a\n\nb\n- > c\n\n  d\n", [" a\n", "b\n", " c\n", "  d\n"]),
        ("-a\n+\n1a\n- \x0bb\n", ["-a\n+\n1a\n- \x0bb\n"]),  # no items, or items of nothing
        ("~~~~\n# a\n~~~\n~~~~~\nb", ["b"]),
    ],
)
def test_prose_is_in_blocks(text: str, prose: list[str]) -> None:
    assert [text[span.start : span.end] for span in prose_spans(text)] == prose


@pytest.mark.parametrize(
    ("words", "title"), [(" One ##\n", "One"), ("C#", "C#"), ("One #two", "One #two"), (" ##", "")]
)
def test_signs_that_close_a_heading_are_no_part_of_it(words: str, title: str) -> None:
    assert closed_title(words) == title


LINES = st.lists(
    st.tuples(
        st.sampled_from(["", "", " ", "   ", "    ", "> ", ">", "- ", "1. ", "  ", "\t"]),
        st.sampled_from(["", "", "- ", "> ", "  "]),
        st.sampled_from(["", "a", "```", "````", "~~~", "``` x", "``` `", "~~~ `", "---"]),
    ).map("".join),
    max_size=9,
).map(lambda each: "\n".join([*each, ""]))  # fmt: skip


@given(LINES)
@example("- a\n\n  ```\n b\n")
@example("> a\n```\n")
@example("- \n\n  ```\n```\n")
def test_another_reader_of_markdown_finds_the_same_code(text: str) -> None:
    # In a quote, markdown-it takes a mark behind four blanks for one more line of the quote, where
    # CommonMark has indented code.
    assume(not re.search(r"[ \t]{4}>|\t>", text))
    # In a list item of five columns, it ends the paragraph at a mark behind four blanks, where
    # CommonMark continues it.
    assume(not re.search(r"^(?: {3}- |1\. {3}).*^(?: {4}|\t)[-`~]", text, re.MULTILINE | re.DOTALL))
    tokens = MarkdownIt("commonmark").parse(text)
    theirs = [t.map for t in tokens if t.type == "fence" and t.map]

    ours = [[text.count("\n", 0, f.start), text.count("\n", 0, f.end)] for f in fences(text)]

    assert [at for at, _ in ours] == [at for at, _ in theirs]
    whole = text.split("\n")
    for (_, mine), (_, other) in zip(ours, theirs, strict=True):
        # A blank line at the end of an open fence is in it, or is not, by taste.
        assert not "".join(whole[min(mine, other) : max(mine, other)]).strip("> \t`~")


@given(LINES)
def test_a_line_is_prose_or_code_or_neither_and_none_is_left_out(text: str) -> None:
    found = list(fenced_lines(text))

    assert "".join(text[each.start : each.end] for each in found) == text
    assert not any(each.prose and each.code for each in found)
    assert {each.fence for each in found if each.code} == {f.start for f in fences(text)}


def test_a_tab_after_the_mark_of_a_list_is_as_wide_as_it_reaches() -> None:
    (fence,) = fences("-\t```\n\tcode\n\t```\nafter")
    assert (fence.inner, fence.close) == (6, 12)
