"""Tasks that stand for other workflows: children are started, waited for, halted, and go on."""

from __future__ import annotations

import json
from dataclasses import replace

from master.drive.events import Effect, Finish, KillTasks, Restored, ResumeChild, StartChild, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.instances import AttemptEnd, ChildState, HaltRequest, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.every import every
from tests.master.plans import Task, a_plan, a_runnable, an_instance, queued

A, B = TaskCode(1), TaskCode(2)
CHILD: Task = {"type": "SUB_PROCESS", "params": {"workflow": 7, "params": {"p": "<${x}>"}}}
SUB = a_plan({"a": [], "b": ["a"]}, fields={"a": CHILD})
FAILED = Finish(W.FAILURE, 'task "a" failed')


def dynamic(values: str, parallelism: int = 1) -> Plan:
    params = {"workflow": 7, "lists": [{"name": "n", "value": values}], "parallelism": parallelism}
    return a_plan({"a": []}, fields={"a": {"type": "DYNAMIC", "params": params}})


def begun(plan: Plan) -> tuple[Runnable, list[int]]:
    """A started one, and which of its children were."""
    runnable = a_runnable(plan)
    return runnable, starts(runnable.handle(Started()))


def starts(effects: list[Effect]) -> list[int]:
    return [effect.index for effect in effects if isinstance(effect, StartChild)]


def end(runnable: Runnable, index: int, state: W = W.SUCCESS, outputs: str | None = None) -> list[Effect]:
    return runnable.handle(ChildState(A, 1, index, state, outputs))


def test_a_sub_workflow_is_started_with_its_parameters_and_ends_its_task() -> None:
    runnable = a_runnable(SUB)
    child = StartChild(A, 1, 0, "default", 7, None, {"p": "<${x}>"})
    assert runnable.handle(Started()) == [TaskAttempt(A, 1, T.RUNNING_EXECUTION), child]
    outputs = '{"rows": "3"}'
    assert end(runnable, 0, outputs=outputs) == [
        AttemptEnd(A, 1, T.SUCCESS, outputs=outputs),
        queued(B, 1, values=outputs),
    ]


MISSING = 'it ended without a value for its OUT parameter "rows"'
STRICT = f"{MISSING}; return one, declare a default value, or set strict_outputs: false"
OUTS = {"rows": {"direct": "OUT"}, "usual": {"direct": "OUT", "value": "7"}}


@every(
    "content",
    [
        {"type": "SUB_PROCESS", "params": {"workflow": 7}},
        {"type": "DYNAMIC", "params": {"workflow": 7, "lists": [{"name": "n", "value": "a"}]}},
    ],
)
def test_children_that_leave_an_out_parameter_without_a_value_fail_their_task(content: Task) -> None:
    def ended(outputs: str | None, *, dry_run: bool = False, **more: object) -> Effect:
        plan = a_plan({"a": []}, fields={"a": {**content, "local_params": OUTS, **more}})
        runnable = Runnable(replace(an_instance(plan), dry_run=dry_run), plan)
        runnable.handle(Started())
        return end(runnable, 0, outputs=outputs)[0]

    for outputs in (None, '{"usual": "1"}'):
        assert ended(outputs) == AttemptEnd(A, 1, T.FAILURE, reason=STRICT)
        loose = ended(outputs, strict_outputs=False)
        assert isinstance(loose, AttemptEnd)
        assert (loose.state, loose.reason) == (T.SUCCESS, MISSING)
        dry = ended(outputs, dry_run=True)
        assert isinstance(dry, AttemptEnd)
        assert (dry.state, dry.reason) == (T.SUCCESS, "")
    if content["type"] == "SUB_PROCESS":
        given = '{"rows": ""}'
        assert ended(given) == AttemptEnd(A, 1, T.SUCCESS, outputs=given)


def test_a_child_that_gives_an_out_parameter_a_value_of_another_type_fails_its_task() -> None:
    outs = {"rows": {"direct": "OUT", "type": "INTEGER"}}
    plan = a_plan({"a": []}, fields={"a": {"type": "SUB_PROCESS", "params": {"workflow": 7}, "local_params": outs}})
    runnable = Runnable(an_instance(plan), plan)
    runnable.handle(Started())
    ended = end(runnable, 0, outputs='{"rows": "abc"}')[0]
    assert isinstance(ended, AttemptEnd)
    assert (ended.state, ended.outputs) == (T.FAILURE, None)
    assert ended.reason.startswith('its OUT parameter "rows" is INTEGER and must be a whole number such as 42; ')


