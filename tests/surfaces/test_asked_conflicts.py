"""`resolve` on a terminal asks about each field, and does nothing before the last answer."""

from __future__ import annotations

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.surfaces.command_line import CONFLICT, FakeMemory, run
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict
from vaultsync.sync.report import ShownCopy

SIDES = {"v": "vault", "s": "store"}


def conflict(number: int, *fields: str) -> ConflictRecord:
    found = tuple(FieldConflict(each, "base", "[red]mine[/]", "theirs\x1b[2J") for each in fields)
    return ConflictRecord(
        f"{number}0123456789abcde", CONFLICT.fact_id, CONFLICT.path, None, found, "indy", "", ""
    )


ONE, TWO = conflict(1, "title", "content"), conflict(2, "priority")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test types comes from a terminal, and what it reads goes to one."""
    monkeypatch.setattr("vaultsync.cli.resolve_command.is_terminal", lambda _: True)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)


def resolved(memory: FakeMemory) -> list[tuple[str, str, str | None]]:
    calls = (each for each in memory.calls if each[0] == "resolve")
    return [(args[0], named["take"], named["field"]) for _, args, named in calls]


def ask(answers: str, *words: str) -> tuple[FakeMemory, Result]:
    memory = FakeMemory(conflicts=(ONE, TWO))
    return memory, run("resolve", *words, memory=memory, stdin="".join(f"{x}\n" for x in answers))


@given(st.tuples(*[st.sampled_from("vslq")] * 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_answered_is_done_and_nothing_else(terminal: None, answers: tuple[str]) -> None:
    memory, done = ask("".join(answers))
    assert done.exit_code == 3
    if "q" in answers:
        assert resolved(memory) == []
        assert "nothing was resolved" in done.stderr
        return
    fields = [(ONE.id, "title"), (ONE.id, "content"), (TWO.id, "priority")]
    wanted = {
        each: SIDES[answer] for each, answer in zip(fields, answers, strict=True) if answer in SIDES
    }
    found: dict[tuple[str, str], str] = {}
    for key, side, field in resolved(memory):
        (named,) = [each for each in (ONE, TWO) if each.id == key]
        found |= {(key, x.field): side for x in named.fields if field in (None, x.field)}
    assert found == wanted


@pytest.mark.parametrize("answer", ["?", "mine", "vs"])
def test_an_answer_that_is_none_of_the_words_is_asked_for_again(
    terminal: None, answer: str
) -> None:
    memory = FakeMemory(conflicts=(TWO,))
    done = run("resolve", memory=memory, stdin=f"{answer}\nstore\n")
    assert done.stderr.count("answer with one of these words") == 1
    assert resolved(memory) == [(TWO.id, "store", None)]


def test_a_conflict_copy_is_asked_about_after_the_conflicts(terminal: None) -> None:
    copy = ShownCopy("public/Plan (Conflicted copy).md", "public/Plan.md", ONE.fact_id)
    memory = FakeMemory(conflicts=(ONE,), conflict_copies=[copy], settle_copy=None)

    done = run("resolve", memory=memory, stdin="l\nl\nm\n")

    assert done.exit_code == 3
    assert "a conflict copy of public/Plan.md: [m]erge, [k]eep, [d]rop, [l]ater" in done.stderr
    assert memory.call("settle_copy") == ((copy.path,), {"take": "merge"})
    later = FakeMemory(conflicts=(), conflict_copies=[copy])
    assert "is a conflict copy of" in run("resolve", memory=later, stdin="l\n").stderr
    assert not any(name == "settle_copy" for name, *_ in later.calls)


def test_one_conflict_and_one_field_are_asked_about(terminal: None) -> None:
    memory, done = ask("?s", ONE.id[:4], "--field", "title")
    assert resolved(memory) == [(ONE.id, "store", "title")]
    assert "[red]mine[/]" in done.stdout
    assert "\x1b[2J" not in done.stdout
    assert ask("", "--field", "tags")[1].exit_code == 2
    assert ask("", "3")[1].exit_code == 1
    assert run("resolve", memory=FakeMemory(conflicts=())).exit_code == 0


@pytest.mark.parametrize("words", [(), ("1",), ("--json",), ("1", "--json"), ("--take", "store")])
def test_nothing_is_asked_without_a_terminal(words: tuple[str, ...]) -> None:
    memory, done = ask("vvv", *words)
    assert done.exit_code == 2
    assert "missing" in done.output
    assert resolved(memory) == []


def test_json_is_never_asked_for(terminal: None) -> None:
    memory, done = ask("vvv", "--json")
    assert (done.exit_code, resolved(memory)) == (2, [])
