"""Run the commands of `golden/errors.md`, which shows the error messages of mistakes.

Each section of the page has a title, the name of one of `SITUATIONS`, and a command with
its output.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from click.testing import CliRunner

from tests.golden import Placeholders
from tests.machines import configure_machine
from vaultsync.api import opening as app
from vaultsync.api.configuration import machine_file
from vaultsync.api.memory import Memory
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.cli.main import cli

ID = "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e01"
VAULT_ID = "0193f6c2-0000-7000-8000-000000000000"
CONFIG = f'vault_id = "{VAULT_ID}"\ngrace_seconds = 0\n'
SECTION = re.compile(
    r"^## (?P<title>.+)\n\n(?P<given>\S.*)\n\n```console\n\$ (?P<command>.+)\n"
    r"(?P<said>(?:.*\n)*?)```\n",
    re.MULTILINE,
)


class Place:
    """A vault with one fact, and the shell of its user."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = root / "Memory"
        self.state = root / "state"
        (self.vault / ".meta").mkdir(parents=True)
        self.configure(CONFIG)
        with self.open() as memory:
            memory.remember("One file, no server.", title="Use SQLite", type="decision", id=ID)

    def open(self) -> Memory:
        return app.open(str(self.vault), state_dir=str(self.state))

    def configure(self, text: str) -> None:
        (self.vault / ".meta" / "config.toml").write_text(text, encoding="utf-8")

    @property
    def kept(self) -> Path:
        """The state folder of this vault."""
        return self.state / VAULT_ID

    def type(self, command: str) -> str:
        """The output and exit code of a command, the same in every run."""
        env = {
            "VAULTSYNC_VAULT": str(self.vault),
            "VAULTSYNC_STATE_DIR": str(self.state),
            "VAULTSYNC_AGENT": None,
            "COLUMNS": "88",
        }
        with contextlib.chdir(self.root):
            words = shlex.split(command)[1:]
            result = CliRunner(env=env).invoke(cli, words, prog_name="vaultsync")
        said = result.output.replace(str(self.root), "~")
        said = re.sub(r"process \d+", "process 4711", said)
        said = Placeholders(f"{ID} {VAULT_ID} {command}")(said)
        said = re.sub(r"\b\d+-[0-9a-f]{8}\b", "<revision>", said)
        said = re.sub(r"\b[0-9a-f]{32}\b", "<store>", said)
        said = re.sub(r"(?:(?<=forgotten on )|(?<=/notes/))[0-9-]{10}", "<today>", said)
        return f"{said.rstrip()}\n[exit code {result.exit_code}]\n"


Situation: TypeAlias = Callable[[Place], contextlib.AbstractContextManager[None]]


def _simple(work: Callable[[Place], object]) -> Situation:
    @contextlib.contextmanager
    def situation(place: Place) -> Iterator[None]:
        work(place)
        yield

    return situation


def _configured(text: str) -> Situation:
    return _simple(lambda place: place.configure(text))


def _forgotten(place: Place) -> None:
    with place.open() as memory:
        memory.forget(ID)


def _thirty_deleted(place: Place) -> None:
    with place.open() as memory:
        for number in range(30):
            memory.remember(f"Fact number {number}.", title=f"Number {number}")
    for path in (place.vault / "public" / "notes").iterdir():
        path.unlink()
    with place.open() as memory:
        memory.sync()


def _rewound(place: Place) -> None:
    old = place.root / "backup.sqlite3"
    store = place.kept / "store.sqlite3"
    with place.open() as memory:
        memory.sync()
    shutil.copy(store, old)
    with place.open() as memory:
        memory.remember("Said after the backup.")
        memory.sync()
    for path in place.kept.glob("store.sqlite3-*"):
        path.unlink()
    shutil.copy(old, store)


def _store_gone(place: Place) -> None:
    for path in place.kept.glob("store.sqlite3*"):
        path.unlink()


@contextlib.contextmanager
def _machine(place: Place, text: str) -> Iterator[None]:
    """Write settings of this machine for the block: all places have the same vault id."""
    configure_machine(place.vault, text)
    try:
        yield
    finally:
        machine_file(VAULT_ID).unlink()


@contextlib.contextmanager
def _other_store(place: Place) -> Iterator[None]:
    with place.open() as memory:
        memory.sync()
    app.init(str(place.root / "Other"), state_dir=str(place.state))
    stores = set(place.state.glob("*/store.sqlite3"))
    (other,) = stores - {place.kept / "store.sqlite3"}
    shutil.copy(other, place.root / "other.sqlite3")
    with _machine(place, 'store = "sqlite:../other.sqlite3"\n'):
        yield


@contextlib.contextmanager
def _store_moved(place: Place) -> Iterator[None]:
    with place.open() as memory:
        memory.sync()
    with _machine(place, 'store = "sqlite:/nowhere/store.sqlite3"\n'):
        yield


def _copied(place: Place) -> None:
    shutil.copytree(place.vault, place.root / "Copy")


def _archive_broken(place: Place) -> None:
    for path in place.kept.glob("archive.sqlite3*"):
        path.unlink()
    (place.kept / "archive.sqlite3").write_bytes(b"no database" * 200)


def _import_file(text: str) -> Situation:
    return _simple(lambda place: (place.root / "facts.jsonl").write_text(text, encoding="utf-8"))


@contextlib.contextmanager
def _busy(place: Place) -> Iterator[None]:
    with EngineLock(place.kept, str(place.vault)):
        yield


SITUATIONS: Mapping[str, Situation] = {
    "A vault with one fact.": _configured(CONFIG),
    "A folder that was never made a vault.": _simple(
        lambda place: (place.vault / ".meta" / "config.toml").unlink()
    ),
    "A setting in `config.toml` that makes no sense.": _configured(
        f'{CONFIG}linger_seconds = "long"\n'
    ),
    "A setting in `config.toml` with a slip of the pen.": _configured(
        f"{CONFIG}lingr_seconds = 5\n"
    ),
    "A `config.toml` that is cut off.": _configured("vault_id = \n"),
    "A `config.toml` that asks for a store, and for a variable as its key.": _configured(
        f'{CONFIG}store = "qdrant://store.example:6333"\n[qdrant]\nkey = "CI_DEPLOY_TOKEN"\n'
    ),
    "A vault, and a copy of its folder.": _simple(_copied),
    "A vault whose only fact was forgotten.": _simple(_forgotten),
    "31 facts, and 30 of their notes were deleted.": _simple(_thirty_deleted),
    "A store that was restored from an old backup.": _simple(_rewound),
    "A store whose file is gone.": _simple(_store_gone),
    "A vault that is told to use the store of another.": _other_store,
    "A vault that is told to use a store that is not there.": _store_moved,
    "An archive that is no database any more.": _simple(_archive_broken),
    "A file of facts whose second line has a priority of 7.": _import_file(
        '{"content": "Good."}\n{"content": "Bad.", "priority": 7}\n'
    ),
    "A file of facts that is cut off.": _import_file('{"content": "cut'),
    "Another program is at work on the vault.": _busy,
}


def play(page: str, root: Path) -> str:
    """The page with the current output of its commands."""
    number = 0

    def answer(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        place = Place(root / str(number))
        with SITUATIONS[found["given"]](place):
            said = place.type(found["command"])
        return found[0][: found.start("said") - found.start()] + f"{said}```\n"

    made = SECTION.sub(answer, page)
    assert number == page.count("\n## "), "a section has another form"
    return made
