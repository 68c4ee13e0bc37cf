"""Find encoded data in a text, such as a picture in base64 or a drawing of Excalidraw.

It has no words to read or to search for, but a page of it takes more vectors and tokens than a
page of prose, so it is left out of indexes and of what is put into a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultsync.model.lazy_pattern import lazy_pattern

_FEWEST = 100
"""Minimum number of characters of a line of encoded data."""
_RUN = rf"[A-Za-z0-9+/]{{{_FEWEST},}}={{0,2}}"
_AS_RUNS = bytes(
    b" x"[each in b"+/" or (chr(each).isascii() and chr(each).isalnum())] for each in range(256)
)
"""A translation table: characters of encoded data become an x, all others a blank."""
_DATA = lazy_pattern(rf"(?<![A-Za-z0-9+/]){_RUN}(?:\s+{_RUN})*")
_MIXED = lazy_pattern(r"(?=[^0-9]*[0-9])(?=[^A-Z]*[A-Z])[^a-z]*[a-z]")
"""Letters of both cases and a digit; a hash or a line of one character has not all of them."""
_MAX_SLASHES = 1 / 16
"""Base64 has one slash in 64 characters; a path has more."""


def replace_encoded_data(text: str, replacement: Callable[[int], str]) -> str:
    """The text with each passage of encoded data replaced.

    Args:
        text: markdown.
        replacement: called with the length of the passage, in characters.
    """
    runs = text.encode(errors="surrogatepass").translate(_AS_RUNS)
    if b"x" * _FEWEST not in runs:
        return text  # as nearly always; the pattern takes much longer

    def replaced(found: re.Match[str]) -> str:
        data = found[0]
        is_path = data.count("/") > _MAX_SLASHES * len(data)
        return data if is_path or not _MIXED.match(data) else replacement(len(data))

    return _DATA.sub(replaced, text)


def without_encoded_data(text: str) -> str:
    """The text with a blank in place of each passage of encoded data."""
    return replace_encoded_data(text, lambda _: " ")
