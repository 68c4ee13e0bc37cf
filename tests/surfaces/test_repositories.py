"""Memory of git repositories: what was decided on a branch holds where that was merged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import vaultsync
from tests.gits import GitFolder
from tests.machines import configure_machine
from tests.planted import TOKEN
from vaultsync import errors
from vaultsync.api.configuration import find_repository
from vaultsync.api.memory import Memory
from vaultsync.api.repo_files import RepoFiles
from vaultsync.api.repos import Repos
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.memory_file import STAGING_DIR, DiskMemoryFile
from vaultsync.backends.repo_files.repo_folder import RepoFolder
from vaultsync.cli.main import cli
from vaultsync.facts import service as fact_service
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import HiddenMatches
from vaultsync.notes.view import NoteView
from vaultsync.repos.entries import RepoMemory
from vaultsync.service.daemon_runner import DaemonRunner

pytestmark = pytest.mark.long(5)


@pytest.fixture
def git(tmp_path: Path) -> GitFolder:
    git = GitFolder(tmp_path / "app")
    git("remote", "add", "origin", "https://ada:s3cret@example.org/team/app.git")
    git.commit("README.md", "An app.\n")
    return git


@pytest.fixture
def memory(vault: Path) -> Iterator[Memory]:
    with vaultsync.open(str(vault)) as memory:
        yield memory


@pytest.fixture
def repos(memory: Memory, git: GitFolder, monkeypatch: pytest.MonkeyPatch) -> Repos:
    monkeypatch.chdir(git.root)
    return memory.repos


def titles(found: RepoMemory) -> list[str]:
    return [
        *(each.title for each in found.conventions),
        *(each.summary for each in found.decisions),
        *(each.content for each in found.notes),
        *(each.summary for each in found.summaries),
    ]


def folder_of(repos: Repos, repo: Path | None = None) -> Path:
    return repos._branches.root / repos.identity(repo).repo_hash


def edit_memory(path: Path, *changes: tuple[str, str]) -> None:
    text = (path / "memory.json").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (path / "memory.json").write_text(text)


# --- what is written ------------------------------------------------------------------


def test_a_repositorys_facts_have_notes(repos: Repos, git: GitFolder, memory: Memory) -> None:
    convention = repos.upsert_convention(title="Use pnpm", content="In packages/.", tags=["js"])
    decision = repos.upsert_decision(
        summary="Keep sessions", rationale="They outlive us.", impacted_paths=["./src/", "a.py"]
    )
    note = repos.add_note(content="The CI needs Node 22.")
    step = repos.append_summary("run-1", "step-1", "Added the cache.", follow_ups=["Test it"])

    fact = memory.get(convention.id)
    assert (fact.type, fact.scope, fact.tags) == ("convention", "project-app", ("js",))
    assert (fact.properties["branch"], fact.properties["commit"]) == ("main", git.head())
    assert fact.properties["lineage"] == repos.identity().lineage
    assert memory.get(decision.id).own["decisionImpactedPaths"] == ["src/", "a.py"]
    assert memory.get(note.id).source == "manual"
    summary = memory.get(step.id)
    assert (summary.type, summary.session_id) == ("episodic", "run-1")
    assert fact.path is not None
    assert 'repo: "[[app repository]]"' in (memory.settings.root / fact.path).read_text()
    (repository,) = memory.list(type="project").facts
    assert repository.title == "app repository"
    assert {x.id for x in memory.list(links_to=repository.id).facts} == {
        *(each.id for each in (convention, decision, note, step))
    }


def test_the_files_have_what_holds(repos: Repos) -> None:
    convention = repos.upsert_convention(title="Use pnpm", content="In packages/.")
    decision = repos.upsert_decision(summary="Keep sessions", impacted_paths=["src/"])
    note = repos.add_note(content="The CI needs Node 22.", source="tool")
    step = repos.append_summary("run-1", "step-1", "Added the cache.")
    folder = folder_of(repos)

    def shown(entry: Any, **values: object) -> dict[str, object]:  # noqa: ANN401 - of any kind
        times = {"createdAt": entry.created_at, "updatedAt": entry.updated_at}
        return {"id": entry.id, **values, **times}

    found = json.loads((folder / "memory.json").read_text())
    assert found == {
        "conventions": [shown(convention, title="Use pnpm", content="In packages/.", tags=[])],
        "decisions": [
            shown(decision, summary="Keep sessions", rationale="", impactedPaths=["src/"])
        ],
        "notes": [shown(note, content="The CI needs Node 22.", source="tool")],
    }
    (line,) = (folder / "summaries.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "runId": "run-1",
        "stepId": "step-1",
        "timestamp": step.timestamp,
        "summary": "Added the cache.",
        "tags": [],
        "id": step.id,
    }
    assert repos.get_repo_memory(repos.identity().repo_hash) == repos.get_repo_memory()


def test_an_unknown_hash_has_an_empty_memory(repos: Repos) -> None:
    assert repos.get_repo_memory("0" * 64) == RepoMemory()
    assert repos.build_context_from_memory("0" * 64, 100) == ""
    with pytest.raises(errors.NotARepositoryError, match="not in a git repository"):
        repos.upsert_convention("0" * 64, title="a", content="b")


def test_no_secret_of_a_remote_or_a_text_is_written(repos: Repos, tmp_path: Path) -> None:
    repos.upsert_convention(title="Deploy", content=f"Use {TOKEN} for it.")
    repos.append_summary("r", "s", f"Rotated {TOKEN}.")
    assert TOKEN not in repos.context().text
    for path in (tmp_path / "state" / "repos").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert TOKEN.encode() not in data
            assert b"s3cret" not in data


def test_a_second_writing_changes_the_first(memory: Memory, repos: Repos) -> None:
    first = repos.upsert_convention(title="Use pnpm", content="1")
    second = repos.upsert_convention(title="use PNPM", content="2")
    third = repos.upsert_convention(id=first.id, title="Use npm", content="3")
    assert first.id == second.id == third.id
    assert [x.content for x in repos.get_repo_memory().conventions] == ["3"]
    with pytest.raises(errors.FactNotFoundError):
        repos.upsert_decision(id=first.id, summary="It is no decision")
    fact = memory.get(first.id)
    for name in (first.id[:18], first.id.upper(), fact.path, fact.title):
        changed = repos.upsert_convention(id=name, title="Use npm", content=str(name))
        assert (changed.id, changed.content) == (first.id, name)


def test_what_is_invalid_is_refused_before_anything_is_written(repos: Repos) -> None:
    for call in (
        lambda: repos.upsert_convention(title=" ", content="x"),
        lambda: repos.upsert_convention(title="x", content=""),
        lambda: repos.upsert_decision(summary=""),
        lambda: repos.add_note(content="\n"),
        lambda: repos.add_note(content="x", source="else"),
        lambda: repos.append_summary("r", "s", ""),
        lambda: repos.append_summary("r", "s", "ä" * 40_000),
        lambda: repos.context(max_chars=0),
    ):
        with pytest.raises(errors.InvalidFieldError):
            call()
    assert titles(repos.get_repo_memory()) == []


def test_what_an_agent_may_only_propose_waits_for_the_user(
    repos: Repos, vault: Path, memory: Memory
) -> None:
    known = repos.upsert_convention(title="Style", content="Tabs.")
    permissions = '[permissions.agents.otto]\nread = ["*"]\nwrite = []\npropose = ["project-*"]\n'
    configure_machine(vault, permissions)
    with vaultsync.open(str(vault), agent="otto") as otto:
        for write in (
            lambda: otto.repos.upsert_convention(title="Style", content="Blanks."),
            lambda: otto.repos.add_note(content="The CI needs Node 22."),
            lambda: otto.repos.append_summary("r", "s", "Added the cache."),
        ):
            with pytest.raises(errors.ProposedError):
                write()
    assert titles(repos.get_repo_memory()) == ["Style"]
    assert memory.get(known.id).content == "Tabs."
    memory.accept_proposals([each.id for each in memory.proposals()])
    found = repos.get_repo_memory()
    assert titles(found) == ["Style", "The CI needs Node 22.", "Added the cache."]
    assert found.conventions[0].content == "Blanks."


# --- where it holds -------------------------------------------------------------------


def test_what_was_decided_on_a_branch_holds_once_it_is_merged(repos: Repos, git: GitFolder) -> None:
    repos.upsert_convention(title="On main", content="x")
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    repos.upsert_decision(summary="On feature")
    assert titles(repos.get_repo_memory()) == ["On main", "On feature"]
    git.checkout("main")
    assert titles(repos.get_repo_memory()) == ["On main"]
    git.commit("c.py", "c = 1\n")
    git("merge", "-q", "--no-ff", "-m", "Merge", "feature")
    assert titles(repos.get_repo_memory()) == ["On main", "On feature"]


@pytest.mark.parametrize("way", ["squash", "rebase", "cherry-pick"])
def test_another_way_of_merging_counts_too(repos: Repos, git: GitFolder, way: str) -> None:
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    repos.add_note(content="After b")
    git.commit("b.py", "b = 2\n")
    git.commit("c.py", "c = 1\n")
    repos.add_note(content="After c")
    git.checkout("main")
    git.commit("d.py", "d = 1\n")
    assert titles(repos.get_repo_memory()) == []
    if way == "squash":
        git("merge", "-q", "--squash", "feature")
        git("commit", "-q", "-m", "All of it (#7)")
    elif way == "rebase":
        git.checkout("feature")
        git("rebase", "-q", "main")
        git.checkout("main")
        git("merge", "-q", "--ff-only", "feature")
    else:
        git("cherry-pick", "feature~2", "feature~1", "feature")
    git("branch", "-q", "-D", "feature")
    assert titles(repos.get_repo_memory()) == ["After b", "After c"]


def test_a_convention_of_main_is_replaced_on_the_branch_alone(repos: Repos, git: GitFolder) -> None:
    repos.upsert_convention(title="Style", content="Tabs.")
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    repos.upsert_convention(title="Style", content="Blanks.")
    assert [x.content for x in repos.get_repo_memory().conventions] == ["Blanks."]
    git.checkout("main")
    assert [x.content for x in repos.get_repo_memory().conventions] == ["Tabs."]
    git("merge", "-q", "feature")
    assert [x.content for x in repos.get_repo_memory().conventions] == ["Blanks."]


def test_shared_branches_see_everything(
    repos: Repos, git: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    repos.add_note(content="Of the branch")
    repos.add_note(content="Of all", unscoped=True)
    git.checkout("main")
    assert titles(repos.get_repo_memory()) == ["Of all"]
    assert len(titles(repos.get_repo_memory(branch_scope="sharedRepo"))) == 2
    repos.add_note(content="Shared", branch_scope="sharedRepo")
    assert titles(repos.get_repo_memory()) == ["Of all", "Shared"]
    monkeypatch.setenv("MEMORY_BRANCH_SCOPE", "sharedRepo")
    with vaultsync.open() as other:
        assert len(titles(other.repos.get_repo_memory())) == 3
        assert other.repos.identity().branch_scope == "sharedRepo"


def test_worktrees_and_clones_share_lineage(repos: Repos, git: GitFolder, tmp_path: Path) -> None:
    repos.add_note(content="Known to all")
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = GitFolder(tmp_path / "side", init=False)
    side.commit("s.py", "s = 1\n")
    repos.add_note(tmp_path / "side", content="Of the side")
    side_hash = repos.identity(tmp_path / "side").repo_hash
    assert titles(repos.get_repo_memory(tmp_path / "side")) == ["Known to all", "Of the side"]
    assert titles(repos.get_repo_memory()) == ["Known to all"]
    git("clone", "-q", str(git.root), str(tmp_path / "clone"))
    git("remote", "set-url", "origin", "git@example.org:team/app", root=tmp_path / "clone")
    assert titles(repos.get_repo_memory(tmp_path / "clone")) == ["Known to all"]
    git("worktree", "remove", "--force", str(tmp_path / "side"))
    assert titles(repos.get_repo_memory(side_hash)) == ["Of the side"]
    git("merge", "-q", "side")
    assert titles(repos.get_repo_memory()) == ["Known to all", "Of the side"]


def test_a_repository_that_gets_its_first_commit_and_a_remote_keeps_what_was_known(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, repos = tmp_path / "young", memory.repos
    git = GitFolder(root)
    monkeypatch.chdir(root)
    repos.add_note(content="Before the first commit")
    git.commit("a.py", "a = 1\n")
    repos.add_note(content="Before there was a remote")
    git("remote", "add", "origin", "https://example.org/team/young-app.git")
    repos.add_note(content="With a remote")
    known = ["Before the first commit", "Before there was a remote", "With a remote"]
    assert titles(repos.get_repo_memory()) == known
    assert len(memory.list(type="project").facts) == 1
    git("remote", "set-url", "origin", "https://example.org/team/other.git")
    assert titles(repos.get_repo_memory()) == known
    git("clone", "-q", str(root), str(tmp_path / "fork"))
    git("remote", "set-url", "origin", "https://example.org/ada/fork.git", root=tmp_path / "fork")
    assert titles(repos.get_repo_memory(tmp_path / "fork")) == known[1:2]


def test_another_repository_knows_nothing_of_it(repos: Repos, tmp_path: Path) -> None:
    repos.add_note(content="Of the app")
    other = GitFolder(tmp_path / "tool")
    other.commit("x", "1")
    assert titles(repos.get_repo_memory(other.root)) == []


def test_questions_in_a_repository_hide_what_is_of_other_branches(
    repos: Repos, git: GitFolder, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = repos.upsert_decision(summary="Sessions live in Redis", rationale="On main.")
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    topic = repos.upsert_decision(summary="Sessions live in Postgres", rationale="A trial.")
    git.checkout("main")
    question = "where do sessions live?"
    assert {x.id for x in memory.recall(question)} == {main.id, topic.id}
    found = memory.recall(question, repo=git.root)
    assert ({x.id for x in found}, found.hidden) == ({main.id}, (HiddenMatches(1, "branch"),))
    assert {x.id for x in memory.recall(question, repo=git.root, all=True)} == {main.id, topic.id}
    assert {x.id for x in memory.context(question, repo=git.root).items} == {main.id}
    with pytest.raises(errors.NotARepositoryError):
        memory.recall(question, repo=git.root.parent)

    def told(*words: str) -> str:
        done = CliRunner().invoke(cli, [*words])
        return done.stdout + done.stderr

    tools = [TOOLS_BY_NAME[x] for x in ("memory_recall", "memory_get_context")]
    for command in ("recall", "context"):
        here = told(command, question)
        assert "Redis" in here
        assert "Postgres" not in here
        assert "1 more is hidden because it belongs to another branch; --all shows it" in here
        assert "Postgres" in told(command, question, "--all")
    with AgentMemory(memory.settings) as agent:
        for tool in tools:
            assert "Postgres" not in str(run_tool(agent, tool, {"query": question}))
            assert "Postgres" in str(run_tool(agent, tool, {"query": question, "all": True}))
    monkeypatch.chdir(git.root.parent)
    assert "Postgres" in told("recall", question)
    assert "Postgres" not in told("recall", question, "--repo", str(git.root))
    git.checkout("feature")
    assert {x.id for x in memory.recall(question, repo=git.root)} == {main.id, topic.id}


def test_an_expired_fact_of_another_branch_is_not_counted_as_hidden_by_it(
    repos: Repos, git: GitFolder, memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.branch("feature")
    topic = repos.upsert_decision(summary="Sessions live in Postgres", rationale="A trial.")
    memory.update(topic.id, set={"expiresAt": "2020-01-01T00:00:00Z"})
    git.checkout("main")
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    with vaultsync.open(str(vault), agent="indy") as agent:
        agent.index()
        found = agent.recall("where do sessions live?", mode="vector", repo=git.root)
    assert [each.reason for each in found.hidden] == ["expired"]


def test_where_no_fact_is_of_the_repository_a_question_asks_no_git(
    repos: Repos, git: GitFolder, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("Sessions live in Redis.")
    monkeypatch.setattr("subprocess.Popen", None)
    assert len(memory.recall("where do sessions live?", repo=git.root)) == 1


def test_a_repository_git_cannot_read_is_told(repos: Repos, git: GitFolder, memory: Memory) -> None:
    repos.add_note(content="Sessions live in Redis.")
    (git.root / ".git" / "HEAD").write_text("damaged")
    found = memory.recall("where do sessions live?", repo=git.root)
    assert len(found) == 1
    assert found.degraded[0].startswith("Facts of other branches cannot be told apart: ")


# --- branches that were merged, renamed, deleted --------------------------------------


def test_a_squash_is_promoted(repos: Repos, git: GitFolder, memory: Memory, tmp_path: Path) -> None:
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    fact = repos.upsert_decision(summary="On feature")
    git.commit("b.py", "b = 2\n")
    git.checkout("main")
    git("merge", "-q", "--squash", "feature")
    git("commit", "-q", "-m", "All of it (#7)")
    done = repos.promote()
    assert (done.promoted, done.ids) == (1, (fact.id,))
    assert memory.get(fact.id).properties["promotedTo"] == [git.head()]
    assert repos.promote().promoted == 0
    git("branch", "-q", "-D", "feature")
    git("clone", "-q", "--no-local", str(git.root), str(tmp_path / "clone"))
    git("remote", "set-url", "origin", "https://example.org/team/app", root=tmp_path / "clone")
    assert titles(repos.get_repo_memory(tmp_path / "clone")) == ["On feature"]
    assert memory.undo(done.run).run
    assert "promotedTo" not in memory.get(fact.id).properties


def test_a_branch_is_promoted_once_it_is_merged(repos: Repos, git: GitFolder) -> None:
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    repos.add_note(content="On feature")
    git.checkout("main")
    with pytest.raises(errors.BranchNotMergedError, match="not merged"):
        repos.promote(source="feature", target="main")
    with pytest.raises(errors.UnknownBranchError):
        repos.promote(source="nothing")
    with pytest.raises(errors.UnknownBranchError):
        repos.promote(target="nothing")
    git("cherry-pick", "feature")
    assert repos.promote(source="feature", target="main").promoted == 1


@pytest.mark.parametrize("name", ["x" * 1000, "a\0b", "\ud800", "~nobody/x"])
def test_names_that_no_folder_and_no_branch_has_are_refused(repos: Repos, name: str) -> None:
    for call in (
        lambda: repos.identity(name),
        lambda: repos.promote(source=name),
        lambda: repos.copy(source="main", target=name),
    ):
        with pytest.raises(errors.RepositoryError):
            call()
    assert find_repository(name) in (None, Path(repos.identity().root))


def test_what_is_known_on_a_renamed_branch_is_copied(repos: Repos, git: GitFolder) -> None:
    git.branch("old")
    git.commit("b.py", "b = 1\n")
    repos.add_note(content="On old")
    git.checkout("main")
    git.branch("new")
    git.commit("c.py", "c = 1\n")
    git("branch", "-q", "-D", "old")
    assert titles(repos.get_repo_memory()) == []
    assert repos.copy(source="old", target="new").copied == 1
    assert titles(repos.get_repo_memory()) == ["On old"]
    git.checkout("main")
    assert titles(repos.get_repo_memory()) == []
    with pytest.raises(errors.UnknownBranchError):
        repos.copy(source="nothing", target="main")


def test_an_unmerged_branch_is_one_proposal(repos: Repos, git: GitFolder, memory: Memory) -> None:
    git.branch("feature/x")
    git.commit("b.py", "b = 1\n")
    for number in range(4):
        repos.upsert_decision(summary=f"Decision {number}")
    repos.append_summary("r", "s", "Tried it.")
    git.checkout("main")
    assert repos.maintain().proposed == 0
    git("branch", "-q", "-D", "feature/x")
    git("branch", "-q", "wip/feature/x")  # another branch, whose name only ends like that
    assert repos.maintain().proposed == 1
    git.commit("c.py", "c = 1\n")
    assert repos.maintain().proposed == 0
    (proposal,) = memory.proposals()
    assert (proposal.kind, proposal.title) == ("branch", "Keep 4 decisions of feature/x")
    assert titles(repos.get_repo_memory()) == []
    memory.accept_proposals([proposal.id])
    assert len(repos.get_repo_memory().decisions) == 4
    assert repos.maintain().proposed == 0


def test_a_renamed_or_merged_branch_is_not_asked_about(repos: Repos, git: GitFolder) -> None:
    for name in ("one", "two"):
        git.checkout("main")
        git.branch(name)
        git.commit(f"{name}.py", "x = 1\n")
        repos.add_note(content=f"On {name}")
    git("branch", "-q", "-m", "two", "other")
    git.checkout("main")
    git("merge", "-q", "--squash", "one")
    git("commit", "-q", "-m", "One")
    git("branch", "-q", "-D", "one")
    found = repos.maintain()
    assert (found.promoted, found.proposed) == (1, 0)


def test_old_summaries_are_folded_into_weekly_digests(
    vault: Path, git: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(git.root)
    marker = vault / ".meta" / "config.toml"
    marker.write_text(marker.read_text() + "\n[repos]\nsummaries_max_entries = 8\n")
    with vaultsync.open() as memory:
        repos = memory.repos
        for step in range(9):
            text = f"Did part {step}, which took a while.\nDecision: use {step}."
            done = f"\n- [x] part {step}" if step == 1 else ""
            repos.append_summary("run", f"s{step}", text + done, follow_ups=[f"Part {step + 1}"])
        assert len((folder_of(repos) / "summaries.jsonl").read_text().splitlines()) == 8
        assert repos.maintain().folded == 3
        found = repos.get_repo_memory()
        assert len(found.summaries) == 6
        (digest,) = found.notes
        assert digest.content.count("- Decision: use") == 3
        assert "- [ ] Part 2" in digest.content
        assert "- [ ] Part 1" not in digest.content
        assert "Did part 0" in digest.content
        text = repos.context().text
        assert "- Part 2\n" in text
        assert text.count("Part 2") == 1
        assert repos.maintain().folded == 0
        memory.undo()
        assert len(memory.list(type="episodic").facts) == 9


@pytest.mark.parametrize("scope", ["perBranch", "sharedRepo"])
def test_summaries_are_folded_with_those_that_apply_to_the_same_branches(
    vault: Path, git: GitFolder, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.chdir(git.root)
    marker = vault / ".meta" / "config.toml"
    marker.write_text(marker.read_text() + "\n[repos]\nsummaries_max_entries = 4\n")
    with vaultsync.open() as memory:
        repos = memory.repos
        for step in range(5):
            repos.append_summary("all", f"s{step}", f"Of all: {step}", branch_scope="sharedRepo")
        for name in ("one", "two"):
            git.commit("a", name)
            git("checkout", "-q", "--detach")
            for step in range(3):
                repos.append_summary(name, f"s{step}", f"Of {name}: {step}")
            git.checkout("main")
        git("checkout", "-q", "--detach")
        monkeypatch.setenv("MEMORY_BRANCH_SCOPE", scope)
    with vaultsync.open() as memory:
        assert memory.repos.maintain().folded == 2
        git.checkout("HEAD~2")
        found = memory.repos.get_repo_memory(branch_scope="perBranch")
        assert [x.summary for x in found.summaries] == ["Of all: 4", "Of all: 3", "Of all: 2"]
        assert [x.content.count("Of all") for x in found.notes] == [2]


def test_a_daemon_promotes_what_was_merged(repos: Repos, git: GitFolder, memory: Memory) -> None:
    git.branch("feature")
    git.commit("b.py", "b = 1\n")
    fact = repos.add_note(content="On feature")
    git.checkout("main")
    git.commit("c.py", "c = 1\n")
    git("cherry-pick", "feature")
    assert repos.known_roots() == [Path(os.path.realpath(git.root))]
    memory.close()
    DaemonRunner(memory.settings, once=True).run()
    with vaultsync.open() as later:
        assert later.get(fact.id).properties["promotedTo"] == [git.head()]


def test_a_working_copy_whose_history_is_rewritten_keeps_what_was_known(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, repos = tmp_path / "mine", memory.repos
    git = GitFolder(root)
    monkeypatch.chdir(root)
    git.commit("a.py", "a = 1\n")
    repos.upsert_convention(title="Of all branches", content="It stays.", unscoped=True)
    repos.add_note(content="On the first commit")
    git("commit", "-q", "--amend", "-m", "Begin", "--no-edit")
    known = ["Of all branches", "On the first commit"]
    assert titles(repos.get_repo_memory()) == known
    git.commit("b.py", "b = 1\n")
    repos.add_note(content="On the second commit")
    git("rebase", "-q", "--root", "--exec", "git commit -q --amend --no-edit --trailer x=y")
    known.append("On the second commit")
    assert titles(repos.get_repo_memory()) == known
    git.branch("feature")
    assert titles(repos.get_repo_memory()) == known

    shutil.rmtree(root / ".git")
    other = GitFolder(root)
    other.commit("other.py", "c = 1\n")
    assert titles(repos.get_repo_memory()) == []


@pytest.mark.parametrize("has_commit", [False, True])
def test_another_repository_in_the_same_folder_knows_nothing_of_the_former(
    repos: Repos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_commit: bool
) -> None:
    """Nor if the folder has the commits of both, or the former one has none yet."""
    root = tmp_path / "reused"
    git = GitFolder(root)
    monkeypatch.chdir(root)
    git("remote", "add", "origin", "https://example.org/client/private.git")
    if has_commit:
        git.commit("a.py", "a = 1\n")
    repos.upsert_convention(title="Of the client", content="It is private.", unscoped=True)
    if has_commit:
        git("checkout", "-q", "--orphan", "other")
        git("remote", "set-url", "origin", "https://example.org/ada/public.git")
    else:
        shutil.rmtree(root / ".git")
        git = GitFolder(root)
        git("remote", "add", "origin", "https://example.org/ada/public.git")
    git.commit("b.py", "b = 1\n")
    assert titles(repos.get_repo_memory()) == []


def test_a_shallow_clone_shares_what_it_remembers_and_is_completed(
    memory: Memory, git: GitFolder, repos: Repos, tmp_path: Path
) -> None:
    git.commit("a.py", "a = 1\n")
    git.commit("b.py", "b = 1\n")
    repos.add_note(content="In the full clone")
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", f"file://{git.root}", str(shallow))
    git("remote", "set-url", "origin", "https://example.org/team/app.git", root=shallow)
    repos.add_note(shallow, content="In the shallow clone")
    assert titles(repos.get_repo_memory(shallow)) == ["In the shallow clone"]
    known = ["In the full clone", "In the shallow clone"]
    assert titles(repos.get_repo_memory()) == known
    git("fetch", "-q", "--unshallow", f"file://{git.root}", root=shallow)
    assert titles(repos.get_repo_memory(shallow)) == known
    assert repos.identity(shallow).lineage == repos.identity().lineage


# --- the files, both ways -------------------------------------------------------------


def test_an_edit_of_the_file_is_an_edit_of_the_fact(repos: Repos, memory: Memory) -> None:
    convention = repos.upsert_convention(title="Style", content="Tabs.", tags=["a"])
    decision = repos.upsert_decision(summary="Keep it", rationale="Why not.")
    gone = repos.add_note(content="Soon gone")
    folder = folder_of(repos)
    edit_memory(folder, ("Tabs.", "Blanks."), ('"rationale": "Why not."', '"rationale": "So."'))
    found = json.loads((folder / "memory.json").read_text())
    found["notes"] = [{"content": "New by hand"}]
    found["decisions"][0]["impactedPaths"] = ["src//x"]
    (folder / "memory.json").write_text(json.dumps(found))
    assert titles(repos.get_repo_memory()) == ["Style", "Keep it", "New by hand"]
    assert memory.get(convention.id).content == "Blanks."
    assert memory.get(decision.id).content == "So."
    assert memory.get(decision.id).own["decisionImpactedPaths"] == ["src/x"]
    with pytest.raises(errors.FactNotFoundError):
        memory.get(gone.id)
    (note,) = json.loads((folder / "memory.json").read_text())["notes"]
    assert note["id"]


def staged_beside(path: Path, text: str) -> Path:
    """A file that a write displaced before a crash."""
    staged = path.parent / STAGING_DIR / f"{DiskMemoryFile(path, '').staged_prefix}-0.1a2b.3c4d"
    staged.parent.mkdir()
    staged.write_text(text)
    return staged


def test_a_purge_erases_a_fact_from_the_files_of_all_branches_and_their_versions(
    repos: Repos, git: GitFolder, memory: Memory
) -> None:
    goes = repos.upsert_decision(summary="Keep Ottilie", rationale="She knows Gurnigel.").id
    kept = repos.add_note(content="Something else")
    step = repos.append_summary("run", "s1", "Told Ottilie about it.")
    on_main = folder_of(repos)
    git.branch("feature")
    repos.get_repo_memory()
    feature = folder_of(repos)
    edit_memory(feature, ("Something else", "Something by hand"))
    (feature / ".memory.json.1a2b").write_bytes((feature / "memory.json").read_bytes())
    (on_main / ".summaries.jsonl.1a2b").write_bytes((on_main / "summaries.jsonl").read_bytes())
    (feature / "indexes" / ".memory.1.json.1a2b").write_text(goes)
    displaced = (feature / "memory.json").read_text().replace("by hand", "displaced")
    staged = staged_beside(feature / "memory.json", displaced)
    staged.with_name(f"~{staged.name}").write_text(displaced[:-9])
    with (feature / "summaries.jsonl").open("a") as lines:
        lines.write('{"run": "no summary"}\n')

    report = memory.purge(goes, step.id, max_delete=2)
    assert report.remaining == 0
    assert not {*map(str, (on_main / "memory.json", feature / "memory.json"))} & {*report.quoted}
    left = [path.read_text() for path in on_main.parent.rglob("*.json*") if path.is_file()]
    assert not any(word in text for text in left for word in ("Ottilie", "Gurnigel", goes))
    assert sum('"run": "no summary"' in text for text in left) == 1
    (edited,) = titles(repos.get_repo_memory())
    assert edited == memory.get(kept.id).content
    assert "by hand" in edited
    assert "Something displaced" in {x.after for x in memory.history(kept.id)} | {edited}


def test_a_purge_finds_a_fact_in_a_file_it_cannot_parse(repos: Repos, memory: Memory) -> None:
    goes = repos.add_note(content="The wedding of Ottilie is secret.").id
    path = folder_of(repos) / "memory.json"
    path.write_text(path.read_text() + "by hand, not yet JSON")
    of_another_vault = path.parent.with_name("another") / "memory.json"
    of_another_vault.parent.mkdir()
    of_another_vault.write_text('{"notes": [{"content": "The wedding of Ottilie is secret."}]}')
    report = memory.purge(goes)
    assert [(x.path, x.what) for x in report.found] == [(str(path), "id")]
    assert {*report.quoted} == {str(path), str(of_another_vault)}
    path.write_text('{"notes": [{"content": "The wedding of Ottilie is secret."}]}')
    again = memory.purge()
    assert (again.remaining, again.quoted) == (0, ())


def test_what_was_written_after_an_editor_opened_the_file_stays(repos: Repos) -> None:
    repos.upsert_convention(title="Style", content="Tabs.")
    path = folder_of(repos) / "memory.json"
    opened = path.read_text()
    repos.add_note(content="Written meanwhile")
    repos.upsert_convention(title="Style", content="Blanks.")
    path.write_text(opened.replace('"notes": []', '"notes": [{"content": "By hand"}]'))
    assert sorted(titles(repos.get_repo_memory())) == ["By hand", "Style", "Written meanwhile"]
    assert repos.get_repo_memory().conventions[0].content == "Blanks."


@pytest.mark.parametrize("gone", ["forgotten", "of another type", "purged"])
def test_an_edit_of_an_entry_that_is_gone_stays(memory: Memory, repos: Repos, gone: str) -> None:
    repos.add_note(content="Another")
    entry = repos.upsert_decision(summary="Redis", rationale="It outlives us.")
    path = folder_of(repos) / "memory.json"
    edited = path.read_text().replace("outlives us.", "outlives us, says Mara.")
    if gone == "forgotten":
        memory.forget(entry.id)
    elif gone == "purged":
        memory.purge(entry.id)
    else:
        memory.update(entry.id, set={"type": "lesson"})
    path.write_text(edited)
    (decision,) = repos.get_repo_memory().decisions
    assert decision.rationale == "It outlives us, says Mara."
    assert (decision.id == entry.id) == (gone == "forgotten")
    assert repos.get_repo_memory().decisions == (decision,)
    assert memory.verify().equal


def test_the_newest_entry_can_be_deleted_in_the_file(repos: Repos) -> None:
    repos.add_note(content="First")
    path = folder_of(repos) / "memory.json"
    before = path.read_text()
    repos.add_note(content="Second")
    path.write_text(before)
    assert titles(repos.get_repo_memory()) == ["First"]


def test_a_crash_before_the_file_was_written_deletes_nothing(
    repos: Repos, monkeypatch: pytest.MonkeyPatch
) -> None:
    repos.add_note(content="First")

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr("vaultsync.backends.repo_files.repo_folder.RepoFolder.put_memory", die)
        patched.setattr(RepoFiles, "_undo_write", lambda *_: None)  # nobody is left to do it
        with pytest.raises(Died):
            repos.add_note(content="Second")
    assert titles(repos.get_repo_memory()) == ["First", "Second"]


def test_an_older_version_put_back_after_a_crash_deletes_nothing_that_the_file_never_had(
    repos: Repos, monkeypatch: pytest.MonkeyPatch
) -> None:
    repos.add_note(content="First")
    path = folder_of(repos) / "memory.json"
    before = path.read_bytes()
    repos.add_note(content="Second")
    with monkeypatch.context() as patched:
        patched.setattr(RepoFiles, "_undo_write", lambda *_: None)
        patched.setattr(RepoFolder, "put_memory", Steps(1).of(RepoFolder.put_memory))
        with pytest.raises(Died):
            repos.add_note(content="Third")
    path.write_bytes(before)
    assert titles(repos.get_repo_memory()) == ["First", "Third"]


class Died(BaseException):
    pass


STEPS = [
    *((syscalls, x) for x in ("write_new", "flush_at", "replace", "read_bytes")),
    *((syscalls, x) for x in ("remove", "flush", "finish_interrupted", "list_names")),
    *((RepoFolder, x) for x in ("put_state", "keep_version", "put_memory", "drop_displaced")),
    *((RepoFiles, x) for x in ("_take_edits", "_apply", "_project")),
    (fact_service, "write_new"),
    (Path, "unlink"),
]
"""Functions before and after each of which a process may end."""


class Steps:
    """The steps of a process that dies at one of them."""

    def __init__(self, last: int) -> None:
        self.last, self.done = last, 0

    def take(self) -> None:
        self.done += 1
        if self.done == self.last:
            raise Died

    def of(self, run: Any, before: Any = bool) -> Any:  # noqa: ANN401 - any function
        """The function with a step before and one after it."""

        def counted(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as `run`
            before()
            self.take()
            found = run(*given, **more)
            self.take()
            return found

        return counted


@pytest.mark.parametrize(("saves", "swaps"), [(1, True), (2, True), (1, False)])
def test_a_save_is_taken_over_once_wherever_the_write_dies(
    repos: Repos, monkeypatch: pytest.MonkeyPatch, saves: int, swaps: bool
) -> None:
    """A person saves in the moment of the write, and perhaps again; then the process ends."""
    exchange = syscalls.exchange if swaps else lambda *_: False
    repos.add_note(content="Known.")
    path, hand = folder_of(repos) / "memory.json", ["Known."]

    def dies_at(number: int) -> bool:
        """Whether a write came to that step, and ended there."""
        steps, opened = Steps(number), json.loads(path.read_text())
        left = [f"By hand, {number}, {x}." for x in range(saves)]

        def save() -> None:
            if left:
                hand.append(left.pop())
                opened["notes"].append({"content": hand[-1]})
                path.write_text(json.dumps(opened))

        with monkeypatch.context() as patched:
            patched.setattr(RepoFiles, "_undo_write", lambda *_: None)  # nobody is left to do it
            for owner, name in STEPS:
                patched.setattr(owner, name, steps.of(getattr(owner, name)))
            patched.setattr(syscalls, "exchange", steps.of(exchange, save))
            try:
                repos.add_note(content=f"By an agent, {number}.")
            except Died:
                return True
        return False

    number = 0
    while dies_at(number := number + 1):
        found = titles(repos.get_repo_memory())
        assert len(found) == len({*found}), number
        assert {*hand} <= {*found}, number
        hand = found
    assert number > 60
    assert {*hand} <= {*titles(repos.get_repo_memory())}
    assert not RepoFolder(path.parents[1], path.parent.name).displaced_paths()


def test_a_write_that_saves_always_come_before_is_not_taken_for_deleted(
    repos: Repos, monkeypatch: pytest.MonkeyPatch
) -> None:
    repos.add_note(content="Known.")
    path, exchange, hand = folder_of(repos) / "memory.json", syscalls.exchange, ["Known."]
    opened = json.loads(path.read_text())

    def saved(*entries: syscalls.EntryAt) -> bool:
        if json.loads(path.read_text()) == opened or len(hand) == 1:
            hand.append(f"By hand, {len(hand)}.")
            opened["notes"].append({"content": hand[-1]})
            path.write_text(json.dumps(opened))
        return exchange(*entries)

    with monkeypatch.context() as patched:
        patched.setattr(syscalls, "exchange", saved)
        repos.add_note(content="By an agent.")
    assert len(hand) > 20
    assert sorted(titles(repos.get_repo_memory())) == sorted(["By an agent.", *hand])
    assert len(json.loads(path.read_text())["notes"]) == len(hand) + 1


def test_a_write_reads_only_what_changed(repos: Repos, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def note(self: NoteView, fact: Fact) -> Fact:
        done.append(fact.id)
        return redact(self, fact)

    def cost(content: str) -> int:
        done.clear()
        repos.add_note(content=content)
        return len(done)

    redact = NoteView.redact
    monkeypatch.setattr(NoteView, "redact", note)
    for number in range(3):
        repos.add_note(content=f"Note {number}.")
    among_few = cost("Among few.")
    for number in range(9):
        repos.upsert_convention(title=f"Title {number}", content="Content.")
    assert cost("Among many.") <= among_few < 6


def test_keys_that_another_tool_wrote_stay_in_the_file(repos: Repos) -> None:
    kept = repos.upsert_convention(title="Style", content="Tabs.")
    path = folder_of(repos) / "memory.json"
    found = json.loads(path.read_text())
    more = {"score": 0.5, "by": ["ö", {"deep": None, "key": TOKEN, "half": "\ud800"}]}
    found["conventions"][0] |= more
    found["notes"] = [{"content": "New.", "source": "tool", **more}, {"content": "Plain."}]
    path.write_text(json.dumps({"schema": 3, **found, "tool": more}))
    repos.upsert_convention(title="Style", content="Blanks.")
    repos.add_note(content="Ours.")
    assert TOKEN not in path.read_text()
    shown = json.loads(path.read_text())
    assert (shown["schema"], shown["tool"]["by"][0]) == (3, "ö")
    assert (shown["conventions"][0]["content"], shown["conventions"][0]["score"]) == (
        "Blanks.",
        0.5,
    )
    assert {x["content"]: x.get("score") for x in shown["notes"]} == {
        "New.": 0.5,
        "Plain.": None,
        "Ours.": None,
    }
    assert shown["conventions"][0]["id"] == kept.id
    before = path.stat().st_mtime_ns
    repos.get_repo_memory()
    assert path.stat().st_mtime_ns == before


def test_what_a_person_saves_meanwhile_stays(repos: Repos, monkeypatch: pytest.MonkeyPatch) -> None:
    repos.add_note(content="Known.")
    path, new = folder_of(repos) / "memory.json", repos._files._new

    def saved_meanwhile(*given: Any, **more: Any) -> Fact:  # noqa: ANN401 - as `_new`
        monkeypatch.setattr(repos._files, "_new", new)
        found = json.loads(path.read_text())
        found["notes"].append({"content": "By hand."})
        path.write_text(json.dumps(found))
        return new(*given, **more)

    monkeypatch.setattr(repos._files, "_new", saved_meanwhile)
    repos.add_note(content="By an agent.")
    assert {*titles(repos.get_repo_memory())} == {"Known.", "By hand.", "By an agent."}


def test_an_old_version_that_is_saved_in_the_moment_of_a_write_changes_nothing_back(
    repos: Repos, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = repos.upsert_convention(title="Style", content="Tabs.")
    path, put = folder_of(repos) / "memory.json", RepoFolder.put_memory
    opened = json.loads(path.read_text())
    repos.upsert_convention(id=known.id, title="Style", content="Blanks.")
    repos.add_note(content="Known.")

    def saved_just_before(self: RepoFolder, data: bytes, expect: bytes | None) -> bool:
        monkeypatch.setattr(RepoFolder, "put_memory", put)
        path.write_text(json.dumps({**opened, "notes": [{"content": "By hand."}]}))
        return put(self, data, expect)

    monkeypatch.setattr(RepoFolder, "put_memory", saved_just_before)
    repos.add_note(content="New.")
    found = repos.get_repo_memory()
    assert [x.content for x in found.conventions] == ["Blanks."]
    assert {x.content for x in found.notes} == {"Known.", "By hand.", "New."}


def test_both_edits_of_a_text_are_merged(repos: Repos, memory: Memory) -> None:
    text = "Alpha.\n\nBravo.\n\nCharlie."
    convention = repos.upsert_convention(title="Style", content=text)
    edit_memory(folder_of(repos), ("Alpha.", "Alpha, by hand."))
    memory.update(convention.id, content=text.replace("Charlie.", "Charlie, by an agent."))
    (found,) = repos.get_repo_memory().conventions
    assert found.content == "Alpha, by hand.\n\nBravo.\n\nCharlie, by an agent."


def test_an_edit_of_a_note_comes_to_the_file(repos: Repos, memory: Memory) -> None:
    convention = repos.upsert_convention(title="Style", content="Tabs.")
    path = memory.settings.root / str(memory.get(convention.id).path)
    path.write_text(path.read_text().replace("Tabs.", "Blanks."))
    memory.sync()
    repos.get_repo_memory()
    assert "Blanks." in (folder_of(repos) / "memory.json").read_text()


def test_a_file_that_cannot_be_parsed_is_left_alone(repos: Repos) -> None:
    repos.add_note(content="Known")
    path = folder_of(repos) / "memory.json"
    numbers = '{"tool": NaN}', '{"tool": -1e400}'
    for broken in ("{", "[]", *numbers, '{"notes": {}}', '{"notes": [1]}', "[" * 100_000):
        path.write_text(broken)
        for call in (repos.get_repo_memory, lambda: repos.add_note(content="More")):
            with pytest.raises(errors.RepoFileParseError):
                call()
        assert path.read_text() == broken
    path.unlink()
    assert titles(repos.get_repo_memory()) == ["Known"]


@pytest.mark.parametrize("content", ["", "a\0b", "x" * 5_000_000])
def test_of_a_file_with_an_invalid_entry_none_is_taken_over(repos: Repos, content: str) -> None:
    kept = repos.upsert_convention(title="Use pnpm", content="In packages/.")
    path = folder_of(repos) / "memory.json"
    written = json.loads(path.read_text())
    written["conventions"].append({"title": "Use tabs", "content": "Always."})
    edited = json.dumps({**written, "notes": [{"content": content}]})
    path.write_text(edited)
    for _ in range(2):
        with pytest.raises(errors.RepoFileParseError, match=r"memory\.json"):
            repos.get_repo_memory()
    assert path.read_text() == edited
    path.write_text(json.dumps(written))
    assert titles(repos.get_repo_memory()) == [kept.title, "Use tabs"]


def test_an_emptied_file_deletes_nothing(repos: Repos) -> None:
    for number in range(3):
        repos.add_note(content=f"Note {number}")
    (folder_of(repos) / "memory.json").write_text("{}")
    assert len(titles(repos.get_repo_memory())) == 3


def test_a_line_that_another_program_appends_is_taken_over(repos: Repos) -> None:
    repos.append_summary("r1", "s1", "Ours.")
    path = folder_of(repos) / "summaries.jsonl"
    line = {"runId": "r2", "stepId": "s1", "timestamp": "x", "summary": "Theirs.", "tags": []}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\nno json\n" + '{"runId": "cut off')
    assert titles(repos.get_repo_memory()) == ["Theirs.", "Ours."]
    lines = [json.loads(each) for each in path.read_text().splitlines()]
    assert [x["summary"] for x in lines] == ["Ours.", "Theirs."]
    assert all(x["id"] for x in lines)
    assert titles(repos.get_repo_memory()) == ["Theirs.", "Ours."]


def test_a_line_keeps_its_time_and_is_told_from_other_steps(
    repos: Repos, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    repos.append_summary("r1", "s1", "Done.")
    path = folder_of(repos) / "summaries.jsonl"
    steps = {"s1": "2026-01-01T08:00:00+01:00", "s2": "2026-01-02", "s3": "2999-01-01T00:00:00Z"}
    lines = [
        json.dumps({"runId": "r2", "stepId": step, "timestamp": time, "summary": f"Done. {TOKEN}"})
        for step, time in steps.items()
    ]
    path.write_text(path.read_text() + "".join(f"{each}\n" for each in [*lines, lines[0]]))

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RepoFiles, "_put_lines", crash)
        with pytest.raises(KeyboardInterrupt):
            repos.get_repo_memory()
    found = repos.get_repo_memory().summaries
    assert sorted((x.run_id, x.step_id) for x in found) == [
        ("r1", "s1"),
        ("r2", "s1"),
        ("r2", "s2"),
        ("r2", "s3"),
    ]
    times = {x.step_id: x.timestamp for x in found if x.run_id == "r2"}
    assert (times["s1"], times["s2"]) == ("2026-01-01T07:00:00Z", "2026-01-02T00:00:00Z")
    assert times["s3"] == memory.get(found[0].id).updated_at
    shown = [json.loads(line)["timestamp"] for line in path.read_text().splitlines()]
    assert sorted(shown) == sorted(x.timestamp for x in found)


def test_a_full_disk_takes_the_fact_back(
    repos: Repos, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = repos.upsert_convention(title="Style", content="Tabs.")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("vaultsync.backends.repo_files.repo_folder.replace_file", full)
        with pytest.raises(vaultsync.VaultsyncError, match="No space"):
            repos.add_note(content="Too much")
        with pytest.raises(vaultsync.VaultsyncError, match="No space"):
            repos.upsert_convention(title="Style", content="Blanks.")
    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with pytest.raises(vaultsync.VaultsyncError, match="No space"):
            repos.append_summary("r", "s", "Too much")
    assert titles(repos.get_repo_memory()) == ["Style"]
    assert memory.get(known.id).content == "Tabs."


def test_the_lock_of_another_is_waited_for(repos: Repos, monkeypatch: pytest.MonkeyPatch) -> None:
    repos.add_note(content="Known")
    monkeypatch.setattr("vaultsync.backends.repo_files.repo_folder.MEMORY_SECONDS", 0.05)
    monkeypatch.setattr("vaultsync.backends.repo_files.repo_folder.SUMMARIES_SECONDS", 0.05)
    other = RepoFolder(repos._branches.root, repos.identity().repo_hash)
    with other.memory_lock():
        assert titles(repos.get_repo_memory()) == ["Known"]
        with pytest.raises(errors.LockTimeoutError):
            repos.add_note(content="More")
        edit_memory(other.path, ("Known", "Known by hand"))
        with pytest.raises(errors.LockTimeoutError):
            repos.get_repo_memory()
    with other.summaries_lock(), pytest.raises(errors.LockTimeoutError):
        repos.append_summary("r", "s", "t")


# --- context, commands, tools ---------------------------------------------------------


def test_a_context_has_what_the_files_at_hand_need(repos: Repos, git: GitFolder) -> None:
    repos.upsert_convention(title="Style", content="Tabs.")
    repos.upsert_decision(summary="About a", rationale="Because a.", impacted_paths=["a/"])
    repos.upsert_decision(summary="About b", rationale="Because b.", impacted_paths=["b.py"])
    repos.append_summary("r", "s", "It works.", follow_ups=["Test it"])
    (git.root / "b.py").write_text("")
    found = repos.context()
    assert [(x.kind, x.title) for x in found.items] == [
        ("convention", "Style"),
        ("decision", "About b"),
        ("follow_up", "Test it"),
        ("episodic", "It works"),
        ("map", "Map"),
    ]
    assert [(x.title, x.why) for x in found.left_out] == [("About a", "it is about other files")]
    assert found.chars == len(found.text) <= found.max_chars == 8_000
    for each in ("a/deep/x.py", f"{git.root}/a/deep/x.py", f"{git.root}/b/../a", "./a/x"):
        assert "About a" in repos.context(paths=[each]).text, each
    assert "About a" not in repos.context(paths=["/elsewhere/a/x.py"]).text
    paths = [f"{git.root}/b/", f"{git.root}/c.py", "d/../e"]
    absolute = repos.upsert_decision(summary="About b and c", impacted_paths=paths)
    assert absolute.impacted_paths == ("b/", "c.py", "e")
    small = repos.context(max_chars=60)
    assert small.chars <= 60
    assert small.left_out


def test_ten_steps_are_summarized_and_used(repos: Repos) -> None:
    """The seed's integration test: a workflow of ten steps, each of which reads what was done."""
    for step in range(10):
        before = repos.build_context_from_memory(repos.identity().repo_hash, 8_000)
        for earlier in range(step):
            assert f"Did part {earlier}." in before
            assert (f"- Part {earlier + 1}\n" in before) == (earlier + 1 == step)
        done = f"\n- [x] Part {step}" if step else ""
        repos.append_summary(
            "run", f"step-{step}", f"Did part {step}.{done}", follow_ups=[f"Part {step + 1}"]
        )
    repos.append_summary("run", "step-10", "Did part 10.")
    assert "Did part 0." not in repos.context().text
    assert "Did part 10." in repos.context().text


