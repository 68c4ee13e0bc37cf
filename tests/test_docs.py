"""The docs say what the code does: generated parts, links, names and examples."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from vaultsync import errors
from vaultsync.api import configuration as config
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.cli import exit_codes as failure
from vaultsync.cli.main import cli
from vaultsync.settings import MachineSettings
from vaultsync.sync.changes import StoreChange, VaultChange
from vaultsync.sync.decision_table import ActionKind

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^(`{3,})([a-z]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _generate()


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _page(name: str) -> str:
    return _text(DOCS / name)


def _blocks(page: Path, language: str) -> list[str]:
    return [body for _, kind, body in FENCE.findall(_text(page)) if kind == language]


def python_blocks(page: Path) -> list[str]:
    """The examples in Python on a page."""
    return _blocks(page, "python")


def _prose(page: Path) -> str:
    """A page without its blocks and code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", _text(page)))


def _cells(text: str) -> set[str]:
    """The first cells of all tables."""
    return set(re.findall(r"^\| `?([^|`]+?)`? \|", text, re.MULTILINE))


def _anchors(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ +(.*?)\s*$", FENCE.sub("", _text(page)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _ids(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_generated_parts_are_those_of_this_code() -> None:
    stale = [_ids(page) for page in PAGES if generate.refreshed(_text(page)) != _text(page)]
    assert stale == [], "run make docs"


def test_every_part_is_used() -> None:
    used = {name for page in PAGES for _, name, _ in generate.PART.findall(_text(page))}
    assert used == set(generate.PARTS)


def test_check_names_a_stale_page_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = "<!-- generated: types -->\nold\n<!-- /generated -->\n"
    page = tmp_path / "README.md"
    page.write_text(stale)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert generate.main(["--check"]) == 1
    assert "README.md" in capsys.readouterr().out
    assert page.read_text() == stale
    assert generate.main([]) == 0
    assert "decision" in page.read_text()
    assert generate.main(["--check"]) == 0


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in PAGES:
        for target in LINK.findall(_prose(page)):
            if target.startswith(("https://", "http://")):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.is_file() or (anchor and anchor not in _anchors(file)):
                wrong.append((_ids(page), target))
    assert wrong == []


def test_named_files_of_the_repository_exist() -> None:
    folders = "vaultsync|tests|docs|golden|obsidian-plugin"
    text = "\n".join(map(_text, PAGES))
    paths = re.findall(rf"`((?:{folders})/[a-z_0-9./-]*(?:/|\.[a-z]+))`", text)
    modules = re.findall(r"python -m (tests[a-z_.]*[a-z])", text)
    files = [ROOT / path for path in [*paths, *(name.replace(".", "/") for name in modules)]]
    built = {ROOT / "vaultsync" / "obsidian"}
    missing = {file for file in files if not file.exists() and not file.with_suffix(".py").exists()}
    assert missing <= built


def test_every_page_is_reached_from_the_index() -> None:
    index = DOCS / "index.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve() for target in LINK.findall(_text(index))
    }
    assert set(PAGES) - {index} <= linked


def test_a_decision_is_named_and_listed_by_its_title() -> None:
    entry = re.compile(r"^(\d+\. \[.*\])\(decisions/(.*)\)$", re.MULTILINE)
    listed = dict(entry.findall(_page("index.md")))
    names = {}
    for page in sorted((DOCS / "decisions").glob("*.md")):
        number, title = _text(page).partition("\n")[0].removeprefix("# ").split(". ", 1)
        slug = re.sub(r"[^a-z0-9]+", "-", title.replace("'", "").lower()).strip("-")
        names[f"{number}. [{title}]"] = f"{int(number):04}-{slug}.md"
        assert page.name == names[f"{number}. [{title}]"]
    assert listed == names


def test_python_examples_compile() -> None:
    for page in PAGES:
        for example in python_blocks(page):
            compile(example, _ids(page), "exec")


def test_python_is_shown_where_people_begin() -> None:
    assert python_blocks(ROOT / "README.md")
    assert python_blocks(DOCS / "guides" / "quickstart.md")


def test_the_examples_run_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    for variable in ("VAULTSYNC_VAULT", "VAULTSYNC_AGENT"):
        monkeypatch.delenv(variable, raising=False)
    for page in ("README.md", "docs/guides/quickstart.md", "docs/reference/python.md"):
        for example in python_blocks(ROOT / page):
            exec(compile(example, page, "exec"), {})  # noqa: S102 - our own
    notes = [path.read_text() for path in (tmp_path / "Memory").rglob("*.md")]
    assert any("LanceDB is embedded: no server to run." in note for note in notes)
    assert any("The pier box has 2 GB of memory." in note for note in notes)


def _commands() -> dict[str, click.Command]:
    return {name: command for name, command, _ in generate.iter_commands(cli)}


def test_every_command_has_help_and_a_section() -> None:
    page = _page("reference/cli.md")
    for name, command in _commands().items():
        assert command.help, name
        assert f"[`{name}`](#{name.replace(' ', '-')})" in page
        assert f"\n## {name}\n" in page
        assert f"Usage: vaultsync {name}" in page


def _shown() -> Iterator[tuple[str, list[str]]]:
    """The commands of all console blocks, and those named in prose, with their page."""
    for page in PAGES:
        for block in _blocks(page, "console"):
            for line in block.splitlines():
                assert line.startswith("$ "), f"{page}: {line}"
                yield _ids(page), shlex.split(line[2:])
        for line in re.findall(r"`(vaultsync [a-z][^`]*)`", FENCE.sub("", _text(page))):
            yield _ids(page), shlex.split(line)


