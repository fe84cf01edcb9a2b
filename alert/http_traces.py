"""Explains the failed HTTP requests of one letter, since apprise only says that it did not work.

No sentence contains an address, a header or a body; of a redirect only the host.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import requests

_MESSAGE_REFUSED = frozenset({400, 413, 422})
"""The receiver refuses this message; others may be welcome."""


class HttpTraces:
    """Watches the library requests, through which every web channel of apprise goes."""

    def __init__(self) -> None:
        self.reason = ""
        """The reason of the last failed request."""
        self.is_message_refused = False

    def clear(self) -> None:
        self.reason, self.is_message_refused = "", False

    def record(self) -> None:
        """Watch from now on; call it once in a process. Also disables the process's cookies, proxies and `.netrc`."""
        begin, send = requests.Session.__init__, requests.Session.send
        traces = self

        def begun(session: requests.Session) -> None:
            begin(session)
            session.trust_env = False

        def traced(session: requests.Session, request: requests.PreparedRequest, **given: Any) -> requests.Response:
            try:
                response = send(session, request, **{**given, "allow_redirects": False})
            except requests.RequestException as error:
                traces.reason = _fault(error)
                raise
            traces._answered(response)
            return response

        requests.Session.__init__ = begun  # type: ignore[method-assign,assignment]
        requests.Session.send = traced  # type: ignore[method-assign,assignment]

    def _answered(self, response: requests.Response) -> None:
        status = response.status_code
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return
        self.is_message_refused = status in _MESSAGE_REFUSED
        named = f" {HTTPStatus(status).phrase}" if status in HTTPStatus._value2member_map_ else ""
        self.reason = f"it answered {status}{named}"
        if response.is_redirect:
            host = urlsplit(response.headers.get("Location", "")).hostname or "another address"
            self.reason += f", a redirect to {host}, which is not followed: name the last address in the URL"


def _fault(error: requests.RequestException) -> str:
    if isinstance(error, requests.exceptions.SSLError):
        return f"its certificate was refused, or it does not speak TLS: {_root_of(error)}"
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, requests.exceptions.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ConnectionError):
        return f"cannot connect: {_root_of(error)}"
    return f"the answer could not be read ({type(error).__name__})"


def _root_of(error: BaseException) -> str:
    """The innermost error; the outer ones quote the address."""
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        seen.append(each)
        inner = next((part for part in each.args if isinstance(part, BaseException)), None)
        each = getattr(each, "reason", None) if isinstance(getattr(each, "reason", None), BaseException) else inner
        each = each or seen[-1].__cause__ or seen[-1].__context__
    last = seen[-1]
    text = last.strerror if isinstance(last, OSError) and last.strerror else str(last)
    return str(text) or type(last).__name__
