"""What a task learns of the trace that it is part of."""

from __future__ import annotations

from dao.tasks.task_claims import ClaimedTask
from model.traces import TraceParent, attempt_span_id, read_traceparent, trace_id_of

VARIABLE = "TRACEPARENT"


def trace_variable(task: ClaimedTask, *, traced: bool) -> dict[str, str]:
    """The variable for a task's environment: below the span of its attempt.

    Without spans of attempts (not `traced`) it is what the request that started its run has sent, if it has.
    """
    joined = read_traceparent(task.traceparent)
    if not traced:
        return {} if joined is None else {VARIABLE: str(joined)}
    trace_id = trace_id_of(task.workflow_instance_id, task.run_began_us, joined)
    sampled = joined is None or joined.sampled
    return {VARIABLE: str(TraceParent(trace_id, attempt_span_id(task.id), sampled))}
