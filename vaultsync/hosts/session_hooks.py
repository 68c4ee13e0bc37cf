"""What hosts hand to their hooks, and what they read back: JSON on stdin and stdout."""

from __future__ import annotations

import json
from collections.abc import Mapping

from vaultsync.hosts.agent_hosts import HOSTS, START_EVENTS


def event_of(text: str) -> tuple[str, Mapping[str, object]]:
    """The event that a host names, and all that it hands over; "" for none."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return "", {}
    if not isinstance(given, dict):
        return "", {}
    name = given.get("hook_event_name", given.get("hookEventName"))
    return (name if isinstance(name, str) else ""), given


def is_session_start(event: str) -> bool:
    """Whether a host takes context at an event."""
    return event in START_EVENTS


def context_answer(host: str, event: str, text: str) -> str:
    """What a hook prints so that the host puts a text before its agent, as one line of JSON."""
    key = HOSTS[host].context_key
    if key != "hookSpecificOutput":
        return json.dumps({key: text}, ensure_ascii=False)
    answer = {"hookEventName": event, "additionalContext": text}
    return json.dumps({key: answer}, ensure_ascii=False)
