from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.packs import (
    COUNTERS,
    candidate,
    candidates,
    entities,
    fact,
    letters,
    swelling,
    titles_in,
    words,
)
from vaultsync.context_packs.formats import PACK_FORMS, QUOTE_NOTE
from vaultsync.context_packs.pack import (
    INTENTS,
    PACK_TIERS,
    ContextPack,
    PackCandidate,
    detect_intent,
)
from vaultsync.context_packs.packer import BRIEF_TOKENS, REASON_NO_ROOM, pack_context
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value, tier_of

PLENTY = 1_000_000
FOUR = [candidate(number, priority=number) for number in range(4)]


def packed(pack: ContextPack) -> list[int]:
    """The numbers of the facts that were packed, in their order."""
    return [int(each.id[-3:]) for each in pack.items]


def left(pack: ContextPack) -> list[int]:
    return [int(each.id[-3:]) for each in pack.left_out]


def named(entity: Fact, *facts: PackCandidate) -> PackCandidate:
    """An entity that some of the facts name."""
    return PackCandidate(entity, "named", named_by=frozenset(each.fact.id for each in facts))


def long(number: int, paragraphs: int, **values: Value) -> PackCandidate:
    """A fact of numbered paragraphs of ten words that no other fact has."""
    text = "\n\n".join(
        f"p{n} of {number} " + " ".join(f"{w}{number}" for w in "abcdefg")
        for n in range(paragraphs)
    )
    return candidate(number, text, **values)


def brief(number: int, relevance: float, **values: Value) -> PackCandidate:
    """A long fact that matches much less well than the best."""
    long_fact = long(number, 30, **values)
    return replace(long_fact, relevance=relevance, brief=True, passage=f"p20 of {number}")


# --- the budget ----------------------------------------------------------------------


@given(
    st.data(),
    st.sampled_from(sorted(COUNTERS)),
    st.sampled_from(sorted(PACK_FORMS)),
    st.sampled_from([None, *INTENTS]),
    st.integers(0, 400) | st.integers(0, 20_000),
)
def test_a_pack_is_never_a_token_over_its_budget(
    data: st.DataObject, counter: str, form: str, intent: str | None, budget: int
) -> None:
    count = COUNTERS[counter]
    found = data.draw(candidates())
    others = data.draw(entities(found))
    pack = pack_context(
        'what <is> "it"?',
        found,
        budget=budget,
        count=count,
        form=form,
        intent=intent,
        entities=others,
    )
    assert pack.tokens == count(pack.text) <= budget
    assert len(titles_in(pack)) == len(pack.items)
    ids = [item.id for item in pack.items] + [each.id for each in pack.left_out]
    assert len(set(ids)) == len(ids)
    assert {each.fact.id for each in found} <= set(ids)
    assert set(ids) <= {each.fact.id for each in (*found, *others)}
    assert bool(pack.text) is bool(pack.items)


@given(st.data(), st.sampled_from(sorted(COUNTERS)), st.integers(0, 3_000))
def test_the_order_of_finds_changes_nothing(data: st.DataObject, counter: str, budget: int) -> None:
    found = data.draw(candidates())
    others = data.draw(entities(found))
    count = COUNTERS[counter]
    pack = pack_context("q", found, budget=budget, count=count, entities=others)
    found, others = data.draw(st.permutations(found)), data.draw(st.permutations(others))
    assert pack == pack_context("q", found, budget=budget, count=count, entities=others)


@given(candidates(), st.sampled_from(sorted(PACK_FORMS)))
def test_with_room_for_all_only_repeats_are_left_out(found: list[PackCandidate], form: str) -> None:
    pack = pack_context("q", found, budget=PLENTY, count=letters, form=form)
    assert not pack.truncated
    assert not any(each.cut for each in pack.items)
    assert all(each.reason.startswith("says the same as") for each in pack.left_out)


@pytest.mark.parametrize("budget", [-5, 0, 1, 3])
def test_a_budget_too_small_for_anything_gives_an_empty_text(budget: int) -> None:
    pack = pack_context("why?", FOUR, budget=budget, count=words)
    assert (pack.text, pack.tokens, pack.items) == ("", 0, ())
    assert left(pack) == [0, 1, 2, 3]
    assert pack.truncated


