from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.note_index import TemporaryIndex
from tests.fakes import FakeClock
from tests.filtering import FACTS, check_found, filters, with_seeds
from vaultsync.indexing.ports import NEWEST, OLDEST, IndexDocument, NoteIndex
from vaultsync.indexing.session_context import turn_of
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.permissions import AgentPermissions, Permissions, Reader
from vaultsync.model.schema import Value

pytestmark = pytest.mark.long(5)

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(300)]
A, B, C = IDS[:3]
ALL = FactFilters(status=None, heads_only=False)


@pytest.fixture
def index() -> Iterator[NoteIndex]:
    opened = TemporaryIndex()
    yield opened
    opened.close()


def a_fact(fact_id: str = A, content: str = "Green tea.", **values: Value) -> Fact:
    return make_fact({"id": fact_id, "title": "Tea", "content": content, **values})


def put(index: NoteIndex, *facts: Fact, version: str = "1") -> None:
    index.update([IndexDocument(each) for each in facts], [], version=version)


def found(
    index: NoteIndex, words: str, filters: FactFilters = ALL, *phrases: str, limit: int = 10
) -> list[str]:
    hits = index.search(words, filters, phrases=phrases, limit=limit)
    assert [each.score for each in hits] == sorted((each.score for each in hits), reverse=True)
    return [each.fact_id for each in hits]


def test_where_only_names_count_other_words_do_not(index: NoteIndex) -> None:
    put(
        index,
        a_fact(A, "About Oskar.", title="Tea", tags=["oskar"]),
        a_fact(B, "A colleague.", title="Oskar Lind", type="person"),
        a_fact(C, "Another.", title="O. Lund", type="person", aliases=["Oskar"]),
    )
    hits = index.search("oskar", ALL, limit=10, names_only=True)
    assert {each.fact_id for each in hits} == {B, C}
    people = ALL._replace(types=frozenset({"person"}))
    hits = index.search("tea oskar", people, limit=1, names_only=True)
    assert len(hits) == 1
    projects = ALL._replace(types=frozenset({"project"}))
    assert index.search("oskar", projects, limit=10, names_only=True) == []
    phrased = index.search("", ALL, phrases=["Lind"], limit=10, names_only=True)
    assert [each.fact_id for each in phrased] == [B]


TEAS = [a_fact(each, "tea and more tea") for each in IDS[3:20]]
SEARCHES: dict[str, tuple[list[Fact], dict[tuple[str, ...], list[str]]]] = {
    "any word": (
        [a_fact(A, "Green tea."), a_fact(B, "Black coffee.", title="Coffee")],
        {("which tea?",): [A], ("coffee",): [B], ("cocoa",): [], ("",): [], ("?! … —",): []},
    ),
    "its type": (
        [a_fact(A, type="lesson"), a_fact(B, type="decision"), a_fact(C, status="to read")],
        {("which lessons did we learn?",): [A], ("decisions",): [B], ("read active",): [C]},
    ),
    "any form of a word": (
        [a_fact(A, "We tested the caches."), a_fact(B, "Nothing.")],
        {("testing a cache",): [A]},
    ),
    "any case, width and composition": (
        [a_fact(A, "Cafe\u0301 ＯＢＳＩＤＩＡＮ")],
        {("café",): [A], ("obsidian",): [A]},
    ),
    "a rare word before a common one": (
        [*TEAS, a_fact(A, "one word of matcha in it")],
        {("tea matcha",): [A, *sorted(each.id for each in TEAS)][:10]},
    ),
    "a phrase, word by word in order": (
        [a_fact(A, "Green tea is hot."), a_fact(B, "Tea is green, hot.")],
        {
            ("", "green tea"): [A],
            ("hot", "green tea"): [A],
            ("hot", "tea", "is hot"): [A],
            ("", "hot green"): [],
        },
    ),
    "words beside a phrase, which only rank": (
        [a_fact(A, "Green tea, iced."), a_fact(B, "Green tea and milk.")],
        {("milk", "green tea"): [B, A]},
    ),
    "stop words alone": (
        [a_fact(A, "To be, or not to be."), a_fact(B, "Green.")],
        {("what to be or not",): [A], ("", "to be or not to be"): [A]},
    ),
    "words of a question without the stop words of its language": (
        [
            a_fact(A, "Wann und wo wir uns treffen, ist nicht die Frage."),
            a_fact(B, "Der Kran wurde rot gestrichen."),
        ],
        {("Warum ist der Kran nicht und nicht rot?",): [B]},
    ),
    "May, which is a month": (
        [a_fact(A, title="Retrospective of March"), a_fact(B, title="Retrospective of May")],
        {("what was in May?",): [B]},
    ),
}


