"""An embedder without a model: texts that share words and parts of words are similar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import sqrt
from zlib import crc32

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Counts words and their trigrams by the hashing trick (Weinberger et al., 2009).

    The same text has the same vector on every machine. It knows nothing of meaning: for
    tests, and for trying things out.
    """

    model = "hash-1"

    def __init__(self, dimension: int = 64) -> None:
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        counts = [0.0] * self._dimension
        for feature, weight in _features(text.casefold()):
            hashed = crc32(feature.encode())
            place = (hashed >> 1) % self._dimension
            counts[place] += weight if hashed & 1 else -weight
        length = sqrt(sum(each * each for each in counts))
        if not length:
            return [1.0] + [0.0] * (self._dimension - 1)
        return [each / length for each in counts]

    def close(self) -> None:
        """Do nothing: no resource is open."""


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(text):
        yield word, 1.0
        padded = f"<{word}>"
        for at in range(len(padded) - 2):
            yield padded[at : at + 3], 0.3
