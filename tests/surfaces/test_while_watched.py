"""What the user and an agent can do while a daemon has the vault: the daemon does it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from tests.bridges import open_bridge
from tests.daemons import wait_until, watched
from tests.mcp_clients import Home, ask, make_home, over_stdio
from vaultsync.api.memory import Memory
from vaultsync.errors import ConflictNotFoundError, EngineBusyError, InvalidFieldError
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool

pytestmark = pytest.mark.long(5)

BUSY, STOPPED, REVIEW, WRONG, FAILED = 5, 4, 3, 2, 1
CSV = str(Path(__file__).parents[2] / "golden" / "exchange" / "csv")


def dispute(home: Home, agent: str = "indy") -> tuple[str, Path]:
    """A conflict about a text that both sides changed; its id, and the note."""
    with home.memory(agent) as memory:
        fact = memory.remember("It is red.", title="Crane", scope=f"private-{agent}")
        memory.sync()
        note = home.note(memory.get(fact.id).path)
        edit(note, "It is red.", "It is white.")
        memory.update(fact.id, content="It is blue.")
        (found,) = memory.conflicts()
    return found.id, note


def edit(note: Path, old: str, new: str) -> None:
    text = note.read_text(encoding="utf-8")
    assert old in text
    note.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def disputed(home: Home) -> tuple[str, Path]:
    return dispute(home)


@pytest.fixture
def daemon(home: Home, disputed: object) -> Iterator[str]:
    with watched(env=home.environment) as address:
        yield address


def result(home: Home, *words: str) -> tuple[int, dict[str, Any]]:
    done = home.run(*words, "--json")
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.usefixtures("daemon")
def test_an_agent_resolves_a_conflict(home: Home, disputed: tuple[str, Path]) -> None:
    conflict, note = disputed

    async def talk() -> dict[str, Any]:
        async with over_stdio(home) as agent:
            return await ask(agent, "memory_resolve_conflict", conflict=conflict, take="store")

    done = asyncio.run(asyncio.wait_for(talk(), 60))

    assert done.get("conflicts") == [], done
    assert done["resolved"]["id"] == conflict
    assert done["resolved"]["conflict_path"] is None
    assert "It is blue." in note.read_text(encoding="utf-8")
    assert not note.with_name(note.name.replace(".md", ".conflict.md")).exists()
    with home.memory() as memory:
        assert memory.history(memory.list().facts[0].id)[-1].actor == "indy"


@pytest.mark.usefixtures("daemon")
def test_a_daemon_answers_the_same(home: Home, disputed: tuple[str, Path], tmp_path: Path) -> None:
    alone = make_home(tmp_path / "alone")
    conflict, _ = dispute(alone)
    here = result(alone, "resolve", conflict, "--take", "vault")[1]
    by_daemon = result(home, "resolve", disputed[0][:6], "--take", "vault")[1]
    assert by_daemon["resolved"].keys() == here["resolved"].keys()
    (field,) = by_daemon["resolved"]["fields"]
    assert field == {
        "field": "content",
        "base": "It is red.",
        "vault": "It is white.",
        "store": "It is blue.",
    }


@pytest.mark.usefixtures("daemon")
def test_both_versions_are_merged_by_hand(home: Home, disputed: tuple[str, Path]) -> None:
    conflict, note = disputed
    with home.memory() as memory:
        done = memory.resolve_by_hand(conflict, field="content", text="It is both.")
        assert done.id == conflict
        assert memory.conflicts() == ()
    assert "It is both." in note.read_text(encoding="utf-8")


@pytest.mark.usefixtures("daemon")
def test_a_conflict_copy_is_listed_and_merged(home: Home, disputed: tuple[str, Path]) -> None:
    assert result(home, "resolve", disputed[0], "--take", "vault")[0] == 0
    note = disputed[1]
    copy = note.with_name(f"{note.stem} (Conflicted copy).md")
    copy.write_bytes(note.read_bytes().replace(b"It is white.", b"It is white.\n\nIt is tall."))
    wait_until(lambda: result(home, "conflicts")[1]["copies"])

    code, listed = result(home, "conflicts")

    assert code == REVIEW
    ((path, of),) = [(each["path"], each["note"]) for each in listed["copies"]]
    assert (Path(path).name, Path(of).name) == (copy.name, note.name)
    result(home, "resolve", path, "--take", "merge")
    assert not copy.exists()
    assert "It is white.\n\nIt is tall." in note.read_text(encoding="utf-8")
    assert result(home, "conflicts") == (0, {"conflicts": [], "copies": []})


@pytest.mark.usefixtures("daemon")
def test_an_error_of_the_daemon_is_raised_here(home: Home, disputed: tuple[str, Path]) -> None:
    conflict, _ = disputed
    with home.memory() as memory:
        with pytest.raises(InvalidFieldError, match="one of content"):
            memory.resolve(conflict, take="store", field="title")
        with pytest.raises(ConflictNotFoundError):
            memory.resolve("x", take="store")
        with pytest.raises(EngineBusyError):
            memory.resolve("", take="store")
    code, shown = result(home, "undo", "no-such-run")
    assert (code, shown["error"]["kind"]) == (FAILED, "RunNotFoundError")
    code, shown = result(home, "resolve", conflict, "--take", "store", "--field", "title")
    assert (code, shown["error"]["kind"]) == (WRONG, "InvalidFieldError")


def test_an_agent_cannot_resolve_a_conflict_that_it_may_not_see(home: Home) -> None:
    conflict, _ = dispute(home, "ada")
    with watched(env=home.environment), home.memory() as memory:
        assert answer(memory, conflict)["error"]["kind"] == "ConflictNotFoundError"
    with home.memory("ada") as memory:
        assert [each.id for each in memory.conflicts()] == [conflict]


def answer(memory: AgentMemory, conflict: str) -> dict[str, Any]:
    given = {"conflict": conflict, "take": "store"}
    done = run_tool(memory, TOOLS_BY_NAME["memory_resolve_conflict"], given).structuredContent
    assert done is not None
    return done


def test_a_daemon_of_another_agent_is_not_asked(home: Home, disputed: tuple[str, Path]) -> None:
    env = {**home.environment, "VAULTSYNC_AGENT": "ada"}
    with watched(env=env), home.memory() as memory:
        shown = answer(memory, disputed[0])["error"]
    assert shown["kind"] == "EngineBusyError"
    assert "conflict note" in shown["hint"]


def test_without_a_bridge_the_vault_is_busy(home: Home, disputed: tuple[str, Path]) -> None:
    with watched("--no-bridge", env=home.environment):
        code, shown = result(home, "resolve", disputed[0], "--take", "store")
    assert (code, shown["error"]["kind"]) == (BUSY, "EngineBusyError")


def test_a_bridge_without_the_vault_is_not_asked(home: Home, disputed: tuple[str, Path]) -> None:
    with open_bridge(home.vault.parent) as client, home.memory() as other, other._engine.lock:
        path = f"/v1/conflicts/{disputed[0]}/resolve"
        assert client("POST", path, {"take": "store"}).kind == "EngineBusyError"


def test_a_bridge_of_one_agent_refuses_another(home: Home, disputed: tuple[str, Path]) -> None:
    with open_bridge(home.vault.parent, agent="ada") as client:
        path = f"/v1/conflicts/{disputed[0]}/resolve"
        done = client("POST", path, {"take": "store", "agent": "indy"})
    assert done.kind == "ScopeDeniedError"


@pytest.mark.usefixtures("daemon")
def test_a_run_is_undone(home: Home, disputed: tuple[str, Path]) -> None:
    with home.memory() as memory:
        edits = memory.history(memory.list().facts[0].id)
    _, note = disputed
    (run,) = {each.run for each in edits if each.after == "It is white."}

    code, report = result(home, "undo", run)

    assert code in (0, 3)
    assert report["actions"]
    assert "It is white." not in note.read_text(encoding="utf-8")


def test_a_sync_with_arguments_is_handed_to_the_daemon(home: Home) -> None:
    with home.memory() as memory:
        fact = memory.remember("It is red.", title="Crane", scope="public")
        memory.sync()
        note = home.note(memory.get(fact.id).path)
    with watched(env=home.environment):
        code, shown = result(home, "sync")
        assert (code, shown["error"]["kind"]) == (BUSY, "EngineBusyError")
        there = note.parents[2] / "team-yard" / "notes" / note.name
        there.parent.mkdir(parents=True)
        note.rename(there)
        code, report = result(home, "sync", "--allow-scope-moves", "--dry-run")
        assert (code, report["dry_run"]) == (0, True)
        code, report = result(home, "sync", "--allow-scope-moves")
        assert (code, report["counts"]["updated_in_store"]) == (0, 1)
    with home.memory() as memory:
        assert memory.get(fact.id).scope == "team-yard"
        assert memory.verify().equal


def test_a_run_that_the_guard_stopped_is_confirmed_by_its_id(home: Home) -> None:
    with home.memory() as memory:
        for number in range(40):
            memory.remember(f"Fact {number}.", scope="public")
        memory.sync()
    with watched(env=home.environment):
        # All at once: a pass that came between two deletions would see few enough of them.
        (home.vault / "public").rename(home.vault.parent / "away")
        hint = _until_it_fails(home)["hint"]
        code, shown = result(home, "sync", "--confirm", "another")
        assert (code, shown["error"]["kind"]) == (STOPPED, "GuardError")
        (run,) = re.findall("--confirm ([^`]+)", shown["error"]["hint"])
        assert run == shown["error"]["run"]
        assert "--confirm" in hint
        code, report = result(home, "sync", "--confirm", run)
        assert (code, report["counts"]["deleted_in_store"]) == (0, 40)


def _until_it_fails(home: Home) -> dict[str, Any]:
    """The error that the status of a daemon shows at last."""
    wait_until(lambda: result(home, "status")[1]["daemon"]["last_error"])
    found: dict[str, Any] = result(home, "status")[1]["daemon"]["last_error"]
    return found


def test_a_daemon_that_ended_meanwhile_is_not_waited_for(
    home: Home, disputed: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its announcement is left over, another program has the port, or none."""
    with (
        watched(env=home.environment),
        Memory(home.memory().settings) as memory,
        monkeypatch.context() as patch,
    ):
        patch.setattr("vaultsync.api.daemon_client.ask_bridge", lambda *_: None)
        with pytest.raises(EngineBusyError):
            memory.resolve(disputed[0], take="store")


