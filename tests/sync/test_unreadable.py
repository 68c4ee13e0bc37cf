"""What cannot be read is never written, never deleted, and never changes the store."""

from __future__ import annotations

from unittest import mock

import pytest

from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS, PERSONS_ALPHA, World, kinds, notice
from vaultsync.errors import NoteChangedError, NoteError, NotRegularFileError, UnsafePathError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import INVALID_NAME, LINKED_FOLDER, NOT_DOWNLOADED
from vaultsync.sync.note_status import why_note_waits
from vaultsync.sync.snapshot import why_unlisted

NEW = "team-core/notes/new.md"
BROKEN = {
    "an open bracket": b"---\nid: ID\ntags: [a, b\n---\n# T\n\nWords.\n",
    "NUL bytes": b"---\nid: ID\n---\n# T\n\nWo\x00rds.\n",
    "not UTF-8": b"---\nid: ID\n---\n# T\n\nW\xf6rter.\n",
    "conflict markers": b"---\nid: ID\n---\n# T\n\n<<<<<<< HEAD\nA.\n=======\nB.\n>>>>>>> main\n",
    "half saved": b"---\nid: ID\ntype: note\npriority",
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_read_is_left_alone_until_it_is_mended(world: World, what: str) -> None:
    fact = world.mirrored()
    path, good = world.path(fact.id), world.data(fact)
    bad = BROKEN[what].replace(b"ID", fact.id.encode())
    world.person_writes(path, bad)
    world.clock.advance(600)
    report = world.sync()
    if what != "half saved":
        assert kinds(report) == ["unreadable"]
        said = notice(report, "unreadable")
        assert said.path == path
        assert said.hint
        assert world.fact(fact.id).revision == fact.revision
        assert world.data(path) == bad
        world.quiesce()
        assert world.data(path) == bad
        assert kinds(world.sync()) == ["unreadable"]
    world.person_writes(path, good.replace(ALPHA.encode(), PERSONS_ALPHA.encode()))
    report = world.sync()
    assert world.fact(fact.id).content == PERSONS
    assert kinds(report) == []
    world.assert_at_rest()


@pytest.mark.parametrize("what", [what for what in BROKEN if what != "half saved"])
def test_a_new_file_that_cannot_be_read_becomes_no_fact(world: World, what: str) -> None:
    path = NEW
    world.person_writes(path, BROKEN[what].replace(b"ID", b"x"))
    world.clock.advance(600)
    report = world.sync()
    assert kinds(report) == ["unreadable"]
    assert world.facts() == []
    world.person_writes(path, "Words.\n")
    report = world.sync()
    assert kinds(report) == []
    assert len(world.facts()) == 1
    world.assert_at_rest()


OPEN = "status: active", "status: [active"
MENDED = "status: [active", "status: active"


@pytest.mark.parametrize("deletes", [False, True])
def test_what_an_agent_does_waits_while_the_note_cannot_be_read(
    world: World, fact: Fact, deletes: bool
) -> None:
    path = world.path(fact.id)
    world.person_edits(path, *OPEN)
    bad = world.data(path)
    assert notice(world.sync(), "unreadable").line == 5
    if deletes:
        world.agent_forgets(fact.id)
    else:
        world.agent_updates(fact.id, content=AGENTS)
    steps: list[str] = []
    world.vault.before = steps.append
    for _ in range(3):
        world.sync()
    world.vault.before = lambda _: None
    assert not {"stage", "exchange", "stage_removal"} & set(steps)
    assert world.data(path) == bad
    world.person_edits(path, *MENDED)
    world.person_edits(path, ALPHA, PERSONS_ALPHA)
    world.assert_at_rest()
    assert world.fact(fact.id).content == (PERSONS if deletes else MERGED)
    assert world.fact(fact.id).content in world.note(fact.id)
    assert len(world.conflict_notes()) == deletes


@pytest.mark.parametrize("left", [0, -1])
def test_a_note_cut_for_good_counts_later_as_an_edit(world: World, fact: Fact, left: int) -> None:
    path, good = world.path(fact.id), world.data(fact)
    cut = good[: good.index(b"Bravo") + 2] if left else b""
    world.person_writes(path, cut)
    world.sync()
    assert world.fact(fact.id).content == LINES
    assert world.data(path) == cut
    world.clock.advance(60)
    world.assert_at_rest()
    assert world.fact(fact.id).content == (f"{ALPHA}\n\nBr" if left else "")
    assert world.path(fact.id) == path
    assert ALPHA in world.everything_kept()


def test_a_note_saved_in_two_steps_is_taken_whole(world: World, fact: Fact) -> None:
    path, good = world.path(fact.id), world.data(fact)
    fresh = good.replace(ALPHA.encode(), PERSONS_ALPHA.encode())
    for end in (0, 5, len(good) // 3, good.index(b"Bravo") + 2):
        world.person_writes(path, good[:end])
        report = world.sync()
        assert world.fact(fact.id).revision == fact.revision
        assert report.counts["updated_in_store"] == 0
    world.person_writes(path, fresh)
    world.sync()
    assert world.fact(fact.id).content == PERSONS
    world.assert_at_rest()


FORMS = {
    "a byte order mark": b"\xef\xbb\xbf---\nstatus: active\n---\n# T\n\nAlpha.\n\nOmega.\n",
    "a mark and no frontmatter": b"\xef\xbb\xbf# T\n\nAlpha.\n\nOmega.\n",
    "CRLF": b"---\r\nstatus: active\r\n---\r\n# T\r\n\r\nAlpha.\r\n\r\nOmega.\r\n",
    "mixed line ends": b"---\nstatus: active\n---\n# T\r\n\r\nAlpha.\n\r\nOmega.\r\n",
    "no final newline": b"---\nstatus: active\n---\n# T\n\nAlpha.\n\nOmega.",
    "trailing blanks": b"---\nstatus: active  \n---\n# T  \n\nAlpha.  \n\nOmega.\t\n\n\n",
    "tabs": b"# T\n\n\tcode\n\nAlpha.\n\n-\tlist\n\nOmega.\n",
    "a body that begins with a rule": b"---\n\nAlpha.\n\nOmega.\n",
    "a body with rules": b"---\nAlpha.\n---\n\nOmega.\n",
    "an empty frontmatter": b"---\n---\n\nAlpha.\n\nOmega.\n",
    "comments": b"---\n# why\nstatus: active # yes\n\n# more\n---\nAlpha.\n\nOmega.\n",
    "line separators": "# T\n\nAlpha.\u2028Next.\u0085\n\nOmega.\n".encode(),
    "a lone carriage return": b"# T\n\nAlpha.\n\nNext\rone.\n\nOmega.\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_note_is_kept(world: World, form: str) -> None:
    path, data = "team-core/notes/a note.md", FORMS[form]
    world.person_writes(path, data)
    world.quiesce()
    (fact,) = world.facts()
    adopted = world.data(path)
    eol = b"\r\n" if b"---\r\n" in data or adopted.startswith(b"---\r\n") else b"\n"
    line = b"id: " + fact.id.encode() + eol
    assert adopted.count(line) == 1
    rest = adopted.replace(line, b"", 1)
    fence = b"---" + eol
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    without_fences = mark + rest.removeprefix(mark).removeprefix(fence + fence)
    assert data in (rest, without_fences)
    world.assert_at_rest()

    world.agent_updates(fact.id, content=fact.content.replace("Alpha.", "Alpha!"))
    world.quiesce()
    assert world.data(path) == adopted.replace(b"Alpha.", b"Alpha!")
    world.agent_updates(fact.id, priority=0)
    world.quiesce()
    assert b"Alpha!" in world.data(path)
    assert b"priority: 0" + eol in world.data(path)
    found = world.data(path).replace(b"priority: 0" + eol, b"")
    assert found == adopted.replace(b"Alpha.", b"Alpha!")
    world.person_writes(path, world.data(path).replace(b"Omega", b"Ohm"))
    world.assert_at_rest()
    assert "Ohm" in world.fact(fact.id).content


def test_what_looks_like_frontmatter_is_content(world: World) -> None:
    content = "---\nid: nobody\n---\n\ntext"
    fact = world.mirrored(content)
    assert world.fact(fact.id).content == content
    world.person_writes(NEW, "---\nJust a line of prose.\n---\n\nMore.\n")
    world.assert_at_rest()
    (new,) = [each for each in world.facts() if each.id != fact.id]
    assert new.content == "---\nJust a line of prose.\n---\n\nMore."


def test_a_file_that_is_too_large_is_left_alone_and_named(world: World) -> None:
    world.vault.max_bytes = 1000
    world.person_writes("team-core/notes/big.md", b"x" * 1001)
    assert kinds(world.sync()) == ["unreadable"]
    assert world.facts() == []
    fact = world.mirrored()
    world.person_writes(fact, b"x" * 1001)
    world.clock.advance(60)
    world.quiesce()
    assert world.fact(fact.id).content == LINES
    assert len(world.data(fact)) == 1001


@pytest.mark.parametrize("kind", ["a link", "a hard link", "a device"])
def test_only_regular_files_are_read(world: World, kind: str) -> None:
    world.vault.make_odd("team-core/notes/odd.md", kind)
    report = world.sync()
    assert kinds(report) == ["odd"]
    assert kind in notice(report, "odd").message
    assert world.facts() == []
    world.vault.delete("team-core/notes/odd.md")
    assert kinds(world.sync()) == []


def test_a_name_that_is_no_valid_path_is_to_be_changed(world: World) -> None:
    world.vault.make_odd("team-core/notes/odd.md", INVALID_NAME)
    said = notice(world.sync(), "odd")
    assert said.message.endswith("odd.md: its name is not valid in a path, so it is not synced")
    assert said.hint.startswith("rename it: names are UTF-8")


def test_a_note_that_is_not_on_this_machine_keeps_its_fact(world: World, fact: Fact) -> None:
    path, data = world.path(fact.id), world.data(fact)
    world.person_deletes(path)
    world.vault.make_odd(path, NOT_DOWNLOADED)
    world.vault.make_odd("Journal/other.md", NOT_DOWNLOADED)  # none of ours
    world.agent_updates(fact.id, content=AGENTS)
    for _ in range(3):
        report = world.sync()
        assert kinds(report) == ["odd"]
        assert notice(report, "odd").message.startswith(f"{path}: iCloud Drive has removed it")
        assert "Download Now" in notice(report, "odd").hint
    world.vault.delete(path)
    world.person_writes(path, data)
    world.assert_at_rest()
    assert "what the agent says" in world.note(fact.id)


def test_a_note_that_keeps_changing_while_it_is_read_waits(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, ALPHA, PERSONS_ALPHA)

    def unsteady() -> None:
        raise NoteChangedError(path)

    world.at("read", unsteady)
    world.sync()
    assert world.fact(fact.id).revision == fact.revision
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS


def test_a_broken_copy_is_named_wherever_it_lies(world: World, fact: Fact) -> None:
    world.person_copies(fact, "Inbox/copy.md")
    world.person_writes("Inbox/strange.md", BROKEN["an open bracket"])
    world.person_edits("Inbox/copy.md", *OPEN)
    world.sync()
    assert [each.path for each in world.sync().attention] == ["Inbox/copy.md"]
    world.person_edits("Inbox/copy.md", *MENDED)
    world.assert_at_rest()
    assert len(world.facts()) == 2


def test_a_note_that_says_again_what_it_said_before_it_broke_is_not_listed(world: World) -> None:
    path = world.path(world.mirrored().id)
    world.person_edits(path, *OPEN)
    assert kinds(world.sync()) == ["unreadable"]
    world.person_edits(path, *MENDED)
    for _ in range(2):
        assert not kinds(world.sync())
        assert not world.archive.notices()


def _reports(world: World, *expected: str) -> None:
    """A pass names exactly this."""
    assert kinds(world.sync()) == sorted(expected)


def _too_large(world: World, path: str) -> None:
    world.vault.max_bytes = len(world.data(path)) - 1


def _made_readable(world: World) -> None:
    """Of the file itself nothing changes, neither its bytes nor its times."""
    world.vault.max_bytes = 4 << 20


@pytest.mark.parametrize("edited", [False, True])
def test_a_note_not_opened_is_tried_by_each_pass(world: World, fact: Fact, edited: bool) -> None:
    path = world.path(fact.id)
    world.person_writes(path, world.text(path).replace(ALPHA, PERSONS_ALPHA if edited else ALPHA))
    _too_large(world, path)
    _reports(world, "unreadable")
    _reports(world, "unreadable")
    _made_readable(world)
    _reports(world)
    _reports(world)
    assert world.fact(fact.id).content == (PERSONS if edited else LINES)
    world.assert_at_rest()


def test_a_new_note_that_could_not_be_opened_is_taken_in_later(world: World) -> None:
    world.person_writes(NEW, "Words.\n")
    world.clock.advance(600)
    _too_large(world, NEW)
    _reports(world, "unreadable")
    _made_readable(world)
    _reports(world)
    assert len(world.facts()) == 1
    world.assert_at_rest()


def test_a_note_that_became_readable_and_was_deleted_is_not_named(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_writes(path, world.data(path))
    _too_large(world, path)
    _reports(world, "unreadable")
    world.agent_updates(fact.id, content=AGENTS)
    _reports(world, "unreadable")
    _made_readable(world)
    _reports(world)
    assert AGENTS in world.note(fact.id)
    world.agent_forgets(fact.id)
    _reports(world)
    world.assert_at_rest()


LIST = "status: active", "status: [a, b]"


def test_a_notice_stays_with_a_saved_note_and_goes_with_no_note(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, *LIST)
    _reports(world, "invalid_field")
    world.person_writes(path, world.data(path))
    _reports(world, "invalid_field")
    _reports(world, "invalid_field")
    world.agent_forgets(fact.id)
    world.quiesce()
    _reports(world)
    world.assert_at_rest()


@pytest.mark.parametrize("at_once", [False, True])
def test_a_notice_goes_where_its_note_is_moved(world: World, fact: Fact, at_once: bool) -> None:
    path = world.path(fact.id)
    world.person_edits(path, *LIST)
    if at_once:
        world.person_edits(path, f"type: {fact.type}", "type: lesson")
    else:
        _reports(world, "invalid_field")
        world.agent_updates(fact.id, type="lesson")
    world.sync()
    assert world.path(fact.id) != path
    assert [each.path for each in world.sync().attention] == [world.path(fact.id)]
    world.person_edits(fact, *reversed(LIST))
    _reports(world)
    world.assert_at_rest()


def test_a_notice_goes_with_its_file_and_not_with_the_rights_of_its_folder(world: World) -> None:
    world.person_writes(NEW, BROKEN["an open bracket"])
    world.clock.advance(600)
    _reports(world, "unreadable")
    world.vault.break_folder("team-core/notes")
    _reports(world, "unreadable", "unreadable_folder")
    world.vault.mend_folder("team-core/notes")
    _reports(world, "unreadable")
    world.person_deletes_for_good(NEW)
    _reports(world)
    assert world.archive.notices() == []
    world.assert_at_rest()


@pytest.mark.parametrize("kind", ["a link", "a hard link", "a pipe"])
def test_a_note_that_is_put_back_is_no_longer_odd(world: World, fact: Fact, kind: str) -> None:
    path, data = world.path(fact.id), world.data(fact)
    world.vault.make_odd(path, kind)
    _reports(world, "odd")
    world.person_writes(path, data, by_rename=True)
    _reports(world)
    world.assert_at_rest()


MARKED = "<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> main"


def test_conflict_markers_are_named_as_such_with_their_line(world: World, fact: Fact) -> None:
    world.person_edits(fact, "status: active", f"{MARKED}\nstatus: active")
    said = notice(world.sync(), "unreadable")
    assert "conflict markers" in said.message
    assert "remove the three markers" in said.hint
    assert said.line == 5


def test_conflict_markers_in_code_or_of_an_agent_are_text(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, f"```text\n{MARKED}\n```")
    assert kinds(world.sync()) == []
    assert MARKED in world.fact(fact.id).content
    world.agent_updates(fact.id, content=f"{MARKED}\n\nAlpha.")
    world.assert_at_rest()
    world.person_edits(fact, "Alpha.", "Omega.")
    assert kinds(world.sync()) == []
    assert world.fact(fact.id).content == f"{MARKED}\n\nOmega."
    world.assert_at_rest()


def test_who_writes_a_fact_is_told_that_its_folder_cannot_be_read(world: World, fact: Fact) -> None:
    folder, other = "team-core/notes", world.mirrored("Elsewhere.", type="lesson")
    world.vault.make_odd(folder, "a link")
    world.agent_updates(fact.id, content=AGENTS)
    new = world.agent_remembers("New.")
    told = {path: why_note_waits(world.ctx, x.id) for path, x in ((fact.path, fact), (folder, new))}
    assert all(why.startswith(f"{path}: {LINKED_FOLDER}; put") for path, why in told.items()), told
    assert why_note_waits(world.ctx, other.id) == ""
    world.vault.break_folder("team-core/lessons")
    assert why_note_waits(world.ctx, other.id).startswith(f"{other.path}: Permission denied; ")


@pytest.mark.parametrize(
    ("error", "why"),
    [(UnsafePathError(NEW, "a link"), LINKED_FOLDER), (NotRegularFileError(NEW, "a folder"), "")],
)
def test_a_note_behind_a_linked_folder_is_not_gone(
    world: World, monkeypatch: pytest.MonkeyPatch, error: NoteError, why: str
) -> None:
    monkeypatch.setattr(type(world.vault), "stamp", mock.Mock(side_effect=error))
    assert why_unlisted(world.ctx, VaultPath(NEW)) == why
