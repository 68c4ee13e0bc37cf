"""The command line with a fake memory, whose answers a test chooses."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Self
from unittest import mock

from click.testing import CliRunner, Result
from msgspec import structs

from vaultsync.api.memory import Memory
from vaultsync.api.obsidian_views import GraphColours
from vaultsync.cli.main import cli
from vaultsync.context_packs.pack import ContextPack, LeftOut, PackedItem
from vaultsync.facts.listing import FactPage
from vaultsync.facts.service import ForgetResult
from vaultsync.facts.written_facts import Comparison
from vaultsync.graph.model import build_graph
from vaultsync.graph.service import GraphExport, find_node, neighborhood
from vaultsync.graph.stats import graph_stats
from vaultsync.memory_files.report import (
    AddResult,
    FileResult,
    ManagedFile,
    SectionResult,
    counts_of,
    report_of_files,
)
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict
from vaultsync.notes.proposal_note import ShownChange, ShownProposal
from vaultsync.operations.check_links import LinkProblem, LinkReport
from vaultsync.proposals.service import SettledProposals
from vaultsync.recall.result import Hit, RecallResult
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.report import (
    REPORT_COUNTS,
    ActionTaken,
    Difference,
    DoctorCheck,
    ManagedFact,
    Report,
    ReportedNotice,
    RunSummary,
    Status,
    proof_of,
)

ID = "01a1fd60-1a69-7519-9d31-4f851abc2190"
RUN = "01a1fd60-2f48-7295-9528-7c812ae42a9d"
NOTE = VaultPath("public/decisions/2026-02-14-use-sqlite.md")

FACT = Fact(
    ID,
    type="decision",
    title="Use SQLite",
    content="It is embedded.\n\nIt is fast.",
    priority=1,
    tags=("storage",),
    own={"decisionOutcome": "implemented"},
    properties={"cssclasses": ["wide"]},
    created_at="2026-02-14T13:45:00Z",
    path=NOTE,
    revision="3-70b39ef6",
)
CONFLICT = ConflictRecord(
    "0123456789abcdef",
    ID,
    NOTE,
    VaultPath("public/decisions/2026-02-14-use-sqlite.conflict.md"),
    (FieldConflict("title", "Use SQLite", "Use SQLite3", "Use DuckDB"),),
    "indy",
    "2026-02-14T13:45:00Z",
    RUN,
    title="Use SQLite3",
)
NOTICE = ReportedNotice("UnreadableNoteError", "public/bad.md", 3, "bad YAML", "close the quote")


def counts(**some: int) -> dict[str, int]:
    return {**dict.fromkeys(REPORT_COUNTS, 0), **some}


LAST_RUN = RunSummary(RUN, "2026-02-14T13:45:00Z", "sync", counts(created_in_vault=3))
QUIET = Report(RUN, dry_run=False, seconds=0.01, counts=counts(unchanged=7))
BUSY_PASS = Report(
    RUN,
    dry_run=False,
    seconds=0.25,
    counts=counts(created_in_vault=3, updated_in_store=1),
    actions=[
        ActionTaken("create_note", ID, NOTE, (), "new in the store"),
        ActionTaken("update_store", ID, None, ("title", "tags"), "edited by a person"),
    ],
)
CALM = Status(7, 7, 0, 0, (), 0, None, "idle")

ALICE = make_fact(
    {
        "id": "0193f6c2-0000-7000-8000-000000000001",
        "type": "person",
        "title": "Alice",
        "reports_to": ["[[Bob]]"],
    }
).evolve(path=VaultPath("public/people/Alice.md"))
TEA = make_fact(
    {"id": "0193f6c2-0000-7000-8000-000000000002", "title": "Tea", "content": "with [[Alice]]"}
).evolve(path=VaultPath("public/notes/Tea.md"))
LONE = make_fact({"id": "0193f6c2-0000-7000-8000-000000000003", "title": "Lone"})
GRAPH = build_graph([ALICE, TEA, LONE])
GRAPH_TEXT = '{\n "nodes": []\n}\n'
LINK_PROBLEM = LinkProblem(
    VaultPath("public/notes/Tea.md"),
    7,
    "[[Al]]",
    "wiki",
    None,
    "it is an alias of public/people/Alice.md; links follow file names",
    (VaultPath("public/people/Alice.md"),),
    "[[Alice|Al]]",
)
FINE_LINKS = LinkReport(notes=2, links={"wiki": {"name": 3}})

CITED, BECAUSE = "public/decisions/use-sqlite.md#Use SQLite", "critical decision; has “sqlite”"
ITEM = PackedItem("a1", 700, "critical", BECAUSE, CITED, "Use\x1b[31m SQLite")
PACK = ContextPack(
    text="# Context: why?\n\n## Critical\n\n### Use SQLite\n\nIt is\x1b[31m embedded.",
    tokens=712,
    budget=800,
    by_tier={"critical": 700, "notable": 0, "background": 0, "entities": 0},
    items=(ITEM,),
    left_out=tuple(LeftOut(f"b{n}", 1_000 + n, "no space left", f"Fact {n}") for n in range(12)),
    truncated=True,
    intent="balanced",
    format="markdown",
    counter="estimate",
    degraded=("Semantic search is unavailable: there is no model.",),
)
WHY, SNIPPET = "Has “sqlite” and “fast”.", "It is embedded."
HIT = Hit(ID, FACT.title, FACT.type, NOTE, 0.81, 0.9, 0.7, 0.5, "index", WHY, SNIPPET)
FOUND = RecallResult("why sqlite?", "index", 0.83, 0.9, (), 0.004, (HIT,), ())

PROPOSAL = ShownProposal(
    "0123456789abcdef",
    "duplicates",
    "Merge “Use SQLite” and “SQLite it is”",
    VaultPath("public/decisions/2026-02-14-use-sqlite.proposal.md"),
    "2026-02-14T13:45:00Z",
    "2026-03-16T13:45:00Z",
    (
        ShownChange(
            ID, NOTE, FACT.title, {"content": "It is fast."}, {"content": "It is embedded."}
        ),
        ShownChange(RUN, None, "SQLite it is", {"content": "It is embedded."}, None),
        ShownChange(RUN, None, "A third one", {}, {"content": "It is small."}),
    ),
    "They say nearly the same.",
    "duplicates",
)

FILE = "~/work/MEMORY.md"
SECTIONS = [
    SectionResult("update", ID, "Tests", 7, ("content",), "changed in the file"),
    SectionResult("let_go", ID, "People", None, (), "removed from the file"),
]
FILE_REPORT = report_of_files(
    [
        FileResult(
            FILE,
            4,
            counts_of(SECTIONS, 3),
            SECTIONS,
            pending=[ID],
            left_out=2,
            written=1,
            short=["Next", "x"],
        )
    ],
    seconds=0.25,
)
MANAGED = ManagedFile(
    name=FILE,
    status="written",
    dry_run=False,
    host="claude-code",
    form="full",
    tokens=1_431,
    budget=2_000,
    counter="estimate",
    bytes=7_120,
    max_bytes=25_000,
    lines=181,
    max_lines=200,
    included=[ManagedFact(ID, "Tests", "public/facts/tests.md")],
    left_out=[ManagedFact(ID, "People", None, "the file may have 200 lines")],
)
QUIET_FILE = report_of_files([FileResult(FILE, 3, counts_of((), 3))])

ANSWERS: Mapping[str, Any] = {
    **dict.fromkeys(("remember", "get", "update", "supersede"), FACT),
    **dict.fromkeys(("sync", "adopt", "undo", "rebuild", "maintain"), QUIET),
    "list": FactPage((FACT,), ID),
    "is_note_deleted": False,
    "why_note_waits": "",
    "forget": ForgetResult(ID, "forgotten"),
    "restore": ForgetResult(ID, "active"),
    "waits": False,
    "compare": Comparison(),
    "export": 0,
    "damaged_facts": {},
    "import_": lambda lines: len(list(lines)),
    "log": (LAST_RUN,),
    "last_undoable_run": LAST_RUN,
    "edit": FACT,
    "status": CALM,
    "conflicts": (),
    "conflict_copies": [],
    "resolve": CONFLICT,
    "proposal": PROPOSAL,
    "proposals": (),
    "accept_proposals": SettledProposals(
        (structs.replace(PROPOSAL, outcome="accepted", run=RUN),), RUN
    ),
    "reject_proposals": SettledProposals((structs.replace(PROPOSAL, outcome="rejected"),)),
    "history": [
        HistoryEntry(RUN, "2026-02-14T13:45:00Z", ID, "vault", "person", "tags", [], ["a"])
    ],
    "verify": proof_of(7),
    "graph_export": GraphExport(GRAPH_TEXT, "json", 3, 2),
    "graph_stats": graph_stats(GRAPH),
    "graph_neighbors": neighborhood(GRAPH, find_node(GRAPH, "Alice"), 2),
    "graph_colours": GraphColours("/v/.obsidian/graph.json", changed=True),
    "links_check": FINE_LINKS,
    "answer": FOUND,
    "pack": PACK,
    "sync_memory_file": QUIET_FILE,
    "manage_memory_file": MANAGED,
    "add_to_memory_file": AddResult(FILE, "Lessons", "written"),
    "doctor": (DoctorCheck("python", ok=True, message="Python 3.14"),),
}
"""The default answer of each method: no problems."""

DIFFERENCE = Difference(ID, NOTE, "title", "a", "b", None, "the sides differ")
BAD_CHECK = DoctorCheck("space", ok=False, message="the disk is full", hint="make room")


class FakeMemory:
    """A memory with fixed answers, which refuses calls that the real `Memory` does not take."""

    is_empty = False

    def __init__(self, **answers: object) -> None:
        self.answers = {**ANSWERS, **answers}
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.opened: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.calls.append(("close", (), {}))

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name not in self.answers:
            raise AttributeError(name)
        signature = inspect.signature(getattr(Memory, name))

        def call(*args: object, **named: object) -> object:
            signature.bind(self, *args, **named)
            self.calls.append((name, args, named))
            answer: Any = self.answers[name]
            if isinstance(answer, BaseException):
                raise answer
            return answer(*args, **named) if callable(answer) else answer

        return call

    def call(self, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the only call of a method."""
        ((_, args, named),) = [each for each in self.calls if each[0] == name]
        return args, named


def run(
    *words: str,
    memory: FakeMemory | None = None,
    stdin: str | bytes | None = None,
    env: Mapping[str, str | None] | None = None,
    color: bool = False,
) -> Result:
    """Run a command on a memory, without the caller's environment."""
    held = memory or FakeMemory()

    def opened(path: str | None = None, **named: object) -> FakeMemory:
        held.opened = {"path": path, **named}
        if isinstance(held.answers.get("open"), Exception):
            raise held.answers["open"]
        return held

    names = ("VAULT", "STATE_DIR", "AGENT")
    clear: dict[str, str | None] = {f"VAULTSYNC_{name}": None for name in names}
    runner = CliRunner(env={**clear, "NO_COLOR": None, "TERM": "xterm", **(env or {})})
    with (
        mock.patch("vaultsync.api.opening.open", opened),
        mock.patch("vaultsync.api.read_only.open_read_only", opened),
    ):
        return runner.invoke(
            cli, list(words), input=stdin, color=color, prog_name="vaultsync", terminal_width=80
        )


def one_object(result: Result) -> dict[str, Any]:
    """The single JSON object that stdout consists of."""
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found
