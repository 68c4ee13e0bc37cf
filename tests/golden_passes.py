"""Complete runs for `golden/sync`, with real files and a fixed clock.

The notes of `base/` are the base. Then the agents act, as `store.json`
says; the user's tree becomes that of `vault/`; and the runs of `case.md` follow. The
result is compared with `expected/`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from tests.doubles.store import MemoryStore
from tests.fakes import FakeClock
from tests.golden import RENEW, Placeholders, sections
from tests.memory_archive import MemoryArchive
from tests.world import OPEN_POLICY
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.facts import service as fact_work
from vaultsync.model.paths import VaultPath
from vaultsync.model.serialization import fact_to_values
from vaultsync.operations.adopt import adopt_notes
from vaultsync.operations.rebuild import rebuild
from vaultsync.storage.clock import Clock
from vaultsync.storage.store import Store
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Report
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

MARKER = 'vault_id = "0193f6c2-0000-7000-8000-000000000000"\n'
STEP = 60
"""Seconds between two actions."""
_CONFLICT_ID = re.compile('(?<=conflict: ")[0-9a-f]+|(?<=resolve )[0-9a-f]{16}')
PARTS = frozenset({"case.md", "base", "vault", "store.json", "expected"})


@dataclass
class Scene:
    """A vault on disk and some store."""

    root: Path
    clock: FakeClock
    ctx: SyncContext

    @classmethod
    def of(cls, case: Path, root: Path, open_store: Callable[[Clock], Store]) -> Scene:
        """The scene in which both sides equal `base/`."""
        (root / ".meta").mkdir(parents=True)
        (root / ".meta" / "config.toml").write_text(MARKER, encoding="utf-8")
        if (case / "base").is_dir():
            shutil.copytree(case / "base", root, dirs_exist_ok=True)
        clock = FakeClock()
        vault = VaultFs(root)
        ctx = SyncContext(open_store(clock), MemoryArchive(), clock, OPEN_POLICY, vault=vault)
        scene = cls(root, clock, ctx)
        before = tree(root)
        rebuild(ctx, "vault")
        assert tree(root) == before
        return scene

    def agents_act(self, operations: list[dict[str, Any]]) -> None:
        for row in operations:
            self.clock.advance(STEP)
            agent = row["agent"]
            match row["do"]:
                case "remember":
                    fact_work.remember(self.ctx, row["set"], agent=agent)
                case "update":
                    fact_work.update(self.ctx, row["id"], row["set"], agent=agent)
                case "forget":
                    fact_work.forget(self.ctx, row["id"], agent=agent)
                case other:
                    raise AssertionError(other)

    def person_acts(self, wanted: Mapping[str, bytes]) -> None:
        """Write, rewrite and remove files until the tree is that of `wanted`."""
        self.clock.advance(STEP)
        there = tree(self.root)
        for path in there.keys() - wanted.keys():
            (self.root / path).unlink()
        for path, data in wanted.items():
            if there.get(path) != data:
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_bytes(data)

    def lose_the_archive(self) -> None:
        """Delete the archive, and with it all bases."""
        ctx = self.ctx
        self.ctx = SyncContext(ctx.store, MemoryArchive(), self.clock, OPEN_POLICY, vault=ctx.vault)

    def do(self, work: Mapping[str, Any]) -> Report:
        self.clock.advance(STEP)
        if work["do"] == "adopt":
            paths = [VaultPath(path) for path in work["paths"]]
            return adopt_notes(self.ctx, paths, scope=work.get("scope"))
        assert work["do"] == "sync"
        allowed = bool(work.get("allow_scope_moves"))
        return sync_once(self.ctx, SyncRequest(allow_scope_moves=allowed))


def tree(root: Path) -> dict[str, bytes]:
    """All files below a folder, except those of vaultsync."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".meta" not in path.relative_to(root).parts
    }


def play(case: Path, root: Path, open_store: Callable[[Clock], Store]) -> None:
    """Run a case on a store, and compare the result with the expected one."""
    assert {path.name for path in case.iterdir()} <= PARTS
    page = (case / "case.md").read_text(encoding="utf-8")
    assert page.startswith("# ")
    said = sections(page)
    operations = json.loads((case / "store.json").read_text(encoding="utf-8"))
    scene = Scene.of(case, root, open_store)
    known = {each.id for each in scene.ctx.store.iter_facts()}
    scene.agents_act(operations)
    known |= {each.id for each in scene.ctx.store.iter_facts()}
    if (case / "vault").is_dir():
        scene.person_acts(tree(case / "vault"))
    if "lost" in said:
        scene.lose_the_archive()

    reports = [scene.do(work) for work in json.loads(said.get("passes", '[{"do": "sync"}]'))]

    actual = outcome(scene, case, known, reports)
    compare(case / "expected", actual, has_revisions=isinstance(scene.ctx.store, MemoryStore))
    scene.clock.advance(STEP)
    left = tree(root)
    assert scene.do({"do": "sync"}).quiet, "another pass has something to do"
    assert tree(root) == left
    scene.ctx.store.close()


def outcome(scene: Scene, case: Path, known: set[str], reports: list[Report]) -> dict[str, bytes]:
    """The resulting files, with placeholders for what differs in each run."""
    alive = sorted(scene.ctx.store.iter_facts(), key=lambda fact: fact.id)
    inputs = b"\n".join(
        data for path, data in tree(case).items() if not path.startswith("expected/")
    )
    named = Placeholders(inputs.decode(errors="replace"))
    for report in reports:
        named.run(report.run)
    told = [{**to_builtins(report), "seconds": 0} for report in reports]
    store = {
        "facts": [fact_to_values(fact) for fact in alive],
        "forgotten": sorted(known - {fact.id for fact in alive}),
    }
    return {
        "report.json": _json(told, named),
        "store.json": _json(store, named),
        **{f"vault/{named(path)}": _text(data, named) for path, data in tree(scene.root).items()},
    }


def _json(value: object, named: Callable[[str], str]) -> bytes:
    return (named(json.dumps(value, ensure_ascii=False, indent=2)) + "\n").encode()


def _text(data: bytes, named: Callable[[str], str]) -> bytes:
    try:
        return named(data.decode()).encode()
    except UnicodeDecodeError:
        return data


def compare(expected: Path, actual: Mapping[str, bytes], *, has_revisions: bool) -> None:
    """Compare files with those of a folder, or write them there.

    The ids of some conflicts are made of revisions, which only one store gives in each run.
    """
    if RENEW and has_revisions:
        shutil.rmtree(expected, ignore_errors=True)
        for path, data in actual.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_bytes(data)
        return
    held = tree(expected)
    assert sorted(held) == sorted(actual)
    for path, data in actual.items():
        texts = [each.decode(errors="backslashreplace") for each in (held[path], data)]
        one, other = texts if has_revisions else [_CONFLICT_ID.sub("", each) for each in texts]
        assert one == other, path
