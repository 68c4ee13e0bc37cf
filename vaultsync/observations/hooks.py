"""Read the JSON from hooks of agents' hosts, and split its texts into observations.

| host | sends |
|---|---|
| Claude Code, Codex | `PostToolUse`, `Stop`, `PreCompact`, `SessionEnd` with snake-case keys |
| Codex, as `notify` | `agent-turn-complete` with hyphens in its keys |
| Gemini CLI | `AfterTool`, `AfterAgent`, `PreCompress`, `SessionEnd` |
| Cursor | `afterShellExecution`, `afterAgentResponse`, `postToolUse`, `preCompact`, `sessionEnd` |

A hook that brings no text names the transcript of its session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec import Struct

from vaultsync.errors import InvalidFieldError

CLAUDE_CODE, CODEX, CURSOR, GEMINI = "Claude Code", "Codex", "Cursor", "Gemini CLI"
MAX_HOOK_BYTES = 8 << 20
"""The largest payload, in bytes."""
MAX_OBSERVATIONS = 60
"""Maximum number of observations from one hook; the last ones are kept."""
MAX_CHARS, MIN_WORDS = 1_000, 3
_MAX_DEPTH = 8
_GEMINI_EVENTS = frozenset({"AfterTool", "AfterAgent", "AfterModel", "PreCompress"})
_TEXT_KEYS = (
    "last_assistant_message",
    "last-assistant-message",
    "prompt_response",
    "text",
    "error",
    "error_message",
)
"""Keys of an agent's message or of an error."""
_RESULT_KEYS = ("tool_response", "tool_output", "output", "result_json")
"""Keys of the result of a tool."""
_INNER_KEYS = ("stderr", "stdout", "output", "error", "llmContent", "content", "text", "message")
"""Keys of the texts in the result of a tool."""
_FENCE = re.compile(
    r"^ *+(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^ *+\1[^\n]*+$|\Z)", re.MULTILINE | re.DOTALL
)
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>|\[[ xX]\])\s+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")

_HALF = re.compile(r"[\ud800-\udfff]")
"""Half of a character, which is left where a host cut a text."""


class Hook(NamedTuple):
    """The payload of a hook."""

    host: str
    event: str
    session: str
    texts: tuple[str, ...]
    context: str
    """The origin of its texts: the host, and the tool with its input."""
    transcript: str
    """The path of the transcript if the payload has no text; else empty."""


class KeptObservation(Struct, frozen=True):
    """A stored observation of a hook."""

    id: str
    tier: str
    """As classified; `pending` if the classifier did not answer."""
    content: str


class CaptureReport(Struct, frozen=True):
    """The result of storing the observations of a hook."""

    host: str
    event: str
    session: str
    seen: int
    """The number of observations in the payload."""
    noise: int
    """How many were background and were not stored."""
    known: int
    """How many an earlier hook of the session had stored."""
    kept: tuple[KeptObservation, ...]


def is_hook(text: str) -> bool:
    """Whether a text looks like the payload of a hook."""
    start = text[:4096]
    return start.lstrip().startswith("{") and any(
        each in text[:MAX_HOOK_BYTES] for each in ('"hook_event_name"', '"agent-turn-complete"')
    )


def read_hook(text: str) -> Hook:
    """Parse the payload of a hook.

    Raises:
        InvalidFieldError: it is too long, no JSON object, or of no known host.
    """
    if len(text) > MAX_HOOK_BYTES:
        raise _refused(f"at most {MAX_HOOK_BYTES >> 20} MiB")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        expected = "JSON, as an agent's host writes it for its hooks"
        if not text.strip():
            raise _refused(expected, "standard input is empty") from None
        raise _refused(expected) from None
    if not isinstance(payload, dict):
        raise _refused("a JSON object")
    event = _line(payload, "hook_event_name") or _line(payload, "type")
    if not event:
        expected = "an object with `hook_event_name`, or `type` of Codex's notify"
        raise _refused(expected)
    texts = tuple(map(_without_halves, _texts(payload)))
    host = _host(payload, event)
    transcript = "" if texts else _line(payload, "transcript_path")
    return Hook(host, event, _session(payload), texts, _context(payload, host, event), transcript)


def _refused(
    expected: str, found: str = "standard input is no input of a hook"
) -> InvalidFieldError:
    error = InvalidFieldError("hook", "", expected)
    error.message = f"{found}: expected {expected}"
    error.hint = "the host pipes it in; `vaultsync observe TEXT` stores a text"
    return error


def _host(payload: Mapping[str, object], event: str) -> str:
    if "conversation_id" in payload or "cursor_version" in payload:
        return CURSOR
    if event in _GEMINI_EVENTS or ("timestamp" in payload and "permission_mode" not in payload):
        return GEMINI
    if event == "agent-turn-complete" or "turn_id" in payload:
        return CODEX
    return CLAUDE_CODE


