"""Read single settings of a vault with their origin, and change them with validation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct, structs, to_builtins

from vaultsync.api import configuration as config
from vaultsync.api.configuration import VaultFiles
from vaultsync.backends.state.settings_files import edit_machine_file, edit_marker
from vaultsync.errors import ConfigError, MissingExtraError, nearest_name
from vaultsync.privacy.redaction import scrub
from vaultsync.settings import (
    MachineSettings,
    Settings,
    Table,
    check_file,
    is_table,
    setting_names,
    single_settings,
)
from vaultsync.trust import requests_of

VAULT, MACHINE, DEFAULT = "vault", "this machine", "default"
_OWN = "vault_id"
_SET_BY = {
    _OWN: "`vaultsync init PATH --new-id` gives a copied vault a new id",
    "trust": "see `vaultsync trust`",
}
"""A setting that is not set by hand -> what sets it."""
_REQUEST = "the command"
"""The place of an invalid value that was not written."""
_QUOTE_LIST = 'put a list in single quotes, or the shell removes its double quotes: \'["a", "b"]\''


class SettingValue(Struct, frozen=True):
    """A setting and its origin."""

    name: str
    value: Any
    """The value, with secrets redacted."""
    default: Any
    source: str
    """`vault`, `this machine` or `default`: the file that sets it."""


class SettingsList(Struct, frozen=True):
    """Settings of a vault."""

    settings: tuple[SettingValue, ...]


def read_settings(path: str | None, name: str | None = None) -> SettingsList:
    """The settings in a vault's files, and the defaults of the others.

    Args:
        path: the vault, found as by `vaultsync.open()`.
        name: a setting, such as `watch.settle_seconds`, or a table; default: all.

    Raises:
        NotAVaultError: there is no vault.
        UntrustedVaultError: it requests more than the user has allowed.
        ConfigError: its settings are invalid, or none has this name.
    """
    files = _files(path)
    values = tuple(
        each for each in _values(files) if name is None or f"{each.name}.".startswith(f"{name}.")
    )
    if not values:
        raise _unknown(str(name), files)
    return SettingsList(values)


def _unknown(name: str, files: VaultFiles) -> ConfigError:
    like = nearest_name(name[:80], tuple(each.name for each in _values(files)))
    hint = f"did you mean {like}? " if like else ""
    hint += "`vaultsync config get` lists all settings"
    return ConfigError(f"unknown setting {name[:80]!r}", hint=hint)


def change_setting(
    path: str | None, name: str, text: str | None, *, machine: bool = False
) -> SettingValue:
    """Set or remove a setting in the file that it belongs to; all other lines are kept.

    The vault's file has settings that are harmless, no matter who wrote them. Others, and
    those that the user's own file already sets, are set in the user's file.

    Args:
        path: the vault, found as by `vaultsync.open()`.
        name: the setting, such as `watch.settle_seconds`.
        text: the value as TOML, or a text without quotes; None to remove the setting.
        machine: change the user's own file in any case.

    Raises:
        NotAVaultError, UntrustedVaultError.
        ConfigError: there is no such setting, the value is invalid, or the file cannot be
            changed line by line.
    """
    files = _files(path)
    keys = tuple(name.split("."))
    if keys[0] in _SET_BY:
        raise ConfigError(f"{name} cannot be set by hand", hint=_SET_BY[keys[0]])
    if text is None and not _is_known(keys):
        raise _unknown(name, files)
    value = None if text is None else _parsed(keys, text)
    marker = _with(files.marker, keys, value)
    check_file(marker, _REQUEST)
    # A setting that would be a request is set in the user's own file.
    asks = value is not None and requests_of(marker) != requests_of(files.marker)
    to_machine = machine or asks or name in setting_names(files.machine)
    found = check_file(_with(files.machine, keys, value), _REQUEST)
    if value is not None:
        _check_place(keys[0], found, files)
    if to_machine:
        edit_machine_file(files.machine_file, {keys: value})
    else:
        edit_marker(files.root, {keys: value})
    after = [each for each in _values(_files(str(files.root))) if each.name == name]
    return after[0] if after else SettingValue(name, None, None, DEFAULT)


def _check_place(table: str, found: MachineSettings, files: VaultFiles) -> None:
    """Raise ConfigError for the address of a store or of a remote with which no command works."""
    root = files.root
    if table == "store":
        from vaultsync.api.wiring import store_place  # noqa: PLC0415 - loads most of vaultsync

        store_place(Settings(root=root, state_dir=root, store=found.store, qdrant=found.qdrant))
    elif table == "modules":
        from vaultsync.backends.remotes.choose_remote import remote_for  # noqa: PLC0415 - as above

        with suppress(MissingExtraError):  # it can be installed later
            remote_for(found.modules, root=root)


def _is_known(keys: tuple[str, ...]) -> bool:
    """Whether there may be such a setting; the inner keys of a mapping may be any."""
    kind: Any = MachineSettings
    for key in keys:
        if not is_table(kind):
            break
        kind = {each.name: each.type for each in structs.fields(kind)}.get(key)
    return kind is not None


def _files(path: str | None) -> VaultFiles:
    files = config.read_vault_files(config.find_root(path))
    files.refuse_requests()
    return files


def _values(files: VaultFiles) -> Iterator[SettingValue]:
    defaults = dict(single_settings(to_builtins(MachineSettings(), enc_hook=dict)))
    layers = {
        VAULT: dict(single_settings(files.marker)),
        MACHINE: dict(single_settings(files.machine)),
    }
    names = [*defaults, *(n for each in layers.values() for n in each if n not in defaults)]
    for name in dict.fromkeys(names):
        if name == _OWN or any(each.startswith(f"{name}.") for each in names):
            continue
        default = defaults.get(name)
        source = next((each for each in (MACHINE, VAULT) if name in layers[each]), DEFAULT)
        value = layers.get(source, defaults).get(name, default)
        yield SettingValue(name, _without_secrets(value), default, source)


def _without_secrets(value: object) -> object:
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    return scrub(value) if isinstance(value, str) else value


def _parsed(keys: tuple[str, ...], text: str) -> object:
    """A text parsed as TOML, unless the setting accepts only the text itself."""
    try:
        value: object = tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except (tomllib.TOMLDecodeError, RecursionError):
        if text.startswith("["):
            try:
                check_file(_with({}, keys, text), _REQUEST)
            except ConfigError as error:
                raise ConfigError(error.message, hint=_QUOTE_LIST) from None
        return text
    for each in (value, text):
        with suppress(ConfigError):
            check_file(_with({}, keys, each), "")
            return each
    return value


def _with(table: Table, keys: tuple[str, ...], value: object) -> dict[str, Any]:
    """A table with a changed setting, or without it if the value is None."""
    changed = dict(table)
    if len(keys) > 1:
        inner = changed.get(keys[0])
        changed[keys[0]] = _with(inner if isinstance(inner, dict) else {}, keys[1:], value)
    elif value is None:
        changed.pop(keys[0], None)
    else:
        changed[keys[0]] = value
    return changed
