"""The parameters of the routes: bodies and queries. An unknown key is refused.

The bodies of `/v1/recall` and `/v1/context` are the requests of `vaultsync.recall.recall_request`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from vaultsync.recall.recall_request import PageSize, Priority, Word

Text: TypeAlias = Annotated[str, Meta(max_length=1_000_000)]
Words: TypeAlias = Annotated[list[Word], Meta(max_length=1_000)]
Name: TypeAlias = Annotated[Word, Meta(min_length=1)]
OneOrMore: TypeAlias = Word | Words


class EmptyBody(msgspec.Struct, forbid_unknown_fields=True):
    """An empty object."""


class ListQuery(EmptyBody):
    """The filters and the page of a list of facts."""

    type: OneOrMore | None = None
    scope: OneOrMore | None = None
    status: Word | None = None
    tag: OneOrMore | None = None
    since: Word | None = None
    until: Word | None = None
    user: Word | None = None
    all: bool = False
    limit: PageSize = 100
    after: Word | None = None


class RememberBody(EmptyBody):
    """A new fact."""

    text: Text
    type: Word | None = None
    title: Word | None = None
    scope: Word | None = None
    priority: Priority | None = None
    tags: Words = []
    entities: Words = []
    fields: dict[Word, Any] = {}


class SessionBody(EmptyBody):
    """The messages of a conversation, each with `role`, `content`, and maybe `at` and `name`."""

    messages: list[dict[Word, Any]]
    session: Name
    scope: Word | None = None
    tags: Words = []


class ObserveBody(EmptyBody):
    """An observation."""

    text: Text
    context: Word | None = None
    scope: Word | None = None


class ObservationsQuery(EmptyBody):
    """The tier of the observations that are listed."""

    tier: Word | None = None
    limit: PageSize = 50


class ProcessBody(EmptyBody):
    """Whether observations are only looked at."""

    dry_run: bool = False


class UpdateBody(EmptyBody):
    """A change of a fact."""

    content: Text | None = None
    set: dict[Word, Any] = {}
    add_tags: Words = []
    remove_tags: Words = []
    expect: Word | None = None


class EditBody(EmptyBody):
    """A change of a part of a fact's content."""

    append: Text | None = None
    section: Word | None = None
    find: Text | None = None
    replace: Text | None = None
    count: int = 1
    expect: Word | None = None


class SupersedeBody(EmptyBody):
    """The text that replaces a fact."""

    text: Text


class ExpectBody(EmptyBody):
    """The revision that the fact must still have, if given."""

    expect: Word | None = None


class AdoptBody(EmptyBody):
    """The scope and the type of the fact that a note becomes."""

    scope: Word | None = None
    type: Word | None = None


class AdoptAllBody(AdoptBody):
    """The scope and the type of the facts that notes become."""

    dry_run: bool = False


class ResolveBody(EmptyBody):
    """Which value a conflict is resolved to: that of a side, or a text made of both."""

    take: Annotated[str, Meta(pattern="^(store|vault)$")] | None = None
    field: Word | None = None
    text: Text | None = None
    agent: Word | None = None
    """Who resolves it; a bridge of one agent refuses any other."""


class SettleCopyBody(EmptyBody):
    """What becomes of a conflict copy."""

    path: Word
    """Of the copy, in the vault."""
    take: Annotated[str, Meta(pattern="^(merge|keep|drop)$")]
    agent: Word | None = None
    """Who decides; a bridge of one agent refuses any other."""


class ProposalsQuery(EmptyBody):
    """Which proposals are listed."""

    settled: bool = False
    """Those that are answered or expired, too."""


class AnswerBody(EmptyBody):
    """Who answers a proposal, and what else is answered so."""

    also: Words = []
    """The ids of more proposals, in the same run."""
    agent: Word | None = None
    """Who answers; a bridge of one agent refuses any other."""


class UndoBody(EmptyBody):
    """What to undo a run as."""

    agent: Word | None = None
    """Who undoes it; a bridge of one agent refuses any other."""


class MaintainBody(EmptyBody):
    """What maintenance may do."""

    dry_run: bool = False
    max_delete: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    confirm: Word | None = None


class SyncBody(MaintainBody):
    """What a run may do."""

    allow_scope_moves: bool = False


class EventsQuery(EmptyBody):
    """Whether the listener can write notes through Obsidian: 1 or 0."""

    app: Annotated[int, Meta(ge=0, le=1)] = 0


class WriteResultBody(EmptyBody):
    """The outcome of a `write` event."""

    applied: bool
    found: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    reason: Word = ""


class RepoContextBody(EmptyBody):
    """What the context of a step in a git repository is about."""

    repo: Name
    """The path of a folder in it, or its hash; so also below."""
    max_chars: Annotated[int, Meta(ge=1, le=200_000)] = 8_000
    paths: Words | None = None
    """The open files; those with changes that are not committed when it is null."""


class PromoteBody(EmptyBody):
    """Which facts of a git repository hold on a branch for good."""

    repo: Name
    source: Name | None = None
    """Only those of this branch."""
    target: Name | None = None
    """The branch; that which is checked out when it is null."""


class CopyBody(EmptyBody):
    """The branch whose facts are to hold on another one, too."""

    repo: Name
    source: Name
    target: Name
