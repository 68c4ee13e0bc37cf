"""The journal of a shard: the steps since it was flushed last, to be done again after a crash.

The engine's own log is not enough. Killed while it flushes, the engine keeps some points with their
old payload and a new version, or a new entry in a payload index; when it replays its log, it takes
them for current and skips what was acknowledged. Steps are idempotent, so all of them can be done
again, in order; conditions are then checked here, by the payloads.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zlib import crc32

from msgspec import MsgspecError, msgpack

from vaultsync.backends.qdrant.operations import (
    Condition,
    DeletePoints,
    IsEmpty,
    MatchAny,
    Payload,
    PointOperation,
    UpsertPoints,
)
from vaultsync.backends.replace_file import append_bytes, read_file, sync_folder

_log = logging.getLogger(__name__)

JOURNAL_FILE = "vaultsync.journal"
"""In the folder of the shard, so that a compaction replaces both together."""
MAX_BYTES = 64 << 20
"""The size in bytes from which the shard should be flushed."""
_HEAD = 8
"""Bytes before each record: its length, and its CRC-32."""


class EdgeJournal:
    """A file with a record for each call of `do()`; the folder's lock guards it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_FILE
        self._size = 0

    def add(self, steps: Sequence[PointOperation]) -> None:
        """Append steps durably, before they are done.

        Raises:
            OSError: the disk is full or broken.
        """
        record = msgpack.encode(steps, enc_hook=lambda array: [*map(float, array)])
        head = len(record).to_bytes(4, "big") + crc32(record).to_bytes(4, "big")
        is_new = not self.exists
        self._size = append_bytes(self._path, head + record, durable=True)
        if is_new:
            sync_folder(self._path.parent)

    @property
    def exists(self) -> bool:
        """Whether there is a file, even one without a whole record."""
        return self._path.exists()

    @property
    def is_long(self) -> bool:
        """Whether the shard should be flushed."""
        return self._size > MAX_BYTES

    def read(self) -> Iterator[PointOperation]:
        """The steps that may not be in the shard, without a last record that was cut off.

        Raises:
            OSError: the disk is broken, or a version of vaultsync that writes other records stopped
                before they were done.
        """
        try:
            data = memoryview(read_file(self._path))
        except FileNotFoundError:
            return
        while data:
            length, crc = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
            record, data = data[_HEAD : _HEAD + length], data[_HEAD + length :]
            if len(record) < length or crc32(record) != crc:
                _log.warning("the end of %s was cut off, and not acknowledged", self._path)
                return
            try:
                steps = msgpack.decode(record, type=list[PointOperation])
            except MsgspecError as error:
                why = "another version of vaultsync has to open the store once: it wrote"
                raise OSError(f"{why} {self._path}") from error
            yield from steps

    def clear(self) -> None:
        """Remove it, because the shard was flushed; idempotent."""
        self._path.unlink(missing_ok=True)
        self._size = 0


def without_condition(step: PointOperation, stored: Mapping[str, Payload]) -> PointOperation:
    """A step whose conditions are decided.

    Args:
        step: to be done again.
        stored: the payloads of those of its points that exist, by id.
    """
    if isinstance(step, DeletePoints):
        return step
    return UpsertPoints([each for each in step.points if _writes(step, stored.get(each.id))])


def _writes(step: UpsertPoints, stored: Payload | None) -> bool:
    """Whether a step writes a point, given what is stored of it."""
    if stored is None:
        return step.mode != "known"
    if step.mode == "new":
        return False
    return step.only_if is None or all(_holds(each, stored) for each in step.only_if.must)


def _holds(condition: Condition, stored: Payload) -> bool:
    value = stored.get(condition.key)
    if isinstance(condition, IsEmpty):
        return value is None or value == []
    if isinstance(condition, MatchAny):
        return any(x in condition.values for x in (value if isinstance(value, list) else [value]))
    least, most, below = condition.least, condition.most, condition.below
    return (
        isinstance(value, (int, float))
        and (least is None or value >= least)
        and (most is None or value <= most)
        and (below is None or value < below)
    )
