"""The guard checks every request before a route answers, and no secret leaks."""

from __future__ import annotations

import logging
import re
from itertools import product
from pathlib import Path
from unittest import mock

import pytest

from tests.bridges import Client, Heard, open_bridge
from vaultsync import errors
from vaultsync.api.memory import Memory
from vaultsync.http_bridge.bridge_server import make_bridge_app
from vaultsync.http_bridge.encoding import error_response
from vaultsync.http_bridge.handlers import EVENTS_PATH, METRICS_PATH, ROUTES
from vaultsync.service import bridge_service as serving

pytestmark = pytest.mark.long(5)

NETWORK = Path("/proc/net/tcp")
LISTENS = "0A"
ID = "0193f6c2-0000-7000-8000-000000000001"
ALL = [(row.method, re.sub(r"\{\w+\}", ID, row.path)) for row in ROUTES]
ALL += [
    ("GET", EVENTS_PATH),
    ("GET", METRICS_PATH),
    ("GET", "/"),
    ("GET", "/v1/nowhere"),
    ("OPTIONS", EVENTS_PATH),
]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another vault's token."""
    with open_bridge(tmp_path_factory.mktemp("other")) as opened:
        return opened.token


@pytest.fixture
def untouched(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A bridge whose memory must not be reached."""
    for row in ROUTES:
        if hasattr(Memory, row.name):
            monkeypatch.setattr(Memory, row.name, mock.Mock(side_effect=AssertionError))
    return client


def test_the_application_serves_the_routes_of_the_table(client: Client) -> None:
    routes = {
        (method, getattr(route, "path", ""))
        for route in make_bridge_app(client.serving).routes
        for method in getattr(route, "methods", ())
    }

    others = {("GET", EVENTS_PATH), ("GET", METRICS_PATH)}
    assert routes == {(row.method, row.path) for row in ROUTES} | others


def test_no_route_answers_without_the_token(untouched: Client, other: str) -> None:
    in_the_query = ("GET", f"/v1/status?token={untouched.token}")
    for said in (None, "", "Bearer", f"Bearer {other}", "Bearer x", f"Basic {other}"):
        for method, path in (*ALL, in_the_query):
            answer = untouched(method, path, headers={"authorization": said})

            assert answer.status in (401, 429), (method, path, said)
            assert b"vaultsync bridge token" in answer.body or answer.status == 429


FOREIGN_HEADERS = [
    ("host", "evil.example"),
    ("host", "localhost"),
    ("origin", "http://evil.example"),
    ("origin", "null"),
    ("origin", "http://localhost"),
]


def test_no_route_answers_a_foreign_host_or_origin_with_the_token(untouched: Client) -> None:
    for (name, value), (method, path) in product(FOREIGN_HEADERS, ALL):
        answer = untouched(method, path, headers={name: value})

        assert (answer.status, answer.body) == (403, b""), (method, path, value)
        assert not any(each.startswith("access-control") for each in answer.headers)


@pytest.mark.parametrize("raw", [b"", None])
def test_a_body_without_required_keys_may_be_left_out(client: Client, raw: bytes | None) -> None:
    for path in ("/v1/ids", "/v1/links/fix", "/v1/observations/process"):
        assert client("POST", path, raw=raw).status == 200, path

    refused = client("POST", "/v1/facts", raw=raw)

    assert refused.status == 400
    assert "`text`" in refused.json["error"]["message"]


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"null", b"[]", b'"text"', b"\xff\xfe"),
        *(b'{"text": "\xff"}', b'{"text": "\\ud800"}', b'{"text": 1}'),
        *(b'{"text": "x", "type": []}', b'{"text": "x", "path": "../../x.md"}'),
        *(b'{"text": "x", "priority": 99}', b'{"text": "x", "priority": 1e400}'),
        b'{"text": "x", "fields": ' + b"[" * 21,
        b'{"text": "x", "fields": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
        b'{"fields": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        b"[" * 500_000,
    ],
)
def test_a_malformed_body_is_refused(client: Client, raw: bytes) -> None:
    answer = client("POST", "/v1/facts", raw=raw)

    assert answer.status == 400
    assert answer.kind in ("MalformedBodyError", "InvalidFieldError")
    assert "Traceback" not in answer.body.decode()


def test_values_are_nested_as_deep_as_in_a_note(client: Client) -> None:
    def nested(depth: int) -> object:
        return [nested(depth - 1)] if depth else []

    made = client("POST", "/v1/facts", {"text": '[{"' * 100, "fields": {"a": nested(18)}})
    assert made.status == 200
    for path, method, body in (
        (f"/v1/facts/{made.json['id']}", "PATCH", {"set": {"a": nested(19)}}),
        (f"/v1/facts/{made.json['id']}", "PATCH", {"set": {"title": nested(800)}}),
        (
            "/v1/sessions",
            "POST",
            {"session": "s", "messages": [{"role": "user", "at": nested(800)}]},
        ),
        ("/v1/sessions", "POST", {"session": "s", "messages": [{"content": nested(800)}]}),
    ):
        assert client(method, path, body).status in (200, 400), body


ODD_NAMES = (
    *("..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "x", "config.toml", "%F0%9F%98%80"),
    *("a" * 3_000, "-" * 36, "0193F6C2-0000-7000-8000-00000000000%67"),
    *(".index%2Fvault-index.md", "vault-index.md%00.txt", "CON"),
)


def test_a_name_in_the_path_of_a_route_is_never_a_file_path(client: Client) -> None:
    bodies = {"supersede": {"text": "x"}, "write": {"applied": False}, "resolve": {"take": "vault"}}
    for row, name in product(ROUTES, ODD_NAMES):
        if "{" not in row.path:
            continue
        body = bodies.get(row.name, {}) if row.method != "GET" else None

        answer = client(row.method, re.sub(r"\{\w+\}", name, row.path), body)

        assert answer.status in (400, 404, 405), (row, name, answer)
        assert b"root:" not in answer.body
        assert b"vault_id" not in answer.body


def test_only_listed_index_files_can_be_read(client: Client) -> None:
    for each in client("GET", "/v1/index").json["files"]:
        assert client("GET", f"/v1/index/{each['name']}").status == 200
    assert client("GET", "/v1/index/config.toml").kind == "IndexFileNotFoundError"


def test_the_allowed_methods_are_named_for_any_other_method(client: Client) -> None:
    answer = client("DELETE", "/v1/facts")

    assert answer.status == 405
    assert {*answer.headers["allow"].split(", ")} == {"GET", "POST"}
    assert client("HEAD", "/v1/events").status == 405


def test_filters_of_a_list_are_repeatable(client: Client) -> None:
    for kind in ("decision", "lesson", "note"):
        body = {"text": f"Repeated {kind}.", "type": kind, "tags": ["repeated", kind]}
        client("POST", "/v1/facts", body)

    page = client("GET", "/v1/facts?type=decision&type=lesson&tag=repeated").json["facts"]
    both = client("GET", "/v1/facts?tag=repeated&tag=note").json["facts"]

    assert [each["type"] for each in (*page, *both)] == ["decision", "lesson", "note"]


def test_an_invalid_query_string_is_refused(client: Client) -> None:
    for query in ("limit=0", "limit=x", "limits=1", "limit=1001", "after=../x", "limit=1&limit=2"):
        assert client("GET", f"/v1/facts?{query}").status == 400
    for query in ("app=2", "application=1"):
        assert client("GET", f"{EVENTS_PATH}?{query}").status == 400
    heard = Heard(client)
    assert heard.next()[0] == "state"
    heard.close()


@pytest.mark.parametrize("route", ["/v1/recall", "/v1/context"])
def test_a_blank_user_is_not_every_user(client: Client, route: str) -> None:
    refused = client("POST", route, {"query": "tea", "user": " "})
    assert (refused.status, refused.json["error"]["kind"]) == (400, "InvalidFieldError")


def test_only_the_owner_can_read_the_token_file(client: Client) -> None:
    state = client.serving.settings.state_dir
    vault = client.serving.settings.root

    for name in ("bridge.token", "bridge.json"):
        assert (state / name).stat().st_mode & 0o077 == 0
    assert not any(
        client.token in path.read_text(encoding="utf-8", errors="replace")
        for path in vault.rglob("*")
        if path.is_file()
    )


def test_rotating_the_token_invalidates_the_old_one(tmp_path: Path) -> None:
    with open_bridge(tmp_path) as client:
        fresh = serving.vault_token(client.serving.settings, rotate=True)

        assert client("GET", "/v1/status").status == 401
        client.token = fresh
        assert client("GET", "/v1/status").status == 200


def test_a_stream_that_was_opened_with_a_revoked_token_hears_nothing_more(tmp_path: Path) -> None:
    with open_bridge(tmp_path) as client:
        heard = Heard(client, app=True)
        assert heard.next()[0] == "state"
        serving.vault_token(client.serving.settings, rotate=True)
        client.serving.events.publish("write", {"text": "not for an old token"})

        with pytest.raises(EOFError):
            heard.next()
        assert client.serving.events.app() is None
        heard.close()


def test_neither_logs_nor_answers_contain_the_token(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "verify", mock.Mock(side_effect=ZeroDivisionError))
    caplog.set_level(logging.DEBUG)

    answers = [client("GET", "/v1/verify"), client("POST", "/v1/facts", raw=b"{")]
    answers.append(client("GET", "/v1/status", headers={"authorization": "Bearer x"}))

    assert [answer.status for answer in answers][:2] == [500, 400]
    for answer in answers:
        assert client.token.encode() not in answer.body
    assert "ZeroDivisionError" in caplog.text
    assert client.token not in caplog.text


@pytest.mark.skipif(not NETWORK.exists(), reason="only Linux lists listening sockets in /proc")
def test_the_bridge_listens_on_loopback_only(client: Client) -> None:
    rows = [line.split() for line in NETWORK.read_text(encoding="ascii").splitlines()[1:]]
    port = f"{client.port:04X}"

    # A connection of another program may have the same port, at another address.
    at = {row[1] for row in rows if row[1].endswith(f":{port}") and row[3] == LISTENS}

    assert at == {f"0100007F:{port}"}


def test_the_path_of_a_conflict_copy_cannot_lead_out_of_the_vault(client: Client) -> None:
    answer = client("POST", "/v1/copies/settle", {"path": "/etc/passwd", "take": "drop"})

    assert (answer.status, answer.kind) == (400, "UnsafePathError")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.PurgeNotUndoneError("x", "2026-01-01T00:00:00Z"), 409),
        (errors.NoteChangedError("a.md"), 409),
        (errors.NoteExistsError("a.md"), 409),
        (errors.DaemonStoppedError(), 503),
    ],
)
def test_no_error_of_somebody_else_is_a_500(error: errors.VaultsyncError, status: int) -> None:
    assert error_response(error)[0] == status
