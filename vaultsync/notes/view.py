"""The view of a fact in its note: secrets redacted, active content escaped, and back.

Facts hold the original texts. Notes hold them redacted (`privacy/redaction.py`) and escaped
(`privacy/escaping.py`). Merges use original texts on all sides: reading a note restores
them, and writing a note hides them again.

- A fact that is written to a note and read again is the same fact.
- A note with the same meaning is not rewritten: a secret or a script that the user typed
  stays as it is.
- When a note is rewritten for another reason, its unchanged lines keep their wording.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.privacy.clean_texts import is_surely_clean
from vaultsync.privacy.fact_texts import (
    LINK_KEYS,
    fact_text_pieces,
    joined_texts,
    loose_text_pieces,
    map_fact_texts,
    map_value_texts,
    restore_value_texts,
)
from vaultsync.privacy.placeholders import (
    NO_REDACTION,
    NO_SECRETS,
    REDACTION_PREFIX,
    KnownSecrets,
    Redaction,
    RedactionText,
    Redactor,
    join_secrets,
)
from vaultsync.privacy.providers import table_text

if TYPE_CHECKING:  # answers use a view too: they need no parser of notes, and few facts a search
    from vaultsync.notes.parse import Note

DETECTION_RULES = "4"
"""The version of the detection of secrets apart from the table of providers."""

MAX_CACHED_HASHES = 100_000
"""Maximum number of cached hashes."""
MAX_CACHED_REDACTIONS = 8
"""Maximum number of facts whose secrets are cached."""


class NoteView(Struct, frozen=True, eq=False):
    """What notes and answers may show of facts."""

    redactor: Redactor | None = None
    """None: nothing is redacted or escaped."""
    redacts: bool = True
    """Whether secrets are redacted. Placeholders are restored in any case."""
    escapes: bool = True
    """Whether active content is escaped. Escaped text is restored in any case."""
    has_own_rules: bool = False
    """Whether the user has own rules, which may find a secret in any text."""
    version: str = ""
    """Differs when answers redact other things; the same in all processes of a vault."""
    meanings: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Field -> a word of the author's that it does not take, folded, or `*` for all others -> the
    value it means; None if it is ignored."""
    _seen: dict[int, bool | None] = field(default_factory=dict)
    """Hashes of texts without secrets, and whether they have no active content either: a
    run asks several times for each fact."""

    _redactions: dict[tuple[tuple[RedactionText, ...], bool], Redaction] = field(
        default_factory=dict
    )
    """Those of a few facts with secrets: a write asks several times for the same one."""

    @staticmethod
    def of(
        redactor: Redactor,
        *,
        redacts: bool,
        escapes: bool,
        meanings: Mapping[str, Mapping[str, Value]] | None = None,
    ) -> NoteView:
        """A view with its version."""
        rules = [table_text(), *(each.pattern for each in redactor.patterns)]
        rules += [DETECTION_RULES, str(redacts), str(escapes), *sorted(redactor.optional)]
        digest = hmac.new(redactor.key, "\0".join(rules).encode(), hashlib.sha256)
        return NoteView(
            redactor, redacts, escapes, redactor.own, digest.hexdigest()[:12], meanings or {}
        )

    def redact(self, fact: Fact) -> Fact:
        """The fact without its secrets, as answers and indexes have it."""
        redaction = self._redaction(fact)
        return map_fact_texts(fact, redaction.hide) if redaction.changes else fact

    def to_note(self, fact: Fact) -> Fact:
        """The fact as a new note shows it."""
        if self.redactor is None or self._shows_all(fact):
            return fact
        from vaultsync.privacy.escaping import escape  # noqa: PLC0415 - see above

        fact = self.redact(fact)
        runs = not self.escapes
        return map_fact_texts(fact, lambda text, **_: escape(text, runs=runs))

    def _shows_all(self, fact: Fact) -> bool:
        """Whether a fact has neither secrets nor active content."""
        words = joined_texts(fact)
        key = hash(words)
        safe = self._seen.get(key)
        if safe is None:
            if is_surely_clean(words) and not self.has_own_rules:
                return True
            if not self._is_plain(words, key):
                return False
            from vaultsync.privacy.escaping import may_have_active_content  # noqa: PLC0415 - see above

            safe = self._seen[key] = not may_have_active_content(words)
        return safe

    def _is_plain(self, words: str, key: int) -> bool:
        """Whether a text has neither secrets nor placeholders."""
        if key in self._seen:
            return True
        from vaultsync.privacy.redaction import has_secret  # noqa: PLC0415 - see above

        if REDACTION_PREFIX in words or (
            self.redactor is not None and has_secret(self.redactor, words)
        ):
            return False
        if len(self._seen) >= MAX_CACHED_HASHES:
            self._seen.clear()
        self._seen[key] = None
        return True

    def redact_text(self, text: str, *facts: Fact | None) -> str:
        """A text without its secrets and without those of `facts`, as answers show it."""
        if self.redactor is None or not self.redacts:
            return text
        if not (facts or self.has_own_rules) and is_surely_clean(text):
            return text
        from vaultsync.privacy.redaction import hide_secrets  # noqa: PLC0415 - see above

        return hide_secrets(self.redactor, text, self.known_secrets(*facts))

    def redact_values(self, many: Sequence[tuple[str, Value]], *facts: Fact | None) -> list[Value]:
        """Values of fields without their secrets, as answers show them.

        A secret in one of them, or in one of `facts`, is redacted in all of them.
        """
        if self.redactor is None or not self.redacts:
            return [value for _, value in many]
        from vaultsync.privacy.redaction import redaction_for  # noqa: PLC0415 - see above

        parts = list(loose_text_pieces(many))
        how = redaction_for(self.redactor, parts, hides=True, also=self.known_secrets(*facts))
        return [map_value_texts(value, how.hide, bare=key in LINK_KEYS) for key, value in many]

    def redact_value(self, key: str, value: Value, *facts: Fact | None) -> Value:
        """One value of a field, like `redact_values()`."""
        return self.redact_values([(key, value)], *facts)[0]

    def escape(self, value: Value) -> Value:
        """A value with escaped active content, for files that are never read back."""
        from vaultsync.privacy.escaping import escape  # noqa: PLC0415 - see above

        if self.redactor is None or not self.escapes:
            return value
        return map_value_texts(value, lambda text, **_: escape(text))

    def _redaction(self, fact: Fact, *, hides: bool | None = None) -> Redaction:
        """How the secrets of a fact are redacted, or would be if answers hid them."""
        if self.redactor is None:
            return NO_REDACTION
        words = joined_texts(fact)
        digest = hash(words)
        if digest in self._seen or (is_surely_clean(words) and not self.has_own_rules):
            return NO_REDACTION
        key = tuple(fact_text_pieces(fact)), self.redacts if hides is None else hides
        found = self._redactions.get(key)
        if found is None:
            if self._is_plain(words, digest):
                return NO_REDACTION
            from vaultsync.privacy.redaction import redaction_for  # noqa: PLC0415 - see above

            found = redaction_for(self.redactor, key[0], hides=key[1])
            if len(self._redactions) >= MAX_CACHED_REDACTIONS:
                self._redactions.clear()
            self._redactions[key] = found
        return found

    def known_secrets(self, *facts: Fact | None) -> KnownSecrets:
        """The secrets behind the placeholders of some versions of a fact."""
        found = [self._redaction(each).secrets for each in facts if each is not None]
        return join_secrets(found) if any(each.known for each in found) else NO_SECRETS

    def content_secrets(self, fact: Fact) -> tuple[KnownSecrets, Sequence[str]]:
        """The secrets of a fact, and those of its content in order, whether hidden or not."""
        redaction = self._redaction(fact, hides=True)
        return redaction.secrets, redaction.hidden(fact.content)

    def from_base_note(self, note: Note, fact: Fact) -> Note:
        """The note of a base with its original texts.

        Placeholders that were made with another key, or by other rules, are resolved by
        what the fact has in their place.
        """
        return self._read(self._with_meanings(note, None, fact), (fact,), None, fact)

    def from_note(self, note: Note, *facts: Fact | None, before: Note | None = None) -> Note:
        """The note with its original texts: placeholders restored, escapes removed.

        A placeholder that stands for no secret is a problem of its field, unless the fact
        is new: then it is text. `facts` are its known versions, in the base and the store;
        `before` is the note of the base, from `from_base_note()`.
        """
        return self._read(self._with_meanings(note, before, None), facts, before, None)

    def meaning(self, note: Note, key: str) -> Value:
        """What the word of a note means that its field does not take; None for nothing."""
        words = self.meanings.get(key)
        if not words:
            return None
        return words.get(str(note.raw.get(key)).strip().casefold(), words.get("*"))

    def explains(self, note: Note, key: str) -> bool:
        """Whether the settings say what a word is that its field does not take.

        It has a meaning or is ignored, so there is nothing to report about it.
        """
        words = self.meanings.get(key, {})
        return "*" in words or str(note.raw.get(key)).strip().casefold() in words

    def _with_meanings(self, note: Note, before: Note | None, fact: Fact | None) -> Note:
        """The note with the values that its author's words mean, which it goes on showing.

        A word that stands there since `before` means what it meant then, and in the note of a
        base what its fact says: a new meaning is for words that are written from then on.
        """
        if not (self.meanings and note.problems):
            return note
        values, problems = dict(note.values), []
        for problem in note.problems:
            key = problem.key
            meaning = self.meaning(note, key)
            stood = before is not None and before.raw.get(key) == note.raw.get(key)
            was = before.values.get(key) if before is not None and stood else meaning
            if meaning is None or meaning != was or (fact and fact.value(key) != meaning):
                problems.append(problem)
            else:
                values[key] = meaning
        return note._replace(values=values, problems=tuple(problems))

    def _read(
        self, note: Note, facts: Sequence[Fact | None], before: Note | None, base: Fact | None
    ) -> Note:
        from vaultsync.notes.wording import NoteViewReader, may_be_redacted  # noqa: PLC0415 - see above

        if self.redactor is None or not may_be_redacted(note.parts.text):
            return note
        known = any(each is not None for each in facts)
        find = partial(self.known_secrets, *facts)
        return NoteViewReader(note, find, known, before, base, self.redactor).done()

    def restore_values(
        self, values: Mapping[str, Value], *facts: Fact | None
    ) -> tuple[dict[str, Value], str]:
        """Values from a caller who saw an answer, with secrets in place of placeholders.

        Also returns the first placeholder that stands for no secret of `facts`, or "".
        """
        found = dict(values)
        if self.redactor is None or REDACTION_PREFIX not in repr(values):
            return found, ""
        secrets = self.known_secrets(*facts)
        unknown: list[str] = []
        for key, value in values.items():
            found[key] = restore_value_texts(value, secrets.restore, unknown, bare=key in LINK_KEYS)
        return found, unknown[0] if unknown else ""

    def to_note_wording(self, note: Note, merged: Fact, keys: Collection[str]) -> Fact:
        """The merged fact with some values in the wording of the note, where that shows them."""
        from vaultsync.notes.wording import NoteViewWriter  # noqa: PLC0415 - see above

        if self.redactor is None or not keys:
            return merged
        if not note.spelled and self._shows_all(merged):
            return merged
        return NoteViewWriter(note, self._redaction(merged), runs=not self.escapes).fact(
            merged, keys
        )


IDENTITY_VIEW = NoteView()
"""The view that shows everything as it is."""
