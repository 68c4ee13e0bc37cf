from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.entries import render_index
from tests.packs import fact, words
from tests.strategies import facts
from vaultsync.errors import UnsafePathError
from vaultsync.index_files import paging as tables
from vaultsync.index_files.entity_groups import PER_ENTITY
from vaultsync.index_files.entry import (
    ENTRY_SUMMARY_LENGTH,
    ENTRY_TITLE_LENGTH,
    IndexEntry,
    entry_line,
    entry_of,
    link_to,
    parse_entry_line,
)
from vaultsync.index_files.index_pages import MAX_RECENT, PER_PRIORITY, PER_TYPE
from vaultsync.index_files.paging import TableLine, paged_files
from vaultsync.links.wikilinks import LinkResolver, find_links
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, stem_of, vault_path
from vaultsync.notes.kinds import is_table

pytestmark = pytest.mark.long(5)

MASTER, TYPES = "vault-index.md", "by-type.md"
PRIORITIES, ENTITIES = "by-priority.md", "by-entity.md"
ANY = st.characters(exclude_categories=["Cs"])
LETTERS = st.sampled_from("aZ0 éßжλ漢かㄱ🙂·|[]#^%()<>*`\\\"'.-\u202e\u0301")
TEXT = st.text(LETTERS | ANY, max_size=40)


def entries(*many: Fact) -> list[IndexEntry]:
    listed_entries = (entry_of(each, words) for each in many)
    return [each for each in listed_entries if each is not None]


def texts_of(*many: Fact) -> dict[str, str]:
    paths = {each.id: each.path for each in many if each.path is not None}
    return render_index(entries(*many), paths)


def lines_under(text: str, heading: str) -> list[str]:
    """The entries under a heading that begins so."""
    found = re.search(rf"^## {re.escape(heading)}.*\n((?:- .*\n)*)", text, re.MULTILINE)
    assert found, f"no heading {heading!r} in\n{text}"
    return found[1].splitlines()


def titles_under(text: str, heading: str) -> list[str]:
    read = map(parse_entry_line, lines_under(text, heading))
    return [entry.title for entry, _ in filter(None, read)]


def listed(texts: Iterable[str]) -> list[VaultPath]:
    """The paths of all entries of some files."""
    read = (parse_entry_line(line) for text in texts for line in text.splitlines())
    return [path for _, path in filter(None, read)]


def entry_at(
    n: int, *, type_name: str = "fact", day: str = "2026-02-14", entities: tuple[str, ...] = ()
) -> IndexEntry:
    """A long entry."""
    return IndexEntry(f"{n:05}", type_name, 2, "漢" * 120, "字" * 120, n, day, None, entities)


def files_of(many: Iterable[IndexEntry]) -> dict[str, str]:
    listed_entries = list(many)
    paths = {each.id: VaultPath(f"public/facts/{each.id}.md") for each in listed_entries}
    return render_index(listed_entries, paths)


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


@st.composite
def some_paths(draw: st.DrawFn) -> VaultPath:
    """The path of a note anywhere, with any name that a note can have."""
    names = draw(st.lists(TEXT, min_size=1, max_size=3))
    try:
        return vault_path("/".join(names) + ".md")
    except UnsafePathError:
        return VaultPath(f"public/notes/{draw(st.integers(0, 10**6))}.md")


# --- entries -------------------------------------------------------------------------


def test_an_entry_is_a_link_with_a_summary_and_its_cost() -> None:
    one = fact(
        7,
        "We use **SQLite** on the [[Pier Box|box]].\n\nMore.",
        title="Use SQLite",
        type="decision",
        priority=0,
        importance=0.95,
    )

    (entry,) = entries(one)

    assert entry_line(entry, VaultPath("public/decisions/use-sqlite.md")) == (
        "- [2026-02-14] **Decision** P0 [[public/decisions/use-sqlite|Use SQLite]]"
        " · We use SQLite on the box. · 11 tokens · importance 0.95"
    )
    (bare,) = entries(Fact(one.id, title="Tea"))
    assert entry_line(bare, VaultPath("Tea.md")) == "- [no date] **Note** P2 [[Tea]] · 2 tokens"


