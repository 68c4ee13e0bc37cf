"""The contract of a remote that mirrors modules, and its records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from math import isfinite
from typing import Protocol

from msgspec import Struct, json

MIN_CONFIDENCE = 0.4
"""The default minimum confidence of an answer that is used."""
MAX_REMOTE_CHARS = 1 << 20
"""Maximum length of an answer in characters; longer ones are ignored."""
_HEADER = re.compile(
    r"\A\[module (?P<chunk>.{1,300}?) space=(?P<space>.{1,300}?)"
    r" checksum=(?P<checksum>[0-9a-f]{64}|removed) record=(?P<digest>[0-9a-f]{64})\]"
    r"(?:\n+|\Z)"
)


class MirrorError(Exception):
    """A remote did not answer, or gave an invalid answer; the reason goes into the backlog."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class MirrorRefusedError(MirrorError):
    """The remote refuses a module permanently."""


class RemoteRecord(Struct, frozen=True):
    """A module as sent to a remote: redacted, because it leaves the machine."""

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
        """A hash of all values that the remote should store."""
        values = (self.chunk_id, self.topic, self.title, self.tags, self.text, self.checksum)
        return sha256(json.encode(values)).hexdigest()


class RemoteQuery(Struct, frozen=True):
    """A query to a remote."""

    chunk_ids: tuple[str, ...]
    tags: tuple[str, ...] = ()
    text: str = ""
    """Words, for a remote with semantic search."""


class RemoteHit(Struct, frozen=True):
    """An untrusted answer of a remote."""

    text: str
    confidence: float
    chunk_id: str | None = None
    """None if the remote does not know."""
    checksum: str | None = None
    remote_id: str | None = None
    digest: str | None = None
    """The digest of the stored record, from a remote that is not verbatim."""


class Remote(Protocol):
    """A place that mirrors the modules of a space.

    Methods wait for an answer no longer than the configured time-out. Answers are not trusted:
    `usable()` filters them.
    """

    name: str
    """Its name in messages, without secrets."""
    verbatim: bool
    """Whether it returns texts unchanged and with their checksum; some remotes rewrite them."""

    def store(self, space: str, record: RemoteRecord) -> str:
        """Store a module, replacing an earlier version; returns the remote's id.

        A second call with the same record changes nothing.

        Raises:
            MirrorError: it is not known whether the remote has stored it.
            MirrorRefusedError: the remote refuses it.
        """
        ...

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        """The hits for some chunks.

        Raises:
            MirrorError: the remote did not answer.
        """
        ...

    def remove(self, space: str, chunk_id: str) -> None:
        """Remove a module; does nothing if there is none.

        Raises:
            MirrorError: it is not known whether the remote still has it.
        """
        ...

    def close(self) -> None:
        """Close connections; idempotent."""
        ...


def with_header(space: str, record: RemoteRecord, *, title: bool = True) -> str:
    """The text of a module for a remote of plain texts, with a header line that identifies it.

    With `title`, the title follows, which helps to find it.
    """
    checksum = record.checksum or "removed"
    head = f"[module {record.chunk_id} space={space} checksum={checksum}"
    head += f" record={record.digest}]"
    first = f"{record.title}\n\n" if title and record.title else ""
    return f"{head}\n\n{first}{record.text}" if record.text else head


def from_header(space: str, text: str, confidence: float, remote_id: str | None) -> RemoteHit:
    """A hit with the values of its header line, if `with_header()` wrote one.

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
    """Whether the confidence and the text length of a hit are valid."""
    is_number = isinstance(hit.confidence, int | float) and isfinite(hit.confidence)
    return is_number and 0 <= hit.confidence <= 1 and 0 < len(hit.text) <= MAX_REMOTE_CHARS
