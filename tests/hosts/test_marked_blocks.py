"""A block in a file of another program is added and removed, and leaves no trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.hosts.marked_blocks import MARKDOWN, TOML, find_block, remove_block, write_block

_lines = st.lists(st.text("ab #<-é", max_size=6), max_size=5)


@given(st.none() | _lines.map("\n".join) | _lines.map("\r\n".join))
def test_a_block_leaves_no_trace(text: str | None) -> None:
    for each in (MARKDOWN, TOML):
        after = write_block(text, each, "one\ntwo\n")
        assert find_block(after, each)
        assert write_block(after, each, "one\ntwo") == after
        assert remove_block(after, each) == text
        assert remove_block(write_block(after, each, "three"), each) == text


def test_what_is_written_around_a_block_stays() -> None:
    after = write_block("# Mine\n", MARKDOWN, "ours")
    edited = after.replace("# Mine", "# Still mine") + "\nbelow\n"
    assert remove_block(edited, MARKDOWN) == "# Still mine\n\nbelow\n"
    assert "below" in write_block(edited, MARKDOWN, "new")


def test_what_stands_behind_a_lone_mark_stays() -> None:
    text = f"{MARKDOWN.begin}\nold\n\nMine.\n"
    once = write_block(text, MARKDOWN, "one")
    assert write_block(once, MARKDOWN, "two") == once.replace("one", "two")
    assert remove_block(once, MARKDOWN) == text


def test_half_a_block_is_text_of_the_file() -> None:
    assert not find_block(MARKDOWN.begin, MARKDOWN)
    assert remove_block(f"see {MARKDOWN.begin}\n{MARKDOWN.end}", MARKDOWN) is not None
    assert not find_block(f"see {MARKDOWN.begin}\n{MARKDOWN.end}", MARKDOWN)
