from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from tests.surfaces.command_line import (
    BAD_CHECK,
    BUSY_PASS,
    CALM,
    CONFLICT,
    DIFFERENCE,
    ID,
    NOTE,
    NOTICE,
    QUIET,
    RUN,
    FakeMemory,
    counts,
    one_object,
    run,
)
from vaultsync.errors import StoreUnavailableError, VaultMissingError
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import FieldConflict
from vaultsync.sync.decision_table import REASON_BASE_ONLY
from vaultsync.sync.report import REPORT_COUNTS, ActionTaken, LastRun, Report, proof_of

REPORTS = [
    ("sync", ["sync"]),
    ("adopt", ["adopt"]),
    ("undo", ["undo", RUN]),
    ("rebuild", ["rebuild", "--from", "vault"]),
]
CONFLICT_JSON = {
    "id": "0123456789abcdef",
    "fact_id": ID,
    "path": NOTE,
    "conflict_path": "public/decisions/2026-02-14-use-sqlite.conflict.md",
    "fields": [
        {"field": "title", "base": "Use SQLite", "vault": "Use SQLite3", "store": "Use DuckDB"}
    ],
}


@pytest.mark.parametrize(("method", "words"), REPORTS)
def test_a_report_is_as_the_contract_says(method: str, words: list[str]) -> None:
    answer = structs.replace(BUSY_PASS, attention=[NOTICE])

    result = run(*words, "--json", memory=FakeMemory(**{method: answer}))

    assert one_object(result) == {
        "run": RUN,
        "dry_run": False,
        "seconds": 0.25,
        "counts": counts(created_in_vault=3, updated_in_store=1),
        "actions": [
            {
                "action": "create_note",
                "fact_id": ID,
                "path": NOTE,
                "fields": [],
                "reason": "new in the store",
            },
            {
                "action": "update_store",
                "fact_id": ID,
                "path": None,
                "fields": ["title", "tags"],
                "reason": "edited by a person",
            },
        ],
        "attention": [
            {
                "kind": "UnreadableNoteError",
                "path": "public/bad.md",
                "line": 3,
                "message": "bad YAML",
                "hint": "close the quote",
            }
        ],
    }
    assert list(one_object(result)["counts"]) == list(REPORT_COUNTS)


def test_actions_that_only_move_the_base_need_verbose() -> None:
    same = ActionTaken("record_base", ID, NOTE, (), REASON_BASE_ONLY)
    moved = ActionTaken("record_base", ID, "public/notes/A.md", (), "moved in the vault")
    memory = FakeMemory(sync=structs.replace(BUSY_PASS, actions=[same, moved]))

    some = run("sync", memory=memory).stdout
    whole = run("sync", "--verbose", memory=memory).stdout

    assert REASON_BASE_ONLY not in some
    assert "moved in the vault" in some
    assert REASON_BASE_ONLY in whole


@pytest.mark.parametrize(("method", "words"), REPORTS)
@pytest.mark.parametrize(
    ("answer", "waiting", "code"),
    [
        (QUIET, (), 0),
        (BUSY_PASS, (), 0),
        (structs.replace(QUIET, attention=[NOTICE]), (), 3),
        (structs.replace(QUIET, counts=counts(conflicts=1)), (), 3),
        (QUIET, (CONFLICT,), 3),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"], ["--quiet"]])
def test_a_run_that_needs_attention_ends_with_3(
    *,
    method: str,
    words: list[str],
    answer: Report,
    waiting: tuple[object, ...],
    code: int,
    form: list[str],
) -> None:
    memory = FakeMemory(**{method: answer}, conflicts=waiting)

    assert run(*words, *form, memory=memory).exit_code == code


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (
            f"sync --dry-run --allow-scope-moves --max-delete 0 --confirm {RUN}",
            ((), {"dry_run": True, "allow_scope_moves": True, "max_delete": 0, "confirm": RUN}),
        ),
        (
            "adopt a.md b --scope team-x --type note --dry-run",
            ((("a.md", "b"),), {"scope": "team-x", "type": "note", "dry_run": True}),
        ),
        (f"undo {RUN}", ((RUN,), {})),
        ("rebuild --from store", ((), {"source": "store"})),
    ],
)
def test_the_options_reach_the_memory(words: str, call: tuple[Any, dict[str, Any]]) -> None:
    memory = FakeMemory()

    assert run(*words.split(), memory=memory).exit_code == 0

    args, named = call
    assert memory.call(words.split(maxsplit=1)[0]) == (args, {**named, "progress": None})


@pytest.mark.parametrize("words", ["rebuild", "rebuild --from git"])
def test_a_rebuild_needs_a_side(words: str) -> None:
    assert run(*words.split()).exit_code == 2


def test_a_report_begins_with_a_summary() -> None:
    result = run("sync", memory=FakeMemory(sync=BUSY_PASS))

    assert result.stdout.splitlines() == [
        "3 notes created, 1 fact updated",
        f"create note\t{NOTE}\t\tnew in the store",
        f"update store\t{ID}\ttitle, tags\tedited by a person",
    ]
    assert f"`vaultsync undo {RUN}` undoes this run" in result.stderr


