"""The parts of a body, and edits that replace one part and no other byte."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.markdown.diff3 import MAX_EDITS
from vaultsync.notes.body import (
    BLOCK_END,
    BLOCK_START,
    ENTITIES_HEADING,
    RELATED_HEADING,
    NoteBody,
    normalize_text,
    read_body,
    render_block,
    render_body,
    set_content,
    set_context,
    set_links,
    set_title,
)

_PIECES = st.sampled_from(
    [
        *("\n", "\r\n", "\r", "\u2028", "  ", "\t", "words", "🙂", "# Title", "#", "## Sub", "==="),
        *("> **Context:** c", "> **Context:**", BLOCK_START, BLOCK_END, "```", "~~~~", "---"),
        *("## Related Facts", "## Entities", "## Provenance", "Written by a person."),
        *("- [[Bob]]", "- [[a|b]] and more"),
    ]
)
bodies = st.lists(_PIECES, max_size=14).map("".join)
lined = st.lists(_PIECES, max_size=10).map("\n".join)
contents = st.lists(
    st.sampled_from(["words", "", "  x", "# h", "- [[Bob]]", "```", "> q"]), max_size=6
).map(lambda many: "\n".join(many).strip("\n"))
BLOCK = render_block(related=["[[a]]"], entities=["[[Bob]]"], origin="Written by a person.")


@given(bodies | lined)
def test_any_text_is_a_body_and_its_parts_lie_in_order(text: str) -> None:
    body = read_body(text)
    assert body.text == text
    spans = [x for x in (body.heading, body.context, body.content, body.block) if x]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)


@given(bodies | lined)
def test_every_word_of_a_body_is_in_one_of_its_parts(text: str) -> None:
    body = read_body(text)
    said = [body.title, body.context_text, body.content_text, *body.related, *body.entities]
    for word in ("words", "🙂"):
        assert word not in text or any(word in (each or "") for each in said)


@given(st.text(max_size=40) | bodies, contents)
def test_the_content_that_was_set_is_the_content(text: str, content: str) -> None:
    body = read_body(text)
    made = set_content(body, content, "\n", title="T")
    # A content that would be read as something else is refused by the proof of
    # `rewrite()`; here it has only to be plain enough.
    if BLOCK_START in text or "```" in content:
        return
    assert made.content_text == content or made.text == text or body.content[0] == 0


@given(lined)
@example(f"> **Context:**\n{BLOCK_START}")
def test_setting_the_same_content_changes_nothing(text: str) -> None:
    body = read_body(text)
    if body.strays or body.content_text != normalize_text(text[slice(*body.content)]):
        return
    assert set_content(body, body.content_text, "\n").text == text


@given(
    st.sampled_from(["T", "A title"]),
    st.none() | st.just("at lunch"),
    contents.filter(lambda x: "```" not in x) | st.just("> **Context:** not one"),
)
def test_what_is_rendered_is_read(title: str, context: str | None, text: str) -> None:
    body = read_body(render_body(title=title, context=context, content=text, block=BLOCK))
    assert (body.title, body.context_text, body.content_text) == (title, context, text)
    assert (body.related, body.entities, body.strays) == (("a",), ("Bob",), ())


def test_mixed_line_ends_stay_where_they_are() -> None:
    made = set_content(read_body("one\r\ntwo\nthree\r\n"), "one\ntwo\n3", "\n")
    assert made.text == "one\r\ntwo\n3\r\n"
    longer = set_content(read_body("one\ntwo\r\nthree"), "0\none\ntwo\nthree\nfour", "\r\n")
    assert longer.text == "0\r\none\ntwo\r\nthree\r\nfour"
    rest = "\n".join(f"{number}" for number in range(MAX_EDITS))
    rewritten = set_content(read_body(f"one\r\n{rest}\nlast\r\n"), "one\nnew\nlast", "\n")
    assert rewritten.text == "one\r\nnew\nlast\r\n"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        ("", "new", "new\n"),
        ("# T", "new", "# T\n\nnew"),
        ("# T\n", "new", "# T\n\nnew"),
        ("# T\n\nold\n", "", "# T\n\n\n"),
        ("old", "", ""),
        ("\n\nold\n\n\n", "new", "\n\nnew\n\n\n"),
        (f"old\n\n{BLOCK}\n", "new", f"new\n\n{BLOCK}\n"),
        (f"# T\n\nold\n\n{BLOCK}\n", "", f"# T\n\n{BLOCK}\n"),
        (f"# T\n\n{BLOCK}\n", "new", f"# T\n\nnew\n\n{BLOCK}\n"),
        (f"{BLOCK}\n", "new", f"new\n\n{BLOCK}\n"),
    ],
)
def test_contents_come_and_go(before: str, content: str, after: str) -> None:
    made = set_content(read_body(before), content, "\n")
    assert (made.content_text, made.text) == (content, after)


def test_strays_move_into_the_content() -> None:
    block = BLOCK.replace("## Provenance", "a stray\n\n## Provenance")
    body = read_body(f"words\n\n{block}\nbelow\n")
    assert body.content_text == "words\n\na stray\n\nbelow"
    made = set_content(body, body.content_text + "\n\nmore", "\n")
    assert (made.content_text, made.strays) == ("words\n\na stray\n\nbelow\n\nmore", ())
    assert (made.entities, made.related) == (("Bob",), ("a",))


@pytest.mark.parametrize(
    ("block", "content"),
    [
        # Words beside a link are kept, and the link counts.
        (BLOCK.replace("- [[Bob]]", "- [[Bob]] is the boss"), "- [[Bob]] is the boss"),
        # Links in code, or below a heading of the user's, are none of the note's.
        (
            BLOCK.replace("[[Bob]]", "[[Bob]]\n\n```\n- [[X]]\n\n\n## Provenance\n```"),
            "```\n- [[X]]\n\n\n## Provenance\n```",
        ),
        (BLOCK.replace("[[Bob]]", "[[Bob]]\n## Mine\n- [[X]]"), "## Mine\n- [[X]]"),
        (BLOCK.replace("-->\n", "--> mine\n", 1), " mine"),
        # A block that is never closed reaches to the end.
        (f"{BLOCK_START}\n## Entities\n- [[Bob]]\nmore", "more"),
    ],
)
def test_what_is_not_ours_in_a_block_is_content(block: str, content: str) -> None:
    body = read_body(f"words\n\n{block}\n")
    assert (body.entities, body.content_text) == (("Bob",), f"words\n\n{content}")
    moved = set_content(body, f"{body.content_text}\n\nmore", "\n")
    assert (moved.entities, moved.related, moved.strays) == (body.entities, body.related, ())
    assert moved.content_text == f"words\n\n{content}\n\nmore"


@pytest.mark.parametrize(
    "block",
    [
        BLOCK.replace("[[Bob]]", f"[[Bob]]\n- [[A {BLOCK_END} B]]"),
        BLOCK.replace(BLOCK_END, f"  {BLOCK_END}"),
        BLOCK.replace(f"\n{BLOCK_END}", f" {BLOCK_END}"),
        BLOCK.removesuffix(BLOCK_END),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_a_block_ends_at_a_marker_that_begins_a_line_if_any_does(block: str, eol: str) -> None:
    body = read_body(f"words\n\n{block}\n".replace("\n", eol))
    assert (body.content_text, body.related, body.entities[0]) == ("words", ("a",), "Bob")


def test_only_the_last_block_is_managed_and_none_in_code() -> None:
    body = read_body(f"one\n{BLOCK}\ntwo\n{BLOCK}\n")
    assert BLOCK_START in body.content_text
    assert body.content_text.startswith("one")
    assert read_body(f"words {BLOCK_START}\n").block is None
    quoted = read_body(f"one\n{BLOCK}\n```\n{BLOCK_START}\n```\n")
    assert quoted.block is not None
    assert quoted.strays == (f"```\n{BLOCK_START}\n```",)


@pytest.mark.parametrize(
    ("above", "found"),
    [
        ("```\n", False),
        ("```\ncode\n```\n", True),
        ("````\n```\n", False),
        ("```\ncode\n``` js\n", False),  # what says more is no end
        ("```\ncode\n    ```\n", False),
        ("``` a`b\n", True),  # inline code
        ("- x\n  ```\n  code\n", True),  # the item ends, and its code
        ("<!--\n```\n-->\n", True),
        ("~~~\n```\n~~~\n", True),
    ],
)
def test_a_block_is_in_code_where_commonmark_says_so(above: str, *, found: bool) -> None:
    mark = "````" if above.startswith("````") else "```"
    below = "" if found else f"{mark}\n"
    assert (read_body(f"{above}{BLOCK}\n{below}").block is not None) is found
    # Code that nothing closes does not hide it.
    assert read_body(f"{above}{BLOCK}\n").block is not None


@pytest.mark.parametrize(
    ("before", "context", "after"),
    [
        ("# T\n\nwords\n", "c", "# T\n\n> **Context:** c\n\nwords\n"),
        ("# T\nwords\n", "c", "# T\n\n> **Context:** c\nwords\n"),
        ("# T", "c", "# T\n\n> **Context:** c\n\n"),
        ("words\n", "c", "> **Context:** c\n\nwords\n"),
        ("# T\n\n> **Context:** b\n\nwords\n", "c", "# T\n\n> **Context:** c\n\nwords\n"),
        ("# T\n\n> **Context:** b\n\nwords\n", None, "# T\n\nwords\n"),
        ("# T\n\nwords\n", None, "# T\n\nwords\n"),
        (
            "# T\n\n> **Context:** b\n\n> **Context:** words\n",
            None,
            "# T\n\n> **Context:**\n\n> **Context:** words\n",
        ),
        ("> **Context:** b\n\n# words\n", None, "> **Context:**\n\n# words\n"),
    ],
)
def test_context_lines_come_change_and_go(before: str, context: str | None, after: str) -> None:
    body = read_body(before)
    made = set_context(body, context, "\n")
    assert (made.text, made.context_text) == (after, context)
    assert (made.content_text, made.title) == (body.content_text, body.title)


@pytest.mark.parametrize(
    ("before", "title", "after"),
    [
        ("# Old  \n\nwords\n", "Old", "# New  \n\nwords\n"),
        ("Old\n===\n\nwords\n", "Old", "New\n===\n\nwords\n"),
        ("\nOld *one*  \r\n  =  \r\nwords", "Old *one*", "\nNew  \r\n  =  \r\nwords"),
        ("[[Old]] #x\n=====", "[[Old]] #x", "New\n====="),
        ("Old\n===\n> **Context:** c\n\nwords", "Old", "New\n===\n> **Context:** c\n\nwords"),
    ],
)
def test_a_title_changes_alone_and_may_be_underlined(before: str, title: str, after: str) -> None:
    body = read_body(before)
    assert body.title == title
    assert body.content_text in ("words", "")
    made = set_title(body, "New")
    assert (made.text, made.title) == (after, "New")
    assert (made.content_text, made.context_text) == (body.content_text, body.context_text)


@pytest.mark.parametrize(
    "first",
    [
        *("- Old", "* Old", "+ Old", "1. Old", "12) Old", "> Old", "    Old", "| a | b |"),
        *("```", "~~~", "---", "***", "_ _ _", "===", "<b>", "[a]: b", "#", "## Old"),
        *("Two\nlines", "$$", "%%"),
    ],
)
def test_what_is_no_paragraph_of_one_line_is_no_title(first: str) -> None:
    text = f"{first}\n===\n\nwords\n"
    body = read_body(text)
    assert body.title is None
    assert body.content_text == text.strip("\n")


@pytest.mark.parametrize("text", ["Old\n---\n", "Old\n\n===\n", "Old\n=== x\n", "Old\n= =\n"])
def test_another_underline_makes_no_title(text: str) -> None:
    assert read_body(text).title is None


def linked(body: NoteBody, *add: str, remove: Sequence[str] = ()) -> NoteBody:
    return set_links(body, ENTITIES_HEADING, add=add, remove=remove, eol="\n")


def test_links_are_added_and_taken_out_line_by_line() -> None:
    body = read_body(f"words\n\n{BLOCK}\n")
    more = linked(body, "[[Eve|E]]")
    assert more.entities == ("Bob", "Eve")
    assert more.text.replace("- [[Eve|E]]\n", "") == body.text
    less = linked(more, remove=["Bob"])
    assert less.entities == ("Eve",)
    none = linked(less, remove=["Eve"])
    assert none.entities == ()
    assert "## Entities" not in none.text
    assert linked(none, "[[Bob]]").text == body.text


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_links_are_edited_beside_an_end_marker_that_was_joined_to_one(eol: str) -> None:
    block = BLOCK.partition("\n\n## Provenance")[0]
    body = read_body(f"words\n\n{block} {BLOCK_END}\nbelow".replace("\n", eol))
    more = set_links(body, ENTITIES_HEADING, add=["[[Eve]]"], remove=["Bob"], eol=eol)
    assert (more.entities, more.strays) == (("Eve",), ("below",))
    assert f"{eol}- [[Eve]]{eol}{BLOCK_END}{eol}" in more.text
    more = set_links(more, ENTITIES_HEADING, add=["[[Bob]]"], remove=[], eol=eol)
    less = set_content(more, "new", eol)
    assert (less.entities, less.content_text) == (("Eve", "Bob"), "new")
    assert linked(body, "[[Eve]]").entities == ("Bob", "Eve")


def test_words_beside_a_link_stay_when_it_is_taken_out() -> None:
    body = read_body(f"words\n\n{BLOCK.replace('[[Bob]]', '[[Bob]] and [[Eve]]')}\n")
    less = linked(body, "[[Al]]", remove=["Bob"])
    assert (less.entities, less.content_text) == (("Al",), "words\n\n- [[Bob]] and [[Eve]]")


def test_a_section_goes_with_its_last_link_but_not_what_the_user_wrote_below_it() -> None:
    joined = read_body(f"{BLOCK.partition(' Provenance')[0]}{BLOCK_END}\n")
    assert linked(joined, remove=["Bob"]).entities == ()
    block = BLOCK.replace("- [[Bob]]", "mine\n- [[Bob]]\n```\n## Entities\n```")
    less = linked(read_body(block), remove=["Bob"])
    assert less.content_text == "mine\n```\n## Entities\n```"
    assert less.text.count("## Entities") == 2


def test_new_sections_stand_in_their_order() -> None:
    block = render_block(related=[], entities=[], origin="Written by a person.")
    one = linked(read_body(f"words\n\n{block}\n"), "[[Bob]]")
    two = set_links(one, RELATED_HEADING, add=["[[a]]"], remove=[], eol="\n")
    assert two.text == f"words\n\n{BLOCK}\n"


def test_a_block_without_any_section_takes_links_and_a_body_without_a_block_none() -> None:
    made = linked(read_body(f"words\n\n{BLOCK_START}\n{BLOCK_END}\n"), "[[Bob]]")
    assert (made.entities, made.content_text) == (("Bob",), "words")
    bare = read_body("words\n")
    assert linked(bare, "[[Bob]]") is bare
