"""Read a note through its view: restore placeholders and remove escapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vaultsync.model.schema import Value
from vaultsync.notes.parse import FieldProblem, Note, UnknownPlaceholder
from vaultsync.privacy.escaping import unescape
from vaultsync.privacy.fact_texts import LINK_KEYS, map_value_texts, text_spellings
from vaultsync.privacy.redaction import REDACTION_PREFIX, KnownSecrets, learn_placeholders

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
    shown: Note
    """A version of the note that shows placeholders whose secrets are unknown."""
    originals: Mapping[str, Value]
    """The original values of that version, by key, from which they are learned."""
    known: bool
    """Whether the fact is known, so that an unknown placeholder is a problem."""
    sure: bool
    """Whether `originals` are certain; otherwise only what `proves` confirms is used."""
    proves: Callable[[str, str], bool]
    """Whether a placeholder was made from a text."""
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
            read[key] = self._value(value, unknown, bare=key in LINK_KEYS)
            if read[key] != value:
                spelled[key] = value
            if unknown and self.known:
                problems.append(_unknown(self.note, key, unknown[0]))
        return read

    def _value(self, value: Value, unknown: list[str], *, bare: bool) -> Value:
        def change(text: str, bare: bool) -> str:  # noqa: FBT001 - as `Change` is
            restored, missing = self._original(text, bare=bare)
            unknown.extend(missing)
            return restored

        return map_value_texts(value, change, bare=bare)

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
        found: dict[str, str] = {}
        shown = self.shown
        seen = {"entities": shown.body.entities, **shown.values, **shown.properties}
        for key, value in {**seen, **shown.spelled}.items():
            for true, text in text_spellings(self.originals.get(key), value):
                if REDACTION_PREFIX in text:
                    found |= learn_placeholders(unescape(text), true, bare=key in LINK_KEYS)
        if self.sure:
            return found
        # The user may have written one over a word that is no secret.
        return {
            name: secret
            for name, secret in found.items()
            if secret in secrets.known.values() or self.proves(name, secret)
        }


def _unknown(note: Note, key: str, name: str) -> UnknownPlaceholder:
    line = note.parts.text[: max(note.parts.text.find(name), 0)].count("\n") + 1
    return UnknownPlaceholder(
        key,
        line,
        f"{name} stands for no secret of this fact",
        "write what you mean in its place, or take it out",
    )
