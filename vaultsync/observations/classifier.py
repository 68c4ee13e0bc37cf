"""The contract of a classifier: texts in, the tier of each out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

CRITICAL, NOTABLE, BACKGROUND = "critical", "notable", "background"


class ObservedText(NamedTuple):
    """An observation as a classifier reads it."""

    content: str
    context: str = ""


class Classifier(Protocol):
    """Assigns tiers. It has no side effects, so that a call may be repeated."""

    @property
    def name(self) -> str:
        """The name of the classifier in reports."""
        ...

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        """The tier of each text, in order; None where there was no answer in time."""
        ...

    def explain(self, text: ObservedText) -> tuple[str, ...]:
        """The reasons for the tier of a text, one per line; empty where they are not known."""
        ...
