"""A vault and one of its notes: read, written, moved, and saved by a person meanwhile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.worlds import MAX_BYTES, WORLDS, World, open_world, sha, staged_text
from vaultsync import errors
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import Vault

NOTE = VaultPath("public/decisions/note.md")
OTHER = VaultPath("public/lessons/other.md")

both_styles = pytest.mark.parametrize("style", ["save_in_place", "save_by_rename"])

# --- reading -------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbfline\r\n\x00\xff" * 100])
def test_a_note_is_read_whole(world: World, vault: Vault, data: bytes) -> None:
    world.save_in_place(NOTE, data)

    note = vault.read(NOTE)

    assert (note.data, note.sha, note.stamp.size) == (data, sha(data), len(data))


@pytest.mark.parametrize("path", [NOTE, "no/folder/note.md", "top.md", "top.md/x.md"])
def test_where_nothing_is_there_is_no_note(world: World, vault: Vault, path: str) -> None:
    world.save_in_place("public/decisions/else.md", b"text")
    if path == "top.md/x.md":
        world.save_in_place("top.md", b"text")

    assert vault.stamp(VaultPath(path)) is None
    with pytest.raises(errors.NoteMissingError):
        vault.read(VaultPath(path))


@pytest.mark.parametrize("path", [NOTE, "no/folder/note.md", "top.md/x.md", "../x.md"])
def test_an_error_keeps_no_callers_in_memory(world: World, vault: Vault, path: str) -> None:
    """A variable with the error, in a frame of its traceback, would be a cycle."""
    world.save_in_place("top.md", b"text")
    gc.disable()
    try:
        with pytest.raises(errors.NoteError) as raised:
            vault.read(VaultPath(path))
        error = weakref.ref(raised.value)
        del raised
        assert error() is None
    finally:
        gc.enable()


@pytest.mark.changes
@pytest.mark.parametrize("kind", ["a link", "a folder", "a hard link", "a pipe"])
def test_no_irregular_file_is_read_or_replaced(world: World, vault: Vault, kind: str) -> None:
    world.make_odd(NOTE, kind)
    vault.stage("op", b"new")

    for call in (
        lambda: vault.stamp(NOTE),
        lambda: vault.read(NOTE),
        lambda: vault.exchange("op", NOTE, sha(b"secret")),
        lambda: vault.stage_removal("new", NOTE, sha(b"secret")),
        lambda: vault.move(NOTE, OTHER),
    ):
        with pytest.raises(errors.NotRegularFileError, match=kind):
            call()
    with pytest.raises(errors.NoteExistsError):
        vault.create("op", NOTE)
    assert vault.ops() == ["op"]


def test_a_note_beyond_the_limit_is_not_read(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"x" * MAX_BYTES)
    vault.read(NOTE)
    world.save_in_place(NOTE, b"x" * (MAX_BYTES + 1))

    with pytest.raises(errors.UnreadableNoteError, match="larger") as wrong:
        vault.read(NOTE)
    assert "max_note_bytes" in wrong.value.hint


# --- staging -------------------------------------------------------------------------


@pytest.mark.changes
def test_what_is_staged_is_no_note_and_stays_until_it_is_discarded(vault: Vault) -> None:
    assert (vault.ops(), vault.staged("op")) == ([], None)
    vault.discard("op")
    assert vault.ops() == []
    vault.stage("b", b"a long text")
    vault.stage("b", b"two")
    vault.stage("a_-9", b"one")

    assert vault.ops() == ["a_-9", "b"]
    assert set(vault.scan().folders) == {""}
    staged = vault.staged("b")
    assert staged
    assert (staged.data, staged.sha) == (b"two", sha(b"two"))

    vault.discard("b")
    vault.discard("b")
    assert vault.ops() == ["a_-9"]


# --- creating ------------------------------------------------------------------------


def test_creating_moves_the_staged_file_and_makes_folders(world: World, vault: Vault) -> None:
    vault.stage("op", b"text")

    stamp = vault.create("op", NOTE)

    assert world.content(NOTE) == b"text"
    assert stamp == vault.stamp(NOTE)
    assert vault.ops() == []


@pytest.mark.parametrize("kind", ["file", "a folder", "a link"])
def test_creating_never_replaces(world: World, vault: Vault, kind: str) -> None:
    if kind == "file":
        world.save_in_place(NOTE, b"hers")
    else:
        world.make_odd(NOTE, kind)
    vault.stage("op", b"ours")

    with pytest.raises(errors.NoteExistsError):
        vault.create("op", NOTE)

    assert staged_text(vault) == b"ours"
    assert kind != "file" or world.content(NOTE) == b"hers"


def test_nothing_is_created_unstaged_or_below_a_file(world: World, vault: Vault) -> None:
    with pytest.raises(FileNotFoundError):
        vault.create("op", NOTE)
    assert set(vault.scan().folders) == {""}

    world.save_in_place("public", b"hers")
    vault.stage("op", b"ours")
    with pytest.raises(errors.NoteError):
        vault.create("op", NOTE)
    assert (world.content("public"), vault.ops()) == (b"hers", ["op"])


# --- exchanging ----------------------------------------------------------------------


def begun(world: World, old: bytes = b"old") -> Vault:
    """A note, and another text for it that is staged."""
    world.save_in_place(NOTE, old)
    world.vault.stage("op", b"new")
    return world.vault


def refused(
    call: Callable[[str, VaultPath, str], object], old: bytes = b"old"
) -> tuple[bytes, ...]:
    """What a call that expects the old bytes hands over, and is refused."""
    with pytest.raises(errors.NoteChangedError) as caught:
        call("op", NOTE, sha(old))
    return caught.value.displaced


@pytest.mark.changes
def test_an_exchange_swaps_the_note_and_the_staged_file(world: World, vault: Vault) -> None:
    stamp = begun(world).exchange("op", NOTE, sha(b"old"))

    assert world.content(NOTE) == b"new"
    assert stamp == vault.stamp(NOTE)
    staged = vault.staged("op")
    assert staged
    assert (staged.data, staged.sha) == (b"old", sha(b"old"))


@pytest.mark.changes
def test_other_bytes_than_expected_and_no_note_are_left(world: World, vault: Vault) -> None:
    vault.stage("op", b"new")
    with pytest.raises(errors.NoteMissingError):
        vault.exchange("op", NOTE, sha(b"old"))
    assert staged_text(vault) == b"new"

    assert refused(begun(world, b"hers").exchange) == ()

    assert (world.content(NOTE), staged_text(vault)) == (b"hers", b"new")
    assert refused(lambda _, *what: vault.stage_removal("other", *what)) == ()
    assert (world.content(NOTE), vault.ops()) == (b"hers", ["op"])


@both_styles
@pytest.mark.parametrize("saves", [[b"hers"], [b"first", b"second"]])
@pytest.mark.swaps
def test_the_last_save_before_the_swap_is_put_back(
    world: World, vault: Vault, style: str, saves: list[bytes]
) -> None:
    def save() -> None:
        getattr(world, style)(NOTE, saves[0])
        if saves[1:]:
            world.at("exchange.back", lambda: getattr(world, style)(NOTE, saves[1]))

    begun(world)
    world.at("exchange.swap", save)

    assert refused(vault.exchange) == tuple(saves[:-1])
    assert world.content(NOTE) == saves[-1]


@both_styles
@pytest.mark.swaps
def test_a_save_over_ours_stays_with_its_stamp(world: World, vault: Vault, style: str) -> None:
    begun(world)
    world.at("exchange.examine", lambda: getattr(world, style)(NOTE, b"her"))

    stamp = vault.exchange("op", NOTE, sha(b"old"))

    assert world.content(NOTE) == b"her"
    assert stamp != vault.stamp(NOTE)


@pytest.mark.swaps
def test_a_save_is_put_back_though_the_note_was_renamed(world: World, vault: Vault) -> None:
    def save_and_rename() -> None:
        world.save_by_rename(NOTE, b"hers")
        world.at("exchange.back", lambda: world.rename(NOTE, "public/moved.md"))

    begun(world)
    world.at("exchange.swap", save_and_rename)

    refused(vault.exchange)
    assert (world.content(NOTE), world.content("public/moved.md")) == (b"hers", b"new")


@pytest.mark.swaps
def test_a_note_that_goes_before_the_swap_is_missing(world: World, vault: Vault) -> None:
    begun(world)
    world.at("exchange.swap", lambda: world.delete(NOTE))

    with pytest.raises(errors.NoteMissingError):
        vault.exchange("op", NOTE, sha(b"old"))
    assert staged_text(vault) == b"new"


@pytest.mark.swaps
def test_what_an_editor_writes_into_a_displaced_file_stays(world: World, vault: Vault) -> None:
    begun(world)
    editor = world.open_handle(NOTE)
    vault.exchange("op", NOTE, sha(b"old"))

    editor.write(b"late")

    assert (staged_text(vault), world.content(NOTE)) == (b"late", b"new")


STEPS = ("exchange.swap", "exchange.examine", "exchange.back")
SAVES = st.tuples(
    st.sampled_from(STEPS),
    st.sampled_from(["save_in_place", "save_by_rename"]),
    st.sampled_from([b"one", b"two", b"old", b"new"]),
)


@pytest.mark.parametrize("kind", WORLDS)
@given(saves=st.lists(SAVES, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whenever_a_person_saves_the_last_save_is_in_the_note(
    kind: str, disk: Path, saves: list[tuple[str, str, bytes]]
) -> None:
    root = Path(mkdtemp(dir=disk)) / "vault"
    with pytest.MonkeyPatch.context() as patch, open_world(kind, root, patch) as world:
        begun(world)
        done: list[bytes] = []

        def plan(rest: list[tuple[str, str, bytes]]) -> None:
            if rest:
                (step, style, data), *more = rest
                world.at(step, lambda: save(style, data, more))

        def save(style: str, data: bytes, more: list[tuple[str, str, bytes]]) -> None:
            done.append(data)
            getattr(world, style)(NOTE, data)
            plan(more)

        plan(saves)
        displaced: tuple[bytes, ...] = ()
        try:
            world.vault.exchange("op", NOTE, sha(b"old"))
        except errors.NoteChangedError as error:
            displaced = error.displaced

        found = world.content(NOTE)
        last = done[-1] if done else b"old"
        # To save what was expected anyway is no change.
        assert found == last or (found, last) == (b"new", b"old")
        assert not {b"old", b"new", found} & set(displaced)
        assert set(displaced) <= set(done)


# --- moving --------------------------------------------------------------------------


@pytest.mark.changes
def test_moving_renames_and_makes_folders_for_a_note(world: World, vault: Vault) -> None:
    with pytest.raises(errors.NoteMissingError):
        vault.move(NOTE, OTHER)
    assert set(vault.scan().folders) == {""}
    world.save_in_place(NOTE, b"text")

    vault.move(NOTE, OTHER)

    assert (world.content(NOTE), world.content(OTHER)) == (None, b"text")
    vault.move(OTHER, VaultPath("public/lessons/Other.md"))  # a change of case alone
    assert set(vault.scan().folders[VaultPath("public/lessons")].files) == {"Other.md"}


@pytest.mark.changes
@pytest.mark.parametrize("to", [NOTE, OTHER])
def test_moving_never_replaces(world: World, vault: Vault, to: VaultPath) -> None:
    world.save_in_place(NOTE, b"one")
    world.save_in_place(OTHER, b"two")

    with pytest.raises(errors.NoteExistsError):
        vault.move(NOTE, to)
    assert (world.content(NOTE), world.content(OTHER)) == (b"one", b"two")


# --- withdrawing ---------------------------------------------------------------------


@pytest.mark.changes
def test_withdrawing_moves_the_note_to_staging_where_nothing_is(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"text")
    vault.stage("op", b"kept")
    with pytest.raises(OSError, match="op"):
        vault.stage_removal("op", NOTE, sha(b"text"))
    assert (staged_text(vault), world.content(NOTE)) == (b"kept", b"text")
    vault.discard("op")

    vault.stage_removal("op", NOTE, sha(b"text"))

    assert world.content(NOTE) is None
    assert staged_text(vault) == b"text"
    with pytest.raises(errors.NoteMissingError):
        vault.stage_removal("other", NOTE, sha(b"text"))


@pytest.mark.changes
@pytest.mark.parametrize("twice", [False, True])
def test_a_save_meanwhile_is_put_back_or_kept(world: World, vault: Vault, *, twice: bool) -> None:
    world.save_in_place(NOTE, b"text")
    editor = world.open_handle(NOTE)

    def save() -> None:
        editor.write(b"hers")
        if twice:
            world.save_by_rename(NOTE, b"newer")

    world.at("stage_removal.examine", save)

    assert refused(vault.stage_removal, b"text") == ((b"hers",) if twice else ())
    assert world.content(NOTE) == (b"newer" if twice else b"hers")
    assert twice or vault.ops() == []


# --- read-only -----------------------------------------------------------------------


@pytest.mark.parametrize("place", [NOTE, "public/decisions"])
def test_a_read_only_note_is_left_until_writable(world: World, vault: Vault, place: str) -> None:
    begun(world)
    vault.check_writable(NOTE)
    vault.check_writable(VaultPath("nowhere/note.md"))
    calls: tuple[Callable[[], object], ...] = (
        lambda: vault.check_writable(NOTE),
        lambda: vault.exchange("op", NOTE, sha(b"old")),
        lambda: vault.move(NOTE, OTHER),
        lambda: vault.stage_removal("other", NOTE, sha(b"old")),
    )
    if place != NOTE:
        new = VaultPath(f"{place}/new.md")
        calls += (lambda: vault.check_writable(new), lambda: vault.create("op", new))
    world.make_read_only(place)
    for call in calls:
        with pytest.raises(errors.ReadOnlyNoteError, match="read-only"):
            call()
    assert (world.content(NOTE), staged_text(vault), vault.ops()) == (b"old", b"new", ["op"])

    world.make_writable(place)
    vault.exchange("op", NOTE, sha(b"old"))
    assert world.content(NOTE) == b"new"