def _expired(memory: Memory, many: int, *, expired: int) -> None:
    for number in range(many):
        until = "2020-01-01" if number < expired else "2999-01-01"
        fields = {"expiresAt": until}
        memory.remember(f"Fact {number}.", scope="public", fields=fields)
    memory.sync()


def test_the_daemon_maintains_the_memory(home: Home) -> None:
    with home.memory() as memory:
        _expired(memory, 20, expired=2)
    with watched(env=home.environment):
        code, report = result(home, "maintain", "--dry-run")
        assert (code, report["counts"]["deleted_in_store"]) == (0, 2)
        assert report["dry_run"]
        code, report = result(home, "maintain")
        assert (code, report["counts"]["deleted_in_store"]) == (0, 2)
        assert report["counts"]["deleted_in_vault"] == 2
        with home.memory() as memory:
            assert memory.maintain(dry_run=True).quiet
    assert len(list((home.vault / "public").rglob("*.md"))) == 18


def test_maintenance_that_the_guard_stopped_is_confirmed_by_its_id(home: Home) -> None:
    with home.memory() as memory:
        _expired(memory, 40, expired=40)
    with watched(env=home.environment):
        code, shown = result(home, "maintain")
        assert (code, shown["error"]["kind"]) == (STOPPED, "GuardError")
        run = shown["error"]["run"]
        result(home, "sync", "--max-delete", "0")  # a whole pass comes between
        code, report = result(home, "maintain", "--confirm", run)
        assert (code, report["counts"]["deleted_in_store"]) == (0, 40)


