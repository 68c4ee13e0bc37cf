"""The table is total, and what holds for all of it holds for each of its rows."""

from __future__ import annotations

from itertools import product

import pytest

from vaultsync.sync.changes import StoreChange as S
from vaultsync.sync.changes import VaultChange as V
from vaultsync.sync.decision_table import (
    DECISIONS_WITH_BASE,
    DECISIONS_WITHOUT_BASE,
    ActionKind,
    decide,
)

WITH_BASE = set(V) - {V.NONE, V.CREATED, V.FOREIGN, V.EQUAL}
WITHOUT_BASE = {V.NONE, V.CREATED, V.FOREIGN, V.UNREADABLE, V.UNSETTLED}
STORE_WITH_BASE = set(S) - {S.NONE, S.CREATED, S.TOMBSTONE}
DESTROYS = {ActionKind.DELETE_FACT, ActionKind.DELETE_NOTE, ActionKind.DROP_BASE}
IDLE = {ActionKind.NOTHING, ActionKind.WAIT, ActionKind.NEEDS_REVIEW}


def test_every_pair_of_a_fact_with_a_base_has_a_row() -> None:
    assert set(DECISIONS_WITH_BASE) == set(product(WITH_BASE, STORE_WITH_BASE))
    for vault, store in DECISIONS_WITH_BASE:
        assert decide(vault, store, base=True) is DECISIONS_WITH_BASE[vault, store]


def test_every_pair_of_a_fact_without_a_base_has_a_row() -> None:
    stores = {S.NONE, S.CREATED, S.TOMBSTONE, S.UNAVAILABLE}
    equal = (V.EQUAL, S.CREATED)  # to what the store has
    assert set(DECISIONS_WITHOUT_BASE) == {*product(WITHOUT_BASE, stores), equal}


@pytest.mark.parametrize("change", [V.UNREADABLE, V.UNSETTLED, V.UNKNOWN, V.COPIED])
def test_what_cannot_be_known_is_never_acted_on(change: V) -> None:
    for table in (DECISIONS_WITH_BASE, DECISIONS_WITHOUT_BASE):
        assert all(row.do in IDLE for pair, row in table.items() if pair[0] is change)


def test_nothing_is_done_without_the_store() -> None:
    for table in (DECISIONS_WITH_BASE, DECISIONS_WITHOUT_BASE):
        for (_, store), row in table.items():
            if store is S.UNAVAILABLE:
                assert row.do in IDLE


def test_an_edit_beats_a_deletion_in_both_directions() -> None:
    assert DECISIONS_WITH_BASE[V.MODIFIED, S.DELETED].do is ActionKind.REVIVE_FACT
    assert DECISIONS_WITH_BASE[V.DELETED, S.MODIFIED].do is ActionKind.RECREATE_NOTE


def test_a_fact_is_deleted_only_for_a_note_that_was_looked_for_twice() -> None:
    for (vault, _), row in DECISIONS_WITH_BASE.items():
        if row.do is ActionKind.DELETE_FACT:
            assert vault is V.DELETED


def test_a_note_is_deleted_only_for_a_tombstone_and_never_when_edited() -> None:
    for (vault, store), row in DECISIONS_WITH_BASE.items():
        if row.do is ActionKind.DELETE_NOTE:
            assert store is S.DELETED
            assert vault in (V.UNCHANGED, V.REFORMATTED, V.MOVED)


def test_a_fact_the_store_lost_deletes_nothing() -> None:
    for vault in WITH_BASE - {V.DELETED}:
        assert DECISIONS_WITH_BASE[vault, S.MISSING].do not in DESTROYS


def test_without_a_base_nothing_is_destroyed() -> None:
    for row in DECISIONS_WITHOUT_BASE.values():
        assert row.do not in DESTROYS


def test_the_same_meaning_is_no_reason_to_write() -> None:
    quiet = {ActionKind.NOTHING, ActionKind.RECORD}
    for vault, store in product((V.UNCHANGED, V.REFORMATTED, V.MOVED), (S.UNCHANGED, S.TOUCHED)):
        assert DECISIONS_WITH_BASE[vault, store].do in quiet


def test_every_reason_is_a_sentence_for_a_report() -> None:
    for row in (*DECISIONS_WITH_BASE.values(), *DECISIONS_WITHOUT_BASE.values()):
        assert row.reason[0].islower()
        assert not row.reason.endswith(".")
