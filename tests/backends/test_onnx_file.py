"""ONNX files as we write and read them, beside what the package `onnx` says."""

from __future__ import annotations

import pytest

from tests.embedding import need
from vaultsync.backends.embedders.onnx_file import MICROSOFT, OnnxGraph, read_graph

np = pytest.importorskip("numpy")


def small() -> bytes:
    graph = OnnxGraph()
    table = graph.constant("table", np.array([[1.5, -2.0], [0.0, 4.0]], np.float32))
    graph.constant("levels", np.array([-7, 7], np.int8))
    graph.constant("whole", np.array(1 << 40, np.int64))
    rows = graph.add("Gather", table, "ids", to="rows", axis=-1)
    graph.add("Odd", rows, "", rows, to=("a", "vectors"), domain=MICROSOFT, e=0.25, to_=1, n=[3, 4])
    return graph.to_bytes({"ids": ["texts"]}, {"vectors": ["texts", 2]})


def test_what_is_written_is_read() -> None:
    nodes, constants = read_graph(small())

    assert [(each.operator, each.inputs, each.outputs) for each in nodes] == [
        ("Gather", ("table", "ids"), ("rows",)),
        ("Odd", ("rows", "", "rows"), ("a", "vectors")),
    ]
    assert constants["table"].tolist() == [[1.5, -2.0], [0.0, 4.0]]
    assert constants["levels"].tolist() == [-7, 7]
    assert constants["whole"].tolist() == 1 << 40
    assert constants["whole"].shape == ()


def test_the_package_onnx_reads_the_same() -> None:
    need("onnx")
    import onnx

    model = onnx.load_from_string(small())
    gather, odd = model.graph.node

    assert [each.name for each in model.graph.initializer] == ["table", "levels", "whole"]
    assert onnx.numpy_helper.to_array(model.graph.initializer[1]).tolist() == [-7, 7]
    assert {each.domain: each.version for each in model.opset_import} == {"": 17, MICROSOFT: 1}
    assert onnx.helper.get_node_attr_value(gather, "axis") == -1
    assert odd.domain == MICROSOFT
    assert onnx.helper.get_node_attr_value(odd, "e") == 0.25
    assert onnx.helper.get_node_attr_value(odd, "to") == 1
    assert onnx.helper.get_node_attr_value(odd, "n") == [3, 4]
    (shape,) = (each.type.tensor_type.shape.dim for each in model.graph.output)
    assert [each.dim_param or each.dim_value for each in shape] == ["texts", 2]


@pytest.mark.parametrize("at", [1, 5, 40, 90, 150])
def test_a_file_that_ends_early_is_refused(at: int) -> None:
    with pytest.raises(ValueError, match=r"early|wire type|reshape|buffer"):
        read_graph(small()[:at])


def test_bytes_of_another_kind_are_refused() -> None:
    for junk in (b"\xff" * 40, b"\x3b", b"no model at all"):
        with pytest.raises(ValueError, match=r"early|wire type"):
            read_graph(junk)
