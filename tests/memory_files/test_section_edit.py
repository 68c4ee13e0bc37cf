"""What an agent adds stands in its own section, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory_files.test_sections import TEXTS
from vaultsync.errors import InvalidFieldError, UsageError
from vaultsync.memory_files.section_edit import insert_section
from vaultsync.memory_files.sections import MANAGED_MARKER, frontmatter_end, normalize, read_outline

TEXT = "Ask the harbour master before the database."
OWN = f"## Lessons\n{MANAGED_MARKER}\n\nFirst of all: {TEXT}\n"
PERSON = "# M\n\n## Lessons\n\nWhat a person wrote by hand.\n"


def put(text: str, words: str = TEXT, *, replace: bool = False) -> str:
    return insert_section(text, "Lessons", words, replace_all=replace)


def test_a_new_section_stands_at_the_end_and_is_marked() -> None:
    assert put("# M\n\nWords.") == f"# M\n\nWords.\n\n## Lessons\n{MANAGED_MARKER}\n\n{TEXT}\n"
    assert put("") == f"## Lessons\n{MANAGED_MARKER}\n\n{TEXT}\n"


def test_a_persons_section_of_the_same_name_stays_as_it_is() -> None:
    made = put(PERSON)
    assert made.startswith(PERSON)
    assert put(made, "And another thing, later.").count("## Lessons") == 2


def test_text_is_added_to_an_agents_section_or_replaces_it() -> None:
    text = f"{OWN}\n## Other\n\nWords of a person.\n"
    first = f"First of all: {TEXT}"
    later = "Then ask her again, and once more."
    assert put(text, later) == text.replace(first, f"{first}\n\n{later}")
    assert put(text, later, replace=True) == text.replace(first, later)


def test_what_is_there_is_not_added_again() -> None:
    listed = OWN.replace("First of all: ", "First of all:\n\n- Look.\n")
    assert put(listed) == listed
    assert put(OWN.replace("First of all: ", "Do not ever: ")).endswith(f"\n\n{TEXT}\n")
    made = put(OWN, "Another thing, which is new.")
    assert put(made, "Another thing, which is new.") == made
    whole = put(OWN, TEXT, replace=True)
    assert put(whole, TEXT, replace=True) == whole


def test_an_empty_section_of_an_agent_is_filled() -> None:
    assert put(f"## Lessons\n{MANAGED_MARKER}\n") == f"## Lessons\n{MANAGED_MARKER}\n{TEXT}\n"


def test_line_ends_are_those_of_the_file() -> None:
    text = PERSON.replace("\n", "\r\n")
    made = put(text, f"{TEXT}\nSecond line.")
    assert made.startswith(text)
    assert made.count("\n") == made.count("\r\n")


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Lessons", f"{TEXT}\n\n## Another heading"),
        ("Lessons", f"```\n{TEXT}"),
        ("Lessons", f"<!--\n{TEXT}"),
        ("Lessons", "short"),
        ("Lessons", f"{TEXT}\n\n<!-- vaultsync:memory:begin -->\n\n{TEXT}"),
        ("Lessons", f"<!-- vaultsync:memory:end -->\n{TEXT}"),
        *((heading, TEXT) for heading in ("", "##", "two\nlines")),
    ],
)
def test_text_or_a_heading_that_is_no_section_is_refused(heading: str, words: str) -> None:
    text = f"{OWN}\n## Other\n\nWords of a person.\n"
    with pytest.raises(InvalidFieldError):
        insert_section(text, heading, words, replace_all=False)


@pytest.mark.parametrize("end", ["```\ncode", "<!-- a comment"])
def test_a_file_that_ends_within_code_takes_no_section_and_is_named_as_the_reason(end: str) -> None:
    with pytest.raises(UsageError, match="ends in unclosed code") as error:
        put(f"# M\n\n{end}")
    assert not isinstance(error.value, InvalidFieldError)


@given(TEXTS, st.booleans(), st.sampled_from([TEXT, f"- {TEXT}\n\n### Deep\n\nx"]))
def test_nothing_but_the_agents_section_changes(text: str, replace: bool, words: str) -> None:
    try:
        made = put(text, words, replace=replace)
    except UsageError:
        return
    before = read_outline(text, name="", start=frontmatter_end(text))
    after = read_outline(made, name="", start=frontmatter_end(made))
    (own,) = [each for each in after.blocks if each.heading == "Lessons"]
    assert normalize(words) in normalize(made[own.body : own.end])
    persons = [each.hash for each in before.sections if each.heading != "Lessons"]
    assert [e.hash for e in after.sections if e.heading != "Lessons"] == persons
    assert made.replace(made[own.start : own.end], "").strip() == text.strip()
