from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.api.stores import is_qdrant
from vaultsync.backends.qdrant.settings import parse_qdrant_settings
from vaultsync.backends.state.vault_marker import set_store
from vaultsync.errors import ConfigError

ROOT = Path("/vault")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("qdrant://host", "qdrant://host:6333/default"),
        ("qdrant://host:7000/indy", "qdrant://host:7000/indy"),
        ("qdrant+tls://host/indy/", "qdrant+tls://host:6333/indy"),
        ("qdrant+local:/a/b", "qdrant+local:/a/b"),
        ("qdrant+edge:../b", "qdrant+edge:/b"),
    ],
)
def test_a_url_names_a_place(url: str, shown: str) -> None:
    assert is_qdrant(url)
    assert str(parse_qdrant_settings(url, {}, root=ROOT)) == shown


@pytest.mark.parametrize(
    "url",
    [
        "qdrant:",
        "qdrant://",
        "qdrant+local:",
        "qdrant+odd:x",
        "qdrant://host:port",
        "qdrant://host/a b",
        "qdrant://key@host",
        "qdrant://host/a?key=secret",
    ],
)
def test_what_names_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_qdrant_settings(url, {}, root=ROOT)
    assert refused.value.hint


def test_the_table_says_how_it_is_used() -> None:
    said: dict[str, object] = {
        "agent": "moss",
        "key": "MY_KEY",
        "tls": True,
        "grpc_port": 6334,
        "replication_factor": 2,
        "read_consistency": 2,
        "ordering": "medium",
        "retention_days": 7,
    }

    place = parse_qdrant_settings("qdrant://host", said, root=ROOT)

    assert place.collection == "agent_memory_moss"
    assert (place.key_variable, place.tls, place.grpc_port) == ("MY_KEY", True, 6334)
    assert (place.replication_factor, place.read_consistency) == (2, 2)
    assert (place.ordering, place.retention_days) == ("medium", 7.0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agent", 3),
        ("agent", "a/b"),
        ("key", "se-cret"),
        ("tls", "yes"),
        ("grpc_port", 0),
        ("shard_number", True),
        ("read_consistency", "some"),
        ("ordering", "loose"),
        ("timeout_seconds", -1),
        ("colour", "red"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_qdrant_settings("qdrant://host", {key: value}, root=ROOT)
    assert "se-cret" not in refused.value.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('a = 1\nstore = "x"\n# b\n', 'a = 1\nstore = "new"\n# b\n'),
        ("a = 1\n", 'a = 1\nstore = "new"\n'),
        ("a = 1", 'a = 1\nstore = "new"'),
        (
            'a = 1\n[qdrant]\nstore = "no"\n',
            'a = 1\nstore = "new"\n[qdrant]\nstore = "no"\n',
        ),
    ],
)
def test_the_marker_names_another_store_and_keeps_its_other_lines(
    tmp_path: Path, before: str, after: str
) -> None:
    (tmp_path / ".meta").mkdir()
    marker = tmp_path / ".meta" / "config.toml"
    marker.write_text(before, encoding="utf-8")

    set_store(tmp_path, "new")

    assert marker.read_text(encoding="utf-8") == after
