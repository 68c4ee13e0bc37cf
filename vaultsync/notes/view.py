"""The lens between facts and notes: what a note shows of a text, and what it means by it.

Facts hold true texts. Notes hold them with their secrets hidden (`privacy/redaction.py`) and
disarmed (`privacy/escaping.py`). Merging is done with true texts on all sides: a note is read
for what it means, and written so that it means what was merged.

- What is written and read again is the same fact.
- A note that means the same is not written, however it is spelled: a secret or a script
  that a person typed stays as it is.
- Where a note is written for another reason, its lines that stay keep their spelling.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.privacy.detection import is_surely_clean
from vaultsync.privacy.fact_texts import (
    LINK_KEYS,
    fact_text_pieces,
    joined_texts,
    map_fact_texts,
    map_value_texts,
    texts_in_value,
)
from vaultsync.privacy.providers import providers
from vaultsync.privacy.redaction import (
    NO_REDACTION,
    NO_SECRETS,
    REDACTION_PREFIX,
    KnownSecrets,
    Redaction,
    Redactor,
    join_secrets,
    redaction_for,
)

if TYPE_CHECKING:  # answers are seen through a lens too, and know no notes
    from vaultsync.notes.parse import Note

DETECTION_RULES = "1"
"""Changes with what is a secret, where the table of providers does not."""


MAX_CACHED_HASHES = 100_000
"""Hashes that are kept at most."""


@dataclass(frozen=True, slots=True)
class NoteView:
    """What of a fact a note may show."""

    redactor: Redactor | None = None
    """None: nothing is hidden, nothing is disarmed, notes are what they show."""
    redacts: bool = True
    """Whether secrets are hidden. Placeholders are understood without, too."""
    escapes: bool = True
    """Whether what would run in Obsidian is escaped. What is, is read back without, too."""
    version: str = ""
    """Changes with what answers hide, as far as all processes of a vault agree on it."""
    _seen: dict[int, bool | None] = field(default_factory=dict, compare=False, repr=False)
    """Texts without secrets by their hashes, and whether nothing in them may run: a pass
    looks at each fact some times."""
    _own: bool = field(init=False, default=False, compare=False, repr=False)
    """Whether there are rules of the user's, which may find a secret in any text."""

    def __post_init__(self) -> None:
        """See once what is asked for with every fact."""
        object.__setattr__(self, "_own", self.redactor is not None and self.redactor.own)

    @staticmethod
    def of(redactor: Redactor, *, hides: bool, disarms: bool) -> NoteView:
        """A lens that knows its version."""
        rules = [row.pattern for row in providers()]
        rules += [each.pattern for each in redactor.patterns]
        rules += [DETECTION_RULES, str(hides), str(disarms), *sorted(redactor.optional)]
        digest = hmac.new(redactor.key, "\0".join(rules).encode(), hashlib.sha256)
        return NoteView(redactor, hides, disarms, digest.hexdigest()[:12])

    # ------------------------------------------------------------------ fact -> text

    def redact(self, fact: Fact) -> Fact:
        """The fact without its secrets, as answers and indexes have it."""
        how = self._hiding(fact)
        if not how.changes:
            return fact
        return map_fact_texts(fact, lambda text, bare: how.hide(text, bare=bare))

    def to_note(self, fact: Fact) -> Fact:
        """The fact as a new note shows it."""
        if self.redactor is None or self._shows_all(fact):
            return fact
        from vaultsync.privacy.escaping import escape  # noqa: PLC0415 - see above

        fact = self.redact(fact)
        runs = not self.escapes
        return map_fact_texts(fact, lambda text, _: escape(text, runs=runs))

    def _shows_all(self, fact: Fact) -> bool:
        """Whether there is neither a secret in a fact nor anything that may run."""
        words = joined_texts(fact)
        if is_surely_clean(words) and not self._own:
            return True
        key = hash(words)
        safe = self._seen.get(key)
        if safe is None:
            if not self._is_plain(words, key):
                return False
            from vaultsync.privacy.escaping import may_have_active_content  # noqa: PLC0415 - see above

            safe = self._seen[key] = not may_have_active_content(words)
        return safe

    def _is_plain(self, words: str, key: int) -> bool:
        """Whether there is neither a secret in a text nor a placeholder."""
        if key in self._seen:
            return True
        if REDACTION_PREFIX in words or (self.redactor is not None and self.redactor.spans(words)):
            return False
        if len(self._seen) >= MAX_CACHED_HASHES:
            self._seen.clear()
        self._seen[key] = None
        return True

    def redact_text(self, text: str, *facts: Fact | None) -> str:
        """A loose text without its secrets, as answers have it, nor those of `facts`."""
        if self.redactor is None or not self.redacts:
            return text
        return self.redactor.hide(text, self.known_secrets(*facts))

    def redact_values(self, many: Sequence[tuple[str, Value]], *facts: Fact | None) -> list[Value]:
        """Values of fields without their secrets, as answers have them.

        What is a secret in one of them, or in one of `facts`, is hidden in all.
        """
        if self.redactor is None or not self.redacts:
            return [value for _, value in many]
        parts = [
            piece
            for key, value in many
            for piece in texts_in_value(value, key, bare=key in LINK_KEYS)
        ]
        known = self.known_secrets(*facts)
        how = redaction_for(self.redactor, parts, hides=True, also=known)

        def change(text: str, bare: bool) -> str:  # noqa: FBT001 - as `Change` is
            return how.hide(text, bare=bare)

        return [map_value_texts(value, change, bare=key in LINK_KEYS) for key, value in many]

    def redact_value(self, key: str, value: Value, *facts: Fact | None) -> Value:
        """One value of a field, as `values()`."""
        return self.redact_values([(key, value)], *facts)[0]

    def escape(self, value: Value) -> Value:
        """A value as a file of the vault may show it that is never read back."""
        from vaultsync.privacy.escaping import escape  # noqa: PLC0415 - see above

        if self.redactor is None or not self.escapes:
            return value
        return map_value_texts(value, lambda text, _: escape(text))

    def _hiding(self, fact: Fact) -> Redaction:
        if self.redactor is None:
            return NO_REDACTION
        words = joined_texts(fact)
        if (is_surely_clean(words) and not self._own) or self._is_plain(words, hash(words)):
            return NO_REDACTION
        return redaction_for(self.redactor, list(fact_text_pieces(fact)), hides=self.redacts)

    def known_secrets(self, *facts: Fact | None) -> KnownSecrets:
        """What the placeholders of some versions of a fact stand for."""
        found = [self._hiding(each).secrets for each in facts if each is not None]
        return join_secrets(found) if any(each.known for each in found) else NO_SECRETS

    # ------------------------------------------------------------------ text -> fact

    def from_base_note(self, note: Note, fact: Fact) -> Note:
        """The note of a base as it is meant: what its fact says, where it shows that.

        Placeholders that were made with another key, or by other rules, are told from
        what the fact says in their place.
        """
        from vaultsync.notes.view_read import NoteViewReader, may_be_redacted  # noqa: PLC0415 - see above

        if self.redactor is None or not may_be_redacted(note.parts.text):
            return note
        keys = ("entities", *note.values, *note.properties)
        told = {key: fact.value(key) for key in keys}
        return NoteViewReader(
            note,
            lambda: self.known_secrets(fact),
            note,
            told,
            known=True,
            sure=False,
            proves=self.redactor.stands_for,
        ).done()

    def from_note(self, note: Note, *facts: Fact | None, before: Note | None = None) -> Note:
        """The note as it is meant: with what its placeholders stand for, un-escaped.

        A placeholder that stands for nothing makes a problem of its field, unless the
        fact of the note is new: then it is text.

        Args:
            note: as it was read.
            facts: the versions of its fact that are known, of base and store.
            before: what `agreed()` said of the note of the base.
        """
        from vaultsync.notes.view_read import NoteViewReader, may_be_redacted  # noqa: PLC0415 - see above

        if self.redactor is None or not may_be_redacted(note.parts.text):
            return note
        told: dict[str, Value] = {}
        if before is not None:
            told = {"entities": before.body.entities}
            told |= {**before.values, **before.properties}
        return NoteViewReader(
            note,
            lambda: self.known_secrets(*facts),
            before or note,
            told,
            known=any(each is not None for each in facts),
            sure=True,
            proves=self.redactor.stands_for,
        ).done()

    def restore_values(
        self, values: Mapping[str, Value], *facts: Fact | None
    ) -> tuple[dict[str, Value], str]:
        """What an agent means by values that it made of an answer.

        Returns them, and the first placeholder that stands for nothing of `facts`, the
        versions of the fact, if any.
        """
        found = dict(values)
        if self.redactor is None or REDACTION_PREFIX not in repr(values):
            return found, ""
        secrets = self.known_secrets(*facts)
        unknown: list[str] = []
        for key, value in values.items():
            found[key] = _restore_value(value, secrets, unknown, bare=key in LINK_KEYS)
        return found, unknown[0] if unknown else ""

    # -------------------------------------------------------------- merged -> spelling

    def to_note_wording(self, note: Note, merged: Fact) -> Fact:
        """The merged fact as this note is to spell it: what it shows already, as it does."""
        from vaultsync.notes.view_write import NoteViewWriter  # noqa: PLC0415 - see above

        if self.redactor is None:
            return merged
        if not note.spelled and self._shows_all(merged):
            return merged
        how = self._hiding(merged)
        tell = NoteViewWriter(note, how, runs=not self.escapes)
        return tell.fact(merged)


IDENTITY_VIEW = NoteView()
"""Through it, notes are what they show."""


def _restore_value(value: Value, secrets: KnownSecrets, unknown: list[str], *, bare: bool) -> Value:
    def change(text: str, bare: bool) -> str:  # noqa: FBT001 - as `Change` is
        said, missing = secrets.restore(text, bare=bare)
        unknown.extend(missing)
        return said

    return map_value_texts(value, change, bare=bare)
