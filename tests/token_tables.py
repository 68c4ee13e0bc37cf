"""A table of tokens as tiktoken has it, small enough to be made in a test."""

from __future__ import annotations

import base64

JOINED = (b"th", b"he", b"the", b" the", b"in", b"ing", b"er", b"  ", b"##")
"""What the table joins, besides single bytes."""


def small_table() -> bytes:
    """All bytes and a few words, a line each: the token in base64 and its rank."""
    tokens = [bytes([byte]) for byte in range(256)] + list(JOINED)
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    return b"".join(lines)
