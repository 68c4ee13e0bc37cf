"""The most referenced definitions of a repository, within a budget."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.sqlite import MemoryCodeIndex
from vaultsync.errors import DerivedError
from vaultsync.repos.code_graph import (
    DAMPING,
    MAX_DEFINERS,
    CodeFile,
    CodeGraph,
    RankedCode,
    build_graph,
    is_telling,
)
from vaultsync.repos.code_map import CodeMapper, PatternReader, RepoMap
from vaultsync.repos.symbols import Definition, FileSymbols

APP = {
    "app/main.py": "from app.store import open_store\n\ndef main():\n    open_store().write(1)\n",
    "app/store.py": 'class FactStore:\n    """Keeps facts."""\n\n\ndef open_store():\n'
    '    """Open it."""\n    return FactStore()\n',
    "app/other.py": "from app.store import open_store\n\ndef other():\n    open_store()\n",
    "app/notes.py": "def read_notes():\n    pass\n\n\ndef unused_one():\n    pass\n",
    "app/cli.py": "from app.notes import read_notes\n\ndef run():\n    read_notes()\n",
    "README.md": "# App\n",
}


class Repo:
    """Files by path, whose content is its own id."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(files)
        self.asked: list[str] = []
        self.index = MemoryCodeIndex()

    def read_blobs(self, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        self.asked += ids
        return ((each, each.encode()) for each in ids if each != "unreadable")

    def map(
        self, *, changed: Sequence[str] = (), max_chars: int = 4_000, refresh: bool = False
    ) -> RepoMap:
        mapper = CodeMapper(
            self.index, PatternReader(), lambda text: text.replace("hunter2", "***")
        )
        return mapper.make_map(
            self.files, self.read_blobs, changed=changed, max_chars=max_chars, refresh=refresh
        )


def test_what_is_referred_to_most_comes_first_and_files_without_code_last() -> None:
    made = Repo(APP).map()

    assert made.text.splitlines() == [
        "app/store.py",
        "  1: class FactStore  # Keeps facts.",
        "  5: def open_store()  # Open it.",
        "app/notes.py",
        "  1: def read_notes()",
        "  5: def unused_one()",
        "app/cli.py",
        "  3: def run()",
        "app/main.py",
        "  3: def main()",
        "app/other.py",
        "  3: def other()",
        "README.md",
    ]
    assert (made.files, made.definitions, made.read, made.cached) == (6, 7, 5, False)
    assert (made.chars, made.parser) == (len(made.text), "patterns")


@pytest.mark.parametrize("changed", [["app/cli.py", "not/there.py"], ["app/cli.py/"]])
def test_definitions_around_a_change_come_first(changed: Sequence[str]) -> None:
    lines = Repo(APP).map(changed=changed, max_chars=110).text.splitlines()

    assert lines == [
        "app/notes.py",
        "  1: def read_notes()",
        "… 6 more definitions and 5 more files",
    ]


def test_a_changed_folder_stands_for_its_files() -> None:
    files = {f"{name}/a.py": f"def helper_{name}(): pass\n" for name in ("one", "two")}
    files |= {f"x{name}/deep/b.py": f"helper_{name}()\n" for name in ("one", "two")}
    for name in ("one", "two"):
        assert Repo(files).map(changed=[f"x{name}/"]).text.startswith(f"{name}/a.py")


def test_a_second_map_reads_nothing_and_a_changed_file_costs_one() -> None:
    repo = Repo(APP)
    first = repo.map()
    repo.asked.clear()
    again = repo.map()
    repo.files["app/cli.py"] += "\ndef more():\n    pass\n"
    changed = repo.map()

    assert (again.text, again.cached, again.read) == (first.text, True, 0)
    assert changed.read == len(repo.asked) == 1
    assert "def more()" in changed.text
    assert repo.map(refresh=True).read == 5


def test_what_another_branch_has_read_is_not_read_again() -> None:
    repo, other = Repo(APP), Repo(APP | {"app/cli.py": "def cli():\n    pass\n"})
    other.map()

    mapper = CodeMapper(other.index, PatternReader(), str)
    with pytest.raises(DerivedError, match="reading 1 file"):
        mapper.make_map(repo.files, repo.read_blobs, max_read=0)
    made = mapper.make_map(repo.files, repo.read_blobs, max_read=1)

    assert made.text == Repo(APP).map().text
    assert (made.read, repo.asked) == (1, [APP["app/cli.py"]])


def test_what_cannot_be_read_or_is_no_source_is_listed_by_name() -> None:
    repo = Repo({"a.py": "unreadable", "b.py": "def x():\0", "c.py": ""})
    made, again = repo.map(), repo.map()

    assert made.text == again.text == "a.py\nb.py\nc.py\n"
    assert (made.read, again.read) == (2, 0)
    assert repo.asked[3:] == ["unreadable"]  # it may be fetched later


def test_secrets_are_redacted_before_they_are_kept() -> None:
    source = "def login(password='hunter2'):\n    'With hunter2.'\n"
    repo = Repo({"hunter2.py": source, "b.py": "hunter2()\n"})

    text = repo.map().text

    assert text == "./***.py\n  1: def login(password='***')  # With ***.\nb.py\n"
    assert "hunter2" not in str(repo.index._rows("SELECT definitions, refs FROM symbols"))


def test_an_index_that_lost_symbols_meanwhile_costs_lines_and_no_error() -> None:
    repo = Repo(APP)
    repo.map()
    repo.index._empty(["symbols"])

    assert "app/store.py" not in repo.map().text


@given(st.integers(0, 700), st.sampled_from([(), ("app/main.py",), ("README.md",)]))
def test_a_map_never_exceeds_its_budget(max_chars: int, changed: Sequence[str]) -> None:
    many = {f"app/m{n}.py": f"def number_{n}():\n    number_{n // 2}()\n" for n in range(40)}
    made = Repo(APP | many).map(changed=changed, max_chars=max_chars)

    assert made.chars <= max_chars
    assert made.text == "" or made.text.endswith("\n")


def test_names_of_files_do_not_break_lines() -> None:
    assert Repo({"a\nIgnore this\u202e.md": ""}).map().text == "a Ignore this .md\n"


@pytest.mark.parametrize("name", ["# Rules.md", "- [x] done.md", "1. first.md", "> a", "`a`"])
def test_a_name_of_a_file_is_no_heading_and_no_item(name: str) -> None:
    assert Repo({name: ""}).map().text == f"./{name}\n"


def test_a_plain_name_is_shown_as_it_is() -> None:
    names = {".github/a.yml", "_a.md", "0042-rules.md", "ä.md"}

    assert {*Repo(dict.fromkeys(names, "")).map().text.splitlines()} == names


def test_names_that_do_not_fit_are_counted() -> None:
    repo = Repo({f"{n:040}.md": "" for n in range(9)})

    assert repo.map(max_chars=150).text.splitlines() == [
        f"{0:040}.md",
        f"{1:040}.md",
        "… 0 more definitions and 7 more files",
    ]


# --- the graph --------------------------------------------------------------------


def file(path: str, *names: str, language: str = "python", parent: str = "") -> CodeFile:
    return CodeFile(
        path,
        path,
        language,
        [Definition(name, "function", 1, name, parent=parent) for name in names],
    )


def ranks(files: Sequence[CodeFile], references: Sequence[Mapping[str, int]]) -> dict[str, float]:
    graph = build_graph(files, references)
    names = [each.name for one in files for each in one.definitions]
    return dict(zip(names, array("d", graph.ranks), strict=True))


def test_a_name_of_another_language_is_another_name() -> None:
    files = [file("a.py", "make_thing"), file("b.js", "user", language="javascript")]

    assert ranks(files, [{}, {"make_thing": 1}])["make_thing"] == 0


def test_a_name_that_a_file_defines_itself_is_its_own() -> None:
    files = [file("a.py", "make_thing"), file("b.py", "make_thing", "user")]

    assert ranks(files, [{}, {"make_thing": 1}]) == {"make_thing": 0, "user": 0}


def test_a_name_that_many_files_define_says_nothing() -> None:
    files = [file(f"{n}.py", "make_thing") for n in range(MAX_DEFINERS + 1)]

    assert {*ranks([*files, file("z.py")], [{}] * len(files) + [{"make_thing": 1}]).values()} == {0}


def test_a_plain_word_is_taken_for_a_function_and_for_no_member() -> None:
    files = [file("a.py", "load"), file("b.py", "save", parent="Store"), file("c.py")]

    assert ranks(files, [{}, {}, {"load": 1}])["load"] > 0
    assert ranks(files, [{}, {}, {".load": 1}])["load"] == 0
    assert ranks(files, [{}, {}, {"save": 1}])["save"] == 0


def test_a_telling_name_is_taken_for_a_member_too() -> None:
    files = [file("a.py", "load_facts", parent="Store"), file("b.py")]

    assert ranks(files, [{}, {".load_facts": 1}])["load_facts"] > 0
    assert [
        is_telling(n) for n in ("load_facts", "FactStore", "factstore", "FACTSTORE", "a_b")
    ] == [True, True, False, False, False]


def test_a_private_name_counts_less() -> None:
    files = [file("a.py", "load_facts", "_load_facts"), file("b.py")]
    found = ranks(files, [{}, {"load_facts": 1, "_load_facts": 1}])

    assert found["load_facts"] > found["_load_facts"] > 0


def test_the_product_does_not_depend_on_its_tests_and_they_count_less() -> None:
    files = [
        file("src/a.py", "one_thing"),
        file("src/b.py", "other_thing"),
        file("src/c.py"),
        file("tests/helpers.py", "test_thing"),
        file("tests/test_b.py"),
    ]
    found = ranks(files, [{}, {}, {"one_thing": 1, "test_thing": 9}, {}, {"other_thing": 1}])

    assert found["test_thing"] == 0
    assert found["one_thing"] > found["other_thing"] > 0


def test_an_overload_is_no_other_definition() -> None:
    graph = build_graph(
        [file("a.py", "make_thing", "make_thing"), file("b.py")], [{}, {"make_thing": 1}]
    )

    assert array("d", graph.ranks)[1] == 0


def test_no_files_are_a_graph_too() -> None:
    ranked = RankedCode(build_graph([], []))

    assert [*ranked.best(["a"])] == []
    assert ranked.definition_count == 0


graphs = st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=1, max_size=8)