def test_commands_that_are_shown_exist_with_their_options() -> None:
    commands, seen = _commands(), 0
    for page, (program, *words) in _shown():
        if program != "vaultsync":
            continue
        seen += 1
        name = next((n for n in (" ".join(words[:2]), words[0]) if n in commands), words[0])
        assert name in commands, f"{page}: vaultsync {name}"
        known = {opt for param in commands[name].params for opt in param.opts}
        options = {word for word in words if word.startswith("--")}
        assert options <= known, f"{page}: {words}"
    assert seen


def test_targets_that_are_shown_exist() -> None:
    makefile = _text(ROOT / "Makefile")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    shown = {words[1] for _, words in _shown() if words[0] == "make"}
    for page in PAGES:
        shown |= set(re.findall(r"`make ([a-z-]+)`", _text(page)))
    assert shown
    assert shown <= targets


def test_every_exit_code_is_explained() -> None:
    codes = {
        str(value)
        for name, value in vars(failure).items()
        if name.isupper() and isinstance(value, int)
    }
    assert codes <= _cells(_page("reference/cli.md"))


def test_every_error_is_documented_with_its_words() -> None:
    page = _page("reference/errors.md")
    for each in generate.error_classes():
        assert f"\n### {each.__name__}\n" in page
        assert each.__doc__
    classes = {
        each.__name__
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.VaultsyncError)
    }
    assert classes == {each.__name__ for each in generate.error_classes()}


def test_the_file_of_settings_is_all_defaults(tmp_path: Path) -> None:
    (example,) = (
        text for text in _blocks(DOCS / "reference" / "settings.md", "toml") if "vault_id" in text
    )
    said = tomllib.loads(example)
    assert set(said) == set(MachineSettings.__struct_fields__)
    assert set(said) <= _cells(_page("reference/settings.md"))
    (tmp_path / ".meta").mkdir()
    (tmp_path / ".meta" / "config.toml").write_text(example)
    loaded = config.load_settings(tmp_path, state_dir=str(tmp_path / "state"))
    (tmp_path / ".meta" / "config.toml").write_text(f'vault_id = "{SystemClock().new_id()}"\n')
    bare = config.load_settings(tmp_path, state_dir=str(tmp_path / "state"))
    for name in set(said) - {"vault_id"}:
        assert getattr(loaded, name) == getattr(bare, name)


def test_every_variable_of_the_environment_is_documented() -> None:
    page = _cells(_page("reference/settings.md"))
    sources = "".join(_text(path) for path in (ROOT / "vaultsync").rglob("*.py"))
    names = set(re.findall(r'"(VAULTSYNC_[A-Z_]+|XDG_[A-Z_]+)"', sources))
    assert names
    assert names <= page


def test_every_change_and_action_is_explained() -> None:
    explained = _cells(_page("concepts/how-sync-works.md"))
    for kind in (VaultChange, StoreChange, ActionKind):
        assert {each.value for each in kind} <= explained


def test_the_architecture_names_files_that_exist() -> None:
    page = _page("concepts/architecture.md")
    named = set(re.findall(r"`([a-z]+/[a-z_0-9]*(?:\.py)?|[a-z]+\.py)`", page))
    package = ROOT / "vaultsync"
    missing = {
        name for name in named if not (package / name).exists() and not list(package.rglob(name))
    }
    assert not {name for name in missing if not (ROOT / name).exists()}


def test_the_architecture_names_functions_that_exist() -> None:
    page = _page("concepts/architecture.md")
    steps = re.findall(r"`([a-z_]+/[a-z_/]+\.py):([\w.]+)`", page)
    assert len(steps) > 40
    for file, name in steps:
        source = _text(ROOT / "vaultsync" / file)
        assert re.search(rf"(?:def|class) {name.rpartition('.')[2]}\b", source), f"{file}:{name}"


def test_every_module_opens_with_a_sentence() -> None:
    for path in (ROOT / "vaultsync").rglob("*.py"):
        assert ast.get_docstring(ast.parse(_text(path))), path


def test_prose_has_one_sentence_a_line_and_no_empty_words() -> None:
    for page in PAGES:
        prose = re.sub(r"<!-- generated.*?<!-- /generated -->", "", _text(page), flags=re.DOTALL)
        prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", prose))
        assert not re.findall(r"(?i)\b(?:simply|just|easily)\b", prose), page
        for line in prose.splitlines():
            if not re.match(r"\s*(?:\||[-*] |\d+\. |#|<|$)", line):
                assert not re.search(r"[a-z)][.!?] [A-Z]", line), (page, line)


def test_the_cluster_of_the_guide_has_three_nodes_of_the_clients_version() -> None:
    from ruamel.yaml import YAML

    folder = DOCS / "guides/qdrant"
    said = YAML(typ="safe", pure=True).load(folder / "compose.yaml")
    nodes: dict[str, dict[str, Any]] = said["services"]
    pinned = re.search(r"qdrant-client==(\d+\.\d+)", _text(ROOT / "constraints.txt"))
    assert pinned

    assert len(nodes) == 3
    first = next(iter(nodes))
    for name, node in nodes.items():
        assert f":-v{pinned[1]}." in node["image"]
        assert node["environment"]["QDRANT__CLUSTER__ENABLED"] == "true"
        assert node["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${")
        words = node["command"]
        assert words[words.index("--uri") + 1] == f"http://{name}:6335"
        assert ("--bootstrap" in words) == (name != first) == ("depends_on" in node)
        assert f"http://{first}:6335" in words
        assert all(port.startswith("127.0.0.1:") for port in node["ports"])
        (volume,) = node["volumes"]
        assert volume.split(":")[0] in said["volumes"]
    published = [port.split(":")[1] for node in nodes.values() for port in node["ports"]]
    assert len(published) == len(set(published))
