"""The memory that people and agents share: a store of facts, a vault of notes.

    import vaultsync

    with vaultsync.open("~/Memory", agent="indy") as memory:
        fact = memory.remember("We chose LanceDB because it is embedded.", type="decision")
        report = memory.sync()

Importing this package loads nothing heavy: each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

__version__ = "0.1.0"

_NAMES = {
    "vaultsync.api.exchange": ("ExportReport",),
    "vaultsync.api.memory": ("Memory",),
    "vaultsync.api.opening": ("Initialised", "init", "open"),
    "vaultsync.context_packs.pack": ("ContextPack", "LeftOut", "PackedItem"),
    "vaultsync.errors": ("VaultsyncError",),
    "vaultsync.exchange.service": ("ImportReport",),
    "vaultsync.exchange.session_messages": ("RememberedSession",),
    "vaultsync.facts.listing": ("FactPage",),
    "vaultsync.facts.related": ("Related",),
    "vaultsync.facts.service": ("ForgetResult",),
    "vaultsync.graph.service": ("GraphExport", "Neighborhood"),
    "vaultsync.memory_files.report": ("AddResult", "MemoryFileReport"),
    "vaultsync.model.fact": ("Fact",),
    "vaultsync.model.hiding": ("HiddenMatches",),
    "vaultsync.notes.conflict_note": ("ConflictRecord", "FieldConflict"),
    "vaultsync.notes.proposal_note": ("ShownChange", "ShownProposal"),
    "vaultsync.observations.processing": ("ProcessReport",),
    "vaultsync.observations.service": ("Observed",),
    "vaultsync.operations.purge": ("FoundTrace", "PurgeReport"),
    "vaultsync.proposals.service": ("SettledProposals",),
    "vaultsync.recall.result": ("Hit", "RecallResult"),
    "vaultsync.storage.archive": ("HistoryEntry",),
    "vaultsync.sync.report": (
        "ActionTaken",
        "Difference",
        "MaintenanceReport",
        "Report",
        "ReportedNotice",
        "RunSummary",
        "Status",
        "Verification",
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

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


def __getattr__(name: str) -> object:
    """Load a public name."""
    if name == "errors":
        return importlib.import_module("vaultsync.errors")
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(name)


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return ["__version__", *__all__]
