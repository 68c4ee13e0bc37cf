"""Cut a fact that is too large for its room, at a paragraph, and say so."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from vaultsync.context_packs.formats import (
    PackPiece,
    citation_of,
    is_code,
    paragraph_heading,
    text_paragraphs,
)

_TRIES = 8
"""How often a cut that turned out too long is made shorter."""
_WORD = re.compile(r"\w+")


class CutPiece(NamedTuple):
    """A piece that was cut, its text and its tokens."""

    piece: PackPiece
    text: str
    tokens: int


def cut_piece(
    piece: PackPiece,
    passage: str,
    room: int,
    whole: int,
    rendered: Callable[[PackPiece], tuple[str, int]],
) -> CutPiece | None:
    """As many paragraphs as fit, among them the one that holds the passage.

    They are the first ones, else those from the heading above the passage on, else those
    from the passage on. A paragraph that is too long alone is cut at a line.

    Args:
        piece: the whole fact.
        passage: what was found in its body, perhaps without its marks; may be empty.
        room: in tokens.
        whole: what the whole fact costs; a part of it is planned to cost its share.
        rendered: piece -> its text and tokens; it decides.

    Returns:
        None when not one paragraph or line fits.
    """
    blocks = list(text_paragraphs(piece.body))
    if not blocks or (len(blocks) == 1 and "\n" not in blocks[0]):
        return None
    hit = _holding(blocks, passage)
    heads = [number for number in range(hit + 1) if paragraph_heading(blocks[number])]
    cutting = _Cutting(piece, room, room * len(piece.body) // max(1, whole), rendered)
    for first in dict.fromkeys((0, heads[-1] if heads else 0, hit)):
        shorter = cutting.fitting(blocks, first, "paragraph", must_reach=hit)
        if shorter is not None:
            return shorter
    lines = blocks[hit].split("\n")
    if len(lines) == 1 or is_code(lines[0]):
        return None
    return cutting.fitting(lines, 0, "line", must_reach=0)


def _holding(blocks: Sequence[str], passage: str) -> int:
    """The block that has most of the words of the passage; the first when none has half."""
    wanted = set(_WORD.findall(passage.casefold()))
    if not wanted:
        return 0
    folded = [block.casefold() for block in blocks]
    shared = [sum(word in block for word in wanted) for block in folded]
    most = max(shared)
    return shared.index(most) if 2 * most > len(wanted) else 0


@dataclass(frozen=True, slots=True)
class _Cutting:
    piece: PackPiece
    room: int
    letters: int
    """About as many as the room holds."""
    rendered: Callable[[PackPiece], tuple[str, int]]

    def fitting(
        self, blocks: Sequence[str], first: int, unit: str, *, must_reach: int
    ) -> CutPiece | None:
        """The most blocks from `first` on that fit, if they reach a certain one."""
        joint = "\n\n" if unit == "paragraph" else "\n"
        fewest = max(0, must_reach - first) + 1
        number = self._planned(blocks[first:], joint)
        for _ in range(_TRIES):
            if number < fewest:
                break
            if number > fewest and paragraph_heading(blocks[first + number - 1]):
                number -= 1  # a heading with nothing under it
            last = first + number
            span = f"{unit} {last}" if number == 1 else f"{unit}s {first + 1} to {last}"
            says = f"cut: {span} of {len(blocks)}"
            shorter = replace(
                self.piece,
                body=f"{joint.join(blocks[first:last])}\n\n[{says}]",
                reason=f"{self.piece.reason}; {says}",
                citation=citation_of(self.piece.fact, paragraph_heading(blocks[first])),
                cut=True,
            )
            text, tokens = self.rendered(shorter)
            if tokens <= self.room:
                return CutPiece(shorter, text, tokens)
            least = min(number - 1, number * self.room // tokens)
            number = fewest if least < fewest < number else least
        return None

    def _planned(self, blocks: Sequence[str], joint: str) -> int:
        """How many blocks fit by their letters, and one more: the plan may be too low."""
        used = 0
        for number, block in enumerate(blocks):
            used += len(block) + len(joint)
            if used > self.letters:
                return number + 1
        return len(blocks)
