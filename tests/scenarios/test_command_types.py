"""One scenario for each row of the table of command types."""

from __future__ import annotations

from tests.eventually import eventually
from tests.scenarios.engine import UNTIL_STOPPED, Engine

A_B_C = ({"name": "a"}, {"name": "b", "after": ["a"]}, {"name": "c", "after": ["b"]})


async def test_start_process_runs_everything_from_the_beginning(engine: Engine) -> None:
    code = engine.define(*A_B_C, params={"x": "global", "y": "global"})
    run = await engine.run(code, params={"x": "command"})
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS", "c": "SUCCESS"}
    assert engine.values(run, "a") == {"x": "command", "y": "global"}


async def test_start_current_task_process_task_only_runs_that_task_alone(engine: Engine) -> None:
    code = engine.define(*A_B_C)
    run = await engine.run(code, "START_CURRENT_TASK_PROCESS", start_tasks="b", task_depend_type="TASK_ONLY")
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"b": "SUCCESS"}


async def test_start_current_task_process_task_pre_runs_all_before_it_too(engine: Engine) -> None:
    code = engine.define(*A_B_C)
    run = await engine.run(code, "START_CURRENT_TASK_PROCESS", start_tasks='["b"]', task_depend_type="TASK_PRE")
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS"}


async def test_start_current_task_process_task_post_runs_all_after_it_too(engine: Engine) -> None:
    code = engine.define(*A_B_C)
    run = await engine.run(code, "START_CURRENT_TASK_PROCESS", start_tasks="b", task_depend_type="TASK_POST")
    assert engine.tasks(run) == {"b": "SUCCESS", "c": "SUCCESS"}


async def test_start_current_task_process_with_an_unknown_task_is_refused(engine: Engine) -> None:
    code = engine.define(*A_B_C)
    sentence = await engine.refused(engine.ask("START_CURRENT_TASK_PROCESS", code, start_tasks="bb"))
    assert 'no task "bb"' in sentence
    assert 'did you mean "b"' in sentence


async def test_scheduler_starts_a_run_for_its_schedule_time(engine: Engine) -> None:
    code = engine.define({"name": "a", "local_params": {"day": "$[yyyy-MM-dd]"}})
    run = await engine.run(code, "SCHEDULER", schedule_time="2026-03-01 05:00:00+00", time_zone="Asia/Tokyo")
    assert engine.values(run, "a")["day"] == "2026-03-01"
    query = "SELECT schedule_time::text, time_zone, command_type FROM workflow_instance WHERE id = %s"
    assert engine.cluster.rows(query, run) == [("2026-03-01 05:00:00+00", "Asia/Tokyo", "SCHEDULER")]


async def test_recover_suspended_process_runs_what_was_paused_and_keeps_what_was_done(engine: Engine) -> None:
    code = engine.define({"name": "a"}, {"name": "b", "after": ["a"], "delay_time": 10}, {"name": "c", "after": ["b"]})
    run = await engine.begin(code)
    await engine.task_becomes(run, "b", "DELAY_EXECUTION")
    await engine.change("PAUSE", run)
    assert await engine.end(run) == "PAUSE"
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "PAUSE"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.task_becomes(run, "b", "DELAY_EXECUTION")
    assert engine.attempts(run, "a") == [("SUCCESS", "YES")]
    assert engine.attempts(run, "b") == [("PAUSE", "NO"), ("DELAY_EXECUTION", "YES")]
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"


async def test_recover_suspended_process_runs_what_was_killed_by_a_stop(engine: Engine) -> None:
    script = engine.cluster.journal.script('[ "$SHOAL_ATTEMPT" -gt 1 ] || sleep 300')
    code = engine.define({"name": "a", "type": "SHELL", "params": {"script": script}}, {"name": "b", "after": ["a"]})
    run = await engine.begin(code)
    await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.tasks(run) == {"a": "KILL"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "a") == [("KILL", "NO"), ("SUCCESS", "YES")]


async def test_start_failure_task_process_runs_the_failed_and_all_after_them(engine: Engine) -> None:
    code = engine.define(
        {"name": "a"}, {"name": "b", "after": ["a"], "params": {"fail_attempts": 1}}, {"name": "c", "after": ["b"]}
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "a") == [("SUCCESS", "YES")]
    assert engine.attempts(run, "b") == [("FAILURE", "NO"), ("SUCCESS", "YES")]
    assert engine.attempts(run, "c") == [("SUCCESS", "YES")]


