"""Tools for what is known about a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

from msgspec import Meta

from vaultsync.errors import InvalidFieldError, UsageError
from vaultsync.mcp_server.tool import ToolArgs, about, evident, tool
from vaultsync.mcp_server.toolsets import REPO

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.mcp_server.answers import RepoEntry
    from vaultsync.repos.entries import RepoConvention, RepoDecision, RepoNote, StepSummary
    from vaultsync.repos.repo_context import RepoContext

Repo = Annotated[str | None, about("A folder in it; default: here.")]


class _RepoContextArgs(ToolArgs, frozen=True):
    max_chars: Annotated[int, evident("Maximum number."), Meta(ge=1, le=200_000)] = 8_000
    paths: Annotated[tuple[str, ...], about("Default: changed files.")] = ()
    repo: Repo = None


@tool(
    "repo_context",
    "Get repository context",
    "Get what applies to this git branch: conventions, decisions about files, follow-ups,"
    " latest steps. Use it before you work on code.",
    reads=True,
    fresh=True,
    longest=None,
    unlisted=frozenset({"max_chars"}),
    toolset=REPO,
)
def context(memory: AgentMemory, args: _RepoContextArgs) -> RepoContext:
    """`repos.context`."""
    return memory.repos.context(args.repo, max_chars=args.max_chars, paths=args.paths or None)


class _RepoRememberArgs(ToolArgs, frozen=True):
    kind: Annotated[Literal["convention", "decision", "note"], evident("What it is.")]
    text: Annotated[str, about("The rule, the reasons or the note."), Meta(min_length=1)]
    title: Annotated[str, about("Required unless a note; the same replaces.")] = ""
    paths: Annotated[tuple[str, ...], about("Of a decision.")] = ()
    tags: Annotated[tuple[str, ...], about("Of a convention.")] = ()
    repo: Repo = None


_FIELDS_OF = {"convention": ("title", "tags"), "decision": ("title", "paths"), "note": ()}


@tool(
    "repo_remember",
    "Remember about the repository",
    "Store a convention, decision or note about the code, for this git branch and, once"
    " merged, others.",
    toolset=REPO,
)
def remember(memory: AgentMemory, args: _RepoRememberArgs) -> RepoEntry:
    """`repos.upsert_convention`, `upsert_decision` or `add_note`."""
    repos = memory.repos
    for name in ("title", "paths", "tags"):
        if (value := getattr(args, name)) and name not in _FIELDS_OF[args.kind]:
            message = f"{name}: a {args.kind} has none, got {value!r:.80}"
            raise UsageError(message, hint=f"leave out {name}, or choose another kind")
    if args.kind != "note" and not args.title.strip():
        raise InvalidFieldError("title", args.title, "a line that names it")
    entry: RepoNote | RepoConvention | RepoDecision
    if args.kind == "note":
        entry = repos.add_note(args.repo, content=args.text)
    elif args.kind == "convention":
        entry = repos.upsert_convention(
            args.repo, title=args.title, content=args.text, tags=args.tags
        )
    else:
        entry = repos.upsert_decision(
            args.repo, summary=args.title, rationale=args.text, impacted_paths=args.paths
        )
    return cast("RepoEntry", entry)


class _RepoSummarizeStepArgs(ToolArgs, frozen=True):
    run: Annotated[str, evident("Id of the work run.")]
    step: Annotated[str, evident("Id of the step in it.")]
    summary: Annotated[str, evident("What happened, with the result."), Meta(min_length=1)]
    follow_ups: Annotated[tuple[str, ...], evident("What is left.")] = ()
    tags: Annotated[tuple[str, ...], evident("Its topics.")] = ()
    repo: Repo = None


@tool(
    "repo_summarize_step",
    "Summarize a step",
    "Record at the end of a step what happened and what is left.",
    sentences=frozenset({"follow_ups"}),
    unlisted=frozenset({"tags"}),
    toolset=REPO,
)
def summarize_step(memory: AgentMemory, args: _RepoSummarizeStepArgs) -> StepSummary:
    """`repos.append_summary`."""
    return memory.repos.append_summary(
        args.run,
        args.step,
        args.summary,
        repo=args.repo,
        tags=args.tags,
        follow_ups=args.follow_ups,
    )