def test_only_active_facts_that_nothing_replaces_are_listed() -> None:
    assert entry_of(fact(1, status="archived"), words) is None
    assert entry_of(fact(1, supersededById=fact(2).id), words) is None
    assert entry_of(fact(1, supersedesId=fact(2).id), words) is not None


@pytest.mark.parametrize(
    ("content", "summary"),
    [
        ("Tea at four. It is hot.", "It is hot."),
        ("Tea at four", "of the kitchen"),
        ("Tea at fourteen is late.", "Tea at fourteen is late."),
        ("Tea at four is too late.", "Tea at four is too late."),
        ("[[Tea at four]] is too late.", "Tea at four is too late."),
        ("Tea at four's end.", "Tea at four's end."),
        ("Tea at four-ish.", "Tea at four-ish."),
        ("Tea at four: hot, not cold.", "hot, not cold."),
        ("Tea at four\nand cake at five", "and cake at five"),
        ("> Tea at four.\n> It is hot.", "It is hot."),
        ("# Heading\n\n```\ncode\n```\n\n| a |\n|---|\n\n> Quoted.", "Quoted."),
        ("- one [link](x.md)\n- two", "one link - two"),
        ("<!-- hidden -->\n\nSeen. ^block", "Seen."),
        ("![[photo.png]]\n\na · b [c] #tag", "photo.png"),
        ("a · b [c] #tag | d", "a , b (c) tag / d"),
        ("Use C# or F#. ##x", "Use C# or F#. x"),
        (r"It is in C:\Temp\a\_b.", r"It is in C:\Temp\a_b."),
        ("", "of the kitchen"),
    ],
)
def test_a_summary_is_the_first_that_the_title_does_not_say(content: str, summary: str) -> None:
    one = fact(1, "x", title="Tea at four.", context="of the kitchen")
    (entry,) = entries(one.evolve(content=content))
    assert entry.summary == summary


def test_the_summary_of_a_title_that_was_cut_goes_on_where_it_was_cut() -> None:
    """The title is its first sentence as far as a title goes."""
    content = "We chose it because it needs no server and keeps its data in files."
    one = fact(1, content, title="We chose it because it needs…")
    (entry,) = entries(one)
    assert entry.summary == "no server and keeps its data in files."


def test_words_and_emoji_stay_whole_and_nothing_hidden_is_listed() -> None:
    title = "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e\u0648\u0627"
    (entry,) = entries(fact(1, "Do\xadnau\x07\u202edampf", title=f"{title}\U000e0041\xa0x"))
    assert (entry.title, entry.summary) == (f"{title} x", "Donau dampf")


def test_long_titles_and_summaries_end_between_words() -> None:
    (entry,) = entries(fact(1, "word " * 100, title="long title, " * 50))
    (solid,) = entries(fact(1, "漢" * 1000, title="字" * 1000))
    assert entry.summary == "word " * 22 + "word…"
    assert entry.title.endswith("long title, long…")
    assert len(solid.title) == ENTRY_TITLE_LENGTH
    assert len(solid.summary) == ENTRY_SUMMARY_LENGTH


@given(facts(), some_paths(), TEXT, TEXT)
def test_a_line_can_be_read_again(one: Fact, path: VaultPath, title: str, content: str) -> None:
    for entry in entries(one.evolve(title=title, content=content, status="active")):
        line = entry_line(entry, path)
        read = parse_entry_line(line)
        assert not {"\n", "\r"} & set(line)
        assert read is not None
        found, where = read
        assert where == path
        for key in ("type", "priority", "tokens", "day", "summary"):
            assert getattr(found, key) == getattr(entry, key)
        assert (found.importance or 0) == pytest.approx(entry.importance or 0, rel=1e-3)