def test_each_part_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    pack = pack_context("q", [candidate(n) for n in range(50)], budget=2_000, count=count)
    assert pack.items
    assert len(asked) == 50 + len(PACK_TIERS) + 2


def test_a_whole_that_costs_more_than_its_parts_loses_the_least() -> None:
    found = [candidate(n, priority=n // 3) for n in range(9)]
    parts = sum(
        each.tokens for each in pack_context("q", found, budget=PLENTY, count=swelling).items
    )
    pack = pack_context("q", found, budget=parts + 200, count=swelling)
    assert 0 < len(pack.items) < 9
    assert packed(pack) == list(range(len(pack.items)))
    assert pack.tokens <= parts + 200
    assert pack.truncated


def test_a_whole_that_always_costs_too_much_is_no_pack() -> None:
    pack = pack_context(
        "q",
        [candidate(n) for n in range(40)],
        budget=5_000,
        count=lambda text: (
            10_000 if text.startswith(("# C", QUOTE_NOTE)) and "~~~ memory" in text else 9
        ),
    )
    assert pack.text == ""
    assert len(pack.left_out) == 40


# --- a tiny budget -------------------------------------------------------------------


@pytest.mark.parametrize("form", PACK_FORMS)
def test_in_a_tiny_budget_the_envelope_shrinks_until_the_best_fact_fits(form: str) -> None:
    best = replace(candidate(1, "It opens at nine."), relevance=0.9)
    other = replace(candidate(2), relevance=0.4)
    question = "when does the harbour open " * 20
    needed = pack_context(question, [best], budget=1, count=letters, form=form).needed

    pack = pack_context(question, [best, other], budget=needed, count=letters, form=form)

    assert packed(pack) == [1]
    assert not pack.items[0].cut
    assert pack.tokens <= needed
    assert not pack.needed
    assert pack.items[0].citation not in pack.text
    assert "It opens at nine." in pack.text
    assert "user" in pack.text, "its origin says how far it is to be trusted"


@given(st.data(), st.sampled_from(sorted(PACK_FORMS)), st.integers(0, 300))
def test_a_pack_without_the_best_fact_says_which_budget_it_takes(
    data: st.DataObject, form: str, budget: int
) -> None:
    found = data.draw(candidates())
    pack = pack_context("q", found, budget=budget, count=letters, form=form)
    if pack.needed:
        assert pack.needed > budget
        more = pack_context("q", found, budget=pack.needed, count=letters, form=form)
        assert more.items
        assert not more.needed
    else:
        assert bool(pack.items) is bool(found)


# --- shares --------------------------------------------------------------------------


def test_the_shares_of_every_intent_are_the_whole_budget() -> None:
    for intent in INTENTS.values():
        assert sum(intent.shares.values()) == pytest.approx(1)
        assert tuple(intent.shares) == PACK_TIERS


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What decisions did we make?", "decisions"),
        ("what have I committed to", "decisions"),
        ("Who decided on the deposit?", "decisions"),
        ("Show me recent observations", "recent"),
        ("What happened lately?", "recent"),
        ("the undecidedness of cats", "balanced"),
        ("why SQLite?", "balanced"),
        ("", "balanced"),
    ],
)
def test_the_intent_of_a_question_is_detected_in_its_words(question: str, intent: str) -> None:
    assert detect_intent(question) == intent
    assert pack_context(question, [], budget=10, count=words).intent == intent


def by_tier_of(intent: str, numbers: int = 120) -> dict[str, int]:
    """How many facts of each tier are packed where all tiers want more than there is."""
    found = [candidate(n, priority=n % 3 * 2) for n in range(3 * numbers)]
    people = [
        named(fact(1_000 + n, type="person", title=f"Person {n}"), *found) for n in range(numbers)
    ]
    pack = pack_context("q", found, budget=12_000, count=letters, intent=intent, entities=people)
    assert pack.truncated
    return dict(pack.by_tier)


@pytest.mark.parametrize("intent", INTENTS)
def test_the_intent_divides_the_budget_between_the_tiers(intent: str) -> None:
    for tier, tokens in by_tier_of(intent).items():
        assert tokens == pytest.approx(12_000 * INTENTS[intent].shares[tier], abs=600)


