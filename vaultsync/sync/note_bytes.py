"""The bytes that each note shall have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultsync.errors.notes import NoteError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import render, rewrite, stale, with_id
from vaultsync.storage.records import HistoryEntry
from vaultsync.sync.context import Links, Mirror
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.history import exhume
from vaultsync.sync.item import CREATES_NOTE, EXCHANGES, text_of


class NoteBytes:
    """Decides what is written; writes nothing."""

    def __init__(self, mirror: Mirror, links: Links) -> None:
        self._mirror = mirror
        self._lens = mirror.lens
        self._links = links
        self._buried: Mapping[str, HistoryEntry] = {}

    def prepare(self, actions: Sequence[Action]) -> None:
        """Look up at once what the notes of many actions are made of."""
        new = [each.fact_id for each in actions if each.do in CREATES_NOTE]
        self._buried = self._mirror.archive.buried_notes(new)
        written = [x.merged for x in actions if x.merged and x.do is not Do.RECORD]
        linked = [key for fact in written for key in fact.related_fact_ids]
        self._links.prepare(dict.fromkeys(linked))

    def of(self, action: Action, fact: Fact) -> bytes | None:
        """The bytes; None when the note is to go, or there is none.

        Raises:
            NoteError: it could not be proved that nothing else changes.
        """
        note = action.note
        match action.do:
            case Do.CREATE_NOTE | Do.RECREATE_NOTE:
                return self._note_again(fact, action.shown or self._lens.shown(fact))
            case Do.DELETE_NOTE | Do.DELETE_FACT | Do.DROP_BASE:
                return None
            case Do.CREATE_FACT | Do.REVIVE_FACT | Do.RESTORE_FACT:
                said = action.vault
                assert note is not None and said is not None  # noqa: S101, PT018
                if action.do is not Do.CREATE_FACT and stale(note, said, fact):
                    links = self._links.to(fact.related_fact_ids)
                    return rewrite(note, said, fact, links=links, lens=self._lens)
                return with_id(note, fact.id) if note.id != fact.id else text_of(note)
            case _:
                pass
        assert note is not None and action.vault is not None  # noqa: S101, PT018
        if action.text is not None:
            return action.text
        if action.do in EXCHANGES:
            links = self._links.to(fact.related_fact_ids)
            return rewrite(note, action.vault, fact, links=links, lens=self._lens)
        return text_of(note)

    def _note_again(self, fact: Fact, shown: Fact) -> bytes:
        """The note of a fact: as it last was when it had one, else a new one."""
        links = self._links.to(fact.related_fact_ids)
        last = exhume(self._mirror.archive, self._buried.get(fact.id))
        if last is not None:
            try:
                path = fact.path or last.fact.path or VaultPath("")
                note = self._lens.agreed(read_note(last.data, path), last.fact)
                return rewrite(note, last.fact, fact, links=links, lens=self._lens)
            except NoteError:
                pass  # its last text cannot be built upon: the new form says it all
        return render(shown, links=links)
