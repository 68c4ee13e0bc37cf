from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.errors import UnreadableNoteError
from vaultsync.links.rewrite import (
    MovedFiles,
    Retarget,
    RetargetLink,
    link_target_text,
    rewrite_links,
    rewrite_note_links,
)
from vaultsync.links.wikilinks import Link, LinkResolver, find_links
from vaultsync.model.paths import VaultPath

PATH = "note.md"


def to(target: str, shown: str | None = None) -> RetargetLink:
    """Retargets every link to `Old`, however it is written."""
    return lambda link: Retarget(target, shown) if link.target.endswith(("Old", "Old.md")) else None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Old]]", "[[New one]]"),
        ("![[Old]]", "![[New one]]"),
        ("[[ Old |  x ]]", "[[ New one |  x ]]"),
        ("[[Old#A b|x]]", "[[New one#A b|x]]"),
        ("[[Old#^id]]", "[[New one#^id]]"),
        ("[[a/Old.md]]", "[[New one]]"),
        ("| [[Old\\|x]] |", "| [[New one\\|x]] |"),
        ("[[Old]] `[[Old]]` [[Older]] %%[[Old]]%%", "[[New one]] `[[Old]]` [[Older]] %%[[Old]]%%"),
        ("[x](Old.md)", "[x](New%20one)"),
        ("[x](Old\\#H)", "[x](New%20one\\#H)"),
        ("![x](<a/Old>)", "![x](<New one>)"),
        ('[x]( Old.md#A%20b "t" )', '[x]( New%20one#A%20b "t" )'),
        ("[x [y] `]`](Old)", "[x [y] `]`](New%20one)"),
        ("[![[Old]]](Old)", "[![[New one]]](New%20one)"),
        ("[![i](Old)](b.md)", "[![i](New%20one)](b.md)"),
        ("[[#Old]] [x](#Old) [[]]", "[[#Old]] [x](#Old) [[]]"),
        ("[Old](https://Old)", "[Old](https://Old)"),
        ("> - [[Old]]\r\n> [[Old]]\r\n", "> - [[New one]]\r\n> [[New one]]\r\n"),
    ],
)
def test_a_link_leads_elsewhere_and_stays_as_it_was_written(before: str, after: str) -> None:
    assert rewrite_links(before, to("New one")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Old]]", "[[New|Old]]"),
        ("[[Old#H]]", "[[New#H|Old]]"),
        ("[[Old|x]]", "[[New|x]]"),
        ("[[Old|]]", "[[New|]]"),
        ("| a | [[Old]] |", "| a | [[New\\|Old]] |"),
        # A table, in which a bar would end the cell.
        (
            "a | [[Old]]\n--|:--\n[[Old]]\n\n[[Old]]",
            "a | [[New\\|Old]]\n--|:--\n[[New\\|Old]]\n\n[[New|Old]]",
        ),
        ("> [[Old]]|a\r\n> --|--\r\n", "> [[New\\|Old]]|a\r\n> --|--\r\n"),
        ("|a|\n|-|\n[[Old]]|b\n# [[Old]]", "|a|\n|-|\n[[New\\|Old]]|b\n# [[New|Old]]"),
        ("[[Old]] or {{x|y}}", "[[New|Old]] or {{x|y}}"),
        ("> [[Old]] [[Old|x]]", "> [[New|Old]] [[New|x]]"),
        ("[x](Old)", "[x](New)"),
    ],
)
def test_a_link_can_go_on_showing_what_it_showed(before: str, after: str) -> None:
    assert rewrite_links(before, to("New", "Old")) == after


UNSAYABLE = ["C#", "a|b", "x]]y", "a^b", "50%%"]
"""Names that a wiki-link cannot hold."""
ODD = ["(x) y", "100%", "%41", 'q"q', "<a>", "a\\b", "`c`", "ü 漢", "a\u00a0b"]
ODD += ["日\u3000本", "a\u202fb", "a\u2028b", "Plan: one"]


@pytest.mark.parametrize("name", [*UNSAYABLE, *ODD])
@pytest.mark.parametrize("before", ["[x](Old.md#H)", "![x](<Old#H> 't')"])
def test_a_markdown_link_can_lead_to_any_name(before: str, name: str) -> None:
    (link,) = find_links(rewrite_links(before, to(name)))

    assert (link.target, link.subpath, link.alias) == (name, "#H", "x")
    assert (rewrite_links("[[Old]]", to(name)) == "[[Old]]") == (name in UNSAYABLE)


NOTE = """---
id: 1
up: "[[Old|dad]]"  # "[[Old]]" it was
see: ["[[Other]]", '[[a/Old#H]]']
list:
  # a comment
  - "[[Old]]" # stays
  - text [[Old]]
  - plain: "[[Old]]"
name: Old
---

[[Old]]
"""


