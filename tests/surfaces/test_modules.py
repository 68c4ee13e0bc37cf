"""Modules on a real disk, through the command line, Python, MCP and the bridge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import vaultsync
from tests.bridges import open_bridge
from tests.gits import GitFolder
from tests.machines import configure_machine
from tests.mcp_clients import Home, make_home
from tests.module_service import ModuleService, serving
from vaultsync.api.configuration import load_settings
from vaultsync.api.modules import Modules
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.byte_search import FileByteSearch
from vaultsync.backends.filesystem.memory_file import STAGING_DIR
from vaultsync.backends.filesystem.module_folder import DiskModuleFolder
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.backends.state.module_files import ModuleStateFiles
from vaultsync.errors import (
    GuardError,
    ModulesBusyError,
    OlderVaultError,
    ProposedError,
    ScopeDeniedError,
    UnreadableModuleError,
)
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool, tool_rows
from vaultsync.mcp_server.toolsets import choose_toolsets
from vaultsync.modules.service import ModuleWork
from vaultsync.service.daemon_work import DaemonWork
from vaultsync.service.idle_work import IdleWork

pytestmark = pytest.mark.long(5)

TEXT = "# Test location\n\nTests live beside the code.\n"
MODULE = "docs/memories/patterns/module-01-test-location.md"
MANIFEST = "docs/memories/patterns/manifest.yaml"
BACKLOG = "docs/memories/memory-sync-backlog.md"


@pytest.fixture
def service() -> Iterator[ModuleService]:
    with serving() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = make_home(tmp_path)
    repository = tmp_path / "nx-monorepo"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    monkeypatch.chdir(repository / "src")
    monkeypatch.setenv("VAULTSYNC_CONFIG_DIR", str(tmp_path / "config"))
    for name, value in made.environment.items():
        if name.startswith("VAULTSYNC_"):
            monkeypatch.setenv(name, value)
    return made


def mirrors(home: Home, remote: str, **more: object) -> None:
    """Name a remote in the user's own file for the vault."""
    vault_id = (home.vault / ".meta/config.toml").read_text().partition('vault_id = "')[2][:36]
    folder = Path(os.environ["VAULTSYNC_CONFIG_DIR"], "vaults")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"remote": remote, **more}.items()]
    (folder / f"{vault_id}.toml").write_text("\n".join(["[modules]", *lines]) + "\n")


def run(home: Home, *words: str, code: int = 0) -> dict[str, Any]:
    done = home.run("module", *words, "--json")
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def repository(home: Home) -> Path:
    return home.vault.parent / "nx-monorepo"


def test_a_module_is_written_mirrored_and_read(home: Home, service: ModuleService) -> None:
    mirrors(home, service.url)
    done = run(home, "write", "patterns", "ap-01", TEXT, "--tag", "tests", "--agent", "indy")
    assert (done["sync_status"], done["path"]) == ("synced", MODULE)
    assert (repository(home) / MODULE).read_text() == TEXT
    held = service.held["nx-monorepo", "ap-01"]
    assert (held["text"], held["tags"], held["updated_by"]) == (TEXT, ["tests"], "indy")
    answer = run(home, "read", "patterns", "ap-01")
    assert (answer["source"], answer["confidence"], answer["text"]) == ("remote", 0.95, TEXT)
    assert run(home, "sync") | {"run": None} == {
        "synced": 0,
        "failed": 0,
        "pending": 0,
        "removed": 0,
        "facts": 0,
        "files": 0,
        "attention": [],
        "run": None,
    }
    status = run(home, "status")
    assert (status["pending"], status["alert"], status["sync_success_total"]) == (0, False, 1)
    assert run(home, "index")["patterns"]["chunks"] == ["ap-01"]
    log = next(home.state.glob("*/modules/telemetry.jsonl")).read_text()
    assert [json.loads(each)["op"] for each in log.splitlines()] == ["mirror", "write", "read"]


