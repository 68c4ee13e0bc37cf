"""The commands about links and the graph, before a memory that answers as a test says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result
from msgspec import structs

from tests.surfaces import command_line
from tests.surfaces.command_line import FakeMemory, one_object
from vaultsync.api.graphing import GraphColours, GraphExport
from vaultsync.cli import graph_commands as graph
from vaultsync.errors import ConfigError, NotFoundError
from vaultsync.graph.model import build_graph
from vaultsync.graph.service import neighborhood
from vaultsync.graph.stats import graph_stats
from vaultsync.model.fact import make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.operations.check_links import LinkProblem, LinkReport

ALICE = make_fact(
    {
        "id": "0193f6c2-0000-7000-8000-000000000001",
        "type": "person",
        "title": "Alice",
        "reports_to": ["[[Bob]]"],
    }
).evolve(path=VaultPath("public/people/Alice.md"))
TEA = make_fact(
    {"id": "0193f6c2-0000-7000-8000-000000000002", "title": "Tea", "content": "with [[Alice]]"}
).evolve(path=VaultPath("public/notes/Tea.md"))
LONE = make_fact({"id": "0193f6c2-0000-7000-8000-000000000003", "title": "Lone"})
GRAPH = build_graph([ALICE, TEA, LONE])
PROBLEM = LinkProblem(
    VaultPath("public/notes/Tea.md"),
    7,
    "[[Al]]",
    "wiki",
    None,
    "it is an alias of public/people/Alice.md; links follow file names",
    (VaultPath("public/people/Alice.md"),),
    "[[Alice|Al]]",
)
FINE = LinkReport(notes=2, links={"wiki": {"name": 3}})
ANSWERS: dict[str, Any] = {
    "graph_export": GraphExport("text\n", "json", 3, 2),
    "graph_stats": graph_stats(GRAPH),
    "graph_neighbors": neighborhood(GRAPH, "Alice", 2),
    "graph_colours": GraphColours("/v/.obsidian/graph.json", changed=True),
    "links_check": FINE,
}


def fake(**answers: object) -> FakeMemory:
    return FakeMemory(**{**ANSWERS, **answers})


def run(*words: str, memory: FakeMemory | None = None) -> Result:
    return command_line.run(*words, memory=memory or fake())


# ------------------------------------------------------------------------- export


@pytest.mark.parametrize(
    ("words", "form"),
    [
        (["g.json"], "json"),
        (["g.HTML"], "html"),
        (["g.canvas"], "canvas"),
        (["g"], "json"),
        (["g.json", "--format", "graphml"], "graphml"),
        (["g.xml", "--format", "graphml"], "graphml"),
    ],
)
def test_a_graph_is_exported_in_the_form_of_its_file(
    tmp_path: Path, words: list[str], form: str
) -> None:
    memory = fake()
    file = tmp_path / words[0]

    result = run("graph", "export", str(file), *words[1:], memory=memory)

    assert result.exit_code == 0, result.output
    assert file.read_text() == "text\n"
    assert memory.call("graph_export")[1]["format"] == form
    assert f"3 nodes, 2 links written to {file} as json" in result.stdout


def test_an_unknown_file_extension_is_refused(tmp_path: Path) -> None:
    memory = fake()
    file = tmp_path / "g.xyz"

    result = run("graph", "export", str(file), memory=memory)

    assert result.exit_code == 2
    assert "g.xyz" in result.output
    assert "--format" in result.output
    assert not file.exists()
    assert memory.calls == []


def test_a_part_of_the_graph_is_exported(tmp_path: Path) -> None:
    memory = fake()

    run(
        "graph",
        "export",
        str(tmp_path / "g"),
        "--around",
        "Alice",
        "--depth",
        "2",
        "--scope",
        "public",
        memory=memory,
    )

    assert memory.call("graph_export")[1] == {
        "format": "json",
        "scope": "public",
        "around": "Alice",
        "depth": 2,
    }


def test_a_graph_is_never_written_over_the_settings_of_obsidian(tmp_path: Path) -> None:
    for name in (".meta/config.toml", ".obsidian/graph.json"):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text("{}", encoding="utf-8")

    result = run("graph", "export", str(file))

    assert result.exit_code == 2
    assert "hidden folder" in result.stderr
    assert file.read_text(encoding="utf-8") == "{}"


def test_an_export_to_stdout_is_the_graph_alone() -> None:
    result = run("graph", "export", "-")

    assert result.stdout == "text\n"
    assert "3 nodes" in result.stderr


def test_an_export_as_json_says_what_was_written(tmp_path: Path) -> None:
    file = str(tmp_path / "g.html")

    assert one_object(run("graph", "export", file, "--json")) == {
        "file": file,
        "format": "json",
        "nodes": 3,
        "links": 2,
    }
    assert run("graph", "export", file, "--quiet").output == ""


def test_stdout_cannot_be_both() -> None:
    assert run("graph", "export", "-", "--json").exit_code == 2


# -------------------------------------------------------------------------- stats


def test_stats_as_json_are_complete() -> None:
    said = one_object(run("graph", "stats", "--json"))

    assert said["nodes"] == 4
    assert said["links"] == 2
    assert said["components"] == [3]
    assert said["hubs"][0]["label"] == "Bob"
    assert said["hubs"][1] == {
        "id": ALICE.id,
        "label": "Alice",
        "type": "person",
        "path": ALICE.path,
        "rank": said["hubs"][1]["rank"],
        "degree": 2,
    }
    assert [each["label"] for each in said["orphans"]] == ["Lone"]


def test_stats_are_short_as_text() -> None:
    result = run("graph", "stats", "--hubs", "2")

    assert "nodes       4" in result.stdout
    assert "components  1, of 3 nodes\n" in result.stdout
    assert "1 relation" in result.stdout
    assert "\tLone" not in result.stdout.splitlines()[0]
    assert "Lone\tnote\t" in result.stdout


def test_long_lists_are_cut() -> None:
    many = build_graph(LONE.evolve(id=f"{n:02}") for n in range(30))

    result = run("graph", "stats", memory=fake(graph_stats=graph_stats(many)))

    assert result.stdout.count("Lone\tnote") == 20
    assert "10 more" in result.stderr


def test_an_empty_graph_has_stats() -> None:
    empty = graph_stats(build_graph([]))

    result = run("graph", "stats", memory=fake(graph_stats=empty))

    assert "node types  none" in result.stdout
    assert "components  0\n" in result.stdout


# ---------------------------------------------------------------------- neighbors


def test_neighbors_are_listed_with_their_links() -> None:
    result = run("graph", "neighbors", "Alice", "--depth", "2")

    assert result.stdout.splitlines() == [
        "1\treports_to →\tBob\tunresolved\t",
        "1\t← mentions\tTea\tnote\tpublic/notes/Tea.md",
    ]


def test_neighbors_as_json_have_their_edges() -> None:
    said = one_object(run("graph", "neighbors", "Alice", "--json"))

    assert (said["label"], said["depth"]) == ("Alice", 2)
    assert said["neighbors"][0]["via"] == [
        {"source": ALICE.id, "target": "name:bob", "type": "relation", "label": "reports_to"}
    ]


def test_a_node_without_neighbors_says_so() -> None:
    alone = neighborhood(GRAPH, "Lone")

    assert (
        "no neighbors"
        in run("graph", "neighbors", "Lone", memory=fake(graph_neighbors=alone)).stderr
    )


def test_an_unknown_name_is_an_error() -> None:
    wrong = NotFoundError("nothing in the graph is called 'x'", hint="a title")

    result = run("graph", "neighbors", "x", memory=fake(graph_neighbors=wrong))

    assert result.exit_code == 1
    assert "hint:" in result.stderr


# ------------------------------------------------------------------------ colours


def test_colours_say_that_obsidian_has_to_be_restarted() -> None:
    result = run("graph", "colours")

    assert "/v/.obsidian/graph.json" in result.stdout
    assert "restart it" in result.stderr


def test_existing_colours_are_reported() -> None:
    done = GraphColours("/v/.obsidian/graph.json", changed=False)

    assert "already" in run("graph", "colours", memory=fake(graph_colours=done)).stdout
    assert one_object(run("graph", "colours", "--json")) == {
        "path": "/v/.obsidian/graph.json",
        "changed": True,
    }


def test_settings_that_are_not_json_are_left_alone() -> None:
    wrong = ConfigError("not as Obsidian writes it", hint="mend it")

    assert run("graph", "colours", memory=fake(graph_colours=wrong)).exit_code == 2


# -------------------------------------------------------------------------- links


def test_without_broken_links_the_check_succeeds() -> None:
    result = run("links", "check")

    assert result.exit_code == 0
    assert result.stdout == "every link resolves (3 links in 2 notes)\n"


def test_broken_links_end_with_3() -> None:
    broken = LinkProblem(PROBLEM.path, 9, "[[X]]", "wiki", None, "no", (), None)
    report = structs.replace(FINE, broken=(broken,), alias_only=(PROBLEM,))

    result = run("links", "check", memory=fake(links_check=report))

    assert result.exit_code == 3
    assert "1 broken link, 1 link by an alias only" in result.stdout
    assert "alias only\tpublic/notes/Tea.md:7\t[[Al]]\t" in result.stdout
    assert "[[Alice|Al]]" in result.stdout
    assert "--fix" in result.stderr


def test_links_as_json_keep_the_contract() -> None:
    report = LinkReport(alias_only=(PROBLEM,), unreadable=(VaultPath("x.md"),))

    result = run("links", "check", "--json", memory=fake(links_check=report))

    said = one_object(result)
    assert set(said) >= {"broken", "ambiguous", "alias_only", "fixed"}
    assert said["alias_only"][0]["line"] == 7
    assert result.exit_code == 3


def test_fixed_links_name_the_run_to_undo() -> None:
    memory = fake(
        links_check=LinkReport(fixed=(PROBLEM,) * 25, run="r1", unreadable=(VaultPath("x.md"),))
    )

    result = run("links", "check", "--fix", memory=memory)

    assert memory.call("links_check")[1]["fix"] is True
    assert result.stdout.count("fixed\tpublic/notes") == 20
    assert "5 more" in result.stderr
    assert "vaultsync undo r1" in result.stderr
    assert "x.md" in result.stderr
    whole = run("links", "check", "--verbose", memory=memory)
    assert whole.stdout.count("fixed\tpublic/notes") == 25
    quiet = run("links", "check", "--quiet", memory=memory)
    assert "every link" not in quiet.stdout


def test_the_groups_show_what_they_hold() -> None:
    assert isinstance(graph.graph, click.Group)
    for words, names in (
        (("graph", "--help"), ("export", "stats", "neighbors", "colours")),
        (("links", "--help"), ("check",)),
    ):
        told = run(*words).output
        assert all(name in told for name in names)