async def test_repeat_running_runs_everything_again_in_the_same_instance(engine: Engine) -> None:
    code = engine.define(*A_B_C)
    run = await engine.run(code)
    await engine.change("REPEAT_RUNNING", run)
    assert await engine.end(run) == "SUCCESS"
    for task in "abc":
        assert engine.attempts(run, task) == [("SUCCESS", "NO"), ("SUCCESS", "YES")]
    assert engine.cluster.one("SELECT run_times FROM workflow_instance WHERE id = %s", run) == 2


async def test_execute_task_runs_the_named_tasks_again(engine: Engine) -> None:
    code = engine.define(*A_B_C)
    run = await engine.run(code)
    await engine.change("EXECUTE_TASK", run, start_tasks="b")
    assert await engine.end(run) == "SUCCESS"
    assert [len(engine.attempts(run, task)) for task in "abc"] == [1, 2, 1]
    await engine.change("EXECUTE_TASK", run, start_tasks="b", task_depend_type="TASK_PRE")
    assert await engine.end(run) == "SUCCESS"
    assert [len(engine.attempts(run, task)) for task in "abc"] == [2, 3, 1]
    await engine.change("EXECUTE_TASK", run, start_tasks="b", task_depend_type="TASK_POST")
    assert await engine.end(run) == "SUCCESS"
    assert [len(engine.attempts(run, task)) for task in "abc"] == [2, 4, 2]


async def test_pause_lets_finish_what_runs_and_starts_nothing_new(engine: Engine) -> None:
    gate = engine.cluster.folder / "pause-gate"
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    code = engine.define(
        {"name": "a", "type": "SHELL", "params": {"script": script}},
        {"name": "later", "delay_time": 10},
        {"name": "b", "after": ["a"]},
    )
    run = await engine.begin(code)
    await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    await engine.task_becomes(run, "later", "PAUSE")
    assert engine.tasks(run)["a"] == "RUNNING_EXECUTION"
    gate.touch()
    assert await engine.end(run) == "PAUSE"
    assert engine.tasks(run) == {"a": "SUCCESS", "later": "PAUSE"}


async def test_stop_kills_what_runs(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, {"name": "b", "after": ["a"]})
    run = await engine.begin(code)
    await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.tasks(run) == {"a": "KILL"}
    assert engine.reason(run) == "it was stopped"


async def test_complement_data_in_series_makes_a_run_for_each_date_one_after_the_other(engine: Engine) -> None:
    code = engine.define({"name": "a", "local_params": {"day": "$[yyyy-MM-dd]"}})
    await engine.begin(code, "COMPLEMENT_DATA", params={"backfill": {"from": "2026-01-01", "to": "2026-01-03"}, "x": 1})
    runs = await _runs(engine, code, 3)
    assert [engine.values(run, "a") for run in runs] == [{"day": f"2026-01-0{day}", "x": "1"} for day in (1, 2, 3)]
    overlaps = """SELECT count(*) FROM workflow_instance a JOIN workflow_instance b ON b.id > a.id
                  AND b.workflow_code = a.workflow_code AND b.started_at < a.ended_at WHERE a.workflow_code = %s"""
    assert engine.cluster.one(overlaps, code) == 0


async def test_complement_data_stops_its_chain_at_a_date_that_failed(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"fail": True}})
    await engine.run(code, "COMPLEMENT_DATA", params={"backfill": {"from": "2026-01-01", "to": "2026-01-03"}})
    assert await _runs(engine, code, 1)
    assert engine.cluster.one("SELECT count(*) FROM command WHERE workflow_code = %s", code) == 0


