"""The contract of a remote that mirrors modules, and what goes to it and comes from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from math import isfinite
from typing import Protocol

from msgspec import Struct, json

MIN_CONFIDENCE = 0.4
"""Confidence from which an answer of a remote is taken."""
MAX_REMOTE_CHARS = 1 << 20
"""Characters of an answer; a longer one is none."""
_HEADER = re.compile(
    r"\A\[module (?P<chunk>\S+) space=(?P<space>\S+) checksum=(?P<checksum>[0-9a-f]{64}|removed)"
    r" record=(?P<digest>[0-9a-f]{64})\]"
    r"(?:\n+|\Z)"
)


class MirrorError(Exception):
    """A remote did not answer, or not as it should; the reason goes into the backlog."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class MirrorRefusedError(MirrorError):
    """The remote does not take a module, however often it is sent."""


class RemoteRecord(Struct, frozen=True):
    """A module as a remote has it: redacted, because it leaves the machine."""

    chunk_id: str
    topic: str
    title: str
    tags: tuple[str, ...]
    text: str
    checksum: str
    """SHA-256 of the module's file."""
    updated_at: str = ""
    updated_by: str = ""

    @property
    def digest(self) -> str:
        """What changes when anything of it does that the remote has to know."""
        values = (self.chunk_id, self.topic, self.title, self.tags, self.text, self.checksum)
        return sha256(json.encode(values)).hexdigest()


class RemoteQuery(Struct, frozen=True):
    """What a remote is asked for."""

    chunk_ids: tuple[str, ...]
    tags: tuple[str, ...] = ()
    text: str = ""
    """Words, for a remote with semantic search."""


class RemoteHit(Struct, frozen=True):
    """What a remote answers; it may be wrong, or made up."""

    text: str
    confidence: float
    chunk_id: str | None = None
    """None where the remote does not know."""
    checksum: str | None = None
    remote_id: str | None = None
    digest: str | None = None
    """That of the record which it was stored as, from a remote that is not verbatim."""


class Remote(Protocol):
    """A place that mirrors the modules of a space.

    A method waits for an answer no longer than the time-out of the settings. What a remote
    answers is not trusted: `checked_hits()` tells what can be used.
    """

    @property
    def name(self) -> str:
        """What it is called in messages, without a secret."""
        ...

    @property
    def verbatim(self) -> bool:
        """Whether it gives back what it was given, and names the checksum; some digest it."""
        ...

    def store(self, space: str, record: RemoteRecord) -> str:
        """Store a module in place of an earlier version; returns the remote's id.

        A second call with the same record changes nothing more.

        Raises:
            MirrorError: it is not known whether the remote has it.
            MirrorRefusedError: the remote does not take it.
        """
        ...

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        """What the remote has of some chunks.

        Raises:
            MirrorError: the remote did not answer.
        """
        ...

    def remove(self, space: str, chunk_id: str) -> None:
        """Remove a module; nothing happens where there is none.

        Raises:
            MirrorError: it is not known whether the remote still has it.
        """
        ...

    def close(self) -> None:
        """Close connections; harmless when repeated."""
        ...


def with_header(space: str, record: RemoteRecord, *, title: bool = True) -> str:
    """The text of a module for a remote that has texts only: a line says what it is.

    With `title`, the title follows, which helps to find it.
    """
    checksum = record.checksum or "removed"
    head = f"[module {record.chunk_id} space={space} checksum={checksum}"
    head += f" record={record.digest}]"
    first = f"{record.title}\n\n" if title and record.title else ""
    return f"{head}\n\n{first}{record.text}" if record.text else head


def from_header(space: str, text: str, confidence: float, remote_id: str | None) -> RemoteHit:
    """A hit with what the line says that `with_header()` wrote, where it is there.

    A hit of another space has no chunk and no confidence.
    """
    found = _HEADER.match(text)
    if found is None:
        return RemoteHit(text, confidence, remote_id=remote_id)
    if found["space"] != space or found["checksum"] == "removed":
        return RemoteHit("", 0.0)
    return RemoteHit(
        text[found.end() :],
        confidence,
        found["chunk"],
        found["checksum"],
        remote_id,
        found["digest"],
    )


def usable(hit: RemoteHit) -> bool:
    """Whether a hit has a possible confidence and a text of possible length."""
    is_number = isinstance(hit.confidence, int | float) and isfinite(hit.confidence)
    return is_number and 0 <= hit.confidence <= 1 and 0 < len(hit.text) <= MAX_REMOTE_CHARS
