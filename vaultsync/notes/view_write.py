"""Write a fact through the view of its note: unchanged text keeps its wording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vaultsync.markdown.diff3 import common_lines
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.notes.parse import Note
from vaultsync.privacy.escaping import active_constructs, escape, escape_active, unescape
from vaultsync.privacy.fact_texts import (
    LINK_KEYS,
    LIST_FIELDS,
    TEXT_FIELDS,
    map_value_texts,
    text_spellings,
)
from vaultsync.privacy.redaction import Redaction


@dataclass(frozen=True, slots=True)
class NoteViewWriter:
    """Words a merged fact as one note shows it."""

    note: Note
    redaction: Redaction
    runs: bool

    def fact(self, merged: Fact) -> Fact:
        """The merged fact in the note's wording."""
        attrs: dict[str, object] = {}
        for row in (*TEXT_FIELDS, *LIST_FIELDS):
            value = getattr(merged, row.attr)
            if value:
                attrs[row.attr] = self._value(row.key, value)
        for name, values in (("own", merged.own), ("properties", merged.properties)):
            attrs[name] = {key: self._value(key, value) for key, value in values.items()}
        return merged.evolve(**attrs)

    def _value(self, key: str, value: Value) -> Value:
        shown = self._shown(key)
        bare = key in LINK_KEYS
        if isinstance(value, str):
            return self._text(value, shown if isinstance(shown, str) else "")
        original = self.note.values.get(key, self.note.properties.get(key))
        if original is None and key == "entities":
            original = self.note.body.entities
        spelling = dict(text_spellings(original, shown))

        def change(text: str, bare: bool) -> str:  # noqa: FBT001 - as `Change` is
            kept = spelling.get(text)
            if kept is not None:
                return kept
            return escape(self.redaction.hide(text, bare=bare), runs=self.runs)

        return map_value_texts(value, change, bare=bare)

    def _shown(self, key: str) -> Value:
        for shown in (self.note.spelled, self.note.values, self.note.properties):
            if key in shown:
                return shown[key]
        return None

    def _text(self, text: str, shown: str) -> str:
        """A text in which lines that the note already shows keep their wording."""
        fresh = escape(self.redaction.hide(text, shown=shown), runs=True)
        if shown:
            fresh = _aligned_lines(fresh, shown, self._line)
        return fresh if self.runs else escape_active(fresh, active_constructs(shown))

    def _line(self, line: str) -> str:
        return self.redaction.secrets.restore(unescape(line))[0]


def _aligned_lines(fresh: str, shown: str, original: Callable[[str], str]) -> str:
    """The fresh text, with the shown wording of each line that has the same original."""
    lines, others = fresh.split("\n"), shown.split("\n")
    pairs = common_lines([original(each) for each in lines], [original(each) for each in others])
    for here, there in pairs:
        lines[here] = others[there]
    return "\n".join(lines)