@pytest.mark.parametrize("by", SEARCHES)
def test_facts_are_found_by(index: NoteIndex, by: str) -> None:
    facts, questions = SEARCHES[by]
    put(index, *facts)

    assert (index.version(), index.count()) == ("1", len(facts))
    for (words, *phrases), expected in questions.items():
        assert found(index, words, ALL, *phrases) == expected, words


def test_the_terms_of_a_text_are_stems_without_stop_words(index: NoteIndex) -> None:
    for one, other in (
        ("testing the caches", "tested cache"),
        ("from March until May", "March May"),
        ("Warum ist der Kran nicht rot?", "Kran rot"),
        ("to be or not to be", ""),
    ):
        assert index.tokens(one) == index.tokens(other)


@pytest.mark.parametrize(
    "values",
    [
        {"title": "Sencha"},
        {"aliases": ["Sencha"]},
        {"tags": ["drinks/sencha"]},
        {"entities": ["Sencha"]},
        {"context": "while drinking sencha"},
        {"content": "Two cups of sencha."},
        {"content": "# Sencha\n\nTwo cups."},
        {"type": "decision", "decisionRationale": "Sencha is green."},
        {"type": "decision", "decisionAlternatives": ["none", "sencha"]},
        {"likes": ["[[Sencha]]"]},
        {"cups": {"kind": "sencha", "count": 2}},
        {"summary": f"{'A cup of tea. ' * 20} Sencha"},
    ],
)
def test_every_text_of_a_fact_is_searched(index: NoteIndex, values: dict[str, Value]) -> None:
    put(index, make_fact({"id": A, "title": "One", **values}), a_fact(B))

    assert found(index, "sencha") == [A]


ABOUT_HIM = {"title": "Oskar counted", "entities": ["Oskar Brandvold", "Oskar"]}


@pytest.mark.parametrize(
    "question", ["Oskar", "who is Oskar?", "Who was that OSKAR", "oskar brandvold", '"Oskar"']
)
@pytest.mark.parametrize(
    "called",
    [
        {"title": "Oskar Brandvold", "aliases": ["Oskar", "The harbour master"]},
        {"title": "Oskar", "aliases": ["Oskar Brandvold"]},
    ],
)
def test_a_fact_that_is_called_what_is_asked_comes_first(
    index: NoteIndex, called: dict[str, Value], question: str
) -> None:
    many = [a_fact(each, "Oskar Brandvold met Oskar. Oskar!", **ABOUT_HIM) for each in IDS[1:20]]
    his = a_fact(IDS[20], "Rings rather than writes, and keeps a ledger.", **called)
    put(index, *many, his, *(a_fact(each, "Tea.") for each in IDS[21:40]))

    first, second, *_ = index.search(question, ALL, limit=10)

    assert first.fact_id == his.id
    assert first.score > 1.5 * second.score


def test_only_a_whole_name_counts_as_one(index: NoteIndex) -> None:
    names = ["Oskar", "Oskar Brandvold", "Oskar Brandvold of Skarvik"]
    put(index, *(a_fact(IDS[n], title=name) for n, name in enumerate(names)))

    for n, name in enumerate(names):
        first, *others = index.search(f"who is {name}?", ALL, limit=10)
        assert first.fact_id == IDS[n]
        assert all(first.score > 1.5 * each.score for each in others)


def test_what_is_put_again_replaces_what_was(index: NoteIndex) -> None:
    put(index, a_fact(A, "Green."), a_fact(A, "White."))
    assert (found(index, "white"), found(index, "green")) == ([A], [])
    put(index, a_fact(A, "Black."), version="2")

    assert (found(index, "white"), found(index, "black")) == ([], [A])
    assert (index.version(), index.count()) == ("2", 1)
    index.update([], [A, C], version="3")
    assert found(index, "tea") == []
    assert (index.version(), index.count()) == ("3", 0)


def test_what_is_put_later_is_not_in_the_last_commit(index: NoteIndex) -> None:
    put(index, a_fact(A, "Green."))
    commit = index.last_commit()
    put(index, a_fact(B, "Green."), version="2")

    assert (found(commit, "green"), commit.version(), commit.count()) == ([A], "1", 1)
    assert found(index.last_commit(), "green") == found(index, "green") == sorted((A, B))


