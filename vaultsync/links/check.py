"""Find broken links, ambiguous links, and links that name only an alias.

Links are resolved as in Obsidian; see docs/concepts/links-and-graph.md.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from vaultsync.links.references import LinkAnchors, property_texts
from vaultsync.links.rewrite import Retarget, link_target_text
from vaultsync.links.wikilinks import WIKI_LINK, Link, LinkResolver, name_key
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, file_name_of, fold_case, parent_folder
from vaultsync.model.schema import Value

T = TypeVar("T")

BROKEN, AMBIGUOUS, ALIAS_ONLY = "broken", "ambiguous", "alias_only"


class LinkTargetCheck(NamedTuple):
    """Where a link leads, and what is wrong with it."""

    rule: str
    """How it was resolved, in words; empty if it leads nowhere."""
    to: VaultPath | None = None
    problem: str = ""
    """`BROKEN`, `AMBIGUOUS`, `ALIAS_ONLY` or empty."""
    why: str = ""
    candidates: tuple[VaultPath, ...] = ()
    """The notes that it leads to, or was meant to lead to."""
    fix: Retarget | None = None
    """The new target, if there is only one that it can have meant."""


@dataclass(frozen=True, slots=True)
class LinkSurvey:
    """The names of all files of a vault, and the anchors of its notes."""

    resolver: LinkResolver
    anchors: Mapping[VaultPath, LinkAnchors]
    """Of the notes that could be read."""
    aliases: Mapping[str, tuple[VaultPath, ...]]
    """Folded alias -> notes."""
    titles: Mapping[str, tuple[VaultPath, ...]]
    """Folded title -> notes."""
    similar: Mapping[str, tuple[VaultPath, ...]]
    """`similarity_key()` of a name, alone and with that of its folder before it -> files."""
    moved: Mapping[VaultPath, VaultPath] = field(default_factory=dict)
    """Former path -> current path."""
    former: LinkResolver = field(default_factory=lambda: LinkResolver.of(()))
    """Resolves links among the former paths."""

    @classmethod
    def of(
        cls,
        paths: Iterable[VaultPath],
        anchors: Mapping[VaultPath, LinkAnchors],
        aliases: Mapping[VaultPath, Iterable[str]],
        titles: Mapping[VaultPath, Iterable[str]],
    ) -> LinkSurvey:
        """A survey of all files, with what is known of the notes among them."""
        known = sorted(set(paths))
        return cls(
            LinkResolver.of(known),
            anchors,
            _inverted(aliases, lambda name: fold_case(name.strip())),
            _inverted(titles, lambda name: fold_case(name.strip())),
            _inverted({x: [x.split("/")[-1:], x.split("/")[-2:]] for x in known}, _keys),
        )

    def check(self, link: Link, source: VaultPath) -> LinkTargetCheck:
        """Where a link in the note at `source` leads, and what is wrong with it."""
        found = self.resolver.candidates(link.target, source)
        if not found:
            return self._check_unresolved(link, source)
        to, rule = found[0], self._rule(link, source, found)
        missing = self._missing_anchor(link, to)
        if missing:
            return LinkTargetCheck(rule, to, BROKEN, missing, (to,))
        if len(found) > 1:
            why = f"{len(found)} files have this name; it resolves to {to} by the {rule}"
            return LinkTargetCheck(rule, to, AMBIGUOUS, why, found)
        return LinkTargetCheck(rule, to)

    def _rule(self, link: Link, source: VaultPath, found: tuple[VaultPath, ...]) -> str:
        target = link.target
        if not target:
            return "note itself"
        if len(found) > 1:
            beside = fold_case(parent_folder(found[0])) == fold_case(parent_folder(source))
            return "note's own folder" if beside else "shortest path"
        if target.startswith(("./", "../")):
            return "path from the note"
        if "/" not in target:
            return "name"
        whole = fold_case(target.lstrip("/")).removesuffix(".md")
        exact = fold_case(found[0]).removesuffix(".md") == whole
        return "path" if exact else "end of the path"

    def _missing_anchor(self, link: Link, to: VaultPath) -> str:
        """Says that a note lacks the heading or block of a link; empty if it does not."""
        anchors = self.anchors.get(to)
        if not link.subpath or anchors is None or anchors.holds(link.subpath):
            return ""
        what = "block" if link.subpath.startswith("#^") else "heading"
        return f"{to} has no {what} {link.subpath.lstrip('#')}"

    def _check_unresolved(self, link: Link, source: VaultPath) -> LinkTargetCheck:
        """What a link that leads nowhere was probably meant to lead to."""
        for problem, paths, guess in self._guesses(link.target, source):
            if paths:
                alias = problem == ALIAS_ONLY
                why = f"{guess} {_listed(paths)}" + "; links follow file names" * alias
                fix = None
                if len(paths) == 1:
                    text = link_target_text(self.resolver, paths[0], link, source)
                    by_name = alias and link.kind == WIKI_LINK and not link.embed
                    fix = Retarget(text, link.target if by_name else None) if text else None
                return LinkTargetCheck("", None, problem, why, paths, fix)
        similar = self.similar.get(similarity_key(file_name_of(link.target)), ())
        if similar:
            return LinkTargetCheck("", None, BROKEN, f"there is {_listed(similar)}", similar)
        if "://" in link.target:
            why = "it is a URL, to which double brackets cannot link"
        else:
            why = f"nothing is called {file_name_of(link.target)}"
        return LinkTargetCheck("", None, BROKEN, why)

    def _guesses(
        self, target: str, source: VaultPath
    ) -> Iterator[tuple[str, tuple[VaultPath, ...], str]]:
        """Problem, notes and explanation; the most certain guess first."""
        yield ALIAS_ONLY, self.aliases.get(fold_case(target), ()), "it is an alias of"
        former = self.former.resolve(target, source)
        yield BROKEN, (self.moved[former],) if former else (), "the note moved to"
        yield ALIAS_ONLY, self.titles.get(fold_case(target), ()), "it is the title of"
        wanted = [x for x in target.split("/") if x not in ("", ".", "..")]
        similar = self.similar.get(_keys(wanted[-2:]), ())
        ending = f"\0{_keys(wanted)}"
        matching = tuple(x for x in similar if f"\0{_keys(x.split('/'))}".endswith(ending))
        yield BROKEN, matching, "it is spelled differently from"


def _inverted(
    names: Mapping[VaultPath, Iterable[T]], key_of: Callable[[T], str]
) -> dict[str, tuple[VaultPath, ...]]:
    """Key of a name -> the files that have it, in order."""
    found: dict[str, list[VaultPath]] = defaultdict(list)
    for path, own in names.items():
        for key in dict.fromkeys(map(key_of, own)):
            found[key].append(path)
    return {key: tuple(paths) for key, paths in found.items()}


_BLANKS = lazy_pattern(r"[\s_\-\u2010-\u2015]+")


def similarity_key(name: str) -> str:
    """A key shared by names that differ only in case, width, blanks, hyphens or `.md`."""
    text = unicodedata.normalize("NFKC", name_key(name)).casefold()
    return _BLANKS.sub(" ", text).strip()


def _keys(names: Sequence[str]) -> str:
    return "\0".join(map(similarity_key, names))


def _listed(paths: tuple[VaultPath, ...]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""  # noqa: PLR2004 - enough for a line
    return ", ".join(paths[:3]) + more


def aliases_of(properties: Mapping[str, Value]) -> list[str]:
    """The aliases of a note."""
    return [each for each in property_texts(properties, "aliases") if each.strip()]
