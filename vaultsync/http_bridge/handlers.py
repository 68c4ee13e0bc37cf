"""The routes of the bridge: each handler is one call of `Memory`.

A handler says how it is reached by `@route`. Its docstring is the summary, its annotations are
what the route takes and returns: the OpenAPI document and the reference are made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from msgspec import Struct, json, structs, to_builtins

from vaultsync.api.memory import Memory
from vaultsync.api.obsidian_views import GraphColours
from vaultsync.context_packs.pack import ContextPack
from vaultsync.errors import IndexFileNotFoundError, InvalidFieldError
from vaultsync.exchange.session_messages import RememberedSession
from vaultsync.facts.listing import PublicPage, public_page
from vaultsync.facts.related import Related
from vaultsync.facts.service import ForgetResult
from vaultsync.facts.written_facts import ChangedFact, NewFact, public_changed, public_new
from vaultsync.http_bridge import requests as bodies
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact
from vaultsync.model.serialization import PublicFact, public_values
from vaultsync.modules.report import ModuleStatus, ModuleSyncReport
from vaultsync.observations.observation_lists import Observations, ShownObservation
from vaultsync.observations.processing import ProcessReport
from vaultsync.observations.service import Observed
from vaultsync.operations.check_links import LinkReport
from vaultsync.proposals.service import SettledProposals
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.result import RecallResult
from vaultsync.repos.branch_runs import Copied, Promotion
from vaultsync.repos.repo_context import RepoContext
from vaultsync.service.bridge_service import BridgeServices, BridgeStatus
from vaultsync.sync.report import (
    ConflictsAndCopies,
    History,
    MaintenanceReport,
    Proposals,
    Report,
    ResolveResult,
    Verification,
    conflicts_and_copies,
    history_of,
    resolved_conflict,
)

EVENTS_PATH = "/v1/events"
"""A route that is not in the table: its answer does not end. See `bridge_server.py`."""
METRICS_PATH = "/metrics"
"""A route that is not in the table: its answer is text for Prometheus."""

Handler = TypeVar("Handler", bound=Callable[..., object])
RunReport = TypeVar("RunReport", bound=Report)


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One row of the table of routes."""

    method: str
    path: str
    """With at most one name in braces, which `handler` is given."""
    name: str
    """Unique; the id of the operation."""
    summary: str
    takes: type[Struct]
    """The query of a GET, else the body."""
    answers: type
    """A struct, or a typed dict."""
    handler: Callable[..., object]

    def call(self, bridge: BridgeServices, name: str, body: Struct) -> object:
        """What the handler returns for a request. It may wait: call it in a thread."""
        names = [name] if "{" in self.path else []
        return self.handler(bridge, *names, *([] if self.takes is bodies.EmptyBody else [body]))


_rows: list[RouteRow] = []


def route(method: str, path: str, *, name: str = "") -> Callable[[Handler], Handler]:
    """Add a handler to the table of routes, by the name of the function unless one is given."""

    def add(handler: Handler) -> Handler:
        hints = get_type_hints(handler)
        summary = re.sub(r"\s+", " ", (handler.__doc__ or "").partition("\n\n")[0])
        takes, answers = hints.get("body", bodies.EmptyBody), hints["return"]
        own = name or handler.__name__
        _rows.append(RouteRow(method, path, own, summary, takes, answers, handler))
        return handler

    return add


def answer_schemas(answers: Iterable[type], ref: str) -> dict[str, dict[str, Any]]:
    """The JSON Schema of some answers and of what is in them, by the names of their classes.

    A field with a default is always sent, so it is required; but for the stages of a recall
    that was not asked to explain itself, and for the older version of a fact that has none.
    """
    found: dict[str, dict[str, Any]] = json.schema_components(answers, ref_template=ref)[1]
    optional = {
        (RecallResult.__name__, "stages"),
        (RecallResult.__name__, "nothing_known"),
        (ForgetResult.__name__, "previous"),
    }
    for name, schema in found.items():
        for key, each in schema.get("properties", {}).items():
            if "default" in each and (name, key) not in optional:
                del each["default"]
                schema.setdefault("required", []).append(key)
    return dict(sorted(found.items()))


# --------------------------------------------------------------------------------- facts


class FreshId(Struct, frozen=True):
    """An id that nothing has."""

    id: str


@route("GET", "/v1/facts", name="list")
def list_facts(bridge: BridgeServices, body: bodies.ListQuery) -> PublicPage:
    """List facts by id, one page at a time."""
    if body.after is not None:
        check_id(body.after)  # `list()` also takes other names
    return public_page(bridge.reading(lambda memory: memory.list(**structs.asdict(body))))


