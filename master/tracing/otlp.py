"""Sends spans to a receiver of OTLP over HTTP, from a thread of its own.

The libraries are those of the extra `shoal[otel]`; nothing is imported without it. A receiver that hangs or is away
holds up this thread alone: what does not fit into its queue is dropped, and counted.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from master.tracing.spans import Span
from metrics import master as metrics
from model.cluster.tracing_settings import TracingSettings
from model.errors import Refused

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

log = structlog.get_logger()

EXPORT_S_MAX = 10.0
QUEUED_MAX = 50
"""How many batches of spans may wait to be sent."""


class OtlpSender:
    """The sending thread. Raises `Refused` if the libraries are not installed or the headers cannot be read."""

    def __init__(self, settings: TracingSettings, version: str) -> None:
        assert settings.endpoint is not None
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError as error:
            raise Refused(
                f"tracing.endpoint is set, and {error.name} is not installed; install shoal[otel], or leave the "
                f"setting out"
            ) from None
        # Its own log lines have another form; the important ones are logged below.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._settings = settings
        self._headers = _headers(settings)
        self._new_exporter = partial(OTLPSpanExporter, settings.endpoint, timeout=EXPORT_S_MAX)
        self._exporter = self._new_exporter(headers=self._headers)
        self._resource = Resource({"service.name": settings.service, "service.version": version})
        self._queue: queue.Queue[Sequence[Span]] = queue.Queue(QUEUED_MAX)
        self._fails = False
        threading.Thread(target=self._run, name="traces", daemon=True).start()

    def offer(self, spans: Sequence[Span]) -> None:
        """Send these soon, or drop them if too many wait."""
        try:
            self._queue.put_nowait(spans)
        except queue.Full:
            metrics.spans_dropped.inc(len(spans))

    def flush(self, within_s: float) -> None:
        """Wait until everything is sent, unless the receiver fails."""
        deadline_s = time.monotonic() + within_s
        while self._queue.unfinished_tasks and not self._fails and time.monotonic() < deadline_s:
            time.sleep(0.02)

    def _run(self) -> None:
        while True:
            spans = self._queue.get()
            try:
                self._send(spans)
            finally:
                self._queue.task_done()

    def _send(self, spans: Sequence[Span]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        try:
            why = None
            self._take_new_headers()
            if self._exporter.export([self._made(span) for span in spans]) is not SpanExportResult.SUCCESS:
                why = "the receiver did not take them"
        except Exception as error:  # noqa: BLE001 - of a library and a foreign server: the next spans are sent anyway
            why = f"{type(error).__name__}: {error}"
        (metrics.spans_sent if why is None else metrics.spans_dropped).inc(len(spans))
        if why is not None and not self._fails:
            log.warning("traces_not_sent", error=why, so="spans are dropped until the receiver takes them again")
        elif why is None and self._fails:
            log.info("traces_sent_again")
        self._fails = why is not None

    def _take_new_headers(self) -> None:
        """Read the headers from the file of the setting; while it cannot be read, the former ones stay in use."""
        with suppress(Refused):
            if (now := _headers(self._settings)) != self._headers:
                self._headers, self._exporter = now, self._new_exporter(headers=now)

    def _made(self, span: Span) -> ReadableSpan:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(trace_id: int, span_id: int) -> SpanContext:
            return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

        return ReadableSpan(
            span.name,
            context(span.trace_id, span.span_id),
            parent=None if span.parent_id is None else context(span.trace_id, span.parent_id),
            resource=self._resource,
            attributes=span.attributes,
            links=[] if span.link is None else [Link(context(span.link.trace_id, span.link.span_id))],
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.OK) if span.failed is None else Status(StatusCode.ERROR, span.failed),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=InstrumentationScope("shoal"),
        )


def _headers(settings: TracingSettings) -> dict[str, str]:
    if settings.headers is None:
        return {}
    found = {}
    for part in settings.headers.get_secret_value().split(","):
        name, equals, value = part.strip().partition("=")
        if not (name and equals and part.isascii() and part.isprintable()):
            raise Refused("tracing.headers cannot be read; write it as NAME=VALUE,NAME=VALUE")
        found[name.strip()] = value.strip()
    return found
