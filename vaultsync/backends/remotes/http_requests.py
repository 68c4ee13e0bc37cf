"""JSON over HTTP to a remote: one request, with a timeout and a size limit, without redirects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Timer
from typing import Any
from urllib.parse import urlsplit

from vaultsync.errors import ConfigError
from vaultsync.modules.remote import MirrorError, MirrorRefusedError

_LARGEST_ANSWER = 16 << 20
_REFUSED = frozenset({400, 409, 413, 415, 422})
"""Statuses of permanent failures."""
_NOT_FOUND = 404


@contextmanager
def _limited(connection: socket, seconds: float) -> Iterator[None]:
    """End a connection after a time: its own timeout begins again with each byte.

    Raises:
        TimeoutError: the block took longer.
    """
    late = Event()

    def end() -> None:
        late.set()
        with suppress(OSError):  # it is closed
            connection.shutdown(SHUT_RDWR)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException):
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():
        message = "timed out"
        raise TimeoutError(message)


class HttpService:
    """A service behind a URL. The key is read from the environment at each request."""

    def __init__(
        self, url: str, *, key: str, timeout: float, headers: Mapping[str, str] | None = None
    ) -> None:
        """Name it.

        Args:
            url: its address, with the prefix of all paths.
            key: name of the environment variable with the bearer token; empty for none.
            timeout: seconds for a connection, and then for the whole answer.
            headers: sent with each request.

        Raises:
            ConfigError: the URL is invalid.
        """
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ConfigError(
                f"{url!r:.80} is no address", hint="an address begins with http:// or https://"
            )
        if parts.username or parts.password:
            raise ConfigError(
                "the address of a remote contains a password",
                hint="put it into an environment variable, and name that in [modules] key",
            )
        self.name = f"{parts.scheme}://{parts.netloc}"
        self._host, self._port, self._tls = parts.hostname, port, parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._key, self._timeout, self._headers = key, timeout, dict(headers or {})

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """The JSON response; None for `404` and for an empty response.

        Raises:
            MirrorRefusedError: it refuses the request.
            MirrorError: any other failure.
        """
        headers = {"Accept": "application/json", **self._headers}
        if self._key:
            headers["Authorization"] = f"Bearer {self._token()}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        make = HTTPSConnection if self._tls else HTTPConnection
        link = make(self._host, self._port, timeout=self._timeout)
        try:
            link.connect()
            with _limited(link.sock, self._timeout):
                link.request(method, self._path + path, data, headers)
                answer = link.getresponse()
                text = answer.read(_LARGEST_ANSWER + 1)
        except (OSError, HTTPException, ValueError) as error:
            raise MirrorError(f"{self.name}: {error or type(error).__name__}") from error
        finally:
            link.close()
        if answer.status == _NOT_FOUND:
            return None
        if not 200 <= answer.status < 300:  # noqa: PLR2004 - success
            refused = answer.status in _REFUSED
            raise (MirrorRefusedError if refused else MirrorError)(
                f"{self.name} answered {answer.status} {answer.reason}"
            )
        if len(text) > _LARGEST_ANSWER:
            raise MirrorError(f"{self.name} returned more than {_LARGEST_ANSWER:,} bytes")
        try:
            return json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            raise MirrorError(f"{self.name} did not return JSON") from None

    def _token(self) -> str:
        token = os.environ.get(self._key, "")
        if not token or not token.isprintable():
            raise MirrorError(f"the environment variable {self._key} with its key is not set")
        return token
