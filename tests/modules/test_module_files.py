"""Manifests, core files, backlogs and texts: people write them too, and lose nothing."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from vaultsync.errors import UnreadableModuleError
from vaultsync.modules import manifest as manifest_module
from vaultsync.modules.backlog import BacklogRow, drop_row, put_row, read_backlog
from vaultsync.modules.core_file import CoreChange, update_core
from vaultsync.modules.manifest import edit_manifest, file_in_topic, read_manifest
from vaultsync.modules.module_text import (
    ModuleParts,
    excerpt,
    new_module_name,
    split_module,
    with_content,
)

words = st.text(string.ascii_letters + " .,:#'\"-éü", min_size=1, max_size=30)


def edited(text: str | None, **values: object) -> str:
    return edit_manifest(text, "m", {"a": values}, topic="t")  # type: ignore[dict-item]


# ----------------------------------------------------------------------------- manifests


@pytest.mark.parametrize("key", ["modules", "chunks", "entries", "whatever"])
def test_the_list_may_have_any_key(key: str) -> None:
    manifest = read_manifest(f"other: 1\n{key}:\n- chunk_id: a\n  module_path: a.md\n", "m", "t")
    assert [each.chunk_id for each in manifest.entries] == ["a"]


def test_the_whole_file_may_be_the_list() -> None:
    text = "# mine\n- chunk_id: a   # first\n  module_path: a.md\n"
    assert edited(text, sync_status="synced") == text + "  sync_status: synced\n"


@pytest.mark.parametrize("text", ["a: 1\n", "a: [\n", "just text\n", "- 1\n- [\n"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(UnreadableModuleError):
        read_manifest(text, "m", "t")
    with pytest.raises(UnreadableModuleError):
        edited(text, title="x")


def test_entries_that_cannot_be_used_are_told() -> None:
    text = (
        "modules:\n- 7\n- title: no id\n- chunk_id: a\n  module_path: x.md\n- chunk_id: a\n"
        "- chunk_id: b\n  module_path: ../x.md\n"
    )
    manifest = read_manifest(text, "m", "t")
    assert [each.chunk_id for each in manifest.entries] == ["a", "b"]
    assert len(manifest.problems) == 4
    assert edited(text, title="T") == text.replace(
        "x.md\n- chunk_id: a", "x.md\n  title: T\n- chunk_id: a", 1
    )


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("a.md", "a.md"),
        ("./a.md", "a.md"),
        ("docs/memories/t/a.md", "a.md"),
        ("t/a.md", "a.md"),
        ("../a.md", ""),
        ("/etc/t/a.md", ""),
        ("t/../a.md", ""),
        ("other/a.md", ""),
        ("../../t/a.md", ""),
        ("a.txt", ""),
        (".a.md", ""),
        ("", ""),
        ("t\\a.md", "a.md"),
    ],
)
def test_a_path_is_in_the_folder_of_its_topic(path: str, file: str) -> None:
    assert file_in_topic(path, "t") == file


@settings(max_examples=15)
@given(comments=st.lists(words, max_size=4), owner=words, tags=st.lists(words, max_size=3))
def test_comments_order_and_unknown_keys_stay(
    comments: list[str], owner: str, tags: list[str]
) -> None:
    lines = [f"# {each}" for each in comments]
    quoted = "'" + owner.replace("'", "''") + "'"
    entry = ["modules:", "  # here", "  - chunk_id: a", f"    own: {quoted}", ""]
    text = "\n".join([*lines, f"owner: {quoted}", *entry])
    new = edited(text, tags=tags, title=owner, checksum="0" * 64)
    for each in (*lines, f"owner: {quoted}", "  # here", f"    own: {quoted}"):
        assert f"{each}\n" in new
    read = read_manifest(new, "m", "t").entries[0]
    assert read.title == (" ".join(owner.split()) or "a")
    assert read.tags == tuple(filter(None, (" ".join(each.split()) for each in tags)))
    assert edited(new, tags=tags, title=owner, checksum="0" * 64) == new


def test_a_new_manifest_is_made() -> None:
    for text in (None, "", "\n"):
        assert "topic: t\nmodules:\n  - chunk_id: a\n    title: T\n" in edited(text, title="T")
    assert edited("\ufeffmodules: []\r\n", title="T").startswith("\ufeffmodules:\r\n")


def test_a_value_is_cleared_only_where_it_was() -> None:
    text = "modules:\n- chunk_id: a\n  remote_id: x\n"
    assert edited(text, remote_id=None, last_synced_at=None).endswith("  remote_id:\n")


# ---------------------------------------------------------------------------- core files


def change(**values: str | None) -> CoreChange:
    usual: dict[str, str | None] = {
        "chunk_id": "a",
        "title": "T",
        "text": "One. Two.",
        "file": "module-01-t.md",
        "was_title": "T",
        "was_text": None,
        "agent": "indy",
        "day": "2026-02-14",
    }
    return CoreChange(**{**usual, **values})  # type: ignore[arg-type]


def test_a_line_that_a_person_worded_stays() -> None:
    core = update_core(None, "adopted-patterns", change())
    mine = core.replace("- **T** (`a`): One.", "- `a` is about my tests")
    mine = mine.replace("- [T](module-01-t.md)", "- See [the tests](module-01-t.md)")
    after = update_core(mine, "t", change(was_text="One. Two.", text="Three.", title="U"))
    assert "- `a` is about my tests" in after
    assert "- See [the tests](module-01-t.md)" in after
    assert "Three" not in after
    assert after.count("module-01-t.md") == 1


def test_sections_of_other_names_and_levels_are_found() -> None:
    core = "Intro\n\n### Tl;dr ###\n\nSome words.\n\n### Links\n"
    core += "* [x](x.md)\n  more of x\n\n# Changelog"
    after = update_core(core, "t", change())
    assert "Some words.\n\n- **T** (`a`): One.\n\n### Links" in after
    assert "* [x](x.md)\n  more of x\n- [T](module-01-t.md)\n" in after
    assert after.endswith("# Changelog\n\n- 2026-02-14: `a` added by indy\n")


def test_lists_that_end_the_file_are_continued() -> None:
    core = "## TL;DR\n- x\n## Change log\n- old\n## Quick links\n- y"
    after = update_core(core, "t", change())
    assert after.endswith("- y\n- [T](module-01-t.md)\n")
    assert "## Change log\n- 2026-02-14: `a` added by indy\n- old\n" in after


def test_a_change_is_logged_once_a_day() -> None:
    once = update_core(None, "t", change())
    assert update_core(once, "t", change()) == once


def test_a_heading_in_code_is_no_section() -> None:
    core = "```\n## TL;DR\n```\n"
    assert update_core(core, "t", change()).startswith("```\n## TL;DR\n```\n\n## TL;DR\n\n- **T**")


# ------------------------------------------------------------------------------- backlog


@given(rows=st.lists(st.tuples(st.sampled_from("abc"), words, words), max_size=6))
def test_rows_come_back_as_they_were(rows: list[tuple[str, str, str]]) -> None:
    known: dict[str, tuple[str, str, str]] = {}
    text = None
    for chunk, reason, agent in rows:
        text = put_row(text, BacklogRow(chunk, f"x|{reason}", f"t-{len(known)}", agent))
        first = known.get(chunk)
        clean = (" ".join(f"x|{reason}".split()), " ".join(agent.split()))
        known[chunk] = (clean[0], first[1] if first else f"t-{len(known)}", clean[1])
    assert {x.chunk_id: (x.reason, x.time, x.agent) for x in read_backlog(text or "")} == known
    for chunk in "abc":
        text = drop_row(text or "", chunk)
    assert read_backlog(text or "") == []


def test_what_people_write_around_the_table_stays() -> None:
    text = "My notes.\n\n| chunk | reason |\n|---|---|\n| `a` | x |\n\nMore."
    new = put_row(text, BacklogRow("b", "y", "t", "me"))
    assert new == text.replace("| `a` | x |\n", "| `a` | x |\n| b | y | t | me |\n")
    assert drop_row(new, "b") == text
    assert put_row("Words.", BacklogRow("b", "y", "t")).startswith("Words.\n\n| chunk |")
    assert put_row("Words.\n", BacklogRow("b", "y", "t")).startswith("Words.\n\n| chunk |")
    last = put_row("| chunk | reason |\n|---|---|", BacklogRow("b", "y", "t"))
    assert [each.chunk_id for each in read_backlog(last)] == ["b"]


def test_a_table_of_the_user_is_none_of_the_backlog() -> None:
    own = "\n## Who helps\n\n| who | for |\n| --- | --- |\n| Mara | the host |\n"
    text = put_row(None, BacklogRow("a", "x", "t")) + own
    assert [each.chunk_id for each in read_backlog(text)] == ["a"]
    assert drop_row(text, "Mara") == text
    new = put_row(text, BacklogRow("b", "y", "t"))
    assert [each.chunk_id for each in read_backlog(new)] == ["a", "b"]
    assert new.endswith(own)
    assert read_backlog(own) == []
    assert put_row(own, BacklogRow("b", "y", "t")).startswith(own)


def test_of_two_rows_of_a_chunk_one_stays() -> None:
    text = "| chunk | reason | time |\n|---|---|---|\n| a | x | t1 |\n| a | y | t2 |\n"
    new = put_row(text, BacklogRow("a", "z", "t3", "me"))
    assert new.endswith("| a | z | t1 | me |\n")
    assert new.count("| a |") == 1


# --------------------------------------------------------------------------------- texts


@given(text=st.text(st.sampled_from("a# \n\t-`é"), max_size=60))
def test_the_parts_of_a_module_are_its_text(text: str) -> None:
    parts = split_module(text)
    assert parts.before + parts.content + parts.after == text


@pytest.mark.parametrize(
    ("line", "title"),
    [("# C#", "C#"), ("#\tA  ##  \r", "A"), ("# #", None), ("#A", None), ("## A", None)],
)
def test_a_title_is_a_heading_with_text(line: str, title: str | None) -> None:
    assert split_module(f"{line}\n\nwords\n").title == title


def test_title_and_frontmatter_precede_the_content() -> None:
    text = "---\ntags: [x]\n---\n\n# The title #\n\nThe content.\n\n"
    parts = split_module(text)
    assert (parts.title, parts.content) == ("The title", "The content.")
    assert with_content(parts, "Other", "New.") == ("---\ntags: [x]\n---\n\n# Other #\n\nNew.\n\n")
    assert with_content(parts, "The title", "New.").count("# The title #") == 1
    assert with_content(ModuleParts("", None, "x", ""), "T", "y") == "y\n"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("# T\n\nOne sentence. Another one.", "One sentence."),
        ("## Only\n\n- an item\n- another", "an item another"),
        ("Before\n\n## A heading\n\nAfter.", "Before"),
        ("```\ncode\n```\n", ""),
        (f"{'word ' * 60}", f"{'word ' * 30}word…"),
    ],
)
def test_the_first_sentence_sums_a_module_up(text: str, short: str) -> None:
    assert excerpt(text) == short


def test_a_new_module_has_the_next_number() -> None:
    assert new_module_name("A title!", ["module-07-x.md", "notes.md"]) == "module-08-a-title.md"
    assert new_module_name("!", []) == "module-01-module.md"


def test_an_edit_that_would_change_more_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "modules:\n- chunk_id: a\n"
    monkeypatch.setattr(manifest_module, "_round_trip", lambda *_: "modules: []\n")
    with pytest.raises(UnreadableModuleError, match="without changing more"):
        edited(text, title="x")


def test_what_ruamel_does_not_read_is_not_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise YAMLError

    monkeypatch.setattr(YAML, "load", fails)
    with pytest.raises(UnreadableModuleError):
        edited("modules:\n- chunk_id: a\n", title="x")
