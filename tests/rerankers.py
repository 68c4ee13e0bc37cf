"""A small cross-encoder in files, for the runtime of real ones."""

from __future__ import annotations

from pathlib import Path

from tests.embedding import need
from vaultsync.backends.embedders.onnx_file import OnnxGraph

WORDS = ("[UNK]", "[CLS]", "[SEP]", "tea", "green", "cake", "apple", "harbour")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_cross_encoder(folder: Path, *, labels: int = 1) -> Path:
    """A model whose score is the number of known words that question and text share."""
    need("numpy", "onnxruntime", "tokenizers")
    import numpy as np
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    graph = OnnxGraph()
    table = np.eye(len(WORDS), dtype=np.float32)
    table[: WORDS.index("tea")] = 0
    words = graph.add("Gather", graph.constant("table", table), "input_ids", to="words", axis=0)
    axes = {name: graph.constant(name, np.array([at])) for name, at in (("tokens", 1), ("last", 2))}
    kinds = graph.add("Cast", "token_type_ids", to="kinds", to_=1)
    both = graph.add("Unsqueeze", kinds, axes["last"], to="both")
    read = graph.add("Mul", words, both, to="read")
    text = graph.add("ReduceSum", read, axes["tokens"], to="text", keepdims=0)
    whole = graph.add("ReduceSum", words, axes["tokens"], to="whole", keepdims=0)
    question = graph.add("Sub", whole, text, to="question")
    # A word counts once, however often the text has it.
    once = graph.add("Min", text, question, to="once")
    summed = graph.add("ReduceSum", once, axes["tokens"], to="summed", keepdims=1)
    graph.add("Concat", *[summed] * labels, to="scores", axis=1)
    folder.mkdir(parents=True, exist_ok=True)
    given = ("pairs", "tokens")
    file = graph.to_bytes(dict.fromkeys(INPUTS, given), {"scores": ("pairs", labels)})
    (folder / "model.onnx").write_bytes(file)

    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
