"""Tools for what is known about a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from vaultsync.errors import InvalidFieldError
from vaultsync.mcp_server.tool import Tool, ToolAnswer, ToolArgs, about, evident
from vaultsync.mcp_server.toolsets import REPO

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

Repo = Annotated[str | None, about("A folder in it; default: here.")]


class RepoContextArgs(ToolArgs, frozen=True):
    """The arguments of `repo_context`."""

    max_chars: Annotated[int, evident("Maximum number."), Meta(ge=1, le=200_000)] = 8_000
    paths: Annotated[tuple[str, ...], about("Default: changed files.")] = ()
    repo: Repo = None


def context(memory: AgentMemory, args: RepoContextArgs) -> ToolAnswer:
    """`repos.context`."""
    return memory.repos.context(args.repo, max_chars=args.max_chars, paths=args.paths or None)


class RepoRememberArgs(ToolArgs, frozen=True):
    """The arguments of `repo_remember`."""

    kind: Annotated[Literal["convention", "decision", "note"], evident("What it is.")]
    text: Annotated[str, about("The rule, the reasons or the note."), Meta(min_length=1)]
    title: Annotated[str, about("Required unless a note; the same replaces.")] = ""
    paths: Annotated[tuple[str, ...], about("Of a decision.")] = ()
    tags: Annotated[tuple[str, ...], about("Of a convention.")] = ()
    repo: Repo = None


_FIELDS_OF = {"convention": ("title", "tags"), "decision": ("title", "paths"), "note": ()}


def remember(memory: AgentMemory, args: RepoRememberArgs) -> ToolAnswer:
    """`repos.upsert_convention`, `upsert_decision` or `add_note`."""
    repos = memory.repos
    for name in ("title", "paths", "tags"):
        if (value := getattr(args, name)) and name not in _FIELDS_OF[args.kind]:
            raise InvalidFieldError(name, value, f"nothing: a {args.kind} has none")
    if args.kind == "note":
        return repos.add_note(args.repo, content=args.text)
    if not args.title.strip():
        raise InvalidFieldError("title", args.title, "a line that names it")
    if args.kind == "convention":
        return repos.upsert_convention(
            args.repo, title=args.title, content=args.text, tags=args.tags
        )
    return repos.upsert_decision(
        args.repo, summary=args.title, rationale=args.text, impacted_paths=args.paths
    )


class RepoSummarizeStepArgs(ToolArgs, frozen=True):
    """The arguments of `repo_summarize_step`."""

    run: Annotated[str, evident("Id of the work run.")]
    step: Annotated[str, evident("Id of the step in it.")]
    summary: Annotated[str, evident("What happened, with the result."), Meta(min_length=1)]
    follow_ups: Annotated[tuple[str, ...], evident("What is left.")] = ()
    tags: Annotated[tuple[str, ...], evident("Its topics.")] = ()
    repo: Repo = None


def summarize_step(memory: AgentMemory, args: RepoSummarizeStepArgs) -> ToolAnswer:
    """`repos.append_summary`."""
    return memory.repos.append_summary(
        args.run,
        args.step,
        args.summary,
        repo=args.repo,
        tags=args.tags,
        follow_ups=args.follow_ups,
    )


REPO_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "repo_context",
        "Get repository context",
        "Get what applies to this git branch: conventions, decisions about files, follow-ups,"
        " latest steps. Use it before you work on code.",
        RepoContextArgs,
        "RepoContext",
        context,
        reads=True,
        fresh=True,
        longest=None,
        unlisted=frozenset({"max_chars"}),
        toolset=REPO,
    ),
    Tool(
        "repo_remember",
        "Remember about the repository",
        "Store a convention, decision or note about the code, for this git branch and, once"
        " merged, others.",
        RepoRememberArgs,
        "RepoEntry",
        remember,
        toolset=REPO,
    ),
    Tool(
        "repo_summarize_step",
        "Summarize a step",
        "Record at the end of a step what happened and what is left.",
        RepoSummarizeStepArgs,
        "StepSummary",
        summarize_step,
        sentences=frozenset({"follow_ups"}),
        unlisted=frozenset({"tags"}),
        toolset=REPO,
    ),
)
