"""A vault in which an app writes: what it does, and what it says, is looked at."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apps import APPS
from tests.worlds import FsWorld, open_world, sha, staged_text
from vaultsync import errors
from vaultsync.backends.filesystem import syscalls
from vaultsync.model.paths import VaultPath

NOTE = VaultPath("public/decisions/note.md")
OTHER = VaultPath("public/lessons/other.md")


@pytest.fixture
def world(
    request: pytest.FixtureRequest, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FsWorld]:
    kind = f"fs, an app that {getattr(request, 'param', 'applies')}"
    with open_world(kind, disk / "vault", monkeypatch) as opened:
        assert isinstance(opened, FsWorld)
        yield opened


def _staged(world: FsWorld, old: bytes = b"old", new: bytes = b"new") -> None:
    world.save_in_place(NOTE, old)
    world.vault.stage("op", new)


def _is_refused(world: FsWorld) -> None:
    with pytest.raises(errors.NoteChangedError) as caught:
        world.vault.exchange("op", NOTE, sha(b"old"))
    assert caught.value.displaced == ()


def test_the_app_writes_into_the_file_itself(world: FsWorld) -> None:
    _staged(world)
    before = (world.root / NOTE).stat().st_ino

    stamp = world.vault.exchange("op", NOTE, sha(b"old"))

    assert world.content(NOTE) == b"new"
    assert stamp == world.vault.stamp(NOTE)
    assert (world.root / NOTE).stat().st_ino == before
    assert staged_text(world.vault) == b"old"


def test_what_is_offered_names_what_it_replaces(world: FsWorld) -> None:
    _staged(world, "ältes".encode(), "neues 🌊".encode())
    world.vault.exchange("op", NOTE, sha("ältes".encode()))
    world.vault.move(NOTE, OTHER)
    world.vault.stage_removal("other", OTHER, sha("neues 🌊".encode()))

    first, second, third = world.app.offers
    assert (first.action, first.path, first.to) == ("modify", NOTE, None)
    assert (first.expect, first.text) == (sha("ältes".encode()), "neues 🌊")
    assert (second.action, second.path, second.to) == ("rename", NOTE, OTHER)
    assert (second.expect, second.text) == (sha("neues 🌊".encode()), None)
    # Before a note goes, the app is asked for the text that it has.
    assert (third.action, third.path, third.expect) == ("modify", OTHER, second.expect)
    assert third.text == "neues 🌊"


def test_what_the_app_wrote_is_synced(world: FsWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = syscalls.flush

    def flush(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        real(fd)

    _staged(world)
    world.vault.sync()
    world.vault.exchange("op", NOTE, sha(b"old"))
    monkeypatch.setattr(syscalls, "flush", flush)
    world.vault.sync()
    assert (world.root / NOTE).stat().st_ino in synced

    synced.clear()
    world.vault.move(NOTE, OTHER)
    world.vault.sync()
    for touched in (OTHER, "public/lessons", "public/decisions"):
        assert (world.root / touched).stat().st_ino in synced


def test_a_closed_app_is_not_asked(world: FsWorld) -> None:
    world.app.is_open = False
    _staged(world)

    world.vault.exchange("op", NOTE, sha(b"old"))
    world.vault.move(NOTE, OTHER)
    world.vault.stage_removal("other", OTHER, sha(b"new"))

    assert world.app.offers == []
    assert world.content(OTHER) is None


@pytest.mark.parametrize("style", ["save_in_place", "save_by_rename"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_save_while_the_app_acts_stays_in_the_note(world: FsWorld, style: str, when: str) -> None:
    _staged(world)
    setattr(world.app, when, lambda: getattr(world, style)(NOTE, b"hers"))

    _is_refused(world)
    assert world.content(NOTE) == b"hers"
    assert staged_text(world.vault) == b"new"

    world.save_in_place(NOTE, b"old")
    setattr(world.app, when, lambda: getattr(world, style)(NOTE, b"hers"))
    with pytest.raises(errors.NoteChangedError):
        world.vault.stage_removal("other", NOTE, sha(b"old"))
    assert world.content(NOTE) == b"hers"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_note_that_goes_while_the_app_writes_is_missing(world: FsWorld, when: str) -> None:
    _staged(world)
    setattr(world.app, when, lambda: world.delete(NOTE))

    with pytest.raises(errors.NoteMissingError):
        world.vault.exchange("op", NOTE, sha(b"old"))
    assert staged_text(world.vault) == b"new"


@pytest.mark.parametrize("world", ["adds a word"], indirect=True)
def test_an_app_that_writes_something_else_has_changed_the_note(world: FsWorld) -> None:
    _staged(world)
    _is_refused(world)
    assert world.content(NOTE) == b"new\nA word.\n"


@pytest.mark.parametrize("world", ["holds unsaved text"], indirect=True)
def test_what_an_editor_has_not_saved_is_not_run_over(world: FsWorld) -> None:
    _staged(world)
    _is_refused(world)
    with pytest.raises(errors.NoteChangedError):
        world.vault.move(NOTE, OTHER)
    with pytest.raises(errors.NoteChangedError):
        world.vault.stage_removal("other", NOTE, sha(b"old"))

    assert (world.content(NOTE), world.content(OTHER)) == (b"old", None)
    assert world.vault.staged("other") is None


@pytest.mark.parametrize("world", ["is slow"], indirect=True)
def test_an_app_that_wakes_up_too_late_finds_other_bytes(world: FsWorld) -> None:
    _staged(world)
    world.vault.exchange("op", NOTE, sha(b"old"))
    world.save_in_place(NOTE, b"newer")

    assert not world.app.apply(world.app.offers[0]).applied
    assert world.content(NOTE) == b"newer"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\xef\xbb\xbfold", b"\xef\xbb\xbfnew"),
        (b"old", b"\xef\xbb\xbfnew"),
        (b"old\r\n", b"new\r\n"),
        (b"old\xff", b"new"),
        (b"old", b"new\xff"),
    ],
)
def test_what_an_app_may_alter_is_not_offered_to_it(world: FsWorld, old: bytes, new: bytes) -> None:
    _staged(world, old, new)

    world.vault.exchange("op", NOTE, sha(old))

    offered = [each.text for each in world.app.offers]
    assert offered in ([], [old.decode(errors="replace")])  # the app only looks for unsaved text
    assert world.content(NOTE) == new


def test_what_cannot_be_done_and_what_is_too_large_is_not_offered(world: FsWorld) -> None:
    world.save_in_place(NOTE, b"old")
    world.save_in_place(OTHER, b"x" * 20_000)

    with pytest.raises(errors.NoteExistsError):
        world.vault.move(NOTE, OTHER)
    with pytest.raises(FileNotFoundError):
        world.vault.exchange("unstaged", NOTE, sha(b"old"))
    world.delete(NOTE)
    world.vault.move(OTHER, NOTE)  # too large to be read, and renamed all the same
    with pytest.raises(errors.UnreadableNoteError):
        world.vault.stage_removal("op", NOTE, sha(b"x" * 20_000))
    assert world.app.offers == []
    assert world.content(NOTE)


@settings(
    max_examples=settings().max_examples * 3,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(APPS),
    st.sampled_from([None, b"one", b"old", b"new"]),
    st.sampled_from([None, b"two", b"old", b"new"]),
    st.sampled_from(["save_in_place", "save_by_rename"]),
)
def test_whatever_the_app_does_the_last_save_is_in_the_note(
    disk: Path, kind: str, first: bytes | None, second: bytes | None, style: str
) -> None:
    root = Path(mkdtemp(dir=disk)) / "vault"
    name = f"fs, an app that {kind}"
    with pytest.MonkeyPatch.context() as patch, open_world(name, root, patch) as world:
        assert isinstance(world, FsWorld)
        _staged(world)
        save = getattr(world, style)
        if first is not None:
            world.app.before = lambda: save(NOTE, first)
        if second is not None:
            world.app.after = lambda: save(NOTE, second)
        with contextlib.suppress(errors.NoteChangedError):
            world.vault.exchange("op", NOTE, sha(b"old"))

        saved = [each for each in (first, second) if each is not None]
        found = world.content(NOTE)
        ours = {b"new", b"new\nA word.\n"}
        # To save what was expected anyway is no change.
        assert found == (saved or [b"old"])[-1] or (
            found in ours and (saved or [b"old"])[-1] == b"old"
        )
