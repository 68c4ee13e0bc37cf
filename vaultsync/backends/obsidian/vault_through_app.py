"""Notes written through the app that a person has open, where there is one.

Only the app knows what stands unsaved in its editor, and only a rename by the app mends
the links that lead to a note. So a note that is to get other bytes, or another path, or is
to go, is offered to the app first, with what it must hold:

- It did it, and the file shows it: done. What the note held before is staged under the
  op, as after an exchange. An app writes into the file itself, which a power cut may
  tear: the archive has both texts then, and a note that looks half saved waits.
- It holds something else, in the file or unsaved in its editor: the note changed. The
  next pass merges what the person wrote when it is saved.
- It cannot, or does not answer in time: the vault does it itself. An answer that comes
  too late does no harm: the app compares as well, and finds other bytes than expected.

What an app says is never believed: after each answer, the file is looked at.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Protocol

from vaultsync.errors import NoteChangedError, UnreadableNoteError
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import FileStamp, Vault


@dataclass(frozen=True, slots=True)
class WriteOffer:
    """One change of a note, as it is offered to the app."""

    action: str
    """`modify` or `rename`."""
    path: VaultPath
    to: VaultPath | None
    expect: str
    """The sha of what the note holds now."""
    text: str | None
    """What it shall hold; None for a rename."""


@dataclass(frozen=True, slots=True)
class WriteReply:
    """What the app says to an offer."""

    applied: bool
    found: str | None = None
    """The sha of what the app has of the note, when that is why it did nothing."""
    reason: str = ""


class ObsidianApp(Protocol):
    """The app that may be open."""

    @property
    def is_open(self) -> bool:
        """Whether it is worth while to ask it anything."""
        ...

    def offer(self, offer: WriteOffer) -> WriteReply | None:
        """Ask it to do something; None when it does not answer in time."""
        ...


class SharedVault(Vault, Protocol):
    """A vault in which somebody else writes on its behalf."""

    def check_new(self, path: VaultPath) -> None:
        """Refuse a path that no scan would find again.

        Raises:
            UnsafePathError.
        """
        ...

    def touched(self, path: VaultPath, *gone: VaultPath) -> None:
        """Somebody wrote a note for us, or took it from `gone`; `sync` shall cover it."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class VaultThroughApp:
    """`Vault` on another one, which offers changes of notes to an app first."""

    def __init__(self, vault: SharedVault, app: ObsidianApp) -> None:
        self._vault = vault
        self._app = app
        # All else is the vault's.
        self.vault_id = vault.vault_id
        self.scan = vault.scan
        self.folder = vault.folder
        self.stamp = vault.stamp
        self.read = vault.read
        self.stage = vault.stage
        self.staged = vault.staged
        self.ops = vault.ops
        self.discard = vault.discard
        self.create = vault.create  # the app finds new notes by itself
        self.write_meta = vault.write_meta
        self.read_meta = vault.read_meta
        self.list_meta = vault.list_meta
        self.drop_meta = vault.drop_meta
        self.sync = vault.sync
        self.close = vault.close

    def exchange(self, op: str, path: VaultPath, expect: str) -> FileStamp:
        """Offer the staged text to the app; else swap."""
        if not self._app.is_open:
            return self._vault.exchange(op, path, expect)
        before, staged = self._vault.read(path), self._vault.staged(op)
        if before.sha != expect:
            raise NoteChangedError(path)
        text = _text(before.data, staged.data) if staged else None
        if staged is None or text is None:
            return self._vault.exchange(op, path, expect)
        answer = self._app.offer(WriteOffer("modify", path, None, expect, text))
        if answer is None:
            return self._vault.exchange(op, path, expect)
        now = self._vault.read(path)
        if now.sha == staged.sha:
            self._vault.touched(path)
            self._vault.stage(op, before.data)
            return now.stamp
        if now.sha != expect or _has_unsaved_text(answer, expect):
            raise NoteChangedError(path)
        return self._vault.exchange(op, path, expect)

    def move(self, path: VaultPath, to: VaultPath) -> FileStamp:
        """Offer the rename to the app; else rename."""
        if not self._app.is_open:
            return self._vault.move(path, to)
        self._vault.check_new(to)
        try:
            expect = self._vault.read(path).sha
        except UnreadableNoteError:  # too large for an app, but not for a rename
            return self._vault.move(path, to)
        if self._vault.stamp(to) is not None:
            return self._vault.move(path, to)  # it says why not; or a change of case
        answer = self._app.offer(WriteOffer("rename", path, to, expect, None))
        there = self._vault.stamp(to)
        if there is not None and self._vault.stamp(path) is None:
            self._vault.touched(to, path)
            return there
        if answer is not None and _has_unsaved_text(answer, expect):
            raise NoteChangedError(path)
        return self._vault.move(path, to)

    def stage_removal(self, op: str, path: VaultPath, expect: str) -> None:
        """As the vault does, unless an editor of the app holds what is not saved yet.

        The app is asked to write the text that the note has, which changes nothing, and
        says so when it holds another one.
        """
        if self._app.is_open:
            before = self._vault.read(path)
            text = _text(before.data, before.data)
            if before.sha == expect and text is not None:
                answer = self._app.offer(WriteOffer("modify", path, None, expect, text))
                if answer is not None and _has_unsaved_text(answer, expect):
                    raise NoteChangedError(path)
        self._vault.stage_removal(op, path, expect)


def _has_unsaved_text(answer: WriteReply, expect: str) -> bool:
    """Whether the app did nothing because of a text that is not in the file yet."""
    return not answer.applied and answer.found not in (None, expect)


def _text(before: bytes, after: bytes) -> str | None:
    """What the note shall hold, if an app shows both texts to the byte; else None.

    Apps pass over a byte order mark, and may change the ends of lines.
    """
    if b"\r" in before + after or before.startswith(codecs.BOM_UTF8):
        return None
    try:
        before.decode()
        return None if after.startswith(codecs.BOM_UTF8) else after.decode()
    except UnicodeDecodeError:
        return None
