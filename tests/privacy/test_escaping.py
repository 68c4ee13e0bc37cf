"""Text that would run in Obsidian is disarmed, reversibly."""

from __future__ import annotations

import random
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from vaultsync.privacy.active_content import ACTIVE_TAGS, _closing
from vaultsync.privacy.clean_texts import is_surely_clean
from vaultsync.privacy.detection import find_secrets
from vaultsync.privacy.escaping import (
    active_constructs,
    escape,
    escape_active,
    may_have_active_content,
    unescape,
)

_BITS = [
    "<", "%", "<%", "%>", "\\", "`", "``", "```", "~~~", "~~~~", " ", "\n", "\n\n",
    "dataviewjs", "DataviewJS", "js", "python", "$=", "$", "![", "]", "](", "(", ")",
    "https://e.org/a.png", "//e.org", "a.png", "data:image/png;base64,AA",
    "data:text/html,x", "[", "[r]", "[r]: ", "[]", "![[a]]", "javascript:alert(1)",
    "JaVaScRiPt:x", "obsidian://open", "file:///etc/passwd", "vbscript:x",
    "&#106;avascript:x", "java&Tab;script:x", "javascript&colon;x", "java\\script:x",
    "<script", "<img src=x", ">", "<b ", "onclick=", "style=", "href=", "'", '"',
    "onerror", "<iframe>", "</script>", "<svg/onload=x>", "&#100;ataviewjs", "> ", "- ",
    "    ", "\t", "INPUT[", "word", "ä", "<!--", "-->", "%%", "$$", ":",
    "<javascript:x>", "<https://e.org>", "{dataviewjs}", "execute-js",
    "<!-- vaultsync:managed -->", "<!-- /vaultsync:managed -->", "<!--", "foo", "mermaid", "python",
    "meta-bind-button", "\\[", "\\!", "</b>",
]  # fmt: skip
bits = st.lists(st.sampled_from(_BITS), max_size=10).map("".join)
texts = bits | st.text() | st.lists(bits, max_size=3).map("\n".join)


@given(texts)
@example("`\n$= x`")
@example("```\\dataviewjs")
@example("<\\\\% \\<% ]\\( !\\\\[")
@example("INPUT[a] and `INPUT[b]`\\")
def test_what_is_escaped_comes_back(text: str) -> None:
    assert unescape(escape(text)) == text
    assert unescape(escape(text, runs=True)) == text


@given(texts)
def test_what_is_escaped_is_safe_and_disarming_it_again_changes_nothing(text: str) -> None:
    safe = escape(text)
    assert active_constructs(safe) == frozenset()
    assert escape_active(safe, frozenset()) == safe
    if "\\" not in text and not active_constructs(text):
        assert safe == text


@given(texts, texts)
@example("", "INPUT[\\")
def test_lines_are_unescaped_one_by_one(one: str, other: str) -> None:
    text = escape(f"{one}\n{other}")
    assert "\n".join(map(unescape, text.split("\n"))) == unescape(text)


@given(texts)
def test_disarming_never_changes_what_a_text_means(text: str) -> None:
    assert unescape(escape_active(text, frozenset())) == unescape(text)
    assert escape_active(text, active_constructs(text)) == text


@given(texts)
def test_a_calm_text_runs_nothing_and_holds_no_secret(text: str) -> None:
    if is_surely_clean(text):
        assert not may_have_active_content(text)
        assert list(find_secrets(text)) == []


@pytest.mark.parametrize("before", ["memory-", "pro", "1", "x.", "a+"])
@pytest.mark.parametrize("scheme", ["file:/x", "data:text/html", "javascript:x", "Obsidian:x"])
def test_a_word_that_ends_like_a_scheme_is_none(before: str, scheme: str) -> None:
    assert not may_have_active_content(f"see {before}{scheme}")
    assert dangers(f"[a]({before}{scheme})") == []
    assert may_have_active_content(f"see {scheme}")
    assert may_have_active_content(f"\u212a{scheme}")


@given(texts)
def test_nothing_dangerous_remains_by_another_reader(text: str) -> None:
    assert dangers(escape(text)) == []
    assert may_have_active_content(text) or dangers(text) == []


_RUN = re.compile(
    r"(?i)(dataview(js)?|templater[\w-]*|js-engine|meta-bind[\w-]*|execute[\w-]*)(?![\w-])"
)