async def test_complement_data_in_parallel_fills_each_date_once_in_as_many_chains(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    backfill = {"from": "2026-01-01", "to": "2026-01-07", "mode": "PARALLEL", "parallelism": 3}
    await engine.begin(code, "COMPLEMENT_DATA", params={"backfill": backfill})
    runs = await _runs(engine, code, 7)
    days = engine.cluster.rows(
        "SELECT DISTINCT schedule_time::date FROM workflow_instance WHERE workflow_code = %s", code
    )
    assert len(days) == len(runs) == 7


async def test_complement_data_descending_begins_with_the_last_date(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    dates = {"dates": ["2026-01-01", "2026-02-01", "2026-03-01"], "order": "DESC"}
    await engine.begin(code, "COMPLEMENT_DATA", params={"backfill": dates})
    await _runs(engine, code, 3)
    query = "SELECT schedule_time::date::text FROM workflow_instance WHERE workflow_code = %s ORDER BY id"
    assert [day for (day,) in engine.cluster.rows(query, code)] == ["2026-03-01", "2026-02-01", "2026-01-01"]


async def test_complement_data_takes_the_times_of_the_workflows_schedule(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    engine.cluster.rows(
        "INSERT INTO schedule (workflow_code, crontab, state) VALUES (%s, '0 0 5,17 * * ?', 'OFFLINE')",
        code,
    )
    await engine.begin(code, "COMPLEMENT_DATA", params={"backfill": {"from": "2026-01-01", "to": "2026-01-02"}})
    await _runs(engine, code, 4)
    query = "SELECT to_char(schedule_time, 'DD HH24') FROM workflow_instance WHERE workflow_code = %s ORDER BY id"
    assert [time for (time,) in engine.cluster.rows(query, code)] == ["01 05", "01 17", "02 05", "02 17"]


async def test_complement_data_fills_the_workflows_that_depend_on_it_as_well(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    waits = {"groups": [{"items": [{"workflow": code, "cycle": "today"}]}]}
    below = engine.define({"name": "wait", "type": "DEPENDENT", "params": waits}, {"name": "b", "after": ["wait"]})
    dates = {"dates": ["2026-01-01", "2026-01-02"], "dependents": True}
    await engine.begin(code, "COMPLEMENT_DATA", params={"backfill": dates})
    await _runs(engine, code, 2)
    runs = await _runs(engine, below, 2)
    assert [engine.state(run) for run in runs] == ["SUCCESS", "SUCCESS"]


async def test_a_command_of_a_type_that_is_no_more_is_refused_with_the_reason(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}))
    why = await engine.refused(engine.ask("RECOVER_WAITING_THREAD", run=run))
    assert why == "command type RECOVER_WAITING_THREAD is not supported: a waiting run takes up no room"
    assert engine.state(run) == "SUCCESS"


async def test_recover_serial_wait_lets_the_next_go_on_and_only_when_it_is_its_turn(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, execution_type="SERIAL_WAIT")
    first = await engine.begin(code)
    second = await engine.begin(code)
    assert engine.state(second) == "SERIAL_WAIT"
    assert "wait for its end" in await engine.refused(engine.ask("RECOVER_SERIAL_WAIT", run=second))
    assert await engine.done(engine.ask("RECOVER_SERIAL_WAIT", code)) is None
    await engine.change("STOP", first)
    await engine.becomes(second, "RUNNING_EXECUTION")
    await engine.change("STOP", second)
    assert await engine.end(second) == "STOP"


async def test_a_command_that_does_not_fit_the_state_is_refused_and_touches_nothing(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED})
    run = await engine.begin(code)
    await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
    for type_ in (
        "RECOVER_SUSPENDED_PROCESS",
        "START_FAILURE_TASK_PROCESS",
        "REPEAT_RUNNING",
    ):
        assert "is RUNNING_EXECUTION" in await engine.refused(engine.ask(type_, run=run))
    assert engine.tasks(run) == {"a": "RUNNING_EXECUTION"}
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    for type_ in ("PAUSE", "STOP", "START_FAILURE_TASK_PROCESS"):
        assert "is STOP" in await engine.refused(engine.ask(type_, run=run))
    assert "there is no workflow instance" in await engine.refused(engine.ask("PAUSE", run=999_999_999))


async def _runs(engine: Engine, code: int, count: int) -> list[int]:
    """The ids of the runs of a workflow, once there are `count` and all have ended."""
    query = "SELECT id, ended_at IS NOT NULL FROM workflow_instance WHERE workflow_code = %s ORDER BY id"

    def ended() -> list[int] | None:
        rows = engine.cluster.rows(query, code)
        return [id_ for id_, _ in rows] if len(rows) == count and all(over for _, over in rows) else None

    runs = await eventually(ended, within_s=20)
    assert runs is not None
    return runs