@pytest.mark.parametrize(
    "line", ["", "# Vault Index", "- and 7 more", "- [by-type.md](by-type.md): 3 entries"]
)
def test_other_lines_are_no_entries(line: str) -> None:
    assert parse_entry_line(line) is None


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("a/C# [draft].md", "[T](a/C%23%20%5Bdraft%5D.md)"),
        (" edge.md", "[T](/%20edge.md)"),
        ("edge .md", "[T](edge%20.md)"),
        ("100%.md", "[[100%|T]]"),
        ("x.md.md", "[[x.md.md|T]]"),
    ],
)
def test_a_name_that_no_wiki_link_can_say_is_linked_otherwise(path: str, link: str) -> None:
    assert link_to(VaultPath(path), "T") == link
    (entry,) = entries(fact(1, title="T"))
    read = parse_entry_line(entry_line(entry, VaultPath(path)))
    assert read is not None
    assert (read[0].title, read[1]) == ("T", path)


@example([VaultPath("C#.md")], "C:\\", VaultPath("Tea.md"))
@example([VaultPath(" 0.md")], "", VaultPath("a/b.md"))
@example([VaultPath("C#.md")], "a]", VaultPath("Tea.md"))
@given(st.lists(some_paths(), min_size=1, max_size=6), TEXT, some_paths())
def test_a_link_leads_to_its_note_whatever_else_there_is(
    paths: list[VaultPath], title: str, source: VaultPath
) -> None:
    names = LinkResolver.of([*paths, source])
    for path in paths:
        if any(p.lower() == path.lower() and p != path for p in [*paths, source]):
            continue  # two that differ in case only are one to Obsidian
        if not stem_of(path).strip():
            continue  # a name of blanks alone: no link says it, for blanks are stripped
        (link,) = find_links(f"- {link_to(path, title)} · x")
        assert names.resolve(link.target, source) == path


# --- tables --------------------------------------------------------------------------


def test_the_master_table_counts_shows_what_is_recent_and_the_most_important() -> None:
    old = [
        fact(n, type="lesson", importance=n / 20, createdAt=f"2025-01-{n + 1:02d}")
        for n in range(12)
    ]
    new = [fact(50 + n, createdAt=f"2026-02-{n + 1:02d}") for n in range(10)]

    text = texts_of(*old, *new)[MASTER]

    assert "\nTotal facts: 22 · 242 tokens\nNewest: 2026-02-10\n" in text
    assert titles_under(text, "Recent (7 days up to 2026-02-10)") == [
        f"Fact {n}" for n in range(59, 52, -1)
    ]
    assert titles_under(text, "Lessons (12)") == [f"Fact {n}" for n in range(11, 1, -1)]
    assert lines_under(text, "Lessons (12)")[-1] == "- and 2 more in by-type.md"
    assert text.index("## Lessons") < text.index("## Facts (10)")


def test_what_is_recent_depends_on_the_newest_fact_and_is_counted() -> None:
    ancient = [fact(1, createdAt="0001-01-01"), fact(2, createdAt="0001-01-03")]
    assert titles_under(texts_of(*ancient)[MASTER], "Recent") == ["Fact 2", "Fact 1"]
    text = texts_of(*(fact(n) for n in range(MAX_RECENT + 3)))[MASTER]
    assert len(lines_under(text, "Recent")) == MAX_RECENT + 1
    assert lines_under(text, "Recent")[-1] == "- and 3 more"


def test_facts_without_a_day_are_listed_last_and_are_never_recent() -> None:
    dateless = fact(1).evolve(created_at="")
    assert "Recent" not in texts_of(dateless)[MASTER]
    both = texts_of(dateless, fact(2))[TYPES]
    assert titles_under(both, "Facts (2)") == ["Fact 2", "Fact 1"]


def test_by_type_has_every_fact_by_importance() -> None:
    many = [fact(n, importance=(n % 3) / 2) for n in range(PER_TYPE * 3)]
    text = texts_of(*many)[TYPES]
    assert sorted(listed([text])) == sorted(each.path for each in many if each.path)
    numbers = [int(t.removeprefix("Fact ")) for t in titles_under(text, "Facts (30)")]
    assert [n % 3 for n in numbers] == [2] * 10 + [1] * 10 + [0] * 10


