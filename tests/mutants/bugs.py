"""Bugs that somebody could make, each with the test that must not let it pass."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug: in one file, exact old text becomes new text."""

    name: str
    file: str
    """Below `vaultsync/`."""
    edits: tuple[tuple[str, str], ...]
    test: str
    """The test that fails of it, below `tests/`."""


MODEL = "proofs/test_model.py"
FAULTS = "proofs/test_faults.py"
EDIT_VS_EDIT = f"{MODEL}::test_a_crash_before_any_effect_loses_nothing[person-line+agent-line]"

BUGS: tuple[Bug, ...] = (
    Bug(
        "no compare-and-set in the vault",
        "adapters/vault_fs.py",
        (
            ("            if not swaps and seen[0] == expect:\n", "            if not swaps:\n"),
        ),
        "contracts/test_vault.py::test_a_save_in_the_window_before_the_swap_is_put_back",
    ),
    Bug(
        "no compare-and-set in the store",
        "adapters/store_sqlite.py",
        (("        if found != write.expect:\n", "        if False:\n"),),
        "contracts/test_store.py::test_a_write_on_an_old_revision_is_refused",
    ),
    Bug(
        "the engine does not name the revision it read",
        "adapters/store_memory.py",
        (("        if found != write.expect:\n", "        if False:\n"),),
        f"{MODEL}::test_an_agents_edit_before_any_effect_loses_nothing",
    ),
    Bug(
        "a new note replaces what is there",
        "adapters/vault_fs.py",
        (
            (
                "        if self._exchange and syscalls.rename_new(source, to):\n"
                "            return\n",
                "        syscalls.replace(source, to)\n        return\n",
            ),
        ),
        "contracts/test_vault.py::test_creating_never_replaces",
    ),
    Bug(
        "base first",
        "engine/batch.py",
        (
            (
                "            self.mirror.archive.put_intents(intents)\n",
                "            self.mirror.archive.put_bases(\n"
                "                Base(i.fact, i.sha, None) for i in items if i.data\n"
                "            )\n",
            ),
        ),
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing",
    ),
    Bug(
        "conflict note after the writes",
        "engine/batch.py",
        (
            (
                "            if action.conflicts:\n"
                "                item.conflict = self._conflict(item)\n",
                "",
            ),
            (
                "            history += entries(",
                "            if action.conflicts:\n"
                "                write_conflict_note(self.mirror, self._conflict(item))\n"
                "            history += entries(",
            ),
        ),
        EDIT_VS_EDIT,
    ),
    Bug(
        "conflict notes named by time",
        "engine/batch.py",
        (
            (
                "            id=conflict_id(action.fact_id, action.conflicts),\n",
                "            id=conflict_id(action.fact_id + self.at, action.conflicts),\n",
            ),
        ),
        f"{MODEL}::test_a_conflict_met_again_after_any_crash_has_one_conflict_note",
    ),
    Bug(
        "the base moves before the files are durable",
        "engine/batch.py",
        (
            (
                "        if any(item.writes_vault for item in items):\n"
                "            self.mirror.vault.sync()\n",
                "",
            ),
        ),
        f"{MODEL}::test_a_power_cut_before_any_effect_loses_nothing",
    ),
    Bug(
        "a note is deleted on the first listing",
        "engine/cases.py",
        (
            (
                "    return base.missing_since is not None and"
                " base.missing_since < mirror.now()\n",
                "    return True\n",
            ),
        ),
        "engine/test_deletions.py::"
        "test_a_note_that_is_gone_is_deleted_only_at_the_second_look",
    ),
    Bug(
        "a deletion beats an edit",
        "core/reconcile.py",
        (
            (
                "            Do.RECREATE_NOTE,\n"
                '            "deleted in the vault, changed in the store: the edit wins",\n',
                '            Do.DELETE_FACT,\n            "deleted in the vault",\n',
            ),
        ),
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing",
    ),
    Bug(
        "no look at the marker",
        "engine/gate.py",
        (("    elif expected not in (None, found):\n", "    elif False:\n"),),
        "engine/test_vault_trouble.py::test_another_vault_at_the_same_place_stops_the_pass",
    ),
    Bug(
        "frontmatter is dumped anew",
        "core/frontmatter.py",
        (
            (
                "        edits, expected = _intended(before, changes)\n"
                "        if not edits:\n"
                "            return parts\n"
                "        parts = _fenced(parts)\n",
                "        edits, expected = _intended(before, changes)\n"
                "        if not edits:\n"
                "            return parts\n"
                "        parts = _fenced(parts)\n"
                "        whole = render(expected).split(\"---\\n\")[1]\n"
                "        return replace(parts, yaml=whole)\n",
            ),
        ),
        "core/test_splice.py::test_an_edit_keeps_comments_spelling_and_line_ends",
    ),
    Bug(
        "every stamp is trusted",
        "engine/snapshot.py",
        (
            (
                "    return None if stamp.ctime_ns > at_ns - RACY_NS else stamp\n",
                "    return stamp\n",
            ),
        ),
        f"{MODEL}::test_a_persons_edit_before_any_effect_loses_nothing",
    ),
    Bug(
        "size decides instead of bytes",
        "engine/snapshot.py",
        (
            (
                "file.sha == base.sha and not",
                "base.stamp and file.stamp.size == base.stamp.size and not",
            ),
        ),
        f"{MODEL}::test_a_persons_edit_before_any_effect_loses_nothing",
    ),
    Bug(
        "links are followed",
        "adapters/syscalls.py",
        (
            (
                "READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK\n",
                "READ = os.O_RDONLY | os.O_NONBLOCK\n",
            ),
        ),
        "contracts/test_vault.py::test_what_is_no_regular_file_is_neither_read_nor_replaced",
    ),
    Bug(
        "the guard knows a share only",
        "core/reconcile.py",
        (
            (
                "    if facts <= MAX_DELETES:\n",
                "    allowed = facts * 9 // 10\n    if False:\n",
            ),
        ),
        "engine/test_guard.py::test_too_many_deletions_by_a_person_stop_the_whole_pass",
    ),
    Bug(
        "a full disk is swallowed",
        "engine/batch.py",
        (
            (
                "        except PermissionError as denied:\n"
                "            self._half_done(item)\n",
                "        except OSError as denied:\n            return\n",
            ),
        ),
        FAULTS,
    ),
    Bug(
        "displaced files are not examined",
        "engine/recovery.py",
        (
            (
                "        if file is not None and file.sha != linger.sha"
                " and file.data.strip():\n",
                "        if False:\n",
            ),
        ),
        f"{MODEL}::test_a_persons_edit_before_any_effect_loses_nothing"
        "[agent-line-handle]",
    ),
    Bug(
        "a note that cannot be parsed is a new one",
        "core/note.py",
        (
            (
                "    parts, raw = frontmatter.split_note(text, path)\n",
                "    try:\n"
                "        parts, raw = frontmatter.split_note(text, path)\n"
                "    except UnreadableNoteError:\n"
                '        parts, raw = frontmatter.split_note("\\n" + text, path)\n',
            ),
        ),
        "engine/test_unreadable.py::"
        "test_what_cannot_be_read_is_left_alone_until_it_is_mended",
    ),
    Bug(
        "text is lower-cased",
        "core/values.py",
        (
            (
                '    return value.replace("\\r\\n", "\\n").strip("\\n")\n',
                '    return value.replace("\\r\\n", "\\n").strip("\\n").lower()\n',
            ),
        ),
        "engine/test_person_edits.py::test_a_persons_edit_reaches_the_store",
    ),
    Bug(
        "bytes that are no UTF-8 are replaced",
        "core/note.py",
        (
            (
                "        text = data.decode()\n",
                '        text = data.decode(errors="replace")\n',
            ),
        ),
        "core/test_note.py::test_what_is_no_note_is_named_with_its_line",
    ),
    Bug(
        "the outbox keeps copies and no deltas",
        "engine/outbox.py",
        (
            (
                "    merged = merge(before, current, wanted)\n",
                "    merged = merge(current, current, wanted)\n",
            ),
        ),
        "engine/test_store_trouble.py::"
        "test_what_others_wrote_during_our_outage_is_not_overwritten_by_the_outbox",
    ),
    Bug(
        "the outbox waits for no conflict note",
        "engine/outbox.py",
        (("    if merged.conflicts:\n", "    if False:\n"),),
        "proofs/test_regressions.py::"
        "test_two_writers_of_one_line_in_an_outage_both_keep_their_words",
    ),
    Bug(
        "updatedAt decides",
        "core/changes.py",
        (
            (
                "    if now.id != base.id or stale(now, fact, fact) or differing(fact, base):\n",
                '    if now.values.get("updatedAt") != base.updated_at:\n',
            ),
        ),
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing[person-status]",
    ),
    Bug(
        "lists unite without a base",
        "core/merge.py",
        (("each in in_store or each not in before]", "True]"),),
        "engine/test_person_edits.py::test_a_tag_removed_by_one_side_stays_removed",
    ),
    Bug(
        "the last writer of a scalar wins",
        "core/merge.py",
        (
            (
                "    return _Outcome(vault, not (same(store, base) or same(vault, store)))\n",
                "    return _Outcome(vault)\n",
            ),
        ),
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing"
        "[person-status+agent-status]",
    ),
    Bug(
        "a conflict takes the agent's text",
        "core/merge.py",
        (
            (
                "        return _Outcome(vault, conflict=True)\n",
                "        return _Outcome(store)\n",
            ),
        ),
        EDIT_VS_EDIT,
    ),
    Bug(
        "what is only counted causes a write",
        "core/render.py",
        (
            (
                "(row and row.owner is Owner.VOLATILE)",
                "(row and row.key == 'updatedAt')",
            ),
        ),
        "proofs/test_regressions.py::test_a_count_is_no_reason_to_write_a_note",
    ),
    Bug(
        "a store that went back goes unnoticed",
        "engine/gate.py",
        (
            (
                "    why = None if request.trust_store else _rewound(mirror, state)\n",
                "    why = None\n",
            ),
        ),
        "engine/test_store_trouble.py::test_a_store_from_an_old_backup_stops_the_pass",
    ),
    Bug(
        "undo overwrites newer edits",
        "engine/undo.py",
        (
            (
                "    return merge(then, current, earlier).fact\n",
                "    return earlier\n",
            ),
        ),
        "engine/test_undo.py::test_what_was_changed_since_stays",
    ),
    Bug(
        "a copy keeps the id",
        "engine/newcomers.py",
        (("Case(mirror.clock.new_id(), None", "Case(seen.note.id or mirror.clock.new_id(), None"),),
        "engine/test_identity.py::test_a_copy_becomes_a_fact_of_its_own",
    ),
    Bug(
        "intents are forgotten",
        "engine/recovery.py",
        (
            (
                "    for intent in mirror.archive.intents():\n",
                "    for intent in ():\n",
            ),
        ),
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing",
    ),
)
