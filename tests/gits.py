"""Git repositories for tests, created with the `git` command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}


class GitFolder:
    """A working copy, with short names for git commands."""

    def __init__(self, root: Path, *, init: bool = True) -> None:
        self.root = root
        self._minute = 0
        if init:
            root.mkdir(parents=True, exist_ok=True)
            self("init", "-q", "-b", "main")

    def __call__(self, *words: str, root: Path | None = None, author: str = "Ada") -> str:
        """Run git, and return its output; each commit is a minute later than the previous one."""
        self._minute += 1
        day, minute = divmod(self._minute, 1440)
        at = f"2026-02-{1 + day:02}T{minute // 60:02}:{minute % 60:02}:00Z"
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **ENVIRONMENT}
        written = at if author == "Ada" else "2026-01-01T00:00:00Z"
        env |= {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_DATE": written, "GIT_COMMITTER_DATE": at}
        found = subprocess.run(
            ["git", *words], cwd=root or self.root, env=env, capture_output=True, check=False
        )
        if found.returncode:
            message = f"git {' '.join(words)}: {found.stderr.decode()}{found.stdout.decode()}"
            raise RuntimeError(message)
        return found.stdout.decode().strip()

    def commit(self, name: str, text: str, message: str | None = None) -> str:
        """Write a file, and commit it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self("add", "--", name)
        self("commit", "-q", "-m", message or f"Write {name}")
        return self.head()

    def head(self) -> str:
        """The commit that HEAD points to."""
        return self("rev-parse", "HEAD")

    def branch(self, name: str, at: str | None = None) -> None:
        """Create a branch, and check it out."""
        self("checkout", "-q", "-b", name, *([at] if at else []))

    def checkout(self, name: str) -> None:
        """Check out a branch or a commit."""
        self("checkout", "-q", name)
