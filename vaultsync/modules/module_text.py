"""The text of a module: its title, content, first sentence and file name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from vaultsync.markdown.blocks import closed_title, fenced_lines
from vaultsync.memory_files.sections import frontmatter_end
from vaultsync.model.file_names import slug

CORE_SUFFIX = ".core.md"
MODULE_NAME = re.compile(r"module-(\d{2,})-.+\.md")
EXCERPT_CHARS = 160
_READ_CHARS = 20_000
"""Of a module's content, how much is read for its first sentence."""
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|\Z)")
_TOPIC = re.compile(r"[^\W_][\w.-]*")
_CHUNK = re.compile(r"[^\W_][\w./:-]*")


class ModuleParts(NamedTuple):
    """A module, divided into its content and what surrounds it."""

    before: str
    """Frontmatter and title, with the blank lines after them."""
    title: str | None
    """The level-1 heading at its beginning."""
    content: str
    after: str
    """Blank lines at the end."""


def split_module(text: str) -> ModuleParts:
    """Divide a module into parts, which can be joined to the same text."""
    begin = frontmatter_end(text) or len(text) - len(text.removeprefix("\ufeff"))
    title = None
    at = _skip_blanks(text, begin)
    if text.startswith(("# ", "#\t"), at):
        end = text.find("\n", at) + 1 or len(text)
        title = closed_title(text[at + 1 : end]) or None
        if title:
            at = _skip_blanks(text, end)
    content = text[at:].rstrip()
    return ModuleParts(text[:at], title, content, text[at + len(content) :])


def with_content(parts: ModuleParts, title: str, content: str) -> str:
    """The module with a new content, and a new title if it has one."""
    before = parts.before
    if parts.title is not None and parts.title != title:
        start = before.rindex(parts.title)
        before = before[:start] + title + before[start + len(parts.title) :]
    original = parts.before + parts.content + parts.after
    return before + with_line_ends_of(original, content + (parts.after or "\n"))


def with_line_ends_of(original: str, text: str) -> str:
    """A text with the line ends of another one."""
    eol = "\r\n" if original.count("\r\n") * 2 > original.count("\n") else "\n"
    return plain_line_ends(text).replace("\n", eol)


def plain_line_ends(text: str) -> str:
    """A text with the line ends of facts."""
    return text.replace("\r\n", "\n")


def checksum_of(data: bytes) -> str:
    """SHA-256 of a module's bytes, in hex."""
    return sha256(data).hexdigest()


def excerpt(text: str) -> str:
    """The first sentence of a module, on one line."""
    words: list[str] = []
    content = split_module(text).content[:_READ_CHARS]
    for line in fenced_lines(content):
        words_of_line = content[line.start : line.end].strip()
        if line.prose and words_of_line and not _HEADING.match(words_of_line):
            words.append(words_of_line.lstrip("->*+ ").strip())
        elif words:
            break
    joined = " ".join(" ".join(words).split())
    first = _SENTENCE.match(joined)
    short = first[1] if first else joined
    if len(short) <= EXCERPT_CHARS:
        return short
    return short[: EXCERPT_CHARS - 1].rsplit(" ", 1)[0] + "…"


def core_path(topic: str) -> str:
    """The path of a topic's core file in the folder of the modules."""
    return f"{topic}/{topic}{CORE_SUFFIX}"


def is_topic(name: str) -> bool:
    """Whether a name can be a topic's: a single folder that is not hidden."""
    return _TOPIC.fullmatch(name) is not None and ".." not in name and len(name) <= 100  # noqa: PLR2004 - characters of a file name


def is_chunk_id(name: str) -> bool:
    """Whether a name can be a chunk's."""
    return _CHUNK.fullmatch(name) is not None and len(name) <= 200  # noqa: PLR2004 - characters of a file name


def new_module_name(words: str, taken: Iterable[str]) -> str:
    """The file name of a new module: the next free number, and its title."""
    numbers = [int(found[1]) for each in taken if (found := MODULE_NAME.fullmatch(each))]
    return f"module-{max(numbers, default=0) + 1:02}-{slug(words) or 'module'}.md"


def chunk_of_file(name: str) -> str:
    """The chunk id of a module file that a user added without an entry."""
    return name.removesuffix(".md").split("-", 2)[2]


def _skip_blanks(text: str, at: int) -> int:
    blank = len(text) - len(text[at:].lstrip())
    return at + text[at:blank].rfind("\n") + 1
