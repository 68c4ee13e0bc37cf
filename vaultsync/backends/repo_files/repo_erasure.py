"""Erase facts from the inspectable files of repositories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from vaultsync.backends.repo_files.repo_folder import (
    INDEXES,
    MEMORY_FILE,
    SUMMARIES_FILE,
    RepoFolder,
)
from vaultsync.repos.inspectable import read_summary, without_entries
from vaultsync.storage.erasure import Traces

_LEFT_BY_A_CRASH = (f".{MEMORY_FILE}.*", f".{SUMMARIES_FILE}.*", f"{INDEXES}/.memory.*.json.*")


class ErasableRepoFiles:
    """An `Erasable` of the files of all repositories in a folder, and their kept versions."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def paths(self) -> Iterator[Path]:
        """The files that hold texts of facts."""
        kept = f"{INDEXES}/memory.*.json"
        for name in (MEMORY_FILE, SUMMARIES_FILE, kept, *_LEFT_BY_A_CRASH):
            yield from sorted(filter(Path.is_file, self._root.glob(f"?*/{name}")))
        for folder in sorted(self._root.glob("?*")):
            yield from RepoFolder(self._root, folder.name).displaced_paths()

    def erase(self, traces: Traces) -> Mapping[str, int]:
        changed = sum(
            self._erase_folder(RepoFolder(self._root, name), traces)
            for name in {
                path.relative_to(self._root).parts[0]
                for path in self.paths()
                if path.is_relative_to(self._root)
            }
        )
        return {"repository files": changed}

    @staticmethod
    def _erase_folder(folder: RepoFolder, traces: Traces) -> int:
        """Erase facts from the files of a branch; returns how many files held some."""
        changed, ids = 0, traces.fact_ids
        with folder.memory_lock(), folder.summaries_lock():
            left = (x for name in _LEFT_BY_A_CRASH for x in folder.path.glob(name))
            for path in filter(Path.is_file, left):
                if traces.mentions(path.read_bytes()):
                    path.unlink()
                    changed += 1
            # The versions too, in the same way: what was edited since is found by comparing.
            for number in folder.versions():
                data = folder.version(number) or b""
                if (new := without_entries(data, ids)) != data:
                    folder.put_state(f"memory.{number}.json", new)
                    changed += 1
            found = expect = folder.memory()
            while found is not None:  # also what another program saves meanwhile
                new = without_entries(found, ids)
                if new == expect:
                    break
                changed += folder.put_memory(new, expect)
                found = expect = folder.memory()
            changed += _erase_displaced(folder, traces)
            lines = folder.summaries()
            steps = ((line, read_summary(line)) for line in lines)
            kept = [line for line, step in steps if step is None or step.id not in ids]
            if len(kept) < len(lines):
                folder.put_summaries(kept)
                changed += 1
        return changed


def _erase_displaced(folder: RepoFolder, traces: Traces) -> int:
    """Erase facts from what was displaced, whose edits are not recorded yet."""
    changed = 0
    for path in folder.displaced_paths():
        data = path.read_bytes()
        new = without_entries(data, traces.fact_ids)
        if traces.mentions(new):
            path.unlink()
        elif new != data:
            draft = path.with_name(f"~{path.name}")
            draft.write_bytes(new)
            draft.replace(path)
        else:
            continue
        changed += 1
    return changed
