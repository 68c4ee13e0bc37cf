"""The questions under `golden/retrieval` are what its README says, before any is asked."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import NoneType

from tests.eval.collections import Asked, retrieval
from tests.golden import GOLDEN
from tests.sample_vault import MANAGED, Note, all_of, facts
from vaultsync.model.permissions import Permissions
from vaultsync.model.schema import DEFAULT_PRIORITY, DEFAULT_STATUS

FILTERS = {"status": (str, NoneType), "max_priority": (int,), "heads_only": (bool,)}
KEYS = {"id", "kind", "question", "answers", "agent", "filter", "priority_fact"}
PRIORITY_FACTS = 20
LONG_TITLE = 3
"""Titles of so many words stand in no question; shorter ones may be names."""
SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        been could does from have into many much should somebody than that them then
        there they this until were what when where which will with would
        """,
    )
)


@cache
def notes() -> Mapping[str, Note]:
    return {note.path: note for note in facts()}


PAGE = tomllib.loads((GOLDEN / "retrieval/questions.toml").read_text(encoding="utf-8"))
QUESTIONS, ASKED_AT = retrieval({path: path for path in notes()})
EACH = all_of(QUESTIONS, lambda asked: asked.id)


def full(asked: Asked) -> list[Note]:
    """The notes that answer it fully."""
    return [notes()[path] for path, grade in asked.grades.items() if grade == 3]


def priority(note: Note) -> int:
    return int(str(note.properties.get("priority", DEFAULT_PRIORITY)))


def status(note: Note) -> str:
    return str(note.properties.get("status", DEFAULT_STATUS))


def words(text: str) -> set[str]:
    """The beginnings of the longer words, so that plurals and endings do not count."""
    found = re.findall(r"\w{4,}", text.casefold())
    return {word[:5] for word in found if word not in SMALL_WORDS}


def shared(asked: Asked, note: Note) -> set[str]:
    said = f"{note.header} {note.title} {MANAGED.sub('', note.body)}"
    return words(asked.text) & words(said)


def test_a_file_of_questions_holds_questions_and_their_time() -> None:
    assert set(PAGE) == {"asked_at", "question"}
    assert {key for table in PAGE["question"] for key in table} == KEYS


def test_they_are_asked_after_the_last_note_was_written() -> None:
    made = [str(note.properties.get("createdAt", "")) for note in facts()]
    assert max(datetime.fromisoformat(each) for each in made if each) < ASKED_AT


def test_there_are_as_many_of_each_kind_as_the_page_says() -> None:
    page = (GOLDEN / "retrieval/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
    kinds = Counter(asked.kind for asked in QUESTIONS)
    assert {kind: int(count) for kind, count in rows} == kinds
    assert {"words", "paraphrase"} <= kinds.keys()


def test_every_question_is_asked_once_under_an_id_of_its_own() -> None:
    ids = Counter(asked.id for asked in QUESTIONS)
    texts = Counter(asked.text.casefold() for asked in QUESTIONS)
    assert [each for each, times in (ids + texts).items() if times > 1] == []
    wrong = [asked.id for asked in QUESTIONS if not re.fullmatch(rf"{asked.kind}-\d\d", asked.id)]
    assert wrong == []


@EACH
def test_grades_are_1_to_3_best_first_and_one_note_answers_fully(asked: Asked) -> None:
    grades = list(asked.grades.values())
    assert set(grades) <= {1, 2, 3}
    assert grades == sorted(grades, reverse=True)
    assert grades[0] == 3


@EACH
def test_no_question_repeats_a_title(asked: Asked) -> None:
    text = asked.text.casefold().rstrip(" ?？")
    titles = {note.title.casefold() for note in facts()}
    assert text not in titles
    long = {title for title in titles if len(title.split()) >= LONG_TITLE}
    assert {title for title in long if title in text} == set()


@EACH
def test_what_was_superseded_never_answers_fully(asked: Asked) -> None:
    old = [
        note.path
        for note in full(asked)
        if status(note) == "superseded" or "supersededById" in note.properties
    ]
    assert old == []


@EACH
def test_whoever_asks_may_see_every_answer(asked: Asked) -> None:
    assert asked.agent in {None, "indy", "moss"}
    may_read = Permissions().may_read
    hidden = [path for path in asked.grades if not may_read(asked.agent, path.partition("/")[0])]
    assert hidden == []


@EACH
def test_the_filter_of_a_question_lets_every_answer_through(asked: Asked) -> None:
    for key, value in asked.filter.items():
        assert type(value) in FILTERS[key]
    wanted = asked.filter.get("status", DEFAULT_STATUS)
    most = int(str(asked.filter.get("max_priority", DEFAULT_PRIORITY)))
    heads_only = asked.filter.get("heads_only", True)
    kept_out = [
        path
        for path in asked.grades
        if wanted not in (None, status(notes()[path]))
        or priority(notes()[path]) > most
        or (heads_only and "supersededById" in notes()[path].properties)
    ]
    assert kept_out == []


@EACH
def test_a_filter_is_there_only_where_an_answer_needs_it(asked: Asked) -> None:
    answers = [notes()[path] for path in asked.grades]
    needs = {
        "status": any(status(note) != DEFAULT_STATUS for note in answers),
        "max_priority": any(priority(note) > DEFAULT_PRIORITY for note in answers),
        "heads_only": any("supersededById" in note.properties for note in answers),
    }
    assert {key for key, needed in needs.items() if needed} == set(asked.filter)


@EACH
def test_a_question_says_whether_a_priority_fact_answers_it(asked: Asked) -> None:
    assert asked.priority_fact == any(priority(note) <= 1 for note in full(asked))


def test_many_questions_are_about_priority_facts() -> None:
    assert sum(asked.priority_fact for asked in QUESTIONS) >= PRIORITY_FACTS


@EACH
def test_words_are_the_notes_own_and_a_paraphrase_has_others(asked: Asked) -> None:
    common = [shared(asked, note) for note in full(asked)]
    if asked.kind == "words":
        assert all(2 * len(each) >= len(words(asked.text)) for each in common)
    if asked.kind == "paraphrase":
        assert all(len(each) <= 1 for each in common)


def test_the_words_that_answer_stand_in_the_notes_that_answer_fully() -> None:
    page = (GOLDEN / "retrieval" / "said.toml").read_text(encoding="utf-8")
    grades = {asked.id: asked.grades for asked in QUESTIONS}
    for asked, said in tomllib.loads(page).items():
        for path, words_said in said.items():
            assert grades[asked][path] == 3
            assert all(each in notes()[path].body for each in words_said)
