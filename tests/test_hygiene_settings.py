"""The settings of hygiene: what makes sense, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.api import configuration as config
from vaultsync.api.privacy import redaction_check
from vaultsync.errors import ConfigError
from vaultsync.settings import PrivacySettings, Settings


def _load(tmp_path: Path, text: str) -> Settings:
    (tmp_path / ".meta").mkdir(exist_ok=True)
    marker = tmp_path / ".meta" / "config.toml"
    marker.write_text(f'vault_id = "x"\n{text}')
    return config.load_settings(tmp_path, state_dir=str(tmp_path / "state"))


def test_hygiene_is_on_by_default(tmp_path: Path) -> None:
    assert _load(tmp_path, "").hygiene == PrivacySettings()
    assert PrivacySettings().secrets
    assert PrivacySettings().neutralise


def test_patterns_are_expressions_or_names_of_kinds(tmp_path: Path) -> None:
    said = '[hygiene]\npatterns = ["acme-[0-9]{4}", "@iban"]\nenvironment = ["TOKEN"]\n'
    found = _load(tmp_path, said).hygiene
    assert found.expressions == ("acme-[0-9]{4}",)
    assert found.optional == ("iban",)
    assert found.environment == ("TOKEN",)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("hygiene = 1", "hygiene"),
        ("[hygiene]\nsecrets = 1", "secrets"),
        ("[hygiene]\nneutralise = 'no'", "neutralise"),
        ("[hygiene]\npatterns = 'x'", "patterns"),
        ("[hygiene]\nenvironment = [1]", "environment"),
        ("[hygiene]\npatterns = ['@cards']", "@cards"),
        ("[hygiene]\npatterns = ['(']", "regular expression"),
        ("[hygiene]\npatterns = ['a*']", "regular expression"),
        ("[hygiene]\npatterns = ['(a+)+b']", "regular expression"),
        ("[hygiene]\npatterns = ['x(a|b*c){2}']", "regular expression"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, said: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        _load(tmp_path, said)


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("ignores = []", "'ignores' in .meta/config.toml", "did you mean 'ignore'?"),
        ("agent = 'indy'", "'agent' in .meta/config.toml", ""),
        ("root = '/'", "'root' in .meta/config.toml", ""),
        ("[hygiene]\noptional = []", "in [hygiene] of .meta", "secrets, patterns"),
        ("[watch]\nwacther = 'auto'", "in [watch] of .meta", "'watcher'?"),
        ("zzz = 1", "unknown setting 'zzz'", "the settings are vault_id, "),
    ],
)
def test_an_unknown_name_is_refused(tmp_path: Path, said: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, said)
    assert message in refused.value.message
    assert hint in refused.value.hint


def test_all_settings_are_settings(tmp_path: Path) -> None:
    """Those of the page, which names each of them."""
    page = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
    said = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert _load(tmp_path, said.partition("\n")[2]).linger_seconds == 60


def test_the_doctor_says_what_is_not_escaped(tmp_path: Path) -> None:
    settings = _load(tmp_path, "[hygiene]\nneutralise = false\n")
    _, ok, said, _ = redaction_check(settings)
    assert ok
    assert "not escaped" in said
