"""Between the original texts of a fact and their wording in its note.

Reading restores placeholders and removes escapes; in writing, unchanged text keeps its wording.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from vaultsync.markdown.diff3 import common_lines
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.notes.parse import FieldProblem, Note, UnknownPlaceholder
from vaultsync.privacy.escaping import active_constructs, escape, escape_active, unescape
from vaultsync.privacy.fact_texts import (
    LINK_KEYS,
    map_fact_values,
    map_value_texts,
    restore_value_texts,
    text_spellings,
)
from vaultsync.privacy.placeholders import REDACTION_PREFIX, KnownSecrets, Redaction, Redactor

_MARK = REDACTION_PREFIX.encode()


def may_be_redacted(text: str | bytes) -> bool:
    """Whether a text may have placeholders or escapes."""
    if isinstance(text, bytes):
        return b"\\" in text or _MARK in text
    return "\\" in text or REDACTION_PREFIX in text


@dataclass(slots=True)
class NoteViewReader:
    """Restores the original texts of one note."""

    note: Note
    find: Callable[[], KnownSecrets]
    known: bool
    """Whether the fact is known, so that an unknown placeholder is a problem."""
    before: Note | None
    """The note of the base with its original texts, from which unknown secrets are learned."""
    base: Fact | None
    """What the note is that of, if it is that of a base."""
    redactor: Redactor
    _secrets: KnownSecrets | None = None

    def done(self) -> Note:
        """The note with its original texts."""
        note = self.note
        spelled: dict[str, Value] = {}
        problems: list[FieldProblem] = list(note.problems)
        values = self._read(note.values, spelled, problems)
        properties = self._read(note.properties, spelled, problems)
        body = note.body
        names = tuple(self._original(each, bare=True)[0] for each in body.entities)
        if names != body.entities:
            spelled.setdefault("entities", body.entities)
            body = body._replace(entities=names)
        if not spelled and len(problems) == len(note.problems):
            return note
        return note._replace(
            body=body,
            values=values,
            properties=properties,
            problems=tuple(problems),
            spelled=spelled,
        )

    def _read(
        self, shown: Mapping[str, Value], spelled: dict[str, Value], problems: list[FieldProblem]
    ) -> dict[str, Value]:
        read: dict[str, Value] = {}
        for key, value in shown.items():
            unknown: list[str] = []
            read[key] = restore_value_texts(value, self._original, unknown, bare=key in LINK_KEYS)
            if read[key] != value:
                spelled[key] = value
            if unknown and self.known:
                text = self.note.parts.text
                line = text.count("\n", 0, max(text.find(unknown[0]), 0)) + 1
                message = f"{unknown[0]} matches no secret of this fact"
                hint = "replace it with the text that you mean, or remove it"
                problems.append(UnknownPlaceholder(key, line, message, hint))
        return read

    def _original(self, text: str, *, bare: bool) -> tuple[str, list[str]]:
        if not may_be_redacted(text):
            return text, []
        text = unescape(text)
        if REDACTION_PREFIX not in text:
            return text, []
        if self._secrets is None:
            self._secrets = self.find()
        restored, unknown = self._secrets.restore(text, bare=bare)
        if unknown and (more := self._learned(self._secrets)):
            self._secrets = KnownSecrets({**more, **self._secrets.known})
            restored, unknown = self._secrets.restore(text, bare=bare)
        return restored, unknown

    def _learned(self, secrets: KnownSecrets) -> dict[str, str]:
        """The secrets of placeholders, learned from the original values at their places."""
        from vaultsync.privacy.redaction import learn_placeholders  # noqa: PLC0415 - few are unknown

        found: dict[str, str] = {}
        shown = self.before or self.note
        seen = {"entities": shown.body.entities, **shown.values, **shown.properties}
        originals = self.base.values_at(seen) if self.base else seen if self.before else {}
        for key, value in {**seen, **shown.spelled}.items():
            for true, text in text_spellings(originals.get(key), value):
                if REDACTION_PREFIX in text:
                    found |= learn_placeholders(unescape(text), true, bare=key in LINK_KEYS)
        if self.base is None:
            return found
        # The user may have written one over a word that is no secret.
        return {
            name: secret
            for name, secret in found.items()
            if secret in secrets.known.values() or self.redactor.stands_for(name, secret)
        }


@dataclass(frozen=True, slots=True)
class NoteViewWriter:
    """Words a merged fact as one note shows it."""

    note: Note
    redaction: Redaction
    runs: bool

    def fact(self, merged: Fact, keys: Collection[str]) -> Fact:
        """The merged fact with some values in the note's wording."""
        return map_fact_values(
            merged, lambda key, value: self._value(key, value) if key in keys else value
        )

    def _value(self, key: str, value: Value) -> Value:
        places = (self.note.spelled, self.note.values, self.note.properties)
        shown = next((place[key] for place in places if key in place), None)
        if isinstance(value, str):
            return self._text(value, shown if isinstance(shown, str) else "")
        original = self.note.values.get(key, self.note.properties.get(key))
        if original is None and key == "entities":
            original = self.note.body.entities
        spelling = dict(text_spellings(original, shown))

        def change(text: str, *, bare: bool) -> str:
            kept = spelling.get(text)
            if kept is not None:
                return kept
            return escape(self.redaction.hide(text, bare=bare), runs=self.runs)

        return map_value_texts(value, change, bare=key in LINK_KEYS)

    def _text(self, text: str, shown: str) -> str:
        """A text in which lines that the note already shows keep their wording."""
        fresh = escape(self.redaction.hide(text, shown=shown), runs=True)
        if shown:
            lines, others = fresh.split("\n"), shown.split("\n")
            original = {line: self._original(line) for line in {*lines, *others}}
            before, after = ([original[line] for line in many] for many in (lines, others))
            for here, there in common_lines(before, after):
                lines[here] = others[there]
            fresh = "\n".join(lines)
        return (
            fresh if self.runs or fresh == shown else escape_active(fresh, active_constructs(shown))
        )

    def _original(self, line: str) -> str:
        return self.redaction.secrets.restore(unescape(line))[0]