def test_a_new_and_a_cleared_index_are_empty_and_have_to_be_built(index: NoteIndex) -> None:
    for _ in range(2):
        assert (index.version(), index.count(), found(index, "tea")) == (None, 0, [])
        index.update([IndexDocument(a_fact(), "We spoke of Kyoto.")], [], version="1")
        assert found(index, "tea") == found(index, "kyoto") == [A]  # by the text around it, too
        index.clear()
        index.clear()
    index.close()
    index.close()


class BrokenError(Exception):
    """Of what yields the entries."""


def test_an_update_that_breaks_off_did_nothing(index: NoteIndex) -> None:
    put(index, a_fact(A, "Green."))

    def entries() -> Iterator[IndexDocument]:
        yield IndexDocument(a_fact(A, "Black."))
        yield IndexDocument(a_fact(B))
        raise BrokenError

    with pytest.raises(BrokenError):
        index.update(entries(), [], version="2")

    assert found(index, "green") == [A]
    assert (index.version(), index.count()) == ("1", 1)
    put(index, a_fact(B), version="3")
    assert index.count() == 2


@pytest.fixture(scope="module")
def filled() -> Iterator[NoteIndex]:
    """One that holds facts of all kinds."""
    opened = TemporaryIndex()
    put(opened, *FACTS)
    yield opened
    opened.close()


@with_seeds
@given(asked=filters)
def test_filters_mean_the_same_in_all(filled: NoteIndex, asked: FactFilters) -> None:
    check_found(found(filled, "tea", asked, limit=len(FACTS)), asked)


def hiding(asked: FactFilters) -> Counter[str]:
    """What each default hides, fact by fact."""
    passing = filter(asked.unhidden.admits, FACTS)
    return Counter(filter(None, map(asked.hidden_by, passing)))


@with_seeds
@given(asked=filters)
def test_what_each_default_hides_is_counted_exactly(filled: NoteIndex, asked: FactFilters) -> None:
    expected = hiding(asked)
    assert filled.count_hidden("tea", asked) == expected
    assert filled.count_hidden("", asked, phrases=["green tea"]) == expected
    assert filled.count_hidden(None, asked) == expected
    assert not filled.count_hidden("cocoa", asked)
    assert not filled.count_hidden("", asked)


@given(asked=filters)
def test_facts_are_browsed_by_filters_alone(filled: NoteIndex, asked: FactFilters) -> None:
    found = filled.browse(asked, limit=len(FACTS))
    left = [each for each in FACTS if each.id in found and asked.admits(each)]
    assert {each.id for each in left} == {each.id for each in FACTS if asked.admits(each)}


def test_a_set_comes_in_the_order_that_is_asked_for(index: NoteIndex) -> None:
    day = "2026-05-0{}T10:00:00Z"
    put(
        index,
        a_fact(A, priority=1, importance=0.4, createdAt=day.format(1)),
        a_fact(B, priority=1, importance=0.9, createdAt=day.format(2)),
        a_fact(C, priority=0, createdAt=day.format(3)),
        a_fact(IDS[3], priority=1, importance=0.4, createdAt=day.format(4)),
    )
    assert index.browse(ALL, limit=9) == [C, B, IDS[3], A]
    assert index.browse(ALL, order=NEWEST, limit=9) == [IDS[3], C, B, A]
    assert index.browse(ALL, order=OLDEST, limit=2) == [A, B]
    assert index.browse(ALL, limit=0) == []
    put(index, a_fact(A, priority=1, importance=1.0, createdAt=day.format(1)))
    assert index.browse(ALL, limit=2) == [C, A]


def test_the_languages_and_terms_of_facts_are_known(index: NoteIndex) -> None:
    assert index.languages() == frozenset()
    assert index.terms_beginning_with(["haf"]) == {"haf": set()}
    put(index, a_fact(A, "Der Hafen ist nicht in dem Ort, und die Hafenuhr ist alt."))
    put(index, a_fact(B, "The harbour and the haft.", title="Hafnium"))
    assert index.languages() == {"english", "german"}
    known = index.terms_beginning_with(["haf", "zzz"])
    assert {"haft", "hafnium"} <= set(known["haf"])
    assert known["zzz"] == set()