def test_by_priority_and_by_entity_have_the_most_important() -> None:
    many = [fact(n, priority=n % 2, importance=n / 100, entities=["Bente"]) for n in range(50)]
    texts = texts_of(*many)
    text = texts[PRIORITIES]
    assert len(lines_under(text, "Critical (Priority 0): 25")) == PER_PRIORITY + 1
    assert titles_under(text, "Notable (Priority 1): 25")[0] == "Fact 49"
    assert lines_under(text, "Notable (Priority 1)")[-1] == "- and 5 more"
    text = texts[ENTITIES]
    assert len(lines_under(text, "Bente (50 mentions)")) == PER_ENTITY + 1
    assert titles_under(text, "Bente")[0] == "Fact 49"
    assert lines_under(text, "Bente")[-1] == "- and 40 more"


def test_by_entity_has_the_most_named_entity_first() -> None:
    skarvik = fact(90, type="entity", title="Skarvik", aliases=["The Harbour"])
    many = [
        fact(1, entities=["Bente"]),
        fact(2, entities=["skarvik", "Bente", "SKARVIK"]),
        fact(3, entities=["Skarvik"]),
        fact(4, entities=["Skarvik", "the harbour"]),
    ]

    text = texts_of(skarvik, *many)[ENTITIES]

    assert headings(text) == [
        "[[public/facts/90|Skarvik]], the harbour (3 mentions)",
        "Bente (2 mentions)",
    ]
    assert titles_under(text, "Bente") == ["Fact 1", "Fact 2"]


def test_an_entity_is_one_by_whichever_of_its_names_facts_call_it() -> None:
    mara = fact(90, type="person", title="Mara Lindqvist", aliases=["Captain"])
    mara = mara.evolve(path=VaultPath("public/people/Mara L.md"))
    many = [
        fact(1, entities=["Mara L"]),
        fact(2, entities=["MARA LINDQVIST", "captain"]),
        fact(3, entities=["Mara L", "Bo"]),
    ]
    text = texts_of(mara, *many)[ENTITIES]
    assert headings(text) == [
        "[[public/people/Mara L|Mara Lindqvist]], captain, Mara L (3 mentions)",
        "Bo (1 mention)",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (fact(1, type="person", title="Ann", aliases=["Bo"]), fact(2, type="person", title="Bo")),
        (
            fact(1, type="person", title="Ann").evolve(path=VaultPath("public/people/Bo.md")),
            fact(2, type="person", title="Dan", aliases=["Bo"]),
        ),
    ],
)
def test_a_title_counts_before_an_alias_and_that_before_a_file_name(one: Fact, other: Fact) -> None:
    text = texts_of(one, other, fact(3, entities=["Bo"]))[ENTITIES]
    assert re.search(r"^## \[\[public/facts/2\|.*\(1 mention\)$", text, re.MULTILINE)


def test_a_fact_without_a_note_is_not_listed() -> None:
    assert listed(texts_of(fact(1).evolve(path=None), fact(2)).values()) == [fact(2).path] * 4


def test_an_empty_vault_has_empty_tables_that_say_what_they_are() -> None:
    texts = render_index([], {})
    assert set(texts) == {MASTER, TYPES, PRIORITIES, ENTITIES}
    assert "Total facts: 0 · 0 tokens" in texts[MASTER]
    assert all(is_table(text.encode()) for text in texts.values())
    for other in ("type: note", "vaultsync: index of it", "vaultsync: conflict"):
        assert not is_table(f"---\n{other}\n---\nvaultsync: index\n".encode())
    assert not is_table(b"---\nvaultsync: index\n")


@given(st.lists(facts(), max_size=8, unique_by=lambda each: each.id), st.randoms())
def test_the_order_of_facts_changes_nothing(many: list[Fact], chance: Random) -> None:
    paths = {each.id: VaultPath(f"public/{n}.md") for n, each in enumerate(many)}
    some = entries(*many)
    first = render_index(some, paths)
    chance.shuffle(some)
    shuffled = list(paths.items())
    chance.shuffle(shuffled)
    assert render_index(some, dict(shuffled)) == first


# --- files of bounded size -----------------------------------------------------------