def run(*words: str, code: int = 0) -> Any:  # noqa: ANN401 - JSON
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.output)


def test_the_command_line_writes_lists_and_packs(
    vault: Path, git: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(git.root)
    found = run("repo", "identity")
    assert found["remote"] == "https://example.org/team/app"
    assert found["root"] == os.path.realpath(git.root)
    assert (found["branch"], found["branch_scope"]) == ("main", "perBranch")
    first = run("repo", "add", "convention", "Style", "Tabs.", "--tag", "js")
    run("repo", "add", "decision", "Keep it", "Because.", "--path", "src/")
    run("repo", "add", "note", "A note", "--agent", "indy")
    run("repo", "summary", "r1", "s1", "Done.", "--follow-up", "Test")
    listed = run("repo", "list", "--repo", str(git.root))
    assert (listed["conventions"], listed["notes"][0]["source"]) == ([first], "agent")
    assert run("repo", "context", "--max-chars", "500")["chars"] <= 500
    assert run("repo", "list", "--repo", str(vault), code=1)["error"]["kind"] == (
        "NotARepositoryError"
    )
    plain = [
        CliRunner().invoke(cli, ["repo", *words]).output
        for words in (["identity"], ["list"], ["context"], ["add", "note", "Plain"])
    ]
    assert "Style" in plain[1]
    assert "## Conventions" in plain[2]
    assert "recorded “Plain”, in project-app/notes/" in plain[3]


def test_a_credential_is_in_no_output(
    vault: Path, git: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(git.root)
    for words in (["identity"], ["identity", "--json"], ["list"], ["context", "--json"]):
        assert "s3cret" not in CliRunner().invoke(cli, ["repo", *words]).output


# --- the map, and files of instructions ------------------------------------------------


def test_the_map_is_in_contexts_and_ranked_around_open_files(repos: Repos, git: GitFolder) -> None:
    git.commit("app/store.py", "def open_store():\n    'Open it.'\n")
    git.commit("app/notes.py", "def read_notes():\n    'Read them.'\n")
    git.commit("app/main.py", "from app.notes import read_notes\n\nread_notes()\n")

    found = repos.map(paths=["app/main.py"])

    assert found.text.startswith("app/notes.py\n  1: def read_notes()  # Read them.\n")
    assert (found.cached, repos.map().cached) == (False, True)
    assert (folder_of(repos) / "indexes" / "repo-map.txt").is_file()
    pack = repos.context(paths=["app/main.py"])
    assert found.text in pack.text
    assert pack.items[-1].kind == "map"
    assert repos.context(max_chars=80).chars <= 80


def test_a_context_waits_for_no_large_map(
    repos: Repos, git: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.commit("a.py", "def run(): pass\n")
    monkeypatch.setattr("vaultsync.api.repos._MOST_READ_FOR_CONTEXT", 0)

    assert "a.py" not in repos.context().text
    assert repos.map().read == 1
    assert "a.py" in repos.context().text


def test_a_context_is_packed_where_no_map_can_be_made(repos: Repos) -> None:
    repos.add_note(content="It is known.")
    lineage = repos.identity().lineage
    index = repos._branches.root / ".lineages" / lineage / "indexes" / "code.sqlite3"
    index.mkdir(parents=True)

    assert "It is known." in repos.context().text


def test_the_map_of_a_repository_that_is_gone_is_refused(repos: Repos, git: GitFolder) -> None:
    repos.add_note(content="It is known.")
    known = repos.identity().repo_hash
    shutil.rmtree(git.root)

    with pytest.raises(errors.NotARepositoryError):
        repos.map(known)
    assert "It is known." in repos.context(known).text


def test_conventions_are_kept_in_instructions(repos: Repos, git: GitFolder, memory: Memory) -> None:
    file = git.root / "AGENTS.md"
    file.write_text("# Mine\n\nText.\n")
    rule = repos.upsert_convention(title="No tabs", content="Four spaces.")

    first = repos.instructions("AGENTS.md")

    assert (first.changed, first.included, first.left_out) == (True, (rule.id,), ())
    assert file.read_text().startswith("# Mine\n\nText.\n")
    assert "- **No tabs**: Four spaces.\n" in file.read_text()
    assert not repos.instructions(file).changed
    git("checkout", "-q", "-b", "other")
    repos.upsert_convention(title="Tabs", content="After all.")
    assert "Tabs**" in file.read_text() or repos.instructions(file).changed
    assert "After all." in file.read_text()
    memory.forget(rule.id)
    assert "Four spaces." in file.read_text()
    repos.instructions(file)
    assert "Four spaces." not in file.read_text()
    assert repos.instructions(file, budget=1).left_out != ()
    assert file.read_text() == "# Mine\n\nText.\n"


def test_the_command_prints_the_map_and_writes_instructions(
    vault: Path, repos: Repos, git: GitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.commit("a.py", "def run(): pass\n")
    run = CliRunner().invoke
    printed = run(cli, ["repo", "map"])
    assert (printed.exit_code, printed.stdout) == (0, "a.py\n  1: def run()\nREADME.md\n")
    found = json.loads(run(cli, ["repo", "map", "--refresh", "--json"]).stdout)
    assert (found["cached"], found["text"], found["read"]) == (False, printed.stdout, 1)
    monkeypatch.setattr("vaultsync.api.repo_maps.is_installed", lambda: False)
    assert "definitions are guessed" in run(cli, ["repo", "map"]).stderr

    repos.upsert_convention(title="No tabs", content="Four spaces.")
    written = run(cli, ["repo", "instructions", "AGENTS.md"])
    assert written.exit_code == 0
    assert "was written: 1 convention, " in written.stderr
    assert "is up to date" in run(cli, ["repo", "instructions", "AGENTS.md"]).stderr
    too_small = run(cli, ["repo", "instructions", "AGENTS.md", "--budget", "1", "--dry-run"])
    assert (too_small.exit_code, "1 did not fit" in too_small.stderr) == (3, True)
    assert json.loads(run(cli, ["repo", "instructions", "AGENTS.md", "--json"]).stdout)["tokens"]


def test_a_displaced_edit_that_was_taken_over_is_not_taken_again(
    repos: Repos, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = repos.add_note(content="Known.")
    gone = repos.add_note(content="Gone.")
    path = folder_of(repos) / "memory.json"
    opened = json.loads(path.read_text())
    opened["notes"][0]["content"] = "By hand."
    opened["notes"][1] = {"content": "New by hand."}
    path.write_text(json.dumps(opened))
    monkeypatch.setattr(syscalls, "may_be_written", lambda _: True)  # as on macOS
    assert titles(repos.get_repo_memory()) == ["By hand.", "New by hand."]
    new = json.loads(path.read_text())["notes"][1]["id"]
    memory.update(changed.id, content="By an agent.")
    memory.update(new, content="New by an agent.")
    memory.restore(gone.id)
    found = sorted(titles(repos.get_repo_memory()))
    assert found == ["By an agent.", "Gone.", "New by an agent."]


@pytest.mark.parametrize(
    ("content", "expected"),
    [("Tabs.", "Blanks."), ("Tabs of four.", "Tabs of four."), ("Blanks.", "Blanks.")],
)
def test_an_entry_without_base_is_no_second_fact(repos: Repos, content: str, expected: str) -> None:
    repos.add_note(content="First.")
    known = repos.upsert_convention(title="Style", content="Tabs.")
    path = folder_of(repos) / "memory.json"
    opened = json.loads(path.read_text())
    repos.upsert_convention(title="Style", content="Blanks.")
    opened["conventions"][0]["content"] = content
    staged_beside(path, json.dumps(opened))
    for _ in range(2):
        found = [(x.id, x.content) for x in repos.get_repo_memory().conventions]
        assert found == [(known.id, expected)]
