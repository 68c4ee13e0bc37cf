"""Source code is parsed in a process that may crash or hang; what it says is trusted in nothing."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.sqlite import MemoryCodeIndex
from vaultsync.backends.code_symbols.parser_process import (
    MAX_CRASHES,
    TreeSitterReader,
    is_installed,
)
from vaultsync.backends.code_symbols.parsing import parse_symbols
from vaultsync.backends.code_symbols.queries import QUERIES
from vaultsync.backends.code_symbols.worker import LENGTH, serve
from vaultsync.repos.code_map import CodeMapper
from vaultsync.repos.symbol_patterns import read_by_patterns
from vaultsync.repos.symbols import MAX_DEFINITIONS, FileSymbols

pytestmark = pytest.mark.long(5)

SOURCES = {
    "python": (
        (
            b'LIMIT = "secret"\nKEY: str = "secret"\n\nclass Foo(Bar):\n    """A foo."""\n\n'
            b"    @cached\n    def run(self, x: Baz) -> int:\n        def inner(): pass\n"
            b"        return helper_of(x.attr, callback)\n\nasync def last(\n    a: int,\n"
            b") -> None:\n"
            b'    """Go."""\n'
        ),
        [
            "1 constant LIMIT # ",
            "2 constant KEY: str # ",
            "4 class class Foo(Bar) # A foo.",
            "8 function Foo > def run(self, x: Baz) -> int # ",
            "12 function async def last(a: int) -> None # Go.",
        ],
        {"Bar", "Baz", "cached", "helper_of", ".attr", ".callback", "int"},
    ),
    "typescript": (
        (
            b"/** A shape. */\nexport abstract class Shape<T> extends Base implements Iface {\n"
            b"  area(x: number): Promise<T> { return foo(x); }\n}\n"
            b"export const go = async (a: string): Promise<void> => { run(a); };\n"
            b'export const KEY = "secret";\ninterface P { m(): void }\ntype X = { a: string };\n'
            b"enum E { A }\n"
        ),
        [
            "2 class abstract class Shape<T> extends Base implements Iface # A shape.",
            "3 function Shape > area(x: number): Promise<T> # ",
            "5 function go = async (a: string): Promise<void> # ",
            "6 constant KEY # ",
            "7 class interface P # ",
            "7 function P > m(): void # ",
            "8 type type X = { a: string } # ",
            "9 class enum E # ",
        ],
        {"Base", "Iface", "Promise", "foo", "run"},
    ),
    "tsx": (
        b"export function App(p: Props) { return <Box a={f(1)}><Inner/></Box>; }\n",
        ["1 function function App(p: Props) # "],
        {"Props", "Box", "Inner", "f"},
    ),
    "javascript": (
        b"class A extends B { m() { this.x.go(); } }\nfunction* g() {}\nconst f = (x) => x;\n",
        [
            "1 class class A extends B # ",
            "1 function A > m() # ",
            "2 function function* g() # ",
            "3 function f = (x) # ",
        ],
        {"B", ".x", ".go"},
    ),
    "go": (
        (
            b"package a\n\n// Point is one.\ntype Point struct { X int }\n"
            b"func (p *Point) Len(a string) (int, error) { return helper(p.X), nil }\n"
            b"const Max = 3\n"
        ),
        [
            "4 class type Point struct # Point is one.",
            "5 function func (p *Point) Len(a string) (int, error) # ",
            "6 constant Max # ",
        ],
        {"Point", "string", "helper", ".X"},
    ),
    "rust": (
        (
            b"/// A point.\n#[derive(Debug)]\npub struct Point<T> { x: T }\nimpl<T> Point<T> {\n"
            b"    /// Its length.\n    pub fn len(&self) -> usize { compute(self.x) }\n}\n"
            b"trait Shape { fn area(&self) -> f64; }\nmod inner { pub fn deep() {} }\n"
            b"const MAX: usize = 3;\n"
        ),
        [
            "3 class pub struct Point<T> # A point.",
            "6 function Point > pub fn len(&self) -> usize # Its length.",
            "8 class trait Shape # ",
            "8 function Shape > fn area(&self) -> f64 # ",
            "9 function inner > pub fn deep() # ",
            "10 constant const MAX: usize # ",
        ],
        {"Point", "compute"},
    ),
    "java": (
        (
            b"/**\n * A service.\n */\n@Component\npublic class Service extends Base {\n"
            b"  @Override\n  public List<String> get(int a) throws X { return helper.find(a); }\n"
            b"  public Service() {}\n}\n"
        ),
        [
            "4 class @Component public class Service extends Base # A service.",
            "6 function Service > @Override public List<String> get(int a) throws X # ",
            "8 function Service > public Service() # ",
        ],
        {"Base", "List", "helper", ".find", "Component"},
    ),
    "c": (
        (
            b"#include <a.h>\n#define MAX(a,b) ((a)>(b)?(a):(b))\nstruct point { int x; };\n"
            b"/* Adds. */\nstatic int *add(int a)\n{ return helper(a); }\nint proto(void);\n"
        ),
        [
            "2 function #define MAX(a,b) # ",
            "3 class struct point # ",
            "5 function static int *add(int a) # Adds.",
            "7 function int proto(void) # ",
        ],
        {"helper", "point"},
    ),
    "cpp": (
        (
            b"namespace ns {\n/// A class.\nclass Foo : public Bar {\n"
            b"  int get(int a) const { return x_.find(a); }\n};\n"
            b"T Foo::compute(const T& a) { return ns::other(a); }\n}\n"
        ),
        [
            "3 class ns > class Foo : public Bar # A class.",
            "4 function Foo > int get(int a) const # ",
            "6 function ns > T Foo::compute(const T& a) # ",
        ],
        {"Bar", ".find", "other", "T"},
    ),
    "ruby": (
        (
            b"module M\n  # A thing.\n  class Foo < Bar # now\n    def run(a, b = 1)\n"
            b"      Baz.call(a)\n    end\n    def self.make; end\n  end\nend\n"
        ),
        [
            "1 class module M # ",
            "3 class M > class Foo < Bar # A thing.",
            "4 function Foo > def run(a, b = 1) # ",
            "7 function Foo > def self.make # ",
        ],
        {"Bar", "Baz", ".call"},
    ),
}


def shown(symbols: FileSymbols) -> list[str]:
    return [
        f"{each.line} {each.kind} {f'{each.parent} > ' if each.parent else ''}{each.signature}"
        f" # {each.summary}"
        for each in symbols.definitions
    ]


def test_every_language_with_queries_has_an_example() -> None:
    assert {*SOURCES} == {*QUERIES}


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_and_references_of_a_language(language: str) -> None:
    source, definitions, references = SOURCES[language]

    found = parse_symbols(language, source)

    assert shown(found) == definitions
    assert {*found.references} >= references
    assert "secret" not in str(found)


@given(st.sampled_from(sorted(QUERIES)), st.binary(max_size=300), st.integers(0, 300))
def test_any_bytes_have_symbols(language: str, noise: bytes, at: int) -> None:
    source = SOURCES[language][0]

    text = source[:at] + noise + source[at:]

    found = parse_symbols(language, text)

    assert all(1 <= each.line <= text.count(b"\n") + 1 for each in found.definitions)


def test_definitions_are_bounded() -> None:
    found = parse_symbols("python", b"def f(): pass\n" * (MAX_DEFINITIONS + 5))

    assert len(found.definitions) == MAX_DEFINITIONS


def test_the_worker_answers_each_frame_until_there_are_no_more() -> None:
    request = msgspec.msgpack.encode([("python", SOURCES["python"][0])])
    answers = io.BytesIO()

    serve(io.BytesIO(2 * (LENGTH.pack(len(request)) + request)), answers)

    said = answers.getvalue()
    first = said[LENGTH.size :][: len(said) // 2 - LENGTH.size // 2]
    assert said == LENGTH.pack(0) + 2 * first
    [found] = msgspec.msgpack.decode(first[LENGTH.size :], type=list[FileSymbols])
    assert found == parse_symbols("python", SOURCES["python"][0])


@pytest.fixture
def reader() -> Iterator[TreeSitterReader]:
    opened = TreeSitterReader()
    yield opened
    opened.close()
    opened.close()


def test_a_reader_parses_what_has_a_grammar_and_guesses_the_rest(reader: TreeSitterReader) -> None:
    python, shell = ("python", SOURCES["python"][0]), ("shell", b"run() {\n")

    assert reader.read([shell, python, ("", b"text")]) == [
        read_by_patterns(*shell),
        parse_symbols(*python),
        FileSymbols(),
    ]
    assert reader.read([]) == []
    assert reader.parser.startswith("tree-sitter ")
    assert is_installed()


CRASH = """
import os, sys
from vaultsync.backends.code_symbols import worker
parse = worker.parse_symbols
def fatal(language, source):
    if b"crash" in source:
        os.abort()
    if b"hang" in source:
        sys.stdin.buffer.raw.read()
    return parse(language, source)
