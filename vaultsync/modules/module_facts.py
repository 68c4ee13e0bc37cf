"""Sync modules and documents with their facts, in both directions.

An edit of the file goes to the fact; an edit of the fact, in its note or by an agent, goes to the
file. If both were edited, they are merged by line; of conflicting lines the file's win, and the
fact's are in its history.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID, uuid5

from vaultsync.errors import InvalidFieldError, NoteLimitError
from vaultsync.facts.write_limits import check_note_limits
from vaultsync.markdown.diff3 import merge_text
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.modules.module_text import plain_line_ends, split_module
from vaultsync.modules.ports import CONFLICT, FactRecord
from vaultsync.notes.kinds import MODULE_SOURCE_PREFIX
from vaultsync.storage.archive import Notice
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import deleted_revision, overwrite

MODULE_ACTOR = "modules"
"""The actor of these writes in the feed and the history."""
_NAMESPACE = UUID("6f8f5a2c-7a35-5b5e-9c1f-0d4f6f2d8a11")
_NO_SCOPE = re.compile("[^a-z0-9_-]+")


class ModuleDocument(NamedTuple):
    """A module or a single document, as read from its file."""

    key: str
    """`topic/chunk` of a module, else the path."""
    path: str
    text: str
    title: str
    """From the manifest, or else the heading."""
    tags: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """The content that its fact has."""
        return plain_line_ends(split_module(self.text).content)


class FactEdit(NamedTuple):
    """The edit of a fact that its file should follow."""

    title: str
    content: str
    actor: str


def project_scope(space: str) -> str:
    """The scope of a space's facts."""
    name = _NO_SCOPE.sub("-", space.casefold()).strip("-_")[:50]
    return f"project-{name or 'modules'}"


