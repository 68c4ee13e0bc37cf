"""Facts: what agents write, change, supersede, forget and bring back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from vaultsync.api.session import EngineSession
from vaultsync.errors import UsageError, VaultsyncError
from vaultsync.facts import service as fact_work
from vaultsync.facts.listing import FactPage, select_facts
from vaultsync.facts.offline import queued_changes
from vaultsync.facts.service import ForgetResult
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.operations.export_import import export_facts, import_facts


class FactMethods(EngineSession):
    """What agents do with facts."""

    def remember(
        self,
        text: str,
        *,
        type: str | None = None,  # noqa: A002 - the contract's word
        title: str | None = None,
        scope: str | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        entities: Sequence[str] = (),
        fields: Mapping[str, Value] | None = None,
        context: str | None = None,
        agent: str | None = None,
        id: str | None = None,  # noqa: A002 - the contract's word
    ) -> Fact:
        """Write a fact to the store and its note to the vault.

        The returned fact has a `path` when its note is there already; while another
        engine has the vault, that engine writes it.

        Raises:
            UsageError: a value that its field does not take, or two for one field.
            RevisionMismatchError: the id is taken.
        """
        kind = type or self._ctx.policy.default_type
        own = {fact_work.field_key(key, kind): value for key, value in (fields or {}).items()}
        named: dict[str, Value] = {
            "content": text,
            "type": kind,
            "title": title,
            "context": context,
            "scope": scope,
            "priority": priority,
            "tags": list(tags),
            "entities": list(entities),
            "id": id,
        }
        for key, value in own.items():
            if named.get(key) not in (None, "", [], value):
                message = f"{key} was given twice, and differently"
                raise UsageError(message, hint="give it once")
        who = agent or self.agent
        fact = fact_work.remember(self._ctx, named | own, agent=who)
        return self._answer(self._note(fact, who))

    def new_id(self) -> str:
        """A fresh id, for a note that is to become a fact."""
        return self._ctx.clock.new_id()

    def get(self, id: str) -> Fact:  # noqa: A002 - the contract's word
        """One fact.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        self._flush()
        self._accesses.flush()
        return self._answer(fact_work.get(self._ctx, id, agent=self.agent))

    def waits(self, id: str) -> bool:  # noqa: A002 - the contract's word
        """Whether something that was done to a fact waits for a store that is away."""
        return bool(queued_changes(self._ctx, id))

    def list(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the contract's word
        scope: str | None = None,
        status: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        until: str | None = None,
        links_to: str | None = None,
        links_from: str | None = None,
        newest: bool = False,
        limit: int = 100,
        after: str | None = None,
    ) -> FactPage:
        """Facts by id, a page at a time; see `engine.listing.select`.

        `links_to` names a note, by its id, path, title or an alias: only facts that link
        to it. `links_from`: only those that it links to.

        Raises:
            UsageError: a filter makes no sense.
            NotFoundError: no note, or more than one, is called so.
        """
        self._flush()
        self._accesses.flush()
        return select_facts(
            self._ctx,
            agent=self.agent,
            type_name=type,
            scope=scope,
            status=status,
            tag=tag,
            since=since,
            until=until,
            among=self._joined(links_to, links_from),
            newest=newest,
            limit=limit,
            after=after,
        )

    def _joined(self, to: str | None, source: str | None) -> set[str] | None:
        """The ids of what links to a note, and is linked to from another; None for all."""
        if to is None and source is None:
            return None
        from vaultsync.facts.related import linked_from, linking_to

        links = self._derived.links
        found = []
        if to is not None:
            found.append(linking_to(self._ctx, links, to, agent=self.agent))
        if source is not None:
            found.append(linked_from(self._ctx, links, source, agent=self.agent))
        return found[0].intersection(*found[1:])

    def update(
        self,
        id: str,  # noqa: A002 - the contract's word
        *,
        content: str | None = None,
        set: Mapping[str, Value] | None = None,  # noqa: A002 - the contract's word
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        expect: str | None = None,
        agent: str | None = None,
    ) -> Fact:
        """Change a fact in the store; its note follows.

        Raises:
            FactNotFoundError, InvalidFieldError, UnknownTypeError.
            RevisionMismatchError: the fact is not at `expect`.
        """
        self._flush()
        kind = ""
        if set:
            kind = fact_work.get(self._ctx, id, agent=agent or self.agent).type
        values = {fact_work.field_key(k, kind): v for k, v in (set or {}).items()}
        if content is not None:
            values["content"] = content
        fact = fact_work.update(
            self._ctx,
            id,
            values,
            agent=agent or self.agent,
            add_tags=add_tags,
            remove_tags=remove_tags,
            expect=expect,
        )
        self._follow(fact.id)
        with suppress(VaultsyncError):
            # As it stands now: a person may have edited it at the same moment.
            fact = fact_work.get(self._ctx, fact.id, agent=None)
            return self._answer(fact)
        return self._answer(self._with_path(fact))

    def supersede(
        self,
        id: str,  # noqa: A002 - the contract's word
        text: str,
        *,
        agent: str | None = None,
    ) -> Fact:
        """A new fact that replaces an older one, both linked."""
        self._flush()
        fresh = fact_work.supersede(self._ctx, id, text, agent=agent or self.agent)
        self._follow(fresh.id, fresh.supersedes_id or "")
        return self._answer(self._with_path(fresh))

    def forget(
        self,
        id: str,  # noqa: A002 - the contract's word
        *,
        expect: str | None = None,
        agent: str | None = None,
    ) -> ForgetResult:
        """Delete a fact and its note; `restore` brings both back.

        It is `active` still where a person edited the note meanwhile: that stands.

        Raises:
            FactNotFoundError.
            RevisionMismatchError: the fact is not at `expect`.
        """
        self._flush()
        who = agent or self.agent
        done = fact_work.forget(self._ctx, id, agent=who, expect=expect)
        self._follow(done.id)
        with suppress(VaultsyncError):
            if self._ctx.store.find_many([done.id]):
                return fact_work.ForgetResult(done.id, fact_work.STATUS_ACTIVE)
        return done

    def restore(
        self,
        id: str,  # noqa: A002 - the contract's word
        *,
        expect: str | None = None,
    ) -> ForgetResult:
        """Bring back a deleted fact and its note as it was.

        Raises:
            FactNotFoundError: the store never knew it.
            RevisionMismatchError: what was deleted is not at `expect`.
        """
        self._flush()
        done = fact_work.restore(self._ctx, id, agent=self.agent, expect=expect)
        self._follow(done.id)
        return done

    def export(self, write: Callable[[str], object]) -> int:
        """Give every fact to `write`, a line of JSON each; returns how many.

        It is a backup: secrets are in it.
        """
        return export_facts(self._ctx, write, agent=self.agent)

    def import_(self, lines: Iterable[str]) -> int:
        """Take facts from lines of JSON; all or, when one is bad, none.

        Raises:
            ImportLineError: names the bad line.
        """
        return import_facts(self._ctx, lines, agent=self.agent)
