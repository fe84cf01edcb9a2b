"""A receiver of traces on loopback: OTLP over HTTP, as a collector speaks it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver:
    """A receiver of traces; `status` is its answer, `hangs_s` the delay before."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.hangs_s = 0.0
        self.url = ""

    def named(self, name: str) -> list[Any]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]

    def take(self, headers: dict[str, str], body: bytes) -> None:
        self.headers.append(headers)
        asked = ExportTraceServiceRequest.FromString(body)
        for each in asked.resource_spans:
            self.services |= {
                pair.value.string_value for pair in each.resource.attributes if pair.key == "service.name"
            }
            for scope in each.scope_spans:
                self.spans += scope.spans


def attributes(span: Any) -> dict[str, Any]:
    return {
        pair.key: pair.value.int_value if pair.value.HasField("int_value") else pair.value.string_value
        for pair in span.attributes
    }


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(receiver.hangs_s)
            if receiver.status == 200:
                receiver.take(dict(self.headers), body)
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
