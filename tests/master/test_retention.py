"""The duty `retention`: what goes, what stays, and that what went is not done again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from dao.cluster.nodes import Me
from dao.commands import commands
from dao.commands.commands import Outcome
from dao.definitions import release
from dao.postgres.database import Database
from dao.postgres.errors import BadData
from dao.retention import old_runs
from master.duties import retention
from model import duties
from model.ids import CommandId, WorkflowCode
from model.retention import PAUSE_SHARE, READ_MAX
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene

pytestmark = pytest.mark.usefixtures("scene")
OLD, YOUNG = "100 d", "80 d"


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """A database with the schema, and a workflow of each of three projects: with no time, a week, and for ever."""
    database = Database(database_url, application_name="shoal-test")
    made = Scene(database)
    await made.sql(
        "INSERT INTO workflow_definition (code, project, name) VALUES "
        "(1001, 'default', 'a'), (1002, 'week', 'b'), (1003, 'forever', 'c')"
    )
    await made.sql("INSERT INTO project (name, kept_days) VALUES ('week', 7), ('forever', 0)")
    yield made
    await database.close()


async def _run(
    scene: Scene, ended: str | None, *, code: int = 1001, state: str = "SUCCESS", above: int | None = None
) -> int:
    """A run with two attempts, its command and an event, that ended so long ago; None: it runs."""
    (command,) = await scene.commands(1)
    await scene.sql("DELETE FROM command WHERE id = :id", id=command)
    age = ended or "100 d"
    (run,) = await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at, ended_at, schedule_time, parent_instance_id, "
        "parent_task_code, parent_attempt, child_index) VALUES (:command, :code, 1, :state, 1, 'CONTINUE', "
        "'MEDIUM', 'default', "
        "now() - CAST(:age AS interval) - interval '1 min', CASE WHEN :ended THEN now() - CAST(:age AS interval) END, "
        "now() - CAST(:age AS interval), CAST(:above AS bigint), "
        "CASE WHEN CAST(:above AS bigint) > 0 THEN 1 END, CASE WHEN CAST(:above AS bigint) > 0 THEN 1 END, "
        "CASE WHEN CAST(:above AS bigint) > 0 THEN :command END) RETURNING id",
        command=command, code=code, state=state if ended else "RUNNING_EXECUTION", age=age, ended=ended is not None,
        above=above,
    )  # fmt: skip
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, ended_at) SELECT :run, n, 'a' || n, 'FAKE', 'SUCCESS', 'default', 'MEDIUM', "
        "'MEDIUM', now() FROM generate_series(1, 2) AS n",
        run=run,
    )
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at, "
        "handled_at) VALUES (:command, 'START_PROCESS', 'DONE', :run, 1, now(), now() - CAST(:age AS interval))",
        command=command, run=run, age=age,
    )  # fmt: skip
    return int(run)


async def _delete(scene: Scene, kept_days: int = 90) -> str:
    progress: dict[str, Any] = {}
    while True:
        async with scene.writing() as connection:
            writing: Any = connection
            step = await retention.delete_old(writing, kept_days, json.loads(json.dumps(progress)))
        if step.is_over:
            return step.result
        progress = dict(step.progress)


async def _left(scene: Scene) -> set[int]:
    """The runs that are left, each whole."""
    left = set(await scene.sql("SELECT id FROM workflow_instance"))
    assert set(await scene.sql("SELECT DISTINCT workflow_instance_id FROM task_instance")) == left
    assert left <= set(await scene.sql("SELECT workflow_instance_id FROM command_history WHERE outcome = 'DONE'"))
    return left


async def test_what_ended_before_the_time_of_its_project_goes_and_all_else_stays(scene: Scene) -> None:
    gone = [await _run(scene, OLD, state=state) for state in ("SUCCESS", "FAILURE", "PAUSE", "STOP")]
    gone += [await _run(scene, "8 d", code=1002), await _run(scene, OLD, code=4711)]
    stays = [
        await _run(scene, YOUNG),
        await _run(scene, None),
        await _run(scene, "6 d", code=1002),
        await _run(scene, "1000 d", code=1003),
    ]
    assert (
        await _delete(scene)
    ) == f"deleted {len(gone)} runs with {2 * len(gone)} attempts, 0 other commands and 0 audit rows"
    assert await _left(scene) == set(stays)
    assert set(await scene.sql("SELECT workflow_instance_id FROM command_history")) <= {*stays, max(gone)}
    assert (await _delete(scene)).startswith("deleted 0 runs")


async def test_a_time_that_somebody_wrote_and_python_has_not_holds_up_no_deletion(scene: Scene) -> None:
    odd = [await _run(scene, OLD) for _ in range(2)]
    for run, time in zip(odd, ("-infinity", "4000-01-01 BC"), strict=True):
        await scene.sql(
            "UPDATE workflow_instance SET ended_at = CAST(:time AS timestamptz) WHERE id = :id", time=time, id=run
        )
    await _run(scene, OLD)
    stays = await _run(scene, YOUNG)
    assert (await _delete(scene)).startswith("deleted 3 runs")
    assert await _left(scene) == {stays}


async def test_times_in_the_future_hide_no_run_behind_them(scene: Scene) -> None:
    """Somebody's clock was wrong for a while."""
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at) SELECT 5000000 + n, 1001, 1, 'RUNNING_EXECUTION', 1, "
        "'CONTINUE', 'MEDIUM', 'default', now() + interval '1 y' FROM generate_series(1, :count) AS n",
        count=READ_MAX + 1,
    )
    await _run(scene, OLD)
    assert (await _delete(scene)).startswith("deleted 1 runs")


