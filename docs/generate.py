"""Writes the generated parts of README.md and docs/, and the plugin's TypeScript types.

A part stands between `<!-- generated: NAME -->` and `<!-- /generated -->`, and is generated
from the current code. `--check` writes nothing and lists the stale files.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct, structs

import vaultsync
from vaultsync import errors
from vaultsync.api.modules import Modules
from vaultsync.api.repos import Repos
from vaultsync.cli.main import cli
from vaultsync.http_bridge.encoding import ERROR_STATUSES
from vaultsync.http_bridge.handlers import EVENTS_PATH, METRICS_PATH, ROUTES, answer_schemas
from vaultsync.mcp_server.prompts import PROMPTS
from vaultsync.mcp_server.resources import TEMPLATES
from vaultsync.mcp_server.server import TOOLS_BY_NAME
from vaultsync.mcp_server.tool import Tool, values_in_words, without_null
from vaultsync.model.dates import TimeSpan
from vaultsync.model.fact import make_fact
from vaultsync.model.schema import FIELDS, TYPES, Field, FieldOwner
from vaultsync.notes.conflict_note import (
    ConflictRecord,
    FieldConflict,
    conflict_id,
    render_conflict,
)
from vaultsync.notes.render import render_note
from vaultsync.notes.review_note import CONFLICT_SUFFIX, review_path
from vaultsync.privacy.error_json import Failure
from vaultsync.recall.asked_in_japanese import JAPANESE_ORDERS, JAPANESE_STATES, JAPANESE_TYPES
from vaultsync.recall.asked_words import ORDER_WORDS, STATE_WORDS, TYPE_NOUNS, TYPE_VERBS
from vaultsync.recall.query import QUERY_FILTERS, ParsedQuery, parse_query
from vaultsync.settings import MachineSettings
from vaultsync.sync import plausibility
from vaultsync.sync.changes import StoreChange, VaultChange
from vaultsync.sync.decision_table import DECISIONS_WITH_BASE, DECISIONS_WITHOUT_BASE, Decision
from vaultsync.sync.planning import path_for_new_note

ROOT = Path(__file__).resolve().parent.parent
PART = re.compile(
    r"(?P<open><!-- generated: (?P<name>[a-z-]+) -->\n).*?(?P<close><!-- /generated -->)", re.DOTALL
)


# ------------------------------------------------------------------------- markdown


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def code(text: str) -> str:
    """Text as code within a line."""
    return f"`{text}`"


def listed(words: Iterable[str]) -> str:
    """Words as code, with commas."""
    return ", ".join(map(code, words))


def fenced(text: str, language: str) -> str:
    """Text as a code block, in a fence that is longer than any fence in it."""
    longest = max([2, *(len(run) for run in re.findall("`{3,}", text))])
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


# -------------------------------------------------------------------- decision table


def matrix() -> str:
    """The action for each pair of changes, as a matrix."""
    stores = list(dict.fromkeys(store for _, store in DECISIONS_WITH_BASE))
    vaults = list(dict.fromkeys(vault for vault, _ in DECISIONS_WITH_BASE))
    return table(
        ["vault ↓ store →", *(f"**{store.value}**" for store in stores)],
        (
            [
                f"**{vault.value}**",
                *(DECISIONS_WITH_BASE[vault, store].do.value for store in stores),
            ]
            for vault in vaults
        ),
    )


def rows(of: Mapping[tuple[VaultChange, StoreChange], Decision]) -> str:
    """The rows of the decision table with their reasons; equal decisions share a row."""
    grouped: dict[tuple[VaultChange, Decision], list[str]] = {}
    for (vault, store), row in of.items():
        grouped.setdefault((vault, row), []).append(store.value)
    return table(
        ["vault", "store", "action", "reason"],
        (
            [vault.value, ", ".join(stores), row.do.value, row.reason]
            for (vault, row), stores in grouped.items()
        ),
    )


def guard() -> str:
    """The limits of the guard."""
    deletes, rewrites = plausibility.MAX_DELETES, plausibility.MAX_REWRITES
    some, most = plausibility.MIN_OLDER_NOTES - 1, plausibility.MIN_OLDER_SHARE
    facts = "of the facts"
    rows: Sequence[tuple[str, int | str, float | None, str]] = (
        ("delete facts or notes", deletes, plausibility.MAX_DELETE_SHARE, facts),
        ("restore facts that the store lost", deletes, plausibility.MAX_DELETE_SHARE, facts),
        (
            "rewrite notes for reasons other than writes by agents",
            *(rewrites, plausibility.MAX_REWRITE_SHARE, facts),
        ),
        ("treat former texts of notes as edits", some, most, "of the edited notes"),
        ("follow a vault with the summary of an earlier run", "0", None, ""),
        ("follow a store that has lost what was seen in it", "0", None, ""),
        ("rebuild a side that has unsynced changes", "0", None, ""),
        ("rebuild a side from an older copy of the other", "0", None, ""),
    )
    return table(
        ["a run is stopped if it would …", "more than", "and more than"],
        (
            [text, str(count), "" if share is None else f"{share:.0%} {what}"]
            for text, count, share, what in rows
        ),
    )


# ------------------------------------------------------------------ types and fields


def types() -> str:
    """The table of types."""
    return table(
        ["type", "folder", "file name", "half-life in days", "type-specific fields"],
        (
            [
                code(row.name),
                code(f"{row.folder}/"),
                "the title" if row.named else "the date and title",
                str(row.half_life),
                listed(own.key for own in row.own) or "none",
            ]
            for row in TYPES.values()
        ),
    )


def fields() -> str:
    """The table of fields, and the fields of the types."""
    own = {each.key: each for row in TYPES.values() for each in row.own}
    return "\n".join(
        f"### {owner.value.capitalize()}\n\n" + _fields(found)
        for owner in FieldOwner
        if (found := [each for each in (*FIELDS, *own.values()) if each.owner is owner])
    )


def _fields(found: Iterable[Field]) -> str:
    return table(
        ["field", "values", "merge rule", "meaning"],
        ([code(x.key), x.kind.value, x.rule.value, x.description] for x in found),
    )


# -------------------------------------------------------------------------- pictures

_FACT = make_fact(
    {
        "id": "019c5c7e-8d20-7b3a-9f41-3c5d0e8a7b62",
        "type": "decision",
        "title": "Use LanceDB",
        "context": "the storage review of February",
        "content": "LanceDB is embedded: there is no server to run.",
        "priority": 0,
        "tags": ["architecture"],
        "entities": ["LanceDB"],
        "decisionOutcome": "implemented",
        "scope": "team-core",
        "createdAt": "2026-02-14T13:45:00Z",
        "agentId": "indy",
    }
)
_PATH = path_for_new_note(_FACT, set())


def note() -> str:
    """A note as it is written."""
    return f"`{_PATH}`:\n\n" + fenced(render_note(_FACT, links={}).decode(), "markdown")


def conflict() -> str:
    """A conflict note as it is written."""
    both = (
        FieldConflict(
            "content",
            _FACT.content,
            "LanceDB is embedded: nothing to install, nothing to run.",
            "LanceDB is embedded: no server, and it keeps its data in files.",
        ),
    )
    shown = ConflictRecord(
        id=conflict_id(_FACT.id, both),
        fact_id=_FACT.id,
        path=_PATH,
        conflict_path=review_path(_PATH, CONFLICT_SUFFIX),
        fields=both,
        actor="indy",
        at="2026-02-15T09:00:00Z",
        run="",
        title=_FACT.title,
    )
    where = f"`{shown.conflict_path}`:\n\n"
    return where + fenced(render_conflict(shown), "markdown")


# --------------------------------------------------------------------------- packages


def layers() -> list[str]:
    """The packages from the bottom up, as the import contract lists them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    rows = [re.findall(r"\w+", row) for row in reversed(contract["layers"])]
    return [name for row in rows for name in row]


