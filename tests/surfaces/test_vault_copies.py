"""Vaults that are copied, moved, or made inside one another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import vaultsync
from vaultsync.cli.main import cli
from vaultsync.errors import ConfigError, CopiedVaultError, NestedVaultError, NoteError, UsageError

pytestmark = pytest.mark.long(5)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    vaultsync.init(str(vault), state_dir=str(tmp_path / "state"))
    with vaultsync.open(str(vault), state_dir=str(tmp_path / "state")) as memory:
        memory.remember("We meet on Tuesdays.", title="Meeting")
        memory.sync()
    return vault


def run(vault: Path, *words: str) -> Result:
    place = ["--vault", str(vault), "--state-dir", str(vault.parent / "state")]
    return CliRunner().invoke(cli, [words[0], *place, *words[1:]])


def titles(vault: Path) -> list[str]:
    with vaultsync.open(str(vault), state_dir=str(vault.parent / "state")) as memory:
        return sorted(fact.title for fact in memory.list().facts)


def test_a_copy_does_not_share_the_store_of_its_original(vault: Path) -> None:
    copy = vault.with_name("my copy")
    shutil.copytree(vault, copy)
    with pytest.raises(CopiedVaultError) as refused:
        titles(copy)
    assert str(copy) in refused.value.message
    assert str(vault) in refused.value.message
    assert f"vaultsync init --new-id '{copy}'`" in refused.value.hint
    told = run(copy, "doctor")
    assert told.exit_code == 1
    assert str(vault) in told.output
    assert titles(vault) == ["Meeting"]


def test_a_copy_gets_an_id_and_a_store_of_its_own(vault: Path) -> None:
    copy = vault.with_name("copy")
    shutil.copytree(vault, copy)
    marker = (copy / ".meta" / "config.toml").read_text()
    made = run(copy, "init", "--new-id", str(copy))
    assert made.exit_code == 0, made.output
    assert "rebuild --from vault" in made.output
    after = (copy / ".meta" / "config.toml").read_text()
    assert len(set(marker.splitlines()) ^ set(after.splitlines())) == 2
    assert run(copy, "rebuild", "--from", "vault").exit_code == 0
    with vaultsync.open(str(copy), state_dir=str(vault.parent / "state")) as memory:
        memory.remember("Only in the copy.", title="Copied")
        assert memory.verify().equal
    assert titles(copy) == ["Copied", "Meeting"]
    assert titles(vault) == ["Meeting"]


def test_an_original_keeps_its_id_and_its_store(vault: Path) -> None:
    marker = (vault / ".meta" / "config.toml").read_text()
    refused = run(vault, "init", "--new-id", str(vault))
    assert refused.exit_code == 2
    assert "move it to another folder first" in refused.output
    assert (vault / ".meta" / "config.toml").read_text() == marker
    assert titles(vault) == ["Meeting"]


def test_a_vault_that_was_moved_goes_on(vault: Path) -> None:
    moved = vault.with_name("moved")
    vault.rename(moved)
    assert titles(moved) == ["Meeting"]
    assert titles(moved) == ["Meeting"]


def test_a_vault_that_is_copied_with_its_state_shares_nothing(vault: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    for name in ("vault", "state"):
        shutil.copytree(tmp_path / name, backup / name)
    assert titles(backup / "vault") == ["Meeting"]
    assert titles(vault) == ["Meeting"]


def test_a_vault_with_two_paths_is_one(vault: Path) -> None:
    link = vault.with_name("link")
    link.symlink_to(vault)
    assert titles(link) == ["Meeting"]
    assert titles(vault) == ["Meeting"]


def test_a_folder_that_became_another_vault_is_no_original(vault: Path) -> None:
    copy = vault.with_name("copy")
    shutil.copytree(vault, copy)
    vault.rename(vault.with_name("former"))
    vaultsync.init(str(vault), state_dir=str(vault.parent / "state"))
    assert titles(copy) == ["Meeting"]


def test_no_vault_is_made_inside_another(vault: Path) -> None:
    inner = vault / "public" / "inner"
    with pytest.raises(NestedVaultError) as refused:
        vaultsync.init(str(inner), state_dir=str(vault.parent / "state"))
    assert str(vault) in refused.value.message
    assert not inner.exists()
    assert run(vault, "init", str(inner)).exit_code == 2
    assert run(vault, "init", str(vault)).exit_code == 0


def test_a_second_machine_names_its_own_store(vault: Path) -> None:
    """The vault arrives there by git, or through a cloud folder."""
    there = vault.parent / "there"
    shutil.copytree(vault, there / "vault")
    state = str(there / "state")
    shutil.rmtree(vault)
    done = vaultsync.init(str(there / "vault"), store="sqlite:../own.sqlite3", state_dir=state)
    assert Path(done.store).resolve() == there / "own.sqlite3"


def test_machines_that_share_store_and_vault_do_not_multiply_a_note(tmp_path: Path) -> None:
    """Each writes a note for a new fact of the other, before a sync tool brings the other's."""
    homes = [tmp_path / name / "vault" for name in ("one", "two")]
    states, store = [str(each.parent / "state") for each in homes], f"sqlite:{tmp_path / 'db'}"
    for home, state in zip(homes, states, strict=True):
        vaultsync.init(str(home), state_dir=state, store=store)
    one, two = (vaultsync.open(str(h), state_dir=s) for h, s in zip(homes, states, strict=True))
    with one, two:
        (homes[0] / "public/notes").mkdir(parents=True)
        (homes[0] / "public/notes/Mine.md").write_text("Tea is at four.\n")
        one.sync()
        two.sync()
        for _ in range(3):
            shutil.copytree(homes[0] / "public", homes[1] / "public", dirs_exist_ok=True)
            shutil.copytree(homes[1] / "public", homes[0] / "public", dirs_exist_ok=True)
            reports = [one.sync(), two.sync()]
        assert [[each.kind for each in x.attention] for x in reports] == [["twins"], ["twins"]]
        assert len(one.list().facts) == 1
        next((homes[1] / "public/notes").glob("2*.md")).unlink()
        two.sync()
        assert two.verify().equal
        assert two.list().facts[0].path == "public/notes/Mine.md"