def test_a_purge_names_the_module_whose_file_stays(home: Home, service: ModuleService) -> None:
    """The file is the project's; without it and its entry, the copy at the remote goes, too."""
    mirrors(home, service.url)
    fact_id = run(home, "write", "patterns", "ap-01", TEXT)["fact_id"]
    run(home, "write", "patterns", "ap-02", "# Other\n\nAnother text.\n")
    with home.memory(None) as memory:
        (before,) = [x for x in memory.purge(fact_id, dry_run=True).kept if "module" in x]
        (hint,) = [x for x in memory.purge(fact_id).kept if "module" in x]
    assert before == hint
    folder = repository(home) / "docs/memories"
    assert f"the file of patterns/ap-01 in {folder}: delete it" in hint
    assert run(home, "sync")["facts"] == 1, "as the hint says"
    with home.memory(None) as memory:
        assert memory.purge(fact_id).remaining == 0
    (repository(home) / MODULE).unlink()
    manifest = repository(home) / MANIFEST
    first, second = manifest.read_text().split("  - chunk_id: ")[1:]
    manifest.write_text(manifest.read_text().replace(f"  - chunk_id: {first}", ""))
    assert second
    done = run(home, "sync")
    assert (done["removed"], done["facts"]) == (1, 0)
    assert ("nx-monorepo", "ap-01") not in service.held


