from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.repos.symbol_patterns import _PATTERNS, PARSER, read_by_patterns
from vaultsync.repos.symbols import (
    LANGUAGES,
    MAX_DEFINITIONS,
    MAX_FILE_BYTES,
    MAX_SIGNATURE,
    MAX_SUMMARY,
    family_of,
    is_source,
    language_of,
    make_definition,
    one_line,
)

SOURCES = {
    "python": 'class Foo(Bar):\n    """A foo.\n\n    More.\n    """\n'
    "    async def run(self, x=1):\n        pass\n",
    "typescript": "/** A foo. */\nexport class Foo<T> extends Bar {\n"
    "  async run(x: number) {\n  }\n}\n",
    "javascript": "// A foo.\nclass Foo extends Bar {\n  run(x) {\n  }\n}\n",
    "rust": "/// A foo.\n#[derive(Debug)]\npub struct Foo<T> {\n}\n    pub async fn run(&self) {\n",
    "java": "/**\n * A foo.\n */\n@Component\npublic class Foo extends Bar {\n"
    "  public List<String> run(int a) throws X {\n",
    "csharp": "/// A foo.\npublic sealed class Foo : Bar {\n  public async Task<int> run(int a)\n",
    "kotlin": "// A foo.\ndata class Foo(val a: Int) {\n  suspend fun run(x: Int) = 1\n",
    "swift": "/// A foo.\npublic struct Foo {\n  func run(x: Int) {\n",
    "scala": "// A foo.\ncase class Foo(a: Int) {\n  override def run(x: Int) = {\n",
    "php": "// A foo.\nfinal class Foo extends Bar {\n  public static function run($a) {\n",
    "ruby": "# A foo.\nclass M::Foo < Bar\n  def self.run(a)\n",
    "cpp": "/// A foo.\nclass Foo : public Bar {\n  static int run(int a) const {\n",
}


@pytest.mark.parametrize("language", SOURCES)
def test_patterns_find_a_class_its_method_and_its_comment(language: str) -> None:
    found = read_by_patterns(language, SOURCES[language].encode()).definitions

    assert [(each.name, each.kind) for each in found] == [("Foo", "class"), ("run", "function")]
    assert found[0].summary == "A foo."
    assert found[1].parent == "Foo" or language == "rust"
    assert "{" not in found[0].signature + found[1].signature


def test_functions_of_other_languages_are_found_too() -> None:
    shell = read_by_patterns("shell", b"function one {\ntwo() {\n")
    lua = read_by_patterns("lua", b"local function M.one(a)\n")
    go = read_by_patterns(
        "go", b"// Len is it.\nfunc (p *Point) Len(a string) int {\ntype P struct {\n"
    )
    c = read_by_patterns("c", b"#include <a.h>\nstatic int *add(int a)\n{\n  return f(a);\n")

    assert [each.name for each in shell.definitions] == ["one", "two"]
    assert [each.name for each in lua.definitions] == ["one"]
    assert [(each.name, each.summary) for each in go.definitions] == [
        ("Len", "Len is it."),
        ("P", ""),
    ]
    assert [(each.name, each.summary) for each in c.definitions] == [("add", "")]


def test_a_member_after_the_end_of_its_class_has_no_parent() -> None:
    found = read_by_patterns("python", b"class A:\n  def a():\n    pass\ndef b():\n").definitions

    assert [each.parent for each in found] == ["", "A", ""]


def test_what_a_file_refers_to_is_counted_without_what_it_defines() -> None:
    found = read_by_patterns("python", b"def one():\n    other(self.thing)\n    other(one)\n")

    assert found.references == {"other": 2, ".thing": 1, "self": 1, "def": 1, "one": 1}


def test_a_language_without_patterns_has_no_symbols() -> None:
    assert read_by_patterns("", b"def one():\n").definitions == ()
    assert PARSER == "patterns"


def test_all_languages_have_patterns() -> None:
    assert {*LANGUAGES.values()} <= _PATTERNS.keys()


def test_the_language_is_that_of_the_extension() -> None:
    assert [language_of(path) for path in ("a/b.PY", "Makefile", "x.d/y", "a.tsx")] == [
        "python",
        "",
        "",
        "tsx",
    ]
    assert [family_of(each) for each in ("tsx", "python", "cpp")] == ["javascript", "python", "c"]


def test_long_lines_and_many_definitions_are_bounded() -> None:
    long = b"def a" + b"x" * 400 + b"():\n"
    many = b"def f():\n" * (MAX_DEFINITIONS + 9)

    assert read_by_patterns("python", long).definitions == ()
    assert len(read_by_patterns("python", many).definitions) == MAX_DEFINITIONS


def test_minified_binary_huge_and_empty_files_are_no_source() -> None:
    assert is_source(b"def a():\n")
    assert not is_source(b"")
    assert not is_source(b"a\0b")
    assert not is_source(b"a" * 501)
    assert not is_source(b"a\n" * MAX_FILE_BYTES)


@given(st.text(), st.integers(2, 50))
def test_a_line_is_one_line_without_control_characters(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert line == "" or line.splitlines() == [line]
    assert not any(ord(char) < 32 for char in line)


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ('def f():\n    """One.\n    two"""', "One."),
        ("def f():\n    '''\n    One.\n    '''", "One."),
        ('def f():\n    r"One."', "One."),
        ('def f():\n    """', ""),
        ("def f():\n    pass\n", ""),
        ("def f(\n    a,\n) -> None:\n    'One.'", "One."),
        ("def f(): pass\ndef g():\n    'Two.'", ""),
        ("def f(): pass\n\n'Two.'", ""),
        ("def f(\n    a,\n", ""),
        ("@cached\n# One.\ndef f():\n    pass", "One."),
        ("# One.\n# Two.\n@cached\ndef f():\n    pass", "One."),
        ("# ---\n# One.\n# pylint: disable\ndef f(): pass", "One."),
        ("x = 1  # no\ndef f(): pass", ""),
        ("/* Other. */\n/* One. */\ndef f(): pass", "One."),
    ],
)
def test_the_summary_is_the_first_line_of_docstring_or_comment(source: str, summary: str) -> None:
    lines = source.split("\n")
    row = next(at for at, line in enumerate(lines) if line.startswith("def f"))

    assert make_definition("f", "function", row, lines[row], lines=lines).summary == summary


def test_texts_of_a_definition_are_cut() -> None:
    long = "x" * 999
    found = make_definition(
        long, "function", 1, f"def f(\n a,\n {long}", lines=[f"# {long}", "def"]
    )

    assert len(found.name) == 80
    assert len(found.signature) == MAX_SIGNATURE
    assert found.signature.startswith("def f(a, x")
    assert len(found.summary) == MAX_SUMMARY
    assert found.line == 2
