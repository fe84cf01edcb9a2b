"""What the clients ask of a server, without doing it: each request is a step of a generator that gets its answer.

So `Client` and `AsyncClient` share every decision: which requests, with which keys, what an answer means, and when to
ask again. They differ only in how they send a request and wait.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from shoal_sdk.errors import Refused, SdkError, Unavailable

BASE = "/api/v1"
SERVER = "http://127.0.0.1:7465"
RETRY_WITHIN_S, PAUSE_S_MAX = 10.0, 1.0
TIMEOUT_S = 300.0
"""A busy server takes a minute for a large definition; to ask again meanwhile would only add to it."""
PAGE = 1000
VERSION = "0.1.0"
NOT_FOUND = "SH-1003"
_OF_RELEASES = {"SH-1010", "SH-1013", "SH-1019"}
"""Codes of refusals that another release may not make: a field, a method or an address that it does not have."""
T = TypeVar("T")


@dataclass(frozen=True)
class Ask:
    """A request; the generator gets its `Answer` or what is wrong. A change has a key, so that it may be sent again.

    `into` is where the content of the answer is to be written, instead of being one.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    into: Path | None = None

    @property
    def request(self) -> dict[str, Any]:
        """As httpx takes it."""
        asked = {"method": self.method, "url": BASE + self.path, "params": dict(self.query)}
        return {**asked, "json": self.body, "headers": dict(self.headers)}


@dataclass(frozen=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """What a request got: its JSON, or its text if it is no JSON, None without a body, and the version of what it is
    about."""

    json: Any
    etag: str | None


Exchange = Generator[Ask | Pause, Any, T]


class Patience:
    """How often a server that is away is asked again."""

    def __init__(self) -> None:
        self._until_s, self._pause_s = 0.0, 0.1

    def pause(self, error: SdkError) -> Pause:
        """What to do before it is asked again. Raises the error: it is an answer, or has lasted too long."""
        now_s, pause_s = time.monotonic(), self._pause_s
        self._until_s = self._until_s or now_s + RETRY_WITHIN_S
        if not isinstance(error, Unavailable) or now_s + pause_s > self._until_s:
            raise error
        self._pause_s = min(2 * pause_s, PAUSE_S_MAX)
        return Pause(pause_s)


def answered(ask: Ask) -> Exchange[Answer]:
    """The answer, asked for again while the server is away. Raises `Refused`, `Unavailable`."""
    patience = Patience()
    while True:
        answer: Answer | SdkError = yield ask
        if isinstance(answer, Answer):
            return answer
        if isinstance(answer, Refused) and answer.code in _OF_RELEASES:
            yield from _say_releases(answer)
        yield patience.pause(answer)


def _say_releases(refused: Refused) -> Exchange[None]:
    """Raise what was refused with the versions of both sides, if they are two."""
    found = yield Ask("GET", "/version")
    theirs = found.json["version"] if isinstance(found, Answer) else VERSION
    if theirs != VERSION:
        sentence = f"{refused}; the server is of version {theirs}, and this SDK of {VERSION}: use one of that version"
        raise Refused(sentence, refused.code, refused.status)


def get(path: str, **query: Any) -> Exchange[Any]:
    """The JSON at a path. Raises `Refused`."""
    asked = Ask("GET", path, {name: value for name, value in query.items() if value is not None})
    return (yield from answered(asked)).json


def change(
    method: str, path: str, body: Any = None, *, key: str | None = None, version: str | None = None, **query: Any
) -> Exchange[Any]:
    """The JSON that a change answers.

    Args:
        key: of idempotency; the same key never does the same twice. None: a new one.
        version: of what is changed, as an ETag. None: any.
    Raises:
        Refused: it is not done; status 412 if it has another version.
    """
    headers = {"Idempotency-Key": key or str(uuid.uuid4()), "If-Match": version or "*"}
    return (yield from answered(Ask(method, path, query, body, headers))).json


def pages(path: str, **query: Any) -> Exchange[list[Any]]:
    """All items of a list."""
    items: list[Any] = []
    cursor: str | None = None
    while True:
        page = yield from get(path, limit=PAGE, cursor=cursor, **query)
        items += page["items"]
        cursor = page.get("next_cursor")
        if not page.get("has_more") or cursor is None:
            return items


def found_workflow(name: str, project: str | None) -> Exchange[Mapping[str, Any] | None]:
    """A workflow by its name; None if there is none."""
    try:
        found: Mapping[str, Any] = yield from get("/workflow-definitions:find", name=name, project=project)
    except Refused as error:
        if error.code == NOT_FOUND:
            return None
        raise
    return found


def segment(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


class Server:
    """The address of a server, and who asks.

    Args:
        url: None: `SHOAL_SERVER`, else that of `shoal up` on this machine.
        token: None: `SHOAL_TOKEN`, else that which `shoal login` stored for the server.
    Raises:
        SdkError: it is no address, or would get the token in clear text over a network.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.url = (url or os.environ.get("SHOAL_SERVER") or SERVER).rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SdkError(f'"{self.url}" is no address of a server; write it as https://shoal.example.org')
        token = token or os.environ.get("SHOAL_TOKEN") or _stored_token(parts.scheme, parts.netloc, parts.path)
        if token and not re.fullmatch("[!-~]+", token):  # else the error of the request would show it
            raise SdkError("the token is more than one word; give in SHOAL_TOKEN only what begins with shoal_")
        if token and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise SdkError(f"the token would be sent to {self.url} in clear text; use https://")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.verify = parts.scheme == "https"

    def answer(self, response: httpx.Response | httpx.HTTPError, *, is_saved: bool = False) -> Answer | SdkError:
        """What a response says: `Refused`, and `Unavailable` for what may pass, if it is none that was asked for.
        `is_saved`: its content is in a file."""
        if isinstance(response, httpx.HTTPError):
            return Unavailable(f"the server {self.url} does not answer: {str(response) or type(response).__name__}")
        if response.is_success:
            if is_saved:
                return Answer(None, None)
            is_text = response.headers.get("Content-Type", "").startswith("text/plain")
            body = response.text if is_text else response.json() if response.content else None
            return Answer(body, response.headers.get("ETag"))
        try:
            problem = response.json()
            code, detail = str(problem["code"]), str(problem["detail"])
        except (ValueError, KeyError, TypeError):
            sentence = f"the server {self.url} answered {response.status_code}, and not as Shoal does; is it one?"
            return Unavailable(sentence) if response.status_code >= 500 else Refused(sentence)
        if response.status_code in (429, 503):
            return Unavailable(detail)
        return Refused(detail, code, response.status_code)


def _stored_token(scheme: str, netloc: str, path: str) -> str | None:
    """What `shoal login` stored; only from a file that nobody else can read."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    file = (given if given.is_absolute() else Path.home() / ".config") / "shoal" / "logins.json"
    try:
        if file.lstat().st_mode & 0o077:
            raise SdkError(f"{file} must be closed to others; chmod 600 it, or log in again")
        known = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise SdkError(f"{file} cannot be read; delete it and log in again") from None
    token = known.get(f"{scheme}://{netloc.lower()}{path.rstrip('/')}") if isinstance(known, dict) else None
    return token if isinstance(token, str) else None


def names(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of items, sorted."""
    return sorted(str(each["name"]) for each in items)
