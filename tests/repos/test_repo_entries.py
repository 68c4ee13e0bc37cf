"""Entries of a repository's memory: as facts, as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.doubles.note_index import TemporaryIndex
from tests.world import World
from vaultsync.errors import InvalidFieldError, RepoFileParseError
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.repos.branch_runs import count_kept, digest_text, fold, promote
from vaultsync.repos.entries import (
    DECISION,
    NOTE,
    RepoDecision,
    RepoNote,
    StepSummary,
    belongs,
    open_follow_ups,
    place_values,
    to_entry,
    to_memory,
)
from vaultsync.repos.fact_queries import RepositoryFacts
from vaultsync.repos.inspectable import (
    JsonMemory,
    added_values,
    changed_values,
    kept_lines,
    memory_edits,
    nearest_base,
    read_memory,
    read_summary,
    render_memory,
    unknown_keys,
    with_facts,
    without_entries,
)
from vaultsync.repos.repo_context import build_repo_context, touches
from vaultsync.repos.repo_identity import RepoIdentity, WorkingCopy, identify

COMMIT = "a" * 40


def fact(number: int, **values: Value) -> Fact:
    named = {"id": f"01a1fd60-2f48-7000-8000-00000000000{number}", "content": f"Fact {number}."}
    return make_fact({**named, "createdAt": f"2026-02-0{number}T10:00:00Z", **values})


def identity(**values: Any) -> RepoIdentity:  # noqa: ANN401
    found = {"root": "/app", "remote": None, "branch": "main", "commit": COMMIT}
    return identify(WorkingCopy(**{"first_commit": COMMIT, **found, **values}))


def test_a_fact_belongs_to_a_repository_by_lineage_else_by_scope() -> None:
    here = identity()
    assert belongs(fact(1, lineage=here.lineage, scope="public"), here)
    assert not belongs(fact(1, lineage="other", scope="project-app"), here)
    assert belongs(fact(1, scope="project-app"), here)
    assert not belongs(fact(1), here)


def test_a_place_has_what_is_known_of_it() -> None:
    assert place_values(identity())["branch"] == "main"
    detached = place_values(identity(branch=None))
    assert detached["commit"] == COMMIT
    assert "branch" not in detached
    for unscoped in (place_values(identity(), unscoped=True), place_values(identity(commit=None))):
        assert "commit" not in unscoped


def test_notes_of_people_are_entries_too() -> None:
    why = fact(1, type="decision", title="Keep it", decisionRationale="So.", impactedPaths="a/")
    assert to_entry(why) == RepoDecision(
        why.id, "Keep it", "So.", ("a/",), why.created_at, why.created_at
    )
    lesson = to_entry(fact(2, type="lesson", agentId="indy"))
    assert isinstance(lesson, RepoNote)
    assert lesson.source == "agent"
    memory = to_memory([why, fact(2, type="lesson")])
    assert (len(memory.decisions), len(memory.notes)) == (1, 1)


def test_follow_ups_are_open_until_a_later_summary_ticks_them() -> None:
    older = fact(
        1, content="Did it.\n\n- [ ] Test it\n* [ ] Ship it.\nNext: write docs\nTODO: rest"
    )
    newer = fact(2, content="- [x] test  it.\n- [ ] Ship it")
    assert open_follow_ups([newer, older]) == ["Ship it", "write docs", "rest"]


# --- memory.json ----------------------------------------------------------------------


def note(entry_id: str, content: str = "x") -> dict[str, str]:
    return {"id": entry_id, "content": content, "source": "manual"}


def lists(**named: list[dict[str, str]]) -> Mapping[str, Any]:
    return {"convention": [], "decision": [], "note": [], **named}


def test_edits_are_what_differs() -> None:
    base = lists(note=[note("1"), note("2"), note("3")])
    now = lists(note=[note("1", "y"), note("2"), note("2", "copy"), {"content": "new"}])
    edits = memory_edits(base, now)
    assert [(kind, entry.get("content")) for kind, entry in edits.added] == [
        ("note", "copy"),
        ("note", "new"),
    ]
    assert [(before["id"], after["content"]) for _, before, after in edits.changed] == [("1", "y")]
    assert edits.removed == ["3"]
    assert not edits.is_emptied
    assert memory_edits(base, lists()).is_emptied
    assert memory_edits(lists(note=[note("1")]), lists()).removed == ["1"]
    assert memory_edits(base, base) == ([], [], [], False)


def test_new_entries_are_checked() -> None:
    assert added_values("convention", {"title": "A", "content": "B", "id": "x"})["title"] == "A"
    assert added_values("decision", {"summary": "A"})["title"] == "A"
    assert added_values("note", {"content": "A", "createdAt": 5})["source"] == "manual"
    for kind, entry in (
        ("convention", {"title": "A"}),
        ("decision", {"summary": 5}),
        ("note", {"content": "A", "source": "else"}),
    ):
        with pytest.raises(InvalidFieldError):
            added_values(kind, entry)


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("convention", {"tags": "a"}),
        ("convention", {"tags": [1]}),
        ("convention", {"title": 5}),
        ("decision", {"impactedPaths": "a"}),
        ("note", {"source": "else"}),
    ],
)
def test_changed_entries_are_checked(kind: str, entry: dict[str, Any]) -> None:
    with pytest.raises(InvalidFieldError):
        changed_values(fact(1, type=kind), kind, {}, entry)


def test_only_what_changed_in_the_file_is_taken_over() -> None:
    known = fact(1, type="convention", title="A", content="1\n\n2\n\n3", tags=["x"])
    before = {"title": "A", "content": "1\n\n2\n\n0", "tags": ["x"]}
    after = {"title": "B", "content": "one\n\n2\n\n0", "tags": ["x"]}
    assert changed_values(known, "convention", before, after) == {
        "title": "B",
        "content": "one\n\n2\n\n3",
    }
    clash = {**before, "content": "1\n\n2\n\nfile"}
    assert changed_values(known, "convention", before, clash) == {"content": "1\n\n2\n\nfile"}
    assert changed_values(known, "convention", {}, {"content": "file"}) == {"content": "file"}
    why = fact(2, type="decision", title="A", decisionRationale="So.")
    changed = changed_values(why, "decision", {"rationale": "So."}, {"rationale": "Thus."})
    assert changed == {"decisionRationale": "Thus."}


@pytest.mark.parametrize(
    "broken", [b"{", b"[]", b'{"notes": 1}', b'{"notes": [1]}', b'{"tool": 1e400}', None]
)
def test_a_file_that_is_none_has_no_keys_to_be_kept(broken: bytes | None) -> None:
    assert unknown_keys(broken) is None


def test_a_number_that_could_not_be_written_again_is_refused() -> None:
    with pytest.raises(RepoFileParseError, match="-1e400 is too large a number"):
        read_memory(b'{"tool": [1.5, -1e400]}', "memory.json")
    entry = b'{"notes": [{"id": "1", "score": 1e400}]}'
    assert without_entries(entry, {"1"}) == entry


def test_the_file_is_rendered_as_json() -> None:
    known = [fact(1, type="convention", title="A", tags=["x"]), fact(3, type="note", title="C")]
    why = fact(2, type="decision", title="B", content='"So"\n\tö', decisionImpactedPaths=["a/"])
    for facts in ([], known, [*known, why], known, [known[0], why, fact(3, content="New.")]):
        memory = msgspec.to_builtins(to_memory(facts))
        del memory["summaries"]
        text = json.dumps(memory, indent=2, ensure_ascii=False)
        assert render_memory(facts).decode() == f"{text}\n"


def test_what_another_tool_wrote_is_rendered_again() -> None:
    known = [fact(1, type="convention", title="A"), fact(2, content="B")]
    more = {"deep": [{"ö": "\ud800"}, 10**30, {}], "none": None}
    found = json.loads(render_memory(known))
    found["conventions"][0] |= more
    del found["notes"][0]["id"]
    found["notes"][0] |= more
    found |= {"tool": more}
    unknown = unknown_keys(json.dumps(found).encode())
    shown = render_memory(known, unknown)
    found["notes"][0]["id"] = known[1].id
    assert json.loads(shown) == found
    text = json.dumps(json.loads(shown), indent=2, ensure_ascii=False).replace("\ud800", r"\ud800")
    assert shown.decode() == f"{text}\n"


def test_the_nearest_version_is_the_base_and_of_several_the_newest() -> None:
    old, new = b'{"notes": [{"id": "1"}]}', b'{"notes": [{"id": "1", "content": "x"}]}'
    stale = b'{"notes": [{"id": "1"}, {"id": "2"}]}'
    assert nearest_base([old, new], stale, "x") == read_memory(old, "x")
    both = b'{"notes": [{"id": "1"}, {"id": "3"}]}'
    assert nearest_base([old, both], stale, "x") == read_memory(both, "x")
    assert nearest_base([], stale, "x") == read_memory(None, "x")


def test_the_base_has_the_entries_of_facts_that_it_lacks() -> None:
    def memory(*entries: tuple[str, str]) -> JsonMemory:
        shown = [{"id": key, "content": content} for key, content in entries]
        return read_memory(json.dumps({"notes": shown}).encode(), "x")

    base = memory(("1", "a"))
    versions = [memory(("2", "old"), ("3", "old")), memory(("2", "new"), ("3", "new"))]
    kinds = dict.fromkeys("1234", NOTE) | {"5": DECISION}
    now = memory(("1", "b"), ("2", "edited"), ("2", "copy"), ("3", "new"), ("4", "x"), ("5", "y"))
    found = with_facts(base, now, kinds, versions)
    expected = memory(("1", "a"), ("2", "old"), ("3", "new"))
    assert found == {**expected, NOTE: [*expected[NOTE], {"id": "4"}]}
    assert with_facts(base, memory(("1", "b")), kinds, versions) is base


def test_lines_that_are_no_summaries_are_passed_over() -> None:
    for line in (
        b"{",
        b"[]",
        b'{"runId": "r"}',
        b"\xff",
        b'{"runId":"r","stepId":"s","timestamp":"t","summary":" "}',
    ):
        assert read_summary(line) is None


def test_the_newest_lines_stay_within_the_limits() -> None:
    many = [StepSummary("r", str(n), "t", "x" * 100) for n in range(5, 0, -1)]
    assert len(kept_lines(many, entries=3, size=10_000)) == 3
    assert len(kept_lines(many, entries=9, size=400)) == 2
    assert len(kept_lines(many, entries=9, size=1)) == 1
    assert b'"stepId":"5"' in kept_lines(many, entries=2, size=10_000)[-1]


# --- the context ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "other", "meets"),
    [
        ("src/", "src/a.py", True),
        ("src/a.py", "src/", True),
        ("src", "src", True),
        ("src", "src2/a.py", False),
        ("", "a", True),
        ("a/b.py", "", True),
        ("a/b.py", "a/c.py", False),
    ],
)
def test_paths_meet_in_folders(path: str, other: str, *, meets: bool) -> None:
    assert touches([path], [other]) == meets


def test_a_map_takes_what_is_left() -> None:
    known = [fact(1, type="convention", title="Fact 1")]
    asked = []

    def repo_map(chars: int) -> str:
        asked.append(chars)
        return "m" * chars

    pack = build_repo_context(known, max_chars=200, repo_map=repo_map)
    assert (pack.chars, pack.items[-1].kind) == (200, "map")
    assert len(asked) == 1
    assert build_repo_context(known, max_chars=200, repo_map=lambda _: "").items[-1].kind != "map"
    small = build_repo_context(known, max_chars=30, repo_map=repo_map)
    assert len(asked) == 1
    assert small.chars <= 30


def test_a_budget_is_never_exceeded() -> None:
    known = [
        fact(1, type="convention", content="a\n\nb\n" * 9),
        fact(2, type="decision", title="D", content="why " * 30),
        fact(3, type="episodic", content="Did it.\n- [ ] open", sessionId="r"),
        fact(4, content="A note."),
        fact(5, content="- [ ] from long ago", week="2026-W01"),
        fact(6, content="Decided: x.\n- [ ] from longer ago", week="2026-W01"),
    ]
    whole = build_repo_context(known, max_chars=100_000)
    for chars in range(1, len(whole.text) + 2):
        pack = build_repo_context(known, max_chars=chars)
        assert len(pack.text) == pack.chars == sum(x.chars for x in pack.items) <= chars
        assert len(pack.items) + len(pack.left_out) == len(whole.items)
    assert [x.title for x in whole.items if x.kind == "follow_up"] == [
        "open",
        "from longer ago",
        "from long ago",
    ]


# --- runs -----------------------------------------------------------------------------


def test_only_facts_of_a_branch_are_promoted() -> None:
    world = World()
    anywhere = world.mirrored("Holds anywhere.")
    branch = world.mirrored("Holds on a branch.", commit=COMMIT, branch="topic")
    other = "b" * 40
    done = promote(world.ctx, {anywhere.id: other, branch.id: other}, actor="person")
    assert done.ids == (branch.id,)
    assert world.fact(branch.id).properties["promotedTo"] == [other]
    assert other in world.note(branch.id)
    assert promote(world.ctx, {branch.id: other}, actor="person").run is None
    world.assert_at_rest()


def test_a_promotion_leaves_alone_what_others_change_meanwhile() -> None:
    world = World()
    branch = world.mirrored("Holds on a branch.", commit=COMMIT, branch="topic")
    world.at_store("write", lambda: world.agent_updates(branch.id, content="New."))
    assert promote(world.ctx, {branch.id: "b" * 40}, actor="person").promoted == 0
    assert world.fact(branch.id).content == "New."


def _steps(world: World, count: int, **values: Value) -> list[Fact]:
    made = []
    for number in range(count):
        world.clock.advance(3 * 86_400)
        text = f"Did part {number}.\nDecision: {number}."
        made.append(world.mirrored(text, agent="indy", type="episodic", **values))
    return made[::-1]


def test_within_the_limits_nothing_is_folded() -> None:
    assert count_kept(_steps(World(), 3), entries=3, size=10_000) == 3


@pytest.mark.parametrize(("entries", "size"), [(4, 10_000), (99, 120)])
def test_old_summaries_become_a_digest_for_each_week(entries: int, size: int) -> None:
    world = World()
    steps = _steps(world, 6, commit=COMMIT, branch="main")
    stay = count_kept(steps, entries=entries, size=size)
    assert stay == 3
    assert fold(world.ctx, steps, stay, actor="person") == 3
    digests = [x for x in world.facts() if x.type == "note"]
    assert all("on main" in x.title and x.value("commit") == COMMIT for x in digests)
    text = "\n".join(x.content for x in digests)
    for number in range(3):
        assert f"Decision: {number}." in text
        assert f"Did part {number}." in text
    assert len([x for x in world.facts() if x.type == "episodic"]) == 3
    world.assert_at_rest()


def test_a_digest_outside_of_branches_is_named_by_its_week() -> None:
    world = World()
    fold(world.ctx, _steps(world, 5), 3, actor="person")
    titles = [x.title for x in world.facts() if x.type == "note"]
    assert titles
    assert all(" on " not in x for x in titles)


def test_a_digest_leaves_out_what_later_summaries_did() -> None:
    old = fact(1, content="Did it.\n- [ ] a\n- [ ] b")
    text = digest_text([old], [fact(2, content="- [x] a")])
    assert "- [ ] b" in text
    assert "- [ ] a" not in text


def test_facts_that_were_read_follow_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    world, index, known = World(), TemporaryIndex(), RepositoryFacts()

    def names() -> set[str]:
        return {x.content for x in known.read(world.ctx, index, identity())}

    first = world.mirrored("First.", scope="project-app")
    assert names() == {"First."}
    calls: list[object] = []
    monkeypatch.setattr(index, "browse", calls.append)  # is not asked again
    second = world.agent_remembers("Second.", scope="project-app")
    world.agent_remembers("Of another project.", scope="project-other")
    assert names() == {"First.", "Second."}
    world.agent_updates(first.id, content="Changed.")
    world.agent_forgets(second.id)
    assert names() == names() == {"Changed."}
    assert not calls
    monkeypatch.undo()
    monkeypatch.setattr("vaultsync.repos.fact_queries.MAX_ROWS", 0)
    world.agent_updates(first.id, content="Again.")
    assert names() == {"Again."}
    other = known.read(world.ctx, index, identity(root="/other"))
    assert [x.content for x in other] == ["Of another project."]


def test_without_an_index_all_facts_are_looked_at() -> None:
    class BrokenIndex(TemporaryIndex):
        def version(self) -> Any:  # noqa: ANN401
            raise OSError(5, "the disk is broken")

    world = World()
    known = world.mirrored("It is known.", scope="project-app")
    world.mirrored("It is not.")
    index = BrokenIndex()
    assert [x.id for x in RepositoryFacts().read(world.ctx, index, identity())] == [known.id]
