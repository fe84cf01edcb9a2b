"""Rules of alerts, applied to ends of runs and to time, by steps of their duty."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from dao.runs import control
from dao.runs.control import Revival
from model.ids import Epoch, WorkflowInstanceId
from tests.dao.scene import Scene
from tests.master.alert_scene import NEW, add_rule, alerts, begin, do, end, ended, finish, sales


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """Two workflows of the project sales, and one elsewhere."""
    async with sales(database_url) as made:
        yield made


# ---------------------------------------------------------------------------------------------- rules on ends


async def test_an_end_is_noted_only_if_its_project_has_a_rule(scene: Scene) -> None:
    await ended(scene, "SF")
    await add_rule(scene, "any run of load fails -> group data")
    await ended(scene, "SFP")
    await ended(scene, "SF", code=3)
    await ended(scene, "SF", dry_run=True)
    assert await scene.sql("SELECT state FROM run_end ORDER BY id") == ["SUCCESS", "FAILURE"]
    await scene.sql("UPDATE alert_rule SET enabled = false")
    await ended(scene, "SF")
    assert await scene.sql("SELECT count(*) FROM run_end") == [2]


async def test_a_run_that_fails_raises_an_alert_once(scene: Scene) -> None:
    await add_rule(scene, "any run of load fails -> group data")
    _, failed = await ended(scene, "SF")
    await ended(scene, "F", code=2)
    step = await do(scene)
    assert (step.is_fine, step.result) == (True, "wrote 1 alerts by 1 rules")
    await do(scene)
    assert await alerts(scene) == [("RULE", "data", failed)]
    assert await scene.sql("SELECT subject, severity, project, workflow, facts ->> 'rule' FROM alert") == [
        (
            *(f'run {failed} of workflow "load" failed', "CRITICAL", "sales", "load"),
            "any run of load fails -> group data",
        )
    ]
    assert await scene.sql("SELECT count(*) FROM run_end") == [0]


async def test_a_rule_about_the_project_is_about_each_of_its_workflows_by_itself(scene: Scene) -> None:
    await add_rule(scene, "any run of this project fails twice in a row -> group data")
    await ended(scene, "F")
    await ended(scene, "F", code=2)
    await ended(scene, "FF", code=3)
    await do(scene)
    assert await alerts(scene) == []
    (second,) = await ended(scene, "F")
    await do(scene)
    assert await alerts(scene) == [("RULE", "data", second)]


async def test_failures_in_a_row_are_counted_over_steps_until_a_success(scene: Scene) -> None:
    await add_rule(scene, "any run of load fails three times in a row -> group data")
    await add_rule(scene, "any run of load recovers -> group data")
    raised = []
    for letter in "FFSFFFFS":
        (run,) = await ended(scene, letter)
        before = len(await alerts(scene))
        await do(scene)
        raised += [kind for kind, _, of in (await alerts(scene))[before:] if of == run] or ["-"]
    assert raised == ["-", "-", "RECOVERED", "-", "-", "RULE", "-", "RECOVERED"]


async def test_the_second_end_of_a_run_that_is_run_again_counts_too(scene: Scene) -> None:
    await add_rule(scene, "any run of load fails -> group data")
    await add_rule(scene, "any run of load fails twice in a row -> group more")
    (run,) = await ended(scene, "F")
    await scene.sql("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL")
    await end(scene, run, "FAILURE")
    await do(scene)
    assert await alerts(scene) == [("RULE", "data", run), ("RULE", "data", run), ("RULE", "more", run)]


async def test_a_run_below_another_counts_only_where_its_workflow_is_named(scene: Scene) -> None:
    await add_rule(scene, "any run of this project fails -> group data")
    await add_rule(scene, "any run of load fails -> group load")
    (child,) = await ended(scene, "F", parent_instance_id=77, parent_task_code=1, parent_attempt=1, child_index=0)
    await do(scene)
    assert await alerts(scene) == [("RULE", "load", child)]


async def test_an_end_that_commits_late_is_not_lost(scene: Scene) -> None:
    """Its id is smaller than that of an end that was applied before it was visible."""
    await add_rule(scene, "any run of load fails -> group data")
    late, early = await begin(scene), await begin(scene)
    async with scene.writing() as connection:
        await finish(connection, late, "FAILURE")
        await end(scene, early, "FAILURE")
        await do(scene)
        assert await alerts(scene) == [("RULE", "data", early)]
    await do(scene)
    assert await alerts(scene) == [("RULE", "data", early), ("RULE", "data", late)]


async def test_many_ends_are_applied_in_several_steps(scene: Scene) -> None:
    await add_rule(scene, "any run of load fails -> group data")
    await scene.sql(
        "INSERT INTO run_end (workflow_instance_id, workflow_code, state, ended_at, is_child) "
        "SELECT n, 1, 'FAILURE', clock_timestamp() + n * interval '1 ms', false FROM generate_series(1, 1100) AS n"
    )
    assert (await do(scene)).result == "wrote 1100 alerts by 1 rules"
    assert await scene.sql("SELECT count(DISTINCT workflow_instance_id) FROM alert") == [1100]


async def test_a_rule_that_cannot_work_says_why_and_the_others_go_on(scene: Scene) -> None:
    broken = await add_rule(scene, "when load fails, call me")
    gone = await add_rule(scene, "any run of lod fails -> group data")
    await add_rule(scene, "any run of load fails -> group data")
    (run,) = await ended(scene, "F")
    await do(scene)
    assert await alerts(scene) == [("RULE", "data", run)]
    problems = dict(await scene.sql("SELECT id, problem FROM alert_rule WHERE problem IS NOT NULL"))
    assert problems.keys() == {broken, gone}
    assert "says not who is notified" in problems[broken]
    assert problems[gone] == 'there is no workflow "lod" in project "sales"'
    await scene.sql(NEW, code=4, name="lod", project="sales")
    await scene.sql("UPDATE alert_rule SET text = 'any run of load fails -> group a' WHERE id = :id", id=broken)
    assert await scene.sql("SELECT problem FROM alert_rule WHERE id = :id", id=broken) == [None], "at once"
    await do(scene)
    assert await scene.sql("SELECT count(*) FROM alert_rule WHERE problem IS NOT NULL") == [0]


async def test_the_statement_of_the_documentation_makes_a_rule(scene: Scene) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "alerts.md").read_text("utf-8")
    for statement in re.findall(r"(?ms)^```sql\n(.*?)^```", page):
        await scene.sql(statement)
    await do(scene)
    assert await scene.sql("SELECT problem FROM alert_rule") == ['there is no workflow "load" in project "default"']


async def test_a_changed_rule_counts_from_then_on(scene: Scene) -> None:
    id_ = await add_rule(scene, "any run of load fails twice in a row -> group data")
    await ended(scene, "F")
    await do(scene)
    before = await scene.sql("SELECT updated_at FROM alert_rule")
    await scene.sql("UPDATE alert_rule SET enabled = false")
    await scene.sql("UPDATE alert_rule SET enabled = true")
    assert await scene.sql("SELECT updated_at FROM alert_rule") > before
    await ended(scene, "F")
    await do(scene)
    assert await alerts(scene) == []
    await scene.sql("DELETE FROM alert_rule WHERE id = :id", id=id_)
    assert await scene.sql("SELECT count(*) FROM alert_rule_state") == [0]


# ---------------------------------------------------------------------------------------------- rules on time


async def _since(scene: Scene, run: int, ago: str) -> None:
    statement = (
        "UPDATE workflow_instance SET running_since = clock_timestamp() - CAST(:ago AS interval) WHERE id = :run"
    )
    await scene.sql(statement, run=run, ago=ago)


async def test_a_run_that_takes_too_long_raises_an_alert_while_it_runs_and_not_again_at_its_end(scene: Scene) -> None:
    await add_rule(scene, "load takes longer than 30 minutes -> group ops")
    await add_rule(scene, "any run of this project takes longer than 3 hours -> group all")
    long, short, elsewhere = await begin(scene), await begin(scene), await begin(scene, 3)
    for run, ago in ((long, "31 min"), (short, "29 min"), (elsewhere, "9 h")):
        await _since(scene, run, ago)
    for _ in range(2):
        await do(scene)
        assert await alerts(scene) == [("RULE", "ops", long)]
    await end(scene, long, "SUCCESS")
    await end(scene, short, "SUCCESS")
    await do(scene)
    assert await alerts(scene) == [("RULE", "ops", long)]
    await scene.sql("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = :id", id=long)
    await _since(scene, long, "32 min")
    await do(scene)
    assert len(await alerts(scene)) == 2, "it runs again"


async def test_a_run_that_took_too_long_between_two_steps_raises_an_alert_at_its_end(scene: Scene) -> None:
    await add_rule(scene, "load takes longer than 1 second -> group ops")
    run = await begin(scene)
    await _since(scene, run, "2 s")
    await end(scene, run, "SUCCESS")
    await do(scene)
    assert await alerts(scene) == [("RULE", "ops", run)]


async def test_what_waits_in_line_does_not_take_long(scene: Scene) -> None:
    await add_rule(scene, "load takes longer than 1 second -> group ops")
    run = await begin(scene)
    await _since(scene, run, "1 h")
    await scene.sql("ALTER TABLE workflow_instance DISABLE TRIGGER USER")
    await scene.sql("UPDATE workflow_instance SET state = 'SERIAL_WAIT'")
    await scene.sql("ALTER TABLE workflow_instance ENABLE TRIGGER USER")
    await do(scene)
    assert await alerts(scene) == []


DEADLINE = "clock_timestamp() AT TIME ZONE 'UTC' - interval '1 min'"
"""A minute ago: each rule is about the last one, which may be of yesterday just after midnight."""


async def _expected(scene: Scene, how: str = "ended", since: str = "2 h", workflow: str = "load") -> int:
    (by,) = await scene.sql(f"SELECT to_char({DEADLINE}, 'HH24:MI')")
    (begin,) = await scene.sql(f"SELECT to_char({DEADLINE} - CAST(:since AS interval), 'HH24:MI')", since=since)
    id_ = await add_rule(scene, f"late: {workflow} not {how} by {by} since {begin} -> group ops")
    await scene.sql("UPDATE alert_rule SET updated_at = now() - interval '1 d' WHERE id = :id", id=id_)
    return id_


async def _ended_ago(scene: Scene, state: str, ago: str, **columns: object) -> None:
    (run,) = await ended(scene, state, **columns)
    statement = "UPDATE workflow_instance SET ended_at = now() - CAST(:ago AS interval) WHERE id = :run"
    await scene.sql(statement, run=run, ago=ago)


async def test_what_has_not_ended_by_its_time_is_late_once(scene: Scene) -> None:
    await _expected(scene)
    await begin(scene)
    await _ended_ago(scene, "S", "4 h")
    for _ in range(2):
        await do(scene)
        ((subject,),) = [await scene.sql("SELECT subject FROM alert")]
        assert subject.startswith('late: no run of workflow "load" ended by ')
    assert await alerts(scene) == [("RULE", "ops", None)]


@pytest.mark.parametrize(
    ("how", "state", "is_late"),
    [("ended", "S", False), ("ended", "F", False), ("ended", "P", True), ("succeeded", "F", True)],
)
async def test_which_ends_are_in_time(scene: Scene, how: str, state: str, is_late: bool) -> None:
    await _expected(scene, how)
    await _ended_ago(scene, state, "1 h")
    await do(scene)
    assert bool(await alerts(scene)) is is_late


@pytest.mark.parametrize("columns", [{"dry_run": True}, {"command_type": "COMPLEMENT_DATA"}])
async def test_dry_runs_and_backfills_are_not_what_is_expected(scene: Scene, columns: dict[str, object]) -> None:
    await _expected(scene)
    await _ended_ago(scene, "S", "1 h", **columns)
    await do(scene)
    assert await alerts(scene) == [("RULE", "ops", None)]


async def test_a_deadline_before_the_rule_was_written_is_none(scene: Scene) -> None:
    id_ = await _expected(scene)
    await scene.sql("UPDATE alert_rule SET updated_at = now() WHERE id = :id", id=id_)
    await do(scene)
    assert await alerts(scene) == []


async def test_a_success_counts_however_many_runs_came_after_it(scene: Scene) -> None:
    """Backfills, dry runs and runs that ended too late hide none."""
    await _expected(scene, "succeeded")
    await _ended_ago(scene, "S", "1 h")
    await scene.sql("""
        INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                       priority, worker_group, ended_at, command_type, dry_run)
        SELECT 1000 + n, 1, 1, 'SUCCESS', 1, 'CONTINUE', 'MEDIUM', 'default', now(),
               CASE n % 3 WHEN 0 THEN 'COMPLEMENT_DATA' ELSE 'START_PROCESS' END, n % 3 = 1
        FROM generate_series(1, 4000) AS n""")
    await do(scene)
    assert await alerts(scene) == []


@pytest.mark.parametrize(("how", "before"), [("ended", "S"), ("ended", "F"), ("succeeded", "S")])
@pytest.mark.parametrize("then", [None, "FAILURE", "STOP"])
async def test_what_ended_in_time_is_not_late_while_or_after_it_is_run_again(
    scene: Scene, how: str, before: str, then: str | None
) -> None:
    await _expected(scene, how)
    (run,) = await ended(scene, before)
    await scene.sql("UPDATE workflow_instance SET ended_at = now() - interval '1 h'")
    async with scene.writing() as connection:
        await control.revive(connection, [Revival(WorkflowInstanceId(run), repeats=True)], Epoch(1))
    if then is not None:
        await end(scene, run, then)
    await do(scene)
    assert await alerts(scene) == []


@pytest.mark.parametrize("columns", [{"scope": "[1]"}, {"executing": "[1]"}])
async def test_what_ran_some_tasks_only_has_not_succeeded(scene: Scene, columns: dict[str, object]) -> None:
    await _expected(scene, "succeeded")
    await _ended_ago(scene, "S", "1 h", **columns)
    await do(scene)
    assert await alerts(scene) == [("RULE", "ops", None)]