class _Html(HTMLParser):
    """What a browser would do."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ACTIVE_TAGS:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if re.match(r"on\w{3}|style$|src|background$|ping$", name):
                self.found.append(f"<{tag} {name}>")
            if name == "href" and value and _leads(value):
                self.found.append(f"<{tag} href={value}>")


def _leads(target: str) -> bool:
    bare = re.sub(r"[\x00-\x20]", "", target)
    found = re.match(r"(?i)(javascript|vbscript|obsidian|file):|data:text/html", bare)
    return found is not None


def dangers(text: str) -> list[str]:
    """What another reader of markdown and HTML takes for something that runs."""
    markdown = MarkdownIt("commonmark", {"html": True})
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    found = ["<%"] if "<%" in text else []
    html = _Html()
    for block in markdown.parse(text):
        if block.type == "fence" and _RUN.match(block.info.strip(" \t{.")):
            found.append(f"fence {block.info}")
        if block.type == "html_block":
            html.feed(block.content)
        for token in block.children or ():
            target = str(token.attrGet("href") or token.attrGet("src") or "")
            if token.type == "image" and re.match(r"(?i)(?!data:image/)[a-z][\w+.-]*:|//", target):
                found.append(f"image {target}")
            if token.type == "link_open" and _leads(target):
                found.append(f"link {target}")
            if token.type == "code_inline" and token.content.strip().startswith("$="):
                found.append(f"code {token.content}")
            if token.type == "html_inline":
                html.feed(token.content)
    return found + html.found


@pytest.mark.parametrize(
    "text",
    [
        # Templates, and code that a plugin runs.
        *("<% tp.file.cursor() %>", "<%* await x %>", "```dataviewjs\ndv.x()\n```"),
        *("~~~DataviewJS\nx\n~~~", "> ```dataview\n> LIST\n> ```", "- ```templater\n  x\n  ```"),
        *("```js-engine\nx\n```", "```meta-bind-button\nx\n```", "```execute-python\nx\n```"),
        *("```&#100;ataviewjs\nx\n```", "`$= dv.pages()`", "`` $= x ``", "`\n$= x`"),
        "`INPUT[text:x]`",
        # Images that are loaded.
        *("![x](https://evil.example/p.png)", "![](//evil.example/p)"),
        *("![a [b] c](<https://evil.example/p>)", "![a `]` b](https://evil.example)"),
        *("![x][r]\n\n[r]: https://evil.example", "![r]\n\n[r]: https://evil.example"),
        "![x](&#104;ttps://evil.example)",
        # Links and addresses that run something or lead out.
        *("[x](javascript:alert(1))", "[x](JAVASCRIPT:alert(1))", "[x](javascript&colon;alert(1))"),
        *("[x](&#106;avascript:alert(1))", "[r]: &#106;avascript:x", "<javascript:x>"),
        *("[x](obsidian://open?vault=x)", "[x](obsidian:open)", "obsidian://open?vault=x"),
        *("[x](<file:///etc/passwd>)", "see file:///etc/passwd", "[x](data:text/html,<b>)"),
        # HTML.
        *("<script>x</script>", "<IFRAME src=https://x>", "<img src=x onerror=y>"),
        "<svg/onload=x>",
        *("<b onclick='x'>y</b>", '<b title=">" onclick=x>', '<a href="&#106;avascript:x">'),
        "<p style='background:url(https://x)'>",
        # What is not certainly code.
        *("%%\n```js\n%%\n<img src=x>\n```", "```js\n<img src=x>"),
        "- ```js\n  x\n<img src=x>\n```",
        "   ```\nx\n```\n\n<img src=x>\n\n```\n",
        "~~~ a`b\nx\n~~~\n\n<img src=x>\n\n~~~\n",
    ],
)
def test_what_runs_is_disarmed(text: str) -> None:
    assert active_constructs(text) != frozenset()
    safe = escape(text)
    assert safe != text
    assert dangers(safe) == []
    assert unescape(safe) == text


@pytest.mark.parametrize(
    "text",
    [
        # Prose.
        "Plain prose, with `code`, **bold** and [a link](https://example.org).",
        "Obsidian: the app. JavaScript: the language. file: a thing.",
        *("a < b, c > d, List<String>, <name>", "once = 1, only, <b>bold</b> and then on = 2"),
        *("100 % of $5 = 3, 50 %> 40", "$x = y$ and `x = $y`", "~~gone~~", "- [ ] a task: do it"),
        *("[a]: https://example.org", "unclosed ![ here", "C:\\temp\\new and \\alpha + \\[ x \\]"),
        "<b>x</b> then `href` and <a href='https://x'>y</a>",
        '<span class="icon a"></span> [[OneNote]] and online style, ping=1',
        # Pictures of the vault.
        *("![a picture](attachments/a.png) and ![[b.png]]", "![x][r]\n\n[r]: pictures/a.png"),
        "![dot](data:image/png;base64,iVBORw0KGgo=)",
        # Certainly code.
        *("```python\nprint('<b onclick=1>')\n```", "```\n[x](javascript:y)\n```"),
        "```html\n<script src='https://x'></script>\n![x](https://y)\n```\n\nafter",
        "- ```\n  a\n  ```\n\n```html\n<script>x</script>\n```",
    ],
)
def test_what_does_not_run_stays_as_it_is(text: str) -> None:
    assert escape(text) == text
    assert active_constructs(text) == frozenset()


def test_a_construct_that_may_run_stays_and_one_that_was_changed_does_not() -> None:
    mine = "```dataviewjs\nmine()\n```"
    live = active_constructs(mine)
    assert escape_active(f"{mine}\n\nmore", live) == f"{mine}\n\nmore"
    theirs = mine.replace("mine", "theirs")
    assert escape_active(theirs, live) == theirs.replace("```dataview", "```\\dataview")
    other = active_constructs("<script>b</script>")
    assert escape_active("<script>a</script>", other) == "<\\script>a</script>"
    assert escape_active("<% a", active_constructs("<% a %>")) == "<\\% a"


@pytest.mark.long(5)
def test_it_takes_no_time_over_any_text() -> None:
    dice = random.Random("vaultsync neutral")
    hostile = [bit * ((64 << 10) // len(bit)) for bit in _BITS]
    hostile += ["".join(dice.choices(_BITS, k=8)) * 1_000 for _ in range(40)]
    for text in hostile:
        began = time.process_time()
        escape(text[: 64 << 10])
        assert time.process_time() - began < 5, text[:80]


@pytest.mark.parametrize("text", ["[" * 50, "[" + "a" * 5_000, "[a`b`]"])
def test_where_brackets_that_are_deep_or_far_apart_close_is_uncertain(text: str) -> None:
    assert _closing(text, 0) is None


def test_of_many_constructs_inside_each_other_none_is_known_once_the_text_changes() -> None:
    text = "<%" * 2_000
    live = active_constructs(text)
    assert escape_active(text, live) == text
    assert escape_active(text + "x", live).endswith("<\\%x")
