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

from vaultsync.links.references import LinkAnchors
from vaultsync.links.rewrite import Retarget, link_target_text
from vaultsync.links.wikilinks import WIKI_LINK, Link, LinkResolver, fold_case, name_key
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder
from vaultsync.model.schema import Value

BROKEN, AMBIGUOUS, ALIAS_ONLY = "broken", "ambiguous", "alias_only"


class LinkTargetCheck(NamedTuple):
    """Where a link leads, and what is wrong with it."""

    how: str
    """The rule by which it was resolved; empty when it leads nowhere."""
    to: VaultPath | None = None
    problem: str = ""
    """`BROKEN`, `AMBIGUOUS`, `ALIAS_ONLY` or empty."""
    why: str = ""
    candidates: tuple[VaultPath, ...] = ()
    """The notes that it means, or might."""
    turn: Retarget | None = None
    """How it can be mended without a doubt."""


@dataclass(frozen=True, slots=True)
class LinkSurvey:
    """What the files of a vault are called, and where in them links can lead."""

    names: LinkResolver
    anchors: Mapping[VaultPath, LinkAnchors]
    """Of the notes that could be read."""
    aliases: Mapping[str, tuple[VaultPath, ...]]
    """Folded alias -> the notes that have it."""
    titles: Mapping[str, tuple[VaultPath, ...]]
    """Folded title -> the notes whose first heading it is."""
    alike: Mapping[str, tuple[VaultPath, ...]]
    """`alike_key()` of a name -> the files that are called like it."""
    moved: Mapping[VaultPath, VaultPath] = field(default_factory=dict)
    """Where notes once were -> where they are."""
    once: LinkResolver = field(default_factory=lambda: LinkResolver.of(()))
    """The names of those old places."""

    @classmethod
    def of(
        cls,
        paths: Iterable[VaultPath],
        anchors: Mapping[VaultPath, LinkAnchors],
        aliases: Mapping[VaultPath, Iterable[str]],
        titles: Mapping[VaultPath, Iterable[str]],
    ) -> LinkSurvey:
        """What is to be known of all files, and of the notes among them."""
        known = sorted(set(paths))
        return cls(
            LinkResolver.of(known),
            anchors,
            _inverted(aliases, lambda name: fold_case(name.strip())),
            _inverted(titles, lambda name: fold_case(name.strip())),
            _inverted({path: [path] for path in known}, similarity_key),
        )

    def judge(self, link: Link, source: VaultPath) -> LinkTargetCheck:
        """Where a link in the note at `source` leads, and what is wrong with it."""
        many = self.names.meanings(link.target, source)
        if not many:
            return self._lost(link, source)
        to, how = many[0], self._how(link, source, many)
        missing = self._missing(link, to)
        if missing:
            return LinkTargetCheck(how, to, BROKEN, missing, (to,))
        if len(many) > 1:
            why = f"{len(many)} files are called so; it means {to}, by the {how}"
            return LinkTargetCheck(how, to, AMBIGUOUS, why, many)
        return LinkTargetCheck(how, to)

    def _how(self, link: Link, source: VaultPath, many: tuple[VaultPath, ...]) -> str:
        target = link.target
        if not target:
            return "note itself"
        if len(many) > 1:
            beside = fold_case(parent_folder(many[0])) == fold_case(parent_folder(source))
            return "note's own folder" if beside else "shortest path"
        if target.startswith(("./", "../")):
            return "path from the note"
        if "/" not in target:
            return "name"
        whole = fold_case(target.lstrip("/")).removesuffix(".md")
        exact = fold_case(many[0]).removesuffix(".md") == whole
        return "path" if exact else "end of the path"

    def _missing(self, link: Link, to: VaultPath) -> str:
        """Which heading or block of a note is not there; empty when none is missing."""
        anchors = self.anchors.get(to)
        if not link.subpath or anchors is None or anchors.holds(link.subpath):
            return ""
        what = "block" if link.subpath.startswith("#^") else "heading"
        return f"{to} has no {what} {link.subpath.lstrip('#')}"

    def _lost(self, link: Link, source: VaultPath) -> LinkTargetCheck:
        """What a link that leads nowhere may have meant."""
        for problem, paths, why in self._guesses(link.target, source):
            if paths:
                by_name = problem == ALIAS_ONLY and link.kind == WIKI_LINK and not link.embed
                turn = self._turn(paths, link, source, link.target if by_name else None)
                said = f"{why} {_listed(paths)}"
                if problem == ALIAS_ONLY:
                    said += "; links follow file names"
                return LinkTargetCheck("", None, problem, said, paths, turn)
        named = self.alike.get(similarity_key(file_name_of(link.target)), ())
        if named:
            return LinkTargetCheck("", None, BROKEN, f"there is {_listed(named)}", named)
        if "://" in link.target:
            why = "it is a web address, which double brackets do not lead to"
        else:
            why = f"nothing is called {file_name_of(link.target)}"
        return LinkTargetCheck("", None, BROKEN, why)

    def _guesses(
        self, target: str, source: VaultPath
    ) -> Iterator[tuple[str, tuple[VaultPath, ...], str]]:
        """Problem, notes and why, the surest first."""
        yield ALIAS_ONLY, self.aliases.get(fold_case(target), ()), "it is an alias of"
        was = self.once.resolve(target, source)
        yield BROKEN, (self.moved[was],) if was else (), "the note moved to"
        yield ALIAS_ONLY, self.titles.get(fold_case(target), ()), "it is the title of"
        alike = self.alike.get(similarity_key(file_name_of(target)), ())
        near = tuple(path for path in alike if _ends_alike(path, target))
        yield BROKEN, near, "it is spelled otherwise than"

    def _turn(
        self,
        to: tuple[VaultPath, ...],
        link: Link,
        source: VaultPath,
        shown: str | None,
    ) -> Retarget | None:
        """How the link is mended when there is just one note it can have meant."""
        said = link_target_text(self.names, to[0], link, source) if len(to) == 1 else None
        return Retarget(said, shown) if said is not None else None


def _inverted(
    names: Mapping[VaultPath, Iterable[str]], key_of: Callable[[str], str]
) -> dict[str, tuple[VaultPath, ...]]:
    """Key of a name -> the files that have it, in order."""
    found: dict[str, list[VaultPath]] = defaultdict(list)
    for path, many in names.items():
        for key in dict.fromkeys(map(key_of, many)):
            found[key].append(path)
    return {key: tuple(paths) for key, paths in found.items()}


_BLANKS = re.compile(r"[\s_\-\u2010-\u2015]+")


def similarity_key(name: str) -> str:
    """The same for names that differ in case, width, blanks, hyphens or `.md` only."""
    text = unicodedata.normalize("NFKC", name_key(name)).casefold()
    return _BLANKS.sub(" ", text).strip()


def _ends_alike(path: VaultPath, target: str) -> bool:
    """Whether a path ends in the folders that a target names."""
    wanted = [similarity_key(each) for each in target.split("/") if each not in ("", ".", "..")]
    return [similarity_key(each) for each in path.split("/")][-len(wanted) :] == wanted


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
