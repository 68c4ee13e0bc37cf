"""Modules of a project: layered documents that are also facts, and have a mirror."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import structs

from vaultsync.api.arguments import acting_agent
from vaultsync.api.configuration import find_repository
from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.filesystem.module_folder import DiskModuleFolder
from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.backends.remotes.choose_remote import remote_for
from vaultsync.backends.state.module_files import ModuleStateFiles, known_folders
from vaultsync.errors import RepositoryError, StoreUnavailableError, UnsafePathError, VaultsyncError
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.model.schema import Value
from vaultsync.modules.ports import FolderRecord
from vaultsync.modules.remote import MirrorError, Remote
from vaultsync.modules.report import (
    ModuleAnswer,
    ModuleStatus,
    ModuleSyncReport,
    ModuleWritten,
    backlog_notice,
    render_metrics,
)
from vaultsync.modules.service import ModuleWork, ModuleWrite
from vaultsync.modules.topic_files import LOCK_TIMEOUT, ModuleRules
from vaultsync.repos.repo_identity import RepoIdentity, identify
from vaultsync.repos.repository_note import make_repository_note, repository_links
from vaultsync.settings import ModuleSettings, user_path
from vaultsync.storage.archive import Notice
from vaultsync.sync.context import SyncContext
from vaultsync.sync.identity import remember_modules

_log = logging.getLogger(__name__)


class Modules:
    """The layered documents of a repository, or of any folder.

    `Memory.modules` is one. Each method takes the folder: by default `docs/memories` in the git
    repository of the working directory, or else in the vault. Every method may raise
    `ModulesBusyError` while another process works with the folder, and `UnreadableModuleError`
    for a file that is a link, too large, or invalid.
    """

    def __init__(self, services: Services, engine: Engine) -> None:
        self._services = services
        self._engine = engine
        self._remote: Remote | None = None
        self._repositories: dict[Path, RepoIdentity | None] = {}

    def write(
        self,
        topic: str,
        chunk: str,
        text: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        expect: str | None = None,
        agent: str | None = None,
        folder: str | Path | None = None,
    ) -> ModuleWritten:
        """Write a module, update core file and manifest, and mirror it.

        Args:
            topic: the folder that it belongs to, such as `adopted-patterns`.
            chunk: its id, which is unique in all topics.
            text: its complete text, in Markdown.
            title: one line; default: its first heading, or else its current title.
            tags: the new tags; None keeps the current ones.
            expect: the checksum that it must have, from `read()`; `new` if it must not exist.
            agent: the agent that writes it; default: that of this memory.
            folder: the folder of the modules.

        Returns:
            Its entry. `sync_status` is `pending` while the remote does not have it; the
            module is written in any case.

        Raises:
            InvalidFieldError: a name is invalid, or the text is empty.
            ModuleChangedError: the module does not have the checksum `expect`.
            ProposedError: the agent may only propose it. Once the user accepts it, the next
                `sync()` writes it.
        """
        agent = acting_agent(agent, self._services.settings.agent)
        chosen = None if tags is None else tuple(tags)
        request = ModuleWrite(topic, chunk, text, title, chosen, agent, expect)
        written: list[str] = []

        def write(ctx: SyncContext) -> ModuleWritten:
            work = self._work(folder, ctx)
            if ctx is not self._engine.ctx:
                return work.draft(request)
            self._exclude_files(ctx, folder)  # first, because a daemon may see the files soon
            result = work.write(request)
            written.extend(work.facts.written)
            return result

        result = self._engine.proposing(agent, write)
        self._write_notes(written, folder)
        return result

    def read(
        self, topic: str, chunk: str | None = None, *, folder: str | Path | None = None
    ) -> ModuleAnswer:
        """The text of a topic or a module: the remote's answer, or else the files.

        The remote's answer is used from a confidence of 0.4, and only if it has the version of
        the files. From the files, the core file and the modules in the manifest are read, or
        only the requested module.

        Args:
            topic: the name of its folder.
            chunk: the id of one module; default: the whole topic.
            folder: the folder of the modules.

        Raises:
            ModuleMissingError: neither the remote nor the files have it.
        """
        return self._work(folder).read(topic, chunk)

    def sync(
        self, chunk: str | None = None, *, automatic: bool = False, folder: str | Path | None = None
    ) -> ModuleSyncReport:
        """Update files, facts, index and mirror after edits by users and agents.

        Args:
            chunk: the id of the only module to send to the remote; default: all.
            automatic: respect the delay after failures of the remote, and skip modules that
                it refused.
            folder: the folder of the modules.

        Raises:
            ModuleMissingError: there is no such module, in a manifest or the backlog.
        """
        work = self._work(folder)
        self._exclude_files(self._engine.ctx, folder)
        facts = work.state.read().facts.values()
        if facts and not automatic:  # a daemon syncs the notes itself
            self._engine.update_notes(*(each.fact_id for each in facts), kind="sync")
        report = work.sync(chunk, automatic=automatic)
        return structs.replace(report, run=self._write_notes(work.facts.written, folder))

    def status(self, *, folder: str | Path | None = None) -> ModuleStatus:
        """Which modules in a folder wait for the remote, and for how long; changes nothing."""
        return self._work(folder).status()

    def index(self, *, folder: str | Path | None = None) -> dict[str, Any]:
        """Generate `memory-index.json` from the manifests in a folder, and return its content."""
        index: dict[str, Any] = json.loads(self._work(folder).index())
        return index

    def all_statuses(self) -> list[ModuleStatus]:
        """The status of each known folder that still exists."""
        statuses = []
        for record in self._known_folders():
            try:
                statuses.append(self.status(folder=record.folder))
            except (VaultsyncError, OSError) as error:
                _log.debug("the modules in %s were left out: %s", record.folder, error)
        return statuses

    def alerts(self) -> list[Notice]:
        """The notices of all folders, which the reports of a daemon's syncs had.

        Each folder with too many waiting modules, or one that waits too long, has one more.
        """
        statuses = self.all_statuses()
        found = [
            Notice(x.kind, VaultPath(f"{each.space}: {x.path}"), x.message, x.hint)
            for each in statuses
            for x in each.attention
        ]
        return [*(backlog_notice(each) for each in statuses if each.alert), *found]

    def metrics(self) -> str:
        """The content of `/metrics` of a bridge, in Prometheus' text format."""
        success, failure = ModuleStateFiles(self._services.settings.state_dir, "").count()
        pending = {each.space: each.pending for each in self.all_statuses()}
        return render_metrics(success, failure, pending)

    def sync_known(self) -> list[ModuleSyncReport]:
        """Sync each known folder, as a daemon does.

        If some cannot be synced, raises the first error after all others are.
        """
        reports: list[ModuleSyncReport] = []
        errors: list[VaultsyncError | OSError] = []
        for record in self._known_folders():
            try:
                reports.append(self.sync(automatic=True, folder=record.folder))
            except (VaultsyncError, OSError) as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return reports

    def rebuild_files(self) -> list[str]:
        """Give the files in an older copy of the vault the texts of their facts, which are newer.

        `rebuild --from store` does this; files outside the vault are not of the copy. Returns the
        facts that were written, whose notes are not.
        """
        written: list[str] = []
        for record in self._known_folders():
            if self._is_in_vault(Path(record.folder)):
                work = self._work(record.folder)
                work.sync(automatic=True, trust_facts=True)
                written += work.facts.written
        return written

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from working with any known folder."""
        # A link may lead from where a folder was known to where it was moved, and is known too.
        folders = sorted({os.path.realpath(record.folder) for record in self._known_folders()})
        with ExitStack() as locks:
            for folder in folders:
                locks.enter_context(self._work(folder).folder.lock(LOCK_TIMEOUT))
            yield

    def files_that_stay(self, fact_ids: Collection[str]) -> Iterator[str]:
        """Hints about the files of purged facts, which remain in the user's folders."""
        for record in self._known_folders():
            for key, each in record.facts.items():
                if each.fact_id in fact_ids:
                    yield (
                        f"the file of {key} in {record.folder}: delete it and what the manifest and"
                        " the core file say of it, and run `vaultsync module sync` there, which"
                        " removes it from the remote too; or the next one creates the fact again"
                    )

    def close(self) -> None:
        """Close the connection to the remote; idempotent."""
        if self._remote is not None:
            self._remote.close()
            self._remote = None

    def _known_folders(self) -> list[FolderRecord]:
        records = known_folders(self._services.settings.state_dir)
        return [each for each in records if each.folder and Path(each.folder).is_dir()]

    def _work(self, path: str | Path | None, ctx: SyncContext | None = None) -> ModuleWork:
        ctx = ctx or self._engine.ctx
        settings, chosen = self._services.settings, self._services.settings.modules
        folder, root = modules_folder(path, chosen, vault=settings.root)
        self._engine.record_bases()
        state = ModuleStateFiles(settings.state_dir, str(folder))
        mirrors = chosen.remote not in ("", "none")
        rules = ModuleRules(
            space=chosen.space or self._space_of(root),
            links=self._links(ctx, root)[0],
            agent=settings.agent,
            is_in_vault=self._is_in_vault(folder),
            mirrors=mirrors,
            min_confidence=chosen.min_confidence,
            alert_pending=chosen.alert_pending,
            alert_hours=chosen.alert_hours,
            remote=_safe_address(chosen.remote) if mirrors else "",
            remote_key=sha256(f"{chosen.remote} {chosen.preset}".encode()).hexdigest()[:16],
        )
        disk = DiskModuleFolder(folder, root=root, locks=state.all)
        return ModuleWork(ctx, disk, state, rules, self._open_remote)

    def _is_in_vault(self, folder: Path) -> bool:
        return folder.is_relative_to(os.path.realpath(self._services.settings.root))

    def _exclude_files(self, ctx: SyncContext, chosen: str | Path | None) -> None:
        """Exclude the files of modules in the vault from adoption, because they are facts."""
        vault = Path(os.path.realpath(self._services.settings.root))
        folder, _ = modules_folder(chosen, self._services.settings.modules, vault=vault)
        with suppress(ValueError, UnsafePathError):  # outside the vault, or hidden in it
            remember_modules(ctx, vault_path(folder.relative_to(vault).as_posix()))

    def _space_of(self, root: Path) -> str:
        """The name of a repository, by its remote, or else of a folder."""
        identity = self._repository_of(root)
        return root.name or "memories" if identity is None else identity.slug

    def _repository_of(self, root: Path) -> RepoIdentity | None:
        if root not in self._repositories:
            identity = None
            if (root / ".git").exists():
                try:
                    identity = identify(GitRepository(root).working_copy())
                except (RepositoryError, OSError) as error:
                    _log.debug("the space of %s has the name of its folder: %s", root, error)
            self._repositories[root] = identity
        return self._repositories[root]

    def _links(self, ctx: SyncContext, root: Path) -> tuple[dict[str, Value], bool]:
        """The links of facts to their repository, and whether its note is missing."""
        identity = self._repository_of(root)
        with suppress(StoreUnavailableError):
            return ({}, False) if identity is None else repository_links(ctx, identity)
        return {}, False

    def _open_remote(self) -> Remote | None:
        """The remote of the settings, which stays open."""
        if self._remote is None:
            settings = self._services.settings
            try:
                self._remote = remote_for(settings.modules, root=settings.root)
            except VaultsyncError as error:  # modules wait until the settings are corrected
                raise MirrorError(error.message) from None
            self._services.closing(self)
        return self._remote

    def _write_notes(self, fact_ids: Sequence[str], chosen: str | Path | None) -> str | None:
        """Write the notes of facts, unless another engine does it; returns the run."""
        if not fact_ids:
            return None
        settings, ids = self._services.settings, [*dict.fromkeys(fact_ids)]
        _, root = modules_folder(chosen, settings.modules, vault=settings.root)
        repository = self._repository_of(root)
        try:
            if repository is not None and self._links(self._engine.ctx, root)[1]:
                note = make_repository_note(self._engine.ctx, repository)
                ids += [] if note is None else [note.id]
        except VaultsyncError as error:  # the facts are in the store
            _log.debug("the note of the repository is not written: %s", error)
        return self._engine.sync_notes(ids, "module")


def modules_folder(
    chosen: str | Path | None, settings: ModuleSettings, *, vault: Path
) -> tuple[Path, Path]:
    """The folder of modules, and the repository or vault that it belongs to."""
    if chosen is not None:
        folder = Path(os.path.realpath(user_path(chosen)))
        above = find_repository(folder)
        if above is None or above == folder:
            depth = len(Path(settings.folder).parts)
            is_usual = folder.as_posix().endswith(f"/{settings.folder}")
            above = folder.parents[depth - 1] if is_usual else folder
        return folder, above
    root = find_repository() or vault
    return root / settings.folder, root


def _safe_address(remote: str) -> str:
    scheme, separator, rest = remote.partition("://")
    if not separator:
        return remote.partition(" ")[0]
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
