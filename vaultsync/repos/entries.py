"""Entries about a repository as facts, as values for programs, and in the inspectable files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from vaultsync.errors import InvalidFieldError
from vaultsync.model.fact import Fact
from vaultsync.model.schema import LINEAGE, PLACE_PROPERTIES, Value
from vaultsync.repos.repo_identity import RepoIdentity

Source = Literal["manual", "agent", "tool"]
MANUAL: Final = "manual"
AGENT: Final = "agent"
SOURCES: tuple[Source, ...] = ("manual", "agent", "tool")
MAX_SUMMARY_BYTES = 64 << 10
"""The longest summary of a step, as UTF-8."""

CONVENTION, DECISION, NOTE, SUMMARY = "convention", "decision", "note", "episodic"
KINDS = (CONVENTION, DECISION, NOTE, SUMMARY)
"""The types of the facts of a repository."""
REPOSITORY_TYPE = "project"
"""The type of the note of the repository itself."""

REPO, _, BRANCH, COMMIT, PROMOTED = PLACE_PROPERTIES
REPLACES, STEP, PATHS = "replaces", "stepId", "impactedPaths"
"""Properties of the facts of a repository, beside the link to its note."""
WEEK = "week"
"""The property of a digest that names its week."""
DECISION_PATHS, DECISION_RATIONALE = "decisionImpactedPaths", "decisionRationale"
_OPEN = re.compile(
    r"^\s*(?:[-*+]\s+\[ \]\s+|(?:follow[- ]?up|todo|next(?: step)?)\s*:\s*)(.+)$", re.IGNORECASE
)
_OPEN_BOX = re.compile(r"^\s*[-*+]\s+\[ \]\s")
_DONE = re.compile(r"^\s*[-*+]\s+\[[xX]\]\s+(.+)$")
_DECIDED = re.compile(r"^\s*(?:[-*+]\s+)?(?:decision|decided)\s*:\s*(.+)$", re.IGNORECASE)


class RepoConvention(Struct, frozen=True, rename="camel"):
    """A rule for work in a repository."""

    id: str
    title: str
    content: str
    tags: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""


class RepoDecision(Struct, frozen=True, rename="camel"):
    """A decision, its reason, and the files that it affects."""

    id: str
    summary: str
    rationale: str = ""
    impacted_paths: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""


class RepoNote(Struct, frozen=True, rename="camel"):
    """Any other knowledge."""

    id: str
    content: str
    source: Source = MANUAL
    created_at: str = ""
    updated_at: str = ""


class StepSummary(Struct, frozen=True, rename="camel"):
    """The summary of a step of work: a line of `summaries.jsonl`."""

    run_id: str
    step_id: str
    timestamp: str
    summary: str
    tags: tuple[str, ...] = ()
    id: str = ""
    """Of its fact; empty where another program appended the line."""


Entry = RepoConvention | RepoDecision | RepoNote | StepSummary


class RepoMemory(Struct, frozen=True):
    """All entries that hold on a branch of a repository."""

    conventions: tuple[RepoConvention, ...] = ()
    decisions: tuple[RepoDecision, ...] = ()
    notes: tuple[RepoNote, ...] = ()
    summaries: tuple[StepSummary, ...] = ()
    """The newest first."""


class Recorded(Struct, frozen=True):
    """Where a fact was written."""

    commit: Annotated[str | None, Meta(description="None: it applies to all branches.")]
    branch: str | None
    promoted: tuple[str, ...] = ()
    """Further commits at which it holds."""
    replaces: tuple[str, ...] = ()
    """Facts that do not hold where this one does."""


def recorded(fact: Fact) -> Recorded:
    """Where a fact was written, by its properties, which the user may have edited."""
    get = fact.properties.get  # none of these is a field of its own
    commit, branch = get(COMMIT), get(BRANCH)
    return Recorded(
        str(commit) if commit else None,
        str(branch) if branch else None,
        _texts(get(PROMOTED)),
        _texts(get(REPLACES)),
    )


def _texts(value: Value) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(map(str, value))
    return (str(value),) if value else ()


def theme_of(lineage: str) -> str:
    """The theme of the facts of a repository, by which an index finds them."""
    return f"repo-{lineage[:16]}"


def scope_of(slug: str) -> str:
    """The scope of the facts of a repository."""
    return f"project-{slug}"


def belongs(fact: Fact, identity: RepoIdentity) -> bool:
    """Whether a fact is about a repository: by its lineage, else by its scope."""
    lineage = fact.value(LINEAGE)
    if lineage:
        return lineage in identity.lineages
    return fact.scope == scope_of(identity.slug)


def paths_of(fact: Fact) -> tuple[str, ...]:
    """The files and folders that a fact is about."""
    return _texts(fact.value(DECISION_PATHS)) or _texts(fact.value(PATHS))


def place_values(identity: RepoIdentity, *, unscoped: bool = False) -> dict[str, Value]:
    """The properties of a new fact that record where it was written.

    A fact that is `unscoped` holds on every branch.
    """
    values: dict[str, Value] = {
        "scope": scope_of(identity.slug),
        "themeIds": [theme_of(identity.lineage)],
        LINEAGE: identity.lineage,
    }
    if not unscoped and identity.commit is not None:
        values[COMMIT] = identity.commit
        if identity.branch is not None:
            values[BRANCH] = identity.branch
    return values


def convention_values(title: str, content: str, tags: Iterable[str]) -> dict[str, Value]:
    """A convention as the values of a fact.

    Raises:
        InvalidFieldError: the title or the content is blank.
    """
    return {
        "type": CONVENTION,
        "title": _line("title", title),
        "content": _text("content", content),
        "tags": [*tags],
    }


def decision_values(summary: str, rationale: str, paths: Iterable[str]) -> dict[str, Value]:
    """A decision as the values of a fact.

    Raises:
        InvalidFieldError: the summary is blank, or a path is no text.
    """
    return {
        "type": DECISION,
        "title": _line("summary", summary),
        "content": rationale,
        DECISION_PATHS: [clean_path(each) for each in paths],
    }


def note_values(content: str, source: str) -> dict[str, Value]:
    """A note as the values of a fact.

    Raises:
        InvalidFieldError: it is blank, or the source is none of the three.
    """
    return {"type": NOTE, "content": _text("content", content), "source": check_source(source)}


def summary_values(
    run_id: str, step_id: str, summary: str, tags: Iterable[str], follow_ups: Iterable[str]
) -> dict[str, Value]:
    """The summary of a step as the values of a fact.

    Raises:
        InvalidFieldError: it is blank, longer than 64 KiB, or a name is.
    """
    boxes = "".join(f"\n- [ ] {' '.join(each.split())}" for each in follow_ups if each.strip())
    content = _text("summary", summary).rstrip() + ("\n" + boxes if boxes else "")
    if len(content.encode("utf-8", "surrogatepass")) > MAX_SUMMARY_BYTES:
        raise InvalidFieldError("summary", content, "text of up to 64 KiB")
    return {
        "type": SUMMARY,
        "content": content,
        "sessionId": _line("run", run_id),
        STEP: _line("step", step_id),
        "tags": [*tags],
    }


def check_source(source: str) -> str:
    """The origin of a note; raises InvalidFieldError for an unknown one."""
    if source not in SOURCES:
        raise InvalidFieldError("source", source, "manual, agent or tool")
    return source


def _text(name: str, value: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidFieldError(name, value, "text that is not blank")
    return value


def _line(name: str, value: str) -> str:
    return " ".join(_text(name, value).split())


def clean_path(path: str) -> str:
    """A path relative to the root of a repository, in one spelling; a folder ends with `/`."""
    parts: list[str] = []
    for each in str(path).replace("\\", "/").split("/"):
        if each == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif each not in ("", "."):
            parts.append(each)
    folder = "/" if parts and str(path).endswith("/") else ""
    return "/".join(parts) + folder


def to_entry(fact: Fact) -> Entry:
    """A fact of a repository as its entry."""
    created, updated = fact.created_at, fact.updated_at or fact.created_at
    if fact.type == CONVENTION:
        return RepoConvention(fact.id, fact.title, fact.content, fact.tags, created, updated)
    if fact.type == DECISION:
        why = str(fact.value(DECISION_RATIONALE) or "") or fact.content
        return RepoDecision(fact.id, fact.title, why, paths_of(fact), created, updated)
    if fact.type == SUMMARY:
        run, step = fact.session_id or "", str(fact.value(STEP) or "")
        return StepSummary(run, step, created, fact.content, fact.tags, fact.id)
    source = next((x for x in SOURCES if x == fact.source), AGENT if fact.agent_id else MANUAL)
    return RepoNote(fact.id, fact.content or fact.title, source, created, updated)


def by_kind(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts by the list in which they are shown, each sorted by time and id."""
    lists: dict[str, list[Fact]] = {kind: [] for kind in KINDS}
    for fact in facts:
        lists[fact.type if fact.type in lists else NOTE].append(fact)
    for found in lists.values():
        found.sort(key=lambda fact: (fact.created_at, fact.id))
    return lists


