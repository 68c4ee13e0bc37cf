from __future__ import annotations

import json
from typing import Any

import pytest

from tests.surfaces.command_line import CONFLICT, FACT, ID, NOTE, FakeMemory, one_object, run
from vaultsync import errors
from vaultsync.facts.listing import FactPage
from vaultsync.facts.service import ForgetResult

PUBLIC = {
    "id": ID,
    "type": "decision",
    "title": "Use SQLite",
    "content": "It is embedded.\n\nIt is fast.",
    "priority": 1,
    "status": "active",
    "tags": ["storage"],
    "scope": "public",
    "createdAt": "2026-02-14T13:45:00Z",
    "decisionOutcome": "implemented",
    "properties": {"cssclasses": ["wide"]},
    "path": NOTE,
    "revision": "3-70b39ef6",
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["remember", "text"], {**PUBLIC, "mirrored": True}),
        (["get", ID], PUBLIC),
        (["list"], {"facts": [PUBLIC], "next": ID}),
        (["update", ID, "--content", "x"], PUBLIC),
        (["supersede", ID, "text"], PUBLIC),
        (["forget", ID], {"id": ID, "status": "forgotten"}),
        (["restore", ID], {"id": ID, "status": "active"}),
    ],
)
def test_json_is_as_the_contract_says(words: list[str], expected: dict[str, Any]) -> None:
    result = run(*words, "--json")

    assert result.exit_code == 0
    assert one_object(result) == expected
    assert result.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["remember", "text"],
        ["update", ID, "--content", "x"],
        ["supersede", ID, "text"],
        ["forget", ID],
    ],
)
def test_a_change_for_an_unavailable_store_is_reported_as_queued(words: list[str]) -> None:
    memory = FakeMemory(waits=True)

    result = run(*words, memory=memory)

    assert one_object(run(*words, "--json", memory=memory))["waits"] is True
    assert result.exit_code == 0
    assert "the change is in the outbox" in result.stderr
    assert "changed, in" not in result.stderr


def test_a_fact_without_a_note_is_not_mirrored() -> None:
    memory = FakeMemory(remember=type(FACT)(ID, revision="1-0"))

    values = one_object(run("remember", "x", "--json", memory=memory))

    assert values["path"] is None
    assert values["mirrored"] is False


def test_the_options_of_remember_reach_the_memory() -> None:
    memory = FakeMemory()

    result = run(
        *("remember", "We chose it.", "--type", "decision", "--title", "Choice"),
        *("--scope", "team-x", "--priority", "0", "--tag", "a", "--tag", "b"),
        *("--entity", "Alice", "--field", "outcome=done", "--field", "score=3"),
        *("--context", "standup", "--agent", "indy", "--id", ID),
        memory=memory,
    )

    assert result.exit_code == 0
    args, named = memory.call("remember")
    assert args == ("We chose it.",)
    assert named == {
        "type": "decision",
        "title": "Choice",
        "scope": "team-x",
        "priority": 0,
        "tags": ("a", "b"),
        "entities": ("Alice",),
        "fields": {"outcome": "done", "score": 3},
        "context": "standup",
        "id": ID,
    }
    assert memory.opened["agent"] == "indy"


@pytest.mark.parametrize("words", [["remember"], ["remember", "-"], ["supersede", ID]])
def test_text_may_be_piped_in(words: list[str]) -> None:
    memory = FakeMemory()

    result = run(*words, memory=memory, stdin="Größe\nzwei\n")

    assert result.exit_code == 0
    args, _ = memory.call(words[0])
    assert args[-1] == "Größe\nzwei\n"


def test_a_byte_order_mark_is_no_text() -> None:
    memory = FakeMemory()

    run("remember", "-", memory=memory, stdin=b"\xef\xbb\xbfhi")

    assert memory.call("remember")[0] == ("hi",)


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["remember"], ""),
        (["remember", " "], None),
        (["supersede", ID], "\n"),
        (["remember", "-"], b"\xff"),
        (["update", ID], None),
    ],
)
def test_nothing_to_write_is_wrong_usage(words: list[str], stdin: str | bytes | None) -> None:
    memory = FakeMemory()

    result = run(*words, "--json", memory=memory, stdin=stdin)

    assert result.exit_code == 2
    assert one_object(result)["error"]["kind"] == "UsageError"
    assert memory.calls == []


def test_a_title_is_enough_to_remember() -> None:
    memory = FakeMemory()

    assert run("remember", "--title", "T", memory=memory, stdin="").exit_code == 0
    assert memory.call("remember")[1]["title"] == "T"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"update": FACT.evolve(revision="4-0123abcd")}, "changed"),
        ({}, "unchanged"),
        ({"get": errors.StoreUnavailableError("it is away")}, "changed"),
    ],
)
def test_an_update_says_whether_it_changed_anything(answers: dict[str, Any], words: str) -> None:
    result = run("update", ID, "--add-tag", "x", memory=FakeMemory(**answers))

    assert result.exit_code == 0
    assert f"“Use SQLite”: {words}, in {FACT.path}" in result.stderr