def test_german_compounds_and_their_parts_are_known(index: NoteIndex) -> None:
    german = "Das ist der Antrag, und die Steuererklärung ist auf dem Tisch mit dem Urlaub."
    put(index, a_fact(A, "The bookshelf and the tax return."))
    assert index.compounds(["book", "Steuer"]) == {}  # without German facts
    put(index, a_fact(B, german))
    known = index.compounds(["Steuer", "Erklärung", "Urlaubsantrag", "Tee", "Haus"])
    assert known.keys() == {"Steuer", "Erklärung", "Urlaubsantrag"}
    assert known["Urlaubsantrag"][1:] == ["antrag"]
    assert [found(index, " ".join(known[each])) for each in known] == [[B]] * 3
    put(index, a_fact(B, f"{german} Die Hausnummer und die Nummer"))
    assert found(index, " ".join(index.compounds(["Haus"])["Haus"])) == [B]


def test_facts_with_check_boxes_are_browsed(index: NoteIndex) -> None:
    put(index, a_fact(A, "- [x] Tea"), a_fact(B, "- [ ] Tea"), a_fact(C, "- [ ] Tee und Milch"))
    assert set(index.browse(ALL, limit=9, boxes="open")) == {B, C}
    assert index.browse(ALL, limit=9, boxes="closed") == [A]
    put(index, a_fact(B, "- [-] Tea\n- [ ] Rum"), a_fact(C, "- [X] Tee und Milch"))
    assert index.browse(ALL, limit=9, boxes="open") == [B]
    assert set(index.browse(ALL, limit=9, boxes="closed")) == {A, B, C}
    assert index.browse(FactFilters(types=frozenset({"task"})), limit=9, boxes="open") == []


def test_facts_with_any_of_some_tags_are_browsed(index: NoteIndex) -> None:
    put(
        index, a_fact(A, "#projekt/Haus"), a_fact(B, "Tea", tags=["Proyecto"]), a_fact(C, "projekt")
    )
    assert set(index.browse(ALL, limit=9, tags={"projekt", "proyecto"})) == {A, B}
    assert index.browse(ALL, limit=9, tags={"tea"}) == []


def test_a_limit_beyond_all_facts_is_none(index: NoteIndex) -> None:
    put(index, a_fact(A, "Tea."))
    assert index.browse(ALL, limit=sys.maxsize) == [A]
    assert [each.fact_id for each in index.search("tea", ALL, limit=sys.maxsize)] == [A]


def test_an_empty_index_has_no_set(index: NoteIndex) -> None:
    assert index.browse(ALL, limit=9) == []
    assert not index.count_hidden(None, FactFilters())


def test_facts_of_a_theme_are_found_and_those_hidden_counted(index: NoteIndex) -> None:
    put(
        index,
        a_fact(A, themeIds=["Harbour", "money"]),
        a_fact(B, themeIds=["money"]),
        a_fact(C, themeIds=["harbour"], status="archived"),
    )
    asked = FactFilters(
        status=None, themes=frozenset({"harbour"}), hidden_statuses=frozenset({"archived"})
    )
    assert found(index, "tea", asked) == index.browse(asked, limit=9) == [A]
    assert index.count_hidden("tea", asked) == index.count_hidden(None, asked) == {"archived": 1}
    assert found(index, "tea", asked._replace(themes=frozenset({"harbour", "money"}))) == [A]


def test_a_term_is_counted_once_for_each_fact_that_has_it(index: NoteIndex) -> None:
    put(index, a_fact(A, "Kelp, kelp."), a_fact(B, "Kelp."), a_fact(C, tags=["oak"]))
    assert index.facts_with(["kelp", "oak", "fern"]) == {"kelp": 2, "oak": 1, "fern": 0}


def test_a_term_is_known_in_whatever_language_the_facts_have_it(index: NoteIndex) -> None:
    german = "Wir haben die Versicherungen gekündigt, weil sie zu teuer sind und wenig nützen."
    put(index, a_fact(A, german, title="Die Versicherungen"))
    (term,) = index.tokens("Versicherungen")
    assert index.facts_with([term])[term] == 1


def test_forms_of_a_word_have_a_stem_in_common(index: NoteIndex) -> None:
    stems_of = index.stemmer("Which berths?")
    assert set(index.tokens("berths")) <= set(stems_of("Berths"))
    assert not set(stems_of("Berth")).isdisjoint(stems_of("berths"))
    assert set(stems_of("off")).isdisjoint(stems_of("offline"))


