"""The rules tell what matters, in four languages, and say why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.eval.tiers import print_tiers, tier_figures
from vaultsync.observations.classifier import BACKGROUND, CRITICAL, NOTABLE, ObservedText
from vaultsync.observations.compression import MAX_WORDS, compress
from vaultsync.observations.labelled import LabelledText, shipped_examples
from vaultsync.observations.rules import RuleClassifier
from vaultsync.observations.text_features import letter_groups, word_pairs


def _tier(text: str) -> str | None:
    return RuleClassifier().classify([ObservedText(text)])[0]


@pytest.mark.parametrize(
    "text",
    [
        "We decided to move the harbour API to SQLite.",
        "Wir haben beschlossen, den Server zu tauschen.",
        "Le serveur est en panne depuis ce matin.",
        "La base de datos se cayó anoche.",
        "バックアップが失敗しました。",
        "12:01 ERROR the backup failed",
        "The supplier wants a payment of 4,000 EUR more for the contract.",
    ],
)
def test_decisions_failures_and_money_are_critical(text: str) -> None:
    assert _tier(text) == CRITICAL


def test_the_error_that_ends_a_long_log_is_critical() -> None:
    log = "".join(f"[12:00:{n % 60:02}] INFO request {n} took {n % 500} ms\n" for n in range(2_000))
    assert _tier(log) == BACKGROUND
    assert _tier(f"{log}ERROR database connection lost, 12 orders were not saved\n") == CRITICAL
    assert _tier(f"FATAL: disk full\n{log}") == CRITICAL


@pytest.mark.parametrize(
    "text",
    [
        "Learned that retries hide timeouts.",
        "Mara prefers short mails.",
        "Die Ladezeit sank, das Bild ist halbiert.",
        "The importer is 40 % faster with the new index.",
    ],
)
def test_lessons_people_and_outcomes_are_notable(text: str) -> None:
    assert _tier(text) == NOTABLE


@pytest.mark.parametrize(
    "text",
    [
        "Opened the settings file.",
        "Good morning everyone!",
        "No incident tonight.",
        "errors: 0, failures: 0",
        "We decided on pizza for lunch.",
        "Did we decide anything?",
        "",
    ],
)
def test_routine_denials_small_subjects_and_questions_are_background(text: str) -> None:
    assert _tier(text) == BACKGROUND


@given(st.sampled_from(shipped_examples()))
def test_the_first_reason_speaks_for_the_tier(example: LabelledText) -> None:
    text = ObservedText(example.text)
    first = RuleClassifier().explain(text)[:1]

    assert all(each.startswith(f"{_tier(example.text)}: ") for each in first)


def test_the_reasons_are_the_signals_of_the_tier_strongest_first_and_then_others() -> None:
    text = ObservedText("We decided to close the shop. Good to know: 3 % fewer.")

    reasons = RuleClassifier().explain(text)

    assert reasons[0] == "critical: decision (decided)"
    assert "notable: lesson (good to know)" in reasons
    assert reasons[-1] == "notable: figure (3 %)"


def test_the_shipped_weights_are_those_of_the_fit() -> None:
    found = tier_figures(RuleClassifier())  # on texts that were fitted

    assert found.macro_f1 >= 0.97
    assert found.critical_recall >= 0.97
    assert found.compressed >= 0.85


def test_the_words_that_count_most_are_told_after_the_signals_of_the_tier() -> None:
    *_, last = RuleClassifier().explain(ObservedText("Thanks, good morning everyone!"))

    assert last.startswith("background: words (")
    assert "good" in last
    assert RuleClassifier().explain(ObservedText("")) == ()


def test_groups_of_letters_go_across_words_and_pairs_have_the_ends_of_a_text() -> None:
    assert letter_groups("No. 17")["g:. ##"] == "a number"
    assert [*word_pairs("Gas leak").values()] == ["gas", "gas leak", "leak"]
    assert {**letter_groups(""), **word_pairs("")} == {}


def test_the_figures_are_printed_by_half(capsys: pytest.CaptureFixture[str]) -> None:
    print_tiers(["development"])

    assert "development" in capsys.readouterr().out


def test_a_text_below_thousands_of_blanks_is_shortened() -> None:
    words = "the tide was low " * 10
    for blanks in (" " * 5_000, "\n" * 5_000):
        assert compress(blanks + words) == compress(words)


def test_a_short_text_is_not_shortened() -> None:
    assert compress("Opened  a\nfile.") == "Opened a file."


def test_what_carries_most_stands_without_its_time_stamp() -> None:
    text = (
        "2026-02-14T02:00:00Z INFO the job began and looked around for a while as it always"
        " does at night, then it copied 4,211 rows to Skarvik, and then it went on waiting"
    )

    found = compress(text)

    assert "4,211" in found
    assert "Skarvik" in found
    assert "2026" not in found


PIECES = st.lists(st.sampled_from(["a", "B", "7", ".", ",", "\n"]), max_size=60)


@given(st.text(max_size=600) | PIECES.map(" ".join))
def test_a_shortened_text_has_at_most_twenty_words_all_from_the_text(text: str) -> None:
    words = compress(text).split()

    assert len(words) <= MAX_WORDS
    assert all(word.strip(".;,: ") in text for word in words)
