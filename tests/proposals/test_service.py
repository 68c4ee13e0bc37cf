from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import pytest

from tests import secrets
from tests.proposals.world import ACCEPT, REJECT, ProposalWorld
from tests.sim import SimVault
from tests.world import die, kinds, refuse
from vaultsync import errors
from vaultsync.cli.format_reports import counts_in_words
from vaultsync.facts.lookup import last_undoable_run
from vaultsync.notes.proposal_note import decision_in, shown_proposal
from vaultsync.notes.view import NoteView
from vaultsync.operations.undo import undo_run
from vaultsync.privacy.placeholders import Redactor
from vaultsync.proposals import service
from vaultsync.proposals.service import (
    EXPIRY_DAYS,
    RUN_KIND,
    accept_proposals,
    check_answer,
    find_proposal,
    reject_proposals,
    settle_proposals,
    visible_proposals,
)
from vaultsync.storage.vault import VaultScan
from vaultsync.sync.review_notes import unclear_answers
from vaultsync.sync.status import read_status, run_summaries

DAY = 86_400


@pytest.fixture
def world() -> ProposalWorld:
    return ProposalWorld()


def test_a_proposal_is_shown_beside_its_note_and_changes_nothing_yet(world: ProposalWorld) -> None:
    fact, made = world.better()

    assert world.review_notes() == [str(made.note_path)]
    assert str(made.note_path) == str(fact.path).replace(".md", ".proposal.md")
    assert "+ A better title" in world.text(str(made.note_path))
    world.assert_at_rest()
    assert world.fact(fact.id).title == "A plain fact"


def test_a_proposal_waits_while_its_note_cannot_be_written(world: ProposalWorld) -> None:
    fact = world.mirrored()
    world.at("create", refuse)
    made = world.proposed(world.change(fact, title="A better title"))
    assert (made.note_path, world.review_notes()) == (None, [])
    world.settle()
    assert len(world.review_notes()) == 1
    world.assert_at_rest()


def test_a_ticked_box_accepts_and_its_run_can_be_undone(world: ProposalWorld) -> None:
    fact, _ = world.better()
    world.ticks(ACCEPT)
    report = world.settled()

    assert [x.action for x in report.actions][-1] == "accept_proposal"
    assert (world.fact(fact.id).title, world.review_notes()) == ("A better title", [])
    assert "# A better title" in world.note(fact.id)
    assert world.outcomes() == ["accepted"]
    undo_run(world.ctx, report.run)
    assert world.fact(fact.id).title == "A plain fact"
    world.assert_at_rest()


def test_what_was_undone_can_be_accepted_again(world: ProposalWorld) -> None:
    fact, made = world.better()
    done = accept_proposals(world.ctx, [made])
    (accepted,) = world.archive.proposals(settled=True)
    assert accept_proposals(world.ctx, [accepted]).run is None  # it is still applied
    undo_run(world.ctx, str(done.run))
    again = accept_proposals(world.ctx, [accepted])
    assert again.run not in (None, done.run)
    assert [(x.outcome, x.run) for x in again.proposals] == [("accepted", again.run)]
    assert world.fact(fact.id).title == "A better title"
    world.assert_at_rest()


@pytest.mark.parametrize("how", ["tick", "delete"])
def test_a_rejected_proposal_is_not_made_again(world: ProposalWorld, how: str) -> None:
    change = world.change(world.mirrored(), title="A better title")
    made = world.proposed(change)
    if how == "tick":
        world.ticks(REJECT)
    else:
        world.person_deletes(str(made.note_path))
    world.settle()
    world.proposed(change)

    assert (world.outcomes(), world.review_notes()) == (["rejected"], [])


def test_without_an_answer_a_proposal_expires(world: ProposalWorld) -> None:
    world.better()
    world.clock.advance(EXPIRY_DAYS * DAY + 60)
    world.settle()

    assert (world.outcomes(), world.review_notes()) == (["expired"], [])
    (line,) = (x for x in run_summaries(world.ctx, limit=9) if x.kind == RUN_KIND)
    assert counts_in_words(line.counts) == "1 proposal expired"
    assert last_undoable_run(world.ctx) != line.run


