"""Edits of a part of a fact's content."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.errors import EditTargetError, UsageError
from vaultsync.facts.content_edits import content_edit, sections

NOTE = (
    "Intro.\n\n# Tea\n\nGreen.\n\n## Black\n\n- Assam\n\n```\n# Coffee\n```\n\n# Coffee #\n\nBrown."
)


@pytest.mark.parametrize(
    ("content", "text", "result"),
    [
        ("", "New.", "New."),
        ("Old.\n", "New.", "Old.\n\nNew."),
        (" \n", "New.", "New."),
        ("Two blanks  \n", "New.", "Two blanks  \n\nNew."),
        ("- a", "- b", "- a\n- b"),
        ("- a  ", "- b", "- a  \n- b"),
        ("1. a", "2. b", "1. a\n2. b"),
        ("- a", "Words.", "- a\n\nWords."),
        ("Words.", "- a", "Words.\n\n- a"),
        ("Words.\n", " \n ", "Words.\n"),
    ],
)
def test_a_text_is_appended_as_paragraph_or_next_item(content: str, text: str, result: str) -> None:
    assert content_edit(append=text)(content) == result


@pytest.mark.parametrize(
    ("title", "text", "result"),
    [
        ("Tea", "White.", "Intro.\n\n# Tea\n\nWhite.\n\n# Coffee #\n\nBrown."),
        ("# Coffee", "Grey.\n", NOTE.replace("Brown.", "Grey.")),
        ("Black", "", NOTE.replace("\n\n- Assam\n\n```\n# Coffee\n```", "")),
    ],
)
def test_a_section_ends_at_a_heading_of_its_level(title: str, text: str, result: str) -> None:
    assert content_edit(section=title, replace=text)(NOTE) == result


def test_a_section_that_is_not_there_once_is_refused_with_the_headings() -> None:
    with pytest.raises(EditTargetError, match="does not contain it") as missing:
        content_edit(section="Milk", replace="")(NOTE)
    assert missing.value.hint == "its sections are Tea, Black, Coffee"
    with pytest.raises(EditTargetError, match="contains it 2 times"):
        content_edit(section="Tea", replace="")("# Tea\n\n# Tea\n")
    with pytest.raises(EditTargetError) as none:
        content_edit(section="Tea", replace="")("Tea")
    assert none.value.hint == "it has no sections: use append or find"


def test_a_text_is_replaced_where_it_occurs_once() -> None:
    assert content_edit(find="Green", replace="White")(NOTE) == NOTE.replace("Green", "White")
    for text, count in (("Milk", 0), ("Coffee", 2), ("", 0)):
        with pytest.raises(EditTargetError) as caught:
            content_edit(find=text, replace="x")(NOTE)
        assert caught.value.count == count


@pytest.mark.parametrize(
    "given",
    [{}, {"replace": "a"}, {"append": "a", "find": "b", "replace": "c"}, {"section": "a"}],
    ids=str,
)
def test_one_edit_at_a_time(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        content_edit(**given)


def test_an_underlined_heading_is_a_heading_too() -> None:
    note = "# Tea\n\nGreen.\n\nCoffee\n===\n\nBrown.\n\nMilk\n---\n\nWhite."

    assert content_edit(section="Tea", replace="Black.")(note) == note.replace("Green", "Black")
    assert content_edit(section="Milk", replace="Oat.")(note) == note.replace("White", "Oat")
    assert [(each.title, each.level) for each in sections(note)] == [
        ("Tea", 1),
        ("Coffee", 1),
        ("Milk", 2),
    ]


def test_a_heading_in_a_list_is_no_section() -> None:
    note = "# Tea\n\n- # Green\n- > # Black\n\n# Coffee\n\nBrown."

    assert content_edit(section="Tea", replace="None.")(note) == (
        "# Tea\n\nNone.\n\n# Coffee\n\nBrown."
    )
    assert [each.title for each in sections(note)] == ["Tea", "Coffee"]


PATHS = "# Linux\n\n## Install\n\n### apt\n\na\n\n# Mac\n\n## Install\n\nb\n\n## A > B\n\nc"


@pytest.mark.parametrize(
    ("path", "old"),
    [
        ("Mac > Install", "b"),
        ("# Mac > ## Install", "b"),
        ("Linux > Install > apt", "a"),
        ("Linux > apt", "a"),
        ("A > B", "c"),
        ("Mac > A > B", "c"),
    ],
)
def test_a_section_is_named_by_the_headings_above_it(path: str, old: str) -> None:
    assert content_edit(section=path, replace="new")(PATHS) == PATHS.replace(
        f"\n\n{old}", "\n\nnew"
    )


def test_two_sections_of_one_name_are_told_apart_by_their_paths() -> None:
    with pytest.raises(EditTargetError, match="contains it 2 times") as caught:
        content_edit(section="Install", replace="x")(PATHS)
    assert caught.value.hint == (
        "its sections are Linux, Linux > Install, Linux > Install > apt, Mac, Mac > Install,"
        " Mac > A > B"
    )


def test_a_text_may_be_replaced_as_often_as_it_is_counted() -> None:
    assert content_edit(find="Coffee", replace="Cocoa", count=2)(NOTE) == NOTE.replace(
        "Coffee", "Cocoa"
    )
    with pytest.raises(EditTargetError, match="contains it 2 times") as caught:
        content_edit(find="Coffee", replace="Cocoa", count=3)(NOTE)
    assert caught.value.count == 2
    for bad in (0, -1):
        with pytest.raises(UsageError):
            content_edit(find="Coffee", replace="Cocoa", count=bad)


@pytest.mark.parametrize("text", ["```\nopen", "<!-- open", "# Higher", "High\n==="])
def test_a_text_that_would_change_what_follows_the_section_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="sections around it") as caught:
        content_edit(section="Black", replace=text)(NOTE)
    assert caught.value.hint is not None
    assert content_edit(section="Coffee", replace="```\nlast")(NOTE).endswith("```\nlast")


def test_a_text_that_would_make_a_comment_of_headings_is_not_appended() -> None:
    with pytest.raises(UsageError, match="sections around it"):
        content_edit(append="%%")("%%\n# A")


PIECES = (
    *("# A", "## B", "### C", "A", "===", "---", "text", "```", "````", "~~~", "> # Q", "- # L"),
    *("- item", "  more", "1. one", "    code", "%%", "$$", "<!--", "-->", "| a | b |", "", ""),
)
CONTENTS = st.lists(st.sampled_from(PIECES), max_size=14).map("\n".join)


def shown(content: str) -> list[tuple[int, str, str]]:
    """The headings of a content by the body parser, each with the text up to the next one."""
    found = sections(content)
    ends = [*(each.heading for each in found), len(content)][1:]
    return [
        (each.level, each.title, content[each.start : end].strip("\n"))
        for each, end in zip(found, ends, strict=True)
    ]


@given(CONTENTS, CONTENTS, st.data())
def test_an_edit_of_a_section_changes_that_section_alone_or_is_refused(
    content: str, text: str, data: st.DataObject
) -> None:
    found = sections(content)
    if not found:
        return
    number = data.draw(st.integers(0, len(found) - 1))
    inside = [
        n for n, each in enumerate(found) if found[number].start <= each.heading < found[number].end
    ]
    before = shown(content)
    try:
        edited = content_edit(section=" > ".join(found[number].path), replace=text)(content)
    except (EditTargetError, UsageError):
        return

    after = shown(edited)
    rest = before[number + 1 + len(inside) :]
    assert edited.startswith(content[: found[number].start].rstrip("\n"))
    assert (after[:number], after[number][:2]) == (before[:number], before[number][:2])
    assert after[len(after) - len(rest) :] == rest
    own = sections(edited)[number]
    assert edited[own.start : own.end].strip("\n") == text.strip("\n")


@given(CONTENTS, CONTENTS)
def test_an_appended_text_changes_no_section_but_the_last(content: str, text: str) -> None:
    before = shown(content)
    try:
        after = shown(content_edit(append=text)(content))
    except UsageError:
        return

    assert [each[:2] for each in after[: len(before)]] == [each[:2] for each in before]
    assert after[: len(before) - 1] == before[:-1] or not before


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        ({"find": "Green.\r\n\r\nBrown.", "replace": "Mate.\r\nOld."}, "# Tea\n\nMate.\nOld."),
        ({"section": "Tea\r\n", "replace": "A\r\nB"}, "# Tea\n\nA\nB"),
        ({"append": "A\r\nB"}, "# Tea\n\nGreen.\n\nBrown.\n\nA\nB"),
    ],
)
def test_the_line_ends_of_a_host_do_not_matter(edit: dict[str, Any], result: str) -> None:
    assert content_edit(**edit)("# Tea\n\nGreen.\n\nBrown.") == result
