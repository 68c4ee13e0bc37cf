"""The settings of a vault, and their parser; `api/configuration.py` reads the file."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert, structs

from vaultsync.errors import ConfigError, UnsafePathError
from vaultsync.indexing.language import ENGLISH, STEMMER_LANGUAGES
from vaultsync.model.decay import FADED_DECAY
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.model.scope import PUBLIC, check_scope
from vaultsync.privacy.detection import OPTIONAL_FORMS
from vaultsync.recall.ranking import FIELD_WEIGHTS, RankingWeights

MARKER = Path(".meta") / "config.toml"
T = TypeVar("T", bound=Struct)

_LARGEST = sys.float_info.max  # infinity is no setting
Number = Annotated[float, Meta(ge=0, le=_LARGEST, description="a number (0 or more)")]
Seconds = Annotated[float, Meta(ge=0, le=_LARGEST, description="a number of seconds (0 or more)")]
Days = Annotated[float, Meta(ge=0, le=_LARGEST, description="a number of days (0 or more)")]
Bytes = Annotated[float, Meta(ge=0, le=_LARGEST, description="a number of bytes (0 or more)")]
Count = Annotated[int, Meta(ge=1, description="a whole number (1 or more)")]
Texts = Annotated[tuple[str, ...], Meta(description='a list of texts, such as ["MEMORY.md"]')]
Watcher = Literal["auto", "watchfiles", "watchdog", "polling"]
"""The source of file events; `auto` chooses by the file system of the vault."""


class WatchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[watch]`: how the daemon works."""

    settle_seconds: Seconds = 0.3
    settle_longest: Seconds = 2.0
    rescan_seconds: Seconds = 60.0
    hash_seconds: Seconds = 3600.0
    watcher: Watcher = "auto"
    poll_seconds: Seconds = 2.0
    """Interval of the polling watcher."""


class MemoryFileSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[memory_file]`: the memory files that `watch` syncs."""

    files: Texts = ()
    """Files, or folders to which `include` applies; relative to the vault."""
    include: Texts = ()
    exclude: Texts = ()
    agent: str = ""
    scope: str = ""
    settle_seconds: Seconds = 2.0
    """How long a file must be unchanged before it is read."""


class PrivacySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[hygiene]`: what is redacted and escaped in notes and answers."""

    secrets: bool = True
    """Whether secrets are redacted."""
    patterns: Texts = ()
    """Further secrets: regular expressions, and names of kinds, such as `@card`."""
    environment: Texts = ()
    """Names of environment variables whose values are secrets."""
    neutralise: bool = True
    """Whether content that Obsidian would run is escaped in notes that agents write."""


class QdrantSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[qdrant]`: the connection to Qdrant; see docs/guides/qdrant.md."""

    agent: str = "default"
    """Owner of the collection, where the URL names none."""
    key: str = "QDRANT_API_KEY"
    """Name of the environment variable that holds the API key."""
    tls: bool = False
    grpc_port: Count | None = None
    shard_number: Count | None = None
    replication_factor: Count | None = None
    write_consistency_factor: Count | None = None
    read_consistency: Annotated[
        Literal["majority", "quorum", "all"] | Count,
        Meta(description="majority, quorum, all or a whole number (1 or more)"),
    ] = "majority"
    ordering: Literal["weak", "medium", "strong"] = "strong"
    timeout_seconds: Seconds = 10.0
    patience_seconds: Seconds = 15.0
    """How long a failing request is retried before the store counts as unavailable."""
    retention_days: Days = 90.0
    """How long a tombstone is kept."""


class MarkerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that `.meta/config.toml` may have."""

    vault_id: str = ""
    default_scope: str = PUBLIC
    store: str = "sqlite"
    """`sqlite` (in the state folder), `sqlite:PATH`, or the URL of a Qdrant."""
    ignore: Annotated[
        tuple[str, ...], Meta(description='a list of folders, such as ["Templates"]')
    ] = ()
    linger_seconds: Seconds = 60.0
    settle_seconds: Seconds = 30.0
    grace_seconds: Seconds = 1.0
    max_note_bytes: Bytes = 4 << 20
    decay_floor: Number = FADED_DECAY
    """The decay below which a fact has faded, for `maintain`."""
    auto_link: bool = True
    """Whether texts of agents get links to the entities they mention."""
    derive: bool = True
    """Whether runs end by updating indexes, tables and vectors."""
    embedder: str = "local"
    """The embedding model; see docs/concepts/choosing-an-embedder.md."""
    embedder_key: str = ""
    """Name of the environment variable that holds the key of an embedding service."""
    embed_in_background: bool = True
    """Whether a process of its own embeds what runs and agents write; else only
    `vaultsync index` does."""
    reranker: str = ""
    """The folder of a cross-encoder model; empty for none."""
    index_folder: VaultPath = VaultPath("")
    """A visible copy of `.index/` in the vault; empty for none."""
    language: str = ENGLISH
    """The language of texts whose language cannot be detected: stemming and stop words."""
    weights: RankingWeights = RankingWeights()
    """The ranking of hits."""
    hygiene: PrivacySettings = PrivacySettings()
    """Redaction and escaping."""
    watch: WatchSettings = WatchSettings()
    memory_file: MemoryFileSettings = MemoryFileSettings()
    """The memory files that `watch` syncs."""
    qdrant: QdrantSettings = QdrantSettings()


class Settings(MarkerSettings, frozen=True, kw_only=True):
    """All settings of one vault: those of its marker, and those of the caller."""

    root: Path
    state_dir: Path
    """The folder of this vault's archive, store and lock."""
    agent: str | None = None
    user: str | None = None
    """The user whom an agent serves; it recalls only facts about them."""
    models: Path = Path("~/.cache/vaultsync/models")
    """The folder of exported models, shared by all vaults of this machine."""


