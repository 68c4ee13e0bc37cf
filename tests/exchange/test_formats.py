"""Each format becomes the facts that its golden page shows, once."""

from __future__ import annotations

import json
import os
import tracemalloc
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vaultsync
from tests.exchange.sources import GivenFiles
from tests.golden import RENEW
from tests.strategies import facts
from tests.world import World
from tests.worlds import unprivileged
from vaultsync.backends.filesystem.exchange_files import TargetFolder, open_source
from vaultsync.errors import ExchangeFileError, ScopeDeniedError, StoreUnavailableError
from vaultsync.exchange import service
from vaultsync.exchange.exchange_formats import FORMATS, WRITTEN
from vaultsync.exchange.service import ImportReport, import_from
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.permissions import Permissions
from vaultsync.model.serialization import fact_to_values
from vaultsync.operations.check_links import check_links
from vaultsync.operations.undo import undo_run

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"
NOON = "2026-03-01T12:00:00Z"
LOSSLESS = ("jsonl", "mem0", "letta")
"""The formats that have a place for every field of a fact."""
SHOWN = ("type", "title", "context", "content", "tags", "aliases", "createdAt", "userId", "source")


def take(
    world: World, name: str, place: Path | None = None, *, dry_run: bool = False
) -> ImportReport:
    with open_source(place or GOLDEN / name) as files:
        return import_from(world.ctx, FORMATS[name], files, dry_run=dry_run)


