"""The note of a repository, to which the notes about it link."""

from __future__ import annotations

import logging
from contextlib import suppress
from uuid import NAMESPACE_OID, uuid5

from vaultsync.errors import FactForgottenError, FactNotFoundError, IdTakenError
from vaultsync.facts import service as fact_service
from vaultsync.model.fact import Fact
from vaultsync.model.schema import LINEAGE, Value
from vaultsync.repos.entries import REPO, REPOSITORY_TYPE, scope_of, theme_of
from vaultsync.repos.repo_identity import RepoIdentity
from vaultsync.sync.context import SyncContext

_log = logging.getLogger(__name__)


def repository_links(ctx: SyncContext, identity: RepoIdentity) -> tuple[dict[str, Value], bool]:
    """The properties that link a fact to its repository, and whether its note is missing.

    Raises:
        StoreUnavailableError: the name of the note is not known then.
    """
    title, is_missing = f"{identity.slug} repository", True
    for lineage in identity.lineages:
        try:
            title = fact_service.get(ctx, _id_of(lineage), agent=None).title
        except FactForgottenError as gone:
            _log.debug("the user deleted the note of the repository: %s", gone)
        except FactNotFoundError:
            continue
        is_missing = False
        break
    return {REPO: f"[[{title}]]", LINEAGE: identity.lineage}, is_missing


def make_repository_note(ctx: SyncContext, identity: RepoIdentity) -> Fact | None:
    """Write the fact of a repository; None if another process has just written it.

    Called after a fact that links to it was written, so that an agent without the permission
    creates no note.
    """
    where = f" at {identity.remote}" if identity.remote else ""
    values: dict[str, Value] = {
        "id": _id_of(identity.lineage),
        "type": REPOSITORY_TYPE,
        "title": f"{identity.slug} repository",
        "content": f"A git repository{where}. All facts about it link here.",
        "scope": scope_of(identity.slug),
        "themeIds": [theme_of(identity.lineage)],
        LINEAGE: identity.lineage,
        "remote": identity.remote,
    }
    with suppress(IdTakenError):
        return fact_service.remember(ctx, values, agent=None)
    return None


def _id_of(lineage: str) -> str:
    return str(uuid5(NAMESPACE_OID, f"repository {lineage}"))
