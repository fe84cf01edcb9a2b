"""Audit rows of requests that were refused for want of a right.

Only who is known leaves one, and few a minute: neither a stranger nor an account with a loop can fill the table.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import Request

from model.errors import Forbidden, Hidden, Unauthenticated
from service.call import Call, Subject

log = structlog.get_logger()

A_MINUTE_MAX = 20
MINUTE_S = 60.0


class Denials:
    """Records them, at most `A_MINUTE_MAX` a minute for each account in this process; further ones are counted."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._counts: dict[str, int] = {}

    @asynccontextmanager
    async def recording(self, call: Call, request: Request) -> AsyncIterator[None]:
        """Write the row of a call if it is refused here."""
        try:
            yield
        except Unauthenticated:  # a wrong password for its own account is no want of a right
            raise
        except (Forbidden, Hidden):
            if self._may_write(call.caller.key):
                subject = call.subject or Subject(call.operation.tag, None)
                if subject.id is None and subject.name is None:
                    id_ = next(iter(request.path_params.values()), None)
                    subject = Subject(subject.kind, id_, subject.project)
                await call.record_denial(subject)
            raise

    def _may_write(self, key: str) -> bool:
        if time.monotonic() - self._began_s > MINUTE_S:
            for caller, count in self._counts.items():
                if count > A_MINUTE_MAX:
                    log.warning("denials_not_recorded", caller=caller, count=count - A_MINUTE_MAX)
            self._began_s, self._counts = time.monotonic(), {}
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key] <= A_MINUTE_MAX