@pytest.mark.parametrize("first_tier", [1, 60])
def test_what_one_tier_leaves_the_others_may_use(first_tier: int) -> None:
    found = [candidate(n, priority=int(n >= first_tier)) for n in range(60)]
    pack = pack_context("q", found, budget=4_000, count=letters)
    assert max(pack.by_tier.values()) > 0.8 * 4_000
    assert pack.tokens > 0.9 * 4_000


@given(candidates(), st.integers(0, 2_000))
def test_what_was_left_out_would_not_have_fitted(found: list[PackCandidate], budget: int) -> None:
    pack = pack_context("q", found, budget=budget, count=letters)
    tiers = {each.tier for each in pack.items}
    free = budget - pack.tokens
    for each in pack.left_out:
        if each.reason != REASON_NO_ROOM or not pack.items:
            continue
        (one,) = [found for found in found if found.fact.id == each.id]
        tier = tier_of(one.fact.priority)
        head = 0 if tier in tiers else len(PACK_FORMS["markdown"].open_tier(tier))
        assert each.tokens + head > free


# --- order ---------------------------------------------------------------------------


def test_the_order_is_priority_then_importance_then_recency() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"
    found = [
        candidate(7, priority=4),
        candidate(5, priority=1, createdAt=old),
        candidate(4, priority=1, createdAt=new),
        candidate(3, priority=1, importance=0.6, createdAt=old),
        candidate(2, priority=1, importance=0.9, createdAt=old),
        candidate(6, priority=2, importance=1.0, createdAt=new),
        candidate(1, priority=0, createdAt=old),
    ]
    pack = pack_context("q", found, budget=PLENTY, count=words)
    assert packed(pack) == [1, 2, 3, 4, 5, 6, 7]
    assert titles_in(pack) == [f"Fact {n}" for n in range(1, 8)]
    assert [each.tier for each in pack.items][0::6] == ["critical", "background"]


def test_a_smaller_fact_takes_the_place_that_a_larger_one_leaves() -> None:
    found = [candidate(1), long(2, 40), candidate(3, importance=0.0)]
    pack = pack_context("q", found, budget=82, count=words)
    assert packed(pack) == [1, 3]
    assert left(pack) == [2]


# --- facts that repeat each other ----------------------------------------------------