@dataclass(slots=True)
class ModuleFacts:
    """The facts of the modules of one space."""

    ctx: SyncContext
    space: str
    agent: str | None
    links: Mapping[str, Value] = field(default_factory=dict)
    """Properties of each fact that name its repository; the user may remove them."""
    notices: list[Notice] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    """Ids of written facts, whose notes have to be updated."""
    _merged: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    """Title and content of a fact that its file has: a later edit waits for the next sync."""

    def fact_id(self, key: str) -> str:
        """The id of a document's fact; equal in all clones of a repository."""
        return str(uuid5(_NAMESPACE, f"{self.space}:{key}"))

    def read(self, fact_id: str) -> Fact | None:
        """A fact to be written to its file; later edits of it wait for the next sync."""
        fact = self.ctx.store.find_many([fact_id]).get(fact_id)
        self._merged[fact_id] = None if fact is None else (fact.title, fact.content)
        return fact

    def edit_of(
        self, document: ModuleDocument, record: FactRecord | None, *, trust_fact: bool = False
    ) -> FactEdit | None:
        """The edit of a fact that its file does not have yet; None if there is none.

        What modules wrote is one only with `trust_fact`, as the file is of an older copy. Without
        a record, it is unknown what both had in common, so any difference is a conflict.
        """
        record = record or FactRecord(self.fact_id(document.key), document.title, "")
        fact = self.read(record.fact_id)
        last = self.ctx.store.last_write(record.fact_id)
        if fact is None or last is None or (last.actor == MODULE_ACTOR and not trust_fact):
            return None
        content = document.content
        title = fact.title if document.title == record.title else document.title
        merged = merge_text(
            f"{plain_line_ends(record.content)}\n", f"{content}\n", f"{fact.content}\n"
        )
        if merged is None:
            why = (
                f"{document.title!r} was edited in the same place in {document.path} and as a fact"
            )
            hint = f"the file's text was kept; `vaultsync history {fact.id}` has the other text"
            self._notice(CONFLICT, document.path, why, hint)
            merged = content
        merged = merged.rstrip()
        if (title, merged) == (document.title, content):
            return None
        return FactEdit(title, merged, last.actor)

    def wait(self, document: ModuleDocument) -> None:
        """Leave the fact of a document as it is, because its edit is not in the file yet."""
        self._merged[self.fact_id(document.key)] = None

    def accepted(self, key: str) -> tuple[Fact, str] | None:
        """The accepted fact of a proposed module, and its agent; None if not accepted."""
        fact_id = self.fact_id(key)
        fact = self.read(fact_id)
        last = self.ctx.store.last_write(fact_id)
        if fact is None or last is None or last.actor == MODULE_ACTOR:
            return None
        return fact, last.actor

    def push(
        self, document: ModuleDocument, record: FactRecord | None, *, agent: str | None = None
    ) -> FactRecord:
        """Update the fact from the file; returns its new record.

        In a space with a new name, a new fact takes over what the former one says.
        """
        fact_id = self.fact_id(document.key)
        values: dict[str, Value] = {
            "title": document.title,
            "content": document.content,
            "tags": list(document.tags),
        }
        record_now = FactRecord(fact_id, document.title, str(values["content"]))
        for _ in range(20):
            fact = self.ctx.store.find_many([fact_id]).get(fact_id)
            gone = None if fact else self.ctx.store.tombstone(fact_id)
            if fact is not None and record == record_now and self._is_of_clone(fact, document):
                return record_now
            text = None if fact is None else (fact.title, fact.content)
            merged = self._merged.get(fact_id, text)
            is_in_file = merged == (document.title, record_now.content)
            if text is not None and merged != text:
                return record_now if is_in_file else record or record_now
            if gone is not None and (is_in_file or record == record_now):
                why = f"the fact of {document.path} was deleted, but the file is still there"
                hint = f"delete the file, or run `vaultsync restore {fact_id}`"
                self._notice("ModuleForgotten", document.path, why, hint)
                return record_now
            try:
                old = fact or self._moved(record, fact_id) or gone
                write = self._write_for(old, values, fact_id, agent, deleted=fact is None)
                if write is None:
                    return record_now
                assert write.fact is not None  # noqa: S101 - it was written
                check_note_limits(self.ctx, write.fact)
            except (NoteLimitError, InvalidFieldError) as error:
                why = f"{document.path} cannot become a fact: {error.message}"
                self._notice("UnfitModule", document.path, why, error.hint)
                return record or record_now
            if not isinstance(self.ctx.store.write([write])[0], RevisionMismatch):
                self._merged.pop(fact_id, None)
                self.written.append(fact_id)
                return record_now
        return record or record_now  # other writers were faster; the next sync tries again

    def _moved(self, record: FactRecord | None, fact_id: str) -> Fact | None:
        """The fact of the space's former name, as one of this space; None if there is none."""
        ids = [] if record is None else [record.fact_id]
        former = next(iter(self.ctx.store.find_many(ids).values()), None)
        if former is None:
            return None
        named: dict[str, Value] = dict.fromkeys(self.links)
        named["scope"] = project_scope(self.space)
        named["source"] = f"{MODULE_SOURCE_PREFIX}{self.space}"
        revision = deleted_revision(self.ctx.store, fact_id)
        return former.replace(named).evolve(id=fact_id, revision=revision, path=None)

    def _is_of_clone(self, fact: Fact, document: ModuleDocument) -> bool:
        """Whether another clone, with another version of a module, has written its fact."""
        last = self.ctx.store.last_write(fact.id)
        content = document.content
        return (
            (fact.title, fact.content) != (document.title, content)
            and last is not None
            and last.actor == MODULE_ACTOR
            and {*document.tags} <= {*fact.tags}
        )

    def forget(self, record: FactRecord, successor: FactRecord | None = None) -> bool:
        """Delete the fact of a removed document; False if it stays, because it was edited since.

        An edit that its successor has is not lost either.
        """
        fact = self.ctx.store.find_many([record.fact_id]).get(record.fact_id)
        if fact is None:
            return True
        if fact.content not in {each.content for each in (record, successor) if each}:
            return False
        write = StoreWrite(fact.id, None, fact.revision, MODULE_ACTOR)
        if isinstance(self.ctx.store.write([write])[0], RevisionMismatch):
            return False
        self.written.append(fact.id)
        return True

    def _write_for(
        self,
        old: Fact | None,
        values: Mapping[str, Value],
        fact_id: str,
        agent: str | None,
        *,
        deleted: bool,
    ) -> StoreWrite | None:
        if old is None:
            now = self.ctx.today()
            fields: dict[str, Value] = {
                **values,
                **self.links,
                "id": fact_id,
                "type": "note",
                "scope": project_scope(self.space),
                "source": f"{MODULE_SOURCE_PREFIX}{self.space}",
                "createdAt": now,
                "updatedAt": now,
            }
            if agent or self.agent:
                fields["agentId"] = agent or self.agent
            expect = deleted_revision(self.ctx.store, fact_id)
            return StoreWrite(fact_id, make_fact(fields), expect, MODULE_ACTOR)
        kept = [each for each in old.tags if each not in values["tags"]]  # type: ignore[operator] # tags are a list
        links = {} if any(map(old.value, self.links)) else self.links
        tags = [*values["tags"], *kept]  # type: ignore[misc] # tags are a list
        new = old.replace({**links, **values, "tags": tags})
        if new == old and not deleted:
            return None
        new = new.evolve(updated_at=self.ctx.today())
        return overwrite(self.ctx, fact_id, new, old.revision, MODULE_ACTOR)

    def _notice(self, kind: str, path: str, why: str, hint: str) -> None:
        why = self.ctx.view.redact_text(why)
        self.notices.append(Notice(kind, VaultPath(path), why, hint))