def parse_settings(
    text: str,
    environment: Mapping[str, str],
    *,
    root: Path,
    state_root: Path,
    models: Path,
    agent: str | None = None,
    store: str | None = None,
) -> Settings:
    """Parse the marker of a vault; arguments win over the environment, and both over the file.

    Raises:
        ConfigError: the text is not TOML, or has an unknown setting or an invalid value.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{root / MARKER} cannot be read: {error}", hint="correct the TOML by hand"
        ) from None
    found = _convert(given, MarkerSettings)
    if not found.vault_id:
        raise ConfigError(
            f"{MARKER} has no vault_id",
            hint="restore the file from a backup; the id is also the name of this vault's"
            f" folder in {state_root}",
        )
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", found.vault_id) is None:
        # It names a folder, and anyone can edit the file.
        raise ConfigError(
            f"vault_id {found.vault_id[:80]!r} is not a valid id",
            hint=f"restore {MARKER} from a backup; an id is a UUID",
        )
    for each in found.hygiene.patterns:
        _check_pattern(each)
    if found.memory_file.scope:
        check_scope(found.memory_file.scope)
    checked = {
        "store": store or found.store or "sqlite",
        "default_scope": check_scope(found.default_scope or PUBLIC),
        "embedder": check_embedder(environment.get("VAULTSYNC_EMBEDDER") or found.embedder),
        "embed_in_background": _switch(
            environment, "VAULTSYNC_EMBED_IN_BACKGROUND", found.embed_in_background
        ),
        "index_folder": _index_folder(found.index_folder),
        "language": _language(found.language),
        "weights": _weights(found.weights),
    }
    return Settings(
        **structs.asdict(found) | checked,
        root=root,
        state_dir=state_root / found.vault_id,
        agent=agent or environment.get("VAULTSYNC_AGENT") or None,
        models=models,
    )


def _switch(environment: Mapping[str, str], name: str, setting: bool) -> bool:  # noqa: FBT001
    """A setting that a variable may switch; raises ConfigError unless that is `on` or `off`."""
    value = environment.get(name) or ("on" if setting else "off")
    if value not in ("on", "off"):
        raise ConfigError(f"{name} is {value!r:.80}", hint="set it to on or off")
    return value == "on"


def check_embedder(setting: str) -> str:
    """The setting; raises ConfigError if it names no embedder."""
    kind, colon, which = setting.partition(":")
    alone, named = "local sentence hash none", "local sentence hub http"
    if kind in (named if which else alone).split() and bool(colon) == bool(which):
        return setting
    hint = (
        "set `embedder`, or VAULTSYNC_EMBEDDER, to local, local:PATH, sentence,"
        " sentence:PATH, hub:NAME, http:URL#MODEL, hash or none"
    )
    raise ConfigError(f"unknown embedder {setting!r}", hint=hint)


def _index_folder(folder: str) -> VaultPath:
    try:
        return vault_path(folder.strip("/")) if folder else VaultPath("")
    except UnsafePathError as unsafe:
        expected = f"a folder of the vault, such as Index ({unsafe.message})"
        raise _bad_value("index_folder", folder, expected) from None


def _language(language: str) -> str:
    if language.lower() not in STEMMER_LANGUAGES:
        expected = "one of " + ", ".join(sorted({*STEMMER_LANGUAGES}))
        raise _bad_value("language", language, expected)
    return language.lower()


def _weights(given: RankingWeights) -> RankingWeights:
    _check_names(given.fields, FIELD_WEIGHTS, "weights.fields")
    if not given.similarity + given.recency + given.utility:
        expected = "similarity, recency or utility above 0"
        raise _bad_value("weights", 0, expected)
    fields = {**FIELD_WEIGHTS, **given.fields}
    if not any(fields.values()):
        raise _bad_value("weights.fields", 0, "at least one field above 0")
    return structs.replace(given, fields=fields)


_REPEATED_TWICE = r"\((?:[^()\\]|\\.)*?(?:[*+]|\{\d*,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{)"
"""A nested repetition, which can take exponential time to match."""


def _check_pattern(pattern: str) -> None:
    expected = ""
    if pattern.startswith("@"):
        if pattern[1:] not in OPTIONAL_FORMS:
            expected = "a kind such as " + ", ".join(f"@{each}" for each in OPTIONAL_FORMS)
    else:
        try:
            if re.compile(pattern).search("") is not None:
                expected = "a regular expression that does not match empty text"
        except re.error as wrong:
            expected = f"a regular expression ({wrong})"
        if re.search(_REPEATED_TWICE, pattern):
            expected = "a regular expression without a repetition in a repeated group"
    if expected:
        raise _bad_value("hygiene.patterns", pattern, expected)


def _convert(given: Mapping[str, object], to: type[T], table: str = "") -> T:
    """A table as its struct; raises ConfigError for an unknown name or a wrong value."""
    try:
        return convert(given, to)
    except ValidationError:
        # msgspec names Python types; this names the setting and what to write.
        known = {each.name: each.type for each in structs.fields(to)}
        _check_names(given, known, table)
        for name, value in given.items():
            path = f"{table}.{name}" if table else name
            kind = known[name]
            if isinstance(value, dict) and _is_table(kind):
                _convert(value, kind, path)
                continue
            try:
                convert(value, kind)
            except ValidationError:
                raise _bad_value(path, value, _expected(kind)) from None
        raise


def _is_table(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _check_names(given: Mapping[str, object], known: Collection[str], table: str) -> None:
    for name in given:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - for this error only

            like = get_close_matches(name, known, 1)
            where = f"[{table}] of {MARKER.as_posix()}" if table else MARKER.as_posix()
            names = ", ".join(known)
            hint = f"did you mean {like[0]!r}?" if like else f"the settings are {names}"
            raise ConfigError(f"unknown setting {name!r} in {where}", hint=hint)


def _expected(kind: object) -> str:
    """The values that a type accepts, in words."""
    if _is_table(kind):
        return "a table"
    for each in (kind, *get_args(kind)):
        for meta in getattr(each, "__metadata__", ()):
            return str(meta.description)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    return "true or false" if kind is bool else "text in quotes"


def _bad_value(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(
        f"setting {name}: expected {expected}, got {value!r:.80}",
        hint=f"correct it in {MARKER.as_posix()}",
    )
