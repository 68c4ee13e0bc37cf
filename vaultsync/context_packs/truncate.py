"""Cut a fact that is too large for its budget between paragraphs, and mark the cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vaultsync.context_packs.formats import (
    PackPiece,
    RenderedPiece,
    citation_of,
    is_code,
    paragraph_heading,
    text_paragraphs,
)
from vaultsync.model.lazy_pattern import lazy_pattern

_MAX_TRIES = 8
"""Maximum number of times a cut that is too long is made shorter."""
_WORD = lazy_pattern(r"\w+")


def cut_piece(
    whole: RenderedPiece, passage: str, room: int, render: Callable[[PackPiece], RenderedPiece]
) -> RenderedPiece | None:
    """As many paragraphs as fit, including the one with the passage, behind the piece's lead.

    They begin with the first paragraph, else with the heading above the passage, else with the
    passage. A single paragraph that is too long is cut between lines. The passage may be without
    markup, or empty. The tokens of a part are estimated from those of the whole.

    Returns:
        None when no paragraph or line fits.
    """
    piece = whole.piece
    blocks = list(text_paragraphs(piece.body.removeprefix(piece.lead)))
    if not blocks or (len(blocks) == 1 and "\n" not in blocks[0]):
        return None
    hit = _block_with(blocks, passage)
    heads = [number for number in range(hit + 1) if paragraph_heading(blocks[number])]
    cutter = _Cutter(piece, room, room * len(piece.body) // max(1, whole.tokens), render)
    for first in dict.fromkeys((0, heads[-1] if heads else 0, hit)):
        shorter = cutter.fit(blocks, first, "paragraph", must_reach=hit)
        if shorter is not None:
            return shorter
    lines = blocks[hit].split("\n")
    if len(lines) == 1 or is_code(lines[0]):
        return None
    return cutter.fit(lines, 0, "line", must_reach=0)


def cut_words(
    whole: RenderedPiece, passage: str, room: int, render: Callable[[PackPiece], RenderedPiece]
) -> RenderedPiece | None:
    """The passage, or else the beginning, as many words of it as fit; None when none does."""
    piece = whole.piece
    body = piece.body.removeprefix(piece.lead)
    begin = max(0, body.find(passage.strip("… "))) if passage else 0
    words = [*piece.lead.split(), *body[begin:].split()]
    before = "… " if begin else ""
    most = len(piece.body.split()) * room // max(1, whole.tokens) + 1
    while words and most > 0:
        text = f"{before}{' '.join(words[:most])} …"
        cut = replace(piece, body=text, reason=f"{piece.reason}; {_CUT_SHORT}", cut=True)
        shorter = render(cut)
        if shorter.tokens <= room:
            return shorter
        most = min(most, len(words)) * 3 // 4
    return None


_CUT_SHORT = "cut short"


def _block_with(blocks: Sequence[str], passage: str) -> int:
    """The block with most words of the passage; the first when none contains half of them."""
    wanted = set(_WORD.findall(passage.casefold()))
    if not wanted:
        return 0
    folded = [block.casefold() for block in blocks]
    shared = [sum(word in block for word in wanted) for block in folded]
    most = max(shared)
    return shared.index(most) if 2 * most > len(wanted) else 0


@dataclass(frozen=True, slots=True)
class _Cutter:
    piece: PackPiece
    room: int
    max_chars: int
    """Estimate of the characters that fit."""
    render: Callable[[PackPiece], RenderedPiece]

    def fit(
        self, blocks: Sequence[str], first: int, unit: str, *, must_reach: int
    ) -> RenderedPiece | None:
        """As many blocks from `first` on as fit, if they include `must_reach`."""
        separator = "\n\n" if unit == "paragraph" else "\n"
        fewest = max(0, must_reach - first) + 1
        number = self._estimate(blocks[first:], separator)
        for _ in range(_MAX_TRIES):
            if number < fewest:
                break
            if number > fewest and paragraph_heading(blocks[first + number - 1]):
                number -= 1  # a heading with nothing under it
            last = first + number
            span = f"{unit} {last}" if number == 1 else f"{unit}s {first + 1} to {last}"
            notice = f"cut to {span} of {len(blocks)}"
            cut = replace(
                self.piece,
                body=f"{self.piece.lead}{separator.join(blocks[first:last])}\n\n[{notice}]",
                reason=f"{self.piece.reason}; {notice}",
                citation=citation_of(self.piece.fact, paragraph_heading(blocks[first])),
                cut=True,
            )
            shorter = self.render(cut)
            if shorter.tokens <= self.room:
                return shorter
            least = min(number - 1, number * self.room // shorter.tokens)
            number = fewest if least < fewest < number else least
        return None

    def _estimate(self, blocks: Sequence[str], separator: str) -> int:
        """How many blocks fit by their length, and one more: the estimate may be too low."""
        used = 0
        for number, block in enumerate(blocks):
            used += len(block) + len(separator)
            if used > self.max_chars:
                return number + 1
        return len(blocks)
