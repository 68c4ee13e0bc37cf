"""The context pack of a repository: what a step of work should know, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from vaultsync.model.fact import Fact
from vaultsync.repos.entries import (
    CONVENTION,
    DECISION,
    DECISION_RATIONALE,
    NOTE,
    STEP,
    SUMMARY,
    WEEK,
    clean_path,
    open_follow_ups,
    paths_of,
    without_boxes,
)

DEFAULT_CHARS = 8_000
FOLLOW_UP, MAP = "follow_up", "map"
RepoMapText = Callable[[int], str]
"""A map of the repository within a number of characters; empty where there is none."""


class RepoContextItem(Struct, frozen=True):
    """Something that is in the text."""

    kind: str
    """`convention`, `decision`, `note`, `episodic` (a summary), `follow_up` or `map`."""
    id: str
    """Of its fact; empty for a follow-up and the map."""
    title: str
    chars: int
    """Of its part of the text."""


class RepoLeftOut(Struct, frozen=True):
    """Something that is not in the text."""

    kind: str
    id: str
    title: str
    why: str


class RepoContext(Struct, frozen=True):
    """Knowledge about a repository for a step of work."""

    text: str
    """In Markdown."""
    chars: int
    max_chars: int
    items: tuple[RepoContextItem, ...]
    left_out: tuple[RepoLeftOut, ...]


def build_repo_context(
    facts: Sequence[Fact],
    *,
    open_files: Sequence[str] = (),
    max_chars: int = DEFAULT_CHARS,
    max_summaries: int = 10,
    repo_map: RepoMapText | None = None,
) -> RepoContext:
    """Pack what holds on a branch: conventions first, then decisions about the open files.

    Open follow-ups, the latest summaries, notes and a map of the repository follow. Items that do
    not fit are left out whole, and listed. The `open_files` are relative to the root; a folder ends
    with `/`, and without any all decisions count. `repo_map` makes a map for the rest of the
    budget.
    """
    pack = _RepoPack(max_chars)
    ordered = sorted(facts, key=lambda each: (each.created_at, each.id), reverse=True)
    kinds = {kind: [x for x in ordered if x.type == kind] for kind in (CONVENTION, SUMMARY, NOTE)}
    for fact in sorted(kinds[CONVENTION], key=lambda x: (x.priority, x.title.casefold(), x.id)):
        pack.add("Conventions", CONVENTION, fact.id, fact.title, _titled(fact))
    opened = [clean_path(each) for each in open_files]
    for fact, meets in _ranked([x for x in ordered if x.type == DECISION], opened):
        if meets:
            pack.add("Decisions", DECISION, fact.id, fact.title, _decision(fact))
        else:
            pack.leave_out(DECISION, fact.id, fact.title, "it is about other files")
    digests = [each for each in kinds[NOTE] if each.value(WEEK)]
    for text in open_follow_ups([*kinds[SUMMARY], *digests]):
        pack.add("Open follow-ups", FOLLOW_UP, "", text, text)
    for number, fact in enumerate(kinds[SUMMARY]):
        if number < max_summaries:
            pack.add("Latest steps", SUMMARY, fact.id, fact.title, _summary(fact))
        else:
            why = f"there are {max_summaries} newer summaries"
            pack.leave_out(SUMMARY, fact.id, fact.title, why)
    for fact in kinds[NOTE]:
        text = without_boxes(fact.content) if fact.value(WEEK) else fact.content
        pack.add("Notes", NOTE, fact.id, fact.title, text or fact.title)
    if repo_map is not None:
        pack.add_map(repo_map)
    return pack.packed()


def touches(paths: Iterable[str], open_files: Iterable[str]) -> bool:
    """Whether a path of one list equals, contains or lies in one of the other."""
    others = [*map(_as_folder, open_files)]
    own = map(_as_folder, paths)
    return any(x.startswith(other) or other.startswith(x) for x in own for other in others)


def _as_folder(path: str) -> str:
    """A path that ends with `/`, so that it begins those below it; the root is empty."""
    bare = path.rstrip("/")
    return f"{bare}/" if bare else ""


def _ranked(decisions: Sequence[Fact], open_files: Sequence[str]) -> Iterator[tuple[Fact, bool]]:
    """The decisions about the open files, those about no file, and the others."""
    about = [
        x for x in decisions if paths_of(x) and (not open_files or touches(paths_of(x), open_files))
    ]
    general = [x for x in decisions if not paths_of(x)]
    yield from ((fact, True) for fact in (*about, *general))
    yield from ((x, False) for x in decisions if x not in about and x not in general)


def _titled(fact: Fact) -> str:
    content = fact.content.strip()
    return content if content.startswith(fact.title) else f"**{fact.title}**: {content}"


def _decision(fact: Fact) -> str:
    why = str(fact.value(DECISION_RATIONALE) or "").strip() or fact.content.strip()
    paths = ", ".join(f"`{each}`" for each in paths_of(fact))
    text = f"**{fact.title}**" + (f" ({paths})" if paths else "")
    return f"{text}: {why}" if why and why != fact.title else text


def _summary(fact: Fact) -> str:
    run, step = fact.session_id or "", str(fact.value(STEP) or "")
    name = " ".join(each for each in (fact.created_at[:10], run, step) if each)
    return f"{name}: {without_boxes(fact.content)}"


class _RepoPack:
    def __init__(self, max_chars: int) -> None:
        self._max = max_chars
        self._parts: list[str] = []
        self._chars = 0
        self._section = ""
        self._items: list[RepoContextItem] = []
        self._left_out: list[RepoLeftOut] = []

    def add(self, section: str, kind: str, fact_id: str, title: str, text: str) -> None:
        """Add an entry as a list item, if it fits."""
        lines = text.strip().split("\n")
        entry = "\n".join([f"- {lines[0]}", *(f"  {x}" if x else "" for x in lines[1:])])
        self._put(section, kind, fact_id, title, f"{entry}\n")

    def _put(self, section: str, kind: str, fact_id: str, title: str, entry: str) -> None:
        heading = f"## {section}\n\n"
        if self._section:
            heading = "" if section == self._section else f"\n{heading}"
        part = heading + entry
        if self._chars + len(part) > self._max:
            self.leave_out(kind, fact_id, title, "the text would be too long")
            return
        self._section = section
        self._parts.append(part)
        self._chars += len(part)
        self._items.append(RepoContextItem(kind, fact_id, title, len(part)))

    def add_map(self, repo_map: RepoMapText) -> None:
        """Add the map within the rest of the budget."""
        heading = len("\n## Map\n\n\n")
        left = self._max - self._chars - heading
        text = repo_map(left).strip("\n") if left > 0 else ""
        if text:
            self._put("Map", MAP, "", "Map", f"{text}\n")

    def leave_out(self, kind: str, fact_id: str, title: str, why: str) -> None:
        """List an item that is not in the text, with the reason."""
        self._left_out.append(RepoLeftOut(kind, fact_id, title, why))

    def packed(self) -> RepoContext:
        """The pack."""
        text = "".join(self._parts)
        items, left_out = tuple(self._items), tuple(self._left_out)
        return RepoContext(text, len(text), self._max, items, left_out)
