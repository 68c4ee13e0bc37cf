"""A vault with secrets in every place that can be written to."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

import vaultsync
from tests import secrets
from tests.gits import GitFolder
from tests.machines import configure_machine
from tests.world import open_scopes
from vaultsync.api.memory import Memory
from vaultsync.model.schema import FIELDS, TYPES, Field, FieldOwner, Value, ValueKind
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose
from vaultsync.storage.store import StoreWrite

DICE = random.Random("vaultsync answers")
TOKEN, OTHER = secrets.token("github", DICE), secrets.token("stripe", DICE)
WORD = "a-word-of-the-env"
CODE = "ACME-" + "7731"
NAMED = secrets.of(secrets.ALNUM, 20)(DICE) + "7x"
"""A secret only because of the name of its property."""
SAID = "hunter2zebra"
"""A secret because of the word before it; elsewhere in the fact it has no such word."""
PLANTED = (TOKEN, OTHER, WORD, CODE, NAMED, SAID)
SETTINGS = """
[hygiene]
patterns = ['ACME-\\d{4}', "@iban"]
"""
MACHINE = """
[hygiene]
environment = ["CANARY_WORD", "CANARY_SHORT", "CANARY_UNSET"]
"""
TEXT = (
    f"The deploy uses {TOKEN} in the evening.\n\nFor <% x %> say {WORD}, then {CODE}."
    f"\n\nThe password: {SAID}."
)
_GIVEN = {"title", "content", "context", "tags", "entities"}
_STAYS = {"status", "sentiment"}
"""Words by which facts are found."""


def make_vault(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A vault with rules of its own."""
    patch.setenv("VAULTSYNC_STATE_DIR", str(folder / "state"))
    patch.setenv("VAULTSYNC_EMBEDDER", "none")
    patch.setenv("CANARY_WORD", WORD)
    patch.setenv("CANARY_SHORT", "the")
    vaultsync.init(str(folder / "vault"))
    marker = folder / "vault" / ".meta" / "config.toml"
    marker.write_text(marker.read_text() + 'index_folder = "Index"\n' + SETTINGS)
    configure_machine(folder / "vault", MACHINE)
    open_scopes(folder / "vault")


def leaks(text: object) -> list[str]:
    """The secrets in the printed form of a value."""
    said = str(text)
    return [each for each in PLANTED if each in said]


def _value(row: Field) -> Value:
    match row.kind:
        case ValueKind.LINES | ValueKind.LINKS:
            return [f"{row.key} {TOKEN}", CODE]
        case _:
            return f"{row.key} {TOKEN} {WORD} {CODE}"


def _fields(type_name: str) -> dict[str, Value]:
    """All text fields that an agent may set, each with secrets."""
    rows = [each for each in FIELDS if each.key not in _GIVEN | _STAYS]
    rows = [each for each in rows if each.owner in (FieldOwner.SHARED, FieldOwner.MACHINE)]
    rows += TYPES[type_name].own
    texts = (ValueKind.LINE, ValueKind.TEXT, ValueKind.LINES, ValueKind.LINKS)
    return {
        **{each.key: _value(each) for each in rows if each.kind in texts},
        "api_key": NAMED,
        "nested": {"a": [f"see {TOKEN}"], TOKEN: CODE},
        "said": SAID,
    }


@dataclass
class Planted:
    """What was planted, by what it is called."""

    folder: Path
    fact: str
    entity: str
    gone: str
    observation: str
    conflict: str
    proposal: str
    run: str
    memory_file: Path
    typed: list[Path]
    """Files in which the user wrote secrets, which is allowed."""
    text: str = TEXT
    name: str = CODE
    word: str = TOKEN
    question: str = "deploy evening"

    def __post_init__(self) -> None:
        self.open = self.deleted = self.fact
        self.proposals = [self.proposal]

    @property
    def vault(self) -> str:
        return str(self.folder / "vault")

    def repository(self) -> Path:
        """A git repository whose remote has a password."""
        root = self.folder / "app"
        if not root.exists():
            git = GitFolder(root)
            git("remote", "add", "origin", f"https://ada:{TOKEN}@example.org/app.git")
            git.commit("a.py", f"def login_user(token='{TOKEN}'):\n    'With {TOKEN}.'\n")
            (root / "a.py").unlink()  # git has it
        return root


def plant(folder: Path) -> Planted:
    """Create facts, notes, conflicts, history and notices, all with secrets."""
    root = folder / "vault"
    with vaultsync.open(str(root), agent="indy") as memory:
        fact = _remember(memory, "decision", "Deploy")
        entity = _remember(memory, "person", "Bob")
        gone = _remember(memory, "lesson", "Gone")
        observation = memory.observe(TEXT, context=f"why {WORD} {TOKEN}").id
        memory.sync()
        memory.update(gone, content=f"{OTHER}, {CODE}. Password: {SAID}.")
        memory.forget(gone)
        note = root / str(memory.get(fact).path)
        note.write_text(note.read_text().replace("evening", f"morning {OTHER} [[{OTHER}]]"))
        run = memory.sync().run
        note.write_text(note.read_text().replace("morning", "noon"))
        with vaultsync.open(str(root), agent="otto") as other:
            held = other._ctx.store.get(fact)
            said = held.content.replace("morning", f"night {TOKEN} {SAID}")
            write = StoreWrite(fact, held.evolve(content=said), held.revision, "otto")
            other._ctx.store.write([write])
        memory.sync()
        (conflict,) = memory.conflicts()
        wanted = f"{TEXT} {CODE}"
        change = ProposedChange(entity, "1", {"content": TEXT}, {"content": wanted}, None, CODE)
        draft = ProposalDraft("retype", f"Say {CODE}", OTHER, "indy", "private-indy", (change,))
        proposal = propose(memory._ctx, draft)
        other_note = root / str(memory.get(entity).path)
        wrong = other_note.read_text().replace("priority: 2", f"priority: {OTHER}")
        other_note.write_text(f"{wrong}\n\nSee [[{OTHER}]] and [[note {CODE}]].\n")
        memory.sync()
        inbox = root / "Inbox" / "Loose.md"
        inbox.parent.mkdir()
        inbox.write_text(f"# Loose {OTHER}\n\nIt says {CODE}.\n")
        broken = root / "public" / "Broken.md"
        broken.parent.mkdir(exist_ok=True)
        broken.write_text(f'---\nid: [\nsays: "{OTHER} {CODE}\n---\n')
        file = folder / "MEMORY.md"
        file.write_text(f"# Memory\n\n## Keys {OTHER}\n\nThe deploy says {CODE}.\n")
    (root / ".obsidian").mkdir()
    typed = [note, other_note, inbox, broken, file]
    return Planted(
        folder, fact, entity, gone, observation, conflict.id, proposal.id, run, file, typed
    )


def _remember(memory: Memory, type_name: str, title: str) -> str:
    return memory.remember(
        TEXT,
        type=type_name,
        title=f"{title} {CODE}",
        context=f"why {WORD} {TOKEN}",
        tags=[TOKEN, SAID, "ops"],
        entities=["Alice", TOKEN, CODE],
        scope="team-a",
        fields=_fields(type_name),
    ).id