@every(("state", "ends_as"), [(W.FAILURE, T.FAILURE), (W.STOP, T.KILL)])
def test_a_sub_workflow_that_does_not_succeed_fails_its_task(state: W, ends_as: T) -> None:
    task_end, finish = end(begun(SUB)[0], 0, state)
    assert isinstance(task_end, AttemptEnd)
    assert task_end.state is ends_as
    assert isinstance(finish, Finish)
    assert finish.state is W.FAILURE


def test_a_child_that_somebody_paused_is_waited_for_until_it_has_gone_on_and_ended() -> None:
    runnable, _ = begun(SUB)
    assert end(runnable, 0, W.PAUSE) == []
    assert end(runnable, 0)[0] == AttemptEnd(A, 1, T.SUCCESS)


def test_as_many_children_run_side_by_side_as_may_and_each_once() -> None:
    runnable, first = begun(dynamic("1,2,3,4", parallelism=2))
    assert first == [0, 1]
    assert starts(end(runnable, 1, outputs='{"x": "b"}')) == [2]
    assert starts(end(runnable, 1, outputs='{"x": "b"}')) == []
    assert starts(end(runnable, 2)) == [3]
    end(runnable, 3)
    listed = json.dumps([{}, {"x": "b"}, {}, {}])
    over = AttemptEnd(A, 1, T.SUCCESS, outputs=json.dumps({"dynamic.out": listed, "dynamic.out.a": listed}))
    assert end(runnable, 0) == [over, Finish(W.SUCCESS, "")]


def test_after_a_child_has_failed_no_other_is_started_and_what_runs_is_waited_for() -> None:
    runnable, _ = begun(dynamic("1,2,3", parallelism=2))
    assert end(runnable, 0, W.FAILURE) == []
    assert end(runnable, 1) == [AttemptEnd(A, 1, T.FAILURE, reason="1 of 3 children failed"), FAILED]


def test_a_child_that_failed_and_was_run_again_with_success_has_not_failed_any_more() -> None:
    """Seen before: its task failed, though every child had done well in the end."""
    runnable, _ = begun(dynamic("1,2,3", parallelism=2))
    assert end(runnable, 0, W.FAILURE) == []
    assert starts(end(runnable, 0)) == [2]
    assert end(runnable, 1) == []
    assert end(runnable, 2)[1:] == [Finish(W.SUCCESS, "")]


def test_without_a_tuple_there_is_no_child_and_it_is_a_success() -> None:
    over = AttemptEnd(A, 1, T.SUCCESS, outputs='{"dynamic.out": "[]", "dynamic.out.a": "[]"}')
    assert a_runnable(dynamic("[]")).handle(Started()) == [
        TaskAttempt(A, 1, T.RUNNING_EXECUTION),
        over,
        Finish(W.SUCCESS, ""),
    ]


def test_lists_that_cannot_be_read_fail_the_task() -> None:
    *_, finish = a_runnable(dynamic("[1 2]")).handle(Started())
    assert finish == FAILED


def test_a_pause_that_is_told_after_the_end_is_not_heard() -> None:
    """Seen before: it was counted beside the end, so that another child seemed to rest while it ran."""
    runnable, _ = begun(dynamic("1,2", parallelism=2))
    end(runnable, 0)
    end(runnable, 0, W.PAUSE)
    assert [type(effect).__name__ for effect in runnable.handle(HaltRequest(W.READY_PAUSE))] == ["Enter", "HoldTasks"]
    assert end(runnable, 1, W.PAUSE)[0] == AttemptEnd(A, 1, T.PAUSE)


# ------------------------------------------------------------------------------------------------ halting


@every(
    ("asked", "child", "task", "finish"),
    [
        (W.READY_PAUSE, W.PAUSE, T.PAUSE, W.PAUSE),
        (W.READY_PAUSE, W.FAILURE, T.FAILURE, W.FAILURE),
        (W.READY_STOP, W.STOP, T.KILL, W.STOP),
        (W.READY_STOP, W.PAUSE, T.KILL, W.STOP),
    ],
)
def test_a_halted_workflow_ends_when_its_children_have_come_to_rest(asked: W, child: W, task: T, finish: W) -> None:
    runnable, _ = begun(SUB)
    assert not any(isinstance(effect, AttemptEnd | Finish) for effect in runnable.handle(HaltRequest(asked)))
    over, last = end(runnable, 0, child)
    assert isinstance(over, AttemptEnd)
    assert isinstance(last, Finish)
    assert (over.state, last.state) == (task, finish)


