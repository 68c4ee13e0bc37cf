"""A call of each method of `Memory`, about what a test has planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeAlias

from tests.golden import GOLDEN
from vaultsync.api.memory import Memory
from vaultsync.errors import NoteMissingError
from vaultsync.operations.evaluate import EvalQuestion
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.sync.report import NoteStatus, Report

TABLE = GOLDEN / "exchange" / "csv" / "memories.csv"


class About(Protocol):
    """What the calls are about: ids of facts and others, and texts."""

    fact: str
    open: str
    """A fact that everyone may see."""
    entity: str
    gone: str
    """A fact that was forgotten."""
    deleted: str
    """A fact whose note the user deleted, if there is one."""
    observation: str
    conflict: str
    proposals: list[str]
    memory_file: Path
    text: str
    name: str
    word: str
    question: str

    @property
    def folder(self) -> Path:
        """The folder of the vault and its state."""

    @property
    def run(self) -> str:
        """The id of a run."""

    def repository(self) -> Path:
        """A git repository."""


Ask: TypeAlias = Callable[[Memory, About], object]


def _plainly(name: str) -> Sequence[Ask]:
    return [lambda m, _: getattr(m, name)()]


def _with_fact(name: str) -> Sequence[Ask]:
    return [lambda m, a: getattr(m, name)(a.fact)]


def _statuses_of_notes(memory: Memory, about: About) -> list[NoteStatus]:
    """Those of the notes that it may see; an error repeats the path that it was given."""
    root = about.folder / "vault"
    notes = [each for each in sorted(root.rglob("*.md")) if "/." not in str(each)]
    found = []
    for note in notes:
        with suppress(NoteMissingError):
            found.append(memory.note_status(str(note)))
    assert found
    return found


def copy_of_note(about: About) -> str:
    """A copy that a sync tool puts beside the note of a fact."""
    notes = (about.folder / "vault").rglob("*.md")
    line = f"\nid: {about.fact}\n"
    note = next(each for each in notes if line in each.read_text("utf-8", "replace"))
    copy = note.with_name(f"{note.stem}.sync-conflict-20260102-153000-ABCDEFG.md")
    copy.write_bytes(note.read_bytes() + b"\nOf the copy.\n")
    return str(copy)


def _known_about(memory: Memory, about: About) -> Iterator[object]:
    """All that `repos` tells of a repository."""
    repos, app, word = memory.repos, about.repository(), about.word
    yield repos.identity(app)
    yield repos.upsert_convention(app, title=about.name, content=about.text, tags=[word])
    yield repos.upsert_decision(
        app, summary=about.name, rationale=about.text, impacted_paths=[word]
    )
    yield repos.add_note(app, content=about.text)
    yield repos.append_summary(word, about.name, about.text, repo=app, follow_ups=[word])
    yield repos.get_repo_memory(app)
    yield repos.context(app, paths=[word])
    yield repos.build_context_from_memory(repos.identity(app).repo_hash, 9_000)
    yield repos.map(app, paths=[word])
    yield repos.instructions(app / "AGENTS.md")
    yield (app / "AGENTS.md").read_text(encoding="utf-8")
    yield repos.hidden_facts(app)
    yield repos.promote(app)
    yield repos.copy(app, source="main", target="main")
    yield repos.maintain(app)
    yield repos.known_roots()


def _of_modules(memory: Memory, about: About) -> Iterator[object]:
    folder = about.folder / "project"
    modules, text = memory.modules, about.text
    yield modules.write("keys", "k", text, title=about.word, tags=[about.name], folder=folder)
    yield modules.read("keys", folder=folder)
    yield modules.sync(folder=folder)
    yield modules.status(folder=folder)
    yield modules.index(folder=folder)
    yield modules.metrics()


def _exported(memory: Memory, _: About) -> list[str]:
    lines: list[str] = []
    memory.export(lines.append)
    return lines


def _exported_to(memory: Memory, _: About) -> list[str]:
    with TemporaryDirectory() as folder:
        memory.export_to("jsonl", folder)
        return [(Path(folder) / "memories.jsonl").read_text("utf-8")]


def _messages(about: About) -> list[dict[str, str]]:
    return [{"role": "user", "content": about.text, "name": about.name}]


EVERY_METHOD: dict[str, Sequence[Ask]] = {
    **{
        name: _plainly(name)
        for name in (
            *("status", "conflicts", "verify", "doctor", "graph_stats", "graph_colours", "new_id"),
            *("check", "count_recalls", "damaged_facts", "observations", "watched_memory_files"),
        )
    },
    **{name: _with_fact(name) for name in ("get", "open", "waits", "why_note_waits", "adopt_id")},
    "is_empty": [lambda m, _: m.is_empty],
    "with_queued": [lambda m, _: m.with_queued(m.status())],
    "as_seen": [lambda m, _: m.as_seen(Report("run", dry_run=False, seconds=0, counts={}))],
    "note_status": [_statuses_of_notes],
    "is_note_deleted": [lambda m, a: m.is_note_deleted(a.deleted)],
    "list": [
        lambda m, _: m.list(all=True),
        lambda m, _: m.list(status="forgotten"),
        lambda m, a: m.list(tag=a.word),
        lambda m, a: m.list(links_to=a.open, all=True),
    ],
    "history": [lambda m, a: m.history(a.fact), lambda m, a: m.history(a.gone)],
    "recall": [lambda m, a: m.recall(a.question, all=True, explain=True)],
    "context": [
        lambda m, a: m.context(a.question, all=True, format="markdown"),
        lambda m, a: m.context(a.question, all=True, format="json"),
        lambda m, a: m.context(a.question, all=True, format="xml"),
    ],
    "answer": [lambda m, a: m.answer(RecallRequest(a.question, explain=True))],
    "pack": [lambda m, a: m.pack(ContextRequest(a.question, budget=800))],
    "evaluate": [lambda m, a: m.evaluate([EvalQuestion(a.question, (a.fact,))], rounds=1)],
    "related": [lambda m, a: m.related(a.open)],
    "compare": [lambda m, a: m.compare(m.get(a.fact))],
    "graph_export": [
        lambda m, _: m.graph_export(format="json"),
        lambda m, _: m.graph_export(format="graphml"),
        lambda m, _: m.graph_export(format="canvas"),
        lambda m, _: m.graph_export(format="html"),
    ],
    "graph_neighbors": [lambda m, a: m.graph_neighbors(a.open)],
    "purge": [lambda m, a: m.purge(a.fact, dry_run=True)],
    "links_check": [lambda m, _: m.links_check(), lambda m, _: m.links_check(fix=True)],
    "index_files": [lambda m, _: m.index_files()],
    "index": [lambda m, _: m.index(rebuild=True)],
    "adopt": [lambda m, _: m.adopt(dry_run=True), lambda m, _: m.adopt()],
    "sync": [lambda m, _: m.sync(dry_run=True), lambda m, _: m.sync(), lambda m, _: m.sync()],
    "undo": [lambda m, a: m.undo(a.run)],
    "sync_memory_file": [
        lambda m, a: m.sync_memory_file(a.memory_file, dry_run=True),
        lambda m, a: m.sync_memory_file(a.memory_file),
    ],
    "memory_file_section": [
        lambda m, a: m.memory_file_section(a.fact),
        lambda m, _: [m.memory_file_section(each.id) for each in m.list(limit=500).facts],
    ],
    "manage_memory_file": [
        lambda m, a: m.manage_memory_file(a.folder / "CLAUDE.md", dry_run=True),
        lambda m, a: m.manage_memory_file(a.folder / "CLAUDE.md", form="index"),
        lambda m, a: m.manage_memory_file(a.folder / "CLAUDE.md"),
        lambda _, a: (a.folder / "CLAUDE.md").read_text("utf-8"),
    ],
    "follow_memory_files": _plainly("follow_memory_files"),
    "add_to_memory_file": [
        lambda m, a: m.add_to_memory_file(
            a.memory_file, f"More {a.name} {a.word}.", section=f"Mine {a.word}"
        )
    ],
    "resolve_by_hand": [
        lambda m, a: m.resolve_by_hand(a.conflict, field="content", text=f"{a.text} by hand")
    ],
    "conflict_copies": [lambda m, a: (copy_of_note(a), m.sync(), m.conflict_copies())[-1]],
    "settle_copy": [
        lambda m, a: m.settle_copy(copy_of_note(a), take="merge"),
        lambda m, a: m.settle_copy(copy_of_note(a), take="keep"),
    ],
    "proposal": [lambda m, _: [m.proposal(each.id) for each in m.proposals(settled=True)]],
    "proposals": [lambda m, _: m.proposals(settled=True)],
    "reject_proposals": [lambda m, a: m.reject_proposals(a.proposals[1:])],
    "accept_proposals": [
        lambda m, a: m.accept_proposals(a.proposals),
        lambda m, _: m.proposals(settled=True),
    ],
    "resolve": [lambda m, a: m.resolve(a.conflict, take="store")],
    "remember": [lambda m, a: m.remember(a.text, title=a.name, tags=[a.word])],
    "remember_messages": [lambda m, a: m.remember_messages(_messages(a), session="s")],
    "repos": [lambda m, a: [*_known_about(m, a)]],
    "observation": [lambda m, a: m.observation(a.observation)],
    "process_observations": [
        lambda m, _: m.process_observations(dry_run=True),
        lambda m, _: m.process_observations(),
    ],
    "observe": [lambda m, a: m.observe(a.text, context=a.name)],
    "observe_hook": [
        lambda m, a: m.observe_hook(
            f'{{"hook_event_name": "Stop", "session_id": "s", "text": "We decided on {a.word}."}}'
        )
    ],
    "update": [lambda m, a: m.update(a.fact, content=f"{a.text} {a.word}")],
    "edit": [lambda m, a: m.edit(a.fact, append=f"{a.name} {a.word}")],
    "log": _plainly("log"),
    "write_change_note": _plainly("write_change_note"),
    "last_undoable_run": _plainly("last_undoable_run"),
    "supersede": [lambda m, a: m.supersede(a.entity, f"now {a.text}")],
    "forget": [lambda m, a: m.forget(a.fact)],
    "restore": [lambda m, a: m.restore(a.gone), lambda m, a: m.restore(a.fact)],
    "maintain": [lambda m, _: m.maintain(dry_run=True), lambda m, _: m.maintain()],
    "rebuild": [lambda m, _: m.rebuild(source="store"), lambda m, _: m.rebuild(source="vault")],
    "modules": [lambda m, a: [*_of_modules(m, a)]],
    "export": [_exported],
    "export_to": [_exported_to],
    "import_": [lambda m, _: m.import_([])],
    "import_from": [lambda m, _: m.import_from("csv", TABLE, dry_run=True)],
    "write_bases": _plainly("write_bases"),
    "property_types": _plainly("property_types"),
    "stop_embedding": _plainly("stop_embedding"),
    "migrate": [lambda m, a: m.migrate(f"sqlite:{a.folder}/other.sqlite3")],
    "finish_pending": _plainly("finish_pending"),
    "follow_store": _plainly("follow_store"),
    "close": _plainly("close"),
}
"""Calls of all methods, in an order in which they can be made one after the other."""
