"""What `shoal why` says of streams."""

from __future__ import annotations

from typing import Any

from model.runs.states import TaskState, WaitReason, WorkflowState
from service.explain.explanation import why_task
from service.explain.run_explanation import RunFacts, why_run
from service.explain.subjects import RestartFacts, TaskFacts
from tests.every import every

T = TaskState


@every(
    ("facts", "sentence"),
    [
        (
            {"state": T.DELAY_EXECUTION, "due_in_s": 20.0, "retries": 5, "last_exit_code": 1},
            "a starts again in 20.0 s: it ended 5 times in a row, the last time with exit code 1.",
        ),
        ({"state": T.DELAY_EXECUTION, "due_in_s": 1.0, "retries": 1}, "a starts again in 1.0 s: it ended once."),
        (
            {"state": T.RUNNING_EXECUTION, "worker": "w1", "since_s": 60.0, "is_ready": True},
            "a runs on w1 for 1 min 0 s, and is ready.",
        ),
        (
            {"state": T.RUNNING_EXECUTION, "worker": "w1", "is_ready": False},
            "a runs on w1, and is not ready: its readiness probe fails.",
        ),
        ({"state": T.RUNNING_EXECUTION, "worker": "w1"}, "a runs on w1."),
        (
            {"state": T.RUNNING_EXECUTION, "worker": "w1", "restart": RestartFacts("anna", after=["b"])},
            "a runs on w1. anna restarts it when b is ready again.",
        ),
        (
            {"state": T.RUNNING_EXECUTION, "worker": "w1", "restart": RestartFacts("anna")},
            "a runs on w1. anna restarts it.",
        ),
        (
            {"state": T.RUNNING_EXECUTION, "worker": "w1", "restart": RestartFacts("anna", queued=["b", "c"])},
            "a runs on w1. anna restarts it when a worker has b, c, or after a minute.",
        ),
        (
            {"state": T.DELAY_EXECUTION, "due_in_s": 9.0, "restart": RestartFacts("anna", then=["b", "c"])},
            "a starts again in 9.0 s: it ended once. anna restarts it; when it is ready again: b, c.",
        ),
    ],
)
def test_a_stream_is_explained_in_a_sentence(facts: dict[str, Any], sentence: str) -> None:
    wait = {"wait_reason": WaitReason.RETRY} if facts["state"] is T.DELAY_EXECUTION else {}
    task = TaskFacts(1, "a", 7, is_stream=True, **wait, **facts)
    assert why_task(task, WorkflowState.RUNNING_EXECUTION).sentence == sentence


def test_the_next_step_of_a_pausing_stream_starts_it() -> None:
    task = TaskFacts(
        1, "a", 7, T.DELAY_EXECUTION, wait_reason=WaitReason.RETRY, due_in_s=20.0, is_stream=True, retries=2
    )
    assert "shoal task restart 1 --task a" in (why_task(task, WorkflowState.RUNNING_EXECUTION).do or "")


def test_a_run_waits_for_the_stream_that_does_not_become_ready_and_holds_up_the_restart_of_others() -> None:
    fine = TaskFacts(1, "a", 7, T.RUNNING_EXECUTION, is_stream=True, is_ready=True, since_s=60.0, worker="w1")
    restart = RestartFacts("anna", then=["a", "c"])
    stands = TaskFacts(1, "b", 8, T.RUNNING_EXECUTION, is_stream=True, is_ready=False, worker="w1", restart=restart)
    why = why_run(RunFacts(1, "crawl", WorkflowState.RUNNING_EXECUTION, [fine, stands], 60.0, owner="m1:1"))
    assert "waits for b." in why.sentence
    assert "is not ready: its readiness probe fails. anna restarts it; when it is ready again: a, c." in why.sentence
    assert "Once more: shoal task restart 1 --task b   Without it: shoal task restart 1 --task a" in why.do
