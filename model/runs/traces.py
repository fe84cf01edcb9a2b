"""The W3C Trace Context of a run, computed from its row, so that every node knows it.

No ids are passed on: every master that drives a run and every worker that runs an attempt compute the same ones. A run
started by a request with a `traceparent` joins that trace.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from model.ids import TaskInstanceId, WorkflowInstanceId

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceParent:
    """A place in a trace: the parent span of others. `sampled`: whether its spans are recorded at all."""

    trace_id: int
    span_id: int
    sampled: bool = True

    def __str__(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(self.sampled):02x}"


def read_traceparent(text: str | None) -> TraceParent | None:
    """Parse a `traceparent`; None if it is invalid, which is no error: then there is no trace to join."""
    found = _TRACEPARENT.fullmatch(text or "")
    if found is None or found[1] == "ff":
        return None
    trace_id, span_id = int(found[2], 16), int(found[3], 16)
    if not trace_id or not span_id:
        return None
    return TraceParent(trace_id, span_id, bool(int(found[4], 16) & _SAMPLED))


def trace_id_of(run: WorkflowInstanceId, began_us: int | None, joined: TraceParent | None) -> int:
    """The trace of a run: the one that it joined, or its own.

    Args:
        began_us: its start in microseconds since 1970, as in its row: ids of runs repeat between clusters.
        joined: the trace of the request that started it.
    """
    return joined.trace_id if joined is not None else _number(f"run {run} {began_us}", 16)


def run_span_id(run: WorkflowInstanceId, running_since_us: int | None) -> int:
    """The span of a run, from its start or from when a command last resumed it."""
    return _number(f"run {run} since {running_since_us}", 8)


def attempt_span_id(attempt: TaskInstanceId) -> int:
    return _number(f"attempt {attempt}", 8)


def _number(text: str, size: int) -> int:
    """A non-zero number of `size` bytes."""
    return int.from_bytes(hashlib.sha256(f"shoal {text}".encode()).digest()[:size], "big") or 1
