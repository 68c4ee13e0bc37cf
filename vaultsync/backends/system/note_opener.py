"""Open a note in the user's editor, or in Obsidian by its URI.

They are started without a shell, and the path of a note begins with `/`: no title or path can
become an option or another command.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from vaultsync.errors import NoteNotOpenedError

_EDITORS = ("sensible-editor", "nano", "vim", "vi")


def obsidian_uri(file: Path) -> str:
    """The URI that opens a file in Obsidian; all special characters of the path are quoted."""
    return f"obsidian://open?path={quote(str(file), safe='')}"


def editor_command(file: Path) -> list[str]:
    """The command that opens a file in `$VISUAL`, `$EDITOR`, or a common editor.

    Raises:
        NoteNotOpenedError: there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        if chosen := os.environ.get(name, "").strip():
            try:
                return [*shlex.split(chosen), str(file)]
            except ValueError as error:
                raise NoteNotOpenedError(f"${name} cannot be read ({error})") from None
    on_terminal = sys.stdin is not None and sys.stdin.isatty()  # which common editors need
    found = next((each for each in _EDITORS if on_terminal and shutil.which(each)), None)
    if found is None:
        raise NoteNotOpenedError("neither $VISUAL nor $EDITOR names an editor")
    return [found, str(file)]


def uri_command(uri: str) -> list[str]:
    """The command with which the system opens a URI."""
    return ["open" if sys.platform == "darwin" else "xdg-open", uri]


def check_note_file(root: Path, path: str) -> Path:
    """The file of a note; links are refused, because they may lead out of the vault.

    Raises:
        NoteNotOpenedError: there is no such file.
    """
    file = root / path
    if file.is_symlink() or not file.is_file() or not file.resolve().is_relative_to(root.resolve()):
        raise NoteNotOpenedError(f"{path} is not a file in the vault")
    return file


def run_program(command: list[str], *, hint: str = "") -> None:
    """Run a program on the terminal of this process, until it ends; its output goes to stderr.

    Args:
        command: the program and its arguments.
        hint: the hint if it fails; by default, how to set an editor.

    Raises:
        NoteNotOpenedError: it cannot be started, or failed.
    """
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    try:
        ended = subprocess.run(command, check=False, stdout=None if on_terminal else 2)  # noqa: S603 - words, no shell
    except OSError as error:
        why = error.strerror or error
        raise NoteNotOpenedError(f"{command[0]} cannot be started ({why})", hint=hint) from None
    if ended.returncode:
        why = f"{command[0]} ended with exit code {ended.returncode}"
        raise NoteNotOpenedError(why, hint=hint)
