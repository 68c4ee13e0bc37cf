"""Settings: read once, from the vault's marker, the environment and the caller."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert, structs

from vaultsync.errors import ConfigError, NotAVaultError, UnsafePathError
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
"""What reports changes to the daemon; `auto` chooses by where the vault lies."""


class WatchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[watch]`: how the daemon works."""

    settle_seconds: Seconds = 0.3
    settle_longest: Seconds = 2.0
    rescan_seconds: Seconds = 60.0
    hash_seconds: Seconds = 3600.0
    watcher: Watcher = "auto"
    poll_seconds: Seconds = 2.0
    """How often a watcher looks that gets no events."""


class MemoryFileSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[memory_file]`: what `watch` keeps in step with the store."""

    files: Texts = ()
    """Files, or folders in which `include` looks; relative ones begin at the vault."""
    include: Texts = ()
    exclude: Texts = ()
    agent: str = ""
    scope: str = ""
    settle_seconds: Seconds = 2.0
    """How long a file must be quiet before it is read."""


class PrivacySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[hygiene]`: what notes and answers may show."""

    secrets: bool = True
    """Whether secrets are hidden."""
    patterns: Texts = ()
    """Further secrets: regular expressions, and kinds by name, such as `@card`."""
    environment: Texts = ()
    """Variables of the environment whose values are secrets."""
    neutralise: bool = True
    """Whether what would run in Obsidian is escaped in notes that agents write."""

    @property
    def expressions(self) -> tuple[str, ...]:
        """The regular expressions among the patterns."""
        return tuple(each for each in self.patterns if not each.startswith("@"))

    @property
    def optional(self) -> tuple[str, ...]:
        """The kinds among the patterns, without their `@`."""
        return tuple(each[1:] for each in self.patterns if each.startswith("@"))


class QdrantSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[qdrant]`: how a Qdrant is used; see docs/guides/qdrant.md."""

    agent: str = "default"
    """Whose collection it is, where the URL does not say."""
    key: str = "QDRANT_API_KEY"
    """The variable of the environment that holds the key; the key is nowhere else."""
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
    """How long a failing request is repeated before the store counts as away."""
    retention_days: Days = 90.0
    """How long a tombstone is kept."""


class MarkerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What `.meta/config.toml` may hold."""

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
    """Below which decay a fact has faded, for `maintain`."""
    auto_link: bool = True
    """Whether what agents write gets links to the entities it mentions."""
    derive: bool = True
    """Whether passes bring indexes, tables and vectors up to date at their end."""
    embedder: str = "local"
    """Which model makes vectors; see docs/concepts/choosing-an-embedder.md."""
    embedder_key: str = ""
    """The variable of the environment that holds the key of an embedding service."""
    reranker: str = ""
    """The folder of a model that reads question and answer together; none."""
    index_folder: VaultPath = VaultPath("")
    """A visible twin of `.index/` in the vault; none."""
    language: str = ENGLISH
    """The language of texts whose own cannot be detected: its stems and stop words."""
    weights: RankingWeights = RankingWeights()
    """What decides the order of hits."""
    hygiene: PrivacySettings = PrivacySettings()
    """Secrets, and text that would run."""
    watch: WatchSettings = WatchSettings()
    memory_file: MemoryFileSettings = MemoryFileSettings()
    """Which memory files `watch` follows."""
    qdrant: QdrantSettings = QdrantSettings()


class Settings(MarkerSettings, frozen=True, kw_only=True):
    """All settings of one vault: those of its marker, checked, and those of the caller."""

    root: Path
    state_dir: Path
    """Of this vault alone: archive, store, lock."""
    agent: str | None = None
    user: str | None = None
    """Whom an agent serves: it recalls only what is about them."""
    models: Path = Path("~/.cache/vaultsync/models")
    """Where exports of models are kept, for all vaults of this machine."""


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
        ConfigError: the marker is not TOML, or holds an unknown setting or a bad value.
    """
    given = _read(root)
    found = _convert(given, MarkerSettings)
    if not found.vault_id:
        raise ConfigError(
            f"{MARKER} names no vault_id",
            hint="put the file back from a backup; the id is also the name of this vault's"
            f" folder in {state_root(None)}",
        )
    for each in found.hygiene.patterns:
        _check_pattern(each)
    if found.memory_file.scope:
        check_scope(found.memory_file.scope)
    checked = {
        "store": store or found.store or "sqlite",
        "default_scope": check_scope(found.default_scope or PUBLIC),
        "embedder": check_embedder(os.environ.get("VAULTSYNC_EMBEDDER") or found.embedder),
        "index_folder": _index_folder(found.index_folder),
        "language": _language(found.language),
        "weights": _weights(found.weights),
    }
    return Settings(
        **structs.asdict(found) | checked,
        root=root,
        state_dir=state_root(state_dir) / _folder_name(found.vault_id),
        agent=agent or os.environ.get("VAULTSYNC_AGENT") or None,
        models=_models(),
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


def _folder_name(vault_id: str) -> str:
    """The vault's id as the name of a folder; ids are ours, but the file is anybody's."""
    kept = "".join(c for c in vault_id if c.isascii() and (c.isalnum() or c in "-_"))
    if kept != vault_id or len(kept) > 64:  # noqa: PLR2004 - a UUID and room to spare
        raise ConfigError(f"vault_id {vault_id[:80]!r} is no id", hint="it is a UUID; see `.meta`")
    return kept


def _read(root: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads((root / MARKER).read_text(encoding="utf-8"))
    except OSError:
        raise NotAVaultError(str(root)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise ConfigError(
            f"{root / MARKER} cannot be read: {broken}", hint="correct it by hand"
        ) from None


_REPEATED_TWICE = r"\((?:[^()\\]|\\.)*?(?:[*+]|\{\d*,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{)"
"""A repetition in what is repeated: matching such a pattern can take exponential time."""


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
    """A table as its struct.

    Raises:
        ConfigError: a name in it is unknown, or a value is of another type or range.
    """
    try:
        return convert(given, to)
    except ValidationError:
        # msgspec names types; a person is told what to write.
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
    """What a setting of a type takes, in words."""
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
