"""The conflict markers of git in a note."""

from __future__ import annotations

from vaultsync.markdown.blocks import fenced_lines


def conflict_marker_line(data: bytes) -> int | None:
    """The line where the first conflict of git begins, outside fenced code; None without one.

    Args:
        data: a note; the markers may have broken its frontmatter.
    """
    if b"<<<<<<< " not in data or b">>>>>>> " not in data:
        return None
    text = data.decode(errors="replace").replace("\r\n", "\n")
    begun, is_divided = 0, False
    for number, line in enumerate(fenced_lines(text), 1):
        words = "" if line.code else text[line.start : line.end].rstrip("\n")
        if words.startswith("<<<<<<< "):
            begun, is_divided = number, False
        elif begun and words == "=======":
            is_divided = True
        elif is_divided and words.startswith(">>>>>>> "):
            return begun
    return None