def test_an_answer_that_is_read_after_the_last_day_counts(world: ProposalWorld) -> None:
    world.better()
    world.ticks(ACCEPT)
    world.clock.advance(EXPIRY_DAYS * DAY + 60)
    world.settle()

    assert world.outcomes() == ["accepted"]


def test_a_proposal_with_another_name_is_still_the_same_and_no_fact(world: ProposalWorld) -> None:
    fact, made = world.better()
    folder = str(made.note_path).rpartition("/")[0]
    world.person_writes(f"{folder}/Copy.md", world.text(str(made.note_path)))
    world.person_renames(str(made.note_path), f"{folder}/My thoughts.md")
    world.settle()
    world.quiesce()
    world.person_deletes(f"{folder}/Copy.md")
    world.settle()
    world.quiesce()

    assert (world.outcomes(), len(world.facts())) == ([""], 1)
    assert read_status(world.ctx).foreign == 0
    world.person_edits(f"{folder}/My thoughts.md", "- [ ] Accept", "- [x] Accept")
    world.settle()
    assert (world.outcomes(), world.fact(fact.id).title) == (["accepted"], "A better title")
    assert f"{folder}/My thoughts.md" not in world.vault.files


def test_two_ticked_boxes_are_a_notice_until_one_is_unticked(world: ProposalWorld) -> None:
    _, made = world.better()
    world.ticks(ACCEPT)
    world.ticks(REJECT)
    for dry_run in (False, True, False):
        report = settle_proposals(world.ctx, dry_run=dry_run)
        assert report is not None
        assert [(x.kind, x.path) for x in report.attention] == [("unclear_answer", made.note_path)]
        assert report.quiet
    assert world.outcomes() == [""]

    world.person_edits(str(made.note_path), "- [x] Reject", "- [ ] Reject")
    report = world.settled()
    assert report.attention == []
    assert world.outcomes() == ["accepted"]
    assert unclear_answers(world.ctx) == []


def test_what_changed_since_is_shown_again_with_empty_boxes(world: ProposalWorld) -> None:
    fact, _ = world.better()
    world.ticks(ACCEPT)
    world.agent_updates(fact.id, title="Another title")
    report = world.settled()

    assert [x.kind for x in report.attention] == ["proposal_changed"]
    (path,) = world.review_notes()
    text = world.text(path)
    assert "- Another title" in text
    assert "Look again" in text
    assert decision_in(text) is None
    (shown,) = map(shown_proposal, visible_proposals(world.ctx, agent=None))
    assert shown.changed_since == ("title",)
    assert shown.changes[0].before["title"] == "Another title"
    assert world.fact(fact.id).title == "Another title"
    world.ticks(ACCEPT)
    world.settle()
    assert world.fact(fact.id).title == "A better title"


@pytest.mark.parametrize("again", [False, True])
def test_a_power_cut_after_a_proposal_is_shown_answers_nothing(
    world: ProposalWorld, again: bool
) -> None:
    fact = world.mirrored()
    world.vault.sync()
    world.proposed(world.change(fact, title="A better title"))
    if again:
        world.vault.sync()
        world.ticks(ACCEPT)
        world.vault.sync()
        world.agent_updates(fact.id, title="Another title")
        world.settle()
    world.vault.crash(lambda _: False)
    world.settle()
    assert world.outcomes() == [""]
    assert len(world.review_notes()) == 1


