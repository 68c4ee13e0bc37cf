"""The changes of an installation in the files of a host, decided before any file is written."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from vaultsync.errors import HostEntryExistsError, HostFileError
from vaultsync.hosts.agent_hosts import HostFile
from vaultsync.hosts.json_edits import (
    JsonSyntaxError,
    Node,
    append_value,
    find,
    remove_value,
    set_value,
    value_of,
    without_member,
)
from vaultsync.hosts.marked_blocks import (
    MARKDOWN,
    TOML,
    find_block,
    line_end,
    remove_block,
    write_block,
)

PROGRAM = "vaultsync"
_CONTEXT = 3
_BLOCK_FORMS = frozenset({"text", "toml server"})
"""Forms of entries that are a marked block, which is replaced as a whole where it is."""
_SERVER_FORMS = frozenset({"json server", "vscode server", "toml server"})
_TOML_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*([^\n]*?)[ \t]*\]", re.MULTILINE)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Installation:
    """What a host is to know."""

    host: str
    """Its name."""
    server: str
    """Name of the MCP server in the host."""
    command: Sequence[str]
    """Starts the MCP server."""
    hook: str
    """The command of a hook, for a shell; "" for no hooks."""
    instructions: str
    """How an agent is to use its memory; "" for nothing."""


class HostChange(Struct, frozen=True):
    """What happens to one file of a host."""

    path: str
    action: str
    """`create`, `update`, `delete`, or `none` if it is as it should be."""
    entries: tuple[str, ...]
    """What vaultsync has written into it: `server`, `hooks`, `instructions`."""
    diff: str
    """The change as a unified diff."""


class Receipt(Struct, frozen=True):
    """What an installation replaced in a file, so that it can be put back byte for byte."""

    sha256: str
    """Of the file afterwards."""
    start: int
    """Where the change begins, in characters."""
    old: str
    new: str
    existed: bool = True
    """Whether the file was there before."""


def receipt_of(before: str | None, after: str) -> Receipt:
    """What replaced a part of one text by a part of the other."""
    old = before or ""
    start = next(
        (at for at, (one, two) in enumerate(zip(old, after, strict=False)) if one != two),
        min(len(old), len(after)),
    )
    most = min(len(old), len(after)) - start
    end = next((n for n in range(most) if old[len(old) - 1 - n] != after[len(after) - 1 - n]), most)
    return Receipt(
        _sha256(after),
        start,
        old[start : len(old) - end],
        after[start : len(after) - end],
        before is not None,
    )


def text_before(text: str, receipt: Receipt) -> tuple[bool, str | None]:
    """Whether a file is as the installation left it, and what it was before (None: no file)."""
    if _sha256(text) != receipt.sha256:
        return False, None
    if not receipt.existed:
        return True, None
    end = receipt.start + len(receipt.new)
    return True, text[: receipt.start] + receipt.old + text[end:]


def plan_file(
    text: str | None,
    path: str,
    parts: Sequence[HostFile],
    installation: Installation,
    *,
    remove: bool,
    receipt: Receipt | None = None,
) -> tuple[str | None, str | None]:
    """What a file was before an installation, and what it is to be.

    `parts` are the entries that belong into the file, of which there is none if `text` is None.
    `receipt` is that of the last installation into it.

    Returns:
        The text without our entries, and the text wanted; None for no file.

    Raises:
        HostFileError: the file is not in the form that the host reads.
        HostEntryExistsError: there is an entry of that name that is not ours.
    """
    try:
        if any(part.form == "toml server" for part in parts):
            text = _without_other_tables(text)
        exact, base = False, text
        if text is not None and receipt is not None:
            exact, base = text_before(text, receipt)
            # It is of another server where the text before does not differ in this one.
            exact = exact and all(
                _has_server(text, part, installation)
                and not (base and _has_server(base, part, installation))
                for part in parts
                if part.form in _SERVER_FORMS
            )
        if not exact:
            base = text
            for part in parts:
                base = _without(base, part, installation)
        if remove:
            return base, base
        # What people changed around our entries stays where it is, and a block too.
        is_block = all(part.form in _BLOCK_FORMS for part in parts)
        after = base if exact and not is_block else text
        for part in parts:
            after = _with(after, part, installation, path)
    except (JsonSyntaxError, tomllib.TOMLDecodeError) as error:
        raise HostFileError(path, str(error)) from None
    return base, after


def describe(
    path: str, before: str | None, after: str | None, parts: Sequence[HostFile]
) -> HostChange:
    """A change of a file, for a person."""
    action = "none" if before == after else "update"
    if before != after and (before is None or after is None):
        action = "create" if before is None else "delete"
    old, new = (before or "").splitlines(), (after or "").splitlines()
    diff = difflib.unified_diff(old, new, path, path, n=_CONTEXT, lineterm="")
    names = {"text": "instructions", "hooks": "hooks", "flat hooks": "hooks"}
    entries = tuple(dict.fromkeys(names.get(part.form, "server") for part in parts))
    return HostChange(path, action, entries, "\n".join(diff))


def _with(text: str | None, part: HostFile, installation: Installation, path: str) -> str | None:
    if part.form == "text":
        if not installation.instructions:
            return _without(text, part, installation)
        if text is None and _is_own_file(path):
            text = part.preamble or None
        return write_block(text, MARKDOWN, installation.instructions)
    if part.form == "toml server":
        _check_toml(text or "", installation.server, path)
        servers = {**_servers_in_block(text or ""), installation.server: installation.command}
        after = write_block(text, TOML, _toml_servers(servers))
        tomllib.loads(after)
        return after
    if part.form in {"hooks", "flat hooks"}:
        if not installation.hook:
            return _without(text, part, installation)
        return _with_hooks(_json(text), part, installation)
    return _with_server(_json(text), part, installation, path)


def _with_server(text: str, part: HostFile, installation: Installation, path: str) -> str:
    first, *arguments = installation.command
    server: dict[str, object] = {"type": "stdio"} if part.form == "vscode server" else {}
    server |= {"command": first, "args": arguments}
    keys = _server_keys(part, installation)
    found = find(text, keys)
    known = None if found is None else value_of(text, found)
    if found is not None and not _is_ours(known):
        raise HostEntryExistsError(path, installation.server)
    return text if known == server else set_value(text, keys, server)


def _without(text: str | None, part: HostFile, installation: Installation) -> str | None:
    if text is None:
        return None
    if part.form == "toml server":
        servers = _servers_in_block(text)
        if servers.pop(installation.server, None) is None and servers:
            return text
        if servers:
            return write_block(text, TOML, _toml_servers(servers))
    if part.form in _BLOCK_FORMS:
        left = remove_block(text, MARKDOWN if part.form == "text" else TOML)
        return None if left is not None and part.preamble and left == part.preamble else left
    if not text.strip():
        return text
    if part.form in {"hooks", "flat hooks"}:
        for event in part.events:
            text = _without_hooks(text, event, installation.host)
        return text
    keys = _server_keys(part, installation)
    found = find(text, keys)
    if found is None or not _is_ours(value_of(text, found)):
        return text
    return remove_value(text, keys)


def _with_hooks(text: str, part: HostFile, installation: Installation) -> str:
    flat = part.form == "flat hooks"
    if flat and find(text, ("version",)) is None:
        text = set_value(text, ("version",), 1)
    for event in part.events:
        one: dict[str, object] = {"command": installation.hook}
        entry = one if flat else {"hooks": [{"type": "command", **one}]}
        ours = _our_hooks(text, event, installation.host)
        if [value_of(text, each) for _, each in ours] != [entry]:
            text = _without_hooks(text, event, installation.host)
            text = append_value(text, ("hooks", event), entry)
    return text


def _our_hooks(text: str, event: str, host: str) -> list[tuple[int, Node]]:
    """The entries of an event that call us, with their numbers."""
    node = find(text, ("hooks", event))
    entries = enumerate(node.values if node else ())
    return [(number, each) for number, each in entries if _calls_us(text, each, host)]


def _calls_us(text: str, node: Node, host: str) -> bool:
    hook = json.dumps(value_of(text, node))
    return PROGRAM in hook and f" hook {host} " in hook


def _without_hooks(text: str, event: str, host: str) -> str:
    """The text without our commands, and without the entries that have no others."""
    while found := _our_hooks(text, event, host):
        number, entry = found[0]
        at = entry.index("hooks")
        commands = entry.values[at].values if at >= 0 else ()
        ours = [n for n, each in enumerate(commands) if _calls_us(text, each, host)]
        if len(ours) in (0, len(commands)):
            text = remove_value(text, ("hooks", event), number)
        else:
            text = without_member(text, entry.values[at], ours[0])
    return text


def _has_server(text: str, part: HostFile, installation: Installation) -> bool:
    """Whether a file has a server of the installation's name."""
    if part.form == "toml server":
        return installation.server in _servers_in_block(text)
    return find(_json(text), _server_keys(part, installation)) is not None


