"""Valid and random frontmatter for property tests."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from vaultsync.markdown.frontmatter import (
    NoteParts,
    edit_properties,
    read_properties,
    split_frontmatter,
)
from vaultsync.markdown.yaml.writer import emit_property
from vaultsync.model.schema import Value

PATH = "public/a.md"


fences = st.text(alphabet="-\ufeff \t\r\nab:", max_size=40)
words = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        *("yes", "~", "null", "1.10", "012", "1e3", "12:30:45"),
        *("2026-02-14", "2026-02-30", "2026-02-14T13:45:00Z"),
        *("[[Convex]]", "a: b", "a #b", "- a", "{{date}}", "a\nb\n", "a\n\n  # b", " a", "a "),
        *("\x85", "\u2028", "\ufeff", "\x7f", "\x00"),
        *("0193f6c2-1234-7abc-8def-0123456789ab", ".nan", "=", "<<", "!a", "&a", "*a"),
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(words.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = words.filter(lambda key: key != "<<")
names = st.from_regex(r"\A[a-z][a-zA-Z0-9_-]{0,7}\Z")


def note(yaml: str, body: str = "body\n") -> NoteParts:
    return split_frontmatter(f"---\n{yaml}---\n{body}")


def edited(parts: NoteParts, changes: Mapping[str, Value]) -> NoteParts:
    return edit_properties(parts, changes, PATH, before=read_properties(parts, PATH))


def written(values: Mapping[str, Value], eol: str = "\n") -> str:
    """A complete frontmatter with both fences, as in new notes."""
    lines = [emit_property(key, value) for key, value in values.items()]
    return f"---\n{''.join(lines)}---\n".replace("\n", eol)


def same(left: object, right: object) -> bool:
    """Whether values are equal in type, value and order, unlike `==`."""
    return repr(left) == repr(right)


# Ways to write a value after `key:`; the flag says whether a comment may follow.
SPELLINGS: list[tuple[str, bool]] = [
    *(("", True), (" 5", True), (" plain text", True), (" a:b#c", True), (" - 5"[2:], True)),
    *((' "double # quoted\\" "', True), (" 'single # ''quoted'''", True)),
    *((" [a, 'b # c', [d]]", True), (' {x: 1, "y": [2]}', True), (" ~", True)),
    (" |\n  a: 1\n  # no comment\n  ---\n\n  k0: 2", False),
    (" >-  # folded\n  one\n  two", False),
    *((" |+\n  kept\n\n", False), (" plain\n  over lines", False)),
    (' "quoted\n  # no comment\n  end"', False),
    *((" 'quoted\n\n  end'", False), (" [a,\n  b, # c\n  c]", True)),
    ("\n  - a\n  # between\n  - b # c\n\n  - 'c'", True),
    ("\n- a\n- b", True),
    ("\n  - k: 1\n    l: 2\n  - |\n    text\n    # no comment", False),
    *(("\n  x: 1\n  y:\n    - 2", False), ('\n  "below"', True)),
]
KEY_SPELLINGS = ["{}:", '"{}":', "'{}':", "{} :"]


@st.composite
def frontmatters(draw: st.DrawFn) -> str:
    """The lines of a valid frontmatter, as people and programs write them."""
    lines = []
    for key in draw(st.lists(names, max_size=6, unique=True)):
        value, comment = draw(st.sampled_from(SPELLINGS))
        spelled = draw(st.sampled_from(KEY_SPELLINGS)).format(key)
        tail = draw(st.sampled_from(["", "  # why", " "])) if comment else ""
        below = draw(st.sampled_from(["", "", "\n", "# aside\n", "  # indented\n"]))
        if value.startswith((" |", " >")) or "# no comment" in value:
            below = below.lstrip(" ")
        lines.append(f"{spelled}{value}{tail}\n{below}")
    return "".join(lines)


@st.composite
def notes(draw: st.DrawFn) -> NoteParts:
    yaml = draw(frontmatters())
    body = draw(st.sampled_from(["", "body", "---\n", "\n# T\n\n---\nid: x\n---\n"]))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    fence = draw(st.sampled_from(["---", "--- \t"]))
    text = f"{fence}\n{yaml}{fence}\n{body}"
    return split_frontmatter(mark + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))))


yamlish = st.lists(
    st.sampled_from(
        [
            *"ab:-?[]{},&*!|>'\"#%@`<~ \n\t\r\\\x00\x85\ufeff\u2028é",
            *("a: ", "b: ", "- ", "? ", "  ", "a: 1\n", "<<: ", "&x ", "*x", "!t "),
            *("...\n", "|\n", "---", "{{a}}", "1: ", "%YAML 1.1\n", "\\u", ".inf"),
            *("0x", "a: 'b\n", 'b: "', "\n  "),
        ]
    ),
    max_size=24,
).map("".join)
"""Random text from fragments of YAML."""
