"""The environment of `tests.demo`: a folder, the real command line, and plain text output."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vaultsync.backends.state.settings_files import edit_machine_file

ROOT = Path(__file__).parents[1]
WIDTH = 88
LONG = 14
"""Default number of lines to show of an output or a file."""


class NotAsToldError(Exception):
    """A step did not show what it claims."""


class Stage:
    """A copy of the sample vault, and the actions of its users and agents."""

    def __init__(self, folder: Path, *, store: str | None = None) -> None:
        self.folder = folder
        self.vault = folder / "Tidebell"
        self._ids: dict[str, str] = {}
        self._notes: dict[str, Path] = {}
        self._steps = 0
        shutil.copytree(ROOT / "sample-vault", self.vault)
        if store is not None:
            marker = (self.vault / ".meta" / "config.toml").read_text(encoding="utf-8")
            name = f"{tomllib.loads(marker)['vault_id']}.toml"
            edit_machine_file(folder / "config" / "vaults" / name, {("store",): store})

    # --- telling ---------------------------------------------------------------------

    def step(self, title: str, text: str) -> None:
        self._steps += 1
        head = f" {self._steps}. {title} "
        tell(f"\n──{head}{'─' * (WIDTH - 2 - len(head))}\n")
        self.tell(text)

    def tell(self, text: str) -> None:
        """A paragraph of the story."""
        words = " ".join(text.split())
        tell(textwrap.fill(words, WIDTH, break_on_hyphens=False) + "\n")

    def claim(self, what: str, *, holds: bool) -> None:
        """State a claim, and end the demo if it does not hold."""
        if not holds:
            raise NotAsToldError(what)
        tell(f"  ✓ {what}\n")

    # --- typing ----------------------------------------------------------------------

    def run(self, *words: str, keep: str = "", lines: int = LONG, exits: int = 0) -> str:
        """Type a command, show what it prints, and return that.

        `keep` names the id that it prints; `$NAME` as a word stands for what was kept.
        """
        typed = " ".join(map(_quoted, words))
        line = f"vaultsync {typed}"
        tell(_wrapped(f"{keep}=$({line})" if keep else line))
        out, said, code = self._call(words, on_terminal=not keep)
        if code != exits:
            raise NotAsToldError(f"exit code {code}, not {exits}: {line}\n{out}{said}")
        if keep:
            self._ids[keep] = out.strip()
            tell(_indented(said, lines))
        else:
            tell(_indented(f"{out}{said}", lines))
        return f"{out}{said}"

    def ask(self, *words: str, fails: bool = False) -> dict[str, Any]:
        """What a command answers as JSON, without a word."""
        out, said, _ = self._call((*words, "--json"), on_terminal=False)
        try:
            answer: dict[str, Any] = json.loads(out)
        except ValueError:
            raise NotAsToldError(f"no JSON from {words}: {out}{said}") from None
        if ("error" in answer) is not fails:
            raise NotAsToldError(f"from {words}: {answer}\n{said}")
        return answer

    def name(self, name: str, value: str) -> None:
        """Store an id or a run under a name, for `$NAME`."""
        self._ids[name] = value
        tell(f"  $ {name}={value}\n")

    def _call(self, words: tuple[str, ...], *, on_terminal: bool) -> tuple[str, str, int]:
        said = [self._ids.get(w[1:], w) if w.startswith("$") else w for w in words]
        place = ["--state-dir", str(self.folder / "state")]
        if words[0] != "init":
            place += ["--vault", str(self.vault)]
        command = [sys.executable, "-m", "vaultsync", *said, *place]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as words_for_people:
            with _stdout(on_terminal=on_terminal) as (write, read):
                process = subprocess.Popen(
                    command,
                    cwd=self.folder,
                    env={**_environment(), "VAULTSYNC_CONFIG_DIR": str(self.folder / "config")},
                    stdin=subprocess.DEVNULL,
                    stdout=write,
                    stderr=words_for_people,
                )
                os.close(write)
                out = _all_of(read)
                code = process.wait()
            words_for_people.seek(0)
            return out, words_for_people.read(), code

    # --- notes -----------------------------------------------------------------------

    def note(self, name: str) -> Path:
        """The note of a stored id; the demo moves no notes."""
        if name not in self._notes:
            self._notes[name] = self.vault / str(self.ask("get", name)["path"])
        return self._notes[name]

    def _place(self, path: Path) -> Path:
        return path.relative_to(self.vault if path.is_relative_to(self.vault) else self.folder)

    def show(self, path: Path, *, lines: int = 40) -> None:
        tell(f"  {self._place(path)}\n")
        tell(_framed(path.read_text(encoding="utf-8"), lines))

    def edit(self, path: Path, *changes: tuple[str, str]) -> None:
        """Edit a note as the user: old texts and their replacements."""
        before = path.read_text(encoding="utf-8")
        text = before
        for old, new in changes:
            if old not in text:
                raise NotAsToldError(f"{old!r} is not in {path.name}")
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")
        self.show_change(path, before)

    def show_change(self, path: Path, before: str) -> None:
        """Show the changed lines of a file."""
        tell(f"  {self._place(path)}\n")
        after = path.read_text(encoding="utf-8")
        differing = list(
            difflib.unified_diff(before.split("\n"), after.split("\n"), n=1, lineterm="")
        )
        kept = [line if line[:1] != "@" else "…" for line in differing[3:]]
        tell(_framed("\n".join(kept), 40))


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n" if not text.endswith("\n\n") else text)
    sys.stdout.flush()


def _quoted(word: str) -> str:
    if word.startswith("$"):
        return word
    if " " in word and '"' not in word:
        return f'"{word}"'
    return shlex.quote(word)


def _wrapped(line: str) -> str:
    """A command as a user types it, wrapped if it is long."""
    rows = [_pieces(row, WIDTH - 6) for row in line.split("\n")]
    text = "\n      ".join(" \\\n      ".join(row) for row in rows)
    return "\n".join(row.rstrip() for row in f"  $ {text}".split("\n"))


def _pieces(text: str, width: int) -> list[str]:
    """Wrap a line at spaces only."""
    wrap = textwrap.TextWrapper(
        width, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return wrap.wrap(text) or [""]


def _indented(text: str, lines: int) -> str:
    rows = [f"    {row}".rstrip() for row in text.rstrip().split("\n")]
    if len(rows) > lines:
        rows = [*rows[:lines], f"    … {len(rows) - lines} more lines"]
    return "\n".join(rows) + "\n"


def _framed(text: str, lines: int) -> str:
    rows = []
    for row in text.rstrip().split("\n"):
        rows += _pieces(row, WIDTH - 4) if len(row) > WIDTH - 4 else [row]
    if len(rows) > lines:
        rows = [*rows[:lines], f"… {len(rows) - lines} more lines"]
    return "\n".join(f"  │ {row}".rstrip() for row in rows) + "\n"


def _environment() -> Mapping[str, str]:
    """A terminal without colours, and without the caller's own vaults."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSYNC_")}
    width = str(WIDTH - 4)
    path = os.pathsep.join(filter(None, (str(ROOT), mine.get("PYTHONPATH"))))
    return mine | {
        "NO_COLOR": "1",
        "COLUMNS": width,
        "PYTHONPATH": path,
        "PYTHONIOENCODING": "utf-8",
    }


@contextlib.contextmanager
def _stdout(*, on_terminal: bool) -> Iterator[tuple[int, int]]:
    """A terminal or a pipe to write to, and where to read it."""
    read, write = os.openpty() if on_terminal else os.pipe()
    try:
        yield write, read
    finally:
        os.close(read)


def _all_of(read: int) -> str:
    found = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal in this way
        while piece := os.read(read, 1 << 16):
            found += piece
    return found.decode(errors="replace").replace("\r\n", "\n")
