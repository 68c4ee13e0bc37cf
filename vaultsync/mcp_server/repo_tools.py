"""Tools for what is known about a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from vaultsync.errors import InvalidFieldError
from vaultsync.mcp_server.tool import Tool, ToolAnswer, ToolArgs, about
from vaultsync.mcp_server.toolsets import REPO

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

Repo = Annotated[str | None, about("A folder in it; default: the server's folder.")]


class RepoContextArgs(ToolArgs, frozen=True):
    """The arguments of `repo_context`."""

    max_chars: Annotated[int, about("Maximum number."), Meta(ge=1, le=200_000)] = 8_000
    paths: Annotated[tuple[str, ...], about("Open files; default: changed files.")] = ()
    repo: Repo = None


def context(memory: AgentMemory, args: RepoContextArgs) -> ToolAnswer:
    """`repos.context`."""
    return memory.repos.context(args.repo, max_chars=args.max_chars, paths=args.paths or None)


class RepoRememberArgs(ToolArgs, frozen=True):
    """The arguments of `repo_remember`."""

    kind: Annotated[Literal["convention", "decision", "note"], about("What it is.")]
    text: Annotated[str, about("The rule, why it was decided, or the note."), Meta(min_length=1)]
    title: Annotated[str, about("For a convention or decision; the same title replaces.")] = ""
    paths: Annotated[tuple[str, ...], about("Files that a decision affects.")] = ()
    tags: Annotated[tuple[str, ...], about("For a convention.")] = ()
    repo: Repo = None


def remember(memory: AgentMemory, args: RepoRememberArgs) -> ToolAnswer:
    """`repos.upsert_convention`, `upsert_decision` or `add_note`."""
    repos = memory.repos
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

    run: Annotated[str, about("Id of the work run.")]
    step: Annotated[str, about("Id of the step in it.")]
    summary: Annotated[str, about("What happened, with the result."), Meta(min_length=1)]
    follow_ups: Annotated[tuple[str, ...], about("What is left.")] = ()
    tags: Annotated[tuple[str, ...], about("Its topics.")] = ()
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
        "Get what applies to this branch of the git repository: conventions, decisions about"
        " open files, follow-ups, the latest steps. Call it before you work on code.",
        RepoContextArgs,
        "RepoContext",
        context,
        reads=True,
        fresh=True,
        longest=None,
        toolset=REPO,
    ),
    Tool(
        "repo_remember",
        "Remember about the repository",
        "Store a convention, decision or note about the git repository. It applies to this"
        " branch, and to others once merged.",
        RepoRememberArgs,
        "RepoEntry",
        remember,
        idempotent=True,
        toolset=REPO,
    ),
    Tool(
        "repo_summarize_step",
        "Summarize a step",
        "Record at the end of a step what happened and what is left, for the next step.",
        RepoSummarizeStepArgs,
        "StepSummary",
        summarize_step,
        toolset=REPO,
    ),
)