def test_facts_that_say_nearly_the_same_are_packed_once() -> None:
    text = " ".join(f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    found = [
        candidate(1, text, title="One"),
        candidate(2, f"{text}!", title="One", priority=1),
        candidate(3, text, title="Two", priority=0, scope="team-core"),
    ]
    pack = pack_context("q", found, budget=PLENTY, count=words)
    assert packed(pack) == [3]
    assert left(pack) == [2, 1]
    assert {each.reason for each in pack.left_out} == {f"says the same as {found[2].fact.id}"}
    assert all(each.tokens > 20 for each in pack.left_out)
    assert not pack.truncated


def test_a_contradiction_that_repeats_a_fact_does_not_shift_what_others_repeat() -> None:
    texts = [" ".join(f"{letter}{n}" for n in range(30)) for letter in "abc"]
    found = [candidate(n, text, title="One") for n, text in enumerate(sorted(texts * 2))]
    found[1] = replace(found[1], beside=found[0].fact.id)
    pack = pack_context("q", found, budget=PLENTY, count=words)
    same = {each.id: each.reason.removeprefix("says the same as ") for each in pack.left_out}
    ids = [each.fact.id for each in found]
    assert {*packed(pack)} == {0, 1, 2, 4} or {*packed(pack)} == {0, 1, 3, 5}
    assert {frozenset(pair) for pair in same.items()} == {frozenset(ids[2:4]), frozenset(ids[4:])}


# --- cuts ----------------------------------------------------------------------------


def test_a_fact_larger_than_its_share_is_cut_at_a_paragraph_and_says_so() -> None:
    pack = pack_context("q", [long(1, 50)], budget=216, count=words)
    (item,) = pack.items
    assert item.cut
    assert item.reason == "words: fact; cut to paragraphs 1 to 18 of 50"
    assert "[cut to paragraphs 1 to 18 of 50]" in pack.text
    assert "p17 of 1" in pack.text
    assert "p18 of 1" not in pack.text
    assert pack.tokens <= 216
    assert pack.truncated
    assert pack.left_out == ()


def test_what_comes_later_is_cut_only_into_what_nobody_needs_whole() -> None:
    small = [candidate(n) for n in range(3, 8)]
    found = [candidate(1, importance=0.9), long(2, 20, importance=0.8), *small]
    tight = pack_context("q", found, budget=166, count=words)
    wide = pack_context("q", found, budget=BRIEF_TOKENS + 142, count=words)
    assert packed(tight) == [1, 3, 4, 5, 6, 7]
    assert packed(wide) == [1, 2, 3, 4, 5, 6, 7]
    assert [each.cut for each in wide.items] == [False, True, *[False] * 5]


@pytest.mark.parametrize(
    ("one", "budget", "cuts"),
    [
        (long(1, 10, priority=0), 200, [False]),  # fits in what the other tiers leave
        (candidate(1, "word " * 300), 200, [True]),  # one long line
        (candidate(1, "-", title="-"), 8, []),  # no content
        (replace(candidate(1), brief=True), PLENTY, [False]),  # short already
        (brief(1, 0.4), 60, [True]),  # an excerpt
    ],
)
def test_a_fact_is_whole_where_it_fits_and_left_out_where_it_cannot_be_cut(
    one: PackCandidate, budget: int, cuts: list[bool]
) -> None:
    pack = pack_context("q", [one], budget=budget, count=words)
    assert [each.cut for each in pack.items] == cuts
    assert left(pack) == ([] if cuts else [1])
    assert pack.truncated is (not cuts or any(cuts))


@pytest.mark.parametrize("form", PACK_FORMS)
@pytest.mark.parametrize("budget", [150, 200, 400])
def test_what_fits_best_is_cut_and_not_dropped_for_what_fits_less(form: str, budget: int) -> None:
    text = " ".join(f"word{n}" for n in range(900))
    best = replace(candidate(1, text, priority=2), relevance=0.9, passage="word500 word501 word502")
    found = [best, *(replace(candidate(n, priority=2), relevance=0.4) for n in range(2, 6))]
    pack = pack_context("q", found, budget=budget, count=COUNTERS["fitted"], form=form)
    assert 1 in packed(pack)
    assert "word501" in pack.text
    assert pack.tokens <= budget


@pytest.mark.parametrize(("form", "budget"), [("xml", 400), ("json", 400), ("markdown", 300)])
def test_what_fits_best_is_cut_again_if_the_whole_exceeds_its_parts(form: str, budget: int) -> None:
    text = "\n\n".join(f"word {number} " * 6 for number in range(60))
    one = candidate(1, text, priority=2)
    pack = pack_context("q", [one], budget=budget, count=swelling, form=form)
    assert packed(pack) == [1]
    assert pack.items[0].cut
    assert 0 < pack.tokens <= budget


@pytest.mark.parametrize("budget", [PLENTY, 40])
def test_an_entity_that_was_rejected_as_a_fact_is_listed_once(budget: int) -> None:
    ada = named(fact(2, "Ada. " * 9, type="person", title="Ada"), found := candidate(1))
    pack = pack_context(
        "q",
        [found],
        budget=budget,
        count=words,
        entities=[ada],
        rejected=[(ada, "fits too little")],
    )
    left_out = [each.id for each in pack.left_out]
    packed = [each.id for each in pack.items]
    assert sorted([*packed, *left_out]) == sorted({*packed, *left_out})
    assert (ada.fact.id in packed) is (budget == PLENTY)


def test_what_was_rejected_is_listed_with_its_reason() -> None:
    other = candidate(2)
    pack = pack_context(
        "q", [candidate(1)], budget=PLENTY, count=words, rejected=[(other, "fits too little")]
    )
    assert packed(pack) == [1]
    (out,) = pack.left_out
    assert (out.id, out.reason, out.title) == (other.fact.id, "fits too little", "Fact 2")
    assert out.tokens > 0
    assert not pack.truncated


# --- what fits less ------------------------------------------------------------------


def test_of_a_less_similar_fact_an_excerpt_is_packed() -> None:
    pack = pack_context("q", [long(1, 30), brief(2, 0.4)], budget=PLENTY, count=words)
    assert [each.cut for each in pack.items] == [False, True]
    assert pack.items[1].reason == "words: fact; in brief"
    assert "p20 of 2" in pack.text
    assert "p0 of 2" not in pack.text
    assert pack.items[1].tokens < 110
    assert pack.truncated


def test_excerpts_get_the_room_that_is_left_best_first() -> None:
    lesser = [brief(n, n / 10, priority=0) for n in range(2, 6)]
    pack = pack_context("q", [long(1, 10, priority=2), *lesser], budget=360, count=words)
    assert packed(pack) == [4, 5, 1]
    assert not pack.items[-1].cut
    assert left(pack) == [2, 3]


def test_entities_have_no_more_than_their_share_while_facts_wait() -> None:
    found = [long(1, 10), *(brief(n, n / 10) for n in range(2, 9))]
    people = [
        named(fact(100 + n, "word " * 30, type="person", title=f"Person {n}"), found[0])
        for n in range(9)
    ]
    pack = pack_context("q", found, budget=700, count=words, entities=people)
    assert len([each for each in pack.items if each.tier == "notable"]) > 4


# --- where it is tight ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("relevances", "numbers"),
    [
        ([1 / (n + 1) for n in range(20)], [7, 6, 5, 4, 3, 2, 0]),
        ([1.0] * 20, [19, 18, 17, 16, 15, 14, 13]),  # all the same: by their order
    ],
)
def test_the_most_relevant_facts_get_the_room(relevances: list[float], numbers: list[int]) -> None:
    found = [
        replace(candidate(n, importance=n / 20), relevance=each)
        for n, each in enumerate(relevances)
    ]
    assert packed(pack_context("q", found, budget=156, count=words)) == numbers


