"""Bugs in what is known about a project: on which branch a fact holds, and its modules."""

from __future__ import annotations

from tests.mutants.bug import Bug

VISIBILITY, ENTRIES = "repos/test_visibility.py", "repos/test_repo_entries.py"
WRITES, SYNCS = "modules/test_module_writes.py", "modules/test_module_sync.py"

PROJECT_BUGS: tuple[Bug, ...] = (
    Bug(
        "a fact of a squashed branch is lost on its branch",
        "repos/visibility.py",
        "chain([own], filter(None, self._squashed(place, ends, paths)))",
        "[own]",
        f"{VISIBILITY}::test_histories_that_few_rules_tell_apart",
    ),
    Bug(
        "a merge request of the same files counts, whichever branch it names",
        "repos/visibility.py",
        "            if is_version or place.branch in _merged_in(each.message):\n",
        "            if each:\n",
        f"{VISIBILITY}::test_the_message_of_a_merge_request_counts",
    ),
    Bug(
        "a fact is lost when its commit is amended",
        "repos/visibility.py",
        "is_version = each.author == at.author",
        "is_version = False",
        f"{VISIBILITY}::test_a_later_version_of_a_commit_has_its_author_and_one_of_its_files",
    ),
    Bug(
        "a way by which a fact arrived is forgotten",
        "repos/visibility.py",
        "        ways = (place, *(Place(commit) for commit in known.get(place, ())))\n",
        "        ways = (place,)\n",
        f"{VISIBILITY}::test_histories_that_few_rules_tell_apart",
    ),
    Bug(
        "a fact is replaced where the other one does not hold",
        "repos/visibility.py",
        "for each in self._replaces if each in shown]",
        "for each in self._replaces]",
        f"{VISIBILITY}::test_a_fact_replaces_another_one_only_where_it_holds",
    ),
    Bug(
        "a question shows what is of another branch",
        "recall/candidates.py",
        "        self.filters = self.filters._replace(without=without)\n",
        "",
        f"{VISIBILITY}::test_a_question_shows_what_holds_and_counts_the_rest",
    ),
    Bug(
        "an answer does not say what it hides of other branches",
        "recall/candidates.py",
        "            self.of_other_branches.add(fact_id)\n",
        "            pass\n",
        f"{VISIBILITY}::test_a_question_shows_what_holds_and_counts_the_rest",
    ),
    Bug(
        "an emptied memory.json deletes everything",
        "repos/inspectable.py",
        "MANY = 3\n",
        "MANY = 300\n",
        "surfaces/test_repositories.py::test_an_emptied_file_deletes_nothing",
    ),
    Bug(
        "a tool loses the keys that it wrote",
        "repos/inspectable.py",
        "{**memory, **more.values}",
        "memory",
        "surfaces/test_repositories.py::test_keys_that_another_tool_wrote_stay_in_the_file",
    ),
    Bug(
        "an entry that its base lacks is a second fact",
        "repos/inspectable.py",
        "            if key not in shown and kinds.get(key) == kind:\n",
        "            if False:\n",
        "surfaces/test_repositories.py::test_an_entry_without_base_is_no_second_fact",
    ),
    Bug(
        "what was saved meanwhile is taken for what was read",
        "api/repo_files.py",
        "folder.put_memory(data, file.data)",
        "folder.put_memory(data, folder.memory())",
        "surfaces/test_repositories.py::test_what_a_person_saves_meanwhile_stays",
    ),
    Bug(
        "a crash leaves a module half written",
        "modules/service.py",
        "                self._carry_out(intent)\n",
        "                pass\n",
        f"{WRITES}::test_a_crash_between_any_two_steps_is_finished",
    ),
    Bug(
        "an agent writes over what a person edited after a crash",
        "modules/service.py",
        "                text = current if merged is None else merged\n",
        "                text = intent.text\n",
        f"{WRITES}::test_a_person_who_edits_after_a_crash_keeps_both_edits",
    ),
    Bug(
        "a text that was not sent is taken for its checksum",
        "modules/mirror.py",
        "        return hit.checksum == entry.checksum and is_same\n",
        "        return hit.checksum == entry.checksum\n",
        f"{SYNCS}::test_a_lie_is_not_taken",
    ),
    Bug(
        "a remote that gives back another text counts as mirrored",
        "modules/mirror.py",
        "        if remote.verbatim and self._held(remote, record) is None:\n",
        "        if False:\n",
        f"{WRITES}::test_what_the_remote_refuses_waits_in_the_backlog",
    ),
    Bug(
        "a folder that is gone empties the memory",
        "modules/service.py",
        "            if topic == key and not listing.documents and not listing.topics:\n"
        "                continue  # the folder does not exist on this branch\n",
        "",
        f"{SYNCS}::test_a_folder_that_is_gone_forgets_no_document",
    ),
    Bug(
        "what the user accepted is written over a person's edit",
        "modules/service.py",
        "fact.title, fact.tags, agent, base)\n",
        "fact.title, fact.tags, agent, None)\n",
        f"{SYNCS}::test_what_is_accepted_is_merged_with_a_persons_edit",
    ),
)