def test_links_in_properties_lead_elsewhere_too() -> None:
    rewritten = rewrite_note_links(NOTE, PATH, to("New one"))

    assert rewritten == (
        NOTE.replace('up: "[[Old', 'up: "[[New one')
        .replace("'[[a/Old#H", "'[[New one#H")
        .replace('- "[[Old]]" # stays', '- "[[New one]]" # stays')
        .replace('plain: "[[Old', 'plain: "[[New one')
        .replace("\n[[Old]]\n", "\n[[New one]]\n")
    )


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ('a: "[[Old]]"', 'q "x"', 'a: "[[q \\"x\\"]]"'),
        ("a: '[[Old]]'", "it's", 'a: "[[it\'s]]"'),
        ("a:\n  - '[[Old]]'\n  - b", "it's", 'a:\n  - "[[it\'s]]"\n  - b'),
        ("a: >-\n  [[Old]]", "New", 'a: "[[New]]"'),
        ('a: "x #y"\nb: ["#z", "[[Old]]"]', "New", 'a: "x #y"\nb: ["#z", "[[New]]"]'),
    ],
)
def test_a_value_that_needs_other_quotes_is_rewritten(before: str, name: str, after: str) -> None:
    rewritten = rewrite_note_links(f"---\n{before}\n---\n", PATH, to(name))

    assert rewritten == f"---\n{after}\n---\n"


def test_a_note_that_cannot_be_read_is_not_rewritten() -> None:
    with pytest.raises(UnreadableNoteError):
        rewrite_note_links("---\na: [\n---\n[[Old]]", PATH, to("New"))


def test_a_note_without_such_links_stays_byte_by_byte() -> None:
    text = '\ufeff---\r\nup:   "[[Other]]"\r\n---\r\n[[Other]] [[#Old]]'

    assert rewrite_note_links(text, PATH, to("New")) == text


def test_a_result_with_other_links_is_discarded() -> None:
    # The backtick of the name would close the one before the link, and make it code.
    assert rewrite_links("a ` [[Old]]", to("b`c")) == "a ` [[Old]]"
    assert rewrite_links("a [[Old]]", to("b`c")) == "a [[b`c]]"


@pytest.mark.parametrize("link", ["[x](Old.md)", "![x](<Old>)"])
def test_a_dollar_in_a_name_does_not_become_math_with_one_in_the_text(link: str) -> None:
    rewritten = rewrite_links(f"$5 {link} [[Other]]", to("US$b"))

    assert [each.target for each in find_links(rewritten)] == ["US$b", "Other"]


def texts() -> st.SearchStrategy[str]:
    links = ("[[Old]]", "![[Old#h|x]]", "[t](Old.md)", "![a](<Old>)", "[[a/Old|y]]")
    more = ("[[", "]]", "](", ")", "[", "]", "|", "\\|", "#", "\\", "`", "```", "%%")
    rest = ("$", "<!--", "-->", "\n", "\n\n", "> ", "- ", "    ", "| ", "a", "é", "(")
    return st.lists(st.sampled_from((*links, *links, *more, *rest)), max_size=20).map("".join)


NAMES = st.sampled_from(["New", "New one", "b/c", "ü", "a(b", "x'y", "50%", "C#"])


def _around(text: str, retarget: RetargetLink) -> list[str]:
    """The text without the targets of the links that are retargeted."""
    pieces, at = [], 0
    for link in find_links(text):
        turn = retarget(link)
        if turn is None or link.start < at:
            continue
        pieces.append(text[at : link.start])
        at = link.end
    return [*pieces, text[at:]]


@given(texts(), NAMES)
def test_nothing_but_links_is_ever_touched(text: str, name: str) -> None:
    rewritten = rewrite_links(text, to(name))

    if rewritten != text:

        def again(link: Link) -> Retarget | None:
            return Retarget("") if link.target == name else to("")(link)

        assert _around(rewritten, again) == _around(text, to(name))
        assert len(find_links(rewritten)) == len(find_links(text))
        for before, after in zip(find_links(text), find_links(rewritten), strict=True):
            assert after.target in (before.target, name)
            assert (after.subpath, after.embed) == (before.subpath, before.embed)


@given(texts(), NAMES)
def test_what_leads_there_already_is_left_alone(text: str, name: str) -> None:
    rewritten = rewrite_links(text, to(name))

    assert rewrite_links(rewritten, lambda link: Retarget(link.target)) == rewritten
    assert rewrite_links(text, lambda _: None) == text


# ------------------------------------------------------------------------- moves

FILES = ["Old.md", "a/Twin.md", "b/Twin.md", "b/other.md", "c/deep/Far.md", "p.png"]


def shift(*moves: tuple[str, str]) -> MovedFiles:
    moved = {VaultPath(old): VaultPath(new) for old, new in moves}
    paths = [VaultPath(each) for each in FILES]
    now = [moved.get(each, each) for each in paths]
    return MovedFiles(LinkResolver.of(paths), LinkResolver.of(now), moved)