def test_terms_a_letter_or_two_off_are_near(index: NoteIndex) -> None:
    put(
        index,
        a_fact(A, "Nine subscribers."),
        a_fact(B, "An encrypted copy."),
        a_fact(C, "A fact.", title="Berths"),
    )
    for written, meant in {
        "subscribrs": "subscribers",  # one letter is missing
        "sbuscribers": "subscribers",  # two have changed places
        "encryptad": "encrypted",
        "berhts": "berths",
        "fcat": "",  # a short word has too many neighbours
        "something": "",
        "subscribers": "",  # it is one itself
    }.items():
        (term,) = index.tokens(written)
        assert index.near_terms(term) == index.tokens(meant), written


def test_an_empty_index_has_no_terms(index: NoteIndex) -> None:
    assert index.near_terms("subscribr") == []
    assert index.facts_with(["subscribr"]) == {"subscribr": 0}


def test_an_index_counts_what_an_agent_may_see(index: NoteIndex) -> None:
    assert index.count(Reader("indy", Permissions())) == 0
    table = Permissions(
        {"moss": AgentPermissions(read=("team-*",))}, teams={"team-tide": ("indy",)}
    )
    readers = [table.reader(each) for each in (None, "Indy", "ada", "moss")]
    put(index, a_fact(A, scope="public"), a_fact(B, scope="private-indy"))
    put(index, a_fact(C, scope="team-tide"))
    assert [index.count(each) for each in readers] == [3, 3, 1, 0]
    index.update([], [B], version="2")
    assert [index.count(each) for each in readers] == [2, 2, 1, 0]
    for each in readers:
        assert len(index.browse(FactFilters(reader=each), limit=9)) == index.count(each)
        assert not index.browse(FactFilters(reader=each, scopes=frozenset({"project-x"})), limit=9)


def test_equal_matches_come_by_id_and_no_more_than_asked_for(index: NoteIndex) -> None:
    facts = [a_fact(each, "Green.") for each in IDS[:40]]
    put(index, *facts[20:])
    put(index, *reversed(facts[:20]))

    for limit in (0, 5, 40):
        assert found(index, "tea", limit=limit) == IDS[:limit]


SYNTAX = ['title:tea" OR (', "*", "a AND NOT", "tea^9 ~2 [a TO b]", "\\", "\0", "/x("]


@pytest.mark.parametrize("words", SYNTAX)
def test_nothing_in_a_question_is_syntax(index: NoteIndex, words: str) -> None:
    put(index, a_fact(A, "Green tea."))

    assert found(index, f"{words} tea") == [A]
    assert found(index, "tea", ALL, words) in ([], [A])


ANY_TEXT = st.text(st.characters(exclude_characters="\0", codec=None))


@given(st.text(), st.text(st.characters(codec=None)), ANY_TEXT)
def test_every_text_is_a_question(content: str, words: str, phrase: str) -> None:
    index = TemporaryIndex()
    put(index, Fact(A, title="Tea", content=content))
    found = index.search(words, ALL, phrases=[phrase], limit=3)
    assert [each.fact_id for each in found] in ([], [A])
    index.close()


def turns(index: NoteIndex, sessions: list[Fact], *ids: str) -> list[str]:
    told = index.turns({turn_of(each).session for each in sessions}, ids)
    assert len({each.fact_id for each in told}) == len(told)
    return [each.fact_id for each in sorted(told)]


def test_a_session_is_told_in_its_order(index: NoteIndex) -> None:
    one = a_fact(B, sessionId="s", createdAt="2026-02-14T13:45:00Z")
    two = a_fact(A, sessionId="s", createdAt="2026-02-14T13:45:00.5Z")
    other = a_fact(C, sessionId="t")
    put(index, two, one, other, a_fact(IDS[3]))

    assert turns(index, [one]) == turns(index, [], A) == [B, A]
    assert turns(index, [], IDS[3]) == [IDS[3]]
    assert sorted(index.turns([], [A, C])) == sorted(map(turn_of, [one, two, other]))
    assert turns(index, [a_fact()]) == turns(index, []) == []


def test_a_session_goes_no_further_than_its_scope(index: NoteIndex) -> None:
    hidden = a_fact(B, sessionId="s", scope="private-indy")
    put(index, a_fact(A, sessionId="s"), hidden)

    assert turns(index, [], A) == [A]
    assert turns(index, [hidden]) == [B]


def test_the_turn_of_a_fact_that_was_put_again_is_the_last(index: NoteIndex) -> None:
    put(index, a_fact(A, sessionId="s"))
    put(index, a_fact(A, "Black.", sessionId="t"))

    assert index.turns([], [A]) == [turn_of(a_fact(A, "Black.", sessionId="t"))]
    index.update([], [A], version="2")
    assert index.turns([], [A]) == []
