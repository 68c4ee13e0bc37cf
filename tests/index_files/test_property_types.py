"""The types of our properties in Obsidian: what is missing is added, what is there stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.index_files.property_types import (
    PROPERTY_TYPES,
    PropertyClash,
    typed_properties,
    with_missing_types,
)

OF_OBSIDIAN = {*("text", "multitext", "number", "checkbox", "date", "datetime", "tags", "aliases")}


def test_each_property_has_a_type_that_obsidian_knows() -> None:
    assert set(PROPERTY_TYPES.values()) == OF_OBSIDIAN
    some = {
        "createdAt": "datetime",
        "updatedAt": "datetime",
        "commitmentDueDate": "date",
        "entities": "multitext",
    }
    some |= {"priority": "number", "observationCompressed": "checkbox", "status": "text"}
    assert some.items() <= PROPERTY_TYPES.items()


@given(
    st.dictionaries(
        st.sampled_from([*PROPERTY_TYPES, "mine"]), st.sampled_from(sorted(OF_OBSIDIAN))
    ),
    st.dictionaries(st.sampled_from(["other"]), st.integers()),
)
def test_what_obsidian_has_is_never_changed(types: dict[str, str], more: dict[str, int]) -> None:
    before = json.dumps({**more, "types": types})

    after = with_missing_types(before)

    assert json.loads(after) == {**more, "types": {**PROPERTY_TYPES, **types}}
    assert with_missing_types(after) == after
    assert not typed_properties(after).missing
    assert typed_properties(after).clashes == typed_properties(before).clashes


def test_half_of_a_character_stays_escaped() -> None:
    before = r'{"types": {"mine \ud83d": "text"}}'
    assert r'"mine \ud83d"' in with_missing_types(before).encode().decode()


def test_a_clash_is_a_type_that_cannot_show_the_values() -> None:
    types = {"tags": "tags", "entities": "text", "createdAt": "text", "priority": "date"}

    assert typed_properties(json.dumps({"types": types})).clashes == (
        PropertyClash("priority", "number", "date"),
        PropertyClash("entities", "multitext", "text"),
    )


@pytest.mark.parametrize("text", ["[]", "{", '{"types": 3}', "[" * 100_000])
def test_what_obsidian_did_not_write_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"no types|Expecting"):
        with_missing_types(text)


@pytest.mark.parametrize("text", [None, "", "{}"])
def test_without_a_file_all_types_are_missing(text: str | None) -> None:
    assert json.loads(with_missing_types(text)) == {"types": dict(PROPERTY_TYPES)}