def test_saves_of_a_proposal_while_it_is_shown_again_are_kept(world: ProposalWorld) -> None:
    fact = world.mirrored()
    path = str(world.proposed(world.change(fact, title="A better title")).note_path)
    shown = world.text(path)
    world.ticks(ACCEPT)
    world.agent_updates(fact.id, title="Another title")
    world.sync()
    saves = iter(("one", "two"))

    def save(step: str) -> None:
        if step in ("exchange.swap", "exchange.back") and (words := next(saves, None)):
            world.person_writes(path, f"{shown}\n{words}\n")

    world.vault.before = save
    world.settle()
    assert world.text(path).endswith("\ntwo\n")
    displaced = hashlib.sha256(f"{shown}\none\n".encode()).hexdigest()
    assert world.archive.blob(displaced) is not None


def test_what_others_changed_in_a_field_stays_when_it_is_shown_again(world: ProposalWorld) -> None:
    fact = world.mirrored("One.\n\nTwo.\n\nThree.", tags=["a"])
    world.proposed(world.change(fact, content="One.\n\nTwo.\n\n3.", tags=["a", "b"]))
    world.agent_updates(fact.id, content="1.\n\nTwo.\n\nThree.", tags=["a", "c"])
    world.ticks(ACCEPT)
    world.settle()
    (shown,) = map(shown_proposal, visible_proposals(world.ctx, agent=None))
    assert shown.changed_since == ("content", "tags")
    assert shown.changes[0].before["content"] == "1.\n\nTwo.\n\nThree."
    assert (shown.changes[0].after or {})["content"] == "1.\n\nTwo.\n\n3."
    world.ticks(ACCEPT)
    world.settle()

    assert world.fact(fact.id).content == "1.\n\nTwo.\n\n3."
    assert list(world.fact(fact.id).tags) == ["a", "c", "b"]


def test_a_number_that_became_a_truth_value_is_shown_again(world: ProposalWorld) -> None:
    fact = world.mirrored(flag=1)
    world.proposed(world.change(fact, flag=2))
    world.agent_updates(fact.id, flag=True)
    world.ticks(ACCEPT)
    world.settle()
    (shown,) = map(shown_proposal, visible_proposals(world.ctx, agent=None))
    assert (shown.changed_since, shown.changes[0].before["flag"]) == (("flag",), True)


def test_what_others_wrote_too_needs_no_other_look(world: ProposalWorld) -> None:
    fact = world.mirrored("One.\n\nTwo.\n\nThree.")
    world.proposed(world.change(fact, content="One.\n\nTwo.\n\n3."))
    world.agent_updates(fact.id, content="1.\n\nTwo.\n\n3.")
    world.ticks(ACCEPT)
    world.settle()

    assert (world.outcomes(), world.fact(fact.id).content) == (["accepted"], "1.\n\nTwo.\n\n3.")


def test_what_others_changed_elsewhere_stays(world: ProposalWorld) -> None:
    fact, _ = world.better()
    world.agent_updates(fact.id, tags=["new"])
    world.ticks(ACCEPT)
    world.settle()

    assert world.fact(fact.id).title == "A better title"
    assert list(world.fact(fact.id).tags) == ["new"]


def test_a_proposal_may_make_change_and_delete_facts_at_once(world: ProposalWorld) -> None:
    kept, gone = world.mirrored(title="Kept"), world.mirrored(title="Gone")
    new = world.creation("Quite new.")
    changes = (world.change(kept, content="Both."), world.deletion(gone), new)
    made = world.proposed(*changes, kind="duplicates")
    done = accept_proposals(world.ctx, [made])

    assert [each.outcome for each in done.proposals] == ["accepted"]
    assert world.fact(kept.id).content == "Both."
    assert not world.is_alive(gone.id)
    assert world.is_alive(new.fact_id)
    undo_run(world.ctx, str(done.run))
    assert world.fact(gone.id).content
    assert not world.is_alive(new.fact_id)
    world.assert_at_rest()
    for outcome in ("", "accepted"):  # a fact to be deleted is shown again after any change
        (shown,) = accept_proposals(world.ctx, world.archive.proposals(settled=True)).proposals
        assert shown.outcome == outcome
    assert not world.is_alive(gone.id)
    assert world.is_alive(new.fact_id)
    world.assert_at_rest()


