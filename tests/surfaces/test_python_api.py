"""The Python API, where it promises more than the packages below it."""

from __future__ import annotations

import errno
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from msgspec import to_builtins

import vaultsync
from tests.every_method import EVERY_METHOD, About
from tests.world import open_scopes
from vaultsync import errors
from vaultsync.api import opening
from vaultsync.api.derived_data import DerivedReport
from vaultsync.api.memory import Memory
from vaultsync.api.read_only import open_read_only
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import (
    ConfigError,
    FactNotFoundError,
    InvalidAgentError,
    InvalidFieldError,
    NoteMissingError,
    NotFoundError,
    NotRegularFileError,
    StoreUnavailableError,
    UnreadableNoteError,
    UnsafePathError,
    UnwritableNoteError,
    UsageError,
)
from vaultsync.facts.written_facts import Comparison
from vaultsync.model.decay import utility
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.sync.report import Status

pytestmark = pytest.mark.long(5)

METHODS = [
    (owner, name)
    for owner, names in (
        (Memory, [each for each in vars(Memory) if not each.startswith("_")]),
        (opening, ["init", "open"]),
    )
    for name in names
    if callable(getattr(owner, name))
]


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


@pytest.fixture
def vault(tmp_path: Path, state: str) -> Path:
    vaultsync.init(str(tmp_path / "vault"), state_dir=state)
    open_scopes(tmp_path / "vault")
    return tmp_path / "vault"


@pytest.fixture
def memory(vault: Path, state: str) -> Iterator[Memory]:
    with vaultsync.open(str(vault), state_dir=state, agent="indy") as opened:
        yield opened


@pytest.mark.parametrize(("owner", "name"), METHODS)
def test_every_argument_is_documented(owner: object, name: str) -> None:
    method = getattr(owner, name)
    text = inspect.getdoc(method) or ""
    wanted = [each for each in inspect.signature(method).parameters if each != "self"]
    assert [each for each in wanted if f"\n    {each}: " not in text] == []


def test_a_fact_is_remembered_where_its_note_cannot_be_written(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: object, __: str, path: str) -> None:
        raise UnwritableNoteError(path, os.strerror(errno.EACCES))

    with monkeypatch.context() as folder:
        folder.setattr(VaultFs, "create", denied)
        fact = memory.remember("Words.", scope="team-core")
        assert fact.path is None
        assert "Permission denied; change its permissions" in memory.why_note_waits(fact.id)
        assert memory.get(fact.id).content == "Words."
        (notice,) = memory.sync().attention
    assert notice.path.startswith("team-core/notes/")
    assert "Permission denied" in notice.message
    assert "can write there" in notice.hint
    assert memory.sync().attention == []
    assert memory.get(fact.id).path == notice.path


