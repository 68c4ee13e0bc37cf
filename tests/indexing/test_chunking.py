from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.markdown.test_encoded_data import data
from tests.processor_time import processor_seconds
from vaultsync.indexing.chunking import MAX_CHUNK_SIZE, Chunk, chunk_fact, token_quarters
from vaultsync.model.fact import Fact, make_fact

_SENTENCE = (
    "We keep the vectors of paragraph {} beside the facts, since a question often asks in"
    " other words than the note that answers it. "
)


def paragraph(n: int, sentences: int = 3) -> str:
    return (_SENTENCE.format(n) * sentences).strip()


def of(content: str, title: str = "Tea", around: str = "") -> list[Chunk]:
    return chunk_fact(Fact("id", title=title, content=content), around=around)


def joined(*blocks: str) -> str:
    return "\n\n".join(blocks)


def ids(*notes: str) -> set[str]:
    return {chunk.id for note in notes for chunk in of(note)}


LONG = [paragraph(n) for n in range(6)]
_MARKDOWN = st.lists(
    st.sampled_from(
        [
            *("", "# One", "## Two ##", "#", "short", *LONG, paragraph(7, 12)),
            *("- a\n- b", "- a\n\n  ```\n\n  x\n  ```", "```py\na = 1\n\n# no heading\n```"),
            *("~~~\n```\n\n~~~", "> ```\n> open", "| a | b |\n|---|---|\n| 1 | 2 |"),
            *("$$\nx\n\n# y\n$$", "%% a\n\n# b %%"),
            "".join(chr(0x4E00 + n) for n in range(600)),
            "".join(f"{n:x}" for n in range(900)),
        ]
    ),
    max_size=12,
).map("\n\n".join)


def test_a_short_fact_is_one_chunk_of_all_it_says() -> None:
    fact = Fact(
        "id",
        title="Green tea",
        context="A morning in Kyoto",
        aliases=("Sencha",),
        content="Twice a day.\n\n# Not\n\nLater.",
    )
    (chunk,) = chunk_fact(fact)
    assert chunk.text == ("Green tea\nSencha\nA morning in Kyoto\nTwice a day.\n\n# Not\n\nLater.")
    assert chunk.id == sha256(chunk.text.encode()).hexdigest()
    assert (chunk.start, chunk.end) == (0, len(fact.content))


def test_a_fact_that_says_nothing_has_no_chunk_and_nothing_is_said_twice() -> None:
    assert of("", "") == []
    assert [chunk.text for chunk in of("")] == ["Tea"]
    content = "Green tea, twice a day. Never at night."
    assert [chunk.text for chunk in of(content, "Green tea, twice a…")] == [content]


def test_what_a_type_has_of_its_own_is_embedded_too() -> None:
    fact = make_fact(
        {
            "id": "0193f6c2-0000-7000-8000-000000000000",
            "type": "decision",
            "title": "LanceDB",
            "content": "Chosen.",
            "decisionRationale": "It is embedded.",
            "decisionAlternatives": ["Qdrant", "pgvector"],
            "decisionOutcome": "implemented",
        }
    )
    (chunk,) = chunk_fact(fact)
    assert chunk.text == ("LanceDB\nChosen.\n\nIt is embedded.\n\n- Qdrant\n- pgvector")


def test_what_is_around_goes_in_as_far_as_there_is_room() -> None:
    fits = of("Twice a day.", around="Which tea? Green.")
    cut = of("Twice a day.", around=paragraph(1, 30))
    full = of("word " * 195, around=paragraph(1))
    assert fits[0].text == "Tea\nTwice a day.\nWhich tea? Green."
    assert cut[0].text.startswith(f"Tea\nTwice a day.\n{paragraph(1, 3)}")
    assert token_quarters(cut[0].text) <= MAX_CHUNK_SIZE
    assert full == of("word " * 195)
    assert of(joined(*LONG), around="Which tea?") == of(joined(*LONG))


def test_a_long_note_is_its_lead_and_its_paragraphs() -> None:
    content = joined("# Why", LONG[0], "For example:", "## When", LONG[1], LONG[2])
    content = joined(content, "# Who", "Alice.", LONG[3])
    lead, *others = of(content)
    assert lead.text == "Tea\nWhy\nFor example:\nWhen\nWho\nAlice."
    assert [chunk.text for chunk in others] == LONG[:4]
    assert [chunk.headings for chunk in others] == [
        ("Why",),
        ("Why", "When"),
        ("Why", "When"),
        ("Who",),
    ]
    for chunk in others:
        assert content[chunk.start : chunk.end].strip() == chunk.text


@pytest.mark.parametrize(
    ("line", "title"),
    [("## Two ##", "Two"), ("# C#", "C#"), ("# a # b", "a # b"), ("#\ttab ", "tab")],
)
def test_a_heading_is_its_words(line: str, title: str) -> None:
    lead, chunk = of(joined(line, paragraph(1, 10)[:999]))[:2]
    assert lead.text == f"Tea\n{title}"
    assert chunk.headings == (title,)


@pytest.mark.long(5)
@pytest.mark.parametrize(
    "hostile",
    [
        *("# " + " " * 60_000 + "x", "# " + "#" * 60_000 + "x"),
        *(unit * 40_000 for unit in (".", ".'", "- ", "> ", "```\n", "# a\n", "[[", "x\n\n")),
    ],
)
def test_a_hostile_text_takes_no_longer(hostile: str) -> None:
    with processor_seconds(20):
        assert all(chunk.text for chunk in of(hostile))


