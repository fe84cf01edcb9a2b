"""The duty `retention`: what goes, what stays, and that what went is not done again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dao.definitions import release
from dao.postgres.sql import Sql
from dao.retention import old_runs
from master.duties import retention
from model.cluster import duties
from model.ids import WorkflowCode
from model.runs.retention_pace import PAUSE_SHARE, READ_MAX, ROWS_MAX
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene
from tests.master.finished_runs import OLD, YOUNG, delete_old, finished, handle, left, scene

__all__ = ["scene"]
pytestmark = pytest.mark.usefixtures("scene")


async def test_what_ended_before_the_time_of_its_project_goes_and_all_else_stays(scene: Scene) -> None:
    gone = [await finished(scene, OLD, state=state) for state in ("SUCCESS", "FAILURE", "PAUSE", "STOP")]
    gone += [await finished(scene, "8 d", code=1002), await finished(scene, OLD, code=4711)]
    stays = [
        await finished(scene, YOUNG),
        await finished(scene, None),
        await finished(scene, "6 d", code=1002),
        await finished(scene, "1000 d", code=1003),
    ]
    assert (
        await delete_old(scene)
    ) == f"deleted {len(gone)} runs with {2 * len(gone)} attempts, 0 other commands and 0 audit rows"
    assert await left(scene) == set(stays)
    assert set(await scene.sql("SELECT workflow_instance_id FROM command_history")) <= {*stays, max(gone)}
    assert (await delete_old(scene)).startswith("deleted 0 runs")


async def test_a_time_that_somebody_wrote_and_python_has_not_holds_up_no_deletion(scene: Scene) -> None:
    odd = [await finished(scene, OLD) for _ in range(2)]
    for run, time in zip(odd, ("-infinity", "4000-01-01 BC"), strict=True):
        await scene.sql(
            "UPDATE workflow_instance SET ended_at = CAST(:time AS timestamptz) WHERE id = :id", time=time, id=run
        )
    await finished(scene, OLD)
    stays = await finished(scene, YOUNG)
    assert (await delete_old(scene)).startswith("deleted 3 runs")
    assert await left(scene) == {stays}


async def test_times_in_the_future_hide_no_run_behind_them(scene: Scene) -> None:
    """Somebody's clock was wrong for a while."""
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at) SELECT 5000000 + n, 1001, 1, 'RUNNING_EXECUTION', 1, "
        "'CONTINUE', 'MEDIUM', 'default', now() + interval '1 y' FROM generate_series(1, :count) AS n",
        count=READ_MAX + 1,
    )
    await finished(scene, OLD)
    assert (await delete_old(scene)).startswith("deleted 1 runs")


async def test_a_run_that_a_waiting_command_is_about_stays(scene: Scene) -> None:
    asked, other = await finished(scene, OLD, state="FAILURE"), await finished(scene, OLD, state="FAILURE")
    await finished(scene, YOUNG)
    insert = "INSERT INTO command (type, workflow_instance_id) VALUES ('REPEAT_RUNNING', :run)"
    await scene.sql(insert, run=asked)
    assert (await delete_old(scene)).startswith("deleted 1 runs")
    assert other not in await scene.sql("SELECT id FROM workflow_instance")
    assert asked in await scene.sql("SELECT id FROM workflow_instance")


async def test_the_history_of_a_deleted_run_goes_later_if_it_could_not_go_with_it(scene: Scene) -> None:
    """Even where history without a run is kept forever."""
    (waits,) = await scene.commands(1, age="200 d")
    run, young = await finished(scene, "8 d", code=1002), await finished(scene, YOUNG, code=1002)
    await delete_old(scene, kept_days=0)
    assert await scene.sql("SELECT workflow_instance_id FROM command_history ORDER BY 1") == [run, young]
    await scene.sql("DELETE FROM command WHERE id = :id", id=waits)
    assert "1 other commands" in await delete_old(scene, kept_days=0)


