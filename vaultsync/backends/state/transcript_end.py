"""The end of a transcript, read only from the folder where the host keeps its transcripts.

A hook names the path. Anyone who can feed a hook could name any file of the user, so paths outside
that folder are refused, and so are links that lead outside.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from vaultsync.errors import InvalidFieldError
from vaultsync.observations.hooks import CLAUDE_CODE, CODEX, CURSOR, GEMINI
from vaultsync.settings import user_path

MAX_BYTES, MAX_LINES = 1 << 20, 400
"""Maximum numbers of bytes and lines read from the end of a transcript."""
_FOLDERS: Mapping[str, tuple[str, str, str]] = {
    CLAUDE_CODE: ("CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    CODEX: ("CODEX_HOME", "~/.codex", "sessions"),
    CURSOR: ("", "~/.cursor", "projects"),
    GEMINI: ("GEMINI_CLI_HOME", "~/.gemini", "tmp"),
}
"""Host -> the variable for its folder, the default folder, and the subfolder of transcripts."""


def transcript_end(path: str, host: str) -> str:
    """The last lines of a transcript; the first one may be truncated. Empty if it is missing.

    Raises:
        InvalidFieldError: it is not a regular file in the host's folder of transcripts.
        OSError: it cannot be read.
    """
    variable, default, inner = _FOLDERS[host]
    folder = user_path(os.environ.get(variable) or default) / inner
    found = user_path(path)
    try:
        real = found.resolve(strict=True)
    except FileNotFoundError:
        return ""
    except (RuntimeError, ValueError):  # circular links, or a NUL
        raise _refused(path, folder) from None
    if not real.is_relative_to(folder.resolve()) or real.suffix not in (".jsonl", ".json"):
        raise _refused(path, folder)
    fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    known = os.fstat(fd)
    if not stat.S_ISREG(known.st_mode):
        os.close(fd)
        raise _refused(path, folder)
    with os.fdopen(fd, "rb") as file:
        if real.suffix == ".jsonl" or known.st_size > MAX_BYTES:
            file.seek(max(0, known.st_size - MAX_BYTES))
        text = file.read(MAX_BYTES).decode(errors="replace")
    if real.suffix == ".json":
        return text
    return "\n".join(text.rstrip("\n").split("\n")[-MAX_LINES:])


def _refused(path: str, folder: Path) -> InvalidFieldError:
    return InvalidFieldError("transcript_path", path[:200], f"a .jsonl or .json file in {folder}")