def test_facts_are_purged_where_a_link_leads_to_a_repository_that_was_moved(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact_id = run(home, "write", "patterns", "ap-01", TEXT)["fact_id"]
    was = repository(home)
    now = was.rename(was.with_name("moved"))
    was.symlink_to(now)
    monkeypatch.setattr("vaultsync.api.modules.LOCK_TIMEOUT", 0.1)
    with home.memory(None) as memory:
        memory.modules.sync(folder=now / "docs/memories")
        assert memory.purge(fact_id).purged == (fact_id,)


@pytest.mark.parametrize("waits", [True, False])
def test_a_sync_of_modules_brings_no_purged_text_back_into_the_state(
    home: Home, monkeypatch: pytest.MonkeyPatch, *, waits: bool
) -> None:
    """It has read the fact and its record, or waits until it may."""
    text = "Ottilie moved to Lake Gurnigel in October."
    fact_id = run(home, "write", "patterns", "ap-01", TEXT)["fact_id"]
    with home.memory(None) as memory:
        memory.update(fact_id, content=text)
        folder = repository(home) / "docs/memories"
        reached, goes_on = threading.Event(), threading.Event()
        write_index = ModuleWork._write_index

        def slow(work: ModuleWork, **named: bool) -> bytes:
            reached.set()
            assert goes_on.wait(60)
            return write_index(work, **named)

        monkeypatch.setattr(ModuleWork, "_write_index", slow)

        def sync() -> None:
            with home.memory(None) as other:
                other.modules.sync(folder=folder)

        syncing = threading.Thread(target=sync)
        if not waits:
            syncing.start()
            assert reached.wait(60)
            monkeypatch.setattr("vaultsync.api.modules.LOCK_TIMEOUT", 0.1)
            with pytest.raises(ModulesBusyError):
                memory.purge(fact_id)
            assert memory.get(fact_id).content == text
            goes_on.set()
            syncing.join()
        goes_on.set()
        find = FileByteSearch.find

        def found(*given: object, **named: bool) -> object:
            if waits and not syncing.ident:
                syncing.start()
                assert not reached.wait(0.5), "it waits for the purge"
            return find(*given, **named)  # type: ignore[arg-type] # passed on

        monkeypatch.setattr(FileByteSearch, "find", found)
        (hint,) = [x for x in memory.purge(fact_id).kept if "module" in x]
        assert "the next one creates the fact again" in hint
        syncing.join()
        held = {
            path.name
            for path in home.state.rglob("*")
            if path.is_file()
            if b"Gurnigel" in path.read_bytes()
        }
        assert held == set()


def test_without_json_the_commands_say_it_in_words(home: Home, service: ModuleService) -> None:
    mirrors(home, service.url)
    service.status = 503
    done = home.run("module", "write", "patterns", "ap-01", TEXT)
    assert done.stdout == f"{MODULE}\n"
    assert "pending: " in done.stderr
    assert home.run("module", "status").stdout.startswith("docs/memories: 1 module pending")
    assert home.run("module", "read", "patterns", "ap-01").stdout == TEXT
    service.status = 0
    assert home.run("module", "sync").stdout == "modules: 1 synced\n"
    assert home.run("module", "sync").stdout == "modules: nothing to do\n"
    module = repository(home) / MODULE
    module.write_text(module.read_text().replace("beside", "near"))
    done = home.run("module", "sync")
    assert done.stdout == "modules: 1 fact updated, 1 synced\n"
    assert done.stderr.startswith("`vaultsync undo ")
    (note,) = home.vault.rglob("*test-location.md")
    note.write_text(note.read_text().replace("near", "inside"))
    assert home.run("module", "sync").stdout == "modules: 1 file updated, 1 synced\n"
    assert "inside the code" in module.read_text()


def test_a_module_is_found_by_recall_and_undone_into_its_file(home: Home) -> None:
    run(home, "write", "patterns", "ap-01", TEXT)
    with vaultsync.open(str(home.vault)) as memory:
        hit = memory.recall("where do tests live").hits[0]
        assert hit.title == "Test location"
        note = home.vault / str(hit.path)
        note.write_text(note.read_text().replace("beside the code", "in tests"))
        edited = memory.sync().run
        assert memory.modules.sync().facts == 0
        assert "in tests" in (repository(home) / MODULE).read_text()
        assert {each.actor for each in memory.history(hit.id)} >= {"modules"}
        memory.undo(edited)
        memory.modules.sync()
        assert (repository(home) / MODULE).read_text() == TEXT
        assert memory.verify().equal


def test_an_agent_that_may_not_write_the_project_writes_no_module(home: Home) -> None:
    configure_machine(home.vault, '[permissions.agents.otto]\nread = ["public"]\nwrite = []\n')
    with vaultsync.open(str(home.vault), agent="otto") as memory:
        with pytest.raises(ScopeDeniedError):
            memory.modules.write("patterns", "ap-01", TEXT)
        assert memory.modules.status().pending == 0
    assert not (repository(home) / "docs").exists()


PROPOSES = '[permissions.agents.otto]\nread = ["*"]\nwrite = []\npropose = ["project-*"]\n'


@pytest.mark.parametrize("known", [False, True])
def test_a_module_that_an_agent_proposes_is_filed_once_accepted(home: Home, known: bool) -> None:
    configure_machine(home.vault, PROPOSES)
    before = "# Test location\n\nNowhere.\n"
    if known:
        run(home, "write", "patterns", "ap-01", before)
    with vaultsync.open(str(home.vault), agent="otto") as otto:
        for _ in "ab":
            with pytest.raises(ProposedError) as waits:
                otto.modules.write("patterns", "ap-01", TEXT)
    done = home.run("module", "write", "patterns", "ap-01", TEXT, "--agent", "otto", "--json")
    assert done.exit_code == 3, done.output
    run(home, "sync")
    file = repository(home) / MODULE
    assert (file.read_text() if known else not file.exists()) == (before if known else True)
    with vaultsync.open(str(home.vault)) as memory:
        (proposal,) = memory.proposals()
        assert proposal.id == waits.value.proposal.id
        run_id = memory.accept_proposals([proposal.id]).run
        memory.modules.sync()
        assert file.read_text() == TEXT
        assert "last_updated_by: otto" in (repository(home) / MANIFEST).read_text()
        assert memory.modules.sync().facts == 0
        if known:
            memory.undo(run_id)
            memory.modules.sync()
            assert file.read_text() == before


def test_a_proposed_module_never_replaces_what_a_person_wrote_since(home: Home) -> None:
    configure_machine(home.vault, PROPOSES)
    with vaultsync.open(str(home.vault), agent="otto") as otto, pytest.raises(ProposedError):
        otto.modules.write("patterns", "ap-01", TEXT)
    run(home, "write", "patterns", "ap-01", "# Test location\n\nMine.\n")
    with vaultsync.open(str(home.vault)) as memory:
        memory.accept_proposals([each.id for each in memory.proposals()])
        memory.modules.sync()
    assert (repository(home) / MODULE).read_text() == "# Test location\n\nMine.\n"


def test_modules_link_to_the_note_of_their_repository(home: Home) -> None:
    there = repository(home)
    (there / ".git").rmdir()
    git = GitFolder(there)
    git.commit("README.md", "An app.\n")
    run(home, "write", "patterns", "ap-01", TEXT)
    with vaultsync.open(str(home.vault)) as memory:
        (note,) = memory.list(type="project").facts
        (fact,) = memory.list(links_to=note.id).facts
        assert fact.title == "Test location"
        assert fact.properties["lineage"] == note.properties["lineage"]
        assert memory.repos.add_note(content="Known.").id
        assert [each.id for each in memory.list(type="project").facts] == [note.id]
        assert memory.modules.sync().facts == 0


def test_secrets_leave_neither_into_files_nor_remotes(home: Home, service: ModuleService) -> None:
    mirrors(home, service.url)
    secret = "ghp_rFRqYSMu9nmohemZrvgJysFuuwTQyZ6F10Hc"  # noqa: S105 - made up
    run(home, "write", "patterns", "ap-01", f"# Keys\n\nThe key is {secret}.\n", "--title", secret)
    assert secret not in json.dumps(service.held["nx-monorepo", "ap-01"])
    written = [each for each in repository(home).rglob("*") if each.is_file()]
    assert [each for each in written if secret in each.read_text()] == []
    (repository(home) / "docs/memories/patterns/module-02-mine.md").write_text(f"Mine: {secret}\n")
    run(home, "sync")
    assert secret not in json.dumps(service.held["nx-monorepo", "mine"])


def test_too_many_that_wait_are_an_alert_everywhere(
    home: Home, service: ModuleService, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrors(home, service.url, alert_pending=1)
    service.status = 503
    run(home, "write", "patterns", "ap-01", TEXT)
    assert run(home, "status", code=0)["alert"] is False
    run(home, "write", "patterns", "ap-02", "# B\n\nText.\n")
    assert run(home, "status", code=3)["pending"] == 2
    done = home.run("status", "--json")
    assert done.exit_code == 3
    notice = json.loads(done.stdout)["attention"][0]
    assert notice["kind"] == "ModuleBacklog"
    assert notice["message"].startswith("2 modules wait for the remote")
    with open_bridge(home.vault.parent) as client:
        assert client("GET", "/v1/status").json["attention"][0]["kind"] == "ModuleBacklog"
        answer = client("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = answer.body.decode().splitlines()
        assert "sync_failure_total 2" in lines
        assert 'pending_chunks{space="nx-monorepo"} 2' in lines
    service.status = 0
    errors: list[Exception] = []
    settings = load_settings(home.vault)
    work = DaemonWork(settings, stopped=lambda: False, has_waiting_calls=lambda: False)
    with work as memory:
        later = memory._services.clock.now().replace(year=2099)
        monkeypatch.setattr(memory._services.clock, "now", lambda: later)
        idle = IdleWork(memory, lambda *_: None, errors.append, jitter=lambda: 0.0)
        idle.tick(1.0)
    assert errors == []
    assert run(home, "status")["pending"] == 0


def test_an_unsynced_folder_stops_no_other(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [home.vault.parent / name for name in "abc"]
    with vaultsync.open(str(home.vault)) as memory:
        for folder in folders:
            memory.modules.write("patterns", f"ap-{folder.name}", TEXT, folder=folder)
        synced = []

        def sync(*, automatic: bool, folder: str) -> None:
            assert automatic
            synced.append(Path(folder).name)
            if len(synced) == 1:
                raise ModulesBusyError(folder, 30)

        monkeypatch.setattr(memory.modules, "sync", sync)
        with pytest.raises(ModulesBusyError):
            memory.modules.sync_known()
    assert sorted(synced) == ["a", "b", "c"]


def test_nothing_waits_until_there_is_a_remote(home: Home, service: ModuleService) -> None:
    done = run(home, "write", "patterns", "ap-01", TEXT)
    assert (done["sync_status"], done["reason"]) == ("pending", "no remote is set")
    assert run(home, "sync")["pending"] == run(home, "status")["pending"] == 0
    assert not (repository(home) / BACKLOG).exists()
    mirrors(home, service.url)
    assert run(home, "status")["pending"] == 1
    assert run(home, "sync")["synced"] == 1
    assert ("nx-monorepo", "ap-01") in service.held


def test_a_remote_that_is_no_remote_lets_modules_be_written(home: Home) -> None:
    mirrors(home, "elsewhere:x")
    done = run(home, "write", "patterns", "ap-01", TEXT)
    assert (done["sync_status"], done["reason"][:14]) == ("pending", "unknown remote")


def test_a_folder_may_be_named(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "notes"
    done = run(home, "write", "patterns", "ap-01", TEXT, "--folder", str(other))
    assert (other / "patterns/module-01-test-location.md").read_text() == TEXT
    assert done["path"] == "notes/patterns/module-01-test-location.md"
    os.chdir(tmp_path)
    run(home, "write", "patterns", "ap-01", TEXT)
    assert (home.vault / MODULE).read_text() == TEXT


def test_agents_have_tools_where_there_are_modules(home: Home) -> None:
    names = {"module_read", "module_write"}
    assert not names & listed()
    memory = home.memory()
    arguments = {"topic": "patterns", "chunk": "ap-01", "text": TEXT, "tags": ["x"]}
    done = run_tool(memory, TOOLS_BY_NAME["module_write"], arguments)
    assert done.structuredContent is not None
    assert done.structuredContent["sync_status"] == "pending"
    read = run_tool(memory, TOOLS_BY_NAME["module_read"], {"topic": "patterns", "chunk": "ap-01"})
    assert read.structuredContent is not None
    assert read.structuredContent["text"] == TEXT
    memory.close()
    assert names <= listed()


def listed() -> set[str]:
    return {each.name for each in tool_rows(choose_toolsets("auto", Path.cwd())).tools}


def test_the_space_has_the_name_of_the_remote(home: Home) -> None:
    there = repository(home)
    (there / ".git").rmdir()
    url = "https://user:secret@example.org/team/Nx-Monorepo.git"
    for words in (["init", "-q"], ["remote", "add", "origin", url]):
        subprocess.run(["git", *words], cwd=there, check=True)
    assert run(home, "status")["space"] == "nx-monorepo"
    assert not [*home.state.glob("*/modules")]  # the status makes nothing


# ------------------------------------------------------------------------------ the disk


def test_an_unreadable_folder_has_a_status(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    run(home, "write", "patterns", "ap-01", TEXT)

    def refused(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr("vaultsync.backends.filesystem.module_folder._entries", refused)
    assert run(home, "status")["folder"] == "docs/memories"


@pytest.mark.parametrize("link", ["docs", "docs/memories", "docs/memories/patterns", MODULE])
def test_no_link_is_followed_out_of_a_repository(home: Home, tmp_path: Path, link: str) -> None:
    secret = tmp_path / "secret"
    if link == MODULE:
        secret.write_text("# Mine\n\nPrivate.\n")
    else:
        secret.mkdir()
    place = repository(home) / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(secret)
    if link == MODULE:
        manifest = f"modules:\n- chunk_id: ap-01\n  module_path: {place.name}\n"
        (place.parent / "manifest.yaml").write_text(manifest)
    done = home.run("module", "write", "patterns", "ap-01", TEXT, "--json")
    assert json.loads(done.stdout)["error"]["kind"] == "UnreadableModuleError"
    home.run("module", "sync")
    with vaultsync.open(str(home.vault)) as memory:
        assert [each.content for each in memory.list().facts if "Private" in each.content] == []
    if link == MODULE:
        assert secret.read_text() == "# Mine\n\nPrivate.\n"
    else:
        assert [*secret.iterdir()] == []


def test_a_save_that_a_crashed_write_displaced_is_put_back_or_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange, saved = syscalls.exchange, "# Test location\n\nThey live in `tests`.\n"
    run(home, "write", "patterns", "ap-01", TEXT)
    path, staging = repository(home) / MODULE, f"docs/memories/patterns/{STAGING_DIR}"

    def dies(*entries: EntryAt) -> bool:
        path.write_text(saved)
        assert exchange(*entries)
        raise KeyboardInterrupt

    for is_edited in (False, True):
        with vaultsync.open(str(home.vault)) as memory:
            with monkeypatch.context() as patched:
                patched.setattr(syscalls, "exchange", dies)
                with pytest.raises(KeyboardInterrupt):
                    memory.modules.write("patterns", "ap-01", TEXT + f"\nMore: {is_edited}.\n")
            assert path.read_text() != saved
            if is_edited:
                path.write_text(path.read_text() + "\nEdited.\n")
            attention = memory.status().attention
            assert [each.kind for each in attention] == ["ModuleDisplaced"]
            assert path.parent.name in attention[0].path
            report = memory.modules.sync()
            text = path.read_text()
            assert ("live in `tests`" in text, "Edited." in text) == (not is_edited, is_edited)
            left = [x.hint for x in report.attention if x.kind == "ModuleDisplaced"]
            assert [x.partition(":")[0] for x in left] == [f"it is in {staging}"] * is_edited
            assert (path.parent / STAGING_DIR).exists() is is_edited
        saved = saved.replace("They live", "Displaced: they live")


def test_paths_stay_in_the_folder(tmp_path: Path) -> None:
    folder = DiskModuleFolder(tmp_path / "m", root=tmp_path, locks=tmp_path / "locks")
    for path in ("../x.md", "/x.md", "a//b.md", "a/./b.md"):
        with pytest.raises(UnreadableModuleError):
            folder.read(path)
        with pytest.raises(UnreadableModuleError):
            folder.replace(path, b"", None)
    assert folder.read("a/b.md") is None
    assert folder.listing().topics == {}
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "big.md").write_bytes(b"x" * (2 << 20))
    with pytest.raises(UnreadableModuleError, match="larger"):
        folder.read("big.md")


def test_a_name_that_is_not_utf8_is_left_out(tmp_path: Path) -> None:
    folder = DiskModuleFolder(tmp_path / "m", root=tmp_path, locks=tmp_path / "locks")
    for name in (b"plain.md", b"\xff.md", b"\xff"):
        path = tmp_path / "m" / os.fsdecode(name)
        path.mkdir(parents=True)
        (path / "manifest.yaml").touch()
    assert list(folder.listing().topics) == ["plain.md"]


def test_one_process_at_a_time_works_with_a_folder(tmp_path: Path) -> None:
    folders = [
        DiskModuleFolder(tmp_path / "m", root=tmp_path, locks=tmp_path / "locks") for _ in "ab"
    ]
    with folders[0].lock(1), pytest.raises(ModulesBusyError), folders[1].lock(0.01):
        pass


def test_a_damaged_record_begins_again(tmp_path: Path) -> None:
    state = ModuleStateFiles(tmp_path, "key")
    record = state.read()
    state.write(record)
    path = next(tmp_path.rglob("record.json"))
    path.write_text("{")
    assert state.read() == record
    (path.parent / "intent-x.json").write_text("{")
    assert state.intents() == []


def test_telemetry_is_put_aside_when_it_is_large(tmp_path: Path) -> None:
    state = ModuleStateFiles(tmp_path, "key")
    for _ in range(3):
        state.log({"op": "x" * 600_000})
    assert sorted(each.name for each in (tmp_path / "modules").iterdir()) == [
        "telemetry.jsonl",
        "telemetry.jsonl.1",
    ]
    (tmp_path / "modules").chmod(0o500)
    state.log({"op": "y"})


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault that is the project of the modules, too."""
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    vaultsync.init(str(tmp_path / "vault"))
    monkeypatch.chdir(tmp_path / "vault")
    return tmp_path / "vault"


def test_the_files_of_modules_in_the_vault_are_not_adopted(vault: Path) -> None:
    with vaultsync.open(str(vault)) as memory:
        memory.modules.write("patterns", "ap-01", TEXT)
        own = vault / "docs/memories/patterns/My own.md"
        own.write_text("Words.\n", encoding="utf-8")
        assert memory.status().foreign == 1
        assert memory.note_status(MODULE).state == "excluded"
        memory.adopt()
        refused = memory.adopt([MODULE])
        memory.modules.write("patterns", "ap-02", "# Another\n\nText.\n")
        memory.sync()
        titles = sorted(fact.title for fact in memory.list().facts)
        assert memory.status().foreign == 0
        assert memory.modules.read("patterns", "ap-01").text == TEXT
    assert titles == ["Another", "My own", "Test location"]
    assert "a file of a module" in refused.attention[0].message
    assert (vault / MODULE).read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("interrupted", [None, "rebuild_files", "_write_index"])
def test_a_backup_of_the_vault_does_not_undo_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: str | None
) -> None:
    """Until the notes are accepted or rebuilt; the module files follow them."""
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    vault, backup = tmp_path / "vault", tmp_path / "backup"
    vaultsync.init(str(vault))
    monkeypatch.chdir(vault)
    newer = TEXT.replace("beside", "far from")
    with vaultsync.open(str(vault)) as memory:
        memory.modules.write("patterns", "ap-01", TEXT)
        memory.sync()
        shutil.copytree(vault, backup)
        fact_id = str(memory.modules.write("patterns", "ap-01", newer).fact_id)
        memory.sync()
    shutil.rmtree(vault)
    backup.rename(vault)
    monkeypatch.chdir(vault)
    with vaultsync.open(str(vault)) as memory:
        with pytest.raises(OlderVaultError):
            memory.modules.sync()
        assert "far from" in memory.get(fact_id).content
        if interrupted:
            owner = Modules if interrupted == "rebuild_files" else ModuleWork
            with monkeypatch.context() as patched:
                patched.setattr(owner, interrupted, Mock(side_effect=KeyboardInterrupt))
                with pytest.raises(KeyboardInterrupt):
                    memory.rebuild(source="store")
            with pytest.raises(OlderVaultError):
                memory.modules.sync()
            with pytest.raises(GuardError):
                memory.sync()
        memory.rebuild(source="store")
        assert (vault / MODULE).read_text(encoding="utf-8") == newer
        assert memory.modules.sync().quiet
        assert memory.verify().equal


def test_module_files_that_were_adopted_before_stay_facts(vault: Path) -> None:
    with vaultsync.open(str(vault)) as memory:
        (vault / MODULE).parent.mkdir(parents=True)
        (vault / MODULE).write_text(TEXT, encoding="utf-8")
        memory.adopt()
        memory.modules.write("patterns", "ap-02", "# Another\n\nText.\n")
        memory.sync()
        assert {fact.path for fact in memory.list().facts} >= {MODULE}
        assert memory.status().foreign == 0
        assert memory.verify().equal


def test_a_branch_without_modules_gets_no_file(home: Home) -> None:
    root = Path.cwd().parent
    run(home, "sync")
    run(home, "index")
    assert not (root / "docs").exists()
    run(home, "write", "patterns", "ap-01", TEXT)
    os.renames(root / "docs", root / "elsewhere")
    run(home, "sync")
    assert not (root / "docs").exists()
    os.renames(root / "elsewhere", root / "docs")
    assert run(home, "sync")["facts"] == 0
    assert (root / MODULE).read_text() == TEXT


def test_a_renamed_file_stays_the_same_module(home: Home) -> None:
    run(home, "write", "patterns", "ap-01", TEXT)
    root = Path.cwd().parent
    before = (root / MANIFEST).read_text()
    (root / MODULE).rename((root / MODULE).with_name("module-07-where-tests-live.md"))
    assert run(home, "sync")["attention"] == []
    expected = before.replace("module-01-test-location.md", "module-07-where-tests-live.md")
    assert (root / MANIFEST).read_text() == expected
    assert run(home, "read", "patterns", "ap-01")["text"] == TEXT
    with home.memory(None) as memory:
        assert [x.title for x in memory.list(type="note").facts] == ["Test location"]
