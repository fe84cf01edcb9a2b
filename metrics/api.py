"""What an API process counts: requests, streams."""

from __future__ import annotations

from metrics.declaring import Part

PART = Part()

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"

requests = PART.counter(
    "shoal_api_requests_total", "Requests by method and kind of status, such as 2xx.", ("method", "status")
)
request_seconds = PART.times(
    "shoal_api_request_seconds", "Seconds from a request's head until its answer began, by method.", labels=("method",)
)
operation_seconds = PART.sums(
    "shoal_api_operation_seconds", "The same by operation, which docs/reference/openapi.json names.", ("operation",)
)
listeners = PART.gauge("shoal_api_listeners", "Open streams of events and of logs that are followed (SSE).")


def answered(method: str, status: int, seconds: float, operation: str | None) -> None:
    """Count an answered request; `operation` is None for an unknown address."""
    known = method if method in METHODS else OTHER
    requests.labels(known, f"{status // 100}xx").inc()
    request_seconds.labels(known).observe(seconds)
    if operation is not None:
        operation_seconds.labels(operation).observe(seconds)
