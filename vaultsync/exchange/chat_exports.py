"""Conversations exported from ChatGPT and Claude: one fact of type episodic each.

The format of ChatGPT's `conversations.json` is not documented; it is a tree of messages, in which
the user saw the branch that ends at `current_node`. Both formats are as exported in 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

from vaultsync.exchange.json_stream import read_objects
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import Found, SourceFact, UnreadablePartError, line_of, time_of
from vaultsync.model.schema import Value

_ROLES = {"user": "User", "human": "User", "assistant": "Assistant"}


def read_chatgpt(files: SourceFiles) -> Found:
    """The conversations in an export of ChatGPT."""
    return _elements(files, "conversations*.json", _chatgpt_conversation)


def read_claude(files: SourceFiles) -> Found:
    """The conversations, projects and memories in an export of Claude."""
    yield from _elements(files, "conversations*.json", _claude_conversation)
    yield from _elements(files, "projects*.json", _claude_project)
    yield from _elements(files, "memories*.json", _claude_memory)


def _elements(
    files: SourceFiles, pattern: str, read: Callable[[Mapping[str, Any], str], Found]
) -> Found:
    names = [each for each in files.names() if fnmatch(each.rpartition("/")[2], pattern)]
    return read_objects(files, names, read)


def _chatgpt_conversation(given: Mapping[str, Any], _: str) -> Found:
    mapping, at = given.get("mapping"), given.get("current_node")
    if not isinstance(mapping, Mapping):
        raise UnreadablePartError("it has no `mapping` of messages")
    if not isinstance(at, str) or at not in mapping:
        leaves = [key for key, node in mapping.items() if not _as_map(node).get("children")]
        at = leaves[-1] if leaves else None
    found_messages, seen = [], set[object]()
    while isinstance(at, str) and at in mapping and at not in seen:
        seen.add(at)
        node = _as_map(mapping[at])
        found_messages.append(_as_map(node.get("message")))
        at = node.get("parent")
    turns = [_chatgpt_text(each) for each in reversed(found_messages)]
    identity = given.get("conversation_id") or given.get("id")
    created, updated = given.get("create_time"), given.get("update_time")
    yield _conversation(identity, given.get("title"), turns, created=created, updated=updated)


def _chatgpt_text(message: Mapping[str, Any]) -> tuple[str, str]:
    """The author and the text of a message; the text is empty if the user never saw it."""
    role = _ROLES.get(str(_as_map(message.get("author")).get("role")), "")
    if not role or _as_map(message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return role, ""
    content = _as_map(message.get("content"))
    if content.get("content_type") not in ("text", "multimodal_text"):
        return role, ""
    parts = content.get("parts")
    texts = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"])  # what was said in a voice conversation
        elif isinstance(part, Mapping):
            texts.append(f"[{str(part.get('content_type', 'attachment')).replace('_', ' ')}]")
    return role, "\n\n".join(filter(str.strip, texts))


def _claude_conversation(given: Mapping[str, Any], _: str) -> Found:
    messages = given.get("chat_messages")
    if not isinstance(messages, list):
        raise UnreadablePartError("it has no `chat_messages`")
    turns = [_claude_text(_as_map(each)) for each in messages]
    created, updated = given.get("created_at"), given.get("updated_at")
    identity, title = given.get("uuid"), given.get("name")
    yield _conversation(identity, title, turns, created=created, updated=updated)


def _claude_text(message: Mapping[str, Any]) -> tuple[str, str]:
    role = _ROLES.get(str(message.get("sender")), "")
    content = message.get("content")
    texts = [
        part["text"]
        for part in (content if isinstance(content, list) else ())
        if isinstance(part, Mapping)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ]
    if not texts and isinstance(message.get("text"), str):
        texts = [message["text"]]
    for key in ("attachments", "files"):
        attached = message.get(key)
        for each in attached if isinstance(attached, list) else ():
            given = _as_map(each)
            texts.append(f"[{line_of(given.get('file_name')) or 'attachment'}]")
            pasted = given.get("extracted_content")
            texts += [pasted.strip("\n")] if isinstance(pasted, str) else []
    return role, "\n\n".join(filter(str.strip, texts))


def _conversation(
    identity: object,
    title: object,
    messages: Sequence[tuple[str, str]],
    *,
    created: object,
    updated: object,
) -> SourceFact:
    """A conversation in the exports of both tools, by the author and text of each message."""
    turns = [f"**{role}:** {text.strip()}" for role, text in messages if role and text.strip()]
    if not isinstance(identity, str) or not identity:
        raise UnreadablePartError("it has no id")
    if not turns:
        raise UnreadablePartError("it has no messages")
    values: dict[str, Value] = {
        "type": "episodic",
        "title": line_of(title) or line_of(turns[0].partition("** ")[2], 60),
        "content": "\n\n".join(turns),
        "conversationId": identity,
        "createdAt": time_of(created),
        "updatedAt": time_of(updated) or time_of(created),
    }
    return SourceFact(identity, values)


def _claude_project(given: Mapping[str, Any], _: str) -> Found:
    name, identity = line_of(given.get("name")), given.get("uuid")
    if not isinstance(identity, str):
        raise UnreadablePartError("it has no id")
    created = time_of(given.get("created_at"))
    texts = (given.get("description"), given.get("prompt_template"))
    content = "\n\n".join(each for each in texts if isinstance(each, str) and each.strip())
    if content:
        values: dict[str, Value] = {"type": "project", "title": name, "content": content}
        yield SourceFact(identity, {**values, "createdAt": created})
    documents = given.get("docs")
    for number, each in enumerate(documents if isinstance(documents, list) else (), 1):
        document = _as_map(each)
        text = document.get("content")
        if isinstance(text, str) and text.strip():
            title = line_of(document.get("filename")) or f"{name}, document {number}"
            at = time_of(document.get("created_at")) or created
            values = {"type": "note", "title": title, "content": text, "createdAt": at}
            yield SourceFact(str(document.get("uuid") or f"{identity}/{number}"), values)


def _claude_memory(given: Mapping[str, Any], _: str) -> Found:
    memories = {"": given.get("conversations_memory"), **_as_map(given.get("project_memories"))}
    for project, text in memories.items():
        if isinstance(text, str) and text.strip():
            title = f"Claude's memory of project {project}" if project else "Claude's memory"
            values: dict[str, Value] = {"type": "note", "title": title, "content": text}
            owner = given.get("account_uuid")
            yield SourceFact(f"memory/{owner}/{project}", values)
    if not any(isinstance(each, str) for each in memories.values()):
        raise UnreadablePartError("it has no memory")


def _as_map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
