"""Apps that a person has open: faithful ones, and others.

An app writes into the file itself, as Obsidian does, and says the sha of what it holds
when that is not what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from vaultsync.backends.obsidian.vault_through_app import WriteOffer, WriteReply


class Files(Protocol):
    """The files of the vault, as a person has them."""

    def content(self, path: str) -> bytes | None: ...
    def save_in_place(self, path: str, data: bytes) -> None: ...
    def rename(self, path: str, to: str) -> None: ...
    def make_folder(self, path: str) -> None: ...


APPS = ("applies", "refuses", "lies", "is slow", "holds unsaved text", "adds a word")


@dataclass
class FakeApp:
    """An app that does what its `kind` says with every offer."""

    files: Files
    kind: str
    digest: Callable[[bytes], str]
    is_open: bool = True
    before: Callable[[], None] = lambda: None
    """Happens once, right before the app looks at the file."""
    after: Callable[[], None] = lambda: None
    """Happens once, when the app has done what it does."""
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
        """As the plugin does: compare with what is there, then write or rename."""
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