def test_with_end_the_end_of_one_may_end_others_and_each_ends_once() -> None:
    """Seen before: at a failover the second was looked at again after it had ended, and the master's round failed."""
    plan = a_plan({"a": [], "b": []}, fields={"a": CHILD, "b": CHILD})
    rows = tuple(TaskAttempt(code, 1, T.RUNNING_EXECUTION) for code in (A, B))
    children = tuple(ChildState(code, 1, 0, W.STOP) for code in (A, B))
    effects = a_runnable(plan, FailureStrategy.END).handle(Restored(rows, children))
    assert [effect.code for effect in effects if isinstance(effect, AttemptEnd)] == [A, B]
    assert effects.count(KillTasks()) == 1
    assert isinstance(effects[-1], Finish)


# --------------------------------------------------------------------------------------------- going on


def test_a_failover_starts_the_missing_children_with_what_the_first_ones_saw() -> None:
    """Seen before: the values were computed again, and may differ by the order in which ends are told."""
    plan = dynamic("${list}", parallelism=2)
    row = TaskAttempt(A, 1, T.RUNNING_EXECUTION, values='{"list": "x,y,z"}')
    runnable = Runnable(replace(an_instance(plan), params='{"list": "other"}'), plan)
    effects = runnable.handle(
        Restored((row,), (ChildState(A, 1, 0, W.SUCCESS), ChildState(A, 1, 1, W.RUNNING_EXECUTION)))
    )
    assert effects == [StartChild(A, 1, 2, "default", 7, None, {"n": "z"})]


def resumed(*children: ChildState, attempt: int = 1) -> list[Effect]:
    rows = (TaskAttempt(A, attempt, T.KILL, valid=False),)
    return a_runnable(dynamic("1,2,3", parallelism=2)).handle(Restored(rows, children, frozenset({A})))


def test_children_go_on_under_the_new_attempt_and_those_that_never_were_begin() -> None:
    record, *effects = resumed(ChildState(A, 1, 0, W.SUCCESS), ChildState(A, 1, 1, W.STOP))
    assert isinstance(record, TaskAttempt)
    assert effects == [
        ResumeChild(A, 2, 0, 1),
        ResumeChild(A, 2, 1, 1),
        StartChild(A, 2, 2, "default", 7, None, {"n": "3"}),
    ]


def test_only_the_children_of_the_last_attempt_go_on() -> None:
    """Seen before: those of a run before a repeat were moved to the same places, which the database refuses."""
    _, *effects = resumed(ChildState(A, 1, 0, W.FAILURE), ChildState(A, 2, 0, W.STOP), attempt=2)
    assert effects[0] == ResumeChild(A, 3, 0, 2)
    assert not any(isinstance(effect, ResumeChild) for effect in effects[1:])


def test_what_runs_again_leaves_the_children_of_before_alone() -> None:
    rows, children = (TaskAttempt(A, 1, T.FAILURE, valid=False),), (ChildState(A, 1, 0, W.FAILURE),)
    effects = a_runnable(SUB).handle(Restored(rows, children))
    assert effects[1:] == [StartChild(A, 2, 0, "default", 7, None, {"p": "<${x}>"})]


APART = a_plan({"a": [], "b": ["a"]}, fields={"a": {"type": "SUB_PROCESS", "params": {"workflow": 7, "wait": False}}})


def test_a_run_that_is_not_waited_for_ends_its_task_as_soon_as_it_has_begun() -> None:
    runnable = a_runnable(APART)
    asked = StartChild(A, 1, 0, "default", 7, None, {}, waits=False)
    assert runnable.handle(Started()) == [TaskAttempt(A, 1, T.RUNNING_EXECUTION), asked]
    outputs = '{"started.run": "42"}'
    assert end(runnable, 0, outputs=outputs) == [
        AttemptEnd(A, 1, T.SUCCESS, outputs=outputs),
        queued(B, 1, values=outputs),
    ]


def test_a_new_owner_starts_it_again_only_if_it_has_not_begun() -> None:
    """The former owner's request may still be on its way: the master that makes the run sees whether it exists."""
    attempt = TaskAttempt(A, 1, T.RUNNING_EXECUTION, values="{}")
    assert starts(Runnable(an_instance(APART), APART).handle(Restored((attempt,)))) == [0]
    there = ChildState(A, 1, 0, W.SUCCESS, '{"started.run": "42"}')
    effects = Runnable(an_instance(APART), APART).handle(Restored((attempt,), (there,)))
    assert starts(effects) == []
    assert effects[0] == AttemptEnd(A, 1, T.SUCCESS, outputs='{"started.run": "42"}')


def test_one_that_cannot_be_started_fails_its_task_with_the_reason() -> None:
    task_end, *_ = end(begun(APART)[0], 0, W.FAILURE, "it is OFFLINE")
    assert task_end == AttemptEnd(A, 1, T.FAILURE, reason="the workflow that it starts was not started: it is OFFLINE")
