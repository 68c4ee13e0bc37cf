"""Bugs in what decides, each with the test that must not let it pass."""

from __future__ import annotations

from tests.mutants.bug import EDIT_VS_EDIT, MODEL, Bug

CORE_BUGS: tuple[Bug, ...] = (
    Bug(
        "a deletion beats an edit",
        "sync/decision_table.py",
        "(_USER_DELETED, _USER_DELETED, _RECREATE, ",
        "(_USER_DELETED, _USER_DELETED, _USER_DELETED, ",
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing",
    ),
    Bug(
        "frontmatter is dumped anew",
        "markdown/frontmatter.py",
        "        edits, expected = _intended(before, changes)\n"
        "        if not edits:\n"
        "            return parts\n"
        "        parts = _fenced(parts)\n",
        "        edits, expected = _intended(before, changes)\n"
        "        if not edits:\n"
        "            return parts\n"
        "        parts = _fenced(parts)\n"
        "        lines = [emit_property(k, v) for k, v in expected.items()]\n"
        '        whole = "".join(lines)\n'
        "        return parts._replace(yaml=whole)\n",
        "markdown/test_splice.py::test_an_edit_keeps_comments_spelling_and_line_ends",
    ),
    Bug(
        "a note whose properties are those of its fact is taken for its note",
        "notes/canonical_form.py",
        "    if body != others_body:\n",
        "    if False:\n",
        "notes/test_canonical_form.py::test_each_byte_counts",
    ),
    Bug(
        "the guard knows a share only",
        "sync/plausibility.py",
        "    if facts <= MAX_DELETES:\n",
        "    allowed = facts * 9 // 10\n    if False:\n",
        "sync/test_guard.py::test_too_many_deletions_by_a_person_stop_the_whole_pass",
    ),
    Bug(
        "what agents were told is written counts as an accident",
        "sync/changes.py",
        "        return self.since > 0 and actor not in NO_AGENTS\n",
        "        return False\n",
        "sync/test_guard.py"
        "::test_what_agents_were_told_is_written_comes_to_the_notes_however_much_it_is",
    ),
    Bug(
        "a note that cannot be parsed is a new one",
        "notes/parse.py",
        "    parts, raw = frontmatter.split_note(text, path)\n",
        "    try:\n"
        "        parts, raw = frontmatter.split_note(text, path)\n"
        "    except UnreadableNoteError:\n"
        '        parts, raw = frontmatter.split_note("\\n" + text, path)\n',
        "sync/test_unreadable.py::test_what_cannot_be_read_is_left_alone_until_it_is_mended",
    ),
    Bug(
        "text is lower-cased",
        "model/canonical.py",
        '.replace("\\r", "\\n").strip("\\n")\n',
        '.replace("\\r", "\\n").strip("\\n").lower()\n',
        "sync/test_person_edits.py::test_a_persons_edit_reaches_the_store",
    ),
    Bug(
        "bytes that are no UTF-8 are replaced",
        "notes/parse.py",
        "        text = data.decode()\n",
        '        text = data.decode(errors="replace")\n',
        "notes/test_parse.py::test_what_is_no_note_is_named_with_its_line",
    ),
    Bug(
        "updatedAt decides",
        "notes/edits.py",
        "    invalid = {problem.key for problem in now.problems}\n",
        '    if now.values.get("updatedAt") == before.values.get("updatedAt"):\n'
        "        return base.evolve(path=now.path)\n"
        "    invalid = {problem.key for problem in now.problems}\n",
        "sync/test_person_edits.py::test_nothing_depends_on_updated_at",
    ),
    Bug(
        "lists unite without a base",
        "sync/merge.py",
        "each in in_store or each not in before]",
        "True]",
        "sync/test_person_edits.py::test_a_tag_removed_by_one_side_stays_removed",
    ),
    Bug(
        "the last writer of a scalar wins",
        "sync/merge.py",
        "    return _ValueMerge(vault, not "
        "(equal_as_json(store, base) or equal_as_json(vault, store)))\n",
        "    return _ValueMerge(vault)\n",
        f"{MODEL}::test_a_crash_before_any_effect_loses_nothing[person-status+agent-status]",
    ),
    Bug(
        "a conflict takes the agent's text",
        "sync/merge.py",
        "    return _ValueMerge(vault, conflict=True) if merged is None else",
        "    return _ValueMerge(store) if merged is None else",
        EDIT_VS_EDIT,
    ),
    Bug(
        "what is only counted causes a write",
        "notes/render.py",
        "(row and row.owner is FieldOwner.VOLATILE)",
        "(row and row.key == 'updatedAt')",
        "sync/test_regressions.py::test_a_count_is_no_reason_to_write_a_note",
    ),
)