def packages() -> str:
    """Every module with the sentence that it opens with, package by package."""
    return "\n".join(_package(ROOT / "vaultsync" / name) for name in layers())


def _package(folder: Path) -> str:
    if not folder.is_dir():
        file = folder.with_suffix(".py")
        return table([f"**{file.name}**", _opening(file)], [])
    files = sorted(each for each in folder.rglob("*.py") if each.parent / "__init__.py" != each)
    inner = sorted(each.parent for each in folder.glob("*/__init__.py"))
    head = [f"**{folder.name}/**", _opening(folder / "__init__.py")]
    rows = [[code(f"{each.name}/"), _opening(each / "__init__.py")] for each in inner]
    rows += [[code(each.relative_to(folder).as_posix()), _opening(each)] for each in files]
    return table(head, rows)


def _opening(file: Path) -> str:
    """The first sentence of a module."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(said.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) ", paragraph, maxsplit=1)[0]


# ---------------------------------------------------------------------------- bridge


def routes() -> str:
    """The routes of the bridge, with their parameters and responses."""
    stream = [
        "GET",
        code(EVENTS_PATH),
        "`app`",
        "a stream",
        "Stream events until the client or the bridge closes the connection.",
    ]
    metrics = [
        "GET",
        code(METRICS_PATH),
        "",
        "text",
        "Get the counters in the text format of Prometheus.",
    ]
    found = [
        [
            row.method,
            code(row.path),
            listed(row.takes.__struct_fields__) or "",
            listed(_keys(row.answers)) or "`{}`",
            row.summary,
        ]
        for row in ROUTES
    ]
    return table(
        ["method", "route", "parameters", "response", "description"], [*found, metrics, stream]
    )


def _keys(answer: type) -> list[str]:
    """The keys of an answer: a struct, or typed keys."""
    return list(msgspec.json.schema(answer)["$defs"][answer.__name__]["properties"])


def statuses() -> str:
    """The HTTP statuses, and the errors that each one reports."""
    by_status: dict[HTTPStatus, list[str]] = {}
    for kind, status in ERROR_STATUSES:
        by_status.setdefault(status, []).append(kind.__name__)
    return table(
        ["status", "errors"],
        [
            *([str(status.value), listed(kinds)] for status, kinds in by_status.items()),
            ["500", "all other errors"],
            ["401 · 429", "a missing or wrong token · too many wrong tokens"],
            ["403", "a Host or Origin that is not allowed"],
            ["405 · 413 · 415", "a wrong method · a body that is too large · not JSON"],
        ],
    )


# ---------------------------------------------------------------------------- errors


def error_classes() -> list[type[errors.VaultsyncError]]:
    """Every error, each below its base class, in the order of their definition."""
    found: list[type[errors.VaultsyncError]] = []

    def visit(of: type[errors.VaultsyncError]) -> None:
        found.append(of)
        for each in of.__subclasses__():
            if each.__module__ == errors.__name__:
                visit(each)

    visit(errors.VaultsyncError)
    return found


def error_reference() -> str:
    """A section for each error."""
    return "\n".join(map(_error, error_classes()))


def _error(of: type[errors.VaultsyncError]) -> str:
    said = [f"### {of.__name__}", "", inspect.cleandoc(of.__doc__ or ""), ""]
    above = of.__bases__[0].__name__
    if of is not errors.VaultsyncError:
        said += [f"Subclass of [`{above}`](#{above.lower()}).", ""]
    example = _example(of)
    if example is not None:
        hint = f"\nhint: {example.hint}" if example.hint else ""
        said += [fenced(f"{example.message}{hint}", "text")]
    return "\n".join(said).rstrip() + "\n"


def _example(of: type[errors.VaultsyncError]) -> errors.VaultsyncError | None:
    """An example of the error; None for a class whose caller passes the message."""
    wanted = list(inspect.signature(of).parameters.values())
    if "message" in (each.name for each in wanted):
        return None
    given: list[object] = []
    numbers = iter((7, 5))
    for each in wanted:
        if each.default is inspect.Parameter.empty:
            word, kind = each.name.upper(), str(each.annotation).partition("[")[0]
            words = (word, "…")
            example = {"float": 5.0, "tuple": words, "Sequence": words}.get(kind, word)
            given.append(next(numbers) if kind == "int" else example)
    make: Callable[..., errors.VaultsyncError] = of
    return make(*given)


# ---------------------------------------------------------------------------- settings


def settings() -> str:
    """The file of settings with every default."""
    example = MachineSettings(vault_id="019c5c7e-8d20-7b3a-9f41-3c5d0e8a7b62")
    return fenced("\n".join(_settings(structs.asdict(example))), "toml")


def _settings(table: Mapping[str, object], name: str = "") -> Iterator[str]:
    """The lines of a table, then its subtables; settings without a default are left out."""
    if name:
        yield from ("", f"[{name}]")
    below = {}
    for key, value in table.items():
        if isinstance(value, Struct):
            below[key] = structs.asdict(value)
        elif isinstance(value, Mapping):
            below[key] = dict(value)
        elif value is not None:
            yield f"{key} = {json.dumps(value)}"
    for key, each in below.items():
        yield from _settings(each, f"{name}.{key}" if name else key)


# ------------------------------------------------------------------------ command line


def iter_commands(
    group: click.Group, above: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command by its full name, with its click context."""
    context = above or _context(group, "vaultsync", None)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        within = _context(command, name, context)
        yield within.command_path.partition(" ")[2], command, within
        if isinstance(command, click.Group):
            yield from iter_commands(command, within)


