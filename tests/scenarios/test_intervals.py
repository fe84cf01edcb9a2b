"""Scenarios of the interval of a run: of its schedule, a backfill, a start by hand, and kept when it is run again."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine
from tests.shoal.command_line import CommandLine

SCRIPT = """
echo "#{setValue(start=${system.interval.start})}"
echo "#{setValue(end=${system.interval.end})}"
echo "#{setValue(variables=$SHOAL_INTERVAL_START..$SHOAL_INTERVAL_END)}"
echo "#{setValue(file=$[interval_start(yyyyMMddHH)])}"
"""
SHOWS = {"name": "show", "type": "SHELL", "params": {"script": SCRIPT}}
KEPT = ("start", "end", "variables", "file")


def schedule(engine: Engine, workflow: int, crontab: str, state: str = "OFFLINE", **columns: Any) -> int:
    values = {"workflow_code": workflow, "crontab": crontab, "state": state, "time_zone": "Europe/Berlin", **columns}
    names, places = ", ".join(values), ", ".join(["%s"] * len(values))
    return int(engine.cluster.one(f"INSERT INTO schedule ({names}) VALUES ({places}) RETURNING id", *values.values()))


def interval(engine: Engine, run: int) -> list[str]:
    printed = engine.printed(run, "show")
    return [printed["start"], printed["end"]]


async def test_a_fire_has_the_time_since_the_fire_before_and_keeps_it_when_the_schedule_changes(engine: Engine) -> None:
    code = engine.define(SHOWS, time_zone="Europe/Berlin")
    by = schedule(engine, code, "0/2 * * * * ?", "ONLINE")
    made = "SELECT id FROM workflow_instance WHERE schedule_id = %s ORDER BY id LIMIT 1"
    ((run,),) = await eventually(lambda: engine.cluster.rows(made, by), within_s=60)
    engine.cluster.rows("UPDATE schedule SET state = 'OFFLINE', crontab = '@yearly' WHERE id = %s RETURNING 1", by)
    assert await engine.end(run) == "SUCCESS", engine.why(run, "show")
    first = engine.printed(run, "show")
    start, end = map(datetime.fromisoformat, (first["start"], first["end"]))
    due = engine.cluster.one("SELECT schedule_time FROM workflow_instance WHERE id = %s", run)
    assert (end, end - start) == (due, timedelta(seconds=2))
    assert first["variables"] == f"{first['start']}..{first['end']}"
    assert first["file"] == start.strftime("%Y%m%d%H")

    await engine.change("REPEAT_RUNNING", run)
    again = "SELECT count(*) FROM task_instance WHERE workflow_instance_id = %s AND state = 'SUCCESS'"
    await eventually(lambda: engine.cluster.one(again, run), until=2, within_s=60)
    assert engine.printed(run, "show") == first


async def test_a_backfill_over_a_clock_change_has_hours_without_gap(engine: Engine) -> None:
    code = engine.define(SHOWS)
    schedule(engine, code, "@hourly")
    dates = {"from": "2026-10-25T01:00:00", "to": "2026-10-25T03:00:00", "mode": "PARALLEL"}
    await engine.done(engine.ask("COMPLEMENT_DATA", code, params={"backfill": dates}))
    query = "SELECT id FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS' ORDER BY schedule_time"
    await eventually(lambda: len(engine.cluster.rows(query, code)), until=4, within_s=60)
    assert [interval(engine, run) for (run,) in engine.cluster.rows(query, code)] == [
        ["2026-10-25T00:00:00+02:00", "2026-10-25T01:00:00+02:00"],
        ["2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00"],
        ["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"],
        ["2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"],
    ]


async def test_a_start_by_hand_has_the_last_whole_interval_of_the_first_schedule_that_is_online(engine: Engine) -> None:
    code = engine.define(SHOWS)
    schedule(engine, code, "@hourly")
    daily = schedule(engine, code, "0 5 * * *", "ONLINE", start_time="2100-01-01")
    monthly = schedule(engine, code, "@monthly", "ONLINE", start_time="2100-01-01")
    at = "2026-03-29 10:37:00+02"
    run = await engine.run(code, schedule_time=at, time_zone="Europe/Berlin")
    assert interval(engine, run) == ["2026-03-28T05:00:00+01:00", "2026-03-29T05:00:00+02:00"]
    show = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    shown = (await show("show", str(run))).out
    assert "Interval: 2026-03-28 05:00:00 CET to 2026-03-29 05:00:00 CEST" in shown
    of_rest = json.loads((await show("show", str(run), "--json")).out)
    assert [of_rest["interval_start"][:16], of_rest["interval_end"][:16]] == ["2026-03-28T04:00", "2026-03-29T03:00"]
    by_rule = await engine.run(code, "SCHEDULER", schedule_time=at, time_zone="Europe/Berlin", schedule_id=monthly)
    assert interval(engine, by_rule) == ["2026-02-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00"]
    engine.cluster.rows("DELETE FROM schedule WHERE id = %s RETURNING 1", daily)
    now = await engine.run(code, time_zone="UTC")
    start, end = map(datetime.fromisoformat, interval(engine, now))
    assert (start.astimezone(end.tzinfo) < end) and engine.cluster.one("SELECT now() >= %s", end)


async def test_a_child_has_the_interval_of_the_run_above(engine: Engine) -> None:
    child = engine.define(SHOWS)
    schedule(engine, child, "@yearly")
    code = engine.define({"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": child}})
    schedule(engine, code, "@daily", time_zone="UTC")
    run = await engine.run(code, schedule_time="2026-03-02 00:00:00+00")
    (below,) = engine.children(run)
    assert interval(engine, below) == ["2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00"]


async def test_without_a_schedule_what_needs_an_interval_fails_with_a_sentence(engine: Engine) -> None:
    named = engine.define(SHOWS)
    run = await engine.run(named)
    assert "${system.interval.start} has no value" in engine.why(run, "show")
    assert "add a schedule" in engine.why(run, "show")
    computed = engine.define({"name": "show", "type": "SHELL", "params": {"script": "echo $[interval_end(yyyy)]"}})
    run = await engine.run(computed)
    assert "$[interval_end(yyyy)] has no value" in engine.why(run, "show")
    global_ = engine.define({"name": "a"}, params={"since": "${system.interval.start}"})
    assert "${system.interval.start} has no value" in await engine.refused(engine.ask("START_PROCESS", global_))
    given = await engine.run(
        named, params={"system.interval.start": "a", "system.interval.end": "b"}, type_="START_PROCESS"
    )
    assert "$[interval_start(yyyyMMddHH)] has no value" in engine.why(given, "show")
    plain = engine.define(
        {"name": "a", "type": "SHELL", "params": {"script": "test -z ${SHOAL_INTERVAL_START+x}"}},
    )
    assert engine.state(await engine.run(plain)) == "SUCCESS"


LATEST = {
    "name": "route",
    "type": "SWITCH",
    "params": {"cases": [{"when": "${system.is_latest} == true", "then": "mail"}], "default": "none"},
}
MAIL = [{"name": "mail", "after": ["route"]}, {"name": "none", "after": ["route"]}]
THIS_YEAR = "SELECT date_trunc('year', now(), 'UTC')::text"
LAST_YEAR = "SELECT (date_trunc('year', now(), 'UTC') - interval '1 year')::text"


async def test_only_the_latest_run_of_a_schedule_or_backfill_is_the_latest(engine: Engine) -> None:
    code = engine.define(LATEST, *MAIL)
    yearly = schedule(engine, code, "@yearly", time_zone="UTC")
    now, before = engine.cluster.one(THIS_YEAR), engine.cluster.one(LAST_YEAR)
    for at, chosen in ((now, "mail"), (before, "none")):
        run = await engine.run(code, "SCHEDULER", schedule_time=at, schedule_id=yearly)
        assert set(engine.tasks(run)) == {"route", chosen}
    by_hand = await engine.run(code, schedule_time=before)
    assert set(engine.tasks(by_hand)) == {"route", "mail"}, "a person wants it"
    backfill = await engine.run(code, "COMPLEMENT_DATA", params={"backfill": {"dates": [before]}})
    assert set(engine.tasks(backfill)) == {"route", "none"}
    engine.cluster.rows("UPDATE schedule SET end_time = %s WHERE id = %s RETURNING 1", before, yearly)
    await engine.change("REPEAT_RUNNING", backfill)
    await eventually(lambda: "mail" in engine.tasks(backfill), within_s=60)


async def test_a_run_becomes_an_older_one_while_it_runs(engine: Engine) -> None:
    """Goal: what counts is when the SWITCH begins. Method: a task before it takes until a later time is due."""
    code = engine.define({"name": "first", **BY_HAND}, {**LATEST, "after": ["first"]}, *MAIL)
    by = schedule(engine, code, "@yearly", time_zone="UTC")
    run = await engine.begin(code, "SCHEDULER", schedule_time=engine.cluster.one(THIS_YEAR), schedule_id=by)
    await engine.claim(run, "first")
    engine.cluster.rows("UPDATE schedule SET crontab = '* * * * *' WHERE id = %s RETURNING 1", by)
    engine.report(run, "first", "SUCCESS")
    await engine.end(run)
    assert set(engine.tasks(run)) == {"first", "route", "none"}
