"""Settings: read once, from the vault's marker, the environment and the caller."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.errors import ConfigError, NotAVaultError, UnsafePathError
from vaultsync.indexing.language import ENGLISH, STEMMER_LANGUAGES
from vaultsync.model.decay import FADED_DECAY
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.model.scope import PUBLIC, check_scope
from vaultsync.privacy.detection import OPTIONAL_FORMS
from vaultsync.recall.ranking import FIELD_WEIGHTS, RankingWeights

MARKER = Path(".meta") / "config.toml"


WATCHERS = ("auto", "watchfiles", "watchdog", "polling")
"""What can tell the daemon of changes; `auto` chooses by where the vault lies."""


class WatchSettings(NamedTuple):
    """The table `[watch]`: how the daemon works."""

    settle_seconds: float = 0.3
    settle_longest: float = 2.0
    rescan_seconds: float = 60.0
    hash_seconds: float = 3600.0
    watcher: str = "auto"
    poll_seconds: float = 2.0
    """How often a watcher looks that is not told."""


class MemoryFileSettings(NamedTuple):
    """The table `[memory_file]`: what `watch` keeps in step with the store."""

    files: tuple[str, ...] = ()
    """Files, or folders in which `include` looks; relative ones begin at the vault."""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    agent: str = ""
    scope: str = ""
    settle_seconds: float = 2.0
    """How long a file must be quiet before it is read (seed 000)."""


class PrivacySettings(NamedTuple):
    """What notes and answers may show: `[hygiene]`."""

    secrets: bool = True
    """Whether secrets are hidden."""
    patterns: tuple[str, ...] = ()
    """Regular expressions of further secrets."""
    optional: tuple[str, ...] = ()
    """Kinds that are looked for when they are asked for, as `@card`."""
    environment: tuple[str, ...] = ()
    """Variables of the environment whose values are secrets."""
    neutralise: bool = True
    """Whether what would run in Obsidian is escaped in notes that agents write."""


class Settings(NamedTuple):
    """All settings of one vault."""

    root: Path
    vault_id: str
    state_dir: Path
    """Of this vault alone: archive, store, lock."""
    store: str
    """`sqlite` (in the state folder), `sqlite:PATH`, or the URL of a Qdrant."""
    agent: str | None = None
    user: str | None = None
    """Whom an agent serves: it recalls only what is about them."""
    default_scope: str = PUBLIC
    ignore: tuple[str, ...] = ()
    linger_seconds: float = 60.0
    settle_seconds: float = 30.0
    grace_seconds: float = 1.0
    max_note_bytes: int = 4 << 20
    decay_floor: float = FADED_DECAY
    """Below which decay a fact has faded, for `maintain`."""
    auto_link: bool = True
    """Whether what agents write gets links to the entities it mentions."""
    derive: bool = True
    """Whether passes bring indexes, tables and vectors up to date at their end."""
    embedder: str = "local"
    """Which model makes vectors; see docs/concepts/choosing-an-embedder.md."""
    embedder_key: str = ""
    """The variable of the environment that holds the key of an embedding service."""
    models: Path = Path("~/.cache/vaultsync/models")
    """Where exports of models are kept, for all vaults of this machine."""
    reranker: str = ""
    """The folder of a model that reads question and answer together; none."""
    index_folder: VaultPath = VaultPath("")
    """A visible twin of `.index/` in the vault; none."""
    language: str = ENGLISH
    """Of texts whose language cannot be told: whose stems and stop words they have."""
    weights: RankingWeights = RankingWeights()
    """What decides the order of hits: the table `[weights]`."""
    hygiene: PrivacySettings = PrivacySettings()
    """Secrets, and text that would run."""
    watch: WatchSettings = WatchSettings()
    memory_file: MemoryFileSettings = MemoryFileSettings()
    """Which memory files `watch` follows."""
    qdrant: Mapping[str, object] = MappingProxyType({})
    """How a Qdrant is used: the table `[qdrant]`; see docs/guides/qdrant.md."""


def find_root(path: str | None) -> Path:
    """The root of the vault: the folder given, else the nearest one upwards.

    Raises:
        NotAVaultError: there is no marker.
    """
    given = path or os.environ.get("VAULTSYNC_VAULT")
    if given:
        root = Path(given).expanduser()
        if not (root / MARKER).is_file():
            raise NotAVaultError(str(root))
        return root.resolve()
    here = Path.cwd()
    for root in (here, *here.parents):
        if (root / MARKER).is_file():
            return root
    raise NotAVaultError(str(here))


def state_root(given: str | None) -> Path:
    """The folder under which each vault keeps its state."""
    chosen = given or os.environ.get("VAULTSYNC_STATE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "vaultsync"


def _models() -> Path:
    chosen = os.environ.get("VAULTSYNC_MODELS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "vaultsync" / "models"


def load_settings(
    root: Path,
    *,
    agent: str | None = None,
    state_dir: str | None = None,
    store: str | None = None,
) -> Settings:
    """The settings of the vault at `root`; arguments win over environment and file.

    Raises:
        NotAVaultError: no marker.
        ConfigError: the marker is no TOML, or holds a setting that makes no sense.
    """
    said = _read(root)
    vault_id = said.get("vault_id")
    if not isinstance(vault_id, str) or not vault_id:
        raise ConfigError(
            f"{MARKER} names no vault_id",
            hint="put the file back from a backup; the id is also the name of this vault's"
            f" folder in {state_root(None)}",
        )
    scope = check_scope(str(said.get("default_scope") or PUBLIC))
    ignore = said.get("ignore", [])
    if not isinstance(ignore, list) or not all(isinstance(x, str) for x in ignore):
        raise ConfigError("ignore is no list of folders", hint='ignore = ["Templates"]')
    state = state_root(state_dir) / _folder_name(vault_id)
    return Settings(
        root=root,
        vault_id=vault_id,
        state_dir=state,
        store=store or str(said.get("store") or "sqlite"),
        agent=agent or os.environ.get("VAULTSYNC_AGENT") or None,
        default_scope=scope,
        ignore=tuple(ignore),
        linger_seconds=_number(said, "linger_seconds", 60.0),
        settle_seconds=_number(said, "settle_seconds", 30.0),
        grace_seconds=_number(said, "grace_seconds", 1.0),
        max_note_bytes=int(_number(said, "max_note_bytes", 4 << 20)),
        decay_floor=_number(said, "decay_floor", FADED_DECAY),
        auto_link=_flag(said, "auto_link", default=True),
        derive=_flag(said, "derive", default=True),
        embedder=check_embedder(
            os.environ.get("VAULTSYNC_EMBEDDER") or _word(said, "embedder", "local")
        ),
        embedder_key=_word(said, "embedder_key", ""),
        models=_models(),
        reranker=_word(said, "reranker", ""),
        index_folder=_index_folder(said),
        language=_language(said),
        weights=_weights(_table(said, "weights")),
        hygiene=_hygiene(said.get("hygiene", {})),
        memory_file=_memory_file(said),
        watch=_watch(_table(said, "watch")),
        qdrant=_table(said, "qdrant"),
    )


def check_embedder(setting: str) -> str:
    """The setting, which names an embedder.

    Raises:
        ConfigError: it names none.
    """
    kind, colon, which = setting.partition(":")
    alone, named = "local sentence hash none", "local sentence hub http"
    if kind in (named if which else alone).split() and bool(colon) == bool(which):
        return setting
    hint = (
        "set `embedder`, or VAULTSYNC_EMBEDDER, to local, local:PATH, sentence,"
        " sentence:PATH, hub:NAME, http:URL#MODEL, hash or none"
    )
    raise ConfigError(f"there is no embedder {setting!r}", hint=hint)


def _index_folder(said: Mapping[str, object]) -> VaultPath:
    folder = _word(said, "index_folder", "")
    try:
        return vault_path(folder.strip("/")) if folder else VaultPath("")
    except UnsafePathError as unsafe:
        hint = f"give a folder of the vault, such as Index: {unsafe.message}"
        raise _invalid_value("index_folder", folder, hint) from None


def _language(said: Mapping[str, object]) -> str:
    language = _word(said, "language", ENGLISH).lower()
    if language not in STEMMER_LANGUAGES:
        hint = "give one of " + ", ".join(sorted({*STEMMER_LANGUAGES}))
        raise _invalid_value("language", language, hint)
    return language


def _weights(said: Mapping[str, object]) -> RankingWeights:
    default = RankingWeights()
    _check_names(said, RankingWeights._fields)
    of_fields = _table(said, "fields")
    _check_names(of_fields, FIELD_WEIGHTS)
    made = RankingWeights(
        similarity=_number(said, "similarity", default.similarity),
        recency=_number(said, "recency", default.recency),
        utility=_number(said, "utility", default.utility),
        vectors=_number(said, "vectors", default.vectors),
        fields={
            name: _number(of_fields, name, FIELD_WEIGHTS[name])
            for name in FIELD_WEIGHTS
        },
        least=_number(said, "least", default.least),
    )
    if not made.similarity + made.recency + made.utility:
        hint = "one of similarity, recency and utility has to count"
        raise _invalid_value("weights", said, hint)
    if not any(made.fields.values()):
        raise _invalid_value("fields", of_fields, "one of the fields has to count")
    return made


def _check_names(said: Mapping[str, object], known: Iterable[str]) -> None:
    """A weight that is misspelled would count nothing, and nobody would see it."""
    for name, value in said.items():
        if name not in known:
            raise _invalid_value(name, value, "weights are " + ", ".join(known))


def _watch(said: Mapping[str, object]) -> WatchSettings:
    default = WatchSettings()
    watcher = _word(said, "watcher", default.watcher)
    if watcher not in WATCHERS:
        raise _invalid_value("watcher", watcher, "give one of " + ", ".join(WATCHERS))
    return WatchSettings(
        settle_seconds=_number(said, "settle_seconds", default.settle_seconds),
        settle_longest=_number(said, "settle_longest", default.settle_longest),
        rescan_seconds=_number(said, "rescan_seconds", default.rescan_seconds),
        hash_seconds=_number(said, "hash_seconds", default.hash_seconds),
        watcher=watcher,
        poll_seconds=_number(said, "poll_seconds", default.poll_seconds),
    )


def _memory_file(said: Mapping[str, object]) -> MemoryFileSettings:
    table = said.get("memory_file", {})
    if not isinstance(table, dict):
        raise _invalid_value("memory_file", table, 'write [memory_file] files = ["…"]')
    scope = _word(table, "scope", "")
    return MemoryFileSettings(
        files=_words(table, "files"),
        include=_words(table, "include"),
        exclude=_words(table, "exclude"),
        agent=_word(table, "agent", ""),
        scope=check_scope(scope) if scope else "",
        settle_seconds=_number(table, "settle_seconds", 2.0),
    )


def _words(said: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = said.get(key, [])
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise _invalid_value(key, value, 'give a list of texts, such as ["MEMORY.md"]')
    return tuple(value)


def _folder_name(vault_id: str) -> str:
    """The vault's id as the name of a folder; ids are ours, but the file is anybody's."""
    kept = "".join(c for c in vault_id if c.isascii() and (c.isalnum() or c in "-_"))
    if kept != vault_id or len(kept) > 64:  # noqa: PLR2004 - a UUID and room to spare
        raise ConfigError(
            f"vault_id {vault_id[:80]!r} is no id", hint="it is a UUID; see `.meta`"
        )
    return kept


def _read(root: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads((root / MARKER).read_text(encoding="utf-8"))
    except OSError:
        raise NotAVaultError(str(root)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise ConfigError(
            f"{root / MARKER} cannot be read: {broken}", hint="mend it by hand"
        ) from None


def _hygiene(said: object) -> PrivacySettings:
    if not isinstance(said, dict):
        raise _invalid_value("hygiene", said, "write it as a table: [hygiene]")
    patterns = _words(said, "patterns")
    for each in patterns:
        _check_pattern(each)
    return PrivacySettings(
        secrets=_flag(said, "secrets", default=True),
        patterns=tuple(each for each in patterns if not each.startswith("@")),
        optional=tuple(each[1:] for each in patterns if each.startswith("@")),
        environment=_words(said, "environment"),
        neutralise=_flag(said, "neutralise", default=True),
    )


_REPEATED_TWICE = (
    r"\((?:[^()\\]|\\.)*?(?:[*+]|\{\d*,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{)"
)
"""A repetition in what is repeated: such patterns can take longer than anybody lives."""


def _check_pattern(pattern: str) -> None:
    if pattern.startswith("@"):
        if pattern[1:] not in OPTIONAL_FORMS:
            known = ", ".join(f"@{each}" for each in OPTIONAL_FORMS)
            raise _invalid_value("patterns", pattern, f"the kinds by name are {known}")
        return
    try:
        found = re.compile(pattern)
    except re.error as wrong:
        raise _invalid_value(
            "patterns", pattern, f"it is no pattern: {wrong}"
        ) from None
    if found.search("") is not None:
        raise _invalid_value("patterns", pattern, "it matches where there is nothing")
    if re.search(_REPEATED_TWICE, pattern):
        hint = "nothing may be repeated in what is repeated: it could take for ever"
        raise _invalid_value("patterns", pattern, hint)


def _table(said: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = said.get(key, {})
    if not isinstance(value, dict):
        raise _invalid_value(key, value, f"write a line [{key}] and its settings below")
    return value


def _flag(said: Mapping[str, object], key: str, *, default: bool) -> bool:
    value = said.get(key, default)
    if not isinstance(value, bool):
        raise _invalid_value(key, value, "give true or false")
    return value


def _word(said: Mapping[str, object], key: str, default: str) -> str:
    value = said.get(key, default)
    if not isinstance(value, str):
        raise _invalid_value(key, value, "give a text in quotes")
    return value


def _number(said: Mapping[str, object], key: str, default: float) -> float:
    value = said.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _invalid_value(key, value, "give a number")
    if not math.isfinite(value) or value < 0:
        raise _invalid_value(key, value, "give a number that is not below 0")
    return float(value)


def _invalid_value(key: str, value: object, hint: str) -> ConfigError:
    told = f"in {MARKER.as_posix()}: {key} = {value!r} makes no sense"
    return ConfigError(told, hint=hint)
