"""Bugs in what acts, each with the test that must not let it pass; and all bugs."""

from __future__ import annotations

from tests.mutants.bug import EDIT_VS_EDIT, FAULTS, MODEL, Bug
from tests.mutants.core_bugs import CORE_BUGS
from tests.mutants.live_bugs import LIVE_BUGS
from tests.mutants.project_bugs import PROJECT_BUGS
from tests.mutants.recall_bugs import RECALL_BUGS

BUGS: tuple[Bug, ...] = (
    *CORE_BUGS,
    *LIVE_BUGS,
    *PROJECT_BUGS,
    *RECALL_BUGS,
    Bug(
        "no compare-and-set in the vault",
        "backends/filesystem/vault_fs.py",
        "            if under is unknown and found.sha == expect:\n",
        "            if under is unknown:\n",
        "contracts/test_vault.py::test_the_last_save_before_the_swap_is_put_back",
    ),
    Bug(
        "no compare-and-set in the store",
        "backends/sqlite/sqlite_store.py",
        "        if found != write.expect or",
        "        if",
        "contracts/test_store.py::test_a_write_on_an_old_revision_is_refused",
    ),
    Bug(
        "the engine does not name the revision it read",
        "../tests/doubles/store.py",
        "        if found != write.expect or",
        "        if",
        f"{MODEL}::test_an_agents_edit_before_any_effect_loses_nothing",
    ),
    Bug(
        "a new note replaces what is there",
        "backends/filesystem/vault_fs.py",
        "        if not syscalls.rename_new(source, to):\n",
        "        syscalls.replace(source, to)\n        if False:\n",
        "contracts/test_vault.py::test_creating_never_replaces",
    ),
    Bug(
        "base first",
        "sync/apply.py",
        "            self.ctx.archive.put_waiting(self.intents)\n",
        "            self.ctx.archive.put_bases(\n"
        "                Base(i.fact, i.sha, None) for i in items if i.data\n"
        "            )\n",
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing",
    ),
    Bug(
        "conflict note after the writes",
        "sync/apply.py",
        "            if action.conflicts:\n"
        "                item.conflict = conflict_of_action("
        "action, item.fact, self.run, self.at)\n",
        "",
        EDIT_VS_EDIT,
        also=(
            (
                "            if not item.history_written:\n",
                (
                    "            if action.conflicts:\n"
                    "                late = conflict_of_action("
                    "action, item.fact, self.run, self.at)\n"
                    "                write_conflict_note(self.ctx, late)\n"
                    "            if not item.history_written:\n"
                ),
            ),
        ),
    ),
    Bug(
        "conflict notes named by time",
        "sync/conflicts.py",
        "        id=conflict_id(action.fact_id, action.conflicts),\n",
        "        id=conflict_id(action.fact_id + at, action.conflicts),\n",
        f"{MODEL}::test_a_conflict_met_again_after_any_crash_has_one_conflict_note",
    ),
    Bug(
        "the base moves before the files are durable",
        "sync/apply.py",
        "        if writing:\n            self.ctx.vault.sync()\n",
        "",
        f"{MODEL}::test_a_power_cut_before_any_effect_loses_nothing",
    ),
    Bug(
        "a note is deleted on the first listing",
        "sync/identity.py",
        "        is_confirmed = since is not None and since < ctx.now()\n",
        "        is_confirmed = True\n",
        "sync/test_deletions.py::test_a_note_that_is_gone_is_deleted_only_at_the_second_look",
    ),
    Bug(
        "no look at the marker",
        "sync/preconditions.py",
        "    elif expected not in (None, vault_id):\n",
        "    elif False:\n",
        "sync/test_vault_errors.py::test_another_vault_at_the_same_place_stops_the_pass",
    ),
    Bug(
        "every stamp is trusted",
        "sync/snapshot.py",
        "    return None if stamp.ctime_ns > at_ns - RACY_WINDOW_NS else stamp\n",
        "    return stamp\n",
        f"{MODEL}::test_a_persons_edit_before_any_effect_loses_nothing",
    ),
    Bug(
        "what was read of a fact stays true while the vault is looked at",
        "sync/identity.py",
        "row and row.revision == seen.canonical_of.revision and",
        "row and",
        "sync/test_canonical_form.py::test_what_an_agent_writes_during_the_scan_is_no_base",
    ),
    Bug(
        "what a deletion took away goes when the pass crashed",
        "sync/recovery.py",
        "            self._keep_displaced(staged)\n",
        "",
        "sync/test_recovery.py::test_a_save_into_the_file_of_a_deleted_note_is_kept",
    ),
    Bug(
        "size decides instead of bytes",
        "sync/snapshot.py",
        "file.sha == base.sha and not",
        "base.stamp and file.stamp.size == base.stamp.size and not",
        f"{MODEL}::test_a_persons_edit_before_any_effect_loses_nothing",
    ),
    Bug(
        "links are followed",
        "backends/filesystem/syscalls.py",
        "READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK\n",
        "READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK\n",
        "contracts/test_vault.py::test_no_irregular_file_is_read_or_replaced",
    ),
    Bug(
        "a full disk is swallowed",
        "sync/apply.py",
        "        except (NoteMissingError, NoteExistsError):\n",
        "        except OSError:\n            return\n        except NoteExistsError:\n",
        FAULTS,
    ),
    Bug(
        "displaced files are not examined",
        "sync/recovery.py",
        "        if file is not None and file.sha != displaced.sha and file.data.strip():\n",
        "        if False:\n",
        f"{MODEL}::test_a_persons_edit_before_any_effect_loses_nothing[agent-line-handle]",
    ),
    Bug(
        "the outbox keeps copies and no deltas",
        "sync/outbox.py",
        "    merged = merge(before, current, queued, peers=True)\n",
        "    merged = merge(current, current, queued)\n",
        "sync/test_store_errors.py::test_what_others_wrote_is_not_overwritten_by_the_outbox",
    ),
    Bug(
        "a write keeps nothing of what it replaces",
        "backends/sqlite/sqlite_store.py",
        "    db.executemany(_KEEP, filter(None, kept.values()))\n",
        "",
        "contracts/test_store.py::test_a_version_that_is_replaced_is_kept_until_it_is_recorded",
    ),
    Bug(
        "a replaced version is dropped without a record",
        "sync/history.py",
        "            ctx.archive.add_history(unrecorded.entries)\n",
        "            ctx.archive.add_history([])\n",
        "sync/test_replaced_versions.py::"
        "test_a_blind_update_over_an_unseen_one_leaves_both_in_the_history",
    ),
    Bug(
        "a queued change forgets its condition",
        "sync/outbox.py",
        "        if _is_refused(row, current):\n            return",
        "        if False:\n            return",
        "sync/test_queued_conditions.py::test_a_change_whose_condition_fails_later_is_a_conflict",
    ),
    Bug(
        "uses leave the log before the store has them",
        "recall/access_counts.py",
        "            try:\n                counted",
        "            self._log.drop(batch.op)\n            try:\n                counted",
        "recall/test_access_counts.py::test_a_store_that_is_away_counts_once_it_is_back",
    ),
    Bug(
        "the outbox waits for no conflict note",
        "sync/outbox.py",
        "    if merged.conflicts and not dry_run:\n",
        "    if False:\n",
        "sync/test_regressions.py::test_two_writers_of_one_line_in_an_outage_both_keep_their_words",
    ),
    Bug(
        "a store that went back goes unnoticed",
        "sync/preconditions.py",
        "    why = _rewind_evidence(ctx, state, since, is_known=is_same)\n",
        "    why = None\n",
        "sync/test_store_errors.py::test_a_store_from_an_old_backup_stops_the_pass",
    ),
    Bug(
        "a note that could not be given back is not looked at again",
        "operations/adopt.py",
        "set_folders({parent_folder(each.path):",
        "set_folders({each.path:",
        f"{FAULTS}::test_wherever_an_undo_ends_a_pass_makes_it_good",
    ),
    Bug(
        "undo overwrites newer edits",
        "operations/undo.py",
        "    return earlier, merge(then, current, earlier).fact\n",
        "    return earlier, earlier\n",
        "operations/test_undo.py::test_what_was_changed_since_stays",
    ),
    Bug(
        "a copy keeps the id",
        "sync/identity.py",
        "Case(ctx.clock.new_id(), None",
        "Case(seen.note.id or ctx.clock.new_id(), None",
        "sync/test_identity.py::test_a_copy_becomes_a_fact_of_its_own",
    ),
    Bug(
        "intents are forgotten",
        "sync/recovery.py",
        "    for intent in interrupted:\n",
        "    for intent in ():\n",
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing",
    ),
    Bug(
        "a write of ours is not known beneath an agent's",
        "sync/recovery.py",
        "intent.fact.revision or ops.get(intent.fact_id) == intent.op\n",
        "intent.fact.revision\n",
        "sync/test_regressions.py"
        "::test_a_story_ends_well"
        "[what is saved again after a crash is no deletion by an agent]",
    ),
)
