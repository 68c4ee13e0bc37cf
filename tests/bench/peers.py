"""Other tools over the same notes, where they are installed: CPU until a word is found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.bench import corpus
from tests.bench.measure import Pair, Timed, timed
from tests.bench.table import Row, row_of
from tests.bench.worlds import new_folder, settle_disk
from vaultsync.backends.embedders.sentence import packaged_model

PEERS = "peers"
_WORD = "latency"
_FEW = 100
"""Notes for a tool that needs a second for some."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that makes a folder of notes searchable, and searches it.

    In `commands` and `settings`, `{notes}` is the folder of notes, `{home}` a new folder for
    what the tool keeps, `{word}` what is searched for, and `{model}` the folder of the
    packaged embedding model.
    """

    program: str
    commands: Sequence[Sequence[str]]
    settings: Mapping[str, str] = field(default_factory=dict)

    def run(self, notes: Path, home: Path) -> None:
        """Index the notes, and ask for a word; stops the bench when it is not found."""
        model = str(packaged_model().path)
        places = {"notes": str(notes), "home": str(home), "word": _WORD, "model": model}
        settings = {key: value.format(**places) for key, value in self.settings.items()}
        environ = {**os.environ, "HOME": str(home), **settings}
        for command in self.commands:
            words = [self.program, *(word.format(**places) for word in command)]
            done = subprocess.run(
                words, check=False, env=environ, capture_output=True, text=True, cwd=home
            )
            if done.returncode:
                raise SystemExit(f"bench: {' '.join(words)} failed: {done.stderr[-500:]}")
        if _WORD not in done.stdout.lower():
            raise SystemExit(f"bench: {self.program} did not find {_WORD!r}")


_OURS = Tool(
    str(Path(sys.executable).with_name("vaultsync")),
    [
        ("init", "--vault", "{notes}"),
        ("adopt", "--vault", "{notes}"),
        ("recall", "{word}", "--mode", "index", "--vault", "{notes}"),
    ],
    {"VAULTSYNC_EMBEDDER": "none", "VAULTSYNC_CONFIG_DIR": "{home}/config"},
)
_OURS_BY_MEANING = Tool(
    _OURS.program,
    [
        *_OURS.commands[:2],
        ("index", "--wait", "--vault", "{notes}"),
        ("recall", "{word}", "--mode", "vector", "--vault", "{notes}"),
    ],
    {"VAULTSYNC_EMBEDDER": "local", "VAULTSYNC_CONFIG_DIR": "{home}/config"},
)
_QMD = Tool(
    "qmd",
    [("collection", "add", "{notes}", "--name", "bench"), ("search", "{word}")],
    {"XDG_CACHE_HOME": "{home}/cache", "XDG_CONFIG_HOME": "{home}/config"},
)
_BASIC_MEMORY = Tool(
    "basic-memory",
    [("reindex", "--search"), ("tool", "search-notes", "{word}")],
    {"BASIC_MEMORY_HOME": "{notes}", "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
)
_MEMSEARCH = Tool(
    "memsearch",
    [
        ("index", "{notes}", "--milvus-uri", "{home}/index.db", *("-p", "local", "-m", "{model}")),
        ("search", "{word}", "--milvus-uri", "{home}/index.db", *("-p", "local", "-m", "{model}")),
    ],
    {"HF_HUB_OFFLINE": "1"},
)


def beside_peers(folder: Path, n: int) -> list[Row]:
    """CPU until a word is found in new notes, beside each tool that is on the PATH.

    The tools do different work: ours also gives each note an id, archives it, and keeps the
    links and the tables of contents. No ratio is to be reached; the rows say where we stand.
    """
    few = min(n, _FEW)
    rows = [
        _row("notes until a word is found", n, _OURS, _QMD, folder),
        _row("notes until a word is found", few, _OURS, _BASIC_MEMORY, folder),
        _row("notes until they are embedded", few, _OURS_BY_MEANING, _MEMSEARCH, folder),
    ]
    return [row for row in rows if row]


def _row(operation: str, n: int, ours: Tool, theirs: Tool, folder: Path) -> Row | None:
    if shutil.which(theirs.program) is None:
        print(f"bench: {theirs.program} is not on the PATH, so it is not compared", flush=True)
        return None
    found = {}
    for tool in (theirs, ours):
        notes, home = new_folder(folder), new_folder(folder)
        corpus.write_notes(notes, n)
        settle_disk()
        taken = timed(partial(tool.run, notes, home))
        found[tool.program] = Timed(taken.cpu, taken.cpu)
    pair = Pair([found[theirs.program]], [found[ours.program]])
    return row_of(f"{operation} (CPU)", n, theirs.program, pair, target=None)
