"""Links and the graph through the Python API, on real files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultsync.api.configuration import load_settings
from vaultsync.api.memory import Memory
from vaultsync.api.opening import init
from vaultsync.errors import ConfigError, InvalidFieldError, NotFoundError


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    init(str(root), state_dir=str(tmp_path / "state"))
    return root


@pytest.fixture
def memory(vault: Path, tmp_path: Path) -> Iterator[Memory]:
    settings = load_settings(vault, agent="indy", state_dir=str(tmp_path / "state"))
    with Memory(settings) as opened:
        opened.remember("-", title="Alice", type="person", scope="public")
        opened.remember("Tea with [[Al]].", title="Tea", scope="public")
        opened.remember("See ![[p.png]] and [[Tea]].", title="Cup", scope="public")
        opened.sync()
        yield opened


@pytest.mark.parametrize("form", ["json", "graphml", "canvas", "html"])
def test_the_graph_has_four_forms(memory: Memory, form: str) -> None:
    made = memory.graph_export(format=form)

    assert (made.format, made.nodes, made.links) == (form, 4, 2)
    assert "Alice" in made.text


def test_another_form_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidFieldError):
        memory.graph_export(format="dot")


def test_the_graph_is_counted_and_walked(memory: Memory) -> None:
    assert memory.graph_stats(hubs=1).nodes == 4
    assert [each.label for each in memory.graph_neighbors("Tea").neighbors] == ["Al", "Cup"]
    with pytest.raises(NotFoundError):
        memory.graph_neighbors("Nobody")


def test_links_are_checked_among_all_files_and_mended(memory: Memory, vault: Path) -> None:
    alice = next(each for each in memory.list().facts if each.title == "Alice")
    memory.update(alice.id, set={"aliases": ["Al"]})
    found = memory.links_check()
    assert [each.link for each in found.problems] == ["![[p.png]]", "[[Tea]]", "[[Al]]"]

    (vault / "media").mkdir()
    (vault / "media" / "p.png").write_bytes(b"x")
    found = memory.links_check(fix=True)

    assert [each.link for each in found.fixed] == ["[[Tea]]", "[[Al]]"]
    assert found.problems == ()
    tea = next(each for each in memory.list().facts if each.title == "Tea")
    assert tea.content == "Tea with [[Alice|Al]]."
    assert memory.verify().equal
    assert memory.sync().quiet


def test_obsidians_graph_gets_a_colour_for_each_type(memory: Memory, vault: Path) -> None:
    with pytest.raises(ConfigError, match="Obsidian"):
        memory.graph_colours()

    settings = vault / ".obsidian" / "graph.json"
    settings.parent.mkdir()
    settings.write_text('{"search": "x", "scale": 2}')
    assert memory.graph_colours().changed
    assert json.loads(settings.read_text())["search"] == "x"
    assert not memory.graph_colours().changed

    settings.write_text('{"search": ')
    with pytest.raises(ConfigError, match="not as Obsidian writes it"):
        memory.graph_colours()
    assert settings.read_text() == '{"search": '
