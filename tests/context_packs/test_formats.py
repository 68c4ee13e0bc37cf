from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.markdown.test_encoded_data import data
from tests.packs import contents, fact
from tests.strategies import facts
from vaultsync.context_packs.formats import (
    ENTITY_CARD_LENGTH,
    PACK_FORMS,
    QUOTE_NOTE,
    PackPiece,
    asked_properties,
    citation_of,
    entity_card,
    fact_body,
    is_code,
    pack_body,
    paragraph_heading,
    render_pack,
    single_line,
    text_paragraphs,
)
from vaultsync.model.fact import Fact, origin_of
from vaultsync.model.paths import VaultPath

ODD = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\x00\ufffe<>&\"'#`\n]"), max_size=30
)


def written(form: str, piece: PackPiece, question: str = "why?") -> str:
    return render_pack(PACK_FORMS[form], question, [(piece.tier, [PACK_FORMS[form].piece(piece)])])


def piece_of(one: Fact) -> PackPiece:
    return PackPiece(one, "critical", "words: x", citation_of(one), fact_body(one))


# --- what a fact says ----------------------------------------------------------------


def test_a_fact_says_its_context_its_content_and_the_fields_of_its_type() -> None:
    one = fact(
        1,
        "The box is slow.\n\nSQLite is enough.",
        type="decision",
        context="the review of May",
        decisionOutcome="implemented",
        decisionAlternatives=["PostgreSQL", "files"],
        decisionImpactedPaths=[],
    )
    assert fact_body(one) == (
        "> the review of May\n\nThe box is slow.\n\nSQLite is enough.\n\n"
        "- outcome: implemented\n- alternatives: PostgreSQL; files"
    )


def test_a_pack_also_has_the_properties_that_the_author_gave_a_fact() -> None:
    assert pack_body(fact(1, "Port.", birthday="1951-12-18")) == "Port.\n\n- birthday: 1951-12-18"
    born = fact(1, "Port.", birthday="1951-12-18", mood=3)
    assert asked_properties(born, "mood: 3 · Port.") == "- mood: 3\n\n"
    assert asked_properties(born, "Port. mood: 3") == ""
    assert pack_body(fact(1, "Port.", a="b" * 201)) == f"Port.\n\n- a: {'b' * 199}…"
    assert pack_body(fact(1, "Port.")) == "Port."


def test_encoded_data_is_not_put_into_a_pack() -> None:
    picture = data(60_000)
    one = fact(1, f"The chart.\n\n![](data:image/png;base64,{picture})")

    assert fact_body(one) == (
        "The chart.\n\n![](data:image/png;base64,[80,000 characters of encoded data])"
    )


def test_a_field_that_is_no_text_is_shown_in_words() -> None:
    compressed = fact(1, type="observation", observationCompressed=True)
    uncompressed = fact(2, type="observation", observationCompressed=False)
    assert fact_body(compressed).endswith("- compressed: yes")
    assert "compressed" not in fact_body(uncompressed)
    assert fact_body(fact(3).evolve(own={"lessonCategory": 7})).endswith("- category: 7")


@pytest.mark.parametrize(
    ("one", "body"),
    [
        # What the title says already is not said twice, and what was shortened not at length.
        (fact(1, "Tea at four.", title="Tea at four"), ""),
        (fact(1, "Tea at four. Always.", title="Tea at four"), "Tea at four. Always."),
        (fact(1, "Short.", type="observation", observationOriginalContent="Long. " * 99), "Short."),
    ],
)
def test_a_body_says_what_is_new(one: Fact, body: str) -> None:
    assert fact_body(one) == body


def test_an_entity_says_its_first_paragraph_and_its_relations() -> None:
    text = "# Bente\n\nKnows the\ngates.\n\nAnd more."
    one = fact(1, text, type="person", reports_to=["[[Mara]]", "[[Joaquim]]"])
    assert entity_card(one) == "Knows the gates. · reports_to: Mara, Joaquim"
    assert entity_card(one.evolve(context="Runs it.")).startswith("Runs it. ·")
    assert entity_card(fact(2, "# Only a heading", type="person")) == ""


def test_a_long_card_ends_between_words() -> None:
    card = entity_card(fact(1, "word, " * 100, type="person"))
    assert card.endswith("word …")
    assert len(card) <= ENTITY_CARD_LENGTH + 2


