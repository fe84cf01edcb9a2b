"""Sends the spans of the runs that this master has ended, read from their rows after the transaction that ended them.

No part of a trace is in a master's memory before: the ids are computed from the rows, so a run that another master ends
has the same trace. What cannot be read or sent is dropped, and counted: nothing waits for traces.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Iterable, Sequence

import structlog

from dao.postgres.database import Database
from dao.runs import run_spans
from master.tracing.otlp import OtlpSender
from master.tracing.spans import Span, is_recorded, span_of_run, spans_of_attempts
from metrics import master as metrics
from model.backoff import Backoff
from model.errors import ShoalError
from model.ids import WorkflowInstanceId

log = structlog.get_logger()

WAITING_MAX = 20_000
"""Runs whose spans were not read yet."""
RUNS_AT_ONCE = 50
ATTEMPTS_AT_ONCE = 1_000
PAUSE_S = 0.05
"""The pause between two reads: the runs themselves go first."""


class Traces:
    """The ended runs whose spans must be sent."""

    def __init__(self, database: Database, sender: OtlpSender) -> None:
        self._database = database
        self._sender = sender
        self._waiting: deque[WorkflowInstanceId] = deque()
        self._wake = asyncio.Event()

    def ended(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Add runs after the commit of their ends."""
        for id_ in ids:
            if len(self._waiting) >= WAITING_MAX:
                metrics.spans_dropped.inc()
            else:
                self._waiting.append(id_)
        self._wake.set()

    async def run(self) -> None:
        """Read and send until cancelled."""
        backoff = Backoff()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                ids = [self._waiting[n] for n in range(min(RUNS_AT_ONCE, len(self._waiting)))]
                try:
                    await self._send(ids)
                except ShoalError as error:
                    log.warning("traces_not_read", error=str(error), so="they are read again after a pause")
                    await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
                    continue
                except Exception:
                    log.exception("traces_dropped", so="the runs are not affected; please report it")
                    metrics.spans_dropped.inc(len(ids))
                backoff.reset()
                for _ in ids:
                    self._waiting.popleft()
                await asyncio.sleep(PAUSE_S)

    async def _send(self, ids: Sequence[WorkflowInstanceId]) -> None:
        spans: list[Span] = []
        async with self._database.reading() as connection:
            for run in await run_spans.runs(connection, ids):
                if not is_recorded(run):
                    continue
                spans.append(above := span_of_run(run))
                after: tuple[int, int] | None = (0, 0)
                while after is not None:
                    found, after = await run_spans.attempts(connection, run.id, ATTEMPTS_AT_ONCE, after)
                    spans += spans_of_attempts(run, above, found)
                    if len(spans) >= ATTEMPTS_AT_ONCE:
                        self._sender.offer(spans)
                        spans = []
        if spans:
            self._sender.offer(spans)