async def test_a_run_that_a_waiting_command_is_about_stays(scene: Scene) -> None:
    asked, other = await _run(scene, OLD, state="FAILURE"), await _run(scene, OLD, state="FAILURE")
    await _run(scene, YOUNG)
    insert = "INSERT INTO command (type, workflow_instance_id) VALUES ('REPEAT_RUNNING', :run)"
    await scene.sql(insert, run=asked)
    assert (await _delete(scene)).startswith("deleted 1 runs")
    assert other not in await scene.sql("SELECT id FROM workflow_instance")
    assert asked in await scene.sql("SELECT id FROM workflow_instance")


async def test_the_history_of_a_deleted_run_goes_later_if_it_could_not_go_with_it(scene: Scene) -> None:
    """Also where what has no run is kept for ever."""
    (waits,) = await scene.commands(1, age="200 d")
    run, young = await _run(scene, "8 d", code=1002), await _run(scene, YOUNG, code=1002)
    await _delete(scene, kept_days=0)
    assert await scene.sql("SELECT workflow_instance_id FROM command_history ORDER BY 1") == [run, young]
    await scene.sql("DELETE FROM command WHERE id = :id", id=waits)
    assert "1 other commands" in await _delete(scene, kept_days=0)


async def test_runs_of_a_deleted_workflow_stay_as_long_as_those_of_its_project(scene: Scene) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name, is_trial) VALUES (1004, 'trial', true)")
    gone = [await _run(scene, "8 d", code=1002), await _run(scene, OLD, code=1004)]
    stays = [await _run(scene, "1000 d", code=1003), await _run(scene, YOUNG, code=1001)]
    for code in (1001, 1002, 1003, 1004):
        async with scene.writing() as connection:
            await release.delete(connection, WorkflowCode(code))
    assert await scene.sql("SELECT project FROM deleted_workflow ORDER BY code") == ["default", "week", "forever"]
    await _delete(scene)
    assert await _left(scene) == set(stays)
    assert gone
    await scene.sql("UPDATE project SET kept_days = 1000 WHERE name = 'forever'")
    await scene.sql("UPDATE workflow_instance SET ended_at = ended_at - interval '1 d'")
    await _delete(scene)
    assert await _left(scene) == {stays[1]}


async def test_the_rows_of_copies_of_logs_go_with_their_attempts(scene: Scene) -> None:
    await _run(scene, OLD)
    left = await _run(scene, YOUNG)
    await scene.sql("INSERT INTO stored_log (task_instance_id, size) SELECT id, 7 FROM task_instance")
    await _delete(scene)
    query = (
        "SELECT DISTINCT t.workflow_instance_id FROM stored_log s LEFT JOIN task_instance t ON t.id = task_instance_id"
    )
    assert await scene.sql(query) == [left]


async def test_with_no_time_for_any_nothing_goes(scene: Scene) -> None:
    run = await _run(scene, "10000 d")
    await scene.sql("DELETE FROM project")
    await _delete(scene, kept_days=0)
    assert await _left(scene) == {run}


async def test_a_run_stays_while_one_above_or_below_it_is_unfinished(scene: Scene) -> None:
    top = await _run(scene, OLD)
    middle = await _run(scene, OLD, above=top)
    below = await _run(scene, OLD, above=middle)
    running = await _run(scene, None)
    child = await _run(scene, OLD, above=running)
    await scene.sql(
        "UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = :id", id=below
    )
    await _delete(scene)
    assert await _left(scene) == {top, middle, below, running, child}
    await scene.sql(
        "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() - interval '100 d' WHERE ended_at IS NULL"
    )
    for _each_level in range(3):
        await _delete(scene)
    assert await _left(scene) == set()


async def test_a_parent_goes_before_its_children_so_none_is_missed(scene: Scene) -> None:
    top = await _run(scene, YOUNG)
    await _run(scene, OLD, above=top)
    await _delete(scene)
    assert len(await _left(scene)) == 2


