"""Memories of agents' tools, Markdown and tables in less usual forms."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.sources import GivenFiles, contents, only, read, why
from vaultsync.exchange import markdown_folders, plain_tables
from vaultsync.exchange.exchange_formats import FORMATS
from vaultsync.exchange.source_facts import (
    MAX_CONTENT,
    SourceFact,
    Unreadable,
    fact_id,
    in_parts,
    line_of,
    text_hash,
    time_of,
)
from vaultsync.memory_files.managed_block import MARKS
from vaultsync.model.fact import make_fact


@pytest.mark.parametrize(
    "given", [{"memories": [{"id": "1", "memory": "M"}]}, [{"id": "1", "text": "M"}]]
)
def test_mem0_lists_its_memories_in_several_forms(given: object) -> None:
    assert contents(read("mem0", "m.json", given)) == ["M"]


@pytest.mark.parametrize(
    ("form", "name", "given", "reason"),
    [
        ("mem0", "m.json", [7], "not an object"),
        ("mem0", "m.json", {"results": [7]}, "not an object"),
        ("mem0", "m.json", "{", "not JSON"),
        ("letta", "a.af", [7], "not an object"),
        ("letta", "a.af", "{", "not JSON"),
        ("letta", "a.af", {"agents": []}, "no memory blocks"),
        ("letta", "a.af", {"blocks": [{"label": "human", "value": ""}]}, "human is empty"),
        ("mcp-memory", "m.json", "{", "not JSON"),
        ("cursor", "a.mdc", "---\na: 1\n---\n", "empty"),
        ("cursor", "a.mdc", "---\na: !x 1\n---\nText.\n", "tag"),
        ("markdown", "a.md", "---\na: !x 1\n---\nText.\n", "tag"),
        ("notion", "A 0123456789abcdef0123456789abcdef.md", "# A\n", "empty"),
        ("jsonl", "a.jsonl", '{"a": 1}', "no content"),
        ("jsonl", "a.jsonl", "{", "not JSON"),
        ("csv", "a.csv", f'a\n"{"x" * (5 << 20)}"\n', "field larger"),
    ],
)
def test_what_is_in_another_form_is_named(form: str, name: str, given: object, reason: str) -> None:
    assert any(reason in each for each in why(read(form, name, given)))


@pytest.mark.parametrize(
    ("form", "name", "given", "found"),
    [
        (
            "letta",
            "a.af",
            {
                "agents": [{"name": "A"}, {"name": "B"}],
                "blocks": [
                    {"label": "human", "value": "One."},
                    {"label": "human", "value": "Two."},
                ],
            },
            {"A/human": "One.", "A/human~2": "Two."},
        ),
        (
            "claude-code",
            "MEMORY.md",
            "# Mine\n\n## Notes\n\nOne.\n\n## Notes\n\nTwo.\n",
            {"MEMORY.md#Notes": "One.", "MEMORY.md#Notes~2": "Two."},
        ),
    ],
)
def test_of_memories_with_one_name_each_is_imported(
    form: str, name: str, given: object, found: dict[str, str]
) -> None:
    facts = [each for each in read(form, name, given) if isinstance(each, SourceFact)]
    assert {each.source_id: each.values["content"] for each in facts} == found


def test_a_long_observation_of_an_entity_stays_whole() -> None:
    lines = [{"type": "entity", "name": "A", "observations": ["x " * 9_000 + "end"]}]
    lines.append({"type": "entity", "name": "B", "observations": "One text."})
    first, second = contents(read("mcp-memory", "m.json", lines))
    assert str(first).endswith(" end")
    assert second == "- One text."


def test_a_rule_with_many_blanks_is_read_in_time() -> None:
    text = f"---\nglobs: *.ts\ndescription: a{' ' * 60_000}b\n---\nText.\n"
    assert contents(read("cursor", "a.mdc", text)) == ["Text."]


def test_a_part_of_blank_lines_is_no_fact() -> None:
    given = SourceFact("a", {"title": "T", "content": f"one{chr(10) * 3 * MAX_CONTENT}two"})
    parts = [(each.values["title"], each.values["content"]) for each in in_parts(given)]
    assert parts == [("T (1 of 2)", "one"), ("T (2 of 2)", "two")]


def test_files_of_other_kinds_are_not_looked_at() -> None:
    for form in ("mem0", "letta", "mcp-memory", "markdown", "basic-memory", "notion"):
        assert read(form, "picture.png", "odd") == []
        assert read(form, "0123456789abcdef0123456789abcdef.txt", "odd") == []


def test_an_older_file_of_letta_has_its_core_memory() -> None:
    given = {"name": "A", "core_memory": [{"label": "human", "value": "Ada."}]}
    assert contents(read("letta", "a.af", given)) == ["Ada."]


def test_a_relation_needs_both_of_its_ends() -> None:
    lines = '{"type":"entity","name":"A"}\n{"type":"relation","from":"A","relationType":"has"}\n'
    assert contents(read("mcp-memory", "m.json", lines)) == ["A"]


def test_a_memory_file_is_read_as_a_sync_reads_it() -> None:
    block = f"{MARKS.begin}\n## Memory\n\nTea is at four.\n{MARKS.end}\n"
    text = f"---\ntags: [x]\n---\n# Mine\n\n{block}\n## Rules\n<!-- type: odd -->\n\nUse tabs.\n"
    found = only("claude-code", "MEMORY.md", text)
    values = {"type": "note", "title": "Rules", "content": "Use tabs.", "tags": ["x"]}
    assert found.values == values
    assert contents(read("markdown", "a.md", f"One.\n\n{block}\nTwo.\n")) == ["One.\n\nTwo."]
    assert isinstance(read("claude-code", "MEMORY.md", "a\0b")[0], Unreadable)


def test_a_memory_without_sections_is_one_fact() -> None:
    found = read("claude-code", "MEMORY.md", "# Mine\n\nUse tabs in all Makefiles, please.\n")
    assert len(found) == 1


@pytest.mark.parametrize(
    ("heading", "title"), [("# C#", "C#"), ("# A ##", "A"), ("#\tA\r", "A"), ("#A", "")]
)
def test_a_heading_is_read_without_its_closing_sequence(heading: str, title: str) -> None:
    assert markdown_folders.heading_of(f"\n{heading}\n\nwords") == title


def test_a_rule_of_cursor_is_called_by_its_heading_or_its_file() -> None:
    one = only("cursor", ".cursor/rules/a.mdc", "# Style\n\nShort.\n")
    two = only("cursor", ".cursor/rules/b.mdc", "---\nglobs: [x.py, y.py]\n---\nShort.\n")
    assert (one.values["title"], two.values["title"]) == ("Style", "b")
    assert two.values["globs"] == ["x.py", "y.py"]
    assert read("cursor", "readme.md", "No rule.") == []


def test_a_rule_of_cursor_has_properties_without_quotes() -> None:
    text = "---\ndescription: It's for: all\nglobs: *.ts, **/*.tsx\nalwaysApply: false\n---\n{}\n"
    body = "Short.\n\n---\nglobs: *.md"
    found = only("cursor", ".cursor/rules/a.mdc", text.format(body))
    assert found.values["title"] == "It's for: all"
    assert (found.values["globs"], found.values["content"]) == (["*.ts", "**/*.tsx"], body)
    (wrong,) = read("cursor", ".cursor/rules/a.mdc", "---\nglobs: *.ts\na: [\n---\nShort.\n")
    assert isinstance(wrong, Unreadable)


def test_a_page_of_notion_may_begin_with_text_that_is_no_property() -> None:
    name = "A page 0123456789abcdef0123456789abcdef.md"
    text = "Text, and [more](B%200123456789abcdef0123456789abcdef.md) of [it](C.md)."
    assert contents(read("notion", name, text)) == ["Text, and [[A page|more]] of [it](C.md)."]


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("Created: January 5, 2026 3:45 PM", "2026-01-05T15:45:00Z"),
        ("Created time: October 12, 2025 12:05 AM", "2025-10-12T00:05:00Z"),
        ("Created: May 7, 2026", "2026-05-07T00:00:00Z"),
        ("Created: 2026-05-07", "2026-05-07T00:00:00Z"),
        ("Created: soon", None),
        ("Status: done", None),
    ],
)
def test_a_page_of_notion_was_created_when_it_says(line: str, at: str | None) -> None:
    found = only("notion", f"A {'0' * 32}.md", f"# A\n\n{line}\n\nText.\n")
    assert (found.values["createdAt"], found.values["content"]) == (at, "Text.")


def test_a_page_of_notion_keeps_what_is_no_field() -> None:
    name = f"A {'0' * 32}.md"
    found = only("notion", name, "# A\n\nStatus: Done\nTags: a, b\n#: 1\n\nText.\n")
    assert (found.values["Status"], found.values["tags"]) == ("Done", ["a", "b"])
    assert not {"Tags", "#"} & found.values.keys()
    assert contents(read("notion", name, "# A\n\nNote: buy milk\n")) == ["Note: buy milk"]


def test_a_note_of_another_vault_keeps_its_properties() -> None:
    given = (
        "title: T\nname: N\ncreated: 2026-01-05\ndate: 2026-02-01\nmodified: soon\nrating: 5\n"
        'up: "[[Other]]"\ndescription: D\nstatus: odd\npath: x\nmetadata: {a: [1]}\ntype: note'
    )
    found = only("markdown", "a.md", f"---\n{given}\n---\nText.\n")
    own = {"name": "N", "date": "2026-02-01", "modified": "soon", "rating": 5, "up": "[[Other]]"}
    known = {"type", "title", "context", "content", "tags", "aliases", "createdAt", "updatedAt"}
    assert {key: x for key, x in found.values.items() if key not in known} == {
        **own,
        "metadata": {"a": [1]},
    }


def test_a_memory_of_mem0_keeps_its_metadata() -> None:
    given = {"id": "1", "memory": "M", "metadata": {"topic": "tea", "title": "T", "vaultsync": 1}}
    found = only("mem0", "a.json", [given])
    assert found.values["topic"] == "tea"
    assert not {"title", "vaultsync"} & found.values.keys()


def test_a_note_of_ours_is_read_without_its_escapes_and_its_block() -> None:
    block = "<!-- vaultsync:managed -->\n## Entities\n- [[Bob]]\n<!-- /vaultsync:managed -->\n"
    dated = "---\ncreatedAt: 2026-01-05T10:00:00Z\n---\n"
    found = only("markdown", "a.md", f"{dated}# T\n\nA <\\script>.\n\n{block}")
    assert (found.values["content"], found.values["entities"]) == ("A <script>.", ["Bob"])
    assert "id" not in found.values
    assert block.strip() in str(contents(read("markdown", "a.md", f"# T\n\nA.\n\n{block}"))[0])


LONG = " ".join(["word"] * 60)
"""Longer than what a list or a message shows of a text."""


@pytest.mark.parametrize(
    ("form", "name", "text"),
    [
        ("markdown", "a.md", f"# {LONG}\n\nText."),
        ("markdown", "a.md", f"---\ntitle: {LONG}\n---\nText."),
        ("markdown", "a.md", f"---\ndescription: {LONG}\n---\nText."),
        ("markdown", "a.md", f"---\ntags: [{LONG.replace(' ', '/')}]\n---\nText."),
        ("notion", f"A {'0' * 32}.md", f"# {LONG}\n\nText."),
        ("cursor", "a.mdc", f"---\ndescription: {LONG}\n---\nText."),
        ("letta", "a.af", {"blocks": [{"label": "a", "value": "x", "description": LONG}]}),
    ],
)
def test_a_long_line_is_imported_whole(form: str, name: str, text: object) -> None:
    found = only(form, name, text)
    values = [str(each).replace("/", " ") for each in found.values.values()]
    assert any(LONG in each for each in values)


def test_the_type_of_a_memory_may_be_among_its_metadata() -> None:
    text = "---\nname: n\nmetadata:\n  type: feedback\n---\nText.\n"
    found = only("claude-code", "a.md", text)
    assert found.values["type"] == "lesson"


def test_a_field_of_ours_wins_over_a_name_of_others() -> None:
    text = '{"content": "C", "text": "T", "priority": 0, "type": "odd", "tags": "a, b"}'
    found = only("jsonl", "a.jsonl", text)
    kept = {key: found.values[key] for key in ("content", "priority", "type", "tags")}
    assert kept == {"content": "C", "priority": 0, "type": "fact", "tags": ["a", "b"]}


def test_other_columns_are_properties() -> None:
    rows = "Title,text,Kind,Due date,note,url,a:b,body\nOne,Text.,Recipe,2026-12-01,More.,,x,\n"
    (row,) = read("csv", "a.csv", rows)
    given = {"Text": "Text.", "name": "One", "rating": 5, "done": True, "who": ["a"], "a": {}}
    vectors = {"embedding": [0.5], "v": [0.5, 1]}
    (found,) = read("jsonl", "a.jsonl", json.dumps({**given, **vectors, "uuid": "x"}))
    assert isinstance(row, SourceFact)
    assert isinstance(found, SourceFact)
    standard = {"title", "content", "type", "createdAt", "updatedAt", "tags"}
    more = {key: value for key, value in row.values.items() if key not in standard}
    assert more == {"Kind": "Recipe", "Due date": "2026-12-01", "note": "More."}
    more = {key: value for key, value in found.values.items() if key not in standard}
    assert more == {"rating": 5, "done": True, "who": ["a"]}


def test_a_row_with_too_many_cells_is_not_cut_off() -> None:
    found = read("csv", "a.csv", "title,text\nOne,Yes, or no\nTwo,Good,,\n")
    assert found[:1] == [
        Unreadable(
            "a.csv: row 2",
            "it has more cells than the header; put texts with ',' in them in quotes",
        )
    ]
    assert contents(found[1:]) == ["Good"]


def test_a_row_may_have_an_id_of_ours() -> None:
    known = "01937f6e-0000-7000-8000-000000000001"
    found = read("csv", "a.csv", f"id,text\n{known},One\nrow-2,Two\n")
    assert [x.values.get("id") for x in found if isinstance(x, SourceFact)] == [known, None]


def test_the_id_of_another_tool_is_none_of_ours() -> None:
    text = "---\nid: {}\n---\nText.\n"
    for theirs in ('"202601050900"', "my-note", "018f3b2c-not-a-uuid-but-as-long-as-one-1"):
        found = only("markdown", "a.md", text.format(theirs))
        assert "id" not in found.values
    row = only("csv", "a.csv", "id,text\n018f3b2c-not-a-uuid-but-as-long-as-one-1,One\n")
    assert "id" not in row.values


def test_properties_of_other_tools_are_numbers_or_single_texts() -> None:
    head = "title: {}\naliases: {}\ntags: {}\n"
    for texts, expected in (
        (("2024", "Log", "harbour, sea tide"), ("2024", ["Log"], ["harbour", "sea", "tide"])),
        (("true", "[7, x, true]", "[sea side]"), ("a", ["7", "x"], ["sea-side"])),
    ):
        found = only("markdown", "a.md", f"---\n{head.format(*texts)}---\nText.\n")
        assert tuple(found.values[key] for key in ("title", "aliases", "tags")) == expected


def test_the_header_of_a_table_says_how_its_cells_are_separated() -> None:
    for text in ("id;text;tags\r\n1;One, or two;a,b\r\n", "id\ttext\ttags\n1\tOne, or two\ta,b\n"):
        for piece in (1, 1 << 16):
            found = only("csv", "a.csv", text, piece)
            assert (found.values["content"], found.values["tags"]) == ("One, or two", ["a", "b"])
    assert contents(read("csv", "a.csv", "text\nOne; two\n")) == ["One; two"]
    assert read("csv", "a.csv", "") == []


def test_a_cell_with_several_names_or_ids_is_a_list() -> None:
    ids = [f"01937f6e-0000-7000-8000-00000000000{number}" for number in range(2)]
    text = f'text,entities,relatedFactIds\nOne,"Ann, Bo","{", ".join(ids)}"\n'
    found = only("csv", "a.csv", text)
    assert (found.values["entities"], found.values["relatedFactIds"]) == (["Ann", "Bo"], ids)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_with_one_id_and_other_texts_are_other_memories(form: str) -> None:
    rows = [("tea", "Green."), ("tea", "No sugar."), ("tea", "green. "), ("tide", "High.")]
    if form == "csv":
        text = "key,text\n" + "".join(f"{key},{said}\n" for key, said in rows)
    else:
        text = "\n".join(json.dumps({"key": key, "text": said}) for key, said in rows)
    found = [each for each in read(form, f"a.{form}", text) if isinstance(each, SourceFact)]
    other = f"tea~{text_hash('No sugar.').hex()}"
    assert [each.source_id for each in found] == ["tea", other, "tea", "tide"]


def test_what_another_tool_changed_of_an_exported_memory_is_read() -> None:
    fact = {"id": "x", "type": "task", "scope": "public", "createdAt": "2026-01-05", "title": "T"}
    changed = {"id": "x", "memory": "New.", "metadata": {"vaultsync": fact}}
    without = {"id": "y", "memory": "Theirs.", "metadata": {"vaultsync": {"id": "y"}}}
    new, theirs = read("mem0", "a.json", [changed, without])
    assert isinstance(new, SourceFact)
    assert isinstance(theirs, SourceFact)
    assert new.values == {**fact, "content": "New."}
    assert theirs.values["type"] == "fact"


@given(st.text(), st.none() | st.datetimes().map(lambda x: x.strftime("%4Y-%m-%dT%H:%M:%SZ")))
def test_an_id_is_always_one_and_always_the_same(key: str, at: str | None) -> None:
    made = fact_id(key, at)
    assert made == fact_id(key, at)
    assert make_fact({"id": made, "content": "x", "type": "fact", "scope": "public"}).id == made


@given(st.text("ab \n", min_size=1), st.integers(1, 4))
def test_the_parts_of_a_long_text_are_all_of_it(text: str, times: int) -> None:
    content = (text * (MAX_CONTENT // len(text) + 1))[: MAX_CONTENT + 1] * times
    parts = [*in_parts(SourceFact("s", {"content": content}))]
    assert all(len(str(each.values["content"])) <= MAX_CONTENT for each in parts)
    joined = "".join(str(each.values["content"]) for each in parts)
    assert joined.replace("\n", "") == content.replace("\n", "")
    assert len({each.source_id for each in parts}) == len(parts)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1767603600.9, "2026-01-05T09:00:00Z"),
        ("2026-01-05T10:00:00+01:00", "2026-01-05T09:00:00Z"),
        ("2026-01-05", "2026-01-05T00:00:00Z"),
        ("0999-01-05", "0999-01-05T00:00:00Z"),
        *((1767603600 * 1000**units, "2026-01-05T09:00:00Z") for units in range(4)),
        *((str(1767603600 * 1000**units), "2026-01-05T09:00:00Z") for units in range(4)),
        (1767603600999.9, "2026-01-05T09:00:00Z"),
        (" 1767603600.5 ", "2026-01-05T09:00:00Z"),
        ("20260105", "2026-01-05T00:00:00Z"),
        ("202601050900", None),
        (-86_400, "1969-12-31T00:00:00Z"),
        (float("nan"), None),
        (1e300, None),
        ("soon", None),
        (True, None),
        (None, None),
    ],
)
def test_a_time_is_read_where_it_is_one(given: object, at: str | None) -> None:
    assert time_of(given) == at


def test_a_line_is_cut_where_it_is_too_long() -> None:
    assert line_of("a\nb") == "a b"
    assert len(line_of("x" * 300)) <= 200
    assert line_of(7) == ""


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("markdown", "a.md"),
        ("basic-memory", "a.md"),
        ("claude-code", "MEMORY.md"),
        ("claude-code", "topic.md"),
        ("cursor", "a.mdc"),
        ("notion", f"A {'0' * 32}.md"),
    ],
)
def test_a_text_that_never_ends_is_named_and_does_not_fill_the_memory(
    form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown_folders, "MAX_TEXT", 1 << 20)
    taken = 0

    class Endless(GivenFiles):
        def text(self, name: str) -> Iterator[str]:
            nonlocal taken
            while taken < 3 << 20:
                taken += 1 << 16
                yield "tide" * (1 << 14)

    (reason,) = why([*FORMATS[form].read(Endless({name: ""}))])
    assert reason == "it is larger than 1 MiB"
    assert taken <= 2 << 20


def test_an_endless_row_is_named_and_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_tables, "_MAX_LINE", 1 << 20)
    taken = 0

    class Endless(GivenFiles):
        def text(self, name: str) -> Iterator[str]:
            nonlocal taken
            yield "text\nDiesel is sold until noon.\n"
            while taken < 3 << 20:
                taken += 1 << 16
                yield "tide," * (1 << 14)

    first, last = FORMATS["csv"].read(Endless({"a.csv": ""}))
    assert isinstance(first, SourceFact)
    assert last == Unreadable("a.csv: row 2", "the line after it is longer than 1 MiB")
    assert taken <= 2 << 20
