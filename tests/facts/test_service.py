"""What agents do with facts; bad input gets a clear error and loses nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from tests.world import LINES, SCOPE, World
from vaultsync.errors import (
    ComputedFieldError,
    FactNotFoundError,
    FixedFieldError,
    IdTakenError,
    InvalidFieldError,
    InvalidIdError,
    InvalidScopeError,
    RevisionMismatchError,
    ScopeDeniedError,
    StoreUnavailableError,
    SupersededError,
    UnknownTypeError,
    UsageError,
)
from vaultsync.facts import service as work
from vaultsync.facts.listing import select_facts
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.storage.store import StoreWrite


@pytest.fixture
def world() -> World:
    return World()


def test_what_is_remembered_can_be_got(world: World) -> None:
    fact = world.agent_remembers("Words. And more.", tags=["#a", "a", "b"], priority=1)
    found = work.get(world.ctx, fact.id, agent="indy")
    assert found == fact
    assert found.title == "Words"
    assert found.tags == ("a", "b")
    assert found.agent_id == "indy"
    assert found.created_at
    assert found.path is None
    world.quiesce()
    assert work.get(world.ctx, fact.id, agent="indy").path == world.path(fact.id)


def test_an_agents_fact_is_private_unless_it_says_otherwise(world: World) -> None:
    fact = work.remember(world.ctx, {"content": "Mine."}, agent="Indy")
    assert fact.scope == "private-indy"
    world.quiesce()
    assert world.path(fact.id).startswith("private-indy/notes/")


def test_a_persons_fact_is_in_the_default_scope_and_names_no_agent(world: World) -> None:
    fact = work.remember(world.ctx, {"content": "Mine."}, agent=None)
    assert (fact.scope, fact.agent_id) == ("public", None)
    world.quiesce()
    assert "Written by a person" in world.note(fact.id)


BAD: list[tuple[dict[str, Value], type[UsageError]]] = [
    ({"type": "poem"}, UnknownTypeError),
    ({"type": 7}, UnknownTypeError),
    ({"priority": 7}, InvalidFieldError),
    ({"priority": -1}, InvalidFieldError),
    ({"priority": "high"}, InvalidFieldError),
    ({"priority": True}, InvalidFieldError),
    ({"createdAt": "yesterday"}, InvalidFieldError),
    ({"expiresAt": "2026-02-30"}, InvalidFieldError),
    ({"type": "commitment", "commitmentDueDate": "soon"}, InvalidFieldError),
    ({"id": "../../etc/passwd"}, InvalidIdError),
    ({"id": "7"}, InvalidIdError),
    ({"relatedFactIds": ["../x"]}, InvalidIdError),
    ({"scope": "../etc"}, InvalidScopeError),
    ({"scope": "team-"}, InvalidScopeError),
    ({"scope": "Team-Core"}, InvalidScopeError),
    ({"scope": "private-ada"}, ScopeDeniedError),
    ({"confidence": 2}, InvalidFieldError),
    ({"confidence": float("nan")}, InvalidFieldError),
    ({"title": "two\nlines"}, InvalidFieldError),
    ({"content": 7}, InvalidFieldError),
    ({"content": "a\0b"}, InvalidFieldError),
    ({"content": "\ud800"}, InvalidFieldError),
    ({"content": ""}, InvalidFieldError),
    ({"content": "  \n ", "title": "  "}, InvalidFieldError),
    ({"tags": [{"a": 1}]}, InvalidFieldError),
    ({"entities": ["a]]b"]}, InvalidFieldError),
    ({"a: b": 1}, InvalidFieldError),
    ({"": 1}, InvalidFieldError),
    ({"observationCompressed": "yes"}, InvalidFieldError),
    ({"accessCount": -1}, InvalidFieldError),
    ({"mood": "\udc00"}, InvalidFieldError),
    ({"embedding": [0.1, 0.2]}, ComputedFieldError),
    ({"path": "public/elsewhere.md"}, ComputedFieldError),
    ({"revision": "7-70b39ef6"}, ComputedFieldError),
    ({"mirrored": True}, ComputedFieldError),
    ({"updatedAt": "2020-01-01"}, ComputedFieldError),
]


@pytest.mark.parametrize(("values", "error"), BAD, ids=lambda x: repr(x)[:40])
def test_bad_input_gets_a_clear_error_and_writes_nothing(
    world: World, values: dict[str, Value], error: type[UsageError]
) -> None:
    with world.nobody_writes(), pytest.raises(error) as wrong:
        world.agent_remembers(**{"content": "Words.", **values})  # type: ignore[arg-type]
    assert wrong.value.message
    assert wrong.value.hint
    fact = world.mirrored()
    if "id" in values or error is ScopeDeniedError or "content" in values:
        return
    with world.nobody_writes(), pytest.raises(UsageError):
        work.update(world.ctx, fact.id, values, agent="indy")
    assert world.fact(fact.id) == fact


@pytest.mark.parametrize("value", [0, 4, 2.0])
def test_a_priority_is_a_whole_number_from_0_to_4(world: World, value: Value) -> None:
    assert world.agent_remembers("Words.", priority=value).priority == value


def test_an_id_that_is_taken_is_refused(world: World) -> None:
    fact = world.agent_remembers("One.")
    with pytest.raises(IdTakenError):
        world.agent_remembers("Two.", id=fact.id)
    assert world.fact(fact.id).content == "One."


def test_an_id_of_ones_own_is_taken_in_any_spelling(world: World) -> None:
    fact = world.agent_remembers("One.", id="0193F6C2-0000-7000-8000-00000000000A")
    assert fact.id == "0193f6c2-0000-7000-8000-00000000000a"


def test_an_update_changes_what_it_names_and_nothing_else(world: World) -> None:
    fact = world.mirrored(tags=["a", "b"], type="decision", decisionOutcome="open")
    now = work.update(
        world.ctx,
        fact.id,
        {"decisionOutcome": "done"},
        agent="ada",
        add_tags=["c"],
        remove_tags=["#a"],
    )
    assert now.own == {"decisionOutcome": "done"}
    assert now.tags == ("b", "c")
    assert now.agent_id == "indy"
    assert now.content == fact.content
    assert now.path == fact.path
    assert now.revision != fact.revision


def test_an_update_that_changes_nothing_writes_nothing(world: World) -> None:
    fact = world.mirrored(tags=["a"])
    with world.nobody_writes():
        now = work.update(world.ctx, fact.id, {"content": LINES}, agent="indy", add_tags=["a"])
    assert now.revision == fact.revision


@pytest.mark.parametrize("key", ["id", "createdAt", "agentId"])
def test_what_never_changes_cannot_be_updated(world: World, key: str) -> None:
    fact = world.mirrored()
    with pytest.raises(FixedFieldError):
        world.agent_updates(fact.id, **{key: "2026-01-01"})
    assert world.fact(fact.id) == fact


def test_what_an_author_called_like_something_computed_can_go(world: World) -> None:
    path = f"{SCOPE}/notes/a.md"
    world.person_writes(path, "---\nembedding: [0.1]\n---\nWords.\n")
    world.quiesce()
    (fact,) = world.facts()
    assert fact.properties == {"embedding": [0.1]}
    world.agent_updates(fact.id, embedding=None)
    world.quiesce()
    assert "embedding" not in world.text(path)


def test_an_update_with_an_old_revision_is_refused(world: World) -> None:
    fact = world.mirrored()
    world.agent_updates(fact.id, priority=0)
    with pytest.raises(RevisionMismatchError):
        work.update(world.ctx, fact.id, {"priority": 4}, agent="indy", expect=fact.revision)
    assert world.fact(fact.id).priority == 0
    now = work.update(
        world.ctx, fact.id, {"priority": 4}, agent="indy", expect=world.fact(fact.id).revision
    )
    assert now.priority == 4


def test_an_update_with_an_old_revision_is_refused_even_when_nothing_changes(world: World) -> None:
    fact = world.mirrored()
    world.agent_updates(fact.id, priority=0)
    with pytest.raises(RevisionMismatchError):
        work.update(world.ctx, fact.id, {"priority": 0}, agent="indy", expect=fact.revision)


def test_an_update_that_meets_another_one_is_repeated_on_top_of_it(world: World) -> None:
    fact = world.mirrored()

    def other_is_faster(method: str) -> None:
        if method == "write":
            world.store.before = lambda _: None
            world.agent_updates(fact.id, agent="ada", status="archived")

    world.store.before = other_is_faster
    world.agent_updates(fact.id, priority=0)
    now = world.fact(fact.id)
    assert (now.priority, now.status) == (0, "archived")


@pytest.mark.parametrize("what", ["update", "forget", "restore", "supersede"])
def test_a_writer_that_is_never_fast_enough_gives_up(world: World, what: str) -> None:
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
    with pytest.raises(RevisionMismatchError):
        acts[what]()
    assert len(world.facts()) == (what != "restore")


def test_a_fact_can_be_superseded(world: World) -> None:
    old = world.mirrored(type="decision", tags=["a"], entities=["Bob"], priority=1)
    new = work.supersede(world.ctx, old.id, "We changed our minds.", agent="ada")
    assert new.supersedes_id == old.id
    assert world.fact(old.id).superseded_by_id == new.id
    assert (new.type, new.tags, new.entities, new.priority, new.scope) == (
        "decision",
        ("a",),
        ("Bob",),
        1,
        SCOPE,
    )
    assert new.agent_id == "ada"
    world.quiesce()
    assert f"supersedesId: {old.id}" in world.note(new.id)
    assert f"supersededById: {new.id}" in world.note(old.id)
    world.assert_at_rest()


def test_a_fact_is_superseded_once_and_then_its_heir_is(world: World) -> None:
    old = world.mirrored(type="decision")
    new = work.supersede(world.ctx, old.id, "Second.", agent="ada")
    newest = work.supersede(world.ctx, new.id, "Third.", agent="ada")
    facts = len(world.facts())

    for each in (old, new):
        with pytest.raises(SupersededError) as refused:
            work.supersede(world.ctx, each.id, "Again.", agent="indy")
        assert newest.id in refused.value.message
        assert newest.id in refused.value.hint
    assert len(world.facts()) == facts
    assert world.fact(old.id).superseded_by_id == new.id


@pytest.mark.parametrize("slower", ["indy", None])
def test_of_two_who_supersede_a_fact_at_once_the_second_is_told(
    world: World, slower: str | None
) -> None:
    old = world.mirrored(type="decision")
    heirs = []

    def other_is_faster(method: str) -> None:
        if method == "write":
            world.store.before = lambda _: None
            heirs.append(work.supersede(world.ctx, old.id, "Mine.", agent="ada"))

    world.store.before = other_is_faster
    with pytest.raises(SupersededError) as refused:
        work.supersede(world.ctx, old.id, "No, mine.", agent=slower)

    (heir,) = heirs
    assert heir.id in refused.value.message
    assert world.fact(old.id).superseded_by_id == heir.id
    assert {each.id for each in world.facts()} == {old.id, heir.id}
    world.quiesce()
    assert len(world.notes()) == 2


def test_a_fact_that_was_edited_meanwhile_is_superseded_as_it_is_now(world: World) -> None:
    old = world.mirrored()
    world.others_write_first(old.id, times=2)

    new = work.supersede(world.ctx, old.id, "New words.", agent="indy")

    now = world.fact(old.id)
    assert (now.superseded_by_id, now.access_count) == (new.id, 2)
    assert new.revision == world.fact(new.id).revision


def test_a_fact_whose_heir_was_forgotten_can_be_superseded_again(world: World) -> None:
    old = world.mirrored(type="decision")
    new = work.supersede(world.ctx, old.id, "Second.", agent="indy")
    world.agent_forgets(new.id)

    other = work.supersede(world.ctx, old.id, "Another.", agent="indy")

    assert world.fact(old.id).superseded_by_id == other.id


def test_an_heir_that_an_agent_may_not_see_is_not_named(world: World) -> None:
    old = world.mirrored(type="decision")
    new = work.supersede(world.ctx, old.id, "Second.", agent=None)
    work.update(world.ctx, new.id, {"scope": "private-ada"}, agent=None)

    assert work.supersede(world.ctx, old.id, "Mine.", agent="indy").supersedes_id


def test_facts_that_replace_each_other_are_no_endless_chain(world: World) -> None:
    old = world.mirrored(type="decision")
    new = work.supersede(world.ctx, old.id, "Second.", agent="indy")
    world.agent_updates(new.id, supersededById=old.id)

    with pytest.raises(SupersededError):
        work.supersede(world.ctx, old.id, "Third.", agent="indy")


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_a_fact_superseded_by_nothing_stays_as_it_is(world: World, text: str) -> None:
    old = world.mirrored()
    with pytest.raises(UsageError):
        work.supersede(world.ctx, old.id, text, agent="indy")
    assert world.fact(old.id) == old


@pytest.mark.parametrize("number", [1, 2])
def test_a_store_that_goes_away_while_superseding_hides_nothing(world: World, number: int) -> None:
    old = world.mirrored()
    met = 0

    def go_away(method: str) -> None:
        nonlocal met
        met += method == "write"
        world.store.away = method == "write" and met == number

    world.store.before = go_away
    with contextlib.suppress(StoreUnavailableError):
        work.supersede(world.ctx, old.id, "New words.", agent="indy")
    world.store.before, world.store.away = (lambda _: None), False
    world.quiesce()
    heir = world.fact(old.id).superseded_by_id
    assert heir is None or world.is_alive(heir)


def test_forget_and_restore_are_each_others_opposite(world: World) -> None:
    fact = world.mirrored()
    assert work.forget(world.ctx, fact.id, agent="indy").status == "forgotten"
    with pytest.raises(FactNotFoundError):
        work.get(world.ctx, fact.id, agent="indy")
    with pytest.raises(FactNotFoundError):
        work.forget(world.ctx, fact.id, agent="indy")
    assert work.restore(world.ctx, fact.id, agent="indy").status == "active"
    assert world.fact(fact.id).content == LINES
    assert work.restore(world.ctx, fact.id, agent="indy").status == "active"


def test_what_is_not_there_is_named(world: World) -> None:
    unknown = world.clock.new_id()
    for act in (work.get, work.forget, work.restore):
        with pytest.raises(FactNotFoundError):
            act(world.ctx, unknown, agent="indy")
        with pytest.raises(InvalidIdError):
            act(world.ctx, "../x", agent="indy")


def test_listing_filters_and_pages(world: World) -> None:
    for number in range(7):
        world.agent_remembers(
            f"Fact {number}.",
            type="lesson" if number % 2 else "note",
            status="archived" if number == 6 else "active",
            tags=["Odd"] if number % 2 else [],
        )
    lessons = select_facts(world.ctx, agent="indy", type_name="Lesson")
    assert [fact.content for fact in lessons.facts] == ["Fact 1.", "Fact 3.", "Fact 5."]
    assert lessons.next is None
    tagged = select_facts(world.ctx, agent="indy", tag="#odd")
    assert tagged.facts == lessons.facts
    archived = select_facts(world.ctx, agent="indy", status="archived")
    assert len(archived.facts) == 1
    assert select_facts(world.ctx, agent="indy", scope="public").facts == ()
    seen: list[str] = []
    after: str | None = None
    while True:
        page = select_facts(world.ctx, agent="indy", limit=3, after=after)
        seen += [fact.content for fact in page.facts]
        after = page.next
        if after is None:
            break
    assert seen == [f"Fact {number}." for number in range(7)]
    world.quiesce()
    assert all(fact.path for fact in select_facts(world.ctx, agent="indy").facts)


def test_a_tag_lists_what_lies_below_it(world: World) -> None:
    for tag in ("Ops", "ops/sea", "opsy"):
        world.agent_remembers(tag, tags=[tag])
    listed = select_facts(world.ctx, agent="indy", tag="#ops").facts
    assert [fact.content for fact in listed] == ["Ops", "ops/sea"]


@pytest.mark.parametrize(
    "filters",
    [
        {"limit": 0},
        {"type_name": "poem"},
        {"scope": "x"},
        {"after": "../x"},
        {"since": "tomorrow"},
        {"until": "2026-02-30"},
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(world: World, filters: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        select_facts(world.ctx, agent="indy", **filters)  # type: ignore[arg-type]


def _on(world: World, day: str) -> Fact:
    return world.agent_remembers(f"Of {day}.", createdAt=f"{day}T12:00:00Z")


@pytest.mark.parametrize(
    ("span", "days"),
    [
        ({"since": "2026-01-31"}, "31 01 28 01"),
        ({"since": "2026-02"}, "01 28 01"),
        ({"since": "2026-02-01T12:00:01Z"}, "28 01"),
        ({"until": "2026-02-01"}, "30 31 01"),
        ({"until": "2026-02"}, "30 31 01 28"),
        ({"until": "2026-01-31T12:00:00Z"}, "30"),
        ({"since": "2026-02", "until": "2026-02"}, "01 28"),
    ],
)
def test_listing_is_of_days_and_months(world: World, span: dict[str, str], days: str) -> None:
    for day in ("2026-01-30", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01"):
        _on(world, day)
    found = select_facts(world.ctx, agent="indy", **span)  # type: ignore[arg-type]
    assert [fact.created_at[8:10] for fact in found.facts] == days.split()


@pytest.mark.parametrize("gone", [False, True])
def test_the_newest_may_come_first_page_by_page(world: World, gone: bool) -> None:
    made = [world.agent_remembers(f"{number}.").id for number in range(5)]
    status = None
    if gone:
        status = "forgotten"
        for each in made:
            world.agent_forgets(each)
    seen: list[str] = []
    after: str | None = None
    while True:
        page = select_facts(
            world.ctx, agent="indy", status=status, newest=True, limit=2, after=after
        )
        seen += [fact.id for fact in page.facts]
        after = page.next
        if after is None:
            break
    assert seen == sorted(made, reverse=True)


def test_listing_among_some_ids_lists_no_others(world: World) -> None:
    made = sorted(world.agent_remembers(f"{number}.").id for number in range(6))
    world.agent_forgets(made[4])
    world.agent_forgets(made[5])
    among = {made[1], made[3], made[4]}
    listed = select_facts(world.ctx, agent="indy", among=among)
    assert [fact.id for fact in listed.facts] == [made[1], made[3]]
    rest = select_facts(world.ctx, agent="indy", among=among, after=made[1])
    assert [fact.id for fact in rest.facts] == [made[3]]
    buried = select_facts(world.ctx, agent="indy", among=among, status="forgotten")
    assert [fact.id for fact in buried.facts] == [made[4]]


def test_a_field_may_be_named_without_its_types_prefix() -> None:
    assert work.field_key("outcome", "decision") == "decisionOutcome"
    assert work.field_key("type", "person") == "type"
    assert work.field_key("dueDate", "commitment") == "commitmentDueDate"
    assert work.field_key("mood", "note") == "mood"
    assert work.field_key("decisionOutcome", "note") == "decisionOutcome"


def test_what_was_forgotten_is_listed_by_id_for_those_who_may_see_it(world: World) -> None:
    gone = [world.agent_remembers(f"{n}.", title=f"Fact {n}") for n in range(3)]
    world.agent_remembers("Stays.", title="Stays")
    hidden = work.remember(world.ctx, {"content": "Ada's."}, agent="ada")
    for fact in gone:
        world.agent_forgets(fact.id)
    world.agent_forgets(hidden.id, agent="ada")
    # A tombstone of what never was says nothing.
    world.store.write([StoreWrite(world.clock.new_id(), None, None, "ada")])
    listed = select_facts(world.ctx, agent="indy", status="forgotten")
    assert [fact.id for fact in listed.facts] == sorted(fact.id for fact in gone)
    assert listed.facts[0].content == "0."
    rest = select_facts(world.ctx, agent="indy", status="forgotten", after=listed.facts[0].id)
    assert rest.facts == listed.facts[1:]


def test_forgetting_and_restoring_name_what_they_replace(world: World) -> None:
    fact = world.agent_remembers("Words.")
    ctx = world.ctx
    with pytest.raises(RevisionMismatchError):
        work.forget(ctx, fact.id, agent=None, expect="0-other")
    assert world.is_alive(fact.id)
    work.forget(ctx, fact.id, agent=None, expect=fact.revision)
    with pytest.raises(RevisionMismatchError):
        work.restore(ctx, fact.id, agent=None, expect=fact.revision)
    assert not world.is_alive(fact.id)
    buried = world.store.tombstone(fact.id)
    assert buried
    work.restore(ctx, fact.id, agent=None, expect=buried.revision)
    assert world.is_alive(fact.id)