@route("POST", "/v1/facts")
def remember(bridge: BridgeServices, body: bodies.RememberBody) -> NewFact:
    """Store a new fact."""
    values = structs.asdict(body)
    text = values.pop("text")

    def write(memory: Memory) -> NewFact:
        fact = memory.remember(text, **values)
        return public_new(fact, memory.compare(fact))

    return bridge.writing(write)


@route("POST", "/v1/sessions")
def remember_messages(bridge: BridgeServices, body: bodies.SessionBody) -> RememberedSession:
    """Store the messages of a conversation, one fact per message, each only once."""
    values = structs.asdict(body)
    messages = values.pop("messages")
    return bridge.writing(lambda memory: memory.remember_messages(messages, **values))


@route("POST", "/v1/observations")
def observe(bridge: BridgeServices, body: bodies.ObserveBody) -> Observed:
    """Store an observation, to be classified later."""
    return bridge.writing(lambda memory: memory.observe(**structs.asdict(body)))


@route("GET", "/v1/observations")
def observations(bridge: BridgeServices, body: bodies.ObservationsQuery) -> Observations:
    """List observations, newest first."""
    rows = bridge.reading(lambda memory: memory.observations(**structs.asdict(body)))
    return Observations(rows)


@route("GET", "/v1/observations/{id}")
def observation(bridge: BridgeServices, fact_id: str) -> ShownObservation:
    """Read an observation with its original text and the reason for its tier."""
    return bridge.reading(lambda memory: memory.observation(fact_id))


@route("POST", "/v1/observations/process")
def process_observations(bridge: BridgeServices, body: bodies.ProcessBody) -> ProcessReport:
    """Classify the pending observations."""
    return _run(bridge, lambda memory: memory.process_observations(dry_run=body.dry_run))


@route("GET", "/v1/facts/{id}")
def get(bridge: BridgeServices, fact_id: str) -> PublicFact:
    """Read one fact."""
    return public_values(bridge.reading(lambda memory: memory.get(fact_id)))


@route("PATCH", "/v1/facts/{id}")
def update(bridge: BridgeServices, fact_id: str, body: bodies.UpdateBody) -> ChangedFact:
    """Change a fact."""
    changes = structs.asdict(body)
    return bridge.writing(lambda memory: _changed(memory, memory.update(fact_id, **changes)))


@route("POST", "/v1/facts/{id}/edit")
def edit(bridge: BridgeServices, fact_id: str, body: bodies.EditBody) -> ChangedFact:
    """Change part of a fact's content."""
    changes = structs.asdict(body)
    return bridge.writing(lambda memory: _changed(memory, memory.edit(fact_id, **changes)))


def _changed(memory: Memory, fact: Fact) -> ChangedFact:
    return public_changed(fact, memory.compare(fact))


@route("POST", "/v1/facts/{id}/supersede")
def supersede(bridge: BridgeServices, fact_id: str, body: bodies.SupersedeBody) -> PublicFact:
    """Store a new fact that replaces an older one."""
    return public_values(bridge.writing(lambda memory: memory.supersede(fact_id, body.text)))


@route("POST", "/v1/facts/{id}/forget")
def forget(bridge: BridgeServices, fact_id: str, body: bodies.ExpectBody) -> ForgetResult:
    """Delete a fact and its note."""
    return bridge.writing(lambda memory: memory.forget(fact_id, expect=body.expect))


@route("POST", "/v1/facts/{id}/restore")
def restore(bridge: BridgeServices, fact_id: str, body: bodies.ExpectBody) -> ForgetResult:
    """Restore a deleted fact."""
    return bridge.writing(lambda memory: memory.restore(fact_id, expect=body.expect))


@route("GET", "/v1/facts/{id}/history")
def history(bridge: BridgeServices, fact_id: str) -> History:
    """List the changes of a fact: who changed which field, and when."""
    return history_of(bridge.reading(lambda memory: memory.history(fact_id)))


@route("GET", "/v1/facts/{id}/related")
def related(bridge: BridgeServices, fact_id: str) -> Related:
    """List the facts that a fact links to, and those that link to it."""
    return bridge.reading(lambda memory: memory.related(fact_id))


@route("POST", "/v1/ids")
def ids(bridge: BridgeServices) -> FreshId:
    """Create a new id that no fact has."""
    return FreshId(bridge.reading(lambda memory: memory.new_id()))


# ---------------------------------------------------------------------------------- sync


class Nothing(Struct, frozen=True):
    """An empty object."""


@route("GET", "/v1/status")
def status(bridge: BridgeServices) -> BridgeStatus:
    """Report what is pending and what is wrong."""
    return bridge.reading(bridge.state)


