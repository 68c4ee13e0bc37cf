"""Sections are known again when they were moved, renamed and edited."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.memory_files.plan import MAX_COMPARED_PAIRS, KnownSection, match_sections
from vaultsync.memory_files.sections import MemorySection, hash_of, read_outline


def known(section: MemorySection, number: int) -> KnownSection:
    body = hash_of(section.content)
    return KnownSection(f"f{number}", section.hash, body, section.title, "fact")


def match(old: Sequence[MemorySection], new: Sequence[MemorySection]) -> dict[int, str]:
    """The facts of the new sections; `f0` is that of the first old one."""
    contents = {f"f{number}": section.content for number, section in enumerate(old)}
    return match_sections(new, [known(each, n) for n, each in enumerate(old)], contents)


def sections(*pairs: tuple[str, str]) -> list[MemorySection]:
    text = "".join(f"## {title}\n\n{body}\n\n" for title, body in pairs)
    return list(read_outline(text, name="M").sections)


TITLES = st.sampled_from(["One", "Two", "Three"])
BODIES = st.lists(
    st.sampled_from(["mara keeps", "bente answers", "joaquim", "the books of tides"]),
    min_size=3,
    max_size=5,
).map(" ".join)
PAIRS = st.lists(st.tuples(TITLES, BODIES), max_size=8)


@given(PAIRS, st.randoms())
def test_any_reordering_finds_every_section_with_its_own_words(
    pairs: list[tuple[str, str]], random: st.DataObject
) -> None:
    before = sections(*pairs)
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    after = sections(*shuffled)
    found = match(before, after)
    assert len(set(found.values())) == len(found) == len(before)
    assert all(before[int(found[n][1:])].hash == each.hash for n, each in enumerate(after))


@given(PAIRS, PAIRS)
def test_no_fact_is_two_sections_and_no_section_two_facts(
    old: list[tuple[str, str]], new: list[tuple[str, str]]
) -> None:
    found = match(sections(*old), sections(*new))
    assert len(set(found.values())) == len(found)
    assert set(found) <= set(range(len(new)))


def test_so_many_sections_of_one_heading_are_not_compared_word_by_word() -> None:
    many = int(MAX_COMPARED_PAIRS**0.5) + 2
    old = sections(*(("Notes", f"number {n} of the old ones, all of them") for n in range(many)))
    new = sections(*(("Notes", f"{n} is a new number among them all") for n in range(many)))
    assert match(old, new) == {n: f"f{n}" for n in range(many)}
