from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import processor_seconds
from vaultsync.links.wikilinks import (
    MARKDOWN_LINK,
    WIKI_LINK,
    Link,
    find_links,
    is_linkable,
    wiki_link,
)


def targets(text: str) -> list[str]:
    return [link.target + link.subpath for link in find_links(text)]


def only(text: str) -> Link:
    (link,) = find_links(text)
    return link


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]]", ("Note", "", None, False)),
        ("![[Note]]", ("Note", "", None, True)),
        ("[[a/b/Note.md]]", ("a/b/Note.md", "", None, False)),
        ("[[Note|shown]]", ("Note", "", "shown", False)),
        ("[[ Note | shown ]]", ("Note", "", "shown", False)),
        ("[[Note#Heading]]", ("Note", "#Heading", None, False)),
        ("[[Note#One#Two|x]]", ("Note", "#One#Two", "x", False)),
        ("[[Note#^37066d]]", ("Note", "#^37066d", None, False)),
        ("[[#Heading]]", ("", "#Heading", None, False)),
        ("![[p.png|100x145]]", ("p.png", "", "100x145", True)),
        ("[[Note\\|shown]]", ("Note", "", "shown", False)),
        ("[[Note|a|b]]", ("Note", "", "a|b", False)),
        ("[[Note|]]", ("Note", "", "", False)),
        ("[[a]b]]", ("a]b", "", None, False)),
        ("[[a [b] c]]", ("a [b] c", "", None, False)),
        ("[[https://example.org/]]", ("https://example.org/", "", None, False)),
        ("[x](Note.md)", ("Note.md", "", "x", False)),
        ("![x](a/p.png)", ("a/p.png", "", "x", True)),
        ("[x](My%20Note.md#A%20b)", ("My Note.md", "#A b", "x", False)),
        ("[x](<My Note.md>)", ("My Note.md", "", "x", False)),
        ("[x](%C3%BCber%23.md)", ("über#.md", "", "x", False)),
        ("[x](50%.md)", ("50%.md", "", "x", False)),
        ("[x](%FF.md)", ("%FF.md", "", "x", False)),
        ('[x](Note.md "A title")', ("Note.md", "", "x", False)),
        ("[x](a(b).md)", ("a(b).md", "", "x", False)),
        ("[x](a\\)b.md)", ("a)b.md", "", "x", False)),
        ("[x](../a/Note.md)", ("../a/Note.md", "", "x", False)),
        ("[x](#Heading)", ("", "#Heading", "x", False)),
        ("[a [b] `]` c](Note.md)", ("Note.md", "", "a [b] `]` c", False)),
    ],
)
def test_a_link_has_target_subpath_and_alias(
    text: str, expected: tuple[str, str, str | None, bool]
) -> None:
    kind = WIKI_LINK if text.endswith("]]") else MARKDOWN_LINK
    assert only(f"see {text} there") == Link(*expected, 4, 4 + len(text), kind)


@pytest.mark.parametrize(
    "text",
    [
        # Addresses, and what is no destination.
        *("[x](https://example.org/a.md)", "[x](mailto:a@example.org)", "[x](//example.org/a.md)"),
        *("[x](obsidian://open?vault=a)", "[x]()", "[x](a b.md)", "[x] (a.md)", "x](a.md)"),
        # Nothing between the brackets, or no end of them.
        *("[[]]", "[[ ]]", "[[|x]]", "[[#]]", "[[a\nb]]", "[[a]", "[[a[[b"),
    ],
)
def test_what_leads_to_no_note_is_no_link(text: str) -> None:
    assert find_links(text) == []


