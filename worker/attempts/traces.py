"""The trace of an attempt, for its process and for the worker's log."""

from __future__ import annotations

from dao.tasks.task_claims import ClaimedTask
from model.runs.traces import TraceParent, attempt_span_id, read_traceparent, trace_id_of

VARIABLE = "TRACEPARENT"


def trace_of(task: ClaimedTask, *, traced: bool) -> TraceParent | None:
    """The attempt's span.

    Without spans of attempts (not `traced`) it is the place sent by the request that started the run, if any.
    """
    joined = read_traceparent(task.traceparent)
    if not traced:
        return joined
    trace_id = trace_id_of(task.workflow_instance_id, task.run_began_us, joined)
    return TraceParent(trace_id, attempt_span_id(task.id), joined is None or joined.sampled)


def log_fields(trace: TraceParent | None) -> dict[str, str]:
    """The fields for the worker's log lines about an attempt."""
    return {} if trace is None else {"trace": f"{trace.trace_id:032x}"}


def trace_variable(trace: TraceParent | None) -> dict[str, str]:
    """The environment variable that puts the process's own spans below the attempt's."""
    return {} if trace is None else {VARIABLE: str(trace)}