def graph_of(targets: Sequence[Sequence[int]]) -> CodeGraph:
    files = [file(f"{n}.py", f"make_thing_{n}") for n in range(len(targets))]
    return build_graph(files, [{f"make_thing_{to}": 1 for to in each} for each in targets])


def slow_ranks(graph: CodeGraph, jumps: Sequence[float]) -> list[float]:
    """The ranks of definitions by following jumps step by step: the definition of PageRank."""
    first, targets = array("I", graph.first_references), array("I", graph.targets)
    shares = array("f", graph.shares)
    now, found = [(1 - DAMPING) * jump for jump in jumps], [0.0] * len(jumps)
    for _ in range(200):
        after = [0.0] * len(jumps)
        for at, (start, end) in enumerate(pairwise(first)):
            for edge in range(start, end):
                found[targets[edge]] += now[at] * shares[edge]
                after[targets[edge]] += DAMPING * now[at] * shares[edge]
        now = after
    return found


@given(graphs)
def test_ranks_are_those_of_the_definition(targets: Sequence[Sequence[int]]) -> None:
    graph = graph_of(targets)
    count = len(targets)

    assert [*array("d", graph.ranks)] == pytest.approx(
        slow_ranks(graph, [1 / count] * count), abs=1e-4
    )


@given(graphs, st.sets(st.integers(0, 7), min_size=1))
def test_ranks_around_a_change_are_close_to_those_of_the_definition(
    targets: Sequence[Sequence[int]], changed: set[int]
) -> None:
    graph = graph_of(targets)
    count = len(targets)
    seeds = {each for each in changed if each < count}
    order = [*RankedCode(graph).best([f"{each}.py" for each in changed])]

    near = slow_ranks(graph, [(each in seeds) / max(len(seeds), 1) for each in range(count)])
    whole = slow_ranks(graph, [1 / count] * count)
    score = [a + b for a, b in zip(near, whole, strict=True)]
    assert sorted(order) == [*range(count)]
    assert all(score[one] > score[other] - 0.03 for one, other in pairwise(order))


def test_a_graph_does_not_depend_on_the_order_of_references() -> None:
    files = [file("a.py", "one_thing"), file("b.py", "two_things"), file("c.py")]
    names = {"one_thing": 1, "two_things": 3}

    assert build_graph(files, [{}, {}, names]) == build_graph(
        files, [{}, {}, dict(reversed(names.items()))]
    )


def test_symbols_without_anything_are_equal() -> None:
    assert FileSymbols() == FileSymbols((), {})
