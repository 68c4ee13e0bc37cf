"""A table of tokens in tiktoken's format, small enough for a test."""

from __future__ import annotations

import base64

JOINED = (b"th", b"he", b"the", b" the", b"in", b"ing", b"er", b"  ", b"##")
"""The tokens of the table, in addition to single bytes."""


def small_table() -> bytes:
    """A table with all bytes and a few words; each line has a token in base64 and its rank."""
    tokens = [bytes([byte]) for byte in range(256)] + list(JOINED)
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    return b"".join(lines)