def test_where_it_is_tight_long_facts_are_packed_in_brief() -> None:
    found = [replace(long(n, 30), passage="p20 of", relevance=1 - n / 10) for n in range(5)]
    pack = pack_context("q", found, budget=840, count=words)
    assert packed(pack) == [0, 1, 2, 3, 4]
    assert [each.cut for each in pack.items] == [False, True, True, True, True]
    assert "cut to paragraphs 21 to 30 of 30" in pack.items[4].reason
    assert all(f"p20 of {n}" in pack.text for n in range(5))
    assert pack.truncated


def test_the_room_that_is_left_makes_facts_whole_in_their_order() -> None:
    found = [long(n, 30, importance=n / 5) for n in range(5)]
    pack = pack_context("q", found, budget=1_540, count=words)
    assert packed(pack) == [4, 3, 2, 1, 0]
    assert [each.cut for each in pack.items] == [False, False, False, False, True]
    assert pack.tokens > 1_400


# --- entities ------------------------------------------------------------------------

HARBOUR = fact(50, "The first pilot.", type="entity", title="Skarvik")
BENTE = fact(51, "Knows the gates.", type="person", title="Bente")


def test_the_entities_that_packed_facts_name_are_packed_beside_them() -> None:
    found = [candidate(1), candidate(2)]
    others = [named(BENTE, found[0]), named(HARBOUR, *found), named(fact(52, type="project"))]
    pack = pack_context("q", found, budget=PLENTY, count=words, entities=others)
    assert packed(pack) == [1, 2, 50, 51]
    assert (pack.items[2].tier, pack.left_out) == ("entities", ())


def test_an_entity_goes_with_the_only_fact_that_names_it() -> None:
    found = [candidate(1, priority=0), candidate(2, "word " * 50, priority=3)]
    pack = pack_context("q", found, budget=60, count=words, entities=[named(BENTE, found[1])])
    assert packed(pack) == [1]
    assert left(pack) == [2]


def test_an_entity_that_was_found_itself_is_not_packed_twice() -> None:
    found = [candidate(1), PackCandidate(BENTE, "title")]
    bente = named(BENTE, found[0])
    pack = pack_context("q", found, budget=PLENTY, count=words, entities=[bente])
    assert packed(pack) == [1, 51]
    assert [each.tier for each in pack.items] == ["notable", "notable"]


def test_entities_without_room_are_listed() -> None:
    found = [candidate(1)]
    people = [named(fact(50 + n, "x " * 30, type="person"), *found) for n in range(3)]
    pack = pack_context("q", found, budget=70, count=words, entities=people)
    assert pack.items[0].id == found[0].fact.id
    assert len(pack.items) + len(pack.left_out) == 4
    assert {each.reason for each in pack.left_out} == {REASON_NO_ROOM}
    assert pack.truncated