def metrics(bridge: BridgeServices) -> str:
    """Counters for Prometheus, in its text format."""
    return bridge.reading(lambda memory: memory.modules.metrics())


@route("POST", "/v1/sync")
def sync(bridge: BridgeServices, body: bodies.SyncBody) -> Report:
    """Sync the vault and the store once."""
    return _run(bridge, lambda memory: memory.sync(**structs.asdict(body)))


@route("POST", "/v1/maintain")
def maintain(bridge: BridgeServices, body: bodies.MaintainBody) -> MaintenanceReport:
    """Delete expired and faded facts, and shorten long version chains."""
    return _run(bridge, lambda memory: memory.maintain(**structs.asdict(body)))


@route("POST", "/v1/adopt")
def adopt_all(bridge: BridgeServices, body: bodies.AdoptAllBody) -> Report:
    """Turn all notes that are not facts yet into facts."""
    return _run(bridge, lambda memory: memory.adopt(**structs.asdict(body)))


@route("POST", "/v1/facts/{id}/adopt")
def adopt(bridge: BridgeServices, note_id: str, body: bodies.AdoptBody) -> Report:
    """Turn the note with this id into a fact."""
    return _run(bridge, lambda memory: memory.adopt_id(note_id, **structs.asdict(body)))


@route("POST", "/v1/runs/{run}/undo")
def undo(bridge: BridgeServices, run: str, body: bodies.UndoBody) -> Report:
    """Undo a run."""
    agent = bridge.asks(body.agent)
    return _run(bridge, lambda memory: memory.undo(run, agent=agent))


def _run(bridge: BridgeServices, work: Callable[[Memory], RunReport]) -> RunReport:
    """Have the engine do it; all listeners get the report too, unless nothing was done."""
    report = bridge.engine(work)
    if not (report.dry_run or report.quiet):
        bridge.on_run(to_builtins(report))
    return report


@route("GET", "/v1/verify")
def verify(bridge: BridgeServices) -> Verification:
    """Check that vault, store and base are equal."""
    return bridge.engine(lambda memory: memory.verify())


@route("GET", "/v1/conflicts")
def conflicts(bridge: BridgeServices) -> ConflictsAndCopies:
    """List the open conflicts, and the conflict copies of sync tools."""
    return bridge.reading(
        lambda memory: conflicts_and_copies(memory.conflicts(), memory.conflict_copies())
    )


@route("POST", "/v1/copies/settle")
def settle_copy(bridge: BridgeServices, body: bodies.SettleCopyBody) -> Report:
    """Merge a conflict copy of a sync tool into its note, keep it as a note, or drop it."""
    agent = bridge.asks(body.agent)
    return bridge.engine(lambda memory: memory.settle_copy(body.path, take=body.take, agent=agent))


@route("POST", "/v1/conflicts/{id}/resolve")
def resolve(bridge: BridgeServices, conflict_id: str, body: bodies.ResolveBody) -> ResolveResult:
    """Resolve a conflict: take a side, or set one of its fields to a text.

    Raises:
        InvalidFieldError: neither a side nor a text was given, or both.
    """
    take, field, text = body.take, body.field, body.text
    agent = bridge.asks(body.agent)
    if text is not None and field is not None and take is None:
        resolved = bridge.engine(
            lambda memory: memory.resolve_by_hand(conflict_id, field=field, text=text, agent=agent)
        )
    elif take is not None and text is None:
        resolved = bridge.engine(
            lambda memory: memory.resolve(conflict_id, take=take, field=field, agent=agent)
        )
    else:
        raise InvalidFieldError("take", take, "a side, or `field` and `text` instead of one")
    left = bridge.reading(lambda memory: memory.conflicts())
    return resolved_conflict(resolved, left)


@route("GET", "/v1/proposals")
def proposals(bridge: BridgeServices, body: bodies.ProposalsQuery) -> Proposals:
    """List open proposals."""
    return Proposals(bridge.reading(lambda memory: memory.proposals(settled=body.settled)))


@route("POST", "/v1/proposals/{id}/accept")
def accept_proposals(
    bridge: BridgeServices, proposal_id: str, body: bodies.AnswerBody
) -> SettledProposals:
    """Accept one or more proposals in one run."""
    ids, agent = [proposal_id, *body.also], bridge.asks(body.agent)
    return bridge.engine(lambda memory: memory.accept_proposals(ids, agent=agent))


@route("POST", "/v1/proposals/{id}/reject")
def reject_proposals(
    bridge: BridgeServices, proposal_id: str, body: bodies.AnswerBody
) -> SettledProposals:
    """Reject one or more proposals."""
    ids, agent = [proposal_id, *body.also], bridge.asks(body.agent)
    return bridge.engine(lambda memory: memory.reject_proposals(ids, agent=agent))


