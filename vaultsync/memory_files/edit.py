"""What an agent adds to a memory file: into its own section, or into a new one.

Only a section with `<!-- vaultsync-managed -->` below its heading is changed; one that a
person wrote stays as it is, and the agent gets its own of the same name. After the edit
the file is read again: when anything but that section would say something else, the text
is refused.
"""

from __future__ import annotations

from vaultsync.errors import InvalidFieldError, UsageError
from vaultsync.memory_files.sections import (
    MANAGED_MARKER,
    MIN_SECTION_CHARS,
    SectionBlock,
    frontmatter_end,
    normalize,
    read_outline,
    section_text,
)

_WELL = "whole paragraphs, without headings of level 2 and with all code fences closed"


def insert_section(text: str, heading: str, body: str, *, replace: bool) -> str:
    """The file with `body` in the agents' section of that heading.

    It is added as the last paragraph or, with `replace`, is all that the section says.
    What is there already is not added again.

    Raises:
        InvalidFieldError: it is no heading, or no text that fits in a section.
        UsageError: the file has no place for a section.
    """
    words = normalize(heading).lstrip("#").strip()
    if not words or "\n" in words:
        raise InvalidFieldError("section", heading, "the words of a heading, one line")
    held = normalize(body)
    if len(section_text(words, held)) < MIN_SECTION_CHARS:
        raise InvalidFieldError(
            "the text", body, f"{MIN_SECTION_CHARS} characters or more with its heading"
        )
    probe = read_outline(f"## a\n\n{held}\n\n## b\n", name="")
    if [block.heading for block in probe.blocks] != ["a", "b"]:
        raise InvalidFieldError("the text", body, _WELL)
    line_end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    body = body.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    body = body.replace("\n", line_end)
    own = _own(text, words)
    if own is None:
        gap = "" if not text or text.endswith("\n") else line_end
        space = line_end if text.strip() else ""
        head = [f"## {words}", MANAGED_MARKER, "", body, ""]
        made = text + gap + space + line_end.join(head)
    else:
        before = text[own.body : own.end]
        if not replace and held in normalize(before):
            return text
        told = before.rstrip()
        kept = before[len(told) :] or line_end
        said = body if replace or not told else told + line_end * 2 + body
        made = text[: own.body] + said + kept + text[own.end :]
    _check(text, made, words, held)
    return made


def _own(text: str, words: str) -> SectionBlock | None:
    outline = read_outline(text, name="", start=frontmatter_end(text))
    for block in outline.blocks:
        if block.managed and block.heading == words:
            return block
    return None


def _check(text: str, made: str, words: str, held: str) -> None:
    """See that only that section changed, and says what it shall.

    Raises:
        UsageError: it does not.
    """
    others = [_others(each, words) for each in (text, made)]
    own = _own(made, words)
    if others[0] != others[1] or own is None or held not in normalize(made[own.body : own.end]):
        # Alone the text is a section, as was seen: it is the file.
        raise UsageError(
            "the file has code or a comment that is not closed, so nothing can be added to it",
            hint="close it in the file, and add the text again",
        )


def _others(text: str, words: str) -> list[tuple[str | None, str]]:
    outline = read_outline(text, name="", start=frontmatter_end(text))
    first = next((b for b in outline.blocks if b.managed and b.heading == words), None)
    return [
        (block.heading, normalize(text[block.start : block.end]))
        for block in outline.blocks
        if block is not first and normalize(text[block.start : block.end])
    ]
