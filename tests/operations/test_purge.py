"""Purge, as a use case: what goes, in which order, and when it claims success."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from tests.world import LINES, SCOPE, World
from vaultsync import errors
from vaultsync.facts.service import restore, supersede
from vaultsync.model.paths import VaultPath, file_name_of
from vaultsync.model.schema import Value
from vaultsync.notes.proposal_note import WRITE_PROPOSAL, ProposedChange
from vaultsync.operations import purge as purging
from vaultsync.operations.purge import PurgeParts, PurgeReport, facts_of_user, purge_facts
from vaultsync.proposals.service import ProposalDraft, propose, settle_proposals
from vaultsync.storage.archive import KeepSince
from vaultsync.storage.erasure import Remnant, Traces
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

WEDDING = "The wedding of Ottilie is in October."


@dataclass
class Part:
    """Holds nothing, and remembers what it was asked to erase, and in which order."""

    name: str
    calls: list[str]
    traces: list[Traces] = field(default_factory=list)

    def erase(self, traces: Traces) -> Mapping[str, int]:
        self.calls.append(self.name)
        self.traces.append(traces)
        return {self.name: 1}


@dataclass
class Intent:
    """The intent of a purge, in memory."""

    calls: list[str]
    ids: tuple[str, ...] = ()
    deleted: bool = False

    def fact_ids(self) -> tuple[str, ...]:
        return self.ids

    def begin(self, fact_ids: Iterable[str], *, deleted: bool = False) -> None:
        self.calls.append("deleted" if deleted else "begin")
        self.ids, self.deleted = tuple(fact_ids), deleted

    def were_deleted(self) -> bool:
        return self.deleted

    def end(self) -> None:
        self.calls.append("end")
        self.ids = ()


@dataclass
class Search:
    """Finds what it is told to find."""

    calls: list[str]
    remnants: tuple[Remnant, ...] = ()
    traces: Traces | None = None

    def find(self, traces: Traces, *, erased: bool) -> Iterator[Remnant]:
        assert traces.fact_ids
        self.calls.append("search" if erased else "look")
        self.traces = traces
        yield from self.remnants


@dataclass
class Kept:
    """All parts of a memory that purge knows."""

    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.index, self.rest = Part("index", self.calls), Part("rest", self.calls)
        self.intent, self.search = Intent(self.calls), Search(self.calls)

    def purge(self, world: World, *ids: str, **more: object) -> PurgeReport:
        parts = PurgeParts(
            [self.index],
            lambda: self.calls.append("update"),
            [self.rest],
            self.intent,
            self.search,
            ["a tombstone"],
        )
        return purge_facts(world.ctx, ids, parts, **more)  # type: ignore[arg-type]


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_the_store_comes_after_the_indexes_and_the_proof_last(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING)
    done = kept.purge(world, fact.id)
    assert kept.calls == ["begin", "deleted", "index", "update", "rest", "search", "end"]
    assert done.purged == (fact.id,)
    assert done.places == {"notes": 1, "facts": 1, "index": 1, "rest": 1} | (
        {"staged files": 1} if "staged files" in done.places else {}
    )
    assert (done.remaining, done.kept) == (0, ("a tombstone",))
    assert world.store.tombstone(fact.id) is not None
    assert world.ctx.vault.ops() == []


def test_what_is_left_keeps_the_intent_for_the_next_purge(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING)
    kept.search.remnants = (
        Remnant("/state/x", "text", 2),
        Remnant("diary.md", "text", of_user=True),
    )
    done = kept.purge(world, fact.id)
    assert (done.remaining, done.quoted) == (2, ("diary.md",))
    assert [each.path for each in done.found] == ["/state/x"]
    assert kept.intent.ids == (fact.id,)
    kept.search.remnants = ()
    assert kept.purge(world).purged == (fact.id,)
    assert kept.purge(world) == PurgeReport((), {}, 0)


def test_a_fact_that_came_back_is_not_erased_by_the_next_purge(world: World, kept: Kept) -> None:
    fact, other = world.mirrored(WEDDING), world.mirrored("The dentist is in Chur.")
    kept.search.remnants = (Remnant("/state/former store", "text", 2),)
    kept.purge(world, fact.id)
    last = world.store.last_write(fact.id)
    assert last is not None
    world.store.write([StoreWrite(fact.id, fact, last.revision, "import")])
    world.sync()
    assert kept.purge(world) == PurgeReport((), {}, 0)
    assert kept.intent.ids == ()
    assert kept.purge(world, other.id).purged == (other.id,)
    assert WEDDING in world.fact(fact.id).content
    assert kept.purge(world, fact.id).purged == (other.id, fact.id)


def test_a_dry_run_looks_and_touches_nothing(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING)
    of_user = (Remnant("/state/x", "text", of_user=True), Remnant("/diary", "text", of_user=True))
    kept.search.remnants = (Remnant("/state/x", "id", 2), *of_user)
    shown = kept.purge(world, fact.id, dry_run=True)
    assert (shown.dry_run, shown.remaining, kept.calls) == (True, 3, ["look"])
    assert shown.quoted == ("/diary",)
    assert world.fact(fact.id).content == WEDDING


def test_a_dry_run_looks_for_no_text_that_other_facts_keep(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING, title="Ottilie")
    world.mirrored("Words.", title="Other", relatedFactIds=[fact.id])
    quoting = world.mirrored(f"I was told: {WEDDING}", title="Quote")
    assert kept.purge(world, fact.id, dry_run=True).quoted == (quoting.id,)
    looked_for = kept.search.traces
    assert kept.purge(world, fact.id).quoted == (quoting.id,)
    assert looked_for
    assert kept.search.traces
    assert looked_for.pieces == kept.search.traces.pieces


def test_all_versions_of_conflicts_and_own_fields_are_searched(world: World, kept: Kept) -> None:
    fact = world.mirrored(
        LINES.replace("Alpha says this.", WEDDING),
        type="decision",
        decisionAlternatives=["Marry in the chapel of Wengen"],
        decisionOutcome="Ottilie marries in a barn",
        context="On the phone with Hannelore",
    )
    path = str(world.base(fact.id).path)
    world.person_edits(path, WEDDING, "The person says another thing here.")
    text = world.fact(fact.id).content
    world.agent_updates(fact.id, content=text.replace(WEDDING, "The agent says a third thing."))
    world.sync()
    other = world.archive.conflicts()[0]
    said = {"content": "A proposal says a fourth thing."}
    about = ProposedChange(fact.id, "1", said, None)
    elsewhere = ProposedChange("0" * 32, "1", {"content": "Quite another matter."}, {})
    cites = ProposedChange("1" * 32, "", {}, {"content": "Seen.", "relatedFactIds": [fact.id]})
    for number, change in enumerate((about, elsewhere, cites)):
        draft = ProposalDraft("junk", "Delete it", "Why not", "indy", SCOPE, (change,))
        propose(world.ctx, replace(draft, title=f"Delete it {number}"))
    settle_proposals(world.ctx)
    with world.archive.transaction():
        other = replace(other, id="0" * 16, fact_id=fact.id[:-2] + "00", fields=())
        world.archive.put_conflict(other)
    reviews = sorted(x for x in world.vault.files if ".conflict" in x or ".proposal" in x)
    kept.search.remnants = tuple(Remnant(f"/v/{x}", "text", of_user=True) for x in (path, *reviews))
    (stays,) = kept.purge(world, fact.id, dry_run=True).quoted
    kept.search.remnants = ()
    done = kept.purge(world, fact.id)
    assert stays == f"/v/{next(each for each in reviews if each in world.vault.files)}"
    assert (done.places["conflict notes"], done.places["proposal notes"]) == (1, 2)
    pieces = " ".join(kept.rest.traces[0].pieces)
    for piece in (
        *("The wedding of Ottilie is in October", "Marry in the chapel of Wengen"),
        *("Ottilie marries in a barn", "On the phone with Hannelore"),
        *("The person says another thing here", "The agent says a third thing"),
        "A proposal says a fourth thing",
    ):
        assert piece in pieces
    assert "Quite another matter" not in pieces
    assert not [each for each in world.vault.files if "conflict" in each]
    assert len([each for each in world.vault.files if "proposal" in each]) == 1


def test_others_say_nothing_of_it_and_are_not_searched(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING, title="Ottilie")
    other = world.mirrored("Words.", title="Other", relatedFactIds=[fact.id], parentFactId=fact.id)
    quoting = world.mirrored(f"I was told: {WEDDING}", title="Quote")
    gone = world.mirrored(f"I heard: {WEDDING}", title="Gone")
    world.agent_forgets(gone.id)
    world.sync()
    done = kept.purge(world, fact.id)
    assert ({*done.quoted}, done.places["references"]) == ({quoting.id, gone.id}, 1)
    assert world.fact(other.id).related_fact_ids == ()
    assert fact.id not in world.note(other.id)
    assert not any("wedding" in each for each in kept.rest.traces[0].pieces)
    assert "wedding" in world.note(quoting.id)


def test_what_others_wrote_in_the_same_words_stays(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING, title="Ottilie")
    other = world.mirrored("Words.", title="Other")
    world.person_edits(other, "Words.", "The person says another thing here.")
    world.agent_updates(other.id, content=f"I was told: {WEDDING}")
    world.sync()
    new: dict[str, Value] = {"title": "Quote", "content": f"I heard: {WEDDING}"}
    for number, after in enumerate((new, {**new, "relatedFactIds": [fact.id]})):
        change = ProposedChange(f"{number}" * 32, "", {}, after)
        draft = ProposalDraft(WRITE_PROPOSAL, f"Quote {number}", "", "indy", SCOPE, (change,))
        propose(world.ctx, draft)
    settle_proposals(world.ctx)
    (kept_note,) = (x.note_path for x in world.archive.proposals() if x.title == "Quote 0")
    conflict = world.conflicts()[0]
    for dry_run in (True, False):
        done = kept.purge(world, fact.id, dry_run=dry_run)
        assert {*done.quoted} == {kept_note, conflict.conflict_path}
    assert WEDDING in world.text(str(kept_note))
    assert WEDDING in world.text(str(conflict.conflict_path))
    assert done.places["proposal notes"] == 1
    assert not any("wedding" in each for each in kept.rest.traces[0].pieces)


def test_a_note_that_was_moved_since_the_last_run_is_erased(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING, title="Ottilie")
    moved = VaultPath("team-core/deep/Renamed.md")
    world.person_renames(fact, moved)
    assert kept.purge(world, fact.id).places["notes"] == 1
    assert moved not in world.vault.files
    world.assert_at_rest()


def test_a_fact_whose_row_is_damaged_is_erased(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING)
    world.store.damage(fact.id)
    assert kept.purge(world, fact.id).places["facts"] == 1
    assert not world.notes()
    world.assert_at_rest()


def test_versions_around_an_erased_one_follow_each_other(world: World, kept: Kept) -> None:
    first = world.mirrored("First.")
    versions = [first]
    for text in ("Second.", "Third.", "Fourth.", "Fifth."):
        versions.append(supersede(world.ctx, versions[-1].id, text, agent=None))
        world.sync()
    kept.purge(world, versions[1].id, versions[2].id)
    assert world.fact(first.id).superseded_by_id == versions[3].id
    assert world.fact(versions[3].id).supersedes_id == first.id
    world.assert_at_rest()


def test_a_version_whose_newer_ones_go_stays_hidden(world: World, kept: Kept) -> None:
    first = world.mirrored("First.")
    second = supersede(world.ctx, first.id, "Second.", agent=None)
    third = supersede(world.ctx, second.id, "Third.", agent=None)
    world.sync()
    kept.purge(world, second.id, third.id)
    older = world.fact(first.id)
    assert (older.superseded_by_id, older.status) == (None, "superseded")
    world.assert_at_rest()
    restore(world.ctx, first.id, agent=None)
    assert world.fact(first.id).status == "active"


def test_the_newest_version_stays_current_if_others_are_erased(world: World, kept: Kept) -> None:
    first = world.mirrored("First.")
    second = supersede(world.ctx, first.id, "Second.", agent=None)
    world.sync()
    kept.purge(world, first.id)
    newest = world.fact(second.id)
    assert (newest.supersedes_id, newest.status) == (None, "active")


def test_the_name_of_a_note_to_which_it_links_is_not_looked_for(world: World, kept: Kept) -> None:
    linked, gone = (world.mirrored("Words.", title=f"The linked {x}") for x in ("note", "one"))
    names = [file_name_of(world.path(each.id))[:-3] for each in (linked, gone)]
    fact = world.mirrored(f"See [[{names[0]}]] and [[{names[1]}]].", title="Links")
    world.agent_forgets(gone.id)
    world.sync()
    assert {*kept.purge(world, fact.id).quoted} == {linked.id, gone.id}
    assert kept.rest.traces[0].pieces.isdisjoint(names)


def test_a_fact_that_is_written_again_and_again_is_not_claimed_to_be_gone(
    world: World, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = world.mirrored(WEDDING)

    def sync_and_restore(ctx: SyncContext, request: SyncRequest) -> None:
        sync_once(ctx, request)
        tombstone = world.store.tombstone(fact.id)
        if tombstone is not None:
            world.store.write([StoreWrite(fact.id, tombstone, tombstone.revision, "indy")])

    monkeypatch.setattr(purging, "sync_once", sync_and_restore)
    with pytest.raises(errors.RevisionMismatchError):
        kept.purge(world, fact.id)
    assert kept.calls == ["begin"]


@pytest.mark.parametrize(
    "error", [OSError(28, "the disk is full"), errors.ArchiveError("it is full")]
)
def test_a_purge_that_an_error_ends_is_not_finished(
    world: World, kept: Kept, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fact = world.mirrored(WEDDING)

    def fails(_: Traces) -> Mapping[str, int]:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(kept.rest, "erase", fails)
        with pytest.raises(errors.PurgeUnfinishedError, match="is full; some of what it erases"):
            kept.purge(world, fact.id)
    assert kept.intent.ids == (fact.id,)
    assert kept.purge(world).purged == (fact.id,)


def test_unknown_ids_unseen_facts_and_too_many_are_refused(world: World, kept: Kept) -> None:
    mine = world.mirrored(WEDDING, scope="private-indy")
    with pytest.raises(errors.FactNotFoundError):
        kept.purge(world, world.ctx.clock.new_id())
    with pytest.raises(errors.FactNotFoundError):
        kept.purge(world, mine.id, agent="other")
    many = [world.mirrored(f"{n}. {WEDDING}").id for n in range(14)]
    with pytest.raises(errors.GuardError, match="erase for good"):
        kept.purge(world, *many)
    with pytest.raises(errors.GuardError):
        kept.purge(world, many[0], max_delete=0)
    assert kept.calls == []
    assert kept.purge(world, *many, max_delete=14).remaining == 0


def test_the_facts_about_a_user_are_those_alive_and_those_forgotten(world: World) -> None:
    world.mirrored(WEDDING)
    about = world.mirrored("Words about a user.", userId="u7")
    assert facts_of_user(world.ctx, "u7") == (about.id,)
    world.agent_forgets(about.id)
    assert facts_of_user(world.ctx, "u7") == (about.id,)
    assert facts_of_user(world.ctx, "u8") == ()


@pytest.mark.parametrize("days", [0.0, 1e9])
def test_no_days_and_endless_days_keep_everything(days: float) -> None:
    now = datetime(2026, 2, 14, tzinfo=UTC)
    since = KeepSince.of(now, history=days, runs=days, blobs=30, tombstones=days)
    assert since == KeepSince("2026-02-14T00:00:00Z", blobs="2026-01-15T00:00:00Z")


def test_a_purge_does_not_begin_while_a_note_is_read_only(world: World, kept: Kept) -> None:
    fact = world.mirrored(WEDDING)
    path = world.path(fact.id)
    world.vault.make_read_only(path)
    with pytest.raises(errors.ReadOnlyNoteError) as refused:
        kept.purge(world, fact.id)
    assert "nothing was erased" in refused.value.hint
    assert (kept.calls, kept.intent.ids) == ([], ())
    assert WEDDING in world.fact(fact.id).content
    world.vault.make_writable(path)
    assert kept.purge(world, fact.id).remaining == 0
    assert path not in world.vault.names