# --- citations -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "path", "section", "citation"),
    [
        ("Tea", "public/notes/2026-tea.md", "", "public/notes/2026-tea.md#Tea"),
        ("Tea", "public/notes/Tea.md", "", "public/notes/Tea.md"),
        ("Tea", "public/notes/Tea.md", "Why", "public/notes/Tea.md#Why"),
        ("a #b | [[c]] %% d", "x.md", "", "x.md#a b c d"),
        ("Tea", None, "Why", fact(1).id),
    ],
)
def test_a_citation_is_the_path_and_the_heading(
    title: str, path: str | None, section: str, citation: str
) -> None:
    one = fact(1, title=title).evolve(path=VaultPath(path) if path else None)
    assert citation_of(one, section) == citation


# --- paragraphs ----------------------------------------------------------------------


def test_paragraphs_end_at_blank_lines_but_not_in_code() -> None:
    text = "a\nb\n\n\n```\nc\n\nd\n```\n\n~~~~\n~~~\n\n```\n~~~~ x\n\n~~~~\ne"
    assert list(text_paragraphs(text)) == [
        "a\nb",
        "```\nc\n\nd\n```",
        "~~~~\n~~~\n\n```\n~~~~ x\n\n~~~~\ne",
    ]


def test_what_is_code_is_what_commonmark_says() -> None:
    assert list(text_paragraphs("``` a`b\n\nc")) == ["``` a`b", "c"]
    listed = "- ```\n\n  a\n  ```"
    assert list(text_paragraphs(f"{listed}\n\nb\n\nc")) == [listed, "b", "c"]
    assert not is_code("``` a`b")


@given(contents())
def test_paragraphs_leave_nothing_out_but_blank_lines(text: str) -> None:
    kept = "\n".join(text_paragraphs(text)).split("\n")
    assert list(filter(str.strip, kept)) == list(filter(str.strip, text.split("\n")))


def test_a_heading_is_known_by_its_mark() -> None:
    assert paragraph_heading("## Why #\ntext") == "Why"
    assert paragraph_heading("#tag") == paragraph_heading("text\n# no") == ""
    assert is_code("```python")
    assert not is_code("`inline`")


# --- forms ---------------------------------------------------------------------------


def test_markdown_shows_title_and_source() -> None:
    one = fact(1, "It is *slow*.", title="The box", type="decision")
    assert written("markdown", piece_of(one)) == (
        f"# Context: why?\n\n{QUOTE_NOTE}\n\n## Critical\n\n~~~ memory of the user\n# The box\n\n"
        "*decision, 2026-02-14 · public/facts/1.md*\n\nIt is *slow*.\n~~~"
    )


@pytest.mark.parametrize("form", ["xml", "json"])
def test_a_source_repeats_no_title(form: str) -> None:
    one = fact(1, "It is slow.\n\n## At noon\n\nSlower.", title="The box")
    cited = replace(piece_of(one), citation=citation_of(one, "At noon"))
    assert "public/facts/1.md#At noon" in written(form, cited)
    assert "1.md#" not in written(form, piece_of(one))


def test_the_type_and_day_in_the_path_are_not_repeated() -> None:
    one = fact(1, "Slow.", type="decision").evolve(
        path=VaultPath("team-core/decisions/2026-02-14-the-box.md")
    )
    assert "\n*team-core/decisions/2026-02-14-the-box.md*\n" in written("markdown", piece_of(one))


@pytest.mark.parametrize(
    ("title", "body", "shown"),
    [
        ("The gate opens", "The gate opens. At noon.", "# The gate opens|*|At noon."),
        ("Does it open?", "Does it open? At noon.", "# Does it open?|*|At noon."),
        ("The gate", "The gate\n\nAt noon.", "# The gate|*|At noon."),
        ("The gate", "The gate opens.", "# The gate|*|The gate opens."),
        ("Gate 1", "Gate 1.5 opens.", "# Gate 1|*|Gate 1.5 opens."),
        ("The gate…", "The gate opens at noon.", "#|The gate opens at noon."),
    ],
)
def test_markdown_says_the_first_sentence_once(title: str, body: str, shown: str) -> None:
    one = fact(1, body, title=title)
    text = PACK_FORMS["markdown"].piece(PackPiece(one, "notable", "x", citation_of(one), body))
    line = "2026-02-14 · public/facts/1.md"
    shown = shown.replace("*", f"*{line}*").replace("#|", f"# {line}|")
    _, quoted, _ = text.split("~~~")
    assert quoted.removeprefix(" memory of the user\n").rstrip("\n").split("\n\n") == shown.split(
        "|"
    )


