"""`purge`: nothing of a fact is left on this machine, and the search that proves it finds all."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import vaultsync
from tests.qdrant_server import FakeQdrant
from vaultsync import errors
from vaultsync.api.engine import Engine
from vaultsync.api.memory import Memory
from vaultsync.api.memory_files import MemoryFiles
from vaultsync.backends.filesystem.memory_file import DiskMemoryFile
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.backends.state.engine_lock import EngineLock, tables_lock
from vaultsync.backends.state.state_files import PURGE_INTENT_NAME
from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.model.fact import Fact
from vaultsync.operations import purge as purging
from vaultsync.storage.erasure import Traces
from vaultsync.storage.packed_bytes import packed_in
from vaultsync.storage.store import StoreWrite

pytestmark = pytest.mark.long(5)

FIRST = "The wedding of Ottilie is kept secret. She pays 4,711 a month to “Zum Löwen”."
SECOND = "The wedding of Ottilie moved to Lake Gurnigel in October. Nobody may know of it."
PERSONS = "A person wrote that Hannelore cancelled the caterer yesterday."
WORDS = ("Ottilie", "Gurnigel", "Hannelore", "Zum L", "ottilie")
"""What must be nowhere; they are in no other fact of these tests."""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    return str(tmp_path / "state")


@pytest.fixture
def vault(tmp_path: Path, state: str) -> Path:
    vaultsync.init(str(tmp_path / "vault"), state_dir=state)
    return tmp_path / "vault"


@pytest.fixture
def memory(vault: Path, state: str) -> Iterator[Memory]:
    with vaultsync.open(str(vault), state_dir=state) as opened:
        yield opened


def holding(folder: Path, *words: str) -> dict[str, list[str]]:
    """The files below a folder in which one of the words is, by a search of its own."""
    found = {}
    said = {word: {word.encode(), json.dumps(word)[1:-1].encode()} for word in words}
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            held = [word for word in words if any(each in data for each in said[word])]
            if held:
                found[str(path.relative_to(folder))] = held
    return found


def note_of(vault: Path, memory: Memory, fact_id: str) -> Path:
    return vault / str(memory.get(fact_id).path)


def test_a_section_that_would_bring_a_fact_back_is_named(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    memory.add_to_memory_file(file, FIRST, section="The wedding")
    memory.sync()
    fact = memory.list().facts[0]
    (hint,) = [each for each in memory.purge(fact.id).kept if "section" in each]
    assert "“The wedding”" in hint
    assert "MEMORY.md: delete it there" in hint

    memory.sync()
    (back,) = memory.list().facts
    assert (back.id, back.content) == (fact.id, fact.content)
    assert memory.sync_memory_file(file).counts["unchanged"] == 1


def test_a_purged_fact_comes_back_when_its_text_does(memory: Memory, vault: Path) -> None:
    fact = memory.remember(FIRST, title="The wedding")
    memory.sync()
    note, backup = note_of(vault, memory, fact.id), list[str]()
    text = note.read_bytes()
    memory.export(backup.append)

    memory.purge(fact.id)
    note.write_bytes(text)
    for report in (memory.sync(), memory.rebuild(source="vault"), memory.sync()):
        (erased,) = report.attention
        assert erased.message == f"{erased.path}: its fact was erased by `vaultsync purge`"
        assert erased.hint.startswith("delete it; to keep it, `vaultsync adopt PATH`")
        assert not memory.list().facts
    assert erased.path == str(note.relative_to(vault))
    memory.adopt([erased.path])
    assert memory.get(fact.id).content == FIRST
    memory.purge(fact.id)
    memory.import_(backup)
    assert memory.get(fact.id).content == FIRST
    assert memory.sync().attention == []
    assert memory.verify().equal


def test_folders_named_like_a_purged_fact_stay_adopted_and_are_no_traces(
    memory: Memory, vault: Path
) -> None:
    def write(*paths: str) -> None:
        for path in paths:
            (vault / path).parent.mkdir(exist_ok=True)
            (vault / path).write_text(f"{path} tells something.", "utf-8")

    write("Lake Gurnigel/Lake Gurnigel.md", "My diary/Monday.md")
    memory.adopt(["Lake Gurnigel", "My diary"])
    (fact,) = (each for each in memory.list().facts if each.title == "Lake Gurnigel")
    write("Lake Gurnigel/Not this.md", "My diary/Nor that.md")
    memory.undo(memory.sync().run)

    report = memory.purge(fact.id)

    assert report.remaining == 0
    assert {*report.quoted} >= {"Lake Gurnigel", "Lake Gurnigel/Not this.md"}
    write("My diary/Tuesday.md")
    assert [each.path for each in memory.sync().actions] == ["My diary/Tuesday.md"]


def test_an_edit_on_another_machine_beats_a_purge(tmp_path: Path, state: str) -> None:
    store, homes = f"sqlite:{tmp_path / 'shared.sqlite3'}", [tmp_path / "one", tmp_path / "two"]
    for each in homes:
        vaultsync.init(str(each), state_dir=state, store=store)
    one, two = (vaultsync.open(str(each), state_dir=state) for each in homes)
    with one, two:
        fact = one.remember(FIRST, title="The wedding")
        two.sync()
        note = note_of(homes[1], two, fact.id)
        note.write_text(note.read_text("utf-8").replace(FIRST, PERSONS), "utf-8")
        one.purge(fact.id)
        two.sync()
        assert two.get(fact.id).content == PERSONS
        one.sync()
        assert PERSONS in note_of(homes[0], one, fact.id).read_text("utf-8")


def test_no_purged_fact_is_imported_again_from_a_tool(memory: Memory, tmp_path: Path) -> None:
    source = tmp_path / "facts.jsonl"
    source.write_text(json.dumps({"title": "The wedding", "content": FIRST}) + "\n", "utf-8")
    memory.import_from("jsonl", source)
    memory.purge(memory.list().facts[0].id)
    assert memory.import_from("jsonl", source).facts == 0
    assert memory.list().facts == ()


def dies(*_: object) -> None:
    raise KeyboardInterrupt


def live(memory: Memory, vault: Path) -> tuple[str, str]:
    """A fact with a past in every place, and another one that stays; their ids."""
    stays = memory.remember("Bread is baked on Tuesdays and on Fridays.").id
    goes = memory.remember(FIRST, title="Secret wedding of Ottilie", tags=["party"]).id
    memory.update(stays, set={"relatedFactIds": [goes]})
    memory.sync()
    memory.index()
    memory.update(goes, content=SECOND)
    note = note_of(vault, memory, goes)
    note.write_text(note.read_text("utf-8").replace(SECOND, f"{SECOND}\n\n{PERSONS}"), "utf-8")
    memory.sync()
    newer = memory.supersede(goes, "The wedding was called off.").id
    for question in ("wedding", "Gurnigel", "bread"):
        memory.recall(question)
    memory.sync()
    memory.index()
    assert newer != goes
    return goes, stays


def test_nothing_of_a_purged_fact_is_left(memory: Memory, vault: Path, tmp_path: Path) -> None:
    goes, stays = live(memory, vault)
    before = holding(tmp_path, goes, *WORDS)
    assert {"store", "archive"} <= {Path(each).name.partition(".")[0] for each in before}

    done = memory.purge(goes)

    assert (done.purged, done.remaining, done.found) == ((goes,), 0, ())
    assert done.places["facts"] == done.places["notes"] == 1
    assert done.places["references"] == 2
    assert {"blobs", "history", "vectors"} <= {*done.places}
    assert holding(tmp_path, *WORDS) == {}
    left = holding(tmp_path, goes)
    assert {Path(each).name for each in left} == {"store.sqlite3"}, "the tombstone names itself"
    assert memory.get(stays).plain("relatedFactIds") == []
    assert memory.verify().equal
    assert [hit.id for hit in memory.recall("bread", mode="index").hits] == [stays]
    with pytest.raises(errors.FactNotFoundError):
        memory.restore(goes)


def test_a_tag_that_no_other_fact_has_is_left_nowhere(memory: Memory, tmp_path: Path) -> None:
    stays = memory.remember("Bread is baked on Tuesdays.", tags=["bread"], scope="team-bakers").id
    goes = memory.remember(FIRST, tags=["Gurnigel"]).id
    other = memory.remember("Rolls are baked on Fridays.", tags=["rolls"]).id
    memory.sync()
    memory.index()

    assert memory.purge(goes).remaining == 0

    assert holding(tmp_path, "Gurnigel", "gurnigel") == {}
    for tag, fact_id in (("bread", stays), ("rolls", other)):
        assert [x.id for x in memory.recall("baked", tags=[tag], mode="vector")] == [fact_id]


def test_nothing_is_left_in_the_indexes_of_agents(memory: Memory, tmp_path: Path) -> None:
    memory.remember("Bread is baked on Tuesdays.", scope="private-ada", agent="ada")
    goes = memory.remember(FIRST).id
    memory.sync()
    assert [hit.id for hit in memory.recall("wedding", agent="indy")] == [goes]
    assert list(tmp_path.rglob("index/words-*/"))

    assert memory.purge(goes).remaining == 0

    assert {path.name for path in tmp_path.rglob("index/words-*/*")} == {"removal"}
    assert len(memory.recall("wedding", agent="indy")) == 0


@pytest.mark.parametrize("agent", [None, "indy"])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_another_process_read_before_comes_into_no_index(
    memory: Memory,
    vault: Path,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
    agent: str | None,
    *,
    is_first: bool,
) -> None:
    """It may be about to make the first index, and go on between two steps of the purge."""
    memory.remember("Bread is baked on Tuesdays.", scope="private-ada", agent="ada")
    memory.sync()
    stays = memory.remember("Rolls are baked on Fridays.").id
    if is_first:
        shutil.rmtree(memory.settings.state_dir / "index")
    else:
        memory.recall("bread", agent=agent)
    goes = memory.remember(FIRST).id
    has_read, goes_on = threading.Event(), threading.Event()
    update = TantivyIndex.update

    def late(index: TantivyIndex, *given: object, version: str) -> None:
        is_late = threading.current_thread() is asking and index._folder.name != "words"
        if not goes_on.is_set() and (is_late or agent is None):
            has_read.set()
            assert goes_on.wait(60)
        update(index, *given, version=version)  # type: ignore[arg-type] # passed on

    def ask() -> None:
        with vaultsync.open(str(vault), state_dir=state) as other:
            answers.append([hit.id for hit in other.recall("wedding rolls", agent=agent)])

    def in_between(*given: object, **named: object) -> object:
        goes_on.set()
        asking.join()
        return update_derived(*given, **named)  # type: ignore[arg-type] # passed on

    answers: list[list[str]] = []
    asking = threading.Thread(target=ask)
    update_derived = memory._engine.update_derived
    monkeypatch.setattr(TantivyIndex, "update", late)
    monkeypatch.setattr(memory._engine, "update_derived", in_between)
    asking.start()
    assert has_read.wait(60)

    assert memory.purge(goes).remaining == 0

    assert answers == [[stays]]
    for folder in (memory.settings.state_dir / "index").glob("words*/"):
        assert TantivyIndex(folder).facts_with(["wed", "ottili"]) == {"wed": 0, "ottili": 0}
    assert [hit.id for hit in memory.recall("wedding rolls", agent=agent)] == [stays]


def test_a_former_store_outside_the_state_is_named(vault: Path, state: str, tmp_path: Path) -> None:
    stores = [tmp_path / f"{name}.sqlite3" for name in "ab"]
    with vaultsync.open(vault, state_dir=state) as memory:
        facts = [memory.remember(text).id for text in (FIRST, PERSONS)]
        memory.migrate(f"sqlite:{stores[0]}")
    with vaultsync.open(vault, state_dir=state) as memory:
        memory.migrate(f"sqlite:{stores[1]}")
    for path in Path(state).rglob("store.sqlite3*"):
        path.unlink()
    with vaultsync.open(vault, state_dir=state) as memory:
        (named,) = [x for x in memory.purge(facts[0]).kept if "former store" in x]
        assert str(stores[0]) in named
        stores[0].unlink()
        report = memory.purge(facts[1])
        assert not [x for x in report.kept if "former store" in x]
    assert report.remaining == 0


def test_a_forgotten_fact_is_purged(memory: Memory, vault: Path, tmp_path: Path) -> None:
    goes, _ = live(memory, vault)
    memory.forget(goes)
    assert memory.purge(goes).remaining == 0
    assert holding(tmp_path, *WORDS) == {}


def test_the_words_of_others_stay_and_are_listed(memory: Memory, vault: Path) -> None:
    goes = memory.remember(FIRST).id
    quoting = memory.remember(f"Somebody told me this: {FIRST}").id
    (vault / "diary.md").write_text(f"# Diary\n\n{FIRST}\n", "utf-8")
    memory.sync()

    done = memory.purge(goes)

    assert done.remaining == 0
    assert quoting in done.quoted
    assert FIRST in memory.get(quoting).content
    assert FIRST in (vault / "diary.md").read_text("utf-8")


def test_a_users_file_with_the_words_is_listed(memory: Memory, vault: Path) -> None:
    goes = memory.remember(FIRST).id
    (vault / "diary.md").write_text(f"# Diary\n\n{FIRST}\n", "utf-8")
    done = memory.purge(goes)
    assert (done.remaining, done.quoted) == (0, (str(vault / "diary.md"),))


def test_a_users_file_that_cannot_be_read_is_listed_as_not_searched(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = memory.remember(FIRST)
    diary = vault / "diary.md"
    diary.write_text("My own.", encoding="utf-8")
    real: Callable[..., object] = Path.open

    def refusing(path: Path, *args: object, **options: object) -> object:
        if path == diary:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(Path, "open", refusing)
    report = memory.purge(secret.id)
    assert report.remaining == 0
    assert [each for each in report.kept if str(diary) in each]


def test_long_texts_are_erased_from_packed_rows_and_the_search_reads_these(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    said = [f"On day {n} of the voyage Ottilie saw {n * 7919} porpoises." for n in range(3_000)]
    goes = memory.remember("\n".join(said), title="A long voyage").id
    memory.sync()
    archive = memory._services.archive
    last = said[-1].encode()
    assert any(last in each for each in archive.iter_packed())
    assert all(last not in path.read_bytes() for path in tmp_path.rglob("archive.sqlite3*"))
    kept = {"kept": memory._ctx.vault.read(memory._ctx.archive.note_paths([goes])[goes]).data}

    with pytest.MonkeyPatch.context() as patched:
        erase = type(archive).erase

        def forgets_one(self: SqliteArchive, traces: Traces) -> dict[str, int]:
            done = erase(self, traces)
            with self.transaction():
                self.put_blobs(kept)
            return done

        patched.setattr(type(archive), "erase", forgets_one)
        left = memory.purge(goes)
    assert {Path(each.path).name.partition("-")[0] for each in left.found} == {"archive.sqlite3"}
    assert left.remaining > 1_000

    assert memory.purge().remaining == 0
    assert not any(b"porpoises" in each for each in archive.iter_packed())
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"porpoises" not in b"".join(packed_in(path.read_bytes()))


def test_a_copy_of_the_note_counts_as_left(memory: Memory, vault: Path) -> None:
    goes = memory.remember(FIRST).id
    note = note_of(vault, memory, goes)
    (vault / ".trash").mkdir()
    (vault / ".trash" / note.name).write_bytes(note.read_bytes())
    done = memory.purge(goes)
    assert [(Path(each.path).parent.name, each.what) for each in done.found] == [(".trash", "id")]
    (vault / ".trash" / note.name).unlink()
    assert "PurgeUnfinishedError" in [each.kind for each in memory.status().attention]
    assert memory.purge().remaining == 0, "the next purge finishes it"
    assert "PurgeUnfinishedError" not in [each.kind for each in memory.status().attention]
    assert memory.purge().purged == ()


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), errors.ArchiveError("the archive is full")]
)
def test_a_purge_that_stops_in_the_middle_says_so_until_it_is_finished(
    memory: Memory, vault: Path, error: Exception
) -> None:
    goes, _ = live(memory, vault)

    def fails(*_: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SqliteArchive, "erase", fails)
        with pytest.raises(
            errors.PurgeUnfinishedError, match=r"(No space left|is full).*; some of what"
        ):
            memory.purge(goes)
    (found,) = [x for x in memory.status().attention if x.kind == "PurgeUnfinishedError"]
    assert "`vaultsync purge`" in found.hint
    (memory.settings.state_dir / PURGE_INTENT_NAME).write_text("{half")
    assert "is damaged" in str([each.message for each in memory.status().attention])
    (memory.settings.state_dir / PURGE_INTENT_NAME).unlink()
    assert memory.purge(goes).remaining == 0


def test_a_dry_run_erases_none_and_says_where(memory: Memory, vault: Path, tmp_path: Path) -> None:
    goes, _ = live(memory, vault)
    note = str(note_of(vault, memory, goes))
    memory.count_recalls()
    before = holding(tmp_path, goes, *WORDS)
    shown = memory.purge(goes, dry_run=True)
    assert shown.dry_run
    assert shown.remaining > 0
    found = {Path(each.path).name.partition(".")[0] for each in shown.found}
    assert {"store", "archive"} <= found
    assert note not in shown.quoted, "its own note goes"
    assert holding(tmp_path, goes, *WORDS) == before


def test_a_purge_that_broke_off_is_finished_by_maintenance(
    memory: Memory, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes, _ = live(memory, vault)
    for broken in ("_delete_facts", "_drop_files", "_quotes"):
        with monkeypatch.context() as patched:
            patched.setattr(purging, broken, dies)
            with pytest.raises(KeyboardInterrupt):
                memory.purge(goes)
        intent = next(tmp_path.rglob(PURGE_INTENT_NAME)).read_text("utf-8")
        assert goes in intent
        assert not any(word in intent for word in WORDS)
    memory.maintain(dry_run=True)
    assert next(tmp_path.rglob(PURGE_INTENT_NAME))
    memory.maintain()
    assert holding(tmp_path, *WORDS) == {}
    assert not list(tmp_path.rglob(PURGE_INTENT_NAME))


def test_a_managed_block_loses_a_purged_fact_at_once_if_it_can_be_read(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "project" / "CLAUDE.md"
    file.parent.mkdir()
    goes, also, _ = (
        memory.remember(text, type="convention", priority=0).id
        for text in (FIRST, PERSONS, "Bread is baked on Tuesdays.")
    )
    memory.manage_memory_file(file)
    file.write_text(file.read_text("utf-8").replace("She pays", "She still pays"), "utf-8")
    (gone := tmp_path / "gone").mkdir()
    memory.manage_memory_file(gone / "CLAUDE.md")
    shutil.rmtree(gone)
    memory.purge(goes)
    assert not gone.exists()
    text = file.read_text("utf-8")
    assert ("Ottilie" in text, "Hannelore" in text, "Bread" in text) == (False, True, True)
    assert "Ottilie" not in str(memory.list())

    file.write_bytes(b"\xff" + text.encode())
    (hint,) = [each for each in memory.purge(also).kept if "managed block" in each]
    assert "CLAUDE.md" in hint
    assert b"Hannelore" in file.read_bytes()


def test_a_block_that_another_process_fills_meanwhile_says_nothing_purged(
    memory: Memory, vault: Path, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "project" / "CLAUDE.md"
    file.parent.mkdir()
    goes, stays = (
        memory.remember(text, type="convention", priority=0).id
        for text in (FIRST, "Bread is baked on Tuesdays.")
    )
    memory.manage_memory_file(file)
    memory.update(stays, content="Bread is baked on Fridays.")
    read, purges = MemoryFiles._session_facts, list[threading.Thread]()

    def purge() -> None:
        with vaultsync.open(str(vault), state_dir=state) as other:
            other.purge(goes)

    def reads(
        files: MemoryFiles, file: DiskMemoryFile, scopes: Sequence[str], agent: str | None
    ) -> Sequence[Fact]:
        facts = read(files, file, scopes, agent)
        if not purges:  # the other process begins when this one has read the facts
            purges.append(threading.Thread(target=purge))
            purges[0].start()
            purges[0].join(1.0)
        return facts

    monkeypatch.setattr(MemoryFiles, "_session_facts", reads)
    memory.manage_memory_file(file)
    purges[0].join()
    assert "Fridays" in file.read_text("utf-8")
    assert holding(tmp_path, *WORDS) == {}


def test_a_note_of_short_lines_is_erased_whole(memory: Memory, vault: Path, tmp_path: Path) -> None:
    note = vault / "public" / "notes" / "Safe.md"
    note.parent.mkdir(parents=True)
    note.write_text("PIN: 4711\n- Bank: UBS\n", "utf-8")
    memory.sync()
    (fact,) = memory.list().facts
    assert memory.purge(fact.id).remaining == 0
    with closing(SqliteArchive.open(next(tmp_path.rglob("archive.sqlite3")))) as archive:
        assert not any(b"4711" in each for each in archive.iter_packed())


def test_a_purge_keeps_the_locks_of_the_process(memory: Memory, vault: Path, state: str) -> None:
    goes = memory.remember(FIRST).id
    memory.purge(goes, dry_run=True)
    memory.purge(goes)
    words = ["remember", SECOND, "--vault", str(vault), "--state-dir", state]
    subprocess.run([sys.executable, "-m", "vaultsync", *words], check=True, capture_output=True)
    fact = memory.remember(PERSONS)
    assert not memory.sync().attention
    assert {fact.content for fact in memory.list().facts} == {SECOND, fact.content}
    assert memory.verify().equal


def test_another_process_that_reads_is_no_reason_to_claim_success(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    goes, _ = live(memory, vault)
    store = next(tmp_path.rglob("store.sqlite3"))
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM facts").fetchall()
        left = memory.purge(goes)
        assert left.remaining > 0
        assert {Path(each.path).name for each in left.found} <= {
            "store.sqlite3",
            "store.sqlite3-wal",
        }
    assert memory.purge().remaining == 0
    assert holding(tmp_path, *WORDS) == {}


_EMBEDS = """
import sys, time
from pathlib import Path
from vaultsync.backends.state.embedding_files import EmbeddingFiles
files = EmbeddingFiles(Path(sys.argv[1]))
assert files.acquire(60)
files.background = sys.argv[2]
files.write({})
print("embeds", flush=True)
time.sleep(99)
"""


@pytest.mark.parametrize("background", ["keep", ""])
def test_no_process_embeds_while_facts_are_erased(
    memory: Memory, background: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is ended, which could write what it had read; a command that embeds is not."""
    if not background:
        monkeypatch.setattr("vaultsync.api.embedding.PAUSE_SECONDS", 0.1)
    goes = memory.remember(FIRST).id
    memory.sync()
    memory._engine.embedding.stop()
    command = [sys.executable, "-c", _EMBEDS, str(memory.settings.state_dir), background]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "embeds\n"
        try:
            if background:
                assert memory.purge(goes).remaining == 0
                assert other.wait(60) != 0
            else:
                with pytest.raises(errors.IndexBusyError, match="embeds texts"):
                    memory.purge(goes)
                assert memory.get(goes).content == FIRST
        finally:
            other.kill()
    memory._engine.embedding.stop()


