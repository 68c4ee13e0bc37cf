"""Run git to read a repository that may be hostile, without running any program that it names.

The configuration of a repository can name programs: hooks, a file system monitor, drivers of
diffs, filters, a pager, ssh. So only plumbing runs; settings that name a program are overridden,
and protocols are forbidden, because reading a missing object of a partial clone would fetch it.
Filters have arbitrary names and cannot be overridden one by one: the one command that compares
working files runs in a separate empty repository, with the index of this one.
"""

from __future__ import annotations

import logging
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from vaultsync.errors import GitFailedError, NotARepositoryError

_log = logging.getLogger(__name__)

SECONDS = 30.0
"""The default time limit of one command, in seconds."""
MOST_BYTES = 256 << 20
"""The maximum output of one command, in bytes."""
_OFF = (
    "advice.graftFileDeprecated=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.askPass=",
    "core.alternateRefsCommand=",
    "core.commitGraph=true",
    "core.quotePath=false",
    "credential.helper=",
    "diff.external=",
    "diff.algorithm=myers",
    "diff.orderFile=",
    "gpg.program=false",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "uploadpack.packObjectsHook=",
)
"""Settings that override those of the repository."""
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
"""`GIT_ALLOW_PROTOCOL` also wins over `protocol.ext.allow` of the repository."""
_FORMAT = "[core]\nrepositoryFormatVersion = 1\n[extensions]\nobjectFormat = {}\n"
_KEPT = ("HOME", "PATH", "TMPDIR", "SYSTEMROOT")
"""The only variables kept: in a hook, for example, `GIT_DIR` belongs to another repository."""
_OWNED_BY_OTHERS = "dubious ownership"


class GitCommand:
    """The git command, for one folder."""

    def __init__(self, folder: Path, *, seconds: float = SECONDS) -> None:
        """Find the command.

        Args:
            folder: the folder in which it runs; links are resolved.
            seconds: time limit for each command.

        Raises:
            GitFailedError: git is not installed.
        """
        self.folder = folder
        self._seconds = seconds
        self._more: Mapping[str, str] = {}
        places = os.environ.get("PATH", os.defpath).split(os.pathsep)
        absolute = os.pathsep.join(each for each in places if Path(each).is_absolute())
        program = shutil.which("git", path=absolute)
        if program is None:
            hint = "install it: https://git-scm.com"
            raise GitFailedError("be started", "it is not installed", hint=hint)
        self._start = [program, "--no-pager", *(word for each in _OFF for word in ("-c", each))]

    def ask(self, what: str, *words: str, given: bytes = b"") -> bytes:
        """Run git; returns its output.

        Args:
            what: a description of the command for errors.
            *words: its command and arguments.
            given: its input.

        Raises:
            NotARepositoryError: the folder is not in a repository, or in another user's.
            GitFailedError: git failed, took too long, or its output is too long.
        """
        code, answer, why = self._run(words, given)
        if code:
            if _OWNED_BY_OTHERS in why:
                hint = "git reads only repositories that you own: change the owner, or clone it"
                raise NotARepositoryError(str(self.folder), "another user owns it", hint=hint)
            if "not a git repository" in why:
                raise NotARepositoryError(str(self.folder))
            raise GitFailedError(what, why.strip()[:500] or f"it ended with {code}")
        return answer

    def find(self, *words: str, given: bytes = b"") -> bytes | None:
        """Run git; returns its output, or None if it fails, as for unknown names."""
        code, answer, why = self._run(words, given)
        if code:
            _log.debug("git %s ended with %d: %s", words[0], code, why.strip()[:200])
            return None
        return answer

    @contextmanager
    def without_config(self, index: Path, objects: Path, hashed: str) -> Iterator[GitCommand]:
        """The command in a repository without configuration, with these files.

        Args:
            index: the index of the real repository.
            objects: the folder of its objects.
            hashed: the algorithm of its ids, `sha1` or `sha256`.
        """
        with tempfile.TemporaryDirectory(prefix="vaultsync-git-") as empty:
            for name in ("refs", "objects"):
                (Path(empty) / name).mkdir()
            (Path(empty) / "HEAD").write_text("ref: refs/heads/none\n")
            if hashed != "sha1":
                (Path(empty) / "config").write_text(_FORMAT.format(hashed))
            found = GitCommand(self.folder, seconds=self._seconds)
            found._more = {
                "GIT_DIR": empty,
                "GIT_WORK_TREE": str(self.folder),
                "GIT_INDEX_FILE": str(index),
                "GIT_OBJECT_DIRECTORY": str(objects),
            }
            yield found

    def _answer_of(self, process: subprocess.Popen[bytes], verb: str) -> bytes:
        """The output of git until it closes stdout.

        Raises:
            GitFailedError: it takes too long, or its output is too large.
        """
        stream, parts, size = process.stdout, list[bytes](), 0
        end = time.monotonic() + self._seconds
        with selectors.DefaultSelector() as ready:
            if stream:
                ready.register(stream, selectors.EVENT_READ)
            while stream and ready.select(max(0.0, end - time.monotonic())):
                part = os.read(stream.fileno(), 1 << 16)
                if not part:
                    return b"".join(parts)
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    raise GitFailedError(verb, f"its output has more than {MOST_BYTES:,} bytes")
        raise self._too_late(verb)

    def _too_late(self, verb: str) -> GitFailedError:
        why = f"it took more than {self._seconds:g} s"
        hint = "try again when the machine is less busy; `git gc` makes a large repository faster"
        return GitFailedError(verb, why, hint=hint)

    def _run(self, words: Sequence[str], given: bytes) -> tuple[int, bytes, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ENVIRONMENT
        # Files, not pipes: git may read all input, or fill stderr, before it writes output.
        with ExitStack() as files:
            wrong = files.enter_context(tempfile.TemporaryFile())
            stdin: IO[bytes] | int = subprocess.DEVNULL
            if given:
                stdin = files.enter_context(tempfile.TemporaryFile())
                stdin.write(given)
                stdin.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603 - a list of words, and no shell
                    [*self._start, *words],
                    cwd=self.folder,
                    env={**kept, **self._more},
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=wrong,
                )
            except OSError as error:
                raise NotARepositoryError(str(self.folder), error.strerror or "") from error
            except ValueError:  # a null byte, or half of a surrogate pair
                hint = "use the name of a branch or the id of a commit"
                raise GitFailedError(words[0], "this is not a valid name", hint=hint) from None
            try:
                answer = self._answer_of(process, words[0])
                code = process.wait(self._seconds)
            except subprocess.TimeoutExpired:
                raise self._too_late(words[0]) from None
            finally:
                if process.poll() is None:  # too late, too much, or interrupted
                    process.kill()
                    process.wait()
                if process.stdout:
                    process.stdout.close()
            wrong.seek(0)
            return code, answer, wrong.read(8192).decode(errors="replace")
