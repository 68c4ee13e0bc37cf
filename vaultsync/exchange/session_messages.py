"""The messages of a conversation, stored as a session: one fact of type episodic each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from vaultsync.errors import InvalidFieldError, StoreUnavailableError
from vaultsync.exchange.source_facts import fact_id
from vaultsync.facts import service as fact_service
from vaultsync.model.canonical import clean_line, clean_time, from_microseconds, to_microseconds
from vaultsync.model.fact import ASSISTANT, USER, Fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import private_scope
from vaultsync.sync.context import SyncContext

SPEAKERS: Mapping[str, str] = {
    **dict.fromkeys(("user", "human"), USER),
    **dict.fromkeys(("assistant", "ai", "model"), ASSISTANT),
}
"""Role -> the speaker of a message without a name."""
UNSPOKEN = frozenset({"system", "developer", "tool", "function"})
"""Roles whose messages are skipped."""
_STEP = 1_000
"""Microseconds between messages without times."""


class RememberedSession(Struct, frozen=True):
    """The result of storing the messages of a session."""

    session: str
    ids: tuple[str, ...]
    """The new facts, in the order of their messages."""
    facts: int
    """The number of new facts."""
    known: int
    """Number of messages that were already stored."""
    skipped: int
    """Number of messages without text, or of a system or a tool."""


class _Message(NamedTuple):
    text: str
    """The text, with the speaker."""
    at: str | None


def remember_session(
    ctx: SyncContext,
    messages: Iterable[Mapping[str, Any]],
    values: Mapping[str, Value],
    *,
    session: str,
    agent: str | None,
) -> tuple[RememberedSession, list[Fact]]:
    """Store messages as facts of one session, in order; also returns the new facts.

    The id of a fact is derived from session, scope, user, writer, text, time, and the number of
    earlier occurrences of the text. So a message is stored only once, and a forgotten one stays
    forgotten. `values` are fields of all facts; the other arguments are those of
    `Memory.remember_messages()`.

    Raises:
        InvalidFieldError: a message is malformed.
        UsageError: as `facts.service.remember()`. In both cases nothing is stored.
    """
    session = clean_line("session", session)
    if not session:
        raise InvalidFieldError("session", session, "a name for the conversation")
    inputs = list(messages)
    spoken = [each for number, message in enumerate(inputs) for each in _read(number, message)]
    moments = _moments(spoken, to_microseconds(ctx.today()))
    scope = values.get("scope") or (private_scope(agent) if agent else "")
    user = values.get("userId")
    talk = f"{session}\0{user}" if user else session
    times_said: Counter[_Message] = Counter()
    new_facts: dict[str, dict[str, Value]] = {}
    for each, moment in zip(spoken, moments, strict=True):
        times_said[each] += 1
        own = (agent or "", str(scope), talk, str(times_said[each]))
        key = fact_id("\n".join((*own, each.at or "", each.text)), each.at)
        new_facts[key] = {
            **values,
            "id": key,
            "type": "episodic",
            "content": each.text,
            "sessionId": session,
            "createdAt": from_microseconds(moment),
        }
    existing: Collection[str] = ()
    with suppress(StoreUnavailableError):  # then all messages are queued
        existing = ctx.store.find_many(new_facts)
    # All are checked before the first is written.
    new = [
        fact_service.new_fact(ctx, fact, agent=agent)
        for key, fact in new_facts.items()
        if key not in existing
    ]
    found = [each for each in fact_service.write_new(ctx, new, agent=agent) if each is not None]
    ids = tuple(each.id for each in found)
    known, skipped = len(spoken) - len(ids), len(inputs) - len(spoken)
    return RememberedSession(session, ids, len(ids), known, skipped), found


def _read(number: int, message: object) -> Iterator[_Message]:
    """The message, or nothing if it has no text or is skipped."""
    where = f"messages[{number}]"
    if not isinstance(message, Mapping):
        raise InvalidFieldError(where, message, 'an object such as {"role": …, "content": …}')
    role = message.get("role")
    if not isinstance(role, str) or role not in {*SPEAKERS, *UNSPOKEN}:
        expected = "one of " + ", ".join((*SPEAKERS, *sorted(UNSPOKEN)))
        raise InvalidFieldError(f"{where}.role", role, expected)
    if role in UNSPOKEN:
        return
    at, name = message.get("at"), message.get("name")
    time = None if at is None else clean_time(f"{where}.at", at)
    speaker = clean_line(f"{where}.name", name) if name else SPEAKERS[role]
    text = _text(f"{where}.content", message.get("content"))
    if text:
        yield _Message(f"{speaker}: {text}", time)


def _text(where: str, content: object) -> str:
    """The text of a message: a string, or the text parts of a list."""
    parts: Sequence[object] = content if isinstance(content, (list, tuple)) else (content,)
    texts = []
    for part in parts:
        is_typed = isinstance(part, Mapping) and isinstance(part.get("type"), str)
        if isinstance(part, str):
            texts.append(part.strip())
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"].strip())
        elif part is not None and not is_typed:
            raise InvalidFieldError(where, part, "text, or a list of parts with a `text` each")
    return "\n\n".join(filter(None, texts))


def _moments(spoken: Iterable[_Message], now: int) -> Iterator[int]:
    """The time of each message; without one, or with that of the last, one step after the last."""
    last_time, moment = None, now - _STEP
    for each in spoken:
        is_new = each.at is not None and each.at != last_time
        moment = to_microseconds(each.at) if each.at and is_new else moment + _STEP
        last_time = each.at or last_time
        yield moment


def read_messages(text: str) -> list[Any]:
    """The messages in a file: a JSON array, JSON Lines, or an object with `messages`.

    Raises:
        InvalidFieldError: it has none of these forms.
    """
    expected = "a JSON array of messages, JSON Lines, or an object with `messages`"
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        try:
            return [msgspec.json.decode(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError) as error:
            raise InvalidFieldError("messages", str(error), expected) from None
    if isinstance(found, dict):
        found = found.get("messages", [found])
    if not isinstance(found, list):
        raise InvalidFieldError("messages", text, expected)
    return found
