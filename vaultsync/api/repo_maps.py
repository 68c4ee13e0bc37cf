"""Maps of the code of a repository, and its conventions in the files that agents' hosts read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from vaultsync.api.arguments import check_number
from vaultsync.backends.code_symbols.parser_process import TreeSitterReader, is_installed
from vaultsync.backends.filesystem.host_file import write_host_file
from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.backends.repo_files.repo_folder import RepoFolder
from vaultsync.backends.sqlite.symbol_cache import SqliteCodeIndex
from vaultsync.backends.system.host_files import read_host_file
from vaultsync.errors import HostFileError
from vaultsync.model.fact import Fact
from vaultsync.privacy.redaction import scrub
from vaultsync.repos.agent_instructions import (
    DEFAULT_BUDGET,
    InstructionsReport,
    is_edited,
    make_block,
    put_block,
)
from vaultsync.repos.code_index import SymbolReader
from vaultsync.repos.code_map import DEFAULT_MAX_CHARS, CodeMapper, PatternReader, RepoMap
from vaultsync.repos.symbols import MAX_FILE_BYTES

_INDEX, _TEXT = "code.sqlite3", "repo-map.txt"


def map_code(
    repository: GitRepository,
    folder: RepoFolder,
    shared: RepoFolder,
    *,
    changed: Sequence[str] = (),
    max_chars: int = DEFAULT_MAX_CHARS,
    refresh: bool = False,
    max_read: int | None = None,
) -> RepoMap:
    """A map of the tracked files of a repository, from the cache of earlier maps.

    The cache is in `shared`, the folder of all branches and clones, and the text of the whole map
    in `folder`, that of the branch. Definitions around the paths in `changed` rank higher.

    Raises:
        DerivedError: the map requires reading more than `max_read` files.
        InvalidFieldError, RepositoryError, IndexBusyError, OSError.
    """
    check_number("max_chars", max_chars, least=0)
    reader: SymbolReader = TreeSitterReader() if is_installed() else PatternReader()
    with closing(reader), closing(SqliteCodeIndex(shared.indexes / _INDEX)) as index:
        mapper = CodeMapper(index, reader, scrub)
        files = {_shown(each.path): each.blob for each in repository.tracked_files()}
        read_blobs = partial(repository.read_blobs, limit=MAX_FILE_BYTES)
        code_map = mapper.make_map(
            files,
            read_blobs,
            changed=[*map(_shown, changed)],
            max_chars=max_chars,
            refresh=refresh,
            max_read=max_read,
        )
        if not code_map.cached:
            full_map = mapper.make_map(files, read_blobs)
            folder.put_state(_TEXT, full_map.text.encode(), durable=False)
    return code_map


def _shown(path: str) -> str:
    """A path as text that can be cached and printed: bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_instructions(
    path: Path,
    conventions: Sequence[Fact],
    *,
    count: Callable[[str], int],
    budget: int = DEFAULT_BUDGET,
    dry_run: bool = False,
) -> InstructionsReport:
    """Update the block of conventions in a file, and nothing else; raises as `instructions()`.

    The file is created if there are conventions, and removed if it has only the block and there are
    none. `count` counts the tokens of a text, of which the block has at most `budget`.
    """
    check_number("budget", budget, least=0)
    block = make_block(conventions, count=count, budget=budget)
    before = read_host_file(path)
    if before is not None and is_edited(before):
        hint = "move what you wrote out of the block or into the notes of the conventions, and"
        hint += " remove the block; then run the command again"
        raise HostFileError(str(path), "the block of conventions in it was edited", hint=hint)
    after = put_block(before, block.body)
    if after != before and not dry_run:
        write_host_file(path, after, seen=before, is_private=False)
    return InstructionsReport(
        str(path), after != before, block.tokens, budget, block.included, block.left_out, dry_run
    )