@st.composite
def many_entries(draw: st.DrawFn) -> tuple[list[IndexEntry], Mapping[str, VaultPath]]:
    """A few hundred facts with long titles in any script, in a few months and types."""
    alphabet = draw(st.sampled_from(["a", "é", "ж", "漢", "🙂", "aé漢 "]))
    chance = Random(draw(st.integers(0, 10**6)))
    number = draw(st.integers(0, 300))
    months = draw(st.integers(1, 3))
    long = draw(st.booleans())
    listed_entries, paths = [], {}
    for n in range(number):
        title = "".join(chance.choices(alphabet, k=chance.randrange(1, 400)))
        one = fact(
            n,
            title * 2,
            title=title,
            type=chance.choice(["fact", "decision"]),
            priority=chance.randrange(5),
            createdAt=f"2026-0{chance.randrange(months) + 1}-14",
            entities=chance.sample(["Ann", "Éva", "港", "Bo", title[:20]], k=2),
        )
        folder = "f" * 90 + "/" if long else ""
        paths[one.id] = VaultPath(f"public/{folder * 5}{n}.md")
        listed_entries += entries(one)
    return listed_entries, paths


@given(many_entries(), st.sampled_from([1_500, 4_000, 20_000]))
def test_no_file_passes_the_limit_and_none_is_out_of_reach(
    given_: tuple[list[IndexEntry], Mapping[str, VaultPath]], limit: int
) -> None:
    many, paths = given_
    before = tables.MAX_FILE_BYTES, tables._TITLE_BYTES
    tables.MAX_FILE_BYTES, tables._TITLE_BYTES = limit, 200
    try:
        texts = render_index(many, paths)
    finally:
        tables.MAX_FILE_BYTES, tables._TITLE_BYTES = before

    for name, text in texts.items():
        entries_in = sum(line.startswith("- [2") for line in text.splitlines())
        assert len(text.encode()) <= limit or entries_in <= 1, name
    by_type = [text for name, text in texts.items() if name.startswith("by-type")]
    assert sorted(listed(by_type)) == sorted(paths.values())
    reached = {MASTER, TYPES, PRIORITIES, ENTITIES}
    for text in texts.values():
        reached |= set(re.findall(r"\]\((.*?\.md)\)", text))
    assert reached == set(texts)


def test_ten_thousand_facts_of_one_day_are_parted_by_numbers() -> None:
    texts = files_of(entry_at(n) for n in range(3_000))
    assert max(len(text.encode()) for text in texts.values()) <= tables.MAX_FILE_BYTES
    assert "by-type-1.md" in texts
    assert "- [by-type-2.md](by-type-2.md): " in texts[TYPES]


def test_a_large_table_is_parted_by_type_and_month() -> None:
    texts = files_of(
        entry_at(n, type_name="fact" if n % 10 else "lesson", day=f"2026-0{n % 4 + 1}-14")
        for n in range(1_000)
    )
    months = [f"by-type-fact-2026-0{month}.md" for month in range(1, 5)]
    parts = [*months, "by-type-fact.md", "by-type-lesson.md", "by-type.md"]
    assert sorted(name for name in texts if "type" in name) == parts


@pytest.mark.parametrize(
    ("name", "letter"),
    [("Éva", "e"), ("42", "0-9"), ("", "0-9"), ("港", "cjk"), ("Ω", "greek"), ("ð", "latin")],
)
def test_a_large_table_of_entities_is_parted_by_letter(name: str, letter: str) -> None:
    names = (f"{n}" if name == "42" else f"{name}{n}" for n in range(300))
    texts = files_of(entry_at(n, entities=(x, f"Zoe {n}")) for n, x in enumerate(names))
    assert f"by-entity-{letter}.md" in texts
    assert "by-entity-z.md" in texts


def test_one_line_that_is_too_long_has_a_file_of_its_own() -> None:
    long = TableLine("- " + "x" * tables.MAX_FILE_BYTES, "Heading")
    listed_entries = paged_files(
        "stem", "Title", [TableLine("- a", "Heading"), long, TableLine("- b", "Other")]
    )
    assert sorted(listed_entries) == ["stem-1.md", "stem-2.md", "stem-3.md", "stem.md"]
    assert long.line in listed_entries["stem-2.md"]
