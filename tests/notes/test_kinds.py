from __future__ import annotations

import pytest

from vaultsync.model.paths import VaultPath
from vaultsync.notes.kinds import is_module_file


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/memories/patterns/patterns.core.md", True),
        ("docs/memories/patterns/module-01-test-location.md", True),
        ("docs/memories/memory-sync-backlog.md", True),
        ("docs/memories/patterns/My own.md", False),
        ("docs/memories/patterns/more/module-01-a.md", False),
        ("docs/memories/module-01-a.md", False),
        ("other/patterns/module-01-a.md", False),
        ("docs/memories2/patterns/module-01-a.md", False),
    ],
)
def test_files_of_modules_are_known_by_their_names(path: str, *, expected: bool) -> None:
    assert is_module_file(VaultPath(path), ["elsewhere", "docs/memories"]) is expected
    assert not is_module_file(VaultPath(path), [])