worker.parse_symbols = fatal
worker.serve(sys.stdin.buffer, sys.stdout.buffer)
"""


@pytest.mark.parametrize(("bad", "seconds"), [(b"def crash(): pass\n", 60), (b"# hang\n", 3)])
@pytest.mark.long(2)
def test_a_file_that_ends_the_process_costs_its_own_symbols(bad: bytes, seconds: float) -> None:
    reader = TreeSitterReader(("-c", CRASH), batch_seconds=seconds, file_seconds=seconds)
    good = ("python", SOURCES["python"][0])

    found = reader.read([good, ("python", bad), good])
    reader.close()

    assert found == [parse_symbols(*good), read_by_patterns("python", bad), parse_symbols(*good)]


def test_a_process_that_does_not_start_leaves_patterns_and_is_not_tried_for_ever() -> None:
    reader = TreeSitterReader(("-c", "raise SystemExit"))
    good = ("python", SOURCES["python"][0])

    for _ in range(MAX_CRASHES):
        assert reader.read([good]) == [read_by_patterns(*good)]
    assert reader.read([good]) == [read_by_patterns(*good)]


def test_the_process_imports_nothing_from_the_folder_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: TreeSitterReader
) -> None:
    (tmp_path / "vaultsync.py").write_text("open('owned', 'w')")
    (tmp_path / "tree_sitter.py").write_text("open('owned', 'w')")
    monkeypatch.chdir(tmp_path)

    assert reader.read([("python", b"def run(): pass\n")])[0].definitions
    assert not (tmp_path / "owned").exists()


def test_the_worker_limits_its_memory() -> None:
    code = (
        "import resource\nfrom vaultsync.backends.code_symbols.worker import main\nmain()\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], input=b"", capture_output=True, check=True
    )

    assert 0 < int(done.stdout[LENGTH.size :]) <= 2 * 1024**3


def test_a_map_by_parsers_shows_members_with_their_class(reader: TreeSitterReader) -> None:
    mapper = CodeMapper(MemoryCodeIndex(), reader, lambda text: text)

    made = mapper.make_map({"a.py": "1"}, lambda _: [("1", SOURCES["python"][0])])

    assert made is not None
    assert "  8: Foo > def run(self, x: Baz) -> int\n" in made.text
