"""Bases of Obsidian: a table and cards for all facts, for each type and for each scope.

The form of these files, and the functions in their filters and formulas, are documented:
https://help.obsidian.md/bases/syntax and https://help.obsidian.md/bases/functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from vaultsync.model.schema import OWN_FIELDS_BY_KEY, TYPES, ValueKind

Node: TypeAlias = "str | Sequence[Node] | Mapping[str, Node]"
ENDING = ".base"
_DAY = 86_400_000
"""Milliseconds, which is what two dates differ by."""
_CLOSED = ("done", "fulfilled", "completed", "cancelled")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.]*\Z")
_COLUMNS = ("file.name", "formula.tier", "status", "tags", "formula.age")
_IS_FACT = "id && createdAt && type"
_FORMULAS: Mapping[str, str] = {
    "tier": 'if(priority == 0, "critical", if(priority < 3, "notable", "background"))',
    "age": f"((now() - date(createdAt)) / {_DAY}).floor()",
}
_NAMES: Mapping[str, Node] = {
    "file.name": {"displayName": "Note"},
    "formula.tier": {"displayName": "Tier"},
    "formula.age": {"displayName": "Age in days"},
    "formula.half_lives": {"displayName": "Half-lives"},
}
_HALF_LIVES = "".join(f'if(type == "{name}", {row.half_life}, ' for name, row in TYPES.items())
_FORMULAS_OF_ALL: Mapping[str, Node] = {
    **_FORMULAS,
    "half_life": f"{_HALF_LIVES}1{')' * len(TYPES)}",
    "half_lives": "(formula.age / formula.half_life).toFixed(1)",
}
_CARDS: Mapping[str, Node] = {"type": "cards", "name": "Cards"}
_OPEN_NOTES: Mapping[str, Node] = {
    "type": "table",
    "name": "Open conflicts and proposals",
    "filters": {"or": ['file.path.endsWith(".conflict.md")', 'file.path.endsWith(".proposal.md")']},
    "order": ["file.name", "file.folder", "file.mtime"],
}
"""What waits for a person: conflicts and proposals are notes of their own."""


def base_files(types: Collection[str], scopes: Collection[str]) -> dict[str, str]:
    """Name of file -> text of the bases for the types and scopes of a vault."""
    files = {"Memory": _overview()}
    for name in sorted(types):
        files[TYPES[name].folder.capitalize()] = _of_type(name)
    for scope in sorted(scopes):
        files[f"Scope {scope}"] = _of_scope(scope)
    return {f"{name}{ENDING}": "".join(_lines(base)) for name, base in files.items()}


def _overview() -> Mapping[str, Node]:
    """All facts, and what waits for a person."""
    faded = [*_COLUMNS, "formula.half_lives"]
    return {
        "formulas": _FORMULAS_OF_ALL,
        "properties": {**_NAMES, "file.folder": {"displayName": "Folder"}},
        "views": [
            _table("Critical", [_IS_FACT, "priority == 0"], ["type", *_COLUMNS], by="type"),
            _table("Newest", [_IS_FACT], ["type", *_COLUMNS], sort="-createdAt"),
            _table("By type", [_IS_FACT], [*_COLUMNS, "file.folder"], by="type"),
            _table("Faded", [_IS_FACT, "formula.age > formula.half_life"], faded, by="type"),
            _OPEN_NOTES,
        ],
    }


def _of_type(name: str) -> Mapping[str, Node]:
    """The facts of a type, with its own fields, and what has faded or is due."""
    kind = TYPES[name]
    own = [each.key for each in kind.own if each.kind is not ValueKind.TEXT]
    fading = f"(formula.age / {kind.half_life}).toFixed(1)"
    formulas = {**_FORMULAS, "half_lives": fading}
    names: dict[str, Node] = dict(_NAMES)
    names |= {key: {"displayName": _display_name(key, name)} for key in own}
    columns = ["file.name", *own, *_COLUMNS[1:], "formula.half_lives"]
    views: list[Node] = [
        _table("Active", ['status == "active"'], columns),
        _table("By status", [], columns, by="status"),
        {**_CARDS, "order": [*dict.fromkeys([*columns[:4], "tags"])]},
        _table("Faded", [f"formula.age > {kind.half_life}"], columns),
    ]
    due = next((key for key in own if OWN_FIELDS_BY_KEY[key].kind is ValueKind.DATE), None)
    if due is not None:
        formulas["days_left"] = f"if({due}, ((date({due}) - today()) / {_DAY}).round())"
        names["formula.days_left"] = {"displayName": "Days left"}
        open_ = [f'{name}Status != "{word}"' for word in _CLOSED]
        left = ["file.name", "formula.days_left", *columns[1:]]
        views.insert(0, _table("Due", [due, *open_], left, sort=due))
        views.insert(1, _table("Overdue", [due, "formula.days_left < 0", *open_], left, sort=due))
    return {
        "filters": {"and": [f'type == "{name}"', "id"]},
        "formulas": formulas,
        "properties": names,
        "views": views,
    }


def _of_scope(scope: str) -> Mapping[str, Node]:
    return {
        "filters": {"and": [f'file.inFolder("{scope}")']},
        "formulas": _FORMULAS_OF_ALL,
        "properties": _NAMES,
        "views": [
            _table("By type", [_IS_FACT], [*_COLUMNS, "formula.half_lives"], by="type"),
            _table("Critical", [_IS_FACT, "priority == 0"], ["type", *_COLUMNS]),
            {**_CARDS, "filters": {"and": [_IS_FACT]}, "order": ["file.name", "type", "tags"]},
            _OPEN_NOTES,
        ],
    }


def _table(
    name: str, filters: Sequence[str], order: Sequence[str], *, by: str = "", sort: str = ""
) -> Mapping[str, Node]:
    """A table; `sort` is a property, with `-` before it for the greatest first."""
    view: dict[str, Node] = {"type": "table", "name": name}
    if filters:
        view["filters"] = {"and": filters}
    if by:
        view["groupBy"] = {"property": by, "direction": "ASC"}
    if sort:
        direction = "DESC" if sort.startswith("-") else "ASC"
        view["sort"] = [{"property": sort.removeprefix("-"), "direction": direction}]
    view["order"] = [each for each in order if each != by]
    return view


def _display_name(key: str, type_name: str) -> str:
    """`commitmentDueDate` -> `Due date`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key.removeprefix(type_name)).casefold()
    return words.strip().capitalize()


def _lines(node: Node, indent: str = "") -> Iterator[str]:
    """A map or a list as YAML, in block style."""
    if isinstance(node, str):
        yield f"{indent}{_scalar(node)}\n"
    elif isinstance(node, Mapping):
        for key, value in node.items():
            if isinstance(value, str):
                yield f"{indent}{_scalar(key)}: {_scalar(value)}\n"
            else:
                yield f"{indent}{_scalar(key)}:\n"
                yield from _lines(value, f"{indent}  ")
    else:
        for value in node:
            yield f"{indent}- {''.join(_lines(value, f'{indent}  '))[len(indent) + 2 :]}"


def _scalar(value: str) -> str:
    """A plain word, or a quoted text."""
    if _PLAIN.match(value):
        return value
    if '"' in value and "'" not in value:
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
