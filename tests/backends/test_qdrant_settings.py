from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.machines import configure_machine
from vaultsync.api import configuration as config
from vaultsync.api.wiring import store_place
from vaultsync.backends.qdrant.connection import parse_qdrant_settings
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import ConfigError
from vaultsync.settings import QdrantSettings, Settings

ROOT = Path("/vault")


def table(lines: str) -> QdrantSettings:
    """The table `[qdrant]` as the user's own file for a vault has it."""
    with TemporaryDirectory() as folder:
        (Path(folder) / ".meta").mkdir()
        marker = Path(folder) / ".meta" / "config.toml"
        marker.write_text(f'vault_id = "{SystemClock().new_id()}"\n', encoding="utf-8")
        configure_machine(Path(folder), f"[qdrant]\n{lines}")
        return config.load_settings(Path(folder)).qdrant


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("qdrant://host", "qdrant://host:6333/default"),
        ("qdrant://host:7000/indy", "qdrant://host:7000/indy"),
        ("qdrant://[::1]:7000/indy", "qdrant://[::1]:7000/indy"),
        ("qdrant+tls://host/indy/", "qdrant+tls://host:6333/indy"),
        ("qdrant+local:/a/b", "qdrant+local:/a/b"),
        ("qdrant+edge:../b", "qdrant+edge:/b"),
    ],
)
def test_a_url_names_a_place(url: str, shown: str) -> None:
    assert str(parse_qdrant_settings(url, QdrantSettings(), root=ROOT)) == shown
    assert str(store_place(Settings(root=ROOT, state_dir=ROOT, store=url))) == shown


NONE = (
    "qdrant: qdrant:// qdrant+local: qdrant+odd:x qdrant://host:port qdrant://key@host"
    " qdrant://host/a?key=secret qdrant://host/a#secret qdrant://a..b qdrant://ä..b/x"
)


@pytest.mark.parametrize("url", ["qdrant://host/a b", *NONE.split()])
def test_what_names_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_qdrant_settings(url, QdrantSettings(), root=ROOT)
    assert refused.value.hint


def test_the_table_says_how_it_is_used() -> None:
    lines = """
        agent = "moss"
        key = "MY_KEY"
        tls = true
        grpc_port = 6334
        replication_factor = 2
        read_consistency = 2
        ordering = "medium"
        retention_days = 7
    """

    place = parse_qdrant_settings("qdrant://host", table(lines), root=ROOT)

    assert place.collection == "agent_memory_moss"
    assert place.tls
    found = place.settings
    assert (found.key, found.grpc_port) == ("MY_KEY", 6334)
    assert (found.replication_factor, found.read_consistency) == (2, 2)
    assert (found.ordering, found.retention_days) == ("medium", 7.0)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("agent = ''", "name of a collection"),
        ("key = 'se-cret'", "not a valid variable name"),
        ("tls = 'yes'", "expected true or false"),
        ("grpc_port = 0", "expected a whole number (1 or more), got 0"),
        ("read_consistency = 0", "majority, quorum, all or a whole number"),
        ("ordering = 'loose'", "expected one of weak, medium, strong"),
        ("timeout_seconds = -1", "expected a number of seconds (0 or more), got -1"),
        ("retention_days = inf", "expected a number of days (0 or more), got inf"),
        ("isolated_scopes = ['indy']", "is not a scope or the beginning of one"),
        ("isolated_scopes = ['*']", "is not a scope or the beginning of one"),
    ],
)
def test_a_bad_setting_is_refused(line: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_qdrant_settings("qdrant://host", table(line), root=ROOT)
    assert why in refused.value.message
    assert "se-cret" not in refused.value.message
