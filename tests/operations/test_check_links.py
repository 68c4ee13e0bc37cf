"""All links of a vault are checked; those with one possible target can be fixed."""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate
from unittest.mock import Mock

import pytest
from msgspec import to_builtins
from msgspec.json import encode

from tests.world import World
from vaultsync.model.paths import VaultPath
from vaultsync.operations.adopt import adopt_notes
from vaultsync.operations.check_links import LinkReport, check_links, fix_links
from vaultsync.operations.relink import LINKS_ACTOR
from vaultsync.operations.undo import undo_run

FOREIGN = "elsewhere/Foreign.md"


@pytest.fixture
def world() -> World:
    world = World()
    world.mirrored("# Work\n\nAt sea. ^sea", title="Alice", type="person", aliases=["Al"])
    world.mirrored("-", title="My plan", type="project")
    return world


def check(world: World, *files: str) -> LinkReport:
    with world.nobody_writes():
        return check_links(world.ctx, files=lambda: map(VaultPath, files))


def fix(world: World) -> LinkReport:
    world.clock.advance(1)
    return fix_links(world.ctx)


def links(report: LinkReport) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind, problems in report.by_kind.items():
        if problems:
            found[kind] = [each.link for each in problems]
    return found


def test_links_that_lead_somewhere_are_no_problem(world: World) -> None:
    world.mirrored("[[Alice]] [[alice#work]] [[Alice#^sea]] ![[p.png]] [x](Alice.md)")
    report = check(world, "media/p.png", "media/p.png")
    assert report.problems == ()
    assert report.links == {
        "embed": {"name": 1},
        "markdown": {"name": 1},
        "wiki": {"name": 1, "name, block": 1, "name, heading": 1},
    }
    assert report.notes == 3


def test_links_on_canvases_are_checked(world: World) -> None:
    cards = [
        {"type": "file", "file": "team-core/people/Alice.md", "subpath": "#Work"},
        {"type": "file", "file": "Gone.md"},
        {"type": "text", "text": "[[Alice]], [[Al]]"},
    ]
    world.person_writes("Plan.canvas", json.dumps({"nodes": cards}, indent=1))

    report = check(world)

    assert links(report) == {"broken": ["Gone.md"], "alias_only": ["[[Al]]"]}
    assert [(x.path, x.kind, x.fix, x.line) for x in report.problems] == [
        ("Plan.canvas", "canvas", None, 10),
        ("Plan.canvas", "canvas", None, 14),
    ]
    assert report.links["canvas"] == {"alias only": 1, "broken": 1, "name": 1, "path, heading": 1}


def test_each_problem_says_where_it_is_and_why(world: World) -> None:
    fact = world.mirrored("One.\n\nTwo [[Nobody|x]].", title="Held")
    path = world.path(fact.id)

    (problem,) = check(world).problems

    assert json.loads(encode(problem)) == {
        "path": path,
        "line": world.text(path).split("\n").index("Two [[Nobody|x]].") + 1,
        "link": "[[Nobody|x]]",
        "kind": "wiki",
        "property": None,
        "why": "nothing is called Nobody",
        "candidates": [],
        "fix": None,
    }


def test_foreign_notes_are_checked_too(world: World) -> None:
    head = "---\nup: '[[Al]]'\nx: [\"[[None]]\"]\na: '[[ Nobody ]]'\n---\n"
    world.person_writes(FOREIGN, head + "[[Alice]]\n")
    report = check(world)
    assert links(report) == {"alias_only": ["[[Al]]"], "broken": ["[[None]]", "[[Nobody]]"]}
    assert [(each.property, each.kind, each.line) for each in report.problems] == [
        ("up", "property", 2),
        ("x.0", "property", 3),
        ("a", "property", 4),  # only its meaning is known
    ]