def test_a_change_reaches_the_memory() -> None:
    memory = FakeMemory()

    result = run(
        *("update", ID, "--content", "-", "--set", "priority=1", "--set", "x=a=b"),
        *("--add-tag", "a", "--remove-tag", "b", "--expect", "3-7"),
        memory=memory,
        stdin="new",
    )

    assert result.exit_code == 0
    assert memory.call("update") == (
        (ID,),
        {
            "content": "new",
            "set": {"priority": 1, "x": "a=b"},
            "add_tags": ("a",),
            "remove_tags": ("b",),
            "expect": "3-7",
        },
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("priority=0", 0),
        ("importance=0.50", 0.5),
        ("observationCompressed=true", True),
        ("title=1.10", "1.10"),
        ("title=true", "true"),
        ("outcome=1.10", "1.10"),
        ("decisionOutcome=2", "2"),
        ("context=null", None),
        ("context=", ""),
        ("tags=2026", "2026"),
        ('tags=["a", "b"]', ["a", "b"]),
        ("mine=1.5", 1.5),
        ("mine=[1, true]", [1, True]),
        ("mine=false", False),
        ("mine=NaN", "NaN"),
        ('mine="a"', '"a"'),
        ('mine={"a": 1}', '{"a": 1}'),
        ("mine=[1", "[1"),
        ("mine=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_json_where_the_field_takes_json(setting: str, value: object) -> None:
    memory = FakeMemory()

    result = run("update", ID, "--set", setting, memory=memory)

    assert result.exit_code == 0
    (found,) = memory.call("update")[1]["set"].values()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("settings", [["no-value"], ["=x"], ["a=1", "a=2"]])
def test_a_setting_without_key_or_twice_is_wrong_usage(settings: list[str]) -> None:
    words = [word for each in settings for word in ("--set", each)]

    result = run("update", ID, *words)

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")


def test_the_filters_of_a_list_reach_the_memory() -> None:
    memory = FakeMemory()

    run(
        *("list", "--type", "note", "--scope", "public", "--status", "active"),
        *("--tag", "a", "--limit", "5", "--after", ID),
        *("--since", "2026-01", "--until", "2026-02", "--newest"),
        *("--links-to", "Tea", "--links-from", "public/notes/a.md"),
        memory=memory,
    )

    assert memory.call("list")[1] == {
        "type": "note",
        "scope": "public",
        "status": "active",
        "tag": "a",
        "since": "2026-01",
        "until": "2026-02",
        "links_to": "Tea",
        "links_from": "public/notes/a.md",
        "newest": True,
        "limit": 5,
        "after": ID,
    }


def test_options_follow_the_command_and_default_to_the_environment() -> None:
    memory = FakeMemory()

    run("get", ID, "--vault", "v", "--state-dir", "s", memory=memory)

    assert memory.opened == {"path": "v", "state_dir": "s", "agent": None}

    env = {"VAULTSYNC_VAULT": "ev", "VAULTSYNC_STATE_DIR": "es", "VAULTSYNC_AGENT": "indy"}
    run("get", ID, memory=memory, env=env)

    assert memory.opened == {"path": "ev", "state_dir": "es", "agent": "indy"}


def test_the_vault_is_closed_before_anything_is_printed() -> None:
    memory = FakeMemory()

    run("get", ID, memory=memory)

    assert [name for name, _, _ in memory.calls] == ["get", "close"]


def test_a_new_fact_prints_its_id_to_stdout_and_its_path_to_stderr() -> None:
    result = run("remember", "x")

    assert result.stdout == f"{ID}\n"
    assert result.stderr == f"remembered “Use SQLite”, in {NOTE}\n"


def test_quiet_leaves_the_data_alone() -> None:
    result = run("remember", "x", "--quiet")

    assert (result.stdout, result.stderr) == (f"{ID}\n", "")


def test_a_fact_is_shown_like_its_note() -> None:
    result = run("get", ID)

    title, *rest = result.stdout.splitlines()
    assert title == "# Use SQLite"
    assert "decisionOutcome  implemented" in rest
    assert "cssclasses       wide" in rest
    assert rest[-3:] == ["It is embedded.", "", "It is fast."]


def test_a_list_in_a_pipe_is_one_whole_fact_a_line() -> None:
    long = "x" * 300
    fact = type(FACT)(ID, title=f"{long}\ty", path=NOTE)

    result = run("list", memory=FakeMemory(list=FactPage((fact,), None)))

    assert result.stdout == f"{ID}\t{long} y\tnote\t2\tpublic\t{NOTE}\n"


def test_a_list_prints_the_option_for_the_next_page() -> None:
    assert run("list").stderr == f"more facts follow: --after {ID}\n"
    assert run("list", memory=FakeMemory(list=FactPage((), None))).stderr == "no facts\n"


def test_json_keeps_the_content_of_a_fact() -> None:
    fact = type(FACT)(ID, content="\x1b]0;x\x07 \x9b31m \u202e ü \U0001f600")

    result = run("get", ID, "--json", memory=FakeMemory(get=fact))

    assert json.loads(result.stdout)["content"] == fact.content
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(result.stdout)
    assert "ü \U0001f600" in result.stdout


def test_a_fact_that_an_edit_kept_is_not_reported_as_forgotten() -> None:
    memory = FakeMemory(forget=ForgetResult(ID, "active"), conflicts=(CONFLICT,))

    result = run("forget", ID, memory=memory)

    assert result.exit_code == 3
    assert result.stdout == f"{ID}\tactive\n"
    assert "the user changed its note" in result.stderr
    assert str(CONFLICT.conflict_path) in result.stderr
    assert "vaultsync restore" not in result.stderr


def test_a_fact_that_an_edit_kept_may_have_no_open_conflict() -> None:
    memory = FakeMemory(forget=ForgetResult(ID, "active"))

    result = run("forget", ID, memory=memory)

    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