def _context(command: click.Command, name: str, above: click.Context | None) -> click.Context:
    return click.Context(
        command, info_name=name, parent=above, **{**command.context_settings, "terminal_width": 80}
    )


def commands() -> str:
    """All commands: a table, then the help of each."""
    found = list(iter_commands(cli))
    links = table(
        ["command", "description"],
        (
            [f"[`{name}`](#{name.replace(' ', '-')})", each.get_short_help_str(limit=100)]
            for name, each, _ in found
        ),
    )
    helps = (
        f"## {name}\n\n{fenced(each.get_help(context), 'text')}" for name, each, context in found
    )
    return "\n".join([links, *helps])


# -------------------------------------------------------------------------------- MCP


def mcp_tools() -> str:
    """Every tool: its description, arguments and result."""
    said = [
        table(
            ["tool", "description", "makes changes"],
            (
                [f"[`{each.name}`](#{each.name})", each.title, _changes(each)]
                for each in TOOLS_BY_NAME.values()
            ),
        )
    ]
    for each in TOOLS_BY_NAME.values():
        said += [f"### {each.name}\n", f"{each.description}\n"]
        taken = each.input_schema
        if taken["properties"]:
            said.append(
                table(
                    ["argument", "values", "default", "description"],
                    (_argument(key, taken, each) for key in taken["properties"]),
                )
            )
        else:
            said.append("No arguments.\n")
        said.append(f"The result has {listed(each.output_schema['properties'])}.\n")
    return "\n".join(said)