def test_an_agent_is_told_nothing_of_notes_and_canvases_that_it_may_not_see(world: World) -> None:
    hers = world.mirrored("[[Nobody]]", agent="ada", scope="private-ada")
    world.person_renames(hers, "Journal/moved.md")
    for number in range(2):
        world.person_writes(f"{number}.canvas", "{}")
    world.clock.advance(60)
    assert links(check(world)) == {"broken": ["[[Nobody]]"]}
    assert links(check_links(world.ctx, agent="indy")) == {}


def test_conflict_notes_are_no_part_of_it_but_can_be_linked_to(world: World) -> None:
    fact = world.mirrored("One.")
    world.agent_updates(fact.id, content="Two [[Nobody]].")
    world.person_edits(fact, "One.", "Three [[None]].")
    world.sync()
    (conflict,) = world.conflict_notes()
    name = conflict.rpartition("/")[2].removesuffix(".md")
    world.person_writes(FOREIGN, f"[[{name}]]")
    assert links(check(world)) == {"broken": ["[[None]]"]}


def test_notes_that_cannot_be_read_are_named(world: World) -> None:
    world.person_writes("bad/a.md", b"\xff [[Nobody]]")
    world.person_writes("bad/b.md", "---\na: [\n---\n[[Nobody]] [[Alice]]")
    world.person_writes(FOREIGN, "[[a]] [[b#x]]")
    report = check(world)
    assert report.unreadable == ("bad/a.md", "bad/b.md")
    assert links(report) == {"broken": ["[[Nobody]]", "[[b#x]]"]}


def test_ambiguous_links_name_their_candidates(world: World) -> None:
    world.person_writes("a/Twin.md", "-")
    world.person_writes("bb/Twin.md", "-")
    world.person_writes(FOREIGN, "[[Twin]] [[bb/Twin]]")
    (problem,) = check(world).ambiguous
    assert problem.candidates == ("a/Twin.md", "bb/Twin.md")
    assert problem.fix is None


def test_a_check_as_json_keeps_the_contract(world: World) -> None:
    world.mirrored("[[Nobody]] [[Al]]")
    steps: list[tuple[str, int, int]] = []
    found = check_links(world.ctx, progress=lambda *now: steps.append(now))
    exported = json.loads(json.dumps(to_builtins(found)))
    assert set(exported) >= {"broken", "ambiguous", "alias_only", "fixed"}
    assert [each["fix"] for each in exported["alias_only"]] == ["[[Alice|Al]]"]
    assert exported["fixed"] == []
    assert steps == [("links", 1, 3), ("links", 2, 3), ("links", 3, 3)]


def test_links_with_one_possible_target_are_fixed_on_both_sides(world: World) -> None:
    fact = world.mirrored(
        "With [[Al]], [[my-plan|plan]], ![[Al#Work]] and [[Nobody]].\n\n`[[Al]]`",
        entities=["Al"],
        see="[[my plan]]",
        relatedFactIds=[],
    )
    before, old_fact = world.note(fact.id), world.fact(fact.id)

    report = fix(world)

    for old, new in (
        ("[[Al]],", "[[Alice|Al]],"),
        ("[[my-plan|plan]]", "[[My plan|plan]]"),
        ("![[Al#Work]]", "![[Alice#Work]]"),
        ("- [[Al]]", "- [[Alice|Al]]"),
    ):
        before = before.replace(old, new)
    assert world.note(fact.id).split("\n---\n", 1)[1] == before.split("\n---\n", 1)[1]
    assert world.fact(fact.id).entities == ("Alice",)
    fixed = Counter(each.link for each in report.fixed)
    assert fixed == {"![[Al#Work]]": 1, "[[Al]]": 3, "[[my-plan|plan]]": 1}
    assert links(report) == {"broken": ["[[Nobody]]"]}
    world.assert_at_rest()
    run = str(report.run)
    assert {each.actor for each in world.archive.history(run=run)} == {LINKS_ACTOR}
    world.clock.advance(1)
    undo_run(world.ctx, run)
    world.quiesce()
    now = world.fact(fact.id)
    assert (now.content, now.entities) == (old_fact.content, old_fact.entities)
    world.assert_at_rest()


