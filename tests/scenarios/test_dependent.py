"""Scenarios of DEPENDENT: what it waits for, when it is woken, and how it ends."""

from __future__ import annotations

import signal
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine

AT = "2026-03-04 10:30:00+00"
"""A Wednesday; what a run depends on is computed from its schedule time."""
THE_DAY_BEFORE = "2026-03-03 23:59:59+00"


def waits(*items: dict[str, Any], **params: Any) -> dict[str, Any]:
    return waits_for([{"items": list(items)}], **params)


def waits_for(groups: list[dict[str, Any]], **params: Any) -> dict[str, Any]:
    return {"name": "wait", "type": "DEPENDENT", "params": {"groups": groups, **params}}


def on(workflow: int | str, cycle: str = "today", **fields: Any) -> dict[str, Any]:
    return {"workflow": workflow, "cycle": cycle, **fields}


async def _waiting(engine: Engine, task: dict[str, Any], **fields: Any) -> int:
    run = await engine.begin(engine.define(task, {"name": "after", "after": ["wait"]}), schedule_time=AT, **fields)
    await engine.task_becomes(run, "wait", "RUNNING_EXECUTION")
    return run


async def _end_by_hand(engine: Engine, run: int, state: str) -> None:
    await engine.claim(run, "a")
    engine.report(run, "a", state)


async def test_it_succeeds_at_once_if_what_it_depends_on_has_succeeded(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    await engine.run(code, schedule_time=AT)
    run = await engine.run(engine.define(waits(on(code))), schedule_time=AT)
    assert engine.state(run) == "SUCCESS"
    assert engine.why(run, "wait") == "what it depends on has succeeded"


async def test_it_waits_for_the_whole_workflow_and_is_woken_by_its_end(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND})
    below = await engine.begin(code, schedule_time=AT)
    run = await _waiting(engine, waits(on(code)))
    await _end_by_hand(engine, below, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    woken = """SELECT extract(epoch FROM t.ended_at - i.ended_at) FROM task_instance t, workflow_instance i
               WHERE t.workflow_instance_id = %s AND t.task_name = 'wait' AND i.id = %s"""
    assert 0 <= engine.cluster.one(woken, run, below) < 2


async def test_it_waits_for_what_has_not_begun(engine: Engine) -> None:
    code = engine.define({"name": "a"}, name="named by others")
    run = await _waiting(engine, waits(on("named by others")))
    await engine.run(code, schedule_time=THE_DAY_BEFORE)
    assert engine.tasks(run) == {"wait": "RUNNING_EXECUTION"}, "of another day"
    await engine.run(code, schedule_time=AT)
    assert await engine.end(run) == "SUCCESS"


async def test_it_fails_when_what_it_depends_on_fails(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND})
    below = await engine.begin(code, schedule_time=AT)
    run = await _waiting(engine, waits(on(code)))
    await _end_by_hand(engine, below, "FAILURE")
    assert await engine.end(run) == "FAILURE"
    assert engine.tasks(run) == {"wait": "FAILURE"}
    assert engine.why(run, "wait") == (
        f"workflow with code {code} (today) has failed; repeat what is missing, then this task"
    )


async def test_with_on_failure_wait_a_repetition_is_waited_for(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND})
    below = await engine.begin(code, schedule_time=AT)
    await _end_by_hand(engine, below, "FAILURE")
    assert await engine.end(below) == "FAILURE"
    run = await _waiting(engine, waits(on(code), on_failure="WAIT"))
    await engine.change("START_FAILURE_TASK_PROCESS", below)
    await _end_by_hand(engine, below, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


@pytest.mark.parametrize("task", [None, "*"])
async def test_a_rerun_of_some_tasks_is_no_success_while_it_leaves_others_to_do(
    engine: Engine, task: str | None
) -> None:
    code = engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]})
    below = await engine.begin(code, schedule_time=AT)
    await _end_by_hand(engine, below, "FAILURE")
    assert await engine.end(below) == "FAILURE"
    await engine.change("EXECUTE_TASK", below, start_tasks="a")
    await _end_by_hand(engine, below, "SUCCESS")
    assert await engine.end(below) == "SUCCESS"
    early = await engine.run(engine.define(waits(on(code, **({"task": task} if task else {})))), schedule_time=AT)
    assert engine.state(early) == "FAILURE"
    await engine.change("EXECUTE_TASK", below, start_tasks="b")
    assert await engine.end(below) == "SUCCESS"
    late = await engine.run(engine.define(waits(on(code, **({"task": task} if task else {})))), schedule_time=AT)
    assert engine.state(late) == "SUCCESS"


