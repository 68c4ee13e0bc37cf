"""Bytes that take less room, and are found wherever they lie."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.storage.packed_bytes import HEADER, MIN_PACKED_BYTES, pack, packed_in, unpack

PROSE = ("The heron of the pond is grey, and nobody knows when it came. " * 40).encode()
NOISE = random.Random(1).randbytes(4_000)


@given(st.binary(max_size=2_000) | st.binary(max_size=40).map(lambda x: x * 300))
def test_what_is_packed_is_what_it_was(data: bytes) -> None:
    assert unpack(pack(data)) == data
    assert len(pack(data)) <= max(len(data), len(HEADER) + len(data) + 64)


@pytest.mark.parametrize("data", [b"", b"short", PROSE[: MIN_PACKED_BYTES - 1], NOISE])
def test_what_is_short_or_does_not_shrink_stays_as_it_is(data: bytes) -> None:
    assert pack(data) == data


def test_prose_takes_less_than_half() -> None:
    assert len(pack(PROSE)) * 2 < len(PROSE)


@pytest.mark.parametrize("data", [HEADER, HEADER + b"x" * 700, HEADER + NOISE])
def test_bytes_that_look_packed_are_packed(data: bytes) -> None:
    assert pack(data) != data
    assert unpack(pack(data)) == data


def test_damaged_bytes_are_no_text() -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack(pack(PROSE)[:-9])


def test_packed_bytes_are_found_in_a_file_as_far_as_they_can_be_read() -> None:
    packed = pack(PROSE)
    file = b"page" + packed + b"\x00" * 70 + HEADER + b"no stream" + packed[:-30]
    whole, empty, part = packed_in(file)
    assert (whole, empty) == (PROSE, b"")
    assert part
    assert PROSE.startswith(part)


def test_long_contents_are_read_in_steps() -> None:
    long = random.Random(2).randbytes(300_000) + PROSE * 50
    assert next(packed_in(b"x" + pack(long) + b"y")) == long
    part = next(packed_in(pack(long)[:200_000]))
    assert long.startswith(part)
    assert len(part) > 100_000