def test_a_change_says_the_disk_is_full(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = memory.remember("One.")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(VaultFs, "create", full)
        patched.setattr(VaultFs, "exchange", full)
        memory.update(fact.id, content="Two.")
        assert memory.why_note_waits(fact.id).startswith("No space left on device; ")
        new = memory.remember("Three.")
        assert memory.why_note_waits(new.id).startswith("No space left on device; ")
    memory.update(fact.id, content="Four.")
    assert memory.why_note_waits(fact.id) == ""


def test_a_restored_note_is_as_it_was(memory: Memory, vault: Path) -> None:
    note = vault / "Journal" / "By hand.md"
    note.parent.mkdir()
    note.write_text("---\nmood: 'sunny' # today\n---\nWords.\n", encoding="utf-8")
    memory.adopt(["Journal/By hand.md"], scope="public")
    (fact,) = memory.list().facts
    text = note.read_text(encoding="utf-8")
    memory.forget(fact.id)
    assert not note.exists()
    memory.restore(fact.id)
    assert note.read_text(encoding="utf-8") == text
    memory.undo(memory.history(fact.id)[-1].run)
    assert not note.exists()
    memory.undo(memory.history(fact.id)[-1].run)
    assert note.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("is_named", [True, False])
def test_an_undo_means_the_deletion_that_waits_for_a_second_scan(
    memory: Memory, vault: Path, *, is_named: bool
) -> None:
    gone, kept = memory.remember("One."), memory.remember("Two.")
    memory.update(kept.id, content="Three.")
    (vault / str(gone.path)).unlink()
    (action,) = memory.sync().actions
    assert action.action == "wait"
    memory.undo(memory.last_undoable_run().run if is_named else None)
    assert (vault / str(gone.path)).is_file()
    assert memory.get(gone.id).content == "One."
    assert memory.get(kept.id).content == "Three."


def test_the_agent_that_undoes_a_run_is_its_actor(vault: Path, state: str) -> None:
    (vault / "private-indy" / "notes").mkdir(parents=True)
    (vault / "private-indy" / "notes" / "a.md").write_text("Words.\n", encoding="utf-8")
    with vaultsync.open(str(vault), state_dir=state) as memory:
        run = memory.sync().run
        (fact,) = memory.list().facts
        memory.undo(run, agent="indy")
        undone = [each for each in memory.history(fact.id) if each.run != run]
    assert {each.actor for each in undone if each.side == "vault"} == {"indy"}


def test_a_folder_that_cannot_be_adopted_is_refused_with_a_reason(vault: Path, state: str) -> None:
    for folder in ("Templates", "Copy/.meta", "Odd.md"):
        (vault / folder).mkdir(parents=True)
    (vault / "Copy/.meta/config.toml").touch()
    with (vault / ".meta/config.toml").open("a", encoding="utf-8") as settings:
        settings.write('ignore = ["Templates"]\n')
    reasons = {
        "Templates": (UnreadableNoteError, "the `ignore` setting excludes it"),
        "Copy": (UnreadableNoteError, "it is a vault itself"),
        "Odd.md": (NotRegularFileError, "is a folder, not a file"),
    }
    with vaultsync.open(str(vault), state_dir=state) as memory:
        for folder, (kind, why) in reasons.items():
            with pytest.raises(kind, match=why):
                memory.adopt([folder])


def test_a_console_shows_the_vault_and_the_fields_that_are_set(memory: Memory, vault: Path) -> None:
    assert repr(memory) == f"<Memory of {str(vault)!r}, agent 'indy'>"
    shown = repr(memory.remember("The gate opens at six."))
    assert "title='The gate opens at six'" in shown
    assert "None" not in shown
    assert "sentiment" not in shown


def test_the_status_of_a_folder_says_that_it_is_not_a_note(memory: Memory, vault: Path) -> None:
    for name, why in (("Harbours", "it is not a note"), ("A.md", "A.md: is a folder, not a note")):
        (vault / name).mkdir()
        assert memory.note_status(name).message == why


def test_a_path_may_be_a_text_or_a_path(tmp_path: Path) -> None:
    root, state = tmp_path / "Notes", tmp_path / "state"
    vaultsync.init(root, state_dir=state)
    (root / "Tea.md").write_text("Tea is served at four.\n", "utf-8")
    with vaultsync.open(root, state_dir=state) as memory:
        assert memory.adopt([Path("Tea.md")]).counts["created_in_store"] == 1
        assert memory.note_status(root / "Tea.md").state == "synced"
        for single in ("Tea.md", Path("Tea.md")):
            with pytest.raises(InvalidFieldError, match="a list of texts"):
                memory.adopt(single)  # type: ignore[arg-type]


def test_to_be_listed_is_no_use_and_to_be_opened_packed_changed_or_named_is(
    memory: Memory, vault: Path, state: str
) -> None:
    fact = memory.remember("The crane is red.", scope="public")
    memory.sync()
    waiting = memory.settings.state_dir / "recalled.log"

    def uses() -> int:
        return memory.get(fact.id, used=False).access_count

    for _ in range(2):
        with open_read_only(str(vault), state_dir=state) as asked:
            assert asked.answer(RecallRequest("crane", mode="index")).hits
    memory.recall("crane", mode="index")
    memory.list()
    assert not waiting.exists()
    assert uses() == 0
    assert memory.get(fact.id).access_count == 0
    assert waiting.read_text().count(fact.id) == 1
    assert memory.list().facts[0].access_count == 1
    with open_read_only(str(vault), state_dir=state) as asked:
        assert asked.pack(ContextRequest("crane", mode="index")).items
    assert memory.context("crane", mode="index").items
    assert uses() == 3
    memory.update(fact.id, add_tags=["port"])
    memory.edit(fact.id, append="It is high.")
    assert uses() == 5
    other = memory.remember("Blue.", scope="public", fields={"relatedFactIds": [fact.id]})
    assert uses() == 6
    memory.update(other.id, set={"relatedFactIds": [fact.id], "mood": "calm"})
    assert uses() == 6
    memory.update(other.id, set={"relatedFactIds": []})
    memory.update(other.id, set={"relatedFactIds": [fact.id]})
    assert uses() == 7
    (hit,) = [each for each in memory.recall("crane", mode="index").hits if each.id == fact.id]
    assert hit.utility == round(utility(None, 7), 4)


def test_reading_leaves_the_revision_and_everything_derived_as_it_was(memory: Memory) -> None:
    fact = memory.remember("The crane is red.", scope="public")
    memory.sync()
    before = memory.index_files()
    expect = memory.get(fact.id).revision
    for _ in range(3):
        memory.recall("crane", mode="index")
        memory.context("crane", mode="index")
        memory.list()
        assert memory._engine.is_derived_current()
    assert memory.sync().actions == []
    assert memory.index_files() == before
    assert memory.update(fact.id, content="The crane is blue.", expect=expect).access_count


def test_what_one_agent_writes_over_another_while_no_run_is_possible_comes_back_by_undo(
    memory: Memory, vault: Path, state: str
) -> None:
    fact = memory.remember("First.", scope="public")
    memory.sync()
    with vaultsync.open(str(vault), state_dir=state) as busy, busy._engine.exclusive():
        for agent in ("ada", "bob"):
            with vaultsync.open(str(vault), state_dir=state, agent=agent) as writer:
                writer.update(fact.id, content=f"By {agent}.")
    memory.sync()
    said = [each for each in memory.history(fact.id) if each.field == "content"]
    assert [(each.actor, each.before, each.after) for each in said] == [
        ("ada", "First.", "By ada."),
        ("bob", "By ada.", "By bob."),
    ]
    memory.undo(said[-1].run)
    assert memory.get(fact.id).content == "By ada."
    assert "By ada." in (vault / str(fact.path)).read_text(encoding="utf-8")
    assert memory.verify().equal


@pytest.mark.parametrize("name", ["title", "context"])
def test_a_line_that_is_no_text_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(InvalidFieldError, match=name):
        memory.remember("Tea is served at four.", **{name: 4})  # type: ignore[arg-type]


def test_a_field_given_twice_differently_is_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="content was given twice"):
        memory.remember("The crane is red.", fields={"content": "It is green."})
    with pytest.raises(UsageError, match="priority was given twice"):
        memory.remember("The crane is red.", priority=0, fields={"priority": 1})
    assert memory.remember("Red.", priority=1, fields={"priority": 1}).priority == 1
    with pytest.raises(UsageError, match="type was given twice"):
        memory.remember("Red.", type="lesson", fields={"type": "decision"})
    names: dict[str, Value] = {"userId": "zoe", "user_id": "ann"}
    with pytest.raises(UsageError, match="userId was given twice"):
        memory.remember("Tea at four.", fields=names)
    fact = memory.remember("Tea at four.", fields={**names, "user_id": "zoe"})
    with pytest.raises(UsageError, match="userId was given twice"):
        memory.update(fact.id, set=names)