def test_a_merge_with_a_fact_that_was_deleted_since_expires(world: ProposalWorld) -> None:
    """It may have been deleted because it was wrong."""
    kept, gone = world.mirrored(title="Kept"), world.mirrored(title="Gone")
    made = world.proposed(
        world.change(kept, content="Both."), world.deletion(gone), kind="duplicates"
    )
    world.agent_forgets(gone.id)
    accept_proposals(world.ctx, [made])
    assert world.outcomes() == ["expired"]
    assert world.fact(kept.id).content == kept.content


def test_a_merge_that_was_written_before_a_crash_is_accepted(world: ProposalWorld) -> None:
    kept, gone = world.mirrored(title="Kept"), world.mirrored(title="Gone")
    made = world.proposed(
        world.change(kept, content="Both."), world.deletion(gone), kind="duplicates"
    )
    world.agent_updates(kept.id, content="Both.")
    world.agent_forgets(gone.id)
    accept_proposals(world.ctx, [made])
    assert world.outcomes() == ["accepted"]


def test_without_the_store_a_ticked_box_waits(world: ProposalWorld) -> None:
    fact, _ = world.better()
    world.ticks(ACCEPT)
    with world.outage():
        assert world.settle() is None
    world.settle()

    assert world.fact(fact.id).title == "A better title"


@pytest.mark.parametrize(
    ("since", "expected"),
    [("nothing", ["accept_proposal"]), ("deleted", ["expire_proposal"]), ("changed", [])],
)
def test_a_dry_run_says_what_a_run_does(
    world: ProposalWorld, since: str, expected: list[str]
) -> None:
    fact, _ = world.better()
    world.ticks(ACCEPT)
    if since == "deleted":
        world.agent_forgets(fact.id)
    elif since == "changed":
        world.agent_updates(fact.id, title="Another title")
    with world.nobody_writes():
        planned = settle_proposals(world.ctx, dry_run=True)
    with world.outage():
        assert settle_proposals(world.ctx, dry_run=True) is None
    done = world.settled()

    assert planned is not None
    assert kinds(planned) == kinds(done)
    for report in (planned, done):
        assert [x.action for x in report.actions if "proposal" in x.action] == expected


@pytest.mark.parametrize("boxes", [[], [REJECT]])
def test_a_dry_run_closes_nothing(world: ProposalWorld, boxes: list[str]) -> None:
    world.better()
    for each in boxes:
        world.ticks(each)
    world.clock.advance(EXPIRY_DAYS * DAY + 60)
    with world.nobody_writes():
        planned = settle_proposals(world.ctx, dry_run=True)
    assert planned is not None
    assert [x.action for x in planned.actions] == [x.action for x in world.settled().actions]


def test_an_agent_sees_no_proposals_about_what_it_cannot_see(world: ProposalWorld) -> None:
    secret = world.mirrored(scope="private-indy")
    made = world.proposed(world.change(secret, title="A better title"))

    assert visible_proposals(world.ctx, agent="ada") == []
    assert [x.id for x in visible_proposals(world.ctx, agent="indy")] == [made.id]
    with pytest.raises(errors.ProposalNotFoundError):
        find_proposal(world.ctx, made.id[:8], agent="ada")
    assert find_proposal(world.ctx, made.id[:8]).id == made.id


def test_rejecting_by_command_leaves_what_was_accepted(world: ProposalWorld) -> None:
    _, made = world.better()
    accept_proposals(world.ctx, [made])
    rejected = reject_proposals(world.ctx, [find_proposal(world.ctx, made.id)])

    assert [each.outcome for each in rejected.proposals] == ["accepted"]
    assert shown_proposal(find_proposal(world.ctx, made.id)).run


def test_a_proposal_is_found_by_note_or_title_not_by_some_characters(world: ProposalWorld) -> None:
    _, made = world.better()

    for name in (str(made.note_path), f" {made.title.upper()} "):
        assert find_proposal(world.ctx, name).id == made.id
    for name in (" ", made.id[0], made.id[:7]):
        with pytest.raises(errors.ProposalNotFoundError):
            find_proposal(world.ctx, name)


