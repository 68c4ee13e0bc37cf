"""The settings of a vault: their definition, the file to which each belongs, and reading them.

*Vault settings* are harmless wherever a vault comes from, and `.meta/config.toml` holds them.
*Machine settings* can connect, send, or reach outside the vault; they belong into the user's
own file for the vault. The type says whose a setting is: what `VaultSettings` and its tables
have is the vault's, what `MachineSettings` and its tables add is the machine's. In a vault's
own file, a machine setting is a request (`trust.py`).

`api/configuration.py` reads the files.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert, structs

from vaultsync.errors import (
    ConfigError,
    MissingExtraError,
    UnsafePathError,
    UsageError,
    nearest_name,
)
from vaultsync.indexing.language import ENGLISH, STEMMER_LANGUAGES
from vaultsync.model.canonical import canonical
from vaultsync.model.decay import FADED_DECAY
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.model.permissions import (
    AgentPermissions,
    AgentWeights,
    Permissions,
    normal_permissions,
)
from vaultsync.model.schema import ALL_FIELDS_BY_KEY, FieldOwner
from vaultsync.model.scope import PUBLIC, check_scope
from vaultsync.recall.ranking import FIELD_WEIGHTS, RankingWeights

MARKER = Path(".meta") / "config.toml"
_REPOS_DIR = "~/.codex-toolloop/repos"
"""Where other tools that share the inspectable files of a repository look for them; it is part of
their format, as the names of the files are."""
IGNORE = "ignore"
"""The value in `[map]` of a word that is ignored and not reported."""
MARKER_BYTES = 1 << 16
"""The maximum size of a settings file."""
_MOST_DOTS = 2_000
"""The maximum number of dots: `tomllib` takes quadratic time for a key with many parts."""
T = TypeVar("T", bound=Struct)
Table = Mapping[str, Any]
"""A TOML table."""

MOST_SECONDS = 315_360_000.0
"""Ten years: no system clock overflows with it."""
MOST_DAYS = 36_500.0
Number = Annotated[float, Meta(ge=0, le=sys.float_info.max, description="a number (0 or more)")]
Decay = Annotated[float, Meta(ge=0, le=1, description="a number (0 or more)")]
Seconds = Annotated[
    float, Meta(ge=0, le=MOST_SECONDS, description="a number of seconds (0 or more)")
]
Days = Annotated[float, Meta(ge=0, le=MOST_DAYS, description="a number of days (0 or more)")]
NoteBytes = Annotated[
    float, Meta(ge=1024, le=1 << 30, description="a number of bytes (1024 or more)")
]
Count = Annotated[int, Meta(ge=1, le=1 << 31, description="a whole number (1 or more)")]
Texts = Annotated[tuple[str, ...], Meta(description='a list of texts, such as ["MEMORY.md"]')]
Watcher = Literal["auto", "watchfiles", "watchdog", "polling"]
"""The source of file events; `auto` chooses by the file system of the vault."""


LEAST_SCAN_SECONDS = 1.0
"""The least interval of the daemon's scans: with 0, they would keep a processor busy."""


class WatchTiming(Struct, frozen=True, forbid_unknown_fields=True):
    """What a vault sets in the table `[watch]`: when the daemon works."""

    settle_seconds: Seconds = 0.3
    settle_longest: Seconds = 2.0
    rescan_seconds: Seconds = 60.0
    hash_seconds: Seconds = 3600.0
    poll_seconds: Seconds = 2.0
    """Interval of the polling watcher."""


class WatchSettings(WatchTiming, frozen=True):
    """The table `[watch]`: how the daemon works."""

    watcher: Watcher = "auto"


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


class FurtherSecrets(Struct, frozen=True, forbid_unknown_fields=True):
    """What a vault sets in the table `[hygiene]`: it only adds to what is redacted."""

    patterns: Texts = ()
    """Additional secrets: regular expressions, and names of kinds such as `@card`."""


class PrivacySettings(FurtherSecrets, frozen=True):
    """The table `[hygiene]`: what is redacted and escaped in notes and answers."""

    secrets: bool = True
    """Whether secrets are redacted."""
    environment: Texts = ()
    """Names of environment variables whose values are secrets."""
    neutralise: bool = True
    """Whether active content is escaped in notes that agents write."""


class RetentionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[retention]`: how long `maintain` keeps what undo and restore need.

    In days; 0 keeps it for ever.
    """

    history: Days = 730.0
    """Who changed what, which `history` and `undo` need; also closed conflicts."""
    runs: Days = 365.0
    """Reports of runs."""
    blobs: Days = 90.0
    """Earlier versions of notes, counted from when nothing needs them any more."""
    tombstones: Days = 365.0
    """Forgotten facts, which `restore` needs."""


ProposalMode = Literal["off", "propose", "auto"]
"""Whether a rule makes proposals, or also accepts them immediately, which can be undone."""


class ProposalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[proposals]`: what `maintain` proposes, by kind."""

    duplicates: ProposalMode = "propose"
    contradiction: ProposalMode = "propose"
    consolidation: ProposalMode = "propose"
    link: ProposalMode = "off"
    retype: ProposalMode = "off"
    retitle: ProposalMode = "off"
    junk: ProposalMode = "off"


class RepoLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What a vault sets in the table `[repos]`: the memory of git repositories."""

    branch_scope: Literal["perBranch", "sharedRepo"] = "perBranch"
    """Whether each branch has a memory of its own."""
    max_summaries_in_context: Count = 10
    summaries_max_entries: Count = 100
    """Maximum number of summaries per branch; older ones are combined into weekly digests."""
    summaries_max_bytes: Count = 1 << 20


class RepoSettings(RepoLimits, frozen=True):
    """The table `[repos]`: the memory of git repositories."""

    root: str = ""
    """The folder of the inspectable files; empty for the default."""


class QdrantSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[qdrant]`: the connection to Qdrant; see docs/guides/qdrant.md."""

    agent: str = "default"
    """The name of the collection if the URL does not contain one."""
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
    """How long a tombstone is kept; with 0, `maintain` removes it, unlike in `[retention]`."""
    isolated_scopes: tuple[str, ...] = ()
    """Scopes with separate collections; `private-*` stands for all that begin with `private-`."""


class ModuleFolderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a vault sets in the table `[modules]`: where modules are, and the limits of alerts."""

    folder: VaultPath = VaultPath("docs/memories")
    """The folder of modules, in a repository or in the vault."""
    alert_pending: Count = 10
    """Number of modules that may wait for the remote before there is an alert."""
    alert_hours: Number = 48.0
    """Hours that a module may wait before there is an alert."""


class ModuleSettings(ModuleFolderSettings, frozen=True):
    """The table `[modules]`: layered documents and the remote that mirrors them."""

    remote: str = ""
    """Empty if no remote is set yet, `none` for no remote."""
    space: str = ""
    """The name of the space on the remote; empty for the name of the repository."""
    key: str = ""
    """Name of the environment variable that holds the remote's key."""
    preset: Literal["byterover", "cipher", "vaultsync"] = "byterover"
    """The tools that an MCP remote has."""
    tools: Mapping[Literal["store", "retrieve", "remove"], str] = {}
    """Names of tools that replace those of the preset."""
    min_confidence: Decay = 0.4
    """Minimum confidence at which an answer from the remote is used."""
    timeout_seconds: Seconds = 10.0
    """Timeout of a request to the remote."""


class VaultSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of `.meta/config.toml`: harmless, no matter who wrote them."""

    vault_id: str = ""
    default_scope: str = PUBLIC
    ignore: Annotated[
        tuple[str, ...], Meta(description='a list of folders, such as ["Templates"]')
    ] = ()
    linger_seconds: Seconds = 60.0
    settle_seconds: Seconds = 30.0
    grace_seconds: Seconds = 1.0
    max_note_bytes: NoteBytes = 4 << 20
    decay_floor: Decay = FADED_DECAY
    """The decay below which a fact has faded, for `maintain`."""
    auto_link: bool = True
    """Whether texts by agents get links to the entities that they mention."""
    derive: bool = True
    """Whether each run updates indexes, tables and vectors at its end."""
    index_folder: VaultPath = VaultPath("")
    """A visible copy of `.index/` in the vault; empty for none."""
    language: str = ENGLISH
    """The language for stemming and stop words of texts whose language cannot be detected."""
    weights: RankingWeights = RankingWeights()
    """The ranking of hits."""
    retention: RetentionSettings = RetentionSettings()
    """How long `maintain` keeps what undo and restore need."""
    proposals: ProposalSettings = ProposalSettings()
    """What `maintain` proposes."""
    hygiene: FurtherSecrets = FurtherSecrets()
    """Redaction and escaping."""
    modules: ModuleFolderSettings = ModuleFolderSettings()
    map: Mapping[str, Mapping[str, Any]] = {}
    """Field -> a word that notes give it and that it does not take, or `*` for all others -> the
    value it means, or `ignore`."""
    watch: WatchTiming = WatchTiming()
    repos: RepoLimits = RepoLimits()
    """The memory of git repositories."""


class MachineSettings(VaultSettings, frozen=True):
    """All settings that a file may have: those of vaults, and those of this machine."""

    store: str = "sqlite"
    """`sqlite` (in the state folder), `sqlite:PATH`, or a Qdrant URL."""
    embedder: str = "local"
    """The embedding model; see docs/concepts/choosing-an-embedder.md."""
    embedder_key: str = ""
    """Name of the environment variable that holds the key of an embedding service."""
    embed_in_background: bool = True
    """Whether a process of its own embeds what runs and agents write; else only
    `vaultsync index` does."""
    reranker: str = ""
    """The folder of a cross-encoder, or `local:` and a folder with its export; `local` for the one
    of the extra `rerank`; `none` for none. Empty: the words of the default model."""
    classifier: Literal["rules", "model", "embedding"] = "rules"
    """How the tiers of observations are determined."""
    classifier_url: str = ""
    """The URL of the service whose model classifies."""
    classifier_model: str = ""
    classifier_key: str = ""
    """Name of the environment variable that holds the key of that service."""
    mcp_toolsets: str = "auto"
    """The tools that `vaultsync mcp` lists: `auto`, `all`, or names such as `memory,repo`."""
    hygiene: PrivacySettings = PrivacySettings()
    watch: WatchSettings = WatchSettings()
    memory_file: MemoryFileSettings = MemoryFileSettings()
    """The memory files that `watch` syncs."""
    repos: RepoSettings = RepoSettings()
    qdrant: QdrantSettings = QdrantSettings()
    modules: ModuleSettings = ModuleSettings()
    permissions: Permissions = Permissions()
    """Which agents read, write and propose in which scopes."""


HARMLESS: Mapping[str, frozenset[object]] = {
    "classifier": frozenset({"embedding"}),
    "embedder": frozenset({"sentence", "hash", "none"}),
    "reranker": frozenset({"local", "none"}),
    "modules.remote": frozenset({"none"}),
}
"""Values of machine settings, besides the defaults, that a vault may set without permission."""


NO_SHORTER = frozenset(f"retention.{name}" for name in RetentionSettings.__struct_fields__)
"""Settings of vaults that are requests if they are below their default and not 0: anyone who can
write a vault could let `maintain` erase what `undo` and `restore` need."""


class Settings(MachineSettings, frozen=True, kw_only=True):
    """All settings of one vault: those of both files, and those passed by the caller."""

    root: Path
    state_dir: Path
    """The folder of this vault's archive, store and lock."""
    agent: str | None = None
    user: str | None = None
    """The user whom an agent serves; it recalls only facts about this user."""
    models: Path = Path("~/.cache/vaultsync/models")
    """The folder of exported models, shared by all vaults of this machine."""
    machine_file: Path = Path()
    """The user's own file for this vault."""
    repos_dir: Path = Path(_REPOS_DIR)
    """The folder of the inspectable files of repositories."""
    sources: Mapping[str, str] = {}
    """The origin of each setting that is not a default, by its name."""
    trusted: int = 0
    """The number of requests of the vault that the user has allowed."""


def user_path(path: str | Path) -> Path:
    """Expand `~` in a path; as in a shell, `~name` of an unknown user stays."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def parse_toml(text: str, where: Path) -> Table:
    """The tables of a settings file; raises ConfigError if it is not TOML."""
    hint = "correct the TOML by hand"
    try:
        if text.count(".") <= _MOST_DOTS:
            return tomllib.loads(text.removeprefix("\ufeff"))  # editors on Windows write one
        why = f"it has more than {_MOST_DOTS:,} dots"
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as error:  # also a number of more digits than Python reads
        why = str(error)
        if "<<<<<<< " in text and "\n>>>>>>> " in text:
            why = "conflict markers of git: the file contains two versions"
            hint = "keep the lines you want, remove the three markers and save it"
    raise ConfigError(f"{where} cannot be read: {why}", hint=hint)


def check_vault_id(marker: Table, *, state_root: Path) -> str:
    """The id in a marker; raises ConfigError for a missing or impossible one.

    It names files and folders, and anyone who can write the vault can edit it.
    """
    found = marker.get("vault_id", "")
    if not found:
        raise ConfigError(
            f"{MARKER} {'has no vault_id' if marker else 'is empty'}",
            hint='restore the file from a backup, or write vault_id = "…" into it: the id is'
            f" the name of this vault's folder in {state_root}, or where --state-dir and"
            " $VAULTSYNC_STATE_DIR pointed before",
        )
    if isinstance(found, str) and _UUID.fullmatch(found):
        return found
    raise ConfigError(
        f"vault_id {_shown(found)} is not a valid id",
        hint=f"restore {MARKER} from a backup; an id is a UUID in lower case; a vault that"
        " never had one gets it from `vaultsync init --new-id`",
    )


_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Lower case only: if file names ignore case, `A` would share the files of `a`."""


def check_file(given: Table, where: str) -> MachineSettings:
    """The settings of one file, each validated on its own.

    Raises:
        ConfigError: it has an unknown setting, or an invalid value.
    """
    found = _convert(given, MachineSettings, where)
    _check_patterns(found.hygiene.patterns, where)
    for each in found.ignore:
        _check_ignored(each, where)
    if found.memory_file.scope:
        check_scope(found.memory_file.scope)
    checked = {
        "store": found.store or "sqlite",
        "default_scope": check_scope(found.default_scope or PUBLIC),
        "embedder": check_embedder(found.embedder),
        "index_folder": _folder("index_folder", found.index_folder, where),
        "modules": structs.replace(
            found.modules, folder=_folder("modules.folder", found.modules.folder, where)
        ),
        "language": _language(found.language, where),
        "weights": _weights(found.weights, where),
        "map": _meanings(found.map, where),
        "permissions": _permissions(found.permissions, found.weights, where),
    }
    return structs.replace(found, **checked)


def combine_settings(
    vault: Table,
    machine: Table,
    environment: Mapping[str, str],
    *,
    agent: str | None,
    store: str | None,
    repos_dir: Path | None,
    **places: Any,  # noqa: ANN401 - other fields of `Settings`
) -> Settings:
    """The settings of a vault.

    What the caller says (`agent`, `store`) wins over the environment, the environment over the
    files, and the user's own file, `machine`, over that of the vault.

    Raises:
        ConfigError: what the environment says is invalid.
    """
    found = check_file(_merged(vault, machine), MARKER.as_posix())
    named = dict.fromkeys(_names_for_all(vault), "vault")
    named |= dict.fromkeys(_names_for_all(machine), "this machine")
    embedder = environment.get("VAULTSYNC_EMBEDDER")
    if embedder:
        named["embedder"] = "environment"
    if store:
        named["store"] = "argument"
    branch_scope = environment.get("MEMORY_BRANCH_SCOPE") or found.repos.branch_scope
    if branch_scope not in ("perBranch", "sharedRepo"):
        raise ConfigError(
            f"MEMORY_BRANCH_SCOPE is {branch_scope!r:.80}", hint="set it to perBranch or sharedRepo"
        )
    folder = environment.get("VAULTSYNC_REPOS_DIR") or found.repos.root
    changed = {
        "repos": structs.replace(found.repos, branch_scope=branch_scope),
        "repos_dir": user_path(folder) if folder else repos_dir or user_path(_REPOS_DIR),
        "embedder": check_embedder(embedder or found.embedder),
        "store": store or found.store,
        "embed_in_background": _switch(
            environment, "VAULTSYNC_EMBED_IN_BACKGROUND", found.embed_in_background
        ),
        "agent": agent or environment.get("VAULTSYNC_AGENT") or None,
    }
    return Settings(**structs.asdict(found) | changed, **places, sources=named)


_ON, _OFF = ("on", "1", "true", "yes"), ("off", "0", "false", "no")


def _switch(environment: Mapping[str, str], name: str, setting: bool) -> bool:  # noqa: FBT001 - the setting itself
    """A setting that a variable may override; raises ConfigError unless that is on or off."""
    value = environment.get(name, "").strip().lower() or ("on" if setting else "off")
    if value not in (*_ON, *_OFF):
        hint = "set it to on (or 1, true, yes) or off (or 0, false, no)"
        raise ConfigError(f"{name} is {value!r:.80}", hint=hint)
    return value in _ON


def single_settings(given: Table, table: str = "") -> Iterator[tuple[str, object]]:
    """The settings in a file by name, such as `watch.settle_seconds`; empty tables too."""
    for name, value in given.items():
        if isinstance(value, dict) and value:
            yield from single_settings(value, f"{table}{name}.")
        else:
            yield f"{table}{name}", value


def setting_names(given: Table) -> list[str]:
    """The names of the settings in a file."""
    return [name for name, value in single_settings(given) if value != {}]


def _names_for_all(given: Table) -> list[str]:
    """As `setting_names()`, without those of agents and scopes: an agent may not know them all."""
    return setting_names({**given, "permissions": 0} if "permissions" in given else given)


def _merged(below: Table, above: Table) -> Table:
    """Merge two tables; the second takes precedence."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        both = isinstance(under, dict) and isinstance(value, dict)
        merged[name] = _merged(under, value) if both else value  # type: ignore[arg-type] # both are tables
    return merged


def check_embedder(setting: str) -> str:
    """The setting; raises ConfigError if it is not a valid embedder."""
    kind, colon, which = setting.partition(":")
    alone, named = "local sentence hash none", "local sentence hub http"
    if kind in (named if which else alone).split() and bool(colon) == bool(which):
        return setting
    hint = (
        "set `embedder`, or VAULTSYNC_EMBEDDER, to local, local:PATH, sentence,"
        " sentence:PATH, hub:NAME, http:URL#MODEL, hash or none"
    )
    raise ConfigError(f"unknown embedder {setting!r}", hint=hint)


def _folder(name: str, folder: str, where: str) -> VaultPath:
    try:
        return vault_path(folder.strip("/")) if folder else VaultPath("")
    except UnsafePathError as unsafe:
        expected = f"a folder of the vault, such as Index ({unsafe.message})"
        raise _bad_value(name, folder, expected, where) from None


def _check_ignored(path: str, where: str) -> None:
    """Check that a pattern, like a path, does not lead out of the vault."""
    names = path.strip("/").split("/")
    if not {"", ".", ".."}.isdisjoint(names) or "\0" in path:
        raise _bad_value("ignore", path, "folders of the vault, such as Templates", where)


def _language(language: str, where: str) -> str:
    if language.lower() not in STEMMER_LANGUAGES:
        expected = "one of " + ", ".join(sorted({*STEMMER_LANGUAGES}))
        raise _bad_value("language", language, expected, where)
    return language.lower()


def _meanings(given: Mapping[str, Mapping[str, Any]], where: str) -> dict[str, dict[str, Any]]:
    """Field -> folded word -> canonical value; None for a word that is ignored."""
    found: dict[str, dict[str, Any]] = {}
    for key, words in given.items():
        row = ALL_FIELDS_BY_KEY.get(key)
        if row is None or row.owner in (FieldOwner.IDENTITY, FieldOwner.PLACE):
            expected = "a field such as type or priority"
            raise _bad_value("map", key, expected, where)
        for word, value in words.items():
            meanings = found.setdefault(key, {})
            try:
                meanings[word.strip().casefold()] = (
                    None if value == IGNORE else canonical(row, value)
                )
            except UsageError as error:
                message = f"setting map.{key}.{word}: {error.message}"
                raise ConfigError(message, hint=f"correct it in {where}") from None
    return found


def _permissions(given: Permissions, weights: RankingWeights, where: str) -> Permissions:
    for name, row in given.agents.items():
        _check_shares(weights_of(weights, row), f"permissions.agents.{name}.weights", where)
    try:
        return normal_permissions(given)
    except ValueError as error:
        expected = 'scopes such as "public", "team-core" or "project-*"'
        raise _bad_value("permissions", str(error), expected, where) from None


def weights_of(weights: RankingWeights, row: AgentPermissions) -> RankingWeights:
    """The weights, with those from the agent's table replaced."""
    if row.weights == AgentWeights():
        return weights
    own = {key: value for key, value in structs.asdict(row.weights).items() if value is not None}
    return structs.replace(weights, **own)


def _check_shares(given: RankingWeights, name: str, where: str) -> None:
    if not given.similarity + given.recency + given.utility:
        expected = "similarity, recency or utility above 0"
        raise _bad_value(name, 0, expected, where)


def _weights(given: RankingWeights, where: str) -> RankingWeights:
    _check_names(given.fields, FIELD_WEIGHTS, "weights.fields", where)
    _check_shares(given, "weights", where)
    fields = {**FIELD_WEIGHTS, **given.fields}
    if not any(fields.values()):
        raise _bad_value("weights.fields", 0, "at least one field above 0", where)
    return structs.replace(given, fields=fields)


_REPEATED_TWICE = r"\((?:[^()\\]|\\.)*?(?:[*+]|\{\d*,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{)"
"""A nested repetition, which can take exponential time to match."""


def _check_patterns(patterns: Sequence[str], where: str) -> None:
    """Raise an error for an invalid pattern, or one that names all that cannot run here.

    A vault does not open without one of its patterns: it would show what its user wants hidden.
    """
    missing = []
    for each in patterns:
        try:
            _check_pattern(each, where)
        except MissingExtraError as error:
            missing.append(error)
    if len(missing) > 1:
        from vaultsync.extras import EXTRAS  # noqa: PLC0415 - for this error only

        names = " and ".join(each.what for each in missing)
        raise MissingExtraError(names, *EXTRAS["re2"]) from None
    if missing:
        raise missing[0]


def _check_pattern(pattern: str, where: str) -> None:
    # Few users have patterns.
    from vaultsync.privacy.detection import OPTIONAL_FORMS  # noqa: PLC0415 - see above
    from vaultsync.privacy.patterns import MAX_PATTERN_CHARS, compile_pattern  # noqa: PLC0415 - see above

    expected = ""
    if pattern.startswith("@"):
        if pattern[1:] not in OPTIONAL_FORMS:
            expected = "a kind such as " + ", ".join(f"@{each}" for each in OPTIONAL_FORMS)
    else:
        try:
            if any(True for _ in compile_pattern(pattern).finditer("")):
                expected = "a regular expression that does not match empty text"
        except ValueError as wrong:
            expected = f"a regular expression of RE2 ({wrong})"
        if len(pattern) <= MAX_PATTERN_CHARS and re.search(_REPEATED_TWICE, pattern):
            expected = "a regular expression without a repetition in a repeated group"
    if expected:
        raise _bad_value("hygiene.patterns", pattern, expected, where)


def _convert(given: Table, to: type[T], where: str, table: str = "") -> T:
    """Convert a table to its struct; raises ConfigError for an unknown name or a wrong value."""
    try:
        return convert(given, to)
    except (ValidationError, OverflowError, RecursionError):
        # msgspec names Python types; this names the setting and what to write.
        known = {each.name: each.type for each in structs.fields(to)}
        _check_names(given, known, table, where)
        for name, value in given.items():
            path = f"{table}.{name}" if table else name
            kind = known[name]
            if isinstance(value, dict) and is_table(kind):
                _convert(value, kind, where, path)
                continue
            try:
                convert(value, kind)
            except (ValidationError, OverflowError, RecursionError):
                raise _bad_value(path, value, _expected(kind, value), where) from None
        raise


def is_table(kind: object) -> bool:
    """Whether the type of a setting is that of a table."""
    return isinstance(kind, type) and issubclass(kind, Struct)


def _check_names(given: Table, known: Collection[str], table: str, where: str) -> None:
    for name in given:
        if name not in known:
            like = nearest_name(name, tuple(known))
            where = f"[{table}] of {where}" if table else where
            names = ", ".join(known)
            hint = f"did you mean {like!r}?" if like else f"the settings are {names}"
            raise ConfigError(f"unknown setting {name[:80]!r} in {where}", hint=hint)


def _expected(kind: object, value: object) -> str:
    """The values that a type accepts, in words."""
    if is_table(kind):
        return "a table"
    for each in (kind, *get_args(kind)):
        for meta in getattr(each, "__metadata__", ()):
            return f"{meta.description}{_at_most(meta, value)}"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    return "true or false" if kind is bool else "text in quotes"


def _at_most(meta: Meta, value: object) -> str:
    """The upper limit of a number, if the value exceeds it."""
    if not isinstance(value, int | float) or meta.le is None or value <= meta.le:
        return ""
    return f", at most {meta.le:,.0f}" if isinstance(value, int) or isfinite(value) else ""


def _bad_value(name: str, value: object, expected: str, where: str) -> ConfigError:
    return ConfigError(
        f"setting {name}: expected {expected}, got {_shown(value)}", hint=f"correct it in {where}"
    )


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except (ValueError, RecursionError):  # more digits, or more depth, than Python shows
        return "what is too long to show"