def test_a_field_may_be_named_as_the_attribute_unless_a_note_has_that_property(
    memory: Memory,
) -> None:
    fact = memory.remember("Zoe drinks tea.", fields={"user_id": "zoe"})
    assert (fact.user_id, fact.properties) == ("zoe", {})
    assert memory.update(fact.id, set={"session_id": "s-1"}).session_id == "s-1"
    theirs = memory.new_id()
    line = {"id": theirs, "content": "Ann rows.", "properties": {"user_id": "ann"}}
    memory.import_([json.dumps(line)])
    changed = memory.update(theirs, set={"user_id": "bob"})
    assert (changed.user_id, changed.properties) == (None, {"user_id": "bob"})


def test_the_type_may_be_among_the_fields(memory: Memory) -> None:
    fact = memory.remember("We paint it red.", fields={"type": "decision", "outcome": "done"})

    assert (fact.type, fact.own) == ("decision", {"decisionOutcome": "done"})
    with pytest.raises(UsageError, match="unknown type"):
        memory.remember("Red.", fields={"type": 5})
    note = memory.update(memory.remember("Blue.").id, set={"type": "decision", "outcome": "done"})
    assert (note.type, note.own) == ("decision", {"decisionOutcome": "done"})


def test_a_store_that_is_gone_is_unavailable_and_not_made_again(
    memory: Memory, vault: Path, state: str, tmp_path: Path
) -> None:
    memory.remember("The crane is red.")
    memory.close()
    store = Path(memory.store_path)
    store.rename(tmp_path / "away")
    with vaultsync.open(str(vault), state_dir=state) as opened:
        assert not opened.is_empty, "that is not known"
        with pytest.raises(StoreUnavailableError):
            opened.check()
        assert not store.exists()
        (tmp_path / "away").rename(store)
        assert opened.list().facts