async def test_runs_of_a_deleted_workflow_stay_as_long_as_those_of_its_project(scene: Scene) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name, is_trial) VALUES (1004, 'trial', true)")
    gone = [await finished(scene, "8 d", code=1002), await finished(scene, OLD, code=1004)]
    stays = [await finished(scene, "1000 d", code=1003), await finished(scene, YOUNG, code=1001)]
    for code in (1001, 1002, 1003, 1004):
        async with scene.writing() as connection:
            await release.delete(connection, WorkflowCode(code))
    assert await scene.sql("SELECT project FROM deleted_workflow ORDER BY code") == ["default", "week", "forever"]
    await delete_old(scene)
    assert await left(scene) == set(stays)
    assert gone
    await scene.sql("UPDATE project SET kept_days = 1000 WHERE name = 'forever'")
    await scene.sql("UPDATE workflow_instance SET ended_at = ended_at - interval '1 d'")
    await delete_old(scene)
    assert await left(scene) == {stays[1]}


async def test_the_rows_of_copies_of_logs_go_with_their_attempts(scene: Scene) -> None:
    await finished(scene, OLD)
    left = await finished(scene, YOUNG)
    await scene.sql("INSERT INTO stored_log (task_instance_id, size) SELECT id, 7 FROM task_instance")
    await delete_old(scene)
    query = (
        "SELECT DISTINCT t.workflow_instance_id FROM stored_log s LEFT JOIN task_instance t ON t.id = task_instance_id"
    )
    assert await scene.sql(query) == [left]


async def test_with_no_time_for_any_nothing_goes(scene: Scene) -> None:
    run = await finished(scene, "10000 d")
    await scene.sql("DELETE FROM project")
    await delete_old(scene, kept_days=0)
    assert await left(scene) == {run}


async def test_a_run_stays_while_one_above_or_below_it_is_unfinished(scene: Scene) -> None:
    top = await finished(scene, OLD)
    middle = await finished(scene, OLD, above=top)
    below = await finished(scene, OLD, above=middle)
    running = await finished(scene, None)
    child = await finished(scene, OLD, above=running)
    await scene.sql(
        "UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = :id", id=below
    )
    await delete_old(scene)
    assert await left(scene) == {top, middle, below, running, child}
    await scene.sql(
        "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() - interval '100 d' WHERE ended_at IS NULL"
    )
    for _each_level in range(3):
        await delete_old(scene)
    assert await left(scene) == set()


async def test_a_parent_goes_before_its_children_so_none_is_missed(scene: Scene) -> None:
    top = await finished(scene, YOUNG)
    await finished(scene, OLD, above=top)
    await delete_old(scene)
    assert len(await left(scene)) == 2


async def test_runs_that_a_dependent_may_need_stay(scene: Scene) -> None:
    item = {"workflow": "b", "project": "week", "cycle": "lastMonth"}
    spec = {"tasks": [{"name": "w", "type": "DEPENDENT", "params": {"groups": [{"items": [item]}]}}]}
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1001, 1, CAST(:spec AS jsonb))",
        spec=json.dumps(spec),
    )
    near, far = await finished(scene, "40 d", code=1002), await finished(scene, "65 d", code=1002)
    await delete_old(scene)
    assert await left(scene) == {near}, "as far as the longest cycle reaches"
    far = await finished(scene, "65 d", code=1002)
    waits = await finished(scene, None)
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority) VALUES (:run, 3, 'w', 'DEPENDENT', 'RUNNING_EXECUTION', 'default', "
        "'MEDIUM', 'MEDIUM')",
        run=waits,
    )
    await delete_old(scene)
    assert await left(scene) == {near, far, waits}, "one waits for it now"


async def test_runs_that_the_next_date_may_need_stay(scene: Scene) -> None:
    spec = {"tasks": [{"name": "a", "type": "FAKE"}], "after_last": "succeeded"}
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1002, 1, CAST(:spec AS jsonb))",
        spec=json.dumps(spec),
    )
    near, far = await finished(scene, "40 d", code=1002), await finished(scene, "65 d", code=1002)
    await delete_old(scene)
    assert await left(scene) == {near}
    far = await finished(scene, "65 d", code=1002)
    waits = await finished(scene, None, code=1002)
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority) VALUES (:run, 3, 'after_last', 'DEPENDENT', 'RUNNING_EXECUTION', 'default', "
        "'MEDIUM', 'MEDIUM')",
        run=waits,
    )
    await delete_old(scene)
    assert await left(scene) == {near, far, waits}, "one waits for it now"


