"""What a downloaded or shared vault may ask for, and that nobody obeys it by itself."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import vaultsync
from vaultsync.api import configuration as config
from vaultsync.api.read_only import open_read_only, recall_from_index_files
from vaultsync.cli.main import SHORT_HELP, cli
from vaultsync.errors import ConfigError, EmbedderError, UntrustedVaultError
from vaultsync.mcp_server.agent_settings import settings_for
from vaultsync.recall.recall_request import RecallRequest

VAULT_ID = "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e01"
VALUE = "tide-4711-harbour"
REQUESTS = {
    'store = "qdrant://127.0.0.1:{port}"\n[qdrant]\nkey = "CI_DEPLOY_TOKEN"': (
        "connect to 127.0.0.1:{port}",
        "send the environment variable CI_DEPLOY_TOKEN",
    ),
    'store = "qdrant://127.0.0.1:{port}"': ("send the environment variable QDRANT_API_KEY",),
    'embedder = "http:http://127.0.0.1:{port}#m"\nembedder_key = "CI_DEPLOY_TOKEN"': (
        "send the texts of all facts to 127.0.0.1:{port}",
        "send the environment variable CI_DEPLOY_TOKEN",
    ),
    'classifier = "model"\nclassifier_url = "http://127.0.0.1:{port}"\nclassifier_model = "m"\n'
    'classifier_key = "CI_DEPLOY_TOKEN"': (
        "send the texts of observations to 127.0.0.1:{port}",
        "send the environment variable CI_DEPLOY_TOKEN to the classifier",
    ),
    'embedder = "hub:evil/model"': ("download the model evil/model",),
    'embedder = "local:/opt/model"': ("load the model in /opt/model",),
    'reranker = "/opt/model"': ("load the model in /opt/model",),
    'reranker = "local:/opt/model"': ("load the model in /opt/model",),
    'store = "sqlite:../other.sqlite3"': ("{above}/other.sqlite3",),
    'store = "qdrant+local:../x"': ("{above}/x",),
    'store = "qdrant+edge:../x"': ("{above}/x",),
    '[memory_file]\nfiles = ["{above}/diary.md"]': ("read and change {above}/diary.md",),
    '[hygiene]\nenvironment = ["CI_DEPLOY_TOKEN"]': ("CI_DEPLOY_TOKEN",),
    '[modules]\nremote = "mcp:sh -c evil"': ("run the command sh -c evil", "all modules"),
    '[modules]\nremote = "mcp:http://127.0.0.1:{port}/mcp"': (
        "send the texts of all modules to 127.0.0.1:{port}",
    ),
    '[modules]\nremote = "qdrant+local:../x"': ("{above}/x",),
    '[modules]\nremote = "http://127.0.0.1:{port}"\nkey = "CI_DEPLOY_TOKEN"': (
        "send the texts of all modules to 127.0.0.1:{port}",
        "send the environment variable CI_DEPLOY_TOKEN to the remote",
    ),
    "[hygiene]\nsecrets = false": ("show secrets",),
    "[hygiene]\nneutralise = false": ("run in Obsidian",),
    '[watch]\nwatcher = "polling"': ("how files are watched",),
    '[repos]\nroot = "{above}/repos"': ("about your git repositories", "{above}/repos"),
    "[retention]\ntombstones = 0.001": ("erase", "earlier than by default"),
    'mcp_toolsets = "all"': ("which tools are offered to agents",),
    "[qdrant]\ntimeout_seconds = 1": ("how the store is used",),
    '[permissions.agents."*"]\nread = ["private-indy"]': ("which scopes",),
    '[modules.tools]\nstore = "evil"': ("how modules are mirrored",),
}
"""What a marker may ask for, and words of what is said of it."""
GROUPS = (
    *("graph", "links", "plugin", "proposals", "observations", "memory-file", "module", "eval"),
    *("config", "repo", "bases"),
)
"""Commands whose first argument is another command."""
ARGUMENTS = {
    "remember": ["Hello."],
    "get": [VAULT_ID],
    "open": [VAULT_ID],
    "update": [VAULT_ID, "--content", "x"],
    "edit": [VAULT_ID, "--append", "x"],
    "supersede": [VAULT_ID, "x"],
    "purge": [VAULT_ID, "--yes"],
    "forget": [VAULT_ID],
    "restore": [VAULT_ID],
    "export": ["facts.jsonl"],
    "import": ["-"],
    "resolve": ["0123456789abcdef", "--take", "vault"],
    "history": [VAULT_ID],
    "undo": [VAULT_ID],
    "rebuild": ["--from", "vault"],
    "migrate": ["--to", "sqlite:x"],
    "memory-file": ["sync", "MEMORY.md"],
    "module": ["write", "keys", "k-1", "Text."],
    "recall": ["berths"],
    "context": ["berths"],
    "graph": ["stats"],
    "links": ["check"],
    "proposals": ["list"],
    "observe": ["Hello."],
    "observations": ["list"],
    "repo": ["list"],
    "watch": ["--once-settled"],
    "bridge": ["--port", "0"],
    "plugin": ["install"],
    "install": ["cursor"],
    "bases": ["write"],
    "config": ["set", "language", "german"],
    "import-from": ["markdown", "."],
    "export-to": ["jsonl", "exported"],
}
NO_VAULT = {"completion", "trust", "doctor", "model", "hook"}
"""Commands that open no vault, or only say what is wrong with it."""


class Downloaded:
    """A vault that another person made, and a service that waits for a connection."""

    def __init__(self, root: Path, listener: socket.socket) -> None:
        self.root = root / "vault"
        self.state = root / "state"
        self.listener = listener
        self.port = listener.getsockname()[1]
        (self.root / ".meta").mkdir(parents=True)
        self.ask("")

    @property
    def marker(self) -> Path:
        return self.root / ".meta" / "config.toml"

    def ask(self, text: str) -> None:
        self.marker.write_text(f'vault_id = "{VAULT_ID}"\n{self.filled(text)}\n')

    def filled(self, text: str) -> str:
        return text.replace("{port}", str(self.port)).replace("{above}", str(self.root.parent))

    def run(self, command: str, *words: str, stdin: str = "") -> Result:
        place = ["--vault", str(self.root), "--state-dir", str(self.state)]
        first, *rest = [command, *words]
        if first in GROUPS:
            first, rest = f"{first} {rest[0]}", rest[1:]
        return CliRunner().invoke(cli, [*first.split(), *place, *rest], input=stdin)

    def was_asked(self) -> bool:
        """Whether anybody has connected."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Downloaded]:
    monkeypatch.setenv("CI_DEPLOY_TOKEN", VALUE)
    monkeypatch.setenv("VAULTSYNC_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("VAULTSYNC_EMBEDDER", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Downloaded(tmp_path, listener)


@pytest.mark.parametrize(("asked", "words"), REQUESTS.items())
def test_what_a_vault_asks_for_is_listed_and_not_done(
    downloaded: Downloaded, asked: str, words: Sequence[str]
) -> None:
    downloaded.ask(asked)
    refused = downloaded.run("status")
    assert refused.exit_code == 1
    for each in words:
        assert downloaded.filled(each) in refused.output
    assert "vaultsync trust" in refused.output
    assert VALUE not in refused.output
    assert not downloaded.was_asked()
    assert not downloaded.state.exists()


@pytest.mark.parametrize("command", sorted({*SHORT_HELP} - NO_VAULT))
def test_every_command_refuses_alike(downloaded: Downloaded, command: str, tmp_path: Path) -> None:
    downloaded.ask('store = "qdrant://127.0.0.1:{port}"')
    (downloaded.root / ".obsidian").mkdir()
    words = [str(downloaded.root)] if command == "init" else ARGUMENTS.get(command, [])
    if command == "eval":
        asked = tmp_path / "asked.toml"
        asked.write_text('[[question]]\nquestion = "Who won the regatta?"\n', "utf-8")
        words = ["run", str(asked)]
    refused = downloaded.run(command, *words, "--json")
    assert json.loads(refused.stdout)["error"]["kind"] == "UntrustedVaultError", refused.stdout
    assert refused.exit_code == 1
    assert not downloaded.was_asked()
    assert sorted(each.name for each in downloaded.root.iterdir()) == [".meta", ".obsidian"]


def test_a_hook_tells_its_host_nothing_of_such_a_vault(downloaded: Downloaded) -> None:
    downloaded.ask('store = "qdrant://127.0.0.1:{port}"')
    done = downloaded.run("hook", "codex", stdin='{"hook_event_name": "SessionStart"}')
    assert (done.exit_code, done.stdout) == (0, "")
    assert "requests" in done.stderr
    assert not downloaded.was_asked()


def test_python_and_mcp_refuse_too(downloaded: Downloaded) -> None:
    downloaded.ask("[hygiene]\nsecrets = false")
    path, state = str(downloaded.root), str(downloaded.state)
    for opened in (vaultsync.open, open_read_only, settings_for):
        with pytest.raises(UntrustedVaultError):
            opened(path, state_dir=state)
    with pytest.raises(UntrustedVaultError):
        recall_from_index_files(RecallRequest("berths"), path=path)


def test_the_doctor_says_what_a_vault_asks_for(downloaded: Downloaded) -> None:
    downloaded.ask("[hygiene]\nsecrets = false")
    checked = downloaded.run("doctor")
    assert checked.exit_code == 1
    assert "show secrets" in checked.output
    assert "vaultsync trust" in checked.output


def test_what_is_harmless_is_not_asked(downloaded: Downloaded) -> None:
    downloaded.ask(
        'store = "sqlite"\nembedder = "hash"\nreranker = ""\nignore = ["Templates"]\n'
        'index_folder = "Index"\nlanguage = "german"\nlinger_seconds = 1\n'
        '[weights]\nrecency = 1\n[hygiene]\nsecrets = true\npatterns = ["acme-[0-9]{4}"]\n'
        "[watch]\nrescan_seconds = 5\n[memory_file]\nfiles = []\n"
        "[retention]\nhistory = 0\nblobs = 9999\nruns = 365\n"
    )
    assert downloaded.run("status").exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        'index_folder = "../out"',
        'index_folder = ".meta"',
        'ignore = ["../out"]',
        'ignore = ["a/../../out"]',
        'ignore = ["a\\u0000b"]',
    ],
)
def test_paths_of_a_vault_stay_inside_it(downloaded: Downloaded, text: str) -> None:
    downloaded.ask(text)
    with pytest.raises(ConfigError):
        vaultsync.open(str(downloaded.root), state_dir=str(downloaded.state))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("embedder", "local:models/x"), ("reranker", "local:models/x"), ("reranker", "models/x")],
)
def test_a_model_is_loaded_from_where_the_user_allowed_it(
    downloaded: Downloaded, setting: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded.ask(f'{setting} = "{value}"')
    assert (
        f"load the model in {downloaded.root}/models/x" in downloaded.run("trust", "--yes").output
    )
    monkeypatch.chdir(downloaded.state.parent)  # which may have such a folder, too
    with (
        vaultsync.open(str(downloaded.root), state_dir=str(downloaded.state)) as memory,
        pytest.raises(EmbedderError, match=re.escape(f"{downloaded.root}/models/x")),
    ):
        getattr(memory._services, setting)


@pytest.mark.parametrize(
    "text",
    [
        *('store = "sqlite:{}/store.sqlite3"', 'store = "qdrant+edge:{}"', 'embedder = "local:{}"'),
        *('[modules]\nremote = "qdrant+local:{}"', '[repos]\nroot = "{}"', 'reranker = "{}"'),
    ],
)
@pytest.mark.parametrize("path", ["data", "./data/x", "data/../data/x", "data/../../x"])
def test_nothing_in_the_vault_is_used_that_is_behind_a_link_out_of_it(
    downloaded: Downloaded, text: str, path: str
) -> None:
    """The user allows a path inside the vault, or a link takes its place afterwards."""
    downloaded.ask(text.replace("{}", path))
    assert downloaded.run("trust", "--yes").exit_code == 0
    outside = downloaded.root.parent / "of" / "others" / "vault"
    outside.mkdir(parents=True)
    (downloaded.root / "data").symlink_to(outside)
    for command in ("sync", "status"):
        refused = downloaded.run(command)
        assert refused.exit_code == 2
        assert "leads out of the vault through a link, to " in refused.output
    assert list(outside.rglob("*")) == []


def test_the_visible_tables_do_not_follow_a_link(downloaded: Downloaded) -> None:
    outside = downloaded.root.parent / "outside"
    outside.mkdir()
    (downloaded.root / "Index").symlink_to(outside)
    downloaded.ask('index_folder = "Index"\nembedder = "none"')
    assert downloaded.run("remember", "Hello.").exit_code == 0
    downloaded.run("index")
    assert not list(outside.iterdir())


def test_the_folder_of_the_settings_is_no_link(downloaded: Downloaded) -> None:
    elsewhere = downloaded.root.parent / "elsewhere"
    (downloaded.root / ".meta").rename(elsewhere)
    (downloaded.root / ".meta").symlink_to(elsewhere)
    refused = downloaded.run("status")
    assert refused.exit_code == 2
    assert "link" in refused.output


def test_a_pipe_in_place_of_the_settings_hangs_nobody(downloaded: Downloaded) -> None:
    downloaded.marker.unlink()
    os.mkfifo(downloaded.marker)
    assert downloaded.run("status").exit_code == 2


# ------------------------------------------------------------------------------- trust

ASKED = 'store = "sqlite:../shared.sqlite3"\nembedder = "none"'


def test_trust_once_and_the_vault_may(downloaded: Downloaded) -> None:
    downloaded.ask(ASKED)
    trusted = downloaded.run("trust", "--yes")
    assert trusted.exit_code == 0, trusted.output
    assert "shared.sqlite3" in trusted.output
    assert downloaded.run("remember", "Hello.").exit_code == 0
    assert (downloaded.root.parent / "shared.sqlite3").exists()
    machine = config.machine_file(VAULT_ID)
    assert machine.stat().st_mode & 0o777 == 0o600
    assert machine.parent.stat().st_mode & 0o777 == 0o700


def test_a_changed_vault_asks_again_and_shows_what_changed(downloaded: Downloaded) -> None:
    downloaded.ask(ASKED)
    assert downloaded.run("trust", "--yes").exit_code == 0
    downloaded.ask(f'{ASKED}\nreranker = "/opt/model"')
    refused = downloaded.run("status")
    assert refused.exit_code == 1
    assert "new: reranker" in refused.output
    downloaded.ask(ASKED.replace("shared", "other"))
    assert "changed: store" in downloaded.run("status").output
    downloaded.ask(f"{ASKED}\n# a comment, and a setting of the vault's own\nauto_link = false")
    assert downloaded.run("status").exit_code == 0


def test_trust_can_be_taken_back(downloaded: Downloaded) -> None:
    downloaded.ask(ASKED)
    downloaded.run("trust", "--yes")
    assert downloaded.run("trust", "--revoke").exit_code == 0
    assert downloaded.run("status").exit_code == 1


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_trust_is_never_the_default(
    downloaded: Downloaded, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded.ask(ASKED)
    monkeypatch.setattr("vaultsync.cli.trust_command.is_terminal", lambda _: True)
    assert downloaded.run("trust", stdin=answer).exit_code != 0
    assert downloaded.run("status").exit_code == 1
    assert downloaded.run("trust", stdin="y\n").exit_code == 0
    assert downloaded.run("status").exit_code == 0


def test_neither_json_nor_a_pipe_is_a_yes(downloaded: Downloaded) -> None:
    downloaded.ask(ASKED)
    shown = downloaded.run("trust", "--json", stdin="y\n")
    assert shown.exit_code == 3
    answer = json.loads(shown.stdout)
    assert not answer["trusted"]
    assert [each["setting"] for each in answer["requests"]] == ["store"]
    assert downloaded.run("trust", stdin="y\n").exit_code == 2
    assert downloaded.run("status").exit_code == 1


def test_the_requests_of_a_vault_move_to_the_machine(downloaded: Downloaded) -> None:
    text = (
        "# The marker.\n" + ASKED + '\nignore = [\n  "Templates",\n]\n\n'
        '[memory_file]\nfiles = [\n  "{above}/diary.md",\n]\n\n'
        "[watch]\nrescan_seconds = 5\n\n"
        '[permissions.agents."*"]\nwrite = ["public"]\n'
    )
    downloaded.ask(text)
    moved = downloaded.run("trust", "--move", "--yes")
    assert moved.exit_code == 0, moved.output
    marker = downloaded.marker.read_text()
    assert "sqlite" not in marker
    assert "diary" not in marker
    for kept in ("# The marker.", 'embedder = "none"', '"Templates"', "rescan_seconds = 5"):
        assert kept in marker
    settings = config.load_settings(downloaded.root, state_dir=str(downloaded.state))
    assert settings.store == "sqlite:../shared.sqlite3"
    assert settings.memory_file.files == (f"{downloaded.root.parent}/diary.md",)
    assert settings.permissions.may_write("indy", "public")
    assert "permissions" not in marker
    assert downloaded.run("status").exit_code == 0


def test_what_the_user_says_for_this_machine_is_not_asked(downloaded: Downloaded) -> None:
    place, state = str(downloaded.root), str(downloaded.state)
    downloaded.marker.unlink()
    done = vaultsync.init(place, store="sqlite:../mine.sqlite3", state_dir=state)
    assert "mine" not in downloaded.marker.read_text()
    above = downloaded.root.parent
    with vaultsync.open(place, state_dir=state) as memory:
        assert memory.store_path == done.store
        memory.migrate("sqlite:../next.sqlite3")
    assert Path(done.store).resolve() == above / "mine.sqlite3"
    with vaultsync.open(place, state_dir=state) as memory:
        assert Path(memory.store_path).resolve() == above / "next.sqlite3"
    assert "next" not in downloaded.marker.read_text()


def test_a_store_that_the_user_names_for_a_vault_of_others(downloaded: Downloaded) -> None:
    place, state = str(downloaded.root), str(downloaded.state)
    downloaded.ask('store = "sqlite:../theirs.sqlite3"')
    with pytest.raises(ConfigError, match="theirs"):
        vaultsync.init(place, store="sqlite:../mine.sqlite3", state_dir=state)
    vaultsync.init(place, store="sqlite:../theirs.sqlite3", state_dir=state)
    assert "theirs" in config.machine_file(VAULT_ID).read_text()
    vaultsync.init(place, store="sqlite:../theirs.sqlite3", state_dir=state)
    with pytest.raises(ConfigError, match="already"):
        vaultsync.init(place, store="sqlite:../mine.sqlite3", state_dir=state)


def test_a_vault_that_has_facts_does_not_get_another_store_by_init(downloaded: Downloaded) -> None:
    place, state = str(downloaded.root), str(downloaded.state)
    vaultsync.init(place, state_dir=state)
    vaultsync.init(place, store="sqlite", state_dir=state)
    with pytest.raises(ConfigError, match="already"):
        vaultsync.init(place, store="sqlite:../mine.sqlite3", state_dir=state)


def test_the_answer_can_be_kept(downloaded: Downloaded, monkeypatch: pytest.MonkeyPatch) -> None:
    downloaded.ask(ASKED)
    assert downloaded.run("trust", "--revoke", "--yes").exit_code == 2
    (downloaded.root.parent / "file").touch()
    monkeypatch.setenv("VAULTSYNC_CONFIG_DIR", str(downloaded.root.parent / "file"))
    refused = downloaded.run("trust", "--yes")
    assert refused.exit_code == 2
    assert "cannot be read" in refused.output


def test_what_is_allowed_and_what_is_not_asked_can_be_looked_at(downloaded: Downloaded) -> None:
    assert "nothing beyond its notes" in downloaded.run("trust").output
    assert downloaded.run("trust", "--revoke").exit_code == 0
    downloaded.ask(ASKED)
    assert json.loads(downloaded.run("trust", "--yes", "--json").stdout)["trusted"]
    shown = downloaded.run("trust")
    assert shown.exit_code == 0
    assert "is allowed to" in shown.stderr
    assert "shared.sqlite3" in shown.stdout


def test_a_machine_file_that_others_may_write_is_refused(downloaded: Downloaded) -> None:
    downloaded.ask(ASKED)
    downloaded.run("trust", "--yes")
    config.machine_file(VAULT_ID).chmod(0o666)
    refused = downloaded.run("status")
    assert refused.exit_code == 2
    assert "others" in refused.output


def test_no_other_user_can_put_a_state_folder_in_place_of_ours(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        vaultsync.init(str(tmp_path / "vault"), state_dir=str(tmp_path / "made" / "state"))
        with vaultsync.open(str(tmp_path / "vault"), state_dir=str(tmp_path / "made" / "state")):
            pass
    finally:
        os.umask(before)
    made = [tmp_path / "made", *(tmp_path / "made").glob("state"), *tmp_path.glob("made/state/*")]
    assert [each.stat().st_mode & 0o777 for each in made] == [0o700] * 3


def test_the_settings_of_the_machine_are_not_kept_in_the_vault(
    downloaded: Downloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, link = downloaded.root / "config", downloaded.root.parent / "link"
    inside.mkdir()
    link.symlink_to(inside)
    for place in (inside, link):
        monkeypatch.setenv("VAULTSYNC_CONFIG_DIR", str(place))
        refused = downloaded.run("status")
        assert refused.exit_code == 2
        assert "inside the vault" in refused.output
    monkeypatch.setenv("HOME", str(downloaded.root / "home"))  # a home that is all in the vault
    assert downloaded.run("status").exit_code == 0


@pytest.mark.parametrize("named", ["MEMORY.md", "inbox", "./inbox/../MEMORY.md"])
def test_a_memory_file_in_the_vault_is_no_way_out_of_it(downloaded: Downloaded, named: str) -> None:
    """Trusted, or set by the user; but the vault is written by others, too."""
    diary = downloaded.root.parent / "diary.md"
    diary.write_text("# Diary\n\n## Today\n\nNobody shall read this.\n")
    (downloaded.root / "inbox").mkdir()
    for place in (downloaded.root, downloaded.root / "inbox"):
        (place / "MEMORY.md").symlink_to(diary)
    downloaded.ask(f'embedder = "none"\n[memory_file]\nfiles = ["{named}"]\nagent = "moss"')
    assert downloaded.run("trust", "--yes").exit_code == 0
    with vaultsync.open(str(downloaded.root), state_dir=str(downloaded.state)) as memory:
        assert memory.follow_memory_files() is None
        assert not memory.list().facts
    assert [each.name for each in downloaded.root.parent.glob("*memory-sync*")] == []


@pytest.mark.parametrize("words", [("sync",), ("add", "--section", "S", "Text."), ("manage",)])
@pytest.mark.parametrize("named", ["MEMORY.md", "inbox/MEMORY.md", "inbox/../MEMORY.md"])
def test_a_link_in_the_vault_is_no_memory_file(
    downloaded: Downloaded, words: Sequence[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user names it as a file of the vault, and does not know where it leads."""
    diary = downloaded.root.parent / "diary.md"
    diary.write_text("# Diary\n\n## Today\n\nNobody shall read this.\n")
    (downloaded.root / "MEMORY.md").symlink_to(diary)
    (downloaded.root / "inbox").symlink_to(downloaded.root.parent / "elsewhere")
    (downloaded.root.parent / "elsewhere").mkdir()
    (downloaded.root.parent / "elsewhere" / "MEMORY.md").write_text(diary.read_text())
    downloaded.ask('embedder = "none"')
    before = sorted(downloaded.root.parent.rglob("*.md"))
    first, *rest = words
    for path in (str(downloaded.root / named), named):
        monkeypatch.chdir(downloaded.root)
        refused = downloaded.run("memory-file", first, path, *rest)
        assert refused.exit_code in (1, 3), refused.output
        assert "name the file itself" in refused.output
    with vaultsync.open(str(downloaded.root), state_dir=str(downloaded.state)) as memory:
        assert not memory.list().facts
    assert "Text" not in diary.read_text()
    assert sorted(downloaded.root.parent.rglob("*.md")) == before
    assert not list(downloaded.root.parent.glob(".memory-sync*"))


@pytest.mark.parametrize("named", ["../MEMORY.md", "inbox/../../MEMORY.md"])
def test_a_memory_file_beside_the_vault_may_be_named_from_inside_it(
    downloaded: Downloaded, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (downloaded.root / "inbox").mkdir()
    text = "# Ours\n\n## Harbour\n\nThe crane stands at the pier.\n"
    (downloaded.root.parent / "MEMORY.md").write_text(text)
    downloaded.ask('embedder = "none"')
    monkeypatch.chdir(downloaded.root)
    done = downloaded.run("memory-file", "sync", named)
    assert done.exit_code == 0, done.output
    assert "1 new" in done.output
    (downloaded.root / "inbox").rmdir()
    (downloaded.root / "inbox").symlink_to(downloaded.root.parent / "elsewhere/below")
    (downloaded.root.parent / "elsewhere/below").mkdir(parents=True)
    (downloaded.root.parent / "elsewhere/MEMORY.md").write_text(text)
    refused = downloaded.run("memory-file", "sync", "inbox/../MEMORY.md")
    assert "name the file itself" in refused.output


# ------------------------------------------------------------------------------- owners


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("given", ["", ".meta", ".meta/config.toml"])
def test_a_vault_of_another_user_is_refused(downloaded: Downloaded, given: str) -> None:
    os.chown(downloaded.root / given, 12345, 12345)
    refused = downloaded.run("status")
    assert refused.exit_code == 1
    assert "12345" in refused.output
    assert downloaded.run("trust", "--yes").exit_code == 0
    assert downloaded.run("status").exit_code == 0
    os.chown(downloaded.root / given, 23456, 23456)
    assert downloaded.run("status").exit_code == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_root_by_sudo_may_use_the_vaults_of_who_called_it(
    downloaded: Downloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (downloaded.root, downloaded.marker.parent, downloaded.marker):
        os.chown(each, 12345, 12345)
    monkeypatch.setenv("SUDO_UID", "23456")
    assert downloaded.run("status").exit_code == 1
    monkeypatch.setenv("SUDO_UID", "12345")
    assert downloaded.run("status").exit_code == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_vault_of_another_user_that_is_found_upwards_is_refused(
    downloaded: Downloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(downloaded.marker, 12345, 12345)
    (downloaded.root / "below").mkdir()
    monkeypatch.chdir(downloaded.root / "below")
    with pytest.raises(UntrustedVaultError, match="12345"):
        vaultsync.open(state_dir=str(downloaded.state))