def test_a_misspelled_word_is_corrected_and_an_english_one_is_not(memory: Memory) -> None:
    memory.remember("The locks prevent theft.", scope="public")

    assert "prevent" in memory.recall("prevnt locks", mode="index")[0].why
    assert "prevent" not in memory.recall("present locks", mode="index")[0].why


def test_an_answer_of_the_index_loads_no_engine(memory: Memory, vault: Path, state: str) -> None:
    memory.remember("The crane is red.", scope="public")
    memory.sync()
    words = ["recall", "crane", "--json", "--vault", str(vault), "--state-dir", state]
    code = (
        "import sys\nfrom vaultsync.cli.main import cli\n"
        f"try:\n    cli.main({words!r})\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["source"] == "index"
    heavy = {"filelock", "lancedb", "networkx", "numpy", "onnxruntime", "torch"}
    engine = {
        "vaultsync.api.memory",
        "vaultsync.backends.filesystem.vault_fs",
        "vaultsync.sync.run",
    }
    assert (heavy | engine).isdisjoint(done.stderr.split())


def test_a_list_by_a_filter_reads_only_the_facts_that_match(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        memory.remember(f"Crane {number} is red.", tags=["crane"] if number else ["hoist/new"])
    read: list[str] = []
    find = memory._ctx.store.find_many

    def counted(fact_ids: Iterable[str]) -> dict[str, Fact]:
        found = dict(find(fact_ids))
        read.extend(found)
        return found

    memory.list(tag="crane")  # the index follows the store
    monkeypatch.setattr(memory._ctx.store, "find_many", counted)

    assert [fact.title for fact in memory.list(tag="hoist").facts] == ["Crane 0 is red"]
    assert len(read) == 1
    assert not memory.list(tag="cranes").facts
    assert len(memory.list(type="note").facts) == 5
    assert len(memory.list(type=("decision", "note"), tag=["crane", ""]).facts) == 4
    monkeypatch.setattr("vaultsync.facts.listing.MAX_MATCHING", 2)
    assert len(memory.list(tag="crane").facts) == 4


def test_the_newest_facts_come_first_whatever_their_ids(memory: Memory) -> None:
    days = {"e": "2026-01-01", "3": "2026-01-03", "a": "2026-01-02"}
    rest = "0000000-0000-8000-8000-000000000000"
    facts = [{"id": x + rest, "content": x, "createdAt": day} for x, day in days.items()]
    memory.import_(map(json.dumps, facts))
    ids = [fact.id[0] for fact in memory.list(newest=True).facts]
    assert ids == ["3", "a", "e"]
    first = memory.list(newest=True, limit=2)
    assert [fact.id[0] for fact in memory.list(newest=True, after=first.next).facts] == ["e"]


def test_the_seconds_of_a_report_include_derived_data(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "Loose.md").write_text("Words.\n", encoding="utf-8")
    long = DerivedReport(1, 1, 1, seconds=1_000.0)
    monkeypatch.setattr("vaultsync.api.derived_data.update_derived", lambda *_, **__: long)
    assert memory.adopt(dry_run=True).seconds < 1_000
    assert memory.adopt().seconds > 1_000


def test_an_edit_of_the_user_wins_over_a_deletion(memory: Memory, vault: Path) -> None:
    fact = memory.remember("The crane is red.", scope="public")
    note = vault / str(fact.path)
    note.write_text(note.read_text() + "\nIt is green.\n", encoding="utf-8")

    assert to_builtins(memory.forget(fact.id)) == {"id": fact.id, "status": "active"}
    assert "green" in memory.get(fact.id).content
    (conflict,) = memory.conflicts()
    assert conflict.fact_id == fact.id


def test_a_marker_that_lost_its_id_is_not_given_another_one(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    known = vaultsync.init(str(vault), state_dir=state).vault_id
    marker = vault / ".meta" / "config.toml"
    marker.write_text("", encoding="utf-8")

    with pytest.raises(ConfigError) as wrong:
        vaultsync.init(str(vault), state_dir=state)

    assert marker.read_text(encoding="utf-8") == ""
    assert "backup" in wrong.value.hint
    assert "init" not in wrong.value.hint  # it would not help
    marker.write_text(f'vault_id = "{known}"\n', encoding="utf-8")
    assert vaultsync.init(str(vault), state_dir=state).vault_id == known


# ------------------------------------------------------------------------- links and graph


@pytest.fixture
def linked(memory: Memory) -> Memory:
    """Three notes, and links between them."""
    memory.remember("-", title="Alice", type="person", scope="public")
    memory.remember("Tea with [[Al]].", title="Tea", scope="public")
    memory.remember("See ![[p.png]] and [[Tea]].", title="Cup", scope="public")
    memory.sync()
    return memory


def test_the_graph_is_exported_counted_and_walked(linked: Memory) -> None:
    for form in ("json", "graphml", "canvas", "html"):
        made = linked.graph_export(format=form)
        assert (made.format, made.nodes, made.links) == (form, 4, 2)
        assert "Alice" in made.text
    tea = linked.graph_export(around="Tea", max_chars=1)
    assert (tea.nodes, tea.links, tea.left_out) == (1, 0, 2)
    assert linked.graph_stats(hubs=1).nodes == 4
    assert [each.label for each in linked.graph_neighbors("Tea").neighbors] == ["Al", "Cup"]
    with pytest.raises(InvalidFieldError):
        linked.graph_export(format="dot")
    with pytest.raises(NotFoundError):
        linked.graph_neighbors("Nobody")


def test_links_are_checked_among_all_files_and_mended(linked: Memory, vault: Path) -> None:
    alice = next(each for each in linked.list().facts if each.title == "Alice")
    linked.update(alice.id, set={"aliases": ["Al"]})
    found = linked.links_check()
    assert [each.link for each in found.problems] == ["![[p.png]]", "[[Tea]]", "[[Al]]"]

    (vault / "media").mkdir()
    (vault / "media" / "p.png").write_bytes(b"x")
    found = linked.links_check(fix=True)

    assert ([each.link for each in found.fixed], found.problems) == (["[[Tea]]", "[[Al]]"], ())
    tea = next(each for each in linked.list().facts if each.title == "Tea")
    assert tea.content == "Tea with [[Alice|Al]]."
    assert linked.verify().equal
    assert linked.sync().quiet


def test_obsidians_graph_gets_a_colour_for_each_type(vault: Path, state: str) -> None:
    with vaultsync.open(str(vault), state_dir=state) as memory:
        with pytest.raises(ConfigError, match="Obsidian"):
            memory.graph_colours()

        settings = vault / ".obsidian" / "graph.json"
        settings.parent.mkdir()
        settings.write_text('{"search": "x", "scale": 2}')
        assert memory.graph_colours().changed
        assert json.loads(settings.read_text())["search"] == "x"
        assert not memory.graph_colours().changed

        settings.write_text('{"search": ')
        with pytest.raises(ConfigError, match="does not have Obsidian's format"):
            memory.graph_colours()
        assert settings.read_text() == '{"search": '


def test_a_question_is_answered_with_what_held_then(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = memory.remember("The slipway has 38 berths.")
    then = _moment(monkeypatch)
    new = memory.supersede(fact.id, "The slipway has 42 berths.")
    assert [hit.id for hit in memory.recall("slipway")] == [new.id]
    found = memory.recall("slipway", as_of=then)
    assert [hit.id for hit in found] == [fact.id]
    assert "keyword search" in found.degraded[0]
    assert [hit.id for hit in memory.recall("slipway", as_of=then.date())] == [new.id]
    assert not memory.recall("slipway", as_of="2020-01-31")
    with pytest.raises(InvalidFieldError):
        memory.recall("slipway", as_of="banana")
    assert not [*memory.settings.state_dir.glob("index/past-*")]
    make = tempfile.mkdtemp

    def refuse(suffix: str | None, prefix: str | None, folder: Path | None) -> str:
        if folder is not None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return make(suffix, prefix, folder)

    # Permissions would not stop root.
    index = memory.settings.state_dir / "index"
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != index)
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    assert [hit.id for hit in memory.recall("slipway", as_of=then)] == [fact.id]


def test_cold_commands_answer_with_what_held_then(
    vault: Path, state: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = memory.remember("The slipway has 38 berths.", scope="public")
    then = _moment(monkeypatch)
    memory.update(fact.id, content="The slipway has 42 berths.")
    with open_read_only(str(vault), state_dir=state) as cold:
        (hit,) = cold.answer(RecallRequest("slipway", as_of=then.isoformat()))
    assert "38 berths" in hit.snippet


def _moment(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """A time before which all is done, and after which the next begins."""
    now = SystemClock.now  # facts have whole seconds
    at = now(SystemClock()) + timedelta(seconds=1)
    monkeypatch.setattr(SystemClock, "now", lambda it: now(it) + timedelta(seconds=2))
    return at


def test_a_new_fact_is_compared_with_older_ones(memory: Memory) -> None:
    old = memory.remember("The slipway has 38 berths.")
    assert memory.compare(old) == Comparison()
    new = memory.remember("The slipway has 42 berths.")
    (found,) = memory.compare(new).contradicts
    assert (found.id, found.title) == (old.id, old.title)
    (same,) = memory.compare(memory.remember("The slipway has 42 berths.")).same_text
    assert same.id == new.id


def test_no_limit_is_too_large(memory: Memory) -> None:
    fact = memory.remember("Tea at four.")
    assert [each.id for each in memory.list(limit=10**30).facts] == [fact.id]
    for question in ("tea", "type:note"):
        assert [each.id for each in memory.recall(question, limit=10**30).hits] == [fact.id]
    assert memory.observations(limit=10**30) == ()
    assert memory.log(limit=10**30) == ()
    for page in (memory.list, memory.observations, memory.log):
        with pytest.raises(InvalidFieldError, match="1 or more"):
            page(limit=0)


@pytest.mark.parametrize("given", ["~archive", "./~archive", "{root}/~archive"])
def test_a_folder_may_begin_with_a_tilde(memory: Memory, vault: Path, given: str) -> None:
    (vault / "~archive").mkdir()
    (vault / "~archive/a.md").write_text("Old.\n")
    assert memory.adopt([given.format(root=vault)]).counts["created_in_store"] == 1


def test_a_page_continues_after_any_name_of_a_fact(memory: Memory) -> None:
    first, second = (memory.remember(f"{each} is green.") for each in ("Tea", "Moss"))
    assert first.path is not None
    for name in (first.id, first.id[:13], first.path, first.title):
        assert [each.id for each in memory.list(after=name).facts] == [second.id]
    memory.forget(first.id)
    assert [each.id for each in memory.list(after=first.id).facts] == [second.id]


def test_a_path_may_lead_through_a_link(memory: Memory, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vault)
    (vault / "here.md").write_text("A note.\n", encoding="utf-8")
    (tmp_path / "there.md").write_text("A note.\n", encoding="utf-8")
    (vault / "out").symlink_to(tmp_path)
    assert memory.note_status(str(tmp_path / "link/here.md")).path == "here.md"
    for outside in (tmp_path / "there.md", tmp_path / "link/../there.md"):
        with pytest.raises(UnsafePathError):
            memory.note_status(str(outside))


@pytest.mark.parametrize("given", ["\u00dcber/\u00e9.md", "U\u0308ber/e\u0301.md"])
def test_a_path_names_a_file_in_any_unicode_form(memory: Memory, vault: Path, given: str) -> None:
    (vault / "U\u0308ber").mkdir()
    (vault / "U\u0308ber/e\u0301.md").write_text("A note.\n", encoding="utf-8")
    path = str(vault / given)
    assert memory.note_status(path).state == "not_adopted"
    assert memory.adopt([path]).counts["created_in_store"] == 1
    assert memory.note_status(path).state == "synced"
    with pytest.raises(NoteMissingError):
        memory.note_status(str(vault / "elsewhere/\u00e9.md"))


def test_an_empty_path_is_not_the_whole_vault(memory: Memory, vault: Path) -> None:
    (vault / "public").mkdir(exist_ok=True)
    (vault / "public/here.md").write_text("A note.\n", encoding="utf-8")
    with pytest.raises(UnsafePathError):
        memory.adopt([""])
    assert memory.list(all=True).facts == ()


@pytest.mark.parametrize("agent", ["../x", "a b", 5])
def test_opening_refuses_agents_with_no_valid_name(vault: Path, state: str, agent: object) -> None:
    with pytest.raises(UsageError, match="agent"):
        vaultsync.open(str(vault), agent=agent, state_dir=state)  # type: ignore[arg-type]


@pytest.mark.parametrize("agent", ["../x", 5, ["ada"], False])
def test_a_call_refuses_an_agent_without_a_valid_name(memory: Memory, agent: object) -> None:
    fact = memory.remember("One.")
    calls: tuple[Callable[..., object], ...] = (
        partial(memory.remember, "Two."),
        partial(memory.recall, "one"),
        partial(memory.context, "one"),
        partial(memory.update, fact.id, content="Two."),
        partial(memory.forget, fact.id),
        partial(memory.observe, "Two."),
        memory.undo,
        partial(memory.repos.add_note, None, content="Two."),
        partial(memory.modules.write, "topic", "chunk", "Two."),
    )
    for call in calls:
        with pytest.raises(InvalidAgentError):
            call(agent=agent)
    assert memory.get(fact.id).content == "One."


CALLS = EVERY_METHOD | {
    "compare": [lambda m, a: m.compare(Fact(a.fact))],
    "conflict_copies": [lambda m, _: m.conflict_copies()],
    "proposal": [lambda m, a: m.proposal(a.fact)],
    "with_queued": [lambda m, _: m.with_queued(Status(0, 0, 0, 0, (), 0, None, "idle"))],
}
"""Calls that call no other method first."""


def test_a_closed_memory_says_to_open_it_again(vault: Path, state: str) -> None:
    memory = vaultsync.open(vault, state_dir=state)
    _ = memory.modules, memory.repos
    known = memory.settings.vault_id
    (vault / "a.md").write_text(f"---\nid: {known}\n---\n", "utf-8")
    about = MagicMock(**dict.fromkeys([*About.__annotations__, "run"], known), folder=vault.parent)
    about.proposals = [known, known]
    for _ in range(2):
        memory.close()
    for name in {*dir(Memory)} - {"close"}:
        if not name.startswith("_"):
            with pytest.raises(errors.ClosedMemoryError, match="closed") as refused:
                CALLS[name][0](memory, about)
            assert str(vault) in refused.value.hint


def test_a_fork_must_open_the_vault_itself(memory: Memory) -> None:
    fact = memory.remember("Tea is green.")
    child = os.fork()
    if not child:
        said = 1
        with suppress(BaseException):
            with memory, pytest.raises(UsageError, match="fork"):
                memory.get(fact.id)
            with pytest.raises(UsageError, match="fork"):
                memory.remember("Tea is hot.")
            said = 0
        os._exit(said)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert memory.remember("Milk is cold.").path
    assert len(memory.list().facts) == 2


def test_a_memory_is_refused_in_another_thread(memory: Memory) -> None:
    fact = memory.remember("Tea is green.")
    ask: tuple[Callable[[], object], ...] = (
        *(memory.list, memory.status, memory.sync, memory.verify, memory.conflicts, memory.close),
        *(partial(each, "tea") for each in (memory.remember, memory.recall, memory.context)),
        *(partial(each, fact.id) for each in (memory.get, memory.forget, memory.history)),
        *(memory.proposals, memory.index, memory.maintain, memory.finish_pending, memory.check),
    )
    with ThreadPoolExecutor() as pool:
        refusals = [each.exception() for each in [pool.submit(each) for each in ask]]
    assert {(type(x), str(x)) for x in refusals} == {
        (UsageError, "the memory was opened by another thread")
    }
    assert [each.id for each in memory.recall("tea").hits] == [fact.id]


def test_an_edit_by_another_agent_reveals_nothing_of_a_hidden_fact(vault: Path, state: str) -> None:
    with vaultsync.open(vault, state_dir=state) as memory:
        hidden = memory.remember("# Salary\n\n4711", agent="ada")
        for find in ({"section": "Bonus"}, {"find": "4711", "count": 2}):
            with pytest.raises(FactNotFoundError):
                memory.edit(hidden.id, **find, replace="", agent="bob")


@pytest.mark.parametrize("form", ["{}", "./{}", "public/../{}", "VAULT/{}"])
def test_no_agent_finds_a_hidden_note(vault: Path, state: str, memory: Memory, form: str) -> None:
    with vaultsync.open(str(vault), state_dir=state, agent="bob") as other:
        path = other.remember("The code is 4711.").path
        assert path

    def said(path: str) -> list[str]:
        found: list[str] = []
        for ask in (
            memory.note_status,
            lambda each: memory.adopt([each], dry_run=True),
            lambda each: memory.settle_copy(each, take="keep"),
        ):
            with pytest.raises((NoteMissingError, UsageError)) as caught:
                ask(form.replace("VAULT", str(vault)).format(path))
            found.append(str(caught.value))
        return found

    missing = path.replace("code", "cope")
    assert said(path) == [each.replace(missing, path) for each in said(missing)]


@pytest.mark.parametrize(
    "error", [errors.ConflictNotFoundError, errors.ProposalNotFoundError, errors.RunNotFoundError]
)
def test_an_unknown_id_is_shown_in_one_line(error: Callable[[str], errors.VaultsyncError]) -> None:
    assert error("0123abcd").message in {
        "no open conflict 0123abcd",
        "no proposal 0123abcd",
        "there is no run 0123abcd, or it changed nothing",
    }
    message = error("a name\n" * 1000).message
    assert message.isprintable()
    assert len(message) < 200


def test_a_traceback_shows_the_hint_of_an_error() -> None:
    error = errors.EngineBusyError("/v", "process 7")
    error.add_note("in the nightly job")
    read = pickle.loads(pickle.dumps(error))  # noqa: S301 - just written
    for each in (error, read):
        *_, last, hint, note = traceback.format_exception(each)
        assert last == f"vaultsync.errors.EngineBusyError: {error.message}\n"
        assert (hint, note) == (f"hint: {error.hint}\n", "in the nightly job\n")
    error.message, error.hint = "other", ""
    assert traceback.format_exception(error)[-1].endswith("EngineBusyError: other\n")
    assert repr(error) == "EngineBusyError('other')"


def test_errors_can_be_pickled() -> None:
    given: dict[str, object] = {"int": 3, "float": 0.5, "Sequence[str]": ["x"]}
    pickled = 0
    for kind in map(errors.__dict__.get, dir(errors)):
        if not (isinstance(kind, type) and issubclass(kind, errors.VaultsyncError)):
            continue
        make: Callable[..., errors.VaultsyncError] = kind
        takes = inspect.signature(kind).parameters.values()
        needed = [each.annotation for each in takes if each.default is each.empty]
        try:
            error = make(*(given.get(str(each), "x") for each in needed))
        except (TypeError, AttributeError):  # takes other values
            continue
        error.run = "r"
        read = pickle.loads(pickle.dumps(error))  # noqa: S301 - just written
        pickled += 1
        assert type(read) is kind
        assert (str(read), vars(read)) == (str(error), vars(error))
    assert pickled > 50
