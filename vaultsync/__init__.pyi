# The public names, for type checkers: `__init__.py` loads each when it is first used.

from vaultsync import errors as errors
from vaultsync.api.exchange import ExportReport as ExportReport
from vaultsync.api.memory import Memory as Memory
from vaultsync.api.opening import Initialised as Initialised
from vaultsync.api.opening import init as init
from vaultsync.api.opening import open as open  # noqa: A004 - what its users say
from vaultsync.context_packs.pack import ContextPack as ContextPack
from vaultsync.context_packs.pack import LeftOut as LeftOut
from vaultsync.context_packs.pack import PackedItem as PackedItem
from vaultsync.errors import VaultsyncError as VaultsyncError
from vaultsync.exchange.service import ImportReport as ImportReport
from vaultsync.exchange.session_messages import RememberedSession as RememberedSession
from vaultsync.facts.listing import FactPage as FactPage
from vaultsync.facts.related import Related as Related
from vaultsync.facts.service import ForgetResult as ForgetResult
from vaultsync.graph.service import GraphExport as GraphExport
from vaultsync.graph.service import Neighborhood as Neighborhood
from vaultsync.memory_files.report import AddResult as AddResult
from vaultsync.memory_files.report import MemoryFileReport as MemoryFileReport
from vaultsync.model.fact import Fact as Fact
from vaultsync.model.hiding import HiddenMatches as HiddenMatches
from vaultsync.notes.conflict_note import ConflictRecord as ConflictRecord
from vaultsync.notes.conflict_note import FieldConflict as FieldConflict
from vaultsync.notes.proposal_note import ShownChange as ShownChange
from vaultsync.notes.proposal_note import ShownProposal as ShownProposal
from vaultsync.observations.processing import ProcessReport as ProcessReport
from vaultsync.observations.service import Observed as Observed
from vaultsync.operations.purge import FoundTrace as FoundTrace
from vaultsync.operations.purge import PurgeReport as PurgeReport
from vaultsync.proposals.service import SettledProposals as SettledProposals
from vaultsync.recall.result import Hit as Hit
from vaultsync.recall.result import RecallResult as RecallResult
from vaultsync.storage.archive import HistoryEntry as HistoryEntry
from vaultsync.sync.report import ActionTaken as ActionTaken
from vaultsync.sync.report import Difference as Difference
from vaultsync.sync.report import MaintenanceReport as MaintenanceReport
from vaultsync.sync.report import Report as Report
from vaultsync.sync.report import ReportedNotice as ReportedNotice
from vaultsync.sync.report import RunSummary as RunSummary
from vaultsync.sync.report import Status as Status
from vaultsync.sync.report import Verification as Verification

__all__: list[str]  # noqa: PYI035 - the names above
__version__: str
