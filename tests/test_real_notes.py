"""Real notes, where they lie beside the project: adopted, edited, their links judged and kept."""

from __future__ import annotations

import difflib
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden import RENEW
from vaultsync.api.memory import Memory
from vaultsync.api.opening import init
from vaultsync.api.opening import open as open_memory
from vaultsync.backends.filesystem.find_files import vault_files
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.sqlite.links import SqliteLinks
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.backends.state.vault_marker import make_marker
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.links.wikilinks import find_links
from vaultsync.operations.adopt import adopt_notes
from vaultsync.operations.check_links import LinkReport, check_links
from vaultsync.operations.relink import sync_and_relink
from vaultsync.operations.undo import undo_run
from vaultsync.operations.verify import verify_all
from vaultsync.sync.context import SyncContext

ROOT = Path(__file__).parents[1]
NOTES = ROOT.parent / "shared" / "data" / "obsidian-help"
PAGE = ROOT / "docs" / "concepts" / "links-and-graph.md"
TABLE = re.compile(r"(?<=<!-- real links -->\n).*?(?=<!-- /real links -->)", re.DOTALL)
EDITS = 100

pytestmark = [
    pytest.mark.skipif(
        not NOTES.is_dir(), reason="the real notes (../shared/data) are not beside the project"
    ),
    pytest.mark.long(5),
]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A copy that may be written to."""
    root = tmp_path / "vault"
    shutil.copytree(NOTES, root, copy_function=shutil.copyfile)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return root


@pytest.fixture
def memory(vault: Path, tmp_path: Path) -> Iterator[Memory]:
    init(str(vault), state_dir=str(tmp_path / "state"))
    with open_memory(str(vault), state_dir=str(tmp_path / "state")) as opened:
        yield opened


def _texts(root: Path) -> dict[str, list[str]]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode().split("\n")
        for path in root.rglob("*.md")
        if not {".meta", ".index"} & {*path.parts}
    }


def test_adopting_real_notes_adds_ids_and_nothing_else(vault: Path, memory: Memory) -> None:
    before = _texts(vault)

    report = memory.adopt()

    after = _texts(vault)
    assert report.counts["created_in_store"] == len(before) == len(after)
    assert not report.attention
    for name, old in before.items():
        changed = [line[2:].strip() for line in difflib.ndiff(old, after[name]) if line[0] in "+-"]
        ids = [line for line in changed if line.startswith("id: ")]
        assert len(ids) == 1, name
        assert set(changed) - set(ids) <= {"---"}, name
    assert memory.verify().equal
    assert memory.sync().quiet


def test_edits_on_both_sides_of_real_notes_end_equal(vault: Path, memory: Memory) -> None:
    chance = random.Random(1)
    memory.adopt()
    facts = [fact.id for fact in memory.list(limit=1000).facts]
    for number in range(EDITS):
        note = vault / str(memory.get(chance.choice(facts)).path)
        lines = note.read_bytes().decode().split("\n")
        body = lines.index("---", 1) + 1
        lines.insert(chance.randrange(body, len(lines) + 1), f"person{number}.")
        note.write_bytes("\n".join(lines).encode())
        fact = memory.get(chance.choice(facts))
        said = fact.content.split("\n")
        said.insert(chance.randrange(len(said) + 1), f"agent{number}.")
        memory.update(fact.id, content="\n".join(said), set={"priority": number % 5})
        if number % 20 == 0:
            memory.sync()
            assert memory.verify().equal
    memory.sync()
    assert memory.sync().quiet
    words = {f"{who}{number}." for who in ("person", "agent") for number in range(EDITS)}
    assert words <= {line for lines in _texts(vault).values() for line in lines}


# --- links ---------------------------------------------------------------------------


@pytest.fixture
def ctx(vault: Path, tmp_path: Path) -> Iterator[SyncContext]:
    clock = SystemClock()
    make_marker(vault, clock.new_id(), scope="public")
    store = SqliteStore(tmp_path / "store.sqlite3", clock=clock, create=True)
    archive = SqliteArchive.open(tmp_path / "archive.sqlite3")
    files = VaultFs(vault, ignore=(), max_bytes=4 << 20)
    made = SyncContext(store, archive, clock, vault=files)
    adopt_notes(made, [])
    yield made
    files.close()
    archive.close()
    store.close()


def table(report: LinkReport) -> str:
    """How all links were resolved, as markdown."""
    lines = ["| kind | how it was resolved | links |", "|---|---|---:|"]
    for kind, hows in report.links.items():
        for how, number in sorted(hows.items(), key=lambda pair: (-pair[1], pair[0])):
            lines.append(f"| {kind} | {how} | {number:,} |")
    return "\n".join(lines) + "\n"


def test_the_docs_say_how_the_links_of_a_real_vault_resolve(ctx: SyncContext, vault: Path) -> None:
    report = check_links(ctx, files=lambda: vault_files(vault))
    made = table(report)

    text = PAGE.read_text(encoding="utf-8")
    if RENEW:
        text = TABLE.sub(lambda _: made, text)
        PAGE.write_text(text, encoding="utf-8")
    said = TABLE.search(text)
    assert said
    assert said[0] == made
    total = sum(sum(hows.values()) for hows in report.links.values())
    assert f"{report.notes} notes without their attachments" in text
    assert f"{total:,} links and {report.tags} tags" in text
    assert report.unreadable == ()
    assert sum(each.kind == "embed" for each in report.broken) == 252
    assert len(report.ambiguous) == 19
    assert {each.why for each in report.broken if each.kind != "embed"} == {
        "nothing is called Example",
        "nothing is called Example.md",
        "nothing is called web-clipper-kde.png",
        "Sandbox/Formatting/Format your notes.md has no block ^376b9d",
    }


def test_a_renamed_hub_keeps_all_its_links(ctx: SyncContext, vault: Path, tmp_path: Path) -> None:
    links = SqliteLinks(tmp_path / "links.sqlite3")
    before = {path: path.read_text("utf-8") for path in vault.rglob("*.md")}
    problems = len(check_links(ctx).problems)
    (hub,) = vault.rglob("Settings.md")
    hub.rename(hub.with_name("All settings.md"))

    report = sync_and_relink(ctx, links)

    before[hub.with_name("All settings.md")] = before.pop(hub)
    changed = 0
    for path, text in before.items():
        now = path.read_text("utf-8")
        if now != text:
            changed += 1
            assert _without_targets(now) == _without_targets(text)
            assert "Settings" not in {link.target for link in find_links(now)}
    assert changed == report.counts["updated_in_vault"] > 50
    assert len(check_links(ctx).problems) == problems
    assert verify_all(ctx).equal
    assert sync_and_relink(ctx, links).quiet

    undo_run(ctx, report.run)
    hub.with_name("All settings.md").rename(hub)
    sync_and_relink(ctx, links)
    assert len(check_links(ctx).problems) == problems
    assert verify_all(ctx).equal
    links.close()


def _without_targets(text: str) -> str:
    """A text in which no link leads anywhere."""
    for link in reversed(find_links(text)):
        written = text[link.start : link.end]
        bare = re.sub(r"(?:All s|S)ettings|All%20settings", "", written, count=1)
        text = text[: link.start] + bare + text[link.end :]
    return text
