"""Edits of a part of a fact's content."""

from __future__ import annotations

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
        ("- a", "- b", "- a\n- b"),
        ("1. a", "2. b", "1. a\n2. b"),
        ("- a", "Words.", "- a\n\nWords."),
        ("Words.", "- a", "Words.\n\n- a"),
    ],
)
def test_a_text_is_appended_as_a_paragraph_or_as_the_next_item(
    content: str, text: str, result: str
) -> None:
    assert content_edit(append=text)(content) == result


@pytest.mark.parametrize(
    ("title", "text", "result"),
    [
        ("Tea", "White.", "Intro.\n\n# Tea\n\nWhite.\n\n# Coffee #\n\nBrown."),
        ("# Coffee", "Grey.\n", NOTE.replace("Brown.", "Grey.")),
        ("Black", "", NOTE.replace("\n\n- Assam\n\n```\n# Coffee\n```", "")),
    ],
)
def test_a_section_is_replaced_up_to_the_next_heading_of_its_level(
    title: str, text: str, result: str
) -> None:
    assert content_edit(section=title, replace=text)(NOTE) == result


def test_a_section_that_is_not_there_once_is_refused_with_the_headings() -> None:
    with pytest.raises(EditTargetError, match="does not have it") as missing:
        content_edit(section="Milk", replace="")(NOTE)
    assert missing.value.hint == "its sections are Tea, Black, Coffee"
    with pytest.raises(EditTargetError, match="has it 2 times"):
        content_edit(section="Tea", replace="")("# Tea\n\n# Tea\n")
    with pytest.raises(EditTargetError) as none:
        content_edit(section="Tea", replace="")("Tea")
    assert none.value.hint == "its sections are none: use append, or find"


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
def test_one_edit_at_a_time(given: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        content_edit(**given)


@given(st.lists(st.sampled_from(["# A", "## B", "text", "```", "> # Q", "- # L", ""])))
def test_replacing_a_section_by_its_own_text_keeps_the_words(lines: list[str]) -> None:
    content = "\n".join(lines)
    for each in sections(content):
        if [s.title for s in sections(content)].count(each.title) == 1:
            same = content_edit(section=each.title, replace=content[each.start : each.end])
            assert same(content).split() == content.split()
