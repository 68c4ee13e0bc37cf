"""Nothing lands outside the vault, whatever things are called; nothing is read there."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proofs import agents, texts
from tests.proofs.ledger import words
from tests.real.home import Home, tree
from tests.real.programs import command
from vaultsync.errors import NoteError, NotFoundError, UsageError, VaultsyncError

pytestmark = pytest.mark.long(5)

SECRET = "w999999991w"  # noqa: S105 - a word like all others
"""Stands in files outside the vault, and must come in by no way."""
TITLES = (
    *("../../outside", "/etc/passwd", "..", ".", ".obsidian/app", ".git/config", ".trash/x"),
    *("CON", "nul.txt.jpg", "COM1", "a/b:c?", 'x<>"|*\\y', "[[link]]#^|x"),
    *("t" * 300, "ж" * 300, "🎉🚀✨", "🎉" * 200),
    *("Upper Case", "upper case", "UPPER CASE", "Cafe\u0301", "Café"),
    *("a\u202eb\u200b.md", "-rf", "~$office", "x.conflict", "x.sync-conflict-1"),
    *("line\u2028break", "ends in a dot.", "  blanks  ", "obsidi~1"),
    *("{{date}}", "%2e%2e%2fx", "$(touch pwned)"),
)
IDS = ("../../x", "/etc/passwd", "x", "", "a/b", "CON", "0" * 36, "..-" * 12)
SCOPES = ("../outside", "/abs", "private-../x", "team-a/b", ".obsidian", "public/../..")
LINKS = ("public/notes", "public/people", "team-x", "private-indy/notes", "Inbox")


class Grounds:
    """A vault with its hidden folders, and what lies around it."""

    def __init__(self, where: Path) -> None:
        self.outside = where / "outside"
        self.home = Home.make(where / "home")
        for folder in (
            self.outside,
            self.outside / "notes",
            *(self.home.root / x for x in (".obsidian/plugins/p", ".trash", ".git")),
        ):
            folder.mkdir(parents=True)
            (folder / "main.js").write_text(f"let {SECRET} = 1\n")
            (folder / "note.md").write_text(f"# Secret\n\n{SECRET}\n")
        self.before = self.around()

    def around(self) -> dict[str, object]:
        """All that must stay as it is, with all its times."""
        folders = [self.outside]
        folders += [self.home.root / x for x in (".obsidian", ".trash", ".git")]
        found: dict[str, object] = {}
        for folder in folders:
            found |= {f"{folder}/{path}": seen for path, seen in tree(folder).items()}
        # Around the vault: names only, for the state folder is written beside it.
        for folder in (self.home.where, self.home.where.parent):
            found[str(folder)] = sorted(each.name for each in folder.iterdir())
        return found

    def check(self) -> None:
        """Nothing outside was changed, and nothing came in."""
        assert self.around() == self.before
        assert SECRET not in self.home.in_store() | self.home.in_archive()
        for report in (self.home.sync(), self.home.sync()):
            assert SECRET not in words(repr(report))
        assert self.around() == self.before
        assert SECRET not in self.home.in_store() | self.home.in_archive()


@pytest.fixture
def grounds(tmp_path: Path) -> Grounds:
    here = tmp_path / "here"
    here.mkdir()
    return Grounds(here)


def test_whatever_a_fact_is_called_its_note_is_in_the_vault(grounds: Grounds) -> None:
    home, told = grounds.home, set()
    with home.open() as memory:
        for title in TITLES:
            for kind in ("person", "note"):
                word = home.ledger.word()
                memory.remember(
                    f"Called so {word}.",
                    type=kind,
                    title=title.replace("\u2028", " "),
                    scope="public",
                    entities=[re.sub(r"[\[\]|\u2028]", "", title)],
                )
                told.add(word)
        memory.sync()
    grounds.check()
    assert len(home.notes()) == 2 * len(TITLES)
    assert told <= home.in_vault()
    names = [path.casefold() for path in home.notes()]
    assert len(set(names)) == len(names)
    assert all(len(os.fsencode(Path(path).name)) <= 255 for path in home.notes())
    home.check_equal()
    home.check_quiet()


def test_whatever_a_person_calls_a_fact_nothing_leaves_the_vault(grounds: Grounds) -> None:
    home = grounds.home
    for n, title in enumerate(TITLES):
        front = "".join(f"{key}: {title!r}\n" for key in ("type", "scope", "path", "aliases"))
        text = f"---\n{front}---\n# {title}\n\nMine {{0}}.\n"
        text = text.replace("{{date}}", "{{{{date}}}}").replace("\u2028", " ")
        home.new_note(f"public/notes/N{n}.md", text)
    home.sync()
    grounds.check()
    home.check_nothing_lost()
    home.check_quiet()


@pytest.mark.parametrize("bad", IDS)
def test_an_id_that_is_none_is_refused(grounds: Grounds, bad: str) -> None:
    with grounds.home.open() as memory:
        asked: list[Callable[[], object]] = [
            lambda: memory.get(bad),
            lambda: memory.update(bad, content="x"),
            lambda: memory.forget(bad),
            lambda: memory.restore(bad),
            lambda: memory.history(bad),
        ]
        for ask in asked:
            with pytest.raises(NotFoundError):
                ask()
        if bad:
            with pytest.raises(UsageError):
                memory.remember("x", id=bad)
    text = f"---\nid: {bad!r}\n---\n# Odd\n\nMine {{0}}.\n"
    grounds.home.new_note("public/notes/Odd.md", text)
    grounds.home.sync()
    grounds.check()
    grounds.home.check_nothing_lost()


@pytest.mark.parametrize("bad", SCOPES)
def test_a_scope_that_is_none_is_refused(grounds: Grounds, bad: str) -> None:
    with grounds.home.open() as memory, pytest.raises(UsageError):
        memory.remember("x", scope=bad)
    grounds.check()


def test_what_is_outside_is_not_adopted(grounds: Grounds) -> None:
    with grounds.home.open() as memory:
        with pytest.raises(VaultsyncError):
            memory.adopt([str(grounds.outside)])
        with pytest.raises(VaultsyncError):
            memory.adopt(["../../outside/note.md"])
    assert command(grounds.home, "adopt", "../../outside").returncode != 0
    grounds.check()


def test_no_link_is_followed_and_no_link_is_replaced(grounds: Grounds) -> None:
    home = grounds.home
    for path in LINKS:
        link = home.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(grounds.outside / "notes")
    folder = home.root / "public/lessons"
    folder.mkdir()
    (folder / "link.md").symlink_to(grounds.outside / "note.md")
    (folder / "dead.md").symlink_to(grounds.outside / "nothing.md")
    (folder / "hard.md").hardlink_to(grounds.outside / "note.md")
    (folder / "folder.md").mkdir()
    (folder / "folder.md/within.md").write_text("In a folder named as a note.\n")
    os.mkfifo(folder / "fifo.md")
    grounds.before = grounds.around()  # the link counts as a change of its file
    links = tree(home.root)

    with home.open() as memory:
        word = home.ledger.word()
        into = memory.remember(f"Into a link {word}.", type="note", scope="public")
        memory.remember("Into another.", type="person", title="note", scope="public")
        memory.remember("Beside.", type="lesson", title="link", scope="public")
        memory.sync()
        memory.update(into.id, content=f"Changed {word}.")
        memory.sync()
        for bad in ("Inbox", "public/lessons/link.md", "public/lessons/hard.md"):
            with contextlib.suppress(NoteError):
                memory.adopt([bad])
        memory.sync()
    grounds.check()
    now = tree(home.root)
    odd = [x for x in links if Path(x).suffix == ".md" or x in LINKS]
    assert {x: now[x] for x in odd if x != "public/lessons/folder.md"} == {
        x: links[x] for x in odd if x != "public/lessons/folder.md"
    }
    assert word in home.in_store()


def test_a_note_that_becomes_a_link_stays_one(grounds: Grounds) -> None:
    home = grounds.home
    with home.open() as memory:
        fact_id = home.remember(memory, {"title": "Plan", "content": "One."})
        memory.sync()
        (path,) = home.notes()
        (home.root / path).unlink()
        (home.root / path).symlink_to(grounds.outside / "note.md")
        home.update(memory, fact_id, agents.append)
        for _ in range(3):
            memory.sync()
    grounds.check()
    assert (home.root / path).is_symlink()


def test_a_note_of_twenty_megabytes_is_named_and_left_alone(grounds: Grounds) -> None:
    home = grounds.home
    big = b"# Big\n\n" + b"All work and no play.\n" * 950_000
    home.save("public/notes/Big.md", big)
    home.new_note("public/notes/Small.md")
    assert "public/notes/Big.md" in [each.path for each in home.sync().attention]
    assert home.data("public/notes/Big.md") == big
    assert home.in_store() == words(home.data("public/notes/Small.md"))
    grounds.check()
    home.check_quiet()


def test_a_note_that_grows_to_twenty_megabytes_loses_nothing(grounds: Grounds) -> None:
    home = grounds.home
    path = "public/notes/Mine.md"
    word = home.new_note(path)
    home.sync()
    small = home.data(path)
    home.save(path, small + b"All work and no play.\n" * 950_000)
    assert path in [each.path for each in home.sync().attention]
    home.sync()
    assert word in home.in_store()

    home.save(path, texts.append(small, word))
    home.sync()
    home.check_equal()
    home.check_quiet()
    grounds.check()
