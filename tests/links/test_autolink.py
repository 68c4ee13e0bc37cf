from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import processor_seconds
from vaultsync.facts.entity_links import LinkTarget, link_mentions
from vaultsync.links.mentions import NameMatcher
from vaultsync.links.wikilinks import find_links

TARGETS = [
    LinkTarget("Alice", ("Alice", "Al B.")),
    LinkTarget("Alice Smith", ("Alice Smith",)),
    LinkTarget("Convex", ("Convex",)),
    LinkTarget("people/Bob", ("Bob", "Robert")),
    LinkTarget("Will", ("Will",)),
    LinkTarget("C#", ("C sharp",)),
    LinkTarget("Zoë", ("Zoë",)),
    LinkTarget("李明", ("李明",)),
    LinkTarget("アリス", ("アリス",)),
    LinkTarget("서울", ("서울",)),
    LinkTarget("Åsa", ("Åsa", "Å")),
]


def linked(
    text: str,
    targets: Sequence[LinkTarget] = TARGETS,
    within: Sequence[tuple[int, int]] | None = None,
) -> str:
    by_link = {each.link: each for each in targets}
    names = NameMatcher({link: each.names for link, each in by_link.items()})
    return link_mentions(text, names.mentions(text), by_link, within=within)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask Alice.", "Ask [[Alice]]."),
        ("Alice and Alice", "[[Alice]] and Alice"),
        ("Alice Smith met Alice", "[[Alice Smith]] met [[Alice]]"),
        ("Alice Smith, then Alice Smith", "[[Alice Smith]], then Alice Smith"),
        ("ask Al B. now", "ask [[Alice|Al B.]] now"),
        ("Bob's plan", "[[people/Bob|Bob]]'s plan"),
        ("Robert or Bob", "[[people/Bob|Robert]] or Bob"),
        ("we use convex, CONVEX", "we use [[Convex|convex]], CONVEX"),
        ("**Alice**, _Bob_ (Convex)", "**[[Alice]]**, _[[people/Bob|Bob]]_ ([[Convex]])"),
        ("> - Alice\n> - x", "> - [[Alice]]\n> - x"),
        ("1. Alice\n\n   Bob", "1. [[Alice]]\n\n   [[people/Bob|Bob]]"),
        ("Convex-based", "[[Convex]]-based"),
        ("Alice[^1]", "[[Alice]][^1]"),
        ("Alice…", "[[Alice]]…"),
        ("“Alice”", "“[[Alice]]”"),
        ("| Alice | x |", "| [[Alice]] | x |"),
        ("| Bob | x |", "| [[people/Bob\\|Bob]] | x |"),
        ("# Alice\n\nAlice", "# Alice\n\n[[Alice]]"),
        ("```\nAlice\n```\n\nAlice", "```\nAlice\n```\n\n[[Alice]]"),
        ("zoë, ZOË", "zoë, [[Zoë|ZOË]]"),
        ("İş ve Alice", "İş ve [[Alice]]"),
        ("Zoe\u0308 came", "[[Zoë|Zoe\u0308]] came"),
        ("- [ ] Alice", "- [ ] [[Alice]]"),
        ("[^1]: Alice", "[^1]: [[Alice]]"),
        ("Alice\n[x](https://a.b)", "[[Alice]]\n[x](https://a.b)"),
        ("2 < 3 Alice", "2 < 3 [[Alice]]"),
        ("costs $5 Alice $6", "costs $5 [[Alice]] $6"),
        # A name counts where its script ends a word.
        ("我见李明了", "我见[[李明]]了"),
        ("昨日アリスさんに会った", "昨日[[アリス]]さんに会った"),
        ("アリスX", "[[アリス]]X"),
        ("서울에서 왔다", "[[서울]]에서 왔다"),
        ("서울, 서울은", "[[서울]], 서울은"),
        ("Convexは速い", "[[Convex]]は速い"),
        ("用Convex写", "用[[Convex]]写"),
    ],
)
def test_the_first_mention_of_each_becomes_a_link(text: str, expected: str) -> None:
    assert linked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        # Parts of words, in any script, and words that only look like a name.
        "Alicea, xAlice, Alice2, malice, Alice_x, x_Alice, x___Alice___x",
        *("アリスタ", "ハアリス", "서울대", "한서울", "Alicé", "Alice\u0301", "will, alice, bob"),
        *("my convex-app, pre-convex", "C sharp", "Å"),
        # Code, math, comments, headings and HTML.
        *("`Alice`", "```\nAlice\n```", "    Alice", "$Alice$ and $$\nAlice\n$$"),
        *("%%Alice%% <!-- Alice -->", "# Alice", "Alice\n===", "<div>\nAlice\n</div>"),
        "<a href='x'>Alice</a> <b title=Alice>x</b>",
        # Links, brackets and reference definitions.
        *("[[Note|Alice]] ![[x|Alice]]", "[Alice][1] [Alice] [Alice]: x"),
        "[Alice](a.md) [Alice](https://a.b/c_(d)) [a [b] Alice](https://a.b)",
        *("[Alice]: https://a.b Alice", "[1]: https://a.b 'Alice'", "[[Note]]Alice Alice[[Note]]"),
        "[![x](p.png) Alice](a.md) y/Alice",
        # Addresses, paths, tags, fields and identifiers.
        "https://Alice.com/Alice www.Alice.com mailto:Alice@x.y <https://x/Alice>",
        "alice@Alice.com Alice@x @Alice",
        "src/Alice/x.py ~/Alice C:\\Alice x.Alice Alice.py Alice/Bob",
        *("#Alice #x/Alice x ^Alice", "Alice:: x, std::Alice, Alice()", "a | Bob\n--|--"),
        "Alice Smith/x and /Alice Smith",
        # What the text links to already.
        *("[[Alice]] and Alice", "[[people/Alice|her]] and Alice", "[[Al B.]] and Alice"),
        "# On [[Alice]]\n\nAlice",
    ],
)
def test_only_whole_words_of_prose_are_linked(text: str) -> None:
    assert linked(text) == text


