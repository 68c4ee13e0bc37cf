"""The process that parses source code, which is untrusted.

`python -m vaultsync.backends.code_symbols.worker`

Parsers are written in C: a file that crashes one, or makes it hang, ends this process only. The
process reads frames from stdin and answers each on stdout; it ends when stdin ends.
A frame is its length in 4 bytes, the highest first, and that much MessagePack.
"""

from __future__ import annotations

import struct
import sys
from typing import BinaryIO

import msgspec

from vaultsync.backends.code_symbols.parsing import parse_symbols

LENGTH = struct.Struct(">I")
_MEMORY = 2 * 1024**3
"""Limit of address space in bytes, more than parsing any accepted file needs."""


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer all requests, each a list of pairs of a language and a source.

    An empty frame is sent first, to show that the process is running.
    """
    answers.write(LENGTH.pack(0))
    answers.flush()
    decoder = msgspec.msgpack.Decoder(list[tuple[str, bytes]])
    while head := requests.read(LENGTH.size):
        files = decoder.decode(requests.read(*LENGTH.unpack(head)))
        answer = msgspec.msgpack.encode([parse_symbols(*file) for file in files])
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()


def main() -> None:
    """Serve stdin, within a memory limit."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