def _shown(world: World) -> list[dict[str, object]]:
    facts = [fact_to_values(each) for each in world.store.iter_facts()]
    known = [*SHOWN, "permalink", "globs"]
    return sorted(
        ({key: fact[key] for key in known if fact.get(key)} for fact in facts),
        key=lambda fact: (str(fact["title"]), str(fact["content"])),
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_becomes_the_facts_of_its_page(name: str) -> None:
    world = World()
    dry = take(world, name, dry_run=True)
    assert not [*world.store.iter_facts()]
    report = take(world, name)
    assert (report.facts, report.skipped) == (dry.facts, dry.skipped)
    page = GOLDEN / "expected" / f"{name}.json"
    skipped = [f"{each.where}: {each.why}" for each in report.problems]
    found = json.dumps({"facts": _shown(world), "skipped": skipped}, indent=2, ensure_ascii=False)
    if RENEW:
        page.write_text(f"{found}\n", encoding="utf-8")
    assert f"{found}\n" == page.read_text(encoding="utf-8")
    assert len(world.notes()) == report.facts


@pytest.mark.parametrize("name", FORMATS)
def test_a_second_import_adds_nothing_until_the_first_is_undone(name: str) -> None:
    world = World()
    first = take(world, name)
    again = take(world, name)
    assert (again.facts, again.duplicates, again.run) == (0, first.facts, None)
    assert (again.updated, again.kept) == (0, 0)
    assert first.run is not None
    undo_run(world.ctx, first.run)
    assert not [*world.store.iter_facts()]
    assert not world.notes()
    assert take(world, name).facts == first.facts


@pytest.mark.parametrize("name", FORMATS)
def test_what_was_forgotten_does_not_come_back(name: str) -> None:
    world = World()
    fact = world.fact(next(iter(world.store.iter_facts())).id) if take(world, name).facts else None
    assert fact is not None
    world.agent_forgets(fact.id, agent="user")
    world.sync()
    assert take(world, name).facts == 0
    assert not world.is_alive(fact.id)


@pytest.mark.parametrize("name", FORMATS)
def test_an_archive_holds_the_same_as_its_folder(name: str, tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for each in sorted((GOLDEN / name).rglob("*")):
            if each.is_file():
                packed.write(each, each.relative_to(GOLDEN / name))
    folder, packed_world = World(), World()
    assert take(folder, name).facts == take(packed_world, name, archive).facts
    assert _shown(folder) == _shown(packed_world)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("damage", ["empty", "cut", "binary", "deep"])
def test_a_damaged_file_is_named_and_stops_no_other(name: str, damage: str, tmp_path: Path) -> None:
    for each in sorted((GOLDEN / name).rglob("*")):
        if not each.is_file():
            continue
        data = each.read_bytes()
        to = tmp_path / each.relative_to(GOLDEN / name)
        to.parent.mkdir(parents=True, exist_ok=True)
        damaged = {
            "empty": b"",
            "cut": data[: 2 * len(data) // 3],
            "binary": bytes(range(256)) * 8,
            "deep": b"[" * 100_000,
        }
        to.write_bytes(damaged[damage])
    report = take(World(), name, tmp_path)
    assert report.skipped >= len(report.problems)
    assert all(each.where and each.why for each in report.problems)


_JSON = sorted(each for each in GOLDEN.rglob("*") if each.suffix in {".json", ".jsonl", ".af"})
_ODD = [7, True, None, [], {}, "", "x", [7], {"a": 1}, float("inf"), 10**30, ["a", ["b"]]]


@given(st.data())
def test_a_value_of_any_kind_stops_no_import(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from([x for x in _JSON if x.parent.name in FORMATS]))
    text = file.read_text()
    try:
        rows = json.loads(text)
    except ValueError:
        rows = [json.loads(line) for line in text.splitlines()]
    rows = rows if isinstance(rows, list) else [rows]
    at: Any = rows
    while isinstance(at, (list, dict)) and at:
        keys = [*at] if isinstance(at, dict) else [*range(len(at))]
        key = data.draw(st.sampled_from(keys))
        below = at[key]
        if not below or not isinstance(below, (list, dict)) or data.draw(st.booleans()):
            at[key] = data.draw(st.sampled_from(_ODD))
            break
        at = below
    given_files = GivenFiles({file.name: "\n".join(map(json.dumps, rows))})
    report = import_from(World().ctx, FORMATS[file.parent.name], given_files, dry_run=True)
    assert all(each.where and each.why for each in report.problems)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_exported_is_imported_as_it_was(name: str, tmp_path: Path) -> None:
    world = World()
    for each in FORMATS:
        take(world, each)
    facts = [*world.store.iter_facts()]
    folder = TargetFolder(tmp_path / "exported")
    for file, pieces in WRITTEN[name](facts):
        folder.write(file, pieces)
    modes = {each.stat().st_mode & 0o077 for each in (tmp_path / "exported").rglob("*.*")}
    assert modes == {0}  # it has the secrets that notes do not show
    report = take(world, name, tmp_path / "exported")
    assert (report.facts, report.duplicates, report.skipped) == (0, len(facts), 0)
    other = World()
    assert take(other, name, tmp_path / "exported").facts == len(facts)
    kept = ("id", "type", "title", "content", "tags", "aliases", "createdAt")
    before = {each.id: [fact_to_values(each).get(key) for key in kept] for each in facts}
    after = {each.id: [fact_to_values(each).get(key) for key in kept] for each in other.facts()}
    assert after == before


def test_the_notes_of_another_vault_are_imported_as_its_facts() -> None:
    world, other = World(), World()
    for each in ("chatgpt", "claude", "jsonl", "notion"):
        take(world, each)
    world.mirrored("Odd\n\n## Part", title="O", context="C", priority=1, entities=["Bob"], own=[1])
    notes = {path: world.text(path) for path in world.notes()}
    report = import_from(other.ctx, FORMATS["markdown"], GivenFiles(notes))
    assert (report.facts, report.skipped) == (len(notes), 0)
    assert _lasting(other) == _lasting(world)


def _lasting(world: World) -> dict[str, dict[str, object]]:
    imported = dict.fromkeys(("source", "scope", "updatedAt"))
    return {fact.id: {**fact_to_values(fact), **imported} for fact in world.facts()}


@pytest.mark.parametrize("name", WRITTEN)
@given(st.lists(facts(), min_size=1, max_size=2, unique_by=lambda fact: fact.id))
@settings(max_examples=settings().max_examples // 2)
def test_an_export_that_is_imported_is_exported_as_it_was(name: str, some: list[Fact]) -> None:
    times = ("created_at", "updated_at")
    some = [x.evolve(**{each: getattr(x, each) or NOON for each in times}) for x in some]
    written: Iterable[Fact] = some
    before = {each.id: _kept(each) for each in some}
    exports, contents = [], [{each.id: each.content or each.title for each in some}]
    for _ in range(3):
        exports.append({file: "".join(pieces) for file, pieces in WRITTEN[name](written)})
        world = World()
        report = import_from(world.ctx, FORMATS[name], GivenFiles(exports[-1]))
        written = world.store.iter_facts()
        contents.append({each.id: each.content or each.title for each in world.facts()})
        assert report.skipped == 0
        if name in LOSSLESS:
            assert {each.id: _kept(each) for each in world.facts()} == before
    assert exports[1] == exports[2]
    assert contents[1:] == [contents[0]] * 3


def _kept(fact: Fact) -> dict[str, object]:
    """What an import keeps of a fact: it has another scope, and says where it is from."""
    changes = ("scope", "source")
    return {key: x for key, x in fact_to_values(fact).items() if key not in changes}


_ID = "0123456789abcdef0123456789abcde"


@pytest.mark.parametrize(
    ("form", "files", "expected"),
    [
        (
            "markdown",
            {
                "One Note.md": "---\nup: '[[Two Words]]'\n---\n"
                "See [[Two Words]], [[two words#Part|it]], ![[Two Words]].\n## Top",
                "sub/Two Words.md": "Back [x](../One%20Note.md#Top) to [[One Note]],"
                " not [[Gone]].\n## Part",
            },
            [
                (
                    "Back [x](./2026-02-14-one-note.md#Top) to [[2026-02-14-one-note|One Note]],"
                    " not [[Gone]].\n## Part"
                ),
                (
                    "See [[2026-02-14-two-words|Two Words]], [[2026-02-14-two-words#Part|it]],"
                    " ![[2026-02-14-two-words]].\n## Top"
                ),
            ],
        ),
        (
            "basic-memory",
            {
                "a.md": "---\ntitle: A\npermalink: main/a\n---\nTo [[B b]].",
                "B b.md": "---\ntitle: B b\npermalink: main/b\n---\nTo [[main/a]].",
            },
            ["To [[2026-02-14-a|main/a]].", "To [[2026-02-14-b-b|B b]]."],
        ),
        (
            "notion",
            {
                f"Top {_ID}0.md": f"# Top\n\n[Sub](Top%20{_ID}0/Sub%20{_ID}1.md) and"
                f" [C#](C%23%20{_ID}2.md) and [one](Log%20{_ID}3.md) or [two](Log%20{_ID}4.md)",
                f"Top {_ID}0/Sub {_ID}1.md": f"# Sub\n\nUp to [all](../Top%20{_ID}0.md)",
                f"C# {_ID}2.md": "# C#\n\nTyped",
                f"Log {_ID}3.md": "# Log one\n\nOne",
                f"Log {_ID}4.md": "# Log two\n\nTwo",
            },
            [
                "One",
                "Two",
                "Typed",
                "Up to [[2026-02-14-top|all]]",
                (
                    "[[2026-02-14-sub|Sub]] and [C#](2026-02-14-c.md) and"
                    " [one](2026-02-14-log-one.md) or [two](2026-02-14-log-two.md)"
                ),
            ],
        ),
        (
            "mcp-memory",
            {
                "memory.json": '{"type": "entity", "name": "Bob", "entityType": "person"}'
                ' {"type": "entity", "name": "AC/DC: live", "entityType": "band"}'
                ' {"type": "relation", "from": "Bob", "relationType": "likes", "to": "AC/DC: live"}'
            },
            ["- likes [[AC-DC - live|AC/DC: live]]", "AC/DC: live"],
        ),
    ],
)
def test_links_between_imported_files_lead_to_their_notes(
    form: str, files: Mapping[str, str], expected: list[str]
) -> None:
    world = World()
    report = import_from(world.ctx, FORMATS[form], GivenFiles(files))
    assert sorted(each.content for each in world.facts()) == expected
    assert not [x for x in check_links(world.ctx).problems if "Gone" not in x.link]
    world.sync()
    assert [(x.run, x.kind) for x in world.archive.runs(limit=9)] == [(report.run, "import")]
    assert import_from(world.ctx, FORMATS[form], GivenFiles(files)).facts == 0
    undo_run(world.ctx, report.run or "")
    assert (world.notes(), [*world.facts()]) == ([], [])


def test_a_note_that_a_person_edited_is_not_overwritten() -> None:
    world = World()
    take(world, "claude")
    (path,) = [each for each in world.notes() if "restore-drill" in each]
    world.person_edits(path, "Once a quarter", "Every month")
    world.sync()
    assert take(world, "claude").facts == 0
    assert "Every month" in world.text(path)


def _chats(*messages: str, edited: Sequence[str] = ("Tea?",)) -> GivenFiles:
    """Two conversations in an export of Claude."""
    chats = [
        {
            "uuid": name,
            "name": name,
            "created_at": NOON,
            "updated_at": NOON,
            "chat_messages": [{"sender": "human", "text": each} for each in texts],
        }
        for name, texts in (("Berths", messages), ("Breakfast", edited))
    ]
    return GivenFiles({"conversations.json": json.dumps(chats)})


def test_a_conversation_that_went_on_is_extended_unless_its_text_was_edited() -> None:
    world, form = World(), FORMATS["claude"]
    import_from(world.ctx, form, _chats("How many?"))
    berths, breakfast = (world.path(x.id) for x in sorted(world.facts(), key=lambda x: x.title))
    world.person_edits(berths, "type: episodic\n", "type: episodic\nmood: calm\n")
    world.person_edits(breakfast, "Tea?", "Tea.")
    world.quiesce()

    longer = _chats("How many?", "And now?", edited=("Tea?", "Or coffee?"))
    dry = import_from(world.ctx, form, longer, dry_run=True)
    assert (dry.facts, dry.continued, dry.kept, dry.duplicates) == (0, 1, 1, 0)
    assert "And now?" not in world.text(berths)
    report = import_from(world.ctx, form, longer)
    assert (report.facts, report.continued, report.kept, report.duplicates) == (0, 1, 1, 0)
    assert "**User:** How many?\n\n**User:** And now?\n" in world.text(berths)
    assert "mood: calm" in world.text(berths)
    assert "coffee" not in world.text(breakfast)
    world.assert_at_rest()

    undo_run(world.ctx, report.run or "")
    world.quiesce()
    assert "And now?" not in world.text(berths)
    again = import_from(world.ctx, form, longer)
    assert (again.continued, import_from(world.ctx, form, longer).continued) == (1, 0)
    world.person_edits(berths, "\n\n**User:** And now?", "")
    world.quiesce()
    assert import_from(world.ctx, form, longer).continued == 0
    assert "And now?" not in world.text(berths)


_OLD, _NEW = "Berth 12 is free.", "Berth 12 is taken."
_PAGE = f"Moored at\n\n{_OLD}\n\nSee [[Harbor]].\n"
_CHANGING = {
    "basic-memory": {"a.md": f"---\ntitle: A\npermalink: main/a\n---\n{_PAGE}"},
    "claude": {
        "projects.json": json.dumps(
            [{"uuid": "p", "name": "P", "docs": [{"uuid": "d", "filename": "D", "content": _OLD}]}]
        )
    },
    "claude-code": {"MEMORY.md": f"# Memory\n\n## Berths\n\n{_PAGE}"},
    "csv": {"a.csv": f"id,text\nx1,{_OLD}\n"},
    "cursor": {".cursor/rules/a.mdc": f"---\ndescription: A\n---\n{_PAGE}"},
    "jsonl": {"a.jsonl": json.dumps({"id": "x1", "text": _OLD})},
    "letta": {"a.af": json.dumps({"name": "A", "blocks": [{"label": "human", "value": _OLD}]})},
    "markdown": {"a.md": f"# A\n\n{_PAGE}", "Harbor.md": "To [[a]]."},
    "mcp-memory": {
        "memory.json": json.dumps(
            {"type": "entity", "name": "Bob: the mate", "entityType": "", "observations": [_OLD]}
        )
        + '{"type": "relation", "from": "Bob: the mate", "relationType": "is", "to": "AC/DC"}'
        + '{"type": "entity", "name": "AC/DC", "entityType": "band"}'
    },
    "mem0": {"a.json": json.dumps([{"id": "m1", "memory": _OLD, "created_at": NOON}])},
    "notion": {f"A {_ID}0.md": f"# A\n\n{_PAGE}"},
}


@pytest.mark.parametrize("name", _CHANGING)
def test_a_memory_that_changed_updates_its_fact_unless_that_was_edited(name: str) -> None:
    world, form, before = World(), FORMATS[name], _CHANGING[name]
    after = {file: text.replace(_OLD, _NEW) for file, text in before.items()}
    first = import_from(world.ctx, form, GivenFiles(before))
    (fact,) = (x for x in world.facts() if _OLD in x.content)
    world.quiesce()

    dry = import_from(world.ctx, form, GivenFiles(after), dry_run=True)
    assert (dry.updated, dry.run) == (1, None)
    for _ in range(2):
        report = import_from(world.ctx, form, GivenFiles(after))
        assert (report.facts, report.updated, report.kept) == (0, 1, 0)
        assert import_from(world.ctx, form, GivenFiles(after)).duplicates == first.facts
        assert _NEW in world.text(fact)
        assert world.fact(fact.id).title == fact.title.replace(_OLD[:-1], _NEW[:-1])
        world.assert_at_rest()
        undo_run(world.ctx, report.run or "")
        assert world.fact(fact.id).content == fact.content
        world.quiesce()
    import_from(world.ctx, form, GivenFiles(after))
    assert import_from(world.ctx, form, GivenFiles(before)).updated == 1
    assert world.fact(fact.id).content == fact.content

    world.person_edits(fact, "free.", "free again.")
    world.quiesce()
    assert import_from(world.ctx, form, GivenFiles(before)).duplicates == first.facts
    later = {file: text.replace(_OLD, "Berth 12 is closed.") for file, text in before.items()}
    kept = import_from(world.ctx, form, GivenFiles(later))
    assert (kept.updated, kept.kept, kept.duplicates) == (0, 1, first.facts - 1)
    assert [x.id for x in kept.kept_facts] == [fact.id]
    assert "free again." in world.fact(fact.id).content


def test_rows_that_share_an_id_keep_all_their_texts_in_any_order() -> None:
    world = World()
    for texts in ("AB", "CAB", "BCA"):
        rows = "\n".join(json.dumps({"id": "u1", "text": f"Text {x}."}) for x in texts)
        import_from(world.ctx, FORMATS["jsonl"], GivenFiles({"a.jsonl": rows}))
        assert {f"Text {x}." for x in texts} == {x.content for x in world.facts()}


@pytest.mark.parametrize("change", ["title", "status", "scope"])
def test_a_fact_that_was_changed_here_stays_when_its_memory_changes(change: str) -> None:
    world = World()
    row = {"id": "x1", "text": _OLD}
    import_from(world.ctx, FORMATS["jsonl"], GivenFiles({"a.jsonl": json.dumps(row)}))
    (fact,) = world.facts()
    values = {"title": "Berths", "status": "archived", "scope": "team-core"}
    world.agent_updates(fact.id, **{change: values[change]})
    changed = GivenFiles({"a.jsonl": json.dumps({**row, "text": _NEW})})
    report = import_from(world.ctx, FORMATS["jsonl"], changed)
    assert (report.updated, report.kept) == (0, 1)
    world.quiesce()
    assert import_from(world.ctx, FORMATS["jsonl"], changed).kept == 1
    assert world.fact(fact.id).content == _OLD


def test_of_many_facts_that_stay_only_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_PROBLEMS", 1)
    world, form = World(), FORMATS["jsonl"]

    def rows(text: str) -> GivenFiles:
        given = (json.dumps({"id": f"x{n}", "text": f"{text} ({n})"}) for n in range(2))
        return GivenFiles({"a.jsonl": "\n".join(given)})

    import_from(world.ctx, form, rows(_OLD))
    for fact in world.facts():
        world.agent_updates(fact.id, title="Berths")
    report = import_from(world.ctx, form, rows(_NEW))
    assert (report.updated, report.kept, len(report.kept_facts)) == (0, 2, 1)


def test_an_agents_import_names_no_fact_that_it_no_longer_sees() -> None:
    world, form = World(permissions=Permissions()), FORMATS["jsonl"]

    def again(text: str) -> ImportReport:
        given = GivenFiles({"a.jsonl": json.dumps({"id": "x1", "text": text})})
        return import_from(world.ctx, form, given, scope="private-indy", agent="indy")

    again(_OLD)
    (fact,) = world.facts()
    fact_work.update(world.ctx, fact.id, {"scope": "private-moss"}, agent=None)
    report = again(_NEW)
    assert (report.updated, report.kept, report.kept_facts, report.duplicates) == (0, 0, (), 1)
    assert world.fact(fact.id).content == _OLD


def test_a_conversation_that_becomes_too_long_for_one_fact_goes_on_in_others() -> None:
    world, form = World(), FORMATS["claude"]
    messages = ["How many? " * 12_000, "And now? " * 6_000]
    import_from(world.ctx, form, _chats(*messages))
    messages += ["And today? " * 2_000, "And here? " * 10_000]
    for more in ("And there? " * 2_000, "Why? " * 30_000):
        import_from(world.ctx, form, _chats(*messages))
        messages.append(more)
    import_from(world.ctx, form, _chats(*messages))
    texts = "".join(each.content for each in world.facts())
    assert [texts.count(each.strip()) for each in messages] == [1] * len(messages)
    titles = {each.title for each in world.facts()}
    assert {"Berths", "Berths (2 of 2)"} <= titles
    assert "Berths (1 of 2)" not in titles


def test_a_conversation_is_extended_after_a_killed_import(monkeypatch: pytest.MonkeyPatch) -> None:
    world, form = World(), FORMATS["claude"]
    import_from(world.ctx, form, _chats("How many?"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("vaultsync.exchange.service.sync_once", killed)
        with pytest.raises(KeyboardInterrupt):
            import_from(world.ctx, form, _chats("How many?", "And now?"))
    world.quiesce()
    longer = _chats("How many?", "And now?", "And today?")
    assert import_from(world.ctx, form, longer).continued == 1
    (fact,) = (each for each in world.facts() if each.title == "Berths")
    assert "And today?" in world.text(fact)


@pytest.mark.parametrize("writes", ["before", "between"])
def test_a_conversation_that_an_agent_changed_is_not_extended(writes: str) -> None:
    world, form = World(), FORMATS["claude"]
    import_from(world.ctx, form, _chats("How many?", "Hm."))
    (fact,) = (each for each in world.facts() if each.title == "Berths")
    before = world.store.before

    def between(method: str) -> None:
        if method == "write":
            world.store.before = before
            world.agent_updates(fact.id, content="Thirty-eight.")

    if writes == "before":
        world.agent_updates(fact.id, content="**User:** How many?")
    else:
        world.store.before = between
    assert import_from(world.ctx, form, _chats("How many?", "Hm.", "And now?")).continued == 0
    assert "And now?" not in world.fact(fact.id).content


def test_the_same_text_is_taken_once() -> None:
    world = World()
    world.mirrored("\uff44iesel is sold  until noon.")
    assert take(world, "csv").duplicates == 1


def test_a_row_has_its_numbers_as_text(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("content,priority,confidence\nOne,1,0.5\n")
    world = World()
    with open_source(tmp_path / "facts.csv") as files:
        report = import_from(world.ctx, FORMATS["csv"], files)
    assert report.problems == ()
    assert [(x.priority, x.value("confidence")) for x in world.facts()] == [(1, 0.5)]


def test_an_agent_imports_into_a_scope_that_it_may_write() -> None:
    world = World(permissions=Permissions())
    with open_source(GOLDEN / "csv") as files, pytest.raises(ScopeDeniedError):
        import_from(world.ctx, FORMATS["csv"], files, scope="team-core", agent="indy")
    with open_source(GOLDEN / "csv") as files:
        report = import_from(world.ctx, FORMATS["csv"], files, scope="private-indy", agent="indy")
    assert report.facts == 1
    assert [(x.scope, x.agent_id) for x in world.facts()] == [("private-indy", "indy")]


def test_an_agents_import_tells_nothing_of_a_hidden_fact() -> None:
    world = World(permissions=Permissions())
    world.mirrored("Diesel is sold\nuntil noon.", agent="moss", scope="private-moss")
    with open_source(GOLDEN / "csv") as files:
        report = import_from(world.ctx, FORMATS["csv"], files, scope="private-indy", agent="indy")
    assert (report.facts, report.duplicates) == (1, 0)


def test_a_long_conversation_becomes_several_facts(tmp_path: Path) -> None:
    turn = "x" * 9_000
    said = [{"sender": "human", "text": f"{number} {turn}"} for number in range(60)]
    given = [{"uuid": "u", "name": "Long", "created_at": "2026-01-05", "chat_messages": said}]
    (tmp_path / "conversations.json").write_text(json.dumps(given))
    world = World()
    assert take(world, "claude", tmp_path).facts == 3
    titles = sorted(each.title for each in world.facts())
    assert titles == ["Long (1 of 3)", "Long (2 of 3)", "Long (3 of 3)"]
    found = "".join(each.content for each in sorted(world.facts(), key=lambda x: x.title))
    assert all(f"**User:** {number} {turn}" in found for number in range(60))


def test_nothing_at_a_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExchangeFileError), open_source(tmp_path / "none"):
        pass
    (tmp_path / "broken.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    with open_source(tmp_path / "broken.zip") as files:
        assert files.names() == []
    with open_source(Path("/dev/zero")) as files:  # has no end to search for the parts of a ZIP
        assert files.names() == ["zero"]
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file").touch()
    with pytest.raises(ExchangeFileError, match="not empty") as refused:
        TargetFolder(tmp_path / "some")
    assert "empty folder outside the vault" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "file", "text", "title"),
    [
        ("csv", "a.csv", '"content","title"\n"Some text.","Tea"\n', "Tea"),
        ("jsonl", "a.jsonl", '{"title": "Tea", "content": "Some text."}', "Tea"),
        ("notion", f"Old {'a' * 32}.md", "# Tea\n\nSome text.\n", "Tea"),
        ("cursor", "a.mdc", "---\ndescription: Tea\n---\nSome text.\n", "Tea"),
        ("claude-code", "MEMORY.md", "# Mine\n\n## Tea\n\nSome text.\n", "Tea"),
        ("mcp-memory", "memory.json", '{"type": "entity", "name": "Tea"}', "Tea"),
    ],
)
def test_a_byte_order_mark_is_no_text(
    tmp_path: Path, name: str, file: str, text: str, title: str
) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8-sig")
    world = World()
    assert take(world, name, tmp_path).skipped == 0
    assert [each.title for each in world.facts()] == [title]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_read_as_excel_writes_it(tmp_path: Path, encoding: str, separator: str) -> None:
    rows = (("title", "content"), ("Müller", "The gate, at seven; or eight."), ("漢", "Tea."))
    text = "\r\n".join(separator.join(f'"{cell}"' for cell in row) for row in rows)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "a.csv").write_bytes((mark + text).encode(encoding))
    world = World()

    assert take(world, "csv", tmp_path / "a.csv").skipped == 0

    assert sorted((each.title, each.content) for each in world.facts()) == [*rows[1:]]


@pytest.mark.parametrize(
    ("name", "texts", "where"),
    [
        ("csv", {"a.csv": "content;title\nTea \ufffd.;One\nMüsli.;Two\n"}, "a.csv: row 3"),
        ("markdown", {"a.md": "Tea \ufffd.", "b.md": "Müsli."}, "b.md"),
        ("jsonl", {"a.jsonl": '{"text": "Müsli."}\n{"text": "Tea \ufffd."}'}, "a.jsonl: element 1"),
        (
            "mem0",
            {"a.json": '[{"id": "1", "memory": "Müsli."}, {"id": "2", "memory": "Tea \ufffd."}]'},
            "a.json: element 1",
        ),
    ],
)
def test_what_is_not_utf_8_is_named_and_imported_when_it_is(
    name: str, texts: Mapping[str, str], where: str, tmp_path: Path
) -> None:
    world = World()
    for file, text in texts.items():
        damaged = text.encode().replace("ü".encode(), "ü".encode("cp1252"))
        (tmp_path / file).write_bytes(damaged)

    first = take(world, name, tmp_path)

    assert (first.facts, [(x.where, x.why[:38]) for x in first.problems]) == (
        1,
        [(where, "it has a character that is not UTF-8; ")],
    )
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    assert take(world, name, tmp_path).facts == 1
    assert sorted(each.content for each in world.facts()) == ["Müsli.", "Tea \ufffd."]


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Text.")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    refused = pytest.raises(ExchangeFileError, match=f"{closed}.*Permission denied")
    with unprivileged(), open_source(tmp_path) as files, refused:
        files.names()


def test_a_long_fact_is_imported_whole_from_its_export(tmp_path: Path) -> None:
    source, target = World(), World()
    fact = source.mirrored("\n\n".join(f"Day {number}." for number in range(30_000)))
    for name, pieces in WRITTEN["jsonl"]([fact]):
        (tmp_path / name).write_text("".join(pieces))
    assert take(target, "jsonl", tmp_path).facts == 1
    assert [each.content for each in target.facts()] == [fact.content]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_file_of_an_archive_is_an_error(tmp_path: Path, method: int) -> None:
    place = tmp_path / "export.zip"
    with zipfile.ZipFile(place, "w", method) as archive:
        archive.writestr("conversations.json", json.dumps(["abc" * 1_000] * 20))
    data = bytearray(place.read_bytes())
    data[57:69] = bytes(each ^ 0xFF for each in data[57:69])
    place.write_bytes(data)
    with pytest.raises(ExchangeFileError, match=r"conversations\.json"):
        take(World(), "chatgpt", place)


@pytest.mark.parametrize("permalink", ["../../up", "/up", "a/../../up", ".hidden/up", "a\\b"])
def test_a_permalink_never_leads_out_of_the_export(permalink: str, tmp_path: Path) -> None:
    note = {"a.md": f"---\ntitle: A\npermalink: {permalink}\n---\n\nText.\n"}
    world = World()
    assert import_from(world.ctx, FORMATS["basic-memory"], GivenFiles(note)).facts == 1
    folder = TargetFolder(tmp_path / "exported" / "here")
    for file, pieces in WRITTEN["basic-memory"](world.facts()):
        assert file == "public/a.md"
        folder.write(file, pieces)
    assert take(world, "basic-memory", tmp_path / "exported" / "here").duplicates == 1


def test_a_permalink_that_cannot_be_a_file_gives_way_to_the_title(tmp_path: Path) -> None:
    world = World()
    links = ["p" * 250, "x.MD/y", "x", "x", "a/" * 2_000 + "a", "ü" * 120]
    facts = [
        world.agent_remembers(f"{number}.", title=f"T{number}", permalink=link)
        for number, link in enumerate(links)
    ]
    folder = TargetFolder(tmp_path / "out")
    names = []
    for file, pieces in WRITTEN["basic-memory"](facts):
        folder.write(file, pieces)
        names.append(file.rpartition("/")[2])
    assert names == ["t0.md", "t1.md", "x.md", f"x-{facts[3].id[-12:]}.md", "t4.md", "t5.md"]


@pytest.mark.parametrize("name", ["../up.md", "a/../../up.md", "/up.md"])
def test_no_file_is_written_outside_an_exports_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(ExchangeFileError, match="outside"):
        TargetFolder(tmp_path / "exported").write(name, ["text"])


def test_many_are_written_in_batches_and_one_id_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FACTS_PER_WRITE", 2)
    monkeypatch.setattr(service, "MAX_PROBLEMS", 1)
    rows = [{"id": str(number % 5), "text": f"Fact {number % 5}."} for number in range(7)]
    rows += [{"id": "x"}, {"id": "y"}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    seen: list[tuple[str, int]] = []
    world = World()
    with open_source(tmp_path) as files:
        report = import_from(
            world.ctx,
            FORMATS["jsonl"],
            files,
            progress=lambda stage, done, _: seen.append((stage, done)),
        )
    assert (report.facts, report.duplicates, report.skipped) == (5, 2, 2)
    assert len(report.problems) == 1
    assert [each for each in seen if each[0] == "import"] == [("import", 2), ("import", 4)]
    with open_source(tmp_path) as files:
        assert import_from(world.ctx, FORMATS["jsonl"], files).duplicates == 7


def linked_rows(number: int) -> dict[str, str]:
    """Lines of JSON: facts in a ring, each related to the next."""
    ids = [f"01900000-0000-7000-8000-{each:012d}" for each in range(number)]
    rows = [
        {"id": each, "title": f"T{at}", "text": f"Text {at}.", "relatedFactIds": [ids[at - 1]]}
        for at, each in enumerate(ids)
    ]
    return {"rows.jsonl": "\n".join(map(json.dumps, rows))}


def test_batches_are_one_run_whose_notes_link_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FACTS_PER_WRITE", 2)
    world, rows = World(), linked_rows(5)
    world.mirrored("Diesel is sold until noon.")
    report = import_from(world.ctx, FORMATS["jsonl"], GivenFiles(rows))
    recorded = [(x.run, x.kind) for x in world.archive.runs(limit=9) if x.kind == "import"]
    assert recorded == [(report.run, "import")]
    run = world.archive.find_run(report.run or "")
    assert run is not None
    assert isinstance(counts := run.report["counts"], dict)
    assert (counts["created_in_vault"], counts["unchanged"]) == (5, 1)
    links = [world.text(path).count("## Related Facts\n- [[") for path in world.notes()]
    assert sorted(links) == [0, 1, 1, 1, 1, 1]
    undo_run(world.ctx, report.run or "")
    assert len(world.notes()) == 1


def test_the_next_import_completes_an_interrupted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FACTS_PER_WRITE", 2)
    world = World()
    rows = GivenFiles({"a.jsonl": "\n".join(f'{{"text": "Text {x}."}}' for x in range(5))})
    world.at("write", world.outage().__enter__, number=2)
    with pytest.raises(StoreUnavailableError):
        import_from(world.ctx, FORMATS["jsonl"], rows)
    world.store.away = False
    (first,) = [x.run for x in world.archive.runs(limit=9)]
    assert len(world.notes()) == 2
    again = import_from(world.ctx, FORMATS["jsonl"], rows)
    assert (again.facts, again.duplicates) == (3, 2)
    undo_run(world.ctx, first)
    assert len(world.notes()) == 3


def test_where_no_note_can_be_written_facts_wait_for_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FACTS_PER_WRITE", 2)
    world = World()
    world.vault.broken.add("public/facts")
    rows = GivenFiles({"a.jsonl": "\n".join(f'{{"text": "Text {x}."}}' for x in range(3))})
    report = import_from(world.ctx, FORMATS["jsonl"], rows)
    assert (report.facts, report.run, world.notes()) == (3, None, [])
    world.vault.broken.clear()
    world.sync()
    assert len(world.notes()) == 3


def test_half_of_a_character_is_named_and_the_rest_is_imported() -> None:
    rows = [{"text": "Cut \ud83d here."}, {"id": "\ud83d", "text": "Whole."}]
    given = GivenFiles({"rows.jsonl": "\n".join(map(json.dumps, rows))})
    report = import_from(World().ctx, FORMATS["jsonl"], given)

    (problem,) = report.problems
    assert report.facts == 1
    assert "lone surrogates" in problem.why


def test_facts_of_one_export_may_have_the_same_text() -> None:
    rows = [{"id": f"01900000-0000-7000-8000-00000000000{x}", "text": "Same."} for x in range(2)]
    given = GivenFiles({"rows.jsonl": "\n".join(map(json.dumps, rows))})
    world = World()
    assert import_from(world.ctx, FORMATS["jsonl"], given).facts == 2
    assert import_from(world.ctx, FORMATS["jsonl"], given).duplicates == 2


class ManyChats(NamedTuple):
    """An export of Claude that is made while it is read."""

    number: int

    def names(self) -> list[str]:
        return ["conversations.json"]

    def text(self, name: str) -> Iterator[str]:
        for number in range(self.number):
            said = [{"sender": "human", "text": f"{number}: {'some words ' * 1000}"}]
            yield json.dumps({"uuid": f"{name} {number}", "chat_messages": said}) + "\n"


@pytest.mark.long(5)
def test_an_import_holds_few_facts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FACTS_PER_WRITE", 20)

    def peak(number: int) -> int:
        place, state = str(tmp_path / str(number)), str(tmp_path / f"state-{number}")
        vaultsync.init(place, state_dir=state)
        with vaultsync.open(place, state_dir=state) as memory, memory._engine.exclusive() as ctx:
            tracemalloc.start()
            try:
                assert import_from(ctx, FORMATS["claude"], ManyChats(number)).facts == number
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    peak(20)  # the modules are loaded once
    few, many = peak(40), peak(160)
    assert many - few < 120 * 5_000  # half of the text of these conversations


@pytest.mark.parametrize("name", ["chatgpt", "claude"])
def test_an_export_under_another_name_is_not_passed_over_in_silence(name: str) -> None:
    report = import_from(World().ctx, FORMATS[name], GivenFiles({"chats.json": "[{}]"}))

    assert (report.facts, report.skipped) == (0, 1)
    assert [each.why for each in report.problems] == [
        "nothing to import was found; expected the export, as ZIP, folder or `conversations.json`"
    ]


def zipped(files: Mapping[str, bytes], place: Path) -> bytes:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return place.read_bytes()


def test_an_archive_of_archives_is_read_as_one(tmp_path: Path) -> None:
    pages = {f"Tea {number} {number:032x}.md": b"# Tea\n\nGreen." for number in range(2)}
    parts = {
        f"Export-Part-{number}.zip": zipped({name: page}, tmp_path / "part.zip")
        for number, (name, page) in enumerate(pages.items())
    }
    place = tmp_path / "export.zip"
    zipped(parts, place)
    with open_source(place) as files:
        assert files.names() == [f"{x}/{y}" for x, y in zip(parts, pages, strict=True)]
        assert "".join(files.text(files.names()[1])) == "# Tea\n\nGreen."
    assert take(World(), "notion", place).facts == 1

    zipped({**parts, "read-me.md": b"Text."}, place)
    with open_source(place) as files:
        assert files.names() == [*parts, "read-me.md"]
    zipped({"Part-1.zip": b"PK half"}, place)
    with pytest.raises(ExchangeFileError, match=r"export\.zip"), open_source(place):
        pass


def test_a_zip_archive_with_damaged_data_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("notes.json", "".join(map(str, range(2_000))))
    data = bytearray(path.read_bytes())
    data[100:300] = bytes(each ^ 0xFF for each in data[100:300])
    path.write_bytes(data)

    with (
        open_source(path) as files,
        pytest.raises(ExchangeFileError, match=r"export\.zip: notes\.json.*decompress"),
    ):
        list(files.text("notes.json"))


def test_pipes_in_a_folder_are_no_files_to_import(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "note.md").touch()
    (tmp_path / "link.md").symlink_to("note.md")

    with open_source(tmp_path) as files:
        assert files.names() == ["note.md"]