def to_memory(facts: Iterable[Fact]) -> RepoMemory:
    """The entries of facts, each list sorted by time and id, summaries newest first."""
    lists = {kind: [*map(to_entry, found)] for kind, found in by_kind(facts).items()}
    return RepoMemory(
        tuple(x for x in lists[CONVENTION] if isinstance(x, RepoConvention)),
        tuple(x for x in lists[DECISION] if isinstance(x, RepoDecision)),
        tuple(x for x in lists[NOTE] if isinstance(x, RepoNote)),
        tuple(x for x in reversed(lists[SUMMARY]) if isinstance(x, StepSummary)),
    )


def open_follow_ups(summaries: Sequence[Fact]) -> list[str]:
    """The open follow-ups of summaries, newest first: unticked boxes and lines such as `Next: …`.

    The `summaries` are newest first: a ticked box closes the same one in older ones.
    """
    found: dict[str, str] = {}
    closed: set[str] = set()
    for fact in summaries:
        for line in fact.content.splitlines():
            if done := _DONE.match(line):
                closed.add(_key(done[1]))
            elif (todo := _OPEN.match(line)) and _key(todo[1]) not in closed:
                found.setdefault(_key(todo[1]), todo[1].strip())
    return [text for key, text in found.items() if key not in closed]


def without_boxes(text: str) -> str:
    """A summary without its boxes, which are listed separately."""
    lines = (x for x in text.splitlines() if not (_DONE.match(x) or _OPEN_BOX.match(x)))
    return "\n".join(lines).strip()


def decided_in(summary: Fact) -> list[str]:
    """The lines of a summary that state a decision."""
    lines = map(_DECIDED.match, summary.content.splitlines())
    return [each[1].strip() for each in lines if each]


def _key(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
