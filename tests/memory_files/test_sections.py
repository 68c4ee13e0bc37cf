"""Memory files are split into sections."""

from __future__ import annotations

import re
import sys
import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import processor_seconds
from vaultsync.errors import MissingExtraError, UnreadableMemoryFileError
from vaultsync.memory_files.plan import guessed_type, hinted_type
from vaultsync.memory_files.sections import (
    MAX_SECTION_CHARS,
    MIN_SECTION_CHARS,
    MemoryOutline,
    MemorySection,
    frontmatter_end,
    hash_of,
    normalize,
    read_frontmatter,
    read_outline,
    section_id,
)

LONG = "A sentence that is long enough to be remembered."


def read(text: str) -> MemoryOutline:
    return read_outline(text, name="MEMORY", start=frontmatter_end(text))


def only(text: str) -> MemorySection:
    (section,) = read(text).sections
    return section


def test_headings_of_level_two_begin_sections_and_deeper_ones_lie_inside() -> None:
    text = f"# T\n\n## One\n\n{LONG}\n\n### Deep\n\nMore.\n\n## Two ##\n\n{LONG}\n"
    one, two = read(text).sections
    assert (one.heading, one.title, one.line) == ("One", "One", 3)
    assert one.content == f"{LONG}\n\n### Deep\n\nMore."
    assert two.heading == "Two"
    assert one.text == f"## One\n\n{one.content}"


@pytest.mark.parametrize(
    ("head", "content", "title"),
    [
        (f"# My memory\n\n{LONG}", LONG, "My memory"),
        (LONG, LONG, "MEMORY"),
        (f"Above. {LONG}\n\n# T\n\nBelow.", f"Above. {LONG}\n\n# T\n\nBelow.", "T"),
    ],
)
def test_the_title_belongs_to_the_file_and_names_the_preamble_unless_words_stand_above(
    head: str, content: str, title: str
) -> None:
    preamble = read(f"{head}\n\n## One\n\n{LONG}\n").sections[0]
    assert (preamble.heading, preamble.title) == (None, title)
    assert preamble.content == preamble.text == content


def test_a_heading_alone_is_a_memory_when_it_says_enough() -> None:
    text = "## Always use the slim image and never Alpine\n\n## Next\n"
    section = only(text)
    assert (section.content, section.title) == ("", section.heading)
    assert [each.heading for each in read(text).left_out] == ["Next"]


def test_a_file_without_such_headings_is_taken_by_paragraphs() -> None:
    first, second = read(f"# T\n\n{LONG}\n\n- {LONG}\n- Two.\n").sections
    assert (first.heading, first.title) == (None, LONG.rstrip("."))
    assert second.content == f"- {LONG}\n- Two."


def test_what_is_too_short_to_stand_alone_joins_the_next_paragraph() -> None:
    text = f"Short.\n\n### Head\n\n{LONG}\n\n{LONG}\n\nEnd.\n"
    first, second = read(text).sections
    assert first.content == f"Short.\n\n### Head\n\n{LONG}"
    assert second.content == f"{LONG}\n\nEnd."
    assert not read("Short.\n").sections


def test_a_section_of_an_agent_leaves_a_persons_paragraphs_apart() -> None:
    text = f"{LONG}\n\nSecond. {LONG}\n"
    with_agents = f"{text}\n## Lessons\n<!-- vaultsync-managed -->\n\n{LONG}\n"
    before = [each.hash for each in read(text).sections]
    after = read(with_agents).sections
    assert [each.hash for each in after[:2]] == before
    assert [each.managed for each in after] == [False, False, True]


@pytest.mark.parametrize("mark", ["vaultsync-managed", "cortex-managed"])
def test_marks_below_the_heading_are_about_the_section_and_no_part_of_it(mark: str) -> None:
    text = f"## One\n\n<!-- {mark} -->\n<!-- type: Decision -->\n\n{LONG}\n"
    section = only(text)
    assert (section.content, section.managed, section.type_hint) == (LONG, True, "Decision")
    assert section.hash == only(f"## One\n{LONG}").hash
    assert hinted_type(section) == "decision"


