"""The notes of the sample vault, parsed with simple patterns, independent of vaultsync."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import yaml_rs

T = TypeVar("T")
ROOT = Path(__file__).parents[1] / "sample-vault"
TIERS = {0: "critical", 1: "notable", 2: "notable", 3: "background", 4: "background"}
ENTITY_FOLDERS = {"people", "projects", "entities"}
FOREIGN = {"Start here.md", "Inbox/Ideas from the ferry.md", "Inbox/Quote for two solar panels.md"}
FRONTMATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"(!?)\[\[([^\[\]\n]+?)\]\]")
MANAGED = re.compile(
    r"\n\n<!-- vaultsync:managed -->\n(.*)\n<!-- /vaultsync:managed -->\n\Z", re.DOTALL
)
OPENING = "<!-- vaultsync:managed -->\n"
HEADING = re.compile(r"^#{1,6} +(.*?)\s*$", re.MULTILINE)
BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Note:
    """One markdown file, split by hand."""

    path: str
    raw: bytes
    header: str
    properties: dict[str, object]
    body: str

    @property
    def stem(self) -> str:
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def id(self) -> str:
        return str(self.properties["id"])

    @property
    def title(self) -> str:
        found = re.search(r"^# (.+)$", self.body, re.MULTILINE)
        return found[1].strip() if found else self.stem

    def names(self, key: str) -> list[str]:
        held = self.properties.get(key) or []
        assert isinstance(held, list)
        return [str(each).removeprefix("[[").removesuffix("]]") for each in held]

    def ids(self, key: str) -> list[str]:
        held = self.properties.get(key) or []
        assert isinstance(held, list)
        return [str(each) for each in held]


def split(name: str, raw: bytes) -> Note:
    text = raw.decode("utf-8")
    found = FRONTMATTER.match(text)
    if not found:
        return Note(name, raw, "", {}, text)
    properties = yaml_rs.loads(found[1], parse_datetime=False)
    assert isinstance(properties, dict)
    return Note(name, raw, found[1], properties, text[found.end() :])


@cache
def every_note() -> tuple[Note, ...]:
    return tuple(
        split(path.relative_to(ROOT).as_posix(), path.read_bytes())
        for path in sorted(ROOT.rglob("*.md"))
    )


@cache
def facts() -> tuple[Note, ...]:
    return tuple(note for note in every_note() if note.path not in FOREIGN)


def written_by_the_engine() -> tuple[Note, ...]:
    return tuple(note for note in facts() if OPENING in note.body)


def written_by_hand() -> tuple[Note, ...]:
    return tuple(note for note in facts() if OPENING not in note.body)


@cache
def by_id() -> dict[str, Note]:
    return {note.id: note for note in facts()}


def without_code(text: str) -> str:
    return INLINE_CODE.sub("", FENCE.sub("", text.replace("\r\n", "\n")))


def links(note: Note) -> list[tuple[bool, str]]:
    """The targets of all links outside code, properties included."""
    text = note.header + "\n" + without_code(note.body)
    return [
        (bool(bang), re.split(r"\\?\|", inner, maxsplit=1)[0]) for bang, inner in LINK.findall(text)
    ]


def target_of(note: Note, target: str) -> Note | None:
    """The target of a link, by file name or by path from the root."""
    name = target.partition("#")[0].strip().removesuffix(".md").casefold()
    if not name:
        return note
    for other in every_note():
        if name in (other.stem.casefold(), other.path.removesuffix(".md").casefold()):
            return other
    return None


def by_path(note: Note) -> str:
    return note.path


def all_of(
    rows: Iterable[T], name: Callable[[T], str]
) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Check every row against a rule in one test, which reports all violations."""

    def ruled(rule: Callable[[T], None]) -> Callable[[], None]:
        def test() -> None:
            wrong = {}
            for row in rows:
                try:
                    rule(row)
                except AssertionError as error:
                    wrong[name(row)] = str(error)
            assert wrong == {}

        return test

    return ruled
