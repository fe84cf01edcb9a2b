"""The spans of an ended run, made from its rows: one for the run, and one for each attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dao.runs.run_spans import EndedAttempt, EndedRun
from model.runs.states import TaskState, WorkflowState
from model.runs.traces import TraceParent, attempt_span_id, read_traceparent, run_span_id, trace_id_of

REASON_LENGTH_MAX = 1_000
_FAILED = {
    WorkflowState.FAILURE.value,
    TaskState.FAILURE.value,
    TaskState.NEED_FAULT_TOLERANCE.value,
}


@dataclass(frozen=True, slots=True)
class Span:
    """A span; times are nanoseconds since 1970. `failed` is the reason of a failure; `link` a span of another trace."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    failed: str | None = None
    link: TraceParent | None = None


def is_recorded(run: EndedRun) -> bool:
    """Whether to record the spans of a run: its start may have joined an unrecorded trace."""
    joined = read_traceparent(run.traceparent)
    return joined is None or joined.sampled


def span_of_run(run: EndedRun) -> Span:
    """The span of a run from its start, or from when a command last resumed it."""
    joined = read_traceparent(run.traceparent)
    end_ns = 1000 * (run.ended_us or run.began_us or 0)
    link = None
    if (parent := run.parent) is not None:
        above = trace_id_of(parent.run, parent.run_began_us, read_traceparent(parent.traceparent))
        link = TraceParent(above, attempt_span_id(parent.id))
    return Span(
        run.workflow or f"run {run.id}",
        trace_id_of(run.id, run.began_us, joined),
        run_span_id(run.id, run.running_since_us),
        None if joined is None else joined.span_id,
        min(1000 * (run.running_since_us or run.began_us or 0), end_ns),
        end_ns,
        _attributes(
            {
                "shoal.run": run.id,
                "shoal.project": run.project,
                "shoal.workflow": run.workflow,
                "shoal.version": run.version,
                "shoal.state": run.state,
            }
        ),
        _why(run.state, run.reason),
        link,
    )


def spans_of_attempts(run: EndedRun, above: Span, attempts: Iterable[EndedAttempt]) -> Iterator[Span]:
    """The spans of attempts below that of their run, except attempts that ended before it was last resumed."""
    since_us = run.running_since_us or 0
    for each in attempts:
        assert each.ended_us is not None
        if each.ended_us < since_us:
            continue
        start_us = min(each.started_us or each.queued_us or each.ended_us, each.ended_us)
        yield Span(
            each.task,
            above.trace_id,
            attempt_span_id(each.id),
            above.span_id,
            1000 * start_us,
            1000 * each.ended_us,
            _attributes(
                {
                    "shoal.run": run.id,
                    "shoal.attempt_id": each.id,
                    "shoal.attempt": each.attempt,
                    "shoal.task": each.task,
                    "shoal.type": each.type,
                    "shoal.state": each.state,
                    "shoal.worker_group": each.worker_group,
                    "shoal.worker": each.worker,
                    "shoal.queued_us": None if each.queued_us is None else max(0, start_us - each.queued_us),
                }
            ),
            _why(each.state, each.reason),
        )


def _attributes(given: Mapping[str, str | int | None]) -> dict[str, str | int]:
    return {name: value for name, value in given.items() if value is not None}


def _why(state: str, reason: str | None) -> str | None:
    return (reason or state)[:REASON_LENGTH_MAX] if state in _FAILED else None