@pytest.mark.parametrize("lead", ["{}\n\n{}", "```\n{1}\n```\n\n{0}"])
def test_a_mark_further_down_or_in_code_is_content(lead: str) -> None:
    section = only("## One\n\n" + lead.format(LONG, "<!-- vaultsync-managed -->"))
    assert not section.managed
    assert "vaultsync-managed" in section.content


@pytest.mark.parametrize(
    ("open_", "inside", "close"),
    [
        ("```", "", "```"),
        ("~~~~", "", "~~~~"),
        ("- ```", "  ", "  ```"),
        ("> ~~~", "> ", "> ~~~"),
        ("<!--", "", "-->"),
    ],
)
def test_a_heading_in_code_or_a_comment_is_none(open_: str, inside: str, close: str) -> None:
    text = f"## One\n\n{LONG}\n\n{open_}\n{inside}## no heading\n{close}\n\n## Two\n\n{LONG}"
    assert [each.heading for each in read(text).sections] == ["One", "Two"]


def test_a_long_section_is_parted_where_paragraphs_end() -> None:
    paragraphs = [f"{number}. {LONG * 20}" for number in range(9)]
    text = "## One\n\n" + "\n\n".join(paragraphs)
    parts = read(text).sections
    assert len(parts) == 3
    assert [each.title for each in parts] == ["One", "One (2)", "One (3)"]
    assert all(each.text.startswith("## One\n\n") for each in parts)
    assert all(len(each.text) <= MAX_SECTION_CHARS for each in parts)
    assert "\n\n".join(each.content for each in parts) == "\n\n".join(paragraphs)


def test_code_and_paragraphs_are_never_parted() -> None:
    code = "```python\n" + "\n\n".join([LONG * 10] * 20) + "\n```"
    parts = read(f"## One\n\n{LONG}\n\n{code}\n\n{LONG * 200}\n").sections
    assert [each.content for each in parts] == [LONG, code, LONG * 200]


def test_frontmatter_is_no_content() -> None:
    text = f"---\ntags: [a]\n---\n\n## One\n\n{LONG}\n"
    assert only(text).line == 5
    assert frontmatter_end(f"---\n{LONG}\n") == 0


def test_sections_may_be_empty_and_files_too() -> None:
    assert not read("").sections
    assert not read("# T\n").sections
    assert not read("## One\n\n## Two\n").sections
    assert not read("## One\n<!-- type: note -->\n").sections


def test_the_ids_are_uuid5_and_tell_equal_sections_apart() -> None:
    ids = [section_id("indy", "memory-file:x", "ab", n) for n in range(2)]
    assert [uuid.UUID(each).version for each in ids] == [5, 5]
    namespace = uuid.UUID("6f1c8be2-b6f4-5d0c-9a3e-2f6f0d1c7a55")
    assert ids[0] == str(uuid.uuid5(namespace, "indy:memory-file:x:ab:0"))
    assert len({*ids, section_id(None, "memory-file:x", "ab", 0)}) == 3


@pytest.mark.parametrize(
    ("heading", "text", "expected"),
    [
        ("Code style", "x", "preference"),
        ("Our stack", "x", "note"),
        ("Rationale", "x", "decision"),
        ("Mistakes", "x", "correction"),
        ("Todo", "x", "task"),
        ("People", "Mara prefers tea.", "preference"),
        ("People", "The deadline is in May.", "note"),
        ("People", "A trade-off was made.", "decision"),
        ("People", "It was actually Bente.", "correction"),
        ("People", "Mara keeps the books.", "fact"),
        (None, "Mara keeps the books.", "fact"),
    ],
)
def test_the_type_is_guessed_from_the_words(heading: str | None, text: str, expected: str) -> None:
    section = MemorySection(heading, text, text, "T", 0, 0, 1)
    assert guessed_type(section) == expected
    assert hinted_type(section) is None
    assert hinted_type(MemorySection(None, "", "", "T", 0, 0, 1, type_hint="poem")) is None


# --- properties ----------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "# Title",
        "## One",
        "## Two ##",
        "### Deep",
        "",
        "words of a paragraph that is long enough",
        "short",
        "- item of a list",
        "```",
        "~~~sh",
        "    indented",
        "<!-- type: note -->",
        "<!-- vaultsync-managed -->",
        "> quote",
        "---",
        "x" * 900,
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("\n".join)
MARK = re.compile(r"<!-- .* -->")


