"""Permissions: in which scopes an agent reads, writes and proposes. The user (None) may all.

The rules, first to last:

- An agent's own private scope is always its own. That of another agent is closed to it, unless
  its table names the scope in full.
- A list of members closes a team or a project to all other agents, whatever their tables say.
- A scope must be in the agent's list; a list that the table of the agent leaves out is the
  default one.
- An agent writes and proposes only where it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, structs

from vaultsync.model.scope import is_private, is_scope

EVERY_AGENT: Final = "*"
"""The name of the table for agents that have none of their own."""
READ: Final = ("public", "team-*", "project-*")
WRITE: Final = ("project-*",)
PROPOSE: Final = ("public", "team-*")
Scopes: TypeAlias = tuple[str, ...]
"""Names of scopes. `*` at the end of one stands for any end, but not of a private scope."""


_Share = Annotated[float, Meta(ge=0, description="a number (0 or more)")]
_Count = Annotated[int, Meta(ge=1, description="a whole number (1 or more)")]


class AgentWeights(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The weights of an agent's recall; one that is left out is that of the vault."""

    similarity: _Share | None = None
    recency: _Share | None = None
    utility: _Share | None = None
    vectors: _Share | None = None
    least: _Share | None = None


class AgentPermissions(Struct, frozen=True, forbid_unknown_fields=True):
    """The table of one agent; beside these scopes, it reads and writes its own."""

    read: Scopes = READ
    write: Scopes = WRITE
    propose: Scopes = PROPOSE
    max_facts_per_hour: _Count | None = None
    """How many facts it writes in an hour of the clock; proposed ones count, too."""
    max_bytes: _Count | None = None
    """The largest text of a fact that it writes, in bytes of UTF-8."""
    max_hits: _Count | None = None
    """How many hits an answer to it has at most."""
    weights: AgentWeights = AgentWeights()

    @property
    def is_limited(self) -> bool:
        """Whether it may write only so much."""
        return self.max_facts_per_hour is not None or self.max_bytes is not None


_DEFAULT = AgentPermissions()
_PATTERN = re.compile(r"\*|(?:team|project)-[a-z0-9_-]*\*")
_Agents = Annotated[
    Mapping[str, AgentPermissions],
    Meta(description='a table for each agent, with lists of scopes such as read = ["public"]'),
]
_Members = Annotated[
    Mapping[str, tuple[str, ...]],
    Meta(description='a list of agents for each scope, such as team-core = ["indy"]'),
]


class Permissions(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[permissions]`: what agents may do in which scopes."""

    agents: _Agents = {}
    """By the name of the agent; `*` is for all that have no table of their own."""
    teams: _Members = {}
    """The members of teams, to which all other agents have no access."""
    projects: _Members = {}
    """The same of projects."""

    def may_read(self, agent: str | None, scope: str) -> bool:
        """Whether an agent may know of facts of a scope."""
        return agent is None or self._may(agent, scope, self.of(agent).read)

    def may_write(self, agent: str | None, scope: str) -> bool:
        """Whether an agent may make, change and delete facts of a scope."""
        return agent is None or (
            self._may(agent, scope, self.of(agent).write) and self.may_read(agent, scope)
        )

    def may_propose(self, agent: str | None, scope: str) -> bool:
        """Whether an agent may ask a person to accept what it would write in a scope."""
        return agent is None or (
            self._may(agent, scope, self.of(agent).propose) and self.may_read(agent, scope)
        )

    def with_proposals(self) -> Permissions:
        """The permissions of agents that may also write what they may propose."""
        table = {EVERY_AGENT: _DEFAULT, **self.agents}
        return structs.replace(
            self,
            agents={
                name: structs.replace(row, write=(*row.write, *row.propose))
                for name, row in table.items()
            },
        )

    def readers_also_read(self, scope: str, other: str) -> bool:
        """Whether every agent that reads facts of one scope reads those of another one, too."""
        known = {EVERY_AGENT, scope.removeprefix("private-"), *self.agents}
        for members in (*self.teams.values(), *self.projects.values()):
            known.update(members)
        readers = (agent for agent in known if self.may_read(agent, scope))
        return all(self.may_read(agent, other) for agent in readers)

    def reader(self, agent: str | None) -> Reader | None:
        """An agent with what it may read; None for the user, who may read all."""
        return None if agent is None else Reader(agent.casefold(), self)

    def readable(self, agent: str) -> tuple[Scopes, Scopes]:
        """The list of what an agent reads, and the teams and projects that others closed to it."""
        rows = (*self.teams.items(), *self.projects.items())
        closed = sorted(scope for scope, names in rows if agent.casefold() not in names)
        return self.of(agent).read, tuple(closed)

    def of(self, agent: str) -> AgentPermissions:
        """The table of an agent."""
        return self.agents.get(agent.casefold()) or self.agents.get(EVERY_AGENT) or _DEFAULT

    def _may(self, agent: str, scope: str, allowed: Scopes) -> bool:
        name = agent.casefold()
        if scope == f"private-{name}":
            return True
        members = self.teams.get(scope, self.projects.get(scope))
        if members is not None and name not in members:
            return False
        return any(_matches(each, scope) for each in allowed)


class Reader(Struct, frozen=True):
    """One agent, and what it may read."""

    agent: str
    permissions: Permissions

    def __hash__(self) -> int:
        """A table has no hash, and within a process there is one."""
        return hash(self.agent)

    def reads(self, scope: str) -> bool:
        """Whether the agent may know of facts of a scope."""
        return self.permissions.may_read(self.agent, scope)

    def shared(self) -> Reader:
        """A reader without a name, and so without a private scope of its own.

        It is equal for all agents that read the same beside their own scope.
        """
        read, closed = self.permissions.readable(self.agent)
        table = {EVERY_AGENT: AgentPermissions(read)}
        return Reader("", Permissions(table, dict.fromkeys(closed, ())))

    @property
    def key(self) -> str:
        """A text that is another one for another agent, and for another table."""
        read, closed = self.permissions.readable(self.agent)
        return self.agent if (read, closed) == (READ, ()) else f"{self.agent} {read} {closed}"


def normal_permissions(given: Permissions) -> Permissions:
    """The permissions with the names of agents as they are compared.

    Raises:
        ValueError: says which name is no scope, or no beginning of one.
    """
    agents: dict[str, AgentPermissions] = {}
    for name, row in given.agents.items():
        for pattern in (*row.read, *row.write, *row.propose):
            _check_pattern(pattern)
        agents[name.casefold()] = row
    return Permissions(
        agents, _normal_members(given.teams, "team-"), _normal_members(given.projects, "project-")
    )


def _normal_members(given: Mapping[str, tuple[str, ...]], kind: str) -> dict[str, tuple[str, ...]]:
    for scope in given:
        if not (is_scope(scope) and scope.startswith(kind)):
            raise ValueError(scope)
    return {scope: tuple(each.casefold() for each in names) for scope, names in given.items()}


def _check_pattern(pattern: str) -> None:
    """A private scope is named in full; of other scopes the beginning is enough."""
    if not is_scope(pattern) and not _PATTERN.fullmatch(pattern):
        raise ValueError(pattern)


def _matches(pattern: str, scope: str) -> bool:
    if not pattern.endswith("*"):
        return pattern == scope
    return scope.startswith(pattern[:-1]) and not is_private(scope)