def test_the_daemon_adopts_notes(home: Home) -> None:
    note = home.vault / "Inbox" / "Quote.md"
    note.parent.mkdir()
    note.write_text("# A quote\n\nTwo panels.\n", encoding="utf-8")
    words = "adopt", "--scope", "team-yard", "--type", "decision"
    log: list[dict[str, Any]] = []
    with watched(env=home.environment, log=log):
        code, report = result(home, *words, "--dry-run")
        assert (code, report["counts"]["created_in_store"]) == (0, 1)
        code, report = result(home, *words)
        assert (code, report["counts"]["created_in_store"]) == (0, 1)
    assert note.read_text(encoding="utf-8").startswith("---\nid: ")
    with home.memory() as memory:
        (fact,) = memory.list().facts
        assert (fact.scope, fact.type) == ("team-yard", "decision")
    (shown,) = [each for each in log if each["event"] == "pass"]
    assert (shown["run"], shown["counts"]["created_in_store"]) == (report["run"], 1)


def test_the_daemon_verifies_the_vault(home: Home) -> None:
    with home.memory() as memory:
        crane = memory.remember("It is red.", title="Crane", priority=1)
        gate = memory.remember("It is shut.", title="Gate")
        memory.sync()
        edit(home.note(crane.path), "priority: 1", "priority: very")
        edit(home.note(gate.path), "type: ", 'type: "')
        memory.sync()
        alone = memory.verify()
        assert alone.held
        assert alone.differences
    with watched(env=home.environment), home.memory() as memory:
        assert memory.verify() == alone
        assert result(home, "verify") == (FAILED, json.loads(encode(alone)))