def _changes(tool: Tool) -> str:
    if tool.reads:
        return "no"
    return "yes, and may delete or overwrite" if tool.destructive else "yes"


def _argument(key: str, schema: Mapping[str, Any], tool: Tool) -> list[str]:
    said = schema["properties"][key]
    default = said.get("default")
    shown = "" if default is None else code(json.dumps(default))
    if key in schema.get("required", []):
        shown = "required"
    note = said.get("description", "") + " Not listed." * (key in tool.unlisted)
    return [code(key), values_in_words(without_null(said), code), shown, note]


def mcp_resources() -> str:
    """The URI templates of resources."""
    return table(
        ["URI", "content"], ([code(each.uriTemplate), each.description or ""] for each in TEMPLATES)
    )


def mcp_prompts() -> str:
    """The prompts."""
    return table(
        ["prompt", "argument", "description"],
        ([code(p.name), code(p.argument), p.description] for p in PROMPTS.values()),
    )


# ------------------------------------------------------------------------ Python API

FUNCTIONS = ("init", "open")
WIDTH = 88
"""Characters; a longer signature has a line for each parameter."""
VALUES: Sequence[type] = [
    each
    for name in vaultsync.__all__
    if inspect.isclass(each := getattr(vaultsync, name))
    if each not in (vaultsync.Memory, vaultsync.VaultsyncError)
]
"""What methods of `Memory` return, in alphabetical order."""


