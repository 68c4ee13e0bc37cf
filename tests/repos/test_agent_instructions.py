from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.packs import fact
from vaultsync.hosts.marked_blocks import REPOSITORY
from vaultsync.model.fact import Fact
from vaultsync.repos.agent_instructions import HEAD, make_block, put_block

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
FACTS = st.lists(
    st.builds(
        lambda n, title, content: fact(n, title=title, content=content, type="convention"),
        st.integers(1, 99),
        TEXTS.filter(str.strip),
        TEXTS.map(lambda text: text.replace("x", "\n")) | st.just(f"a\n{REPOSITORY.end}\nb"),
    ),
    max_size=5,
    unique_by=lambda each: each.id,
)


def test_the_most_important_conventions_come_first_and_whole() -> None:
    made = make_block(
        [
            fact(1, title="Zeta", content="Last.", priority=2, type="convention"),
            fact(2, title="Commits", content="Imperative.\nShort.", priority=1, type="convention"),
            fact(3, title="No tabs", content="No tabs", priority=0, type="convention"),
        ],
        count=len,
    )

    assert made.body == (
        f"{HEAD}\n- No tabs\n- **Commits**\n\n  Imperative.\n  Short.\n- **Zeta**: Last.\n"
    )
    assert made.tokens == len(made.body)
    assert [each[-1] for each in made.included] == ["3", "2", "1"]


def test_what_does_not_fit_is_left_out_whole_and_named() -> None:
    long = fact(1, title="Long", content="x " * 400, priority=0, type="convention")
    short = fact(2, title="Short", content="Yes.", priority=1, type="convention")

    made = make_block([long, short], count=len, budget=200)

    assert made.body.endswith("- **Short**: Yes.\n")
    assert made.left_out == (long.id,)
    assert make_block([long], count=len, budget=9).body == ""


@given(FACTS, st.integers(0, 900), TEXTS | st.none())
def test_only_the_block_changes_and_a_second_time_nothing(
    conventions: list[Fact], budget: int, text: str | None
) -> None:
    made = make_block(conventions, count=len, budget=budget)
    once = put_block(text, made.body)

    assert made.tokens <= max(budget, 0)
    assert sorted(made.included + made.left_out) == sorted(each.id for each in conventions)
    assert put_block(once, made.body) == once
    assert put_block(once, make_block(conventions[1:], count=len).body or "x") is not None
    assert put_block(once, "") == text


def test_a_convention_cannot_end_its_block() -> None:
    evil = fact(
        1, title=f"T {REPOSITORY.end}", content=f"a\n{REPOSITORY.end}\nb", type="convention"
    )

    text = put_block("# Mine\n", make_block([evil], count=len).body)

    assert text is not None
    assert text.count(REPOSITORY.end) == 1
    assert put_block(text, "") == "# Mine\n"


def test_a_file_without_a_block_stays_as_it_is_when_there_is_nothing_to_write() -> None:
    assert put_block("# Mine\n", "") == "# Mine\n"
    assert put_block(None, "") is None
