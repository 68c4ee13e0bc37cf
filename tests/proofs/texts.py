"""Edits of the text of a note, without vaultsync's own readers."""

from __future__ import annotations

import re

MANAGED = b"<!-- vaultsync:managed -->"
_ID = re.compile(rb"\A---\n(?:.*\n)*?id: [\"']?([0-9a-f-]{36})[\"']?\n")
_FRONT = re.compile(rb"\A---\n(?P<lines>(?:(?!---\n).*\n)*)---\n")


def id_of(data: bytes) -> str | None:
    """The id in the frontmatter."""
    front = _FRONT.match(data)
    found = re.search(rb"(?m)^id: [\"']?([0-9a-f-]{36})", front["lines"]) if front else None
    return found[1].decode() if found else None


def _body_at(data: bytes) -> int:
    front = _FRONT.match(data)
    return front.end() if front else 0


def append(data: bytes, word: str) -> bytes:
    """Append a line to the content."""
    line = f"And {word}.\n".encode()
    at = data.find(MANAGED)
    if at < 0:
        end = b"" if data.endswith(b"\n") or not data else b"\n"
        return data + end + line
    return data[:at] + line + b"\n" + data[at:]


def _content_lines(data: bytes) -> list[re.Match[bytes]]:
    start, end = _body_at(data), data.find(MANAGED)
    end = len(data) if end < 0 else end
    return [
        found
        for found in re.finditer(rb"(?m)^[^#>\n][^\n]*$", data)
        if start <= found.start() < end
    ]


def _replace_line(data: bytes, number: int, line: str, word: str) -> bytes:
    lines = _content_lines(data)
    if not lines:
        return append(data, word)
    old = lines[number]
    return data[: old.start()] + line.encode() + data[old.end() :]


def change_line(data: bytes, word: str) -> bytes:
    """Change the first line of the content."""
    return _replace_line(data, 0, f"Now {word}.", word)


def change_last_line(data: bytes, word: str) -> bytes:
    return _replace_line(data, -1, f"Then {word}.", word)


def drop_line(data: bytes, word: str) -> bytes:
    """Remove the first of several lines of the content."""
    lines = _content_lines(data)
    if len(lines) < 2:
        return append(data, word)
    first = lines[0]
    return data[: first.start()] + data[first.end() + 1 :]


def title(data: bytes, word: str) -> bytes:
    made, n = re.subn(rb"(?m)^# .*$", f"# Title {word}".encode(), data, count=1)
    return made if n else append(data, word)


def _set(data: bytes, key: str, value: str) -> bytes:
    front = _FRONT.match(data)
    line = f"{key}: {value}\n".encode()
    if not front:
        return b"---\n" + line + b"---\n" + data
    lines, n = re.subn(rf"(?m)^{key}: .*\n".encode(), line, front["lines"], count=1)
    if not n:
        lines = front["lines"] + line
    return b"---\n" + lines + b"---\n" + data[front.end() :]


def status(data: bytes, word: str) -> bytes:
    return _set(data, "status", word)


def mood(data: bytes, word: str) -> bytes:
    """Set a property of the user's own."""
    return _set(data, "mood", word)


def source(data: bytes, word: str) -> bytes:
    """Set a field that only the store may change."""
    return _set(data, "source", word)


def tag(data: bytes, word: str) -> bytes:
    made, n = re.subn(rb"(?m)^tags:\n", f"tags:\n  - {word}\n".encode(), data, count=1)
    return made if n else _set(data, "tags", f"[{word}]")


def untag(data: bytes, word: str) -> bytes:
    made, n = re.subn(rb"(?m)^(tags:\n)  - .*\n(  - )", rb"\1\2", data, count=1)
    return made if n else mood(data, word)


def reformat(data: bytes, word: str) -> bytes:
    """Reformat the frontmatter as a linter does: other quotes, the same values."""
    return re.sub(rb"(?m)^(status|type|mood): (\w+)$", rb'\1: "\2"', data)


def same(data: bytes, word: str) -> bytes:
    """Save without a change."""
    return data


BROKEN = b"broken: [unclosed\n"


def break_yaml(data: bytes) -> bytes:
    """Write frontmatter that is no valid YAML."""
    return b"---\n" + BROKEN + data.removeprefix(b"---\n")


def mend_yaml(data: bytes) -> bytes:
    return data.replace(BROKEN, b"", 1)


EDITS = (
    append,
    change_line,
    change_last_line,
    drop_line,
    title,
    status,
    mood,
    source,
    tag,
    untag,
    reformat,
    same,
)


def without_times(data: bytes) -> bytes:
    """The text without the times that a run writes."""
    return re.sub(rb"(?m)^updatedAt: .*\n", b"", data)
