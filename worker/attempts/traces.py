"""The trace that an attempt is part of: what its process and the log of its worker say of it."""

from __future__ import annotations

from dao.tasks.task_claims import ClaimedTask
from model.runs.traces import TraceParent, attempt_span_id, read_traceparent, trace_id_of

VARIABLE = "TRACEPARENT"


def trace_of(task: ClaimedTask, *, traced: bool) -> TraceParent | None:
    """The place of an attempt in its trace: its span.

    Without spans of attempts (not `traced`) it is what the request that started its run has sent, if it has.
    """
    joined = read_traceparent(task.traceparent)
    if not traced:
        return joined
    trace_id = trace_id_of(task.workflow_instance_id, task.run_began_us, joined)
    return TraceParent(trace_id, attempt_span_id(task.id), joined is None or joined.sampled)


def log_fields(trace: TraceParent | None) -> dict[str, str]:
    """What the worker's own lines about an attempt say of it."""
    return {} if trace is None else {"trace": f"{trace.trace_id:032x}"}


def trace_variable(trace: TraceParent | None) -> dict[str, str]:
    """The variable for the environment of the attempt's process: what it does stands below its span."""
    return {} if trace is None else {VARIABLE: str(trace)}
