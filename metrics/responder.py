"""Answers scrapes, from a thread with an event loop of its own (`metrics/serving.py`).

The main loop, which claims and drives, does not know of scrapes, and a process whose loop hangs can still be scraped.
The text is rendered at most twice a second, whatever the number of requests. Figures from the database are awaited for
a moment, then the last ones are shown (`metrics/cluster_collector.py`).
"""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from http_server.asgi import Receive, Scope, Send, answer, host_name
from metrics.health import Health

PROBES = ("/healthz", "/readyz")
MADE_EVERY_S = 0.5
"""How long a rendered text is reused."""
LOOPBACK_NAME = re.compile(r"|localhost|\[::1\]|127(\.\d{1,3}){3}")
"""Host names that need no token. A web page under another name could make a browser send requests (DNS rebinding)."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Responder:
    """The application behind `/metrics`, `/healthz` and `/readyz`.

    Args:
        make: renders the text; called in the responder's thread.
        health: of this process. Supervisors read it under any name and without a token; it contains no secret.
        token: returns what a request must send, None = anybody may read.
        refreshing: awaited before the text is rendered.
    """

    def __init__(
        self,
        make: Callable[[], bytes],
        health: Health,
        token: Callable[[], str] | None = None,
        refreshing: Sequence[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        self._make = make
        self._health = health
        self._token = token
        self._refreshing = refreshing
        self._made = b""
        self._made_s = float("-inf")

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        path, headers = scope["path"], {name: value.decode("latin-1") for name, value in scope["headers"]}
        if path not in ("/metrics", *PROBES):
            await answer(send, 404, "there are only /metrics, /healthz and /readyz\n")
        elif scope["method"] not in ("GET", "HEAD"):
            await answer(send, 405, "ask with GET\n", {"Allow": "GET, HEAD"})
        elif path in PROBES:
            await self._probe(send, self._health.why_dead() if path == "/healthz" else self._health.why_not_ready())
        elif self._token is None and LOOPBACK_NAME.fullmatch(host_name(headers.get(b"host", ""))) is None:
            await answer(send, 421, "without a token this is reached as 127.0.0.1 or localhost only\n")
        elif not self._may_read(headers):
            said = "send the token of metrics.token in the header Authorization: Bearer TOKEN\n"
            await answer(send, 401, said, {"WWW-Authenticate": 'Bearer realm="shoal metrics"'})
        else:
            try:
                text = await self._text()
            except Exception as error:  # noqa: BLE001 - of any collector: the others' next scrape must go on
                await answer(send, 500, f"the metrics could not be made: {type(error).__name__}\n")
            else:
                await answer(send, 200, text, {"Content-Type": CONTENT_TYPE})

    async def _probe(self, send: Send, reasons: Sequence[str]) -> None:
        """Answer a probe as the API does (`api/health.py`)."""
        said = {"status": "not ready" if reasons else "ok", "reasons": reasons}
        headers = {"Content-Type": "application/json", **({"Retry-After": "1"} if reasons else {})}
        await answer(send, 503 if reasons else 200, f"{json.dumps(said)}\n", headers)

    def _may_read(self, headers: Mapping[bytes, str]) -> bool:
        if self._token is None:
            return True
        kind, _, token = headers.get(b"authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode("latin-1"), self._token().encode())

    async def _text(self) -> bytes:
        if time.monotonic() - self._made_s >= MADE_EVERY_S:
            for refresh in self._refreshing:
                await refresh()
        if time.monotonic() - self._made_s >= MADE_EVERY_S:  # meanwhile another request may have rendered it
            self._made, self._made_s = self._make(), time.monotonic()
        return self._made
