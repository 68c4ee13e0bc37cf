"""What the routes answer, as the OpenAPI document tells it and tests hold it.

Answers are made of the values of the engine, never of these; a test reads them back.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType


class Shape(msgspec.Struct, kw_only=True):
    """A JSON object."""


class Trouble(Shape):
    """What went wrong."""

    kind: str
    message: str
    hint: str
    run: str | UnsetType = UNSET


class Failure(Shape):
    """An error."""

    error: Trouble


class Fact(Shape):
    """A fact: what is set of it, under the keys of frontmatter."""

    id: str
    path: str | None
    revision: str
    type: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    entities: list[str] | UnsetType = UNSET
    createdAt: str | UnsetType = UNSET  # noqa: N815 - as in frontmatter
    updatedAt: str | UnsetType = UNSET  # noqa: N815 - as in frontmatter


class NewFact(Fact, kw_only=True):
    """A fact that was remembered; without a note yet it has no path."""

    mirrored: bool


class Facts(Shape):
    """A page of facts."""

    facts: list[Fact]
    next: str | None


class Forgotten(Shape):
    """A fact that was deleted or brought back."""

    id: str
    status: Annotated[str, Meta(pattern="^(forgotten|active)$")]


class Change(Shape):
    """One change of one field."""

    run: str
    at: str
    side: str
    actor: str
    field: str
    before: Any
    after: Any


class History(Shape):
    """The changes of a fact, oldest first."""

    history: list[Change]


class Named(Shape):
    """A fact by its name."""

    id: str
    title: str
    path: str | None


class Link(Named):
    """A fact of a chain."""

    createdAt: str  # noqa: N815 - as in frontmatter


class Signals(Shape):
    """What is kept out of the note."""

    accessCount: int  # noqa: N815 - as in frontmatter
    lastAccessedAt: str | None  # noqa: N815 - the same
    decayFactor: float | None  # noqa: N815 - the same
    importance: float | None
    utility: float


class Related(Shape):
    """What stands around a fact."""

    backlinks: list[Named]
    related: list[Named]
    chain: list[Link]
    signals: Signals


class Id(Shape):
    """A fresh id."""

    id: str


class Notice(Shape):
    """What waits for a person."""

    kind: str
    path: str | None
    line: int | None
    message: str
    hint: str


class LastError(Trouble, kw_only=True):
    """What failed last, and when."""

    at: str


class Daemon(Shape):
    """What a daemon tells of itself."""

    since: str
    watcher: str
    watcher_trouble: str
    store_away: str
    lag_seconds: float
    passes: int
    waiting: int
    conflicts: int
    attention: int
    failing: bool
    last_error: LastError | None


class Status(Shape):
    """What waits and what is wrong."""

    facts: int
    notes: int
    pending: int
    conflicts: int
    attention: list[Notice]
    outbox: int
    last_run: dict[str, Any] | None
    engine: str
    foreign: int
    daemon: Daemon | None
    vault_id: str
    version: str
    app_connected: bool


class Action(Shape):
    """One line of a report."""

    action: str
    fact_id: str
    path: str | None
    fields: list[str]
    reason: str


class Report(Shape):
    """What a pass did."""

    run: str
    dry_run: bool
    seconds: float
    counts: dict[str, int]
    actions: list[Action]
    attention: list[Notice]


class FieldConflict(Shape):
    """One thing that both sides changed differently."""

    field: str
    base: Any
    vault: Any
    store: Any


class Conflict(Shape):
    """What both sides changed differently about one fact."""

    id: str
    fact_id: str
    path: str
    conflict_path: str | None
    fields: list[FieldConflict]


class Conflicts(Shape):
    """The open conflicts."""

    conflicts: list[Conflict]


class Resolved(Conflicts):
    """The conflicts that are left, and the one that was settled."""

    resolved: Conflict


class Difference(Shape):
    """One thing that is not equal."""

    fact_id: str
    path: str | None
    field: str
    vault: Any
    store: Any
    base: Any
    why: str


class Verification(Shape):
    """The proof that vault = store = base."""

    equal: bool
    checked: int
    differences: list[Difference]
    held: list[Difference]


class LinkProblem(Shape):
    """A link that Obsidian cannot follow, or not for sure."""

    path: str
    line: int
    link: str
    kind: str
    property: str | None
    why: str
    candidates: list[str]
    fix: str | None


class Links(Shape):
    """The links of all notes, and which of them were mended."""

    broken: list[LinkProblem]
    ambiguous: list[LinkProblem]
    alias_only: list[LinkProblem]
    fixed: list[LinkProblem]
    notes: int
    tags: int
    links: dict[str, dict[str, int]]
    unreadable: list[str]
    run: str | None


class Hit(Shape):
    """A fact that was found, and why."""

    id: str
    title: str
    type: str
    path: str | None
    score: float
    similarity: float
    recency: float
    utility: float
    stage: str
    why: str
    snippet: str


class Recall(Shape):
    """An answer."""

    query: str
    source: str
    confidence: float
    degraded: list[str]
    seconds: float
    hits: list[Hit]
    stages: list[dict[str, Any]] | UnsetType = UNSET


class Item(Shape):
    """A fact that was packed."""

    id: str
    tokens: int
    tier: str
    reason: str
    citation: str
    title: str
    cut: bool


class LeftOut(Shape):
    """A fact that was not packed."""

    id: str
    tokens: int
    reason: str
    title: str


class Context(Shape):
    """A context pack."""

    text: str
    tokens: int
    budget: int
    by_tier: dict[str, int]
    items: list[Item]
    left_out: list[LeftOut]
    truncated: bool
    intent: str
    format: str
    counter: str
    degraded: list[str]


class IndexFile(Shape):
    """A file of `.index/`."""

    name: str
    bytes: int


class IndexFiles(Shape):
    """The files of `.index/`."""

    files: list[IndexFile]


class IndexText(Shape):
    """The text of a file of `.index/`."""

    name: str
    text: str


class Graph(Shape):
    """The graph of the memory."""

    nodes: list[dict[str, Any]]
    links: list[dict[str, Any]]


class Colours(Shape):
    """Obsidian's settings of its graph view."""

    path: str
    changed: bool


class Nothing(Shape):
    """An empty object."""
