"""What people edit by hand is taken up, and a remote is believed only what can be checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec import structs

from tests.module_worlds import SPACE, ModuleWorld, SimFolder, SimRemote, SimState
from vaultsync import errors
from vaultsync.facts import service as fact_work
from vaultsync.model.permissions import AgentPermissions, Permissions
from vaultsync.model.schema import Value
from vaultsync.modules.backlog import BACKLOG_FILE, read_backlog
from vaultsync.modules.manifest import INDEX_FILE
from vaultsync.modules.ports import ModuleListing
from vaultsync.modules.remote import RemoteHit, RemoteQuery, RemoteRecord, from_header, with_header
from vaultsync.modules.report import ModuleStatus, ModuleWritten, backlog_notice, render_metrics
from vaultsync.modules.service import ModuleWork, ModuleWrite
from vaultsync.notes.proposal_note import ProposalRecord
from vaultsync.operations.rebuild import rebuild
from vaultsync.proposals.service import accept_proposals
from vaultsync.proposals.write_proposals import propose_write
from vaultsync.sync.context import SyncContext
from vaultsync.sync.state_summary import SUMMARY_PATH, SUMMARY_SETTING

pytestmark = pytest.mark.long(5)

CORE, MANIFEST = "patterns/patterns.core.md", "patterns/manifest.yaml"
MODULE = "patterns/module-01-test-location.md"
TEXT = "# Test location\n\nTests live beside the code.\n\nThey are fast.\n"
KEY = "patterns/ap-01"


@pytest.fixture
def written(modules: ModuleWorld) -> ModuleWorld:
    modules.write("ap-01", TEXT, tags=("tests",))
    return modules


def remote_of(world: ModuleWorld) -> SimRemote:
    assert world.remote is not None
    return world.remote


def kinds(world: ModuleWorld) -> list[str]:
    return [each.kind for each in world.settle().attention]


def update(world: ModuleWorld, key: str, agent: str | None = "otto", **values: Value) -> None:
    fact_work.update(world.ctx, world.work.facts.fact_id(key), values, agent=agent)


def during_store(world: ModuleWorld, act: Callable[[], object]) -> None:
    """Do something once, while a module is sent to the remote."""
    once = iter([act])

    def before(what: str) -> None:
        for each in once if what == "store" else ():
            each()

    remote_of(world).before = before


# ---------------------------------------------------------------------------- hand edits


def test_a_sync_with_nothing_to_do_writes_nothing(written: ModuleWorld) -> None:
    before = dict(written.folder.files), written.state.record
    asked = list(remote_of(written).asked)
    assert written.settle().quiet
    assert (dict(written.folder.files), written.state.record) == before
    assert remote_of(written).asked == asked


def test_an_edited_module_goes_to_the_remote_and_to_its_fact(written: ModuleWorld) -> None:
    written.edits(MODULE, "fast", "slow")
    assert written.work.status().pending == 1
    assert written.settle().synced == 1
    assert "slow" in remote_of(written).stored[SPACE, "ap-01"].text
    assert "slow" in written.fact(KEY).content
    entry = written.manifest().find("ap-01")
    assert entry is not None
    assert entry.last_updated_by == "user"


def test_the_core_file_follows_edited_added_and_renamed_modules(written: ModuleWorld) -> None:
    written.edits(MODULE, "beside", "near")
    written.folder.files["patterns/module-02-imports.md"] = b"# Imports\n\nGo down only.\n"
    written.settle()
    core = written.says(CORE)
    assert "- **Test location** (`ap-01`): Tests live near the code.\n" in core
    assert "beside" not in core
    assert "- **Imports** (`imports`): Go down only.\n" in core
    assert "- [Imports](module-02-imports.md)\n" in core
    assert "`ap-01` changed by user\n" in core
    assert "`imports` added by user\n" in core
    written.folder.files["patterns/module-01-tests.md"] = written.folder.files.pop(MODULE)
    written.agent_updates(written.fact("patterns/imports").id, title="Layers")
    assert written.settle().files == 1
    core = written.says(CORE)
    assert "- [Test location](module-01-tests.md)\n" in core
    assert "module-01-test-location.md" not in core
    assert "- **Layers** (`imports`): Go down only.\n" in core
    assert "Imports" not in core
    assert written.settle().quiet
    written.edits("patterns/module-01-tests.md", "near", "in")
    written.edits(CORE, "Tests live near the code.", "My words.")
    written.settle()
    assert "- **Test location** (`ap-01`): My words.\n" in written.says(CORE)


@pytest.fixture
def restored(written: ModuleWorld) -> ModuleWorld:
    """An older copy of a vault with a folder of modules took the place of the newer one."""
    written.set(is_in_vault=True)
    written.folder.files["notes.md"] = b"# Ours\n\nNotes.\n"
    written.settle()
    written.quiesce()
    summary = written.vault.read_meta(SUMMARY_PATH)
    assert summary is not None
    backup = dict(written.folder.files)
    written.write("ap-01", TEXT.replace("fast", "slow"))
    written.write("ap-02", "# Since\n\nWritten since.\n")
    written.folder.files["since.md"] = b"# Since then\n\nMore.\n"
    written.settle()
    written.quiesce()
    written.folder.files = backup
    written.vault.write_meta(SUMMARY_PATH, summary)
    return written


def test_the_summary_of_a_run_that_ends_meanwhile_is_waited_for(
    restored: ModuleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = restored.archive.setting(SUMMARY_SETTING)
    summary = json.dumps({"run": last}).encode()
    sleep = restored.clock.sleep

    def ends(seconds: float) -> None:
        sleep(seconds)
        restored.vault.write_meta(SUMMARY_PATH, summary)

    monkeypatch.setattr(restored.clock, "sleep", ends)
    restored.write("ap-01", "# Test location\n\nElsewhere.\n")
    assert "Elsewhere." in str(restored.read("ap-01").text)


def test_the_modules_of_an_older_copy_of_the_vault_are_no_edits(restored: ModuleWorld) -> None:
    before, facts = dict(restored.folder.files), restored.facts()
    with pytest.raises(errors.OlderVaultError, match="an older copy"):
        restored.settle()
    with pytest.raises(errors.OlderVaultError):
        restored.write("ap-01", "# Test location\n\nElsewhere.\n")
    assert (restored.folder.files, restored.facts()) == (before, facts)
    assert restored.read("ap-01").text
    restored.set(is_in_vault=False)
    assert restored.settle().facts == 3, "as with another branch"


def test_modules_of_an_older_copy_get_the_texts_of_their_facts(restored: ModuleWorld) -> None:
    older = restored.says(MODULE)
    rebuild(restored.ctx, "store")
    facts = restored.facts()
    report = restored.work.sync(trust_facts=True)
    assert (report.files, report.facts, report.attention) == (3, 0, [])
    assert "slow" in restored.says(MODULE)
    assert restored.says("patterns/module-02-since.md") == "# Since\n\nWritten since.\n"
    assert restored.says("since.md") == "# Since then\n\nMore.\n"
    assert "- **Since** (`ap-02`): Written since.\n" in restored.says(CORE)
    assert older.encode() in restored.state.kept.values()
    assert restored.settle().quiet
    assert restored.facts() == facts
    fact_work.forget(restored.ctx, restored.work.facts.fact_id("since.md"), agent="indy")
    del restored.folder.files["since.md"]
    assert restored.work.sync(trust_facts=True).files == 0, "a fact that was forgotten has no file"


def test_an_edit_while_the_module_of_an_older_copy_is_mirrored_stays(restored: ModuleWorld) -> None:
    rebuild(restored.ctx, "store")
    during_store(restored, lambda: update(restored, "patterns/ap-02", content="Edited since."))
    restored.work.sync(trust_facts=True)
    assert kinds(restored) == []
    assert restored.fact("patterns/ap-02").content == "Edited since."
    assert restored.says("patterns/module-02-since.md") == "# Since\n\nEdited since.\n"


@pytest.mark.parametrize("core", [None, b"\xff"])
def test_an_unreadable_core_file_is_not_written(written: ModuleWorld, core: bytes | None) -> None:
    del written.folder.files[CORE]
    if core is not None:
        written.folder.files[CORE] = core
    written.edits(MODULE, "fast", "slow")
    assert kinds(written) == ([] if core is None else ["UnreadableModuleError"])
    assert written.folder.files.get(CORE) == core
    assert "slow" in written.fact(KEY).content


def test_comments_order_and_own_keys_of_a_manifest_stay(written: ModuleWorld) -> None:
    manifest = (
        "# who owns what\r\nowner: Ada # by hand\r\nchunks:\r\n# the first\r\n"
        "- tags: [a, 'b']   # why\r\n  chunk_id: \"ap-01\"\r\n  byterover_id: old\r\n"
        "  reviewed: 2026-01-01\r\n  module_path: docs/memories/patterns/module-01-test-location.md"
        "\r\n  sync_status: synced\r\n# the end\r\n"
    )
    written.folder.files[MANIFEST] = manifest.encode()
    assert written.settle().synced == 1
    text = written.says(MANIFEST)
    for line in ("# who owns what", "owner: Ada # by hand", "# the first", "# the end"):
        assert f"{line}\r\n" in text
    assert "- tags: [a, 'b']   # why\r\n" in text
    assert "  reviewed: 2026-01-01\r\n" in text
    assert "  byterover_id: id-ap-01\r\n" in text
    assert "remote_id" not in text
    assert text.index("tags") < text.index("chunk_id") < text.index("reviewed")
    assert remote_of(written).stored[SPACE, "ap-01"].tags == ("a", "b")


def test_a_title_or_tag_that_is_edited_goes_to_the_remote(written: ModuleWorld) -> None:
    written.edits(MANIFEST, "tags: [tests]", "tags: [tests, 'a b', quality]")
    assert written.settle().synced == 1
    assert remote_of(written).stored[SPACE, "ap-01"].tags == ("tests", "a b", "quality")
    assert set(written.fact(KEY).tags) >= {"tests", "quality"}


def test_a_write_in_the_same_second_sets_the_tags_and_the_title(written: ModuleWorld) -> None:
    written.work.write(ModuleWrite("patterns", "ap-01", TEXT, "Place", ("speed",), "indy"))
    (entry,) = written.manifest().entries
    assert (entry.title, entry.tags, entry.sync_status) == ("Place", ("speed",), "synced")


def test_a_new_module_without_an_entry_gets_one(written: ModuleWorld) -> None:
    written.folder.files["patterns/module-02-imports.md"] = b"# Imports\n\nGo down only.\n"
    written.folder.files["patterns/module-03-ap-01.md"] = b"No heading.\n"
    written.folder.files["patterns/notes.md"] = b"No module.\n"
    assert written.settle().synced == 2
    ids = [each.chunk_id for each in written.manifest().entries]
    assert ids == ["ap-01", "imports", "module-03-ap-01"]
    assert json.loads(written.says(INDEX_FILE))["patterns"]["chunks"] == ids
    assert written.fact("patterns/imports").title == "Imports"


def test_a_module_that_is_removed_with_its_entry_goes_everywhere(written: ModuleWorld) -> None:
    written.write("ap-02", "# B\n\nText.\n")
    del written.folder.files[MODULE]
    text = written.says(MANIFEST)
    end = text.index("  - chunk_id: ap-02")
    written.folder.files[MANIFEST] = (text[: text.index("  - chunk_id")] + text[end:]).encode()
    remote_of(written).away = True
    assert written.settle().pending == 1
    row = read_backlog(written.says(BACKLOG_FILE))[0]
    assert (row.chunk_id, row.agent) == ("ap-01", "user")
    remote_of(written).away, remote_of(written).pretends = False, True
    assert written.settle().failed == 1
    remote_of(written).pretends = False
    assert written.work.status().pending == 1
    assert written.settle().removed == 1
    assert [key for _, key in remote_of(written).stored] == ["ap-02"]
    assert written.store.find_many([written.work.facts.fact_id(KEY)]) == {}
    assert written.settle().quiet


def test_the_edited_fact_of_a_removed_module_stays(written: ModuleWorld) -> None:
    """And is merged with the module when that comes back, as with another branch."""
    content = written.fact(KEY).content
    update(written, KEY, content=content.replace("fast", "quick"))
    main = dict(written.folder.files)
    del written.folder.files[MODULE]
    written.folder.files[MANIFEST] = b"modules: []\n"
    written.settle()
    assert "quick" in written.fact(KEY).content
    assert written.settle().quiet
    written.folder.files = main
    written.edits(MODULE, "beside", "near")
    assert kinds(written) == []
    assert "near the code.\n\nThey are quick.\n" in written.says(MODULE)
    assert written.fact(KEY).content == "Tests live near the code.\n\nThey are quick."


def test_a_file_that_replaces_the_edit_of_an_unknown_fact_is_told(written: ModuleWorld) -> None:
    """As in a second clone of a repository, whose files no sync has read yet."""
    update(written, KEY, content="Other words.")
    written.state = SimState()
    assert kinds(written) == ["ModuleConflict"]
    assert "Other words." not in written.fact(KEY).content
    assert written.settle().quiet


def test_the_core_file_follows_a_module_file_under_a_new_name(written: ModuleWorld) -> None:
    written.edits(CORE, "](", "](./")
    written.edits(
        CORE, "## Change log", "See [[module-01-test-location|it]], `[a](x.md)`.\n\n## Change log"
    )
    files = written.folder.files
    files["patterns/module-01-new.md"] = files.pop(MODULE)
    assert written.settle().attention == []
    assert "- [Test location](./module-01-new.md)\n" in written.says(CORE)
    assert written.says(CORE).count("module-01-new.md)") == 1
    assert "See [[module-01-new|it]], `[a](x.md)`.\n" in written.says(CORE)
    assert "module_path: module-01-new.md" in written.says(MANIFEST)
    assert written.settle().quiet

    written.edits(CORE, "[Test location](./", "[Where tests live](./")
    files["patterns/module-01-newest.md"] = files.pop("patterns/module-01-new.md")
    assert written.settle().attention == []
    assert "- [Where tests live](./module-01-newest.md)\n" in written.says(CORE)
    assert written.says(CORE).count("module-01-newest.md)") == 1

    files["patterns/module-01-newer.md"] = files.pop("patterns/module-01-newest.md")
    del files[CORE]
    assert written.settle().attention == []
    assert CORE not in files


def test_a_module_keeps_the_edit_of_its_fact_when_its_file_is_renamed(written: ModuleWorld) -> None:
    update(written, KEY, content="Tests live beside the code.\n\nThey are quick.")
    files = written.folder.files
    files["patterns/module-01-new.md"] = files.pop(MODULE)
    report = written.settle()
    assert (report.synced, report.files, report.attention) == (1, 1, [])
    assert "They are quick." in written.says("patterns/module-01-new.md")
    assert "They are quick." in written.fact(KEY).content
    assert written.manifest().entries[0].last_updated_by == "otto"
    assert written.settle().quiet


def test_a_missing_file_whose_entry_stays_removes_nothing(written: ModuleWorld) -> None:
    del written.folder.files[MODULE]
    assert kinds(written) == ["ModuleMissing"]
    assert (SPACE, "ap-01") in remote_of(written).stored


def test_a_removed_module_that_comes_back_goes_to_the_remote_again(written: ModuleWorld) -> None:
    """As when another branch is checked out, and the first one again."""
    main = dict(written.folder.files)
    written.write("ap-02", "# Imports\n\nGo down only.\n")
    branch = dict(written.folder.files)
    written.folder.files = main
    assert written.settle().removed == 1
    assert written.settle().quiet
    assert [key for _, key in remote_of(written).stored] == ["ap-01"]
    written.folder.files = dict(branch)
    remote_of(written).loses_answers = True
    assert written.settle().failed == 1
    remote_of(written).loses_answers = False
    written.folder.files = main
    assert written.settle().removed == 1
    written.folder.files = branch
    assert written.settle().synced == 1
    assert [key for _, key in remote_of(written).stored] == ["ap-01", "ap-02"]
    assert written.settle().quiet


def test_two_clones_with_different_versions_do_not_take_turns(written: ModuleWorld) -> None:
    first = written.folder, written.state
    other = SimFolder(dict(written.folder.files), key="/work/other/docs/memories"), SimState()
    written.folder, written.state = other
    written.settle()
    written.edits(MODULE, "fast", "slow")
    written.edits(MANIFEST, "tags: [tests]", "tags: [tests, speed]")
    assert written.settle().facts == 1
    for written.folder, written.state in (first, other, first):
        assert written.settle().facts == 0
        assert "slow" in written.fact(KEY).content
    written.edits(MANIFEST, "tags: [tests]", "tags: [tests, place]")
    assert written.settle().facts == 1
    assert "fast" in written.fact(KEY).content
    assert {*written.fact(KEY).tags} >= {"tests", "speed", "place"}


def test_a_module_keeps_its_line_ends_and_byte_order_mark(written: ModuleWorld) -> None:
    written.folder.files[MODULE] = f"\ufeff{TEXT}".replace("\n", "\r\n").encode()
    written.settle()
    assert written.fact(KEY).content == "Tests live beside the code.\n\nThey are fast."
    update(written, KEY, content="Tests live beside the code.\n\nThey are quick.")
    written.edits(MODULE, "beside", "near")
    assert written.settle().attention == []
    edited = TEXT.replace("beside", "near").replace("fast", "quick").replace("\n", "\r\n")
    assert written.says(MODULE) == f"\ufeff{edited}"
    update(written, KEY, content="Tests live near the code.\n\nThey are swift.")
    assert written.write("ap-01", edited.replace("near", "by")).attention == []
    edited = edited.replace("near", "by").replace("quick", "swift")
    assert written.says(MODULE).removeprefix("\ufeff") == edited
    assert written.settle().quiet


def test_a_new_name_of_the_space_moves_its_facts_and_is_mirrored(written: ModuleWorld) -> None:
    former = written.fact(KEY).id
    written.set(remote_key="key")
    written.settle()
    update(written, KEY, tags=["tests", "mine"], content="Tests live near.\n\nThey are fast.")
    written.set(space="widgets")
    report = written.settle()
    assert (report.synced, report.pending, report.attention) == (1, 0, [])
    assert written.store.find_many([former]) == {}
    fact = written.fact(KEY)
    assert (fact.scope, fact.source, fact.tags) == (
        *("project-widgets", "module:widgets"),
        ("tests", "mine"),
    )
    assert "live near" in written.says(MODULE)
    assert ("widgets", "ap-01") in remote_of(written).stored
    assert written.settle().quiet
    remote_of(written).stored.clear()
    written.set(space=SPACE)
    assert written.settle().synced == 1
    assert [*remote_of(written).stored] == [(SPACE, "ap-01")]
    assert (written.fact(KEY).id, written.fact(KEY).tags) == (former, ("tests", "mine"))
    assert written.settle().quiet


@pytest.mark.parametrize("gone", ["topic", "manifest", "all"])
def test_an_unreadable_topic_removes_nothing_remotely(written: ModuleWorld, gone: str) -> None:
    written.write("tf-01", "# F\n\nText.\n", topic="findings")
    if gone == "manifest":
        written.folder.files[MANIFEST] = b"modules: {\n"
    else:
        kept = {} if gone == "all" else {"findings/": 1}
        files = written.folder.files.items()
        written.folder.files = {k: x for k, x in files if k.startswith(tuple(kept) or "-")}
    assert written.settle().removed == 0
    assert (SPACE, "ap-01") in remote_of(written).stored
    assert written.fact(KEY).title == "Test location"


TABBED = "tags: [tests] \t# the reader accepts a tab here, but it cannot be edited"


def test_a_manifest_that_cannot_be_edited_stops_no_other_topic(written: ModuleWorld) -> None:
    written.write("fi-01", TEXT, topic="findings")
    written.edits(MANIFEST, "tags: [tests]", TABBED)
    written.edits(MODULE, "fast", "slow")
    written.edits("findings/module-01-test-location.md", "fast", "slow")
    assert kinds(written) == ["UnreadableModuleError"]
    assert "slow" in written.fact(KEY).content
    assert "slow" in written.fact("findings/fi-01").content
    assert written.status_of("fi-01", "findings") == "synced"


def test_an_uneditable_manifest_is_told_when_fact_or_remote_changes(written: ModuleWorld) -> None:
    written.set(remote_key="one")
    written.edits(MANIFEST, "tags: [tests]", TABBED)
    assert kinds(written) == []
    manifest = written.says(MANIFEST)
    written.set(remote_key="two")
    assert kinds(written) == ["UnreadableModuleError"]
    assert written.says(MANIFEST) == manifest
    written.agent_updates(written.fact(KEY).id, title="Another title")
    assert kinds(written) == ["UnreadableModuleError"]
    assert "# Another title" in written.says(MODULE)
    modules = written.says(MANIFEST)
    written.set(remote_key="elsewhere")
    assert kinds(written) == ["UnreadableModuleError"]
    assert written.says(MANIFEST) == modules


def test_a_manifest_that_is_uneditable_leaves_its_modules_pending(written: ModuleWorld) -> None:
    remote_of(written).away = True
    written.edits(MODULE, "fast", "slow")
    written.settle()
    remote_of(written).away = False
    written.edits(MANIFEST, "tags: [tests]", TABBED)
    report = written.settle()
    assert (report.synced, report.pending) == (0, 1)
    assert [each.kind for each in report.attention] == ["UnreadableModuleError"]


def test_an_accepted_module_waits_for_its_manifest_beside_others(written: ModuleWorld) -> None:
    written.write("fi-01", TEXT, topic="findings")
    record = written.state.record
    update(written, KEY, content="Accepted.")
    written.state.record = structs.replace(record, proposed={KEY: "new"})
    manifest = written.folder.files[MANIFEST]
    written.folder.files[MANIFEST] = b"modules: {\n"
    written.edits("findings/module-01-test-location.md", "fast", "slow")
    assert {*kinds(written)} == {"UnreadableModuleError"}
    assert "slow" in written.fact("findings/fi-01").content
    assert written.state.record.proposed == {KEY: "new"}
    written.folder.files[MANIFEST] = manifest
    written.settle()
    assert "Accepted." in written.says(MODULE)


def test_an_edit_of_the_index_is_restored_and_told(written: ModuleWorld) -> None:
    index = written.says(INDEX_FILE)
    written.folder.files[INDEX_FILE] = b'{"mine": true}'
    assert kinds(written) == ["IndexEdited"]
    assert written.says(INDEX_FILE) == index
    assert b'{"mine": true}' in written.state.kept.values()
    assert kinds(written) == []


def test_an_index_that_is_always_saved_is_left_for_the_next_command(written: ModuleWorld) -> None:
    written.folder.files[INDEX_FILE] = b"{}"
    number = 0

    def save(path: str) -> None:
        nonlocal number
        number += 1
        if path == INDEX_FILE:
            written.folder.files[path] = f'{{"{number}": 1}}'.encode()

    written.folder.before = save
    written.settle()
    written.folder.before = lambda _: None
    assert json.loads(written.work.index()) == json.loads(written.says(INDEX_FILE))


def test_a_document_without_a_manifest_is_a_fact_by_itself(modules: ModuleWorld) -> None:
    modules.folder.files["README.md"] = b"# On-ramp\n\nBegin here.\n"
    modules.folder.files["notes/architecture.md"] = b"Layers.\n"
    modules.settle()
    index = json.loads(modules.says(INDEX_FILE))
    assert index["README.md"] == {"document": "docs/memories/README.md"}
    assert "notes/architecture.md" in index
    assert modules.fact("README.md").title == "On-ramp"
    assert modules.fact("notes/architecture.md").title == "architecture"
    del modules.folder.files["README.md"]
    modules.settle()
    assert modules.store.find_many([modules.work.facts.fact_id("README.md")]) == {}


@pytest.mark.parametrize("path", ["README.md", MODULE, MODULE.replace("-01-", "-09-")])
@pytest.mark.parametrize("why", ["it is not UTF-8", "it is a link, which is not followed"])
def test_an_unreadable_file_stops_no_other_sync(written: ModuleWorld, path: str, why: str) -> None:
    written.folder.files[path] = b"\xff\xfe"
    if "link" in why:
        written.folder.unreadable[path] = why
    written.folder.files["OTHER.md"] = b"# Other\n\nText.\n"
    report = written.settle()
    assert [each.kind for each in report.attention] == ["UnreadableModuleError"]
    assert why in report.attention[0].message
    assert written.fact("OTHER.md").content == "Text."
    kinds = [each.kind for each in written.work.status().attention]
    assert kinds == (["UnreadableModuleError"] if path == MODULE and "link" in why else [])


# --------------------------------------------------------------------------------- facts


def test_an_edit_of_the_fact_goes_to_the_file_and_to_the_remote(written: ModuleWorld) -> None:
    update(written, KEY, content="Tests live beside the code.\n\nThey are tiny.", title="Tests")
    assert written.settle().synced == 1
    text = written.says(MODULE)
    assert text == "# Tests\n\nTests live beside the code.\n\nThey are tiny.\n"
    assert remote_of(written).stored[SPACE, "ap-01"].text == text
    entry = written.manifest().find("ap-01")
    assert entry is not None
    assert (entry.title, entry.last_updated_by) == ("Tests", "otto")
    assert written.settle().quiet


def test_what_an_automatic_sync_says_once_waits_for_the_person(written: ModuleWorld) -> None:
    for number in range(2):  # the same twice is one
        written.folder.files[INDEX_FILE] = b'{"mine": true}'
        assert len(written.settle(automatic=True).attention) == 1
        written.set(agent="indy")
        assert written.settle().attention == []
        written.set(agent=None)
        assert [each.kind for each in written.work.status().attention] == ["IndexEdited"], number
    assert kinds(written) == ["IndexEdited"]
    assert written.work.status().attention == []
    assert kinds(written) == []


def test_of_conflicting_edits_the_file_stands_the_other_is_in_history(written: ModuleWorld) -> None:
    update(written, KEY, content="Tests are elsewhere.", title="Place")
    written.edits(MODULE, "beside the code.\n\nThey are fast", "in tests.\n\nThey are fast")
    assert kinds(written) == ["ModuleConflict"]
    assert "in tests" in written.fact(KEY).content
    assert written.fact(KEY).title == "Place"  # only the fact has another one
    assert written.says(MODULE).startswith("# Place\n")
    versions = [
        each.fact.content for each in written.store.replaced_versions(written.store.replaced_ids())
    ]
    assert "Tests are elsewhere." in versions


def test_a_write_keeps_an_edit_of_the_fact_that_its_file_lacks(written: ModuleWorld) -> None:
    update(written, KEY, content="Tests live beside the code.\n\nThey are quick.", title="Place")
    written.write("ap-01", TEXT.replace("beside", "near"))
    assert written.says(MODULE) == "# Place\n\nTests live near the code.\n\nThey are quick.\n"
    assert written.fact(KEY).content == "Tests live near the code.\n\nThey are quick."
    assert (written.fact(KEY).title, written.manifest().entries[0].title) == ("Place", "Place")
    assert written.settle().quiet


def test_a_write_that_conflicts_with_an_edit_of_the_fact_is_told(written: ModuleWorld) -> None:
    update(written, KEY, content="Tests live beside the code.\n\nThey are quick.")
    retitled = TEXT.replace("fast", "slow").replace("# ", "# Not this: ", 1)
    done = written.write("ap-01", retitled)
    assert [each.kind for each in done.attention] == ["ModuleConflict"]
    assert written.says(MODULE).startswith("# Test location\n")
    assert written.manifest().entries[0].title == written.fact(KEY).title == "Test location"
    assert "Not this" not in written.says("patterns/patterns.core.md")
    assert "They are quick." in written.says(MODULE)
    assert b"slow" in next(iter(written.state.kept.values()))


def test_a_new_title_of_a_document_makes_no_manifest(modules: ModuleWorld) -> None:
    modules.folder.files["plans/roadmap.md"] = b"# Roadmap\n\nNext year.\n"
    modules.settle()
    update(modules, "plans/roadmap.md", title="Our roadmap")
    modules.settle()
    assert modules.says("plans/roadmap.md") == "# Our roadmap\n\nNext year.\n"
    assert "plans/manifest.yaml" not in modules.folder.files
    assert modules.settle().quiet


def test_an_edit_of_the_fact_waits_while_the_file_is_saved(written: ModuleWorld) -> None:
    update(written, KEY, content="Tests live beside the code.\n\nThey are tiny.")
    once = iter([1])

    def save(path: str) -> None:
        if path == MODULE:
            for _ in once:
                written.edits(MODULE, "beside the code", "beside our code")

    written.folder.before = save
    written.settle()
    written.folder.before = lambda _: None
    assert "beside our code" in written.says(MODULE)
    assert kinds(written) == []
    for text in (written.says(MODULE), written.fact(KEY).content):
        assert "beside our code.\n\nThey are tiny." in text


@pytest.mark.parametrize("path", [MODULE, "patterns/module-02-imports.md"])
def test_an_edit_of_the_fact_during_a_sync_waits_for_the_next_one(
    written: ModuleWorld, path: str
) -> None:
    written.write("ap-02", TEXT.replace("Test location", "Imports"))
    written.edits(path, "beside", "near")
    content = written.fact(KEY).content.replace("fast", "tiny")
    during_store(written, lambda: update(written, KEY, content=content))
    written.settle()
    assert written.fact(KEY).content == content
    assert kinds(written) == []
    assert written.says(MODULE).endswith(written.fact(KEY).content + "\n")
    assert "They are tiny." in written.fact(KEY).content
    assert ("near" in written.fact(KEY).content) is (path == MODULE)


def test_a_second_edit_of_the_fact_during_a_sync_follows_the_first(written: ModuleWorld) -> None:
    content = written.fact(KEY).content
    update(written, KEY, content=content.replace("fast", "quick"))
    tiny = content.replace("fast", "tiny")
    during_store(written, lambda: update(written, KEY, content=tiny))
    written.settle()
    assert kinds(written) == []
    for text in (written.says(MODULE), written.fact(KEY).content):
        assert "They are tiny." in text


def test_a_fact_edited_and_deleted_during_a_sync_stays_deleted(written: ModuleWorld) -> None:
    update(written, KEY, content="Edited before.")
    fact_id = written.fact(KEY).id
    during_store(written, lambda: fact_work.forget(written.ctx, fact_id, agent="otto"))
    assert kinds(written) == ["ModuleForgotten"]
    assert not written.is_alive(fact_id)
    assert kinds(written) == ["ModuleForgotten"]
    assert "Edited before." in written.says(MODULE)


def test_a_deleted_fact_stays_deleted_until_its_file_changes(written: ModuleWorld) -> None:
    fact_work.forget(written.ctx, written.work.facts.fact_id(KEY), agent=None)
    assert kinds(written) == ["ModuleForgotten"]
    written.edits(MODULE, "fast", "slow")
    written.settle()
    assert "slow" in written.fact(KEY).content


def test_facts_follow_later_while_the_store_is_away(modules: ModuleWorld) -> None:
    modules.store.away = True
    modules.write("ap-01", TEXT)
    with pytest.raises(errors.StoreUnavailableError):
        modules.fact(KEY)
    modules.store.away = False
    modules.settle()
    assert modules.fact(KEY).title == "Test location"


def test_a_text_that_fits_into_no_note_is_told(modules: ModuleWorld) -> None:
    modules.write("ap-01", TEXT)
    modules.folder.files[MODULE] = f"# Long\n\n{'x' * (5 << 20)}\n".encode()
    assert kinds(modules) == ["UnfitModule"]


def test_facts_of_a_lost_record_are_those_that_there_were(written: ModuleWorld) -> None:
    fact_id = written.fact(KEY).id
    written.state.record = type(written.state.record)()
    written.settle()
    assert written.fact(KEY).id == fact_id
    assert written.settle().quiet


# ---------------------------------------------------------------------------- the remote


@pytest.mark.parametrize(
    ("confidence", "source"),
    [(0.39, "files"), (0.4, "remote"), (0.41, "remote"), (1.0, "remote"), (1.01, "files")],
)
def test_an_answer_is_taken_from_a_confidence_of_four_tenths(
    written: ModuleWorld, confidence: float, source: str
) -> None:
    remote_of(written).confidence = confidence
    answer = written.read("ap-01")
    assert (answer.source, answer.text) == (source, TEXT)
    assert written.state.lines[-1]["source"] == source
    if source == "files":
        assert answer.paths == [f"docs/memories/{MODULE}"]
    if confidence == 0.39:
        assert answer.confidence == 0.39
        assert answer.reason == "its answer for ap-01 has confidence 0.39, below 0.4"


def test_of_the_files_only_the_core_and_the_named_modules_are_read(written: ModuleWorld) -> None:
    written.folder.files["patterns/notes.md"] = b"Not in the manifest.\n"
    written.write("ap-02", "# B\n\nOther text.\n")
    remote_of(written).away = True
    answer = written.read()
    assert (answer.paths[0], answer.chunks) == (f"docs/memories/{CORE}", ("ap-01", "ap-02"))
    assert "Other text." in answer.text
    assert "Not in the manifest" not in answer.text
    assert answer.reason == "the request timed out"
    alone = written.read("ap-02")
    assert alone.text == "# B\n\nOther text.\n"
    assert alone.checksum == written.manifest().entries[1].checksum


def test_a_topic_is_read_from_the_remote_if_it_has_all_of_it(written: ModuleWorld) -> None:
    written.write("ap-02", "# B\n\nOther text.\n")
    answer = written.read()
    assert (answer.source, answer.confidence) == ("remote", 0.9)
    assert answer.text == f"{TEXT}\n# B\n\nOther text.\n"
    del remote_of(written).stored[SPACE, "ap-02"]
    assert written.read().reason == "it does not have ap-02"


def test_an_answer_of_another_version_is_not_taken(written: ModuleWorld) -> None:
    written.edits(MODULE, "fast", "slow")
    answer = written.read("ap-01")
    assert (answer.source, answer.reason) == (
        "files",
        "its answer for ap-01 is a different version",
    )
    assert "slow" in answer.text


@pytest.mark.parametrize("lie", ["text", "checksum", "none"])
def test_a_lie_is_not_taken(written: ModuleWorld, lie: str) -> None:
    remote = remote_of(written)
    record = remote.stored[SPACE, "ap-01"]
    changed = {"text": {"text": "Lies."}, "checksum": {"checksum": "0" * 64}, "none": {}}[lie]
    hit = RemoteHit("Lies.", 0.99, "ap-01", None)

    class Liar(SimRemote):
        def retrieve(self, space: str, query: RemoteQuery) -> list[RemoteHit]:
            if lie == "none":
                return [hit]
            values = {"text": record.text, "checksum": record.checksum, **changed}
            return [RemoteHit(confidence=0.99, chunk_id="ap-01", **values)]

    written.remote = Liar()
    assert written.read("ap-01").source == "files"
    written.remote = Liar(verbatim=False)
    digested = written.read("ap-01").source
    assert digested == ("files" if lie == "checksum" else "remote")


def test_a_module_that_only_the_remote_has_is_read(modules: ModuleWorld) -> None:
    record = RemoteRecord("ap-09", "patterns", "T", (), "From afar.\n", "0" * 64)
    remote_of(modules).stored[SPACE, "ap-09"] = record
    assert modules.read("ap-09").text == "From afar.\n"
    for chunk in ("ap-10", None):
        with pytest.raises(errors.ModuleMissingError):
            modules.read(chunk)


def test_a_lost_answer_is_found_at_the_next_attempt(modules: ModuleWorld) -> None:
    remote = remote_of(modules)
    remote.verbatim, remote.loses_answers = False, True
    assert modules.write("ap-01", TEXT).sync_status == "pending"
    remote.loses_answers = False
    remote.asked.clear()
    assert modules.settle().synced == 1
    assert remote.asked == ["retrieve"]


def test_attempts_wait_longer_after_each_failure(modules: ModuleWorld) -> None:
    remote = remote_of(modules)
    remote.away = True
    modules.write("ap-01", TEXT)
    remote.asked.clear()
    waits = []
    for _ in range(11):
        until = datetime.fromisoformat(modules.state.record.next_try)
        waits.append((until - modules.clock.now()).total_seconds())
        modules.clock.advance(waits[-1] - 10)
        modules.settle(automatic=True)
        assert remote.asked == []
        modules.clock.advance(20)
        modules.settle(automatic=True)
        assert remote.asked == ["retrieve", "store"][-len(remote.asked) :]
        remote.asked.clear()
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (60, 6 * 3600)
    modules.clock.set_back(365 * 86_400)  # it was ahead
    modules.settle(automatic=True)
    assert remote.asked
    remote.away = False
    assert modules.settle().synced == 1  # who asks does not wait
    assert modules.state.record.failures == 0


def test_after_a_time_out_the_others_are_not_tried(modules: ModuleWorld) -> None:
    remote = remote_of(modules)
    remote.away = True
    for each in ("a", "b", "c"):
        modules.write(each, f"# {each}\n\nText.\n")
    modules.folder.files.pop(BACKLOG_FILE)
    remote.asked.clear()
    report = modules.settle()
    assert (report.failed, report.pending) == (1, 3)
    assert len(remote.asked) == 1
    assert len(read_backlog(modules.says(BACKLOG_FILE))) == 3


def test_another_remote_gets_what_the_one_before_had(written: ModuleWorld) -> None:
    written.set(remote_key="one")
    remote_of(written).refuses = True
    written.write("ap-02", TEXT)
    written.settle()
    written.remote = SimRemote()
    written.set(remote_key="two")
    assert written.work.status().pending == 2
    report = written.work.sync(automatic=True)  # also what only the first one refused
    assert (report.synced, written.work.status().pending) == (2, 0)
    assert written.remote.retrieve(written.rules.space, RemoteQuery(("ap-01",)))
    assert written.settle().quiet


def test_one_module_is_sent_alone(modules: ModuleWorld) -> None:
    remote_of(modules).away = True
    modules.write("a", "# a\n\nText.\n")
    modules.write("b", "# b\n\nText.\n")
    remote_of(modules).away = False
    report = modules.settle("b")
    assert (report.synced, report.pending) == (1, 1)
    assert modules.status_of("a") == "pending"
    with pytest.raises(errors.ModuleMissingError):
        modules.settle("c")


def test_there_is_an_alert_over_ten_modules_or_48_hours(modules: ModuleWorld) -> None:
    assert (modules.rules.alert_pending, modules.rules.alert_hours) == (10, 48)
    modules.set(alert_pending=2)
    remote_of(modules).away = True
    for number in range(2):
        modules.write(f"c-{number}", f"# {number}\n\nText.\n")
    status = modules.work.status()
    assert (status.pending, status.alert) == (2, False)
    modules.clock.advance(48 * 3600 - 60)
    assert not modules.work.status().alert
    modules.clock.advance(120)
    status = modules.work.status()
    assert status.alert
    assert status.oldest_hours > 48
    remote_of(modules).away = False
    modules.settle()
    assert not modules.work.status().alert
    remote_of(modules).away = True
    for number in range(3):
        modules.write(f"c-{number}", f"# {number}\n\nOther text.\n")
    assert modules.work.status().alert


def test_a_time_that_a_person_wrote_is_no_reason_to_fail(written: ModuleWorld) -> None:
    remote_of(written).away = True
    written.edits(MODULE, "fast", "slow")
    written.settle()
    text = written.says(BACKLOG_FILE)
    lines = [x for x in text.splitlines() if not x.startswith("| ap-01")]
    lines.append("| ap-01 | by hand | yesterday | me |")
    written.folder.files[BACKLOG_FILE] = "\n".join(lines).encode()
    assert written.work.status().oldest_hours == 0


def test_each_attempt_is_counted_and_a_line_of_telemetry(modules: ModuleWorld) -> None:
    remote_of(modules).away = True
    modules.write("ap-01", TEXT)
    remote_of(modules).away = False
    modules.settle()
    status = modules.work.status()
    assert (status.sync_success_total, status.sync_failure_total) == (1, 1)
    lines = [each for each in modules.state.lines if each["op"] == "mirror"]
    assert [each["status"] for each in lines] == ["pending", "synced"]
    assert lines[0]["reason"] == "the request timed out"
    assert {each["space"] for each in lines} == {SPACE}


def test_a_row_that_a_crash_left_goes_without_another_attempt(written: ModuleWorld) -> None:
    written.folder.files[BACKLOG_FILE] = b"| chunk | reason |\n|---|---|\n| ap-01 | late |\n"
    remote_of(written).asked.clear()
    written.settle()
    assert read_backlog(written.says(BACKLOG_FILE)) == []
    assert remote_of(written).asked == []


def test_the_line_that_names_a_module_survives_the_way_through_a_remote() -> None:
    record = RemoteRecord("a", "t", "Title", (), "Text.\n", "0" * 64)
    hit = from_header("s", with_header("s", record), 0.5, "x")
    assert hit == RemoteHit("Title\n\nText.\n", 0.5, "a", "0" * 64, "x", record.digest)
    assert from_header("other", with_header("s", record), 0.5, "x").confidence == 0
    removed = with_header("s", RemoteRecord("a", "t", "", (), "", ""))
    assert from_header("s", removed, 0.9, "x").confidence == 0
    assert from_header("s", "Free text.", 0.5, None) == RemoteHit("Free text.", 0.5)


def test_names_with_blanks_survive_the_way_through_a_remote() -> None:
    record = RemoteRecord("a b", "t", "", (), "Text.\n", "0" * 64)
    text = with_header("My Vault", record)
    assert from_header("My Vault", text, 0.5, None).chunk_id == "a b"
    assert from_header("My", text, 0.5, None).confidence == 0
    assert from_header("s", "[module " + " space=a" * 100_000, 0.5, None).chunk_id is None


def test_who_may_not_read_the_project_reads_none_of_it() -> None:
    closed = Permissions(agents={"otto": AgentPermissions(read=("public",))})
    world = ModuleWorld(permissions=closed)
    world.remote = None
    world.write("ap-01", TEXT)
    world.set(agent="otto")
    with pytest.raises(errors.ModuleMissingError):
        world.read("ap-01")
    assert world.work.status().pending == 0
    world.folder.files[INDEX_FILE] = b"{}"
    world.set(agent=None)
    world.settle(automatic=True)
    for agent, shown in ((None, 1), ("otto", 0)):
        world.set(agent=agent)
        assert len(world.work.status().attention) == shown


def test_the_counters_are_in_the_text_format_of_prometheus() -> None:
    lines = render_metrics(3, 1, {'a "b"\n': 2, "c": 0}).splitlines()
    assert "sync_success_total 3" in lines
    assert "sync_failure_total 1" in lines
    assert 'pending_chunks{space="a \\"b\\"\\n"} 2' in lines
    kinds = [each.split()[2:] for each in lines if each.startswith("# TYPE")]
    assert kinds == [
        ["sync_success_total", "counter"],
        ["sync_failure_total", "counter"],
        ["pending_chunks", "gauge"],
    ]


@pytest.mark.parametrize(("count", "said"), [(1, "1 module waits"), (12, "12 modules wait")])
def test_a_notice_counts_what_waits(count: int, said: str) -> None:
    status = ModuleStatus(count, 50.2, True, 0, "docs/memories", "s", "r", 0, 0)
    notice = backlog_notice(status)
    assert notice.message.startswith(said)
    assert notice.message.endswith("the oldest for 50 hours")


def test_a_removal_waits_while_there_is_no_remote(written: ModuleWorld) -> None:
    written.write("ap-02", "# B\n\nText.\n")
    written.folder.files[MANIFEST] = b"modules: []\n"
    del written.folder.files[MODULE], written.folder.files["patterns/module-02-b.md"]
    sim, written.remote = written.remote, None
    assert (written.settle().failed, written.settle().pending) == (1, 2)
    written.remote = sim
    written.folder.files["plans/roadmap.md"] = b"A document without a manifest.\n"
    assert (written.settle().removed, written.settle().pending) == (2, 0)


@pytest.mark.parametrize("manifest", [None, b"modules: {\n"])
def test_a_removal_waits_for_its_manifest(written: ModuleWorld, manifest: bytes | None) -> None:
    sim, written.remote = written.remote, None
    written.edits(MODULE, "fast", "slow")
    assert written.settle().pending == 1
    written.remote = sim
    before = written.folder.files.pop(MANIFEST)
    if manifest is not None:
        written.folder.files[MANIFEST] = manifest
    assert (written.settle().removed, written.settle().pending) == (0, 1)
    written.folder.files[MANIFEST] = before
    assert (written.settle().synced, written.settle().pending) == (1, 0)


def test_a_folder_that_is_gone_forgets_no_document(modules: ModuleWorld) -> None:
    modules.folder.files["README.md"] = b"# On-ramp\n\nBegin here.\n"
    modules.settle()
    modules.folder.files.clear()
    modules.settle()
    assert modules.fact("README.md").title == "On-ramp"


def test_a_module_whose_merged_text_is_outrun_each_time_is_given_up(written: ModuleWorld) -> None:
    number = 0

    def save(path: str) -> None:
        nonlocal number
        number += 1
        if path == MODULE:
            written.folder.files[path] = f"{TEXT}\nMore {number}.\n".encode()

    written.folder.before = save
    with pytest.raises(errors.ModuleChangedError):
        written.write("ap-01", TEXT.replace("beside", "near"))
    written.folder.before = lambda _: None
    written.settle()
    assert "near" in written.says(MODULE)
    assert "More" in written.says(MODULE)


def test_a_fact_that_others_always_write_is_left_to_the_next_sync(written: ModuleWorld) -> None:
    number = 0

    def write(step: str) -> None:
        nonlocal number
        if step == "write":
            number += 1
            written.store.before = lambda _: None
            update(written, KEY, context=f"Version {number}.")
            written.store.before = write

    written.edits(MODULE, "fast", "slow")
    written.store.before = write
    written.settle()
    written.store.before = lambda _: None
    assert number > 1
    written.folder.files[MANIFEST] = b"modules: []\n"
    del written.folder.files[MODULE]
    written.store.before = write
    written.settle()
    written.store.before = lambda _: None


def test_a_module_whose_fact_is_gone_already_is_removed(written: ModuleWorld) -> None:
    fact_work.forget(written.ctx, written.work.facts.fact_id(KEY), agent=None)
    written.folder.files[MANIFEST] = b"modules: []\n"
    del written.folder.files[MODULE]
    assert written.settle().removed == 1


def test_a_tag_that_no_fact_can_have_stays_in_the_manifest(written: ModuleWorld) -> None:
    written.edits(MANIFEST, "tags: [tests]", "tags: [tests, '#', ok, 'a]b c']")
    written.settle()
    entry = written.manifest().find("ap-01")
    assert entry is not None
    assert "#" in entry.tags
    assert "#" not in written.fact(KEY).tags


def test_a_file_with_a_null_byte_is_told_and_the_others_are_synced(written: ModuleWorld) -> None:
    written.folder.files["README.md"] = b"# A\n\nNull: \0.\n"
    assert kinds(written) == ["UnfitModule"]
    with pytest.raises(errors.InvalidFieldError):
        written.write("ap-02", "Text.", tags=("a\0b",))
    assert written.state.waiting == {}


def test_a_module_that_waits_and_is_edited_again_waits_on(modules: ModuleWorld) -> None:
    remote_of(modules).away = True
    modules.write("ap-01", TEXT)
    modules.edits(MODULE, "fast", "slow")
    assert modules.settle().pending == 1


def test_an_old_version_at_the_remote_is_not_the_one_confirmed(written: ModuleWorld) -> None:
    remote_of(written).pretends = True
    assert written.write("ap-01", TEXT.replace("fast", "slow")).sync_status == "pending"


def test_a_module_whose_file_is_missing_can_be_written_again(written: ModuleWorld) -> None:
    del written.folder.files[MODULE]
    assert written.write("ap-01", TEXT).sync_status == "synced"
    assert written.says(MODULE) == TEXT


def test_a_document_that_goes_while_it_is_listed_is_no_document(modules: ModuleWorld) -> None:
    listing = ModuleListing(("GHOST.md",), {})
    modules.folder.listing = lambda: listing  # type: ignore[method-assign]
    assert modules.settle().facts == 0


@pytest.mark.parametrize("edited", ["file", "fact"])
def test_what_is_accepted_is_merged_with_a_persons_edit(modules: ModuleWorld, edited: str) -> None:
    modules.write("ap-01", "# Test location\n\nOne.\n\nTwo.\n\nThree.\n")
    asked = ModuleWrite("patterns", "ap-01", "# Test location\n\nOne.\n\nTwo.\n\n3.\n")

    def draft(ctx: SyncContext) -> ModuleWritten:
        work = ModuleWork(ctx, modules.folder, modules.state, modules.rules, lambda: None)
        return work.draft(asked)

    denied = errors.ScopeDeniedError("otto", "project-nx-monorepo", proposes=True)
    proposal = propose_write(modules.ctx, draft, denied, agent="otto")
    assert isinstance(proposal, ProposalRecord)
    assert modules.says(MODULE) == "# Test location\n\nOne.\n\nTwo.\n\nThree.\n"
    if edited == "file":
        modules.edits(MODULE, "One.", "1.")
    accept_proposals(modules.ctx, [proposal])
    if edited == "fact":
        content = "1.\n\nTwo.\n\n3."
        during_store(modules, lambda: update(modules, "patterns/ap-01", content=content))
    modules.settle()
    assert kinds(modules) == []
    assert modules.says(MODULE) == "# Test location\n\n1.\n\nTwo.\n\n3.\n"
    assert modules.fact("patterns/ap-01").content == "1.\n\nTwo.\n\n3."