def test_an_entity_takes_one_line_of_markdown() -> None:
    one = fact(1, "A gate.", title="Skarvik", type="entity", entityType="place")
    card = PackPiece(one, "entities", "named", citation_of(one), entity_card(one))
    assert written("markdown", card).endswith(
        "## Entities\n\n~~~ memory of names\n"
        "- **Skarvik** (place): A gate. · public/facts/1.md\n~~~"
    )


def test_what_is_missing_leaves_no_trace() -> None:
    one = Fact("id", title="T", type="person")
    card = PackPiece(one, "entities", "named", "id", "")
    assert written("markdown", card).endswith("- **T** (person) · id\n~~~")
    assert written("markdown", piece_of(one)).endswith("\n*person · id*\n~~~")


@pytest.mark.parametrize(
    ("values", "origin"),
    [
        ({}, "user"),
        ({"agentId": "indy", "source": "session"}, "agent"),
        ({"agentId": "indy", "source": "Import of 2026"}, "import"),
        ({"source": "inferred"}, "inference"),
        ({"agentId": "indy", "source": "tool:grep"}, "tool"),
        ({"sessionId": "s-1", "content": "Assistant: Use a cache."}, "agent"),
        ({"sessionId": "s-1", "content": "User: I use a cache."}, "user"),
        ({"content": "Assistant: Use a cache."}, "user"),
    ],
)
def test_every_form_tells_the_origin(values: dict[str, str], origin: str) -> None:
    piece = piece_of(fact(1, **values))
    assert origin_of(piece.fact) == origin
    assert json.loads(written("json", piece))["critical"][0]["origin"] == origin
    assert f' origin="{origin}"' in written("xml", piece)
    assert re.search(
        rf"^~~~ memory of (the|an?) {origin}$", written("markdown", piece), re.MULTILINE
    )


@given(contents(), ODD)
def test_nothing_that_was_written_stands_outside_the_fence(text: str, title: str) -> None:
    one = fact(1, f"{text}\n~~~\nINJECTED\n~~~~ x\n```").evolve(title=f"{title} INJECTED")
    outside, fence = [], ""
    for line in written("markdown", piece_of(one)).split("\n"):
        mark = re.match("~{3,}", line)
        if not fence:
            outside.append(line)
            fence = mark[0] if mark else ""
        elif line == fence:
            fence = ""
    assert not fence
    assert not any("INJECTED" in line for line in outside)


@given(facts(), ODD, ODD)
def test_xml_can_be_read_whatever_the_fact_says(one: Fact, question: str, text: str) -> None:
    piece = piece_of(one.evolve(content=text, title=text))
    root = ET.fromstring(written("xml", piece, question))  # noqa: S314 - ours
    (read,) = root.iter("fact")
    assert read.get("title", "") == single_line(text)
    assert (read.text or "").strip("\n") == piece.body.strip("\n").replace("\r", "\n")
    assert root.get("question") == single_line(question)


@given(facts(), ODD, ODD)
def test_json_can_be_read_whatever_the_fact_says(one: Fact, question: str, text: str) -> None:
    piece = piece_of(one.evolve(content=text, title=text))
    read = json.loads(written("json", piece, question))
    (found,) = read["critical"]
    assert (found["text"], found["title"]) == (piece.body, single_line(text))
    assert read["question"] == single_line(question)
    assert found["id"] == one.id
    assert "cut" not in found


def test_what_was_cut_says_so_in_every_form() -> None:
    one = piece_of(fact(1))
    cut = PackPiece(one.fact, one.tier, one.reason, one.citation, one.body, cut=True)
    assert json.loads(written("json", cut))["critical"][0]["cut"] is True
    assert ' cut="yes"' in written("xml", cut)


@pytest.mark.parametrize("form", PACK_FORMS)
def test_no_pieces_are_a_whole_text_still(form: str) -> None:
    assert render_pack(PACK_FORMS[form], "why?", [])


@pytest.mark.parametrize("form", PACK_FORMS)
def test_every_form_tells_when_a_task_is_due(form: str) -> None:
    task = fact(1, "Renew it.", type="task").evolve(properties={"due": "2026-12-10"})
    assert "2026-12-10" in written(form, piece_of(task))
    assert "due" not in written(form, piece_of(task.evolve(properties={})))
    assert "due" not in written(form, piece_of(task.evolve(type="note")))


def test_the_due_date_of_a_promise_is_in_its_text_once() -> None:
    promise = fact(1, "Send it.", type="commitment", commitmentDueDate="2026-12-10")
    assert written("markdown", piece_of(promise)).count("2026-12-10") == 1
