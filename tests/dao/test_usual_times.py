"""`dao/runs/usual_times.py` and `model/runs/estimate.py`: how long runs and tasks take, and have left."""

from __future__ import annotations

from dao.runs import usual_times
from model.ids import TaskCode, WorkflowCode
from model.runs.estimate import run_left_s, task_left_s
from model.runs.progress import Progress
from tests.dao.scene import Scene
from tests.every import every

RUNS = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, schedule_time, started_at, ended_at, scope, dry_run)
    SELECT n * 10 + :code, :code, 1, :state, 1, 'CONTINUE', 'MEDIUM', 'default', at, at,
           at + CAST(:took_s AS float8) * interval '1 s', :scope, :dry
    FROM (SELECT n, now() - interval '1 d' + (:from + n) * interval '1 min' AS at
          FROM generate_series(1, :count) AS n) AS x
"""


async def runs(scene: Scene, count: int, took_s: float, **changes: object) -> None:
    """`count` runs, later than those before."""
    values = {"code": 1, "state": "SUCCESS", "scope": None, "dry": False, **changes}
    there = await scene.sql("SELECT count(*) FROM workflow_instance")
    named = RUNS.replace("n * 10", f"(n + {there[0]}) * 10")
    await scene.sql(named, count=count, took_s=took_s, **{"from": there[0]}, **values)


async def test_the_usual_time_is_the_median_of_the_last_20_successful_whole_runs(scene: Scene) -> None:
    await runs(scene, 30, 1_000)
    await runs(scene, 9, 10)
    await runs(scene, 2, 20)
    await runs(scene, 9, 30)
    await runs(scene, 5, 7, state="FAILURE")
    await runs(scene, 5, 7, scope="[1]")
    await runs(scene, 5, 7, dry=True)
    await runs(scene, 3, 5, code=2)
    async with scene.database.reading() as connection:
        found = await usual_times.of_runs(connection, [WorkflowCode(1), WorkflowCode(2), WorkflowCode(3)])
    assert found == {1: 20, 2: 5}


async def test_many_failures_since_hide_no_usual_time(scene: Scene) -> None:
    await runs(scene, 3, 40)
    await runs(scene, usual_times.RUNS_READ_MAX + 1, 7, state="FAILURE")
    async with scene.database.reading() as connection:
        assert await usual_times.of_runs(connection, [WorkflowCode(1)]) == {1: 40}


async def test_the_usual_time_of_a_task_is_that_of_its_successful_attempts_in_these_runs(scene: Scene) -> None:
    await runs(scene, 3, 100)
    await scene.sql("""
        INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, worker_group,
                                   workflow_priority, task_priority, started_at, ended_at)
        SELECT i.id, code, attempt, 'a', 'FAKE', ended_as, 'default', 'MEDIUM', 'MEDIUM', i.started_at,
               i.started_at + took * code * interval '1 s'
        FROM workflow_instance i, generate_series(1, 2) AS code,
             (VALUES (1, 'FAILURE', 1), (2, 'SUCCESS', 40)) AS each (attempt, ended_as, took)
    """)
    async with scene.database.reading() as connection:
        tasks = [TaskCode(1), TaskCode(2), TaskCode(3)]
        assert await usual_times.of_tasks(connection, WorkflowCode(1), tasks) == {1: 40, 2: 80}


@every(
    ("progress", "elapsed_s", "usual_s", "left_s"),
    [
        (None, 5, None, None),
        (None, 5, 20, 15),
        (None, 25, 20, 0),
        (Progress(0, 10), 5, 20, 15),
        (Progress(0, 10), 5, None, None),
        (Progress(1, 10), 5, 20, 45),
        (Progress(25), 5, None, 15),
        (Progress(10, 10), 5, 20, 0),
    ],
)
def test_a_task_has_left_what_its_progress_says_or_else_what_it_usually_takes(
    progress: Progress | None, elapsed_s: float, usual_s: float | None, left_s: float | None
) -> None:
    assert task_left_s(progress, elapsed_s, usual_s) == left_s


def test_a_run_has_left_what_it_usually_takes_and_at_least_as_much_as_its_tasks() -> None:
    assert run_left_s(5, 20) == 15
    assert run_left_s(25, 20) == 0
    assert run_left_s(25, 20, [3, 7]) == 7
    assert run_left_s(5, None, [3]) is None
