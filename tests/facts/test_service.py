"""What agents do with facts; bad input gets a clear error and loses nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.world import LINES, SCOPE, World
from vaultsync import errors
from vaultsync.facts import service as work
from vaultsync.facts.listing import FactPage, select_facts
from vaultsync.model.due_dates import DUE_PROPERTIES
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import Value
from vaultsync.storage.clock import time_text
from vaultsync.storage.store import StoreWrite


def test_what_is_remembered_can_be_got(world: World) -> None:
    fact = world.agent_remembers("The words. And more.", tags=["#a", "a", "b"], priority=1)
    found = work.get(world.ctx, fact.id, agent="indy")
    assert found == fact
    assert (found.title, found.tags, found.agent_id) == ("The words", ("a", "b"), "indy")
    assert found.created_at
    assert found.path is None
    world.quiesce()
    assert work.get(world.ctx, fact.id, agent="indy").path == world.path(fact.id)


def test_a_new_tag_has_hyphens_for_spaces_as_in_obsidian(world: World) -> None:
    fact = world.agent_remembers("Words.", tags=["#two words", "two-words", "a  b"])
    assert fact.tags == ("two-words", "a-b")
    fact = work.update(
        world.ctx, fact.id, {}, agent="indy", add_tags=["c d"], remove_tags=["a b", "#two words"]
    )
    assert fact.tags == ("c-d",)
    assert work.update(world.ctx, fact.id, {"tags": ["e f"]}, agent="indy").tags == ("e-f",)


def test_a_comma_ends_a_new_tag_as_in_obsidian(world: World) -> None:
    fact = world.agent_remembers("Words.", tags=["#tea,#cup", "a b, c,"])
    assert fact.tags == ("tea", "cup", "a-b", "c")
    changed: dict[str, Any] = {"add_tags": ["milk,jug"], "remove_tags": ["tea, #C"]}
    fact = work.update(world.ctx, fact.id, {}, agent="indy", **changed)
    assert fact.tags == ("cup", "a-b", "milk", "jug")
    assert FactFilters(tags=frozenset({"cup,milk"})).admits(fact)
    assert not FactFilters(tags=frozenset({"cup,tea"})).admits(fact)
    assert not FactFilters(tags=frozenset({","})).admits(fact)


def test_a_tag_is_the_same_in_any_case_as_in_obsidian(world: World) -> None:
    fact = world.agent_remembers("Words.", tags=["Harbour", "sea", "Sea"])
    fact = work.update(world.ctx, fact.id, {}, agent="indy", add_tags=["#harbour", "Tide"])
    assert fact.tags == ("Harbour", "sea", "Sea", "Tide")
    fact = work.update(world.ctx, fact.id, {}, agent="indy", remove_tags=["HARBOUR", "sea"])
    assert fact.tags == ("Tide",)
    fact = work.update(
        world.ctx, fact.id, {}, agent="indy", add_tags=["tide"], remove_tags=["Tide"]
    )
    assert fact.tags == ("tide",)


def test_a_tag_with_spaces_that_a_note_brought_stays_as_it_is(world: World) -> None:
    world.person_writes("team-core/notes/a.md", "---\ntags: [two words]\n---\n\nText.\n")
    world.sync()
    (fact,) = world.facts()
    assert fact.tags == ("two words",)
    for spelled in ("two words", "Two-Words"):
        assert select_facts(world.ctx, tags=[spelled], agent="indy").facts == (fact,)
    said = {"tags": ["two words", "three words"]}
    assert work.update(world.ctx, fact.id, said, agent="indy").tags == ("two words", "three-words")
    removed = work.update(world.ctx, fact.id, {}, agent="indy", remove_tags=["two words"])
    assert removed.tags == ("three-words",)


@pytest.mark.parametrize(
    ("agent", "scope", "by"),
    [("Indy", "private-indy", "Created by agent `Indy`"), (None, "public", "Written by a person")],
)
def test_an_agents_fact_is_private_unless_it_says_otherwise(
    world: World, agent: str | None, scope: str, by: str
) -> None:
    fact = work.remember(world.ctx, {"content": "Mine."}, agent=agent)
    assert (fact.scope, fact.agent_id) == (scope, agent)
    world.quiesce()
    assert world.path(fact.id).startswith(f"{scope}/notes/")
    assert by in world.note(fact.id)


INVALID: dict[str, tuple[Value, ...]] = {
    "priority": (7, -1, "high", True),
    "createdAt": ("yesterday",),
    "expiresAt": ("2026-02-30",),
    "confidence": (2, float("nan")),
    "title": ("two\nlines",),
    "content": (7, "a\0b", "\ud800", ""),
    "tags": ([{"a": 1}],),
    "entities": (["a]]b"],),
    "a: b": (1,),
    "": (1,),
    "observationCompressed": ("yes",),
    "accessCount": (-1,),
    "mood": ("\udc00",),
}
OTHERS: dict[type[errors.UsageError], dict[str, tuple[Value, ...]]] = {
    errors.InvalidFieldError: INVALID,
    errors.UnknownTypeError: {"type": ("poem", 7)},
    errors.InvalidIdError: {"id": ("../../etc/passwd", "7"), "relatedFactIds": (["../x"],)},
    errors.InvalidScopeError: {"scope": ("../etc", "team-", "Team-Core")},
    errors.ScopeDeniedError: {"scope": ("private-ada",)},
    errors.ComputedFieldError: {
        "embedding": ([0.1, 0.2],),
        "path": ("public/elsewhere.md",),
        "revision": ("7-70b39ef6",),
        "mirrored": (True,),
        "updatedAt": ("2020-01-01",),
    },
}
BAD: list[tuple[dict[str, Value], type[errors.UsageError]]] = [
    ({"type": "commitment", "commitmentDueDate": "soon"}, errors.InvalidFieldError),
    ({"content": "  \n ", "title": "  "}, errors.InvalidFieldError),
]
BAD += [({"type": "task", key: "soon"}, errors.InvalidFieldError) for key in DUE_PROPERTIES]
BAD += [({k: v}, error) for error, keys in OTHERS.items() for k, some in keys.items() for v in some]


@pytest.mark.parametrize(("values", "error"), BAD, ids=lambda x: repr(x)[:40])
def test_bad_input_gets_a_clear_error_and_writes_nothing(
    world: World, values: dict[str, Value], error: type[errors.UsageError]
) -> None:
    with world.nobody_writes(), pytest.raises(error) as wrong:
        world.agent_remembers(**{"content": "Words.", **values})  # type: ignore[arg-type]
    assert wrong.value.message
    assert wrong.value.hint
    fact = world.mirrored()
    if "id" in values or error is errors.ScopeDeniedError or "content" in values:
        return
    with world.nobody_writes(), pytest.raises(errors.UsageError):
        work.update(world.ctx, fact.id, values, agent="indy")
    assert world.fact(fact.id) == fact


@pytest.mark.parametrize("value", [0, 4, 2.0])
def test_a_priority_is_a_whole_number_from_0_to_4(world: World, value: Value) -> None:
    assert world.agent_remembers("Words.", priority=value).priority == value


def test_an_id_can_be_given_once(world: World) -> None:
    fact = world.agent_remembers("One.", id="0193F6C2-0000-7000-8000-00000000000A")
    assert fact.id == "0193f6c2-0000-7000-8000-00000000000a"
    with pytest.raises(errors.IdTakenError):
        world.agent_remembers("Two.", id=fact.id)
    assert world.fact(fact.id).content == "One."


def test_an_update_changes_what_it_names_and_nothing_else(world: World) -> None:
    fact = world.mirrored(tags=["a", "b"], type="decision", decisionOutcome="open")
    values: dict[str, Value] = {"decisionOutcome": "done"}
    now = work.update(world.ctx, fact.id, values, agent="ada", add_tags=["c"], remove_tags=["#a"])
    assert (now.own, now.tags) == ({"decisionOutcome": "done"}, ("b", "c"))
    assert (now.agent_id, now.content, now.path) == ("indy", fact.content, fact.path)
    assert now.revision != fact.revision


@pytest.mark.parametrize("title", [None, "", " "])
def test_a_cleared_title_is_derived_from_the_content(world: World, title: str | None) -> None:
    fact = world.mirrored("The words. And more.", title="A title")
    values: dict[str, Value] = {"title": title, "content": "Other words. And more."}
    assert work.update(world.ctx, fact.id, values, agent="indy").title == "Other words"
    world.assert_at_rest()
    assert "# Other words\n" in world.note(fact.id)


def test_an_update_that_changes_nothing_writes_nothing(world: World) -> None:
    fact = world.mirrored(tags=["a"])
    with world.nobody_writes():
        now = work.update(world.ctx, fact.id, {"content": LINES}, agent="indy", add_tags=["a"])
    assert now.revision == fact.revision


@pytest.mark.parametrize("key", ["id", "createdAt", "agentId"])
def test_what_never_changes_cannot_be_updated(world: World, key: str) -> None:
    fact = world.mirrored()
    with pytest.raises(errors.FixedFieldError):
        world.agent_updates(fact.id, **{key: "2026-01-01"})
    assert world.fact(fact.id) == fact


def test_a_property_named_like_a_computed_field_can_be_cleared(world: World) -> None:
    path = f"{SCOPE}/notes/a.md"
    world.person_writes(path, "---\nembedding: [0.1]\n---\nWords.\n")
    world.quiesce()
    (fact,) = world.facts()
    assert fact.properties == {"embedding": [0.1]}
    world.agent_updates(fact.id, embedding=None)
    world.quiesce()
    assert "embedding" not in world.text(path)


@pytest.mark.parametrize("priority", [4, 0])  # 0 changes nothing
def test_an_update_with_an_old_revision_is_refused(world: World, priority: int) -> None:
    fact = world.mirrored()
    now = world.agent_updates(fact.id, priority=0)
    values: dict[str, Value] = {"priority": priority}
    with pytest.raises(errors.RevisionMismatchError):
        work.update(world.ctx, fact.id, values, agent="indy", expect=fact.revision)
    assert world.fact(fact.id).priority == 0
    updated = work.update(world.ctx, fact.id, values, agent="indy", expect=now.revision)
    assert updated.priority == priority


def test_an_update_that_meets_another_one_is_repeated_on_top_of_it(world: World) -> None:
    fact = world.mirrored()
    other = {"agent": "ada", "status": "archived"}
    world.at_store("write", lambda: world.agent_updates(fact.id, **other))
    world.agent_updates(fact.id, priority=0)
    now = world.fact(fact.id)
    assert (now.priority, now.status) == (0, "archived")


@pytest.mark.parametrize("what", ["update", "forget", "restore", "supersede"])
def test_a_writer_that_loses_every_try_gives_up(world: World, what: str) -> None:
    fact = world.mirrored()
    if what == "restore":
        world.agent_forgets(fact.id)
    busy = False

    def always_faster(method: str) -> None:
        nonlocal busy
        if method == "write" and not busy:
            busy = True
            row = world.store.tombstone(fact.id) or world.store.get(fact.id)
            fresh = None if what == "restore" else row
            world.store.write([StoreWrite(fact.id, fresh, row.revision, "ada")])
            busy = False

    world.store.before = always_faster
    acts: dict[str, Callable[[], object]] = {
        "update": lambda: world.agent_updates(fact.id, priority=0),
        "forget": lambda: world.agent_forgets(fact.id),
        "restore": lambda: work.restore(world.ctx, fact.id, agent="indy"),
        "supersede": lambda: work.supersede(world.ctx, fact.id, "New.", agent="a"),
    }
    with pytest.raises(errors.RevisionMismatchError):
        acts[what]()
    assert len(world.facts()) == (what != "restore")


def test_a_fact_can_be_superseded(world: World) -> None:
    old = world.mirrored(type="decision", tags=["a"], entities=["Bob"], priority=1)
    new = work.supersede(world.ctx, old.id, "We changed our minds.", agent="ada")
    assert world.fact(old.id).superseded_by_id == new.id
    assert new.supersedes_id == old.id
    for key in ("type", "tags", "entities", "priority", "scope"):
        assert new.value(key) == old.value(key)
    assert new.agent_id == "ada"
    world.quiesce()
    assert f"supersedesId: {old.id}" in world.note(new.id)
    assert f"supersededById: {new.id}" in world.note(old.id)
    world.assert_at_rest()


def test_only_the_newest_version_can_be_superseded(world: World) -> None:
    old = world.mirrored(type="decision")
    new = work.supersede(world.ctx, old.id, "Second.", agent="ada")
    newest = work.supersede(world.ctx, new.id, "Third.", agent="ada")
    facts = len(world.facts())
    for each in (old, new):
        with pytest.raises(errors.SupersededError) as refused:
            work.supersede(world.ctx, each.id, "Again.", agent="indy")
        assert newest.id in refused.value.message
        assert newest.id in refused.value.hint
    assert len(world.facts()) == facts
    assert world.fact(old.id).superseded_by_id == new.id
    world.agent_updates(newest.id, supersededById=old.id)  # a cycle
    with pytest.raises(errors.SupersededError):
        work.supersede(world.ctx, old.id, "Again.", agent="indy")


@pytest.mark.parametrize("slower", ["indy", None])
def test_the_second_of_two_who_supersede_is_refused(world: World, slower: str | None) -> None:
    old = world.mirrored(type="decision")
    world.at_store("write", lambda: work.supersede(world.ctx, old.id, "Mine.", agent="ada"))
    with pytest.raises(errors.SupersededError) as refused:
        work.supersede(world.ctx, old.id, "No, mine.", agent=slower)
    winner = world.fact(old.id).superseded_by_id
    assert winner is not None
    assert winner in refused.value.message
    assert {each.id for each in world.facts()} == {old.id, winner}
    world.quiesce()
    assert len(world.notes()) == 2


def test_a_fact_that_was_edited_meanwhile_is_superseded_as_it_is_now(world: World) -> None:
    old = world.mirrored()
    world.others_write_first(old.id, times=2)
    new = work.supersede(world.ctx, old.id, "New words.", agent="indy")
    now = world.fact(old.id)
    assert (now.superseded_by_id, now.access_count) == (new.id, 2)
    assert new.revision == world.fact(new.id).revision


@pytest.mark.parametrize("how", ["forgotten", "private"])
def test_a_newer_version_that_an_agent_cannot_see_counts_for_none(world: World, how: str) -> None:
    old = world.mirrored(type="decision")
    new = work.supersede(world.ctx, old.id, "Second.", agent=None)
    if how == "private":
        work.update(world.ctx, new.id, {"scope": "private-ada"}, agent=None)
    else:
        world.agent_forgets(new.id)
    other = work.supersede(world.ctx, old.id, "Another.", agent="indy")
    assert (other.supersedes_id, world.fact(old.id).superseded_by_id) == (old.id, other.id)


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_a_fact_superseded_by_nothing_stays_as_it_is(world: World, text: str) -> None:
    old = world.mirrored()
    with pytest.raises(errors.UsageError):
        work.supersede(world.ctx, old.id, text, agent="indy")
    assert world.fact(old.id) == old


@pytest.mark.parametrize("number", [1, 2])
def test_a_store_that_fails_meanwhile_leaves_no_dangling_version(world: World, number: int) -> None:
    old = world.mirrored()
    met = 0

    def go_away(method: str) -> None:
        nonlocal met
        met += method == "write"
        world.store.away = method == "write" and met == number

    world.store.before = go_away
    with contextlib.suppress(errors.StoreUnavailableError):
        work.supersede(world.ctx, old.id, "New words.", agent="indy")
    world.store.before, world.store.away = (lambda _: None), False
    world.quiesce()
    winner = world.fact(old.id).superseded_by_id
    assert winner is None or world.is_alive(winner)


def test_forget_and_restore_are_each_others_opposite(world: World) -> None:
    fact = world.mirrored()
    with pytest.raises(errors.RevisionMismatchError):
        work.forget(world.ctx, fact.id, agent="indy", expect="0-other")
    forgotten = work.forget(world.ctx, fact.id, agent="indy", expect=fact.revision)
    assert forgotten.status == "forgotten"
    for act in (work.get, work.forget):
        with pytest.raises(errors.FactNotFoundError):
            act(world.ctx, fact.id, agent="indy")
    with pytest.raises(errors.RevisionMismatchError):
        work.restore(world.ctx, fact.id, agent="indy", expect=fact.revision)
    tombstone = world.store.tombstone(fact.id)
    assert tombstone
    for expect in (tombstone.revision, None):
        assert work.restore(world.ctx, fact.id, agent="indy", expect=expect).status == "active"
        assert world.fact(fact.id).content == LINES


@pytest.mark.parametrize(("days", "expires"), [(0, True), (2, False)])
def test_a_restored_fact_expires_only_if_its_time_is_still_to_come(
    world: World, days: int, expires: bool
) -> None:
    end = time_text(world.clock.now() + timedelta(days=1))
    fact = world.agent_remembers("For now.", expiresAt=end)
    world.agent_forgets(fact.id)
    world.clock.advance(86_400 * days)
    work.restore(world.ctx, fact.id, agent="indy")
    assert world.fact(fact.id).expires_at == (end if expires else None)


def test_a_restored_fact_no_longer_has_the_status_forgotten(world: World) -> None:
    fact = world.agent_remembers("Said to be", status="forgotten")
    assert work.restore(world.ctx, fact.id, agent="indy").status == "active"
    assert world.fact(fact.id).status == "active"


def test_an_unknown_or_invalid_id_is_refused(world: World) -> None:
    unknown = world.clock.new_id()
    for act in (work.get, work.forget, work.restore):
        with pytest.raises(errors.FactNotFoundError):
            act(world.ctx, unknown, agent="indy")
        with pytest.raises(errors.InvalidIdError):
            act(world.ctx, "../x", agent="indy")


def _pages(world: World, limit: int, **filters: Any) -> list[Fact]:  # noqa: ANN401
    seen: list[Fact] = []
    page = FactPage((), None)
    while page.next or not seen:
        page = select_facts(world.ctx, agent="indy", limit=limit, after=page.next, **filters)
        seen += page.facts
    return seen


def test_listing_filters_and_pages(world: World) -> None:
    for number in range(7):
        world.agent_remembers(
            f"Fact {number}.",
            type="lesson" if number % 2 else "note",
            status="archived" if number == 6 else "active",
            tags=["Odd", "odd/sea"][: number % 3] if number % 2 else ["oddly"],
            userId="zoe" if number in {2, 3} else None,
        )
    for key, value, numbers in (
        ("types", ["Lesson"], (1, 3, 5)),
        ("types", ["note", "lesson"], range(7)),
        ("types", [], range(7)),
        ("tags", ["#odd"], (1, 5)),
        ("tags", ["odd/sea"], (5,)),
        ("tags", ["odd", "oddly"], ()),
        ("status", "archived", (6,)),
        ("user", "zoe", (2, 3)),
        ("user", "ann", ()),
        ("scopes", ["public"], ()),
        ("scopes", ["public", SCOPE], range(7)),
    ):
        filters: dict[str, Any] = {key: value}
        page = select_facts(world.ctx, agent="indy", **filters)
        assert [fact.content for fact in page.facts] == [f"Fact {each}." for each in numbers]
        assert page.next is None
    assert [fact.content for fact in _pages(world, 3)] == [f"Fact {each}." for each in range(7)]
    world.quiesce()
    assert all(fact.path for fact in select_facts(world.ctx, agent="indy").facts)


@pytest.mark.parametrize(
    "filters",
    [
        {"limit": 0},
        {"types": ["note", "poem"]},
        {"scopes": ["x"]},
        {"after": "../x"},
        {"since": "someday"},
        {"until": "2026-02-30"},
    ],
)
def test_an_invalid_filter_is_refused(world: World, filters: dict[str, Any]) -> None:
    with pytest.raises(errors.UsageError):
        select_facts(world.ctx, agent="indy", **filters)


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-01-31", None, "31 01 28 01"),
        ("2026-02", None, "01 28 01"),
        ("2026-02-01T12:00:01Z", None, "28 01"),
        (None, "2026-02-01", "30 31 01"),
        (None, "2026-02", "30 31 01 28"),
        (None, "2026-01-31T12:00:00Z", "30"),
        ("2026-02", "2026-02", "01 28"),
    ],
)
def test_listing_filters_by_day_and_month(
    world: World, since: str | None, until: str | None, days: str
) -> None:
    for day in ("2026-01-30", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01"):
        world.agent_remembers(f"Of {day}.", createdAt=f"{day}T12:00:00Z")
    found = select_facts(world.ctx, agent="indy", since=since, until=until)
    assert [fact.created_at[8:10] for fact in found.facts] == days.split()


def test_today_is_the_day_where_it_is_asked(world: World) -> None:
    world.clock.zone = ZoneInfo("America/Los_Angeles")
    for time in ("2026-02-14T07:59:59Z", "2026-02-14T08:00:00Z", "2026-02-15T03:00:00Z"):
        world.agent_remembers(f"At {time}.", createdAt=time)
    world.clock.advance(13 * 3600)  # in UTC it is the next day
    assert str(world.clock.now().date()) == "2026-02-15"
    found = select_facts(world.ctx, agent="indy", since="today", until="today")
    assert [fact.created_at for fact in found.facts] == [
        "2026-02-14T08:00:00Z",
        "2026-02-15T03:00:00Z",
    ]


def test_listing_among_some_ids_lists_no_others(world: World) -> None:
    ids = sorted(world.agent_remembers(f"{number}.").id for number in range(6))
    world.agent_forgets(ids[4])
    world.agent_forgets(ids[5])
    for after, status, numbers in (
        (None, None, (1, 3)),
        (ids[1], None, (3,)),
        (None, "forgotten", (4,)),
    ):
        listed = select_facts(
            world.ctx, agent="indy", among={ids[1], ids[3], ids[4]}, after=after, status=status
        )
        assert [fact.id for fact in listed.facts] == [ids[each] for each in numbers]


def test_a_field_may_be_named_without_its_types_prefix_and_as_in_python() -> None:
    assert work.field_key("user_id", "note") == "userId"
    assert work.field_key("decision_outcome", "note") == "decisionOutcome"
    assert work.field_key("due_date", "commitment") == "commitmentDueDate"
    assert work.field_key("due_date", "note") == "due_date"
    assert work.field_key("outcome", "decision") == "decisionOutcome"
    assert work.field_key("type", "person") == "type"
    assert work.field_key("dueDate", "commitment") == "commitmentDueDate"
    assert work.field_key("mood", "note") == "mood"
    assert work.field_key("decisionOutcome", "note") == "decisionOutcome"


def test_forgotten_facts_are_listed_by_id_for_agents_that_may_see_them(world: World) -> None:
    gone = [world.agent_remembers(f"{n}.", title=f"Fact {n}") for n in range(3)]
    world.agent_remembers("Stays.", title="Stays")
    hidden = work.remember(world.ctx, {"content": "Ada's."}, agent="ada")
    for fact in gone:
        world.agent_forgets(fact.id)
    world.agent_forgets(hidden.id, agent="ada")
    # A tombstone of a fact that never existed has no content.
    world.store.write([StoreWrite(world.clock.new_id(), None, None, "ada")])
    listed = select_facts(world.ctx, agent="indy", status="forgotten")
    assert [fact.id for fact in listed.facts] == sorted(fact.id for fact in gone)
    assert listed.facts[0].content == "0."
    rest = select_facts(world.ctx, agent="indy", status="forgotten", after=listed.facts[0].id)
    assert rest.facts == listed.facts[1:]
