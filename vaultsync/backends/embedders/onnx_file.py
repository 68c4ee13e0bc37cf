"""Read and write ONNX files, without the package `onnx`, which would be the third largest.

An ONNX file is one protobuf message; the numbers are those of `onnx.proto`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Array: TypeAlias = Any
"""A `numpy.ndarray`; numpy may be missing, and is loaded on demand."""

_TYPES = {"float32": 1, "int8": 3, "int32": 6, "int64": 7}
"""The numbers of the types of elements."""
_IR_VERSION, _OPSET = 8, 17
MICROSOFT = "com.microsoft"
"""The domain of the operators that only onnxruntime has."""
_VARINT, _BYTES, _FLOAT = 0, 2, 5
"""Wire types: a number, a length and its bytes, and four bytes."""
_MORE, _LOW = 128, 127
"""The bits of a varint byte: whether another byte follows, and its value."""
_MAX_BITS = 70


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One operation: its operator, and the names of its inputs and outputs."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(slots=True)
class OnnxGraph:
    """A graph that is being written: operations in order, and constants by name."""

    nodes: list[bytes] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def constant(self, name: str, values: Array) -> str:
        """Add a constant; returns its name."""
        self.constants[name] = values
        return name

    def add(
        self,
        operator: str,
        *inputs: str,
        to: str | Sequence[str],
        domain: str = "",
        **attributes: float | Sequence[int],
    ) -> str:
        """Add an operation; returns the name of its first output.

        An empty name means that an input is left out.
        """
        outputs = (to,) if isinstance(to, str) else tuple(to)
        parts = [_text(1, each) for each in inputs] + [_text(2, each) for each in outputs]
        parts += [_text(3, outputs[0]), _text(4, operator)]
        parts += [_bytes(5, _attribute(key.rstrip("_"), each)) for key, each in attributes.items()]
        self.nodes.append(b"".join([*parts, _text(7, domain)]))
        return outputs[0]

    def to_bytes(
        self, inputs: Mapping[str, Sequence[str]], outputs: Mapping[str, Sequence[str | int]]
    ) -> bytes:
        """The bytes of the file. Inputs are integers, outputs floats, each with its shape."""
        graph = [_bytes(1, each) for each in self.nodes]
        graph.append(_text(2, "vaultsync"))
        graph += [_bytes(5, _tensor(*each)) for each in self.constants.items()]
        graph += [_bytes(11, _value(name, 7, shape)) for name, shape in inputs.items()]
        graph += [_bytes(12, _value(name, 1, shape)) for name, shape in outputs.items()]
        versions = [_text(1, "") + _number(2, _OPSET), _text(1, MICROSOFT) + _number(2, 1)]
        return b"".join(
            [
                _number(1, _IR_VERSION),
                _text(2, "vaultsync"),
                _bytes(7, b"".join(graph)),
                *(_bytes(8, each) for each in versions),
            ]
        )


def read_graph(file: bytes) -> tuple[list[OnnxNode], dict[str, Array]]:
    """The operations of an ONNX file, and its constants with supported types.

    Raises:
        ValueError: it is damaged.
    """
    nodes: list[OnnxNode] = []
    constants: dict[str, Array] = {}
    for graph in _messages(memoryview(file), 7):
        nodes += [_read_node(each) for each in _messages(graph, 1)]
        for each in _messages(graph, 5):
            _read_tensor(each, constants)
    return nodes, constants


def _read_node(data: memoryview) -> OnnxNode:
    takes, gives, operators = (
        tuple(bytes(each).decode() for each in _messages(data, key)) for key in (1, 2, 4)
    )
    return OnnxNode(operators[0] if operators else "", takes, gives)


def _read_tensor(data: memoryview, constants: dict[str, Array]) -> None:
    import numpy as np

    numbers = [(key, value) for key, value in _fields(data) if isinstance(value, int)]
    shape = [value for key, value in numbers if key == 1]
    kind = next((name for name, number in _TYPES.items() if (2, number) in numbers), None)
    raw = _messages(data, 9)
    if kind and raw:
        name = b"".join(_messages(data, 8)).decode()
        constants[name] = np.frombuffer(raw[0], kind).reshape(shape)


def _messages(data: memoryview, wanted: int) -> list[memoryview]:
    """The fields with one number that contain bytes."""
    found = (value for key, value in _fields(data) if key == wanted)
    return [value for value in found if isinstance(value, memoryview)]


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: their numbers and values."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == _VARINT:
            number, at = _varint(data, at)
            yield tag >> 3, number
            continue
        if tag & 7 == _BYTES:
            size, at = _varint(data, at)
        elif tag & 7 == _FLOAT:
            size = 4
        else:
            raise ValueError(f"unknown wire type {tag & 7}")
        if at + size > len(data):
            raise ValueError("the file ends early")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(data) and shift < _MAX_BITS:
        byte = data[at]
        found |= (byte & _LOW) << shift
        at, shift = at + 1, shift + 7
        if byte < _MORE:
            return found, at
    raise ValueError("the file ends early")


def _tensor(name: str, values: Array) -> bytes:
    import numpy as np

    shape = b"".join(_number(1, each) for each in values.shape)
    kind = _number(2, _TYPES[values.dtype.name])
    return shape + kind + _text(8, name) + _bytes(9, np.ascontiguousarray(values).tobytes())


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = [_text(2, each) if isinstance(each, str) else _number(1, each) for each in shape]
    dimensions = b"".join(_bytes(1, each) for each in sizes)
    tensor = _number(1, kind) + _bytes(2, dimensions)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    import struct

    named = _text(1, name)
    if isinstance(value, int):
        return named + _number(3, value) + _number(20, 2)
    if isinstance(value, float):
        return named + _to_varint(2 << 3 | _FLOAT) + struct.pack("<f", value) + _number(20, 1)
    return named + b"".join(_number(8, each) for each in value) + _number(20, 7)


def _text(key: int, value: str) -> bytes:
    return _bytes(key, value.encode())


def _bytes(key: int, value: bytes) -> bytes:
    return _to_varint(key << 3 | _BYTES) + _to_varint(len(value)) + value


def _number(key: int, value: int) -> bytes:
    return _to_varint(key << 3) + _to_varint(value % (1 << 64))


def _to_varint(value: int) -> bytes:
    found = bytearray()
    while value > _LOW:
        found.append(value & _LOW | _MORE)
        value >>= 7
    return bytes([*found, value])