@pytest.mark.parametrize(
    "text",
    [
        # Inline code, and an example of fenced code; tests/markdown/test_blocks.py has the rest.
        *("`[[a]]`", "`` ` [[a]] ``", "`one\n[[a]] two`", "`[x](a.md)`"),
        "- x\n  ```\n  [[a]]\n  ```",
        # Code by indentation.
        *("    [[a]]", "-x\n\n    [[a]]", "text\n\n\t[[a]]", "# heading\n    [[a]]", ">     [[a]]"),
        *("- item\n\n      [[a]]", "-     [[a]]"),
        # Comments, math and raw HTML.
        *("%%[[a]]%%", "x %%y [[a]] z%%", "%%\n[[a]]\n\n[[a]]\n%%", "<!-- [[a]] -->"),
        *("x <!-- [[a]] --> y", "<!--\n\n[[a]]\n\n-->", "<!--\n[[a]]"),
        *("$[[a]]$", "$$[[a]]$$", "$$\nx\n\n[[a]]\n$$"),
        *("<pre>\n\n[[a]]\n</pre> [[a]]", "<script>[[a]]</script>", "<style>\n[[a]]"),
        # Escaped brackets.
        *("\\[[a]]", "[\\[a]]", "\\![\\[a]]", "\\[x](a.md)"),
    ],
)
def test_code_comments_math_and_what_is_escaped_hold_no_link(text: str) -> None:
    assert targets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        # A backtick without another one in its paragraph, list item, row or heading.
        *("` [[a]]", "`` x ` [[a]]", "x ` y\n\n[[a]] ` z", "- x ` y\n- [[a]] ` z"),
        *("# x ` y\n[[a]] ` z", "x ` y\n---\n[[a]] ` z"),
        # Indentation, quotes and fences that are no code, or end above.
        *("x\n    [[a]]", "- item\n\n  [[a]]", "- item\n\n    [[a]]", "1. item\n\n\t- [[a]]"),
        *("> quote\n[[a]]", "> [!note]\n> [[a]]", "> ```\n[[a]]", "- ```\n\n  x\n[[a]]"),
        # Money, percent, and comments, math and HTML that end above or never.
        *("costs $5, see [[a]], or $6", "$ [[a]] $", "100%% of [[a]]", "%%x%% [[a]]"),
        *("%%\nx\n%% [[a]]", "%%\n[[a]]", "$$\nx\n$$\n[[a]]", "$$ [[a]]", "<!-- x --> [[a]]"),
        *("<!--\nx\n-->\n[[a]]", "x <!-- [[a]]", "<pre>x</pre>\n[[a]]"),
        # Brackets and backslashes that are text.
        *("\\\\[[a]]", "\\![[a]]", "[[[a]]]", "[[b [[a]]", "![[b ![[a]]", "[[a]]!"),
        *("[[a]](b.md)", "[x [[a]] y](b.md)"),
    ],
)
def test_everything_else_is_prose(text: str) -> None:
    assert targets(text) == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| ` | [[a]] |\n| ` | [[b\\|c]] |", ["a", "b"]),
        ("> > [[a]]\n> - [[b]]", ["a", "b"]),
        ("[x [y](a.md) z](b.md)", ["a.md"]),
        ("[^1]: [[a]] [ ] x] [[b]]", ["a", "b"]),
        ("2026. [[a]]\n2. [[b]]\n-\n* * *\n[[c]]", ["a", "b", "c"]),
        ("x\n7. `\n[[a]] `", []),
        ("[[a]]\r\n\r\n[[b]]\r\n", ["a", "b"]),
    ],
)
def test_all_links_of_a_text_are_found(text: str, expected: list[str]) -> None:
    assert targets(text) == expected


def test_an_embed_in_the_text_of_a_link_is_found_too() -> None:
    assert [link.embed for link in find_links("![[a]] [[b]] ![[c]]")] == [True, False, True]
    assert not find_links("[[a]]!")[0].embed
    text = "[![alt](p.png) and ![[q.png]]](Note.md)"

    outer, *inner = find_links(text)

    assert (outer.target, outer.start, outer.end) == ("Note.md", 0, len(text))
    assert [link.target for link in inner] == ["p.png", "q.png"]


def test_quotes_and_lists_within_each_other_have_an_end() -> None:
    assert targets(">" * 1000 + "[[a]]") == ["a"]
    assert targets("- " * 1000 + "[[a]]") == ["a"]


