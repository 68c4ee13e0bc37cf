"""Memory of git repositories: what applies to the branch that is checked out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from vaultsync.api.arguments import acting_agent, check_number
from vaultsync.api.engine import Engine
from vaultsync.api.repo_branches import RepoBranches, RepoHandle, is_hash
from vaultsync.api.repo_files import RepoFiles
from vaultsync.api.repo_maps import map_code, write_instructions
from vaultsync.api.wiring import Services
from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.backends.repo_files.repo_folder import RepoFolder
from vaultsync.errors import (
    BranchNotMergedError,
    NotARepositoryError,
    UnknownBranchError,
    VaultsyncError,
)
from vaultsync.model.fact import Fact
from vaultsync.proposals.service import propose
from vaultsync.repos.agent_instructions import DEFAULT_BUDGET, InstructionsReport
from vaultsync.repos.branch_runs import Copied, Promotion, count_kept, fold, keep_branch, promote
from vaultsync.repos.code_map import DEFAULT_MAX_CHARS, RepoMap
from vaultsync.repos.entries import (
    AGENT,
    CONVENTION,
    MANUAL,
    SUMMARY,
    RepoConvention,
    RepoDecision,
    RepoMemory,
    RepoNote,
    StepSummary,
    convention_values,
    decision_values,
    note_values,
    recorded,
    summary_values,
    to_memory,
)
from vaultsync.repos.ports import branch_of
from vaultsync.repos.repo_context import DEFAULT_CHARS, RepoContext, build_repo_context
from vaultsync.repos.repo_identity import BranchScope, RepoIdentity
from vaultsync.repos.visibility import Place, places_of
from vaultsync.settings import user_path
from vaultsync.sync.context import SyncContext

_log = logging.getLogger(__name__)
_BY_DAEMON = "it does this by itself"
_MOST_READ_FOR_CONTEXT = 500
"""Maximum number of files that a context pack reads for its map, which takes half a second; for
more, use `map()`."""


class RepoUpkeep(msgspec.Struct, frozen=True):
    """The result of maintaining a repository."""

    promoted: int = 0
    """Facts that now apply to the branch permanently."""
    folded: int = 0
    """Summaries that were combined into weekly digests."""
    proposed: int = 0
    """New proposals about branches that were deleted."""


class Repos:
    """The memory of git repositories: `memory.repos`.

    A repository may be given as the path of a folder in it, or by its hash, as in
    `identity()`; the default is the current folder. Facts of other branches are not
    shown until they are merged.

    An agent that may only propose to the scope of the project gets a `ProposedError` from each
    write. Besides the errors listed, every method may raise a `RepositoryError`:
    `NotARepositoryError`, `GitFailedError`, `RepoFileError` if a file cannot be read or
    written, `RepoFileParseError` if an edited file cannot be parsed, and `LockTimeoutError` if
    another process holds a lock for more than five seconds (one second for summaries). Then
    nothing was written.
    """

    def __init__(self, services: Services, engine: Engine, *, agent: str | None) -> None:
        self._services = services
        self._engine = engine
        self._agent = agent
        self._settings = services.settings.repos
        self._branches = RepoBranches(
            services.settings,
            lambda: engine.ctx,
            lambda: services.note_index,
            services.repository_facts,
        )
        self._files = RepoFiles(self._branches, engine, self._settings)

    # ----------------------------------------------------------------------- reading

    def identity(
        self, repo: str | Path | None = None, *, branch_scope: BranchScope | None = None
    ) -> RepoIdentity:
        """The repository as memory knows it.

        Args:
            repo: a path, or the hash of one that was used before.
            branch_scope: `perBranch` or `sharedRepo`; default: the setting.
        """
        return self._branches.open(repo, branch_scope).identity

    def get_repo_memory(
        self, repo: str | Path | None = None, *, branch_scope: BranchScope | None = None
    ) -> RepoMemory:
        """All conventions, decisions, notes and summaries that apply to the branch.

        Changes in `memory.json`, and lines appended to `summaries.jsonl`, by users or other
        programs are applied first.

        Args:
            repo: a path, or a hash; for an unknown hash the memory is empty.
            branch_scope: as in `identity()`.
        """
        try:
            handle = self._branches.open(repo, branch_scope)
        except NotARepositoryError:
            if is_hash(repo):
                return RepoMemory()
            raise
        return to_memory(self._for_agent(self._files.synced(handle)))

    def context(
        self,
        repo: str | Path | None = None,
        *,
        max_chars: int = DEFAULT_CHARS,
        paths: Sequence[str] | None = None,
        branch_scope: BranchScope | None = None,
    ) -> RepoContext:
        """The context for a task: conventions, decisions, follow-ups, summaries.

        Args:
            repo: a path, or a hash.
            max_chars: maximum number of characters of the text.
            paths: the open files, relative to the root; default: those with uncommitted changes.
            branch_scope: as in `identity()`.

        Raises:
            InvalidFieldError: `max_chars` is less than 1.
        """
        check_number("max_chars", max_chars, least=1)
        handle = self._branches.open(repo, branch_scope)
        facts = self._for_agent(self._files.synced(handle))
        paths = handle.open_files(paths)
        return build_repo_context(
            facts,
            open_files=paths,
            max_chars=max_chars,
            max_summaries=self._settings.max_summaries_in_context,
            repo_map=partial(self._map_text, handle, paths),
        )

    def map(
        self,
        repo: str | Path | None = None,
        *,
        max_chars: int = DEFAULT_MAX_CHARS,
        paths: Sequence[str] | None = None,
        refresh: bool = False,
        branch_scope: BranchScope | None = None,
    ) -> RepoMap:
        """The most referenced definitions in tracked files, ranked around a change.

        Args:
            repo: a path, or a hash.
            max_chars: maximum number of characters of the text.
            paths: the open files, relative to the root; default: those with uncommitted changes.
            refresh: read all files again, instead of only new ones.
            branch_scope: as in `identity()`.

        Raises:
            InvalidFieldError: `max_chars` is negative.
            IndexBusyError: another process is writing the code index.
        """
        handle = self._branches.open(repo, branch_scope)
        if handle.repository is None:
            raise NotARepositoryError(handle.identity.root, "it is gone")
        self._branches.record(handle)
        return map_code(
            handle.repository,
            handle.folder,
            handle.shared,
            changed=handle.open_files(paths),
            max_chars=max_chars,
            refresh=refresh,
        )

    def instructions(
        self,
        file: str | Path,
        repo: str | Path | None = None,
        *,
        budget: int = DEFAULT_BUDGET,
        dry_run: bool = False,
        branch_scope: BranchScope | None = None,
    ) -> InstructionsReport:
        """Write the conventions that apply to the branch into a file that agents' hosts read.

        They are in a separate block in `AGENTS.md`, `CLAUDE.md` or a similar file; nothing else
        in the file changes, and without conventions the block is removed.

        Args:
            file: the file to write, relative to the current folder.
            repo: a path, or a hash; default: the folder of the file.
            budget: maximum number of tokens in the block; conventions beyond it are left out.
            dry_run: write nothing.
            branch_scope: as in `identity()`.

        Raises:
            InvalidFieldError: the budget is negative.
            HostFileError: the file cannot be read or written, or changed meanwhile, or its block
                was edited.
        """
        path = user_path(file)
        handle = self._branches.open(path.resolve().parent if repo is None else repo, branch_scope)
        facts = self._for_agent(self._files.synced(handle))
        return write_instructions(
            path,
            [fact for fact in facts if fact.type == CONVENTION],
            count=self._services.token_counter.count,
            budget=budget,
            dry_run=dry_run,
        )

    def _map_text(self, handle: RepoHandle, paths: Sequence[str], max_chars: int) -> str:
        """The map for a context pack; empty if creating it would take long."""
        if handle.repository is None:
            return ""
        try:
            return map_code(
                handle.repository,
                handle.folder,
                handle.shared,
                changed=paths,
                max_chars=min(max_chars, DEFAULT_MAX_CHARS),
                max_read=_MOST_READ_FOR_CONTEXT,
            ).text
        except (VaultsyncError, OSError) as error:
            _log.debug("no map for the context: %s", error)
            return ""

    def build_context_from_memory(self, repo_hash: str, max_chars: int = DEFAULT_CHARS) -> str:
        """The text of `context()`; empty for an unknown hash.

        Args:
            repo_hash: the hash from `identity()`, or a path.
            max_chars: maximum number of characters.
        """
        try:
            return self.context(repo_hash, max_chars=max_chars).text
        except NotARepositoryError:
            if is_hash(repo_hash):
                return ""
            raise

    def hidden_facts(self, repo: str | Path | None = None) -> frozenset[str]:
        """The ids of the facts of a repository that do not apply to its branch."""
        return frozenset(fact.id for fact in self._for_agent(self._branches.elsewhere(repo)))

    # ----------------------------------------------------------------------- writing

    def upsert_convention(
        self,
        repo: str | Path | None = None,
        *,
        title: str,
        content: str,
        tags: Sequence[str] = (),
        id: str | None = None,  # noqa: A002 - the word of the contract
        unscoped: bool = False,
        branch_scope: BranchScope | None = None,
        agent: str | None = None,
    ) -> RepoConvention:
        """Write a convention, replacing the one with the same id or title on the branch.

        One that was written on another branch is not changed there: the new one replaces it
        only on this branch, and elsewhere once it is merged.

        Args:
            repo: a path, or a hash.
            title: one line.
            content: the text, in Markdown.
            tags: without `#`.
            id: the id of the convention to change, or another name of it, as in `Memory.get()`.
            unscoped: whether it applies to every branch.
            branch_scope: as in `identity()`.
            agent: the agent that writes; default: that of this memory.

        Raises:
            InvalidFieldError: the title or the content is blank.
            FactNotFoundError: there is none with this id.
        """
        values = convention_values(title, content, tags)
        handle = self._branches.open(repo, branch_scope)
        return self._files.put(
            handle,
            values,
            RepoConvention,
            fact_id=id,
            agent=acting_agent(agent, self._agent),
            unscoped=unscoped,
        )

    def upsert_decision(
        self,
        repo: str | Path | None = None,
        *,
        summary: str,
        rationale: str = "",
        impacted_paths: Sequence[str] = (),
        id: str | None = None,  # noqa: A002 - as everywhere in the Python API
        unscoped: bool = False,
        branch_scope: BranchScope | None = None,
        agent: str | None = None,
    ) -> RepoDecision:
        """Write a decision, replacing the one with the same id or summary on the branch.

        Args:
            repo: a path, or a hash.
            summary: one line.
            rationale: the reasons, in Markdown.
            impacted_paths: the files and folders that it concerns.
            id: the id of the decision to change, or another name of it, as in `Memory.get()`.
            unscoped: whether it applies to every branch.
            branch_scope: as in `identity()`.
            agent: the agent that writes; default: that of this memory.

        Raises:
            InvalidFieldError: the summary is blank.
            FactNotFoundError: there is none with this id.
        """
        handle, agent = self._branches.open(repo, branch_scope), acting_agent(agent, self._agent)
        paths = handle.relative_paths(impacted_paths)
        values = decision_values(summary, rationale, paths)
        return self._files.put(
            handle, values, RepoDecision, fact_id=id, agent=agent, unscoped=unscoped
        )

    def add_note(
        self,
        repo: str | Path | None = None,
        *,
        content: str,
        source: str | None = None,
        unscoped: bool = False,
        branch_scope: BranchScope | None = None,
        agent: str | None = None,
    ) -> RepoNote:
        """Write a note.

        Args:
            repo: a path, or a hash.
            content: the text, in Markdown.
            source: `manual`, `agent` or `tool`; default: depends on the writer.
            unscoped: whether it applies to every branch.
            branch_scope: as in `identity()`.
            agent: the agent that writes; default: that of this memory.

        Raises:
            InvalidFieldError: it is blank, or the source is invalid.
        """
        agent = acting_agent(agent, self._agent)
        values = note_values(content, source or (AGENT if agent else MANUAL))
        handle = self._branches.open(repo, branch_scope)
        return self._files.put(handle, values, RepoNote, agent=agent, unscoped=unscoped)

    def append_summary(
        self,
        run_id: str,
        step_id: str,
        summary_text: str,
        *,
        repo: str | Path | None = None,
        tags: Sequence[str] = (),
        follow_ups: Sequence[str] = (),
        branch_scope: BranchScope | None = None,
        agent: str | None = None,
    ) -> StepSummary:
        """Append the summary of a task: what happened, its results, and what is left.

        Args:
            run_id: the id of the workflow.
            step_id: the id of the step in it.
            summary_text: one paragraph, up to 64 KiB. Lines such as `Decision: …` and
                `Next: …` are kept when old summaries are combined.
            repo: a path, or a hash.
            tags: without `#`.
            follow_ups: remaining tasks; each becomes a checkbox.
            branch_scope: as in `identity()`.
            agent: the agent that writes; default: that of this memory.

        Raises:
            InvalidFieldError: the text is blank or too long, or a name is blank.
        """
        values = summary_values(run_id, step_id, summary_text, tags, follow_ups)
        handle = self._branches.open(repo, branch_scope)
        return self._files.append(handle, values, agent=acting_agent(agent, self._agent))

    # ---------------------------------------------------------------------- branches

    def promote(
        self,
        repo: str | Path | None = None,
        *,
        source: str | None = None,
        target: str | None = None,
    ) -> Promotion:
        """After a merge, record which facts now apply to a branch, in a run that can be undone.

        Facts that arrived by a squash, a rebase or a cherry-pick also apply without this, as long
        as the commits of the merged branch exist; after this they apply permanently, in all
        clones. A daemon does this by itself.

        Args:
            repo: a path, or a hash.
            source: only facts written on this branch, all of them if it was merged.
            target: the branch that it was merged into; default: the one checked out.

        Raises:
            BranchNotMergedError: `source` is not merged into `target`.
            UnknownBranchError: there is no such branch.
            EngineBusyError: another engine has the vault.
        """
        if (
            target is None
            and source is None
            and self._branches.open(repo, None).identity.commit is None
        ):
            return Promotion(0)
        handle, repository, tip = self._branch(repo, target)
        facts: Iterable[Fact] = self._branches.facts(handle)
        if source is not None:
            facts = self._of_branch(handle, repository, facts, source)
        places = {fact.id: places_of(fact) for fact in facts}
        all_places = {x for origins in places.values() for x in origins}
        merged = {*self._branches.arrived(handle, repository, all_places, tip)}
        if source is not None:
            last = repository.resolve(source)
            ends = {Place(last, source)} if last else all_places
            if not ends <= {*self._branches.arrived(handle, repository, ends | all_places, tip)}:
                raise BranchNotMergedError(source, target or handle.identity.branch or tip)
        missing = repository.missing_from(tip, [each.commit for each in all_places])
        direct = {each for each in all_places if each.commit not in missing}
        promoted = {
            fact_id: tip
            for fact_id, origins in places.items()
            if origins and not direct & {*origins} and (source is not None or merged & {*origins})
        }
        if not promoted:
            return Promotion(0)
        with self._engine.exclusive(hint=_BY_DAEMON) as ctx:
            report = promote(ctx, promoted, actor=self._agent or "person")
        self._engine.wrote = True
        return report

    def copy(self, repo: str | Path | None = None, *, source: str, target: str) -> Copied:
        """Make the facts of a branch apply to another one, too, merged or not.

        Nothing is duplicated: the same facts apply to both. It is a run that can be undone.

        Args:
            repo: a path, or a hash.
            source: the branch, which may have been deleted.
            target: the other branch.

        Raises:
            UnknownBranchError: there is no such branch, and no facts of one.
            EngineBusyError: another engine has the vault.
        """
        handle, repository, tip = self._branch(repo, target)
        facts = self._of_branch(handle, repository, self._branches.facts(handle), source)
        with self._engine.exclusive(hint=_BY_DAEMON) as ctx:
            report = promote(ctx, {x.id: tip for x in facts}, actor=self._agent or "person")
        self._engine.wrote = True
        return Copied(report.promoted, report.run, report.ids)

    def maintain(self, repo: str | Path | None = None) -> RepoUpkeep:
        """Promote merged facts, combine old summaries, and propose to keep deleted branches' facts.

        Raises:
            EngineBusyError: another engine has the vault.
        """
        handle = self._branches.open(repo, None)
        if handle.repository is None:
            return RepoUpkeep()
        promoted = self.promote(repo).promoted
        facts = self._branches.facts(handle)
        # A digest applies where its summaries do: to one branch, one detached commit, or to all.
        current = handle.identity.branch or handle.identity.commit
        summaries: dict[str | None, list[Fact]] = {current: [], None: []}
        for fact in sorted(facts, key=lambda x: (x.created_at, x.id), reverse=True):
            at = recorded(fact)
            place = at.commit and (at.branch or at.commit)
            if fact.type == SUMMARY and place in summaries:
                summaries[place].append(fact)
        folded = sum(map(self._fold, summaries.values()))
        return RepoUpkeep(promoted, folded, self._propose(handle, handle.repository, facts))

    def _fold(self, summaries: Sequence[Fact]) -> int:
        """Combine old summaries if there are too many; returns how many were combined."""
        limits = self._settings
        stay = count_kept(
            summaries, entries=limits.summaries_max_entries, size=limits.summaries_max_bytes
        )
        if stay == len(summaries):
            return 0
        with self._engine.exclusive(hint=_BY_DAEMON) as ctx:
            folded = fold(ctx, summaries, stay, actor=self._agent or "person")
        self._engine.wrote = True
        return folded

    def known_roots(self) -> list[Path]:
        """The working copies that were used and still exist."""
        roots = {}
        for folder in sorted(self._branches.root.glob("?*")):
            data = RepoFolder(self._branches.root, folder.name).state("repository.json")
            with suppress(msgspec.MsgspecError):
                identity = msgspec.json.decode(data or b"", type=RepoIdentity)
                if Path(identity.root).is_dir():
                    roots[identity.root] = Path(identity.root)
        return [*roots.values()]

    # ----------------------------------------------------------------------- private

    def _branch(
        self, repo: str | Path | None, name: str | None
    ) -> tuple[RepoHandle, GitRepository, str]:
        """A repository, and the last commit of one of its branches."""
        handle = self._branches.open(repo, None)
        if handle.repository is None:
            raise NotARepositoryError(handle.identity.root, "it is gone")
        tip = handle.identity.commit if name is None else handle.repository.resolve(name)
        if tip is None:
            raise UnknownBranchError(name or handle.identity.branch or "HEAD")
        return handle, handle.repository, tip

    def _of_branch(
        self, handle: RepoHandle, repository: GitRepository, facts: Iterable[Fact], name: str
    ) -> list[Fact]:
        """The facts that were written on a branch."""
        on_branch = [fact for fact in facts if recorded(fact).branch == name]
        tips = self._branches.remembered_tips(handle, dict(repository.branches()), ())
        if not on_branch and name not in tips and repository.resolve(name) is None:
            raise UnknownBranchError(name)
        return on_branch

    def _propose(self, handle: RepoHandle, repository: GitRepository, facts: Iterable[Fact]) -> int:
        """Propose to keep the facts of branches that were deleted without being merged."""
        branches = dict(repository.branches())
        alive = {*map(branch_of, branches)}
        tips = self._branches.remembered_tips(handle, branches, ())
        by_branch: dict[str, list[Fact]] = {}
        for fact in facts:
            name = recorded(fact).branch
            if name and name not in alive and tips.get(name) and fact.type != SUMMARY:
                by_branch.setdefault(name, []).append(fact)
        new = 0
        for name, branch_facts in by_branch.items():
            places = {place for fact in branch_facts for place in places_of(fact)}
            for tip in {*branches.values()}:
                missing = repository.missing_from(tip, [x.commit for x in places])
                places = {x for x in places if x.commit in missing}
            head = handle.identity.commit
            places -= (
                {*self._branches.arrived(handle, repository, places, head)} if places else set()
            )
            unmerged = [fact for fact in branch_facts if {*places_of(fact)} <= places]
            stored = self._ctx.store.find_many([fact.id for fact in unmerged])
            if stored:
                draft = keep_branch(name, [*stored.values()])
                before = {each.id for each in self._ctx.archive.proposals(settled=True)}
                new += propose(self._ctx, draft).id not in before
        return new

    @property
    def _ctx(self) -> SyncContext:
        return self._engine.ctx

    def _for_agent(self, facts: Iterable[Fact]) -> list[Fact]:
        may_read = self._ctx.policy.permissions.may_read
        return [fact for fact in facts if may_read(self._agent, fact.scope)]