def test_a_title_of_two_proposals_names_both(world: ProposalWorld) -> None:
    change = world.change(world.mirrored(title="One"), title="A better title")
    one, two = world.proposed(change), world.proposed(world.change(world.mirrored(), title="Other"))
    same = replace(two, title=one.title)
    with world.ctx.archive.transaction():
        world.ctx.archive.put_proposal(same)

    with pytest.raises(errors.AmbiguousNameError) as raised:
        find_proposal(world.ctx, one.title)
    assert set(raised.value.candidates) == {one.id, two.id}

    reject_proposals(world.ctx, [same])
    assert find_proposal(world.ctx, one.title).id == one.id


def test_a_proposal_overwritten_by_another_is_rejected(world: ProposalWorld) -> None:
    one = world.proposed(world.change(world.mirrored(title="One"), title="A better title"))
    two = world.proposed(world.change(world.mirrored(title="Two"), title="A better title"))
    world.person_renames(str(one.note_path), str(two.note_path))
    world.ticks(ACCEPT)
    world.settle()

    assert world.outcomes() == ["accepted", "rejected"]


def test_the_note_of_another_proposal_at_the_same_path_stays(world: ProposalWorld) -> None:
    fact = world.mirrored()
    one = world.proposed(world.change(fact, title="A better title"))
    world.person_deletes(str(one.note_path))
    two = world.proposed(world.change(fact, title="The best title"))
    world.settle()

    assert (one.note_path, world.review_notes()) == (two.note_path, [two.note_path])
    assert world.outcomes() == ["rejected", ""]


def test_what_the_user_edits_in_the_note_meanwhile_is_not_overwritten(world: ProposalWorld) -> None:
    fact, _ = world.better()
    world.person_edits(str(fact.path), "# A plain fact", "# My own title")
    world.ticks(ACCEPT)
    report = world.settled()

    assert [x.kind for x in report.attention] == ["proposal_changed"]
    assert "update_store" in [x.action for x in report.actions]
    assert world.fact(fact.id).title == "My own title"
    assert world.outcomes() == [""]


def test_a_folder_that_cannot_be_listed_rejects_nothing(world: ProposalWorld) -> None:
    _, made = world.better()
    world.person_renames(str(made.note_path), "elsewhere/kept.proposal.md")
    world.vault.break_folder("elsewhere")
    world.settle()

    assert world.outcomes() == [""]


def test_an_agent_accepts_what_it_may_write_and_rejects_what_it_made(world: ProposalWorld) -> None:
    secret = world.mirrored(scope="private-ada", agent="ada")
    made = world.proposed(world.change(secret, title="A better title"))
    both = [made]

    check_answer(world.ctx, both, agent=None, accepts=True)
    check_answer(world.ctx, both, agent="ada", accepts=True)
    check_answer(world.ctx, both, agent="indy", accepts=False)
    with pytest.raises(errors.ScopeDeniedError) as denied:
        check_answer(world.ctx, both, agent="indy", accepts=True)
    assert f"`vaultsync proposals accept {made.id[:8]}`" in denied.value.hint
    with pytest.raises(errors.ProposalDeniedError) as refused:
        check_answer(world.ctx, both, agent="ada", accepts=False)
    assert f"`vaultsync proposals reject {made.id[:8]}`" in refused.value.hint


def test_a_deletion_waits_for_another_look_after_any_change(world: ProposalWorld) -> None:
    fact = world.mirrored()
    made = world.proposed(world.deletion(fact), kind="junk")
    world.agent_updates(fact.id, tags=["new"])
    done = accept_proposals(world.ctx, [made])

    assert [each.outcome for each in done.proposals] == [""]
    assert "revision changed since" in done.attention[0].message
    assert world.is_alive(fact.id)


