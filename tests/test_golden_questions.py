"""The questions under `golden/questions` are what their page says, and half stays unseen."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache

import pytest

from tests.eval.questions import (
    FOLDER,
    HELP_VAULT,
    HERE,
    SPLITS,
    UNANSWERABLE,
    Question,
    Split,
    questions,
    split_of,
    vaults,
)
from tests.sample_vault import facts

TOLD_APART = {"sample-vault": "sample", "help-vault": "help"}
KEYS = {"id", "kind", "question", "language", "style", "filter", "now", "expected", "why"}
STYLES = {"sentence", "keywords", "typos", "prompt"}
LANGUAGES = {"de": 6, "fr": 6, "es": 6, "ja": 6}
SILENT = 30
LONGEST_QUOTE = 6
"""Words in a row that a question may share with a help page."""
LEADS_THERE = re.compile(
    r"held[-_]out|\b(?:SPLITS|split_of)\b|(?:sample|help)-vault\.toml"
    r"|(?:observations|compressions)\.jsonl|(?i:golden)\W+(?:questions|observations)[\"'/]"
    r"|eval import questions|import tests\.eval\.questions"
    r"|questions import (?:\([^)]*|.*)\b(?:FOLDER|Split)\b"
)
"""What leads to the held-out half."""
MAY_ASK = {
    *(f"tests/eval/{each}.py" for each in ("questions", "observations", "__main__", "tiers")),
    *("tests/eval/test_observations_data.py", "tests/test_golden_questions.py"),
}
NAMES_FILES = "tests/test_golden.py"
"""Names every file under `golden/`, and reads none of these."""
OF_SECRETS = {
    f"tests/surfaces/attacks/{each}.py" for each in ("secret_attacks", "test_secret_attacks")
}
"""Have halves of their own."""
SETS = {name: [each for split in SPLITS for each in questions(name, split)] for name in TOLD_APART}
ALL = [each for some in SETS.values() for each in some]


@cache
def help_pages() -> Mapping[str, str]:
    notes = vaults()["help-vault"]
    if not notes.is_dir():
        pytest.skip(f"the help pages are not there; {HELP_VAULT} names their folder")
    return {
        path.relative_to(notes).as_posix(): path.read_text(encoding="utf-8")
        for path in notes.rglob("*.md")
    }


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


# --- the questions -------------------------------------------------------------------------


def test_there_are_200_questions_each_asked_once_under_an_id_of_its_own() -> None:
    assert len(ALL) >= 200
    counted = Counter(each.id for each in ALL) + Counter(each.text.casefold() for each in ALL)
    assert [each for each, times in counted.items() if times > 1] == []


@pytest.mark.parametrize("name", TOLD_APART)
def test_a_set_holds_nothing_but_questions(name: str) -> None:
    page = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert set(page) == {"asked_at", "question"}
    assert {key for table in page["question"] for key in table} <= KEYS
    assert len(page["question"]) == len(SETS[name]) >= 100


@pytest.mark.parametrize("name", TOLD_APART)
def test_an_id_says_the_set_and_the_kind(name: str) -> None:
    wrong = [
        each.id
        for each in SETS[name]
        if not re.fullmatch(rf"{TOLD_APART[name]}-{each.kind}-\d\d", each.id)
    ]
    assert wrong == []


def test_there_are_as_many_questions_of_each_kind_as_the_page_says() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \|", page, re.MULTILINE)
    assert {kind: int(count) for kind, count in rows} == Counter(each.kind for each in ALL)
    assert f"{len(ALL)} questions" in page


def test_people_write_in_many_ways_and_languages() -> None:
    assert {each.style for each in ALL} == STYLES
    spoken = Counter(each.language for each in ALL)
    assert spoken.keys() == {"en", *LANGUAGES}
    assert all(spoken[each] >= least for each, least in LANGUAGES.items())


def test_nothing_is_expected_of_the_unanswerable_and_something_of_all_others() -> None:
    assert {each.kind == UNANSWERABLE for each in ALL if not each.expected} == {True}
    assert sum(not each.expected for each in ALL) >= SILENT
    assert [each.id for each in ALL if each.kind == UNANSWERABLE and each.expected] == []
    assert [each.id for each in ALL if len(set(each.expected)) < len(each.expected)] == []


def test_every_question_says_why_in_one_sentence() -> None:
    assert [each.id for each in ALL if not re.fullmatch(r"[^\n]{5,80}\.", each.why)] == []


# --- the notes -----------------------------------------------------------------------------


def test_the_answers_of_the_sample_vault_are_notes_of_it() -> None:
    known = {note.path for note in facts()}
    assert [p for each in SETS["sample-vault"] for p in each.expected if p not in known] == []


def test_the_answers_of_the_help_pages_are_pages_of_them() -> None:
    known = help_pages()
    assert [p for each in SETS["help-vault"] for p in each.expected if p not in known] == []


def test_no_sentence_of_the_help_pages_is_quoted() -> None:
    pages = [" ".join(words(text)) for text in help_pages().values()]
    asked = [words(text) for each in SETS["help-vault"] for text in (each.text, each.why)]
    runs = {
        " ".join(each[start : start + LONGEST_QUOTE + 1])
        for each in asked
        for start in range(len(each) - LONGEST_QUOTE)
    }
    assert [run for run in runs if any(run in page for page in pages)] == []


def test_all_is_asked_for_where_a_default_hides_an_answer_and_nowhere_else() -> None:
    hidden = {
        note.path
        for note in facts()
        if note.properties.get("status") == "superseded"
        or ("agentId" in note.properties and int(str(note.properties.get("priority", 2))) >= 3)
    }
    for each in ALL:
        assert each.filter == ({"all": True} if hidden.intersection(each.expected) else {})


def test_questions_are_asked_after_the_last_note_was_written() -> None:
    last = max(str(note.properties.get("createdAt", "")) for note in facts())
    assert last < min(each.now.isoformat() for each in ALL)


# --- the halves ----------------------------------------------------------------------------


def test_the_half_of_a_question_comes_of_its_id_alone() -> None:
    for split in SPLITS:
        mine = [each.id for each in SETS["sample-vault"] if split_of(each.id) == split]
        assert [each.id for each in questions("sample-vault", split)] == mine
    # The rule is a promise: these are where they were on the first day.
    assert split_of("sample-decision-01") == "development"
    assert split_of("sample-time-01") == "held-out"


@pytest.mark.parametrize("split", SPLITS)
def test_a_half_has_every_kind_and_about_half_of_all_questions(split: Split) -> None:
    mine = [each for each in ALL if split_of(each.id) == split]
    assert {each.kind for each in mine} == {each.kind for each in ALL}
    assert abs(len(mine) - len(ALL) / 2) <= len(ALL) / 20


def test_who_does_not_ask_for_a_half_gets_the_one_for_development() -> None:
    assert inspect.signature(questions).parameters["split"].default == "development"
    assert questions("sample-vault") == questions("sample-vault", "development")
    assert SPLITS[0] == "development"


@pytest.mark.parametrize(
    "source",
    [
        "half = 'held-out'",
        "page = open('golden/questions/help-vault.toml')",
        "from tests.eval.questions import SPLITS",
        "from tests.eval.questions import (\n    Question,\n    Split,\n)",
        "pages = (GOLDEN / 'questions').iterdir()",
        "from tests.eval import questions",
        "import tests.eval.questions as all_of_them",
        "from tests.eval.observations import observations\nlines = observations(held_out=True)",
        "from tests.eval import observations\nlines = observations.compressions(held_out=asked)",
        "page = open('golden/observations/compressions.jsonl')",
    ],
)
def test_a_program_that_could_get_at_the_held_out_half_is_noticed(source: str) -> None:
    assert LEADS_THERE.search(source)


def test_no_program_but_the_report_asks_for_the_held_out_half() -> None:
    asks = {
        path.relative_to(HERE).as_posix()
        for folder in ("vaultsync", "docs", "tests")
        for path in (HERE / folder).rglob("*.py")
        if LEADS_THERE.search(path.read_text(encoding="utf-8"))
    }
    assert asks == MAY_ASK | OF_SECRETS | {NAMES_FILES}


def test_the_report_shows_the_held_out_half_only_when_it_is_named() -> None:
    report = (HERE / "tests" / "eval" / "__main__.py").read_text(encoding="utf-8")
    assert "default=SPLITS[:1]" in report
    assert not re.search("[\"']held-out[\"']", report)
    assert "held-out" not in (HERE / "Makefile").read_text(encoding="utf-8")


def test_a_question_says_what_it_was_written_as() -> None:
    (first, *_) = questions("help-vault")
    assert isinstance(first, Question)
    assert (first.now.isoformat(), first.language) == ("2026-06-30T12:00:00+00:00", "en")