def test_code_is_never_split_and_ends_with_its_quote() -> None:
    code = "```py\n" + "print('a line of code')\n\n" * 90 + "```"
    in_list = "- Do this:\n\n  ```sh\n" + "  make\n\n" * 300 + "  ```\n\n- Then that."
    for block in (code, in_list):
        fence = block[block.index("```") : block.rindex("```") + 3]
        texts = [chunk.text for chunk in of(joined(*LONG, block, *LONG))]
        assert sum(fence in text for text in texts) == 1
    assert {chunk.text for chunk in of(joined("> ```\n> open", *LONG))} >= set(LONG)


def test_encoded_data_is_in_no_chunk_and_moves_no_place() -> None:
    picture = f"![chart](data:image/png;base64,{data(60_000)})"
    short = joined("The chart of the budget.", picture, "It rises in spring.")
    drawing = f"```compressed-json\n{data(9_000)}\n```"
    long = joined(*LONG[:3], picture, *LONG[3:], drawing, "The end.")

    (whole,) = of(short, title="Budget")
    assert whole.text == (
        "Budget\nThe chart of the budget.\n\n![chart](data:image/png;base64, )"
        "\n\nIt rises in spring."
    )
    assert (whole.start, whole.end) == (0, len(short))
    lead, *paragraphs, code = of(long)
    assert lead.text == "Tea\n![chart](data:image/png;base64,\n)\nThe end."
    assert [long[each.start : each.end].strip() for each in paragraphs] == LONG
    assert long[code.start : code.end].strip() == drawing
    assert code.text.split() == ["```compressed-json", "```"]


def test_a_list_is_one_block_blank_lines_or_not() -> None:
    items = [f"- item {n}, with some words to make it as long as they are" for n in (1, 2)]
    loose = joined(*items, "  more of it")
    assert loose in {chunk.text for chunk in of(joined(*LONG, loose, LONG[0]))}


def test_what_is_too_long_is_cut_where_lines_sentences_or_words_end() -> None:
    lines = "\n".join(f"| row {n} | its value |" for n in range(120))
    sentences = paragraph(1, 30)
    words = "word " * 800
    sign = "漢" * 700
    for block, end in ((lines, "|"), (sentences, "."), (words, "d"), (sign, "漢")):
        parts = of(joined(block, LONG[0]))[1:-1]
        assert len(parts) > 1
        assert all(chunk.text.endswith(end) for chunk in parts)
        assert all(token_quarters(chunk.text) <= MAX_CHUNK_SIZE for chunk in parts)
        assert all(token_quarters(chunk.text) > MAX_CHUNK_SIZE / 2 for chunk in parts[:-1])


def test_a_part_too_long_stands_between_others() -> None:
    block = f"One line of it.\n{'漢' * 400}\nThe last line."
    parts = [chunk.text for chunk in of(joined(block, LONG[0]))[1:-1]]
    assert (parts[0], parts[-1]) == ("One line of it.", "The last line.")
    assert "".join(parts[1:-1]) == "漢" * 400


def test_a_link_counts_as_what_is_read_of_it() -> None:
    before = of("We chose [[2026-02-10-use-lancedb|LanceDB]] for [[Alice]].")
    after = of("We chose [[decisions/use-lancedb|LanceDB]] for [[Alice]].")
    assert before[0].text == "Tea\nWe chose LanceDB for Alice."
    assert [c.id for c in before] == [c.id for c in after]
    (around_an_embed,) = of("See [![[tea.png]]](Tea.md) now.", "")
    assert around_an_embed.text.startswith("See ")
    assert around_an_embed.text.endswith(" now.")


@given(st.permutations(LONG))
def test_moving_a_paragraph_even_to_another_note_embeds_nothing(order: Sequence[str]) -> None:
    assert ids(joined("# One", *LONG[:3], "# Two", *LONG[3:])) == ids(
        joined("# One", *order[:1], "# Two", *order[1:])
    )
    before = ids(joined(*order[:4]), joined(*order[2:]))
    assert ids(joined(*order[:3]), joined(*order[2:], order[3])) <= before


@given(_MARKDOWN, _MARKDOWN)
def test_a_paragraph_has_its_id_wherever_it_stands(above: str, below: str) -> None:
    assume(not re.search(r"(?m)^\s*([-*+] |~~~|```|%%|\$\$)", above))
    held = paragraph(9)
    chunks = of(joined(above, held, below))
    whole = len(chunks) == 1 and chunks[0].end
    assert whole or sha256(held.encode()).hexdigest() in {c.id for c in chunks}


@given(_MARKDOWN, st.sampled_from(["", "Tea", "A title of it's own"]))
@example("#" * 7, "")
def test_nothing_of_the_text_is_lost(text: str, title: str) -> None:
    chunks = of(text, title)
    kept = "".join("".join(chunk.text.split()) for chunk in chunks)
    left = text
    for chunk in reversed(chunks):
        left = f"{left[: chunk.start]}\n{left[chunk.end :]}"
    assert title.replace(" ", "") in kept
    for line in left.splitlines():
        assert "".join(line.strip("# ").split()) in kept
    for chunk in chunks:
        words = text[chunk.start : chunk.end].split()
        assert not words or words == chunk.text.split()[-len(words) :]


@given(_MARKDOWN, _MARKDOWN)
def test_chunks_fit_the_model_but_for_code(text: str, around: str) -> None:
    for chunk in of(text, around=around):
        assert (
            token_quarters(chunk.text) <= MAX_CHUNK_SIZE
            or "```" in chunk.text
            or "~~~" in chunk.text
        )
        assert chunk.text.strip()
        assert chunk.id == sha256(chunk.text.encode()).hexdigest()


@given(_MARKDOWN)
def test_the_same_fact_has_the_same_chunks_each_once(text: str) -> None:
    chunks = of(text)
    assert chunks == of(text)
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@given(st.text(), st.text())
def test_sizes_add_up(a: str, b: str) -> None:
    assert token_quarters(a + b) == token_quarters(a) + token_quarters(b)