@pytest.mark.parametrize("url", ["sqlite:x", "sqlite:.meta/x", "qdrant+edge:x", "qdrant+local:x"])
def test_no_vault_begins_with_a_store_inside_it(tmp_path: Path, url: str) -> None:
    """A relative path is one from the vault, which sync tools copy."""
    vault = tmp_path / "vault"
    with pytest.raises(ConfigError, match="in the vault") as refused:
        vaultsync.init(str(vault), store=url)
    assert "sqlite:~/" in refused.value.hint
    assert not vault.exists()
    vaultsync.init(str(vault), store="sqlite:../x")
    vaultsync.init(str(vault), store="sqlite:../x")


def test_a_vault_that_has_its_store_inside_is_still_opened(vault: Path) -> None:
    done = vaultsync.init(str(vault))
    shutil.copy(done.store, vault / "x")
    machine = Path(done.settings)
    machine.parent.mkdir(parents=True, exist_ok=True)
    machine.write_text('store = "sqlite:x"\n')
    machine.chmod(0o600)
    assert vaultsync.init(str(vault), store="sqlite:x").store == str(vault / "x")


def test_a_vault_whose_id_is_none_can_be_given_one(vault: Path) -> None:
    marker = vault / ".meta" / "config.toml"
    lines = marker.read_text().splitlines(keepends=True)
    marker.write_text('vault_id = "zzz"\n' + "".join(x for x in lines if "vault_id" not in x))
    refused = run(vault, "status")
    assert refused.exit_code == 2
    assert "vaultsync init --new-id" in refused.output
    assert run(vault, "init", "--new-id", str(vault)).exit_code == 0
    assert run(vault, "status").exit_code == 3  # a note with an id waits for its fact


def test_a_vault_inside_another_one_is_left_alone_until_it_is_moved(vault: Path) -> None:
    inner = vault / "Clone"
    shutil.copytree(vault, inner)
    before = {path: path.read_bytes() for path in inner.rglob("*") if path.is_file()}
    with vaultsync.open(str(vault), state_dir=str(vault.parent / "state")) as memory:
        fact = memory.remember("The berth is free.", title="Berth")
        memory.sync()
        (vault / str(fact.path)).unlink()
        memory.sync()

    found = run(vault, "sync")

    assert found.exit_code == 3
    assert "Clone: it is a vault itself; it is skipped" in found.output
    assert "add it to `ignore`" in found.output
    assert {path: path.read_bytes() for path in inner.rglob("*") if path.is_file()} == before
    assert titles(vault) == ["Meeting"]
    shutil.rmtree(inner)
    assert run(vault, "sync").exit_code == 0


@pytest.mark.parametrize("folder", ["/", "~"])
def test_no_vault_is_made_of_a_whole_disk_or_home(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    made = CliRunner().invoke(cli, ["init", folder])

    assert made.exit_code == 2
    assert "vaultsync init ~/Memory" in made.output
    assert not Path(folder).expanduser().joinpath(".meta").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["export-to", "markdown", "~no-such-user"],
        ["import-from", "markdown", "~no-such-user"],
        ["install", "codex", "--project", "~no-such-user", "--dry-run"],
        ["memory-file", "sync", "~no-such-user/MEMORY.md"],
    ],
)
def test_the_home_of_no_user_is_a_plain_name(
    words: list[str], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault.parent)
    place = ["--vault", str(vault), "--state-dir", str(vault.parent / "state")]

    done = CliRunner().invoke(cli, [*words, *place])

    assert done.exit_code in {0, 2, 3}, done.output


def test_a_log_without_runs_says_whether_there_were_any(vault: Path) -> None:
    assert "in that time" in run(vault, "log", "--since", "2100-01-01").output


@pytest.mark.parametrize(
    "path", ["0" * 300 + ".md", "a\0b.md", "a\ud800.md", "x/" * 3000 + "y.md", "."]
)
def test_a_copy_at_an_odd_path_is_not_there(path: str, vault: Path) -> None:
    with (
        vaultsync.open(str(vault), state_dir=str(vault.parent / "state")) as memory,
        pytest.raises((UsageError, NoteError)),
    ):
        memory.settle_copy(path, take="merge")