def python_functions() -> str:
    """The functions of the package."""
    return "\n".join(_callable(name, getattr(vaultsync, name)) for name in FUNCTIONS)


def python_memory() -> str:
    """The methods of `Memory` in alphabetical order."""
    names = [name for name in dir(vaultsync.Memory) if not name.startswith("_")]
    return "\n".join(
        _callable(name, getattr(vaultsync.Memory, name))
        for name in names
        if inspect.isfunction(getattr(vaultsync.Memory, name))
    )


class _Verbatim(str):
    """A text that is its own `repr()`."""

    __slots__ = ()
    __repr__ = str.__str__


REPOS_METHODS = (
    "identity",
    "upsert_convention",
    "upsert_decision",
    "add_note",
    "append_summary",
    "get_repo_memory",
    "context",
    "map",
    "instructions",
    "promote",
    "copy",
)
MODULES_METHODS = ("write", "read", "sync", "status", "index")


def python_repos() -> str:
    """The methods of `Memory.repos` for callers."""
    return "\n".join(_callable(each, getattr(Repos, each), of="repos.") for each in REPOS_METHODS)


def python_modules() -> str:
    """The methods of `Memory.modules` for callers."""
    return "\n".join(
        _callable(each, getattr(Modules, each), of="modules.") for each in MODULES_METHODS
    )


def _callable(name: str, function: Callable[..., object], of: str = "") -> str:
    signature = inspect.signature(function)
    given = [
        each.replace(default=_Verbatim(json.dumps(each.default)))
        if isinstance(each.default, str)
        else each
        for key, each in signature.parameters.items()
        if key != "self"
    ]
    call = f"def {name}{signature.replace(parameters=given)}: ...".replace("'", "")
    if len(call) > WIDTH:
        before, _, after = call.rpartition(") -> ")
        first, _, inner = before.partition("(")
        call = f"{first}(\n    {', '.join(inner.split(', '))},\n) -> {after}"
        call = re.sub(r", (?=\*, |\w+: )", ",\n    ", call).replace("*, ", "*,\n    ")
    described = _described(inspect.getdoc(function) or "")
    return f"### `{of}{name}`\n\n{fenced(call, 'py')}\n{described}\n"


def _described(text: str) -> str:
    """A docstring as markdown: the sections of Google's style become lists."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        head = re.fullmatch(r"(Args|Raises|Returns|Yields|Example|Examples):(.*)", line)
        if head:
            inside = head[1] in ("Args", "Raises") and not head[2]
            title = {"Args": "Arguments", "Raises": "Errors"}.get(head[1], head[1])
            lines += ["", f"**{title}**{head[2]}", ""] if head[2] else ["", f"**{title}**", ""]
        elif inside and (item := re.match(r" {4}([\w*][\w, *]*): (.*)", line)):
            lines.append(f"- {listed(item[1].split(', '))}: {item[2]}")
        elif inside and (names := re.fullmatch(r" {4}(\w+Error(?:, \w+Error)*)\.", line)):
            lines.append(f"- {listed(names[1].split(', '))}.")
        elif inside and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            inside = inside and not line
            lines.append(line.removeprefix("    ") if not inside else line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def python_values() -> str:
    """What methods return: every public field, its type and its description."""
    return "\n".join(map(_value, VALUES))


def _value(of: type) -> str:
    opening = " ".join((inspect.getdoc(of) or "").partition("\n\n")[0].split())
    rows = [
        [code(name), code(kind), says]
        for base in reversed(of.__mro__)
        if base.__module__.startswith("vaultsync.")
        for name, kind, says in _documented(base)
    ]
    return f"### `{of.__name__}`\n\n{opening}\n\n{table(['field', 'type', 'description'], rows)}"


def _documented(of: type) -> Iterator[tuple[str, str, str]]:
    """The fields and properties of a class, each with its docstring."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(of)))
    body = next(each for each in tree.body if isinstance(each, ast.ClassDef)).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            says = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                says = str(after.value.value)
            name, kind = node.target.id, ast.unparse(node.annotation)
        elif isinstance(node, ast.FunctionDef) and _is_property(node):
            says = ast.get_docstring(node) or ""
            name, kind = node.name, ast.unparse(node.returns) if node.returns else ""
        else:
            continue
        if not name.startswith("_") and "ClassVar" not in kind:
            yield name, kind.replace(" | ", " or "), " ".join(says.partition("\n\n")[0].split())


