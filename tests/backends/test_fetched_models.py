"""Models are fetched from a server on this machine, which misbehaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_hub import NAME, Hub, serving_hub
from vaultsync.backends.embedders.fetched_models import (
    WEIGHTS,
    FetchedModel,
    ModelFetcher,
    fetched_models,
)
from vaultsync.errors import ConfigError, EmbedderError


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving_hub() as made:
        yield made


def fetch(hub: Hub, models: Path, **more: str) -> FetchedModel:
    return ModelFetcher(models, hub=hub.url).fetch(NAME, **more)


def test_a_fetched_model_has_the_files_of_the_hub_and_is_listed(hub: Hub, tmp_path: Path) -> None:
    assert fetched_models(tmp_path) == []

    model = fetch(hub, tmp_path)

    folder = Path(model.path)
    assert {name: (folder / name).read_bytes() for name in hub.files} == hub.files
    assert (model.name, model.revision, model.sha256) == (NAME, "main", hub.sha)
    assert model.bytes == sum(map(len, hub.files.values()))
    assert fetched_models(tmp_path) == [model]
    assert not list(folder.rglob("*.part"))


def test_a_model_that_is_there_is_not_asked_for_again(hub: Hub, tmp_path: Path) -> None:
    model = fetch(hub, tmp_path)
    hub.asked.clear()

    assert fetch(hub, tmp_path) == fetch(hub, tmp_path, sha256=hub.sha.upper()) == model
    assert hub.asked == []


def test_an_interrupted_download_continues_where_it_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.cut[WEIGHTS] = [300_000, 200_000]

    fetch(hub, tmp_path, sha256=hub.sha)

    ranges = [asked for name, asked in hub.asked if name == WEIGHTS]
    assert ranges == [None, "bytes=300000-", "bytes=500000-"]


def test_what_a_failed_command_left_is_continued_by_the_next(hub: Hub, tmp_path: Path) -> None:
    hub.cut[WEIGHTS] = [100_000, 0, 0]
    with pytest.raises(EmbedderError, match=r"ended after 100,000 of 1,024,000 bytes|of 924,000"):
        fetch(hub, tmp_path)
    assert fetched_models(tmp_path) == []
    hub.asked.clear()

    assert fetch(hub, tmp_path).sha256 == hub.sha
    assert hub.asked[0] == (WEIGHTS, "bytes=100000-")


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(hub: Hub, tmp_path: Path) -> None:
    hub.cut[WEIGHTS] = [100_000, 0, 0]
    with pytest.raises(EmbedderError):
        fetch(hub, tmp_path)
    hub.files[WEIGHTS] = bytes(reversed(range(256))) * 4_000

    assert fetch(hub, tmp_path).sha256 == hub.sha


@pytest.mark.parametrize("tag", ["", 'W/"weak"'])
def test_without_a_strong_version_nothing_is_continued(hub: Hub, tmp_path: Path, tag: str) -> None:
    hub.tag = lambda _: tag
    hub.cut[WEIGHTS] = [100_000]

    assert fetch(hub, tmp_path).sha256 == hub.sha
    assert {asked for _, asked in hub.asked} == {None}


def test_weights_with_another_checksum_are_refused_and_deleted(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="the weights of tea/tea-small do not match"):
        fetch(hub, tmp_path, sha256="0" * 64)
    assert fetched_models(tmp_path) == []
    assert not [*tmp_path.rglob(WEIGHTS)]

    assert fetch(hub, tmp_path, sha256=hub.sha).sha256 == hub.sha


def test_a_revision_with_other_weights_is_refused_by_its_checksum(hub: Hub, tmp_path: Path) -> None:
    model = fetch(hub, tmp_path)
    (Path(model.path) / WEIGHTS).unlink()
    assert fetched_models(tmp_path) == []
    before, hub.files[WEIGHTS] = hub.files[WEIGHTS], b"other weights"

    with pytest.raises(EmbedderError, match="the weights of tea/tea-small do not match"):
        fetch(hub, tmp_path)
    hub.files[WEIGHTS] = before
    assert fetch(hub, tmp_path) == model


def test_a_checksum_other_than_that_of_the_model_deletes_nothing(hub: Hub, tmp_path: Path) -> None:
    model = fetch(hub, tmp_path)

    with pytest.raises(EmbedderError, match="the weights of tea/tea-small do not match"):
        fetch(hub, tmp_path, sha256="0" * 64)
    assert fetched_models(tmp_path) == [model]


def test_each_revision_has_a_folder_of_its_own(hub: Hub, tmp_path: Path) -> None:
    fetch(hub, tmp_path)
    hub.files[WEIGHTS] = b"newer weights"

    assert fetch(hub, tmp_path, revision="v2").sha256 == hub.sha
    assert [each.revision for each in fetched_models(tmp_path)] == ["main", "v2"]


def test_only_files_that_a_model_needs_must_be_there(hub: Hub, tmp_path: Path) -> None:
    del hub.files["1_Pooling/config.json"]
    fetch(hub, tmp_path / "a")
    del hub.files["tokenizer.json"]

    with pytest.raises(EmbedderError, match=r"has no tokenizer\.json of tea/tea-small"):
        fetch(hub, tmp_path / "b")


def test_a_server_that_fails_is_named_after_three_tries(hub: Hub, tmp_path: Path) -> None:
    hub.status = 503
    with pytest.raises(EmbedderError, match="it answers 503"):
        fetch(hub, tmp_path)
    assert len(hub.asked) == 3


@pytest.mark.parametrize(
    "address", ["http://models.example", "ftp://127.0.0.1", "file:///etc", "https://me@tea", "tea"]
)
def test_only_https_and_this_machine_are_asked(address: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be fetched from"):
        ModelFetcher(tmp_path, hub=address)


@pytest.mark.parametrize(
    "address", ["https://[::1", "https://a..b", f"https://{'a' * 64}.tea", "https://tea:x"]
)
def test_what_is_no_address_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not an address"):
        ModelFetcher(tmp_path, hub=address)


def test_a_redirect_to_an_address_in_the_clear_is_not_followed(hub: Hub, tmp_path: Path) -> None:
    hub.redirect = "http://models.example"

    with pytest.raises(ConfigError, match=r"http://models\.example"):
        fetch(hub, tmp_path)


@pytest.mark.parametrize("name", ["", "..", "../tea", "a/b/c", "/etc", "tea/../x", "tea small"])
def test_a_name_that_leads_elsewhere_is_refused(hub: Hub, tmp_path: Path, name: str) -> None:
    fetcher = ModelFetcher(tmp_path, hub=hub.url)
    with pytest.raises(ConfigError):
        fetcher.fetch(name)
    with pytest.raises(ConfigError):
        fetcher.fetch(NAME, revision=f"{name}/x")
    with pytest.raises(ConfigError):
        fetcher.fetch(NAME, sha256="123")
    assert hub.asked == []
