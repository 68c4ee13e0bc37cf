"""Edits of facts by agents: each takes the current fact and a new word."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value

Change: TypeAlias = Callable[[Fact, str], dict[str, Value]]


def append(fact: Fact, word: str) -> dict[str, Value]:
    return {"content": f"{fact.content}\n\nAgent {word}."}


def first_line(fact: Fact, word: str) -> dict[str, Value]:
    """Change the first line of the content."""
    _, _, rest = fact.content.partition("\n")
    return {"content": f"Agent {word}.\n{rest}"}


def drop_first_line(fact: Fact, word: str) -> dict[str, Value]:
    _, _, rest = fact.content.partition("\n")
    return {"content": rest.strip("\n") or f"Agent {word}."}


def tag(fact: Fact, word: str) -> dict[str, Value]:
    return {"tags": [*fact.tags, word]}


def untag(fact: Fact, word: str) -> dict[str, Value]:
    return {"tags": list(fact.tags[1:])} if fact.tags else {"status": word}


def status(fact: Fact, word: str) -> dict[str, Value]:
    return {"status": word}


def title(fact: Fact, word: str) -> dict[str, Value]:
    return {"title": f"T {word}"}


def mood(fact: Fact, word: str) -> dict[str, Value]:
    """Set a property that is no field."""
    return {"mood": word}


def source(fact: Fact, word: str) -> dict[str, Value]:
    """Set a field that only the store may change."""
    return {"source": word}


def context(fact: Fact, word: str) -> dict[str, Value]:
    """Set the line below the heading."""
    return {"context": word}


def access(fact: Fact, word: str) -> dict[str, Value]:
    """Set a field whose change writes no note."""
    return {"accessCount": fact.access_count + 1}


def priority(fact: Fact, word: str) -> dict[str, Value]:
    """Set the priority, which determines the folder of an observation."""
    return {"priority": (fact.priority + 1) % 5}


CHANGES: tuple[Change, ...] = (
    append,
    first_line,
    drop_first_line,
    tag,
    untag,
    status,
    title,
    mood,
    source,
    context,
    access,
    priority,
)