async def test_runs_that_a_dependent_may_need_stay(scene: Scene) -> None:
    item = {"workflow": "b", "project": "week", "cycle": "lastMonth"}
    spec = {"tasks": [{"name": "w", "type": "DEPENDENT", "params": {"groups": [{"items": [item]}]}}]}
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1001, 1, CAST(:spec AS jsonb))",
        spec=json.dumps(spec),
    )
    near, far = await _run(scene, "40 d", code=1002), await _run(scene, "65 d", code=1002)
    await _delete(scene)
    assert await _left(scene) == {near}, "as far as the longest cycle reaches"
    far = await _run(scene, "65 d", code=1002)
    waits = await _run(scene, None)
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority) VALUES (:run, 3, 'w', 'DEPENDENT', 'RUNNING_EXECUTION', 'default', "
        "'MEDIUM', 'MEDIUM')",
        run=waits,
    )
    await _delete(scene)
    assert await _left(scene) == {near, far, waits}, "one waits for it now"


async def test_a_run_that_is_continued_or_locked_meanwhile_stays(scene: Scene) -> None:
    run, locked = await _run(scene, OLD), await _run(scene, OLD)
    async with scene.database.reading() as connection:
        found = await old_runs.find(connection, 0, 90, [], [], 500)
    assert list(found.ids) == [run, locked]
    await scene.sql("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = :id", id=run)
    async with scene.writing() as stranger:
        await stranger.exec_driver_sql(f"SELECT FROM workflow_instance WHERE id = {locked} FOR UPDATE")
        async with scene.writing() as connection:
            writing: Any = connection
            assert (await old_runs.delete(writing, found)).runs == 0
    assert await _left(scene) == {run, locked}


async def test_many_go_in_small_steps(scene: Scene) -> None:
    await _run(scene, None)
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
    assert len(await _left(scene)) == 1


async def test_a_step_takes_whole_runs_until_it_has_enough_attempts(scene: Scene) -> None:
    """Those without attempts, those that stay, and one with more than enough are among them."""
    runs = [await _run(scene, OLD) for _ in range(8)]
    stays = await _run(scene, YOUNG)
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


async def _handle(scene: Scene, id_: int, master: Me) -> None:
    """As a master records what it has handled."""
    await scene.sql(
        "INSERT INTO command (id, type, workflow_code) OVERRIDING SYSTEM VALUE VALUES (:id, 'START_PROCESS', 1001)",
        id=id_,
    )
    async with scene.writing() as connection:
        writing: Any = connection
        rows = await commands.take(writing, [CommandId(id_)])
        await commands.record(writing, [Outcome(row, None) for row in rows], master.epoch, None)


async def test_a_command_that_comes_again_is_not_handled_though_its_history_is_deleted(scene: Scene) -> None:
    master = await scene.master()
    await _run(scene, OLD)
    run = await _run(scene, OLD)
    (command,) = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=run)
    await _delete(scene)
    assert await scene.sql("SELECT command_id FROM command_history") == [command], "the newest row stays"
    for id_ in (command, command - 1):
        with pytest.raises(BadData, match=r"2350[25]"):
            await _handle(scene, id_, master)
        await scene.sql("DELETE FROM command")
    async with scene.database.reading() as connection:
        assert await commands.handled_before(connection, CommandId(command)) is not None
        assert await commands.handled_before(connection, CommandId(command + 1)) is None
    await _handle(scene, command + 1, master)
    await _delete(scene)
    assert await scene.sql("SELECT command_id FROM command_history") == [command + 1]
    with pytest.raises(BadData, match=r"2350[25]"):
        await _handle(scene, command, master)


async def test_a_floor_that_somebody_wrote_refuses_nothing_new(scene: Scene) -> None:
    master = await scene.master()
    await _run(scene, OLD)
    await scene.sql("INSERT INTO history_floor VALUES (1, 0, 9000000000000000000)")
    await _handle(scene, 5_000_000, master)


async def test_ids_that_somebody_chose_far_above_all_others_refuse_nothing_new(scene: Scene) -> None:
    master = await scene.master()
    far = 10**15
    for id_ in (far, far + 1):
        await _handle(scene, id_, master)
    await scene.sql("UPDATE command_history SET handled_at = now() - interval '100 d'")
    await _run(scene, OLD)
    await _run(scene, YOUNG)
    await _delete(scene)
    await _handle(scene, 5_000_000, master)
    with pytest.raises(BadData):
        await _handle(scene, far, master)


