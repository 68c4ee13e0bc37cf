"""Read symbols with tree-sitter, in a process that may crash or hang."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import IO, TYPE_CHECKING

import msgspec

from vaultsync.backends.code_symbols.parsing import PARSER
from vaultsync.backends.code_symbols.queries import QUERIES
from vaultsync.backends.code_symbols.worker import LENGTH
from vaultsync.repos.symbol_patterns import read_by_patterns
from vaultsync.repos.symbols import FileSymbols

if TYPE_CHECKING:
    import subprocess

_log = logging.getLogger(__name__)
_ANSWER = msgspec.msgpack.Decoder(list[FileSymbols])
_CHUNK = 1 << 16
START_SECONDS = 60.0
"""The time limit for the process to start."""
BATCH_SECONDS = 20.0
"""The time limit for a batch; a file takes milliseconds, but the machine may be busy."""
FILE_SECONDS = 3.0
"""The time limit for one file, after its batch failed."""
MAX_CRASHES = 10
"""The number of crashes after which a reader stops parsing."""


@cache
def _version() -> str:
    """The version of tree-sitter; empty if it is not installed."""
    try:
        version("tree-sitter-python")
        return version("tree-sitter")
    except PackageNotFoundError:
        return ""


def is_installed() -> bool:
    """Whether the parsers are installed: the extra `repo`."""
    return bool(_version())


class TreeSitterReader:
    """A `SymbolReader` by tree-sitter; languages without a grammar are read by patterns.

    `command` are the arguments of Python for its process, which starts with the first file.
    """

    def __init__(
        self,
        command: Sequence[str] = ("-m", "vaultsync.backends.code_symbols.worker"),
        *,
        batch_seconds: float = BATCH_SECONDS,
        file_seconds: float = FILE_SECONDS,
    ) -> None:
        self.parser = f"{PARSER} {_version()}"
        self._command = command
        self._batch_seconds = batch_seconds
        self._file_seconds = file_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._crashes = 0

    def read(self, files: Sequence[tuple[str, bytes]]) -> list[FileSymbols]:
        symbols = [FileSymbols()] * len(files)
        parsed = [at for at, (language, _) in enumerate(files) if language in QUERIES]
        for at in {*range(len(files))}.difference(parsed):
            symbols[at] = read_by_patterns(*files[at])
        if parsed:
            found = self._parse([files[at] for at in parsed])
            for at, each in zip(parsed, found, strict=True):
                symbols[at] = each
        return symbols

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _parse(self, files: Sequence[tuple[str, bytes]]) -> list[FileSymbols]:
        together = self._ask(files, self._batch_seconds)
        if together is not None:
            return together
        # One file caused the failure; the others are parsed without it.
        found = []
        for file in files:
            alone = self._ask([file], self._file_seconds)
            found.append(read_by_patterns(*file) if alone is None else alone[0])
        return found

    def _ask(self, files: Sequence[tuple[str, bytes]], seconds: float) -> list[FileSymbols] | None:
        """The answer of the process; None if it crashes or times out."""
        if self._crashes > MAX_CRASHES:
            return None
        try:
            process = self._started()
            assert process.stdin is not None  # noqa: S101 - it was asked for
            request = msgspec.msgpack.encode(files)
            deadline = time.monotonic() + seconds
            process.stdin.write(LENGTH.pack(len(request)) + request)
            process.stdin.flush()
            [length] = LENGTH.unpack(_receive(process.stdout, LENGTH.size, deadline))
            found = _ANSWER.decode(_receive(process.stdout, length, deadline))
        except (OSError, msgspec.DecodeError) as error:
            _log.debug("the parser of source code failed: %s", error)
            self._crashes += 1
            self.close()
            return None
        return found if len(found) == len(files) else None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            import subprocess

            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", *self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=sys.prefix,  # the current folder may be the repository
            )
            _receive(self._process.stdout, LENGTH.size, time.monotonic() + START_SECONDS)
        return self._process


def _receive(pipe: IO[bytes] | None, length: int, deadline: float) -> bytes:
    """Read `length` bytes from a pipe.

    Raises:
        OSError: the pipe ends early, or the deadline has passed.
    """
    import select

    assert pipe is not None  # noqa: S101 - it was asked for
    received = bytearray()
    while len(received) < length:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError("it timed out")
        chunk = os.read(pipe.fileno(), min(_CHUNK, length - len(received)))
        if not chunk:
            raise ConnectionError("the process ended")
        received += chunk
    return bytes(received)