def _without_halves(text: str) -> str:
    return _HALF.sub("\ufffd", text)


def _session(payload: Mapping[str, object]) -> str:
    keys = ("session_id", "conversation_id", "thread-id")
    return next((found for key in keys if (found := _line(payload, key))), "")


def _context(payload: Mapping[str, object], host: str, event: str) -> str:
    tool = _line(payload, "tool_name")
    given = payload.get("tool_input")
    command = _line(payload, "command") or (
        _line(given, "command") if isinstance(given, dict) else ""
    )
    asked = ": ".join(each for each in (tool, command[:200]) if each)
    return f"{host}, {asked or event}"


def _line(payload: Mapping[str, object], key: str) -> str:
    """The text of a key in one line; empty where it has none."""
    found = payload.get(key)
    text = _without_halves(found) if isinstance(found, str) else ""
    return " ".join(_CONTROL.sub(" ", text).split())[:1000]


def _texts(payload: Mapping[str, object]) -> Iterator[str]:
    for key in _TEXT_KEYS:
        if isinstance(found := payload.get(key), str) and found.strip():
            yield found
    for key in _RESULT_KEYS:
        yield from _inner_texts(payload.get(key), _MAX_DEPTH)


def _inner_texts(value: object, depth: int) -> Iterator[str]:
    """The texts in the result of a tool, which may be JSON in a string."""
    if depth == 0:
        return
    if isinstance(value, str):
        if value.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                yield str(value)
                return
            yield from _inner_texts(value, depth - 1)
        elif value.strip():
            yield value
    elif isinstance(value, list):
        for each in value:
            yield from _inner_texts(each, depth - 1)
    elif isinstance(value, dict):
        for key in _INNER_KEYS:
            yield from _inner_texts(value.get(key), depth - 1)


def transcript_texts(transcript: str) -> list[str]:
    """The messages of user and agent in a transcript, or in its end, oldest first.

    It is JSON Lines, whose first line may be cut, or one object with `messages`. Results of
    tools, and what the host inserted, are left out.
    """
    rows: list[Any] = []
    for line in transcript.split("\n"):  # strings in JSON may have other line ends
        if line.lstrip()[:1] != "{":
            continue
        with suppress(ValueError, RecursionError):
            rows.append(json.loads(line))
    if not any(isinstance(each, dict) for each in rows):
        try:
            whole = json.loads(transcript)
        except (ValueError, RecursionError):
            return []
        rows = whole.get("messages", []) if isinstance(whole, dict) else []
    spoken = (text for row in rows if isinstance(row, dict) for text in _spoken(row))
    return [*map(_without_halves, spoken)]


def _spoken(row: Mapping[str, Any]) -> Iterator[str]:
    """The texts of one row of a transcript."""
    inner = row.get("payload") if row.get("type") == "response_item" else row.get("message", row)
    if not isinstance(inner, dict):
        return
    role = inner.get("role") or row.get("role") or row.get("type")
    if role not in ("user", "assistant", "gemini", "model"):
        return
    content = inner.get("content")
    parts = [{"text": content}] if isinstance(content, str) else content
    for part in parts if isinstance(parts, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str) and text.strip() and not text.lstrip().startswith("<"):
            yield text


def split_observations(texts: Iterable[str]) -> list[str]:
    """The observations in some texts: a paragraph, an item of a list or a line each, in order.

    Fenced code, texts of fewer than 3 words and repetitions are left out.
    """
    found: dict[str, None] = {}
    for text in texts:
        plain = _FENCE.sub("\n\n", _CONTROL.sub("", text.replace("\r\n", "\n")))
        for paragraph in re.split(r"\n[ \t]*\n", plain):
            for each in _of_paragraph(paragraph):
                one_line = " ".join(each.split())[:MAX_CHARS]
                if len(_WORD.findall(one_line)) >= MIN_WORDS:
                    found.pop(one_line, None)
                    found[one_line] = None
    return [*found][-MAX_OBSERVATIONS:]


def _of_paragraph(paragraph: str) -> Iterator[str]:
    """A paragraph of prose as one text, where lines continue in lower case; else its lines."""
    gathered: list[str] = []
    for line in paragraph.split("\n"):
        bare = line.strip()
        at = 0
        while item := _ITEM.match(bare, at):
            at = item.end()
        if gathered and (at or not bare[:1].islower()):
            yield " ".join(gathered)
            gathered = []
        bare = bare[at:]
        if bare:
            gathered.append(bare)
    if gathered:
        yield " ".join(gathered)
