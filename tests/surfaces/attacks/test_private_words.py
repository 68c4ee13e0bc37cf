"""No method of the Python API answers an agent with a word of what it may not read."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

import vaultsync
from tests.gits import GitFolder
from tests.machines import configure_machine
from tests.mcp_clients import Home, make_home
from vaultsync import errors
from vaultsync.api.memory import Memory
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.report import NoteStatus

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

    def __init__(self, home: Home, scope: str = "private-ada") -> None:
        configure_machine(home.vault, MEMBERS)
        self.home = home
        self.scope = scope
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
            self.open = ada.remember("Seen by all.", title="Open", scope="public")
            ada.finish_pending()
            notes = {name: home.note(ada.get(key).path) for name, key in self.ids.items()}
            self._edit(notes["disputed"], "Text", "Edited")
            ada.update(self.ids["disputed"], content=f"{PLANTED} otherwise.")
            (self.conflict,) = ada.conflicts()
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

    @property
    def run(self) -> str:
        with vaultsync.open(str(self.home.vault), state_dir=str(self.home.state)) as user:
            return user.log(limit=1)[0].run


def _statuses_of_notes(memory: Memory, planted: Planted) -> list[NoteStatus]:
    """Those of the notes that it may see; an error repeats the path that it was given."""
    found = []
    for note in sorted(planted.notes()):
        with suppress(errors.NoteMissingError):
            found.append(memory.note_status(str(note)))
    assert found
    return found


def _known_about(memory: Memory, root: Path) -> list[object]:
    """What is told of a repository whose notes are in a project that all may see."""
    if not root.exists():
        GitFolder(root).commit("a.py", "a = 1\n")
    repos = memory.repos
    repos.add_note(root, content="It is known.")
    return [
        repos.get_repo_memory(root),
        repos.context(root),
        repos.hidden_facts(root),
        repos.map(root),
        repos.instructions(root / "AGENTS.md"),
        (root / "AGENTS.md").read_text(encoding="utf-8") if (root / "AGENTS.md").exists() else "",
    ]


def _copy_of_note(vault: Path, fact_id: str) -> str:
    """A copy that a sync tool puts beside the note of a fact."""
    note = next(x for x in vault.rglob("*.md") if fact_id in x.read_text("utf-8", "replace"))
    copy = note.with_name(f"{note.stem}.sync-conflict-20260102-153000-ABCDEFG.md")
    copy.write_bytes(note.read_bytes() + b"\nOf the copy.\n")
    return str(copy)


def _plainly(name: str) -> Callable[[Memory, Planted], object]:
    return lambda memory, _: getattr(memory, name)()


def _about_edited(name: str) -> Callable[[Memory, Planted], object]:
    return lambda memory, planted: getattr(memory, name)(planted.ids["edited"])


ASKED: dict[str, Callable[[Memory, Planted], object]] = {
    **{
        name: _plainly(name)
        for name in (
            *("check", "new_id", "status", "log", "verify", "last_undoable_run", "conflicts"),
            *("observations", "count_recalls", "finish_pending", "index", "index_files", "doctor"),
            *("graph_export", "graph_stats", "follow_memory_files"),
        )
    },
    **{
        name: _about_edited(name)
        for name in (
            *("adopt_id", "history", "get", "memory_file_section", "open", "waits"),
            *("why_note_waits", "forget", "observation"),
        )
    },
    "note_status": _statuses_of_notes,
    "sync": lambda memory, _: [memory.sync(dry_run=True), memory.sync(), memory.sync()],
    "adopt": lambda memory, _: [memory.adopt(dry_run=True), memory.adopt()],
    "maintain": lambda memory, _: [memory.maintain(dry_run=True), memory.maintain()],
    "rebuild": lambda memory, _: memory.rebuild(source="vault"),
    "undo": lambda memory, planted: memory.undo(planted.run),
    "resolve": lambda memory, planted: memory.resolve(planted.conflict.id, take="store"),
    "resolve_by_hand": lambda memory, planted: memory.resolve_by_hand(
        planted.conflict.id, field="content", text="x"
    ),
    "conflict_copies": lambda memory, planted: (
        _copy_of_note(planted.home.vault, planted.ids["edited"]),
        memory.sync(),
        memory.conflict_copies(),
    )[-1],
    "settle_copy": lambda memory, planted: [
        memory.settle_copy(_copy_of_note(planted.home.vault, planted.ids["edited"]), take=take)
        for take in ("merge", "keep")
    ],
    "proposals": lambda memory, _: memory.proposals(settled=True),
    "proposal": lambda memory, _: [memory.proposal(x.id) for x in memory.proposals(settled=True)],
    "accept_proposals": lambda memory, planted: memory.accept_proposals(planted.proposals),
    "reject_proposals": lambda memory, planted: memory.reject_proposals(planted.proposals),
    "is_note_deleted": lambda memory, planted: memory.is_note_deleted(planted.ids["gone"]),
    "list": lambda memory, _: [memory.list(all=True), memory.list(links_to="Open", all=True)],
    "update": lambda memory, planted: memory.update(planted.ids["edited"], content="x"),
    "edit": lambda memory, planted: memory.edit(planted.ids["edited"], append="x"),
    "supersede": lambda memory, planted: memory.supersede(planted.ids["edited"], "x"),
    "restore": lambda memory, planted: memory.restore(planted.ids["forgotten"]),
    "purge": lambda memory, planted: memory.purge(planted.ids["edited"], dry_run=True),
    "export": lambda memory, _: _exported(memory),
    "import_": lambda memory, _: memory.import_([]),
    "import_from": lambda memory, _: memory.import_from("csv", TABLE, dry_run=True),
    "export_to": lambda memory, _: _exported_to(memory),
    "remember": lambda memory, _: memory.remember("It is known."),
    "remember_messages": lambda memory, _: memory.remember_messages(
        [{"role": "user", "content": "It is known."}], session="s"
    ),
    "repos": lambda memory, planted: _known_about(memory, planted.home.vault.parent / "app"),
    "process_observations": lambda memory, _: [
        memory.process_observations(dry_run=True),
        memory.process_observations(),
    ],
    "observe": lambda memory, _: memory.observe("It was seen."),
    "observe_hook": lambda memory, _: memory.observe_hook(
        '{"hook_event_name": "Stop", "session_id": "s", "text": "We decided to keep it."}'
    ),
    "recall": lambda memory, _: memory.recall("Text of edited", all=True, explain=True),
    "context": lambda memory, _: memory.context("Text of edited", all=True),
    "is_empty": lambda memory, _: memory.is_empty,
    "damaged_facts": lambda memory, _: dict(memory.damaged_facts()),
    "related": lambda memory, planted: memory.related(planted.open.id),
    "links_check": lambda memory, _: [memory.links_check(), memory.links_check(fix=True)],
    "graph_neighbors": lambda memory, planted: memory.graph_neighbors(planted.open.id),
    "sync_memory_file": lambda memory, planted: memory.sync_memory_file(
        _memory_file(planted.home.vault.parent)
    ),
    "manage_memory_file": lambda memory, planted: (
        [
            memory.manage_memory_file(planted.home.vault.parent / "CLAUDE.md", form=form)
            for form in ("full", "index")
        ]
        + [(planted.home.vault.parent / "CLAUDE.md").read_text("utf-8")]
    ),
}
READING = {
    *("check", "new_id", "status", "log", "verify", "last_undoable_run", "history", "conflicts"),
    *("get", "open", "waits", "is_note_deleted", "list", "purge", "export", "recall", "context"),
    *("why_note_waits", "is_empty", "damaged_facts", "doctor", "related", "graph_export"),
    *("graph_stats", "graph_neighbors", "note_status"),
}
"""Those of `ASKED` that change nothing, and may be asked one after the other."""
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


def _exported(memory: Memory) -> list[str]:
    lines: list[str] = []
    memory.export(lines.append)
    return lines


def _exported_to(memory: Memory) -> list[str]:
    with TemporaryDirectory() as folder:
        memory.export_to("jsonl", folder)
        return [(Path(folder) / "memories.jsonl").read_text("utf-8")]


def _memory_file(folder: Path) -> Path:
    found = folder / "MEMORY.md"
    found.write_text("# Memory\n\n## One\n\nText.\n", "utf-8")
    return found


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(make_home(tmp_path))


@pytest.fixture(
    scope="module",
    params=[(scope, synced) for scope in SCOPES for synced in (False, True)],
    ids=lambda each: f"{each[0]} synced" if each[1] else each[0],
)
def shared(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Planted]:
    """For methods that change no note, however many there are."""
    scope, synced = request.param
    planted = Planted(make_home(tmp_path_factory.mktemp("shared")), scope)
    if synced:
        planted.home.run("sync")
    before = planted.notes()
    yield planted
    assert planted.notes() == before, "what is in READING changes notes"


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


def _said(memory: Memory, asked: Callable[[Memory, Planted], object], planted: Planted) -> str:
    try:
        found = asked(memory, planted)
    except errors.VaultsyncError as error:
        return f"{error.message} {error.hint}"
    return msgspec.json.encode(found, enc_hook=repr).decode()


def test_each_method_is_asked_or_says_why_not() -> None:
    public = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")}
    differing = public ^ (ASKED.keys() | NOT_ASKED.keys())
    assert differing == set(), "ask these methods, or say in NOT_ASKED why not"


@pytest.mark.parametrize("name", sorted(READING))
@pytest.mark.long(4)
def test_no_answer_reveals_a_word_of_another_agent(shared: Planted, name: str) -> None:
    check_hidden(shared, name)


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
        said = _said(indy, ASKED[name], planted)
    assert PLANTED not in said
    assert planted.scope not in said
    hidden = {key for key in planted.ids.values() if key in said}
    named = ("get", "memory_file_section", "open", "history", "update", "edit", "supersede")
    if name not in (*named, "forget", "restore", "purge", "observation", "adopt_id"):
        assert not hidden, said


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
