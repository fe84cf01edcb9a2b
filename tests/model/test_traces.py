"""The ids of traces: the same on every node, valid by W3C Trace Context, and of no other cluster's run."""

from __future__ import annotations

from model.ids import TaskInstanceId, WorkflowInstanceId
from model.runs.traces import TraceParent, attempt_span_id, read_traceparent, run_span_id, trace_id_of
from tests.every import every

GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_what_is_read_is_written_alike() -> None:
    found = read_traceparent(GIVEN)
    assert found == TraceParent(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, True)
    assert str(found) == GIVEN
    unsampled = read_traceparent(GIVEN[:-1] + "0")
    assert unsampled is not None
    assert not unsampled.sampled
    assert str(read_traceparent("cc" + GIVEN[2:])) == GIVEN, "of a later version what this one knows is taken"


@every(
    "text",
    [
        None,
        "",
        "x",
        GIVEN.upper(),
        f"{GIVEN} ",
        f"{GIVEN}\n",
        "ff" + GIVEN[2:],
        "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01",
    ],
)
def test_what_is_no_trace_context_is_none(text: str | None) -> None:
    assert read_traceparent(text) is None


def test_ids_are_the_same_again_and_differ_from_others() -> None:
    run, attempt = WorkflowInstanceId(7), TaskInstanceId(7)
    assert trace_id_of(run, 5, None) == trace_id_of(run, 5, None)
    assert trace_id_of(run, 5, None) != trace_id_of(run, 6, None), "a run of this id in another cluster"
    assert trace_id_of(run, 5, read_traceparent(GIVEN)) == 0x4BF92F3577B34DA6A3CE929D0E0E4736
    assert len({run_span_id(run, 5), run_span_id(run, 6), attempt_span_id(attempt)}) == 3
    assert 0 < trace_id_of(run, None, None) < 1 << 128
    assert 0 < attempt_span_id(attempt) < 1 << 64
