"""The memory that people and agents share: a store of facts, a vault of notes.

    import vaultsync

    with vaultsync.open("~/Memory", agent="indy") as memory:
        fact = memory.remember("We chose LanceDB because it is embedded.", type="decision")
        report = memory.sync()

Importing this package loads nothing heavy: each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib

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

__all__ = sorted(["errors", *_MODULES])  # noqa: PLE0605 - type checkers read `__init__.pyi`


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
