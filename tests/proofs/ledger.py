"""An independent ledger of everything that was ever written, and the invariants.

Everything that an actor writes contains unique *words* (`w7w`). A word is found
by searching for its letters in bytes, without vaultsync's own readers. The ledger records
where each word must be found:

- `SEEN`: on one of the sides: in a note, in the store, in a conflict.
- `KEPT`: at least in the archive. An editor saved an old buffer over it,
  the user resolved its conflict, or it was written again after it had been removed.
- `FREE`: nowhere. An actor who could see it removed it.

| invariant | checked by | where |
|---|---|---|
| I1 no blind overwrite | `nothing_displaced_is_lost` | machine, model, faults |
| I2 bytes kept | `no_word_is_lost`, `nothing_displaced_is_lost` | machine, model, faults |
| I3 agents' writes kept | `no_word_is_lost` (agents' words are in the ledger) | the same |
| I4 base is sound | `bases_are_sound` | after every pass and every crash |
| I5 a second pass does nothing | `rests` | machine, model, faults, trees |
| I6 both sides are equal | `sides_are_equal` | machine, model, faults, trees |
| I7 passes come to an end | `World.quiesce` (hard limit `PASSES`) | everywhere |
| I8 order does not matter | `test_the_order_of_actions_does_not_matter` | trees |
| I9 no echo | `rests`: no write, no revision | machine, model, faults |
| I10 nothing is silent | `sides_are_equal`: what differs is listed | machine, faults |
| I11 history first | `nothing_displaced_is_lost`, of crashed passes too | machine, model |
| I12 no partial file | `files_are_complete` | after every power loss |
| I13 unreadable is untouched | `unreadable_is_untouched` | after every pass |
| I14 same input, same plan | `test_the_same_trees_give_the_same_plan` | trees |
| I15 nothing outside | `writes_are_confined` | after every pass |
| I16 scope stays | `scopes_stay` | after every quiesce |
| I17 rendering loses nothing | `rests` (GetPut), `sides_are_equal` (PutGet) | and tests/core |
| a run is on record | `runs_are_recorded`: what it did can be undone | machine, model, faults |
| I18 work gets done | `World.quiesce`: nothing pending after `PASSES` | everywhere |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vaultsync.model import serialization as wire
from vaultsync.model.compare import differing_keys
from vaultsync.model.paths import VaultPath, path_info
from vaultsync.notes.review_note import PROPOSAL_SUFFIX
from vaultsync.operations.verify import verify_all

if TYPE_CHECKING:
    from tests.proofs.sides import Sides
    from tests.proofs.world import World
    from vaultsync.sync.report import Report

WORD = re.compile(r"w\d+w")
REVISION = re.compile(r"\d+-[0-9a-f]{8}")
SEEN, KEPT, FREE = "seen", "kept", "free"


def words(data: bytes | str) -> set[str]:
    """The words in some bytes."""
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    return set(WORD.findall(text))


@dataclass(slots=True)
class Ledger:
    """The places where each word must be found."""

    owed: dict[str, str] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    """The actions so far, to explain a failure."""
    made: int = 0
    known: Callable[[], set[str]] = set
    """The words that the engine has read."""

    def word(self) -> str:
        """A new, unique word."""
        self.made += 1
        return f"w{self.made}w"

    def wrote(self, who: str, *, saw: bytes | str, over: bytes | str, after: bytes | str) -> None:
        """Record that an actor who had seen `saw` replaced `over` with `after`."""
        seen, there, now = words(saw), words(over), words(after)
        for word in now - seen:
            before = self.owed.get(word)
            self.owed[word] = SEEN if before in (None, SEEN) else KEPT
        for word in seen - now:
            self.owed[word] = FREE
        blind = there - seen - now
        known = self.known() if blind else set()
        self.at_least_kept(blind & known)
        # The user may overwrite what no program has read.
        self.forgive(blind - known)
        self.story.append(f"{who}: {sorted(there)} -> {sorted(now)}")

    def at_least_kept(self, some: Iterable[str]) -> None:
        """Require these words only in the archive from now on."""
        for word in some:
            if self.owed.get(word) == SEEN:
                self.owed[word] = KEPT

    def forgive(self, some: Iterable[str]) -> None:
        """Require these words no longer: a failure destroyed their only copy."""
        for word in some:
            self.owed[word] = FREE

    def archive_lost(self) -> None:
        """Require the words that only the archive had no longer."""
        self.forgive(word for word, owed in self.owed.items() if owed == KEPT)

    def due(self, what: str) -> set[str]:
        """The words with this requirement."""
        return {word for word, owed in self.owed.items() if owed == what}


# --- where words are -----------------------------------------------------------------


def in_vault(world: Sides) -> set[str]:
    """The words in notes and conflict notes; quotations in proposals do not count."""
    files = world.vault.files.items()
    kept = (i.data for path, i in files if not path.endswith(PROPOSAL_SUFFIX))
    return set[str]().union(*map(words, kept))


def in_staging(world: Sides) -> set[str]:
    """The words in files that wait to be written, or were displaced."""
    staged = [i for name, i in world.vault.names.items() if name.startswith(".meta/")]
    return set[str]().union(*(words(i.data) for i in staged))


def in_store(world: Sides) -> set[str]:
    """The words in facts; those of tombstones do not count."""
    return set[str]().union(*(words(wire.fact_to_json(f)) for f in world.facts().values()))


def in_conflicts(world: Sides) -> set[str]:
    """The words in conflict records, closed ones too."""
    return words(repr(world.archive.conflicts(closed=True)))


def in_replaced(world: Sides) -> set[str]:
    """The words in versions that the store keeps until an archive records them."""
    return set[str]().union(*(words(row.body or "") for row in world.store._replaced.values()))


def in_archive(world: Sides) -> set[str]:
    """The words in blobs, history, tombstones and replaced versions, which can be restored."""
    # Uncommitted changes of a transaction do not count.
    rows = world.archive._saved or world.archive._rows
    found = words(repr([rows.history, rows.outbox, rows.conflicts, rows.bases]))
    for blob in rows.blobs.values():
        found |= words(blob)
    for row in world.store._rows.values():
        found |= words(row.body or "")
    return found | in_replaced(world)


# --- the invariants ------------------------------------------------------------------


def no_word_is_lost(world: Sides) -> None:
    """I2, I3: each word is where the ledger requires it."""
    seen = in_vault(world) | in_store(world) | in_conflicts(world)
    lost = world.ledger.due(SEEN) - seen
    assert not lost, f"lost from sight: {sorted(lost)}\n{world.tell()}"
    lost = world.ledger.due(KEPT) - seen - in_archive(world)
    assert not lost, f"lost altogether: {sorted(lost)}\n{world.tell()}"


def nothing_displaced_is_lost(world: Sides) -> None:
    """I1, I11: every complete content that the engine displaced can be recovered."""
    held = {inode.sha for inode in world.vault.names.values()}
    for path, data in world.vault.displaced:
        sha = hashlib.sha256(data).hexdigest()
        there = sha in held or world.archive.blob(sha) is not None
        assert there or not data.strip(), f"{path}: {data!r}\n{world.tell()}"


def bases_are_sound(world: Sides) -> None:
    """I4: the bytes of each base are stored, and were once in the vault."""
    for base in world.archive.iter_bases():
        kept = world.archive.blob(base.sha)
        assert kept is not None, f"no bytes of {base.path}\n{world.tell()}"
        held = base.sha in world.vault.held
        assert held, f"the base of {base.path} is ahead: {kept!r}\n{world.tell()}"


def files_are_complete(world: Sides) -> None:
    """I12: every note has some complete content, even after a power loss."""
    for path, inode in world.vault.files.items():
        whole = inode.sha in world.vault.held
        assert whole, f"{path} is torn: {inode.data!r}\n{world.tell()}"


def unreadable_is_untouched(world: Sides) -> None:
    """I13: a note that cannot be read is neither written nor deleted."""
    for path, data in world.broken.items():
        there = world.vault.files.get(path)
        assert there is not None, f"{path} was taken away\n{world.tell()}"
        assert there.data == data, f"{path} was touched\n{world.tell()}"


def writes_are_confined(world: Sides) -> None:
    """I15: nothing but notes, canvases, staging and derived files is written."""
    for path in world.vault.written:
        ours = path.startswith((".meta/", ".index/"))
        note = path.endswith((".md", ".canvas")) and not any(
            name.startswith(".") for name in path.split("/")
        )
        assert ours or note, f"wrote {path}\n{world.tell()}"


def scopes_stay(world: Sides) -> None:
    """I16: no move and no edit of a note changes who may see its fact."""
    for fact in world.facts().values():
        first = world.scopes.setdefault(fact.id, fact.scope)
        assert fact.scope == first, f"{fact.id} is in {fact.scope}\n{world.tell()}"


def sides_are_equal(world: World, report: Report) -> None:
    """I6, I10: vault, store and base are equal, or the differences are listed."""
    listed = {notice.path for notice in report.attention}
    told = " ".join(notice.message for notice in report.attention)
    notes = world.notes_by_id()
    for each in verify_all(world.ctx).differences:
        # A note that cannot be read is listed; by its bytes it is the note of its fact.
        paths = {each.path, *notes.get(each.fact_id, [])}
        known = paths & listed or each.fact_id in told
        assert known, f"{each}\n{report.attention}\n{world.tell()}"
    # The same without vaultsync's readers: by the words in the bytes.
    for fact in world.facts().values():
        files = notes.get(fact.id, [])
        base = world.archive.find_base(fact.id)
        # The notice of a note with the id of another fact names its path.
        at = {*files, base.path} if base is not None else {*files}
        if at & listed or fact.id in told:
            continue
        assert len(files) == 1, f"{fact.id} has {files}\n{world.tell()}"
        shown = words(world.vault.files[files[0]].data)
        said = words(wire.fact_to_json(fact))
        named = words(files[0])
        assert shown - named <= said - named, (
            f"{files[0]} shows {sorted(shown)}, its fact says {sorted(said)}\n{world.tell()}"
        )
        # A note without a base does not get values that it never showed.
        assert world.archives > 1 or shown - named == said - named, (
            f"{files[0]} shows {sorted(shown)}, its fact says {sorted(said)}\n{world.tell()}"
        )
        assert base is not None, f"{fact.id} has no base\n{world.tell()}"
        assert base.sha == world.vault.files[files[0]].sha, world.tell()
        assert not differing_keys(base.fact, fact), world.tell()
    for fact_id, files in notes.items():
        managed = [p for p in files if path_info(VaultPath(p)).scope]
        assert all(path in told for path in managed) or fact_id in world.facts(), (
            f"{managed} has no fact\n{world.tell()}"
        )


def runs_are_recorded(world: Sides) -> None:
    """Each run of which the history has changes can be listed, and so undone."""
    history = world.archive.history()
    # What the store replaced or the outbox delivered is a run of its own, and no sync did it.
    made = {each.run for each in history if not REVISION.fullmatch(each.run)}
    made -= {each.run for each in history if each.field == "outbox"}
    unknown = {each for each in made if world.archive.find_run(each) is None}
    assert not unknown, f"no record of {sorted(unknown)}\n{world.tell()}"


def rests(world: World) -> None:
    """I5, I9, I17: a run over two equal sides writes nothing."""
    before = world.picture()
    report = world.sync()
    assert report.quiet, f"{report.actions}\n{world.tell()}"
    assert world.picture() == before, f"a second pass wrote\n{world.tell()}"