@pytest.mark.parametrize(
    ("text", "targets", "expected"),
    [
        # A name that two have links to none.
        ("Alice", {"a/Alice": "Alice", "b/Alice": "Alice"}, "Alice"),
        # Of overlapping names the longest counts.
        ("B S & Co", {"B S": "B S", "S": "S & Co"}, "B [[S|S & Co]]"),
        # No alias can hold this name.
        ("see a|b x", {"N": "a|b x"}, "see a|b x"),
        # The brackets would begin behind a backslash.
        ("one \\Alice", {"Alice": "Alice"}, "one \\Alice"),
        ("x [[ Alice", {"Alice": "Alice"}, "x [[ [[Alice]]"),
        ("Alice", {}, "Alice"),
    ],
)
def test_a_doubtful_name_stays_text(text: str, targets: Mapping[str, str], expected: str) -> None:
    assert linked(text, [LinkTarget(link, (name,)) for link, name in targets.items()]) == expected


def test_names_below_the_last_link_stay_text() -> None:
    assert linked("Alice, Alice\n\nAlice", TARGETS[:1]) == "[[Alice]], Alice\n\nAlice"


def test_links_may_be_limited_to_some_spans() -> None:
    text = "Alice said.\nAlice knows Bob."
    expected = "Alice said.\n[[Alice]] knows [[people/Bob|Bob]]."

    assert linked(text, within=[(12, len(text))]) == expected
    assert linked(text, within=[]) == text


def test_names_can_be_added_and_removed() -> None:
    assert NameMatcher().mentions("Alice") == []
    names = NameMatcher({"1": ["Alice", "a"], "2": ["alice", "2024"]})
    assert [each.keys for each in names.mentions("ALICE 2024")] == [("1", "2")]

    names.drop("1", ["Alice", "a", "unknown"])
    assert [each.keys for each in names.mentions("ALICE")] == [("2",)]

    names.drop("2", ["alice"])
    assert names.mentions("ALICE") == []


def test_names_that_differ_in_case_only_match_in_each_case() -> None:
    names = NameMatcher({"1": ["iOS", "IOS"], "2": ["Bob"]})
    assert [each.keys for each in names.mentions("iOS, IOS, ios, Bob")] == [("1",), ("1",), ("2",)]

    names.drop("1", ["IOS", "Ios"])
    assert [each.keys for each in names.mentions("iOS, Bob")] == [("1",), ("2",)]


@pytest.mark.parametrize(
    "piece", ["a", "Alice ", "[", "<", "<a ", "@", "x@", "a/", "::", "http:", "|", "#"]
)
def test_the_time_for_a_hostile_text_is_linear(piece: str) -> None:
    with processor_seconds(20):
        text = linked(piece * 20_000 + "\n\nConvex")

    assert text.endswith("[[Convex]]")


def texts() -> st.SearchStrategy[str]:
    words = ("Alice", "Alice Smith", "Bob", "Convex", "convex", "Al B.", "李明", "アリス")
    marks = ("[[", "]]", "[", "]", "](", ")", "|", "`", "```", "$", "$$", "%%", "<", ">")
    more = ("\n", "\n\n", "# ", "> ", "- ", "    ", "\\", "*", "_", ".", " ", " ", "x", "&")
    rest = ("<!--", "-->", "#", "https://", "[[Alice]]", "[t](a.md)", "| ", "===", "'s")
    pieces = st.sampled_from((*words, *words, *marks, *more, *rest))
    return st.lists(pieces, max_size=20).map("".join)


def unlinked(text: str, names: Sequence[str]) -> str:
    """The text with the shown text of each link to one of the names in its place."""
    for link in reversed(find_links(text)):
        if link.target in names and link.kind == "wiki" and not link.embed:
            shown = link.alias if link.alias is not None else link.target
            text = text[: link.start] + shown + text[link.end :]
    return text


@given(texts())
def test_linking_again_changes_nothing(text: str) -> None:
    once = linked(text)

    assert linked(once) == once


@given(texts())
def test_only_links_are_added_and_each_target_is_linked_once(text: str) -> None:
    result = linked(text)

    before, after = find_links(text), find_links(result)
    names = [each.link for each in TARGETS]
    fresh = [link for link in after if link.target in names]
    assert len(after) >= len(before)
    assert unlinked(result, names) == unlinked(text, names)
    new = [link.target for link in fresh]
    for name in {link.target for link in fresh} - {link.target for link in before}:
        assert new.count(name) == 1
