"""No method of the Python API answers an agent with a word of what it may not read."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vaultsync
from tests.every_method import EVERY_METHOD, Ask
from tests.gits import GitFolder
from tests.machines import configure_machine
from tests.mcp_clients import Home, make_home
from vaultsync import errors
from vaultsync.api.memory import Memory
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose
from vaultsync.sync.agent_view import AgentView

pytestmark = pytest.mark.long(5)

PLANTED = "zqxjkv"
"""Is in all titles, texts, tags and paths of Ada's hidden facts, and in nothing else."""
TABLE = Path(__file__).parents[3] / "golden" / "exchange" / "csv" / "memories.csv"
SCOPES = ("private-ada", "team-harbour")
"""Where Ada hides them: the team has her as its only member."""
MEMBERS = """
[permissions.agents."*"]
write = ["*"]
[permissions.teams]
team-harbour = ["ada"]
"""


class Planted:
    """Ada's hidden facts and notes, in every state that a run has to report."""

    text, name, word = "It is known.", "Known", "word"
    question = "Text of edited"

    def __init__(self, home: Home, scope: str = "private-ada") -> None:
        configure_machine(home.vault, MEMBERS)
        self.home = home
        self.scope = scope
        self.folder = home.vault.parent
        self.memory_file = self.folder / "MEMORY.md"
        self.memory_file.write_text("# Memory\n\n## One\n\nText.\n", "utf-8")
        titles = ["edited", "moved", "gone", "forgotten", "disputed", "linked", "moved away"]
        with home.memory("ada") as ada:
            facts = {
                each: ada.remember(
                    f"Text of {PLANTED} [[{PLANTED} nowhere]] [[Ope]].",
                    title=f"{PLANTED} {each}",
                    type="decision",
                    tags=[PLANTED],
                    scope=scope,
                )
                for each in titles
            }
            self.ids = {name: fact.id for name, fact in facts.items()}
            self.fact = self.observation = self.ids["edited"]
            self.entity, self.gone = self.ids["linked"], self.ids["forgotten"]
            self.deleted = self.ids["gone"]
            self.open = ada.remember("Seen by all.", title="Open", scope="public").id
            ada.finish_pending()
            notes = {name: home.note(ada.get(key).path) for name, key in self.ids.items()}
            self._edit(notes["disputed"], "Text", "Edited")
            ada.update(self.ids["disputed"], content=f"{PLANTED} otherwise.")
            (self.conflict,) = (each.id for each in ada.conflicts())
            self.proposals = [self._proposed(ada, each) for each in ("linked", "new")]
            ada.forget(self.ids["forgotten"])
        self._edit(notes["edited"], "Text", "Changed")
        notes["moved"].rename(home.vault / "public" / f"{PLANTED} moved.md")
        notes["moved away"].rename(home.vault / scope / f"{PLANTED} elsewhere.md")
        notes["gone"].unlink()
        folder = home.vault / scope
        (folder / f"{PLANTED} bad.md").write_text("---\nid: [\n---\n", "utf-8")
        (folder / f"{PLANTED} new.md").write_text(f"{PLANTED}, not adopted yet.\n", "utf-8")
        (home.vault / "public" / "Its own.md").write_text("Not adopted either.\n", "utf-8")

    def _proposed(self, ada: AgentMemory, name: str) -> str:
        """A proposal about a fact, or of a new one where none has that name."""
        revision = "1" if name in self.ids else ""
        fact_id = self.ids.get(name) or ada.new_id()
        change = ProposedChange(fact_id, revision, {}, {"content": PLANTED}, None, PLANTED)
        draft = ProposalDraft("retype", PLANTED, PLANTED, "ada", "private-ada", (change,))
        return propose(ada._ctx, draft).id

    @staticmethod
    def _edit(note: Path, old: str, new: str) -> None:
        note.write_text(note.read_text("utf-8").replace(old, new), "utf-8")

    def notes(self) -> dict[Path, bytes]:
        """The notes of people and agents, as they are."""
        folders = (self.home.vault / "public", self.home.vault / self.scope)
        return {each: each.read_bytes() for top in folders for each in top.rglob("*.md")}

    def repository(self) -> Path:
        """One whose notes are in a project that all may see."""
        root = self.folder / "app"
        if not root.exists():
            GitFolder(root).commit("a.py", "a = 1\n")
        return root

    @property
    def run(self) -> str:
        with vaultsync.open(str(self.home.vault), state_dir=str(self.home.state)) as user:
            return user.log(limit=1)[0].run