def test_the_summary_names_a_sync_without_changes_and_a_dry_run() -> None:
    dry = structs.replace(BUSY_PASS, dry_run=True)

    assert run("sync").stdout == "nothing to do, 7 facts unchanged\n"
    assert run("sync").stderr == ""
    result = run("sync", "--dry-run", memory=FakeMemory(sync=dry))
    assert result.stdout.startswith("dry run, nothing was changed; planned: 3 notes")
    assert result.stderr == ""


def test_a_notice_has_its_line_and_hint_even_with_quiet() -> None:
    memory = FakeMemory(sync=structs.replace(BUSY_PASS, attention=[NOTICE]))

    result = run("sync", "--quiet", memory=memory)

    assert result.stdout == "\n! public/bad.md:3: bad YAML\n  hint: close the quote\n"
    assert result.stderr == ""


def test_a_notice_does_not_repeat_the_path_of_its_message() -> None:
    notice = structs.replace(NOTICE, message="public/bad.md:3: bad YAML", hint="")
    memory = FakeMemory(sync=structs.replace(QUIET, attention=[notice]))

    result = run("sync", "--quiet", memory=memory)

    assert result.stdout == "\n! public/bad.md:3: bad YAML\n"


def test_the_same_notice_of_a_few_notes_has_one_hint() -> None:
    notices = [NOTICE, structs.replace(NOTICE, path=VaultPath("public/worse.md"))]
    memory = FakeMemory(sync=structs.replace(QUIET, attention=notices))

    result = run("sync", "--quiet", memory=memory)

    assert result.stdout == (
        "\n! public/bad.md:3: bad YAML\n! public/worse.md:3: bad YAML\n  hint: close the quote\n"
    )


def test_only_verbose_lists_more_than_twenty_actions() -> None:
    many = [ActionTaken("create_note", ID, f"public/{n}.md", (), "") for n in range(25)]
    memory = FakeMemory(sync=structs.replace(BUSY_PASS, actions=many))

    few, every = run("sync", memory=memory), run("sync", "--verbose", memory=memory)

    assert len(few.stdout.splitlines()) == 1 + 20
    assert "5 more" in few.stderr
    assert len(every.stdout.splitlines()) == 1 + 25


def test_status_is_as_the_contract_says() -> None:
    last = LastRun(RUN, "2026-02-14T13:45:00Z", "sync", {})
    answer = structs.replace(CALM, last_run=last)

    result = run("status", "--json", memory=FakeMemory(status=answer))

    assert result.exit_code == 0
    assert one_object(result) == {
        "facts": 7,
        "notes": 7,
        "pending": 0,
        "conflicts": 0,
        "attention": [],
        "outbox": 0,
        "last_run": {"run": RUN, "at": "2026-02-14T13:45:00Z", "kind": "sync", "counts": {}},
        "engine": "idle",
        "foreign": 0,
        "daemon": None,
    }


@pytest.mark.parametrize("change", [{"conflicts": 1}, {"attention": [NOTICE]}])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_status_ends_with_3_when_something_waits(change: dict[str, Any], form: list[str]) -> None:
    memory = FakeMemory(status=structs.replace(CALM, **change))

    assert run("status", *form, memory=memory).exit_code == 3


def test_the_status_names_the_next_command() -> None:
    last = LastRun(RUN, "now", "sync", {})
    answer = structs.replace(CALM, pending=2, foreign=3, last_run=last)

    result = run("status", memory=FakeMemory(status=answer))

    assert result.exit_code == 0
    assert "pending      2 (`vaultsync sync`)" in result.stdout
    assert f"last run     now, sync, run {RUN}" in result.stdout
    assert "vaultsync adopt" in result.stdout


def test_conflicts_are_as_the_contract_says() -> None:
    result = run("conflicts", "--json", memory=FakeMemory(conflicts=(CONFLICT,)))

    assert result.exit_code == 3
    assert one_object(result) == {"conflicts": [CONFLICT_JSON]}
    assert one_object(run("conflicts", "--json")) == {"conflicts": []}
    assert run("conflicts").exit_code == 0


def test_conflicts_in_a_pipe_are_one_field_a_line() -> None:
    result = run("conflicts", memory=FakeMemory(conflicts=(CONFLICT,)))

    assert result.stdout == (
        f"0123456789abcdef\t{ID}\t{NOTE}\ttitle\tUse SQLite\tUse SQLite3\tUse DuckDB\n"
    )
    assert "vaultsync resolve" in result.stderr


def test_a_deletion_is_shown_without_its_base_revision() -> None:
    both = FieldConflict("note", "3-70b39ef6", "changed", "deleted")
    conflict = replace(CONFLICT, fields=(both,))
    result = run("conflicts", memory=FakeMemory(conflicts=(conflict,)))

    assert result.stdout.endswith("\tnote\t–\tchanged\tdeleted\n")


