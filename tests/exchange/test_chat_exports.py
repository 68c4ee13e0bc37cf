"""Conversations of ChatGPT and Claude in the forms that their exports have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.exchange.sources import contents, read, why
from vaultsync.exchange.source_facts import SourceFact


def _chat(mapping: dict[str, Any], **more: object) -> list[dict[str, object]]:
    return [{"id": "c", "title": "T", "create_time": 1, "mapping": mapping, **more}]


def _node(role: str, text: object, parent: str | None = None, **more: object) -> dict[str, object]:
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": text}}
    return {"message": message, "parent": parent, "children": [], **more}


def test_without_a_current_node_the_newest_branch_counts() -> None:
    mapping = {"a": _node("user", ["Hi"], children=["b"]), "b": _node("assistant", ["Hello"], "a")}
    (text,) = contents(read("chatgpt", "conversations.json", _chat(mapping)))
    assert text == "**User:** Hi\n\n**Assistant:** Hello"


def test_a_circle_of_messages_ends() -> None:
    mapping = {"a": _node("user", ["Hi"], "b"), "b": _node("assistant", ["Hello"], "a")}
    found = read("chatgpt", "conversations.json", _chat(mapping, current_node="b"))
    assert contents(found) == ["**User:** Hi\n\n**Assistant:** Hello"]


def test_an_export_in_several_files_is_read_whole() -> None:
    mapping = {"a": _node("user", ["Hi"])}
    found = read("chatgpt", "chats/conversations-007.json", _chat(mapping))
    assert contents(found) == ["**User:** Hi"]
    assert read("chatgpt", "user.json", _chat(mapping)) == []


def test_what_was_no_text_has_a_mark_or_is_left_out() -> None:
    spoken = {"content_type": "audio_transcription", "text": "Hello.", "direction": "in"}
    parts = [{"content_type": "audio_asset_pointer"}, spoken, 7, "Listen"]
    mapping = {
        "a": _node("user", parts, "z"),
        "z": _node("user", "no list", "y"),
        "y": {"message": {"author": {"role": "user"}, "content": {"content_type": "code"}}},
    }
    found = read("chatgpt", "conversations.json", _chat(mapping, current_node="a"))
    assert contents(found) == ["**User:** [audio asset pointer]\n\nHello.\n\nListen"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([{"id": "c"}], "`mapping`"),
        ([{"id": "c", "mapping": {}}], "no messages"),
        ([{"mapping": {"a": _node("user", ["Hi"])}}], "no id"),
        ([7], "not an object"),
        ("[{", "not JSON"),
    ],
)
def test_a_conversation_in_another_form_is_named(given: object, reason: str) -> None:
    (found,) = why(read("chatgpt", "conversations.json", given))
    assert reason in found


def test_an_older_message_of_claude_has_its_text_beside_its_parts() -> None:
    said = [
        {"sender": "human", "text": "Hi", "attachments": [{"file_name": "a.txt"}, {}]},
        {"sender": "assistant", "content": ["odd", {"type": "tool_use"}], "files": "odd"},
        "odd",
    ]
    given = [{"uuid": "c", "name": "", "created_at": "2026-01-01T00:00:00Z", "chat_messages": said}]
    (found,) = read("claude", "conversations.json", given)
    assert isinstance(found, SourceFact)
    assert found.values["content"] == "**User:** Hi\n\n[a.txt]\n\n[attachment]"
    assert found.values["title"] == "Hi [a.txt] [attachment]"


def test_what_was_pasted_into_claude_is_part_of_the_message() -> None:
    pasted = {"file_name": "log.txt", "extracted_content": "Disk full\n\nat noon\n"}
    odd = {"file_name": "", "extracted_content": 7}
    said = [{"sender": "human", "content": [], "text": "Why?", "attachments": [pasted, odd]}]
    (found,) = read("claude", "conversations.json", [{"uuid": "c", "chat_messages": said}])
    assert isinstance(found, SourceFact)
    assert (
        found.values["content"]
        == "**User:** Why?\n\n[log.txt]\n\nDisk full\n\nat noon\n\n[attachment]"
    )


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("conversations.json", [{"uuid": "c"}], "`chat_messages`"),
        ("projects.json", [{"name": "P"}], "no id"),
        ("memories.json", [{"account_uuid": "a"}], "no memory"),
    ],
)
def test_a_part_of_claude_in_another_form_is_named(name: str, given: object, reason: str) -> None:
    (found,) = why(read("claude", name, given))
    assert reason in found


def test_a_project_without_a_description_has_its_documents() -> None:
    documents = [{"content": "One."}, {"content": " "}, "odd"]
    given = [{"uuid": "p", "name": "P", "docs": documents}, {"uuid": "q", "docs": 7}]
    (found,) = read("claude", "projects.json", given)
    assert isinstance(found, SourceFact)
    assert (found.source_id, found.values["title"]) == ("p/1", "P, document 1")


def test_claude_remembers_projects_apart() -> None:
    given = [{"account_uuid": "a", "project_memories": {"P": "About P.", "Q": 7}}]
    assert contents(read("claude", "memories.json", given)) == ["About P."]
