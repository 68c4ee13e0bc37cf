"""Requests that the OpenAPI document allows, and many that it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import requests
from hypothesis import HealthCheck, settings
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from tests.bridges import Client, open_bridge
from tests.openapi import document
from tests.proofs.turns import THOROUGH
from vaultsync.http_bridge.handlers import EVENTS_PATH, ROUTES

if TYPE_CHECKING:  # it takes a second to import, which each worker would when it collects
    from schemathesis import Case
    from schemathesis.specs.openapi.schemas import OpenApiSchema

pytestmark = pytest.mark.long(5)

SHORT = 10_000
"""Characters; longer strings only meet the limit of the body."""
EXAMPLES = 60 if THOROUGH else 4
"""For each route, beside the cases at the limits of each value, which are always tried."""


def _document() -> dict[str, Any]:
    """The document without the stream, which does not end, and without what the guard checks.

    `test_http_guard.py` checks headers, tokens and lengths for every route.
    """
    said: dict[str, Any] = json.loads(json.dumps(document(), default=dict))
    del (said["paths"][EVENTS_PATH], said["security"], said["components"]["securitySchemes"])
    for operations in said["paths"].values():
        for operation in operations.values():
            operation["parameters"] = [
                each for each in operation.get("parameters", []) if each["in"] != "header"
            ]
    for schema in said["components"]["schemas"].values():
        for each in schema.get("properties", {}).values():
            for kind in (each, *each.get("anyOf", ())):
                if kind.get("maxLength", 0) > SHORT:
                    del kind["maxLength"]
    return said


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with open_bridge(tmp_path_factory.mktemp("bridge")) as opened:
        opened("POST", "/v1/facts", {"text": "Something to find.", "title": "Here"})
        yield opened


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Connections that stay, and do not look for proxies each time."""
    with requests.Session() as session:
        session.trust_env = False
        # The server may close a connection that was idle just when the next request is sent.
        again = Retry(connect=0, read=2, status=0, allowed_methods=None)
        session.mount("http://", HTTPAdapter(max_retries=again))
        yield session


@pytest.fixture(scope="module")
def schema() -> OpenApiSchema:
    import schemathesis
    from schemathesis.checks import load_all_checks

    load_all_checks()
    return schemathesis.openapi.from_dict(_document())


@pytest.mark.parametrize("path", sorted({row.path for row in ROUTES}))
@pytest.mark.long(4)
def test_every_answer_fits_the_document(
    path: str, schema: OpenApiSchema, client: Client, session: requests.Session
) -> None:
    from schemathesis.core.result import Ok
    from schemathesis.pytest.lazy import get_all_tests
    from schemathesis.specs.openapi import checks

    def check(case: Case[Any]) -> None:
        headers = {"Authorization": f"Bearer {client.token}"}
        if case.method != "GET":
            headers["X-Vaultsync"] = "1"
        case.call_and_validate(
            base_url=f"http://127.0.0.1:{client.port}",
            session=session,
            headers=headers,
            # The schema does not know which types, scopes and ids exist, so a valid request may
            # get 400; and required headers are checked before the method is.
            excluded_checks=[checks.positive_data_acceptance, checks.unsupported_method],
        )

    tests = list(
        get_all_tests(
            schema=schema.include(path=path),
            test_func=check,
            settings=settings(
                max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck)
            ),
            given_kwargs=None,
        )
    )
    assert tests
    for each in tests:
        assert isinstance(each, Ok), each
        _, test = each.ok()
        test()
