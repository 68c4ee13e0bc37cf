from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.links.references import LinkAnchors, fact_links, heading_key, note_references
from vaultsync.links.wikilinks import MARKDOWN_LINK, WIKI_LINK, Link, find_links, prose_blocks
from vaultsync.markdown.blocks import HEADING_BLOCK, TABLE_ROW_BLOCK, TEXT_BLOCK, prose_spans
from vaultsync.model.fact import make_fact
from vaultsync.model.schema import Value

ID = "0193f6c2-0000-7000-8000-000000000001"
OTHER = "0193f6c2-0000-7000-8000-000000000002"

NOTE = """# Top

text ^first

## **Bold** & [[Link|shown]] ##
### Details
Setext one
===
Setext two
----

| a | b |
|---|---|
| c | d |

^the-table

> quoted
> ^In-Quote

- item ^item
- # In a list

```
# no heading ^noblock
```

![[image.png]]^after-image

a ^not-at-the-end b

[^1]: A footnote.

## Details
"""


def anchors() -> LinkAnchors:
    return note_references(NOTE, {}).anchors


@pytest.mark.parametrize(
    "subpath",
    [
        # Headings, without regard to case and punctuation, and one below the other.
        *("#Top", "#top", "#Bold Link shown", "#bold & [[link|shown]]", "#Setext one"),
        "#Setext two",
        *("#Top#Details", "#Top#Bold Link shown#Details", "#In a list", "#"),
        # Blocks and footnotes.
        *("#^first", "#^FIRST", "#^the-table", "#^in-quote", "#^item", "#^after-image", "#[^1]"),
    ],
)
def test_a_place_that_is_there_is_found_as_obsidian_does(subpath: str) -> None:
    assert anchors().holds(subpath)


@pytest.mark.parametrize(
    "subpath",
    [
        *("#Nowhere", "#no heading", "#noblock", "#Setext one#Nowhere", "#Details#Top"),
        *("#Details#Details", "#^noblock", "#^not-at-the-end", "#^nobody", "#[^2]"),
    ],
)
def test_a_place_that_is_not_there_is_none(subpath: str) -> None:
    assert not anchors().holds(subpath)


HEADINGS = st.tuples(st.integers(1, 6), st.sampled_from("abc"))


@given(st.lists(HEADINGS), st.lists(st.sampled_from("abcd"), min_size=2, max_size=4))
def test_headings_are_found_as_by_reading(headings: list[tuple[int, str]], path: list[str]) -> None:
    wanted, above = path[:], 0
    for level, heading in headings:
        if wanted and level > above and heading == wanted[0]:
            del wanted[0]
            above = level

    found = LinkAnchors(tuple(headings))
    for _ in range(2):  # the second time, the places of the headings are known
        assert found.holds("#" + "#".join(path)) is not bool(wanted)


def test_headings_compare_without_punctuation_and_case() -> None:
    assert heading_key(" **What's** new?\n in `v1.2`: #3 ") == "what's new in v1 2 3"


def test_tags_are_those_of_the_property_and_of_the_text() -> None:
    body = (
        "#one and #two/three, #x_y-z! #ü #漢字 #🙂\n> #quoted\n- #item\n# Heading #four\n"
        "no#tag #1984 ##no (#no) `#no` $#no$ %%#no%% \\#no [#no](a.md) [[a|#no]] "
        "#y1984#no\n```\n#no\n```\n"
    )

    expected = "a b/c one two/three x_y-z ü 漢字 🙂 quoted item four y1984"
    assert " ".join(note_references(body, {"tags": ["#a", "b/c"]}).tags) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a, #b c", ("a", "b", "c")), (["a b", 3, None, "#"], ("a", "b")), (None, ()), (7, ())],
)
def test_the_property_tags_is_a_list_or_a_text(value: Value, expected: tuple[str, ...]) -> None:
    assert note_references("", {"Tags": value, "other": "x"}).tags == expected


def test_a_property_links_when_a_link_is_all_it_says() -> None:
    values: dict[str, Value] = {
        "up": "[[Note#Part|shown]]",
        "see": ["[[A]]", "and [[B]]", " [[C]] ", ["[[D]]"], 3],
        "deep": {"er": "[[E]]"},
        "markdown": ["[x](F%20f.md#P)", "[y](<G.md>)", "[x](H.md) and", "[x](I.md) [y](J.md)"],
        "web": ["[x](https://example.org)", "[x] (K.md)", "![x](L.md)"],
        "not": "![[G]]",
        "nor": "[[]]",
        "neither": None,
    }

    links = dict(note_references("", values).properties)

    assert links["up"] == Link("Note", "#Part", "shown", False, 0, 19, WIKI_LINK)
    found = {key: link.target for key, link in links.items()}
    assert links["markdown.0"] == Link("F f.md", "#P", "x", False, 0, 15, MARKDOWN_LINK)
    assert found == {
        "up": "Note",
        "see.0": "A",
        "see.2": "C",
        "see.3.0": "D",
        "deep.er": "E",
        "markdown.0": "F f.md",
        "markdown.1": "G.md",
    }


def test_a_fact_links_from_its_text_its_entities_and_its_properties() -> None:
    fact = make_fact(
        {
            "id": ID,
            "type": "commitment",
            "title": "Call [[Bob]]",
            "context": "at [[Tea]]",
            "content": "With ![[Alice]].",
            "entities": ["Convex", "Alice#Work"],
            "commitmentStakeholders": ["Eve"],
            "decisionOutcome": "[[Plan]]",
            "relatedFactIds": [OTHER],
            "reports_to": ["[[Zoe|Z]]"],
            "note": "see [[nobody]]",
        }
    )

    assert [(key, link.target, link.subpath) for key, link in fact_links(fact)] == [
        ("", "Bob", ""),
        ("", "Tea", ""),
        ("", "Alice", ""),
        ("entities.0", "Convex", ""),
        ("entities.1", "Alice", "#Work"),
        ("commitmentStakeholders.0", "Eve", ""),
        ("decisionOutcome", "Plan", ""),
        ("reports_to.0", "Zoe", ""),
    ]


def pieces() -> st.SearchStrategy[str]:
    marks = ("[[", "]]", "![[", "[", "]", "|", "#", "^", " ", "\n", "\n\n", "> ", "- ")
    more = ("# ", "| ", "---", "===", "a", "b c", "[[a]]", "![[x#y|z]]", "é", "1. ")
    return st.lists(st.sampled_from((*marks, *more)), max_size=25).map("".join)


@given(pieces())
def test_a_text_that_hides_nothing_need_not_be_walked(text: str) -> None:
    links = [link for passage in prose_blocks(text) for link in passage.links]

    assert find_links(text) == links


@given(pieces())
def test_blocks_are_the_paragraphs_with_what_they_are(text: str) -> None:
    found = prose_spans(text)

    for block in found:
        inside = text[block.inner : block.end]
        assert block.start <= block.inner < block.end
        assert block.kind in (TEXT_BLOCK, HEADING_BLOCK, TABLE_ROW_BLOCK)
        assert (block.kind == TABLE_ROW_BLOCK) <= inside.startswith("|")
        if block.kind == HEADING_BLOCK:
            assert inside.startswith("#") or inside.rstrip()[-1] in "=-"


@given(pieces())
def test_references_of_any_text_are_found_without_an_error(text: str) -> None:
    found = note_references(text, {"see": text})

    for link in found.links:
        assert text[link.end - 2 : link.end] == "]]"
    for tag in found.tags:
        assert f"#{tag}" in text
