"""The conventions of a repository as a block in `AGENTS.md`, `CLAUDE.md` and similar files.

Agents' hosts read such a file at the start of each session. The block stands between two
markers; the rest of the file belongs to the user and stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct

from vaultsync.hosts.marked_blocks import REPOSITORY, find_block, remove_block, write_block
from vaultsync.model.fact import Fact

DEFAULT_BUDGET = 1_000
"""Tokens."""
HEAD = """\
## Conventions

How things are done in this repository; `vaultsync repo instructions` writes this block from its
memory.
"""
_SEAL = "<!-- checksum: {} -->"
_SEALED = re.compile(r".*\n<!-- checksum: ([0-9a-f]{12}) -->(.*)\n.*", re.DOTALL)


class InstructionsReport(Struct, frozen=True):
    """The state of a file of instructions; of a dry run, as it would be."""

    file: str
    changed: bool
    """Whether the file was written, or would be."""
    tokens: int
    """Of the block, without its marks."""
    budget: int
    included: tuple[str, ...]
    """The ids of the conventions in the block."""
    left_out: tuple[str, ...]
    """The ids of those that did not fit."""
    dry_run: bool = False


class InstructionBlock(NamedTuple):
    """The lines of a block, and the conventions in it."""

    body: str
    """Empty if there are no conventions, or none fits."""
    tokens: int
    included: tuple[str, ...]
    left_out: tuple[str, ...]


def make_block(
    conventions: Sequence[Fact], *, count: Callable[[str], int], budget: int = DEFAULT_BUDGET
) -> InstructionBlock:
    """A block of whole conventions, the most important first, then by title.

    The block has at most `budget` tokens, as `count` counts them.
    """
    ranked = sorted(
        conventions, key=lambda f: (f.priority, -(f.importance or 0), f.title.casefold(), f.id)
    )
    body, tokens = "", 0
    included: list[str] = []
    left_out: list[str] = []
    for fact in ranked:
        longer = (body or f"{HEAD}\n") + _item(fact)
        cost = count(longer)
        if cost > budget:
            left_out.append(fact.id)
            continue
        body, tokens = longer, cost
        included.append(fact.id)
    return InstructionBlock(body, tokens, tuple(included), tuple(left_out))


def put_block(text: str | None, body: str) -> str | None:
    """The text of a file with a block; without the block where it is empty.

    None stands for no file.

    Returns:
        The new text; None if there is to be no file.
    """
    if body:
        return write_block(text, REPOSITORY, f"{_SEAL.format(_digest(body))}\n{body}")
    return None if text is None else remove_block(text, REPOSITORY)


def is_edited(text: str) -> bool:
    """Whether the block of a file is not as it was written; False if it has no checksum."""
    span = find_block(text, REPOSITORY)
    found = _SEALED.fullmatch(text, *span) if span else None
    return found is not None and found[1] != _digest(found[2])


def _digest(body: str) -> str:
    """A checksum of the words of a block; formatters change its blanks."""
    return sha256(" ".join(body.split()).encode(errors="surrogatepass")).hexdigest()[:12]


def _item(fact: Fact) -> str:
    """A convention as a list item, escaped so that it cannot end the block or the list."""
    lines = fact.content.replace("<!--", "&lt;!--").splitlines()
    title = " ".join(fact.title.replace("<!--", "&lt;!--").split())
    if not any(line.strip() for line in lines) or fact.content.strip() == fact.title.strip():
        return f"- {title}\n"
    rest = "\n".join(f"  {line}".rstrip() for line in lines).strip("\n")
    return f"- **{title}**\n\n{rest}\n" if len(lines) > 1 else f"- **{title}**: {rest.strip()}\n"
