"""What a hook prints has the form that its host reads."""

from __future__ import annotations

import json

import pytest

from vaultsync.hosts.agent_hosts import HOSTS, START_EVENTS, context_answer, event_of


@pytest.mark.parametrize("host", HOSTS)
def test_context_is_put_where_the_host_looks(host: str) -> None:
    answer = json.loads(context_answer(host, "SessionStart", "é\n"))
    if host == "cursor":
        assert answer == {"additional_context": "é\n"}
    else:
        inner = {"hookEventName": "SessionStart", "additionalContext": "é\n"}
        assert answer == {"hookSpecificOutput": inner}


def test_only_a_named_event_is_one() -> None:
    assert event_of('{"hook_event_name": "sessionStart"}') in START_EVENTS
    assert event_of('{"hook_event_name": "Stop"}') not in START_EVENTS
    for text in ("", "[]", "{", '{"hook_event_name": 7}'):
        assert event_of(text) == ""