@given(TEXTS)
def test_sections_joined_cover_the_text(text: str) -> None:
    outline = read(text)
    found = sorted([*outline.sections, *outline.left_out], key=lambda each: each.start)
    contents = [line for each in found for line in each.content.split("\n") if line.strip()]
    lines = [line for line in text[frontmatter_end(text) :].split("\n") if line.strip()]
    rest = list(contents)
    for line in lines:
        if rest and rest[0].strip() == line.strip():
            del rest[0]
        else:  # not content: a heading of a section, the title, a marker
            assert line.startswith(("## ", "# ")) or MARK.fullmatch(line)
    assert not rest
    assert all(len(each.text) >= MIN_SECTION_CHARS for each in outline.sections)


@given(TEXTS)
def test_spans_follow_each_other_and_hold_the_content(text: str) -> None:
    at = 0
    outline = read(text)
    for each in sorted([*outline.sections, *outline.left_out], key=lambda s: s.start):
        assert at <= each.start <= each.end <= len(text)
        assert normalize(text[each.start : each.end]) == normalize(each.content)
        at = each.end


@given(st.lists(st.text("ab \n", max_size=300), max_size=6), st.integers(3, 5))
def test_fences_are_never_split(bodies: list[str], length: int) -> None:
    fence = "`" * length
    blocks = [f"{fence}\n{body}\n## no\n\n{'z' * 1500}\n{fence}" for body in bodies]
    text = "## One\n\n" + "\n\n".join([LONG, *blocks])
    for each in read(text).sections:
        assert each.heading == "One"
        assert each.content.count(fence) % 2 == 0
    assert sum(each.content.count(fence) for each in read(text).sections) == 2 * len(bodies)


@given(TEXTS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "  ", "\t"]))
def test_line_ends_and_last_blanks_change_no_hash(text: str, line_end: str, blanks: str) -> None:
    other = line_end.join(
        line if line[:3] in ("```", "~~~", "---") else line + blanks for line in text.split("\n")
    )
    before = [each.hash for each in read(text).sections]
    assert [each.hash for each in read(other).sections] == before


@given(st.text("ab\n\r \t", max_size=60))
def test_normalising_again_changes_nothing(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert hash_of(text) == hash_of(once)
    assert not re.search(r"\r|[ \t]$|\n{3}", once, re.MULTILINE)


# --- frontmatter ---------------------------------------------------------------------


def test_frontmatter_is_read_as_yaml_12() -> None:
    text = "---\nanswer: no\ntime: 08:30\nday: 2026-02-14\ntags: [a, b]\nmap: {a: 1}\n---\n"
    told = {"answer": "no", "time": "08:30", "day": "2026-02-14"}
    assert read_frontmatter(text, "m") == told | {"tags": ["a", "b"], "map": {"a": 1}}
    assert read_frontmatter("---\n---\n", "m") == {}
    assert read_frontmatter("---\njust words\n---\n", "m") is None


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}]\n" for old, new in pairwise("abcdefghijklmnopq")
)
"""A few hundred bytes that stand for some billion values."""


@pytest.mark.parametrize(
    ("inside", "why"),
    [
        ("a: 1\nb: &b {c: *b}", "an alias .* inside the list or map .* on line 3"),
        (LAUGHS, "more than 20 anchors and aliases"),
        ("a: " + "[" * 20_000, "more than 20 levels deep"),
        ("a: " + "x" * 70_000, "larger than 64 KiB"),
    ],
)
def test_frontmatter_is_refused_by_the_rules_of_notes(inside: str, why: str) -> None:
    refused = pytest.raises(UnreadableMemoryFileError, match=f"frontmatter cannot be read: .*{why}")
    with processor_seconds(20), refused:
        read_frontmatter(f"---\n{inside}\n---\n", "m")


def test_a_reader_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "frontmatter", None)
    with pytest.raises(MissingExtraError, match="python-frontmatter"):
        read_frontmatter("---\na: 1\n---\n", "m")
