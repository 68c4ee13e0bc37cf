"""A block of lines between two markers in a file of another program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockMarks:
    """The lines around a block: comments in the language of the file."""

    begin: str
    end: str


MARKDOWN = BlockMarks("<!-- vaultsync:begin -->", "<!-- vaultsync:end -->")
REPOSITORY = BlockMarks("<!-- vaultsync-repo:begin -->", "<!-- vaultsync-repo:end -->")
INSTRUCTIONS = (MARKDOWN, REPOSITORY)
"""What an installation, and the conventions of a repository, write into files that hosts read."""
TOML = BlockMarks("# vaultsync:begin", "# vaultsync:end")


def write_block(text: str | None, marks: BlockMarks, body: str) -> str:
    """A text with the block, which is replaced where it is, or appended.

    `remove_block()` gives back the same text, byte for byte: so a file ends with a newline
    afterwards only if it did before, or if it is new.
    """
    line = line_end(text, marks)
    block = line.join((marks.begin, *body.strip("\n").split("\n"), marks.end))
    if text is None:
        return block + line
    found = find_block(text, marks)
    if found is not None:
        return text[: found[0]] + block + text[found[1] :]
    if not text:
        return block
    end = line if text.endswith("\n") else ""
    return text.removesuffix(end) + line + line + block + end


def line_end(text: str | None, marks: BlockMarks) -> str:
    r"""How the lines of a block end: as those of the block that is there, else of the file.

    A block beside a lone `\r` must not take it for a line end the next time.
    """
    found = find_block(text, marks) if text else None
    known = text if found is None or text is None else text[slice(*found)]
    return "\r\n" if known and "\r\n" in known else "\n"


def remove_block(text: str, marks: BlockMarks) -> str | None:
    """A text without the block, as it was before; None if the block was all of it."""
    found = find_block(text, marks)
    if found is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    if not before and after in {"\n", "\r\n"}:
        return None
    for _ in range(2):
        before = before.removesuffix("\n").removesuffix("\r")
    return before + after


def find_block(text: str, marks: BlockMarks) -> tuple[int, int] | None:
    """Where the block begins and ends, by marks at the beginning of their lines.

    A mark without its counterpart is text of the file: the block begins at the last mark before
    its end.
    """
    start = 0 if text.startswith(marks.begin) else text.find("\n" + marks.begin) + 1
    if not text.startswith(marks.begin, start):
        return None
    end = text.find("\n" + marks.end, start)
    if end < 0:
        return None
    start = max(start, text.rfind("\n" + marks.begin, start, end) + 1)
    return start, end + 1 + len(marks.end)
