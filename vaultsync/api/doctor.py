"""The checks of `doctor`: this machine, and each part of this vault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vaultsync.api.configuration import reload_settings
from vaultsync.api.engine import Engine
from vaultsync.api.obsidian_views import check_property_types
from vaultsync.api.privacy import MIN_VALUE_LENGTH, environment_values
from vaultsync.api.wiring import Services
from vaultsync.backends.system.host_checks import machine_checks
from vaultsync.backends.watchers.watch_checks import watch_checks
from vaultsync.errors import ConfigError, VaultsyncError
from vaultsync.indexing.ports import Embedder
from vaultsync.model.counts import count_noun
from vaultsync.privacy.providers import providers
from vaultsync.recall.ports import Reranker
from vaultsync.settings import Settings
from vaultsync.sync.report import DoctorCheck

T = TypeVar("T")


def run_checks(services: Services, engine: Engine) -> tuple[DoctorCheck, ...]:
    """Check this machine and this vault; a part that fails does not stop the others."""
    settings, ctx = services.settings, engine.ctx
    return (
        *machine_checks(settings.root, settings.state_dir, services.store_files),
        *watch_checks(settings.root),
        _check("vault", ctx.vault.vault_id, lambda _: "the vault answers"),
        _check("store", ctx.store.state, lambda _: "the store answers"),
        _check("archive", ctx.archive.count_bases, lambda _: "the archive answers"),
        _check("settings", lambda: _check_index_folder(settings), str),
        _check("trust", lambda: reload_settings(settings), _describe_trust),
        _check("properties", lambda: check_property_types(settings), str),
        _check_redaction(settings),
        _check("embedder", lambda: services.embedder, _describe_embedder),
        _check("reranker", lambda: services.reranker, _describe_reranker),
        DoctorCheck("engine", ok=True, message=f"the engine is {engine.lock.holder()}"),
    )


def _check(name: str, ask: Callable[[], T], describe: Callable[[T], str]) -> DoctorCheck:
    """Whether a part works, with a description of it or its error."""
    try:
        return DoctorCheck(name, ok=True, message=describe(ask()))
    except VaultsyncError as error:
        return DoctorCheck(name, ok=False, message=error.message, hint=error.hint)


def _check_index_folder(settings: Settings) -> str:
    folder = Path(settings.index_folder)
    for each in (folder, *folder.parents):
        if (settings.root / each).is_file():
            message = f"index_folder is {str(folder)!r}, but {str(each)!r} is a file"
            raise ConfigError(message, hint="use the name of a folder, or a new name")
    sources = [f"{name}: {source}" for name, source in settings.sources.items()]
    return "; ".join([*sources, "all others: default"])


def _check_redaction(settings: Settings) -> DoctorCheck:
    """The check of `doctor` that says what is redacted, and what cannot be."""
    hygiene = settings.hygiene
    if not hygiene.secrets:
        message = "secrets are shown in notes and answers"
        hint = "`secrets = true` below `[hygiene]` hides them"
        return DoctorCheck("hygiene", ok=False, message=message, hint=hint)
    values = environment_values(hygiene.environment)
    unset = [x for x in hygiene.environment if len(values.get(x, "")) < MIN_VALUE_LENGTH]
    message = f"secrets of {len(providers())} kinds are hidden"
    patterns = len(hygiene.patterns)
    if patterns or values:
        message += f", and those of patterns ({patterns}) and variables ({len(values)})"
    if unset:
        message += f"; {', '.join(unset)} is not set here, or too short to be a secret"
    if not hygiene.neutralise:
        message += "; what runs in Obsidian is not escaped"
    return DoctorCheck("hygiene", ok=True, message=message)


def _describe_trust(settings: Settings) -> str:
    if not settings.trusted:
        return "the vault requests nothing beyond its notes"
    number = count_noun(settings.trusted, "setting")
    return (
        f"the vault requests {number} of this machine, which you allowed or set yourself in"
        f" {settings.machine_file}; `vaultsync trust` shows them"
    )


def _describe_embedder(embedder: Embedder | None) -> str:
    if embedder is None:
        return "no embedding model: only keyword search is available"
    return f"texts are embedded by {embedder.model}"


def _describe_reranker(reranker: Reranker | None) -> str:
    if reranker is None:
        return "the hits of hybrid search are not reranked"
    return f"the best hits of hybrid search are reranked by {reranker.model}"