def test_a_fixed_link_under_related_facts_relates_the_fact(world: World) -> None:
    alice = next(each for each in world.facts() if each.title == "Alice")
    plan = next(each for each in world.facts() if each.title == "My plan")
    fact = world.mirrored("-", relatedFactIds=[plan.id])
    world.person_edits(fact, "- [[My plan]]\n", "- [[My plan]]\n- [[Al]]\n")
    world.quiesce()
    assert world.fact(fact.id).related_fact_ids == (plan.id,)
    fix(world)
    assert "- [[My plan]]\n- [[Alice|Al]]\n" in world.note(fact.id)
    assert world.fact(fact.id).related_fact_ids == (plan.id, alice.id)
    world.assert_at_rest()


def test_foreign_notes_are_never_written_and_nothing_to_fix_is_no_run(world: World) -> None:
    world.person_writes(FOREIGN, "[[Al]]")
    world.mirrored("With [[Alice]] and [[Nobody]].")
    with world.nobody_writes():
        report = fix(world)
    assert world.text(FOREIGN) == "[[Al]]"
    assert (report.run, report.fixed) == (None, ())
    assert [each.fix for each in report.alias_only] == ["[[Alice|Al]]"]


def test_relative_links_of_modules_are_fine_for_they_start_at_its_file(world: World) -> None:
    fact = world.mirrored("[a](../../../Alice.md) [[Al]] ![](b.png)", source="module:demo")
    report = check(world)
    assert [each.fix for each in report.problems] == ["[[Alice|Al]]"]
    assert report.links["embed"] == {"relative to its file": 1}
    assert fix(world).problems == ()
    assert world.fact(fact.id).content == "[a](../../../Alice.md) [[Alice|Al]] ![](b.png)"


def test_links_to_former_paths_are_fixed(world: World) -> None:
    tea = world.mirrored("-", title="Tea", type="entity")
    fact = world.mirrored("Some [[Tea|tea]].")
    world.person_renames(tea, "team-core/entities/Green tea.md")
    world.quiesce()
    (problem,) = check(world).problems
    assert problem.why == "the note moved to team-core/entities/Green tea.md"
    report = fix(world)
    assert world.fact(fact.id).content == "Some [[Green tea|tea]]."
    assert ([each.link for each in report.fixed], report.problems) == (["[[Tea|tea]]"], ())


def test_an_old_place_of_several_notes_tells_nothing(world: World) -> None:
    for name in ("One", "Two"):
        fact = world.mirrored("-", title="Twin", type="entity")
        world.person_renames(fact, f"team-core/entities/{name}.md")
        world.quiesce()
    world.mirrored("[[Twin]]", title="Links")
    (problem,) = check(world).problems
    assert problem.why.startswith("it is the title of team-core/entities/One.md, ")
    assert problem.fix is None


def test_the_guard_does_not_stop_the_fixing_of_many_notes(world: World) -> None:
    for number in range(120):
        world.person_writes(f"team-core/notes/n{number}.md", "[[Al]]")
    world.clock.advance(60)
    adopt_notes(world.ctx, [])
    world.quiesce()
    assert len(fix(world).fixed) == 120
    world.assert_at_rest()


def test_lines_of_a_note_are_counted_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from its beginning for each of its links."""
    fact = world.mirrored("\n".join(f"[[Nothing {n}]] [[None]]" for n in range(30)), see="[[No]]")
    counted = Mock(wraps=accumulate)
    monkeypatch.setattr("vaultsync.operations.check_links.accumulate", counted)
    report = check(world)
    found = report.problems
    assert counted.call_count == report.notes
    lines = world.note(fact.id).split("\n")
    assert len(found) == 61
    assert all(each.link in lines[each.line - 1] for each in found)
