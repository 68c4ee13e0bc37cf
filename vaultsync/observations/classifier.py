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
    """Tells what matters. It writes nothing, and may be asked for the same text again."""

    @property
    def name(self) -> str:
        """What the classifier is called in reports."""
        ...

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        """The tier of each text, in order; None for one that was not answered in time."""
        ...

    def explain(self, text: ObservedText) -> tuple[str, ...]:
        """Why a text has its tier, a line for each reason; empty where that is not known."""
        ...
