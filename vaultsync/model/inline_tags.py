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
        for found in _INLINE_TAG.finditer(_HIDDEN.sub(" ", text)):
            if not found[1].isdecimal():
                yield found[1]
