"""Much of everything: history, schedules due at once, tasks in one workflow. None of it holds up the rest."""

from __future__ import annotations

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.scenarios.engine import UNTIL_STOPPED, Engine
from tests.shoal.command_line import CommandLine

RUNS_OF_OLD, TASKS_OF_OLD = 20_000, 200_000
HISTORY = f"""
    SET session_replication_role = replica;
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, ended_at)
    SELECT 1000000 + i, 7, 1, 'SUCCESS', 0, 'CONTINUE', 'MEDIUM', 'default', clock_timestamp()
    FROM generate_series(1, {RUNS_OF_OLD}) AS i;
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, worker_id, started_at, ended_at)
    SELECT 1 + i / 10, 1 + i %% 10, 'old', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', 0, clock_timestamp(),
           clock_timestamp()
    FROM generate_series(0, {TASKS_OF_OLD - 1}) AS i;
    SET session_replication_role = DEFAULT;
    ANALYZE;
"""
READ = """SELECT seq_tup_read::int, coalesce(idx_tup_fetch, 0)::int FROM pg_stat_user_tables
          WHERE relname IN ('task_instance', 'workflow_instance') ORDER BY relname"""
"""Rows read so far of each table: as part of the whole, and by an index. Sessions tell it when they end."""
SCHEDULES = 4_000
ALL_AT_ONCE = """
    WITH due AS (SELECT date_trunc('second', clock_timestamp()) + interval '3 s' AS at)
    INSERT INTO schedule (workflow_code, crontab, time_zone, next_fire_at)
    SELECT %s, to_char(at AT TIME ZONE 'UTC', 'SS MI HH24 "* * ?"'), 'UTC', at FROM due, generate_series(1, %s)
    RETURNING id, next_fire_at
"""
LAYERS, WIDTH = 60, 25


async def test_9937_8290_a_run_reads_none_of_the_tasks_of_other_runs(laptop: Cluster) -> None:
    """Upstream: without an index of the tasks of a workflow instance each look at them read the table: a workflow took
    4 s at first, and 20 s when 200,000 rows lay there.
    Here: with as many rows, whatever a run does, and whoever asks about it, reads next to nothing of them.
    """
    engine = Engine(laptop)
    laptop.rows(HISTORY)
    plan = laptop.rows("EXPLAIN SELECT * FROM task_instance WHERE workflow_instance_id = 4711")
    assert "task_instance_attempt" in plan[0][0], plan
    below = engine.define({"name": "a"}, {"name": "b", "after": ["a"]})
    fields = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": below}}
    above = engine.define(fields, {"name": "flaky", "params": {"fail_attempts": 2}, "retry_times": 1})
    halted = engine.define({"name": "a", **UNTIL_STOPPED})
    waits = {"groups": [{"items": [{"workflow": below, "cycle": "today"}]}]}
    dependent = engine.define({"name": "wait", "type": "DEPENDENT", "params": waits})
    before = laptop.rows(READ)
    await laptop.master()
    await laptop.worker()
    failed = await engine.run(above)
    assert engine.state(failed) == "FAILURE"
    await engine.change("START_FAILURE_TASK_PROCESS", failed)
    assert await engine.end(failed) == "SUCCESS"
    await engine.change("REPEAT_RUNNING", failed)
    await engine.end(failed)
    await engine.run(dependent)
    run = await engine.begin(halted)
    for halt, becomes in {"PAUSE": "READY_PAUSE", "STOP": "STOP"}.items():
        await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
        await engine.change(halt, run)
        await engine.becomes(run, becomes)
    shoal = CommandLine.at(laptop.environment["SHOAL_DATABASE_URL"])
    answers = await shoal.each(f"show {failed}", f"why {run}", f"why {failed}/flaky", "runs", "queue")
    assert {answer.code for answer in answers} == {0}, answers
    for node in laptop.nodes:
        node.close()
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    await eventually(lambda: laptop.one(others), until=0, within_s=20)
    laptop.rows("SELECT pg_stat_force_next_flush()")
    for (whole, found), (whole_before, found_before) in zip(laptop.rows(READ), before, strict=True):
        assert whole == whole_before, "the table was read from one end to the other"
        assert found - found_before < RUNS_OF_OLD


async def test_12231_schedules_that_are_due_in_one_instant_all_fire_and_each_once(engine: Engine) -> None:
    """Upstream: 4,000 schedules of one instant stood in line behind one lock of the database, on two masters; those
    whose turn came too late were dropped.
    Here: masters divide them by slots and fire hundreds in one transaction; none is dropped, none fires twice.
    """
    code = engine.define({"name": "a", "flag": "NO"})
    made = engine.cluster.rows(ALL_AT_ONCE, code, SCHEDULES)
    (due,) = {at for _, at in made}
    fired = "SELECT schedule_id, schedule_time, state FROM workflow_instance WHERE workflow_code = %s ORDER BY 1"
    ended = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NOT NULL"
    await eventually(lambda: engine.cluster.one(ended, code), until=SCHEDULES, within_s=60)
    assert engine.cluster.rows(fired, code) == [(id_, due, "SUCCESS") for id_, _ in made]
    handled = "SELECT outcome, count(*) FROM command_history WHERE type = 'SCHEDULER' GROUP BY 1"
    assert engine.cluster.rows(handled) == [("DONE", SCHEDULES)]
    problems = "SELECT count(*) FROM schedule WHERE workflow_code = %s AND (problem IS NOT NULL OR last_fire_at <> %s)"
    assert engine.cluster.one(problems, code, due) == 0
    engine.cluster.rows("DELETE FROM schedule WHERE workflow_code = %s", code)


async def test_17050_a_workflow_of_many_tasks_holds_up_nobody(engine: Engine) -> None:
    """Upstream: a workflow of a thousand tasks blocked its master: it submitted nothing, and took no other command.
    Here: one of 1,500 tasks runs to its end; those that are started after it, two at each master, end long before.
    """
    tasks = [
        {"name": f"{layer}.{place}", "after": [f"{layer - 1}.{before}" for before in range(WIDTH)] if layer else []}
        for layer in range(LAYERS)
        for place in range(WIDTH)
    ]
    big = await engine.begin(engine.define(*tasks))
    begun = "SELECT count(*) FROM task_instance WHERE workflow_instance_id = %s"
    await eventually(lambda: engine.cluster.one(begun, big) > WIDTH, within_s=20)
    small = engine.define({"name": "a"}, {"name": "b", "after": ["a"]}, priority="HIGHEST")
    others = [await engine.begin(small) for _ in range(4)]
    for run in others:
        assert await engine.end(run) == "SUCCESS"
    assert await engine.end(big) == "SUCCESS"
    counts = "SELECT state, count(*), max(attempt) FROM task_instance WHERE workflow_instance_id = %s GROUP BY 1"
    assert engine.cluster.rows(counts, big) == [("SUCCESS", LAYERS * WIDTH, 1)]
    order = "SELECT array_agg(id ORDER BY ended_at) FROM workflow_instance WHERE id = ANY(%s)"
    assert engine.cluster.one(order, [big, *others])[-1] == big
    owners = "SELECT count(DISTINCT master_id) FROM workflow_instance WHERE id = ANY(%s)"
    assert engine.cluster.one(owners, others) == 2
