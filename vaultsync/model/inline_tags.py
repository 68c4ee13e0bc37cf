"""The tags in the text of a fact, such as `#recipe`, which Obsidian takes for tags of the note.

Loaded for texts with a number sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vaultsync.model.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from vaultsync.model.fact import Fact

# In Obsidian a tag ends at any ASCII punctuation but `-`, `_` and `/`, and at that of the
# Unicode blocks of general and supplemental punctuation. What stands before it is looked at
# behind the sign: a pattern that begins with a fixed character is found much faster.
_INLINE_TAG = lazy_pattern(
    r"#(?<!\S#)([^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)"
)
# No alternative reads on behind where another one may begin, so that matching takes linear time.
_HIDDEN = lazy_pattern(
    r"^[ \t>]*(?>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?:(`{3,})(?=[^`\n]*$)|(~{3,}))"
    r"(?s:.*?)(?:^[ \t>]*(?:\1|\2)|\Z)"
    r"|(?<!`)`(?:[^`\n]|\n(?![ \t>]*\n))+`|``(?:[^`\n]|`(?!`)|\n(?![ \t>]*\n))+``"
    r"|<!--(?s:.*?)(?:-->|\Z)|%%(?s:.*?)%%|\$\$(?s:.*?)\$\$|\$(?=\S)[^$\n]*(?<=\S)\$(?!\d)"
    r"|\[\[[^\[\]\n]*\]\]|\[[^\[\]\n]*\]\([^()\n]*\)",
    re.MULTILINE,
)
"""Code, comments, math and links, in which Obsidian takes nothing for a tag."""

_INDENTED = lazy_pattern(r"^(?: {4}| {0,3}\t)[^\n#]*#", re.MULTILINE)
"""A line that may be indented code, with a number sign."""
_CONTAINER = lazy_pattern(r"(?:[-*+]|\d{1,9}[.)])(?=\s)|\[\^[^\]\s]+\]:")
"""The beginning of a list item or a footnote, whose text may be indented."""
_NO_PARAGRAPH = lazy_pattern(r"#{1,6}\s|`{3}|~{3}|(?:-[ \t]*){3,}$|(?:[*][ \t]*){3,}$")
"""The beginning of a line that no indented line continues."""


def may_be_tagged(fact: Fact) -> set[str]:
    """The tags of a fact, and perhaps others: what looks like a tag may be in code."""
    return {*fact.tags, *_INLINE_TAG.findall(fact.content)}


def all_tags(fact: Fact) -> Iterator[str]:
    """The tags of a fact: those of the field, and those in its text."""
    yield from fact.tags
    yield from text_tags(fact.content)


def text_tags(text: str) -> Iterator[str]:
    """The tags in a text, without `#`."""
    if _INLINE_TAG.search(text):
        shown = _without_indented_code(text) if _INDENTED.search(text) else text
        for found in _INLINE_TAG.finditer(_HIDDEN.sub(" ", shown)):
            if not found[1].isdecimal():
                yield found[1]


def _without_indented_code(text: str) -> str:
    """A text without the number signs of indented code outside lists and footnotes."""
    kept: list[str] = []
    in_container = in_paragraph = False
    for line in text.expandtabs(4).split("\n"):
        words = line.strip()
        is_indented = line.startswith("    ")
        is_code = is_indented and not (in_container or in_paragraph)
        is_text = bool(words) and not (is_code or _NO_PARAGRAPH.match(words))
        if words and not is_indented:
            continues = line[0] == " " or (in_paragraph and is_text)
            in_container = bool(_CONTAINER.match(words)) or (in_container and continues)
        in_paragraph = is_text
        kept.append(line.replace("#", "") if is_code else line)
    return "\n".join(kept)