def _is_property(node: ast.FunctionDef) -> bool:
    found = {ast.unparse(each) for each in node.decorator_list}
    return bool(found & {"property", "cached_property"})


# ---------------------------------------------------------------------------- filters

_ASKED_ON = date(2026, 6, 15)
"""The day on which the example questions are asked, a Monday."""
_FILTER_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "type": ("type:decision", "type:nonsense"),
    "tag": ("tag:ops, #ops", ""),
    "tier": ("tier:critical", "tier:urgent"),
    "theme": ("theme:harbour", ""),
    "folder": ("folder:How-tos", ""),
    "since": ("since:2026-03", "since:banana"),
    "until": ('until:"last week"', "until:banana"),
    "after": ("after:2026-03-01", "after:banana"),
    "before": ("before:yesterday", "before:banana"),
}
"""Filter -> examples of valid and invalid values."""
_QUESTIONS = (
    ("English", "What decisions did we make last week?"),
    ("German", "Welche Entscheidungen haben wir letzte Woche getroffen?"),
    ("French", "Quelles décisions avons-nous prises la semaine dernière ?"),
    ("Spanish", "¿Qué decisiones tomamos la semana pasada?"),
    ("Japanese", "先週の決定は？"),
    ("English", "Which promises are still open?"),
    ("German", "Welche Zusagen sind noch offen?"),
    ("French", "Quelles promesses sont encore ouvertes ?"),
    ("Spanish", "¿Qué promesas siguen pendientes?"),
    ("Japanese", "未完了のタスクは？"),
    ("English", "What is our latest decision about deposits?"),
    ("German", "Was ist die neueste Entscheidung zu Anzahlungen?"),
    ("French", "Quelle est la décision la plus récente sur les acomptes ?"),
    ("Spanish", "¿Cuál es la decisión más reciente sobre los depósitos?"),
    ("Japanese", "最新の決定は？"),
)
_JAPANESE_WORDS = {**JAPANESE_TYPES, **JAPANESE_STATES, **JAPANESE_ORDERS}


def _parsed(question: str) -> ParsedQuery:
    return parse_query(question, today=_ASKED_ON)


def filter_table() -> str:
    """The filters of a question, with examples of valid and refused values."""
    found = []
    for name, takes in QUERY_FILTERS.items():
        example, refused = _FILTER_EXAMPLES[name]
        for each in example.split(", "):
            if not _parsed(each).filters.has_any:
                raise SystemExit(f"docs: {each} is no filter")
        found.append([code(f"{name}:"), takes, listed(example.split(", ")), _refusal(refused)])
    return table(["filter", "values", "examples", "refused"], found)


def _refusal(question: str) -> str:
    if not question:
        return "nothing"
    try:
        _parsed(question)
    except errors.InvalidFieldError:
        return code(question)
    raise SystemExit(f"docs: {question} is not refused")


def filter_errors() -> str:
    """What a refused filter answers."""
    texts = []
    for question in ("type:nonsense", "since:banana"):
        try:
            _parsed(question)
        except errors.InvalidFieldError as error:
            texts.append(f"error: {error.message}\n\nhint: {error.hint}")
    return fenced("\n\n".join(texts), "text")


def asked_words() -> str:
    """The words of a question that name a type, a state or an order."""
    named = [
        *((f"type {code(name)}", name, words) for name, words in TYPE_NOUNS.items()),
        *((f"type {code(name)}, by a verb", "", words) for name, words in TYPE_VERBS.items()),
        *((f"state {code(name)}", name, words) for name, words in STATE_WORDS.items()),
        *((f"order {code(name)}", name, words) for name, words in ORDER_WORDS.items()),
    ]
    return table(
        ["asks for", "English, German, French and Spanish words", "Japanese words"],
        [
            [what, ", ".join(words.split()), ", ".join(_JAPANESE_WORDS.get(name, "").split("|"))]
            for what, name, words in named
        ],
    )