def _server_keys(part: HostFile, installation: Installation) -> tuple[str, str]:
    """Where a JSON file has the server of an installation."""
    return "servers" if part.form == "vscode server" else "mcpServers", installation.server


def _is_ours(server: object) -> bool:
    """Whether an entry starts our MCP server."""
    if not isinstance(server, Mapping):
        return False
    arguments = server.get("args")
    words = [
        str(server.get("command")),
        *map(str, arguments if isinstance(arguments, list) else []),
    ]
    return "mcp" in words and any(PROGRAM in each for each in words)


def _is_own_file(path: str) -> bool:
    return path.replace("\\", "/").rpartition("/")[2].startswith(PROGRAM)


def _check_toml(text: str, name: str, path: str) -> None:
    left = remove_block(text, TOML) or ""
    servers = tomllib.loads(left).get("mcp_servers", {})
    if not isinstance(servers, dict):
        raise HostFileError(path, "mcp_servers is not a table")
    if name in servers:
        raise HostEntryExistsError(path, name)


def _without_other_tables(text: str | None) -> str | None:
    """A TOML file whose block ends above the tables of others.

    A host that adds a table to its file, as Codex does for each project that is trusted, leaves
    the comments at the end of the file where they are, so that the table comes into the block.
    """
    found = find_block(text, TOML) if text else None
    if found is None or text is None:
        return text
    start, end = found
    headers = [*_TOML_HEADER.finditer(text, start, end)]
    own = {headers[0][1] if headers else "", *map(_toml_header, _servers_in_block(text))}
    below = tuple(f"{each}." for each in own)
    others = [each for each in headers if each[1] not in own and not each[1].startswith(below)]
    if not others:
        return text
    at = start + len(text[start : others[0].start()].rstrip())
    mark = text.rindex("\n", 0, end) + 1
    line = line_end(text, TOML)
    return text[:at] + line + TOML.end + text[at:mark].rstrip() + text[end:]


def _servers_in_block(text: str) -> dict[str, Sequence[str]]:
    """The commands of our servers in the block of a TOML file, by their names."""
    found = find_block(text, TOML)
    if found is None:
        return {}
    servers = tomllib.loads(text[slice(*found)]).get("mcp_servers", {})
    ours = {name: each for name, each in servers.items() if _is_ours(each)}
    return {name: (str(each["command"]), *map(str, each["args"])) for name, each in ours.items()}


def _toml_servers(servers: Mapping[str, Sequence[str]]) -> str:
    return "\n\n".join(_toml_server(*each) for each in servers.items())


def _toml_server(name: str, command: Sequence[str]) -> str:
    first, *arguments = (json.dumps(each, ensure_ascii=False) for each in command)
    return f"[{_toml_header(name)}]\ncommand = {first}\nargs = [{', '.join(arguments)}]"


def _toml_header(server: str) -> str:
    key = server if _BARE_KEY.fullmatch(server) else json.dumps(server, ensure_ascii=False)
    return f"mcp_servers.{key}"


def _json(text: str | None) -> str:
    """The text of a JSON file; a missing or empty one holds an empty object."""
    return text if text and text.strip() else "{}" + (text if text is not None else "\n")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
