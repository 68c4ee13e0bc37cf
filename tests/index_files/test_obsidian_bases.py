"""Bases follow the documented form of Obsidian, and name properties that notes have."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from ruamel.yaml import YAML

from vaultsync.index_files.obsidian_bases import base_files
from vaultsync.model.schema import FIELDS_BY_KEY, OWN_FIELDS_BY_KEY, TYPES

FILES = base_files(TYPES, ("public", "team-core"))
FILE_PROPERTIES = {"file.name", "file.folder", "file.mtime", "file.path"}
FUNCTIONS = {"if", "now", "today", "date", "floor", "round", "toFixed", "endsWith", "inFolder"}
"""Those of https://help.obsidian.md/bases/functions that are used."""
_TEXT = re.compile(r'"[^"]*"')
_WORD = re.compile(r"[A-Za-z_][\w.]*")


@cache
def _loaded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(FILES[name])
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_base_has_the_documented_form(name: str) -> None:
    base = _loaded(name)
    assert name.endswith(".base")
    assert base.keys() <= {"filters", "formulas", "properties", "views"}
    assert {len(each) for each in base["properties"].values()} == {1}
    for view in base["views"]:
        assert view.keys() <= {"type", "name", "filters", "groupBy", "sort", "order"}
        assert view["type"] in {"table", "cards"}
        assert view["order"]
        assert len(set(view["order"])) == len(view["order"])
        assert next(iter(view.get("filters", {"and": 0}))) in {"and", "or"}
    names = [view["name"] for view in base["views"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", FILES)
def test_a_base_names_only_what_there_is(name: str) -> None:
    base = _loaded(name)
    formulas = {f"formula.{each}" for each in base["formulas"]}
    known = {*FIELDS_BY_KEY, *OWN_FIELDS_BY_KEY, *FILE_PROPERTIES, *formulas}
    shown = [x for view in base["views"] for x in view["order"]]
    shown += [view["groupBy"]["property"] for view in base["views"] if "groupBy" in view]
    shown += [each["property"] for view in base["views"] for each in view.get("sort", ())]
    assert {*shown, *base["properties"]} <= known
    said = [*base["formulas"].values()]
    for where in (base, *base["views"]):
        said += [x for each in where.get("filters", {}).values() for x in each]
    for text in said:
        words = {x for each in _WORD.findall(_TEXT.sub("", text)) for x in _parts(each)}
        assert words <= known | FUNCTIONS | {"file"}, (name, text)


def _parts(word: str) -> list[str]:
    """`file.path.endsWith` -> `file.path`, `endsWith`."""
    head, dot, last = word.rpartition(".")
    return [head, last] if dot and last in FUNCTIONS else [word]


def test_a_type_with_a_due_date_shows_what_is_overdue() -> None:
    bases = {name: _loaded(name) for name in FILES}
    names = [each["name"] for each in bases["Commitments.base"]["views"]]
    assert names[:2] == ["Due", "Overdue"]
    assert "Due" not in [each["name"] for each in bases["Decisions.base"]["views"]]


def test_there_is_one_for_each_type_and_scope_and_one_for_all() -> None:
    assert len(FILES) == 1 + len(TYPES) + 2
    assert "Scope team-core.base" in FILES
