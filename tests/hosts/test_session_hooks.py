"""What a hook prints has the form that its host reads."""

from __future__ import annotations

import json

import pytest

from vaultsync.hosts.agent_hosts import HOSTS
from vaultsync.hosts.session_hooks import context_answer, event_of, is_session_start


@pytest.mark.parametrize("host", HOSTS)
def test_context_is_put_where_the_host_looks(host: str) -> None:
    answer = json.loads(context_answer(host, "SessionStart", "é\n"))
    if host == "cursor":
        assert answer == {"additional_context": "é\n"}
    else:
        inner = {"hookEventName": "SessionStart", "additionalContext": "é\n"}
        assert answer == {"hookSpecificOutput": inner}


def test_only_a_named_event_is_one() -> None:
    assert is_session_start(event_of('{"hook_event_name": "sessionStart"}'))
    assert not is_session_start(event_of('{"hook_event_name": "Stop"}'))
    for text in ("", "[]", "{", '{"hook_event_name": 7}'):
        assert event_of(text) == ""
