"""Notes written through Obsidian while it is open.

Only the app knows the unsaved text in its editor, and only a rename by the app updates the
links to a note. So each change, rename and removal of a note is offered to the app first,
with the hash that the note must have:

- The app did it, and the file shows it: done. The previous bytes are staged under the op,
  as after an exchange. The app writes into the file itself, which a power cut may truncate:
  then the archive has both texts, and a note that looks partly saved waits.
- The note differs, in the file or unsaved in the editor: it changed. The next run merges
  what the user wrote, once it is saved.
- The app cannot do it, or does not respond in time: the vault does it itself. A late response
  does no harm: the app compares too, and finds other bytes than expected.

The app is not trusted: the file is checked after each response.

A text that the app would not keep byte for byte, and a removal, are not for the app. Then it is
asked to write the text that the note already has, which changes nothing: it refuses that while an
editor has another text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vaultsync.errors import NoteChangedError, UnreadableNoteError
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import FileStamp, NoteFile, Vault

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class WriteOffer:
    """A change of a note that is offered to the app."""

    action: str
    """`modify` or `rename`."""
    path: VaultPath
    to: VaultPath | None
    expect: str
    """The sha that the note must have."""
    text: str | None
    """The new text; None for a rename."""


@dataclass(frozen=True, slots=True)
class WriteReply:
    """The app's response to an offer."""

    applied: bool
    found: str | None = None
    """The sha of the note in the app, if that is why it did nothing."""
    reason: str = ""


class ObsidianApp(Protocol):
    """The Obsidian app, which may be open."""

    @property
    def is_open(self) -> bool:
        """Whether it is expected to respond."""
        ...

    def offer(self, offer: WriteOffer) -> WriteReply | None:
        """Ask it to make a change; None if it does not respond in time."""
        ...


class SharedVault(Vault, Protocol):
    """A vault in which another program writes on its behalf."""

    def touched(self, path: VaultPath, *gone: VaultPath) -> None:
        """Make `sync()` flush a note that the app wrote, and its former paths."""
        ...

    def close(self) -> None: ...


class VaultThroughApp:
    """A wrapper of a `Vault` that first offers changes of notes to an app."""

    def __init__(self, vault: SharedVault, app: ObsidianApp) -> None:
        self._vault = vault
        self._app = app
        # Everything else is delegated to the vault.
        self.vault_id = vault.vault_id
        self.scan = vault.scan
        self.folder = vault.folder
        self.canvases = vault.canvases
        self.check_new = vault.check_new
        self.stamp = vault.stamp
        self.unchanged = vault.unchanged
        self.read = vault.read
        self.stage = vault.stage
        self.staged = vault.staged
        self.ops = vault.ops
        self.may_be_written = vault.may_be_written
        self.discard = vault.discard
        self.check_writable = vault.check_writable
        self.create = vault.create  # the app finds new notes by itself
        self.write_meta = vault.write_meta
        self.read_meta = vault.read_meta
        self.list_meta = vault.list_meta
        self.drop_meta = vault.drop_meta
        self.sync = vault.sync
        self.close = vault.close

    def exchange(self, op: str, path: VaultPath, expect: str) -> FileStamp:
        """Offer the staged text to the app, or else exchange."""
        staged = self._vault.staged(op) if self._app.is_open else None
        if staged is None:
            return self._vault.exchange(op, path, expect)
        self._vault.check_writable(path)
        before = self._vault.read(path)
        if before.sha != expect:
            raise NoteChangedError(path)
        answer = self._offer_text(path, before, staged.data)
        if answer is not None:
            now = self._vault.read(path)
            if now.sha == staged.sha:
                self._vault.touched(path)
                self._vault.stage(op, before.data)
                return now.stamp
            if now.sha != expect or _has_unsaved_text(answer, expect):
                raise NoteChangedError(path)
        return self._vault.exchange(op, path, expect)

    def move(self, path: VaultPath, to: VaultPath) -> None:
        """Offer the rename to the app, or else rename."""
        if self._app.is_open and self._is_moved_by_app(path, to):
            self._vault.touched(to, path)
        else:
            self._vault.move(path, to)

    def _is_moved_by_app(self, path: VaultPath, to: VaultPath) -> bool:
        self._vault.check_new(to)
        self._vault.check_writable(path)
        try:
            expect = self._vault.read(path).sha
        except UnreadableNoteError:  # too large for an app, but not for a rename
            return False
        if self._vault.stamp(to) is not None:
            return False  # the vault raises the reason, or changes only the case
        answer = self._app.offer(WriteOffer("rename", path, to, expect, None))
        if self._vault.stamp(to) is not None and self._vault.stamp(path) is None:
            return True
        if _has_unsaved_text(answer, expect):
            raise NoteChangedError(path)
        return False

    def stage_removal(self, op: str, path: VaultPath, expect: str) -> None:
        """Stage the removal of a note; refused while the app has unsaved text."""
        if self._app.is_open:
            before = self._vault.read(path)
            answer = self._offer_text(path, before, before.data) if before.sha == expect else None
            if _has_unsaved_text(answer, expect):
                raise NoteChangedError(path)
        self._vault.stage_removal(op, path, expect)

    def _offer_text(self, path: VaultPath, before: NoteFile, after: bytes) -> WriteReply | None:
        text = _offered_text(before.data, after)
        if text is None:
            return None
        return self._app.offer(WriteOffer("modify", path, None, before.sha, text))


def _has_unsaved_text(answer: WriteReply | None, expect: str) -> bool:
    """Whether the app did nothing because of unsaved text."""
    return answer is not None and not answer.applied and answer.found not in (None, expect)


def _offered_text(before: bytes, after: bytes) -> str | None:
    """The text of `after` if an app keeps both byte for byte, else that of `before`.

    Apps drop a byte order mark, and may change line endings. None if one is not UTF-8.
    """
    try:
        texts = before.decode(), after.decode()
    except UnicodeDecodeError:
        return None
    is_kept = not any("\r" in text or text.startswith(_BYTE_ORDER_MARK) for text in texts)
    return texts[is_kept]
