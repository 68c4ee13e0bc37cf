"""Every surface says that what an agent may only propose waits for the user."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import vaultsync
from tests.bridges import open_bridge
from tests.daemons import wait_until, watched
from tests.machines import configure_machine
from tests.mcp_clients import Home, make_home
from tests.surfaces.test_mcp_tools import call
from vaultsync.api.memory import Memory
from vaultsync.errors import ProposedError, ScopeDeniedError
from vaultsync.model.fact import Fact

pytestmark = pytest.mark.long(5)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """One whose agents may only propose to public."""
    made = make_home(tmp_path)
    configure_machine(made.vault, "")
    return made


@pytest.fixture
def fact(home: Home) -> Fact:
    with user(home) as memory:
        return memory.remember("It lifts ten tonnes.", title="Crane", scope="public")


def user(home: Home) -> Memory:
    return vaultsync.open(str(home.vault), state_dir=str(home.state))


ACTS: dict[str, Callable[[Memory, Fact, Path], object]] = {
    "remember": lambda memory, *_: memory.remember("The ferry is late.", scope="public"),
    "update": lambda memory, fact, _: memory.update(fact.id, content="Twelve."),
    "edit": lambda memory, fact, _: memory.edit(fact.id, append="More."),
    "supersede": lambda memory, fact, _: memory.supersede(fact.id, "It is gone."),
    "forget": lambda memory, fact, _: memory.forget(fact.id),
    "import": lambda memory, *_: memory.import_(['{"content": "Said.", "scope": "public"}']),
    "memory file": lambda memory, _, folder: memory.sync_memory_file(
        _memory_file(folder), scope="public"
    ),
}


def _memory_file(folder: Path) -> Path:
    file = folder / "MEMORY.md"
    file.write_text(
        "# Memory\n\n## Gate\n\nIt opens at seven on working days, and at nine on Sundays.\n",
        "utf-8",
    )
    return file


@pytest.mark.parametrize("name", ACTS)
def test_a_write_becomes_a_proposal_with_a_note_and_its_acceptance_can_be_undone(
    home: Home, fact: Fact, tmp_path: Path, name: str
) -> None:
    with home.memory("ada") as ada:
        before = [(each.id, each.content) for each in ada.list().facts]
        for _ in "ab":
            with pytest.raises(ProposedError, match="waits for the user") as waits:
                ACTS[name](ada, fact, tmp_path)
        assert [(each.id, each.content) for each in ada.list().facts] == before
        assert [each.id for each in ada.proposals()] == [waits.value.proposal.id]
        assert ada.status().proposals == 1
        with pytest.raises(ScopeDeniedError):
            ada.accept_proposals([waits.value.proposal.id])
    (note,) = home.vault.rglob("*.proposal.md")
    assert "Proposed by `ada`" in note.read_text("utf-8")
    with user(home) as memory:
        done = memory.accept_proposals([waits.value.proposal.id])
        assert [each.outcome for each in done.proposals] == ["accepted"]
        assert memory.undo(done.run).actions
        assert [(each.id, each.content) for each in memory.list().facts] == before
        assert memory.verify().equal


def test_commands_end_with_a_code_of_their_own(home: Home, fact: Fact, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"content": "Said.", "scope": "public"}\n', "utf-8")
    _memory_file(tmp_path)
    for words in (
        ["remember", "The ferry is late.", "--scope", "public"],
        ["update", fact.id, "--content", "Twelve."],
        ["edit", fact.id, "--append", "More."],
        ["supersede", fact.id, "It is gone."],
        ["forget", fact.id],
        ["memory-file", "sync", str(tmp_path / "MEMORY.md"), "--scope", "public"],
    ):
        done = home.run(*words, "--agent", "ada", "--json")
        assert (done.exit_code, list(json.loads(done.stdout))) == (3, ["proposal"])
        again = home.run(*words, "--agent", "ada")
        assert (again.exit_code, again.stdout) == (3, "")
        assert "waits for the user" in again.stderr
    assert home.run("proposals", "reject", "--kind", "write").exit_code == 0
    refused = home.run("remember", "The ferry is late.", "--scope", "public", "--agent", "ada")
    assert "the user rejected this before" in refused.stderr


def test_tools_answer_with_the_proposal(home: Home, fact: Fact) -> None:
    with home.memory("ada") as ada:
        for tool, given in (
            ("memory_store_fact", {"text": "The ferry is late.", "scope": "public"}),
            ("memory_update_fact", {"id": fact.id, "content": "Twelve."}),
            ("memory_edit_fact", {"id": fact.id, "append": "Twelve."}),
            ("memory_supersede", {"id": fact.id, "text": "It is gone."}),
            ("memory_forget", {"id": fact.id}),
        ):
            answer = call(ada, tool, **given)
            assert answer["proposal"]["kind"] == "write"
            assert "waits for the user" in answer["text"]


def test_the_bridge_accepts_it_and_says_that_it_waits(home: Home, fact: Fact) -> None:
    configure_machine(home.vault, "[permissions.agents.ada]\n")
    with open_bridge(home.vault.parent, agent="ada") as client:
        done = client("PATCH", f"/v1/facts/{fact.id}", {"content": "Twelve."})
    assert (done.status, done.json["proposal"]["proposer"]) == (202, "ada")


def test_a_daemon_shows_what_an_agent_proposes(home: Home, fact: Fact) -> None:
    with watched(env=home.environment), home.memory("ada") as ada:
        with pytest.raises(ProposedError):
            ada.update(fact.id, content="Twelve.")
        wait_until(lambda: any(home.vault.rglob("*.proposal.md")))


@pytest.fixture
def file(home: Home, tmp_path: Path) -> Path:
    """A memory file whose section is a fact that the user accepted."""
    file = tmp_path / "MEMORY.md"
    file.write_text(
        "# Memory\n\n## Freight\n\n<!-- vaultsync-managed -->\n\n"
        "It comes by sea and by road, and never by air.\n",
        "utf-8",
    )
    with home.memory("ada") as ada, pytest.raises(ProposedError):
        ada.sync_memory_file(file, scope="public")
    _accept_all(home)
    return file


def test_a_text_for_a_memory_file_is_there_while_its_fact_waits(home: Home, file: Path) -> None:
    with home.memory("ada") as ada:
        for _ in "ab":
            with pytest.raises(ProposedError):
                ada.add_to_memory_file(file, "On Mondays it comes by rail, too.", section="Freight")
        assert "On Mondays it comes by rail, too." in file.read_text("utf-8")
        ((fact,), (waits,)) = ada.list(scope="public").facts, ada.proposals()
        assert "rail" not in fact.content
        assert [each.fact_id for each in waits.changes] == [fact.id]
    _accept_all(home)
    with home.memory("ada") as ada:
        assert not ada.sync_memory_file(file, scope="public").fact_ids
        (fact,) = ada.list().facts
        assert "rail" in fact.content


def test_a_section_follows_its_fact_where_agents_may_only_propose(home: Home, file: Path) -> None:
    with home.memory("ada") as ada:
        assert ada.sync_memory_file(file, scope="public").counts["unchanged"] == 1
    with user(home) as memory:
        (fact,) = memory.list().facts
        memory.update(fact.id, content="It comes by rail, and by rail alone since May.")
        assert memory.sync().attention == ()
        assert "by rail alone" in file.read_text("utf-8")
        assert memory.proposals() == ()


def test_a_sync_reports_what_a_memory_file_proposes_beside_it(home: Home, file: Path) -> None:
    with home.memory("ada") as ada:
        ada.sync_memory_file(file, scope="public")
    file.write_text(file.read_text("utf-8").replace("never", "seldom"), "utf-8")
    with user(home) as memory:
        (home.vault / "public" / "New.md").write_text("The crane is new.\n", "utf-8")
        report = memory.sync()
        assert report.counts["created_in_store"] == 1
        (waits,) = report.attention
        assert (waits.kind, waits.path) == ("ProposedError", str(file))
        (proposal,) = memory.proposals()
        memory.reject_proposals([proposal.id])
        (rejected,) = memory.sync().attention
        assert "the user rejected this before" in rejected.message
        file.write_text(file.read_text("utf-8").replace("seldom", "never"), "utf-8")
        assert memory.sync().attention == ()


def _accept_all(home: Home) -> None:
    with user(home) as memory:
        memory.accept_proposals([each.id for each in memory.proposals()])


def test_observations_go_where_the_agent_writes(home: Home) -> None:
    with home.memory("ada", scope="public") as ada:
        made = call(ada, "memory_observe", content="The gate was opened.")
        assert ada.get(made["id"]).scope == "private-ada"
        with pytest.raises(ScopeDeniedError):
            ada.observe("The gate was opened.", scope="public")
        assert ada.proposals() == ()
