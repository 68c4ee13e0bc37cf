"""Messages become facts of a session, in their order and once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world import World
from vaultsync.errors import InvalidFieldError, NoteLimitError, WriteLimitError
from vaultsync.exchange.session_messages import RememberedSession, read_messages, remember_session
from vaultsync.indexing.session_context import turn_of
from vaultsync.model.permissions import AgentPermissions, Permissions

NOON, LATER = "2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00"
_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool"]), "content": st.sampled_from("ab ")},
        optional={"at": st.sampled_from([NOON, LATER])},
    ),
    max_size=8,
)


def take(
    world: World, messages: Sequence[Mapping[str, Any]], agent: str | None = "indy"
) -> RememberedSession:
    return remember_session(world.ctx, messages, {}, session="s", agent=agent)[0]


@given(_MESSAGES, st.integers(0, 8))
def test_a_growing_session_is_stored_once(messages: list[dict[str, Any]], first: int) -> None:
    world = World()
    said = [each for each in messages if each["role"] != "tool" and each["content"].strip()]
    before = take(world, messages[:first])
    report = take(world, messages)
    assert before.facts + report.facts == len(said)
    assert (report.known, report.skipped) == (before.facts, len(messages) - len(said))
    facts = sorted(world.facts(), key=turn_of)
    texts = [each.content.rpartition(" ")[2] for each in facts]
    assert sorted(texts) == sorted(each["content"] for each in said)
    if not any("at" in each for each in messages):
        assert texts == [each["content"] for each in said]
    assert take(world, messages).facts == 0


def test_a_message_says_who_spoke_and_when() -> None:
    world = World()
    parts = [{"type": "text", "text": "At noon."}, {"type": "image"}, "Bring bread.", None]
    ids = take(
        world,
        [
            {"role": "user", "content": "When?", "name": "Ada", "at": NOON},
            {"role": "assistant", "content": parts, "at": NOON},
            {"role": "human", "content": None},
        ],
    ).ids
    ada, answer = (world.fact(each) for each in ids)
    assert (ada.content, ada.created_at) == ("Ada: When?", NOON)
    assert answer.content == "Assistant: At noon.\n\nBring bread."
    assert answer.created_at == "2026-03-01T12:00:00.001Z"
    assert {each.type for each in (ada, answer)} == {"episodic"}
    assert {each.session_id for each in (ada, answer)} == {"s"}


def test_a_forgotten_message_stays_forgotten_and_agents_have_their_own() -> None:
    world = World()
    message = {"role": "user", "content": "Hello."}
    (own,) = take(world, [message]).ids
    world.agent_forgets(own)
    assert take(world, [message]).known == 1
    assert not world.is_alive(own)
    assert take(world, [message], agent="ada").facts == 1


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("Hello.", "messages[1]:"),
        ({"content": "x"}, "messages[1].role"),
        ({"role": "judge", "content": "x"}, "messages[1].role"),
        ({"role": ["user"], "content": "x"}, "messages[1].role"),
        ({"role": "user", "content": "a\0b"}, "content"),
        ({"role": "user", "content": 5}, "messages[1].content"),
        ({"role": "user", "content": [{"x": 1}]}, "messages[1].content"),
        ({"role": "user", "content": "x", "at": "noon"}, "messages[1].at"),
        ({"role": "user", "content": "x", "name": "a\nb"}, "messages[1].name"),
    ],
)
def test_a_message_of_another_form_is_named_and_nothing_is_stored(
    message: Any,  # noqa: ANN401 - of any form
    where: str,
) -> None:
    world = World()
    with pytest.raises(InvalidFieldError, match=where.replace("[", r"\[")):
        take(world, [{"role": "user", "content": "fine"}, message])
    assert world.facts() == []


def test_a_session_that_an_agent_may_not_write_whole_is_not_begun() -> None:
    table = {"indy": AgentPermissions(write=("*",), max_facts_per_hour=2)}
    world = World(permissions=Permissions(table))
    said = [{"role": "user", "content": each} for each in "abc"]
    with pytest.raises(WriteLimitError):
        take(world, said)
    assert world.facts() == []
    for length in (1, 1, 2, 2):  # what is known already is not counted again
        take(world, said[:length])
    assert len(world.facts()) == 2


def test_a_message_that_fits_in_no_note_leaves_none_of_its_session() -> None:
    world = World()
    said = [{"role": "user", "content": each} for each in ("first", "x" * 5_000_000)]
    with pytest.raises(NoteLimitError):
        take(world, said)
    assert world.facts() == []


def test_a_session_has_a_name() -> None:
    with pytest.raises(InvalidFieldError, match="session"):
        remember_session(World().ctx, [], {}, session=" ", agent=None)


def test_messages_are_read_from_an_array_lines_or_an_object() -> None:
    one, two = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    lines = f"{json.dumps(one)}\n\n{json.dumps(two)}\n"
    for text in (json.dumps([one, two]), json.dumps({"messages": [one, two]}), lines):
        assert read_messages(text) == [one, two]
    assert read_messages(json.dumps(one)) == [one]
    for wrong in ("", "{", '"x"', '{"messages": 1}', "[" * 100_000, '["\udcff"]'):
        if wrong:
            with pytest.raises(InvalidFieldError):
                read_messages(wrong)
        else:
            assert read_messages(wrong) == []
