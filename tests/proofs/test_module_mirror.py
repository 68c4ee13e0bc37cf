"""Whatever agents, people and a bad remote do: in the end nothing waits, and both sides are equal.

People edit modules, manifests, core files and the index by hand; the remote times out, lies,
loses answers and is not sure; processes end between any two steps.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.module_worlds import SPACE, ModuleWorld, SimRemote
from tests.proofs.turns import tell_stories
from vaultsync.errors import ModuleMissingError
from vaultsync.facts import service as fact_work
from vaultsync.modules.backlog import BACKLOG_FILE, read_backlog
from vaultsync.modules.manifest import INDEX_FILE, MANIFEST_FILE, edit_manifest
from vaultsync.modules.module_text import checksum_of, split_module

pytestmark = pytest.mark.long(5)

TOPICS = ("patterns", "findings")
FAULTS = ("away", "loses_answers", "pretends", "garbles", "gives_no_id")
CHUNKS = {"ap-01": "patterns", "ap-02": "patterns", "tf-01": "findings"}
chunks = st.sampled_from(sorted(CHUNKS))
words = st.sampled_from(["alpha", "bravo", "charlie", "delta"])


class MirroredModules(RuleBasedStateMachine):
    """Everyone who writes to a folder of modules, and its remote."""

    @initialize(verbatim=st.booleans())
    def begin(self, verbatim: bool) -> None:
        self.world = ModuleWorld()
        self.remote = SimRemote(verbatim=verbatim)
        self.world.remote = self.remote
        self.number = 0
        self.comments: dict[str, list[str]] = {topic: [] for topic in TOPICS}
        self.own_keys: dict[str, str] = {}

    # ------------------------------------------------------------------------ agents

    @rule(chunk=chunks, word=words, tag=st.sampled_from([(), ("a",), ("b", "c")]))
    def agent_writes(self, chunk: str, word: str, tag: tuple[str, ...]) -> None:
        self.world.write(chunk, self._text(chunk, word), topic=CHUNKS[chunk], tags=tag or None)

    @rule(chunk=chunks, word=words, at=st.integers(1, 16))
    def agent_writes_and_the_process_ends(self, chunk: str, word: str, at: int) -> None:
        def write() -> None:
            self.world.write(chunk, self._text(chunk, word), topic=CHUNKS[chunk])

        self.world.ends_at(at, write)

    @rule(at=st.integers(1, 25), automatic=st.booleans())
    def the_process_ends_while_it_syncs(self, at: int, automatic: bool) -> None:
        self.world.ends_at(at, lambda: self.world.settle(automatic=automatic))

    @rule(chunk=chunks, word=words)
    def agent_updates_the_fact(self, chunk: str, word: str) -> None:
        fact_id = self.world.work.facts.fact_id(f"{CHUNKS[chunk]}/{chunk}")
        fact = self.world.store.find_many([fact_id]).get(fact_id)
        if fact is not None:
            content = f"{fact.content}\n\nSeen by an agent: {word}."
            fact_work.update(self.world.ctx, fact_id, {"content": content}, agent="otto")

    # ------------------------------------------------------------------------ people

    @rule(chunk=chunks, word=words)
    def person_edits_a_module(self, chunk: str, word: str) -> None:
        path = self._path(chunk)
        if path is not None:
            self.number += 1
            text = self.world.says(path)
            lines = f"Line {self.number}: {word}.\n\n"
            self.world.folder.files[path] = text.replace("\n\n", f"\n\n{lines}", 1).encode()

    @rule(chunk=chunks, word=words)
    def person_edits_a_manifest(self, chunk: str, word: str) -> None:
        topic = CHUNKS[chunk]
        path = f"{topic}/{MANIFEST_FILE}"
        if self._path(chunk) is None:
            return
        self.number += 1
        comment = f"# note {self.number}"
        text = edit_manifest(
            self.world.says(path), path, {chunk: {"owner": word, "tags": [word]}}, topic=topic
        )
        self.world.folder.files[path] = f"{comment}\n{text}".encode()
        self.comments[topic].append(comment)
        self.own_keys[chunk] = word

    @rule(chunk=chunks)
    def person_removes_a_module(self, chunk: str) -> None:
        path = self._path(chunk)
        if path is None or self.world.state.waiting:
            return
        del self.world.folder.files[path]
        name = f"{CHUNKS[chunk]}/{MANIFEST_FILE}"
        kept = [
            each for each in self.world.manifest(CHUNKS[chunk]).entries if each.chunk_id != chunk
        ]
        lines = ["modules:" if kept else "modules: []", *self.comments[CHUNKS[chunk]]]
        for each in kept:
            lines += [f"  - chunk_id: {each.chunk_id}", f"    module_path: {each.module_path}"]
            lines += [f"    title: {each.title}", f"    checksum: '{each.checksum}'"]
            lines += [f"    sync_status: {each.sync_status}", f"    remote_id: {each.remote_id}"]
            self.own_keys.pop(each.chunk_id, None)
        self.world.folder.files[name] = ("\n".join(lines) + "\n").encode()
        self.own_keys.pop(chunk, None)

    @rule(topic=st.sampled_from(TOPICS), word=words)
    def person_adds_a_module(self, topic: str, word: str) -> None:
        name = f"{topic}/module-77-{word}-{topic}.md"
        if f"{topic}/{MANIFEST_FILE}" in self.world.folder.files:
            self.world.folder.files.setdefault(name, f"# About {word}\n\nText.\n".encode())

    @rule(topic=st.sampled_from(TOPICS), word=words)
    def person_edits_a_core_file(self, topic: str, word: str) -> None:
        name = f"{topic}/{topic}.core.md"
        if name in self.world.folder.files:
            self.world.folder.files[name] += f"\nMy own words on {word}.\n".encode()

    @rule(text=st.sampled_from(["{}", "not json", '{"patterns": 1}']))
    def person_edits_the_index(self, text: str) -> None:
        if INDEX_FILE in self.world.folder.files:
            self.world.folder.files[INDEX_FILE] = text.encode()

    @rule()
    def person_deletes_the_backlog(self) -> None:
        gone = {getattr(row, "chunk_id", "") for row in self._rows()} - {*self._listed()}
        if not gone:  # a removed module that is in no row any more is one that the user forgot
            self.world.folder.files.pop(BACKLOG_FILE, None)

    # -------------------------------------------------------------------- the remote

    @rule(fault=st.sampled_from(FAULTS), on=st.booleans())
    def remote_fails_or_recovers(self, fault: str, on: bool) -> None:
        if fault != "pretends" or self.remote.verbatim:  # from another it cannot be told
            setattr(self.remote, fault, on)

    @rule(confidence=st.sampled_from([0.39, 0.4, 0.41, 0.9, float("nan"), 7.0, -1.0]))
    def remote_is_more_or_less_sure(self, confidence: float) -> None:
        self.remote.confidence = confidence

    @rule(automatic=st.booleans(), seconds=st.sampled_from([1, 600, 90_000]))
    def time_passes_and_modules_are_synced(self, automatic: bool, seconds: int) -> None:
        self.world.clock.advance(seconds)
        self.world.settle(automatic=automatic)

    @rule(chunk=chunks)
    def someone_reads(self, chunk: str) -> None:
        try:
            answer = self.world.read(chunk, topic=CHUNKS[chunk])
        except ModuleMissingError:
            return
        path = self._path(chunk)
        if answer.source == "remote":
            assert 0.4 <= self.remote.confidence <= 1
            if path is not None and self.remote.verbatim and not self.world.state.waiting:
                assert answer.text.rstrip() == self.world.says(path).rstrip()
        else:
            assert path is not None
            assert answer.text.rstrip() == self.world.says(path).strip("\n").rstrip()

    # -------------------------------------------------------------------- invariants

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def comments_and_own_keys_of_people_stay(self) -> None:
        for topic, comments in self.comments.items():
            path = f"{topic}/{MANIFEST_FILE}"
            if comments:
                assert all(each in self.world.says(path) for each in comments)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for fault in FAULTS:
            setattr(self.remote, fault, False)
        self.remote.confidence = 0.9
        report = self.world.settle()
        report = self.world.settle()
        assert (report.pending, report.failed) == (0, 0), self.world.folder.files
        assert self._rows() == []
        assert self.world.work.status().pending == 0
        held = {key: each for (_, key), each in self.remote.stored.items()}
        listed = self._listed()
        assert held.keys() == listed.keys()
        for chunk, path in listed.items():
            text = self.world.says(path)
            record = self.remote.stored[SPACE, chunk]
            assert record.text == text
            entry = self.world.manifest(path.partition("/")[0]).find(chunk)
            assert entry is not None
            assert entry.checksum == record.checksum == checksum_of(text.encode())
            assert (entry.tags, entry.sync_status) == (record.tags, "synced")
            fact = self.world.fact(f"{path.partition('/')[0]}/{chunk}")
            assert fact.content == split_module(text).content
        index = json.loads(self.world.folder.files.get(INDEX_FILE, b"{}"))
        assert {each for topic in index.values() for each in topic["chunks"]} == listed.keys()

    # ----------------------------------------------------------------------- helpers

    def _text(self, chunk: str, word: str) -> str:
        self.number += 1
        return f"# On {chunk}\n\nWritten {self.number}: {word}.\n\nMore.\n"

    def _rows(self) -> list[object]:
        return list(read_backlog(self.world.folder.files.get(BACKLOG_FILE, b"").decode()))

    def _listed(self) -> dict[str, str]:
        found = {}
        for topic in TOPICS:
            if f"{topic}/{MANIFEST_FILE}" in self.world.folder.files:
                for entry in self.world.manifest(topic).entries:
                    found[entry.chunk_id] = f"{topic}/{entry.file}"
        return found

    def _path(self, chunk: str) -> str | None:
        path = self._listed().get(chunk)
        return path if path in self.world.folder.files else None


def test_whatever_happens_both_sides_end_equal() -> None:
    tell_stories(MirroredModules, (20, 2000), (40, 50))
