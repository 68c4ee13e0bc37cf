"""Start programs quickly, as forks of a process that has already loaded vaultsync.

Starting Python and loading a daemon takes longer than most tests of it. A
program that is started here is an ordinary process with its own arguments,
environment, folder and files; only its modules are already loaded. Tests of the start of a
program, or of its imports, start an interpreter instead.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, AnyStr

ROOT = Path(__file__).parents[1]
LOADED = (
    "vaultsync.backends.filesystem", "vaultsync.backends.http", "vaultsync.backends.qdrant",
    "vaultsync.backends.sqlite", "vaultsync.backends.state", "vaultsync.backends.system",
    "vaultsync.backends.tantivy", "vaultsync.backends.watchers", "vaultsync.api", "vaultsync.cli",
    "vaultsync.daemon", "vaultsync.http_bridge", "vaultsync.mcp_server", "vaultsync.observations",
    "vaultsync.operations", "vaultsync.service", "vaultsync.sync",
)  # fmt: skip
"""Packages that programs need; none of their libraries starts threads."""
LIBRARIES = (
    "uvicorn.lifespan.off", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "qdrant_client",
)  # fmt: skip
_STATUS = 16
"""Size in bytes of the process id and of the exit status, which are sent for each program."""


class Forked(subprocess.Popen[AnyStr]):
    """A `Popen` of `[sys.executable, "-m", MODULE, …]`, or of `-c` and code, that forks."""

    _told: int
    """The connection that transmits the process id and the exit status."""
    _ended: int

    def _execute_child(
        self,
        args: Sequence[str],
        *more: Any,  # noqa: ANN401 - as subprocess calls it
    ) -> None:
        """Ask the loaded process to fork.

        `more` is executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
        creationflags, shell, and the ends of the pipes: those of the child, each before or after
        its other end, which is ours.
        """
        assert (args[0], args[1] in ("-c", "-m")) == (sys.executable, True), args
        cwd, env = more[4], more[5]
        pipes: tuple[int, ...] = more[9:15]
        child = (pipes[0], pipes[3], pipes[5])
        self._told, told = os.pipe()
        request = {
            "words": [os.fspath(each) for each in args[1:]],
            "cwd": os.fspath(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
        }
        files: list[int] = [own if given == -1 else given for own, given in enumerate(child)]
        socket.send_fds(_loaded(), [json.dumps(request).encode()], [*files, told])
        os.close(told)
        self.pid = int(os.read(self._told, _STATUS))
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None:
            self._try_wait(os.WNOHANG)
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """A replacement for `os.waitpid`, which knows only direct children."""
        if self.returncode is not None:
            return self.pid, self._ended
        os.set_blocking(self._told, not wait_flags & os.WNOHANG)
        try:
            told = os.read(self._told, _STATUS)
        except BlockingIOError:
            return 0, 0
        os.close(self._told)
        self._ended = int(told)
        self.returncode = os.waitstatus_to_exitcode(self._ended)
        return self.pid, self._ended


def start_program(
    line: Sequence[str],
    *,
    stdin: int | None = None,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    **more: Any,  # noqa: ANN401 - as Popen takes it
) -> subprocess.Popen[Any]:
    """Start `[sys.executable, "-m", MODULE, …]`, or `-c` and code, as `Popen` would."""
    kind = Forked if sys.platform == "linux" else subprocess.Popen
    return kind(line, stdin=stdin, stdout=stdout, stderr=stderr, **more)


def run_program(
    line: Sequence[str],
    *,
    timeout: float | None = None,
    **more: Any,  # noqa: ANN401 - as Popen
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as `subprocess.run` does with text and captured output."""
    pipe = subprocess.PIPE
    with start_program(line, stdout=pipe, stderr=pipe, text=True, **more) as program:
        try:
            said, erred = program.communicate(timeout=timeout)
        except BaseException:
            program.kill()
            raise
    return subprocess.CompletedProcess(line, program.returncode, said, erred)


class HeardProgram:
    """A module that runs as a program, whose output is read meanwhile."""

    def __init__(self, *words: str) -> None:
        pipe, line = subprocess.PIPE, [sys.executable, "-m", *words]
        self.process: subprocess.Popen[str] = start_program(
            line, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT
        )
        self.lines: list[str] = []
        self.errors = ""
        self._threads = [threading.Thread(target=each) for each in (self._listen, self._read)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout
        with self.process.stdout as said:
            # The last line of a killed process may be incomplete: it was not acknowledged.
            self.lines.extend(line[:-1] for line in said if line.endswith("\n"))

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as said:
            self.errors = said.read()

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Wait until it has ended, and read the rest of its output; returns its exit code."""
        code = self.process.wait(600)
        for thread in self._threads:
            thread.join()
        assert self.process.stdin
        self.process.stdin.close()
        return code


@cache
def _loaded() -> socket.socket:
    """Start the process that forks until this one ends; returns its address."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VAULTSYNC_")}
    subprocess.Popen(
        [sys.executable, "-m", "tests.forked", str(its.fileno())],
        cwd=ROOT,
        env={**environment, "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        pass_fds=[its.fileno()],
    ).returncode = 0  # it ends with the connection; no process waits for it
    its.close()
    atexit.register(ours.close)
    return ours


def _copy(asked: socket.socket) -> list[str] | None:
    """Fork on request until the client has gone; in a fork, return its command line."""
    while True:
        data, files, _, _ = socket.recv_fds(asked, 1 << 20, 4)
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                """One that has ended."""
        if not data:
            return None
        if not os.fork():
            asked.close()
            return _keep(json.loads(data), files)
        for each in files:
            os.close(each)


def _keep(request: dict[str, Any], files: Sequence[int]) -> list[str]:
    """Send the process id and the exit status; in the forked process, return its command line."""
    *child, told = files
    if pid := os.fork():
        for each in (0, 1, 2, *child):
            os.close(each)
        os.write(told, b"%*d" % (_STATUS, pid))
        os.write(told, b"%*d" % (_STATUS, os.waitpid(pid, 0)[1]))
        os._exit(0)
    for own, given in enumerate(child):
        os.dup2(given, own)
    os.closerange(3, max(files) + 1)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - to the end
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", buffering=1, errors="backslashreplace", closefd=False
    )
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None
    words: list[str] = request["words"]
    return words


def main() -> None:
    asked = socket.socket(fileno=int(sys.argv[1]))
    for name in LOADED:
        package = importlib.import_module(name)
        for each in pkgutil.iter_modules(package.__path__, f"{name}."):
            if not each.name.endswith("__main__"):
                importlib.import_module(each.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    if (words := _copy(asked)) is None:
        return
    how, what, *more = words
    sys.path[0] = str(Path.cwd())
    if how == "-m":
        sys.argv = [what, *more]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [how, *more]
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))  # noqa: S102 - as -c


if __name__ == "__main__":
    main()