READING = {
    *("check", "new_id", "status", "log", "verify", "last_undoable_run", "history", "conflicts"),
    *("get", "open", "waits", "is_note_deleted", "list", "purge", "export", "recall", "context"),
    *("why_note_waits", "is_empty", "damaged_facts", "doctor", "related", "graph_export"),
    *("graph_stats", "graph_neighbors", "note_status"),
}
"""Methods that change nothing, and may be asked one after the other."""
NOT_ASKED = {
    "close": "answers nothing",
    "follow_store": "answers nothing",
    "write_bases": "is for the user alone",
    "property_types": "tells what Obsidian has for our own properties",
    "write_change_note": "is for the user alone",
    "modules": "are files of a project, beside the vault",
    "compare": "what `remember` and `update` call",
    "evaluate": "answers with figures, and the paths that the questions name",
    "as_seen": "what `sync` calls",
    "answer": "what `recall` calls",
    "pack": "what `context` calls",
    "with_queued": "what `status` calls",
    "stop_embedding": "there is no worker",
    "migrate": "answers with counts of the store, for the user who moves it",
    "add_to_memory_file": "answers for the file that the agent wrote",
    "watched_memory_files": "answers with the user's own settings",
    "graph_colours": "answers with the path of Obsidian's settings",
}


ASKED = {name: asks for name, asks in EVERY_METHOD.items() if name not in NOT_ASKED}


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(make_home(tmp_path))


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], Planted]:
    """A world, synced or not; asked for again, it is as it was at first, in the same place."""
    made: dict[tuple[str, bool], Planted] = {}

    def planted(scope: str, synced: bool) -> Planted:
        if found := made.get((scope, synced)):
            here = found.home.vault.parent
            shutil.rmtree(here)
            shutil.copytree(f"{here}.kept", here)
            return found
        here = tmp_path_factory.mktemp("again")
        found = made[scope, synced] = Planted(make_home(here), scope)
        if synced:
            found.home.run("sync")
        shutil.copytree(here, f"{here}.kept")
        return found

    return planted


def _said(memory: Memory, ask: Ask, planted: Planted) -> str:
    try:
        found = ask(memory, planted)
    except errors.VaultsyncError as error:
        return f"{error.message} {error.hint}"
    return msgspec.json.encode(found, enc_hook=repr).decode()


def test_each_method_is_asked() -> None:
    public = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")}
    assert EVERY_METHOD.keys() == public


