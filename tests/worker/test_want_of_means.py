"""A machine that is short of something for a moment: no task fails for it that has not begun."""

from __future__ import annotations

from model.states import TaskState
from tests.no_descriptors import no_descriptors
from tests.worker.errand import Errands
from worker.executor import TRIES_MAX


async def test_a_task_that_finds_no_descriptor_is_given_back_and_the_next_one_runs(errands: Errands) -> None:
    assert (await errands.shell("echo before")).state is TaskState.SUCCESS
    for spare in range(6):  # at each place where one is needed
        with no_descriptors(spare=spare):
            end = await errands.shell("echo hello")
        assert end.state is TaskState.PAUSE, end.reason
        assert "gave it back" in end.reason
    assert errands.lacked_means == 6
    assert (await errands.shell("echo after")).state is TaskState.SUCCESS


async def test_a_task_that_no_worker_can_begin_fails_at_last_with_the_reason(errands: Errands) -> None:
    with no_descriptors():
        end = await errands.shell("echo hello", attempt=TRIES_MAX)
    assert end.state is TaskState.FAILURE
    assert "Too many open files" in end.reason
