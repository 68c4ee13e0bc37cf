"""The sample vault is what it claims to be, checked without the engine where that is possible.

What the engine writes is proved by the golden notes; here its notes are what it would write.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from tests.sample_vault import (
    BLOCK,
    ENTITY_FOLDERS,
    FOREIGN,
    HEADING,
    ROOT,
    TIERS,
    Note,
    all_of,
    by_id,
    by_path,
    every_note,
    facts,
    links,
    split,
    target_of,
    without_code,
    written_by_hand,
    written_by_the_engine,
)
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import file_name
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import TYPES
from vaultsync.notes.parse import home_folder, read_note
from vaultsync.notes.render import render_note

SCOPES = {"team-core", "project-tidebell", "private-indy"}
NOT_NOTES = {".meta/config.toml", *(f".obsidian/{x}.json" for x in ("app", "graph", "types"))}
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NEST = re.compile(r"\A\[\[[^\[\]]+\]\]\Z")
SPELLED_BEFORE = {"Aiko Hoshino", "Whitsun weekend filled the pier"}
"""Notes with a text in quotes that would stand there plain or in lines today."""


def fact_of(note: Note) -> Fact:
    """What the engine reads from a note."""
    found = read_note(note.raw, VaultPath(note.path))
    assert found.problems == ()
    fact = Fact(note.id, title=note.title, scope=note.path.partition("/")[0])
    return fact.overlay(found.values, found.properties)


def test_only_the_expected_files_are_there() -> None:
    links_or_odd = [path for path in ROOT.rglob("*") if path.is_symlink() or not path.exists()]
    assert not links_or_odd
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()}
    assert {path for path in files if not path.endswith(".md")} == NOT_NOTES
    outside = {path for path in files if path.partition("/")[0] not in SCOPES}
    assert outside == NOT_NOTES | FOREIGN
    assert all(not note.properties for note in every_note() if note.path in FOREIGN)


def test_all_scopes_types_and_tiers_occur_in_55_to_70_notes_most_of_them_the_engines() -> None:
    assert 55 <= len(every_note()) <= 70
    assert len(written_by_the_engine()) >= 45
    assert len(written_by_hand()) == 10
    assert {note.path.partition("/")[0] for note in facts()} == SCOPES
    assert {note.properties["type"] for note in facts()} == set(TYPES)
    tiers = {note.path.split("/")[2] for note in facts() if "/observations/" in note.path}
    assert tiers == set(TIERS.values())


def test_every_id_is_a_uuid7_of_the_time_of_creation_that_occurs_once() -> None:
    assert len({note.id for note in facts()}) == len(facts())
    for note in facts():
        assert UUID7.fullmatch(note.id), note.path
        seconds = int(note.id.replace("-", "")[:12], 16) // 1000
        made = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert note.properties.get("createdAt", made) == made, note.path


@all_of(facts(), by_path)
def test_type_folder_and_tier_agree(note: Note) -> None:
    assert home_folder(fact_of(note)) == note.path.rpartition("/")[0]
    assert note.properties.get("priority", 2) in TIERS


@all_of(facts(), by_path)
def test_properties_are_flat(note: Note) -> None:
    for key, value in note.properties.items():
        many = value if isinstance(value, list) else [value]
        for each in many:
            assert each is None or isinstance(each, (str, int, float, bool)), key


@all_of(facts(), by_path)
def test_links_in_properties_are_quoted(note: Note) -> None:
    for line in note.header.splitlines():
        for found in re.finditer(r"\[\[[^\[\]]*\]\]", line):
            before, after = line[: found.start()][-1:], line[found.end() :][:1]
            assert before in ("'", '"'), line
            assert before == after, line


@all_of(every_note(), by_path)
def test_every_link_and_embed_leads_somewhere(note: Note) -> None:
    for _, target in links(note):
        other = target_of(note, target)
        assert other is not None, target
        _, hash_, part = target.partition("#")
        if not hash_:
            continue
        body = without_code(other.body)
        if part.startswith("^"):
            assert part[1:] in BLOCK.findall(body), target
        else:
            assert part in HEADING.findall(body), target


def test_file_names_are_unique_whatever_the_case_and_in_nfc() -> None:
    stems = Counter(note.stem.casefold() for note in every_note())
    assert [stem for stem, times in stems.items() if times > 1] == []
    for note in every_note():
        assert note.path == unicodedata.normalize("NFC", note.path)
        assert not re.search(r'[#^|:\\<>"*?\[\]]|%%', note.path), note.path


def test_every_entity_named_is_a_note_and_most_are_named_by_many() -> None:
    entities = {other.stem for other in facts() if other.path.split("/")[1] in ENTITY_FOLDERS}
    named = Counter(name for note in facts() for name in note.names("entities"))
    assert sum(named[name] >= 3 for name in entities) >= 10
    for note in facts():
        assert {*note.names("entities"), *note.names("commitmentStakeholders")} <= entities
        held = note.properties.get("entities") or []
        assert isinstance(held, list)
        assert all(NEST.match(str(each)) for each in held), note.path


@all_of(facts(), by_path)
def test_links_and_related_facts_stay_inside_what_their_readers_see(note: Note) -> None:
    related = [by_id()[each] for each in note.ids("relatedFactIds")]
    assert note not in related
    if not note.path.startswith("private-"):
        for other in (*related, *(target_of(note, target) for _, target in links(note))):
            assert other is not None
            assert not other.path.startswith("private-"), other.path


def test_supersession_chains_are_linked_both_ways() -> None:
    newer = {each.id: str(each.properties.get("supersededById", "")) for each in facts()}
    newer = {old: new for old, new in newer.items() if new}
    older = {each.id: str(each.properties.get("supersedesId", "")) for each in facts()}
    assert newer == {old: new for new, old in older.items() if old}
    for old, new in newer.items():
        assert by_id()[old].properties["status"] == "superseded"
        dates = [str(by_id()[each].properties["createdAt"]) for each in (old, new)]
        assert dates == sorted(dates)
    heads = set(newer.values()) - set(newer)
    assert all(by_id()[head].properties["status"] == "active" for head in heads)
    assert any(newer.get(newer.get(each, "")) in newer for each in newer)


@all_of(written_by_the_engine(), by_path)
def test_the_engine_would_write_its_notes_as_they_are(note: Note) -> None:
    fact = fact_of(note)
    related = [by_id()[each] for each in fact.related_fact_ids]
    links = {other.id: f"[[{other.stem}|{other.title}]]" for other in related}
    made = split(note.path, render_note(fact, links=links))

    assert (list(made.properties.items()), made.body) == (list(note.properties.items()), note.body)
    assert made.header == note.header or note.title in SPELLED_BEFORE
    named, at = TYPES[fact.type].named, fact.created_at
    title, type_name = fact.title, fact.type
    assert f"{note.stem}.md" == file_name(
        title=title, type_name=type_name, created_at=at, fact_id=fact.id, named=named
    )


def test_every_note_gets_the_colour_of_its_own_type() -> None:
    graph = json.loads((ROOT / ".obsidian/graph.json").read_text("utf-8"))
    queries = [group["query"].removeprefix("path:") for group in graph["colorGroups"]]
    assert {row.folder for row in TYPES.values()} <= set(queries)
    assert queries.index("observations/critical") < queries.index("observations")
    colours = [group["color"]["rgb"] for group in graph["colorGroups"]]
    assert len(set(colours)) == len(colours)
    assert all(0 <= colour <= 0xFFFFFF for colour in colours)
    for note in facts():
        first = next(part for part in queries if part.casefold() in note.path.casefold())
        assert f"/{first}/" in f"/{note.path}", (note.path, first)


def test_the_settings_are_what_the_notes_need() -> None:
    settings = tomllib.loads((ROOT / ".meta/config.toml").read_text("utf-8"))
    assert UUID7.fullmatch(settings.pop("vault_id"))
    assert settings == {"default_scope": "team-core"}
    app = json.loads((ROOT / ".obsidian/app.json").read_text("utf-8"))
    assert app == {"alwaysUpdateLinks": True}
    types = json.loads((ROOT / ".obsidian/types.json").read_text("utf-8"))["types"]
    fits: dict[str, Callable[[object], object]] = {
        "number": lambda value: isinstance(value, (int, float)),
        "checkbox": lambda value: isinstance(value, bool),
        "date": lambda value: re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)),
    }
    for note in facts():
        for key, value in note.properties.items():
            assert fits.get(types.get(key), bool)(value) or types.get(key) not in fits, (
                note.path,
                key,
            )