@pytest.mark.parametrize("synced", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
def test_no_answer_reveals_a_word_of_another_agent(
    again: Callable[[str, bool], Planted], scope: str, *, synced: bool
) -> None:
    planted = again(scope, synced)
    before = planted.notes()
    for name in sorted(READING):
        check_hidden(planted, name)
    assert planted.notes() == before, "what is in READING changes notes"


@pytest.mark.parametrize(
    ("scope", "synced"), [("private-ada", False), ("private-ada", True), ("team-harbour", True)]
)
@pytest.mark.parametrize("name", sorted(ASKED.keys() - READING))
@pytest.mark.long(3)
def test_no_method_reveals_a_word_of_another_agent(
    again: Callable[[str, bool], Planted], name: str, scope: str, *, synced: bool
) -> None:
    check_hidden(again(scope, synced), name)


def check_hidden(planted: Planted, name: str) -> None:
    home = planted.home
    with vaultsync.open(str(home.vault), agent="indy", state_dir=str(home.state)) as indy:
        said = " ".join(_said(indy, ask, planted) for ask in ASKED[name])
    assert PLANTED not in said, name
    assert planted.scope not in said, name
    hidden = {key for key in planted.ids.values() if key in said}
    named = ("get", "memory_file_section", "open", "history", "update", "edit", "supersede")
    if name not in (*named, "forget", "restore", "purge", "observation", "adopt_id"):
        assert not hidden, (name, said)


def test_the_counts_of_a_report_are_of_what_the_agent_may_see(planted: Planted) -> None:
    home = planted.home
    home.run("sync")
    home.run("forget", planted.ids["linked"])
    hidden = planted.run
    with vaultsync.open(str(home.vault), agent="indy", state_dir=str(home.state)) as indy:
        indy.remember("Its own.", title="Mine")
        report = indy.sync()
        assert report.quiet
        assert not report.actions
        assert not report.attention
        assert indy.verify().checked == indy.status().facts
        assert report.counts["unchanged"] == indy.status().notes
        note = home.note(indy.list().facts[0].path)
        note.write_text(note.read_text("utf-8") + "\nMore.\n", "utf-8")
        report = indy.sync()
        assert [each.action for each in report.actions] == ["update_store"]
        assert report.counts["updated_in_store"] == 1
        assert indy.log()[0].counts["updated_in_store"] == 1
        assert all(each.run != hidden for each in indy.log())


def test_an_agent_undoes_only_runs_that_it_may_know_of(planted: Planted) -> None:
    home = planted.home
    for _ in range(2):  # the second deletes the fact of the note that is gone
        home.run("sync")
    home.run("forget", planted.ids["linked"])
    hidden = planted.run
    with home.memory("indy") as indy:
        for run in (hidden, hidden[:13]):
            with pytest.raises(errors.RunNotFoundError):
                indy.undo(run)
        assert indy.last_undoable_run() == indy.log(limit=1)[0]
        assert hidden not in {each.run for each in indy.log()}
    assert planted.run == hidden
    with home.memory("ada") as ada:
        assert ada.undo(hidden).actions


def test_an_agent_undoes_of_a_run_only_what_it_may_know_of(planted: Planted) -> None:
    home = planted.home
    with vaultsync.open(str(home.vault), state_dir=str(home.state)) as user:
        ids = [
            user.remember("Read by whom it may concern.", scope=scope).id
            for scope in ("public", "private-ada")
        ]
        user.sync()
        for each in ids:
            Planted._edit(home.vault / str(user.get(each).path), "Read", "Seen")
        run = user.sync().run
    with home.memory("indy") as indy:
        assert {each.fact_id for each in indy.undo(run).actions} == {ids[0]}
    with vaultsync.open(str(home.vault), state_dir=str(home.state)) as user:
        assert [user.get(each).content.split()[0] for each in ids] == ["Read", "Seen"]


def test_without_the_store_only_facts_with_notes_are_known(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> object:
        raise errors.StoreUnavailableError("it is away")

    with planted.home.memory("indy") as indy:
        own = indy.remember("Its own.", title="Mine")
        indy.finish_pending()
        monkeypatch.setattr(indy._ctx.store, "find_many", away)
        view = AgentView(indy._ctx, "indy")
        assert view.sees_id(own.id)
        assert not view.sees_id(planted.ids["edited"])
        assert not view.sees_id("0193f6c2-0000-7000-8000-00000000000f")


def _counts(actions: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in actions:
        for name in each["counted"]:
            found[name] = found.get(name, 0) + 1
    return found


def test_each_action_says_what_it_is_counted_as(planted: Planted) -> None:
    with vaultsync.open(str(planted.home.vault), state_dir=str(planted.home.state)) as user:
        for report in (user.sync(allow_scope_moves=True), user.undo(), user.maintain()):
            counts = {k: v for k, v in report.counts.items() if v and k != "unchanged"}
            assert _counts(msgspec.to_builtins(report.actions)) == counts
