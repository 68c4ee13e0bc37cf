"""Files of other tools in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from vaultsync.exchange.exchange_formats import FORMATS
from vaultsync.exchange.source_facts import SourceFact, Unreadable


class GivenFiles:
    """Files by name. Implements `SourceFiles`."""

    def __init__(self, texts: Mapping[str, str], piece: int = 1 << 16) -> None:
        self._texts = texts
        self._piece = piece

    def names(self) -> list[str]:
        return sorted(self._texts)

    def text(self, name: str) -> Iterator[str]:
        text = self._texts[name]
        return (text[at : at + self._piece] for at in range(0, len(text), self._piece))


def read(
    form: str, name: str, content: object, piece: int = 1 << 16
) -> list[SourceFact | Unreadable]:
    """What a format makes of a file; what is no text is written as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return [*FORMATS[form].read(GivenFiles({name: text}, piece))]


def only(form: str, name: str, content: object, piece: int = 1 << 16) -> SourceFact:
    """The one fact in a file."""
    (found,) = read(form, name, content, piece)
    assert isinstance(found, SourceFact)
    return found


def why(found: list[SourceFact | Unreadable]) -> list[str]:
    """Why parts were skipped; all of them were."""
    assert all(isinstance(each, Unreadable) for each in found), found
    return [each.why for each in found if isinstance(each, Unreadable)]


def contents(found: list[SourceFact | Unreadable]) -> list[object]:
    """The contents of what was read; nothing was skipped."""
    assert all(isinstance(each, SourceFact) for each in found), found
    return [each.values["content"] for each in found if isinstance(each, SourceFact)]
