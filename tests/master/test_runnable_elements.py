"""Tasks with `each`: their elements are queued, repeated, halted and restored, and end the task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from master.claim.revival import revival
from master.drive.events import Effect, Finish, HoldTasks, KillTasks, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import CommandId, TaskCode, WorkflowInstanceId
from model.parameters.large_values import Content, LargeValue, ValuesMissing, forget, remember
from model.parameters.values_to_keep import ToKeep, ValueUnkept, forget_kept, remember_kept
from model.runs.command_moves import CommandType
from model.runs.commands import Move
from model.runs.elements import element_code
from model.runs.instances import AttemptEnd, HaltRequest, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.master.plans import Task, a_plan, a_runnable, an_instance

A, B = TaskCode(1), TaskCode(2)


def mapped(over: Any = '["x", "y", "z"]', **each: Any) -> Plan:
    task: Task = {"each": {"over": over, **each}}
    return a_plan({"a": [], "b": ["a"]}, fields={"a": task})


def begun(effects: list[Effect]) -> list[TaskAttempt]:
    return [effect for effect in effects if isinstance(effect, TaskAttempt)]


def indexes(effects: list[Effect]) -> list[int]:
    """The elements that begin, by their index."""
    return [-each.code % 16_384 for each in begun(effects) if each.code < 0]


def end(runnable: Runnable, index: int, state: T = T.SUCCESS, attempt: int = 1, **outputs: str) -> list[Effect]:
    text = json.dumps(outputs) if outputs else None
    return runnable.handle(AttemptEnd(element_code(A, index), attempt, state, text))


def test_each_element_is_an_attempt_with_its_own_value_and_place() -> None:
    effects = begun(a_runnable(mapped('[{"n": 1.50}, "y", [1]]')).handle(Started()))
    assert [each.code for each in effects] == [A, *(element_code(A, index) for index in range(3))]
    assert effects[0].state is T.RUNNING_EXECUTION
    assert [json.loads(each.values) for each in effects[1:]] == [
        {"each": '{"n": 1.5}', "each_index": "0"},
        {"each": "y", "each_index": "1"},
        {"each": "[1]", "each_index": "2"},
    ]


def test_a_task_ends_with_a_list_of_values_in_the_order_of_its_elements() -> None:
    runnable = a_runnable(mapped())
    runnable.handle(Started())
    assert end(runnable, 2, n="3") == end(runnable, 0, n="it's", m="[1]") == []
    whole, follows = end(runnable, 1, T.SKIPPED)
    assert isinstance(whole, AttemptEnd) and isinstance(follows, TaskAttempt)
    assert (whole.code, whole.state) == (A, T.SUCCESS)
    assert json.loads(whole.outputs or "") == {"n": '["it\'s", null, 3]', "m": "[[1], null, null]"}
    assert json.loads(follows.values)["n"] == '["it\'s", null, 3]'


def test_no_more_elements_are_under_way_than_the_task_allows() -> None:
    runnable = a_runnable(mapped(parallel=2))
    assert indexes(runnable.handle(Started())) == [0, 1]
    assert indexes(end(runnable, 1)) == [2]
    assert end(runnable, 0) == []
    assert begun(end(runnable, 2))[-1].code == B


def test_a_failed_element_fails_its_task_once_all_have_ended() -> None:
    runnable = a_runnable(mapped(parallel=1))
    runnable.handle(Started())
    assert indexes(end(runnable, 0, T.FAILURE)) == [1]
    end(runnable, 1)
    whole, finish = end(runnable, 2)
    assert whole == AttemptEnd(A, 1, T.FAILURE, None, "1 of 3 elements failed, the first is a[0]")
    assert finish == Finish(W.FAILURE, 'task "a" failed')


def test_with_stop_no_element_begins_after_one_has_failed() -> None:
    runnable = a_runnable(mapped(parallel=2, on_failure="stop"))
    runnable.handle(Started())
    assert end(runnable, 1, T.FAILURE) == []
    said = "1 of 3 elements failed, the first is a[1]; 1 did not begin, since on_failure is stop"
    assert end(runnable, 0)[0] == AttemptEnd(A, 1, T.FAILURE, None, said)


def test_an_empty_list_succeeds_at_once_and_gives_empty_lists_to_those_who_name_them() -> None:
    fields: dict[str, Task] = {"a": {"each": "[]"}, "b": {"params": {"write": "${a.rows[0].n}${a.rows}"}}}
    effects = a_runnable(a_plan({"a": [], "b": ["a"]}, fields=fields)).handle(Started())
    assert effects[1] == AttemptEnd(A, 1, T.SUCCESS, '{"rows": "[]"}')


def test_what_is_no_list_fails_the_task_with_a_sentence() -> None:
    plan = a_plan({"a": [], "b": ["a"]}, fields={"b": {"each": "${n}"}})
    runnable = a_runnable(plan)
    runnable.handle(Started())
    failed, _ = runnable.handle(AttemptEnd(A, 1, T.SUCCESS, '{"n": "a, b"}'))
    assert isinstance(failed, TaskAttempt) and failed.state is T.FAILURE
    assert failed.reason == 'each needs a JSON list such as ["a", "b"], not \'a, b\''
    runnable = a_runnable(plan)
    runnable.handle(Started())
    many = json.dumps({"n": json.dumps([0] * 16_385)})
    failed, _ = runnable.handle(AttemptEnd(A, 1, T.SUCCESS, many))
    assert isinstance(failed, TaskAttempt) and failed.reason.startswith("each has 16,385 elements, and at most 16,384")


def test_parts_and_local_parameters_are_those_of_each_element() -> None:
    task: Task = {
        "each": [{"name": "a", "n": 1}, {"name": "b"}],
        "params": {"write": "${each.name} ${each.n} ${twice}"},
        "local_params": {"twice": "${each.name}${each.name}$[yyyy]"},
    }
    effects = begun(a_runnable(a_plan({"a": []}, fields={"a": task})).handle(Started()))
    first = json.loads(effects[1].values)
    assert {name: first[name] for name in ("each.name", "each.n", "twice")} == {
        "each.name": "a",
        "each.n": "1",
        "twice": "aa1970",
    }
    assert effects[2].state is T.FAILURE
    assert effects[2].reason == "${each.n} has no value: this element has no such part"


def test_elements_go_without_the_list_unless_their_task_names_it() -> None:
    def values(write: str) -> dict[str, str]:
        fields = {"b": {"each": "${a.n}", "params": {"write": write}}}
        runnable = a_runnable(a_plan({"a": [], "b": ["a"]}, fields=fields))
        runnable.handle(Started())
        effects = begun(runnable.handle(AttemptEnd(A, 1, T.SUCCESS, '{"n": "[1, 2]", "m": "7"}')))
        found: dict[str, str] = json.loads(effects[1].values)
        return found

    assert values("") == {"m": "7", "each": "1", "each_index": "0"}
    assert values("${n}") == {"m": "7", "n": "[1, 2]", "each": "1", "each_index": "0"}


def test_an_element_is_retried_as_any_task() -> None:
    plan = a_plan({"a": []}, fields={"a": {"each": ["x", "y"], "retry_times": 1, "retry_interval": 2}})
    runnable = a_runnable(plan)
    runnable.handle(Started())
    (again,) = end(runnable, 0, T.FAILURE)
    assert isinstance(again, TaskAttempt)
    assert (again.attempt, again.retries, again.state, again.due_in_minutes) == (2, 1, T.DELAY_EXECUTION, 2)
    assert json.loads(again.values) == {"each": "x", "each_index": "0"}
    assert end(runnable, 1) == []
    assert end(runnable, 0, attempt=1) == [], "an end that was told before"
    assert end(runnable, 0, T.FAILURE, attempt=2) == [
        AttemptEnd(A, 1, T.FAILURE, None, "1 of 2 elements failed, the first is a[0]"),
        Finish(W.FAILURE, 'task "a" failed'),
    ]


def test_a_lost_element_is_queued_again() -> None:
    runnable = a_runnable(mapped())
    runnable.handle(Started())
    (again,) = end(runnable, 0, T.NEED_FAULT_TOLERANCE)
    assert isinstance(again, TaskAttempt) and (again.code, again.attempt) == (element_code(A, 0), 2)


def test_a_pause_holds_elements_and_the_task_with_them() -> None:
    runnable = a_runnable(mapped(parallel=2))
    runnable.handle(Started())
    assert runnable.handle(HaltRequest(W.READY_PAUSE))[1] == HoldTasks()
    assert end(runnable, 0, T.PAUSE) == []
    assert end(runnable, 1) == [AttemptEnd(A, 1, T.PAUSE), Finish(W.PAUSE, "it was paused")]


def test_a_stop_kills_elements_and_the_task_with_them() -> None:
    runnable = a_runnable(mapped(parallel=2))
    runnable.handle(Started())
    assert isinstance(runnable.handle(HaltRequest(W.READY_STOP))[1], KillTasks)
    assert end(runnable, 0) == []
    assert end(runnable, 1, T.KILL) == [
        AttemptEnd(A, 1, T.KILL, None, "its workflow was stopped"),
        Finish(W.STOP, "it was stopped"),
    ]


def test_with_end_a_failed_task_kills_the_elements_of_another() -> None:
    plan = a_plan({"a": [], "b": []}, fields={"a": {"each": ["x", "y"]}})
    runnable = a_runnable(plan, FailureStrategy.END)
    runnable.handle(Started())
    assert runnable.handle(AttemptEnd(B, 1, T.FAILURE)) == [KillTasks()]
    end(runnable, 0, T.KILL)
    whole, finish = end(runnable, 1, T.KILL)
    assert isinstance(whole, AttemptEnd) and whole.state is T.KILL and isinstance(finish, Finish)


def rows_of(effects: list[Effect]) -> dict[int, TaskAttempt]:
    return {-each.code % 16_384: each for each in begun(effects) if each.code < 0}


def test_after_a_failover_the_rest_goes_on_as_it_would_have() -> None:
    plan = a_plan({"a": []}, fields={"a": {"each": {"over": [*"vwxyz"], "parallel": 3}, "retry_times": 1}})
    effects = a_runnable(plan).handle(Started())
    rows = rows_of(effects)
    whole = begun(effects)[0]
    told = (
        whole,
        rows[0]._replace(state=T.SUCCESS, outputs='{"n": "0"}'),
        rows[1]._replace(state=T.FAILURE),
        rows[2],
    )
    runnable = a_runnable(plan)
    after = runnable.handle(Restored(told))
    assert [(-each.code % 16_384, each.attempt) for each in begun(after)] == [(3, 1), (1, 2)]
    for index, attempt in ((1, 2), (2, 1), (3, 1)):
        last = end(runnable, index, attempt=attempt, n=str(index))
    assert indexes(last) == []
    ended = end(runnable, 4, n="4")[0]
    assert isinstance(ended, AttemptEnd) and ended.outputs == '{"n": "[0, 1, 2, 3, 4]"}'


def going_on(plan: Plan, type_: CommandType, rows: list[TaskAttempt]) -> tuple[Runnable, list[Effect]]:
    """The run goes on by a command of this type."""
    move = Move(CommandId(1), type_, WorkflowInstanceId(1))
    on = revival(move, plan, rows)
    told = tuple(row._replace(valid=row.valid and row.code not in on.again) for row in rows)
    runnable = a_runnable(plan)
    return runnable, runnable.handle(Restored(told, (), on.resumes))


def a_failed_run() -> list[TaskAttempt]:
    effects = a_runnable(mapped()).handle(Started())
    rows = rows_of(effects)
    return [
        begun(effects)[0]._replace(state=T.FAILURE, values="{}"),
        rows[0]._replace(state=T.SUCCESS, outputs='{"n": "0"}'),
        rows[1]._replace(state=T.FAILURE, retries=3),
        rows[2]._replace(state=T.SKIPPED),
    ]


def test_a_rerun_of_what_failed_repeats_only_the_failed_elements() -> None:
    runnable, effects = going_on(mapped(), CommandType.START_FAILURE_TASK_PROCESS, a_failed_run())
    assert [(each.code, each.attempt, each.retries) for each in begun(effects)] == [
        (A, 2, 0),
        (element_code(A, 1), 2, 0),
    ]
    ended = end(runnable, 1, attempt=2, n="1")[0]
    assert isinstance(ended, AttemptEnd)
    assert (ended.attempt, ended.outputs) == (2, '{"n": "[0, 1, null]"}')


def test_a_rerun_from_the_start_repeats_all_elements() -> None:
    _, effects = going_on(mapped(), CommandType.REPEAT_RUNNING, a_failed_run())
    assert [(each.code, each.attempt) for each in begun(effects)] == [
        (A, 2),
        *((element_code(A, index), 2) for index in range(3)),
    ]


def test_an_element_whose_value_has_changed_is_run_again() -> None:
    _, effects = going_on(mapped('["x", "Y", "Z"]'), CommandType.START_FAILURE_TASK_PROCESS, a_failed_run())
    assert indexes(effects) == [1, 2]


def test_a_failover_in_the_middle_of_a_rerun_does_not_take_old_failures_for_new_ones() -> None:
    plan = mapped(parallel=1)
    _, effects = going_on(plan, CommandType.START_FAILURE_TASK_PROCESS, a_failed_run())
    whole = begun(effects)[0]
    failed = [row._replace(valid=False) if row.state is T.FAILURE else row for row in a_failed_run()[1:]]
    runnable = Runnable(an_instance(plan), plan)
    assert indexes(runnable.handle(Restored((whole, *failed)))) == [1]


def test_an_element_whose_row_is_damaged_runs_again() -> None:
    effects = a_runnable(mapped()).handle(Started())
    rows = rows_of(effects)
    damaged = rows[0]._replace(state=T.SUCCESS, values="{")
    assert indexes(a_runnable(mapped()).handle(Restored((begun(effects)[0], damaged)))) == [0, 1, 2]


def test_elements_of_a_large_list_are_read_by_each_owner_and_only_named_in_the_row() -> None:
    text = json.dumps([{"n": n, "pad": "x" * 300} for n in range(300)])
    value = LargeValue("20260131/1/1/1.0.value", len(text), "ab" * 32, is_json=True, task="a", name="rows")
    plan = a_plan({"a": [], "b": ["a"]}, fields={"b": {"each": "${a.rows}", "params": {"write": "${each.n}"}}})
    gave = AttemptEnd(A, 1, T.SUCCESS, json.dumps({"rows": value.written}))
    (first := a_runnable(plan)).handle(Started())
    with pytest.raises(ValuesMissing):
        first.handle(gave)
    remember(value, Content(text))
    (again := a_runnable(plan)).handle(Started())
    row, *elements = begun(again.handle(gave))
    assert len(elements) == 300
    assert json.loads(elements[-1].values)["each.n"] == "299"
    assert len(row.values) < 500
    later = a_runnable(plan)
    a = TaskAttempt(A, 1, T.SUCCESS, outputs=gave.outputs)
    later.handle(Restored((a, row, *elements[:7]), (), frozenset()))
    assert {(each.code, 1) for each in elements} <= set(later.under_way())
    forget(value)


TOO_LARGE = a_plan(
    {"a": [], "b": ["a"], "c": ["a"], "d": ["a"]},
    fields={
        "a": {"each": {"over": '["x", "y", "z"]'}},
        "b": {"each": "${a.n}", "params": {"write": "${each.k}"}},
        "c": {"params": {"write": "${a.m}"}},
        "d": {"params": {"write": "${a.n[1].k}"}},
    },
)
ONE = {"k": "1", "pad": "x" * 600_000}


def kept_apart(**first: str) -> tuple[Runnable, ToKeep]:
    """A run whose elements have given too much for a row, and what it wants to be kept."""
    runnable = a_runnable(TOO_LARGE)
    runnable.handle(Started())
    end(runnable, 0, T.SUCCESS, 1, **first, m="1")
    end(runnable, 1, n=json.dumps(ONE), m="1")
    with pytest.raises(ValueUnkept) as unkept:
        end(runnable, 2, m="2")
    return runnable, unkept.value.value


def ended_again(**first: str) -> list[Effect]:
    runnable = a_runnable(TOO_LARGE)
    runnable.handle(Started())
    end(runnable, 0, T.SUCCESS, 1, **first, m="1")
    end(runnable, 1, n=json.dumps(ONE), m="1")
    return end(runnable, 2, m="2")


def test_a_list_that_is_too_large_is_kept_with_large_elements_in_it_by_reference() -> None:
    element = LargeValue("20260131/1/1/1.0.value", 700_000, "ab" * 32, is_json=True, task="a", name="n")
    _, asked = kept_apart(n=element.written)
    assert json.loads(asked.text) == [element.written, ONE, None]
    assert (asked.task, asked.name) == ("a", "n")
    listed = LargeValue("20260131/1/1/" + "cd" * 32 + ".value", 1, "cd" * 32, True, "a", "n", in_parts=True)
    remember_kept(asked, listed)
    remember(listed, Content(asked.text))
    remember(element, Content('{"k": 7}'))
    whole, *follow = ended_again(n=element.written)
    assert isinstance(whole, AttemptEnd)
    assert json.loads(whole.outputs or "") == {"m": "[1, 1, 2]", "n": listed.written}
    row, first, second, third = (each for each in begun(follow) if each.code in (B, *elements_of_b(3)))
    seen = {"each": element.written, "each_index": "0", "each.k": "7", "m": "[1, 1, 2]"}
    assert json.loads(first.values) == seen
    assert first.json_names == ("each", "each.k")
    assert json.loads(second.values)["each.k"] == "1"
    assert third.state is T.FAILURE
    assert len(row.values) < 700
    part = next(each for each in begun(follow) if each.code == 4)
    assert json.loads(part.values)["a.n[1].k"] == "1"
    remember_kept(asked, Refused("the value could not be kept"))
    failed = ended_again(n=element.written)[0]
    assert failed == AttemptEnd(A, 1, T.FAILURE, None, "the value could not be kept")
    for value in (element, listed):
        forget(value)
    forget_kept(asked)


def elements_of_b(count: int) -> list[TaskCode]:
    return [element_code(B, index) for index in range(count)]


def test_elements_that_need_large_values_begin_in_waves_of_as_many_as_are_read_at_once() -> None:
    size = 6_000_000
    values = [LargeValue(f"20260131/1/1/{n}.0.value", size, "ab" * 32, True, "z", "n") for n in range(4)]
    over = json.dumps([each.written for each in values])
    plan = a_plan({"a": []}, fields={"a": {"each": over, "params": {"write": "${each.k}"}}})
    with pytest.raises(ValuesMissing) as asked:
        a_runnable(plan).handle(Started())
    assert asked.value.values == values[:2]
    for value in values[:2]:
        remember(value, Content('{"k": 7}'))
    runnable = a_runnable(plan)
    assert indexes(runnable.handle(Started())) == [0, 1]
    assert end(runnable, 0) == [], "others are read when none is under way"
    with pytest.raises(ValuesMissing) as more:
        end(runnable, 1)
    assert more.value.values == values[2:]
    for value in values:
        forget(value)


def test_a_list_that_nothing_keeps_says_so_to_who_reads_it_also_after_a_failover() -> None:
    _, asked = kept_apart(n=json.dumps(ONE))
    remember_kept(asked, LargeValue.lost(len(asked.text), "a", "n"))
    whole, *follow = ended_again(n=json.dumps(ONE))
    assert isinstance(whole, AttemptEnd)
    assert whole.reason.startswith('too large to be passed on: "n" (1,200,0')
    assert json.loads(whole.outputs or "")["m"] == "[1, 1, 2]"
    failed = next(each for each in begun(follow) if each.code == B)
    assert failed.state is T.FAILURE
    assert failed.reason.startswith('"n" of task "a" (1,200,0')
    assert (
        "was too large to be passed on: a list without a log store, or of what children give, has at" in failed.reason
    )
    rows = (TaskAttempt(A, 1, T.SUCCESS, outputs=whole.outputs),)
    [again] = [each for each in begun(a_runnable(TOO_LARGE).handle(Restored(rows, (), frozenset()))) if each.code == B]
    assert again.reason == failed.reason
    forget_kept(asked)
