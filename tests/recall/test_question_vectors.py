"""What a question compares, each event with a fact of its own, and the scale of cosines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recalls import RecallWorld
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.embedders.sentence import PACKAGED
from vaultsync.errors import EmbedderError
from vaultsync.recall.question_vectors import (
    DEFAULT_MODELS,
    DEFAULT_UNRELATED,
    UNRELATED_IN,
    UNRELATED_TEXTS,
    CosineScale,
    compared_events,
    cosine_scale,
    foreign_scale,
    mean_direction,
)
from vaultsync.recall.result import RecallResult


@pytest.mark.parametrize(
    "marked",
    [
        "How many days passed between [the review of the draft] and [the launch of the site]?",
        "How long was it between [when we served food and drinks] and [when the talks began]? Ok",
        "Wie lange dauerte es zwischen [dem ersten Entwurf] und [der letzten Prüfung]?",
        "Combien de jours entre [le premier essai] et [la dernière version] ?",
        "¿Cuántos días pasaron entre [la primera prueba] y [el lanzamiento final]?",
        "How many days do I have between [the first draft] and [the final deadline]?",
        "How many guests stayed at the pier between 1 May and 3 June?",
        "How much deposit was paid between the first day and the last day?",
        "How long does slack water last between the rising and the falling tide?",
        "Wie viele Gäste kamen zwischen dem 1. Mai und dem 3. Juni?",
        "How many miles are there between Oslo and Bergen?",
        "What is the difference between a berth and a mooring?",
        "How many days are left between now?",
        "How many boats came and went?",
        "",
    ],
)
def test_two_events_are_compared(marked: str) -> None:
    """Those in brackets."""
    question = re.sub(r"[\[\]]", "", marked)
    assert compared_events(question) == tuple(re.findall(r"\[(.+?)\]", marked))


def test_the_mean_of_directions_is_between_them() -> None:
    assert mean_direction([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx([0.5**0.5] * 2)
    assert mean_direction([[1.0, 0.0], [-1.0, 0.0]]) == [0.0, 0.0]


QUESTION = "numbered berths of the harbour"


class Narrow(HashEmbedder):
    """All of its vectors have a direction in common, so cosines are from `base` to 1."""

    model = "narrow"

    def __init__(self, base: float) -> None:
        super().__init__()
        self.base = base

    @property
    def dimension(self) -> int:
        return super().dimension + 1

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        plain = super().embed(texts)
        rest = sqrt(1 - self.base)
        return [[sqrt(self.base), *(rest * each for each in vector)] for vector in plain]


cosines = st.floats(-1, 1)
scales = st.floats(-0.5, 0.98).map(CosineScale)


@given(scales)
def test_unrelated_texts_have_the_defaults_cosine_and_equal_ones_keep_1(scale: CosineScale) -> None:
    assert isclose(scale.rescale(scale.unrelated), DEFAULT_UNRELATED, abs_tol=1e-12)
    assert scale.rescale(1.0) == 1.0


@given(scales, cosines, cosines)
def test_the_order_is_kept(scale: CosineScale, one: float, other: float) -> None:
    assert (one <= other) <= (scale.rescale(one) <= scale.rescale(other))


@given(cosines)
def test_the_default_scale_changes_nothing(cosine: float) -> None:
    assert isclose(CosineScale().rescale(cosine), cosine, abs_tol=1e-12)


@given(st.floats(0, 0.95), cosines)
def test_a_common_direction_of_all_vectors_makes_no_difference(base: float, cosine: float) -> None:
    plain, narrow = cosine_scale(Narrow(0)), cosine_scale(Narrow(base))
    rescaled = narrow.rescale(base + (1 - base) * cosine)
    assert isclose(rescaled, plain.rescale(cosine), abs_tol=1e-9)


def test_a_model_by_which_all_texts_are_alike_keeps_its_cosines() -> None:
    assert cosine_scale(Narrow(0.999)) == CosineScale()


def test_questions_and_texts_are_measured_with_the_instructions_of_the_model() -> None:
    class Asked(HashEmbedder):
        model = "intfloat/e5-small-v2"

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            asked.extend(texts)
            return super().embed(texts)

    asked: list[str] = []
    cosine_scale(Asked())
    half = len(UNRELATED_TEXTS) // 2
    assert asked[:half] == [f"query: {each}" for each in UNRELATED_TEXTS[:half]]
    assert asked[half:] == [f"passage: {each}" for each in UNRELATED_TEXTS[half:]]


def test_the_models_with_the_default_scale_are_the_packaged_one_and_that_without_meaning() -> None:
    assert (PACKAGED, HashEmbedder.model) == DEFAULT_MODELS


def test_the_default_model_is_not_measured() -> None:
    class Default(HashEmbedder):
        model = "all-MiniLM-L6-v2+int8-2"

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            raise AssertionError(texts)

    assert cosine_scale(Default()) == CosineScale()


class Packaged(Narrow):
    """By it, as by the default model, most texts in German are similar."""

    model = PACKAGED


def test_a_foreign_text_is_no_answer_only_because_it_is_foreign(world: RecallWorld) -> None:
    world.embedder = Packaged(UNRELATED_IN["german"])
    world.agent_remembers("Die Miete beträgt 1.240 Euro, und der Strom kostet extra.")
    world.agent_remembers("Der Apfelbaum ist ein Boskoop und steht hinter dem Haus.")
    world.embed()

    known = world.ask("Wie hoch ist die Miete mit dem Strom?", mode="fused")
    unknown = world.ask("Wann ist die Beerdigung von Onkel Werner?", mode="fused")

    assert known.answerable > 0.8 > unknown.answerable
    assert known.confidence > unknown.confidence


def test_only_the_default_model_has_a_scale_for_foreign_languages() -> None:
    assert foreign_scale(Packaged(0.5), ["dutch", "german"]) == CosineScale(UNRELATED_IN["german"])
    assert foreign_scale(Packaged(0.5), ["english"]) is None
    assert foreign_scale(Packaged(0.5), []) is None
    assert foreign_scale(Narrow(0.5), ["german"]) is None


@pytest.mark.parametrize("question", ["Wo ist der Apfel?", "Apfelbaum"])
def test_a_model_that_hardly_knows_a_language_outweighs_no_word(question: str) -> None:
    world = RecallWorld()
    world.embedder = Packaged(UNRELATED_IN["german"])
    world.agent_remembers("Der Apfelbaum ist ein Boskoop, hinter dem Haus.", title="Boskoop")
    for place in ("Wo", "Wo ist", "Wo ist der"):
        world.agent_remembers(f"{place} Kran?", title=place)
    world.embed()
    assert world.titles(question, mode="fused")[0] == "Boskoop"


def _answer(embedder: HashEmbedder, mode: str) -> RecallResult:
    world = RecallWorld()
    world.embedder = embedder
    for text in (
        "The berths of the harbour are numbered from the sea.",
        "The harbour opens at six.",
        "Alice keeps bees behind the old mill.",
    ):
        world.agent_remembers(text)
    world.embed()
    return world.ask(QUESTION, mode=mode)


@pytest.mark.parametrize("mode", ["vector", "fused"])
def test_an_answer_does_not_depend_on_the_scale_of_the_model(mode: str) -> None:
    plain, narrow = _answer(Narrow(0), mode), _answer(Narrow(0.8), mode)
    assert [hit.title for hit in narrow] == [hit.title for hit in plain]
    assert [hit.score for hit in narrow] == pytest.approx([hit.score for hit in plain], abs=1e-3)
    assert narrow.confidence == pytest.approx(plain.confidence, abs=1e-3)
    assert narrow.answerable == pytest.approx(plain.answerable, abs=1e-3)


def test_keyword_search_answers_where_the_scale_cannot_be_measured(world: RecallWorld) -> None:
    class Fails(Narrow):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if UNRELATED_TEXTS[0] in texts:
                raise EmbedderError("the service does not answer")
            return super().embed(texts)

    world.agent_remembers("Berths are full")
    world.embedder = Fails(0.5)
    world.embed()
    answer = world.ask("berths", mode="fused")
    assert (answer.source, len(answer)) == ("index", 1)
    assert "the service does not answer" in answer.degraded[0]