@route("POST", "/v1/links/fix")
def fix_links(bridge: BridgeServices) -> LinkReport:
    """Fix the broken links that have only one possible target."""
    return bridge.engine(lambda memory: memory.links_check(fix=True))


@route("POST", "/v1/writes/{write}")
def write(bridge: BridgeServices, write_id: str, body: bodies.WriteResultBody) -> Nothing:
    """Answer a `write` event."""
    bridge.answer(write_id, applied=body.applied, found=body.found, reason=body.reason)
    return Nothing()


# ------------------------------------------------------------------ repositories, modules


class ModuleFolders(Struct, frozen=True):
    """The folders of modules that the vault has worked with."""

    folders: list[ModuleStatus]


class ModuleSyncs(Struct, frozen=True):
    """What came of the sync of each folder of modules."""

    folders: list[ModuleSyncReport]


@route("POST", "/v1/repo/context")
def repo_context(bridge: BridgeServices, body: bodies.RepoContextBody) -> RepoContext:
    """Pack what applies to the branch of a git repository."""
    return bridge.reading(lambda memory: memory.repos.context(**structs.asdict(body)))


@route("POST", "/v1/repo/promote")
def repo_promote(bridge: BridgeServices, body: bodies.PromoteBody) -> Promotion:
    """Promote the facts that apply to a branch of a git repository after a merge."""
    return bridge.engine(lambda memory: memory.repos.promote(**structs.asdict(body)))


@route("POST", "/v1/repo/copy")
def repo_copy(bridge: BridgeServices, body: bodies.CopyBody) -> Copied:
    """Make the facts of one branch of a git repository apply to another branch as well."""
    return bridge.engine(lambda memory: memory.repos.copy(**structs.asdict(body)))


@route("GET", "/v1/modules")
def modules(bridge: BridgeServices) -> ModuleFolders:
    """List the modules that the remote does not have yet."""
    return ModuleFolders(bridge.reading(lambda memory: memory.modules.all_statuses()))


@route("POST", "/v1/modules/sync")
def sync_modules(bridge: BridgeServices) -> ModuleSyncs:
    """Sync all known modules with their facts and the remote."""
    return ModuleSyncs(bridge.engine(lambda memory: memory.modules.sync_known()))


# --------------------------------------------------------------------------------- recall


class IndexFile(Struct, frozen=True):
    """A file of `.index/`."""

    name: str
    bytes: int


class IndexFiles(Struct, frozen=True):
    """The files of `.index/`."""

    files: list[IndexFile]


class IndexText(Struct, frozen=True):
    """The text of a file of `.index/`."""

    name: str
    text: str


class GraphJson(Struct, frozen=True):
    """The graph of the memory, as `graph export` writes it."""

    nodes: list[dict[str, Any]]
    links: list[dict[str, Any]]


@route("POST", "/v1/recall")
def recall(bridge: BridgeServices, body: RecallRequest) -> RecallResult:
    """Find the facts that answer a question."""
    request = structs.replace(body, agent=bridge.asks(body.agent))
    return bridge.reading(lambda memory: memory.answer(request))


@route("POST", "/v1/context")
def context(bridge: BridgeServices, body: ContextRequest) -> ContextPack:
    """Pack the facts that answer a question into a token budget."""
    request = structs.replace(body, agent=bridge.asks(body.agent))
    return bridge.reading(lambda memory: memory.pack(request))


@route("GET", "/v1/index")
def index(bridge: BridgeServices) -> IndexFiles:
    """List the files of `.index/`."""
    files = bridge.reading(lambda memory: memory.index_files())
    return IndexFiles([IndexFile(name, len(text.encode())) for name, text in files.items()])


@route("GET", "/v1/index/{name}")
def index_file(bridge: BridgeServices, name: str) -> IndexText:
    """Read one file of `.index/`.

    Raises:
        IndexFileNotFoundError: there is none of that name.
    """
    files = bridge.reading(lambda memory: memory.index_files())
    if name not in files:
        raise IndexFileNotFoundError(name)
    return IndexText(name, files[name])


@route("GET", "/v1/graph")
def graph(bridge: BridgeServices) -> GraphJson:
    """Export the graph of the memory."""
    export = bridge.reading(lambda memory: memory.graph_export(format="json"))
    return json.decode(export.text, type=GraphJson)


@route("POST", "/v1/graph/colours")
def graph_colours(bridge: BridgeServices) -> GraphColours:
    """Set a colour for each type of fact in Obsidian's graph view."""
    return bridge.reading(lambda memory: memory.graph_colours())


ROUTES = tuple(_rows)
"""All routes but `GET /v1/events` and `GET /metrics`."""
