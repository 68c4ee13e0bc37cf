"""Cut a fact that is too large for its room, at a paragraph, and say so."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from vaultsync.core.pack_text import Piece, cite, heading_of, is_code, paragraphs

_WORD = re.compile(r"\w+")


class Shorter(NamedTuple):
    """A piece that was cut, its text and its tokens."""

    piece: Piece
    text: str
    tokens: int


def cut(
    piece: Piece,
    passage: str,
    room: int,
    count: Callable[[str], int],
    rendered: Callable[[Piece], tuple[str, int]],
) -> Shorter | None:
    """As many paragraphs as fit, among them the one that holds the passage.

    They are the first ones, else those from the heading above the passage on, else those
    from the passage on. A paragraph that is too long alone is cut at a line.

    Args:
        piece: the whole fact.
        passage: what was found in its body, perhaps without its marks; may be empty.
        room: in tokens.
        count: text -> tokens; it plans.
        rendered: piece -> its text and tokens; it decides.

    Returns:
        None when not one paragraph or line fits.
    """
    whole = paragraphs(piece.body)
    if len(whole) <= 1 and "\n" not in piece.body:
        return None
    hit = _holding(whole, passage)
    heads = [number for number in range(hit + 1) if heading_of(whole[number])]
    cutting = _Cutting(piece, room, count, rendered)
    for first in dict.fromkeys((0, heads[-1] if heads else 0, hit)):
        shorter = cutting.fitting(whole, first, "paragraph", must_reach=hit)
        if shorter is not None:
            return shorter
    lines = whole[hit].split("\n")
    if len(lines) == 1 or is_code(lines[0]):
        return None
    return cutting.fitting(lines, 0, "line", must_reach=0)


def _holding(blocks: Sequence[str], passage: str) -> int:
    """The block that has most of the words of the passage; the first when none has half."""
    wanted = set(_WORD.findall(passage.casefold()))
    shared = [len(wanted.intersection(_WORD.findall(b.casefold()))) for b in blocks]
    most = max(shared)
    return shared.index(most) if 2 * most > len(wanted) else 0


@dataclass(frozen=True, slots=True)
class _Cutting:
    piece: Piece
    room: int
    count: Callable[[str], int]
    rendered: Callable[[Piece], tuple[str, int]]

    def fitting(
        self, blocks: Sequence[str], first: int, unit: str, *, must_reach: int
    ) -> Shorter | None:
        """The most blocks from `first` on that fit, if they reach a certain one."""
        joint = "\n\n" if unit == "paragraph" else "\n"
        number, step = self._planned(blocks[first:], joint, unit), 1
        while number > max(0, must_reach - first):
            if number > 1 and heading_of(blocks[first + number - 1]):
                number -= 1  # a heading with nothing under it
                continue
            body = joint.join(blocks[first : first + number])
            shorter = self._saying(body, unit, first + 1, first + number, len(blocks))
            shorter = replace(
                shorter, citation=cite(self.piece.fact, heading_of(blocks[first]))
            )
            text, tokens = self.rendered(shorter)
            if tokens <= self.room:
                return Shorter(shorter, text, tokens)
            number, step = number - step, 2 * step
        return None

    def _saying(self, body: str, unit: str, first: int, last: int, of: int) -> Piece:
        """The piece with a shorter body, and word of what it is."""
        span = f"{unit} {last}" if first == last else f"{unit}s {first} to {last}"
        says = f"cut: {span} of {of}"
        reason = f"{self.piece.reason}; {says}"
        return replace(self.piece, body=f"{body}\n\n[{says}]", reason=reason, cut=True)

    def _planned(self, blocks: Sequence[str], joint: str, unit: str) -> int:
        """How many blocks fit by the sum of what each costs; each is counted once."""
        used = self.rendered(self._saying("", unit, 0, len(blocks), len(blocks)))[1]
        for number, block in enumerate(blocks):
            used += self.count(joint + block)
            if used > self.room:
                return number
        return len(blocks)