def test_the_daemon_fixes_links(home: Home) -> None:
    with home.memory() as memory:
        fact = memory.remember("See [[crane]] and [[Nowhere]].", title="Crane")
        note = home.note(memory.get(fact.id).path)
        edit(note, "[[crane]]", "[[Old crane]]")
        edit(note, "---\n\n", "aliases:\n- Old crane\n---\n\n")
        memory.sync()
    with watched(env=home.environment), home.memory() as memory:
        found = memory.links_check()
        fixed = memory.links_check(fix=True)
        assert [each.link for each in fixed.fixed] == ["[[Old crane]]"]
        assert fixed.problems == tuple(
            each for each in found.problems if each.link == "[[Nowhere]]"
        )
        assert fixed.run
        code, shown = result(home, "links", "check", "--fix")
        assert (code, shown["run"]) == (3, None)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("sync",), "`vaultsync status` shows its progress"),
        (("index",), "updates the indexes by itself"),
        (("rebuild", "--from", "store"), "stop it first"),
        (("migrate", "--to", "sqlite:other.sqlite3"), "stop it first"),
        (("adopt", "private-indy"), "without a PATH"),
        (("watch",), "`--wait`"),
    ],
)
@pytest.mark.long(4)
def test_what_a_daemon_cannot_do_has_a_hint(home: Home, words: tuple[str, ...], hint: str) -> None:
    code, shown = result(home, *words)
    assert (code, shown["error"]["kind"]) == (BUSY, "EngineBusyError")
    assert hint in shown["error"]["hint"]


def test_an_import_has_the_vault_until_done_and_the_daemon_goes_on(home: Home, daemon: str) -> None:
    assert result(home, "import-from", "csv", CSV, "--dry-run")[1]["facts"] == 1
    assert result(home, "import-from", "csv", CSV)[1]["facts"] == 1
    notes = home.vault.glob("[!.]*/**/*.md")
    (note,) = (x for x in notes if "Diesel" in x.read_text(encoding="utf-8"))
    edit(note, "until noon", "until one")
    wait_until(lambda: "until one" in home.run("list", "--json").stdout)
    # A run writes the store before it is recorded.
    wait_until(lambda: {"import", "watch"} <= {x["kind"] for x in result(home, "log")[1]["runs"]})


def test_a_rebuild_that_is_refused_makes_no_store(home: Home) -> None:
    with home.memory() as memory:
        memory.remember("It is red.")
        where = memory.store_path
    with watched(env=home.environment):
        Path(where).rename(home.state / "away")
        code, shown = result(home, "rebuild", "--from", "vault")
        assert (code, shown["error"]["kind"]) == (BUSY, "EngineBusyError")
        assert not Path(where).exists()


def test_the_index_is_waited_for_beside_a_daemon(home: Home) -> None:
    with watched("--no-bridge", env=home.environment), home.memory() as memory:
        wait_until(lambda: memory._engine.lock.holder() != "idle")
        facts = [memory.remember(f"Fact {number} of tea.", scope="public") for number in range(30)]
        code, done = result(home, "index", "--wait")
        assert (code, done["notes"]) == (0, len(facts))
        assert memory._engine.is_derived_current()


def test_an_engine_that_hangs_is_not_awaited(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultsync.api.engine.DERIVE_STALL_SECONDS", 0.5)
    stages: list[str] = []
    with home.memory() as holder, home.memory() as memory:
        holder.remember("Tea.", scope="public")
        with holder._engine.exclusive():
            with pytest.raises(EngineBusyError, match="does not answer"):
                memory.index(progress=lambda stage, *_: stages.append(stage))
            with pytest.raises(EngineBusyError, match="is syncing"):
                memory.index(rebuild=True)
        assert set(stages) == {"index"}
        assert memory.index().notes == 1


def test_an_engine_that_ends_is_followed(home: Home) -> None:
    with home.memory() as holder, home.memory() as memory:
        holder.remember("Tea.", scope="public")
        held = holder._engine.exclusive()
        held.__enter__()

        def release(*_: object) -> None:
            if memory._engine.lock.holder() != "this process":
                held.__exit__(None, None, None)

        assert memory.index(progress=release).notes == 1


def test_a_worker_that_hangs_is_not_waited_for(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultsync.api.embedding.STALL_SECONDS", 0.5)
    with home.memory() as one, home.memory() as two:
        assert one._engine.embedding.files.acquire(1)
        one._engine.embedding.files.write({})
        assert "makes no progress" in two._engine.embedding.embed().degraded
        one._engine.embedding.files.release()
