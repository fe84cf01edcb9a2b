"""Schedules fire each time once while masters come, die and leave: the rows tell."""

from __future__ import annotations

import signal
from datetime import timedelta

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

SECOND = timedelta(seconds=1)
SCHEDULES = 4


def _define(cluster: Cluster) -> list[int]:
    cluster.define(1001, "tick", tasks=[{"name": "tick", "type": "FAKE"}])
    insert = "INSERT INTO schedule (workflow_code, crontab) VALUES (1001, '* * * * * ?') RETURNING id"
    return [cluster.one(insert) for _ in range(SCHEDULES)]


def _keep_fires(cluster: Cluster) -> None:
    """Let the database keep what each inserted command was for: a command's own row is deleted when it is handled."""
    cluster.rows("CREATE TABLE fire (schedule_id bigint, schedule_time timestamptz, created_at timestamptz)")
    cluster.rows("""
        CREATE FUNCTION keep_fire() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO fire VALUES (NEW.schedule_id, NEW.schedule_time, NEW.created_at);
            RETURN NULL;
        END $$""")
    cluster.rows("""
        CREATE TRIGGER fires_are_kept AFTER INSERT ON command FOR EACH ROW WHEN (NEW.type = 'SCHEDULER')
        EXECUTE FUNCTION keep_fire()""")


def _fires(cluster: Cluster, schedule: int) -> list[object]:
    query = "SELECT schedule_time FROM fire WHERE schedule_id = %s ORDER BY schedule_time"
    return [time for (time,) in cluster.rows(query, schedule)]


async def _caught_up(cluster: Cluster) -> None:
    """Every schedule has fired for the time of this call."""
    now = cluster.one("SELECT clock_timestamp()")
    behind = "SELECT count(*) FROM schedule WHERE next_fire_at IS NULL OR next_fire_at <= %s"
    await eventually(lambda: cluster.one(behind, now) == 0, within_s=20)


def _check_each_second_once(cluster: Cluster, schedules: list[int]) -> None:
    for schedule in schedules:
        fired = _fires(cluster, schedule)
        first = cluster.one("SELECT min(schedule_time) FROM fire WHERE schedule_id = %s", schedule)
        assert fired == [first + number * SECOND for number in range(len(fired))]


async def _handled(cluster: Cluster) -> None:
    """Every fire has become a run, or an error where this program does not know the command yet; each once."""
    outcomes = "SELECT count(*) FROM command_history WHERE type = 'SCHEDULER'"
    cluster.rows("UPDATE schedule SET state = 'OFFLINE'")
    await eventually(lambda: cluster.one("SELECT count(*) FROM command") == 0, within_s=30)
    assert cluster.one(outcomes) == cluster.one("SELECT count(*) FROM fire")
    twice = "SELECT schedule_id FROM workflow_instance GROUP BY schedule_id, schedule_time HAVING count(*) > 1"
    assert cluster.rows(twice) == []


async def test_each_second_fires_once_while_a_master_is_killed(cluster: Cluster) -> None:
    _keep_fires(cluster)
    schedules = _define(cluster)
    masters = [await cluster.master() for _ in range(2)]
    await cluster.slots_become(2)
    await eventually(lambda: all(len(_fires(cluster, each)) >= 3 for each in schedules), within_s=20)
    masters[0].signal(signal.SIGKILL)
    before = {each: len(_fires(cluster, each)) for each in schedules}
    await cluster.slots_become(1)
    await eventually(lambda: all(len(_fires(cluster, each)) >= before[each] + 5 for each in schedules), within_s=30)
    await cluster.master()
    await cluster.slots_become(2)
    await _caught_up(cluster)
    _check_each_second_once(cluster, schedules)
    await _handled(cluster)


async def test_a_master_that_slept_through_its_own_funeral_fires_nothing_twice(cluster: Cluster) -> None:
    _keep_fires(cluster)
    schedules = _define(cluster)
    masters = [await cluster.master() for _ in range(2)]
    await cluster.slots_become(2)
    await eventually(lambda: all(len(_fires(cluster, each)) >= 2 for each in schedules), within_s=20)
    former = masters[0].epoch
    with masters[0].stopped():
        await eventually(lambda: cluster.one("SELECT state FROM node WHERE id = %s", former) == "FENCED", within_s=20)
        await cluster.slots_become(1)
    await cluster.slots_become(2)
    await _caught_up(cluster)
    _check_each_second_once(cluster, schedules)
    await _handled(cluster)


async def test_a_schedule_that_is_changed_by_plain_sql_is_fired_again(laptop: Cluster) -> None:
    laptop.define(1001, "tick", tasks=[{"name": "tick", "type": "FAKE"}])
    schedule = laptop.one("INSERT INTO schedule (workflow_code, crontab) VALUES (1001, 'every day') RETURNING id")
    await laptop.master()
    problem = "SELECT problem FROM schedule"
    await eventually(lambda: (laptop.one(problem) or "").startswith('cron "every day" must have'), within_s=10)
    laptop.rows("UPDATE schedule SET crontab = '* * * * * ?'")
    fired = "SELECT count(*) FROM command_history WHERE type = 'SCHEDULER'"
    await eventually(lambda: laptop.one(fired) >= 2, within_s=15)
    assert laptop.rows("SELECT id, problem FROM schedule") == [(schedule, None)]