def test_the_options_of_resolve_reach_the_memory() -> None:
    memory = FakeMemory()

    result = run(
        *("resolve", CONFLICT.id, "--take", "store", "--field", "title", "--json"), memory=memory
    )

    assert result.exit_code == 0
    assert one_object(result) == {"conflicts": [], "resolved": CONFLICT_JSON}
    assert memory.call("resolve") == ((CONFLICT.id,), {"take": "store", "field": "title"})


def test_resolving_one_of_two_conflicts_ends_with_3() -> None:
    memory = FakeMemory(conflicts=(CONFLICT,))

    result = run("resolve", CONFLICT.id, "--take", "vault", memory=memory)

    assert result.exit_code == 3
    assert result.stderr == "Use SQLite3: partly resolved, 1 conflict left\n"
    assert run("resolve", CONFLICT.id).exit_code == 2
    assert run("resolve", CONFLICT.id, "--take", "mine").exit_code == 2


def test_history_is_as_the_contract_says() -> None:
    assert one_object(run("history", ID, "--json")) == {
        "history": [
            {
                "run": RUN,
                "at": "2026-02-14T13:45:00Z",
                "side": "vault",
                "actor": "person",
                "field": "tags",
                "before": [],
                "after": ["a"],
            }
        ]
    }
    assert run("history", ID).stdout == (f"2026-02-14T13:45:00Z\tvault\tperson\ttags\t\ta\t{RUN}\n")
    assert run("history", ID, memory=FakeMemory(history=[])).exit_code == 0


def test_a_verification_is_as_the_contract_says() -> None:
    result = run("verify", "--json")

    assert result.exit_code == 0
    assert one_object(result) == {"equal": True, "checked": 7, "differences": [], "held": []}
    assert run("verify").stdout == "equal: 7 facts, field by field\n"


def test_a_verification_lists_invalid_values() -> None:
    held = structs.replace(DIFFERENCE, why="priority cannot be 7")
    memory = FakeMemory(verify=proof_of(7, held=(held,)))

    result = run("verify", memory=memory)

    assert result.exit_code == 0
    assert "equal: 7 facts, field by field\n\n1 invalid value in notes" in result.stdout
    assert "priority cannot be 7" in result.stdout


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_difference_is_printed_and_is_a_failure(form: list[str]) -> None:
    memory = FakeMemory(verify=proof_of(7, [DIFFERENCE]))

    result = run("verify", *form, memory=memory)

    assert result.exit_code == 1
    assert "the sides differ" in result.stdout
    assert "error" not in result.output


def test_checks_are_as_the_contract_says() -> None:
    result = run("doctor", "--json")

    assert result.exit_code == 0
    assert one_object(result) == {
        "checks": [{"name": "python", "ok": True, "message": "Python 3.14", "hint": ""}]
    }


def test_a_check_that_fails_is_a_failure_with_a_hint() -> None:
    result = run("doctor", memory=FakeMemory(doctor=(BAD_CHECK,)))

    assert result.exit_code == 1
    assert result.stdout == "✗ space  the disk is full\n         hint: make room\n"


@pytest.mark.parametrize(
    "error", [VaultMissingError("v", "no marker"), StoreUnavailableError("locked")]
)
def test_doctor_checks_a_vault_that_cannot_be_opened(error: Exception) -> None:
    result = run("doctor", "--json", memory=FakeMemory(open=error))

    assert result.exit_code == 1
    (check,) = one_object(result)["checks"]
    assert check["ok"] is False


def test_an_undo_begins_with_its_summary() -> None:
    result = run("undo", RUN, memory=FakeMemory(undo=BUSY_PASS))

    assert result.stdout.startswith("undone: 3 notes created, 1 fact updated\n")
    assert f"`vaultsync undo {RUN}` undoes this run" in result.stderr


def test_an_undo_without_changes_says_why() -> None:
    result = run("undo", RUN, memory=FakeMemory(undo=QUIET))

    assert result.stdout.startswith("nothing to undo: ")
    assert "undoes this run" not in result.stderr


def test_the_summary_counts_waiting_notes() -> None:
    wait = ActionTaken("wait", ID, NOTE, (), "the note is gone")
    busy = structs.replace(BUSY_PASS, actions=[*BUSY_PASS.actions, wait])
    idle = structs.replace(QUIET, actions=[wait, wait])

    text = run("sync", memory=FakeMemory(sync=busy)).stdout
    assert text.startswith("3 notes created, 1 fact updated, 1 note waiting\n")
    text = run("sync", memory=FakeMemory(sync=idle)).stdout
    assert text.startswith("nothing changed on either side, 2 notes waiting, 7 facts unchanged\n")


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        (f"{NOTE}:3: bad YAML: a: b", "line 3: bad YAML: a: b"),
        (f"{NOTE}: no such note", "no such note"),
        (f"{NOTE} is odd: very", f"{NOTE} is odd: very"),
        ("not equal: at all", "not equal: at all"),
    ],
)
def test_a_difference_names_its_note_once(why: str, shown: str) -> None:
    found = proof_of(7, [structs.replace(DIFFERENCE, why=why)])

    result = run("verify", memory=FakeMemory(verify=found))

    assert result.stdout.splitlines()[1].split("\t")[-1] == shown
