from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.canonical import (
    FOREVER,
    NEVER,
    clean_time,
    from_microseconds,
    tag_key,
    tag_keys_with_parents,
    to_microseconds,
)

TIMES = st.datetimes(
    min_value=datetime.fromisoformat("0001-01-02"),
    max_value=datetime.fromisoformat("9999-12-30"),
    timezones=st.timezones(),
)


@given(TIMES, TIMES)
def test_moments_grow_with_time_wherever_it_was_told(one: datetime, other: datetime) -> None:
    first, second = to_microseconds(one.isoformat()), to_microseconds(other.isoformat())
    assert (first < second) == (one.astimezone(UTC) < other.astimezone(UTC))
    assert NEVER < first < FOREVER


@given(TIMES)
def test_a_moment_is_told_as_facts_spell_it(when: datetime) -> None:
    made = to_microseconds(clean_time("createdAt", when.isoformat()))
    assert to_microseconds(from_microseconds(made)) == made == to_microseconds(when.isoformat())


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30"])
def test_what_is_no_time_is_before_all(text: str) -> None:
    assert to_microseconds(text) == NEVER
    assert from_microseconds(NEVER) == ""


def test_a_tag_is_also_each_one_above_it() -> None:
    assert tag_keys_with_parents(["#A/b/C", "a", "ß"]) == {"a", "a/b", "a/b/c", "ss"}
    assert tag_keys_with_parents([]) == set()
    assert tag_key("##Hot") == "hot"
