"""No identifier and no text uses a word that docs/withdrawn-words.toml withdraws.

`python -m tests.test_words [--all] [PATH...]` lists the occurrences per file, with `--all`
also those of rows that are not enforced yet.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT / "docs" / "withdrawn-words.toml"
SECTIONS = ("names", "parts", "prose")
HISTORY = ("docs/decisions/", "docs/changelog.md")
"""Documents that say what was once true, in the words of their time."""
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"``[^`]+``|`[^`\n]+`")


class Row(NamedTuple):
    """A withdrawn word, in all its forms."""

    section: str
    words: tuple[str, ...]
    say: str
    enforced: bool
    exceptions: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """What matches the row in a text of its section."""
        words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in self.words)
        edge = "_" if self.section == "parts" else r"\b"
        return f"(?:{words})" if self.section == "names" else rf"{edge}(?:{words}){edge}"


class Offence(NamedTuple):
    """An occurrence of a withdrawn word."""

    file: str
    line: int
    text: str
    row: Row

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r} ({self.row.section}): {self.row.say}"


@lru_cache
def rows() -> tuple[Row, ...]:
    found = []
    for section, table in tomllib.loads(LIST.read_text(encoding="utf-8")).items():
        for key, value in table.items():
            row: dict[str, Any] = {"say": value} if isinstance(value, str) else value
            assert set(row) <= {"say", "enforced", "except"}, key
            words = tuple(word.strip() for word in key.split(","))
            exceptions = tuple(row.get("except", ()))
            found.append(Row(section, words, row["say"], row.get("enforced", True), exceptions))
    return tuple(found)


@lru_cache
def _matcher(section: str) -> tuple[re.Pattern[str], tuple[Row, ...]]:
    """One expression for all rows of a section; its groups are the rows, in order."""
    some = tuple(row for row in rows() if row.section == section)
    flags = re.IGNORECASE if section == "prose" else 0
    return re.compile("|".join(f"({row.pattern})" for row in some), flags), some


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module binds or uses as its own, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias() if node.asname:
                yield node.asname, node.lineno
            case ast.ExceptHandler() if node.name:
                yield node.name, node.lineno
            case ast.MatchAs() | ast.MatchStar() if node.name:
                yield node.name, node.lineno
            case _:
                pass


def python_prose(text: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Docstrings, strings that hold a sentence, and comments, each with its first line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if len(node.value.split()) > 1:
            yield node.value, node.lineno
    block, start, last = "", 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            yield block, start
            block, start = "", token.start[0]
        block, last = f"{block}{token.string.lstrip('#')}\n", token.start[0]
    yield block, start


def _in_prose(file: str, text: str, first: int) -> Iterator[Offence]:
    pattern, some = _matcher("prose")
    blank = _CODE.sub(lambda code: re.sub(r"[^\n]", "·", code[0]), text)
    for match in pattern.finditer(blank):
        assert match.lastindex
        line = first + text.count("\n", 0, match.start())
        yield Offence(file, line, " ".join(match[0].split()), some[match.lastindex - 1])


def _in_names(file: str, name: str, line: int) -> Iterator[Offence]:
    pattern, some = _matcher("names")
    if found := pattern.fullmatch(name.lstrip("_")):
        assert found.lastindex
        yield Offence(file, line, name, some[found.lastindex - 1])
    pattern, some = _matcher("parts")
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if found := pattern.search(f"_{snake}_"):
        assert found.lastindex
        yield Offence(file, line, name, some[found.lastindex - 1])


def _in_file(path: Path) -> Iterator[Offence]:
    file = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        page = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
        yield from _in_prose(file, page, 1)
        return
    tree = ast.parse(text)
    yield from _in_names(file, path.stem, 1)
    for name, line in identifiers(tree):
        yield from _in_names(file, name, line)
    for prose, line in python_prose(text, tree):
        yield from _in_prose(file, prose, line)


def files() -> list[Path]:
    """The modules of the package and the pages of its documentation."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages = [page for page in pages if not page.relative_to(ROOT).as_posix().startswith(HISTORY)]
    return [*sorted((ROOT / "vaultsync").rglob("*.py")), *pages]


@lru_cache
def offences() -> tuple[Offence, ...]:
    """Every occurrence of every row, enforced or not."""
    found = (each for path in files() for each in _in_file(path))
    return tuple(each for each in found if each.file not in each.row.exceptions)


def test_the_list_names_existing_files_and_no_word_twice() -> None:
    words = [(row.section, word) for row in rows() for word in row.words]

    assert {row.section for row in rows()} == set(SECTIONS)
    assert len(words) == len(set(words))
    assert all((ROOT / file).is_file() for row in rows() for file in row.exceptions)


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('"""Whoever\nasks."""', ["Whoever"]),
        ("x = 1  # the nearest\n# upwards of all", ["the nearest upwards"]),
        ("x = 'say `whoever`, not he'", []),
        ("class Lens:\n    def bury_it(self, told): ...", ["Lens", "bury_it", "told"]),
        ("class BuriedFact: ...\nuntold = 1", ["BuriedFact"]),
    ],
)
def test_a_withdrawn_word_is_found(source: str, texts: Sequence[str]) -> None:
    tree = ast.parse(source)

    found = [each for name, line in identifiers(tree) for each in _in_names("f", name, line)]
    for prose, line in python_prose(source, tree):
        found += _in_prose("f", prose, line)

    assert sorted({each.text for each in found}) == sorted(texts)


def main(arguments: Sequence[str]) -> int:
    """List occurrences per file; 1 if there is one of an enforced row."""
    everything = "--all" in arguments
    paths = tuple(each for each in arguments if each != "--all")
    found = [
        each
        for each in offences()
        if (everything or each.row.enforced) and (not paths or each.file.startswith(paths))
    ]
    for each in found:
        print(each)  # noqa: T201 - it talks to the developer who runs it
    if everything:
        used = {each.row for each in offences()}
        for row in rows():
            if row not in used and not row.enforced:
                print(f"{LIST.name}: {row.words[0]!r} ({row.section}) can be enforced")  # noqa: T201
    return int(any(each.row.enforced for each in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
