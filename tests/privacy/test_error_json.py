from __future__ import annotations

import inspect

import pytest

from vaultsync import errors
from vaultsync.errors import GuardError, VaultsyncError
from vaultsync.privacy.error_json import Trouble, error_from_json, error_json, error_values_json

KINDS = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, VaultsyncError)
]
SECRET = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"


def told(error: VaultsyncError, hint: str | None = None) -> Trouble:
    return error_json(error, hint=hint)["error"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_as_what_it_was(kind: type[VaultsyncError]) -> None:
    said: Trouble = {"kind": kind.__name__, "message": "it broke", "hint": "mend it"}
    error = error_from_json(said)
    assert type(error) is kind
    assert (error.message, error.hint) == ("it broke", "mend it")
    assert told(error) == said


def test_the_run_that_can_be_confirmed_comes_along_and_a_hint_can_be_replaced() -> None:
    error = error_from_json(told(GuardError("too much", "r1"), hint="ask"))
    assert isinstance(error, GuardError)
    assert (error.run, error.hint) == ("r1", "ask")


def test_examples_come_along_but_are_not_for_agents() -> None:
    error = GuardError("too much", "r1", examples=["a.md", f"{SECRET}.md"])
    said = error_json(error)["error"]
    assert len(said["examples"]) == 2
    assert SECRET not in str(said)
    assert error_from_json(said).examples == said["examples"]
    assert "examples" not in error_json(error, for_agent=True)["error"]


@pytest.mark.parametrize("kind", ["ZeroDivisionError", "annotations", "root", "", "x y"])
def test_what_is_no_error_of_ours_is_told_all_the_same(kind: str) -> None:
    error = error_from_json({"kind": kind, "message": "it broke", "hint": ""})
    assert type(error) is VaultsyncError
    assert error.message == "it broke"


def test_secrets_that_words_repeat_are_not_told() -> None:
    assert SECRET not in str(error_values_json("OSError", f"no {SECRET}", f"leave {SECRET}"))
