"""Scenarios of `after_last`: a date begins when the one before it has succeeded."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, WITHIN_S, Engine
from tests.shoal.command_line import CommandLine

FIRST, SECOND, THIRD = (f"2026-03-0{day} 06:00:00+00" for day in (1, 2, 3))
WORK = {"name": "work", **BY_HAND}
GATE = "after_last"


def command_line(engine: Engine) -> CommandLine:
    return CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])


def dated(engine: Engine, *tasks: dict[str, Any], **fields: Any) -> int:
    return engine.define(*(tasks or (WORK,)), after_last="succeeded", **fields)


async def due(engine: Engine, code: int, at: str, **columns: Any) -> int:
    return await engine.begin(code, "SCHEDULER", schedule_time=at, **columns)


async def ends(engine: Engine, run: int, state: str) -> None:
    await engine.claim(run, "work")
    engine.report(run, "work", state)
    assert await engine.end(run) == state


async def waits(engine: Engine, run: int) -> None:
    await engine.task_becomes(run, GATE, "RUNNING_EXECUTION")
    assert engine.tasks(run) == {GATE: "RUNNING_EXECUTION"}


async def test_a_date_begins_when_the_one_before_has_succeeded_and_the_first_is_free(engine: Engine) -> None:
    code = dated(engine)
    first, second, third = [await due(engine, code, at) for at in (FIRST, SECOND, THIRD)]
    await engine.task_becomes(first, "work", "QUEUED")
    await waits(engine, second)
    await waits(engine, third)
    await ends(engine, first, "SUCCESS")
    await engine.task_becomes(second, "work", "QUEUED")
    assert engine.tasks(third) == {GATE: "RUNNING_EXECUTION"}
    await ends(engine, second, "SUCCESS")
    await ends(engine, third, "SUCCESS")


@pytest.mark.parametrize("how", ["rerun", "forced", "again"])
async def test_it_waits_until_the_failed_one_before_is_repeated_with_success(engine: Engine, how: str) -> None:
    code = dated(engine)
    first = await due(engine, code, FIRST)
    await ends(engine, first, "FAILURE")
    second = await due(engine, code, SECOND)
    await waits(engine, second)
    if how == "forced":
        await command_line(engine)("task", "mark", f"{first}/work", "--success")
    if how == "again":
        dates = {"backfill": {"dates": [FIRST]}}
        first = await engine.begin(code, "COMPLEMENT_DATA", params=dates)
    else:
        await engine.change("START_FAILURE_TASK_PROCESS", first)
    if how == "forced":
        assert await engine.end(first) == "SUCCESS"
    else:
        await ends(engine, first, "SUCCESS")
    await ends(engine, second, "SUCCESS")


async def test_runs_by_hand_are_free_and_do_not_count(engine: Engine) -> None:
    code = dated(engine)
    first = await due(engine, code, FIRST)
    await ends(engine, first, "FAILURE")
    by_hand = await engine.begin(code, schedule_time=SECOND)
    await ends(engine, by_hand, "SUCCESS")
    third = await due(engine, code, THIRD)
    await waits(engine, third)
    await engine.change("STOP", third)
    assert await engine.end(third) == "STOP"


async def test_a_backfill_goes_from_the_first_date_to_the_last_whatever_it_says(engine: Engine) -> None:
    code = dated(engine, {"name": "work"})
    dates = {"dates": [THIRD, FIRST, SECOND], "mode": "PARALLEL", "order": "DESC"}
    await engine.done(engine.ask("COMPLEMENT_DATA", code, params={"backfill": dates}))
    query = """SELECT schedule_time::date::text FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS'
               ORDER BY id"""
    days = await eventually(lambda: _three(engine.cluster.rows(query, code)), within_s=WITHIN_S)
    assert [day for (day,) in days] == ["2026-03-01", "2026-03-02", "2026-03-03"]


def _three(rows: list[Any]) -> list[Any]:
    return rows if len(rows) == 3 else []


async def test_to_go_on_without_the_date_before_its_gate_is_forced(engine: Engine) -> None:
    code = dated(engine)
    await ends(engine, await due(engine, code, FIRST), "FAILURE")
    second = await due(engine, code, SECOND)
    await waits(engine, second)
    await engine.change("STOP", second)
    await engine.end(second)
    await command_line(engine)("task", "mark", f"{second}/{GATE}", "--success")
    await engine.change("RECOVER_SUSPENDED_PROCESS", second)
    await ends(engine, second, "SUCCESS")


async def test_why_names_the_run_for_which_a_date_waits(engine: Engine) -> None:
    code = dated(engine, name="balance of a day")
    first = await due(engine, code, FIRST)
    await ends(engine, first, "FAILURE")
    second = await due(engine, code, SECOND)
    await waits(engine, second)
    said = await command_line(engine)("why", str(second))
    last = (
        f"the last run of workflow with code {code} for 2026-03-01 06:00:00+00:00 has failed (run {first} is FAILURE)"
    )
    assert f"waits for {GATE}" in said.out and last in said.out
    await engine.change("STOP", second)
    await engine.end(second)


async def test_it_waits_on_when_its_master_dies(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    code = dated(fresh)
    first, second = await due(fresh, code, FIRST), await due(fresh, code, SECOND)
    await waits(fresh, second)
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    await ends(fresh, first, "SUCCESS")
    await fresh.task_becomes(second, "work", "QUEUED")
    assert fresh.attempts(second, GATE) == [("SUCCESS", "YES")]
