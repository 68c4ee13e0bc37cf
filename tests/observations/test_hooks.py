"""What hooks tell is read by host and split into observations, whatever their hosts send."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.errors import InvalidFieldError
from vaultsync.observations.hooks import (
    MAX_CHARS,
    MAX_HOOK_BYTES,
    MAX_OBSERVATIONS,
    is_hook,
    read_hook,
    split_observations,
    transcript_texts,
)

FOLDER = Path(__file__).parents[2] / "golden" / "hooks"


def _page(page: str) -> dict[str, list[str]]:
    """Name -> what is told beside it, and the items below it."""
    parts = (each.split("\n- ") for each in re.split(r"\n(?![- ])", page.strip()))
    names = ((*head.split(": ", 1), *items) for head, *items in parts)
    return {name: [" ".join(each.split()) for each in told] for name, *told in names}


RECORDED = _page("""
claude-code-post-tool-use: PostToolUse: Claude Code, Bash: make deploy
- uploading image ... ok
- ERROR deploy failed: the disk of the harbour box is full
claude-code-stop: Stop: Claude Code, Stop
- Opened the settings file and looked at the defaults.
- We decided to keep SQLite for the bookings; Postgres is off the table.
claude-code-pre-compact: PreCompact: Claude Code, PreCompact
claude-code-session-end: SessionEnd: Claude Code, SessionEnd
codex-post-tool-use: PostToolUse: Codex, Bash: cargo test
- test berth::twice ... FAILED error: test failed, the release is blocked
codex-stop: Stop: Codex, Stop
- Learned that the tide table counts from midnight UTC, not from local midnight.
codex-pre-compact: PreCompact: Codex, PreCompact
codex-notify: agent-turn-complete: Codex, agent-turn-complete
- Renamed it. The migration failed in production and was rolled back, 14 bookings were lost.
cursor-after-shell-execution: afterShellExecution: Cursor, npm test
- FAIL berth.test.ts
- Error: the payment service refuses every request in production
cursor-post-tool-use: postToolUse: Cursor, MCP:tide
- Opened the file.
cursor-after-agent-response: afterAgentResponse: Cursor, afterAgentResponse
- Mara prefers short commit messages with the reason in the body.
cursor-session-end: sessionEnd: Cursor, sessionEnd
cursor-pre-compact: preCompact: Cursor, preCompact
gemini-cli-after-tool: AfterTool: Gemini CLI, run_shell_command: ./backup.sh
- Command: ./backup.sh
- Output: the backup failed, no space left on the target
gemini-cli-after-agent: AfterAgent: Gemini CLI, AfterAgent
- Found out why the list is slow: every row opens its own connection. With one connection it
  takes 0.4 s instead of 6 s.
