# The public names, for type checkers: `__init__.py` loads each when it is first used.

from vaultsync import errors
from vaultsync.api.exchange import ExportReport
from vaultsync.api.memory import Memory
from vaultsync.api.opening import Initialised, init, open  # noqa: A004 - what its users say
from vaultsync.context_packs.pack import ContextPack, LeftOut, PackedItem
from vaultsync.errors import VaultsyncError
from vaultsync.exchange.service import ImportReport
from vaultsync.exchange.session_messages import RememberedSession
from vaultsync.facts.listing import FactPage
from vaultsync.facts.related import Related
from vaultsync.facts.service import ForgetResult
from vaultsync.graph.service import GraphExport, Neighborhood
from vaultsync.memory_files.report import AddResult, MemoryFileReport
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import HiddenMatches
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict
from vaultsync.notes.proposal_note import ShownChange, ShownProposal
from vaultsync.observations.processing import ProcessReport
from vaultsync.observations.service import Observed
from vaultsync.operations.purge import FoundTrace, PurgeReport
from vaultsync.proposals.service import SettledProposals
from vaultsync.recall.result import Hit, RecallResult
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.report import (
    ActionTaken,
    Difference,
    MaintenanceReport,
    Report,
    ReportedNotice,
    RunSummary,
    Status,
    Verification,
)

__version__: str

__all__ = [
    "ActionTaken",
    "AddResult",
    "ConflictRecord",
    "ContextPack",
    "Difference",
    "ExportReport",
    "Fact",
    "FactPage",
    "FieldConflict",
    "ForgetResult",
    "FoundTrace",
    "GraphExport",
    "HiddenMatches",
    "HistoryEntry",
    "Hit",
    "ImportReport",
    "Initialised",
    "LeftOut",
    "MaintenanceReport",
    "Memory",
    "MemoryFileReport",
    "Neighborhood",
    "Observed",
    "PackedItem",
    "ProcessReport",
    "PurgeReport",
    "RecallResult",
    "Related",
    "RememberedSession",
    "Report",
    "ReportedNotice",
    "RunSummary",
    "SettledProposals",
    "ShownChange",
    "ShownProposal",
    "Status",
    "VaultsyncError",
    "Verification",
    "errors",
    "init",
    "open",
]
