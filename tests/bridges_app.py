"""Offers a change of a note to the app that listens, as the sync does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vaultsync.backends.obsidian.vault_through_app import WriteOffer, WriteReply
from vaultsync.model.paths import VaultPath
from vaultsync.service.bridge_service import BridgeServices


@dataclass
class Waiting:
    """The answer to an offer, once there is one."""

    answer: WriteReply | None = None


def offer() -> WriteOffer:
    path = VaultPath("public/facts/2026-02-14-berths.md")
    return WriteOffer("modify", path, None, "0" * 64, "# Berths\n\nThere are 38.\n")


@contextmanager
def ask_in_background(serving: BridgeServices, wanted: WriteOffer) -> Iterator[Waiting]:
    """Offer a write in a thread while the body of the `with` answers it."""
    waiting = Waiting()

    def ask() -> None:
        waiting.answer = serving.writes.offer(wanted)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waiting
    finally:
        thread.join()
