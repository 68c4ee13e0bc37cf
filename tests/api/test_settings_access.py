"""Settings are read with where they come from, and changed where they belong."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import vaultsync
from tests import secrets
from vaultsync.api.configuration import read_vault_files
from vaultsync.api.settings_access import change_setting, read_settings
from vaultsync.errors import ConfigError, UntrustedVaultError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTSYNC_CONFIG_DIR", str(tmp_path / "config"))
    root = tmp_path / "vault"
    vaultsync.init(str(root), state_dir=str(tmp_path / "state"))
    return root.resolve()


def marker(root: Path) -> str:
    return (root / ".meta" / "config.toml").read_text()


def own(root: Path) -> str:
    file = read_vault_files(root).machine_file
    return file.read_text() if file.exists() else ""


def value(root: Path, name: str) -> tuple[object, str]:
    [found] = read_settings(str(root), name).settings
    return found.value, found.source


def test_a_setting_is_the_default_until_it_is_set(root: Path) -> None:
    assert value(root, "language") == ("english", "default")
    done = change_setting(str(root), "language", "german")
    assert (done.value, done.default, done.source) == ("german", "english", "vault")
    assert 'language = "german"\n' in marker(root)
    gone = change_setting(str(root), "language", None)
    assert (gone.value, gone.source) == ("english", "default")
    assert "language" not in marker(root)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("store", "nonsense", "unknown store"),
        ("store", "qdrant://", "unknown store"),
        ("modules.remote", "nonsense", "unknown remote"),
        ("decay_floor", "9", "expected a number .0 or more., at most 1, got 9"),
        ("decay_floor", "high", "expected a number .0 or more., got 'high'"),
    ],
)
def test_a_value_that_stops_commands_is_refused(root: Path, name: str, text: str, why: str) -> None:
    before = marker(root), own(root)
    with pytest.raises(ConfigError, match=why):
        change_setting(str(root), name, text)
    assert (marker(root), own(root)) == before


def test_every_other_line_of_the_file_stays(root: Path) -> None:
    path = root / ".meta" / "config.toml"
    path.write_text(marker(root) + "# mine\nderive = true # why\n\n[watch]\n# all\n")
    before = marker(root)
    change_setting(str(root), "watch.settle_seconds", "0.5")
    assert marker(root).replace("settle_seconds = 0.5\n", "") == before
    change_setting(str(root), "watch.settle_seconds", None)
    assert marker(root) == before


def test_the_last_setting_of_an_inner_table_takes_the_table_with_it(root: Path) -> None:
    change_setting(str(root), "map.type.book", "note")
    before = marker(root)
    change_setting(str(root), "map.priority.high", "1")
    assert change_setting(str(root), "map.priority.high", None).source == "default"
    assert marker(root) == before
    change_setting(str(root), "map.type.book", None)
    assert "map" not in marker(root)


def test_a_value_is_toml_or_a_plain_text(root: Path) -> None:
    for name, text, found in (
        ("ignore", '["Templates", "Archive"]', ["Templates", "Archive"]),
        ("derive", "false", False),
        ("linger_seconds", "90", 90),
        ("default_scope", "project-ferry", "project-ferry"),
        ("index_folder", '"Index"', "Index"),
        ("map.priority.high", "1", 1),
    ):
        assert change_setting(str(root), name, text).value == found


def test_a_list_without_the_quotes_that_a_shell_removed_is_refused_with_a_hint(root: Path) -> None:
    with pytest.raises(ConfigError, match="a list of folders") as refused:
        change_setting(str(root), "ignore", "[Templates, Archive]")
    assert "single quotes" in refused.value.hint
    assert change_setting(str(root), "ignore", '["[Templates]"]').value == ["[Templates]"]
    assert change_setting(str(root), "classifier_model", "[x]").value == "[x]"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nonsense", "1"),
        ("watch.nonsense", "1"),
        ("linger_seconds", "soon"),
        ("linger_seconds", "[1, x]"),
        ("ignore", "Templates"),
        ("linger_seconds", "-1"),
        ("language", "klingon"),
        ("watch", "1"),
        ("language.x", "1"),
        ("map.priority.low", "banana"),
        ("vault_id", "1"),
        ("trust.sha256", "1"),
    ],
)
def test_what_a_setting_does_not_take_is_not_written(root: Path, name: str, text: str) -> None:
    before = marker(root)
    with pytest.raises(ConfigError) as refused:
        change_setting(str(root), name, text)
    assert (marker(root), own(root)) == (before, "")
    said = f"{refused.value.message} {refused.value.hint}"
    assert ".toml" not in said  # no file has to be corrected
    assert said.count("got") <= 1
    assert "asked" not in said
    assert ("--new-id" in said) == (name == "vault_id")


def test_what_reaches_beyond_the_vault_is_set_in_the_users_own_file(root: Path) -> None:
    done = change_setting(str(root), "store", "qdrant://localhost:6333")
    assert done.source == "this machine"
    assert "store" not in marker(root)
    assert 'store = "qdrant://localhost:6333"' in own(root)
    assert change_setting(str(root), "store", None).value == "sqlite"
    assert "qdrant" not in own(root)


def test_a_secret_is_not_shown(root: Path) -> None:
    token = secrets.token("github", Random(1))
    done = change_setting(str(root), "store", f"sqlite:{token}")
    assert token in own(root)
    assert token not in str(done) + str(read_settings(str(root)))
    change_setting(str(root), "ignore", f'["{token}"]')
    assert token not in str(read_settings(str(root)))


def test_what_the_users_own_file_sets_is_set_there(root: Path) -> None:
    change_setting(str(root), "language", "german", machine=True)
    assert value(root, "language") == ("german", "this machine")
    change_setting(str(root), "language", "french")
    assert value(root, "language") == ("french", "this machine")
    assert "language" not in marker(root)
    assert change_setting(str(root), "language", None).source == "default"


def test_a_table_and_all_settings_are_listed(root: Path) -> None:
    names = [each.name for each in read_settings(str(root)).settings]
    assert "vault_id" not in names
    assert {"store", "watch.settle_seconds", "language"} <= {*names}
    assert all(
        each.name.startswith("watch.") for each in read_settings(str(root), "watch").settings
    )
    with pytest.raises(ConfigError, match="unknown setting"):
        read_settings(str(root), "watc")


def test_a_vault_that_asks_for_more_is_refused(root: Path) -> None:
    path = root / ".meta" / "config.toml"
    path.write_text(f'{marker(root)}store = "qdrant://localhost:1"\n')
    with pytest.raises(UntrustedVaultError):
        read_settings(str(root))
    with pytest.raises(UntrustedVaultError):
        change_setting(str(root), "language", "german")


@pytest.mark.parametrize("name", ["derivee", "watch.settle", "", "watch."])
def test_an_unknown_setting_cannot_be_removed(root: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="unknown setting"):
        change_setting(str(root), name, None)
    assert change_setting(str(root), "map.type.book", None).source == "default"


def test_tables_without_entries_are_listed_until_they_have_some(root: Path) -> None:
    assert {x.name: x.value for x in read_settings(str(root), "permissions").settings} == {
        "permissions.agents": {},
        "permissions.teams": {},
        "permissions.projects": {},
    }
    change_setting(str(root), "permissions.agents.indy.write", '["*"]')
    names = [each.name for each in read_settings(str(root)).settings]
    assert "permissions.agents.indy.write" in names
    assert "permissions.agents" not in names
