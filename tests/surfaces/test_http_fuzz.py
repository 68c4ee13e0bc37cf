"""Everything that the OpenAPI document allows, and much that it does not, tried out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from tests.bridges import Client, open_bridge
from vaultsync.http_bridge.openapi import document
from vaultsync.http_bridge.routes import EVENTS

EXAMPLES = 15
"""For each route: thirty routes shall not take a minute."""


def _document() -> dict[str, object]:
    """The document without the stream, which has no end."""
    said = document()
    del said["paths"][EVENTS]
    return said


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with open_bridge(tmp_path_factory.mktemp("bridge")) as opened:
        opened("POST", "/v1/facts", {"text": "Something to find.", "title": "Here"})
        yield opened


schema = schemathesis.openapi.from_dict(_document())


@schema.parametrize()
@settings(
    max_examples=min(EXAMPLES, settings().max_examples),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_whatever_comes_the_answer_is_what_the_document_says(
    client: Client, case: schemathesis.Case
) -> None:
    case.headers["Authorization"] = f"Bearer {client.token}"
    if case.method != "GET":
        case.headers["X-Vaultsync"] = "1"
    case.call_and_validate(
        base_url=f"http://127.0.0.1:{client.port}",
        excluded_checks=[
            # The guard answers these before any route is looked at.
            schemathesis.checks.ignored_auth,
            schemathesis.checks.unsupported_method,
        ]
        if hasattr(schemathesis, "checks")
        and hasattr(schemathesis.checks, "ignored_auth")
        else [],
        headers={"Authorization": f"Bearer {client.token}"},
    )