@pytest.mark.parametrize(
    "hostile", ["[", "[[", "](a", "![x](a ", "[a]((", '[a](b "', "$a ", "%%", "> ", "- ", "<!--"]
)
def test_the_time_for_a_hostile_text_is_linear(hostile: str) -> None:
    text = "[[a]] " + hostile * 20_000 + "\n\n[[b]]"

    with processor_seconds(20):
        assert targets(text)[0] == "a"


def texts() -> st.SearchStrategy[str]:
    brackets = ("[[", "]]", "![[", "](", ")", "[", "]", "|", "\\|", "#", "^", "\\")
    inline = ("`", "```", "~~~", "%%", "$", "$$", "<!--", "-->", "<pre>", "</pre>")
    blocks = ("\n", "\n\n", "> ", "- ", "1. ", "    ", "\t", "---", "# ")
    words = ("a", "b c", "[[a]]", "[x](a.md)", "%20", "é")
    pieces = st.sampled_from((*brackets, *inline, *blocks, *words))
    return st.lists(pieces, max_size=25).map("".join)


@given(texts())
def test_the_span_of_a_link_is_its_text(text: str) -> None:
    links = find_links(text)

    assert [link.start for link in links] == sorted(link.start for link in links)
    for link in links:
        written = text[link.start : link.end]
        assert written.startswith("!" if link.embed else "[")
        assert written.endswith("]]" if link.kind == WIKI_LINK else ")")
        assert link.target or link.subpath
        assert find_links(written)[0] == link._replace(start=0, end=len(written))


@given(
    texts().map(lambda text: text.replace("`", "").replace("~", "")),
    st.sampled_from(("```", "~~~", "`````")),
    st.sampled_from(("", "> ", "- ", "> - ")),
)
def test_code_is_never_touched(text: str, fence: str, where: str) -> None:
    deeper = where.replace("-", " ")
    lines = "".join(f"{deeper}{line}\n" for line in text.split("\n"))
    fenced = f"{where}{fence}\n{lines}{deeper}{fence}\n"

    assert targets(fenced) == []
    assert targets(f"{fenced}\n[[after]]") == ["after"]


@pytest.mark.parametrize(
    ("name", "title", "expected"),
    [
        *(("Note", None, "[[Note]]"), ("Note", "Note", "[[Note]]"), ("Note", "", "[[Note]]")),
        *(("Note", "\u202e", "[[Note]]"), ("a/Note.md", "Title", "[[a/Note|Title]]")),
        *(("odd.md.md", "x", "[[odd.md.md|x]]"), ("n", "a|b [[c]] d", "[[n|a/b ((c)) d]]")),
        ("n", "list[int]", "[[n|list(int)]]"),
        ("n", "one\r\n two\u2028three", "[[n|one two three]]"),
        ("n", "50%%% off", "[[n|50% % % off]]"),
        ("n", "<!-- /vaultsync:managed -->", "[[n|<! -- /vaultsync:managed -- >]]"),
        *(("n", "ends \\", "[[n|ends]]"), ("a|b]]c", None, "[[a b  c]]")),
    ],
)
def test_a_wiki_link_shows_the_title(name: str, title: str | None, expected: str) -> None:
    assert wiki_link(name, title) == expected


@given(
    st.sampled_from(("Note", "2026-02-14-use-x", "a/b c/Note", "Zoë")),
    st.one_of(st.text(), texts()),
)
def test_a_wiki_link_is_one_link_whatever_the_title(name: str, title: str) -> None:
    written = wiki_link(name, title)

    link = only(f"- {written}\n")
    assert link.target == name
    assert (link.start, link.end) == (2, 2 + len(written))
    assert not {"\n", "\r", "%%", "<!--", "-->"} & {
        written[at : at + size] for at in range(len(written)) for size in (1, 2, 3, 4)
    }


def test_some_names_do_not_fit_into_a_wiki_link() -> None:
    assert is_linkable("Zoë (2) & 50% of it")
    for name in ("C#", "a^b", "a|b", "[draft]", "x%%y", "a\nb"):
        assert not is_linkable(name)