def test_no_process_writes_tables_while_facts_are_erased(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's process has read the fact, and would write it into `.index/` afterwards."""
    monkeypatch.setattr("vaultsync.api.erasing.TABLES_SECONDS", 0.1)
    goes = memory.remember(FIRST).id
    with (
        tables_lock(memory.settings.state_dir),
        pytest.raises(errors.IndexBusyError, match="index/"),
    ):
        memory.purge(goes)
    assert memory.get(goes).content == FIRST
    assert memory.purge(goes).remaining == 0


def test_all_facts_of_a_user_are_purged(memory: Memory, vault: Path, tmp_path: Path) -> None:
    theirs = [memory.remember(f"{FIRST} {n}", fields={"userId": "u7"}).id for n in range(2)]
    memory.forget(theirs[0])
    stays = memory.remember("Bread is baked on Tuesdays.", fields={"userId": "u8"}).id
    lines: list[str] = []
    assert memory.export(lines.append, user="u7") == 1
    assert theirs[1] in lines[0]
    note = vault / "public" / "notes" / "New.md"
    note.write_text(f"---\nuserId: u7\n---\n\n# New\n\n{FIRST} 2\n")
    assert {*memory.purge(user="u7", dry_run=True).purged} == {*theirs}
    done = memory.purge(user="u7")
    assert ({*theirs} < {*done.purged}, len(done.purged), done.remaining) == (True, 3, 0)
    assert not note.exists()
    assert memory.get(stays)
    assert holding(tmp_path, *WORDS) == {}


def test_unknown_facts_many_facts_and_a_busy_vault_are_refused(memory: Memory, state: str) -> None:
    many = [memory.remember(f"{FIRST} {n}").id for n in range(15)]
    with pytest.raises(errors.FactNotFoundError):
        memory.purge(memory.new_id())
    with pytest.raises(errors.InvalidFieldError, match="user"):
        memory.purge(user=" ")
    with pytest.raises(errors.GuardError, match="erase"):
        memory.purge(*many)
    assert memory.get(many[0])
    state_dir = next(Path(state).glob("*/store.sqlite3")).parent
    with EngineLock(state_dir, "v"), pytest.raises(errors.EngineBusyError):
        memory.purge(many[0])
    assert memory.purge(*many, max_delete=15).remaining == 0


def test_logs_queues_and_kept_copies_lose_what_they_say(memory: Memory, tmp_path: Path) -> None:
    goes = memory.remember(FIRST).id
    folder = next(tmp_path.rglob("store.sqlite3")).parent
    for name in ("memory-files/queue", "memory-files/kept"):
        (folder / name).mkdir(parents=True)
        (folder / name / "one.json").write_text(json.dumps({"text": FIRST}))
        (folder / name / "two.json").write_text(json.dumps({"text": "bread"}))
    log = folder / "memory-files" / "log.jsonl"
    log.write_text(json.dumps({"text": FIRST}) + "\n" + json.dumps({"text": "bread"}) + "\n")
    (folder / "recalled.log").write_text(f"2026-01-01T00:00:00Z {goes}\n")
    assert memory.purge(goes).remaining == 0
    assert log.read_text() == '{"text": "bread"}\n'
    assert holding(folder, *WORDS) == {}
    assert (folder / "memory-files" / "kept" / "two.json").exists()


@pytest.mark.parametrize("kind", ["local", "edge"])
@pytest.mark.long(2)
def test_a_qdrant_of_this_machine_loses_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    state, vault = str(tmp_path / "state"), tmp_path / "vault"
    vaultsync.init(str(vault), store=f"qdrant+{kind}:{tmp_path}/points", state_dir=state)
    with vaultsync.open(str(vault), state_dir=state) as memory:
        goes, stays = live(memory, vault)
        done = memory.purge(goes)
        assert (done.remaining, done.found) == (0, ())
        assert {"vectors", "tombstones"} <= {*done.places}
        assert holding(tmp_path, *WORDS) == {}
        assert memory.verify().equal
        assert [hit.id for hit in memory.recall("bread", mode="index").hits] == [stays]


def test_a_server_returns_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    state, vault = str(tmp_path / "state"), tmp_path / "vault"
    with FakeQdrant() as server:
        url = f"qdrant://127.0.0.1:{server.port}/purged"
        vaultsync.init(str(vault), store=url, state_dir=state)
        with vaultsync.open(str(vault), state_dir=state) as memory:
            goes, stays = live(memory, vault)
            memory.index(wait=True)
            memory.update(stays, content="Bread is baked on Mondays.")
            store = memory._ctx.store
            # Two agents write blindly, so the first version is kept until a sync records it.
            fact = store.get(goes)
            for text in (f"{SECOND} So says one.", f"{SECOND} So says another."):
                write = StoreWrite(goes, fact.replace({"content": text}), fact.revision, "a")
                (revision,) = store.write([write])
                fact = fact.evolve(revision=str(revision))
            kinds = {point["kind"] for point in points_about(server, goes)}
            assert {"fact", "replaced", "chunk"} <= kinds

            done = memory.purge(goes)

            assert (done.remaining, done.found) == (0, ())
            assert "vaultsync cannot see" in " ".join(done.kept) or done.kept
            assert holding(tmp_path, *WORDS) == {}
            (tombstone,) = points_about(server, goes)
            assert tombstone["kind"] == "tombstone"
            assert not {"content", "rest", "tags", "scope"} & tombstone.keys()
            assert not any(word in repr(every_point(server)) for word in WORDS)
            assert memory.verify().equal
            assert [hit.id for hit in memory.recall("bread", mode="index").hits] == [stays]


def every_point(server: FakeQdrant) -> list[dict[str, object]]:
    """The payloads of all points of all collections, with their ids."""
    names = [each.name for each in server.client.get_collections().collections]
    pages = [server.client.scroll(name, limit=10_000, with_payload=True)[0] for name in names]
    return [{**(point.payload or {}), "point": point.id} for page in pages for point in page]


def points_about(server: FakeQdrant, fact_id: str) -> list[dict[str, object]]:
    held = every_point(server)
    return [x for x in held if fact_id in (x["point"], x.get("of"), x.get("fact"))]


def test_many_rows_in_lance_are_made_again_without_it(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    pytest.importorskip("lancedb")
    memory.import_(
        json.dumps({"id": memory.new_id(), "title": f"Loaf {n}", "content": f"Loaf number {n}."})
        for n in range(300)
    )
    goes, _ = live(memory, vault)
    table = next(tmp_path.rglob("lance"))
    assert list(table.glob("*.lance"))
    assert memory.purge(goes).remaining == 0
    assert holding(tmp_path, *WORDS) == {}
    assert goes not in str(holding(table, goes))


def test_the_search_finds_what_a_part_left_behind(memory: Memory, tmp_path: Path) -> None:
    goes = memory.remember(FIRST).id
    state = next(tmp_path.rglob("store.sqlite3")).parent
    (state / "unknown.bin").write_bytes(b"\x00" + FIRST.encode() + b"\xff" + goes.encode())
    (state / "empty").touch()
    (state / "link").symlink_to(state / "unknown.bin")
    old = state / "index" / "words" / "old.store"
    done = memory.purge(goes)
    assert {(Path(x.path).name, x.what) for x in done.found} == {
        ("unknown.bin", "id"),
        ("unknown.bin", "text"),
    }
    (state / "unknown.bin").unlink()
    old.write_bytes(b"compressed")
    os.utime(old, (0, 0))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TantivyIndex, "erase", lambda *_: {})
        patched.setattr(TantivyIndex, "clear", lambda *_: None)
        patched.setattr(Engine, "update_derived", lambda *_, **__: None)
        left = memory.purge()
    assert ("old.store", "compressed and older than the purge") in {
        (Path(x.path).name, x.what) for x in left.found
    }
    old.unlink()
    assert memory.purge().remaining == 0