gemini-cli-pre-compress: PreCompress: Gemini CLI, PreCompress
gemini-cli-session-end: SessionEnd: Gemini CLI, SessionEnd
""")
"""Hook -> its event and context, and its observations."""
SPOKEN = _page("""
claude-code-transcript.jsonl
- We decided that the berth list stays in one file, please do not split it.
- I read the three files of the module.
- Found the cause of the double bookings: the lock is taken after the write.
- All tests pass, moving on to the next file.
codex-transcript.jsonl
- I promised the harbour office the corrected list by Friday.
- Opened the list, reading it now.
cursor-transcript.jsonl
- Decision: the crane schedule is not public any more.
- Reading the next file.
gemini-cli-transcript.json
- We agreed with the harbour office that invoices go out on the 1st.
- Looking at the folder first.
""")


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def test_each_recorded_hook_and_transcript_is_read_by_a_test() -> None:
    names = {each.name for each in FOLDER.iterdir()} - {"README.md"}

    assert names == {*SPOKEN, *(f"{each}.json" for each in RECORDED)}


@pytest.mark.parametrize("name", RECORDED)
def test_a_hook_tells_its_host_what_happened_and_where(name: str) -> None:
    hook = read_hook(_text(f"{name}.json"))

    found = split_observations(hook.texts)
    assert [f"{hook.event}: {hook.context}", *found] == RECORDED[name]
    assert hook.context.startswith(f"{hook.host}, ")
    assert is_hook(_text(f"{name}.json"))
    assert hook.session
    assert bool(hook.transcript) == (not found)


@pytest.mark.parametrize("name", SPOKEN)
def test_a_transcript_tells_what_user_and_agent_said(name: str) -> None:
    assert split_observations(transcript_texts(_text(name))) == SPOKEN[name]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_line_of_a_transcript_may_have_other_line_ends(separator: str) -> None:
    text = f"We keep SQLite.{separator}Mara decided it."
    row = {"type": "assistant", "message": {"role": "assistant", "content": text}}
    assert transcript_texts(json.dumps(row, ensure_ascii=False) + "\r\n") == [text]


def test_a_transcript_that_begins_in_the_middle_of_a_line_is_read_from_the_next_one() -> None:
    cut = _text("claude-code-transcript.jsonl")[100:]

    assert split_observations(transcript_texts(cut)) == SPOKEN["claude-code-transcript.jsonl"][1:]


@pytest.mark.parametrize(
    "told",
    [
        "",
        "not JSON",
        "[]",
        "{}",
        '{"hook_event_name": 7}',
        "[" * 100_000,
        '{"hook_event_name": "Stop", "x": "' + "x" * MAX_HOOK_BYTES + '"}',
    ],
    ids=["empty", "no JSON", "a list", "no event", "a number", "deep", "long"],
)
def test_what_is_no_hook_is_refused_in_words(told: str) -> None:
    with pytest.raises(InvalidFieldError, match="hook"):
        read_hook(told)


@pytest.mark.parametrize("text", ["", "We met.", "[1]", '{"a": 1}', '"hook_event_name"'])
def test_a_note_is_not_taken_for_a_hook(text: str) -> None:
    assert not is_hook(text)


@pytest.mark.parametrize(
    "transcript", ["", "no JSON", "7", '{"messages": 7}', '{"role": "user"}', "[" * 10_000]
)
def test_a_broken_transcript_tells_nothing(transcript: str) -> None:
    assert transcript_texts(transcript) == []


def test_a_deep_result_of_a_tool_is_read_to_a_limit() -> None:
    result: object = "The bottom of it all."
    for _ in range(50):
        result = {"content": [result]}

    hook = read_hook(json.dumps({"hook_event_name": "PostToolUse", "tool_response": result}))

    assert hook.texts == ()


@pytest.mark.parametrize("result", ["{no JSON", "[1, 2", "{the rest of a line"])
def test_a_result_that_only_looks_like_json_is_text(result: str) -> None:
    hook = read_hook(json.dumps({"hook_event_name": "PostToolUse", "tool_output": result}))

    assert hook.texts == (result,)


def test_a_row_of_a_transcript_without_a_message_tells_nothing() -> None:
    rows = [{"type": "user", "message": 7}, {"type": "response_item", "payload": None}]

    assert transcript_texts("\n".join(map(json.dumps, rows))) == []


def test_half_of_a_character_is_replaced_because_hosts_cut_texts() -> None:
    told = {"hook_event_name": "Stop", "session_id": "one\ud83d", "text": "It was red \ud83d now"}
    row = {"type": "user", "message": {"role": "user", "content": "Cut here \ude00"}}

    hook = read_hook(json.dumps(told))

    assert (hook.session, hook.texts) == ("one\ufffd", ("It was red \ufffd now",))
    assert transcript_texts(json.dumps(row)) == ["Cut here \ufffd"]


def test_prose_is_joined_lists_are_split_and_code_is_left_out() -> None:
    text = (
        "The lock was taken\nafter the write.\n\n"
        "1. Renamed the berth table\n2. Dropped the old index\n\n"
        "```sh\nmake deploy --of everything\n```\n~~~\nan open fence of code"
    )

    assert split_observations([text, "# Renamed the berth table"]) == [
        "The lock was taken after the write.",
        "Dropped the old index",
        "Renamed the berth table",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["tool_response", "content", "text", "message", "type", "role"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["tool_response", "text", "tool_input", "type"]), JSON))
def test_any_object_with_an_event_is_split_into_short_single_lines(told: dict[str, object]) -> None:
    hook = read_hook(json.dumps({"hook_event_name": "Stop", **told}))
    found = split_observations([*hook.texts, *transcript_texts(json.dumps(told))])

    assert len(found) <= MAX_OBSERVATIONS
    assert all(0 < len(each) <= MAX_CHARS and "\n" not in each for each in found)
