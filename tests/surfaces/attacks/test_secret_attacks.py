"""Of secrets of many kinds, in many places and scripts, nearly all are found; of the rest, none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.surfaces.attacks.secret_attacks import (
    CONTEXTS,
    SCRIPTS,
    SecretAttack,
    attacks,
    harmless,
    innocent_lines,
    is_held_out,
    kinds,
)
from vaultsync.privacy.detection import find_secrets, merge_spans

pytestmark = pytest.mark.long(5)

ROOT = Path(__file__).resolve().parents[3]
LEAST_FOUND = 0.98
MOST_FALSE = 0.005
FEW_IN_A_KIND = 0.5


def _is_hidden(attack: SecretAttack) -> bool:
    """Whether nothing of a secret that matters is left."""
    at, size = attack.text.index(attack.secret), len(attack.secret)
    spans = merge_spans(list(find_secrets(attack.text)))
    return any(s.start <= at + size // 4 and at + size <= s.end for s in spans)


def _share_found(many: Iterable[SecretAttack]) -> tuple[float, list[SecretAttack]]:
    tried = list(many)
    missed = [each for each in tried if not _is_hidden(each)]
    return 1 - len(missed) / len(tried), missed


def test_there_are_enough_kinds_and_contexts_and_half_of_the_pairs_is_held_out() -> None:
    assert len(kinds()) >= 500
    assert len(CONTEXTS) >= 30
    assert len(SCRIPTS) == 4
    pairs = [is_held_out(kind, context) for kind in kinds() for context in CONTEXTS]
    assert 0.45 < sum(pairs) / len(pairs) < 0.55


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize(
    "script", ["Cyrillic", *(pytest.param(x, marks=pytest.mark.slow) for x in SCRIPTS)]
)
def test_nearly_all_secrets_are_found_in_all_contexts(script: str, *, held_out: bool) -> None:
    share, missed = _share_found(attacks(script, held_out=held_out))
    assert share >= LEAST_FOUND, missed[:20]


def test_no_kind_and_no_context_is_left_out() -> None:
    both = [each for held in (False, True) for each in attacks("Han", held_out=held)]
    _, missed = _share_found(both)
    for name, all_names in (
        ("kind", [each.kind for each in both]),
        ("context", [each.context for each in both]),
    ):
        lost = [getattr(each, name) for each in missed]
        often = {x for x in lost if lost.count(x) > FEW_IN_A_KIND * all_names.count(x)}
        assert not often, often


def test_of_lines_that_only_look_like_secrets_hardly_any_is_taken_for_one() -> None:
    lines = list(harmless(6_000))
    for held_out in (False, True):
        half = [line for number, line in lines if (number % 2 == 1) is held_out]
        found = [line for line in half if next(find_secrets(line), None)]
        assert len(found) <= MOST_FALSE * len(half), found[:20]


def test_lines_about_secrets_as_they_stand_in_notes_are_not_taken_for_some() -> None:
    lines = innocent_lines()
    found = [line for line in lines if next(find_secrets(line), None)]
    assert len(lines) >= 300
    assert len(found) <= MOST_FALSE * len(lines), found


def test_no_line_of_the_docs_and_of_the_sample_vault_is_taken_for_a_secret() -> None:
    pages = [page for name in ("docs", "sample-vault") for page in (ROOT / name).rglob("*.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    found = [line for line in lines if next(find_secrets(line), None)]
    assert len(lines) >= 10_000
    assert len(found) <= MOST_FALSE / 10 * len(lines), found
