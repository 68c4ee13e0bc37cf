"""What the routes take: bodies and queries. What is not named here is refused."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from vaultsync.recall.request import DEFAULT_BUDGET

Text: TypeAlias = Annotated[str, Meta(max_length=1_000_000)]
Word: TypeAlias = Annotated[str, Meta(max_length=1_000)]
Words: TypeAlias = Annotated[list[Word], Meta(max_length=1_000)]
Priority: TypeAlias = Annotated[int, Meta(ge=0, le=4)]
Many: TypeAlias = Annotated[int, Meta(ge=1, le=1_000)]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object, or the query of an address; without anything in it."""


class Listing(Body):
    """Which facts, a page at a time."""

    type: Word | None = None
    scope: Word | None = None
    status: Word | None = None
    tag: Word | None = None
    limit: Many = 100
    after: Word | None = None


class Remember(Body):
    """A new fact."""

    text: Text
    type: Word | None = None
    title: Word | None = None
    scope: Word | None = None
    priority: Priority | None = None
    tags: Words = []
    entities: Words = []
    fields: dict[Word, Any] = {}


class Update(Body):
    """A change of a fact."""

    content: Text | None = None
    set: dict[Word, Any] = {}
    add_tags: Words = []
    remove_tags: Words = []
    expect: Word | None = None


class Supersede(Body):
    """The text that replaces a fact."""

    text: Text


class Expecting(Body):
    """The revision that is meant."""

    expect: Word | None = None


class Adopt(Body):
    """What a note becomes."""

    scope: Word | None = None
    type: Word | None = None


class AdoptAll(Adopt):
    """What notes become."""

    dry_run: bool = False


class Resolve(Body):
    """Whose values stand: those of a side, or a text made of both."""

    take: Annotated[str, Meta(pattern="^(store|vault)$")] | None = None
    field: Word | None = None
    text: Text | None = None
    agent: Word | None = None
    """Who says so; a bridge of one agent does it for no other one."""


class Maintain(Body):
    """What an upkeep may do."""

    dry_run: bool = False
    max_delete: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    confirm: Word | None = None


class Sync(Maintain):
    """What a pass may do."""

    allow_scope_moves: bool = False


class Recall(Body):
    """A question."""

    query: Annotated[str, Meta(max_length=10_000)]
    limit: Many = 10
    mode: Word = "auto"
    types: Words = []
    scopes: Words = []
    tags: Words = []
    max_priority: Priority = 2
    since: Word | None = None
    user: Word | None = None
    explain: bool = False
    agent: Word | None = None
    """For whom; a bridge of one agent answers no other one."""


class Context(Body):
    """A question and a budget."""

    query: Annotated[str, Meta(max_length=10_000)]
    budget: Annotated[int, Meta(ge=0, le=1_000_000)] = DEFAULT_BUDGET
    format: Word = "markdown"
    intent: Word | None = None
    types: Words = []
    scopes: Words = []
    tags: Words = []
    user: Word | None = None
    agent: Word | None = None


class Listening(Body):
    """Whether the listener can write notes through Obsidian."""

    app: Annotated[int, Meta(ge=0, le=1)] = 0


class WriteAnswer(Body):
    """What came of a `write` event."""

    applied: bool
    found: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    reason: Word = ""