@pytest.mark.parametrize("stands", ["in a command", "in a run", "in a run that failed"])
async def test_runs_that_a_later_date_of_a_backfill_waits_for_stay(scene: Scene, stands: str) -> None:
    """Also if it waits in a workflow below the one that is backfilled."""
    item = {"workflow": "a", "cycle": "today"}
    waits = {"tasks": [{"name": "w", "type": "DEPENDENT", "params": {"groups": [{"items": [item]}]}}]}
    runs = {"tasks": [{"name": "s", "type": "SUB_PROCESS", "params": {"workflow": "e"}}]}
    await scene.sql(
        "INSERT INTO workflow_definition (code, project, name) VALUES (1005, 'default', 'e'), (1006, 'default', 'f')"
    )
    for code, spec in ((1005, waits), (1006, runs)):
        await scene.sql(
            "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (:code, 1, CAST(:spec AS json))",
            code=code, spec=json.dumps(spec),
        )  # fmt: skip
    needed, other = await finished(scene, OLD), await finished(scene, OLD, code=1003 + 1)
    if stands == "in a command":
        await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('COMPLEMENT_DATA', 1006)")
    else:
        ended = YOUNG if stands == "in a run that failed" else None
        chain = await finished(scene, ended, code=1006, state="FAILURE")
        await scene.sql("UPDATE workflow_instance SET backfill = '{}' WHERE id = :id", id=chain)
    await delete_old(scene)
    assert needed in await left(scene)
    assert other not in await left(scene)
    await scene.sql("DELETE FROM command")
    await scene.sql("UPDATE workflow_instance SET backfill = NULL")
    await delete_old(scene)
    assert needed not in await left(scene)


async def test_a_run_that_is_continued_or_locked_meanwhile_stays(scene: Scene) -> None:
    run, locked = await finished(scene, OLD), await finished(scene, OLD)
    async with scene.database.reading() as connection:
        found = await old_runs.find(connection, 0, 90, [], [], 500)
    assert list(found.ids) == [run, locked]
    await scene.sql("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = :id", id=run)
    async with scene.writing() as stranger:
        await stranger.execute(Sql(f"SELECT FROM workflow_instance WHERE id = {locked} FOR UPDATE"))
        async with scene.writing() as connection:
            writing: Any = connection
            assert (await old_runs.delete(writing, found)).runs == 0
    assert await left(scene) == {run, locked}


async def test_many_go_in_small_steps(scene: Scene) -> None:
    await finished(scene, None)
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at, ended_at) SELECT 5000000 + n, 1001, 1, "
        "'SUCCESS', 1, 'CONTINUE', 'MEDIUM', "
        "'default', now() - interval '101 d', now() - interval '100 d' FROM generate_series(1, 1200) AS n"
    )
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, ended_at) SELECT i.id, n, 'a', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', "
        "'MEDIUM', now() FROM workflow_instance i, generate_series(1, 10) AS n WHERE i.command_id > 5000000"
    )
    async with scene.writing() as connection:
        explaining: Any = Explaining(connection)
        assert len((await old_runs.find(explaining, 0, 90, [], [], 500)).ids) == 50
    read = explaining.plan.read
    assert read["task_instance_attempt"] <= 510, "no attempts are counted of runs that this step does not delete"
    assert read["workflow_instance_pkey"] <= 500 + 2 * 60
    steps = []
    progress: dict[str, Any] = {}
    while progress.get("part") in (None, "runs"):
        async with scene.writing() as connection:
            writing: Any = connection
            step = await retention.delete_old(writing, 90, progress)
            deletes = step.progress["runs"] > progress.get("runs", 0)
            assert step.pause_share == (PAUSE_SHARE if deletes else duties.PAUSE_SHARE)
            progress = dict(step.progress)
            steps.append((progress["runs"], progress["attempts"]))
    sizes = [after[1] - before[1] for before, after in zip([(0, 0), *steps], steps, strict=False)]
    assert sizes[0] == 500
    assert max(sizes) <= 2_000
    assert steps[-1] == (1200, 12_000)
    assert len(await left(scene)) == 1


