"""Models that the user fetched by name, each in a folder with the layout of the Hugging Face hub.

A file is downloaded to a temporary name, flushed and renamed when it is complete, so that a folder
never has a partial file. After an interruption a range request fetches the rest, if the server
confirms that the file is still the same.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct

from vaultsync.backends.embedders.onnx import sha256_of
from vaultsync.backends.model_service import LOCAL_HOSTS
from vaultsync.backends.replace_file import replace_file, sync_folder
from vaultsync.errors import ConfigError, EmbedderError

WEIGHTS = "model.safetensors"
FILES: Mapping[str, bool] = {
    "config.json": True,
    "tokenizer.json": True,
    WEIGHTS: True,
    "tokenizer_config.json": False,
    "special_tokens_map.json": False,
    "modules.json": False,
    "sentence_bert_config.json": False,
    "config_sentence_transformers.json": False,
    "1_Pooling/config.json": False,
    "2_Dense/config.json": False,
    "2_Dense/model.safetensors": False,
}
"""The files of a model, and whether it needs them. None of them is code."""
HUB = "https://huggingface.co"
_RECORD = "fetched.json"
_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{64}")
_BLOCK = 1 << 18
_SECONDS = 30.0
"""Seconds without data after which a download fails."""
_TRIES = 3
_OK, _PARTIAL, _MISSING, _RANGE = 200, 206, (401, 403, 404), 416


class FetchedModel(Struct, frozen=True):
    """A model in the folder of models."""

    name: str
    revision: str
    path: str
    bytes: int
    sha256: str
    """SHA-256 of its weights."""


def fetched_models(models: Path) -> list[FetchedModel]:
    """The completely fetched models, by name."""
    folders = [each.parent for each in sorted(models.glob(f"fetched/*/{_RECORD}"))]
    records = [_record(each) for each in folders if _is_whole(each)]
    return [each for each in records if each is not None]


class ModelFetcher:
    """Downloads a model into the folder of models.

    Args:
        hub: the address of the server; only https, except on this machine.
        progress: called with the file, the bytes downloaded, and the total (0: unknown).

    Raises:
        ConfigError: the address is not allowed.
    """

    def __init__(
        self,
        models: Path,
        *,
        hub: str = HUB,
        progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> None:
        _check_address(hub)
        self._models = models
        self._hub = hub.rstrip("/")
        self._progress = progress

    def fetch(self, name: str, *, revision: str = "main", sha256: str = "") -> FetchedModel:
        """Fetch a model, or its missing files.

        Args:
            name: the name on the hub, `ORGANISATION/MODEL`.
            revision: a branch, a tag or a commit.
            sha256: the required SHA-256 of the weights; default: that of the first fetch.

        Raises:
            ConfigError: the name, the revision or the checksum is invalid.
            EmbedderError: the server does not respond, has no such model, or sends another file
                than expected. A partial download is kept or, if it is wrong,
                deleted.
            OSError: the disk is full or broken.
        """
        if not _NAME.fullmatch(name) or not _REVISION.fullmatch(revision):
            raise ConfigError(
                f"{name!r} at {revision!r} is not a valid model name",
                hint="write ORGANISATION/MODEL, such as intfloat/multilingual-e5-small",
            )
        if sha256 and not _SHA.fullmatch(sha256.lower()):
            raise ConfigError(
                f"{sha256!r} is not a SHA-256", hint="it has 64 digits from 0 to 9 and a to f"
            )
        from filelock import FileLock

        folder = self._models / "fetched" / f"{name.replace('/', '--')}@{revision}"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            return self._fetch(folder, name, revision, sha256.lower())

    def _fetch(self, folder: Path, name: str, revision: str, sha256: str) -> FetchedModel:
        known = _record(folder)
        if known is not None and _is_whole(folder):
            if sha256 not in ("", known.sha256):
                raise _checksum_error(name, known.sha256, sha256)
            return known
        expected = sha256 or (known.sha256 if known is not None else "")
        for file, needed in FILES.items():
            address = f"{self._hub}/{name}/resolve/{quote(revision)}/{file}"
            if not self._file(folder / file, address) and needed:
                raise EmbedderError(
                    f"{urlsplit(self._hub).netloc} has no {file} of {name} at {revision}",
                    hint=f"check the name; a model needs config.json, tokenizer.json and {WEIGHTS}",
                )
        weights = folder / WEIGHTS
        found = sha256_of(weights)
        if expected and found != expected:
            weights.unlink()
            raise _checksum_error(name, found, expected)
        size = sum((folder / each).stat().st_size for each in FILES if (folder / each).is_file())
        done = FetchedModel(name, revision, str(folder), size, found)
        record = {key: getattr(done, key) for key in ("name", "revision", "bytes", "sha256")}
        replace_file(folder / _RECORD, json.dumps(record, indent=1).encode(), mode=0o644)
        return done

    def _file(self, path: Path, address: str) -> bool:
        """Download a missing file; returns whether the server has it."""
        if path.is_file():
            return True
        path.parent.mkdir(exist_ok=True)
        why = ""
        for _ in range(_TRIES):
            part = _Part(path)
            try:
                with _opened(address, part) as answer:
                    if answer.status in _MISSING:
                        return False
                    if answer.status == _RANGE:
                        part.discard()
                        continue
                    part.receive(answer, self._progress)
            except (OSError, _BrokenAnswerError) as error:
                if part.error is not None:
                    raise part.error from None
                why = str(getattr(error, "reason", error))
            else:
                return True
        raise EmbedderError(
            f"{urlsplit(address).netloc} does not send {path.name}: {why}",
            hint="check the connection, or use a mirror with --hub, and run the command again;"
            " it continues where it stopped",
        )


class _BrokenAnswerError(Exception):
    """A download ended early."""


class _Part:
    """The part of a file that was downloaded, and the version of the file on the server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        self._tag = path.with_name(f".{path.name}.etag")
        self.error: OSError | None = None
        """An error of the disk."""

    def request_headers(self) -> dict[str, str]:
        """The headers that request the rest, if it is still the same file."""
        headers = {"Accept-Encoding": "identity"}
        if self._part.is_file() and self._tag.is_file() and self._part.stat().st_size:
            headers["Range"] = f"bytes={self._part.stat().st_size}-"
            headers["If-Range"] = self._tag.read_text(encoding="utf-8")
        return headers

    def receive(self, answer: Any, progress: Callable[[str, int, int], None]) -> None:  # noqa: ANN401 - of urllib
        """Append a response, and rename the file when it is complete.

        Raises:
            _BrokenAnswerError: the response ended early.
        """
        begin = self._part.stat().st_size if answer.status == _PARTIAL else 0
        sent = answer.headers.get("Content-Range", "")
        if answer.status == _PARTIAL and not sent.startswith(f"bytes {begin}-"):
            self.discard()
            raise _BrokenAnswerError(f"it sends {sent or 'another part'}")
        length = answer.headers.get("Content-Length")
        total = begin + int(length) if length else 0
        tag = answer.headers.get("ETag", "")
        if begin == 0:
            self.discard()
            if tag and not tag.startswith("W/"):
                self._tag.write_text(tag, encoding="utf-8")
        done = begin
        with self._disk_errors(), self._part.open("ab") as file:
            while block := _read_block(answer):
                file.write(block)
                done += len(block)
                progress(self._path.name, done, total)
            file.flush()
            os.fsync(file.fileno())
        if total and done != total:
            raise _BrokenAnswerError(f"the response ended after {done:,} of {total:,} bytes")
        with self._disk_errors():
            self._part.replace(self._path)
            sync_folder(self._path.parent)
        self._tag.unlink(missing_ok=True)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = error
            raise

    def discard(self) -> None:
        self._part.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)


