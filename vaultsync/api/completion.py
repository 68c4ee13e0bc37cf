"""Shell completion of the names of facts, runs, conflicts, proposals, scopes and settings.

Only the archive, or the settings, are read, so that completion is fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing

from msgspec import convert

from vaultsync.api import configuration as config
from vaultsync.api.settings_access import read_settings
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.model.permissions import Reader
from vaultsync.model.scope import PUBLIC, is_scope
from vaultsync.storage.archive import Archive, RunRecord
from vaultsync.sync.report import ActionTaken

MAX_OFFERED = 200
"""Maximum number of completions."""
_ID_START = re.compile(r"[0-9a-f-]+")

Offers = Iterable[tuple[str, str]]
"""Names, each with its meaning."""


def complete_name(
    kind: str,
    typed: str,
    *,
    path: str | None = None,
    state_dir: str | None = None,
    agent: str | None = None,
) -> list[tuple[str, str]]:
    """The completions of a prefix, each with its meaning.

    `kind` is `fact`, `run`, `conflict`, `proposal`, `scope` or `setting`. Facts are offered by id,
    and by the path of their note, but none that the agent cannot see. Raises as `load_settings()`.
    """
    if kind == "setting":
        values = read_settings(path).settings
        return [(x.name, json.dumps(x.value)) for x in values if x.name.startswith(typed)]
    settings = config.load_settings(config.find_root(path), agent=agent, state_dir=state_dir)
    file = settings.state_dir / "archive.sqlite3"
    if not file.exists():
        return []
    with closing(SqliteArchive.open(file)) as archive:
        reader = settings.permissions.reader(settings.agent)
        return offered_names(archive, kind, typed, reader)[:MAX_OFFERED]


def offered_names(
    archive: Archive, kind: str, typed: str, reader: Reader | None
) -> list[tuple[str, str]]:
    """All completions of a prefix that a reader may see, in order."""
    offers = _OFFERS[kind](archive, typed, reader)
    return sorted(each for each in offers if each[0].startswith(typed))


def _facts(archive: Archive, typed: str, reader: Reader | None) -> Offers:
    if _ID_START.fullmatch(typed):
        ids = archive.known_ids(typed)
        paths = archive.note_paths(ids)
        for fact_id in ids:
            if reader is None or _sees(reader, paths.get(fact_id)):
                yield fact_id, paths.get(fact_id, "")
    for path, fact_id in archive.paths().items():
        if path.startswith(typed) and _sees(reader, path):
            yield path, fact_id


def _sees(reader: Reader | None, path: str | None) -> bool:
    return path is not None and (reader is None or reader.reads(path.partition("/")[0]))


def _runs(archive: Archive, typed: str, reader: Reader | None) -> Offers:
    for each in archive.runs(limit=MAX_OFFERED, prefix=typed):
        if reader is None or _sees_run(archive, each, reader):
            yield each.run, f"{each.at}, {each.kind}"


def _sees_run(archive: Archive, run: RunRecord, reader: Reader) -> bool:
    """Whether a run changed a fact and a note that the agent may see."""
    actions = convert(run.report.get("actions") or [], list[ActionTaken])
    bases = archive.find_bases([each.fact_id for each in actions])
    hidden = {key for key, base in bases.items() if not reader.reads(base.fact.scope)}
    return any(_sees(reader, each.path or "") and each.fact_id not in hidden for each in actions)


def _conflicts(archive: Archive, _typed: str, reader: Reader | None) -> Offers:
    return ((each.id, each.path) for each in archive.conflicts() if _sees(reader, each.path))


def _proposals(archive: Archive, _typed: str, reader: Reader | None) -> Offers:
    for each in archive.proposals():
        places = [*each.scopes, *(x.path for x in each.changes if x.revision)]
        if not each.outcome and all(_sees(reader, place) for place in places):
            yield each.id, each.title


def _scopes(archive: Archive, _typed: str, reader: Reader | None) -> Offers:
    folders = {path.partition("/")[0] for path in archive.paths()} | {PUBLIC}
    return ((each, "") for each in folders if is_scope(each) and _sees(reader, each))


_OFFERS: Mapping[str, Callable[[Archive, str, Reader | None], Offers]] = {
    "fact": _facts,
    "run": _runs,
    "conflict": _conflicts,
    "proposal": _proposals,
    "scope": _scopes,
}