async def test_a_step_takes_whole_runs_until_it_has_enough_attempts(scene: Scene) -> None:
    """Includes runs without attempts, runs that stay, and one with more than enough."""
    runs = [await finished(scene, OLD) for _ in range(8)]
    stays = await finished(scene, YOUNG)
    await scene.sql("DELETE FROM task_instance WHERE workflow_instance_id = ANY(:runs)", runs=[runs[1], runs[7]])
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, ended_at) SELECT :run, n, 'a', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', "
        "'MEDIUM', now() FROM generate_series(3, 10) AS n",
        run=runs[4],
    )
    async with scene.database.reading() as connection:

        async def found(after: int, attempts_max: int, kept_days: int = 90) -> tuple[list[int], int, bool]:
            old = await old_runs.find(connection, after, kept_days, [], [], attempts_max)
            assert len(old.ids) == len(old.ended_at)
            return list(old.ids), old.after, old.is_over

        assert await found(0, 1) == (runs[:1], runs[0], False)
        assert await found(0, 3) == (runs[:3], runs[2], False)
        assert await found(runs[0], 2) == (runs[1:3], runs[2], False)
        assert await found(runs[3], 5) == (runs[4:5], runs[4], False), "a single one has more"
        assert await found(runs[4], 4) == (runs[5:7], runs[6], False)
        assert await found(runs[4], 5) == (runs[5:], stays, True)
        assert await found(runs[7], 5) == ([], stays, True)
        assert await found(stays, 5) == ([], stays, True)
        assert await found(0, 100) == (runs, stays, True)
        assert await found(0, 100, kept_days=0) == ([], stays, True)


ATTEMPTS = (
    "INSERT INTO task_instance (workflow_instance_id, task_code, attempt, flag, task_name, task_type, state, "
    "worker_group, workflow_priority, task_priority, ended_at) SELECT :run, 3 + n % :tasks, 1 + n / :tasks, "
    "CASE WHEN n < :tasks THEN 'YES' ELSE 'NO' END, 'a', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', now() "
    "FROM generate_series(0, CAST(:count AS integer) - 1) AS n"
)


@pytest.mark.parametrize("tasks", [7, 10_000])
async def test_no_step_deletes_more_than_so_many_rows_however_large_a_run_is(scene: Scene, tasks: int) -> None:
    first, large, last = [await finished(scene, OLD) for _ in range(3)]
    stays = await finished(scene, YOUNG)
    await scene.sql(ATTEMPTS, run=large, count=3 * ROWS_MAX, tasks=tasks)
    await scene.sql("INSERT INTO stored_log (task_instance_id, size) SELECT id, 7 FROM task_instance")
    progress: dict[str, Any] = {}
    sizes = []
    while True:
        async with scene.writing() as connection:
            writing: Any = connection
            step = await retention.delete_old(writing, 90, progress)
        if step.is_over:
            break
        sizes.append(step.progress["attempts"] - progress.get("attempts", 0))
        progress = dict(step.progress)
        gone = large not in await scene.sql("SELECT id FROM workflow_instance")
        assert gone is (sizes[0] > 0), "nobody continues a run of which attempts are missing"
    assert max(sizes) == ROWS_MAX
    assert sum(sizes) == 3 * ROWS_MAX + 6
    assert step.is_fine
    assert await left(scene) == {stays}
    assert await scene.sql("SELECT (SELECT count(*) FROM stored_log), (SELECT count(*) FROM deleted_run)") == [(2, 0)]
    assert first < large < last


@pytest.mark.parametrize("is_left_over", [False, True])
async def test_what_cannot_be_deleted_is_named_and_all_else_goes(scene: Scene, is_left_over: bool) -> None:
    runs = [await finished(scene, OLD) for _ in range(6)]
    stays = await finished(scene, YOUNG)
    stuck = runs[2]
    if is_left_over:
        await scene.sql("DELETE FROM workflow_instance WHERE id = :run", run=stuck)
        await scene.sql("INSERT INTO deleted_run (id) VALUES (:run), (:other)", run=stuck, other=runs[0])
    await scene.sql(
        "CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'not this one'; END $$"
    )
    await scene.sql(
        "CREATE TRIGGER t BEFORE DELETE ON task_instance FOR EACH ROW "
        f"WHEN (OLD.workflow_instance_id = {stuck}) EXECUTE FUNCTION refuse_deletion()"
    )
    said = await delete_old(scene, is_fine=False)
    assert f"; 1 runs could not be deleted: run {stuck}: " in said
    assert "not this one" in said
    assert set(await scene.sql("SELECT DISTINCT workflow_instance_id FROM task_instance")) == {stuck, stays}
    await scene.sql("DROP TRIGGER t ON task_instance")
    assert "could not" not in await delete_old(scene)
    assert await left(scene) == {stays}


