"""The input and output of hosts' hooks: JSON on stdin and stdout."""

from __future__ import annotations

import json

from vaultsync.hosts.agent_hosts import HOSTS, START_EVENTS


def event_of(text: str) -> str:
    """The event that a host names; "" for none."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    name = given.get("hook_event_name") if isinstance(given, dict) else None
    return name if isinstance(name, str) else ""


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
