"""Days are those of the run: of its schedule time, in its zone, with the calendar of that zone.

The machines and the database of these tests stand in another zone; see conftest.py.
"""

from __future__ import annotations

import pytest

from tests.scenarios.engine import Engine


def _waits_for(workflow: int) -> dict[str, object]:
    params = {"groups": [{"items": [{"workflow": workflow, "cycle": "today"}]}]}
    return {"name": "wait", "type": "DEPENDENT", "params": params}


async def test_15129_a_dependent_task_asks_for_runs_of_its_day_not_for_those_that_ran_on_it(engine: Engine) -> None:
    """Upstream: the day was computed from the schedule time of the one that waits, and compared with the time at which
    the other one was started; what was filled in for a past day was never found, or the wrong one was.
    Here: schedule time against schedule time. Which day it was when they ran makes no difference.
    """
    below = engine.define({"name": "a"})
    above = engine.define(_waits_for(below))
    past = await engine.begin(above, schedule_time="2026-03-04 10:30:00+00")
    now = await engine.begin(above)
    for run in (past, now):
        await engine.task_becomes(run, "wait", "RUNNING_EXECUTION")
    await engine.run(below)  # its schedule time is the time of its start
    assert await engine.end(now) == "SUCCESS"
    assert engine.tasks(past) == {"wait": "RUNNING_EXECUTION"}, "what ran today is not of that day"
    last = await engine.begin(above, schedule_time="2026-03-05 10:30:00+00")
    await engine.task_becomes(last, "wait", "RUNNING_EXECUTION")
    await engine.run(below, "COMPLEMENT_DATA", params={"backfill": {"dates": ["2026-03-04"]}})
    assert await engine.end(past) == "SUCCESS"
    assert engine.tasks(last) == {"wait": "RUNNING_EXECUTION"}
    await engine.change("STOP", last)
    assert await engine.end(last) == "STOP"


async def test_17885_days_of_a_dependent_task_are_those_of_its_schedule_s_zone(engine: Engine) -> None:
    """Upstream: "today" began at midnight of the zone of the Java machine, Asia/Shanghai, though the schedule was one
    of America/Mexico_City.
    Here: it is the day in the zone of the run, wherever masters, workers and database stand.
    """
    below = engine.define({"name": "a"})
    zone = {"time_zone": "America/Mexico_City"}
    evening = "2026-03-05 03:00:00+00"  # 21:00 of the 4th there, 11:00 of the 5th in Shanghai
    run = await engine.begin(engine.define(_waits_for(below)), schedule_time=evening, **zone)
    await engine.task_becomes(run, "wait", "RUNNING_EXECUTION")
    for other_day in ("2026-03-04 05:59:59+00", "2026-03-05 06:00:00+00"):  # 23:59:59 of the 3rd, midnight of the 5th
        await engine.run(below, schedule_time=other_day)
        witness = await engine.run(engine.define(_waits_for(below)), schedule_time=other_day, **zone)
        assert engine.state(witness) == "SUCCESS"
        assert engine.tasks(run) == {"wait": "RUNNING_EXECUTION"}
    await engine.run(below, schedule_time="2026-03-04 15:00:00+00")  # 09:00 of the 4th there, 23:00 of it in Shanghai
    assert await engine.end(run) == "SUCCESS"


CHANGES = {
    "after 23 hours": ("America/Los_Angeles", "2026-03-09 07:10:00+00", "20260308 20260310"),  # 00:10
    "of 23 hours": ("America/Los_Angeles", "2026-03-09 06:50:00+00", "20260307 20260309"),  # 23:50
    "of 25 hours": ("America/Los_Angeles", "2026-11-02 07:30:00+00", "20261031 20261102"),  # 23:30
    "after 25 hours": ("America/Los_Angeles", "2026-11-02 08:00:00+00", "20261101 20261103"),  # 00:00
    "of half an hour less": ("Australia/Lord_Howe", "2026-10-04 12:50:00+00", "20261003 20261005"),  # 23:50
    "without midnight": ("America/Santiago", "2026-09-06 04:00:00+00", "20260905 20260907"),  # 01:00
    "left out": ("Pacific/Apia", "2011-12-30 11:00:00+00", "20111230 20120101"),  # 01:00 of the 31st; no 30th
}


@pytest.mark.parametrize("day", CHANGES)
async def test_18015_a_day_earlier_is_the_day_before_on_days_that_are_not_of_24_hours(engine: Engine, day: str) -> None:
    """Upstream: `$[yyyyMMdd-1]` took 1,440 minutes off, so that ten past midnight after a day of 23 hours the day
    before yesterday came out.
    Here: days are taken off in the calendar of the zone.
    """
    zone, time, wanted = CHANGES[day]
    code = engine.define({"name": "a", "params": {"outputs": {"days": "$[yyyyMMdd-1] $[yyyyMMdd+1]"}}})
    run = await engine.run(code, schedule_time=time, time_zone=zone)
    assert engine.printed(run, "a") == {"days": wanted}