def asked_examples() -> str:
    """Questions in five languages, and what each one asks for."""
    return table(
        ["", "question", "asks for"],
        [[language, f"*{question}*", _understood(question)] for language, question in _QUESTIONS],
    )


def _understood(question: str) -> str:
    found = _parsed(question)
    span = found.hinted_span or TimeSpan()
    parts = [
        " or ".join(code(f"type:{each}") for each in sorted(found.asked.types)),
        found.asked.state,
        found.asked.order and f"{found.asked.order} first",
        span.since and f"from {code(span.since)}",
        span.until and f"before {code(span.until)}",
        "a set" if found.is_set else f"about {listed(found.asked.topic)}",
    ]
    return ", ".join(filter(None, parts))


# ------------------------------------------------------------------------------ parts

PARTS: Mapping[str, Callable[[], str]] = {
    "asked-examples": asked_examples,
    "asked-words": asked_words,
    "commands": commands,
    "conflict": conflict,
    "decision-matrix": matrix,
    "decisions-known": lambda: rows(DECISIONS_WITH_BASE),
    "decisions-unknown": lambda: rows(DECISIONS_WITHOUT_BASE),
    "errors": error_reference,
    "fields": fields,
    "filter-errors": filter_errors,
    "filters": filter_table,
    "guard": guard,
    "packages": packages,
    "mcp-prompts": mcp_prompts,
    "mcp-resources": mcp_resources,
    "mcp-tools": mcp_tools,
    "note": note,
    "python-functions": python_functions,
    "python-memory": python_memory,
    "python-modules": python_modules,
    "python-repos": python_repos,
    "python-values": python_values,
    "routes": routes,
    "settings": settings,
    "statuses": statuses,
    "types": types,
}


def refreshed(text: str) -> str:
    """A page with its parts generated again.

    Raises:
        KeyError: it names an unknown part.
    """

    def part(found: re.Match[str]) -> str:
        made = PARTS[found["name"]]().rstrip()
        return f"{found['open']}\n{made}\n\n{found['close']}"

    return PART.sub(part, text)


def pages() -> list[Path]:
    """All pages."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


# --------------------------------------------------------- TypeScript types of the plugin

ANSWERS = "obsidian-plugin/src/bridge-answers.ts"
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def plugin_types() -> str:
    """The types of the bridge's responses in TypeScript."""
    schemas = answer_schemas([Failure, *(row.answers for row in ROUTES)], "{name}")
    blocks = [
        "/** The responses of the bridge. Generated from its routes by `make docs`; do not edit. */"
    ]
    for name, schema in schemas.items():
        if not schema["properties"]:
            continue
        required = schema.get("required", [])
        lines = [
            f"\t{key}{'' if key in required else '?'}: {_typed(each)};"
            for key, each in schema["properties"].items()
        ]
        says = f"/** {schema['description']} */\n" if "description" in schema else ""
        blocks.append(f"{says}export interface {name} {{\n{chr(10).join(lines)}\n}}")
    return "\n\n".join(blocks) + "\n"


def _typed(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as a TypeScript type."""
    if "$ref" in schema:
        return str(schema["$ref"])
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_typed(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"Array<{_typed(schema.get('items', {}))}>"
    if schema.get("type") == "object":
        return f"Record<string, {_typed(schema.get('additionalProperties', {}))}>"
    return _PLAIN.get(schema.get("type", ""), "unknown")


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or list the stale ones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(arguments).check
    stale = []
    for page in [*pages(), ROOT / ANSWERS]:
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        fresh = plugin_types() if page == ROOT / ANSWERS else refreshed(text)
        if fresh != text:
            stale.append(page.relative_to(ROOT).as_posix())
            if not check:
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(fresh, encoding="utf-8")
    for name in stale:
        print(f"docs: {name} {'is stale; run make docs' if check else 'was rewritten'}")
    if not stale:
        print("docs: all generated parts are up to date")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
