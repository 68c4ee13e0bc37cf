"""Which links lead nowhere, which could mean several notes, which say only an alias.

Judged as Obsidian would follow them; see docs/concepts/links-and-graph.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultsync.links.references import Anchors
from vaultsync.links.rewrite import Turn, target_text
from vaultsync.links.wikilinks import WIKI, Link, Names, folded, name_key
from vaultsync.model.paths import VaultPath, name_of, parent
from vaultsync.model.schema import Value

BROKEN, AMBIGUOUS, ALIAS_ONLY = "broken", "ambiguous", "alias_only"


class Verdict(NamedTuple):
    """Where a link leads, and what is wrong with it."""

    how: str
    """The rule by which it was resolved; empty when it leads nowhere."""
    to: VaultPath | None = None
    problem: str = ""
    """`BROKEN`, `AMBIGUOUS`, `ALIAS_ONLY` or empty."""
    why: str = ""
    candidates: tuple[VaultPath, ...] = ()
    """The notes that it means, or might."""
    turn: Turn | None = None
    """How it can be mended without a doubt."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the files of a vault are called, and where in them links can lead."""

    names: Names
    anchors: Mapping[VaultPath, Anchors]
    """Of the notes that could be read."""
    aliases: Mapping[str, tuple[VaultPath, ...]]
    """Folded alias -> the notes that have it."""
    titles: Mapping[str, tuple[VaultPath, ...]]
    """Folded title -> the notes whose first heading it is."""
    alike: Mapping[str, tuple[VaultPath, ...]]
    """`alike_key()` of a name -> the files that are called like it."""
    moved: Mapping[VaultPath, VaultPath] = field(default_factory=dict)
    """Where notes once were -> where they are."""
    once: Names = field(default_factory=lambda: Names.of(()))
    """The names of those old places."""

    @classmethod
    def of(
        cls,
        paths: Iterable[VaultPath],
        anchors: Mapping[VaultPath, Anchors],
        aliases: Mapping[VaultPath, Iterable[str]],
        titles: Mapping[VaultPath, Iterable[str]],
    ) -> Survey:
        """What is to be known of all files, and of the notes among them."""
        known = sorted(set(paths))
        return cls(
            Names.of(known),
            anchors,
            _turned_round(aliases, lambda name: folded(name.strip())),
            _turned_round(titles, lambda name: folded(name.strip())),
            _turned_round({path: [path] for path in known}, alike_key),
        )

    def judge(self, link: Link, source: VaultPath) -> Verdict:
        """Where a link in the note at `source` leads, and what is wrong with it."""
        many = self.names.meanings(link.target, source)
        if not many:
            return self._lost(link, source)
        to, how = many[0], self._how(link, source, many)
        missing = self._missing(link, to)
        if missing:
            return Verdict(how, to, BROKEN, missing, (to,))
        if len(many) > 1:
            why = f"{len(many)} files are called so; it means {to}, by the {how}"
            return Verdict(how, to, AMBIGUOUS, why, many)
        return Verdict(how, to)

    def _how(self, link: Link, source: VaultPath, many: tuple[VaultPath, ...]) -> str:
        target = link.target
        if not target:
            return "note itself"
        if len(many) > 1:
            beside = folded(parent(many[0])) == folded(parent(source))
            return "note's own folder" if beside else "shortest path"
        if target.startswith(("./", "../")):
            return "path from the note"
        if "/" not in target:
            return "name"
        whole = folded(target.lstrip("/")).removesuffix(".md")
        exact = folded(many[0]).removesuffix(".md") == whole
        return "path" if exact else "end of the path"

    def _missing(self, link: Link, to: VaultPath) -> str:
        """Which heading or block of a note is not there; empty when none is missing."""
        anchors = self.anchors.get(to)
        if not link.subpath or anchors is None or anchors.holds(link.subpath):
            return ""
        what = "block" if link.subpath.startswith("#^") else "heading"
        return f"{to} has no {what} {link.subpath.lstrip('#')}"

    def _lost(self, link: Link, source: VaultPath) -> Verdict:
        """What a link that leads nowhere may have meant."""
        for problem, paths, why in self._guesses(link.target, source):
            if paths:
                by_name = problem == ALIAS_ONLY and link.kind == WIKI and not link.embed
                turn = self._turn(paths, link, source, link.target if by_name else None)
                said = f"{why} {_listed(paths)}"
                if problem == ALIAS_ONLY:
                    said += "; links follow file names"
                return Verdict("", None, problem, said, paths, turn)
        named = self.alike.get(alike_key(name_of(link.target)), ())
        if named:
            return Verdict("", None, BROKEN, f"there is {_listed(named)}", named)
        if "://" in link.target:
            why = "it is a web address, which double brackets do not lead to"
        else:
            why = f"nothing is called {name_of(link.target)}"
        return Verdict("", None, BROKEN, why)

    def _guesses(
        self, target: str, source: VaultPath
    ) -> Iterator[tuple[str, tuple[VaultPath, ...], str]]:
        """Problem, notes and why, the surest first."""
        yield ALIAS_ONLY, self.aliases.get(folded(target), ()), "it is an alias of"
        was = self.once.resolve(target, source)
        yield BROKEN, (self.moved[was],) if was else (), "the note moved to"
        yield ALIAS_ONLY, self.titles.get(folded(target), ()), "it is the title of"
        alike = self.alike.get(alike_key(name_of(target)), ())
        near = tuple(path for path in alike if _ends_alike(path, target))
        yield BROKEN, near, "it is spelled otherwise than"

    def _turn(
        self,
        to: tuple[VaultPath, ...],
        link: Link,
        source: VaultPath,
        shown: str | None,
    ) -> Turn | None:
        """How the link is mended when there is just one note it can have meant."""
        said = target_text(self.names, to[0], link, source) if len(to) == 1 else None
        return Turn(said, shown) if said is not None else None


def _turned_round(
    names: Mapping[VaultPath, Iterable[str]], key_of: Callable[[str], str]
) -> dict[str, tuple[VaultPath, ...]]:
    """Key of a name -> the files that have it, in order."""
    found: dict[str, list[VaultPath]] = defaultdict(list)
    for path, many in names.items():
        for key in dict.fromkeys(map(key_of, many)):
            found[key].append(path)
    return {key: tuple(paths) for key, paths in found.items()}


_BLANKS = re.compile(r"[\s_\-\u2010-\u2015]+")


def alike_key(name: str) -> str:
    """The same for names that differ in case, width, blanks, hyphens or `.md` only."""
    text = unicodedata.normalize("NFKC", name_key(name)).casefold()
    return _BLANKS.sub(" ", text).strip()


def _ends_alike(path: VaultPath, target: str) -> bool:
    """Whether a path ends in the folders that a target names."""
    wanted = [
        alike_key(each) for each in target.split("/") if each not in ("", ".", "..")
    ]
    return [alike_key(each) for each in path.split("/")][-len(wanted) :] == wanted


def _listed(paths: tuple[VaultPath, ...]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""  # noqa: PLR2004 - enough for a line
    return ", ".join(paths[:3]) + more


def aliases_of(properties: Mapping[str, Value]) -> list[str]:
    """The aliases of a note as Obsidian reads them: a list, or one text."""
    found: list[str] = []
    for key, value in properties.items():
        if key.lower() == "aliases":
            many = value if isinstance(value, (list, tuple)) else [value]
            found += [each for each in many if isinstance(each, str) and each.strip()]
    return found
