"""The duties that write alerts: rules applied to ends and to time, refused commands, and what is wrong and lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from dao.cluster import nodes
from dao.postgres.database import Database
from dao.runs import workflow_instances
from dao.runs.workflow_instances import InstanceEnd
from master.duties.steps import STEPS, Context
from model.duties import DutyName, Step
from model.ids import Epoch, WorkflowInstanceId
from model.nodes import Heartbeat, NodeKind
from model.states import WorkflowState
from tests.dao.scene import Scene

NEW = "INSERT INTO workflow_definition (code, name, project) VALUES (:code, :name, :project)"


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """Two workflows of one project, `load` and `clean`, and one of the same name elsewhere."""
    opened = Database(database_url, application_name="shoal-test")
    made = Scene(opened)
    for code, name, project in ((1, "load", "sales"), (2, "clean", "sales"), (3, "load", "other")):
        await made.sql(NEW, code=code, name=name, project=project)
    yield made
    await opened.close()


async def _do(scene: Scene, name: DutyName = DutyName.ALERT_RULES) -> Step:
    """All steps of a duty."""
    progress: dict[str, Any] = {}
    while True:
        async with scene.writing() as connection:
            writing: Any = connection
            living = await nodes.living(connection)
            context = Context(timedelta(seconds=5), 90, lambda living=living: living)  # type: ignore[misc]
            step = await STEPS[name](writing, context, progress)
        if step.is_over:
            return step
        progress = dict(step.progress)


async def _rule(scene: Scene, text: str, project: str = "sales") -> int:
    statement = "INSERT INTO alert_rule (project, name, text) VALUES (:project, :text, :text) RETURNING id"
    return int((await scene.sql(statement, project=project, text=text))[0])


async def _begin(scene: Scene, code: int = 1, **columns: object) -> int:
    names = "".join(f", {name}" for name in columns)
    places = "".join(f", :{name}" for name in columns)
    statement = f"""INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                        failure_strategy, priority, worker_group{names})
                    SELECT coalesce(max(command_id), 0) + 1, :code, 1, 'RUNNING_EXECUTION', 1, 'CONTINUE', 'MEDIUM',
                           'default'{places} FROM workflow_instance RETURNING id"""
    return int((await scene.sql(statement, code=code, **columns))[0])


async def _end(scene: Scene, run: int, state: str) -> None:
    if state == "STOP":
        await scene.sql("UPDATE workflow_instance SET state = 'READY_STOP' WHERE id = :run", run=run)
    async with scene.writing() as connection:
        await _finish(connection, run, state)


async def _finish(connection: Any, run: int, state: str) -> None:
    await workflow_instances.finish(
        connection, [InstanceEnd(WorkflowInstanceId(run), WorkflowState(state), "")], Epoch(1)
    )


async def _ended(scene: Scene, states: str, code: int = 1, **columns: object) -> list[int]:
    """Runs that ended one after the other: S, F or P."""
    runs = []
    for letter in states:
        runs.append(await _begin(scene, code, **columns))
        await _end(scene, runs[-1], {"S": "SUCCESS", "F": "FAILURE", "P": "STOP"}[letter])
    return runs


async def _alerts(scene: Scene) -> list[Any]:
    return await scene.sql("SELECT kind, alert_group, workflow_instance_id FROM alert ORDER BY id")


# ---------------------------------------------------------------------------------------------- rules on ends


async def test_an_end_is_noted_only_if_its_project_has_a_rule(scene: Scene) -> None:
    await _ended(scene, "SF")
    await _rule(scene, "any run of load fails -> group data")
    await _ended(scene, "SFP")
    await _ended(scene, "SF", code=3)
    await _ended(scene, "SF", dry_run=True)
    assert await scene.sql("SELECT state FROM run_end ORDER BY id") == ["SUCCESS", "FAILURE"]
    await scene.sql("UPDATE alert_rule SET enabled = false")
    await _ended(scene, "SF")
    assert await scene.sql("SELECT count(*) FROM run_end") == [2]


async def test_a_run_that_fails_raises_an_alert_once(scene: Scene) -> None:
    await _rule(scene, "any run of load fails -> group data")
    _, failed = await _ended(scene, "SF")
    await _ended(scene, "F", code=2)
    step = await _do(scene)
    assert (step.is_fine, step.result) == (True, "wrote 1 alerts by 1 rules")
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "data", failed)]
    assert await scene.sql("SELECT subject, severity, project, workflow, facts ->> 'rule' FROM alert") == [
        (
            *(f'run {failed} of workflow "load" failed', "CRITICAL", "sales", "load"),
            "any run of load fails -> group data",
        )
    ]
    assert await scene.sql("SELECT count(*) FROM run_end") == [0]


async def test_a_rule_about_the_project_is_about_each_of_its_workflows_by_itself(scene: Scene) -> None:
    await _rule(scene, "any run of this project fails twice in a row -> group data")
    await _ended(scene, "F")
    await _ended(scene, "F", code=2)
    await _ended(scene, "FF", code=3)
    await _do(scene)
    assert await _alerts(scene) == []
    (second,) = await _ended(scene, "F")
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "data", second)]


async def test_failures_in_a_row_are_counted_over_steps_until_a_success(scene: Scene) -> None:
    await _rule(scene, "any run of load fails three times in a row -> group data")
    await _rule(scene, "any run of load recovers -> group data")
    raised = []
    for letter in "FFSFFFFS":
        (run,) = await _ended(scene, letter)
        before = len(await _alerts(scene))
        await _do(scene)
        raised += [kind for kind, _, of in (await _alerts(scene))[before:] if of == run] or ["-"]
    assert raised == ["-", "-", "RECOVERED", "-", "-", "RULE", "-", "RECOVERED"]


async def test_the_second_end_of_a_run_that_is_run_again_counts_too(scene: Scene) -> None:
    await _rule(scene, "any run of load fails -> group data")
    await _rule(scene, "any run of load fails twice in a row -> group more")
    (run,) = await _ended(scene, "F")
    await scene.sql("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL")
    await _end(scene, run, "FAILURE")
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "data", run), ("RULE", "data", run), ("RULE", "more", run)]


async def test_a_run_below_another_counts_only_where_its_workflow_is_named(scene: Scene) -> None:
    await _rule(scene, "any run of this project fails -> group data")
    await _rule(scene, "any run of load fails -> group load")
    (child,) = await _ended(scene, "F", parent_instance_id=77, parent_task_code=1, parent_attempt=1, child_index=0)
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "load", child)]


async def test_an_end_that_commits_late_is_not_lost(scene: Scene) -> None:
    """Its id is smaller than that of an end that was applied before it could be seen."""
    await _rule(scene, "any run of load fails -> group data")
    late, early = await _begin(scene), await _begin(scene)
    async with scene.writing() as connection:
        await _finish(connection, late, "FAILURE")
        await _end(scene, early, "FAILURE")
        await _do(scene)
        assert await _alerts(scene) == [("RULE", "data", early)]
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "data", early), ("RULE", "data", late)]


async def test_many_ends_are_applied_in_several_steps(scene: Scene) -> None:
    await _rule(scene, "any run of load fails -> group data")
    await scene.sql(
        "INSERT INTO run_end (workflow_instance_id, workflow_code, state, ended_at, is_child) "
        "SELECT n, 1, 'FAILURE', clock_timestamp() + n * interval '1 ms', false FROM generate_series(1, 1100) AS n"
    )
    assert (await _do(scene)).result == "wrote 1100 alerts by 1 rules"
    assert await scene.sql("SELECT count(DISTINCT workflow_instance_id) FROM alert") == [1100]


async def test_a_rule_that_cannot_work_says_why_and_the_others_go_on(scene: Scene) -> None:
    broken = await _rule(scene, "when load fails, call me")
    gone = await _rule(scene, "any run of lod fails -> group data")
    await _rule(scene, "any run of load fails -> group data")
    (run,) = await _ended(scene, "F")
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "data", run)]
    problems = dict(await scene.sql("SELECT id, problem FROM alert_rule WHERE problem IS NOT NULL"))
    assert problems.keys() == {broken, gone}
    assert "says not who is notified" in problems[broken]
    assert problems[gone] == 'there is no workflow "lod" in project "sales"'
    await scene.sql(NEW, code=4, name="lod", project="sales")
    await scene.sql("UPDATE alert_rule SET text = 'any run of load fails -> group a' WHERE id = :id", id=broken)
    assert await scene.sql("SELECT problem FROM alert_rule WHERE id = :id", id=broken) == [None], "at once"
    await _do(scene)
    assert await scene.sql("SELECT count(*) FROM alert_rule WHERE problem IS NOT NULL") == [0]


async def test_a_changed_rule_counts_from_then_on(scene: Scene) -> None:
    id_ = await _rule(scene, "any run of load fails twice in a row -> group data")
    await _ended(scene, "F")
    await _do(scene)
    before = await scene.sql("SELECT updated_at FROM alert_rule")
    await scene.sql("UPDATE alert_rule SET enabled = false")
    await scene.sql("UPDATE alert_rule SET enabled = true")
    assert await scene.sql("SELECT updated_at FROM alert_rule") > before
    await _ended(scene, "F")
    await _do(scene)
    assert await _alerts(scene) == []
    await scene.sql("DELETE FROM alert_rule WHERE id = :id", id=id_)
    assert await scene.sql("SELECT count(*) FROM alert_rule_state") == [0]


# ---------------------------------------------------------------------------------------------- rules on time


async def _since(scene: Scene, run: int, ago: str) -> None:
    statement = (
        "UPDATE workflow_instance SET running_since = clock_timestamp() - CAST(:ago AS interval) WHERE id = :run"
    )
    await scene.sql(statement, run=run, ago=ago)


async def test_a_run_that_takes_too_long_raises_an_alert_while_it_runs_and_not_again_at_its_end(scene: Scene) -> None:
    await _rule(scene, "load takes longer than 30 minutes -> group ops")
    await _rule(scene, "any run of this project takes longer than 3 hours -> group all")
    long, short, elsewhere = await _begin(scene), await _begin(scene), await _begin(scene, 3)
    for run, ago in ((long, "31 min"), (short, "29 min"), (elsewhere, "9 h")):
        await _since(scene, run, ago)
    for _ in range(2):
        await _do(scene)
        assert await _alerts(scene) == [("RULE", "ops", long)]
    await _end(scene, long, "SUCCESS")
    await _end(scene, short, "SUCCESS")
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "ops", long)]
    await scene.sql("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = :id", id=long)
    await _since(scene, long, "32 min")
    await _do(scene)
    assert len(await _alerts(scene)) == 2, "it runs again"


async def test_a_run_that_took_too_long_between_two_steps_raises_an_alert_at_its_end(scene: Scene) -> None:
    await _rule(scene, "load takes longer than 1 second -> group ops")
    run = await _begin(scene)
    await _since(scene, run, "2 s")
    await _end(scene, run, "SUCCESS")
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "ops", run)]


async def test_what_waits_in_line_does_not_take_long(scene: Scene) -> None:
    await _rule(scene, "load takes longer than 1 second -> group ops")
    run = await _begin(scene)
    await _since(scene, run, "1 h")
    await scene.sql("ALTER TABLE workflow_instance DISABLE TRIGGER USER")
    await scene.sql("UPDATE workflow_instance SET state = 'SERIAL_WAIT'")
    await scene.sql("ALTER TABLE workflow_instance ENABLE TRIGGER USER")
    await _do(scene)
    assert await _alerts(scene) == []


DEADLINE = "clock_timestamp() AT TIME ZONE 'UTC' - interval '1 min'"
"""A minute ago: each rule is about the last one, which may be of yesterday just after midnight."""


async def _expected(scene: Scene, how: str = "ended", since: str = "2 h", workflow: str = "load") -> int:
    (by,) = await scene.sql(f"SELECT to_char({DEADLINE}, 'HH24:MI')")
    (begin,) = await scene.sql(f"SELECT to_char({DEADLINE} - CAST(:since AS interval), 'HH24:MI')", since=since)
    id_ = await _rule(scene, f"late: {workflow} not {how} by {by} since {begin} -> group ops")
    await scene.sql("UPDATE alert_rule SET updated_at = now() - interval '1 d' WHERE id = :id", id=id_)
    return id_


async def _ended_ago(scene: Scene, state: str, ago: str, **columns: object) -> None:
    (run,) = await _ended(scene, state, **columns)
    statement = "UPDATE workflow_instance SET ended_at = now() - CAST(:ago AS interval) WHERE id = :run"
    await scene.sql(statement, run=run, ago=ago)


async def test_what_has_not_ended_by_its_time_is_late_once(scene: Scene) -> None:
    await _expected(scene)
    await _begin(scene)
    await _ended_ago(scene, "S", "4 h")
    for _ in range(2):
        await _do(scene)
        ((subject,),) = [await scene.sql("SELECT subject FROM alert")]
        assert subject.startswith('late: no run of workflow "load" ended by ')
    assert await _alerts(scene) == [("RULE", "ops", None)]


@pytest.mark.parametrize(
    ("how", "state", "is_late"),
    [("ended", "S", False), ("ended", "F", False), ("ended", "P", True), ("succeeded", "F", True)],
)
async def test_which_ends_are_in_time(scene: Scene, how: str, state: str, is_late: bool) -> None:
    await _expected(scene, how)
    await _ended_ago(scene, state, "1 h")
    await _do(scene)
    assert bool(await _alerts(scene)) is is_late


@pytest.mark.parametrize("columns", [{"dry_run": True}, {"command_type": "COMPLEMENT_DATA"}])
async def test_dry_runs_and_backfills_are_not_what_is_expected(scene: Scene, columns: dict[str, object]) -> None:
    await _expected(scene)
    await _ended_ago(scene, "S", "1 h", **columns)
    await _do(scene)
    assert await _alerts(scene) == [("RULE", "ops", None)]


async def test_a_deadline_before_the_rule_was_written_is_none(scene: Scene) -> None:
    id_ = await _expected(scene)
    await scene.sql("UPDATE alert_rule SET updated_at = now() WHERE id = :id", id=id_)
    await _do(scene)
    assert await _alerts(scene) == []


# ---------------------------------------------------------------------------------------------- other alerts


async def test_refused_commands_become_one_alert_for_each_workflow_and_group(scene: Scene) -> None:
    refused = (
        "INSERT INTO error_command (command_id, workflow_code, reason, master_id, warning_type, alert_group) VALUES "
    )
    await scene.sql(
        f"{refused} (1, 1, 'it is OFFLINE', 1, NULL, 'data'), (2, 1, 'no', 1, 'SUCCESS', 'data'), "
        "(3, 1, 'no', 1, 'FAILURE', 'data'), (4, 99, 'there is none', 1, 'all', repeat('x', 1000))"
    )
    await _do(scene)
    await _do(scene)
    assert await scene.sql("SELECT kind, alert_group, project, subject FROM alert ORDER BY id") == [
        (
            *("ERROR_COMMANDS", "default", "sales"),
            '2 commands of workflow "load" were refused; the first, command 1: it is OFFLINE',
        ),
        ("ERROR_COMMANDS", "data", "sales", 'command 3 of workflow "load" was refused: no'),
        ("ERROR_COMMANDS", "default", None, "command 4 was refused: there is none"),
    ]


async def test_a_task_that_still_runs_is_warned_of_once(scene: Scene) -> None:
    run = await _begin(scene, alert_group="ops")
    attempt = """INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                     workflow_priority, task_priority, worker_id, started_at, timeout_s, timeout_strategy)
                 SELECT :run, n, 't' || n, 'SHELL', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', 1,
                        now() - interval '1 min', CASE n WHEN 4 THEN 1e300 ELSE 30 END,
                        (ARRAY['WARN', 'WARNFAILED', 'FAILED', 'WARN'])[n] FROM generate_series(1, 4) AS n"""
    await scene.sql(attempt, run=run)
    for _ in range(2):
        await _do(scene)
        assert await scene.sql("SELECT kind, alert_group, facts ->> 'task' FROM alert ORDER BY id") == [
            ("TASK_TIMEOUT", "ops", "t1"),
            ("TASK_TIMEOUT", "ops", "t2"),
        ]
    await scene.sql("UPDATE task_instance SET state = 'SUCCESS', ended_at = now()")
    assert len(await _alerts(scene)) == 2


async def test_old_alerts_are_deleted_with_their_deliveries(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO alert (kind, severity, subject, created_at) "
        "VALUES ('TEST', 'INFO', 'old', now() - interval '91 d'), ('TEST', 'INFO', 'new', now())"
    )
    await scene.sql("INSERT INTO alert_channel (name, kind, url, key_id) VALUES ('c', 'mailto', 'x', 'k')")
    await scene.sql("INSERT INTO alert_delivery (alert_id, channel_id) SELECT a.id, c.id FROM alert a, alert_channel c")
    assert (await _do(scene, DutyName.ALERT_HISTORY)).result == "deleted 1 old alerts"
    assert await scene.sql("SELECT a.subject FROM alert_delivery d JOIN alert a ON a.id = d.alert_id") == ["new"]


# ---------------------------------------------------------------------------------------------- what lasts


async def _conditions(scene: Scene) -> list[Any]:
    await _do(scene, DutyName.ALERT_CONDITIONS)
    return await scene.sql("SELECT kind, subject FROM alert ORDER BY id")


async def test_a_group_without_workers_is_reported_when_that_lasts_and_when_it_is_over(scene: Scene) -> None:
    master = await scene.master()
    await scene.queue(await scene.instance(master), 1, 2, master=master, worker_group="gpu")
    assert await _conditions(scene) == []
    await scene.sql("UPDATE alert_condition SET since = since - interval '31 s'")
    first = [("GROUP_WITHOUT_WORKERS", 'worker group "gpu" has no worker, and 2 tasks wait for it')]
    assert await _conditions(scene) == first
    assert await _conditions(scene) == first
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now()")
    over = ("RECOVERED", 'worker group "gpu" has a worker again, or nothing waits for it')
    assert await _conditions(scene) == [*first, over]
    assert await _conditions(scene) == [*first, over]
    await scene.queue(await scene.instance(master), 1, master=master, worker_group="gpu")
    await _conditions(scene)
    await scene.sql("UPDATE alert_condition SET since = since - interval '31 s'")
    assert len(await _conditions(scene)) == 3, "it happens again"


async def test_a_group_without_workers_for_a_moment_is_not_reported(scene: Scene) -> None:
    master = await scene.master()
    await scene.queue(await scene.instance(master), 1, master=master, worker_group="gpu")
    await _conditions(scene)
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now()")
    assert await _conditions(scene) == []
    assert await scene.sql("SELECT count(*) FROM alert_condition") == [0]


async def _served(scene: Scene) -> None:
    worker = await scene.worker()
    beat = Heartbeat(epoch=worker.epoch, kind=NodeKind.WORKER, address=worker.address, groups=("default",))
    async with scene.database.reading() as connection:
        await nodes.beat(connection, worker, 0, unanswered=0, heartbeat=beat)


async def test_a_queue_of_which_nothing_begins_is_reported(scene: Scene) -> None:
    await _served(scene)
    master = await scene.master()
    await scene.queue(await scene.instance(master), 1, 2, master=master)
    assert await _conditions(scene) == []
    await scene.sql("UPDATE task_instance SET queued_at = now() - interval '11 min'")
    running = (
        "UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = 1, started_at = now() - interval '{}' "
        "WHERE task_code = 1"
    )
    await scene.sql(running.format("5 min"))
    assert await _conditions(scene) == []
    await scene.sql(running.format("11 min"))
    stands = 'the queue of worker group "default" stands: 1 tasks wait, and none has begun for 10 min'
    assert await _conditions(scene) == [("QUEUE_STANDS", stands)]
    await scene.sql(running.format("1 s"))
    assert (await _conditions(scene))[1:] == [("RECOVERED", 'the queue of worker group "default" moves again')]


async def test_a_pool_that_gives_nothing_is_reported(scene: Scene) -> None:
    await _served(scene)
    await scene.sql("INSERT INTO resource_pool (name) VALUES ('proxies')")
    await scene.sql("INSERT INTO pool_resource (pool_code, name) VALUES (1, 'p1')")
    run = await _begin(scene)
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, is_plain, resources, queued_at) VALUES (:run, 1, 't', 'FAKE', 'QUEUED', "
        "'default', 'MEDIUM', 'MEDIUM', false, '{\"proxies\": 1}', now() - interval '11 min')",
        run=run,
    )
    stands = 'the resource pool "proxies" stands: 1 tasks wait, and none has got a resource for 10 min'
    assert await _conditions(scene) == [("POOL_STANDS", stands)]
    await scene.sql("UPDATE pool_resource SET task_instance_id = 7, worker_id = 1, taken_at = now()")
    assert (await _conditions(scene))[1:] == [("RECOVERED", 'the resource pool "proxies" moves again')]
