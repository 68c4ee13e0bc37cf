"""A write goes through in steps, and a crash between any two of them is finished."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.module_worlds import SPACE, Crash, ModuleWorld, SimRemote
from vaultsync import errors
from vaultsync.model.permissions import AgentPermissions, Permissions
from vaultsync.modules.backlog import BACKLOG_FILE, read_backlog
from vaultsync.modules.manifest import INDEX_FILE
from vaultsync.modules.module_text import checksum_of

pytestmark = pytest.mark.long(5)

CORE, MANIFEST = "patterns/patterns.core.md", "patterns/manifest.yaml"
MODULE = "patterns/module-01-test-location.md"
TEXT = "# Test location\n\nTests live beside the code. They are fast.\n"
OTHER = "# Test location\n\nTests live in `tests`.\n"


def rows(world: ModuleWorld) -> list[str]:
    text = world.folder.files.get(BACKLOG_FILE, b"").decode()
    return [each.chunk_id for each in read_backlog(text)]


def test_a_module_is_written_with_all_that_belongs_to_it(modules: ModuleWorld) -> None:
    done = modules.write("ap-01", TEXT, tags=("tests",))
    assert modules.says(MODULE) == TEXT
    assert (done.chunk_id, done.sync_status, done.remote_id) == ("ap-01", "synced", "id-ap-01")
    entry = modules.manifest().find("ap-01")
    assert entry is not None
    assert (entry.title, entry.tags, entry.last_updated_by) == ("Test location", ("tests",), "indy")
    assert entry.checksum == done.checksum == checksum_of(TEXT.encode())
    assert entry.last_synced_at
    assert modules.says(CORE).count("ap-01") == 2
    assert "(`ap-01`): Tests live beside the code." in modules.says(CORE)
    assert json.loads(modules.says(INDEX_FILE)) == {
        "patterns": {
            "core": "docs/memories/patterns/patterns.core.md",
            "manifest": "docs/memories/patterns/manifest.yaml",
            "chunks": ["ap-01"],
        }
    }
    assert rows(modules) == []
    fact = modules.fact("patterns/ap-01")
    assert (fact.title, fact.scope, fact.tags) == (
        "Test location",
        "project-nx-monorepo",
        ("tests",),
    )
    assert fact.content == "Tests live beside the code. They are fast."


def test_a_comma_ends_a_tag_of_a_module_as_in_obsidian(modules: ModuleWorld) -> None:
    modules.write("ap-01", TEXT, tags=("tests, unit tests",))
    entry = modules.manifest().find("ap-01")
    assert entry is not None
    assert entry.tags == modules.fact("patterns/ap-01").tags == ("tests", "unit-tests")


def test_a_second_write_replaces_the_text_and_its_summary(modules: ModuleWorld) -> None:
    modules.write("ap-01", TEXT, tags=("tests",))
    modules.write("ap-01", OTHER)
    assert modules.says(MODULE) == OTHER
    core = modules.says(CORE)
    assert "Tests live in `tests`." in core
    assert "beside the code" not in core
    assert core.index("changed by indy") < core.index("added by indy")
    entry = modules.manifest().find("ap-01")
    assert entry is not None
    assert entry.tags == ("tests",)
    assert modules.fact("patterns/ap-01").content == "Tests live in `tests`."


@pytest.mark.parametrize("fault", ["away", "loses_answers", "pretends", "garbles", "gives_no_id"])
def test_what_the_remote_refuses_waits_in_the_backlog(modules: ModuleWorld, fault: str) -> None:
    assert modules.remote is not None
    setattr(modules.remote, fault, True)
    done = modules.write("ap-01", TEXT)
    assert (done.sync_status, done.remote_id) == ("pending", None)
    assert done.reason
    row = read_backlog(modules.says(BACKLOG_FILE))[0]
    assert (row.chunk_id, row.agent) == ("ap-01", "indy")
    assert row.reason == done.reason
    setattr(modules.remote, fault, False)
    report = modules.settle()
    assert (report.synced, report.failed, report.pending) == (1, 0, 0)
    assert modules.status_of("ap-01") == "synced"
    assert rows(modules) == []


def test_a_module_of_a_project_without_a_remote_waits(modules: ModuleWorld) -> None:
    modules.remote = None
    assert modules.write("ap-01", TEXT).reason == "no remote is set"
    assert rows(modules) == ["ap-01"]


def test_where_no_mirror_is_wanted_nothing_waits(modules: ModuleWorld) -> None:
    modules.set(mirrors=False)
    assert modules.write("ap-01", TEXT).sync_status == "pending"
    assert rows(modules) == []
    assert modules.settle().pending == 0
    modules.clock.advance(49 * 3600)
    status = modules.work.status()
    assert (status.pending, status.oldest_hours, status.alert) == (0, 0.0, False)
    assert modules.read("ap-01").source == "files"
    modules.set(mirrors=True)  # from then on, what the remote does not have waits
    assert modules.work.status().alert
    modules.settle()
    assert not modules.work.status().alert


def test_a_module_that_the_remote_refuses_is_sent_again_if_asked(modules: ModuleWorld) -> None:
    assert modules.remote is not None
    modules.remote.refuses = True
    assert modules.write("ap-01", TEXT).sync_status == "failed"
    assert rows(modules) == ["ap-01"]
    modules.remote.refuses = False
    modules.remote.asked.clear()
    assert modules.settle(automatic=True).pending == 1
    assert modules.remote.asked == []
    assert modules.work.status().failed == 1
    assert modules.settle("ap-01").synced == 1


def _crash(world: ModuleWorld, at: int) -> int:
    return world.ends_at(at, lambda: world.write("ap-01", OTHER, title="Where tests are"))


def _end(world: ModuleWorld) -> tuple[object, ...]:
    entry = world.manifest().find("ap-01")
    assert entry is not None
    fact = world.fact("patterns/ap-01")
    assert world.remote is not None
    return (
        {k: x for k, x in world.folder.files.items() if k not in (MANIFEST, BACKLOG_FILE)},
        (entry.title, entry.checksum, entry.sync_status, entry.remote_id, entry.tags),
        (fact.title, fact.content),
        world.remote.stored[SPACE, "ap-01"].text,
        rows(world),
        world.state.waiting,
    )


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("fault", [None, "away"])
def test_a_crash_between_any_two_steps_is_finished(existed: bool, fault: str | None) -> None:
    def world() -> ModuleWorld:
        made = ModuleWorld()
        if existed:
            made.write("ap-01", TEXT)
        made.remote = made.remote or SimRemote()
        if fault:
            setattr(made.remote, fault, True)
        return made

    def settled(world: ModuleWorld) -> None:
        assert world.remote is not None
        world.remote.away = False
        world.settle()

    whole = world()
    steps = _crash(whole, 0)
    assert steps > 8
    settled(whole)
    wanted, finished = _end(whole), 0
    for at in range(1, steps + 1):
        broken = world()
        assert _crash(broken, at) == at
        kept = bool(broken.state.waiting) or broken.folder.files.get(MODULE) == OTHER.encode()
        settled(broken)
        if kept or (not existed and MANIFEST in broken.folder.files):
            assert _end(broken) == wanted, at
            finished += 1
        else:  # it ended before the text was kept
            assert broken.folder.files.get(MODULE) == (TEXT.encode() if existed else None)
    assert finished > 7


def test_a_person_who_edits_after_a_crash_keeps_both_edits(modules: ModuleWorld) -> None:
    before = "# A\n\nOne.\n\nTwo.\n\nThree.\n"
    modules.write("ap-01", before)
    modules.folder.before = _raise_at(MODULE.replace("test-location", "a"))
    with pytest.raises(Crash):
        modules.write("ap-01", before.replace("One.", "One, says the agent."))
    modules.folder.before = lambda _: None
    modules.edits("patterns/module-01-a.md", "Three.", "Three, says the person.")
    modules.settle()
    text = modules.says("patterns/module-01-a.md")
    assert "One, says the agent." in text
    assert "Three, says the person." in text
    assert modules.status_of("ap-01") == "synced"


def test_a_person_who_edits_that_line_after_a_crash_keeps_the_file(modules: ModuleWorld) -> None:
    modules.write("ap-01", "# A\n\nOne.\n")
    modules.folder.before = _raise_at("patterns/module-01-a.md")
    with pytest.raises(Crash):
        modules.write("ap-01", "# A\n\nOne, says the agent.\n")
    modules.folder.before = lambda _: None
    modules.edits("patterns/module-01-a.md", "One.", "One, says the person.")
    report = modules.settle()
    assert "the person" in modules.says("patterns/module-01-a.md")
    assert [each.kind for each in report.attention] == ["ModuleConflict"]
    assert b"# A\n\nOne, says the agent.\n" in modules.state.kept.values()


@pytest.mark.parametrize("edited", [True, False])
def test_a_save_that_a_crashed_write_displaced_is_put_back_or_named(
    modules: ModuleWorld, edited: bool
) -> None:
    path, before = "patterns/module-01-a.md", "# A\n\nOne.\n\nTwo.\n\nThree.\n"
    modules.write("ap-01", before)
    agents, persons = before.replace("One.", "Agent."), before.replace("Three.", "Person.")
    modules.folder.before = _raise_at(path)
    with pytest.raises(Crash):
        modules.write("ap-01", agents)
    modules.folder.before = lambda _: None
    modules.folder.left[path] = [(agents.encode(), persons.encode())]
    modules.folder.files[path] = agents.encode()
    if edited:
        modules.edits(path, "Two.", "Later.")
    files = {**modules.folder.files}
    (shown,) = modules.work.status().attention
    assert (shown.kind, modules.folder.files) == ("ModuleDisplaced", files)
    report = modules.settle()
    assert ("Agent." in modules.says(path), "Later." in modules.says(path)) == (True, edited)
    assert ("Person." in modules.says(path)) is not edited
    assert [each.kind for each in report.attention] == ["ModuleDisplaced"] * edited
    assert [each.hint for each in report.attention] == [shown.hint] * edited
    assert bool(modules.folder.left) is edited
    modules.folder.busy = True
    assert modules.work.status().attention == []


def test_a_save_while_a_displaced_one_is_put_back_stands(modules: ModuleWorld) -> None:
    path = "patterns/module-01-test-location.md"
    modules.write("ap-01", TEXT)
    modules.folder.left[path] = [(TEXT.encode(), b"# Displaced\n")]

    def save(_: str) -> None:
        modules.folder.files[path] = b"# Saved\n"

    modules.folder.before = save
    report = modules.settle()
    assert modules.says(path) == "# Saved\n"
    assert [each.kind for each in report.attention] == ["ModuleDisplaced"]


def test_a_version_that_is_put_back_leaves_others_that_were_displaced(modules: ModuleWorld) -> None:
    path, earlier = "patterns/module-01-test-location.md", (b"Y", b"# Earlier\n")
    modules.write("ap-01", TEXT)
    modules.folder.left[path] = [earlier, (TEXT.encode(), b"# Displaced\n")]
    report = modules.settle()
    assert modules.says(path) == "# Displaced\n"
    assert modules.folder.left[path] == [earlier]
    assert [each.kind for each in report.attention] == ["ModuleDisplaced"]


def test_a_file_that_is_deleted_in_the_moment_of_a_write_is_written(modules: ModuleWorld) -> None:
    path = "patterns/module-01-test-location.md"
    modules.write("ap-01", TEXT)

    def delete(_: str) -> None:
        modules.folder.files.pop(path, None)

    modules.folder.before = delete
    modules.write("ap-01", OTHER)
    modules.folder.before = lambda _: None
    assert modules.state.kept == {}
    modules.write("ap-01", OTHER)
    assert modules.says(path) == OTHER


def test_versions_that_a_later_save_replaced_are_kept(modules: ModuleWorld) -> None:
    path = "patterns/module-01-test-location.md"
    modules.write("ap-01", TEXT)
    modules.folder.left[path] = [(b"?", b"# Displaced\n")]
    modules.folder.before = lambda each: (
        modules.folder.files.update({path: b"# Saved\n"}) if each == path else None
    )
    modules.write("ap-01", OTHER)
    assert b"# Saved\n" in modules.state.kept.values()
    assert modules.folder.left[path] == [(b"?", b"# Displaced\n")]


def _raise_at(wanted: str) -> Callable[[str], None]:
    def before(path: str) -> None:
        if path == wanted:
            raise Crash

    return before


def test_a_file_of_the_same_name_that_appears_meanwhile_is_left_alone(modules: ModuleWorld) -> None:
    def appear(path: str) -> None:
        if path == MODULE and path not in modules.folder.files:
            modules.folder.files[path] = b"# Mine\n"

    modules.folder.before = appear
    done = modules.write("ap-01", TEXT)
    assert modules.says(MODULE) == "# Mine\n"
    assert done.path == "docs/memories/patterns/module-02-test-location.md"
    assert modules.says("patterns/module-02-test-location.md") == TEXT


def test_a_core_file_that_a_person_saves_meanwhile_keeps_the_edit(modules: ModuleWorld) -> None:
    modules.write("ap-01", TEXT)
    once = iter([b"# Patterns\n\nMy words.\n"])

    def save(path: str) -> None:
        if path == CORE:
            for text in once:
                modules.folder.files[CORE] = text
                break

    modules.folder.before = save
    modules.write("ap-01", OTHER)
    assert "My words." in modules.says(CORE)
    assert "Tests live in" in modules.says(CORE)


def test_a_folder_that_changes_all_the_time_is_given_up(modules: ModuleWorld) -> None:
    number = 0

    def save(path: str) -> None:
        nonlocal number
        number += 1
        if path == CORE:
            modules.folder.files[path] = f"# {number}\n".encode()

    modules.write("ap-01", TEXT)
    modules.folder.before = save
    with pytest.raises(errors.ModuleChangedError):
        modules.write("ap-01", OTHER)
    modules.folder.before = lambda _: None
    modules.settle()
    assert modules.says(MODULE) == OTHER
    assert modules.status_of("ap-01") == "synced"


def test_a_write_can_name_the_version_that_it_replaces(modules: ModuleWorld) -> None:
    done = modules.write("ap-01", TEXT, expect="new")
    modules.write("ap-01", OTHER, expect=done.checksum)
    for expect in (done.checksum, "new"):
        with pytest.raises(errors.ModuleChangedError):
            modules.write("ap-01", TEXT, expect=expect)
    assert modules.says(MODULE) == OTHER


@pytest.mark.parametrize(
    ("topic", "chunk", "text"),
    [
        ("../x", "a", "t"),
        ("a/b", "a", "t"),
        (".git", "a", "t"),
        ("", "a", "t"),
        ("t", "", "t"),
        ("t", "a b", "t"),
        ("t", "a|b", "t"),
        ("t", "x" * 201, "t"),
        ("t", "a", " \n"),
        ("t", "a", "é" * (1 << 19)),
        ("x" * 101, "a", "t"),
    ],
)
def test_impossible_names_and_empty_texts_are_refused(
    modules: ModuleWorld, topic: str, chunk: str, text: str
) -> None:
    with pytest.raises(errors.InvalidFieldError):
        modules.write(chunk, text, topic=topic)
    assert modules.folder.files == {}


def test_an_id_belongs_to_one_topic(modules: ModuleWorld) -> None:
    modules.write("ap-01", TEXT)
    with pytest.raises(errors.InvalidFieldError, match="patterns has this one"):
        modules.write("ap-01", TEXT, topic="findings")


def test_a_manifest_that_cannot_be_read_is_not_written(modules: ModuleWorld) -> None:
    modules.folder.files[MANIFEST] = b"modules: [\n"
    with pytest.raises(errors.UnreadableModuleError):
        modules.write("ap-01", TEXT)
    assert modules.says(MANIFEST) == "modules: [\n"


def test_a_core_file_that_is_unreadable_stops_a_write_at_once(modules: ModuleWorld) -> None:
    modules.folder.files[CORE] = b"\xff"
    with pytest.raises(errors.UnreadableModuleError, match="not UTF-8"):
        modules.write("ap-01", TEXT)
    assert (list(modules.folder.files), modules.state.waiting) == ([CORE], {})


def test_a_write_that_cannot_be_completed_does_not_stop_the_others(modules: ModuleWorld) -> None:
    def breaks(path: str) -> None:
        if path == CORE:
            raise Crash

    modules.folder.before = breaks
    with pytest.raises(Crash):
        modules.write("ap-01", TEXT)
    modules.folder.before = lambda _: None
    modules.folder.files[CORE] = b"\xff"
    written = modules.write("fi-01", OTHER, topic="findings")
    assert {each.kind for each in written.attention} == {"UnreadableModuleError"}
    modules.folder.files[CORE] = b"# Patterns\n"
    modules.settle()
    assert modules.status_of("ap-01") == "synced"
    assert modules.state.waiting == {}


def test_an_entry_that_leads_out_of_its_topic_is_not_written(modules: ModuleWorld) -> None:
    manifest = "modules:\n  - chunk_id: ap-01\n    module_path: ../../secrets.md\n"
    modules.folder.files[MANIFEST] = manifest.encode()
    with pytest.raises(errors.UnreadableModuleError, match="leads out"):
        modules.write("ap-01", TEXT)
    assert [each.kind for each in modules.settle().attention] == ["ManifestProblem"]


def test_a_busy_folder_says_so(modules: ModuleWorld) -> None:
    modules.folder.busy = True
    with pytest.raises(errors.ModulesBusyError):
        modules.write("ap-01", TEXT)


def test_the_limits_of_an_agent_hold_for_modules() -> None:
    table = {"indy": AgentPermissions(max_bytes=100, max_facts_per_hour=1)}
    world = ModuleWorld(permissions=Permissions(agents=table))
    with pytest.raises(errors.WriteLimitError):
        world.write("ap-01", "x" * 101)
    assert world.folder.files == {}
    world.write("ap-01", TEXT)
    with pytest.raises(errors.WriteLimitError):
        world.write("ap-01", OTHER)
