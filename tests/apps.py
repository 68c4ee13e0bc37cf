"""Fake Obsidian apps that have notes open: correct ones, and faulty ones.

An app writes into the file itself, as Obsidian does, and returns the sha of its text
if that is not the expected one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from vaultsync.backends.obsidian.vault_through_app import WriteOffer, WriteReply


class Files(Protocol):
    """The files of the vault, as the user sees them."""

    def content(self, path: str) -> bytes | None: ...
    def save_in_place(self, path: str, data: bytes) -> None: ...
    def rename(self, path: str, to: str) -> None: ...
    def make_folder(self, path: str) -> None: ...


APPS = ("applies", "refuses", "lies", "is slow", "holds unsaved text", "adds a word")


@dataclass
class FakeApp:
    """An app that treats every write as its `kind` says."""

    files: Files
    kind: str
    digest: Callable[[bytes], str]
    is_open: bool = True
    before: Callable[[], None] = lambda: None
    """Called once, right before the app reads the file."""
    after: Callable[[], None] = lambda: None
    """Called once, when the app is done."""
    offers: list[WriteOffer] = field(default_factory=list)

    def offer(self, offer: WriteOffer) -> WriteReply | None:
        self.offers.append(offer)
        self.before()
        answer = self._answer(offer)
        self.after()
        return answer

    def _answer(self, offer: WriteOffer) -> WriteReply | None:
        match self.kind:
            case "refuses":
                return WriteReply(applied=False, reason="failed")
            case "lies":
                return WriteReply(applied=True)
            case "is slow":
                return None
            case "holds unsaved text":
                return WriteReply(False, self.digest(b"unsaved"), "unsaved")
            case _:
                return self.apply(offer)

    def apply(self, offer: WriteOffer) -> WriteReply:
        """Compare with the current text, then write or rename, as the plugin does."""
        data = self.files.content(offer.path)
        if data is None or self.digest(data) != offer.expect:
            return WriteReply(False, None if data is None else self.digest(data), "changed")
        if offer.to is not None:
            if self.files.content(offer.to) is not None:
                return WriteReply(False, None, "exists")
            if "/" in offer.to:
                self.files.make_folder(offer.to.rpartition("/")[0])
            self.files.rename(offer.path, offer.to)
        if offer.text is not None:
            word = "\nA word.\n" if self.kind == "adds a word" else ""
            self.files.save_in_place(offer.path, (offer.text + word).encode())
        return WriteReply(applied=True)