async def test_no_history_is_deleted_above_a_command_that_still_waits(scene: Scene) -> None:
    master = await scene.master()
    (waits,) = await scene.commands(1, age="200 d")
    run, young = await _run(scene, OLD), await _run(scene, YOUNG)
    await _delete(scene)
    assert await scene.sql("SELECT workflow_instance_id FROM command_history ORDER BY 1") == [run, young]
    assert await scene.sql("SELECT id FROM workflow_instance") == [young]
    async with scene.writing() as connection:
        writing: Any = connection
        rows = await commands.take(writing, [CommandId(waits)])
        await commands.record(writing, [Outcome(row, None) for row in rows], master.epoch, None)
    assert "1 other commands" in await _delete(scene)


async def test_a_command_that_commits_late_is_not_below_the_floor_of_what_was_handled_meanwhile(scene: Scene) -> None:
    master = await scene.master()
    run = await _run(scene, "8 d", code=1002)
    late, about, starts = await scene.commands(3)
    await scene.sql("DELETE FROM command")  # the first is in a transaction that is still open
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at) "
        "VALUES (:about, 'PAUSE', 'ERROR', :run, 1, now()), (:starts, 'START_PROCESS', 'DONE', NULL, 1, now())",
        about=about, run=run, starts=starts,
    )  # fmt: skip
    young = await _run(scene, YOUNG, code=1003)
    await _delete(scene, kept_days=0)
    assert await scene.sql("SELECT id FROM workflow_instance") == [young]
    await _handle(scene, late, master)
    await scene.sql("UPDATE command_history SET handled_at = now() - interval '2 d' WHERE command_id = :id", id=about)
    assert "1 other commands" in await _delete(scene, kept_days=0), "also where what has no run is kept for ever"
    with pytest.raises(BadData):
        await _handle(scene, about, master)


async def test_runs_that_are_deleted_by_hand_raise_no_floor_to_ids_of_the_last_day(scene: Scene) -> None:
    master = await scene.master()
    gone = [await _run(scene, "10 min") for _ in range(3)]
    young = await _run(scene, YOUNG)
    (late,) = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=gone[0])
    await scene.sql("DELETE FROM command_history WHERE command_id = :id", id=late)
    await scene.sql("DELETE FROM task_instance WHERE workflow_instance_id <> :id", id=young)
    await scene.sql("DELETE FROM workflow_instance WHERE id <> :id", id=young)
    await _delete(scene)
    await _handle(scene, late, master)
    await scene.sql("UPDATE command_history SET handled_at = handled_at - interval '2 d'")
    assert "2 other commands" in await _delete(scene)


async def test_the_floor_of_ids_in_strides_is_that_of_their_residue(scene: Scene) -> None:
    master = await scene.master()
    await scene.sql("ALTER TABLE command ALTER COLUMN id SET INCREMENT BY 2")
    run = await _run(scene, OLD)
    (command,) = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=run)
    await _delete(scene)
    await _handle(scene, command + 1, master)
    with pytest.raises(BadData):
        await _handle(scene, command, master)


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
    assert "3 other commands" in await _delete(scene)
    assert await scene.sql("SELECT command_id FROM error_command ORDER BY 1") == [1, 3, 13]
    assert await scene.sql("SELECT command_id FROM command_history ORDER BY 1") == [1, 3, 13]


async def test_commands_that_were_refused_since_their_ids_came_again_go_too(scene: Scene) -> None:
    """Their rows in the history were deleted before."""
    master = await scene.master()
    await _handle(scene, 50, master)
    await scene.sql(
        "INSERT INTO error_command (command_id, workflow_code, reason, master_id, refused_at) "
        "SELECT n, 1000 + n % 10, 'handled before', 1, now() - interval '50 d' - (n / 10) * interval '50 d' "
        "FROM unnest(ARRAY[1, 2, 3, 11, 12, 13]) AS n"
    )
    await _delete(scene)
    assert await scene.sql("SELECT command_id FROM error_command ORDER BY 1") == [1, 3, 13]


async def test_audit_rows_are_kept_for_90_days_at_least_whatever_a_project_says(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO audit (at, actor_kind, actor, action, object_kind, project, outcome) "
        "SELECT now() - age * interval '1 d', 'NODE', project || age, 'x', 'y', nullif(project, ''), 'DONE' "
        "FROM unnest(ARRAY['', 'default', 'week', 'forever']) AS project, unnest(ARRAY[50, 100]) AS age"
    )
    assert (await _delete(scene, kept_days=1)).endswith("and 3 audit rows")
    assert set(await scene.sql("SELECT actor FROM audit")) == {"50", "default50", "week50", "forever50", "forever100"}


async def test_what_is_overdue_is_counted(scene: Scene) -> None:
    await _run(scene, "95 d")
    await _run(scene, OLD)
    await _run(scene, YOUNG)
    async with scene.database.reading() as connection:
        count, days = await old_runs.overdue(connection, 90, 1000)
        assert (count, round(days)) == (2, 10)
        assert await old_runs.overdue(connection, 0, 1000) == (0, 0)
