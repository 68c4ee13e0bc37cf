"""What an installation changes in the files of a host, and what it leaves alone."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.errors import HostEntryExistsError, HostFileError
from vaultsync.hosts.agent_hosts import HOSTS, HostFile
from vaultsync.hosts.installation import Installation, describe, plan_file, receipt_of, text_before

ONE = Installation(
    "gemini",
    "vaultsync",
    ("/bin/vaultsync", "mcp", "--vault", "/home/ada/My notes"),
    "/bin/vaultsync hook gemini --vault '/home/ada/My notes'",
    "Use the memory.",
)
SERVER = HostFile("json server")
VSCODE = HostFile("vscode server")
TOML = HostFile("toml server")
HOOKS = HostFile("hooks", events=("SessionStart", "SessionEnd"))
FLAT = HostFile("flat hooks", events=("sessionStart",))
TEXT = HostFile("text")
OWN = HostFile("text", preamble="---\napplyTo: x\n---\n")


def _install(
    text: str | None, *parts: HostFile, to: Installation = ONE, path: str = "settings"
) -> str:
    base, after = plan_file(text, path, parts, to, remove=False)
    assert base == text
    assert after is not None
    return after


def _remove(text: str | None, *parts: HostFile, to: Installation = ONE) -> str | None:
    return plan_file(text, "settings", parts, to, remove=True)[1]


@pytest.mark.parametrize("part", [SERVER, VSCODE, TOML, HOOKS, FLAT, TEXT])
def test_a_second_installation_changes_nothing(part: HostFile) -> None:
    after = _install(None, part)
    assert plan_file(after, "settings", [part], ONE, remove=False)[1] == after


@pytest.mark.parametrize("part", [SERVER, VSCODE, HOOKS, FLAT, TOML, TEXT])
def test_another_vault_replaces_the_entry_where_it_is(part: HostFile) -> None:
    other = replace(
        ONE,
        command=("/bin/vaultsync", "mcp", "--vault", "/other"),
        hook="/bin/vaultsync hook gemini --vault /other",
        instructions="Use the other memory.",
    )
    before = _install(None, part)
    after = plan_file(before, "settings", [part], other, remove=False)[1]
    assert after == _install(None, part, to=other)
    assert "other" in (after or "")


def test_servers_are_written_in_the_form_of_each_host() -> None:
    command = {"command": ONE.command[0], "args": [*ONE.command[1:]]}
    assert json.loads(_install(None, SERVER)) == {"mcpServers": {"vaultsync": command}}
    vscode = json.loads(_install("", VSCODE))
    assert vscode == {"servers": {"vaultsync": {"type": "stdio", **command}}}
    assert '[mcp_servers.vaultsync]\ncommand = "/bin/vaultsync"\n' in _install(None, TOML)


def test_hooks_are_written_in_the_form_of_each_host() -> None:
    one = {"hooks": [{"type": "command", "command": ONE.hook}]}
    nested = {"hooks": {"SessionStart": [one], "SessionEnd": [one]}}
    assert json.loads(_install(None, HOOKS)) == nested
    assert json.loads(_install("{}", HOOKS)) == nested
    flat = {"version": 1, "hooks": {"sessionStart": [{"command": ONE.hook}]}}
    assert json.loads(_install(None, FLAT)) == flat
    assert json.loads(_install("{}", FLAT)) == flat


def test_a_command_of_others_in_our_entry_stays() -> None:
    mine = {"type": "command", "command": "bye"}
    text = _install(None, HOOKS)
    ours = {"type": "command", "command": ONE.hook}
    for commands in ([ours, mine], [mine, ours], [ours, mine, ours]):
        settings = json.loads(text)
        settings["hooks"]["SessionEnd"] = [{"matcher": "x", "hooks": commands}]
        changed = json.dumps(settings, indent=1)
        left = json.loads(_remove(changed, HOOKS) or "")
        assert left == {"hooks": {"SessionEnd": [{"matcher": "x", "hooks": [mine]}]}}
        after = json.loads(plan_file(changed, "settings", [HOOKS], ONE, remove=False)[1] or "")
        assert after["hooks"]["SessionEnd"] == [
            {"matcher": "x", "hooks": [mine]},
            {"hooks": [ours]},
        ]


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("own", ["", '\n[mcp_servers.vaultsync.env]\nA = "b"\n'])
def test_a_table_that_a_host_adds_above_the_end_of_our_block_stays(line: str, own: str) -> None:
    end = "# vaultsync:end\n"
    table = '\n[projects."/home/ada"]\ntrust_level = "trusted"\n\n[[more]]\nx = [\n  [1],\n]\n'
    first = _install('model = "x"\n', TOML)
    added = (first.removesuffix(end) + own + table + end).replace("\n", line)
    again = plan_file(added, "settings", [TOML], ONE, remove=False)[1]
    assert again == (first + table).replace("\n", line)
    assert plan_file(again, "settings", [TOML], ONE, remove=False)[1] == again
    assert _remove(added, TOML) == f'model = "x"\n{table}'.replace("\n", line)


def test_the_hooks_of_others_stay() -> None:
    others = '{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "bye"}]}]}}'
    after = _install(others, HOOKS)
    assert [len(each) for each in json.loads(after)["hooks"].values()] == [2, 1]
    assert json.loads(_remove(after, HOOKS) or "") == json.loads(others)


def test_a_hook_that_was_changed_by_hand_is_written_again_once() -> None:
    twice = _install(None, HOOKS)
    edited = twice.replace('"type": "command"', '"type": "command",\n            "timeout": 5', 1)
    after = plan_file(edited, "settings", [HOOKS], ONE, remove=False)[1]
    assert json.loads(after or "") == json.loads(twice)


def test_without_hooks_and_instructions_what_was_there_of_ours_goes() -> None:
    less = replace(ONE, hook="", instructions="")
    assert plan_file(_install("{}", HOOKS), "x", [HOOKS], less, remove=False)[1] == "{}"
    assert plan_file(_install("a", TEXT), "x", [TEXT], less, remove=False)[1] == "a"
    assert plan_file(None, "x", [TEXT, HOOKS], less, remove=False)[1] is None


def test_a_file_of_ours_has_its_preamble_and_goes_whole() -> None:
    after = plan_file(None, "a/vaultsync.mdc", [OWN], ONE, remove=False)[1]
    assert after is not None
    assert after.startswith(OWN.preamble)
    assert plan_file(after, "a/vaultsync.mdc", [OWN], ONE, remove=True)[1] is None
    shared = plan_file(None, "a/copilot-instructions.md", [OWN], ONE, remove=False)[1]
    assert OWN.preamble not in (shared or OWN.preamble)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (SERVER, '{"mcpServers": {"vaultsync": {"command": "other"}}}'),
        (SERVER, '{"mcpServers": {"vaultsync": 7}}'),
        (TOML, '[mcp_servers]\nvaultsync = {command = "mine"}\n'),
    ],
)
def test_a_server_of_that_name_that_is_not_ours_stays(part: HostFile, text: str) -> None:
    with pytest.raises(HostEntryExistsError, match="vaultsync"):
        _install(text, part)
    assert _remove(text, part) == text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (SERVER, "{"),
        (SERVER, '{"mcpServers": []}'),
        (HOOKS, '{"hooks": {"SessionStart": {}}}'),
        (TOML, "= 1"),
        (TOML, "mcp_servers = 1"),
        (TOML, 'mcp_servers = {one = {command = "x"}}'),
    ],
)
def test_a_file_in_another_form_is_left_alone(part: HostFile, text: str) -> None:
    with pytest.raises(HostFileError, match="not modified"):
        _install(text, part)


@given(st.none() | st.text("ab\n", max_size=6), st.text("abc\n", max_size=8))
def test_a_receipt_puts_back_every_byte(before: str | None, after: str) -> None:
    receipt = receipt_of(before, after)
    assert text_before(after, receipt) == (True, before)
    assert text_before(after + "!", receipt) == (False, None)


def test_with_its_receipt_a_file_becomes_what_it_was() -> None:
    for text in ("{ }", '{"mcpServers": {\n}}', "{\n}\n", ""):
        after = plan_file(text, "x", [SERVER, HOOKS], ONE, remove=False)[1]
        assert after is not None
        receipt = receipt_of(text, after)
        wanted = [SERVER, HOOKS]
        assert plan_file(after, "x", wanted, ONE, remove=True, receipt=receipt)[1] == text
        again = plan_file(after, "x", wanted, ONE, remove=False, receipt=receipt)
        assert again == (text, after)
        edited = after.replace("{", '{"mine": 1,', 1)
        left = plan_file(edited, "x", wanted, ONE, remove=True, receipt=receipt)[1]
        assert json.loads(left or "") == {"mine": 1}


@pytest.mark.parametrize(
    ("part", "before"),
    [(SERVER, '{\n  "a": 1\n}\n'), (VSCODE, None), (TOML, 'a = "x"\n'), (TOML, None)],
)
def test_a_server_of_another_name_stays_beside_it(part: HostFile, before: str | None) -> None:
    two = replace(ONE, server="the second", command=("/bin/vaultsync", "mcp", "--vault", "/other"))
    first = _install(before, part)
    base, both = plan_file(first, "s", [part], two, remove=False, receipt=receipt_of(before, first))
    assert both is not None
    assert base == first
    held = tomllib.loads(both) if part is TOML else json.loads(both)
    assert {*next(x for x in held.values() if isinstance(x, dict))} == {ONE.server, two.server}
    receipt = receipt_of(first, both)
    assert plan_file(both, "s", [part], two, remove=False, receipt=receipt)[1] == both
    assert plan_file(both, "s", [part], two, remove=True, receipt=receipt)[1] == first
    left = plan_file(both, "s", [part], ONE, remove=True, receipt=receipt)[1]
    assert left == _install(before, part, to=two)
    assert plan_file(left, "s", [part], ONE, remove=True)[1] == left
    assert plan_file(left, "s", [part], two, remove=True)[1] in (before, "{}\n", '{\n  "a": 1\n}\n')


@pytest.mark.parametrize("part", [TEXT, TOML])
def test_what_stands_below_a_block_stays_there(part: HostFile) -> None:
    text = _install(None, part) + "\n[others]\n"
    receipt = None
    for _ in range(3):
        base, after = plan_file(text, "x", [part], ONE, remove=False, receipt=receipt)
        assert after == text
        receipt = receipt_of(base, after)
    left = plan_file(text, "x", [part], ONE, remove=True, receipt=receipt)[1]
    assert left == _remove(text, part)


def test_nothing_is_removed_from_what_is_not_there() -> None:
    for part in (SERVER, HOOKS, TEXT, TOML):
        assert _remove(None, part) is None
        assert _remove("\n", part) == "\n"
    assert _remove("{}", SERVER, HOOKS) == "{}"


def test_a_change_says_what_happens_to_the_file() -> None:
    created = describe("a", None, "x\n", [SERVER, HOOKS])
    assert (created.action, created.entries) == ("create", ("server", "hooks"))
    assert "+x" in created.diff
    assert describe("a", "x", "x", [TEXT]).action == "none"
    assert describe("a", "x", None, [FLAT]).action == "delete"
    assert describe("a", "x", "y", [TEXT]).action == "update"


def test_each_host_has_a_server_and_a_source() -> None:
    for host in HOSTS.values():
        assert any(part.form.endswith("server") for part in host.files)
        assert host.source.startswith("https://")
