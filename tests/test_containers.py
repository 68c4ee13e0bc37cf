"""The Dockerfile and the compose file name what exists; no engine for containers is needed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.test_architecture import project
from vaultsync.cli.main import cli

ROOT = Path(__file__).parent.parent


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its words."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, words.strip()) for name, _, words in found]


def of(name: str) -> list[str]:
    return [words for step, words in steps() if step == name]


def compose() -> dict[str, Any]:
    from ruamel.yaml import YAML

    found: dict[str, Any] = YAML(typ="safe", pure=True).load(ROOT / "compose.yaml")
    return found


def test_what_is_copied_is_in_the_repository_and_not_ignored() -> None:
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    copied = [
        path.rstrip("/")
        for words in of("COPY")
        if "--from" not in words
        for path in words.split()[:-1]
    ]

    assert copied
    for path in copied:
        assert (ROOT / path).exists(), path
        assert any(path == each or path.startswith(f"{each}/") for each in allowed), path
    stages = {words.split(" AS ")[1] for words in of("FROM") if " AS " in words}
    used = {m[1] for words in of("COPY") if (m := re.match(r"--from=(\S+)", words))}
    assert used == stages


def test_all_that_the_build_of_the_package_reads_is_copied() -> None:
    copied = {path for words in of("COPY") for path in words.split()}

    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "vaultsync"} <= copied
    assert project()["readme"] in copied
    assert {*project()["license-files"]} <= copied


def test_the_extras_exist_and_bring_no_torch() -> None:
    (extras,) = (words.partition("=")[2].split(",") for words in of("ARG") if "EXTRAS" in words)

    assert {*extras} <= project()["optional-dependencies"].keys()
    assert "sentence" not in extras
    assert "all" not in extras


def test_the_python_of_the_image_is_a_supported_one() -> None:
    versions = {m[1] for words in of("FROM") if (m := re.match(r"python:(\d+\.\d+)", words))}

    (version,) = versions
    assert f"Programming Language :: Python :: {version}" in project()["classifiers"]


def test_the_scripts_of_the_plugin_exist() -> None:
    scripts = json.loads((ROOT / "obsidian-plugin" / "package.json").read_text())["scripts"]
    run = [m[1] for words in of("RUN") for m in re.finditer(r"npm run --silent (\S+)", words)]

    assert run
    assert {*run} <= scripts.keys()


def test_the_daemon_is_no_root_and_its_folders_are_volumes() -> None:
    assert of("USER") == ["vaultsync"]
    assert json.loads(of("VOLUME")[0]) == ["/vault", "/home/vaultsync"]
    service = compose()["services"]["vaultsync"]
    mounted = {volume.rpartition(":")[2]: volume for volume in service["volumes"]}
    assert mounted.keys() == {"/vault", "/home/vaultsync"}
    assert mounted["/home/vaultsync"].partition(":")[0] in compose()["volumes"]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "privileged" not in service
    assert [words for words in of("ENV") if "VAULTSYNC_VAULT=/vault" in words]


def test_no_port_is_open_to_other_machines() -> None:
    services = compose()["services"]

    assert services["vaultsync"]["network_mode"] == "host"  # and the bridge is on loopback
    assert "ports" not in services["vaultsync"]
    assert all(port.startswith("127.0.0.1:") for port in services["qdrant"]["ports"])
    assert services["qdrant"]["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${")


def test_qdrant_has_the_version_of_the_client_and_is_waited_for() -> None:
    pinned = re.search(r"qdrant-client==(\d+\.\d+)", (ROOT / "constraints.txt").read_text())
    services = compose()["services"]

    assert pinned
    assert f":-v{pinned[1]}." in services["qdrant"]["image"]
    assert "healthcheck" in services["qdrant"]
    assert services["vaultsync"]["depends_on"]["qdrant"]["condition"] == "service_healthy"
    (volume,) = services["qdrant"]["volumes"]
    assert volume.partition(":")[0] in compose()["volumes"]


def test_the_commands_exist() -> None:
    entry, command = json.loads(of("ENTRYPOINT")[0]), json.loads(of("CMD")[0])

    assert entry == ["vaultsync"]
    assert entry[0] in project()["scripts"]
    assert command[0] in cli.list_commands(click.Context(cli))
    assert shlex.split(_health())[:2] == ["vaultsync", "status"]


def _health() -> str:
    return of("HEALTHCHECK")[0].partition("CMD ")[2]


@pytest.mark.parametrize(
    ("status", "healthy"),
    [
        ({"daemon": {"failing": False, "passes": 3}}, True),
        ({"daemon": {"failing": True, "passes": 3}}, False),
        ({"daemon": None}, False),
        ({"engine": "idle"}, False),
        ({"error": {"kind": "NotAVaultError"}}, False),
    ],
)
def test_a_container_is_healthy_while_syncs_work(status: dict[str, object], healthy: bool) -> None:
    code = shlex.split(_health())[-1]

    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(status), text=True, check=False
    )

    assert (done.returncode == 0) == healthy
