"""What counts as a request of a vault, what is said of it, and what was allowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from vaultsync.proposals.producers import PRODUCERS
from vaultsync.settings import (
    HARMLESS,
    NO_SHORTER,
    MachineSettings,
    VaultSettings,
    check_file,
    is_table,
)
from vaultsync.trust import OWNER, TrustRecord, canonical, pending, requests_of
from vaultsync.trust_words import explain

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
OTHER_VALUES: dict[str, Any] = {
    "permissions.agents": {"indy": {"write": ["*"]}},
    "permissions.teams": {"team-core": ["indy"]},
    "permissions.projects": {"project-x": ["indy"]},
    "store": "sqlite:x",
    "embedder": "hub:x",
    "classifier": "model",
    "language": "german",
    "default_scope": "team-core",
    "watch.watcher": "polling",
    "modules.preset": "cipher",
    "modules.tools": {"store": "x"},
    "modules.min_confidence": 0.5,
    "hygiene.patterns": ["acme-[0-9]"],
    "memory_file.scope": "team-core",
    "repos.branch_scope": "sharedRepo",
    "qdrant.read_consistency": "all",
    "qdrant.ordering": "weak",
    **{f"proposals.{kind}": "auto" for kind in PRODUCERS},
    "max_note_bytes": 4096,
    "decay_floor": 0.5,
    "map": {"type": {"book": "note"}},
}


def rows(kind: type[Struct], table: str = "") -> Iterator[tuple[str, object]]:
    """Each setting by its name, with another value than its default."""
    for each in structs.fields(kind):
        path = f"{table}{each.name}"
        if is_table(each.type):
            yield from rows(each.type, f"{path}.")
        elif path not in ("vault_id", "weights.fields"):
            default = getattr(kind(), each.name)
            other: object = "x"
            if isinstance(default, bool):
                other = not default
            elif isinstance(default, tuple):
                other = ["x"]
            elif isinstance(default, int | float) or default is None:
                other = 7
            yield path, OTHER_VALUES.get(path, other)


def nested(path: str, value: object) -> dict[str, Any]:
    table, _, name = path.rpartition(".")
    return {table: {name: value}} if table else {name: value}


VAULT = dict(rows(VaultSettings))
ALL = dict(rows(MachineSettings))


@pytest.mark.parametrize(("path", "value"), ALL.items())
def test_every_setting_that_is_not_the_vaults_is_a_request(path: str, value: object) -> None:
    given = nested(path, value)
    check_file(given, "a file")
    is_vaults = path in VAULT and path not in NO_SHORTER
    assert requests_of(given) == ({} if is_vaults else {path: value})
    for each in explain(requests_of(given), root="/vault"):
        assert each.allows
        assert each.line().startswith(f"{path} = ")


def test_the_defaults_are_no_requests() -> None:
    defaults = MachineSettings()
    for path in ALL:
        value: Any = defaults
        for name in path.split("."):
            value = getattr(value, name)
        given = list(value) if isinstance(value, tuple) else value
        assert not requests_of(nested(path, given))
    for path, values in HARMLESS.items():
        for value in values:
            assert not requests_of(nested(path, value))


@pytest.mark.parametrize("path", sorted(NO_SHORTER))
def test_a_vault_may_keep_what_can_be_undone_longer_but_not_shorter(path: str) -> None:
    default = getattr(MachineSettings().retention, path.partition(".")[2])
    for days, asks in ((0, False), (default, False), (default + 1, False), (default / 2, True)):
        assert bool(requests_of(nested(path, days))) is asks


def test_the_page_says_whose_each_setting_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for each in structs.fields(MachineSettings):
        if not is_table(each.type):
            row = next(line for line in text.splitlines() if line.startswith(f"| `{each.name}` |"))
            own = each.name in VaultSettings.__struct_fields__
            assert row.split(" | ")[2] == ("vault" if own else "machine")


def test_a_store_on_a_network_gets_a_key_by_default() -> None:
    assert requests_of({"store": "qdrant+tls://h:1/a"})["qdrant.key"] == "QDRANT_API_KEY"
    both = {"store": "qdrant://h", "qdrant": {"key": "MINE"}}
    assert requests_of(both)["qdrant.key"] == "MINE"
    assert "qdrant.key" not in requests_of({"store": "qdrant+edge:../x"})


def test_a_record_allows_what_was_asked_and_nothing_else() -> None:
    asked = {"store": "sqlite:x", OWNER: "kim (user 7)"}
    record = TrustRecord.of(asked)
    assert record.allows({OWNER: "kim (user 7)", "store": "sqlite:x"})
    for other in ({"store": "sqlite:x"}, {**asked, OWNER: "eve"}, {**asked, "reranker": "m"}, {}):
        assert not record.allows(other)
    assert not TrustRecord().allows({})


def test_what_the_machine_says_itself_is_not_asked() -> None:
    asked = {"store": "sqlite:x", "reranker": "m"}
    assert pending(asked, [], TrustRecord()) == asked
    assert pending(asked, ["store"], TrustRecord()) == {"reranker": "m"}
    assert pending(asked, ["store", "reranker"], TrustRecord()) == {}
    assert pending(asked, ["store"], TrustRecord.of(asked)) == {}
    assert pending(asked, ["store"], TrustRecord.of({"reranker": "m"})) == {"reranker": "m"}


def test_what_changed_is_marked() -> None:
    before = TrustRecord.of({"store": "sqlite:x", "hygiene.secrets": False})
    now = {"store": "sqlite:y", "hygiene.secrets": False, "reranker": "~/m"}
    found = explain(now, root="/vault", record=before)
    assert [each.change for each in found] == ["changed", "", "new"]
    assert found[2].allows == "load the model in ~/m"
    assert [each.change for each in explain(now, root="/vault", record=TrustRecord())] == [""] * 3


@pytest.mark.parametrize("requests", ["{", "[]", "[" * 100_000])
def test_a_record_that_was_edited_allows_nothing(requests: str) -> None:
    record = TrustRecord(requests, "0" * 64)
    assert record.known() == {}
    assert not record.allows({"store": "sqlite:x"})


@pytest.mark.parametrize(
    ("embedder", "host"),
    [
        ("http:https://tea.example/v1#model", "tea.example"),
        ("http:https://good.example@evil.example/v1#model", "evil.example"),
        ("http:https://evil.example?@good.example/v1#model", "evil.example"),
        ("http:https://evil.example#@good.example", "evil.example"),
    ],
)
def test_the_host_is_named_that_gets_the_texts(embedder: str, host: str) -> None:
    (found,) = explain(requests_of({"embedder": embedder}), root="/vault")
    assert found.allows == f"send the texts of all facts to {host}"


def test_what_cannot_be_seen_is_shown() -> None:
    asked = requests_of({"store": "qdrant://tea\u200b.example\u202e", "reranker": "a\nb\x1b[2J"})
    lines = [each.line() for each in explain(asked, root="/vault")]
    assert all(line.isprintable() for line in lines)
    assert "connect to tea\\u200b.example\\u202e," in "".join(lines)


def test_the_order_of_settings_does_not_matter() -> None:
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