def test_what_was_made_and_deleted_since_is_not_made_again(world: ProposalWorld) -> None:
    made = world.proposed(world.creation("Quite new."), kind="write")
    accept_proposals(world.ctx, [made])
    world.agent_forgets(made.changes[0].fact_id)
    accept_proposals(world.ctx, [made])

    assert not world.is_alive(made.changes[0].fact_id)


def test_others_that_keep_writing_are_told_apart_from_an_answer(world: ProposalWorld) -> None:
    fact, made = world.better()
    busy = False

    def write(method: str) -> None:
        nonlocal busy
        if method == "write" and not busy:
            busy = True
            world.agent_updates(fact.id, tags=[world.clock.new_id()])
            busy = False

    world.store.before = write
    with pytest.raises(errors.RevisionMismatchError):
        accept_proposals(world.ctx, [made])
    world.store.before = lambda _: None

    assert world.outcomes() == [""]


def test_one_who_writes_in_between_is_written_around(world: ProposalWorld) -> None:
    fact, made = world.better()
    calls: list[str] = []

    def write(method: str) -> None:
        calls.append(method)
        if calls.count("write") == 1 and method == "write":
            world.agent_updates(fact.id, tags=["between"])

    world.store.before = write
    accept_proposals(world.ctx, [made])
    world.store.before = lambda _: None

    assert (world.fact(fact.id).title, [*world.fact(fact.id).tags]) == (
        "A better title",
        ["between"],
    )


@pytest.mark.long(5)
def test_whatever_step_a_crash_comes_before_an_answer_stands() -> None:
    number, died = 0, True
    while died:
        number, died = number + 1, False
        world = ProposalWorld()
        world.better()
        world.ticks(ACCEPT)
        world.at("", die, number=number)
        try:
            world.settle()
        except KeyboardInterrupt:
            died = True
        world.vault.before = world.store.before = lambda _: None
        world.vault.crash()
        with world.nobody_writes():
            settle_proposals(world.ctx, dry_run=True)
        world.settle()
        world.sync()  # a vault without the summary of the last run may be an older copy
        world.settle()

        assert (world.outcomes(), world.review_notes()) == (["accepted"], [])
        world.assert_at_rest()
    assert number > len(("write", "exchange", "remove"))


@pytest.mark.parametrize("step", [(SimVault, "scan"), (service._ProposalNotes, "find")])
def test_a_note_that_moves_while_another_is_searched_for_is_not_rejected(
    world: ProposalWorld, monkeypatch: pytest.MonkeyPatch, step: tuple[type, str]
) -> None:
    for number in "12":
        world.proposed(world.change(world.mirrored(title=number), title="A better title"))
    first, second = world.archive.proposals()
    world.person_deletes(str(first.note_path))
    real = getattr(*step)

    def moves(*given: object) -> object:
        done = real(*given)
        if str(second.note_path) in world.vault.files:
            world.person_renames(str(second.note_path), "elsewhere.proposal.md")
        return done

    monkeypatch.setattr(*step, moves)
    for _ in range(2):
        world.settle()
        assert sorted(world.outcomes()) == ["", "rejected"]


