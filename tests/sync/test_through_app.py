"""Notes that an app has open: it writes into them, and a pass may end at any step of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from msgspec.structs import replace

from tests.apps import APPS, FakeApp
from tests.world import AGENTS, ALPHA, MERGED, PERSONS_ALPHA, World
from tests.worlds import sha
from vaultsync.backends.obsidian.vault_through_app import VaultThroughApp
from vaultsync.sync.sync_request import SyncRequest

STEPS = ("touched", "stage", "staged", "read", "sync")


class Files:
    """The files of a simulated vault, as an app has them."""

    def __init__(self, world: World) -> None:
        self.vault = world.vault
        self.keeps = True
        """Whether what is written survives a power cut at once."""

    def content(self, path: str) -> bytes | None:
        return self.vault.names[path].data if path in self.vault.names else None

    def save_in_place(self, path: str, data: bytes) -> None:
        inode = self.vault.names[path]
        before = inode.synced
        self.vault.save_in_place(path, data)
        if not self.keeps:
            inode.synced = before

    def rename(self, path: str, to: str) -> None:
        self.vault.rename(path, to)

    def make_folder(self, path: str) -> None:
        self.vault.make_folder(path)


class Opened(World):
    """A world in which an app has the vault open."""

    def __init__(self, kind: str = "applies") -> None:
        super().__init__()
        self.app = FakeApp(Files(self), kind, sha)
        through = VaultThroughApp(self.vault, self.app)
        self.ctx = replace(self.ctx, vault=through)

    def rewritten(self, spelling: Spelling = str.encode) -> str:
        """A fact that was mirrored, and changed by an agent since; its id."""
        key = self.spelled(spelling)
        self.agent_updates(key, content=AGENTS)
        return key

    def spelled(self, spelling: Spelling) -> str:
        """A fact whose note another program saved in a spelling of its own; its id."""
        fact = self.mirrored()
        path = self.path(fact.id)
        self.vault.save_in_place(path, spelling(self.data(path).decode()))
        self.quiesce()
        self.app.offers.clear()
        return fact.id


Spelling = Callable[[str], bytes]
SPELLINGS: dict[str, Spelling] = {
    "plain": str.encode,
    "line ends of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
}
"""An app keeps only the first byte for byte."""


@pytest.fixture
def world() -> Opened:
    return Opened()


@pytest.fixture
def key(world: Opened) -> str:
    return world.rewritten()


def test_what_an_agent_writes_is_written_by_the_app(world: Opened, key: str) -> None:
    before = world.vault.names[world.path(key)].number

    world.sync()

    assert [offer.action for offer in world.app.offers] == ["modify"]
    assert AGENTS in world.note(key)
    assert world.vault.names[world.path(key)].number == before
    assert world.conflicts() == []
    world.assert_at_rest()


@pytest.mark.parametrize("kind", APPS)
@pytest.mark.parametrize("edits", [False, True])
def test_nothing_is_lost_whatever_the_app_does(kind: str, edits: bool) -> None:
    world = Opened(kind)
    key = world.rewritten()
    path = world.path(key)

    def edit() -> None:
        world.app.before = lambda: None
        world.person_edits(path, ALPHA, PERSONS_ALPHA)

    if edits:
        world.app.before = edit
    world.sync()
    world.app.kind = "applies"
    world.assert_at_rest()

    assert world.fact(key).content.startswith(MERGED if edits else AGENTS)
    # What an app adds of its own is a person's, and stands beside the agent's.
    assert world.conflicts() == [] or kind == "adds a word"


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_unsaved_text_waits_and_is_merged_when_it_is_saved(spelling: Spelling) -> None:
    world = Opened("holds unsaved text")
    key = world.rewritten(spelling)
    before = world.note(key)

    world.sync()
    assert world.note(key) == before
    assert world.fact(key).content == AGENTS

    world.app.kind = "applies"
    world.person_edits(world.path(key), ALPHA, PERSONS_ALPHA)
    _ends_with(world, key, MERGED)


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_note_with_unsaved_text_stays_though_an_agent_forgot_it(spelling: Spelling) -> None:
    world = Opened("holds unsaved text")
    key = world.spelled(spelling)
    world.agent_forgets(key)
    world.sync()
    assert ALPHA in world.note(key)

    world.app.kind = "applies"
    world.person_edits(world.path(key), ALPHA, PERSONS_ALPHA)
    world.quiesce()
    assert PERSONS_ALPHA in world.fact(key).content
    assert world.conflicts() != []  # and the deletion is offered there


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_an_app_writes_only_texts_that_it_keeps(spelling: Spelling) -> None:
    world = Opened()
    key = world.rewritten(spelling)
    before = world.data(world.path(key))

    world.sync()

    (offer,) = world.app.offers
    assert (offer.text == before.decode()) == (spelling is not str.encode)
    text = world.data(world.path(key)).decode("utf-8-sig").replace("\r\n", "\n")
    assert AGENTS in text
    assert world.data(world.path(key)) == spelling(text)


def _ends_with(world: World, key: str, content: str) -> None:
    """Everything rests, and both sides have this without a conflict."""
    world.assert_at_rest()
    assert world.fact(key).content == content
    assert content in world.note(key).replace("\r\n", "\n")
    assert world.conflicts() == []


def _died(world: World, step: str, number: int) -> bool:
    try:
        world.dies_at(step, number=number)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("step", STEPS)
def test_a_pass_that_ends_anywhere_is_taken_up(step: str) -> None:
    for number in count(1):
        world = Opened()
        key = world.rewritten()
        if not _died(world, step, number):
            break
        _ends_with(world, key, AGENTS)
    assert number > 1


def _cut(world: Opened, key: str, left: int) -> bytes:
    """Let the power go while the app writes, so that this much of it is left."""
    path = world.path(key)
    text = b""

    def tear() -> None:
        nonlocal text
        text = world.data(path)
        inode = world.vault.names[path]
        inode.data = inode.synced = text[:left]
        raise KeyboardInterrupt

    world.app.after = tear
    with pytest.raises(KeyboardInterrupt):
        world.sync()
    world.app.after = lambda: None
    world.vault.crash(lambda _: True)
    return text


@pytest.mark.parametrize("left", [0, 2, 30, 200, -3])
def test_what_a_power_cut_tore_is_written_again(world: Opened, key: str, left: int) -> None:
    text = _cut(world, key, left)
    world.app.is_open = False

    world.sync()

    assert world.data(world.path(key)) == text
    _ends_with(world, key, AGENTS)


def test_a_torn_note_is_written_again_though_an_agent_went_on(world: Opened, key: str) -> None:
    _cut(world, key, 30)
    more = AGENTS + "\nAnd more."
    world.agent_updates(key, content=more)
    _ends_with(world, key, more)


def test_a_torn_note_in_which_somebody_writes_is_left_to_them(world: Opened, key: str) -> None:
    _cut(world, key, 30)
    path = world.path(key)
    world.app.is_open = False
    hers = world.archive.blob(world.base(key).sha) or b""
    hers = hers.replace(ALPHA.encode(), PERSONS_ALPHA.encode())
    world.at("exchange.swap", lambda: world.vault.save_in_place(path, hers))
    world.sync()
    _ends_with(world, key, MERGED)


def test_an_edit_after_a_crash_is_no_torn_note(world: Opened, key: str) -> None:
    _cut(world, key, 10_000)
    world.person_edits(world.path(key), ALPHA, PERSONS_ALPHA)
    _ends_with(world, key, MERGED)


def test_a_note_moves_by_the_app(world: Opened) -> None:
    fact = world.mirrored()
    before = world.path(fact.id)
    world.agent_updates(fact.id, type="lesson")

    world.sync()

    assert [offer.action for offer in world.app.offers][:1] == ["rename"]
    assert world.path(fact.id) != before
    world.assert_at_rest()


def test_a_rename_that_the_app_refuses_waits() -> None:
    world = Opened("holds unsaved text")
    fact = world.mirrored()
    before = world.path(fact.id)
    world.agent_updates(fact.id, type="lesson")

    world.sync(SyncRequest())
    assert before in world.notes()

    world.app.kind = "applies"
    world.assert_at_rest()
    assert before not in world.notes()