def moved(text: str, path: str, *moves: tuple[str, str]) -> str:
    return rewrite_links(text, shift(*moves).retarget(VaultPath(path)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Old]]", "[[New]]"),
        ("[[old.md]]", "[[New.md]]"),
        ("[[/Old]]", "[[New]]"),
        ("[x](Old)", "[x](New)"),
        ("[x](../Old.md)", "[x](../d/New.md)"),
        ("[x](./Old.md)", "[x](./Old.md)"),
        ("[[../Old]]", "[[../d/New]]"),
        ("[[Twin]] [[Nobody]] [[#x]]", "[[Twin]] [[Nobody]] [[#x]]"),
    ],
)
def test_links_follow_a_note_that_moved(before: str, after: str) -> None:
    assert moved(before, "b/other.md", ("Old.md", "d/New.md")) == after


TOGETHER = (("b/Twin.md", "z/Twin.md"), ("b/other.md", "z/other.md"))


@pytest.mark.parametrize(
    ("before", "source", "moves", "after"),
    [
        # A link that still leads there is left alone.
        ("[[Far]] [[deep/Far]]", "b/other.md", [("c/deep/Far.md", "deep/Far.md")], None),
        # A path follows a note without a new name.
        ("[[c/deep/Far]]", "b/other.md", [("c/deep/Far.md", "e/Far.md")], "[[Far]]"),
        ("[[deep/Far#x|y]]", "b/other.md", [("c/deep/Far.md", "e/Far.md")], "[[Far#x|y]]"),
        # But other programs read a markdown link, and find no file by its name alone.
        ("[x](c/deep/Far.md)", "b/other.md", [("c/deep/Far.md", "e/Far.md")], "[x](e/Far.md)"),
        ("[x](/c/deep/Far)", "b/other.md", [("c/deep/Far.md", "e/Far.md")], "[x](/e/Far)"),
        ("[x](deep/Far.md)", "b/other.md", [("c/deep/Far.md", "e/Far.md")], "[x](Far.md)"),
        # A name that became ambiguous is replaced by a path, except in the note's own folder.
        ("[[Old]]", "b/other.md", [("Old.md", "c/Twin.md")], "[[c/Twin]]"),
        ("[[Twin]]", "b/other.md", [("Old.md", "c/Twin.md")], None),
        # From the root it led to a/Twin.md, the first of two paths of one length.
        ("[[Twin]]", "Old.md", [("b/Twin.md", "Twin.md")], "[[a/Twin]]"),
        # The links of a note that moved go on meaning the same.
        ("[[Twin]]", "z/y/other.md", [("b/other.md", "z/y/other.md")], "[[b/Twin]]"),
        ("[x](Twin.md)", "z/y/other.md", [("b/other.md", "z/y/other.md")], "[x](../../b/Twin.md)"),
        ("[y](../Old.md)", "z/y/other.md", [("b/other.md", "z/y/other.md")], "[y](../../Old.md)"),
        ("[[../Old]] [[Far]]", "z/y/o.md", [("b/o.md", "z/y/o.md")], "[[../../Old]] [[Far]]"),
        # Notes that moved together go on linking each other.
        ("[[Twin]] [x](./Twin.md)", "z/other.md", TOGETHER, None),
        ("[[b/Twin]]", "z/other.md", TOGETHER, "[[z/Twin]]"),
        # The name is written in NFC, however the file system has it.
        ("[[Old]] [x](Old)", "s.md", [("Old.md", "U\u0308.md")], "[[\u00dc]] [x](\u00dc)"),
        # A wiki-link that cannot say the name stays.
        ("[[Old]] [x](Old)", "s.md", [("Old.md", "C#.md")], "[[Old]] [x](C%23)"),
    ],
)
def test_links_go_on_leading_where_they_led(
    before: str, source: str, moves: Sequence[tuple[str, str]], after: str | None
) -> None:
    assert moved(before, source, *moves) == (before if after is None else after)


def test_a_link_to_a_deleted_note_is_left_alone() -> None:
    gone = MovedFiles(LinkResolver.of([VaultPath("Old.md")]), LinkResolver.of([]), {})

    assert rewrite_links("[[Old]]", gone.retarget(VaultPath("s.md"))) == "[[Old]]"


@given(st.sampled_from(FILES), st.sampled_from(FILES), st.sampled_from(["", "./", "/"]))
def test_the_text_of_a_link_leads_where_it_should(path: str, source: str, dots: str) -> None:
    names = LinkResolver.of([VaultPath(each) for each in FILES])
    (link,) = find_links(f"[[{dots}x]]")
    assert isinstance(link, Link)
    for relative in (False, True):
        target = link_target_text(
            names, VaultPath(path), link, VaultPath(source), relative=relative
        )
        assert target is not None
        assert names.resolve(target, VaultPath(source)) == path


def test_markdown_links_in_properties_lead_elsewhere_too() -> None:
    text = (
        '---\nup: "[The plan](Old.md#Part)"  # mine\nsee:\n  - "[a](<Old.md>)"\n'
        '  - "[a](Old.md) and more"\nweb: "[b](https://example.org)"\n---\nWords.\n'
    )

    rewritten = rewrite_note_links(text, PATH, to("New one.md"))

    assert rewritten == (
        text.replace("(Old.md#Part)", "(New%20one.md#Part)").replace("<Old.md>", "<New one.md>")
    )
