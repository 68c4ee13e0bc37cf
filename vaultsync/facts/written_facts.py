"""What surfaces show of a fact that was just written, in comparison with older ones."""

from __future__ import annotations

from typing import NotRequired, cast

from msgspec import Struct

from vaultsync.model.fact import Fact
from vaultsync.model.serialization import PublicFact, public_values


class Contradiction(Struct, frozen=True):
    """A fact that says otherwise than another one. Nothing is changed by that."""

    id: str
    title: str
    date: str
    """The day it was created, such as `2026-02-14`."""
    why: str
    """The two sentences that do not go together."""


class SameText(Struct, frozen=True):
    """A fact whose text is that of another one."""

    id: str
    title: str
    date: str
    """The day it was created, such as `2026-02-14`."""


class Comparison(Struct, frozen=True):
    """What a fact is in comparison with older ones, newest first."""

    contradicts: tuple[Contradiction, ...] = ()
    """The facts that say otherwise: an amount, date or state, or a denial."""
    same_text: tuple[SameText, ...] = ()
    """The facts whose text differs only in case and spaces."""


NOTHING_SIMILAR = Comparison()


class ChangedFact(PublicFact):
    """A fact that was written."""

    contradicts: NotRequired[list[Contradiction]]
    """Older facts that say otherwise, to be superseded if they are no longer true. Left out where
    none was found; not all are."""
    same_text: NotRequired[list[SameText]]
    """Older facts with the same text, of which one is too many. Left out where there is none."""


class NewFact(ChangedFact):
    """A fact that was remembered."""

    mirrored: bool
    """Whether its note is there already."""


def public_new(fact: Fact, compared: Comparison = NOTHING_SIMILAR) -> NewFact:
    """What surfaces show of a fact that was just remembered."""
    return {**public_changed(fact, compared), "mirrored": fact.path is not None}


def public_changed(fact: Fact, compared: Comparison = NOTHING_SIMILAR) -> ChangedFact:
    """What surfaces show of a fact that was just written, with what older ones say of it."""
    values = cast("ChangedFact", public_values(fact))
    if compared.contradicts:
        values["contradicts"] = [*compared.contradicts]
    if compared.same_text:
        values["same_text"] = [*compared.same_text]
    return values