async def test_a_run_with_many_children_is_found_without_reading_them(scene: Scene) -> None:
    top = await finished(scene, OLD)
    child = await finished(scene, OLD, above=top)
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at, ended_at, parent_instance_id, parent_task_code, "
        "parent_attempt, child_index) SELECT 5000000 + n, 1001, 1, 'SUCCESS', 1, 'CONTINUE', 'MEDIUM', 'default', "
        "now() - interval '101 d', now() - interval '100 d', :child, 1, 1, n FROM generate_series(1, 5000) AS n",
        child=child,
    )
    async with scene.writing() as connection:
        explaining: Any = Explaining(connection)
        assert (await old_runs.find(explaining, 0, 90, [], [], 500)).ids == [top]
    assert explaining.plan.read.get("workflow_instance_child", 0) <= 1_000
    assert sum(explaining.plan.read.values()) <= 3_000


async def test_refused_commands_go_by_the_time_of_their_project(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at, handled_at) "
        "SELECT n, 'START_PROCESS', 'ERROR', 1, now(), now() - interval '50 d' - (n / 10) * interval '50 d' "
        "FROM unnest(ARRAY[1, 2, 3, 11, 12, 13]) AS n"
    )
    await scene.sql(
        "INSERT INTO error_command (command_id, workflow_code, reason, master_id) "
        "SELECT command_id, 1000 + command_id % 10, 'broken', 1 FROM command_history"
    )
    assert "3 other commands" in await delete_old(scene)
    assert await scene.sql("SELECT command_id FROM error_command ORDER BY 1") == [1, 3, 13]
    assert await scene.sql("SELECT command_id FROM command_history ORDER BY 1") == [1, 3, 13]


async def test_commands_that_were_refused_since_their_ids_came_again_go_too(scene: Scene) -> None:
    """Their rows in the history were deleted before."""
    master = await scene.master()
    await handle(scene, 50, master)
    await scene.sql(
        "INSERT INTO error_command (command_id, workflow_code, reason, master_id, refused_at) "
        "SELECT n, 1000 + n % 10, 'handled before', 1, now() - interval '50 d' - (n / 10) * interval '50 d' "
        "FROM unnest(ARRAY[1, 2, 3, 11, 12, 13]) AS n"
    )
    await delete_old(scene)
    assert await scene.sql("SELECT command_id FROM error_command ORDER BY 1") == [1, 3, 13]


async def test_audit_rows_are_kept_for_90_days_at_least_whatever_a_project_says(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO audit (at, actor_kind, actor, action, object_kind, project, outcome) "
        "SELECT now() - age * interval '1 d', 'NODE', project || age, 'x', 'y', nullif(project, ''), 'DONE' "
        "FROM unnest(ARRAY['', 'default', 'week', 'forever']) AS project, unnest(ARRAY[50, 100]) AS age"
    )
    assert (await delete_old(scene, kept_days=1)).endswith("and 3 audit rows")
    assert set(await scene.sql("SELECT actor FROM audit")) == {"50", "default50", "week50", "forever50", "forever100"}


async def test_what_is_overdue_is_counted(scene: Scene) -> None:
    await finished(scene, "95 d")
    await finished(scene, OLD)
    await finished(scene, YOUNG)
    async with scene.database.reading() as connection:
        count, days = await old_runs.overdue(connection, 90, 1000)
        assert (count, round(days)) == (2, 10)
        assert await old_runs.overdue(connection, 0, 1000) == (0, 0)


async def test_what_is_overdue_is_found_behind_all_that_is_kept_for_ever(scene: Scene) -> None:
    for _ in range(10):
        await finished(scene, OLD, code=1003)
    await finished(scene, "95 d")
    await finished(scene, YOUNG)
    async with scene.database.reading() as connection:
        count, days = await old_runs.overdue(connection, 90, 4)
    assert (count, round(days)) == (1, 5)