def test_the_vault_is_scanned_once_for_many_notes_that_are_gone(
    world: ProposalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in "123":
        world.proposed(world.change(world.mirrored(title=number), title="A better title"))
    for path in world.review_notes():
        world.person_deletes(path)
    scans: list[VaultScan] = []
    scan = SimVault.scan

    def counted(vault: SimVault) -> VaultScan:
        scans.append(scan(vault))
        return scans[-1]

    monkeypatch.setattr(SimVault, "scan", counted)
    world.settle()
    assert world.outcomes() == ["rejected"] * 3
    assert len(scans) == 1


def test_a_note_unreadable_or_moved_in_a_dry_run_is_no_answer(world: ProposalWorld) -> None:
    _, made = world.better()
    folder = str(made.note_path).rpartition("/")[0]
    world.vault.break_folder(folder)
    world.settle()
    world.vault.broken.clear()
    world.person_writes("Copy.md", world.text(str(made.note_path)))
    world.person_renames(str(made.note_path), "elsewhere.proposal.md")
    assert settle_proposals(world.ctx, dry_run=True) is None

    assert world.outcomes() == [""]
    assert world.archive.proposals()[0].note_path == made.note_path
    world.settle()
    assert world.archive.proposals()[0].note_path == "elsewhere.proposal.md"  # and not the copy


def test_a_stale_proposal_that_an_editor_is_saving_stays_stale(world: ProposalWorld) -> None:
    fact, made = world.better()
    path = str(made.note_path)
    world.agent_updates(fact.id, title="Another title")
    world.ticks(ACCEPT)

    def save(step: str) -> None:
        if step == "exchange.swap" and f"again-{made.id}" in world.vault.ops():
            world.vault.before = lambda _: None
            world.person_edits(path, "# Proposal", "# My proposal")

    world.vault.before = save
    report = world.settled()
    assert list(report.attention) == []
    report = world.settled()

    assert [x.kind for x in report.attention] == ["proposal_changed"]
    assert world.fact(fact.id).title == "Another title"


def test_a_change_of_a_long_text_shows_the_lines_that_differ(world: ProposalWorld) -> None:
    text = "\n".join(f"Line {n} stays." for n in range(12))
    fact = world.mirrored(text)
    made = world.proposed(world.change(fact, content=text.replace("Line 6 stays", "Line 6 goes")))
    said = world.text(str(made.note_path))

    assert "-Line 6 stays.\n+Line 6 goes." in said.replace("- ", "-").replace("+ ", "+")
    assert "Line 1 stays" not in said
    assert decision_in("no frontmatter") is None


def test_a_change_of_what_is_related_shows_what_goes(world: ProposalWorld) -> None:
    old, new = world.mirrored("An old lead.").id, world.mirrored("A new lead.").id
    fact = world.mirrored("A finding.", relatedFactIds=[old])
    made = world.proposed(world.change(fact, relatedFactIds=[new]))

    assert f"- {old}\n+ {new}" in world.text(str(made.note_path))


def test_another_fact_of_the_proposal_is_named_instead_of_its_id(world: ProposalWorld) -> None:
    old, new = world.mirrored("The fee is 180."), world.mirrored("The fee is 220.")
    changes = (world.change(old, supersededById=new.id), world.change(new, supersedesId=old.id))
    said = world.text(str(world.proposed(*changes, kind="contradiction").note_path))

    for key, fact in (("supersededById", new), ("supersedesId", old)):
        assert f"**{key}**\n\n- [[{str(fact.path).removesuffix('.md')}|" in said
        assert fact.id not in said.partition("# Proposal")[2]


def test_secrets_stay_hidden_in_the_note_and_go_to_the_store(world: ProposalWorld) -> None:
    dice = random.Random("proposals")
    token = secrets.token("github", dice)
    hidden = ProposalWorld(view=NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True))
    fact = hidden.mirrored(f"Alpha says this: {token}.")
    change = hidden.change(fact, content=f"Alpha says: {token}.")
    made = hidden.proposed(change, hidden.deletion(hidden.mirrored(f"Copy {token}.")))
    (shown,) = visible_proposals(hidden.ctx, agent=None)

    assert token not in hidden.text(str(made.note_path))
    assert token not in repr(shown)
    assert shown.changes[1].after is None
    with hidden.outage():
        assert token not in repr(visible_proposals(hidden.ctx, agent=None))
    accept_proposals(hidden.ctx, [made])
    assert hidden.fact(fact.id).content == f"Alpha says: {token}."


def test_a_vault_that_is_away_or_another_one_rejects_nothing(world: ProposalWorld) -> None:
    world.better()
    world.vault.missing = True
    with pytest.raises(errors.VaultMissingError):
        world.settle()
    world.vault.missing = False
    with world.archive.transaction():
        world.archive.set_setting("vault_id", "another")
    with pytest.raises(errors.VaultMismatchError):
        world.settle()

    assert world.outcomes() == [""]