def _read_block(answer: Any) -> bytes:  # noqa: ANN401 - of urllib
    from http.client import HTTPException

    try:
        block: bytes = answer.read(_BLOCK)
    except (OSError, HTTPException) as error:
        raise _BrokenAnswerError(str(error) or type(error).__name__) from error
    return block


@contextmanager
def _opened(address: str, part: _Part) -> Iterator[Any]:
    """A response of the server, with any status."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Checked(HTTPRedirectHandler):
        def redirect_request(self, *given: Any) -> Request | None:  # noqa: ANN401 - urllib's
            _check_address(given[-1])
            return super().redirect_request(*given)

    request = Request(address, headers=part.request_headers())  # noqa: S310 - checked
    try:
        answer = build_opener(Checked).open(request, timeout=_SECONDS)
    except HTTPError as refused:
        if refused.code not in (*_MISSING, _RANGE):
            refused.close()
            raise _BrokenAnswerError(f"it answers {refused.code}") from None
        answer = refused
    except HTTPException as error:
        raise _BrokenAnswerError(str(error) or type(error).__name__) from error
    with answer:
        yield answer


def _check_address(url: str) -> None:
    hint = "use an https:// address"
    try:
        where = urlsplit(url)
        host = (where.hostname or "").encode("idna").decode()
        _ = where.port
    except ValueError:
        raise ConfigError(f"{url!r} is not an address", hint=hint) from None
    local = where.scheme == "http" and where.hostname in LOCAL_HOSTS
    if (where.scheme != "https" and not local) or not host or where.username:
        raise ConfigError(f"models cannot be fetched from {where.scheme}://{host}", hint=hint)


def _record(folder: Path) -> FetchedModel | None:
    """The record of a fetched model in a folder, even if files are missing."""
    try:
        return FetchedModel(**json.loads((folder / _RECORD).read_bytes()), path=str(folder))
    except (OSError, ValueError, TypeError):
        return None


def _is_whole(folder: Path) -> bool:
    return all((folder / each).is_file() for each, needed in FILES.items() if needed)


def _checksum_error(name: str, found: str, expected: str) -> EmbedderError:
    return EmbedderError(
        f"the weights of {name} do not match: their sha256 begins with"
        f" {found[:12]}, not with {expected[:12]}",
        hint="check the checksum and the source of the model",
    )
