"""Find a fact or a run by id, the beginning of an id, path or title."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import TypeAlias

from vaultsync.errors import (
    AmbiguousNameError,
    InvalidFieldError,
    InvalidIdError,
    NotFoundError,
    RunNotFoundError,
    StoreUnavailableError,
)
from vaultsync.facts.service import is_visible
from vaultsync.links.wikilinks import ID_PREFIX, MAX_NAMES_IN_HINT, NoteNames, find_by_name
from vaultsync.model.canonical import check_id, link_name
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, fold_case
from vaultsync.privacy.placeholders import REDACTION_PREFIX
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import tombstone_path

UNDO_KIND = "undo "
"""The prefix of the kind of a run that undid another one, whose id follows."""
PURGE_KIND = "purge"
"""The kind of a run that erased facts, which cannot be undone."""
_NEVER_UNDONE = frozenset({"path", "outbox"})
"""The fields of changes that an undo leaves alone: the user chose the name of a note."""
RUNS_SEARCHED = (20, 1000)
"""How many runs `last_undoable_run()` reads: few at first, because their reports are large."""

CalledLike: TypeAlias = Callable[[str], Iterable[str] | None]
"""Ids of the facts whose title or alias may be a name; None where that is not known."""


def find_fact_id(
    ctx: SyncContext,
    name: str,
    *,
    agent: str | None,
    forgotten: bool = False,
    called: CalledLike | None = None,
) -> str:
    """The id of the only fact with a name.

    A whole id is returned as it is, whether there is such a fact or not. Otherwise a prefix of an
    id, of 8 characters or more, wins over a path, a path over a title or file name, and that over
    an alias. With `forgotten`, deleted facts have titles too; `called` is as of `find_fact()`.

    Raises:
        NotFoundError: nothing that the agent can see has this name.
        AmbiguousNameError: more than one fact has.
    """
    try:
        return check_id(name)
    except InvalidIdError:
        prefix = name.strip().lower()
    if ID_PREFIX.fullmatch(prefix):
        ids = [each for each in _ids_from(ctx, prefix) if is_visible(ctx, each, agent=agent)]
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise AmbiguousNameError("fact", name, ids[:MAX_NAMES_IN_HINT], len(ids))
    return find_fact(ctx, name, agent=agent, forgotten=forgotten, called=called).id


def find_fact(
    ctx: SyncContext,
    name: str,
    *,
    agent: str | None,
    forgotten: bool = False,
    called: CalledLike | None = None,
) -> Fact:
    """The fact with an id, a path, a file name, a title or an alias; with its path.

    An id or path wins over a name, and a name over an alias, as in the graph. With `called`
    all facts are read only where none of its facts has the name.

    Raises:
        NotFoundError: the agent can see no such fact.
        AmbiguousNameError: it can see more than one.
    """
    permissions = ctx.policy.permissions

    def among(facts: Iterable[Fact], paths: Mapping[str, VaultPath]) -> Fact:
        def names_of(fact: Fact) -> NoteNames:
            return NoteNames(fact.id, paths.get(fact.id), fact.title, fact.aliases)

        # To look for secrets takes much longer than to compare names.
        key = fold_case(name)
        shown = (
            ctx.view.redact(fact)
            for fact in facts
            if permissions.may_read(agent, fact.scope)
            and (REDACTION_PREFIX in name or names_of(fact).rank_of(key) is not None)
        )
        found = find_by_name(name, shown, names_of, kind="fact")
        return found.evolve(path=paths.get(found.id))

    def among_ids(ids: Collection[str] | None, *, forgotten: bool) -> Fact:
        return among(_facts(ctx, ids, forgotten=forgotten), _paths(ctx, ids, forgotten=forgotten))

    try:
        return among_ids([check_id(name)], forgotten=False)
    except InvalidIdError:
        name = link_name(name)
        ids = None if called is None else called(name)
    if ids is not None:
        likely = {*ids, *ctx.archive.paths_called([name]).values()}
        try:
            return among_ids(likely, forgotten=forgotten)
        except AmbiguousNameError:
            raise
        except NotFoundError:
            pass  # the words of a name may be none that the index has
    return among_ids(None, forgotten=forgotten)


def find_run_id(ctx: SyncContext, name: str, *, agent: str | None = None) -> str:
    """The id of the only run with an id or a prefix of one.

    To an agent there are only runs of which it may know.

    Raises:
        AmbiguousNameError: more than one run has an id that begins so.
        InvalidFieldError: the name is blank, as that of a variable that is not set.
    """
    prefix = name.strip().lower()
    if not prefix:
        raise InvalidFieldError("run", name, "the id of a run, or its beginning")
    runs: list[str] = []
    if ID_PREFIX.fullmatch(prefix):
        from vaultsync.sync.status import run_summaries  # noqa: PLC0415 - for runs alone

        found = run_summaries(ctx, limit=MAX_NAMES_IN_HINT + 1, prefix=prefix, agent=agent)
        runs = [each.run for each in found]
    if len(runs) > 1:
        raise AmbiguousNameError("run", name, runs[:MAX_NAMES_IN_HINT], len(runs))
    return runs[0] if runs else name.strip()


def last_undoable_run(ctx: SyncContext, *, agent: str | None = None) -> str:
    """The newest run that can be undone and was not, and undid none, of those an agent knows.

    Undoing the last run again and again therefore goes back in time, as in an editor.
    Raises RunNotFoundError.
    """
    from vaultsync.sync.status import run_summaries  # noqa: PLC0415 - as above

    for limit in RUNS_SEARCHED:
        undone: set[str] = set()
        runs = {each.run for each in run_summaries(ctx, limit=limit, agent=agent)}
        for each in ctx.archive.runs(limit=limit):
            if each.kind.startswith(UNDO_KIND):
                undone.add(each.kind.removeprefix(UNDO_KIND))
            elif each.kind == PURGE_KIND or each.run not in runs - undone:
                continue
            elif {x.field for x in ctx.archive.history(run=each.run)} - _NEVER_UNDONE:
                return each.run
    raise RunNotFoundError("")


def was_undone(ctx: SyncContext, fact_id: str, run: str) -> bool:
    """Whether an undo of a run changed a fact."""
    runs = {each.run for each in ctx.archive.history(fact_id=fact_id)}
    found = filter(None, map(ctx.archive.find_run, runs))
    return any(each.kind == UNDO_KIND + run for each in found)


def was_undone_last(ctx: SyncContext, fact_id: str) -> bool:
    """Whether the last change of a fact was an undo."""
    last = ctx.archive.history(fact_id=fact_id)[-1:]
    run = ctx.archive.find_run(last[0].run) if last else None
    return run is not None and run.kind.startswith(UNDO_KIND)


def _ids_from(ctx: SyncContext, prefix: str) -> list[str]:
    """The ids with a prefix: recorded, queued, or not yet seen by a run."""
    ids = {*ctx.archive.known_ids(prefix)}
    ids.update(each.fact_id for each in ctx.archive.outbox() if each.fact_id.startswith(prefix))
    try:
        unseen = ctx.store.feed(int(ctx.archive.setting("cursor") or 0))
    except StoreUnavailableError:
        unseen = []
    ids.update(row.fact_id for row in unseen if row.fact_id.startswith(prefix))
    return sorted(ids)


def _facts(ctx: SyncContext, ids: Collection[str] | None, *, forgotten: bool) -> Iterable[Fact]:
    """Some facts, or all; of all, those of the archive while the store is unavailable."""
    store = ctx.store
    if ids is not None:
        facts: Iterable[Fact] = store.find_many(ids).values()
    else:
        try:
            store.state()
        except StoreUnavailableError:
            return (base.fact for base in ctx.archive.iter_bases())
        facts = store.iter_facts()
    return chain(facts, filter(None, map(store.tombstone, _deleted(ctx)))) if forgotten else facts


def _paths(
    ctx: SyncContext, ids: Collection[str] | None, *, forgotten: bool
) -> Mapping[str, VaultPath]:
    """The paths of the notes of these facts, as `_facts()` takes them."""
    if ids is not None and not forgotten:
        return ctx.archive.note_paths(ids)
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    return _paths_of_deleted(ctx, {*paths.values()}) | paths if forgotten else paths


def _deleted(ctx: SyncContext) -> Iterable[str]:
    return (row.fact_id for row in ctx.store.feed() if row.deleted)


def _paths_of_deleted(ctx: SyncContext, used: Collection[str]) -> dict[str, VaultPath]:
    """Where the notes of deleted facts were, as far as no other note is there."""
    removed = ctx.archive.note_tombstones(_deleted(ctx))
    paths = {fact_id: tombstone_path(each) for fact_id, each in removed.items()}
    return {fact_id: path for fact_id, path in paths.items() if path and path not in used}