async def test_a_start_of_some_tasks_counts_only_for_these_tasks(engine: Engine) -> None:
    code = engine.define({"name": "a"}, {"name": "b", "after": ["a"]})
    await engine.run(
        code, "START_CURRENT_TASK_PROCESS", schedule_time=AT, start_tasks="a", task_depend_type="TASK_ONLY"
    )
    for task, state in ((None, "FAILURE"), ("*", "FAILURE"), ("a", "SUCCESS")):
        named = {"task": task} if task else {}
        run = await engine.run(engine.define(waits(on(code, **named), on_absence="FAIL")), schedule_time=AT)
        assert engine.state(run) == state


async def test_the_latest_run_decides(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND})
    for state in ("SUCCESS", "FAILURE"):
        below = await engine.begin(code, schedule_time=AT)
        await _end_by_hand(engine, below, state)
        await engine.end(below)
    run = await engine.run(engine.define(waits(on(code))), schedule_time=AT)
    assert engine.state(run) == "FAILURE"


async def test_one_task_is_enough_when_only_it_is_named(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, {"name": "b", **BY_HAND})
    below = await engine.begin(code, schedule_time=AT)
    run = await _waiting(engine, waits(on(code, task="a")))
    await _end_by_hand(engine, below, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.state(below) == "RUNNING_EXECUTION"
    await engine.change("STOP", below)
    await engine.end(below)


@pytest.mark.parametrize("every", ["ALL", "*"])
async def test_all_tasks_means_that_none_may_have_failed_even_if_the_workflow_succeeded(
    engine: Engine, every: str
) -> None:
    judge = {"when": {"a": "SUCCESS"}, "on_failure": "cure"}
    code = engine.define(
        {"name": "a", **BY_HAND},
        {"name": "judge", "type": "CONDITIONS", "params": judge, "after": ["a"]},
        {"name": "cure", "after": ["judge"]},
    )
    for state, becomes in (("FAILURE", "FAILURE"), ("SUCCESS", "SUCCESS")):
        below = await engine.begin(code, schedule_time=AT)
        await _end_by_hand(engine, below, state)
        assert await engine.end(below) == "SUCCESS"
        whole = await engine.run(engine.define(waits(on(code))), schedule_time=AT)
        assert engine.state(whole) == "SUCCESS"
        run = await engine.run(engine.define(waits(on(code, task=every))), schedule_time=AT)
        assert engine.state(run) == becomes


async def test_with_on_absence_fail_it_fails_at_once(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    run = await engine.run(engine.define(waits(on(code), on_absence="FAIL")), schedule_time=AT)
    assert engine.state(run) == "FAILURE"
    assert f"workflow with code {code} (today) is not there" in engine.why(run, "wait")


async def test_it_fails_when_wait_minutes_have_passed(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    run = await engine.run(engine.define(waits(on(code), wait_minutes=0.01)), schedule_time=AT)
    assert engine.state(run) == "FAILURE"
    assert "is not there, after 0.6 s of waiting" in engine.why(run, "wait")


async def test_its_timeout_ends_it_too(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    run = await engine.run(engine.define({**waits(on(code)), "timeout": 0.01}), schedule_time=AT)
    assert engine.state(run) == "FAILURE"
    late = f"it took longer than its timeout of 0.6 s: workflow with code {code} (today) is not there yet"
    assert engine.why(run, "wait") == late


async def test_a_workflow_that_does_not_exist_fails_it_with_a_sentence(engine: Engine) -> None:
    run = await engine.run(engine.define(waits(on("nobody"))), schedule_time=AT)
    assert engine.state(run) == "FAILURE"
    assert engine.why(run, "wait") == 'workflow "nobody" (today) does not exist; save that workflow, or name another'


@pytest.mark.parametrize(
    ("relation", "inner", "becomes"),
    [("AND", "AND", "FAILURE"), ("AND", "OR", "RUNNING"), ("OR", "AND", "RUNNING"), ("OR", "OR", "SUCCESS")],
)
async def test_two_levels_of_and_and_or(engine: Engine, relation: str, inner: str, becomes: str) -> None:
    good, bad, absent = (
        engine.define({"name": "a"}),
        engine.define({"name": "a", **BY_HAND}),
        engine.define({"name": "a"}),
    )
    await engine.run(good, schedule_time=AT)
    failed = await engine.begin(bad, schedule_time=AT)
    await _end_by_hand(engine, failed, "FAILURE")
    await engine.end(failed)
    groups = [
        {"relation": inner, "items": [on(good), on(bad)]},
        {"relation": inner, "items": [on(absent)]},
    ]
    run = await engine.begin(engine.define(waits_for(groups, relation=relation)), schedule_time=AT)
    if becomes == "RUNNING":
        await engine.task_becomes(run, "wait", "RUNNING_EXECUTION")
        await engine.run(absent, schedule_time=AT)
        becomes = "SUCCESS"
    assert await engine.end(run) == becomes


@pytest.mark.parametrize(
    ("cycle", "times"),
    [
        ("currentHour", ["2026-03-04 10:00:00+00"]),
        ("last1Hour", ["2026-03-04 09:59:59+00"]),
        ("last3Hours", [f"2026-03-04 0{hour}:15:00+00" for hour in (7, 8, 9)]),
        ("today", ["2026-03-04 00:00:00+00"]),
        ("last1Days", ["2026-03-03 12:00:00+00"]),
        ("last2Days", ["2026-03-02 12:00:00+00", "2026-03-03 12:00:00+00"]),
        ("lastMonday", ["2026-02-23 12:00:00+00"]),
        ("thisWeek", [f"2026-03-0{day} 01:00:00+00" for day in (2, 3, 4)]),
        ("thisMonthBegin", ["2026-03-01 01:00:00+00"]),
        ("lastMonthEnd", ["2026-02-28 01:00:00+00"]),
    ],
)
async def test_each_span_of_its_cycle_must_have_succeeded(engine: Engine, cycle: str, times: list[str]) -> None:
    code = engine.define({"name": "a"})
    run = await _waiting(engine, waits(on(code, cycle)))
    *others, last = times
    for time in others:
        await engine.run(code, schedule_time=time)
    assert engine.tasks(run) == {"wait": "RUNNING_EXECUTION"}
    await engine.run(code, schedule_time=last)
    assert await engine.end(run) == "SUCCESS"


@pytest.mark.parametrize(
    ("at", "due"),
    [
        ("same", AT), ("-23h", "2026-03-03 11:30:00+00"), ("-1d", "2026-03-03 10:30:00+00"),
        ("yesterday 06:00", "2026-03-03 05:00:00+00"), ("+30m", "2026-03-04 11:00:00+00"),
    ],
)  # fmt: skip
async def test_with_at_only_the_run_of_that_time_counts(engine: Engine, at: str, due: str) -> None:
    code = engine.define({"name": "a"}, name=f"at {at}")
    item = {"workflow": f"at {at}", "at": at}
    run = await _waiting(engine, waits(item), time_zone="Europe/Berlin")
    moment = datetime.fromisoformat(due)
    for seconds in (-1, 1):
        await engine.run(code, schedule_time=str(moment + timedelta(seconds=seconds)))
    assert engine.tasks(run) == {"wait": "RUNNING_EXECUTION"}
    await engine.run(code, schedule_time=due)
    assert await engine.end(run) == "SUCCESS"


async def test_its_reason_names_what_is_missing_and_what_there_is_instead(engine: Engine) -> None:
    code = engine.define({"name": "a"}, name="asked by time")
    item = {"workflow": "asked by time", "task": "a", "at": "-1d"}
    task = waits(item, on_absence="FAIL")
    first = await engine.run(engine.define(task), schedule_time=AT, time_zone="Europe/Berlin")
    said = 'task "a" of workflow "asked by time" (-1d) for 2026-03-03 11:30:00+01:00'
    do = "repeat what is missing, then this task"
    assert engine.why(first, "wait") == f"{said} is not there (it has no run before that); {do}"
    before = await engine.run(code, schedule_time="2026-03-03 05:00:00+00")
    second = await engine.run(engine.define(task), schedule_time=AT, time_zone="Europe/Berlin")
    instead = f"its latest run before is {before}, for 2026-03-03 06:00:00+01:00, SUCCESS"
    assert engine.why(second, "wait") == f"{said} is not there ({instead}); {do}"


@pytest.mark.parametrize("task", [None, "a"])
async def test_it_passes_on_the_outputs_of_what_it_found(engine: Engine, task: str | None) -> None:
    code = engine.define({"name": "a", **BY_HAND}, outputs=["rows"])
    item = {"workflow": code, "at": "-1d", "pass_outputs": True, **({"task": task} if task else {})}
    after = {"name": "after", "after": ["wait"], **BY_HAND}
    run = await engine.begin(engine.define(waits(item), after), schedule_time=AT)
    await engine.task_becomes(run, "wait", "RUNNING_EXECUTION")
    for due, rows in (("2026-03-03 10:29:00+00", "1"), ("2026-03-03 10:30:00+00", "12")):
        below = await engine.begin(code, schedule_time=due)
        await engine.claim(below, "a")
        engine.report(below, "a", "SUCCESS", rows=rows)
        await engine.end(below)
    await engine.task_becomes(run, "after", "QUEUED")
    assert engine.printed(run, "wait") == {"rows": "12"}
    assert engine.values(run, "after")["rows"] == "12"
    await engine.change("STOP", run)
    await engine.end(run)


async def test_days_are_those_of_the_zone_of_the_run(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    run = await _waiting(engine, waits(on(code)), time_zone="Asia/Tokyo")
    await engine.run(code, schedule_time="2026-03-04 15:00:00+00")  # 00:00 of the day after, in Tokyo
    assert engine.tasks(run) == {"wait": "RUNNING_EXECUTION"}
    await engine.run(code, schedule_time="2026-03-03 15:00:00+00")
    assert await engine.end(run) == "SUCCESS"


async def test_a_workflow_of_another_project_is_named_with_it(engine: Engine) -> None:
    code = engine.define({"name": "a"}, name="theirs")
    engine.cluster.rows("UPDATE workflow_definition SET project = 'other' WHERE code = %s", code)
    await engine.run(code, schedule_time=AT)
    run = await engine.run(engine.define(waits(on("theirs", project="other"))), schedule_time=AT)
    assert engine.state(run) == "SUCCESS"


@pytest.mark.parametrize("by_code", [True, False])
@pytest.mark.parametrize("happened", ["failed", "nothing"])
async def test_a_reason_tells_nothing_of_the_runs_of_another_project(
    engine: Engine, by_code: bool, happened: str
) -> None:
    name = f"theirs, {by_code}, {happened}"
    code = engine.define({"name": "a", **BY_HAND}, name=name)
    engine.cluster.rows("UPDATE workflow_definition SET project = 'other' WHERE code = %s", code)
    if happened == "failed":
        below = await engine.begin(code, schedule_time=AT)
        await _end_by_hand(engine, below, "FAILURE")
        await engine.end(below)
    item = on(code) if by_code else on(name, project="other")
    run = await engine.run(engine.define(waits(item, on_absence="FAIL")), schedule_time=AT)
    named = f"workflow with code {code}" if by_code else f'workflow "{name}" of project "other"'
    assert engine.why(run, "wait") == f"{named} (today) is not met; repeat what is missing, then this task"


async def test_a_reason_does_not_tell_which_workflows_another_project_has(engine: Engine) -> None:
    run = await engine.run(engine.define(waits(on("nobody", project="other"))), schedule_time=AT)
    assert engine.why(run, "wait") == (
        'workflow "nobody" of project "other" (today) is not met; ask somebody with a role in that project'
    )


@pytest.mark.parametrize(("command", "becomes"), [("PAUSE", "PAUSE"), ("STOP", "KILL")])
async def test_it_is_paused_and_stopped_at_once_and_waits_again_when_the_run_goes_on(
    engine: Engine, command: str, becomes: str
) -> None:
    code = engine.define({"name": "a"})
    run = await _waiting(engine, waits(on(code)))
    await engine.change(command, run)
    assert await engine.end(run) == command
    assert engine.tasks(run) == {"wait": becomes}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.task_becomes(run, "wait", "RUNNING_EXECUTION")
    await engine.run(code, schedule_time=AT)
    assert await engine.end(run) == "SUCCESS"
    assert [state for state, _ in engine.attempts(run, "wait")] == [becomes, "SUCCESS"]


async def test_a_dry_run_does_not_wait(engine: Engine) -> None:
    run = await engine.run(engine.define(waits(on(engine.define({"name": "a"})))), dry_run=True)
    assert engine.state(run) == "SUCCESS"


async def test_many_that_wait_for_one_are_all_woken(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    above = engine.define(waits(on(code)))
    runs = [await engine.begin(above, schedule_time=AT) for _ in range(50)]
    waiting = "SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION' AND workflow_instance_id >= %s"
    await eventually(lambda: engine.cluster.one(waiting, runs[0]), until=50, within_s=10)
    await engine.run(code, schedule_time=AT)
    assert {await engine.end(run) for run in runs} == {"SUCCESS"}


async def test_it_survives_a_masters_death(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    code = fresh.define({"name": "a", **BY_HAND})
    run = await _waiting(fresh, waits(on(code)))
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    below = await fresh.begin(code, schedule_time=AT)
    await _end_by_hand(fresh, below, "SUCCESS")
    await fresh.task_becomes(run, "wait", "SUCCESS")
    assert [state for state, _ in fresh.attempts(run, "wait")] == ["SUCCESS"], "one attempt goes on waiting"


async def test_however_many_wait_for_long_one_that_need_not_wait_is_judged(engine: Engine) -> None:
    """They are judged by the thousand; once, those after the first thousand were never judged."""
    never, there = engine.define({"name": "a"}), engine.define({"name": "a"})
    await engine.run(there, schedule_time=AT)
    many = engine.define(*({**waits(on(never)), "name": f"wait {number}"} for number in range(1_050)))
    crowds = [await engine.begin(many, schedule_time=AT) for _ in range(2)]  # neighbours: one for each master
    for crowd in crowds:
        await engine.task_becomes(crowd, "wait 1049", "RUNNING_EXECUTION")
    for _ in range(2):
        assert engine.state(await engine.run(engine.define(waits(on(there))), schedule_time=AT)) == "SUCCESS"
    for crowd in crowds:
        await engine.change("STOP", crowd)
        await engine.end(crowd)
